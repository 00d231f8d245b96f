//! The other values of a recording: a page shows one at a time, and has a menu of them, as pprof has of its
//! sample types. Where each of several files is asked for, these are the values beside all of them together.
//!
//! They stay beside the profile of the value that is shown: most outputs know nothing of them.

use super::{Profile, Samples};
use crate::error::Result;
use crate::folded::{StackTable, Weights};

/// The values of a recording besides the one that a profile shows.
pub(crate) struct OtherValues {
    /// The name of the value that is shown.
    pub(crate) shown: String,
    /// The names of the others, and a profile of each.
    pub(crate) others: Vec<(String, Profile)>,
    /// They are of one recording, with one clock.
    pub(crate) share_clock: bool,
}

impl Profile {
    /// Keeps the other values of the recording.
    pub(crate) fn set_other_values(&mut self, values: Option<Box<OtherValues>>) {
        self.other_values = values;
    }

    /// Returns true if the values of [`Profile::values`] have one clock.
    #[cfg_attr(not(feature = "render"), allow(dead_code))]
    pub(crate) fn values_share_clock(&self) -> bool {
        self.other_values.as_ref().is_none_or(|values| values.share_clock)
    }

    /// The profiles of the recording's other values, each with stacks of its own.
    #[cfg_attr(not(feature = "parquet"), allow(dead_code))]
    pub(crate) fn other_values(&self) -> impl Iterator<Item = &Profile> {
        let others = self.other_values.iter().filter(|values| values.share_clock);
        others.flat_map(|values| &values.others).map(|(_, other)| other)
    }

    /// Every value of the recording, the one that is shown first: its name, and a profile of the same stacks
    /// in each. Empty where only one is known, and where a stack weighs less than nothing.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Overflow`].
    #[cfg_attr(not(feature = "render"), allow(dead_code))]
    pub(crate) fn values(&self) -> Result<Vec<(String, Profile)>> {
        let Some(values) = &self.other_values else { return Ok(Vec::new()) };
        let shown = std::iter::once((&values.shown, self));
        let all: Vec<(&String, &Profile)> =
            shown.chain(values.others.iter().map(|(name, other)| (name, other))).collect();
        let is_negative = |weights: Weights| weights.value.is_negative() || weights.before.is_negative();
        if all.iter().any(|(_, one)| one.stacks.stacks().any(|(_, weights)| is_negative(weights))) {
            return Ok(Vec::new());
        }
        let mut every = StackTable::default();
        let mut numbers = Vec::with_capacity(all.len());
        for (_, one) in &all {
            let frames = every.take_frames(&one.stacks);
            let mut stack = Vec::new();
            let mut places = Vec::with_capacity(one.stacks.len());
            for (frame_ids, _) in one.stacks.stacks() {
                stack.clear();
                stack.extend(frame_ids.iter().map(|&id| frames.get(id)));
                places.push(every.add_indexed(&stack, Weights::default())? as u32);
            }
            numbers.push(places);
        }
        let mut profiles = Vec::with_capacity(all.len());
        for ((name, one), numbers) in all.into_iter().zip(&numbers) {
            let mut stacks = StackTable::default();
            // Stacks have the numbers here that they have there.
            stacks.merge(&every)?;
            let frames = stacks.take_frames(&one.stacks);
            let mut stack = Vec::new();
            for (ids, weights) in one.stacks.stacks() {
                stack.clear();
                stack.extend(ids.iter().map(|&id| frames.get(id)));
                stacks.add(&stack, weights)?;
            }
            let mut samples = Samples::default();
            samples.join(&one.samples, numbers);
            profiles.push((name.clone(), Profile::new(one.facts.clone(), stacks, samples)?));
        }
        Ok(profiles)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_one_recording_have_one_clock() {
        assert!(Profile::from_bytes("main 1\n").unwrap().values_share_clock());
    }
}
