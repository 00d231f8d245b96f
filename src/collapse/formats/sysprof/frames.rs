//! The header of a capture, and the frames behind it.

use crate::bytes::{ByteOrder, Cursor, until_zero};
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
    pub fields: Cursor<'b>,
}

/// Reads the frames of a capture.
pub struct Frames {
    reader: Reader,
    buffer: Vec<u8>,
    order: ByteOrder,
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
        let order = if buffer[5] & 1 == 0 { ByteOrder::Big } else { ByteOrder::Little };
        let mut fields = Cursor::new(&buffer[8..], order);
        let mut header = || {
            let made = until_zero(fields.take(64)?).to_vec();
            Some(Header { made, start: fields.u64()?, end: fields.u64()? })
        };
        let header = header().expect("a header has 256 bytes");
        Ok(Frames { reader, buffer, order, header, cut: None })
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
        let len = usize::from(Cursor::new(&self.buffer, self.order).u16().expect("a frame has 24 bytes"));
        if len < FRAME || len % ALIGN != 0 {
            let found = format!("one of {len} bytes");
            return Err(Error::malformed("a frame of a capture", found.as_bytes()).at(place));
        }
        self.buffer.resize(len, 0);
        if self.reader.read_full(&mut self.buffer[FRAME..])? < len - FRAME {
            self.cut = Some(self.reader.position());
            return Ok(None);
        }
        let mut fields = Cursor::new(&self.buffer[4..], self.order);
        let mut frame = || {
            let (process, time) = (fields.i32()?, fields.u64()?);
            let kind = fields.take(8)?[0];
            Some(Frame { kind, process, time, fields })
        };
        let frame = frame().expect("a frame has 24 bytes");
        Ok(Some((frame, place)))
    }
}
