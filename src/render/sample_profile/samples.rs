//! Counts by function and line, and by what was inlined there: the content of a sample profile.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::compiler::Compiler;
use super::line::Line;
use crate::symbolize::Site;

/// The linker's name of a function.
pub(super) type Name = Arc<[u8]>;

/// The functions of a profile.
pub(super) type Functions = BTreeMap<Name, FunctionSamples>;

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

impl FunctionSamples {
    /// The counts of the innermost function of some sites, the outermost of which is this one; `total` is
    /// added to all on the way. `None` in a function without a name.
    pub fn innermost(
        &mut self,
        sites: &[Site<'_>],
        compiler: Compiler,
        total: u64,
        names: &mut dyn FnMut(&[u8]) -> Name,
    ) -> Option<&mut FunctionSamples> {
        let mut function = self;
        function.total = function.total.saturating_add(total);
        for pair in sites.windows(2) {
            let line = compiler.line_of(&pair[0])?;
            compiler.line_of(&pair[1])?;
            let name = names(&compiler.name_in_source(pair[1].function));
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
