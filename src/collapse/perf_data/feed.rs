//! Hands out samples in the order of time, each with the process it was taken in as that was at
//! the time.
//!
//! One thread at a time does this: the little that has to be done in order. What takes time, the
//! stacks, is left to whoever gets the batch.

use std::collections::HashMap;
use std::sync::Arc;

use super::attr::{Attr, sample};
use super::bytes::Bytes;
use super::chunk::Slice;
use super::header::{Arch, Described};
use super::modules::Modules;
use super::off_cpu::OffCpu;
use super::order::{Queue, Waiting};
use super::process::{CommId, Processes, Space};
use super::reader::Record;
use super::record::{self, Comm, Fork, KernelFunction, Mmap, Mode, SampleHead, Switched, kind};
use super::sample::Counters;
use super::streams::Streams;
use crate::collapse::events::{CommonWeight, event_unit};
use crate::collapse::{Listener, Options, Value, ValueTotal};
use crate::error::{Error, ErrorKind, Result};
use crate::weight::Weight;

/// A sample whose stack is to be found out.
#[derive(Clone)]
pub(super) struct Work {
    /// What follows the head of the sample.
    pub body: Slice,
    /// The event whose sample it is: what the body holds.
    pub layout: u32,
    /// What its weight is of: the event, another one in a group of which the leader is sampled, or
    /// something that is made of it.
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

/// Some samples, and what they have in common.
#[derive(Default)]
pub(super) struct Batch {
    pub work: Vec<Work>,
    /// The number of samples in the batches before.
    pub first: u64,
    pub attrs: Arc<Vec<Attr>>,
    pub kernel: Arc<Space>,
    pub arch: Option<Arch>,
}

/// How much is handed out at once: enough that the lock does not matter.
const BATCH: usize = 128;

/// What is counted of one event.
#[derive(Default)]
struct Counted {
    total: ValueTotal,
    decided: bool,
    period: CommonWeight,
}

/// Reads a recording.
pub(super) struct Feed<'o> {
    streams: Streams,
    pub about: Described,
    attrs: Arc<Vec<Attr>>,
    /// What counters that are read with samples had counted the last time, by identity and, where
    /// each thread has its own, by thread.
    counters: HashMap<(u64, i32), u64>,
    pub processes: Processes,
    pub modules: Modules,
    options: &'o Options,
    counted: Vec<Counted>,
    /// The event that comes first.
    pub first: Option<Vec<u8>>,
    /// How many events the kernel had no room for.
    pub lost: u64,
    pub samples: u64,
    pub off_cpu: OffCpu,
    /// The latest record.
    latest: u64,
    /// The times of the first and the last sample.
    times: Option<(u64, u64)>,
    /// The number of samples that were handed out.
    handed_out: u64,
}

impl<'o> Feed<'o> {
    pub fn new(about: Described, streams: Streams, options: &'o Options, first: Option<Vec<u8>>) -> Self {
        Feed {
            streams,
            about,
            attrs: Arc::default(),
            counters: HashMap::new(),
            processes: Processes::default(),
            modules: Modules::default(),
            options,
            counted: Vec::new(),
            first,
            lost: 0,
            samples: 0,
            off_cpu: OffCpu::default(),
            latest: 0,
            times: None,
            handed_out: 0,
        }
    }

    /// The events that came and what was made of them, with their totals.
    pub fn values(&self) -> Vec<(Value, ValueTotal)> {
        let came = self.counted.iter().zip(&self.about.events).filter(|(counted, _)| counted.decided);
        let events = came.map(|(counted, event)| {
            let unit = event_unit(&event.name, event.attr.has_weight());
            (Value { name: event.name.clone(), unit: Some(unit) }, counted.total)
        });
        events.chain(self.off_cpu.values()).collect()
    }

    /// The weight that all kept samples have in common, and the rate that was asked for.
    pub fn period_and_rate(&self) -> (Option<Weight>, Option<u64>) {
        let mut kept = self.counted.iter().zip(&self.about.events).filter(|(counted, _)| counted.total.kept);
        match (kept.next(), kept.next()) {
            (Some((counted, event)), None) if !self.off_cpu.is_kept() => {
                let period = counted.period.get().filter(|_| event.attr.has_weight());
                (period, Some(event.attr.frequency).filter(|rate| *rate > 0))
            }
            _ => (None, None),
        }
    }

    /// The times at which the recording begins and ends, as far as its samples tell.
    pub fn times(&self) -> Option<(u64, u64)> {
        let (first, last) = self.times.or(self.about.sample_times)?;
        let (begin, end) = self.about.sample_times.unwrap_or((first, last));
        let latest = if self.off_cpu.is_kept() { self.latest } else { last };
        Some((first.min(begin), last.max(end).max(latest)))
    }

    /// Whether the recording ends within a record, because perf was killed.
    pub fn was_cut(&self) -> bool {
        self.streams.was_cut()
    }

    /// Fills the batch; `false` if there are no more samples.
    ///
    /// # Errors
    /// What is wrong with the recording, placed by its byte.
    pub fn next_batch(&mut self, batch: &mut Batch) -> Result<bool> {
        batch.work.clear();
        batch.first = self.handed_out;
        if let Some(Listener(tell)) = self.options.progress {
            tell(self.streams.progress());
        }
        while batch.work.len() < BATCH {
            if let Some(hungry) = self.streams.hungry() {
                self.read_on(hungry)?;
                continue;
            }
            let Some((stream, next)) = self.streams.next() else {
                let end = self.about.sample_times.map_or(0, |(_, last)| last);
                self.off_cpu.finish(self.latest.max(end), &mut batch.work)?;
                break;
            };
            match next.sample {
                Some((event, head)) => {
                    let at = next.record.at;
                    let counted = self.sample(next.record, event, head, &mut batch.work);
                    counted.map_err(|e| self.streams.at(stream).placed(e, at))?;
                }
                None if next.record.header.is_switch() => {
                    let done = self.switched(&next, &mut batch.work);
                    done.map_err(|e| self.streams.at(stream).placed(e, next.record.at))?;
                }
                None => self.apply(&next.record),
            }
        }
        if self.attrs.len() != self.about.events.len() {
            self.attrs = Arc::new(self.about.events.iter().map(|event| event.attr.clone()).collect());
        }
        self.handed_out += batch.work.len() as u64;
        batch.attrs = self.attrs.clone();
        batch.kernel = self.processes.kernel().clone();
        batch.arch = self.about.arch;
        if batch.work.is_empty() {
            self.streams.close();
        }
        Ok(!batch.work.is_empty())
    }

    /// Reads a stream until something of it is ready, or the end.
    fn read_on(&mut self, stream: usize) -> Result<()> {
        while self.streams.at(stream).ready.is_empty() {
            let Some(record) = self.streams.read(stream)? else { return Ok(()) };
            let at = record.at;
            self.take(record, stream).map_err(|e| self.streams.at(stream).placed(e, at))?;
        }
        Ok(())
    }

    /// Puts a record where it belongs.
    fn take(&mut self, record: Record, from: usize) -> Result<()> {
        let order = self.about.order;
        let (time, sample) = match record.header.kind {
            kind::FINISHED_ROUND => {
                self.streams.at(from).release(Queue::finish_round);
                return Ok(());
            }
            kind::ATTR | kind::EVENT_UPDATE | kind::BUILD_ID | kind::FEATURE => {
                self.about.learn(record.header, &record.body)?;
                return Ok(());
            }
            kind::FIRST_OF_USER.. => return Ok(()),
            kind::LOST | kind::LOST_SAMPLES => {
                let lost = record::lost(record.header.kind, &record.body, order);
                self.lost = self.lost.saturating_add(lost.unwrap_or(0));
                return Ok(());
            }
            kind::SAMPLE => {
                let event = self.about.event_of(&record.body);
                let known = event.and_then(|event| Some((event, self.about.events.get(event)?)));
                let Some((number, event)) = known else {
                    return Err(Error::malformed("an event before its samples", b"none"));
                };
                let head = SampleHead::parse(&record.body, order, &event.attr)
                    .ok_or_else(|| no_sample(&record.body))?;
                (head.time, Some((number as u32, head)))
            }
            kind::KSYMBOL => {
                if let Some(function) = KernelFunction::parse(&record.body, order) {
                    self.modules.kernel_function(&function);
                }
                return Ok(());
            }
            kind::MMAP | kind::MMAP2 | kind::COMM | kind::FORK | kind::EXIT => {
                let first = self.about.events.first();
                (first.and_then(|event| record::time_of(&record.body, order, &event.attr)), None)
            }
            kind::SWITCH | kind::SWITCH_CPU_WIDE if OffCpu::is_possible(&self.about.events) => {
                let first = self.about.events.first();
                (first.and_then(|event| record::time_of(&record.body, order, &event.attr)), None)
            }
            _ => return Ok(()),
        };
        self.latest = self.latest.max(time.filter(|time| *time < u64::MAX).unwrap_or(0));
        match time {
            // What perf makes up at the beginning, of what was running before, has no time.
            None | Some(0 | u64::MAX) if sample.is_none() => self.apply(&record),
            None | Some(0 | u64::MAX) => {
                self.streams.at(from).ready.push_back(Waiting { time: 0, record, sample });
            }
            Some(time) => {
                let stream = self.streams.at(from);
                if stream.queue.push(Waiting { time, record, sample }) {
                    stream.release(Queue::overflow);
                }
            }
        }
        Ok(())
    }

    /// What a record other than a sample changes. One that is too short changes nothing: the names
    /// it would have given are missing, which shows.
    fn apply(&mut self, record: &Record) {
        let (header, order) = (record.header, self.about.order);
        match header.kind {
            kind::MMAP | kind::MMAP2 => {
                if let Some(mut mmap) = Mmap::parse(header, &record.body, order) {
                    if mmap.build_id.is_none() {
                        mmap.build_id = self.about.build_id_of(mmap.path);
                    }
                    self.processes.mmap(&mmap, header.mode() == Mode::Kernel, &mut self.modules);
                }
            }
            kind::COMM => {
                if let Some(comm) = Comm::parse(header, &record.body, order) {
                    self.processes.comm(&comm);
                }
            }
            kind::FORK | kind::EXIT => match Fork::parse(&record.body, order) {
                Some(fork) if header.kind == kind::FORK => self.processes.fork(&fork),
                Some(ended) => {
                    self.processes.exit(&ended);
                    self.off_cpu.end(ended.tid);
                }
                None => {}
            },
            _ => {}
        }
    }

    /// Counts a sample, and makes it work if it is wanted: once, or for each counter that was read
    /// with it and has moved on.
    fn sample(&mut self, record: Record, event: u32, head: SampleHead, work: &mut Vec<Work>) -> Result<()> {
        let Some(of) = self.about.events.get(event as usize) else { return Ok(()) };
        if !of.attr.has(sample::READ) {
            return self.count(&record, event, event, &head, work);
        }
        let (format, inherit) = (of.attr.read_format, of.attr.inherit);
        let body = record.body.from(head.len);
        let counters = Counters::parse(&mut Bytes::new(&body, self.about.order), format)
            .ok_or_else(|| no_sample(&record.body))?;
        for (id, value) in counters.iter() {
            let Some(id) = id else { return self.count(&record, event, event, &head, work) };
            let Some(counted) = self.about.event_of_id(id) else { continue };
            let last = self.counters.entry((id, if inherit { head.tid } else { 0 })).or_default();
            let period = value.saturating_sub(std::mem::replace(last, value));
            if period > 0 {
                let head = SampleHead { period: Some(period), ..head };
                self.count(&record, event, counted as u32, &head, work)?;
            }
        }
        Ok(())
    }

    fn count(
        &mut self,
        record: &Record,
        layout: u32,
        event: u32,
        head: &SampleHead,
        work: &mut Vec<Work>,
    ) -> Result<()> {
        let Some(of) = self.about.events.get(event as usize) else { return Ok(()) };
        let switch = if event == layout {
            let body = record.body.from(head.len);
            of.switch(body.as_ref(), self.about.order, &self.about.switch_layout)
        } else {
            None
        };
        if switch.is_some() {
            self.off_cpu.decide(self.options, &self.about.events, &mut self.first);
        }
        let weight = match (self.options.count, head.period, of.attr.period) {
            (false, Some(period), _) if of.attr.has_weight() => Weight::new(period.into()),
            (false, None, period) if of.attr.has_weight() && period > 0 => Weight::new(period.into()),
            _ => Weight::ONE,
        };
        if self.counted.len() <= event as usize {
            self.counted.resize_with(event as usize + 1, Counted::default);
        }
        let counted = &mut self.counted[event as usize];
        if !counted.decided {
            counted.decided = true;
            if self.first.is_none() {
                self.first = self.about.first_event().map(<[u8]>::to_vec);
            }
            counted.total.kept = self.options.values.keeps_event(&of.name, &mut self.first);
        }
        self.samples += 1;
        counted.total.add(weight)?;
        counted.period.add(weight);
        if let Some(time) = head.time {
            let (first, last) = self.times.unwrap_or((time, time));
            self.times = Some((first.min(time), last.max(time)));
        }
        let is_kept = counted.total.kept;
        if record.header.mode() == Mode::User {
            self.processes.runs(head.pid);
        }
        let is_away = switch.is_some() && self.off_cpu.is_kept();
        let made = (is_kept || is_away).then(|| Work {
            body: record.body.from(head.len),
            layout,
            value: event,
            ip: head.ip,
            mode: record.header.mode(),
            pid: head.pid,
            tid: head.tid,
            comm: self.processes.comm_of(head.tid),
            space: self.processes.space_of(head.pid).clone(),
            weight,
            time: head.time,
            at: record.at,
        });
        if let (Some(switch), Some(time)) = (switch, head.time) {
            if let Some(next) = switch.next {
                self.off_cpu.back(next, time, work)?;
            }
            if !self.processes.has_ended(head.tid) {
                let stack = made.as_ref().filter(|_| is_away).map(|work| self.kept_longer(work));
                self.off_cpu.leave(head.tid, time, switch, stack);
            }
        }
        work.extend(made.filter(|_| is_kept));
        Ok(())
    }

    /// With a copy of its own of what it was read from: a thread may be away for long, and would
    /// keep all of a chunk.
    fn kept_longer(&self, work: &Work) -> Work {
        Work { body: work.body.copied(), ..work.clone() }
    }

    /// The kernel notes that a thread has left its processor, or is back.
    fn switched(&mut self, next: &Waiting, work: &mut Vec<Work>) -> Result<()> {
        let Waiting { record, time, .. } = next;
        let Some(first) = self.about.events.first() else { return Ok(()) };
        match Switched::parse(record.header, &record.body, self.about.order, &first.attr) {
            Some(Switched { tid, out: true, preempted }) => self.off_cpu.left(tid, *time, preempted),
            Some(Switched { tid, .. }) => {
                self.off_cpu.back(tid, *time, work)?;
            }
            None => {}
        }
        Ok(())
    }
}

/// A sample that is shorter than what its event says it holds.
pub(super) fn no_sample(body: &[u8]) -> Error {
    let found = format!("{} bytes that end within them", body.len());
    ErrorKind::Malformed { expected: "the fields of a sample".into(), found }.into()
}
