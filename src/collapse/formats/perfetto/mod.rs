//! Call stacks and slices in traces of Perfetto, `.pftrace` and `.perfetto-trace` (seen: Chromium 148; stacks by the
//! messages of Perfetto's sources).
//!
//! A protocol buffer, `Trace`, of packets. Three kinds of packets have stacks: samples of the processor by `traced_perf`
//! (`linux.perf`), samples of single threads as Chrome takes them, and heap profiles of heapprofd. Stacks are numbers
//! of a table of their sequence, the packets of one writer, and so are their frames, names and mappings. Names of native
//! code that `traceconv symbolize` has appended are used. Slices that began and ended are in [`slices`]. Specified in
//! `protos/perfetto/trace/trace_packet.proto` and its neighbours.

mod clocks;
mod frames;
mod packet;
mod recording;
mod slices;
mod tables;

use self::packet::{Packet, Packets};
use self::recording::Recording;
use crate::collapse::kit::protobuf::{Content, Fields};
use crate::collapse::{Certainty, Collapser, ContextInfo, FormatInfo, Reading, Report, Sink, Tested};
use crate::error::Result;
use crate::input::Input;

const INFO: FormatInfo = FormatInfo {
    name: "perfetto",
    producer: "Perfetto: linux.perf (traced_perf), Chrome's sampling profiler, heapprofd, slices of track events and atrace; .pftrace, .perfetto-trace",
    tested: Tested::Seen("Chromium 148; stacks and atrace by the messages of Perfetto's sources"),
    values: "samples, the counters of stack samples, unreleased, allocated, peak, allocations, events, tracks, whichever there are",
    unit: "samples, the counter's, bytes, bytes, bytes, objects, us, us",
};

/// Collapses traces of Perfetto.
pub struct Perfetto;

impl Collapser for Perfetto {
    fn info(&self) -> &'static FormatInfo {
        &INFO
    }

    fn contexts(&self) -> ContextInfo {
        ContextInfo {
            times: "samples, events",
            clock: Some("monotonic"),
            labels: "thread, tid, process, category",
        }
    }

    fn detect(&self, head: &[u8]) -> Certainty {
        // Each packet says when or by whom it was written. Other messages begin with field 1 as well, but hold
        // neither of these numbers.
        let mut packets = 0;
        for field in Fields(head).take(8) {
            match field {
                Some((1, Content::Bytes(bytes))) => match Packet::read(bytes) {
                    Some(packet) if packet.is_plain() => packets += 1,
                    _ => return Certainty::No,
                },
                // The head ends within a packet.
                None if packets > 0 => break,
                _ => return Certainty::No,
            }
        }
        if packets > 0 { Certainty::Yes } else { Certainty::No }
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
        while let Some((bytes, place)) = packets.next()? {
            recording.packet(bytes, &place)?;
        }
        if let Some(byte) = packets.cut {
            report.doubt(format!("the trace is cut off at byte {byte}; it is read as far as it goes"));
        }
        recording.finish(reading, sink, report)
    }
}

#[cfg(test)]
mod tests;
