//! A sample by itself, for sinks that want more of it than its stack.

use super::pending::State;
use super::process::CommId;
use crate::weight::Weight;

/// A sample that is kept by itself, for a sink that wants contexts.
#[derive(Clone, Copy)]
pub(super) struct SingleSample {
    /// Its place among all samples.
    pub number: u64,
    pub time: Option<u64>,
    pub away: u64,
    pub state: State,
    pub processor: Option<u32>,
    pub cgroup: Option<u64>,
    /// The number of the values of its tracepoint's fields.
    pub fields: u32,
    pub pid: i32,
    pub tid: i32,
    pub comm: CommId,
    /// The number of its stack in the table.
    pub stack: u32,
    pub weight: Weight,
    /// The number of an allocation that counts only if it is in use at the end.
    pub in_use: Option<u64>,
}
