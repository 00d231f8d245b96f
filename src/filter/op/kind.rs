//! `--kind`: select stacks by the kind of code that ran, as the leaf's annotation or the recording
//! itself says.

use crate::filter::annotation;
use crate::filter::frames::PerFrame;
use crate::filter::operation::{Example, Operation, OperationGroup, Select, Stage};
use crate::folded::{FrameId, Kind as CodeKind, Place, StackTable, Weights};

const PROFILE: &str = "a;b 1\na;b;sys_[k] 2\na;c_[i] 4\na;d_[j] 8\n";

pub(in crate::filter) const KIND: Operation = Operation {
    name: "kind",
    value: Some("KIND"),
    group: OperationGroup::Select,
    about: "Keep stacks by their leaf: kernel, no-kernel, user, …",
    details: "KIND is kernel, user, inlined or jit, or one of them after `no-`. The leaf's annotation decides: `_[k]` kernel, `_[i]` inlined, `_[j]` jit, user for \
              all but the kernel; `no-` turns it round. `fg-collapse --mark all` writes them; of a recording that is read \
              directly the leaf needs none.",
    examples: &[
        Example { arguments: &["--kind", "kernel"], input: PROFILE, output: "a;b;sys_[k] 2\n" },
        Example { arguments: &["--kind", "user"], input: PROFILE, output: "a;b 1\na;c_[i] 4\na;d_[j] 8\n" },
        Example { arguments: &["--kind", "no-user"], input: PROFILE, output: "a;b;sys_[k] 2\n" },
        Example { arguments: &["--kind", "inlined"], input: PROFILE, output: "a;c_[i] 4\n" },
        Example {
            arguments: &["--kind", "no-jit"],
            input: PROFILE,
            output: "a;b 1\na;b;sys_[k] 2\na;c_[i] 4\n",
        },
    ],
    build: |value, _| {
        let (kind, wanted) = match value.strip_prefix("no-") {
            Some(kind) => (kind, false),
            None => (value, true),
        };
        let (mark, has) = match kind {
            "kernel" => (b'k', wanted),
            "user" => (b'k', !wanted),
            "inlined" => (b'i', wanted),
            "jit" => (b'j', wanted),
            _ => {
                let what = format!("{value:?} is none of kernel, user, inlined and jit, with or without no-");
                return Err(crate::Error::setting(what));
            }
        };
        Ok(Stage::Select(Box::new(Kind { mark, has, found: false, marked: PerFrame::default() })))
    },
};

struct Kind {
    mark: u8,
    /// True if the leaf must have the mark, false if it must not.
    has: bool,
    found: bool,
    marked: PerFrame<bool>,
}

/// Returns true if the recorded place of a frame has the property that this mark stands for.
fn place_has(place: &Place<'_>, mark: u8) -> bool {
    match mark {
        b'k' => place.kind == CodeKind::Kernel,
        b'j' => place.kind == CodeKind::Jit,
        _ => place.inlined,
    }
}

impl Select for Kind {
    fn keeps(&mut self, stack: &[FrameId], _: Weights, names: &StackTable) -> bool {
        let Some(&leaf) = stack.last() else { return false };
        let marked = self.marked.get(leaf, || {
            annotation::has(names.name(leaf), self.mark) || place_has(&names.place(leaf), self.mark)
        });
        self.found |= marked;
        marked == self.has
    }

    fn forget(&mut self) {
        self.marked.forget();
    }

    fn needs_places(&self) -> bool {
        true
    }

    fn remark(&self) -> Option<String> {
        (!self.found).then(|| {
            let mark = char::from(self.mark);
            format!("no stack ends in a frame with _[{mark}]; fg-collapse writes them with --mark all")
        })
    }
}
