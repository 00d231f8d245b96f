//! The clock that the kernel stamps records with when told to, which others than the kernel can read.

use super::signals::check;

/// It runs on evenly, whatever the time of day is set to.
pub const MONOTONIC: i32 = libc::CLOCK_MONOTONIC;

/// What it shows now, in nanoseconds.
pub fn now() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the pointer is to a live value.
    let read = check(unsafe { libc::clock_gettime(MONOTONIC, &mut time) });
    let part = |number: i64| u64::try_from(number).unwrap_or(0);
    read.map_or(0, |_| part(time.tv_sec as _).saturating_mul(1_000_000_000) + part(time.tv_nsec as _))
}
