//! The protobuf of Android's simpleperf: `simpleperf report-sample --protobuf --show-callchain`.
//!
//! ```text
//! "SIMPLEPERF" version (16 bits, 1)  { size (32 bits)  Record }  0 (32 bits)
//! Record  1 Sample   1 time  2 thread  3 callchain { 1 address 2 file 3 symbol }  4 count  5 event
//!         2 LostSituation  1 samples  2 lost      4 Thread    1 thread  2 process  3 name
//!         3 File     1 id  2 path  3 symbols      5 MetaInfo  1 event types
//! ```
//! Numbers of fixed size have their least significant byte first. Callchains are leaf first. Files and threads may come
//! behind the samples that name them. Specified in `cmd_report_sample.proto` of simpleperf; no Android was at hand, so
//! that it is tested with files made field by field.

use std::collections::HashMap;

use crate::collapse::kit::events::event_unit;
use crate::collapse::kit::forest::Budget;
use crate::collapse::kit::names::{FrameNames, NO_STACK};
use crate::collapse::kit::naming::{kind_of, module_name};
use crate::collapse::kit::protobuf::{Content, Fields};
use crate::collapse::kit::threads::Thread;
use crate::collapse::kit::trie::{PathId, Trie};
use crate::collapse::kit::values::Values;
use crate::collapse::{
    Certainty, CollapseOptions, Collapser, ContextInfo, FormatInfo, Reading, Report, Sink, Tested, Value,
};
use crate::error::{Error, Result};
use crate::folded::{FrameId, Place};
use crate::input::Input;
use crate::unique::Unique;
use crate::weight::Weight;

const INFO: FormatInfo = FormatInfo {
    name: "simpleperf",
    producer: "simpleperf report-sample --protobuf --show-callchain",
    tested: Tested::ByDescription("simpleperf by its source, NDK r27"),
    values: "the recording's events",
    unit: "ns for clocks, else the event",
};

const MAGIC: &[u8] = b"SIMPLEPERF";

/// The number of a symbol that is not known.
const UNKNOWN: u64 = u64::MAX;

/// Collapses the protobuf.
pub struct Simpleperf;

impl Collapser for Simpleperf {
    fn info(&self) -> &'static FormatInfo {
        &INFO
    }

    fn contexts(&self) -> ContextInfo {
        ContextInfo { times: "samples", clock: Some("perf"), labels: "thread, tid, process" }
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
        let name = input.name().clone();
        let mut reader = input.into_reader();
        let mut start = [0; 12];
        let filled = reader.read_full(&mut start)?;
        if filled < start.len() || !start.starts_with(MAGIC) || start[10..] != [1, 0] {
            let expected = "SIMPLEPERF and version 1";
            return Err(Error::malformed(expected, &start[..filled]).at(reader.place()));
        }
        let mut recording = Recording::default();
        let mut record = Vec::new();
        loop {
            let mut size = [0; 4];
            let place = reader.place();
            if reader.read_full(&mut size)? < size.len() {
                report.doubt("the recording ends without its last record");
                break;
            }
            let size = u32::from_le_bytes(size);
            if size == 0 {
                report.expect_end(&mut reader)?;
                break;
            }
            record.clear();
            if let Err(e) = reader.append(size.into(), &mut record) {
                if reader.is_at_end()? && !recording.samples.is_empty() {
                    report.doubt("the recording is cut off within a record");
                    break;
                }
                return Err(e);
            }
            if recording.record(&record).is_none() {
                return Err(Error::malformed("a record of simpleperf", b"damaged bytes").at(place));
            }
        }
        let at = || crate::error::Position::file(name);
        recording.collapse(reading, sink, report).map_err(|e| e.or_at(at))
    }
}

#[derive(Default)]
struct Recording {
    /// Callchains, root first, by file and symbol.
    chains: Trie,
    frames: Unique<(u64, u64)>,
    samples: Vec<Sample>,
    files: HashMap<u64, File>,
    threads: HashMap<u64, (u64, Vec<u8>)>,
    events: Vec<Vec<u8>>,
    lost: u64,
}

struct Sample {
    chain: PathId,
    time: u64,
    thread: u64,
    count: u64,
    event: u64,
}

#[derive(Default)]
struct File {
    path: Vec<u8>,
    symbols: Vec<Vec<u8>>,
}

impl Recording {
    /// Reads a record; `None` if it is damaged.
    fn record(&mut self, bytes: &[u8]) -> Option<()> {
        for field in Fields(bytes) {
            match field? {
                (1, Content::Bytes(sample)) => self.sample(sample)?,
                (2, Content::Bytes(lost)) => {
                    for field in Fields(lost) {
                        if let (2, Content::Number(lost)) = field? {
                            self.lost = self.lost.saturating_add(lost);
                        }
                    }
                }
                (3, Content::Bytes(bytes)) => {
                    let (mut id, mut file) = (0, File::default());
                    for field in Fields(bytes) {
                        match field? {
                            (1, Content::Number(number)) => id = number,
                            (2, Content::Bytes(path)) => file.path = path.to_vec(),
                            (3, Content::Bytes(symbol)) => file.symbols.push(symbol.to_vec()),
                            _ => {}
                        }
                    }
                    self.files.insert(id, file);
                }
                (4, Content::Bytes(bytes)) => {
                    let (mut id, mut process, mut name) = (0, 0, Vec::new());
                    for field in Fields(bytes) {
                        match field? {
                            (1, Content::Number(number)) => id = number,
                            (2, Content::Number(number)) => process = number,
                            (3, Content::Bytes(text)) => name = text.to_vec(),
                            _ => {}
                        }
                    }
                    self.threads.insert(id, (process, name));
                }
                (5, Content::Bytes(bytes)) => {
                    for field in Fields(bytes) {
                        if let (1, Content::Bytes(event)) = field? {
                            self.events.push(event.to_vec());
                        }
                    }
                }
                _ => {}
            }
        }
        Some(())
    }

    fn sample(&mut self, bytes: &[u8]) -> Option<()> {
        let mut sample = Sample { chain: Trie::ROOT, time: 0, thread: 0, count: 0, event: 0 };
        let mut chain = Vec::new();
        for field in Fields(bytes) {
            match field? {
                (1, Content::Number(time)) => sample.time = time,
                (2, Content::Number(thread)) => sample.thread = thread,
                (3, Content::Bytes(entry)) => {
                    let (mut file, mut symbol) = (0, UNKNOWN);
                    for field in Fields(entry) {
                        match field? {
                            (2, Content::Number(number)) => file = number,
                            // An `int32`: -1 has ten bytes.
                            (3, Content::Number(number)) => symbol = number,
                            _ => {}
                        }
                    }
                    chain.push(self.frames.key((file, symbol)));
                }
                (4, Content::Number(count)) => sample.count = count,
                (5, Content::Number(event)) => sample.event = event,
                _ => {}
            }
        }
        sample.chain = chain.iter().rev().fold(Trie::ROOT, |path, frame| self.chains.below(path, *frame));
        self.samples.push(sample);
        Some(())
    }

    fn collapse(self, options: &CollapseOptions, sink: &mut dyn Sink, report: &mut Report) -> Result<()> {
        let mut names = FrameNames::default();
        let frames: Vec<FrameId> = self
            .frames
            .all()
            .iter()
            .map(|(file, symbol)| self.frame(*file, *symbol, &mut names, sink))
            .collect();
        let no_name = [b"samples".to_vec()];
        let events = if self.events.is_empty() { &no_name[..] } else { &self.events };
        let declared =
            events.iter().map(|event| Value::new(event.clone(), event_unit(event, true))).collect();
        let mut values = Values::new(options, declared, 0)?;
        let mut budget = Budget::default();
        let (mut stack, mut missing) = (Vec::new(), 0u64);
        for sample in &self.samples {
            let Some(column) = usize::try_from(sample.event).ok().filter(|event| *event < events.len())
            else {
                missing += 1;
                continue;
            };
            let (process, name) = self.threads.get(&sample.thread).map_or((0, &b""[..]), |(p, n)| (*p, n));
            let (pid, tid) = (process.to_string(), sample.thread.to_string());
            let thread = Thread { name, pid: pid.as_bytes(), tid: tid.as_bytes() };
            stack.clear();
            let mut at = sample.chain;
            while let Some((above, number)) = self.chains.above(at) {
                stack.push(frames[number as usize]);
                at = above;
            }
            if stack.is_empty() {
                stack.push(sink.frame(NO_STACK));
            }
            budget.check(stack.len())?;
            budget.spend(stack.len() / 16)?;
            if options.shows_threads(true) {
                stack.push(names.build(sink, |out| thread.write(options, out)));
            }
            stack.reverse();
            let context = thread.context(Some(sample.time));
            values.add_at(column, &stack, Weight::from(sample.count), 1, &context, sink)?;
        }
        if missing > 0 {
            report.doubt(format!("{missing} samples are of events that the recording does not name"));
        }
        if self.lost > 0 {
            report.warn(format!("{} samples were lost while recording", self.lost));
        }
        values.finish(report)
    }

    /// A symbol of a file, or the file where the symbol is not known.
    fn frame(&self, file: u64, symbol: u64, names: &mut FrameNames, sink: &mut dyn Sink) -> FrameId {
        let file = self.files.get(&file);
        let path = file.map_or(&b""[..], |file| &file.path);
        let known = file.zip(usize::try_from(symbol).ok()).and_then(|(file, at)| file.symbols.get(at));
        let place = Place { module: module_name(path), kind: kind_of(path, b""), ..Place::default() };
        match known {
            Some(symbol) => names.plain_at(symbol, &place, sink),
            None => names.module(path, 0, &CollapseOptions::default(), sink),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::collapse::tests::{collapse_bytes, fold};

    /// A field of a number below 128, or of bytes.
    fn number_field(field: u8, value: u8) -> Vec<u8> {
        vec![field << 3, value]
    }

    fn bytes(field: u8, value: &[u8]) -> Vec<u8> {
        [&[field << 3 | 2, value.len() as u8], value].concat()
    }

    fn record(field: u8, parts: &[Vec<u8>]) -> Vec<u8> {
        let record = bytes(field, &parts.concat());
        [&(record.len() as u32).to_le_bytes()[..], &record].concat()
    }

    fn entry(file: u8, symbol: u8) -> Vec<u8> {
        bytes(3, &[number_field(1, 16), number_field(2, file), number_field(3, symbol)].concat())
    }

    fn recording(records: &[Vec<u8>]) -> Vec<u8> {
        [b"SIMPLEPERF\x01\0", &records.concat()[..], &[0; 4]].concat()
    }

    fn records() -> Vec<Vec<u8>> {
        let unknown = bytes(3, &[number_field(2, 2), vec![3 << 3], vec![0xff; 9], vec![1]].concat());
        vec![
            record(5, &[bytes(1, b"cpu-clock:u"), bytes(1, b"page-faults")]),
            record(
                1,
                &[
                    number_field(1, 5),
                    number_field(2, 8),
                    entry(1, 1),
                    entry(1, 0),
                    number_field(4, 100),
                    number_field(5, 0),
                ],
            ),
            record(
                1,
                &[
                    number_field(1, 6),
                    number_field(2, 8),
                    unknown,
                    entry(1, 0),
                    number_field(4, 7),
                    number_field(5, 0),
                ],
            ),
            record(
                1,
                &[
                    number_field(1, 6),
                    number_field(2, 8),
                    entry(1, 0),
                    number_field(4, 3),
                    number_field(5, 1),
                ],
            ),
            record(
                3,
                &[number_field(1, 1), bytes(2, b"/system/lib/app.so"), bytes(3, b"main"), bytes(3, b"a;b")],
            ),
            record(3, &[number_field(1, 2), bytes(2, b"/apex/libc.so")]),
            record(4, &[number_field(1, 8), number_field(2, 7), bytes(3, b"RenderThread")]),
            record(2, &[number_field(1, 3), number_field(2, 9)]),
        ]
    }

    #[test]
    fn samples_weigh_the_count_of_their_event() {
        let text = recording(&records());
        assert_eq!(Simpleperf.detect(&text), Certainty::Magic);
        let (out, report) = collapse_bytes(&Simpleperf, &text, &CollapseOptions::default()).unwrap();
        assert_eq!(out, "RenderThread;main;[libc.so] 7\nRenderThread;main;a:b 100\n");
        assert_eq!(report.notes, ["9 samples were lost while recording"]);
        let faults = CollapseOptions {
            values: crate::collapse::ValueSelection::Named(vec![b"page-faults".to_vec()]),
            tid: true,
            ..CollapseOptions::default()
        };
        assert_eq!(fold(&Simpleperf, &text, &faults), "RenderThread-7/8;main 3\n");
    }

    #[test]
    fn what_is_cut_or_damaged_is_told() {
        let whole = recording(&records());
        let (_, report) =
            collapse_bytes(&Simpleperf, &whole[..whole.len() - 4], &CollapseOptions::default()).unwrap();
        assert_eq!(report.not_understood.doubts, ["the recording ends without its last record"]);
        let (_, report) =
            collapse_bytes(&Simpleperf, &whole[..whole.len() - 6], &CollapseOptions::default()).unwrap();
        assert_eq!(report.not_understood.doubts, ["the recording is cut off within a record"]);
        let error = |text: &[u8]| {
            collapse_bytes(&Simpleperf, text, &CollapseOptions::default()).unwrap_err().to_string()
        };
        assert!(error(b"SIMPLEPERF\x02\0").contains("SIMPLEPERF and version 1"));
        let damaged = recording(&[[&2u32.to_le_bytes()[..], &[0x0a, 0x7f]].concat()]);
        assert!(
            error(&damaged).starts_with("test: byte 12: expected a record of simpleperf"),
            "{}",
            error(&damaged)
        );
        assert!(error(b"SIMPLEPERF\x01\0\xff\xff\xff\xff\x0a").contains("expected 4294967295 bytes"));
    }
}
