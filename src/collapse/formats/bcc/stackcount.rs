//! The output of bcc's `stackcount` without `-f`: how often each stack led to a function or event.
//!
//! ```text
//! Tracing 1 functions for "t:sched:sched_switch"... Hit Ctrl-C to end.
//!
//! 07:45:26
//!   __schedule
//!   schedule
//!     --
//!   main
//!     b'opt cgu.5' [20277]
//!     3
//! ```
//! Frames are leaf first; with `-v` an address stands before each. `-d` sets a `--` between the
//! kernel's and the user's, `-P` names the process, `-T` tells the time. With `-i` the counts begin
//! anew each time, so they add up. The source is `tools/stackcount.py` (github.com/iovisor/bcc).

use crate::collapse::kit::leaf_first::LeafFirst;
use crate::collapse::kit::names::{FrameNames, NO_STACK};
use crate::collapse::kit::native_frame::NativeFrame;
use crate::collapse::kit::text::{Text, split_last};
use crate::collapse::kit::threads::Thread;
use crate::collapse::kit::values::Values;
use crate::collapse::{Certainty, CollapseOptions, Collapser, FormatInfo, Reading, Report, Sink, Tested};
use crate::error::Result;
use crate::folded::FrameId;
use crate::input::{Input, lines};
use crate::weight::Weight;

const INFO: FormatInfo = FormatInfo {
    name: "bcc-stackcount",
    producer: "bcc's stackcount without -f",
    tested: Tested::Seen("bcc 0.26"),
    values: "calls",
    unit: "calls",
};

/// Collapses what bcc's `stackcount` prints.
pub struct Stackcount;

impl Collapser for Stackcount {
    fn info(&self) -> &'static FormatInfo {
        &INFO
    }

    fn detect(&self, head: &[u8]) -> Certainty {
        let is_heading = |line: &[u8]| {
            line.starts_with(b"Tracing ") && memchr::memmem::find(line, b" functions for \"").is_some()
        };
        if lines(head).take(20).any(is_heading) { Certainty::Yes } else { Certainty::No }
    }

    fn collapse(
        &self,
        input: Input,
        reading: &Reading<'_>,
        sink: &mut dyn Sink,
        report: &mut Report,
    ) -> Result<()> {
        let mut parser = Parser {
            options: reading,
            values: Values::single(reading, "calls", "calls"),
            names: FrameNames::default(),
            stack: LeafFirst::default(),
            thread: None,
        };
        let mut text = Text::new(input);
        text.for_each(report, |line| parser.line(line, sink))?;
        if parser.thread.is_some() || !parser.stack.is_empty() {
            text.end_within_record(report);
        }
        parser.values.finish(report)
    }
}

struct Parser<'o> {
    options: &'o CollapseOptions,
    values: Values,
    names: FrameNames,
    stack: LeafFirst,
    thread: Option<FrameId>,
}

impl Parser<'_> {
    fn line(&mut self, line: &[u8], sink: &mut dyn Sink) -> Result<bool> {
        let indent = line.iter().take_while(|&&b| b == b' ').count();
        let text = &line[indent..];
        match (indent, text) {
            (2, symbol) => {
                let (address, symbol) = with_address(symbol);
                let frame = NativeFrame { symbol, address, ..NativeFrame::default() };
                self.stack.push(frame.frame(self.options, &mut self.names, sink));
            }
            (4, b"--") => self.stack.push(self.names.plain(b"-", sink)),
            (4, text) => match Weight::parse(text).filter(|_| text[0].is_ascii_digit()) {
                Some(weight) => {
                    if let Some(thread) = self.thread.take() {
                        self.stack.push_above(thread);
                    } else if self.stack.is_empty() {
                        self.stack.push_above(self.names.plain(NO_STACK, sink));
                    }
                    self.values.add(0, self.stack.take(), weight, sink)?;
                }
                None => {
                    let Some(thread) = owner(text) else { return Ok(false) };
                    let shown = self.options.shows_threads(true);
                    self.thread =
                        shown.then(|| self.names.build(sink, |out| thread.write(self.options, out)));
                }
            },
            // Other output of the tool, such as the time; a stack must not end here.
            _ => {
                let cut = !self.stack.is_empty() || self.thread.is_some();
                self.stack.clear();
                self.thread = None;
                return Ok(!cut);
            }
        }
        Ok(true)
    }
}

/// `7fe4b4c40c77     main`, as `-v` has it.
fn with_address(text: &[u8]) -> (&[u8], &[u8]) {
    let digits = text.iter().take_while(|b| b.is_ascii_hexdigit()).count();
    let rest = &text[digits..];
    // Padded to 16 digits, so that a function called `add` is none.
    let is_address = digits <= 16 && rest.len() - rest.trim_ascii_start().len() == 17 - digits.min(16);
    if digits > 0 && is_address { (&text[..digits], rest.trim_ascii_start()) } else { (&[], text) }
}

/// `b'opt cgu.5' [20277]`, or without what Python puts around it.
fn owner(text: &[u8]) -> Option<Thread<'_>> {
    let (name, pid) = split_last(text.strip_suffix(b"]")?, b" [")?;
    let plain = name.strip_prefix(b"b'").and_then(|name| name.strip_suffix(b"'"));
    pid.iter().all(u8::is_ascii_digit).then_some(Thread { name: plain.unwrap_or(name), pid, tid: b"" })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::collapse::tests::{collapse_bytes, fold};

    const HEADING: &str = "Tracing 1 functions for \"c:malloc\"... Hit Ctrl-C to end.\n\n";

    #[test]
    fn stacks_have_any_of_their_parts() {
        let text = format!(
            "{HEADING}07:45:26\n  ffffffff821facd8 add\n    --\n  7fe4b4c40c77     f(int)\n  [unknown]\n    \
             b'a (b)' [7]\n    3\n\n  add\n    2\n\n    4\n\nDetaching...\n"
        );
        assert_eq!(
            fold(&Stackcount, &text, &CollapseOptions::default()),
            "[no stack] 4\na (b);[unknown];f;-;add 3\nadd 2\n"
        );
        assert_eq!(Stackcount.detect(text.as_bytes()), Certainty::Yes);
    }

    #[test]
    fn a_stack_that_is_cut_is_counted_as_not_understood() {
        let text = format!("{HEADING}  f\n\n  g\n    1\n");
        let (folded, report) = collapse_bytes(&Stackcount, &text, &CollapseOptions::default()).unwrap();
        assert_eq!((folded.as_str(), report.not_understood.count), ("g 1\n", 1));
    }
}
