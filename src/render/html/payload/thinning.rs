//! Thinned samples of a time line: some stand for others, so that any recording fits into a page.
//!
//! Samples of a stack are taken together, one after the other, until they weigh a part of the whole; one of them, by chance and
//! the heavier the likelier, gets the weight of all. What is left of a stack in the end, less than a part, is an entry as well. Of
//! millions of light stacks that would still be millions of entries: then these rests are taken together in the same way, in
//! the order of the call tree. Each caller weighs what it weighs but for a part at its first and its last stack, each thread
//! exactly, and there are no more entries than two for each part and one for each thread.

use std::collections::HashMap;

use crate::error::{ErrorKind, Result};

/// An entry of a time line: a sample, with the weight of those that it stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Entry {
    pub step: u64,
    /// The number of the frame in which the stack ends.
    pub exit: u32,
    /// The weight, times ten to the power of the page's decimals.
    pub weight: u128,
    /// The steps over which the weight is spread; 0 is a moment.
    pub duration: u64,
}

/// The extent to which samples are thinned.
#[derive(Clone, Copy, Debug)]
pub(super) struct Thinning {
    /// The weight of samples that are taken together.
    pub part: u128,
    /// The rests of neighbouring stacks are taken together.
    pub pools: bool,
    /// The most entries that are expected.
    pub most: usize,
}

/// The entries of a thread, in the order of time.
pub(super) struct Thinned {
    pub entries: Vec<Entry>,
    /// The number of rests that others stand for.
    pub pooled: usize,
}

/// Thins the samples of a thread.
pub(super) struct Thinner<'t> {
    thinning: &'t Thinning,
    entries: Vec<Entry>,
    /// The samples of each stack that do not weigh a part yet.
    open: HashMap<u32, Entry>,
    random: Random,
}

impl<'t> Thinner<'t> {
    pub(super) fn new(thinning: &'t Thinning) -> Thinner<'t> {
        Thinner { thinning, entries: Vec::new(), open: HashMap::new(), random: Random(0) }
    }

    /// Adds a sample.
    pub(super) fn push(&mut self, sample: Entry) -> Result<()> {
        if sample.weight == 0 {
            return Ok(());
        }
        let entry = self.open.entry(sample.exit).or_insert(Entry { weight: 0, ..sample });
        entry.join(sample, &mut self.random)?;
        if entry.weight >= self.thinning.part {
            self.entries.extend(self.open.remove(&sample.exit));
        }
        Ok(())
    }

    /// The samples that stand for all.
    pub(super) fn finish(self) -> Result<Thinned> {
        let Thinner { thinning, mut entries, open, mut random } = self;
        let mut pooled = 0;
        if thinning.pools {
            let mut rests: Vec<Entry> = open.into_values().collect();
            rests.sort_unstable_by_key(|rest| rest.exit);
            pooled = rests.len();
            let mut pool: Option<Entry> = None;
            for rest in rests {
                let entry = pool.get_or_insert(Entry { weight: 0, ..rest });
                entry.join(rest, &mut random)?;
                if entry.weight >= thinning.part {
                    entries.extend(pool.take());
                    pooled -= 1;
                }
            }
            pooled -= usize::from(pool.is_some());
            entries.extend(pool);
        } else {
            entries.extend(open.into_values());
        }
        entries.sort_unstable();
        Ok(Thinned { entries, pooled })
    }
}

impl Entry {
    /// Adds another sample. One of both, the heavier the likelier, stands for both.
    fn join(&mut self, other: Entry, random: &mut Random) -> Result<()> {
        let sum = self.weight.checked_add(other.weight).ok_or_else(overflow)?;
        if random.share() * (sum as f64) < other.weight as f64 {
            *self = other;
        }
        self.weight = sum;
        Ok(())
    }
}

pub(super) fn overflow() -> crate::Error {
    ErrorKind::Overflow.into()
}

/// Numbers that look like chance, the same in every run: splitmix64.
pub(super) struct Random(pub u64);

impl Random {
    /// A number from 0 to below 1.
    pub(super) fn share(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ (mixed >> 31)) >> 11) as f64 / (1u64 << 53) as f64
    }
}
