//! A table for a terminal: a headline, both sides, the assumptions, and a row for each function.

use std::io::Write;

use super::{FormatOptions, mark, p_value};
use crate::diff::report::{Change, Report};
use crate::error::Result;
use crate::printable::printable;

/// The number of rows by default.
const LIMIT: usize = 30;

/// The columns of a change.
const COLUMNS: [&str; 6] = ["before", "after", "change", "%", "pp", "interval"];

pub(super) fn write(report: &Report, options: &FormatOptions, out: &mut dyn Write) -> Result<()> {
    let limit = options.limit.unwrap_or(LIMIT);
    let rows = &report.rows[..limit.min(report.rows.len())];
    writeln!(out, "{}", report.headline())?;
    for (side, text) in report.sides() {
        writeln!(out, "{side}: {text}")?;
    }
    writeln!(out, "{}", report.assumption())?;
    writeln!(out)?;
    let mut lines: Vec<(Vec<String>, String, bool)> = Vec::new();
    let mut head = vec![String::new()];
    head.extend(COLUMNS.iter().map(|column| format!("self {column}")));
    head.extend(COLUMNS.iter().map(|column| format!("total {column}")));
    // Two lines of headings would be narrower; one can be cut and sorted.
    let head = head
        .into_iter()
        .map(|text| text.replace("self interval", "interval").replace("total interval", "interval"));
    lines.push((head.chain(["p".to_owned()]).collect(), "name".to_owned(), false));
    for row in rows {
        let mut cells = vec![mark(row).to_owned()];
        cells.extend(change_cells(report, &row.own)?);
        cells.extend(change_cells(report, &row.total)?);
        let least = [&row.own, &row.total]
            .into_iter()
            .filter_map(|change| change.test.map(|test| test.p))
            .reduce(f64::min);
        cells.push(least.map_or_else(|| "-".to_owned(), p_value));
        lines.push((cells, printable(&row.name), !row.is_significant()));
    }
    let columns = lines.first().map_or(0, |(cells, _, _)| cells.len());
    let width =
        |column: usize| lines.iter().map(|(cells, _, _)| cells[column].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..columns).map(width).collect();
    for (cells, name, grey) in &lines {
        let mut line = format!("{:width$}", cells[0], width = widths[0]);
        for (cell, width) in cells.iter().zip(&widths).skip(1) {
            line.push_str(&format!("  {cell:>width$}"));
        }
        line.push_str("  ");
        line.push_str(name);
        match options.colour && *grey {
            true => writeln!(out, "\x1b[90m{line}\x1b[0m")?,
            false => writeln!(out, "{line}")?,
        }
    }
    let left_out = report.rows.len() - rows.len();
    if left_out > 0 {
        writeln!(out, "\n{left_out} more rows; --limit N shows more, --limit 0 all")?;
    }
    for (before, after) in &report.renamed {
        writeln!(out, "taken for one function: {} -> {}", printable(before), printable(after))?;
    }
    Ok(())
}

fn change_cells(report: &Report, change: &Change) -> Result<[String; 6]> {
    Ok([
        report.amount(change.before),
        report.amount(change.after),
        report.signed_amount(change.difference()?),
        change.percent().map_or_else(|| "-".to_owned(), |percent| format!("{percent:+.1}%")),
        format!("{:+.2}", change.points()),
        change.test.map_or_else(
            || "-".to_owned(),
            |test| format!("[{:+.2}, {:+.2}]", test.interval.0, test.interval.1),
        ),
    ])
}
