//! Processor time that no sample stands for.
//!
//! The kernel begins a whole period for each new thread: one that ends before it has no sample, however many
//! thousand of these there are. The recorder reads what the event has counted for all of them, and that is the
//! total. The rest goes to the names of threads: first to those that have ended early or lately, none of which can
//! lack more than it lived, nor more than a period; and what is left (samples that were lost, or the kernel's part
//! where that is left out) to all names by their samples.

use std::collections::BTreeMap;
use std::collections::HashMap;

use super::process::CommId;

/// Counts what events have counted, and what of it samples may lack.
#[derive(Default)]
pub(super) struct NotSampled {
    /// The counts of events, by number.
    counted: HashMap<u32, u64>,
    /// The times at which threads began.
    begun: HashMap<i32, u64>,
    /// The lifetimes of threads that have ended, by name; each as far as the longest period.
    lived: BTreeMap<CommId, u64>,
    /// The weights of samples, by event and name.
    sampled: BTreeMap<(u32, CommId), u64>,
}

/// The end that time is taken at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// More follows, of the same threads.
    OfPart,
    /// Nothing follows.
    OfAll,
}

/// Less than this part of the whole is not worth a stack: a program's start and end, which no event counts, are as much
/// of a tenth of a second.
const PART: u64 = 50;

/// The longest part of a thread's life for which there may be no sample, in nanoseconds: a period of any rate that
/// is in use.
const LONGEST: u64 = 1_000_000_000;

impl NotSampled {
    /// An event has counted more.
    pub fn count(&mut self, event: u32, value: u64) {
        let sum = self.counted.entry(event).or_default();
        *sum = sum.saturating_add(value);
    }

    /// A thread begins.
    pub fn begin(&mut self, tid: i32, time: u64) {
        self.begun.insert(tid, time);
    }

    /// A thread ends, of an event of this period in nanoseconds; `comm` names it.
    pub fn end(&mut self, tid: i32, comm: impl FnOnce() -> CommId, time: u64, period: u64) {
        if let Some(begun) = self.begun.remove(&tid) {
            let sum = self.lived.entry(comm()).or_default();
            *sum = sum.saturating_add(time.saturating_sub(begun).min(period).min(LONGEST));
        }
    }

    /// A sample of an event.
    pub fn sample(&mut self, event: u32, comm: CommId, weight: u64) {
        let sum = self.sampled.entry((event, comm)).or_default();
        *sum = sum.saturating_add(weight);
    }

    /// Takes all that was counted: for each event and name the weight that no sample stands for. `comm_of` names the
    /// threads that still run, `first` is the name for all of it where neither a thread that began nor a sample has
    /// one. Less than a period for each thread that runs is no lack; at the end of a part, it is left to the next one.
    pub fn take(
        &mut self,
        time: u64,
        period: u64,
        end: End,
        mut comm_of: impl FnMut(i32) -> CommId,
        first: Option<CommId>,
    ) -> Vec<(u32, CommId, u64)> {
        let counted = std::mem::take(&mut self.counted);
        let sampled = std::mem::take(&mut self.sampled);
        let mut lived = std::mem::take(&mut self.lived);
        if counted.is_empty() {
            return Vec::new();
        }
        for (&tid, &begun) in &self.begun {
            let sum = lived.entry(comm_of(tid)).or_default();
            *sum = sum.saturating_add(time.saturating_sub(begun).min(period).min(LONGEST));
        }
        // One, the program itself, was there before any began.
        let running = self.begun.len() as u64 + 1;
        let lived: Vec<(CommId, u64)> = lived.into_iter().collect();
        let mut all = Vec::new();
        for (event, counted) in BTreeMap::from_iter(counted) {
            let of_event = sampled.range((event, CommId(0))..=(event, CommId(u32::MAX)));
            let by_samples: Vec<(CommId, u64)> =
                of_event.map(|(&(_, comm), &weight)| (comm, weight)).collect();
            let rest = counted.saturating_sub(sum(&by_samples));
            if rest <= counted / PART {
                continue;
            }
            // Each of the threads that run has its next sample within a period.
            if rest <= period.saturating_mul(running) && (end == End::OfPart || !by_samples.is_empty()) {
                if end == End::OfPart {
                    self.counted.insert(event, rest);
                }
                continue;
            }
            let of_short = if by_samples.is_empty() { rest } else { rest.min(sum(&lived)) };
            let mut parts = BTreeMap::new();
            for (comm, part) in shared(of_short, &lived).chain(shared(rest - of_short, &by_samples)) {
                *parts.entry(comm).or_insert(0) += part;
            }
            let missing = rest - parts.values().sum::<u64>();
            if let Some(comm) = parts.keys().next().copied().or(first) {
                *parts.entry(comm).or_insert(0) += missing;
            }
            all.extend(
                parts.into_iter().filter(|(_, part)| *part > 0).map(|(comm, part)| (event, comm, part)),
            );
        }
        all
    }
}

fn sum(parts: &[(CommId, u64)]) -> u64 {
    parts.iter().fold(0, |sum, (_, part)| sum.saturating_add(*part))
}

/// Shares a weight by others; what is left when it is rounded down is not in it.
fn shared(weight: u64, by: &[(CommId, u64)]) -> impl Iterator<Item = (CommId, u64)> {
    let all = u128::from(sum(by).max(1));
    by.iter().map(move |&(comm, part)| {
        let part = u128::from(weight) * u128::from(part) / all;
        (comm, u64::try_from(part).unwrap_or(u64::MAX))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const PERIOD: u64 = 1_000;
    const SH: CommId = CommId(1);
    const LS: CommId = CommId(2);

    #[test]
    fn the_rest_goes_to_those_that_lived_shortly_and_then_to_all() {
        let mut time = NotSampled::default();
        time.sample(0, SH, 6_000);
        time.sample(0, LS, 3_000);
        for tid in 10..13 {
            time.begin(tid, 100);
            time.end(tid, || LS, 400, PERIOD);
        }
        time.begin(20, 0);
        time.count(0, 12_500);
        let (all, part) = (End::OfAll, End::OfPart);
        // 3 × 300 ns of ls; a thread of sh that still runs lacks a period at most.
        assert_eq!(time.take(5_000, PERIOD, all, |_| SH, None), [(0, SH, 2_067), (0, LS, 1_433)]);
        assert_eq!(time.take(5_000, PERIOD, all, |_| SH, None), [], "all was taken");
        time.sample(0, SH, 1_000);
        time.count(0, 4_000);
        assert_eq!(
            time.take(500, PERIOD, part, |_| LS, None),
            [(0, SH, 2_500), (0, LS, 500)],
            "lost samples"
        );
        time.count(0, 1_900);
        assert_eq!(
            time.take(600, PERIOD, part, |_| LS, None),
            [],
            "two threads may still have a sample each"
        );
        assert_eq!(time.take(600, PERIOD, all, |_| LS, None), [(0, LS, 1_900)]);
    }

    #[test]
    fn a_fiftieth_is_no_stack() {
        let mut time = NotSampled::default();
        time.sample(3, SH, 9_800);
        time.count(3, 10_000);
        assert_eq!(time.take(0, PERIOD, End::OfAll, |_| SH, None), []);
        time.begin(1, 0);
        time.end(1, || LS, u64::MAX, u64::MAX);
        time.count(3, u64::MAX);
        assert_eq!(time.take(0, PERIOD, End::OfAll, |_| SH, None), [(3, LS, u64::MAX)], "no sample at all");
        time.count(3, 7);
        assert_eq!(time.take(0, PERIOD, End::OfAll, |_| SH, None), [], "of nobody that is known");
        time.count(3, 7);
        assert_eq!(
            time.take(0, PERIOD, End::OfAll, |_| SH, Some(LS)),
            [(3, LS, 7)],
            "of a program before its first sample"
        );
    }
}
