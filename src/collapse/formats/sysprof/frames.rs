//! The header of a capture, and the frames behind it.

use crate::error::{Error, Position, Result};
use crate::input::{Input, Reader};

const MAGIC: &[u8] = b"\x5e\x97\xca\xfd";

/// The length of a capture's header, and of a frame's.
const HEADER: usize = 256;
const FRAME: usize = 24;

/// Frames begin at multiples of this.
const ALIGN: usize = 8;

/// Returns true if a file begins as a capture does.
pub fn is_capture(head: &[u8]) -> bool {
    head.starts_with(MAGIC)
}

/// The statements of a capture about itself.
pub struct Header {
    /// The time it was made, as ISO 8601 has it.
    pub made: Vec<u8>,
    /// Nanoseconds on the clock of the frames: of its beginning and of its end; 0 if it has not been ended.
    pub start: u64,
    pub end: u64,
}

/// A frame, and the numbers that all of them have.
pub struct Frame<'b> {
    pub kind: u8,
    pub process: i32,
    pub time: u64,
    pub fields: Fields<'b>,
}

/// Numbers in the byte order of a capture, and texts. All readers return `None` where the bytes end.
#[derive(Clone, Copy)]
pub struct Fields<'b> {
    pub bytes: &'b [u8],
    is_big: bool,
}

impl<'b> Fields<'b> {
    /// Bytes in an order.
    pub fn new(bytes: &'b [u8], is_big: bool) -> Fields<'b> {
        Fields { bytes, is_big }
    }

    /// Returns true if the most significant byte comes first.
    pub fn is_big(&self) -> bool {
        self.is_big
    }

    /// The next `len` bytes.
    pub fn take(&mut self, len: usize) -> Option<&'b [u8]> {
        let (own, rest) = self.bytes.split_at_checked(len)?;
        self.bytes = rest;
        Some(own)
    }

    fn number(&mut self, len: usize) -> Option<u64> {
        let digit = |number: u64, byte: &u8| number << 8 | u64::from(*byte);
        let bytes = self.take(len)?;
        Some(if self.is_big { bytes.iter().fold(0, digit) } else { bytes.iter().rev().fold(0, digit) })
    }

    /// Two bytes.
    pub fn short(&mut self) -> Option<u16> {
        self.number(2).map(|number| number as u16)
    }

    /// Four bytes.
    pub fn int(&mut self) -> Option<u32> {
        self.number(4).map(|number| number as u32)
    }

    /// Eight bytes.
    pub fn long(&mut self) -> Option<u64> {
        self.number(8)
    }

    /// A text of `len` bytes, or one that ends in a zero before.
    pub fn text(&mut self, len: usize) -> Option<&'b [u8]> {
        self.take(len).map(until_zero)
    }

    /// The text that ends in a zero, which is passed over, or with the bytes.
    pub fn rest_of_text(&mut self) -> &'b [u8] {
        let text = until_zero(self.bytes);
        self.bytes = self.bytes.get(text.len() + 1..).unwrap_or_default();
        text
    }
}

/// The bytes before the first zero.
pub fn until_zero(bytes: &[u8]) -> &[u8] {
    &bytes[..memchr::memchr(0, bytes).unwrap_or(bytes.len())]
}

/// Reads the frames of a capture.
pub struct Frames {
    reader: Reader,
    buffer: Vec<u8>,
    is_big: bool,
    pub header: Header,
    /// The byte at which the capture is cut off.
    pub cut: Option<u64>,
}

impl Frames {
    /// Reads the header.
    ///
    /// # Errors
    /// The system's, and an input without one, or of another version.
    pub fn new(input: Input) -> Result<Frames> {
        let mut reader = input.into_reader();
        let mut buffer = Vec::new();
        reader.append(HEADER as u64, &mut buffer)?;
        if !is_capture(&buffer) {
            return Err(Error::malformed("the header of a capture", &buffer).at(reader.place()));
        }
        if buffer[4] != 1 {
            let version = format!("version {}", buffer[4]);
            return Err(Error::malformed("a capture of version 1", version.as_bytes()).at(reader.place()));
        }
        // The first of the bits behind the version, which are counted from the other end in the other order.
        let is_big = buffer[5] & 1 == 0;
        let mut fields = Fields::new(&buffer[8..], is_big);
        let mut header = || {
            let made = fields.text(64)?.to_vec();
            Some(Header { made, start: fields.long()?, end: fields.long()? })
        };
        let header = header().expect("a header has 256 bytes");
        Ok(Frames { reader, buffer, is_big, header, cut: None })
    }

    /// The next frame and its place; `None` at the end, and where a capture is cut within one.
    ///
    /// # Errors
    /// The system's, and bytes that are no frame.
    pub fn next(&mut self) -> Result<Option<(Frame<'_>, Position)>> {
        let place = self.reader.place();
        self.buffer.resize(FRAME, 0);
        let read = self.reader.read_full(&mut self.buffer)?;
        if read < FRAME {
            self.cut = (read > 0).then_some(self.reader.position());
            return Ok(None);
        }
        let len = usize::from(Fields::new(&self.buffer, self.is_big).short().expect("a frame has 24 bytes"));
        if len < FRAME || len % ALIGN != 0 {
            let found = format!("one of {len} bytes");
            return Err(Error::malformed("a frame of a capture", found.as_bytes()).at(place));
        }
        self.buffer.resize(len, 0);
        if self.reader.read_full(&mut self.buffer[FRAME..])? < len - FRAME {
            self.cut = Some(self.reader.position());
            return Ok(None);
        }
        let mut fields = Fields::new(&self.buffer[4..], self.is_big);
        let mut frame = || {
            let (process, time) = (fields.int()?.cast_signed(), fields.long()?);
            let kind = fields.take(8)?[0];
            Some(Frame { kind, process, time, fields })
        };
        let frame = frame().expect("a frame has 24 bytes");
        Ok(Some((frame, place)))
    }
}
