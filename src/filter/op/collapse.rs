//! `--collapse`: a frame swallows all it calls, so that a library is one box.

use crate::filter::frames::FramePattern;
use crate::filter::operation::{Example, Operation, OperationGroup, Rewrite, Stage, unless_matched};
use crate::folded::{FrameId, StackTable};

pub(in crate::filter) const COLLAPSE: Operation = Operation {
    name: "collapse",
    value: Some("R"),
    group: OperationGroup::Frames,
    about: "Let a frame that matches R swallow its callees",
    details: "The root-most match counts: `--collapse '^ssl_'` leaves one box for each way into \
              the library. (--prune-from cuts at the leaf-most match.)",
    examples: &[Example {
        arguments: &["--collapse", "^lib"],
        input: "main;lib_a;lib_b;f 1\nmain;lib_a;x 2\nmain;y 4\n",
        output: "main;lib_a 3\nmain;y 4\n",
    }],
    build: |value, options| Ok(Stage::Rewrite(Box::new(Collapse(FramePattern::new(value, options.case)?)))),
};

struct Collapse(FramePattern);

impl Rewrite for Collapse {
    fn rewrite(&mut self, stack: &mut Vec<FrameId>, names: &mut StackTable) {
        if let Some(place) = stack.iter().position(|&frame| self.0.matches(frame, names)) {
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
