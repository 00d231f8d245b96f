//! Chooses the frames that are drawn and places them: numbers only.
//!
//! A closed frame that is narrower than the least width times the weight *so far* will be
//! narrower still in the end, since the total only grows: it is dropped at once. What was kept
//! early, when little had been seen, is looked at again whenever the kept frames have doubled.
//! Memory therefore holds what will be drawn and a little more, however long the input is.

mod differential;
mod graph;
#[cfg(test)]
mod tests;
mod union;

use std::any::Any;

use super::compare::{Comparison, Widths};
use super::verdicts::FrameVerdicts;
use crate::error::{Error, Result};
use crate::folded::{
    Columns, ForkedVisitor, Frame, FrameId, Known, StackTable, Visitor, WalkSummary, Weights,
};
use crate::weight::Weight;
use differential::{Change, Differential};
use graph::Kept;
pub use graph::{FrameBox, Graph};
use union::{UnionWidths, has_ghosts, resolve_starts};

/// A second look is not worth its time below this many kept frames or bytes of names.
const LOOK_AGAIN_FRAMES: usize = 16 * 1024;
const LOOK_AGAIN_BYTES: usize = 1024 * 1024;
/// The limit in use lags behind by at most this many frames; that keeps the sum of all weights,
/// a wide number, out of the work done for each frame.
const LIMIT_EVERY: u32 = 64;

/// Keeps the frames that are wide enough to be drawn.
pub struct Layout {
    least_share: f64,
    least_total: Option<Weight>,
    /// Closed frames lighter than this are not kept.
    limit: f64,
    /// The limit without its fraction.
    surely_below: Weight,
    until_limit: u32,
    boxes: Vec<Kept>,
    differential: Differential,
    names: StackTable,
    name_bytes: usize,
    look_again: (usize, usize),
    left_out: u64,
    comparison: Comparison,
    union: UnionWidths,
    /// Places in the union are wanted too.
    wants_ghosts: bool,
    /// This input has places in the union besides those after.
    has_ghosts: bool,
    most_rows: u32,
}

impl Layout {
    /// Keeps frames of at least `least_share` of the whole, which is the weight of all stacks
    /// or `least_total` if that is larger.
    pub fn new(least_share: f64, least_total: Option<Weight>) -> Self {
        let mut layout = Layout {
            least_share,
            least_total,
            limit: 0.0,
            surely_below: Weight::ZERO,
            until_limit: 0,
            boxes: Vec::new(),
            differential: Differential::default(),
            names: StackTable::default(),
            name_bytes: 0,
            look_again: (LOOK_AGAIN_FRAMES, LOOK_AGAIN_BYTES),
            left_out: 0,
            comparison: Comparison::default(),
            union: UnionWidths::default(),
            wants_ghosts: false,
            has_ghosts: false,
            most_rows: u32::MAX,
        };
        layout.set_limit(Weight::ZERO);
        layout
    }

    /// Shows this of differential input.
    pub fn comparing(mut self, comparison: Comparison) -> Self {
        self.comparison = comparison;
        self
    }

    /// If widths are those after, also keeps frames that are gone, without any width, and records
    /// the place each frame would have with the widths of the union: for pictures that can change
    /// between the two. Does nothing unless a frame that is gone is wide enough.
    pub fn with_ghosts(mut self) -> Self {
        self.wants_ghosts = true;
        self
    }

    /// Leaves out rows above a number of them: see [`Graph::deeper`].
    pub fn with_most_rows(mut self, rows: u32) -> Self {
        self.most_rows = rows;
        self
    }

    /// Returns true if frames are placed as in the union.
    fn places_union(&self) -> bool {
        self.has_ghosts || self.comparison.widths == Widths::Union
    }

    /// Shows this of differential input, from now on.
    pub fn compare(&mut self, comparison: Comparison) {
        self.comparison = comparison;
    }

    /// The weight that counts as width: that of a side, or the larger of both.
    fn width(&self, weights: Weights) -> Weight {
        match self.comparison.widths {
            Widths::After => weights.value,
            Widths::Before => weights.before,
            Widths::Union => weights.larger(),
        }
    }

    /// The start of a frame and its width; in a union the start is counted from that of the frame
    /// above, until all is known.
    fn place(&mut self, frame: &Frame<'_>) -> Result<(Weight, Weight)> {
        match self.comparison.widths {
            Widths::After if !self.has_ghosts => Ok((frame.start.value, frame.total.value)),
            Widths::Before => Ok((frame.start.before, frame.total.before)),
            Widths::After | Widths::Union => self.union.place(frame),
        }
    }

    fn set_limit(&mut self, so_far: Weight) {
        let whole = self.least_total.map_or(so_far, |least| least.max(so_far));
        self.limit = self.least_share * whole.to_f64();
        self.surely_below = Weight::new(self.limit.floor() as i128);
        self.until_limit = LIMIT_EVERY;
    }

    fn is_wide_enough(&self, total: Weight) -> bool {
        // Nearly all frames are far too narrow: whole numbers tell that sooner than floats.
        total >= self.surely_below && !total.is_zero() && total.to_f64() >= self.limit
    }

    #[inline(never)]
    fn keep(&mut self, frame: Frame<'_>, (start, width): (Weight, Weight), so_far: Weight, gone: Weight) {
        if self.boxes.len() >= self.look_again.0 || self.name_bytes >= self.look_again.1 {
            self.set_limit(so_far);
            self.look_again();
        }
        let mut change = 0;
        let needs_own = self.comparison.own || self.places_union();
        if !frame.total.before.is_zero() || !gone.is_zero() || needs_own {
            let Weights { value: after, before } = frame.total;
            let after_start = frame.start.value;
            change = self.differential.push(Change { before, after, after_start, gone, own: frame.own });
        }
        let name = self.intern(frame.name);
        let depth = index(frame.depth);
        self.boxes.push(Kept { start, total: width, name, depth, change });
    }

    fn intern(&mut self, name: &[u8]) -> FrameId {
        let known = self.names.frame_count();
        let id = self.names.frame(name);
        if self.names.frame_count() > known {
            self.name_bytes += name.len();
        }
        id
    }

    /// Drops the frames that turned out too narrow, and what belongs to them, in place: a copy would
    /// take as much memory again.
    fn look_again(&mut self) {
        let mut boxes = std::mem::take(&mut self.boxes);
        let names = std::mem::take(&mut self.names);
        self.name_bytes = 0;
        let mut changes = 0;
        boxes.retain_mut(|kept| {
            if !self.is_wide_enough(kept.total) {
                self.left_out += 1;
                return false;
            }
            kept.name = self.intern(names.name(kept.name));
            if kept.change > 0 {
                // Changes were pushed in the order of frames.
                self.differential.changes[changes] = self.differential.changes[kept.change as usize - 1];
                changes += 1;
                kept.change = index(changes);
            }
            true
        });
        self.differential.changes.truncate(changes);
        self.boxes = boxes;
        self.look_again =
            (LOOK_AGAIN_FRAMES.max(2 * self.boxes.len()), LOOK_AGAIN_BYTES.max(2 * self.name_bytes));
    }

    /// Leaves the rows that are drawn, and returns their number and that of the others.
    fn settle_rows(&mut self) -> (u32, u32) {
        let all = self.boxes.iter().map(|kept| kept.depth + 1).max().unwrap_or(0);
        let rows = all.min(self.most_rows);
        let wide = self.boxes.len();
        self.boxes.retain(|kept| kept.depth < rows);
        self.left_out += (wide - self.boxes.len()) as u64;
        (rows, all - rows)
    }

    /// Leaves the frames that are wide enough after or in the union, and returns whether one of them
    /// is gone; else the frames are placed as they are after.
    fn settle_ghosts(&mut self, after: Weight, union: Weight) -> bool {
        let least_in_union = self.least_share * union.to_f64();
        let is_in_union = |kept: &Kept| kept.total.to_f64() >= least_in_union;
        let changes = std::mem::take(&mut self.differential.changes);
        let mut boxes = std::mem::take(&mut self.boxes);
        let has_ghosts = !after.is_zero() && has_ghosts(&boxes, &changes, is_in_union);
        boxes.retain_mut(|kept| {
            let Change { after, after_start, .. } = changes[kept.change as usize - 1];
            let stays = self.is_wide_enough(after) || (has_ghosts && is_in_union(kept));
            if !has_ghosts {
                (kept.start, kept.total) = (after_start, after);
            }
            self.left_out += u64::from(!stays);
            stays
        });
        (self.boxes, self.differential.changes) = (boxes, changes);
        has_ghosts
    }

    /// The graph of all frames that came.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Setting`] if the total that was asked for is smaller than the real one.
    pub fn finish(mut self, summary: &WalkSummary) -> Result<Graph> {
        let union = self.union.total();
        let real = match self.comparison.widths {
            Widths::Union => union,
            _ => self.width(summary.total),
        };
        if let Some(least) = self.least_total
            && least < real
        {
            let what = format!("the total {least} is smaller than the weight of all stacks, {real}");
            return Err(Error::setting(what));
        }
        self.set_limit(real);
        self.look_again();
        if self.places_union() {
            resolve_starts(&mut self.boxes, &self.differential.changes)?;
        }
        let has_ghosts = self.has_ghosts && self.settle_ghosts(real, union);
        let (rows, deeper) = self.settle_rows();
        let gone = self.differential.gone_roots();
        let Differential { changes, .. } = self.differential;
        // A caller starts where its first callee does, and has less depth: tree order.
        self.boxes.sort_unstable_by(|a, b| a.start.cmp(&b.start).then(a.depth.cmp(&b.depth)));
        let sure = match summary.columns {
            Columns::One => Vec::new(),
            Columns::Two => {
                let verdicts = FrameVerdicts::of(&summary.facts, &self.comparison);
                self.boxes.iter().map(|kept| verdicts.is_sure(self.names.name(kept.name))).collect()
            }
        };
        Ok(Graph {
            rows,
            deeper,
            total: self.least_total.unwrap_or(real),
            before: summary.total.before,
            after: summary.total.value,
            comparison: self.comparison,
            sure,
            gone,
            union: has_ghosts.then_some(self.least_total.map_or(union, |least| least.max(union))),
            columns: summary.columns,
            left_out: self.left_out,
            factor: Weight::ONE,
            boxes: self.boxes,
            changes,
            names: self.names,
        })
    }
}

impl Visitor for Layout {
    #[inline]
    fn exit(&mut self, frame: Frame<'_>, so_far: Weights) -> Result<()> {
        let mut gone = Weight::ZERO;
        if self.differential.concerns(&frame) && self.comparison.widths == Widths::After {
            gone = self.differential.take_gone(&frame)?;
        }
        let place = self.place(&frame)?;
        let mut whole = self.width(so_far);
        if self.has_ghosts && whole.is_zero() {
            whole = so_far.before;
        }
        self.until_limit -= 1;
        if self.until_limit == 0 {
            self.set_limit(whole);
        }
        if self.is_wide_enough(place.1) {
            self.keep(frame, place, whole, gone);
        } else {
            self.left_out += 1;
        }
        Ok(())
    }

    fn least(&self, all: Weights) -> Weight {
        let whole = self.least_total.map_or(self.width(all), |least| least.max(self.width(all)));
        // Rounded down, so that nothing is lost that is_wide_enough would keep.
        Weight::new((self.least_share * whole.to_f64()).floor() as i128)
    }

    fn passed_over(&mut self, frames: u64) {
        self.left_out += frames;
    }

    fn begin(&mut self, known: &Known<'_>) -> Result<()> {
        self.has_ghosts =
            self.wants_ghosts && known.columns == Columns::Two && self.comparison.widths == Widths::After;
        Ok(())
    }

    /// Differential input is one thread's.
    fn fork(&self) -> Option<Box<dyn ForkedVisitor>> {
        let is_plain = self.comparison.widths == Widths::After && !self.comparison.own && !self.has_ghosts;
        is_plain.then(|| Box::new(Layout::new(self.least_share, self.least_total)) as Box<dyn ForkedVisitor>)
    }

    fn join(&mut self, fork: Box<dyn ForkedVisitor>, offset: Weights) -> Result<()> {
        let fork: Box<dyn Any> = fork;
        let Ok(fork) = fork.downcast::<Layout>() else { unreachable!("a layout forks layouts") };
        self.left_out += fork.left_out;
        for kept in &fork.boxes {
            let start = kept.start.checked_add(offset.value)?;
            let name = self.intern(fork.names.name(kept.name));
            self.boxes.push(Kept { start, name, ..*kept });
        }
        Ok(())
    }

    fn restart(&mut self) -> Result<()> {
        let comparison = std::mem::take(&mut self.comparison);
        let (wants_ghosts, has_ghosts) = (self.wants_ghosts, self.has_ghosts);
        *self = Layout::new(self.least_share, self.least_total)
            .comparing(comparison)
            .with_most_rows(self.most_rows);
        (self.wants_ghosts, self.has_ghosts) = (wants_ghosts, has_ghosts);
        Ok(())
    }
}

fn index(n: usize) -> u32 {
    u32::try_from(n).expect("4 billion frames do not fit in memory")
}
