//! The distributions that tests of significance need: tails and quantiles.
//!
//! Corrections for many tests look at p-values far below one in a million, so tails are computed
//! as tails, never as one less the rest. The tests hold every function against `statrs` and R. The
//! library does not depend on `statrs`: a program that only draws would build it too, its hypergeometric
//! distribution adds up one term for each hit, and it has no trigamma function.

use super::gamma::ln_gamma;

/// Stops sums and continued fractions that converge no further.
const EPSILON: f64 = 1e-16;
/// No sum or fraction here needs more terms for arguments in reach.
const MOST_TERMS: usize = 100_000;

/// The standard normal distribution.
#[derive(Clone, Copy, Debug)]
pub(super) struct Normal;

impl Normal {
    /// The probability of a value above `z`, which is at least 0.
    pub(super) fn upper(z: f64) -> f64 {
        0.5 * upper_gamma_of_half(z * z / 2.0)
    }

    /// The value that is exceeded with probability `p`, between 0 and 1/2.
    pub(super) fn upper_quantile(p: f64) -> f64 {
        // Newton's steps on the logarithm of the tail, which is nearly a parabola.
        let mut z = if p >= 0.5 { 0.0 } else { (-2.0 * (2.0 * p).ln()).sqrt() };
        for _ in 0..12 {
            let tail = Normal::upper(z);
            let density = (-z * z / 2.0).exp() / (2.0 * std::f64::consts::PI).sqrt();
            let step = tail * (tail / p).ln() / density;
            z += step;
            if !step.is_finite() || step.abs() <= 1e-15 * z.abs().max(1.0) {
                break;
            }
        }
        z
    }
}

/// The upper regularised incomplete gamma function Q(1/2, x), which is erfc(√x).
fn upper_gamma_of_half(x: f64) -> f64 {
    if x <= 0.0 {
        return 1.0;
    }
    if x.is_infinite() {
        return 0.0;
    }
    let scale = (-x).exp() * (x / std::f64::consts::PI).sqrt();
    if x < 1.5 {
        // The series of the lower function.
        let (mut term, mut sum) = (2.0, 2.0);
        for n in 1..MOST_TERMS {
            term *= x / (0.5 + n as f64);
            sum += term;
            if term < sum * EPSILON {
                break;
            }
        }
        return 1.0 - scale * sum;
    }
    let fraction = continued_fraction(x + 0.5, |n| (-n * (n - 0.5), x + 2.0 * n + 0.5));
    scale / fraction
}

/// `first + a1 / (b1 + a2 / (b2 + …))`, by Lentz's method; `term` is the pair of a number from 1.
fn continued_fraction(first: f64, term: impl Fn(f64) -> (f64, f64)) -> f64 {
    const TINY: f64 = 1e-300;
    let away_from_zero = |value: f64| if value.abs() < TINY { TINY } else { value };
    let mut value = away_from_zero(first);
    let (mut numerator, mut denominator) = (value, 0.0);
    for n in 1..MOST_TERMS {
        let (a, b) = term(n as f64);
        denominator = 1.0 / away_from_zero(b + a * denominator);
        numerator = away_from_zero(b + a / numerator);
        let factor = numerator * denominator;
        value *= factor;
        if (factor - 1.0).abs() < 4.0 * f64::EPSILON {
            break;
        }
    }
    value
}

/// Student's t distribution with a number of degrees of freedom.
#[derive(Clone, Copy, Debug)]
pub(super) struct StudentsT {
    /// The degrees of freedom, above 0.
    pub(super) freedom: f64,
}

impl StudentsT {
    /// The probability of a value above `t`, which is at least 0.
    pub(super) fn upper(self, t: f64) -> f64 {
        let x = self.freedom / (self.freedom + t * t);
        0.5 * incomplete_beta(self.freedom / 2.0, 0.5, x)
    }

    /// The value that is exceeded with probability `p`, between 0 and 1/2.
    pub(super) fn upper_quantile(self, p: f64) -> f64 {
        let (mut low, mut high) = (0.0, 1.0);
        while self.upper(high) > p && high < 1e300 {
            (low, high) = (high, high * 2.0);
        }
        // Newton's steps on the logarithm of the tail, within the bounds that are known.
        let mut t = f64::midpoint(low, high);
        for _ in 0..200 {
            let tail = self.upper(t);
            if tail > p {
                low = t
            } else {
                high = t
            }
            let step = tail * (tail / p).ln() / self.density(t);
            let next = t + step;
            let next = if next > low && next < high { next } else { f64::midpoint(low, high) };
            if (next - t).abs() <= 1e-15 * t {
                break;
            }
            t = next;
        }
        t
    }

    fn density(self, t: f64) -> f64 {
        let half = self.freedom / 2.0;
        let scale =
            (ln_gamma(half + 0.5) - ln_gamma(half)).exp() / (self.freedom * std::f64::consts::PI).sqrt();
        scale * (-(half + 0.5) * (t * t / self.freedom).ln_1p()).exp()
    }
}

/// Fisher and Snedecor's F distribution.
#[derive(Clone, Copy, Debug)]
pub(super) struct F {
    /// The degrees of freedom of the numerator and of the denominator, above 0.
    pub(super) freedom: (f64, f64),
}

impl F {
    /// The probability of a value above `f`, which is at least 0.
    pub(super) fn upper(self, f: f64) -> f64 {
        let (above, below) = self.freedom;
        incomplete_beta(below / 2.0, above / 2.0, below / (below + above * f))
    }
}

/// The regularised incomplete beta function I(x; a, b).
fn incomplete_beta(a: f64, b: f64, x: f64) -> f64 {
    if x <= 0.0 || x >= 1.0 {
        return x.clamp(0.0, 1.0);
    }
    // The fraction converges quickly on the near side of the mean only.
    if x <= (a + 1.0) / (a + b + 2.0) {
        beta_fraction(a, b, x, 1.0 - x)
    } else {
        1.0 - beta_fraction(b, a, 1.0 - x, x)
    }
}

/// I(x; a, b) by its continued fraction; `rest` is 1 - x.
fn beta_fraction(a: f64, b: f64, x: f64, rest: f64) -> f64 {
    let ln_beta = ln_gamma(a) + ln_gamma(b) - ln_gamma(a + b);
    let scale = (a * x.ln() + b * rest.ln() - ln_beta).exp() / a;
    let term = |n: f64| {
        let m = (n / 2.0).floor();
        let over = (a + n) * (a + n - 1.0);
        let top = if m + m == n { m * (b - m) } else { -(a + m) * (a + b + m) };
        (top * x / over, 1.0)
    };
    scale / continued_fraction(1.0, term)
}

#[cfg(test)]
mod tests {
    use super::*;
    use statrs::distribution::ContinuousCDF;

    fn assert_near(ours: f64, oracle: f64, what: &str) {
        let error = ((ours - oracle) / oracle).abs();
        assert!(error < 1e-8 || (ours - oracle).abs() < 1e-300, "{what}: {ours} is not {oracle}");
    }

    #[test]
    fn normal_agrees_with_the_oracle() {
        let oracle = statrs::distribution::Normal::standard();
        for z in [0.0, 1e-9, 0.1, 0.5, 1.0, 1.7, 1.8, 3.0, 6.0, 12.0, 30.0] {
            assert_near(Normal::upper(z), oracle.sf(z), "tail");
        }
        for p in [0.5, 0.4999, 0.3, 0.1, 0.025, 0.005, 1e-6, 1e-12] {
            let z = Normal::upper_quantile(p);
            assert!((z + oracle.inverse_cdf(p)).abs() < 1e-8, "{p}: {z}");
        }
    }

    /// Tails to 18 digits, of arithmetic with 40.
    #[test]
    #[allow(clippy::excessive_precision)] // as they were computed
    fn tails_are_right_to_twelve_digits() {
        let near =
            |ours: f64, exact: f64| assert!((ours / exact - 1.0).abs() < 1e-12, "{ours} is not {exact}");
        for (z, exact) in [
            (0.25, 0.401293674317076276),
            (1.7, 0.0445654627585430437),
            (1.75, 0.0400591568638170904),
            (2.5, 0.00620966532577613517),
            (8.0, 6.22096057427178412e-16),
            (35.0, 1.12491070647240624e-268),
        ] {
            near(Normal::upper(z), exact);
            assert!((Normal::upper_quantile(exact) - z).abs() < 1e-12, "{z}");
        }
        for (freedom, t, exact) in [
            (1.0, 0.5, 0.352416382349566726),
            (2.5, 1.25, 0.157773165798625702),
            (7.0, 3.0, 0.00997106306599626896),
            (58.5, 2.0, 0.0250750480696852256),
            (1000.0, 4.0, 3.40049596043907888e-5),
        ] {
            near(StudentsT { freedom }.upper(t), exact);
            near(StudentsT { freedom }.upper_quantile(exact), t);
        }
        for (freedom, f, exact) in [
            ((1.0, 1.0), 0.5, 0.60817344796939273),
            ((4.0, 3.25), 2.5, 0.226890230908891049),
            ((8.0, 40.0), 1.0, 0.451157514564554897),
            ((30.0, 2.0), 9.0, 0.104794169973037475),
        ] {
            near(F { freedom }.upper(f), exact);
        }
    }

    #[test]
    fn f_agrees_with_the_oracle() {
        for freedom in [(1.0, 1.0), (4.0, 3.3), (8.0, 40.0), (4.0, 1e4), (30.0, 2.0)] {
            let oracle = statrs::distribution::FisherSnedecor::new(freedom.0, freedom.1).unwrap();
            for f in [0.01, 0.5, 1.0, 2.2, 9.0, 300.0] {
                assert_near(F { freedom }.upper(f), oracle.sf(f), &format!("{freedom:?} {f}"));
            }
        }
    }

    #[test]
    fn students_t_agrees_with_the_oracle() {
        for freedom in [1.0, 1.3, 2.0, 3.7, 10.0, 58.2, 1000.0, 1e6] {
            let oracle = statrs::distribution::StudentsT::new(0.0, 1.0, freedom).unwrap();
            let ours = StudentsT { freedom };
            for t in [1e-6, 0.3, 1.0, 2.5, 7.0, 40.0] {
                let expected = oracle.sf(t);
                if expected > 1e-200 {
                    assert_near(ours.upper(t), expected, &format!("{freedom} {t}"));
                }
            }
            for p in [0.499, 0.4, 0.025, 0.0005, 1e-12] {
                let t = ours.upper_quantile(p);
                assert_near(ours.upper(t), p, &format!("quantile of {p}, {freedom}"));
            }
        }
    }
}
