//! SPX's full reports of PHP programs, `spx-full-*.txt.gz` (by its source, 0.4).
//!
//! ```text
//! [events]
//! 0 1 0 402136
//! 1 1 12.5 402136
//! 1 0 812.25 402136
//! 0 0 900 402136
//! [functions]
//! /srv/orders.php
//! Shop::run
//! ```
//! Each call's begin (1) and end (0): the number of the function, and what each metric has come to, the first of which is
//! the time in microseconds; then the functions' names. The time between two events is that of the call that is open. Written
//! by SPX's `spx_reporter_full.c`; the `.json` beside it names the metrics.

use std::collections::{BTreeSet, HashMap};

use crate::collapse::kit::forest::Budget;
use crate::collapse::kit::names::FrameNames;
use crate::collapse::kit::text::{Text, split_digits};
use crate::collapse::kit::times::{lasting, nanoseconds};
use crate::collapse::kit::trie::{PathId, Sampled, Trie};
use crate::collapse::kit::values::Values;
use crate::collapse::{
    Certainty, Collapser, Context, ContextInfo, FormatInfo, Reading, Report, Sink, Tested, Value,
};
use crate::error::Result;
use crate::folded::FrameId;
use crate::input::{Input, lines};
use crate::number;
use crate::weight::Weight;

const INFO: FormatInfo = FormatInfo {
    name: "spx",
    producer: "SPX for PHP: the full report, spx-full-*.txt.gz",
    tested: Tested::ByDescription("SPX 0.4 by its source"),
    values: "time, calls",
    unit: "us, calls",
};

const EVENTS: &[u8] = b"[events]";
const FUNCTIONS: &[u8] = b"[functions]";

/// Collapses SPX's full reports.
pub struct Spx;

impl Collapser for Spx {
    fn info(&self) -> &'static FormatInfo {
        &INFO
    }

    fn contexts(&self) -> ContextInfo {
        ContextInfo { times: "calls", clock: Some("recording"), ..ContextInfo::NONE }
    }

    fn detect(&self, head: &[u8]) -> Certainty {
        let mut lines = lines(head).map(<[u8]>::trim_ascii_end);
        let is_events = lines.next() == Some(EVENTS);
        let is_event = lines.next().is_some_and(|line| line == FUNCTIONS || event(line).is_some());
        if is_events && is_event { Certainty::Yes } else { Certainty::No }
    }

    fn collapse(
        &self,
        input: Input,
        reading: &Reading<'_>,
        sink: &mut dyn Sink,
        report: &mut Report,
    ) -> Result<()> {
        let declared = vec![Value::new("time", "us"), Value::new("calls", "calls")];
        let mut values = Values::new(reading, declared, 0)?;
        let mut calls = Calls::new(sink.wants().contexts);
        let mut names = FrameNames::default();
        let mut functions: Option<Vec<FrameId>> = None;
        let mut is_second = false;
        Text::new(input).for_each(report, |line| {
            is_second |= line == EVENTS && functions.is_some();
            match &mut functions {
                _ if is_second => {}
                Some(functions) if !line.is_empty() => functions.push(names.plain(line, sink)),
                None if line == FUNCTIONS => functions = Some(Vec::new()),
                None if line != EVENTS && !line.is_empty() => {
                    return event(line).map_or(Ok(false), |event| calls.event(event));
                }
                _ => {}
            }
            Ok(true)
        })?;
        let has_names = functions.is_some();
        let functions = functions.unwrap_or_default();
        let unnamed = calls.functions.range(functions.len() as u32..);
        let unnamed: HashMap<u32, FrameId> = unnamed
            .map(|number| (*number, names.plain(format!("[function {number}]").as_bytes(), sink)))
            .collect();
        for (column, paths) in calls.paths.iter().enumerate() {
            paths.for_each(
                None,
                |number| Ok(functions.get(number as usize).copied().unwrap_or_else(|| unnamed[&number])),
                |stack, Sampled { weight, samples, time, duration, .. }| {
                    let context = Context { time, ..Context::UNKNOWN };
                    values.add_lasting(column, stack, weight, samples, (&context, duration), sink)
                },
            )?;
        }
        if is_second {
            report.doubt("a second report follows the first and is left out: give each as a file");
        }
        if !has_names || !unnamed.is_empty() {
            report.doubt("functions have no name: the report is cut off");
        } else if !calls.open.is_empty() {
            report.doubt(format!("{} calls have no end", calls.open.len()));
        }
        report.facts.producer = Some("SPX".to_owned());
        report.facts.duration = crate::collapse::kit::times::duration(calls.passed()?, "us");
        values.finish(report)
    }
}

/// The begin or the end of a call.
struct Event {
    function: u32,
    is_begin: bool,
    time: Weight,
}

/// `1 0 812.25 402136`
fn event(line: &[u8]) -> Option<Event> {
    let (function, rest) = split_digits(line);
    let (kind, rest) = rest.strip_prefix(b" ")?.split_first()?;
    let time = rest.strip_prefix(b" ")?.split(|&b| b == b' ').next()?;
    let function = number::parse(function)?;
    let is_begin = match kind {
        b'0' => false,
        b'1' => true,
        _ => return None,
    };
    Some(Event { function, is_begin, time: Weight::parse(time)? })
}

/// The calls that are open, and what those before took.
struct Calls {
    /// The time and the number of calls.
    paths: [Trie; 2],
    /// The functions of the open calls, and their paths.
    open: Vec<(u32, [PathId; 2])>,
    /// The times of the first and of the last event.
    times: Option<(Weight, Weight)>,
    /// The functions that were called.
    functions: BTreeSet<u32>,
}

impl Calls {
    fn new(contexts: bool) -> Calls {
        Calls {
            paths: [(); 2].map(|()| Trie::new(contexts)),
            open: Vec::new(),
            times: None,
            functions: BTreeSet::new(),
        }
    }

    /// Returns whether the event fits those before it.
    fn event(&mut self, Event { function, is_begin, time }: Event) -> Result<bool> {
        if !is_begin && self.open.last().is_none_or(|(open, _)| *open != function) {
            return Ok(false);
        }
        let (first, last) = self.times.unwrap_or((time, time));
        if time < last {
            return Ok(false);
        }
        if let Some((_, [path, _])) = self.open.last() {
            let passed = time.checked_sub(last)?;
            let lasts = lasting(last, time, "us");
            self.paths[0].add_lasting(*path, passed, nanoseconds(last, "us"), lasts, 0)?;
        }
        self.times = Some((first, time));
        if is_begin {
            Budget::default().check(self.open.len())?;
            let above = self.open.last().map_or([Trie::ROOT; 2], |(_, paths)| *paths);
            let path: [PathId; 2] = std::array::from_fn(|at| self.paths[at].below(above[at], function));
            self.paths[1].add_at(path[1], Weight::ONE, nanoseconds(time, "us"))?;
            self.functions.insert(function);
            self.open.push((function, path));
        } else {
            self.open.pop();
        }
        Ok(true)
    }

    fn passed(&self) -> Result<Weight> {
        let (first, last) = self.times.unwrap_or((Weight::ZERO, Weight::ZERO));
        last.checked_sub(first)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::collapse::CollapseOptions;
    use crate::collapse::ValueSelection;
    use crate::collapse::tests::{collapse_bytes, fold};

    const TEXT: &str = "[events]\n0 1 10 4\n1 1 12.5 4\n1 0 22.5 4\n1 1 22.5 4\n1 0 32 4\n0 0 40 4\n[functions]\n/a b.php\nShop::run;\n";

    #[test]
    fn time_is_that_of_the_open_call() {
        assert_eq!(Spx.detect(TEXT.as_bytes()), Certainty::Yes);
        assert_eq!(
            fold(&Spx, TEXT, &CollapseOptions::default()),
            "/a b.php 10.5\n/a b.php;Shop::run: 19.5\n"
        );
        let calls = CollapseOptions {
            values: ValueSelection::Named(vec![b"calls".to_vec()]),
            ..CollapseOptions::default()
        };
        assert_eq!(fold(&Spx, TEXT, &calls), "/a b.php 1\n/a b.php;Shop::run: 2\n");
        let (_, report) = collapse_bytes(&Spx, TEXT, &CollapseOptions::default()).unwrap();
        assert_eq!(report.facts.duration, Some(std::time::Duration::from_micros(30)));
        assert!(report.facts.warnings.is_empty() && report.not_understood.count == 0);
        for other in [&b"[events]\nx\n"[..], b"[events]", b"a [events]\n0 1 1\n", b""] {
            assert_eq!(Spx.detect(other), Certainty::No, "{other:?}");
        }
    }

    #[test]
    fn what_is_missing_is_said() {
        for (cut, warning) in [
            (TEXT.find("Shop").unwrap(), "functions have no name"),
            (TEXT.find("[func").unwrap(), "functions have no name"),
        ] {
            let (_, report) = collapse_bytes(&Spx, &TEXT[..cut], &CollapseOptions::default()).unwrap();
            assert!(report.facts.warnings[0].contains(warning), "{:?}", report.facts.warnings);
        }
        let open = TEXT.replace("0 0 40 4\n", "");
        let (_, report) = collapse_bytes(&Spx, &open, &CollapseOptions::default()).unwrap();
        assert!(report.facts.warnings[0].contains("1 calls have no end"));
        let wrong = TEXT.replace("1 0 22.5 4\n", "0 0 22.5 4\n");
        let (_, report) = collapse_bytes(&Spx, &wrong, &CollapseOptions::default()).unwrap();
        // And the end of the program, which closes a call that is not the last one open.
        assert_eq!(report.not_understood.count, 2);
    }
}
