//! `foo@plt`: names for the stubs that call functions of other objects.
//!
//! A linker makes them and gives them no symbols. Each jumps through a slot of the global offset
//! table, and the slot's relocation names the function. Stubs are decoded one by one rather than
//! counted: `.plt`, `.plt.sec` and `.plt.got` differ in layout from linker to linker.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use super::elf::{EM_386, EM_AARCH64, EM_X86_64, Fields, PT_LOAD, Section, Segment, string_at};
use super::image::Image;
use super::symbols::{self, Symbol};

const SHT_RELA: u32 = 4;
const SHT_REL: u32 = 9;

/// Stubs are this far apart on both processors; `.plt.got` of x86 has shorter ones.
const STUB: usize = 16;

/// Appends a symbol for each stub that is understood.
pub(super) fn read<'a>(image: &'a Image, out: &mut Vec<Symbol<'a>>) {
    let stubs = image.elf.sections.iter().filter(|s| matches!(&*s.name, b".plt" | b".plt.sec" | b".plt.got"));
    let stubs: Vec<&Section> = stubs.collect();
    if stubs.is_empty() {
        return;
    }
    let slots = slots(image);
    let mut found = Vec::new();
    for section in stubs {
        let code = image.elf.contents(&image.data, section).unwrap_or(b"");
        match image.elf.machine {
            EM_X86_64 => x86(section, code, &slots, None, &mut found),
            EM_386 => x86(section, code, &slots, Some(global_offset_table(image)), &mut found),
            EM_AARCH64 => aarch64(section, code, &slots, &mut found),
            _ => {}
        }
    }
    let choosers: HashSet<u64> = found.iter().filter_map(|stub| stub.function.chooser()).collect();
    let choosers = symbols::names_at(out, &choosers);
    out.extend(found.iter().map(|stub| {
        let name = match &stub.function {
            Function::Named(name) => Cow::Borrowed(*name),
            Function::ChosenBy(address) => match choosers.get(address) {
                Some(name) => Cow::Borrowed(&**name),
                // As objdump and newer versions of perf have it.
                None => format!("*ABS*+{address:#x}").into_bytes().into(),
            },
        };
        Symbol::function(stub.start, stub.size, Cow::Owned([&name, b"@plt".as_slice()].concat()))
    }));
}

/// A stub that was understood.
struct Stub<'a> {
    start: u64,
    size: u64,
    function: Function<'a>,
}

/// The function that a slot of the table is for.
#[derive(Clone, Copy)]
enum Function<'a> {
    /// One of another object.
    Named(&'a [u8]),
    /// Chosen when the object is loaded, by the function at this address.
    ChosenBy(u64),
}

impl Function<'_> {
    fn chooser(&self) -> Option<u64> {
        match self {
            Function::ChosenBy(address) => Some(*address),
            Function::Named(_) => None,
        }
    }
}

/// The function of each slot of the table, by the slot's address.
fn slots(image: &Image) -> HashMap<u64, Function<'_>> {
    let mut slots = HashMap::new();
    let elf = &image.elf;
    for table in elf.sections.iter().filter(|s| matches!(s.kind, SHT_RELA | SHT_REL)) {
        let contents = |section| elf.contents(&image.data, section).unwrap_or(b"");
        let symbols = elf.sections.get(table.link as usize);
        let strings = symbols.and_then(|symbols| elf.sections.get(symbols.link as usize));
        let (symbols, strings) = (symbols.map_or(&b""[..], contents), strings.map_or(&b""[..], contents));
        let word = if elf.format.wide { 8 } else { 4 };
        let size = word * if table.kind == SHT_RELA { 3 } else { 2 };
        for record in contents(table).chunks_exact(size) {
            let mut fields = Fields::new(record, elf.format);
            let (Some(slot), Some(info)) = (fields.address(), fields.address()) else { continue };
            let symbol = if elf.format.wide { info >> 32 } else { info >> 8 };
            if symbol == 0 {
                // Without an addend, the slot itself holds the address.
                let chooser = if table.kind == SHT_RELA { fields.address() } else { word_at(image, slot) };
                slots.extend(chooser.map(|address| (slot, Function::ChosenBy(address))));
                continue;
            }
            let symbol_size = if elf.format.wide { 24 } else { 16 };
            let at = usize::try_from(symbol).ok().and_then(|symbol| symbol.checked_mul(symbol_size));
            let name = at.and_then(|at| Fields::new(symbols.get(at..)?, elf.format).word());
            let name = name.and_then(|name| string_at(strings, name.into()));
            if let Some(name) = name.filter(|name| !name.is_empty()) {
                slots.insert(slot, Function::Named(name));
            }
        }
    }
    slots
}

/// The number at an address of a loaded part.
fn word_at(image: &Image, address: u64) -> Option<u64> {
    let inside =
        |s: &&Segment| s.kind == PT_LOAD && s.address <= address && address - s.address < s.file_size;
    let segment = image.elf.segments.iter().find(inside)?;
    let size = if image.elf.format.wide { 8 } else { 4 };
    let bytes = image.data.read(segment.offset.checked_add(address - segment.address)?, size)?;
    Fields::new(bytes, image.elf.format).address()
}

/// The address that stubs of 32-bit code are given in a register.
fn global_offset_table(image: &Image) -> u64 {
    let table = image.elf.section(b".got.plt").or_else(|| image.elf.section(b".got"));
    table.map_or(0, |section| section.address)
}

/// Within a stub is a jump through its slot: `ff 25` and the slot's offset from behind the jump in
/// 64-bit code; in 32-bit code its address, or behind `ff a3` its offset in the table.
fn x86<'a>(
    section: &Section,
    code: &[u8],
    slots: &HashMap<u64, Function<'a>>,
    table_of_32_bits: Option<u64>,
    out: &mut Vec<Stub<'a>>,
) {
    let apart = match (&*section.name, section.entry_size) {
        (b".plt.got", 8) => 8,
        _ => STUB,
    };
    for (n, stub) in code.chunks_exact(apart).enumerate() {
        let start = section.address.wrapping_add((n * apart) as u64);
        let found = stub.windows(6).enumerate().find_map(|(at, bytes)| {
            let (jump, number) = bytes.split_first_chunk::<2>()?;
            let number = i32::from_le_bytes(*number.first_chunk()?);
            let slot = match (jump, table_of_32_bits) {
                ([0xff, 0x25], None) => start.wrapping_add(at as u64 + 6).wrapping_add_signed(number.into()),
                ([0xff, 0x25], Some(_)) => u64::from(number.cast_unsigned()),
                ([0xff, 0xa3], Some(table)) => table.wrapping_add_signed(number.into()) & 0xffff_ffff,
                _ => return None,
            };
            slots.get(&slot)
        });
        out.extend(found.map(|&function| Stub { start, size: apart as u64, function }));
    }
}

/// `adrp x16, page; ldr x17, [x16, offset]`, perhaps behind a `bti`.
fn aarch64<'a>(section: &Section, code: &[u8], slots: &HashMap<u64, Function<'a>>, out: &mut Vec<Stub<'a>>) {
    let words: Vec<u32> =
        code.chunks_exact(4).map(|w| u32::from_le_bytes([w[0], w[1], w[2], w[3]])).collect();
    for (n, pair) in words.windows(2).enumerate() {
        let (adrp, ldr) = (pair[0], pair[1]);
        if adrp & 0x9f00_001f != 0x9000_0010 || ldr & 0xffc0_03ff != 0xf940_0211 {
            continue;
        }
        let address = section.address.wrapping_add(n as u64 * 4);
        // 21 bits, the lower two of them elsewhere, with a sign, in pages.
        let pages = ((adrp >> 5) & 0x7_ffff) << 2 | (adrp >> 29) & 3;
        let pages = i64::from((pages << 11) as i32 >> 11);
        let slot = (address & !0xfff).wrapping_add_signed(pages << 12);
        let slot = slot.wrapping_add(u64::from((ldr >> 10) & 0xfff) * 8);
        if let Some(&function) = slots.get(&slot) {
            let bti = n > 0 && words[n - 1] == 0xd503_245f;
            let start = if bti { address - 4 } else { address };
            out.push(Stub { start, size: STUB as u64, function });
        }
    }
}
