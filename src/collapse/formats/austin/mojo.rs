//! MOJO, the binary form of austin's output: `austin -b` of 3.x, all of 4.x.
//!
//! ```text
//! "MOJ" version  { event fields }
//!  1 metadata    key, value          9 time      microseconds
//!  2 stack       pid, iid, tid      10 memory    bytes, signed
//!  3 frame       key, file, scope,  11 string    key, text
//!                line, end, columns 12 string reference
//!  4 invalid                        13 stack repeat
//!  5 frame reference                14 task stack  id, name, frames
//!  6 kernel frame  scope            15 task waiter id, id
//!  7 gc          8 idle             16 task running id
//! ```
//! Numbers hold six bits in their first byte, with the sign, and seven in each that follows, the
//! lowest first; texts end in a zero. Frames and strings are numbered by process. A stack goes on
//! to the next one. What a sample weighs is what austin's text has, see [`super`]; so are
//! its frames. Seen: austin 3.7 and 4.0. Events from 13 are those of version 4, read as
//! `austin/format/mojo.py` of austin-python 2.4 does (github.com/P403n1x87/austin-python).

use std::collections::HashMap;

use super::{Clock, Metadata, Mode};
use crate::collapse::kit::forest::{DEEPEST, MOST};
use crate::collapse::kit::names::{FrameNames, NO_STACK};
use crate::collapse::kit::values::Values;
use crate::collapse::{
    Certainty, CollapseOptions, Collapser, Context, ContextInfo, FormatInfo, Reading, Report, Sink, Tested,
};
use crate::error::{Error, Result};
use crate::folded::{FrameId, Kind, Place, sanitize_frame};
use crate::input::{Input, Reader};
use crate::number;
use crate::weight::Weight;

const INFO: FormatInfo = FormatInfo {
    name: "austin-mojo",
    producer: "austin -b, austin 4.x",
    tested: Tested::Seen("austin 3.7, 4.0"),
    values: "time, or memory in memory mode; time, cpu, memory in full mode",
    unit: "us, bytes; us, us, bytes",
};

/// No name or path is longer.
const LONGEST: u64 = 1 << 20;

/// Collapses MOJO.
pub struct Mojo;

impl Collapser for Mojo {
    fn info(&self) -> &'static FormatInfo {
        &INFO
    }

    fn contexts(&self) -> ContextInfo {
        ContextInfo { times: "samples", clock: Some("recording"), labels: "thread, tid, process" }
    }

    fn detect(&self, head: &[u8]) -> Certainty {
        match head {
            // Any version, so that an unknown one is told.
            [b'M', b'O', b'J', version, rest @ ..]
                if *version < 0x40 && rest.first().is_none_or(|e| *e <= LAST) =>
            {
                Certainty::Yes
            }
            _ => Certainty::No,
        }
    }

    fn collapse(
        &self,
        input: Input,
        reading: &Reading<'_>,
        sink: &mut dyn Sink,
        report: &mut Report,
    ) -> Result<()> {
        let mut parser = Parser::new(Events { reader: input.into_reader(), version: 0 }, reading);
        parser.events.begin()?;
        while !parser.events.reader.is_at_end()? {
            parser.event(sink).map_err(|e| e.or_at(|| parser.events.reader.place()))?;
        }
        if parser.sample.as_ref().is_some_and(|sample| sample.time.is_none() && sample.memory.is_none()) {
            let error = Error::malformed("what the last sample weighs", b"the end");
            return Err(error.at(parser.events.reader.place()));
        }
        parser.flush(sink).map_err(|e| e.or_at(|| parser.events.reader.place()))?;
        if let Some(values) = parser.values {
            values.finish(report)?;
            report.facts.samples = Some(parser.samples);
            parser.meta.samples = parser.samples;
            parser.meta.settle(report);
        }
        Ok(())
    }
}

/// The version that austin 4.0 writes: version 3 with the events from 13 on.
const NEWEST: i128 = 4;

/// Stands for the process of strings and frames that come before the first stack, as those of native code do in
/// austin 3.4: the keys are addresses, so that no process has others.
const ANY_PROCESS: i128 = -1;

/// The event with the highest number.
const LAST: u8 = 16;

/// The bytes as numbers and texts.
struct Events {
    reader: Reader,
    version: i128,
}

impl Events {
    fn begin(&mut self) -> Result<()> {
        let mut magic = Vec::new();
        self.reader.append(3, &mut magic)?;
        self.version = self.signed()?;
        if magic != b"MOJ" || !(1..=NEWEST).contains(&self.version) {
            let found = format!("version {}", self.version);
            let error = Error::malformed(format!("MOJO of version 1 to {NEWEST}"), found.as_bytes());
            return Err(error.at(self.reader.place()));
        }
        Ok(())
    }

    /// Reads a number whose first byte holds a sign and six bits, and the others seven each.
    fn signed(&mut self) -> Result<i128> {
        /// Keys are addresses mixed to 64 bits.
        const BITS: u32 = 64;
        let first = self.reader.byte()?;
        let mut value = u128::from(first & 0x3f);
        let mut more = first & 0x80 != 0;
        let mut shift = 6;
        while more {
            let byte = self.reader.byte()?;
            value |= u128::from(byte & 0x7f) << shift;
            if value >> BITS != 0 || shift > BITS {
                let error = Error::malformed(format!("a number of {BITS} bits"), b"a larger one");
                return Err(error.at(self.reader.place()));
            }
            shift += 7;
            more = byte & 0x80 != 0;
        }
        let value = i128::try_from(value).expect("it has 64 bits");
        Ok(if first & 0x40 != 0 { -value } else { value })
    }

    fn text(&mut self, out: &mut Vec<u8>) -> Result<()> {
        self.reader.terminated_text(LONGEST, out)
    }
}

/// A frame, and whether it is native code, as far as its file tells.
type Frame = (FrameId, bool);

/// The sample being read.
struct Sample {
    pid: i128,
    iid: i128,
    tid: Vec<u8>,
    frames: Vec<Frame>,
    time: Option<Weight>,
    memory: Option<Weight>,
    idle: bool,
}

struct Parser<'o> {
    events: Events,
    options: &'o CollapseOptions,
    mode: Mode,
    meta: Metadata,
    clock: Clock,
    /// The number of samples that were read.
    samples: u64,
    /// There once the first sample begins: what can be chosen depends on the mode.
    values: Option<Values>,
    names: FrameNames,
    strings: HashMap<(i128, i128), Box<[u8]>>,
    frames: HashMap<(i128, i128), Frame>,
    sample: Option<Sample>,
    /// The last stack of each thread, for repeats.
    previous: HashMap<(i128, Vec<u8>), Vec<Frame>>,
    /// References that are of a task and no frames of the sample.
    task_frames: i128,
    /// Frames that stand in stacks too deep to be many.
    deep: u64,
    text: Vec<u8>,
    stack: Vec<FrameId>,
}

impl<'o> Parser<'o> {
    fn new(events: Events, options: &'o CollapseOptions) -> Self {
        Parser {
            events,
            options,
            mode: Mode::Time,
            meta: Metadata::default(),
            clock: Clock::default(),
            samples: 0,
            values: None,
            names: FrameNames::default(),
            strings: HashMap::new(),
            frames: HashMap::new(),
            sample: None,
            previous: HashMap::new(),
            task_frames: 0,
            deep: 0,
            text: Vec::new(),
            stack: Vec::new(),
        }
    }

    fn event(&mut self, sink: &mut dyn Sink) -> Result<()> {
        let event = self.events.reader.byte()?;
        match event {
            1 => self.metadata(),
            2 => self.begin(sink),
            3 => self.define(sink),
            4 => self.push_plain(b":INVALID:", sink),
            5 => self.reference(),
            6 => {
                let mut scope = std::mem::take(&mut self.text);
                self.events.text(&mut scope)?;
                if self.options.kernel {
                    scope.extend_from_slice(b"_[k]");
                }
                let kernel = Place { kind: Kind::Kernel, ..Place::default() };
                let frame = self.names.plain_at(&scope, &kernel, sink);
                let pushed = self.push((frame, true));
                self.text = scope;
                pushed
            }
            7 => self.push_plain(b":GC:", sink),
            8 => self.sample().map(|sample| sample.idle = true),
            9 => {
                let time = Weight::new(self.events.signed()?);
                self.sample().map(|sample| sample.time = Some(time))
            }
            10 => {
                let memory = Weight::new(self.events.signed()?);
                self.sample().map(|sample| sample.memory = Some(memory))
            }
            11 => {
                let (key, mut text) = (self.events.signed()?, std::mem::take(&mut self.text));
                self.events.text(&mut text)?;
                let pid = self.process();
                self.strings.insert((pid, key), text.as_slice().into());
                self.text = text;
                Ok(())
            }
            12 | 16 => self.events.signed().map(drop),
            13 => self.repeat(),
            14 => {
                self.events.signed()?;
                self.events.signed()?;
                self.task_frames = self.events.signed()?;
                Ok(())
            }
            15 => self.events.signed().and_then(|_| self.events.signed()).map(drop),
            other => Err(Error::malformed("the number of a MOJO event", other.to_string().as_bytes())),
        }
    }

    fn metadata(&mut self) -> Result<()> {
        let mut value = Vec::new();
        self.events.text(&mut self.text)?;
        self.events.text(&mut value)?;
        self.meta.note(&self.text, &value);
        if self.text == b"mode" && self.values.is_none() {
            self.mode = match &value[..] {
                b"memory" => Mode::Memory,
                b"full" => Mode::Full,
                _ => Mode::Time,
            };
        }
        Ok(())
    }

    fn sample(&mut self) -> Result<&mut Sample> {
        self.sample.as_mut().ok_or_else(|| Error::malformed("a stack first", b"what belongs in one"))
    }

    /// The process whose strings and frames are being defined.
    fn process(&self) -> i128 {
        self.sample.as_ref().map_or(ANY_PROCESS, |sample| sample.pid)
    }

    fn begin(&mut self, sink: &mut dyn Sink) -> Result<()> {
        self.flush(sink)?;
        self.task_frames = 0;
        let pid = self.events.signed()?;
        let iid = if self.events.version >= 3 { self.events.signed()? } else { -1 };
        let mut tid = Vec::new();
        self.events.text(&mut tid)?;
        // Hexadecimal here, decimal in austin's text.
        let number = std::str::from_utf8(&tid).ok().and_then(|hex| u64::from_str_radix(hex, 16).ok());
        if let Some(number) = number {
            tid = number.to_string().into_bytes();
        }
        self.sample =
            Some(Sample { pid, iid, tid, frames: Vec::new(), time: None, memory: None, idle: false });
        if self.values.is_none() {
            self.values = Some(Values::new(self.options, self.mode.values(), 0)?);
        }
        Ok(())
    }

    fn define(&mut self, sink: &mut dyn Sink) -> Result<()> {
        let (key, file, scope) = (self.events.signed()?, self.events.signed()?, self.events.signed()?);
        let line = self.events.signed()?;
        if self.events.version >= 2 {
            // The last line and both columns are not needed.
            for _ in 0..3 {
                self.events.signed()?;
            }
        }
        let pid = self.process();
        let string = |key: i128| match key {
            0 => Ok(&b""[..]),
            1 => Ok(&b"<unknown>"[..]),
            key => match self.strings.get(&(pid, key)).or_else(|| self.strings.get(&(ANY_PROCESS, key))) {
                Some(text) => Ok(&text[..]),
                None => Err(Error::malformed("a string that was defined before", key.to_string().as_bytes())),
            },
        };
        let (file, scope) = (string(file)?, string(scope)?);
        let place = Place { file, line: u32::try_from(line).unwrap_or(0), ..Place::default() };
        let id = self.names.build_at(&place, sink, |out| {
            sanitize_frame(scope, out);
            out.extend_from_slice(b" (");
            sanitize_frame(file, out);
            out.extend_from_slice(format!(":{line})").as_bytes());
        });
        let generated = file.starts_with(b"<") && file.ends_with(b">");
        let native = !generated && !file.ends_with(b".py");
        self.frames.insert((pid, key), (id, native));
        Ok(())
    }

    fn reference(&mut self) -> Result<()> {
        let key = self.events.signed()?;
        let pid = self.sample()?.pid;
        let known = self.frames.get(&(pid, key)).or_else(|| self.frames.get(&(ANY_PROCESS, key)));
        let Some(&frame) = known else {
            return Err(Error::malformed("a frame that was defined before", key.to_string().as_bytes()));
        };
        if self.task_frames > 0 {
            self.task_frames -= 1;
            return Ok(());
        }
        self.push(frame)
    }

    fn push_plain(&mut self, name: &[u8], sink: &mut dyn Sink) -> Result<()> {
        let frame = self.names.plain(name, sink);
        self.push((frame, true))
    }

    fn push(&mut self, frame: Frame) -> Result<()> {
        let frames = &mut self.sample()?.frames;
        frames.push(frame);
        if frames.len() > DEEPEST {
            return Err(Error::malformed(format!("a stack of at most {DEEPEST} frames"), b"a deeper one"));
        }
        Ok(())
    }

    /// The frames of the thread's last sample stand above the frames of this one, but for native code
    /// that was below its Python.
    fn repeat(&mut self) -> Result<()> {
        let Some(sample) = &mut self.sample else { return self.sample().map(drop) };
        // Taken and put back at the sample's end; a second repeat in a sample makes no sense.
        let mut frames = self.previous.remove(&(sample.pid, sample.tid.clone())).unwrap_or_default();
        while frames.last().is_some_and(|(_, native)| *native) {
            frames.pop();
        }
        frames.append(&mut sample.frames);
        sample.frames = frames;
        Ok(())
    }

    fn flush(&mut self, sink: &mut dyn Sink) -> Result<()> {
        let (Some(sample), Some(values)) = (self.sample.take(), &mut self.values) else { return Ok(()) };
        /// No real stack is deeper, but for runaway recursion.
        const DEEP: usize = 1000;
        if sample.frames.len() > DEEP {
            self.deep += sample.frames.len() as u64;
        }
        if sample.frames.len() > DEEPEST || self.deep > MOST {
            return Err(Error::malformed(format!("stacks of at most {DEEPEST} frames"), b"deeper ones"));
        }
        let time = sample.time.unwrap_or_default();
        let busy = if sample.idle { Weight::ZERO } else { time };
        let memory = sample.memory.unwrap_or_default();
        let weights = match self.mode {
            Mode::Time => &[time][..],
            Mode::Memory => &[memory],
            Mode::Full => &[time, busy, memory],
        };
        self.stack.clear();
        if self.options.shows_threads(true) {
            self.stack.push(self.names.plain(format!("P{}", sample.pid).as_bytes(), sink));
            self.stack.push(self.names.build(sink, |out| {
                out.push(b'T');
                if sample.iid >= 0 {
                    out.extend_from_slice(format!("{}:", sample.iid).as_bytes());
                }
                sanitize_frame(&sample.tid, out);
            }));
        }
        self.stack.extend(sample.frames.iter().map(|(frame, _)| *frame));
        if self.stack.is_empty() {
            self.stack.push(self.names.plain(NO_STACK, sink));
        }
        self.samples += 1;
        if sink.wants().contexts {
            let owner = [sample.pid.to_string().as_bytes(), b";", &sample.tid].concat();
            let time = (self.mode != Mode::Memory).then(|| self.clock.tick(&owner, time));
            let context = Context {
                time,
                process: u64::try_from(sample.pid).ok(),
                thread: number::parse(&sample.tid),
                ..Context::UNKNOWN
            };
            values.sample_at(&self.stack, weights, &context, sink)?;
        } else {
            values.sample(&self.stack, weights, sink)?;
        }
        self.previous.insert((sample.pid, sample.tid), sample.frames);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::collapse::ValueSelection;
    use crate::collapse::tests::{collapse_bytes, fold};

    /// A recording in version 3.
    fn mojo(mode: &str, events: &[&[u8]]) -> Vec<u8> {
        [b"MOJ\x03\x01mode\0", mode.as_bytes(), b"\0", &events.concat()].concat()
    }

    const STACK: &[u8] = b"\x02\x07\x00ff\0";
    /// Strings 2 and 3, frames 1 and 2.
    const FRAMES: &[u8] =
        b"\x0b\x02a;b.py\0\x0b\x03f\0\x03\x01\x02\x03\x05\x05\x01\x02\x03\x02\x02\x01\x89\x01\x00\x00\x00";

    #[test]
    fn frames_strings_and_metrics() {
        let text =
            mojo("wall", &[STACK, FRAMES, b"\x05\x02\x05\x01\x07\x09\x0a", STACK, b"\x04\x09\x01\x08"]);
        assert_eq!(Mojo.detect(&text), Certainty::Yes);
        assert_eq!(
            fold(&Mojo, &text, &CollapseOptions::default()),
            "P7;T0:255;:INVALID: 1\nP7;T0:255;<unknown> (a:b.py:73);f (a:b.py:5);:GC: 10\n"
        );
        let without = CollapseOptions { threads_as_frames: Some(false), ..CollapseOptions::default() };
        let text = mojo("wall", &[STACK, FRAMES, b"\x05\x01\x09\x0a", STACK, b"\x09\x01"]);
        assert_eq!(fold(&Mojo, &text, &without), "[no stack] 1\nf (a:b.py:5) 10\n");
    }

    #[test]
    fn full_mode_has_three_values() {
        let text =
            mojo("full", &[STACK, FRAMES, b"\x05\x01\x09\x0a\x08\x0a\x45", STACK, b"\x05\x01\x09\x03"]);
        let with = |name: &str| {
            fold(
                &Mojo,
                &text,
                &CollapseOptions {
                    values: ValueSelection::Named(vec![name.into()]),
                    ..CollapseOptions::default()
                },
            )
        };
        assert_eq!(with("time"), "P7;T0:255;f (a:b.py:5) 13\n");
        assert_eq!(with("cpu"), "P7;T0:255;f (a:b.py:5) 3\n");
        assert_eq!(with("memory"), "P7;T0:255;f (a:b.py:5) -5\n");
    }

    #[test]
    fn repeats_and_tasks_of_newer_versions() {
        let text = mojo(
            "wall",
            &[
                STACK,
                FRAMES,
                b"\x05\x02\x05\x01\x04\x09\x01",
                // The frame of a task is none of the sample's.
                STACK,
                b"\x0e\x01\x00\x01\x05\x01\x0f\x01\x02\x10\x01\x0c\x02\x05\x01\x0d\x09\x02",
            ],
        );
        assert_eq!(
            fold(&Mojo, &text, &CollapseOptions::default()),
            "P7;T0:255;<unknown> (a:b.py:73);f (a:b.py:5);:INVALID: 1\nP7;T0:255;<unknown> (a:b.py:73);f (a:b.py:5);f (a:b.py:5) 2\n"
        );
    }

    #[test]
    fn version_4_repeats_stacks() {
        let mut text = mojo("wall", &[STACK, FRAMES, b"\x05\x02\x09\x01", STACK, b"\x05\x01\x0d\x09\x02"]);
        text[3] = 4;
        assert_eq!(Mojo.detect(&text), Certainty::Yes);
        assert_eq!(
            fold(&Mojo, &text, &CollapseOptions::default()),
            "P7;T0:255;<unknown> (a:b.py:73) 1\nP7;T0:255;<unknown> (a:b.py:73);f (a:b.py:5) 2\n"
        );
    }

    #[test]
    fn strings_and_frames_may_come_before_the_first_stack() {
        // Those of austin 3.4 with native frames; a process defines its own over them.
        let text = mojo(
            "wall",
            &[FRAMES, STACK, b"\x05\x01\x09\x01", b"\x0b\x03g\0", STACK, FRAMES, b"\x05\x01\x09\x02"],
        );
        assert_eq!(fold(&Mojo, &text, &CollapseOptions::default()), "P7;T0:255;f (a:b.py:5) 3\n");
    }

    #[test]
    fn what_is_broken_is_placed() {
        let error = |events: &[&[u8]]| {
            collapse_bytes(&Mojo, mojo("wall", events), &CollapseOptions::default()).unwrap_err().to_string()
        };
        for (events, message) in [
            (
                &[STACK, b"\x05\x01"][..],
                "test: byte 23: expected a frame that was defined before, found \"1\"",
            ),
            (&[b"\x09\x01"], "test: byte 17: expected a stack first"),
            (&[b"\x63"], "test: byte 16: expected the number of a MOJO event, found \"99\""),
            (
                &[STACK, b"\x03\x01\x09\x09\x01\x01\x01\x01"],
                "expected a string that was defined before, found \"9\"",
            ),
            (&[STACK, b"\x09\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x7f"], "a number of 64 bits"),
            (&[STACK, b"\x09\x80"], "test: byte 23: expected more bytes, found \"the end\""),
            (&[STACK], "expected what the last sample weighs"),
            (&[b"\x01mode"], "expected a text of less than 1048576 bytes, found \"the end\""),
        ] {
            assert!(error(events).contains(message), "{}", error(events));
        }
        let version = collapse_bytes(&Mojo, b"MOJ\x09", &CollapseOptions::default()).unwrap_err().to_string();
        assert!(version.contains("MOJO of version 1 to 4, found \"version 9\""), "{version}");
    }
}
