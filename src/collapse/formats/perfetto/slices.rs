//! Slices: what began and ended on a track, by Chrome, programs with Perfetto's SDK, and Android's atrace.
//!
//! ```text
//! track_event { type: TYPE_SLICE_BEGIN track_uuid: 7 name_iid: 30 category_iids: 9 }
//! ftrace_events { event { timestamp: 5 pid: 12 print { buf: "B|12|Choreographer#doFrame\n" } } }
//! ```
//! Most tracks are of a thread; their slices nest as calls do, and weigh the time in which nothing further began. Slices
//! on other tracks, such as requests and frames, pass while threads do something else, so that their time is a value of
//! its own.

use std::collections::{BTreeMap, HashMap};

use super::clocks::Clocks;
use super::tables::Tables;
use crate::collapse::kit::names::FrameNames;
use crate::collapse::kit::protobuf::{Content, Fields, message, numbers};
use crate::collapse::kit::spans::{Launch, Mark, Misplaced, Span, Spans};
use crate::collapse::kit::threads::Thread;
use crate::collapse::kit::trie::Trie;
use crate::collapse::kit::values::Values;
use crate::collapse::{CollapseOptions, Context, Report, Sink, Value};
use crate::error::Result;
use crate::folded::{FrameId, Interner, sanitize_frame};
use crate::number;
use crate::weight::Weight;

/// The name of a slice that has none.
const UNNAMED: &[u8] = b"[unnamed]";

/// Nanoseconds are the third decimal of a microsecond.
const DECIMALS: u8 = 3;

/// The names of threads or processes by their numbers.
type Names = HashMap<u64, Vec<u8>>;

/// The slices of all tracks.
#[derive(Default)]
pub struct Slices {
    pub clocks: Clocks,
    /// The process and the thread of tracks, and their names.
    threads: HashMap<u64, (u64, u64)>,
    track_names: HashMap<u64, Vec<u8>>,
    /// In the order of numbers, so that equal times are always in the same order.
    lanes: BTreeMap<Lane, Spans>,
    /// The processes of threads in atrace's lines.
    processes: HashMap<u64, u64>,
    names: Interner,
    /// The first beginning and the last end, in nanoseconds.
    times: Option<(u64, u64)>,
    /// Events that last no time: instants, counters and others.
    without_stack: u64,
}

/// Whatever slices nest on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Lane {
    /// Process and thread.
    Thread(u64, u64),
    /// A track by its number.
    Track(u64),
    /// A thread of atrace's lines, of which not all name the process.
    Atrace(u64),
}

/// The parts of a writer's state that its events leave out.
pub struct Writer<'w> {
    pub tables: &'w Tables,
    /// The track of events that name none.
    pub track: Option<u64>,
    /// The thread that its descriptor names.
    pub thread: (u64, u64),
    /// The time of its last event, in microseconds, if its times count from each other.
    pub time: &'w mut Option<i64>,
}

impl Slices {
    /// The first beginning and the last end, in nanoseconds.
    pub fn times(&self) -> Option<(u64, u64)> {
        self.times
    }

    /// Reads the name and the thread of a track.
    pub fn track(&mut self, bytes: &[u8]) -> Option<()> {
        let (mut uuid, mut name, mut owner) = (0, None, None);
        for field in Fields(bytes) {
            match field? {
                (1, Content::Number(number)) => uuid = number,
                (2 | 10, Content::Bytes(bytes)) => name = Some(bytes.to_vec()),
                (4, Content::Bytes(thread)) => {
                    let mut fields = [0; 3];
                    message(thread, &mut fields)?;
                    owner = Some((fields[1], fields[2]));
                }
                _ => {}
            }
        }
        self.threads.extend(owner.map(|thread| (uuid, thread)));
        self.track_names.extend(name.map(|name| (uuid, name)));
        Some(())
    }

    /// Reads an event of a track; `None` if it is damaged.
    pub fn event(&mut self, writer: &mut Writer<'_>, time: Option<u64>, bytes: &[u8]) -> Option<()> {
        let (mut track, mut kind, mut name, mut category) = (writer.track, 0, None, None);
        let (mut time, mut legacy) = (time, Legacy::default());
        for field in Fields(bytes) {
            match field? {
                (9, Content::Number(number)) => kind = number,
                (11, Content::Number(number)) => track = Some(number),
                (10, Content::Number(number)) => name = writer.tables.event_names.get(&number).cloned(),
                (23, Content::Bytes(bytes)) => name = Some(bytes.into()),
                (3, content) => numbers(content, |number| {
                    let found = || writer.tables.categories.get(&number).cloned();
                    category = category.take().or_else(found);
                })?,
                (22, Content::Bytes(bytes)) => category = category.or_else(|| Some(bytes.into())),
                // Microseconds since the event before, or since the machine was started.
                (1, Content::Number(delta)) => {
                    *writer.time = writer.time.and_then(|time| time.checked_add(delta as i64));
                    time = writer.time.and_then(|time| u64::try_from(time).ok()?.checked_mul(1000));
                }
                (16, Content::Number(at)) => time = at.checked_mul(1000),
                (6, Content::Bytes(bytes)) => legacy = Legacy::read(bytes)?,
                _ => {}
            }
        }
        let name = name.or_else(|| writer.tables.event_names.get(&legacy.name).cloned());
        let lane = match track {
            _ if legacy.thread != 0 => {
                let pid = if legacy.process == 0 { writer.thread.0 } else { legacy.process };
                Lane::Thread(pid, legacy.thread)
            }
            Some(uuid) => Lane::Track(uuid),
            None if writer.thread != (0, 0) => Lane::Thread(writer.thread.0, writer.thread.1),
            None => Lane::Track(0),
        };
        let phase = match kind {
            1 => b'B',
            2 => b'E',
            0 => legacy.phase,
            _ => 0,
        };
        let (Some(time), b'B' | b'E' | b'X') = (time, phase) else {
            self.without_stack += 1;
            return Some(());
        };
        let name = name.as_deref().filter(|name| !name.is_empty());
        let category = category.as_deref().unwrap_or_default();
        match phase {
            b'B' => self.begin(lane, time, name.unwrap_or(UNNAMED), category),
            b'X' => {
                let end = time.saturating_add(legacy.duration.saturating_mul(1000));
                let (frame, category) =
                    (self.name_number(name.unwrap_or(UNNAMED)), self.name_number(category).0);
                let (begin, end) = (self.at(time), self.at(end));
                let span = Span { begin, end, frame, category, launch: Launch::default() };
                self.lanes.entry(lane).or_default().whole.push(span);
            }
            _ => self.end(lane, time),
        }
        Some(())
    }

    /// Reads what the kernel's tracing wrote for one processor: the lines of Android's atrace.
    pub fn ftrace(&mut self, bytes: &[u8]) -> Option<()> {
        for field in Fields(bytes) {
            let (2, Content::Bytes(event)) = field? else { continue };
            let (mut time, mut tid, mut line) = (None, 0, None);
            for field in Fields(event) {
                match field? {
                    (1, Content::Number(number)) => time = Some(number),
                    (2, Content::Number(number)) => tid = number,
                    (5, Content::Bytes(print)) => {
                        for field in Fields(print) {
                            if let (2, Content::Bytes(bytes)) = field? {
                                line = Some(bytes);
                            }
                        }
                    }
                    _ => {}
                }
            }
            if let (Some(time), Some(line)) = (time, line) {
                self.atrace(time, tid, line);
            }
        }
        Some(())
    }

    /// Reads a line of atrace: `B|PID|NAME`, or `E|PID` or `E` for what was begun last.
    fn atrace(&mut self, time: u64, tid: u64, line: &[u8]) {
        let line = line.strip_suffix(b"\n").unwrap_or(line);
        let mut parts = line.splitn(3, |&b| b == b'|');
        let (kind, pid, name) = (parts.next(), parts.next(), parts.next());
        let pid = pid.and_then(number::parse::<u64>);
        match (kind, pid, name) {
            (Some(b"B"), Some(pid), name) => {
                self.processes.insert(tid, pid);
                let name = name.filter(|name| !name.is_empty()).unwrap_or(UNNAMED);
                self.begin(Lane::Atrace(tid), time, name, b"atrace");
            }
            (Some(b"E"), _, None) => self.end(Lane::Atrace(tid), time),
            _ => self.without_stack += 1,
        }
    }

    fn begin(&mut self, lane: Lane, time: u64, name: &[u8], category: &[u8]) {
        let (frame, category) = (self.name_number(name), self.name_number(category).0);
        let at = self.at(time);
        self.lanes.entry(lane).or_default().marks.push((at, Mark::Begin(frame, frame, category)));
    }

    fn end(&mut self, lane: Lane, time: u64) {
        let at = self.at(time);
        self.lanes.entry(lane).or_default().marks.push((at, Mark::End(None)));
    }

    /// The number of a name, which stands for its frame until there are frames.
    fn name_number(&mut self, name: &[u8]) -> FrameId {
        FrameId(self.names.key(name))
    }

    fn at(&mut self, time: u64) -> Weight {
        let (first, last) = self.times.unwrap_or((time, time));
        self.times = Some((first.min(time), last.max(time)));
        Weight::from_steps(time, DECIMALS).expect("64 bits and three decimals can be held")
    }

    /// The values that there are.
    pub fn declare(&self) -> Vec<Value> {
        let mut declared = Vec::new();
        for (of_threads, name) in [(true, "events"), (false, "tracks")] {
            if self
                .lanes
                .iter()
                .any(|(lane, spans)| self.thread(*lane).is_some() == of_threads && !spans.is_empty())
            {
                declared.push(Value::new(name, "us"));
            }
        }
        declared
    }

    /// The thread of a lane.
    fn thread(&self, lane: Lane) -> Option<(u64, u64)> {
        match lane {
            Lane::Thread(pid, tid) => Some((pid, tid)),
            Lane::Track(uuid) => self.threads.get(&uuid).copied(),
            Lane::Atrace(tid) => Some((self.processes.get(&tid).copied().unwrap_or(0), tid)),
        }
    }

    /// Hands all slices to the sink; `columns` are the numbers of the values of threads and of other tracks.
    ///
    /// # Errors
    /// Those of the sink.
    pub fn finish(
        mut self,
        columns: [usize; 2],
        (threads, processes): (&Names, &Names),
        options: &CollapseOptions,
        values: &mut Values,
        sink: &mut dyn Sink,
        report: &mut Report,
    ) -> Result<()> {
        let contexts = sink.wants().contexts;
        let mut frame_names = FrameNames::default();
        let frames: Vec<FrameId> = (0..self.names.len() as u32)
            .map(|number| frame_names.build(sink, |out| sanitize_frame(self.names.name(number), out)))
            .collect();
        // A thread may have a track of its own and lines of atrace.
        let mut owners: BTreeMap<(Option<(u64, u64)>, u64), Spans> = BTreeMap::new();
        for (lane, spans) in std::mem::take(&mut self.lanes) {
            let track = if let Lane::Track(uuid) = lane { uuid } else { 0 };
            let thread = self.thread(lane);
            let whole = owners.entry((thread, if thread.is_some() { 0 } else { track })).or_default();
            whole.marks.extend(spans.marks);
            whole.whole.extend(spans.whole);
        }
        let several = owners.keys().filter(|(thread, _)| thread.is_some()).count() > 1;
        let (mut misplaced, mut name) = (Misplaced::default(), Vec::new());
        for ((thread, track), spans) in owners {
            let mut stacks = Trie::new(contexts);
            misplaced += spans.collapse(&mut stacks, |_, _| Ok(()))?;
            let own = match thread {
                Some((pid, tid)) => threads.get(&tid).or_else(|| processes.get(&pid)),
                None => self.track_names.get(&track),
            };
            let own = own.map_or(&b""[..], Vec::as_slice);
            let numbers = thread.map(|(pid, tid)| [pid.to_string(), tid.to_string()]).unwrap_or_default();
            let owner = Thread { name: own, pid: numbers[0].as_bytes(), tid: numbers[1].as_bytes() };
            let is_thread = thread.is_some();
            let shown =
                if is_thread { options.shows_threads(several && !own.is_empty()) } else { !own.is_empty() };
            name.clear();
            match is_thread {
                true => owner.write(options, &mut name),
                false => sanitize_frame(own, &mut name),
            }
            let start = shown.then(|| sink.frame(&name));
            let column = columns[usize::from(!is_thread)];
            stacks.for_each(
                start,
                |number| Ok(frames[number as usize]),
                |stack, sampled| {
                    let category = if contexts { self.names.name(sampled.origin) } else { b"" };
                    let label = [(&b"category"[..], category)];
                    let mut context = if contexts { owner.context(sampled.time) } else { Context::UNKNOWN };
                    if !category.is_empty() {
                        context.labels = &label;
                    }
                    let context = (&context, sampled.duration);
                    values.add_lasting(column, stack, sampled.weight, sampled.samples, context, sink)
                },
            )?;
        }
        let Misplaced { unbegun, overlapping } = misplaced;
        if unbegun > 0 {
            report.note(format!("{unbegun} slices end that began before the trace; they are left out"));
        }
        if overlapping > 0 {
            report.note(format!(
                "{overlapping} slices outlast the slice they lie in; what is behind its end is left out"
            ));
        }
        if self.without_stack > 0 {
            report.note(format!(
                "{} events have no stack (instants, counters, asynchronous ones, …); they are left out",
                self.without_stack
            ));
        }
        Ok(())
    }
}

/// The parts of an event that were a trace event of Chrome's older format.
#[derive(Default)]
struct Legacy {
    name: u64,
    phase: u8,
    /// Microseconds.
    duration: u64,
    process: u64,
    thread: u64,
}

impl Legacy {
    fn read(bytes: &[u8]) -> Option<Legacy> {
        let mut fields = [0; 20];
        message(bytes, &mut fields)?;
        let phase = u8::try_from(fields[2]).unwrap_or(0);
        Some(Legacy { name: fields[1], phase, duration: fields[3], process: fields[18], thread: fields[19] })
    }
}
