//! The options of `fg-render`, in the groups in which its help shows them.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

pub use super::values::Rows;
use super::values::{
    Stroke, alpha, background, colour, factor, font_size, font_width, formats, min_width, palettes, points,
    rows, scale, schemes, seed, sorts, stroke, weight, widths,
};
use crate::render::colour::{Background, ColourScheme, Rgb, Scheme};
use crate::render::compare::Widths;
use crate::render::settings::Sort;
use crate::render::{Encoding, MinWidth};
use crate::weight::Weight;

/// The format of the input, and the handling of lines that are not understood.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Input")]
pub struct InputFormatArgs {
    /// Read the input as NAME; by default its content tells the format. fg-collapse --list-formats lists
    /// the names
    #[arg(long, value_name = "NAME")]
    pub input_format: Option<String>,
    /// Show each file by itself as well: a page has a menu of all files together and of each
    #[arg(long, conflicts_with_all = ["flamechart", "order", "no_sort", "countname", "factor"])]
    pub each: bool,
    /// Fail if a line is not understood
    #[arg(long)]
    pub strict: bool,
}

/// The stacks to draw.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Stacks")]
pub struct StackArgs {
    /// Turn stacks leaf first: see at the root which functions cost most themselves
    #[arg(long)]
    pub reverse: bool,
    /// Only stacks with the frame SYM, drawn from there on; may be repeated. With
    /// --reverse: who called SYM
    #[arg(long, value_name = "SYM")]
    pub base: Vec<String>,
    /// Lines are in the order of time: neither sort nor merge them
    #[arg(long, alias = "flame-chart")]
    pub flamechart: bool,
    /// time: the flame chart of each thread, one after the other, the heaviest first; neighbours
    /// are merged. Needs a recording with times. input: that of the input, where equal neighbours are still
    /// merged. name: by the names of frames (default)
    #[arg(long, value_name = "ORDER", value_parser = ["name", "time", "input"], conflicts_with = "flamechart")]
    pub order: Option<String>,
    /// The old name of --order input
    #[arg(long, hide = true, conflicts_with_all = ["flamechart", "order"])]
    pub no_sort: bool,
    /// Leave out when single samples were taken: a page has no time line then
    #[arg(long)]
    pub no_time: bool,
    /// Multiply weights by NUM, exactly
    #[arg(long, hide = true, value_name = "NUM", value_parser = factor)]
    pub factor: Option<Weight>,
    /// Let the whole width be NUM, in the input's weights; not less than there is
    #[arg(long, hide = true, value_name = "NUM", value_parser = weight)]
    pub total: Option<Weight>,
}

/// The texts of the picture.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Text")]
pub struct TextArgs {
    /// The title (default: the command that was recorded, where that is known)
    #[arg(long, value_name = "TEXT")]
    pub title: Option<String>,
    /// The line under the title (default: what was measured, where that is known)
    #[arg(long, hide = true, value_name = "TEXT")]
    pub subtitle: Option<String>,
    /// Leave out the host, folders, arguments and comments of the recording, to mail the
    /// output to a stranger
    #[arg(long)]
    pub private: bool,
    /// Notes to keep in the file, not drawn
    #[arg(long, hide = true, value_name = "TEXT")]
    pub notes: Option<String>,
    /// The unit of weights, whatever the input says
    #[arg(long, hide = true, value_name = "TEXT")]
    pub countname: Option<String>,
    /// The word before a name in the line at the bottom (default: Function:)
    #[arg(long, hide = true, value_name = "TEXT")]
    pub nametype: Option<String>,
    /// Cut the end of names that do not fit: the default, and undoes --truncate-text-left
    #[arg(long, hide = true, overrides_with = "truncate_text_left")]
    pub truncate_text_right: bool,
    /// Cut the start of names that do not fit: `..Iterator>::next`
    #[arg(long, hide = true, overrides_with = "truncate_text_right")]
    pub truncate_text_left: bool,
    /// Links and other attributes: on each line a name, then tab and attr=value as often
    /// as wanted; attr is href, target, title, class, rel, hreflang, lang, aria-… or data-…
    #[arg(long, hide = true, value_name = "FILE")]
    pub nameattr: Option<PathBuf>,
}

/// The source code beside the lines of functions.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Source code")]
pub struct SourceArgs {
    /// Look for source files in DIR; may be repeated. A list looks in the current folder, too, and so
    /// does a page of a recording made on this machine, for files that it names as they are.
    /// Links are followed, but files elsewhere, hidden files and what is no source code are never read
    #[arg(long, value_name = "DIR")]
    pub source_path: Vec<PathBuf>,
    /// Read no source files: a page has lines and weights, but no code
    #[arg(long, conflicts_with = "source_path")]
    pub no_source: bool,
}

/// Sizes of the picture and its parts.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Size")]
pub struct SizeArgs {
    /// Root at the top
    #[arg(short_alias = 'i', long)]
    pub inverted: bool,
    /// Width in pixels (default: the window's; 1200 without a script)
    #[arg(
        long, alias = "image-width", value_name = "PIXELS",
        value_parser = clap::value_parser!(u32).range(100..=100_000)
    )]
    pub width: Option<u32>,
    /// Height of a frame (default: 16)
    #[arg(long, hide = true, value_name = "PIXELS", value_parser = clap::value_parser!(u32).range(2..=1000))]
    pub height: Option<u32>,
    /// Leave out narrower frames: pixels of the static picture, columns of text, or a
    /// share such as 0.5% (default: 0.1; of text half a column)
    #[arg(long, alias = "min-width", value_name = "PIXELS|N%", value_parser = min_width)]
    pub minwidth: Option<MinWidth>,
    /// Font, as CSS names it (default: Verdana, sans-serif)
    #[arg(long, hide = true, value_name = "FONT")]
    pub fonttype: Option<String>,
    /// Height of letters in pixels (default: 12)
    #[arg(long, hide = true, value_name = "PIXELS", value_parser = font_size)]
    pub fontsize: Option<f64>,
    /// Pixels of a PNG for each of the picture's, for sharp screens (default: 1)
    #[arg(long, alias = "scale", value_name = "NUM", value_parser = scale)]
    pub pixel_ratio: Option<f64>,
    /// Mean width of a letter as a share of its height (default: 0.59)
    #[arg(long, hide = true, value_name = "NUM", value_parser = font_width)]
    pub fontwidth: Option<f64>,
}

/// The options of differential input.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Differential graphs")]
pub struct ChangeArgs {
    /// Draw the weights after, before, or of each stack the larger one: then what is
    /// gone is drawn too (default: after)
    #[arg(long, value_name = "SIDE", value_parser = widths())]
    pub widths: Option<Widths>,
    /// Colour by the change of a frame's self weight, not of all it calls
    #[arg(long)]
    pub self_change: bool,
    /// The colours of what grew and what shrank (default: orange-blue)
    #[arg(long, value_name = "SCHEME", value_parser = schemes())]
    pub diff_colors: Option<Scheme>,
    /// Swap them: as if after were before
    #[arg(long, hide = true)]
    pub negate: bool,
    /// The accepted probability of taking noise for a change; the rest is grey, 1 greys nothing
    /// (default: 0.01)
    #[arg(long, value_name = "P", value_parser = alpha)]
    pub alpha: Option<f64>,
    /// The least change, in percentage points of the profile; a smaller one is grey (default: 0)
    #[arg(long, value_name = "PP", value_parser = points)]
    pub min_effect: Option<f64>,
    /// The weight of a sample (default: the largest number that divides all weights)
    #[arg(long, value_name = "NUM", value_parser = factor)]
    pub period: Option<Weight>,
}

/// The picture's colours.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Colours")]
pub struct ColourArgs {
    /// The palette (default: hot)
    #[arg(short_alias = 'c', long, aliases = ["color", "colour", "colours", "palette"], value_name = "PALETTE", value_parser = palettes())]
    pub colors: Option<ColourScheme>,
    /// Background: yellow, blue, green, grey or #rrggbb (default: what suits the palette)
    #[arg(long, hide = true, alias = "bgcolor", value_name = "COLOUR", value_parser = background)]
    pub bgcolors: Option<Background>,
    /// Colour by name: what is always done, accepted for compatibility
    #[arg(long, hide = true)]
    pub hash: bool,
    /// The same colours in every run: what is always done, accepted for compatibility
    #[arg(long, hide = true)]
    pub deterministic: bool,
    /// Other colours in each run, or those of SEED: a number above 0
    #[arg(
        long, hide = true, value_name = "SEED", num_args = 0..=1, require_equals = true, default_missing_value = "any",
        value_parser = seed,
        conflicts_with_all = ["hash", "deterministic"]
    )]
    pub random: Option<u32>,
    /// Keep colours in ./palette.map from picture to picture
    #[arg(long, hide = true)]
    pub cp: bool,
    /// Colour by width: the wider, the deeper
    #[arg(long, hide = true)]
    pub colordiffusion: bool,
    /// Colour of found frames (default: #e600e6)
    #[arg(long, hide = true, value_name = "#RRGGBB", value_parser = colour)]
    pub search_color: Option<Rgb>,
    /// Colour of the texts around the frames (default: black; light in dark mode)
    #[arg(long, hide = true, value_name = "#RRGGBB", value_parser = colour)]
    pub uicolor: Option<Rgb>,
    /// Colour of an outline around each frame, or none (default: none)
    #[arg(long, hide = true, value_name = "#RRGGBB", value_parser = stroke)]
    pub stroke_color: Option<Stroke>,
}

/// The output files and their formats.
#[derive(Args, Clone, Debug, Default)]
pub struct OutputArgs {
    /// Write to FILE instead of standard output, in the format of its ending; may be
    /// repeated: the input is read once, and all files appear complete or none
    #[arg(short, long, value_name = "FILE")]
    pub output: Vec<PathBuf>,
    /// The format of the one output, whatever its ending (default: svg)
    #[arg(long, value_name = "NAME", value_parser = formats())]
    pub format: Option<String>,
    /// Open the page or picture in the browser; without one, write a page into the user's cache
    /// folder and open that
    #[arg(long)]
    pub open: bool,
}

/// The rows of tables, and the frames of trees.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Tables and trees")]
pub struct TableArgs {
    /// Write a row for each function, stack, module or thread (default: function); or for each
    /// value of a label of the recording: endpoint, time=1s
    #[arg(long, value_name = "KIND|LABEL", value_parser = rows)]
    pub by: Option<Rows>,
    /// Sort rows: by self or total weight, name, or the change of differential input (default:
    /// self, or change if there is one)
    #[arg(long, value_name = "COLUMN", value_parser = sorts())]
    pub sort: Option<Sort>,
    /// Write at most N rows; 0 is all (default: 30 in top, 10 in markdown, 80 functions
    /// in dot, all in the others)
    #[arg(long, value_name = "N")]
    pub limit: Option<usize>,
    /// Tokens of a brief, of four bytes each (default: 2000)
    #[arg(long, value_name = "TOKENS", value_parser = clap::value_parser!(u32).range(100..=10_000_000))]
    pub budget: Option<u32>,
    /// Leave frames out of a tree that weigh less than N percent of the whole (default:
    /// 0.5, in markdown 5, in brief 0.1)
    #[arg(long, value_name = "N", value_parser = points)]
    pub min_percent: Option<f64>,
    /// Show N frames of a stack, from the root; in bottomup from the leaf; of text N rows
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub depth: Option<u32>,
    /// Callers and callees of functions that match RE, a regular expression, where case counts
    /// only if RE has a capital; alone as --format peek
    #[arg(long, value_name = "RE")]
    pub peek: Option<String>,
    /// Source lines of functions that match RE, a regular expression, with self and total weight;
    /// alone as --format list
    #[arg(long, value_name = "RE", help_heading = "Source code")]
    pub list: Option<String>,
}

/// The terminal.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Terminal")]
pub struct TerminalArgs {
    /// Draw text N columns wide (default: the terminal's, else 80)
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(10..))]
    pub columns: Option<u16>,
    /// Colours in text: on a terminal unless NO_COLOR is set, always, or never
    #[arg(long, value_name = "WHEN", default_value = "auto")]
    pub ansi: When,
    /// Root at the bottom
    #[arg(long, hide = true)]
    pub upright: bool,
    /// Explore the profile here in the terminal: a flame graph, a table, callers and callees;
    /// ? tells the keys
    #[cfg(feature = "tui")]
    #[arg(long, conflicts_with_all = ["output", "format", "open", "peek", "list"])]
    pub tui: bool,
}

/// When to colour.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
#[allow(missing_docs)]
pub enum When {
    #[default]
    Auto,
    Always,
    Never,
}

/// The output file.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "File")]
pub struct FileArgs {
    /// Encoding to declare; what it may lack is written as references (default: UTF-8)
    #[arg(long, hide = true, value_name = "NAME", value_parser = Encoding::new)]
    pub encoding: Option<Encoding>,
    /// Every element on its own line, indented
    #[arg(long, hide = true)]
    pub pretty_xml: bool,
    /// Leave out the header: comments such as `# unit: ns` before the stacks
    #[arg(long)]
    pub no_header: bool,
    /// A profile for each thread, as the first frames of stacks tell it, without those
    #[arg(long)]
    pub split_threads: bool,
}

/// The program that a profile for compilers is of.
#[cfg(feature = "perf-data")]
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "File")]
pub struct ProgramArgs {
    /// Write the profile of the program FILE (default: the one with most samples, where it was
    /// recorded)
    #[arg(long, value_name = "FILE")]
    pub binary: Option<PathBuf>,
    /// Say how much of the profile fits the lines of FILE, a later build of the program
    #[arg(long, value_name = "FILE")]
    pub stale_against: Option<PathBuf>,
}

/// The messages on standard error.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Messages")]
pub struct TalkArgs {
    /// Print errors only
    #[arg(short, long, conflicts_with = "verbose")]
    pub quiet: bool,
    /// Print more: what was drawn and what was left out
    #[arg(short, long)]
    pub verbose: bool,
}
