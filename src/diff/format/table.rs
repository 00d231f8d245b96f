//! A table for a terminal: a headline, both sides, the assumptions, and a row for each function.
//!
//! ```text
//!                change          %   points         p  name
//! up    self   94 → 156 ms    +67%    +8.58   < 0.001  lex
//! ~     total   1 → 2 ms     +100%    +0.30      0.42  main
//! ```
//! Names are cut to the width of the terminal; the wide table has every column, and no width.

use std::io::Write;

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use super::{FormatOptions, mark, row_or_rows};
use crate::diff::change::{Change, Row};
use crate::diff::escape::Escape;
use crate::diff::numbers;
use crate::diff::options::Sort;
use crate::diff::report::Report;
use crate::error::Result;
use crate::printable::printable;

/// The number of rows by default.
const LIMIT: usize = 30;
/// The narrowest column of names.
const NARROWEST: usize = 12;

/// The cells of a row but its name; the side to which text goes, by column.
struct Line {
    cells: Vec<String>,
    name: String,
    is_grey: bool,
}

pub(super) fn write(report: &Report, options: &FormatOptions, out: &mut dyn Write) -> Result<()> {
    let limit = options.limit.unwrap_or(LIMIT);
    let rows = &report.rows[..limit.min(report.rows.len())];
    writeln!(out, "{}", report.headline())?;
    for (side, text) in report.sides() {
        writeln!(out, "{side}: {}", printable(text.as_bytes()))?;
    }
    if options.wide {
        writeln!(out, "{}", report.assumption())?;
    } else if report.standing_out().next().is_some() {
        writeln!(out, "{}", report.sight())?;
    }
    for answer in options.verdict.iter().flat_map(|verdict| verdict.answers()) {
        writeln!(out, "{}", answer.text)?;
    }
    if !rows.is_empty() {
        writeln!(out)?;
        let (lines, left) = match options.wide {
            true => (wide(report, rows)?, 1),
            false => (narrow(report, rows), 2),
        };
        write_lines(&lines, left, options, out)?;
    }
    let left_out = report.rows.len() - rows.len();
    if left_out > 0 {
        writeln!(out, "\n{left_out} more {}; --limit N shows more, --limit 0 all", row_or_rows(left_out))?;
    }
    for (before, after) in &report.renamed {
        writeln!(out, "taken for one function: {} -> {}", printable(before), printable(after))?;
    }
    Ok(())
}

/// Writes lines with aligned columns; the first `left` of them are aligned to the left.
fn write_lines(lines: &[Line], left: usize, options: &FormatOptions, out: &mut dyn Write) -> Result<()> {
    let columns = lines.first().map_or(0, |line| line.cells.len());
    let width = |column: usize| lines.iter().map(|line| line.cells[column].width()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let before_name: usize = widths.iter().map(|width| width + 2).sum();
    let for_name = options.width.filter(|_| !options.wide);
    let for_name = for_name.map(|width| width.saturating_sub(before_name).max(NARROWEST));
    for Line { cells, name, is_grey } in lines {
        let mut line = String::new();
        for (column, (cell, width)) in cells.iter().zip(&widths).enumerate() {
            let blanks = " ".repeat(width - cell.width());
            let (text, blanks) = if column < left { (cell, &blanks) } else { (&blanks, cell) };
            line.push_str(text);
            line.push_str(blanks);
            line.push_str("  ");
        }
        line.push_str(&for_name.map_or_else(|| name.clone(), |width| cut_middle(name, width)));
        match options.colour && *is_grey {
            true => writeln!(out, "\x1b[90m{line}\x1b[0m")?,
            false => writeln!(out, "{line}")?,
        }
    }
    Ok(())
}

fn line(cells: Vec<String>, row: &Row) -> Line {
    Line { cells, name: printable(&row.name), is_grey: !row.stands_out() }
}

/// The change that leads each row: in self weight, or in total.
fn narrow(report: &Report, rows: &[Row]) -> Vec<Line> {
    let head = ["", "", "change", "%", "points", "p"].map(str::to_owned).to_vec();
    let mut lines = vec![Line { cells: head, name: "name".to_owned(), is_grey: false }];
    let unit = report.unit_as(&Escape::TEXT);
    for row in rows {
        let by_total = report.options.sort == Sort::Total && row.own.significant == row.total.significant;
        let change = if by_total { &row.total } else { row.leading() };
        // A function that only calls others has no weight of its own.
        let is_idle = !by_total && !row.is_significant() && change.before.is_zero() && change.after.is_zero();
        let change = if is_idle { &row.total } else { change };
        let kind = if std::ptr::eq(change, &row.own) { "self" } else { "total" };
        lines.push(line(
            vec![
                mark(row).to_owned(),
                kind.to_owned(),
                numbers::arrow(change.before, change.after, unit.as_deref()),
                numbers::percent(change),
                numbers::points(change.points()),
                numbers::p_cell(numbers::least_p([change])),
            ],
            row,
        ));
    }
    lines
}

/// The columns of a change in the wide table.
const COLUMNS: [&str; 6] = ["before", "after", "change", "%", "points", "interval"];

/// Self and total weight of each row, with intervals.
fn wide(report: &Report, rows: &[Row]) -> Result<Vec<Line>> {
    let mut head = vec![String::new()];
    for kind in ["self", "total"] {
        let title = |column: &&str| match *column {
            "interval" => "interval".to_owned(),
            column => format!("{kind} {column}"),
        };
        head.extend(COLUMNS.iter().map(title));
    }
    head.push("p".to_owned());
    let mut lines = vec![Line { cells: head, name: "name".to_owned(), is_grey: false }];
    for row in rows {
        let mut cells = vec![mark(row).to_owned()];
        cells.extend(change_cells(report, &row.own)?);
        cells.extend(change_cells(report, &row.total)?);
        cells.push(numbers::p_cell(numbers::least_p([&row.own, &row.total])));
        lines.push(line(cells, row));
    }
    Ok(lines)
}

fn change_cells(report: &Report, change: &Change) -> Result<[String; 6]> {
    let difference = change.difference()?;
    let sign = if difference > crate::Weight::ZERO { "+" } else { "" };
    let amount = |weight| numbers::amount(weight, report.unit_as(&Escape::TEXT).as_deref());
    Ok([
        amount(change.before),
        amount(change.after),
        format!("{sign}{}", amount(difference)),
        numbers::percent(change),
        numbers::points(change.points()),
        change.share.map_or_else(
            || "–".to_owned(),
            |test| format!("[{:+.2}, {:+.2}]", test.interval.0, test.interval.1),
        ),
    ])
}

/// A name in this many columns, its middle left out: what a function is called stands at its end, and
/// where it comes from at its beginning.
fn cut_middle(name: &str, columns: usize) -> String {
    if name.width() <= columns {
        return name.to_owned();
    }
    let room = columns.saturating_sub(1);
    let (first, last) = (room / 3, room - room / 3);
    let mut used = 0;
    let fits = |limit: usize| {
        move |letter: &char| {
            used += letter.width().unwrap_or(0);
            used <= limit
        }
    };
    let start: String = name.chars().take_while(fits(first)).collect();
    let mut end: Vec<char> = name.chars().rev().take_while(fits(last)).collect();
    end.reverse();
    start + "…" + &end.into_iter().collect::<String>()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::Weight;

    #[test]
    fn rows_fit_the_width_of_a_terminal() {
        let name = |n: u32| format!("core::iter::adapters::中文::{}::fold{n}", "x".repeat(n as usize));
        let profile = |factor: u32| {
            let lines = (0..60).map(|n| format!("main;{} {}", name(n), 1000 + n * factor));
            crate::Profile::from_lines(lines).unwrap()
        };
        let (before, after) = (profile(1), profile(70));
        let report = crate::diff::Diff::new(&before, &after).report().unwrap();
        for (width, wide) in [(80, false), (100, false), (80, true)] {
            let options = FormatOptions::default().width(width).wide(wide);
            let mut text = Vec::new();
            write(&report, &options, &mut text).unwrap();
            let text = String::from_utf8(text).unwrap();
            let rows = text.split_once("\n\n").unwrap().1;
            let widest = rows.lines().map(UnicodeWidthStr::width).max();
            assert_eq!(widest == Some(width), !wide, "{text}");
            assert!(wide || rows.contains('…'), "{text}");
        }
    }

    #[test]
    fn noise_is_grey_and_rows_tell_which_weight_they_have() {
        let profile = |lex: u32, parse: u32| {
            crate::Profile::from_lines([format!("main;run;lex {lex}"), format!("main;run;parse {parse}")])
                .unwrap()
        };
        let (before, after) = (profile(1000, 5000), profile(2000, 5010));
        // Name, grey or not, and the weight of each row.
        let shown = |sort: Sort| {
            let options = crate::diff::ReportOptions::default().sort(sort).period(Weight::ONE);
            let report = crate::diff::Diff::new(&before, &after).report_with(&options).unwrap();
            let mut text = Vec::new();
            write(&report, &FormatOptions::default().colour(true), &mut text).unwrap();
            let text = String::from_utf8(text).unwrap();
            let rows = text.split_once("\n\n").unwrap().1.lines().skip(1).map(|line| {
                let plain = line.trim_start_matches("\x1b[90m").trim_end_matches("\x1b[0m");
                let words: Vec<&str> = plain.split_whitespace().collect();
                (words[words.len() - 1].to_owned(), line.starts_with('\x1b'), words[1].to_owned())
            });
            rows.collect::<BTreeSet<_>>()
        };
        let rows = |rows: [(&str, bool, &str); 4]| {
            rows.map(|(name, is_grey, kind)| (name.to_owned(), is_grey, kind.to_owned()))
                .into_iter()
                .collect()
        };
        let callers = [("main", true, "total"), ("run", true, "total")];
        let by_own: BTreeSet<_> =
            rows([callers[0], callers[1], ("lex", false, "self"), ("parse", true, "self")]);
        assert_eq!(shown(Sort::Own), by_own);
        let by_total: BTreeSet<_> =
            rows([callers[0], callers[1], ("lex", false, "total"), ("parse", true, "total")]);
        assert_eq!(shown(Sort::Total), by_total);
    }

    #[test]
    fn words_are_on_the_left_and_numbers_on_the_right() {
        let line = |cells: [&str; 3]| Line {
            cells: cells.map(str::to_owned).to_vec(),
            name: "f".to_owned(),
            is_grey: false,
        };
        let lines = [line(["~", "change", "%"]), line(["new", "5", "+10%"])];
        let mut text = Vec::new();
        write_lines(&lines, 1, &FormatOptions::default(), &mut text).unwrap();
        assert_eq!(String::from_utf8(text).unwrap(), "~    change     %  f\nnew       5  +10%  f\n");
    }

    #[test]
    fn names_keep_both_ends() {
        assert_eq!(cut_middle("parse", 12), "parse");
        assert_eq!(cut_middle("core::iter::adapters::map::fold", 12), "cor…ap::fold");
        assert_eq!(cut_middle("中文中文中文中文", 9).width(), 9);
        assert_eq!(cut_middle("abc", 1), "…");
    }
}
