//! The candidates of a report: the weights that are tested, and those that are one test.

use std::collections::HashMap;

use super::{Judge, RunValues};
use crate::diff::normalize::Normalize;
use crate::diff::sampling::Sampling;
use crate::significance::Count;
use crate::significance::blocks::Moments;
use crate::significance::moderated::RunShares;
use crate::weight::Weight;

/// The least number of samples a run inside a function, and outside of it, that tell something about the
/// spread between runs.
const INFORMATIVE: f64 = 5.0;
/// Self and total weight are one test if their shares differ in no run by more than this part of the least
/// effect.
const ALIKE: f64 = 0.1;

/// The two weights of a row.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Kind {
    Own,
    Total,
}

/// A weight that is tested.
pub(super) struct Candidate {
    pub(super) row: usize,
    pub(super) kind: Kind,
    pub(super) shares: RunShares,
    /// The weights of the runs, as parts of the mean weight of a run; `None` where sides are scaled.
    pub(super) weights: Option<RunShares>,
    /// The samples of all runs of a side together.
    pub(super) counts: (Count, Count),
    /// Weights that are all but equal are one test: its number.
    pub(super) group: usize,
}

impl Judge<'_> {
    /// A weight to be tested: `None` if it has too few samples, or cannot have changed enough to matter.
    pub(super) fn candidate(
        &self,
        row: usize,
        kind: Kind,
        values: &[Weight],
        spread: &[[Moments; 2]],
    ) -> Option<Candidate> {
        let sides = self.split(values);
        let counts = |values: &[Weight], sums: &[Weight], sampling: Sampling| -> Vec<Count> {
            let period = sampling.period.to_f64();
            let samples = |weight: &Weight| (weight.to_f64() / period).max(0.0);
            values.iter().zip(sums).map(|(x, n)| Count { hits: samples(x), of: samples(n) }).collect()
        };
        let before = counts(sides.before, self.sums.before, self.sampling.0);
        let after = counts(sides.after, self.sums.after, self.sampling.1);
        let (all_before, all_after) = (sum(&before), sum(&after));
        let is_rare = all_before.hits.max(all_after.hits) < self.options.min_samples.max(1.0);
        // A change is at most as large as both shares together.
        let reach = 100.0 * (all_before.share() + all_after.share());
        if is_rare || reach < self.options.min_effect {
            return None;
        }
        let pooled = sum(&[all_before, all_after]).share().clamp(0.0, 1.0);
        let expected = |counts: &[Count], first: usize| -> Vec<f64> {
            let of_run = |(n, count): (usize, &Count)| {
                let whole = &self.blocks[first + n];
                if whole.is_known() {
                    let moments =
                        spread.get(first + n).map_or(Moments::default(), |both| both[kind as usize]);
                    return moments.variance(values[first + n].to_f64(), whole);
                }
                if count.of > 0.0 { pooled * (1.0 - pooled) / count.of } else { 0.0 }
            };
            counts.iter().enumerate().map(of_run).collect()
        };
        let shares = |counts: &[Count]| counts.iter().map(|count| count.share()).collect::<Vec<_>>();
        let runs = (before.len() + after.len()) as f64;
        let samples = (all_before.of + all_after.of) / runs;
        let shares = RunShares {
            before: shares(&before),
            after: shares(&after),
            expected_before: expected(&before, 0),
            expected_after: expected(&after, before.len()),
            is_informative: samples * pooled.min(1.0 - pooled) >= INFORMATIVE,
            is_paired: false,
        };
        let is_heavy = samples * pooled >= INFORMATIVE;
        let weights =
            (self.options.normalize == Normalize::No).then(|| self.weights(sides, &shares, is_heavy));
        Some(Candidate { row, kind, shares, weights, counts: (all_before, all_after), group: 0 })
    }

    /// The weights of runs as parts of the mean weight of a run, or of a pair of runs.
    fn weights(&self, sides: RunValues<'_>, shares: &RunShares, is_informative: bool) -> RunShares {
        let totals = |values: &[Weight]| values.iter().map(|weight| weight.to_f64()).collect::<Vec<_>>();
        let (before, after) = (totals(self.sums.before), totals(self.sums.after));
        let is_paired = self.is_paired();
        let all =
            (before.iter().sum::<f64>() + after.iter().sum::<f64>()) / (before.len() + after.len()) as f64;
        let unit = |run: usize| if is_paired { f64::midpoint(before[run], after[run]) } else { all };
        let of = |values: &[Weight]| -> Vec<f64> {
            values.iter().enumerate().map(|(run, weight)| weight.to_f64() / unit(run)).collect()
        };
        // The share's variance, and that of a sample: a whole of samples is not known better.
        let expected = |expected: &[f64], totals: &[f64], sampling: Sampling| -> Vec<f64> {
            let sample = |run: usize| sampling.period.to_f64() / unit(run);
            let of_run = |(run, (expected, total)): (usize, (&f64, &f64))| {
                expected * (total / unit(run)).powi(2) + sample(run).powi(2)
            };
            expected.iter().zip(totals).enumerate().map(of_run).collect()
        };
        RunShares {
            before: of(sides.before),
            after: of(sides.after),
            expected_before: expected(&shares.expected_before, &before, self.sampling.0),
            expected_after: expected(&shares.expected_after, &after, self.sampling.1),
            is_informative,
            is_paired,
        }
    }

    /// Puts weights that are all but equal into one test each; returns the number of tests. A function
    /// that calls nothing has one weight, and so has a chain of calls.
    pub(super) fn group(&self, candidates: &mut [Candidate]) -> usize {
        let alike = ALIKE * self.options.min_effect / 100.0;
        let mut known: HashMap<Vec<u64>, usize> = HashMap::new();
        let mut groups = 0;
        for n in 0..candidates.len() {
            let (earlier, rest) = candidates.split_at_mut(n);
            let Some(candidate) = rest.first_mut() else { break };
            let shares = || candidate.shares.before.iter().chain(&candidate.shares.after);
            let own = earlier.last().filter(|own| own.row == candidate.row);
            let is_like = |own: &&Candidate| {
                let of_own = own.shares.before.iter().chain(&own.shares.after);
                shares().zip(of_own).all(|(a, b)| (a - b).abs() <= alike)
            };
            let key: Vec<u64> = shares().map(|share| share.to_bits()).collect();
            candidate.group = match own.filter(is_like) {
                Some(own) => own.group,
                None => known.get(&key).copied().unwrap_or(groups),
            };
            known.entry(key).or_insert(candidate.group);
            groups = groups.max(candidate.group + 1);
        }
        groups
    }
}

/// The first candidate of each test, in the order of the tests.
pub(super) fn firsts(candidates: &[Candidate], groups: usize) -> impl Iterator<Item = &Candidate> {
    let mut next = 0;
    candidates.iter().filter(move |candidate| {
        let is_first = candidate.group == next && next < groups;
        next += usize::from(is_first);
        is_first
    })
}

fn sum(counts: &[Count]) -> Count {
    let add = |sum: Count, one: &Count| Count { hits: sum.hits + one.hits, of: sum.of + one.of };
    counts.iter().fold(Count::default(), add)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diff::ReportOptions;

    #[test]
    fn weights_that_differ_by_less_than_a_tenth_of_the_least_effect_are_one_test() {
        let options = ReportOptions { min_samples: 1.0, min_effect: 2.0, ..ReportOptions::default() };
        let judge = Judge::made(&options);
        let groups = |weights: &[(i128, i128)]| {
            let mut candidates = Vec::new();
            for (row, &(own, total)) in weights.iter().enumerate() {
                for (kind, weight) in [(Kind::Own, own), (Kind::Total, total)] {
                    candidates.extend(judge.candidate(row, kind, &[Weight::new(weight); 6], &[]));
                }
            }
            let count = judge.group(&mut candidates);
            (count, candidates.iter().map(|candidate| candidate.group).collect::<Vec<_>>())
        };
        assert_eq!(groups(&[(100, 101)]), (1, vec![0, 0]));
        assert_eq!(groups(&[(100, 103)]), (2, vec![0, 1]));
        // Those of other rows only if they are equal.
        assert_eq!(groups(&[(100, 300), (300, 300), (301, 301)]), (3, vec![0, 1, 1, 1, 2, 2]));
    }

    #[test]
    fn functions_tell_of_the_spread_with_five_samples_a_run_in_and_outside_of_them() {
        let options = ReportOptions { min_samples: 1.0, min_effect: 0.01, ..ReportOptions::default() };
        let judge = Judge::made(&options);
        for (samples, is_informative) in [
            (1, false),
            (4, false),
            (5, true),
            (6, true),
            (500, true),
            (994, true),
            (995, true),
            (996, false),
            (1000, false),
        ] {
            let candidate = judge.candidate(0, Kind::Own, &[Weight::new(samples); 6], &[]).unwrap();
            assert_eq!(candidate.shares.is_informative, is_informative, "{samples} of 1000");
        }
    }
}
