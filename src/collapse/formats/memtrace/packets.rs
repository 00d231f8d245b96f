//! The packets of a trace, and the numbers and texts in them.

use crate::bytes::Cursor;
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
    pub events: Cursor<'b>,
}

/// Takes a number of one byte, or of as many as the byte says; those of four and eight have a sign.
pub fn take_number(fields: &mut Cursor<'_>) -> Option<i64> {
    match fields.u8()? {
        253 => fields.u16().map(i64::from),
        254 => fields.i32().map(i64::from),
        255 => fields.u64().map(u64::cast_signed),
        small => Some(small.into()),
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
        let bits = Cursor::little(&self.buffer[MAGIC.len()..]).u32().expect("a header has these bytes");
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
        let mut fields = Cursor::little(&bytes[8..]);
        let (begin, end, _flush, version) = (fields.u64()?, fields.u64()?, fields.u32()?, fields.u16()?);
        let process = fields.u64()?;
        let domain = if version >= 3 { fields.u16()? } else { 0 };
        let check = (fields.u16()?, fields.u16()?, fields.u64()?);
        let objects = (fields.u64()?, fields.u64()?);
        let is_sane = (1..=VERSION).contains(&version) && begin <= end && objects.0 <= objects.1;
        is_sane.then_some(Packet { begin, end, objects, process, domain, version, check, events: fields })
    }
}
