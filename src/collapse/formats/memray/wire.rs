//! The numbers and texts of memray's files, in the order in which they stand there.

use crate::bytes::zigzag;
use crate::error::{Error, Position, Result};
use crate::input::{Input, Reader};

/// The longest text: a command line, a path, a name.
const LONGEST: u64 = 1 << 20;

/// Reads one value after the other.
pub struct Wire {
    reader: Reader,
}

impl Wire {
    /// Begins before the first byte.
    pub fn new(input: Input) -> Wire {
        Wire { reader: input.into_reader() }
    }

    /// The place that has been reached, for errors.
    pub fn place(&self) -> Position {
        self.reader.place()
    }

    /// An error about what stands at this place.
    pub fn malformed(&self, expected: &str, found: impl std::fmt::Display) -> Error {
        Error::malformed(expected, found.to_string().as_bytes()).at(self.place())
    }

    /// Returns true if the input has ended where more was expected.
    ///
    /// # Errors
    /// The system's or a decoder's.
    pub fn is_cut(&mut self) -> Result<bool> {
        self.reader.is_at_end()
    }

    /// Passes over the zeros that fill a file up; the place of anything else behind its end.
    ///
    /// # Errors
    /// The system's or a decoder's.
    pub fn rest(&mut self) -> Result<Option<u64>> {
        while let Some(byte) = self.token()? {
            if byte != 0 && !byte.is_ascii_whitespace() {
                return Ok(Some(self.reader.position() - 1));
            }
        }
        Ok(None)
    }

    /// The next byte, or `None` at the end.
    ///
    /// # Errors
    /// The system's or a decoder's.
    pub fn token(&mut self) -> Result<Option<u8>> {
        if self.reader.is_at_end()? { Ok(None) } else { self.reader.byte().map(Some) }
    }

    /// A byte.
    ///
    /// # Errors
    /// The end of the input.
    pub fn byte(&mut self) -> Result<u8> {
        self.reader.byte()
    }

    /// Bytes of a known number.
    ///
    /// # Errors
    /// The end of the input.
    pub fn bytes<const N: usize>(&mut self) -> Result<[u8; N]> {
        self.reader.array()
    }

    /// A number of 8 bytes.
    ///
    /// # Errors
    /// The end of the input.
    pub fn u64(&mut self) -> Result<u64> {
        self.bytes().map(u64::from_le_bytes)
    }

    /// A number of 4 bytes.
    ///
    /// # Errors
    /// The end of the input.
    pub fn i32(&mut self) -> Result<i32> {
        self.bytes().map(i32::from_le_bytes)
    }

    /// A number of 7 bits a byte, the lowest first.
    ///
    /// # Errors
    /// The end of the input, and a number of more than 64 bits.
    pub fn varint(&mut self) -> Result<u64> {
        self.reader.varint()
    }

    /// A signed number: 0, -1, 1, -2, …
    ///
    /// # Errors
    /// Those of [`Wire::varint`].
    pub fn signed(&mut self) -> Result<i64> {
        self.varint().map(zigzag)
    }

    /// A number as its difference from the one before, which it replaces.
    ///
    /// # Errors
    /// Those of [`Wire::varint`].
    pub fn delta(&mut self, last: &mut u64) -> Result<u64> {
        *last = last.wrapping_add_signed(self.signed()?);
        Ok(*last)
    }

    /// A text up to the byte 0 behind it.
    ///
    /// # Errors
    /// The end of the input, and texts of more than a megabyte.
    pub fn text(&mut self) -> Result<Vec<u8>> {
        let mut text = Vec::new();
        self.reader.terminated_text(LONGEST, &mut text)?;
        Ok(text)
    }

    /// Bytes of a number that stands in front of them.
    ///
    /// # Errors
    /// The end of the input, and more than a megabyte.
    pub fn block(&mut self) -> Result<Vec<u8>> {
        let len = self.varint()?;
        if len > LONGEST {
            return Err(self.malformed("at most a megabyte", len));
        }
        let mut bytes = Vec::new();
        self.reader.append(len, &mut bytes)?;
        Ok(bytes)
    }
}
