//! Samples on their way from the reader to the threads that find their stacks.

use std::sync::Arc;

use super::attr::{Arch, Attr};
use super::chunk::Slice;
use super::process::{AddressSpace, CommId};
use super::record::Mode;
use crate::weight::Weight;

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
