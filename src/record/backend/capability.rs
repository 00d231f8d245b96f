//! Options that not every backend can honour, and their refusal.

use std::ffi::OsString;

use super::{ALL, Backend, BackendInfo, Refusal};
use crate::record::request::{CallGraph, Delay, Rate, Request, Target, Time};

/// Everything the user asks of a recording.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wishes {
    /// The target, rate and duration.
    pub request: Request,
    /// The samples a second, if the user gave them.
    pub rate: Option<u64>,
    /// The way in which stacks are found, if the user gave it.
    pub call_graph: Option<CallGraph>,
    /// The grouping of stacks by a root frame.
    pub roots: Roots,
    /// The recording itself is wanted.
    pub raw: bool,
    /// Root is to record.
    pub root: bool,
    /// More words for the backend's command line.
    pub arguments: Vec<OsString>,
}

/// The grouping of stacks by a root frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Roots {
    /// As the backend's own tools show them.
    AsTheyAre,
    /// A root frame for each process.
    Processes,
    /// A root frame for each thread.
    Threads,
}

/// A feature that not every backend has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Capability {
    /// Records a command.
    Command,
    /// Records one running process.
    Process,
    /// Records several processes at once.
    Processes,
    /// Records the whole machine.
    Machine,
    /// Records the whole machine until a command ends.
    MachineWhile,
    /// Samples at a rate that is asked for.
    Rate,
    /// Samples after a number of events.
    Period,
    /// Samples on an event.
    Event,
    /// Samples on several events at once.
    Events,
    /// Records running threads.
    Threads,
    /// Records a control group.
    ControlGroup,
    /// Records on some processors.
    Processors,
    /// Begins later.
    Delay,
    /// Pauses and goes on when it is told to.
    Control,
    /// Folds the recording in parts.
    Parts,
    /// Copies and unwinds stacks.
    Dwarf,
    /// Follows frame pointers.
    FramePointers,
    /// Records without stacks.
    NoStacks,
    /// Follows child processes; a backend that cannot says so, and records.
    Children,
    /// Leaves child processes out.
    NoChildren,
    /// Records where threads wait.
    OffCpu,
    /// Records where threads compute, and where they wait.
    Wall,
    /// Tells processes apart.
    PerProcess,
    /// Tells threads apart.
    PerThread,
    /// Hands over the recording as a file.
    Raw,
    /// Records as root a command that does not run as root.
    Root,
}

impl Capability {
    /// The option that asks for it.
    pub fn option(self) -> &'static str {
        match self {
            Capability::Command => "a command",
            Capability::Process => "-p",
            Capability::Processes => "-p with several processes",
            Capability::Machine => "-a",
            Capability::MachineWhile => "-a with a command",
            Capability::Rate => "-F",
            Capability::Period => "--interval",
            Capability::Event => "-e",
            Capability::Events => "several -e",
            Capability::Threads => "--tid",
            Capability::ControlGroup => "--cgroup",
            Capability::Processors => "-C",
            Capability::Delay => "--delay",
            Capability::Control => "--control",
            Capability::Parts => "--every, --last and --live",
            Capability::Dwarf => "--call-graph dwarf",
            Capability::FramePointers => "--call-graph fp",
            Capability::NoStacks => "--call-graph none",
            Capability::Children => "child processes",
            Capability::NoChildren => "--no-children",
            Capability::OffCpu => "--off-cpu",
            Capability::Wall => "--wall",
            Capability::PerProcess => "--per-process",
            Capability::PerThread => "--per-thread",
            Capability::Raw => "--raw",
            Capability::Root => "--root",
        }
    }
}

impl Wishes {
    /// The features the request needs that some backends lack. Following child processes is not among
    /// them: a backend that cannot do that says so and records.
    pub fn list(&self) -> Vec<Capability> {
        let request = &self.request;
        let target = match &request.target {
            Target::Command(_) | Target::Waiting(_) => Capability::Command,
            Target::Processes(pids) if pids.len() == 1 => Capability::Process,
            Target::Processes(_) => Capability::Processes,
            Target::Threads(_) => Capability::Threads,
            Target::Machine(None) => Capability::Machine,
            Target::Machine(Some(_)) => Capability::MachineWhile,
        };
        let call_graph = self.call_graph.map(|how| match how {
            CallGraph::Dwarf(_) => Capability::Dwarf,
            CallGraph::FramePointers => Capability::FramePointers,
            CallGraph::None => Capability::NoStacks,
        });
        let roots = match self.roots {
            Roots::AsTheyAre => None,
            Roots::Processes => Some(Capability::PerProcess),
            Roots::Threads => Some(Capability::PerThread),
        };
        let asked = |asked: bool, wish: Capability| asked.then_some(wish);
        [
            Some(target),
            asked(self.rate.is_some(), Capability::Rate),
            asked(matches!(request.rate, Rate::EveryEvents(_)), Capability::Period),
            asked(!request.events.is_empty(), Capability::Event),
            asked(request.events.len() > 1, Capability::Events),
            asked(request.cgroup.is_some(), Capability::ControlGroup),
            asked(request.processors.is_some(), Capability::Processors),
            asked(request.pauses.delay != Delay::None, Capability::Delay),
            asked(request.pauses.control.is_some(), Capability::Control),
            asked(request.parts.is_some(), Capability::Parts),
            call_graph,
            asked(!request.children, Capability::NoChildren),
            asked(request.time == Time::OffCpu, Capability::OffCpu),
            asked(request.time == Time::Wall, Capability::Wall),
            roots,
            asked(self.raw, Capability::Raw),
            asked(self.root, Capability::Root),
        ]
        .into_iter()
        .flatten()
        .collect()
    }

    /// The first wish that a backend cannot fulfil.
    pub fn beyond(&self, about: &BackendInfo) -> Option<Capability> {
        self.list().into_iter().find(|wish| !about.takes.contains(wish))
    }
}

/// Checks that a backend has every feature that is asked for.
///
/// # Errors
/// The first feature that it lacks, with the backends that have it.
pub fn check(backend: &dyn Backend, wishes: &Wishes) -> Result<(), Refusal> {
    let about = backend.about();
    let Some(wish) = wishes.beyond(about) else { return Ok(()) };
    let others = ALL.iter().filter(|other| other.about().takes.contains(&wish));
    let names: Vec<&str> = std::iter::once("builtin").chain(others.map(|other| other.about().name)).collect();
    Err(Refusal::new(format!("{} cannot do {}; --with {} can", about.name, wish.option(), names.join(", "))))
}
