//! Symbol tables: which name an address has.
//!
//! Several symbols often begin at one address (aliases, weak ones, labels), and a reader must
//! settle on the one that others settle on: that with a size, then with a type, then not weak,
//! then global, then with fewer leading underscores, then with the longest readable name, as
//! `perf` does.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::ops::Range;

use super::elf::{ET_REL, Elf, Fields, SHT_DYNSYM, SHT_SYMTAB, Section, string_at};
use super::image::Image;
use super::intervals::Intervals;
use crate::symbol::demangle;

const STT_NOTYPE: u8 = 0;
const STT_FUNC: u8 = 2;
const STT_GNU_IFUNC: u8 = 10;
const STB_LOCAL: u8 = 0;
const STB_WEAK: u8 = 2;
const SHN_UNDEF: u16 = 0;
const SHN_XINDEX: u16 = 0xffff;
const SHN_LORESERVE: u16 = 0xff00;
const SHF_EXECINSTR: u64 = 4;

/// A name for a range of addresses.
#[derive(Clone, Debug)]
pub(super) struct Symbol<'a> {
    pub(super) start: u64,
    /// Its end; `start` while its size is not known.
    pub(super) end: u64,
    pub(super) name: Cow<'a, [u8]>,
    rank: Rank,
}

/// The greater is preferred.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Rank {
    sized: bool,
    typed: bool,
    strong: bool,
    global: bool,
}

/// A label of an assembler. Within a function it begins nothing: V8's code has many.
const LABEL: Rank = Rank { sized: false, typed: false, strong: true, global: false };

/// The names of an object's symbols by address, one for an address.
pub(super) type Symbols<'a> = Intervals<Cow<'a, [u8]>>;

/// Chooses among symbols. Those without a size go on to the next one, but not beyond the section
/// (of `limits`) that they are in.
pub(super) fn choose<'a>(mut all: Vec<Symbol<'a>>, limits: &[Range<u64>]) -> Symbols<'a> {
    all.sort_by(|a, b| a.start.cmp(&b.start).then_with(|| preferred_first(a, b)));
    all.dedup_by_key(|symbol| symbol.start);
    let mut function_end = 0;
    all.retain(|symbol| {
        if symbol.rank.sized && symbol.rank.typed {
            function_end = function_end.max(symbol.end);
        }
        symbol.rank != LABEL || symbol.start >= function_end
    });
    let mut next = None;
    for symbol in all.iter_mut().rev() {
        if symbol.end <= symbol.start {
            let limit = limits.iter().find(|l| l.contains(&symbol.start)).map(|l| l.end);
            let end = next.into_iter().chain(limit).min();
            symbol.end = end.unwrap_or(symbol.start.saturating_add(1));
        }
        next = Some(symbol.start);
    }
    Intervals::new(all.into_iter().map(|symbol| (symbol.start, symbol.end, symbol.name)).collect())
}

impl<'a> Symbol<'a> {
    /// A function as a linker would state it: sized, global.
    pub(super) fn function(start: u64, size: u64, name: Cow<'a, [u8]>) -> Self {
        let rank = Rank { sized: size > 0, typed: true, strong: true, global: true };
        Symbol { start, end: start.saturating_add(size), name, rank }
    }
}

fn preferred_first(a: &Symbol<'_>, b: &Symbol<'_>) -> Ordering {
    b.rank.cmp(&a.rank).then_with(|| {
        if a.name == b.name {
            return Ordering::Equal;
        }
        let (a, b) = (readable(&a.name), readable(&b.name));
        let underscores = |name: &[u8]| name.iter().take_while(|&&b| b == b'_').count();
        // If two are equal in all this, the one that the table lists first is preferred.
        underscores(&a).cmp(&underscores(&b)).then(b.len().cmp(&a.len()))
    })
}

fn readable(name: &[u8]) -> Cow<'_, [u8]> {
    demangle(name).map_or(Cow::Borrowed(name), Cow::Owned)
}

/// The addresses of the sections that hold code.
pub(super) fn code_sections(elf: &Elf) -> Vec<Range<u64>> {
    let code = elf.sections.iter().filter(|s| s.flags & SHF_EXECINSTR != 0);
    code.map(|s| s.address..s.address.saturating_add(s.size)).collect()
}

/// Appends the code symbols of both tables of an image.
pub(super) fn read<'a>(image: &'a Image, out: &mut Vec<Symbol<'a>>) {
    let tables = [SHT_SYMTAB, SHT_DYNSYM];
    for table in tables.iter().flat_map(|kind| image.elf.sections.iter().filter(|s| s.kind == *kind)) {
        let strings = image.elf.sections.get(table.link as usize);
        let strings = strings.and_then(|s| image.elf.contents(&image.data, s)).unwrap_or(b"");
        let contents = image.elf.contents(&image.data, table).unwrap_or(b"");
        for record in contents.chunks_exact(if image.elf.format.wide { 24 } else { 16 }) {
            out.extend(read_symbol(&image.elf, Fields::new(record, image.elf.format), strings));
        }
    }
}

fn read_symbol<'a>(elf: &Elf, mut fields: Fields<'_>, strings: &'a [u8]) -> Option<Symbol<'a>> {
    let name = fields.word()?;
    let (info, section, value, size);
    if elf.format.wide {
        info = fields.take::<1>()?[0];
        fields.skip(1)?;
        section = fields.half()?;
        value = fields.double()?;
        size = fields.double()?;
    } else {
        value = u64::from(fields.word()?);
        size = u64::from(fields.word()?);
        info = fields.take::<1>()?[0];
        fields.skip(1)?;
        section = fields.half()?;
    }
    let kind = info & 0xf;
    if !matches!(kind, STT_NOTYPE | STT_FUNC | STT_GNU_IFUNC) || section == SHN_UNDEF {
        return None;
    }
    let start = match section {
        SHN_XINDEX => value,
        SHN_LORESERVE.. => return None,
        section => address_in(elf, elf.sections.get(usize::from(section))?, value)?,
    };
    let name = string_at(strings, u64::from(name)).filter(|name| !name.is_empty())?;
    // Arm marks where code ($x) and data ($d) begin.
    if kind == STT_NOTYPE && matches!(name, [b'$', b'x' | b'd' | b'a' | b't'] | [b'$', b'x' | b'd', b'.', ..])
    {
        return None;
    }
    let binding = info >> 4;
    let rank = Rank {
        sized: size > 0,
        typed: kind != STT_NOTYPE,
        strong: binding != STB_WEAK,
        global: binding != STB_LOCAL,
    };
    Some(Symbol { start, end: start.saturating_add(size), name: Cow::Borrowed(name), rank })
}

/// The address of a symbol with this value in a section, if that holds code. A relocatable file,
/// a kernel module, counts from its `.text`.
fn address_in(elf: &Elf, section: &Section, value: u64) -> Option<u64> {
    if section.flags & SHF_EXECINSTR == 0 || (elf.kind == ET_REL && *section.name != *b".text") {
        return None;
    }
    Some(value)
}

/// Returns whether an image has a table of all its symbols.
pub(super) fn has_table(image: &Image) -> bool {
    image.elf.sections.iter().any(|s| s.kind == SHT_SYMTAB && s.size > 0)
}

/// The address of the symbol of a name.
pub(super) fn address_of(image: &Image, name: &[u8]) -> Option<u64> {
    let mut all = Vec::new();
    read(image, &mut all);
    all.iter().find(|symbol| *symbol.name == *name).map(|symbol| symbol.start)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_preferred_of_two_names_for_one_address() {
        let plain = Rank { sized: true, typed: true, strong: true, global: true };
        let symbol = |name: &'static str, rank: Rank| {
            let name = Cow::Borrowed(name.as_bytes());
            Symbol { start: 0x10, end: if rank.sized { 0x20 } else { 0x10 }, name, rank }
        };
        for (preferred, other) in [
            (symbol("_a", plain), symbol("longer", Rank { sized: false, ..plain })),
            (symbol("_a", plain), symbol("longer", Rank { typed: false, ..plain })),
            (symbol("_a", plain), symbol("longer", Rank { strong: false, ..plain })),
            (symbol("_a", plain), symbol("longer", Rank { global: false, ..plain })),
            (symbol("a", plain), symbol("_longer", plain)),
            (symbol("longer", plain), symbol("short", plain)),
            // In readable form, the second is the longer.
            (symbol("a_name_in_c", plain), symbol("_ZN1a1bEiiiiiiiiiiiiiiiiiiiiii", plain)),
        ] {
            for all in [vec![preferred.clone(), other.clone()], vec![other.clone(), preferred.clone()]] {
                let names = choose(all, &[]);
                assert_eq!(names.find(0x10).unwrap(), &preferred.name, "over {other:?}");
                assert_eq!(names.len(), 1);
            }
        }
        let names = choose(vec![symbol("b", plain), symbol("a", plain)], &[]);
        assert_eq!(&**names.find(0x10).unwrap(), b"b", "the first");
    }

    #[test]
    fn a_label_within_a_function_begins_nothing() {
        let at = |start, end, name: &'static str, rank| Symbol {
            start,
            end,
            name: Cow::Borrowed(name.as_bytes()),
            rank,
        };
        let function = Rank { sized: true, typed: true, strong: true, global: false };
        let names = choose(
            vec![
                at(0x10, 0x30, "function", function),
                at(0x18, 0x18, "label", LABEL),
                at(0x20, 0x20, "entry", Rank { global: true, ..LABEL }),
                at(0x30, 0x30, "behind", LABEL),
            ],
            &[0x10..0x20, 0x20..0x40],
        );
        for (address, name) in [(0x19, "function"), (0x21, "entry"), (0x31, "behind")] {
            assert_eq!(&**names.find(address).unwrap(), name.as_bytes());
        }
    }

    #[test]
    fn without_a_size_it_goes_on_to_the_next_or_the_end_of_the_section() {
        let all = [(0x10, 0, "a"), (0x20, 4, "b"), (0x30, 0, "c")];
        let all =
            all.map(|(start, size, name)| Symbol::function(start, size, Cow::Borrowed(name.as_bytes())));
        let names = choose(all.into(), &[0x10..0x30, 0x30..0x38]);
        let found = |at| names.find(at).map(|name| String::from_utf8_lossy(name).into_owned());
        let found: String = (0x0f..0x3a).map(|at| found(at).unwrap_or(".".into())).collect();
        assert_eq!(found, format!(".{}bbbb{}cccccccc..", "a".repeat(16), ".".repeat(12)));
    }
}
