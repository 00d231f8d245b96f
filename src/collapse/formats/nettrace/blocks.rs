//! The objects of a trace: tags around the name of a type and what it holds.
//!
//! ```text
//! 05 05 01 <version> <oldest reader> <length> EventBlock 06 <size> <padding> …size bytes… 06
//! ```
//! Blocks begin at a multiple of four bytes in the file. In version 6 each is behind its length and a number for its kind,
//! and nothing else.

use crate::error::{Error, ErrorKind, Position, Result};
use crate::input::{Input, Reader};

/// The first bytes of a trace; those of version 4 and 5 go on with the length of a text, those of version 6 with zeros
/// and the version.
pub const MAGIC: &[u8] = b"Nettrace";
const SERIALIZATION: &[u8] = b"\x14\0\0\0!FastSerialization.1";
const VERSION: &[u8] = b"\0\0\0\0\x06\0\0\0";

/// The runtime's blocks are of about 100 KB.
const LARGEST: u64 = 64 << 20;

/// The length of the object `Trace`.
const TRACE: u64 = 48;

const NULL: u8 = 1;
const BEGIN: u8 = 5;
const END: u8 = 6;

/// An object, and the bytes that it holds.
pub enum Object<'b> {
    Trace(&'b [u8]),
    Metadata(&'b [u8]),
    Stacks(&'b [u8]),
    Events(&'b [u8]),
    SequencePoint(&'b [u8]),
    Threads(&'b [u8]),
    Other,
}

/// The layouts of blocks and events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// That of version 4 and 5.
    V4,
    V6,
}

/// Reads the objects of a trace.
pub struct Objects {
    reader: Reader,
    buffer: Vec<u8>,
    pub layout: Layout,
    /// The byte at which the trace is cut off.
    pub cut: Option<u64>,
}

impl Objects {
    /// Passes over the header.
    ///
    /// # Errors
    /// The system's, and an input without one, or of another version.
    pub fn new(input: Input) -> Result<Objects> {
        let mut reader = input.into_reader();
        let mut magic = Vec::new();
        reader.append((MAGIC.len() + VERSION.len()) as u64, &mut magic)?;
        let layout = match magic.strip_prefix(MAGIC) {
            Some(VERSION) => {
                // What minor versions add can be passed over.
                reader.skip(4)?;
                Layout::V6
            }
            Some(begin) if SERIALIZATION.starts_with(begin) => {
                let rest = &SERIALIZATION[begin.len()..];
                let mut found = Vec::new();
                reader.append(rest.len() as u64, &mut found)?;
                if found != rest {
                    return Err(Error::malformed("the header of a trace of .NET", &found).at(reader.place()));
                }
                Layout::V4
            }
            _ => return Err(Error::malformed("a trace of .NET of version 4 to 6", &magic).at(reader.place())),
        };
        Ok(Objects { reader, buffer: Vec::new(), layout, cut: None })
    }

    /// The next object, and its place; `None` at the end, and where a trace is cut within one.
    ///
    /// # Errors
    /// The system's, and bytes that are no objects.
    pub fn next(&mut self) -> Result<Option<(Object<'_>, Position)>> {
        let place = self.reader.place();
        if self.reader.is_at_end()? {
            // The last tag says that nothing follows.
            self.cut = Some(self.reader.position());
            return Ok(None);
        }
        let read = match self.layout {
            Layout::V4 => self.object(),
            Layout::V6 => self.block(),
        };
        match read {
            Ok(None) => Ok(None),
            Ok(Some(name)) => {
                let bytes = &self.buffer[..];
                let object = match &name[..] {
                    b"Trace" => Object::Trace(bytes),
                    b"MetadataBlock" => Object::Metadata(bytes),
                    b"StackBlock" => Object::Stacks(bytes),
                    b"EventBlock" => Object::Events(bytes),
                    b"SPBlock" => Object::SequencePoint(bytes),
                    b"ThreadBlock" => Object::Threads(bytes),
                    _ => Object::Other,
                };
                Ok(Some((object, place)))
            }
            Err(_) if self.reader.is_at_end()? => {
                self.cut = Some(self.reader.position());
                Ok(None)
            }
            Err(e) => Err(e),
        }
    }

    /// Reads an object into the buffer, and returns the name of its type; `None` at the end of all.
    fn object(&mut self) -> Result<Option<Vec<u8>>> {
        let place = self.reader.place();
        let damaged = |what: &'static str| Error::malformed(what, b"other bytes").at(place.clone());
        match self.reader.byte()? {
            NULL => return Ok(None),
            BEGIN => {}
            _ => return Err(damaged("an object of a trace of .NET")),
        }
        let mut name = Vec::new();
        if self.reader.byte()? != BEGIN || self.reader.byte()? != NULL {
            return Err(damaged("the type of an object"));
        }
        self.reader.skip(8)?;
        let len = self.int()?;
        if len > 64 {
            return Err(damaged("the name of a type"));
        }
        self.reader.append(len, &mut name)?;
        if self.reader.byte()? != END {
            return Err(damaged("the end of a type"));
        }
        let size = if name == b"Trace" {
            TRACE
        } else {
            let size = self.int()?;
            let padding = self.reader.position().next_multiple_of(4) - self.reader.position();
            self.reader.skip(padding)?;
            size
        };
        if size > LARGEST {
            return Err(Error::new(ErrorKind::TooLong { limit: LARGEST as usize }, place));
        }
        self.buffer.clear();
        self.reader.append(size, &mut self.buffer)?;
        if self.reader.byte()? != END {
            return Err(damaged("the end of an object"));
        }
        Ok(Some(name))
    }

    /// Reads a block of version 6 into the buffer, and returns the older name of its kind; `None` at the end of all.
    fn block(&mut self) -> Result<Option<Vec<u8>>> {
        let header = self.int()?;
        let name: &[u8] = match header >> 24 {
            0 => return Ok(None),
            1 => b"Trace",
            2 => b"EventBlock",
            3 => b"MetadataBlock",
            4 => b"SPBlock",
            5 => b"StackBlock",
            6 => b"ThreadBlock",
            _ => b"",
        };
        self.buffer.clear();
        self.reader.append(header & 0xff_ffff, &mut self.buffer)?;
        Ok(Some(name.to_vec()))
    }

    fn int(&mut self) -> Result<u64> {
        self.reader.array().map(|bytes| u32::from_le_bytes(bytes).into())
    }
}
