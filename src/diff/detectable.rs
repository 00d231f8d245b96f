//! The smallest change that a comparison would have found. A verdict without it is half a verdict: "no
//! change" of 167 samples is no promise.

use crate::significance::{Limits, Test};

/// The probability with which a change of that size is found.
const POWER: f64 = 0.8;

/// The smallest growth that would have been found in four of five comparisons, given the spread, the
/// limits and the number of tests of the report.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Detectable {
    /// In percentage points of the profile; 0 for the whole profile, whose share is always 100%.
    pub points: f64,
    /// In percent of the weight before: a function of 2% that grows to 4% grew by 104%. `None` for what
    /// was not there before, and for what cannot be found however much it grows.
    pub percent: Option<f64>,
}

impl Detectable {
    /// The smallest change of a share. The test is in percentage points; `alpha` is that of a single one
    /// of the tests.
    pub(super) fn of_share(test: &Test, alpha: f64, limits: Limits, share: f64) -> Option<Detectable> {
        let points = test.detectable(alpha, POWER).max(limits.min_effect);
        // A function that works longer makes the whole longer as well.
        let after = share + points / 100.0;
        let growth = after * (1.0 - share) / (share * (1.0 - after)) - 1.0;
        let percent = (share > 0.0 && after < 1.0).then_some(100.0 * growth);
        points.is_finite().then_some(Detectable { points, percent })
    }

    /// The smallest change of the weight of the whole, tested in the unit of the weights.
    pub(super) fn of_weight(test: &Test, alpha: f64, limits: Limits, before: f64) -> Option<Detectable> {
        let percent = (100.0 * test.detectable(alpha, POWER) / before).max(limits.min_effect);
        percent.is_finite().then_some(Detectable { points: 0.0, percent: Some(percent) })
    }
}
