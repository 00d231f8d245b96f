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

/// The tests of a change, each with the alpha of it as one of the tests of the report.
pub(super) struct Sight {
    /// The test of the share.
    pub(super) share: (Test, f64),
    /// The test of the weight, as a part of the whole; `None` where sides are scaled.
    pub(super) weight: Option<(Test, f64)>,
    /// True if a share that moved has to have moved in weight for sure.
    pub(super) asks_direction: bool,
    /// The share before.
    pub(super) before: f64,
}

impl Sight {
    /// The probability that a growth by this part of the whole is found, of share and weight.
    fn power(&self, growth: f64, limits: Limits) -> f64 {
        let least = limits.min_effect / 100.0;
        // What grew is measured with more spread: in proportion to its weight, or to the root where counts tell.
        let grown = |power: f64| {
            let ratio = if self.before > 0.0 { 1.0 + growth / self.before } else { 1.0 };
            f64::midpoint(1.0, ratio.powf(power)).sqrt()
        };
        let after = (self.before + growth) / (1.0 + growth);
        let (test, alpha) = &self.share;
        let mut by_share = test.power(after - self.before, *alpha, least, grown(1.0));
        let Some((test, alpha)) = &self.weight else { return by_share };
        let times = grown(if self.asks_direction { 2.0 } else { 1.0 });
        if self.asks_direction {
            by_share = by_share.min(test.power(growth, 2.0 * limits.alpha, least, times));
        }
        by_share.max(test.power(growth, *alpha, least, times))
    }
}

impl Detectable {
    /// The smallest change of a function.
    pub(super) fn of(sight: &Sight, limits: Limits) -> Option<Detectable> {
        if !sight.share.0.deviation.is_finite() {
            return None;
        }
        let growth = smallest(|growth| sight.power(growth, limits))?;
        let points = 100.0 * ((sight.before + growth) / (1.0 + growth) - sight.before);
        let percent = (sight.before > 0.0).then_some(100.0 * growth / sight.before);
        Some(Detectable { points, percent })
    }

    /// The smallest change of the weight of the whole, tested in percent.
    pub(super) fn of_whole(test: &Test, limits: Limits) -> Option<Detectable> {
        let power =
            |growth: f64| test.power(100.0 * growth, limits.alpha, limits.min_effect, 1.0 + growth / 2.0);
        let growth = smallest(power)?;
        Some(Detectable { points: 0.0, percent: Some(100.0 * growth) })
    }
}

/// The smallest growth that is found with the probability asked for; `None` if none up to the hundredfold is.
fn smallest(power: impl Fn(f64) -> f64) -> Option<f64> {
    let (mut low, mut high) = (1e-9f64, 100.0f64);
    if power(high) < POWER {
        return None;
    }
    for _ in 0..60 {
        let middle = (low * high).sqrt();
        if power(middle) >= POWER { high = middle } else { low = middle }
    }
    Some(high)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Profile;
    use crate::diff::{Diff, ReportOptions};

    const LIMITS: Limits = Limits { alpha: 0.01, min_effect: 0.5 };

    fn test(deviation: f64) -> Test {
        Test { p: 1.0, interval: (0.0, 0.0), deviation, freedom: f64::INFINITY }
    }

    fn of(deviation: f64, before: f64) -> Option<Detectable> {
        let sight = Sight { share: (test(deviation), 0.01), weight: None, asks_direction: false, before };
        Detectable::of(&sight, LIMITS)
    }

    #[test]
    fn points_and_percent_say_the_same() {
        // A little more than 2.576 + 0.842 deviations of one point, as what grew is measured with more spread.
        let found = of(0.01, 0.1).unwrap();
        assert!((3.4..3.9).contains(&found.points), "{found:?}");
        // Ten of a hundred that grow by this much are as many of the larger whole.
        let grown = 10.0 * (1.0 + found.percent.unwrap() / 100.0);
        assert!((100.0 * grown / (90.0 + grown) - 10.0 - found.points).abs() < 1e-9);
        // A change of the least effect is as often seen smaller as larger.
        let least = of(1e-6, 0.1).unwrap();
        assert!((0.5..0.501).contains(&least.points), "{least:?}");
        assert_eq!(of(0.01, 0.0).unwrap().percent, None);
        assert_eq!((of(0.6, 0.1), of(f64::INFINITY, 0.1)), (None, None));
        let whole = Detectable::of_whole(&test(2.0), LIMITS).unwrap();
        assert!((6.83..7.2).contains(&whole.percent.unwrap()), "{whole:?}");
        // Runs that are equal to the last digit would show anything.
        let equal = Detectable::of_whole(&test(0.0), LIMITS).unwrap();
        assert!((0.5..0.501).contains(&equal.percent.unwrap()), "{equal:?}");
    }

    /// scipy.stats.nct.sf(t.ppf(1 - alpha / 2, freedom), freedom, difference), within two points.
    #[test]
    fn power_is_that_of_the_noncentral_t() {
        for (freedom, alpha, difference, power) in [
            (4.0, 0.01, 8.0, 0.9695),
            (8.0, 0.001, 7.0, 0.9051),
            (14.0, 0.0001, 8.0, 0.9711),
            (1e9, 0.01, 3.0, 0.6643),
        ] {
            let test = Test { freedom, ..test(1.0) };
            let found = test.power(difference, alpha, 0.0, 1.0);
            assert!((found - power).abs() < 0.02, "{freedom} {alpha}: {found} {power}");
        }
    }

    /// A change of the size that a report names is found, by about its probability: a change half as
    /// large is not, and one half again as large is.
    #[test]
    fn a_report_finds_what_it_says_it_would_find() {
        let profile = |hits: f64| {
            let lines = (0..50).map(|n| format!("m;f{n:02} {}", if n == 7 { hits.round() } else { 400.0 }));
            Profile::from_lines(lines).unwrap()
        };
        let before = profile(400.0);
        let options = ReportOptions::default().one_run(true).min_effect(0.0).period(crate::Weight::ONE);
        let alike = Diff::new(&before, &profile(401.0)).report_with(&options).unwrap();
        let row = alike.rows.iter().find(|row| row.name == b"f07").unwrap();
        let percent = row.own.detectable.unwrap().percent.unwrap();
        assert!(alike.detectable().unwrap().points >= row.own.detectable.unwrap().points);
        let found = |factor: f64| {
            let after = profile(400.0 * (1.0 + factor * percent / 100.0));
            let report = Diff::new(&before, &after).report_with(&options).unwrap();
            report.rows.iter().any(|row| row.name == b"f07" && row.own.significant)
        };
        assert!(!found(0.5) && found(1.5), "{percent}");
    }

    #[test]
    fn intervals_leave_out_zero_if_the_change_passes() {
        let profile = |hits: [u32; 40]| {
            let lines = hits.iter().enumerate().map(|(n, hits)| format!("m;f{n:02} {hits}"));
            Profile::from_lines(lines).unwrap()
        };
        let mut after = [1000; 40];
        for (n, hits) in after.iter_mut().enumerate() {
            *hits += 15 * (n as u32).saturating_sub(20);
        }
        let options = ReportOptions::default().one_run(true).min_effect(0.0).period(crate::Weight::ONE);
        let report = Diff::new(&profile([1000; 40]), &profile(after)).report_with(&options).unwrap();
        let (mut sure, mut unsure) = (0, 0);
        for row in &report.rows {
            let Some(test) = row.own.share else { continue };
            // Near the limit, the pooled share of the test and the interval's own may disagree.
            if (0.5..2.0).contains(&(test.p / options.alpha)) {
                continue;
            }
            let leaves_out = test.interval.0 > 0.0 || test.interval.1 < 0.0;
            assert_eq!(leaves_out, test.p < options.alpha, "{:?} {test:?}", row.name);
            if leaves_out { sure += 1 } else { unsure += 1 }
        }
        assert!(sure > 3 && unsure > 3, "{sure} {unsure}");
    }
}
