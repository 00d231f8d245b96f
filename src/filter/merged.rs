//! Adds up the results of operations that change stacks, in frame order.
//!
//! Most operations leave most stacks alone, and those come in order already if the input did.
//! Only what was changed, or came out of order, goes into a table to be added up and sorted; the
//! rest is kept as text, of each stack what differs from the one before. In the end the two are
//! merged. On the million stacks of `scripts/bench`, hiding a frame that stands in a tenth of
//! them takes half the time and less than half the memory of a table for all.

use std::cmp::Ordering;
use std::io::{BufWriter, Write};

use super::run::StackCount;
use crate::bytes::{push_varint, varint};
use crate::error::Result;
use crate::folded::{Columns, StackTable, Weights, cmp_at, common_prefix};
use crate::weight::Weight;

/// Stacks in strict frame order, front coded.
#[derive(Default)]
pub(super) struct InOrder {
    /// For each stack: the number of bytes it shares with the one before, the number of those that
    /// follow, these bytes, the length of its weights as text, and this text.
    coded: Vec<u8>,
    last: Vec<u8>,
}

impl InOrder {
    /// Takes a stack, with its weights as they are to be written, if it comes after all others.
    #[inline]
    pub(super) fn push(&mut self, stack: &[u8], weights: &[u8]) -> bool {
        let same = common_prefix(&self.last, stack);
        if !self.coded.is_empty() && cmp_at(&self.last, stack, same).is_ge() {
            return false;
        }
        let rest = &stack[same..];
        push_varint(same as u64, &mut self.coded);
        push_varint(rest.len() as u64, &mut self.coded);
        self.coded.extend_from_slice(rest);
        push_varint(weights.len() as u64, &mut self.coded);
        self.coded.extend_from_slice(weights);
        self.last.truncate(same);
        self.last.extend_from_slice(rest);
        true
    }

    /// Returns true if all stacks begin with frames of these labels: `key=value`.
    pub(super) fn are_labelled(&self, labels: &[String]) -> bool {
        let mut cursor = CodedStacks::new(&self.coded);
        while !labels.is_empty() && !cursor.line.is_empty() {
            let mut frames = cursor.stack().split(|&b| b == b';');
            let mut is_next = |key: &String| {
                let label = frames.next().and_then(|frame| frame.strip_prefix(key.as_bytes()));
                label.is_some_and(|rest| rest.first() == Some(&b'='))
            };
            if !labels.iter().all(&mut is_next) {
                return false;
            }
            cursor.step();
        }
        true
    }
}

/// Reads them back.
struct CodedStacks<'a> {
    coded: &'a [u8],
    /// The stack, a space, its weights and a newline; empty at the end.
    line: Vec<u8>,
    stack: usize,
}

impl<'a> CodedStacks<'a> {
    fn new(coded: &'a [u8]) -> Self {
        let mut cursor = CodedStacks { coded, line: Vec::new(), stack: 0 };
        cursor.step();
        cursor
    }

    fn length(&mut self) -> usize {
        varint(&mut self.coded).expect("lengths are read as they were written") as usize
    }

    fn step(&mut self) {
        if self.coded.is_empty() {
            self.line.clear();
            return;
        }
        let same = self.length();
        self.line.truncate(same);
        self.text();
        self.stack = self.line.len();
        self.line.push(b' ');
        self.text();
        self.line.push(b'\n');
    }

    fn text(&mut self) {
        let len = self.length();
        let (text, rest) = self.coded.split_at(len);
        self.line.extend_from_slice(text);
        self.coded = rest;
    }

    fn stack(&self) -> &[u8] {
        &self.line[..self.stack]
    }

    fn weights(&self) -> Weights {
        let mut numbers = self.line[self.stack..].trim_ascii().rsplit(|&b| b == b' ');
        let mut next = || numbers.next().and_then(Weight::parse);
        let value = next().expect("weights are kept as they are written");
        Weights { value, before: next().unwrap_or_default() }
    }
}

/// The weights as they are written, put into `out`.
pub(super) fn write_weights(weights: Weights, columns: Columns, out: &mut Vec<u8>) {
    let result = match columns {
        Columns::One => write!(out, "{}", weights.value),
        Columns::Two => write!(out, "{} {}", weights.before, weights.value),
    };
    result.expect("a vector can be written to");
}

/// Writes both in frame order, and counts the lines; adds up weights only if `weigh`.
pub(super) fn write(
    in_order: &InOrder,
    table: &StackTable,
    columns: Columns,
    weigh: bool,
    out: &mut dyn Write,
) -> Result<StackCount> {
    let mut out = BufWriter::with_capacity(64 * 1024, out);
    let mut cursor = CodedStacks::new(&in_order.coded);
    let mut count = StackCount::default();
    let copy = |cursor: &mut CodedStacks<'_>, out: &mut BufWriter<&mut dyn Write>, count: &mut StackCount| {
        out.write_all(&cursor.line)?;
        count.note(if weigh { cursor.weights() } else { Weights::default() })?;
        cursor.step();
        Ok::<_, crate::Error>(())
    };
    let mut line = Vec::new();
    table.for_each(|stack, mut weights| {
        while !cursor.line.is_empty() {
            match compare(cursor.stack(), stack) {
                Ordering::Less => copy(&mut cursor, &mut out, &mut count)?,
                Ordering::Equal => {
                    weights = weights.checked_add(cursor.weights())?;
                    cursor.step();
                    break;
                }
                Ordering::Greater => break,
            }
        }
        line.clear();
        line.extend_from_slice(stack);
        line.push(b' ');
        write_weights(weights, columns, &mut line);
        line.push(b'\n');
        out.write_all(&line)?;
        count.note(if weigh { weights } else { Weights::default() })
    })?;
    while !cursor.line.is_empty() {
        copy(&mut cursor, &mut out, &mut count)?;
    }
    out.flush()?;
    Ok(count)
}

#[inline]
fn compare(a: &[u8], b: &[u8]) -> Ordering {
    cmp_at(a, b, common_prefix(a, b))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_comes_in_order_is_kept() {
        let long = "f;".repeat(40_000);
        let mut in_order = InOrder::default();
        let taken = ["a", "a;b", "a;b", "a", "a b", &long, "e", "z"]
            .map(|stack| in_order.push(stack.as_bytes(), b"7"));
        assert_eq!(taken, [true, true, false, false, true, true, false, true]);
        let mut out = Vec::new();
        write(&in_order, &StackTable::default(), Columns::One, false, &mut out).unwrap();
        assert_eq!(String::from_utf8(out).unwrap(), format!("a 7\na;b 7\na b 7\n{long} 7\nz 7\n"));
    }

    #[test]
    fn labels_are_on_every_stack() {
        let labelled = |stacks: &[&str], labels: &[&str]| {
            let mut in_order = InOrder::default();
            stacks.iter().for_each(|stack| assert!(in_order.push(stack.as_bytes(), b"1")));
            in_order.are_labelled(&labels.iter().map(|&label| label.to_owned()).collect::<Vec<_>>())
        };
        let stacks = ["thread=1;on=cpu;main", "thread=2;on=cpu"];
        assert!(
            labelled(&stacks, &["thread"]) && labelled(&stacks, &["thread", "on"]) && labelled(&stacks, &[])
        );
        assert!(!labelled(&stacks, &["on"]) && !labelled(&stacks, &["thread", "on", "time"]));
        assert!(!labelled(&stacks, &["threa"]) && !labelled(&["thread=1", "z"], &["thread"]));
        assert!(labelled(&[], &["thread"]));
    }

    #[test]
    fn both_are_merged() {
        let mut in_order = InOrder::default();
        for stack in ["a", "a;b", "b;c"] {
            assert!(in_order.push(stack.as_bytes(), b"1 2"));
        }
        let mut table = StackTable::default();
        for stack in ["", "a;a", "b;c", "z", "a"] {
            let weights = Weights { value: Weight::new(10), before: Weight::new(5) };
            table.add_stack(stack.as_bytes(), weights).unwrap();
        }
        let mut out = Vec::new();
        let count = write(&in_order, &table, Columns::Two, true, &mut out).unwrap();
        assert_eq!(String::from_utf8(out).unwrap(), " 5 10\na 6 12\na;a 5 10\na;b 1 2\nb;c 6 12\nz 5 10\n");
        assert_eq!((count.stacks, count.weights.value), (6, Weight::new(56)));
    }
}
