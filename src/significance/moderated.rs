//! Moderated t: tests of many functions by few runs.
//!
//! Three runs a side say little about the spread of one function, and much about the spread of fifty.
//! The variance of each function between runs is compared with the one that is expected of it; the
//! quotients of all functions are taken as draws from one scaled F distribution, which is fitted, and each
//! is drawn towards its centre. That is the empirical Bayes method of limma (Smyth 2004), whose
//! `fitFDist` and `squeezeVar` are the oracles here.

use super::distributions::F;
use super::gamma::{digamma, trigamma, trigamma_inverse};
use super::t_test::{by_t, welch_freedom};
use super::{Test, UNKNOWN};

/// The shares of one function in all runs.
#[derive(Clone, Debug, Default)]
pub(crate) struct RunShares {
    /// The share in each run before.
    pub(crate) before: Vec<f64>,
    /// The share in each run after.
    pub(crate) after: Vec<f64>,
    /// The variance of a share that is expected from within the runs, for each run before.
    pub(crate) expected_before: Vec<f64>,
    /// Likewise after.
    pub(crate) expected_after: Vec<f64>,
    /// True if it has enough samples to tell something about the spread of others.
    pub(crate) is_informative: bool,
    /// True if each run after belongs to the run before of the same number: what drifts moves both.
    pub(crate) is_paired: bool,
}

impl RunShares {
    /// The mean share, of the means of both sides.
    pub(crate) fn mean(&self) -> f64 {
        f64::midpoint(mean(&self.before), mean(&self.after))
    }

    fn freedom(&self) -> f64 {
        match self.is_paired {
            true => self.before.len() as f64 - 1.0,
            false => (self.before.len() + self.after.len()) as f64 - 2.0,
        }
    }

    /// The variance between runs: pooled of both sides, or half of that of the differences of pairs.
    fn variance(&self) -> f64 {
        if self.is_paired {
            let differences: Vec<f64> = self.before.iter().zip(&self.after).map(|(b, a)| a - b).collect();
            return squares(&differences) / self.freedom() / 2.0;
        }
        (squares(&self.before) + squares(&self.after)) / self.freedom()
    }

    fn expected(&self) -> f64 {
        let count = self.expected_before.len() + self.expected_after.len();
        self.expected_before.iter().chain(&self.expected_after).sum::<f64>() / count as f64
    }

    /// The expected variance of the difference of both means.
    fn expected_of_difference(&self) -> f64 {
        let of_mean = |expected: &[f64]| expected.iter().sum::<f64>() / (expected.len() as f64).powi(2);
        of_mean(&self.expected_before) + of_mean(&self.expected_after)
    }
}

/// The degrees of freedom of a sum of variances, of which some may be known for sure.
pub(crate) fn sum_freedom(a: (f64, f64), b: (f64, f64)) -> f64 {
    if a.0 + b.0 > 0.0 { welch_freedom(a, b) } else { a.1.min(b.1) }
}

/// The mean of some values.
pub(crate) fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// The sum of the squared distances from the mean.
pub(crate) fn squares(values: &[f64]) -> f64 {
    let middle = mean(values);
    values.iter().map(|value| (value - middle).powi(2)).sum()
}

/// The least factor between the variance expected within runs and that between them. Blocks of time overestimate a
/// program that does the same in each run, one phase behind the other, but hardly by more than twice the deviation;
/// a few runs agree better than that by chance.
const LEAST_FACTOR: f64 = 0.25;

/// The spread between runs, learnt from many functions.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Spread {
    /// The squared relative spread of a function between runs, beyond that within them: a run may be slow
    /// in a function as a whole. It is the trend of the variance with the share.
    between: f64,
    prior: Prior,
    /// The quotients of the functions that the prior was learnt from, ascending.
    quotients: Vec<f64>,
}

/// A prior of variances: a scaled inverse chi-square distribution.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Prior {
    /// Its centre.
    pub(crate) variance: f64,
    /// Its degrees of freedom: infinite if all variances are taken to be one, 0 without a prior.
    pub(crate) freedom: f64,
}

impl Prior {
    /// The variance in the light of the prior (limma's `squeezeVar`).
    pub(crate) fn squeeze(self, variance: f64, freedom: f64) -> f64 {
        if self.freedom.is_infinite() {
            return self.variance;
        }
        (freedom * variance + self.freedom * self.variance) / (freedom + self.freedom)
    }

    /// Fits the prior to variances of the same degrees of freedom, by moments of their logarithms
    /// (limma's `fitFDist`).
    pub(crate) fn fit(variances: &[f64], freedom: f64) -> Prior {
        let count = variances.len() as f64;
        if variances.len() < 2 {
            return Prior { variance: variances.first().copied().unwrap_or(1.0), freedom: 0.0 };
        }
        let middle = median(variances);
        let least = 1e-5 * if middle > 0.0 { middle } else { 1.0 };
        let ln: Vec<f64> = variances.iter().map(|v| v.max(least).ln()).collect();
        let centre = mean(&ln) - digamma(freedom / 2.0) + (freedom / 2.0).ln();
        let excess = squares(&ln) / (count - 1.0) - trigamma(freedom / 2.0);
        if excess <= 0.0 {
            return Prior {
                variance: variances.iter().map(|v| v.max(least)).sum::<f64>() / count,
                freedom: f64::INFINITY,
            };
        }
        let prior = 2.0 * trigamma_inverse(excess);
        let variance = (centre + digamma(prior / 2.0) - (prior / 2.0).ln()).exp();
        Prior { variance, freedom: prior }
    }
}

fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let half = sorted.len() / 2;
    if sorted.len() % 2 == 1 { sorted[half] } else { f64::midpoint(sorted[half - 1], sorted[half]) }
}

impl Spread {
    /// Learns the spread from the functions that have enough samples.
    pub(crate) fn learn(rows: &[&RunShares]) -> Spread {
        let informative: Vec<&RunShares> =
            rows.iter().copied().filter(|row| row.is_informative && row.expected() > 0.0).collect();
        let quotients: Vec<f64> = informative.iter().map(|row| row.variance() / row.expected()).collect();
        let heights: Vec<f64> = informative.iter().map(|row| row.mean().powi(2) / row.expected()).collect();
        let freedom = informative.first().map_or(1.0, |row| row.freedom());
        let between = slope(&quotients, &heights, freedom);
        let relative: Vec<f64> = quotients
            .iter()
            .zip(&heights)
            .map(|(quotient, height)| quotient / (1.0 + between * height))
            .collect();
        let prior = Prior::fit(&relative, freedom);
        let mut quotients = relative;
        quotients.sort_by(f64::total_cmp);
        Spread { between, prior, quotients }
    }

    /// The degrees of freedom of the prior: at most a quarter of those that all functions have together, which do
    /// not tell more of it.
    fn prior_freedom(&self, own: f64) -> f64 {
        self.prior.freedom.min(own * self.quotients.len() as f64 / 4.0)
    }

    /// The prior for a function with this quotient of its variance and the expected one.
    ///
    /// A function may differ between runs by more than all others do: a table whose hashes are random, a lock.
    /// The less likely a quotient as large is by the prior, beside the part of the functions that have one, the less
    /// the prior says of it (Phipson, Lee, Majewski, Alexander and Smyth 2016).
    fn prior_for(&self, quotient: f64, freedom: f64) -> Prior {
        let count = self.quotients.len() as f64;
        let prior = Prior { freedom: self.prior_freedom(freedom), ..self.prior };
        if prior.freedom <= 0.0 {
            return prior;
        }
        let smaller = self.quotients.partition_point(|other| *other < quotient * (1.0 - 1e-9));
        let as_large = (count - smaller as f64 - 0.5) / count;
        let chance = F { freedom: (freedom, prior.freedom) }.upper(quotient / prior.variance);
        Prior { freedom: prior.freedom * (chance / as_large).min(1.0), ..prior }
    }

    /// The factor between the variance that is expected within runs and the one that holds between them; at least
    /// [`LEAST_FACTOR`].
    pub(crate) fn factor(&self, row: &RunShares) -> f64 {
        self.squeezed(row).0
    }

    /// [`Spread::factor`], and the degrees of freedom that the variance is known with.
    fn squeezed(&self, row: &RunShares) -> (f64, f64) {
        let (own, expected) = (row.freedom(), row.expected());
        if expected <= 0.0 {
            return (1.0, own + self.prior_freedom(own));
        }
        let trend = 1.0 + self.between * row.mean().powi(2) / expected;
        if !row.is_informative {
            return (trend.max(row.variance() / expected), own + self.prior_freedom(own));
        }
        let quotient = row.variance() / (expected * trend);
        let prior = self.prior_for(quotient, own);
        let factor = trend * prior.squeeze(quotient, own);
        (factor.max(LEAST_FACTOR), own + prior.freedom)
    }

    /// Tests whether the shares of a function differ between both sides.
    pub(crate) fn test(&self, row: &RunShares, alpha: f64) -> Test {
        let own = row.freedom();
        if own < 1.0 {
            return UNKNOWN;
        }
        let difference = mean(&row.after) - mean(&row.before);
        let (factor, freedom) = self.squeezed(row);
        by_t(difference, (factor * row.expected_of_difference()).sqrt(), freedom, alpha)
    }

    /// The standard deviation of the difference of both means.
    pub(super) fn deviation(&self, row: &RunShares) -> f64 {
        (self.factor(row) * row.expected_of_difference()).sqrt()
    }
}

/// The slopes that are tried: a spread between runs of 0.05% to 100%, of which neighbours differ by 12%.
const SLOPES: i32 = 66;

/// The slope, not below 0, of the line through 1 that the quotients scatter around: the one with the least sum of
/// absolute distances in logarithms. Variances scatter by factors, and a few functions that differ much from run
/// to run, such as those of garbage collection, say nothing about the others.
pub(crate) fn slope(quotients: &[f64], heights: &[f64], freedom: f64) -> f64 {
    // The median of a variance of one with these degrees of freedom (Wilson and Hilferty).
    let middle = 3.0 * (1.0 - 2.0 / (9.0 * freedom)).ln();
    let distance = |slope: f64| -> f64 {
        let of_one = |(quotient, height): (&f64, &f64)| {
            (quotient.max(1e-12).ln() - middle - (1.0 + slope * height).ln()).abs()
        };
        quotients.iter().zip(heights).map(of_one).sum()
    };
    let steps = (0..SLOPES).map(|step| 2.5e-7 * 10f64.powf(f64::from(step) / 10.0));
    let mut best = (distance(0.0), 0.0);
    for slope in steps {
        let found = distance(slope);
        if found < best.0 - 1e-12 {
            best = (found, slope);
        }
    }
    best.1
}

#[cfg(test)]
impl RunShares {
    /// Shares as they may be, each with one expected variance.
    pub(super) fn made(before: &[f64], after: &[f64], expected: f64) -> RunShares {
        RunShares {
            before: before.to_vec(),
            after: after.to_vec(),
            expected_before: vec![expected; before.len()],
            expected_after: vec![expected; after.len()],
            is_informative: true,
            is_paired: false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_all_functions_show_adds_to_the_freedom_of_each() {
        let row = |n: u32, is_informative: bool, expected: f64| {
            let share = |run: u32| 0.1 + 1e-3 * f64::from((n * 7 + run * run * 3) % 11);
            RunShares {
                before: (0..3).map(share).collect(),
                after: (3..6).map(share).collect(),
                expected_before: vec![expected; 3],
                expected_after: vec![expected; 3],
                is_informative,
                is_paired: false,
            }
        };
        let rows: Vec<RunShares> = (0..12).map(|n| row(n, true, 1e-6)).collect();
        let spread = Spread::learn(&rows.iter().collect::<Vec<_>>());
        let prior = spread.prior_freedom(4.0);
        assert!(prior > 0.0 && prior <= 12.0, "{spread:?}");
        // One that nothing is expected of teaches nothing.
        let unexpected = row(0, true, 0.0);
        let more: Vec<&RunShares> = rows.iter().chain([&unexpected]).collect();
        assert_eq!(Spread::learn(&more), spread);
        // Of one that nothing is expected of, and of one that has too few samples.
        assert_eq!(spread.squeezed(&row(0, true, 0.0)), (1.0, 4.0 + prior));
        assert_eq!(spread.squeezed(&row(0, false, 1e-6)).1, 4.0 + prior);
    }

    /// As in limma, which counts the smallest variances as a part of the median, or of 1 if that is zero.
    #[test]
    fn variances_of_nothing_are_raised_to_a_part_of_the_median() {
        let fit = |variances: [f64; 5]| Prior::fit(&variances, 4.0);
        assert_eq!(fit([0.0, 1e-9, 3.0, 5.0, 7.0]), fit([3e-5, 3e-5, 3.0, 5.0, 7.0]));
        assert_eq!(fit([0.0, 0.0, 0.0, 5.0, 7.0]), fit([1e-5, 1e-5, 1e-5, 5.0, 7.0]));
        let of_none = fit([0.0; 5]);
        assert!(of_none.variance == 1e-5 && of_none.freedom.is_infinite(), "{of_none:?}");
    }

    #[test]
    fn runs_that_do_not_differ_at_all_are_as_sure_as_the_prior() {
        let still = RunShares::made(&[0.125; 3], &[0.125; 3], 1e-6);
        let spread = Spread::learn(&[&still; 12]);
        assert_eq!(spread.squeezed(&still), (LEAST_FACTOR, 4.0 + 12.0));
    }

    #[test]
    fn the_deviation_is_that_of_the_test() {
        let row = |jitter: f64| {
            let (before, after) =
                ([0.10, 0.10 + jitter, 0.10 - jitter], [0.12, 0.12 - jitter, 0.12 + jitter]);
            RunShares { expected_before: vec![4e-6; 3], ..RunShares::made(&before, &after, 1e-6) }
        };
        let rows = [row(0.001), row(0.002), row(0.004), row(0.008)];
        let spread = Spread::learn(&rows.iter().collect::<Vec<_>>());
        for row in &rows {
            let deviation = spread.deviation(row);
            assert_eq!(deviation, spread.test(row, 0.05).deviation);
            // At least a half of what is expected within the runs.
            let least = LEAST_FACTOR * (3.0 * 4e-6 + 3.0 * 1e-6) / 9.0;
            assert!(deviation.powi(2) >= least * (1.0 - 1e-12), "{deviation}");
        }
    }

    #[test]
    fn a_few_wild_functions_do_not_bend_the_trend() {
        // Quotients of two and a half per unit of height, as a spread of 2.5 has them.
        let heights: Vec<f64> = (0..20).map(|n| 1.5f64.powi(n)).collect();
        let mut quotients: Vec<f64> = heights.iter().map(|height| 1.0 + 2.5e-3 * height).collect();
        let calm = slope(&quotients, &heights, 1e6);
        assert!((2.2e-3..2.8e-3).contains(&calm), "{calm}");
        for n in [17, 18, 19] {
            quotients[n] *= 1000.0;
        }
        assert_eq!(slope(&quotients, &heights, 1e6), calm);
        assert_eq!(slope(&[0.5, 0.25], &[1.0, 2.0], 4.0), 0.0);
    }

    #[test]
    fn a_calm_function_is_not_as_wild_as_the_trend() {
        // Twelve functions that differ by a tenth from run to run, and one that does not.
        let row = |n: i32, spread: f64| {
            let share = 0.02 + 0.002 * f64::from(n);
            let of = |run: i32| share * (1.0 + spread * (f64::from((n * 5 + run * run * 3) % 7) / 3.0 - 1.0));
            let runs = |from: i32| (from..from + 8).map(of).collect::<Vec<_>>();
            RunShares::made(&runs(0), &runs(8), share * (1.0 - share) / 1e4)
        };
        let mut rows: Vec<RunShares> = (0..12).map(|n| row(n, 0.1)).collect();
        let heavy = row(100, 0.004);
        rows.push(heavy.clone());
        let spread = Spread::learn(&rows.iter().collect::<Vec<_>>());
        let of_trend = 0.1 * heavy.mean() * (2.0f64 / 8.0).sqrt();
        assert!(spread.deviation(&heavy) < 0.2 * of_trend, "{} {of_trend}", spread.deviation(&heavy));
    }

    #[test]
    fn pairs_are_measured_by_their_differences() {
        let drift = [0.0, 0.06, 0.12, 0.18, 0.24];
        let before: Vec<f64> = drift.iter().map(|drift| 0.1 + drift).collect();
        let after: Vec<f64> = drift.iter().enumerate().map(|(n, d)| 0.12 + d + 1e-4 * n as f64).collect();
        let apart = RunShares::made(&before, &after, 1e-9);
        let pairs = RunShares { is_paired: true, ..apart.clone() };
        assert!((pairs.variance() - 1.25e-8).abs() < 1e-12 && pairs.freedom() == 4.0);
        assert!(apart.variance() > 1e-3 && apart.freedom() == 8.0);
    }
}
