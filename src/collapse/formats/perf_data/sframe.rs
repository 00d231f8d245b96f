//! SFrame sections: a plainer description of a program's frames, which tells no more than stack traces need.
//!
//! GNU's assembler writes `.sframe` when it is asked to (`gcc -Wa,--gsframe`):
//!
//! ```text
//! header       magic, version, flags, processor; offsets that never change; numbers and places of the tables
//! functions    first address, size, where its rows are
//! rows         where it begins in the function; CFA = SP or FP + offset, [RA = CFA + offset,] FP = CFA + offset
//! ```
//! Versions 1 (binutils 2.40), 2 (2.41 to 2.45) and 3 (from 2.46 on, with functions whose places are counted
//! from any register) are read, of x86-64 and aarch64: see "The SFrame Format" of binutils. Only GNU's linker
//! makes one table of those of a program's parts, and sorts it. Others (mold, lld, gold) put them one behind the
//! other, with the addresses as the assembler left them.

use std::ops::Range;
use std::sync::OnceLock;

use super::regs::{Cpu, Dump, Regs};
use super::rule::{How, Rule};
use crate::bytes::{ByteOrder, Cursor};
use crate::symbolize::{Contents, Machine, Object};

const MAGIC: u16 = 0xdee2;
/// The size of a header, in bytes, without what may be added to it.
const HEADER: usize = 28;
/// The alignment of the parts of a section, in bytes.
const ALIGNMENT: usize = 8;

/// Flags of a part.
const SORTED: u8 = 1;
const FROM_FIELD: u8 = 4;
const FLAGS: u8 = 7;

/// The most rows of a function that are looked at.
const MOST_ROWS: u32 = 1 << 16;

/// A section.
pub(super) struct Sframe {
    section: Contents,
    /// The address of the code with which a program begins, which nothing has called. Before version 3 nothing in
    /// the tables says that, and there are rows all the same.
    entry: Option<u64>,
    parts: Vec<Part>,
    /// First addresses, each with its part and the number of its function there; sorted. Made unless the section
    /// is sorted.
    index: OnceLock<Vec<(u64, u32, u32)>>,
}

/// A header, and the tables that belong to it.
struct Part {
    /// Its place in the section.
    place: Range<usize>,
    version: u8,
    flags: u8,
    /// The places of frame pointer and return address if they never change, seen from the frame's address; or 0.
    fixed_fp: i8,
    fixed_ra: i8,
    /// The beginning of the functions, and their number.
    functions: usize,
    count: u32,
    /// The beginning of the rows.
    rows: usize,
}

/// A function.
struct Function {
    addresses: Range<u64>,
    /// Its rows, and whatever is behind them.
    rows: Range<usize>,
    count: u32,
    /// The size of a row's beginning, what is repeated, who has signed return addresses, …
    info: u8,
    /// The kind of the rows.
    kind: u8,
    /// The size of what is repeated.
    period: u64,
}

/// The row of a table that an instruction has.
#[derive(Debug, PartialEq, Eq)]
struct Row {
    signal: bool,
    /// `None` at the beginning of a stack.
    frame: Option<Frame>,
}

#[derive(Debug, PartialEq, Eq)]
struct Frame {
    cfa: Place,
    /// `None` if they are where they were.
    return_address: Option<Place>,
    fp: Option<Place>,
}

/// The place of a value: an address, or the word at an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Place {
    /// A register, or the frame's address.
    base: Option<u16>,
    offset: i32,
    /// The value is the word at that address, and not the address.
    in_memory: bool,
}

impl Sframe {
    /// The tables of an object; `None` if there are none, or they are of another processor or version.
    pub fn new(object: &Object) -> Option<Sframe> {
        Sframe::of(object.section(b".sframe")?, object.machine(), object.entry())
    }

    fn of(section: Contents, machine: Machine, entry: Option<u64>) -> Option<Sframe> {
        let processor = match machine {
            Machine::Aarch64 => 2,
            Machine::X86_64 => 3,
            _ => return None,
        };
        let mut parts = Vec::new();
        let mut at = 0;
        while let Some(part) = Part::parse(&section.bytes, at, processor) {
            at = part.place.end.next_multiple_of(ALIGNMENT);
            parts.push(part);
        }
        (!parts.is_empty()).then(|| Sframe { section, entry, parts, index: OnceLock::new() })
    }

    /// The rule to unwind from an address.
    pub fn rule(&self, svma: u64, cpu: &Cpu) -> Option<Rule> {
        let Row { signal, frame } = self.row(svma, cpu)?;
        let mut rule = Rule { signal, loses_registers: true, ..Rule::default() };
        rule.how = match frame.map(|frame| frame.simple(&mut rule, cpu)) {
            Some(Some(())) => How::Simple,
            Some(None) => How::Complex,
            None => How::Root,
        };
        Some(rule)
    }

    /// Unwinds from an address where that takes more than a [`Rule`].
    pub fn step(&self, svma: u64, cpu: &Cpu, regs: &Regs, dump: &mut Dump<'_>) -> Option<Regs> {
        let Frame { cfa, return_address, fp } = self.row(svma, cpu)?.frame?;
        let cfa = cfa.value(None, regs, dump)?;
        let returns_to = match return_address {
            Some(place) => place.value(Some(cfa), regs, dump),
            None => regs.get(cpu.return_address).filter(|_| cpu.link_register),
        }?;
        let mut caller = regs.clone();
        if let Some(place) = fp {
            caller.set(cpu.fp, place.value(Some(cfa), regs, dump));
        }
        caller.lose_others(cpu);
        caller.set(cpu.return_address, Some(returns_to));
        caller.set(cpu.sp, Some(cfa));
        caller.set_ip(cpu, returns_to);
        Some(caller)
    }

    fn row(&self, svma: u64, cpu: &Cpu) -> Option<Row> {
        let (part, function) = self.find(svma)?;
        let function = part.function(&self.section, function)?;
        let inside = function.addresses.contains(&svma).then(|| svma - function.addresses.start)?;
        if self.entry == Some(function.addresses.start) {
            return Some(Row { signal: false, frame: None });
        }
        let rows = self.section.bytes.get(function.rows.clone())?;
        part.row(rows, &function, inside, cpu)
    }

    /// The last function that begins at or before an address: its part, and its number there.
    fn find(&self, svma: u64) -> Option<(&Part, u32)> {
        if let [part] = &self.parts[..]
            && part.flags & SORTED != 0
        {
            let (mut low, mut high) = (0, part.count);
            while low < high {
                let middle = low + (high - low) / 2;
                if part.start(&self.section, middle)? <= svma { low = middle + 1 } else { high = middle }
            }
            return Some((part, low.checked_sub(1)?));
        }
        let index = self.index.get_or_init(|| {
            let numbers = (0u32..).zip(&self.parts).flat_map(|(at, part)| {
                (0..part.count).filter_map(move |n| Some((part.start(&self.section, n)?, at, n)))
            });
            let mut index: Vec<_> = numbers.collect();
            index.sort_unstable();
            index
        });
        let after = index.partition_point(|(start, ..)| *start <= svma);
        let (_, part, number) = index[after.checked_sub(1)?];
        Some((&self.parts[part as usize], number))
    }
}

impl Part {
    /// The part that begins at a place of the section.
    fn parse(section: &[u8], at: usize, processor: u8) -> Option<Part> {
        let bytes = section.get(at..)?;
        let mut header = Cursor::new(bytes, ByteOrder::Little);
        let magic = header.u16()?;
        let (version, flags) = (header.u8()?, header.u8()?);
        if magic != MAGIC || !(1..=3).contains(&version) || flags & !FLAGS != 0 || header.u8()? != processor {
            return None;
        }
        let (fixed_fp, fixed_ra) = (header.u8()? as i8, header.u8()? as i8);
        let header_end = HEADER + usize::from(header.u8()?);
        let (count, _, rows_len) = (header.u32()?, header.u32()?, header.u32()?);
        let mut place = |len: u64| {
            let start = header_end.checked_add(usize::try_from(header.u32()?).ok()?)?;
            let end = start.checked_add(usize::try_from(len).ok()?).filter(|end| *end <= bytes.len())?;
            Some((at + start, at + end))
        };
        let functions = place(u64::from(count) * function_size(version) as u64)?;
        let rows = place(rows_len.into())?;
        Some(Part {
            place: at..functions.1.max(rows.1).max(at + header_end),
            version,
            flags,
            fixed_fp,
            fixed_ra,
            functions: functions.0,
            count,
            rows: rows.0,
        })
    }

    /// The bytes of a function's entry, and its first address.
    fn entry<'a>(&self, section: &'a Contents, number: u32) -> Option<(Cursor<'a>, u64)> {
        let at = self.functions.checked_add(number as usize * function_size(self.version))?;
        let mut entry = Cursor::new(section.bytes.get(at..)?, ByteOrder::Little);
        let offset = match self.version {
            1 | 2 => entry.i32()?.into(),
            _ => entry.u64()? as i64,
        };
        let is_as_assembled = self.flags & (SORTED | FROM_FIELD) != SORTED;
        let from = if is_as_assembled { at } else { self.place.start };
        Some((entry, section.svma.start.wrapping_add(from as u64).wrapping_add_signed(offset)))
    }

    fn start(&self, section: &Contents, number: u32) -> Option<u64> {
        self.entry(section, number).map(|(_, start)| start)
    }

    fn function(&self, section: &Contents, number: u32) -> Option<Function> {
        let (mut entry, start) = self.entry(section, number)?;
        let addresses = start..start.checked_add(entry.u32()?.into())?;
        let at = self.rows.checked_add(usize::try_from(entry.u32()?).ok()?)?;
        let mut rows = at..self.place.end;
        let (count, info, kind, period);
        if self.version < 3 {
            (count, info, kind) = (entry.u32()?, entry.u8()?, 0);
            // Version 1 does not say it: the entries of x86-64's procedure linkage tables have 16 bytes.
            period = if self.version == 1 { 16 } else { entry.u8()?.into() };
        } else {
            let mut of_it = Cursor::new(section.bytes.get(rows.clone())?, ByteOrder::Little);
            (count, info, kind) = (of_it.u16()?.into(), of_it.u8()?, of_it.u8()? & 0x1f);
            period = of_it.u8()?.into();
            rows.start += 5;
        }
        Some(Function { addresses, rows, count, info, kind, period })
    }

    /// The row of an instruction so many bytes behind the beginning of a function.
    fn row(&self, rows: &[u8], function: &Function, inside: u64, cpu: &Cpu) -> Option<Row> {
        const REPEATED: u8 = 0x10;
        const SIGNAL: u8 = 0x80;
        let inside = match function.info & REPEATED {
            0 => inside,
            _ => inside.checked_rem(function.period)?,
        };
        let mut rows = Cursor::new(rows, ByteOrder::Little);
        let mut found = None;
        for _ in 0..function.count.min(MOST_ROWS) {
            let start: u64 = match function.info & 0x0f {
                0 => rows.u8()?.into(),
                1 => rows.u16()?.into(),
                2 => rows.u32()?.into(),
                _ => return None,
            };
            if start > inside {
                break;
            }
            let info = rows.u8()?;
            let width = 1 << (info >> 5 & 3);
            (width <= 4).then_some(())?;
            found = Some((info, width, rows.take(usize::from(info >> 1 & 0x0f) * width)?));
        }
        let (info, width, words) = found?;
        let frame = match words {
            [] => None,
            _ => Some(self.frame(info, Words { bytes: words, width }, function.kind, cpu)?),
        };
        Some(Row { signal: self.version >= 3 && function.info & SIGNAL != 0, frame })
    }

    fn frame(&self, info: u8, mut words: Words<'_>, kind: u8, cpu: &Cpu) -> Option<Frame> {
        let below_cfa = |offset: i32| Place { base: None, offset, in_memory: true };
        let fixed = |offset: i8| (offset != 0).then(|| below_cfa(offset.into()));
        let (fixed_ra, fixed_fp) = (fixed(self.fixed_ra), fixed(self.fixed_fp));
        match kind {
            0 => {
                let base = if info & 1 != 0 { cpu.sp } else { cpu.fp };
                let cfa = Place { base: Some(base), offset: words.signed()?, in_memory: false };
                let return_address = fixed_ra.or_else(|| words.signed().map(below_cfa));
                let fp = fixed_fp.or_else(|| words.signed().map(below_cfa));
                Some(Frame { cfa, return_address, fp })
            }
            1 => {
                let cfa = words.place().ok()??;
                // What is not there is as if it were left out.
                let return_address = words.place().ok()?.or(fixed_ra);
                let fp = words.place().ok()?.or(fixed_fp);
                Some(Frame { cfa, return_address, fp })
            }
            _ => None,
        }
    }
}

/// The size of a function's entry in bytes.
fn function_size(version: u8) -> usize {
    match version {
        1 => 17,
        2 => 20,
        _ => 16,
    }
}

/// A row that describes no place that there can be.
struct Damaged;

/// The numbers of a row, of 1, 2 or 4 bytes each.
struct Words<'a> {
    bytes: &'a [u8],
    width: usize,
}

impl Words<'_> {
    fn signed(&mut self) -> Option<i32> {
        let (word, rest) = self.bytes.split_at_checked(self.width)?;
        self.bytes = rest;
        match *word {
            [byte] => Some((byte as i8).into()),
            [low, high] => Some(i16::from_le_bytes([low, high]).into()),
            _ => word.try_into().ok().map(i32::from_le_bytes),
        }
    }

    /// A place that is described by two numbers; `None` if it is left out, or no numbers are left.
    fn place(&mut self) -> Result<Option<Place>, Damaged> {
        const FROM_REGISTER: i64 = 1;
        const IN_MEMORY: i64 = 2;
        let unsigned = (1 << (8 * self.width)) - 1;
        let control = match self.signed() {
            None | Some(0) => return Ok(None),
            Some(control) => i64::from(control) & unsigned,
        };
        let base = match control & FROM_REGISTER {
            0 => None,
            _ => Some(u16::try_from(control >> 3).map_err(|_| Damaged)?),
        };
        let offset = self.signed().ok_or(Damaged)?;
        Ok(Some(Place { base, offset, in_memory: control & IN_MEMORY != 0 }))
    }
}

impl Place {
    fn value(&self, cfa: Option<u64>, regs: &Regs, dump: &mut Dump<'_>) -> Option<u64> {
        let base = self.base.map_or(cfa, |register| regs.get(register))?;
        let address = base.wrapping_add_signed(self.offset.into());
        if self.in_memory { dump.read(address) } else { Some(address) }
    }

    /// The words below the frame's address at which it is, as a [`Rule`] has them.
    fn words_below(self) -> Option<i16> {
        let is_simple = self.base.is_none() && self.in_memory && self.offset % 8 == 0;
        is_simple.then_some(-i64::from(self.offset) / 8).filter(|words| *words != 0)?.try_into().ok()
    }
}

impl Frame {
    /// Writes it into a rule; `None` if that cannot express it.
    fn simple(&self, rule: &mut Rule, cpu: &Cpu) -> Option<()> {
        let Frame { cfa, return_address, fp } = self;
        rule.base = cfa.base.filter(|_| !cfa.in_memory).and_then(|register| register.try_into().ok())?;
        rule.offset = cfa.offset;
        rule.saved[0] = match return_address {
            Some(place) => place.words_below()?,
            None => cpu.link_register.then_some(0)?,
        };
        rule.saved[1] = fp.map_or(Some(0), Place::words_below)?;
        Some(())
    }
}

#[cfg(test)]
mod tests;
