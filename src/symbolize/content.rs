//! The content of a file: bytes that are shared, or an open file.

use std::fmt;
use std::fs::File;
use std::ops::Deref;
use std::sync::Arc;

/// Shared bytes, cheap to clone: a section for an unwinder that outlives a borrow.
#[derive(Clone, Default)]
pub struct Bytes(Arc<Vec<u8>>);

impl Deref for Bytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.0
    }
}

impl fmt::Debug for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bytes", self.len())
    }
}

impl From<Vec<u8>> for Bytes {
    fn from(bytes: Vec<u8>) -> Self {
        Bytes(Arc::new(bytes))
    }
}

/// The content of a file.
// Bundles are written where the system's own sampler records.
#[cfg_attr(not(target_os = "linux"), allow(dead_code))]
#[derive(Debug)]
pub(crate) enum Content {
    /// An open file: it may have no name any more.
    File(File, u64),
    /// Bytes in memory.
    Bytes(Bytes),
}

#[cfg_attr(not(target_os = "linux"), allow(dead_code))]
impl Content {
    /// The number of bytes.
    pub fn len(&self) -> u64 {
        match self {
            Content::File(_, length) => *length,
            Content::Bytes(bytes) => bytes.len() as u64,
        }
    }
}
