//! Names as Markdown shows them, in tables and in sentences.

use crate::printable::{markdown_code, printable};

/// The most characters of a name.
const LONGEST_NAME: usize = 100;

/// A name as Markdown code, cut in its middle.
pub(super) fn code(name: &[u8]) -> String {
    let name = printable(name);
    let count = name.chars().count();
    if count <= LONGEST_NAME {
        return markdown_code(name.as_bytes());
    }
    let (first, last) = (LONGEST_NAME / 3, LONGEST_NAME - LONGEST_NAME / 3 - 1);
    let start: String = name.chars().take(first).collect();
    let end: String = name.chars().skip(count - last).collect();
    markdown_code(format!("{start}…{end}").as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_names_are_cut() {
        let name = code("x".repeat(5000).as_bytes());
        assert_eq!(name.chars().count(), LONGEST_NAME + 2);
    }
}
