//! Symbol tables: which name an address has.
//!
//! Several symbols often begin at one address (aliases, weak ones, labels), and a reader must
//! settle on the one that others settle on. Like `perf`, that is one with a size, then with a type,
//! then not weak, then global, then with fewer leading underscores, then with the longest readable
//! name. Unlike `perf`, a version that programs are no longer linked against (`cfree@GLIBC_2.2.5`)
//! comes after all others, and a name that only adds to another one (`fmodf32x`, `__libc_free`) is
//! not taken: the C library has a dozen names of both kinds for its commonest functions.

use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};
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
/// The versions of the symbols of `.dynsym`, a number each.
const SHT_GNU_VERSYM: u32 = 0x6fff_ffff;
/// A version that is there for programs linked long ago.
const HIDDEN_VERSION: u16 = 0x8000;

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
    /// The version of a symbol that programs are linked against, or one without versions.
    current: bool,
    strong: bool,
    global: bool,
}

/// A label of an assembler. Within a function it begins nothing: V8's code has many.
const LABEL: Rank = Rank { sized: false, typed: false, current: true, strong: true, global: false };

/// The names of an object's symbols by address, one for an address.
pub(super) type Symbols<'a> = Intervals<Cow<'a, [u8]>>;

/// Chooses among symbols. Those without a size go on to the next one, but not beyond the section
/// (of `limits`) that they are in.
pub(super) fn choose<'a>(mut all: Vec<Symbol<'a>>, limits: &[Range<u64>]) -> Symbols<'a> {
    // Of two that are equal in all else, the one that the tables list first is preferred.
    all.sort_by_key(|symbol| symbol.start);
    let mut all: Vec<Symbol<'a>> =
        all.chunk_by(|a, b| a.start == b.start).map(|same| best(same).clone()).collect();
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
        let rank = Rank { sized: size > 0, typed: true, current: true, strong: true, global: true };
        Symbol { start, end: start.saturating_add(size), name, rank }
    }
}

/// The symbol to take of those at one address.
fn best<'s, 'a>(same: &'s [Symbol<'a>]) -> &'s Symbol<'a> {
    /// Real addresses have a few names; comparing each with each of a hostile table would take for ever.
    const MANY: usize = 64;
    let [first, _, ..] = same else { return &same[0] };
    if same.iter().all(|symbol| symbol.name == first.name && symbol.rank == first.rank) {
        return first;
    }
    let state = |symbol: &Symbol<'_>| (symbol.rank.sized, symbol.rank.typed, symbol.rank.current);
    let most = same.iter().map(state).max().expect("there are two at least");
    let names: Vec<(&Symbol<'a>, Cow<'_, [u8]>)> = same
        .iter()
        .filter(|symbol| state(symbol) == most)
        .take(MANY)
        .map(|symbol| (symbol, readable(without_version(&symbol.name))))
        .collect();
    let plain = |name: &[u8]| !names.iter().any(|(_, other)| adds_to(name, other));
    let underscores = |name: &[u8]| name.iter().take_while(|&&b| b == b'_').count();
    let preferred = |(symbol, name): &(&Symbol<'a>, Cow<'_, [u8]>)| {
        (plain(name), symbol.rank, Reverse(underscores(name)), name.len())
    };
    // The last of the greatest would be taken.
    names.iter().rev().max_by_key(|named| preferred(named)).map_or(first, |(symbol, _)| symbol)
}

/// The names, without their versions, of the symbols that begin at some addresses.
pub(super) fn names_at(all: &[Symbol<'_>], addresses: &HashSet<u64>) -> HashMap<u64, Vec<u8>> {
    let mut found: Vec<Symbol<'_>> =
        all.iter().filter(|symbol| addresses.contains(&symbol.start)).cloned().collect();
    found.sort_by_key(|symbol| symbol.start);
    let same = found.chunk_by(|a, b| a.start == b.start);
    same.map(|same| (same[0].start, without_version(&best(same).name).to_vec())).collect()
}

/// Returns true if a name is another one with something before or behind it: `fmodf32x` is `fmod`.
fn adds_to(name: &[u8], other: &[u8]) -> bool {
    // The kernel's part of a function, which calls it by the same name.
    const VDSO: &[u8] = b"__vdso_";
    let adds = name.len() > other.len() && (name.starts_with(other) || name.ends_with(other));
    adds && !other.is_empty() && !name.starts_with(VDSO)
}

/// `memcpy@@GLIBC_2.14` without what follows `@`.
fn without_version(name: &[u8]) -> &[u8] {
    memchr::memchr(b'@', name).map_or(name, |at| &name[..at])
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
        let versions =
            image.elf.sections.iter().find(|s| s.kind == SHT_GNU_VERSYM && table.kind == SHT_DYNSYM);
        let versions = versions.and_then(|s| image.elf.contents(&image.data, s)).unwrap_or(b"");
        let mut versions = Fields::new(versions, image.elf.format);
        for record in contents.chunks_exact(if image.elf.format.wide { 24 } else { 16 }) {
            let is_old = versions.half().is_some_and(|version| version & HIDDEN_VERSION != 0);
            let symbol = read_symbol(&image.elf, Fields::new(record, image.elf.format), strings);
            out.extend(symbol.map(|mut symbol| {
                symbol.rank.current &= !is_old;
                symbol
            }));
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
    // In `.symtab` the version is part of the name: `@@` before the one that is linked against.
    let version = &name[without_version(name).len()..];
    let rank = Rank {
        sized: size > 0,
        typed: kind != STT_NOTYPE,
        current: version.is_empty() || version.starts_with(b"@@"),
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

/// The address of the data of a name.
pub(super) fn data_named(image: &Image, wanted: &[u8]) -> Option<u64> {
    const STT_OBJECT: u8 = 1;
    let elf = &image.elf;
    let tables = elf.sections.iter().filter(|section| matches!(section.kind, SHT_DYNSYM | SHT_SYMTAB));
    tables.filter(|_| elf.format.wide).find_map(|table| {
        let strings = elf.sections.get(table.link as usize).and_then(|s| elf.contents(&image.data, s))?;
        elf.contents(&image.data, table)?.chunks_exact(24).find_map(|record| {
            let mut fields = Fields::new(record, elf.format);
            let (name, info) = (fields.word()?, fields.take::<1>()?[0]);
            fields.skip(1)?;
            let (section, value) = (fields.half()?, fields.double()?);
            let is_data = info & 0xf == STT_OBJECT && section != SHN_UNDEF;
            (is_data && string_at(strings, name.into())? == wanted).then_some(value)
        })
    })
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
        let plain = Rank { sized: true, typed: true, current: true, strong: true, global: true };
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
            // The C library's own: old versions, and names that only add to others.
            (symbol("__libc_free", plain), symbol("cfree@GLIBC_2.2.5", Rank { current: false, ..plain })),
            (symbol("fmod", plain), symbol("fmodf32x", plain)),
            (
                symbol("fmod", Rank { strong: false, ..plain }),
                symbol("__fmod", Rank { global: false, ..plain }),
            ),
            (symbol("open@@GLIBC_2.2.5", plain), symbol("open64@@GLIBC_2.2.5", plain)),
            (symbol("strchr", plain), symbol("index", Rank { strong: false, ..plain })),
            (symbol("__vdso_time", plain), symbol("time", Rank { strong: false, ..plain })),
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
        let function = Rank { sized: true, typed: true, current: true, strong: true, global: false };
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
