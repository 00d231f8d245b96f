//! A page of Markdown: its code blocks and its tables.

use std::fs;
use std::path::{Path, PathBuf};

/// A page, read.
pub struct Page {
    /// Its path from the project's folder.
    pub name: String,
    pub text: String,
    pub blocks: Vec<Block>,
}

/// A code block between fences.
pub struct Block {
    /// The number of its first line.
    pub line: usize,
    pub language: String,
    pub text: String,
}

pub fn project() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

pub fn read(name: &str) -> String {
    fs::read_to_string(project().join(name)).unwrap_or_else(|e| panic!("{name}: {e}"))
}

/// Calls `found` with every file below a folder whose name has this ending, in a fixed order.
pub fn each_file(folder: &str, ending: &str, found: &mut dyn FnMut(&Path)) {
    let entries = fs::read_dir(project().join(folder)).unwrap_or_else(|e| panic!("{folder}: {e}"));
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    for path in paths {
        if path.is_dir() {
            each_file(path.strip_prefix(project()).unwrap().to_str().unwrap(), ending, found);
        } else if path.extension().is_some_and(|its| its == ending) {
            found(&path);
        }
    }
}

/// README.md and the pages of docs/.
pub fn pages() -> Vec<Page> {
    let mut pages = vec![Page::open("README.md")];
    each_file("docs", "md", &mut |path| {
        pages.push(Page::open(path.strip_prefix(project()).unwrap().to_str().unwrap()));
    });
    assert!(pages.len() > 10, "the pages of docs/");
    pages
}

impl Page {
    pub fn open(name: &str) -> Page {
        let text = read(name);
        Page { name: name.to_owned(), blocks: blocks(name, &text), text }
    }

    /// The rows of the table below a heading, the cells without their backquotes.
    pub fn table(&self, heading: &str) -> Vec<Vec<String>> {
        let section = self.text.split(&format!("\n## {heading}\n")).nth(1);
        let section = section.unwrap_or_else(|| panic!("{}: no heading {heading:?}", self.name));
        let section = section.split("\n## ").next().unwrap();
        let rows = section.lines().filter_map(|line| line.strip_prefix("| ")?.strip_suffix(" |"));
        let cells = |row: &str| row.split(" | ").map(|cell| cell.trim_matches('`').to_owned()).collect();
        rows.skip(2).map(cells).collect()
    }
}

fn blocks(name: &str, text: &str) -> Vec<Block> {
    let mut blocks = Vec::new();
    let mut open: Option<Block> = None;
    for (n, line) in text.lines().enumerate() {
        match (&mut open, line.strip_prefix("```")) {
            (None, Some(language)) => {
                open = Some(Block { line: n + 2, language: language.to_owned(), text: String::new() });
            }
            (Some(_), Some(_)) => blocks.extend(open.take()),
            (Some(block), None) => block.text += &format!("{line}\n"),
            (None, None) => {}
        }
    }
    assert!(open.is_none(), "{name}: a block without an end");
    blocks
}
