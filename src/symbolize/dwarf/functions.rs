//! The functions of a unit and what was inlined into them, by address.

use gimli::{AttributeValue, UnitOffset};

use super::super::intervals::Intervals;
use super::meter::Metered;
use super::space::{Dwarf, Unit, small_value};

/// Deeper nesting than compilers do; what is inlined further is not shown.
const DEEPEST: usize = 256;

/// The code of a unit.
#[derive(Default)]
pub(super) struct Functions {
    ranges: Intervals<Function>,
    /// A function's are together, by depth and then by start.
    inlined: Vec<InlinedRange>,
}

#[derive(Clone, Copy)]
pub(super) struct Function {
    pub(super) entry: UnitOffset<usize>,
    /// The address at which it begins: that of the first of its ranges.
    pub(super) start: u64,
    /// The range of its own in `inlined`.
    inlined: (u32, u32),
}

/// Code of an inlined function.
pub(super) struct InlinedRange {
    pub(super) start: u64,
    pub(super) end: u64,
    depth: u32,
    /// The line that it was called from.
    pub(super) call_line: u32,
    /// Tells apart several calls on that line.
    pub(super) call_discriminator: u32,
    /// Its file, by the number the unit gives it.
    pub(super) call_file: u64,
    pub(super) entry: UnitOffset<usize>,
}

/// The addresses of an entry.
#[derive(Default)]
pub(super) struct Extent {
    low: Option<u64>,
    high: Option<u64>,
    size: Option<u64>,
    list: Option<gimli::RangeListsOffset<usize>>,
}

/// The place that an inlined function was called from.
#[derive(Default)]
struct Call {
    /// By the number the unit gives it.
    file: u64,
    line: u32,
    discriminator: u32,
}

/// A function or inlined function whose children are being read.
struct Open {
    /// The depth of its entry in the tree.
    level: isize,
    /// 0 for a function, 1 for what is inlined into it.
    depth: usize,
}

/// A function that is being read. There may be functions within functions, each with its own code.
struct Pending {
    entry: UnitOffset<usize>,
    ranges: Vec<(u64, u64)>,
    inlined: Vec<InlinedRange>,
}

impl Functions {
    /// Reads all entries of a unit once, up to the first that is damaged.
    pub(super) fn parse(dwarf: &Dwarf<'_>, unit: &Unit<'_>) -> Functions {
        let (open, pending) = (Vec::new(), Vec::new());
        let mut reading = Reading { dwarf, unit, ranges: Vec::new(), inlined: Vec::new(), open, pending };
        // The entries before the damage are kept.
        let _ = reading.read();
        reading.close(isize::MIN);
        Functions { ranges: Intervals::new(reading.ranges), inlined: reading.inlined }
    }

    /// The function at an address, and what is inlined there, outermost first.
    pub(super) fn find(&self, address: u64, inlined: &mut Vec<usize>) -> Option<UnitOffset<usize>> {
        let function = self.ranges.find(address)?;
        let (mut from, to) = (function.inlined.0 as usize, function.inlined.1 as usize);
        for depth in 1.. {
            let rest = &self.inlined[from..to];
            let behind = rest.partition_point(|range| (range.depth, range.start) <= (depth, address));
            let Some(at) = behind.checked_sub(1) else { break };
            if rest[at].depth != depth || address >= rest[at].end {
                break;
            }
            inlined.push(from + at);
            from += at;
        }
        Some(function.entry)
    }

    /// The function at an address.
    pub(super) fn at(&self, address: u64) -> Option<&Function> {
        self.ranges.find(address)
    }

    /// The ranges of all functions: start, end, function.
    pub(super) fn all(&self) -> impl Iterator<Item = (u64, u64, &Function)> {
        self.ranges.all()
    }

    /// The code of all that was inlined into a function.
    pub(super) fn inlined_into(&self, function: &Function) -> &[InlinedRange] {
        &self.inlined[function.inlined.0 as usize..function.inlined.1 as usize]
    }

    pub(super) fn inlined(&self, at: usize) -> &InlinedRange {
        &self.inlined[at]
    }
}

struct Reading<'r, 'o> {
    dwarf: &'r Dwarf<'o>,
    unit: &'r Unit<'o>,
    ranges: Vec<(u64, u64, Function)>,
    inlined: Vec<InlinedRange>,
    open: Vec<Open>,
    pending: Vec<Pending>,
}

impl Reading<'_, '_> {
    fn read(&mut self) -> gimli::Result<()> {
        let mut entries = self.unit.entries_raw(None)?;
        while !entries.is_empty() {
            let entry = entries.next_offset();
            let level = entries.next_depth();
            self.close(level);
            let Some(abbreviation) = entries.read_abbreviation()? else { continue };
            match abbreviation.tag() {
                gimli::DW_TAG_subprogram => {
                    let mut extent = Extent::default();
                    for spec in abbreviation.attributes() {
                        extent.note(self.dwarf, self.unit, &entries.read_attribute(*spec)?)?;
                    }
                    self.function(entry, level, &extent)?;
                }
                gimli::DW_TAG_inlined_subroutine if !self.open.is_empty() => {
                    let mut extent = Extent::default();
                    let mut call = Call::default();
                    for spec in abbreviation.attributes() {
                        let attribute = entries.read_attribute(*spec)?;
                        match attribute.name() {
                            gimli::DW_AT_call_file => {
                                call.file = match attribute.value() {
                                    AttributeValue::FileIndex(file) => file,
                                    other => other.udata_value().unwrap_or(0),
                                };
                            }
                            gimli::DW_AT_call_line => call.line = small_value(&attribute),
                            gimli::DW_AT_GNU_discriminator => call.discriminator = small_value(&attribute),
                            _ => extent.note(self.dwarf, self.unit, &attribute)?,
                        }
                    }
                    self.inlined(entry, level, &extent, &call)?;
                }
                _ => entries.skip_attributes(abbreviation.attributes())?,
            }
        }
        Ok(())
    }

    fn function(&mut self, entry: UnitOffset<usize>, level: isize, extent: &Extent) -> gimli::Result<()> {
        let mut ranges = Vec::new();
        extent.for_each(self.dwarf, self.unit, |start, end| ranges.push((start, end)))?;
        // Declarations and abstract instances have no code.
        if !ranges.is_empty() {
            self.open.push(Open { level, depth: 0 });
            self.pending.push(Pending { entry, ranges, inlined: Vec::new() });
        }
        Ok(())
    }

    fn inlined(
        &mut self,
        entry: UnitOffset<usize>,
        level: isize,
        extent: &Extent,
        call: &Call,
    ) -> gimli::Result<()> {
        let depth = self.open.last().map_or(0, |open| open.depth) + 1;
        let Some(function) = self.pending.last_mut().filter(|_| depth <= DEEPEST) else { return Ok(()) };
        extent.for_each(self.dwarf, self.unit, |start, end| {
            let (depth, call_line, call_file) = (depth as u32, call.line, call.file);
            let call_discriminator = call.discriminator;
            function.inlined.push(InlinedRange {
                start,
                end,
                depth,
                call_line,
                call_discriminator,
                call_file,
                entry,
            });
        })?;
        self.open.push(Open { level, depth });
        Ok(())
    }

    /// Closes what the entry at this level is not a part of.
    fn close(&mut self, level: isize) {
        while let Some(open) = self.open.pop_if(|open| open.level >= level) {
            if open.depth > 0 {
                continue;
            }
            let mut function = self.pending.pop().expect("each function that is open is pending");
            function.inlined.sort_by_key(|range| (range.depth, range.start));
            let from = self.inlined.len() as u32;
            self.inlined.append(&mut function.inlined);
            let start = function.ranges.first().map_or(0, |range| range.0);
            let value = Function { entry: function.entry, start, inlined: (from, self.inlined.len() as u32) };
            self.ranges.extend(function.ranges.into_iter().map(|(start, end)| (start, end, value)));
        }
    }
}

impl Extent {
    /// The addresses of a whole unit.
    pub(super) fn of_unit(dwarf: &Dwarf<'_>, unit: &Unit<'_>) -> gimli::Result<Extent> {
        let mut extent = Extent::default();
        let mut entries = unit.header.entries(&unit.abbreviations);
        entries.next_dfs()?;
        let root = entries.current().ok_or(gimli::Error::MissingUnitDie)?;
        root.attrs().iter().try_for_each(|attribute| extent.note(dwarf, unit, attribute))?;
        Ok(extent)
    }

    fn note(
        &mut self,
        dwarf: &Dwarf<'_>,
        unit: &Unit<'_>,
        attribute: &gimli::Attribute<Metered<'_>>,
    ) -> gimli::Result<()> {
        // An address that cannot be had is no reason to lose the rest of the unit.
        let address = |value| match value {
            AttributeValue::Addr(address) => Some(address),
            AttributeValue::DebugAddrIndex(index) => dwarf.address(unit, index).ok(),
            _ => None,
        };
        match attribute.name() {
            gimli::DW_AT_low_pc => self.low = address(attribute.value()),
            gimli::DW_AT_high_pc => match attribute.value() {
                AttributeValue::Udata(size) => self.size = Some(size),
                other => self.high = address(other),
            },
            gimli::DW_AT_ranges => self.list = dwarf.attr_ranges_offset(unit, attribute.value())?,
            _ => {}
        }
        Ok(())
    }

    /// Calls `each` with the beginning and the end of each range.
    pub(super) fn for_each(
        &self,
        dwarf: &Dwarf<'_>,
        unit: &Unit<'_>,
        mut each: impl FnMut(u64, u64),
    ) -> gimli::Result<()> {
        let mut add = |start, end| {
            if start < end {
                each(start, end);
            }
        };
        if let Some(list) = self.list {
            let mut ranges = dwarf.ranges(unit, list)?;
            while let Some(range) = ranges.next()? {
                add(range.begin, range.end);
            }
        } else if let Some(low) = self.low {
            let end = self.high.or_else(|| low.checked_add(self.size?));
            add(low, end.unwrap_or(low));
        }
        Ok(())
    }
}
