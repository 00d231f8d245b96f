//! Markdown, to be read in a pull request: a verdict, what grew, what shrank, what was left out.

use std::io::Write;

use super::{Look, p_value};
use crate::diff::report::{Change, Presence, Report, Row};
use crate::error::Result;
use crate::printable::markdown_code as code;

/// How many rows there are each way when nobody says.
const LIMIT: usize = 10;

pub(super) fn write(report: &Report, look: &Look, out: &mut dyn Write) -> Result<()> {
    let limit = look.limit.unwrap_or(LIMIT);
    writeln!(out, "**{}**", report.verdict(&code))?;
    let grew = |row: &&Row| row.leading().points() > 0.0;
    let (up, down): (Vec<&Row>, Vec<&Row>) = report.significant().partition(grew);
    let mut left_out = 0;
    for (title, rows) in [("Grew", &up), ("Shrank", &down)] {
        if !rows.is_empty() {
            writeln!(out, "\n### {title}\n")?;
            table(&rows[..limit.min(rows.len())], out)?;
            left_out += rows.len().saturating_sub(limit);
        }
    }
    let noise: Vec<&Row> = report.rows.iter().filter(|row| !row.is_significant() && has_moved(row)).collect();
    if !noise.is_empty() && limit > 0 {
        let count = noise.len();
        writeln!(out, "\n<details><summary>Not significant: {count}, the largest first</summary>\n")?;
        table(&noise[..limit.min(count)], out)?;
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

fn table(rows: &[&Row], out: &mut dyn Write) -> Result<()> {
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
            cells(&row.own)?,
            cells(&row.total)?,
            p.map_or_else(|| "–".to_owned(), p_value)
        )?;
    }
    Ok(())
}

fn cells(change: &Change) -> Result<String> {
    let difference = change.difference()?;
    let sign = if difference.is_negative() || difference.is_zero() { "" } else { "+" };
    let percent = change.percent().map_or_else(String::new, |percent| format!(" ({percent:+.1}%)"));
    let interval = change
        .test
        .map_or_else(String::new, |test| format!(" [{:+.2}, {:+.2}]", test.interval.0, test.interval.1));
    Ok(format!(
        "{} → {} | {sign}{difference}{percent} | {:+.2}{interval}",
        change.before,
        change.after,
        change.points()
    ))
}
