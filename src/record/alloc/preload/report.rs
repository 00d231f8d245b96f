//! Samples and releases, told by writes to the breakpoint's address.

use core::arch::{asm, naked_asm};
use core::ffi::c_int;
use core::sync::atomic::Ordering::*;

use crate::getpid;
use crate::sampling::{MEAN, adjust};
use crate::table::{TABLE, with_table};
use crate::thread::{RELEASED, Report, state};
use crate::trigger::TRIGGER;

/// Notes a sample, whose registers are then in the thread's report. Returns false if it is not one after all.
pub(crate) fn note(address: usize, size: usize, mean: u64) -> bool {
    let noted = with_table(|table| {
        let number = table.last + 1;
        table.insert(address, number).then(|| {
            table.last = number;
            adjust(number, &mut table.adjusted);
            (number, core::mem::take(&mut table.released))
        })
    });
    let Some(Some((number, released))) = noted else { return false };
    // SAFETY: this thread's own.
    unsafe { (*state()).report = Report { size: size as u64, number, mean, released } };
    true
}

/// Tells that a sample was released: with the next sample, or now if there is no room.
pub(crate) fn released(number: u64) {
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
pub(crate) fn tell(released: [u64; RELEASED]) {
    // SAFETY: this thread's own.
    unsafe { (*state()).report = Report { size: 0, number: 0, mean: MEAN.load(Relaxed), released } };
    fg_report();
}

pub(crate) extern "C" fn end() {
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
pub(crate) static END: extern "C" fn() = end;

/// Ends the process at once, which runs no functions of its end.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn _exit(status: c_int) -> ! {
    end();
    // SAFETY: a system call that does not return: `exit_group`.
    unsafe { asm!("syscall", "ud2", in("rax") 231, in("rdi") status, options(noreturn)) }
}

/// The same by its name in the C standard.
#[allow(non_snake_case)]
#[unsafe(no_mangle)]
pub(crate) extern "C" fn _Exit(status: c_int) -> ! {
    _exit(status)
}

/// Writes to the breakpoint's address, with the registers of the thread's report, and returns.
#[unsafe(naked)]
pub(crate) extern "C" fn fg_report() {
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
