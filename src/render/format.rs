//! An output format as its file describes it: its name, its files' endings, the options that mean
//! something to it, and its writer. `formats` has the list of all.

use super::writer::Open;

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

/// RenderOptions that several formats take, by their long names without the dashes.
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
    pub const SCALE: &[&str] = &["pixel-ratio"];
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
    pub const PER_THREAD: &[&str] = &["split-threads"];
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
    /// Returns true if it shows when single samples were taken.
    pub fn shows_times(&self) -> bool {
        self.takes("no-time")
    }

    /// Returns true if it takes an option.
    pub fn takes(&self, option: &str) -> bool {
        self.takes.iter().any(|group| group.contains(&option))
    }
}
