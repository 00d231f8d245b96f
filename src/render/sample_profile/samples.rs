//! Counts by function and line, and by what was inlined there: the content of a sample profile.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::symbolize::Site;

/// The linker's name of a function.
pub(super) type Name = Arc<[u8]>;

/// The functions of a profile.
pub(super) type Functions = BTreeMap<Name, FunctionSamples>;

/// A line of a function, counted from the line on which it begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Line {
    pub offset: u32,
    pub discriminator: u32,
}

/// The counts of a function, or of one that was inlined into it at some line.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct FunctionSamples {
    /// All its samples, those of inlined functions too.
    pub total: u64,
    /// The calls of it, where they are known.
    pub head: u64,
    pub body: BTreeMap<Line, Body>,
    pub inlined: BTreeMap<Line, Functions>,
}

/// The counts of a line.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Body {
    pub count: u64,
    /// The functions that were called from there, and how often.
    pub targets: BTreeMap<Name, u64>,
}

/// The line of a site in its function; `None` in a function without a name. Code that the compiler has made
/// without a line has line 0, and the compiler looks for its counts there, too.
pub(super) fn line_of(site: &Site<'_>) -> Option<Line> {
    let offset = site.line.wrapping_sub(site.start_line) & 0xffff;
    is_nameable(site.function).then(|| Line { offset, discriminator: prefix_decoded(site.discriminator) })
}

/// The number of copies of the code of a site that the compiler has made, of a loop that it unrolled.
pub(super) fn copies(site: &Site<'_>) -> u64 {
    u64::from(prefix_decoded(next_component(site.discriminator))).max(1)
}

/// The name by which the compiler will look for a function: clones have suffixes.
pub(super) fn name_in_source(mut name: &[u8]) -> &[u8] {
    const SUFFIXES: &[&[u8]] = &[b".llvm.", b".part.", b".cold"];
    while let Some(at) = SUFFIXES.iter().find_map(|suffix| memchr::memmem::rfind(name, suffix)) {
        if at == 0 {
            break;
        }
        name = &name[..at];
    }
    name
}

/// Names stand in lines of text between blanks and colons.
fn is_nameable(name: &[u8]) -> bool {
    !name.is_empty() && !name.iter().any(|byte| byte.is_ascii_whitespace() || byte.is_ascii_control())
}

/// The first component of a discriminator, which is the line's own: 0 in one bit, 5 or 12 bits in 7 or 14. The encoding is
/// described at `DILocation::encodeDiscriminator` in llvm/IR/DebugInfoMetadata.h.
fn prefix_decoded(discriminator: u32) -> u32 {
    if discriminator & 1 != 0 {
        return 0;
    }
    let rest = discriminator >> 1;
    if rest & 0x20 != 0 { rest >> 1 & 0xfe0 | rest & 0x1f } else { rest & 0x1f }
}

/// The discriminator without its first component.
fn next_component(discriminator: u32) -> u32 {
    match discriminator {
        d if d & 1 != 0 => d >> 1,
        d if d & 0x40 != 0 => d >> 14,
        d => d >> 7,
    }
}

impl FunctionSamples {
    /// The counts of the innermost function of some sites, the outermost of which is this one; `total` is
    /// added to all on the way. `None` in a function without a name.
    pub fn innermost(
        &mut self,
        sites: &[Site<'_>],
        total: u64,
        names: &mut dyn FnMut(&[u8]) -> Name,
    ) -> Option<&mut FunctionSamples> {
        let mut function = self;
        function.total = function.total.saturating_add(total);
        for pair in sites.windows(2) {
            let line = line_of(&pair[0])?;
            line_of(&pair[1])?;
            let name = names(name_in_source(pair[1].function));
            function = function.inlined.entry(line).or_default().entry(name).or_default();
            function.total = function.total.saturating_add(total);
        }
        Some(function)
    }

    /// The count of a line is the largest that any of its instructions has.
    pub fn raise(&mut self, line: Line, count: u64) {
        let body = self.body.entry(line).or_default();
        body.count = body.count.max(count);
    }

    /// A line counts at least as often as all that was called from it; llvm-profgen leaves those of inlined
    /// functions as they are.
    pub fn raise_to_calls(&mut self) {
        for body in self.body.values_mut() {
            let calls = body.targets.values().fold(0, |a: u64, b| a.saturating_add(*b));
            body.count = body.count.max(calls);
        }
    }

    /// Calls `each` with every line that has a count, by the function it was written in.
    pub fn for_each_line(&self, name: &Name, each: &mut dyn FnMut(&Name, Line, u64)) {
        self.body.iter().for_each(|(line, body)| each(name, *line, body.count));
        for (name, function) in self.inlined.values().flatten() {
            function.for_each_line(name, each);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn discriminators_of_llvm_have_components() {
        // As `DILocation::encodeDiscriminator` makes them: base, copies, copy.
        for (encoded, base, count) in
            [(0, 0, 1), (2, 1, 1), (4, 2, 1), (0x3e, 31, 1), (0x40 | 1 << 8, 0x40, 1), (1 | 4 << 2, 0, 4)]
        {
            let site = Site { function: b"f", start_line: 10, line: 12, discriminator: encoded };
            let line = line_of(&site).unwrap();
            assert_eq!((line.offset, line.discriminator), (2, base), "{encoded:#x}");
            assert_eq!(copies(&site), count, "{encoded:#x}");
        }
        let site = Site { function: b"f", start_line: 10, line: 9, discriminator: 0 };
        assert_eq!(line_of(&site), Some(Line { offset: 0xffff, discriminator: 0 }));
        assert_eq!(line_of(&Site { function: b"", ..site }), None);
    }

    #[test]
    fn clones_are_known_by_the_name_in_the_source() {
        assert_eq!(name_in_source(b"_Z1fv.llvm.123"), b"_Z1fv");
        assert_eq!(name_in_source(b"_Z1fv.part.0.llvm.9"), b"_Z1fv");
    }
}
