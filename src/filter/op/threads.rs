//! `--thread`, `--process`: select by the frames in which profilers name them.
//!
//! | written by | first frames |
//! |---|---|
//! | perf, `fg-collapse --per-process`, `--per-thread` | `COMM-PID` or `COMM-PID/TID` |
//! | py-spy `--subprocesses`, `--threads` | `process PID:"COMMAND"` for each ancestor, `thread (TID): NAME` |
//! | austin | `P16668`, `T0:16668` |
//! | perf, bcc | the name of the thread alone: any root frame that is none of the above |

use crate::filter::frames::{FramePattern, PerFrame};
use crate::filter::operation::{Example, Operation, OperationGroup, Select, Stage, unless_matched};
use crate::folded::{FrameId, StackTable, Weights};

const PROFILE: &str = "\
P12;T0:12;main 1
P12;T0:13;work 2
nginx;main 4
process 7:\"python3 a.py\";process 8:\"python3 b.py\";thread (9): pool-1;f 8
sh-20/21;main 16
sh-20;main 32
";

pub(in crate::filter) const THREAD: Operation = Operation {
    name: "thread",
    value: Some("R"),
    group: OperationGroup::Select,
    about: "Keep stacks of the threads that match R",
    details: "perf's and bcc's root frame names the thread (`COMM`, `COMM-PID/TID`), py-spy writes \
              `thread (TID): NAME`, austin `T0:TID`.",
    examples: &[
        Example {
            arguments: &["--thread", "^(T0:13|thread.*pool|nginx)"],
            input: PROFILE,
            output: "P12;T0:13;work 2\nnginx;main 4\n\
                     process 7:\"python3 a.py\";process 8:\"python3 b.py\";thread (9): pool-1;f 8\n",
        },
        Example { arguments: &["--thread", "21$"], input: PROFILE, output: "sh-20/21;main 16\n" },
        Example { arguments: &["--thread", "main"], input: "a;main 1\nmain 2\n", output: "main 2\n" },
    ],
    build: |value, options| {
        let pattern = FramePattern::new(value, options.case)?;
        Ok(Stage::Select(Box::new(Threads { pattern, process: false, roles: Roles::default() })))
    },
};

pub(in crate::filter) const PROCESS: Operation = Operation {
    name: "process",
    value: Some("R"),
    group: OperationGroup::Select,
    about: "Keep stacks of the processes that match R",
    details: "perf's and bcc's root frame stands for the process too (`COMM-PID`, without `/TID`), \
              py-spy writes `process PID:\"COMMAND\"`, austin `PPID`.",
    examples: &[
        Example {
            arguments: &["--process", "^P12$"],
            input: PROFILE,
            output: "P12;T0:12;main 1\nP12;T0:13;work 2\n",
        },
        Example {
            arguments: &["--process", "b.py|^sh-20$"],
            input: PROFILE,
            output: "process 7:\"python3 a.py\";process 8:\"python3 b.py\";thread (9): pool-1;f 8\n\
                     sh-20/21;main 16\nsh-20;main 32\n",
        },
        Example { arguments: &["--process", "a.py|nginx"], input: PROFILE, output: "nginx;main 4\n" },
    ],
    build: |value, options| {
        let pattern = FramePattern::new(value, options.case)?;
        Ok(Stage::Select(Box::new(Threads { pattern, process: true, roles: Roles::default() })))
    },
};

/// The thing a frame names, as far as its text says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    /// austin's `P16668`.
    AustinProcess,
    /// austin's `T0:16668`.
    AustinThread,
    /// py-spy's `process 7:"command"`.
    PySpyProcess,
    /// py-spy's `thread (9): name`.
    PySpyThread,
    /// perf's `comm-PID` or `comm-PID/TID`.
    Perf,
    /// Anything else.
    Other,
}

fn digits(text: &[u8]) -> bool {
    !text.is_empty() && text.iter().all(u8::is_ascii_digit)
}

/// A process or thread as `fg-collapse` writes it: `?` where the recording has none.
fn id(text: &[u8]) -> bool {
    digits(text) || text == b"?"
}

fn role(name: &[u8]) -> Role {
    if name.strip_prefix(b"P").is_some_and(digits) {
        return Role::AustinProcess;
    }
    if let Some(thread) = name.strip_prefix(b"T") {
        let mut parts = thread.split(|&b| b == b':');
        if parts.next().is_some_and(digits) && parts.next().is_none_or(digits) && parts.next().is_none() {
            return Role::AustinThread;
        }
    }
    if let Some(process) = name.strip_prefix(b"process ") {
        let colon = memchr::memchr(b':', process).unwrap_or(process.len());
        if digits(&process[..colon]) && process[colon..].starts_with(b":\"") {
            return Role::PySpyProcess;
        }
    }
    if name.starts_with(b"thread (") {
        return Role::PySpyThread;
    }
    let process = process_part(name);
    match memchr::memrchr(b'-', process) {
        Some(dash) if dash > 0 && id(&process[dash + 1..]) => Role::Perf,
        _ => Role::Other,
    }
}

/// `comm-PID` of `comm-PID/TID`.
fn process_part(name: &[u8]) -> &[u8] {
    match memchr::memrchr(b'/', name) {
        Some(slash) if id(&name[slash + 1..]) => &name[..slash],
        _ => name,
    }
}

/// Finds the frames of processes and threads that a stack begins with.
#[derive(Default)]
pub(super) struct Roles(PerFrame<Role>);

/// The places of these frames in a stack.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Prefix {
    /// The number of frames.
    pub(super) len: usize,
    process: Option<usize>,
    thread: Option<usize>,
}

impl Roles {
    pub(super) fn prefix(&mut self, stack: &[FrameId], names: &StackTable) -> Prefix {
        let mut role = |at: usize| match stack.get(at) {
            Some(&frame) => self.0.get(frame, || role(names.name(frame))),
            None => Role::Other,
        };
        match role(0) {
            Role::AustinProcess => {
                let thread = (role(1) == Role::AustinThread).then_some(1);
                Prefix { len: 1 + usize::from(thread.is_some()), process: Some(0), thread }
            }
            Role::Perf => Prefix { len: 1, process: Some(0), thread: Some(0) },
            Role::PySpyProcess | Role::PySpyThread => {
                // A child has the processes it descends from before it.
                let processes = (0..).take_while(|&at| role(at) == Role::PySpyProcess).count();
                let thread = (role(processes) == Role::PySpyThread).then_some(processes);
                let len = processes + usize::from(thread.is_some());
                Prefix { len, process: processes.checked_sub(1), thread }
            }
            Role::AustinThread | Role::Other => Prefix::default(),
        }
    }

    pub(super) fn forget(&mut self) {
        self.0.forget();
    }
}

struct Threads {
    pattern: FramePattern,
    /// True if processes are asked for, false if threads.
    process: bool,
    roles: Roles,
}

impl Select for Threads {
    fn keeps(&mut self, stack: &[FrameId], _: Weights, names: &StackTable) -> bool {
        let prefix = self.roles.prefix(stack, names);
        let place = match prefix {
            Prefix { len: 0, .. } => Some(0),
            Prefix { process, .. } if self.process => process,
            Prefix { thread, .. } => thread,
        };
        let Some(&frame) = place.and_then(|place| stack.get(place)) else { return false };
        // Only perf's frame names a thread and its process at once.
        let both = prefix.process == prefix.thread && prefix.len == 1;
        let cut = self.process && both;
        self.pattern.matches_part(frame, || {
            let name = names.name(frame);
            if cut { process_part(name) } else { name }
        })
    }

    fn forget(&mut self) {
        self.pattern.forget();
        self.roles.forget();
    }

    fn remark(&self) -> Option<String> {
        unless_matched(self.pattern.has_matched())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::filter::operation::OpOptions;

    #[test]
    fn the_process_of_a_frame_is_what_stands_before_the_thread() {
        let keeps = |operation: &Operation, value: &str, frame: &str| {
            let Stage::Select(mut select) = (operation.build)(value, OpOptions::default()).unwrap() else {
                unreachable!("it selects")
            };
            let mut table = StackTable::default();
            let stack = [table.frame(frame.as_bytes())];
            select.keeps(&stack, Weights::default(), &table)
        };
        assert!(keeps(&PROCESS, "^sh-20$", "sh-20/21") && !keeps(&PROCESS, "21$", "sh-20/21"));
        assert!(keeps(&THREAD, "21$", "sh-20/21"));
        // A name alone is that of the thread and of its process.
        assert!(keeps(&PROCESS, "^kworker/3$", "kworker/3") && !keeps(&PROCESS, "r$", "kworker/3"));
    }

    #[test]
    fn knows_each_profiler_s_names() {
        for (name, expected) in [
            ("P16668", Role::AustinProcess),
            ("P", Role::Other),
            ("P1x", Role::Other),
            ("T0:16668", Role::AustinThread),
            ("T16668", Role::AustinThread),
            ("T0:1:2", Role::Other),
            ("process 7:\"python3 a.py\"", Role::PySpyProcess),
            ("process 7", Role::Other),
            ("thread (9): pool-1", Role::PySpyThread),
            ("thread (9)", Role::PySpyThread),
            ("sh-20", Role::Perf),
            ("a-b-20/21", Role::Perf),
            ("sh-?/21", Role::Perf),
            ("kworker/0:1-20/20", Role::Perf),
            ("kworker/0:1-20", Role::Perf),
            ("kworker/0:1", Role::Other),
            ("-20", Role::Other),
            ("sh-20/x", Role::Other),
            ("sh", Role::Other),
        ] {
            assert_eq!(role(name.as_bytes()), expected, "{name}");
        }
    }
}
