//! The parameters of the events, and the next ones to try when the system refuses.
//!
//! A [`Plan`] is tried as it is; [`Plan::after`] makes of a refusal the next plan, or the one line
//! to end with. It asks the system nothing, so that every row of the table is tested anywhere.

mod note;
mod refused;
mod size;

use std::path::PathBuf;

pub use self::note::Note;
use self::size::ring_size;
use super::event::{BREAKPOINT, Event, Mode};
use crate::record::refusal::Refusal;
use crate::record::request::{CallGraph, Delay, Rate, Request, Target, Time};
use crate::record::sys::clock;
use crate::record::sys::perf_event::{ATTR_SIZE, Attr, BREAKPOINT_WRITE, flag, read_format, sample};

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
    /// The control group that is recorded of the machine.
    pub cgroup: Option<PathBuf>,
    /// The time that is recorded.
    pub time: Time,
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
    /// The size of each ring for the records of processes and mappings; 0 if they share that of the samples.
    pub tracking_ring: usize,
    /// Each sample wakes us: what belongs to it is read at once.
    pub wakes_at_once: bool,
    /// Let the kernel count the samples that rings have no room for: since Linux 6.0.
    pub counts_losses: bool,
}

/// The largest ring for records of processes and mappings: some 3,000 of these between two rounds.
const TRACKING_RING: usize = 512 * 1024;

/// The bytes of the stack that are copied whenever a thread leaves its processor, at any rate. The callers
/// beyond come from other stacks of the thread: of some thousand times a second, all of the stack is copied.
const DUMP_OF_SWITCH: u32 = 1024;

/// The bytes of the stack that are copied with an allocation, if no number is asked for. Allocations come in
/// bursts: of 4200 in a tenth of a second, 1600 were lost with copies of 64 kB, and none with these.
const DUMP_OF_ALLOCATION: u32 = 16 * 1024;

/// The events of threads that leave their processors: as often as samples usually are with all of the stack, and
/// each time with its beginning, unless that is [too often](Plan::each_switch).
///
/// A program of two threads that wake each other 30,000 times a second would otherwise copy 4 GB a second.
fn waits(request: &Request) -> Vec<Event> {
    let each = Event { rate: Some(Rate::EveryEvents(1)), ..Event::context_switches() };
    let some = Event { rate: Some(Rate::PerSecond(Rate::USUAL)), ..each.clone() };
    let is_machine = matches!(request.target, Target::Machine(_));
    match request.call_graph {
        CallGraph::Dwarf(size) if size > DUMP_OF_SWITCH => {
            vec![some, Event { largest_dump: Some(DUMP_OF_SWITCH), ..each }]
        }
        // It samples nothing that the other one does not.
        _ if is_machine => vec![each],
        _ => vec![some, each],
    }
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
    /// Opening the folder of a control group.
    OpenGroup,
    /// Setting the condition of a tracepoint.
    Filter,
    /// Mapping a ring.
    Map,
}

impl Plan {
    /// The best plan for a request.
    ///
    /// # Errors
    /// [`Refusal::NoRegisters`].
    pub fn new(request: &Request, events: Vec<Event>, processors: usize) -> Result<Plan, Refusal> {
        if matches!(request.call_graph, CallGraph::Dwarf(_)) && USER_REGISTERS.is_none() {
            return Err(Refusal::NoRegisters);
        }
        let is_default = request.time == Time::OnCpu && request.allocations.is_none();
        let may_replace_event = events.is_empty() && is_default;
        let largest_dump = match request.call_graph {
            CallGraph::Dwarf(size @ (CallGraph::DUMP | CallGraph::LIVE_DUMP)) => Some(size),
            _ => None,
        };
        let mut events = match (request.time, events) {
            (Time::OffCpu, _) => waits(request),
            // Of one unit with the waits.
            (Time::Wall, _) => [waits(request), vec![Event::cpu_clock()]].concat(),
            (Time::OnCpu, _) if request.allocations.is_some() => {
                vec![Event {
                    largest_dump: largest_dump.and(Some(DUMP_OF_ALLOCATION)),
                    ..Event::allocations()
                }]
            }
            (Time::OnCpu, events) if events.is_empty() => vec![Event::cycles()],
            (Time::OnCpu, events) => events,
        };
        let rate = match request.rate {
            _ if request.time == Time::OffCpu || request.allocations.is_some() => Rate::EveryEvents(1),
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
            wakes_at_once: false,
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
            cgroup: request.cgroup.clone(),
            time: request.time,
            on_exec: matches!(request.target, Target::Command(_) | Target::Waiting(_)),
            is_paused: request.pauses.delay != Delay::None,
            threads,
            largest_dump,
            build_ids: true,
            ring: ring_size(rate, request.call_graph, processors),
            tracking_ring: 0,
            counts_losses: false,
        };
        plan.choose_dump();
        Ok(plan)
    }

    /// Gives the records of processes and mappings an event and a ring of their own, which samples do not fill. The
    /// records of switches, which come with them, are as many as samples.
    #[must_use]
    pub fn tracking_apart(mut self) -> Plan {
        if self.time == Time::OnCpu {
            if !self.events[0].is_tracking() {
                self.events.insert(0, Event::tracking());
            }
            (self.tracking_ring, self.counts_losses) = (TRACKING_RING, true);
        }
        self
    }

    /// The number of the event of which each count is a part of the processor time of the target, if there is one:
    /// the samples of it stand for all of that. Of a whole machine, some processors are idle.
    pub fn counted(&self) -> Option<usize> {
        let mut sampled = self.events.iter().enumerate().filter(|(_, event)| !event.is_tracking());
        let (number, event) = sampled.next()?;
        let is_whole = event.only.is_none() && (event.is_clock() || *event == Event::cycles());
        (self.time == Time::OnCpu && !self.machine && is_whole && sampled.next().is_none()).then_some(number)
    }

    /// The number of the event that samples each switch of a thread, if it can be put aside while these come too
    /// often: then there is another one, which takes some of them of each thread. Of the machine, it takes
    /// some of each processor, and threads that wait long and seldom would have no stack.
    pub fn each_switch(&self) -> Option<usize> {
        let takes_each = |event: &Event| event.rate == Some(Rate::EveryEvents(1));
        let takes_some = |event: &Event| matches!(event.rate, Some(Rate::PerSecond(_)));
        if self.time == Time::OnCpu || self.machine || !self.events.iter().any(takes_some) {
            return None;
        }
        // The first one comes with the records of processes, which it would not write any more.
        self.events.iter().position(takes_each).filter(|number| *number > 0)
    }

    /// The events that make samples.
    pub fn sampled(&self) -> impl Iterator<Item = &Event> {
        self.events.iter().filter(|event| !event.is_tracking())
    }

    /// The names of the events that make samples.
    pub fn event_names(&self) -> String {
        let mut names: Vec<&str> = self.sampled().map(|event| &*event.name).collect();
        // Two events of one name sample the same, in different ways.
        names.dedup();
        names.join(", ")
    }

    /// Returns true for an event whose records have a ring of their own.
    pub fn has_own_ring(&self, event: &Event) -> bool {
        self.tracking_ring > 0 && event.is_tracking()
    }

    /// The rate of an event: of some, each is worth a sample, unless a number was asked for.
    fn rate_of(&self, event: &Event) -> Rate {
        match self.rate {
            _ if event.is_tracking() => Rate::EveryEvents(1),
            _ if event.rate.is_some() => event.rate.unwrap_or(self.rate),
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
        let ring = if self.has_own_ring(event) { self.tracking_ring } else { self.ring };
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
            CallGraph::Dwarf(size) => Some(event.largest_dump.map_or(size, |largest| size.min(largest))),
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
            set(flag::CONTEXT_SWITCH, self.time != Time::OnCpu);
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
            breakpoint: if event.kind == BREAKPOINT { BREAKPOINT_WRITE } else { 0 },
            read_format: if self.counts_losses { read_format::LOST } else { 0 },
            wakeup: match self.wakes_at_once && !self.has_own_ring(event) {
                true => 1,
                false => u32::try_from(ring / 4).unwrap_or(u32::MAX),
            },
            sample_regs_user: dwarf.and(USER_REGISTERS).unwrap_or(0),
            sample_stack_user: dwarf.unwrap_or(0),
            // We can read it too: it tells the date of a sample, and the end of the recording.
            clock: clock::MONOTONIC,
            ..Attr::default()
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

#[cfg(test)]
mod tests {
    use super::refused::tests::request;
    use super::*;
    use crate::record::request::Pauses;

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
    fn waits_have_an_event_that_can_be_put_aside() {
        let plan = |time, call_graph, target| {
            Plan::new(&Request { time, call_graph, target, ..request() }, Vec::new(), 2).unwrap()
        };
        let dumps = CallGraph::Dwarf(CallGraph::LIVE_DUMP);
        let target = || Target::Processes(vec![7]);
        for (time, call_graph) in
            [(Time::OffCpu, dumps), (Time::Wall, dumps), (Time::OffCpu, CallGraph::FramePointers)]
        {
            let plan = plan(time, call_graph, target());
            let number = plan.each_switch().expect("there are two");
            let (first, each) = (plan.attr_of(0), plan.attr_of(number));
            // The first one goes on: with it come the times of all switches, and the mappings.
            let notes = flag::CONTEXT_SWITCH | flag::MMAP2;
            assert_eq!((first.flags & notes, each.flags & notes), (notes, 0));
            assert_eq!((each.flags & flag::FREQ, each.period_or_rate), (0, 1));
            assert!(first.flags & flag::FREQ != 0);
            assert!(each.sample_stack_user <= DUMP_OF_SWITCH && plan.event_names().starts_with("context"));
            assert_eq!(each.sample_type, first.sample_type, "one layout for all");
        }
        assert_eq!(plan(Time::OnCpu, dumps, target()).each_switch(), None);
        // Some of each processor's switches would miss the threads that wait long and seldom.
        assert_eq!(plan(Time::OffCpu, dumps, Target::Machine(None)).each_switch(), None);
        let pauses = Pauses { delay: Delay::UntilTold, control: None };
        let paused = Request { time: Time::OffCpu, call_graph: dumps, pauses, ..request() };
        let paused = Plan::new(&paused, Vec::new(), 2).unwrap();
        assert_eq!(paused.each_switch(), Some(2), "behind the one that notes mappings");
    }
}
