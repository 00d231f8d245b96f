//! The program's own allocator, which does the work, and the memory for calls before it is known.

use core::arch::asm;
use core::ffi::{c_char, c_void};
use core::ptr::null_mut;
use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64, AtomicUsize, Ordering::*};

use crate::functions::slow_free;
use crate::sampling;
use crate::table::slot;

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

// The functions of the program's allocator; before `begin` null, but for the one that is called without asking.
pub(crate) static MALLOC: AtomicPtr<c_void> = AtomicPtr::new(null_mut());
pub(crate) static CALLOC: AtomicPtr<c_void> = AtomicPtr::new(null_mut());
pub(crate) static REALLOC: AtomicPtr<c_void> = AtomicPtr::new(null_mut());
pub(crate) static FREE: AtomicPtr<c_void> = AtomicPtr::new(slow_free as *const () as *mut c_void);
pub(crate) static POSIX_MEMALIGN: AtomicPtr<c_void> = AtomicPtr::new(null_mut());
pub(crate) static ALIGNED_ALLOC: AtomicPtr<c_void> = AtomicPtr::new(null_mut());
pub(crate) static MEMALIGN: AtomicPtr<c_void> = AtomicPtr::new(null_mut());
pub(crate) static VALLOC: AtomicPtr<c_void> = AtomicPtr::new(null_mut());
pub(crate) static PVALLOC: AtomicPtr<c_void> = AtomicPtr::new(null_mut());

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

pub(crate) use real;

static HAS_BEGUN: AtomicBool = AtomicBool::new(false);
static IS_BEGINNING: AtomicBool = AtomicBool::new(false);

/// Memory for calls before the program has an allocator: the dynamic linker itself may allocate while it looks
/// the functions up.
pub(crate) static EARLY: [AtomicU64; 4096] = [const { AtomicU64::new(0) }; 4096];
pub(crate) static EARLY_USED: AtomicUsize = AtomicUsize::new(0);

pub(crate) fn is_early(address: usize) -> bool {
    address.wrapping_sub(EARLY.as_ptr() as usize) < size_of_val(&EARLY)
}

pub(crate) fn early(size: usize) -> usize {
    let size = size.saturating_add(31) & !15;
    let at = EARLY_USED.fetch_add(size, Relaxed);
    // The first word holds the size, so that it can be copied to where it is made larger.
    let begin = (EARLY.as_ptr() as usize).next_multiple_of(16) + at;
    if at.saturating_add(size).saturating_add(16) > size_of_val(&EARLY) {
        return 0;
    }
    EARLY[(begin - EARLY.as_ptr() as usize) / 8].store(size as u64 - 16, Relaxed);
    // Releasing or enlarging it takes a closer look.
    slot(begin + 16).store(u8::MAX, Relaxed);
    begin + 16
}

/// Looks up the program's allocator, and the settings. Returns false while that is being done.
pub(crate) fn begin() -> bool {
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
    sampling::settings();
    HAS_BEGUN.store(true, Release);
    true
}
