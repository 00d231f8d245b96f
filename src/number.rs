//! Numbers that texts hold: one reader for each notation, so that all formats are equally strict.
//!
//! Weights, which may have decimals, are read by [`Weight::parse`](crate::Weight::parse); the weights of folded
//! lines and the columns of perf script, of which there are millions, by code of their own beside them.

use std::str::FromStr;

/// The number that a text is, with nothing before or behind it. A whole number is digits, with a plus, or
/// a minus if the type has a sign; `None` if it does not fit the type.
pub fn parse<T: FromStr>(text: &[u8]) -> Option<T> {
    std::str::from_utf8(text).ok()?.parse().ok()
}

/// The number that digits of base 16 are, with or without `0x` before them; `None` if there are none, something
/// else, or more than 64 bits.
pub fn hex(text: &[u8]) -> Option<u64> {
    let digits = text.strip_prefix(b"0x").unwrap_or(text);
    if digits.is_empty() {
        return None;
    }
    digits.iter().try_fold(0u64, |number, &digit| {
        let digit = char::from(digit).to_digit(16)?;
        (number >> 60 == 0).then_some(number << 4 | u64::from(digit))
    })
}

/// Bytes as digits of base 16.
pub fn hex_of(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_two_digits_each() {
        assert_eq!(hex_of(&[0, 0x7f, 0xff]), "007fff");
        assert_eq!(hex(hex_of(&[0x12, 0xab]).as_bytes()), Some(0x12ab));
    }

    #[test]
    fn numbers_are_all_of_a_text() {
        for (text, number) in [
            ("0", Some(0)),
            ("007", Some(7)),
            ("18446744073709551615", Some(u64::MAX)),
            ("18446744073709551616", None),
            ("", None),
            (" 1", None),
            ("1 ", None),
            ("-1", None),
            ("1.0", None),
            ("0x1", None),
        ] {
            assert_eq!(parse(text.as_bytes()), number, "{text}");
        }
        assert_eq!((parse(b"-1"), parse::<u8>(b"256"), parse(b"2.5")), (Some(-1), None, Some(2.5)));
        assert_eq!(parse::<u64>(b"\xff"), None);
    }

    #[test]
    fn digits_of_base_16_are_read_with_and_without_their_mark() {
        for (text, number) in [
            ("0", Some(0)),
            ("fF", Some(255)),
            ("0x7f01", Some(0x7f01)),
            ("ffffffffffffffff", Some(u64::MAX)),
            ("00ffffffffffffffff", Some(u64::MAX)),
            ("10000000000000000", None),
            ("", None),
            ("0x", None),
            ("0X1", None),
            ("+1", None),
            ("-1", None),
            ("g", None),
            (" 1", None),
        ] {
            assert_eq!(hex(text.as_bytes()), number, "{text}");
        }
    }
}
