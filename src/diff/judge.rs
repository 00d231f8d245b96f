//! Tests every change of a report, all of them together, and says which are significant.
//!
//! `docs/significance.md` has the method in words, and how often it is wrong.

mod candidates;
mod family;

use super::change::{Change, Row};
use super::detectable::{Detectable, Sight};
use super::interrupts;
use super::normalize::{Normalize, Ratio, decimals_for};
use super::options::{Interrupts, ReportOptions};
use super::run_spread::RunSpread;
use super::run_weights::{NamedWeights, RunWeights};
use super::sampling::{Sampling, Spread};
use super::survey::Survey;
use super::whole;
use crate::error::Result;
use crate::folded::NOT_SAMPLED;
use crate::significance::blocks::{BatchVariance, Moments, Whole, compare_in_blocks};
use crate::significance::moderated::{self, RunShares, mean, squares};
use crate::significance::permutation::divide_anew;
use crate::significance::{Limits, Permutation, Test, by_t, compare_shares};
use crate::tally::Cell;
use crate::weight::Weight;
use candidates::{Candidate, Kind, firsts};
use family::Family;

/// The least number of pairs of runs that are compared as pairs.
const PAIRS: usize = 4;
/// The share that the test of a weight gets attention for at most.
const MOST_ATTENTION: f64 = 0.9;

/// The values of all runs, by side.
#[derive(Clone, Copy)]
struct RunValues<'v> {
    before: &'v [Weight],
    after: &'v [Weight],
}

impl<'v> RunValues<'v> {
    fn split(values: &'v [Weight], before: usize) -> RunValues<'v> {
        let (before, after) = values.split_at(before);
        RunValues { before, after }
    }
}

/// The tests of a weight: of its share, and of itself, as a part of the mean weight of a run. There is none of the
/// weight itself where sides are scaled.
#[derive(Clone, Copy, Debug)]
struct Tests {
    share: Test,
    weight: Option<Test>,
    /// The p of the share by its samples alone, where a prior took the place of what runs would tell.
    sampled: f64,
}

/// Rows whose changes were tested.
pub(super) struct Judged {
    pub rows: Vec<Row>,
    /// The number of tests.
    pub tests: usize,
    /// The check by permutation, with enough runs.
    pub permutation: Option<Permutation>,
}

/// Tests changes.
pub(super) struct Judge<'j> {
    options: &'j ReportOptions,
    pub(super) sampling: (Sampling, Sampling),
    ratios: (Ratio, Ratio),
    decimals: u8,
    sums: RunValues<'j>,
    blocks: &'j [Whole],
    /// The spread between runs, for a side that has one run and does not tell it.
    pub(super) prior: RunSpread,
    /// The test of the whole; `None` where sides are scaled, or weigh nothing.
    whole: Option<Test>,
    /// The spread of shares and of weights between runs, once it is learnt.
    spreads: Option<(moderated::Spread, moderated::Spread)>,
}

impl<'j> Judge<'j> {
    /// A judge of runs with these weights, those before first.
    pub(super) fn new(
        weights: &'j RunWeights,
        (before, after): (&[Survey], &[Survey]),
        references: (Weight, Weight),
        options: &'j ReportOptions,
    ) -> Result<Judge<'j>> {
        let sampling = (Sampling::of(before, options)?, Sampling::of(after, options)?);
        let ratios = options.normalize.mean_ratios(references, (before.len(), after.len()))?;
        let sums = RunValues::split(weights.sums(), before.len());
        let mut decimals = 0;
        for (sum, ratio) in [(sums.before, ratios.0), (sums.after, ratios.1)] {
            let total = sum.iter().try_fold(Weight::ZERO, |all, &one| all.checked_add(one))?;
            if !ratio.is_one() {
                decimals = decimals.max(decimals_for(ratio.apply(total, 3)?)).max(total.decimals());
            }
        }
        let prior = RunSpread::of(before.iter().chain(after).map(|survey| &survey.facts));
        let blocks = weights.blocks();
        let mut judge =
            Judge { options, sampling, ratios, decimals, sums, blocks, prior, whole: None, spreads: None };
        judge.whole = judge.test_whole();
        Ok(judge)
    }

    /// The change of the whole, tested.
    pub(super) fn whole(&self) -> Result<Change> {
        let mut whole = self.measured(self.sums)?;
        whole.weight = self.whole;
        whole.p = whole.weight.map(|test| test.p);
        let limits = self.limits();
        whole.detectable = whole.weight.and_then(|test| Detectable::of_whole(&test, limits));
        let large = whole.percent().is_none_or(|percent| percent.abs() >= limits.min_effect);
        whole.significant = large && whole.p.is_some_and(|p| p < limits.alpha);
        Ok(whole)
    }

    /// The rows of names with these weights, all tested together.
    pub(super) fn rows(&mut self, names: Vec<NamedWeights<'_>>, whole: Weight) -> Result<Judged> {
        let mut rows = Vec::with_capacity(names.len());
        let mut candidates = Vec::new();
        for (row, weights) in names.into_iter().enumerate() {
            let of = |part: fn(&Cell) -> Weight| -> Vec<Weight> { weights.cells.iter().map(part).collect() };
            let (own, total) = (of(|cell| cell.own), of(|cell| cell.total));
            let is_machine =
                self.options.interrupts == Interrupts::Together && weights.name == interrupts::NAME;
            if !is_machine && weights.name != NOT_SAMPLED {
                for (kind, values) in [(Kind::Own, &own), (Kind::Total, &total)] {
                    candidates.extend(self.candidate(row, kind, values, weights.spread));
                }
            }
            let (own, total) = (self.measured(self.split(&own))?, self.measured(self.split(&total))?);
            rows.push(Row { name: weights.name.to_vec(), own, total, net: None });
        }
        let groups = self.group(&mut candidates);
        self.learn(&candidates, groups);
        let tests: Vec<Tests> = candidates.iter().map(|candidate| self.test(candidate)).collect();
        self.weigh_samples(&candidates, groups);
        let count = self.decide(&mut rows, &candidates, &tests, groups, whole)?;
        let permutation = if self.has_runs() && !self.is_paired() {
            let shares = firsts(&candidates, groups).map(|candidate| &candidate.shares).collect();
            let weights = firsts(&candidates, groups).filter_map(|it| it.weights.as_ref()).collect();
            divide_anew(&[shares, weights])
        } else {
            None
        };
        Ok(Judged { rows, tests: count, permutation })
    }

    fn limits(&self) -> Limits {
        Limits { alpha: self.options.alpha, min_effect: self.options.min_effect }
    }

    fn split<'v>(&self, values: &'v [Weight]) -> RunValues<'v> {
        RunValues::split(values, self.sums.before.len())
    }

    fn has_runs(&self) -> bool {
        self.sums.before.len() + self.sums.after.len() > 2
    }

    /// Returns true if weights are compared pair by pair. Three pairs tell less than six runs.
    fn is_paired(&self) -> bool {
        let (before, after) = (self.sums.before.len(), self.sums.after.len());
        self.options.paired && before == after && before >= PAIRS
    }

    fn measured(&self, sides: RunValues<'_>) -> Result<Change> {
        let add = |values: &[Weight]| values.iter().try_fold(Weight::ZERO, |sum, &one| sum.checked_add(one));
        let (before, after) = (add(sides.before)?, add(sides.after)?);
        Ok(Change {
            before: self.ratios.0.apply(before, self.decimals)?,
            after: self.ratios.1.apply(after, self.decimals)?,
            share_before: share(before, add(self.sums.before)?),
            share_after: share(after, add(self.sums.after)?),
            variation: (variation(sides.before), variation(sides.after)),
            ..Change::default()
        })
    }

    fn learn(&mut self, candidates: &[Candidate], groups: usize) {
        self.spreads = self.has_runs().then(|| {
            let shares = firsts(candidates, groups).map(|candidate| &candidate.shares);
            let weights = firsts(candidates, groups).filter_map(|candidate| candidate.weights.as_ref());
            let learn = |rows: Vec<&RunShares>| moderated::Spread::learn(&rows);
            (learn(shares.collect()), learn(weights.collect()))
        });
    }

    fn test(&self, candidate: &Candidate) -> Tests {
        let alpha = self.options.alpha;
        match &self.spreads {
            Some((of_shares, of_weights)) => Tests {
                share: of_shares.test(&candidate.shares, alpha),
                weight: candidate.weights.as_ref().map(|weights| of_weights.test(weights, alpha)),
                sampled: 1.0,
            },
            None => {
                let sampled = self.test_sampled(candidate);
                let share = self.test_share(candidate, &sampled);
                let weight = self.test_lone_weight(candidate, &share);
                Tests { share, weight, sampled: sampled.p }
            }
        }
    }

    /// The change of a function's own weight with that of what it calls on one side only: it is more only if that is.
    pub(super) fn net(
        &self,
        own: &Change,
        values: &[Weight],
        spread: &[[Moments; 2]],
        whole: Weight,
    ) -> Result<Change> {
        let mut change = self.measured(self.split(values))?;
        let Some(candidate) = self.candidate(0, Kind::Own, values, spread) else { return Ok(change) };
        let tests = self.test(&candidate);
        let of_weight = tests.weight.map_or(1.0, |test| test.p.max(self.least_of_weight()));
        let p = if self.has_runs() { of_weight } else { of_weight.min(tests.share.p) };
        change.p = Some(p);
        change.significant =
            own.significant && p < self.options.alpha && self.is_large_in_weight(&change, whole)?;
        change.suspected =
            own.suspected && tests.sampled < self.options.alpha && self.is_large_in_weight(&change, whole)?;
        Ok(change)
    }

    /// Tests a share of one recording a side. Runs differ as the prior says, parts of one run do not.
    fn test_share(&self, candidate: &Candidate, sampled: &Test) -> Test {
        if self.options.one_run {
            return *sampled;
        }
        let shares = (candidate.counts.0.share(), candidate.counts.1.share());
        self.prior.test_share(sampled, shares, self.options.alpha)
    }

    /// Tests a share of one recording a side by its samples.
    fn test_sampled(&self, candidate: &Candidate) -> Test {
        let alpha = self.options.alpha;
        if !self.blocks.iter().any(Whole::is_known) {
            return compare_shares(candidate.counts.0, candidate.counts.1, alpha);
        }
        let variance = |expected: &[f64], whole: &Whole| BatchVariance {
            variance: expected.iter().sum(),
            freedom: if whole.is_known() { whole.blocks as f64 - 1.0 } else { f64::INFINITY },
        };
        let before = variance(&candidate.shares.expected_before, &self.blocks[0]);
        let after = variance(&candidate.shares.expected_after, &self.blocks[1]);
        compare_in_blocks(candidate.counts, (before, after), alpha)
    }

    /// Tests a weight of one recording a side: its share of a whole of which runs differ as the prior says.
    fn test_lone_weight(&self, candidate: &Candidate, share: &Test) -> Option<Test> {
        let weights = candidate.weights.as_ref()?;
        let (before, after) = (weights.before[0], weights.after[0]);
        let mean = candidate.shares.mean();
        if before <= 0.0 || after <= 0.0 || mean <= 0.0 {
            return None;
        }
        let prior = self.prior.variance();
        let of_share = (share.deviation / mean).powi(2);
        let of_whole = 2.0 * prior;
        let freedom = moderated::sum_freedom((of_share, share.freedom), (of_whole, self.prior.freedom));
        let difference = after - before;
        let deviation = f64::midpoint(before, after) * (of_share + of_whole).sqrt();
        Some(by_t(difference, deviation, freedom, self.options.alpha))
    }

    /// The least p of a weight of one recording a side. A function that moves along with the whole says nothing of its
    /// own: it is no surer than that, which is one test for all of them.
    fn least_of_weight(&self) -> f64 {
        if self.has_runs() { 0.0 } else { self.whole.map_or(1.0, |whole| whole.p) }
    }

    /// Finds out how many independent samples the samples of each side are worth.
    fn weigh_samples(&mut self, candidates: &[Candidate], groups: usize) {
        let spread = self.spreads.as_ref();
        let (mut used, mut binomial) = ([0.0; 2], [0.0; 2]);
        for candidate in firsts(candidates, groups).filter(|candidate| candidate.kind == Kind::Own) {
            let RunShares { before, after, expected_before, expected_after, .. } = &candidate.shares;
            let sides =
                [(before, expected_before, self.sums.before), (after, expected_after, self.sums.after)];
            let factor = spread.map_or(1.0, |spread| spread.0.factor(&candidate.shares));
            let periods = [self.sampling.0.period, self.sampling.1.period];
            for (side, (shares, expected, sums)) in sides.into_iter().enumerate() {
                for ((share, expected), sum) in shares.iter().zip(expected).zip(sums) {
                    let alone = share * (1.0 - share) * periods[side].to_f64() / sum.to_f64();
                    if alone.is_finite() && alone > 0.0 {
                        binomial[side] += alone;
                        used[side] += alone.max(factor * expected);
                    }
                }
            }
        }
        let first = self.sums.before.len();
        let known = [&self.blocks[..first], &self.blocks[first..]]
            .map(|blocks| !blocks.is_empty() && blocks.iter().all(Whole::is_known));
        for (side, sampling) in [&mut self.sampling.0, &mut self.sampling.1].into_iter().enumerate() {
            sampling.spread = match (spread.is_some(), known[side]) {
                (true, _) => Spread::Runs,
                (_, true) => Spread::Blocks,
                _ => Spread::Assumed,
            };
            if used[side] > 0.0 {
                sampling.worth = sampling.samples * binomial[side] / used[side];
            }
        }
    }

    /// Adjusts all tests together and says what counts; returns their number.
    fn decide(
        &self,
        rows: &mut [Row],
        candidates: &[Candidate],
        tests: &[Tests],
        groups: usize,
        whole: Weight,
    ) -> Result<usize> {
        let limits = self.limits();
        // The shares and the weights of all groups. Of one run a side weights count only if the whole changed, and are
        // asked by themselves then.
        let mut families = [Family::default(), Family::default()];
        let of_weights = usize::from(!self.has_runs());
        let mut place = vec![(usize::MAX, None); groups];
        for (candidate, test) in candidates.iter().zip(tests) {
            if place[candidate.group].0 != usize::MAX {
                continue;
            }
            let share = candidate.shares.mean().clamp(0.0, 1.0);
            // The share of all has no spread, and its weight counts all the same.
            let of_weight =
                test.weight.map(|test| families[of_weights].add(test.p, share.min(MOST_ATTENTION)));
            place[candidate.group] = (families[0].add(test.share.p, share), of_weight);
        }
        families.iter_mut().for_each(|family| family.adjust(limits.alpha));
        let [of_shares, of_weights] = [&families[0], &families[of_weights]];
        let least_of_weight = self.least_of_weight();
        for (candidate, tests) in candidates.iter().zip(tests) {
            let (of_share, of_weight) = place[candidate.group];
            let row = &mut rows[candidate.row];
            let change = match candidate.kind {
                Kind::Own => &mut row.own,
                Kind::Total => &mut row.total,
            };
            let level = of_shares.level(of_share, limits.alpha);
            let share = scaled(&tests.share, 100.0, level, of_shares.adjusted[of_share]);
            let before = candidate.weights.as_ref().map_or(0.0, |weights| mean(&weights.before));
            let weight = tests.weight.zip(of_weight).map(|(test, at)| {
                scaled(
                    &test,
                    if before > 0.0 { 100.0 / before } else { f64::INFINITY },
                    of_weights.level(at, limits.alpha),
                    of_weights.adjusted[at].max(least_of_weight),
                )
            });
            // Of the shares that moved, each weight is asked as well: shares move when others do.
            let direction = match tests.weight.filter(|_| self.has_runs()) {
                Some(test) => (of_shares.selected * test.p_towards(change.points())).min(1.0),
                None => 0.0,
            };
            let by_share = share.p.max(direction);
            let is_large = self.is_large(change, whole)?;
            let is_heavier = self.is_large_in_weight(change, whole)?;
            change.share_significant = limits.are_passed(by_share, change.points()) && is_large;
            let by_weight = weight.map_or(1.0, |test| test.p);
            change.significant = change.share_significant || (by_weight < limits.alpha && is_heavier);
            let by_samples = limits.are_passed(tests.sampled, change.points()) && is_large;
            change.suspected =
                by_samples && tests.sampled < of_shares.alone(of_share, limits.alpha) && !change.significant;
            let p = by_share.min(by_weight);
            // What may not count is not sure of anything that does.
            change.p = Some(if is_large || by_weight <= by_share { p } else { by_weight.max(p) });
            let sight = Sight {
                share: (tests.share, of_shares.alone(of_share, limits.alpha)),
                weight: tests
                    .weight
                    .zip(of_weight)
                    .map(|(test, at)| (test, of_weights.alone(at, limits.alpha))),
                asks_direction: self.has_runs(),
                before: change.share_before,
            };
            change.detectable = Detectable::of(&sight, limits);
            change.share = Some(share);
            change.weight = weight;
        }
        Ok(families.iter().map(|family| family.adjusted.len()).sum())
    }

    /// Returns true if the weight moved by the least effect, as a part of the whole.
    fn is_large_in_weight(&self, change: &Change, whole: Weight) -> Result<bool> {
        let of_whole = 100.0 * change.difference()?.to_f64() / whole.to_f64();
        Ok(whole > Weight::ZERO && of_whole.abs() >= self.options.min_effect)
    }

    /// A change of a share has to be as large in weight, in the same direction: when one function
    /// grows, the shares of all others shrink, and nothing happened to them.
    fn is_large(&self, change: &Change, whole: Weight) -> Result<bool> {
        let points = change.points();
        if points == 0.0 {
            return Ok(false);
        }
        if whole <= Weight::ZERO {
            return Ok(true);
        }
        let is_growth = change.difference()? > Weight::ZERO;
        Ok(self.is_large_in_weight(change, whole)? && is_growth == (points > 0.0))
    }

    /// Tests the change of the whole. One recording a side does not tell how much the same program
    /// differs from run to run: the prior does.
    fn test_whole(&self) -> Option<Test> {
        let RunValues { before, after } = self.sums;
        if self.options.normalize != Normalize::No {
            return None;
        }
        let weights = |values: &[Weight]| values.iter().map(|weight| weight.to_f64()).collect::<Vec<_>>();
        let (before, after) = (weights(before), weights(after));
        let before = whole::Runs { weights: &before, samples: self.sampling.0.samples };
        let after = whole::Runs { weights: &after, samples: self.sampling.1.samples };
        let alpha = self.options.alpha;
        match self.is_paired() {
            true => whole::test_pairs(before, after, alpha),
            false => whole::test(before, after, &self.prior, alpha),
        }
    }
}

/// A test in another unit, its interval with this confidence, its p adjusted.
fn scaled(test: &Test, factor: f64, alpha: f64, adjusted: f64) -> Test {
    let (low, high) = test.interval_at(alpha);
    Test { p: adjusted, interval: (factor * low, factor * high), deviation: factor * test.deviation, ..*test }
}

/// Half of the 95% interval of the mean, in percent of it; `None` of fewer than two runs.
fn variation(runs: &[Weight]) -> Option<f64> {
    let values: Vec<f64> = runs.iter().map(|weight| weight.to_f64()).collect();
    let (count, middle) = (values.len() as f64, mean(&values));
    let known = values.len() >= 2 && middle > 0.0;
    let deviation = (squares(&values) / (count - 1.0) / count).sqrt();
    known.then(|| 100.0 * by_t(0.0, deviation, count - 1.0, 0.05).interval.1 / middle)
}

fn share(part: Weight, whole: Weight) -> f64 {
    let whole = whole.to_f64();
    if whole == 0.0 { 0.0 } else { part.to_f64() / whole }
}

#[cfg(test)]
impl<'j> Judge<'j> {
    /// A judge of three runs a side, of 1000 samples each.
    fn made(options: &'j ReportOptions) -> Judge<'j> {
        const SUMS: &[Weight] = &[Weight::new(1000); 6];
        const BLOCKS: &[Whole] = &[Whole { blocks: 0, weight: 0.0, squares: 0.0 }; 6];
        let sampling = Sampling {
            runs: 3,
            total: Weight::new(3000),
            samples: 3000.0,
            period: Weight::ONE,
            period_known: true,
            worth: 3000.0,
            spread: Spread::Runs,
        };
        Judge {
            options,
            sampling: (sampling, sampling),
            ratios: (Ratio::ONE, Ratio::ONE),
            decimals: 0,
            sums: RunValues::split(SUMS, 3),
            blocks: BLOCKS,
            prior: RunSpread::of([]),
            whole: None,
            spreads: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Profile;
    use crate::diff::{Diff, Interrupts, ReportOptions};

    #[test]
    fn samples_of_runs_that_differ_are_worth_less() {
        let side = |noise: u32| {
            [0, 1, 2, 3, 4].map(|n| {
                let lines =
                    [format!("main;a {}", 2000 + noise * (n * 7 % 5)), format!("main;b {}", 5000 + n)];
                Profile::from_lines(lines).unwrap()
            })
        };
        let (still, wild) = (side(1), side(400));
        let options = ReportOptions::default().period(Weight::ONE);
        let report = Diff::of_runs(&still.each_ref(), &wild.each_ref()).report_with(&options).unwrap();
        let (before, after) = report.sampling;
        assert_eq!((before.spread, after.spread), (Spread::Runs, Spread::Runs));
        assert!(after.worth < 0.1 * after.samples, "{after:?}");
    }

    #[test]
    fn functions_that_a_side_does_not_have_take_no_worth_from_its_samples() {
        let profile = |lines: &[&str]| Profile::from_lines(lines).unwrap();
        let (before, after) = (profile(&["b 500", "c 500"]), profile(&["a 300", "b 400", "c 300"]));
        let options = ReportOptions::default().period(Weight::ONE);
        let worth = Diff::new(&before, &after).report_with(&options).unwrap().sampling.0.worth;
        assert!((worth - 1000.0).abs() < 1e-6, "{worth}");
    }

    #[test]
    fn the_spread_of_the_whole_is_assumed_unless_both_sides_have_several_runs() {
        let options = ReportOptions::default().period(Weight::ONE);
        let tested = |before: u32, after: u32| {
            let runs =
                |count: u32| (0..count).map(|n| Profile::from_lines([format!("a {}", 5000 + n)]).unwrap());
            let (before, after): (Vec<_>, Vec<_>) = (runs(before).collect(), runs(after).collect());
            let (before, after): (Vec<_>, Vec<_>) = (before.iter().collect(), after.iter().collect());
            let report = Diff::of_runs(&before, &after).report_with(&options).unwrap();
            let unsure = report.gate("profile>0.001%").unwrap().not_judged().concat();
            (report.profile.weight.unwrap().deviation, report.sight(), unsure)
        };
        for (before, after, lone) in
            [(1, 1, "one run each"), (1, 3, "one run before, 3 after"), (3, 1, "3 runs before, one after")]
        {
            let (deviation, sight, unsure) = tested(before, after);
            assert!((1.0..12.0).contains(&deviation), "{before} and {after} runs: {deviation}");
            assert!(sight.contains(&format!("% of the whole by {lone}")), "{sight}");
            assert!(
                unsure.contains(&format!("not judged at 0.001%: {lone}. Whole +0.0% (plausible -")),
                "{unsure}"
            );
            assert!(unsure.ends_with("record 5 runs to decide"), "{unsure}");
        }
        for (before, after) in [(2, 2), (2, 3)] {
            let (deviation, sight, unsure) = tested(before, after);
            assert!(deviation < 0.1 && sight.contains("% of the whole"), "{sight}");
            assert!(unsure.contains("not judged at 0.001%: 2 and"), "{unsure}");
        }
    }

    #[test]
    fn interrupts_are_one_row_unless_asked_otherwise() {
        let profile = Profile::from_bytes("main;a 5\nmain;a;asm_sysvec_call_[k];b 3\n").unwrap();
        let names = |interrupts: Interrupts| {
            let options = ReportOptions::default().interrupts(interrupts);
            let report = Diff::new(&profile, &profile).report_with(&options).unwrap();
            let mut names: Vec<_> =
                report.rows.iter().map(|row| String::from_utf8_lossy(&row.name).into_owned()).collect();
            names.sort();
            names
        };
        assert_eq!(names(Interrupts::Together), ["[interrupts]", "a", "main"]);
        assert_eq!(names(Interrupts::Apart), ["a", "asm_sysvec_call_[k]", "b", "main"]);
    }

    #[test]
    fn a_share_counts_that_moved_as_much_in_weight_and_in_the_same_direction() {
        let options = ReportOptions { min_effect: 0.5, ..ReportOptions::default() };
        let judge = Judge::made(&options);
        let is_large = |(before, after): (i128, i128), points: f64, whole: i128| {
            let change = Change {
                before: Weight::new(before),
                after: Weight::new(after),
                share_before: 0.5,
                share_after: 0.5 + points / 100.0,
                ..Change::default()
            };
            judge.is_large(&change, Weight::new(whole)).unwrap()
        };
        assert!(is_large((500, 505), 1.0, 1000) && is_large((505, 500), -1.0, 1000));
        assert!(!is_large((500, 504), 1.0, 1000) && !is_large((504, 500), -1.0, 1000));
        assert!(!is_large((500, 600), -1.0, 1000) && !is_large((600, 500), 1.0, 1000));
        assert!(!is_large((500, 600), 0.0, 1000) && !is_large((500, 500), 1.0, 1000));
        // Nothing is a part of a whole that is no more than nothing: the share decides.
        assert!([0, -1000].iter().all(|&whole| is_large((500, 500), 1.0, whole)));
    }

    #[test]
    fn samples_of_phases_are_worth_as_many_as_there_are_blocks() {
        use crate::profile::{Context, ProfileBuilder, Wants};

        // Twenty phases of forty samples: as long as the blocks, whatever a sample weighs.
        for period in [Weight::ONE, Weight::new(1000)] {
            let mut builder = ProfileBuilder::new(Wants::ALL);
            for time in 0..800 {
                let name = if time / 40 % 2 == 0 { "a" } else { "b" };
                let context = Context { time: Some(time), ..Context::UNKNOWN };
                builder.add_at(["main", name], period, &context).unwrap();
            }
            let profile = builder.finish().unwrap();
            let options = ReportOptions::default().period(period);
            let report = Diff::new(&profile, &profile).report_with(&options).unwrap();
            let (before, after) = report.sampling;
            assert_eq!((before.spread, before.samples), (Spread::Blocks, 800.0));
            assert!((before.worth - 19.0).abs() < 0.5 && before.worth == after.worth, "{before:?}");
        }
    }
}
