//! The records of a recording, one after the other, from a file or a pipe.
//!
//! A record is at most 64 kB, so a buffer of a megabyte holds the whole of it; samples keep the
//! buffer they are in. What `perf record -z` has compressed is unpacked on the way.

use std::collections::VecDeque;
use std::fs::File;
use std::io::Read;
use std::sync::Arc;

use super::chunk::{CHUNK, Chunk, Pool, Slice};
use super::record::{Header, kind};
use super::zstd::Inflater;
use crate::bytes::{ByteOrder, Cursor};
use crate::collapse::Progress;
use crate::error::{Error, ErrorKind, Position, Result};
use crate::input::{self, Reader};

/// A part of a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Section {
    pub offset: u64,
    pub size: u64,
}

impl Section {
    pub fn parse(fields: &mut Cursor<'_>) -> Option<Section> {
        Some(Section { offset: fields.u64()?, size: fields.u64()? })
    }

    pub fn end(&self) -> u64 {
        self.offset.saturating_add(self.size)
    }
}

/// The source of the bytes.
pub(super) enum ByteSource {
    /// A part of a file.
    File {
        /// The file.
        file: File,
        /// The next byte to be read.
        at: u64,
        /// The part's end.
        end: u64,
    },
    /// A pipe, up to its end.
    Stream(Reader),
    /// A recording that is made just now: what there is of it.
    Live(Box<dyn Read + Send>),
}

impl ByteSource {
    /// Fills as much of `buffer` as there is.
    fn read(&mut self, buffer: &mut [u8]) -> Result<usize> {
        match self {
            ByteSource::File { file, at, end } => {
                let len = buffer.len().min(usize::try_from(*end - *at).unwrap_or(usize::MAX));
                let n = input::read_at(file, *at, &mut buffer[..len])?;
                *at += n as u64;
                Ok(n)
            }
            ByteSource::Stream(reader) => reader.read_full(buffer),
            ByteSource::Live(reader) => reader.read(buffer).map_err(|e| Error::io("read", e)),
        }
    }

    /// Passes over `len` bytes; `false` if there are fewer.
    fn skip(&mut self, len: u64) -> Result<bool> {
        match self {
            ByteSource::File { at, end, .. } => {
                *at = at.saturating_add(len);
                let inside = *at <= *end;
                *at = (*at).min(*end);
                Ok(inside)
            }
            ByteSource::Stream(reader) => pass(len, |buffer| reader.read_full(buffer)),
            ByteSource::Live(reader) => {
                pass(len, |buffer| reader.read(buffer).map_err(|e| Error::io("read", e)))
            }
        }
    }
}

/// Skips `len` bytes; `false` if there are fewer.
fn pass(len: u64, mut read: impl FnMut(&mut [u8]) -> Result<usize>) -> Result<bool> {
    let mut left = len;
    let mut buffer = [0; 8192];
    while left > 0 {
        let part = buffer.len().min(usize::try_from(left).unwrap_or(usize::MAX));
        let n = read(&mut buffer[..part])?;
        if n == 0 {
            return Ok(false);
        }
        left -= n as u64;
    }
    Ok(true)
}

/// A record: its header and the bytes behind it.
#[derive(Clone, Debug)]
pub(super) struct RawRecord {
    pub header: Header,
    pub body: Slice,
    /// Its byte in the file, or that of the record it was unpacked from.
    pub at: u64,
}

/// Reads records.
pub(super) struct RawRecords {
    source: ByteSource,
    order: ByteOrder,
    pool: Pool,
    plain: RecordCursor,
    /// The byte of the next plain record in the file.
    position: u64,
    /// True if the last record may be missing its end: perf was killed.
    pub may_be_cut: bool,
    /// True once the last record was found to miss its end.
    pub was_cut: bool,
    inflater: Option<Box<InflatedRecords>>,
}

/// A chunk that is being cut into records.
struct RecordCursor {
    chunk: Arc<Chunk>,
    at: usize,
}

/// The records that were compressed.
struct InflatedRecords {
    inflater: Inflater,
    cut: RecordCursor,
    /// The number of bytes that came out.
    total: u64,
    /// The marks at which rounds end, and how much must have come out by then.
    rounds: VecDeque<(u64, RawRecord)>,
}

impl RecordCursor {
    fn new() -> RecordCursor {
        RecordCursor { chunk: Arc::default(), at: 0 }
    }

    fn rest(&self) -> &[u8] {
        &self.chunk[self.at..]
    }

    /// The next record, if it is all there.
    fn next(&mut self, order: ByteOrder, at: u64) -> Result<Option<RawRecord>> {
        let Some(header) = Header::parse(self.rest(), order) else { return Ok(None) };
        let size = usize::from(header.size);
        if size < Header::SIZE {
            let found = format!("a record of type {} with a size of {size}", header.kind);
            return Err(Error::malformed("a record of at least 8 bytes", found.as_bytes()));
        }
        if self.rest().len() < size {
            return Ok(None);
        }
        let body = Slice::new(&self.chunk, self.at + Header::SIZE..self.at + size);
        self.at += size;
        Ok(Some(RawRecord { header, body, at }))
    }
}

impl RawRecords {
    /// Reads a source that begins at the byte `begin` of the file.
    pub fn new(source: ByteSource, begin: u64, order: ByteOrder) -> RawRecords {
        RawRecords {
            source,
            order,
            pool: Pool::default(),
            plain: RecordCursor::new(),
            position: begin,
            may_be_cut: false,
            was_cut: false,
            inflater: None,
        }
    }

    /// Frees the buffers; there is nothing more to read.
    pub fn close(&mut self) {
        self.pool.close();
        self.plain = RecordCursor::new();
        if let Some(inflated) = &mut self.inflater {
            inflated.cut = RecordCursor::new();
        }
    }

    /// The progress of reading, and the end if that is known.
    pub fn progress(&self) -> Progress {
        let end = match &self.source {
            ByteSource::File { end, .. } => Some(*end),
            ByteSource::Stream(_) | ByteSource::Live(_) => None,
        };
        Progress::Bytes(self.position, end)
    }

    /// The next record, of perf's and of the kernel's.
    ///
    /// # Errors
    /// Errors of the system, and bytes that are no record, placed by their byte.
    pub fn next(&mut self) -> Result<Option<RawRecord>> {
        let at = self.position;
        self.step().map_err(|e| e.or_at(|| Position { byte: Some(at), ..Position::default() }))
    }

    fn step(&mut self) -> Result<Option<RawRecord>> {
        loop {
            if let Some(record) = self.next_inflated()? {
                return Ok(Some(record));
            }
            let Some(record) = self.next_plain()? else {
                return self.finish();
            };
            match record.header.kind {
                kind::COMPRESSED => self.inflate(&record.body)?,
                kind::COMPRESSED2 => {
                    let size = Cursor::new(&record.body, self.order).u64().unwrap_or(0);
                    let end = usize::try_from(size).unwrap_or(usize::MAX).saturating_add(8);
                    self.inflate(record.body.get(8..end.min(record.body.len())).unwrap_or_default())?;
                }
                kind::FINISHED_ROUND if self.inflater.is_some() => {
                    let inflated = self.inflater.as_mut().expect("it is there");
                    // Data compressed before this record may come out up to a window later.
                    let due = inflated.total + inflated.inflater.window();
                    inflated.rounds.push_back((due, record));
                }
                _ => return Ok(Some(record)),
            }
        }
    }

    fn next_plain(&mut self) -> Result<Option<RawRecord>> {
        loop {
            if let Some(record) = self.plain.next(self.order, self.position)? {
                self.position += u64::from(record.header.size);
                self.pass_payload(&record)?;
                return Ok(Some(record));
            }
            if !self.refill()? {
                let left = self.plain.rest().len();
                if left == 0
                    || (matches!(self.source, ByteSource::Stream(_)) && is_message(self.plain.rest()))
                {
                    return Ok(None);
                }
                if self.may_be_cut {
                    self.was_cut = true;
                    return Ok(None);
                }
                let found = format!("the last {left} bytes of one");
                return Err(cut_short("a whole record", &found));
            }
        }
    }

    /// Some of perf's records are followed by bytes that are not in their size.
    fn pass_payload(&mut self, record: &RawRecord) -> Result<()> {
        let mut fields = Cursor::new(&record.body, self.order);
        let len = match record.header.kind {
            kind::AUXTRACE => fields.u64().unwrap_or(0),
            // Padded to eight bytes.
            kind::TRACING_DATA => u64::from(fields.u32().unwrap_or(0)).div_ceil(8) * 8,
            _ => return Ok(()),
        };
        let here = usize::try_from(len).unwrap_or(usize::MAX).min(self.plain.rest().len());
        self.plain.at += here;
        self.position = self.position.saturating_add(len);
        if self.source.skip(len - here as u64)? {
            return Ok(());
        }
        if self.may_be_cut {
            self.was_cut = true;
            return Ok(());
        }
        Err(cut_short("the data behind a record", "the end of the file"))
    }

    /// Reads more behind what is left of the chunk; `false` if there is no more.
    fn refill(&mut self) -> Result<bool> {
        let mut bytes = self.pool.take();
        let rest = self.plain.rest();
        // Resizing writes zeros, but only into memory that is new.
        bytes.resize(CHUNK, 0);
        bytes[..rest.len()].copy_from_slice(rest);
        let n = self.source.read(&mut bytes[rest.len()..])?;
        bytes.truncate(rest.len() + n);
        self.plain = RecordCursor { chunk: self.pool.share(bytes), at: 0 };
        Ok(n > 0)
    }

    fn inflate(&mut self, piece: &[u8]) -> Result<()> {
        let inflated = self.inflater.get_or_insert_with(|| {
            let (inflater, cut) = (Inflater::default(), RecordCursor::new());
            Box::new(InflatedRecords { inflater, cut, total: 0, rounds: VecDeque::new() })
        });
        inflated.take(&self.pool, |inflater, out| inflater.feed(piece, out))
    }

    fn next_inflated(&mut self) -> Result<Option<RawRecord>> {
        let Some(inflated) = &mut self.inflater else { return Ok(None) };
        if let Some(record) = inflated.cut.next(self.order, self.position)? {
            return Ok(Some(record));
        }
        if inflated.rounds.front().is_some_and(|(due, _)| *due <= inflated.total) {
            return Ok(inflated.rounds.pop_front().map(|(_, record)| record));
        }
        Ok(None)
    }

    /// The record that the decoder has kept back.
    fn finish(&mut self) -> Result<Option<RawRecord>> {
        if self.inflater.is_none() {
            return Ok(None);
        }
        if let Some(inflated) = &mut self.inflater {
            // perf 6.1 leaves the end of the frame unwritten when it does not fit a record.
            self.was_cut |= !inflated.inflater.is_whole();
            inflated.take(&self.pool, Inflater::finish)?;
            inflated.inflater = Inflater::default();
            inflated.rounds.clear();
        }
        let record = self.next_inflated()?;
        if record.is_none()
            && let Some(inflated) = &self.inflater
        {
            self.was_cut |= !inflated.cut.rest().is_empty();
        }
        Ok(record)
    }
}

impl InflatedRecords {
    /// Lets the decoder append to the rest of the records before.
    fn take(
        &mut self,
        pool: &Pool,
        unpack: impl FnOnce(&mut Inflater, &mut Vec<u8>) -> Result<()>,
    ) -> Result<()> {
        let mut bytes = pool.take();
        bytes.clear();
        bytes.extend_from_slice(self.cut.rest());
        let before = bytes.len();
        let result = unpack(&mut self.inflater, &mut bytes);
        self.total += (bytes.len() - before) as u64;
        self.cut = RecordCursor { chunk: pool.share(bytes), at: 0 };
        result
    }
}

/// Recognises perf's own messages behind the records: `perf record -o - > FILE 2>&1` puts them there.
fn is_message(rest: &[u8]) -> bool {
    let is_text = |byte: &u8| matches!(byte, b'\t' | b'\n' | b'\r' | b' '..=b'~');
    memchr::memmem::find(rest, b"[ perf record: ").is_some() && rest.iter().all(is_text)
}

/// A recording that ends too early.
pub(super) fn cut_short(expected: &str, found: &str) -> Error {
    ErrorKind::Malformed {
        expected: expected.to_owned(),
        found: format!("{found}; the recording was cut short, copy or record it again"),
    }
    .into()
}

/// The bytes of a part of a file.
///
/// # Errors
/// Errors of the system; parts that are not in the file.
pub(super) fn read_section(file: &File, begin: u64, size: u64, section: Section) -> Result<Vec<u8>> {
    /// All the build ids of a large machine are a few megabytes.
    const LARGEST: u64 = 256 << 20;
    let error = |e: Error| e.or_at(|| Position { byte: Some(section.offset), ..Position::default() });
    if section.end() > size || section.end() < section.offset {
        let found = format!("the file's end at byte {size}");
        return Err(error(cut_short(&format!("{} bytes", section.size), &found)));
    }
    if section.size > LARGEST {
        return Err(error(Error::malformed("a part of its header", section.size.to_string().as_bytes())));
    }
    let mut bytes = vec![0; section.size as usize];
    let n = input::read_at(file, begin + section.offset, &mut bytes).map_err(error)?;
    bytes.truncate(n);
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::input::Source;

    #[test]
    fn messages_of_perf_behind_the_records_of_a_pipe_are_no_records() {
        let records = |tail: &[u8]| {
            // The end of a round: its type, no flags, eight bytes.
            let round = [68, 0, 0, 0, 0, 0, 8, 0];
            let reader = Source::bytes([&round, &round, tail].concat()).open().unwrap().into_reader();
            let mut records = RawRecords::new(ByteSource::Stream(reader), 0, ByteOrder::Little);
            let mut count = 0;
            while records.next()?.is_some() {
                count += 1;
            }
            Ok::<_, Error>(count)
        };
        let messages = b"[ perf record: Woken up 1 times to write data ]\n[ perf record: Captured and wrote 0.000 MB - ]\n";
        assert_eq!(records(messages).unwrap(), 2);
        assert_eq!(records(b"").unwrap(), 2);
        for tail in [
            &b"hello there, this is no message of perf\n"[..],
            &messages[1..40],
            b"\x09\0\0\0\0\0\x40\0[ perf record: ",
        ] {
            assert!(records(tail).unwrap_err().to_string().contains("cut short"), "{tail:?}");
        }
    }
}
