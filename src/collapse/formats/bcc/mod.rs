//! Stacks that the tools of bcc and libbpf-tools print: `profile`, `offcputime` and their like,
//! without `-f`; `stackcount`, `memleak` and `wakeuptime` have shapes of their own.
//!
//! ```text
//! Sampling at 99 Hertz of PID [20936] by user + kernel stack for 2 secs.
//!
//!     __GI_mprotect
//!     --
//!     work(int)
//!     [unknown]
//!     -                calc: two (20936)
//!         10
//! ```
//! Frames are leaf first, the kernel's before the user's; `-d` sets a `--` between the two. What a
//! stack weighs is samples, or microseconds for the tools that measure waiting, which say so in
//! their first line; those of libbpf-tools say nothing, but their stacks end in the scheduler. With
//! `-f` the tools write folded text. The sources are `tools/profile.py` and `tools/offcputime.py`
//! (github.com/iovisor/bcc) and libbpf-tools beside them.

pub mod memleak;
pub mod stackcount;
pub mod wakeup;

use crate::collapse::kit::names::NO_STACK;
use crate::collapse::kit::native_frame::NativeFrame;
use crate::collapse::kit::printed::Printed;
use crate::collapse::kit::text::{Text, split_digits, split_last};
use crate::collapse::kit::threads::Thread;
use crate::collapse::kit::times::duration;
use crate::collapse::kit::values::Values;
use crate::collapse::{Certainty, Collapser, FormatInfo, Reading, Report, Sink, Tested, Value};
use crate::error::Result;
use crate::folded::FrameId;
use crate::input::{Input, lines, trim_line_end};
use crate::number;
use crate::profile::Facts;
use crate::weight::Weight;

const INFO: FormatInfo = FormatInfo {
    name: "bcc",
    producer: "bcc's and libbpf-tools' profile, offcputime without -f",
    tested: Tested::Seen("bcc, libbpf-tools 0.26"),
    values: "samples, or offcpu",
    unit: "samples, or us",
};

/// Collapses what bcc's tools print.
pub struct Bcc;

impl Collapser for Bcc {
    fn info(&self) -> &'static FormatInfo {
        &INFO
    }

    fn detect(&self, head: &[u8]) -> Certainty {
        if head.starts_with(b"Sampling at ") {
            // A file that holds this line alone is still of this format; its reader reports it.
            return Certainty::Yes;
        }
        // A block is frames, their thread, and their weight.
        let mut last = [&b""[..]; 2];
        for line in lines(head).map(trim_line_end) {
            let owner = owner(last[1]).is_some_and(|thread| !thread.pid.is_empty());
            if owner && frame(last[0]).is_some() && weight(line).is_some() {
                return Certainty::Yes;
            }
            last = [last[1], line];
        }
        Certainty::No
    }

    fn collapse(
        &self,
        input: Input,
        reading: &Reading<'_>,
        sink: &mut dyn Sink,
        report: &mut Report,
    ) -> Result<()> {
        let value = if is_waiting(input.head()) {
            Value::new("offcpu", "us")
        } else if input.head().starts_with(b"Sampling at ") {
            Value::new("samples", "samples")
        } else {
            // Another of the tools, which counts or times something else.
            Value::default()
        };
        heading(input.head(), &mut report.facts);
        let mut parser = Parser {
            printed: Printed::new(reading, Values::only(reading, value)),
            owned: false,
            thread: None,
        };
        let mut text = Text::new(input);
        text.for_each(report, |line| parser.line(line, sink))?;
        if parser.owned || !parser.printed.stack.is_empty() {
            text.end_within_record(report);
        }
        parser.printed.values.finish(report)
    }
}

/// `Sampling at 99 Hertz of PID [20936] by user + kernel stack for 2 secs.`
fn heading(head: &[u8], facts: &mut Facts) {
    let line = lines(head).next().unwrap_or_default();
    let number = |text: &[u8]| number::parse::<u64>(split_digits(text).0);
    let Some(rest) = line.strip_prefix(b"Sampling at ") else { return };
    facts.rate = number(rest).filter(|rate| *rate > 0 && split_digits(rest).1.starts_with(b" Hertz"));
    if let Some((_, seconds)) = split_last(rest, b" for ")
        && split_digits(seconds).1.starts_with(b" secs")
    {
        facts.duration = number(seconds).and_then(|seconds| duration(Weight::from(seconds), "s"));
    }
}

/// Returns whether the tool measures waiting: it says so, or its stacks end where threads are switched.
fn is_waiting(head: &[u8]) -> bool {
    const SWITCH: [&[u8]; 4] =
        [b"__schedule", b"schedule", b"finish_task_switch", b"finish_task_switch.isra.0"];
    let (mut waiting, mut leaves) = (0, 0);
    let mut in_stack = false;
    for line in lines(head).map(<[u8]>::trim_ascii_end) {
        if line.starts_with(b"Tracing ") && memchr::memmem::find(line, b"(us)").is_some() {
            return true;
        }
        if line.starts_with(b"Sampling at ") {
            return false;
        }
        let Some(symbol) = frame(line) else {
            in_stack = false;
            continue;
        };
        leaves += usize::from(!in_stack && owner(line).is_none());
        waiting += usize::from(symbol == SWITCH[0] || (!in_stack && SWITCH.contains(&symbol)));
        in_stack = true;
    }
    waiting > 0 && 2 * waiting > leaves
}

struct Parser<'o> {
    printed: Printed<'o>,
    /// True if the stack's end was read: whose it is.
    owned: bool,
    thread: Option<FrameId>,
}

impl Parser<'_> {
    fn line(&mut self, line: &[u8], sink: &mut dyn Sink) -> Result<bool> {
        if self.owned
            && let Some(weight) = weight(line)
        {
            self.owned = false;
            if let Some(thread) = self.thread.take() {
                self.printed.stack.push_above(thread);
            } else if self.printed.stack.is_empty() {
                self.printed.push_plain(NO_STACK, sink);
            }
            self.printed.add(weight, sink)?;
            return Ok(true);
        }
        if let Some(thread) = owner(line) {
            self.owned = true;
            let shown = self.printed.options.shows_threads(true);
            self.thread = shown.then(|| self.printed.thread(&thread, sink));
        } else if let Some(symbol) = frame(line) {
            if self.owned {
                // The weight of the stack before is missing.
                self.printed.stack.clear();
                self.owned = false;
            }
            match symbol {
                b"--" => self.printed.push_plain(b"-", sink),
                symbol => self.printed.push(&NativeFrame { symbol, ..NativeFrame::default() }, sink),
            }
        } else {
            // Other output of the tool, before and after the stacks; a stack must not end here.
            let cut = self.owned || !self.printed.stack.is_empty();
            self.printed.stack.clear();
            self.owned = false;
            return Ok(!cut);
        }
        Ok(true)
    }
}

/// A frame, or the line between two halves of a stack.
fn frame(line: &[u8]) -> Option<&[u8]> {
    let symbol = line.strip_prefix(b"    ")?;
    (!matches!(symbol.first(), None | Some(b' '))).then_some(symbol)
}

/// `    -                calc: two (20936)`
fn owner(line: &[u8]) -> Option<Thread<'_>> {
    const PADDED: &[u8] = b"    -                ";
    let rest = match line.strip_prefix(PADDED) {
        Some(rest) => rest,
        None => line.strip_prefix(b"    - ")?.trim_ascii_start(),
    };
    match split_last(rest, b" (") {
        Some((name, ids)) if split_digits(ids).1 == b")" => {
            Some(Thread { name, pid: split_digits(ids).0, tid: b"" })
        }
        _ => Some(Thread { name: rest, ..Thread::default() }),
    }
}

/// `        10`
fn weight(line: &[u8]) -> Option<Weight> {
    let digits = line.strip_prefix(b"        ")?.trim_ascii();
    let only_digits = digits.first().is_some_and(u8::is_ascii_digit);
    Weight::parse(digits).filter(|_| only_digits)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::collapse::CollapseOptions;
    use crate::collapse::tests::{collapse_bytes, fold};

    const OWNER: &str = "    -                a (b) (7)\n";

    #[test]
    fn stacks_belong_to_commands() {
        let text = format!(
            "Sampling at 99 Hertz.\n\n    f(int)\n    --\n    g\n{OWNER}        3\n\n{OWNER}        2\n\n"
        );
        assert_eq!(fold(&Bcc, &text, &CollapseOptions::default()), "a (b) 2\na (b);g;-;f 3\n");
        let none = CollapseOptions { threads_as_frames: Some(false), ..CollapseOptions::default() };
        assert_eq!(fold(&Bcc, &text, &none), "[no stack] 2\ng;-;f 3\n");
        let pid = CollapseOptions { pid: true, ..CollapseOptions::default() };
        assert!(fold(&Bcc, &text, &pid).starts_with("a (b)-7 2\n"));
    }

    #[test]
    fn tools_that_measure_waiting_are_told() {
        let unit = |text: &str| {
            collapse_bytes(&Bcc, text, &CollapseOptions::default()).unwrap().1.unit().map(str::to_owned)
        };
        let block = |leaf: &str| format!("    {leaf}\n    main\n{OWNER}        3\n\n");
        assert_eq!(unit(&block("finish_task_switch")).as_deref(), Some("us"));
        assert_eq!(unit(&block("bpf_trace_run4\n    __schedule")).as_deref(), Some("us"));
        assert_eq!(unit(&block("f")), None);
        let profile = "Sampling at 99 Hertz of all threads.\n";
        assert_eq!(unit(&(profile.to_owned() + &block("__schedule"))).as_deref(), Some("samples"));
        let offcpu =
            "Tracing off-CPU time (us) of all threads by user + kernel stack... Hit Ctrl-C to end.\n";
        assert_eq!(unit(&(offcpu.to_owned() + &block("f"))).as_deref(), Some("us"));
    }

    #[test]
    fn a_stack_that_is_cut_is_counted_as_not_understood() {
        for text in ["    f\n\n", &format!("    f\n{OWNER}\n"), &format!("    f\n{OWNER}words\n")] {
            let text = format!("{text}    g\n{OWNER}        1\n");
            let (folded, report) = collapse_bytes(&Bcc, &text, &CollapseOptions::default()).unwrap();
            assert_eq!((folded.as_str(), report.not_understood.count), ("a (b);g 1\n", 1), "{text}");
        }
    }
}
