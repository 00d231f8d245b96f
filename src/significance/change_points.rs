//! The places where a series of measurements changes for good: divisive clustering by energy statistics, each found
//! division held against Student's t (Fleming and others, Hunter, arXiv 2301.03034).

use super::moderated::{mean, squares};
use super::{Test, by_t};

/// Measurements on each side of a change, at least: one that comes once is no change for good.
const LEAST: usize = 3;
/// The measurements that are looked at, the latest: the work grows with their square.
const MOST: usize = 1000;

/// A change of a series.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ChangePoint {
    /// The number of the first measurement after it.
    pub at: usize,
    /// The mean from the change before it on, and the mean until the next one.
    pub means: (f64, f64),
    /// The numbers of measurements that these are of.
    pub counts: (usize, usize),
    /// The probability of it without a change, over all places where it could be and all series.
    pub p: f64,
}

/// The changes of a series, in order, of which each has at most the probability `alpha` without a change. `series` is
/// the number of series that are looked at together, and `least` the smallest difference of means.
pub(crate) fn change_points(values: &[f64], alpha: f64, series: usize, least: f64) -> Vec<ChangePoint> {
    let skipped = values.len().saturating_sub(MOST);
    let values = &values[skipped..];
    let mut bounds = vec![0, values.len()];
    let mut open = vec![(0, values.len())];
    while let Some((begin, end)) = open.pop() {
        let Some(at) = division(&values[begin..end]).map(|at| begin + at) else { continue };
        let test = compare(&values[begin..at], &values[at..end], alpha);
        if places(&values[begin..end], series) * test.p < alpha {
            bounds.push(at);
            open.extend([(begin, at), (at, end)]);
        }
    }
    bounds.sort_unstable();
    // What divided a long part may not divide the short ones that are left of it.
    loop {
        let found = judged(values, &bounds, alpha, series);
        let weakest = found
            .iter()
            .enumerate()
            .filter(|(_, change)| change.p >= alpha || (change.means.1 - change.means.0).abs() < least)
            .max_by(|a, b| a.1.p.total_cmp(&b.1.p));
        match weakest {
            Some((number, _)) => bounds.remove(number + 1),
            None => {
                return found
                    .into_iter()
                    .map(|change| ChangePoint { at: change.at + skipped, ..change })
                    .collect();
            }
        };
    }
}

/// The changes at the inner ones of these bounds.
fn judged(values: &[f64], bounds: &[usize], alpha: f64, series: usize) -> Vec<ChangePoint> {
    let change = |bounds: &[usize]| {
        let (before, after) = (&values[bounds[0]..bounds[1]], &values[bounds[1]..bounds[2]]);
        let p = places(&values[bounds[0]..bounds[2]], series) * compare(before, after, alpha).p;
        ChangePoint {
            at: bounds[1],
            means: (mean(before), mean(after)),
            counts: (before.len(), after.len()),
            p: p.min(1.0),
        }
    };
    bounds.windows(3).map(change).collect()
}

/// The number of chances that there were to find a change.
fn places(values: &[f64], series: usize) -> f64 {
    values.len().saturating_sub(2 * LEAST - 1).max(1) as f64 * series as f64
}

/// The place that divides values into the two parts that are most unlike, by the energy statistic.
fn division(values: &[f64]) -> Option<usize> {
    let n = values.len();
    if n < 2 * LEAST {
        return None;
    }
    let distances = |of: f64, among: &[f64]| among.iter().map(|other| (of - other).abs()).sum::<f64>();
    let mut right: f64 = (0..n).map(|at| distances(values[at], &values[at + 1..])).sum();
    let all = right;
    let mut left = 0.0;
    let mut best = (0.0, None);
    for at in 1..n {
        // One moves from the right to the left.
        left += distances(values[at - 1], &values[..at - 1]);
        right -= distances(values[at - 1], &values[at..]);
        if !(LEAST..=n - LEAST).contains(&at) {
            continue;
        }
        let (m, k) = (at as f64, (n - at) as f64);
        let between = all - left - right;
        let energy = 2.0 * between / (m * k) - left / (m * (m - 1.0) / 2.0) - right / (k * (k - 1.0) / 2.0);
        let statistic = m * k / (m + k) * energy;
        if statistic > best.0 {
            best = (statistic, Some(at));
        }
    }
    best.1
}

/// Student's test of two parts of one spread. Values that never spread do so by rounding at least.
fn compare(before: &[f64], after: &[f64], alpha: f64) -> Test {
    let freedom = (before.len() + after.len()) as f64 - 2.0;
    let largest = before.iter().chain(after).fold(0.0_f64, |most, value| most.max(value.abs()));
    let variance = ((squares(before) + squares(after)) / freedom).max((largest * 1e-6).powi(2));
    let deviation = (variance * (1.0 / before.len() as f64 + 1.0 / after.len() as f64)).sqrt();
    by_t(mean(after) - mean(before), deviation, freedom, alpha)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers that look like chance, about evenly spread in ±1.
    fn noise(seed: u64) -> impl FnMut() -> f64 {
        let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
        move || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state >> 11) as f64 / (1u64 << 52) as f64 - 1.0
        }
    }

    /// A series of these levels, each of so many measurements.
    fn series(seed: u64, levels: &[(f64, usize)]) -> Vec<f64> {
        let mut noise = noise(seed);
        levels
            .iter()
            .flat_map(|&(level, count)| vec![level; count])
            .map(|level| level * (1.0 + 0.02 * noise()))
            .collect()
    }

    fn places_of(values: &[f64]) -> Vec<usize> {
        change_points(values, 0.01, 1, 0.0).iter().map(|change| change.at).collect()
    }

    #[test]
    fn changes_are_found_where_they_are() {
        for seed in 1..40 {
            let values = series(seed, &[(100.0, 20), (110.0, 17), (104.0, 11), (140.0, 12)]);
            assert_eq!(places_of(&values), [20, 37, 48], "{seed}");
        }
        let one = change_points(&series(3, &[(100.0, 9), (130.0, 3)]), 0.01, 1, 0.0);
        assert_eq!((one.len(), one[0].at, one[0].counts), (1, 9, (9, 3)));
        assert!(
            (one[0].means.0 - 100.0).abs() < 2.0 && (one[0].means.1 - 130.0).abs() < 2.0 && one[0].p < 1e-4
        );
    }

    #[test]
    fn without_a_change_none_is_found() {
        let found: usize = (1..300).map(|seed| places_of(&series(seed, &[(100.0, 60)])).len()).sum();
        assert!(found <= 6, "{found} of 299");
        assert_eq!(places_of(&[5.0; 30]), [0; 0]);
        assert_eq!(places_of(&[]), [0; 0]);
        // One measurement apart is none for good.
        let mut values = series(5, &[(100.0, 30)]);
        values[15] = 180.0;
        assert_eq!(places_of(&values), [0; 0]);
    }

    #[test]
    fn small_changes_and_many_series_need_more() {
        let values = series(7, &[(100.0, 20), (102.0, 20)]);
        assert_eq!(change_points(&values, 0.01, 1, 0.0).len(), 1);
        assert_eq!(change_points(&values, 0.01, 1, 5.0).len(), 0);
        assert_eq!(change_points(&values, 0.01, 1_000_000_000, 0.0).len(), 0);
    }
}
