//! Ends a reading at the limits of what its sink may hold.

use std::any::Any;
use std::sync::Arc;

use super::exchange::Exchange;
use super::sink::{Context, ForkedSink, Sink, Wants};
use crate::error::{Position, Result};
use crate::folded::{Columns, FrameId, Place, Weights};
use crate::input::Source;
use crate::limits::{Held, Meter};

/// The frames of samples between two looks at what the sink holds. They take a megabyte.
const EVERY: usize = 1 << 18;

/// The bytes of names that count as one frame.
const NAME: usize = 16;

/// A sink that hands on everything, until there is too much of it.
pub(crate) struct Limited<T> {
    target: T,
    meter: Arc<Meter>,
    /// The frames since the last look.
    since: usize,
    /// The contents of the sink at the last look.
    held: Held,
}

/// A sink, borrowed or owned.
pub(crate) trait Target {
    fn sink(&self) -> &dyn Sink;
    fn sink_mut(&mut self) -> &mut dyn Sink;
}

impl Target for &mut dyn Sink {
    fn sink(&self) -> &dyn Sink {
        &**self
    }

    fn sink_mut(&mut self) -> &mut dyn Sink {
        &mut **self
    }
}

impl Target for Box<dyn ForkedSink> {
    fn sink(&self) -> &dyn Sink {
        &**self
    }

    fn sink_mut(&mut self) -> &mut dyn Sink {
        &mut **self
    }
}

impl<T: Target> Limited<T> {
    pub(crate) fn new(target: T, meter: Arc<Meter>) -> Self {
        Limited { target, meter, since: 0, held: Held::default() }
    }

    /// Counts frames, and looks at the sink once there are enough of them.
    #[inline]
    fn count(&mut self, frames: usize) -> Result<()> {
        self.since += frames;
        if self.since < EVERY { Ok(()) } else { self.look() }
    }

    /// Looks at what the sink holds.
    #[cold]
    fn look(&mut self) -> Result<()> {
        self.since = 0;
        let now = self.target.sink().held();
        let before = std::mem::replace(&mut self.held, now);
        self.meter.check_held(before, now)
    }
}

impl<T: Target> Sink for Limited<T> {
    fn wants(&self) -> Wants {
        self.target.sink().wants()
    }

    fn frame(&mut self, name: &[u8]) -> FrameId {
        self.since += 1 + name.len() / NAME;
        self.target.sink_mut().frame(name)
    }

    fn frame_at(&mut self, name: &[u8], place: &Place<'_>) -> FrameId {
        self.since += 1 + name.len() / NAME;
        self.target.sink_mut().frame_at(name, place)
    }

    fn columns(&mut self, columns: Columns) -> Result<()> {
        self.target.sink_mut().columns(columns)
    }

    fn sample(&mut self, stack: &[FrameId], weights: Weights, context: &Context<'_>) -> Result<()> {
        self.meter.check_depth(stack.len())?;
        self.target.sink_mut().sample(stack, weights, context)?;
        self.count(stack.len() + 1)
    }

    fn lasting_sample(
        &mut self,
        stack: &[FrameId],
        weights: Weights,
        context: &Context<'_>,
        duration: u64,
    ) -> Result<()> {
        self.meter.check_depth(stack.len())?;
        self.target.sink_mut().lasting_sample(stack, weights, context, duration)?;
        self.count(stack.len() + 1)
    }

    fn exchange(&mut self) -> Option<&mut Exchange> {
        self.target.sink_mut().exchange()
    }

    fn exchange_sample(&mut self, stack: &[FrameId], labels: u32, values: &[i64]) -> Result<()> {
        self.meter.check_depth(stack.len())?;
        self.target.sink_mut().exchange_sample(stack, labels, values)?;
        self.count(stack.len() + values.len())
    }

    fn held(&self) -> Held {
        self.target.sink().held()
    }

    fn fork(&self) -> Option<Box<dyn ForkedSink>> {
        let fork = self.target.sink().fork()?;
        Some(Box::new(Limited::new(fork, self.meter.clone())))
    }

    fn join(&mut self, fork: Box<dyn ForkedSink>) -> Result<()> {
        let fork: Box<dyn Any> = fork;
        let fork = fork.downcast::<Limited<Box<dyn ForkedSink>>>().expect("a fork of this sink is its like");
        self.target.sink_mut().join(fork.target)?;
        self.meter.release(fork.held);
        self.look()
    }

    fn flush(&mut self) -> Result<()> {
        self.target.sink_mut().flush()
    }
}

/// Calls `read` with a sink that holds no more than the limits of the sources allow, and looks at all of it in the
/// end.
///
/// # Errors
/// [`crate::ErrorKind::Limit`], and the errors of `read`.
pub(crate) fn within<R>(
    sources: &[Source],
    sink: &mut dyn Sink,
    read: impl FnOnce(&mut dyn Sink) -> Result<R>,
) -> Result<R> {
    let Some((source, meter)) = sources.first().and_then(|source| Some((source, source.meter()?))) else {
        return read(sink);
    };
    let mut limited = Limited::new(sink, meter.clone());
    let at = || Position::file(source.name());
    let result = read(&mut limited).map_err(|e| e.or_at(at))?;
    limited.flush().and_then(|()| limited.look()).map_err(|e| e.or_at(at))?;
    Ok(result)
}
