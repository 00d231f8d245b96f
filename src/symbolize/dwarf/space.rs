//! The units of one set of debug sections, parsed when asked for.

use std::sync::OnceLock;

use gimli::{AttributeValue, DebugInfoOffset, DwarfFileType, Section, SectionId, UnitHeader, UnitOffset};

use super::super::image::Image;
use super::meter::Metered;

pub(super) type Dwarf<'o> = gimli::Dwarf<Metered<'o>>;
pub(super) type Unit<'o> = gimli::Unit<Metered<'o>>;

/// No object has more units; Chromium has 40,000.
const MOST_UNITS: usize = 1 << 20;

/// The number of origins that are followed to find the name of a function.
const LONGEST_CHAIN: usize = 16;

/// See the module.
pub(super) struct Space<'o> {
    pub(super) dwarf: Dwarf<'o>,
    /// In the order of their offsets.
    units: Vec<LazyUnit<'o>>,
}

struct LazyUnit<'o> {
    offset: usize,
    header: UnitHeader<Metered<'o>>,
    unit: OnceLock<Option<Box<Unit<'o>>>>,
}

/// The debug sections of an image; those of a `.dwo` have names of their own.
pub(super) fn load<'o>(image: &'o Image, kind: DwarfFileType) -> Dwarf<'o> {
    let little = image.elf.format.little;
    let loaded = gimli::Dwarf::load(|section| {
        let name = match (section, kind) {
            // Locations of variables, macros, indexes, types: a quarter of all bytes, and never used.
            (
                SectionId::DebugLoc
                | SectionId::DebugLocLists
                | SectionId::DebugMacinfo
                | SectionId::DebugMacro
                | SectionId::DebugNames
                | SectionId::DebugTypes,
                _,
            ) => None,
            (_, DwarfFileType::Main) => Some(section.name()),
            (_, DwarfFileType::Dwo) => section.dwo_name(),
        };
        let bytes = name.and_then(|name| image.section(name.as_bytes())).unwrap_or(b"");
        Ok::<_, std::convert::Infallible>(Metered::new(bytes, little))
    });
    let mut dwarf = match loaded {
        Ok(dwarf) => dwarf,
        Err(never) => match never {},
    };
    dwarf.file_type = kind;
    dwarf
}

/// The number of bytes to read, without strings, which are jumped into.
pub(super) fn size(dwarf: &Dwarf<'_>) -> u64 {
    let sections = [
        dwarf.debug_info.reader(),
        dwarf.debug_abbrev.reader(),
        dwarf.debug_line.reader(),
        dwarf.debug_addr.reader(),
        dwarf.debug_aranges.reader(),
        dwarf.debug_str_offsets.reader(),
        dwarf.ranges.debug_ranges().reader(),
        dwarf.ranges.debug_rnglists().reader(),
    ];
    sections.iter().map(|section| section.bytes().len() as u64).sum()
}

impl<'o> Space<'o> {
    /// Finds the units' headers; those behind a damaged one are lost.
    pub(super) fn new(dwarf: Dwarf<'o>) -> Self {
        let mut units = Vec::new();
        let mut headers = dwarf.units();
        while let Ok(Some(header)) = headers.next() {
            if let Some(DebugInfoOffset(offset)) = header.debug_info_offset() {
                units.push(LazyUnit { offset, header, unit: OnceLock::new() });
            }
            if units.len() == MOST_UNITS {
                break;
            }
        }
        Space { dwarf, units }
    }

    pub(super) fn len(&self) -> usize {
        self.units.len()
    }

    pub(super) fn header(&self, at: usize) -> &UnitHeader<Metered<'o>> {
        &self.units[at].header
    }

    /// A unit by its number.
    pub(super) fn unit(&self, at: usize) -> Option<&Unit<'o>> {
        let lazy = self.units.get(at)?;
        let parse = || self.dwarf.unit(lazy.header).ok().map(Box::new);
        lazy.unit.get_or_init(parse).as_deref()
    }

    /// The unit that holds an offset of `.debug_info`, and the offset in it.
    fn containing(&self, offset: DebugInfoOffset<usize>) -> Option<(&Unit<'o>, UnitOffset<usize>)> {
        let behind = self.units.partition_point(|unit| unit.offset <= offset.0);
        let unit = self.unit(behind.checked_sub(1)?)?;
        let inside = offset.to_unit_offset(&unit.header)?;
        Some((unit, inside))
    }

    /// The name of a function: the linker's if there is one, else the one in the source.
    ///
    /// Inlined functions and instances of templates have no names of their own but refer to a
    /// declaration, often in another unit, with `dwz` in another file (`supplement`).
    pub(super) fn name<'s>(
        &'s self,
        mut unit: &'s Unit<'o>,
        mut at: UnitOffset<usize>,
        supplement: Option<&'s Space<'o>>,
    ) -> Option<&'o [u8]> {
        let mut space = self;
        let mut plain = None;
        for _ in 0..LONGEST_CHAIN {
            let mut next = None;
            let mut entries = unit.entries_raw(Some(at)).ok()?;
            for spec in entries.read_abbreviation().ok()??.attributes() {
                let attribute = entries.read_attribute(*spec).ok()?;
                let text = || space.dwarf.attr_string(unit, attribute.value()).ok().map(|text| text.bytes());
                match attribute.name() {
                    gimli::DW_AT_linkage_name | gimli::DW_AT_MIPS_linkage_name => {
                        if let Some(name) = text() {
                            return Some(name);
                        }
                    }
                    gimli::DW_AT_name if plain.is_none() => plain = text(),
                    gimli::DW_AT_abstract_origin | gimli::DW_AT_specification => {
                        next = Some(attribute.value())
                    }
                    _ => {}
                }
            }
            match next {
                Some(AttributeValue::UnitRef(offset)) => at = offset,
                Some(AttributeValue::DebugInfoRef(offset)) => match space.containing(offset) {
                    Some(found) => (unit, at) = found,
                    None => break,
                },
                Some(AttributeValue::DebugInfoRefSup(offset)) => {
                    let Some(other) = supplement else { break };
                    space = other;
                    match space.containing(offset) {
                        Some(found) => (unit, at) = found,
                        None => break,
                    }
                }
                _ => break,
            }
        }
        plain
    }
}
