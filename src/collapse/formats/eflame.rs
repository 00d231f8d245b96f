//! The stacks that eflame writes, of Erlang and Elixir: a line for each sample.
//!
//! ```text
//! <0.85.0>;orders:main/0;orders:fib/1;orders:fib/1
//! <0.85.0>;orders:main/0;SLEEP
//! ```
//! The process, and the functions root first; there is no count. A line stands for a millisecond. The source is
//! `eflame.erl`; what its `stack_to_flame.sh` makes of them is folded text.

use crate::collapse::kit::driver::{self, LineParser};
use crate::collapse::kit::forest::Budget;
use crate::collapse::kit::values::Values;
use crate::collapse::{Certainty, Collapser, FormatInfo, Reading, Report, Sink, Tested};
use crate::error::Result;
use crate::folded::FrameId;
use crate::input::{Input, lines};
use crate::weight::Weight;

const INFO: FormatInfo = FormatInfo {
    name: "eflame",
    producer: "eflame of Erlang and Elixir: stacks.out",
    tested: Tested::ByDescription("eflame by its source"),
    values: "samples",
    unit: "samples",
};

/// Collapses eflame's stacks.
pub struct Eflame;

impl Collapser for Eflame {
    fn info(&self) -> &'static FormatInfo {
        &INFO
    }

    fn detect(&self, head: &[u8]) -> Certainty {
        let lines: Vec<&[u8]> = lines(head).take(20).collect();
        // The last may be cut.
        let whole = &lines[..lines.len() - 1];
        let found = !whole.is_empty() && whole.iter().all(|line| is_sample(line.trim_ascii_end()));
        if found { Certainty::Yes } else { Certainty::No }
    }

    fn collapse(
        &self,
        input: Input,
        reading: &Reading<'_>,
        sink: &mut dyn Sink,
        report: &mut Report,
    ) -> Result<()> {
        let new = || Lines {
            values: Values::single(reading, "samples", "samples"),
            shows_processes: reading.shows_threads(true),
            stack: Vec::new(),
        };
        driver::run_lines(input, reading.threads, new, sink, report)
    }
}

/// Returns whether a line is a process and its stack, without a count.
fn is_sample(line: &[u8]) -> bool {
    let Some((process, stack)) = split(line) else { return false };
    let numbers = process.strip_prefix(b"<").and_then(|process| process.strip_suffix(b">"));
    let is_process = numbers.is_some_and(|numbers| {
        let mut parts = numbers.split(|&b| b == b'.');
        parts.clone().count() == 3
            && parts.all(|part| !part.is_empty() && part.iter().all(u8::is_ascii_digit))
    });
    let last = stack.rsplit(|&b| b == b' ').next().unwrap_or_default();
    let counted = last.len() < stack.len() && Weight::parse(last).is_some();
    is_process && !stack.is_empty() && !counted
}

fn split(line: &[u8]) -> Option<(&[u8], &[u8])> {
    let at = memchr::memchr(b';', line)?;
    Some((&line[..at], &line[at + 1..]))
}

struct Lines {
    values: Values,
    shows_processes: bool,
    stack: Vec<FrameId>,
}

impl LineParser for Lines {
    fn line(&mut self, line: &[u8], sink: &mut dyn Sink) -> Result<bool> {
        if !is_sample(line) {
            return Ok(false);
        }
        let Some((_, frames)) = split(line) else { return Ok(false) };
        let frames = if self.shows_processes { line } else { frames };
        self.stack.clear();
        self.stack.extend(frames.split(|&b| b == b';').map(|frame| sink.frame(frame)));
        Budget::default().check(self.stack.len())?;
        self.values.add(0, &self.stack, Weight::ONE, sink)?;
        Ok(true)
    }

    fn finish(self, report: &mut Report) -> Result<()> {
        self.values.finish(report)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::collapse::CollapseOptions;
    use crate::collapse::tests::{collapse_bytes, fold};

    #[test]
    fn each_line_is_a_sample() {
        let text = "<0.85.0>;m:f/0;m:g/1\n<0.85.0>;m:f/0;m:g/1\n<0.9.0>;m:f/0;SLEEP\n";
        assert_eq!(Eflame.detect(text.as_bytes()), Certainty::Yes);
        assert_eq!(
            fold(&Eflame, text, &CollapseOptions::default()),
            "<0.85.0>;m:f/0;m:g/1 2\n<0.9.0>;m:f/0;SLEEP 1\n"
        );
        let none = CollapseOptions { threads_as_frames: Some(false), ..CollapseOptions::default() };
        assert_eq!(fold(&Eflame, text, &none), "m:f/0;SLEEP 1\nm:f/0;m:g/1 2\n");
        let (_, report) =
            collapse_bytes(&Eflame, format!("{text}hello\n"), &CollapseOptions::default()).unwrap();
        assert_eq!(report.not_understood.count, 1);
        for other in [&b"<0.85.0>;m:f/0 12\n"[..], b"a;b\n", b"<0.85.0>\n", b""] {
            assert_eq!(Eflame.detect(other), Certainty::No, "{other:?}");
        }
    }
}
