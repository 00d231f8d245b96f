//! The library that `fg-record --alloc` loads into the programs it records: it samples what they allocate.
//!
//! This is no module of the crate: `build.rs` compiles it by itself, without the standard library, and
//! [`super`] holds the result. The dynamic linker loads it before the C library (`LD_PRELOAD`), so that its
//! `malloc` and `free` are those that the program calls. They count bytes, and call the next ones.
//!
//! Each thread draws the number of bytes until its next sample from an exponential distribution, so that a byte
//! is as likely to be sampled as any other. Allocations of at least the mean number of bytes are always samples.
//! An allocation between two samples costs a comparison and a subtraction; a release costs a look into a table
//! of bytes.
//!
//! A sample is a write to [`TRIGGER`], an address at which the recorder has set a hardware breakpoint: the kernel
//! then copies registers and stack as for any other sample. The write is the last instruction before the return
//! to the program: the registers are the caller's again, but for those that a call may change. These hold
//!
//! ```text
//! rdi  the size, 0 without an allocation      rsi  the number of the sample in its process, from 1 on
//! rdx  the mean number of bytes               r8 to r11  numbers of samples that were released, or 0
//! ```
//! `collapse::perf_data::alloc` reads them.

#![no_std]

use core::arch::{asm, global_asm, naked_asm};
use core::ffi::{c_char, c_int, c_void};
use core::ptr::null_mut;
use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicU8, AtomicU32, AtomicU64, AtomicUsize, Ordering::*};

/// The address of the breakpoint. It is below what other tools and run times map at fixed addresses, and above
/// all programs that are not position-independent.
const TRIGGER: usize = 0x27_5a5a_0000;

#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    abort()
}

unsafe extern "C" {
    safe fn abort() -> !;
    safe fn getpid() -> c_int;
    safe fn sched_yield() -> c_int;
    fn getenv(name: *const c_char) -> *const c_char;
    fn mmap(
        at: *mut c_void,
        length: usize,
        access: c_int,
        flags: c_int,
        file: c_int,
        offset: i64,
    ) -> *mut c_void;
    fn clock_gettime(clock: c_int, time: *mut [i64; 2]) -> c_int;
    fn munmap(at: *mut c_void, length: usize) -> c_int;
}

/// The address of a function of the C library that may be missing, without a reference that the linker insists on.
macro_rules! weak {
    ($name:literal) => {{
        let at: *mut c_void;
        // SAFETY: reads a word that the dynamic linker has filled.
        unsafe {
            asm!(
                concat!(".weak ", $name),
                concat!("mov {at}, qword ptr [rip + ", $name, "@GOTPCREL]"),
                at = out(reg) at,
                options(nostack, readonly, preserves_flags)
            );
        }
        at
    }};
}

// The core library refers to this, and nothing here unwinds. Visible, it would take the place of others'.
global_asm!(".globl rust_eh_personality", ".hidden rust_eh_personality", "rust_eh_personality: ret");

// The state of a thread; see `State`. Libraries that are loaded at the start have room for it at a fixed
// distance from the thread's pointer, so that finding it calls nothing.
global_asm!(
    ".section .tbss.fg_state,\"awT\",@nobits",
    ".balign 16",
    ".type fg_state, @object",
    ".size fg_state, 96",
    "fg_state: .zero 96",
    ".text",
);

/// The state of a thread, at first all zeros.
#[repr(C)]
struct State {
    /// The number of bytes until the slow way is taken.
    left: u64,
    /// The number of bytes from there to the next sample.
    rest: u64,
    /// The state of the random numbers; 0 before the first.
    random: u64,
    /// The mean number of bytes between two samples, of which the next one was drawn.
    mean: u64,
    /// The values of registers at the next sample.
    report: Report,
}

#[repr(C)]
struct Report {
    size: u64,
    number: u64,
    mean: u64,
    released: [u64; RELEASED],
}

/// The number of releases that a sample tells.
const RELEASED: usize = 4;

const _: () = assert!(size_of::<State>() <= 96 && core::mem::offset_of!(State, report) == 32);

fn state() -> *mut State {
    let at: *mut State;
    // SAFETY: the thread's pointer is the first word of what it points at.
    unsafe {
        asm!(
            "mov {at}, qword ptr [rip + fg_state@GOTTPOFF]",
            "add {at}, qword ptr fs:[0]",
            at = out(reg) at,
            options(nostack, readonly, preserves_flags)
        );
    }
    at
}

// The functions of the program's allocator; null before `begin`.
static MALLOC: AtomicPtr<c_void> = AtomicPtr::new(null_mut());
static CALLOC: AtomicPtr<c_void> = AtomicPtr::new(null_mut());
static REALLOC: AtomicPtr<c_void> = AtomicPtr::new(null_mut());
static FREE: AtomicPtr<c_void> = AtomicPtr::new(null_mut());
static POSIX_MEMALIGN: AtomicPtr<c_void> = AtomicPtr::new(null_mut());
static ALIGNED_ALLOC: AtomicPtr<c_void> = AtomicPtr::new(null_mut());
static MEMALIGN: AtomicPtr<c_void> = AtomicPtr::new(null_mut());
static VALLOC: AtomicPtr<c_void> = AtomicPtr::new(null_mut());
static PVALLOC: AtomicPtr<c_void> = AtomicPtr::new(null_mut());

/// Calls a function of the program's allocator.
macro_rules! real {
    ($function:ident($($argument:expr),*) -> $result:ty) => {{
        // SAFETY: the function of this name has these arguments.
        unsafe {
            let function = $function.load(Relaxed);
            core::mem::transmute::<*mut c_void, unsafe extern "C" fn($(real!(@ $argument)),*) -> $result>(function)(
                $($argument),*
            )
        }
    }};
    (@ $argument:expr) => { usize };
}

/// The mean number of bytes between two samples at present; 0 to take none.
static MEAN: AtomicU64 = AtomicU64::new(0);
/// The mean that was asked for.
static LEAST_MEAN: AtomicU64 = AtomicU64::new(0);
/// The nanoseconds that `WINDOW` samples take at least on average; 0 for any rate.
static WINDOW_TIME: AtomicU64 = AtomicU64::new(0);
/// The number of samples from one adjustment of the mean to the next.
const WINDOW: u64 = 32;
static HAS_BEGUN: AtomicBool = AtomicBool::new(false);
static IS_BEGINNING: AtomicBool = AtomicBool::new(false);

/// The number of slots of the table of bytes. With 20,000 samples in use, a program of 10 GB at the default,
/// a quarter of all releases look closer.
const SLOTS: usize = 1 << 16;
/// For each slot the number of samples in use with an address of this slot; 255 stands for any number.
static IN_USE: [AtomicU8; SLOTS] = [const { AtomicU8::new(0) }; SLOTS];

/// The factor that spreads addresses, for slots and for the table.
const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;

fn slot(address: usize) -> &'static AtomicU8 {
    &IN_USE[((address as u64 >> 4).wrapping_mul(SPREAD) >> 48) as usize]
}

/// Memory for calls before the program has an allocator: the dynamic linker itself may allocate while it looks
/// the functions up.
static EARLY: [AtomicU64; 4096] = [const { AtomicU64::new(0) }; 4096];
static EARLY_USED: AtomicUsize = AtomicUsize::new(0);

fn is_early(address: usize) -> bool {
    address.wrapping_sub(EARLY.as_ptr() as usize) < size_of_val(&EARLY)
}

fn early(size: usize) -> usize {
    let size = size.saturating_add(31) & !15;
    let at = EARLY_USED.fetch_add(size, Relaxed);
    // The first word holds the size, so that it can be copied to where it is made larger.
    let begin = (EARLY.as_ptr() as usize).next_multiple_of(16) + at;
    if at.saturating_add(size).saturating_add(16) > size_of_val(&EARLY) {
        return 0;
    }
    EARLY[(begin - EARLY.as_ptr() as usize) / 8].store(size as u64 - 16, Relaxed);
    begin + 16
}

/// Looks up the program's allocator, and the settings. Returns false while that is being done.
fn begin() -> bool {
    if HAS_BEGUN.load(Acquire) {
        return true;
    }
    if IS_BEGINNING.swap(true, AcqRel) {
        return HAS_BEGUN.load(Acquire);
    }
    const NEXT: *mut c_void = -1isize as *mut c_void;
    // Before its version 2.34, glibc has the first in a library of its own; it has always had the others, musl
    // has not.
    let dlsym = weak!("dlsym");
    for (function, name, of_glibc) in [
        (&MALLOC, c"malloc", weak!("__libc_malloc")),
        (&CALLOC, c"calloc", weak!("__libc_calloc")),
        (&REALLOC, c"realloc", weak!("__libc_realloc")),
        (&POSIX_MEMALIGN, c"posix_memalign", null_mut()),
        (&ALIGNED_ALLOC, c"aligned_alloc", weak!("__libc_memalign")),
        (&MEMALIGN, c"memalign", weak!("__libc_memalign")),
        (&VALLOC, c"valloc", weak!("__libc_valloc")),
        (&PVALLOC, c"pvalloc", weak!("__libc_pvalloc")),
        (&FREE, c"free", weak!("__libc_free")),
    ] {
        let found = match dlsym.is_null() {
            true => of_glibc,
            // SAFETY: this function has these arguments; a handle that the dynamic linker knows, and a text.
            false => unsafe {
                type Find = unsafe extern "C" fn(*mut c_void, *const c_char) -> *mut c_void;
                core::mem::transmute::<*mut c_void, Find>(dlsym)(NEXT, name.as_ptr())
            },
        };
        function.store(found, Relaxed);
    }
    settings();
    HAS_BEGUN.store(true, Release);
    true
}

/// Reads the settings, if the breakpoint's page can be mapped: the mean number of bytes between two samples, and
/// behind a comma the most samples of a second.
fn settings() {
    const READ_WRITE: c_int = 3;
    const PRIVATE_ANONYMOUS_NOREPLACE: c_int = 0x02 | 0x20 | 0x10_0000;
    let mut numbers = [0u64; 2];
    // SAFETY: a text of the environment, up to its end; a new page, which takes nobody's place.
    unsafe {
        let mut text = getenv(c"FG_RECORD_ALLOC".as_ptr());
        if text.is_null() {
            return;
        }
        for number in &mut numbers {
            while let digit @ 0x30..=0x39 = *text {
                *number = number.saturating_mul(10).saturating_add(digit as u64 - 0x30);
                text = text.add(1);
            }
            text = text.add(usize::from(*text == b',' as c_char));
        }
        let at = TRIGGER as *mut c_void;
        let page = mmap(at, 4096, READ_WRITE, PRIVATE_ANONYMOUS_NOREPLACE, -1, 0);
        if page != at {
            if page as isize != -1 {
                munmap(page, 4096);
            }
            return;
        }
    }
    let [mean, rate] = numbers;
    if rate > 0 {
        WINDOW_TIME.store(WINDOW * 1_000_000_000 / rate, Relaxed);
    }
    LEAST_MEAN.store(mean.min(MOST_MEAN), Relaxed);
    MEAN.store(mean.min(MOST_MEAN), Relaxed);
}

/// The largest mean: a terabyte.
const MOST_MEAN: u64 = 1 << 40;

/// Returns the mean of which an allocation of this size is a sample, if it is one.
fn tick(size: usize) -> Option<u64> {
    let now = MEAN.load(Relaxed);
    let size = size as u64;
    // SAFETY: this thread's own.
    let state = unsafe { &mut *state() };
    if now == 0 {
        state.left = 1 << 62;
        return None;
    }
    if state.random == 0 {
        static THREADS: AtomicU64 = AtomicU64::new(0);
        let thread = THREADS.fetch_add(1, Relaxed);
        state.random = spread((getpid() as u64) << 32 | thread) | 1;
        state.next(now);
    }
    let (mean, left) = (state.mean, state.left + state.rest);
    if size < mean && size < left {
        state.set(left - size);
        return None;
    }
    // However far the next sample was, it is as far again.
    state.next(now);
    Some(mean)
}

impl State {
    /// Sets the number of bytes to the next sample. `left` is never more than the mean, so that larger
    /// allocations come to `tick`.
    fn set(&mut self, bytes: u64) {
        self.left = bytes.min(self.mean);
        self.rest = bytes - self.left;
    }

    /// Draws the number of bytes to the next sample.
    fn next(&mut self, mean: u64) {
        self.mean = mean;
        let bytes = draw(&mut self.random, mean);
        self.set(bytes);
    }
}

fn spread(mut x: u64) -> u64 {
    x = (x ^ x >> 30).wrapping_add(SPREAD).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ x >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ x >> 31
}

/// A number of bytes, at least 1, from an exponential distribution.
fn draw(random: &mut u64, mean: u64) -> u64 {
    *random ^= *random << 13;
    *random ^= *random >> 7;
    *random ^= *random << 17;
    // Above 0 and at most 1: the exponent and the mantissa of the logarithm's argument.
    let bits = (*random >> 11) + 1;
    let exponent = 63 - bits.leading_zeros();
    let mantissa = bits as f64 / (1u64 << exponent) as f64;
    // ln m = 2 artanh ((m - 1) / (m + 1)), and m is below 2: the terms fall by a factor of 9.
    let t = (mantissa - 1.0) / (mantissa + 1.0);
    let (mut sum, mut power) = (0.0, t);
    for n in 0..12u32 {
        sum += power / f64::from(2 * n + 1);
        power *= t * t;
    }
    let ln = 2.0 * sum + (exponent as f64 - 53.0) * core::f64::consts::LN_2;
    ((-ln * mean as f64) as u64).max(1)
}

/// The samples in use: addresses and numbers, in a table that only the owner of `LOCK` touches.
struct Table {
    entries: *mut [usize; 2],
    /// A power of two, or 0.
    size: usize,
    /// Entries that are in use, or were.
    used: usize,
    /// The number of the last sample.
    last: u64,
    /// Numbers of samples that were released, and not yet told.
    released: [u64; RELEASED],
    /// The process that has released them: a forked one has a copy of what its parent tells.
    owner: u32,
    /// The time of the last adjustment.
    adjusted: u64,
}

static mut TABLE: Table =
    Table { entries: null_mut(), size: 0, used: 0, last: 0, released: [0; RELEASED], owner: 0, adjusted: 0 };
/// The process that has locked the table; 0 if none has.
static LOCK: AtomicU32 = AtomicU32::new(0);

/// An entry that was in use.
const GONE: usize = 1;

/// Calls a function with the table. Does not if that takes too long: a signal may have interrupted the owner.
fn with_table<T>(call: impl FnOnce(&mut Table) -> T) -> Option<T> {
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
    fn insert(&mut self, address: usize, number: u64) -> bool {
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

    /// Takes fewer samples where there are too many of them a second, and more again where there are not.
    fn adjust(&mut self) {
        let least = WINDOW_TIME.load(Relaxed);
        if least == 0 || self.last % WINDOW != 0 {
            return;
        }
        let mut time = [0i64; 2];
        const MONOTONIC: c_int = 1;
        // SAFETY: a place for seconds and nanoseconds.
        unsafe { clock_gettime(MONOTONIC, &mut time) };
        let now = (time[0] as u64).wrapping_mul(1_000_000_000).wrapping_add(time[1] as u64);
        let took = now.wrapping_sub(self.adjusted);
        let mean = MEAN.load(Relaxed);
        if self.adjusted != 0 && took < least && mean < MOST_MEAN {
            MEAN.store(mean * 2, Relaxed);
        } else if took / 4 > least && mean > LEAST_MEAN.load(Relaxed) {
            MEAN.store(mean / 2, Relaxed);
        }
        self.adjusted = now;
    }

    /// Takes an address out, and returns its number.
    fn remove(&mut self, address: usize) -> Option<u64> {
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
            // SAFETY: nobody refers to it any more.
            unsafe { munmap(old.0.cast(), old.1 * 16) };
        }
        true
    }
}

/// Notes a sample, whose registers are then in the thread's report. Returns false if it is none after all.
fn note(address: usize, size: usize, mean: u64) -> bool {
    let noted = with_table(|table| {
        let number = table.last + 1;
        table.insert(address, number).then(|| {
            table.last = number;
            table.adjust();
            (number, core::mem::take(&mut table.released))
        })
    });
    let Some(Some((number, released))) = noted else { return false };
    // SAFETY: this thread's own.
    unsafe { (*state()).report = Report { size: size as u64, number, mean, released } };
    true
}

/// Tells that a sample was released: with the next sample, or now if there is no room.
fn released(number: u64) {
    let full = with_table(|table| {
        let mut full = None;
        if table.released.iter().all(|number| *number != 0) {
            full = Some(core::mem::take(&mut table.released));
        }
        if let Some(free) = table.released.iter_mut().find(|number| **number == 0) {
            *free = number;
        }
        full
    });
    if let Some(Some(released)) = full {
        tell(released);
    }
}

/// Tells of releases alone.
fn tell(released: [u64; RELEASED]) {
    // SAFETY: this thread's own.
    unsafe { (*state()).report = Report { size: 0, number: 0, mean: MEAN.load(Relaxed), released } };
    fg_report();
}

extern "C" fn end() {
    // SAFETY: reads a number. A process made by vfork ends in its parent's memory.
    let owner = unsafe { (&raw const TABLE.owner).read_volatile() };
    if MEAN.load(Relaxed) == 0 || owner != getpid() as u32 {
        return;
    }
    let rest = with_table(|table| core::mem::take(&mut table.released));
    if let Some(rest) = rest.filter(|rest| rest[0] != 0) {
        tell(rest);
    }
}

/// Tells what was released last, when the program ends.
#[used]
#[unsafe(link_section = ".fini_array")]
static END: extern "C" fn() = end;

/// Ends the process at once, which runs no functions of its end.
#[unsafe(no_mangle)]
extern "C" fn _exit(status: c_int) -> ! {
    end();
    // SAFETY: a system call that does not return: `exit_group`.
    unsafe { asm!("syscall", "ud2", in("rax") 231, in("rdi") status, options(noreturn)) }
}

/// The same by its name in the C standard.
#[allow(non_snake_case)]
#[unsafe(no_mangle)]
extern "C" fn _Exit(status: c_int) -> ! {
    _exit(status)
}

/// Writes to the breakpoint's address, with the registers of the thread's report, and returns.
#[unsafe(naked)]
extern "C" fn fg_report() {
    naked_asm!(
        ".cfi_startproc",
        "mov rcx, qword ptr [rip + fg_state@GOTTPOFF]",
        "mov rdi, qword ptr fs:[rcx + 32]",
        "mov rsi, qword ptr fs:[rcx + 40]",
        "mov rdx, qword ptr fs:[rcx + 48]",
        "mov r8, qword ptr fs:[rcx + 56]",
        "mov r9, qword ptr fs:[rcx + 64]",
        "mov r10, qword ptr fs:[rcx + 72]",
        "mov r11, qword ptr fs:[rcx + 80]",
        "movabs rcx, {trigger}",
        "mov qword ptr [rcx], rsi",
        "ret",
        ".cfi_endproc",
        trigger = const TRIGGER,
    )
}

/// The result of a function of the allocator, in two registers.
#[repr(C)]
struct Outcome {
    result: usize,
    /// It is a sample.
    is_sample: usize,
}

impl Outcome {
    fn of(address: usize, size: usize) -> Outcome {
        Outcome {
            result: address,
            is_sample: usize::from(address != 0 && tick(size).is_some_and(|mean| note(address, size, mean))),
        }
    }

    fn plain(result: usize) -> Outcome {
        Outcome { result, is_sample: 0 }
    }
}

extern "C" fn slow_malloc(size: usize) -> Outcome {
    match begin() {
        true => Outcome::of(real!(MALLOC(size) -> usize), size),
        false => Outcome::plain(early(size)),
    }
}

extern "C" fn slow_calloc(count: usize, size: usize) -> Outcome {
    match begin() {
        true => Outcome::of(real!(CALLOC(count, size) -> usize), count.saturating_mul(size)),
        // It is all zeros.
        false => Outcome::plain(count.checked_mul(size).map_or(0, early)),
    }
}

extern "C" fn slow_realloc(old: usize, size: usize) -> Outcome {
    if is_early(old) {
        let new = slow_malloc(size);
        // SAFETY: the size is in front of it, and both are at least as large as what is copied.
        if new.result != 0 {
            unsafe {
                let old_size = *((old - 16) as *const u64) as usize;
                core::ptr::copy_nonoverlapping(old as *const u8, new.result as *mut u8, old_size.min(size));
            }
        }
        return new;
    }
    if !begin() {
        return slow_malloc(size);
    }
    let number = take(old);
    let new = real!(REALLOC(old, size) -> usize);
    match number {
        // It is still there.
        Some(number) if new == 0 && size > 0 => drop(with_table(|table| table.insert(old, number))),
        Some(number) => released(number),
        None => {}
    }
    Outcome::of(new, size)
}

/// Takes an address out of the table, if it may be in it.
fn take(address: usize) -> Option<u64> {
    if address == 0 || slot(address).load(Relaxed) == 0 {
        return None;
    }
    with_table(|table| table.remove(address)).flatten()
}

extern "C" fn slow_free(address: usize) {
    if is_early(address) || !begin() {
        return;
    }
    if let Some(number) = take(address) {
        released(number);
    }
    real!(FREE(address) -> ());
}

extern "C" fn slow_posix_memalign(place: usize, alignment: usize, size: usize) -> Outcome {
    const EINVAL: usize = 22;
    const ENOMEM: usize = 12;
    if !begin() {
        return Outcome::plain(ENOMEM);
    }
    let found = place as *mut usize;
    let result = if !POSIX_MEMALIGN.load(Relaxed).is_null() {
        real!(POSIX_MEMALIGN(place, alignment, size) -> c_int) as usize
    } else if !alignment.is_power_of_two() || alignment % size_of::<usize>() != 0 {
        EINVAL
    } else {
        let address = real!(MEMALIGN(alignment, size) -> usize);
        if address == 0 {
            ENOMEM
        } else {
            // SAFETY: the caller's place for the address.
            unsafe { *found = address };
            0
        }
    };
    // SAFETY: there is an address if the function returns 0.
    let address = if result == 0 { unsafe { *found } } else { 0 };
    Outcome { result, ..Outcome::of(address, size) }
}

macro_rules! aligned {
    ($name:ident, $function:ident) => {
        extern "C" fn $name(alignment: usize, size: usize) -> Outcome {
            if !begin() || $function.load(Relaxed).is_null() {
                return Outcome::plain(0);
            }
            Outcome::of(real!($function(alignment, size) -> usize), size)
        }
    };
}

aligned!(slow_aligned_alloc, ALIGNED_ALLOC);
aligned!(slow_memalign, MEMALIGN);

macro_rules! paged {
    ($name:ident, $function:ident) => {
        extern "C" fn $name(size: usize) -> Outcome {
            if !begin() || $function.load(Relaxed).is_null() {
                return Outcome::plain(0);
            }
            Outcome::of(real!($function(size) -> usize), size)
        }
    };
}

paged!(slow_valloc, VALLOC);
paged!(slow_pvalloc, PVALLOC);

/// Defines a function of the allocator: a fast way for most calls, if it has one, and a slow way, behind which
/// a sample is written.
macro_rules! interpose {
    ($name:ident, $slow:ident $(, $fast:literal)* $(; $($key:ident = sym $symbol:path),*)?) => {
        #[unsafe(naked)]
        #[unsafe(no_mangle)]
        extern "C" fn $name() {
            naked_asm!(
                ".cfi_startproc",
                $($fast,)*
                "2:",
                "sub rsp, 8",
                ".cfi_adjust_cfa_offset 8",
                "call {slow}",
                "add rsp, 8",
                ".cfi_adjust_cfa_offset -8",
                "test rdx, rdx",
                "jnz {report}",
                "ret",
                ".cfi_endproc",
                $($($key = sym $symbol,)*)?
                slow = sym $slow,
                report = sym fg_report,
            )
        }
    };
}

interpose!(
    malloc, slow_malloc,
    "mov rax, qword ptr [rip + fg_state@GOTTPOFF]",
    "cmp qword ptr fs:[rax], rdi",
    "jbe 2f",
    "sub qword ptr fs:[rax], rdi",
    "jmp qword ptr [rip + {real}]";
    real = sym MALLOC
);
interpose!(
    calloc, slow_calloc,
    "mov rax, rdi",
    "mul rsi",
    "jo 2f",
    "mov rcx, qword ptr [rip + fg_state@GOTTPOFF]",
    "cmp qword ptr fs:[rcx], rax",
    "jbe 2f",
    "sub qword ptr fs:[rcx], rax",
    "jmp qword ptr [rip + {real}]";
    real = sym CALLOC
);
interpose!(
    free, slow_free_outcome,
    "test rdi, rdi",
    "jz 3f",
    "mov rax, rdi",
    "shr rax, 4",
    "movabs rcx, 0x9e3779b97f4a7c15",
    "imul rax, rcx",
    "shr rax, 48",
    "lea rcx, [rip + {in_use}]",
    "cmp byte ptr [rcx + rax], 0",
    "jne 2f",
    "mov rax, rdi",
    "lea rcx, [rip + {early}]",
    "sub rax, rcx",
    "cmp rax, 32768",
    "jb 3f",
    "mov rax, qword ptr [rip + {real}]",
    "test rax, rax",
    "jz 2f",
    "jmp rax",
    "3: ret";
    real = sym FREE, in_use = sym IN_USE, early = sym EARLY
);
interpose!(realloc, slow_realloc);
interpose!(posix_memalign, slow_posix_memalign);
interpose!(aligned_alloc, slow_aligned_alloc);
interpose!(memalign, slow_memalign);
interpose!(valloc, slow_valloc);
interpose!(pvalloc, slow_pvalloc);

extern "C" fn slow_free_outcome(address: usize) -> Outcome {
    slow_free(address);
    Outcome::plain(0)
}
