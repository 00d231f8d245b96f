//! The bytes of a pipe, kept as they are read for as long as they may have to be read once more.

use std::io::{self, Read};
use std::sync::{Arc, Mutex, PoisonError};

/// The bytes of a chunk: chunks grow no further, so that none of them is copied.
const CHUNK: usize = 1 << 20;

/// The bytes that were read so far, which all clones share. The default keeps none.
#[derive(Clone, Default)]
pub(crate) struct Kept(Option<Arc<Mutex<Option<Bytes>>>>);

#[derive(Default)]
struct Bytes {
    chunks: Vec<Vec<u8>>,
    size: usize,
    most: usize,
}

impl Kept {
    /// Keeps up to `most` bytes of a stream that begins with `head`; of a longer one, none.
    pub(super) fn of(head: &[u8], rest: Box<dyn Read + Send>, most: usize) -> (Kept, Box<dyn Read + Send>) {
        let kept = Kept(Some(Arc::new(Mutex::new(Some(Bytes { most, ..Bytes::default() })))));
        kept.push(head);
        (kept.clone(), Box::new(Keeping { rest, kept }))
    }

    /// Frees what was kept: it is not needed any more.
    pub(crate) fn release(&self) {
        self.take();
    }

    /// A reader of what was kept, if all of it was.
    pub(crate) fn take_reader(&self) -> Option<Box<dyn Read + Send>> {
        let chunks = self.take()?.chunks.into_iter();
        Some(Box::new(Chunks { now: io::Cursor::default(), chunks }))
    }

    fn take(&self) -> Option<Bytes> {
        self.0.as_ref()?.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    fn push(&self, mut more: &[u8]) {
        let Some(shared) = &self.0 else { return };
        let mut shared = shared.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(bytes) = &mut *shared else { return };
        bytes.size += more.len();
        if bytes.size > bytes.most {
            *shared = None;
            return;
        }
        while !more.is_empty() {
            let room = bytes.chunks.last().map_or(0, |chunk| CHUNK - chunk.len());
            if room == 0 {
                bytes.chunks.push(Vec::new());
                continue;
            }
            let (now, later) = more.split_at(room.min(more.len()));
            bytes.chunks.last_mut().expect("one was pushed").extend_from_slice(now);
            more = later;
        }
    }
}

/// Reads chunks, and frees each when it was read.
struct Chunks {
    now: io::Cursor<Vec<u8>>,
    chunks: std::vec::IntoIter<Vec<u8>>,
}

impl Read for Chunks {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while !buffer.is_empty() {
            match self.now.read(buffer)? {
                0 => match self.chunks.next() {
                    Some(chunk) => self.now = io::Cursor::new(chunk),
                    None => break,
                },
                n => return Ok(n),
            }
        }
        Ok(0)
    }
}

/// Keeps what is read.
struct Keeping {
    rest: Box<dyn Read + Send>,
    kept: Kept,
}

impl Read for Keeping {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n = self.rest.read(buffer)?;
        self.kept.push(&buffer[..n]);
        Ok(n)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(kept: &Kept) -> Option<Vec<u8>> {
        let mut bytes = Vec::new();
        kept.take_reader()?.read_to_end(&mut bytes).unwrap();
        Some(bytes)
    }

    #[test]
    fn what_was_read_is_there_once_more_unless_it_is_too_much() {
        let text: Vec<u8> = (0..3 * CHUNK + 5).map(|n| (n % 251) as u8).collect();
        let (head, rest) = text.split_at(7);
        for (most, is_kept) in [(text.len(), true), (text.len() - 1, false), (3, false)] {
            let (kept, mut stream) = Kept::of(head, Box::new(io::Cursor::new(rest.to_vec())), most);
            let mut seen = Vec::new();
            stream.read_to_end(&mut seen).unwrap();
            assert!(seen == rest);
            assert!(read(&kept) == is_kept.then(|| text.clone()), "{most}");
            assert_eq!(read(&kept), None, "it is there once");
        }
    }

    #[test]
    fn what_was_released_is_gone() {
        let (kept, mut stream) = Kept::of(b"a", Box::new(&b"bc"[..]), 9);
        kept.clone().release();
        stream.read_to_end(&mut Vec::new()).unwrap();
        assert_eq!(read(&kept), None);
        assert_eq!(read(&Kept::default()), None);
    }
}
