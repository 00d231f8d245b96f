//! The number of files that the process may have open at once.

/// The limit of the system, as `ulimit -n` shows it; a cautious number where it has none that is known.
#[cfg(unix)]
#[allow(unsafe_code)]
pub(crate) fn limit() -> usize {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: the structure is ours and outlives the call.
    let got = unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &mut limit) } == 0;
    if got { usize::try_from(limit.rlim_cur).unwrap_or(usize::MAX) } else { UNKNOWN }
}

/// The limit of the system, as `ulimit -n` shows it; a cautious number where it has none that is known.
#[cfg(not(unix))]
pub(crate) fn limit() -> usize {
    UNKNOWN
}

/// The limit of C's library on Windows.
const UNKNOWN: usize = 512;

/// The descriptors that are not for inputs: standard streams, the output, debug information, libraries.
const OTHERS: usize = 24;

/// The share of each of `holders` that open files for themselves, if each of their files takes `each` descriptors.
pub(crate) fn share(holders: usize, each: usize) -> usize {
    limit().saturating_sub(OTHERS) / each.max(1) / holders.max(1)
}
