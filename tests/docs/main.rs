//! Checks README.md and docs/: their shell examples run, their links lead somewhere, their tables
//! are the programs' own.
//!
//! The commands of a page run one after the other in a clean folder, as a reader would type them, with
//! the programs just built and real profilers; so do the examples of `--help`. Where a profiler is not
//! installed or does not work, that is said, and a stand-in plays back a real recording of it. Commands
//! that no test can run are in one table, [`runner::NOT_RUN`], with reasons.

#![cfg(feature = "cli")]

#[cfg(unix)]
mod examples;
#[cfg(unix)]
mod help;
#[cfg(unix)]
mod inline;
#[cfg(unix)]
#[allow(dead_code)]
#[path = "../common/installed.rs"]
mod installed;
mod links;
mod page;
#[cfg(unix)]
mod reader;
#[cfg(unix)]
mod runner;
#[cfg(unix)]
#[path = "../common/skip.rs"]
mod skip;
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
                ["sh", "console", "text", "json", "yaml", "rust,no_run"].contains(&&*block.language),
                "{}:{}: a block of {:?}",
                page.name,
                block.line,
                block.language
            );
        }
    }
}
