//! `Rprof.out`, by R's sampling profiler: a line for each sample.
//!
//! ```text
//! line profiling: GC profiling: sample.interval=20000
//! #File 1: orders.R
//! 1#3 "fib" 1#3 "fib" 1#9 "main" 1#12
//! "<GC>" "paste" "main"
//! ```
//! Functions are leaf first. With line profiling, `1#3` is the place in the function behind it: line 3 of the first
//! file; the last one is the script's. With memory profiling, four numbers between colons come first. A sample weighs the
//! interval, in microseconds. Described in R's help of `Rprof`; made in `src/main/eval.c`.

use std::collections::HashMap;

use crate::collapse::kit::forest::Budget;
use crate::collapse::kit::names::FrameNames;
use crate::collapse::kit::text::Text;
use crate::collapse::kit::values::Values;
use crate::collapse::{
    Certainty, CollapseOptions, Collapser, ContextInfo, FormatInfo, Reading, Report, Sink, Tested,
};
use crate::error::{Error, Result};
use crate::folded::{FrameId, Place, sanitize_frame};
use crate::input::{Input, lines};
use crate::number;
use crate::weight::Weight;

const INFO: FormatInfo = FormatInfo {
    name: "rprof",
    producer: "R's Rprof",
    tested: Tested::Seen("R 4.2"),
    values: "time",
    unit: "us",
};

/// The key of the first line, which its value ends.
const INTERVAL: &[u8] = b"sample.interval=";

/// Collapses R's profiles.
pub struct Rprof;

impl Collapser for Rprof {
    fn info(&self) -> &'static FormatInfo {
        &INFO
    }

    fn contexts(&self) -> ContextInfo {
        ContextInfo { times: "samples", clock: Some("recording"), labels: "" }
    }

    fn detect(&self, head: &[u8]) -> Certainty {
        let first = lines(head).next().unwrap_or_default();
        if interval(first.trim_ascii_end()).is_some() { Certainty::Yes } else { Certainty::No }
    }

    fn collapse(
        &self,
        input: Input,
        reading: &Reading<'_>,
        sink: &mut dyn Sink,
        report: &mut Report,
    ) -> Result<()> {
        let mut profile = Profile {
            values: Values::single(reading, "time", "us"),
            names: FrameNames::default(),
            files: HashMap::new(),
            interval: None,
            at: 0,
            budget: Budget::default(),
        };
        Text::new(input).for_each(report, |line| profile.line(line, reading, sink))?;
        report.facts.period = profile.interval;
        profile.values.finish(report)
    }
}

/// The microseconds between samples, of a first line.
fn interval(line: &[u8]) -> Option<Weight> {
    let at = memchr::memmem::rfind(line, INTERVAL)?;
    let number = Weight::parse(&line[at + INTERVAL.len()..])?;
    (number > Weight::ZERO).then_some(number)
}

struct Profile {
    values: Values,
    names: FrameNames,
    /// The paths of files by number, as it stands there.
    files: HashMap<Vec<u8>, Vec<u8>>,
    interval: Option<Weight>,
    /// The samples that came before.
    at: i128,
    budget: Budget,
}

impl Profile {
    /// Reads a line; `false` if it is not one of the format's.
    fn line(&mut self, line: &[u8], options: &CollapseOptions, sink: &mut dyn Sink) -> Result<bool> {
        if let Some(interval) = interval(line) {
            self.interval = Some(interval);
            return Ok(true);
        }
        let Some(interval) = self.interval else {
            return Err(Error::malformed("a first line that ends in sample.interval=", line));
        };
        if line.is_empty() {
            return Ok(true);
        }
        if let Some(file) = line.strip_prefix(b"#File ") {
            let Some(colon) = memchr::memmem::find(file, b": ") else { return Ok(false) };
            self.files.insert(file[..colon].to_vec(), file[colon + 2..].to_vec());
            return Ok(true);
        }
        let Some(mut stack) = self.stack(without_memory(line), options, sink) else { return Ok(false) };
        self.budget.check(stack.len())?;
        stack.reverse();
        let time =
            crate::collapse::kit::times::nanoseconds(interval.checked_mul(Weight::new(self.at))?, "us");
        self.at += 1;
        let context = crate::collapse::Context { time, ..crate::collapse::Context::UNKNOWN };
        self.values.add_at(0, &stack, interval, 1, &context, sink)?;
        Ok(true)
    }

    /// The frames of a sample, leaf first; `None` if it is not one.
    fn stack(
        &mut self,
        mut rest: &[u8],
        options: &CollapseOptions,
        sink: &mut dyn Sink,
    ) -> Option<Vec<FrameId>> {
        let mut frames = Vec::new();
        let mut place: Option<(&[u8], u32)> = None;
        while !rest.is_empty() {
            if let Some(name) = rest.strip_prefix(b"\"") {
                // Names are not escaped: a quote within one has no blank behind it.
                let end = memchr::memmem::find(name, b"\" ");
                let end = end.or_else(|| name.len().checked_sub(1).filter(|last| name[*last] == b'"'))?;
                frames.push(self.frame(&name[..end], place.take(), options, sink));
                rest = name[end + 1..].trim_ascii_start();
            } else {
                let end = memchr::memchr(b' ', rest).unwrap_or(rest.len());
                let (file, line) = rest[..end].split_at(memchr::memchr(b'#', &rest[..end])?);
                place = Some((file, number::parse(&line[1..])?));
                rest = rest[end..].trim_ascii_start();
            }
        }
        if frames.is_empty() {
            // The script itself, outside of any function.
            frames.push(self.frame(b"<script>", place, options, sink));
        }
        Some(frames)
    }

    fn frame(
        &mut self,
        name: &[u8],
        place: Option<(&[u8], u32)>,
        options: &CollapseOptions,
        sink: &mut dyn Sink,
    ) -> FrameId {
        let (file, line) = place.unwrap_or_default();
        let file = self.files.get(file).map_or(&b""[..], |path| path);
        let place = Place { file, line, ..Place::default() };
        self.names.build_at(&place, sink, |out| {
            sanitize_frame(name, out);
            if options.srcline && !file.is_empty() {
                out.extend_from_slice(b" (");
                sanitize_frame(file, out);
                out.extend_from_slice(format!(":{line})").as_bytes());
            }
        })
    }
}

/// A sample without the numbers of memory profiling, `:1:22:333:0:`.
fn without_memory(line: &[u8]) -> &[u8] {
    let is_memory = line.starts_with(b":");
    let mut colons = memchr::memchr_iter(b':', line);
    match colons.nth(4).filter(|_| is_memory) {
        Some(fifth) => &line[fifth + 1..],
        None => line,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::collapse::tests::{collapse_bytes, fold};

    #[test]
    fn samples_weigh_the_interval() {
        let text = "memory profiling: line profiling: sample.interval=10000\n#File 1: a;b.R\n\
                    :1:2:3:0:1#3 \"f\" 1#9 \"main\" 1#12 \n:1:2:3:0:\"<GC>\" \"say \"x\"\" \"main\" \n1#4\n";
        assert_eq!(Rprof.detect(text.as_bytes()), Certainty::Yes);
        assert_eq!(
            fold(&Rprof, text, &CollapseOptions::default()),
            "<script> 10000\nmain;f 10000\nmain;say \"x\";<GC> 10000\n"
        );
        let lines = CollapseOptions { srcline: true, ..CollapseOptions::default() };
        assert!(fold(&Rprof, text, &lines).contains("main (a:b.R:9);f (a:b.R:3) 10000\n"));
        let (_, report) =
            collapse_bytes(&Rprof, format!("{text}nonsense\n"), &CollapseOptions::default()).unwrap();
        assert_eq!(report.not_understood.count, 1);
        assert_eq!(report.facts.period, Some(Weight::new(10_000)));
        let error = collapse_bytes(&Rprof, "\"f\" \n", &CollapseOptions::default()).unwrap_err().to_string();
        assert!(error.starts_with("test:1: expected a first line"), "{error}");
    }
}
