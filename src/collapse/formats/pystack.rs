//! The output of pystack, of a process (`pystack remote PID`) or of a core dump (`pystack core FILE`): the stack of
//! each thread, once or in a loop (seen: pystack 1.7).
//!
//! ```text
//! Traceback for thread 21735 (python3) [Has the GIL] (most recent call last):
//!     (C) File "Python/thread_pthread.h", line 241, in pythread_wrapper (/opt/py311/lib/libpython3.11.so.1.0)
//!     (Python) File "py/orders.py", line 12, in visit
//!         parse(20000)
//!       Arguments:
//!         depth: 0
//! ```
//! Root first. Frames of C are there with `--native`, `???` is a file that is not known, and ` (inlined)` follows a
//! function that is. Each stack of a thread counts one. The source is pystack's `traceback_formatter.py`.

use crate::collapse::kit::folded_detection::head_lines;
use crate::collapse::kit::names::{FrameNames, NO_STACK};
use crate::collapse::kit::native_frame::NativeFrame;
use crate::collapse::kit::text::{Text, split_digits, split_first, split_last};
use crate::collapse::kit::threads::Thread;
use crate::collapse::kit::values::Values;
use crate::collapse::{Certainty, CollapseOptions, Collapser, FormatInfo, Reading, Report, Sink, Tested};
use crate::error::Result;
use crate::folded::FrameId;
use crate::input::Input;
use crate::number;
use crate::weight::Weight;

const INFO: FormatInfo = FormatInfo {
    name: "pystack",
    producer: "pystack remote, pystack core",
    tested: Tested::Seen("pystack 1.7"),
    values: "samples",
    unit: "samples",
};

/// Collapses what pystack prints.
pub struct Pystack;

impl Collapser for Pystack {
    fn info(&self) -> &'static FormatInfo {
        &INFO
    }

    fn detect(&self, head: &[u8]) -> Certainty {
        let mut lines = head_lines(head).skip_while(|line| header(line).is_none()).skip(1);
        if lines.any(|line| frame(line).is_some()) { Certainty::Yes } else { Certainty::No }
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
            values: Values::single(reading, "samples", "samples"),
            names: FrameNames::default(),
            stack: Vec::new(),
            within: false,
        };
        Text::new(input).for_each(report, |line| parser.line(line, sink))?;
        parser.end(sink)?;
        parser.values.finish(report)
    }
}

struct Parser<'o> {
    options: &'o CollapseOptions,
    values: Values,
    names: FrameNames,
    /// The thread, if it is a frame, and its frames, root first.
    stack: Vec<FrameId>,
    /// True if the frames that follow are a thread's.
    within: bool,
}

impl Parser<'_> {
    fn line(&mut self, line: &[u8], sink: &mut dyn Sink) -> Result<bool> {
        if let Some(thread) = header(line) {
            self.end(sink)?;
            self.within = true;
            if self.options.shows_threads(false) {
                self.stack.push(self.names.build(sink, |out| thread.write(self.options, out)));
            }
        } else if let Some(frame) = frame(line).filter(|_| self.within) {
            let frame = frame.add(self.options, &mut self.names, sink);
            self.stack.push(frame);
        } else if line.starts_with(b"The frame stack for thread ") && line.ends_with(b" is empty") {
            self.end(sink)?;
            self.within = true;
        } else {
            // A line of source, arguments and locals, an interpreter of several, the words about a core dump.
            let is_remark = line.is_empty() || line.starts_with(b"  ") || line.starts_with(b"* - Unable to ");
            return Ok(is_remark && !line.starts_with(b"    (") || !self.within);
        }
        Ok(true)
    }

    fn end(&mut self, sink: &mut dyn Sink) -> Result<()> {
        if !std::mem::take(&mut self.within) {
            return Ok(());
        }
        if self.stack.is_empty() {
            self.stack.push(sink.frame(NO_STACK));
        }
        self.values.sample(&self.stack, &[Weight::ONE], sink)?;
        self.stack.clear();
        Ok(())
    }
}

/// `Traceback for thread 21735 (python3) [Has the GIL] (most recent call last):`, where name and state may be missing.
fn header(line: &[u8]) -> Option<Thread<'_>> {
    let rest = line.strip_prefix(b"Traceback for thread ")?.strip_suffix(b"(most recent call last):")?;
    let (tid, rest) = split_digits(rest);
    let rest = rest.trim_ascii();
    // A name may hold anything; the state holds no bracket.
    let name = split_last(rest, b" [").map_or(rest, |(name, _)| name);
    let name = name.strip_prefix(b"(").and_then(|name| name.strip_suffix(b")")).unwrap_or_default();
    (!tid.is_empty()).then_some(Thread { name, pid: b"", tid })
}

/// A frame taken apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Frame<'a> {
    file: &'a [u8],
    line: &'a [u8],
    function: &'a [u8],
    /// The file that a function of C is in.
    module: Option<&'a [u8]>,
}

/// `    (Python) File "py/orders.py", line 12, in visit`, or `    (C) File "x.c", line 3, in f (inlined) (/lib/x.so)`.
fn frame(text: &[u8]) -> Option<Frame<'_>> {
    let rest = text.strip_prefix(b"    (")?;
    let (language, rest) = split_first(rest, b") File \"")?;
    let (file, rest) = split_first(rest, b"\", line ")?;
    let (line, rest) = split_digits(rest);
    let rest = rest.strip_prefix(b", in ")?;
    match language {
        b"Python" => Some(Frame { file, line, function: rest, module: None }),
        b"C" => {
            let rest = rest.strip_suffix(b")")?;
            let (function, module) = split_last(rest, b" (/").or_else(|| split_last(rest, b" ("))?;
            Some(Frame { file, line, function, module: Some(module) })
        }
        _ => None,
    }
}

impl Frame<'_> {
    fn add(&self, options: &CollapseOptions, names: &mut FrameNames, sink: &mut dyn Sink) -> FrameId {
        let Some(module) = self.module else {
            return names.located(self.function, self.file, number::parse(self.line), sink);
        };
        let symbol = self.function.strip_suffix(b" (inlined)").unwrap_or(self.function);
        let srcline = match self.file {
            b"???" => Vec::new(),
            file => [file, b":", self.line].concat(),
        };
        let symbol = if symbol == b"???" { b"" } else { symbol };
        let native = NativeFrame { symbol, module, srcline: &srcline, ..NativeFrame::default() };
        native.frame(options, names, sink)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::collapse::tests::fold;

    const HEADER: &str = "Traceback for thread 7 (a) [b) [Has the GIL] (most recent call last):";

    #[test]
    fn frames_hold_any_names() {
        for (line, name) in [
            (r#"(Python) File "a.py", line 3, in <module>"#, "<module> (a.py:3)"),
            (
                r#"(Python) File "<frozen; x>", line 0, in f", line 1, in g"#,
                "f\", line 1, in g (<frozen: x>:0)",
            ),
            (r#"(C) File "a.c", line 9, in f@@V_2.34 (/lib/a (1).so)"#, "f@@V_2.34"),
            (r#"(C) File "a.cc", line 9, in n::f(int) (inlined) (/lib/a.so)"#, "n::f"),
            (r#"(C) File "???", line 0, in ??? (/lib/a.so)"#, "[a.so]"),
        ] {
            let text = format!("{HEADER}\n    {line}\n");
            assert_eq!(fold(&Pystack, text, &CollapseOptions::default()), format!("{name} 1\n"), "{line}");
        }
        let text = format!("{HEADER}\n    (C) File \"a.c\", line 9, in f (/lib/a.so)\n");
        let all = CollapseOptions { tid: true, srcline: true, ..CollapseOptions::default() };
        assert_eq!(fold(&Pystack, text, &all), "a) [b-?/7;f (a.c:9) 1\n");
    }

    #[test]
    fn threads_of_any_state_count_one() {
        let text = "Core file information:\nstate: t\n\nTraceback for thread 1 [] (most recent call last):\n  \
                    In the main interpreter [Has the GIL]\n    (Python) File \"a.py\", line 3, in f\n        g()\n      \
                    Locals:\n        x: 1\n\nThe frame stack for thread 2 is empty\n\n\
                    Traceback for thread 3 (most recent call last):\n\
                    * - Unable to merge native stack due to insufficient native information - *\n    \
                    (Python) File \"a.py\", line 3, in f\n";
        assert_eq!(fold(&Pystack, text, &CollapseOptions::default()), "[no stack] 1\nf (a.py:3) 2\n");
    }
}
