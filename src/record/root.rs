//! `--root`: only the sampler is root, by sudo; all else stays the caller's.
//!
//! ```text
//! fg-record --root -o out.folded -- ./app     the caller's environment, terminal and files
//!  ├── ./app                                  waits until it is watched
//!  └── sudo fg-record --serve PID             watches it
//!        standard input:  ends when the recording shall
//!        standard output: "# recording", "# recorded", the profile
//! ```
//! The program needs no rights and gets none, cargo does not build as root, and all files belong to
//! the caller, since the process that is root writes to its standard output only.

use std::ffi::{OsStr, OsString};
use std::io::{self, Read, Write};
use std::os::fd::AsRawFd;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use super::program::{self, Started};
use super::refusal::Refusal;
use super::request::Request;
use super::sys::launch::Launched;
use super::sys::readable::wait_readable;
use super::sys::signals::{self, Stop};
use super::sys::wait::End;

/// The line that says: the events are open, the program may run.
const RECORDING: &[u8] = b"# recording\n";
/// The line that says: the profile follows.
const RECORDED: &[u8] = b"# recorded\n";

/// The result of a recording by another process.
#[derive(Debug)]
pub struct Answer {
    /// The program that we started; it may still run.
    pub target: Option<Started>,
    /// There is a profile; if not, the other process has said why.
    pub is_complete: bool,
}

/// Records into a file by a second process of this very program, which is root.
///
/// `words` are the options it is given besides; what it is asked for is what comes into the file.
///
/// # Errors
/// When it cannot be started.
pub fn record(
    request: &Request,
    words: &[OsString],
    file: &mut dyn Write,
    stop: &Stop,
) -> Result<Answer, Refusal> {
    let invocation = request.target.invocation();
    let mut launched = None;
    if let Some(invocation) = invocation {
        launched = Some(program::launch(invocation, End::Gone)?);
    }
    stop.take_along(launched.as_ref().map(Launched::pid));
    let waiting = launched.as_ref().map_or(0, Launched::pid).to_string();
    let mut helper = Helper::new(words, &waiting)?;
    let has_ended = helper.attend(launched.as_mut(), stop).map_err(|e| program::cannot("wait", &e))?;
    let was_watched = helper.state != State::Starting;
    let target = match (launched, invocation) {
        (Some(launched), Some(invocation)) => {
            if !was_watched {
                // It was never told to go on, and ends.
                let _ = launched.wait();
                None
            } else {
                if !has_ended {
                    program::ask_to_end(&launched, request.duration.is_some(), stop);
                }
                let running = Started::Running(launched, invocation.clone());
                Some(if has_ended { Started::Ended(running.wait(stop)?) } else { running })
            }
        }
        _ => None,
    };
    let is_complete = helper.finish(file).map_err(|e| program::cannot("write the recording", &e))?;
    Ok(Answer { target, is_complete })
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    /// It asks for a password, or opens events.
    Starting,
    Recording,
    /// The profile follows.
    Recorded,
}

struct Helper {
    child: Child,
    /// The pipe that keeps the recording going as long as it is open.
    go_on: Option<ChildStdin>,
    answer: ChildStdout,
    state: State,
    /// Bytes that were read and not yet interpreted.
    read: Vec<u8>,
}

impl Helper {
    fn new(words: &[OsString], waiting: &str) -> Result<Helper, Refusal> {
        let not_root = |said: String| Refusal::Other { doing: "become root", said };
        let itself = std::env::current_exe().map_err(|e| not_root(program::message(&e)))?;
        let mut command = Command::new("sudo");
        // The file that holds all programs is told which one it is to be.
        let task = itself.file_stem().is_some_and(|name| name == "fg-tools").then_some("record");
        command.arg("--").arg(itself).args(task).args(words);
        command.args([OsStr::new("--serve"), OsStr::new(waiting)]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().map_err(|e| match e.kind() {
            io::ErrorKind::NotFound => not_root("sudo is not installed; run fg-record as root".to_owned()),
            _ => not_root(format!("sudo: {}", program::message(&e))),
        })?;
        let (go_on, answer) = (child.stdin.take(), child.stdout.take());
        let answer = answer.ok_or_else(|| not_root("sudo has no output".to_owned()))?;
        Ok(Helper { child, go_on, answer, state: State::Starting, read: Vec::new() })
    }

    /// Lets the program go on when it is watched, and ends the recording when it ended or when
    /// somebody stops us. Returns true if it ended.
    fn attend(&mut self, mut launched: Option<&mut Launched>, stop: &Stop) -> io::Result<bool> {
        let mut has_ended = false;
        while self.state != State::Recorded {
            let readable = |fd| libc::pollfd { fd, events: libc::POLLIN, revents: 0 };
            let mut fds = vec![readable(self.answer.as_raw_fd())];
            if self.go_on.is_some() {
                fds.push(readable(stop.wake().as_raw_fd()));
                fds.extend(launched.iter().map(|launched| readable(launched.ended().as_raw_fd())));
            }
            wait_readable(&mut fds, -1)?;
            if fds.get(2).is_some_and(|fd| fd.revents != 0) {
                has_ended = true;
            }
            if has_ended || stop.requested().is_some() {
                self.go_on = None;
            }
            if fds[0].revents != 0 && !self.hear()? {
                break;
            }
            if self.state != State::Starting
                && let Some(launched) = &mut launched
            {
                launched.go();
            }
            // Stopped before the recording began, say at the password prompt.
            if self.state == State::Starting && stop.requested().is_some() {
                break;
            }
        }
        Ok(has_ended)
    }

    /// Reads what there is; `false` at its end.
    fn hear(&mut self) -> io::Result<bool> {
        let mut buffer = [0; 4096];
        let length = match self.answer.read(&mut buffer) {
            Err(e) if e.kind() == io::ErrorKind::Interrupted => return Ok(true),
            length => length?,
        };
        self.read.extend_from_slice(&buffer[..length]);
        for (line, from, to) in
            [(RECORDING, State::Starting, State::Recording), (RECORDED, State::Recording, State::Recorded)]
        {
            if self.state == from && self.read.starts_with(line) {
                self.read.drain(..line.len());
                self.state = to;
            }
        }
        Ok(length > 0)
    }

    /// Copies the whole profile into a file; returns `false` if there is none.
    fn finish(mut self, file: &mut dyn Write) -> io::Result<bool> {
        self.go_on = None;
        // sudo has said why; or it still asks for a password, and we may not kill it.
        if self.state != State::Recorded {
            return Ok(false);
        }
        file.write_all(&self.read)?;
        io::copy(&mut self.answer, file)?;
        Ok(self.child.wait()?.success())
    }
}

/// The process that records as root and reports to the caller.
#[derive(Debug)]
pub struct Server {
    has_begun: bool,
}

impl Server {
    /// Stops recording as soon as the caller wants it, or is no more.
    pub fn listen() -> Server {
        std::thread::spawn(|| {
            let _ = io::copy(&mut io::stdin().lock(), &mut io::sink());
            signals::request_stop();
        });
        Server { has_begun: false }
    }

    /// The events are open, and the program may run.
    pub fn is_recording(&mut self) {
        if !std::mem::replace(&mut self.has_begun, true) {
            tell(RECORDING);
        }
    }

    /// The profile follows.
    pub fn is_recorded(&self) {
        tell(RECORDED);
    }
}

/// Writes a line to the caller. Errors are ignored: [`Server::listen`] sees when the caller has ended.
fn tell(line: &[u8]) {
    let mut out = io::stdout();
    let _ = out.write_all(line).and_then(|()| out.flush());
}
