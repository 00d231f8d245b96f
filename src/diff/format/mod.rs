//! The formats a report is written in; one file each.

mod json;
mod markdown;
mod table;
mod tsv;

use std::io::Write;

use super::report::{Presence, Report, Row};
use crate::error::Result;

/// A format of a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ReportFormat {
    /// A table for a terminal.
    Table,
    /// Markdown, for a pull request.
    Markdown,
    /// JSON, for programs: every row, exact numbers, and the facts of both sides.
    Json,
    /// Tab-separated values: every row, exact numbers.
    Tsv,
}

impl ReportFormat {
    /// Every format.
    pub const ALL: &[ReportFormat] =
        &[ReportFormat::Table, ReportFormat::Markdown, ReportFormat::Json, ReportFormat::Tsv];

    /// Its name, which is that of its option: `table`.
    pub fn name(self) -> &'static str {
        match self {
            ReportFormat::Table => "table",
            ReportFormat::Markdown => "markdown",
            ReportFormat::Json => "json",
            ReportFormat::Tsv => "tsv",
        }
    }

    pub(super) fn write(self, report: &Report, options: &FormatOptions, out: &mut dyn Write) -> Result<()> {
        match self {
            ReportFormat::Table => table::write(report, options, out),
            ReportFormat::Markdown => markdown::write(report, options, out),
            ReportFormat::Json => json::write(report, options, out),
            ReportFormat::Tsv => tsv::write(report, options, out),
        }
    }
}

/// The options of a format.
///
/// ```
/// let options = fg_tools::diff::FormatOptions::default().limit(5).colour(true);
/// assert_eq!(options.limit, Some(5));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct FormatOptions {
    /// The most rows, in Markdown each way; `None` is the format's own number.
    pub limit: Option<usize>,
    /// Write the colours of a terminal.
    pub colour: bool,
}

impl FormatOptions {
    /// Sets the most rows, in Markdown each way.
    pub fn limit(mut self, rows: usize) -> Self {
        self.limit = Some(rows);
        self
    }

    /// Writes the colours of a terminal.
    pub fn colour(mut self, colour: bool) -> Self {
        self.colour = colour;
        self
    }
}

/// A word for the change of a row: `~` if it may be noise.
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

/// A p-value in few digits.
fn p_value(p: f64) -> String {
    if p < 0.0001 { "<0.0001".to_owned() } else { format!("{p:.4}") }
}
