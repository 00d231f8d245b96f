//! The stacks of Python's `faulthandler`: by itself when a program crashes, or every so often
//! (`dump_traceback_later(…, repeat=True)`), which makes a sampling profiler of it.
//!
//! ```text
//! Timeout (0:00:00.060000)!
//! Thread 0x00007f8c923ca6c0 (most recent call first):
//!   File "py/orders.py", line 15 in fib
//!   ...
//!
//! Current thread 0x00007f8c95047b80 [MainThread] (most recent call first):
//!   File "py/orders.py", line 45 in main
//! ```
//! The name of the thread is there since Python 3.14, and so is a stack of C functions, which is
//! passed over. `...` ends a stack of more than a hundred frames. Each stack of a thread counts
//! one. The source is CPython's `Python/traceback.c`.

use crate::collapse::kit::folded_detection::head_lines;
use crate::collapse::kit::names::NO_STACK;
use crate::collapse::kit::printed::Printed;
use crate::collapse::kit::text::{Text, split_digits, split_first, split_last};
use crate::collapse::kit::threads::Thread;
use crate::collapse::{Certainty, Collapser, FormatInfo, Reading, Report, Sink, Tested};
use crate::error::Result;
use crate::input::Input;
use crate::number;
use crate::weight::Weight;

const INFO: FormatInfo = FormatInfo {
    name: "faulthandler",
    producer: "Python's faulthandler",
    tested: Tested::Seen("CPython 3.6 to 3.13"),
    values: "samples",
    unit: "samples",
};

/// Collapses the dumps of faulthandler.
pub struct Faulthandler;

impl Collapser for Faulthandler {
    fn info(&self) -> &'static FormatInfo {
        &INFO
    }

    fn detect(&self, head: &[u8]) -> Certainty {
        let mut before = None;
        for line in head_lines(head) {
            if before.is_some() && frame(line).is_some() {
                return Certainty::Yes;
            }
            before = header(line);
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
        let mut parser =
            Parser { printed: Printed::samples(reading), thread: Vec::new(), tid: Vec::new(), within: false };
        Text::new(input).for_each(report, |line| parser.line(line, sink))?;
        parser.flush(sink)?;
        parser.printed.values.finish(report)
    }
}

struct Parser<'o> {
    printed: Printed<'o>,
    thread: Vec<u8>,
    tid: Vec<u8>,
    /// True if the frames that follow are a thread's.
    within: bool,
}

impl Parser<'_> {
    fn line(&mut self, line: &[u8], sink: &mut dyn Sink) -> Result<bool> {
        if let Some(thread) = header(line) {
            self.flush(sink)?;
            self.within = true;
            thread.name.clone_into(&mut self.thread);
            thread.tid.clone_into(&mut self.tid);
        } else if !self.within {
            // The program's own words, the cause of a crash, the list of extension modules.
        } else if let Some((function, file, number)) = frame(line) {
            let frame = self.printed.names.located(function, file, number, sink);
            self.printed.stack.push(frame);
        } else if matches!(
            line,
            b"  ..." | b"<no Python frame>" | b"  <no Python frame>" | b"  <invalid frame>"
        ) {
            self.printed.push_plain(line.trim_ascii(), sink);
        } else {
            // An indented line should have been a frame; any other line ends the stack.
            self.flush(sink)?;
            return Ok(!line.starts_with(b"  "));
        }
        Ok(true)
    }

    fn flush(&mut self, sink: &mut dyn Sink) -> Result<()> {
        if !std::mem::take(&mut self.within) {
            return Ok(());
        }
        if self.printed.stack.is_empty() {
            // A thread that has not come to Python yet, of which 3.6 writes nothing but its header.
            self.printed.stack.push(sink.frame(NO_STACK));
        }
        if self.printed.options.shows_threads(false) {
            let thread = Thread { name: &self.thread, pid: b"", tid: &self.tid };
            let thread = self.printed.thread(&thread, sink);
            self.printed.stack.push_above(thread);
        }
        self.printed.add(Weight::ONE, sink)
    }
}

/// `Thread 0x00007f8c923ca6c0 [name] (most recent call first):`, or `Current thread …`, or `Stack …`
/// of the one thread that was asked for. A thread without a name is called by its number.
fn header(line: &[u8]) -> Option<Thread<'_>> {
    let line = line.strip_suffix(b" (most recent call first):")?;
    if line == b"Stack" {
        return Some(Thread::default());
    }
    let ids = line.strip_prefix(b"Current thread ").or_else(|| line.strip_prefix(b"Thread "))?;
    let (id, name) = split_first(ids, b" ").unwrap_or((ids, &ids[..0]));
    let name = name.strip_prefix(b"[").and_then(|name| name.strip_suffix(b"]")).unwrap_or_default();
    // `Current thread's C stack trace` has no number.
    let tid =
        id.strip_prefix(b"0x").filter(|hex| !hex.is_empty() && hex.iter().all(u8::is_ascii_hexdigit))?;
    Some(Thread { name: if name.is_empty() { id } else { name }, pid: b"", tid })
}

/// `  File "py/orders.py", line 15 in fib` as function, file and line. The file may hold anything.
fn frame(line: &[u8]) -> Option<(&[u8], &[u8], Option<u64>)> {
    let rest = line.strip_prefix(b"  File ")?;
    let (file, behind) = split_last(rest, b", line ")?;
    let (digits, function) = split_digits(behind);
    // `???` where it is not known.
    let function = function.strip_prefix(b"???").filter(|_| digits.is_empty()).unwrap_or(function);
    let function = function.strip_prefix(b" in ")?;
    let file = file.strip_prefix(b"\"").and_then(|file| file.strip_suffix(b"\"")).unwrap_or(file);
    Some((function, file, number::parse(digits)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::collapse::CollapseOptions;
    use crate::collapse::tests::fold;

    #[test]
    fn frames_are_read_from_the_right() {
        for (line, frame) in [
            ("File \"a.py\", line 15 in <module>", "<module> (a.py:15)"),
            ("File \"a\", line 1 in x;\", line 2 in f", "f (a\", line 1 in x::2)"),
            ("File \"<string>\", line ??? in f", "f (<string>)"),
            ("File ???, line 3 in ???", "??? (???:3)"),
            ("<no Python frame>", "<no Python frame>"),
        ] {
            let text = format!("Stack (most recent call first):\n  {line}\n");
            assert_eq!(fold(&Faulthandler, text, &CollapseOptions::default()), format!("{frame} 1\n"));
        }
    }

    #[test]
    fn a_thread_without_python_counts_too() {
        let text = "Thread 0x7f01 (most recent call first):\n<no Python frame>\n\n\
                    Thread 0x7f02 (most recent call first):\n\n\
                    Thread 0x7f03 (most recent call first):\n  File \"a.py\", line 2 in g\n";
        let folded = "<no Python frame> 1\n[no stack] 1\ng (a.py:2) 1\n";
        assert_eq!(fold(&Faulthandler, text, &CollapseOptions::default()), folded);
    }

    #[test]
    fn a_crash_is_a_stack_among_other_words() {
        let text = "hello\nFatal Python error: Segmentation fault\n\nCurrent thread 0x7f01 [main; 1] (most recent call first):\n  File \"a.py\", line 2 in g\n  ...\n\nCurrent thread's C stack trace (most recent call first):\n  Binary file \"/usr/bin/python\", at _Py_Dump+0x1 [0x1]\n\nExtension modules: numpy (total: 1)\n";
        assert_eq!(fold(&Faulthandler, text, &CollapseOptions::default()), "...;g (a.py:2) 1\n");
        let tid = CollapseOptions { tid: true, ..CollapseOptions::default() };
        assert_eq!(fold(&Faulthandler, text, &tid), "main: 1-?/7f01;...;g (a.py:2) 1\n");
        let named = CollapseOptions { threads_as_frames: Some(true), ..CollapseOptions::default() };
        let text = text.replace(" [main; 1]", "");
        assert_eq!(fold(&Faulthandler, text, &named), "0x7f01;...;g (a.py:2) 1\n");
    }
}
