//! Markdown, to be read in a pull request: a headline, both sides, the functions that grew, those
//! that shrank, and the number of those left out.

use std::io::Write;

use super::{FormatOptions, p_value};
use crate::diff::report::{Change, Presence, Report, Row};
use crate::error::Result;
use crate::printable::markdown_code as code;

/// The number of rows each way by default.
const LIMIT: usize = 10;

pub(super) fn write(report: &Report, options: &FormatOptions, out: &mut dyn Write) -> Result<()> {
    let limit = options.limit.unwrap_or(LIMIT);
    writeln!(out, "**{}**", report.headline_with(&code))?;
    let sides = report.sides();
    if !sides.is_empty() {
        writeln!(out)?;
    }
    for (side, text) in sides {
        writeln!(out, "- {side}: {}", code(text.as_bytes()))?;
    }
    let grew = |row: &&Row| row.leading().points() > 0.0;
    let (up, down): (Vec<&Row>, Vec<&Row>) = report.significant().partition(grew);
    let mut left_out = 0;
    for (title, rows) in [("Grew", &up), ("Shrank", &down)] {
        if !rows.is_empty() {
            writeln!(out, "\n### {title}\n")?;
            table(report, &rows[..limit.min(rows.len())], out)?;
            left_out += rows.len().saturating_sub(limit);
        }
    }
    let noise: Vec<&Row> = report.rows.iter().filter(|row| !row.is_significant() && has_moved(row)).collect();
    if !noise.is_empty() && limit > 0 {
        let count = noise.len();
        writeln!(out, "\n<details><summary>Not significant: {count}, the largest first</summary>\n")?;
        table(report, &noise[..limit.min(count)], out)?;
        writeln!(out, "\n</details>")?;
        left_out += count.saturating_sub(limit);
    }
    let unmoved = report.rows.len() - up.len() - down.len() - noise.len();
    writeln!(
        out,
        "\nLeft out: {left_out} smaller changes, {unmoved} rows without any. {}.",
        sentence(&report.assumption())
    )?;
    for (before, after) in &report.renamed {
        writeln!(out, "Taken for one function: {} → {}.", code(before), code(after))?;
    }
    Ok(())
}

fn has_moved(row: &Row) -> bool {
    row.own.before != row.own.after || row.total.before != row.total.after
}

fn sentence(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

fn table(report: &Report, rows: &[&Row], out: &mut dyn Write) -> Result<()> {
    writeln!(out, "| | self | change | pp | total | change | pp | p |")?;
    writeln!(out, "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |")?;
    for row in rows {
        let note = match row.presence() {
            Presence::Both => "",
            Presence::New => " *new*",
            Presence::Gone => " *gone*",
        };
        let p = [&row.own, &row.total]
            .into_iter()
            .filter_map(|change| change.test.map(|test| test.p))
            .reduce(f64::min);
        writeln!(
            out,
            "| {}{note} | {} | {} | {} |",
            code(&row.name),
            cells(report, &row.own)?,
            cells(report, &row.total)?,
            p.map_or_else(|| "–".to_owned(), p_value)
        )?;
    }
    Ok(())
}

fn cells(report: &Report, change: &Change) -> Result<String> {
    let difference = report.signed_amount(change.difference()?);
    let percent = change.percent().map_or_else(String::new, |percent| format!(" ({percent:+.1}%)"));
    let interval = change
        .test
        .map_or_else(String::new, |test| format!(" [{:+.2}, {:+.2}]", test.interval.0, test.interval.1));
    let (before, after) = (report.amount(change.before), report.amount(change.after));
    let cells = format!("{before} → {after} | {difference}{percent} | {:+.2}{interval}", change.points());
    Ok(cells)
}
