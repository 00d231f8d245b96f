//! Bytes as text that no markup can hide in: base64, without line ends.

use std::io::{self, Write};

const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
/// Bytes that are encoded in one go; whole groups of three.
const PIECE: usize = 3 * 4096;

/// Writes bytes as base64, padded.
pub(super) fn write(bytes: &[u8], out: &mut dyn Write) -> io::Result<()> {
    let mut text = Vec::with_capacity(PIECE / 3 * 4);
    for piece in bytes.chunks(PIECE) {
        text.clear();
        let groups = piece.chunks_exact(3);
        let rest = groups.remainder();
        for group in groups {
            text.extend_from_slice(&digits([group[0], group[1], group[2]]));
        }
        match *rest {
            [a] => text.extend([digits([a, 0, 0])[0], digits([a, 0, 0])[1], b'=', b'=']),
            [a, b] => {
                text.extend_from_slice(&digits([a, b, 0])[..3]);
                text.push(b'=');
            }
            _ => {}
        }
        out.write_all(&text)?;
    }
    Ok(())
}

fn digits([a, b, c]: [u8; 3]) -> [u8; 4] {
    let bits = u32::from_be_bytes([0, a, b, c]);
    [18, 12, 6, 0].map(|shift| DIGITS[(bits >> shift & 63) as usize])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn is_what_the_standard_says() {
        for (bytes, text) in [
            ("", ""),
            ("f", "Zg=="),
            ("fo", "Zm8="),
            ("foo", "Zm9v"),
            ("foob", "Zm9vYg=="),
            ("fooba", "Zm9vYmE="),
            ("foobar", "Zm9vYmFy"),
        ] {
            let mut out = Vec::new();
            write(bytes.as_bytes(), &mut out).unwrap();
            assert_eq!(String::from_utf8(out).unwrap(), text);
        }
    }

    #[test]
    fn pieces_join_without_padding_between() {
        let mut out = Vec::new();
        write(&vec![0xff; 2 * PIECE + 1], &mut out).unwrap();
        assert_eq!(out.iter().position(|&b| b == b'='), Some(out.len() - 2));
    }
}
