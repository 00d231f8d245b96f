//! The path to the current stack by numbers, for formats that write names once and numbers after.

use crate::folded::Interner;

/// Numbers names, and keeps those of the open frames, root first.
#[derive(Default)]
pub(super) struct Path {
    pub(super) names: Interner,
    pub(super) open: Vec<u32>,
}

impl Path {
    /// A frame begins.
    pub(super) fn enter(&mut self, name: &[u8]) {
        let key = self.names.key(name);
        self.open.push(key);
    }

    /// The frame that began last is complete.
    pub(super) fn exit(&mut self) {
        self.open.pop();
    }
}
