//! `--prune-from`: cut off what a frame calls, as pprof does.

use crate::filter::frames::FramePattern;
use crate::filter::operation::{Example, Operation, OperationGroup, Rewrite, Stage, unless_matched};
use crate::folded::{FrameId, StackTable};

pub(in crate::filter) const PRUNE_FROM: Operation = Operation {
    name: "prune-from",
    value: Some("R"),
    group: OperationGroup::Frames,
    about: "End stacks at the last frame that matches R",
    details: "The leaf-most match counts. Its weight then includes what it called; stacks without a match stay as they are.",
    examples: &[
        Example {
            arguments: &["--prune-from", "B"],
            input: "A;B;C;B;D 1\nA;C;D 2\n",
            output: "A;B;C;B 1\nA;C;D 2\n",
        },
        Example {
            arguments: &["--prune-from", "fun1$"],
            input: "fun3;fun2;fun1;fun0 1\nfun6;fun1;fun5;fun4 2\nfun8;fun7 3\n",
            output: "fun3;fun2;fun1 1\nfun6;fun1 2\nfun8;fun7 3\n",
        },
    ],
    build: |value, options| Ok(Stage::Rewrite(Box::new(PruneFrom(FramePattern::new(value, options.case)?)))),
};

struct PruneFrom(FramePattern);

impl Rewrite for PruneFrom {
    fn rewrite(&mut self, stack: &mut Vec<FrameId>, names: &mut StackTable) {
        if let Some(place) = stack.iter().rposition(|&frame| self.0.matches(frame, names)) {
            stack.truncate(place + 1);
        }
    }

    fn forget(&mut self) {
        self.0.forget();
    }

    fn remark(&self) -> Option<String> {
        unless_matched(self.0.has_matched())
    }
}
