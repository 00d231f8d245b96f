//! The packets of a trace, and the numbers and texts in them.

use crate::error::{Error, ErrorKind, Position, Result};
use crate::input::{Input, Reader};

pub const MAGIC: &[u8] = b"\xc1\x1f\xfc\xc1";

/// The newest version of the format.
const VERSION: u16 = 3;

/// The length of a header up to its version, and the most of a packet; memtrace writes 32 KB.
const START: usize = 34;
const LARGEST: usize = 1 << 20;

/// A packet: what its header says, and the bytes of its events.
pub struct Packet<'b> {
    /// Microseconds since 1970.
    pub begin: u64,
    pub end: u64,
    /// The number of the first object that is allocated in it, and of the one behind the last.
    pub objects: (u64, u64),
    pub process: u64,
    pub domain: u16,
    pub version: u16,
    /// A place in the cache of the domain, and what stands there when the packet begins.
    pub check: (u16, u16, u64),
    pub events: Fields<'b>,
}

/// Little-endian numbers and texts. All readers return `None` where the bytes end.
pub struct Fields<'b>(pub &'b [u8]);

impl<'b> Fields<'b> {
    fn bytes<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (own, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(*own)
    }

    pub fn byte(&mut self) -> Option<u8> {
        self.bytes().map(u8::from_le_bytes)
    }

    pub fn short(&mut self) -> Option<u16> {
        self.bytes().map(u16::from_le_bytes)
    }

    pub fn int(&mut self) -> Option<u32> {
        self.bytes().map(u32::from_le_bytes)
    }

    pub fn long(&mut self) -> Option<u64> {
        self.bytes().map(u64::from_le_bytes)
    }

    pub fn float(&mut self) -> Option<f64> {
        self.bytes().map(f64::from_le_bytes)
    }

    /// A number of one byte, or of as many as the byte says; those of four and eight have a sign.
    pub fn number(&mut self) -> Option<i64> {
        match self.byte()? {
            253 => self.short().map(i64::from),
            254 => self.int().map(|number| i64::from(number.cast_signed())),
            255 => self.long().map(u64::cast_signed),
            small => Some(small.into()),
        }
    }

    /// A text that ends in a zero.
    pub fn text(&mut self) -> Option<&'b [u8]> {
        let end = memchr::memchr(0, self.0)?;
        let (text, rest) = self.0.split_at(end);
        self.0 = &rest[1..];
        Some(text)
    }
}

/// Reads the packets of a trace.
pub struct Packets {
    reader: Reader,
    buffer: Vec<u8>,
    /// The byte at which the trace is cut off.
    pub cut: Option<u64>,
}

impl Packets {
    /// Begins before the first packet.
    pub fn new(input: Input) -> Packets {
        Packets { reader: input.into_reader(), buffer: Vec::new(), cut: None }
    }

    /// The next packet, and its place; `None` at the end, and where a trace is cut within one.
    ///
    /// # Errors
    /// The system's, and bytes that are no packet.
    pub fn next(&mut self) -> Result<Option<(Packet<'_>, Position)>> {
        let place = self.reader.place();
        self.buffer.resize(START, 0);
        let read = self.reader.read_full(&mut self.buffer)?;
        if read < START {
            self.cut = (read > 0).then_some(self.reader.position());
            return Ok(None);
        }
        let bits = Fields(&self.buffer[MAGIC.len()..]).int().expect("a header has these bytes");
        let size = bits as usize / 8;
        if !self.buffer.starts_with(MAGIC) || size < START {
            return Err(Error::malformed("a packet of memtrace", &self.buffer[..8]).at(place));
        }
        if size > LARGEST {
            return Err(Error::new(ErrorKind::TooLong { limit: LARGEST }, place));
        }
        self.buffer.resize(size, 0);
        if self.reader.read_full(&mut self.buffer[START..])? < size - START {
            self.cut = Some(self.reader.position());
            return Ok(None);
        }
        let packet = Packet::read(&self.buffer);
        let packet = packet.ok_or_else(|| {
            Error::malformed(
                format!("a packet of version 1 to {VERSION} of memtrace's format"),
                &self.buffer[..8],
            )
            .at(place.clone())
        })?;
        Ok(Some((packet, place)))
    }
}

impl<'b> Packet<'b> {
    fn read(bytes: &'b [u8]) -> Option<Packet<'b>> {
        let mut fields = Fields(&bytes[8..]);
        let (begin, end, _flush, version) = (fields.long()?, fields.long()?, fields.int()?, fields.short()?);
        let process = fields.long()?;
        let domain = if version >= 3 { fields.short()? } else { 0 };
        let check = (fields.short()?, fields.short()?, fields.long()?);
        let objects = (fields.long()?, fields.long()?);
        let is_sane = (1..=VERSION).contains(&version) && begin <= end && objects.0 <= objects.1;
        is_sane.then_some(Packet { begin, end, objects, process, domain, version, check, events: fields })
    }
}
