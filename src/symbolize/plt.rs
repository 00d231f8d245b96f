//! `foo@plt`: names for the stubs that call functions of other objects.
//!
//! A linker makes them and gives them no symbols. Each jumps through a slot of the global offset
//! table, and the slot's relocation names the function. Stubs are decoded one by one rather than
//! counted: `.plt`, `.plt.sec` and `.plt.got` differ in layout from linker to linker.

use std::borrow::Cow;
use std::collections::HashMap;

use super::elf::{EM_386, EM_AARCH64, EM_X86_64, Fields, Section, string_at};
use super::image::Image;
use super::symbols::Symbol;

const SHT_RELA: u32 = 4;
const SHT_REL: u32 = 9;

/// Stubs are this far apart on both processors; `.plt.got` of x86 has shorter ones.
const STUB: usize = 16;

/// Appends a symbol for each stub that is understood.
pub(super) fn read<'a>(image: &'a Image, out: &mut Vec<Symbol<'a>>) {
    let stubs = image.elf.sections.iter().filter(|s| matches!(&*s.name, b".plt" | b".plt.sec" | b".plt.got"));
    let stubs: Vec<&Section> = stubs.collect();
    if stubs.is_empty() || image.elf.machine == EM_386 {
        return;
    }
    let slots = slots(image);
    for section in stubs {
        let code = image.elf.contents(&image.data, section).unwrap_or(b"");
        match image.elf.machine {
            EM_X86_64 => x86_64(section, code, &slots, out),
            EM_AARCH64 => aarch64(section, code, &slots, out),
            _ => {}
        }
    }
}

/// The function of each slot of the table, by the slot's address.
fn slots(image: &Image) -> HashMap<u64, &[u8]> {
    let mut slots = HashMap::new();
    let elf = &image.elf;
    for table in elf.sections.iter().filter(|s| matches!(s.kind, SHT_RELA | SHT_REL)) {
        let Some(symbols) = elf.sections.get(table.link as usize) else { continue };
        let Some(strings) = elf.sections.get(symbols.link as usize) else { continue };
        let contents = |section| elf.contents(&image.data, section).unwrap_or(b"");
        let (symbols, strings, relocations) = (contents(symbols), contents(strings), contents(table));
        let word = if elf.format.wide { 8 } else { 4 };
        let size = word * if table.kind == SHT_RELA { 3 } else { 2 };
        for record in relocations.chunks_exact(size) {
            let mut fields = Fields::new(record, elf.format);
            let (Some(slot), Some(info)) = (fields.address(), fields.address()) else { continue };
            let symbol = if elf.format.wide { info >> 32 } else { info >> 8 };
            if symbol == 0 {
                // Chosen when the object is loaded, by a function without a name. perf, too, calls
                // the stub just `@plt`.
                slots.insert(slot, &b""[..]);
                continue;
            }
            let symbol_size = if elf.format.wide { 24 } else { 16 };
            let at = symbol as usize * symbol_size;
            let name = symbols.get(at..).and_then(|rest| Fields::new(rest, elf.format).word());
            let name = name.and_then(|name| string_at(strings, name.into()));
            if let Some(name) = name.filter(|name| !name.is_empty()) {
                slots.insert(slot, name);
            }
        }
    }
    slots
}

fn push<'a>(start: u64, size: usize, name: &[u8], out: &mut Vec<Symbol<'a>>) {
    let name = [name, b"@plt"].concat();
    out.push(Symbol::function(start, size as u64, Cow::Owned(name)));
}

/// Within a stub is `jmp *slot(%rip)`, `ff 25` and an offset from behind it.
fn x86_64<'a>(section: &Section, code: &[u8], slots: &HashMap<u64, &[u8]>, out: &mut Vec<Symbol<'a>>) {
    let apart = match (&*section.name, section.entry_size) {
        (b".plt.got", 8) => 8,
        _ => STUB,
    };
    for (n, stub) in code.chunks_exact(apart).enumerate() {
        let start = section.address.wrapping_add((n * apart) as u64);
        let found = stub.windows(6).position(|bytes| bytes.starts_with(&[0xff, 0x25])).and_then(|at| {
            let offset = i32::from_le_bytes(*stub[at + 2..].first_chunk()?);
            slots.get(&start.wrapping_add(at as u64 + 6).wrapping_add_signed(offset.into()))
        });
        if let Some(name) = found {
            push(start, apart, name, out);
        }
    }
}

/// `adrp x16, page; ldr x17, [x16, offset]`, perhaps behind a `bti`.
fn aarch64<'a>(section: &Section, code: &[u8], slots: &HashMap<u64, &[u8]>, out: &mut Vec<Symbol<'a>>) {
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
        if let Some(name) = slots.get(&slot) {
            let bti = n > 0 && words[n - 1] == 0xd503_245f;
            let start = if bti { address - 4 } else { address };
            push(start, STUB, name, out);
        }
    }
}
