//! phpspy's traces, as it prints them.
//!
//! ```text
//! 0 usleep <internal>:-1
//! 1 Shop::run /srv/orders.php:9
//! 2 <main> /srv/orders.php:14
//! # uri = /checkout
//! ```
//! The depth, the function, and the place in it, leaf first; a blank line ends a trace. Lines that begin with `#`
//! tell of the request. Frames are named as phpspy's own `stackcollapse-phpspy.pl` does, by function; `--srcline`
//! adds the place. Described in phpspy's README.

use crate::collapse::kit::forest::Budget;
use crate::collapse::kit::leaf_first::LeafFirst;
use crate::collapse::kit::names::FrameNames;
use crate::collapse::kit::naming::split_srcline;
use crate::collapse::kit::text::{Text, split_digits, split_last};
use crate::collapse::kit::values::Values;
use crate::collapse::{Certainty, Collapser, FormatInfo, Reading, Report, Sink, Tested};
use crate::error::Result;
use crate::folded::{Place, sanitize_frame};
use crate::input::{Input, lines};
use crate::number;
use crate::weight::Weight;

const INFO: FormatInfo = FormatInfo {
    name: "phpspy",
    producer: "phpspy",
    tested: Tested::ByDescription("phpspy by its documentation"),
    values: "samples",
    unit: "samples",
};

/// Collapses phpspy's traces.
pub struct Phpspy;

impl Collapser for Phpspy {
    fn info(&self) -> &'static FormatInfo {
        &INFO
    }

    fn detect(&self, head: &[u8]) -> Certainty {
        let mut lines = lines(head)
            .map(<[u8]>::trim_ascii_end)
            .filter(|line| !line.is_empty() && !line.starts_with(b"#"));
        // The first trace, and where it is deep, its second frame.
        let first = lines.next().and_then(frame).is_some_and(|frame| frame.depth == 0);
        let next = lines.next().is_none_or(|line| frame(line).is_some_and(|frame| frame.depth < 2));
        if first && next { Certainty::Yes } else { Certainty::No }
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
        Text::new(input).for_each(report, |line| {
            if line.starts_with(b"#") {
                return Ok(true);
            }
            let read = frame(line);
            // Traces without a blank line between them begin anew at 0.
            if (line.is_empty() || read.as_ref().is_some_and(|frame| frame.depth == 0)) && !stack.is_empty() {
                values.add(0, stack.take(), Weight::ONE, sink)?;
            }
            let Some(Frame { depth, name, place }) = read else { return Ok(line.is_empty()) };
            Budget::default().check(depth)?;
            let (file, line) = split_srcline(place);
            let at = Place { file, line, ..Place::default() };
            stack.push(names.build_at(&at, sink, |out| {
                sanitize_frame(name, out);
                if reading.srcline && line > 0 {
                    out.extend_from_slice(b" (");
                    sanitize_frame(place, out);
                    out.push(b')');
                }
            }));
            Ok(true)
        })?;
        if !stack.is_empty() {
            values.add(0, stack.take(), Weight::ONE, sink)?;
        }
        values.finish(report)
    }
}

/// A line of a trace.
struct Frame<'l> {
    depth: usize,
    name: &'l [u8],
    place: &'l [u8],
}

/// `1 Shop::run /srv/orders.php:9`; a closure's name holds no blank, the path of a file may.
fn frame(line: &[u8]) -> Option<Frame<'_>> {
    let (depth, rest) = split_digits(line);
    let rest = rest.strip_prefix(b" ")?;
    let blank = memchr::memchr(b' ', rest)?;
    let (name, place) = (&rest[..blank], &rest[blank + 1..]);
    let (_, number) = split_last(place, b":")?;
    let number = number.strip_prefix(b"-").unwrap_or(number);
    let is_place = !number.is_empty() && number.iter().all(u8::is_ascii_digit);
    let depth = number::parse(depth)?;
    (is_place && !name.is_empty()).then_some(Frame { depth, name, place })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::collapse::CollapseOptions;
    use crate::collapse::tests::{collapse_bytes, fold};

    const TEXT: &str = "0 usleep <internal>:-1\n1 Shop::run; /srv/a b.php:9\n# uri = /x\n# - - - - -\n\n\
                        0 <main> /srv/a b.php:14\n0 <main> /srv/a b.php:15\n";

    #[test]
    fn traces_are_leaf_first() {
        assert_eq!(Phpspy.detect(TEXT.as_bytes()), Certainty::Yes);
        assert_eq!(fold(&Phpspy, TEXT, &CollapseOptions::default()), "<main> 2\nShop::run:;usleep 1\n");
        let lines = CollapseOptions { srcline: true, ..CollapseOptions::default() };
        assert!(fold(&Phpspy, TEXT, &lines).contains("Shop::run: (/srv/a b.php:9);usleep 1\n"));
        let (_, report) =
            collapse_bytes(&Phpspy, format!("{TEXT}hello\n"), &CollapseOptions::default()).unwrap();
        assert_eq!(report.not_understood.count, 1);
        for other in [&b"0 1 2\n"[..], b"1 f a:3\n", b"main;f 3\n", b"12 retries: 5\n", b""] {
            assert_eq!(Phpspy.detect(other), Certainty::No, "{other:?}");
        }
    }
}
