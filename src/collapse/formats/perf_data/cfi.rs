//! Unwind tables of an object: how to get from any instruction of a function to its caller.
//!
//! Compilers describe that in `.eh_frame`, and `.eh_frame_hdr` is a sorted index of it; sometimes
//! there is only `.debug_frame`, or no index. Where they tell nothing, Go's own table may, or an
//! [`Sframe`] section. Most descriptions are of one simple form, a [`Rule`], which is worth
//! keeping: the same return addresses come back in every sample.

use std::sync::OnceLock;

use gimli::{
    BaseAddresses, CfaRule, CieOrFde, DebugFrame, EhFrame, EndianSlice, FrameDescriptionEntry, LittleEndian,
    RegisterRule, UnwindContext, UnwindSection, Vendor,
};

use super::regs::{Cpu, Dump, Regs};
use super::rule::{How, Rule};
use super::sframe::Sframe;
use crate::symbolize::{Bytes, Contents, GoFrame, GoFrames, Machine, Object};

type Slice<'a> = EndianSlice<'a, LittleEndian>;

/// Room that is used again for every look-up.
pub(super) type Context = UnwindContext<usize>;

/// The tables of an object.
pub(super) struct Table {
    eh_frame: Option<Contents>,
    header: Option<Contents>,
    debug_frame: Option<Bytes>,
    bases: BaseAddresses,
    /// The vendor of additions to the instructions: aarch64's say where return addresses are
    /// signed.
    vendor: Vendor,
    /// The beginnings of entries: first address, offset; sorted. Made when there is no usable header.
    index: OnceLock<Vec<(u64, usize)>>,
    debug_index: OnceLock<Vec<(u64, usize)>>,
    /// Go's own table, which its programs keep when they are stripped.
    go_frames: Option<GoFrames>,
    sframe: Option<Sframe>,
}

impl Table {
    pub fn new(object: &Object) -> Table {
        let section = |name: &[u8]| object.section(name);
        let (eh_frame, header) = (section(b".eh_frame"), section(b".eh_frame_hdr"));
        let mut bases = BaseAddresses::default();
        if let Some(eh_frame) = &eh_frame {
            bases = bases.set_eh_frame(eh_frame.svma.start);
        }
        for (name, set) in [
            (b".text".as_slice(), BaseAddresses::set_text as fn(BaseAddresses, u64) -> BaseAddresses),
            (b".got", BaseAddresses::set_got),
        ] {
            if let Some(start) = object.section_address(name) {
                bases = set(bases, start);
            }
        }
        let debug_frame = section(b".debug_frame").map(|section| section.bytes);
        let (index, debug_index) = (OnceLock::new(), OnceLock::new());
        let vendor = match object.machine() {
            Machine::Aarch64 => Vendor::AArch64,
            _ => Vendor::Default,
        };
        let go_frames = object.go_frames();
        let sframe = Sframe::new(object);
        Table { eh_frame, header, debug_frame, bases, vendor, index, debug_index, go_frames, sframe }
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
        if let Some(Contents { bytes, .. }) = &self.eh_frame {
            let mut section = EhFrame::new(bytes, LittleEndian);
            section.set_address_size(8);
            section.set_vendor(self.vendor);
            let offset = match self.header.as_ref().and_then(|header| search(header, svma)) {
                Some(address) => {
                    usize::try_from(address.wrapping_sub(self.eh_frame.as_ref()?.svma.start)).ok()
                }
                None => find(self.index.get_or_init(|| index(&section, &self.bases)), svma),
            };
            if let Some(entry) = offset.and_then(|offset| {
                section.fde_from_offset(&self.bases, offset.into(), EhFrame::cie_from_offset).ok()
            }) && entry.contains(svma)
            {
                return row(&section, &self.bases, &entry, svma, context, bytes, each);
            }
        }
        let bytes = self.debug_frame.as_ref()?;
        let mut section = DebugFrame::new(bytes, LittleEndian);
        section.set_address_size(8);
        section.set_vendor(self.vendor);
        let offset = find(self.debug_index.get_or_init(|| index(&section, &self.bases)), svma)?;
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

/// The usual header: the address of the last entry that begins at or before `svma`.
///
/// Four bytes each, relative to the header, are what every linker writes.
fn search(header: &Contents, svma: u64) -> Option<u64> {
    const VERSION: u8 = 1;
    const UDATA4: u8 = 0x03;
    const DATAREL_SDATA4: u8 = 0x3b;
    let &[version, pointer, count, table] = header.bytes.first_chunk()?;
    // The encoding of the pointer to the section determines the place of the count.
    let pointer_size = match pointer & 0x0f {
        0x03 | 0x0b => 4,
        0x04 | 0x0c | 0x00 => 8,
        _ => return None,
    };
    if version != VERSION || count != UDATA4 || table != DATAREL_SDATA4 {
        return None;
    }
    let rest = header.bytes.get(4 + pointer_size..)?;
    let count = u32::from_le_bytes(*rest.first_chunk()?) as usize;
    let entries = rest.get(4..)?;
    let count = count.min(entries.len() / 8);
    let number = |at: usize| {
        let bytes = entries.get(at..at + 4).and_then(|bytes| bytes.try_into().ok()).unwrap_or_default();
        header.svma.start.wrapping_add_signed(i32::from_le_bytes(bytes).into())
    };
    let (mut low, mut high) = (0, count);
    while low < high {
        let middle = low + (high - low) / 2;
        if number(8 * middle) <= svma { low = middle + 1 } else { high = middle }
    }
    Some(number(8 * low.checked_sub(1)? + 4))
}

/// The beginnings of all entries.
fn index<'b, S: UnwindSection<Slice<'b>>>(section: &S, bases: &BaseAddresses) -> Vec<(u64, usize)> {
    let mut found = Vec::new();
    let mut entries = section.entries(bases);
    // Entries behind a mistake cannot be read; those before it are kept.
    while let Ok(Some(entry)) = entries.next() {
        if let CieOrFde::Fde(partial) = entry
            && let Ok(entry) = partial.parse(S::cie_from_offset)
        {
            found.push((entry.initial_address(), entry.offset()));
        }
    }
    found.sort_unstable();
    found
}

fn find(index: &[(u64, usize)], svma: u64) -> Option<usize> {
    let after = index.partition_point(|(start, _)| *start <= svma);
    Some(index[after.checked_sub(1)?].1)
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
