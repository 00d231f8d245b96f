//! `--hide`, `--show`: delete frames by name, or all others; as pprof does.

use crate::filter::frames::FramePattern;
use crate::filter::operation::{Example, Operation, OperationGroup, Rewrite, Stage, unless_matched};
use crate::folded::{FrameId, StackTable};

const PPROF: &str = "fun3;fun2;fun1;fun0 1\nfun6;fun1;fun5;fun4 2\nfun7;fun10;fun4;fun9 4\nfun8;fun7 3\n";

pub(in crate::filter) const HIDE: Operation = Operation {
    name: "hide",
    value: Some("R"),
    group: OperationGroup::Frames,
    about: "Delete frames that match R",
    details: "The weight stays with the rest of the stack; a stack that is left empty is dropped.",
    examples: &[
        Example {
            arguments: &["--hide", "fun1|fun2"],
            input: PPROF,
            output: "fun3;fun0 1\nfun6;fun5;fun4 2\nfun7;fun4;fun9 4\nfun8;fun7 3\n",
        },
        Example {
            arguments: &["--hide", "b"],
            input: "a;b;c 1 10\na;c 2 20\nb 4 40\n",
            output: "a;c 3 30\n",
        },
    ],
    build: |value, options| {
        let pattern = FramePattern::new(value, options.case)?;
        Ok(Stage::Rewrite(Box::new(Hide { pattern, keep: false })))
    },
};

pub(in crate::filter) const SHOW: Operation = Operation {
    name: "show",
    value: Some("R"),
    group: OperationGroup::Frames,
    about: "Delete frames that do not match R",
    details: "The weight stays with the rest of the stack; a stack that is left empty is dropped.",
    examples: &[
        Example {
            arguments: &["--show", "fun1|fun2"],
            input: PPROF,
            output: "fun1 2\nfun10 4\nfun2;fun1 1\n",
        },
        Example { arguments: &["--show", "fun1", "--hide", "fun10"], input: PPROF, output: "fun1 3\n" },
    ],
    build: |value, options| {
        let pattern = FramePattern::new(value, options.case)?;
        Ok(Stage::Rewrite(Box::new(Hide { pattern, keep: true })))
    },
};

struct Hide {
    pattern: FramePattern,
    /// True if matching frames are kept and the others hidden.
    keep: bool,
}

impl Rewrite for Hide {
    fn rewrite(&mut self, stack: &mut Vec<FrameId>, names: &mut StackTable) {
        stack.retain(|&frame| self.pattern.matches(frame, names) == self.keep);
    }

    fn forget(&mut self) {
        self.pattern.forget();
    }

    fn remark(&self) -> Option<String> {
        unless_matched(self.pattern.has_matched())
    }
}
