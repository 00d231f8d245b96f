//! The bytes of an input on the disk or on the wire, counted before they are decompressed.

use std::io::{self, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// The number of bytes that were read of an input as it is stored, compressed or not.
#[derive(Clone, Debug, Default)]
pub(crate) struct StoredBytes(Arc<AtomicU64>);

impl StoredBytes {
    /// The number so far.
    #[cfg(feature = "perf-data")]
    pub(crate) fn get(&self) -> u64 {
        self.0.load(Relaxed)
    }
}

/// A reader that counts what it gives.
pub(super) struct Counted {
    reader: Box<dyn Read + Send>,
    bytes: StoredBytes,
}

impl Counted {
    pub(super) fn new(reader: Box<dyn Read + Send>, bytes: StoredBytes) -> Self {
        Counted { reader, bytes }
    }
}

impl Read for Counted {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.reader.read(buffer)?;
        self.bytes.0.fetch_add(read as u64, Relaxed);
        Ok(read)
    }
}
