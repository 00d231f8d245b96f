//! stackprof's dumps, of Ruby: a hash in Ruby's `Marshal`, or as JSON (`stackprof --json`).
//!
//! ```text
//! {:version=>1.2, :mode=>:wall, :interval=>1000, :samples=>188, :gc_samples=>0, :missed_samples=>0,
//!  :metadata=>{}, :frames=>{8=>{:name=>"Object#fib", :file=>"orders.rb", :line=>1, :total_samples=>120,
//!   :samples=>90, :edges=>{8=>100}, :lines=>{1=>[120, 90]}}, …},
//!  :raw=>[3, 24, 16, 8, 5, …], :raw_lines=>[3, 9, 4, 1, 5, …], :raw_sample_timestamps=>[…],
//!  :raw_timestamp_deltas=>[…]}
//! ```
//! With `raw: true` there are stacks: how many frames, the frames root first, how often in a row. Without it only
//! who called whom is known, and the stacks are an estimate, see [`crate::collapse::kit::edges`]. Weights are samples, as in
//! stackprof's own reports. Made in `ext/stackprof/stackprof.c` of the gem.

mod json;
mod marshal;

use std::collections::HashMap;

use self::marshal::{Id, Marshal};
use crate::collapse::kit::edges::Graph;
use crate::collapse::kit::forest::Budget;
use crate::collapse::kit::json::HeadKeys;
use crate::collapse::kit::names::FrameNames;
use crate::collapse::kit::values::Values;
use crate::collapse::{
    Certainty, CollapseOptions, Collapser, Context, ContextInfo, FormatInfo, Reading, Report, Sink, Tested,
    Value,
};
use crate::error::{Error, Position, Result};
use crate::folded::{FrameId, Place, sanitize_frame};
use crate::input::Input;
use crate::weight::Weight;

const INFO: FormatInfo = FormatInfo {
    name: "stackprof",
    producer: "stackprof of Ruby: its dumps, stackprof --json; without raw: true stacks are estimates",
    tested: Tested::Seen("stackprof 0.2.21"),
    values: "samples, time of a recording by time",
    unit: "samples, us",
};

/// Collapses stackprof's dumps.
pub struct Stackprof;

impl Collapser for Stackprof {
    fn info(&self) -> &'static FormatInfo {
        &INFO
    }

    fn contexts(&self) -> ContextInfo {
        ContextInfo { times: "samples", clock: Some("monotonic"), labels: "" }
    }

    fn detect(&self, head: &[u8]) -> Certainty {
        let start = &head[..head.len().min(256)];
        let holds = |part: &[u8]| memchr::memmem::find(start, part).is_some();
        // Symbols have their length in front of them.
        let dump = head.starts_with(marshal::MAGIC) && holds(b":\x0cversion") && holds(b":\x09mode");
        let is_json = || {
            HeadKeys::read(head).is_some_and(|keys| {
                keys.has_all(&["version", "mode", "interval", "samples"]) && keys.has("gc_samples")
            })
        };
        if dump || is_json() { Certainty::Yes } else { Certainty::No }
    }

    fn collapse(
        &self,
        input: Input,
        reading: &Reading<'_>,
        sink: &mut dyn Sink,
        report: &mut Report,
    ) -> Result<()> {
        let place = Position::file(input.name().clone());
        let dump = if input.head().starts_with(marshal::MAGIC) {
            let (marshal, id) = Marshal::read(&mut input.into_reader())?;
            Dump::of_marshal(&marshal, id)
        } else {
            json::read(input, report)?
        };
        dump.collapse(reading, sink, report).map_err(|e| e.or_at(|| place))
    }
}

/// The values, and the microseconds that a sample stands for where it is one of time.
struct Counts {
    values: Values,
    interval: Option<u64>,
}

impl Counts {
    /// Adds so many samples of a stack.
    fn add(
        &mut self,
        stack: &[FrameId],
        samples: u64,
        context: &Context<'_>,
        sink: &mut dyn Sink,
    ) -> Result<()> {
        self.values.add_at(0, stack, Weight::from(samples), samples, context, sink)?;
        let Some(interval) = self.interval else { return Ok(()) };
        let time = Weight::from(samples).checked_mul(Weight::from(interval))?;
        self.values.add_at(1, stack, time, samples, context, sink)
    }
}

/// The contents of a dump.
#[derive(Default)]
struct Dump {
    mode: Vec<u8>,
    interval: Option<u64>,
    samples: Option<u64>,
    missed: u64,
    /// The frames, and their numbers in the dump.
    frames: Vec<Frame>,
    numbers: HashMap<u64, usize>,
    /// For each stack the number of its frames, these, and how often it was seen in a row.
    raw: Vec<u64>,
    /// The same with lines for frames.
    lines: Vec<u64>,
    /// The time of each sample, in microseconds.
    times: Vec<u64>,
}

/// A function.
#[derive(Default)]
struct Frame {
    name: Vec<u8>,
    file: Vec<u8>,
    line: u64,
    samples: u64,
    /// The numbers of those that it called, and in how many samples.
    calls: Vec<(u64, u64)>,
}

impl Dump {
    fn add_frame(&mut self, number: u64, frame: Frame) {
        self.numbers.insert(number, self.frames.len());
        self.frames.push(frame);
    }

    fn of_marshal(marshal: &Marshal, id: Id) -> Dump {
        let number = |id: Id| marshal.whole(id).and_then(|number| u64::try_from(number).ok());
        let list = |id: Id| -> Vec<u64> {
            // A number that is no number is no frame's.
            marshal.items(id).unwrap_or_default().iter().map(|id| number(*id).unwrap_or(u64::MAX)).collect()
        };
        let mut dump = Dump::default();
        for (key, value) in marshal.entries(id) {
            match marshal.text(key).unwrap_or_default() {
                b"mode" => marshal.text(value).unwrap_or_default().clone_into(&mut dump.mode),
                b"interval" => dump.interval = number(value),
                b"samples" => dump.samples = number(value),
                b"missed_samples" => dump.missed = number(value).unwrap_or(0),
                b"raw" => dump.raw = list(value),
                b"raw_lines" => dump.lines = list(value),
                b"raw_sample_timestamps" => dump.times = list(value),
                b"frames" => {
                    for (key, value) in marshal.entries(value) {
                        let mut frame = Frame::default();
                        for (key, value) in marshal.entries(value) {
                            match marshal.text(key).unwrap_or_default() {
                                b"name" => {
                                    marshal.text(value).unwrap_or_default().clone_into(&mut frame.name)
                                }
                                b"file" => {
                                    marshal.text(value).unwrap_or_default().clone_into(&mut frame.file)
                                }
                                b"line" => frame.line = number(value).unwrap_or(0),
                                b"samples" => frame.samples = number(value).unwrap_or(0),
                                b"edges" => {
                                    let calls = marshal.entries(value);
                                    frame.calls =
                                        calls.filter_map(|(to, n)| Some((number(to)?, number(n)?))).collect();
                                }
                                _ => {}
                            }
                        }
                        dump.add_frame(number(key).unwrap_or(u64::MAX), frame);
                    }
                }
                _ => {}
            }
        }
        dump
    }

    fn collapse(&self, options: &CollapseOptions, sink: &mut dyn Sink, report: &mut Report) -> Result<()> {
        let is_timed =
            matches!(&self.mode[..], b"wall" | b"cpu") && self.interval.is_some_and(|interval| interval > 0);
        let time = is_timed.then(|| Value::new("time", "us"));
        let declared = std::iter::once(Value::new("samples", "samples")).chain(time).collect();
        let mut counts = Counts {
            values: Values::new(options, declared, 0)?,
            interval: self.interval.filter(|_| is_timed),
        };
        let values = &mut counts;
        let facts = &mut report.facts;
        facts.event = crate::profile::fact(&self.mode);
        facts.producer = Some("stackprof".to_owned());
        if matches!(&self.mode[..], b"wall" | b"cpu") {
            facts.rate =
                self.interval.and_then(|micros| 1_000_000_u64.checked_div(micros)).filter(|rate| *rate > 0);
        }
        // Of allocations it takes one in so many, and counts the others as missed.
        if self.missed > 0 && facts.rate.is_some() {
            report.warn(format!("stackprof missed {} samples", self.missed));
        }
        if self.raw.is_empty() {
            self.estimate(options, values, sink)?;
        } else {
            let sum = self.stacks(options, values, sink)?;
            // Its own report of stacks has as few.
            if let Some(stated) = self.samples.filter(|stated| *stated != sum) {
                report.warn(format!("stackprof counted {stated} samples and kept the stacks of {sum}"));
            }
        }
        counts.values.finish(report)
    }

    /// Adds the stacks, and returns how many samples they are.
    fn stacks(&self, options: &CollapseOptions, values: &mut Counts, sink: &mut dyn Sink) -> Result<u64> {
        let mut frames = HashMap::new();
        let mut names = FrameNames::default();
        let has_lines = self.lines.len() == self.raw.len();
        let contexts = sink.wants().contexts && !self.times.is_empty();
        let mut times = self.times.iter().copied();
        let (mut at, mut sum) = (0, 0u64);
        let budget = Budget::default();
        let mut stack = Vec::new();
        while let Some(&length) = self.raw.get(at) {
            let whole =
                usize::try_from(length).ok().and_then(|length| at.checked_add(length)?.checked_add(2));
            let Some(end) = whole.filter(|end| *end <= self.raw.len()) else {
                let found = format!("{} of {length}", self.raw.len() - at - 1);
                let expected = format!("a stack's frames and how often it was seen, from raw[{at}] on");
                return Err(Error::malformed(expected, found.as_bytes()));
            };
            budget.check(end - at - 2)?;
            stack.clear();
            for place in at + 1..end - 1 {
                let line = if has_lines { self.lines[place] } else { 0 };
                let key = (self.raw[place], line);
                let frame = match frames.get(&key) {
                    Some(frame) => *frame,
                    None => {
                        let frame = self.frame(key.0, line, options, &mut names, sink)?;
                        frames.insert(key, frame);
                        frame
                    }
                };
                stack.push(frame);
            }
            let count = self.raw[end - 1];
            at = end;
            sum = sum.saturating_add(count);
            if contexts {
                let more = usize::try_from(count).unwrap_or(usize::MAX);
                let mut left = count;
                for time in times.by_ref().take(more) {
                    let context = Context { time: time.checked_mul(1000), ..Context::UNKNOWN };
                    values.add(&stack, 1, &context, sink)?;
                    left -= 1;
                }
                values.add(&stack, left, &Context::UNKNOWN, sink)?;
            } else {
                values.add(&stack, count, &Context::UNKNOWN, sink)?;
            }
        }
        Ok(sum)
    }

    /// The frame of a number, where a line of it was running, or is not known.
    fn frame(
        &self,
        number: u64,
        line: u64,
        options: &CollapseOptions,
        names: &mut FrameNames,
        sink: &mut dyn Sink,
    ) -> Result<FrameId> {
        let Some(frame) = self.numbers.get(&number).map(|at| &self.frames[*at]) else {
            let expected = format!("the number of one of {} frames", self.frames.len());
            return Err(Error::malformed(expected, number.to_string().as_bytes()));
        };
        let small = |line: u64| u32::try_from(line).unwrap_or(0);
        let (line, start_line) = (small(line), small(frame.line));
        let file = &frame.file[..];
        let place = Place { file, line, start_line, ..Place::default() };
        Ok(names.build_at(&place, sink, |out| {
            sanitize_frame(&frame.name, out);
            if options.srcline && !file.is_empty() {
                out.extend_from_slice(b" (");
                sanitize_frame(file, out);
                let line = if line > 0 { line } else { start_line };
                let line = if line > 0 { format!(":{line})") } else { ")".to_owned() };
                out.extend_from_slice(line.as_bytes());
            }
        }))
    }

    /// Adds stacks that are made of who called whom.
    fn estimate(&self, options: &CollapseOptions, values: &mut Counts, sink: &mut dyn Sink) -> Result<()> {
        let mut graph = Graph::default();
        let mut names = FrameNames::default();
        let mut frames = Vec::new();
        let mut numbers: Vec<(u64, usize)> = self.numbers.iter().map(|(number, at)| (*number, *at)).collect();
        numbers.sort_unstable_by_key(|(_, at)| *at);
        for (number, at) in numbers {
            let frame = &self.frames[at];
            // A number that stands there twice is that of its last frame.
            frames.resize(at, frames.last().copied().unwrap_or(FrameId(0)));
            frames.push(self.frame(number, 0, options, &mut names, sink)?);
            graph.add_self(at, Weight::from(frame.samples))?;
            for (callee, samples) in &frame.calls {
                if let Some(callee) = self.numbers.get(callee) {
                    graph.add_call(at, *callee, Weight::from(*samples))?;
                }
            }
        }
        let (mut forest, nodes) = graph.stacks(&frames)?;
        forest.samples(&[], nodes, sink, |stack, weight, sink| {
            let time =
                values.interval.map(|interval| weight.checked_mul(Weight::from(interval))).transpose()?;
            values.values.sample(stack, &[weight, time.unwrap_or_default()], sink)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::collapse::tests::{collapse_bytes, fold};

    const FRAMES: &str = r#""frames":{"8":{"name":"Object#main","file":"a;.rb","line":1,"total_samples":5,"samples":1,
        "edges":{"18446744073709551615":4}},"18446744073709551615":{"name":"f","file":"b.rb","line":4,"total_samples":4,"samples":4}}"#;

    fn document(rest: &str) -> String {
        let head = r#"{"version":1.2,"mode":"wall","interval":1000,"samples":5,"gc_samples":0,"missed_samples":0,"metadata":{}"#;
        format!("{head},{FRAMES}{rest}}}")
    }

    #[test]
    fn raw_samples_are_stacks() {
        let raw = r#","raw":[1,8,1,2,8,18446744073709551615,4],"raw_lines":[1,3,1,2,2,5,4],"raw_sample_timestamps":[1,2,3,4,5]"#;
        let text = document(raw);
        assert_eq!(Stackprof.detect(text.as_bytes()), Certainty::Yes);
        let (out, report) = collapse_bytes(&Stackprof, &text, &CollapseOptions::default()).unwrap();
        assert_eq!(out, "Object#main 1\nObject#main;f 4\n");
        assert_eq!((report.facts.rate, report.facts.event.as_deref()), (Some(1000), Some("wall")));
        let time = crate::collapse::ValueSelection::Named(vec![b"time".to_vec()]);
        let time = CollapseOptions { values: time, ..CollapseOptions::default() };
        assert_eq!(fold(&Stackprof, &text, &time), "Object#main 1000\nObject#main;f 4000\n");
        let lines = CollapseOptions { srcline: true, ..CollapseOptions::default() };
        let expected = "Object#main (a:.rb:2);f (b.rb:5) 4\nObject#main (a:.rb:3) 1\n";
        assert_eq!(fold(&Stackprof, &text, &lines), expected);
    }

    #[test]
    fn without_raw_samples_stacks_are_estimated() {
        assert_eq!(
            fold(&Stackprof, document(""), &CollapseOptions::default()),
            "Object#main 1\nObject#main;f 4\n"
        );
    }

    #[test]
    fn stacks_that_are_not_whole_are_errors() {
        for (raw, message) in [
            ("[1,9,1]", "one of 2 frames, found \"9\""),
            ("[3,8,1]", "found \"2 of 3\""),
            ("[18446744073709551615,8,1]", "of 18446744073709551615"),
            ("[-1]", "a whole number"),
        ] {
            let text = document(&format!(",\"raw\":{raw}"));
            let error =
                collapse_bytes(&Stackprof, &text, &CollapseOptions::default()).unwrap_err().to_string();
            assert!(error.starts_with("test: ") && error.contains(message), "{error}");
        }
        let (_, report) =
            collapse_bytes(&Stackprof, document(",\"raw\":[1,8,3]"), &CollapseOptions::default()).unwrap();
        assert_eq!(report.notes, ["stackprof counted 5 samples and kept the stacks of 3"]);
    }
}
