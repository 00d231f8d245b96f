//! Limits of this process, its user, and the names of the system.

use std::io;

use super::check;

/// Lifts the soft limit of open files to the hard one: there is a descriptor for each thread and
/// processor. Returns the limit that holds now.
pub fn lift_open_files() -> u64 {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: both pointers are to a live value.
    unsafe {
        if libc::getrlimit(libc::RLIMIT_NOFILE, &mut limit) == 0 && limit.rlim_cur < limit.rlim_max {
            let lifted = libc::rlimit { rlim_cur: limit.rlim_max, ..limit };
            if libc::setrlimit(libc::RLIMIT_NOFILE, &lifted) == 0 {
                limit = lifted;
            }
        }
    }
    limit.rlim_cur
}

/// The number of bytes that this process may lock in memory.
pub fn locked_memory() -> u64 {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: the pointer is to a live value.
    match check(unsafe { libc::getrlimit(libc::RLIMIT_MEMLOCK, &mut limit) }) {
        Ok(_) => limit.rlim_cur,
        Err(_) => 0,
    }
}

/// A memory page's size in bytes.
pub fn page_size() -> usize {
    // SAFETY: takes an integer only.
    usize::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).unwrap_or(4096)
}

/// The ticks of a second in which `/proc` counts processor time.
pub fn ticks_per_second() -> u64 {
    // SAFETY: takes an integer only.
    let ticks = unsafe { libc::sysconf(libc::_SC_CLK_TCK) };
    u64::try_from(ticks).ok().filter(|ticks| *ticks > 0).unwrap_or(100)
}

/// The user this process acts as.
pub fn effective_user() -> u32 {
    // SAFETY: takes nothing and cannot fail.
    unsafe { libc::geteuid() }
}

/// The names of the machine and its operating system, as `uname` has them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SystemName {
    /// The operating system: `Linux`.
    pub system: String,
    /// The host.
    pub host: String,
    /// The release of the kernel.
    pub release: String,
    /// The processor's architecture: `x86_64`.
    pub architecture: String,
}

/// Asks the system for its names.
///
/// # Errors
/// The error of the system.
pub fn system_name() -> io::Result<SystemName> {
    // SAFETY: a zeroed utsname is a valid value, and the pointer is to a live one.
    let (result, name) = unsafe {
        let mut name: libc::utsname = std::mem::zeroed();
        (libc::uname(&mut name), name)
    };
    check(result)?;
    let text = |chars: &[libc::c_char]| {
        let bytes: Vec<u8> = chars.iter().take_while(|c| **c != 0).map(|c| *c as u8).collect();
        String::from_utf8_lossy(&bytes).into_owned()
    };
    Ok(SystemName {
        system: text(&name.sysname),
        host: text(&name.nodename),
        release: text(&name.release),
        architecture: text(&name.machine),
    })
}
