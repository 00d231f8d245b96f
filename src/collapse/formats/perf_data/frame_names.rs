//! The names of raw frames, once each was looked up.

use crate::folded::FrameId;

/// The names of a raw frame.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct NamedFrame {
    /// The thread that has named it, and the range among that thread's frames.
    pub thread: usize,
    pub start: usize,
    pub len: usize,
    /// Its address as the file states it; of a return address, the call's.
    pub svma: Option<u64>,
    /// Nothing rootward of it is wanted.
    pub last: bool,
    /// Its symbol, or the lack of one.
    pub known: SymbolState,
    /// Threads and programs begin with this function: nothing called it.
    pub is_start: bool,
}

/// The state of the symbol of a frame.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum SymbolState {
    /// It has a name of its own, or it is no code.
    #[default]
    Symbol,
    /// Only its module is known, by this number.
    Module(u32),
    /// Its module is known, and where its function begins, which is its name.
    Start(u32),
    /// It is in a kernel without symbols, where one frame stands for all.
    Hidden,
}

/// The names of all frames.
pub(super) struct FrameNames {
    pub named: Vec<NamedFrame>,
    /// Each thread's frames by number, one after the other.
    pub frames: Vec<Vec<FrameId>>,
}

impl FrameNames {
    /// The names of the raw frame of a number.
    pub fn named(&self, number: u32) -> &NamedFrame {
        &self.named[number as usize]
    }

    /// Puts another frame in the place of one of a raw frame's.
    pub fn replace(&mut self, named: &NamedFrame, at: usize, frame: FrameId) {
        self.frames[named.thread][named.start + at] = frame;
    }

    /// A raw frame with its names, leaf first.
    pub fn of(&self, raw: FrameId) -> (&NamedFrame, &[FrameId]) {
        let named = &self.named[raw.0 as usize];
        (named, &self.frames[named.thread][named.start..named.start + named.len])
    }
}
