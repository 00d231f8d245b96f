//! Notes for the user on a plan that is not the best, and on what happened while it was followed.

use crate::record::request::CallGraph;

/// A note for the user on a plan that is not the best.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Note {
    /// No note.
    Nothing,
    /// Processor time by the clock, for want of counters; of interest to few.
    Clock,
    /// `perf_event_paranoid` keeps us out of the kernel.
    UserOnly(i64),
    /// The rate wanted, and the kernel's highest.
    Rate(u64, u64),
    /// Threads that start later are not seen.
    NoLaterThreads,
    /// This number of threads waited, and could not be woken to tell their stacks.
    Asleep(usize),
    /// These processes, which the target has started, run on after its end.
    RunsOn(Vec<u32>),
    /// This number of records of processes and mappings was lost.
    LostRecords(u64),
    /// There is no /proc.
    NoProc,
    /// The file is as large as was wanted, after this time.
    MaxSize(std::time::Duration),
    /// A line of the FIFO of `--control` that is no command.
    UnknownCommand(String),
    /// Fewer bytes of each stack are copied than by default, since samples come this often.
    DumpForRate {
        /// The number of bytes.
        size: u32,
        /// The samples of a second.
        rate: u64,
    },
    /// Fewer bytes of each stack are copied than by default, since the rings are small.
    DumpForRing {
        /// The number of bytes.
        size: u32,
        /// The size of each ring.
        ring: usize,
        /// The size that rings would need.
        enough: usize,
    },
}

impl std::fmt::Display for Note {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Note::Nothing => Ok(()),
            Note::Clock => write!(f, "no cycles are counted here: sampling by cpu-clock"),
            Note::UserOnly(paranoid) => write!(
                f,
                "kernel frames left out (kernel.perf_event_paranoid is {paranoid}); \
                 `sudo sysctl kernel.perf_event_paranoid=1` includes them"
            ),
            Note::Rate(wanted, most) => {
                write!(f, "{most} samples a second instead of {wanted} (kernel.perf_event_max_sample_rate)")
            }
            Note::NoLaterThreads => {
                write!(
                    f,
                    "this kernel cannot leave out children alone: threads started later are left out too"
                )
            }
            Note::Asleep(count) => write!(
                f,
                "the stacks of {count} threads that waited at the beginning are [lost]: waking them is forbidden \
                 (`sudo sysctl kernel.yama.ptrace_scope=0` allows it), or they were stopped"
            ),
            Note::RunsOn(pids) => {
                let pids: Vec<String> = pids.iter().map(u32::to_string).collect();
                let run = if pids.len() == 1 { "it has started runs" } else { "it has started run" };
                let all = pids.join(",");
                write!(f, "the recording ended with the program; what {run} on: -p {all} records it")
            }
            Note::LostRecords(count) => write!(
                f,
                "{count} records of what processes do were lost, as they came too fast: code that they have mapped \
                 meanwhile may be [unknown]"
            ),
            Note::NoProc => write!(
                f,
                "/proc is not mounted: names of the kernel's functions and of what ran before are missing; `mount -t \
                 proc proc /proc` mounts it"
            ),
            Note::MaxSize(elapsed) => {
                write!(
                    f,
                    "the recording ended after {:.1} s, as large as --max-size allows",
                    elapsed.as_secs_f64()
                )
            }
            Note::UnknownCommand(line) => write!(
                f,
                "--control: {:?} is no command; there are enable, disable, ping, snapshot and stop",
                line.chars().take(40).collect::<String>()
            ),
            Note::DumpForRate { size, rate } => write!(
                f,
                "{size} bytes of each stack are recorded instead of {}, for {rate} samples a second; a lower -F \
                 records more of each",
                CallGraph::DUMP
            ),
            Note::DumpForRing { size, ring, enough } => write!(
                f,
                "{size} bytes of each stack are recorded instead of {}, for {} kB of memory are allowed to each \
                 processor's samples; `sudo sysctl kernel.perf_event_mlock_kb={}` allows enough",
                CallGraph::DUMP,
                ring / 1024,
                enough / 1024 + 4
            ),
        }
    }
}
