//! The output of gdb for `thread apply all bt`, `bt` and `bt full`, once or in a loop.
//!
//! ```text
//! Thread 3 (Thread 0x7fdda121c6c0 (LWP 7313) "calc: two"):
//! #0  0x0000559c8b4a2a7e in shop::Matrix<double, 24>::operator* (this=0x7fdda1219a60, o=...) at orders.cpp:21
//! #3  std::__invoke_impl<void, main(int, char**)::<lambda()> > (__f=...) at /usr/include/c++/12/bits/invoke.h:61
//! #8  0x00007fdda1cd44a3 in ?? () from /lib/x86_64-linux-gnu/libstdc++.so.6
//! ```
//! Between the stacks are the other messages of gdb, and with `bt full` the variables. Each
//! stack of a thread counts one. The form is that of gdb's `print_frame` (gdb/stack.c); the manual
//! ("Backtraces") shows it.

use std::borrow::Cow;

use crate::collapse::kit::folded_detection::head_lines;
use crate::collapse::kit::native_frame::NativeFrame;
use crate::collapse::kit::printed::Printed;
use crate::collapse::kit::text::{Text, split_address, split_digits, split_first, split_last};
use crate::collapse::kit::threads::Thread;
use crate::collapse::{Certainty, Collapser, FormatInfo, Reading, Report, Sink, Tested};
use crate::error::Result;
use crate::folded::FrameId;
use crate::input::Input;
use crate::weight::Weight;

const INFO: FormatInfo = FormatInfo {
    name: "gdb",
    producer: "gdb's `thread apply all bt`, `bt full`, `bt`",
    tested: Tested::Seen("gdb 13.1"),
    values: "samples",
    unit: "samples",
};

/// Collapses gdb's backtraces.
pub struct Gdb;

impl Collapser for Gdb {
    fn info(&self) -> &'static FormatInfo {
        &INFO
    }

    fn detect(&self, head: &[u8]) -> Certainty {
        let head = without_colours(head);
        let mut before = &b""[..];
        for line in head_lines(&head) {
            if line.starts_with(b"#0  ") && frame(line).is_some_and(|(_, shape)| shape.is_telling) {
                return Certainty::Yes;
            }
            if thread(before).is_some() && line.starts_with(b"#0 ") {
                return Certainty::Yes;
            }
            before = line;
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
        let mut parser = Parser { printed: Printed::samples(reading), thread: None, held: Vec::new() };
        Text::new(input).for_each(report, |line| parser.line(&without_colours(line), sink))?;
        parser.flush(sink)?;
        parser.printed.values.finish(report)
    }
}

struct Parser<'o> {
    printed: Printed<'o>,
    thread: Option<FrameId>,
    /// A frame that may go on in the next line, where gdb was told how wide the terminal is.
    held: Vec<u8>,
}

impl Parser<'_> {
    fn line(&mut self, line: &[u8], sink: &mut dyn Sink) -> Result<bool> {
        if let Some(thread) = thread(line) {
            self.flush(sink)?;
            let shown = self.printed.options.shows_threads(!thread.name.is_empty());
            self.thread = shown.then(|| self.printed.thread(&thread, sink));
            return Ok(true);
        }
        if let Some((number, _)) = frame(line) {
            self.release(sink);
            if number == b"0" && !self.printed.stack.is_empty() {
                // A lone `bt` does not say which thread it is of.
                self.flush(sink)?;
            }
            line.clone_into(&mut self.held);
            return Ok(true);
        }
        match line.strip_prefix(b"    ") {
            Some(rest) if !self.held.is_empty() && !rest.starts_with(b"  ") => {
                self.held.push(b' ');
                self.held.extend_from_slice(rest);
            }
            _ => self.release(sink),
        }
        Ok(true)
    }

    fn release(&mut self, sink: &mut dyn Sink) {
        let held = std::mem::take(&mut self.held);
        if let Some((_, shape)) = frame(&held) {
            self.printed.push(&shape.native, sink);
        }
        self.held = held;
        self.held.clear();
    }

    fn flush(&mut self, sink: &mut dyn Sink) -> Result<()> {
        self.release(sink);
        let thread = self.thread.take();
        if self.printed.stack.is_empty() {
            return Ok(());
        }
        if let Some(thread) = thread {
            self.printed.stack.push_above(thread);
        }
        self.printed.add(Weight::ONE, sink)
    }
}

/// The text without what sets colours on a terminal: `ESC [ 33 m`.
fn without_colours(text: &[u8]) -> Cow<'_, [u8]> {
    const BEGIN: &[u8] = b"\x1b[";
    if memchr::memmem::find(text, BEGIN).is_none() {
        return Cow::Borrowed(text);
    }
    let mut plain = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, behind)) = split_first(rest, BEGIN) {
        plain.extend_from_slice(before);
        let numbers = behind.iter().take_while(|b| b.is_ascii_digit() || **b == b';').count();
        rest = behind[numbers..].strip_prefix(b"m").unwrap_or(behind);
    }
    plain.extend_from_slice(rest);
    Cow::Owned(plain)
}

/// `Thread 3 (Thread 0x7fdda121c6c0 (LWP 7313) "calc: two"):`, or `(LWP 7313)`, or `(process 7)`. Where
/// there are several programs, the number is that of the program and the thread: `1.3`.
fn thread(line: &[u8]) -> Option<Thread<'_>> {
    let (number, rest) = split_digits(line.strip_prefix(b"Thread ")?);
    let rest = rest.strip_prefix(b".").map_or(rest, |rest| split_digits(rest).1);
    let inner = rest.strip_prefix(b" (")?;
    // Behind the thread may stand why it is shown: `(Exiting)`, `(name)`.
    let (inner, _) = split_last(inner, b"):").filter(|_| !number.is_empty())?;
    let (ids, name) = match split_first(inner, b" \"") {
        Some((ids, name)) => (ids, name.strip_suffix(b"\"").unwrap_or(name)),
        None => (inner, &inner[..0]),
    };
    let number_behind = |word: &[u8]| split_last(ids, word).map(|(_, rest)| split_digits(rest).0);
    let pid = number_behind(b"process ").unwrap_or_default();
    let tid = number_behind(b"LWP ").unwrap_or(pid);
    Some(Thread { name, pid, tid })
}

/// A frame line, as far as it has been understood.
struct Shape<'a> {
    native: NativeFrame<'a>,
    /// True if no other text looks like this.
    is_telling: bool,
}

/// The number of a frame and the frame.
fn frame(line: &[u8]) -> Option<(&[u8], Shape<'_>)> {
    let (number, rest) = split_digits(line.strip_prefix(b"#")?);
    let blanks = rest.iter().take_while(|&&b| b == b' ').count();
    if number.is_empty() || number.len() > 7 || blanks == 0 {
        return None;
    }
    let rest = &rest[blanks..];
    let (address, rest) = match split_address(rest) {
        Some((address, behind)) => (address, behind.strip_prefix(b" in ")?),
        None => (&rest[..0], rest),
    };
    if rest.starts_with(b"<") && rest.ends_with(b">") && !rest.contains(&b'(') {
        // `<signal handler called>`, `<function called from gdb>`.
        let native = NativeFrame { symbol: rest, address, ..NativeFrame::default() };
        return Some((number, Shape { native, is_telling: false }));
    }
    let args = arguments(rest)?;
    let (symbol, behind) = (&rest[..args], &rest[args..]);
    let (mut srcline, mut module) = (&rest[..0], &rest[..0]);
    let mut is_telling = !address.is_empty();
    if let Some((_, place)) = split_last(behind, b") at ") {
        (srcline, is_telling) = (place.trim_ascii(), true);
    } else if let Some((_, file)) = split_last(behind, b") from ") {
        (module, is_telling) = (file.trim_ascii(), true);
    }
    let native = NativeFrame { symbol, module, address, srcline, kernel: false };
    Some((number, Shape { native, is_telling }))
}

/// The place of the blank before the arguments: the first ` (` that stands in no brackets. A name has
/// those of templates and parameters, and operators that look like brackets.
fn arguments(text: &[u8]) -> Option<usize> {
    const OPERATOR: &[u8] = b"operator";
    let mut depth = 0usize;
    let mut at = 0;
    while at < text.len() {
        if text[at..].starts_with(OPERATOR) && (at == 0 || !is_word(text[at - 1])) {
            at += OPERATOR.len();
            while text.get(at).is_some_and(|b| b"<>=-!".contains(b)) {
                at += 1;
            }
            continue;
        }
        match text[at] {
            b' ' if depth == 0 && text.get(at + 1) == Some(&b'(') => return Some(at),
            b'(' | b'<' | b'[' | b'{' => depth += 1,
            b'>' if at > 0 && matches!(text[at - 1], b'-' | b'=') => {}
            b')' | b'>' | b']' | b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        at += 1;
    }
    // Brackets that do not match: whatever stands before the first.
    memchr::memmem::find(text, b" (")
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte >= 0x80
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::collapse::CollapseOptions;
    use crate::collapse::tests::fold;

    #[test]
    fn names_end_where_arguments_begin() {
        for (line, name) in [
            (
                "#0  0x1 in (anonymous namespace)::scramble (x=<optimized out>) at a.cpp:1",
                "(anonymous namespace)::scramble",
            ),
            (
                "#7  std::function<long (int)>::operator()(int) const (__args#0=3451, this=0x7) at f.h:5",
                "std::function<long (int)>::operator()",
            ),
            ("#1  a::operator< (x=..., y=\"(\") at a.h:1", "a::operator<"),
            ("#1  a::operator<< <char> (x=...) at a.h:1", "a::operator<< <char>"),
            ("#1  a::operator<< <fn (int)> (x=...) at a.h:1", "a::operator<< <fn (int)>"),
            ("#1  a::operator-> (x=...) at a.h:1", "a::operator->"),
            ("#1  0x1 in operator new (sz=8) from /lib/a.so", "operator new"),
            (
                "#4  main(int, char**)::<lambda()>::operator()(void) const (this=0x1) at x y.cpp:3",
                "main(int, char**)::<lambda()>::operator()",
            ),
            (
                "#1  core::ops::FnOnce::call_once<fn() -> i32, ()> () at a.rs:1",
                "core::ops::FnOnce::call_once<fn() -> i32, ()>",
            ),
            ("#2  <signal handler called>", "<signal handler called>"),
            ("#8  0x00007fdda1cd44a3 in ?? () from /lib/libstdc++.so.6", "[libstdc++.so.6]"),
            ("#8  0x00007fdda1cd44a3 in ?? ()", "[unknown]"),
            ("#0  f (s=0x1 \") at nowhere:1\") at real.c:7", "f"),
        ] {
            assert_eq!(fold(&Gdb, line, &CollapseOptions::default()), format!("{name} 1\n"), "{line}");
        }
        let srcline = CollapseOptions { srcline: true, ..CollapseOptions::default() };
        assert_eq!(fold(&Gdb, "#0  f (s=0x1 \") at nowhere:1\") at real.c:7", &srcline), "f (real.c:7) 1\n");
        for line in ["#include <x.h>", "#1", "#x  f ()", "# 1 f ()", "#1  0x12 f ()", "#3  words"] {
            assert!(frame(line.as_bytes()).is_none(), "{line}");
        }
    }

    #[test]
    fn threads_are_named_as_gdb_does() {
        let thread = |line: &'static str| thread(line.as_bytes()).map(|t| (t.name, t.pid, t.tid));
        let none = &b""[..];
        for (line, ids) in [
            (
                "Thread 3 (Thread 0x7f (LWP 7313) \"calc: \"two\"\"):",
                (&b"calc: \"two\""[..], none, &b"7313"[..]),
            ),
            ("Thread 1.2 (LWP 12):", (none, none, b"12")),
            ("Thread 1 (LWP 12):", (none, none, b"12")),
            ("Thread 1 (process 12):", (none, b"12", b"12")),
            ("Thread 1 (Thread 0x7f (LWP 1) (Exiting)):", (none, none, b"1")),
        ] {
            assert_eq!(thread(line), Some(ids), "{line}");
        }
        assert!(thread("Thread 2 hit Breakpoint 1").is_none());
    }

    #[test]
    fn colours_are_no_part_of_names() {
        let text = "Thread 1 (LWP 7 \"a\"):\n#0  \x1b[34m0x0000000000001129\x1b[m in \x1b[33mf\x1b[m (\x1b[36mx\x1b[m=1) at \
                    \x1b[32ma.c\x1b[m:3\n#1  \x1b[01;33mmain\x1b[m () at a.c:4\n";
        assert_eq!(fold(&Gdb, text, &CollapseOptions::default()), "a;main;f 1\n");
        assert_eq!(Gdb.detect(text.as_bytes()), Certainty::Yes);
        assert_eq!(*without_colours(b"a\x1b[mb\x1b[1;2x\x1b["), *b"ab1;2x");
    }

    #[test]
    fn lines_are_joined_and_other_words_passed_over() {
        let text = "[New LWP 7]\nThread 1 (LWP 7 \"a\"):\n#0  f (x=1,\n    y=2)\n    at a.c:1\n        local = 3\n\nNo locals.\n#1  main () at a.c:2\n(gdb) bt\n#0  g () at a.c:1\n";
        let plain =
            CollapseOptions { threads_as_frames: Some(false), srcline: true, ..CollapseOptions::default() };
        assert_eq!(fold(&Gdb, text, &plain), "g (a.c:1) 1\nmain (a.c:2);f (a.c:1) 1\n");
        assert_eq!(fold(&Gdb, text, &CollapseOptions::default()), "a;main;f 1\ng 1\n");
    }
}
