//! What a differential graph shows: whose weights are drawn, and which changes are more than noise.

use crate::significance::{Count, adjust, compare_shares};
use crate::weight::Weight;

/// Whose weights the widths of a differential graph are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Widths {
    /// Those after: what vanished is not drawn.
    #[default]
    After,
    /// Those before: what is new is not drawn.
    Before,
    /// Of each stack the larger one: everything is drawn.
    Union,
}

/// Every choice of widths: what `--widths` calls it, and itself.
pub const WIDTHS: &[(&str, Widths)] =
    &[("after", Widths::After), ("before", Widths::Before), ("union", Widths::Union)];

/// What a differential graph shows.
#[derive(Clone, Debug, PartialEq)]
pub struct Comparison {
    /// Whose weights are drawn.
    pub widths: Widths,
    /// Frames have the colour of their self weight's change.
    pub own: bool,
    /// How often noise may be taken for a change.
    pub alpha: f64,
    /// The least change that is no noise, in percentage points of the profile.
    pub min_effect: f64,
    /// What a sample weighs, when that is known.
    pub period: Option<Weight>,
}

impl Default for Comparison {
    fn default() -> Self {
        Comparison { widths: Widths::After, own: false, alpha: 0.01, min_effect: 0.0, period: None }
    }
}

/// What the weights of a column tell about its samples.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Steps {
    step: Weight,
    least: Weight,
    last: Weight,
}

impl Steps {
    #[inline]
    pub(super) fn note(&mut self, weight: Weight) {
        if weight.is_zero() || weight == self.last {
            return;
        }
        self.last = weight;
        self.step = self.step.common_step(weight);
        self.least = if self.least.is_zero() { weight } else { self.least.min(weight) };
    }

    /// What a sample weighs. Scaled weights have fractions and no true step; nor have sums of
    /// periods that vary. Then no sample is taken to weigh less than the lightest stack.
    fn period(&self) -> f64 {
        let rough = self.step.decimals() > 0 || self.step.to_f64() * 1000.0 < self.least.to_f64();
        let period = if rough { self.least } else { self.step };
        if period.is_zero() { 1.0 } else { period.to_f64() }
    }
}

/// Says for each frame, given by its weights before and after, whether its share changed.
pub(super) fn judge(
    comparison: &Comparison,
    frames: impl Iterator<Item = (Weight, Weight)>,
    totals: (Weight, Weight),
    steps: (Steps, Steps),
) -> Vec<bool> {
    let period = |steps: Steps| comparison.period.map_or_else(|| steps.period(), Weight::to_f64);
    let periods = (period(steps.0), period(steps.1));
    let counts = |(before, after): (Weight, Weight)| {
        let count = |weight: Weight, total: Weight, period: f64| Count {
            hits: weight.to_f64() / period,
            of: total.to_f64() / period,
        };
        (count(before, totals.0, periods.0), count(after, totals.1, periods.1))
    };
    let counts: Vec<_> = frames.map(counts).collect();
    let alpha = comparison.alpha;
    // Of the test only the probability is wanted: any confidence will do for its interval.
    let mut values: Vec<f64> = counts.iter().map(|&(a, b)| compare_shares(a, b, 0.05).p).collect();
    adjust(&mut values);
    let large = |(a, b): &(Count, Count)| 100.0 * (b.share() - a.share()).abs() >= comparison.min_effect;
    values.iter().zip(&counts).map(|(&p, counts)| p < alpha && large(counts)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn steps(weights: &[&str]) -> Steps {
        let mut steps = Steps::default();
        weights.iter().for_each(|text| steps.note(Weight::parse(text.as_bytes()).unwrap()));
        steps
    }

    #[test]
    fn samples_are_what_weights_are_multiples_of() {
        assert_eq!(steps(&["3003", "1001", "2002"]).period(), 1001.0);
        assert_eq!(steps(&["1.429", "2.857"]).period(), 1.429);
        assert_eq!(steps(&["123457", "200003"]).period(), 123_457.0);
        assert_eq!(steps(&[]).period(), 1.0);
    }

    #[test]
    fn one_sample_is_no_change_and_many_are() {
        let weight = |n: i128| Weight::new(n);
        let frames = [(weight(0), weight(1)), (weight(100), weight(300)), (weight(900), weight(699))];
        let one = Steps { step: Weight::ONE, ..Steps::default() };
        let judged = |comparison: &Comparison| {
            judge(comparison, frames.into_iter(), (weight(1000), weight(1000)), (one, one))
        };
        assert_eq!(judged(&Comparison::default()), [false, true, true]);
        let careful = Comparison { min_effect: 20.05, ..Comparison::default() };
        assert_eq!(judged(&careful), [false, false, true]);
        let coarse = Comparison { period: Some(weight(50)), ..Comparison::default() };
        assert_eq!(judged(&coarse), [false, false, false]);
    }
}
