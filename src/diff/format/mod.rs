//! The formats a report is written in; one file each.

mod json;
mod markdown;
mod table;
mod tsv;

use std::io::Write;

use super::change::{Presence, Row};
use super::report::Report;
use super::verdict::Verdict;
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

/// The noun for a number of rows.
fn row_or_rows(number: usize) -> &'static str {
    if number == 1 { "row" } else { "rows" }
}

/// The options of a format.
///
/// ```
/// let options = fg_tools::diff::FormatOptions::default().limit(5).colour(true);
/// assert_eq!(options.limit, Some(5));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct FormatOptions {
    /// The most rows; `None` is the format's own number.
    pub limit: Option<usize>,
    /// Write the colours of a terminal.
    pub colour: bool,
    /// The width of a table, in columns of a terminal; `None` is as wide as its names are.
    pub width: Option<usize>,
    /// Write a table with the self and the total weight, and the interval of each.
    pub wide: bool,
    /// The verdict of gates, to be written as well.
    pub verdict: Option<Verdict>,
    /// The address or the name of a picture that Markdown points to.
    pub picture: Option<String>,
}

impl FormatOptions {
    /// Sets the most rows.
    pub fn limit(mut self, rows: usize) -> Self {
        self.limit = Some(rows);
        self
    }

    /// Writes the colours of a terminal.
    pub fn colour(mut self, colour: bool) -> Self {
        self.colour = colour;
        self
    }

    /// Sets the width of a table, in columns of a terminal.
    pub fn width(mut self, columns: usize) -> Self {
        self.width = Some(columns);
        self
    }

    /// Writes a table with all columns.
    pub fn wide(mut self, wide: bool) -> Self {
        self.wide = wide;
        self
    }

    /// Writes the verdict of gates as well.
    pub fn verdict(mut self, verdict: Verdict) -> Self {
        self.verdict = Some(verdict);
        self
    }

    /// Lets Markdown point to a picture: its address, or the name of its file.
    pub fn picture(mut self, address: impl Into<String>) -> Self {
        self.picture = Some(address.into());
        self
    }
}

impl Report {
    /// Writes the report in a format, with the format's own number of rows and no colours.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Overflow`], and what `out` says.
    pub fn write(&self, format: ReportFormat, out: &mut dyn Write) -> Result<()> {
        self.write_with(format, &FormatOptions::default(), out)
    }

    /// Writes the report in a format.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Overflow`], and what `out` says.
    pub fn write_with(
        &self,
        format: ReportFormat,
        options: &FormatOptions,
        out: &mut dyn Write,
    ) -> Result<()> {
        format.write(self, options, out)
    }
}

/// A word for the change of a row: `~` if it may be noise, `?` if one run a side does not tell.
fn mark(row: &Row) -> &'static str {
    if row.is_suspected() {
        return "?";
    }
    if !row.is_significant() {
        return "~";
    }
    match row.presence() {
        Presence::New => "new",
        Presence::Gone => "gone",
        Presence::Both if row.leading().difference().is_ok_and(|size| size > crate::Weight::ZERO) => "up",
        Presence::Both => "down",
    }
}
