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

    /// The name of a function, the linker's if there is one, else the one in the source; and the line on which
    /// it begins, 0 if that is not known.
    pub(super) fn declaration<'s>(
        &'s self,
        unit: &'s Unit<'o>,
        at: UnitOffset<usize>,
        supplement: Option<&'s Space<'o>>,
    ) -> (Option<&'o [u8]>, u32) {
        let (mut linkage, mut plain, mut line) = (None, None, 0);
        self.for_each_attribute(unit, at, supplement, |space, unit, attribute| {
            let text = || space.dwarf.attr_string(unit, attribute.value()).ok().map(|text| text.bytes());
            match attribute.name() {
                gimli::DW_AT_linkage_name | gimli::DW_AT_MIPS_linkage_name if linkage.is_none() => {
                    linkage = text();
                }
                gimli::DW_AT_name if plain.is_none() => plain = text(),
                gimli::DW_AT_decl_line if line == 0 => line = small_value(attribute),
                _ => {}
            }
            linkage.is_none() || line == 0
        });
        (linkage.or(plain), line)
    }

    /// Calls `each` with the attributes of a function until it returns false.
    ///
    /// Inlined functions and instances of templates have few of their own but refer to a
    /// declaration, often in another unit, with `dwz` in another file (`supplement`).
    fn for_each_attribute<'s>(
        &'s self,
        mut unit: &'s Unit<'o>,
        mut at: UnitOffset<usize>,
        supplement: Option<&'s Space<'o>>,
        mut each: impl FnMut(&'s Space<'o>, &'s Unit<'o>, &gimli::Attribute<Metered<'o>>) -> bool,
    ) {
        let mut space = self;
        for _ in 0..LONGEST_CHAIN {
            let mut next = None;
            let Ok(mut entries) = unit.entries_raw(Some(at)) else { return };
            let Ok(Some(abbreviation)) = entries.read_abbreviation() else { return };
            for spec in abbreviation.attributes() {
                let Ok(attribute) = entries.read_attribute(*spec) else { return };
                if let gimli::DW_AT_abstract_origin | gimli::DW_AT_specification = attribute.name() {
                    next = Some(attribute.value());
                } else if !each(space, unit, &attribute) {
                    return;
                }
            }
            match next {
                Some(AttributeValue::UnitRef(offset)) => at = offset,
                Some(AttributeValue::DebugInfoRef(offset)) => match space.containing(offset) {
                    Some(found) => (unit, at) = found,
                    None => return,
                },
                Some(AttributeValue::DebugInfoRefSup(offset)) => {
                    let Some(other) = supplement else { return };
                    space = other;
                    match space.containing(offset) {
                        Some(found) => (unit, at) = found,
                        None => return,
                    }
                }
                _ => return,
            }
        }
    }
}

/// The value of an attribute that is a small number; 0 for any other.
pub(super) fn small_value(attribute: &gimli::Attribute<Metered<'_>>) -> u32 {
    attribute.udata_value().and_then(|value| u32::try_from(value).ok()).unwrap_or(0)
}
