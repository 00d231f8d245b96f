//! The escaping of text from outside: the names and the unit of a report, for each kind of output.

use super::markdown_name::code;
use crate::printable::{markdown_text, printable};

/// Writes names and units as an output has to.
#[derive(Clone, Copy, Debug)]
pub(super) struct Escape {
    /// Writes a name.
    pub(super) name: fn(&[u8]) -> String,
    /// Writes a unit, behind a number.
    pub(super) unit: fn(&str) -> String,
}

impl Escape {
    /// For a terminal, and for plain text.
    pub(super) const TEXT: Escape = Escape { name: printable, unit: |unit| printable(unit.as_bytes()) };

    /// For Markdown: names as code, cut to a length, and units as words or as code.
    pub(super) const MARKDOWN: Escape = Escape { name: code, unit: markdown_text };
}
