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
//! of those that can. The built-in sampler is not in the list, since it runs nobody: [`Chosen`]
//! has it beside them.

pub mod capability;
pub mod choose;
pub mod find;
pub mod run;

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

/// All of them.
pub static ALL: &[&dyn Backend] =
    &[&perf::Perf, &py_spy::PySpy, &austin::Austin, &bpf::Bpf, &dtrace::Dtrace, &xctrace::Xctrace];

/// A profiler that can be run.
pub trait Backend: Sync {
    /// What it is, and what it can.
    fn about(&self) -> &'static BackendInfo;

    /// Its command line, for wishes that [`capability::check`] has let pass.
    ///
    /// # Errors
    /// The one line that says why it cannot be asked so.
    fn plan(&self, ask: &Ask<'_>) -> Result<Plan, Refusal>;
}

/// What a backend is, and what it can.
#[derive(Debug)]
pub struct BackendInfo {
    /// As `--with` takes it.
    pub name: &'static str,
    /// What it records, for the list in the help.
    pub records: &'static str,
    /// The variable of the environment that names the program.
    pub variable: &'static str,
    /// What the program is called, the first that is there is run.
    pub programs: &'static [&'static str],
    /// What installs it.
    pub install: &'static str,
    /// Which wishes it can fulfil.
    pub takes: &'static [Capability],
    /// Samples a second when none were asked for.
    pub rate: u64,
    /// What to do when it ends without a recording.
    pub when_it_fails: Option<&'static str>,
}

/// What a backend is asked for.
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

/// How to run a backend.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// Its command line.
    pub words: Vec<OsString>,
    /// Where the recording will be.
    pub recording: Recording,
    /// Its format, as the collapsers are called; `None` is told by content.
    pub format: Option<&'static str>,
    /// Who starts the command that is recorded, if there is one.
    pub starter: Starter,
    /// What its exit status means.
    pub status: Status,
    /// What makes it stop and write.
    pub stop: Stop,
    /// How long we wait before that; `None` when it knows by itself.
    pub after: Option<Duration>,
    /// What it writes to standard output is talk, and nobody's who asked.
    pub chats: bool,
    /// Descriptor 3 is to be our standard output, for the command.
    pub output_at_3: bool,
    /// It notices by itself that there is nobody left to record.
    pub ends_with_target: bool,
    /// Whether its stacks begin with processes and threads though nobody has asked.
    pub shows_threads: bool,
    /// What the user should know.
    pub notes: Vec<String>,
}

/// Where a recording will be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Recording {
    /// In the file it was told to write.
    File(PathBuf),
    /// On its standard output.
    Output,
    /// On the standard output of this, run afterwards.
    Export(Vec<OsString>),
}

/// Who starts the command that is recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Starter {
    /// The backend.
    Backend,
    /// We do, and tell it the process.
    We,
}

/// What a backend's exit status means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// It is the command's.
    Command,
    /// It is its own.
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

/// Why a backend does not run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal(String);

impl Refusal {
    /// With these words.
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
    /// Of a tool that writes a file, starts the command itself, says nothing of its end, stops at
    /// Ctrl-C, and knows how long to record.
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
