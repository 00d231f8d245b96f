//! The costs of lines that `valgrind --tool=cachegrind` writes (seen: 3.19).
//!
//! ```text
//! desc: I1 cache:         32768 B, 64 B, 8-way associative
//! cmd: c/cyc 6
//! events: Ir I1mr ILmr
//! fl=/home/user/app/c/cyc.c
//! fn=term
//! 128 2 1 1
//! summary: 984202 1604 1551
//! ```
//! There are no calls in it, so a stack is a file and a function. The format is specified in
//! valgrind's manual, "Cachegrind Output File Format"; what the columns count is in its `events`.

use crate::collapse::kit::names::FrameNames;
use crate::collapse::kit::text::{Text, words};
use crate::collapse::kit::valgrind;
use crate::collapse::kit::values::Values;
use crate::collapse::{Certainty, Collapser, FormatInfo, Reading, Report, Sink, Tested, Value};
use crate::error::Result;
use crate::folded::{FrameId, Place};
use crate::input::Input;
use crate::weight::Weight;

const INFO: FormatInfo = FormatInfo {
    name: "cachegrind",
    producer: "valgrind --tool=cachegrind",
    tested: Tested::Seen("valgrind 3.19"),
    values: "the events, the first is the default: Ir, I1mr, …",
    unit: "instructions, events",
};

/// Collapses cachegrind's format.
pub struct Cachegrind;

impl Collapser for Cachegrind {
    fn info(&self) -> &'static FormatInfo {
        &INFO
    }

    fn detect(&self, head: &[u8]) -> Certainty {
        valgrind::header(head, b"events:")
    }

    fn collapse(
        &self,
        input: Input,
        reading: &Reading<'_>,
        sink: &mut dyn Sink,
        report: &mut Report,
    ) -> Result<()> {
        let mut names = FrameNames::default();
        let mut declared: Vec<Value> = Vec::new();
        let mut values: Option<Values> = None;
        let mut stack: [FrameId; 2] = [names.plain(b"???", sink); 2];
        let mut row = Vec::new();
        let mut file_name: Vec<u8> = Vec::new();
        let mut summary = None;
        let mut report_command = Vec::new();
        let mut sums: Vec<Weight> = Vec::new();
        Text::new(input).for_each(report, |line| {
            if let Some(file) = line.strip_prefix(b"fl=") {
                file.clone_into(&mut file_name);
                stack[0] = names.plain_at(file, &Place { file, ..Place::default() }, sink);
            } else if let Some(function) = line.strip_prefix(b"fn=") {
                let place = Place { file: &file_name, ..Place::default() };
                stack[1] = names.plain_at(function, &place, sink);
            } else if let Some(events) = line.strip_prefix(b"events:") {
                declared = words(events).map(event).collect();
                sums = vec![Weight::ZERO; declared.len()];
                values = Some(Values::new(reading, declared.clone(), 0)?);
            } else if let Some(totals) = line.strip_prefix(b"summary:") {
                summary = Some(words(totals).filter_map(Weight::parse).collect::<Vec<_>>());
            } else if let Some(command) = line.strip_prefix(b"cmd:") {
                report_command = command.to_vec();
            } else if line.starts_with(b"desc:") || line.is_empty() {
                // Descriptions of the caches, and of nothing in particular.
            } else {
                row.clear();
                row.extend(words(line).skip(1).map_while(Weight::parse));
                let columns = words(line).count().saturating_sub(1);
                match &mut values {
                    Some(values) if columns == row.len() && columns <= declared.len() => {
                        values.sample(&stack, &row, sink)?;
                        for (sum, cost) in sums.iter_mut().zip(&row) {
                            *sum = sum.checked_add(*cost)?;
                        }
                    }
                    _ => return Ok(false),
                }
            }
            Ok(true)
        })?;
        report.facts.set_command(&report_command);
        match summary {
            None => report.doubt("there is no summary at the end: the file is cut off"),
            Some(summary) => {
                for ((value, sum), total) in declared.iter().zip(sums).zip(summary) {
                    let event = String::from_utf8_lossy(&value.name);
                    report.check_total(format_args!("the costs of {event}"), sum, total);
                }
            }
        }
        values.map_or(Ok(()), |values| values.finish(report))
    }
}

fn event(name: &[u8]) -> Value {
    Value::new(name, if name == b"Ir" { "instructions" } else { "events" })
}
