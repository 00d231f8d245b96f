//! Multiplies the weights of an input on their way into a sink: inputs of one profile may count for more or
//! less than others.

use super::exchange::Exchange;
use super::sink::{Context, Sink, Wants};
use crate::error::Result;
use crate::folded::{Columns, FrameId, Place, Weights};
use crate::limits::Held;
use crate::weight::Weight;

/// A sink that hands on everything, with weights multiplied by a factor.
pub(crate) struct Scaled<'s> {
    sink: &'s mut dyn Sink,
    factor: Weight,
}

impl<'s> Scaled<'s> {
    /// The sink, which gets weights multiplied by this factor until this is dropped.
    pub(crate) fn new(sink: &'s mut dyn Sink, factor: Weight) -> Self {
        if let Some(exchange) = sink.exchange() {
            exchange.weigh(factor);
        }
        Scaled { sink, factor }
    }

    fn scaled(&self, weights: Weights) -> Result<Weights> {
        let value = weights.value.checked_mul(self.factor)?;
        Ok(Weights { value, before: weights.before.checked_mul(self.factor)? })
    }
}

impl Drop for Scaled<'_> {
    fn drop(&mut self) {
        if let Some(exchange) = self.sink.exchange() {
            exchange.weigh(Weight::ONE);
        }
    }
}

impl Sink for Scaled<'_> {
    fn wants(&self) -> Wants {
        self.sink.wants()
    }

    fn frame(&mut self, name: &[u8]) -> FrameId {
        self.sink.frame(name)
    }

    fn frame_at(&mut self, name: &[u8], place: &Place<'_>) -> FrameId {
        self.sink.frame_at(name, place)
    }

    fn columns(&mut self, columns: Columns) -> Result<()> {
        self.sink.columns(columns)
    }

    fn sample(&mut self, stack: &[FrameId], weights: Weights, context: &Context<'_>) -> Result<()> {
        self.sink.sample(stack, self.scaled(weights)?, context)
    }

    fn lasting_sample(
        &mut self,
        stack: &[FrameId],
        weights: Weights,
        context: &Context<'_>,
        duration: u64,
    ) -> Result<()> {
        self.sink.lasting_sample(stack, self.scaled(weights)?, context, duration)
    }

    fn exchange(&mut self) -> Option<&mut Exchange> {
        self.sink.exchange()
    }

    fn exchange_sample(&mut self, stack: &[FrameId], labels: u32, values: &[i64]) -> Result<()> {
        self.sink.exchange_sample(stack, labels, values)
    }

    fn held(&self) -> Held {
        self.sink.held()
    }

    fn flush(&mut self) -> Result<()> {
        self.sink.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::ProfileBuilder;

    #[test]
    fn all_samples_are_multiplied() {
        let mut builder = ProfileBuilder::new(Wants::ALL);
        let mut scaled = Scaled::new(&mut builder, Weight::new(3));
        assert_eq!(scaled.wants(), Wants::ALL);
        let stack = [scaled.frame(b"main")];
        let weights = Weights::one(Weight::new(5));
        let at = |time| Context { time: Some(time), ..Context::UNKNOWN };
        scaled.sample(&stack, weights, &at(1)).unwrap();
        scaled.lasting_sample(&stack, weights, &at(2), 9).unwrap();
        drop(scaled);
        let profile = builder.finish().unwrap();
        let samples: Vec<_> =
            profile.samples().iter().map(|one| (one.time, one.duration, one.weights.value)).collect();
        assert_eq!(samples, [(Some(1), 0, Weight::new(15)), (Some(2), 9, Weight::new(15))]);
        assert_eq!(profile.total().unwrap().value, Weight::new(30));
    }

    #[test]
    fn the_sink_is_asked_for_two_weights_and_for_what_it_holds_back() {
        struct Flushes(u32);
        impl Sink for Flushes {
            fn frame(&mut self, _: &[u8]) -> FrameId {
                FrameId(0)
            }
            fn sample(&mut self, _: &[FrameId], _: Weights, _: &Context<'_>) -> Result<()> {
                Ok(())
            }
            fn flush(&mut self) -> Result<()> {
                self.0 += 1;
                Ok(())
            }
        }
        let mut sink = Flushes(0);
        let mut scaled = Scaled::new(&mut sink, Weight::new(3));
        assert!(scaled.columns(Columns::One).is_ok() && scaled.columns(Columns::Two).is_err());
        scaled.flush().unwrap();
        drop(scaled);
        assert_eq!(sink.0, 1);
    }
}
