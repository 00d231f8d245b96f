//! The forms a report is written in; one file each.

mod json;
mod markdown;
mod text;
mod tsv;

use std::io::Write;

use super::report::{Presence, Report, Row};
use crate::error::Result;

/// A form of a report.
#[derive(Clone, Copy, Debug)]
pub struct Form {
    /// The name of its option.
    pub name: &'static str,
    /// Writes a report.
    pub write: fn(&Report, &Look, &mut dyn Write) -> Result<()>,
}

/// Every form.
pub const FORMS: &[Form] = &[
    Form { name: "table", write: text::write },
    Form { name: "markdown", write: markdown::write },
    Form { name: "json", write: json::write },
    Form { name: "tsv", write: tsv::write },
];

/// How a report is to look.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Look {
    /// The most rows, in Markdown each way; `None` is what suits the form.
    pub limit: Option<usize>,
    /// Colours of a terminal.
    pub colour: bool,
}

/// A word for what happened to a row: `~` if that may be noise.
fn mark(row: &Row) -> &'static str {
    if !row.is_significant() {
        return "~";
    }
    match row.presence() {
        Presence::New => "new",
        Presence::Gone => "gone",
        Presence::Both if row.leading().points() > 0.0 => "up",
        Presence::Both => "down",
    }
}

/// A p-value in as few digits as say something.
fn p_value(p: f64) -> String {
    if p < 0.0001 { "<0.0001".to_owned() } else { format!("{p:.4}") }
}
