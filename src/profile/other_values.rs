//! The other values of a recording: a page shows one at a time, and has a menu of them, as pprof has of its
//! sample types.
//!
//! Each value is read as a profile of its own, by its name, so that any format that knows several has
//! them here. They stay beside the profile of the value that is shown: most outputs know nothing of them.

use super::open::{ExchangeParts, ReadOptions, read};
use super::{Profile, Samples};
use crate::collapse::{Report, ValueSelection};
use crate::error::Result;
use crate::folded::{StackTable, Weights};
use crate::input::Source;

/// The most other values that are kept: each is one more reading of the recording.
const MOST: usize = 7;
/// The bytes of a pipe that are kept to be read once more.
const MOST_BYTES: usize = 64 << 20;

/// The values of a recording besides the one that a profile shows.
pub(super) struct OtherValues {
    /// The name of the value that is shown.
    shown: String,
    /// The names of the others, and a profile of each.
    others: Vec<(String, Profile)>,
}

/// The sources, such that they can be read again: the bytes of a pipe are kept, unless they are many.
pub(super) fn rereadable(sources: &[Source]) -> Result<Vec<Source>> {
    sources.iter().map(|source| source.kept(MOST_BYTES)).collect()
}

/// Reads the other values of a recording. `None` if there are none, or if the sources can be read once only.
pub(super) fn read_others(
    sources: &[Source],
    options: &ReadOptions,
    report: &Report,
) -> Option<Box<OtherValues>> {
    if !sources.iter().all(Source::is_rereadable) {
        return None;
    }
    let held = || report.values.iter().filter(|(value, total)| total.samples > 0 && !value.name.is_empty());
    let (shown, _) = held().find(|(_, total)| total.kept)?;
    let mut names: Vec<(&[u8], u64)> = held()
        .filter(|(value, total)| !total.kept && value.name != shown.name)
        .map(|(value, total)| (&value.name[..], total.samples))
        .collect();
    names.dedup_by_key(|(name, _)| *name);
    names.sort_by_key(|(_, samples)| std::cmp::Reverse(*samples));
    names.truncate(MOST);
    names.sort_unstable();
    let text = |name: &[u8]| super::facts::one_line(name);
    let mut others = Vec::with_capacity(names.len());
    for (name, _) in names {
        let mut collapse = options.collapse.clone();
        collapse.values = ValueSelection::Named(vec![name.to_vec()]);
        let exchange = ExchangeParts::Nothing;
        let options = ReadOptions { collapse, exchange, ..options.clone() };
        // What one of several files does not have is no value of all of them.
        if let Ok((profile, _)) = read(sources, &options)
            && !profile.is_empty()
        {
            others.push((text(name), profile));
        }
    }
    (!others.is_empty()).then(|| Box::new(OtherValues { shown: text(&shown.name), others }))
}

impl Profile {
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
