//! A table for a terminal: a verdict, what is assumed, and a row for each function.

use std::io::Write;

use super::{Look, mark, p_value};
use crate::diff::report::{Change, Report};
use crate::error::Result;
use crate::printable::printable;

/// How many rows there are when nobody says.
const LIMIT: usize = 30;

/// The columns of a change.
const COLUMNS: [&str; 6] = ["before", "after", "change", "%", "pp", "interval"];

pub(super) fn write(report: &Report, look: &Look, out: &mut dyn Write) -> Result<()> {
    let limit = look.limit.unwrap_or(LIMIT);
    let rows = &report.rows[..limit.min(report.rows.len())];
    writeln!(out, "{}", report.verdict(&printable))?;
    writeln!(out, "{}", report.assumption())?;
    if let Some(unit) = &report.unit {
        writeln!(out, "weights in {}", printable(unit.as_bytes()))?;
    }
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
        cells.extend(change_cells(&row.own)?);
        cells.extend(change_cells(&row.total)?);
        let least = [&row.own, &row.total]
            .into_iter()
            .filter_map(|change| change.test.map(|test| test.p))
            .reduce(f64::min);
        cells.push(least.map_or_else(|| "-".to_owned(), p_value));
        lines.push((cells, printable(&row.name), !row.is_significant()));
    }
    let columns = lines.first().map_or(0, |(cells, _, _)| cells.len());
    let width = |column: usize| lines.iter().map(|(cells, _, _)| cells[column].len()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..columns).map(width).collect();
    for (cells, name, grey) in &lines {
        let mut line = format!("{:width$}", cells[0], width = widths[0]);
        for (cell, width) in cells.iter().zip(&widths).skip(1) {
            line.push_str(&format!("  {cell:>width$}"));
        }
        line.push_str("  ");
        line.push_str(name);
        match look.colour && *grey {
            true => writeln!(out, "\x1b[90m{line}\x1b[0m")?,
            false => writeln!(out, "{line}")?,
        }
    }
    let left_out = report.rows.len() - rows.len();
    if left_out > 0 {
        writeln!(out, "\n{left_out} more rows; --limit shows as many as wanted, 0 all")?;
    }
    for (before, after) in &report.renamed {
        writeln!(out, "taken for one function: {} -> {}", printable(before), printable(after))?;
    }
    Ok(())
}

fn change_cells(change: &Change) -> Result<[String; 6]> {
    let difference = change.difference()?;
    let sign = if difference.is_negative() || difference.is_zero() { "" } else { "+" };
    Ok([
        change.before.to_string(),
        change.after.to_string(),
        format!("{sign}{difference}"),
        change.percent().map_or_else(|| "-".to_owned(), |percent| format!("{percent:+.1}%")),
        format!("{:+.2}", change.points()),
        change.test.map_or_else(
            || "-".to_owned(),
            |test| format!("[{:+.2}, {:+.2}]", test.interval.0, test.interval.1),
        ),
    ])
}
