//! Numbers as people write them on the command line.

/// A number of bytes: `1000000`, `64M`, `1.5GiB`. A unit is a power of 1024, in either case.
pub(crate) fn bytes(text: &str) -> Option<u64> {
    let number = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit = text[number.len()..].to_ascii_lowercase();
    let shift = match unit.strip_suffix("ib").or(unit.strip_suffix('b')).unwrap_or(&unit) {
        "" => 0,
        "k" => 10,
        "m" => 20,
        "g" => 30,
        "t" => 40,
        _ => return None,
    };
    u64::try_from((u128::from(thousandths(number)?) << shift) / 1000).ok()
}

/// The thousandths of a decimal number, which has three decimals at most.
pub(crate) fn thousandths(text: &str) -> Option<u64> {
    let (whole, decimals) = text.split_once('.').unwrap_or((text, "0"));
    let are_digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    if !are_digits(whole) || !are_digits(decimals) || decimals.len() > 3 {
        return None;
    }
    let decimals: u64 = format!("{decimals:0<3}").parse().ok()?;
    whole.parse::<u64>().ok()?.checked_mul(1000)?.checked_add(decimals)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_units() {
        let sizes =
            ["0", "500", "64M", "2GiB", "1k", "3tb", "1.5G", "0.001k"].map(|text| bytes(text).unwrap());
        assert_eq!(sizes, [0, 500, 64 << 20, 2 << 30, 1 << 10, 3 << 40, 3 << 29, 1]);
        for text in ["", "G", "3X", "-1", "1.2345G", ".5G", "1e3", "99999999T", "99999999999999999999"] {
            assert_eq!(bytes(text), None, "{text}");
        }
    }
}
