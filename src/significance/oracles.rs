//! The tests against published numbers: R's `phyper`, `fisher.test`, `t.test`, `prop.test`, `p.adjust`,
//! limma's `squeezeVar`. `tests/fixtures/significance-oracles.R` made them. (scipy 1.17's `fisher_exact`
//! and `ttest_ind` agree with them to the last digit shown.)

use serde_json::Value;

use super::gamma::{digamma, trigamma, trigamma_inverse};
use super::moderated::{Prior, RunShares, Spread};
use super::*;

const PATH: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/significance-oracles.json");

/// The numbers of scipy; `tests/fixtures/significance-scipy.py` made them.
const SCIPY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/significance-scipy.json");

fn oracles(of: &str) -> Value {
    numbers_of(PATH, of)
}

fn numbers_of(path: &str, of: &str) -> Value {
    let text = std::fs::read_to_string(path).unwrap();
    serde_json::from_str::<Value>(&text).unwrap()[of].take()
}

fn as_float(value: &Value) -> f64 {
    if value == "infinite" { f64::INFINITY } else { value.as_f64().unwrap() }
}

fn numbers(value: &Value) -> Vec<f64> {
    value.as_array().unwrap().iter().map(as_float).collect()
}

fn assert_near(ours: f64, oracle: f64, error: f64, what: &str) {
    let is_near = ours == oracle || ((ours - oracle) / oracle).abs() <= error;
    assert!(is_near, "{what}: {ours} is not {oracle}");
}

fn counts(case: &Value) -> (Count, Count) {
    let count = |hits: &str, of: &str| Count { hits: as_float(&case[hits]), of: as_float(&case[of]) };
    (count("x", "n"), count("y", "m"))
}

#[test]
fn few_hits_are_those_of_r_however_many_samples() {
    for case in oracles("fisher").as_array().unwrap() {
        let (before, after) = counts(case);
        let p = as_float(&case["p"]);
        let ours = exact(before, after);
        // R takes one less the other tail here, which is one unit of the last place.
        let allowed = if before.of == 1.0 { 0.6 } else { 1e-9 };
        if p > 0.0 {
            assert_near(ours, p, allowed, &case.to_string());
        } else {
            assert!(ours < 1e-300, "{case}: {ours}");
        }
        assert_near(exact(after, before), ours, 1e-9, "swapped");
    }
    for case in oracles("fisher.test").as_array().unwrap() {
        let (before, after) = counts(case);
        assert_near(compare_shares(before, after, 0.05).p, as_float(&case["p"]), 1e-9, &case.to_string());
    }
}

/// Each of these took minutes to days, one term for each hit, or overflowed a sum of 64 bits.
#[test]
fn huge_counts_are_tested_at_once() {
    let count = |hits: f64, of: f64| Count { hits, of };
    for (before, after) in [
        (count(1e6, 1e6), count(1e6, 1e12)),
        (count(1e9, 1e9), count(1e9, 1e18)),
        (count(1e12, 1e12), count(1e12, 1e24)),
        (count(1.0, 1.0), count(1.8e19, 1.8e19)),
        (count(0.0, 9.3e18), count(9.2e18, 9.3e18)),
        (count(50.0, 1.8e19), count(90.0, 1.8e19)),
        (count(1e300, 1e300), count(1.0, 1e300)),
    ] {
        for (before, after) in [(before, after), (after, before)] {
            let test = compare_shares(before, after, 0.01);
            assert!((0.0..=1.0).contains(&test.p), "{before:?} {after:?}: {test:?}");
        }
    }
    // A share that is the same on both sides is no change, and one that is not is.
    assert!(compare_shares(count(1e9, 1e9), count(1e18, 1e18), 0.01).p > 0.9);
    assert!(compare_shares(count(0.0, 9.3e18), count(9.2e18, 9.3e18), 0.01).p < 1e-9);
    // Poisson's limit: 50 against 90 of any number is 50 heads of 140 coins.
    assert_near(
        compare_shares(count(50.0, 1.8e19), count(90.0, 1.8e19), 0.01).p,
        9.131128740016e-4,
        1e-9,
        "coins",
    );
}

#[test]
fn runs_are_those_of_r() {
    for case in oracles("t.test").as_array().unwrap() {
        let test = compare_runs(&numbers(&case["before"]), &numbers(&case["after"]), (0.0, 0.0), 0.05);
        let what = case.to_string();
        assert_near(test.p, as_float(&case["p"]), 1e-9, &what);
        assert_near(test.interval.0, as_float(&case["low"]), 1e-9, &what);
        assert_near(test.interval.1, as_float(&case["high"]), 1e-9, &what);
        assert_near(test.freedom, as_float(&case["freedom"]), 1e-9, &what);
    }
}

#[test]
fn p_intervals_and_power_are_those_of_scipy() {
    let mut tried = 0;
    for case in numbers_of(SCIPY, "runs").as_array().unwrap() {
        let test = compare_runs(&numbers(&case["before"]), &numbers(&case["after"]), (0.0, 0.0), 0.05);
        let ours = [test.p, test.interval.0, test.interval.1, test.freedom];
        for (ours, key) in ours.into_iter().zip(["p", "low", "high", "freedom"]) {
            assert_near(ours, as_float(&case[key]), 1e-8, &format!("{key} of {case}"));
        }
        tried += 1;
    }
    for case in numbers_of(SCIPY, "moderated").as_array().unwrap() {
        let [difference, deviation, freedom, alpha] =
            ["difference", "deviation", "freedom", "alpha"].map(|key| as_float(&case[key]));
        let test = by_t(difference, deviation, freedom, alpha);
        for (ours, key) in [test.p, test.interval.0, test.interval.1].into_iter().zip(["p", "low", "high"]) {
            assert_near(ours, as_float(&case[key]), 1e-8, &format!("{key} of {case}"));
        }
        tried += 1;
    }
    for case in numbers_of(SCIPY, "power").as_array().unwrap() {
        let [difference, freedom, alpha, power] =
            ["difference", "freedom", "alpha", "power"].map(|key| as_float(&case[key]));
        let ours = by_t(0.0, 1.0, freedom, alpha).power(difference, alpha, 0.0, 1.0);
        // It is an approximation of the noncentral t distribution.
        assert!((ours - power).abs() < 0.03, "power of {case}: {ours}");
        tried += 1;
    }
    assert_eq!(tried, 60);
}

#[test]
fn many_hits_are_those_of_r() {
    for case in oracles("prop.test").as_array().unwrap() {
        let (before, after) = counts(case);
        assert_near(compare_shares(before, after, 0.05).p, as_float(&case["p"]), 1e-9, &case.to_string());
    }
    // Agresti and Caffo 2000, section 2: one success and one failure more on each side.
    let test = compare_shares(Count { hits: 8.0, of: 10.0 }, Count { hits: 3.0, of: 10.0 }, 0.05);
    let (a, b) = (9.0 / 12.0, 4.0 / 12.0f64);
    let half = 1.959963984540054 * (a * (1.0 - a) / 12.0 + b * (1.0 - b) / 12.0f64).sqrt();
    assert_near(test.interval.0, b - a - half, 1e-9, "low");
    assert_near(test.interval.1, b - a + half, 1e-9, "high");
}

#[test]
fn adjusted_values_are_those_of_r() {
    let oracle = oracles("p.adjust");
    let mut p = numbers(&oracle["p"]);
    adjust(&mut p);
    for (ours, oracle) in p.iter().zip(numbers(&oracle["bh"])) {
        assert_near(*ours, oracle, 1e-12, "adjusted");
    }
    // The same attention to all changes nothing; twice the attention halves the value.
    let mut even = numbers(&oracle["p"]);
    let shares = vec![0.1; even.len()];
    adjust_weighted(&mut even, &attention(&shares));
    assert!(even.iter().zip(&p).all(|(a, b)| (a - b).abs() < 1e-12));
    let mut two = [0.02, 0.9];
    adjust_weighted(&mut two, &[1.5, 0.5]);
    assert_near(two[0], 0.02 / 1.5 * 2.0, 1e-12, "weighted");
    let uneven = attention(&[0.5, 0.1, 1.0]);
    assert_near(uneven.iter().sum(), 3.0, 1e-12, "weights are 1 on average");
    assert_near(uneven[0] / uneven[1], 5.0 / 3.0, 1e-12, "as deviations are");
    assert_eq!(uneven[2], 0.0);
}

#[test]
fn squeezed_variances_are_those_of_limma() {
    for case in oracles("squeezeVar").as_array().unwrap() {
        let (variances, freedom) = (numbers(&case["variances"]), as_float(&case["freedom"]));
        let prior = Prior::fit(&variances, freedom);
        assert_near(prior.freedom, as_float(&case["prior_freedom"]), 1e-7, "degrees of freedom");
        assert_near(prior.variance, as_float(&case["prior_variance"]), 1e-7, "centre");
        // limma takes variances that are zero for a little more than that before it fits only.
        for (variance, oracle) in variances.iter().zip(numbers(&case["posterior"])) {
            assert_near(prior.squeeze(*variance, freedom), oracle, 1e-7, "posterior");
        }
    }
    let oracle = oracles("digamma");
    let (x, di, tri) = (numbers(&oracle["x"]), numbers(&oracle["digamma"]), numbers(&oracle["trigamma"]));
    for ((x, di), tri) in x.into_iter().zip(di).zip(tri) {
        assert_near(digamma(x), di, 1e-12, "digamma");
        assert_near(trigamma(x), tri, 1e-12, "trigamma");
        assert_near(trigamma_inverse(tri), x, 1e-9, "inverse");
    }
}

/// By hand: three rows of 2 and 3 runs whose variances are 4, 4 and 4 times what is expected, so that the
/// prior is certain; then t has the deviation of four times the expected variance.
#[test]
fn a_moderated_t_by_hand() {
    let at = |centre: f64| {
        RunShares::made(&[centre - 2e-3, centre + 2e-3], &[centre, centre, centre - 4e-3], 1e-8)
    };
    // Pooled: (8e-6 + 32/3 e-6) / 3.
    let variance = (8e-6 + 32.0 / 3.0 * 1e-6) / 3.0;
    let rows = [at(0.1), at(0.2), at(0.3)];
    let spread = Spread::learn(&rows.iter().collect::<Vec<_>>());
    let test = spread.test(&rows[0], 0.05);
    let factor = spread.factor(&rows[0]);
    assert!(factor > 1.0);
    let deviation = (factor * (1e-8 / 2.0 + 1e-8 / 3.0)).sqrt();
    assert_near(test.deviation, deviation, 1e-9, "deviation");
    // A prior that is certain has a quarter of the freedom that three rows of three have.
    assert_near(test.freedom, 3.0 + 9.0 / 4.0, 1e-9, "freedom");
    let t = (4e-3 / 3.0) / deviation;
    let law = statrs::distribution::StudentsT::new(0.0, 1.0, 5.25).unwrap();
    let p = 2.0 * statrs::distribution::ContinuousCDF::sf(&law, t);
    assert_near(test.p, p, 1e-7, "p");
    let quantile = -statrs::distribution::ContinuousCDF::inverse_cdf(&law, 0.025);
    assert_near(test.interval.0, -4e-3 / 3.0 - quantile * deviation, 1e-6, "low");
    assert_near(test.interval.1, -4e-3 / 3.0 + quantile * deviation, 1e-6, "high");
    // A row that is expected to spread as much as it does has the same variance without the trend.
    let alone = RunShares::made(&rows[0].before, &rows[0].after, variance);
    assert_near(Spread::learn(&[&alone, &alone]).factor(&alone), 1.0, 1e-9, "as expected");
}

/// The calm of many functions says little of one that differs between runs much more than they do.
#[test]
fn a_function_that_spreads_as_no_other_is_tested_by_its_own_spread() {
    let at = |centre: f64, noise: f64| {
        let deviation = (noise * 1e-6).sqrt();
        RunShares::made(
            &[centre - deviation, centre, centre + deviation],
            &[centre + 0.01, centre + 0.01 + deviation, centre + 0.01 - deviation],
            1e-6,
        )
    };
    let noises = [0.3, 0.6, 0.9, 1.1, 1.4, 2.0];
    let mut rows: Vec<RunShares> = (0..30).map(|n| at(0.02, noises[n % 6])).collect();
    rows.push(at(0.02, 25.0));
    let spread = Spread::learn(&rows.iter().collect::<Vec<_>>());
    let tests: Vec<_> = rows.iter().map(|row| spread.test(row, 0.05)).collect();
    // Both sides of three have four degrees of freedom; the prior's come on top.
    assert!(tests[0].freedom > 20.0, "{}", tests[0].freedom);
    assert!(tests[30].freedom < 5.0, "{}", tests[30].freedom);
    assert!(spread.factor(&rows[30]) > 0.8 * 25.0, "{}", spread.factor(&rows[30]));
    assert!(tests[0].p < 1e-6 && tests[30].p > 0.01, "{} {}", tests[0].p, tests[30].p);
}

#[test]
fn runs_spread_hardly_less_than_they_do_within() {
    let calm = RunShares::made(&[0.1, 0.1001, 0.1], &[0.101, 0.1011, 0.101], 1e-5);
    let rows = vec![&calm; 10];
    let spread = Spread::learn(&rows);
    assert_eq!(spread.factor(&calm), 0.25);
    assert!(spread.test(&calm, 0.05).p > 0.3);
}

/// The spread grows with the square of the share: that of a heavy function is not that of light ones.
#[test]
fn the_trend_of_the_spread_is_found() {
    let rows: Vec<RunShares> = (1..=40)
        .map(|n| {
            let share = 0.2 / f64::from(n);
            // Binomial variance, and 5% of the share between runs.
            let expected = share * (1.0 - share) / 1e5;
            let deviation = (expected + (0.05 * share).powi(2)).sqrt();
            RunShares::made(&[share - deviation, share, share + deviation], &[share; 3].map(|s| s), expected)
        })
        .collect();
    let spread = Spread::learn(&rows.iter().collect::<Vec<_>>());
    // The pooled variance of one side that spreads and one that does not is half of it.
    let heavy = spread.factor(&rows[0]) * rows[0].expected_before[0];
    let light = spread.factor(&rows[39]) * rows[39].expected_before[0];
    assert!((0.3..1.0).contains(&(heavy / (0.05f64 * 0.2).powi(2))), "{heavy}");
    assert!(light < 3.0 * rows[39].expected_before[0], "{light}");
}

/// An interval at another confidence is that of the test at that confidence; a change of the detectable size
/// is found with the power asked for, which a power table of two proportions says too.
#[test]
fn intervals_and_power_of_a_test() {
    let (before, after) = (Count { hits: 300.0, of: 1000.0 }, Count { hits: 360.0, of: 1000.0 });
    for alpha in [0.2, 0.01, 1e-6] {
        let wanted = compare_shares(before, after, alpha).interval;
        let ours = compare_shares(before, after, 0.05).interval_at(alpha);
        assert_near(ours.0, wanted.0, 1e-9, "low");
        assert_near(ours.1, wanted.1, 1e-9, "high");
    }
    let runs = |alpha| compare_runs(&[10.0, 11.0, 9.0], &[20.5, 19.5, 21.0], (0.0, 0.0), alpha);
    assert_near(runs(0.05).interval_at(0.001).0, runs(0.001).interval.0, 1e-9, "runs");
    // Two sides of 388 at 50% and 40%: 80% power at 5%, with one deviation for both.
    let half = Count { hits: 194.0, of: 388.0 };
    let test = compare_shares(half, half, 0.05);
    assert_near(test.power(0.1, 0.05, 0.0, 1.0), 0.8, 0.01, "power");
    assert_near(test.power((1.959964 + 0.841621) * test.deviation, 0.05, 0.0, 1.0), 0.8, 1e-6, "by z");
}

/// One of two tests together: the heavier share gets more of alpha.
#[test]
fn heavy_shares_get_more_attention() {
    let pair =
        |before: f64, after: f64| (Count { hits: before, of: 10_000.0 }, Count { hits: after, of: 10_000.0 });
    // Both have p of about 0.009 alone; with equal attention neither would pass.
    let limits = Limits { alpha: 0.01, min_effect: 0.0 };
    let heavy = pair(4000.0, 4185.0);
    let light = pair(400.0, 475.0);
    let p = |pair: (Count, Count)| compare_shares(pair.0, pair.1, 0.05).p;
    assert!(
        (0.007..0.011).contains(&p(heavy)) && (0.007..0.011).contains(&p(light)),
        "{} {}",
        p(heavy),
        p(light)
    );
    let equal = |share: f64| pair(share, share);
    let judged = judge_shares(&[heavy, light, equal(50.0), equal(51.0)], Limits { alpha: 0.0165, ..limits });
    assert_eq!(judged, [true, false, false, false]);
    // Equal pairs are one test, however many there are.
    let mut many = vec![equal(4000.0); 50];
    many.push(heavy);
    let judged = judge_shares(&many, Limits { alpha: 0.02, ..limits });
    assert_eq!(judged.iter().filter(|sure| **sure).count(), 1);
    assert!(judged[50]);
}

/// A function is squeezed relative to the trend: one that spreads as the trend says has its factor.
#[test]
fn variances_are_squeezed_around_the_trend() {
    let at = |share: f64, noise: f64| {
        let expected = share * (1.0 - share) / 1e5;
        let deviation = (2.0 * noise * (expected + (0.05 * share).powi(2))).sqrt();
        RunShares::made(&[share - deviation, share, share + deviation], &[share; 3], expected)
    };
    // The same noise about the trend for all shares, so that the prior is not certain.
    let noises = [0.02, 3.0, 0.3, 1.0, 8.0, 0.1, 2.0, 0.5];
    let rows: Vec<RunShares> = (1..=40).map(|n| at(0.2 / f64::from(n), noises[n as usize % 8])).collect();
    let spread = Spread::learn(&rows.iter().collect::<Vec<_>>());
    let relative = |row: &RunShares| {
        let share = row.mean();
        let expected = row.expected_before[0];
        spread.factor(row) * expected / (expected + (0.05 * share).powi(2))
    };
    // The 4th and the 36th have the same noise: what is left beside the trend is the same for both.
    let (heavy, light) = (relative(&rows[3]), relative(&rows[35]));
    assert!((0.6..1.7).contains(&(heavy / light)), "{heavy} {light}");
    let quiet = relative(&rows[7]);
    assert!(heavy > 2.0 * quiet, "{heavy} {quiet}");
}
