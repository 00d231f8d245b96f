//! A profile with other stacks, whose facts, samples and places stay as far as they hold.

use super::{Facts, Profile, Samples};
use crate::error::Result;
use crate::folded::{Columns, Place, StackTable, Weights};
use crate::weight::Weight;

impl Profile {
    /// The profile with other stacks: `numbers` has the new number of each old one, `facts` are
    /// those that still hold, and weights were multiplied by `factor`.
    pub(crate) fn restacked(
        &self,
        mut facts: Facts,
        stacks: StackTable,
        numbers: &[Option<u32>],
        factor: Weight,
    ) -> Result<Profile> {
        let mut samples = Samples::default();
        if !self.samples.is_empty() {
            samples = self.samples.copy(self.stacks.len());
            samples.restack(|stack| numbers[stack].map(|new| new as usize));
            if factor != Weight::ONE {
                samples.reweigh(|weights| {
                    let before = weights.before.checked_mul(factor)?;
                    Ok(Weights { value: weights.value.checked_mul(factor)?, before })
                })?;
            }
        }
        if self.facts.samples.is_some() && facts.samples.is_none() {
            facts.samples = self.count_again(&facts, &stacks, &samples)?;
        }
        // Formats of exchange keep their own units.
        let factor = if facts.unit == self.facts.unit { factor } else { Weight::ONE };
        let exchanged = self.exchanged.as_ref().map(|whole| whole.restacked(numbers, factor)).transpose()?;
        Ok(Profile { exchanged, ..Profile::new(facts, stacks, samples)? })
    }

    /// The number of samples in other stacks of this profile, where it can be told.
    fn count_again(&self, facts: &Facts, stacks: &StackTable, samples: &Samples) -> Result<Option<u64>> {
        if self.columns() == Columns::Two {
            return Ok(None);
        }
        if !self.samples.is_empty() && self.facts.samples == Some(self.samples.len() as u64) {
            return Ok(Some(samples.len() as u64));
        }
        let before = self.facts.samples_in(self.total()?.value);
        if before.is_none() || before != self.facts.samples {
            return Ok(None);
        }
        Ok(facts.samples_in(stacks.total()?.value))
    }

    /// The profile with nothing in its places but the kind of code, which folded text can select
    /// by. Stacks that differ in modules and lines only become one.
    pub(crate) fn with_kinds_only(&self) -> Result<Profile> {
        let mut stacks = StackTable::default();
        let mut ids = Vec::new();
        for (stack, weights) in self.stacks.stacks() {
            ids.clear();
            for &frame in stack {
                let Place { kind, inlined, .. } = self.stacks.place(frame);
                let place = Place { kind, inlined, ..Place::default() };
                ids.push(stacks.frame_at(self.stacks.name(frame), &place));
            }
            stacks.add(&ids, weights)?;
        }
        if self.columns() == Columns::Two {
            stacks.make_differential();
        }
        self.with_stacks(self.facts.clone(), stacks)
    }
}
