//! An input cut into blocks that end between records, for one thread or many.
//!
//! Reading one megabyte into a reused buffer costs no more than mapping the file, keeps memory
//! flat, and is the same for files and pipes.

use std::sync::Arc;

use super::{Input, decompress, read_full};
use crate::error::{Error, ErrorKind, Position, Result};

/// No record is larger than this: not the deepest stack, not the longest name.
pub(crate) const MAX_RECORD: usize = 256 << 20;

/// Some whole records of an input.
#[derive(Debug, Default)]
pub struct Block {
    buffer: Vec<u8>,
    len: usize,
    /// The number of the block in its input, counted from 0.
    pub index: usize,
}

impl Block {
    /// The records.
    pub fn bytes(&self) -> &[u8] {
        &self.buffer[..self.len]
    }
}

/// Reads an input block by block.
pub struct Blocks {
    name: Arc<str>,
    input: Input,
    size: usize,
    /// What was read behind the last cut; the next block starts with it.
    carry: Vec<u8>,
    ended: bool,
    next: usize,
}

impl Blocks {
    pub(super) fn new(mut input: Input, size: usize) -> Self {
        let carry = std::mem::take(&mut input.head);
        Blocks { name: input.name().clone(), input, size, carry, ended: false, next: 0 }
    }

    /// The name to use in messages.
    pub fn name(&self) -> &Arc<str> {
        &self.name
    }

    /// Whether the input's end has been read, so that at most one more block follows.
    pub fn is_ended(&self) -> bool {
        self.ended
    }

    /// Fills `block` with the next records and says whether there were any.
    ///
    /// `cut` is shown what has been read and returns where its last whole record ends; it is
    /// asked again with more while it returns `None`, and not asked at the input's end.
    ///
    /// # Errors
    /// What the system or a decoder says, and records of more than 256 MiB.
    pub fn next(&mut self, block: &mut Block, cut: impl Fn(&[u8]) -> Option<usize>) -> Result<bool> {
        let mut filled = self.carry.len();
        let mut wanted = self.size.max(filled);
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
                self.next += 1;
                return Ok(end > 0);
            }
            if filled >= MAX_RECORD {
                let kind = ErrorKind::TooLong { limit: MAX_RECORD };
                return Err(Error::new(kind, Position::file(self.name.clone())));
            }
            wanted = filled * 2;
            block.buffer.resize(block.buffer.len().max(wanted), 0);
        }
    }
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

    #[test]
    fn the_last_line_needs_no_newline() {
        assert_eq!(blocks(b"a 1\nb 2", 1024), [b"a 1\nb 2".to_vec()]);
        assert!(blocks(b"", 1024).is_empty());
    }
}
