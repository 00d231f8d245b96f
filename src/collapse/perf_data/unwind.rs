//! From registers and a stack dump to the callers.
//!
//! Where there are unwind tables they are followed. Where there are none, as in the code of a
//! just-in-time compiler, frame pointers are tried: such code mostly has them.

use super::cfi::{Context, How, Rule, SAVED, Table};
use super::regs::{Cpu, Dump, Regs};

/// What became of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// The registers are the caller's. Whether it was called, or interrupted by a signal.
    Caller {
        /// Whether its instruction pointer is a return address.
        called: bool,
    },
    /// There is none, or it cannot be found.
    End,
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
        (How::Root, _) => None,
        (How::Simple, _) => by_rule(rule, cpu, regs, dump),
        (How::Complex, Some((table, svma))) => {
            table.step(svma, cpu, regs, dump, context).map(|caller| *regs = caller)
        }
        (How::Uncovered, _) if is_leaf => by_return(cpu, regs, dump),
        _ => by_frame_pointer(cpu, regs, dump),
    };
    let Some(sp) = stepped.and_then(|()| regs.get(cpu.sp)) else { return Step::End };
    // Stacks grow downward, so a caller's frame lies above. Only one that called nothing can have
    // the same stack pointer, where calls do not use the stack.
    let advanced = before.0.is_none_or(|old| sp > old || (sp == old && is_leaf && regs.ip != before.1));
    if !(advanced || rule.signal) || regs.ip == 0 {
        return Step::End;
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
