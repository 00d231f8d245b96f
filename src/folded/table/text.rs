//! A table as folded text, in frame order.

use std::borrow::Cow;
use std::io::Write;
use std::ops::Range;

use super::super::line::{LineWriter, Weights, put_line};
use super::super::sort::{self, Near, Ranks, Sorted, View};
use super::{FrameId, StackTable};
use crate::error::{ErrorKind, Result};
use crate::threads::{self, PartText};
use crate::weight::Weight;

/// The longest stack as text, besides the names of its table: nobody could read a longer line.
const LONGEST: usize = if cfg!(test) { 1 << 20 } else { 16 << 20 };
/// Longer stacks are written by one thread: each has room for one stack, and for its line.
const LONG: usize = if cfg!(test) { 1 << 10 } else { 1 << 20 };

impl StackTable {
    /// Calls `each` with every stack and its weights, in frame order.
    ///
    /// # Errors
    /// Those of `each`.
    pub fn for_each(&self, each: impl FnMut(&[u8], Weights) -> Result<()>) -> Result<()> {
        self.for_each_heavy(Weight::ZERO, each)
    }

    /// [`StackTable::for_each`], but frames that weigh less than `least` in total may be missing
    /// from the leaf end of stacks: what hangs below them is not worth sorting.
    ///
    /// # Errors
    /// Those of `each`.
    pub fn for_each_heavy(
        &self,
        least: Weight,
        mut each: impl FnMut(&[u8], Weights) -> Result<()>,
    ) -> Result<()> {
        let mut text = StackText::new(self);
        self.frames_in_order(least, &mut |stack, weights| each(text.of(stack)?, weights))
    }

    /// [`StackTable::for_each`] with the frames of each stack, without their places.
    ///
    /// # Errors
    /// Those of `each`, and of a stack that is too long as text.
    #[cfg(feature = "diff")]
    pub(crate) fn for_each_frames(
        &self,
        each: &mut dyn FnMut(&[FrameId], Weights) -> Result<()>,
    ) -> Result<()> {
        if self.has_long_stack() {
            let mut text = StackText::new(self);
            (0..self.len()).try_for_each(|index| text.of(self.stack(index)).map(|_| ()))?;
        }
        self.frames_in_order(Weight::ZERO, each)
    }

    fn frames_in_order(
        &self,
        least: Weight,
        each: &mut dyn FnMut(&[FrameId], Weights) -> Result<()>,
    ) -> Result<()> {
        let (by_name, named) = (self.by_name(), self.named());
        let weights = |index| self.weights(index);
        sort::in_order(self.view(&named, &weights), 0, &Ranks::new(&by_name), least, each)
    }

    /// The place of each stack among all, in frame order; equal ones have equal places.
    pub(crate) fn ranks(&self) -> Vec<u32> {
        let names = |index: u32| self.stack(index as usize).iter().map(|&frame| self.name(frame));
        let mut order: Vec<u32> = (0..self.len() as u32).collect();
        order.sort_by(|&a, &b| names(a).cmp(names(b)));
        let mut ranks = vec![0; order.len()];
        for pair in order.windows(2) {
            let is_new = names(pair[0]).ne(names(pair[1]));
            ranks[pair[1] as usize] = ranks[pair[0] as usize] + u32::from(is_new);
        }
        ranks
    }

    /// The numbers of the names in the order of their bytes.
    fn by_name(&self) -> Vec<u32> {
        let mut by_name: Vec<u32> = (0..self.names.len() as u32).collect();
        by_name.sort_unstable_by(|&a, &b| self.name(FrameId(a)).cmp(self.name(FrameId(b))));
        by_name
    }

    /// The frames of all stacks without their places: order is that of names, and frames that differ in their
    /// places only are one.
    fn named(&self) -> Cow<'_, [FrameId]> {
        match self.places.is_empty() {
            true => Cow::Borrowed(&self.stacks.values),
            false => self.stacks.values.iter().map(|&id| self.base(id)).collect(),
        }
    }

    fn view<'a>(&'a self, frames: &'a [FrameId], weights: &'a (dyn Fn(usize) -> Weights + Sync)) -> View<'a> {
        View { frames, ends: &self.stacks.ends, weights }
    }

    /// Writes folded text in frame order.
    ///
    /// # Errors
    /// The writer's.
    pub fn write(&self, out: &mut dyn Write) -> Result<()> {
        let mut lines = LineWriter::new(self.columns(), out);
        self.for_each(|stack, weights| lines.write(stack, weights))?;
        lines.finish()
    }

    /// [`StackTable::write`] on `threads` threads; 0 means one for each processor.
    ///
    /// # Errors
    /// The writer's.
    pub(crate) fn write_on(&self, threads: usize, out: &mut (dyn Write + Send)) -> Result<()> {
        /// The number of stacks whose text is made at once, and the bytes it should take: it fits the second-level cache.
        const PART: usize = if cfg!(test) { 16 } else { 512 };
        const PART_BYTES: usize = 256 << 10;
        let threads =
            if self.len() < 2 * PART || self.has_long_stack() { 1 } else { threads::count(threads) };
        if threads < 2 {
            return self.write(out);
        }
        let (by_name, named) = (self.by_name(), self.named());
        let weights = |index| self.weights(index);
        let ranks = Ranks::new(&by_name);
        let sorted = Sorted::new(self.view(&named, &weights), &ranks, threads);
        let (columns, sorted) = (self.columns(), &sorted);
        let begin = || {
            let (mut stacks, mut near) = (StackText::new(self), Near::default());
            move |part: Range<usize>, text: &mut PartText<'_>| {
                sorted.visit_part(part, &mut near, &mut |stack, weights| {
                    let stack = stacks.of(stack)?;
                    text.add(|text| put_line(stack, weights, columns, text))
                })
            }
        };
        let of_mean = PART_BYTES / self.mean_text().max(1);
        let parts = sorted.parts(of_mean.clamp(1, PART));
        threads::in_turns(threads, &parts, begin, &mut |text| Ok(out.write_all(text)?))?;
        Ok(out.flush()?)
    }

    /// The bytes of a stack of the mean number of frames, with names of the mean length.
    fn mean_text(&self) -> usize {
        let name = self.name_bytes() / self.names.len().max(1) + 1;
        (self.stacks.values.len() / self.len().max(1)).saturating_mul(name)
    }

    /// The bytes of all names.
    fn name_bytes(&self) -> usize {
        self.names.values.len()
    }

    /// Returns true if a stack takes more than [`LONG`] bytes.
    fn has_long_stack(&self) -> bool {
        let stacks = || (0..self.len()).map(|index| self.stack(index));
        let deepest = stacks().map(<[FrameId]>::len).max().unwrap_or(0);
        let longest = self.names.ends.windows(2).map(|ends| ends[1] - ends[0] + 1).max().unwrap_or(0);
        // The product tells it of nearly all tables.
        longest.saturating_mul(deepest) > LONG
            && stacks()
                .any(|stack| stack.iter().map(|&frame| self.name(frame).len() + 1).sum::<usize>() > LONG)
    }
}

/// The text of stacks that come in frame order: neighbours share most of their frames, and the text is kept up to
/// where they part.
struct StackText<'t> {
    table: &'t StackTable,
    text: Vec<u8>,
    /// The ends of the frames in the text.
    ends: Vec<usize>,
    previous: Vec<FrameId>,
    longest: usize,
}

impl<'t> StackText<'t> {
    fn new(table: &'t StackTable) -> Self {
        // A line of the input may be as long as all of its names.
        let longest = LONGEST + table.name_bytes();
        StackText { table, text: Vec::new(), ends: Vec::new(), previous: Vec::new(), longest }
    }

    fn of(&mut self, stack: &[FrameId]) -> Result<&[u8]> {
        let StackText { table, text, ends, previous, longest } = self;
        let same = previous.iter().zip(stack).take_while(|(a, b)| a == b).count();
        ends.truncate(same);
        text.truncate(ends.last().copied().unwrap_or(0));
        for (depth, &frame) in stack.iter().enumerate().skip(same) {
            if depth > 0 {
                text.push(b';');
            }
            text.extend_from_slice(table.name(frame));
            if text.len() > *longest {
                // A few long names, deep enough, fill any memory.
                return Err(ErrorKind::TooLong { limit: *longest }.into());
            }
            ends.push(text.len());
        }
        previous.truncate(same);
        previous.extend_from_slice(&stack[same..]);
        Ok(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stack_is_not_longer_than_a_line_can_be() {
        let written = |times: usize, more: usize| {
            let mut table = StackTable::default();
            let (long, other) = (table.frame(&[b'a'; LONGEST / 4 - 1]), table.frame(&vec![b'b'; more]));
            let stack: Vec<_> = std::iter::repeat_n(long, times).chain([other]).collect();
            table.add(&stack, Weights::one(Weight::ONE)).unwrap();
            table.write(&mut std::io::sink())
        };
        // Names that occur once make a line as long as they are.
        assert!(written(1, 3 * LONGEST).is_ok());
        assert!(written(4, 1).is_ok());
        let limit = LONGEST + LONGEST / 4;
        assert!(
            matches!(written(6, 1).unwrap_err().kind(), ErrorKind::TooLong { limit: at } if *at == limit)
        );
    }

    #[test]
    fn long_stacks_are_found() {
        let table = |name: usize, deep: usize| {
            let mut table = StackTable::default();
            let (long, short) = (table.frame(&vec![b'a'; name]), table.frame(b""));
            for stack in [vec![long], vec![short; deep]] {
                table.add(&stack, Weights::one(Weight::ONE)).unwrap();
            }
            table
        };
        assert!(table(LONG, 1).has_long_stack() && table(1, LONG + 1).has_long_stack());
        // The longest name is not in the deepest stack.
        assert!(!table(LONG - 1, LONG).has_long_stack());
    }
}
