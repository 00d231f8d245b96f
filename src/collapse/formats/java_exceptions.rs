//! Java's exceptions in logs: where exceptions are thrown, and how often.
//!
//! ```text
//! 12:00:01 ERROR order 17 failed
//! shop.OrderException: no such order
//!     at shop.Orders.load(Orders.java:40)
//!     at shop.Main.main(Main.java:7)
//! Caused by: java.io.IOException: disk full
//!     at shop.Disk.read(Disk.java:9)
//!     at shop.Orders.load(Orders.java:38)
//!     ... 1 more
//! ```
//! Each trace is a sample, causes too; the class of the exception is its leaf. `... 1 more` are the
//! last frames of the trace above. The text is that of `Throwable.printStackTrace`, which its
//! documentation shows.

use crate::collapse::kit::forest::Budget;
use crate::collapse::kit::java_frame::java_frame;
use crate::collapse::kit::names::FrameNames;
use crate::collapse::kit::text::Text;
use crate::collapse::kit::values::Values;
use crate::collapse::{Certainty, Collapser, FormatInfo, Reading, Report, Sink, Tested};
use crate::error::Result;
use crate::folded::FrameId;
use crate::input::{Input, lines};
use crate::number;
use crate::weight::Weight;

const INFO: FormatInfo = FormatInfo {
    name: "java-exceptions",
    producer: "Throwable.printStackTrace, in logs of any kind",
    tested: Tested::Seen("OpenJDK 17"),
    values: "exceptions",
    unit: "exceptions",
};

/// The endings of the names of exceptions. A word that is no more than one of them is prose: `Error: a.B`.
const ENDINGS: [&[u8]; 3] = [b"Exception", b"Error", b"Throwable"];

/// Collapses the exceptions of a log.
pub struct JavaExceptions;

impl Collapser for JavaExceptions {
    fn info(&self) -> &'static FormatInfo {
        &INFO
    }

    fn detect(&self, head: &[u8]) -> Certainty {
        let lines = lines(head);
        let mut before = &b""[..];
        for line in lines {
            if is_frame(line) && class(before).is_some() {
                return Certainty::Maybe;
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
        let mut lines = Text::new(input);
        let mut names = FrameNames::default();
        let mut values = Values::single(reading, "exceptions", "exceptions");
        // The last line that was no frame names the exception; both stacks are leaf first.
        let mut class_line: Vec<u8> = Vec::new();
        let mut frames: Vec<FrameId> = Vec::new();
        let mut above: Vec<FrameId> = Vec::new();
        let mut budget = Budget::default();
        loop {
            let line = lines.next_line()?;
            if let Some(line) = line {
                if is_frame(line) {
                    let text = &line.trim_ascii_start()[b"at ".len()..];
                    frames.push(java_frame(text, reading, &mut names, sink));
                    continue;
                }
                if let Some(more) = more(line) {
                    // Said once in a trace, and above a cause there is a trace.
                    let from = above.len().saturating_sub(more);
                    frames.extend(above.drain(..).skip(from));
                    let fits = budget.check(frames.len()).and_then(|()| budget.spend(frames.len()));
                    fits.map_err(|e| e.at(lines.place()))?;
                    continue;
                }
            }
            if !frames.is_empty() {
                let class = class(&class_line).unwrap_or(b"(exception)");
                let mut stack: Vec<FrameId> = frames.iter().rev().copied().collect();
                stack.push(names.plain(class, sink));
                values.add(0, &stack, Weight::ONE, sink)?;
                above = std::mem::take(&mut frames);
            }
            match line {
                Some(line) => {
                    class_line.clear();
                    class_line.extend_from_slice(line);
                }
                None => break,
            }
        }
        lines.end(report);
        values.finish(report)
    }
}

/// `    at shop.Main.main(Main.java:7)`: a dotted name and a place; JavaScript's have a blank between.
fn is_frame(line: &[u8]) -> bool {
    let text = line.trim_ascii();
    let Some(rest) = text.strip_prefix(b"at ") else { return false };
    let Some(open) = memchr::memchr(b'(', rest) else { return false };
    line.len() > text.len()
        && rest.ends_with(b")")
        && rest[..open].contains(&b'.')
        && !rest[..open].contains(&b' ')
}

/// `... 3 more`, `... 3 common frames omitted`
fn more(line: &[u8]) -> Option<usize> {
    let rest = line.trim_ascii().strip_prefix(b"... ")?;
    let (number, what) = rest.split_at(memchr::memchr(b' ', rest)?);
    let known = what == b" more" || what.starts_with(b" common frames omitted");
    known.then(|| number::parse(number))?
}

/// The exception's class: of `Exception in thread "main" a.B: text`, `Caused by: a.B: text`, and
/// `12:00 ERROR a.B: text` the dotted word before the text. One outside of packages is known by its ending.
fn class(line: &[u8]) -> Option<&[u8]> {
    let is_named_one = |word: &[u8]| ENDINGS.iter().any(|end| word.len() > end.len() && word.ends_with(end));
    let is_class = |word: &&[u8]| {
        let last = word.rsplit(|&b| b == b'.').next().unwrap_or_default();
        last.first().is_some_and(u8::is_ascii_uppercase)
            && word.iter().all(|b| b.is_ascii_alphanumeric() || b"._$".contains(b))
            && (word.contains(&b'.') || is_named_one(word))
    };
    let words = line.split(|&b| b == b' ' || b == b'\t');
    words.map(|word| word.strip_suffix(b":").unwrap_or(word)).find(is_class)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::collapse::CollapseOptions;
    use crate::collapse::tests::{collapse_bytes, fold};

    #[test]
    fn frames_of_the_trace_above_are_counted_once() {
        let text = "a.B: x\n\tat m.f(F:1)\n\tat m.g(F:2)\nCaused by: a.C\n\tat m.h(F:3)\n\t... 1 more\n\t... 1 more\n";
        assert_eq!(
            fold(&JavaExceptions, text, &CollapseOptions::default()),
            "m.g;m.f;a.B 1\nm.g;m.h;a.C 1\n"
        );
    }

    #[test]
    fn classes_outside_of_packages_are_known_by_their_ending() {
        let trace = |first: &str| {
            fold(&JavaExceptions, format!("{first}\n\tat m.f(F:1)\n"), &CollapseOptions::default())
        };
        assert_eq!(trace("Shop$OrderException: see a.Other"), "m.f;Shop$OrderException 1\n");
        assert_eq!(trace("Error: a.B"), "m.f;a.B 1\n");
    }

    #[test]
    fn stacks_that_grow_with_every_line_end_somewhere() {
        let causes = "Caused by: a.C\n\tat m.h(F:3)\n\t... 999999 more\n".repeat(6_000);
        let text = format!("a.B: x\n\tat m.f(F:1)\n{causes}");
        let error =
            collapse_bytes(&JavaExceptions, text, &CollapseOptions::default()).unwrap_err().to_string();
        assert!(error.starts_with("test:") && error.contains("frames in all stacks"), "{error}");
    }
}
