//! Frames before they have names: a place in a module.
//!
//! Samples are added up as stacks of these, and each different one is named once at the end. A
//! [`StackTable`] holds them: to it a frame is some bytes, whatever they mean.

use super::process::CommId;
use crate::folded::{FrameId, StackTable};

/// A frame, or what stands in a stack like one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum RawFrame {
    /// A place in code.
    Code {
        /// The module's number.
        module: u32,
        /// The offset in a file, else the address.
        place: u64,
        /// It is where a call returns to, and not where the processor was.
        called: bool,
    },
    /// The thread that was running. Process and thread are 0 if they are not shown.
    Thread { comm: CommId, pid: i32, tid: i32 },
    /// A function of Python by its number, and the line; [`RawFrame::UNKNOWN_SCRIPT`] for an evaluator of which it is not
    /// known what it evaluates.
    Script { function: u32, line: u32 },
    /// An event, or a value that is made of one, by its number, as the root of its samples.
    Event(u32),
    /// The rootward part is missing: the dump of the stack was too short.
    Truncated,
    /// All of the stack is missing: the kernel had no room for it.
    Lost,
    /// All of the stack is missing: there was no sample.
    NotSampled,
}

const CODE: u8 = 0;
const RETURN: u8 = 1;
const THREAD: u8 = 2;
const EVENT: u8 = 3;
const TRUNCATED: u8 = 4;
const LOST: u8 = 5;
const NOT_SAMPLED: u8 = 6;
const SCRIPT: u8 = 7;

impl RawFrame {
    /// An evaluator of which it is not known what it evaluates.
    pub const UNKNOWN_SCRIPT: RawFrame = RawFrame::Script { function: u32::MAX, line: 0 };

    /// Its number in a table.
    pub fn in_table(self, table: &mut StackTable) -> FrameId {
        let mut bytes = [0; 13];
        let parts: (u8, [u8; 4], [u8; 8]) = match self {
            RawFrame::Code { module, place, called } => {
                (if called { RETURN } else { CODE }, module.to_le_bytes(), place.to_le_bytes())
            }
            RawFrame::Thread { comm, pid, tid } => {
                let ids = u64::from(pid as u32) << 32 | u64::from(tid as u32);
                (THREAD, comm.0.to_le_bytes(), ids.to_le_bytes())
            }
            RawFrame::Event(event) => (EVENT, event.to_le_bytes(), [0; 8]),
            RawFrame::Script { function, line } => {
                (SCRIPT, function.to_le_bytes(), u64::from(line).to_le_bytes())
            }
            RawFrame::Truncated => (TRUNCATED, [0; 4], [0; 8]),
            RawFrame::Lost => (LOST, [0; 4], [0; 8]),
            RawFrame::NotSampled => (NOT_SAMPLED, [0; 4], [0; 8]),
        };
        bytes[0] = parts.0;
        bytes[1..5].copy_from_slice(&parts.1);
        bytes[5..].copy_from_slice(&parts.2);
        table.frame(&bytes)
    }

    /// The frame of this number.
    pub fn of(table: &StackTable, id: FrameId) -> RawFrame {
        let bytes: [u8; 13] = table.name(id).try_into().expect("all frames of the table are written here");
        let [kind, a, b, c, d, rest @ ..] = bytes;
        let (number, place) = (u32::from_le_bytes([a, b, c, d]), u64::from_le_bytes(rest));
        match kind {
            THREAD => RawFrame::Thread { comm: CommId(number), pid: (place >> 32) as i32, tid: place as i32 },
            EVENT => RawFrame::Event(number),
            SCRIPT => RawFrame::Script { function: number, line: place as u32 },
            TRUNCATED => RawFrame::Truncated,
            LOST => RawFrame::Lost,
            NOT_SAMPLED => RawFrame::NotSampled,
            kind => RawFrame::Code { module: number, place, called: kind == RETURN },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_frame_comes_back_as_it_went_in() {
        let mut table = StackTable::default();
        for raw in [
            RawFrame::Code { module: 7, place: u64::MAX, called: false },
            RawFrame::Code { module: 7, place: u64::MAX, called: true },
            RawFrame::Thread { comm: CommId(3), pid: -1, tid: 77 },
            RawFrame::Event(2),
            RawFrame::Script { function: 3, line: 55 },
            RawFrame::UNKNOWN_SCRIPT,
            RawFrame::Truncated,
            RawFrame::Lost,
            RawFrame::NotSampled,
        ] {
            let id = raw.in_table(&mut table);
            assert_eq!(RawFrame::of(&table, id), raw);
        }
        assert_eq!(table.frame_count(), 9);
    }
}
