//! Pieces of a recording in memory, shared by the samples within, and used again once the last of
//! them is done.

use std::ops::{Deref, Range};
use std::sync::{Arc, Mutex, PoisonError};

/// The number of bytes read at once.
pub(super) const CHUNK: usize = 1 << 20;

/// Buffers to be used again: fresh memory of this size costs more than what is read into it.
#[derive(Clone, Debug)]
pub(super) struct Pool {
    /// `None` once there is nothing more to read.
    free: Arc<Mutex<Option<Vec<Vec<u8>>>>>,
}

impl Default for Pool {
    fn default() -> Self {
        Pool { free: Arc::new(Mutex::new(Some(Vec::new()))) }
    }
}

impl Pool {
    /// More than these are never waiting, but in a recording that is out of order.
    const KEPT: usize = 64;

    /// A pool that keeps nothing.
    fn none() -> Pool {
        Pool { free: Arc::default() }
    }

    pub fn take(&self) -> Vec<u8> {
        let mut free = self.free.lock().unwrap_or_else(PoisonError::into_inner);
        free.as_mut().and_then(Vec::pop).unwrap_or_default()
    }

    /// Frees what is waiting, and what comes back from now on: naming needs the memory.
    pub fn close(&self) {
        *self.free.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    pub fn share(&self, bytes: Vec<u8>) -> Arc<Chunk> {
        Arc::new(Chunk { bytes, pool: self.clone() })
    }
}

/// A piece of a recording.
#[derive(Debug, Default)]
pub(super) struct Chunk {
    bytes: Vec<u8>,
    pool: Pool,
}

impl Deref for Chunk {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.bytes
    }
}

impl Drop for Chunk {
    fn drop(&mut self) {
        let mut free = self.pool.free.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(free) = free.as_mut()
            && free.len() < Pool::KEPT
            && self.bytes.capacity() <= 2 * CHUNK
        {
            free.push(std::mem::take(&mut self.bytes));
        }
    }
}

/// Some bytes of a chunk.
#[derive(Clone, Debug)]
pub(super) struct Slice {
    pub chunk: Arc<Chunk>,
    start: u32,
    end: u32,
}

impl Slice {
    /// No bytes.
    pub fn empty() -> Slice {
        Slice { chunk: Arc::default(), start: 0, end: 0 }
    }

    /// A range of the chunk, which has less than four gigabytes.
    pub fn new(chunk: &Arc<Chunk>, range: Range<usize>) -> Slice {
        Slice { chunk: chunk.clone(), start: range.start as u32, end: range.end as u32 }
    }

    /// The bytes behind the first `len`.
    pub fn from(&self, len: usize) -> Slice {
        Slice { start: self.end.min(self.start + len as u32), ..self.clone() }
    }

    /// The same in memory of its own.
    pub fn copied(&self) -> Slice {
        let chunk = Arc::new(Chunk { bytes: self.to_vec(), pool: Pool::none() });
        Slice { start: 0, end: self.end - self.start, chunk }
    }
}

impl Deref for Slice {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        &self.chunk[self.start as usize..self.end as usize]
    }
}
