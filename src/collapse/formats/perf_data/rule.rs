//! The way from a frame to its caller, in the one form that is kept.

use super::regs::SAVED;

/// The way from a frame to its caller.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Rule {
    pub how: How,
    /// The frame is the kernel's for a signal handler: its caller was interrupted, and made no call.
    pub signal: bool,
    /// Nothing is known of the caller's registers besides stack pointer, frame pointer and return address.
    pub loses_registers: bool,
    /// The register that the frame's address is counted from.
    pub base: u8,
    /// The frame's address, seen from there.
    pub offset: i32,
    /// The places of the registers of [`Cpu::saved`](super::regs::Cpu::saved), in words below the frame's address; 0 for one
    /// that was not changed.
    pub saved: [i16; SAVED],
}

/// The kinds of rules.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum How {
    /// Nothing is known of the place; frame pointers may help.
    #[default]
    Unknown,
    /// The rest of the rule describes it.
    Simple,
    /// The description has to be read anew each time: [`Table::step`](super::cfi::Table::step).
    Complex,
    /// A few instructions that call what they are given: see [`super::trampoline`].
    Trampoline,
    /// A method that Java has compiled: see [`super::compiled`]. The rest of the rule describes it, if there is a return
    /// address into compiled code where it says.
    Compiled,
    /// There is no caller.
    Root,
    /// The object has tables, but not of this place: a stub that changes nothing, if anything.
    Uncovered,
}
