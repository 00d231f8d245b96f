//! The chunks of a recording, and the events in each.
//!
//! ```text
//! "FLR\0" major minor | size | offset of constants | offset of metadata | start and duration in ns
//! | start in ticks | ticks a second | state, flags | events …
//! ```
//! All in a header of 68 bytes, numbers of fixed size, the most significant byte first. A chunk describes
//! itself: no number means anything outside it. A virtual machine that was killed leaves a chunk whose
//! size is not written, or is that of the last flush; its events are walked as far as they go.

use std::io::Read;
use std::ops::{Deref, Range};
use std::sync::Arc;

use super::cursor::ChunkCursor;
use crate::bytes::ByteOrder;
use crate::error::{Error, Position, Result};
use crate::input::{Input, Reader, Window, read_at};

/// The first bytes of each chunk.
pub const MAGIC: &[u8] = b"FLR\0";

/// The size of the header of a chunk.
pub const HEADER: usize = 68;

/// The header of a chunk.
#[derive(Clone, Copy, Debug)]
pub struct Header {
    major: u16,
    size: u64,
    /// The time at which it begins, in nanoseconds since 1970.
    pub start: u64,
    /// The time that it takes, in nanoseconds.
    pub duration: u64,
    start_ticks: i64,
    ticks_a_second: u64,
    /// True if it was still being written.
    pub is_unfinished: bool,
    /// True if numbers are compressed.
    pub compressed: bool,
}

impl Header {
    fn read(bytes: &[u8]) -> Option<Header> {
        let bytes: &[u8; HEADER] = bytes.get(..HEADER)?.try_into().ok()?;
        let long = |at: usize| ByteOrder::Big.unsigned(&bytes[at..at + 8]);
        bytes.starts_with(MAGIC).then(|| Header {
            major: u16::from_be_bytes([bytes[4], bytes[5]]),
            size: long(8),
            start: long(32),
            duration: long(40),
            start_ticks: long(48) as i64,
            ticks_a_second: long(56),
            is_unfinished: bytes[64] != 0 || long(8) < HEADER as u64,
            compressed: bytes[67] & 1 == 1,
        })
    }

    /// The nanoseconds in a number of ticks, rounded as the JDK does it.
    pub fn span(&self, ticks: i64) -> i64 {
        if self.ticks_a_second == 1_000_000_000 {
            return ticks;
        }
        (ticks as f64 / (self.ticks_a_second as f64 / 1e9)) as i64
    }

    /// The nanoseconds since 1970 of a time in ticks.
    pub fn time(&self, ticks: i64) -> Option<u64> {
        self.start.checked_add_signed(self.span(ticks.wrapping_sub(self.start_ticks)))
    }
}

/// Bytes of a file or in memory.
enum Bytes {
    Window(Window),
    Owned(Vec<u8>),
}

impl Deref for Bytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            Bytes::Window(window) => window,
            Bytes::Owned(bytes) => bytes,
        }
    }
}

/// A chunk.
pub struct Chunk {
    /// Its header.
    pub header: Header,
    /// The offset in the recording at which it begins.
    pub start: u64,
    bytes: Arc<Bytes>,
    range: Range<usize>,
    /// True if it ends within an event, or before the size that its header says.
    pub is_cut: bool,
}

impl Chunk {
    /// Its bytes, the header among them.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes[self.range.clone()]
    }

    /// Its events, one after the other.
    pub fn events(&self) -> Walk<'_> {
        Walk { bytes: self.bytes(), at: HEADER, compressed: self.header.compressed }
    }
}

/// An event as it stands in its chunk.
pub struct RawEvent<'a> {
    /// The number of its type.
    pub class: u64,
    /// Its fields. The cursor ends with the event.
    pub fields: ChunkCursor<'a>,
    /// The offset of the event in its chunk.
    pub at: usize,
}

/// The events of a chunk.
pub struct Walk<'a> {
    bytes: &'a [u8],
    at: usize,
    compressed: bool,
}

impl Walk<'_> {
    /// The offset that has been reached.
    pub fn at(&self) -> usize {
        self.at
    }
}

impl<'a> Iterator for Walk<'a> {
    type Item = RawEvent<'a>;

    /// The next event; `None` where the bytes end, or hold none.
    #[inline]
    fn next(&mut self) -> Option<RawEvent<'a>> {
        let at = self.at;
        let mut cursor = ChunkCursor::new(self.bytes, at, self.compressed);
        let size = cursor.count()?;
        let end = at.checked_add(size).filter(|end| *end <= self.bytes.len())?;
        let class = cursor.long()?;
        if cursor.at() > end {
            return None;
        }
        self.at = end;
        Some(RawEvent {
            class,
            fields: ChunkCursor::new(&self.bytes[..end], cursor.at(), self.compressed),
            at,
        })
    }
}

/// The chunks of an input, one at a time: of a file as memory, of a pipe with a copy of each.
pub struct Chunks {
    source: Source,
    at: u64,
    position: Position,
}

enum Source {
    File {
        file: std::fs::File,
        begin: u64,
        len: u64,
    },
    Stream(Reader),
    /// The rest of an input, from a chunk on whose size is not known.
    Rest {
        bytes: Arc<Bytes>,
        at: usize,
    },
}

impl Chunks {
    /// The chunks of an input.
    pub fn new(input: Input) -> Chunks {
        let position = Position::file(input.name().clone());
        let file = input.file().and_then(|(file, begin)| {
            let len = file.metadata().ok()?.len().checked_sub(begin)?;
            Some(Source::File { file: file.try_clone().ok()?, begin, len })
        });
        let source = file.unwrap_or_else(|| Source::Stream(input.into_reader()));
        Chunks { source, at: 0, position }
    }

    /// The place of an offset, for errors.
    pub fn place(&self, at: u64) -> Position {
        Position { byte: Some(at), ..self.position.clone() }
    }

    /// The next chunk; `None` behind the last.
    ///
    /// # Errors
    /// The system's, bytes that are no chunk, and chunks of versions that are not known.
    pub fn next(&mut self) -> Result<Option<Chunk>> {
        let at = self.at;
        let mut start = vec![0; HEADER];
        let filled = match &mut self.source {
            Source::File { file, begin, .. } => read_at(file, begin.saturating_add(at), &mut start)?,
            Source::Stream(reader) => reader.read_full(&mut start)?,
            Source::Rest { bytes, at } => {
                let rest = &bytes[*at..];
                let filled = rest.len().min(HEADER);
                start[..filled].copy_from_slice(&rest[..filled]);
                filled
            }
        };
        if filled == 0 {
            return Ok(None);
        }
        let Some(header) = Header::read(&start[..filled]) else {
            let found = &start[..filled.min(16)];
            return Err(Error::malformed("the header of a chunk", found).at(self.place(at)));
        };
        if !matches!(header.major, 1 | 2) {
            let found = header.major.to_string();
            let expected = "version 1 or 2 of JFR, as JDK 8u262 and later write it";
            return Err(Error::malformed(expected, found.as_bytes()).at(self.place(at)));
        }
        let chunk = self.chunk(header, start)?;
        self.at += chunk.range.len() as u64;
        Ok(Some(chunk))
    }

    /// The bytes of the chunk that has this header.
    fn chunk(&mut self, header: Header, start: Vec<u8>) -> Result<Chunk> {
        let at = self.at;
        let wanted = (!header.is_unfinished).then_some(header.size);
        let (bytes, from) = match &mut self.source {
            Source::File { file, begin, len } => {
                let left = len.saturating_sub(at);
                let size = wanted.unwrap_or(left).min(left);
                (Arc::new(map(file, begin.saturating_add(at), size)?), 0)
            }
            Source::Stream(reader) => {
                let mut bytes = start;
                let more = wanted.map_or(u64::MAX, |size| size - HEADER as u64);
                let read = (&mut *reader).take(more).read_to_end(&mut bytes);
                read.map_err(|e| reader.error(e))?;
                (Arc::new(Bytes::Owned(bytes)), 0)
            }
            Source::Rest { bytes, at } => (bytes.clone(), *at),
        };
        let end = match wanted {
            Some(size) => bytes.len().min(from.saturating_add(usize::try_from(size).unwrap_or(usize::MAX))),
            None => from + unfinished_len(&bytes[from..], &header),
        };
        let is_cut = wanted.is_some_and(|size| ((end - from) as u64) < size);
        if let Source::Rest { at, .. } = &mut self.source {
            *at = end;
        } else if wanted.is_none() {
            self.source = Source::Rest { bytes: bytes.clone(), at: end };
        }
        let is_cut = is_cut || (wanted.is_none() && end < bytes.len() && !bytes[end..].starts_with(MAGIC));
        let chunk = Chunk { header, start: at, bytes, range: from..end, is_cut };
        if chunk.is_cut
            && wanted.is_none()
            && let Source::Rest { bytes, at } = &mut self.source
        {
            // What follows the last whole event is nothing that could be read.
            *at = bytes.len();
        }
        Ok(chunk)
    }
}

/// The part of an unfinished chunk that is whole events, before the next chunk.
fn unfinished_len(bytes: &[u8], header: &Header) -> usize {
    let mut walk = Walk { bytes, at: HEADER.min(bytes.len()), compressed: header.compressed };
    while !bytes[walk.at..].starts_with(MAGIC) && walk.next().is_some() {}
    walk.at
}

/// Part of a file, as memory if the system can do that.
fn map(file: &std::fs::File, start: u64, len: u64) -> Result<Bytes> {
    let len = usize::try_from(len).unwrap_or(usize::MAX);
    if let Ok(window) = Window::open(file, start, len) {
        window.load();
        return Ok(Bytes::Window(window));
    }
    let mut bytes = vec![0; len];
    let filled = read_at(file, start, &mut bytes)?;
    bytes.truncate(filled);
    Ok(Bytes::Owned(bytes))
}
