//! Tests of shares and of repeated measurements, corrected for the number of tests.
//!
//! A profile is a sample. Two profiles of the same program differ, and a tool that paints or
//! reports each difference cries wolf. `docs/significance.md` says what is assumed, with
//! simulations of how often a test is wrong.
//!
//! Tables, pictures and the HTML page judge a change in the same way: this is the one place, and
//! `tests/fixtures/significance.json` holds the examples on which all of them agree. (The page's
//! script repeats the arithmetic in JavaScript, as it compares whatever its reader selects.)

mod distributions;

use crate::weight::Weight;
use distributions::{Normal, StudentsT, hypergeometric_tails};

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

    /// The smallest true difference that a test at this alpha finds with this probability.
    pub(crate) fn detectable(&self, alpha: f64, power: f64) -> f64 {
        (self.quantile(alpha / 2.0) + self.quantile(1.0 - power)) * self.deviation
    }

    fn quantile(&self, p: f64) -> f64 {
        if self.freedom.is_finite() {
            StudentsT { freedom: self.freedom }.upper_quantile(p)
        } else {
            Normal::upper_quantile(p)
        }
    }
}

/// Tests a difference whose standard deviation is known, or estimated with these degrees of freedom.
pub(crate) fn by_deviation(difference: f64, deviation: f64, freedom: f64, alpha: f64) -> Test {
    let t = (difference / deviation).abs();
    let upper = if freedom.is_finite() { StudentsT { freedom }.upper(t) } else { Normal::upper(t) };
    let test = Test { p: (2.0 * upper).min(1.0), interval: (difference, difference), deviation, freedom };
    Test { interval: test.interval_at(alpha), ..test }
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
    // The shorter side bounds the number of terms to add up.
    let (before, after) = if before.of > after.of { (after, before) } else { (before, after) };
    let whole = |value: f64| value.round().max(0.0) as u64;
    let (x, n, m) = (whole(before.hits), whole(before.of), whole(after.of));
    let (x, hits) = (x.min(n), x.min(n) + whole(after.hits).min(m));
    // What is rare is counted, hits or misses, which keeps the sums short.
    let (x, hits) = if 2 * hits > n + m { (n - x, n + m - hits) } else { (x, hits) };
    let (below, above) = hypergeometric_tails((n + m) as f64, hits as f64, n as f64, x as f64);
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
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    let variance = |values: &[f64]| {
        let middle = mean(values);
        values.iter().map(|v| (v - middle).powi(2)).sum::<f64>() / (values.len() as f64 - 1.0)
    };
    let a = variance(before).max(least_variance.0) / n;
    let b = variance(after).max(least_variance.1) / m;
    let difference = mean(after) - mean(before);
    let deviation = (a + b).sqrt();
    if difference == 0.0 {
        return Test { p: 1.0, interval: (-deviation, deviation), deviation, freedom: n + m - 2.0 };
    }
    if deviation == 0.0 {
        return Test { p: 0.0, interval: (difference, difference), deviation, freedom: n + m - 2.0 };
    }
    let freedom = (a + b).powi(2) / (a * a / (n - 1.0) + b * b / (m - 1.0));
    if freedom.is_nan() || freedom <= 0.0 {
        return UNKNOWN;
    }
    let law = StudentsT { freedom };
    let half = law.upper_quantile(alpha / 2.0) * deviation;
    Test {
        p: (2.0 * law.upper((difference / deviation).abs())).min(1.0),
        interval: (difference - half, difference + half),
        deviation,
        freedom,
    }
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

/// Tests shares before and after, all of them together, and says which changes count.
pub(crate) fn judge_shares(pairs: &[(Count, Count)], limits: Limits) -> Vec<bool> {
    // Of the test only the probability is wanted: any confidence will do for its interval.
    let mut values: Vec<f64> = pairs.iter().map(|&(a, b)| compare_shares(a, b, 0.05).p).collect();
    adjust(&mut values);
    let points = |(a, b): &(Count, Count)| 100.0 * (b.share() - a.share());
    values.iter().zip(pairs).map(|(&p, pair)| limits.are_passed(p, points(pair))).collect()
}

/// Finds out what a sample weighs, from the weights of a profile that does not say it.
///
/// It is the largest weight of which all weights are multiples. Scaled weights have fractions and
/// no true step; sums of periods that vary (cycles) have no step but 1, which would make a million
/// samples of one. Then no sample is taken to weigh less than the lightest stack.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct SampleWeight {
    step: Weight,
    least: Weight,
    last: Weight,
}

impl SampleWeight {
    /// Takes note of a weight.
    #[inline]
    pub(crate) fn note(&mut self, weight: Weight) {
        // Most weights are the one before again.
        if weight == self.last || weight.is_zero() {
            return;
        }
        self.last = weight;
        self.add(weight, if weight.is_negative() { weight.negated() } else { weight });
    }

    fn add(&mut self, step: Weight, least: Weight) {
        // A step of one does not get smaller by whole numbers.
        if self.step != Weight::ONE || step.decimals() > 0 {
            self.step = self.step.common_step(step);
        }
        self.least = if self.least.is_zero() { least } else { self.least.min(least) };
    }

    /// Adds the weights of another file of the same side.
    pub(crate) fn merge(&mut self, other: SampleWeight) {
        if !other.least.is_zero() {
            self.add(other.step, other.least);
        }
    }

    /// Converts to another unit.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Overflow`].
    pub(crate) fn times(self, factor: Weight) -> crate::Result<SampleWeight> {
        let times = |weight: Weight| weight.checked_mul(factor);
        Ok(SampleWeight { step: times(self.step)?, least: times(self.least)?, last: times(self.last)? })
    }

    /// The weight of a sample; 1 if there are no weights.
    pub(crate) fn get(&self) -> Weight {
        match (self.least.is_zero(), self.is_certain()) {
            (true, _) => Weight::ONE,
            (_, true) => self.step,
            (_, false) => self.least,
        }
    }

    /// Returns true if the weights have a common step.
    pub(crate) fn is_certain(&self) -> bool {
        let is_rough = self.step.decimals() > 0 || self.step.to_f64() * 1000.0 < self.least.to_f64();
        !is_rough || self.step == self.least
    }
}

/// Adjusts p-values for their number, by Benjamini and Hochberg: of all that are then below
/// alpha, at most that share is expected to be there by chance.
///
/// ```
/// let mut p = [0.01, 0.5, 0.02, 0.03];
/// fg_tools::significance::adjust(&mut p);
/// assert_eq!(p, [0.04, 0.5, 0.04, 0.04]);
/// ```
pub fn adjust(values: &mut [f64]) {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|&a, &b| values[a].total_cmp(&values[b]));
    let count = values.len() as f64;
    let mut least = 1.0f64;
    for (rank, &index) in order.iter().enumerate().rev() {
        least = least.min(values[index] * count / (rank as f64 + 1.0));
        values[index] = least;
    }
}

/// Examples on which tables, pictures and the page's script agree.
#[cfg(test)]
pub(crate) mod examples {
    use super::*;

    /// A share before and after, the limits, and the verdict.
    pub(crate) struct Example {
        pub(crate) before: Count,
        pub(crate) after: Count,
        pub(crate) limits: Limits,
        pub(crate) p: f64,
        pub(crate) is_sure: bool,
    }

    const PATH: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/significance.json");

    /// Hits and samples before and after, alpha, and the least effect.
    const GIVEN: &[[f64; 6]] = &[
        [0.0, 1000.0, 1.0, 1000.0, 0.01, 0.0],
        [0.0, 1000.0, 3.0, 1000.0, 0.01, 0.0],
        [0.0, 1000.0, 12.0, 1000.0, 0.01, 0.0],
        [12.0, 1000.0, 0.0, 1000.0, 0.01, 0.0],
        [12.0, 1000.0, 0.0, 1000.0, 0.01, 1.5],
        [3.0, 4.0, 1.0, 4.0, 0.05, 0.0],
        [10.0, 10.0, 1.0, 10.0, 0.01, 0.5],
        [40.0, 1000.0, 70.0, 1000.0, 0.01, 0.5],
        [40.0, 1000.0, 70.0, 1000.0, 0.001, 0.5],
        [40.0, 1000.0, 70.0, 1000.0, 0.01, 3.5],
        [100.0, 1000.0, 100.0, 1000.0, 0.05, 0.0],
        [99.0, 1000.0, 100.0, 1000.0, 0.05, 0.0],
        [100.0, 1000.0, 300.0, 1000.0, 0.01, 0.5],
        [900.0, 1000.0, 699.0, 1000.0, 0.01, 20.0],
        [900.0, 1000.0, 699.0, 1000.0, 0.01, 20.5],
        [1.0, 11.0, 90.0, 107.0, 0.01, 0.5],
        [2000.0, 10701.0, 3001.0, 11006.0, 0.01, 0.5],
        [5.0, 100_000.0, 5.0, 10_000.0, 0.01, 0.0],
        [5.0, 100_000.0, 40.0, 10_000.0, 0.01, 0.0],
        [99.5, 10_000.0, 150.5, 10_000.0, 0.01, 0.5],
        [150.0, 10_000.0, 190.0, 10_000.0, 0.05, 0.0],
        [5_000_000.0, 10_000_000.0, 5_010_000.0, 10_000_000.0, 0.01, 0.05],
        [5_000_000.0, 10_000_000.0, 5_010_000.0, 10_000_000.0, 0.01, 0.2],
    ];

    pub(crate) fn all() -> Vec<Example> {
        let example = |&[x, n, y, m, alpha, min_effect]: &[f64; 6]| {
            let (before, after) = (Count { hits: x, of: n }, Count { hits: y, of: m });
            let limits = Limits { alpha, min_effect };
            let p = compare_shares(before, after, alpha).p;
            Example { before, after, limits, p, is_sure: judge_shares(&[(before, after)], limits)[0] }
        };
        GIVEN.iter().map(example).collect()
    }

    fn as_json(examples: &[Example]) -> String {
        let line = |e: &Example| {
            serde_json::json!({
                "before_hits": e.before.hits, "before_total": e.before.of,
                "after_hits": e.after.hits, "after_total": e.after.of,
                "alpha": e.limits.alpha, "min_effect": e.limits.min_effect,
                "p": format!("{:.9e}", e.p).parse::<f64>().unwrap(), "is_sure": e.is_sure,
            })
            .to_string()
        };
        format!("[\n{}\n]\n", examples.iter().map(line).collect::<Vec<_>>().join(",\n"))
    }

    #[test]
    fn the_shared_examples_are_these() {
        let examples = all();
        assert!(examples.iter().filter(|example| example.is_sure).count() >= 8);
        assert!(examples.iter().filter(|example| !example.is_sure).count() >= 8);
        let text = as_json(&examples);
        if std::env::var_os("FG_BLESS").is_some() {
            std::fs::write(PATH, &text).unwrap();
        }
        let known = std::fs::read_to_string(PATH).unwrap_or_default();
        assert!(
            known == text,
            "to write tests/fixtures/significance.json anew: FG_BLESS=1 cargo test --lib examples"
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_are_what_weights_are_multiples_of() {
        let noted = |weights: &[&str]| {
            let mut sample = SampleWeight::default();
            weights.iter().for_each(|text| sample.note(Weight::parse(text.as_bytes()).unwrap()));
            (sample.get().to_string(), sample.is_certain())
        };
        assert_eq!(noted(&["3003", "1001", "2002"]), ("1001".into(), true));
        assert_eq!(noted(&["-3003", "1001", "-2002"]), ("1001".into(), true));
        assert_eq!(noted(&["1.429", "2.857"]), ("1.429".into(), false));
        assert_eq!(noted(&["0.25", "0.5", "1"]), ("0.25".into(), true));
        assert_eq!(noted(&["123457", "200003"]), ("123457".into(), false));
        assert_eq!(noted(&["1", "0.5"]), ("0.5".into(), true));
        assert_eq!(noted(&[]), ("1".into(), true));
    }

    #[test]
    fn files_of_a_side_have_one_step() {
        let noted = |weight: i128| {
            let mut sample = SampleWeight::default();
            sample.note(Weight::new(weight));
            sample
        };
        let mut all = SampleWeight::default();
        for part in [noted(30), SampleWeight::default(), noted(20)] {
            all.merge(part);
        }
        assert_eq!(all.get(), Weight::new(10));
    }

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
}
