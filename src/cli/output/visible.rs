//! Text on its way to a terminal, which would obey the escape sequences in it.

use std::fs::File;
use std::io::{self, Write};

use crate::printable::is_hidden;

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

/// Text for a terminal, in which escape sequences are seen and not obeyed: control characters are written as `cat -v`
/// does (`^[`), but for the ends of lines and tabs, and hidden ones and what is no UTF-8 as a replacement.
fn visible(text: &[u8]) -> String {
    let mut shown = String::with_capacity(text.len());
    for c in String::from_utf8_lossy(text).chars() {
        match c {
            '\n' | '\t' => shown.push(c),
            '\0'..='\x1f' | '\x7f' => shown.extend(['^', char::from(c as u8 ^ 0x40)]),
            c if is_hidden(c) => shown.push(char::REPLACEMENT_CHARACTER),
            c => shown.push(c),
        }
    }
    shown
}

/// The part of some bytes that ends with a whole character; no more than three bytes may follow it.
fn whole_characters(text: &[u8]) -> &[u8] {
    let start_of_last = text.iter().rev().take(3).position(|&byte| byte >= 0xc0);
    let Some(start) = start_of_last.map(|from_end| text.len() - 1 - from_end) else { return text };
    match std::str::from_utf8(&text[start..]) {
        Err(error) if error.error_len().is_none() => &text[..start],
        _ => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escape_sequences_are_seen_and_not_obeyed() {
        let text = b"a;\x1b]0;title\x07b \x9b31m\xc2\x9b31m\x7f\r 1\n\xe4\xb8\xad\tb \xe2\x80\xae2\n";
        let shown = "a;^[]0;title^Gb \u{fffd}31m\u{fffd}31m^?^M 1\n中\tb \u{fffd}2\n";
        assert_eq!(visible(text), shown);
        // Whatever pieces it comes in.
        for end in 0..text.len() {
            let whole = whole_characters(&text[..end]);
            assert!(end - whole.len() < 4);
            assert_eq!(visible(whole) + &visible(&text[whole.len()..]), shown, "{end}");
        }
    }

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
