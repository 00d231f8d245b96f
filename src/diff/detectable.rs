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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Profile;
    use crate::diff::{Diff, ReportOptions};

    const LIMITS: Limits = Limits { alpha: 0.01, min_effect: 0.5 };

    fn test(deviation: f64) -> Test {
        Test { p: 1.0, interval: (0.0, 0.0), deviation, freedom: f64::INFINITY }
    }

    #[test]
    fn points_and_percent_say_the_same() {
        // 2.576 + 0.842 deviations of one point.
        let found = Detectable::of_share(&test(1.0), 0.01, LIMITS, 0.1).unwrap();
        assert!((found.points - 3.4175).abs() < 1e-3, "{found:?}");
        // Ten of a hundred that grow by this much are as many of the larger whole.
        let grown = 10.0 * (1.0 + found.percent.unwrap() / 100.0);
        assert!((100.0 * grown / (90.0 + grown) - 10.0 - found.points).abs() < 1e-9);
        // Nothing below the least effect is ever found.
        assert_eq!(Detectable::of_share(&test(0.01), 0.01, LIMITS, 0.1).unwrap().points, 0.5);
        assert_eq!(Detectable::of_share(&test(1.0), 0.01, LIMITS, 0.0).unwrap().percent, None);
        assert_eq!(Detectable::of_share(&test(40.0), 0.01, LIMITS, 0.1).unwrap().percent, None);
        assert_eq!(Detectable::of_share(&test(f64::INFINITY), 0.01, LIMITS, 0.1), None);
        let whole = Detectable::of_weight(&test(20.0), 0.01, LIMITS, 1000.0).unwrap();
        assert!((whole.percent.unwrap() - 6.835).abs() < 2e-3, "{whole:?}");
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
        let options = ReportOptions::default().min_effect(0.0).period(crate::Weight::ONE);
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
        let options = ReportOptions::default().min_effect(0.0).period(crate::Weight::ONE);
        let report = Diff::new(&profile([1000; 40]), &profile(after)).report_with(&options).unwrap();
        let (mut sure, mut unsure) = (0, 0);
        for row in &report.rows {
            let Some(test) = row.own.test else { continue };
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
