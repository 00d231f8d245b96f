//! The places of frames among all that is or was there: of each stack the larger weight.
//!
//! The width of a union is known of single stacks only. It is added up here while frames are closed,
//! and starts are counted from that of the frame above until all frames are known.

use super::differential::Change;
use super::graph::Kept;
use crate::error::Result;
use crate::folded::{Frame, Weights};
use crate::weight::Weight;

/// Adds up widths.
#[derive(Default)]
pub(super) struct UnionWidths {
    /// By depth: the width of the callees so far of the open frame above.
    widths: Vec<Weight>,
}

impl UnionWidths {
    /// The start of a closed frame, counted from that of the frame above, and its width.
    pub(super) fn place(&mut self, frame: &Frame<'_>) -> Result<(Weight, Weight)> {
        if self.widths.len() < frame.depth + 2 {
            self.widths.resize(frame.depth + 2, Weight::ZERO);
        }
        let callees = std::mem::take(&mut self.widths[frame.depth + 1]);
        let width = frame.own.larger().checked_add(callees)?;
        let start = self.widths[frame.depth];
        self.widths[frame.depth] = start.checked_add(width)?;
        Ok((start, width))
    }

    /// The width of all stacks.
    pub(super) fn total(&self) -> Weight {
        self.widths.first().copied().unwrap_or_default()
    }
}

/// Turns starts into ones counted from the left. Frames above come after those below them in the
/// order of the visits, and are met first on the way back.
pub(super) fn resolve_starts(boxes: &mut [Kept], changes: &[Change]) -> Result<()> {
    let mut first_callee: Vec<Weight> = Vec::new();
    for kept in boxes.iter_mut().rev() {
        let depth = kept.depth as usize;
        if let Some(above) = depth.checked_sub(1) {
            kept.start = kept.start.checked_add(first_callee[above])?;
        }
        let own = match kept.change {
            0 => Weights::default(),
            n => changes[n as usize - 1].own,
        };
        first_callee.truncate(depth);
        first_callee.push(kept.start.checked_add(own.larger())?);
    }
    Ok(())
}

/// Returns true if a frame is gone that is wide enough in the union. Every frame has its change there.
pub(super) fn has_ghosts(boxes: &[Kept], changes: &[Change], is_in_union: impl Fn(&Kept) -> bool) -> bool {
    boxes.iter().any(|kept| is_in_union(kept) && changes[kept.change as usize - 1].after.is_zero())
}
