//! The test of the whole by one recording a side, which cannot tell how much runs of the same program
//! differ: that is assumed.

use crate::significance::{Test, by_deviation};

/// The assumed standard deviation of the weight of a run, as a part of it. Runs of one program on a busy
/// machine of two processors differed by 1 to 8% in processor time; a build server is no calmer.
const SPREAD: f64 = 0.1;

/// Weights of runs and the number of samples they are made of.
#[derive(Clone, Copy, Debug)]
pub(super) struct Runs<'w> {
    pub(super) weights: &'w [f64],
    pub(super) samples: f64,
}

impl Runs<'_> {
    fn mean(self) -> f64 {
        self.weights.iter().sum::<f64>() / self.weights.len().max(1) as f64
    }

    /// The variance of the mean, as a part of its square.
    fn relative_variance(self) -> f64 {
        SPREAD * SPREAD / self.weights.len().max(1) as f64 + 1.0 / self.samples.max(1.0)
    }
}

/// Tests the change of the whole by the assumed spread; `None` if a side weighs nothing.
pub(super) fn test(before: Runs<'_>, after: Runs<'_>, alpha: f64) -> Option<Test> {
    let (b, a) = (before.mean(), after.mean());
    if b <= 0.0 || a <= 0.0 {
        return None;
    }
    // Without a change both would weigh as much as both do in the mean.
    let middle = f64::midpoint(b, a);
    let deviation = middle * (before.relative_variance() + after.relative_variance()).sqrt();
    Some(by_deviation(a - b, deviation, f64::INFINITY, alpha))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(before: f64, after: f64, samples: f64) -> Test {
        let side = |weights| Runs { weights, samples };
        test(side(&[before]), side(&[after]), 0.01).unwrap()
    }

    #[test]
    fn large_changes_only_are_sure_by_one_run_a_side() {
        assert!(of(1000.0, 1700.0, 1000.0).p < 0.001);
        assert!(of(1000.0, 1200.0, 1000.0).p > 0.05);
        // Twenty samples tell less than a thousand.
        assert!(of(1000.0, 1700.0, 20.0).p > 0.01);
        // The variance of a run, of which a part is that of its samples: on both sides.
        assert!((of(900.0, 1100.0, 20.0).deviation - 1000.0 * (2.0f64 * (0.01 + 0.05)).sqrt()).abs() < 1e-9);
        let (there, back) = (of(10.0, 17.0, 500.0), of(17.0, 10.0, 500.0));
        assert!((there.p - back.p).abs() < 1e-12);
        assert!(there.interval.0 > 0.0 && back.interval.1 < 0.0);
    }

    #[test]
    fn runs_of_a_side_stand_for_their_mean() {
        let test_of = |before: &[f64], after: &[f64]| {
            let side = |weights| Runs { weights, samples: 1e12 };
            test(side(before), side(after), 0.05)
        };
        // The spread of a tenth, of four runs each: a twentieth of the mean, times the root of two.
        let change = test_of(&[90.0, 110.0, 90.0, 110.0], &[120.0, 80.0, 100.0, 100.0]).unwrap();
        assert!((change.deviation - 5.0 * 2f64.sqrt()).abs() < 1e-6, "{change:?}");
        assert_eq!((change.p, change.interval.0), (1.0, -change.interval.1));
        assert!(test_of(&[], &[1.0]).is_none() && test_of(&[1.0], &[0.0]).is_none());
    }
}
