//! The hypergeometric distribution: exact, and as quick for a million millions as for ten.
//!
//! Probabilities are computed by Loader's saddle-point expansion ("Fast and accurate computation of
//! binomial probabilities", 2000), as R does. Differences of logarithms of factorials would lose all
//! digits where counts are huge. A tail is summed away from the middle, where its terms shrink.

use super::gamma::ln_gamma;

/// Terms below this share of the sum are left out.
const EPSILON: f64 = 1e-17;

/// Both tails of the distribution at `x`, each with `x` in it: of `all` things `marked` ones, `drawn`
/// without putting back, `x` marked among them. All are whole numbers.
pub(super) fn tails(all: f64, marked: f64, drawn: f64, x: f64) -> (f64, f64) {
    let least = (drawn + marked - all).max(0.0);
    let most = drawn.min(marked);
    if x < least || x > most {
        return if x < least { (0.0, 1.0) } else { (1.0, 0.0) };
    }
    let here = probability(all, marked, drawn, x);
    let mean = marked * (drawn / all);
    // Each term follows from the one before it.
    let (mut outward, mut term, mut k) = (here, here, x);
    if x >= mean {
        while k < most && term >= outward * EPSILON && term > 0.0 {
            k += 1.0;
            term *= (marked - k + 1.0) / k * ((drawn - k + 1.0) / (all - marked - drawn + k));
            outward += term;
        }
    } else {
        while k > least && term >= outward * EPSILON && term > 0.0 {
            term *= k / (marked - k + 1.0) * ((all - marked - drawn + k) / (drawn - k + 1.0));
            k -= 1.0;
            outward += term;
        }
    }
    let outward = outward.min(1.0);
    let inward = (1.0 - outward + here).clamp(0.0, 1.0);
    if x >= mean { (inward, outward) } else { (outward, inward) }
}

/// The probability of exactly `x`.
fn probability(all: f64, marked: f64, drawn: f64, x: f64) -> f64 {
    let p = drawn / all;
    let rest = (all - drawn) / all;
    let ln = ln_binomial(x, marked, p, rest) + ln_binomial(drawn - x, all - marked, p, rest)
        - ln_binomial(drawn, all, p, rest);
    ln.exp()
}

/// The logarithm of the binomial probability of `x` of `n`; `rest` is 1 - p.
fn ln_binomial(x: f64, n: f64, p: f64, rest: f64) -> f64 {
    if x == 0.0 || x == n {
        let (p, rest) = if x == 0.0 { (rest, p) } else { (p, rest) };
        let ln = if rest < 0.5 { (-rest).ln_1p() } else { p.ln() };
        return if n == 0.0 { 0.0 } else { n * ln };
    }
    let y = n - x;
    stirling_error(n) - stirling_error(x) - stirling_error(y) - deviance(x, n * p) - deviance(y, n * rest)
        + 0.5 * (n / (2.0 * std::f64::consts::PI * x * y)).ln()
}

/// The error of Stirling's formula: ln n! less it.
fn stirling_error(n: f64) -> f64 {
    if n < 16.0 {
        return ln_gamma(n + 1.0) - (n + 0.5) * n.ln() + n - 0.5 * (2.0 * std::f64::consts::PI).ln();
    }
    let y = 1.0 / (n * n);
    (1.0 / 12.0 - y * (1.0 / 360.0 - y * (1.0 / 1260.0 - y * (1.0 / 1680.0 - y / 1188.0)))) / n
}

/// `x ln(x / mean) + mean - x`, without cancellation where both are close.
fn deviance(x: f64, mean: f64) -> f64 {
    if (x - mean).abs() >= 0.1 * (x + mean) {
        return x * (x / mean).ln() + mean - x;
    }
    let v = (x - mean) / (x + mean);
    let mut sum = (x - mean) * v;
    let mut power = 2.0 * x * v;
    for j in 1..1000 {
        power *= v * v;
        let next = sum + power / f64::from(2 * j + 1);
        if next == sum {
            break;
        }
        sum = next;
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;
    use statrs::distribution::DiscreteCDF;

    fn assert_near(ours: f64, oracle: f64, what: &str) {
        assert!(((ours - oracle) / oracle).abs() < 1e-8, "{what}: {ours} is not {oracle}");
    }

    #[test]
    fn tails_agree_with_the_oracle() {
        for (all, marked, drawn) in
            [(8, 4, 4), (2000, 3, 1000), (110_000, 5, 10_000), (500, 90, 40), (30, 25, 20)]
        {
            let oracle = statrs::distribution::Hypergeometric::new(all, marked, drawn).unwrap();
            let least = (drawn + marked).saturating_sub(all);
            for x in least..=marked.min(drawn) {
                let (below, above) = tails(all as f64, marked as f64, drawn as f64, x as f64);
                // The oracle's own sums round far out in the tails.
                if oracle.cdf(x) > 1e-10 {
                    assert_near(below, oracle.cdf(x), "below");
                }
                let expected = if x == 0 { 1.0 } else { oracle.sf(x - 1) };
                if expected > 1e-10 {
                    assert_near(above, expected, "above");
                }
            }
        }
    }

    /// Sums of exact fractions.
    #[test]
    #[allow(clippy::excessive_precision)] // as they were computed
    fn tails_are_right_to_eleven_digits() {
        for (all, marked, drawn, x, below, above) in [
            (60.0, 20.0, 15.0, 3.0, 0.172193741734552914, 0.947537849948976578),
            (60.0, 20.0, 15.0, 8.0, 0.985281791224669591, 0.0588684008143626972),
            (500.0, 90.0, 40.0, 7.0, 0.566235913047781374, 0.603912416363786654),
            (500.0, 90.0, 40.0, 19.0, 0.999998739089614869, 6.75598270161349384e-6),
            (2000.0, 30.0, 1000.0, 15.0, 0.572779998976725298, 0.572779998976725298),
            (110_000.0, 50.0, 10_000.0, 14.0, 0.999975745685063978, 0.000103805025241991967),
            (110_000.0, 50.0, 10_000.0, 1.0, 0.0510752594664800854, 0.991490932994637644),
            (40.0, 17.0, 18.0, 8.0, 0.707651143913657818, 0.537649440319073245),
        ] {
            let ours = tails(all, marked, drawn, x);
            for (ours, exact) in [(ours.0, below), (ours.1, above)] {
                assert!(
                    (ours / exact - 1.0).abs() < 1e-11,
                    "{x} of {drawn} of {marked} of {all}: {ours}, {exact}"
                );
            }
        }
    }

    #[test]
    fn what_cannot_be_drawn_has_no_weight() {
        // Eight of ten are marked: of five that are drawn three at least are.
        assert_eq!(tails(10.0, 8.0, 5.0, 2.0), (0.0, 1.0));
        assert_eq!(tails(10.0, 3.0, 4.0, 4.0), (1.0, 0.0));
        let (below, above) = tails(10.0, 8.0, 5.0, 3.0);
        assert!(above == 1.0 && (below - 56.0 / 252.0).abs() < 1e-12, "{below}");
    }
}
