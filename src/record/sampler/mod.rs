//! The built-in sampler: opens the plan's events, and writes what the kernel hands over.

pub mod counted;
pub mod data_file;
pub mod event;
pub mod existing;
pub mod output;
pub mod plan;
mod session;
pub mod stream;

use std::io;
use std::os::unix::ffi::OsStrExt;
use std::time::{Duration, Instant, SystemTime};

use self::counted::Counted;
use self::data_file::About;
use self::event::Event as EventName;
use self::output::{Destination, Output};
use self::plan::{Note, Plan};
use self::session::{Opened, Session, Wait};
use super::program::{Started, ask_to_end, cannot, launch, message};
use super::refusal::Refusal;
use super::request::{Request, Target};
use super::sys::clock;
use super::sys::launch::{End, Launched};
use super::sys::limits;
use super::sys::processes::{self, is_running};
use super::sys::signals::Stop;
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
    /// The reason why the recording ended early, if the file could not be written any more.
    pub full: Option<Full>,
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
    let output =
        Output::new(destination.into(), &plan, &ids).map_err(|e| cannot("write the recording", &e))?;
    let about = About { command_line: command_line(&request.target), ..about(&plan, &processors) };
    let mut session = Session { opened, output, about, counted: Counted::default() };
    session.begin(&plan, &request.target).map_err(|e| cannot("begin", &e))?;
    let began = Instant::now();
    let reference = clock::Reference::now();
    session.about.reference = reference;
    if let Some(launched) = &mut launched {
        launched.go();
    }
    let mut has_ended = false;
    let tick = if session.output.is_live() { LIVE_TICK } else { TICK };
    let full = loop {
        if let Err(error) = session.round() {
            break Some(error);
        }
        let elapsed = began.elapsed();
        let Counted { samples, lost, .. } = session.counted;
        progress(Progress { elapsed, samples, lost });
        let left = request.duration.map(|duration| duration.saturating_sub(elapsed));
        if has_ended || stop.requested().is_some() || left == Some(Duration::ZERO) || is_over(request) {
            break end(&mut session, &plan).err();
        }
        let timeout = left.map_or(tick, |left| left.min(tick));
        let wait = session.wait(launched.as_ref(), stop, timeout).map_err(|e| cannot("wait", &e))?;
        has_ended = wait == Wait::Ended;
    };
    let full = full.map(|error| keep_what_fits(&mut session, &error)).transpose()?.flatten();
    let elapsed = began.elapsed();
    // The program may take its time to end: its profile does not wait for that.
    let target = match (launched, request.target.invocation()) {
        (Some(launched), Some(invocation)) => {
            if !has_ended {
                ask_to_end(&launched, request, stop);
            }
            let running = Started::Running(launched, invocation.clone());
            Some(if has_ended { Started::Ended(running.wait(stop)?) } else { running })
        }
        _ => None,
    };
    let Counted { samples, lost, .. } = session.counted;
    Ok(Outcome { target, samples, lost, start: reference.wall, elapsed, notes, plan, full })
}

/// Returns true if there is nothing left to record.
fn is_over(request: &Request) -> bool {
    match &request.target {
        Target::Processes(pids) => !pids.iter().any(|&pid| is_running(pid)),
        Target::Waiting(pid) => !is_running(*pid),
        Target::Command(_) | Target::Machine(_) => false,
    }
}

/// Stops counting, and writes what is left.
fn end(session: &mut Session, plan: &Plan) -> io::Result<()> {
    let ended_at = clock::now();
    session.disable()?;
    session.round()?;
    // Threads may still wait when the recording ends.
    session.end(if plan.off_cpu { ended_at } else { 0 })
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
