//! Go's profiles as text, with `debug=1`: `pprof.Lookup("heap").WriteTo(w, 1)`, or
//! `/debug/pprof/heap?debug=1` (seen: Go 1.19).
//!
//! ```text
//! heap profile: 485: 5154640 [89415: 236876136] @ heap/8192
//! 3: 98304 [26: 851968] @ 0x4c594f 0x4c6a1c
//! #    0x4c594e    regexp.(*bitState).reset+0x10e        regexp/backtrack.go:91
//! #    0x4c6a1b    regexp.(*Regexp).backtrack+0x19b    regexp/backtrack.go:319
//!
//! ```
//! Heap profiles show what was sampled, not what that stands for: their numbers add up to those
//! in the first line. The profile itself, without `debug=1`, has the estimate. Profiles of
//! contention (`--- contention:`, `--- mutex:`) count processor cycles; the others count what they
//! are called after: `goroutine profile: total 7`. The source is Go's `runtime/pprof`.

use crate::collapse::kit::driver::{self, RecordParser, last_blank_line};
use crate::collapse::kit::names::{FrameNames, NO_STACK};
use crate::collapse::kit::naming::split_srcline;
use crate::collapse::kit::values::Values;
use crate::collapse::{Certainty, Collapser, FormatInfo, Reading, Report, Sink, Tested, Value};
use crate::error::{Error, Position, Result};
use crate::folded::{FrameId, Place, sanitize_frame};
use crate::input::{Input, lines};
use crate::weight::Weight;
use std::sync::Mutex;

const INFO: FormatInfo = FormatInfo {
    name: "go-text",
    producer: "Go's profiles with debug=1",
    tested: Tested::Seen("Go 1.19"),
    values: "inuse_space, inuse_objects, alloc_space, alloc_objects; delay, contentions; goroutine, …",
    unit: "bytes, objects; cycles, contentions; goroutines, …",
};

/// Collapses Go's profiles as text.
pub struct GoText;

impl Collapser for GoText {
    fn info(&self) -> &'static FormatInfo {
        &INFO
    }

    fn detect(&self, head: &[u8]) -> Certainty {
        if Header::read(head).is_some() { Certainty::Yes } else { Certainty::No }
    }

    fn collapse(
        &self,
        input: Input,
        reading: &Reading<'_>,
        sink: &mut dyn Sink,
        report: &mut Report,
    ) -> Result<()> {
        let Some(header) = Header::read(input.head()) else {
            let first = lines(input.head()).next().unwrap_or_default();
            let place = Position::line(input.name().clone(), 1);
            return Err(Error::malformed("the first line of a profile of Go's", first).at(place));
        };
        // A wrong choice of values is reported once, before there are threads. The first line says which
        // values hold anything.
        let holds = |at: usize| header.totals.get(at).is_none_or(|total| !total.is_zero());
        let chosen = Values::holding(reading, header.values(), 0, holds, report)?;
        let default = header.values().iter().position(|value| chosen.kept() == Some(value)).unwrap_or(0);
        if header.kind == Kind::Heap {
            report
                .warn("Go's heap profile as text holds what was sampled; without debug=1 it is the estimate");
        }
        let sums = Mutex::new(header.values().iter().map(|_| Weight::ZERO).collect::<Vec<_>>());
        let new = || Lines {
            sums: &sums,
            own: Vec::new(),
            values: Values::new(reading, header.values(), default).expect("it was possible before"),
            header: header.clone(),
            srcline: reading.srcline,
            pending: None,
            stack: Vec::new(),
            names: FrameNames::default(),
        };
        driver::run_records(input, reading.threads, &last_blank_line, new, sink, report)?;
        let sums = sums.into_inner().expect("no thread panics");
        for ((value, sum), stated) in header.values().iter().zip(sums).zip(&header.totals) {
            let what = format!("the records of {}", String::from_utf8_lossy(&value.name));
            report.check_total(what, sum, *stated);
        }
        Ok(())
    }
}

#[derive(Clone, PartialEq, Eq)]
enum Kind {
    /// `objects: bytes [objects: bytes] @`, in use and allocated.
    Heap,
    /// `cycles count @`.
    Contention,
    /// `count @`, with the name of the things that are counted.
    Count(Vec<u8>),
}

#[derive(Clone)]
struct Header {
    kind: Kind,
    /// The sums of all records as they are stated, in the order of [`Header::values`].
    totals: Vec<Weight>,
    /// The number of events that one counted contention stands for.
    period: Weight,
}

impl Header {
    fn read(head: &[u8]) -> Option<Header> {
        let mut lines = lines(head).map(<[u8]>::trim_ascii_end);
        let first = lines.next()?;
        let mut totals = Vec::new();
        let kind = if let Some(heap) = first.strip_prefix(b"heap profile: ") {
            memchr::memmem::find(heap, b" @ heap/")?;
            totals = Kind::Heap.weights(heap, Weight::ONE).unwrap_or_default();
            Kind::Heap
        } else if first == b"--- contention:" || first == b"--- mutex:" {
            Kind::Contention
        } else {
            let at = memchr::memmem::find(first, b" profile: total ")?;
            let (name, total) = (&first[..at], &first[at + b" profile: total ".len()..]);
            totals.push(Weight::parse(total)?);
            Kind::Count(name.to_vec())
        };
        let period = lines.take(4).find_map(|line| line.strip_prefix(b"sampling period="));
        Some(Header { kind, totals, period: period.and_then(Weight::parse).unwrap_or(Weight::ONE) })
    }

    fn values(&self) -> Vec<Value> {
        match &self.kind {
            Kind::Heap => vec![
                Value::new("inuse_space", "bytes"),
                Value::new("inuse_objects", "objects"),
                Value::new("alloc_space", "bytes"),
                Value::new("alloc_objects", "objects"),
            ],
            Kind::Contention => vec![Value::new("delay", "cycles"), Value::new("contentions", "contentions")],
            Kind::Count(name) => vec![Value::with_producers_unit(name.clone(), "count")],
        }
    }

    /// The weights of a record's first line, in the order of [`Header::values`].
    fn weights(&self, line: &[u8]) -> Option<Vec<Weight>> {
        self.kind.weights(line, self.period)
    }
}

impl Kind {
    /// The numbers of a line, in the order of [`Header::values`].
    fn weights(&self, line: &[u8], period: Weight) -> Option<Vec<Weight>> {
        let at =
            memchr::memmem::find(line, b" @").filter(|at| matches!(line.get(at + 2), None | Some(b' ')))?;
        let text = std::str::from_utf8(&line[..at]).ok()?;
        let numbers: Vec<&str> = text.split([' ', ':', '[', ']']).filter(|part| !part.is_empty()).collect();
        let numbers: Option<Vec<Weight>> = numbers.into_iter().map(|n| Weight::parse(n.as_bytes())).collect();
        match (self, &numbers?[..]) {
            (Kind::Heap, &[live, live_bytes, all, all_bytes]) => Some(vec![live_bytes, live, all_bytes, all]),
            (Kind::Contention, &[cycles, count]) => {
                Some(vec![cycles.checked_mul(period).ok()?, count.checked_mul(period).ok()?])
            }
            (Kind::Count(_), &[count]) => Some(vec![count]),
            _ => None,
        }
    }
}

fn add_each(sums: &mut Vec<Weight>, weights: &[Weight]) -> Result<()> {
    sums.resize(sums.len().max(weights.len()), Weight::ZERO);
    sums.iter_mut().zip(weights).try_for_each(|(sum, weight)| {
        *sum = sum.checked_add(*weight)?;
        Ok(())
    })
}

/// Reads the lines of one thread.
struct Lines<'s> {
    /// The sums of all threads, and those of this one.
    sums: &'s Mutex<Vec<Weight>>,
    own: Vec<Weight>,
    header: Header,
    values: Values,
    srcline: bool,
    /// The weights of the record whose frames are being read.
    pending: Option<Vec<Weight>>,
    /// Leaf first.
    stack: Vec<FrameId>,
    names: FrameNames,
}

impl RecordParser for Lines<'_> {
    fn line(&mut self, line: &[u8], sink: &mut dyn Sink) -> Result<bool> {
        if let Some(frame) = line.strip_prefix(b"#\t").or_else(|| line.strip_prefix(b"#       ")) {
            if self.pending.is_some() {
                self.frame(frame, sink);
            }
            return Ok(true);
        }
        if let Some(weights) = self.header.weights(line) {
            // The first line of a heap profile has the totals where a record has its weights.
            self.end(sink)?;
            self.pending = Some(weights);
            return Ok(true);
        }
        if line.is_empty() {
            self.end(sink)?;
            return Ok(true);
        }
        let known = line.starts_with(b"#")
            || line.starts_with(b"--- ")
            || line.starts_with(b"cycles/second=")
            || line.starts_with(b"sampling period=")
            || memchr::memmem::find(line, b" profile: ").is_some();
        Ok(known)
    }

    fn is_within_record(&self) -> bool {
        self.pending.is_some()
    }

    fn end(&mut self, sink: &mut dyn Sink) -> Result<()> {
        let Some(weights) = self.pending.take() else { return Ok(()) };
        if self.stack.is_empty() {
            self.stack.push(sink.frame(NO_STACK));
        }
        add_each(&mut self.own, &weights)?;
        self.stack.reverse();
        self.values.sample(&self.stack, &weights, sink)?;
        self.stack.clear();
        Ok(())
    }

    fn finish(self, report: &mut Report) -> Result<()> {
        add_each(&mut self.sums.lock().expect("no thread panics"), &self.own)?;
        self.values.finish(report)
    }
}

impl Lines<'_> {
    /// `0x4c594e    regexp.(*bitState).reset+0x10e        regexp/backtrack.go:91`
    fn frame(&mut self, line: &[u8], sink: &mut dyn Sink) {
        let mut cells = cells(line).into_iter().filter(|cell| !cell.is_empty());
        let (Some(address), Some(symbol)) = (cells.next(), cells.next()) else { return };
        let name = match memchr::memmem::rfind(symbol, b"+0x") {
            Some(at) => &symbol[..at],
            None => symbol,
        };
        let source = cells.next().unwrap_or_default();
        let (file, line) = split_srcline(source);
        let at = Place { file, line, ..Place::default() };
        let place = Some(source).filter(|source| self.srcline && !source.is_empty());
        let name = if name.is_empty() { address } else { name };
        self.stack.push(self.names.build_at(&at, sink, |out| {
            sanitize_frame(name, out);
            if let Some(place) = place {
                out.extend_from_slice(b" (");
                sanitize_frame(place, out);
                out.push(b')');
            }
        }));
    }
}

/// Address, symbol and source line: between tabs, or between the blanks that stand for them.
fn cells(line: &[u8]) -> Vec<&[u8]> {
    if line.contains(&b'\t') {
        return line.split(|&b| b == b'\t').collect();
    }
    let blank = |text: &[u8]| memchr::memchr(b' ', text).unwrap_or(text.len());
    let (address, rest) = line.split_at(blank(line));
    let rest = rest.trim_ascii_start();
    let offset = memchr::memmem::rfind(rest, b"+0x").unwrap_or(0);
    let (symbol, source) = rest.split_at(offset + blank(&rest[offset..]));
    vec![address, symbol, source.trim_ascii()]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::collapse::CollapseOptions;
    use crate::folded::StackTable;

    fn collapsed(text: &str) -> String {
        let input = Input::new("test", Box::new(std::io::Cursor::new(text.to_owned()))).unwrap();
        assert_eq!(GoText.detect(text.as_bytes()), Certainty::Yes);
        let (mut table, mut report) = (StackTable::default(), Report::default());
        GoText
            .collapse(input, &Reading::alone(&CollapseOptions::default()), &mut table, &mut report)
            .unwrap();
        assert_eq!(report.not_understood.count, 0, "{:?}", report.not_understood);
        let mut out = Vec::new();
        table.write(&mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn the_line_of_totals_is_no_sample() {
        let heap = "heap profile: 1: 8 [2: 16] @ heap/8192\n1: 8 [2: 16] @ 0x1 0x2\n#\t0x1\tmain.f+0x1\t\ta b.go:1\n\
                    #\t0x2\tmain.(*T).g+0x1\ta.go:2\n\n\n# runtime.MemStats\n# Alloc = 3\n";
        assert_eq!(collapsed(heap), "main.(*T).g;main.f 8\n");
        assert_eq!(collapsed("threadcreate profile: total 6\n6 @\n#\t0x0\n\n"), "[no stack] 6\n");
        let mutex = "--- mutex:\ncycles/second=3\nsampling period=2\n5 3 @ 0x1\n#\t0x1\tf+0x2\tx:1\n";
        assert_eq!(collapsed(mutex), "f 10\n");
        assert_eq!(GoText.detect(b"heap profile: 1: 8 [2: 16] @ heapprofile\n"), Certainty::No);
    }
}
