//! Tables as text: numbers to the right, the name at the end.

use std::io::Write;

use super::amounts::Amounts;
use super::functions::change;
use super::label::percent;
use crate::error::Result;
use crate::folded::Weights;
use crate::weight::Weight;

/// Writes a table of many rows, without keeping the text of any: `cells` is asked twice for each row,
/// first for the widths of columns.
///
/// # Errors
/// An I/O error of `out`, and those of `cells`.
pub fn write_long<T>(
    (head, head_last): (&[&str], &str),
    rows: &[T],
    cells: impl Fn(&T) -> Result<Vec<String>>,
    last: impl Fn(&T) -> String,
    out: &mut dyn Write,
) -> Result<()> {
    let mut widths: Vec<usize> = head.iter().map(|cell| cell.chars().count()).collect();
    for row in rows {
        for (width, cell) in widths.iter_mut().zip(cells(row)?) {
            *width = cell.chars().count().max(*width);
        }
    }
    let head: Vec<String> = head.iter().map(|&cell| cell.to_owned()).collect();
    write_line(&head, head_last, &widths, out)?;
    rows.iter().try_for_each(|row| write_line(&cells(row)?, &last(row), &widths, out))
}

fn write_line(cells: &[String], last: &str, widths: &[usize], out: &mut dyn Write) -> Result<()> {
    let mut line = String::new();
    for (cell, width) in cells.iter().zip(widths) {
        line.push_str(&format!("{cell:>width$}  "));
    }
    line.push_str(last);
    Ok(writeln!(out, "{}", line.trim_end())?)
}

/// A table being put together; its last column is as wide as it likes.
pub struct Table {
    /// Cells but the last, and the last; the first of all is the head, if there is one.
    lines: Vec<(Vec<String>, String)>,
    /// The number of cells before the last.
    cells: usize,
}

impl Table {
    /// A table with these headings.
    pub fn new(cells: &[&str], last: &str) -> Self {
        let head = cells.iter().map(|&cell| cell.to_owned()).collect();
        Table { lines: vec![(head, last.to_owned())], cells: cells.len() }
    }

    /// A table without headings, with `cells` cells before the last.
    pub fn without_head(cells: usize) -> Self {
        Table { lines: Vec::new(), cells }
    }

    /// Adds a row of as many cells.
    pub fn row(&mut self, cells: Vec<String>, last: String) {
        self.lines.push((cells, last));
    }

    /// Writes it.
    ///
    /// # Errors
    /// An I/O error of `out`.
    pub fn write(&self, out: &mut dyn Write) -> Result<()> {
        let width =
            |n: usize| self.lines.iter().map(|(cells, _)| cells[n].chars().count()).max().unwrap_or(0);
        let widths: Vec<usize> = (0..self.cells).map(width).collect();
        self.lines.iter().try_for_each(|(cells, last)| write_line(cells, last, &widths, out))
    }
}

/// A share with two decimals: `12.34%`.
pub fn share(part: Weight, whole: Weight) -> String {
    format!("{:.2}%", percent(part, whole))
}

/// Headings of [`change_cells`] for a kind of weight.
pub fn change_heads(kind: &str) -> [String; 4] {
    ["before", "after", "change", "pp"].map(|head| format!("{kind} {head}"))
}

/// A weight before and after, its change, and that of its share in percentage points.
///
/// # Errors
/// [`crate::ErrorKind::Overflow`].
pub fn change_cells(weights: Weights, all: Weights, amounts: &Amounts) -> Result<[String; 4]> {
    Ok([
        amounts.cell(weights.before),
        amounts.cell(weights.value),
        amounts.change(change(weights)?),
        points(weights, all),
    ])
}

/// The change of a share, in percentage points.
pub fn points(weights: Weights, all: Weights) -> String {
    let points = percent(weights.value, all.value) - percent(weights.before, all.before);
    // Rounding may leave a zero with a sign.
    let text = format!("{points:+.2}");
    if text == "-0.00" { "+0.00".to_owned() } else { text }
}
