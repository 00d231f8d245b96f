//! Waits until descriptors can be read.

use std::io;

use super::check;

/// Waits until one of some descriptors can be read, for `timeout` milliseconds at most, -1 for
/// ever. A signal ends it early.
///
/// # Errors
/// The error of the system.
pub fn wait_readable(fds: &mut Vec<libc::pollfd>, timeout: i32) -> io::Result<()> {
    // SAFETY: the pointer and the length are those of a live vector.
    let result = unsafe { libc::poll(fds.as_mut_ptr(), fds.len() as libc::nfds_t, timeout) };
    match check(result) {
        Err(e) if e.kind() != io::ErrorKind::Interrupted => Err(e),
        _ => Ok(()),
    }
}
