//! The report of wallClockProfiler, which samples a program by gdb (by its source).
//!
//! ```text
//! 313 stack samples taken
//! 3 unique stacks sampled
//!
//! Report:
//!
//! 81.789% ===================================== (256 samples)
//!         1: __read_nocancel   (at ../sysdeps/unix/syscall-template.S:81)
//!         2: main   (at testProf.cpp:41)
//!
//! ```
//! Stacks leaf first, the most frequent first. Newer versions print a summary in front, and `Full stacks` between the two.
//! The source is `wallClockProfiler.cpp` of jasonrohrer/wallClockProfiler.

use crate::collapse::kit::forest::Budget;
use crate::collapse::kit::names::FrameNames;
use crate::collapse::kit::text::{Text, split_digits, split_last};
use crate::collapse::kit::trie::Trie;
use crate::collapse::kit::values::Values;
use crate::collapse::{Certainty, Collapser, FormatInfo, Reading, Report, Sink, Tested, Value, ValueTotal};
use crate::error::Result;
use crate::folded::{FrameId, Place, sanitize_frame};
use crate::input::{Input, lines};
use crate::number;
use crate::weight::Weight;

const INFO: FormatInfo = FormatInfo {
    name: "wall-clock-profiler",
    producer: "wallClockProfiler",
    tested: Tested::ByDescription("wallClockProfiler by its source"),
    values: "samples",
    unit: "samples",
};

/// Collapses wallClockProfiler's reports.
pub struct WallClockProfiler;

impl Collapser for WallClockProfiler {
    fn info(&self) -> &'static FormatInfo {
        &INFO
    }

    fn detect(&self, head: &[u8]) -> Certainty {
        let mut lines = lines(head);
        let is_of_it = lines.any(|line| samples(line).is_some()) && lines.next().and_then(frame).is_some();
        if is_of_it { Certainty::Yes } else { Certainty::No }
    }

    fn collapse(
        &self,
        input: Input,
        reading: &Reading<'_>,
        sink: &mut dyn Sink,
        report: &mut Report,
    ) -> Result<()> {
        let mut stacks = Stacks::default();
        let mut earlier = Trie::default();
        let mut names = FrameNames::default();
        let mut stated: Option<Weight> = None;
        let mut text = Text::new(input);
        text.for_each(report, |line| {
            if line.starts_with(b"Full stacks") {
                // What came before was a summary of the same samples.
                stacks = Stacks::default();
            } else if let Some(count) = samples(line) {
                stacks.end()?;
                stacks.count = count;
            } else if let Some((name, place)) = frame(line) {
                let (file, number) = split_last(place, b":").unwrap_or((place, b""));
                let number = number::parse(number).unwrap_or(0);
                Budget::default().check(stacks.frames.len())?;
                let at = Place { file, line: number, ..Place::default() };
                stacks.frames.push(names.build_at(&at, sink, |out| {
                    sanitize_frame(name, out);
                    if reading.srcline && number > 0 {
                        out.extend_from_slice(b" (");
                        sanitize_frame(place, out);
                        out.push(b')');
                    }
                }));
            } else {
                // What the program and the profiler print besides has no stacks.
                stacks.end()?;
                if let Some(count) = line.strip_suffix(b" stack samples taken").and_then(Weight::parse) {
                    // A report begins, perhaps behind another.
                    stated = Some(stated.unwrap_or(Weight::ZERO).checked_add(count)?);
                    std::mem::take(&mut stacks).put(&mut earlier)?;
                }
            }
            Ok(true)
        })?;
        if !stacks.frames.is_empty() {
            text.end_within_record(report);
        }
        stacks.end()?;
        let mut values = Values::single(reading, "samples", "samples");
        let mut total = ValueTotal::default();
        stacks.put(&mut earlier)?;
        earlier.for_each(
            None,
            |frame| Ok(FrameId(frame)),
            |stack, sampled| {
                total.add(sampled.weight)?;
                let samples = sampled.weight.to_u64().unwrap_or(1);
                values.add_many(0, stack, sampled.weight, samples, sink)
            },
        )?;
        if let Some(stated) = stated {
            report.check_total("the stacks", total.weight, stated);
        }
        report.facts.producer = Some("wallClockProfiler".to_owned());
        values.finish(report)?;
        report.samples_are(&Value::new("samples", "samples"));
        Ok(())
    }
}

/// The stacks so far, and the one that is read.
#[derive(Default)]
struct Stacks {
    paths: Trie,
    /// Leaf first.
    frames: Vec<FrameId>,
    count: Weight,
}

impl Stacks {
    fn end(&mut self) -> Result<()> {
        if self.frames.is_empty() {
            return Ok(());
        }
        let paths = &mut self.paths;
        let path = self.frames.drain(..).rev().fold(Trie::ROOT, |path, frame| paths.below(path, frame.0));
        paths.add_at(path, std::mem::take(&mut self.count), None)
    }

    /// Adds them to those of earlier reports.
    fn put(self, earlier: &mut Trie) -> Result<()> {
        self.paths.for_each(
            None,
            |frame| Ok(FrameId(frame)),
            |stack, sampled| {
                let path = stack.iter().fold(Trie::ROOT, |path, frame| earlier.below(path, frame.0));
                earlier.add_at(path, sampled.weight, None)
            },
        )
    }
}

/// ` 0.319% =====…===== (17 samples)`
fn samples(line: &[u8]) -> Option<Weight> {
    let rest = line.trim_ascii().strip_suffix(b" samples)")?;
    let (rest, count) = split_last(rest, b" (")?;
    let (percent, bar) = split_last(rest, b"% ")?;
    let is_bar = bar.len() > 3 && bar.iter().all(|&b| b == b'=');
    let is_percent = Weight::parse(percent).is_some();
    let is_count = !count.is_empty() && count.iter().all(u8::is_ascii_digit);
    if is_bar && is_percent && is_count { Weight::parse(count) } else { None }
}

/// `  2: main   (at testProf.cpp:41)` as the function and its place.
fn frame(line: &[u8]) -> Option<(&[u8], &[u8])> {
    let (number, rest) = split_digits(line.trim_ascii());
    let (name, place) = split_last(rest.strip_prefix(b": ")?.strip_suffix(b")")?, b"(at ")?;
    let name = name.trim_ascii();
    (!number.is_empty() && !name.is_empty()).then_some((name, place))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::collapse::CollapseOptions;
    use crate::collapse::tests::{collapse_bytes, fold};

    const TEXT: &str = "Sampling 20 times per second\n7 stack samples taken\n2 unique stacks sampled\n\n\n\nReport:\n\n\
        71.429% ===================================== (5 samples)\n        1: read;   (at fileops.c:1079)\n\
        \x20       2: main   (at :-1)\n\n\n28.571% ===================================== (2 samples)\n\
        \x20       1: f(int, (a))   (at x y.cpp:41)\n        2: main   (at :-1)\n\n\n";

    #[test]
    fn stacks_are_leaf_first() {
        assert_eq!(WallClockProfiler.detect(TEXT.as_bytes()), Certainty::Yes);
        assert_eq!(
            fold(&WallClockProfiler, TEXT, &CollapseOptions::default()),
            "main;f(int, (a)) 2\nmain;read: 5\n"
        );
        let lines = CollapseOptions { srcline: true, ..CollapseOptions::default() };
        assert!(fold(&WallClockProfiler, TEXT, &lines).contains("main;f(int, (a)) (x y.cpp:41) 2\n"));
        let (_, report) = collapse_bytes(&WallClockProfiler, TEXT, &CollapseOptions::default()).unwrap();
        assert!(report.facts.warnings.is_empty(), "{:?}", report.facts.warnings);
        for other in [&b"50% === (x samples)\n 1: f (at a:3)\n"[..], b"1: f (at a:3)\n", b""] {
            assert_eq!(WallClockProfiler.detect(other), Certainty::No, "{other:?}");
        }
    }

    #[test]
    fn a_summary_in_front_is_not_counted() {
        let twice =
            TEXT.replace("Report:", "Functions:") + "Full stacks\n\n" + &TEXT[TEXT.find("71.4").unwrap()..];
        assert_eq!(
            fold(&WallClockProfiler, &twice, &CollapseOptions::default()),
            fold(&WallClockProfiler, TEXT, &CollapseOptions::default())
        );
    }

    #[test]
    fn a_report_behind_another_is_added() {
        let once = fold(&WallClockProfiler, TEXT, &CollapseOptions::default());
        let twice = once.replace(" 2\n", " 4\n").replace(" 5\n", " 10\n");
        assert_eq!(fold(&WallClockProfiler, TEXT.repeat(2), &CollapseOptions::default()), twice);
    }

    #[test]
    fn missing_stacks_are_noticed() {
        let cut = &TEXT[..TEXT.find("28.571").unwrap()];
        let (_, report) = collapse_bytes(&WallClockProfiler, cut, &CollapseOptions::default()).unwrap();
        assert_eq!(report.facts.warnings, ["the stacks add up to 5, the file says 7"]);
    }
}
