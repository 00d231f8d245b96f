//! The counts of a recording by address, for each file: samples, or branches and the code between them.

use std::collections::BTreeMap;

use crate::error::{Error, Result};
use crate::profile::Profile;
use crate::profile::exchange::{BranchKind, Exchanged};
use crate::symbolize::Object;
use crate::weight::Weight;

/// The counts of a file.
#[derive(Clone, Debug, Default)]
pub(super) struct Counts {
    /// Samples at each address.
    pub addresses: BTreeMap<u64, u64>,
    /// Code that ran without a branch: its first instruction, and its last one, which branches.
    pub straight: BTreeMap<(u64, u64), u64>,
    /// Branches: from, if that is in the file, and to.
    pub taken: BTreeMap<(Option<u64>, u64), u64>,
}

impl Counts {
    /// The weight of a file among those of a recording.
    pub fn weight(&self) -> u64 {
        let sum = |counts: &mut dyn Iterator<Item = &u64>| counts.fold(0, |a: u64, b| a.saturating_add(*b));
        match self.has_branches() {
            true => sum(&mut self.straight.values()),
            false => sum(&mut self.addresses.values()),
        }
    }

    /// Returns true if the code is counted by branches.
    pub fn has_branches(&self) -> bool {
        !self.straight.is_empty()
    }

    /// The same, from offsets in a file to the addresses that it states.
    pub fn stated(&self, object: &Object) -> Counts {
        let to = |offset: u64| object.file_offset_to_svma(offset);
        let both = |&(from, to_): &(u64, u64)| Some((to(from)?, to(to_)?));
        Counts {
            addresses: self.addresses.iter().filter_map(|(at, n)| Some((to(*at)?, *n))).collect(),
            straight: self.straight.iter().filter_map(|(at, n)| Some((both(at)?, *n))).collect(),
            taken: self
                .taken
                .iter()
                .filter_map(|(&(from, at), n)| Some(((from.and_then(to), to(at)?), *n)))
                .collect(),
        }
    }
}

/// The counts of each file of a recording, by the number of its mapping, and those of all samples.
pub(super) struct Recorded {
    /// By the number of the mapping.
    pub files: BTreeMap<u32, Counts>,
    /// Samples in all files, and those in none.
    pub samples: u64,
}

impl Recorded {
    /// The counts of a profile.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Setting`] for samples that a filter has parted from their branches, and for weights that
    /// are no counts.
    pub fn of(profile: &Profile, exchanged: &Exchanged) -> Result<Recorded> {
        let mut recorded = Recorded { files: BTreeMap::new(), samples: 0 };
        let exchange = &exchanged.exchange;
        let Some(branches) = exchanged.branches().or(exchange.branches.is_empty().then_some(&[])) else {
            let what = "the stacks were filtered, and the branches of the others cannot be told apart: \
                        write the profile for a compiler from the recording itself";
            return Err(Error::setting(what));
        };
        let period = profile.facts().period.filter(|period| !period.is_zero());
        let table = profile.stacks();
        for (stack, weights) in table.stacks() {
            let count = count(weights.value, period)?;
            recorded.samples = recorded.samples.saturating_add(count);
            let leaf = stack.last().and_then(|&leaf| exchange.code_of(table.place(leaf).code));
            let Some(location) = leaf.map(|code| exchange.locations[code.location as usize]) else {
                continue;
            };
            let Some(mapping) = location.mapping else { continue };
            let counts = recorded.files.entry(mapping).or_default();
            add(counts.addresses.entry(location.address).or_default(), count);
        }
        for branch in branches {
            let counts = recorded.files.entry(branch.mapping).or_default();
            match (branch.kind, branch.from) {
                (BranchKind::Straight, Some(from)) => {
                    add(counts.straight.entry((from, branch.to)).or_default(), branch.count);
                }
                (BranchKind::Straight, None) => {}
                (BranchKind::Taken, from) => {
                    add(counts.taken.entry((from, branch.to)).or_default(), branch.count);
                }
            }
        }
        Ok(recorded)
    }
}

/// The number of samples that weigh so much, where each weighs the same; else the weight.
fn count(weight: Weight, period: Option<Weight>) -> Result<u64> {
    let whole = |weight: Weight| weight.to_u64();
    let samples = period.and_then(|period| {
        let samples = (weight.to_f64() / period.to_f64()).round();
        let exact = period.checked_mul(Weight::new(samples as i128)).ok()? == weight;
        exact.then_some(samples as u64)
    });
    samples.or_else(|| whole(weight)).ok_or_else(|| {
        let what =
            format!("a profile for compilers counts in whole numbers of 64 bits, and {weight} is not one");
        Error::setting(what)
    })
}

fn add(sum: &mut u64, count: u64) {
    *sum = sum.saturating_add(count);
}
