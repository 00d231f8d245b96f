//! Stacks that are printed from the leaf to the root, as debuggers and tracers do, turned round.

use crate::folded::FrameId;

/// A stack in the making.
#[derive(Default)]
pub struct LeafFirst {
    above: Vec<FrameId>,
    frames: Vec<FrameId>,
    stack: Vec<FrameId>,
}

impl LeafFirst {
    /// Adds a frame that stands above the whole stack, below those added before: the thread.
    pub fn push_above(&mut self, frame: FrameId) {
        self.above.push(frame);
    }

    /// Adds a frame, rootward of those before.
    pub fn push(&mut self, frame: FrameId) {
        self.frames.push(frame);
    }

    /// Returns whether no frame was added, but for those above.
    pub fn is_empty(&self) -> bool {
        self.frames.is_empty()
    }

    /// The whole stack, root first; the next one begins.
    pub fn take(&mut self) -> &[FrameId] {
        self.stack.clear();
        self.stack.append(&mut self.above);
        self.stack.extend(self.frames.drain(..).rev());
        &self.stack
    }

    /// Drops what there is.
    pub fn clear(&mut self) {
        self.above.clear();
        self.frames.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn turns_stacks_round() {
        let mut stack = LeafFirst::default();
        stack.push_above(FrameId(8));
        stack.push_above(FrameId(9));
        [1, 2, 3].into_iter().for_each(|n| stack.push(FrameId(n)));
        assert_eq!(stack.take(), [8, 9, 3, 2, 1].map(FrameId));
        stack.push(FrameId(4));
        assert!(!stack.is_empty());
        assert_eq!(stack.take(), [FrameId(4)]);
        stack.push_above(FrameId(5));
        stack.clear();
        assert!(stack.is_empty() && stack.take().is_empty());
    }
}
