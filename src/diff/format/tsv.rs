//! Tab-separated values, for awk and spreadsheets: every row, no rounding of weights.

use std::io::Write;

use super::{FormatOptions, mark};
use crate::diff::change::Change;
use crate::diff::report::Report;
use crate::error::Result;
use crate::printable::cell;

pub(super) fn write(report: &Report, options: &FormatOptions, out: &mut dyn Write) -> Result<()> {
    let mut head = vec!["name".to_owned(), "mark".to_owned()];
    for kind in ["self", "total"] {
        let columns = ["before", "after", "change", "percent", "pp", "low_pp", "high_pp", "p", "significant"];
        head.extend(columns.iter().map(|column| format!("{kind}_{column}")));
    }
    writeln!(out, "{}", head.join("\t"))?;
    for row in &report.rows[..options.limit.unwrap_or(usize::MAX).min(report.rows.len())] {
        // Tabs and line ends are control characters: no name can begin another cell.
        let mut cells = vec![cell(&row.name), mark(row).to_owned()];
        for change in [&row.own, &row.total] {
            cells.extend(change_cells(change)?);
        }
        writeln!(out, "{}", cells.join("\t"))?;
    }
    Ok(())
}

fn change_cells(change: &Change) -> Result<[String; 9]> {
    let known = |value: Option<f64>| value.map_or_else(String::new, |value| format!("{value:.6}"));
    Ok([
        change.before.to_string(),
        change.after.to_string(),
        change.difference()?.to_string(),
        known(change.percent()),
        known(Some(change.points())),
        known(change.share.map(|test| test.interval.0)),
        known(change.share.map(|test| test.interval.1)),
        change.p.map_or_else(String::new, |p| format!("{p:e}")),
        change.significant.to_string(),
    ])
}
