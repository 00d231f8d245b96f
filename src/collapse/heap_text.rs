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
//! Both count objects and bytes in use and, in brackets, all that were allocated. jemalloc's are
//! what it sampled, not scaled up to what was allocated. The formats are described in gperftools'
//! `heapprofile.html` and jemalloc's `HEAP PROFILE FORMAT`.

use super::maps::{self, Maps, hex};
use super::text::Text;
use super::values::Values;
use super::{About, Collapser, Options, Report, Value, Verdict};
use crate::error::Result;
use crate::folded::StackTable;
use crate::input::Input;
use crate::weight::Weight;

const VALUES: &str = "inuse-space, inuse-objects, alloc-space, alloc-objects";
const UNITS: &str = "bytes, objects, bytes, objects";

const TCMALLOC: About = About {
    name: "tcmalloc",
    producer: "gperftools' heap profiler",
    tested: "gperftools 2.10",
    values: VALUES,
    unit: UNITS,
};

const JEMALLOC: About = About {
    name: "jemalloc",
    producer: "jemalloc's heap profiler",
    tested: "jemalloc 5.3",
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
    /// What the file says that all rows add up to.
    total: Option<[Weight; 4]>,
    maps: Maps,
}

impl Collapser for Tcmalloc {
    fn about(&self) -> &'static About {
        &TCMALLOC
    }

    fn detect(&self, head: &[u8]) -> Verdict {
        let line = head.split(|&b| b == b'\n').next().unwrap_or_default();
        // Go's text has `@ heap/RATE` there.
        let kind = memchr::memmem::rfind(line, b" @ ").map(|at| line[at + 3..].trim_ascii());
        match kind {
            Some(b"heapprofile" | b"heap" | b"growthz" | b"fragmentationz")
                if line.starts_with(b"heap profile:") =>
            {
                Verdict::Yes
            }
            _ => Verdict::No,
        }
    }

    fn collapse(
        &self,
        input: Input,
        options: &Options,
        table: &mut StackTable,
        report: &mut Report,
    ) -> Result<()> {
        let mut lines = Text::new(input);
        let mut heap = Heap::default();
        if let Some(heading) = lines.next_line()?
            && let Some(at) = memchr::memmem::rfind(heading, b" @")
        {
            heap.total = heading[..at].strip_prefix(b"heap profile:").and_then(counts);
        }
        lines.for_each(report, |line| {
            let row = memchr::memmem::find(line, b" @")
                .and_then(|at| Some((counts(&line[..at])?, &line[at + 2..])));
            Ok(match row {
                Some((weights, addresses)) => heap.row(weights, addresses),
                None => is_heading(line) || heap.maps.line(line),
            })
        })?;
        heap.finish(options, table, report)
    }
}

impl Collapser for Jemalloc {
    fn about(&self) -> &'static About {
        &JEMALLOC
    }

    fn detect(&self, head: &[u8]) -> Verdict {
        let rate = head.strip_prefix(b"heap_v2/").and_then(|rest| rest.first());
        if rate.is_some_and(u8::is_ascii_digit) { Verdict::Yes } else { Verdict::No }
    }

    fn collapse(
        &self,
        input: Input,
        options: &Options,
        table: &mut StackTable,
        report: &mut Report,
    ) -> Result<()> {
        let mut lines = Text::new(input);
        let mut heap = Heap::default();
        let _heading = lines.next_line()?;
        let mut stack: Option<Vec<u8>> = None;
        lines.for_each(report, |line| {
            Ok(if let Some(addresses) = line.strip_prefix(b"@") {
                stack = Some(addresses.to_vec());
                true
            } else if let Some(row) = line.trim_ascii_start().strip_prefix(b"t*:") {
                match (counts(row), &stack) {
                    (Some(weights), Some(addresses)) => heap.row(weights, addresses),
                    // Before the first stack it is the total.
                    (weights, None) => {
                        heap.total = weights;
                        weights.is_some()
                    }
                    (None, Some(_)) => false,
                }
            } else {
                // A thread's share of the row above.
                line.trim_ascii_start().starts_with(b"t") || is_heading(line) || heap.maps.line(line)
            })
        })?;
        heap.finish(options, table, report)
    }
}

impl Heap {
    fn row(&mut self, weights: [Weight; 4], addresses: &[u8]) -> bool {
        let start = self.addresses.len();
        for word in addresses.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty()) {
            let Some(address) = hex(word) else { return false };
            self.addresses.push(address);
        }
        self.rows.push((weights, start..self.addresses.len()));
        true
    }

    fn finish(mut self, options: &Options, table: &mut StackTable, report: &mut Report) -> Result<()> {
        let declared = [
            ("inuse-space", "bytes"),
            ("inuse-objects", "objects"),
            ("alloc-space", "bytes"),
            ("alloc-objects", "objects"),
        ];
        let mut values =
            Values::new(options, declared.map(|(name, unit)| Value::new(name, unit)).to_vec(), 0)?;
        let mut stack = Vec::new();
        for (weights, range) in self.rows {
            stack.clear();
            for &address in &self.addresses[range] {
                self.maps.frames(address, table, &mut stack);
            }
            stack.reverse();
            if stack.is_empty() {
                stack.push(table.frame(super::names::NO_STACK));
            }
            values.sample(&stack, &weights, table)?;
            for (left, weight) in self.total.iter_mut().flatten().zip(weights) {
                *left = left.minus(weight)?;
            }
        }
        // jemalloc lists no stack for what is allocated while it writes.
        if let Some(left) = self.total {
            let stack = [table.frame(super::names::NO_STACK)];
            values.sample(&stack, &left.map(|left| left.max(Weight::ZERO)), table)?;
        }
        report.note(maps::NOTE);
        values.finish(report)
    }
}

/// `1: 4096 [ 1: 4096]`
fn counts(text: &[u8]) -> Option<[Weight; 4]> {
    let mut numbers =
        text.split(|&b| b" :[]".contains(&b)).filter(|word| !word.is_empty()).map(Weight::parse);
    let [inuse_objects, inuse, alloc_objects, alloc] =
        [numbers.next()??, numbers.next()??, numbers.next()??, numbers.next()??];
    numbers.next().is_none().then_some([inuse, inuse_objects, alloc, alloc_objects])
}

fn is_heading(line: &[u8]) -> bool {
    line.is_empty() || line.starts_with(b"MAPPED_LIBRARIES:") || line.starts_with(b"build=")
}
