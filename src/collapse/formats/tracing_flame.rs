//! The spans that tracing-flame writes of Rust programs: a line whenever one is entered or left.
//!
//! ```text
//! ThreadId(2)-worker; app::parse:src/main.rs:8; app::lex:src/main.rs:10 25979
//! ```
//! The thread, or `all-threads`; the spans it was in, each behind a blank; the nanoseconds since the thread's
//! line before. Names without module, file and line come by the layer's options. The source is tracing-flame's
//! `lib.rs`; to other readers it is folded text of frames that begin with a blank.

use crate::collapse::kit::driver::{self, LineParser};
use crate::collapse::kit::folded_detection::head_lines;
use crate::collapse::kit::forest::Budget;
use crate::collapse::kit::names::{FrameNames, NO_STACK};
use crate::collapse::kit::text::{split_first, split_last};
use crate::collapse::kit::threads::Thread;
use crate::collapse::kit::values::Values;
use crate::collapse::{
    Certainty, CollapseOptions, Collapser, ContextInfo, FormatInfo, Reading, Report, Sink, Tested,
};
use crate::error::Result;
use crate::folded::{Columns, FrameId, parse_line};
use crate::input::Input;
use crate::number;

const INFO: FormatInfo = FormatInfo {
    name: "tracing-flame",
    producer: "tracing-flame of Rust: tracing.folded",
    tested: Tested::Seen("tracing-flame 0.2"),
    values: "time",
    unit: "ns",
};

/// Stands between two spans.
const SEPARATOR: &[u8] = b"; ";

/// Collapses tracing-flame's spans.
pub struct TracingFlame;

impl Collapser for TracingFlame {
    fn info(&self) -> &'static FormatInfo {
        &INFO
    }

    fn contexts(&self) -> ContextInfo {
        ContextInfo { labels: "thread, tid", ..ContextInfo::NONE }
    }

    fn detect(&self, head: &[u8]) -> Certainty {
        let mut lines = head_lines(head).peekable();
        let line = lines.peek().and_then(|line| parse_line(line, Columns::One));
        // A program that ends without flushing its writer leaves part of a line.
        let found = line.is_some_and(|line| thread(first(line.stack)).is_some())
            && lines.all(|line| {
                [THREAD, ALL].iter().any(|root| line.starts_with(root) || root.starts_with(line))
            });
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
            options: reading,
            values: Values::single(reading, "time", "ns"),
            names: FrameNames::default(),
            stack: Vec::new(),
        };
        driver::run_lines(input, reading.threads, new, sink, report)
    }
}

struct Lines<'o> {
    options: &'o CollapseOptions,
    values: Values,
    names: FrameNames,
    stack: Vec<FrameId>,
}

impl LineParser for Lines<'_> {
    fn line(&mut self, line: &[u8], sink: &mut dyn Sink) -> Result<bool> {
        let Some(line) = parse_line(line, Columns::One) else { return Ok(false) };
        let (weight, mut rest) = (line.weights.value, line.stack);
        let Some(thread) = thread(first(rest)) else { return Ok(false) };
        self.stack.clear();
        if self.options.shows_threads(true) {
            self.stack.push(self.names.build(sink, |out| thread.write(self.options, out)));
        }
        while let Some((_, spans)) = split_first(rest, SEPARATOR) {
            let (name, file, line) = split_place(first(spans));
            self.stack.push(self.names.declared(name, file, line, sink));
            rest = spans;
        }
        if self.stack.is_empty() {
            self.stack.push(sink.frame(NO_STACK));
        }
        Budget::default().check(self.stack.len())?;
        self.values.add_at(0, &self.stack, weight, 1, &thread.context(None), sink)?;
        Ok(true)
    }

    fn finish(self, report: &mut Report) -> Result<()> {
        self.values.finish(report)
    }
}

/// The first part of a stack, or of the rest of one.
fn first(stack: &[u8]) -> &[u8] {
    split_first(stack, SEPARATOR).map_or(stack, |(first, _)| first)
}

/// The beginning of a thread.
const THREAD: &[u8] = b"ThreadId(";

/// The root of a layer that does not tell threads apart.
const ALL: &[u8] = b"all-threads";

/// Reads `ThreadId(2)-worker`; a thread without a name is called by its number.
fn thread(root: &[u8]) -> Option<Thread<'_>> {
    if root == ALL {
        return Some(Thread { name: root, ..Thread::default() });
    }
    let (tid, rest) = split_first(root.strip_prefix(THREAD)?, b")")?;
    let is_number = !tid.is_empty() && tid.iter().all(u8::is_ascii_digit);
    let name = match rest {
        b"" => root,
        rest => rest.strip_prefix(b"-")?,
    };
    is_number.then_some(Thread { name, pid: b"", tid })
}

/// Splits `app::parse:src/main.rs:8` into name, file and line, if it has them.
fn split_place(span: &[u8]) -> (&[u8], &[u8], Option<u64>) {
    let place = || {
        let (before, line) = split_last(span, b":")?;
        let line = number::parse(line)?;
        let (mut name, mut file) = split_last(before, b":")?;
        // `app::parse:C:\src\main.rs`.
        if let Some((before, [drive])) = split_last(name, b":")
            && drive.is_ascii_alphabetic()
            && matches!(file.first(), Some(b'\\' | b'/'))
        {
            (name, file) = (before, &span[before.len() + 1..before.len() + 3 + file.len()]);
        }
        // `app::retry:3` is a name.
        (!file.is_empty() && !name.is_empty() && !name.ends_with(b":")).then_some((name, file, Some(line)))
    };
    place().unwrap_or((span, b"", None))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::collapse::tests::{collapse_bytes, fold};

    const TEXT: &str = "ThreadId(2)-a b; app::f:src/a.rs:8; app::g; h:src/b.rs:9 30\n\
                        ThreadId(2)-a b 12\nThreadId(3); app::f:src/a.rs:8 5\nThreadId(4)-a b 1\n";

    #[test]
    fn spans_are_behind_their_thread() {
        assert_eq!(TracingFlame.detect(TEXT.as_bytes()), Certainty::Yes);
        let folded =
            "ThreadId(3);app::f (src/a.rs:8) 5\na b 13\na b;app::f (src/a.rs:8);app::g;h (src/b.rs:9) 30\n";
        assert_eq!(fold(&TracingFlame, TEXT, &CollapseOptions::default()), folded);
        let tid = CollapseOptions { tid: true, ..CollapseOptions::default() };
        assert!(fold(&TracingFlame, TEXT, &tid).contains("a b-?/2 12\n"));
        let none = CollapseOptions { threads_as_frames: Some(false), ..CollapseOptions::default() };
        assert_eq!(
            fold(&TracingFlame, TEXT, &none),
            "[no stack] 13\napp::f (src/a.rs:8) 5\napp::f (src/a.rs:8);app::g;h (src/b.rs:9) 30\n"
        );
    }

    #[test]
    fn a_text_without_its_end_is_one_too() {
        let text = &TEXT[..TEXT.len() - 14];
        assert_eq!(TracingFlame.detect(text.as_bytes()), Certainty::Yes);
        let (folded, report) = collapse_bytes(&TracingFlame, text, &CollapseOptions::default()).unwrap();
        assert!(folded.contains("a b 12\n") && report.not_understood.count == 1);
        for other in
            ["", "ThreadId(2)-a", "ThreadId(x) 3\n", "all-threads;a 3\n", "all-threads 3\nmain;a 4\n"]
        {
            assert_eq!(TracingFlame.detect(other.as_bytes()), Certainty::No, "{other}");
        }
    }

    #[test]
    fn places_are_told_from_names() {
        let split = |span: &'static str| {
            let (name, file, line) = split_place(span.as_bytes());
            (String::from_utf8_lossy(name), String::from_utf8_lossy(file), line.unwrap_or(0))
        };
        assert_eq!(split("a::f:src/a.rs:8"), ("a::f".into(), "src/a.rs".into(), 8));
        assert_eq!(split(r"a::f:C:\x\a.rs:8"), ("a::f".into(), r"C:\x\a.rs".into(), 8));
        assert_eq!(split(r"f:src\a.rs:8"), ("f".into(), r"src\a.rs".into(), 8));
        for name in ["a::f", "f", "a::retry:3", "retry:3", "a::db: query", "", ":", "::1", "a:1:", ":a:1"] {
            assert_eq!(split(name), (name.into(), "".into(), 0), "{name}");
        }
    }
}
