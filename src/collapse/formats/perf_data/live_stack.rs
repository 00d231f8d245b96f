//! The part of a stack that the kernel did not copy, from the memory of a process that still runs.
//!
//! The kernel copies 64 kB of a stack at most, of one stack only, and nothing behind a page that was never
//! touched. What it leaves out is what a thread called first, and that stays for long: a moment after the sample
//! it is mostly still there. It may as well be gone, so nothing is believed of it alone: see
//! [`stitch`](mod@super::stitch).

use std::fs::File;

/// The most bytes that are read of a stack.
const MOST: usize = 1 << 20;
/// The bytes that are read at a time.
const CHUNK: usize = 16 << 10;
/// The most steps that lead through what is read: a frame has two words at least, but for a few.
pub(super) const MOST_STEPS: usize = MOST / 16;

/// A stack in the memory of a process.
#[derive(Debug)]
pub(super) struct LiveStack {
    memory: File,
    /// The address of the first byte of the chunk.
    start: u64,
    chunk: Vec<u8>,
    /// The bytes that may still be read.
    left: usize,
}

impl LiveStack {
    /// The memory of a process; `None` if it has ended, or may not be looked at.
    pub fn open(pid: i32) -> Option<LiveStack> {
        if !cfg!(target_os = "linux") {
            return None;
        }
        let memory = File::open(format!("/proc/{pid}/mem")).ok()?;
        Some(LiveStack { memory, start: 0, chunk: Vec::new(), left: MOST })
    }

    /// A word.
    pub fn read(&mut self, address: u64) -> Option<u64> {
        if let Some(word) = self.word(address) {
            return Some(word);
        }
        self.left = self.left.checked_sub(CHUNK)?;
        self.chunk.resize(CHUNK, 0);
        // At the end of a stack there may be less.
        let read = read_at(&self.memory, &mut self.chunk, address).unwrap_or(0);
        self.chunk.truncate(read);
        self.start = address;
        self.word(address)
    }

    fn word(&self, address: u64) -> Option<u64> {
        let at = usize::try_from(address.checked_sub(self.start)?).ok()?;
        let word = self.chunk.get(at..at.checked_add(8)?)?;
        Some(u64::from_le_bytes(word.try_into().ok()?))
    }
}

#[cfg(unix)]
fn read_at(memory: &File, bytes: &mut [u8], address: u64) -> std::io::Result<usize> {
    std::os::unix::fs::FileExt::read_at(memory, bytes, address)
}

#[cfg(not(unix))]
fn read_at(_: &File, _: &mut [u8], _: u64) -> std::io::Result<usize> {
    Ok(0)
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn words_of_a_process_are_read_up_to_a_limit() {
        let numbers: Vec<u64> = (0..2 * MOST as u64 / 8).collect();
        let start = numbers.as_ptr() as u64;
        let mut stack = LiveStack::open(std::process::id() as i32).expect("one's own memory");
        let read = |stack: &mut LiveStack, n: u64| stack.read(start + 8 * n);
        assert_eq!((read(&mut stack, 1), read(&mut stack, 7)), (Some(1), Some(7)));
        assert_eq!(stack.read(8), None, "nothing is mapped there");
        let known: Vec<u64> = (0..numbers.len() as u64).map_while(|n| read(&mut stack, n)).collect();
        assert_eq!(known.len(), MOST / 8 - 2 * CHUNK / 8, "what was read before counts");
        assert_eq!(known, numbers[..known.len()]);
    }
}
