//! `--alloc`: the options of recording allocations, and what the program needs for it.

use clap::{Args, ValueEnum};

use super::RecordArgs;
use crate::collapse::ValueSelection;
#[cfg(target_os = "linux")]
use crate::error::Error;
#[cfg(target_os = "linux")]
use crate::record::alloc::Library;
use crate::record::request::{AllocationRate, Request};
#[cfg(target_os = "linux")]
use crate::record::request::{CallGraph, Target};

/// Recording allocations.
#[derive(Args, Debug, Default)]
#[command(next_help_heading = "Sampling")]
pub struct AllocArgs {
    /// Record where COMMAND allocates memory, instead of where it computes: bytes, count, live (bytes
    /// still held at the end), live-count, or all [default: bytes]
    #[arg(
        long, value_name = "VALUE", num_args = 0..=1, require_equals = true, default_missing_value = "bytes",
        hide_possible_values = true,
        conflicts_with_all = ["event", "freq", "off_cpu", "wall", "min", "with", "print_command"],
        long_help = "\
Record where COMMAND allocates memory, instead of where it computes. A library that is a part of fg-record is \
loaded into COMMAND and the programs it starts (by LD_PRELOAD; nothing is rebuilt), and samples calls of malloc, \
calloc, realloc and their like. Sizes and counts are estimates of all allocations, right on average: a sample is taken \
once in 512 KiB of each thread, and less often where a process, after its first 2048 samples, has more than 100 a \
second. --interval BYTES samples once in BYTES, whatever that costs, and --interval 1 records every allocation.

bytes        bytes allocated (alloc_space), the default
count        allocations (alloc_objects)
live         bytes that were not released when their process or the recording ended (inuse_space)
live-count   allocations that were not released (inuse_objects)
all          each of these under a root frame of its name

With --raw all of them are recorded, and fg-collapse --value NAME chooses one. Not seen: programs that are linked \
statically, memory from mmap itself, and allocators that do not go through malloc, such as those of Go, Java and \
node. For Python's small objects set PYTHONMALLOC=malloc. For Linux on x86-64."
    )]
    pub alloc: Option<AllocValue>,
}

/// A value of recorded allocations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum AllocValue {
    /// Bytes allocated.
    Bytes,
    /// Allocations.
    Count,
    /// Bytes in use at the end.
    Live,
    /// Allocations in use at the end.
    LiveCount,
    /// All, each under a root frame of its name.
    All,
}

impl AllocArgs {
    /// The rate at which allocations are sampled, if they are recorded; `count` is the number of `--interval`.
    pub(super) fn rate(&self, count: Option<u64>) -> Option<AllocationRate> {
        self.alloc.map(|_| count.map_or_else(AllocationRate::default, AllocationRate::once_in))
    }

    /// The values to keep, if allocations are recorded.
    pub(super) fn values(&self) -> Option<ValueSelection> {
        let name = match self.alloc? {
            AllocValue::Bytes => "alloc_space",
            AllocValue::Count => "alloc_objects",
            AllocValue::Live => "inuse_space",
            AllocValue::LiveCount => "inuse_objects",
            AllocValue::All => return Some(ValueSelection::All),
        };
        Some(ValueSelection::Named(vec![name.into()]))
    }
}

#[cfg(target_os = "linux")]
impl RecordArgs {
    /// Makes the program of the request load the library of `--alloc`, which lives as long as what this
    /// returns.
    ///
    /// # Errors
    /// A target or an option that does not go with allocations, and a folder that cannot be written to.
    pub(super) fn prepare_allocations(&self, request: &mut Request) -> anyhow::Result<Option<Library>> {
        let Some(rate) = request.allocations else { return Ok(None) };
        if !Library::is_built() {
            anyhow::bail!("--alloc is for x86-64, and not part of this fg-record");
        }
        let Target::Command(program) = &mut request.target else {
            anyhow::bail!(
                "--alloc begins with the program, whose allocator it observes: fg-record --alloc COMMAND"
            );
        };
        if !matches!(request.call_graph, CallGraph::Dwarf(_)) {
            anyhow::bail!("--alloc finds stacks from a copy; leave out --call-graph, or name dwarf,BYTES");
        }
        let of_the_end = !matches!(self.sampling.alloc.alloc, Some(AllocValue::Bytes | AllocValue::Count));
        if of_the_end && request.parts.is_some() {
            anyhow::bail!(
                "what is held is known at the end, and not in parts; use --alloc=bytes or --alloc=count"
            );
        }
        let library = Library::new().map_err(|e| Error::io("write the library of --alloc", e))?;
        library.load_into(program, rate);
        Ok(Some(library))
    }
}

#[cfg(not(target_os = "linux"))]
impl RecordArgs {
    /// Refuses allocations, which only the sampler of Linux records.
    ///
    /// # Errors
    /// If allocations are to be recorded.
    pub(super) fn prepare_allocations(&self, _: &mut Request) -> anyhow::Result<Option<()>> {
        match self.sampling.alloc.alloc {
            Some(_) => anyhow::bail!("--alloc needs Linux"),
            None => Ok(None),
        }
    }
}
