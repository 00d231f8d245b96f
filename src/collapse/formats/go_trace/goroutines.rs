//! Goroutines and their states, from one event to the next.
//!
//! The events of threads are put in the order of their times. Where two are of the same time, the numbers that
//! `GoStart` and `GoUnblock` give a goroutine say which was first.

use std::collections::HashMap;
use std::time::{Duration, SystemTime};

use super::batches::{Frame, Generation};
use super::events::{Event, kind, read};
use crate::collapse::kit::names::FrameNames;
use crate::collapse::kit::trie::{PathId, Trie};
use crate::collapse::{Report, Sink};
use crate::error::{Error, Result};
use crate::folded::{FrameId, Place, sanitize_frame};
use crate::unique::Unique;
use crate::weight::Weight;

/// The values and their units.
pub const COLUMNS: [(&str, &str); 6] =
    [("cpu", "samples"), ("sync", "ns"), ("net", "ns"), ("syscall", "ns"), ("sched", "ns"), ("wait", "ns")];

const CPU: usize = 0;
const SYNC: usize = 1;
const NET: usize = 2;
const SYSCALL: usize = 3;
const SCHED: usize = 4;
const WAIT: usize = 5;

/// The state of a goroutine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Running,
    Runnable,
    Syscall,
    /// It waits, for the reason of a column.
    Waiting(usize),
}

/// A goroutine in a state.
struct Goroutine {
    state: State,
    /// Nanoseconds.
    since: u64,
    /// The stack of the state in its column; `None` if the trace does not say when it began.
    path: Option<PathId>,
    /// The generation and the number of the last event that has one.
    sequence: (u64, u64),
}

/// All goroutines, and the time of their states.
pub struct Goroutines {
    running: HashMap<u64, Goroutine>,
    /// The goroutine on each thread.
    on_thread: HashMap<u64, u64>,
    /// The stacks of each column.
    pub tries: [Trie; COLUMNS.len()],
    origins: Unique<(u64, Option<u64>)>,
    names: FrameNames,
    /// The first and the last time of an event, in nanoseconds.
    times: Option<(u64, u64)>,
    start: Option<SystemTime>,
    /// True if single events are told apart.
    contexts: bool,
}

/// The stacks of a generation.
struct Stacks<'g> {
    generation: &'g Generation,
    frames: HashMap<Frame, FrameId>,
    paths: HashMap<(usize, u64), PathId>,
}

impl Goroutines {
    /// No goroutines yet.
    pub fn new(sink: &dyn Sink) -> Goroutines {
        let contexts = sink.wants().contexts;
        Goroutines {
            running: HashMap::new(),
            on_thread: HashMap::new(),
            tries: std::array::from_fn(|_| Trie::new(contexts)),
            origins: Unique::default(),
            names: FrameNames::default(),
            times: None,
            start: None,
            contexts,
        }
    }

    /// Takes in a generation.
    ///
    /// # Errors
    /// Damaged events, and a generation without its clock.
    pub fn generation(
        &mut self,
        generation: &mut Generation,
        sink: &mut dyn Sink,
        report: &mut Report,
    ) -> Result<()> {
        let mut events = Vec::new();
        let batches = std::mem::take(&mut generation.events);
        let generation = &*generation;
        if generation.frequency == 0 {
            return Err(Error::malformed("the frequency of its clock in each part of a trace", b"none"));
        }
        let mut damaged = 0u64;
        for (thread, time, bytes) in batches {
            damaged += u64::from(read(thread, time, &bytes, |event| events.push(event)).is_none());
        }
        if damaged > 0 {
            report.doubt(format!("{damaged} batches of events are damaged; they are read as far as they go"));
        }
        events.sort_by_key(|event| event.time);
        if let (None, Some((time, seconds, nanos))) = (self.start, generation.clock) {
            let first = events.first().map_or(time, |event| event.time.min(time));
            let date = Duration::from_secs(seconds).checked_add(Duration::from_nanos(nanos));
            let since = Duration::from_nanos(generation.nanos(time).saturating_sub(generation.nanos(first)));
            self.start = date.and_then(|date| SystemTime::UNIX_EPOCH.checked_add(date.checked_sub(since)?));
        }
        let mut stacks = Stacks { generation, frames: HashMap::new(), paths: HashMap::new() };
        for event in &events {
            let time = generation.nanos(event.time);
            let (first, last) = self.times.unwrap_or((time, time));
            self.times = Some((first.min(time), last.max(time)));
            self.event(event, time, &mut stacks, sink)?;
        }
        for sample in &generation.cpu_samples {
            let path = self.path(CPU, sample.stack, &mut stacks, sink);
            let origin = self.origin_number(sample.goroutine, Some(sample.thread));
            let time = generation.nanos(sample.time);
            self.tries[CPU].add_from(path, Weight::ONE, Some(time), origin)?;
        }
        Ok(())
    }

    /// Applies an event.
    fn event(
        &mut self,
        event: &Event,
        time: u64,
        stacks: &mut Stacks<'_>,
        sink: &mut dyn Sink,
    ) -> Result<()> {
        let Event { thread, arguments: [first, second, third, fourth], .. } = *event;
        let own = self.on_thread.get(&thread).copied();
        match event.kind {
            kind::GO_CREATE => self.enter(first, State::Runnable, Some(third), time, stacks, sink)?,
            kind::GO_CREATE_BLOCKED => {
                self.enter(first, State::Waiting(WAIT), Some(third), time, stacks, sink)?;
            }
            kind::GO_CREATE_SYSCALL => {
                self.on_thread.insert(thread, first);
                self.enter(first, State::Syscall, Some(0), time, stacks, sink)?;
            }
            kind::GO_START => {
                self.on_thread.insert(thread, first);
                self.enter(first, State::Running, None, time, stacks, sink)?;
                self.note_sequence(first, (stacks.generation.number, second));
            }
            kind::GO_SWITCH | kind::GO_SWITCH_DESTROY => {
                if let Some(own) = own {
                    match event.kind {
                        kind::GO_SWITCH => {
                            self.enter(own, State::Waiting(WAIT), Some(0), time, stacks, sink)?
                        }
                        _ => self.end(own, time)?,
                    }
                }
                self.on_thread.insert(thread, first);
                self.enter(first, State::Running, None, time, stacks, sink)?;
                self.note_sequence(first, (stacks.generation.number, second));
            }
            kind::GO_UNBLOCK => {
                let sequence = (stacks.generation.number, second);
                let is_late = self.running.get(&first).is_some_and(|known| known.sequence > sequence);
                if !is_late {
                    self.enter(first, State::Runnable, Some(third), time, stacks, sink)?;
                    self.note_sequence(first, sequence);
                }
            }
            kind::GO_STATUS | kind::GO_STATUS_STACK => {
                let stack = (event.kind == kind::GO_STATUS_STACK).then_some(fourth);
                self.status(first, (thread, second), third, stack, time, stacks, sink)?;
            }
            _ => {
                let Some(own) = own else { return Ok(()) };
                let (state, stack) = match event.kind {
                    kind::GO_STOP => (State::Runnable, Some(second)),
                    kind::GO_BLOCK => (State::Waiting(column(stacks.generation, first)), Some(second)),
                    kind::GO_SYSCALL_BEGIN => (State::Syscall, Some(second)),
                    kind::GO_SYSCALL_END => (State::Running, None),
                    kind::GO_SYSCALL_END_BLOCKED => (State::Runnable, Some(0)),
                    kind::GO_DESTROY | kind::GO_DESTROY_SYSCALL => {
                        self.on_thread.remove(&thread);
                        return self.end(own, time);
                    }
                    _ => return Ok(()),
                };
                if matches!(state, State::Runnable | State::Waiting(_)) {
                    self.on_thread.remove(&thread);
                }
                self.enter(own, state, stack, time, stacks, sink)?;
            }
        }
        Ok(())
    }

    /// Takes the state of a goroutine at the beginning of a generation, which it may have had for long.
    #[allow(clippy::too_many_arguments)]
    fn status(
        &mut self,
        goroutine: u64,
        (thread, on): (u64, u64),
        status: u64,
        stack: Option<u64>,
        time: u64,
        stacks: &mut Stacks<'_>,
        sink: &mut dyn Sink,
    ) -> Result<()> {
        let state = match status {
            1 => State::Runnable,
            2 => State::Running,
            3 => State::Syscall,
            4 => State::Waiting(WAIT),
            _ => return Ok(()),
        };
        match state {
            State::Running => _ = self.on_thread.insert(thread, goroutine),
            State::Syscall => _ = self.on_thread.insert(on, goroutine),
            _ => {}
        }
        match self.running.get_mut(&goroutine) {
            Some(known) => known.sequence = (stacks.generation.number, 0),
            None => self.enter(goroutine, state, stack.filter(|stack| *stack > 0), time, stacks, sink)?,
        }
        Ok(())
    }

    /// Ends the state of a goroutine, and begins another if it is another. A stack of 0 is one that the runtime has
    /// not written; without any the state is of no interest.
    fn enter(
        &mut self,
        goroutine: u64,
        state: State,
        stack: Option<u64>,
        time: u64,
        stacks: &mut Stacks<'_>,
        sink: &mut dyn Sink,
    ) -> Result<()> {
        if let (Some(Goroutine { state: State::Waiting(_), .. }), State::Waiting(_)) =
            (self.running.get(&goroutine), state)
        {
            return Ok(());
        }
        if self.running.get(&goroutine).is_some_and(|known| known.state == state) {
            return Ok(());
        }
        let sequence = self.running.get(&goroutine).map_or((0, 0), |known| known.sequence);
        self.end(goroutine, time)?;
        let column = state.column();
        let path = match (column, stack) {
            (Some(column), Some(stack)) => Some(self.path(column, stack, stacks, sink)),
            _ => None,
        };
        self.running.insert(goroutine, Goroutine { state, since: time, path, sequence });
        Ok(())
    }

    /// Ends the state of a goroutine, and adds its time to its stack.
    fn end(&mut self, goroutine: u64, time: u64) -> Result<()> {
        let Some(ended) = self.running.remove(&goroutine) else { return Ok(()) };
        if let (Some(path), Some(column)) = (ended.path, ended.state.column()) {
            let lasted = time.saturating_sub(ended.since);
            let origin = self.origin_number(goroutine, None);
            let weight = Weight::new(lasted.into());
            self.tries[column].add_lasting(path, weight, Some(ended.since), lasted, origin)?;
        }
        Ok(())
    }

    fn note_sequence(&mut self, goroutine: u64, sequence: (u64, u64)) {
        if let Some(known) = self.running.get_mut(&goroutine) {
            known.sequence = sequence;
        }
    }

    /// The path of a stack in the trie of a column.
    fn path(&mut self, column: usize, stack: u64, stacks: &mut Stacks<'_>, sink: &mut dyn Sink) -> PathId {
        if let Some(path) = stacks.paths.get(&(column, stack)) {
            return *path;
        }
        let generation = stacks.generation;
        let frames = generation.stacks.get(&stack).map_or(&[][..], Vec::as_slice);
        let mut path = Trie::ROOT;
        // Below every goroutine in samples of the CPU only, and in no profile of Go's.
        let is_goexit = |frame: &Frame| {
            generation.strings.get(&frame.function).is_some_and(|name| name == b"runtime.goexit")
        };
        let frames = match frames {
            [callers @ .., last] if is_goexit(last) => callers,
            all => all,
        };
        for frame in frames.iter().rev() {
            let id = *stacks.frames.entry(*frame).or_insert_with(|| {
                let text = |id: u64| generation.strings.get(&id).map_or(&b""[..], Vec::as_slice);
                let line = u32::try_from(frame.line).unwrap_or(0);
                let place = Place { file: text(frame.file), line, ..Place::default() };
                self.names.build_at(&place, sink, |out| sanitize_frame(text(frame.function), out))
            });
            path = self.tries[column].below(path, id.0);
        }
        stacks.paths.insert((column, stack), path);
        path
    }

    /// The number of an origin. Nobody asks for those of sums, and there may be many goroutines.
    fn origin_number(&mut self, goroutine: u64, thread: Option<u64>) -> u32 {
        if !self.contexts {
            return 0;
        }
        self.origins.key((goroutine, thread))
    }

    /// The goroutine, and the thread if it is known, of an addition.
    pub fn origin(&self, number: u32) -> Option<(u64, Option<u64>)> {
        self.origins.all().get(number as usize).copied()
    }

    /// Notes what the trace says of itself.
    pub fn facts(&self, report: &mut Report) {
        report.facts.start = self.start;
        if let Some((first, last)) = self.times {
            report.facts.duration =
                Some(Duration::from_nanos(last - first)).filter(|passed| !passed.is_zero());
        }
        let waiting = self.running.values().filter(|goroutine| goroutine.path.is_some()).count();
        if waiting > 0 {
            report.details.push(format!(
                "{waiting} goroutines still waited when the trace ended; the time of these waits is not counted"
            ));
        }
    }
}

impl State {
    /// The column of the time that is spent in it.
    fn column(self) -> Option<usize> {
        match self {
            State::Running => None,
            State::Runnable => Some(SCHED),
            State::Syscall => Some(SYSCALL),
            State::Waiting(column) => Some(column),
        }
    }
}

impl Generation {
    /// A time in nanoseconds.
    fn nanos(&self, time: u64) -> u64 {
        let nanos = u128::from(time) * 1_000_000_000 / u128::from(self.frequency.max(1));
        u64::try_from(nanos).unwrap_or(u64::MAX)
    }
}

/// The column of a reason to wait, as `go tool trace` tells them apart.
fn column(generation: &Generation, reason: u64) -> usize {
    let reason = generation.strings.get(&reason).map_or(&b""[..], Vec::as_slice);
    let has = |word: &[u8]| memchr::memmem::find(reason, word).is_some();
    match reason {
        b"network" => NET,
        _ if has(b"chan") || has(b"sync") || has(b"select") => SYNC,
        _ => WAIT,
    }
}
