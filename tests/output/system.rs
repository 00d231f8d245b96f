//! System calls.

#![allow(unsafe_code)]

use std::os::fd::{AsFd, AsRawFd};

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
