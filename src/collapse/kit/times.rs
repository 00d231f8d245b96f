//! Times of recordings in nanoseconds, for facts and for the contexts of samples.

use std::time::{Duration, SystemTime};

use crate::weight::Weight;

/// The nanoseconds in one of a unit of time, as [`crate::collapse::Value`] names it.
fn size_of(unit: &str) -> Option<(f64, Weight)> {
    let nanos = match unit {
        "ns" => 1,
        "us" => 1_000,
        "ms" => 1_000_000,
        "s" => 1_000_000_000,
        _ => return None,
    };
    Some((f64::from(nanos), Weight::new(nanos.into())))
}

/// The nanoseconds of a time in a unit, rounded down; `None` before 0 and for units of other things.
pub fn nanoseconds(time: Weight, unit: &str) -> Option<u64> {
    let (size, exact) = size_of(unit)?;
    if time.is_negative() {
        return None;
    }
    let whole = time.checked_mul(exact).ok().and_then(Weight::to_u64);
    whole.or_else(|| {
        let nanos = time.to_f64() * size;
        (nanos < u64::MAX as f64).then_some(nanos as u64)
    })
}

/// The nanoseconds that pass from one time to another, in a unit; 0 where times are not known.
pub fn lasting(begin: Weight, end: Weight, unit: &str) -> u64 {
    match (nanoseconds(begin, unit), nanoseconds(end, unit)) {
        (Some(begin), Some(end)) => end.saturating_sub(begin),
        _ => 0,
    }
}

/// A time in a unit as a duration, if it is one and not zero.
pub fn duration(time: Weight, unit: &str) -> Option<Duration> {
    nanoseconds(time, unit).filter(|nanos| *nanos > 0).map(Duration::from_nanos)
}

/// The date of a time since 1970 in a unit, if it is later than that year: clocks that begin with
/// the machine have none.
pub fn date(time: Weight, unit: &str) -> Option<SystemTime> {
    /// Nanoseconds in a year.
    const YEAR: u64 = 365 * 86_400 * 1_000_000_000;
    let nanos = nanoseconds(time, unit).filter(|nanos| *nanos > YEAR)?;
    SystemTime::UNIX_EPOCH.checked_add(Duration::from_nanos(nanos))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_exact_where_they_can_be() {
        for (time, unit, expected) in [
            ("1795220428303.018", "ms", Some(1_795_220_428_303_018_000)),
            ("0.019194283000160794", "s", Some(19_194_283)),
            ("7", "ns", Some(7)),
            ("-1", "ms", None),
            ("1e1", "samples", None),
            ("99999999999999999999999999", "s", None),
        ] {
            let time = Weight::parse(time.as_bytes()).unwrap_or(Weight::ONE);
            assert_eq!(nanoseconds(time, unit), expected, "{time} {unit}");
        }
        assert_eq!(duration(Weight::ZERO, "s"), None);
        assert!(date(Weight::new(1_795_220_428), "s").is_some() && date(Weight::new(9_000), "s").is_none());
    }
}
