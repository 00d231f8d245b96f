//! Hands out samples in the order of time, each with its process as it was at the time.
//!
//! One thread at a time does this: the little that has to be done in order. What takes time, the
//! stacks, is left to the thread that gets the batch.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

use super::alloc::{Allocation, Allocations};
use super::attr::{Attr, sample};
use super::chunk::Slice;
use super::content::{Content, Record};
use super::deferred::DeferredChains;
use super::modules::Modules;
use super::not_sampled::{End, NotSampled};
use super::off_cpu::OffCpu;
use super::part::Part;
use super::pending::{Batch, PendingSample, State};
use super::process::Processes;
use super::python::{self, Pythons};
use super::record::{EventCount, Mode, SampleHead, Switched, cookie_of, kind};
use super::sample::{Counters, SampleBody, no_sample};
use super::time_order::InTimeOrder;
use crate::bytes::Cursor;
use crate::collapse::kit::events::{CommonWeight, event_unit};
use crate::collapse::{CollapseOptions, Value, ValueSelection, ValueTotal};
use crate::error::Result;
use crate::input::Kept;
use crate::weight::Weight;

/// The number of samples in a batch: enough that the lock does not matter.
const BATCH: usize = 128;

/// The samples of one event, counted.
#[derive(Default)]
struct Counted {
    total: ValueTotal,
    decided: bool,
    period: CommonWeight,
}

/// The samples of a recording.
pub(super) struct SampleStream<'o> {
    pub records: InTimeOrder,
    attrs: Arc<Vec<Attr>>,
    /// The last values of counters that are read with samples, by identity and, where each thread has
    /// its own, by thread.
    counters: HashMap<(u64, i32), u64>,
    pub processes: Processes,
    pub modules: Modules,
    options: &'o CollapseOptions,
    counted: Vec<Counted>,
    /// The bytes that would be read again if no sample were of the first event.
    kept: Kept,
    /// The event that comes first.
    pub first: Option<Vec<u8>>,
    /// The number of events the kernel had no room for.
    pub lost: u64,
    pub samples: u64,
    pub off_cpu: OffCpu,
    pub allocations: Allocations,
    pub pythons: Pythons,
    pub deferred: DeferredChains,
    not_sampled: NotSampled,
    /// The paths of control groups, by their numbers.
    cgroups: HashMap<u64, Vec<u8>>,
    /// The latest record.
    latest: u64,
    /// The times of the first and the last sample.
    times: Option<(u64, u64)>,
    /// The number of samples that were handed out.
    handed_out: u64,
    /// The part that has ended, until [`SampleStream::begin_part`].
    pub ended_part: Option<Part>,
}

impl<'o> SampleStream<'o> {
    /// The samples of `records`; `first` is the event that another input has chosen.
    pub fn new(
        records: InTimeOrder,
        options: &'o CollapseOptions,
        first: Option<Vec<u8>>,
        kept: Kept,
    ) -> Self {
        SampleStream {
            records,
            attrs: Arc::default(),
            counters: HashMap::new(),
            processes: Processes::default(),
            modules: Modules::default(),
            options,
            counted: Vec::new(),
            first,
            kept,
            lost: 0,
            samples: 0,
            off_cpu: OffCpu::default(),
            allocations: Allocations::default(),
            pythons: Pythons::default(),
            deferred: DeferredChains::default(),
            not_sampled: NotSampled::default(),
            cgroups: HashMap::new(),
            latest: 0,
            times: None,
            handed_out: 0,
            ended_part: None,
        }
    }

    /// The path of a control group, or its number.
    pub fn cgroup_name(&self, id: u64) -> Cow<'_, [u8]> {
        match self.cgroups.get(&id) {
            Some(path) => Cow::Borrowed(path),
            None => Cow::Owned(id.to_string().into_bytes()),
        }
    }

    /// The events that came and what was made of them, with their totals.
    pub fn values(&self) -> Vec<(Value, ValueTotal)> {
        let came =
            self.counted.iter().zip(&self.records.description.events).filter(|(counted, _)| counted.decided);
        let events = came.map(|(counted, event)| {
            let unit = event_unit(&event.name, event.attr.has_weight());
            (Value { name: event.name.clone(), unit: Some(unit) }, counted.total)
        });
        events.chain(self.off_cpu.values()).chain(self.allocations.values()).collect()
    }

    /// The weight that all kept samples have in common, and the rate that was asked for.
    pub fn period_and_rate(&self) -> (Option<Weight>, Option<u64>) {
        let mut kept = self
            .counted
            .iter()
            .zip(&self.records.description.events)
            .filter(|(counted, _)| counted.total.kept);
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
        let (first, last) = self.times.or(self.records.description.sample_times)?;
        let (begin, end) = self.records.description.sample_times.unwrap_or((first, last));
        let latest = if self.off_cpu.is_kept() { self.latest } else { last };
        Some((first.min(begin), last.max(end).max(latest)))
    }

    /// Returns whether the recording ends within a record, because perf was killed.
    pub fn was_cut(&self) -> bool {
        self.records.was_cut()
    }

    /// Begins the next part: counts and times begin anew.
    pub fn begin_part(&mut self) {
        self.ended_part = None;
        for counted in &mut self.counted {
            counted.total = ValueTotal { kept: counted.total.kept, ..ValueTotal::default() };
            counted.period = CommonWeight::default();
        }
        self.off_cpu.begin_part();
        self.allocations.begin_part();
        (self.lost, self.samples, self.times) = (0, 0, None);
    }

    /// Fills the batch; `false` if there are no more samples in this part.
    ///
    /// # Errors
    /// Damage of the recording, placed by its byte.
    pub fn next_batch(&mut self, batch: &mut Batch) -> Result<bool> {
        batch.samples.clear();
        batch.first = self.handed_out;
        if let Some(listener) = &self.options.progress {
            listener.tell(self.records.progress());
        }
        while batch.samples.len() < BATCH && self.ended_part.is_none() {
            let Some(record) = self.records.next_record()? else {
                self.deferred.release_all(&mut batch.samples);
                let end = self.records.description.sample_times.map_or(0, |(_, last)| last);
                self.off_cpu.finish(self.latest.max(end), &mut batch.samples)?;
                self.add_not_sampled(End::OfAll, &mut batch.samples)?;
                break;
            };
            self.latest = self.latest.max(record.time().unwrap_or(0));
            let (file, at) = (record.file, record.at);
            if record.header.kind == kind::PART && self.records.description.is_live {
                self.ended_part = Part::parse(&record.body, record.order);
                self.off_cpu.end_part(&mut batch.samples)?;
                self.add_not_sampled(End::OfPart, &mut batch.samples)?;
                continue;
            }
            if record.header.kind == kind::PYTHON && self.records.description.is_live {
                let message = python::Message::parse(&record.body, record.order);
                message.into_iter().for_each(|message| self.pythons.tell(message));
                continue;
            }
            let applied = match record.head {
                Some(head) => self.sample(record, head, &mut batch.samples),
                None => self.apply(&record, &mut batch.samples),
            };
            applied.map_err(|e| self.records.place(file, at, e))?;
            // What a program has on its stacks is there while it runs, and samples that wait keep their records in
            // memory: 104 MB at 99 Hz, where 38 were enough at 997.
            if self.records.description.is_live && !batch.samples.is_empty() && self.records.is_drained() {
                break;
            }
        }
        if self.attrs.len() != self.records.description.events.len() {
            self.attrs =
                Arc::new(self.records.description.events.iter().map(|event| (*event.attr).clone()).collect());
        }
        self.handed_out += batch.samples.len() as u64;
        batch.attrs = self.attrs.clone();
        batch.kernel = self.processes.kernel().clone();
        batch.arch = self.records.description.arch;
        if batch.samples.is_empty() && self.ended_part.is_none() {
            self.records.close();
        }
        Ok(!batch.samples.is_empty())
    }

    /// Applies a record other than a sample. One that is too short changes nothing: the names it would
    /// have given are missing, which shows.
    fn apply(&mut self, record: &Record, pending: &mut Vec<PendingSample>) -> Result<()> {
        match record.content()? {
            Content::Mmap(mut mmap) => {
                self.allocations.mmap(mmap.pid, mmap.path);
                if mmap.build_id.is_none() {
                    mmap.build_id = self.records.description.build_id_of(mmap.path);
                }
                if self.options.just_recorded {
                    self.modules.note_user(&mmap);
                }
                self.processes.mmap(&mmap, record.header.mode() == Mode::Kernel, &mut self.modules);
            }
            Content::Comm(comm) => {
                if comm.exec && Allocations::is_possible(&self.records.description.events) {
                    self.allocations.exec(comm.pid, comm.name);
                }
                self.processes.comm(&comm);
            }
            Content::Fork(fork) => {
                if fork.pid != fork.parent_pid {
                    self.allocations.fork(fork.pid);
                }
                self.processes.fork(&fork);
                self.not_sampled.begin(fork.tid, record.time().unwrap_or(0));
            }
            Content::Exit(ended) => {
                let (period, processes) = (self.nanoseconds(), &mut self.processes);
                let comm = || processes.comm_of(ended.tid);
                self.not_sampled.end(ended.tid, comm, record.time().unwrap_or(0), period);
                self.processes.exit(&ended);
                self.pythons.end(ended.pid, ended.tid);
                self.off_cpu.end(ended.tid, pending)?;
                self.deferred.release(ended.tid, pending);
            }
            Content::Count(EventCount { id, value }) => {
                if let Some(event) = self.records.description.event_of_id(id) {
                    self.not_sampled.count(event as u32, value);
                }
            }
            Content::UserChain(later) => self.deferred.complete(&later, pending),
            Content::KernelFunction(function) => self.modules.kernel_function(&function),
            Content::Cgroup(cgroup) => {
                self.cgroups.insert(cgroup.id, cgroup.path.to_vec());
            }
            Content::Lost(count) => {
                self.lost = self.lost.saturating_add(count);
                self.off_cpu.lose();
                self.allocations.lose();
            }
            Content::Throttled(throttled) => {
                let of = self.records.description.event_of_id(throttled.id);
                let event = of.and_then(|of| self.records.description.events.get(of));
                if event.is_some_and(|event| event.attr.is_each_switch()) {
                    self.off_cpu.unsampled.throttle(throttled.id, throttled.is_on);
                }
            }
            Content::Switch(switched @ Switched { pid, tid, out, .. }) => match record.time {
                Some(time) if out => {
                    let lacks = self.off_cpu.lacks(tid) && !self.processes.has_ended(tid);
                    let lost = lacks.then(|| no_stack(&mut self.processes, pid, tid));
                    self.off_cpu.left(switched, time, lost, pending)?;
                }
                Some(time) => {
                    let processes = &mut self.processes;
                    self.off_cpu.back(tid, time, || no_stack(processes, pid, tid), pending)?;
                }
                None => {}
            },
            _ => {}
        }
        Ok(())
    }

    /// Counts a sample, and hands it out if it is wanted: once, or for each counter that was read with
    /// it and has moved on.
    fn sample(&mut self, record: Record, head: SampleHead, pending: &mut Vec<PendingSample>) -> Result<()> {
        let event = record.event;
        let Some(of) = self.records.description.events.get(event as usize) else { return Ok(()) };
        if of.attr.is_allocations() {
            return self.allocation(record, head, pending);
        }
        if !of.attr.has(sample::READ) {
            return self.count(&record, event, event, &head, pending);
        }
        let (format, inherit) = (of.attr.read_format, of.attr.inherit);
        let body = record.body.from(head.len);
        let counters = Counters::parse(&mut Cursor::new(&body, self.records.description.order), format)
            .ok_or_else(|| no_sample(&record.body))?;
        for (id, value) in counters.iter() {
            let Some(id) = id else { return self.count(&record, event, event, &head, pending) };
            let Some(counted) = self.records.description.event_of_id(id) else { continue };
            let last = self.counters.entry((id, if inherit { head.tid } else { 0 })).or_default();
            let period = value.saturating_sub(std::mem::replace(last, value));
            if period > 0 {
                let head = SampleHead { period: Some(period), ..head };
                self.count(&record, event, counted as u32, &head, pending)?;
            }
        }
        Ok(())
    }

    /// Counts an allocation, and the releases before it.
    fn allocation(
        &mut self,
        record: Record,
        head: SampleHead,
        pending: &mut Vec<PendingSample>,
    ) -> Result<()> {
        let event = &self.records.description.events[record.event as usize];
        let body = record.body.from(head.len);
        let parts = SampleBody::parse(&body, self.records.description.order, &event.attr)
            .ok_or_else(|| no_sample(&record.body))?;
        // Nobody else writes to that address.
        let Some(allocation) = parts.registers.as_ref().and_then(Allocation::of) else { return Ok(()) };
        self.allocations.decide(self.options, &mut self.first);
        if allocation.is_one() {
            self.samples += 1;
            if let Some(time) = head.time {
                let (first, last) = self.times.unwrap_or((time, time));
                self.times = Some((first.min(time), last.max(time)));
            }
        }
        self.processes.runs(head.pid);
        let processes = &mut self.processes;
        let sample = || PendingSample {
            layout: record.event,
            ip: head.ip,
            mode: record.header.mode(),
            time: head.time,
            state: State::Unknown,
            processor: head.processor,
            at: record.at,
            body: body.clone(),
            ..no_stack(processes, head.pid, head.tid)
        };
        self.allocations.add(&allocation, head.pid, sample, pending)
    }

    fn count(
        &mut self,
        record: &Record,
        layout: u32,
        event: u32,
        head: &SampleHead,
        pending: &mut Vec<PendingSample>,
    ) -> Result<()> {
        let events = &self.records.description.events;
        let Some(of) = events.get(event as usize) else { return Ok(()) };
        // Of two events that sample switches, one has all of them, while it samples.
        let is_copy = of.attr.is_some_switches()
            && !self.off_cpu.unsampled.is_on()
            && events.iter().any(|event| event.attr.is_each_switch());
        let switch = if event == layout {
            let body = record.body.from(head.len);
            of.switch(body.as_ref(), self.records.description.order, &self.records.description.switch_layout)
        } else {
            None
        };
        if switch.is_some() || self.handed_out == 0 && self.samples == 0 && OffCpu::is_wall(events) {
            self.off_cpu.decide(self.options, &self.records.description.events, &mut self.first);
        }
        let cookie =
            events.get(layout as usize).filter(|layout| layout.attr.defers_chains).and_then(|layout| {
                let body = record.body.from(head.len);
                let parts = SampleBody::parse(&body, self.records.description.order, &layout.attr)?;
                cookie_of(parts.chain?)
            });
        let weight = match (self.options.count, head.period, of.attr.period) {
            (false, Some(period), _) if of.attr.has_weight() => Weight::new(period.into()),
            (false, None, period) if of.attr.has_weight() && period > 0 => Weight::new(period.into()),
            _ => Weight::ONE,
        };
        let (has_weight, is_clock) = (of.attr.has_weight(), of.attr.is_clock());
        self.decide(event);
        let counted = &mut self.counted[event as usize];
        let comm = self.processes.comm_of(head.tid);
        if !is_copy {
            self.samples += 1;
            counted.total.add(weight)?;
            counted.period.add(weight);
            if let Some(period) = head.period.filter(|_| has_weight) {
                self.not_sampled.sample(event, comm, period);
            }
        }
        if let Some(time) = head.time {
            let (first, last) = self.times.unwrap_or((time, time));
            self.times = Some((first.min(time), last.max(time)));
        }
        let is_kept = counted.total.kept && !is_copy;
        let is_wall = is_clock && self.off_cpu.keeps_wall();
        if record.header.mode() == Mode::User {
            self.processes.runs(head.pid);
        }
        let is_away = switch.is_some() && self.off_cpu.is_kept();
        let mut made = (is_kept || is_away || is_wall).then(|| PendingSample {
            body: record.body.from(head.len),
            layout,
            value: event,
            ip: head.ip,
            mode: record.header.mode(),
            pid: head.pid,
            tid: head.tid,
            comm,
            space: self.processes.space_of(head.pid).clone(),
            weight,
            time: head.time,
            away: 0,
            in_use: None,
            user_chain: None,
            python: self.pythons.sampled(head.pid, head.tid, head.time),
            state: if is_wall { State::Running } else { State::Unknown },
            processor: head.processor,
            at: record.at,
        });
        if let (Some(switch), Some(time)) = (switch, head.time) {
            if let Some(next) = switch.next {
                let processes = &mut self.processes;
                self.off_cpu.back(next, time, || no_stack(processes, -1, next), pending)?;
            }
            if !self.processes.has_ended(head.tid) {
                let stack = made.as_ref().filter(|_| is_away).map(|sample| self.kept_longer(sample));
                self.off_cpu.leave(head.tid, time, switch, stack, pending)?;
            }
        }
        if let Some(made) = made.as_mut().filter(|_| is_wall) {
            let counted = self.off_cpu.add_running(weight, made, pending)?;
            if !is_kept {
                made.weight = counted;
            }
        }
        let has_root = self.options.values == ValueSelection::All;
        let made = made.filter(|made| is_kept || is_wall && !has_root && !made.weight.is_zero());
        match (made, cookie) {
            (Some(made), Some(cookie)) => self.deferred.wait(cookie, self.kept_longer(&made), pending),
            (made, _) => pending.extend(made),
        }
        Ok(())
    }

    /// Decides whether the samples of an event are kept, when the first one comes.
    fn decide(&mut self, event: u32) {
        let Some(of) = self.records.description.events.get(event as usize) else { return };
        if self.counted.len() <= event as usize {
            self.counted.resize_with(event as usize + 1, Counted::default);
        }
        let counted = &mut self.counted[event as usize];
        if !counted.decided {
            counted.decided = true;
            if self.first.is_none() {
                self.first = self.records.description.first_event().map(<[u8]>::to_vec);
            }
            counted.total.kept = self.options.values.keeps_event(&of.name, &mut self.first);
            if counted.total.kept {
                self.kept.release();
            }
        }
    }

    /// The nanoseconds between two samples of a clock; of other events, those at their frequency.
    fn nanoseconds(&self) -> u64 {
        let measured = self.records.description.events.iter().filter(|event| !event.attr.is_dummy());
        let of = |attr: &Attr| match attr.frequency {
            0 => attr.period,
            frequency => 1_000_000_000 / frequency,
        };
        measured.map(|event| of(&event.attr)).max().unwrap_or(0)
    }

    /// Hands out the processor time that no sample stands for. Of single numbers of samples, it is none.
    fn add_not_sampled(&mut self, end: End, pending: &mut Vec<PendingSample>) -> Result<()> {
        let (period, processes) = (self.nanoseconds(), &mut self.processes);
        let first = processes.first_named();
        let all = self.not_sampled.take(self.latest, period, end, |tid| processes.comm_of(tid), first);
        for (event, comm, weight) in all {
            self.decide(event);
            let counted = &mut self.counted[event as usize];
            if self.options.count || !counted.total.kept {
                continue;
            }
            let weight = Weight::new(weight.into());
            counted.total.weight = counted.total.weight.checked_add(weight)?;
            // The weight is no longer a multiple of a sample's.
            counted.period.add(weight);
            let stack = no_stack(&mut self.processes, 0, 0);
            pending.push(PendingSample {
                state: State::NotSampled,
                value: event,
                time: Some(self.latest),
                comm,
                weight,
                ..stack
            });
        }
        Ok(())
    }

    /// A sample with a copy of its bytes: a thread may be away for long, and would keep all of a chunk.
    fn kept_longer(&self, sample: &PendingSample) -> PendingSample {
        PendingSample { body: sample.body.copied(), ..sample.clone() }
    }
}

/// Stands for the stack of a thread that the kernel had no room for.
fn no_stack(processes: &mut Processes, pid: i32, tid: i32) -> PendingSample {
    PendingSample {
        body: Slice::empty(),
        layout: 0,
        value: 0,
        ip: 0,
        mode: Mode::User,
        pid,
        tid,
        comm: processes.comm_of(tid),
        space: processes.space_of(pid).clone(),
        weight: Weight::ZERO,
        time: None,
        away: 0,
        state: State::Lost,
        in_use: None,
        user_chain: None,
        python: None,
        processor: None,
        at: 0,
    }
}
