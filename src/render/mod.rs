//! Rendering: a call tree becomes a picture, or a file for another viewer.
//!
//! An output format is one file and one line in [`FORMATS`]. It is a [`sink`]: told of frames and
//! stacks by the one [`walk`](crate::folded::walk) over the input, whatever else listens, it
//! writes bytes and escapes names in its own way. Formats that are drawn share two steps that know nothing
//! of each other: [`layout`] keeps the frames wide enough to be seen, in exact numbers, and
//! [`colour`] says what colour a name has, the same in every file and format.
//!
//! ```
//! use fg_tools::render::{Canvas, Options, layout::Layout, svg};
//! use fg_tools::{folded::{Order, walk}, input::Source};
//!
//! # let file = tempfile::NamedTempFile::new().unwrap();
//! # std::fs::write(file.path(), "main;parse 40\nmain 2\n").unwrap();
//! # let path = file.path();
//! let mut layout = Layout::new(1e-4, None);
//! let summary = walk(&[Source::new(path)], Order::Frame, None, &mut layout)?;
//! let graph = layout.finish(&summary)?;
//! let mut picture = Vec::new();
//! svg::write(&graph, &Options::default(), &mut picture)?;
//! assert!(String::from_utf8(picture).unwrap().contains("<title>parse (40 samples, 95.24%)</title>"));
//! # Ok::<(), fg_tools::Error>(())
//! ```

pub mod attributes;
pub mod calls;
mod collapsed;
pub mod colour;
pub mod columns;
pub mod compare;
mod dot;
mod firefox;
pub mod format;
pub mod functions;
pub mod html;
mod json;
mod json_text;
pub mod label;
pub mod layout;
mod markdown;
pub mod options;
mod path;
mod peek;
pub mod picture;
#[cfg(feature = "png")]
mod png;
mod pprof;
pub mod rewrite;
pub mod settings;
pub mod sink;
mod speedscope;
pub mod svg;
mod text;
mod top;
mod tree;
mod tsv;

pub use format::{FORMATS, Format};
pub use options::{Canvas, Cut, Encoding, MinWidth, Options};
pub use settings::Settings;
