//! The packets of a trace, one after the other, and the fields of a packet that matter here.

use crate::collapse::kit::protobuf::{Content, Fields};
use crate::error::{Error, ErrorKind, Position, Result};
use crate::input::{Input, Reader};

/// Far larger than any packet; what states more is damaged.
pub const LONGEST: u64 = 64 << 20;

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

    /// The next packet, and its place; `None` at the end, and where a trace is cut within a packet.
    ///
    /// # Errors
    /// The system's, and bytes that are no packets.
    pub fn next(&mut self) -> Result<Option<(&[u8], Position)>> {
        loop {
            let place = self.reader.place();
            if self.reader.is_at_end()? {
                return Ok(None);
            }
            self.buffer.clear();
            match self.field() {
                Ok(true) => return Ok(Some((&self.buffer, place))),
                // A field that later versions may have.
                Ok(false) => {}
                Err(_) if self.reader.is_at_end()? => {
                    self.cut = Some(self.reader.position());
                    return Ok(None);
                }
                Err(e) => return Err(e),
            }
        }
    }

    /// Reads a field of the trace; `false` if it is no packet.
    fn field(&mut self) -> Result<bool> {
        let place = self.reader.place();
        let tag = self.reader.varint()?;
        let len = match tag & 7 {
            0 => return self.reader.varint().map(|_| false),
            2 => self.reader.varint()?,
            _ => return Err(Error::malformed("a packet of a trace", b"other bytes").at(place)),
        };
        if len > LONGEST {
            return Err(Error::new(ErrorKind::TooLong { limit: LONGEST as usize }, place));
        }
        self.reader.append(len, &mut self.buffer)?;
        Ok(tag >> 3 == 1)
    }
}

/// The parts of a packet that matter here; messages are bytes still.
#[derive(Default)]
pub struct Packet<'b> {
    pub timestamp: Option<u64>,
    /// The number of the clock that it is of, if it is not that of the defaults.
    pub clock: Option<u64>,
    /// The number of its writer.
    pub sequence: Option<u64>,
    /// True if the tables before it are void.
    pub is_cleared: bool,
    pub interned: Vec<&'b [u8]>,
    pub defaults: Option<&'b [u8]>,
    pub data: Option<Data<'b>>,
}

/// The message that a packet carries.
pub enum Data<'b> {
    Ftrace(&'b [u8]),
    ProcessTree(&'b [u8]),
    ClockSnapshot(&'b [u8]),
    TrackEvent(&'b [u8]),
    HeapProfile(&'b [u8]),
    ProcessDescriptor(&'b [u8]),
    ThreadDescriptor(&'b [u8]),
    SystemInfo(&'b [u8]),
    Deflated(&'b [u8]),
    ZstdCompressed(&'b [u8]),
    StreamingProfile(&'b [u8]),
    TrackDescriptor(&'b [u8]),
    ModuleSymbols(&'b [u8]),
    PerfSample(&'b [u8]),
    StackSample(&'b [u8]),
}

impl<'b> Packet<'b> {
    /// Takes a packet apart; `None` if it is damaged.
    pub fn read(bytes: &'b [u8]) -> Option<Packet<'b>> {
        let mut packet = Packet::default();
        for field in Fields(bytes) {
            match field? {
                (8, Content::Number(number)) => packet.timestamp = Some(number),
                (58, Content::Number(number)) => packet.clock = Some(number),
                (10, Content::Number(number)) => packet.sequence = Some(number),
                (13, Content::Number(flags)) => packet.is_cleared |= flags & 1 != 0,
                (41, Content::Number(flag)) => packet.is_cleared |= flag != 0,
                (12, Content::Bytes(bytes)) => packet.interned.push(bytes),
                (59, Content::Bytes(bytes)) => packet.defaults = Some(bytes),
                (number, Content::Bytes(bytes)) => {
                    let data = match number {
                        1 => Data::Ftrace(bytes),
                        2 => Data::ProcessTree(bytes),
                        6 => Data::ClockSnapshot(bytes),
                        11 => Data::TrackEvent(bytes),
                        37 => Data::HeapProfile(bytes),
                        43 => Data::ProcessDescriptor(bytes),
                        44 => Data::ThreadDescriptor(bytes),
                        45 => Data::SystemInfo(bytes),
                        50 => Data::Deflated(bytes),
                        133 => Data::ZstdCompressed(bytes),
                        54 => Data::StreamingProfile(bytes),
                        60 => Data::TrackDescriptor(bytes),
                        61 => Data::ModuleSymbols(bytes),
                        66 => Data::PerfSample(bytes),
                        135 => Data::StackSample(bytes),
                        _ => continue,
                    };
                    packet.data = Some(data);
                }
                _ => {}
            }
        }
        Some(packet)
    }

    /// Returns true if it says when or by whom it was written, or is a number of packets in one.
    pub fn is_plain(&self) -> bool {
        let is_compressed = matches!(self.data, Some(Data::Deflated(_) | Data::ZstdCompressed(_)));
        self.timestamp.is_some() || self.sequence.is_some() || is_compressed
    }
}
