//! The parameters of the events, and the next ones to try when the system refuses.
//!
//! A [`Plan`] is tried as it is; [`Plan::after`] makes of a refusal the next plan, or the one line
//! to end with. It asks the system nothing, so that every row of the table is tested anywhere.

use std::io;

use super::event::{Event, Mode};
use crate::record::program::message;
use crate::record::refusal::Refusal;
use crate::record::request::{CallGraph, Delay, Rate, Request, Target};
use crate::record::sys::clock;
use crate::record::sys::perf_event::{ATTR_SIZE, Attr, flag, sample};
use crate::record::system::Permissions;

/// The parameters with which events are opened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// The events, one at least. The first one, which may make no samples, comes with the records of
    /// processes and mappings.
    pub events: Vec<Event>,
    /// True if another event may take the place of the one that was not asked for.
    pub may_replace_event: bool,
    /// Samples in the kernel too.
    pub kernel: bool,
    /// The rate.
    pub rate: Rate,
    /// The way in which stacks are found.
    pub call_graph: CallGraph,
    /// The children that are followed.
    pub inherit: Inherit,
    /// Records all processes on all processors.
    pub machine: bool,
    /// Records where threads wait.
    pub off_cpu: bool,
    /// Begin when the waiting child becomes its program.
    pub on_exec: bool,
    /// Sampling begins when it is told to.
    pub is_paused: bool,
    /// Records threads that were named, and none that they start.
    pub threads: bool,
    /// The most of each stack to be copied, and less where that does not fit; `None` for a size that was asked
    /// for.
    pub largest_dump: Option<u32>,
    /// Let the kernel note build ids with mappings: since Linux 5.12.
    pub build_ids: bool,
    /// The size of each ring, a power of two.
    pub ring: usize,
}

/// The threads and processes that are followed besides those of the beginning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Inherit {
    /// Later threads and processes.
    All,
    /// Later threads: since Linux 5.13.
    Threads,
    /// Nothing.
    Nothing,
}

/// The action that the system refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Doing {
    /// Opening an event for the target.
    Open,
    /// Opening an event for a running process.
    Attach(u32),
    /// Opening an event for a running thread.
    AttachThread(u32),
    /// Setting the condition of a tracepoint.
    Filter,
    /// Mapping a ring.
    Map,
}

/// The smallest ring worth having: half of it is one processor's dumps of a few milliseconds.
const SMALLEST_RING: usize = 32 * 1024;

/// The most memory that the rings of all processors take together.
const ALL_RINGS: usize = 512 << 20;

/// The sizes of dumps that are taken without being asked for, and the smallest of them.
const DUMPS: [u32; 4] = [CallGraph::LIVE_DUMP, CallGraph::DUMP, 16 * 1024, SMALLEST_DUMP];
const SMALLEST_DUMP: u32 = 8 * 1024;

/// The number of samples that a ring has to hold at least, at any rate.
const FEWEST_SAMPLES: u64 = 8;

/// The time for which a ring has to hold samples, in milliseconds. With 512 kB, the most that an
/// ordinary user gets, 997 samples a second of 32 kB (15 ms) lost nothing on a machine with twice as
/// many busy threads as processors, and nor did 4000 of 16 kB; 9999 of 32 kB lost a tenth.
const HELD_MILLIS: u64 = 12;

/// The bytes a second that one processor's samples may amount to: 164 MB/s lost nothing on two
/// processors with the largest ring, 328 MB/s lost a sixth.
const BYTES_PER_SECOND: u64 = 160 << 20;

impl Plan {
    /// The best plan for a request.
    ///
    /// # Errors
    /// [`Refusal::NoRegisters`].
    pub fn new(request: &Request, events: Vec<Event>, processors: usize) -> Result<Plan, Refusal> {
        if matches!(request.call_graph, CallGraph::Dwarf(_)) && USER_REGISTERS.is_none() {
            return Err(Refusal::NoRegisters);
        }
        let may_replace_event = events.is_empty() && !request.off_cpu;
        let mut events = match events {
            _ if request.off_cpu => vec![Event::context_switches()],
            events if events.is_empty() => vec![Event::cycles()],
            events => events,
        };
        let rate = match request.rate {
            _ if request.off_cpu => Rate::EveryEvents(1),
            Rate::PerSecond(_) if events.iter().all(Event::is_counted_singly) => Rate::EveryEvents(1),
            rate => rate,
        };
        let kernel = events.iter().any(|event| event.only != Some(Mode::User));
        if request.pauses.are_possible() {
            // Mappings are noted in a pause, too: only events that are enabled note them.
            events.insert(0, Event::tracking());
        }
        let threads = matches!(request.target, Target::Threads(_));
        let mut plan = Plan {
            kernel,
            events,
            may_replace_event,
            rate,
            call_graph: request.call_graph,
            inherit: match request.children {
                _ if threads => Inherit::Nothing,
                true => Inherit::All,
                false => Inherit::Threads,
            },
            machine: matches!(request.target, Target::Machine(_)),
            off_cpu: request.off_cpu,
            on_exec: matches!(request.target, Target::Command(_) | Target::Waiting(_)),
            is_paused: request.pauses.delay != Delay::None,
            threads,
            largest_dump: match request.call_graph {
                CallGraph::Dwarf(size @ (CallGraph::DUMP | CallGraph::LIVE_DUMP)) => Some(size),
                _ => None,
            },
            build_ids: true,
            ring: ring_size(rate, request.call_graph, processors),
        };
        plan.choose_dump();
        Ok(plan)
    }

    /// Chooses the size of the dumps, if none was asked for: the largest of which the ring holds enough.
    fn choose_dump(&mut self) {
        let Some(largest) = self.largest_dump else { return };
        let mut sizes = DUMPS.into_iter().filter(|size| *size <= largest);
        let size = sizes.find(|&size| !self.is_too_fast(size) && self.ring >= self.ring_for(size));
        self.call_graph = CallGraph::Dwarf(size.unwrap_or(SMALLEST_DUMP));
    }

    /// The samples of a second; where that is not known it is low, as few threads wait more often.
    fn samples_a_second(&self) -> u64 {
        match self.rate {
            Rate::PerSecond(rate) => rate,
            Rate::EveryEvents(_) => Rate::USUAL,
        }
    }

    /// Returns true if dumps of this size are more than can be written.
    fn is_too_fast(&self, dump: u32) -> bool {
        self.samples_a_second().saturating_mul(dump.into()) > BYTES_PER_SECOND
    }

    /// The smallest ring for dumps of this size.
    fn ring_for(&self, dump: u32) -> usize {
        let samples = (self.samples_a_second().saturating_mul(HELD_MILLIS) / 1000).max(FEWEST_SAMPLES);
        usize::try_from(samples).unwrap_or(usize::MAX).saturating_mul(sample_size(dump))
    }

    /// A note if less of each stack is copied than by default.
    pub fn dump_note(&self) -> Option<Note> {
        let CallGraph::Dwarf(size) = self.call_graph else { return None };
        if self.largest_dump.is_none() || size >= CallGraph::DUMP {
            return None;
        }
        Some(match self.rate {
            Rate::PerSecond(rate) if self.is_too_fast(CallGraph::DUMP) => Note::DumpForRate { size, rate },
            _ => Note::DumpForRing {
                size,
                ring: self.ring,
                enough: self.ring_for(CallGraph::DUMP).saturating_add(1).next_power_of_two(),
            },
        })
    }

    /// The events that make samples.
    pub fn sampled(&self) -> impl Iterator<Item = &Event> {
        self.events.iter().filter(|event| !event.is_tracking())
    }

    /// The names of the events that make samples.
    pub fn event_names(&self) -> String {
        self.sampled().map(|event| &*event.name).collect::<Vec<_>>().join(", ")
    }

    /// The rate of an event: of some, each is worth a sample, unless a number was asked for.
    fn rate_of(&self, event: &Event) -> Rate {
        match self.rate {
            _ if event.is_tracking() => Rate::EveryEvents(1),
            Rate::PerSecond(_) if event.is_counted_singly() => Rate::EveryEvents(1),
            rate => rate,
        }
    }

    /// The first event as the kernel wants it.
    pub fn attr(&self) -> Attr {
        self.attr_of(0)
    }

    /// The event of this number as the kernel wants it.
    pub fn attr_of(&self, number: usize) -> Attr {
        let event = &self.events[number];
        let rate = self.rate_of(event);
        let mut flags = flag::DISABLED
            | flag::EXCLUDE_HV
            | flag::WATERMARK
            | flag::SAMPLE_ID_ALL
            | flag::USE_CLOCKID
            | u64::from(event.precise) << flag::PRECISE;
        let mut set = |bit: u64, condition: bool| {
            if condition {
                flags |= bit;
            }
        };
        let dwarf = match self.call_graph {
            CallGraph::Dwarf(size) => Some(size),
            _ => None,
        };
        set(flag::INHERIT, !self.machine && self.inherit != Inherit::Nothing);
        set(flag::INHERIT_THREAD, !self.machine && self.inherit == Inherit::Threads);
        set(flag::EXCLUDE_KERNEL, !self.kernel || event.only == Some(Mode::User));
        set(flag::EXCLUDE_USER, event.only == Some(Mode::Kernel));
        set(flag::EXCLUDE_GUEST, event.is_of_processor());
        set(flag::ENABLE_ON_EXEC, self.on_exec && (!self.is_paused || event.is_tracking()));
        set(flag::EXCLUDE_CALLCHAIN_USER, dwarf.is_some());
        set(flag::FREQ, matches!(rate, Rate::PerSecond(_)));
        if number == 0 {
            // Each record is wanted once.
            set(flag::MMAP | flag::COMM | flag::TASK | flag::MMAP2 | flag::COMM_EXEC, true);
            // Unwind tables and constants may lie in mappings that are not executable.
            set(flag::MMAP_DATA, dwarf.is_some());
            set(flag::CONTEXT_SWITCH, self.off_cpu);
            set(flag::BUILD_ID, self.build_ids);
        }
        let mut sample_type = SAMPLE_TYPE;
        if self.call_graph != CallGraph::None {
            sample_type |= sample::CALLCHAIN;
        }
        if dwarf.is_some() {
            sample_type |= sample::REGS_USER | sample::STACK_USER;
        }
        Attr {
            kind: event.kind,
            size: ATTR_SIZE,
            config: event.config[0],
            config1: event.config[1],
            config2: event.config[2],
            period_or_rate: match rate {
                Rate::PerSecond(n) | Rate::EveryEvents(n) => n,
            },
            sample_type,
            flags,
            wakeup: u32::try_from(self.ring / 4).unwrap_or(u32::MAX),
            sample_regs_user: dwarf.and(USER_REGISTERS).unwrap_or(0),
            sample_stack_user: dwarf.unwrap_or(0),
            // We can read it too: it tells the date of a sample, and the end of the recording.
            clock: clock::MONOTONIC,
            ..Attr::default()
        }
    }

    /// The plan to try after the event of this number was refused, and a note for the user.
    ///
    /// # Errors
    /// When there is nothing left to try.
    pub fn after(
        &self,
        doing: Doing,
        number: usize,
        error: &io::Error,
        facts: &Permissions,
    ) -> Result<(Plan, Note), Refusal> {
        let next = |change: &dyn Fn(&mut Plan), note: Note| {
            let mut plan = self.clone();
            change(&mut plan);
            Ok((plan, note))
        };
        let code = error.raw_os_error().unwrap_or(0);
        let event = &self.events[number];
        match (doing, code) {
            (Doing::Filter, _) => Err(Refusal::Filter {
                event: event.name.clone(),
                filter: event.filter.clone().unwrap_or_default(),
                fields: Vec::new(),
            }),
            (Doing::Map, libc::EPERM | libc::ENOMEM) if self.ring > SMALLEST_RING => {
                let halve = |plan: &mut Plan| {
                    plan.ring /= 2;
                    plan.choose_dump();
                };
                next(&halve, Note::Nothing)
            }
            (Doing::Map, libc::EPERM | libc::ENOMEM) => {
                Err(Refusal::LockedMemory { mlock_kb: facts.mlock_kb, limit: facts.locked_memory })
            }
            (Doing::Map, _) => {
                Err(Refusal::Other { doing: "map memory for the samples", said: message(error) })
            }
            (_, libc::ENOENT | libc::EOPNOTSUPP | libc::ENODEV) if self.may_replace_event => next(
                &|plan| {
                    plan.events[number] = Event::cpu_clock();
                    plan.may_replace_event = false;
                },
                Note::Clock,
            ),
            (_, libc::ENOENT | libc::EOPNOTSUPP | libc::ENODEV)
                if event.precise > 0 && event.may_be_less_precise =>
            {
                next(&|plan| plan.events[number].precise -= 1, Note::Nothing)
            }
            (_, libc::EOPNOTSUPP) if event.precise > 0 => Err(Refusal::NotPrecise(event.name.clone())),
            (_, libc::ENOENT | libc::EOPNOTSUPP | libc::ENODEV) => {
                Err(Refusal::NoEvent { name: event.name.clone(), has: Vec::new() })
            }
            (_, libc::EPERM | libc::ENOSYS) if facts.seccomp => Err(Refusal::Seccomp),
            (_, libc::ENOSYS) => Err(Refusal::NoPerfEvents { wsl1: facts.wsl1 }),
            (_, libc::EMFILE) => Err(Refusal::OpenFiles(crate::record::sys::limits::lift_open_files())),
            (Doing::Attach(pid), libc::ESRCH) => Err(Refusal::NoProcess(pid)),
            (Doing::AttachThread(tid), libc::ESRCH) => Err(Refusal::NoThread(tid)),
            (_, libc::EACCES | libc::EPERM) if event.probed.is_some() && !facts.privileged => {
                Err(Refusal::Probe(event.name.clone()))
            }
            (_, libc::EACCES | libc::EPERM) => self.after_no_rights(doing, facts),
            (_, libc::EINVAL) => self.after_invalid(event, facts),
            _ => Err(Refusal::Other { doing: "open an event", said: message(error) }),
        }
    }

    fn after_no_rights(&self, doing: Doing, facts: &Permissions) -> Result<(Plan, Note), Refusal> {
        let paranoid = facts.paranoid.unwrap_or(2);
        if self.machine && paranoid >= 1 && !facts.privileged {
            return Err(Refusal::Machine(paranoid));
        }
        if self.off_cpu && paranoid >= 2 && !facts.privileged {
            return Err(Refusal::OffCpu(paranoid));
        }
        // The kernel's part is refused before the process is looked at.
        let needs_kernel = self.events.iter().any(|event| event.only == Some(Mode::Kernel));
        if self.kernel && !needs_kernel && !self.machine {
            let note = if facts.privileged { Note::Nothing } else { Note::UserOnly(paranoid) };
            return Ok((Plan { kernel: false, ..self.clone() }, note));
        }
        match doing {
            _ if paranoid >= 3 && !facts.privileged => Err(Refusal::Paranoid(paranoid)),
            Doing::Attach(pid) | Doing::AttachThread(pid) => {
                let Permissions { ptrace_scope, container, .. } = *facts;
                Err(Refusal::Attach { pid, ptrace_scope, container })
            }
            _ => Err(Refusal::Forbidden { container: facts.container }),
        }
    }

    fn after_invalid(&self, event: &Event, facts: &Permissions) -> Result<(Plan, Note), Refusal> {
        if let (Rate::PerSecond(rate), Some(Ok(most))) = (self.rate, facts.max_rate.map(u64::try_from))
            && rate > most
        {
            let mut plan = Plan { rate: Rate::PerSecond(most), ..self.clone() };
            plan.choose_dump();
            return Ok((plan, Note::Rate(rate, most)));
        }
        if self.build_ids {
            return Ok((Plan { build_ids: false, ..self.clone() }, Note::Nothing));
        }
        if self.inherit == Inherit::Threads {
            return Ok((Plan { inherit: Inherit::Nothing, ..self.clone() }, Note::NoLaterThreads));
        }
        match self.rate {
            Rate::PerSecond(rate) if facts.max_rate.is_none() => Err(Refusal::Rate(rate)),
            _ => Err(Refusal::Other {
                doing: "open an event",
                said: format!(
                    "this kernel does not take {} with --call-graph {}",
                    event.name, self.call_graph
                ),
            }),
        }
    }
}

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

/// The fields that every sample holds. [`super::data_file`] relies on their order.
pub const SAMPLE_TYPE: u64 =
    sample::IDENTIFIER | sample::IP | sample::TID | sample::TIME | sample::CPU | sample::PERIOD;

/// The registers that unwinding needs, as `asm/perf_regs.h` numbers them.
#[cfg(target_arch = "x86_64")]
const USER_REGISTERS: Option<u64> = Some(0xff_0fff);
#[cfg(target_arch = "aarch64")]
const USER_REGISTERS: Option<u64> = Some(0x1_ffff_ffff);
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
const USER_REGISTERS: Option<u64> = None;

/// The bytes of a sample with a dump of this size.
fn sample_size(dump: u32) -> usize {
    dump as usize + 512
}

/// A second of one processor's samples, within reason.
fn ring_size(rate: Rate, call_graph: CallGraph, processors: usize) -> usize {
    let sample = match call_graph {
        CallGraph::Dwarf(size) => sample_size(size),
        CallGraph::FramePointers => 512,
        CallGraph::None => 64,
    };
    let rate = match rate {
        Rate::PerSecond(rate) => usize::try_from(rate).unwrap_or(usize::MAX),
        // The rate is unknown: the size for a high one.
        Rate::EveryEvents(_) => 10_000,
    };
    let most = (ALL_RINGS / processors.max(1)).clamp(1 << 20, 16 << 20);
    sample.saturating_mul(rate).clamp(512 * 1024, most).next_power_of_two()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::request::Pauses;

    fn request() -> Request {
        let call_graph = CallGraph::FramePointers;
        Request { call_graph, ..Request::new(Target::Processes(vec![7])) }
    }

    fn refused(plan: &Plan, doing: Doing, code: i32, facts: &Permissions) -> Result<(Plan, Note), Refusal> {
        plan.after(doing, 0, &io::Error::from_raw_os_error(code), facts)
    }

    #[test]
    fn dumps_are_of_32_kb_as_far_as_the_ring_and_the_rate_allow() {
        let request = |rate, dump| Request {
            rate: Rate::PerSecond(rate),
            call_graph: CallGraph::Dwarf(dump),
            ..request()
        };
        let facts = Permissions::default();
        let with_ring = |rate, dump, ring| {
            let mut plan = Plan::new(&request(rate, dump), Vec::new(), 2).unwrap();
            while plan.ring > ring {
                plan = refused(&plan, Doing::Map, libc::EPERM, &facts).unwrap().0;
            }
            assert_eq!(plan.call_graph, CallGraph::Dwarf(plan.attr().sample_stack_user));
            (plan.attr().sample_stack_user, plan.dump_note().map(|note| note.to_string()))
        };
        let usual = |ring| with_ring(997, CallGraph::DUMP, ring);
        assert_eq!(usual(16 << 20), (32768, None));
        let live = |rate, ring| with_ring(rate, CallGraph::LIVE_DUMP, ring);
        assert_eq!(live(997, 16 << 20), (65520, None));
        assert_eq!(live(997, 512 << 10), (32768, None), "enough for most, and no reason to say anything");
        assert_eq!(live(4999, 16 << 20), (32768, None));
        // `kernel.perf_event_mlock_kb` is 516 by default.
        assert_eq!(usual(512 << 10), (32768, None));
        let (size, note) = usual(256 << 10);
        assert_eq!(size, 16384);
        assert_eq!(
            note.unwrap(),
            "16384 bytes of each stack are recorded instead of 32768, for 256 kB of memory are allowed to each \
             processor's samples; `sudo sysctl kernel.perf_event_mlock_kb=516` allows enough"
        );
        assert_eq!(usual(64 << 10).0, 8192);
        let (size, note) = with_ring(9999, CallGraph::DUMP, 16 << 20);
        assert_eq!(size, 16384);
        assert_eq!(
            note.unwrap(),
            "16384 bytes of each stack are recorded instead of 32768, for 9999 samples a second; a lower -F \
             records more of each"
        );
        assert_eq!(with_ring(9999, 65528, 64 << 10), (65528, None), "as it was asked for");
        assert_eq!(with_ring(997, 512, 64 << 10), (512, None));
    }

    #[test]
    fn several_events_share_the_records_of_processes() {
        let event = |name: &str| Event::parse(name).unwrap();
        let with = |events: &[&str], request: Request| {
            Plan::new(&request, events.iter().map(|name| event(name)).collect(), 2).unwrap()
        };
        let plan = with(&["cpu-clock:u", "page-faults"], request());
        assert_eq!(plan.event_names(), "cpu-clock:u, page-faults");
        assert!(plan.kernel);
        let (first, second) = (plan.attr_of(0), plan.attr_of(1));
        let shared = flag::MMAP | flag::MMAP2 | flag::COMM | flag::TASK;
        assert_eq!((first.flags & shared, second.flags & shared), (shared, 0));
        let excluded = |attr: Attr| attr.flags & flag::EXCLUDE_KERNEL != 0;
        assert!(excluded(first) && !excluded(second));
        assert_eq!(first.sample_type, second.sample_type, "one layout for all");
        assert_eq!(event("cycles:pp").precise, 2);
        let pauses = Pauses { delay: Delay::UntilTold, control: None };
        let plan = with(&["cpu-clock"], Request { pauses, ..request() });
        let attrs = [plan.attr_of(0), plan.attr_of(1)];
        assert!(plan.events[0].is_tracking() && plan.event_names() == "cpu-clock");
        assert_eq!((attrs[0].flags & shared, attrs[1].flags & shared), (shared, 0));
        let command = Request { target: Target::Waiting(7), ..request() };
        let paused = Pauses { delay: Delay::UntilTold, control: None };
        let plan = with(&["cpu-clock"], Request { pauses: paused, ..command });
        let on_exec = |number| plan.attr_of(number).flags & flag::ENABLE_ON_EXEC != 0;
        assert!(on_exec(0) && !on_exec(1), "sampling begins later");
    }

    #[test]
    fn each_event_has_its_own_rate() {
        let point = Event { kind: super::super::event::TRACEPOINT, ..Event::default() };
        let rate = |rate, number: usize| {
            let events = vec![Event::cpu_clock(), point.clone()];
            let plan = Plan::new(&Request { rate, ..request() }, events, 2).unwrap();
            let attr = plan.attr_of(number);
            (attr.period_or_rate, attr.flags & flag::FREQ != 0)
        };
        assert_eq!(rate(Rate::PerSecond(99), 0), (99, true));
        assert_eq!(rate(Rate::PerSecond(99), 1), (1, false), "each is worth a sample");
        assert_eq!(rate(Rate::EveryEvents(7), 1), (7, false), "unless a number was asked for");
    }

    #[test]
    fn precision_is_lowered_where_that_was_allowed() {
        let facts = Permissions::default();
        let plan = |name: &str| Plan::new(&request(), vec![Event::parse(name).unwrap()], 2).unwrap();
        let (next, note) = refused(&plan("cycles:P"), Doing::Open, libc::EOPNOTSUPP, &facts).unwrap();
        assert_eq!((next.events[0].precise, note), (2, Note::Nothing));
        let said = refused(&plan("cycles:pp"), Doing::Open, libc::EOPNOTSUPP, &facts).unwrap_err();
        assert!(said.to_string().contains("cycles:P"), "{said}");
    }

    #[test]
    fn refused_parts_of_a_plan_are_left_out() {
        let plan = Plan::new(&request(), Vec::new(), 2).unwrap();
        let facts = Permissions { paranoid: Some(2), max_rate: Some(500), ..Permissions::default() };
        let open = Doing::Open;
        let (next, note) = refused(&plan, open, libc::ENOENT, &facts).unwrap();
        assert_eq!((next.events, note), (vec![Event::cpu_clock()], Note::Clock));
        let (next, note) = refused(&plan, open, libc::EACCES, &facts).unwrap();
        assert_eq!((next.kernel, note), (false, Note::UserOnly(2)));
        let (next, note) = refused(&plan, open, libc::EINVAL, &facts).unwrap();
        assert_eq!((next.rate, note), (Rate::PerSecond(500), Note::Rate(997, 500)));
        let (next, _) = refused(&next, open, libc::EINVAL, &facts).unwrap();
        assert!(!next.build_ids);
        let (next, note) = refused(&plan, Doing::Map, libc::EPERM, &facts).unwrap();
        assert_eq!((next.ring, note), (plan.ring / 2, Note::Nothing));
        // It ends: each refusal takes something away.
        for code in [libc::EPERM, libc::EINVAL, libc::ENOENT] {
            let mut plan = plan.clone();
            let tries = (0..50).take_while(|_| match refused(&plan, open, code, &facts) {
                Ok((next, _)) => {
                    plan = next;
                    true
                }
                Err(_) => false,
            });
            assert!(tries.count() < 10, "{code}");
        }
    }

    #[test]
    fn each_refusal_says_what_to_do() {
        let plan = Plan::new(&request(), Vec::new(), 2).unwrap();
        let last =
            Plan { kernel: false, may_replace_event: false, build_ids: false, ring: SMALLEST_RING, ..plan };
        let machine = Plan { machine: true, ..last.clone() };
        let probed = Event { probed: Some(c"/bin/true".into()), ..Event::default() };
        let probe = Plan { events: vec![probed], ..last.clone() };
        let facts = |paranoid| Permissions { paranoid: Some(paranoid), ..Permissions::default() };
        let (open, attach) = (Doing::Open, Doing::Attach(7));
        for (plan, doing, code, facts, said) in [
            (&last, open, libc::EACCES, facts(3), "sudo sysctl kernel.perf_event_paranoid=2"),
            (&last, open, libc::EACCES, facts(3), "setcap cap_perfmon=ep"),
            (&machine, open, libc::EACCES, facts(2), "sudo sysctl kernel.perf_event_paranoid=0"),
            (&last, open, libc::EPERM, Permissions { seccomp: true, ..facts(2) }, "--cap-add PERFMON"),
            (&last, open, libc::ENOSYS, Permissions { seccomp: true, ..facts(2) }, "is filtered out"),
            (&last, open, libc::EPERM, Permissions { container: true, ..facts(2) }, "--cap-add PERFMON"),
            (&last, open, libc::EPERM, facts(2), "SELinux"),
            (&last, open, libc::ENOENT, facts(2), "use -e cpu-clock"),
            (&last, open, libc::ENOSYS, Permissions { wsl1: true, ..facts(2) }, "wsl --set-version"),
            (&last, open, libc::ENOSYS, facts(2), "no perf events"),
            (&last, open, libc::EMFILE, facts(2), "prlimit --pid"),
            (&last, Doing::Map, libc::EPERM, facts(2), "kernel.perf_event_mlock_kb"),
            (&last, Doing::Map, libc::EPERM, facts(2), "ulimit -l"),
            (&last, attach, libc::ESRCH, facts(2), "there is no process 7"),
            (
                &last,
                attach,
                libc::EPERM,
                Permissions { ptrace_scope: Some(1), ..facts(2) },
                "kernel.yama.ptrace_scope=0",
            ),
            (&last, attach, libc::EPERM, facts(2), "another user's"),
            (&last, Doing::AttachThread(7), libc::ESRCH, facts(2), "there is no thread 7"),
            (&last, Doing::Filter, libc::EINVAL, facts(2), "does not take the filter"),
            (&probe, open, libc::EACCES, facts(2), "probes are kept from ordinary users"),
            (&last, attach, libc::EPERM, Permissions { container: true, ..facts(2) }, "--cap-add SYS_PTRACE"),
            (
                &last,
                open,
                libc::EINVAL,
                Permissions { max_rate: Some(100_000), ..facts(2) },
                "does not take cycles",
            ),
        ] {
            let refusal = refused(plan, doing, code, &facts).unwrap_err().to_string();
            assert!(refusal.contains(said), "{doing:?} {code}: {refusal}");
            assert!(!refusal.contains('\n') && !refusal.contains("os error"), "{refusal}");
        }
    }
}
