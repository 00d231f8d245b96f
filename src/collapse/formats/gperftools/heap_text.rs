//! The heaps that tcmalloc (gperftools) and jemalloc write: text with addresses.
//!
//! ```text
//! heap profile:      3:     4736 [  7991:  1037000] @ heapprofile
//!      1:     4096 [     1:     4096] @ 0x7f80074938cc 0x7f80074a10a0
//! MAPPED_LIBRARIES:
//! 557d20899000-557d208af000 r-xp 00004000 fe:00 925890    /home/user/app/cpp/orders
//! ```
//! (gperftools 2.10); and jemalloc 5.3, with a row for all threads, `t*`, and one for each:
//! ```text
//! heap_v2/4096
//!   t*: 3: 88376 [0: 0]
//! @ 0x7fcdabea2630 0x7fcdabea2d21
//!   t*: 1: 4032 [0: 0]
//! ```
//! tcmalloc's own sampler says how many bytes lie between two samples, and pprof scales its rows by the
//! probability that an object of that size is sampled, as is done here:
//! ```text
//! heap profile:    357:  8498176 [   357:  8498176] @ heapz_v2/524288
//! ```
//! Both count objects and bytes in use and, in brackets, all that were allocated. jemalloc's are
//! what it sampled, not scaled up to what was allocated. The formats are described in gperftools'
//! `heapprofile.html` and jemalloc's `HEAP PROFILE FORMAT`.

use crate::collapse::kit::maps::Maps;
use crate::collapse::kit::text::{Text, split_first};
use crate::collapse::kit::values::Values;
use crate::collapse::{Certainty, Collapser, FormatInfo, Reading, Report, Sink, Tested, Value};
use crate::error::Result;
use crate::input::{Input, lines};
use crate::number::hex;
use crate::weight::Weight;

const VALUES: &str = "inuse-space, inuse-objects, alloc-space, alloc-objects";
const UNITS: &str = "bytes, objects, bytes, objects";

const TCMALLOC: FormatInfo = FormatInfo {
    name: "tcmalloc",
    producer: "gperftools' heap profiler",
    tested: Tested::Seen("gperftools 2.10"),
    values: VALUES,
    unit: UNITS,
};

const JEMALLOC: FormatInfo = FormatInfo {
    name: "jemalloc",
    producer: "jemalloc's heap profiler",
    tested: Tested::Seen("jemalloc 5.3"),
    values: VALUES,
    unit: UNITS,
};

/// Collapses tcmalloc's heap profiles.
pub struct Tcmalloc;

/// Collapses jemalloc's heap profiles.
pub struct Jemalloc;

/// A row: bytes and objects in use, bytes and objects allocated; and the addresses, leaf first.
type Row = ([Weight; 4], std::ops::Range<usize>);

#[derive(Default)]
struct Heap {
    rows: Vec<Row>,
    addresses: Vec<u64>,
    /// The total of all rows as the file states it.
    total: Option<[Weight; 4]>,
    is_jemalloc: bool,
    /// The bytes between two samples, where rows are to be scaled up.
    period: Option<u64>,
    /// The memory map was reached, which is the last part.
    has_map: bool,
    maps: Maps,
}

impl Collapser for Tcmalloc {
    fn info(&self) -> &'static FormatInfo {
        &TCMALLOC
    }

    fn detect(&self, head: &[u8]) -> Certainty {
        let line = lines(head).next().unwrap_or_default();
        // Go's text has `@ heap/RATE` there.
        let kind = memchr::memmem::rfind(line, b" @ ").map(|at| line[at + 3..].trim_ascii());
        // A kind with `v2` is sampled: `heap_v2/524288` has the sampling period in bytes behind it.
        let kind = kind.map(|kind| kind.split(|&b| b == b'/').next().unwrap_or_default());
        match kind {
            Some(b"heap") if line.contains(&b'/') => Certainty::No,
            Some(
                b"heapprofile" | b"heap" | b"heap_v2" | b"heapz_v2" | b"growth" | b"growthz"
                | b"fragmentationz",
            ) if line.starts_with(b"heap profile:") => Certainty::Yes,
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
        read(Text::new(input), Maps::default(), reading, sink, report)
    }
}

impl Collapser for Jemalloc {
    fn info(&self) -> &'static FormatInfo {
        &JEMALLOC
    }

    fn detect(&self, head: &[u8]) -> Certainty {
        if is_jemalloc(head) { Certainty::Yes } else { Certainty::No }
    }

    fn collapse(
        &self,
        input: Input,
        reading: &Reading<'_>,
        sink: &mut dyn Sink,
        report: &mut Report,
    ) -> Result<()> {
        read(Text::new(input), Maps::default(), reading, sink, report)
    }
}

/// Reads either, told by its first line. `maps` may hold names already.
pub fn read(
    mut lines: Text,
    maps: Maps,
    reading: &Reading<'_>,
    sink: &mut dyn Sink,
    report: &mut Report,
) -> Result<()> {
    let mut heap = Heap { maps, ..Heap::default() };
    let heading = match lines.next_line()? {
        Some(heading) => heading.to_vec(),
        None => return Ok(()),
    };
    if is_jemalloc(&heading) {
        let every = heading.strip_prefix(b"heap_v2/").and_then(|every| Weight::parse(every.trim_ascii()));
        if let Some(every) = every.filter(|every| *every > Weight::ONE) {
            report.facts.warn(format!("jemalloc sampled one byte in {every}; weights are not scaled up"));
        }
        heap.is_jemalloc = true;
        heap.read_jemalloc(&mut lines, report)?;
    } else if let Some(counted) = heading.strip_prefix(b"heap profile:") {
        let at = memchr::memmem::rfind(counted, b" @");
        heap.total = at.and_then(|at| counts(&counted[..at]));
        heap.period = at.and_then(|at| period(counted[at + 2..].trim_ascii()));
        if let Some(period) = heap.period {
            report.facts.warn(format!(
                "tcmalloc sampled one byte in {period}; weights are estimates, as pprof has them"
            ));
        }
        heap.read_tcmalloc(&mut lines, report)?;
    } else {
        return Err(lines.malformed("a heap profile's first line", &heading));
    }
    heap.finish(reading, sink, report)
}

fn is_jemalloc(head: &[u8]) -> bool {
    head.strip_prefix(b"heap_v2/").and_then(|rest| rest.first()).is_some_and(u8::is_ascii_digit)
}

impl Heap {
    fn read_tcmalloc(&mut self, lines: &mut Text, report: &mut Report) -> Result<()> {
        lines.for_each(report, |line| {
            let row = memchr::memmem::find(line, b" @")
                .and_then(|at| Some((counts(&line[..at])?, &line[at + 2..])));
            Ok(match row {
                Some((weights, addresses)) => self.row(weights, addresses),
                None => self.is_heading(line) || self.maps.line(line),
            })
        })
    }

    fn read_jemalloc(&mut self, lines: &mut Text, report: &mut Report) -> Result<()> {
        let mut stack: Option<Vec<u8>> = None;
        lines.for_each(report, |line| {
            Ok(if let Some(addresses) = line.strip_prefix(b"@") {
                stack = Some(addresses.to_vec());
                true
            } else if let Some(row) = line.trim_ascii_start().strip_prefix(b"t*:") {
                match (counts(row), &stack) {
                    (Some(weights), Some(addresses)) => self.row(weights, addresses),
                    // Before the first stack it is the total.
                    (weights, None) => {
                        self.total = weights;
                        weights.is_some()
                    }
                    (None, Some(_)) => false,
                }
            } else {
                // A thread's share of the row above.
                line.trim_ascii_start().starts_with(b"t") || self.is_heading(line) || self.maps.line(line)
            })
        })
    }

    fn is_heading(&mut self, line: &[u8]) -> bool {
        let begins_map = line.starts_with(b"MAPPED_LIBRARIES:") || line.starts_with(b"--- Memory map: ---");
        self.has_map |= begins_map;
        line.is_empty() || begins_map || line.starts_with(b"build=") || self.is_short_mapping(line)
    }

    /// Takes a mapping that is only a range and a file, `  00400000-00fcb000: $source/app`, or the text that stands for
    /// `$source`.
    fn is_short_mapping(&mut self, line: &[u8]) -> bool {
        let line = line.trim_ascii();
        if !self.has_map {
            return false;
        }
        match split_first(line, b": ") {
            Some((range, file)) => self.maps.line(&[range, b" r-xp 00000000 00:00 0 ", file].concat()),
            None => line.starts_with(b"source="),
        }
    }

    fn row(&mut self, weights: [Weight; 4], addresses: &[u8]) -> bool {
        let start = self.addresses.len();
        for word in addresses.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty()) {
            let Some(address) = hex(word) else { return false };
            self.addresses.push(address);
        }
        self.rows.push((weights, start..self.addresses.len()));
        true
    }

    /// Holds the rows against the stated totals, and returns what is missing of them.
    fn check(&self, report: &mut Report) -> Result<Option<[Weight; 4]>> {
        let Some(stated) = self.total else { return Ok(None) };
        let mut sums = [Weight::ZERO; 4];
        for (weights, _) in &self.rows {
            for (sum, weight) in sums.iter_mut().zip(weights) {
                *sum = sum.checked_add(*weight)?;
            }
        }
        let mut left = [Weight::ZERO; 4];
        for (at, (sum, stated)) in sums.into_iter().zip(stated).enumerate() {
            left[at] = stated.checked_sub(sum)?;
            let what = ["bytes in use", "objects in use", "bytes allocated", "objects allocated"][at];
            // jemalloc lists no stack for what is allocated while it writes, and rounds each stack's share
            // of what it estimates; whole files end with the memory map.
            if !self.is_jemalloc || (!self.has_map && left[at] > Weight::ZERO) {
                report.check_total(format_args!("the {what}"), sum, stated);
            } else if sum != stated {
                report.details.push(format!("the {what} add up to {sum}, the file says {stated}"));
            }
        }
        Ok(Some(left))
    }

    fn finish(mut self, reading: &Reading<'_>, sink: &mut dyn Sink, report: &mut Report) -> Result<()> {
        let declared = [
            ("inuse-space", "bytes"),
            ("inuse-objects", "objects"),
            ("alloc-space", "bytes"),
            ("alloc-objects", "objects"),
        ];
        let declared = declared.map(|(name, unit)| Value::new(name, unit)).to_vec();
        let holds = |at: usize| self.rows.iter().any(|(weights, _)| !weights[at].is_zero());
        let mut values = Values::holding(reading, declared, 0, holds, report)?;
        let left = self.check(report)?;
        // Even the first of a stack is where a call returns to: that of the allocator.
        self.maps.name_all(self.addresses.iter().map(|&address| (address, true)), reading, sink, report);
        let mut stack = Vec::new();
        for (weights, range) in self.rows {
            stack.clear();
            self.addresses[range].iter().for_each(|&address| self.maps.frames((address, true), &mut stack));
            stack.reverse();
            if stack.is_empty() {
                stack.push(sink.frame(crate::collapse::kit::names::NO_STACK));
            }
            let weights = self.period.map_or(weights, |period| scaled(weights, period));
            values.sample(&stack, &weights, sink)?;
        }
        if let Some(left) = left {
            let stack = [sink.frame(crate::collapse::kit::names::NO_STACK)];
            values.sample(&stack, &left.map(|left| left.max(Weight::ZERO)), sink)?;
        }
        values.finish(report)
    }
}

/// The bytes between two samples of a kind of heap profile: `heapz_v2/524288`.
fn period(kind: &[u8]) -> Option<u64> {
    let period = kind.strip_prefix(b"heapz_v2/").or_else(|| kind.strip_prefix(b"heap_v2/"))?;
    crate::number::parse(period).filter(|period| *period > 1)
}

/// A row as what it stands for: an object of `size` bytes is sampled with the probability 1 - exp(-size / period).
fn scaled([inuse, inuse_objects, alloc, alloc_objects]: [Weight; 4], period: u64) -> [Weight; 4] {
    let pair = |bytes: Weight, objects: Weight| {
        if bytes.is_zero() || objects.is_zero() {
            return [Weight::ZERO; 2];
        }
        let size = bytes.to_f64() / objects.to_f64();
        let factor = 1.0 / (1.0 - (-size / period as f64).exp());
        [bytes, objects].map(|weight| Weight::new((weight.to_f64() * factor) as i128))
    };
    let ([inuse, inuse_objects], [alloc, alloc_objects]) =
        (pair(inuse, inuse_objects), pair(alloc, alloc_objects));
    [inuse, inuse_objects, alloc, alloc_objects]
}

/// `1: 4096 [ 1: 4096]`
fn counts(text: &[u8]) -> Option<[Weight; 4]> {
    let mut numbers =
        text.split(|&b| b" :[]".contains(&b)).filter(|word| !word.is_empty()).map(Weight::parse);
    let [inuse_objects, inuse, alloc_objects, alloc] =
        [numbers.next()??, numbers.next()??, numbers.next()??, numbers.next()??];
    numbers.next().is_none().then_some([inuse, inuse_objects, alloc, alloc_objects])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::collapse::CollapseOptions;
    use crate::collapse::tests::collapse_bytes;

    #[test]
    fn mappings_may_be_short() {
        let text = "heap profile: 1: 9216 [ 1: 9216] @ heapprofile\n1: 9216 [ 1: 9216] @ 0x400010\n\
            --- Memory map: ---\n\tsource=/home\n  00400000-00fcb000: $source/no/such/app\n";
        let (out, report) = collapse_bytes(&Tcmalloc, text, &CollapseOptions::default()).unwrap();
        assert_eq!((&out[..], report.not_understood.count), ("app+0x10 9216\n", 0));
    }

    #[test]
    fn sampled_rows_are_scaled_as_pprof_does_it() {
        let text = "heap profile: 2: 1057792 [ 2: 1057792] @ heapz_v2/524288\n\
            1: 9216 [ 1: 9216] @ 0x10\n1: 1048576 [ 1: 1048576] @ 0x20\n";
        let (out, report) = collapse_bytes(&Tcmalloc, text, &CollapseOptions::default()).unwrap();
        assert_eq!(out, "0x10 528909\n0x20 1212696\n");
        assert!(
            report.facts.warnings.iter().any(|warning| warning.contains("estimates")),
            "{:?}",
            report.facts
        );
        let plain = text.replace("heapz_v2/524288", "heapprofile");
        assert_eq!(
            collapse_bytes(&Tcmalloc, plain, &CollapseOptions::default()).unwrap().0,
            "0x10 9216\n0x20 1048576\n"
        );
    }
}
