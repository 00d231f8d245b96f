//! The text of Java's old profiler: `java -agentlib:hprof=cpu=samples` of JDK 5 to 8.
//!
//! ```text
//! JAVA PROFILE 1.0.1, created Mon Jan 16 15:34:55 2012
//! TRACE 300027:
//!     java.util.zip.ZipFile.getEntry(ZipFile.java:Unknown line)
//!     java.util.jar.JarFile.getEntry(JarFile.java:223)
//! CPU SAMPLES BEGIN (total = 126) Mon Jan 16 15:34:56 2012
//! rank   self  accum   count trace method
//!    1 53.17% 53.17%      67 300027 java.util.zip.ZipFile.getEntry
//! CPU SAMPLES END
//! ```
//! A trace has as many frames as `depth` asks for, 4 by default, leaf first. A heap dump in text has the sites of
//! allocations instead, whose leaf is the class:
//! ```text
//! SITES BEGIN (ordered by live bytes) Mon Jan 16 15:34:56 2012
//!           percent          live          alloc'ed  stack class
//!  rank   self  accum     bytes objs     bytes  objs trace name
//!     1 44.13% 44.13%   1117360 13967  1117360 13967 301926 java.util.zip.ZipEntry
//! SITES END
//! ```
//! Specified by the demo `hprof` of the JDK, whose `hprof_io.c` prints it.

use std::collections::HashMap;

use crate::collapse::kit::java_frame::java_frame;
use crate::collapse::kit::names::{FrameNames, NO_STACK};
use crate::collapse::kit::text::{Text, split_digits, split_first};
use crate::collapse::kit::values::Values;
use crate::collapse::{Certainty, Collapser, FormatInfo, Reading, Report, Sink, Tested, Value};
use crate::error::Result;
use crate::folded::FrameId;
use crate::input::Input;
use crate::number;
use crate::weight::Weight;

const INFO: FormatInfo = FormatInfo {
    name: "hprof",
    producer: "java -agentlib:hprof=cpu=samples or heap=sites, as text",
    tested: Tested::ByDescription("documented output of JDK 8"),
    values: "samples, inuse-space, inuse-objects, alloc-space, alloc-objects",
    unit: "samples, bytes, objects, bytes, objects",
};

/// The first bytes; binary dumps have a zero behind the version.
const START: &[u8] = b"JAVA PROFILE 1.0.1, ";

/// Collapses the text of hprof.
pub struct Hprof;

impl Collapser for Hprof {
    fn info(&self) -> &'static FormatInfo {
        &INFO
    }

    fn detect(&self, head: &[u8]) -> Certainty {
        Certainty::of_magic(head.starts_with(START))
    }

    fn collapse(
        &self,
        input: Input,
        reading: &Reading<'_>,
        sink: &mut dyn Sink,
        report: &mut Report,
    ) -> Result<()> {
        let mut profile = Profile::default();
        let mut names = FrameNames::default();
        Text::new(input).for_each(report, |line| {
            Ok(match &mut profile.section {
                Section::Trace(frames) if line.starts_with(b"\t") || line.starts_with(b"  ") => {
                    let has_place = line.ends_with(b")");
                    if has_place {
                        frames.push(java_frame(line, reading, &mut names, sink));
                    }
                    has_place || line.trim_ascii() == b"<empty>"
                }
                Section::Samples | Section::Sites if line.ends_with(b" END") => {
                    profile.begin(Section::None);
                    true
                }
                Section::Samples => profile.row(line, 0),
                Section::Sites => profile.row(line, 1),
                Section::Trace(_) | Section::None => profile.heading(line),
            })
        })?;
        profile.begin(Section::None);
        profile.finish(reading, (&mut names, sink), report)
    }
}

/// The part of the text that is being read.
#[derive(Default)]
enum Section {
    #[default]
    None,
    /// The frames of a trace, leaf first.
    Trace(Vec<FrameId>),
    Samples,
    Sites,
}

/// A row of a table: the trace, the class of a site, and the weights in the order of the values.
struct Row {
    trace: u64,
    class: Option<Vec<u8>>,
    weights: [Weight; 5],
}

#[derive(Default)]
struct Profile {
    section: Section,
    /// The number of the trace that is being read.
    number: u64,
    traces: HashMap<u64, Vec<FrameId>>,
    rows: Vec<Row>,
    /// The samples as the heading states them.
    total: Option<Weight>,
}

impl Profile {
    /// Ends a section, and begins another.
    fn begin(&mut self, section: Section) {
        if let Section::Trace(mut frames) = std::mem::replace(&mut self.section, section) {
            frames.reverse();
            self.traces.insert(self.number, frames);
        }
    }

    /// Reads a line between the tables and traces, most of which tell of threads.
    fn heading(&mut self, line: &[u8]) -> bool {
        let total = |line: &[u8]| {
            let (_, total) = split_first(line, b"(total = ")?;
            Weight::parse(split_digits(total).0)
        };
        if let Some(number) = line.strip_prefix(b"TRACE ") {
            let Some(number) = number::parse(split_digits(number).0) else { return false };
            self.begin(Section::Trace(Vec::new()));
            self.number = number;
        } else if line.starts_with(b"CPU SAMPLES BEGIN") {
            self.begin(Section::Samples);
            self.total = total(line);
        } else if line.starts_with(b"SITES BEGIN") {
            self.begin(Section::Sites);
        } else {
            self.begin(Section::None);
        }
        true
    }

    /// Reads a row of a table whose first value is `first`: rank, two shares, weights, trace, name.
    fn row(&mut self, line: &[u8], first: usize) -> bool {
        let columns = if first == 0 { 1 } else { 4 };
        let mut words = line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
        let Some(rank) = words.next() else { return true };
        if number::parse::<u64>(rank).is_none() {
            // The headings of the columns.
            return rank == b"rank" || rank == b"percent";
        }
        let mut words = words.skip(2);
        let mut weights = [Weight::ZERO; 5];
        for weight in &mut weights[first..first + columns] {
            let Some(number) = words.next().and_then(Weight::parse) else { return false };
            *weight = number;
        }
        let Some(trace) = words.next().and_then(number::parse) else { return false };
        let class = (first > 0).then(|| words.next().unwrap_or_default().to_vec());
        self.rows.push(Row { trace, class, weights });
        true
    }

    fn finish(
        self,
        reading: &Reading<'_>,
        (names, sink): (&mut FrameNames, &mut dyn Sink),
        report: &mut Report,
    ) -> Result<()> {
        let declared = [
            ("samples", "samples"),
            ("inuse-space", "bytes"),
            ("inuse-objects", "objects"),
            ("alloc-space", "bytes"),
            ("alloc-objects", "objects"),
        ];
        let declared = declared.map(|(name, unit)| Value::new(name, unit)).to_vec();
        let holds = |at: usize| self.rows.iter().any(|row| !row.weights[at].is_zero());
        let mut values = Values::holding(reading, declared, 0, holds, report)?;
        let (mut sum, mut missing) = (Weight::ZERO, 0u64);
        let mut stack = Vec::new();
        for row in &self.rows {
            stack.clear();
            match self.traces.get(&row.trace) {
                Some(frames) => stack.extend_from_slice(frames),
                None => missing += 1,
            }
            if let Some(class) = &row.class {
                stack.push(names.plain(class, sink));
            }
            if stack.is_empty() {
                stack.push(sink.frame(NO_STACK));
            }
            sum = sum.checked_add(row.weights[0])?;
            values.sample(&stack, &row.weights, sink)?;
        }
        if missing > 0 {
            report.doubt(format!("{missing} rows name a trace that is not there"));
        }
        if let Some(stated) = self.total {
            report.check_total("the samples", sum, stated);
        }
        values.finish(report)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::collapse::CollapseOptions;
    use crate::collapse::tests::{collapse_bytes, fold};

    const TEXT: &str = "JAVA PROFILE 1.0.1, created Mon Jan 16 15:34:55 2012\n\nHeader for -agentlib:hprof\n\n\
        THREAD START (obj=50000132, id = 200001, name=\"main\", group=\"main\")\n\
        TRACE 300001:\n\tshop.Orders.load(Orders.java:40)\n\tshop.Main.main(Main.java:7)\n\
        TRACE 300002: (thread=200001)\n\t<empty>\n";

    #[test]
    fn samples_have_the_stacks_of_their_traces() {
        let table = "CPU SAMPLES BEGIN (total = 9) Mon Jan 16 15:34:56 2012\n\
            rank   self  accum   count trace method\n   1 77.78% 77.78%       7 300001 shop.Orders.load\n   \
            2 22.22% 100.00%       2 300002 \nCPU SAMPLES END\n";
        let text = [TEXT, table].concat();
        assert_eq!(Hprof.detect(text.as_bytes()), Certainty::Magic);
        assert_eq!(
            fold(&Hprof, &text, &CollapseOptions::default()),
            "[no stack] 2\nshop.Main.main;shop.Orders.load 7\n"
        );
        let (_, report) =
            collapse_bytes(&Hprof, text.replace("total = 9", "total = 10"), &CollapseOptions::default())
                .unwrap();
        assert!(report.notes[0].contains("add up to 9, the file says 10"), "{:?}", report.notes);
        let damaged = text.replace("(Main.java:7)", "(Main");
        let (_, report) = collapse_bytes(&Hprof, damaged, &CollapseOptions::default()).unwrap();
        assert_eq!(report.not_understood.count, 1);
    }

    #[test]
    fn sites_end_in_their_class() {
        let table = "SITES BEGIN (ordered by live bytes) Mon\n          percent          live\n \
            rank   self  accum     bytes objs     bytes  objs trace name\n    \
            1 44.13% 44.13%   64 2  128 4 300001 char[]\nSITES END\n";
        let (out, report) =
            collapse_bytes(&Hprof, [TEXT, table].concat(), &CollapseOptions::default()).unwrap();
        assert_eq!(out, "shop.Main.main;shop.Orders.load;char[] 64\n");
        assert!(report.notes[0].contains("is zero throughout"), "{:?}", report.notes);
    }
}
