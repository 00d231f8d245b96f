//! One pass over stacks that are in order: the path to the current one, and the frames that are open on it.

use super::line::{Columns, Weights, parse_line};
use super::order::{cmp_at, common_prefix};
use super::replay_buffer::Rereadable;
use super::visitor::{Frame, Order, Rewrite, Visitor, WalkSummary};
use std::sync::Arc;

use crate::error::Result;
use crate::limits::Meter;
use crate::weight::Weight;

/// Puts the places of the `;` in a stack into `places`.
pub(super) fn places_of_semicolons(stack: &[u8], places: &mut Vec<u32>) {
    places.clear();
    places.extend(memchr::memchr_iter(b';', stack).map(|at| at as u32));
}

/// Returns true if nothing can be drawn for a stack.
pub(super) fn is_negative(weights: Weights) -> bool {
    weights.value.is_negative() || weights.before.is_negative()
}

/// A frame on the path to the current line.
#[derive(Clone, Copy, Default)]
pub(super) struct Open {
    /// The end of its name in the path.
    pub(super) end: usize,
    /// The weight of all stacks before it: its total is their weight in the end, less this.
    pub(super) start: Weights,
    pub(super) own: Weights,
}

/// One pass over stacks that are in order.
pub(super) struct Pass {
    order: Order,
    pub(super) path: Vec<u8>,
    pub(super) open: Vec<Open>,
    /// The number of open frames that began in a part before this one.
    pub(super) inherited: usize,
    /// Of the inherited frames that have ended, leaf first: the weight of the stacks of this part that
    /// end in them, and that of all its stacks until then.
    pub(super) ended: Vec<(Weights, Weights)>,
    /// True if the visitor is told of stacks; and the weight so far of the one on the path.
    follows_stacks: bool,
    stack: Option<Weights>,
    /// Frames whose total is below this are passed over, and so many were.
    light: Weight,
    pub(super) passed_over: u64,
    /// The number of stacks until the visitor is asked again for the weight of light ones.
    until_asked: u32,
    pub(super) summary: WalkSummary,
    /// The limits of the reading.
    meter: Option<Arc<Meter>>,
}

impl Pass {
    pub(super) fn new(order: Order, columns: Columns, follows_stacks: bool) -> Self {
        let summary = WalkSummary { columns, ..WalkSummary::default() };
        let (path, open, ended) = Default::default();
        let (inherited, stack, light, passed_over, until_asked) = Default::default();
        Pass {
            order,
            path,
            open,
            inherited,
            ended,
            follows_stacks,
            stack,
            light,
            passed_over,
            until_asked,
            summary,
            meter: None,
        }
    }

    /// The same within the limits of a reading.
    pub(super) fn within(self, meter: Option<&Arc<Meter>>) -> Self {
        Pass { meter: meter.cloned(), ..self }
    }

    /// Takes all stacks; `false` if they are not in order.
    pub(super) fn stream(
        &mut self,
        input: &mut Rereadable<'_>,
        rewrite: Option<&Rewrite>,
        visitor: &mut dyn Visitor,
    ) -> Result<bool> {
        let columns = self.summary.columns;
        let (mut rewritten, mut semicolons) = (Vec::new(), Vec::new());
        while let Some((line, mut same)) = input.next_line_split_like(&self.path, &mut semicolons)? {
            let Some(parsed) = parse_line(line, columns) else {
                let line = line.to_vec();
                self.summary.not_understood.note(&line, || input.position());
                continue;
            };
            let mut stack = parsed.stack;
            if let Some(rewrite) = rewrite {
                rewritten.clear();
                if !rewrite(stack, &mut rewritten) {
                    continue;
                }
                stack = &rewritten;
                same = 0;
                places_of_semicolons(stack, &mut semicolons);
            }
            let within = self.meter.as_ref().map_or(Ok(()), |meter| meter.check_depth(semicolons.len() + 1));
            match within.and_then(|()| self.push(stack, same, &semicolons, parsed.weights, visitor)) {
                Ok(true) => {}
                Ok(false) => return Ok(false),
                Err(e) => return Err(e.or_at(|| input.position())),
            }
        }
        Ok(true)
    }

    /// Takes the next stack, whose first `same` bytes are known to be those of the path, and behind
    /// them the places of all `;`; `false`, and nothing done, if it is out of order.
    #[inline]
    pub(super) fn push(
        &mut self,
        stack: &[u8],
        same: usize,
        semicolons: &[u32],
        weights: Weights,
        visitor: &mut dyn Visitor,
    ) -> Result<bool> {
        // A weight may look like the end of a name before it.
        let known = same.min(stack.len());
        let same = known + common_prefix(&self.path[known..], &stack[known..]);
        if self.order == Order::Frame && cmp_at(&self.path, stack, same).is_gt() {
            return Ok(false);
        }
        if is_negative(weights) {
            // Lines of one stack add up first: a table does that.
            self.summary.negative += 1;
            return Ok(self.order != Order::Frame);
        }
        let equal = same == stack.len() && same == self.path.len();
        let again = self.order == Order::Time && equal;
        if self.follows_stacks && (again || !equal) {
            self.tell_stack(visitor)?;
        }
        while let Some(top) = self.open.last() {
            // A frame goes on if the stack has all of its name and a boundary behind it.
            let goes_on = top.end < same || (top.end == same && matches!(stack.get(same), None | Some(b';')));
            if goes_on && !(again && top.end == stack.len()) {
                break;
            }
            self.exit(visitor)?;
        }
        let shared = self.open.last().map_or(0, |top| top.end);
        self.path.truncate(shared);
        self.path.extend_from_slice(&stack[shared..]);
        if shared < stack.len() || self.open.is_empty() {
            let from = if self.open.is_empty() { 0 } else { shared + 1 };
            let known = self.open.len();
            let start = self.summary.total;
            let new = |end| Open { end, start, own: Weights::default() };
            let ends = semicolons.iter().map(|&at| at as usize);
            // The first may be the one before the frame; the line has more behind the stack.
            for end in ends.skip_while(|&end| end < from).take_while(|&end| end < stack.len()) {
                self.open.push(new(end));
            }
            self.open.push(new(stack.len()));
            if self.follows_stacks {
                self.tell_entered(known, from, visitor)?;
            }
        }
        if self.follows_stacks {
            self.stack = Some(self.stack.unwrap_or_default().checked_add(weights)?);
        }
        let leaf = self.open.last_mut().expect("a stack has at least one frame");
        leaf.own.try_add(weights)?;
        self.summary.total.try_add(weights)?;
        if self.until_asked == 0 {
            self.ask(visitor);
        }
        self.until_asked -= 1;
        Ok(true)
    }

    /// Asks the visitor which frames are light by now.
    #[cold]
    fn ask(&mut self, visitor: &dyn Visitor) {
        const EVERY: u32 = 64;
        self.until_asked = EVERY;
        if !self.follows_stacks && self.summary.columns == Columns::One {
            self.light = visitor.least(self.summary.total);
        }
    }

    #[inline(never)]
    fn tell_entered(&self, known: usize, mut start: usize, visitor: &mut dyn Visitor) -> Result<()> {
        for (depth, open) in self.open.iter().enumerate().skip(known) {
            visitor.enter(&self.path[start..open.end], depth)?;
            start = open.end + 1;
        }
        Ok(())
    }

    fn tell_stack(&mut self, visitor: &mut dyn Visitor) -> Result<()> {
        match self.stack.take() {
            Some(weights) => visitor.stack(&self.path, weights),
            None => Ok(()),
        }
    }

    pub(super) fn exit(&mut self, visitor: &mut dyn Visitor) -> Result<()> {
        let Some(&Open { end, ref start, ref own }) = self.open.last() else { return Ok(()) };
        let is_light = self.summary.total.value.is_surely_within(start.value, self.light);
        if is_light && self.open.len() > self.inherited {
            self.open.truncate(self.open.len() - 1);
            self.passed_over += 1;
            return Ok(());
        }
        let (start, own) = (*start, *own);
        self.open.truncate(self.open.len() - 1);
        if self.open.len() < self.inherited {
            self.inherited = self.open.len();
            self.ended.push((own, self.summary.total));
            return Ok(());
        }
        let total = self.summary.total.checked_sub(start)?;
        let from = self.open.last().map_or(0, |caller| caller.end + 1);
        let frame = Frame { name: &self.path[from..end], depth: self.open.len(), start, own, total };
        visitor.exit(frame, self.summary.total)
    }

    pub(super) fn finish(mut self, visitor: &mut dyn Visitor) -> Result<WalkSummary> {
        self.tell_stack(visitor)?;
        while !self.open.is_empty() {
            self.exit(visitor)?;
        }
        visitor.passed_over(self.passed_over);
        Ok(self.summary)
    }
}
