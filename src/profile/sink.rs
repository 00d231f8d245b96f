//! The interface between the readers of formats and the receivers of samples.
//!
//! A reader of a format ([`Collapser`](crate::collapse::Collapser)) pushes into `&mut dyn Sink`
//! and does not know what the sink makes of it: a table, a time line, a live view. A sink says what it
//! wants; anything else is not looked for.

use std::any::Any;

use super::exchange::Exchange;
use crate::error::{Error, Result};
use crate::folded::{Columns, FrameId, Place, StackTable, Weights};
use crate::limits::Held;

/// The information that a [`Sink`] wants besides names, stacks and weights.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Wants {
    /// Places of frames: [`Sink::frame_at`] is called instead of [`Sink::frame`].
    pub places: bool,
    /// Time, thread and labels of each sample: the [`Context`] is filled.
    pub contexts: bool,
}

impl Wants {
    /// Names, stacks and weights only.
    pub const NOTHING: Wants = Wants { places: false, contexts: false };
    /// Everything a recording knows.
    pub const ALL: Wants = Wants { places: true, contexts: true };
}

/// When and where a sample was taken, as far as the recording says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Context<'a> {
    /// Nanoseconds on the recording's own clock.
    pub time: Option<u64>,
    /// The number of the process.
    pub process: Option<u64>,
    /// The number of the thread.
    pub thread: Option<u64>,
    /// The name of the thread, or of the command that it runs.
    pub thread_name: &'a [u8],
    /// Other labels: key and value.
    pub labels: &'a [(&'a [u8], &'a [u8])],
}

impl<'a> Context<'a> {
    /// Taken at this time, in nanoseconds on the recording's own clock.
    ///
    /// ```
    /// use fg_tools::profile::Context;
    ///
    /// let context = Context::UNKNOWN.at(1_000).in_thread(7, b"worker");
    /// assert_eq!((context.time, context.thread), (Some(1_000), Some(7)));
    /// ```
    pub fn at(self, time: u64) -> Self {
        Context { time: Some(time), ..self }
    }

    /// Taken in the process of this number.
    pub fn in_process(self, process: u64) -> Self {
        Context { process: Some(process), ..self }
    }

    /// Taken in the thread of this number, if it is known, and name.
    pub fn in_thread(self, thread: impl Into<Option<u64>>, name: &'a [u8]) -> Self {
        Context { thread: thread.into(), thread_name: name, ..self }
    }

    /// Taken with these other labels: key and value.
    pub fn labelled(self, labels: &'a [(&'a [u8], &'a [u8])]) -> Self {
        Context { labels, ..self }
    }
}

impl Context<'_> {
    /// A sample of which nothing is known but its stack and its weight.
    pub const UNKNOWN: Context<'static> =
        Context { time: None, process: None, thread: None, thread_name: b"", labels: &[] };
}

/// Receives the samples that the reader of a format finds.
///
/// ```
/// use fg_tools::collapse::{self, CollapseOptions};
/// use fg_tools::folded::{FrameId, Weights};
/// use fg_tools::profile::{Context, Sink};
/// use fg_tools::{Result, Source};
///
/// /// Counts samples while they come.
/// #[derive(Default)]
/// struct Counter {
///     names: u32,
///     samples: u64,
/// }
///
/// impl Sink for Counter {
///     fn frame(&mut self, _name: &[u8]) -> FrameId {
///         self.names += 1;
///         FrameId(self.names)
///     }
///
///     fn sample(&mut self, _stack: &[FrameId], _: Weights, _: &Context<'_>) -> Result<()> {
///         self.samples += 1;
///         Ok(())
///     }
/// }
///
/// let mut counter = Counter::default();
/// collapse::collapse(&[Source::bytes("main;parse 40\nmain 2\n")], None, &CollapseOptions::default(), &mut counter)?;
/// assert_eq!(counter.samples, 2);
/// # Ok::<(), fg_tools::Error>(())
/// ```
pub trait Sink {
    /// The information that it wants besides names, stacks and weights.
    fn wants(&self) -> Wants {
        Wants::NOTHING
    }

    /// The number of a frame's name, which must be free of `;` and newlines: see
    /// [`sanitize_frame`](crate::folded::sanitize_frame).
    fn frame(&mut self, name: &[u8]) -> FrameId;

    /// The number of a frame's name at a place, for a sink that wants places.
    fn frame_at(&mut self, name: &[u8], place: &Place<'_>) -> FrameId {
        let _ = place;
        self.frame(name)
    }

    /// Announces the number of weights of the samples that follow.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Setting`] if the samples before had another number.
    fn columns(&mut self, columns: Columns) -> Result<()> {
        match columns {
            Columns::One => Ok(()),
            Columns::Two => Err(Error::setting(
                "a differential profile, with two weights on each line, cannot be read here",
            )),
        }
    }

    /// Takes a sample: its frames, root first, and its weights. Several samples of one stack may come
    /// as one.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Overflow`], and the sink's own, which end the reading.
    fn sample(&mut self, stack: &[FrameId], weights: Weights, context: &Context<'_>) -> Result<()>;

    /// The store of what only formats of exchange hold: several values, labels with units, mappings and
    /// addresses. `None` for a sink that does not keep it.
    fn exchange(&mut self) -> Option<&mut Exchange> {
        None
    }

    /// Takes all values of a sample, for a sink with an [`Exchange`]. [`Sink::sample`] hears of the value
    /// that is shown besides.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Overflow`].
    fn exchange_sample(&mut self, stack: &[FrameId], labels: u32, values: &[i64]) -> Result<()> {
        let _ = (stack, labels, values);
        Ok(())
    }

    /// Takes a sample whose weight is spread evenly over a time that passed: a wait, or a call. It
    /// begins at the time of the context and lasts so many nanoseconds.
    ///
    /// # Errors
    /// Those of [`Sink::sample`], which a sink without an interest in durations hears instead.
    fn lasting_sample(
        &mut self,
        stack: &[FrameId],
        weights: Weights,
        context: &Context<'_>,
        duration: u64,
    ) -> Result<()> {
        let _ = duration;
        self.sample(stack, weights, context)
    }

    /// A sink for another thread, which [`Sink::join`] takes back. `None` for a sink that has to
    /// hear all samples itself, in their order: then one thread reads.
    fn fork(&self) -> Option<Box<dyn ForkedSink>> {
        None
    }

    /// Takes over the samples of a sink that [`Sink::fork`] made.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Overflow`].
    fn join(&mut self, fork: Box<dyn ForkedSink>) -> Result<()> {
        let _ = fork;
        Ok(())
    }

    /// The number of stacks and names that it holds, and their memory, for the limits of a reading. A sink of which
    /// nothing is known here is not limited.
    fn held(&self) -> Held {
        Held::default()
    }

    /// Adds the samples that were held back: no more come for now.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Overflow`].
    fn flush(&mut self) -> Result<()> {
        Ok(())
    }
}

/// A sink for another thread: see [`Sink::fork`].
pub trait ForkedSink: Sink + Any + Send {}

impl<S: Sink + Any + Send> ForkedSink for S {}

/// A table hears names, stacks and weights, and adds up.
impl Sink for StackTable {
    fn frame(&mut self, name: &[u8]) -> FrameId {
        StackTable::frame(self, name)
    }

    fn columns(&mut self, columns: Columns) -> Result<()> {
        self.expect_columns(columns)
    }

    fn sample(&mut self, stack: &[FrameId], weights: Weights, _: &Context<'_>) -> Result<()> {
        self.add(stack, weights)
    }

    fn held(&self) -> Held {
        StackTable::held(self)
    }
}
