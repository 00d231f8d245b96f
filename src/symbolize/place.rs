//! A line of source, to which an address belongs.

use std::sync::Arc;

/// A line of source.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Place {
    /// The file, with its directory as far as that is known.
    pub file: Arc<[u8]>,
    /// The line, counted from 1.
    pub line: u32,
    /// The line on which the function begins; 0 if that is not known.
    pub start_line: u32,
}

impl Place {
    /// `orders.c:12`, the file without its directory, as `perf` prints it.
    pub fn short(&self) -> Vec<u8> {
        let name = self.file.rsplit(|&b| b == b'/').next().unwrap_or(&self.file);
        [name, b":", self.line.to_string().as_bytes()].concat()
    }
}
