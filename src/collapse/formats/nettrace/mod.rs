//! Traces of .NET, `.nettrace` of version 4 and 5, as `dotnet-trace` and the runtime itself write them (seen: .NET Core 3.1;
//! .NET Core 3.0 to .NET 10 write version 4), and of version 6, as `dotnet-trace collect-linux` and `record-trace` write them
//! with one_collect (seen: 0.1).
//!
//! ```text
//! Nettrace 0x14 !FastSerialization.1               then objects: Trace, and blocks of
//! MetadataBlock StackBlock EventBlock SPBlock …     types of events, stacks, events, and points of order
//! ```
//! Four kinds of events have stacks here: samples of threads that ran managed code, those of threads that were in native
//! code, where they may have waited, allocations, and exceptions. Addresses have names by the events in which the runtime
//! tells of its methods, most of them at the end of a trace (the rundown). Specified in
//! `src/TraceEvent/EventPipe/NetTraceFormat_v5.md` of microsoft/perfview; payloads in `ClrEtwAll.man` of dotnet/runtime.
//! Version 6 (`NetTraceFormat.md`) has threads of several processes. Its own events (`UniversalProviders.md`) have a value
//! each, such as `cpu` and `cswitch`, which are values here by their names, and tell of processes, mappings and symbols.

mod blocks;
mod events;
mod places;
mod recording;

use self::blocks::{MAGIC, Object, Objects};
use self::recording::Recording;
use crate::collapse::{Certainty, Collapser, ContextInfo, FormatInfo, Reading, Report, Sink, Tested};
use crate::error::{Error, Result};
use crate::input::Input;

const INFO: FormatInfo = FormatInfo {
    name: "nettrace",
    producer: "dotnet-trace collect and collect-linux, .NET's EventPipe, one_collect: .nettrace of version 4 to 6",
    tested: Tested::Seen(".NET Core 3.1, one_collect 0.1.35021, and the format's description"),
    values: "cpu, cswitch and others by their names in version 6; managed, unmanaged, allocated, exceptions, whichever there are",
    unit: "samples, ns, events; samples, samples, bytes, exceptions",
};

/// Collapses traces of .NET.
pub struct Nettrace;

impl Collapser for Nettrace {
    fn info(&self) -> &'static FormatInfo {
        &INFO
    }

    fn contexts(&self) -> ContextInfo {
        ContextInfo { times: "samples", clock: Some("recording"), labels: "thread, tid, process" }
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
        let mut objects = Objects::new(input)?;
        let mut recording = Recording::new(objects.layout, reading, sink);
        while let Some((object, place)) = objects.next()? {
            let read = match object {
                Object::Trace(bytes) => recording.trace(bytes),
                Object::Metadata(bytes) => recording.metadata(bytes),
                Object::Stacks(bytes) => recording.stacks(bytes),
                Object::Events(bytes) => recording.events(bytes)?,
                Object::SequencePoint(bytes) => recording.sequence_point(bytes),
                Object::Threads(bytes) => recording.threads(bytes),
                Object::Other => Some(()),
            };
            read.ok_or_else(|| Error::malformed("a block of a trace of .NET", b"other bytes").at(place))?;
        }
        if let Some(byte) = objects.cut {
            report.doubt(format!("the trace is cut off at byte {byte}; it is read as far as it goes"));
        }
        recording.finish(reading, sink, report)
    }
}

#[cfg(test)]
mod tests;
