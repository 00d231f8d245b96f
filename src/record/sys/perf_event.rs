//! `perf_event_open`, and the ring of memory through which the kernel hands over its records.
//!
//! The layout of everything here is `linux/perf_event.h`.

use std::ffi::CStr;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};

use super::check;

/// `struct perf_event_attr` as far as its fifth version, which every perf reads.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Attr {
    /// The kind of event.
    pub kind: u32,
    /// The size of this struct in bytes.
    pub size: u32,
    /// The event among those of its kind.
    pub config: u64,
    /// The number of events from one sample to the next, or of samples a second with [`flag::FREQ`].
    pub period_or_rate: u64,
    /// The fields that a sample holds: see [`sample`].
    pub sample_type: u64,
    /// The fields that reading the descriptor gives.
    pub read_format: u64,
    /// Bits of [`flag`].
    pub flags: u64,
    /// The number of bytes in the ring at which we are woken, with [`flag::WATERMARK`].
    pub wakeup: u32,
    /// The type of a breakpoint.
    pub breakpoint: u32,
    /// More of `config`.
    pub config1: u64,
    /// More of `config`.
    pub config2: u64,
    /// The branches to sample.
    pub branch_sample_type: u64,
    /// The registers that a sample holds.
    pub sample_regs_user: u64,
    /// The number of bytes of the stack that a sample holds.
    pub sample_stack_user: u32,
    /// The clock of the samples' times.
    pub clock: i32,
    /// Registers at the interrupt.
    pub sample_regs_intr: u64,
    /// The number of bytes in the auxiliary ring at which we are woken.
    pub aux_watermark: u32,
    /// The most frames of a chain of frame pointers; 0 is the system's limit.
    pub sample_max_stack: u16,
    /// Unused: 0.
    pub reserved: u16,
}

/// The size of [`Attr`], for the kernel and perf.data.
pub const ATTR_SIZE: u32 = 112;
const _: () = assert!(size_of::<Attr>() == ATTR_SIZE as usize);

impl Attr {
    /// The bytes that perf.data holds.
    pub fn to_bytes(&self) -> [u8; ATTR_SIZE as usize] {
        // SAFETY: a repr(C) struct of integers without padding, as the assertion above shows.
        unsafe { std::mem::transmute_copy(self) }
    }
}

/// The type of a breakpoint: [`Attr::breakpoint`] at a write.
pub const BREAKPOINT_WRITE: u32 = 2;

/// Bits of [`Attr::flags`].
#[allow(missing_docs)]
pub mod flag {
    pub const DISABLED: u64 = 1 << 0;
    pub const INHERIT: u64 = 1 << 1;
    pub const EXCLUDE_USER: u64 = 1 << 4;
    pub const EXCLUDE_KERNEL: u64 = 1 << 5;
    pub const EXCLUDE_HV: u64 = 1 << 6;
    pub const MMAP: u64 = 1 << 8;
    pub const COMM: u64 = 1 << 9;
    pub const FREQ: u64 = 1 << 10;
    pub const ENABLE_ON_EXEC: u64 = 1 << 12;
    pub const TASK: u64 = 1 << 13;
    pub const WATERMARK: u64 = 1 << 14;
    /// Two bits: 3 is as precise as it gets.
    pub const PRECISE: u32 = 15;
    pub const MMAP_DATA: u64 = 1 << 17;
    pub const SAMPLE_ID_ALL: u64 = 1 << 18;
    pub const EXCLUDE_GUEST: u64 = 1 << 20;
    pub const EXCLUDE_CALLCHAIN_USER: u64 = 1 << 22;
    pub const MMAP2: u64 = 1 << 23;
    pub const COMM_EXEC: u64 = 1 << 24;
    pub const CONTEXT_SWITCH: u64 = 1 << 26;
    pub const USE_CLOCKID: u64 = 1 << 25;
    pub const BUILD_ID: u64 = 1 << 34;
    pub const INHERIT_THREAD: u64 = 1 << 35;
}

/// Bits of [`Attr::sample_type`].
#[allow(missing_docs)]
pub mod sample {
    pub const IP: u64 = 1 << 0;
    pub const TID: u64 = 1 << 1;
    pub const TIME: u64 = 1 << 2;
    pub const CALLCHAIN: u64 = 1 << 5;
    pub const CPU: u64 = 1 << 7;
    pub const PERIOD: u64 = 1 << 8;
    pub const REGS_USER: u64 = 1 << 12;
    pub const STACK_USER: u64 = 1 << 13;
    pub const IDENTIFIER: u64 = 1 << 16;
}

/// Bits of [`Attr::read_format`].
#[allow(missing_docs)]
pub mod read_format {
    pub const LOST: u64 = 1 << 4;
}

/// Kinds of records.
#[allow(missing_docs)]
pub mod record {
    pub const LOST: u32 = 2;
    pub const COMM: u32 = 3;
    pub const THROTTLE: u32 = 5;
    pub const UNTHROTTLE: u32 = 6;
    pub const EXIT: u32 = 4;
    pub const FORK: u32 = 7;
    pub const READ: u32 = 8;
    pub const SAMPLE: u32 = 9;
    pub const MMAP2: u32 = 10;
    pub const MMAP: u32 = 1;
    pub const SWITCH: u32 = 14;
    pub const SWITCH_CPU_WIDE: u32 = 15;
    pub const LOST_SAMPLES: u32 = 13;
    /// All rings have been read once: only in perf.data.
    pub const FINISHED_ROUND: u32 = 68;
    /// Records, compressed: only in perf.data.
    pub const COMPRESSED: u32 = 81;
    /// An event: only in perf.data that goes through a pipe.
    pub const HEADER_ATTR: u32 = 64;
    /// A feature: only in perf.data that goes through a pipe.
    pub const HEADER_FEATURE: u32 = 80;
    /// A part of the recording ends: only in a recording that is folded by this very process.
    pub const PART: u32 = 0x6667_0001;
    /// A message on an interpreter of Python: only in a recording that is folded by this very process.
    pub const PYTHON: u32 = 0x6667_0002;
    /// A header's `misc`: kernel mode.
    pub const MISC_KERNEL: u16 = 1;
    /// A header's `misc`: user mode.
    pub const MISC_USER: u16 = 2;
    /// A header's `misc`: a mapping that comes with its build id.
    pub const MISC_BUILD_ID: u16 = 1 << 14;
    /// A header's `misc`: a name that a thread has as it becomes another program.
    pub const MISC_COMM_EXEC: u16 = 1 << 13;
    /// A header's `misc`: a mapping that is not executable; a thread leaves the processor.
    pub const MISC_DATA_OR_OUT: u16 = 1 << 13;
}

/// The threads whose events are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Who {
    /// A thread, on whatever processor it runs; a mapped ring needs one event for each of them.
    Thread(u32),
    /// All threads.
    Everybody,
    /// The threads of a control group, whose folder is open with this descriptor.
    Group(RawFd),
}

/// An open event.
#[derive(Debug)]
pub struct Event {
    fd: OwnedFd,
}

impl Event {
    /// Opens one on a processor, or on any.
    ///
    /// # Errors
    /// The error of the system.
    pub fn open(attr: &Attr, who: Who, cpu: Option<u32>) -> io::Result<Event> {
        Event::open_probe(attr, None, who, cpu)
    }

    /// Opens one at a probe in a file, or in a function of the kernel: `probed` is its name, which
    /// [`Attr::config1`] refers to in memory.
    ///
    /// # Errors
    /// The error of the system.
    pub fn open_probe(attr: &Attr, probed: Option<&CStr>, who: Who, cpu: Option<u32>) -> io::Result<Event> {
        let mut attr = *attr;
        if let Some(name) = probed {
            attr.config1 = name.as_ptr() as u64;
        }
        const FLAG_PID_CGROUP: libc::c_ulong = 1 << 2;
        const FLAG_FD_CLOEXEC: libc::c_ulong = 1 << 3;
        let pid: libc::pid_t = match who {
            Who::Thread(tid) => tid.cast_signed(),
            Who::Everybody => -1,
            Who::Group(folder) => folder,
        };
        let flags = match who {
            Who::Group(_) => FLAG_FD_CLOEXEC | FLAG_PID_CGROUP,
            _ => FLAG_FD_CLOEXEC,
        };
        let cpu = cpu.map_or(-1, u32::cast_signed);
        let group: libc::c_int = -1;
        // SAFETY: the attr and the text it may refer to are live, and its size is what it says; the rest are
        // integers.
        let fd = unsafe { libc::syscall(libc::SYS_perf_event_open, &raw const attr, pid, cpu, group, flags) };
        let fd = check(libc::c_int::try_from(fd).unwrap_or(-1))?;
        // SAFETY: a descriptor the kernel has just made for us.
        Ok(Event { fd: unsafe { OwnedFd::from_raw_fd(fd) } })
    }

    /// The descriptor, to poll and to map.
    pub fn fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }

    /// The number by which samples name it.
    ///
    /// # Errors
    /// The error of the system.
    pub fn id(&self) -> io::Result<u64> {
        const IOC_ID: libc::c_ulong = 0x8008_2407;
        let mut id = 0u64;
        // SAFETY: the kernel writes eight bytes to a live u64.
        check(unsafe { libc::ioctl(self.fd.as_raw_fd(), IOC_ID as _, &raw mut id) })?;
        Ok(id)
    }

    /// Reads its count, that of its inherited ones included, and the samples that its ring had no room for, if
    /// [`Attr::read_format`] has [`read_format::LOST`].
    ///
    /// # Errors
    /// The error of the system.
    pub fn read(&self) -> io::Result<(u64, u64)> {
        let mut numbers = [0u64; 2];
        let size = size_of_val(&numbers);
        // SAFETY: the kernel writes at most as many bytes as the live numbers have.
        let read = unsafe { libc::read(self.fd.as_raw_fd(), numbers.as_mut_ptr().cast(), size) };
        check(libc::c_int::try_from(read).unwrap_or(-1))?;
        Ok((numbers[0], numbers[1]))
    }

    /// Lets a tracepoint make samples only where a condition on its fields holds.
    ///
    /// # Errors
    /// The error of the system: `EINVAL` for a condition that it does not understand.
    pub fn set_filter(&self, condition: &CStr) -> io::Result<()> {
        const IOC_SET_FILTER: libc::c_ulong = 0x4008_2406;
        // SAFETY: the kernel reads a text up to its zero byte, which is live.
        check(unsafe { libc::ioctl(self.fd.as_raw_fd(), IOC_SET_FILTER as _, condition.as_ptr()) })?;
        Ok(())
    }

    /// Begins to count, the inherited ones too.
    ///
    /// # Errors
    /// The error of the system.
    pub fn enable(&self) -> io::Result<()> {
        self.ioctl(0x2400, 0)
    }

    /// Ends counting.
    ///
    /// # Errors
    /// The error of the system.
    pub fn disable(&self) -> io::Result<()> {
        self.ioctl(0x2401, 0)
    }

    /// Writes its records into the ring of another event of the same processor.
    ///
    /// # Errors
    /// The error of the system.
    pub fn write_to(&self, other: &Event) -> io::Result<()> {
        self.ioctl(0x2405, other.fd.as_raw_fd())
    }

    fn ioctl(&self, request: libc::c_ulong, argument: libc::c_int) -> io::Result<()> {
        // SAFETY: requests without pointers.
        check(unsafe { libc::ioctl(self.fd.as_raw_fd(), request as _, argument) }).map(|_| ())
    }
}

/// The memory an event's records arrive in: a page of numbers, then a ring whose size is a power
/// of two.
#[derive(Debug)]
pub struct Ring {
    base: NonNull<u8>,
    mapped: usize,
    /// The ring's offset in the mapping, and its length.
    data: (usize, usize),
}

// SAFETY: the memory is this value's alone, and the kernel does not care which thread reads it.
unsafe impl Send for Ring {}

/// Offsets in `struct perf_event_mmap_page`.
const DATA_HEAD: usize = 1024;
const DATA_TAIL: usize = 1032;

impl Ring {
    /// Maps a ring of `size` bytes, a power of two and at least a page.
    ///
    /// # Errors
    /// The error of the system: `EPERM` when that much memory may not be locked.
    pub fn map(event: &Event, size: usize, page: usize) -> io::Result<Ring> {
        let mapped = page + size;
        // SAFETY: a new mapping at an address the kernel chooses.
        let base = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                mapped,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_SHARED,
                event.fd.as_raw_fd(),
                0,
            )
        };
        if base == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let base = NonNull::new(base.cast()).ok_or_else(|| io::Error::other("mapped at address 0"))?;
        Ok(Ring { base, mapped, data: (page, size) })
    }

    /// The bytes that the kernel has written and we have not read, in two pieces where they run over
    /// the ring's end.
    pub fn pending(&mut self) -> (&[u8], &[u8]) {
        let (offset, size) = self.data;
        // The kernel writes the records before it moves the head.
        let head = self.ring_word(DATA_HEAD).load(Ordering::Acquire);
        let tail = self.ring_word(DATA_TAIL).load(Ordering::Relaxed);
        let length = (head.wrapping_sub(tail) as usize).min(size);
        let start = (tail as usize) & (size - 1);
        let first = length.min(size - start);
        // SAFETY: both pieces are within the mapping, and the kernel leaves what lies between tail
        // and head alone until `release` moves the tail, which needs this borrow to be over.
        unsafe {
            let data = self.base.as_ptr().add(offset);
            (
                std::slice::from_raw_parts(data.add(start), first),
                std::slice::from_raw_parts(data, length - first),
            )
        }
    }

    /// Gives `length` bytes of what was pending back to the kernel.
    pub fn release(&mut self, length: usize) {
        let tail = self.ring_word(DATA_TAIL);
        // All reads are over before the kernel may write there.
        tail.store(tail.load(Ordering::Relaxed).wrapping_add(length as u64), Ordering::Release);
    }

    fn ring_word(&self, offset: usize) -> &AtomicU64 {
        // SAFETY: within the first page, aligned, and shared with the kernel as atomic numbers.
        unsafe { AtomicU64::from_ptr(self.base.as_ptr().add(offset).cast()) }
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        // SAFETY: exactly what was mapped, and nothing borrows it any more.
        unsafe {
            libc::munmap(self.base.as_ptr().cast(), self.mapped);
        }
    }
}
