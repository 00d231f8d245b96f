//! Captures of sysprof, `.syscap`, as `sysprof-cli`, GNOME Builder and sysprof itself write them (seen: 3.46).
//!
//! ```text
//! 5e 97 ca fd 01 <1: little-endian> …256 bytes: when it was made…     then frames of
//! <length> <processor> <process> <time> <type> …                      samples, mappings, names of processes, …
//! ```
//! Samples and allocations (`--memprof`) have stacks of addresses, leaf first; a mark of the kernel's, as in perf, stands
//! before the addresses of each of its sides. The names are in a file within the capture, `__symbols__`, unless it was made
//! with `--no-decode`; then they are taken from the files that were mapped, where these are still here. Specified in
//! `sysprof-capture-types.h`; the table of names by `sysprof-symbol-map.c`.

mod frames;
mod recording;
mod symbols;

use self::frames::{Frames, is_capture};
use self::recording::Recording;
use crate::collapse::{Certainty, Collapser, ContextInfo, FormatInfo, Reading, Report, Sink, Tested};
use crate::error::{Error, Result};
use crate::input::Input;

const INFO: FormatInfo = FormatInfo {
    name: "sysprof",
    producer: "sysprof, sysprof-cli, GNOME Builder: .syscap",
    tested: Tested::Seen("sysprof 3.46"),
    values: "samples, allocated, unreleased, whichever there are",
    unit: "samples, bytes, bytes",
};

/// Collapses captures of sysprof.
pub struct Sysprof;

impl Collapser for Sysprof {
    fn info(&self) -> &'static FormatInfo {
        &INFO
    }

    fn contexts(&self) -> ContextInfo {
        ContextInfo {
            times: "samples, allocations",
            clock: Some("monotonic"),
            labels: "thread, tid, process",
        }
    }

    fn detect(&self, head: &[u8]) -> Certainty {
        Certainty::of_magic(is_capture(head))
    }

    fn collapse(
        &self,
        input: Input,
        reading: &Reading<'_>,
        sink: &mut dyn Sink,
        report: &mut Report,
    ) -> Result<()> {
        let mut frames = Frames::new(input)?;
        let mut recording = Recording::new(&frames.header, reading, sink);
        while let Some((frame, place)) = frames.next()? {
            let read = recording.frame(&frame)?;
            read.ok_or_else(|| Error::malformed("a frame of a capture", b"other bytes").at(place))?;
        }
        if let Some(byte) = frames.cut {
            report.doubt(format!("the capture is cut off at byte {byte}; it is read as far as it goes"));
        }
        recording.finish(reading, sink, report)
    }
}

#[cfg(test)]
mod tests;
