//! Waits for a child and reads the processor time that it used.

use std::io;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::time::Duration;

use super::check;

/// The state of a child between its end and [`Launched::wait`](super::launch::Launched::wait).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The child is gone.
    Gone,
    /// The child is stopped just before it ends, with all its memory, so that a profiler can still
    /// read its symbols. Only on Linux, only with the right to trace it, and only if its first
    /// thread ends it; otherwise it is gone.
    Held,
    /// The child is gone; of the signals that ask to stop only SIGINT and this one have reached it. For
    /// those that are sent to a whole group, as by `timeout` or a closed terminal, on Linux only.
    Shielded(i32),
}

/// A child that has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ended {
    /// Its exit status.
    pub status: ExitStatus,
    /// The processor time of the child and of those of its own children that it waited for, where
    /// the system tells.
    pub cpu_time: Option<Duration>,
}

/// Waits for a child to end.
///
/// # Errors
/// The error of the system.
pub fn wait(pid: u32) -> io::Result<Ended> {
    let (status, cpu_time) = wait4(pid.cast_signed(), 0)?;
    Ok(Ended { status: ExitStatus::from_raw(status), cpu_time })
}

/// Waits for a change of a child's state: its status as `waitpid` has it, and its processor time.
///
/// # Errors
/// The error of the system.
#[cfg(not(any(target_os = "illumos", target_os = "solaris")))]
pub(super) fn wait4(pid: i32, options: libc::c_int) -> io::Result<(libc::c_int, Option<Duration>)> {
    let mut status = 0;
    // SAFETY: a zeroed rusage is a valid value.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    loop {
        // SAFETY: both pointers are to live values.
        match check(unsafe { libc::wait4(pid, &raw mut status, options, &raw mut usage) }) {
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
            Ok(_) => break,
        }
    }
    let time = |time: libc::timeval| {
        let part = |number: i64| u64::try_from(number).unwrap_or(0);
        // The types differ from system to system.
        Duration::from_secs(part(time.tv_sec as _)) + Duration::from_micros(part(time.tv_usec as _))
    };
    Ok((status, Some(time(usage.ru_utime) + time(usage.ru_stime))))
}

#[cfg(any(target_os = "illumos", target_os = "solaris"))]
pub(super) fn wait4(pid: i32, options: libc::c_int) -> io::Result<(libc::c_int, Option<Duration>)> {
    let mut status = 0;
    loop {
        // SAFETY: the pointer is to a live value.
        match check(unsafe { libc::waitpid(pid, &raw mut status, options) }) {
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
            Ok(_) => return Ok((status, None)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    fn the_time_of_a_child_and_of_its_children_is_counted() {
        let count = "i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done";
        let script = format!("sh -c '{count}'; {count}; exit 3");
        #[allow(clippy::zombie_processes)] // The function under test waits for it.
        let child = Command::new("sh").args(["-c", &script]).spawn().expect("a shell");
        let ended = wait(child.id()).expect("it ends");
        assert_eq!(ended.status.code(), Some(3));
        assert!(ended.cpu_time.is_none_or(|time| time > Duration::from_millis(5)), "{ended:?}");
    }
}
