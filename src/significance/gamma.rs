//! The gamma function's logarithm and its derivatives.

/// The logarithm of the gamma function for `x` above 0: Stirling's series, from 12 upwards.
pub(super) fn ln_gamma(x: f64) -> f64 {
    let (mut x, mut shift) = (x, 1.0);
    while x < 12.0 {
        shift *= x;
        x += 1.0;
    }
    let y = 1.0 / (x * x);
    let series = (1.0 / 12.0 - y * (1.0 / 360.0 - y * (1.0 / 1260.0 - y * (1.0 / 1680.0 - y / 1188.0)))) / x;
    (x - 0.5) * x.ln() - x + 0.5 * (2.0 * std::f64::consts::PI).ln() + series - shift.ln()
}

/// The first derivative of [`ln_gamma`], for `x` above 0.
pub(super) fn digamma(x: f64) -> f64 {
    let (mut x, mut sum) = (x, 0.0);
    while x < 12.0 {
        sum -= 1.0 / x;
        x += 1.0;
    }
    let y = 1.0 / (x * x);
    let series = y * (1.0 / 12.0 - y * (1.0 / 120.0 - y * (1.0 / 252.0 - y * (1.0 / 240.0 - y / 132.0))));
    sum + x.ln() - 0.5 / x - series
}

/// The second derivative of [`ln_gamma`], for `x` above 0.
pub(super) fn trigamma(x: f64) -> f64 {
    let (mut x, mut sum) = (x, 0.0);
    while x < 12.0 {
        sum += 1.0 / (x * x);
        x += 1.0;
    }
    let y = 1.0 / (x * x);
    let series = y * (1.0 / 6.0 - y * (1.0 / 30.0 - y * (1.0 / 42.0 - y * (1.0 / 30.0 - y * 5.0 / 66.0))));
    sum + (1.0 + 0.5 / x + series) / x
}

/// The `x` of which [`trigamma`] is this, above 0. It falls steadily, so the interval is halved.
pub(super) fn trigamma_inverse(value: f64) -> f64 {
    // x > 1 / value and x < 1 / value + 1 for large, 1 / sqrt(value) < x for small arguments.
    let (mut low, mut high) = (f64::MIN_POSITIVE.sqrt(), 1.0);
    while trigamma(high) > value && high < 1e300 {
        (low, high) = (high, high * 2.0);
    }
    for _ in 0..2000 {
        let middle =
            if low < 1e-3 && high / low > 4.0 { (low * high).sqrt() } else { f64::midpoint(low, high) };
        if middle <= low || middle >= high {
            break;
        }
        if trigamma(middle) > value { low = middle } else { high = middle }
    }
    high
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn derivatives_agree_with_the_oracle_and_with_each_other() {
        for x in [1e-3, 0.3, 0.5, 1.0, 2.0, 4.7, 11.9, 12.1, 30.0, 1e4] {
            let ln_oracle = statrs::function::gamma::ln_gamma(x);
            assert!((ln_gamma(x) - ln_oracle).abs() < 1e-11 * ln_oracle.abs().max(1.0), "{x}");
            let oracle = statrs::function::gamma::digamma(x);
            assert!((digamma(x) - oracle).abs() < 1e-10 * oracle.abs().max(1.0), "{x}");
            let step = 1e-5 * x;
            let slope = (digamma(x + step) - digamma(x - step)) / (2.0 * step);
            assert!((trigamma(x) / slope - 1.0).abs() < 1e-5, "{x}: {} {slope}", trigamma(x));
            assert!((trigamma_inverse(trigamma(x)) / x - 1.0).abs() < 1e-9, "{x}");
        }
        for x in [1e-8, 1e8, 1e15] {
            assert!((trigamma_inverse(trigamma(x)) / x - 1.0).abs() < 1e-9, "{x}");
        }
        // π² / 6 and π² / 2, the values at 1 and at 1/2.
        let pi2 = std::f64::consts::PI.powi(2);
        assert!((trigamma(1.0) - pi2 / 6.0).abs() < 1e-13 && (trigamma(0.5) - pi2 / 2.0).abs() < 1e-12);
    }

    /// Values to 20 digits, of arithmetic with 40. The series are at their worst where they begin, at 12.
    #[test]
    #[allow(clippy::excessive_precision)] // as they were computed
    fn values_are_right_to_the_last_digits() {
        for (x, of_gamma, of_digamma, of_trigamma) in [
            (0.5, 0.57236494292470008707, -1.9635100260214234794, 4.9348022005446793094),
            (3.25, 0.93580193110872535826, 1.0169909110681790364, 0.35979829030957987507),
            (11.5, 16.29200047656724132, 2.3982391295357816134, 0.090846661274546234338),
            (12.0, 17.502307845873885839, 2.4426616799758120167, 0.08690187287176839075),
            (13.5, 21.260076156244701141, 2.5651956512749120482, 0.076885224601578370444),
            (40.0, 106.63176026064345913, 3.6763273740348431259, 0.025315103841291028158),
        ] {
            let near = |ours: f64, exact: f64, error: f64| {
                assert!((ours - exact).abs() < error, "{x}: {ours} is not {exact}");
            };
            near(ln_gamma(x), of_gamma, 4e-14);
            near(digamma(x), of_digamma, 1e-14);
            near(trigamma(x) / of_trigamma, 1.0, 4e-14);
        }
    }
}
