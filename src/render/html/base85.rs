//! Bytes as text that no markup can hide in, five characters for four bytes: the code of a page, which is
//! in each. Data is in base64, which other programs read.

use std::io::{self, Write};

/// The character of 0; those of all others follow it.
const FIRST: u8 = b'#';

/// Writes bytes in base 85. A group of fewer than four at the end has a character more than bytes.
pub(super) fn write(bytes: &[u8], out: &mut dyn Write) -> io::Result<()> {
    let mut text = Vec::with_capacity(bytes.len() / 4 * 5 + 5);
    for group in bytes.chunks(4) {
        let mut filled = [0; 4];
        filled[..group.len()].copy_from_slice(group);
        let mut value = u32::from_be_bytes(filled);
        let mut digits = [0; 5];
        for digit in digits.iter_mut().rev() {
            *digit = match FIRST + (value % 85) as u8 {
                // It could begin a tag.
                b'<' => b'~',
                other => other,
            };
            value /= 85;
        }
        text.extend_from_slice(&digits[..=group.len()]);
    }
    out.write_all(&text)
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// The bytes of a text, by the same steps as the page's `fromBase85`.
    pub fn read(text: &[u8]) -> Vec<u8> {
        let mut bytes = Vec::new();
        for group in text.chunks(5) {
            let digit = |at: usize| match group.get(at) {
                Some(b'~') => u64::from(b'<' - FIRST),
                Some(&character) => u64::from(character - FIRST),
                None => 84,
            };
            let value = (0..5).fold(0, |value, at| value * 85 + digit(at));
            bytes.extend_from_slice(&u32::try_from(value).unwrap().to_be_bytes()[..group.len() - 1]);
        }
        bytes
    }

    #[test]
    fn bytes_come_back_from_characters_that_begin_no_tag() {
        let mixed: Vec<u8> = (0..4001u32).map(|n| (n * n % 251) as u8 ^ (n >> 4) as u8).collect();
        for bytes in
            [&b""[..], b"\xff", b"\xff\xff", b"\xff\xff\xff", b"\xff\xff\xff\xff", b"\0\0\0\0\0", &mixed]
        {
            let mut text = Vec::new();
            write(bytes, &mut text).unwrap();
            assert_eq!(read(&text), bytes);
            assert!(text.iter().all(|c| c.is_ascii_graphic() && *c != b'<'));
        }
    }
}
