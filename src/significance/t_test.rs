//! Student's t-test, and the degrees of freedom of a sum of variances.

use super::distributions::{Normal, StudentsT};
use super::{Test, UNKNOWN};

/// Tests a difference whose standard deviation is known, or estimated with these degrees of freedom.
pub(crate) fn by_t(difference: f64, deviation: f64, freedom: f64, alpha: f64) -> Test {
    if deviation.is_nan() || freedom.is_nan() || freedom <= 0.0 {
        return UNKNOWN;
    }
    let t = (difference / deviation).abs();
    let (p, quantile) = if freedom.is_finite() {
        let law = StudentsT { freedom };
        (2.0 * law.upper(t), law.upper_quantile(alpha / 2.0))
    } else {
        (2.0 * Normal::upper(t), Normal::upper_quantile(alpha / 2.0))
    };
    let p = match (difference == 0.0, deviation == 0.0) {
        (true, _) => 1.0,
        (_, true) => 0.0,
        _ => p.min(1.0),
    };
    let half = quantile * deviation;
    Test { p, interval: (difference - half, difference + half), deviation, freedom }
}

/// Welch and Satterthwaite's degrees of freedom of a sum of variances.
pub(super) fn welch_freedom(a: (f64, f64), b: (f64, f64)) -> f64 {
    (a.0 + b.0).powi(2) / (a.0 * a.0 / a.1 + b.0 * b.0 / b.1)
}
