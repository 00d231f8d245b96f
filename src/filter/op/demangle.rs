//! `--demangle`: mangled symbols as people write them.

use crate::filter::annotation;
use crate::filter::frames::NewNames;
use crate::filter::operation::{Example, Operation, OperationGroup, Rewrite, Stage};
use crate::folded::{FrameId, StackTable};
use crate::symbol::demangle;

pub(in crate::filter) const DEMANGLE: Operation = Operation {
    name: "demangle",
    value: None,
    group: OperationGroup::Names,
    about: "Demangle Rust (legacy, v0) and C++ (Itanium) names",
    details: "Without parameters, return types and Rust's hashes, as `perf` prints them.",
    examples: &[Example {
        arguments: &["--demangle"],
        input: "m;_RNvCs1234_7mycrate3foo_[i] 1\nm;_ZN3foo3bar17h05af221e174051e9E 2\nm;_ZN3foo3barEi 4\nm;_Zfoo 8\n",
        output: "m;_Zfoo 8\nm;foo::bar 6\nm;mycrate::foo_[i] 1\n",
    }],
    build: |_, _| Ok(Stage::Rewrite(Box::new(Demangle::default()))),
};

#[derive(Default)]
struct Demangle(NewNames);

impl Rewrite for Demangle {
    fn rewrite(&mut self, stack: &mut Vec<FrameId>, names: &mut StackTable) {
        self.0.apply(stack, names, |name, new| {
            let (symbol, marks) = annotation::split(name);
            let Some(demangled) = demangle(symbol) else { return false };
            new.extend_from_slice(&demangled);
            new.extend_from_slice(marks);
            true
        });
    }

    fn forget(&mut self) {
        self.0.forget();
    }

    fn remark(&self) -> Option<String> {
        (!self.0.has_changed()).then(|| "found no mangled name".to_owned())
    }
}
