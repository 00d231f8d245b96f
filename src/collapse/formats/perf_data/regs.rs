//! Registers by the numbers that DWARF gives them, and the memory they point into.

use super::attr::Arch;
use super::live_stack::LiveStack;
use super::sample::{Registers, SampleBody};

/// The most registers besides the stack pointer that a function may have to restore.
pub(super) const SAVED: usize = 12;

/// The registers of a processor architecture.
#[derive(Debug)]
pub(super) struct Cpu {
    /// The register with the return address, or the one that stands for where it is saved.
    pub return_address: u16,
    /// The stack pointer.
    pub sp: u16,
    /// The frame pointer.
    pub fp: u16,
    /// Registers that functions have to leave as they were. Others are lost in a call.
    pub saved: &'static [u16],
    /// Calls put the return address into a register, and not on the stack.
    pub link_register: bool,
    /// The DWARF number of each of the kernel's registers; the last is the instruction pointer.
    numbers: &'static [u8],
    /// The instruction pointer's number there.
    ip: u32,
    /// The bits of an address: above them aarch64 keeps signatures. It may have 52 of them, but gives
    /// no program addresses of more than 48 that does not ask for such.
    address_bits: u64,
}

const X86_64: Cpu = Cpu {
    return_address: 16,
    sp: 7,
    fp: 6,
    saved: &[16, 6, 3, 12, 13, 14, 15],
    link_register: false,
    // ax bx cx dx si di bp sp, then ip flags cs ss ds es fs gs, then r8 to r15.
    numbers: &[
        0, 3, 2, 1, 4, 5, 6, 7, 16, NONE, NONE, NONE, NONE, NONE, NONE, NONE, 8, 9, 10, 11, 12, 13, 14, 15,
    ],
    ip: 8,
    address_bits: u64::MAX,
};

const AARCH64: Cpu = Cpu {
    return_address: 30,
    sp: 31,
    fp: 29,
    saved: &[30, 29, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28],
    link_register: true,
    numbers: &[
        0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27,
        28, 29, 30, 31,
    ],
    ip: 32,
    address_bits: (1 << 48) - 1,
};

/// No register of DWARF's.
const NONE: u8 = u8::MAX;

impl Cpu {
    /// The processor of a recording, if its stacks can be unwound.
    pub fn of(arch: Arch) -> Option<&'static Cpu> {
        match arch {
            Arch::X86_64 => Some(&X86_64),
            Arch::Aarch64 => Some(&AARCH64),
            Arch::Other => None,
        }
    }
}

const _: () = assert!(X86_64.saved.len() <= SAVED && AARCH64.saved.len() <= SAVED);

/// The values of registers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Regs {
    values: [u64; Regs::COUNT],
    known: u64,
    /// The instruction.
    pub ip: u64,
}

impl Regs {
    pub const COUNT: usize = 33;

    /// Those of a sample; `None` without instruction and stack pointer.
    pub fn of(sampled: &Registers<'_>, cpu: &Cpu) -> Option<Regs> {
        let mut regs = Regs { values: [0; Regs::COUNT], known: 0, ip: sampled.get(cpu.ip)? };
        for (number, &register) in cpu.numbers.iter().enumerate() {
            if register != NONE {
                regs.set(register.into(), sampled.get(number as u32));
            }
        }
        regs.get(cpu.sp).is_some().then_some(regs)
    }

    #[inline]
    pub fn get(&self, register: u16) -> Option<u64> {
        let known = 1u64.checked_shl(register.into()).is_some_and(|bit| self.known & bit != 0);
        if known { self.values.get(usize::from(register)).copied() } else { None }
    }

    #[inline]
    pub fn set(&mut self, register: u16, value: Option<u64>) {
        let Some(place) = self.values.get_mut(usize::from(register)) else { return };
        match value {
            Some(value) => {
                *place = value;
                self.known |= 1 << register;
            }
            None => self.known &= !(1 << register),
        }
    }

    /// Forgets all but stack pointer, frame pointer and return address.
    pub fn lose_others(&mut self, cpu: &Cpu) {
        self.known &= 1 << cpu.sp | 1 << cpu.fp | 1 << cpu.return_address;
    }

    /// Goes on at a return address.
    #[inline]
    pub fn set_ip(&mut self, cpu: &Cpu, return_address: u64) {
        self.ip = return_address & cpu.address_bits;
    }
}

/// The part of the stack that was recorded.
#[derive(Debug)]
pub(super) struct Dump<'a> {
    bytes: &'a [u8],
    /// The address of its first byte.
    start: u64,
    /// True if the stack may go on behind it.
    is_cut: bool,
    /// True if something behind it was asked for.
    pub missed: bool,
    /// The number of bytes that a copy would need to have all of that.
    pub needed: usize,
    /// True if something was asked for that is neither in it nor behind a copy that was too short.
    pub is_elsewhere: bool,
    /// The stack itself, for the words that are not in the copy.
    pub beyond: Option<LiveStack>,
}

impl<'a> Dump<'a> {
    pub fn new(parts: &SampleBody<'a>, sp: u64) -> Dump<'a> {
        let (bytes, is_cut) = (parts.stack, parts.stack_is_cut);
        Dump { bytes, start: sp, is_cut, missed: false, needed: 0, is_elsewhere: false, beyond: None }
    }

    /// Returns true if a stack still has the frame at this stack pointer, of which the copy has the beginning:
    /// most of its words are what they were, or, of a small part or of none, the return address that was copied
    /// last, with its place.
    pub fn is_still_in(&self, stack: &mut LiveStack, sp: u64, returned: Option<(u64, u64)>) -> bool {
        /// The bytes that are compared, and the fewest words besides zero that tell anything.
        const COMPARED: usize = 2048;
        const FEWEST: usize = 16;
        let from = sp.checked_sub(self.start).and_then(|at| usize::try_from(at).ok());
        let from = from.map_or(self.bytes.len(), |at| at.max(self.bytes.len().saturating_sub(COMPARED)));
        let (mut told, mut same) = (0, 0);
        let words = self.bytes.get(from..).unwrap_or_default().chunks_exact(8);
        for (at, word) in (self.start + from as u64..).step_by(8).zip(words) {
            let word = u64::from_le_bytes(word.try_into().expect("eight bytes"));
            if word != 0 {
                told += 1;
                same += usize::from(stack.read(at) == Some(word));
            }
        }
        match (told >= FEWEST, returned) {
            (true, _) => same * 8 >= told * 7,
            (false, Some((at, word))) => stack.read(at) == Some(word),
            (false, None) => told > 0 && same == told,
        }
    }

    /// A word of it. Both processors that are unwound here have the lowest byte first.
    #[inline]
    pub fn read(&mut self, address: u64) -> Option<u64> {
        let at = address.wrapping_sub(self.start);
        let at = usize::try_from(at).ok()?;
        let word = at.checked_add(8).and_then(|end| self.bytes.get(at..end));
        if word.is_none() {
            if let Some(beyond) = &mut self.beyond {
                return beyond.read(address);
            }
            /// No frame is larger than the largest stack.
            const FAR: usize = 1 << 30;
            let is_missed = self.is_cut && at < FAR;
            self.missed |= is_missed;
            if is_missed {
                self.needed = self.needed.max(at + 8);
            }
            self.is_elsewhere |= !is_missed;
        }
        Some(u64::from_le_bytes(word?.try_into().ok()?))
    }
}
