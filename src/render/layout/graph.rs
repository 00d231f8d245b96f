//! The frames that are drawn, in tree order.

use super::differential::Change;
use super::index;
use crate::error::{Error, Result};
use crate::folded::{Columns, FrameId, StackTable, Weights};
use crate::render::compare::Comparison;
use crate::weight::Weight;

/// A kept frame. Callees are kept before their callers.
#[derive(Clone, Copy)]
pub(super) struct Kept {
    pub(super) start: Weight,
    pub(super) total: Weight,
    pub(super) name: FrameId,
    pub(super) depth: u32,
    /// One more than an index into the changes; 0 if both weights are zero.
    pub(super) change: u32,
}

/// A frame to draw.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrameBox<'a> {
    /// Its name.
    pub name: &'a [u8],
    /// The number of frames rootward of it.
    pub depth: u32,
    /// The weight of what stands left of it.
    pub start: Weight,
    /// Its width: the weight of all stacks through it; in differential input, what
    /// [`Widths`](crate::render::compare::Widths) says.
    pub total: Weight,
    /// In differential input, the weight of all stacks through it *before*.
    pub before: Weight,
    /// In differential input, the same *after*.
    pub after: Weight,
    /// The weights of the stacks that end in it, when [`Comparison::own`] asks for them.
    pub own: Weights,
    /// In differential input, whether the change of its share is more than noise.
    pub is_sure: bool,
    /// In differential input, what those of its callees weighed before that are not there after,
    /// and so cannot be drawn.
    pub gone: Weight,
    /// Its start and width among all that is or was there: see [`Layout::with_ghosts`](super::Layout::with_ghosts).
    pub union: Option<(Weight, Weight)>,
}

/// The frames that are drawn, and their totals.
pub struct Graph {
    pub(super) boxes: Vec<Kept>,
    pub(super) changes: Vec<Change>,
    pub(super) names: StackTable,
    /// In differential input, whether the change of each frame is more than noise.
    pub(super) sure: Vec<bool>,
    /// The width of all stacks, or the larger total that was asked for.
    pub total: Weight,
    /// In differential input, the weight of all stacks before.
    pub before: Weight,
    /// In differential input, the weight of all stacks after.
    pub after: Weight,
    /// The options of differential input.
    pub comparison: Comparison,
    /// In differential input, the weight before of stacks whose root frame vanished.
    pub gone: Weight,
    /// The width of all that is or was there, if frames say where they stand in that.
    pub union: Option<Weight>,
    /// One or two weights.
    pub columns: Columns,
    /// The number of rows of frames.
    pub rows: u32,
    /// The number of rows beyond the most that are drawn, which were left out.
    pub deeper: u32,
    /// The number of frames that were too narrow, of those that were looked at: unsorted input is
    /// not sorted that far down.
    pub left_out: u64,
    pub(super) factor: Weight,
}

impl Graph {
    /// The frames in tree order: a caller before its callees, from left to right.
    pub fn frames(&self) -> impl ExactSizeIterator<Item = FrameBox<'_>> + Clone {
        (0..self.boxes.len()).map(|n| self.frame(n))
    }

    /// The frame at a place in tree order. Who needs another order keeps places, which are small.
    ///
    /// # Panics
    /// If there are fewer frames.
    pub fn frame(&self, place: usize) -> FrameBox<'_> {
        let kept = self.boxes[place];
        let change = match kept.change {
            0 => Change { after: kept.total, ..Change::default() },
            n => self.changes[n as usize - 1],
        };
        let union = self.union.map(|_| (kept.start, kept.total));
        let (start, total) = match union {
            Some(_) => (change.after_start, change.after),
            None => (kept.start, kept.total),
        };
        FrameBox {
            name: self.names.name(kept.name),
            depth: kept.depth,
            start,
            total,
            before: change.before,
            after: change.after,
            own: change.own,
            is_sure: self.sure.get(place).copied().unwrap_or(true),
            gone: change.gone,
            union,
        }
    }

    /// The number of frames rootward of each frame, in tree order.
    pub fn depths(&self) -> impl ExactSizeIterator<Item = u32> {
        self.boxes.iter().map(|kept| kept.depth)
    }

    /// The names that occur, each once.
    pub fn names(&self) -> impl Iterator<Item = &[u8]> {
        (0..self.names.frame_count()).map(|n| self.names.name(FrameId(index(n))))
    }

    /// Returns true if there is nothing to draw.
    pub fn is_empty(&self) -> bool {
        self.boxes.is_empty()
    }

    /// The weight that is shown for a weight: see [`Graph::scale`].
    ///
    /// # Errors
    /// [`crate::ErrorKind::Overflow`].
    pub fn shown(&self, weight: Weight) -> Result<Weight> {
        if self.factor == Weight::ONE { Ok(weight) } else { weight.checked_mul(self.factor) }
    }

    /// The number that [`Graph::shown`] multiplies by.
    pub fn factor(&self) -> Weight {
        self.factor
    }

    /// Shows every weight multiplied by a number above zero.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Overflow`] if the largest weight then leaves the range.
    pub fn scale(&mut self, factor: Weight) -> Result<(), Error> {
        self.total.checked_mul(factor)?;
        self.after.checked_mul(factor)?;
        self.before.checked_mul(factor)?;
        self.factor = factor;
        Ok(())
    }

    /// The change that a frame is coloured by.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Overflow`].
    pub fn change(&self, frame: &FrameBox<'_>) -> Result<Weight> {
        if self.comparison.own {
            return frame.own.value.checked_sub(frame.own.before);
        }
        frame.after.checked_sub(frame.before)
    }

    /// The largest such change of a drawn frame or the whole, up or down.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Overflow`].
    pub fn largest_change(&self) -> Result<Weight> {
        let size = |change: Weight| if change.is_negative() { change.negated() } else { change };
        let mut largest = size(self.after.checked_sub(self.before)?);
        for frame in self.frames() {
            largest = largest.max(size(self.change(&frame)?));
        }
        Ok(largest)
    }
}
