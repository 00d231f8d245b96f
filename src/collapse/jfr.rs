//! The events of Java's Flight Recorder as `jfr print` writes them, as text or as JSON (seen:
//! OpenJDK 17).
//!
//! ```text
//! jdk.ExecutionSample {
//!   startTime = 00:18:34.563
//!   sampledThread = "main" (javaThreadId = 1)
//!   stackTrace = [
//!     java.lang.invoke.LambdaForm.argument(int, LambdaForm$BasicType) line: 1630
//!     Orders.main(String[]) line: 13
//!   ]
//! }
//! ```
//! Each event of a kind that has stacks is a sample. The kinds are the values, and samples of the
//! processor are the default wherever they come: a whole recording begins with something else.
//! The own weight of an event, the bytes of an allocation and the time of a wait, is a value
//! besides, in JSON only: the text rounds it. Of deep stacks `jfr print` shows five frames unless
//! `--stack-depth 64` says otherwise; what it cut begins with `[truncated]`.

use std::collections::HashMap;

use super::json::{HeadKeys, Json, Kind};
use super::names::{FrameNames, NO_STACK};
use super::text::Text;
use super::threads::Thread;
use super::times::{self, date, duration};
use super::trie::Trie;
use super::values::Values;
use super::{Collapser, Context, FormatInfo, Options, Report, Sink, Value, Verdict};
use crate::error::Result;
use crate::folded::{FrameId, Kind as CodeKind, Place, sanitize_frame};
use crate::input::Input;
use crate::weight::Weight;

const TEXT: FormatInfo = FormatInfo {
    name: "jfr-text",
    producer: "jfr print --events jdk.ExecutionSample --stack-depth 64",
    tested: "OpenJDK 17, 25",
    values: "the events: jdk.ExecutionSample, or else the first; …",
    unit: "samples",
};

const JSON: FormatInfo = FormatInfo {
    name: "jfr-json",
    producer: "jfr print --json --stack-depth 64",
    tested: "OpenJDK 17, 25",
    values: "the events: jdk.ExecutionSample, or else the first; …; jdk.ObjectAllocationSample.weight, jdk.JavaMonitorEnter.duration, …",
    unit: "samples; bytes, ns",
};

/// The kinds of events that sample the processor, the default where there are any.
const PROCESSOR: [&[u8]; 2] = [b"jdk.ExecutionSample", b"jdk.CPUTimeSample"];

const NANOS_A_DAY: u64 = 86_400_000_000_000;

/// The frame that stands for those that were cut off at the root.
const TRUNCATED: &[u8] = b"[truncated]";

/// Collapses the text.
pub struct JfrText;

/// Collapses the JSON.
pub struct JfrJson;

impl Collapser for JfrText {
    fn info(&self) -> &'static FormatInfo {
        &TEXT
    }

    fn detect(&self, head: &[u8]) -> Verdict {
        let mut lines = head
            .split(|&b| b == b'\n')
            .map(<[u8]>::trim_ascii_end)
            .skip_while(|line| line.trim_ascii().is_empty());
        let event = lines.next().and_then(event_name);
        let field = lines.next().is_some_and(|line| line.starts_with(b"  ") && line.contains(&b'='));
        if event.is_some() && field { Verdict::Yes } else { Verdict::No }
    }

    fn collapse(
        &self,
        input: Input,
        options: &Options,
        sink: &mut dyn Sink,
        report: &mut Report,
    ) -> Result<()> {
        let mut events = Events::new(sink);
        let mut event = Event::default();
        let (mut within, mut in_stack) = (false, false);
        let (mut before, mut days) = (None, 0);
        // The field that names the thread, whose name may go on in the next line.
        let mut thread = Vec::new();
        Text::new(input).for_each(report, |line| {
            let text = line.trim_ascii();
            if let Some(name) = event_name(line) {
                event = Event { name: name.to_vec(), ..Event::default() };
                thread.clear();
                (within, in_stack) = (true, false);
            } else if in_stack {
                match text {
                    b"]" => in_stack = false,
                    b"..." => event.truncated = true,
                    text => {
                        let at = memchr::memmem::rfind(text, b" line: ");
                        let (name, line) = at.map_or((text, None), |at| (&text[..at], Some(&text[at + 7..])));
                        let open = memchr::memchr(b'(', name).unwrap_or(name.len());
                        event.frame(&name[..open], line, b"", options, &mut events.names, sink);
                    }
                }
            } else if within && line == b"}" {
                event.thread(&thread);
                events.add(&mut event, options, sink)?;
                within = false;
            } else if within && text == b"stackTrace = [" {
                in_stack = true;
            } else if let Some(time) = text.strip_prefix(b"startTime = ").filter(|_| within) {
                // The date is not shown, or in words of the locale: what is much earlier is the next day.
                let time = time_of_day(time);
                let half_a_day = NANOS_A_DAY / 2;
                days += u64::from(before.zip(time).is_some_and(|(before, time)| time + half_a_day < before));
                before = time.or(before);
                event.time = time.and_then(|time| (NANOS_A_DAY.checked_mul(days)?).checked_add(time));
            } else if let Some(text) = text.strip_prefix(b"javaArguments = ").filter(|_| within) {
                events.command = text.trim_ascii_start().strip_prefix(b"\"").unwrap_or(text).to_vec();
            } else if let Some(text) = text.strip_prefix(b"jvmVersion = ").filter(|_| within) {
                events.version = text.trim_ascii_start().strip_prefix(b"\"").unwrap_or(text).to_vec();
            } else if let Some(name) =
                text.strip_prefix(b"sampledThread = ").or_else(|| text.strip_prefix(b"eventThread = "))
            {
                thread = name.to_vec();
            } else if within && !line.starts_with(b"  ") {
                // A text of several lines, which nothing marks as such.
                if thread.starts_with(b"\"") && !thread.ends_with(b")") {
                    thread.push(b' ');
                    thread.extend_from_slice(line);
                }
            } else {
                return Ok(text.is_empty() || line.starts_with(b"  "));
            }
            Ok(true)
        })?;
        events.finish(options, sink, report)
    }
}

impl Collapser for JfrJson {
    fn info(&self) -> &'static FormatInfo {
        &JSON
    }

    fn detect(&self, head: &[u8]) -> Verdict {
        match HeadKeys::read(head) {
            Some(keys) if keys.has("recording.events") => Verdict::Yes,
            _ => Verdict::No,
        }
    }

    fn collapse(
        &self,
        input: Input,
        options: &Options,
        sink: &mut dyn Sink,
        report: &mut Report,
    ) -> Result<()> {
        let mut json = Json::new(input);
        let mut events = Events::new(sink);
        // One document a recording.
        loop {
            each(&mut json, |json, key| match key {
                "recording" => each(json, |json, key| {
                    if key != "events" {
                        return json.skip();
                    }
                    json.begin_array()?;
                    while json.next_item()? {
                        let mut event = Event::default();
                        each(json, |json, key| match key {
                            "type" => {
                                event.name = json.text()?.as_bytes().to_vec();
                                Ok(())
                            }
                            "values" => event.values(json, options, &mut events, sink),
                            _ => json.skip(),
                        })?;
                        let place = json.place();
                        events.add(&mut event, options, sink).map_err(|e| e.or_at(|| place))?;
                    }
                    Ok(())
                }),
                _ => json.skip(),
            })?;
            if !json.next_document()? {
                break;
            }
        }
        events.finish(options, sink, report)
    }
}

/// Reads an object; `field` takes the value of each key.
fn each(json: &mut Json, mut field: impl FnMut(&mut Json, &str) -> Result<()>) -> Result<()> {
    if json.null()? {
        return Ok(());
    }
    let mut key = String::new();
    json.begin_object()?;
    while json.next_key(&mut key)? {
        field(json, &key)?;
    }
    Ok(())
}

/// An event as it is read; frames leaf first.
#[derive(Default)]
struct Event {
    name: Vec<u8>,
    thread: Vec<u8>,
    thread_id: Vec<u8>,
    frames: Vec<FrameId>,
    truncated: bool,
    /// The time at which it began, in nanoseconds: since 1970, or in text since midnight.
    time: Option<u64>,
    /// Its own weight, and the kind of that.
    amount: Option<(Amount, Weight)>,
}

/// The kinds of own weights, by the names of their fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Amount {
    Weight,
    AllocationSize,
    Duration,
}

impl Amount {
    fn value(self, kind: &[u8]) -> Value {
        let (field, unit) = match self {
            Amount::Weight => ("weight", "bytes"),
            Amount::AllocationSize => ("allocationSize", "bytes"),
            Amount::Duration => ("duration", "ns"),
        };
        Value::new([kind, b".", field.as_bytes()].concat(), unit)
    }
}

impl Event {
    /// `"main" (javaThreadId = 1)`
    fn thread(&mut self, text: &[u8]) {
        let end = memchr::memmem::rfind(text, b"\" (").map_or(text.len(), |at| at + 1);
        let name = text[..end].strip_prefix(b"\"").and_then(|name| name.strip_suffix(b"\""));
        self.thread = name.unwrap_or(&text[..end]).to_vec();
        let digits = text[end..].iter().filter(|b| b.is_ascii_digit());
        self.thread_id = digits.copied().collect();
    }

    fn frame(
        &mut self,
        name: &[u8],
        line: Option<&[u8]>,
        kind: &[u8],
        options: &Options,
        names: &mut FrameNames,
        sink: &mut dyn Sink,
    ) {
        let number = line.and_then(|line| std::str::from_utf8(line).ok()?.trim().parse().ok());
        let place = Place {
            line: number.unwrap_or(0),
            kind: match kind {
                b"JIT compiled" | b"Inlined" => CodeKind::Jit,
                b"Native" => CodeKind::User,
                _ => CodeKind::Unknown,
            },
            inlined: kind == b"Inlined",
            ..Place::default()
        };
        self.frames.push(names.build_at(&place, sink, |out| {
            sanitize_frame(name, out);
            if let (true, Some(line)) = (options.srcline, line) {
                out.push(b':');
                sanitize_frame(line, out);
            }
        }));
    }

    fn values(
        &mut self,
        json: &mut Json,
        options: &Options,
        events: &mut Events,
        sink: &mut dyn Sink,
    ) -> Result<()> {
        each(json, |json, key| match key {
            "startTime" if json.peek()? == Kind::Text => {
                self.time = since_1970(json.text()?);
                Ok(())
            }
            "javaArguments" if json.peek()? == Kind::Text => {
                events.command = json.text()?.as_bytes().to_vec();
                Ok(())
            }
            "jvmVersion" if json.peek()? == Kind::Text => {
                events.version = json.text()?.as_bytes().to_vec();
                Ok(())
            }
            "sampledThread" | "eventThread" => each(json, |json, key| {
                match key {
                    "javaName" => self.thread = json.text()?.as_bytes().to_vec(),
                    "osName" if self.thread.is_empty() => self.thread = json.text()?.as_bytes().to_vec(),
                    "javaThreadId" => self.thread_id = json.text_or_number()?.as_bytes().to_vec(),
                    _ => json.skip()?,
                }
                Ok(())
            }),
            "stackTrace" => each(json, |json, key| match key {
                "truncated" => {
                    self.truncated = json.bool()?;
                    Ok(())
                }
                "frames" => {
                    json.begin_array()?;
                    while json.next_item()? {
                        self.json_frame(json, options, &mut events.names, sink)?;
                    }
                    Ok(())
                }
                _ => json.skip(),
            }),
            "weight" if json.peek()? == Kind::Number => self.weighs(Amount::Weight, json.weight()?),
            "allocationSize" if json.peek()? == Kind::Number => {
                self.weighs(Amount::AllocationSize, json.weight()?)
            }
            "duration" if json.peek()? == Kind::Text => match nanoseconds(json.text()?) {
                Some(time) => self.weighs(Amount::Duration, time),
                None => Ok(()),
            },
            _ => json.skip(),
        })
    }

    fn weighs(&mut self, amount: Amount, weight: Weight) -> Result<()> {
        self.amount = Some((amount, weight));
        Ok(())
    }

    fn json_frame(
        &mut self,
        json: &mut Json,
        options: &Options,
        names: &mut FrameNames,
        sink: &mut dyn Sink,
    ) -> Result<()> {
        let (mut class, mut method, mut line) = (String::new(), String::new(), String::new());
        let mut kind = String::new();
        let mut hidden = false;
        each(json, |json, key| match key {
            "method" => each(json, |json, key| {
                match key {
                    "type" => each(json, |json, key| {
                        if key == "name" {
                            class = json.text()?.replace('/', ".");
                            return Ok(());
                        }
                        json.skip()
                    })?,
                    "name" => method = json.text()?.to_owned(),
                    "hidden" => hidden = json.bool()?,
                    _ => json.skip()?,
                }
                Ok(())
            }),
            "type" if json.peek()? == Kind::Text => {
                kind = json.text()?.to_owned();
                Ok(())
            }
            "lineNumber" => {
                line = json.text_or_number()?.to_owned();
                Ok(())
            }
            _ => json.skip(),
        })?;
        // The JVM's own glue, which the text does not show either.
        if !hidden {
            let name = format!("{class}.{method}");
            self.frame(name.as_bytes(), Some(line.as_bytes()), kind.as_bytes(), options, names, sink);
        }
        Ok(())
    }
}

/// The kinds of events that came, in their order.
#[derive(Default)]
struct Events {
    names: FrameNames,
    kinds: Vec<EventKind>,
    /// True if every event is kept by itself.
    contexts: bool,
    /// The threads of events that are kept by themselves: name and number.
    threads: Vec<(Vec<u8>, Vec<u8>)>,
    thread_numbers: HashMap<(Vec<u8>, Vec<u8>), u32>,
    /// The earliest and the latest time.
    first: Option<u64>,
    last: Option<u64>,
    /// The main class and its arguments.
    command: Vec<u8>,
    /// The version of the virtual machine.
    version: Vec<u8>,
}

/// The stacks of one kind of event.
#[derive(Default)]
struct EventKind {
    name: Vec<u8>,
    /// True if one of them had a stack: otherwise it is a kind that has none.
    stacks: bool,
    samples: Trie,
    amounts: Option<(Amount, Trie)>,
}

impl Events {
    fn new(sink: &dyn Sink) -> Events {
        Events { contexts: sink.wants().contexts, ..Events::default() }
    }

    /// The number of an event's thread.
    fn thread(&mut self, event: &Event) -> u32 {
        if !self.contexts {
            return 0;
        }
        let key = (event.thread.clone(), event.thread_id.clone());
        let next = self.threads.len() as u32;
        let number = *self.thread_numbers.entry(key.clone()).or_insert(next);
        if number == next {
            self.threads.push(key);
        }
        number
    }

    fn add(&mut self, event: &mut Event, options: &Options, sink: &mut dyn Sink) -> Result<()> {
        let at = self.kinds.iter().position(|kind| kind.name == event.name).unwrap_or_else(|| {
            let samples = Trie::new(self.contexts);
            self.kinds.push(EventKind { name: event.name.clone(), samples, ..EventKind::default() });
            self.kinds.len() - 1
        });
        if let Some(time) = event.time {
            self.first = Some(self.first.map_or(time, |first| first.min(time)));
            self.last = self.last.max(Some(time));
        }
        let origin = (event.time, self.thread(event));
        let contexts = self.contexts;
        let kind = &mut self.kinds[at];
        if event.frames.is_empty() {
            event.frames.push(sink.frame(NO_STACK));
        } else {
            kind.stacks = true;
        }
        if event.truncated {
            event.frames.push(sink.frame(TRUNCATED));
        }
        if options.shows_threads(false) {
            let mut name = Vec::new();
            Thread { name: &event.thread, pid: b"", tid: &event.thread_id }.write(options, &mut name);
            event.frames.push(sink.frame(&name));
        }
        let lasts = match event.amount {
            Some((Amount::Duration, weight)) => times::nanoseconds(weight, "ns").unwrap_or(0),
            _ => 0,
        };
        let origin = (origin.0, lasts, origin.1);
        add(&mut kind.samples, &event.frames, Weight::ONE, origin)?;
        if let Some((amount, weight)) = event.amount {
            let (_, amounts) = kind.amounts.get_or_insert_with(|| (amount, Trie::new(contexts)));
            add(amounts, &event.frames, weight, origin)?;
        }
        Ok(())
    }

    fn finish(mut self, options: &Options, sink: &mut dyn Sink, report: &mut Report) -> Result<()> {
        self.kinds.retain(|kind| kind.stacks);
        if self.kinds.is_empty() {
            return Ok(());
        }
        let named = |name: &&[u8]| self.kinds.iter().position(|kind| kind.name == **name);
        let default = PROCESSOR.iter().find_map(named).unwrap_or(0);
        let counts = self.kinds.iter().map(|kind| Value::new(kind.name.clone(), "samples"));
        let amounts = self.kinds.iter().filter_map(|kind| Some(kind.amounts.as_ref()?.0.value(&kind.name)));
        let mut values = Values::new(options, counts.chain(amounts).collect(), default)?;
        let counts = self.kinds.iter().map(|kind| &kind.samples);
        let amounts = self.kinds.iter().filter_map(|kind| Some(&kind.amounts.as_ref()?.1));
        for (column, stacks) in counts.chain(amounts).enumerate() {
            stacks.for_each(
                None,
                |frame| Ok(FrameId(frame)),
                |stack, sampled| {
                    let context = match self.threads.get(sampled.origin as usize) {
                        Some((name, tid)) => Thread { name, pid: b"", tid }.context(sampled.time),
                        None => Context::UNKNOWN,
                    };
                    let context = (&context, sampled.duration);
                    values.add_lasting(column, stack, sampled.weight, sampled.samples, context, sink)
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

/// Adds a stack, which is leaf first.
fn add(
    stacks: &mut Trie,
    frames: &[FrameId],
    weight: Weight,
    (time, lasts, thread): (Option<u64>, u64, u32),
) -> Result<()> {
    let path = frames.iter().rev().fold(Trie::ROOT, |path, frame| stacks.below(path, frame.0));
    stacks.add_lasting(path, weight, time, lasts, thread)
}

/// The nanoseconds since 1970 of `2026-11-21T00:18:34.563123456Z`, or with another zone behind it.
fn since_1970(text: &str) -> Option<u64> {
    let zone = text.rfind(['Z', '+', '-']).filter(|at| *at > 10)?;
    let (time, zone) = text.split_at(zone);
    let time = humantime::parse_rfc3339_weak(time).ok()?;
    let nanos =
        i128::try_from(time.duration_since(std::time::SystemTime::UNIX_EPOCH).ok()?.as_nanos()).ok()?;
    let east = match zone.split_at(1) {
        ("Z", "") => 0,
        (sign @ ("+" | "-"), zone) => {
            let (hours, minutes) = zone.split_once(':')?;
            let (hours, minutes): (i128, i128) = (hours.parse().ok()?, minutes.parse().ok()?);
            if hours > 23 || minutes > 59 {
                return None;
            }
            (hours * 60 + minutes) * if sign == "+" { 60 } else { -60 }
        }
        _ => return None,
    };
    u64::try_from(nanos - east * 1_000_000_000).ok()
}

/// The nanoseconds since midnight of `00:18:34.563`; a date may follow.
fn time_of_day(text: &[u8]) -> Option<u64> {
    let text = std::str::from_utf8(text).ok()?.split(' ').next()?;
    let mut parts = text.splitn(3, ':');
    let (hours, minutes, seconds) = (parts.next()?, parts.next()?, parts.next()?);
    let (hours, minutes): (u64, u64) = (hours.parse().ok()?, minutes.parse().ok()?);
    if hours > 23 || minutes > 59 {
        return None;
    }
    let seconds = super::times::nanoseconds(Weight::parse(seconds.as_bytes())?, "s")?;
    Some((hours * 60 + minutes) * 60_000_000_000 + seconds)
}

/// The nanoseconds of a duration as ISO 8601 has it, `PT1M0.066059622S`: hours, minutes, seconds.
fn nanoseconds(text: &str) -> Option<Weight> {
    let mut rest = text.strip_prefix("PT")?;
    let mut total: i128 = 0;
    while !rest.is_empty() {
        let end = rest.find(|c: char| c.is_ascii_alphabetic())?;
        let (number, behind) = rest.split_at(end);
        let factor: i128 = match behind.as_bytes()[0] {
            b'H' => 3600,
            b'M' => 60,
            b'S' => 1,
            _ => return None,
        };
        let (whole, part) = number.split_once('.').unwrap_or((number, ""));
        let digits: i128 = format!("{whole}{part:0<9}").parse().ok().filter(|_| part.len() <= 9)?;
        total = total.checked_add(digits.checked_mul(factor)?)?;
        rest = &behind[1..];
    }
    Some(Weight::new(total)).filter(|weight| !weight.is_negative())
}

/// `jdk.ExecutionSample {`
fn event_name(line: &[u8]) -> Option<&[u8]> {
    let name = line.strip_suffix(b" {")?;
    let is_name =
        name.contains(&b'.') && name.iter().all(|b| b.is_ascii_alphanumeric() || b"._$".contains(b));
    is_name.then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::collapse::tests::{collapse_bytes, fold};

    #[test]
    fn durations_are_read_exactly() {
        for (text, time) in [
            ("PT0.066059622S", Some(66_059_622)),
            ("PT1H2M3.5S", Some(3_723_500_000_000)),
            ("PT2M", Some(120_000_000_000)),
            ("PT0S", Some(0)),
            ("PT-1S", None),
            ("PT1.0000000001S", None),
            ("PT5", None),
            ("1S", None),
            ("PTé", None),
        ] {
            assert_eq!(nanoseconds(text), time.map(Weight::new), "{text}");
        }
    }

    #[test]
    fn times_are_read_in_every_zone() {
        let utc = since_1970("2026-11-21T00:18:34.5Z").unwrap();
        assert_eq!(since_1970("2026-11-21T02:18:34.5+02:00"), Some(utc));
        assert_eq!(since_1970("2026-11-20T23:48:34.5-00:30"), Some(utc));
        for text in ["", "é", "2026-11-21", "2026-11-21T00:18:34.5", "2026-11-21T00:18:34+99:00"] {
            assert_eq!(since_1970(text), None, "{text}");
        }
        assert_eq!(time_of_day(b"00:01:02.5 (2026-11-21)"), Some(62_500_000_000));
        assert_eq!(time_of_day(b"noon"), None);
    }

    #[test]
    fn the_processor_is_the_default_wherever_it_comes() {
        let text = "jdk.ThreadPark {\n  x = 1\n  stackTrace = [\n    a.p() line: 1\n  ]\n}\n\n\
                    jdk.GCPhase {\n  x = 1\n}\n\njdk.ExecutionSample {\n  x = two\nlines\n}\n\n\
                    jdk.ExecutionSample {\n  x = 1\n  stackTrace = [\n    a.b() line: 1\n    ...\n  ]\n}\n";
        assert_eq!(fold(&JfrText, text, &Options::default()), "[no stack] 1\n[truncated];a.b 1\n");
        let waits = Options {
            values: crate::collapse::ValueSelection::Named(vec![b"jdk.ThreadPark".to_vec()]),
            ..Options::default()
        };
        assert_eq!(fold(&JfrText, text, &waits), "a.p 1\n");
        let other = Options {
            values: crate::collapse::ValueSelection::Named(vec![b"jdk.GCPhase".to_vec()]),
            ..Options::default()
        };
        let error = collapse_bytes(&JfrText, text, &other).unwrap_err().to_string();
        assert!(error.contains("there are \"jdk.ThreadPark\", \"jdk.ExecutionSample\""), "{error}");
    }
}
