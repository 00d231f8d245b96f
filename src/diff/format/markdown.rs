//! Markdown for the comment of a pull request: the verdict, a few rows, and the rest in a folded block.
//!
//! A comment may have 65,536 characters; this one has fewer, whatever the profiles hold. Names are code
//! spans, cut to a length, in which nothing is a link, a mention or HTML; so is a unit that is no word.

use std::io::Write;

use super::{FormatOptions, mark, row_or_rows};
use crate::diff::change::Row;
use crate::diff::escape::Escape;
use crate::diff::markdown_name::code;
use crate::diff::numbers;
use crate::diff::report::Report;
use crate::diff::verdict::Outcome;
use crate::error::Result;
use crate::printable::markdown_code;

/// The number of rows before the folded block by default.
const LIMIT: usize = 5;
/// The most rows in the folded block.
const FOLDED: usize = 50;
/// The most bytes: below what GitHub accepts, with room for a few lines of somebody else's.
const MOST: usize = 60_000;
/// The most characters of a sentence.
const LONGEST_SENTENCE: usize = 600;
/// The most gates, remarks and renamed functions, each.
const MOST_SENTENCES: usize = 12;

pub(super) fn write(report: &Report, options: &FormatOptions, out: &mut dyn Write) -> Result<()> {
    let limit = options.limit.unwrap_or(LIMIT);
    let mut text = format!("**{}**\n", title(report, options));
    add_list(&mut text, gate_lines(options));
    add_list(
        &mut text,
        report.notes.iter().map(|note| format!("Note: {}", sentence_code(&note.text))).collect(),
    );
    let first: Vec<&Row> = report.standing_out().take(limit).collect();
    if !first.is_empty() {
        text += "\n";
        text += &table(report, &first, usize::MAX).text;
    }
    if let Some(picture) = &options.picture {
        text += &format!("\n{}\n", picture_link(picture));
    }
    let end = after_rows(report);
    text += "\n<details><summary>Sides, method, and all other functions</summary>\n\n";
    text += &before_rows(report);
    let others: Vec<&Row> = others(report, first.len());
    let room = MOST.saturating_sub(text.len() + end.len() + 200);
    let shown = &others[..others.len().min(if limit == 0 { 0 } else { FOLDED.max(limit) })];
    let table = table(report, shown, room);
    if !shown.is_empty() {
        text += "\n";
        text += &table.text;
    }
    let left_out = report.rows.len() - first.len() - table.rows;
    if left_out > 0 {
        text += &format!("\n{left_out} more {}: `fg-diff --table` shows them.\n", row_or_rows(left_out));
    }
    text += &end;
    out.write_all(text.as_bytes())?;
    Ok(())
}

/// The verdict of gates, if there are any, and the headline.
fn title(report: &Report, options: &FormatOptions) -> String {
    let headline = report.headline_with(&Escape::MARKDOWN);
    let word = match options.verdict.as_ref().filter(|verdict| !verdict.answers().is_empty()) {
        None => return headline,
        Some(verdict) => match verdict.outcome() {
            Outcome::Passed => "Passed",
            Outcome::Tripped => "Failed",
            Outcome::NotJudged => "Not judged",
        },
    };
    format!("{word}: {headline}")
}

fn gate_lines(options: &FormatOptions) -> Vec<String> {
    let answers = options.verdict.iter().flat_map(|verdict| verdict.answers());
    answers.map(|answer| answer.markdown.clone()).collect()
}

/// Adds a list, its first items only.
fn add_list(text: &mut String, items: Vec<String>) {
    if items.is_empty() {
        return;
    }
    text.push('\n');
    let left_out = items.len().saturating_sub(MOST_SENTENCES);
    for item in items.into_iter().take(MOST_SENTENCES) {
        *text += &format!("- {item}\n");
    }
    if left_out > 0 {
        *text += &format!("- and {left_out} more\n");
    }
}

/// The rows that are not in the first table: others that stand out, then those that moved, the largest
/// first.
fn others(report: &Report, first: usize) -> Vec<&Row> {
    let standing_out = report.standing_out().skip(first);
    standing_out.chain(report.rows.iter().filter(|row| !row.stands_out() && has_moved(row))).collect()
}

fn has_moved(row: &Row) -> bool {
    row.own.before != row.own.after || row.total.before != row.total.after
}

/// The sides and the method.
fn before_rows(report: &Report) -> String {
    let mut lines = Vec::new();
    for (side, text) in report.sides() {
        lines.push(format!("- {side}: {}\n", code(cut(&text, LONGEST_SENTENCE).as_bytes())));
    }
    lines.push(format!("- {}.\n", sentence(&report.assumption_with(&Escape::MARKDOWN))));
    lines.push(format!("- {}.\n", sentence(&report.sight())));
    lines.concat()
}

fn after_rows(report: &Report) -> String {
    let mut lines = Vec::new();
    for (before, after) in &report.renamed {
        lines.push(format!("Taken for one function: {} → {}.", code(before), code(after)));
    }
    let mut text = String::new();
    add_list(&mut text, lines);
    text + "\n</details>\n"
}

struct Table {
    text: String,
    /// The number of rows it has.
    rows: usize,
}

/// A table of as many rows as there is room for.
fn table(report: &Report, rows: &[&Row], room: usize) -> Table {
    let mut table = Table {
        text: "| | function | self | | total | | points | p |\n\
               | --- | --- | ---: | ---: | ---: | ---: | ---: | ---: |\n"
            .to_owned(),
        rows: 0,
    };
    for row in rows {
        let line = line(report, row);
        if table.text.len() + line.len() > room {
            break;
        }
        table.text += &line;
        table.rows += 1;
    }
    table
}

fn line(report: &Report, row: &Row) -> String {
    let mark = match mark(row) {
        "up" => "▲",
        "down" => "▼",
        word => word,
    };
    let unit = report.unit_as(&Escape::MARKDOWN);
    let weights = [&row.own, &row.total].map(|change| {
        format!(
            "{} | {}",
            numbers::arrow(change.before, change.after, unit.as_deref()),
            numbers::percent(change)
        )
    });
    let interval = row.leading().share.map_or_else(String::new, |test| {
        format!(" [{}, {}]", numbers::points(test.interval.0), numbers::points(test.interval.1))
    });
    let points = numbers::points(row.leading().points());
    let p = numbers::p_cell(numbers::least_p([&row.own, &row.total]));
    format!("| {mark} | {} | {} | {} | {points}{interval} | {p} |\n", code(&row.name), weights[0], weights[1])
}

/// A remark, which may hold names: all of it as code.
fn sentence_code(text: &str) -> String {
    markdown_code(cut(text, LONGEST_SENTENCE).as_bytes())
}

fn cut(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

fn sentence(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

/// An address as a link, that of an image as an image that is one; the name of a file as its name.
fn picture_link(picture: &str) -> String {
    if !picture.starts_with("https://") && !picture.starts_with("http://") {
        return format!("Picture of the change: {}", code(picture.as_bytes()));
    }
    let mut address = String::new();
    for byte in picture.bytes() {
        match byte {
            b'!' | b'#'..=b'\'' | b'*'..=b';' | b'=' | b'?'..=b'Z' | b'_' | b'a'..=b'z' | b'~' => {
                address.push(byte.into())
            }
            _ => address += &format!("%{byte:02X}"),
        }
    }
    let path = address.split(['?', '#']).next().unwrap_or_default().to_ascii_lowercase();
    let is_image = [".svg", ".png", ".gif", ".jpg", ".webp"].iter().any(|ending| path.ends_with(ending));
    match is_image {
        true => format!("[![flame graph of the change]({address})]({address})"),
        false => format!("[Flame graph of the change]({address})"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_cannot_leave_their_link() {
        assert_eq!(
            picture_link("https://x.y/a b).html?q=1#2"),
            "[Flame graph of the change](https://x.y/a%20b%29.html?q=1#2)"
        );
        let image = picture_link("https://x.y/A.SVG?t=<b>");
        assert_eq!(
            image,
            "[![flame graph of the change](https://x.y/A.SVG?t=%3Cb%3E)](https://x.y/A.SVG?t=%3Cb%3E)"
        );
        assert_eq!(picture_link("diff`@x.svg"), "Picture of the change: ``diff`@x.svg``");
        assert_eq!(picture_link("javascript:alert(1)"), "Picture of the change: `javascript:alert(1)`");
    }

    #[test]
    fn noise_is_shown_of_functions_that_moved_in_self_or_total() {
        let profile = |lines: [&str; 4]| crate::Profile::from_lines(lines).unwrap();
        let before = profile(["m;own 10", "m;own;both 10", "m;calls;both 3", "still 5"]);
        let after = profile(["m;own 12", "m;own;both 8", "m;calls;both 4", "still 5"]);
        let options = crate::diff::ReportOptions::default().period(crate::Weight::ONE);
        let report = crate::diff::Diff::new(&before, &after).report_with(&options).unwrap();
        let mut names: Vec<&[u8]> = others(&report, 0).iter().map(|row| &row.name[..]).collect();
        names.sort_unstable();
        assert_eq!(names, [&b"both"[..], b"calls", b"m", b"own"]);
        assert!(report.rows.iter().any(|row| row.name == b"still"));
    }

    #[test]
    fn gates_are_the_verdict_and_a_line_each_but_not_too_many() {
        let profile =
            |weight: u32| crate::Profile::from_lines([format!("a {weight}"), "b 9000".into()]).unwrap();
        let options = crate::diff::ReportOptions::default().period(crate::Weight::ONE);
        let report = crate::diff::Diff::new(&profile(2000), &profile(6000)).report_with(&options).unwrap();
        let markdown = |gates: &str| {
            let mut text = Vec::new();
            write(&report, &FormatOptions::default().verdict(report.gate(gates).unwrap()), &mut text)
                .unwrap();
            String::from_utf8(text).unwrap()
        };
        let text = markdown("self/a/>5% self/b/>900%");
        assert!(text.starts_with("**Failed: "), "{text}");
        assert!(
            text.contains("\n- gate `self/a/>5%`: `a` (self)  2,000 → 6,000  +200%  (p < 0.001 n=1+1)\n"),
            "{text}"
        );
        assert!(text.contains("\n- gate `self/b/>900%` passed: would have seen +"), "{text}");
        let text = markdown(&"self>900% ".repeat(MOST_SENTENCES + 2));
        assert!(text.starts_with("**Passed: ") && text.contains("\n- and 2 more\n"), "{text}");
        assert_eq!(text.matches("\n- gate ").count(), MOST_SENTENCES);
        assert!(!markdown(&"self>900% ".repeat(MOST_SENTENCES)).contains("more\n"));
    }
}
