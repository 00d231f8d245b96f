//! Builds a profile, sample by sample: of a recording that is read, or of samples in memory.

use super::exchange::{Exchange, Exchanged};
use super::samples::Samples;
use super::sink::{Context, ForkedSink, Sink, Wants};
use super::{Facts, Profile};
use crate::error::Result;
use crate::folded::{Batch, Columns, FrameId, Place, StackTable, Weights, sanitize_frame};
use crate::limits::Held;
use crate::weight::Weight;
use std::any::Any;
#[cfg(all(feature = "tui", feature = "record", target_os = "linux"))]
use std::sync::Arc;

/// Builds a [`Profile`], sample by sample.
///
/// ```
/// use fg_tools::{Profile, Weight};
///
/// let mut builder = Profile::builder();
/// builder.facts.unit = Some("ns".into());
/// builder.add(["main", "parse"], Weight::new(40))?;
/// builder.add(["main"], Weight::new(2))?;
/// let profile = builder.finish()?;
/// assert_eq!(profile.total()?.value, Weight::new(42));
/// # Ok::<(), fg_tools::Error>(())
/// ```
#[derive(Default)]
pub struct ProfileBuilder {
    /// The facts of the profile.
    pub facts: Facts,
    wants: Wants,
    stacks: StackTable,
    batch: Batch,
    samples: Samples,
    exchange: Option<Box<Exchange>>,
    scratch: Vec<FrameId>,
    name: Vec<u8>,
}

impl ProfileBuilder {
    /// A builder that keeps what is wanted besides stacks and weights.
    pub fn new(wants: Wants) -> Self {
        ProfileBuilder { wants, ..ProfileBuilder::default() }
    }

    /// Keeps the parts that formats of exchange hold besides; `prunes` leaves out the frames that a
    /// recording asks to leave out.
    pub(crate) fn with_exchange(mut self, prunes: bool) -> Self {
        let mut exchange = Exchange::default();
        exchange.prunes = prunes;
        self.exchange = Some(Box::new(exchange));
        self
    }

    /// Adds a sample: the names of its frames, root first, and its weight. What a frame's name must
    /// not hold is replaced: see [`sanitize_frame`].
    ///
    /// # Errors
    /// [`crate::ErrorKind::Overflow`].
    pub fn add<N: AsRef<[u8]>>(&mut self, stack: impl IntoIterator<Item = N>, weight: Weight) -> Result<()> {
        self.add_at(stack, weight, &Context::UNKNOWN)
    }

    /// Adds a sample, and says when and where it was taken.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Overflow`].
    pub fn add_at<N: AsRef<[u8]>>(
        &mut self,
        stack: impl IntoIterator<Item = N>,
        weight: Weight,
        context: &Context<'_>,
    ) -> Result<()> {
        let mut ids = std::mem::take(&mut self.scratch);
        ids.clear();
        for frame in stack {
            self.name.clear();
            sanitize_frame(frame.as_ref(), &mut self.name);
            ids.push(self.stacks.frame(&self.name));
        }
        let result = self.sample(&ids, Weights::one(weight), context);
        self.scratch = ids;
        result
    }

    /// Adds the stacks and the single samples of a profile.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Overflow`].
    #[cfg_attr(not(all(feature = "cli", feature = "record", target_os = "linux")), allow(dead_code))]
    pub(crate) fn add_profile(&mut self, profile: &Profile) -> Result<()> {
        self.flush()?;
        let indices = self.stacks.merge_indexed(&profile.stacks)?;
        self.samples.join(&profile.samples, &indices);
        Ok(())
    }

    /// The profile.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Overflow`].
    pub fn finish(mut self) -> Result<Profile> {
        self.flush()?;
        let ProfileBuilder { facts, stacks, samples, exchange, .. } = self;
        let mut profile = Profile::new(facts, stacks, samples)?;
        profile.exchanged = exchange.map(|exchange| Exchanged::new(*exchange));
        Ok(profile)
    }
}

/// A profile that grows by parts of one recording, without building it anew.
#[cfg(all(feature = "tui", feature = "record", target_os = "linux"))]
impl Profile {
    /// Adds another part. [`Profile::sort_samples`] has to follow before single samples are looked at.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Overflow`].
    pub(crate) fn grow(&mut self, part: &Profile) -> Result<()> {
        let indices = self.stacks.merge_indexed(&part.stacks)?;
        self.samples.join(&part.samples, &indices);
        self.places = Arc::new(self.stacks.places()?);
        self.facts = Facts::merged(&[std::mem::take(&mut self.facts), part.facts.clone()]);
        Ok(())
    }

    /// Puts the single samples in order.
    pub(crate) fn sort_samples(&mut self) {
        if !self.samples.is_empty() {
            self.samples.sort(&self.stacks.ranks());
        }
    }
}

impl Sink for ProfileBuilder {
    fn wants(&self) -> Wants {
        self.wants
    }

    #[inline]
    fn frame(&mut self, name: &[u8]) -> FrameId {
        self.stacks.frame(name)
    }

    fn frame_at(&mut self, name: &[u8], place: &Place<'_>) -> FrameId {
        self.stacks.frame_at(name, place)
    }

    fn columns(&mut self, columns: Columns) -> Result<()> {
        self.flush()?;
        self.stacks.expect_columns(columns)
    }

    #[inline]
    fn sample(&mut self, stack: &[FrameId], weights: Weights, context: &Context<'_>) -> Result<()> {
        if self.wants.contexts {
            let index = self.stacks.add_indexed(stack, weights)?;
            self.samples.push(context, 0, index, weights);
            return Ok(());
        }
        if self.batch.push(stack, weights) { self.flush() } else { Ok(()) }
    }

    fn exchange(&mut self) -> Option<&mut Exchange> {
        self.exchange.as_deref_mut()
    }

    fn exchange_sample(&mut self, stack: &[FrameId], labels: u32, values: &[i64]) -> Result<()> {
        if let Some(exchange) = &mut self.exchange {
            let index = self.stacks.add_indexed(stack, Weights::default())?;
            exchange.push(index as u32, labels, values);
        }
        Ok(())
    }

    fn lasting_sample(
        &mut self,
        stack: &[FrameId],
        weights: Weights,
        context: &Context<'_>,
        duration: u64,
    ) -> Result<()> {
        if !self.wants.contexts {
            return self.sample(stack, weights, context);
        }
        let index = self.stacks.add_indexed(stack, weights)?;
        self.samples.push(context, duration, index, weights);
        Ok(())
    }

    fn fork(&self) -> Option<Box<dyn ForkedSink>> {
        Some(Box::new(ProfileBuilder::new(self.wants)))
    }

    fn join(&mut self, mut fork: Box<dyn ForkedSink>) -> Result<()> {
        fork.flush()?;
        self.flush()?;
        let fork: Box<dyn Any> = fork;
        let fork = fork.downcast::<ProfileBuilder>().expect("a fork of a builder is a builder");
        if !self.wants.contexts {
            return self.stacks.merge(&fork.stacks);
        }
        let indices = self.stacks.merge_indexed(&fork.stacks)?;
        self.samples.join(&fork.samples, &indices);
        Ok(())
    }

    fn held(&self) -> Held {
        let exchange = self.exchange.as_ref().map_or(0, |exchange| exchange.bytes());
        let bytes = self.stacks.bytes() + self.samples.bytes() + exchange;
        Held::new(self.stacks.len(), self.stacks.frame_count(), bytes)
    }

    fn flush(&mut self) -> Result<()> {
        self.stacks.add_batch(&mut self.batch)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forks_are_one_profile_with_its_samples_in_order() {
        let sample = |sink: &mut dyn Sink, time: u64, name: &[u8]| {
            let frames = [sink.frame(b"main"), sink.frame(name)];
            let context = Context { time: Some(time), ..Context::UNKNOWN };
            sink.sample(&frames, Weights::one(Weight::new(10)), &context).unwrap();
        };
        for wants in [Wants::ALL, Wants::default()] {
            let mut builder = ProfileBuilder::new(wants);
            sample(&mut builder, 4, b"a");
            let mut forks: Vec<_> = (0..2).map(|_| builder.fork().expect("a builder has forks")).collect();
            sample(&mut *forks[0], 3, b"b");
            sample(&mut *forks[0], 1, b"a");
            sample(&mut *forks[1], 2, b"b");
            for fork in forks {
                builder.join(fork).unwrap();
            }
            let profile = builder.finish().unwrap();
            let mut folded = Vec::new();
            profile.stacks().write(&mut folded).unwrap();
            assert_eq!(String::from_utf8(folded).unwrap(), "main;a 20\nmain;b 20\n");
            let seen = profile.samples().iter().map(|sample| {
                let leaf = *profile.stack(sample.stack).last().unwrap();
                (sample.time.unwrap(), profile.stacks().name(leaf).to_vec())
            });
            let seen: Vec<_> = seen.collect();
            let expected = [(1, b"a".to_vec()), (2, b"b".to_vec()), (3, b"b".to_vec()), (4, b"a".to_vec())];
            assert_eq!(seen, if wants.contexts { &expected[..] } else { &[] });
        }
    }

    #[cfg(all(feature = "tui", feature = "record", target_os = "linux"))]
    #[test]
    fn a_profile_grows_by_parts_and_has_its_samples_in_order() {
        let part = |file: &str, names: [&str; 2], time: u64| {
            let mut builder = ProfileBuilder::new(Wants::ALL);
            let context = Context { time: Some(time), ..Context::UNKNOWN };
            builder.add_at(names, Weight::new(10), &context).unwrap();
            let mut facts = Facts { samples: Some(1), ..Facts::default() };
            facts.comments.push(file.to_owned());
            builder.facts = facts;
            builder.finish().unwrap()
        };
        let mut whole = part("first", ["main", "b"], 4);
        for (name, time) in [("a", 3), ("b", 1), ("c", 2)] {
            whole.grow(&part("later", ["main", name], time)).unwrap();
        }
        let mut folded = Vec::new();
        whole.stacks().write(&mut folded).unwrap();
        assert_eq!(String::from_utf8(folded).unwrap(), "main;a 10\nmain;b 20\nmain;c 10\n");
        assert_eq!(whole.facts().samples, Some(4));
        whole.sort_samples();
        let seen = whole.samples().iter().map(|sample| {
            let leaf = *whole.stack(sample.stack).last().unwrap();
            (sample.time.unwrap(), whole.stacks().name(leaf).to_vec())
        });
        let seen: Vec<_> = seen.collect();
        assert_eq!(seen, [(1, b"b".to_vec()), (2, b"c".to_vec()), (3, b"a".to_vec()), (4, b"b".to_vec())]);
    }
}
