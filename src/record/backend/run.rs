//! Runs a backend until the target ends, the time is over or somebody stops it.
//!
//! A backend is started like the built-in sampler's commands, with the signals as they are by
//! default, and is waited for together with the requests to stop. The first makes it write its
//! recording; the second kills it and all that it has started, and its files go with their folder.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant, SystemTime};

use super::{Ask, Backend, Plan, Recording, Refusal, Starter, Status, Wishes, find};
use crate::record::program::{Started, ask_to_end, launch, message, no_such_program};
use crate::record::request::Target;
use crate::record::sys::launch::Launched;
use crate::record::sys::processes::{self, Watched, is_running};
use crate::record::sys::readable::wait_readable;
use crate::record::sys::signals::Stop;
use crate::record::sys::wait::End;
use crate::record::sys::wait::Ended as EndOfProcess;

/// The longest time between two looks at the target.
const TICK: Duration = Duration::from_millis(100);
/// The time between two looks for a command that may end soon.
const SOON: Duration = Duration::from_millis(5);
/// The time for which a backend is expected to start its command.
const STARTS: Duration = Duration::from_secs(2);
/// The longest time for which a backend that is to stop may still be starting. One that is told before it
/// has prepared for the signal ends by it, and its recording is lost.
const START: Duration = Duration::from_secs(5);

/// The result of a run.
#[derive(Debug)]
pub struct Outcome {
    /// The recording, within the folder it was to be made in.
    pub recording: PathBuf,
    /// Its format, if it need not be told by content.
    pub format: Option<&'static str>,
    /// Its stacks begin with processes and threads, even unasked.
    pub shows_threads: bool,
    /// The command, if it is known how it ends.
    pub target: Option<Started>,
    /// Messages for the user.
    pub notes: Vec<String>,
    /// Messages of [`Outcome::notes`] that readers of the profile have to know.
    pub warnings: Vec<String>,
    /// The time at which the recording began.
    pub start: SystemTime,
    /// The duration of the recording.
    pub elapsed: Duration,
}

/// The reason why there is no recording.
#[derive(Debug)]
pub enum Failure {
    /// The one line that says so.
    Refused(Refusal),
    /// It was stopped by two signals; this is the first.
    Killed(i32),
}

impl From<Refusal> for Failure {
    fn from(refusal: Refusal) -> Failure {
        Failure::Refused(refusal)
    }
}

/// The plan for a backend, as it would be run: its command line in the words of a shell.
///
/// # Errors
/// The one line that says why it cannot be run so.
pub fn print(backend: &dyn Backend, program: &std::ffi::OsStr, wishes: &Wishes) -> Result<Vec<u8>, Refusal> {
    let mut pids = pids(wishes);
    // Not a temporary folder: the printed command can be run as it is, and writes to the current one.
    let folder = Path::new("");
    let ask = |pids: &[String]| backend.plan(&Ask { wishes, program, pids, folder });
    let mut plan = ask(&pids)?;
    let mut line = Vec::new();
    if let (Starter::We, Target::Command(invocation)) = (plan.starter, &wishes.request.target) {
        pids = vec![STARTED.to_owned()];
        plan = ask(&pids)?;
        line = [shell(invocation.words())?, b" & ".to_vec()].concat();
    }
    line.extend(shell(&plan.words)?);
    match &plan.recording {
        Recording::Output => line.extend(b" > recording"),
        _ if plan.output_at_3 => line.extend(b" 3>&1 >/dev/null"),
        _ if plan.chats => line.extend(b" >/dev/null"),
        Recording::Export(words) => line.extend([b" && ", &*shell(words)?].concat()),
        Recording::File(_) => {}
    }
    Ok(line)
}

/// Stands for the process that was started before, the shell's `$!`, in a command line to be printed.
const STARTED: &str = "\u{1}";

/// Quotes words for a shell.
///
/// # Errors
/// A word with a zero byte, which no shell can take.
pub fn shell<W: AsRef<std::ffi::OsStr>>(words: impl IntoIterator<Item = W>) -> Result<Vec<u8>, Refusal> {
    use std::os::unix::ffi::OsStrExt;
    let mut line = Vec::new();
    for word in words {
        if !line.is_empty() {
            line.push(b' ');
        }
        let word = word.as_ref().as_bytes();
        for (n, part) in word.split(|byte| [*byte] == STARTED.as_bytes()).enumerate() {
            if n > 0 {
                line.extend_from_slice(b"$!");
            }
            if !part.is_empty() || part.len() == word.len() {
                let quoted = shlex::bytes::try_quote(part);
                let zero = |_| Refusal::new("a zero byte cannot be in a command");
                line.extend_from_slice(&quoted.map_err(zero)?);
            }
        }
    }
    Ok(line)
}

pub(super) fn pids(wishes: &Wishes) -> Vec<String> {
    match &wishes.request.target {
        Target::Processes(pids) => pids.iter().map(u32::to_string).collect(),
        _ => Vec::new(),
    }
}

/// Records into a folder of its own.
///
/// # Errors
/// The reason why there is no recording.
pub fn run(
    backend: &dyn Backend,
    program: &std::ffi::OsStr,
    wishes: &Wishes,
    folder: &Path,
    stop: &Stop,
    progress: &mut dyn FnMut(Duration),
) -> Result<Outcome, Failure> {
    check_target(&wishes.request.target)?;
    let name = backend.about().name;
    let ask = |pids: &[String]| backend.plan(&Ask { wishes, program, pids, folder });
    let mut plan = ask(&pids(wishes))?;
    stop.be_patient(true);
    let mut target = None;
    if let (Starter::We, Target::Command(invocation)) = (plan.starter, &wishes.request.target) {
        let launched = launch(invocation, End::Held).map_err(|refusal| Refusal::new(refusal.to_string()))?;
        plan = ask(&[launched.pid().to_string()])?;
        target = Some(launched);
    }
    let output = folder.join("recording");
    // It is told to stop by us alone: many know one signal only, and die by the others.
    let shielded = |tool| Launched::ending(tool, End::Shielded(plan.stop.signal()));
    let tool = tool(&plan, wishes, &output).and_then(shielded);
    let mut tool = tool.map_err(|e| cannot(&format!("start {name}"), &e))?;
    let began = Instant::now();
    let mut session = Session {
        plan: &plan,
        wishes,
        stop,
        due: None,
        told: false,
        began,
        command: None,
        started: Vec::new(),
    };
    tool.go();
    let ended = session.watch(&tool, target.as_mut(), progress).map_err(|e| cannot("wait", &e))?;
    let elapsed = session.began.elapsed();
    if let Ended::Killed(signal) = ended {
        for pid in [Some(tool.pid()), target.as_ref().map(Launched::pid)].into_iter().flatten() {
            processes::kill_tree(pid);
        }
        let _ = tool.wait();
        return Err(Failure::Killed(signal));
    }
    let status = tool.wait().map_err(|e| cannot(&format!("start {name}"), &e))?.status;
    session.end_started();
    // The tool's processor time is not the command's.
    let ended = |status| Started::Ended(EndOfProcess { status, cpu_time: None });
    let target = match (target, wishes.request.target.invocation()) {
        (Some(launched), Some(invocation)) => {
            ask_to_end(&launched, wishes.request.duration.is_some(), stop);
            Some(Started::Running(launched, invocation.clone()))
        }
        (None, Some(_)) if plan.status == Status::Command => Some(ended(status)),
        (None, Some(_)) => session.command.as_ref().and_then(Watched::status).map(ended),
        _ => None,
    };
    let recording = match &plan.recording {
        Recording::File(path) => path.clone(),
        Recording::Output => output,
        Recording::Export(words) => {
            export(words, &output).map_err(|e| cannot(&format!("export the recording of {name}"), &e))?;
            output
        }
    };
    if recording.metadata().map_or(0, |kind| kind.len()) == 0 {
        return Err(nothing(backend, status).into());
    }
    // From here on nothing has to be taken away that is not gone with this process.
    stop.be_patient(false);
    let mut notes = plan.notes.clone();
    if target.is_none() && wishes.request.target.invocation().is_some() {
        notes.push(format!("{name} does not tell how the command ended: the exit status is 0"));
    }
    let start = SystemTime::now().checked_sub(session.began.elapsed()).unwrap_or_else(SystemTime::now);
    let (format, shows_threads) = (plan.format, plan.shows_threads);
    Ok(Outcome { recording, format, shows_threads, target, notes, warnings: plan.notes, start, elapsed })
}

/// Checks the target, with better messages than those of a backend.
fn check_target(target: &Target) -> Result<(), Refusal> {
    if let Some(invocation) = target.invocation()
        && find::on_path(&invocation.program).is_none()
    {
        let said = no_such_program(&invocation.program);
        return Err(Refusal::new(format!("cannot start the program: {said}")));
    }
    if let Target::Processes(pids) = target
        && let Some(gone) = pids.iter().find(|pid| !is_running(**pid))
    {
        return Err(Refusal::new(crate::record::refusal::Refusal::NoProcess(*gone).to_string()));
    }
    Ok(())
}

fn cannot(doing: &str, error: &io::Error) -> Refusal {
    Refusal::new(format!("cannot {doing}: {}", message(error)))
}

fn nothing(backend: &dyn Backend, status: ExitStatus) -> Refusal {
    use std::os::unix::process::ExitStatusExt;
    let how = match (status.code(), status.signal()) {
        (Some(code), _) => format!("with status {code}"),
        (None, Some(signal)) => format!("by signal {signal}"),
        (None, None) => "somehow".to_owned(),
    };
    let name = backend.about().name;
    let advice = backend.about().when_it_fails.map(|advice| format!(": {advice}")).unwrap_or_default();
    Refusal::new(format!("{name} ended {how} and recorded nothing{advice}"))
}

/// The backend as a command.
fn tool(plan: &Plan, wishes: &Wishes, output: &Path) -> io::Result<Command> {
    let mut tool = Command::new(&plan.words[0]);
    tool.args(&plan.words[1..]);
    let invocation = wishes.request.target.invocation().filter(|_| plan.starter == Starter::Backend);
    let ours_is_taken = invocation.is_some_and(|invocation| invocation.stdout_is_taken);
    if plan.recording == Recording::Output {
        tool.stdout(File::create(output)?);
    } else if invocation.is_none() || plan.chats {
        // Its standard output is chatter: discard it.
        tool.stdout(Stdio::null());
    } else if ours_is_taken {
        tool.stdout(io::stderr().as_fd().try_clone_to_owned()?);
    }
    if plan.output_at_3 {
        processes::give(&mut tool, io::stdout().as_fd().try_clone_to_owned()?, 3);
    }
    if let Some(invocation) = invocation {
        tool.envs(invocation.environment.iter().map(|(name, value)| (name, value)));
        invocation.folder.iter().for_each(|folder| {
            tool.current_dir(folder);
        });
    }
    Ok(tool)
}

fn export(words: &[std::ffi::OsString], output: &Path) -> io::Result<()> {
    let status = Command::new(&words[0])
        .args(&words[1..])
        .stdin(Stdio::null())
        .stdout(File::create(output)?)
        .status()?;
    if status.success() { Ok(()) } else { Err(io::Error::other(status.to_string())) }
}

/// The end of watching a backend.
enum Ended {
    /// It has ended.
    Itself,
    /// Two signals came.
    Killed(i32),
}

/// A backend at work.
struct Session<'a> {
    plan: &'a Plan,
    wishes: &'a Wishes,
    stop: &'a Stop,
    /// The time at which it was to stop.
    due: Option<Instant>,
    /// It was told to stop.
    told: bool,
    began: Instant,
    /// The command that the backend has started, if that is to be waited for.
    command: Option<Watched>,
    /// The processes below the backend when it was told to stop: its command, and what that started.
    started: Vec<u32>,
}

impl Session<'_> {
    fn watch(
        &mut self,
        tool: &Launched,
        mut target: Option<&mut Launched>,
        progress: &mut dyn FnMut(Duration),
    ) -> io::Result<Ended> {
        let readable = |fd| libc::pollfd { fd, events: libc::POLLIN, revents: 0 };
        let mut waits = target.is_some();
        loop {
            let mut fds = vec![readable(tool.ended().as_raw_fd()), readable(self.stop.wake().as_raw_fd())];
            if let Some(target) = target.as_deref().filter(|_| !self.told) {
                fds.push(readable(target.ended().as_raw_fd()));
            }
            let left = self.plan.after.map(|after| after.saturating_sub(self.began.elapsed()));
            let mut timeout = left.filter(|_| !self.told).map_or(TICK, |left| left.min(TICK));
            if self.due.is_some() && !self.told {
                timeout = SOON;
            }
            if self.expects_command() {
                let child = processes::children(tool.pid()).first().and_then(|pid| Watched::new(*pid));
                self.command = child.or(self.command.take());
                if self.began.elapsed() < STARTS {
                    timeout = timeout.min(SOON);
                }
            }
            wait_readable(&mut fds, i32::try_from(timeout.as_millis()).unwrap_or(i32::MAX))?;
            if fds[0].revents != 0 {
                return Ok(Ended::Itself);
            }
            self.stop.drain();
            if let (Some(signal), 2..) = (self.stop.requested(), self.stop.count()) {
                return Ok(Ended::Killed(signal));
            }
            if let Some(target) = target.as_deref_mut().filter(|_| waits)
                && processes::samples(tool.pid())
            {
                // It watches: the command may go on, and the time begins.
                target.go();
                waits = false;
                self.began = Instant::now();
            }
            progress(self.began.elapsed());
            let over = self.plan.after.is_some_and(|after| !waits && self.began.elapsed() >= after);
            let target_ended = fds.get(2).is_some_and(|fd| fd.revents != 0) || self.targets_are_gone();
            if over || target_ended || self.stop.requested().is_some() {
                let due = *self.due.get_or_insert_with(Instant::now);
                if !self.told && (self.heeds(tool) || due.elapsed() >= START) {
                    self.tell(tool, over || target_ended)?;
                }
            }
        }
    }

    /// Returns true if the backend is still to start the command, which may be over soon. A child that has ended
    /// may not have been the command: a tool that is a script, as pyenv installs them, has others before.
    fn expects_command(&self) -> bool {
        let starts = self.plan.starter == Starter::Backend && self.plan.status == Status::Own;
        let waits = self.command.as_ref().is_none_or(Watched::has_ended);
        starts && waits && self.wishes.request.target.invocation().is_some()
    }

    /// Returns true if the backend has prepared for the signal that makes it stop.
    fn heeds(&self, tool: &Launched) -> bool {
        processes::heeds(tool.pid(), self.plan.stop.signal())
    }

    /// Tells the backend to stop and write, unless the terminal has.
    fn tell(&mut self, tool: &Launched, is_ours: bool) -> io::Result<()> {
        self.told = true;
        if !is_ours && self.stop.reached_all() {
            return Ok(());
        }
        if self.plan.starter == Starter::Backend && self.wishes.request.target.invocation().is_some() {
            self.started = processes::descendants(tool.pid());
        }
        processes::send(tool.pid(), self.plan.stop.signal())
    }

    /// Ends what the command has started, after the backend has ended the command at most.
    fn end_started(&self) {
        let alive = self.started.iter().filter(|pid| is_running(**pid));
        alive.for_each(|pid| drop(processes::send(*pid, libc::SIGTERM)));
    }

    /// Returns true if all target processes have ended and the backend does not notice that itself.
    fn targets_are_gone(&self) -> bool {
        match &self.wishes.request.target {
            Target::Processes(pids) => {
                !self.plan.ends_with_target && !pids.iter().any(|&pid| is_running(pid))
            }
            _ => false,
        }
    }
}
