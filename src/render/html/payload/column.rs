//! A column of a page while it is written: varints, compressed as they come.

use std::io::Write;

use flate2::Compression;
use flate2::write::ZlibEncoder;

use crate::bytes::push_varint_128;
use crate::error::Result;

/// The level of compression of columns with an entry for each frame. Of 2.1 million frames, in bytes a frame in the
/// file and processor seconds with reading (0.19): level 2 1.02 and 0.24, 3 0.98 and 0.26, 4 0.96
/// and 0.29, 6 0.90 and 0.41.
const LEVEL: u32 = 3;
/// The level of columns with an entry for each name: they are shorter, and text.
const NAME_LEVEL: u32 = 6;
/// The number of bytes that are compressed at a time.
const PIECE: usize = 32 * 1024;

/// A column being written.
pub(super) struct Column {
    piece: Vec<u8>,
    compressed: ZlibEncoder<Vec<u8>>,
}

impl Default for Column {
    fn default() -> Self {
        Column::new(LEVEL)
    }
}

impl Column {
    /// A column with an entry for each name.
    pub(super) fn of_names() -> Column {
        Column::new(NAME_LEVEL)
    }

    fn new(level: u32) -> Column {
        Column { piece: Vec::new(), compressed: ZlibEncoder::new(Vec::new(), Compression::new(level)) }
    }

    #[inline]
    pub(super) fn push(&mut self, value: u128) -> Result<()> {
        if value < 0x80 {
            self.piece.push(value as u8);
        } else {
            push_varint_128(value, &mut self.piece);
        }
        if self.piece.len() >= PIECE { self.compress() } else { Ok(()) }
    }

    pub(super) fn extend(&mut self, bytes: &[u8]) -> Result<()> {
        self.piece.extend_from_slice(bytes);
        if self.piece.len() >= PIECE { self.compress() } else { Ok(()) }
    }

    #[inline(never)]
    fn compress(&mut self) -> Result<()> {
        self.compressed.write_all(&self.piece)?;
        self.piece.clear();
        Ok(())
    }

    /// The number of compressed bytes so far, but for some thousand that the compressor holds.
    pub(super) fn bytes(&self) -> usize {
        self.compressed.get_ref().len()
    }

    pub(super) fn finish(mut self) -> Result<Vec<u8>> {
        self.compress()?;
        Ok(self.compressed.finish()?)
    }
}

/// Compresses a section that is no column.
///
/// # Errors
/// None in practice: compressing into memory does not fail.
pub(in crate::render::html) fn deflate(bytes: &[u8]) -> Result<Vec<u8>> {
    // It is small: its size counts, not the time.
    let mut compressed = ZlibEncoder::new(Vec::new(), Compression::best());
    compressed.write_all(bytes)?;
    Ok(compressed.finish()?)
}
