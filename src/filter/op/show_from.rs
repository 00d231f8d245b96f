//! `--show-from`: let stacks begin at a matching frame, as pprof does.

use crate::filter::frames::FramePattern;
use crate::filter::operation::{Example, Operation, OperationGroup, Rewrite, Stage, unless_matched};
use crate::folded::{FrameId, StackTable};

const PPROF: &str = "fun3;fun2;fun1;fun0 1\nfun6;fun1;fun5;fun4 2\nfun7;fun10;fun4;fun9 4\nfun8;fun7 3\n";

pub(in crate::filter) const SHOW_FROM: Operation = Operation {
    name: "show-from",
    value: Some("R"),
    group: OperationGroup::Frames,
    about: "Begin stacks at the first frame that matches R",
    details: "The root-most match counts; what called it is cut off; stacks without a match are dropped.",
    examples: &[
        Example {
            arguments: &["--show-from", "fun1"],
            input: PPROF,
            output: "fun1;fun0 1\nfun1;fun5;fun4 2\nfun10;fun4;fun9 4\n",
        },
        Example { arguments: &["--show-from", "B"], input: "A;B;C;B 1\nA 2\n", output: "B;C;B 1\n" },
    ],
    build: |value, options| {
        let pattern = FramePattern::new(value, options.case)?;
        Ok(Stage::Rewrite(Box::new(ShowFrom { pattern, leaf_most: false })))
    },
};

pub(in crate::filter) const SHOW_FROM_LEAF: Operation = Operation {
    name: "show-from-leaf",
    value: Some("R"),
    group: OperationGroup::Frames,
    about: "Begin stacks at the last frame that matches R",
    details: "As --show-from, but of recursive calls the last one counts.",
    examples: &[Example {
        arguments: &["--show-from-leaf", "B"],
        input: "A 2\nA;B;C;B 1\nA;B;C;B;D 0.5\n",
        output: "B 1\nB;D 0.5\n",
    }],
    build: |value, options| {
        let pattern = FramePattern::new(value, options.case)?;
        Ok(Stage::Rewrite(Box::new(ShowFrom { pattern, leaf_most: true })))
    },
};

struct ShowFrom {
    pattern: FramePattern,
    leaf_most: bool,
}

impl Rewrite for ShowFrom {
    fn rewrite(&mut self, stack: &mut Vec<FrameId>, names: &mut StackTable) {
        let mut matches = |&frame: &FrameId| self.pattern.matches(frame, names);
        let place = match self.leaf_most {
            true => stack.iter().rposition(&mut matches),
            false => stack.iter().position(&mut matches),
        };
        stack.drain(..place.unwrap_or(stack.len()));
    }

    fn forget(&mut self) {
        self.pattern.forget();
    }

    fn remark(&self) -> Option<String> {
        unless_matched(self.pattern.has_matched())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::filter::operation::OpOptions;

    #[test]
    fn frames_that_are_numbered_anew_are_looked_at_again() {
        let Stage::Rewrite(mut show_from) = (SHOW_FROM.build)("a", OpOptions::default()).unwrap() else {
            unreachable!("it rewrites")
        };
        let mut left = |names: [&str; 2]| {
            let mut table = StackTable::default();
            let mut stack = names.map(|name| table.frame(name.as_bytes())).to_vec();
            show_from.rewrite(&mut stack, &mut table);
            show_from.forget();
            stack.len()
        };
        assert_eq!((left(["a", "b"]), left(["b", "a"]), left(["c", "d"])), (2, 1, 0));
    }
}
