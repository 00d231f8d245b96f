//! The report that async-profiler prints by default, and with `-o traces`.
//!
//! ```text
//! --- Execution profile ---
//! Total samples       : 131152
//!
//! --- 9902352571 ns (7.48%), 9820 samples
//!   [ 0] copyout_[k]
//!   [ 1] java.io.FileInputStream.read
//!   [ 2] java.lang.Thread.run
//!
//!           ns  percent  samples  top
//!   ----------  -------  -------  ---
//!   9902352571    7.48%     9820  copyout_[k]
//! ```
//! Stacks are leaf first; two hundred of them are printed unless more are asked for, and the total is of all. The
//! table of functions has no stacks. The source is `Profiler::dumpText` of async-profiler's `profiler.cpp`.

use crate::collapse::kit::forest::Budget;
use crate::collapse::kit::leaf_first::LeafFirst;
use crate::collapse::kit::names::{FrameNames, NO_STACK};
use crate::collapse::kit::text::{Text, split_digits, split_first};
use crate::collapse::kit::values::Values;
use crate::collapse::{Certainty, Collapser, FormatInfo, Reading, Report, Sink, Tested, Value};
use crate::error::{Error, Result};
use crate::input::{Input, lines};
use crate::number;
use crate::weight::Weight;

const INFO: FormatInfo = FormatInfo {
    name: "async-profiler",
    producer: "async-profiler's report: asprof without -f, -o traces",
    tested: Tested::Seen("reports of async-profiler 1.8 and 2.9"),
    values: "time, calls, bytes or the like; samples",
    unit: "ns, calls, bytes, samples",
};

const HEADING: &[u8] = b"--- Execution profile ---";

/// Collapses async-profiler's report.
pub struct AsyncProfiler;

impl Collapser for AsyncProfiler {
    fn info(&self) -> &'static FormatInfo {
        &INFO
    }

    fn detect(&self, head: &[u8]) -> Certainty {
        // Its launcher says before it what it does.
        let found = lines(head).take(20).any(|line| line.trim_ascii_end() == HEADING);
        if found { Certainty::Yes } else { Certainty::No }
    }

    fn collapse(
        &self,
        input: Input,
        reading: &Reading<'_>,
        sink: &mut dyn Sink,
        report: &mut Report,
    ) -> Result<()> {
        let first = lines(input.head()).find_map(|line| Trace::read(line.trim_ascii_end()));
        let unit = first.map_or(&b"ns"[..], |trace| trace.unit).to_vec();
        let value = match &unit[..] {
            b"ns" => Value::new("time", "ns"),
            unit => Value::with_producers_unit(unit, &String::from_utf8_lossy(unit)),
        };
        let mut parser = Parser {
            values: Values::new(reading, vec![value, Value::new("samples", "samples")], 0)?,
            names: FrameNames::default(),
            stack: LeafFirst::default(),
            frames: 0,
            unit,
            trace: None,
            printed: 0,
            total: 0,
        };
        let mut text = Text::new(input);
        text.for_each(report, |line| parser.line(line, sink))?;
        if parser.trace.is_some() {
            text.end_within_record(report);
            parser.end(sink)?;
        }
        if parser.printed < parser.total {
            report.doubt(format!(
                "{} of {} samples have no stack in the report; asprof -o collapsed has them all",
                parser.total - parser.printed,
                parser.total
            ));
        }
        parser.values.finish(report)
    }
}

struct Parser {
    values: Values,
    names: FrameNames,
    stack: LeafFirst,
    frames: usize,
    /// The unit of the first report.
    unit: Vec<u8>,
    /// The weight and the samples of the stack being read.
    trace: Option<(Weight, u64)>,
    /// The samples of the stacks, and those that the report says there are.
    printed: u64,
    total: u64,
}

impl Parser {
    fn line(&mut self, line: &[u8], sink: &mut dyn Sink) -> Result<bool> {
        if let Some(trace) = Trace::read(line) {
            if trace.unit != self.unit {
                let unit = String::from_utf8_lossy(&self.unit);
                return Err(Error::malformed(format!("{unit}, as in the report before"), trace.unit));
            }
            self.end(sink)?;
            self.trace = Some((trace.weight, trace.samples));
        } else if self.trace.is_some() {
            if line.is_empty() {
                self.end(sink)?;
            } else {
                let Some(name) = frame(line) else { return Ok(false) };
                self.frames += 1;
                Budget::default().check(self.frames)?;
                self.stack.push(self.names.plain(name, sink));
            }
        } else if let Some(total) = line.strip_prefix(b"Total samples") {
            let total = total.trim_ascii_start().strip_prefix(b":").map(<[u8]>::trim_ascii_start);
            let total = total.and_then(number::parse).unwrap_or(0);
            self.total = self.total.saturating_add(total);
        } else {
            // The rest of the heading, the table of functions, and what the launcher says.
            return Ok(frame(line).is_none());
        }
        Ok(true)
    }

    /// Adds the stack being read.
    fn end(&mut self, sink: &mut dyn Sink) -> Result<()> {
        self.frames = 0;
        let Some((weight, samples)) = self.trace.take() else { return Ok(()) };
        self.printed = self.printed.saturating_add(samples);
        if self.stack.is_empty() {
            self.stack.push(sink.frame(NO_STACK));
        }
        let stack = self.stack.take();
        self.values.add_many(0, stack, weight, samples, sink)?;
        self.values.add_many(1, stack, Weight::from(samples), samples, sink)
    }
}

/// The line above a stack: `--- 9902352571 ns (7.48%), 9820 samples`.
struct Trace<'l> {
    weight: Weight,
    unit: &'l [u8],
    samples: u64,
}

impl Trace<'_> {
    fn read(line: &[u8]) -> Option<Trace<'_>> {
        let (weight, rest) = split_first(line.strip_prefix(b"--- ")?, b" ")?;
        let (unit, rest) = split_first(rest, b" (")?;
        let (_, samples) = split_first(rest, b"%), ")?;
        let (digits, word) = split_digits(samples);
        let weight = Weight::parse(weight).filter(|weight| !weight.is_negative())?;
        let is_trace = matches!(word, b" sample" | b" samples") && !unit.is_empty();
        is_trace.then_some(Trace { weight, unit, samples: number::parse(digits)? })
    }
}

/// `  [ 0] java.lang.Thread.run`
fn frame(line: &[u8]) -> Option<&[u8]> {
    let (digits, name) = split_digits(line.strip_prefix(b"  [")?.trim_ascii_start());
    name.strip_prefix(b"] ").filter(|_| !digits.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::collapse::CollapseOptions;
    use crate::collapse::ValueSelection;
    use crate::collapse::tests::{collapse_bytes, fold};

    const TEXT: &str = "Profiling for 3 seconds\nDone\n--- Execution profile ---\nTotal samples       : 20\nGC_active           : \
        1 (5.00%)\n\nFrame buffer usage  : 0.0052%\n\n--- 700 ns (70.00%), 14 samples\n  [ 0] a;b\n  [ 1] main\n\n--- 50 ns \
        (5.00%), 1 sample\n  [ 0] main\n\n          ns  percent  samples  top\n  ----------  -------  -------  ---\n         \
        700   70.00%       14  a;b\n";

    #[test]
    fn stacks_weigh_what_stands_above_them() {
        assert_eq!(AsyncProfiler.detect(TEXT.as_bytes()), Certainty::Yes);
        let (folded, report) = collapse_bytes(&AsyncProfiler, TEXT, &CollapseOptions::default()).unwrap();
        assert_eq!(folded, "main 50\nmain;a:b 700\n");
        assert_eq!(
            (report.unit(), report.not_understood.count),
            (Some("ns"), 0),
            "{:?}",
            report.not_understood
        );
        assert!(report.notes.iter().any(|doubt| doubt.starts_with("5 of 20 samples have no stack")));
        let samples = CollapseOptions {
            values: ValueSelection::Named(vec![b"samples".to_vec()]),
            ..CollapseOptions::default()
        };
        assert_eq!(fold(&AsyncProfiler, TEXT, &samples), "main 1\nmain;a:b 14\n");
        let calls = TEXT.replace(" ns (", " calls (").replace(": 20\n", ":         15\n");
        let (_, report) = collapse_bytes(&AsyncProfiler, &calls, &CollapseOptions::default()).unwrap();
        assert_eq!((report.unit(), report.notes.len()), (Some("calls"), 0));
        let error = collapse_bytes(&AsyncProfiler, format!("{TEXT}{calls}"), &CollapseOptions::default())
            .unwrap_err();
        assert!(error.to_string().contains("expected ns, as in the report before"), "{error}");
    }

    #[test]
    fn a_stack_that_is_cut_is_counted() {
        let cut = &TEXT[..TEXT.find("  [ 1]").unwrap()];
        let (folded, report) = collapse_bytes(&AsyncProfiler, cut, &CollapseOptions::default()).unwrap();
        assert_eq!(folded, "a:b 700\n");
        assert!(report.not_understood.ends_within_record.is_some());
        let elided = TEXT.replace("  [ 1] main\n", "...\n");
        let (_, report) = collapse_bytes(&AsyncProfiler, elided, &CollapseOptions::default()).unwrap();
        assert_eq!(report.not_understood.count, 1);
        for other in ["", "--- 700 ns (70.00%), 14 samples\n", "--- Execution\n"] {
            assert_eq!(AsyncProfiler.detect(other.as_bytes()), Certainty::No, "{other}");
        }
    }
}
