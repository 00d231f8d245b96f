//! Checks README.md and docs/: their shell examples run, their links lead somewhere, their tables
//! are the programs' own.
//!
//! The examples of a page run one after the other in one folder, as a reader would type them, with
//! the programs just built and the recordings they name. The profilers are stand-ins: each plays
//! back a real recording of that profiler from the fixtures, so the examples run on machines
//! where it is not installed or not allowed. `FG_REAL_PROFILERS=1 cargo test --test docs` uses
//! the real ones where there are any.

#![cfg(feature = "cli")]

#[cfg(unix)]
mod examples;
mod links;
mod page;
#[cfg(unix)]
mod stand_ins;

use page::{Page, pages};

#[test]
fn the_tools_are_those_that_are_built() {
    let manifest = page::read("Cargo.toml");
    let programs = manifest.split("[[bin]]\nname = \"").skip(1).map(|rest| rest.split('"').next().unwrap());
    // The packages' one program of five names.
    let built: Vec<&str> = programs.filter(|name| *name != "fg-tools").collect();
    assert!(built.len() >= 3, "{built:?}");
    let tools: Vec<String> =
        Page::open("README.md").table("Tools").into_iter().map(|row| row[0].clone()).collect();
    assert_eq!(tools, built);
}

#[test]
fn the_rust_version_is_the_manifest_s() {
    let wanted = format!("needs Rust {} or later", env!("CARGO_PKG_RUST_VERSION"));
    assert!(page::read("README.md").contains(&wanted), "README.md does not say: {wanted}");
}

#[test]
fn the_readme_stays_short() {
    let lines = page::read("README.md").lines().count();
    assert!(lines <= 150, "README.md has {lines} lines: move what is not for newcomers to docs/");
}

/// Each command of README's table of languages is one that a page runs or shows.
#[test]
fn the_languages_of_the_readme_are_explained() {
    let languages = Page::open("docs/languages.md");
    let shown: Vec<String> =
        languages.blocks.iter().flat_map(|block| block.text.lines()).map(str::to_owned).collect();
    for row in Page::open("README.md").table("Record your program") {
        let command = row[1].split('`').find(|part| part.contains(' ')).unwrap_or(&row[1]);
        let program = command.split(' ').next().unwrap();
        assert!(
            shown.iter().any(|line| line.starts_with(program)),
            "docs/languages.md shows no `{program}` for {}",
            row[0]
        );
    }
}

/// The commands of our programs in running text and tables, in backquotes.
fn inline_commands(text: &str) -> impl Iterator<Item = &str> {
    let outside = text.split("\n```").step_by(2);
    let quoted = outside.flat_map(|part| part.split('`').skip(1).step_by(2));
    quoted.filter(|code| code.starts_with("fg-") && code.contains(' ') && !code.contains('\n'))
}

/// Options of commands in running text exist; commands in blocks are run.
#[test]
#[cfg(unix)]
fn options_in_the_text_exist() {
    use std::collections::BTreeMap;
    use std::process::Command;

    let folder = std::path::Path::new(env!("CARGO_BIN_EXE_fg-render")).parent().unwrap();
    let mut known: BTreeMap<String, String> = BTreeMap::new();
    let mut checked = 0;
    for page in pages() {
        for command in inline_commands(&page.text).flat_map(|line| line.split(" | ")) {
            let mut words = command.split_whitespace().peekable();
            let program = words.next().unwrap_or_default();
            if !folder.join(program).exists() {
                continue;
            }
            let task =
                words.next_if(|word| program == "fg-record" && ["bundle", "cargo", "check"].contains(word));
            let name = format!("{program} {}", task.unwrap_or_default());
            let help = known.entry(name).or_insert_with(|| {
                let output = Command::new(folder.join(program)).args(task).arg("--help").output().unwrap();
                String::from_utf8(output.stdout).unwrap()
            });
            // Behind a program that is recorded stand its own options.
            let is_program = |word: &str| word.starts_with("./") || ["--", "node", "python3"].contains(&word);
            let own = words.take_while(|word| program != "fg-record" || !is_program(word));
            for option in own.filter(|word| word.starts_with("--")) {
                let option = option.split(['=', ',', '\'']).next().unwrap_or(option);
                let ends = [' ', '\n', '=', '['];
                let exists = ends.iter().any(|end| help.contains(&format!("{option}{end}")));
                assert!(exists, "{}: `{command}`: there is no {option}", page.name);
                checked += 1;
            }
        }
    }
    assert!(checked > 20, "{checked} options");
}

/// A message that the troubleshooting page explains is still printed by a program.
#[test]
fn explained_messages_exist() {
    let mut source = String::new();
    page::each_file("src", "rs", &mut |path| source += &std::fs::read_to_string(path).unwrap());
    // Long messages are cut over lines in the source.
    let source = source.replace("\\\n", "").split_whitespace().collect::<Vec<_>>().join(" ");
    let page = Page::open("docs/troubleshooting.md");
    let mut messages = 0;
    for heading in ["Recording", "Reading"] {
        for row in page.table(heading) {
            let message = row[0].split('`').next().unwrap();
            assert!(source.contains(message), "docs/troubleshooting.md: nobody says {message:?} any more");
            messages += 1;
        }
    }
    assert!(messages > 8, "{messages} messages");
}

#[test]
fn blocks_are_of_a_kind_that_is_checked() {
    for page in pages() {
        for block in &page.blocks {
            assert!(
                ["sh", "text", "json", "rust,no_run"].contains(&&*block.language),
                "{}:{}: a block of {:?}",
                page.name,
                block.line,
                block.language
            );
        }
    }
}
