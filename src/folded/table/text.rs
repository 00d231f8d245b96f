//! A table as folded text, in frame order.

use std::borrow::Cow;
use std::io::Write;
use std::ops::Range;

use super::super::line::{LineWriter, Weights, put_line};
use super::super::sort::{self, Near, Ranks, Sorted, View};
use super::{FrameId, StackTable};
use crate::error::{ErrorKind, Result};
use crate::input::MAX_RECORD;
use crate::threads;
use crate::weight::Weight;

/// The longest stack as text: nobody could read a longer line.
const LONGEST: usize = if cfg!(test) { 1 << 20 } else { MAX_RECORD };

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
        let (by_name, named) = (self.by_name(), self.named());
        let weights = |index| self.weights(index);
        sort::in_order(self.view(&named, &weights), 0, &Ranks::new(&by_name), least, &mut |stack, weights| {
            each(text.of(stack)?, weights)
        })
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

    /// [`StackTable::write`] on so many threads; 0 is as many as there are processors.
    ///
    /// # Errors
    /// The writer's.
    pub(crate) fn write_on(&self, threads: usize, out: &mut (dyn Write + Send)) -> Result<()> {
        /// The number of stacks whose text is made at once: it fits the second-level cache.
        const PART: usize = if cfg!(test) { 16 } else { 512 };
        let threads = if self.len() < 2 * PART { 1 } else { threads::count(threads) };
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
            move |part: Range<usize>, text: &mut Vec<u8>| {
                sorted.visit_part(part, &mut near, &mut |stack, weights| {
                    put_line(stacks.of(stack)?, weights, columns, text);
                    Ok(())
                })
            }
        };
        threads::in_turns(threads, &sorted.parts(PART), begin, &mut |text| Ok(out.write_all(text)?))?;
        Ok(out.flush()?)
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
}

impl<'t> StackText<'t> {
    fn new(table: &'t StackTable) -> Self {
        StackText { table, text: Vec::new(), ends: Vec::new(), previous: Vec::new() }
    }

    fn of(&mut self, stack: &[FrameId]) -> Result<&[u8]> {
        let StackText { table, text, ends, previous } = self;
        let same = previous.iter().zip(stack).take_while(|(a, b)| a == b).count();
        ends.truncate(same);
        text.truncate(ends.last().copied().unwrap_or(0));
        for (depth, &frame) in stack.iter().enumerate().skip(same) {
            if depth > 0 {
                text.push(b';');
            }
            text.extend_from_slice(table.name(frame));
            if text.len() > LONGEST {
                // A few long names, deep enough, fill any memory.
                return Err(ErrorKind::TooLong { limit: LONGEST }.into());
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
        let written = |leaf: usize| {
            let mut table = StackTable::default();
            let frames = [table.frame(&[b'a'; LONGEST / 2]), table.frame(&vec![b'b'; leaf])];
            table.add(&frames, Weights::one(Weight::ONE)).unwrap();
            table.write(&mut std::io::sink())
        };
        assert!(written(LONGEST / 2 - 1).is_ok());
        assert!(matches!(written(LONGEST / 2).unwrap_err().kind(), ErrorKind::TooLong { limit: LONGEST }));
    }
}
