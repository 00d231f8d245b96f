//! The shell examples of the pages run: each page in a clean folder, one command after the other.

use std::collections::BTreeSet;
use std::fs;

use super::page::{Page, pages};
use super::reader::{Profilers, Reader};
use super::runner::{self, Shown, commands, names};

/// Runs a command, and looks at the files it has made.
fn run(reader: &Reader, shown: &Shown) -> bool {
    let Shown { place, text } = shown;
    let made = names(&reader.folder);
    let Some(output) = runner::run(reader, shown, false) else { return false };
    let said = String::from_utf8_lossy(&output.stderr);
    // Recorders describe their machine, and gates and filters the recording.
    let talks = ["fg-record", "perf ", "-v ", "--gate", ".data"].iter().any(|word| text.contains(word));
    let complaints: Vec<&str> = said.lines().filter(|line| line.starts_with("fg-")).collect();
    let is_notice =
        |line: &&str| line.contains(": opened ") || line.ends_with(" are compared as one program");
    assert!(
        talks || complaints.iter().all(is_notice),
        "{place}: an example should show no complaints: {complaints:?}"
    );
    for name in names(&reader.folder).difference(&made) {
        let path = reader.folder.join(name);
        if path.is_dir() {
            continue;
        }
        let bytes = fs::read(&path).unwrap();
        if bytes.is_empty() && !text.starts_with("fg-") {
            // Another maker's sampler may come too late for a program that is soon over.
            super::skip::skip(format_args!("{place}: {name} is empty"));
            return false;
        }
        assert!(!bytes.is_empty(), "{place}: {name} is empty");
        if name.ends_with(".svg") {
            let svg = String::from_utf8(bytes).unwrap();
            assert!(svg.contains("<title>all ("), "{place}: {name} has no root");
            assert!(svg.matches("<title>").count() > 2, "{place}: {name} has hardly a frame");
        }
    }
    let hides =
        [">", " -o ", "--open", " check", "-p server", "--commit "].iter().any(|word| text.contains(word));
    assert!(hides || !text.starts_with("fg-") || !output.stdout.is_empty(), "{place}: no result");
    true
}

/// Runs the examples of a page.
fn run_page(name: &str) -> Reader {
    let reader = Reader::new();
    let page = Page::open(name);
    let mut ran = 0;
    for block in page.blocks.iter().filter(|block| block.language == "sh") {
        for shown in commands(name, block.line, &block.text) {
            ran += usize::from(run(&reader, &shown));
        }
    }
    println!("{name}: {ran} commands");
    reader
}

#[test]
fn those_of_the_readme_run() {
    run_page("README.md");
}

/// Each row of the table of languages, in a folder of its own: what records, then what looks.
#[test]
fn rows_of_the_readme_run() {
    let mut rows = 0;
    for row in Page::open("README.md").table("Record your program") {
        let reader = Reader::new();
        if row[0] == "Java" {
            let compile = Shown { place: "javac".to_owned(), text: "javac App.java".to_owned() };
            runner::run(&reader, &compile, false);
        }
        let cells = row[1..].iter().flat_map(|cell| cell.split('`'));
        let mut found = 0;
        for text in cells.filter(|part| foreign_or_ours(part)) {
            let place = format!("README.md, {}", row[0]);
            if !run(&reader, &Shown { place, text: text.to_owned() }) {
                break;
            }
            found += 1;
        }
        rows += usize::from(found > 0);
    }
    println!("{rows} rows");
}

/// Returns true if a part of a cell is a command, not a file or a word between.
fn foreign_or_ours(part: &str) -> bool {
    let program = part.split(' ').next().unwrap_or_default();
    let known = super::stand_ins::TOOLS.iter().any(|tool| tool.name == program);
    part.trim().contains(' ') && (known || program.starts_with("fg-"))
}

#[test]
fn those_of_the_commands_run() {
    run_page("docs/examples.md");
}

#[test]
fn those_of_the_languages_run() {
    run_page("docs/languages.md");
}

#[test]
fn those_of_the_recipes_run() {
    run_page("docs/recipes.md");
}

#[test]
fn those_of_the_tutorial_run() {
    run_page("docs/tutorial.md");
}

#[test]
fn those_of_the_reference_run() {
    for page in
        ["docs/agents.md", "docs/folded.md", "docs/installing.md", "docs/outputs.md", "docs/reading.md"]
    {
        run_page(page);
    }
}

/// A page with examples that no test above names would not be run.
#[test]
fn every_page_with_examples_is_run() {
    let source = include_str!("examples.rs");
    for page in pages() {
        if page.blocks.iter().any(|block| block.language == "sh") {
            assert!(source.contains(&format!("\"{}\"", page.name)), "{} is not run", page.name);
        }
    }
}

/// Blocks of text hold no commands: those belong into a block that is run.
#[test]
fn commands_are_in_blocks_that_are_run() {
    for page in pages() {
        for block in page.blocks.iter().filter(|block| block.language == "text") {
            for line in block.text.lines() {
                let is_command =
                    ["fg-", "scripts/", "cargo ", "perf "].iter().any(|begin| line.starts_with(begin));
                assert!(!is_command, "{}:{}: make it a block of sh: {line}", page.name, block.line);
            }
        }
    }
}

/// A command that is not run, or may fail, is one that a page or a help shows.
#[test]
fn every_exception_is_needed() {
    let all: Vec<Shown> = super::help::examples()
        .into_iter()
        .chain(pages().into_iter().flat_map(|page| {
            let blocks = page.blocks.iter().filter(|block| block.language == "sh");
            blocks.flat_map(|block| commands(&page.name, block.line, &block.text)).collect::<Vec<_>>()
        }))
        .collect();
    let reasons: BTreeSet<&str> = all.iter().filter_map(|shown| runner::not_run(&shown.text)).collect();
    for (begin, why) in runner::NOT_RUN {
        assert!(reasons.contains(why), "no page and no help shows `{begin}` any more");
    }
    for (part, _) in runner::MAY_LACK {
        assert!(
            all.iter().any(|shown| shown.text.contains(part)),
            "no page and no help shows `{part}` any more"
        );
    }
}

/// A block that begins with a prompt shows what its command prints.
#[test]
fn shown_output_is_the_programs() {
    let reader = Reader::new();
    let mut shown = 0;
    for page in pages() {
        for block in page.blocks.iter().filter(|block| block.language == "console") {
            let (command, expected) = block.text.split_once('\n').unwrap();
            let output = reader.run(command.trim_start_matches("$ "), Profilers::Real);
            let place = format!("{}:{}", page.name, block.line);
            assert_eq!(String::from_utf8_lossy(&output.stdout), expected, "{place}: {command}");
            shown += 1;
        }
    }
    assert!(shown > 0, "no page shows what a command prints");
}
