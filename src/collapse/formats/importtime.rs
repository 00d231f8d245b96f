//! The standard error of `python3 -X importtime`: how long each import took.
//!
//! ```text
//! import time: self [us] | cumulative | imported package
//! import time:       210 |        210 |     json.scanner
//! import time:       329 |        539 |   json.decoder
//! import time:       180 |        719 | json
//! ```
//! A module comes behind those that it imports, which are two blanks further in. `self` is in microseconds, rounded up.
//! Since 3.15, `-X importtime=2` tells of modules that were there already, as `cached`. Made in CPython's `Python/import.c`.

use crate::collapse::kit::forest::Budget;
use crate::collapse::kit::text::Text;
use crate::collapse::kit::values::Values;
use crate::collapse::{Certainty, Collapser, FormatInfo, Reading, Report, Sink, Tested};
use crate::error::{Error, Result};
use crate::folded::{FrameId, sanitize_frame};
use crate::input::{Input, lines};
use crate::weight::Weight;

const INFO: FormatInfo = FormatInfo {
    name: "importtime",
    producer: "python3 -X importtime",
    tested: Tested::Seen("Python 3.7, 3.11, 3.13"),
    values: "import",
    unit: "us",
};

/// The most modules that are imported below one; the largest programs have some ten thousand.
const MOST: usize = 1 << 20;

/// Collapses the times of Python's imports.
pub struct ImportTime;

impl Collapser for ImportTime {
    fn info(&self) -> &'static FormatInfo {
        &INFO
    }

    fn detect(&self, head: &[u8]) -> Certainty {
        // Other lines of the program's may come first.
        let is_one = lines(head).take(1000).any(|line| Line::parse(line.trim_ascii_end()).is_some());
        if is_one { Certainty::Yes } else { Certainty::No }
    }

    fn collapse(
        &self,
        input: Input,
        reading: &Reading<'_>,
        sink: &mut dyn Sink,
        report: &mut Report,
    ) -> Result<()> {
        let mut imports = Imports {
            values: Values::single(reading, "import", "us"),
            done: Vec::new(),
            budget: Budget::default(),
        };
        let mut text = Text::new(input);
        text.for_each(report, |line| imports.line(line, sink))?;
        if !imports.done.is_empty() {
            text.end_within_record(report);
        }
        imports.end_module(sink)?;
        imports.values.finish(report)
    }
}

/// A line of the format.
enum Line<'a> {
    Heading,
    /// A module that was there already.
    Cached,
    Import {
        own: Weight,
        depth: usize,
        name: &'a [u8],
    },
}

impl<'a> Line<'a> {
    fn parse(line: &'a [u8]) -> Option<Self> {
        let mut columns = line.strip_prefix(b"import time:")?.splitn(3, |&b| b == b'|');
        let (own, whole, module) =
            (columns.next()?.trim_ascii(), columns.next()?.trim_ascii(), columns.next()?);
        let module = module.strip_prefix(b" ")?;
        let name = module.trim_ascii_start();
        match (own, whole) {
            _ if name.is_empty() => None,
            (b"self [us]", b"cumulative") => Some(Line::Heading),
            (b"cached", b"cached") => Some(Line::Cached),
            (own, whole) => {
                let number =
                    |text: &[u8]| text.iter().all(u8::is_ascii_digit).then(|| Weight::parse(text)).flatten();
                number(whole)?;
                Some(Line::Import { own: number(own)?, depth: (module.len() - name.len()) / 2, name })
            }
        }
    }
}

struct Imports {
    values: Values,
    /// Modules whose importer has not come yet: how far in, the frame, its own time.
    done: Vec<(usize, FrameId, Weight)>,
    budget: Budget,
}

impl Imports {
    /// Reads a line; `false` if it is not one of the format's.
    fn line(&mut self, line: &[u8], sink: &mut dyn Sink) -> Result<bool> {
        match Line::parse(line) {
            _ if line.is_empty() => {}
            None => return Ok(false),
            Some(Line::Heading | Line::Cached) => {}
            Some(Line::Import { own, depth, name }) => {
                self.budget.check(depth)?;
                let mut frame = Vec::new();
                sanitize_frame(name, &mut frame);
                self.done.push((depth, sink.frame(&frame), own));
                if depth == 0 {
                    self.end_module(sink)?;
                } else if self.done.len() > MOST {
                    return Err(Error::malformed(format!("at most {MOST} imports below one"), b"more"));
                }
            }
        }
        Ok(true)
    }

    /// Adds the modules that have come, from the last, which imports those before it.
    fn end_module(&mut self, sink: &mut dyn Sink) -> Result<()> {
        let mut stack = Vec::new();
        for (depth, frame, own) in std::mem::take(&mut self.done).into_iter().rev() {
            stack.truncate(depth);
            stack.push(frame);
            self.budget.spend(stack.len())?;
            self.values.add(0, &stack, own, sink)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::collapse::CollapseOptions;
    use crate::collapse::tests::{collapse_bytes, fold};

    const TEXT: &str = "import time: self [us] | cumulative | imported package\n\
        import time:         1 |          1 |       a\n\
        import time:         2 |          2 |     b\n\
        import time:         4 |          6 |   c d\n\
        import time: cached    | cached    |   known\n\
        import time:         8 |          8 |   e;f\n\
        import time:        16 |         31 | main\n\
        import time:        32 |         32 | site\n";

    #[test]
    fn modules_lie_below_those_that_import_them() {
        assert_eq!(ImportTime.detect(format!("warning: x\n{TEXT}").as_bytes()), Certainty::Yes);
        let expected = "main 16\nmain;c d 4\nmain;c d;b 2\nmain;c d;b;a 1\nmain;e:f 8\nsite 32\n";
        assert_eq!(fold(&ImportTime, TEXT, &CollapseOptions::default()), expected);
        let (_, report) =
            collapse_bytes(&ImportTime, format!("{TEXT}said\n"), &CollapseOptions::default()).unwrap();
        assert_eq!(report.not_understood.count, 1);
    }

    #[test]
    fn what_is_cut_is_kept_and_said() {
        let cut = TEXT.split_inclusive('\n').take(4).collect::<String>();
        let (_, report) = collapse_bytes(&ImportTime, cut, &CollapseOptions::default()).unwrap();
        assert!(report.not_understood.ends_within_record.is_some());
        for line in [
            "import time: 1 | 2 |",
            "import time: -1 | 2 | a",
            "import time: 1 | x | a",
            "import time 1 | 2 | a",
        ] {
            assert_eq!(ImportTime.detect(line.as_bytes()), Certainty::No, "{line}");
        }
    }
}
