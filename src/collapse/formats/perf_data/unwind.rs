//! From registers and a stack dump to the callers.
//!
//! Unwind tables are followed if there are any. Without them, as in the code of a just-in-time
//! compiler, frame pointers are tried: such code mostly has them.

use super::cfi::{Context, Table};
use super::regs::{Cpu, Dump, Regs, SAVED};
use super::rule::{How, Rule};

/// The result of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// The registers are the caller's, which made a call or was interrupted by a signal.
    Caller {
        /// True if its instruction pointer is a return address.
        called: bool,
    },
    /// There is none.
    End,
    /// It cannot be found.
    Lost,
}

/// Goes from a frame to its caller. `is_leaf` says that the frame was interrupted.
pub(super) fn step(
    rule: &Rule,
    place: Option<(&Table, u64)>,
    is_leaf: bool,
    cpu: &Cpu,
    regs: &mut Regs,
    dump: &mut Dump<'_>,
    context: &mut Context,
) -> Step {
    let before = (regs.get(cpu.sp), regs.ip);
    let stepped = match (rule.how, place) {
        (How::Root, _) => return Step::End,
        (How::Simple | How::Compiled, _) => by_rule(rule, cpu, regs, dump),
        (How::Complex, Some((table, svma))) => {
            table.step(svma, cpu, regs, dump, context).map(|caller| *regs = caller)
        }
        (How::Trampoline, _) if !is_leaf && !cpu.link_register => by_trampoline(cpu, regs, dump),
        (How::Uncovered, _) if is_leaf => by_return(cpu, regs, dump),
        _ => by_frame_pointer(cpu, regs, dump),
    };
    let Some(sp) = stepped.and_then(|()| regs.get(cpu.sp)) else { return Step::Lost };
    if regs.ip == 0 {
        return Step::End;
    }
    // Stacks grow downward, so a caller's frame lies above. Only one that called nothing can have
    // the same stack pointer, where calls do not use the stack.
    let advanced = before.0.is_none_or(|old| sp > old || (sp == old && is_leaf && regs.ip != before.1));
    if !(advanced || rule.signal) {
        return Step::Lost;
    }
    Step::Caller { called: !rule.signal }
}

fn by_rule(rule: &Rule, cpu: &Cpu, regs: &mut Regs, dump: &mut Dump<'_>) -> Option<()> {
    let cfa = regs.get(rule.base.into())?.wrapping_add_signed(rule.offset.into());
    let returns_to = match rule.saved[0] {
        0 => regs.get(cpu.return_address)?,
        words => dump.read(below(cfa, words))?,
    };
    for slot in 1..SAVED.min(cpu.saved.len()) {
        if rule.saved[slot] != 0 {
            let value = dump.read(below(cfa, rule.saved[slot]));
            regs.set(cpu.saved[slot], value);
        }
    }
    if rule.loses_registers {
        regs.lose_others(cpu);
    }
    regs.set(cpu.return_address, Some(returns_to));
    regs.set(cpu.sp, Some(cfa));
    regs.set_ip(cpu, returns_to);
    Some(())
}

#[inline]
fn below(cfa: u64, words: i16) -> u64 {
    cfa.wrapping_sub((i64::from(words) * 8) as u64)
}

/// A stub that was just called.
fn by_return(cpu: &Cpu, regs: &mut Regs, dump: &mut Dump<'_>) -> Option<()> {
    if cpu.link_register {
        let returns_to = regs.get(cpu.return_address)?;
        regs.set_ip(cpu, returns_to);
        return Some(());
    }
    let sp = regs.get(cpu.sp)?;
    let returns_to = dump.read(sp)?;
    regs.set(cpu.sp, Some(sp.wrapping_add(8)));
    regs.set_ip(cpu, returns_to);
    Some(())
}

/// The frame pointer points at the caller's, and behind that is the return address, on both
/// processors.
fn by_frame_pointer(cpu: &Cpu, regs: &mut Regs, dump: &mut Dump<'_>) -> Option<()> {
    let fp = regs.get(cpu.fp)?;
    if fp < regs.get(cpu.sp)? || fp % 8 != 0 {
        return None;
    }
    let (caller, returns_to) = (dump.read(fp)?, dump.read(fp.wrapping_add(8))?);
    regs.set(cpu.fp, Some(caller));
    regs.set(cpu.sp, Some(fp.wrapping_add(16)));
    regs.set_ip(cpu, returns_to);
    Some(())
}

/// A trampoline that has called something: below its return address there are eight bytes of nothing, or the
/// caller's frame pointer, which its own points at.
fn by_trampoline(cpu: &Cpu, regs: &mut Regs, dump: &mut Dump<'_>) -> Option<()> {
    let sp = regs.get(cpu.sp)?;
    if regs.get(cpu.fp) == Some(sp) {
        return by_frame_pointer(cpu, regs, dump);
    }
    let returns_to = dump.read(sp.wrapping_add(8))?;
    regs.set(cpu.sp, Some(sp.wrapping_add(16)));
    regs.set_ip(cpu, returns_to);
    Some(())
}

#[cfg(test)]
mod tests {
    use super::super::attr::Arch;
    use super::super::sample::{Registers, SampleBody};
    use super::*;
    use crate::bytes::{ByteOrder, Cursor};

    const SP: u64 = 0x7fff_0000;

    /// Registers by the kernel's numbers, and what follows the stack pointer.
    fn start(arch: Arch, registers: &[(u32, u64)], stack: &[u64]) -> (&'static Cpu, Regs, Vec<u8>) {
        let mask = registers.iter().fold(0, |mask, (number, _)| mask | 1 << number);
        let bytes: Vec<u8> = registers.iter().flat_map(|(_, value)| value.to_le_bytes()).collect();
        let values = Cursor::new(&bytes, ByteOrder::Little).u64s(registers.len() as u64).unwrap();
        let cpu = Cpu::of(arch).unwrap();
        let regs = Regs::of(&Registers { is_64: true, mask, values }, cpu).unwrap();
        (cpu, regs, stack.iter().flat_map(|word| word.to_le_bytes()).collect())
    }

    fn go(rule: &Rule, leaf: bool, (cpu, mut regs, stack): (&Cpu, Regs, Vec<u8>)) -> (Step, Regs, bool) {
        let parts = SampleBody { stack: &stack, stack_is_cut: true, ..SampleBody::default() };
        let mut dump = Dump::new(&parts, SP);
        let step = step(rule, None, leaf, cpu, &mut regs, &mut dump, &mut Context::new());
        (step, regs, dump.missed)
    }

    #[test]
    fn x86_64_returns_to_what_is_on_the_stack() {
        // ax is 0, bp 6, sp 7, ip 8 to the kernel.
        let start = || start(Arch::X86_64, &[(6, 0x66), (7, SP), (8, 0x1000)], &[0, 0xb9, 0x2000]);
        let mut rule = Rule { how: How::Simple, base: 7, offset: 24, ..Rule::default() };
        (rule.saved[0], rule.saved[1]) = (1, 2);
        let (step, regs, _) = go(&rule, true, start());
        assert_eq!(step, Step::Caller { called: true });
        assert_eq!((regs.ip, regs.get(7), regs.get(6)), (0x2000, Some(SP + 24), Some(0xb9)));
        let (step, ..) = go(&Rule { signal: true, ..rule }, true, start());
        assert_eq!(step, Step::Caller { called: false }, "what a signal interrupts was not calling");
        let far = Rule { offset: 4096, ..rule };
        assert!(matches!(go(&far, true, start()), (Step::Lost, _, true)), "behind what was recorded");
        let down = Rule { offset: 0, ..rule };
        assert!(matches!(go(&down, false, start()), (Step::Lost, _, false)), "a caller's frame is above");
        assert_eq!(go(&Rule { how: How::Root, ..rule }, true, start()).0, Step::End);
        let (step, regs, _) = go(&Rule { how: How::Uncovered, ..rule }, true, start());
        assert_eq!((step, regs.get(7)), (Step::End, Some(SP + 8)), "returns to nothing");
    }

    #[test]
    fn a_trampoline_returns_to_what_is_behind_eight_bytes() {
        let rule = Rule { how: How::Trampoline, ..Rule::default() };
        let at = |fp| start(Arch::X86_64, &[(6, fp), (7, SP), (8, 0x1000)], &[SP + 64, 0x2000, 0, 0x3000]);
        let (step, regs, _) = go(&rule, false, at(SP + 16));
        assert_eq!((step, regs.ip, regs.get(7)), (Step::Caller { called: true }, 0x2000, Some(SP + 16)));
        assert_eq!(regs.get(6), Some(SP + 16), "it has no frame pointer of its own");
        let (step, regs, _) = go(&rule, false, at(SP));
        assert_eq!((step, regs.ip, regs.get(6)), (Step::Caller { called: true }, 0x2000, Some(SP + 64)));
    }

    #[test]
    fn aarch64_returns_to_its_link_register() {
        // 29 is the frame pointer, 30 the link register, 31 sp, 32 pc. The upper bits are a signature.
        let signed = 0x3f25_0000_0000_2000;
        let at = [(29, SP + 16), (30, signed), (31, SP), (32, 0x1000)];
        let start = || start(Arch::Aarch64, &at, &[0, 0, SP + 64, 0x3000]);
        let rule = Rule { how: How::Simple, base: 31, ..Rule::default() };
        let (step, regs, _) = go(&rule, true, start());
        assert_eq!((step, regs.ip, regs.get(31)), (Step::Caller { called: true }, 0x2000, Some(SP)));
        assert_eq!(go(&rule, false, start()).0, Step::Lost, "a caller has saved where it returns to");
        let (step, regs, _) = go(&Rule::default(), true, start());
        assert_eq!((step, regs.ip, regs.get(29)), (Step::Caller { called: true }, 0x3000, Some(SP + 64)));
    }
}
