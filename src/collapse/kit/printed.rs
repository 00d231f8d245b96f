//! Shared by collapsers of printed native stacks: frames come leaf first, a thread may
//! stand above them, and the stack is added up when the text goes on with something else.

use crate::collapse::kit::leaf_first::LeafFirst;
use crate::collapse::kit::names::FrameNames;
use crate::collapse::kit::native_frame::NativeFrame;
use crate::collapse::kit::threads::Thread;
use crate::collapse::kit::values::Values;
use crate::collapse::{CollapseOptions, Sink};
use crate::error::Result;
use crate::folded::FrameId;
use crate::weight::Weight;

/// The stack being read, and what its frames and its weight need.
pub struct Printed<'o> {
    /// The options.
    pub options: &'o CollapseOptions,
    /// The sums of stacks.
    pub values: Values,
    /// The names that are built.
    pub names: FrameNames,
    /// The stack being read.
    pub stack: LeafFirst,
}

impl<'o> Printed<'o> {
    /// Stacks that are added up in `values`.
    pub fn new(options: &'o CollapseOptions, values: Values) -> Printed<'o> {
        Printed { options, values, names: FrameNames::default(), stack: LeafFirst::default() }
    }

    /// Stacks that are samples and nothing else.
    pub fn samples(options: &'o CollapseOptions) -> Printed<'o> {
        Printed::new(options, Values::single(options, "samples", "samples"))
    }

    /// Adds a frame, rootward of those before.
    pub fn push(&mut self, native: &NativeFrame, sink: &mut dyn Sink) {
        self.stack.push(native.frame(self.options, &mut self.names, sink));
    }

    /// Adds a frame that is called by this text.
    pub fn push_plain(&mut self, name: &[u8], sink: &mut dyn Sink) {
        self.stack.push(self.names.plain(name, sink));
    }

    /// The frame of a thread.
    pub fn thread(&mut self, thread: &Thread, sink: &mut dyn Sink) -> FrameId {
        self.names.build(sink, |out| thread.write(self.options, out))
    }

    /// Ends the stack, which weighs this much.
    ///
    /// # Errors
    /// Sums that are too large.
    pub fn add(&mut self, weight: Weight, sink: &mut dyn Sink) -> Result<()> {
        self.values.add(0, self.stack.take(), weight, sink)
    }
}
