//! The built-in sampler: opens the plan's events, and writes what the kernel hands over.
//!
//! For each processor there is one ring, into which all events of that processor write. A ring that is
//! a quarter full wakes us; a round reads all rings once, so that a reader can put the records of a
//! round in order.

pub mod data_file;
pub mod event;
pub mod existing;
pub mod plan;

use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::time::{Duration, Instant, SystemTime};

use self::data_file::{About, DataFile};
use self::event::Event as EventName;
use self::plan::{Doing, Note, Plan};
use super::program::{Started, ask_to_end, cannot, launch};
use super::refusal::Refusal;
use super::request::{Request, Target};
use super::sys::clock;
use super::sys::launch::{End, Launched};
use super::sys::limits;
use super::sys::perf_event::{Event, Ring, Who, record};
use super::sys::processes::{self, is_running};
use super::sys::signals::{self, Stop};
use super::system::{Permissions, online_processors};

/// The time between two checks of the processes, and between two reports of progress.
const TICK: Duration = Duration::from_millis(200);

/// The result of a recording.
#[derive(Debug)]
pub struct Outcome {
    /// The program that we started; it may still run.
    pub target: Option<Started>,
    /// The number of samples.
    pub samples: u64,
    /// The number of samples that the kernel had no room for.
    pub lost: u64,
    /// The time at which the recording began.
    pub start: SystemTime,
    /// The duration of the recording.
    pub elapsed: Duration,
    /// Messages for the user.
    pub notes: Vec<Note>,
    /// The plan that the system accepted.
    pub plan: Plan,
}

/// The progress of a recording.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    /// The time since its beginning.
    pub elapsed: Duration,
    /// Samples taken.
    pub samples: u64,
    /// Samples lost.
    pub lost: u64,
}

/// Records into a file, until the target ends, the time is over or somebody stops us.
///
/// # Errors
/// The one line that says why not, and what to do.
pub fn record(
    request: &Request,
    file: File,
    stop: &Stop,
    progress: &mut dyn FnMut(Progress),
) -> Result<Outcome, Refusal> {
    let event = request.event.as_deref().map(EventName::parse).transpose();
    let event = event.map_err(|said| Refusal::Other { doing: "choose an event", said })?;
    let permissions = Permissions::read();
    limits::lift_open_files();
    let processors = online_processors();
    let mut plan = Plan::new(request, event, processors.len())?;
    let mut launched = match request.target.invocation() {
        Some(invocation) => Some(launch(invocation, End::Gone)?),
        None => None,
    };
    stop.take_along(launched.as_ref().map(Launched::pid));
    let command_line = command_line(&request.target);
    let mut notes = Vec::new();
    let opened = loop {
        match Opened::new(&plan, &request.target, launched.as_ref().map(Launched::pid), &processors) {
            Ok(opened) => break opened,
            Err((doing, error)) => {
                let (next, note) = plan.after(doing, &error, &permissions)?;
                plan = next;
                if note != Note::Nothing {
                    notes.push(note);
                }
            }
        }
    };
    notes.extend(plan.dump_note());
    let ids = opened.ids().map_err(|e| cannot("number the events", &e))?;
    let file = DataFile::new(file, &plan, &ids).map_err(|e| cannot("write the recording", &e))?;
    let mut session = Session { opened, file, samples: 0, lost: 0, times: None };
    session.begin(&plan, &request.target).map_err(|e| cannot("begin", &e))?;
    let began = Instant::now();
    let reference = clock::Reference::now();
    if let Some(launched) = &mut launched {
        launched.go();
    }
    let end = request.duration.map(|duration| began + duration);
    let mut has_ended = false;
    loop {
        session.round().map_err(|e| cannot("write the recording", &e))?;
        let elapsed = began.elapsed();
        progress(Progress { elapsed, samples: session.samples, lost: session.lost });
        let now = Instant::now();
        if stop.requested().is_some() || end.is_some_and(|end| now >= end) {
            break;
        }
        let is_over = match &request.target {
            Target::Processes(pids) => !pids.iter().any(|&pid| is_running(pid)),
            Target::Waiting(pid) => !is_running(*pid),
            Target::Command(_) | Target::Machine(_) => false,
        };
        if is_over {
            break;
        }
        let timeout = end.map_or(TICK, |end| TICK.min(end - now));
        let wait = session.wait(launched.as_ref(), stop, timeout).map_err(|e| cannot("wait", &e))?;
        if wait == Wait::Ended {
            has_ended = true;
            break;
        }
    }
    let ended_at = clock::now();
    session.end().map_err(|e| cannot("write the recording", &e))?;
    let elapsed = began.elapsed();
    // The program may take its time to end: its profile does not wait for that.
    let target = match (launched, request.target.invocation()) {
        (Some(launched), Some(invocation)) => {
            if !has_ended {
                ask_to_end(&launched, request, stop).map_err(|e| cannot("stop the program", &e))?;
            }
            let running = Started::Running(launched, invocation.clone());
            Some(if has_ended { Started::Ended(running.wait(stop)?) } else { running })
        }
        _ => None,
    };
    let (samples, lost) = (session.samples, session.lost);
    let about = About { reference, command_line, ..about(&plan, &processors) };
    let mut times = session.times.unwrap_or_default();
    if plan.off_cpu {
        // Threads may still wait when the recording ends.
        times.1 = times.1.max(ended_at);
    }
    session.file.finish(&plan, &ids, &about, times).map_err(|e| cannot("write the recording", &e))?;
    Ok(Outcome { target, samples, lost, start: reference.wall, elapsed, notes, plan })
}

fn about(plan: &Plan, processors: &[u32]) -> About {
    let online = u32::try_from(processors.len()).unwrap_or(u32::MAX);
    let all = processors.iter().max().map_or(online, |last| last + 1);
    About {
        system: limits::system_name().unwrap_or_default(),
        processors: (all, online),
        kernel_build_id: if plan.kernel { existing::kernel_build_id() } else { None },
        ..About::default()
    }
}

/// The command line of this recording: ours, with the program that was started behind `--`.
fn command_line(target: &Target) -> Vec<Vec<u8>> {
    let words = || std::env::args_os().map(|word| word.as_bytes().to_vec());
    match (target, target.invocation()) {
        // The child still has the command line of the fg-record that waits for us.
        (Target::Waiting(pid), _) => processes::command_line(*pid),
        (_, None) => words().collect(),
        (_, Some(invocation)) => {
            let ours = words().take_while(|word| word != b"--");
            let program = invocation.words().map(|word| word.as_bytes().to_vec());
            ours.chain([b"--".to_vec()]).chain(program).collect()
        }
    }
}

/// The events that are open, and the ring of each processor.
struct Opened {
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
    fn new(
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

    fn ids(&self) -> io::Result<Vec<u64>> {
        self.events.iter().map(Event::id).collect()
    }
}

/// The reason why waiting ended.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Wait {
    /// There may be records.
    Records,
    /// The program that we started has ended.
    Ended,
}

/// A recording in progress.
struct Session {
    opened: Opened,
    file: DataFile,
    samples: u64,
    lost: u64,
    /// The times of the first and the last sample.
    times: Option<(u64, u64)>,
}

impl Session {
    /// Lets the events count, and writes down what is already there.
    fn begin(&mut self, plan: &Plan, target: &Target) -> io::Result<()> {
        let mut records = Vec::new();
        // Reading all of its symbols takes a while, in which nothing need be counted.
        if plan.kernel {
            existing::kernel(&mut records);
        }
        if !plan.on_exec {
            self.opened.events.iter().try_for_each(Event::enable)?;
        }
        let data = plan.attr().flags & super::sys::perf_event::flag::MMAP_DATA != 0;
        match target {
            Target::Machine(_) => existing::everybody(data, &mut records),
            Target::Processes(pids) => {
                pids.iter().for_each(|&pid| existing::process(pid, data, &mut records))
            }
            // The kernel reports everything when the child becomes the program.
            Target::Command(_) | Target::Waiting(_) => {}
        }
        self.file.append(&records)
    }

    /// Reads every ring once.
    fn round(&mut self) -> io::Result<()> {
        let mut any = false;
        for OfProcessor { ring, .. } in &mut self.opened.rings {
            let (first, second) = ring.pending();
            let length = first.len() + second.len();
            if length == 0 {
                continue;
            }
            any = true;
            let counted = count(first, second);
            self.samples += counted.samples;
            self.lost += counted.lost;
            if let Some((first, last)) = counted.times {
                let (begin, end) = self.times.unwrap_or((first, last));
                self.times = Some((begin.min(first), end.max(last)));
            }
            self.file.append(first)?;
            self.file.append(second)?;
            ring.release(length);
        }
        if any { self.file.finish_round() } else { Ok(()) }
    }

    fn wait(&mut self, launched: Option<&Launched>, stop: &Stop, timeout: Duration) -> io::Result<Wait> {
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

    /// Stops counting, and reads what is left.
    fn end(&mut self) -> io::Result<()> {
        for event in &self.opened.events {
            event.disable()?;
        }
        self.round()
    }
}

/// The counts of some records.
#[derive(Default)]
struct Counted {
    samples: u64,
    lost: u64,
    times: Option<(u64, u64)>,
}

/// The offset of a sample's time: behind the header, the event's number, the address, the thread.
const TIME_AT: usize = 8 + 8 + 8 + 8;

/// Counts what is in a ring, which may go on from its end to its begin.
fn count(first: &[u8], second: &[u8]) -> Counted {
    let mut counted = Counted::default();
    // All of a record is aligned to numbers, and so is where the ring ends.
    let eight = |at: usize| -> Option<[u8; 8]> {
        let piece = if at < first.len() { first.get(at..) } else { second.get(at - first.len()..) };
        piece?.first_chunk().copied()
    };
    let number = |at: usize| eight(at).map(u64::from_ne_bytes);
    let mut at = 0;
    while let Some(header) = eight(at) {
        let kind = u32::from_ne_bytes([header[0], header[1], header[2], header[3]]);
        let size = usize::from(u16::from_ne_bytes([header[6], header[7]]));
        match kind {
            record::SAMPLE => {
                counted.samples += 1;
                if let Some(time) = number(at + TIME_AT) {
                    let (first, last) = counted.times.unwrap_or((time, time));
                    counted.times = Some((first.min(time), last.max(time)));
                }
            }
            // The event's number, then the number of lost records.
            record::LOST => counted.lost += number(at + 16).unwrap_or(0),
            record::LOST_SAMPLES => counted.lost += number(at + 8).unwrap_or(0),
            _ => {}
        }
        if size < 8 {
            break;
        }
        at += size;
    }
    counted
}

#[cfg(test)]
mod tests {
    use super::*;

    fn put(kind: u32, body: &[u64]) -> Vec<u8> {
        let size = u16::try_from(8 + 8 * body.len()).unwrap();
        let mut bytes = kind.to_ne_bytes().to_vec();
        bytes.extend(0u16.to_ne_bytes());
        bytes.extend(size.to_ne_bytes());
        bytes.extend(body.iter().flat_map(|number| number.to_ne_bytes()));
        bytes
    }

    #[test]
    fn samples_losses_and_times_are_counted() {
        let records = [
            put(record::SAMPLE, &[1, 0x4000, 7, 500, 0]),
            put(record::LOST, &[1, 12, 0]),
            put(record::COMM, &[7, 0]),
            put(record::SAMPLE, &[1, 0x4000, 7, 300, 0]),
            put(record::LOST_SAMPLES, &[3]),
        ]
        .concat();
        for end in (0..=records.len()).step_by(8) {
            let (first, second) = records.split_at(end);
            let counted = count(first, second);
            assert_eq!((counted.samples, counted.lost, counted.times), (2, 15, Some((300, 500))), "{end}");
        }
        // A record of size 0 must not cause an endless loop.
        assert_eq!(count(&[9, 0, 0, 0, 0, 0, 0, 0], &[]).samples, 1);
    }
}
