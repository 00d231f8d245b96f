//! The report of the Lightweight Java Profiler, `traces.txt` (by FlameGraph's reader of it).
//!
//! ```text
//! 42 3  com.shop.Orders.parse(Orders.java:455)
//!       com.shop.Orders.run(Orders.java:123)
//!       java.lang.Thread.run(Thread.java:744)
//! Total trace count = 42
//! ```
//! The samples and the number of frames of each stack, leaf first. Frames are named without their places, which `--srcline`
//! adds.

use crate::collapse::kit::forest::Budget;
use crate::collapse::kit::leaf_first::LeafFirst;
use crate::collapse::kit::names::FrameNames;
use crate::collapse::kit::naming::split_srcline;
use crate::collapse::kit::text::{Text, split_digits, split_first};
use crate::collapse::kit::values::Values;
use crate::collapse::{Certainty, CollapseOptions, Collapser, FormatInfo, Reading, Report, Sink, Tested};
use crate::error::Result;
use crate::folded::{FrameId, Place, sanitize_frame};
use crate::input::{Input, lines};
use crate::number;
use crate::weight::Weight;

const INFO: FormatInfo = FormatInfo {
    name: "lightweight-java-profiler",
    producer: "Lightweight Java Profiler: traces.txt",
    tested: Tested::ByDescription("documented output"),
    values: "samples",
    unit: "samples",
};

/// Collapses reports of the Lightweight Java Profiler.
pub struct LightweightJavaProfiler;

impl Collapser for LightweightJavaProfiler {
    fn info(&self) -> &'static FormatInfo {
        &INFO
    }

    fn detect(&self, head: &[u8]) -> Certainty {
        let mut lines = lines(head).map(<[u8]>::trim_ascii).filter(|line| !line.is_empty());
        let first = lines.next().and_then(begin);
        let is_next = match (&first, lines.next()) {
            (Some((_, 1, _)), Some(next)) => begin(next).is_some() || is_end(next),
            (Some(_), next) => next.is_some_and(|next| located(next).is_some()),
            (None, _) => false,
        };
        if is_next { Certainty::Yes } else { Certainty::No }
    }

    fn collapse(
        &self,
        input: Input,
        reading: &Reading<'_>,
        sink: &mut dyn Sink,
        report: &mut Report,
    ) -> Result<()> {
        let mut values = Values::single(reading, "samples", "samples");
        let mut names = FrameNames::default();
        let mut stack = LeafFirst::default();
        let (mut count, mut missing) = (Weight::ZERO, 0_u64);
        let mut is_cut = false;
        let mut ended = false;
        let mut text = Text::new(input);
        text.for_each(report, |line| {
            let line = line.trim_ascii();
            let begins = begin(line);
            if line.is_empty() || ended && begins.is_none() {
                return Ok(true);
            }
            if begins.is_some() || is_end(line) {
                is_cut |= missing > 0;
                if !stack.is_empty() {
                    values.add_many(0, stack.take(), count, count.to_u64().unwrap_or(1), sink)?;
                }
            }
            ended = is_end(line);
            let frame = match begins {
                Some((samples, frames, frame)) => {
                    (count, missing) = (samples, frames);
                    frame
                }
                None if ended => return Ok(true),
                None => line,
            };
            if missing == 0 || located(frame).is_none() {
                return Ok(false);
            }
            missing -= 1;
            stack.push(name(frame, reading, &mut names, sink));
            Ok(true)
        })?;
        if !stack.is_empty() {
            values.add_many(0, stack.take(), count, count.to_u64().unwrap_or(1), sink)?;
        }
        if is_cut || missing > 0 {
            report.doubt("a stack has fewer frames than it says");
        } else if !ended {
            report.doubt("there is no total at the end: the report is cut off");
        }
        values.finish(report)
    }
}

fn name(frame: &[u8], options: &CollapseOptions, names: &mut FrameNames, sink: &mut dyn Sink) -> FrameId {
    let (function, place) = located(frame).unwrap_or((frame, b""));
    let (file, line) = split_srcline(place);
    names.build_at(&Place { file, line, ..Place::default() }, sink, |out| {
        sanitize_frame(function, out);
        if options.srcline && line > 0 {
            out.extend_from_slice(b" (");
            sanitize_frame(place, out);
            out.push(b')');
        }
    })
}

/// `42 3  com.shop.Orders.parse(Orders.java:455)` as samples, frames, and the first of them.
fn begin(line: &[u8]) -> Option<(Weight, u64, &[u8])> {
    let (samples, rest) = split_digits(line.trim_ascii());
    let (frames, rest) = split_digits(rest.strip_prefix(b" ")?.trim_ascii_start());
    let frame = rest.strip_prefix(b" ")?.trim_ascii_start();
    located(frame)?;
    let frames = number::parse(frames).filter(|frames| *frames > 0)?;
    Budget::default().check(usize::try_from(frames).ok()?).ok()?;
    Some((Weight::parse(samples)?, frames, frame))
}

/// `com.shop.Orders.run(Orders.java:123)` as function and place; a function has no blanks.
fn located(frame: &[u8]) -> Option<(&[u8], &[u8])> {
    let (function, place) = split_first(frame.strip_suffix(b")")?, b"(")?;
    let is_function = !function.is_empty() && !function.contains(&b' ');
    is_function.then_some((function, place))
}

fn is_end(line: &[u8]) -> bool {
    line.starts_with(b"Total ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::collapse::tests::{collapse_bytes, fold};

    const TEXT: &str = "42 3  a.B.parse(B.java:455)\n      a.B.<init>(B.java)\n      java.lang.Thread.run(Thread.java:744)\n\
                        3 1 main(Native Method)\nTotal trace count = 2\n";

    #[test]
    fn stacks_are_leaf_first() {
        assert_eq!(LightweightJavaProfiler.detect(TEXT.as_bytes()), Certainty::Yes);
        assert_eq!(
            fold(&LightweightJavaProfiler, TEXT, &CollapseOptions::default()),
            "java.lang.Thread.run;a.B.<init>;a.B.parse 42\nmain 3\n"
        );
        let lines = CollapseOptions { srcline: true, ..CollapseOptions::default() };
        assert!(
            fold(&LightweightJavaProfiler, TEXT, &lines).contains("a.B.<init>;a.B.parse (B.java:455) 42\n")
        );
        for other in [&b"42 3 x\n f(a:3)\n"[..], b"42 f(a:3)\n", b"12 retries (5)\n", b"42 3 f(a:3)\n", b""] {
            assert_eq!(LightweightJavaProfiler.detect(other), Certainty::No, "{other:?}");
        }
    }

    #[test]
    fn a_report_behind_another_is_added() {
        assert!(
            fold(&LightweightJavaProfiler, TEXT.repeat(2), &CollapseOptions::default()).ends_with("main 6\n")
        );
    }

    #[test]
    fn what_is_missing_is_said() {
        let total = TEXT.find("Total").unwrap();
        for cut in [&TEXT[..total], &TEXT[..TEXT.find("      java").unwrap()], &TEXT.replace("42 3", "42 4")]
        {
            let (_, report) =
                collapse_bytes(&LightweightJavaProfiler, cut, &CollapseOptions::default()).unwrap();
            assert_eq!(report.facts.warnings.len(), 1, "{cut}");
        }
    }
}
