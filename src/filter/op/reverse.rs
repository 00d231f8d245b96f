//! `--reverse`: leaf first, to see who calls a function.

use crate::filter::operation::{Example, Operation, OperationGroup, Rewrite, Stage};
use crate::folded::{FrameId, StackTable};

pub(in crate::filter) const REVERSE: Operation = Operation {
    name: "reverse",
    value: None,
    group: OperationGroup::Frames,
    about: "Turn stacks leaf first",
    details: "",
    examples: &[Example {
        arguments: &["--reverse"],
        input: "a;b;c 1\nd;c 2 \n",
        output: "c;b;a 1\nc;d 2\n",
    }],
    build: |_, _| Ok(Stage::Rewrite(Box::new(Reverse))),
};

struct Reverse;

impl Rewrite for Reverse {
    fn rewrite(&mut self, stack: &mut Vec<FrameId>, _: &mut StackTable) {
        stack.reverse();
    }

    fn forget(&mut self) {}

    fn remark(&self) -> Option<String> {
        None
    }
}
