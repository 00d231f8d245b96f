//! An input line by line, for formats whose records go over several lines and whose files are
//! small: dumps and summaries, where threads of our own would gain nothing.

use std::sync::Arc;

use super::Report;
use crate::error::{Position, Result};
use crate::input::{Block, Blocks, Input, last_newline};

/// What is read at once.
const BLOCK: usize = 256 * 1024;

/// The lines of an input, one after the other.
pub struct Text {
    name: Arc<str>,
    blocks: Blocks,
    block: Block,
    start: usize,
    number: u64,
}

impl Text {
    /// Begins before the first line.
    pub fn new(input: Input) -> Text {
        let name = input.name().clone();
        Text { name, blocks: input.into_blocks(BLOCK), block: Block::default(), start: 0, number: 0 }
    }

    /// The next line, without its end.
    ///
    /// # Errors
    /// What the system or a decoder says, and lines of more than 256 MiB.
    pub fn next_line(&mut self) -> Result<Option<&[u8]>> {
        if self.start >= self.block.bytes().len() {
            self.start = 0;
            if !self.blocks.next(&mut self.block, last_newline)? {
                return Ok(None);
            }
        }
        let rest = &self.block.bytes()[self.start..];
        let end = memchr::memchr(b'\n', rest).unwrap_or(rest.len());
        self.start += end + 1;
        self.number += 1;
        let line = &rest[..end];
        Ok(Some(line.strip_suffix(b"\r").unwrap_or(line)))
    }

    /// The line that was read last, for errors.
    pub fn place(&self) -> Position {
        Position::line(self.name.clone(), self.number)
    }

    /// Passes every line to `each`, which says whether it was understood.
    ///
    /// # Errors
    /// Those of [`Text::next_line`], and those of `each`, placed at the line.
    pub fn for_each(
        &mut self,
        report: &mut Report,
        mut each: impl FnMut(&[u8]) -> Result<bool>,
    ) -> Result<()> {
        let name = self.name.clone();
        loop {
            let number = self.number + 1;
            let Some(line) = self.next_line()? else { return Ok(()) };
            let place = || Position::line(name.clone(), number);
            if !each(line).map_err(|e| e.or_at(place))? {
                report.not_understood.note(line, place);
            }
        }
    }
}

/// Splits the decimal digits off the front.
pub fn split_digits(text: &[u8]) -> (&[u8], &[u8]) {
    text.split_at(text.iter().take_while(|b| b.is_ascii_digit()).count())
}

/// Splits `0x` and its hexadecimal digits off the front; `None` if there are none.
pub fn split_address(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let digits = text.strip_prefix(b"0x")?;
    let len = digits.iter().take_while(|b| b.is_ascii_hexdigit()).count();
    (len > 0).then(|| digits.split_at(len))
}

/// Splits at the last of some bytes: `rsplit_once`, for bytes.
pub fn split_last<'a>(text: &'a [u8], separator: &[u8]) -> Option<(&'a [u8], &'a [u8])> {
    let at = memchr::memmem::rfind(text, separator)?;
    Some((&text[..at], &text[at + separator.len()..]))
}

/// Splits at the first of some bytes: `split_once`, for bytes.
pub fn split_first<'a>(text: &'a [u8], separator: &[u8]) -> Option<(&'a [u8], &'a [u8])> {
    let at = memchr::memmem::find(text, separator)?;
    Some((&text[..at], &text[at + separator.len()..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_numbered_over_blocks_and_bad_ones_placed() {
        let long = "x".repeat(BLOCK);
        let text = format!("a\r\n\n{long}\n{long}\nbad\nend");
        let input = Input::new("test", Box::new(std::io::Cursor::new(text))).unwrap();
        let mut report = Report::default();
        let mut lines = Vec::new();
        Text::new(input)
            .for_each(&mut report, |line| {
                lines.push(line.len());
                Ok(line != b"bad")
            })
            .unwrap();
        assert_eq!(lines, [1, 0, BLOCK, BLOCK, 3, 3]);
        let (place, first) = report.not_understood.first.unwrap();
        assert_eq!((place.to_string(), first.as_str()), ("test:5".into(), "\"bad\""));
    }
}
