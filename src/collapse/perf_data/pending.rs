//! Samples on their way from the reader to the threads that find their stacks.

use std::sync::Arc;

use super::attr::{Arch, Attr};
use super::chunk::Slice;
use super::process::{CommId, Space};
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
    pub space: Arc<Space>,
    pub weight: Weight,
    /// When the sample was taken, or off the processor, when its thread left.
    pub time: Option<u64>,
    /// Where the record stands in the file.
    pub at: u64,
}

/// Some samples, with the events and the kernel as they are at the time.
#[derive(Default)]
pub(super) struct Batch {
    pub samples: Vec<PendingSample>,
    /// The number of samples in the batches before.
    pub first: u64,
    pub attrs: Arc<Vec<Attr>>,
    pub kernel: Arc<Space>,
    pub arch: Option<Arch>,
}
