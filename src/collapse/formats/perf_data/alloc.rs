//! Allocations: `fg-record --alloc` samples them at a breakpoint that the library of the recorder triggers.
//!
//! ```text
//! SAMPLE  pid 7 mem:0x275a5a0000:w  di 4096 si 12 dx 524288 r8 9 r9 0 …, and its stack
//! ```
//! Sample 12 of process 7 is an allocation of 4096 bytes, taken once in 524,288 bytes on average; sample 9 was
//! released. The registers are described in `record/alloc/preload/lib.rs`.
//!
//! An allocation of `size` bytes is a sample with the probability `1 - exp(-size / mean)`, and for certain from
//! the mean on. Divided by it, bytes and counts are right on average. What was not released when its process
//! ended, or the recording, is in use.

use std::collections::{HashMap, HashSet};

use super::attr::{Attr, Event};
use super::pending::PendingSample;
use super::sample::Registers;
use crate::allocation_trigger::{LIBRARY, TRIGGER};
use crate::collapse::{CollapseOptions, Value, ValueSelection, ValueTotal};
use crate::error::Result;
use crate::weight::Weight;

/// pprof's names: bytes and counts of all that was allocated, and of what is in use at the end.
const VALUES: [(&str, &str); 4] = [
    ("alloc_space", "bytes"),
    ("alloc_objects", "objects"),
    ("inuse_space", "bytes"),
    ("inuse_objects", "objects"),
];
/// The number of values of all that was allocated; the others are of what is in use.
const ALLOCATED: usize = 2;
/// The number of the first of them where events have numbers.
const FIRST_NUMBER: u32 = u32::MAX - 7;

/// The name of a value by its number.
pub(super) fn name_of(number: u32) -> Option<&'static str> {
    VALUES.get(number.checked_sub(FIRST_NUMBER)? as usize).map(|(name, _)| *name)
}

impl Attr {
    /// Returns whether its samples are allocations.
    pub(super) fn is_allocations(&self) -> bool {
        const BREAKPOINT: u32 = 5;
        self.kind == BREAKPOINT && self.config1 == TRIGGER
    }
}

/// The content of a sample.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Allocation {
    /// The size; 0 if the sample tells of releases alone.
    size: u64,
    /// The number of the sample in its process.
    number: u64,
    /// The mean number of bytes from one sample to the next.
    mean: u64,
    /// The numbers of samples that were released; 0 stands for none.
    released: [u64; 4],
}

impl Allocation {
    /// Reads the registers of an x86-64 processor, by the kernel's numbers.
    pub fn of(registers: &Registers<'_>) -> Option<Allocation> {
        const DX: u32 = 3;
        const SI: u32 = 4;
        const DI: u32 = 5;
        const R8: u32 = 16;
        let released = [0, 1, 2, 3].map(|n| registers.get(R8 + n).unwrap_or(0));
        Some(Allocation {
            size: registers.get(DI)?,
            number: registers.get(SI)?,
            mean: registers.get(DX)?,
            released,
        })
    }

    /// Returns whether it is an allocation, and not only releases.
    pub fn is_one(&self) -> bool {
        self.size > 0
    }

    /// The bytes and the number of allocations that it stands for.
    fn weights(&self) -> [u64; ALLOCATED] {
        if self.size >= self.mean {
            return [self.size, 1];
        }
        let probability = -(-(self.size as f64) / self.mean as f64).exp_m1();
        let count = 1.0 / probability;
        // A count is a whole number: a part of one is one as often as that.
        let chance = spread(self.number) as f64 / u64::MAX as f64;
        [(self.size as f64 * count).round() as u64, (count + chance).floor() as u64]
    }
}

/// A number that looks random, and is always the same.
fn spread(number: u64) -> u64 {
    let x = (number ^ 0x5851_f42d_4c95_7f2d).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let x = (x ^ x >> 32).wrapping_mul(0xd6e8_feb8_6659_fd93);
    x ^ x >> 32
}

/// The allocations that are in use, by the numbers that samples get here.
#[derive(Default)]
pub(super) struct Allocations {
    totals: [ValueTotal; 4],
    decided: bool,
    /// True if each value has a root of its own.
    roots: bool,
    count: bool,
    /// Of each process, the samples in use by their numbers in it.
    processes: HashMap<i32, HashMap<u64, u64>>,
    in_use: HashMap<u64, [Weight; ALLOCATED]>,
    last: u64,
    /// Processes that have not loaded the library, by their programs' names.
    without_library: HashMap<i32, Vec<u8>>,
    /// The number of programs that were started.
    programs: u64,
    /// The kernel had no room for some records.
    has_losses: bool,
}

impl Allocations {
    /// Returns whether a recording is one of allocations.
    pub fn is_possible(events: &[Event]) -> bool {
        events.iter().any(|event| event.attr.is_allocations())
    }

    /// Decides which values are kept, at the first sample.
    pub fn decide(&mut self, options: &CollapseOptions, first: &mut Option<Vec<u8>>) {
        if std::mem::replace(&mut self.decided, true) {
            return;
        }
        let first = first.get_or_insert_with(|| VALUES[0].0.into());
        for (total, (name, _)) in self.totals.iter_mut().zip(VALUES) {
            total.kept = options.values.keeps_event(name.as_bytes(), &mut Some(first.clone()));
        }
        self.roots = options.values == ValueSelection::All;
        self.count = options.count;
    }

    /// Returns whether anything of this reaches the result.
    pub fn is_kept(&self) -> bool {
        self.totals.iter().any(|total| total.kept)
    }

    /// Counts an allocation, and hands it out once for all that it is worth, and once more for what it is
    /// worth if it is in use at the end. `sample` makes the sample.
    ///
    /// # Errors
    /// More than can be added up.
    pub fn add(
        &mut self,
        allocation: &Allocation,
        pid: i32,
        sample: impl FnOnce() -> PendingSample,
        out: &mut Vec<PendingSample>,
    ) -> Result<()> {
        for number in allocation.released.iter().filter(|number| **number > 0) {
            let released = self.processes.get_mut(&pid).and_then(|process| process.remove(number));
            released.map(|number| self.in_use.remove(&number));
        }
        if !allocation.is_one() {
            return Ok(());
        }
        let weights = match self.count {
            true => [Weight::ONE; ALLOCATED],
            false => allocation.weights().map(|weight| Weight::new(weight.into())),
        };
        let sample = sample();
        for (of_use, in_use) in [(0, None), (ALLOCATED, Some(self.last + 1))] {
            let mut sum = Weight::ZERO;
            for (at, weight) in weights.into_iter().enumerate() {
                let total = &mut self.totals[of_use + at];
                if in_use.is_none() {
                    total.add(weight)?;
                }
                if !total.kept {
                    continue;
                }
                sum = sum.checked_add(weight)?;
                if self.roots {
                    let value = FIRST_NUMBER + (of_use + at) as u32;
                    out.push(PendingSample { value, weight, in_use, ..sample.clone() });
                }
            }
            if !self.roots && !sum.is_zero() {
                out.push(PendingSample { weight: sum, in_use, ..sample.clone() });
            }
        }
        self.last += 1;
        self.in_use.insert(self.last, weights);
        let before = self.processes.entry(pid).or_default().insert(allocation.number, self.last);
        // A number comes again only if what the process was before is gone.
        before.map(|before| self.in_use.remove(&before));
        Ok(())
    }

    /// Returns whether a sample that was handed out is in use.
    pub fn is_in_use(&self, number: u64) -> bool {
        self.in_use.contains_key(&number)
    }

    /// A process begins, by the number that another one may have had.
    pub fn fork(&mut self, pid: i32) {
        self.processes.remove(&pid);
    }

    /// A process becomes another program: its memory is gone.
    pub fn exec(&mut self, pid: i32, name: &[u8]) {
        for number in self.processes.remove(&pid).into_iter().flatten() {
            self.in_use.remove(&number.1);
        }
        self.programs += 1;
        self.without_library.insert(pid, name.to_vec());
    }

    /// A process maps a file.
    pub fn mmap(&mut self, pid: i32, path: &[u8]) {
        if path.strip_suffix(LIBRARY.as_bytes()).is_some_and(|folder| folder.ends_with(b"/")) {
            self.without_library.remove(&pid);
        }
    }

    /// The kernel had no room for some records.
    pub fn lose(&mut self) {
        self.has_losses = true;
    }

    /// Counts what is in use at the end.
    ///
    /// # Errors
    /// More than can be added up.
    pub fn settle(&mut self) -> Result<()> {
        for (at, total) in self.totals.iter_mut().enumerate().skip(ALLOCATED) {
            *total = ValueTotal { kept: total.kept, ..ValueTotal::default() };
            self.in_use.values().try_for_each(|weights| total.add(weights[at - ALLOCATED]))?;
        }
        Ok(())
    }

    /// Counts anew.
    pub fn begin_part(&mut self) {
        for total in &mut self.totals {
            *total = ValueTotal { kept: total.kept, ..ValueTotal::default() };
        }
    }

    /// The values that there were, with their totals.
    pub fn values(&self) -> impl Iterator<Item = (Value, ValueTotal)> {
        let count = if self.decided { VALUES.len() } else { 0 };
        let values = VALUES.iter().zip(&self.totals).take(count);
        values.map(|((name, unit), total)| {
            (Value::new(*name, if self.count { "samples" } else { *unit }), *total)
        })
    }

    /// A note on what is in use, if it may be less.
    pub fn note_of_losses(&self) -> Option<String> {
        let is_kept = self.totals[ALLOCATED..].iter().any(|total| total.kept);
        (self.has_losses && is_kept).then(|| {
            "releases may be among the events that were lost: what they released counts as still held"
                .to_owned()
        })
    }

    /// A note of the programs whose allocations were not seen.
    pub fn note(&self) -> Option<String> {
        /// The number of names in the note.
        const NAMED: usize = 3;
        let names: HashSet<&[u8]> = self.without_library.values().map(Vec::as_slice).collect();
        let mut names: Vec<_> = names.into_iter().map(String::from_utf8_lossy).collect();
        names.sort_unstable();
        let more = if names.len() > NAMED { ", …" } else { "" };
        names.truncate(NAMED);
        (!names.is_empty()).then(|| {
            format!(
                "{} of {} programs did not load the library of --alloc, and their allocations are not seen: {}{more} \
                 (linked statically, set-uid, or for another kind of processor)",
                self.without_library.len(),
                self.programs,
                names.join(", ")
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_are_right_on_average() {
        let mean = 1000;
        for size in [1, 10, 500, 999] {
            let (mut bytes, mut count) = (0.0, 0.0);
            let probability = 1.0 - (-(size as f64) / mean as f64).exp();
            const SAMPLES: u64 = 10_000;
            for number in 1..=SAMPLES {
                let [space, objects] = Allocation { size, number, mean, released: [0; 4] }.weights();
                (bytes, count) = (bytes + space as f64, count + objects as f64);
            }
            // So many allocations make this number of samples.
            let expected = SAMPLES as f64 / probability;
            assert!((count / expected - 1.0).abs() < 0.01, "{size}: {count} for {expected}");
            let expected = expected * size as f64;
            assert!((bytes / expected - 1.0).abs() < 0.01, "{size}: {bytes} for {expected}");
        }
        for (size, mean) in [(1000, 1000), (5, 1), (1 << 60, 7), (3, 0)] {
            let [space, objects] = Allocation { size, number: 1, mean, released: [0; 4] }.weights();
            assert_eq!((space, objects), (size, 1), "certain");
        }
        // A recording may hold any numbers.
        let _ = Allocation { size: 1, number: 1, mean: u64::MAX, released: [0; 4] }.weights();
    }
}
