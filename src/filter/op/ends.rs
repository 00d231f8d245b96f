//! `--rooted-at`, `--leaf`: keep stacks that begin or end in a matching frame.

use crate::filter::frames::FramePattern;
use crate::filter::operation::{Example, Operation, OperationGroup, Select, Stage, unless_matched};
use crate::folded::{FrameId, StackTable, Weights};

pub(in crate::filter) const ROOT: Operation = Operation {
    name: "rooted-at",
    value: Some("R"),
    group: OperationGroup::Select,
    about: "Keep stacks whose root matches R",
    details: "",
    examples: &[Example {
        arguments: &["--rooted-at", "a"],
        input: "a;b 1\nb;a 2\nba;c 0.5\n",
        output: "a;b 1\nba;c 0.5\n",
    }],
    build: |value, options| {
        let pattern = FramePattern::new(value, options.case)?;
        Ok(Stage::Select(Box::new(Ends { pattern, end: <[FrameId]>::first })))
    },
};

pub(in crate::filter) const LEAF: Operation = Operation {
    name: "leaf",
    value: Some("R"),
    group: OperationGroup::Select,
    about: "Keep stacks whose leaf matches R",
    details: "",
    examples: &[Example {
        arguments: &["--leaf", "a"],
        input: "a 5\na;b 1\nb;a 2\n",
        output: "a 5\nb;a 2\n",
    }],
    build: |value, options| {
        let pattern = FramePattern::new(value, options.case)?;
        Ok(Stage::Select(Box::new(Ends { pattern, end: <[FrameId]>::last })))
    },
};

struct Ends {
    pattern: FramePattern,
    end: fn(&[FrameId]) -> Option<&FrameId>,
}

impl Select for Ends {
    fn keeps(&mut self, stack: &[FrameId], _: Weights, names: &StackTable) -> bool {
        (self.end)(stack).is_some_and(|&frame| self.pattern.matches(frame, names))
    }

    fn forget(&mut self) {
        self.pattern.forget();
    }

    fn remark(&self) -> Option<String> {
        unless_matched(self.pattern.has_matched())
    }
}
