//! The public interface of the stable core, against the listing in `tests/api.txt`: a change of it is seen, and meant.
//!
//! `FG_BLESS=1 cargo test --test api` writes the listing anew.

#![allow(missing_docs)]

use std::path::Path;

/// The sources of what docs/library.md promises.
const CORE: &[&str] = &[
    "src/profile/mod.rs",
    "src/profile/builder.rs",
    "src/profile/sink.rs",
    "src/reading/mod.rs",
    "src/limits.rs",
    "src/error.rs",
    "src/input/mod.rs",
    "src/input/source.rs",
    "src/input/scoped.rs",
    "src/weight.rs",
    "src/collapse/options.rs",
    "src/filter/profile.rs",
    "src/diff/profiles.rs",
    "src/render/profile.rs",
    "src/render/builders.rs",
    "src/flamegraph/mod.rs",
    "src/flamegraph/options.rs",
    "src/differential.rs",
    "src/folder.rs",
];

/// The public items of a source, one a line: names and types, without bodies.
fn public_items(source: &str) -> Vec<String> {
    let mut items = Vec::new();
    let source = source.split("\n#[cfg(test)]\nmod tests").next().unwrap_or_default();
    let mut lines = source.lines().map(str::trim).filter(|line| !line.starts_with("//"));
    while let Some(line) = lines.next() {
        if !(line.starts_with("pub ") || line.starts_with("impl") || line == "#[non_exhaustive]") {
            continue;
        }
        let mut item = line.to_owned();
        // A list of imports or of parameters goes on; a body does not.
        let is_open = |item: &str| {
            let ends = if item.starts_with("pub use") {
                item.ends_with(';')
            } else {
                item.ends_with(['{', ';', ',', '}', ']'])
            };
            let inside = item.matches('(').count() > item.matches(')').count();
            !ends || inside
        };
        while is_open(&item) && !item.starts_with('#') {
            let Some(next) = lines.next() else { break };
            item.push(' ');
            item.push_str(next);
        }
        let item = item.trim_end_matches(['{', ' ']).replace("( ", "(").replace(", )", ")");
        items.push(item);
    }
    items
}

fn listing() -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut text = String::new();
    for file in CORE {
        let source = std::fs::read_to_string(root.join(file)).unwrap_or_else(|e| panic!("{file}: {e}"));
        text.push_str(&format!("# {file}\n"));
        let mut items = public_items(&source);
        // A block without anything public in it.
        let is_block = |item: &String| item.starts_with("impl");
        let kept: Vec<bool> = (0..items.len())
            .map(|at| {
                !is_block(&items[at])
                    || items.get(at + 1).is_some_and(|next| !is_block(next))
                    || items[at].contains(" for ")
            })
            .collect();
        let mut kept = kept.into_iter();
        items.retain(|_| kept.next().unwrap_or(false));
        items.iter().for_each(|item| text.push_str(&format!("{item}\n")));
        text.push('\n');
    }
    text
}

#[test]
fn the_core_is_as_listed() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/api.txt");
    let now = listing();
    if std::env::var_os("FG_BLESS").is_some() {
        std::fs::write(&path, &now).unwrap();
    }
    let before = std::fs::read_to_string(&path).unwrap();
    let gone: Vec<&str> = before.lines().filter(|line| !now.lines().any(|other| other == *line)).collect();
    let new: Vec<&str> = now.lines().filter(|line| !before.lines().any(|other| other == *line)).collect();
    assert!(
        before == now,
        "the interface has changed; if that is meant, FG_BLESS=1 lists it anew\n- {}\n+ {}",
        gone.join("\n- "),
        new.join("\n+ ")
    );
}

#[test]
fn items_are_told_from_bodies() {
    let source = "//! x\npub struct A {\n    pub b: u32,\n    c: u32,\n}\n\nimpl A {\n    /// D.\n    pub fn d(\n        self,\n        e: u32,\n    ) -> u32 {\n        0\n    }\n\n    pub(crate) fn f() {}\n}\n";
    assert_eq!(
        public_items(source),
        ["pub struct A", "pub b: u32,", "impl A", "pub fn d(self, e: u32) -> u32"]
    );
}
