//! The system calls that the standard library does not have, each behind a safe function.
//!
//! All of the crate's `unsafe` for recording is in this folder. Modules that only Linux can have
//! are marked; the others serve every Unix.

#![allow(unsafe_code)]

#[cfg(target_os = "linux")]
pub mod calendar;
#[cfg(target_os = "linux")]
pub mod clock;
#[cfg(target_os = "linux")]
pub mod hold;
pub mod launch;
pub mod leftovers;
pub mod limits;
#[cfg(target_os = "linux")]
pub mod memory;
#[cfg(target_os = "linux")]
pub mod perf_event;
pub mod processes;
pub mod readable;
pub mod signals;
pub mod wait;
#[cfg(target_os = "linux")]
pub mod wake;

use std::io;

/// Turns a result of -1 into the system's error.
fn check(result: libc::c_int) -> io::Result<libc::c_int> {
    if result == -1 { Err(io::Error::last_os_error()) } else { Ok(result) }
}
