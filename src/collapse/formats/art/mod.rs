//! Method traces of Android's runtime, `.trace`: `Debug.startMethodTracing`, `am profile start`, and Android Studio's
//! recordings of Java and Kotlin methods, sampled or traced, as the readers of Firefox's profiler and of Android
//! Studio (perflib) take them.
//!
//! ```text
//! *version
//! 3
//! clock=dual
//! num-method-calls=35489
//! *threads
//! 15355  main
//! *methods
//! 0x3f4  android.view.Window  setAttributes  (Landroid/view/WindowManager$LayoutParams;)V  Window.java
//! *end
//! SLOW …                                  then records: thread, method with enter or exit, times
//! ```
//! A trace that was streamed begins with `SLOW`, and has methods and threads between its records and the summary last.
//! Methods nest on their thread, and each weighs the time in which it entered no further one: on the wall clock, and
//! on the processor if both clocks were read.

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use crate::collapse::kit::java_frame::dotted;
use crate::collapse::kit::names::FrameNames;
use crate::collapse::kit::spans::{Mark, Spans};
use crate::collapse::kit::threads::Thread;
use crate::collapse::kit::trie::Trie;
use crate::collapse::kit::values::Values;
use crate::collapse::{
    Certainty, CollapseOptions, Collapser, Context, ContextInfo, FormatInfo, Reading, Report, Sink, Tested,
    Value,
};
use crate::error::{Error, Result};
use crate::folded::{FrameId, Kind, Place, sanitize_frame};
use crate::input::{Input, Reader, lines};
use crate::number;
use crate::weight::Weight;

const INFO: FormatInfo = FormatInfo {
    name: "art",
    producer: "Android's method traces: Debug.startMethodTracing, am profile, Android Studio; .trace",
    tested: Tested::ByDescription("versions 1 to 3 of the format, as other readers describe them"),
    values: "wall, cpu, whichever clocks there are",
    unit: "us, us",
};

/// The start of the records, and of a trace that was streamed.
const MAGIC: &[u8] = b"SLOW";

/// The start of the text before the records.
const TEXT: &[u8] = b"*version\n";

/// The bits that say that a trace was streamed.
const STREAMED: u16 = 0xf0;

/// Collapses method traces of Android's runtime.
pub struct Art;

impl Collapser for Art {
    fn info(&self) -> &'static FormatInfo {
        &INFO
    }

    fn contexts(&self) -> ContextInfo {
        ContextInfo { times: "methods", clock: Some("recording"), labels: "thread, tid, process" }
    }

    fn detect(&self, head: &[u8]) -> Certainty {
        let is_streamed = head.starts_with(MAGIC)
            && head.get(4..6).is_some_and(|version| matches!(version, [0xf1..=0xf3, 0]));
        let is_text = head.strip_prefix(TEXT).is_some_and(|rest| matches!(rest, [b'1'..=b'3', b'\n', ..]));
        if is_streamed || is_text { Certainty::Yes } else { Certainty::No }
    }

    fn collapse(
        &self,
        input: Input,
        reading: &Reading<'_>,
        sink: &mut dyn Sink,
        report: &mut Report,
    ) -> Result<()> {
        let mut reader = input.into_reader();
        let mut trace = MethodTrace::default();
        trace.read(&mut reader)?;
        if trace.cut.is_none() {
            report.expect_end(&mut reader)?;
        }
        trace.finish(reading, sink, report)
    }
}

/// A trace as it is read.
#[derive(Default)]
struct MethodTrace {
    version: u16,
    summary: Summary,
    threads: HashMap<u16, Vec<u8>>,
    methods: HashMap<u32, Method>,
    records: Vec<Record>,
    /// The byte at which the trace is cut off.
    cut: Option<u64>,
}

/// The lines `key=value` that are used.
#[derive(Default)]
struct Summary {
    clock: Option<Clock>,
    overflow: bool,
    /// Microseconds.
    elapsed: Option<u64>,
    records: Option<u64>,
    process: Vec<u8>,
}

/// The clocks whose times stand in a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Clock {
    Cpu,
    Wall,
    /// The processor's time, then the wall clock's.
    Dual,
}

struct Method {
    /// Class and name, as `android.view.Window.setAttributes`.
    name: Vec<u8>,
    file: Vec<u8>,
    /// The line on which it begins; 0 if that is unknown.
    line: u32,
}

/// A method that is entered or left; times in microseconds since the start.
#[derive(Clone, Copy)]
struct Record {
    thread: u16,
    /// The number of the method, and in the last two bits what happens to it: 0 is entered.
    method: u32,
    times: [u32; 2],
}

impl MethodTrace {
    fn read(&mut self, reader: &mut Reader) -> Result<()> {
        let mut magic = Vec::new();
        reader.append(MAGIC.len() as u64, &mut magic)?;
        if magic == MAGIC {
            let size = self.header(reader)?;
            return self.cut_at_end(reader, |trace, reader| trace.streamed(reader, size));
        }
        let is_whole = self.text(reader, &magic)?;
        if !is_whole {
            self.cut = Some(reader.position());
            return Ok(());
        }
        self.cut_at_end(reader, |trace, reader| {
            magic.clear();
            reader.append(MAGIC.len() as u64, &mut magic)?;
            if magic != MAGIC {
                return Err(Error::malformed("the start of the records", &magic).at(reader.place()));
            }
            let size = trace.header(reader)?;
            while !reader.is_at_end()? {
                trace.record(reader, size, &[])?;
            }
            Ok(())
        })
    }

    /// Takes an error at the end of the input for a trace that is cut off there.
    fn cut_at_end(
        &mut self,
        reader: &mut Reader,
        read: impl FnOnce(&mut MethodTrace, &mut Reader) -> Result<()>,
    ) -> Result<()> {
        match read(self, reader) {
            Err(_) if reader.is_at_end()? => {
                self.cut = Some(reader.position());
                Ok(())
            }
            result => result,
        }
    }

    /// Reads the text before the records, whose first bytes are read; `false` if it ends early.
    fn text(&mut self, reader: &mut Reader, first: &[u8]) -> Result<bool> {
        let (mut line, mut section) = (Vec::new(), Vec::new());
        let mut is_first = true;
        while reader.line(&mut line)? {
            if std::mem::take(&mut is_first) {
                line.splice(..0, first.iter().copied());
            }
            match &line[..] {
                b"*end" => return Ok(true),
                [b'*', ..] => section.clone_from(&line),
                line => match &section[..] {
                    b"*version" => self.summary.line(line),
                    b"*threads" => {
                        let mut columns = line.splitn(2, |&b| b == b'\t');
                        if let (Some(tid), Some(name)) =
                            (columns.next().and_then(number::parse::<u64>), columns.next())
                        {
                            self.threads.insert(tid as u16, name.to_vec());
                        }
                    }
                    b"*methods" => self.method(line),
                    _ => return Err(Error::malformed("a section of a method trace", line).at(reader.place())),
                },
            }
        }
        Ok(false)
    }

    /// Reads what stands behind the magic, and returns the size of a record.
    fn header(&mut self, reader: &mut Reader) -> Result<u64> {
        let place = reader.place();
        let mut bytes = Vec::new();
        reader.append(12, &mut bytes)?;
        self.version = u16_at(&bytes, 0) & !STREAMED;
        let length = u64::from(u16_at(&bytes, 2));
        let mut read = 16;
        let size = match self.version {
            1 => 9,
            2 => 10,
            3 => {
                bytes.clear();
                reader.append(2, &mut bytes)?;
                read += 2;
                u64::from(u16_at(&bytes, 0)).max(10)
            }
            version => {
                let found = version.to_string();
                return Err(
                    Error::malformed("version 1, 2 or 3 of a method trace", found.as_bytes()).at(place)
                );
            }
        };
        reader.skip(length.saturating_sub(read))?;
        Ok(size)
    }

    /// Reads a record whose `first` bytes were read before.
    fn record(&mut self, reader: &mut Reader, size: u64, first: &[u8]) -> Result<()> {
        let mut bytes = first.to_vec();
        reader.append(size - first.len() as u64, &mut bytes)?;
        let (thread, rest) = match self.version {
            1 => (u16::from(bytes[0]), &bytes[1..]),
            _ => (u16_at(&bytes, 0), &bytes[2..]),
        };
        let at = |at: usize| {
            rest.get(at..at + 4).map_or(0, |own| u32::from_le_bytes(own.try_into().expect("four bytes")))
        };
        self.records.push(Record { thread, method: at(0), times: [at(4), at(8)] });
        Ok(())
    }

    /// Reads records, methods, threads and the summary up to the end.
    fn streamed(&mut self, reader: &mut Reader, size: u64) -> Result<()> {
        let mut bytes = Vec::new();
        loop {
            bytes.clear();
            let place = reader.place();
            reader.append(2, &mut bytes)?;
            if bytes != [0, 0] {
                self.record(reader, size, &bytes)?;
                continue;
            }
            bytes.clear();
            let code = reader.byte()?;
            let field = |reader: &mut Reader, bytes: &mut Vec<u8>| {
                reader.append(2, bytes)?;
                Ok::<u16, Error>(u16_at(&bytes[bytes.len() - 2..], 0))
            };
            match code {
                1 => {
                    let len = field(reader, &mut bytes)?;
                    bytes.clear();
                    reader.append(len.into(), &mut bytes)?;
                    self.method(bytes.trim_ascii_end());
                }
                2 => {
                    let (tid, len) = (field(reader, &mut bytes)?, field(reader, &mut bytes)?);
                    bytes.clear();
                    reader.append(len.into(), &mut bytes)?;
                    self.threads.insert(tid, bytes.clone());
                }
                3 => {
                    reader.append(4, &mut bytes)?;
                    let len = u32::from_le_bytes(bytes[..].try_into().expect("four bytes"));
                    bytes.clear();
                    reader.append(len.into(), &mut bytes)?;
                    lines(&bytes).for_each(|line| self.summary.line(line));
                    return Ok(());
                }
                code => {
                    let found = code.to_string();
                    return Err(
                        Error::malformed("a method, a thread or a summary", found.as_bytes()).at(place)
                    );
                }
            }
        }
    }

    /// Reads the columns of a method: number, class, name, signature, file, and the line where there is one.
    fn method(&mut self, line: &[u8]) {
        let columns: Vec<&[u8]> = line.split(|&b| b == b'\t').collect();
        let [id, class, name, rest @ ..] = &columns[..] else { return };
        let id =
            std::str::from_utf8(id).ok().and_then(|id| u32::from_str_radix(id.strip_prefix("0x")?, 16).ok());
        let Some(id) = id else { return };
        // Android's older runtime writes `java/lang/Object`.
        let mut full = dotted(class);
        full.push(b'.');
        full.extend_from_slice(name);
        let file = rest.get(1).copied().unwrap_or_default().to_vec();
        let line = rest.get(2).copied().and_then(number::parse).unwrap_or(0);
        self.methods.insert(id, Method { name: full, file, line });
    }

    /// Hands all stacks to the sink.
    fn finish(self, options: &CollapseOptions, sink: &mut dyn Sink, report: &mut Report) -> Result<()> {
        self.facts(report);
        let fallback = if self.version == 3 { Clock::Dual } else { Clock::Cpu };
        let clock = self.summary.clock.unwrap_or(fallback);
        let columns: &[(&str, usize)] = match clock {
            Clock::Cpu => &[("cpu", 0)],
            Clock::Wall => &[("wall", 0)],
            Clock::Dual => &[("wall", 1), ("cpu", 0)],
        };
        let declared = columns.iter().map(|(name, _)| Value::new(*name, "us")).collect();
        let mut values = Values::new(options, declared, 0)?;
        let mut numbers: HashMap<u32, u32> = HashMap::new();
        let (mut names, mut frames) = (FrameNames::default(), Vec::new());
        let mut lanes: BTreeMap<u16, Vec<Spans>> = BTreeMap::new();
        for record in &self.records {
            let id = record.method & !3;
            let frame = FrameId(*numbers.entry(id).or_insert_with(|| {
                frames.push(match self.methods.get(&id) {
                    Some(Method { name, file, line }) => {
                        let place = Place { file, start_line: *line, kind: Kind::User, ..Place::default() };
                        names.build_at(&place, sink, |out| sanitize_frame(name, out))
                    }
                    None => names.plain(format!("[method 0x{id:x}]").as_bytes(), sink),
                });
                frames.len() as u32 - 1
            }));
            let mark =
                if record.method & 3 == 0 { Mark::Begin(frame, frame, 0) } else { Mark::End(Some(frame)) };
            let lane = lanes
                .entry(record.thread)
                .or_insert_with(|| columns.iter().map(|_| Spans::default()).collect());
            for (spans, (_, at)) in lane.iter_mut().zip(columns) {
                spans.marks.push((Weight::new(record.times[*at].into()), mark));
            }
        }
        let (contexts, several) = (sink.wants().contexts, lanes.len() > 1);
        let mut unmatched = 0;
        for (tid, lane) in lanes {
            let number = tid.to_string();
            let own = self.threads.get(&tid).map_or(&b""[..], Vec::as_slice);
            let owner = Thread { name: own, pid: &self.summary.process, tid: number.as_bytes() };
            let start = options.shows_threads(several && !own.is_empty()).then(|| {
                let mut name = Vec::new();
                owner.write(options, &mut name);
                sink.frame(&name)
            });
            for (column, spans) in lane.into_iter().enumerate() {
                let mut stacks = Trie::new(contexts);
                let misplaced = spans.collapse(&mut stacks, |_, _| Ok(()))?;
                unmatched += if column == 0 { misplaced.unbegun } else { 0 };
                stacks.for_each(
                    start,
                    |number| Ok(frames[number as usize]),
                    |stack, sampled| {
                        // Only the wall clock is one for all threads.
                        let time = sampled.time.filter(|_| columns[column].0 == "wall");
                        let context = if contexts { owner.context(time) } else { Context::UNKNOWN };
                        let lasting = (&context, sampled.duration);
                        values.add_lasting(column, stack, sampled.weight, sampled.samples, lasting, sink)
                    },
                )?;
            }
        }
        if unmatched > 0 {
            report.note(format!(
                "{unmatched} methods are left that were entered before the trace; their callers have their time"
            ));
        }
        values.finish(report)
    }

    /// Notes what the trace says of itself, and what is missing.
    fn facts(&self, report: &mut Report) {
        report.facts.duration = self.summary.elapsed.filter(|us| *us > 0).map(Duration::from_micros);
        if let Some(byte) = self.cut {
            report.doubt(format!("the trace is cut off at byte {byte}; it is read as far as it goes"));
        } else if let Some(stated) =
            self.summary.records.filter(|stated| *stated != self.records.len() as u64)
        {
            report.doubt(format!("there are {} records, the trace says {stated}", self.records.len()));
        }
        if self.summary.overflow {
            report.doubt("the buffer was full before the trace ended: record with a larger one");
        }
    }
}

impl Summary {
    fn line(&mut self, line: &[u8]) {
        let mut parts = line.trim_ascii_end().splitn(2, |&b| b == b'=');
        let (Some(key), Some(value)) = (parts.next(), parts.next()) else { return };
        match key {
            b"clock" => {
                self.clock = match value {
                    b"dual" => Some(Clock::Dual),
                    b"wall" | b"global" => Some(Clock::Wall),
                    b"thread-cpu" => Some(Clock::Cpu),
                    _ => None,
                }
            }
            b"data-file-overflow" => self.overflow = value == b"true",
            b"elapsed-time-usec" => self.elapsed = number::parse(value),
            b"num-method-calls" => self.records = number::parse(value),
            b"pid" => self.process = value.to_vec(),
            _ => {}
        }
    }
}

fn u16_at(bytes: &[u8], at: usize) -> u16 {
    u16::from_le_bytes([bytes[at], bytes[at + 1]])
}

#[cfg(test)]
mod tests;
