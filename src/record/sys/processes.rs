//! Other processes: what they have started, and what they hold open.

use std::fs;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Command, ExitStatus};

/// Kills a process and all that it has started, and these, as far as they still know whose they
/// are.
pub fn kill_tree(pid: u32) {
    let mut all = vec![pid];
    let mut at = 0;
    while let Some(&pid) = all.get(at) {
        // Stopped first, so that nothing new is started meanwhile.
        let _ = super::signals::send(pid, libc::SIGSTOP);
        all.extend(children(pid));
        at += 1;
    }
    for pid in all {
        let _ = super::signals::send(pid, libc::SIGKILL);
    }
}

/// The processes that a process has started.
pub fn children(pid: u32) -> Vec<u32> {
    let Ok(threads) = fs::read_dir(format!("/proc/{pid}/task")) else { return Vec::new() };
    let lists = threads.filter_map(|thread| fs::read_to_string(thread.ok()?.path().join("children")).ok());
    lists
        .flat_map(|list| list.split_whitespace().filter_map(|pid| pid.parse().ok()).collect::<Vec<_>>())
        .collect()
}

/// Whether a process has perf events open: it samples.
pub fn samples(pid: u32) -> bool {
    let Ok(open) = fs::read_dir(format!("/proc/{pid}/fd")) else { return false };
    let mut targets = open.filter_map(|fd| fs::read_link(fd.ok()?.path()).ok());
    targets.any(|target| target.as_os_str() == "anon_inode:[perf_event]")
}

/// Lets a command have a descriptor under a number.
pub fn give(command: &mut Command, fd: OwnedFd, number: i32) {
    // SAFETY: the closure runs between fork and exec and makes one system call there.
    unsafe {
        command.pre_exec(move || super::signals::check(libc::dup2(fd.as_raw_fd(), number)).map(|_| ()));
    }
}

/// A process that is not our child, and whose end somebody else waits for.
#[derive(Debug)]
pub struct Watched {
    fd: OwnedFd,
}

impl Watched {
    /// Begins to watch a process, if that is possible.
    pub fn new(pid: u32) -> Option<Watched> {
        // SAFETY: takes integers only.
        let fd = unsafe { libc::syscall(libc::SYS_pidfd_open, pid.cast_signed(), 0) };
        let fd = super::signals::check(libc::c_int::try_from(fd).unwrap_or(-1)).ok()?;
        // SAFETY: a descriptor the kernel has just made for us.
        Some(Watched { fd: unsafe { OwnedFd::from_raw_fd(fd) } })
    }

    /// How it ended, once it has been waited for: since Linux 6.15.
    pub fn status(&self) -> Option<ExitStatus> {
        /// `struct pidfd_info` of `linux/pidfd.h`, in the size it had first.
        #[repr(C)]
        #[derive(Default)]
        struct Info {
            mask: u64,
            cgroup: u64,
            ids: [u32; 11],
            exit_code: i32,
        }
        const _: () = assert!(size_of::<Info>() == 64);
        const PIDFD_GET_INFO: libc::c_ulong = 0xc040_ff0b;
        const EXIT: u64 = 1 << 3;
        let mut info = Info { mask: EXIT, ..Info::default() };
        // SAFETY: the kernel writes as many bytes as the request says to a live value.
        let result = unsafe { libc::ioctl(self.fd.as_raw_fd(), PIDFD_GET_INFO as _, &raw mut info) };
        (result == 0 && info.mask & EXIT != 0).then(|| ExitStatus::from_raw(info.exit_code))
    }
}
