//! `--focus`, `--ignore`: keep or drop stacks with a matching frame, as pprof does.

use crate::filter::frames::FramePattern;
use crate::filter::operation::{Example, Operation, OperationGroup, Select, Stage, unless_matched};
use crate::folded::{FrameId, StackTable, Weights};

/// pprof's own test profile, turned root first.
const PPROF: &str = "fun3;fun2;fun1;fun0 1\nfun6;fun1;fun5;fun4 2\nfun7;fun10;fun4;fun9 4\nfun8;fun7 3\n";

pub(in crate::filter) const FOCUS: Operation = Operation {
    name: "focus",
    value: Some("R"),
    group: OperationGroup::Select,
    about: "Keep stacks with a frame that matches R",
    details: "",
    examples: &[
        Example {
            arguments: &["--focus", "fun1"],
            input: PPROF,
            output: "fun3;fun2;fun1;fun0 1\nfun6;fun1;fun5;fun4 2\nfun7;fun10;fun4;fun9 4\n",
        },
        Example { arguments: &["--focus", "^b$"], input: "a;b 1 2\na;bb 3 4\n", output: "a;b 1 2\n" },
    ],
    build: |value, options| {
        let pattern = FramePattern::new(value, options.case)?;
        Ok(Stage::Select(Box::new(Focus { pattern, keep: true })))
    },
};

pub(in crate::filter) const IGNORE: Operation = Operation {
    name: "ignore",
    value: Some("R"),
    group: OperationGroup::Select,
    about: "Drop stacks with a frame that matches R",
    details: "",
    examples: &[
        Example { arguments: &["--ignore", "fun1"], input: PPROF, output: "fun8;fun7 3\n" },
        Example {
            arguments: &["--focus", "fun1|fun7", "--ignore", "fun1"],
            input: PPROF,
            output: "fun8;fun7 3\n",
        },
    ],
    build: |value, options| {
        let pattern = FramePattern::new(value, options.case)?;
        Ok(Stage::Select(Box::new(Focus { pattern, keep: false })))
    },
};

struct Focus {
    pattern: FramePattern,
    keep: bool,
}

impl Select for Focus {
    fn keeps(&mut self, stack: &[FrameId], _: Weights, names: &StackTable) -> bool {
        stack.iter().any(|&frame| self.pattern.matches(frame, names)) == self.keep
    }

    fn forget(&mut self) {
        self.pattern.forget();
    }

    fn remark(&self) -> Option<String> {
        unless_matched(self.pattern.has_matched())
    }
}
