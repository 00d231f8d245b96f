//! Samples on their way from the reader to the threads that find their stacks.

use std::sync::Arc;

use super::attr::{Arch, Attr};
use super::chunk::Slice;
use super::process::{AddressSpace, CommId};
use super::python;
use super::record::Mode;
use crate::weight::Weight;

/// The state of a thread, where time off the processor is recorded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum State {
    /// It is not followed.
    #[default]
    Unknown,
    /// It is on a processor.
    Running,
    /// It waits for a processor.
    Runnable,
    /// It waits for something else.
    Blocked,
    /// The kernel had no room for the records that would tell.
    Lost,
    /// It was counted on a processor, and no sample stands for that.
    NotSampled,
}

impl State {
    /// The value of the label `state`.
    pub fn name(self) -> Option<&'static str> {
        match self {
            State::Unknown | State::NotSampled => None,
            State::Running => Some("running"),
            State::Runnable => Some("runnable"),
            State::Blocked => Some("blocked"),
            State::Lost => Some("lost"),
        }
    }
}

/// A sample whose stack has still to be found.
#[derive(Clone)]
pub(super) struct PendingSample {
    /// The bytes behind the head of the sample.
    pub body: Slice,
    /// The number of the event whose sample it is, which says what the body holds.
    pub layout: u32,
    /// The number of the value that is weighed: the event, another one in a group of which the leader
    /// is sampled, or time off the processor.
    pub value: u32,
    pub ip: u64,
    pub mode: Mode,
    pub pid: i32,
    pub tid: i32,
    pub comm: CommId,
    pub space: Arc<AddressSpace>,
    pub weight: Weight,
    /// The time of the sample; off the processor, the time at which its thread left.
    pub time: Option<u64>,
    /// The nanoseconds that its thread was off the processor.
    pub away: u64,
    /// The state of its thread; where that is [`State::Lost`] or [`State::NotSampled`], there is no
    /// stack.
    pub state: State,
    /// The number by which it counts only while it is in use: see
    /// [`Allocations`](super::alloc::Allocations).
    pub in_use: Option<u64>,
    /// The user's part of its call chain, if that came later.
    pub user_chain: Option<Arc<[u64]>>,
    /// The interpreter that it ran in, and its memory.
    pub python: Option<python::Sampled>,
    /// The number of the processor that it ran on.
    pub processor: Option<u32>,
    /// The byte of the record in its file.
    pub at: u64,
}

/// Some samples, with the events and the kernel as they are at the time.
#[derive(Default)]
pub(super) struct Batch {
    pub samples: Vec<PendingSample>,
    /// The number of samples in the batches before.
    pub first: u64,
    pub attrs: Arc<Vec<Attr>>,
    pub kernel: Arc<AddressSpace>,
    pub arch: Option<Arch>,
}
