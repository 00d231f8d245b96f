//! Text read line by line, for formats whose lines depend on those before them.

use std::io::BufRead;

use super::Report;
use crate::error::{Error, Position, Result, excerpt};
use crate::folded::NotUnderstood;
use crate::input::{Input, Reader};

/// No line of a recording is longer; what has none is no text.
const LONGEST: usize = 64 << 20;

/// The lines of an input, each without its end, with their numbers.
pub struct Lines {
    reader: Reader,
    text: Vec<u8>,
    number: u64,
}

impl Lines {
    /// Begins before the first line.
    pub fn new(input: Input) -> Lines {
        Lines::after(input.into_reader(), 0)
    }

    /// Goes on behind so many lines, which were read otherwise.
    pub fn after(reader: Reader, number: u64) -> Lines {
        Lines { reader, text: Vec::new(), number }
    }

    /// The next line.
    ///
    /// # Errors
    /// What the system or a decoder says, and a line without an end.
    pub fn line(&mut self) -> Result<Option<&[u8]>> {
        self.text.clear();
        let mut limited = std::io::Read::take(&mut self.reader, LONGEST as u64 + 1);
        if let Err(e) = limited.read_until(b'\n', &mut self.text) {
            return Err(self.reader.error(e));
        }
        if self.text.is_empty() {
            return Ok(None);
        }
        self.number += 1;
        if self.text.len() > LONGEST {
            return Err(self.malformed(format!("lines of at most {LONGEST} bytes"), b"a longer one"));
        }
        let end = self.text.strip_suffix(b"\n").map_or(self.text.len(), <[u8]>::len);
        let end = self.text[..end].strip_suffix(b"\r").map_or(end, <[u8]>::len);
        self.text.truncate(end);
        Ok(Some(&self.text))
    }

    /// The place of the line just read.
    pub fn place(&self) -> Position {
        let file = self.reader.place();
        Position { byte: None, line: Some(self.number), ..file }
    }

    /// A mistake in the line just read.
    pub fn malformed(&self, expected: impl Into<String>, found: &[u8]) -> Error {
        Error::malformed(expected, found).at(self.place())
    }

    /// Counts the line just read as one that is left out.
    pub fn not_understood(&self, report: &mut Report) {
        let first = Some((self.place(), excerpt(&self.text)));
        report.not_understood.merge(NotUnderstood { count: 1, first });
    }
}
