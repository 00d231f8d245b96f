//! The lines of whole functions, as compilers name them in sample profiles: by the function that a line
//! was written in, through all that was inlined, with discriminators.

use std::collections::HashMap;
use std::ops::Range;

use gimli::UnitOffset;

use super::functions::Function;
use super::space::{Space, Unit};
use super::{DebugInfo, OVERLAPS, UnitCode};

/// A function with code of its own.
pub(crate) struct DebugFunction<'o> {
    /// The linker's name if there is one.
    pub(crate) name: Option<&'o [u8]>,
    /// The address at which it begins.
    pub(crate) start: u64,
    /// All its code.
    pub(crate) ranges: Vec<Range<u64>>,
    unit: usize,
}

/// A line of source, within a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Site<'o> {
    /// The linker's name of the function if there is one; empty if there is none at all.
    pub(crate) function: &'o [u8],
    /// The line on which the function begins; 0 if that is not known.
    pub(crate) start_line: u32,
    /// The line of the code, or of the call of the function that follows; 0 if it has none.
    pub(crate) line: u32,
    /// Tells apart several pieces of code, or several calls, of one line.
    pub(crate) discriminator: u32,
}

/// The parts of a unit that are read here.
struct Read<'d, 'o> {
    code: &'d UnitCode<'o>,
    space: &'d Space<'o>,
    unit: &'d Unit<'o>,
    skeleton: &'d Unit<'o>,
}

/// The names and first lines of functions that were looked up.
type Known<'o> = HashMap<UnitOffset<usize>, (&'o [u8], u32)>;

impl<'o> DebugInfo<'o> {
    /// The function with the code at an address.
    pub(crate) fn function(&self, address: u64) -> Option<DebugFunction<'o>> {
        self.work.spend(|| {
            self.ranges.containing(address).take(OVERLAPS).find_map(|(_, &unit)| {
                let read = self.unit_code(unit)?;
                let function = *read.code.functions.at(address)?;
                let all = read.code.functions.all().filter(|(_, _, other)| other.entry == function.entry);
                let ranges = all.map(|(start, end, _)| start..end).collect();
                Some(self.debug_function(&read, unit, &function, ranges))
            })
        })
    }

    /// Calls `each` with every function that has code.
    pub(crate) fn for_each_function(&self, each: &mut dyn FnMut(&DebugFunction<'o>)) {
        for unit in 0..self.units.len() {
            let functions = self.work.spend(|| {
                let read = self.unit_code(unit)?;
                let mut all: Vec<(Function, Vec<Range<u64>>)> = Vec::new();
                let mut numbers: HashMap<UnitOffset<usize>, usize> = HashMap::new();
                for (start, end, function) in read.code.functions.all() {
                    let number = *numbers.entry(function.entry).or_insert_with(|| {
                        all.push((*function, Vec::new()));
                        all.len() - 1
                    });
                    all[number].1.push(start..end);
                }
                let named = all.into_iter();
                let named =
                    named.map(|(function, ranges)| self.debug_function(&read, unit, &function, ranges));
                Some(named.collect::<Vec<_>>())
            });
            functions.iter().flatten().for_each(&mut *each);
        }
    }

    /// Calls `each` with all code of a function, cut wherever the line, the discriminator or what is inlined
    /// changes, and with its lines, the outermost function's first.
    pub(crate) fn for_each_stretch(
        &self,
        function: &DebugFunction<'o>,
        each: &mut dyn FnMut(Range<u64>, &[Site<'o>]),
    ) {
        self.work.spend(|| {
            let Some(read) = self.unit_code(function.unit) else { return };
            let lines = read.code.lines(read.skeleton);
            let (mut known, mut inlined, mut sites) = (Known::new(), Vec::new(), Vec::new());
            for range in &function.ranges {
                let Some(of) = read.code.functions.at(range.start) else { continue };
                let mut cuts: Vec<u64> =
                    lines.rows(range.start, range.end).iter().map(|row| row.address).collect();
                let inside = read.code.functions.inlined_into(of).iter();
                cuts.extend(inside.flat_map(|part| [part.start, part.end]));
                cuts.retain(|cut| range.start < *cut && *cut < range.end);
                cuts.extend([range.start, range.end]);
                cuts.sort_unstable();
                cuts.dedup();
                for cut in cuts.windows(2) {
                    sites.clear();
                    self.sites(&read, cut[0], &mut known, &mut inlined, &mut sites);
                    each(cut[0]..cut[1], &sites);
                }
            }
        });
    }

    fn unit_code(&self, unit: usize) -> Option<Read<'_, 'o>> {
        let skeleton = self.space.unit(unit)?;
        let code = self.units[unit].get_or_init(|| self.read(skeleton));
        let (space, unit) = match &code.split {
            Some(split) => (&split.space, &*split.unit),
            None => (&self.space, skeleton),
        };
        Some(Read { code, space, unit, skeleton })
    }

    fn debug_function(
        &self,
        read: &Read<'_, 'o>,
        unit: usize,
        function: &Function,
        ranges: Vec<Range<u64>>,
    ) -> DebugFunction<'o> {
        let (name, _) = read.space.declaration(read.unit, function.entry, self.supplement.as_ref());
        DebugFunction { name, start: function.start, ranges, unit }
    }

    /// Appends the lines of an address, the outermost function's first.
    fn sites(
        &self,
        read: &Read<'_, 'o>,
        address: u64,
        known: &mut Known<'o>,
        inlined: &mut Vec<usize>,
        out: &mut Vec<Site<'o>>,
    ) {
        inlined.clear();
        let functions = &read.code.functions;
        let Some(mut entry) = functions.find(address, inlined) else { return };
        let mut declared = |entry: UnitOffset<usize>| {
            *known.entry(entry).or_insert_with(|| {
                let (name, line) = read.space.declaration(read.unit, entry, self.supplement.as_ref());
                (name.unwrap_or_default(), line)
            })
        };
        for range in inlined.iter().map(|at| functions.inlined(*at)) {
            let (function, start_line) = declared(entry);
            let (line, discriminator) = (range.call_line, range.call_discriminator);
            out.push(Site { function, start_line, line, discriminator });
            entry = range.entry;
        }
        let (function, start_line) = declared(entry);
        let row = read.code.lines(read.skeleton).rows(address, address + 1).last();
        let (line, discriminator) = row.map_or((0, 0), |row| (row.line, row.discriminator));
        out.push(Site { function, start_line, line, discriminator });
    }
}
