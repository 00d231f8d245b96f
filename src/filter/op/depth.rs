//! `--depth`, `--leaf-depth`, `--skip-roots`: cut stacks by counting frames.

use crate::filter::operation::{Example, Operation, OperationGroup, Rewrite, Stage, count_above_zero};
use crate::folded::{FrameId, StackTable};

pub(in crate::filter) const DEPTH: Operation = Operation {
    name: "depth",
    value: Some("N"),
    group: OperationGroup::Frames,
    about: "Keep N frames from the root; of -N from the leaf",
    details: "",
    examples: &[
        Example {
            arguments: &["--depth", "2"],
            input: "a 1\na;b 2\na;b;c 4\na;b;c;d 8\n",
            output: "a 1\na;b 14\n",
        },
        Example {
            arguments: &["--depth", "-2"],
            input: "a 1\na;b 2\na;b;c 4\nx;a;b 8\n",
            output: "a 1\na;b 10\nb;c 4\n",
        },
    ],
    build: |value, options| match value.strip_prefix('-') {
        Some(from_leaf) => LEAF_DEPTH.build(from_leaf, options),
        None => Ok(Stage::Rewrite(Box::new(Cut::Depth(count_above_zero(value)?)))),
    },
};

pub(in crate::filter) const LEAF_DEPTH: Operation = Operation {
    name: "leaf-depth",
    value: Some("N"),
    group: OperationGroup::Frames,
    about: "Keep N frames from the leaf",
    details: "",
    examples: &[Example {
        arguments: &["--leaf-depth", "2"],
        input: "a 1\na;b 2\na;b;c 4\nx;a;b 8\n",
        output: "a 1\na;b 10\nb;c 4\n",
    }],
    build: |value, _| Ok(Stage::Rewrite(Box::new(Cut::LeafDepth(count_above_zero(value)?)))),
};

pub(in crate::filter) const SKIP_ROOTS: Operation = Operation {
    name: "skip-roots",
    value: Some("N"),
    group: OperationGroup::Frames,
    about: "Delete N frames from the root",
    details: "`--skip-roots 1` merges the programs of a `perf` profile. Stacks with no more than \
              N frames are dropped.",
    examples: &[Example {
        arguments: &["--skip-roots", "1"],
        input: "a;m;f 1\nb 2\nb;m;f 4\n",
        output: "m;f 5\n",
    }],
    build: |value, _| Ok(Stage::Rewrite(Box::new(Cut::SkipRoots(count_above_zero(value)?)))),
};

enum Cut {
    Depth(usize),
    LeafDepth(usize),
    SkipRoots(usize),
}

impl Rewrite for Cut {
    fn rewrite(&mut self, stack: &mut Vec<FrameId>, _: &mut StackTable) {
        match *self {
            Cut::Depth(count) => stack.truncate(count),
            Cut::LeafDepth(count) => drop(stack.drain(..stack.len().saturating_sub(count))),
            Cut::SkipRoots(count) => drop(stack.drain(..stack.len().min(count))),
        }
    }

    fn forget(&mut self) {}

    fn remark(&self) -> Option<String> {
        None
    }
}
