//! `--squash-unknown`: runs of `[unknown]`, which broken unwinding leaves, become one.

use crate::filter::annotation;
use crate::filter::frames::PerFrame;
use crate::filter::operation::{Example, Operation, OperationGroup, Rewrite, Stage};
use crate::folded::{FrameId, StackTable};

pub(in crate::filter) const SQUASH_UNKNOWN: Operation = Operation {
    name: "squash-unknown",
    value: None,
    group: OperationGroup::Frames,
    about: "Merge neighbouring [unknown] frames",
    details: "",
    examples: &[Example {
        arguments: &["--squash-unknown"],
        input: "a;[unknown];[unknown] 1\na;[unknown];[unknown]_[k];b 2\na;b;b 4\n",
        output: "a;[unknown] 1\na;[unknown];b 2\na;b;b 4\n",
    }],
    build: |_, _| Ok(Stage::Rewrite(Box::new(SquashUnknown::default()))),
};

#[derive(Default)]
struct SquashUnknown(PerFrame<bool>);

impl Rewrite for SquashUnknown {
    fn rewrite(&mut self, stack: &mut Vec<FrameId>, names: &mut StackTable) {
        let mut unknown =
            |frame| self.0.get(frame, || annotation::split(names.name(frame)).0 == b"[unknown]");
        stack.dedup_by(|frame, before| unknown(*frame) && unknown(*before));
    }

    fn forget(&mut self) {
        self.0.forget();
    }

    fn remark(&self) -> Option<String> {
        None
    }
}
