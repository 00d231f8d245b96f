//! Parts of a file as memory, without a copy of them being made.
//!
//! Copying a file that the system has in its cache takes as long as parsing a tenth of it. This
//! is the one module that maps files; everything above it sees bytes.

use std::fs::File;
use std::io;
use std::ops::Deref;

#[cfg(unix)]
use memmap2::Advice;
use memmap2::{Mmap, MmapOptions};

/// Part of a file.
#[derive(Debug)]
pub(crate) struct Window(Mmap);

impl Window {
    /// Maps `len` bytes of `file` from `start`, which must be there.
    pub(crate) fn open(file: &File, start: u64, len: usize) -> io::Result<Window> {
        // SAFETY: the bytes are shared with whoever may write to the file. All that is done with
        // them is to look at them, by checked indices; a byte that changes while it is looked at
        // gives a wrong name or number, as a file that changes while it is read does. Who makes
        // the file shorter meanwhile ends the program by a signal; ours say so (`cli`).
        #[allow(unsafe_code)]
        let map = unsafe { MmapOptions::new().offset(start).len(len).map(file) }?;
        // Advice that a system does not know is not needed.
        #[cfg(unix)]
        let _ = map.advise(Advice::Sequential);
        Ok(Window(map))
    }

    /// Has the system put all of it into the memory of this program at once.
    pub(crate) fn load(&self) {
        #[cfg(target_os = "linux")]
        let _ = self.0.advise(Advice::PopulateRead);
    }
}

impl Deref for Window {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        &self.0
    }
}
