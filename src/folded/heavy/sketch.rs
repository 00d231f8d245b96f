//! The beginnings of stacks that may be heavy, counted in little memory.

use super::super::id_table::{Hash, KeyedHasher};
use super::super::reader::NotUnderstood;
use super::super::replay_buffer::Rereadable;
use super::each_stack;
use crate::error::Result;
use crate::scan::frames;

/// At least the weight of every beginning of a stack, in some unit, as far as that can be counted.
pub(super) struct Sketch {
    counters: Vec<u16>,
    unit: u64,
}

impl Sketch {
    /// The number of counters is 2 to this: 2 MB of them. Each beginning of each stack adds to one, so a
    /// counter that nothing heavy adds to holds some 15 millionths of the whole; a tenth of a pixel is some 80.
    const BITS: u32 = 20;

    /// With a unit of which the least, as it is guessed, has some thousand: a wrong guess makes heavy what is
    /// none, or takes a counter to its end, where all is heavy.
    pub(super) fn new(least: u64) -> Sketch {
        Sketch { counters: vec![0; 1 << Self::BITS], unit: (least / 6000).max(1) }
    }

    /// Adds the weight of a stack to the counters of its beginnings.
    #[inline]
    pub(super) fn add(&mut self, stack: &[u8], semicolons: &[u32], weight: u64, hasher: &KeyedHasher) {
        let units = u16::try_from(weight.div_ceil(self.unit)).unwrap_or(u16::MAX);
        let mut beginning = Hash::default();
        for frame in frames(stack, semicolons) {
            beginning = hasher.hash_next(beginning, hasher.hash_bytes(frame));
            let counter = &mut self.counters[Self::counter(beginning)];
            *counter = counter.saturating_add(units);
        }
    }

    /// Adds up a text: its weight, and what was left out. `None` if a weight is no whole number.
    pub(super) fn count(
        &mut self,
        input: &mut Rereadable<'_>,
        hasher: &KeyedHasher,
    ) -> Result<Option<(u64, NotUnderstood)>> {
        each_stack(input, |stack, semicolons, weight, _| self.add(stack, semicolons, weight, hasher))
    }

    /// The counter of a beginning.
    #[inline]
    fn counter(beginning: Hash) -> usize {
        (beginning.slot() >> (u64::BITS - Self::BITS)) as usize
    }

    /// The counters that may stand for something that weighs at least this much.
    pub(super) fn heavy(&self, least: u64) -> Heavy {
        let least = u16::try_from(least / self.unit).unwrap_or(u16::MAX);
        let bits = |counters: &[u16]| (0..).zip(counters).map(|(n, &c)| u64::from(c >= least) << n).sum();
        Heavy { bits: self.counters.chunks(64).map(bits).collect() }
    }
}

/// Says of a beginning of a stack if it may be heavy.
pub(super) struct Heavy {
    bits: Vec<u64>,
}

impl Heavy {
    /// Nothing is heavy.
    #[cfg(test)]
    pub(super) fn none() -> Heavy {
        Heavy { bits: vec![0; 1 << (Sketch::BITS - 6)] }
    }

    /// Returns false if the beginning is light for certain, or seems to be.
    #[inline]
    pub(super) fn may_be(&self, beginning: Hash) -> bool {
        let counter = Sketch::counter(beginning);
        self.bits[counter / 64] >> (counter % 64) & 1 == 1
    }
}
