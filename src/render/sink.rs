//! What takes a walked call tree and writes an output: one for each output of a run, all fed by
//! the one walk.
//!
//! A sink that keeps what it needs writes in the end; one that streams writes as it hears, into
//! a [`Target`] that can take back what was written, for input that turns out to be unsorted.

use std::io::Write;

use super::Settings;
use super::colour::PaletteMap;
use crate::error::Result;
use crate::folded::{Frame, Known, Order, Rewrite, Visitor, WalkSummary, Weights};
use crate::profile::Opened;
use crate::weight::Weight;

/// Where an output is written. What is written need not be collected first: it is buffered.
pub trait Target: Write {
    /// Takes back everything that was written.
    ///
    /// # Errors
    /// What the system says.
    fn start_over(&mut self) -> Result<()>;
}

impl Target for Vec<u8> {
    fn start_over(&mut self) -> Result<()> {
        self.clear();
        Ok(())
    }
}

/// An output in the making.
pub trait Sink: Visitor {
    /// All is walked: writes what is still to be written. When there were no stacks, the output
    /// is as valid as any, and says so where it is made for people.
    ///
    /// # Errors
    /// What the target says; [`crate::ErrorKind::Overflow`].
    fn finish(self: Box<Self>, summary: &WalkSummary) -> Result<Finished>;
}

/// What there is to say about an output.
#[derive(Clone, Debug, Default)]
pub struct Finished {
    /// Of a drawing, what was drawn.
    pub drawn: Option<Drawn>,
    /// There were stacks, but nothing that was asked for.
    pub nothing_selected: bool,
    /// With [`Settings::keep_colours`], the colours that names have now.
    pub colours: Option<PaletteMap>,
}

/// What was drawn.
#[derive(Clone, Copy, Debug)]
pub struct Drawn {
    /// How many frames.
    pub frames: usize,
    /// How many were too narrow.
    pub left_out: u64,
    /// The weight of the whole width.
    pub total: Weight,
}

/// Opens a sink.
pub type Open = for<'a> fn(&'a Settings, &'a mut dyn Target) -> Result<Box<dyn Sink + 'a>>;

/// Walks the input once and feeds every sink.
///
/// # Errors
/// Those of [`Opened::walk`], and the sinks'.
pub fn feed(
    input: &Opened,
    order: Order,
    rewrite: Option<&Rewrite>,
    sinks: &mut [Box<dyn Sink + '_>],
) -> Result<WalkSummary> {
    match sinks {
        [sink] => input.walk(order, rewrite, &mut **sink),
        sinks => input.walk(order, rewrite, &mut FanOut(sinks)),
    }
}

/// Tells several sinks.
struct FanOut<'f, 's>(&'f mut [Box<dyn Sink + 's>]);

impl Visitor for FanOut<'_, '_> {
    fn follows_stacks(&self) -> bool {
        self.0.iter().any(|sink| sink.follows_stacks())
    }

    fn begin(&mut self, known: &Known<'_>) -> Result<()> {
        self.0.iter_mut().try_for_each(|sink| sink.begin(known))
    }

    fn enter(&mut self, name: &[u8], depth: usize) -> Result<()> {
        self.0.iter_mut().try_for_each(|sink| sink.enter(name, depth))
    }

    fn stack(&mut self, stack: &[u8], weights: Weights) -> Result<()> {
        self.0.iter_mut().try_for_each(|sink| sink.stack(stack, weights))
    }

    fn exit(&mut self, frame: Frame<'_>, so_far: Weights) -> Result<()> {
        self.0.iter_mut().try_for_each(|sink| sink.exit(frame, so_far))
    }

    /// What one sink needs cannot be left out for another.
    fn least(&self, all: Weights) -> Weight {
        self.0.iter().map(|sink| sink.least(all)).min().unwrap_or(Weight::ZERO)
    }

    fn restart(&mut self) -> Result<()> {
        self.0.iter_mut().try_for_each(|sink| sink.restart())
    }
}
