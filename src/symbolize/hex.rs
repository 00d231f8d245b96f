//! Hexadecimal numbers in text.

/// Parses a hexadecimal number, with or without `0x`.
pub(super) fn hex(digits: &[u8]) -> Option<u64> {
    let digits = digits.strip_prefix(b"0x").unwrap_or(digits);
    if digits.is_empty() || digits.len() > 16 {
        return None;
    }
    digits.iter().try_fold(0, |sum, digit| Some(sum << 4 | u64::from((*digit as char).to_digit(16)?)))
}
