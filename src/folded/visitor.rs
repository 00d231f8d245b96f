//! The listener to a walk of a call tree, and what it is told.

use std::any::Any;
use std::sync::Arc;

use super::line::{Columns, Weights};
use super::place::Places;
use super::reader::NotUnderstood;
use crate::error::Result;
use crate::facts::Facts;
use crate::weight::Weight;

/// A frame of the call tree, complete.
#[derive(Clone, Copy, Debug)]
pub struct Frame<'a> {
    /// The name of the frame.
    pub name: &'a [u8],
    /// The number of frames rootward of it.
    pub depth: usize,
    /// The weight of the stacks before it in order: the place at which it is drawn.
    pub start: Weights,
    /// The weight of the stacks that end in it: its self weight.
    pub own: Weights,
    /// The weight of all stacks through it: its total weight.
    pub total: Weights,
}

/// The facts of a profile that are known before its stacks come.
#[derive(Clone, Copy, Debug)]
pub struct Known<'a> {
    /// One or two weights with each stack.
    pub columns: Columns,
    /// The facts of the profile.
    pub facts: &'a Facts,
    /// The places of frames.
    pub places: &'a Places,
}

/// Receives the frames of a walk.
///
/// The stacks `a 1` and `a;b 2` are these calls: enter a, stack `a` 1, enter b, stack `a;b` 2, exit b,
/// exit a.
pub trait Visitor {
    /// Returns true if [`Visitor::enter`] and [`Visitor::stack`] are to be called; asked once, first.
    fn follows_stacks(&self) -> bool {
        false
    }

    /// The input begins; again after each [`Visitor::restart`].
    ///
    /// # Errors
    /// The visitor's own; they end the walk.
    fn begin(&mut self, known: &Known<'_>) -> Result<()> {
        let _ = known;
        Ok(())
    }

    /// A frame begins, `depth` frames leafward of the root; those rootward of it are open.
    ///
    /// # Errors
    /// The visitor's own; they end the walk.
    fn enter(&mut self, name: &[u8], depth: usize) -> Result<()> {
        let _ = (name, depth);
        Ok(())
    }

    /// A stack, all of whose frames are open, and what it weighs; equal neighbours are one.
    ///
    /// # Errors
    /// The visitor's own; they end the walk.
    fn stack(&mut self, stack: &[u8], weights: Weights) -> Result<()> {
        let _ = (stack, weights);
        Ok(())
    }

    /// A frame is complete; those leafward of it came before. `so_far` is the weight of all
    /// stacks up to and with this frame's.
    ///
    /// # Errors
    /// The visitor's own; they end the walk.
    fn exit(&mut self, frame: Frame<'_>, so_far: Weights) -> Result<()>;

    /// A visitor for a later part of the input on another thread, which [`Visitor::join`] takes back.
    /// `None` for a visitor that has to hear of all frames itself: then one thread walks.
    fn fork(&self) -> Option<Box<dyn ForkedVisitor>> {
        None
    }

    /// Takes over the frames of a visitor that [`Visitor::fork`] made. They start this much later
    /// than it was told. What it was told of the weight so far was less by as much.
    ///
    /// # Errors
    /// The visitor's own; they end the walk.
    fn join(&mut self, fork: Box<dyn ForkedVisitor>, offset: Weights) -> Result<()> {
        let _ = (fork, offset);
        Ok(())
    }

    /// Frames whose total is below this may be passed over, if all stacks weigh at least this much: the
    /// visitor would do nothing with them.
    fn least(&self, all: Weights) -> Weight {
        let _ = all;
        Weight::ZERO
    }

    /// This many frames were passed over, and [`Visitor::exit`] not called for them.
    fn passed_over(&mut self, frames: u64) {
        let _ = frames;
    }

    /// The input was not in order after all: forget everything, it comes again.
    ///
    /// # Errors
    /// The visitor's own; they end the walk.
    fn restart(&mut self) -> Result<()>;
}

/// The order in which stacks are walked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Order {
    /// Frame order; input in another order is sorted first.
    #[default]
    Frame,
    /// The order of the input; neighbours share their common frames.
    Input,
    /// The order of the input too, but equal neighbours are two calls of their last frame, as
    /// events in the order of time are.
    Time,
    /// One thread after the other, each in the order of time; neighbours share their common frames.
    /// Of several threads, each has a root frame. Text is in its own order.
    Thread,
}

/// The totals and the facts of a walk.
#[derive(Clone, Debug, Default)]
pub struct WalkSummary {
    /// One or two weights on each line.
    pub columns: Columns,
    /// The weight of all stacks.
    pub total: Weights,
    /// The facts of the profile.
    pub facts: Facts,
    /// The places of frames; text has none.
    pub places: Arc<Places>,
    /// Lines left out because they are no folded stacks.
    pub not_understood: NotUnderstood,
    /// Stacks left out because all their lines together weigh less than zero: nothing can be drawn
    /// for them.
    pub negative: u64,
}

/// A change to each stack before it is walked: writes the new stack into the empty vector, or
/// returns `false` to leave the stack out.
pub type Rewrite = dyn Fn(&[u8], &mut Vec<u8>) -> bool;

/// A visitor of a part of the input, for another thread: see [`Visitor::fork`].
pub trait ForkedVisitor: Visitor + Any + Send {}

impl<V: Visitor + Any + Send> ForkedVisitor for V {}
