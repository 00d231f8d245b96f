//! Records with their types: a sample, a mapping, a name, the end of a thread.

use std::sync::Arc;

use super::attr::Attr;
use super::chunk::Slice;
use super::record::{
    self, Cgroup, Comm, EventCount, Fork, Header, KernelFunction, Mmap, Mode, SampleHead, Switched,
    Throttled, UserChain, kind,
};
use super::sample::{SampleBody, no_sample};
use crate::bytes::ByteOrder;
use crate::error::{Position, Result};

/// A record of a [`Recording`](super::Recording). It owns its bytes, which are taken apart by
/// [`Record::content`].
#[derive(Clone, Debug)]
pub struct Record {
    pub(super) header: Header,
    pub(super) body: Slice,
    /// Its byte in the file.
    pub(super) at: u64,
    /// The number of the file, in a recording of several.
    pub(super) file: u32,
    pub(super) order: ByteOrder,
    pub(super) time: Option<u64>,
    /// The number of the event that a sample is of.
    pub(super) event: u32,
    /// The attribute that says which fields the record has.
    pub(super) attr: Option<Arc<Attr>>,
    /// The first fields, of a sample.
    pub(super) head: Option<SampleHead>,
}

impl Record {
    /// The type's number: `PERF_RECORD_*` of the kernel's header; from 64 on it is one of perf's own.
    pub fn kind(&self) -> u32 {
        self.header.kind
    }

    /// The nanoseconds on the recording's clock at which it was written. `None` if it does not say,
    /// and for those that perf makes up at the beginning, of processes that were there before.
    pub fn time(&self) -> Option<u64> {
        self.time.filter(|time| !matches!(*time, 0 | u64::MAX))
    }

    /// The byte at which it begins in its file; of a compressed one, the byte of the whole pack.
    pub fn offset(&self) -> u64 {
        self.at
    }

    /// The bytes behind the record's header.
    pub fn bytes(&self) -> &[u8] {
        &self.body
    }

    /// Takes the record apart.
    ///
    /// A record of another kind, or one too short for its fields, is [`Content::Other`].
    ///
    /// # Errors
    /// [`crate::ErrorKind::Malformed`] for a sample that is shorter than its event says.
    pub fn content(&self) -> Result<Content<'_>> {
        let (header, order, body) = (self.header, self.order, &*self.body);
        let content = match header.kind {
            kind::SAMPLE => return self.sample().map(Content::Sample),
            kind::MMAP | kind::MMAP2 => Mmap::parse(header, body, order).map(Content::Mmap),
            kind::COMM => Comm::parse(header, body, order).map(Content::Comm),
            kind::FORK => Fork::parse(body, order).map(Content::Fork),
            kind::EXIT => Fork::parse(body, order).map(Content::Exit),
            kind::LOST | kind::LOST_SAMPLES => record::lost(header.kind, body, order).map(Content::Lost),
            kind::READ => EventCount::parse(body, order).map(Content::Count),
            kind::THROTTLE | kind::UNTHROTTLE => {
                Throttled::parse(header, body, order).map(Content::Throttled)
            }
            kind::SWITCH | kind::SWITCH_CPU_WIDE => {
                let attr = self.attr.as_deref();
                attr.and_then(|attr| Switched::parse(header, body, order, attr)).map(Content::Switch)
            }
            kind::CALLCHAIN_DEFERRED => {
                let attr = self.attr.as_deref();
                attr.and_then(|attr| UserChain::parse(body, order, attr)).map(Content::UserChain)
            }
            kind::KSYMBOL => KernelFunction::parse(body, order).map(Content::KernelFunction),
            kind::CGROUP => Cgroup::parse(body, order).map(Content::Cgroup),
            kind::FINISHED_ROUND => Some(Content::FinishedRound),
            _ => None,
        };
        Ok(content.unwrap_or(Content::Other))
    }

    fn sample(&self) -> Result<Sample<'_>> {
        let parsed = self.head.zip(self.attr.as_deref()).and_then(|(head, attr)| {
            Some((head, SampleBody::parse(self.body.get(head.len..)?, self.order, attr)?))
        });
        let at = || Position { byte: Some(self.at), ..Position::default() };
        let (head, body) = parsed.ok_or_else(|| no_sample(&self.body).or_at(at))?;
        let SampleHead { ip, pid, tid, time, period, .. } = head;
        Ok(Sample { event: self.event as usize, mode: self.header.mode(), ip, pid, tid, time, period, body })
    }
}

/// The content of a [`Record`].
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum Content<'a> {
    /// A sample of an event.
    Sample(Sample<'a>),
    /// A process has mapped a file, or the kernel has loaded a module.
    Mmap(Mmap<'a>),
    /// A thread has a new name.
    Comm(Comm<'a>),
    /// A process or a thread begins.
    Fork(Fork),
    /// A thread ends.
    Exit(Fork),
    /// The number of events that were lost because the recorder's buffers were full.
    Lost(u64),
    /// The count of an event.
    Count(EventCount),
    /// An event samples no more, or again.
    Throttled(Throttled),
    /// A thread has left its processor, or is back.
    Switch(Switched),
    /// The user's part of the call chains of samples before.
    UserChain(UserChain<'a>),
    /// The kernel has made a function.
    KernelFunction(KernelFunction<'a>),
    /// A control group was made, or was there before.
    Cgroup(Cgroup<'a>),
    /// All processors' buffers were written out once: records that follow are not older than those
    /// before the mark before.
    FinishedRound,
    /// Any other record. Those that describe the recording itself are taken in by it.
    Other,
}

/// A sample, with the fields its event has.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Sample<'a> {
    /// The number of its event in [`Recording::events`](super::Recording::events).
    pub event: usize,
    /// The mode of the processor.
    pub mode: Mode,
    /// The address of the instruction; 0 if it was not recorded.
    pub ip: u64,
    /// The process; -1 if it was not recorded.
    pub pid: i32,
    /// The thread; -1 if it was not recorded.
    pub tid: i32,
    /// Nanoseconds on the recording's clock.
    pub time: Option<u64>,
    /// The count of the event since the sample before.
    pub period: Option<u64>,
    /// Call chain, registers and stack.
    pub body: SampleBody<'a>,
}
