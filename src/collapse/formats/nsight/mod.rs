//! Exports of NVIDIA's Nsight Systems, `nsys export --type sqlite` (by its documented schema, 2021.5 to 2025).
//!
//! ```text
//! CUPTI_ACTIVITY_KIND_KERNEL  start end correlationId globalPid demangledName …   below the call with the correlation id
//! CUPTI_ACTIVITY_KIND_RUNTIME start end correlationId globalTid nameId …          calls, within the ranges of NVTX_EVENTS
//! COMPOSITE_EVENTS            id start globalTid …                                samples of processors
//! SAMPLING_CALLCHAINS         id symbol module stackDepth …                       their stacks, leaf first
//! StringIds                   id value                                            the names
//! ```
//! The database is read page by page, by [`sqlite`]. Described in "SQLite Schema Reference" of Nsight Systems' user guide.

mod export;
mod sqlite;

use self::export::Export;
use self::sqlite::Database;
use crate::collapse::{Certainty, Collapser, ContextInfo, FormatInfo, Reading, Report, Sink, Tested};
use crate::error::Result;
use crate::input::Input;

const INFO: FormatInfo = FormatInfo {
    name: "nsight",
    producer: "Nsight Systems: nsys export --type sqlite",
    tested: Tested::ByDescription("Nsight Systems by its documented schema, 2021.5 to 2025"),
    values: "gpu, samples, events: calls and NVTX ranges on threads, whichever there are",
    unit: "us, samples, us",
};

/// Collapses exports of Nsight Systems.
pub struct Nsight;

impl Collapser for Nsight {
    fn info(&self) -> &'static FormatInfo {
        &INFO
    }

    fn contexts(&self) -> ContextInfo {
        ContextInfo {
            times: "kernels, calls, samples",
            clock: Some("recording"),
            labels: "thread, tid, process, stream",
        }
    }

    fn detect(&self, head: &[u8]) -> Certainty {
        // The schema stands on the first pages.
        let holds = |text: &[u8]| memchr::memmem::find(head, text).is_some();
        let is_export = head.starts_with(sqlite::MAGIC)
            && holds(b"StringIds")
            && [
                &b"CUPTI_ACTIVITY_KIND_"[..],
                b"NVTX_EVENTS",
                b"COMPOSITE_EVENTS",
                b"OSRT_API",
                b"META_DATA_EXPORT",
            ]
            .iter()
            .any(|table| holds(table));
        Certainty::of_magic(is_export)
    }

    fn collapse(
        &self,
        input: Input,
        reading: &Reading<'_>,
        sink: &mut dyn Sink,
        report: &mut Report,
    ) -> Result<()> {
        let mut database = Database::open(input)?;
        let export = Export::read(&mut database, sink, report)?;
        export.finish(reading, sink, report)
    }
}

#[cfg(test)]
mod tests;
