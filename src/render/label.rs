//! The words on a frame and in its tooltip.

use std::borrow::Cow;

use unicode_width::UnicodeWidthChar;

use super::Cut;
use crate::weight::Weight;

/// A longer name is cut in a tooltip: nobody reads on, and a picture of a hundred names of a
/// megabyte would be a hundred megabytes.
pub const LONGEST_NAME: usize = 10_000;

/// A name as it is shown: without the annotation at its end, in valid UTF-8, and with `…` for
/// what goes beyond [`LONGEST_NAME`] bytes.
pub fn shown_name(name: &[u8]) -> Cow<'_, str> {
    let name = without_annotation(name);
    if name.len() <= LONGEST_NAME {
        return String::from_utf8_lossy(name);
    }
    let mut cut = String::from_utf8_lossy(&name[..LONGEST_NAME]).into_owned();
    // The cut may have gone through a character.
    while cut.ends_with(char::REPLACEMENT_CHARACTER) {
        cut.pop();
    }
    cut.push('…');
    Cow::Owned(cut)
}

/// The letter of the annotation at a name's end: `k` kernel, `i` inlined, `j` jitted, `w` waker.
pub fn annotation(name: &[u8]) -> Option<u8> {
    match name {
        [.., b'_', b'[', letter @ (b'k' | b'i' | b'j' | b'w'), b']'] => Some(*letter),
        _ => None,
    }
}

/// Returns true for code without a name, which has the same grey in every palette and on the page: `[unknown]`,
/// `[perf-3828.map]` for what a runtime compiled, and addresses.
pub fn is_nameless(name: &[u8]) -> bool {
    let name = without_annotation(name);
    let runtime = || name.strip_prefix(b"[perf-")?.strip_suffix(b".map]");
    name == b"[unknown]"
        || runtime().is_some_and(|process| !process.is_empty() && process.iter().all(u8::is_ascii_digit))
        || name
            .strip_prefix(b"0x")
            .is_some_and(|hex| !hex.is_empty() && hex.iter().all(u8::is_ascii_hexdigit))
}

fn without_annotation(name: &[u8]) -> &[u8] {
    match annotation(name) {
        // A name that is nothing but an annotation is shown as it is.
        Some(_) if name.len() > 4 => &name[..name.len() - 4],
        _ => name,
    }
}

/// A part in percent of a whole.
pub fn percent(part: Weight, whole: Weight) -> f64 {
    let whole = whole.to_f64();
    if whole == 0.0 { 0.0 } else { 100.0 * part.to_f64() / whole }
}

/// Cuts a text to fit into `columns`, with `..` in place of the rest; empty if not even one letter
/// and the two dots fit. Never cuts between a letter and a character that combines with it.
pub fn fit(text: &str, columns: usize, cut: Cut) -> Cow<'_, str> {
    if columns < 3 {
        return Cow::Borrowed("");
    }
    // A long name need not be measured to its end.
    let mut width = 0;
    if text.chars().all(|c| {
        width += char_columns(c);
        width <= columns
    }) {
        return Cow::Borrowed(text);
    }
    let room = columns - 2;
    match cut {
        Cut::End => {
            let mut end = 0;
            let mut used = 0;
            for (at, c) in text.char_indices() {
                used += char_columns(c);
                if used > room {
                    break;
                }
                end = at + c.len_utf8();
            }
            Cow::Owned(format!("{}..", &text[..end]))
        }
        Cut::Start => {
            let mut start = text.len();
            let mut used = 0;
            for (at, c) in text.char_indices().rev() {
                let columns = char_columns(c);
                used += columns;
                if used > room {
                    break;
                }
                // A combining character is kept only with the letter before it.
                if columns > 0 {
                    start = at;
                }
            }
            Cow::Owned(format!("..{}", &text[start..]))
        }
    }
}

/// The columns that a character takes: marks that combine none, East Asian wide ones two.
fn char_columns(c: char) -> usize {
    c.width().unwrap_or(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_fit_into_columns() {
        for (text, columns, end, start) in [
            ("main", 4, "main", "main"),
            ("main", 3, "m..", "..n"),
            ("main", 2, "", ""),
            ("read_the_file", 8, "read_t..", "..e_file"),
            ("漢字漢字", 8, "漢字漢字", "漢字漢字"),
            ("漢字漢字", 7, "漢字..", "..漢字"),
            ("e\u{301}e\u{301}e\u{301}e\u{301}", 3, "e\u{301}..", "..e\u{301}"),
        ] {
            assert_eq!(fit(text, columns, Cut::End), end, "{text} {columns}");
            assert_eq!(fit(text, columns, Cut::Start), start, "{text} {columns}");
        }
    }

    #[test]
    fn long_names_are_cut_between_characters() {
        let name = "ä".repeat(LONGEST_NAME);
        let shown = shown_name(&name.as_bytes()[1..]);
        assert!(shown.ends_with("ä…") && shown.len() <= LONGEST_NAME + 6, "{}", shown.len());
        assert_eq!(shown_name(&vec![b'x'; LONGEST_NAME]).len(), LONGEST_NAME);
    }

    #[test]
    fn code_without_a_name_is_known() {
        for name in ["[unknown]", "[unknown]_[k]", "[perf-3828.map]", "[perf-1.map]_[j]", "0x7f00a1"] {
            assert!(is_nameless(name.as_bytes()), "{name}");
        }
        for name in ["unknown", "[libc.so.6]", "[perf-.map]", "[perf-x.map]", "perf-1.map", "0x", "0xyz", ""]
        {
            assert!(!is_nameless(name.as_bytes()), "{name}");
        }
    }

    #[test]
    fn annotations_are_not_shown() {
        assert_eq!(shown_name(b"vfs_read_[k]"), "vfs_read");
        assert_eq!(shown_name(b"_[k]"), "_[k]");
        assert_eq!(shown_name(b"a_[x]"), "a_[x]");
        assert_eq!(shown_name(b"\xff"), "\u{fffd}");
    }
}
