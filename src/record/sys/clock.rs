//! The clock that stamps the kernel's records, so that other programs can read the same time.

use std::time::{SystemTime, UNIX_EPOCH};

use super::check;

/// The clock, which runs on evenly even when the time of day is set.
pub const MONOTONIC: i32 = libc::CLOCK_MONOTONIC;

/// The clock's time now, in nanoseconds.
pub fn now() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the pointer is to a live value.
    let read = check(unsafe { libc::clock_gettime(MONOTONIC, &mut time) });
    read.map_or(0, |_| nanoseconds(time))
}

/// The smallest step of the clock, in nanoseconds.
pub fn resolution() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the pointer is to a live value.
    let read = check(unsafe { libc::clock_getres(MONOTONIC, &mut time) });
    read.map_or(1, |_| nanoseconds(time).max(1))
}

fn nanoseconds(time: libc::timespec) -> u64 {
    let part = |number: i64| u64::try_from(number).unwrap_or(0);
    part(time.tv_sec as _).saturating_mul(1_000_000_000) + part(time.tv_nsec as _)
}

/// One moment on both clocks, by which the time of a record becomes a date.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reference {
    /// The time of day.
    pub wall: SystemTime,
    /// The time of [`MONOTONIC`], in nanoseconds.
    pub clock: u64,
}

impl Default for Reference {
    fn default() -> Self {
        Reference { wall: UNIX_EPOCH, clock: 0 }
    }
}

impl Reference {
    /// Reads both clocks.
    pub fn now() -> Reference {
        Reference { clock: now(), wall: SystemTime::now() }
    }

    /// The time of day, in nanoseconds since 1970.
    pub fn wall_nanoseconds(&self) -> u64 {
        let since = self.wall.duration_since(UNIX_EPOCH).unwrap_or_default();
        u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
    }
}
