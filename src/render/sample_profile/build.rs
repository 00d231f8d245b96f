//! From counts of addresses to counts of lines.
//!
//! The rules are those of LLVM's llvm-profgen and of autofdo's create_llvm_prof and create_gcov: a line counts as often as
//! the one of its instructions that counts most, times the number of copies that the compiler has made of it;
//! a function's total is the sum over instructions, by branches over bytes of code.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::ops::Range;
use std::sync::Arc;

use super::branch_length::Code;
use super::compiler::Compiler;
use super::counts::Counts;
use super::line::Line;
use super::samples::{FunctionSamples, Functions, Name};
use crate::symbolize::{CodeMap, DebugFunction, Object, Site};

/// The functions of a profile, and how much of the counts is in them.
#[derive(Default)]
pub(super) struct Built {
    pub functions: Functions,
    /// The sum of the counts at addresses, or of code between branches.
    pub all: u64,
    /// The part of it in functions that are known.
    pub in_functions: u64,
    /// The part of it at lines that are known.
    pub at_lines: u64,
    /// A line was found that has a discriminator.
    pub has_discriminators: bool,
}

/// A function with code that was counted.
struct Counted<'o> {
    function: DebugFunction<'o>,
    /// Samples by address.
    samples: Vec<(u64, u64)>,
    /// The change of the count of code that ran, by address.
    changes: BTreeMap<u64, i128>,
    /// Code begins here, and its count.
    begins: Vec<(u64, u64)>,
    /// Calls: from where, of whom, how many.
    calls: Vec<(u64, Name, u64)>,
}

/// Finds the functions of addresses.
struct Finder<'m, 'o> {
    map: &'m CodeMap<'o>,
    /// Ranges of code by their start: the end, and the number of the function.
    ranges: BTreeMap<u64, (u64, usize)>,
    found: Vec<Counted<'o>>,
}

impl<'o> Finder<'_, 'o> {
    fn function_number(&mut self, address: u64) -> Option<usize> {
        let known = self.ranges.range(..=address).next_back();
        if let Some((_, (_, number))) = known.filter(|(_, (end, _))| address < *end) {
            return Some(*number);
        }
        let function = self.map.function(address).filter(|function| function.name.is_some())?;
        let number = self.found.len();
        for Range { start, end } in &function.ranges {
            self.ranges.entry(*start).or_insert((*end, number));
        }
        let (samples, changes, begins, calls) = (Vec::new(), BTreeMap::new(), Vec::new(), Vec::new());
        self.found.push(Counted { function, samples, changes, begins, calls });
        Some(number)
    }

    /// The end of the range of code that an address is in.
    fn end(&self, address: u64) -> u64 {
        self.ranges.range(..=address).next_back().map_or(address, |(_, (end, _))| *end)
    }
}

/// The profile of an object that has debug information.
pub(super) fn build(object: &Object, map: &CodeMap<'_>, counts: &Counts, compiler: Compiler) -> Built {
    let mut built = Built::default();
    let mut finder = Finder { map, ranges: BTreeMap::new(), found: Vec::new() };
    let mut names = Names { compiler, known: HashMap::new() };
    if counts.has_branches() {
        add_branches(object, counts, &mut finder, &mut names, &mut built);
    } else {
        for (&address, &count) in &counts.addresses {
            built.all = built.all.saturating_add(count);
            let Some(number) = finder.function_number(address) else { continue };
            built.in_functions = built.in_functions.saturating_add(count);
            finder.found[number].samples.push((address, count));
        }
    }
    for counted in &finder.found {
        add_function(counted, map, &mut names, &mut built);
    }
    if compiler.counts_lines_by_calls() {
        built.functions.values_mut().for_each(FunctionSamples::raise_to_calls);
    }
    built.functions.retain(|_, function| {
        function.total > 0 || function.head > 0 || !function.body.is_empty() || !function.inlined.is_empty()
    });
    built
}

/// Sorts branches and the code between them by function.
fn add_branches(
    object: &Object,
    counts: &Counts,
    finder: &mut Finder<'_, '_>,
    names: &mut Names,
    built: &mut Built,
) {
    let code = Code::of(object);
    for (&(from, to), &count) in &counts.straight {
        built.all = built.all.saturating_add(count);
        let Some(number) = finder.function_number(from) else { continue };
        let limit = finder.end(from);
        // Code that runs on into another function was made up of two that have nothing to do with another.
        if to >= limit {
            continue;
        }
        built.in_functions = built.in_functions.saturating_add(count);
        let end = to.saturating_add(code.branch_length(to)).min(limit);
        let counted = &mut finder.found[number];
        *counted.changes.entry(from).or_default() += i128::from(count);
        *counted.changes.entry(end).or_default() -= i128::from(count);
        counted.begins.push((from, count));
    }
    for (&(from, to), &count) in &counts.taken {
        let Some(callee) = finder.function_number(to) else { continue };
        let callee = &finder.found[callee].function;
        let Some(name) = callee.name.filter(|_| callee.start == to) else { continue };
        let name = names.in_source(name);
        let head = &mut built.functions.entry(name.clone()).or_default().head;
        *head = head.saturating_add(count);
        if let Some((from, caller)) = from.and_then(|from| Some((from, finder.function_number(from)?))) {
            finder.found[caller].calls.push((from, name, count));
        }
    }
}

/// Adds the lines of a function.
fn add_function<'o>(counted: &Counted<'o>, map: &CodeMap<'o>, names: &mut Names, built: &mut Built) {
    let Some(name) = counted.function.name else { return };
    let name = names.in_source(name);
    // The count of code from each address on.
    let mut running = 0;
    let ran: Vec<(u64, u64)> = counted
        .changes
        .iter()
        .map(|(&address, change)| {
            running += change;
            (address, u64::try_from(running).unwrap_or(u64::MAX))
        })
        .collect();
    // Lines that never ran are worth knowing where the code around them is known to have run.
    let compiler = names.compiler;
    let knows_zero = !counted.begins.is_empty() || compiler.counts_zeros_of_samples();
    map.for_each_stretch(&counted.function, &mut |range, sites| {
        let samples: Vec<u64> = within(&counted.samples, &range, |at| at.0).iter().map(|at| at.1).collect();
        let calls = within(&counted.calls, &range, |call| call.0);
        let pieces = pieces(&ran, &range);
        if samples.is_empty() && calls.is_empty() && !knows_zero {
            return;
        }
        let Some(innermost) = sites.last() else { return };
        built.has_discriminators |= innermost.discriminator > 0;
        let bytes = pieces.iter().map(|(length, count)| length.saturating_mul(*count));
        let total = samples.iter().copied().chain(bytes).fold(0, |a: u64, b| a.saturating_add(b));
        let function = built.functions.entry(name.clone()).or_default();
        let mut get = |name: &[u8]| names.get(name);
        let Some(function) = function.innermost(sites, compiler, total, &mut get) else { return };
        let Some(line) = compiler.line_of(innermost) else { return };
        let counts = samples.iter().copied().chain(pieces.iter().map(|(_, count)| *count));
        if let Some(count) = counts.max().or(knows_zero.then_some(0)) {
            function.raise(line, count.saturating_mul(compiler.copies(innermost)));
        }
        for (_, callee, count) in calls {
            let target = function.body.entry(line).or_default().targets.entry(callee.clone()).or_default();
            *target = target.saturating_add(*count);
        }
        let begins = within(&counted.begins, &range, |at| at.0).iter().map(|at| at.1);
        let found = samples.iter().copied().chain(begins).fold(0, |a: u64, b| a.saturating_add(b));
        if innermost.line > 0 {
            built.at_lines = built.at_lines.saturating_add(found);
        }
    });
}

/// The items at addresses of a range; they are sorted by address.
fn within<'i, T>(items: &'i [T], range: &Range<u64>, address: impl Fn(&T) -> u64) -> &'i [T] {
    let first = items.partition_point(|item| address(item) < range.start);
    let last = items.partition_point(|item| address(item) < range.end);
    &items[first..last.max(first)]
}

/// The pieces of a range of code that ran equally often: length and count.
fn pieces(ran: &[(u64, u64)], range: &Range<u64>) -> Vec<(u64, u64)> {
    if ran.is_empty() {
        return Vec::new();
    }
    let mut pieces = Vec::new();
    let mut next = ran.partition_point(|(address, _)| *address <= range.start);
    let mut at = range.start;
    let mut count = next.checked_sub(1).map_or(0, |before| ran[before].1);
    while at < range.end {
        let end = ran.get(next).map_or(range.end, |(address, _)| range.end.min(*address));
        pieces.push((end - at, count));
        count = ran.get(next).map_or(0, |(_, count)| *count);
        (at, next) = (end, next + 1);
    }
    pieces
}

/// Names, each in memory once.
struct Names {
    compiler: Compiler,
    known: HashMap<Arc<[u8]>, ()>,
}

impl Names {
    fn get(&mut self, name: &[u8]) -> Name {
        if let Some((known, ())) = self.known.get_key_value(name) {
            return known.clone();
        }
        let name: Name = name.into();
        self.known.insert(name.clone(), ());
        name
    }

    /// The name of a function as the compiler knows it.
    fn in_source(&mut self, name: &[u8]) -> Name {
        self.get(&self.compiler.name_in_source(name))
    }
}

/// The functions and lines of sites, of the innermost function and of the calls on the way, as far as they have lines.
pub(super) fn lines_of<'s, 'o>(
    sites: &'s [Site<'o>],
    compiler: Compiler,
) -> impl Iterator<Item = (Cow<'o, [u8]>, Line)> + 's
where
    'o: 's,
{
    let with_line = sites.iter().filter(|site| site.line > 0);
    with_line.filter_map(move |site| Some((compiler.name_in_source(site.function), compiler.line_of(site)?)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_is_cut_where_its_count_changes() {
        let ran = [(10, 5), (20, 8), (30, 0)];
        assert_eq!(pieces(&ran, &(0..40)), [(10, 0), (10, 5), (10, 8), (10, 0)]);
        assert_eq!(pieces(&ran, &(12..14)), [(2, 5)]);
        assert_eq!(pieces(&ran, &(20..30)), [(10, 8)]);
        assert_eq!(pieces(&ran, &(35..36)), [(1, 0)]);
        assert!(pieces(&[], &(0..5)).is_empty());
    }
}
