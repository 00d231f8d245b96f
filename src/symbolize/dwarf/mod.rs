//! Debug information: the inlined functions and lines of an address.
//!
//! The index of an object (which unit has which addresses) is made when its first address is
//! asked for, a unit is read when an address is in it, its line program when a line of it is
//! wanted. All of it is shared by threads, needs no recursion, and stops where it has been made
//! to do more than any real file needs (see [`meter`]).

mod functions;
mod lines;
mod meter;
mod sites;
mod space;
mod split;

use std::collections::HashMap;
use std::sync::OnceLock;

use gimli::{DebugInfoOffset, DwarfFileType, UnitOffset, UnitType};

use super::intervals::Intervals;
use super::object::Object;
use super::place::Place;
use functions::{Extent, Functions};
use lines::Lines;
use meter::Work;
use space::{Dwarf, Space, Unit, load, size};
use split::{Split, SplitUnit};

pub(crate) use sites::{DebugFunction, Site};

/// The number of units tried for one address: their ranges overlap where equal code was merged.
const OVERLAPS: usize = 16;

/// The debug information of an object.
pub(super) struct DebugInfo<'o> {
    work: Work,
    space: Space<'o>,
    /// The debug information that `dwz` put into a file shared by several objects.
    supplement: Option<Space<'o>>,
    ranges: Intervals<usize>,
    units: Vec<OnceLock<UnitCode<'o>>>,
    split: Split<'o>,
}

/// The parts of a unit that have been read.
struct UnitCode<'o> {
    functions: Functions,
    split: Option<SplitUnit<'o>>,
    lines: OnceLock<Lines>,
}

impl<'o> UnitCode<'o> {
    /// The lines of the unit, of which `skeleton` has the line program.
    fn lines(&self, skeleton: &Unit<'o>) -> &Lines {
        self.lines.get_or_init(|| Lines::parse(skeleton))
    }
}

/// A function at an address, as the debug information has it.
pub(super) struct DebugFrame<'o> {
    pub(super) name: Option<&'o [u8]>,
    pub(super) place: Option<Place>,
}

impl<'o> DebugInfo<'o> {
    /// Makes the index; `None` if there is no debug information.
    pub(super) fn new(object: &'o Object) -> Option<Self> {
        let mut dwarf = load(object.debug_image()?, DwarfFileType::Main);
        let supplement = object.supplement().map(|image| load(image, DwarfFileType::Main));
        let work = Work::for_bytes(size(&dwarf) + supplement.as_ref().map_or(0, size));
        if let Some(image) = object.supplement() {
            // Once more for the strings, which are looked up by way of the one that needs them.
            dwarf.set_sup(load(image, DwarfFileType::Main));
        }
        let (space, supplement, ranges) = work.spend(|| {
            dwarf.populate_abbreviations_cache(gimli::AbbreviationsCacheStrategy::Duplicates);
            let space = Space::new(dwarf);
            let ranges = unit_ranges(&space);
            (space, supplement.map(Space::new), ranges)
        });
        let units = (0..space.len()).map(|_| OnceLock::new()).collect();
        Some(DebugInfo { work, space, supplement, ranges, units, split: Split::new(object) })
    }

    /// Appends the functions at an address, the innermost first; lines only if asked.
    pub(super) fn frames(&self, address: u64, lines: bool, out: &mut Vec<DebugFrame<'o>>) {
        self.work.spend(|| self.find_frames(address, lines, out));
    }

    fn find_frames(&self, address: u64, lines: bool, out: &mut Vec<DebugFrame<'o>>) {
        let mut inlined = Vec::new();
        let mut only_line = None;
        for (_, &at) in self.ranges.containing(address).take(OVERLAPS) {
            let Some(skeleton) = self.space.unit(at) else { continue };
            let code = self.units[at].get_or_init(|| self.read(skeleton));
            let (space, unit) = match &code.split {
                Some(split) => (&split.space, &*split.unit),
                None => (&self.space, skeleton),
            };
            // The line of the address itself; further out, those of the calls.
            let mut place = lines.then(|| self.place(skeleton, code, address)).flatten();
            let Some(function) = code.functions.find(address, &mut inlined) else {
                only_line = only_line.or(place);
                continue;
            };
            for range in inlined.iter().rev().map(|at| code.functions.inlined(*at)) {
                out.push(self.frame(space, unit, range.entry, place.take()));
                if lines && range.call_line > 0 {
                    // The files of a split unit are numbered by its own table, if it has one.
                    let file = lines::file_name(&space.dwarf, unit, range.call_file)
                        .or_else(|| lines::file_name(&self.space.dwarf, skeleton, range.call_file));
                    place =
                        file.map(|file| Place { file: file.into(), line: range.call_line, start_line: 0 });
                }
            }
            out.push(self.frame(space, unit, function, place));
            return;
        }
        if only_line.is_some() {
            out.push(DebugFrame { name: None, place: only_line });
        }
    }

    /// A function at a place in it.
    fn frame<'s>(
        &'s self,
        space: &'s Space<'o>,
        unit: &'s Unit<'o>,
        entry: UnitOffset<usize>,
        mut place: Option<Place>,
    ) -> DebugFrame<'o> {
        let (name, start_line) = space.declaration(unit, entry, self.supplement.as_ref());
        if let Some(place) = &mut place {
            place.start_line = start_line;
        }
        DebugFrame { name, place }
    }

    fn read(&self, skeleton: &Unit<'o>) -> UnitCode<'o> {
        let split = self.split.find(&self.space, skeleton, &self.work);
        let functions = match &split {
            Some(split) => Functions::parse(&split.space.dwarf, &split.unit),
            None => Functions::parse(&self.space.dwarf, skeleton),
        };
        UnitCode { functions, split, lines: OnceLock::new() }
    }

    fn place(&self, skeleton: &Unit<'o>, code: &UnitCode<'o>, address: u64) -> Option<Place> {
        let (file, line) = code.lines(skeleton).find(address)?;
        let file = lines::file_name(&self.space.dwarf, skeleton, file)?;
        // 0 says that the code has no line, not that it has the first.
        (line > 0).then(|| Place { file: file.into(), line, start_line: 0 })
    }
}

/// The addresses of each unit: from the unit's own ranges, from `.debug_aranges`, or from its lines.
fn unit_ranges(space: &Space<'_>) -> Intervals<usize> {
    let mut ranges = Vec::new();
    let listed = listed_ranges(&space.dwarf);
    for at in 0..space.len() {
        let header = space.header(at);
        let (UnitType::Compilation | UnitType::Skeleton(_)) = header.type_() else { continue };
        let mut add = |start: u64, end: u64| ranges.push((start, end, at));
        let offset = header.debug_info_offset();
        if let Some(listed) = offset.and_then(|offset| listed.get(&offset)) {
            // It saves reading the unit.
            listed.iter().for_each(|(start, end)| add(*start, *end));
            continue;
        }
        // Not `space.unit`: of most units nothing more will be asked.
        let Ok(unit) = space.dwarf.unit(*header) else { continue };
        let mut found = false;
        if let Ok(extent) = Extent::of_unit(&space.dwarf, &unit) {
            // An error ends the list.
            let _ = extent.for_each(&space.dwarf, &unit, |start, end| {
                found = true;
                add(start, end);
            });
        }
        if !found {
            Lines::parse(&unit).ranges().for_each(|(start, end)| add(start, end));
        }
    }
    Intervals::new(ranges)
}

/// `.debug_aranges`, by the unit they are of.
fn listed_ranges(dwarf: &Dwarf<'_>) -> HashMap<DebugInfoOffset<usize>, Vec<(u64, u64)>> {
    let mut listed: HashMap<_, Vec<_>> = HashMap::new();
    let mut headers = dwarf.debug_aranges.headers();
    while let Ok(Some(header)) = headers.next() {
        let mut entries = header.entries();
        while let Ok(Some(entry)) = entries.next() {
            let range = entry.range();
            listed.entry(header.debug_info_offset()).or_default().push((range.begin, range.end));
        }
    }
    listed
}
