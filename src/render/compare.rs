//! The options of a differential graph: whose weights are drawn, and which changes are more than
//! noise. [`crate::significance`] judges them.

use crate::significance::{Count, Limits, SampleWeight, judge_shares};
use crate::weight::Weight;

/// The weight of a sample, found out from the weights of one column.
pub(super) type Steps = SampleWeight;

/// The weights that are the widths of a differential graph.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Widths {
    /// Those after: what vanished is not drawn.
    #[default]
    After,
    /// Those before: what is new is not drawn.
    Before,
    /// The larger one of each stack: everything is drawn.
    Union,
}

/// Every choice of widths, by its name on the command line.
pub const WIDTHS: &[(&str, Widths)] =
    &[("after", Widths::After), ("before", Widths::Before), ("union", Widths::Union)];

/// The options of a differential graph.
#[derive(Clone, Debug, PartialEq)]
pub struct Comparison {
    /// The weights that are drawn.
    pub widths: Widths,
    /// Frames have the colour of their self weight's change.
    pub own: bool,
    /// The accepted probability of taking noise for a change.
    pub alpha: f64,
    /// The least change that is no noise, in percentage points of the profile.
    pub min_effect: f64,
    /// The weight of a sample, if it is known.
    pub period: Option<Weight>,
}

impl Default for Comparison {
    fn default() -> Self {
        Comparison { widths: Widths::After, own: false, alpha: 0.01, min_effect: 0.0, period: None }
    }
}

/// Says for each frame, given by its weights before and after, whether its share changed.
pub(super) fn judge(
    comparison: &Comparison,
    frames: impl Iterator<Item = (Weight, Weight)>,
    totals: (Weight, Weight),
    samples: (Steps, Steps),
) -> Vec<bool> {
    let period = |sample: Steps| comparison.period.unwrap_or_else(|| sample.get()).to_f64();
    let periods = (period(samples.0), period(samples.1));
    let count = |weight: Weight, total: Weight, period: f64| Count {
        hits: weight.to_f64() / period,
        of: total.to_f64() / period,
    };
    let counts = |(before, after): (Weight, Weight)| {
        (count(before, totals.0, periods.0), count(after, totals.1, periods.1))
    };
    let limits = Limits { alpha: comparison.alpha, min_effect: comparison.min_effect };
    judge_shares(&frames.map(counts).collect::<Vec<_>>(), limits)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pictures_agree_with_the_shared_examples() {
        for example in crate::significance::examples::all() {
            let weight = |count: f64| Weight::parse(count.to_string().as_bytes()).unwrap();
            let (before, after) = (example.before, example.after);
            let Limits { alpha, min_effect } = example.limits;
            let comparison =
                Comparison { alpha, min_effect, period: Some(Weight::ONE), ..Comparison::default() };
            let frame = (weight(before.hits), weight(after.hits));
            let totals = (weight(before.of), weight(after.of));
            let sure = judge(&comparison, [frame].into_iter(), totals, Default::default());
            assert_eq!(sure, [example.is_sure], "{before:?} {after:?}");
        }
    }

    #[test]
    fn one_sample_is_no_change_and_many_are() {
        let weight = |n: i128| Weight::new(n);
        let frames = [(weight(0), weight(1)), (weight(100), weight(300)), (weight(900), weight(699))];
        let mut one = Steps::default();
        one.note(Weight::ONE);
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
