//! The forms a report is written in; one file each.

mod json;
mod markdown;
mod text;
mod tsv;

use std::io::Write;

use super::report::{Presence, Report, Row};
use crate::error::Result;

/// A form of a report.
#[derive(Clone, Copy, Debug)]
pub struct Form {
    /// The name of its option.
    pub name: &'static str,
    /// Writes a report.
    pub write: fn(&Report, &Look, &mut dyn Write) -> Result<()>,
}

/// Every form.
pub const FORMS: &[Form] = &[
    Form { name: "table", write: text::write },
    Form { name: "markdown", write: markdown::write },
    Form { name: "json", write: json::write },
    Form { name: "tsv", write: tsv::write },
];

/// How a report is to look.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Look {
    /// The most rows, in Markdown each way; `None` is what suits the form.
    pub limit: Option<usize>,
    /// Colours of a terminal.
    pub colour: bool,
}

/// A name for people: in valid UTF-8, and nothing in it moves the cursor or hides other text.
fn printable(name: &[u8]) -> String {
    let odd = |c: char| {
        c.is_control()
            || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
    };
    String::from_utf8_lossy(name)
        .chars()
        .map(|c| if odd(c) { char::REPLACEMENT_CHARACTER } else { c })
        .collect()
}

/// A word for what happened to a row: `~` if that may be noise.
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

/// A p-value in as few digits as say something.
fn p_value(p: f64) -> String {
    if p < 0.0001 { "<0.0001".to_owned() } else { format!("{p:.4}") }
}

#[cfg(test)]
mod tests {
    use super::printable;

    #[test]
    fn hostile_names_stay_in_their_cell() {
        assert_eq!(
            printable(b"a\x1b[31m\tb\n\xff\xe2\x80\xae"),
            "a\u{fffd}[31m\u{fffd}b\u{fffd}\u{fffd}\u{fffd}"
        );
    }
}
