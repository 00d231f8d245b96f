//! Makes names safe to show: hostile bytes cannot move a terminal's cursor or leave a table's cell.

/// Returns true for what is not seen but does something: control characters, and marks that hide or reorder text.
pub fn is_hidden(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
}

/// A name in valid UTF-8, in which nothing moves the cursor or hides other text.
pub fn printable(name: &[u8]) -> String {
    String::from_utf8_lossy(name)
        .chars()
        .map(|c| if is_hidden(c) { char::REPLACEMENT_CHARACTER } else { c })
        .collect()
}

/// A name for a cell of a spreadsheet. One that begins as a formula does is text behind an apostrophe,
/// as spreadsheets themselves write it: a name must not compute, or open an address.
pub fn cell(name: &[u8]) -> String {
    let name = printable(name);
    match name.trim_start().chars().next() {
        Some('=' | '+' | '-' | '@') => format!("'{name}"),
        _ => name,
    }
}

/// A name as Markdown code that stays in its table cell: a fence longer than any run of backticks
/// in it, and no bare bar, which ends a cell even in code.
pub fn markdown_code(name: &[u8]) -> String {
    let name = printable(name).replace('|', "\\|");
    let longest = name.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest + 1);
    let pad = if name.starts_with('`') || name.ends_with('`') || name.trim().is_empty() { " " } else { "" };
    format!("{fence}{pad}{name}{pad}{fence}")
}

/// A text from outside in Markdown: as it is if it is nothing but words and numbers, else as code. In code
/// nothing is HTML, a link, an image or a mention; a backslash before `@` would not keep GitHub from mentioning.
pub fn markdown_text(text: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || " .,:;()%+-·/".contains(c);
    // A list begins with a number, too. Addresses and numbers of issues become links by themselves.
    let first = text.split(' ').next().unwrap_or_default();
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let begins_well =
        text.is_empty() || unsigned.starts_with(char::is_alphanumeric) && !first.ends_with(['.', ')']);
    let lower = text.to_ascii_lowercase();
    let is_link = ["://", "www.", "gh-"].iter().any(|start| lower.contains(start));
    match begins_well && !is_link && text.chars().all(is_plain) {
        true => text.to_owned(),
        false => markdown_code(text.as_bytes()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hostile_names_stay_in_their_cell() {
        assert_eq!(
            printable(b"a\x1b[31m\tb\n\xff\xe2\x80\xae"),
            "a\u{fffd}[31m\u{fffd}b\u{fffd}\u{fffd}\u{fffd}"
        );
    }

    #[test]
    fn no_name_is_a_formula() {
        for formula in ["=1+1", "+1", "-1", "@SUM(A1)", " =1", "\u{3000}=1"] {
            assert_eq!(cell(formula.as_bytes()), format!("'{formula}"));
        }
        for text in ["main", "operator=", "'=1", "", "[-]"] {
            assert_eq!(cell(text.as_bytes()), text);
        }
    }

    #[test]
    fn words_stay_words_in_markdown() {
        for text in [
            "ns",
            "",
            "odd unit",
            "cpu-clock:u",
            "1.72 s CPU in 8.6 s · 1,719 samples",
            "größe (B/s)",
            "+1,001",
            "-5%",
        ] {
            assert_eq!(markdown_text(text), text);
        }
        for text in [
            "1. item",
            "2) item",
            "- item",
            "a_b",
            "@name",
            "https://x",
            "WWW.x",
            "see gh-12",
            "a\u{a0}b",
            " ",
        ] {
            assert!(markdown_text(text).starts_with('`'), "{text}");
        }
    }

    #[test]
    fn code_stays_in_its_cell() {
        for (name, shown) in [
            ("f", "`f`"),
            ("operator|", "`operator\\|`"),
            ("unix`read", "``unix`read``"),
            ("`a``b", "``` `a``b ```"),
            ("<script>", "`<script>`"),
            ("a\nb", "`a\u{fffd}b`"),
        ] {
            assert_eq!(markdown_code(name.as_bytes()), shown);
        }
    }
}
