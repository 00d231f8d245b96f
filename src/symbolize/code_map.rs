//! The code of an object by function and line, as compilers want profiles of it.

use std::ops::Range;

use super::Object;
use super::dwarf::{DebugFunction, DebugInfo, Site};

/// The functions of an object and the lines of their code, from debug information.
pub(crate) struct CodeMap<'o>(DebugInfo<'o>);

impl<'o> CodeMap<'o> {
    /// The code of an object; `None` without debug information.
    pub(crate) fn new(object: &'o Object) -> Option<CodeMap<'o>> {
        DebugInfo::new(object).map(CodeMap)
    }

    /// The function with the code at a stated address.
    pub(crate) fn function(&self, svma: u64) -> Option<DebugFunction<'o>> {
        self.0.function(svma)
    }

    /// Calls `each` with every function that has code.
    pub(crate) fn for_each_function(&self, each: &mut dyn FnMut(&DebugFunction<'o>)) {
        self.0.for_each_function(each);
    }

    /// Calls `each` with all code of a function in stated addresses, cut wherever the line, the discriminator
    /// or what is inlined changes, and with its lines, the outermost function's first.
    pub(crate) fn for_each_stretch(
        &self,
        function: &DebugFunction<'o>,
        each: &mut dyn FnMut(Range<u64>, &[Site<'o>]),
    ) {
        self.0.for_each_stretch(function, each);
    }
}
