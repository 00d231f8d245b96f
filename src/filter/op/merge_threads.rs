//! `--merge-threads`: take the frames of processes and threads away, so that a pool of threads
//! is one.

use super::threads::Roles;
use crate::filter::operation::{Example, Operation, OperationGroup, Rewrite, Stage};
use crate::folded::{FrameId, StackTable};

pub(in crate::filter) const MERGE_THREADS: Operation = Operation {
    name: "merge-threads",
    value: None,
    group: OperationGroup::Frames,
    about: "Delete the frames that name processes and threads",
    details: "`COMM-PID/TID` and `COMM-PID` (perf with --per-thread, --per-process), `process PID:\"COMMAND\"` and \
              `thread (TID): NAME` (py-spy), `P1;T0:1` (austin). A stack that is nothing else \
              becomes [no frames]. A root that is a bare name may be a function and stays: see \
              --skip-roots.",
    examples: &[
        Example {
            arguments: &["--merge-threads"],
            input: "P12;T0:12;main 1\nP12;T0:13 4\nP12;T0:13;main 2\n",
            output: "[no frames] 4\nmain 3\n",
        },
        Example {
            arguments: &["--merge-threads"],
            input: "process 7:\"a\";process 8:\"b\";thread (9): pool-1;f 8\nsh;f 1\nthread (9): x;f 1\nw-20/21;f 2\nw-20/22;f 4\nw-20;w-21 16\n",
            output: "f 15\nsh;f 1\nw-21 16\n",
        },
    ],
    build: |_, _| Ok(Stage::Rewrite(Box::new(MergeThreads::default()))),
};

#[derive(Default)]
struct MergeThreads {
    roles: Roles,
    found: bool,
}

impl Rewrite for MergeThreads {
    fn rewrite(&mut self, stack: &mut Vec<FrameId>, names: &mut StackTable) {
        let len = self.roles.prefix(stack, names).len;
        self.found |= len > 0;
        stack.drain(..len);
        if stack.is_empty() {
            stack.push(names.frame(b"[no frames]"));
        }
    }

    fn forget(&mut self) {
        self.roles.forget();
    }

    fn remark(&self) -> Option<String> {
        (!self.found).then(|| {
            "found no frame that names a process or a thread; --skip-roots 1 deletes the root".to_owned()
        })
    }
}
