//! An input cut into blocks that end between records, for one thread or many.
//!
//! Pipes and compressed files are read into a reused buffer, which keeps memory flat. Of plain
//! files a window is mapped: the processor fetches text ahead of the parser either way, and not
//! having it copied first saves half a second for each five gigabytes.

use std::fs::File;
use std::ops::Range;
use std::sync::Arc;

use super::map::Window;
use super::{HEAD, Input, InputMeter, decompress, read_full};
use crate::error::{Error, ErrorKind, Position, Result};
use crate::limits::Meter;

/// No record is larger than this: not the deepest stack, not the longest name.
pub(crate) const MAX_RECORD: usize = 256 << 20;

/// The size of a mapped piece of a file. With 4 MB the programs take 2% less, but what is mapped
/// counts as memory.
const WINDOW: usize = 2 << 20;

/// Files from this size on are mapped. There is nothing to gain in smaller ones, and those that
/// the system makes up while they are read have no size.
const MAPPED_FROM: u64 = 1 << 20;

/// Readers that ask for smaller blocks have many inputs open: they are not mapped.
const MAPPED_BLOCK: usize = 128 * 1024;

/// Some whole records of an input.
#[derive(Debug, Default)]
pub struct Block {
    buffer: Vec<u8>,
    /// Holds the records instead of the buffer where files can be mapped.
    window: Option<Window>,
    len: usize,
    /// The number of the block in its input, counted from 0.
    pub index: usize,
    /// True if nothing follows in its input.
    pub is_last: bool,
}

impl Block {
    /// The records.
    #[inline]
    pub fn bytes(&self) -> &[u8] {
        match &self.window {
            Some(window) => &window[..self.len],
            None => &self.buffer[..self.len],
        }
    }

    /// Brings what is mapped into memory at once.
    pub(crate) fn load(&self) {
        if let Some(window) = &self.window {
            window.load();
        }
    }

    /// Gives back what is mapped; the block is empty then.
    pub(crate) fn clear(&mut self) {
        self.len = 0;
        self.window = None;
    }

    /// Returns true if the last record of the block, and so of its input, may have been cut: see [`may_go_on`].
    pub fn ends_within_line(&self) -> bool {
        may_go_on(self.bytes())
    }
}

/// Returns true if the last line of a text has no newline, and does not end with a bracket, as whole frames do: texts
/// that were copied lack the newline, too.
pub(crate) fn may_go_on(text: &[u8]) -> bool {
    !matches!(text.last(), None | Some(b'\n' | b')' | b']'))
}

/// Reads an input block by block.
pub struct Blocks {
    name: Arc<str>,
    input: Input,
    size: usize,
    /// The bytes behind the last cut; the next block starts with them.
    carry: Vec<u8>,
    /// The file, while it can be mapped, and where its next block starts.
    file: Option<(File, u64)>,
    /// The end of the part of the file that is read.
    end: u64,
    ended: bool,
    next: usize,
}

impl Blocks {
    pub(super) fn new(mut input: Input, size: usize) -> Self {
        let carry = std::mem::take(&mut input.head);
        let file = input.file.take().filter(|(file, begin)| {
            let is_large = |len: u64| len.saturating_sub(*begin) >= MAPPED_FROM;
            size >= MAPPED_BLOCK && file.metadata().is_ok_and(|kind| is_large(kind.len()))
        });
        // The whole of a small input stands in its head: no block is to be filled.
        let ended = carry.len() < HEAD && file.is_none() && !input.live;
        Blocks { name: input.name().clone(), input, size, carry, file, end: u64::MAX, ended, next: 0 }
    }

    /// The records of a part of a plain file, which must be large enough to be mapped.
    pub(crate) fn of_part(
        name: Arc<str>,
        file: File,
        part: Range<u64>,
        (size, meter): (usize, Option<&Arc<Meter>>),
    ) -> Result<Self> {
        let meter = meter.map(|meter| InputMeter::new(meter.clone()));
        let input = Input::metered(name.clone(), Box::new(std::io::empty()), meter)?;
        let file = Some((file, part.start));
        Ok(Blocks { name, input, size, carry: Vec::new(), file, end: part.end, ended: false, next: 0 })
    }

    /// The file that is about to be mapped, and the part of it that holds the records.
    pub(crate) fn plain_file(&self) -> Option<(&File, Range<u64>)> {
        let (file, start) = self.file.as_ref()?;
        Some((file, *start..file.metadata().ok()?.len()))
    }

    /// The name to use in messages.
    pub fn name(&self) -> &Arc<str> {
        &self.name
    }

    /// Returns true if the input's end has been read, so that at most one more block follows.
    pub fn is_ended(&self) -> bool {
        self.ended
    }

    /// Fills `block` with the next records and says whether there were any.
    ///
    /// `cut` is shown what has been read and returns where its last whole record ends; it is
    /// asked again with more while it returns `None`, and not asked at the input's end.
    ///
    /// # Errors
    /// The system's or a decoder's, and records of more than 256 MiB.
    pub fn next(&mut self, block: &mut Block, cut: impl Fn(&[u8]) -> Option<usize>) -> Result<bool> {
        let more = self.take(block, cut)?;
        block.load();
        Ok(more)
    }

    /// [`Blocks::next`] without [`Block::load`], for threads that take turns here.
    ///
    /// # Errors
    /// Those of [`Blocks::next`].
    pub(crate) fn take(&mut self, block: &mut Block, cut: impl Fn(&[u8]) -> Option<usize>) -> Result<bool> {
        block.clear();
        if let Some(more) = self.next_window(block, &cut)? {
            return Ok(more);
        }
        let mut filled = self.carry.len();
        let mut wanted = if self.ended { filled } else { self.size.max(filled) };
        if block.buffer.len() < wanted {
            block.buffer.resize(wanted, 0);
        }
        block.buffer[..filled].copy_from_slice(&self.carry);
        self.carry.clear();
        loop {
            if !self.ended {
                let n = read_full(&mut *self.input.rest, &mut block.buffer[filled..wanted])
                    .map_err(|e| decompress::error(e).or_at(|| Position::file(self.name.clone())))?;
                self.ended = filled + n < wanted;
                filled += n;
            }
            let end = if self.ended { Some(filled) } else { cut(&block.buffer[..filled]) };
            if let Some(end) = end {
                self.carry.extend_from_slice(&block.buffer[end..filled]);
                block.len = end;
                block.index = self.next;
                block.is_last = self.ended;
                self.next += 1;
                return Ok(end > 0);
            }
            wanted = twice(filled, &self.name)?;
            block.buffer.resize(block.buffer.len().max(wanted), 0);
        }
    }

    /// The same without copying the file; `None` if it cannot be mapped.
    fn next_window(
        &mut self,
        block: &mut Block,
        cut: impl Fn(&[u8]) -> Option<usize>,
    ) -> Result<Option<bool>> {
        let Some((file, start)) = &mut self.file else { return Ok(None) };
        if let Some(meter) = self.input.meter() {
            meter.check().map_err(|e| e.or_at(|| Position::file(self.name.clone())))?;
        }
        let mut wanted = self.size.max(WINDOW);
        while !self.ended {
            // It may have become longer meanwhile, or shorter.
            let window = file.metadata().and_then(|now| {
                let left = now.len().min(self.end).saturating_sub(*start);
                self.ended = left <= wanted as u64;
                Window::open(file, *start, left.min(wanted as u64) as usize)
            });
            let window = match window {
                Ok(window) => window,
                Err(_) if self.next == 0 && self.end == u64::MAX => {
                    self.ended = false;
                    self.file = None;
                    return Ok(None);
                }
                Err(e) => return Err(Error::io("read", e).or_at(|| Position::file(self.name.clone()))),
            };
            let end = if self.ended { Some(window.len()) } else { cut(&window) };
            if let Some(end) = end {
                *start += end as u64;
                block.len = end;
                block.window = Some(window);
                block.index = self.next;
                block.is_last = self.ended;
                self.next += 1;
                return Ok(Some(end > 0));
            }
            wanted = twice(wanted, &self.name)?;
        }
        Ok(Some(false))
    }
}

/// The number of bytes to show next of a record that does not end within this number.
fn twice(len: usize, name: &Arc<str>) -> Result<usize> {
    if len >= MAX_RECORD {
        return Err(Error::new(ErrorKind::TooLong { limit: MAX_RECORD }, Position::file(name.clone())));
    }
    Ok(len * 2)
}

/// The cut for records that are lines: behind the last newline.
pub fn last_newline(bytes: &[u8]) -> Option<usize> {
    memchr::memrchr(b'\n', bytes).map(|at| at + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn blocks(bytes: &[u8], size: usize) -> Vec<Vec<u8>> {
        let input = Input::new("test", Box::new(std::io::Cursor::new(bytes.to_vec()))).unwrap();
        let mut blocks = input.into_blocks(size);
        let mut block = Block::default();
        let mut found = Vec::new();
        while blocks.next(&mut block, last_newline).unwrap() {
            assert_eq!(block.index, found.len());
            found.push(block.bytes().to_vec());
        }
        found
    }

    #[test]
    fn blocks_end_between_lines_and_lose_nothing() {
        let text: Vec<u8> = (0..60_000).flat_map(|n| format!("line {n}\n").into_bytes()).collect();
        let found = blocks(&text, 100_000);
        assert!(found.len() > 4);
        assert!(found.iter().all(|block| block.ends_with(b"\n")));
        assert_eq!(found.concat(), text);
    }

    #[test]
    fn a_line_longer_than_a_block_is_one_block() {
        let text = [b"x".repeat(300_000), b" 1\nb 2\n".to_vec()].concat();
        let found = blocks(&text, 1024);
        assert_eq!(found.concat(), text);
        assert!(found[0].ends_with(b" 1\n") || found[0].ends_with(b"b 2\n"));
    }

    /// The blocks of a file, which `meanwhile` may change after each.
    fn blocks_of_file(bytes: &[u8], meanwhile: impl Fn(&File)) -> Vec<u8> {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), bytes).unwrap();
        let mut blocks = crate::input::Source::new(file.path()).open().unwrap().into_blocks(1024);
        let mut block = Block::default();
        let mut found = Vec::new();
        while blocks.next(&mut block, last_newline).unwrap() {
            assert!(blocks.is_ended() || block.bytes().ends_with(b"\n"));
            found.extend_from_slice(block.bytes());
            meanwhile(file.as_file());
        }
        assert!(!blocks.next(&mut block, last_newline).unwrap());
        found
    }

    #[test]
    fn files_are_mapped_window_by_window_and_lose_nothing() {
        let text: Vec<u8> = (0..900_000).flat_map(|n| format!("line {n}\n").into_bytes()).collect();
        assert!(text.len() > 2 * WINDOW);
        assert!(blocks_of_file(&text, |_| ()) == text);
        // No newline at the end, and a line that is longer than a window.
        let text = [&text[..], &b"x".repeat(2 * WINDOW), b" 1\nb 2"].concat();
        assert!(blocks_of_file(&text, |_| ()) == text);
    }

    #[test]
    fn a_file_that_becomes_shorter_meanwhile_ends_there() {
        let text = b"a;b 1\n".repeat(3 * WINDOW / 6);
        let found = blocks_of_file(&text, |file| file.set_len(1000).unwrap());
        assert!(found.len() <= WINDOW && text.starts_with(&found));
    }

    #[test]
    fn what_is_compressed_is_not_mapped() {
        let text: Vec<u8> =
            (0..1_000_000u32).flat_map(|n| n.wrapping_mul(2_654_435_761).to_le_bytes()).collect();
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        std::io::Write::write_all(&mut encoder, &text).unwrap();
        let zipped = encoder.finish().unwrap();
        assert!(zipped.len() as u64 > MAPPED_FROM);
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), zipped).unwrap();
        assert!(crate::input::Source::new(file.path()).open().unwrap().read_all().unwrap() == text);
        let mut blocks = crate::input::Source::new(file.path()).open().unwrap().into_blocks(1 << 20);
        let (mut block, mut found) = (Block::default(), Vec::new());
        while blocks.next(&mut block, last_newline).unwrap() {
            found.extend_from_slice(block.bytes());
        }
        assert!(found == text);
    }

    #[test]
    fn the_last_line_needs_no_newline() {
        assert_eq!(blocks(b"a 1\nb 2", 1024), [b"a 1\nb 2".to_vec()]);
        assert!(blocks(b"", 1024).is_empty());
    }
}
