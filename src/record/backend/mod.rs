//! Other profilers, run for their recordings: what each is asked on its command line, and which of
//! our options it can honour.
//!
//! ```text
//! Wishes ──► choose ──► Backend::plan ──► run ──► a recording ──► collapse
//! options    by name    its command      until     text, XML,      folded
//!            or auto    line             told      perf.data       stacks
//! ```
//! A backend is one file and one line in [`ALL`]: `--with`, its help, `--print-command`, refusals
//! and the tests read that list. An option that a backend cannot honour is refused, with the names
//! of those that can. The built-in sampler is not in the list, since it runs no other program:
//! see [`Chosen`].

pub mod capability;
pub mod choose;
pub mod find;
pub mod run;
pub mod trial;

mod austin;
mod bpf;
mod dtrace;
mod perf;
mod py_spy;
mod python;
mod xctrace;

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::time::Duration;

pub use capability::{Capability, Roots, Wishes};
pub use choose::{Chosen, choose};

/// Every backend.
pub static ALL: &[&dyn Backend] =
    &[&perf::Perf, &py_spy::PySpy, &austin::Austin, &bpf::Bpf, &dtrace::Dtrace, &xctrace::Xctrace];

/// The backends for CPython, the best first.
const FOR_PYTHON: [&dyn Backend; 2] = [&py_spy::PySpy, &austin::Austin];

/// Returns true for a backend that records Python programs only.
pub(crate) fn is_for_python(backend: &dyn Backend) -> bool {
    FOR_PYTHON.iter().any(|python| python.about().name == backend.about().name)
}

/// A profiler that can be run.
pub trait Backend: Sync {
    /// Its name, its program and its features.
    fn about(&self) -> &'static BackendInfo;

    /// Its command line, for wishes that [`capability::check`] has let pass.
    ///
    /// # Errors
    /// The one line that says why it cannot be asked so.
    fn plan(&self, ask: &Ask<'_>) -> Result<Plan, Refusal>;
}

/// The name of a backend, its program and its features.
#[derive(Debug)]
pub struct BackendInfo {
    /// The name that `--with` takes.
    pub name: &'static str,
    /// A description of its recordings, for the list in the help.
    pub records: &'static str,
    /// The variable of the environment that names the program.
    pub variable: &'static str,
    /// The names of its program; the first that is installed is run.
    pub programs: &'static [&'static str],
    /// The command that installs it.
    pub install: &'static str,
    /// Its features.
    pub takes: &'static [Capability],
    /// Samples a second when none were asked for.
    pub rate: u64,
    /// Advice for a run that ends without a recording.
    pub when_it_fails: Option<&'static str>,
}

/// The order to a backend.
#[derive(Clone, Copy, Debug)]
pub struct Ask<'a> {
    /// The options.
    pub wishes: &'a Wishes,
    /// The program to run, as it was found.
    pub program: &'a OsStr,
    /// The processes to record, as words: one that we start has its number only when it runs.
    pub pids: &'a [String],
    /// A folder for its files, empty.
    pub folder: &'a Path,
}

/// The way to run a backend.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// Its command line.
    pub words: Vec<OsString>,
    /// The place of the recording.
    pub recording: Recording,
    /// The name of the recording's format; `None` is told by content.
    pub format: Option<&'static str>,
    /// The process that starts the command that is recorded, if there is one.
    pub starter: Starter,
    /// The meaning of its exit status.
    pub status: Status,
    /// The signal that makes it stop and write.
    pub stop: Stop,
    /// The time after which we send that signal; `None` if it keeps the time itself.
    pub after: Option<Duration>,
    /// Its standard output is chatter: discard it.
    pub chats: bool,
    /// Descriptor 3 is to be our standard output, for the command.
    pub output_at_3: bool,
    /// It ends by itself when its targets have ended.
    pub ends_with_target: bool,
    /// Its stacks begin with processes and threads, even unasked.
    pub shows_threads: bool,
    /// Messages for the user.
    pub notes: Vec<String>,
}

/// The place of a recording.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Recording {
    /// A file that the backend was told to write.
    File(PathBuf),
    /// The backend's standard output.
    Output,
    /// The standard output of this command, run afterwards.
    Export(Vec<OsString>),
}

/// The process that starts the command that is recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Starter {
    /// The backend.
    Backend,
    /// We do, and tell it the process.
    We,
}

/// The meaning of a backend's exit status.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// The exit status of the command.
    Command,
    /// The backend's own exit status.
    Own,
}

/// The signal that makes a backend stop and write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// SIGINT.
    Interrupt,
    /// SIGTERM.
    Terminate,
}

impl Stop {
    /// Its number.
    fn signal(self) -> i32 {
        match self {
            Stop::Interrupt => libc::SIGINT,
            Stop::Terminate => libc::SIGTERM,
        }
    }
}

/// The reason why a backend does not run, on one line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal(String);

impl Refusal {
    /// A refusal with a message.
    pub fn new(said: impl Into<String>) -> Refusal {
        Refusal(said.into())
    }
}

impl std::fmt::Display for Refusal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Refusal {}

impl Ask<'_> {
    /// Samples a second.
    fn rate(&self, about: &BackendInfo) -> u64 {
        self.wishes.rate.unwrap_or(about.rate)
    }

    /// The duration, if it is of whole seconds, which is all that some tools take.
    fn whole_seconds(&self) -> Option<u64> {
        let duration = self.wishes.request.duration?;
        (duration.subsec_nanos() == 0).then_some(duration.as_secs())
    }

    /// The command to record.
    fn command(&self) -> Option<Vec<OsString>> {
        Some(self.wishes.request.target.invocation()?.words().cloned().collect())
    }
}

impl Plan {
    /// The plan of a tool that writes a file, starts the command itself, says nothing of its end, stops
    /// at Ctrl-C, and keeps the time itself.
    fn new(words: Words, file: PathBuf) -> Plan {
        Plan {
            words: words.0,
            recording: Recording::File(file),
            format: None,
            starter: Starter::Backend,
            status: Status::Own,
            stop: Stop::Interrupt,
            after: None,
            chats: false,
            output_at_3: false,
            ends_with_target: true,
            shows_threads: false,
            notes: Vec::new(),
        }
    }
}

/// A command line that is being written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Words(Vec<OsString>);

impl Words {
    /// Begins with a program.
    fn of(program: &OsStr) -> Words {
        Words(vec![program.to_owned()])
    }

    /// Goes on.
    fn add<W: Into<OsString>>(&mut self, words: impl IntoIterator<Item = W>) -> &mut Words {
        self.0.extend(words.into_iter().map(Into::into));
        self
    }

    /// An option and its value.
    fn option(&mut self, name: &str, value: impl Into<OsString>) -> &mut Words {
        self.0.extend([name.into(), value.into()]);
        self
    }
}
