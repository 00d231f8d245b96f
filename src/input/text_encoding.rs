//! The encodings that Windows gives to text: UTF-8 behind a byte order mark, and UTF-16.
//!
//! PowerShell's `>` writes UTF-16, its `Out-File -Encoding utf8` a mark before the text. Everything
//! above this module reads bytes in UTF-8 without a mark; the standard library decodes.

use std::io::{self, Read};

/// The byte order mark of UTF-8.
const UTF8_MARK: &[u8] = b"\xef\xbb\xbf";

/// The number of characters by which UTF-16 without a mark is told: all of them plain ASCII.
const TELLING: usize = 24;

/// An encoding other than plain UTF-8.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Encoding {
    /// UTF-8 behind a mark.
    Utf8Marked,
    Utf16Le,
    Utf16Be,
}

impl Encoding {
    /// Tells the encoding by a text's first bytes; `None` for plain bytes.
    pub(super) fn of(head: &[u8]) -> Option<Encoding> {
        let is_text = |byte: u8| matches!(byte, b'\t' | b'\n' | b'\r' | b' '..=b'~');
        // The number of characters that are plain ASCII, of the first few.
        let plain = |text: &[u8], low: usize| {
            let pairs = text.chunks_exact(2).take(TELLING);
            (pairs.clone().filter(|pair| is_text(pair[low]) && pair[1 - low] == 0).count(), pairs.len())
        };
        // Binary files, and names of any bytes, can begin as a mark does.
        let mostly = |text, low| plain(text, low).0 * 2 > plain(text, low).1;
        match head {
            [0xef, 0xbb, 0xbf, ..] => Some(Encoding::Utf8Marked),
            [0xff, 0xfe, text @ ..] if mostly(text, 0) => Some(Encoding::Utf16Le),
            [0xfe, 0xff, text @ ..] if mostly(text, 1) => Some(Encoding::Utf16Be),
            _ if plain(head, 0).0 == TELLING => Some(Encoding::Utf16Le),
            _ if plain(head, 1).0 == TELLING => Some(Encoding::Utf16Be),
            _ => None,
        }
    }
}

/// Reads a text as UTF-8 without a mark. What is no character becomes U+FFFD.
pub(super) struct Utf8Text<R> {
    inner: R,
    encoding: Encoding,
    started: bool,
    /// Bytes that were read and not decoded: half a character.
    raw: Vec<u8>,
    /// Decoded bytes, and the number of them that were handed out.
    ready: Vec<u8>,
    taken: usize,
}

impl<R: Read> Utf8Text<R> {
    pub(super) fn new(inner: R, encoding: Encoding) -> Self {
        Utf8Text { inner, encoding, started: false, raw: Vec::new(), ready: Vec::new(), taken: 0 }
    }

    /// Decodes the next bytes; leaves nothing in `ready` at the end of the input.
    fn fill(&mut self) -> io::Result<()> {
        const BUFFER: usize = 32 * 1024;
        self.ready.clear();
        self.taken = 0;
        while self.ready.is_empty() {
            let before = self.raw.len();
            self.raw.resize(before + BUFFER, 0);
            let read = self.inner.read(&mut self.raw[before..]);
            self.raw.truncate(before + *read.as_ref().unwrap_or(&0));
            let at_end = read? == 0;
            self.decode(at_end);
            if at_end {
                break;
            }
        }
        Ok(())
    }

    /// Moves all whole characters of `raw` to `ready`, and at the end what is left.
    fn decode(&mut self, at_end: bool) {
        if self.encoding == Encoding::Utf8Marked {
            // The mark itself is known to be there.
            if self.started || self.raw.len() >= UTF8_MARK.len() || at_end {
                let mark = if self.started { 0 } else { UTF8_MARK.len().min(self.raw.len()) };
                self.started = true;
                self.ready.extend(self.raw.drain(..).skip(mark));
            }
            return;
        }
        let of = |pair: &[u8]| match self.encoding {
            Encoding::Utf16Be => u16::from_be_bytes([pair[0], pair[1]]),
            _ => u16::from_le_bytes([pair[0], pair[1]]),
        };
        let mut units: Vec<u16> = self.raw.chunks_exact(2).map(of).collect();
        // The first half of a character waits for the second.
        if !at_end && units.last().is_some_and(|unit| (0xd800..0xdc00).contains(unit)) {
            units.pop();
        }
        let odd = at_end && self.raw.len() % 2 == 1;
        self.raw.drain(..if at_end { self.raw.len() } else { 2 * units.len() });
        let marked = !self.started && units.first() == Some(&0xfeff);
        self.started |= !units.is_empty();
        for decoded in char::decode_utf16(units.into_iter().skip(usize::from(marked))) {
            let character = decoded.unwrap_or(char::REPLACEMENT_CHARACTER);
            self.ready.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
        }
        if odd {
            self.ready.extend_from_slice("\u{fffd}".as_bytes());
        }
    }
}

impl<R: Read> Read for Utf8Text<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.taken == self.ready.len() {
            self.fill()?;
        }
        let n = buffer.len().min(self.ready.len() - self.taken);
        buffer[..n].copy_from_slice(&self.ready[self.taken..self.taken + n]);
        self.taken += n;
        Ok(n)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Hands out a few bytes at a time.
    struct Slow<'a>(&'a [u8], usize);

    impl Read for Slow<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let n = self.1.min(buffer.len()).min(self.0.len());
            buffer[..n].copy_from_slice(&self.0[..n]);
            self.0 = &self.0[n..];
            Ok(n)
        }
    }

    fn read(bytes: &[u8]) -> Vec<u8> {
        let encoding = Encoding::of(bytes).expect("an encoding");
        let mut whole = Vec::new();
        Utf8Text::new(bytes, encoding).read_to_end(&mut whole).unwrap();
        for step in [1, 3] {
            let mut pieces = Vec::new();
            Utf8Text::new(Slow(bytes, step), encoding).read_to_end(&mut pieces).unwrap();
            assert!(pieces == whole, "in steps of {step}");
        }
        whole
    }

    #[test]
    fn utf16_of_either_order_and_marks_are_undone() {
        let text = "main;größe;😀 1\r\n".repeat(9);
        let units: Vec<u16> = text.encode_utf16().collect();
        let le: Vec<u8> = units.iter().flat_map(|unit| unit.to_le_bytes()).collect();
        let be: Vec<u8> = units.iter().flat_map(|unit| unit.to_be_bytes()).collect();
        for bytes in [
            [b"\xff\xfe", &le[..]].concat(),
            [b"\xfe\xff", &be[..]].concat(),
            [UTF8_MARK, text.as_bytes()].concat(),
        ] {
            assert_eq!(String::from_utf8(read(&bytes)).unwrap(), text);
        }
        let plain = "main;parse;lex;next_token 42\n";
        let unmarked: Vec<u8> = plain.encode_utf16().flat_map(u16::to_le_bytes).collect();
        assert_eq!(read(&unmarked), plain.as_bytes());
        // Half a character at the end, and the second half of one alone.
        let cut = [b"\xff\xfea\0b\0\x00\xd8", &le[..1]].concat();
        assert_eq!(String::from_utf8(read(&cut)).unwrap(), "ab\u{fffd}\u{fffd}");
    }

    #[test]
    fn binary_files_are_left_alone() {
        for bytes in [
            &b""[..],
            b"main 1\n",
            b"\xff\xfe\0\0",
            b"\xff\xfe",
            b"a\0b\0c\0",
            b"\xff\xfe;\x00\x1b[31m 3\n",
            b"PERFILE2\x68\0\0\0\0\0\0\0",
        ] {
            assert_eq!(Encoding::of(bytes), None, "{bytes:?}");
        }
    }
}
