//! Weights for people: scaled, with their unit, in three digits.
//!
//! Every output for people goes through this one scaler, and the page's script is tested against
//! the same examples. Machine formats keep exact numbers. A weight whose unit is not known is
//! shown as the number it is: nothing is called samples that may be nanoseconds.

use crate::weight::Weight;

/// Scales of a kind of unit: a suffix, and its size in the kind's smallest unit, ascending.
type Scale = &'static [(&'static str, f64)];

static TIME: Scale =
    &[("ns", 1.0), ("µs", 1e3), ("ms", 1e6), ("s", 1e9), ("min", 60e9), ("h", 3600e9), ("d", 86400e9)];
static SIZE: Scale = &[("B", 1.0), ("kB", 1e3), ("MB", 1e6), ("GB", 1e9), ("TB", 1e12), ("PB", 1e15)];
/// Numbers below a million are written out.
static COUNT: Scale = &[("", 1.0), ("M", 1e6), ("G", 1e9), ("T", 1e12), ("P", 1e15), ("E", 1e18)];

/// The unit's scale and the size of one of it in the smallest unit of that scale.
fn scale_of(unit: &str) -> Option<(Scale, f64)> {
    Some(match unit {
        "ns" | "nanoseconds" => (TIME, 1.0),
        "us" | "µs" | "μs" | "microseconds" => (TIME, 1e3),
        "ms" | "milliseconds" => (TIME, 1e6),
        "s" | "seconds" => (TIME, 1e9),
        "B" | "bytes" => (SIZE, 1.0),
        "kB" | "KB" => (SIZE, 1e3),
        "MB" => (SIZE, 1e6),
        "GB" => (SIZE, 1e9),
        "KiB" => (SIZE, 1024.0),
        "MiB" => (SIZE, 1024.0 * 1024.0),
        "GiB" => (SIZE, 1024.0 * 1024.0 * 1024.0),
        _ => return None,
    })
}

/// Returns true for units of time.
pub fn is_time(unit: &str) -> bool {
    scale_of(unit).is_some_and(|(scale, _)| std::ptr::eq(scale, TIME))
}

/// Returns true for units of time and of what takes time; a unit that is not known is taken for one. More of any
/// other, such as bytes, is not slower.
pub(crate) fn is_speed(unit: Option<&str>) -> bool {
    unit.is_none_or(|unit| is_time(unit) || ["samples", "cycles", "instructions", "ticks"].contains(&unit))
}

/// Returns true for units whose amounts are shown in larger and smaller units: time and memory.
pub fn is_scaled(unit: &str) -> bool {
    scale_of(unit).is_some()
}

/// The smallest unit of the same kind, and the number of them in this unit: 1 us is 1000 ns.
pub(crate) fn in_smallest(unit: &str) -> Option<(&'static str, Weight)> {
    let (scale, size) = scale_of(unit)?;
    let smallest = if std::ptr::eq(scale, TIME) { "ns" } else { "bytes" };
    Some((smallest, Weight::new(size as i128)))
}

/// A weight in its unit, for people.
///
/// ```
/// use fg_tools::{Weight, profile::units::amount};
///
/// assert_eq!(amount(Weight::new(325_123_456), Some("ns")), "325 ms");
/// assert_eq!(amount(Weight::new(1_400_000_000), Some("bytes")), "1.4 GB");
/// assert_eq!(amount(Weight::new(12_345_678_901), Some("cycles")), "12.3 G cycles");
/// assert_eq!(amount(Weight::new(1719), Some("samples")), "1,719 samples");
/// assert_eq!(amount(Weight::new(1719), None), "1,719");
/// ```
pub fn amount(weight: Weight, unit: Option<&str>) -> String {
    let Some(unit) = unit else { return grouped(weight) };
    if let Some((scale, size)) = scale_of(unit) {
        return scaled(weight.to_f64() * size, scale);
    }
    let number = if weight.to_f64().abs() < 1e6 { grouped(weight) } else { scaled(weight.to_f64(), COUNT) };
    let unit = if number == "1" { singular(unit) } else { unit };
    if unit.is_empty() { number } else { format!("{number} {unit}") }
}

/// A weight in its unit, and the samples it stands for where one weighs `period`.
///
/// ```
/// use fg_tools::{Weight, profile::units::amount_with_samples};
///
/// let period = Some(Weight::new(2_000_000));
/// assert_eq!(amount_with_samples(Weight::new(324_000_000), Some("ns"), period), "324 ms (162 samples)");
/// assert_eq!(amount_with_samples(Weight::new(324_000_000), Some("ns"), None), "324 ms");
/// ```
pub fn amount_with_samples(weight: Weight, unit: Option<&str>, period: Option<Weight>) -> String {
    let amount = amount(weight, unit);
    match period.and_then(|period| samples_of(weight, period)) {
        Some(samples) if unit.is_some_and(|unit| unit != "samples") => {
            let samples = Weight::new(i128::from(samples));
            format!("{amount} ({})", self::amount(samples, Some("samples")))
        }
        _ => amount,
    }
}

/// The number of samples that weigh `weight` together, if that is a whole number.
fn samples_of(weight: Weight, period: Weight) -> Option<u64> {
    // One goroutine or object is itself what was counted.
    if period <= Weight::ZERO || period == Weight::ONE || weight.is_negative() {
        return None;
    }
    let count = (weight.to_f64() / period.to_f64()).round();
    let exact = period.checked_mul(Weight::new(count as i128)).ok()? == weight;
    exact.then_some(count as u64)
}

/// `samples` is `sample` of one.
fn singular(unit: &str) -> &str {
    match unit {
        "samples" | "calls" | "cycles" | "threads" | "objects" | "instructions" | "exceptions"
        | "goroutines" | "ticks" | "events" | "page-faults" => &unit[..unit.len() - 1],
        _ => unit,
    }
}

fn scaled(value: f64, scale: Scale) -> String {
    if value == 0.0 {
        return format!("0 {}", scale[0].0).trim_end().to_owned();
    }
    let mut at = scale.iter().rposition(|(_, size)| value.abs() >= *size).unwrap_or(0);
    // A value that rounds up to the next suffix is shown with that: 999.9 ms are 1 s.
    let rounded = digits(value.abs() / scale[at].1).parse::<f64>().unwrap_or_default();
    if scale.get(at + 1).is_some_and(|(_, next)| rounded * scale[at].1 >= *next) {
        at += 1;
    }
    let (suffix, size) = scale[at];
    format!("{} {suffix}", digits(value / size)).trim_end().to_owned()
}

/// Three digits, without zeros at the end of a fraction.
fn digits(value: f64) -> String {
    let decimals = match value.abs() {
        size if size >= 99.95 => 0,
        size if size >= 9.995 => 1,
        _ => 2,
    };
    let text = format!("{value:.decimals$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

/// An exact number, its whole part in groups of three.
///
/// ```
/// assert_eq!(fg_tools::profile::units::grouped(fg_tools::Weight::new(1234567)), "1,234,567");
/// ```
pub fn grouped(weight: Weight) -> String {
    let text = weight.to_string();
    let (sign, rest) = text.strip_prefix('-').map_or(("", text.as_str()), |rest| ("-", rest));
    let (whole, fraction) = rest.find('.').map_or((rest, ""), |at| rest.split_at(at));
    let mut out = sign.to_owned();
    for (n, digit) in whole.chars().enumerate() {
        if n > 0 && (whole.len() - n) % 3 == 0 {
            out.push(',');
        }
        out.push(digit);
    }
    out + fraction
}

/// Examples that this scaler and the page's are both held against: weight, unit, text.
pub const EXAMPLES: &[(&str, Option<&str>, &str)] = &[
    ("0", Some("ns"), "0 ns"),
    ("1", Some("ns"), "1 ns"),
    ("999", Some("ns"), "999 ns"),
    ("1500", Some("ns"), "1.5 µs"),
    ("325123456", Some("ns"), "325 ms"),
    ("999999999", Some("ns"), "1 s"),
    ("1719000000", Some("ns"), "1.72 s"),
    ("90", Some("s"), "1.5 min"),
    ("-90", Some("s"), "-1.5 min"),
    ("7200000", Some("ms"), "2 h"),
    ("0.25", Some("s"), "250 ms"),
    ("12.5", Some("us"), "12.5 µs"),
    ("1", Some("bytes"), "1 B"),
    ("1400000000", Some("bytes"), "1.4 GB"),
    ("1.5", Some("MiB"), "1.57 MB"),
    ("1", Some("samples"), "1 sample"),
    ("1719", Some("samples"), "1,719 samples"),
    ("999999", Some("calls"), "999,999 calls"),
    ("12345678901", Some("cycles"), "12.3 G cycles"),
    ("1000000", Some("page-faults"), "1 M page-faults"),
    ("1234567", None, "1,234,567"),
    ("0.1", None, "0.1"),
    ("3", Some("odd unit"), "3 odd unit"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn examples_hold() {
        for (weight, unit, expected) in EXAMPLES {
            let weight = Weight::parse(weight.as_bytes()).unwrap();
            assert_eq!(amount(weight, *unit), *expected);
        }
    }

    #[test]
    fn thousands_are_separated() {
        for (plain, shown) in [
            ("0", "0"),
            ("999", "999"),
            ("1000", "1,000"),
            ("-123456", "-123,456"),
            ("1234567.1250", "1,234,567.125"),
            ("18446744073709551617", "18,446,744,073,709,551,617"),
        ] {
            assert_eq!(grouped(Weight::parse(plain.as_bytes()).unwrap()), shown);
        }
    }

    #[test]
    fn units_of_a_kind_have_a_smallest() {
        let smallest = |unit| in_smallest(unit).map(|(unit, size)| format!("{size} {unit}"));
        assert_eq!(smallest("us").as_deref(), Some("1000 ns"));
        assert_eq!(smallest("s").as_deref(), Some("1000000000 ns"));
        assert_eq!(smallest("KiB").as_deref(), Some("1024 bytes"));
        assert_eq!(smallest("samples"), None);
    }

    #[test]
    fn samples_are_said_only_where_they_are_whole() {
        let (weight, unit) = (Weight::new(2_000_001), Some("ns"));
        assert_eq!(amount_with_samples(weight, unit, Some(Weight::new(2_000_000))), "2 ms");
        assert_eq!(amount_with_samples(Weight::new(9), Some("samples"), Some(Weight::ONE)), "9 samples");
        assert_eq!(amount_with_samples(Weight::new(9), None, Some(Weight::ONE)), "9");
        assert_eq!(amount_with_samples(Weight::new(9), unit, Some(Weight::ZERO)), "9 ns");
    }

    #[test]
    fn the_largest_suffix_takes_all_that_is_larger() {
        for (weight, unit, expected) in [
            (86_400 * 1_000_000_000, "ns", "1 d"),
            (1_000_000 * 86_400 * 1_000_000_000, "ns", "1000000 d"),
            (999_999_000_000_000_000, "bytes", "1000 PB"),
            (1_000_000_000_000_000_000, "cycles", "1 E cycles"),
            (999_999_999_999, "bytes", "1 TB"),
            (-999_999, "ns", "-1 ms"),
            (9_994, "ns", "9.99 µs"),
            (9_995, "ns", "10 µs"),
            (99_949, "ns", "99.9 µs"),
            (99_950, "ns", "100 µs"),
        ] {
            assert_eq!(amount(Weight::new(weight), Some(unit)), expected, "{weight} {unit}");
        }
    }

    #[test]
    fn every_unit_has_a_size() {
        for (unit, smallest, size) in [
            ("ns", "ns", 1),
            ("us", "ns", 1_000),
            ("ms", "ns", 1_000_000),
            ("s", "ns", 1_000_000_000),
            ("B", "bytes", 1),
            ("kB", "bytes", 1_000),
            ("MB", "bytes", 1_000_000),
            ("GB", "bytes", 1_000_000_000),
            ("KiB", "bytes", 1 << 10),
            ("MiB", "bytes", 1 << 20),
            ("GiB", "bytes", 1 << 30),
        ] {
            assert_eq!(in_smallest(unit), Some((smallest, Weight::new(size))), "{unit}");
            assert_eq!((is_scaled(unit), is_time(unit)), (true, smallest == "ns"), "{unit}");
        }
        assert_eq!((in_smallest("samples"), is_scaled("samples")), (None, false));
    }

    #[test]
    fn every_unit_of_a_kind_is_shown_in_that_kind() {
        for (unit, two) in [
            ("ns", "2 ns"),
            ("us", "2 µs"),
            ("ms", "2 ms"),
            ("s", "2 s"),
            ("bytes", "2 B"),
            ("kB", "2 kB"),
            ("MB", "2 MB"),
            ("GB", "2 GB"),
            ("KiB", "2.05 kB"),
            ("MiB", "2.1 MB"),
            ("GiB", "2.15 GB"),
        ] {
            assert_eq!(amount(Weight::new(2), Some(unit)), two, "{unit}");
            assert_eq!(is_time(unit), unit.ends_with('s') && unit != "bytes", "{unit}");
        }
    }
}
