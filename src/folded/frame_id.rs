//! The number of a frame in a table of stacks.

use std::io::{self, BufRead};

use crate::bytes::push_varint;
use crate::front_coded::{Element, read_varint};

/// A frame's name in a [`StackTable`](super::StackTable): equal names have equal numbers, given in order of
/// appearance from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FrameId(pub u32);

impl FrameId {
    /// The number of this frame among those with a place; `None` for a frame without one.
    #[inline]
    pub(crate) fn placed(self) -> Option<usize> {
        (self.0 & HAS_PLACE != 0).then_some((self.0 & !HAS_PLACE) as usize)
    }
}

impl Element for FrameId {
    #[inline]
    fn write(frames: &[FrameId], out: &mut Vec<u8>) {
        frames.iter().for_each(|frame| push_varint(frame.0.into(), out));
    }

    #[inline]
    fn read(count: usize, from: &mut impl BufRead, stack: &mut Vec<FrameId>) -> io::Result<()> {
        for _ in 0..count {
            stack.push(FrameId(read_varint(from)? as u32));
        }
        Ok(())
    }
}

/// The bit of a [`FrameId`] that has a place: the others are its number in the table of places.
pub(super) const HAS_PLACE: u32 = 1 << 31;
