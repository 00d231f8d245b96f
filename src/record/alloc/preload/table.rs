//! The samples that are in use, and the bytes that say which releases have to look for one.

use core::ffi::c_int;
use core::ptr::null_mut;
use core::sync::atomic::{AtomicU8, AtomicU32, Ordering::*};

use crate::sampling::SPREAD;
use crate::thread::RELEASED;
use crate::{getpid, mmap, munmap, sched_yield};

/// The number of slots of the table of bytes. With 20,000 samples in use, a program of 10 GB at the default,
/// a quarter of all releases look closer.
pub(crate) const SLOTS: usize = 1 << 16;
/// For each slot the number of samples in use with an address of this slot; 255 stands for any number.
pub(crate) static IN_USE: [AtomicU8; SLOTS] = [const { AtomicU8::new(0) }; SLOTS];

/// The slot of an address. Neighbours have neighbouring slots: a program releases what lies near to what it has
/// released before, and then the slot is in the processor's cache.
pub(crate) fn slot(address: usize) -> &'static AtomicU8 {
    // The C library's chunks are 32 bytes apart at least.
    &IN_USE[address >> 5 & (SLOTS - 1)]
}

/// The samples in use: addresses and numbers, in a table that only the owner of `LOCK` touches.
pub(crate) struct Table {
    entries: *mut [usize; 2],
    /// A power of two, or 0.
    size: usize,
    /// Entries that are in use, or were.
    used: usize,
    /// The number of the last sample.
    pub(crate) last: u64,
    /// Numbers of samples that were released, and not yet told.
    pub(crate) released: [u64; RELEASED],
    /// The process that has released them: a forked one has a copy of what its parent tells.
    pub(crate) owner: u32,
    /// The time of the last adjustment.
    pub(crate) adjusted: u64,
}

pub(crate) static mut TABLE: Table =
    Table { entries: null_mut(), size: 0, used: 0, last: 0, released: [0; RELEASED], owner: 0, adjusted: 0 };
/// The process that has locked the table; 0 if none has.
pub(crate) static LOCK: AtomicU32 = AtomicU32::new(0);

/// An entry that was in use.
pub(crate) const GONE: usize = 1;

/// Calls a function with the table. Does not if that takes too long: a signal may have interrupted the owner.
pub(crate) fn with_table<T>(call: impl FnOnce(&mut Table) -> T) -> Option<T> {
    const TRIES: u32 = 100_000;
    let own = getpid() as u32;
    let mut tries = 0;
    while let Err(owner) = LOCK.compare_exchange_weak(0, own, Acquire, Relaxed) {
        // A process that was forked has a copy of a lock whose owner it has not.
        if owner != own && owner != 0 && LOCK.compare_exchange(owner, own, Acquire, Relaxed).is_ok() {
            break;
        }
        tries += 1;
        if tries > TRIES {
            return None;
        }
        if tries % 64 == 0 {
            sched_yield();
        }
        core::hint::spin_loop();
    }
    // SAFETY: the lock is ours.
    let table = unsafe { &mut *(&raw mut TABLE) };
    if table.owner != own {
        table.owner = own;
        table.released = [0; RELEASED];
    }
    let result = call(table);
    LOCK.store(0, Release);
    Some(result)
}

impl Table {
    /// The place of an address, or a free one for it.
    fn find(&self, address: usize) -> *mut [usize; 2] {
        let mut at = ((address as u64 >> 4).wrapping_mul(SPREAD) >> 20) as usize;
        loop {
            // SAFETY: within the table, of which a half is free at least.
            let entry = unsafe { self.entries.add(at & (self.size - 1)) };
            if matches!(unsafe { (*entry)[0] }, found if found == address || found == 0) {
                return entry;
            }
            at += 1;
        }
    }

    /// Puts an address in; false if there is no memory for it.
    pub(crate) fn insert(&mut self, address: usize, number: u64) -> bool {
        if self.used * 2 >= self.size && !self.grow() {
            return false;
        }
        let entry = self.find(address);
        // SAFETY: `find` returns an entry. The address comes last: without it the entry is none.
        unsafe {
            self.used += usize::from((*entry)[0] == 0);
            (*entry)[1] = number as usize;
            (*entry)[0] = address;
        }
        let slot = slot(address);
        slot.store(slot.load(Relaxed).saturating_add(1), Relaxed);
        true
    }

    /// Takes an address out, and returns its number.
    pub(crate) fn remove(&mut self, address: usize) -> Option<u64> {
        if self.size == 0 {
            return None;
        }
        let entry = self.find(address);
        // SAFETY: `find` returns an entry.
        let number = unsafe {
            if (*entry)[0] == 0 {
                return None;
            }
            (*entry)[0] = GONE;
            (*entry)[1] as u64
        };
        let slot = slot(address);
        let count = slot.load(Relaxed);
        if count < u8::MAX {
            slot.store(count.saturating_sub(1), Relaxed);
        }
        Some(number)
    }

    /// The entries in use.
    fn in_use(&self) -> impl Iterator<Item = [usize; 2]> + use<> {
        let (entries, size) = (self.entries, self.size);
        // SAFETY: within the table.
        (0..size).map(move |at| unsafe { *entries.add(at) }).filter(|entry| entry[0] > GONE)
    }

    /// Makes room for as many again, without those that are gone.
    fn grow(&mut self) -> bool {
        const READ_WRITE: c_int = 3;
        const PRIVATE_ANONYMOUS: c_int = 0x02 | 0x20;
        let count = self.in_use().count();
        let size = (count * 4).next_power_of_two().max(1024);
        // SAFETY: a new mapping.
        let at = unsafe { mmap(null_mut(), size * 16, READ_WRITE, PRIVATE_ANONYMOUS, -1, 0) };
        if at as isize == -1 {
            return false;
        }
        let new = Table { entries: at.cast(), size, used: count, ..Table { ..*self } };
        for entry in self.in_use() {
            // SAFETY: `find` returns an entry.
            unsafe { *new.find(entry[0]) = entry };
        }
        let old = (self.entries, self.size);
        *self = new;
        if old.1 > 0 {
            // SAFETY: nothing refers to it any more.
            unsafe { munmap(old.0.cast(), old.1 * 16) };
        }
        true
    }
}
