//! Selection by the whole text of a stack, `root;caller;leaf`: `fg-filter PATTERN` and `-v` on a
//! profile in memory.

use crate::filter::operation::Select;
use crate::filter::pattern::Pattern;
use crate::folded::{FrameId, StackTable, Weights};

/// Keeps the stacks that a pattern matches, or those that it does not match.
pub(in crate::filter) struct Matching {
    pattern: Pattern,
    invert: bool,
    /// The number of frames at the root that are not looked at.
    below: usize,
    text: Vec<u8>,
}

impl Matching {
    pub(in crate::filter) fn new(pattern: Pattern, invert: bool) -> Self {
        Matching { pattern, invert, below: 0, text: Vec::new() }
    }

    /// Looks at the frames below the first ones only.
    pub(in crate::filter) fn below(self, frames: usize) -> Self {
        Matching { below: frames, ..self }
    }
}

impl Select for Matching {
    fn keeps(&mut self, stack: &[FrameId], _: Weights, names: &StackTable) -> bool {
        self.text.clear();
        for (depth, &frame) in stack.iter().skip(self.below).enumerate() {
            if depth > 0 {
                self.text.push(b';');
            }
            self.text.extend_from_slice(names.name(frame));
        }
        self.pattern.matches(&self.text) != self.invert
    }

    fn forget(&mut self) {}

    fn remark(&self) -> Option<String> {
        None
    }
}
