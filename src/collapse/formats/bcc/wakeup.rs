//! The output of bcc's `wakeuptime` and `offwaketime` without `-f`: how long threads waited, and who woke them.
//!
//! ```text
//! Tracing blocked time (us) by user + kernel off-CPU and waker stack for 5 secs.
//!
//!     waker:           sshd 812
//!     main
//!     write
//!     --               --
//!     schedule
//!     read
//!     target:          bash 77
//!         4000
//! ```
//! Stacks are those of `-f`: the printed lines from the last to the first, so that who woke stands upside down on
//! who waited; `offwaketime -f` leaves out the function in which the target waits. `wakeuptime` has the target
//! first, an address before each symbol, and no process. The sources are `tools/wakeuptime.py` and
//! `tools/offwaketime.py` (github.com/iovisor/bcc).

use crate::collapse::kit::forest::Budget;
use crate::collapse::kit::native_frame::NativeFrame;
use crate::collapse::kit::printed::Printed;
use crate::collapse::kit::text::{Text, split_digits, split_last};
use crate::collapse::kit::threads::Thread;
use crate::collapse::kit::values::Values;
use crate::collapse::{Certainty, Collapser, FormatInfo, Reading, Report, Sink, Tested};
use crate::error::Result;
use crate::input::{Input, lines, trim_line_end};

const INFO: FormatInfo = FormatInfo {
    name: "bcc-wakeup",
    producer: "bcc's wakeuptime, offwaketime without -f",
    tested: Tested::ByDescription("bcc 0.26 by its source"),
    values: "blocked",
    unit: "us",
};

/// Collapses what bcc's `wakeuptime` and `offwaketime` print.
pub struct Wakeup;

impl Collapser for Wakeup {
    fn info(&self) -> &'static FormatInfo {
        &INFO
    }

    fn detect(&self, head: &[u8]) -> Certainty {
        let mut lines = lines(head).map(trim_line_end).peekable();
        while let Some(line) = lines.next() {
            let is_next = |next: &&[u8]| frame(next).is_some() || role(next).is_some();
            if role(line).is_some() && lines.peek().is_some_and(is_next) {
                return Certainty::Yes;
            }
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
        let printed = Printed::new(reading, Values::single(reading, "blocked", "us"));
        let mut parser = Parser { printed, lines: 0, first: None };
        let mut text = Text::new(input);
        text.for_each(report, |line| parser.line(line, sink))?;
        if parser.first.is_some() {
            text.end_within_record(report);
        }
        parser.printed.values.finish(report)
    }
}

/// The part that a thread has.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Role {
    Target,
    Waker,
}

struct Parser<'o> {
    printed: Printed<'o>,
    /// The lines of the stack being read.
    lines: usize,
    /// The role of its first line.
    first: Option<Role>,
}

impl Parser<'_> {
    fn line(&mut self, line: &[u8], sink: &mut dyn Sink) -> Result<bool> {
        if let Some((role, thread)) = role(line) {
            // A stack that has no weight is cut.
            let is_cut = self.first == Some(role);
            if is_cut || self.first.is_none() {
                self.clear();
                self.first = Some(role);
            }
            if self.printed.options.shows_threads(true) {
                // Only offwaketime, which has the waker first, prints processes.
                let thread = if self.first == Some(Role::Waker) { with_process(thread) } else { thread };
                let frame = self.printed.thread(&thread, sink);
                self.printed.stack.push(frame);
            }
            return Ok(!is_cut);
        }
        if self.first.is_none() {
            // Other output of the tool.
            return Ok(line.is_empty() || !line.starts_with(b"    "));
        }
        if let Some(weight) = super::weight(line) {
            self.printed.add(weight, sink)?;
            self.clear();
            return Ok(true);
        }
        let Some(symbol) = frame(line) else {
            self.clear();
            return Ok(false);
        };
        self.lines += 1;
        Budget::default().check(self.lines)?;
        match symbol {
            b"--" | b"-" => self.printed.push_plain(symbol, sink),
            symbol => self.printed.push(&NativeFrame { symbol, ..NativeFrame::default() }, sink),
        }
        Ok(true)
    }

    fn clear(&mut self) {
        self.printed.stack.clear();
        (self.lines, self.first) = (0, None);
    }
}

/// `    waker:           sshd 812`
fn role(line: &[u8]) -> Option<(Role, Thread<'_>)> {
    let line = line.strip_prefix(b"    ")?;
    let (role, name) = match line.strip_prefix(b"target:          ") {
        Some(name) => (Role::Target, name),
        None => (Role::Waker, line.strip_prefix(b"waker:           ")?),
    };
    Some((role, Thread { name, ..Thread::default() }))
}

fn with_process(thread: Thread<'_>) -> Thread<'_> {
    match split_last(thread.name, b" ") {
        Some((name, pid)) if !pid.is_empty() && split_digits(pid).1.is_empty() => {
            Thread { name, pid, tid: b"" }
        }
        _ => thread,
    }
}

/// A symbol, without the address that `wakeuptime` has before it; `--` between the two stacks, `-` between the
/// kernel's and the program's; a stack that was not had without its error's number.
fn frame(line: &[u8]) -> Option<&[u8]> {
    let line = super::frame(line)?;
    if let Some((missed, _)) = split_last(line, b"]").filter(|_| line.starts_with(b"[Missed ")) {
        return Some(&line[..=missed.len()]);
    }
    // Both are padded to sixteen.
    match line.get(..17) {
        Some(b"--               ") => Some(b"--"),
        Some([address @ .., b' ']) if is_padded_address(address) => Some(&line[17..]),
        _ => Some(line),
    }
}

fn is_padded_address(text: &[u8]) -> bool {
    let digits = text.trim_ascii_end();
    !digits.is_empty() && digits.iter().all(u8::is_ascii_hexdigit)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::collapse::CollapseOptions;
    use crate::collapse::tests::{collapse_bytes, fold};

    const OFFWAKE: &str = "Tracing blocked time (us) by user + kernel off-CPU and waker stack for 5 secs.\n\n    \
        waker:           my sshd 812\n    main\n    -\n    sock_write\n    --               --\n    schedule\n    \
        [Missed User Stack] -14\n    target:          bash 77\n        4000\n\n";

    const WAKE: &str = "Tracing blocked time (us) by kernel stack\n    target:          kworker/0 1\n    \
        ffffffff810a3e5e secondary_startup\n    ffffffff810a3f00 try_to_wake_up\n    waker:           swapper/1\n        \
        10\n\nDetaching...\n";

    #[test]
    fn stacks_are_those_of_the_folded_output() {
        assert_eq!(Wakeup.detect(OFFWAKE.as_bytes()), Certainty::Yes);
        let stack = "[Missed User Stack];schedule;--;sock_write;-;main";
        assert_eq!(
            fold(&Wakeup, OFFWAKE, &CollapseOptions::default()),
            format!("bash;{stack};my sshd 4000\n")
        );
        let pid = CollapseOptions { pid: true, ..CollapseOptions::default() };
        assert_eq!(fold(&Wakeup, OFFWAKE, &pid), format!("bash-77;{stack};my sshd-812 4000\n"));
        let none = CollapseOptions { threads_as_frames: Some(false), ..CollapseOptions::default() };
        assert_eq!(fold(&Wakeup, OFFWAKE, &none), format!("{stack} 4000\n"));
        assert_eq!(Wakeup.detect(WAKE.as_bytes()), Certainty::Yes);
        let (folded, report) = collapse_bytes(&Wakeup, WAKE, &CollapseOptions::default()).unwrap();
        assert_eq!(folded, "swapper/1;try_to_wake_up;secondary_startup;kworker/0 1 10\n");
        assert_eq!((report.unit(), report.not_understood.count), (Some("us"), 0));
    }

    #[test]
    fn a_stack_that_is_cut_is_counted_as_not_understood() {
        let block = &WAKE[WAKE.find("    target").unwrap()..];
        for cut in [
            "    target:          a\n    f\n",
            "    target:          a\n    f\n    waker:           b\n",
            "    target:          a\nwords\n",
        ] {
            let (folded, report) =
                collapse_bytes(&Wakeup, format!("{cut}{block}"), &CollapseOptions::default()).unwrap();
            assert_eq!(folded.lines().count(), 1, "{cut}");
            assert_eq!(report.not_understood.count, 1, "{cut}");
        }
        let (_, report) =
            collapse_bytes(&Wakeup, &block[..block.len() - 25], &CollapseOptions::default()).unwrap();
        assert!(report.not_understood.ends_within_record.is_some());
        for other in
            ["", "    target:          a", "target:          a\nf\n", "    f\n    waker:  a\n        3\n"]
        {
            assert_eq!(Wakeup.detect(other.as_bytes()), Certainty::No, "{other}");
        }
    }
}
