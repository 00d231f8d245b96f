//! Rendering: a call tree becomes a picture, or a file for another viewer.
//!
//! An output format is one file and one line in [`FORMATS`]. Its [`Writer`] is told of frames and
//! stacks by the one walk over the input, whatever else listens, writes bytes and escapes names in
//! its own way. Formats that are drawn share two steps that know nothing of each other: [`layout`]
//! keeps the frames wide enough to be seen, in exact numbers, and [`colour`] gives a name the same
//! colour in every file and format.
//!
//! ```
//! use fg_tools::Profile;
//! use fg_tools::render::Settings;
//!
//! let profile = Profile::from_bytes("# unit: ms\nmain;parse 40\nmain 2\n")?;
//! let mut picture = Vec::new();
//! profile.render("svg", &Settings::default().title("my program"), &mut picture)?;
//! assert!(String::from_utf8(picture).unwrap().contains("<title>parse (40 ms, 95.24%)</title>"));
//! # Ok::<(), fg_tools::Error>(())
//! ```

mod about;
pub mod amounts;
pub mod attributes;
mod brief;
mod builders;
pub mod calls;
mod chrome_trace;
mod collapsed;
pub mod colour;
pub mod columns;
pub mod compare;
mod dot;
pub(crate) mod exchange;
mod firefox;
pub mod format;
pub mod formats;
pub mod functions;
mod gathered;
mod graph_writer;
pub mod html;
mod json;
pub mod label;
pub mod layout;
mod list;
mod markdown;
pub mod options;
mod others;
#[cfg(feature = "parquet")]
pub(crate) mod parquet;
mod path;
mod peek;
#[cfg(feature = "png")]
mod png;
mod pprof;
mod profile;
pub mod rewrite;
#[cfg(feature = "perf-data")]
mod sample_profile;
pub mod settings;
mod shown_places;
mod source;
mod speedscope;
pub mod svg;
mod text;
mod timed_calls;
mod top;
mod tree;
mod tsv;
mod verdicts;
pub mod writer;

pub use builders::{HtmlOptions, SvgOptions};
pub use format::Format;
pub use formats::FORMATS;
pub use options::{Canvas, Cut, Encoding, MinWidth, RenderOptions};
pub use settings::Settings;
pub use writer::{Drawn, Finished, StackSource, Target, Writer, Written, write};

pub use crate::tally::{GROUPS, RowKind};
