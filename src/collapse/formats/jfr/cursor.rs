//! Numbers and texts as a chunk holds them: compressed or of fixed size, as its header says.

use std::borrow::Cow;

use crate::bytes::{self, ByteOrder};

/// The values of a chunk: those of [`bytes::Cursor`], compressed or not. All readers return
/// `None` where the bytes end.
#[derive(Clone, Copy)]
pub struct ChunkCursor<'a> {
    rest: bytes::Cursor<'a>,
    /// The offset of the end.
    end: usize,
    compressed: bool,
}

/// A text, or the number of one in the pool of strings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Text<'a> {
    /// No text, or `null`.
    None,
    /// The text in UTF-8, or nearly so.
    Bytes(Cow<'a, [u8]>),
    /// The number of a text.
    Constant(u64),
}

impl<'a> ChunkCursor<'a> {
    /// A cursor at `at`.
    pub fn new(bytes: &'a [u8], at: usize, compressed: bool) -> ChunkCursor<'a> {
        let rest = bytes.get(at..).unwrap_or_default();
        ChunkCursor { rest: bytes::Cursor::new(rest, ByteOrder::Big), end: at.max(bytes.len()), compressed }
    }

    /// The offset of the next byte.
    pub fn at(&self) -> usize {
        self.end - self.left()
    }

    /// The number of bytes left.
    pub fn left(&self) -> usize {
        self.rest.rest().len()
    }

    /// The next byte.
    #[inline]
    pub fn byte(&mut self) -> Option<u8> {
        self.rest.u8()
    }

    /// The next `len` bytes.
    pub fn take(&mut self, len: usize) -> Option<&'a [u8]> {
        self.rest.take(len)
    }

    /// A number whose bytes hold seven bits each, the least significant first; the ninth holds eight.
    #[inline]
    fn compressed(&mut self) -> Option<u64> {
        let mut number = 0;
        for shift in (0..56).step_by(7) {
            let byte = self.byte()?;
            number |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Some(number);
            }
        }
        Some(number | u64::from(self.byte()?) << 56)
    }

    /// A `short` or a `char`.
    pub fn short(&mut self) -> Option<u16> {
        if self.compressed { self.compressed().map(|number| number as u16) } else { self.rest.u16() }
    }

    /// An `int`.
    #[inline]
    pub fn int(&mut self) -> Option<i32> {
        if self.compressed { self.compressed().map(|number| number as i32) } else { self.rest.i32() }
    }

    /// A `long`, a constant's number among them.
    #[inline]
    pub fn long(&mut self) -> Option<u64> {
        if self.compressed { self.compressed() } else { self.rest.u64() }
    }

    /// A count or a length, which is not negative.
    pub fn count(&mut self) -> Option<usize> {
        usize::try_from(self.int()?).ok()
    }

    /// A text.
    pub fn text(&mut self) -> Option<Text<'a>> {
        Some(match self.byte()? {
            0 => Text::None,
            1 => Text::Bytes(Cow::Borrowed(b"")),
            2 => Text::Constant(self.long()?),
            3 => {
                let len = self.count()?;
                Text::Bytes(Cow::Borrowed(self.take(len)?))
            }
            4 => {
                let len = self.count()?;
                // Each takes a byte at least.
                let mut units = Vec::with_capacity(len.min(self.left()));
                for _ in 0..len {
                    units.push(self.short()?);
                }
                Text::Bytes(Cow::Owned(String::from_utf16_lossy(&units).into_bytes()))
            }
            5 => {
                let len = self.count()?;
                let latin1 = self.take(len)?;
                if latin1.is_ascii() {
                    Text::Bytes(Cow::Borrowed(latin1))
                } else {
                    Text::Bytes(Cow::Owned(
                        latin1.iter().map(|byte| char::from(*byte)).collect::<String>().into_bytes(),
                    ))
                }
            }
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_compressed_or_not() {
        let read = |bytes: &[u8]| ChunkCursor::new(bytes, 0, true).long();
        assert_eq!(read(&[5]), Some(5));
        assert_eq!(read(&[0x80, 1]), Some(128));
        assert_eq!(read(&[0xff; 9]), Some(u64::MAX));
        assert_eq!(read(&[0x80; 8]), None);
        assert_eq!(ChunkCursor::new(&[0xff, 0xff, 0xff, 0xff, 0x0f], 0, true).int(), Some(-1));
        let fixed = [0xff, 0xff, 0xff, 0xfe, 0, 0, 0, 0, 0, 0, 1, 0, 0, 7];
        let mut cursor = ChunkCursor::new(&fixed, 0, false);
        assert_eq!((cursor.int(), cursor.long(), cursor.short()), (Some(-2), Some(256), Some(7)));
        assert_eq!(cursor.byte(), None);
    }

    #[test]
    fn texts_are_of_four_encodings() {
        let read = |bytes: &[u8]| match ChunkCursor::new(bytes, 0, true).text() {
            Some(Text::Bytes(text)) => String::from_utf8_lossy(&text).into_owned(),
            other => format!("{other:?}"),
        };
        assert_eq!(read(b"\x03\x02\xc3\xa4"), "ä");
        assert_eq!(read(b"\x04\x02a\xe4\x01"), "aä");
        assert_eq!(read(b"\x05\x01\xe4"), "ä");
        assert_eq!(
            (read(b"\x00"), read(b"\x02\x07"), read(b"\x01")),
            ("Some(None)".into(), "Some(Constant(7))".into(), String::new())
        );
        for bad in [&b"\x06"[..], b"\x03\xff\xff\xff\xff\x07", b"\x04\xff\xff\xff\xff\x07a", b""] {
            assert_eq!(read(bad), "None", "{bad:?}");
        }
    }
}
