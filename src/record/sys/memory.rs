//! The memory of other processes.

/// Memory that is read by addresses.
pub trait Memory {
    /// Fills `into` with the bytes from an address on; `false` if not all of them are there.
    fn read(&self, address: u64, into: &mut [u8]) -> bool;
}

/// The memory of a process that runs.
#[derive(Clone, Copy, Debug)]
pub struct ProcessMemory(pub u32);

impl Memory for ProcessMemory {
    fn read(&self, address: u64, into: &mut [u8]) -> bool {
        let Ok(start) = usize::try_from(address) else { return false };
        let ours = libc::iovec { iov_base: into.as_mut_ptr().cast(), iov_len: into.len() };
        let its = libc::iovec { iov_base: std::ptr::without_provenance_mut(start), iov_len: into.len() };
        // SAFETY: the kernel writes at most as many bytes as `into` has, which is borrowed for that; the other address is
        // the other process's, and may be any number.
        let read =
            unsafe { libc::process_vm_readv(self.0.cast_signed(), &raw const ours, 1, &raw const its, 1, 0) };
        usize::try_from(read).is_ok_and(|read| read == into.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn our_own_memory_is_read_and_no_other() {
        let text = *b"some bytes";
        let mut read = [0; 10];
        let memory = ProcessMemory(std::process::id());
        if !memory.read(text.as_ptr() as u64, &mut read) {
            return eprintln!("skipped: process_vm_readv is refused");
        }
        assert_eq!(read, text);
        assert!(!memory.read(8, &mut read) && !memory.read(u64::MAX, &mut read));
    }
}
