//! The built-in sampler: opens the plan's events, and writes what the kernel hands over.

pub mod counted;
pub mod data_file;
pub mod event;
pub mod existing;
mod family;
pub mod output;
mod packed;
mod pause;
mod pieces;
pub mod plan;
mod pythons;
mod session;
pub mod stream;
mod throttle;
mod trim;
mod watch;

use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::time::{Duration, Instant, SystemTime};

use self::counted::Counted;
use self::data_file::About;
use self::event::Event as EventName;
use self::output::{Destination, Output};
use self::pause::Gate;
use self::plan::{Doing, Inherit, Note, Plan};
use self::session::{Opened, Refused, Session, Wait};
use self::stream::Part;
use self::watch::Watch;
use super::program::{Started, ask_to_end, cannot, launch, message};
use super::python::Pythons;
use super::refusal::Refusal;
use super::request::{Control, EventRequest, Rate, Request, Target, Time};
use super::sys::clock;
use super::sys::launch::Launched;
use super::sys::limits;
use super::sys::processes::{self, is_running};
use super::sys::signals::Stop;
use super::sys::wait::{End, Ended};
use super::system::{Permissions, online_processors};

/// The time between two checks of the processes, and between two reports of progress.
const TICK: Duration = Duration::from_millis(200);

/// The same of a recording that is folded meanwhile. A program may be gone with its file soon after it has
/// begun: then its file is open.
const LIVE_TICK: Duration = Duration::from_millis(20);

/// The result of a recording.
#[derive(Debug)]
pub struct Outcome {
    /// The program that we started; it may still run.
    pub target: Option<Started>,
    /// Its process.
    pub pid: Option<u32>,
    /// The processes that it has started, and theirs.
    pub children: Vec<u32>,
    /// The number of samples.
    pub samples: u64,
    /// The number of samples that the kernel had no room for.
    pub lost: u64,
    /// The processor time of the target, and the part of it that samples stand for, where that is known.
    pub coverage: Option<Coverage>,
    /// The time at which the recording began.
    pub start: SystemTime,
    /// The duration of the recording.
    pub elapsed: Duration,
    /// Messages for the user.
    pub notes: Vec<Note>,
    /// The plan that the system accepted.
    pub plan: Plan,
    /// The reason why the recording ended early, if the file could not be written any more.
    pub full: Option<Full>,
}

/// The part of the target's processor time that samples stand for, in counts of the event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Coverage {
    /// The part that samples stand for.
    pub sampled: u64,
    /// All of it.
    pub total: u64,
    /// The counts are nanoseconds.
    pub is_time: bool,
}

/// A file that could not be written any more: a full disk, or a limit of its size.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Full {
    /// The system's words.
    pub said: String,
    /// The number of bytes of records that were kept.
    pub kept: u64,
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
    /// There is a pause.
    pub is_paused: bool,
}

/// Records into a file or for a reader, until the target ends, the time is over or somebody stops us.
///
/// # Errors
/// The one line that says why not, and what to do.
pub fn record(
    request: &Request,
    destination: impl Into<Destination>,
    stop: &Stop,
    progress: &mut dyn FnMut(Progress),
) -> Result<Outcome, Refusal> {
    let mut sampler = Sampler::begin(request, destination.into(), stop)?;
    let full = sampler.run(progress)?;
    sampler.finish(full)
}

/// A recording from its beginning to its end.
struct Sampler<'r> {
    request: &'r Request,
    stop: &'r Stop,
    plan: Plan,
    session: Session,
    gate: Gate,
    parts: Option<Parts>,
    watch: Option<Watch>,
    notes: Vec<Note>,
    start: SystemTime,
    /// The process of the program that was started.
    pid: Option<u32>,
    /// That program, until it was waited for.
    launched: Option<Launched>,
    /// Its end, if the recording has waited for it.
    ended: Option<Result<Ended, Refusal>>,
    /// The recording ends although the target may run on.
    is_told_to_end: bool,
}

impl<'r> Sampler<'r> {
    /// Starts the program if there is one, opens the events, and lets them count.
    fn begin(request: &'r Request, destination: Destination, stop: &'r Stop) -> Result<Self, Refusal> {
        let events = parse_events(request)?;
        let permissions = Permissions::read();
        limits::lift_open_files();
        let online = online_processors();
        let processors = processors(request, &online)?;
        let mut plan = Plan::new(request, events, processors.len())?.tracking_apart();
        let reads_frames = request.names_interpreters && !matches!(destination, Destination::File(..));
        plan.wakes_at_once = reads_frames
            && matches!(plan.rate, Rate::PerSecond(..=MOST_WAKES))
            && pythons::are_likely(&request.target);
        let mut gate = Gate::new(&request.pauses)?;
        if request.parts.is_some() || request.pauses.control == Some(Control::Signals) {
            stop.take_user_signals().map_err(|e| cannot("watch for signals", &e))?;
        }
        let invocation = request.target.invocation();
        let mut launched = invocation.map(|invocation| launch(invocation, End::Gone)).transpose()?;
        let pid = launched.as_ref().map(Launched::pid);
        stop.take_along(pid);
        let mut notes = Vec::new();
        notes.extend((!Path::new("/proc/self").exists()).then_some(Note::NoProc));
        let mut records = Vec::new();
        // Reading all of its symbols takes a while: before the events are open, as what a process does between
        // their opening and their beginning is not reported.
        if plan.kernel {
            existing::kernel(&mut records);
        }
        let opened = open(&mut plan, &request.target, pid, &processors, &permissions, &mut notes)?;
        if !plan.kernel {
            records.clear();
        }
        notes.extend(plan.dump_note());
        let ids = opened.ids(&plan).map_err(|e| cannot("number the events", &e))?;
        let output = Output::new(destination, &plan, &ids).map_err(|e| cannot("write the recording", &e))?;
        let about = About { command_line: command_line(&request.target), ..about(&plan, &online) };
        let mut session = Session::new(opened, output, about, &plan);
        session.pythons = reads_frames.then(Pythons::default);
        session.begin(&plan, &request.target, records).map_err(|e| cannot("begin", &e))?;
        let reference = clock::Reference::now();
        session.about.reference = reference;
        if let Some(launched) = &mut launched {
            launched.go();
        }
        gate.begin();
        let start = reference.wall;
        let parts = request.parts.map(|length| Parts::begin(length, start));
        let watch = request.triggers.as_ref().map(|triggers| Watch::begin(triggers, &request.target, pid));
        let (ended, is_told_to_end) = (None, false);
        Ok(Sampler {
            request,
            stop,
            plan,
            session,
            gate,
            parts,
            watch,
            notes,
            start,
            pid,
            launched,
            ended,
            is_told_to_end,
        })
    }

    /// Records until the end; returns the error of an output that takes no more.
    fn run(&mut self, progress: &mut dyn FnMut(Progress)) -> Result<Option<io::Error>, Refusal> {
        let tick = if self.session.output.is_live() { LIVE_TICK } else { TICK };
        let mut has_ended = false;
        loop {
            if let Err(error) = self.read() {
                return Ok(Some(error));
            }
            let is_asked = self.attend()?;
            if let Err(error) = self.end_part(is_asked) {
                return Ok(Some(error));
            }
            let elapsed = self.gate.sampled();
            let Counted { samples, lost, .. } = self.session.counted;
            progress(Progress { elapsed, samples, lost, is_paused: self.gate.is_paused() });
            let left = self.request.duration.map(|duration| duration.saturating_sub(elapsed));
            self.limit_size(elapsed);
            let is_time_over = left == Some(Duration::ZERO);
            let is_stopped = self.is_told_to_end || self.stop.requested().is_some();
            if has_ended || is_stopped || is_time_over || is_over(self.request) {
                if has_ended {
                    self.wait_for_target();
                }
                return Ok(end(&mut self.session, &self.plan).err());
            }
            let (parts, watch) = (self.parts.as_ref().map(Parts::left), self.watch.as_ref().map(Watch::left));
            let timeout =
                [left, self.gate.left(), parts, watch].into_iter().flatten().fold(tick, Duration::min);
            let wait = self.session.wait(self.launched.as_ref(), self.stop, self.gate.wake(), timeout);
            has_ended = wait.map_err(|e| cannot("wait", &e))? == Wait::Ended;
        }
    }

    /// Takes what is in the rings.
    fn read(&mut self) -> io::Result<()> {
        self.session.round()?;
        if self.gate.is_paused() { Ok(()) } else { self.session.throttle(&self.plan) }
    }

    /// Does what signals and the FIFO of `--control` ask for; returns true if a part is to end.
    fn attend(&mut self) -> Result<bool, Refusal> {
        let Sampler { gate, session, plan, .. } = self;
        let told = gate.attend(self.stop, |is_paused| session.pause(plan, is_paused));
        let told = told.map_err(|e| cannot("pause", &e))?;
        self.is_told_to_end |= told.stop;
        if let Some(line) = told.unknown {
            let note = Note::UnknownCommand(line);
            if !self.notes.contains(&note) && self.notes.len() < MOST_NOTES {
                self.notes.push(note);
            }
        }
        Ok(told.snapshot)
    }

    /// Ends a part of a recording that has parts, if it is over, or if this is asked for.
    fn end_part(&mut self, is_asked: bool) -> io::Result<()> {
        let Some(parts) = &mut self.parts else { return Ok(()) };
        let is_asked = is_asked || self.watch.as_mut().is_some_and(Watch::is_met);
        parts.end(is_asked).map_or(Ok(()), |part| self.session.end_part(&self.plan, part))
    }

    /// Ends the recording if the file is as large as was wanted.
    fn limit_size(&mut self, elapsed: Duration) {
        if let Some(most) = self.request.max_size
            && self.session.output.size() >= most
        {
            self.is_told_to_end = true;
            self.notes.push(Note::MaxSize(elapsed));
        }
    }

    /// Waits for a program that has ended, for the processor time that it has used.
    fn wait_for_target(&mut self) {
        let (Some(launched), Some(invocation)) = (self.launched.take(), self.request.target.invocation())
        else {
            return;
        };
        let ended = Started::Running(launched, invocation.clone()).wait(self.stop);
        let used = ended.as_ref().ok().and_then(|ended| ended.cpu_time);
        self.session.cpu.used = used.filter(|_| counts_all(self.request, &self.plan));
        self.ended = Some(ended);
    }

    /// The result; `full` is the error of an output that took no more.
    fn finish(mut self, full: Option<io::Error>) -> Result<Outcome, Refusal> {
        let full = full.map(|error| keep_what_fits(&mut self.session, &error)).transpose()?.flatten();
        let elapsed = self.gate.sampled();
        // The program may take its time to end: its profile does not wait for that.
        let target = match (self.launched, self.request.target.invocation()) {
            (Some(launched), Some(invocation)) => {
                ask_to_end(&launched, self.request.duration.is_some() || self.is_told_to_end, self.stop);
                Some(Started::Running(launched, invocation.clone()))
            }
            _ => self.ended.transpose()?.map(Started::Ended),
        };
        let Sampler { plan, session, mut notes, start, pid, .. } = self;
        if matches!(target, Some(Started::Ended(_))) && !plan.machine {
            let running: Vec<u32> = session.family.running().filter(|&pid| is_running(pid)).collect();
            notes.extend((!running.is_empty()).then_some(Note::RunsOn(running)));
        }
        if session.lost_of_processes > 0 {
            notes.push(Note::LostRecords(session.lost_of_processes));
        }
        if session.asleep > 0 {
            notes.push(Note::Asleep(session.asleep));
        }
        let Counted { samples, lost, weight, .. } = session.counted;
        // Records of processes may be lost, too.
        let lost = session.cpu.lost.unwrap_or(lost);
        let coverage = plan.counted().filter(|_| full.is_none()).map(|number| Coverage {
            sampled: weight,
            total: session.cpu.counted.max(weight),
            is_time: plan.events[number].is_clock(),
        });
        let children = session.family.begun().collect();
        Ok(Outcome { target, pid, children, samples, lost, coverage, start, elapsed, notes, plan, full })
    }
}

/// Opens the events of a plan, or of the best one that the system accepts, which it becomes.
fn open(
    plan: &mut Plan,
    target: &Target,
    pid: Option<u32>,
    processors: &[u32],
    permissions: &Permissions,
    notes: &mut Vec<Note>,
) -> Result<Opened, Refusal> {
    loop {
        match Opened::new(plan, target, pid, processors) {
            Ok(opened) => return Ok(opened),
            Err(Refused { doing, number, error }) => {
                let after = plan.after(doing, number, &error, permissions);
                let (next, note) =
                    after.map_err(|refusal| with_what_there_is(refusal, &plan.events[number], doing))?;
                *plan = next;
                if note != Note::Nothing {
                    notes.push(note);
                }
            }
        }
    }
}

/// The most samples a second that each wake us.
const MOST_WAKES: u64 = 1200;

/// The most notes of lines that are no commands.
const MOST_NOTES: usize = 20;

/// The parts of a recording that is folded.
struct Parts {
    length: Duration,
    began: Instant,
    start: SystemTime,
}

impl Parts {
    fn begin(length: Duration, start: SystemTime) -> Parts {
        Parts { length, began: Instant::now(), start }
    }

    fn left(&self) -> Duration {
        self.length.saturating_sub(self.began.elapsed())
    }

    /// Ends a part that is over, or that somebody asks for, and begins the next one.
    fn end(&mut self, is_asked: bool) -> Option<Part> {
        let duration = self.began.elapsed();
        if !is_asked && duration < self.length {
            return None;
        }
        let part = Part { start: self.start, duration, is_asked };
        *self = Parts::begin(self.length, self.start + duration);
        Some(part)
    }
}

/// The events that are asked for.
///
/// # Errors
/// A name that stands for no event.
pub fn parse_events(request: &Request) -> Result<Vec<EventName>, Refusal> {
    let parse = |event: &EventRequest| EventName::parse_filtered(&event.name, event.filter.as_deref());
    let events: Result<Vec<_>, String> = request.events.iter().map(parse).collect();
    events.map_err(|said| Refusal::Other { doing: "choose an event", said })
}

/// The processors to record on.
fn processors(request: &Request, online: &[u32]) -> Result<Vec<u32>, Refusal> {
    let Some(wanted) = &request.processors else { return Ok(online.to_vec()) };
    match wanted.iter().find(|number| !online.contains(number)) {
        Some(&number) => Err(Refusal::NoProcessor { number, online: online.to_vec() }),
        None => Ok(wanted.clone()),
    }
}

/// Completes a refusal by what the machine has instead, and by whose process it is.
fn with_what_there_is(refusal: Refusal, event: &EventName, doing: Doing) -> Refusal {
    match (refusal, doing) {
        // No value of kernel.perf_event_paranoid allows that.
        (Refusal::Attach { .. } | Refusal::Paranoid(_), Doing::Attach(pid) | Doing::AttachThread(pid))
            if processes::is_foreign(pid) =>
        {
            Refusal::Attach { pid, is_foreign: true, ptrace_scope: None, container: false }
        }
        (refusal, _) => with_names(refusal, event),
    }
}

fn with_names(refusal: Refusal, event: &EventName) -> Refusal {
    match refusal {
        Refusal::NoEvent { name, .. } => Refusal::NoEvent { name, has: event::available() },
        Refusal::Filter { event: name, filter, .. } => {
            Refusal::Filter { event: name, filter, fields: event.fields() }
        }
        other => other,
    }
}

/// Returns true if the events count all that the target and its children do.
fn counts_all(request: &Request, plan: &Plan) -> bool {
    plan.inherit == Inherit::All && request.processors.is_none() && !request.pauses.are_possible()
}

/// Returns true if there is nothing left to record.
fn is_over(request: &Request) -> bool {
    match &request.target {
        Target::Processes(pids) => !pids.iter().any(|&pid| is_running(pid)),
        Target::Threads(tids) => !tids.iter().any(|&tid| is_running(tid)),
        Target::Waiting(pid) => !is_running(*pid),
        Target::Command(_) | Target::Machine(_) => false,
    }
}

/// Stops counting, and writes what is left.
fn end(session: &mut Session, plan: &Plan) -> io::Result<()> {
    let ended_at = clock::now();
    session.disable()?;
    session.round()?;
    session.count(plan)?;
    // Threads may still wait when the recording ends.
    session.end(if plan.time == Time::OnCpu { 0 } else { ended_at })
}

/// Keeps what fits into a file that could not be written any more. Without a file, the reader says why it
/// reads no more.
fn keep_what_fits(session: &mut Session, error: &io::Error) -> Result<Option<Full>, Refusal> {
    let _ = session.disable();
    let kept = session.keep_what_fits().map_err(|e| cannot("write the recording", &e))?;
    Ok(kept.map(|kept| Full { said: message(error), kept }))
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
