//! An input line by line, for formats whose lines depend on those before them, so that they
//! cannot be cut between threads: dumps, summaries, traces.

use std::ops::Range;
use std::sync::Arc;

use crate::collapse::Report;
use crate::error::{Error, Position, Result};
use crate::input::{Block, Blocks, Input, last_newline, may_go_on, trim_line_end};

/// The bytes that are read at once.
const BLOCK: usize = 256 * 1024;

/// The lines of an input, one after the other.
pub struct Text {
    name: Arc<str>,
    blocks: Blocks,
    block: Block,
    /// The line that was read last, without its end, and where the next one starts.
    line: Range<usize>,
    next: usize,
    number: u64,
    /// True if the line that was read last has no newline.
    unfinished: bool,
}

impl Text {
    /// Begins before the first line.
    pub fn new(input: Input) -> Text {
        Text::after(input, 0)
    }

    /// Goes on behind the first `number` lines, which were read otherwise.
    pub fn after(input: Input, number: u64) -> Text {
        Text {
            name: input.name().clone(),
            blocks: input.into_blocks(BLOCK),
            block: Block::default(),
            line: 0..0,
            next: 0,
            number,
            unfinished: false,
        }
    }

    /// The next line, without its end and blanks before it.
    ///
    /// # Errors
    /// Errors of the system or a decoder, and lines of more than 256 MiB.
    pub fn next_line(&mut self) -> Result<Option<&[u8]>> {
        if self.next >= self.block.bytes().len() {
            self.next = 0;
            self.line = 0..0;
            if !self.blocks.next(&mut self.block, last_newline)? {
                return Ok(None);
            }
        }
        let rest = &self.block.bytes()[self.next..];
        let newline = memchr::memchr(b'\n', rest);
        self.unfinished = newline.is_none() && may_go_on(rest);
        let end = newline.unwrap_or(rest.len());
        let line = trim_line_end(&rest[..end]);
        self.line = self.next..self.next + line.len();
        self.next += end + 1;
        self.number += 1;
        Ok(Some(line))
    }

    /// The line that was read last.
    pub fn line(&self) -> &[u8] {
        &self.block.bytes()[self.line.clone()]
    }

    /// The line that was read last, for errors.
    pub fn place(&self) -> Position {
        Position::line(self.name.clone(), self.number)
    }

    /// A mistake in the line that was read last.
    pub fn malformed(&self, expected: impl Into<String>, found: &[u8]) -> Error {
        Error::malformed(expected, found).at(self.place())
    }

    /// Counts the line that was read last as one that is left out.
    pub fn not_understood(&self, report: &mut Report) {
        report.not_understood.note(self.line(), || self.place());
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
        while let Some(line) = self.next_line()? {
            let understood = each(line);
            if !understood.map_err(|e| e.or_at(|| self.place()))? {
                self.not_understood(report);
            }
        }
        self.end(report);
        Ok(())
    }

    /// Notes that the input ends within a stack, of which lines are missing.
    pub fn end_within_record(&self, report: &mut Report) {
        report.not_understood.ends_within_record.get_or_insert(self.place());
    }

    /// Notes how the input ends, for those that read all lines with [`Text::next_line`].
    pub fn end(&self, report: &mut Report) {
        if self.unfinished {
            report.not_understood.ends_within.get_or_insert(self.place());
        }
    }
}

/// The words between the blanks of a text.
pub fn words(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    text.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty())
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

    #[test]
    fn the_end_stays_the_end() {
        let file = tempfile::NamedTempFile::new().unwrap();
        // Large enough for the file to be mapped.
        std::fs::write(file.path(), "x\n".repeat(1 << 20)).unwrap();
        for text in [&b"a\nlast"[..], b"", b"a\n"] {
            let of_memory = Input::new("test", Box::new(std::io::Cursor::new(text.to_vec()))).unwrap();
            for input in [of_memory, crate::input::Source::new(file.path()).open().unwrap()] {
                let mut lines = Text::new(input);
                while lines.next_line().unwrap().is_some() {}
                assert!(lines.next_line().unwrap().is_none() && lines.line().is_empty());
            }
        }
    }
}
