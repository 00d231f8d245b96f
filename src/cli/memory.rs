//! The allocator of the programs: a program that gets no more memory says so in one line, removes the
//! temporary names of its outputs, and ends with status 2.
//!
//! The standard library would print several lines and abort, and the temporary files would stay.
//! Callers that could go on without the memory (`Vec::try_reserve`) end as well: nothing in the
//! programs does. Elsewhere than on Unix the standard library's way is left as it is.
#![allow(unsafe_code)]

use std::alloc::{GlobalAlloc, Layout, System};
#[cfg(unix)]
use std::sync::OnceLock;
use std::sync::atomic::{AtomicIsize, AtomicUsize, Ordering::Relaxed};

/// The program's name, as its messages begin with it.
#[cfg(unix)]
static NAME: OnceLock<&'static str> = OnceLock::new();

/// The most bytes that are taken from now on; 0 is no limit.
static MOST: AtomicUsize = AtomicUsize::new(0);

/// The bytes that were taken since there is a limit.
static TAKEN: AtomicIsize = AtomicIsize::new(0);

/// Ends the program when it takes more than so many bytes.
pub(super) fn limit(most: usize) {
    MOST.store(most.max(1), Relaxed);
}

/// Counts bytes that are about to be taken.
#[inline]
fn take(bytes: usize) {
    let most = MOST.load(Relaxed);
    if most > 0 && TAKEN.fetch_add(bytes as isize, Relaxed) + bytes as isize > most as isize {
        #[cfg(unix)]
        end(bytes, Some(most));
    }
}

/// Counts bytes that are given back.
#[inline]
fn give_back(bytes: usize) {
    if MOST.load(Relaxed) > 0 {
        TAKEN.fetch_sub(bytes as isize, Relaxed);
    }
}

/// Notes the program's name.
pub(super) fn install(name: &'static str) {
    #[cfg(unix)]
    let _ = NAME.set(name);
    #[cfg(not(unix))]
    let _ = name;
}

/// The system's allocator, and a message when it has no memory. For `#[global_allocator]`.
#[derive(Debug)]
pub struct Allocator;

// SAFETY: every call is passed on to the system's allocator as it came, and its answer given back.
unsafe impl GlobalAlloc for Allocator {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        take(layout.size());
        // SAFETY: the caller's promises are those that `System` asks for.
        checked(unsafe { System.alloc(layout) }, layout.size())
    }

    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        take(layout.size());
        // SAFETY: as above.
        checked(unsafe { System.alloc_zeroed(layout) }, layout.size())
    }

    #[inline]
    unsafe fn realloc(&self, old: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        take(size);
        give_back(layout.size());
        // SAFETY: as above.
        checked(unsafe { System.realloc(old, layout, size) }, size)
    }

    #[inline]
    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        give_back(layout.size());
        // SAFETY: as above.
        unsafe { System.dealloc(memory, layout) }
    }
}

#[inline]
fn checked(memory: *mut u8, size: usize) -> *mut u8 {
    #[cfg(unix)]
    if memory.is_null() {
        end(size, None)
    }
    #[cfg(not(unix))]
    let _ = size;
    memory
}

/// Ends the process; nothing here may allocate.
#[cfg(unix)]
#[cold]
fn end(size: usize, most: Option<usize>) -> ! {
    use std::io::Write;
    use std::sync::atomic::{AtomicBool, Ordering::SeqCst};

    /// A thread is ending the process.
    static ENDING: AtomicBool = AtomicBool::new(false);

    if ENDING.swap(true, SeqCst) {
        loop {
            // SAFETY: takes nothing.
            unsafe { libc::pause() };
        }
    }
    crate::temporary::remove_all();
    let name = NAME.get().unwrap_or(&"fg-tools");
    let mut line = [0; 200];
    let mut rest = &mut line[..];
    let _ = match most {
        None => writeln!(
            rest,
            "{name}: out of memory: the system refuses {size} bytes more; raise the limit (ulimit -v, the container's), or read less at a time"
        ),
        Some(most) => writeln!(
            rest,
            "{name}: more memory is needed than the {most} bytes of --max-memory; raise it, or read less at a time"
        ),
    };
    let rest = rest.len();
    let line = &line[..line.len() - rest];
    // SAFETY: the pointer and the length are those of a live slice; `_exit` takes an integer.
    unsafe {
        libc::write(libc::STDERR_FILENO, line.as_ptr().cast(), line.len());
        libc::_exit(2)
    }
}
