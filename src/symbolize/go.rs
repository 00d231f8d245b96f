//! The functions of Go programs, from the table that Go's own runtime prints its traces with: programs
//! without symbols have it too, those that `go run` builds among them.
//!
//! ```text
//! .gopclntab: f1ffffff 0000 01 08 │ functions, files, text │ offsets: names, …, functions
//! names:      "runtime.main\0" …
//! functions:  (entry, details)… entry of the end;  details: entry, name, …, frame sizes, …
//! ```
//! Written by Go's `cmd/link/internal/ld/pcln.go`, read by `debug/gosym`; since Go 1.18 entries are relative
//! to the beginning of the text.

use std::borrow::Cow;

mod frames;

pub(crate) use self::frames::{GoFrame, GoFrames};
use super::elf::{Fields, Format, string_at};
use super::image::Image;
use super::symbols::Symbol;

/// The first bytes of tables of Go 1.18 and 1.19, and since 1.20.
const VERSIONS: [u32; 2] = [0xffff_fff0, 0xffff_fff1];

/// The names that the section has: the second in a program that may lie anywhere.
const SECTIONS: [&[u8]; 2] = [b".gopclntab", b".data.rel.ro.gopclntab"];

/// The table's section.
fn section(image: &Image) -> Option<&[u8]> {
    SECTIONS.into_iter().find_map(|name| image.section(name))
}

/// Returns true if a program has a table that can be read here.
pub(super) fn has_table(image: &Image) -> bool {
    let first = section(image).and_then(|table| Fields::new(table, image.elf.format).word());
    first.is_some_and(|first| VERSIONS.contains(&first))
}

/// Appends the functions of the table.
pub(super) fn read<'a>(image: &'a Image, out: &mut Vec<Symbol<'a>>) {
    if let Some(table) = section(image) {
        read_table(table, image.elf.format, text(image), out);
    }
}

/// The address of the code, for tables that do not say it.
fn text(image: &Image) -> u64 {
    image.elf.section(b".text").map_or(0, |text| text.address)
}

/// The header of a table.
#[derive(Clone, Copy, Debug)]
struct Header {
    version: u32,
    /// The least size of an instruction.
    quantum: u8,
    /// The number of functions.
    count: u64,
    /// The address that entries are relative to.
    text: u64,
    /// The offsets of the parts: names, frame sizes and the like, functions.
    names: u64,
    values: u64,
    functions: u64,
}

impl Header {
    /// Reads a header; `text` is where the code begins if the table does not say it.
    fn parse(table: &[u8], format: Format, text: u64) -> Option<Header> {
        let mut fields = Fields::new(table, format);
        let version = fields.word().filter(|first| VERSIONS.contains(first))?;
        let [_, _, quantum, _address_size] = fields.take()?;
        let count = fields.address()?;
        let _files = fields.address()?;
        let text = Some(fields.address()?).filter(|stated| *stated > 0).unwrap_or(text);
        let names = fields.address()?;
        let [_units, _files, values] = [fields.address()?, fields.address()?, fields.address()?];
        let functions = fields.address()?;
        Some(Header { version, quantum, count, text, names, values, functions })
    }
}

/// The part of a table from an offset on.
fn part(table: &[u8], at: u64) -> Option<&[u8]> {
    table.get(usize::try_from(at).ok()?..)
}

/// Reads a table as far as it is whole.
fn read_table<'a>(table: &'a [u8], format: Format, text: u64, out: &mut Vec<Symbol<'a>>) -> Option<()> {
    let header = Header::parse(table, format, text)?;
    let (names, functions) = (part(table, header.names)?, part(table, header.functions)?);
    let mut entries = Fields::new(functions, format);
    let mut next = (entries.word()?, entries.word()?);
    for _ in 0..header.count {
        let (entry, details) = next;
        let end = entries.word()?;
        let size = end.checked_sub(entry)?;
        let mut details_of = Fields::new(part(functions, details.into())?, format);
        details_of.skip(4)?;
        if let Some(name) = string_at(names, details_of.word()?.into()).filter(|name| !name.is_empty()) {
            let start = header.text.checked_add(entry.into())?;
            out.push(Symbol::function(start, size.into(), Cow::Borrowed(name)));
        }
        // Behind the last one stands its end alone.
        next = (end, entries.word().unwrap_or(0));
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(magic: u32, text: u64) -> Vec<u8> {
        let mut table = magic.to_le_bytes().to_vec();
        table.extend([0, 0, 1, 8]);
        let header = [2, 0, text, 80, 0, 0, 0, 112];
        table.extend(header.iter().flat_map(|n: &u64| n.to_le_bytes()));
        table.resize(80, 0);
        table.extend(b"main.main\0main.work\0");
        table.resize(112, 0);
        // Two functions and the end, then what is known of each.
        let functions: [u32; 11] = [0x10, 20, 0x50, 28, 0x60, 0x10, 0, 0x50, 10, 0, 0];
        table.extend(functions.iter().flat_map(|n| n.to_le_bytes()));
        table
    }

    fn functions(table: &[u8]) -> Vec<(u64, u64, String)> {
        let mut out = Vec::new();
        read_table(table, Format { little: true, wide: true }, 0x1000, &mut out);
        out.iter().map(|s| (s.start, s.end, String::from_utf8_lossy(&s.name).into_owned())).collect()
    }

    #[test]
    fn functions_of_a_go_program() {
        let expected = |text: u64| {
            vec![
                (text + 0x10, text + 0x50, "main.main".into()),
                (text + 0x50, text + 0x60, "main.work".into()),
            ]
        };
        for magic in VERSIONS {
            assert_eq!(functions(&table(magic, 0x40_0000)), expected(0x40_0000));
        }
        assert_eq!(functions(&table(VERSIONS[1], 0)), expected(0x1000), "where the code is");
        assert!(functions(&table(0xffff_fffa, 0x1000)).is_empty(), "of a version before");
        let whole = table(VERSIONS[1], 0);
        for end in 0..whole.len() {
            assert!(functions(&whole[..end]).len() <= 2, "cut at {end}");
        }
    }
}
