//! Messages for a system that refuses to record: one plain line, with the command that fixes it.
//!
//! The message depends on the action that failed and on [`super::system::Permissions`]. Where another
//! way is open, [`super::sampler`] takes that first.

use std::fmt;

/// The reason why nothing could be recorded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// Ordinary users may not record at all: `perf_event_paranoid` is 3 or more.
    Paranoid(i64),
    /// Ordinary users may not record the whole machine: `perf_event_paranoid` is 1 or more.
    Machine(i64),
    /// Ordinary users may not see the kernel, where threads leave the processor: `perf_event_paranoid` is 2 or more.
    OffCpu(i64),
    /// Ordinary users may not see the kernel, which this event samples: `perf_event_paranoid` is 2 or more.
    KernelEvent {
        /// The event.
        name: String,
        /// `kernel.perf_event_paranoid`.
        paranoid: i64,
    },
    /// A filter of system calls, as in containers.
    Seccomp,
    /// Recording is not allowed, although the numbers in `/proc` allow it.
    Forbidden {
        /// Within a container.
        container: bool,
    },
    /// A kernel without perf events.
    NoPerfEvents {
        /// The kernel is that of the first Windows Subsystem for Linux.
        wsl1: bool,
    },
    /// The machine does not have this event.
    NoEvent {
        /// The event.
        name: String,
        /// The events that it has, as far as they were tried.
        has: Vec<String>,
    },
    /// The machine does not say precisely where this event happens.
    NotPrecise(String),
    /// Probes in programs and in the kernel are root's.
    Probe(String),
    /// A tracepoint's condition that the kernel does not understand.
    Filter {
        /// The tracepoint.
        event: String,
        /// The condition.
        filter: String,
        /// The fields that the tracepoint has.
        fields: Vec<String>,
    },
    /// Processors that are not online, and those that are.
    NoProcessor {
        /// The first that is not.
        number: u32,
        /// Those that are.
        online: Vec<u32>,
    },
    /// A process that may not be looked at.
    Attach {
        /// The process.
        pid: u32,
        /// It is another user's, and this one is not root.
        is_foreign: bool,
        /// `kernel.yama.ptrace_scope`, where there is one.
        ptrace_scope: Option<i64>,
        /// Within a container.
        container: bool,
    },
    /// There is no such process.
    NoProcess(u32),
    /// There is no such thread.
    NoThread(u32),
    /// There was too little memory to lock even for the smallest ring.
    LockedMemory {
        /// `kernel.perf_event_mlock_kb`.
        mlock_kb: Option<i64>,
        /// `ulimit -l`, in bytes.
        limit: u64,
    },
    /// Too many threads and processors for one process's files.
    OpenFiles(u64),
    /// A rate above the kernel's, which is not known.
    Rate(u64),
    /// `--call-graph dwarf` on a processor whose registers are not known here.
    NoRegisters,
    /// Anything else, in the system's words.
    Other {
        /// The action that failed.
        doing: &'static str,
        /// The message of the system.
        said: String,
    },
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refusal::Paranoid(value) => {
                // Ubuntu's kernels, which are the ones with 4, want more than this capability there.
                let alone = if *value > 3 { "" } else { " `sudo setcap cap_perfmon=ep` this program alone," };
                write!(
                    f,
                    "recording is kept from ordinary users (kernel.perf_event_paranoid is {value}); \
                     `sudo sysctl kernel.perf_event_paranoid=2` allows it until the next start, a file in \
                     /etc/sysctl.d for good,{alone} `fg-record --root` once"
                )
            }
            Refusal::Machine(value) => write!(
                f,
                "the whole machine is kept from ordinary users (kernel.perf_event_paranoid is {value}); \
                 use `fg-record --root`, or `sudo sysctl kernel.perf_event_paranoid=0`"
            ),
            Refusal::OffCpu(value) => write!(
                f,
                "--off-cpu and --wall need to see the kernel (kernel.perf_event_paranoid is {value}); \
                 use `fg-record --root`, or `sudo sysctl kernel.perf_event_paranoid=1`"
            ),
            Refusal::KernelEvent { name, paranoid } => write!(
                f,
                "{name} samples the kernel, which is kept from ordinary users (kernel.perf_event_paranoid is \
                 {paranoid}); use `fg-record --root`, or `sudo sysctl kernel.perf_event_paranoid=1`"
            ),
            Refusal::Seccomp => write!(
                f,
                "perf_event_open is filtered out, as containers do; start the container with \
                 --cap-add PERFMON, or with a seccomp profile that allows perf_event_open"
            ),
            Refusal::Forbidden { container: true } => {
                write!(f, "recording is not allowed in this container; start it with --cap-add PERFMON")
            }
            Refusal::Forbidden { container: false } => write!(
                f,
                "a security policy of this machine forbids recording (SELinux, AppArmor, lockdown); \
                 try `fg-record --root`"
            ),
            Refusal::NoPerfEvents { wsl1: true } => write!(
                f,
                "WSL 1 has no perf events; `wsl --set-version DISTRIBUTION 2` in Windows turns it into WSL 2"
            ),
            Refusal::NoPerfEvents { wsl1: false } => write!(
                f,
                "this kernel has no perf events (CONFIG_PERF_EVENTS), or hides them; \
                 py-spy and austin record Python without them, and fg-collapse reads what they write"
            ),
            Refusal::NoEvent { name, has } => {
                write!(f, "this machine does not count {name}; ")?;
                match has.is_empty() {
                    true => write!(
                        f,
                        "virtual machines seldom count more than cpu-clock: use -e cpu-clock, or no -e"
                    ),
                    false => write!(f, "it counts {}", has.join(", ")),
                }
            }
            Refusal::NotPrecise(name) => write!(
                f,
                "this machine does not tell precisely where {name} happens; {}:P is as precise as it can be",
                name.split(':').next().unwrap_or(name)
            ),
            Refusal::Probe(name) => {
                write!(f, "probes are kept from ordinary users: use `fg-record --root` for {name}")
            }
            Refusal::Filter { event, filter, fields } => {
                write!(f, "{event} does not take the filter {filter:?}")?;
                if !fields.is_empty() {
                    write!(f, "; it has the fields {}", fields.join(", "))?;
                }
                write!(f, "; a filter is a condition such as `prev_pid == 1 && prev_prio < 100`")
            }
            Refusal::NoProcessor { number, online } => {
                let online: Vec<String> = online.iter().map(u32::to_string).collect();
                write!(f, "there is no processor {number} online; there are {}", online.join(", "))
            }
            Refusal::Attach { pid, is_foreign, ptrace_scope, container } => {
                write!(f, "process {pid} may not be looked at")?;
                match (ptrace_scope, container) {
                    _ if *is_foreign => write!(
                        f,
                        "; it is another user's: use `fg-record --root`, or run fg-record as that user"
                    ),
                    (_, true) => {
                        write!(f, "; in a container that takes --cap-add SYS_PTRACE, and the same user")
                    }
                    (Some(scope @ 1..), _) => write!(
                        f,
                        " (kernel.yama.ptrace_scope is {scope}); start it with fg-record, use `fg-record --root`, or \
                         `sudo sysctl kernel.yama.ptrace_scope=0`"
                    ),
                    _ => write!(f, "; it is another user's: use `fg-record --root`"),
                }
            }
            Refusal::NoProcess(pid) => write!(f, "there is no process {pid}; -p NAME finds one by its name"),
            Refusal::NoThread(tid) => {
                write!(f, "there is no thread {tid}; `ps -L -p PID` lists those of a process")
            }
            Refusal::LockedMemory { mlock_kb, limit } => write!(
                f,
                "no memory for the samples may be locked (kernel.perf_event_mlock_kb is {}, `ulimit -l` is {}); \
                 `sudo sysctl kernel.perf_event_mlock_kb=2052` allows more, or end other recordings",
                mlock_kb.map_or("unknown".to_owned(), |kb| kb.to_string()),
                match *limit {
                    u64::MAX => "unlimited".to_owned(),
                    bytes => format!("{} kB", bytes / 1024),
                }
            ),
            Refusal::OpenFiles(limit) => write!(
                f,
                "{limit} open files are too few for the threads and processors that are recorded (`ulimit -n`); \
                 `sudo prlimit --pid $$ --nofile={}` lets this shell have more, or record fewer processes",
                limit.saturating_mul(8)
            ),
            Refusal::Rate(rate) => write!(
                f,
                "{rate} samples a second are more than kernel.perf_event_max_sample_rate allows; lower -F"
            ),
            Refusal::NoRegisters => {
                write!(f, "stack dumps of this processor are not understood; use --call-graph fp")
            }
            Refusal::Other { doing, said } => write!(f, "cannot {doing}: {said}"),
        }
    }
}

impl std::error::Error for Refusal {}
