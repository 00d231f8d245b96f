//! Permutation of runs: a check on the moderated t that assumes no law of chance.
//!
//! If nothing has changed, each way to divide the runs into two sides is as likely as the one that was recorded.
//! The largest statistic of all functions is computed for each division; the part of them in which it is at
//! least that of the recorded one is an exact p-value of "something has changed", whatever the runs' law and
//! however functions depend on each other (Westfall and Young 1993).

use super::moderated::{RunShares, Spread, mean};

/// The divisions that are looked at; with more, evenly chosen ones stand for all.
const MOST: u64 = 1000;
/// The functions that are looked at, the heaviest ones: more of them in a report only cost time.
const ROWS: usize = 2000;

/// The result of dividing the runs in other ways.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Permutation {
    /// The part of all divisions whose largest change is at least as sure as that of the recorded one.
    pub p: f64,
    /// The number of divisions looked at.
    pub divisions: usize,
}

/// Divides the runs of both sides anew; `None` if fewer than 100 divisions exist, which could tell little.
/// `families` are functions of which each family has a spread of its own: their shares, and their weights.
pub(crate) fn divide_anew(families: &[Vec<&RunShares>]) -> Option<Permutation> {
    let first = families.first()?.first()?;
    let (before, runs) = (first.before.len(), first.before.len() + first.after.len());
    let divisions = Divisions::of(runs, before);
    let is_alone = before.min(runs - before) < 2;
    if is_alone || divisions.count < 100 {
        return None;
    }
    let mut heavy = families.to_vec();
    for rows in &mut heavy {
        rows.sort_by(|a, b| b.mean().total_cmp(&a.mean()));
        rows.truncate(ROWS / families.len());
    }

    let recorded: Vec<usize> = (0..before).collect();
    let largest = |before: &[usize]| heavy.iter().map(|rows| largest(rows, before, runs)).fold(0.0, f64::max);
    let statistic = largest(&recorded);
    let (mut at_least, mut looked_at) = (0usize, 0usize);
    for chosen in divisions.chosen() {
        looked_at += 1;
        // The same numbers in another order add up to the same but for rounding.
        at_least += usize::from(largest(&chosen) >= statistic * (1.0 - 1e-9));
    }
    Some(Permutation { p: at_least as f64 / looked_at as f64, divisions: looked_at })
}

/// The ways to divide runs into two sides.
struct Divisions {
    runs: usize,
    before: usize,
    /// The number of ways, [`Divisions::MANY`] if it is larger.
    count: u64,
}

impl Divisions {
    const MANY: u64 = u64::MAX;

    fn of(runs: usize, before: usize) -> Divisions {
        let count = choices(runs as u64, before as u64).unwrap_or(Divisions::MANY);
        Divisions { runs, before, count }
    }

    /// At most [`MOST`] of them, of which the first is the recorded one: the runs before in each.
    fn chosen(&self) -> impl Iterator<Item = Vec<usize>> {
        let &Divisions { runs, before, count } = self;
        let mut state = SEED;
        (0..count.min(MOST)).map(move |n| match count {
            _ if n == 0 => (0..before).collect(),
            // They have no numbers: from 34 runs a side on there are more than a number holds.
            Divisions::MANY => any_division(&mut state, runs, before),
            _ => {
                let number = u128::from(n) * u128::from(count) / u128::from(count.min(MOST));
                division(number as u64, runs, before)
            }
        })
    }
}

/// The start of the numbers by which divisions are drawn: the same runs give the same answer.
const SEED: u64 = 0x9e37_79b9_7f4a_7c15;

/// Draws a division, each as likely as any other: a shuffle that ends after the first `k` (Fisher and Yates), with
/// numbers of splitmix64.
fn any_division(state: &mut u64, n: usize, k: usize) -> Vec<usize> {
    let mut below = |end: usize| {
        *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut number = *state;
        number = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        number ^= number >> 31;
        ((u128::from(number) * end as u128) >> 64) as usize
    };
    let mut runs: Vec<usize> = (0..n).collect();
    for at in 0..k {
        let other = at + below(n - at);
        runs.swap(at, other);
    }
    runs.truncate(k);
    runs.sort_unstable();
    runs
}

/// The largest statistic of all functions when these runs are those before.
fn largest(rows: &[&RunShares], before: &[usize], runs: usize) -> f64 {
    let mut is_before = vec![false; runs];
    before.iter().for_each(|&run| is_before[run] = true);
    let divided: Vec<RunShares> = rows.iter().map(|row| divide(row, &is_before)).collect();
    let spread = Spread::learn(&divided.iter().collect::<Vec<_>>());
    let statistic = |row: &RunShares| {
        let difference = (mean(&row.after) - mean(&row.before)).abs();
        if difference > 0.0 { difference / spread.deviation(row) } else { 0.0 }
    };
    divided.iter().map(statistic).fold(0.0, f64::max)
}

fn divide(row: &RunShares, is_before: &[bool]) -> RunShares {
    let mut divided = RunShares { is_informative: row.is_informative, ..RunShares::default() };
    let shares = row.before.iter().chain(&row.after);
    let expected = row.expected_before.iter().chain(&row.expected_after);
    for ((share, expected), is_before) in shares.zip(expected).zip(is_before) {
        let (shares, all) = match is_before {
            true => (&mut divided.before, &mut divided.expected_before),
            false => (&mut divided.after, &mut divided.expected_after),
        };
        shares.push(*share);
        all.push(*expected);
    }
    divided
}

/// The number of ways to choose `k` of `n`; `None` if it is too large.
fn choices(n: u64, k: u64) -> Option<u64> {
    let mut all: u128 = 1;
    for i in 0..u128::from(k.min(n - k)) {
        all = all * (u128::from(n) - i) / (i + 1);
        u64::try_from(all).ok()?;
    }
    u64::try_from(all).ok()
}

/// The division of a number, in the order of the lexicon: 0 has the first `k` of `n` runs.
fn division(mut number: u64, n: usize, k: usize) -> Vec<usize> {
    let mut chosen = Vec::with_capacity(k);
    for run in 0..n {
        let left = k - chosen.len();
        if left == 0 {
            break;
        }
        let with = choices((n - run - 1) as u64, left as u64 - 1).expect("a part of a number that fits");
        if number < with {
            chosen.push(run);
        } else {
            number -= with;
        }
    }
    chosen
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made(before: &[f64], after: &[f64]) -> RunShares {
        RunShares::made(before, after, 1e-6)
    }

    #[test]
    fn divisions_are_all_there_are() {
        let all: Vec<Vec<usize>> = (0..10).map(|number| division(number, 5, 2)).collect();
        assert_eq!(all.len(), 10);
        assert_eq!((&all[0][..], &all[9][..]), (&[0, 1][..], &[3, 4][..]));
        assert!(all.is_sorted() && all.windows(2).all(|two| two[0] != two[1]), "{all:?}");
        assert_eq!(choices(40, 20), Some(137_846_528_820));
        assert_eq!(choices(80, 40), None);
        assert_eq!(choices(100, 98), Some(4950), "as many as to leave two out");
    }

    /// C(68, 34) is more than 64 bits hold: all divisions began with the same runs, and the last ones were of no size.
    #[test]
    fn each_run_is_before_in_half_of_the_divisions_however_many_there_are() {
        for side in [5, 20, 33, 34, 40, 200] {
            let divisions: Vec<Vec<usize>> = Divisions::of(2 * side, side).chosen().collect();
            assert_eq!(divisions[0], (0..side).collect::<Vec<_>>());
            assert!(divisions.iter().all(|chosen| chosen.len() == side), "{side} runs a side");
            // The first run leads the first half of all, in their order; the others are as often on each side.
            for run in 1..2 * side {
                let before = divisions.iter().filter(|chosen| chosen.contains(&run)).count();
                let share = before as f64 / divisions.len() as f64;
                // Five deviations of a thousand throws.
                assert!((0.42..0.58).contains(&share), "run {run} of {side} a side: {share}");
            }
            assert_eq!(divisions, Divisions::of(2 * side, side).chosen().collect::<Vec<_>>());
        }
    }

    #[test]
    fn a_change_of_all_runs_is_the_rarest_division() {
        let still = made(&[0.2, 0.21, 0.19, 0.2, 0.2], &[0.2, 0.19, 0.21, 0.2, 0.2]);
        let moved = made(&[0.10, 0.101, 0.099, 0.1, 0.1], &[0.13, 0.131, 0.129, 0.13, 0.13]);
        let found = divide_anew(&[vec![&still, &moved]]).expect("ten runs are enough");
        // The recorded division and its mirror image.
        assert_eq!(found, Permutation { p: 2.0 / 252.0, divisions: 252 });
    }

    #[test]
    fn one_odd_run_is_in_every_division() {
        let odd = made(&[0.1, 0.1, 0.1, 0.1, 0.1], &[0.1, 0.1, 0.1, 0.1, 0.2]);
        assert_eq!(divide_anew(&[vec![&odd]]).expect("ten runs are enough").p, 1.0);
    }

    #[test]
    fn few_runs_tell_nothing() {
        let runs = |before: usize, after: usize| made(&vec![0.1; before], &vec![0.2; after]);
        assert_eq!(divide_anew(&[vec![&runs(4, 4)]]), None);
        assert_eq!(divide_anew(&[]), None);
        // The smaller side counts: three are enough, one is not; 105 divisions of fifteen runs leave out two.
        assert_eq!(divide_anew(&[vec![&runs(2, 13)]]).map(|found| found.divisions), Some(105));
        assert_eq!(divide_anew(&[vec![&runs(12, 3)]]).map(|found| found.divisions), Some(455));
        assert_eq!(divide_anew(&[vec![&runs(1, 120)]]), None);
    }
}
