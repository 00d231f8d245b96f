//! The library that `fg-record --alloc` loads into the programs it records: it samples what they allocate.
//!
//! This folder is no module of the crate: `build.rs` compiles it by itself, without the standard library, and
//! `record::alloc` holds the result. The dynamic linker loads it before the C library (`LD_PRELOAD`), so that its
//! `malloc` and `free` are those that the program calls. They count bytes, and call the next ones.
//!
//! Each thread draws the number of bytes until its next sample from an exponential distribution, so that a byte
//! is as likely to be sampled as any other. Allocations of at least the mean number of bytes are always samples.
//! An allocation between two samples costs a subtraction; a release costs a look into a table of bytes.
//!
//! A sample is a write to [`trigger::TRIGGER`], an address at which the recorder has set a hardware breakpoint: the kernel
//! then copies registers and stack as for any other sample. The write is the last instruction before the return
//! to the program: the registers are the caller's again, but for those that a call may change. These hold
//!
//! ```text
//! rdi  the size, 0 without an allocation      rsi  the number of the sample in its process, from 1 on
//! rdx  the mean number of bytes               r8 to r11  numbers of samples that were released, or 0
//! ```
//! `collapse::perf_data::alloc` reads them.

#![no_std]

mod allocator;
mod functions;
mod report;
mod sampling;
mod table;
mod thread;
// The library has no use for its own name.
#[allow(dead_code)]
#[path = "../../../allocation_trigger.rs"]
mod trigger;

use core::arch::global_asm;
use core::ffi::{c_char, c_int, c_void};

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

// The core library refers to this, and nothing here unwinds. Visible, it would take the place of others'.
global_asm!(".globl rust_eh_personality", ".hidden rust_eh_personality", "rust_eh_personality: ret");
