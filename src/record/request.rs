//! The request for a recording, the same for every backend.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use super::trigger::Trigger;

/// A request for a recording.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// The target.
    pub target: Target,
    /// The rate of samples.
    pub rate: Rate,
    /// The longest duration; without one the recording ends with the target.
    pub duration: Option<Duration>,
    /// The events that make samples; none stands for processor time.
    pub events: Vec<EventRequest>,
    /// The processors to record on; `None` is all.
    pub processors: Option<Vec<u32>>,
    /// The time and the ways at which sampling begins, pauses and goes on.
    pub pauses: Pauses,
    /// The size of the recording's file at which it ends.
    pub max_size: Option<u64>,
    /// The control group that is recorded of the whole machine.
    pub cgroup: Option<PathBuf>,
    /// The recording is folded in parts of this length, and where somebody asks for one.
    pub parts: Option<Duration>,
    /// The conditions on which a part ends early, as if somebody had asked for it.
    pub triggers: Option<Triggers>,
    /// The way in which stacks are found.
    pub call_graph: CallGraph,
    /// Follows the processes that the target starts.
    pub children: bool,
    /// The time that is recorded.
    pub time: Time,
    /// Allocations are recorded, and no time.
    pub allocations: Option<AllocationRate>,
    /// The program was asked to write a map that names the code that it compiles.
    pub asks_for_names: bool,
    /// The frames of interpreters are read from the memory of their processes, where the recording is folded meanwhile.
    pub names_interpreters: bool,
}

impl Request {
    /// A request for processor time, as the built-in sampler takes it by default.
    pub fn new(target: Target) -> Request {
        Request {
            target,
            rate: Rate::PerSecond(Rate::USUAL),
            duration: None,
            events: Vec::new(),
            processors: None,
            pauses: Pauses::default(),
            max_size: None,
            cgroup: None,
            parts: None,
            triggers: None,
            call_graph: CallGraph::Dwarf(CallGraph::DUMP),
            children: true,
            time: Time::OnCpu,
            allocations: None,
            asks_for_names: false,
            names_interpreters: true,
        }
    }
}

/// Conditions on which the last of a recording is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Triggers {
    /// One of these has to be met.
    pub any: Vec<Trigger>,
    /// The time in which none is looked at after one was met.
    pub pause: Duration,
}

/// The rate at which allocations are sampled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AllocationRate {
    /// The mean number of bytes from one sample to the next.
    pub mean: u64,
    /// The most samples of a process in a second, beyond which the mean grows.
    pub most: Option<u64>,
}

impl Default for AllocationRate {
    /// The mean of Go and of jemalloc; a sample costs some 50 microseconds in a virtual machine.
    fn default() -> Self {
        AllocationRate { mean: 512 * 1024, most: Some(100) }
    }
}

impl AllocationRate {
    /// A sample in this number of bytes, however many that makes.
    pub fn once_in(mean: u64) -> AllocationRate {
        AllocationRate { mean, most: None }
    }
}

/// An event by its name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EventRequest {
    /// The name, with its modifiers.
    pub name: String,
    /// The condition on the fields of a tracepoint.
    pub filter: Option<String>,
}

impl EventRequest {
    /// An event without a condition.
    pub fn new(name: impl Into<String>) -> EventRequest {
        EventRequest { name: name.into(), filter: None }
    }
}

/// The time and the ways at which sampling begins, pauses and goes on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pauses {
    /// The beginning.
    pub delay: Delay,
    /// The way in which it is told to pause and to go on.
    pub control: Option<Control>,
}

impl Pauses {
    /// Returns true if there is ever a pause.
    pub fn are_possible(&self) -> bool {
        *self != Pauses::default()
    }
}

/// The time from the beginning of the recording to that of sampling.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Delay {
    /// None.
    #[default]
    None,
    /// A duration.
    For(Duration),
    /// Until it is told to go on.
    UntilTold,
}

/// The way in which a recorder is told to pause and to go on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Control {
    /// SIGUSR1 pauses, SIGUSR2 goes on.
    Signals,
    /// Lines in a FIFO, answered in another one.
    Fifo {
        /// The FIFO to read.
        commands: PathBuf,
        /// The FIFO for answers.
        answers: Option<PathBuf>,
    },
}

impl Control {
    /// Reads `signals` or `fifo:PATH[,PATH]`.
    ///
    /// # Errors
    /// A message that says what is expected.
    pub fn parse(text: &str) -> Result<Control, String> {
        match text.split_once(':') {
            None if text == "signals" => Ok(Control::Signals),
            Some(("fifo", paths)) if !paths.is_empty() => {
                let (commands, answers) = match paths.split_once(',') {
                    Some((commands, answers)) => (commands, Some(answers)),
                    None => (paths, None),
                };
                Ok(Control::Fifo { commands: commands.into(), answers: answers.map(PathBuf::from) })
            }
            _ => Err("expected signals or fifo:PATH, or fifo:PATH,ANSWERS".to_owned()),
        }
    }
}

/// The target of a recording.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// A program, from its first instruction.
    Command(Invocation),
    /// Running processes with all their threads.
    Processes(Vec<u32>),
    /// Running threads, and none that they start.
    Threads(Vec<u32>),
    /// A process that waits to become another program: somebody else's [`Launched`] child.
    ///
    /// [`Launched`]: super::sys::launch::Launched
    Waiting(u32),
    /// The whole machine, until the program exits if there is one.
    Machine(Option<Invocation>),
}

/// A program to start.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Invocation {
    /// Its name or path.
    pub program: OsString,
    /// Its arguments.
    pub arguments: Vec<OsString>,
    /// The folder it runs in, if not the current one.
    pub folder: Option<PathBuf>,
    /// Variables of its environment, besides ours.
    pub environment: Vec<(OsString, OsString)>,
    /// Standard output is taken by the profile: the program writes to standard error instead.
    pub stdout_is_taken: bool,
    /// The terminal is taken by the profile: the program reads nothing, and writes to this file what it would write
    /// to the terminal.
    pub instead_of_terminal: Option<PathBuf>,
}

/// The time of threads that is recorded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Time {
    /// On a processor: where they compute.
    #[default]
    OnCpu,
    /// Off the processors: where they wait.
    OffCpu,
    /// Both: all of the time that passes.
    Wall,
}

/// The rate of samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rate {
    /// A number of samples in a second of the event's time.
    PerSecond(u64),
    /// A sample after this number of events.
    EveryEvents(u64),
}

impl Rate {
    /// The default number of samples a second: a prime, so as not to keep step with what programs do
    /// every millisecond.
    pub const USUAL: u64 = 997;
}

/// The way in which stacks are found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallGraph {
    /// From a copy of this many bytes of the stack, by the program's unwind tables: works with all
    /// compilers' defaults.
    Dwarf(u32),
    /// By frame pointers: cheap, but programs must be compiled with them.
    FramePointers,
    /// No stacks.
    None,
}

impl CallGraph {
    /// The number of bytes of the stack that are copied by default. The sampler takes fewer where
    /// they do not fit its memory.
    ///
    /// Of the stacks of `fg-collapse` reading 259 MB, 56% are cut off at 8 kB and none at 32 kB; of
    /// those of `rustc -O`, 93% and 42%, where 64 kB would still cut 39%. The program that is recorded
    /// takes as long with either: 1.03 of its time alone, at 997 samples a second.
    pub const DUMP: u32 = 32 * 1024;

    /// The number of bytes that the sampler copies of stacks that are folded at once, where its memory and the
    /// rate allow: nothing of them is kept. A little less than the most there is, which is what users name.
    ///
    /// Of the stacks of `fg-collapse` reading 357 MB with large frames, 46.5% are cut off at 32 kB and none at
    /// this size.
    pub const LIVE_DUMP: u32 = 65_520;

    /// Reads `fp`, `dwarf`, `dwarf,SIZE` or `none`.
    ///
    /// # Errors
    /// A message that says what is expected.
    pub fn parse(text: &str) -> Result<CallGraph, String> {
        match text.split_once(',').unwrap_or((text, "")) {
            ("fp", "") => Ok(CallGraph::FramePointers),
            ("none", "") => Ok(CallGraph::None),
            ("dwarf", "") => Ok(CallGraph::Dwarf(CallGraph::DUMP)),
            // The kernel wants a multiple of 8 below 65,536.
            ("dwarf", size) => match size.parse::<u32>() {
                Ok(size @ 64..=65_528) => Ok(CallGraph::Dwarf(size.next_multiple_of(8))),
                _ => Err("the size of a dump is from 64 to 65528 bytes".to_owned()),
            },
            _ => Err("expected fp, dwarf, dwarf,SIZE or none".to_owned()),
        }
    }
}

impl std::fmt::Display for CallGraph {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            CallGraph::Dwarf(size) => write!(f, "dwarf,{size}"),
            CallGraph::FramePointers => write!(f, "fp"),
            CallGraph::None => write!(f, "none"),
        }
    }
}

impl Target {
    /// Returns true if a program is started for the recording, by us or by whom we record for.
    pub fn runs_program(&self) -> bool {
        matches!(self, Target::Command(_) | Target::Waiting(_) | Target::Machine(Some(_)))
    }

    /// The program to start.
    pub fn invocation(&self) -> Option<&Invocation> {
        match self {
            Target::Command(invocation) => Some(invocation),
            Target::Machine(invocation) => invocation.as_ref(),
            Target::Processes(_) | Target::Threads(_) | Target::Waiting(_) => None,
        }
    }
}

impl Invocation {
    /// The program and its arguments.
    pub fn words(&self) -> impl Iterator<Item = &OsString> {
        std::iter::once(&self.program).chain(&self.arguments)
    }

    /// Returns true if the program becomes another user or group when it starts (set-uid), as sudo does.
    pub fn becomes_another_user(&self) -> bool {
        use std::os::unix::fs::PermissionsExt;
        let is_path = self.program.as_encoded_bytes().contains(&b'/');
        let path = std::env::var_os("PATH").filter(|_| !is_path);
        let folders = path.iter().flat_map(std::env::split_paths);
        let mut found = folders.map(|folder| folder.join(&self.program)).filter(|path| path.is_file());
        let found = found.next().unwrap_or_else(|| PathBuf::from(&self.program));
        found.metadata().is_ok_and(|it| it.permissions().mode() & 0o6000 != 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn call_graphs_by_their_names() {
        for text in ["fp", "dwarf,8192", "dwarf,65528", "none"] {
            assert_eq!(CallGraph::parse(text).unwrap().to_string(), text);
        }
        assert_eq!(CallGraph::parse("dwarf"), Ok(CallGraph::Dwarf(32768)));
        assert_eq!(CallGraph::parse("dwarf,1001"), Ok(CallGraph::Dwarf(1008)));
        for text in ["", "lbr", "dwarf,", "dwarf,65536", "dwarf,9k", "fp,1"] {
            // `dwarf,` is read as `dwarf`: there is nothing else it could mean.
            assert_eq!(CallGraph::parse(text).is_err(), text != "dwarf,", "{text}");
        }
    }
}
