//! Chrome's trace events: chrome://tracing, Node's `--trace-event-categories`, `py-spy record -f
//! chrometrace`, and whatever else writes them (seen: Node 20, py-spy 0.4).
//!
//! ```text
//! {"traceEvents": [{"ph": "B", "name": "parse", "pid": 7, "tid": 8, "ts": 103305},
//!                  {"ph": "E", "name": "parse", "pid": 7, "tid": 8, "ts": 103310},
//!                  {"ph": "X", "name": "layout", "pid": 7, "tid": 8, "ts": 103305, "dur": 3.5},
//!                  {"ph": "P", "name": "ProfileChunk", "id": "0x1", "args": {"data": {…}}, …}]}
//! ```
//! or only the array, which need not be closed. Three things in it have stacks. What begins and ends
//! on a thread (`B` and `E`, `X`) nests, and weighs the time in which nothing further began; so does what begins and
//! ends anywhere (`b` and `e`) with the same category and number. The processor profiles of V8 come in pieces
//! (`Profile`, `ProfileChunk`), and are what counts where there are any; samples of
//! [`stack_frames`] are likewise. To Chrome 66 a profile was one event, `CpuProfile`. Everything else has no stack. Specified in "Trace Event
//! Format", Google, 2016.
//!
//! PyTorch's profiler and JAX's write spans of Python functions, operators and calls of the CUDA runtime; see
//! [`device`] for the work of a GPU. `[memory]` events of PyTorch are allocations by what was open at the time.
//!
//! clang's `-ftime-trace` says in `args.detail` what a span is about, a file or a function, and the compiler of
//! TypeScript (`--generateTrace`) in `args.path`. clang adds a span for the sum of all of one name, `Total Source`,
//! on a thread of its own. viztracer's spans are called `function (file:line)`.
//!
//! py-spy ends what was open on a thread when it sees another process on a thread of the same
//! number, which forked processes have, and gives the end that other process; so its events are
//! matched by their thread alone.

mod device;
mod event;
mod stack_frames;
mod stacks;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, HashMap};

use self::device::Device;
use self::event::{Category, Event};
use self::stack_frames::{Sample, StackFrames};
use super::call_tree::Tree;
use crate::collapse::kit::json::{HeadKeys, Json, Kind, parse_number};
use crate::collapse::kit::names::FrameNames;
use crate::collapse::kit::spans::{Mark, Moment, Span, Spans};
use crate::collapse::kit::times::date;
use crate::collapse::{Certainty, Collapser, ContextInfo, FormatInfo, Reading, Report, Sink, Tested};
use crate::error::{Error, Result};
use crate::folded::Interner;
use crate::input::Input;
use crate::profile::Facts;
use crate::weight::Weight;

const INFO: FormatInfo = FormatInfo {
    name: "chrome-trace",
    producer: "Chrome, Node, React Native's Hermes, py-spy -f chrometrace, PyTorch's and JAX's profilers, viztracer, clang -ftime-trace, tsc --generateTrace, cmake --profiling-output, go build -debug-trace, uftrace dump --chrome, DevTools of Dart and Flutter: trace events",
    tested: Tested::Seen(
        "Node 20, py-spy 0.4.3, PyTorch 2.15, JAX 0.10, 0.12, viztracer 1.1, clang 14, TypeScript 5.9, CMake 3.25, Go 1.19, uftrace 0.13; Hermes, Dart and GPU kernels by the sources",
    ),
    values: "cpu-profile or samples if there are any, events, async, gpu, allocated, gpu-allocated",
    unit: "us, samples, us, us, us, bytes, bytes",
};

/// Collapses trace events.
pub struct Trace;

impl Collapser for Trace {
    fn info(&self) -> &'static FormatInfo {
        &INFO
    }

    fn contexts(&self) -> ContextInfo {
        ContextInfo {
            times: "events, samples",
            clock: Some("monotonic"),
            labels: "thread, tid, process, category, tag",
        }
    }

    fn detect(&self, head: &[u8]) -> Certainty {
        let Some(keys) = HeadKeys::read(head) else { return Certainty::No };
        let is_trace = keys.has("traceEvents") || keys.has_all(&["stackFrames", "samples"]);
        let is_trace = is_trace || keys.has_all(&["stackFrames", "samplePeriod"]);
        let is_trace = is_trace || keys.has("cpu-profiler");
        if is_trace || (keys.array && keys.has("ph")) { Certainty::Yes } else { Certainty::No }
    }

    fn collapse(
        &self,
        input: Input,
        reading: &Reading<'_>,
        sink: &mut dyn Sink,
        report: &mut Report,
    ) -> Result<()> {
        let mut json = Json::new(input);
        let mut events = Events::default();
        let mut base = None;
        let read = match json.peek()? {
            Kind::Array => events.read(&mut json, sink),
            _ => events.object(&mut json, &mut report.facts, true, &mut base, sink),
        };
        match read {
            Ok(()) => json.end(report),
            // Whoever records writes as it goes, and may be stopped at any byte.
            Err(error) if json.is_cut(&error) && events.has_any => {
                report.not_understood.ends_within_record = Some(json.place());
            }
            Err(error) => return Err(error),
        }
        if let (Some(base), Some(first)) = (base, events.first) {
            let first = first.checked_mul(Weight::new(1000)).and_then(|first| base.checked_add(first));
            report.facts.start = first.ok().and_then(|first| date(first, "ns"));
        }
        events.collapse(reading, sink, report).map_err(|e| e.or_at(|| json.place()))
    }
}

/// Notes what Chrome says of itself and of the machine.
fn metadata(json: &mut Json, facts: &mut Facts) -> Result<()> {
    let (mut key, mut system) = (String::new(), [String::new(), String::new(), String::new()]);
    json.begin_object()?;
    while json.next_key(&mut key)? {
        if json.peek()? != Kind::Text {
            json.skip()?;
            continue;
        }
        let text = json.text()?;
        match key.as_str() {
            "command_line" => facts.set_command(text),
            "product-version" => facts.producer = crate::profile::fact(text.as_bytes()),
            "startTime" => facts.start = humantime::parse_rfc3339(text).ok(),
            "os-name" => system[0] = text.to_owned(),
            "os-version" => system[1] = text.to_owned(),
            "os-arch" => system[2] = text.to_owned(),
            _ => {}
        }
    }
    facts.system = crate::profile::fact(system.join(" ").trim().as_bytes()).or(facts.system.take());
    Ok(())
}

/// A number, which Hermes writes as a text.
///
/// # Errors
/// Anything else.
pub(super) fn microseconds(json: &mut Json) -> Result<Weight> {
    let text = json.text_or_number()?;
    match parse_number(text) {
        Some(number) => Ok(as_meant(number)),
        None => {
            let found = Error::malformed("a number", text.as_bytes());
            Err(found.at(json.place()))
        }
    }
}

/// A number of microseconds without what only its binary fraction adds: JAX prints 10.749000000000001, and
/// TypeScript what it subtracts, 6096.138000000035. No binary fraction has more than fifteen digits that are right;
/// numbers of fewer digits, and those that are not next to a shorter one, are what they say.
fn as_meant(number: Weight) -> Weight {
    const NANOSECONDS: usize = 3;
    const PICOSECONDS: usize = 6;
    const FEMTOSECONDS: usize = 9;
    const EXACT: usize = 15;
    /// The error of a difference of times, in microseconds.
    const NOISE: f64 = 1e-8;
    let decimals = usize::from(number.decimals());
    if decimals <= PICOSECONDS {
        return number;
    }
    let digits = number.to_string().bytes().filter(u8::is_ascii_digit).count();
    let places = EXACT.saturating_sub(digits - decimals).clamp(NANOSECONDS, PICOSECONDS);
    let rounded = number.times_ratio(Weight::ONE, Weight::ONE, places as u8);
    let is_meant = |rounded: &Weight| {
        let off = number.checked_sub(*rounded).map_or(f64::INFINITY, Weight::to_f64);
        (digits > EXACT || decimals > FEMTOSECONDS)
            && off.abs() <= NOISE + 2.0 * f64::EPSILON * number.to_f64().abs()
    };
    rounded.ok().filter(is_meant).unwrap_or(number)
}

/// Process and thread, as numbers or whatever else a writer calls them.
pub(super) type ThreadKey = (String, String);

#[derive(Default)]
struct Events {
    /// True if an event was read.
    has_any: bool,
    threads: BTreeMap<ThreadKey, Spans>,
    /// By process, category and id: asynchronous spans, and the thread that began the first.
    tasks: BTreeMap<(String, String, String), (ThreadKey, Spans)>,
    /// By process and id: the pieces of the profiles, with their times.
    pieces: BTreeMap<(String, String), Vec<TimedPiece>>,
    process_names: BTreeMap<String, String>,
    /// The process that was seen first on each thread of py-spy's.
    py_spy: HashMap<String, String>,
    thread_names: BTreeMap<ThreadKey, String>,
    /// Samples that name their frames by number.
    stack_frames: StackFrames,
    /// The work of other processors.
    device: Device,
    /// The number of events that have no stack, and of those that are the sum of others.
    without_stack: u64,
    sums: u64,
    /// The first beginning and the last end.
    first: Option<Weight>,
    last: Option<Weight>,
    names: FrameNames,
    categories: Interner,
}

/// A piece, and the time of its event.
type TimedPiece = (Option<Weight>, Piece);

/// A piece of a processor profile of V8's.
enum Piece {
    /// A profile of a thread begins, at a time in microseconds.
    Start(ThreadKey, Option<Weight>),
    /// Nodes and samples of the profile that has begun before.
    Chunk(Box<Tree>),
}

/// A processor profile, and the thread that it is of.
#[derive(Default)]
struct ThreadProfile {
    thread: Option<ThreadKey>,
    tree: Tree,
}

impl Events {
    /// Reads a trace in an object, or in one of the objects of DevTools; `base` becomes the date in nanoseconds that
    /// times count from, if it says one.
    fn object(
        &mut self,
        json: &mut Json,
        facts: &mut Facts,
        is_outermost: bool,
        base: &mut Option<Weight>,
        sink: &mut dyn Sink,
    ) -> Result<()> {
        let mut key = String::new();
        json.begin_object()?;
        while json.next_key(&mut key)? {
            match (key.as_str(), json.peek()?) {
                ("traceEvents", _) => self.read(json, sink)?,
                ("stackFrames", Kind::Object) => self.stack_frames.frames(json, &mut self.names, sink)?,
                ("samples", Kind::Array) => self.stack_frames.samples(json)?,
                ("metadata" | "otherData", Kind::Object) => metadata(json, facts)?,
                // Of Dart, in microseconds.
                ("samplePeriod", Kind::Number) => {
                    let period = json.index()?.filter(|period| (1..=1_000_000).contains(period));
                    facts.rate = period.map(|period| (1_000_000 / period) as u64);
                }
                // PyTorch's times count from this date.
                ("baseTimeNanoseconds", Kind::Number) => *base = Some(json.weight()?),
                // And clang's from this one, in microseconds.
                ("beginningOfTime", Kind::Number) => {
                    *base = Some(json.weight()?.checked_mul(Weight::new(1000))?);
                }
                ("cpu-profiler", Kind::Object) if is_outermost => {
                    self.object(json, facts, false, &mut None, sink)?;
                }
                _ => json.skip()?,
            }
        }
        Ok(())
    }

    fn read(&mut self, json: &mut Json, sink: &mut dyn Sink) -> Result<()> {
        let mut event = Event::default();
        json.begin_array()?;
        while json.next_item_or_end()? {
            if !json.null()? {
                event.read(json, sink)?;
                self.event(&mut event, sink)?;
                self.has_any = true;
            }
        }
        Ok(())
    }

    fn event(&mut self, event: &mut Event, sink: &mut dyn Sink) -> Result<()> {
        if event.category == Category::PySpy {
            let first = self.py_spy.entry(event.thread.clone()).or_insert_with(|| event.process.clone());
            event.process.clone_from(first);
        }
        if event.category == Category::Across {
            self.without_stack += 1;
            return Ok(());
        }
        if event.is_sum() {
            self.sums += 1;
            return Ok(());
        }
        if let (Some(at), "B" | "E" | "X") = (event.at, event.phase.as_str()) {
            self.first = Some(self.first.map_or(at, |first| first.min(at)));
            self.last = self.last.max(Some(at));
        }
        let thread = || (event.process.clone(), event.thread.clone());
        match (event.phase.as_str(), event.at) {
            ("B" | "b", Some(at)) => {
                let frame = event.frame(&mut self.names, sink);
                let name = self.names.plain(event.name.as_bytes(), sink);
                let category = self.categories.key(event.category_name.as_bytes());
                self.spans_of(event).marks.push((at, Mark::Begin(frame, name, category)));
            }
            ("E" | "e", Some(at)) => {
                let named = !event.name.is_empty();
                let name = named.then(|| self.names.plain(event.name.as_bytes(), sink));
                self.spans_of(event).marks.push((at, Mark::End(name)));
            }
            ("X", Some(at)) => {
                let frame = event.frame(&mut self.names, sink);
                let duration = event.duration.filter(|duration| !duration.is_negative());
                let end = at.checked_add(duration.unwrap_or_default())?;
                self.last = self.last.max(Some(end));
                let category = self.categories.key(event.category_name.as_bytes());
                let span = Span { begin: at, end, frame, category, launch: event.launch };
                match event.category {
                    Category::Kernel | Category::Copy => self.device.push(&thread(), span),
                    _ => self.threads.entry(thread()).or_default().whole.push(span),
                }
            }
            ("i", Some(at)) if event.name == "[memory]" && event.bytes.is_some() => {
                // What is freed weighs less than nothing.
                if let Some(weight) = event.bytes.filter(|bytes| !bytes.is_negative()) {
                    let kind = usize::from(event.memory != 0);
                    self.threads.entry(thread()).or_default().moments.push(Moment { at, weight, kind });
                }
            }
            ("M", _) if event.name == "process_name" => {
                self.process_names.insert(event.process.clone(), event.label.clone());
            }
            ("M", _) if event.name == "thread_name" => {
                self.thread_names.insert(thread(), event.label.clone());
            }
            ("P", _) if event.name == "Profile" => {
                let stated = event.piece.take().and_then(|piece| piece.start);
                self.piece(event, Piece::Start(thread(), stated.or(event.at)));
            }
            ("P", _) if event.name == "ProfileChunk" => {
                if let Some(chunk) = event.piece.take() {
                    self.piece(event, Piece::Chunk(Box::new(chunk)));
                }
            }
            // To Chrome 66 a whole profile, of the thread that the event is on.
            (_, at) if event.name == "CpuProfile" && event.piece.is_some() => {
                let profile = event.piece.take().unwrap_or_default();
                let key = (event.process.clone(), format!("of {}", event.thread));
                let pieces = self.pieces.entry(key).or_default();
                pieces.push((at, Piece::Start(thread(), profile.start)));
                pieces.push((at, Piece::Chunk(Box::new(profile))));
            }
            ("P", at) if !event.frame_number.is_empty() => {
                let is_given = event.tag != "Default";
                self.stack_frames.push(Sample {
                    frame: event.frame_number.clone(),
                    thread: thread(),
                    at,
                    weight: Weight::ONE,
                    tag: if is_given { event.tag.clone() } else { String::new() },
                });
            }
            ("M", _) => {}
            _ => self.without_stack += 1,
        }
        Ok(())
    }

    /// The spans among which an event begins or ends one: of its thread, or, in lower case, of its number.
    fn spans_of(&mut self, event: &Event) -> &mut Spans {
        let thread = || (event.process.clone(), event.thread.clone());
        if event.phase.starts_with(char::is_uppercase) {
            return self.threads.entry(thread()).or_default();
        }
        let task = (event.process.clone(), event.category_name.clone(), event.id.clone());
        &mut self.tasks.entry(task).or_insert_with(|| (thread(), Spans::default())).1
    }

    fn piece(&mut self, event: &Event, piece: Piece) {
        let pieces = self.pieces.entry((event.process.clone(), event.id.clone())).or_default();
        pieces.push((event.at, piece));
    }

    /// Puts the profiles together. Chrome writes their pieces as threads come to it, so that they are in the
    /// order of time only once they are sorted.
    fn profiles(&mut self) -> Vec<ThreadProfile> {
        let mut profiles = Vec::new();
        for mut pieces in std::mem::take(&mut self.pieces).into_values() {
            pieces.sort_by_key(|(at, _)| *at);
            let mut profile = ThreadProfile::default();
            for (_, piece) in pieces {
                match piece {
                    Piece::Start(thread, start) => {
                        if profile.thread.is_some() {
                            profiles.push(std::mem::take(&mut profile));
                        }
                        profile.thread = Some(thread);
                        profile.tree.start = start;
                    }
                    Piece::Chunk(chunk) => profile.tree.absorb(*chunk),
                }
            }
            profiles.push(profile);
        }
        profiles.retain(|profile| !profile.tree.is_empty());
        profiles
    }
}
