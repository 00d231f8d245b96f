//! Tables of samples as Windows Performance Analyzer's `wpaexporter` writes them (by documented output).
//!
//! ```text
//! Process,Thread ID,Stack,Count
//! orders.exe (4211),6120,[Root]/ntdll.dll!RtlUserThreadStart/orders.exe!main/orders.exe!Shop::run,3
//! ```
//! A row for each sample, or for several, root first. Which columns there are is up to the profile of the export:
//! `Stack` has to be among them; `Count` and `Weight … (ms)` are values where they are there. Described in
//! `xperf_to_collapsedstacks.py` of google/UIforETW.

use crate::collapse::kit::csv::cells;
use crate::collapse::kit::forest::Budget;
use crate::collapse::kit::names::{FrameNames, NO_STACK};
use crate::collapse::kit::text::{Text, split_last};
use crate::collapse::kit::threads::Thread;
use crate::collapse::kit::values::Values;
use crate::collapse::{
    Certainty, CollapseOptions, Collapser, Context, ContextInfo, FormatInfo, Reading, Report, Sink, Tested,
    Value,
};
use crate::error::Result;
use crate::folded::{FrameId, Place};
use crate::input::{Input, lines};
use crate::weight::Weight;

const INFO: FormatInfo = FormatInfo {
    name: "wpa",
    producer: "wpaexporter of Windows Performance Analyzer: a CSV with a column Stack",
    tested: Tested::ByDescription("documented output"),
    values: "samples, time if there is a column of weights in ms",
    unit: "samples, ms",
};

/// Collapses tables of Windows Performance Analyzer.
pub struct Wpa;

impl Collapser for Wpa {
    fn info(&self) -> &'static FormatInfo {
        &INFO
    }

    fn contexts(&self) -> ContextInfo {
        ContextInfo { labels: "thread, tid, process", ..ContextInfo::NONE }
    }

    fn detect(&self, head: &[u8]) -> Certainty {
        let head = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head);
        let mut lines = lines(head).map(<[u8]>::trim_ascii_end);
        let Some(columns) = lines.next().and_then(Columns::read) else { return Certainty::No };
        let first = lines.next().map(|line| cells(line, b','));
        let is_row = first.is_some_and(|row| {
            let stack = row.get(columns.stack).map_or(&b""[..], |cell| cell);
            stack.starts_with(b"[Root]") || stack.contains(&b'!') || stack == b"n/a"
        });
        if is_row { Certainty::Yes } else { Certainty::No }
    }

    fn collapse(
        &self,
        input: Input,
        reading: &Reading<'_>,
        sink: &mut dyn Sink,
        report: &mut Report,
    ) -> Result<()> {
        let mut table: Option<Table> = None;
        Text::new(input).for_each(report, |line| match &mut table {
            None => {
                let line = line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line);
                if let Some(columns) = Columns::read(line) {
                    table = Some(Table::new(columns, reading)?);
                    return Ok(true);
                }
                Ok(line.is_empty())
            }
            // A table behind another begins with the names again.
            Some(_) if line.is_empty() || Columns::read(line).is_some() => Ok(true),
            Some(table) => table.row(line, reading, sink),
        })?;
        table.map_or(Ok(()), |table| table.values.finish(report))
    }
}

/// The numbers of the columns that are read.
struct Columns {
    count: usize,
    stack: usize,
    process: Option<usize>,
    thread: Option<usize>,
    samples: Option<usize>,
    time: Option<usize>,
}

impl Columns {
    /// Reads the line that names them.
    fn read(line: &[u8]) -> Option<Columns> {
        let names = cells(line, b',');
        let find = |is: &dyn Fn(&[u8]) -> bool| names.iter().position(|name| is(name.trim_ascii()));
        Some(Columns {
            count: names.len(),
            stack: find(&|name| name == b"Stack" || name == b"Stack (Frame Tags)")?,
            process: find(&|name| matches!(name, b"Process" | b"New Process")),
            thread: find(&|name| matches!(name, b"Thread ID" | b"ThreadID" | b"New Thread Id")),
            samples: find(&|name| name == b"Count"),
            time: find(&|name| name.starts_with(b"Weight") && name.ends_with(b"(ms)")),
        })
        .filter(|columns| columns.process.is_some() || columns.samples.or(columns.time).is_some())
    }
}

struct Table {
    columns: Columns,
    values: Values,
    names: FrameNames,
    budget: Budget,
}

impl Table {
    fn new(columns: Columns, options: &CollapseOptions) -> Result<Table> {
        let mut declared = vec![Value::new("samples", "samples")];
        declared.extend(columns.time.map(|_| Value::new("time", "ms")));
        let values = Values::new(options, declared, 0)?;
        Ok(Table { columns, values, names: FrameNames::default(), budget: Budget::default() })
    }

    /// Reads a row; `false` if it is not one.
    fn row(&mut self, line: &[u8], options: &CollapseOptions, sink: &mut dyn Sink) -> Result<bool> {
        let cells = cells(line, b',');
        let cell =
            |at: Option<usize>| at.and_then(|at| cells.get(at)).map_or(&b""[..], |cell| cell.trim_ascii());
        // Groups of digits are separated.
        let number =
            |at| Weight::parse(&cell(at).iter().copied().filter(|b| *b != b',').collect::<Vec<u8>>());
        let samples = self.columns.samples.map_or(Some(Weight::ONE), |at| number(Some(at)));
        let time = self.columns.time.map_or(Some(Weight::ZERO), |at| number(Some(at)));
        let (Some(samples), Some(time)) = (samples, time) else { return Ok(false) };
        if cells.len() < self.columns.count {
            return Ok(false);
        }
        let process = cell(self.columns.process);
        let named = process.strip_suffix(b")").and_then(|process| split_last(process, b"("));
        let (name, pid) =
            named.map_or((process, &b""[..]), |(name, pid)| (name.trim_ascii(), pid.trim_ascii()));
        let thread = Thread { name, pid, tid: cell(self.columns.thread) };
        let mut stack: Vec<FrameId> = Vec::new();
        if options.shows_threads(self.columns.process.is_some()) {
            let mut frame = Vec::new();
            thread.write(options, &mut frame);
            stack.push(sink.frame(&frame));
        }
        let start = stack.len();
        let frames = cell(Some(self.columns.stack));
        if frames != b"n/a" {
            let frames =
                frames.split(|&b| b == b'/').filter(|frame| !frame.is_empty() && *frame != b"[Root]");
            for frame in frames {
                let module = split_last(frame, b"!").map_or(&b""[..], |(module, _)| module);
                stack.push(self.names.plain_at(frame, &Place { module, ..Place::default() }, sink));
            }
        }
        if stack.len() == start {
            stack.push(sink.frame(NO_STACK));
        }
        self.budget.check(stack.len())?;
        let context = if sink.wants().contexts { thread.context(None) } else { Context::UNKNOWN };
        let many = samples.to_u64().unwrap_or(1);
        self.values.add_at(0, &stack, samples, many, &context, sink)?;
        if self.columns.time.is_some() {
            self.values.add_at(1, &stack, time, many, &context, sink)?;
        }
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::collapse::ValueSelection;
    use crate::collapse::tests::{collapse_bytes, fold};

    const TEXT: &str = "Process,Thread ID,Stack,Count,Weight (in view) (ms)\n\
        a b.exe (42),7,[Root]/ntdll.dll!Start/a b.exe!f;,3,2.5\n\
        a b.exe (42),7,\"[Root]/ntdll.dll!Start/a b.exe!g<int,2>\",\"1,200\",\"1,000.25\"\nIdle (0),0,n/a,1,1\n";

    #[test]
    fn rows_are_samples() {
        assert_eq!(Wpa.detect(TEXT.as_bytes()), Certainty::Yes);
        let expected = "Idle;[no stack] 1\na b.exe;ntdll.dll!Start;a b.exe!f: 3\na b.exe;ntdll.dll!Start;a b.exe!g<int,2> 1200\n";
        assert_eq!(fold(&Wpa, TEXT, &CollapseOptions::default()), expected);
        let time = CollapseOptions {
            values: ValueSelection::Named(vec![b"time".to_vec()]),
            threads_as_frames: Some(false),
            ..CollapseOptions::default()
        };
        assert!(fold(&Wpa, TEXT, &time).ends_with("ntdll.dll!Start;a b.exe!g<int,2> 1000.25\n"));
        let three = "Process,Thread ID,Stack\nx.exe (1),2,[Root]/a!b\nx.exe (1),2,[Root]/a!b\nx.exe\n";
        let (text, report) = collapse_bytes(&Wpa, three, &CollapseOptions::default()).unwrap();
        assert_eq!((text.as_str(), report.not_understood.count), ("x.exe;a!b 2\n", 1));
        for other in
            [&b"Process,Stack\nhello\n"[..], b"Stack\n[Root]/a\n", b"Function Stack,CPU Time:Self\n", b""]
        {
            assert_eq!(Wpa.detect(other), Certainty::No, "{other:?}");
        }
    }
}
