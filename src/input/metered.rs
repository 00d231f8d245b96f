//! An input that counts its bytes, and ends with an error at the limits of its reading.

use std::io::{self, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::error::Result;
use crate::limits::Meter;

/// The bytes between two looks at time and memory.
const EVERY: u64 = 1 << 20;

/// Counts the bytes of one input, or those of all files within one.
#[derive(Clone, Debug)]
pub(crate) struct InputMeter {
    meter: Arc<Meter>,
    bytes: Arc<AtomicU64>,
    /// True if it counts the files of an archive.
    counts_members: bool,
}

impl InputMeter {
    pub(super) fn new(meter: Arc<Meter>) -> Self {
        InputMeter { meter, bytes: Arc::default(), counts_members: false }
    }

    /// Counts all files within the input, those of archives in it as well.
    pub(super) fn of_members(&self) -> InputMeter {
        match self.counts_members {
            true => self.clone(),
            false => InputMeter { counts_members: true, ..InputMeter::new(self.meter.clone()) },
        }
    }

    pub(super) fn meter(&self) -> &Arc<Meter> {
        &self.meter
    }

    /// Counts bytes that were read.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Limit`].
    pub(crate) fn count(&self, bytes: usize) -> Result<()> {
        let before = self.bytes.fetch_add(bytes as u64, Ordering::Relaxed);
        let now = before.saturating_add(bytes as u64);
        self.meter.check_bytes(now)?;
        if before / EVERY == now / EVERY { Ok(()) } else { self.meter.check() }
    }
}

/// Counts what a reader gives.
pub(super) struct Metered {
    inner: Box<dyn Read + Send>,
    meter: InputMeter,
}

impl Metered {
    pub(super) fn new(inner: Box<dyn Read + Send>, meter: InputMeter) -> Self {
        Metered { inner, meter }
    }
}

impl Read for Metered {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(buffer)?;
        match read {
            // All of it has been read.
            0 => self.meter.meter.check()?,
            read => self.meter.count(read)?,
        }
        Ok(read)
    }
}
