//! Rendering: a call tree becomes a picture, or a file for another viewer.
//!
//! Three steps that know nothing of each other. [`layout`] takes frames from
//! [`walk`](crate::folded::walk) and keeps those wide enough to be seen, in exact numbers;
//! [`colour`] says what colour a name has, the same in every file and format; an output format
//! (one line in [`FORMATS`]) turns both into bytes, and escapes names in its own way.
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
pub mod colour;
pub mod compare;
pub mod label;
pub mod layout;
pub mod options;
pub mod rewrite;
pub mod svg;

use std::io::Write;

use crate::error::Result;
use layout::Graph;
pub use options::{Canvas, Cut, Encoding, MinWidth, Options};

/// An output format.
#[derive(Clone, Copy, Debug)]
pub struct Format {
    /// What `--format` calls it.
    pub name: &'static str,
    /// One line for help.
    pub about: &'static str,
    /// Writes a graph.
    pub write: fn(&Graph, &Options, &mut dyn Write) -> Result<()>,
    /// Writes, for whoever embeds the output, that there were no stacks to draw.
    pub write_empty: fn(&Options, &mut dyn Write) -> Result<()>,
}

/// Every output format; the first is the default.
pub const FORMATS: &[Format] = &[Format {
    name: "svg",
    about: "a picture to zoom and search in a browser",
    write: svg::write,
    write_empty: svg::write_empty,
}];
