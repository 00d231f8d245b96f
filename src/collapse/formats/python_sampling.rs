//! The output of Python's own sampling profiler, `python -m profiling.sampling run --collapsed` (Python 3.15, by its
//! source): folded text of its own frames.
//!
//! ```text
//! tid:140213;orders.py:<module>:40;orders.py:fib:23;<GC> 14
//! ```
//! Frames are file, function and line; they come out as py-spy's do, `fib (orders.py:23)`, so that recordings of both
//! compare. `<GC>` and `<native>` stand for themselves. Written by `Lib/profiling/sampling/stack_collector.py`.

use crate::collapse::kit::driver::{self, LineParser};
use crate::collapse::kit::folded_detection::head_lines;
use crate::collapse::kit::names::{FrameNames, NO_STACK};
use crate::collapse::kit::threads::Thread;
use crate::collapse::{
    Certainty, Collapser, Context, ContextInfo, FormatInfo, Reading, Report, Sink, Tested, Value, ValueTotal,
};
use crate::error::Result;
use crate::folded::{Columns, FrameId, Line, Weights, parse_line};
use crate::input::Input;
use crate::number;
use crate::weight::Weight;

const INFO: FormatInfo = FormatInfo {
    name: "python-sampling",
    producer: "python -m profiling.sampling run --collapsed",
    tested: Tested::ByDescription("Python 3.15 by its source"),
    values: "samples",
    unit: "samples",
};

/// Collapses the text of `profiling.sampling`.
pub struct PythonSampling;

impl Collapser for PythonSampling {
    fn info(&self) -> &'static FormatInfo {
        &INFO
    }

    fn contexts(&self) -> ContextInfo {
        ContextInfo { labels: "thread, tid, process", ..ContextInfo::NONE }
    }

    fn detect(&self, head: &[u8]) -> Certainty {
        let (mut own, mut other) = (0, 0);
        for line in head_lines(head) {
            match parse_line(line, Columns::One).and_then(|line| thread(line.stack)) {
                Some((_, frames)) if frames.split(|b| *b == b';').any(|frame| located(frame).is_some()) => {
                    own += 1;
                }
                _ => other += 1,
            }
        }
        if own > other { Certainty::Yes } else { Certainty::No }
    }

    fn collapse(
        &self,
        input: Input,
        reading: &Reading<'_>,
        sink: &mut dyn Sink,
        report: &mut Report,
    ) -> Result<()> {
        let new = || Lines {
            count: reading.count,
            shows_threads: reading.shows_threads(true),
            names: FrameNames::default(),
            total: ValueTotal { kept: true, ..ValueTotal::default() },
            stack: Vec::new(),
        };
        driver::run_lines(input, reading.threads, new, sink, report)
    }
}

/// Reads the lines of one thread.
struct Lines {
    count: bool,
    shows_threads: bool,
    names: FrameNames,
    total: ValueTotal,
    stack: Vec<FrameId>,
}

impl LineParser for Lines {
    fn line(&mut self, line: &[u8], sink: &mut dyn Sink) -> Result<bool> {
        let Some(Line { stack, weights }) = parse_line(line, Columns::One) else { return Ok(false) };
        let Some((tid, frames)) = thread(stack) else { return Ok(false) };
        self.stack.clear();
        if self.shows_threads {
            self.stack.push(self.names.plain(&stack[..b"tid:".len() + tid.len()], sink));
        }
        for frame in frames.split(|b| *b == b';').filter(|frame| !frame.is_empty()) {
            self.stack.push(match located(frame) {
                Some((file, function, line)) => self.names.located(function, file, Some(line), sink),
                None => self.names.plain(frame, sink),
            });
        }
        if self.stack.is_empty() {
            self.stack.push(sink.frame(NO_STACK));
        }
        let weights = if self.count { Weights::one(Weight::ONE) } else { weights };
        self.total.add(weights.value)?;
        let owner = Thread { name: b"", pid: b"", tid };
        let context = if sink.wants().contexts { owner.context(None) } else { Context::UNKNOWN };
        sink.sample(&self.stack, weights, &context)?;
        Ok(true)
    }

    fn finish(self, report: &mut Report) -> Result<()> {
        report.add_value(Value::new("samples", "samples"), self.total)
    }
}

/// The number of the thread that a stack begins with, and the frames behind it.
fn thread(stack: &[u8]) -> Option<(&[u8], &[u8])> {
    let rest = stack.strip_prefix(b"tid:")?;
    let end = rest.iter().position(|b| *b == b';').unwrap_or(rest.len());
    let (tid, frames) = rest.split_at(end);
    let is_number = !tid.is_empty() && tid.iter().all(u8::is_ascii_digit);
    is_number.then(|| (tid, frames.strip_prefix(b";").unwrap_or(frames)))
}

/// File, function and line of a frame.
fn located(frame: &[u8]) -> Option<(&[u8], &[u8], u64)> {
    let colon = memchr::memrchr(b':', frame)?;
    let line = number::parse(&frame[colon + 1..])?;
    let place = &frame[..colon];
    let colon = memchr::memchr(b':', place)?;
    let (file, function) = (&place[..colon], &place[colon + 1..]);
    (!file.is_empty() && !function.is_empty()).then_some((file, function, line))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::collapse::CollapseOptions;
    use crate::collapse::tests::fold;

    const TEXT: &str = "tid:12;orders.py:<module>:40;orders.py:fib:23;<GC> 14\ntid:13;<native> 2\ntid:14 1\n";

    #[test]
    fn frames_are_those_of_other_profilers_of_python() {
        assert_eq!(PythonSampling.detect(b"tid:12;orders.py:fib:23 14\n"), Certainty::Yes);
        assert_eq!(
            fold(&PythonSampling, TEXT, &CollapseOptions::default()),
            "tid:12;<module> (orders.py:40);fib (orders.py:23);<GC> 14\ntid:13;<native> 2\ntid:14 1\n"
        );
        let hidden = CollapseOptions { threads_as_frames: Some(false), ..CollapseOptions::default() };
        assert_eq!(
            fold(&PythonSampling, TEXT, &hidden),
            "<module> (orders.py:40);fib (orders.py:23);<GC> 14\n<native> 2\n[no stack] 1\n"
        );
    }

    #[test]
    fn other_text_is_not_of_it() {
        for text in ["main;f 3\n", "tid:x;a.py:f:3 3\n", "tid:12;main;f 3\n", "tid:12;:f:3 1\n", ""] {
            assert_eq!(PythonSampling.detect(text.as_bytes()), Certainty::No, "{text}");
        }
    }
}
