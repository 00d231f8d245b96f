//! The lines of a plain file in frame order: see [`plan`](super::plan).

use std::cmp::Ordering;
use std::io;
use std::sync::Arc;

use crate::error::{Error, Position, Result};
use crate::folded::{
    Columns, cmp_at, common_prefix, guess_columns, is_comment, leading_digits, split_digits, trim_stack,
};
use crate::input::{Block, Blocks, Source, last_newline};
use crate::profile::{Facts, header};

/// The size of a read and of a write. Writes of less than a pipe holds cost nearly twice as much.
pub(super) const BLOCK: usize = 128 * 1024;

/// More could not be added up without looking for overflow.
pub(super) const MOST_DIGITS: usize = 18;

/// The lines of a file, each with what it has in common with the one before.
pub(super) struct PlainLines {
    blocks: Blocks,
    block: Block,
    /// The line in the block: its start, the end of its stack, its end.
    start: usize,
    stack_end: usize,
    end: usize,
    /// The start of the next line.
    next: usize,
    /// The last stack of the block before.
    last: Vec<u8>,
    /// The number of bytes that the stack and the one before have in common.
    pub(super) same: usize,
    /// The number of digits of the weight.
    pub(super) digits: usize,
    /// The weight of all lines so far.
    pub(super) total: i128,
    /// There is a line.
    pub(super) has: bool,
    /// The facts of the header.
    pub(super) facts: Facts,
}

impl PlainLines {
    /// Opens a file and reads the header it begins with; `None` if the file is not plain.
    pub(super) fn open(source: &Source) -> Result<Option<PlainLines>> {
        let input = source.open()?;
        let head = input.head();
        let mut next = 0;
        while let Some(end) = memchr::memchr(b'\n', &head[next..])
            && is_comment(head[next..next + end].trim_ascii_end())
        {
            next += end + 1;
        }
        // A header with a mistake is left to the reader that says where it is.
        let Ok(facts) = header::read(&head[..next]) else { return Ok(None) };
        if facts.differential || matches!(guess_columns(head), Some((Columns::Two, _))) {
            return Ok(None);
        }
        let mut lines = PlainLines {
            blocks: input.into_blocks(BLOCK),
            block: Block::default(),
            start: 0,
            stack_end: 0,
            end: 0,
            next,
            last: Vec::new(),
            same: 0,
            digits: 0,
            total: 0,
            has: false,
            facts,
        };
        Ok(lines.blocks.next(&mut lines.block, last_newline)?.then_some(lines))
    }

    #[inline]
    pub(super) fn stack(&self) -> &[u8] {
        &self.block.bytes()[self.start..self.stack_end]
    }

    pub(super) fn blank_and_weight(&self) -> &[u8] {
        &self.block.bytes()[self.stack_end..self.end]
    }

    /// Goes to the next line, if there is one; `false` if it is not plain or not in order.
    #[inline]
    pub(super) fn advance(&mut self) -> Result<bool> {
        let mut bytes = self.block.bytes();
        let mut last = &bytes[self.start..self.stack_end];
        if self.next >= bytes.len() {
            self.last.clear();
            self.last.extend_from_slice(last);
            if !self.blocks.next(&mut self.block, last_newline)? {
                self.has = false;
                return Ok(true);
            }
            self.next = 0;
            (bytes, last) = (self.block.bytes(), &self.last);
        }
        let line = &bytes[self.next..];
        let same = common_prefix(last, line);
        // A last line without a newline is left to the reader that says so.
        let Some(end) = memchr::memchr(b'\n', &line[same..]).map(|more| same + more) else {
            return Ok(false);
        };
        let Some((stack_end, weight)) = weight_at_end(&line[..end]) else { return Ok(false) };
        let stack = &line[..stack_end];
        // A stack that is shorter than what it shares cannot come next: it is a part of the last.
        let in_order = !self.has || cmp_at(last, stack, same) == Ordering::Less;
        self.total += i128::from(weight);
        self.digits = end - stack_end - 1;
        self.same = same;
        self.start = self.next;
        self.stack_end = self.start + stack_end;
        self.end = self.start + end;
        self.next = self.end + 1;
        self.has = true;
        Ok(in_order && !is_comment(stack) && trim_stack(stack).len() == stack.len())
    }

    /// Goes to the next line if it has this stack, is plain and of the same block. Whether it is
    /// in order is for the caller to know.
    #[inline]
    pub(super) fn advance_to(&mut self, stack: &[u8]) -> bool {
        let bytes = self.block.bytes();
        let Some(weight) = bytes.get(self.next..).and_then(|line| line.strip_prefix(stack)) else {
            return false;
        };
        let [b' ', weight @ ..] = weight else { return false };
        let Some((digits, value)) = weight_of_line(weight) else { return false };
        self.total += i128::from(value);
        self.digits = digits;
        self.start = self.next;
        self.stack_end = self.start + stack.len();
        self.end = self.stack_end + 1 + digits;
        self.next = self.end + 1;
        true
    }

    /// The next line, of this length.
    #[inline]
    pub(super) fn skip(&mut self, len: usize) -> Result<&[u8]> {
        if self.next >= self.block.bytes().len() {
            if !self.blocks.next(&mut self.block, last_newline)? {
                return Err(self.changed());
            }
            self.next = 0;
        }
        let end = self.next + len;
        if self.block.bytes().get(end) != Some(&b'\n') {
            return Err(self.changed());
        }
        let start = self.next;
        self.next = end + 1;
        Ok(&self.block.bytes()[start..end])
    }

    #[cold]
    pub(super) fn changed(&self) -> Error {
        changed(self.blocks.name().clone())
    }
}

pub(super) fn changed(name: Arc<str>) -> Error {
    Error::io("read", io::Error::other("it changed meanwhile")).at(Position::file(name))
}

/// The end of the stack of a plain line, and its weight.
#[inline]
fn weight_at_end(line: &[u8]) -> Option<(usize, u64)> {
    if let Some((stack_end, value)) = split_digits(line) {
        // A number with zeros before it is written without them.
        let is_usual = line.len() - stack_end == 2 || line[stack_end + 1] != b'0';
        return is_usual.then_some((stack_end, value));
    }
    let (mut value, mut scale) = (0, 1);
    for (digits, &byte) in line.iter().rev().take(MOST_DIGITS + 1).enumerate() {
        let digit = byte.wrapping_sub(b'0');
        if digit <= 9 {
            value += u64::from(digit) * scale;
            scale *= 10;
            continue;
        }
        let is_usual = digits == 1 || digits > 1 && value >= scale / 10;
        let stack_end = line.len() - digits - 1;
        return (byte == b' ' && is_usual).then_some((stack_end, value));
    }
    None
}

/// The number of digits of a weight that ends a plain line, and the weight.
#[inline]
fn weight_of_line(text: &[u8]) -> Option<(usize, u64)> {
    if let Some((digits, value)) = leading_digits(text) {
        return (digits == 1 || text[0] != b'0').then_some((digits, value));
    }
    let mut value = 0;
    for (digits, &byte) in text.iter().take(MOST_DIGITS + 1).enumerate() {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            let is_usual = digits == 1 || digits > 1 && text[0] != b'0';
            return (byte == b'\n' && is_usual).then_some((digits, value));
        }
        value = value * 10 + u64::from(digit);
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plain_weight_is_a_whole_number_as_it_is_written() {
        for (digits, value) in [("0", 0), ("7", 7), ("120", 120), ("1000000000", 1_000_000_000)] {
            assert_eq!(weight_of_line(format!("{digits}\nb 1\n").as_bytes()), Some((digits.len(), value)));
            assert_eq!(weight_at_end(format!("a;b {digits}").as_bytes()), Some((3, value)));
        }
        // Zeros before it, fractions, two columns, numbers of any length, and what is no number.
        // Longer lines are read by words.
        let long = "an;awfully;long;stack";
        for digits in 1..=MOST_DIGITS as u32 {
            let weight = 10u64.pow(digits) - 1;
            let (end, start) = (format!("{long} {weight}"), format!("{weight}\n{long}"));
            assert_eq!(weight_at_end(end.as_bytes()), Some((long.len(), weight)));
            assert_eq!(weight_of_line(start.as_bytes()), Some((digits as usize, weight)));
        }
        for other in ["00", "012", "1.5", "1234:", "12:4", "00000001", "123456/", "1\t"] {
            assert_eq!(weight_at_end(format!("{long} {other}").as_bytes()), None, "{other}");
            assert_eq!(weight_of_line(format!("{other}\n{long}").as_bytes()), None, "{other}");
        }
        for other in ["00", "012", "1.5", "1 2", "-1", "x", "", "99999999999999999999999"] {
            assert_eq!(weight_of_line(format!("{other}\n").as_bytes()), None, "{other}");
        }
        for other in
            ["a 00", "a 012", "a 1.5", "a120", "a -1", "a x", "a ", "a 99999999999999999999999", "12"]
        {
            assert_eq!(weight_at_end(other.as_bytes()), None, "{other}");
        }
        assert_eq!(weight_of_line(b"12"), None, "its line goes on");
    }
}
