//! What to record: the same for every backend.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

/// What to record, and how.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// Whom.
    pub target: Target,
    /// When to take a sample.
    pub rate: Rate,
    /// For how long; without one until the target ends.
    pub duration: Option<Duration>,
    /// Which event makes samples, by name; `None` is processor time.
    pub event: Option<String>,
    /// How stacks are found.
    pub call_graph: CallGraph,
    /// Whether to follow the processes that the target starts.
    pub children: bool,
    /// Where threads wait, not where they compute.
    pub off_cpu: bool,
}

/// Whom to record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// A program, from its first instruction.
    Command(Invocation),
    /// Running processes with all their threads.
    Processes(Vec<u32>),
    /// A process that waits to become another program: somebody else's [`Launched`] child.
    ///
    /// [`Launched`]: super::sys::launch::Launched
    Waiting(u32),
    /// All that runs; while a program does, if there is one.
    Machine(Option<Invocation>),
}

/// A program to start.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Invocation {
    /// Its name or path.
    pub program: OsString,
    /// What it is given.
    pub arguments: Vec<OsString>,
    /// Where it runs, if not here.
    pub folder: Option<PathBuf>,
    /// Variables it is given besides ours.
    pub environment: Vec<(OsString, OsString)>,
    /// Its standard output is ours for the profile: it writes to standard error instead.
    pub stdout_is_taken: bool,
}

/// When to take a sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rate {
    /// So often in a second of the event's time.
    PerSecond(u64),
    /// After so many events.
    EveryEvents(u64),
}

impl Rate {
    /// Samples a second when nobody asks for more or fewer: a prime, so as not to keep step with
    /// what programs do every millisecond.
    pub const USUAL: u64 = 997;
}

/// How stacks are found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallGraph {
    /// From a copy of so many bytes of the stack, by the program's unwind tables: works with all
    /// compilers' defaults.
    Dwarf(u32),
    /// By frame pointers: cheap, but programs must be compiled with them.
    FramePointers,
    /// Not at all.
    None,
}

impl CallGraph {
    /// How many bytes of the stack are copied by default: with 8 kB one stack of ten is cut off,
    /// and at 997 samples a second nothing is lost.
    pub const DUMP: u32 = 8192;

    /// Reads `fp`, `dwarf`, `dwarf,SIZE` or `none`.
    ///
    /// # Errors
    /// What is expected.
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
    /// The program to start.
    pub fn invocation(&self) -> Option<&Invocation> {
        match self {
            Target::Command(invocation) => Some(invocation),
            Target::Machine(invocation) => invocation.as_ref(),
            Target::Processes(_) | Target::Waiting(_) => None,
        }
    }
}

impl Invocation {
    /// All of it, as it is typed.
    pub fn words(&self) -> impl Iterator<Item = &OsString> {
        std::iter::once(&self.program).chain(&self.arguments)
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
        assert_eq!(CallGraph::parse("dwarf"), Ok(CallGraph::Dwarf(8192)));
        assert_eq!(CallGraph::parse("dwarf,1001"), Ok(CallGraph::Dwarf(1008)));
        for text in ["", "lbr", "dwarf,", "dwarf,65536", "dwarf,9k", "fp,1"] {
            // `dwarf,` is read as `dwarf`: there is nothing else it could mean.
            assert_eq!(CallGraph::parse(text).is_err(), text != "dwarf,", "{text}");
        }
    }
}
