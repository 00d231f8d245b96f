//! Tests every change of a report, all of them together, and says which are significant.

use super::detectable::Detectable;
use super::normalize::{Normalize, Ratio, decimals_for};
use super::options::ReportOptions;
use super::report::{Change, Row, Sampling, Spread};
use super::survey::Survey;
use super::whole;
use crate::error::Result;
use crate::significance::{Count, Limits, SampleWeight, Test, adjust, compare_runs, compare_shares};
use crate::weight::Weight;

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

/// Tests changes.
pub(super) struct Judge<'j> {
    options: &'j ReportOptions,
    pub(super) sampling: (Sampling, Sampling),
    ratios: (Ratio, Ratio),
    decimals: u8,
    sums: RunValues<'j>,
}

impl<'j> Judge<'j> {
    /// A judge of runs with these sums, of which the first are before.
    pub(super) fn new(
        sums: &'j [Weight],
        (before, after): (&[Survey], &[Survey]),
        references: (Weight, Weight),
        options: &'j ReportOptions,
    ) -> Result<Judge<'j>> {
        let sampling = (sampling(before, options)?, sampling(after, options)?);
        let ratios = mean_ratios(options.normalize, references, (before.len(), after.len()))?;
        let sums = RunValues::split(sums, before.len());
        let mut decimals = 0;
        for (sum, ratio) in [(sums.before, ratios.0), (sums.after, ratios.1)] {
            let total = sum.iter().try_fold(Weight::ZERO, |all, &one| all.checked_add(one))?;
            if !ratio.is_one() {
                decimals = decimals.max(decimals_for(ratio.apply(total, 3)?)).max(total.decimals());
            }
        }
        Ok(Judge { options, sampling, ratios, decimals, sums })
    }

    /// The change of the whole, not tested yet.
    pub(super) fn whole(&self) -> Result<Change> {
        self.measured(self.sums)
    }

    /// The weights of a change, tested.
    pub(super) fn change(&self, values: &[Weight]) -> Result<Change> {
        let sides = RunValues::split(values, self.sums.before.len());
        let mut change = self.measured(sides)?;
        change.test = self.test(sides)?;
        Ok(change)
    }

    fn measured(&self, sides: RunValues<'_>) -> Result<Change> {
        let add = |values: &[Weight]| values.iter().try_fold(Weight::ZERO, |sum, &one| sum.checked_add(one));
        let (before, after) = (add(sides.before)?, add(sides.after)?);
        Ok(Change {
            before: self.ratios.0.apply(before, self.decimals)?,
            after: self.ratios.1.apply(after, self.decimals)?,
            share_before: share(before, add(self.sums.before)?),
            share_after: share(after, add(self.sums.after)?),
            test: None,
            significant: false,
            detectable: None,
        })
    }

    fn test(&self, sides: RunValues<'_>) -> Result<Option<Test>> {
        let counts = |values: &[Weight], sums: &[Weight], sampling: Sampling| -> Vec<Count> {
            let period = sampling.period.to_f64();
            let samples = |weight: &Weight| (weight.to_f64() / period).max(0.0);
            values.iter().zip(sums).map(|(x, n)| Count { hits: samples(x), of: samples(n) }).collect()
        };
        let before = counts(sides.before, self.sums.before, self.sampling.0);
        let after = counts(sides.after, self.sums.after, self.sampling.1);
        let all = |counts: &[Count]| {
            counts
                .iter()
                .fold(Count::default(), |sum, one| Count { hits: sum.hits + one.hits, of: sum.of + one.of })
        };
        let (all_before, all_after) = (all(&before), all(&after));
        if all_before.hits.max(all_after.hits) < self.options.min_samples.max(1.0) {
            return Ok(None);
        }
        let alpha = self.options.alpha;
        if before.len() < 2 || after.len() < 2 {
            return Ok(Some(compare_shares(all_before, all_after, alpha)));
        }
        let pooled =
            Count { hits: all_before.hits + all_after.hits, of: all_before.of + all_after.of }.share();
        let pooled = pooled.clamp(0.0, 1.0);
        let floor = |counts: &[Count]| {
            let mean = counts.iter().map(|count| count.of).sum::<f64>() / counts.len() as f64;
            if mean > 0.0 { pooled * (1.0 - pooled) / mean } else { 0.0 }
        };
        let shares = |counts: &[Count]| counts.iter().map(|count| count.share()).collect::<Vec<_>>();
        let mut test =
            compare_runs(&shares(&before), &shares(&after), (floor(&before), floor(&after)), alpha);
        if self.options.normalize == Normalize::No {
            // A share may change because the others do: the weight itself has to differ as well.
            let weights = |values: &[Weight]| values.iter().map(|weight| weight.to_f64()).collect::<Vec<_>>();
            let by_weight = compare_runs(&weights(sides.before), &weights(sides.after), (0.0, 0.0), alpha);
            test.p = test.p.max(by_weight.p);
        }
        Ok(Some(test))
    }

    /// Adjusts all tests together and says what counts; returns how many tests there were.
    pub(super) fn decide(&self, rows: &mut [Row], profile: &mut Change) -> Result<usize> {
        let tested = |rows: &[Row]| -> Vec<f64> {
            let changes = rows.iter().flat_map(|row| [&row.own, &row.total]);
            changes.filter_map(|change| change.test.map(|test| test.p)).collect()
        };
        let mut values = tested(rows);
        adjust(&mut values);
        let tests = values.len();
        let selected = values.iter().filter(|p| **p < self.options.alpha).count();
        // Both limits follow from the procedure: see `docs/significance.md`.
        let alone = self.options.alpha / tests.max(1) as f64;
        let adjusted_alpha = alone * selected.max(1) as f64;
        let mut adjusted = values.into_iter();
        let whole = profile.before;
        let limits = Limits { alpha: self.options.alpha, min_effect: self.options.min_effect };
        for row in rows {
            for change in [&mut row.own, &mut row.total] {
                if let Some(test) = &mut change.test {
                    test.p = adjusted.next().unwrap_or(1.0);
                    let (low, high) = test.interval_at(adjusted_alpha);
                    test.interval = (100.0 * low, 100.0 * high);
                    test.deviation *= 100.0;
                    change.detectable = Detectable::of_share(test, alone, limits, change.share_before);
                    change.significant =
                        limits.are_passed(test.p, change.points()) && self.is_large(change, whole)?;
                }
            }
        }
        profile.test = self.test_profile();
        profile.detectable = profile.test.and_then(|test| {
            Detectable::of_weight(&test, self.options.alpha, limits, profile.before.to_f64())
        });
        let large = profile.percent().is_none_or(|percent| percent.abs() >= self.options.min_effect);
        profile.significant = large && profile.test.is_some_and(|test| test.p < self.options.alpha);
        Ok(tests)
    }

    /// A change of a share has to be as large in weight, in the same direction: when one function
    /// grows, the shares of all others shrink, and nothing happened to them.
    fn is_large(&self, change: &Change, whole: Weight) -> Result<bool> {
        let least = self.options.min_effect;
        let points = change.points();
        if points == 0.0 {
            return Ok(false);
        }
        if whole <= Weight::ZERO {
            return Ok(true);
        }
        let of_whole = 100.0 * change.difference()?.to_f64() / whole.to_f64();
        Ok(of_whole.abs() >= least && (of_whole > 0.0) == (points > 0.0))
    }

    /// Tests the change of the whole. One recording a side does not tell how much the same program
    /// differs from run to run: that is assumed then.
    fn test_profile(&self) -> Option<Test> {
        let RunValues { before, after } = self.sums;
        if self.options.normalize != Normalize::No {
            return None;
        }
        let weights = |values: &[Weight]| values.iter().map(|weight| weight.to_f64()).collect::<Vec<_>>();
        if before.len() < 2 || after.len() < 2 {
            let (b, a) = (weights(before), weights(after));
            let before = whole::Runs { weights: &b, samples: self.sampling.0.worth };
            let after = whole::Runs { weights: &a, samples: self.sampling.1.worth };
            return whole::test(before, after, self.options.alpha);
        }
        Some(compare_runs(&weights(before), &weights(after), (0.0, 0.0), self.options.alpha))
    }
}

fn share(part: Weight, whole: Weight) -> f64 {
    let whole = whole.to_f64();
    if whole == 0.0 { 0.0 } else { part.to_f64() / whole }
}

/// The samples of a side: by the period that is given, or in the facts, or by what the weights
/// tell (see [`SampleWeight`]).
fn sampling(surveys: &[Survey], options: &ReportOptions) -> Result<Sampling> {
    let mut total = Weight::ZERO;
    let mut sample = SampleWeight::default();
    for survey in surveys {
        total = total.checked_add(survey.total)?;
        sample.merge(survey.sample_weight);
    }
    let given = options.period.or_else(|| period_of(surveys));
    let (period, period_known) = match given {
        Some(period) => (period, true),
        None => (sample.get(), sample.is_certain()),
    };
    let samples = (total.to_f64() / period.to_f64()).max(0.0);
    let spread = if surveys.len() > 1 { Spread::Runs } else { Spread::Assumed };
    Ok(Sampling { runs: surveys.len(), total, samples, period, period_known, worth: samples, spread })
}

/// The period of all runs, if they agree.
fn period_of(surveys: &[Survey]) -> Option<Weight> {
    let mut periods = surveys.iter().filter(|survey| survey.lines > 0).map(|survey| survey.facts.period);
    let first = periods.next()??;
    periods.all(|period| period == Some(first)).then_some(first)
}

/// The factors that turn the sums of each side into means of its runs, normalised.
fn mean_ratios(
    normalize: Normalize,
    (before, after): (Weight, Weight),
    runs: (usize, usize),
) -> Result<(Ratio, Ratio)> {
    let count = |runs: usize| Weight::new(runs.max(1) as i128);
    let mean = |runs| Ratio { of: Weight::ONE, over: count(runs) };
    let usable = before > Weight::ZERO && after > Weight::ZERO;
    Ok(match normalize {
        Normalize::BeforeToAfter if usable => {
            (Ratio { of: after, over: before.checked_mul(count(runs.1))? }, mean(runs.1))
        }
        Normalize::AfterToBefore if usable => {
            (mean(runs.0), Ratio { of: before, over: after.checked_mul(count(runs.0))? })
        }
        Normalize::Both(weight) if usable => {
            (Ratio { of: weight, over: before }, Ratio { of: weight, over: after })
        }
        _ => (mean(runs.0), mean(runs.1)),
    })
}
