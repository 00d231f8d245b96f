//! An input as a plain [`Read`], for formats that are no lines: it counts what it hands out.

use std::io::{self, BufRead, BufReader, Cursor, Read};
use std::sync::Arc;

use super::{Input, decompress};
use crate::error::{Error, ErrorKind, Position};

/// The size of the buffer: that of the head, which is looked at in one piece as well.
const BUFFER: usize = super::HEAD;

/// Reads an input from its first byte, in one stream.
pub struct Reader {
    name: Arc<str>,
    inner: BufReader<Box<dyn Read + Send>>,
    position: u64,
}

impl Reader {
    pub(super) fn new(input: Input) -> Reader {
        let Input { name, head, rest, .. } = input;
        let whole: Box<dyn Read + Send> = Box::new(Cursor::new(head).chain(rest));
        let inner = BufReader::with_capacity(BUFFER, whole);
        Reader { name, inner, position: 0 }
    }

    /// The number of bytes that have been taken from it.
    pub fn position(&self) -> u64 {
        self.position
    }

    /// The place that has been reached, for errors.
    pub fn place(&self) -> Position {
        Position { byte: Some(self.position), ..Position::file(self.name.clone()) }
    }

    /// Turns a failed read into an error: a damaged codec or a failing disk, in this input.
    pub fn error(&self, source: io::Error) -> Error {
        decompress::error(source).or_at(|| Position::file(self.name.clone()))
    }

    /// Returns true if there are no more bytes.
    ///
    /// # Errors
    /// The system's or a decoder's.
    pub fn is_at_end(&mut self) -> crate::Result<bool> {
        match self.inner.fill_buf() {
            Ok(bytes) => Ok(bytes.is_empty()),
            Err(e) => Err(self.error(e)),
        }
    }

    /// The next byte.
    ///
    /// # Errors
    /// The system's or a decoder's, and an end that comes too early.
    pub fn byte(&mut self) -> crate::Result<u8> {
        if self.is_at_end()? {
            return Err(Error::malformed("more bytes", b"the end").at(self.place()));
        }
        let byte = self.inner.buffer()[0];
        self.consume(1);
        Ok(byte)
    }

    /// Puts the next line into `line`, without its end and blanks before it; `false` if there is none.
    ///
    /// # Errors
    /// The system's or a decoder's, and lines of more than 256 MiB.
    pub fn line(&mut self, line: &mut Vec<u8>) -> crate::Result<bool> {
        line.clear();
        let limit = super::blocks::MAX_RECORD;
        let read = Read::take(&mut *self, limit as u64 + 1).read_until(b'\n', line);
        let read = read.map_err(|e| self.error(e))?;
        if read > limit {
            return Err(Error::new(ErrorKind::TooLong { limit }, self.place()));
        }
        if line.last() == Some(&b'\n') {
            line.pop();
        }
        line.truncate(super::trim_line_end(line).len());
        Ok(read > 0)
    }

    /// Appends the next `len` bytes to `out`. What a file says of its own sizes is not believed:
    /// memory is taken as the bytes come.
    ///
    /// # Errors
    /// The system's or a decoder's, and an end that comes too early.
    pub fn append(&mut self, len: u64, out: &mut Vec<u8>) -> crate::Result<()> {
        let read = Read::take(&mut *self, len).read_to_end(out);
        match read {
            Ok(n) if n as u64 == len => Ok(()),
            Ok(n) => Err(self.too_early(len, n)),
            Err(e) => Err(self.error(e)),
        }
    }

    /// Reads until `buffer` is full or the input ends, and returns how many bytes there are.
    ///
    /// # Errors
    /// The system's or a decoder's.
    pub fn read_full(&mut self, buffer: &mut [u8]) -> crate::Result<usize> {
        super::read_full(self, buffer).map_err(|e| self.error(e))
    }

    /// The next `N` bytes.
    ///
    /// # Errors
    /// The system's or a decoder's, and an end that comes too early.
    pub fn array<const N: usize>(&mut self) -> crate::Result<[u8; N]> {
        let mut bytes = [0; N];
        let read = self.read_full(&mut bytes)?;
        if read < N { Err(self.too_early(N as u64, read)) } else { Ok(bytes) }
    }

    /// The next number of seven bits a byte, as protocol buffers have it.
    ///
    /// # Errors
    /// The system's or a decoder's, an end that comes too early, and a number of more than 64 bits.
    pub fn varint(&mut self) -> crate::Result<u64> {
        let begin = self.position;
        crate::bytes::varint_from(|| self.byte())?.ok_or_else(|| {
            let place = Position { byte: Some(begin), ..self.place() };
            Error::malformed("a number of at most 64 bits", b"a longer one").at(place)
        })
    }

    /// Replaces `text` by the next text, which ends with a zero that is passed over.
    ///
    /// # Errors
    /// The system's or a decoder's, an end that comes too early, and a text of `limit` bytes or more.
    pub fn terminated_text(&mut self, limit: u64, text: &mut Vec<u8>) -> crate::Result<()> {
        text.clear();
        let read = Read::take(&mut *self, limit).read_until(0, text);
        read.map_err(|e| self.error(e))?;
        if text.pop() != Some(0) {
            let found: &[u8] = if text.len() as u64 + 1 >= limit { b"a longer one" } else { b"the end" };
            return Err(
                Error::malformed(format!("a text of less than {limit} bytes"), found).at(self.place())
            );
        }
        Ok(())
    }

    fn too_early(&self, len: u64, read: usize) -> Error {
        Error::malformed(format!("{len} bytes"), format!("the end after {read}").as_bytes()).at(self.place())
    }

    /// Passes over `len` bytes.
    ///
    /// # Errors
    /// The system's or a decoder's, and an end that comes too early.
    pub fn skip(&mut self, mut len: u64) -> crate::Result<()> {
        while len > 0 {
            if self.is_at_end()? {
                return Err(Error::malformed(format!("{len} more bytes"), b"the end").at(self.place()));
            }
            let some = self.inner.buffer().len().min(usize::try_from(len).unwrap_or(usize::MAX));
            self.consume(some);
            len -= some as u64;
        }
        Ok(())
    }
}

impl Read for Reader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n = self.inner.read(buffer)?;
        self.position += n as u64;
        Ok(n)
    }
}

impl BufRead for Reader {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        self.inner.fill_buf()
    }

    fn consume(&mut self, amount: usize) {
        self.inner.consume(amount);
        self.position += amount as u64;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reader(bytes: &[u8]) -> Reader {
        Input::new("test", Box::new(Cursor::new(bytes.to_vec()))).unwrap().into_reader()
    }

    #[test]
    fn says_where_an_early_end_is() {
        let text = b"abc".repeat(100_000);
        let mut all = reader(&text);
        let mut out = Vec::new();
        assert_eq!(all.byte().unwrap(), b'a');
        all.append(70_000, &mut out).unwrap();
        assert_eq!(out, &text[1..70_001]);
        all.skip(100_000).unwrap();
        assert_eq!(all.position(), 170_001);
        assert_eq!(all.byte().unwrap(), text[170_001]);
        let error = all.append(u64::MAX, &mut out).unwrap_err().to_string();
        assert!(error.starts_with("test: byte 300000: expected 18446744073709551615 bytes"), "{error}");
        let mut lines = reader(b"a\r\n\nb");
        for line in [&b"a"[..], b"", b"b"] {
            assert!(lines.line(&mut out).unwrap());
            assert_eq!(out, line);
        }
        assert!(!lines.line(&mut out).unwrap());
        assert!(all.skip(1).is_err() && all.byte().is_err() && all.is_at_end().unwrap());
    }

    #[test]
    fn numbers_and_texts_are_placed_where_they_are_damaged() {
        let mut bytes = reader(b"\x80\x01\x01\x02abc\0de");
        let mut text = b"before".to_vec();
        assert_eq!((bytes.varint().unwrap(), bytes.array().unwrap()), (128, [1, 2]));
        bytes.terminated_text(4, &mut text).unwrap();
        assert_eq!(text, b"abc");
        let error = |error: Error| error.to_string();
        assert_eq!(
            error(bytes.terminated_text(9, &mut text).unwrap_err()),
            "test: byte 10: expected a text of less than 9 bytes, found \"the end\""
        );
        assert_eq!(
            error(reader(b"abc\0").terminated_text(3, &mut text).unwrap_err()),
            "test: byte 3: expected a text of less than 3 bytes, found \"a longer one\""
        );
        assert_eq!(
            error(reader(b"abc").array::<4>().unwrap_err()),
            "test: byte 3: expected 4 bytes, found \"the end after 3\""
        );
        let mut long = reader(&[&b"x"[..], &[0xff; 11]].concat());
        long.byte().unwrap();
        assert_eq!(
            error(long.varint().unwrap_err()),
            "test: byte 1: expected a number of at most 64 bits, found \"a longer one\""
        );
        assert!(reader(&[0x80]).varint().is_err());
    }
}
