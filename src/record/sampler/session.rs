//! The events that are open, their rings, and the file into which these are emptied.
//!
//! For each processor there is one ring, into which all events of that processor write that make samples, and one
//! for the records of processes and mappings. A ring that is a quarter full wakes us; a round reads all rings once,
//! so that a reader can put the records of a round in order.

use std::ffi::CString;
use std::io;
use std::ops::Range;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::time::{Duration, Instant};

use super::counted::Counted;
use super::data_file::About;
use super::event::Event as PlannedEvent;
use super::existing;
use super::family::Family;
use super::output::Output;
use super::pieces::Pieces;
use super::plan::{Doing, Inherit, Plan};
use super::pythons;
use super::stream::Part;
use super::throttle::{Change, Throttle};
use super::trim::{self, Layout};
use crate::record::python::Pythons;
use crate::record::request::{Target, Time};
use crate::record::sys::clock;
use crate::record::sys::launch::Launched;
use crate::record::sys::limits;
use crate::record::sys::perf_event::{Attr, Event, Ring, Who, flag};
use crate::record::sys::processes::process_of;
use crate::record::sys::readable::wait_readable;
use crate::record::sys::signals::Stop;
use crate::record::sys::wake::wake;

/// The events that are open, and the ring of each processor.
pub(super) struct Opened {
    /// Threads that ran before the recording.
    running: Vec<u32>,
    /// The processes of the machine before the first event was open, if some of their children are followed.
    before: Vec<u32>,
    events: Vec<Event>,
    /// The number of each event in the plan.
    numbers: Vec<usize>,
    rings: Vec<OfProcessor>,
}

/// A ring of one processor, and its events.
struct OfProcessor {
    ring: Ring,
    /// The indices of the events that write into the ring.
    events: Range<usize>,
    /// The index of the event that wakes us; outside `events` once all their threads have ended.
    waker: usize,
    /// It holds the records of processes and mappings, and no samples.
    tracks: bool,
    /// The bytes in the ring of which the samples were seen.
    seen: usize,
    /// The bytes in the ring at which it is to be read.
    enough: usize,
}

impl Opened {
    pub fn new(
        plan: &Plan,
        target: &Target,
        child: Option<u32>,
        processors: &[u32],
    ) -> Result<Opened, Refused> {
        let has_children = matches!(target, Target::Processes(_)) && plan.inherit == Inherit::All;
        let before = if has_children { existing::processes() } else { Vec::new() };
        let not_open = |error| Refused { doing: Doing::OpenGroup, number: 0, error };
        let group = plan.cgroup.as_deref().map(existing::open_group).transpose().map_err(not_open)?;
        let whom: Vec<(Who, Doing)> = match (target, child) {
            (Target::Machine(_), _) => {
                let who = group.as_ref().map_or(Who::Everybody, |folder| Who::Group(folder.as_raw_fd()));
                vec![(who, Doing::Open)]
            }
            (Target::Processes(pids), _) => pids
                .iter()
                .flat_map(|&pid| {
                    let threads = existing::threads(pid);
                    // Without threads the system reports that there is no such process.
                    let threads = if threads.is_empty() { vec![pid] } else { threads };
                    threads.into_iter().map(move |tid| (Who::Thread(tid), Doing::Attach(pid)))
                })
                .collect(),
            (Target::Threads(tids), _) => {
                tids.iter().map(|&tid| (Who::Thread(tid), Doing::AttachThread(tid))).collect()
            }
            (Target::Waiting(pid), _) => vec![(Who::Thread(*pid), Doing::Open)],
            (Target::Command(_), child) => {
                child.into_iter().map(|pid| (Who::Thread(pid), Doing::Open)).collect()
            }
        };
        let all: Vec<(usize, &PlannedEvent, Attr)> = plan
            .events
            .iter()
            .enumerate()
            .map(|(number, event)| (number, event, plan.attr_of(number)))
            .collect();
        let is_running = matches!(target, Target::Processes(_) | Target::Threads(_));
        let thread = |&(who, _): &(Who, Doing)| match who {
            Who::Thread(tid) if is_running => Some(tid),
            _ => None,
        };
        let running = whom.iter().filter_map(thread).collect();
        let mut opened =
            Opened { running, before, events: Vec::new(), numbers: Vec::new(), rings: Vec::new() };
        for &processor in processors {
            // Those with a ring of their own, and the others.
            let mut apart: Vec<(Event, usize)> = Vec::new();
            let mut others: Vec<(Event, usize)> = Vec::new();
            // All of one thread before those of the next: a child that begins meanwhile has all or none.
            let each = whom.iter().flat_map(|&(who, doing)| all.iter().map(move |event| (event, who, doing)));
            for ((number, planned, attr), who, doing) in each {
                let number = *number;
                match Event::open_probe(attr, planned.probed.as_deref(), who, Some(processor)) {
                    Ok(event) => {
                        if let Some(filter) = &planned.filter {
                            // A zero byte ends it, as it would end the kernel's copy.
                            let filter = CString::new(filter.as_bytes()).unwrap_or_default();
                            event.set_filter(&filter).map_err(|error| Refused {
                                doing: Doing::Filter,
                                number,
                                error,
                            })?;
                        }
                        let list = if plan.has_own_ring(planned) { &mut apart } else { &mut others };
                        list.push((event, number));
                    }
                    // A thread that ended meanwhile is no loss, unless it was the only one.
                    Err(e) if e.raw_os_error() == Some(libc::ESRCH) && whom.len() > 1 => {}
                    // A processor that went off meanwhile, likewise.
                    Err(e) if e.raw_os_error() == Some(libc::ENODEV) && !opened.rings.is_empty() => {}
                    // The folder is of another hierarchy, which counts no events.
                    Err(error) if group.is_some() && error.raw_os_error() == Some(libc::EBADF) => {
                        return Err(not_open(io::Error::other("no events can be counted in this folder")));
                    }
                    Err(error) => return Err(Refused { doing, number, error }),
                }
            }
            opened.map(others, plan.ring, false)?;
            opened.map(apart, plan.tracking_ring, true)?;
        }
        if opened.events.is_empty() {
            let doing = whom.first().map_or(Doing::Open, |(_, doing)| *doing);
            return Err(Refused { doing, number: 0, error: io::Error::from_raw_os_error(libc::ESRCH) });
        }
        Ok(opened)
    }

    /// Maps a ring that all these events of a processor write into.
    fn map(&mut self, events: Vec<(Event, usize)>, size: usize, tracks: bool) -> Result<(), Refused> {
        let unmapped = |error| Refused { doing: Doing::Map, number: 0, error };
        let Some((leader, _)) = events.first() else { return Ok(()) };
        let ring = Ring::map(leader, size, limits::page_size()).map_err(unmapped)?;
        events[1..].iter().try_for_each(|(event, _)| event.write_to(leader)).map_err(unmapped)?;
        let first = self.events.len();
        for (event, number) in events {
            self.events.push(event);
            self.numbers.push(number);
        }
        let (seen, enough) = (0, size / 4);
        self.rings.push(OfProcessor {
            ring,
            events: first..self.events.len(),
            waker: first,
            tracks,
            seen,
            enough,
        });
        Ok(())
    }

    /// The identities of the events that are open, for each event of the plan.
    pub fn ids(&self, plan: &Plan) -> io::Result<Vec<Vec<u64>>> {
        let mut ids = vec![Vec::new(); plan.events.len()];
        for (event, number) in self.events.iter().zip(&self.numbers) {
            ids[*number].push(event.id()?);
        }
        Ok(ids)
    }
}

/// An event that the system refused.
pub(super) struct Refused {
    pub doing: Doing,
    /// Its number in the plan.
    pub number: usize,
    pub error: io::Error,
}

/// The reason why waiting ended.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Wait {
    /// There may be records.
    Records,
    /// The program that we started has ended.
    Ended,
}

/// The counts of the event whose counts are processor time: see [`Plan::counted`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Cpu {
    /// The sum over all threads.
    pub counted: u64,
    /// The processor time of the program that was started, once it has ended: that of all it has waited for.
    pub used: Option<Duration>,
    /// The samples that the rings had no room for, if the kernel counts these.
    pub lost: Option<u64>,
}

/// A recording in progress.
pub(super) struct Session {
    pub opened: Opened,
    pub output: Output,
    pub about: About,
    pub counted: Counted,
    /// The counts of the event whose counts are processor time.
    pub cpu: Cpu,
    /// The processes that the target has started.
    pub family: Family,
    /// The interpreters of Python, if their frames are wanted.
    pub pythons: Option<Pythons>,
    /// The number of records of processes and mappings that their rings had no room for.
    pub lost_of_processes: u64,
    pub throttle: Throttle,
    /// The number of threads that could not be woken to tell their stacks.
    pub asleep: usize,
    /// The layout of samples with copies of the stack.
    pub layout: Option<Layout>,
    /// Each sample wakes us.
    wakes_at_once: bool,
    /// Records on their way.
    pub buffer: Vec<u8>,
}

impl Session {
    /// A recording of events that are open, into an output.
    pub fn new(opened: Opened, output: Output, about: About, plan: &Plan) -> Session {
        Session {
            opened,
            output,
            about,
            counted: Counted::default(),
            cpu: Cpu::default(),
            family: Family::default(),
            pythons: None,
            wakes_at_once: plan.wakes_at_once,
            lost_of_processes: 0,
            throttle: Throttle::new(),
            asleep: 0,
            layout: Layout::of(&plan.attr_of(plan.events.len() - 1)),
            buffer: Vec::new(),
        }
    }

    /// Lets the events count, and writes down what is already there, behind the records of the kernel.
    pub fn begin(&mut self, plan: &Plan, target: &Target, mut records: Vec<u8>) -> io::Result<()> {
        if !plan.on_exec {
            for (event, number) in self.opened.events.iter().zip(&self.opened.numbers) {
                if !plan.is_paused || plan.events[*number].is_tracking() {
                    event.enable()?;
                }
            }
        }
        let data = plan.attr().flags & flag::MMAP_DATA != 0;
        match target {
            Target::Machine(_) => existing::everybody(data, &mut records),
            Target::Processes(pids) => {
                pids.iter().for_each(|&pid| existing::process(pid, data, &mut records));
                // A child that began while the events were opened has inherited them, but the kernel has
                // reported it to none that was enabled. An orphan has another parent by now: all count that
                // are new.
                if !self.opened.before.is_empty() {
                    existing::processes()
                        .into_iter()
                        .filter(|pid| self.opened.before.binary_search(pid).is_err())
                        .for_each(|pid| existing::process(pid, data, &mut records));
                }
            }
            Target::Threads(tids) => {
                let mut pids: Vec<u32> = tids.iter().filter_map(|&tid| process_of(tid)).collect();
                pids.sort_unstable();
                pids.dedup();
                pids.iter().for_each(|&pid| existing::process(pid, data, &mut records));
            }
            // The kernel reports everything when the child becomes the program.
            Target::Command(_) | Target::Waiting(_) => {}
        }
        if let Some(pythons) = &mut self.pythons {
            pythons::observe(pythons, Pieces(&records, &[]));
        }
        self.output.begin(&records, &self.about)?;
        if plan.is_paused { Ok(()) } else { self.wake_waiting(plan) }
    }

    /// Makes the threads known that wait, if all time is recorded: those that never move would have no stack.
    fn wake_waiting(&mut self, plan: &Plan) -> io::Result<()> {
        if plan.time != Time::Wall {
            return Ok(());
        }
        let (asleep, mut others): (Vec<_>, Vec<_>) =
            existing::asleep(&self.opened.running).into_iter().partition(|(_, can_be_woken)| *can_be_woken);
        let asleep: Vec<u32> = asleep.into_iter().map(|(tid, _)| tid).collect();
        others.extend(wake(&asleep).into_iter().map(|tid| (tid, false)));
        let mut records = Vec::new();
        others.iter().for_each(|(tid, _)| existing::is_away(*tid, clock::now(), &mut records));
        self.asleep = others.len();
        self.output.append(&records)
    }

    /// Reads every ring once, and marks the end of the round.
    pub fn round(&mut self) -> io::Result<()> {
        if self.read_rings()? {
            self.output.finish_round(&self.about, self.counted.times.unwrap_or_default())?;
        }
        Ok(())
    }

    /// Reads every ring once; `false` if there was nothing in any.
    fn read_rings(&mut self) -> io::Result<bool> {
        let mut any = false;
        for OfProcessor { ring, tracks, seen, .. } in &mut self.opened.rings {
            let (first, second) = ring.pending();
            let pending = Pieces(first, second);
            let length = pending.len();
            if length == 0 {
                continue;
            }
            any = true;
            let output = &mut self.output;
            if let Some(pythons) = &mut self.pythons {
                self.buffer.clear();
                pythons::sample(pythons, pending, std::mem::take(seen), self.layout, &mut self.buffer);
                output.append_live(&self.buffer)?;
            }
            trim::records(pending, self.layout, &mut self.buffer, |records| output.append(records))?;
            let mut counted = Counted::of(pending);
            if *tracks {
                self.family.observe(pending);
                if let Some(pythons) = &mut self.pythons {
                    pythons::observe(pythons, pending);
                }
                self.lost_of_processes += std::mem::take(&mut counted.lost);
            }
            self.counted.merge(counted);
            ring.release(length);
        }
        Ok(any)
    }

    /// Reads what belongs to the samples in the rings that have come since the last time, and leaves them there; `true` if
    /// it is time to read a ring.
    fn look(&mut self) -> io::Result<bool> {
        let Some(pythons) = &mut self.pythons else { return Ok(true) };
        let mut is_enough = false;
        for OfProcessor { ring, tracks, seen, enough, .. } in &mut self.opened.rings {
            let (first, second) = ring.pending();
            let pending = Pieces(first, second);
            is_enough |= pending.len() >= *enough;
            if !*tracks {
                self.buffer.clear();
                pythons::sample(pythons, pending, *seen, self.layout, &mut self.buffer);
                *seen = pending.len();
                self.output.append_live(&self.buffer)?;
            }
        }
        Ok(is_enough)
    }

    /// Reads the counts of all threads, those that have ended too, and notes for the reader what was counted since the
    /// last time. Samples stand for most of it.
    pub fn count(&mut self, plan: &Plan) -> io::Result<()> {
        let Some(number) = plan.counted() else { return Ok(()) };
        let (mut counted, mut lost) = (0u64, 0u64);
        for event in self.events_of(number) {
            let (value, losses) = event.read()?;
            (counted, lost) = (counted.saturating_add(value), lost.saturating_add(losses));
        }
        if plan.events[number].is_clock()
            && let Some(used) = self.cpu.used
        {
            // The kernel counts for an event neither the end of a thread nor switching to it, which is a tenth
            // of a thread of 100 µs.
            counted = counted.max(u64::try_from(used.as_nanos()).unwrap_or(u64::MAX));
        }
        let since = counted.saturating_sub(self.cpu.counted);
        self.cpu = Cpu { counted, lost: plan.counts_losses.then_some(lost), ..self.cpu };
        let Some(id) = self.events_of(number).next().map(Event::id).transpose()? else { return Ok(()) };
        let mut record = Vec::new();
        existing::count(id, since, plan.counts_losses, clock::now(), &mut record);
        self.output.append(&record)
    }

    /// Ends the recording. `until` is the time up to which threads are known to have waited, if that is
    /// later than the last sample.
    pub fn end(&mut self, until: u64) -> io::Result<()> {
        let (first, last) = self.counted.times.unwrap_or_default();
        self.output.end(&self.about, (first, last.max(until)))
    }

    /// Keeps what fits into the file after it could not be written, and returns its size; `None` if there
    /// is no file.
    pub fn keep_what_fits(&mut self) -> io::Result<Option<u64>> {
        let kept = self.output.keep_what_fits(&self.about)?;
        Ok(kept.map(|(counted, size)| {
            self.counted = counted;
            size
        }))
    }

    /// Waits for records that are worth a round, the end of the program, a request to stop, or a line of `control`.
    pub fn wait(
        &mut self,
        launched: Option<&Launched>,
        stop: &Stop,
        control: Option<BorrowedFd<'_>>,
        timeout: Duration,
    ) -> io::Result<Wait> {
        let begun = Instant::now();
        loop {
            let left = timeout.saturating_sub(begun.elapsed());
            let (waited, is_record) = self.wait_once(launched, stop, control, left)?;
            if !is_record || !self.wakes_at_once || self.look()? || left.is_zero() {
                return Ok(waited);
            }
        }
    }

    /// Waits once; `true` if there is nothing but records.
    fn wait_once(
        &mut self,
        launched: Option<&Launched>,
        stop: &Stop,
        control: Option<BorrowedFd<'_>>,
        timeout: Duration,
    ) -> io::Result<(Wait, bool)> {
        // poll ignores descriptors below zero.
        let readable =
            |fd: Option<i32>| libc::pollfd { fd: fd.unwrap_or(-1), events: libc::POLLIN, revents: 0 };
        let Opened { events, rings, .. } = &mut self.opened;
        let mut fds = vec![
            readable(Some(stop.wake().as_raw_fd())),
            readable(launched.map(|launched| launched.ended().as_raw_fd())),
            readable(control.map(|fd| fd.as_raw_fd())),
        ];
        let others = fds.len();
        fds.extend(rings.iter().map(|of| {
            let waker = events.get(of.waker).filter(|_| of.events.contains(&of.waker));
            readable(waker.map(|event| event.fd().as_raw_fd()))
        }));
        wait_readable(&mut fds, i32::try_from(timeout.as_millis()).unwrap_or(i32::MAX))?;
        // An event whose threads have all ended is always ready, and has no more records.
        for (of, fd) in rings.iter_mut().zip(&fds[others..]) {
            of.waker += usize::from(fd.revents & (libc::POLLHUP | libc::POLLERR) != 0);
        }
        let is_record = fds[..others].iter().all(|fd| fd.revents == 0)
            && fds[others..].iter().any(|fd| fd.revents & libc::POLLIN != 0);
        Ok((if fds[1].revents != 0 { Wait::Ended } else { Wait::Records }, is_record))
    }

    /// Puts the event aside that samples each switch while these come too often, and enables it again later.
    pub fn throttle(&mut self, plan: &Plan) -> io::Result<()> {
        let Some(number) = plan.each_switch() else { return Ok(()) };
        match self.throttle.observe(self.counted) {
            Some(Change::Begin) => {
                self.note_throttle(number, true)?;
                self.events_of(number).try_for_each(Event::disable)
            }
            Some(Change::End) => {
                self.events_of(number).try_for_each(Event::enable)?;
                self.note_throttle(number, false)
            }
            None => Ok(()),
        }
    }

    fn events_of(&self, number: usize) -> impl Iterator<Item = &Event> {
        let all = self.opened.events.iter().zip(&self.opened.numbers);
        all.filter(move |(_, of)| **of == number).map(|(event, _)| event)
    }

    fn note_throttle(&mut self, number: usize, is_on: bool) -> io::Result<()> {
        let Some(id) = self.events_of(number).next().map(Event::id).transpose()? else { return Ok(()) };
        let mut record = Vec::new();
        existing::throttle(is_on, id, clock::now(), &mut record);
        self.output.append(&record)
    }

    /// Begins or ends a pause: no samples, but what processes map.
    pub fn pause(&mut self, plan: &Plan, is_paused: bool) -> io::Result<()> {
        let all = self.opened.events.iter().zip(&self.opened.numbers);
        let mut sampled = all.filter(|(_, number)| !plan.events[**number].is_tracking());
        sampled.try_for_each(|(event, _)| if is_paused { event.disable() } else { event.enable() })?;
        if is_paused {
            return Ok(());
        }
        if let Some(number) = plan.each_switch().filter(|_| self.throttle.is_on()) {
            self.note_throttle(number, false)?;
        }
        self.throttle.restart(self.counted);
        self.wake_waiting(plan)
    }

    /// Ends a part of the recording that is folded, `begin` to now.
    pub fn end_part(&mut self, plan: &Plan, part: Part) -> io::Result<()> {
        // The marks of two rounds let a reader put all of the first one in order.
        self.round()?;
        self.read_rings()?;
        self.count(plan)?;
        self.output.finish_round(&self.about, (0, 0))?;
        self.counted.times = None;
        self.output.end_part(part)
    }

    /// Stops counting.
    pub fn disable(&self) -> io::Result<()> {
        self.opened.events.iter().try_for_each(Event::disable)
    }
}
