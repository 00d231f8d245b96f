//! The output of `strace -k`: system calls, each with the stack that made it.
//!
//! ```text
//! 7444  mmap(NULL, 8192, PROT_READ, MAP_PRIVATE|MAP_ANONYMOUS, -1, 0) = 0x7f949fa60000 <0.000012>
//!  > /usr/lib/libc.so.6(__mmap+0x23) [0x20ca3]
//!  > /home/user/app/orders(main+0x81) [0xa781]
//! ```
//! The call is the leaf. Each counts one; with `-T` there is also the time it took. A call that
//! another thread interrupts stands in two lines, `<unfinished ...>` and `<... futex resumed>`, of
//! which the second has the stack. The source is strace's `src/unwind.c`.

use std::collections::HashMap;

use crate::collapse::kit::folded_detection::head_lines;
use crate::collapse::kit::native_frame::NativeFrame;
use crate::collapse::kit::printed::Printed;
use crate::collapse::kit::text::{Text, split_digits, split_first, split_last};
use crate::collapse::kit::threads::Thread;
use crate::collapse::kit::times::nanoseconds;
use crate::collapse::kit::values::Values;
use crate::collapse::{
    Certainty, Collapser, Context, ContextInfo, FormatInfo, Reading, Report, Sink, Tested, Value,
};
use crate::error::Result;
use crate::input::Input;
use crate::weight::Weight;

const INFO: FormatInfo = FormatInfo {
    name: "strace",
    producer: "strace -k",
    tested: Tested::Seen("strace 6.1"),
    values: "calls, time with -T",
    unit: "calls, us",
};

/// Collapses the stacks of strace.
pub struct Strace;

impl Collapser for Strace {
    fn info(&self) -> &'static FormatInfo {
        &INFO
    }

    fn contexts(&self) -> ContextInfo {
        ContextInfo { times: "calls, with -r, -t, -tt or -ttt", clock: None, labels: "thread, tid" }
    }

    fn detect(&self, head: &[u8]) -> Certainty {
        let mut before = None;
        for line in head_lines(head) {
            if before.is_some() && line.starts_with(b" > ") && frame(line).is_some() {
                return Certainty::Yes;
            }
            before = call(line);
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
        let declared = vec![Value::new("calls", "calls"), Value::new("time", "us")];
        let mut parser = Parser {
            printed: Printed::new(reading, Values::new(reading, declared, 0)?),
            line: Vec::new(),
            contexts: sink.wants().contexts,
            clock: Clock::default(),
            stamp: None,
            exits: HashMap::new(),
            skips_stack: false,
            signals: 0,
            is_hidden_exit: false,
            hidden_exits: 0,
        };
        Text::new(input).for_each(report, |line| parser.line(line, sink))?;
        parser.flush(sink)?;
        if parser.signals > 0 {
            report.details.push(format!("{} signals are no calls and are left out", parser.signals));
        }
        if parser.hidden_exits > 0 {
            let count = parser.hidden_exits;
            report
                .details
                .push(format!("left out: stacks of ended threads ({count}) whose last call is not printed"));
        }
        parser.printed.values.finish(report)
    }
}

struct Parser<'o> {
    printed: Printed<'o>,
    /// The line of the call whose stack is being read.
    line: Vec<u8>,
    /// True if the sink wants contexts.
    contexts: bool,
    clock: Clock,
    /// The time at the beginning of the call's line.
    stamp: Option<u64>,
    /// The calls that have ended threads, by thread.
    exits: HashMap<Vec<u8>, Vec<u8>>,
    /// True if the stack that follows is that of no call: of a signal, or of a thread's end whose call is not printed.
    skips_stack: bool,
    signals: u64,
    /// True if a thread has ended whose last call strace was told not to print (`-Z`, `-e trace=write`).
    is_hidden_exit: bool,
    /// The number of those whose stack follows all the same.
    hidden_exits: u64,
}

impl Parser<'_> {
    fn line(&mut self, line: &[u8], sink: &mut dyn Sink) -> Result<bool> {
        if line.starts_with(b" > ") {
            if self.skips_stack {
                self.hidden_exits += u64::from(std::mem::take(&mut self.is_hidden_exit));
                return Ok(true);
            }
            let Some(frame) = frame(line).filter(|_| !self.line.is_empty()) else { return Ok(false) };
            self.printed.push(&frame, sink);
            return Ok(true);
        }
        self.flush(sink)?;
        self.stamp = ids(line).and_then(|(_, stamp, _)| self.clock.read(stamp));
        self.skips_stack = split_first(line, b"--- ")
            .is_some_and(|(ids, _)| thread(ids).is_some_and(|(_, rest)| rest.is_empty()));
        self.signals += u64::from(self.skips_stack);
        self.is_hidden_exit = false;
        // Output of the program itself is no call and has no stack.
        if let Some(call) = call(line) {
            line.clone_into(&mut self.line);
            if line.ends_with(b"= ?") {
                self.exits.insert(call.thread.tid.to_owned(), line.to_owned());
            }
        } else if let Some((ids, _)) = split_first(line, b"+++ ") {
            // The stack of a call that never returns follows the end of its thread.
            if let Some((thread, b"")) = thread(ids) {
                self.line = self.exits.remove(thread.tid).unwrap_or_default();
                self.is_hidden_exit = self.line.is_empty();
                self.skips_stack = self.is_hidden_exit;
            }
        }
        Ok(true)
    }

    fn flush(&mut self, sink: &mut dyn Sink) -> Result<()> {
        let line = std::mem::take(&mut self.line);
        if !self.printed.stack.is_empty()
            && let Some(call) = call(&line)
        {
            if self.printed.options.shows_threads(false) {
                let frame = self.printed.thread(&call.thread, sink);
                self.printed.stack.push_above(frame);
            }
            let mut frames = self.printed.stack.take().to_vec();
            frames.push(self.printed.names.plain(call.name, sink));
            let lasts = call.time.and_then(|time| nanoseconds(time, "us")).unwrap_or(0);
            // A line on which a call is resumed is written when it ends.
            let began = self.stamp.map(|at| if call.resumed { at.saturating_sub(lasts) } else { at });
            let context = match self.contexts {
                true => call.thread.context(began),
                false => Context::UNKNOWN,
            };
            let context = (&context, if began.is_some() { lasts } else { 0 });
            for (at, weight) in [Weight::ONE, call.time.unwrap_or_default()].into_iter().enumerate() {
                self.printed.values.add_lasting(at, &frames, weight, 1, context, sink)?;
            }
        }
        self.line = line;
        self.line.clear();
        Ok(())
    }
}

/// A system call, as far as it matters here.
struct Call<'a> {
    /// Called by its number where `--decode-pids=comm` does not name it.
    thread: Thread<'a>,
    name: &'a [u8],
    /// In microseconds.
    time: Option<Weight>,
    /// Its line is that of its end.
    resumed: bool,
}

/// `7444<orders> 12:30:01.500000 futex(0x7f94, …) = 0 <0.000012>`, `[pid 7] <... futex resumed>) = 0`
fn call(line: &[u8]) -> Option<Call<'_>> {
    let (thread, rest) = thread(line)?;
    let (resumed, rest) = match rest.strip_prefix(b"<... ") {
        Some(rest) => (true, rest),
        None => (false, rest),
    };
    let len = rest.iter().take_while(|b| b.is_ascii_alphanumeric() || **b == b'_').count();
    let (name, behind) = rest.split_at(len);
    let shape = if resumed { behind.starts_with(b" resumed>") } else { behind.starts_with(b"(") };
    if name.is_empty() || !shape || behind.ends_with(b"<unfinished ...>") {
        return None;
    }
    let time = line.strip_suffix(b">").and_then(|line| split_last(line, b" <"));
    let time = time.and_then(|(_, seconds)| Weight::parse(seconds)?.checked_mul(Weight::new(1_000_000)).ok());
    Some(Call { thread, name, time, resumed })
}

/// The thread at the beginning of a line, which may be missing, and what follows it and the time.
fn thread(line: &[u8]) -> Option<(Thread<'_>, &[u8])> {
    ids(line).map(|(thread, _, rest)| (thread, rest))
}

/// The thread and the time at the beginning of a line, either of which may be missing, and the
/// rest.
fn ids(line: &[u8]) -> Option<(Thread<'_>, &[u8], &[u8])> {
    let mut rest = line;
    let mut thread = Thread::default();
    let ids = rest.strip_prefix(b"[pid").map(<[u8]>::trim_ascii_start);
    let (pid, behind) = split_digits(ids.unwrap_or(rest));
    if !pid.is_empty() && (ids.is_some() || matches!(behind.first(), Some(b' ' | b'<'))) {
        thread = Thread { name: pid, pid: b"", tid: pid };
        rest = behind;
        if let Some(named) = rest.strip_prefix(b"<")
            && let Some((name, behind)) = split_first(named, b"> ").or_else(|| split_first(named, b">]"))
        {
            thread.name = name;
            rest = behind;
        }
        rest = rest.strip_prefix(b"]").unwrap_or(rest);
    }
    rest = rest.trim_ascii_start();
    // `-t`, `-r`: 12:30:01.500000, 0.000123
    let time = rest.iter().take_while(|b| b.is_ascii_digit() || matches!(b, b':' | b'.')).count();
    let stamp = &rest[..time];
    if time > 0 {
        rest = rest[time..].strip_prefix(b" ")?.trim_ascii_start();
    }
    // `-n`, `-i`: [  12], [00007f134c5b6c47]
    while let Some((number, behind)) = rest.strip_prefix(b"[").and_then(|rest| split_first(rest, b"] "))
        && number.iter().all(|b| b.is_ascii_hexdigit() || *b == b' ')
    {
        rest = behind;
    }
    Some((thread, stamp, rest))
}

/// The clock of `-t`, `-tt` (time of day), `-ttt` (since 1970) and `-r` (since the line before).
#[derive(Default)]
struct Clock {
    last: u64,
    /// The time that `-r` has counted, or the days that have passed.
    passed: u64,
}

impl Clock {
    /// The nanoseconds of a time as strace prints it.
    fn read(&mut self, stamp: &[u8]) -> Option<u64> {
        /// Smaller numbers are no dates.
        const YEAR: u64 = 365 * 86_400 * 1_000_000_000;
        const DAY: u64 = 86_400 * 1_000_000_000;
        let nanos = stamp.split(|&b| b == b':').try_fold(Weight::ZERO, |sum, part| {
            sum.checked_mul(Weight::new(60)).ok()?.checked_add(Weight::parse(part)?).ok()
        });
        let nanos = nanos.and_then(|seconds| nanoseconds(seconds, "s"))?;
        if !stamp.contains(&b':') {
            if nanos < YEAR {
                self.passed = self.passed.checked_add(nanos)?;
                return Some(self.passed);
            }
            return Some(nanos);
        }
        // Midnight has passed, if it is earlier by more than threads' lines get out of order.
        if nanos + DAY / 2 < self.last {
            self.passed += DAY;
        }
        self.last = nanos;
        Some(nanos + self.passed)
    }
}

/// ` > /usr/lib/libc.so.6(__munmap+0x7) [0x101a07]`; symbol, module or all but a remark may miss.
fn frame(line: &[u8]) -> Option<NativeFrame<'_>> {
    let text = line.strip_prefix(b" > ")?.trim_ascii();
    // `-kk` appends the source line.
    let (text, address, srcline) = match split_last(text, b" [0x") {
        Some((text, behind)) => {
            let (address, srcline) = split_first(behind, b"]")?;
            (text, address, srcline.trim_ascii())
        }
        None => match text.strip_prefix(b"[0x").and_then(|address| address.strip_suffix(b"]")) {
            Some(address) => (&text[..0], address, &text[..0]),
            None => (text, &text[..0], &text[..0]),
        },
    };
    let frame = NativeFrame { address, srcline, ..NativeFrame::default() };
    let Some(inner) = text.strip_suffix(b")") else {
        // A remark: `unexpected_backtracing_error`, or a path without a symbol.
        return (!text.is_empty() || !address.is_empty()).then_some(NativeFrame {
            module: if text.starts_with(b"/") { text } else { b"" },
            symbol: if text.starts_with(b"/") { b"" } else { text },
            ..frame
        });
    };
    // The path comes first, and the symbol may have parentheses of its own.
    let open = opening(inner)?;
    let (module, symbol) = (&inner[..open], &inner[open + 1..]);
    let symbol = split_last(symbol, b"+0x").map_or(symbol, |(symbol, _)| symbol);
    Some(NativeFrame { symbol, module, ..frame })
}

/// The place of the parenthesis that the last one closes.
fn opening(text: &[u8]) -> Option<usize> {
    let mut depth = 1usize;
    for (at, byte) in text.iter().enumerate().rev() {
        match byte {
            b')' => depth += 1,
            b'(' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return Some(at);
        }
    }
    // Parentheses that do not match: the path is unlikely to have one.
    memchr::memchr(b'(', text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::collapse::CollapseOptions;
    use crate::collapse::ValueSelection;
    use crate::collapse::tests::{collapse_bytes, fold};

    #[test]
    fn stamps_of_all_kinds_are_times() {
        for (stamps, expected) in [
            (&["23:59:59.500000", "00:00:01"][..], &[86_399_500_000_000u64, 86_401_000_000_000][..]),
            (&["1795220428.000001", "1795220428.5"], &[1_795_220_428_000_001_000, 1_795_220_428_500_000_000]),
            (&["0.000000", "0.250000", "0.5"], &[0, 250_000_000, 750_000_000]),
        ] {
            let mut clock = Clock::default();
            let times: Vec<u64> = stamps.iter().filter_map(|stamp| clock.read(stamp.as_bytes())).collect();
            assert_eq!(times, expected, "{stamps:?}");
        }
        assert_eq!((Clock::default().read(b""), Clock::default().read(b"1:x")), (None, None));
    }

    #[test]
    fn frames_are_read_from_the_right() {
        let parts = |line: &'static str| frame(line.as_bytes()).map(|f| (f.symbol, f.module, f.address));
        for (line, symbol, module, address) in [
            (" > /lib/a b.so(__munmap+0x7) [0x101a07]", "__munmap", "/lib/a b.so", "101a07"),
            (" > /lib/a.so(std::f(int, char) const+0x17) [0x1]", "std::f(int, char) const", "/lib/a.so", "1"),
            (" > /opt/x (1)/a.so(f+0x17) [0x1] a.c:7", "f", "/opt/x (1)/a.so", "1"),
            (" > /lib/a.so() [0x1]", "", "/lib/a.so", "1"),
            (" > /lib/a.so [0x1]", "", "/lib/a.so", "1"),
            (" > [0x7f]", "", "", "7f"),
            (" > unexpected_backtracing_error [0x7f]", "unexpected_backtracing_error", "", "7f"),
        ] {
            assert_eq!(
                parts(line),
                Some((symbol.as_bytes(), module.as_bytes(), address.as_bytes())),
                "{line}"
            );
        }
        assert!(frame(b" > ").is_none());
    }

    #[test]
    fn calls_are_told_from_other_lines() {
        let named = |line: &'static str| {
            call(line.as_bytes()).map(|c| (c.name, c.thread.name, c.time.map(|t| t.to_string())))
        };
        let none = &b""[..];
        let time = Some("12".to_owned());
        for (line, expected) in [
            ("write(1, \"x\", 1) = 1", (&b"write"[..], none, None)),
            ("7444  write(1, \"<9.5>\", 1) = 1 <0.000012>", (b"write", b"7444", time.clone())),
            ("[pid  7] 12:30:01.500000 <... futex resumed>) = 0", (b"futex", b"7", None)),
            ("7<a b> 0.000100 brk(NULL) = 0x1 <0.0000123>", (b"brk", b"a b", Some("12.3".into()))),
            ("[pid 7<a b>] brk(NULL) = 0x1", (b"brk", b"a b", None)),
            ("7      0.000000 [  12] [00007f134c5b6c47] brk(NULL) = 0x1", (b"brk", b"7", None)),
        ] {
            assert_eq!(named(line), Some(expected), "{line}");
        }
        for line in
            ["7445  +++ exited with 0 +++", "--- SIGCHLD {} ---", "7 futex(0x1 <unfinished ...>", "", "words"]
        {
            assert!(call(line.as_bytes()).is_none(), "{line}");
        }
    }

    #[test]
    fn a_call_is_the_leaf() {
        let text = "7 write(1) = 1 <0.000002>\n > /b(f+0x1) [0x1]\n > /b(main+0x1) [0x1]\n8 futex(1 <unfinished ...>\n7 write(2) = 1 <0.5>\n > /b(main+0x1) [0x1]\n8 <... futex resumed>) = 0 <0.1>\n > /b(g+0x1) [0x1]\n8 +++ exited +++\n";
        assert_eq!(
            fold(&Strace, text, &CollapseOptions::default()),
            "g;futex 1\nmain;f;write 1\nmain;write 1\n"
        );
        let time = CollapseOptions {
            values: ValueSelection::Named(vec![b"time".to_vec()]),
            tid: true,
            ..CollapseOptions::default()
        };
        assert_eq!(
            fold(&Strace, text, &time),
            "7-?/7;main;f;write 2\n7-?/7;main;write 500000\n8-?/8;g;futex 100000\n"
        );
    }

    #[test]
    fn the_stack_of_an_exit_follows_the_end_of_its_thread() {
        let text = "7<a b> 1.5 exit(0) = ?\n8 exit_group(0) = ?\n7<a b> 1.6 +++ exited with 0 +++\n > /b(f+0x1) [0x1]\n8 +++ killed by SIGTERM +++\n > /b(g+0x1) [0x1]\n9 +++ exited with 0 +++\n";
        assert_eq!(fold(&Strace, text, &CollapseOptions::default()), "f;exit 1\ng;exit_group 1\n");
    }

    #[test]
    fn the_stack_of_a_signal_is_passed_over() {
        let text = "7 1.5 --- SIGCHLD {} ---\n > /b(f+0x1) [0x1]\n7 write(1, \"--- x ---\") = 1\n > /b(g+0x1) [0x1]\n";
        let (folded, report) = collapse_bytes(&Strace, text, &CollapseOptions::default()).unwrap();
        assert_eq!((folded.as_str(), report.not_understood.count), ("g;write 1\n", 0));
        assert_eq!(report.details, ["1 signals are no calls and are left out"]);
    }

    #[test]
    fn the_stack_of_an_exit_that_is_not_printed_is_no_loss() {
        let text = "7 open(0) = -1 ENOENT\n > /b(f+0x1) [0x1]\n7 +++ exited with 0 +++\n > /b(g+0x1) [0x1]\n > /b(h+0x1) [0x1]\n8 +++ exited with 0 +++\n";
        let (folded, report) = collapse_bytes(&Strace, text, &CollapseOptions::default()).unwrap();
        assert_eq!((folded.as_str(), report.not_understood.count), ("f;open 1\n", 0));
        assert_eq!(report.details, ["left out: stacks of ended threads (1) whose last call is not printed"]);
    }

    #[test]
    fn stacks_of_nothing_are_not_understood() {
        let (folded, report) = collapse_bytes(
            &Strace,
            " > /b(f+0x1) [0x1]\n1 brk(0) = 0\n > /b(g+0x1) [0x1]\n",
            &CollapseOptions::default(),
        )
        .unwrap();
        assert_eq!((folded.as_str(), report.not_understood.count), ("g;brk 1\n", 1));
    }
}
