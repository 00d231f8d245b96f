//! Recordings of Python's own sampling profiler, `python -m profiling.sampling run --binary` (Python 3.15, by its source).
//!
//! ```text
//! "TACH" <version> <Python's version> <start> <interval> <samples> <threads> <strings> <frames> <compression>  …64 bytes
//! <thread> <interpreter> <how> …   samples: a stack, or what has changed in that thread's; as they are or in zstd
//! <length> orders.py …             texts
//! <file> <function> <line> …       frames
//! <texts> <frames> <size>          …32 bytes, the last ones
//! ```
//! Numbers are those of the machine that wrote them, most of them as long as they need to be. Stacks stand leaf first; they
//! come out as those of `--collapsed` do. Written by `Modules/_remote_debugging/binary_io_writer.c` of CPython.

use std::collections::HashMap;
use std::io::{BufReader, Read};
use std::time::Duration;

use ruzstd::decoding::StreamingDecoder;

use crate::bytes::{ByteOrder, varint_from, zigzag};
use crate::collapse::kit::names::{FrameNames, NO_STACK};
use crate::collapse::kit::threads::Thread;
use crate::collapse::kit::trie::{PathId, Trie};
use crate::collapse::kit::values::Values;
use crate::collapse::{
    Certainty, CollapseOptions, Collapser, Context, ContextInfo, FormatInfo, Reading, Report, Sink, Tested,
};
use crate::error::{Error, Position, Result};
use crate::folded::FrameId;
use crate::input::{Input, Reader};
use crate::weight::Weight;

const INFO: FormatInfo = FormatInfo {
    name: "python-sampling-binary",
    producer: "python -m profiling.sampling run --binary",
    tested: Tested::ByDescription("Python 3.15 by its source"),
    values: "samples",
    unit: "samples",
};

/// The first bytes on machines of both orders.
const LITTLE: &[u8] = b"HCAT";
const BIG: &[u8] = b"TACH";

/// The lengths of the header and of the end.
const HEADER: usize = 64;
const FOOTER: usize = 32;

/// The deepest stack that is recorded.
const DEEPEST: u64 = 256;

/// The most bytes of all texts and frames.
const LARGEST: u64 = 1 << 30;

/// Collapses recordings of `profiling.sampling`.
pub struct PythonSamplingBinary;

impl Collapser for PythonSamplingBinary {
    fn info(&self) -> &'static FormatInfo {
        &INFO
    }

    fn contexts(&self) -> ContextInfo {
        ContextInfo { times: "samples", clock: Some("recording"), labels: "thread, tid" }
    }

    fn detect(&self, head: &[u8]) -> Certainty {
        Certainty::of_magic(head.len() >= HEADER && (head.starts_with(LITTLE) || head.starts_with(BIG)))
    }

    fn collapse(
        &self,
        input: Input,
        reading: &Reading<'_>,
        sink: &mut dyn Sink,
        report: &mut Report,
    ) -> Result<()> {
        let mut reader = input.into_reader();
        let mut bytes = Vec::new();
        reader.append(HEADER as u64, &mut bytes)?;
        let header = Header::read(&bytes).ok_or_else(|| {
            let what = "a finished recording of Python 3.15; python3 -m profiling.sampling replay --collapsed \
                        FILE converts one of a later version";
            Error::malformed(what, b"another header").at(reader.place())
        })?;
        let mut samples = Samples::new(&header, reading, sink);
        samples.read(&mut reader, &header)?;
        let place = reader.place();
        let mut tables = Vec::new();
        let rest = Read::take(&mut reader, LARGEST).read_to_end(&mut tables);
        rest.map_err(|e| reader.error(e))?;
        let frames = Frames::read(&tables, &header);
        let frames = frames.ok_or_else(|| {
            Error::malformed("the texts and frames of a whole recording", b"other bytes").at(place)
        })?;
        samples.finish(&header, &frames, reading, sink, report)
    }
}

/// The header: byte order, clock, counts and the places of the tables.
struct Header {
    order: ByteOrder,
    start: u64,
    interval: u64,
    samples: u64,
    strings: u64,
    frames: u64,
    is_compressed: bool,
}

impl Header {
    /// Reads the header; a recording that was not ended has none.
    fn read(bytes: &[u8]) -> Option<Header> {
        let order = match bytes {
            _ if bytes.starts_with(BIG) => ByteOrder::Big,
            _ if bytes.starts_with(LITTLE) => ByteOrder::Little,
            _ => return None,
        };
        let number = |at: usize, len: usize| order.unsigned(&bytes[at..at + len]);
        let _version = number(4, 4);
        // Behind Python's version. Later writers count samples in eight bytes: offsets read from the wrong place are huge.
        let headers = [4, 8].into_iter().filter_map(|count| {
            let behind = 28 + count + 4;
            let (strings, frames) = (number(behind, 8), number(behind + 8, 8));
            let compression = number(behind + 16, 4);
            let is_sane =
                HEADER as u64 <= strings && strings <= frames && frames < 1 << 48 && compression <= 1;
            is_sane.then(|| Header {
                order,
                start: number(12, 8),
                interval: number(20, 8),
                samples: number(28, count),
                strings,
                frames,
                is_compressed: compression == 1,
            })
        });
        headers.min_by_key(|header| header.frames)
    }
}

/// The stacks of all threads, by the numbers of their frames.
struct Samples {
    order: ByteOrder,
    stacks: Trie,
    threads: HashMap<(u64, u64), State>,
    /// The numbers of threads, by the order in which they come first.
    owners: Vec<u64>,
    count: u64,
    last: u64,
    contexts: bool,
}

/// The last sample of a thread.
struct State {
    owner: u32,
    time: u64,
    /// Leaf first.
    stack: Vec<u32>,
    path: PathId,
}

impl Samples {
    fn new(header: &Header, options: &CollapseOptions, sink: &dyn Sink) -> Samples {
        let contexts = sink.wants().contexts || options.shows_threads(true);
        Samples {
            order: header.order,
            stacks: Trie::new(contexts),
            threads: HashMap::new(),
            owners: Vec::new(),
            count: 0,
            last: 0,
            contexts: sink.wants().contexts,
        }
    }

    /// Reads the samples up to the texts.
    fn read(&mut self, reader: &mut Reader, header: &Header) -> Result<()> {
        let len = header.strings - HEADER as u64;
        let place = reader.place();
        let damaged = |e: std::io::Error| match e.kind() {
            std::io::ErrorKind::UnexpectedEof
            | std::io::ErrorKind::InvalidData
            | std::io::ErrorKind::Other => {
                Error::malformed("the samples of a recording", e.to_string().as_bytes()).at(place.clone())
            }
            _ => Error::io("read", e).or_at(|| place.clone()),
        };
        let read = {
            let raw = Read::take(&mut *reader, len);
            if header.is_compressed && len > 0 {
                let inflated =
                    StreamingDecoder::new(raw).map_err(|e| damaged(std::io::Error::other(e.to_string())))?;
                self.records(BufReader::new(inflated), header.start)
            } else {
                self.records(BufReader::new(raw), header.start)
            }
        };
        read.map_err(damaged)??;
        // The decoder may leave a checksum.
        let left = header.strings.saturating_sub(reader.position());
        reader.skip(left)
    }

    /// Reads records to the end. The inner error is that of weights.
    fn records(&mut self, mut bytes: impl Read, start: u64) -> std::io::Result<Result<()>> {
        let invalid = |what: &str| std::io::Error::new(std::io::ErrorKind::InvalidData, what.to_owned());
        loop {
            let mut head = [0; 13];
            // Nothing, or a whole head.
            if bytes.read(&mut head[..1])? == 0 {
                return Ok(Ok(()));
            }
            bytes.read_exact(&mut head[1..])?;
            let key = (self.order.unsigned(&head[..8]), self.order.unsigned(&head[8..12]));
            let next = self.owners.len() as u32;
            let fresh = State { owner: next, time: start, stack: Vec::new(), path: Trie::ROOT };
            let state = self.threads.entry(key).or_insert(fresh);
            if state.owner == next {
                self.owners.push(key.0);
            }
            if head[12] == 0 {
                for _ in 0..varint(&mut bytes)? {
                    state.time = state.time.saturating_add(varint(&mut bytes)?);
                    byte(&mut bytes)?;
                    self.count += 1;
                    self.last = self.last.max(state.time);
                    let time = state.time.saturating_sub(start).saturating_mul(1000);
                    if let Err(e) = self.stacks.add_from(state.path, Weight::ONE, Some(time), state.owner) {
                        return Ok(Err(e));
                    }
                }
                continue;
            }
            state.time = state.time.saturating_add(varint(&mut bytes)?);
            byte(&mut bytes)?;
            let held = state.stack.len() as u64;
            // The frames that are kept are rootward, behind the new ones.
            let kept = match head[12] {
                1 => 0,
                2 => varint(&mut bytes)?,
                3 => held.saturating_sub(varint(&mut bytes)?),
                _ => return Err(invalid("an unknown kind of sample")),
            };
            let new = varint(&mut bytes)?;
            if kept > held || kept.saturating_add(new) > DEEPEST {
                return Err(invalid("a stack that is too deep"));
            }
            let mut stack = Vec::new();
            for _ in 0..new {
                stack.push(
                    u32::try_from(varint(&mut bytes)?).map_err(|_| invalid("a frame that is not there"))?,
                );
            }
            stack.extend_from_slice(&state.stack[(held - kept) as usize..]);
            state.path = stack.iter().rev().fold(Trie::ROOT, |path, frame| self.stacks.below(path, *frame));
            state.stack = stack;
            self.count += 1;
            self.last = self.last.max(state.time);
            let time = state.time.saturating_sub(start).saturating_mul(1000);
            if let Err(e) = self.stacks.add_from(state.path, Weight::ONE, Some(time), state.owner) {
                return Ok(Err(e));
            }
        }
    }

    /// Hands all that was added up to the sink.
    fn finish(
        self,
        header: &Header,
        frames: &Frames<'_>,
        options: &CollapseOptions,
        sink: &mut dyn Sink,
        report: &mut Report,
    ) -> Result<()> {
        report.facts.duration =
            self.last.checked_sub(header.start).filter(|passed| *passed > 0).map(Duration::from_micros);
        report.facts.rate = 1_000_000u64.checked_div(header.interval).filter(|rate| *rate > 0);
        let mut names = FrameNames::default();
        let ids: Vec<FrameId> =
            frames.all.iter().map(|frame| frames.frame(frame, &mut names, sink)).collect();
        let no_stack = sink.frame(NO_STACK);
        let shown = options.shows_threads(true);
        let mut values = Values::single(options, "samples", "samples");
        let mut whole = Vec::new();
        let missing = |number: u32| {
            Error::malformed(format!("one of {} frames", ids.len()), number.to_string().as_bytes())
                .at(Position::default())
        };
        self.stacks.for_each(
            None,
            |number| ids.get(number as usize).copied().ok_or_else(|| missing(number)),
            |stack, sampled| {
                let tid = self.owners.get(sampled.origin as usize).copied().unwrap_or(0).to_string();
                let owner = Thread { name: b"", pid: b"", tid: tid.as_bytes() };
                let context = if self.contexts { owner.context(sampled.time) } else { Context::UNKNOWN };
                whole.clear();
                if shown {
                    whole.push(names.plain(format!("tid:{tid}").as_bytes(), sink));
                }
                if stack.is_empty() && !shown {
                    whole.push(no_stack);
                }
                whole.extend_from_slice(stack);
                values.add_at(0, &whole, sampled.weight, sampled.samples, &context, sink)
            },
        )?;
        let (count, stated) = (Weight::new(self.count.into()), Weight::new(header.samples.into()));
        report.check_total("samples", count, stated);
        values.finish(report)
    }
}

fn byte(bytes: &mut impl Read) -> std::io::Result<u8> {
    let mut byte = [0];
    bytes.read_exact(&mut byte)?;
    Ok(byte[0])
}

/// Reads a [`crate::bytes::varint`].
fn varint(bytes: &mut impl Read) -> std::io::Result<u64> {
    varint_from(|| byte(bytes))?
        .ok_or_else(|| std::io::Error::new(std::io::ErrorKind::InvalidData, "a number that is too long"))
}

/// The frames of a recording, and their texts.
struct Frames<'b> {
    strings: Vec<&'b [u8]>,
    all: Vec<Frame>,
}

/// The numbers of the file's and the function's name, and the line.
struct Frame {
    file: usize,
    function: usize,
    line: i64,
}

impl Frames<'_> {
    /// Reads the tables and the end; `None` where they are damaged or cut off.
    fn read<'b>(bytes: &'b [u8], header: &Header) -> Option<Frames<'b>> {
        let (tables, footer) = bytes.split_at_checked(bytes.len().checked_sub(FOOTER)?)?;
        let stated = header.order.unsigned(&footer[8..16]);
        let (mut texts, mut frames) =
            tables.split_at_checked(usize::try_from(header.frames - header.strings).ok()?)?;
        if stated != header.strings + bytes.len() as u64 {
            return None;
        }
        let mut strings = Vec::new();
        for _ in 0..header.order.unsigned(&footer[..4]) {
            let len = usize::try_from(varint(&mut texts).ok()?).ok()?;
            let (text, rest) = texts.split_at_checked(len)?;
            strings.push(text);
            texts = rest;
        }
        let mut all = Vec::new();
        for _ in 0..header.order.unsigned(&footer[4..8]) {
            let mut next = || varint(&mut frames).ok();
            let (file, function) = (usize::try_from(next()?).ok()?, usize::try_from(next()?).ok()?);
            let line = zigzag(next()?);
            // The last line, both columns, and the instruction.
            for _ in 0..3 {
                next()?;
            }
            byte(&mut frames).ok()?;
            if file.max(function) >= strings.len() {
                return None;
            }
            all.push(Frame { file, function, line });
        }
        Some(Frames { strings, all })
    }

    fn frame(&self, frame: &Frame, names: &mut FrameNames, sink: &mut dyn Sink) -> FrameId {
        let function = self.strings[frame.function];
        match u64::try_from(frame.line) {
            Ok(line) if line > 0 => names.located(function, self.strings[frame.file], Some(line), sink),
            // `<GC>` and `<native>` are in no file.
            _ => names.plain(function, sink),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::collapse::tests::{collapse_bytes, fold};

    /// A recording of two threads in one of the byte orders, with a count of samples of four or eight bytes.
    fn recording(is_big: bool, count: usize, samples: &[Vec<u8>]) -> Vec<u8> {
        let order = |number: u64, len: usize| -> Vec<u8> {
            let bytes = number.to_le_bytes()[..len].to_vec();
            if is_big { bytes.into_iter().rev().collect() } else { bytes }
        };
        let region: Vec<u8> = samples
            .iter()
            .flat_map(|sample| [order(sample[0].into(), 8), order(0, 4), sample[1..].to_vec()].concat())
            .collect();
        let strings = b"\x09orders.py\x03fib\x08<module>\x01~\x04<GC>";
        let frames = [[0, 1, 46, 0, 0, 0, 255], [0, 2, 80, 0, 0, 0, 255], [3, 4, 1, 0, 1, 0, 255]].concat();
        let at = HEADER + region.len();
        let mut out = order(0x5441_4348, 4);
        out.extend(
            [order(1, 4), vec![3, 15, 0, 0], order(1000, 8), order(2000, 8), order(6, count)].concat(),
        );
        let offsets = [order(at as u64, 8), order((at + strings.len()) as u64, 8)].concat();
        out.extend([order(2, 4), offsets, order(0, 4)].concat());
        out.resize(HEADER, 0);
        out.extend([&region[..], strings, &frames].concat());
        let size = (out.len() + FOOTER) as u64;
        out.extend([order(5, 4), order(3, 4), order(size, 8), vec![0; 16]].concat());
        out
    }

    fn samples() -> Vec<Vec<u8>> {
        vec![
            // A whole stack, two of the same, one frame on top, two fewer and one more; and another thread's.
            vec![7, 1, 10, 3, 2, 0, 1],
            vec![7, 0, 2, 5, 3, 5, 3],
            vec![7, 2, 10, 3, 2, 1, 2],
            vec![9, 1, 10, 3, 0],
            vec![7, 3, 10, 3, 2, 1, 0],
        ]
    }

    #[test]
    fn stacks_are_those_of_the_text() {
        for (is_big, count) in [(false, 4), (true, 4), (false, 8)] {
            let bytes = recording(is_big, count, &samples());
            assert_eq!(PythonSamplingBinary.detect(&bytes), Certainty::Magic);
            let (folded, report) =
                collapse_bytes(&PythonSamplingBinary, &bytes, &CollapseOptions::default()).unwrap();
            let expected = "tid:7;<module> (orders.py:40);fib (orders.py:23) 4\n\
                tid:7;<module> (orders.py:40);fib (orders.py:23);<GC> 1\ntid:9 1\n";
            assert_eq!(folded, expected, "{is_big} {count}");
            assert!(report.not_understood.doubts.is_empty(), "{report:?}");
            assert_eq!(
                (report.facts.rate, report.facts.duration),
                (Some(500), Some(Duration::from_micros(40)))
            );
        }
        let hidden = CollapseOptions { threads_as_frames: Some(false), ..CollapseOptions::default() };
        let folded = fold(&PythonSamplingBinary, recording(false, 4, &samples()), &hidden);
        assert!(folded.contains("[no stack] 1\n"), "{folded}");
    }

    #[test]
    fn damage_is_said() {
        let error = |bytes: &[u8]| {
            let result = collapse_bytes(&PythonSamplingBinary, bytes, &CollapseOptions::default());
            result.err().map(|e| e.to_string()).unwrap_or_default()
        };
        let whole = recording(false, 4, &samples());
        for cut in 0..whole.len() {
            assert_ne!(error(&whole[..cut]), "", "{cut}");
        }
        assert!(error(&whole.repeat(2)).contains("a whole recording"));
        for (sample, what) in [
            (vec![7, 4, 1, 1, 0], "an unknown kind of sample"),
            (vec![7, 2, 1, 1, 1, 0], "too deep"),
            (vec![7, 1, 1, 1, 0x81, 2], "too deep"),
            (vec![7, 1, 1, 1, 1, 9], "one of 3 frames"),
            (vec![7, 1, 1, 1, 1], "the samples of a recording"),
        ] {
            let error = error(&recording(false, 4, &[sample]));
            assert!(error.contains(what), "{what}: {error}");
        }
        let (_, report) = collapse_bytes(
            &PythonSamplingBinary,
            recording(false, 4, &samples()[..1]),
            &CollapseOptions::default(),
        )
        .unwrap();
        assert!(report.not_understood.doubts[0].contains("the file says 6"), "{report:?}");
        // A recorder that was killed has left zeros in place of the header.
        assert_eq!(PythonSamplingBinary.detect(&[0; 64]), Certainty::No);
    }
}
