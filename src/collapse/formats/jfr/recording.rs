//! Recordings of Java's Flight Recorder themselves (seen: OpenJDK 17 and 25; async-profiler by its source).
//!
//! ```text
//! FLR\0 0002 0001 000000000000bbaa …                           a chunk, see the module chunk
//! ```
//! The format is nowhere specified; it is read by `jdk.jfr.internal.consumer.ChunkParser` of OpenJDK, and
//! described for JDK 11 in the wiki of OpenJDK's jmc. All values come out as from `jfr print --json`.
//!
//! A chunk is walked twice: constants stand behind the events that name them. Of a file the chunks are
//! mapped, of a pipe one is held at a time. Besides that, memory is taken for different stacks.

use std::collections::HashMap;

use super::chunk::{Chunk, Chunks, Header, MAGIC, RawEvent};
use super::constants::{Constants, Frame};
use super::cursor::Text;
use super::events::{Amount, Events, JavaFrame, KindId, Origin, Paths, counts_samples};
use super::layout::{Datum, Layout};
use super::metadata::{Field, Metadata, TimeUnit};
use super::old;
use crate::collapse::kit::forest::Budget;
use crate::collapse::{
    Certainty, CollapseOptions, Collapser, ContextInfo, FormatInfo, Reading, Report, Sink, Tested,
};
use crate::error::{Error, Result};
use crate::folded::FrameId;
use crate::input::Input;
use crate::weight::Weight;

const INFO: FormatInfo = FormatInfo {
    name: "jfr",
    producer: "Java's Flight Recorder: java -XX:StartFlightRecording, jcmd PID JFR.dump; async-profiler -o jfr",
    tested: Tested::Seen("OpenJDK 17, 25; async-profiler and JDK 7 to 10 by their sources"),
    values: "the events: jdk.CPUTimeSample, or else jdk.ExecutionSample, or else the first; …; jdk.ObjectAllocationSample.weight, jdk.JavaMonitorEnter.duration, …",
    unit: "samples; bytes, ns",
};

/// Collapses recordings.
pub struct Jfr;

impl Collapser for Jfr {
    fn info(&self) -> &'static FormatInfo {
        &INFO
    }

    fn contexts(&self) -> ContextInfo {
        ContextInfo { times: "events", clock: Some("realtime"), labels: "thread, tid, state, class, virtual" }
    }

    fn detect(&self, head: &[u8]) -> Certainty {
        Certainty::of_magic(head.starts_with(MAGIC))
    }

    fn collapse(
        &self,
        input: Input,
        reading: &Reading<'_>,
        sink: &mut dyn Sink,
        report: &mut Report,
    ) -> Result<()> {
        if old::is_old(input.head()) {
            return old::read(input, reading, sink, report);
        }
        let mut chunks = Chunks::new(input);
        let mut recording = Recording {
            events: Events::new(sink),
            options: reading,
            sink,
            budget: Budget::default(),
            facts: Stated::default(),
        };
        let mut lost = None;
        while let Some(chunk) = chunks.next()? {
            let place = chunks.place(chunk.start);
            if chunk.header.is_unfinished {
                report
                    .doubt("the virtual machine did not finish the recording; it is read as far as it goes");
            }
            if chunk.is_cut {
                let end = chunk.start + chunk.bytes().len() as u64;
                report.doubt(format!("the recording is cut off at byte {end}; it is read as far as it goes"));
            }
            match recording.chunk(&chunk, report) {
                Ok(true) => {}
                Ok(false) => lost = lost.or(Some(place)),
                Err(e) => return Err(e.or_at(|| place)),
            }
        }
        if let Some(place) = lost {
            // Without its types nothing in a chunk can be told apart.
            if !recording.facts.has_types {
                let expected = "a description of the events in it, which comes at the end of a chunk";
                return Err(Error::malformed(expected, b"none").at(place));
            }
            let byte = place.byte.unwrap_or_default();
            report
                .doubt(format!("the chunk at byte {byte} does not say what its events are: it is left out"));
        }
        recording.finish(report)
    }
}

/// A recording as it is read.
struct Recording<'s> {
    events: Events,
    options: &'s CollapseOptions,
    sink: &'s mut dyn Sink,
    budget: Budget,
    facts: Stated,
}

/// The statements of a recording about itself.
#[derive(Default)]
struct Stated {
    /// True if a chunk described its types.
    has_types: bool,
    /// Samples of the processor that were dropped when they were taken.
    lost_samples: u64,
    /// Bytes that were dropped.
    lost_bytes: u64,
    /// Events of stacks that are not there.
    without_stack: u64,
    /// Checkpoints that end within a constant.
    damaged: u64,
}

/// The meaning of a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Meaning {
    Nothing,
    Start,
    Thread,
    Stack,
    State,
    Class,
    /// A weight: its column, and the unit if it is a time.
    Amount(usize, Option<TimeUnit>),
    Samples,
    Command,
    Version,
    LostSamples,
    LostBytes,
}

/// The way to read events of a type.
struct Plan {
    fields: Vec<(Layout, Meaning)>,
    /// The kind, of events that are samples.
    kind: Option<KindId>,
    columns: usize,
}

/// The number of no constant: that of 0 may be one.
const NONE: u64 = u64::MAX;

/// An event, by the numbers of its constants.
#[derive(Default)]
struct Numbers {
    start: Option<i64>,
    thread: u64,
    stack: u64,
    state: u64,
    class: u64,
    samples: Option<i64>,
    /// The weight in each column; that of 0 is not used.
    amounts: Vec<Option<i64>>,
}

/// The parts of a chunk that events are resolved with, and what was resolved already.
struct Resolved<'c> {
    constants: &'c Constants,
    frames: HashMap<Frame, Option<FrameId>>,
    /// The stacks of events, by kind, stack and the thread if that is a frame.
    paths: HashMap<(KindId, u64, Option<u64>), Paths>,
    origins: HashMap<(u64, u64, u64), u32>,
}

impl Recording<'_> {
    /// Reads a chunk; `false` if it does not describe its types.
    fn chunk(&mut self, chunk: &Chunk, report: &mut Report) -> Result<bool> {
        let (mut metadata, mut checkpoints, mut end) = (None, Vec::new(), super::chunk::HEADER);
        let mut events = chunk.events();
        for event in events.by_ref() {
            match event.class {
                0 => metadata = Metadata::read(event.fields).or(metadata),
                1 => checkpoints.push(event.fields),
                _ => {}
            }
        }
        end = end.max(events.at());
        let Some(metadata) = metadata else { return Ok(false) };
        self.facts.has_types = true;
        if end < chunk.bytes().len() && !chunk.is_cut {
            let at = chunk.start + end as u64;
            report.doubt(format!("the chunk is damaged at byte {at}: the rest of it is left out"));
        }
        let mut constants = Constants::default();
        for checkpoint in checkpoints {
            self.facts.damaged += u64::from(constants.read(checkpoint, &metadata).is_none());
        }
        self.events.note_time(Some(chunk.header.start));
        self.events.note_time(chunk.header.start.checked_add(chunk.header.duration));
        let mut resolved = Resolved {
            constants: &constants,
            frames: HashMap::new(),
            paths: HashMap::new(),
            origins: HashMap::new(),
        };
        let mut plans: HashMap<u64, Option<Plan>> = HashMap::new();
        let mut numbers = Numbers::default();
        for event in chunk.events() {
            let plan = plans.entry(event.class).or_insert_with(|| self.plan(event.class, &metadata));
            if let Some(plan) = plan {
                if self.numbers(plan, &event, &mut numbers, (&chunk.header, &constants)).is_none() {
                    let found = format!("one of {} bytes", event.fields.left());
                    let at = chunk.start + event.at as u64;
                    let class = metadata.class(event.class).map_or("", |class| &class.name);
                    let expected = format!("an event {class} with all its fields");
                    report.doubt(format!("byte {at}: expected {expected}, found {found}: it is left out"));
                } else if let Some(kind) = plan.kind {
                    self.sample(kind, chunk, &numbers, &mut resolved)?;
                }
            }
        }
        Ok(true)
    }

    /// The way to read events of a type; `None` for those that are not needed.
    fn plan(&mut self, id: u64, metadata: &Metadata) -> Option<Plan> {
        let class = metadata.class(id)?;
        let class_of = |field: &Field| metadata.class(field.class).map_or("", |class| &class.name[..]);
        let is_stack = |field: &Field| field.constant && class_of(field) == "jdk.types.StackTrace";
        let is_sample = class.fields.iter().any(is_stack);
        let is_fact =
            matches!(&class.name[..], "jdk.JVMInformation" | "jdk.CPUTimeSamplesLost" | "jdk.DataLoss");
        if !is_sample && !is_fact {
            return None;
        }
        let kind = is_sample.then(|| self.events.kind(class.name.as_bytes()));
        let mut plan = Plan { fields: Vec::new(), kind, columns: 1 };
        for field in &class.fields {
            let layout = metadata.layout(field)?;
            let number = !field.constant
                && matches!(layout, Layout::Byte | Layout::Short { .. } | Layout::Int | Layout::Long);
            let meaning = match (&field.name[..], class_of(field)) {
                ("startTime", _) if number => Meaning::Start,
                (_, "jdk.types.StackTrace") if is_stack(field) => Meaning::Stack,
                ("eventThread" | "sampledThread", _) if field.constant => Meaning::Thread,
                ("state", "jdk.types.ThreadState") if field.constant => Meaning::State,
                ("objectClass" | "monitorClass" | "parkedClass", "java.lang.Class") if field.constant => {
                    Meaning::Class
                }
                ("javaArguments", _) if layout_is_text(&layout) => Meaning::Command,
                ("jvmVersion", _) if layout_is_text(&layout) => Meaning::Version,
                ("lostSamples", _) if number && is_fact => Meaning::LostSamples,
                ("amount", _) if number && is_fact => Meaning::LostBytes,
                (name, _) if number && counts_samples(class.name.as_bytes(), name) => Meaning::Samples,
                (name, _) if number => match (Amount::of(name), kind) {
                    (Some(amount), Some(kind)) => {
                        let default = if name == "duration" { TimeUnit::Ticks } else { TimeUnit::Nanos(1) };
                        let unit = (amount.unit == "ns").then(|| field.unit.unwrap_or(default));
                        Meaning::Amount(self.events.amount(kind, amount), unit)
                    }
                    _ => Meaning::Nothing,
                },
                _ => Meaning::Nothing,
            };
            if let Meaning::Amount(column, _) = meaning {
                plan.columns = plan.columns.max(column + 1);
            }
            plan.fields.push((layout, meaning));
        }
        // An event knows its size: nothing is behind the last field that is needed.
        let last = plan.fields.iter().rposition(|(_, meaning)| *meaning != Meaning::Nothing);
        plan.fields.truncate(last.map_or(0, |last| last + 1));
        Some(plan)
    }

    /// Reads an event's fields; `None` if it ends within one.
    fn numbers(
        &mut self,
        plan: &Plan,
        event: &RawEvent,
        numbers: &mut Numbers,
        (header, constants): (&Header, &Constants),
    ) -> Option<()> {
        let mut amounts = std::mem::take(&mut numbers.amounts);
        amounts.clear();
        amounts.resize(plan.columns, None);
        *numbers = Numbers { amounts, state: NONE, class: NONE, ..Numbers::default() };
        let mut cursor = event.fields;
        for (layout, meaning) in &plan.fields {
            if *meaning == Meaning::Nothing {
                layout.skip(&mut cursor)?;
                continue;
            }
            let number = match layout.read(&mut cursor)? {
                Datum::Number(number) => number,
                Datum::Text(text) => {
                    let text = match &text {
                        Text::Bytes(bytes) => bytes,
                        Text::Constant(number) => constants.string(*number),
                        Text::None => b"",
                    };
                    match meaning {
                        Meaning::Command => self.events.command = text.to_vec(),
                        Meaning::Version => self.events.version = text.to_vec(),
                        _ => {}
                    }
                    continue;
                }
                Datum::Other => continue,
            };
            match *meaning {
                Meaning::Start => numbers.start = Some(number),
                Meaning::Thread => numbers.thread = number as u64,
                Meaning::Stack => numbers.stack = number as u64,
                Meaning::State => numbers.state = number as u64,
                Meaning::Class => numbers.class = number as u64,
                Meaning::Samples => numbers.samples = Some(number),
                Meaning::Amount(column, unit) => {
                    numbers.amounts[column] = match unit {
                        // Times that are not known, or have no end, are the least and the largest number.
                        Some(_) if matches!(number, i64::MIN | i64::MAX) => None,
                        Some(TimeUnit::Ticks) => Some(header.span(number)),
                        Some(TimeUnit::Nanos(size)) => number.checked_mul(size),
                        None => Some(number),
                    };
                }
                Meaning::LostSamples => add(&mut self.facts.lost_samples, number),
                Meaning::LostBytes => add(&mut self.facts.lost_bytes, number),
                Meaning::Nothing | Meaning::Command | Meaning::Version => {}
            }
        }
        Some(())
    }

    /// Adds an event.
    fn sample(
        &mut self,
        kind: KindId,
        chunk: &Chunk,
        numbers: &Numbers,
        resolved: &mut Resolved,
    ) -> Result<()> {
        let shows_thread = self.options.shows_threads(false);
        let key = (kind, numbers.stack, shows_thread.then_some(numbers.thread));
        let columns = numbers.amounts.len();
        if resolved.paths.get(&key).is_none_or(|paths| paths.len() < columns) {
            let paths = self.paths(kind, numbers, resolved)?;
            resolved.paths.insert(key, paths);
        }
        let time = numbers.start.and_then(|ticks| chunk.header.time(ticks));
        let origin = if self.events.keeps_origins() {
            let key = (numbers.thread, numbers.state, numbers.class);
            match resolved.origins.get(&key) {
                Some(origin) => *origin,
                None => {
                    let origin = self.events.origin(&resolved.origin(key));
                    resolved.origins.insert(key, origin);
                    origin
                }
            }
        } else {
            0
        };
        let paths = &resolved.paths[&key];
        if numbers.stack != 0 && resolved.constants.frames(numbers.stack).is_none() {
            self.facts.without_stack += 1;
        }
        let samples = numbers.samples.filter(|samples| *samples > 0).unwrap_or(1);
        self.events.add_at(kind, (0, paths[0]), Weight::new(samples.into()), time, origin)?;
        for (column, amount) in numbers.amounts.iter().enumerate().skip(1) {
            if let Some(amount) = amount.filter(|amount| *amount > 0) {
                self.events.add_at(
                    kind,
                    (column, paths[column]),
                    Weight::new(amount.into()),
                    time,
                    origin,
                )?;
            }
        }
        Ok(())
    }

    /// The places of an event's stack.
    fn paths(&mut self, kind: KindId, numbers: &Numbers, resolved: &mut Resolved) -> Result<Paths> {
        let constants = resolved.constants;
        let (raw, is_truncated) = constants.frames(numbers.stack).unwrap_or_default();
        // The first time the file's own bytes have paid for it.
        self.budget.check(raw.len())?;
        if !resolved.paths.is_empty() {
            self.budget.spend(raw.len() / 4)?;
        }
        let mut frames = Vec::with_capacity(raw.len());
        for frame in raw {
            let id = match resolved.frames.get(frame) {
                Some(id) => *id,
                None => {
                    let id = self.frame(*frame, constants);
                    resolved.frames.insert(*frame, id);
                    id
                }
            };
            frames.extend(id);
        }
        let thread = self
            .options
            .shows_threads(false)
            .then(|| resolved.origin((numbers.thread, NONE, NONE)).frame(self.options, self.sink));
        Ok(self.events.paths(kind, &mut frames, is_truncated, thread, self.sink))
    }

    /// A frame; `None` for the virtual machine's own glue.
    fn frame(&mut self, frame: Frame, constants: &Constants) -> Option<FrameId> {
        let method = constants.method(frame.method);
        if method.is_some_and(|method| method.is_hidden) {
            return None;
        }
        let name = method.map_or_else(|| b"[unknown]".to_vec(), |method| constants.method_name(method));
        let frame = JavaFrame { name: &name, line: frame.line, kind: constants.frame_type(frame.kind) };
        Some(frame.build(self.options, &mut self.events.names, self.sink))
    }

    /// Pushes all samples, and says what is missing.
    fn finish(self, report: &mut Report) -> Result<()> {
        let Stated { lost_samples, lost_bytes, without_stack, damaged, .. } = self.facts;
        if lost_samples > 0 {
            report.warn(format!("{lost_samples} samples of the processor were lost while recording"));
        }
        if lost_bytes > 0 {
            report.warn(format!("{lost_bytes} bytes of events were lost while recording"));
        }
        if without_stack > 0 {
            report.doubt(format!("the stacks of {without_stack} events are not in the recording"));
        }
        if damaged > 0 {
            report.doubt(format!(
                "{damaged} tables of names and stacks are damaged: the rest of each is missing"
            ));
        }
        self.events.finish(self.options, self.sink, report)
    }
}

impl Resolved<'_> {
    /// A thread, the state that it was in and a class.
    fn origin(&self, (thread, state, class): (u64, u64, u64)) -> Origin {
        let constants = self.constants;
        let mut origin = Origin {
            state: constants.state(state).to_vec(),
            class: constants.class_name(class),
            ..Origin::default()
        };
        if let Some(thread) = constants.thread(thread) {
            origin.thread = constants.thread_name(thread).to_vec();
            origin.id = thread.id().to_string().into_bytes();
            origin.is_virtual = thread.is_virtual;
        }
        origin
    }
}

fn layout_is_text(layout: &Layout) -> bool {
    matches!(layout, Layout::Text)
}

fn add(sum: &mut u64, more: i64) {
    *sum = sum.saturating_add(u64::try_from(more).unwrap_or(0));
}
