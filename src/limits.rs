//! Limits of a reading: for programs that read what strangers send them.
//!
//! A few kilobytes can hold a profile of gigabytes: compressed, or because stacks share their frames in the file
//! and not in memory. A reading ends with [`ErrorKind::Limit`] at the first of its limits.
//!
//! ```
//! use fg_tools::limits::{Limit, Limits};
//! use fg_tools::{ErrorKind, Profile, ReadOptions, Source};
//!
//! let options = ReadOptions::default().limits(Limits::default().depth(3));
//! let deep = [Source::bytes("a;b;c;d 1\n")];
//! let error = Profile::read(&deep, &options).unwrap_err();
//! assert!(matches!(error.kind(), ErrorKind::Limit(Limit::Depth(3))));
//! assert_eq!(error.to_string(), "input:1: a stack of more than 3 frames, the limit that was set");
//! ```
//!
//! # Memory
//! The table of stacks, single samples, and inputs that are held whole count. On Linux the memory of the process
//! (`RssAnon`) is limited besides, which includes what a format's reader holds: it may grow by that number of bytes
//! from the beginning of the reading on. Readings that run at the same time share that growth.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use crate::error::{Error, ErrorKind, Result};

pub use crate::error::Limit;

/// The limits of a reading; `None` is no limit.
///
/// ```
/// use std::time::Duration;
/// use fg_tools::limits::Limits;
///
/// let limits = Limits::upload().bytes(64 << 20).time(Duration::from_secs(5));
/// assert_eq!((limits.bytes, limits.depth), (Some(64 << 20), Some(10_000)));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// The bytes of one input, decompressed; in an archive, of all its files together.
    pub bytes: Option<u64>,
    /// The different stacks.
    pub stacks: Option<u64>,
    /// The different names of frames.
    pub frames: Option<u64>,
    /// The frames of one stack.
    pub depth: Option<u64>,
    /// The bytes of memory.
    pub memory: Option<u64>,
    /// The time that the reading takes.
    pub time: Option<Duration>,
}

impl Default for Limits {
    /// Limits that fit a machine with 4 GB of memory: 2 GiB of it, inputs of 64 GiB, stacks of 1,048,576 frames.
    fn default() -> Self {
        Limits { bytes: Some(64 << 30), depth: Some(1 << 20), memory: Some(2 << 30), ..Limits::NONE }
    }
}

impl Limits {
    /// No limits.
    pub const NONE: Limits =
        Limits { bytes: None, stacks: None, frames: None, depth: None, memory: None, time: None };

    /// Limits for files that strangers upload: 1 GiB of input, a million stacks, a million names, stacks of
    /// 10,000 frames, 512 MiB of memory, 30 seconds.
    pub fn upload() -> Limits {
        Limits {
            bytes: Some(1 << 30),
            stacks: Some(1_000_000),
            frames: Some(1_000_000),
            depth: Some(10_000),
            memory: Some(512 << 20),
            time: Some(Duration::from_secs(30)),
        }
    }

    /// The most bytes of one input, decompressed.
    pub fn bytes(self, most: impl Into<Option<u64>>) -> Self {
        Limits { bytes: most.into(), ..self }
    }

    /// The most different stacks.
    pub fn stacks(self, most: impl Into<Option<u64>>) -> Self {
        Limits { stacks: most.into(), ..self }
    }

    /// The most different names of frames.
    pub fn frames(self, most: impl Into<Option<u64>>) -> Self {
        Limits { frames: most.into(), ..self }
    }

    /// The most frames of one stack.
    pub fn depth(self, most: impl Into<Option<u64>>) -> Self {
        Limits { depth: most.into(), ..self }
    }

    /// The most bytes of memory.
    pub fn memory(self, most: impl Into<Option<u64>>) -> Self {
        Limits { memory: most.into(), ..self }
    }

    /// The longest time.
    pub fn time(self, most: impl Into<Option<Duration>>) -> Self {
        Limits { time: most.into(), ..self }
    }
}

/// The parts of a receiver of samples that limits are about.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Held {
    /// The different stacks.
    pub stacks: u64,
    /// The different names of frames.
    pub frames: u64,
    /// The bytes of memory.
    pub bytes: u64,
}

impl Held {
    /// These numbers of stacks, names and bytes.
    pub fn new(stacks: usize, frames: usize, bytes: usize) -> Self {
        Held { stacks: stacks as u64, frames: frames as u64, bytes: bytes as u64 }
    }
}

/// Measures a reading, on all its threads.
#[derive(Debug)]
pub(crate) struct Meter {
    limits: Limits,
    /// Nothing is asked for the time where there is no limit: some systems have no clock.
    begin: Option<Instant>,
    /// The memory of the process when the reading began.
    process: Option<u64>,
    /// The bytes that all receivers hold.
    held: AtomicU64,
    /// The first limit that was reached.
    reached: OnceLock<Limit>,
}

impl Meter {
    /// Begins a reading; `None` without limits.
    pub(crate) fn new(limits: Limits) -> Option<Arc<Meter>> {
        if limits == Limits::NONE {
            return None;
        }
        Some(Arc::new(Meter {
            limits,
            begin: limits.time.map(|_| Instant::now()),
            process: limits.memory.and_then(|_| memory_of_process()),
            held: AtomicU64::new(0),
            reached: OnceLock::new(),
        }))
    }

    /// The most bytes of memory.
    pub(crate) fn most_memory(&self) -> u64 {
        self.limits.memory.unwrap_or(u64::MAX)
    }

    /// The error of the limit that was reached, even where a reader took it for the end of its input.
    ///
    /// # Errors
    /// [`ErrorKind::Limit`].
    pub(crate) fn expect_within(&self) -> Result<()> {
        self.reached.get().map_or(Ok(()), |&limit| Err(ErrorKind::Limit(limit).into()))
    }

    fn reach(&self, limit: Limit) -> Result<()> {
        let _ = self.reached.set(limit);
        self.expect_within()
    }

    /// Checks the number of bytes that an input has so far.
    ///
    /// # Errors
    /// [`ErrorKind::Limit`].
    pub(crate) fn check_bytes(&self, bytes: u64) -> Result<()> {
        match self.limits.bytes.filter(|most| bytes > *most) {
            Some(most) => self.reach(Limit::Bytes(most)),
            None => Ok(()),
        }
    }

    /// Checks the number of frames of a stack.
    ///
    /// # Errors
    /// [`ErrorKind::Limit`].
    #[inline]
    pub(crate) fn check_depth(&self, depth: usize) -> Result<()> {
        match self.limits.depth.filter(|most| depth as u64 > *most) {
            Some(most) => self.reach(Limit::Depth(most)),
            None => Ok(()),
        }
    }

    /// Notes that a receiver held `before` and now holds `now`, and checks that.
    ///
    /// # Errors
    /// [`ErrorKind::Limit`].
    pub(crate) fn check_held(&self, before: Held, now: Held) -> Result<()> {
        self.held.fetch_add(now.bytes.wrapping_sub(before.bytes), Ordering::Relaxed);
        if let Some(most) = self.limits.stacks.filter(|most| now.stacks > *most) {
            self.reach(Limit::Stacks(most))?;
        }
        if let Some(most) = self.limits.frames.filter(|most| now.frames > *most) {
            self.reach(Limit::Frames(most))?;
        }
        self.check()
    }

    /// Notes that a receiver is no more.
    pub(crate) fn release(&self, held: Held) {
        self.held.fetch_sub(held.bytes, Ordering::Relaxed);
    }

    /// Checks time and memory.
    ///
    /// # Errors
    /// [`ErrorKind::Limit`].
    pub(crate) fn check(&self) -> Result<()> {
        self.expect_within()?;
        if let (Some(begin), Some(most)) = (self.begin, self.limits.time)
            && begin.elapsed() > most
        {
            self.reach(Limit::Time(most))?;
        }
        let Some(most) = self.limits.memory else { return Ok(()) };
        let grown = |begin: u64| Some(memory_of_process()?.saturating_sub(begin));
        if self.held.load(Ordering::Relaxed) > most
            || self.process.and_then(grown).is_some_and(|grown| grown > most)
        {
            self.reach(Limit::Memory(most))?;
        }
        Ok(())
    }

    /// The error for memory that is about to be taken.
    pub(crate) fn out_of_memory(&self) -> Error {
        let most = self.most_memory();
        match self.reach(Limit::Memory(most)) {
            Err(error) => error,
            Ok(()) => ErrorKind::Limit(Limit::Memory(most)).into(),
        }
    }
}

/// The bytes of memory that are the process's own: files that it maps are not.
#[cfg(target_os = "linux")]
fn memory_of_process() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let (_, line) = status.split_once("RssAnon:")?;
    let kilobytes: u64 = line.split_ascii_whitespace().next()?.parse().ok()?;
    Some(kilobytes * 1024)
}

#[cfg(not(target_os = "linux"))]
fn memory_of_process() -> Option<u64> {
    None
}
