//! Traces of OCaml's memtrace, `.ctf`: sampled allocations, and which of them were collected (by its source, versions 1 to
//! 3 of the format).
//!
//! ```text
//! c1 1f fc c1 <bits> <begin> <end> … <version> <process> <domain> …   packets: a header, and events
//! <time and kind> <length> <samples> <source> <shared> <codes>        an allocation; stacks are coded by a cache
//! ```
//! Each sample stands for as many words as lie between two of them; an object may have several. Specified in
//! `src/memtrace.tsdl` and `src/trace.ml` of janestreet/memtrace.

mod codec;
mod packets;
mod recording;

use self::packets::{MAGIC, Packets};
use self::recording::Recording;
use crate::collapse::{Certainty, Collapser, ContextInfo, FormatInfo, Reading, Report, Sink, Tested};
use crate::error::{Error, Result};
use crate::input::Input;

const INFO: FormatInfo = FormatInfo {
    name: "memtrace",
    producer: "OCaml's memtrace: .ctf",
    tested: Tested::ByDescription("memtrace's format 1 to 3 by its source"),
    values: "allocated, live",
    unit: "bytes, bytes",
};

/// Collapses traces of memtrace.
pub struct Memtrace;

impl Collapser for Memtrace {
    fn info(&self) -> &'static FormatInfo {
        &INFO
    }

    fn contexts(&self) -> ContextInfo {
        ContextInfo { times: "allocations", clock: Some("recording"), labels: "process, domain, source" }
    }

    fn detect(&self, head: &[u8]) -> Certainty {
        Certainty::of_magic(head.starts_with(MAGIC))
    }

    fn collapse(
        &self,
        input: Input,
        reading: &Reading<'_>,
        sink: &mut dyn Sink,
        report: &mut Report,
    ) -> Result<()> {
        let mut packets = Packets::new(input);
        let mut recording = Recording::new(sink);
        while let Some((packet, place)) = packets.next()? {
            let read = recording.packet(&packet).map_err(|e| e.or_at(|| place.clone()))?;
            read.ok_or_else(|| Error::malformed("a packet of events of memtrace", b"other bytes").at(place))?;
        }
        if let Some(byte) = packets.cut {
            report.doubt(format!("the trace is cut off at byte {byte}; it is read as far as it goes"));
        }
        recording.finish(reading, sink, report)
    }
}

#[cfg(test)]
mod tests;
