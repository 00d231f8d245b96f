//! `--recursion`: merge calls of a function by itself, or whole cycles of calls.

use crate::filter::operation::{Example, Operation, OperationGroup, Rewrite, Stage};
use crate::folded::{FrameId, StackTable};

/// The longest cycle that is looked for, in frames. Without a limit a hostile stack of a hundred
/// thousand frames would keep us busy for minutes.
const LONGEST_CYCLE: usize = 64;

pub(in crate::filter) const RECURSION: Operation = Operation {
    name: "recursion",
    value: Some("KIND"),
    group: OperationGroup::Frames,
    about: "Merge repeated calls: direct, or whole cycles",
    details: "direct: `a;b;b;b;c` becomes `a;b;c`. cycles: so do `a;b;a;b;c` and all cycles of up \
              to 64 frames that follow each other.",
    examples: &[
        Example {
            arguments: &["--recursion", "direct"],
            input: "a;b;a;b;c 2\na;b;b;b;c 1\na;b;c 4\n",
            output: "a;b;a;b;c 2\na;b;c 5\n",
        },
        Example {
            arguments: &["--recursion", "cycles"],
            input: "a;b;a;b;c 2\na;b;b;b;c 1\na;b;c 4\nm;x;y;z;x;y;z;x;y 1\n",
            output: "a;b;c 7\nm;x;y;z;x;y 1\n",
        },
    ],
    build: |value, _| {
        let longest = match value {
            "direct" => 1,
            "cycles" => LONGEST_CYCLE,
            other => return Err(crate::Error::setting(format!("{other:?} is neither direct nor cycles"))),
        };
        Ok(Stage::Rewrite(Box::new(Recursion { longest })))
    },
};

struct Recursion {
    longest: usize,
}

impl Rewrite for Recursion {
    fn rewrite(&mut self, stack: &mut Vec<FrameId>, names: &mut StackTable) {
        // A function called from several of its lines is one function.
        let is_same = |a: FrameId, b: FrameId| a == b || names.base(a) == names.base(b);
        // The frames kept so far hold no repetition: only a cycle that the next frame completes
        // has to be looked for, and there is at most one.
        let mut kept = 0;
        for next in 0..stack.len() {
            stack[kept] = stack[next];
            kept += 1;
            for cycle in 1..=self.longest.min(kept / 2) {
                let (before, last) = stack[..kept].split_at(kept - cycle);
                let tail = &before[before.len() - cycle..];
                if tail.iter().zip(last).rev().all(|(&a, &b)| is_same(a, b)) {
                    kept -= cycle;
                    break;
                }
            }
        }
        stack.truncate(kept);
    }

    fn forget(&mut self) {}

    fn remark(&self) -> Option<String> {
        None
    }
}
