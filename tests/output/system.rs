//! System calls.

#![allow(unsafe_code)]

use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::process::CommandExt;
use std::process::Command;

/// Sends a signal to a process that was not yet waited for, or to the group of one.
pub fn signal(process: i32, signal: i32) {
    // SAFETY: takes integers only.
    assert_eq!(unsafe { libc::kill(process, signal) }, 0);
}

/// The number of bytes in a pipe.
pub fn unread(pipe: &impl AsFd) -> usize {
    let mut count: libc::c_int = 0;
    // SAFETY: the pipe is open, and the number lives as long as the call.
    assert_eq!(unsafe { libc::ioctl(pipe.as_fd().as_raw_fd(), libc::FIONREAD, &mut count) }, 0);
    usize::try_from(count).unwrap()
}

/// Limits the address space of a process.
pub fn limit_memory(process: i32, bytes: u64) {
    let limit = libc::rlimit { rlim_cur: bytes, rlim_max: bytes };
    // SAFETY: the limit is a live value, and the old one is not asked for.
    let done = unsafe { libc::prlimit(process, libc::RLIMIT_AS, &limit, std::ptr::null_mut()) };
    assert_eq!(done, 0, "{}", std::io::Error::last_os_error());
}

/// Limits the number of threads and processes of the user of a program. It must not be root's: root has
/// no such limit.
pub fn limit_threads(command: &mut Command, count: u64) {
    let limit = libc::rlimit { rlim_cur: count, rlim_max: count };
    let set = move || {
        // SAFETY: the limit is a live value.
        match unsafe { libc::setrlimit(libc::RLIMIT_NPROC, &limit) } {
            0 => Ok(()),
            _ => Err(std::io::Error::last_os_error()),
        }
    };
    // SAFETY: the call may be made between fork and exec.
    unsafe { command.pre_exec(set) };
}

/// Returns true if we are root.
pub fn is_root() -> bool {
    // SAFETY: takes nothing.
    unsafe { libc::geteuid() == 0 }
}
