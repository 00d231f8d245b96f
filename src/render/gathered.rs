//! The writer of formats that gather the whole walk in a visitor, and write when it is over.

use super::Settings;
use super::writer::{Finished, Target, Writer};
use crate::error::Result;
use crate::folded::{Frame, Known, Visitor, WalkSummary, Weights};
use crate::weight::Weight;

/// A visitor, and the function that writes what it has gathered.
pub(super) struct Gathered<'a, V, F> {
    visitor: V,
    settings: &'a Settings,
    target: &'a mut dyn Target,
    write: F,
}

impl<'a, V, F> Gathered<'a, V, F>
where
    V: Visitor,
    F: FnOnce(V, &Settings, &WalkSummary, &mut dyn Target) -> Result<Finished>,
{
    /// A writer to a target.
    pub(super) fn new(visitor: V, settings: &'a Settings, target: &'a mut dyn Target, write: F) -> Self {
        Gathered { visitor, settings, target, write }
    }
}

impl<V: Visitor, F> Visitor for Gathered<'_, V, F> {
    fn follows_stacks(&self) -> bool {
        self.visitor.follows_stacks()
    }

    fn begin(&mut self, known: &Known<'_>) -> Result<()> {
        self.visitor.begin(known)
    }

    fn enter(&mut self, name: &[u8], depth: usize) -> Result<()> {
        self.visitor.enter(name, depth)
    }

    fn stack(&mut self, stack: &[u8], weights: Weights) -> Result<()> {
        self.visitor.stack(stack, weights)
    }

    fn exit(&mut self, frame: Frame<'_>, so_far: Weights) -> Result<()> {
        self.visitor.exit(frame, so_far)
    }

    fn least(&self, all: Weights) -> Weight {
        self.visitor.least(all)
    }

    fn passed_over(&mut self, frames: u64) {
        self.visitor.passed_over(frames);
    }

    fn restart(&mut self) -> Result<()> {
        self.visitor.restart()
    }
}

impl<V, F> Writer for Gathered<'_, V, F>
where
    V: Visitor,
    F: FnOnce(V, &Settings, &WalkSummary, &mut dyn Target) -> Result<Finished>,
{
    fn finish(self: Box<Self>, summary: &WalkSummary) -> Result<Finished> {
        let Gathered { visitor, settings, target, write } = *self;
        write(visitor, settings, summary, target)
    }
}
