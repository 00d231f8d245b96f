//! The events of a recording as they come from its text, its JSON or the recording itself: kinds,
//! stacks, own weights, threads.
//!
//! Each event of a kind that has stacks is a sample. The kinds are the values, and those that sample the
//! processor are the default wherever they come: a whole recording begins with something else. The own
//! weight of an event, such as the bytes of an allocation or the time of a wait, is a value besides.

use std::collections::HashMap;

use crate::collapse::kit::names::{FrameNames, NO_STACK};
use crate::collapse::kit::threads::Thread;
use crate::collapse::kit::times::{date, duration};
use crate::collapse::kit::trie::{PathId, Trie};
use crate::collapse::kit::values::Values;
use crate::collapse::{CollapseOptions, Context, Report, Sink, Value};
use crate::error::Result;
use crate::folded::{FrameId, Kind as CodeKind, Place, sanitize_frame};
use crate::weight::Weight;

/// The kinds of events that sample the processor. The first of them that has come is the default: JDK 25
/// takes CPU-time samples at exact intervals, of native code too.
const PROCESSOR: [&[u8]; 2] = [b"jdk.CPUTimeSample", b"jdk.ExecutionSample"];

/// The frame that stands for those that were cut off at the root.
const TRUNCATED: &[u8] = b"[truncated]";

/// An own weight of an event, by the name of the field that holds it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Amount {
    /// The field's name.
    pub field: &'static str,
    /// The unit: `bytes` or `ns`.
    pub unit: &'static str,
}

/// The fields that are weights. `samples` is none: an event of async-profiler with it stands for as many.
const AMOUNTS: [Amount; 9] = [
    Amount { field: "weight", unit: "bytes" },
    Amount { field: "allocationSize", unit: "bytes" },
    Amount { field: "tlabSize", unit: "bytes" },
    Amount { field: "objectSize", unit: "bytes" },
    Amount { field: "size", unit: "bytes" },
    Amount { field: "bytesRead", unit: "bytes" },
    Amount { field: "bytesWritten", unit: "bytes" },
    Amount { field: "duration", unit: "ns" },
    Amount { field: "samplingPeriod", unit: "ns" },
];

impl Amount {
    /// The weight that a field of this name holds.
    pub fn of(field: &str) -> Option<Amount> {
        AMOUNTS.into_iter().find(|amount| amount.field == field)
    }

    fn value(self, kind: &[u8]) -> Value {
        Value::new([kind, b".", self.field.as_bytes()].concat(), self.unit)
    }
}

/// Returns true if a field says how many samples an event of this kind stands for: `samples` of async-profiler, `weight`
/// of Datadog's profiler.
pub fn counts_samples(kind: &[u8], field: &str) -> bool {
    field == "samples"
        || field == "weight" && matches!(kind, b"datadog.ExecutionSample" | b"datadog.MethodSample")
}

/// The thread of an event, and the labels of it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Origin {
    /// The thread's name in Java, or else that of the system.
    pub thread: Vec<u8>,
    /// The thread's number, in decimal.
    pub id: Vec<u8>,
    /// The state it was in: `STATE_RUNNABLE`.
    pub state: Vec<u8>,
    /// The class of an allocated object or of a monitor.
    pub class: Vec<u8>,
    /// True for a virtual thread.
    pub is_virtual: bool,
}

impl Origin {
    fn named(&self) -> Thread<'_> {
        Thread { name: &self.thread, pid: b"", tid: &self.id }
    }

    /// The frame of the thread.
    pub fn frame(&self, options: &CollapseOptions, sink: &mut dyn Sink) -> FrameId {
        let mut name = Vec::new();
        self.named().write(options, &mut name);
        sink.frame(&name)
    }

    /// Calls `each` with the context of a sample.
    fn with_context<T>(&self, time: Option<u64>, each: impl FnOnce(&Context<'_>) -> T) -> T {
        let virtual_thread: &[u8] = if self.is_virtual { b"true" } else { b"" };
        let labels =
            [(&b"state"[..], &self.state[..]), (b"class", &self.class), (b"virtual", virtual_thread)];
        let labels: Vec<_> = labels.into_iter().filter(|(_, value)| !value.is_empty()).collect();
        each(&Context { labels: &labels, ..self.named().context(time) })
    }
}

/// A frame of Java.
#[derive(Clone, Copy, Debug, Default)]
pub struct JavaFrame<'a> {
    /// Class and function.
    pub name: &'a [u8],
    /// The line, from 1; 0 is unknown.
    pub line: u32,
    /// The kind of frame, as the recording names it: `Inlined`.
    pub kind: &'a [u8],
}

impl JavaFrame<'_> {
    /// The frame in the sink.
    pub fn build(&self, options: &CollapseOptions, names: &mut FrameNames, sink: &mut dyn Sink) -> FrameId {
        let place = Place {
            line: self.line,
            kind: match self.kind {
                b"JIT compiled" | b"Inlined" | b"C1 compiled" => CodeKind::Jit,
                b"Native" | b"C++" => CodeKind::User,
                b"Kernel" => CodeKind::Kernel,
                _ => CodeKind::Unknown,
            },
            inlined: self.kind == b"Inlined",
            ..Place::default()
        };
        names.build_at(&place, sink, |out| {
            sanitize_frame(self.name, out);
            if options.srcline && self.line > 0 {
                out.push(b':');
                out.extend_from_slice(self.line.to_string().as_bytes());
            }
            if options.kernel && place.kind == CodeKind::Kernel {
                out.extend_from_slice(b"_[k]");
            } else if options.inline && place.inlined {
                out.extend_from_slice(b"_[i]");
            } else if options.jit && place.kind == CodeKind::Jit {
                out.extend_from_slice(b"_[j]");
            }
        })
    }
}

/// An event as it is read; frames leaf first.
#[derive(Default)]
pub struct Event {
    /// Its kind: `jdk.ExecutionSample`.
    pub name: Vec<u8>,
    /// Its thread.
    pub origin: Origin,
    /// Its stack.
    pub frames: Vec<FrameId>,
    /// True if the stack was cut.
    pub truncated: bool,
    /// The time at which it began, in nanoseconds: since 1970, or in text since midnight.
    pub time: Option<u64>,
    /// The number of samples that it stands for.
    pub samples: Option<Weight>,
    /// Its own weights.
    pub amounts: Vec<(Amount, Weight)>,
}

/// The number of a kind of events.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct KindId(usize);

/// The place of a stack among those of a kind: in the counts, and in each of the weights.
pub type Paths = Vec<PathId>;

/// The kinds of events that came, in their order.
#[derive(Default)]
pub struct Events {
    /// Names of frames.
    pub names: FrameNames,
    /// The main class and its arguments.
    pub command: Vec<u8>,
    /// The version of the virtual machine.
    pub version: Vec<u8>,
    kinds: Vec<EventKind>,
    /// True if every event is kept by itself.
    contexts: bool,
    /// The threads of events that are kept by themselves.
    origins: Vec<Origin>,
    origin_numbers: HashMap<Origin, u32>,
    /// The earliest and the latest time.
    first: Option<u64>,
    last: Option<u64>,
}

/// The stacks of one kind of event.
struct EventKind {
    name: Vec<u8>,
    /// True if one of them had a stack: otherwise it is a kind that has none.
    stacks: bool,
    samples: Trie,
    amounts: Vec<(Amount, Trie)>,
}

impl Events {
    /// No events yet.
    pub fn new(sink: &dyn Sink) -> Events {
        Events { contexts: sink.wants().contexts, ..Events::default() }
    }

    /// True if every event is kept by itself, so that its origin counts.
    pub fn keeps_origins(&self) -> bool {
        self.contexts
    }

    /// The kind of a name.
    pub fn kind(&mut self, name: &[u8]) -> KindId {
        let known = self.kinds.iter().position(|kind| kind.name == name);
        KindId(known.unwrap_or_else(|| {
            let samples = Trie::new(self.contexts);
            self.kinds.push(EventKind { name: name.to_vec(), stacks: false, samples, amounts: Vec::new() });
            self.kinds.len() - 1
        }))
    }

    /// The number of a kind's weight in the [`Paths`] of that kind, of which 0 is the count.
    pub fn amount(&mut self, kind: KindId, amount: Amount) -> usize {
        let contexts = self.contexts;
        let amounts = &mut self.kinds[kind.0].amounts;
        let known = amounts.iter().position(|(known, _)| *known == amount);
        1 + known.unwrap_or_else(|| {
            amounts.push((amount, Trie::new(contexts)));
            amounts.len() - 1
        })
    }

    /// The number of an origin; 0 where none are kept.
    pub fn origin(&mut self, origin: &Origin) -> u32 {
        if !self.contexts {
            return 0;
        }
        if let Some(&number) = self.origin_numbers.get(origin) {
            return number;
        }
        let number = u32::try_from(self.origins.len()).unwrap_or(u32::MAX);
        self.origins.push(origin.clone());
        self.origin_numbers.insert(origin.clone(), number);
        number
    }

    /// The place of a stack, leaf first, which the frame of its thread ends.
    pub fn paths(
        &mut self,
        kind: KindId,
        frames: &mut Vec<FrameId>,
        truncated: bool,
        thread: Option<FrameId>,
        sink: &mut dyn Sink,
    ) -> Paths {
        let kind = &mut self.kinds[kind.0];
        if frames.is_empty() {
            frames.push(sink.frame(NO_STACK));
        } else {
            kind.stacks = true;
        }
        if truncated {
            frames.push(sink.frame(TRUNCATED));
        }
        frames.extend(thread);
        let tries = std::iter::once(&mut kind.samples).chain(kind.amounts.iter_mut().map(|(_, trie)| trie));
        let path =
            |trie: &mut Trie| frames.iter().rev().fold(Trie::ROOT, |path, frame| trie.below(path, frame.0));
        tries.map(path).collect()
    }

    /// Adds a weight at one of the places of a stack: 0 is that of the count.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Overflow`].
    pub fn add_at(
        &mut self,
        kind: KindId,
        (column, path): (usize, PathId),
        weight: Weight,
        time: Option<u64>,
        origin: u32,
    ) -> Result<()> {
        let kind = &mut self.kinds[kind.0];
        match column.checked_sub(1) {
            None => kind.samples.add_from(path, weight, time, origin),
            Some(at) => {
                let (amount, trie) = &mut kind.amounts[at];
                let lasts = if amount.field == "duration" { weight.to_u64().unwrap_or(0) } else { 0 };
                trie.add_lasting(path, weight, time, lasts, origin)
            }
        }
    }

    /// Notes a time at which something was going on.
    pub fn note_time(&mut self, time: Option<u64>) {
        if let Some(time) = time {
            self.first = Some(self.first.map_or(time, |first| first.min(time)));
            self.last = self.last.max(Some(time));
        }
    }

    /// Adds an event that was read by itself.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Overflow`].
    pub fn add(&mut self, event: &mut Event, options: &CollapseOptions, sink: &mut dyn Sink) -> Result<()> {
        self.note_time(event.time);
        let kind = self.kind(&event.name);
        let columns: Vec<usize> =
            event.amounts.iter().map(|(amount, _)| self.amount(kind, *amount)).collect();
        let thread = options.shows_threads(false).then(|| event.origin.frame(options, sink));
        let paths = self.paths(kind, &mut event.frames, event.truncated, thread, sink);
        let origin = self.origin(&event.origin);
        self.add_at(kind, (0, paths[0]), event.samples.unwrap_or(Weight::ONE), event.time, origin)?;
        for (column, (_, weight)) in columns.into_iter().zip(&event.amounts) {
            self.add_at(kind, (column, paths[column]), *weight, event.time, origin)?;
        }
        Ok(())
    }

    /// Pushes all samples.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Overflow`], and values that are not there.
    pub fn finish(
        mut self,
        options: &CollapseOptions,
        sink: &mut dyn Sink,
        report: &mut Report,
    ) -> Result<()> {
        self.kinds.retain(|kind| kind.stacks);
        if self.kinds.is_empty() {
            return Ok(());
        }
        let named = |name: &&[u8]| self.kinds.iter().position(|kind| kind.name == **name);
        let default = PROCESSOR.iter().find_map(named).unwrap_or(0);
        let counts = self.kinds.iter().map(|kind| (Value::new(kind.name.clone(), "samples"), &kind.samples));
        let amounts = self
            .kinds
            .iter()
            .flat_map(|kind| kind.amounts.iter().map(|(amount, stacks)| (amount.value(&kind.name), stacks)));
        let (declared, columns): (Vec<Value>, Vec<&Trie>) = counts.chain(amounts).unzip();
        let mut values = Values::new(options, declared, default)?;
        for (column, stacks) in columns.into_iter().enumerate() {
            stacks.for_each(
                None,
                |frame| Ok(FrameId(frame)),
                |stack, sampled| {
                    let mut add = |context: &Context<'_>| {
                        let context = (context, sampled.duration);
                        values.add_lasting(column, stack, sampled.weight, sampled.samples, context, sink)
                    };
                    match self.origins.get(sampled.origin as usize) {
                        Some(origin) => origin.with_context(sampled.time, add),
                        None => add(&Context::UNKNOWN),
                    }
                },
            )?;
        }
        if let (Some(first), Some(last)) = (self.first, self.last) {
            let (first, last) = (Weight::from(first), Weight::from(last));
            report.facts.start = date(first, "ns");
            report.facts.duration = last.checked_sub(first).ok().and_then(|passed| duration(passed, "ns"));
        }
        report.facts.set_command(self.command.strip_suffix(b"\"").unwrap_or(&self.command));
        report.facts.producer =
            crate::profile::fact(self.version.strip_suffix(b"\"").unwrap_or(&self.version));
        values.finish(report)
    }
}

#[cfg(test)]
mod tests {
    use crate::collapse::formats::jfr::JfrText;
    use crate::collapse::tests::{collapse_bytes, fold};
    use crate::collapse::{CollapseOptions, ValueSelection};

    #[test]
    fn the_processor_is_the_default_wherever_it_comes() {
        let text = "jdk.ThreadPark {\n  x = 1\n  stackTrace = [\n    a.p() line: 1\n  ]\n}\n\n\
                    jdk.GCPhase {\n  x = 1\n}\n\njdk.ExecutionSample {\n  x = two\nlines\n}\n\n\
                    jdk.ExecutionSample {\n  x = 1\n  stackTrace = [\n    a.b() line: 1\n    ...\n  ]\n}\n";
        assert_eq!(fold(&JfrText, text, &CollapseOptions::default()), "[no stack] 1\n[truncated];a.b 1\n");
        let waits = CollapseOptions {
            values: ValueSelection::Named(vec![b"jdk.ThreadPark".to_vec()]),
            ..CollapseOptions::default()
        };
        assert_eq!(fold(&JfrText, text, &waits), "a.p 1\n");
        let other = CollapseOptions {
            values: ValueSelection::Named(vec![b"jdk.GCPhase".to_vec()]),
            ..CollapseOptions::default()
        };
        let error = collapse_bytes(&JfrText, text, &other).unwrap_err().to_string();
        assert!(error.contains("there are \"jdk.ThreadPark\", \"jdk.ExecutionSample\""), "{error}");
        // JDK 25 has samples by the processor's time, which count native code as well.
        let both = format!("{text}\n{}", text.replace("jdk.ExecutionSample", "jdk.CPUTimeSample"));
        let both = both.replace("a.b()", "a.c()").replacen("a.c()", "a.b()", 1);
        assert_eq!(fold(&JfrText, &both, &CollapseOptions::default()), "[no stack] 1\n[truncated];a.c 1\n");
    }
}
