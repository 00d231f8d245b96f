//! `--path`: keep stacks in which one frame calls another, directly or eventually.

use crate::filter::frames::FramePattern;
use crate::filter::operation::{Example, Operation, OperationGroup, Select, Stage};
use crate::folded::{FrameId, StackTable, Weights};

pub(in crate::filter) const PATH: Operation = Operation {
    name: "path",
    value: Some("A;B"),
    group: OperationGroup::Select,
    about: "Keep stacks where A calls B; at any depth: `A;...;B`",
    details: "A, B and so on are regular expressions, each for one frame. `...` (or `…`) \
              stands for any number of frames, none among them.",
    examples: &[
        Example {
            arguments: &["--path", "^a$;^c$"],
            input: "a;b;c 1\na;c 2\nc;a 4\nx;a;c;y 8\n",
            output: "a;c 2\nx;a;c;y 8\n",
        },
        Example {
            arguments: &["--path", "a;...;c"],
            input: "a;b;c 1\na;c 2\nc;a 4\nx;a;c;y 8\n",
            output: "a;b;c 1\na;c 2\nx;a;c;y 8\n",
        },
        Example {
            arguments: &["--path", "a;b;…;b;c"],
            input: "a;b;b;c 1\na;b;c 2\na;b;x;a;b;c 4 \n",
            output: "a;b;b;c 1\na;b;x;a;b;c 4 \n",
        },
    ],
    build: |value, options| {
        let mut runs: Vec<Vec<FramePattern>> = vec![Vec::new()];
        for element in value.split(';') {
            match element {
                "..." | "…" => runs.push(Vec::new()),
                expression => {
                    let pattern = FramePattern::new(expression, options.case)?;
                    runs.last_mut().expect("it starts with one").push(pattern);
                }
            }
        }
        runs.retain(|run| !run.is_empty());
        if runs.is_empty() {
            return Err(crate::Error::setting("it names no frame; write for example 'main;...;malloc'"));
        }
        Ok(Stage::Select(Box::new(Path { runs, matched: false })))
    },
};

/// Runs of frames that follow each other, with any number of frames between runs.
struct Path {
    runs: Vec<Vec<FramePattern>>,
    matched: bool,
}

impl Select for Path {
    fn keeps(&mut self, stack: &[FrameId], _: Weights, names: &StackTable) -> bool {
        // Taking each run where it first fits leaves the most frames to those after it.
        let mut from = 0;
        for run in &mut self.runs {
            let place = stack[from..].windows(run.len()).position(|frames| {
                frames.iter().zip(run.iter_mut()).all(|(&frame, pattern)| pattern.matches(frame, names))
            });
            match place {
                Some(place) => from += place + run.len(),
                None => return false,
            }
        }
        self.matched = true;
        true
    }

    fn forget(&mut self) {
        self.runs.iter_mut().flatten().for_each(FramePattern::forget);
    }

    fn remark(&self) -> Option<String> {
        (!self.matched).then(|| "matched no stack".to_owned())
    }
}
