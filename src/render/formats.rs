//! The one list of output formats. `--format`, the endings of output files, the options that each
//! takes, the documentation and the tests all read it.

use std::path::Path;

use super::format::{Format, takes};
use super::{
    brief, chrome_trace, collapsed, dot, exchange, firefox, html, json, list, markdown, peek, pprof,
    speedscope, svg, text, top, tree, tsv,
};
use crate::error::{Error, ErrorKind, Result};
use crate::reading::ExchangeParts;

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

/// The formats that write everything a profile holds, if its reader keeps it.
const EXCHANGE: &[&str] =
    &[pprof::FORMAT.name, exchange::otlp_writer::FORMAT.name, exchange::otlp_writer::JSON.name];

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
        Err(Error::setting(Format::no_such_ending(&ending.to_string_lossy())))
    }

    /// The message for an ending of no format.
    pub fn no_such_ending(ending: &str) -> String {
        format!(
            "no format has files that end in .{ending}; a page is .html, a picture .svg or .png, a table .top, stacks \
             .folded: fg-render --help lists all formats"
        )
    }
}

/// Returns true for a format that writes everything a profile holds.
pub fn exchanges(format: &Format) -> bool {
    EXCHANGE.contains(&format.name)
}

/// The parts that a reader has to keep for outputs of these formats.
pub fn exchange_parts(formats: &[&Format]) -> ExchangeParts {
    let is_whole = |format: &&&Format| exchanges(format) || format.takes == [takes::PROGRAM];
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
