//! Records that are compressed before they are written, as `perf record -z` writes them.
//!
//! A pack is a frame of zstd, cut into records of the kind `PERF_RECORD_COMPRESSED`. Packs hold whole records, so
//! that a file that ends behind one can be read.

use ruzstd::encoding::{CompressionLevel, compress_to_vec};

use super::counted::Counted;
use super::pieces::Pieces;
use crate::record::sys::perf_event::record;

/// The number of bytes of records that are worth a pack. Of less the recorder would keep more in memory than
/// it loses if it is killed.
const WORTH: usize = 64 << 10;

/// The most bytes in a frame. perf unpacks a record into as much memory as [`Packer::feature`] says.
const MOST_IN_FRAME: usize = 512 << 10;

/// Records on their way into a pack.
#[derive(Debug, Default)]
pub(super) struct Packer {
    waiting: Vec<u8>,
    /// The end of each pack in the file, and the counts of what is in it.
    packs: Vec<(u64, Counted)>,
    /// The number of bytes before and after.
    sizes: (u64, u64),
}

impl Packer {
    /// Takes records, or parts of one.
    pub fn add(&mut self, records: &[u8]) {
        self.waiting.extend_from_slice(records);
    }

    /// Returns true if there is enough for a pack.
    pub fn is_worth_it(&self) -> bool {
        self.waiting.len() >= WORTH
    }

    /// Compresses all that there is; nothing if there is nothing. `at` is where the pack begins in the file.
    pub fn pack(&mut self, at: u64) -> Vec<u8> {
        let mut records = Vec::new();
        for piece in self.waiting.chunks(MOST_IN_FRAME) {
            let frame = compress_to_vec(piece, CompressionLevel::Fastest);
            // The size of a record has sixteen bits.
            for part in frame.chunks(usize::from(u16::MAX) - 8) {
                records.extend(record::COMPRESSED.to_ne_bytes());
                records.extend(0u16.to_ne_bytes());
                records.extend(u16::try_from(8 + part.len()).expect("a part is short enough").to_ne_bytes());
                records.extend_from_slice(part);
            }
        }
        if !records.is_empty() {
            self.packs.push((at + records.len() as u64, Counted::of(Pieces(&self.waiting, &[]))));
            self.sizes.0 += self.waiting.len() as u64;
            self.sizes.1 += records.len() as u64;
        }
        self.waiting.clear();
        records
    }

    /// Forgets the packs that do not end by `limit`, and returns the end of the others and what is in them.
    pub fn keep_until(&mut self, limit: u64) -> Option<(u64, Counted)> {
        self.waiting.clear();
        self.packs.retain(|(end, _)| *end <= limit);
        let mut all = Counted::default();
        self.packs.iter().for_each(|(_, counted)| all.merge(*counted));
        self.packs.last().map(|(end, _)| (*end, all))
    }

    /// The content of the feature `COMPRESSED`: version, zstd, level, ratio, and the size of its buffer.
    pub fn feature(&self) -> Vec<u8> {
        const BUFFER: u32 = 4 << 20;
        const { assert!(MOST_IN_FRAME < BUFFER as usize) };
        let ratio = u32::try_from(self.sizes.0 / self.sizes.1.max(1)).unwrap_or(u32::MAX);
        [1, 1, 1, ratio.max(1), BUFFER].iter().flat_map(|number: &u32| number.to_ne_bytes()).collect()
    }
}
