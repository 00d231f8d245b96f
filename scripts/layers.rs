//! Refuses imports that run against the layers of the code: `scripts/check lint` compiles and runs it in the
//! folder of the project.
//!
//! The layers are those that CONTRIBUTING.md lists, the lowest first: a file imports its own layer and those
//! above its line in that list. Among files there is no circle, but that the files of a module may import what
//! the module itself declares. Tests are not looked at.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// A module of the library: `folded::table`.
type Module = Vec<String>;

fn main() -> ExitCode {
    let layers = layers(&fs::read_to_string("CONTRIBUTING.md").expect("CONTRIBUTING.md can be read"));
    let mut files = Vec::new();
    collect(Path::new("src"), &mut files);
    let modules: BTreeMap<Module, PathBuf> = files.into_iter().map(|file| (module_of(&file), file)).collect();
    let mut imports: BTreeMap<&Module, BTreeSet<&Module>> = BTreeMap::new();
    for (module, file) in &modules {
        let text = without_tests(&fs::read_to_string(file).expect("a source file can be read"));
        let found = paths(&text).into_iter().filter_map(|path| target(module, &path, &modules));
        imports.insert(module, found.filter(|other| *other != module).collect());
    }
    let mut wrong = Vec::new();
    for (module, others) in &imports {
        let Some(own) = layer_of(module, &layers) else {
            wrong.push(format!("{} is in no layer of CONTRIBUTING.md", name(module)));
            continue;
        };
        for other in others {
            // What a module declares itself is there for its own files.
            if layer_of(other, &layers).is_some_and(|layer| layer > own) && !module.starts_with(other) {
                wrong.push(format!("{} imports {}, which is above it", name(module), name(other)));
            }
            if let ([c, f, format, ..], [c2, f2, other_format, ..]) = (&module[..], &other[..])
                && (c, f) == (c2, f2)
                && (c == "collapse" && f == "formats" && format != other_format)
            {
                wrong.push(format!(
                    "{} imports the format {other_format}: what they share is kit",
                    name(module)
                ));
            }
        }
    }
    wrong.extend(circles(&imports).iter().map(|circle| format!("a circle: {circle}")));
    wrong.iter().for_each(|line| println!("layers: {line}"));
    if wrong.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// The layers: the words in the code block below the line that begins with `<!-- layers`, line by line.
fn layers(text: &str) -> Vec<Vec<Module>> {
    let listed = text.lines().skip_while(|line| !line.starts_with("<!-- layers")).skip(2);
    let lines = listed.take_while(|line| !line.starts_with("```"));
    let layer = |line: &str| {
        let words = line.split("  ").next().unwrap_or_default().split_whitespace();
        words.map(|word| word.split('/').map(str::to_owned).collect()).collect()
    };
    lines.map(layer).collect()
}

/// The number of the layer with the longest name that a module begins with.
fn layer_of(module: &[String], layers: &[Vec<Module>]) -> Option<usize> {
    let parts = layers.iter().enumerate().flat_map(|(at, layer)| layer.iter().map(move |part| (part, at)));
    parts.filter(|(part, _)| module.starts_with(part)).max_by_key(|(part, _)| part.len()).map(|(_, at)| at)
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a folder of sources can be read") {
        let path = entry.expect("an entry can be read").path();
        // The programs are above everything, and the preloaded library is a crate of its own.
        if path.is_dir() && !path.ends_with("src/bin") && !path.ends_with("preload") {
            collect(&path, files);
        } else if path.extension().is_some_and(|ending| ending == "rs") && !path.ends_with("src/lib.rs") {
            let is_tests = path.file_stem().is_some_and(|stem| stem == "tests");
            if !is_tests {
                files.push(path);
            }
        }
    }
}

/// `src/folded/table/mod.rs` is `folded::table`.
fn module_of(file: &Path) -> Module {
    let path = file.with_extension("");
    let mut parts: Module = path.iter().skip(1).map(|part| part.to_string_lossy().into_owned()).collect();
    if parts.last().is_some_and(|last| last == "mod") {
        parts.pop();
    }
    parts
}

fn name(module: &[String]) -> String {
    module.join("::")
}

/// A source text without comments and without modules for tests, which end at a `}` in the column of their `mod`.
fn without_tests(text: &str) -> String {
    let mut kept = String::new();
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        let indent = &line[..line.len() - line.trim_start().len()];
        if line.trim_start().starts_with("#[cfg(") && line.contains("test") && !line.contains("not(test") {
            let mut item = lines.next();
            while item.is_some_and(|line| line.trim_start().starts_with("#[")) {
                item = lines.next();
            }
            if item.is_some_and(|line| line.ends_with('{') && line.contains("mod ")) {
                let end = format!("{indent}}}");
                lines.by_ref().find(|line| *line == end);
            }
            continue;
        }
        kept.push_str(line.split("//").next().unwrap_or_default());
        kept.push('\n');
    }
    kept
}

/// The paths in a text that begin with `crate::`, `super::` or `self::`, those of a `use` spelt out.
fn paths(text: &str) -> Vec<Vec<String>> {
    let mut found = Vec::new();
    for start in ["crate::", "super::", "self::"] {
        for (at, _) in text.match_indices(start) {
            let before = text[..at].chars().next_back();
            if before.is_some_and(|c| c.is_alphanumeric() || c == '_' || c == ':') {
                continue;
            }
            spell_out(&mut text[at..].chars().peekable(), &[], &mut found);
        }
    }
    found
}

type Chars<'a> = std::iter::Peekable<std::str::Chars<'a>>;

/// Reads one path, or a tree of them in braces.
fn spell_out(chars: &mut Chars<'_>, before: &[String], found: &mut Vec<Vec<String>>) {
    let mut path = before.to_vec();
    loop {
        while chars.next_if(|c| c.is_whitespace()).is_some() {}
        let mut word = String::new();
        while let Some(c) = chars.next_if(|c| c.is_alphanumeric() || *c == '_') {
            word.push(c);
        }
        if word.is_empty() {
            break;
        }
        if word != "self" || path.is_empty() {
            path.push(word);
        }
        if chars.next_if_eq(&':').is_none() || chars.next_if_eq(&':').is_none() {
            break;
        }
        if chars.next_if_eq(&'{').is_some() {
            loop {
                spell_out(chars, &path, found);
                // Up to the comma or the brace that ends this branch: ` as other`.
                while chars.next_if(|c| !matches!(c, ',' | '}')).is_some() {}
                if chars.next() != Some(',') {
                    return;
                }
            }
        }
    }
    found.push(path);
}

/// The module that a path in `module` leads to.
fn target<'m>(
    module: &[String],
    path: &[String],
    modules: &'m BTreeMap<Module, PathBuf>,
) -> Option<&'m Module> {
    let mut whole = match path.first()?.as_str() {
        "crate" => Vec::new(),
        _ => module.to_vec(),
    };
    for word in path {
        match word.as_str() {
            "crate" | "self" => {}
            "super" => {
                whole.pop();
            }
            word => whole.push(word.to_owned()),
        }
    }
    while !whole.is_empty() {
        if let Some((found, _)) = modules.get_key_value(&whole) {
            return Some(found);
        }
        whole.pop();
    }
    None
}

/// The circles among files, without those by way of what a module declares for its own files.
fn circles(imports: &BTreeMap<&Module, BTreeSet<&Module>>) -> Vec<String> {
    let below = |module: &Module| -> Vec<&Module> {
        imports[module].iter().copied().filter(|other| !module.starts_with(other)).collect()
    };
    let mut done = BTreeSet::new();
    let mut found = Vec::new();
    for start in imports.keys() {
        // A search in depth whose open path is `path`.
        let mut path: Vec<(&Module, Vec<&Module>)> = vec![(start, below(start))];
        while let Some((module, rest)) = path.last_mut() {
            let Some(next) = rest.pop() else {
                done.insert(*module);
                path.pop();
                continue;
            };
            if let Some(at) = path.iter().position(|(open, _)| *open == next) {
                let circle: Vec<String> = path[at..].iter().map(|(module, _)| name(module)).collect();
                found.push(format!("{} → {}", circle.join(" → "), name(next)));
            } else if !done.contains(next) {
                path.push((next, below(next)));
            }
        }
    }
    found
}
