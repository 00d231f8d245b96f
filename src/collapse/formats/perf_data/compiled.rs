//! Frames of methods that the Java virtual machine has compiled, by the instructions with which they begin.
//!
//! Compiled methods have no unwind tables, and without `-XX:+PreserveFramePointer` no frame pointers. But all of
//! them make their frame in one of two ways, on x86-64 (JDK 8 to 25, C1 and C2):
//!
//! ```text
//! mov %eax,-0x14000(%rsp); push %rbp; sub $0x20,%rsp       tries whether there is stack left
//! sub $0x18,%rsp; mov %rbp,0x10(%rsp)                      calls nothing, and needs little
//! ```
//! The size of the frame is a number in there. The instructions are read from the memory of the process, while it
//! runs. Where the stack then has no return address into compiled code, the frame was none of these.
//!
//! The interpreter keeps frame pointers. Its frames have the stack pointer of their caller in the word below.

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use super::regs::{Cpu, Dump, Regs};
use super::rule::{How, Rule};
use crate::bytes::Cursor;

/// The most bytes from the beginning of a method to an instruction of it. Methods that are larger are not compiled
/// in the usual way: `-XX:HugeMethodLimit` is 8000 bytes of bytecode.
#[cfg(target_os = "linux")]
const REACH: usize = 1 << 16;
/// The bytes behind an instruction that are looked at.
const BEHIND: usize = 16;
/// The number of addresses after which a process in which no method was found is none of Java's.
const PATIENCE: u32 = 256;

/// `mov %eax,-N(%rsp)`, but for the number.
const PROBE: &[u8] = &[0x89, 0x84, 0x24];
/// `sub $N,%rsp`, but for the number of four bytes.
const MAKE: &[u8] = &[0x48, 0x81, 0xec];

/// The compiled methods of a process.
#[derive(Default)]
pub(super) struct CompiledMethods {
    has_some: AtomicU32,
    misses: AtomicU32,
}

impl CompiledMethods {
    /// The rule of the method that an instruction is in; `called` if a call returns to it.
    pub fn rule(&self, pid: i32, address: u64, called: bool) -> Option<Rule> {
        if self.misses.load(Relaxed) >= PATIENCE && self.has_some.load(Relaxed) == 0 {
            return None;
        }
        let found = code_around(pid, address).and_then(|(code, at)| rule_in(&code, at, called));
        match found {
            Some(_) => self.has_some.store(1, Relaxed),
            None => drop(self.misses.fetch_add(1, Relaxed)),
        }
        found
    }
}

/// The instructions before an address, and some behind it; and its place among them.
#[cfg(target_os = "linux")]
fn code_around(pid: i32, address: u64) -> Option<(Vec<u8>, usize)> {
    use std::os::unix::fs::FileExt;

    let memory = std::fs::File::open(format!("/proc/{pid}/mem")).ok()?;
    // What is before may not be mapped.
    const PAGE: u64 = 4096;
    let mut reach = REACH as u64;
    loop {
        let from = address.checked_sub(reach)?;
        let mut code = vec![0; reach as usize + BEHIND];
        if let Ok(read) = memory.read_at(&mut code, from) {
            code.truncate(read);
            return (read > reach as usize).then_some((code, reach as usize));
        }
        // From the beginning of the page on, or of some pages before.
        reach = if reach > PAGE { reach / 2 } else { return None };
    }
}

#[cfg(not(target_os = "linux"))]
fn code_around(_: i32, _: u64) -> Option<(Vec<u8>, usize)> {
    None
}

/// The largest size of a frame that is believed: no method has so many values at a time.
const LARGEST: i32 = 1 << 16;

/// The stack pointer that a frame of the interpreter has saved for its caller, if it is one: behind the arguments,
/// which the interpreter moves.
pub(super) fn sender(cpu: &Cpu, regs: &Regs, dump: &mut Dump<'_>) -> Option<u64> {
    let fp = regs.get(cpu.fp)?;
    let (least, found) = (fp.checked_add(16)?, dump.read(fp.wrapping_sub(8))?);
    let distance = found.checked_sub(least)?;
    (distance < LARGEST as u64 && found % 16 == 0).then_some(found)
}

/// Returns true if a return address is where a rule has it, and sets the stack pointer so.
pub(super) fn fits(
    rule: &Rule,
    sender: Option<u64>,
    cpu: &Cpu,
    regs: &mut Regs,
    dump: &mut Dump<'_>,
    mut is_code: impl FnMut(u64) -> bool,
) -> bool {
    let own = regs.get(cpu.sp);
    let mut holds = |sp: u64| {
        let returns_to = sp.checked_add_signed(i64::from(rule.offset) - 8).and_then(|at| dump.read(at));
        returns_to.is_some_and(|to| is_code(to.wrapping_sub(1)))
    };
    let found = sender.filter(|sp| holds(*sp)).or_else(|| own.filter(|sp| holds(*sp)));
    if found.is_some() {
        regs.set(cpu.sp, found);
    }
    found.is_some()
}

/// The operand of four bytes that stands there.
fn operand(code: &[u8], at: usize) -> Option<i32> {
    Cursor::little(code.get(at..)?).i32()
}

/// The beginning of a method, and the frame that it makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Beginning {
    at: usize,
    /// The bytes of the frame below the return address.
    size: i32,
    /// The instruction behind which the frame pointer is saved.
    saves: usize,
    /// The instruction behind which the frame has its size.
    makes: usize,
}

/// Returns true if an instruction stands there, or the jump away that Java writes over a method's first instruction
/// when it is not to be called any more: it may still run.
fn is_first(code: &[u8], at: usize, instruction: &[u8]) -> bool {
    /// `jmp` with a number of four bytes.
    const JUMP: u8 = 0xe9;
    code[at..].starts_with(instruction) || code.get(at) == Some(&JUMP)
}

/// The method whose probe ends at a place in the code, before `push %rbp`.
fn probing(code: &[u8], end: usize) -> Option<Beginning> {
    let at = end.checked_sub(PROBE.len() + 4)?;
    if !is_first(code, at, PROBE) || code.get(end) != Some(&0x55) {
        return None;
    }
    let (size, len) = match &code[end + 1..] {
        [0x48, 0x83, 0xec, size, ..] => (i32::from(*size as i8), 4),
        [0x48, 0x81, 0xec, ..] => (operand(code, end + 1 + MAKE.len())?, 7),
        // It keeps frame pointers.
        [0x48, 0x8b, 0xec, ..] | [0x48, 0x89, 0xe5, ..] => return None,
        _ => (0, 0),
    };
    Some(Beginning { at, size: size.checked_add(8)?, saves: end + 1, makes: end + 1 + len })
}

/// The method that saves the frame pointer at a place in the code.
fn saving(code: &[u8], save: usize) -> Option<Beginning> {
    let at = save.checked_sub(MAKE.len() + 4)?;
    let (saved, len) = match code.get(save..)? {
        [0x48, 0x89, 0x6c, 0x24, at, ..] => (i32::from(*at as i8), 5),
        [0x48, 0x89, 0xac, 0x24, ..] => (operand(code, save + 4)?, 8),
        _ => return None,
    };
    let size = saved.checked_add(8)?;
    let is_made = !code[at..].starts_with(MAKE) || operand(code, at + MAKE.len()) == Some(size);
    (is_first(code, at, MAKE) && is_made).then_some(Beginning { at, size, saves: save + len, makes: save })
}

/// The rule for the instruction at a place in the code.
fn rule_in(code: &[u8], at: usize, called: bool) -> Option<Rule> {
    // The beginning of a method has not ended yet if the instruction is in it.
    let before = &code[..code.len().min(at + BEHIND)];
    let last = |pattern: &[u8], begun: fn(&[u8], usize) -> Option<Beginning>, behind: usize| {
        let all = memchr::memmem::rfind_iter(before, pattern);
        all.filter_map(|found| begun(code, found + behind)).find(|begun| begun.at <= at)
    };
    let ways = [
        // The end of a negative number, and `push %rbp`.
        last(&[0xff, 0x55], probing, 1),
        last(&[0x48, 0x89, 0x6c, 0x24], saving, 0),
        last(&[0x48, 0x89, 0xac, 0x24], saving, 0),
    ];
    let begun = ways.into_iter().flatten().max_by_key(|begun| begun.at);
    let begun = begun.filter(|begun| {
        // With the return address it is a multiple of 16.
        (8..LARGEST).contains(&begun.size) && (begun.size + 8) % 16 == 0
    })?;
    let (mut size, mut is_saved) = (begun.size, true);
    if !called {
        if at < begun.makes {
            size = if at >= begun.saves { 8 } else { 0 };
            is_saved = at >= begun.saves;
        } else if at < begun.saves {
            is_saved = false;
        } else if let Some(left) = left_at_end(code, at) {
            (size, is_saved) = (left, left > 0);
        }
    }
    let mut rule = Rule { how: How::Compiled, base: 7, offset: size + 8, ..Rule::default() };
    rule.saved[0] = 1;
    rule.saved[1] = if is_saved { 2 } else { 0 };
    Some(rule)
}

/// The bytes that are left of the frame at an instruction at the end of a method.
///
/// ```text
/// add $0x20,%rsp; pop %rbp; cmp 0x388(%r15),%rsp; ja …; ret
/// ```
fn left_at_end(code: &[u8], at: usize) -> Option<i32> {
    let is_freed = |pop: usize| {
        code.get(pop) == Some(&0x5d)
            && (pop.checked_sub(4).is_some_and(|add| code[add..].starts_with(&[0x48, 0x83, 0xc4]))
                || pop.checked_sub(7).is_some_and(|add| code[add..].starts_with(&[0x48, 0x81, 0xc4])))
    };
    if is_freed(at) {
        return Some(8);
    }
    // The bytes of what may stand between, and its own.
    let ways: [(usize, &[u8]); 4] =
        [(1, &[0x49, 0x3b, 0xa7]), (8, &[0x0f, 0x87]), (14, &[0xc3]), (1, &[0xc3])];
    let is_behind = |&(len, own): &(usize, &[u8])| {
        at.checked_sub(len).is_some_and(is_freed) && code[at..].starts_with(own)
    };
    ways.iter().any(is_behind).then_some(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `push %rbp` is the instruction at 10, `nop` the body's first at 15, `pop` at 18, and `ret` at 32.
    const METHOD: &[u8] = &[
        0xf4, 0xf4, 0xf4, 0x89, 0x84, 0x24, 0x00, 0xc0, 0xfe, 0xff, 0x55, 0x48, 0x83, 0xec, 0x20,
        0x90, //
        0x48, 0x83, 0xc4, 0x20, 0x5d, 0x49, 0x3b, 0xa7, 0x88, 0x03, 0, 0, 0x0f, 0x87, 1, 0, 0, 0, 0xc3, 0xf4,
    ];
    /// The same without a probe: `mov` at 7, the body at 12.
    const LEAF: &[u8] = &[0x48, 0x81, 0xec, 0x18, 0, 0, 0, 0x48, 0x89, 0x6c, 0x24, 0x10, 0x90, 0x90, 0xc3];

    /// The distance to the frame's address, and to where the frame pointer is.
    fn found(code: &[u8], at: usize, called: bool) -> Option<(i32, i16)> {
        rule_in(code, at, called).map(|rule| {
            assert_eq!((rule.how, rule.base, rule.saved[0]), (How::Compiled, 7, 1));
            (rule.offset, rule.saved[1])
        })
    }

    #[test]
    fn a_method_tells_the_size_of_its_frame() {
        let at = |at| found(METHOD, at, false);
        assert_eq!(
            [at(10), at(11), at(15), at(16)],
            [Some((8, 0)), Some((16, 2)), Some((48, 2)), Some((48, 2))]
        );
        assert_eq!(
            [at(20), at(21), at(28), at(34)],
            [Some((16, 2)), Some((8, 0)), Some((8, 0)), Some((8, 0))]
        );
        assert_eq!(found(METHOD, 16, true), Some((48, 2)), "what was called returns into the frame");
        let at = |at| found(LEAF, at, false);
        assert_eq!([at(7), at(12), at(13)], [Some((32, 0)), Some((32, 2)), Some((32, 2))]);
    }

    #[test]
    fn the_last_beginning_counts() {
        let both = [METHOD, LEAF].concat();
        assert_eq!(found(&both, METHOD.len() + 13, true), Some((32, 2)));
        let both = [LEAF, METHOD].concat();
        assert_eq!(found(&both, LEAF.len() + 15, true), Some((48, 2)));
    }

    #[test]
    fn methods_that_are_not_called_any_more_still_run() {
        let mut method = METHOD.to_vec();
        method[3..8].copy_from_slice(&[0xe9, 1, 2, 3, 4]);
        assert_eq!(found(&method, 16, true), Some((48, 2)));
        let mut leaf = LEAF.to_vec();
        leaf[..5].copy_from_slice(&[0xe9, 1, 2, 3, 4]);
        assert_eq!(found(&leaf, 13, true), Some((32, 2)));
    }

    #[test]
    fn other_code_is_none() {
        let mut kept = METHOD.to_vec();
        kept.splice(11..11, [0x48, 0x8b, 0xec]);
        assert_eq!(found(&kept, 19, true), None, "frame pointers");
        let mut odd = METHOD.to_vec();
        odd[14] = 0x24;
        assert_eq!(found(&odd, 16, true), None, "an odd size");
        let mut other = LEAF.to_vec();
        other[11] = 0x08;
        assert_eq!(found(&other, 13, true), None, "something else is saved elsewhere");
        assert_eq!(found(&[0x90; 64], 32, true), None);
        // Cut anywhere, and bytes of any kind.
        for len in 0..METHOD.len() {
            for at in 0..len {
                let _ = (found(&METHOD[..len], at, true), found(&METHOD[..len], at, false));
                let _ = found(&LEAF[..len.min(LEAF.len())], at.min(LEAF.len()), false);
            }
        }
    }
}
