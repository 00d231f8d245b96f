//! Text on its way to a terminal, which would obey the escape sequences in it.

use std::fs::File;
use std::io::{self, Write};

use crate::printable::{visible, whole_characters};

/// Writes text with its control characters as [`visible`] has them.
#[derive(Debug)]
pub(super) struct Visible<W = File> {
    out: W,
    /// The beginning of a character whose end is still to come.
    begun: Vec<u8>,
}

impl<W: Write> Visible<W> {
    pub(super) fn new(out: W) -> Visible<W> {
        Visible { out, begun: Vec::new() }
    }

    pub(super) fn file(&mut self) -> &mut W {
        &mut self.out
    }
}

impl<W: Write> Write for Visible<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.begun.extend_from_slice(bytes);
        let whole = whole_characters(&self.begun).len();
        self.out.write_all(visible(&self.begun[..whole]).as_bytes())?;
        self.begun.drain(..whole);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn characters_that_come_in_pieces_are_one() {
        let text = "中;\u{1b}[2J 1\n".as_bytes();
        for size in 1..text.len() {
            let mut out = Visible::new(Vec::new());
            text.chunks(size).for_each(|piece| out.write_all(piece).unwrap());
            assert_eq!(String::from_utf8(out.out).unwrap(), "中;^[[2J 1\n", "{size} at once");
        }
    }
}
