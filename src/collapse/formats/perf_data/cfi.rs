//! Unwind tables of an object: how to get from any instruction of a function to its caller.
//!
//! Compilers describe that in `.eh_frame`, and `.eh_frame_hdr` is a sorted index of it; sometimes
//! there is only `.debug_frame`, or no index. Where they tell nothing, Go's own table may, or an
//! [`Sframe`] section. Most descriptions are of one simple form, a [`Rule`], which is worth
//! keeping: the same return addresses come back in every sample.

use std::sync::OnceLock;

use gimli::{
    BaseAddresses, CfaRule, DebugFrame, EndianSlice, FrameDescriptionEntry, LittleEndian, RegisterRule,
    UnwindContext, UnwindSection, Vendor,
};

use super::regs::{Cpu, Dump, Regs};
use super::rule::{How, Rule};
use super::sframe::Sframe;
use crate::symbolize::frame_entries::{self, FrameEntries};
use crate::symbolize::{Bytes, GoFrame, GoFrames, Machine, Object};

type Slice<'a> = EndianSlice<'a, LittleEndian>;

/// Room that is used again for every look-up.
pub(super) type Context = UnwindContext<usize>;

/// The tables of an object.
pub(super) struct Table {
    eh_frame: Option<FrameEntries>,
    debug_frame: Option<Bytes>,
    bases: BaseAddresses,
    /// The vendor of additions to the instructions: aarch64's say where return addresses are
    /// signed.
    vendor: Vendor,
    /// The beginnings of its entries.
    debug_index: OnceLock<Vec<(u64, usize)>>,
    /// Go's own table, which its programs keep when they are stripped.
    go_frames: Option<GoFrames>,
    sframe: Option<Sframe>,
}

impl Table {
    pub fn new(object: &Object) -> Table {
        let debug_frame = object.section(b".debug_frame").map(|section| section.bytes);
        let vendor = match object.machine() {
            Machine::Aarch64 => Vendor::AArch64,
            _ => Vendor::Default,
        };
        Table {
            eh_frame: FrameEntries::new(object),
            debug_frame,
            bases: frame_entries::bases(object),
            vendor,
            debug_index: OnceLock::new(),
            go_frames: object.go_frames(),
            sframe: Sframe::new(object),
        }
    }

    /// The rule to unwind from an address.
    pub fn rule(&self, svma: u64, cpu: &Cpu, context: &mut Context) -> Rule {
        let other = || {
            let of_go = self.go_frames.as_ref().and_then(|frames| go_rule(frames.at(svma)?, cpu));
            of_go.or_else(|| self.sframe.as_ref()?.rule(svma, cpu))
        };
        let mut rule = Rule::default();
        if self.eh_frame.is_none() && self.debug_frame.is_none() && self.sframe.is_none() {
            return other().unwrap_or(rule);
        }
        let found = self.with_row(svma, context, |row, signal, _| {
            let simple = simple_rule(row, cpu);
            rule = Rule { signal, ..simple.unwrap_or(Rule { how: How::Complex, ..Rule::default() }) };
            Some(())
        });
        if found.is_none() {
            rule = other().unwrap_or(Rule { how: How::Uncovered, ..Rule::default() });
        }
        rule
    }

    /// Unwinds from an address where that takes more than a [`Rule`].
    pub fn step(
        &self,
        svma: u64,
        cpu: &Cpu,
        regs: &Regs,
        dump: &mut Dump<'_>,
        context: &mut Context,
    ) -> Option<Regs> {
        let stepped = self
            .with_row(svma, context, |row, _, expressions| Some(by_row(row, expressions, cpu, regs, dump)));
        stepped.unwrap_or_else(|| self.sframe.as_ref()?.step(svma, cpu, regs, dump))
    }

    /// Shows `each` the description of an address, whether it is of a signal's frame, and the
    /// section its expressions are in.
    fn with_row<T>(
        &self,
        svma: u64,
        context: &mut Context,
        each: impl FnOnce(&gimli::UnwindTableRow<usize>, bool, &[u8]) -> Option<T>,
    ) -> Option<T> {
        if let Some(entries) = &self.eh_frame
            && let Some(entry) = entries.entry(svma)
        {
            return row(&entries.section(), entries.bases(), &entry, svma, context, entries.bytes(), each);
        }
        let bytes = self.debug_frame.as_ref()?;
        let mut section = DebugFrame::new(bytes, LittleEndian);
        section.set_address_size(8);
        section.set_vendor(self.vendor);
        let offset = frame_entries::find(
            self.debug_index.get_or_init(|| frame_entries::index(&section, &self.bases)),
            svma,
        )?;
        let entry = section.fde_from_offset(&self.bases, offset.into(), DebugFrame::cie_from_offset).ok()?;
        if !entry.contains(svma) {
            return None;
        }
        row(&section, &self.bases, &entry, svma, context, bytes, each)
    }
}

fn row<'b, S: UnwindSection<Slice<'b>>, T>(
    section: &S,
    bases: &BaseAddresses,
    entry: &FrameDescriptionEntry<Slice<'b>>,
    svma: u64,
    context: &mut Context,
    bytes: &[u8],
    each: impl FnOnce(&gimli::UnwindTableRow<usize>, bool, &[u8]) -> Option<T>,
) -> Option<T> {
    /// The largest entry, in bytes; those of real functions have some hundreds.
    const LONGEST: usize = 1 << 20;
    if entry.entry_len() > LONGEST {
        return None;
    }
    let row = entry.unwind_info_for_address(section, bases, context, svma).ok()?;
    each(row, entry.is_signal_trampoline(), bytes)
}

/// Unwinds by a description of any form.
fn by_row(
    row: &gimli::UnwindTableRow<usize>,
    expressions: &[u8],
    cpu: &Cpu,
    regs: &Regs,
    dump: &mut Dump<'_>,
) -> Option<Regs> {
    let cfa = match row.cfa() {
        CfaRule::RegisterAndOffset { register, offset } => regs.get(register.0)?.wrapping_add_signed(*offset),
        CfaRule::Expression(expression) => {
            evaluate(expressions, expression.offset, expression.length, regs, dump, None)?
        }
    };
    let mut caller = regs.clone();
    for (register, rule) in row.registers() {
        let number = register.0;
        let value = match rule {
            RegisterRule::SameValue => regs.get(number),
            RegisterRule::Offset(offset) => dump.read(cfa.wrapping_add_signed(*offset)),
            RegisterRule::ValOffset(offset) => Some(cfa.wrapping_add_signed(*offset)),
            RegisterRule::Register(other) => regs.get(other.0),
            RegisterRule::Expression(e) => {
                let at = evaluate(expressions, e.offset, e.length, regs, dump, Some(cfa))?;
                dump.read(at)
            }
            RegisterRule::ValExpression(e) => {
                Some(evaluate(expressions, e.offset, e.length, regs, dump, Some(cfa))?)
            }
            RegisterRule::Constant(value) => Some(*value),
            _ => None,
        };
        caller.set(number, value);
    }
    // A signal's frame restores the stack pointer, too.
    if row.register(gimli::Register(cpu.sp)).is_none() {
        caller.set(cpu.sp, Some(cfa));
    }
    let return_address = caller.get(cpu.return_address)?;
    caller.set_ip(cpu, return_address);
    Some(caller)
}

/// The rule of a description, if it is simple enough.
fn simple_rule(row: &gimli::UnwindTableRow<usize>, cpu: &Cpu) -> Option<Rule> {
    let mut rule = Rule { how: How::Simple, ..Rule::default() };
    match row.cfa() {
        CfaRule::RegisterAndOffset { register, offset } => {
            rule.base = u8::try_from(register.0).ok().filter(|number| usize::from(*number) < Regs::COUNT)?;
            rule.offset = i32::try_from(*offset).ok()?;
        }
        CfaRule::Expression(_) => return None,
    }
    let mut returns = false;
    for (register, of_it) in row.registers() {
        let number = register.0;
        returns |= number == cpu.return_address;
        match of_it {
            RegisterRule::Undefined if number == cpu.return_address => {
                return Some(Rule { how: How::Root, ..rule });
            }
            RegisterRule::Undefined | RegisterRule::SameValue => {}
            RegisterRule::Offset(offset) => match cpu.saved.iter().position(|saved| *saved == number) {
                Some(slot) => {
                    let words = (offset % 8 == 0).then_some(-(offset / 8)).filter(|words| *words != 0)?;
                    rule.saved[slot] = i16::try_from(words).ok()?;
                }
                // Vector registers and the like: no frame's address depends on them.
                None if usize::from(number) >= Regs::COUNT || number != cpu.sp => {}
                None => return None,
            },
            // The signing of return addresses on aarch64, which is undone without asking.
            RegisterRule::Constant(_) => {}
            _ => return None,
        }
    }
    if !returns && !cpu.link_register {
        // Its return address is unknown.
        rule.how = How::Root;
    }
    Some(rule)
}

/// The rule of a function of Go's, which keeps no registers but the frame pointer: it stands below the return
/// address on x86-64; on aarch64 the return address stands at the stack pointer, and the frame pointer below.
fn go_rule(frame: GoFrame, cpu: &Cpu) -> Option<Rule> {
    let mut rule = Rule { how: How::Simple, base: u8::try_from(cpu.sp).ok()?, ..Rule::default() };
    let size = match frame {
        GoFrame::Top => return Some(Rule { how: How::Root, ..rule }),
        GoFrame::Elsewhere => return None,
        GoFrame::Size(size) => i32::try_from(size).ok().filter(|size| size % 8 == 0)?,
    };
    if cpu.link_register {
        rule.offset = size;
        if size > 0 {
            rule.saved[0] = i16::try_from(size / 8).ok()?;
            rule.saved[1] = rule.saved[0].checked_add(1)?;
        }
    } else {
        rule.offset = size.checked_add(8)?;
        rule.saved[0] = 1;
        rule.saved[1] = if size > 0 { 2 } else { 0 };
    }
    Some(rule)
}

/// The value of an expression.
fn evaluate(
    section: &[u8],
    offset: usize,
    length: usize,
    regs: &Regs,
    dump: &mut Dump<'_>,
    cfa: Option<u64>,
) -> Option<u64> {
    use gimli::{EvaluationResult, Location, Value};
    /// Those of the procedure linkage table have some ten.
    const MOST_OPERATIONS: u32 = 1000;
    let code = section.get(offset..offset.checked_add(length)?)?;
    let encoding = gimli::Encoding { address_size: 8, format: gimli::Format::Dwarf32, version: 4 };
    let mut evaluation = gimli::Expression(EndianSlice::new(code, LittleEndian)).evaluation(encoding);
    evaluation.set_max_iterations(MOST_OPERATIONS);
    if let Some(cfa) = cfa {
        evaluation.set_initial_value(cfa);
    }
    let mut result = evaluation.evaluate().ok()?;
    loop {
        let value = match result {
            EvaluationResult::Complete => break,
            EvaluationResult::RequiresRegister { register, .. } => regs.get(register.0)?,
            EvaluationResult::RequiresMemory { address, size: 8, .. } => dump.read(address)?,
            _ => return None,
        };
        result = match result {
            EvaluationResult::RequiresRegister { .. } => {
                evaluation.resume_with_register(Value::Generic(value))
            }
            _ => evaluation.resume_with_memory(Value::Generic(value)),
        }
        .ok()?;
    }
    match evaluation.as_result().last()?.location {
        Location::Address { address } => Some(address),
        Location::Value { value: Value::Generic(value) } => Some(value),
        _ => None,
    }
}
