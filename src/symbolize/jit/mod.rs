//! Code that just-in-time compilers made: the two ways they say what they called it.
//!
//! `/tmp/perf-PID.map` ([`PerfMap`]) is text and knows no time; `jit-PID.dump` ([`JitDump`]), in
//! the place where the recording says a file of that name was mapped, has the code, its lines,
//! and when it was put where.

mod jitdump;
mod perf_map;

pub use jitdump::{JitDump, JitSymbol};
pub use perf_map::PerfMap;

use std::io;
use std::path::Path;

use super::content::Content;
use super::opening::read_up_to;
use super::owned::Owners;

/// More than the largest real ones (of day-long servers); what is beyond is not read.
const LARGEST: u64 = 1 << 30;

/// Opens such a file, if it belongs to one of these users, for a copy.
///
/// # Errors
/// Errors of the system; a file of another user.
pub(crate) fn open(path: &Path, owners: &Owners) -> io::Result<Content> {
    let file = owners.open(path)?;
    let length = file.metadata()?.len().min(LARGEST);
    Ok(Content::File(file, length))
}

fn read(path: &Path, owners: &Owners) -> io::Result<Vec<u8>> {
    read_up_to(owners.open(path)?, LARGEST)
}
