//! Other processes: what they have started, and what they hold open.

#[cfg(target_os = "linux")]
use std::fs;
use std::io;
#[cfg(target_os = "linux")]
use std::os::fd::FromRawFd;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::process::CommandExt;
#[cfg(target_os = "linux")]
use std::os::unix::process::ExitStatusExt;
#[cfg(not(target_os = "linux"))]
use std::process::Stdio;
use std::process::{Command, ExitStatus};
#[cfg(target_os = "linux")]
use std::time::Duration;

use super::check;

/// Sends a signal to a process.
///
/// # Errors
/// The error of the system; a process that is gone is no error.
pub fn send(pid: u32, signal: i32) -> io::Result<()> {
    // SAFETY: takes integers only.
    match check(unsafe { libc::kill(pid.cast_signed(), signal) }) {
        Err(e) if e.raw_os_error() != Some(libc::ESRCH) => Err(e),
        _ => Ok(()),
    }
}

/// Kills a process and all its descendants, as far as their parents still run.
pub fn kill_tree(pid: u32) {
    signal_tree(pid, libc::SIGKILL);
}

/// Sends a signal to a process and all its descendants, as far as their parents still run: a shell
/// that is asked to end does not ask what it has started.
pub fn signal_tree(pid: u32, signal: i32) {
    let mut all = vec![pid];
    let mut at = 0;
    while let Some(&pid) = all.get(at) {
        // Stopped first, so that nothing new is started meanwhile.
        let _ = send(pid, libc::SIGSTOP);
        all.extend(children(pid).into_iter().filter(|child| !all.contains(child)).collect::<Vec<_>>());
        at += 1;
    }
    all.iter().for_each(|&pid| drop(send(pid, signal)));
    if signal != libc::SIGKILL {
        // Those that wait for their children are told first, and then go on first.
        all.iter().for_each(|&pid| drop(send(pid, libc::SIGCONT)));
    }
}

/// The process that a thread is of; `None` if there is no such thread.
#[cfg(target_os = "linux")]
pub fn process_of(tid: u32) -> Option<u32> {
    let status = fs::read_to_string(format!("/proc/{tid}/status")).ok()?;
    status.lines().find_map(|line| line.strip_prefix("Tgid:"))?.trim().parse().ok()
}

/// All descendants of a process, as far as their parents still run.
pub fn descendants(pid: u32) -> Vec<u32> {
    let mut all = children(pid);
    let mut at = 0;
    while let Some(&pid) = all.get(at) {
        all.extend(children(pid).into_iter().filter(|child| !all.contains(child)).collect::<Vec<_>>());
        at += 1;
    }
    all
}

/// The processes that a process has started.
#[cfg(target_os = "linux")]
pub fn children(pid: u32) -> Vec<u32> {
    let Ok(threads) = fs::read_dir(format!("/proc/{pid}/task")) else { return Vec::new() };
    let lists = threads.filter_map(|thread| fs::read_to_string(thread.ok()?.path().join("children")).ok());
    lists
        .flat_map(|list| list.split_whitespace().filter_map(|pid| pid.parse().ok()).collect::<Vec<_>>())
        .collect()
}

/// The processes that a process has started.
#[cfg(not(target_os = "linux"))]
pub fn children(pid: u32) -> Vec<u32> {
    let list = Command::new("pgrep").args(["-P", &pid.to_string()]).stdin(Stdio::null()).output();
    let list = list.map(|output| output.stdout).unwrap_or_default();
    String::from_utf8_lossy(&list).split_whitespace().filter_map(|pid| pid.parse().ok()).collect()
}

/// Returns true if a process exists and has not ended.
#[cfg(target_os = "linux")]
pub fn is_running(pid: u32) -> bool {
    let state = stat(pid).and_then(|fields| fields.bytes().next());
    !matches!(state, None | Some(b'Z' | b'X'))
}

/// Returns true if a process or a thread is another user's, and we are not root.
#[cfg(target_os = "linux")]
pub fn is_foreign(tid: u32) -> bool {
    let ours = super::limits::effective_user();
    // The owner of the folder is root for some of our own.
    let status = fs::read_to_string(format!("/proc/{tid}/status")).unwrap_or_default();
    let users = status.lines().find_map(|line| line.strip_prefix("Uid:"));
    ours != 0 && users.is_some_and(|users| !users.split_whitespace().any(|user| user.parse() == Ok(ours)))
}

/// The fields of `/proc/PID/stat`, or of a thread's, behind the name, which may hold anything: the first is the state.
#[cfg(target_os = "linux")]
pub fn stat(tid: u32) -> Option<String> {
    let stat = fs::read(format!("/proc/{tid}/stat")).ok()?;
    let name_end = stat.iter().rposition(|&b| b == b')')?;
    Some(String::from_utf8_lossy(stat.get(name_end + 2..)?).into_owned())
}

/// Returns true if a process exists.
#[cfg(not(target_os = "linux"))]
pub fn is_running(pid: u32) -> bool {
    // SAFETY: takes integers only; signal 0 sends nothing.
    let asked = check(unsafe { libc::kill(pid.cast_signed(), 0) });
    asked.map_or_else(|e| e.raw_os_error() != Some(libc::ESRCH), |_| true)
}

/// The command line of a process, word by word.
#[cfg(target_os = "linux")]
pub fn command_line(pid: u32) -> Vec<Vec<u8>> {
    let words = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let words = words.strip_suffix(b"\0").unwrap_or(&words);
    if words.is_empty() { Vec::new() } else { words.split(|&b| b == 0).map(<[u8]>::to_vec).collect() }
}

/// The command line of a process, which only Linux shows word by word.
#[cfg(not(target_os = "linux"))]
pub fn command_line(_pid: u32) -> Vec<Vec<u8>> {
    Vec::new()
}

/// Returns true if a process has perf events open: it samples.
#[cfg(target_os = "linux")]
pub fn samples(pid: u32) -> bool {
    let Ok(open) = fs::read_dir(format!("/proc/{pid}/fd")) else { return false };
    let mut targets = open.filter_map(|fd| fs::read_link(fd.ok()?.path()).ok());
    targets.any(|target| target.as_os_str() == "anon_inode:[perf_event]")
}

/// Returns true if a process runs: only Linux tells if it samples, so that is taken for granted.
#[cfg(not(target_os = "linux"))]
pub fn samples(pid: u32) -> bool {
    is_running(pid)
}

/// Returns true if a process catches a signal.
#[cfg(target_os = "linux")]
pub fn heeds(pid: u32, signal: i32) -> bool {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:"));
    let caught = caught.and_then(|set| u64::from_str_radix(set.trim(), 16).ok());
    caught.is_some_and(|set| set >> (signal - 1) & 1 == 1)
}

/// Returns true: only Linux tells which signals a process catches, so that is taken for granted.
#[cfg(not(target_os = "linux"))]
pub fn heeds(_pid: u32, _signal: i32) -> bool {
    true
}

/// Lets a command have a descriptor under a number.
pub fn give(command: &mut Command, fd: OwnedFd, number: i32) {
    // SAFETY: the closure runs between fork and exec and makes one system call there.
    unsafe {
        command.pre_exec(move || check(libc::dup2(fd.as_raw_fd(), number)).map(|_| ()));
    }
}

/// A process that is not our child, and whose end somebody else waits for.
#[cfg(target_os = "linux")]
#[derive(Debug)]
pub struct Watched {
    fd: OwnedFd,
}

#[cfg(target_os = "linux")]
impl Watched {
    /// Begins to watch a process, if that is possible.
    pub fn new(pid: u32) -> Option<Watched> {
        // SAFETY: takes integers only.
        let fd = unsafe { libc::syscall(libc::SYS_pidfd_open, pid.cast_signed(), 0) };
        let fd = check(libc::c_int::try_from(fd).unwrap_or(-1)).ok()?;
        // SAFETY: a descriptor the kernel has just made for us.
        Some(Watched { fd: unsafe { OwnedFd::from_raw_fd(fd) } })
    }

    /// Returns true if it has ended, whether its parent has waited for it or not.
    pub fn has_ended(&self) -> bool {
        let mut fds = vec![libc::pollfd { fd: self.fd.as_raw_fd(), events: libc::POLLIN, revents: 0 }];
        super::readable::wait_readable(&mut fds, 0).is_ok() && fds[0].revents != 0
    }

    /// Its exit status, once its parent has waited for it: since Linux 6.15. That may be after the end
    /// of the parent that we know of, so it is given a moment.
    pub fn status(&self) -> Option<ExitStatus> {
        for _ in 0..50 {
            match self.exit_code() {
                Ok(None) => std::thread::sleep(Duration::from_millis(10)),
                code => return code.ok().flatten().map(ExitStatus::from_raw),
            }
        }
        None
    }

    /// The status that `waitpid` returned to the parent; `None` until the parent has called it.
    fn exit_code(&self) -> std::io::Result<Option<i32>> {
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
        check(result)?;
        Ok((info.mask & EXIT != 0).then_some(info.exit_code))
    }
}

/// A process that is not our child: only Linux tells how it ended.
#[cfg(not(target_os = "linux"))]
#[derive(Debug)]
pub enum Watched {}

#[cfg(not(target_os = "linux"))]
impl Watched {
    /// Nothing can be watched.
    pub fn new(_pid: u32) -> Option<Watched> {
        None
    }

    /// Returns true if it has ended.
    pub fn has_ended(&self) -> bool {
        match *self {}
    }

    /// Its exit status.
    pub fn status(&self) -> Option<ExitStatus> {
        match *self {}
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn the_exit_status_of_another_s_child_is_known() {
        // A shell waits for its child, as a profiler does for its command.
        let mut shell =
            Command::new("sh").args(["-c", "(sleep 0.2; exit 9); true"]).spawn().expect("a shell");
        let mut found = None;
        for _ in 0..100 {
            found = children(shell.id()).first().copied();
            if found.is_some() {
                break;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        let watched = found.and_then(Watched::new);
        let _ = shell.wait();
        match watched.and_then(|watched| watched.status()) {
            Some(status) => assert_eq!(status.code(), Some(9)),
            None => eprintln!("skipped: this kernel does not tell"),
        }
    }

    /// With a pause after each: far longer than anything takes on a busy machine.
    const TRIES: u32 = 24_000;

    #[test]
    fn a_tree_is_killed_to_its_leaves() {
        let mut root =
            Command::new("sh").args(["-c", "(sleep 600; :) & (sleep 600; :)"]).spawn().expect("a shell");
        let (mut below, mut leaves) = (Vec::new(), Vec::new());
        for _ in 0..TRIES {
            below = children(root.id());
            leaves = below.iter().flat_map(|pid| children(*pid)).collect::<Vec<u32>>();
            if leaves.len() == 2 {
                break;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        assert_eq!((below.len(), leaves.len()), (2, 2));
        kill_tree(root.id());
        let _ = root.wait();
        let lives = |pid: &u32| is_running(*pid);
        let gone = (0..TRIES).any(|_| {
            std::thread::sleep(Duration::from_millis(5));
            !below.iter().chain(&leaves).any(lives)
        });
        assert!(gone, "{below:?} {leaves:?}");
    }
}
