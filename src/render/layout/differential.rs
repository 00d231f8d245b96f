//! Differential input: both weights of a frame, and the weight that vanished below it.

use crate::error::Result;
use crate::folded::{Frame, Weights};
use crate::weight::Weight;

/// The weights of a kept frame on both sides.
#[derive(Clone, Copy, Default)]
pub(super) struct Change {
    pub(super) before: Weight,
    pub(super) after: Weight,
    /// The start after, where the kept start is that in the union.
    pub(super) after_start: Weight,
    pub(super) gone: Weight,
    pub(super) own: Weights,
}

/// Collects both sides while frames come.
#[derive(Default)]
pub(super) struct Differential {
    /// The changes of kept frames.
    pub(super) changes: Vec<Change>,
    /// The weight before of callees that weigh nothing after, by depth, until the frame that they
    /// vanished from is closed.
    gone: Vec<Weight>,
}

impl Differential {
    /// Returns true if a frame has weight before, or closes over what vanished.
    pub(super) fn concerns(&self, frame: &Frame<'_>) -> bool {
        !frame.total.before.is_zero() || !self.gone.is_empty()
    }

    /// Keeps a change, and returns one more than its index.
    pub(super) fn push(&mut self, change: Change) -> u32 {
        self.changes.push(change);
        super::index(self.changes.len())
    }

    /// The weight before of the stacks whose root frame vanished.
    pub(super) fn gone_roots(&self) -> Weight {
        self.gone.first().copied().unwrap_or_default()
    }

    /// The weight that vanished below a closed frame; a frame that vanished itself is handed up.
    pub(super) fn take_gone(&mut self, frame: &Frame<'_>) -> Result<Weight> {
        let below = self.gone.get_mut(frame.depth + 1).map_or(Weight::ZERO, std::mem::take);
        if !frame.total.value.is_zero() {
            return Ok(below);
        }
        if self.gone.len() <= frame.depth {
            self.gone.resize(frame.depth + 1, Weight::ZERO);
        }
        self.gone[frame.depth] = self.gone[frame.depth].checked_add(frame.total.before)?;
        Ok(Weight::ZERO)
    }
}
