//! The text that austin writes (3.x, and `mojo2austin`): Python stacks.
//!
//! ```text
//! # austin: 3.7.0
//! # mode: wall
//!
//! P16105;T0:16105;/usr/lib/python3.11/runpy.py:_run_code:86;orders.py:main:40 5681
//!
//! # duration: 1150613
//! ```
//! A sample is a line, root first: process, interpreter and thread, then `file:function:line`.
//! Its weight is microseconds, or bytes in memory mode, or in full mode the three of
//! `time,idle,memory`: idle is 1 for a thread that waited, so the time of those with 0 is `cpu`. The source is austin's own documentation
//! (github.com/P403n1x87/austin, "Output").

pub mod mojo;

use crate::collapse::kit::driver::{self, LineParser};
use crate::collapse::kit::folded_detection::head_lines;
use crate::collapse::kit::names::{NO_STACK, frame_at};
use crate::collapse::kit::times::{duration, nanoseconds};
use crate::collapse::kit::values::Values;
use crate::collapse::{
    Certainty, Collapser, Context, ContextInfo, FormatInfo, Reading, Report, Sink, Tested, Value,
};
use crate::error::Result;
use crate::folded::{FrameId, Place};
use crate::input::{Input, lines};
use crate::number;
use crate::profile::{Facts, fact};
use crate::weight::Weight;
use std::collections::HashMap;
use std::sync::Mutex;
use std::time::Duration;

const INFO: FormatInfo = FormatInfo {
    name: "austin",
    producer: "austin 3.x as text, mojo2austin",
    tested: Tested::Seen("austin 3.7, mojo2austin 2.4"),
    values: "time, or memory in memory mode; time, cpu, memory in full mode",
    unit: "us, bytes; us, us, bytes",
};

/// Collapses austin's text format.
pub struct Austin;

impl Collapser for Austin {
    fn info(&self) -> &'static FormatInfo {
        &INFO
    }

    fn contexts(&self) -> ContextInfo {
        ContextInfo { times: "samples", clock: Some("recording"), labels: "thread, tid, process" }
    }

    fn detect(&self, head: &[u8]) -> Certainty {
        if head.starts_with(b"# austin: ") {
            return Certainty::Yes;
        }
        let (mut samples, mut other) = (0, 0);
        for line in head_lines(head) {
            if split(line).is_some_and(|(stack, _)| is_austins(stack)) { samples += 1 } else { other += 1 }
        }
        if samples > other { Certainty::Yes } else { Certainty::No }
    }

    fn collapse(
        &self,
        input: Input,
        reading: &Reading<'_>,
        sink: &mut dyn Sink,
        report: &mut Report,
    ) -> Result<()> {
        let mode = mode(input.head());
        // A wrong choice of values is reported once, before there are threads.
        Values::new(reading, mode.values(), 0)?;
        // The metadata that each thread has read.
        let found = Mutex::new(Vec::new());
        let new = || AustinLines {
            found: &found,
            mode,
            threads: reading.shows_threads(true),
            values: Values::new(reading, mode.values(), 0).expect("it was possible before"),
            ids: Vec::new(),
            frame: Vec::new(),
            meta: Metadata::default(),
            clock: Clock::default(),
        };
        // Only in the order of the file can time be told.
        let threads = if sink.wants().contexts { 1 } else { reading.threads };
        driver::run_lines(input, threads, new, sink, report)?;
        let mut meta = Metadata::default();
        found.into_inner().expect("no thread panics").into_iter().for_each(|part| meta.take(part));
        meta.settle(report);
        Ok(())
    }
}

/// Austin's metadata of a recording, in the lines or records `key: value` before and behind the
/// samples.
#[derive(Default)]
pub(super) struct Metadata {
    facts: Facts,
    /// `wall` or `cpu`, as the name of the event.
    clock: Option<String>,
    /// The number of samples as austin 4 states it.
    count: Option<u64>,
    /// The number of samples that were read.
    pub(super) samples: u64,
}

impl Metadata {
    /// Notes a key and its value.
    pub(super) fn note(&mut self, key: &[u8], value: &[u8]) {
        let number = || std::str::from_utf8(value).ok()?.trim().parse::<u64>().ok();
        match key {
            b"austin" => self.facts.producer = fact(&[b"austin ", value].concat()),
            b"mode" => self.clock = fact(value).filter(|mode| mode == "wall" || mode == "cpu"),
            b"interval" => {
                let interval = number().filter(|interval| *interval > 0);
                self.facts.rate = interval.map(|interval| 1_000_000 / interval).filter(|rate| *rate > 0);
            }
            b"duration" => {
                let passed = number().and_then(|micros| duration(Weight::from(micros), "us"));
                self.add_duration(passed);
            }
            b"count" => self.add_count(number()),
            b"python" => self.facts.comment([b"Python ", value].concat()),
            _ => {}
        }
    }

    /// Several recordings in one file follow one another.
    fn add_duration(&mut self, passed: Option<Duration>) {
        if let Some(passed) = passed {
            self.facts.duration = self.facts.duration.unwrap_or_default().checked_add(passed);
        }
    }

    fn add_count(&mut self, count: Option<u64>) {
        if let Some(count) = count {
            self.count = Some(self.count.unwrap_or(0).saturating_add(count));
        }
    }

    /// Takes what another thread has read of the same file.
    fn take(&mut self, Metadata { facts: part, clock, count, samples }: Metadata) {
        self.clock = clock.or(self.clock.take());
        self.add_count(count);
        self.samples += samples;
        self.facts.producer = part.producer.or(self.facts.producer.take());
        self.facts.rate = part.rate.or(self.facts.rate);
        self.add_duration(part.duration);
        part.comments.iter().for_each(|comment| self.facts.comment(comment));
    }

    /// Completes the facts of a report, whose values are known by now.
    pub(super) fn settle(mut self, report: &mut Report) {
        if let Some(stated) = self.count {
            report.check_total("the samples", Weight::from(self.samples), Weight::from(stated));
        }
        if self.facts.producer.is_some() && self.facts.duration.is_none() {
            report.doubt("there is no duration at the end: the recording is cut off");
        }
        let of_time =
            |(value, total): (&Value, &crate::collapse::ValueTotal)| total.kept == (value.name == b"time");
        if report.values.iter().all(of_time) {
            self.facts.event = self.clock;
        }
        self.facts.samples = report.facts.samples;
        report.facts = self.facts;
    }
}

/// The time of samples, as far as it follows from their order: each thread's samples follow one
/// another, and a thread begins when it is first seen.
#[derive(Default)]
pub(super) struct Clock {
    threads: HashMap<Vec<u8>, u64>,
    now: u64,
}

impl Clock {
    /// The time in nanoseconds at which a thread's sample of `micros` microseconds ends.
    pub(super) fn tick(&mut self, thread: &[u8], micros: Weight) -> u64 {
        let passed = nanoseconds(micros, "us").unwrap_or(0);
        let time = match self.threads.get_mut(thread) {
            Some(time) => time,
            None => self.threads.entry(thread.to_vec()).or_insert(self.now),
        };
        *time = time.saturating_add(passed);
        self.now = self.now.max(*time);
        *time
    }
}

/// The metrics that austin was asked for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Mode {
    /// Wall or processor time.
    Time,
    Memory,
    Full,
}

impl Mode {
    pub(super) fn values(self) -> Vec<Value> {
        match self {
            Mode::Time => vec![Value::new("time", "us")],
            Mode::Memory => vec![Value::new("memory", "bytes")],
            Mode::Full => {
                vec![Value::new("time", "us"), Value::new("cpu", "us"), Value::new("memory", "bytes")]
            }
        }
    }
}

/// The mode of the header, or else of the first sample.
fn mode(head: &[u8]) -> Mode {
    let said = lines(head).take(20).find_map(|line| line.strip_prefix(b"# mode:"));
    let three = || head_lines(head).find_map(split).is_some_and(|(_, metrics)| metrics[2].is_some());
    match said.map(<[u8]>::trim_ascii) {
        Some(b"memory") => Mode::Memory,
        // Converters write the header of a full recording over one metric.
        _ if three() => Mode::Full,
        _ => Mode::Time,
    }
}

/// Reads the lines of one thread.
struct AustinLines<'f> {
    found: &'f Mutex<Vec<Metadata>>,
    mode: Mode,
    /// True if process and thread are frames.
    threads: bool,
    values: Values,
    ids: Vec<FrameId>,
    frame: Vec<u8>,
    meta: Metadata,
    clock: Clock,
}

impl AustinLines<'_> {
    /// Adds the sample in `ids`, with the process and the thread that its line begins with.
    fn add(&mut self, stack: &[u8], weights: &[Weight], sink: &mut dyn Sink) -> Result<()> {
        if !sink.wants().contexts {
            return self.values.sample(&self.ids, weights, sink);
        }
        let mut parts = stack.splitn(3, |&b| b == b';');
        let (process, thread) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
        // `T0:16105`: the interpreter and the thread.
        let tid = thread[1.min(thread.len())..].rsplit(|&b| b == b':').next().unwrap_or_default();
        let number = |text: &[u8]| number::parse(text);
        let time = match self.mode {
            Mode::Memory => None,
            Mode::Time | Mode::Full => {
                let owner = &stack[..stack.len().min(process.len() + 1 + thread.len())];
                Some(self.clock.tick(owner, weights[0]))
            }
        };
        let context = Context {
            time,
            process: number(&process[1.min(process.len())..]),
            thread: number(tid),
            ..Context::UNKNOWN
        };
        self.values.sample_at(&self.ids, weights, &context, sink)
    }
}

impl LineParser for AustinLines<'_> {
    fn line(&mut self, line: &[u8], sink: &mut dyn Sink) -> Result<bool> {
        let Some((stack, [Some(first), idle, memory])) = split(line) else { return Ok(false) };
        let (ids, frame) = (&mut self.ids, &mut self.frame);
        ids.clear();
        for (n, piece) in stack.split(|&b| b == b';').enumerate() {
            if n < 2 {
                if self.threads {
                    ids.push(sink.frame(piece));
                }
                continue;
            }
            frame.extend_from_slice(piece);
            if is_whole(frame) {
                let (name, place) = readable(frame);
                ids.push(frame_at(&name, &place, sink));
                frame.clear();
            } else {
                // A file name that holds a `;` goes on in the next piece.
                frame.push(b':');
            }
        }
        if let [piece @ .., _] = &frame[..] {
            ids.push(sink.frame(piece));
            frame.clear();
        }
        if ids.is_empty() {
            ids.push(sink.frame(NO_STACK));
        }
        let busy = if idle.is_none_or(Weight::is_zero) { first } else { Weight::ZERO };
        let all = [first, busy, memory.unwrap_or_default()];
        let weights = if self.mode == Mode::Full { &all[..] } else { &all[..1] };
        self.meta.samples += 1;
        self.add(stack, weights, sink)?;
        Ok(true)
    }

    fn comment(&mut self, line: &[u8]) -> Result<()> {
        if let Some(colon) = memchr::memchr(b':', line) {
            self.meta.note(line[1..colon].trim_ascii(), line[colon + 1..].trim_ascii());
        }
        Ok(())
    }

    /// The name of a file that holds a newline is written as it is.
    fn goes_on(&self, cut: &[u8], line: &[u8]) -> bool {
        begins_sample(cut) && !begins_sample(line)
    }

    fn finish(self, report: &mut Report) -> Result<()> {
        self.found.lock().expect("no thread panics").push(self.meta);
        self.values.finish(report)
    }
}

/// `P` and the process, `;T` and the thread.
fn begins_sample(line: &[u8]) -> bool {
    let Some(rest) = line.strip_prefix(b"P") else { return false };
    let digits = rest.iter().take_while(|b| b.is_ascii_digit()).count();
    digits > 0 && rest[digits..].starts_with(b";T")
}

/// A sample's stack and its metrics, one or three; `None` if the line is no sample.
fn split(line: &[u8]) -> Option<(&[u8], [Option<Weight>; 3])> {
    if !begins_sample(line) {
        return None;
    }
    let space = memchr::memrchr(b' ', line)?;
    let mut metrics = [None; 3];
    for (at, text) in line[space + 1..].split(|&b| b == b',').enumerate() {
        *metrics.get_mut(at)? = Some(Weight::parse(text)?);
    }
    Some((&line[..space], metrics))
}

/// Returns true if a stack is austin's own, not folded text made of it, which begins the same way.
fn is_austins(stack: &[u8]) -> bool {
    let frame = stack.split(|&b| b == b';').skip(2).last();
    frame.is_none_or(is_whole)
}

/// `file:function:line`, or one of austin's own: `:INVALID:`, `:GC:`.
fn is_whole(frame: &[u8]) -> bool {
    let digits = frame.iter().rev().take_while(|b| b.is_ascii_digit()).count();
    match frame[..frame.len() - digits].strip_suffix(b":") {
        Some(rest) => rest.contains(&b':'),
        None => false,
    }
}

/// `function (file:line)`, as all Python profilers but austin write it.
fn readable(frame: &[u8]) -> (Vec<u8>, Place<'_>) {
    let parts = memchr::memrchr(b':', frame).and_then(|line| {
        let function = memchr::memrchr(b':', &frame[..line])?;
        Some((&frame[..function], &frame[function + 1..line], &frame[line + 1..]))
    });
    match parts {
        Some((file, function, line)) if !line.is_empty() => {
            let number = number::parse(line).unwrap_or(0);
            let name = [function, b" (", file, b":", line, b")"].concat();
            (name, Place { file, line: number, ..Place::default() })
        }
        _ => (frame.to_vec(), Place::default()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::collapse::CollapseOptions;
    use crate::collapse::ValueSelection;
    use crate::folded::StackTable;

    fn collapsed(text: &str, options: &CollapseOptions) -> String {
        let input = Input::new("test", Box::new(std::io::Cursor::new(text.to_owned()))).unwrap();
        let (mut table, mut report) = (StackTable::default(), Report::default());
        Austin.collapse(input, &Reading::alone(options), &mut table, &mut report).unwrap();
        let mut out = Vec::new();
        table.write(&mut out).unwrap();
        String::from_utf8(out).unwrap() + &report.notes.join("\n")
    }

    #[test]
    fn frames_tell_it_from_folded_text() {
        for (text, verdict) in [
            ("P1;T0:2;a.py:main:3 10", Certainty::Yes),
            ("# austin: 3.6.0\n# mode: wall\nP1;T0:2;a.py:main:3 10", Certainty::Yes),
            ("P1;T0:2;main 10", Certainty::No),
            ("main;parse 10", Certainty::No),
        ] {
            assert_eq!(Austin.detect(text.as_bytes()), verdict, "{text}");
        }
    }

    #[test]
    fn frames_are_read_from_the_right() {
        let plain = CollapseOptions::default();
        for (sample, folded) in [
            ("P1;T0:2;a.py:main:3 10", "P1;T0:2;main (a.py:3) 10\n"),
            ("P1;T0:2;C:\\x\\y:8:f:1 10", "P1;T0:2;f (C:\\x\\y:8:1) 10\n"),
            ("P1;T0:2;t/a b;c 12.html:run:2;a.py:f:1 10", "P1;T0:2;run (t/a b:c 12.html:2);f (a.py:1) 10\n"),
            (
                "P1;T0:2;<frozen importlib._bootstrap>:_load:1176 5",
                "P1;T0:2;_load (<frozen importlib._bootstrap>:1176) 5\n",
            ),
            ("P1;T0:2;a.py:f:1;:GC: 5", "P1;T0:2;f (a.py:1);:GC: 5\n"),
            ("P1;T0:2 5681", "P1;T0:2 5681\n"),
            ("P1;T2;a.py::0 -8192", "P1;T2; (a.py:0) -8192\n"),
            ("P1;T2;cut off 7", "P1;T2;cut off 7\n"),
        ] {
            assert_eq!(collapsed(sample, &plain), folded);
        }
    }

    #[test]
    fn the_name_of_a_file_may_hold_a_newline() {
        let text = "P1;T0:2;a.py:f:1;new\nline.py:g:2 10\nP1;T0:2;two\nnew\nlines.py:g:3 5\nP1;T0:2;cut off\nP1;T0:2;a.py:f:1 1\n";
        let (out, report) =
            crate::collapse::tests::collapse_bytes(&Austin, text, &CollapseOptions::default()).unwrap();
        assert_eq!(
            out,
            "P1;T0:2;f (a.py:1) 1\nP1;T0:2;f (a.py:1);g (new line.py:2) 10\nP1;T0:2;g (two new lines.py:3) 5\n"
        );
        let (place, excerpt) = report.not_understood.first.unwrap();
        assert_eq!((report.not_understood.count, place.line), (1, Some(6)), "{excerpt}");
    }

    #[test]
    fn full_mode_has_three_values() {
        let text = "# austin: 3.7.0\n# mode: full\n\nP1;T2;a.py:f:1 100,1,-4096\nP1;T2;a.py:f:1 7,0,0\n\n# duration: 5\n";
        assert_eq!(collapsed(text, &CollapseOptions::default()), "P1;T2;f (a.py:1) 107\n");
        let value = |name: &str| CollapseOptions {
            values: ValueSelection::Named(vec![name.into()]),
            ..CollapseOptions::default()
        };
        assert_eq!(collapsed(text, &value("cpu")), "P1;T2;f (a.py:1) 7\n");
        assert_eq!(collapsed(text, &value("memory")), "P1;T2;f (a.py:1) -4096\n");
        let count = CollapseOptions { count: true, ..CollapseOptions::default() };
        assert_eq!(collapsed(text, &count), "P1;T2;f (a.py:1) 2\n");
        let none = CollapseOptions { threads_as_frames: Some(false), ..CollapseOptions::default() };
        assert_eq!(collapsed(&format!("{text}P1;T3 5,0,0\n"), &none), "[no stack] 5\nf (a.py:1) 107\n");
    }
}
