//! Numbers for people: three digits, with their unit. Programs get exact ones.

use super::change::Change;
use crate::profile::units;
use crate::weight::Weight;

/// A weight before and after, its unit said once where both have the same: `94 → 156 ms`.
pub(crate) fn arrow(before: Weight, after: Weight, unit: Option<&str>) -> String {
    let (left, right) = (amount(before, unit), amount(after, unit));
    let short = match (left.split_once(' '), right.split_once(' ')) {
        (Some((number, left)), Some((_, right))) if left == right => number,
        _ if before.is_zero() => "0",
        _ => &left,
    };
    format!("{short} → {right}")
}

/// A weight of three digits; a number of a thousand and more is shown without its fraction.
pub(crate) fn amount(weight: Weight, unit: Option<&str>) -> String {
    let size = weight.to_f64().abs();
    let decimals = if size > 0.0 { (2.0 - size.log10().floor()).clamp(0.0, 12.0) } else { 0.0 };
    let rounded = weight.times_ratio(Weight::ONE, Weight::ONE, decimals as u8).unwrap_or(weight);
    // A number without a known unit is scaled too: 205 M.
    units::amount(rounded, unit.or(Some("")))
}

/// A change in percent: `+67%`, `-0.3%`, `×12.5` for more than a thousand percent, `new`.
pub(crate) fn percent(change: &Change) -> String {
    let Some(percent) = change.percent() else {
        return if change.after.is_zero() { "–".to_owned() } else { "new".to_owned() };
    };
    if percent >= 999.5 {
        return format!("×{}", three(1.0 + percent / 100.0));
    }
    let text = format!("{:+.*}%", if percent.abs() < 9.95 { 1 } else { 0 }, percent);
    if text == "-0.0%" { "+0.0%".to_owned() } else { text }
}

/// A number of percent or points, without its sign: `0.46`, `2.1`, `35`.
pub(crate) fn three(value: f64) -> String {
    let value = value.abs();
    let decimals = match value {
        ..0.995 => 2,
        ..99.95 => 1,
        _ => 0,
    };
    let text = format!("{value:.decimals$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

/// A change in percentage points: `+8.58`, `-12.4`.
pub(crate) fn points(points: f64) -> String {
    let text = format!("{:+.*}", if points.abs() < 9.995 { 2 } else { 1 }, points);
    if text == "-0.00" { "+0.00".to_owned() } else { text }
}

/// A p-value behind `p`: `< 0.001`, `= 0.012`.
pub(crate) fn p_value(p: f64) -> String {
    match p {
        p if p < 0.001 => "< 0.001".to_owned(),
        p if p < 0.095 => format!("= {p:.3}"),
        p if p < 0.995 => format!("= {p:.2}"),
        _ => "= 1".to_owned(),
    }
}

/// A p-value with its letter: `p=0.012`, but `p < 0.001`, as Markdown takes a letter behind `<` for HTML.
pub(crate) fn p_short(p: f64) -> String {
    let value = p_value(p);
    value.strip_prefix("= ").map_or_else(|| format!("p {value}"), |number| format!("p={number}"))
}

/// A p-value in a column of them: `< 0.001`, `0.012`.
pub(crate) fn p_cell(p: Option<f64>) -> String {
    p.map_or_else(|| "–".to_owned(), |p| p_value(p).trim_start_matches("= ").to_owned())
}

/// The least p-value of changes, of those that were tested.
pub(crate) fn least_p<'c>(changes: impl IntoIterator<Item = &'c Change>) -> Option<f64> {
    changes.into_iter().filter_map(|change| change.p).reduce(f64::min)
}

/// A change in words: `94 ms ±2% → 156 ms ±3%  +67%`, or `~` if it may be noise.
pub(crate) fn change(change: &Change, unit: Option<&str>) -> String {
    let size = if change.significant { percent(change) } else { format!("~ ({})", percent(change)) };
    format!("{}  {size}", arrow_with(change, unit))
}

/// A weight before and after, each with the half of its interval where there are runs to tell it.
pub(crate) fn arrow_with(change: &Change, unit: Option<&str>) -> String {
    let (before, after) = change.variation;
    if before.is_none() && after.is_none() {
        return arrow(change.before, change.after, unit);
    }
    let of = |weight, variation: Option<f64>| {
        let variation = variation.map_or_else(String::new, |percent| format!(" ±{}%", percent.ceil()));
        amount(weight, unit) + &variation
    };
    format!("{} → {}", of(change.before, before), of(change.after, after))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn weight(text: &str) -> Weight {
        Weight::parse(text.as_bytes()).unwrap()
    }

    #[test]
    fn a_unit_is_said_once() {
        for (before, after, unit, text) in [
            ("94000000", "156000000", Some("ns"), "94 → 156 ms"),
            ("940000", "1560000", Some("ns"), "940 µs → 1.56 ms"),
            ("0", "156000000", Some("ns"), "0 → 156 ms"),
            ("156000000", "0", Some("ns"), "156 ms → 0 ns"),
            ("1", "5", Some("samples"), "1 sample → 5 samples"),
            ("5168.333", "2", None, "5,168 → 2"),
            ("205405405", "339139139", None, "205 → 339 M"),
            ("12.3456", "0.0012345", None, "12.3 → 0.00123"),
            ("12345678901", "22345678901", Some("cycles"), "12.3 → 22.3 G cycles"),
        ] {
            assert_eq!(arrow(weight(before), weight(after), unit), text);
        }
    }

    #[test]
    fn changes_have_three_digits() {
        let of = |before: &str, after: &str| {
            percent(&Change { before: weight(before), after: weight(after), ..Change::default() })
        };
        assert_eq!(of("94", "156"), "+66%");
        assert_eq!(of("1000", "1003"), "+0.3%");
        assert_eq!(of("100000", "99999"), "+0.0%");
        assert_eq!(of("1", "13.5"), "×13.5");
        assert_eq!(of("5", "0"), "-100%");
        assert_eq!((of("0", "3"), of("0", "0")), ("new".into(), "–".into()));
        assert_eq!([0.0001, 0.0123, 0.2, 0.999].map(p_value), ["< 0.001", "= 0.012", "= 0.20", "= 1"]);
        assert_eq!([2.14, 35.04, 0.456, 120.4].map(three), ["2.1", "35", "0.46", "120"]);
        assert_eq!([0.967, 0.994, 0.995, 99.94, -99.96].map(three), ["0.97", "0.99", "1", "99.9", "100"]);
        let limits = [0.001, 0.0949, 0.095, 0.9949, 0.995];
        assert_eq!(limits.map(p_value), ["= 0.001", "= 0.095", "= 0.10", "= 0.99", "= 1"]);
        assert_eq!([8.577, -12.44, -0.001].map(points), ["+8.58", "-12.4", "+0.00"]);
    }
}
