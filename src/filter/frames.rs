//! Remembers what is known of a frame: it is found out once for each name, however many stacks
//! the frame stands in.
//!
//! Frames are numbers in a [`StackTable`]; what an operation learns of one is kept beside its
//! number. A stream without end may bring names without end, so the numbers can be taken back:
//! then everything kept here is forgotten.

use regex::bytes::Regex;

use crate::error::Result;
use crate::folded::{FrameId, StackTable};
use crate::search::{Case, name_regex};

/// A value for each frame, found out when it is first asked for.
#[derive(Debug)]
pub(super) struct PerFrame<T> {
    values: Vec<Option<T>>,
    /// The values of frames with a place, which have numbers of their own.
    placed: Vec<Option<T>>,
}

impl<T> Default for PerFrame<T> {
    fn default() -> Self {
        PerFrame { values: Vec::new(), placed: Vec::new() }
    }
}

impl<T: Copy> PerFrame<T> {
    /// The frame's value.
    #[inline(always)]
    pub(super) fn get(&mut self, frame: FrameId, find: impl FnOnce() -> T) -> T {
        match self.values.get(frame.0 as usize) {
            Some(Some(value)) => *value,
            _ => self.find(frame, find),
        }
    }

    #[cold]
    #[inline(never)]
    fn find(&mut self, frame: FrameId, find: impl FnOnce() -> T) -> T {
        let (values, index) = match frame.placed() {
            Some(index) => (&mut self.placed, index),
            None => (&mut self.values, frame.0 as usize),
        };
        if values.len() <= index {
            values.resize(index + 1, None);
        }
        *values[index].get_or_insert_with(find)
    }

    /// The numbers stand for other names from now on.
    pub(super) fn forget(&mut self) {
        self.values.clear();
        self.placed.clear();
    }
}

/// A regular expression for frames.
pub(super) struct FramePattern {
    regex: Regex,
    verdicts: PerFrame<bool>,
    matched: bool,
}

impl FramePattern {
    pub(super) fn new(expression: &str, case: Case) -> Result<Self> {
        Ok(FramePattern {
            regex: name_regex(expression, case)?,
            verdicts: PerFrame::default(),
            matched: false,
        })
    }

    /// Returns true if the expression matches the frame's name.
    #[inline]
    pub(super) fn matches(&mut self, frame: FrameId, names: &StackTable) -> bool {
        let verdict = self.verdicts.get(frame, || self.regex.is_match(names.name(frame)));
        self.matched |= verdict;
        verdict
    }

    /// Returns true if the expression matches a part of the frame's name; it must be the same part at
    /// every call.
    pub(super) fn matches_part<'n>(&mut self, frame: FrameId, part: impl FnOnce() -> &'n [u8]) -> bool {
        let verdict = self.verdicts.get(frame, || self.regex.is_match(part()));
        self.matched |= verdict;
        verdict
    }

    /// Returns true if the expression has matched any frame.
    pub(super) fn has_matched(&self) -> bool {
        self.matched
    }

    pub(super) fn forget(&mut self) {
        self.verdicts.forget();
    }
}

/// Names that become other names. A frame that is renamed keeps its place.
#[derive(Default)]
pub(super) struct NewNames {
    names: PerFrame<FrameId>,
    changed: bool,
}

impl NewNames {
    /// Gives every frame of a stack the name that `rename` writes into the empty vector, or its
    /// old one if it returns `false`.
    pub(super) fn apply(
        &mut self,
        stack: &mut [FrameId],
        names: &mut StackTable,
        mut rename: impl FnMut(&[u8], &mut Vec<u8>) -> bool,
    ) {
        for frame in stack {
            let old = *frame;
            *frame = self.names.get(old, || {
                let mut new = Vec::new();
                if !rename(names.name(old), &mut new) || new == names.name(old) {
                    return old;
                }
                // A frame has to be called something.
                names.renamed(old, if new.is_empty() { b"[empty]" } else { &new })
            });
            self.changed |= *frame != old;
        }
    }

    pub(super) fn has_changed(&self) -> bool {
        self.changed
    }

    pub(super) fn forget(&mut self) {
        self.names.forget();
    }
}
