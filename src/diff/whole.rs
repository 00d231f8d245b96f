//! The test of the whole: pairs of runs, runs of both sides, or runs and what is known of the spread of others.

use super::run_spread::RunSpread;
use crate::significance::moderated::{Prior, mean, squares};
use crate::significance::{Test, by_t, compare_runs};

/// Weights of runs and the number of samples they are made of.
#[derive(Clone, Copy, Debug)]
pub(super) struct Runs<'w> {
    pub(super) weights: &'w [f64],
    pub(super) samples: f64,
}

impl Runs<'_> {
    fn count(self) -> f64 {
        self.weights.len().max(1) as f64
    }

    /// The logarithms of the weights; `None` unless all are above 0.
    fn logarithms(self) -> Option<Vec<f64>> {
        let all = !self.weights.is_empty() && self.weights.iter().all(|weight| *weight > 0.0);
        all.then(|| self.weights.iter().map(|weight| weight.ln()).collect())
    }
}

/// Tests the change of the whole, in percent of the weight before; `None` if a side weighs nothing.
///
/// Two runs a side and more are compared by their own spread. A lone run has none: then the prior is asked, in the
/// light of the runs of the other side.
pub(super) fn test(before: Runs<'_>, after: Runs<'_>, prior: &RunSpread, alpha: f64) -> Option<Test> {
    if before.weights.len() >= 2 && after.weights.len() >= 2 {
        let test = compare_runs(before.weights, after.weights, (0.0, 0.0), alpha);
        let of = 100.0 / mean(before.weights);
        let interval = (of * test.interval.0, of * test.interval.1);
        return (of > 0.0).then_some(Test { interval, deviation: of * test.deviation, ..test });
    }
    let (b, a) = (before.logarithms()?, after.logarithms()?);
    let own = (b.len() + a.len()) as f64 - 2.0;
    let of_runs = if own > 0.0 { (squares(&b) + squares(&a)) / own } else { 0.0 };
    let variance = Prior { variance: prior.variance(), freedom: prior.freedom }.squeeze(of_runs, own);
    let of_side = |side: Runs<'_>| variance / side.count() + 1.0 / side.samples.max(1.0);
    let deviation = (of_side(before) + of_side(after)).sqrt();
    Some(in_percent(by_t(mean(&a) - mean(&b), deviation, prior.freedom + own, alpha)))
}

/// Tests the change of the whole by pairs of runs: a machine that gets slower moves both of a pair.
pub(super) fn test_pairs(before: Runs<'_>, after: Runs<'_>, alpha: f64) -> Option<Test> {
    let (b, a) = (before.logarithms()?, after.logarithms()?);
    let ratios: Vec<f64> = b.iter().zip(&a).map(|(b, a)| a - b).collect();
    let middle = mean(&ratios);
    let freedom = ratios.len() as f64 - 1.0;
    let deviation = (squares(&ratios) / freedom / ratios.len() as f64).sqrt();
    (freedom >= 1.0).then(|| in_percent(by_t(middle, deviation, freedom, alpha)))
}

/// The test of a logarithm of a ratio, in percent.
fn in_percent(test: Test) -> Test {
    let percent = |ratio: f64| 100.0 * ratio.exp_m1();
    let interval = (percent(test.interval.0), percent(test.interval.1));
    Test { interval, deviation: 100.0 * test.deviation, ..test }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn prior(freedom: f64) -> RunSpread {
        RunSpread { deviation: 0.1, freedom, ..RunSpread::of([]) }
    }

    fn of(before: f64, after: f64, samples: f64) -> Test {
        let side = |weights| Runs { weights, samples };
        test(side(&[before]), side(&[after]), &prior(1e9), 0.01).unwrap()
    }

    #[test]
    fn large_changes_only_are_sure_by_one_run_a_side() {
        assert!(of(1000.0, 1700.0, 1000.0).p < 0.001);
        assert!(of(1000.0, 1200.0, 1000.0).p > 0.05);
        // Twenty samples tell less than a thousand.
        assert!(of(1000.0, 1700.0, 20.0).p > 0.01);
        // The variance of a run, of which a part is that of its samples: on both sides.
        assert!((of(900.0, 1100.0, 20.0).deviation - 100.0 * (2.0f64 * (0.01 + 0.05)).sqrt()).abs() < 1e-6);
        let (there, back) = (of(10.0, 17.0, 500.0), of(17.0, 10.0, 500.0));
        assert!((there.p - back.p).abs() < 1e-12);
        assert!(there.interval.0 > 0.0 && back.interval.1 < 0.0);
    }

    #[test]
    fn a_baseline_of_nine_runs_predicts_the_next() {
        let nine = [100.0, 101.0, 99.0, 100.5, 99.5, 100.2, 99.8, 100.3, 99.7];
        let wide = prior(3.0);
        let side = |weights| Runs { weights, samples: 1e12 };
        let by_nine =
            |after: f64| test(side(&nine), Runs { weights: &[after], samples: 1e12 }, &wide, 0.01).unwrap();
        let by_one = |after: f64| {
            test(side(&[100.0]), Runs { weights: &[after], samples: 1e12 }, &wide, 0.01).unwrap()
        };
        assert!(by_nine(130.0).p < 0.01 && by_one(130.0).p > 0.05);
        assert!(by_nine(104.0).p > 0.05);
        // Those of the other side as well.
        assert!(test(side(&[130.0]), side(&nine), &wide, 0.01).unwrap().p < 0.01);
    }

    /// scipy.stats.ttest_1samp(log(after / before), 0): p = 2.75e-07; ttest_ind(before, after, equal_var=False): 0.19.
    #[test]
    fn pairs_take_a_drift_away() {
        let before = [100.0, 106.0, 112.0, 118.0, 124.0];
        let after = [108.0, 114.2, 121.3, 127.1, 134.2];
        let side = |weights| Runs { weights, samples: 1e12 };
        let pairs = test_pairs(side(&before), side(&after), 0.05).unwrap();
        let apart = test(side(&before), side(&after), &prior(1e9), 0.05).unwrap();
        assert!(
            (pairs.p / 2.753325e-7 - 1.0).abs() < 1e-4 && (apart.p - 0.191251).abs() < 1e-5,
            "{pairs:?} {apart:?}"
        );
        assert!(pairs.interval.0 > 7.0 && pairs.interval.1 < 9.0);
        assert_eq!(test_pairs(side(&before), side(&before), 0.05).unwrap().p, 1.0);
    }
}
