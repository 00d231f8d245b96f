//! What a user asks for that not every backend can do, and how it is refused.

use std::ffi::OsString;

use super::{ALL, Backend, BackendInfo, Refusal};
use crate::record::request::{CallGraph, Request, Target};

/// Everything that was asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wishes {
    /// What to record.
    pub request: Request,
    /// Samples a second, if they were asked for.
    pub rate: Option<u64>,
    /// How stacks are found, if that was asked for.
    pub call_graph: Option<CallGraph>,
    /// What has a root frame of its own.
    pub roots: Roots,
    /// The recording itself is wanted.
    pub raw: bool,
    /// Root is to record.
    pub root: bool,
    /// More words for the backend's command line.
    pub arguments: Vec<OsString>,
}

/// What has a root frame of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Roots {
    /// What the backend's own tools show.
    AsTheyAre,
    /// Each process.
    Processes,
    /// Each thread.
    Threads,
}

/// Something that not every backend can do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Capability {
    /// To record a command.
    Command,
    /// To record one running process.
    Process,
    /// To record several at once.
    Processes,
    /// To record all that runs.
    Machine,
    /// To record all that runs while a command does.
    MachineWhile,
    /// To sample so often.
    Rate,
    /// To sample on an event.
    Event,
    /// To copy and unwind stacks.
    Dwarf,
    /// To follow frame pointers.
    FramePointers,
    /// To record no stacks.
    NoStacks,
    /// To follow child processes; wished for unless said otherwise, and done without.
    Children,
    /// To leave child processes out.
    NoChildren,
    /// To tell where threads wait.
    OffCpu,
    /// To tell processes apart.
    PerProcess,
    /// To tell threads apart.
    PerThread,
    /// To hand over the recording as a file.
    Raw,
    /// To record as root while the command does not run as root.
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
            Capability::Event => "-e",
            Capability::Dwarf => "--call-graph dwarf",
            Capability::FramePointers => "--call-graph fp",
            Capability::NoStacks => "--call-graph none",
            Capability::Children => "child processes",
            Capability::NoChildren => "--no-children",
            Capability::OffCpu => "--off-cpu",
            Capability::PerProcess => "--per-process",
            Capability::PerThread => "--per-thread",
            Capability::Raw => "--raw",
            Capability::Root => "--root",
        }
    }
}

impl Wishes {
    /// What not every backend can do of it. Child processes are not in it: whoever cannot follow
    /// them says so.
    pub fn list(&self) -> Vec<Capability> {
        let request = &self.request;
        let target = match &request.target {
            Target::Command(_) | Target::Waiting(_) => Capability::Command,
            Target::Processes(pids) if pids.len() == 1 => Capability::Process,
            Target::Processes(_) => Capability::Processes,
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
            asked(request.event.is_some(), Capability::Event),
            call_graph,
            asked(!request.children, Capability::NoChildren),
            asked(request.off_cpu, Capability::OffCpu),
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

/// Whether a backend can do all that is wished for.
///
/// # Errors
/// The first wish that it cannot, and who can.
pub fn check(backend: &dyn Backend, wishes: &Wishes) -> Result<(), Refusal> {
    let about = backend.about();
    let Some(wish) = wishes.beyond(about) else { return Ok(()) };
    let others = ALL.iter().filter(|other| other.about().takes.contains(&wish));
    let names: Vec<&str> = std::iter::once("builtin").chain(others.map(|other| other.about().name)).collect();
    Err(Refusal::new(format!("{} cannot do {}; --with {} can", about.name, wish.option(), names.join(", "))))
}
