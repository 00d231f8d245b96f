//! The functions that the program calls instead of those of its allocator.

use core::arch::naked_asm;
use core::ffi::{c_int, c_void};
use core::sync::atomic::Ordering::*;

use crate::allocator::*;
use crate::report::{fg_report, note, released};
use crate::sampling::tick;
use crate::table::{IN_USE, slot, with_table};

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

pub(crate) extern "C" fn slow_free(address: usize) {
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
/// a sample is written. The fast way subtracts the size at once, and gives it back before the slow one: of a thread that
/// has bytes left, the program's allocator is known.
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
    "sub qword ptr fs:[rax], rdi",
    "jbe 3f",
    "jmp qword ptr [rip + {real}]",
    "3: add qword ptr fs:[rax], rdi";
    real = sym MALLOC
);
interpose!(
    calloc, slow_calloc,
    "mov rax, rdi",
    "mul rsi",
    "jo 2f",
    "mov rcx, qword ptr [rip + fg_state@GOTTPOFF]",
    "sub qword ptr fs:[rcx], rax",
    "jbe 3f",
    "jmp qword ptr [rip + {real}]",
    "3: add qword ptr fs:[rcx], rax";
    real = sym CALLOC
);
interpose!(
    realloc, slow_realloc,
    "mov rax, rdi",
    // The slot of an address, as `slot` has it.
    "shr rax, 5",
    "movzx eax, ax",
    "lea rcx, [rip + {in_use}]",
    "cmp byte ptr [rcx + rax], 0",
    "jne 2f",
    "mov rax, qword ptr [rip + fg_state@GOTTPOFF]",
    "sub qword ptr fs:[rax], rsi",
    "jbe 3f",
    "jmp qword ptr [rip + {real}]",
    "3: add qword ptr fs:[rax], rsi";
    real = sym REALLOC, in_use = sym IN_USE
);
interpose!(
    free, slow_free_outcome,
    "mov rax, rdi",
    "shr rax, 5",
    "movzx eax, ax",
    "lea rcx, [rip + {in_use}]",
    "cmp byte ptr [rcx + rax], 0",
    "jne 2f",
    "jmp qword ptr [rip + {real}]";
    real = sym FREE, in_use = sym IN_USE
);
interpose!(posix_memalign, slow_posix_memalign);
interpose!(aligned_alloc, slow_aligned_alloc);
interpose!(memalign, slow_memalign);
interpose!(valloc, slow_valloc);
interpose!(pvalloc, slow_pvalloc);

extern "C" fn slow_free_outcome(address: usize) -> Outcome {
    slow_free(address);
    Outcome::plain(0)
}
