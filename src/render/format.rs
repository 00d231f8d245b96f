//! The one list of output formats. `--format`, the endings of output files, the options that each
//! takes, the documentation and the tests all read it.

use std::path::Path;

use super::writer::Open;
use super::{
    brief, chrome_trace, collapsed, dot, exchange, firefox, html, json, list, markdown, peek, pprof,
    speedscope, svg, text, top, tree, tsv,
};
use crate::error::{ErrorKind, Result};
use crate::reading::ExchangeParts;

/// An output format.
#[derive(Clone, Copy, Debug)]
pub struct Format {
    /// The name of the format, as for `--format`.
    pub name: &'static str,
    /// The endings of its files' names, without the dot; the first is the usual one.
    pub endings: &'static [&'static str],
    /// One line for help.
    pub about: &'static str,
    /// The options of `fg-render` that mean something to it, besides those that all take.
    pub takes: &'static [&'static [&'static str]],
    /// True if it writes before all is read.
    pub streams: bool,
    /// Makes what writes it.
    pub open: Open,
}

/// Every output format; the first is the default.
pub const FORMATS: &[Format] = &[
    svg::FORMAT,
    html::FORMAT,
    #[cfg(feature = "png")]
    super::png::FORMAT,
    text::FORMAT,
    top::FORMAT,
    tree::TREE,
    tree::BOTTOM_UP,
    peek::FORMAT,
    list::FORMAT,
    markdown::FORMAT,
    brief::FORMAT,
    json::FORMAT,
    tsv::FORMAT,
    collapsed::FORMAT,
    speedscope::FORMAT,
    pprof::FORMAT,
    exchange::otlp_writer::FORMAT,
    exchange::otlp_writer::JSON,
    firefox::FORMAT,
    chrome_trace::FORMAT,
    dot::FORMAT,
    #[cfg(feature = "perf-data")]
    super::sample_profile::LLVM,
    #[cfg(feature = "perf-data")]
    super::sample_profile::GCC,
    #[cfg(feature = "perf-data")]
    super::sample_profile::GCC_1,
    #[cfg(feature = "parquet")]
    super::parquet::FORMAT,
];

/// Options that several formats take, by their long names without the dashes.
pub mod takes {
    /// For everything that is laid out as a flame graph.
    pub const LAYOUT: &[&str] = &["total", "minwidth", "widths"];
    /// The rows of a table.
    pub const TABLE: &[&str] = &["by", "sort", "limit"];
    /// The least share of a tree's frames.
    pub const TREE: &[&str] = &["min-percent"];
    /// The length of the output.
    pub const BUDGET: &[&str] = &["depth", "budget"];
    /// The limits of what counts as a change.
    pub const JUDGE: &[&str] = &["alpha", "min-effect"];
    /// The number of pixels for each of the picture's.
    pub const SCALE: &[&str] = &["scale"];
    /// The number of frames from the root.
    pub const DEPTH: &[&str] = &["depth"];
    /// The terminal.
    pub const TERMINAL: &[&str] = &["columns", "ansi", "upright"];
    /// The functions to look around.
    pub const PEEK: &[&str] = &["peek"];
    /// The functions to list.
    pub const LIST: &[&str] = &["list"];
    /// The folders of source files.
    pub const SOURCE: &[&str] = &["source-path", "no-source"];
    /// The program that a profile for compilers is of.
    pub const PROGRAM: &[&str] = &["binary", "stale-against"];
    /// The name.
    pub const TITLE: &[&str] = &["title", "private"];
    /// The lines above text.
    pub const HEAD: &[&str] = &["title", "subtitle"];
    /// Threads apart.
    pub const PER_THREAD: &[&str] = &["per-thread"];
    /// Each of several files by itself.
    pub const EACH: &[&str] = &["each"];
    /// Times of single samples.
    pub const TIME: &[&str] = &["no-time"];
    /// Other texts of a graph.
    pub const TEXT: &[&str] = &["subtitle", "notes", "nametype", "nameattr"];
    /// The unit, and the privacy of the facts.
    pub const UNIT: &[&str] = &["countname", "private"];
    /// The names on frames.
    pub const CUT: &[&str] = &["truncate-text-right", "truncate-text-left"];
    /// Root at the top.
    pub const INVERTED: &[&str] = &["inverted"];
    /// Pixels and letters.
    pub const SIZE: &[&str] = &["width", "height", "fonttype", "fontsize", "fontwidth"];
    /// The colours of frames.
    pub const COLOURS: &[&str] = &["colors", "hash", "deterministic", "random", "cp", "colordiffusion"];
    /// The colours around them.
    pub const SURROUNDINGS: &[&str] = &["bgcolors", "search-color", "uicolor", "stroke-color"];
    /// The options of differential input.
    pub const CHANGE: &[&str] = &["self-change", "diff-colors", "negate", "alpha", "min-effect", "period"];
    /// The file it is.
    pub const XML: &[&str] = &["encoding", "pretty-xml"];
}

impl Format {
    /// The format of this name.
    ///
    /// # Errors
    /// [`ErrorKind::UnknownFormat`].
    pub fn by_name(name: &str) -> Result<&'static Format> {
        let found = FORMATS.iter().find(|format| format.name == name);
        found.ok_or_else(|| {
            let known: Vec<&str> = FORMATS.iter().map(|format| format.name).collect();
            ErrorKind::UnknownFormat { name: name.to_owned(), known: known.join(", ") }.into()
        })
    }

    /// The format of a file of this name: the one with the longest ending that it has.
    pub fn by_ending(file: &str) -> Option<&'static Format> {
        let file = file.to_ascii_lowercase();
        let has = |ending: &str| file.strip_suffix(ending).is_some_and(|stem| stem.ends_with('.'));
        let longest = |format: &Format| format.endings.iter().filter(|e| has(e)).map(|e| e.len()).max();
        FORMATS.iter().filter(|format| longest(format).is_some()).max_by_key(|format| longest(format))
    }

    /// The format of a file by its ending; a file without an ending is of the format `unnamed`.
    ///
    /// # Errors
    /// [`ErrorKind::Setting`] for an ending of no format.
    pub fn of_file(path: &Path, unnamed: &str) -> Result<&'static Format> {
        if let Some(format) = path.file_name().and_then(|name| Format::by_ending(&name.to_string_lossy())) {
            return Ok(format);
        }
        let Some(ending) = path.extension() else { return Format::by_name(unnamed) };
        let known: Vec<&str> = FORMATS.iter().flat_map(|format| format.endings).copied().collect();
        let what = format!(
            "no format has files that end in .{}; there are {}: choose with --format",
            ending.to_string_lossy(),
            known.join(", ")
        );
        Err(ErrorKind::Setting { what }.into())
    }

    /// Returns true if it shows when single samples were taken.
    pub fn shows_times(&self) -> bool {
        self.takes("no-time")
    }

    /// Returns true if it takes an option.
    pub fn takes(&self, option: &str) -> bool {
        self.takes.iter().any(|group| group.contains(&option))
    }
}

/// The parts that a reader has to keep for outputs of these formats.
pub fn exchange_parts(formats: &[&Format]) -> ExchangeParts {
    let is_whole =
        |format: &&&Format| exchange::NAMES.contains(&format.name) || format.takes == [takes::PROGRAM];
    match formats.iter().filter(is_whole).count() {
        0 => ExchangeParts::Nothing,
        all if all == formats.len() => ExchangeParts::Whole,
        _ => ExchangeParts::Shown,
    }
}

/// The formats as a table of Markdown.
pub fn table() -> String {
    let mut out = "| name | file endings | what |\n| --- | --- | --- |\n".to_owned();
    for Format { name, endings, about, .. } in FORMATS {
        let endings: Vec<String> = endings.iter().map(|ending| format!("`.{ending}`")).collect();
        out += &format!("| `{name}` | {} | {about} |\n", endings.join(", "));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_endings_are_of_one_format_each() {
        let mut names: Vec<&str> = FORMATS.iter().map(|format| format.name).collect();
        let mut endings: Vec<&str> = FORMATS.iter().flat_map(|format| format.endings).copied().collect();
        for list in [&mut names, &mut endings] {
            list.sort_unstable();
            let all = list.len();
            list.dedup();
            assert_eq!(list.len(), all);
        }
    }

    #[test]
    fn endings_choose() {
        let name = |file| Format::by_ending(file).map(|format| format.name);
        assert_eq!(name("out.svg"), Some("svg"));
        assert_eq!(name("a.b/OUT.SVG"), Some("svg"));
        assert_eq!(name("a.json"), Some("json"));
        assert_eq!(name("a.speedscope.json"), Some("speedscope"));
        assert_eq!(name("svg"), None);
        assert_eq!(name("out.nosuch"), None);
    }
}
