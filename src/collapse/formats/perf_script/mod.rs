//! The text that `perf script` prints (seen: perf 6.1).
//!
//! ```text
//! calc (1)  6344 [001]   799.251439:    2004008 cpu-clock:
//!                  4946 (anonymous namespace)::scramble+0x16 (/home/user/app/cpp/orders)
//!                  7e3f shop::Deep::visit+0x2f (/home/user/app/cpp/orders)
//!
//! ```
//! A sample is an event line, its frames leaf first, and a blank line. Which columns the event
//! line has is up to `-F`; without call graphs the one frame stands on the event line and there
//! are no blank lines; with `-F ip,sym` there is no event line. The source is perf's
//! `builtin-script.c`; there is no other specification. Frames may have blanks for their tab, or
//! nothing; simpleperf's `report_sample.py` (seen: NDK r16 to r27) writes the same text with tabs between
//! other columns.

mod again;
mod attached;
mod event;
mod event_total;
pub(super) mod fields;
mod frame;
mod header;
mod lines;
mod overview;
mod parser;
mod sched;
mod symbols;
#[cfg(test)]
mod tests;
mod words;

pub use sched::PerfSched;

use std::sync::{Mutex, PoisonError};

use self::attached::is_attached;
use self::event::{
    Layout, is_side_band, layout_of_side_band, parse_event, parse_event_or_frame, parse_without_thread,
};
use self::frame::{Frame, are_samples, is_padded, is_telling, without_tab};
use self::header::TextHeader;
use self::overview::Overview;
use self::parser::PerfParser;
use crate::collapse::kit::driver;
use crate::collapse::kit::events::{CommonWeight, check_units};
use crate::collapse::{
    Certainty, Collapser, ContextInfo, FormatInfo, Reading, Report, Sink, Tested, ValueSelection,
};
use crate::error::Result;
use crate::input::{Input, lines};

const INFO: FormatInfo = FormatInfo {
    name: "perf-script",
    producer: "perf script, simpleperf's report_sample.py",
    tested: Tested::Seen("perf 6.1; simpleperf by its source, NDK r16 to r27"),
    values: "the recording's events",
    unit: "ns for clocks, else the event",
};

/// Collapses what `perf script` prints.
pub struct PerfScript;

impl Collapser for PerfScript {
    fn info(&self) -> &'static FormatInfo {
        &INFO
    }

    fn contexts(&self) -> ContextInfo {
        ContextInfo {
            times: "samples",
            clock: Some("perf"),
            labels: "thread, tid, process, processor, the fields of tracepoints",
        }
    }

    fn detect(&self, head: &[u8]) -> Certainty {
        if head.starts_with(b"# ========\n# captured on") || head.starts_with(b"# ========\r\n# captured on")
        {
            return Certainty::Yes;
        }
        let layout = Layout::guess(head);
        let mut before = &b""[..];
        for line in lines(head).take(400) {
            let line = line.strip_suffix(b"\r").unwrap_or(line);
            let frame = line.strip_prefix(b"\t").and_then(Frame::parse);
            // Only below a line with a time or a processor any word of hexadecimal digits is an address.
            let is_below = |layout: Layout| layout.is_telling() && parse_event(before, layout).is_some();
            if !(is_telling(line) || layout.is_some_and(is_below)) {
                before = if line.trim_ascii().is_empty() { b"" } else { line };
                continue;
            }
            if frame.is_some_and(|frame| !frame.address.is_empty()) {
                // A frame below an event line, or below nothing.
                let event = layout.is_some_and(|layout| parse_event(before, layout).is_some());
                return match parse_without_thread(before) {
                    _ if event || before.is_empty() => Certainty::Yes,
                    Some(_) => Certainty::Maybe,
                    None => Certainty::No,
                };
            }
            if without_tab(line).is_some() && layout.is_none_or(|layout| parse_event(line, layout).is_none())
            {
                // Other texts have such lines, too: padded addresses below event lines are perf's alone.
                let event = layout.filter(Layout::has_event).and_then(|layout| parse_event(before, layout));
                if event.is_some() {
                    return Certainty::Yes;
                }
                let has_thread = || layout.is_some_and(|layout| layout.parse(before).is_some());
                let is_first = || before.is_empty() || has_thread() || parse_without_thread(before).is_some();
                if line.starts_with(b" ") && is_padded(line) && is_first() {
                    return Certainty::Maybe;
                }
            }
            before = if line.trim_ascii().is_empty() { b"" } else { line };
        }
        // One-line samples: other texts have numbers too, but not a thread, a time and an event.
        let is_perfs = |layout: Layout| layout.is_telling() || layout.is_of_one_line_samples(head);
        // Of a whole machine there are thousands of notes on mappings before the first sample.
        if layout.is_some_and(is_perfs) || layout_of_side_band(head).is_some() {
            Certainty::Yes
        } else {
            Certainty::No
        }
    }

    fn collapse(
        &self,
        input: Input,
        reading: &Reading<'_>,
        sink: &mut dyn Sink,
        report: &mut Report,
    ) -> Result<()> {
        let layout = Layout::guess(input.head()).or_else(|| layout_of_side_band(input.head()));
        let header = TextHeader::read(input.head());
        let of_first_sample = first_event(input.head(), layout.unwrap_or(Layout::DEFAULT));
        header.measured_events().for_each(|event| report.declare(event));
        // Some headers lack the event that was recorded instead of theirs.
        of_first_sample.iter().for_each(|event| report.declare(event));
        let first = reading
            .first_value
            .clone()
            .or_else(|| header.measured_events().next().map(<[u8]>::to_vec))
            .or(of_first_sample);
        // The head may hold nothing but perf's notes on mappings: then only reading on in order
        // tells which event comes first.
        let threads =
            if first.is_none() && reading.values == ValueSelection::Default { 1 } else { reading.threads };
        let (wants, overview, kept) = (sink.wants(), Mutex::default(), input.kept());
        let are_samples = layout.is_none() && are_samples(input.head());
        let new = || PerfParser::new(reading, wants, layout, are_samples, first.clone(), &overview, &kept);
        let cut = |bytes: &[u8]| match are_samples {
            true => last_frame(bytes),
            false => sample_end(bytes, layout.unwrap_or(Layout::DEFAULT)),
        };
        driver::run(input, threads, &cut, new, sink, report)?;
        let kept = || report.values.iter().filter(|(_, total)| total.kept);
        check_units(kept().map(|(value, _)| value), reading)?;
        let samples = kept().map(|(_, total)| total.samples).sum();
        let mut overview: Overview = overview.into_inner().unwrap_or_else(PoisonError::into_inner);
        let event = match &kept().collect::<Vec<_>>()[..] {
            [(value, _)] => Some(value.name.as_slice()),
            _ => None,
        };
        if report.unit().is_none() {
            overview.period = CommonWeight::Different;
        }
        report.facts = overview.facts(header, event, samples);
        Ok(())
    }
}

/// The end of the last whole sample of some bytes.
fn sample_end(bytes: &[u8], layout: Layout) -> Option<usize> {
    if let Some(blank) = memchr::memmem::rfind(bytes, b"\n\n") {
        return Some(blank + 2);
    }
    // Blanks or a carriage return on the blank lines, one-line samples, or one sample that goes on: a
    // frame belongs to the lines before it.
    let mut end = memchr::memrchr(b'\n', bytes)?;
    loop {
        let start = memchr::memrchr(b'\n', &bytes[..end]).map(|at| at + 1)?;
        let line = &bytes[start..end];
        if line.trim_ascii().is_empty() || is_attached(line) {
            return Some(end + 1);
        }
        if !line.starts_with(b"\t") && parse_event_or_frame(line, layout).is_some() {
            return Some(start);
        }
        end = start.checked_sub(1)?;
    }
}

/// The start of the last line that is a frame.
fn last_frame(bytes: &[u8]) -> Option<usize> {
    let mut end = memchr::memrchr(b'\n', bytes)?;
    loop {
        let start = memchr::memrchr(b'\n', &bytes[..end]).map(|at| at + 1)?;
        if without_tab(&bytes[start..end]).is_some() {
            return Some(start);
        }
        end = start - 1;
    }
}

/// The event of a recording's first sample.
fn first_event(head: &[u8], layout: Layout) -> Option<Vec<u8>> {
    let mut in_header = false;
    for line in lines(head) {
        in_header ^= line.starts_with(b"# ========");
        if in_header || line.starts_with(b"\t") || is_side_band(line) {
            continue;
        }
        if let Some(found) = parse_event_or_frame(line, layout) {
            return Some(found.event.to_vec());
        }
    }
    None
}
