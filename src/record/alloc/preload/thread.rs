//! The state that each thread has.

use core::arch::{asm, global_asm};

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
pub(crate) struct State {
    /// The number of bytes until the slow way is taken.
    pub(crate) left: u64,
    /// The number of bytes from there to the next sample.
    pub(crate) rest: u64,
    /// The state of the random numbers; 0 before the first.
    pub(crate) random: u64,
    /// The mean number of bytes between two samples, of which the next one was drawn.
    pub(crate) mean: u64,
    /// The values of registers at the next sample.
    pub(crate) report: Report,
}

#[repr(C)]
pub(crate) struct Report {
    pub(crate) size: u64,
    pub(crate) number: u64,
    pub(crate) mean: u64,
    pub(crate) released: [u64; RELEASED],
}

/// The number of releases that a sample tells.
pub(crate) const RELEASED: usize = 4;

const _: () = assert!(size_of::<State>() <= 96 && core::mem::offset_of!(State, report) == 32);

pub(crate) fn state() -> *mut State {
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
