//! The events that are open, their rings, and the file into which these are emptied.
//!
//! For each processor there is one ring, into which all events of that processor write. A ring that is
//! a quarter full wakes us; a round reads all rings once, so that a reader can put the records of a
//! round in order.

use std::io;
use std::ops::Range;
use std::os::fd::AsRawFd;
use std::time::Duration;

use super::counted::Counted;
use super::data_file::About;
use super::existing;
use super::output::Output;
use super::plan::{Doing, Plan};
use crate::record::request::Target;
use crate::record::sys::launch::Launched;
use crate::record::sys::limits;
use crate::record::sys::perf_event::{Event, Ring, Who, flag};
use crate::record::sys::signals::{self, Stop};

/// The events that are open, and the ring of each processor.
pub(super) struct Opened {
    events: Vec<Event>,
    rings: Vec<OfProcessor>,
}

/// The ring of one processor, and its events.
struct OfProcessor {
    ring: Ring,
    /// The indices of the events that write into the ring.
    events: Range<usize>,
    /// The index of the event that wakes us; outside `events` once all their threads have ended.
    waker: usize,
}

impl Opened {
    pub fn new(
        plan: &Plan,
        target: &Target,
        child: Option<u32>,
        processors: &[u32],
    ) -> Result<Opened, (Doing, io::Error)> {
        let attr = plan.attr();
        let whom: Vec<(Who, Doing)> = match (target, child) {
            (Target::Machine(_), _) => vec![(Who::Everybody, Doing::Open)],
            (Target::Processes(pids), _) => pids
                .iter()
                .flat_map(|&pid| {
                    let threads = existing::threads(pid);
                    // Without threads the system reports that there is no such process.
                    let threads = if threads.is_empty() { vec![pid] } else { threads };
                    threads.into_iter().map(move |tid| (Who::Thread(tid), Doing::Attach(pid)))
                })
                .collect(),
            (Target::Waiting(pid), _) => vec![(Who::Thread(*pid), Doing::Open)],
            (Target::Command(_), child) => {
                child.into_iter().map(|pid| (Who::Thread(pid), Doing::Open)).collect()
            }
        };
        let mut opened = Opened { events: Vec::new(), rings: Vec::new() };
        for &processor in processors {
            let first = opened.events.len();
            for &(who, doing) in &whom {
                match Event::open(&attr, who, Some(processor)) {
                    Ok(event) => opened.events.push(event),
                    // A thread that ended meanwhile is no loss, unless it was the only one.
                    Err(e) if e.raw_os_error() == Some(libc::ESRCH) && whom.len() > 1 => {}
                    // A processor that went off meanwhile, likewise.
                    Err(e) if e.raw_os_error() == Some(libc::ENODEV) && !opened.events.is_empty() => {}
                    Err(e) => return Err((doing, e)),
                }
            }
            let Some(leader) = opened.events.get(first) else { continue };
            let ring = Ring::map(leader, plan.ring, limits::page_size()).map_err(|e| (Doing::Map, e))?;
            for event in &opened.events[first + 1..] {
                event.write_to(leader).map_err(|e| (Doing::Map, e))?;
            }
            opened.rings.push(OfProcessor { ring, events: first..opened.events.len(), waker: first });
        }
        if opened.events.is_empty() {
            let doing = whom.first().map_or(Doing::Open, |(_, doing)| *doing);
            return Err((doing, io::Error::from_raw_os_error(libc::ESRCH)));
        }
        Ok(opened)
    }

    pub fn ids(&self) -> io::Result<Vec<u64>> {
        self.events.iter().map(Event::id).collect()
    }
}

/// The reason why waiting ended.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Wait {
    /// There may be records.
    Records,
    /// The program that we started has ended.
    Ended,
}

/// A recording in progress.
pub(super) struct Session {
    pub opened: Opened,
    pub output: Output,
    pub about: About,
    pub counted: Counted,
}

impl Session {
    /// Lets the events count, and writes down what is already there.
    pub fn begin(&mut self, plan: &Plan, target: &Target) -> io::Result<()> {
        let mut records = Vec::new();
        // Reading all of its symbols takes a while, in which nothing need be counted.
        if plan.kernel {
            existing::kernel(&mut records);
        }
        if !plan.on_exec {
            self.opened.events.iter().try_for_each(Event::enable)?;
        }
        let data = plan.attr().flags & flag::MMAP_DATA != 0;
        match target {
            Target::Machine(_) => existing::everybody(data, &mut records),
            Target::Processes(pids) => {
                pids.iter().for_each(|&pid| existing::process(pid, data, &mut records))
            }
            // The kernel reports everything when the child becomes the program.
            Target::Command(_) | Target::Waiting(_) => {}
        }
        self.output.begin(&records, &self.about)
    }

    /// Reads every ring once.
    pub fn round(&mut self) -> io::Result<()> {
        let mut any = false;
        for OfProcessor { ring, .. } in &mut self.opened.rings {
            let (first, second) = ring.pending();
            let length = first.len() + second.len();
            if length == 0 {
                continue;
            }
            any = true;
            self.output.append(first)?;
            self.output.append(second)?;
            self.counted.merge(Counted::of(first, second));
            ring.release(length);
        }
        if any {
            self.output.finish_round(&self.about, self.counted.times.unwrap_or_default())?;
        }
        Ok(())
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

    pub fn wait(&mut self, launched: Option<&Launched>, stop: &Stop, timeout: Duration) -> io::Result<Wait> {
        // poll ignores descriptors below zero.
        let readable =
            |fd: Option<i32>| libc::pollfd { fd: fd.unwrap_or(-1), events: libc::POLLIN, revents: 0 };
        let Opened { events, rings } = &mut self.opened;
        let mut fds = vec![
            readable(Some(stop.wake().as_raw_fd())),
            readable(launched.map(|launched| launched.ended().as_raw_fd())),
        ];
        let others = fds.len();
        fds.extend(rings.iter().map(|of| {
            let waker = events.get(of.waker).filter(|_| of.events.contains(&of.waker));
            readable(waker.map(|event| event.fd().as_raw_fd()))
        }));
        signals::wait_readable(&mut fds, i32::try_from(timeout.as_millis()).unwrap_or(i32::MAX))?;
        // An event whose threads have all ended is always ready, and says nothing any more.
        for (of, fd) in rings.iter_mut().zip(&fds[others..]) {
            of.waker += usize::from(fd.revents & (libc::POLLHUP | libc::POLLERR) != 0);
        }
        Ok(if fds[1].revents != 0 { Wait::Ended } else { Wait::Records })
    }

    /// Stops counting.
    pub fn disable(&self) -> io::Result<()> {
        self.opened.events.iter().try_for_each(Event::disable)
    }
}
