//! Bytes that stand in a text as base64.

/// The bytes of a text of base64, padded or not; `None` for any other text.
pub fn decode(text: &[u8]) -> Option<Vec<u8>> {
    let text = text.trim_ascii_end();
    let digits = text.strip_suffix(b"==").or_else(|| text.strip_suffix(b"=")).unwrap_or(text);
    let mut bytes = Vec::with_capacity(digits.len() / 4 * 3 + 2);
    for group in digits.chunks(4) {
        let mut bits = 0u32;
        for &digit in group {
            let value = match digit {
                b'A'..=b'Z' => digit - b'A',
                b'a'..=b'z' => digit - b'a' + 26,
                b'0'..=b'9' => digit - b'0' + 52,
                b'+' => 62,
                b'/' => 63,
                _ => return None,
            };
            bits = bits << 6 | u32::from(value);
        }
        bits <<= 6 * (4 - group.len());
        bytes.extend_from_slice(&bits.to_be_bytes()[1..group.len()]);
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn padding_may_be_left_out() {
        for text in ["//5hYg==", "//5hYg", "//5hYg==\n"] {
            assert_eq!(decode(text.as_bytes()).as_deref(), Some(&b"\xff\xfeab"[..]), "{text}");
        }
        assert_eq!(decode(b"").as_deref(), Some(&b""[..]));
        assert_eq!(decode(b"a-b_"), None);
    }
}
