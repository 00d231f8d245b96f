//! Tests of shares and of repeated measurements, corrected for the number of tests.
//!
//! A profile is a sample. Two profiles of the same program differ, and a tool that paints or
//! reports each difference cries wolf. `docs/significance.md` says what is assumed, with
//! simulations of how often a test is wrong.
//!
//! Tables, pictures and the HTML page judge a change in the same way: this is the one place, and
//! `tests/fixtures/significance.json` holds the examples on which all of them agree. (The page's
//! script repeats the arithmetic in JavaScript, as it compares whatever its reader selects.)

#[cfg(test)]
use std::collections::HashMap;

mod adjust;
pub(crate) mod blocks;
pub(crate) mod change_points;
mod distributions;
#[cfg(test)]
pub(crate) mod examples;
mod gamma;
mod hypergeometric;
pub(crate) mod moderated;
#[cfg(test)]
mod oracles;
pub(crate) mod permutation;
mod sample_weight;
mod t_test;

pub use adjust::adjust;
pub(crate) use adjust::{adjust_weighted, attention};
use distributions::{Normal, StudentsT};
use moderated::{mean, squares};
pub use permutation::Permutation;
pub(crate) use sample_weight::SampleWeight;
pub(crate) use t_test::by_t;
use t_test::welch_freedom;

/// The samples of a function, and those of the whole profile.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Count {
    /// The samples of the function.
    pub hits: f64,
    /// All samples.
    pub of: f64,
}

impl Count {
    /// The share of the function, 0 to 1.
    pub fn share(self) -> f64 {
        if self.of > 0.0 { self.hits / self.of } else { 0.0 }
    }
}

/// The result of a test.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Test {
    /// The probability of a difference at least this large by chance alone; in a report, adjusted for
    /// the number of tests.
    pub p: f64,
    /// The interval that holds the true difference with the confidence asked for; in a report,
    /// adjusted for the number of tests and in percentage points.
    pub interval: (f64, f64),
    /// The standard deviation of the difference, in the unit of the interval.
    pub deviation: f64,
    /// The degrees of freedom of that deviation; infinite where it is not estimated from runs.
    pub freedom: f64,
}

/// The result when there is nothing to test.
const UNKNOWN: Test = Test {
    p: 1.0,
    interval: (f64::NEG_INFINITY, f64::INFINITY),
    deviation: f64::INFINITY,
    freedom: f64::INFINITY,
};

impl Test {
    /// The interval with another confidence, `1 - alpha`, around the same middle.
    pub(crate) fn interval_at(&self, alpha: f64) -> (f64, f64) {
        let middle = f64::midpoint(self.interval.0, self.interval.1);
        if !middle.is_finite() || !self.deviation.is_finite() {
            return self.interval;
        }
        let half = self.quantile(alpha / 2.0) * self.deviation;
        (middle - half, middle + half)
    }

    /// The interval in percent with another confidence: around its middle in logarithms, where the test of a ratio
    /// has it.
    pub(crate) fn interval_at_level(&self, alpha: f64) -> (f64, f64) {
        let (low, high) = (1.0 + self.interval.0 / 100.0, 1.0 + self.interval.1 / 100.0);
        if low <= 0.0 || !high.is_finite() {
            return self.interval;
        }
        let middle = f64::midpoint(low.ln(), high.ln());
        let half = self.quantile(alpha / 2.0) * self.deviation / 100.0;
        (100.0 * (middle - half).exp_m1(), 100.0 * (middle + half).exp_m1())
    }

    /// The probability that a test, two-sided at this alpha, finds a true difference and that the difference seen is
    /// at least `least`. `times` is the factor of the deviation at that difference.
    ///
    /// Statistics that divide by an estimated deviation follow the noncentral t distribution, which is
    /// approximated as by Johnson and Welch (1940).
    pub(crate) fn power(&self, difference: f64, alpha: f64, least: f64, times: f64) -> f64 {
        let deviation = self.deviation * times;
        if !deviation.is_finite() {
            return 0.0;
        }
        let quantile = self.quantile(alpha / 2.0) / times;
        let (mut middle, mut spread) = (quantile, 1.0);
        if self.freedom.is_finite() {
            middle *= 1.0 - 1.0 / (4.0 * self.freedom);
            spread = (1.0 + quantile * quantile / (2.0 * self.freedom)).sqrt();
        }
        let above = |z: f64| if z > 0.0 { Normal::upper(z) } else { 1.0 - Normal::upper(-z) };
        let found = above((middle - difference / deviation) / spread);
        let large = above((least - difference) / deviation);
        found.min(large)
    }

    /// The one-sided probability of a difference in this direction by chance.
    pub(crate) fn p_towards(&self, direction: f64) -> f64 {
        let difference = f64::midpoint(self.interval.0, self.interval.1);
        if difference * direction > 0.0 { self.p / 2.0 } else { 1.0 - self.p / 2.0 }
    }

    fn quantile(&self, p: f64) -> f64 {
        if self.freedom.is_finite() {
            StudentsT { freedom: self.freedom }.upper_quantile(p)
        } else {
            Normal::upper_quantile(p)
        }
    }
}

/// Below this many expected hits the normal approximation is off in the far tails, which is where
/// a correction for many tests looks; the exact test takes over.
const EXACT_BELOW: f64 = 100.0;

/// Tests whether two shares differ, given that samples are independent.
///
/// Few hits are tested exactly (Fisher, the smaller tail doubled), many by the normal
/// approximation with the pooled share. The interval is Agresti and Caffo's.
///
/// ```
/// use fg_tools::significance::{Count, compare_shares};
///
/// let of = 1000.0;
/// assert!(compare_shares(Count { hits: 0.0, of }, Count { hits: 1.0, of }, 0.05).p > 0.9);
/// assert!(compare_shares(Count { hits: 100.0, of }, Count { hits: 200.0, of }, 0.05).p < 1e-6);
/// ```
pub fn compare_shares(before: Count, after: Count, alpha: f64) -> Test {
    if before.of < 1.0 || after.of < 1.0 {
        return UNKNOWN;
    }
    let pooled = ((before.hits + after.hits) / (before.of + after.of)).clamp(0.0, 1.0);
    let few = pooled.min(1.0 - pooled) * before.of.min(after.of);
    let p = if few < EXACT_BELOW { exact(before, after) } else { by_normal(before, after, pooled) };
    let plus = |count: Count| Count { hits: count.hits + 1.0, of: count.of + 2.0 };
    let (a, b) = (plus(before), plus(after));
    let variance = |count: Count| (count.share() * (1.0 - count.share()) / count.of).max(0.0);
    let deviation = (variance(a) + variance(b)).sqrt();
    let half = Normal::upper_quantile(alpha / 2.0) * deviation;
    let middle = b.share() - a.share();
    Test { p, interval: (middle - half, middle + half), deviation, freedom: f64::INFINITY }
}

fn by_normal(before: Count, after: Count, pooled: f64) -> f64 {
    let deviation = (pooled * (1.0 - pooled) * (1.0 / before.of + 1.0 / after.of)).sqrt();
    let z = (after.share() - before.share()).abs() / deviation;
    if z.is_finite() { (2.0 * Normal::upper(z)).min(1.0) } else { 1.0 }
}

/// Fisher's test: given the hits of both sides together, how many of them are before.
fn exact(before: Count, after: Count) -> f64 {
    // One order for both, so that the sides can be swapped to the last digit.
    let (before, after) = if before.of > after.of { (after, before) } else { (before, after) };
    // Weights need not be whole samples, and hits not fewer than all samples.
    let whole = |value: f64| value.round().max(0.0);
    let (n, m) = (whole(before.of), whole(after.of));
    let x = whole(before.hits).min(n);
    let hits = x + whole(after.hits).min(m);
    let (below, above) = hypergeometric::tails(n + m, hits, n, x);
    (2.0 * below.min(above)).clamp(0.0, 1.0)
}

/// Tests whether the means of repeated measurements differ, by Welch's t.
///
/// `least_variance` is the variance that each single measurement has at least, before and after:
/// a few runs may agree by chance much better than sampling allows.
///
/// ```
/// use fg_tools::significance::compare_runs;
///
/// let same = compare_runs(&[10.0, 11.0, 9.0], &[10.5, 9.5, 11.0], (0.0, 0.0), 0.05);
/// let other = compare_runs(&[10.0, 11.0, 9.0], &[20.5, 19.5, 21.0], (0.0, 0.0), 0.05);
/// assert!(same.p > 0.5 && other.p < 0.001 && other.interval.0 > 5.0);
/// ```
pub fn compare_runs(before: &[f64], after: &[f64], least_variance: (f64, f64), alpha: f64) -> Test {
    let (n, m) = (before.len() as f64, after.len() as f64);
    if n < 2.0 || m < 2.0 {
        return UNKNOWN;
    }
    let a = (squares(before) / (n - 1.0)).max(least_variance.0) / n;
    let b = (squares(after) / (m - 1.0)).max(least_variance.1) / m;
    let freedom = if a + b > 0.0 { welch_freedom((a, n - 1.0), (b, m - 1.0)) } else { n + m - 2.0 };
    by_t(mean(after) - mean(before), (a + b).sqrt(), freedom, alpha)
}

/// The limits of a change that counts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Limits {
    /// The accepted probability of an alarm without a cause.
    pub(crate) alpha: f64,
    /// The least change of the share, in percentage points.
    pub(crate) min_effect: f64,
}

impl Limits {
    /// Returns true if a change of a share counts, given its adjusted p-value.
    pub(crate) fn are_passed(self, p: f64, points: f64) -> bool {
        p < self.alpha && points.abs() >= self.min_effect
    }
}

/// Tests shares before and after, all of them together, and says which changes count. Equal pairs are one
/// test: frames with one child each all have its weight.
#[cfg(test)]
pub(crate) fn judge_shares(pairs: &[(Count, Count)], limits: Limits) -> Vec<bool> {
    let mut tests = Vec::new();
    let mut known = HashMap::new();
    let mut test_of = Vec::with_capacity(pairs.len());
    for &(before, after) in pairs {
        let key = [before.hits, before.of, after.hits, after.of].map(f64::to_bits);
        test_of.push(*known.entry(key).or_insert_with(|| {
            // Of the test only the probability is wanted: any confidence will do for its interval.
            tests.push((compare_shares(before, after, 0.05).p, f64::midpoint(before.share(), after.share())));
            tests.len() - 1
        }));
    }
    let (mut values, shares): (Vec<f64>, Vec<f64>) = tests.into_iter().unzip();
    adjust_weighted(&mut values, &attention(&shares));
    let points = |(a, b): &(Count, Count)| 100.0 * (b.share() - a.share());
    test_of.iter().zip(pairs).map(|(&test, pair)| limits.are_passed(values[test], points(pair))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn p(x: f64, n: f64, y: f64, m: f64) -> f64 {
        compare_shares(Count { hits: x, of: n }, Count { hits: y, of: m }, 0.05).p
    }

    #[test]
    fn few_hits_are_tested_exactly() {
        // By hand: all three of 3 in one half of 2000 is nearly 1/8 on either side.
        assert!((p(0.0, 1000.0, 3.0, 1000.0) - 0.2496).abs() < 0.001);
        // Fisher's tea: 3 of 4 and 1 of 4.
        assert!((p(3.0, 4.0, 1.0, 4.0) - 2.0 * 17.0 / 70.0).abs() < 1e-9);
        // Unequal sides: five hits in the shorter one are 1/11 to the fifth, and doubled.
        let expected = 2.0 * (1.0f64 / 11.0).powi(5);
        assert!((p(0.0, 100_000.0, 5.0, 10_000.0) / expected - 1.0).abs() < 0.01);
        assert_eq!(p(0.0, 10.0, 0.0, 10.0), 1.0);
        assert_eq!(p(10.0, 10.0, 10.0, 10.0), 1.0);
    }

    #[test]
    fn both_tests_agree_where_they_meet() {
        for (x, y) in [(150.0, 190.0), (100.0, 160.0), (9_900.0, 9_800.0)] {
            let (a, b) = (Count { hits: x, of: 10_000.0 }, Count { hits: y, of: 10_000.0 });
            let near = by_normal(a, b, (x + y) / 20_000.0);
            let sure = exact(a, b);
            assert!(near < sure && sure < near * 1.5, "{near} {sure}");
        }
    }

    #[test]
    fn swapping_the_sides_changes_nothing_but_the_sign() {
        for (x, n, y, m) in [(3.0, 50.0, 9.0, 70.0), (500.0, 5000.0, 700.0, 6000.0), (0.0, 9.0, 1.0, 9.0)] {
            assert!((p(x, n, y, m) - p(y, m, x, n)).abs() < 1e-9);
        }
        // Few hits or few misses: to the last digit.
        for (x, n, y, m) in [(207.0, 386.0, 85.0, 12_624.0), (9_400.0, 9_500.0, 8_000.0, 8_020.0)] {
            assert_eq!(p(x, n, y, m).to_bits(), p(y, m, x, n).to_bits());
        }
    }

    #[test]
    fn nothing_is_sure_of_no_samples() {
        assert_eq!(p(0.0, 0.0, 5.0, 5.0), 1.0);
        assert_eq!(compare_runs(&[1.0], &[2.0, 2.0], (0.0, 0.0), 0.05).p, 1.0);
    }

    #[test]
    fn runs_that_agree_by_chance_are_not_trusted() {
        let (before, after) = ([0.1000, 0.1001, 0.1000], [0.1020, 0.1021, 0.1020]);
        assert!(compare_runs(&before, &after, (0.0, 0.0), 0.05).p < 0.001);
        assert!(compare_runs(&before, &after, (1e-4, 1e-4), 0.05).p > 0.5);
    }

    /// By hand: (15 + 1) / (50 + 2), (30 + 1) / (60 + 2), and 1.96 deviations on both sides.
    #[test]
    fn the_interval_is_agresti_and_caffo_s() {
        let test = compare_shares(Count { hits: 15.0, of: 50.0 }, Count { hits: 30.0, of: 60.0 }, 0.05);
        assert!(
            (test.interval.0 - 0.015_599).abs() < 1e-5 && (test.interval.1 - 0.369_017).abs() < 1e-5,
            "{test:?}"
        );
        assert!((test.deviation - 0.090_160).abs() < 1e-5, "{test:?}");
        // With another confidence the middle stays.
        let (low, high) = test.interval_at(0.317_310_5);
        assert!((high - low - 2.0 * test.deviation).abs() < 1e-5 && (low + high - 0.384_615).abs() < 1e-5);
    }

    #[test]
    fn one_sample_a_side_is_a_test_and_less_is_none() {
        let interval = |a: f64, b: f64| {
            compare_shares(Count { hits: 0.0, of: a }, Count { hits: b, of: b }, 0.05).interval
        };
        assert!(interval(1.0, 1.0).0.is_finite());
        assert!(interval(0.5, 5.0).0.is_infinite() && interval(5.0, 0.5).0.is_infinite());
        assert_eq!(Count { hits: 0.0, of: 0.0 }.share(), 0.0);
    }

    #[test]
    fn misses_are_counted_as_exactly_as_hits() {
        let many = 1e12;
        assert!((p(many, many, many - 5.0, many) - 0.0625).abs() < 1e-6);
        assert!((p(0.0, many, 5.0, many) - 0.0625).abs() < 1e-6);
    }

    #[test]
    fn deviations_that_are_known_are_normal_and_estimated_ones_student_s() {
        let known = by_t(-3.919_928, 2.0, f64::INFINITY, 0.05);
        assert!((known.p - 0.05).abs() < 1e-6, "{known:?}");
        assert!((known.interval.0 + 7.839_856).abs() < 1e-4 && known.interval.1.abs() < 1e-4, "{known:?}");
        // The quantile of t with two degrees of freedom.
        let estimated = by_t(4.302_653, 1.0, 2.0, 0.05);
        assert!((estimated.p - 0.05).abs() < 1e-6 && estimated.interval.0.abs() < 1e-4, "{estimated:?}");
        let unknown = by_t(1.0, f64::INFINITY, f64::INFINITY, 0.05);
        assert_eq!(unknown.interval, (f64::NEG_INFINITY, f64::INFINITY));
    }

    #[test]
    fn a_spread_that_is_all_but_known_is_normal() {
        let (known, nearly) = (by_t(1.0, 0.5, f64::INFINITY, 0.05), by_t(1.0, 0.5, 1e6, 0.05));
        assert!((known.p / 0.045_500_263_896_358_4 - 1.0).abs() < 1e-12, "{known:?}");
        // 1.96 deviations to either side.
        assert!((known.interval.0 - (1.0 - 0.979_981_992_270_027)).abs() < 1e-12, "{known:?}");
        assert!((known.interval.1 - (1.0 + 0.979_981_992_270_027)).abs() < 1e-12, "{known:?}");
        assert!((known.p - nearly.p).abs() < 1e-5 && (known.interval.0 - nearly.interval.0).abs() < 1e-5);
    }

    #[test]
    fn freedom_is_welch_s_where_runs_differ() {
        let freedom = |before: &[f64], after: &[f64]| compare_runs(before, after, (0.0, 0.0), 0.05).freedom;
        // One side alone has a variance: its runs tell it.
        assert!((freedom(&[1.0, 1.0, 1.0], &[2.0, 3.0, 4.0]) - 2.0).abs() < 1e-9);
        assert!((freedom(&[2.0, 3.0, 4.0, 5.0], &[1.0, 1.0, 1.0]) - 3.0).abs() < 1e-9);
        assert_eq!(freedom(&[1.0, 1.0], &[2.0, 2.0, 2.0]), 3.0, "none has");
        assert!(compare_runs(&[1.0, 2.0], &[3.0, 4.0], (0.0, 0.0), 0.05).p < 1.0);
    }

    #[test]
    fn limits_are_passed_beyond_them() {
        let limits = Limits { alpha: 0.01, min_effect: 0.5 };
        assert!(limits.are_passed(0.0099, 0.5) && limits.are_passed(0.0, -0.5));
        assert!(!limits.are_passed(0.01, 5.0) && !limits.are_passed(0.0, 0.49));
    }
}
