//! The output of `eu-stack` of elfutils for a process, once or in a loop: the poor man's profiler.
//!
//! ```text
//! PID 7310 - process
//! TID 7312:
//! #0  0x0000559c8b49e946     scramble - /home/user/app/cpp/orders
//!     /home/user/app/cpp/orders.cpp:16:70
//! #1  0x0000559c8b4a1e57 - 1 shop::Deep::visit(int) - /home/user/app/cpp/orders
//! #2  0x00007fdda1cd44a3
//! ```
//! The ` - 1` of return addresses comes with `-v`, the module with `-m`, the source line with
//! `-s`. A name that is not known is missing. Each stack of a thread counts one. The source is
//! elfutils' `src/stack.c`.

use crate::collapse::kit::folded_detection::head_lines;
use crate::collapse::kit::native_frame::NativeFrame;
use crate::collapse::kit::printed::Printed;
use crate::collapse::kit::text::{Text, split_address, split_digits, split_first, split_last};
use crate::collapse::kit::threads::Thread;
use crate::collapse::{Certainty, Collapser, FormatInfo, Reading, Report, Sink, Tested};
use crate::error::Result;
use crate::input::Input;
use crate::weight::Weight;

const INFO: FormatInfo = FormatInfo {
    name: "eu-stack",
    producer: "eu-stack, once or in a loop",
    tested: Tested::Seen("elfutils 0.188"),
    values: "samples",
    unit: "samples",
};

/// Collapses what eu-stack prints.
pub struct EuStack;

impl Collapser for EuStack {
    fn info(&self) -> &'static FormatInfo {
        &INFO
    }

    fn detect(&self, head: &[u8]) -> Certainty {
        // A shell's words may stand before it.
        let mut pid = false;
        for line in head_lines(head).take(100) {
            if pid && tid(line).is_some() {
                return Certainty::Yes;
            }
            pid = process(line).is_some();
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
            Parser { printed: Printed::samples(reading), pid: Vec::new(), tid: Vec::new(), held: Vec::new() };
        Text::new(input).for_each(report, |line| parser.line(line, sink))?;
        parser.flush(sink)?;
        parser.printed.values.finish(report)
    }
}

struct Parser<'o> {
    printed: Printed<'o>,
    pid: Vec<u8>,
    tid: Vec<u8>,
    /// A frame whose source line may follow.
    held: Vec<u8>,
}

impl Parser<'_> {
    fn line(&mut self, line: &[u8], sink: &mut dyn Sink) -> Result<bool> {
        if let Some(pid) = process(line) {
            self.flush(sink)?;
            pid.clone_into(&mut self.pid);
        } else if let Some(tid) = tid(line) {
            self.flush(sink)?;
            tid.clone_into(&mut self.tid);
        } else if frame(line).is_some() {
            self.release(b"", sink);
            line.clone_into(&mut self.held);
        } else if let Some(srcline) = line.strip_prefix(b"    ").filter(|_| !self.held.is_empty()) {
            self.release(srcline, sink);
        } else {
            // `eu-stack: dwfl_thread_getframes tid 7 at 0x… in …: no matching address range` and
            // other remarks are about the frames that are missing, not among them.
            return Ok(line.trim_ascii().is_empty() || !line.starts_with(b"#"));
        }
        Ok(true)
    }

    /// Adds the frame read before, now that its source line is known.
    fn release(&mut self, srcline: &[u8], sink: &mut dyn Sink) {
        let held = std::mem::take(&mut self.held);
        if let Some(frame) = frame(&held) {
            let frame = NativeFrame { srcline, ..frame };
            self.printed.push(&frame, sink);
        }
        self.held = held;
        self.held.clear();
    }

    fn flush(&mut self, sink: &mut dyn Sink) -> Result<()> {
        self.release(b"", sink);
        if self.printed.stack.is_empty() {
            return Ok(());
        }
        if self.printed.options.shows_threads(false) {
            let name = [b"TID ", &self.tid[..]].concat();
            let thread = Thread { name: &name, pid: &self.pid, tid: &self.tid };
            let thread = self.printed.thread(&thread, sink);
            self.printed.stack.push_above(thread);
        }
        self.printed.add(Weight::ONE, sink)
    }
}

/// `PID 7310 - process`, or `- core`.
fn process(line: &[u8]) -> Option<&[u8]> {
    let (pid, rest) = split_digits(line.strip_prefix(b"PID ")?);
    (!pid.is_empty() && rest.starts_with(b" - ")).then_some(pid)
}

/// `TID 7312:`, with a name behind it in newer versions.
fn tid(line: &[u8]) -> Option<&[u8]> {
    let (tid, rest) = split_digits(line.strip_prefix(b"TID ")?);
    (!tid.is_empty() && rest.contains(&b':')).then_some(tid)
}

/// `#0  0x0000559c8b49e946     scramble - /home/user/app/cpp/orders`
fn frame(line: &[u8]) -> Option<NativeFrame<'_>> {
    let (number, rest) = split_digits(line.strip_prefix(b"#")?);
    let (address, rest) = split_address(rest.trim_ascii_start()).filter(|_| !number.is_empty())?;
    let rest = rest.strip_prefix(b" - 1").unwrap_or(rest);
    // Behind the symbol, or in its place.
    let (symbol, rest) = match split_last(rest, b" - /").or_else(|| split_last(rest, b" - [")) {
        Some((symbol, module)) => (symbol, &rest[rest.len() - module.len() - 1..]),
        None => (rest, &rest[rest.len()..]),
    };
    // With `-b`, the build id follows.
    let module = split_first(rest, b" [").map_or(rest, |(module, _)| module);
    let symbol = symbol.trim_ascii();
    let kernel = module == b"[kernel.kallsyms]" || module == b"[kernel]";
    Some(NativeFrame { symbol, module, address, kernel, ..NativeFrame::default() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::collapse::CollapseOptions;
    use crate::collapse::tests::fold;

    #[test]
    fn frames_have_any_of_their_parts() {
        let all = |line: &'static str| frame(line.as_bytes()).map(|f| (f.symbol, f.module));
        for (line, symbol, module) in [
            ("#0  0x00007f main", "main", ""),
            ("#10 0x00007f - 1 operator- - /usr/lib/a b.so", "operator-", "/usr/lib/a b.so"),
            ("#0  0x00007f     f(int) - [vdso]", "f(int)", "[vdso]"),
            ("#0  0x00007f - 1 - /usr/lib/x.so", "", "/usr/lib/x.so"),
            ("#3  0x00007f", "", ""),
        ] {
            assert_eq!(all(line), Some((symbol.as_bytes(), module.as_bytes())), "{line}");
        }
        assert_eq!(all("#3  "), None);
        assert_eq!(all("# 0x12 f"), None);
    }

    #[test]
    fn threads_and_source_lines_are_shown_when_asked_for() {
        let text =
            "PID 7 - process\nTID 8:\n#0  0x1 f\n    a.c:3:1\n#1  0x2 main\nTID 9:\neu-stack: no frames\n";
        assert_eq!(fold(&EuStack, text, &CollapseOptions::default()), "main;f 1\n");
        let rich = CollapseOptions { tid: true, srcline: true, ..CollapseOptions::default() };
        assert_eq!(fold(&EuStack, text, &rich), "TID 8-7/8;main;f (a.c:3:1) 1\n");
    }
}
