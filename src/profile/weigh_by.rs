//! A label with numbers as the weight: `bytes_req` of an event of the kernel, `bytes` of pprof.

use std::collections::HashMap;

use super::label::{Label, write_value};
use super::samples::Entry;
use super::{Facts, Profile};
use crate::error::{Error, Result, excerpt};
use crate::folded::{StackTable, Weights};
use crate::weight::Weight;

impl Profile {
    /// The profile with the numbers of a label as weights. Comes with the number of samples that were
    /// left out because they have no such number.
    ///
    /// The profile has to be read with [`ReadOptions::samples`](crate::ReadOptions::samples).
    ///
    /// # Errors
    /// [`crate::ErrorKind::Setting`] if no sample has a number under this key; [`crate::ErrorKind::Overflow`].
    pub fn weighed_by(&self, key: &str) -> Result<(Profile, u64)> {
        let label = Label::new(key)?;
        let mut stacks = StackTable::default();
        let frames = stacks.take_frames(&self.stacks);
        let mut samples = self.samples.without_entries();
        let (mut left_out, mut other) = (0u64, None);
        let mut known: HashMap<(u32, u32), Option<Weight>> = HashMap::new();
        let (mut value, mut stack) = (Vec::new(), Vec::new());
        for (entry, sample) in self.samples.iter_entries().zip(self.samples.iter()) {
            let weight = *known.entry((entry.thread, entry.labels)).or_insert_with(|| {
                value.clear();
                write_value(&sample, label.key(), &mut value);
                let weight = read_number(&value);
                if weight.is_none() && !value.is_empty() {
                    other.get_or_insert_with(|| excerpt(&value));
                }
                weight
            });
            let Some(weight) = weight else {
                left_out += 1;
                continue;
            };
            let weights = Weights::one(weight);
            stack.clear();
            stack.extend(self.stack(sample.stack).iter().map(|&frame| frames.get(frame)));
            let index = stacks.add_indexed(&stack, weights)?;
            samples.push_entry(Entry { stack: index as u32, weights, ..entry });
        }
        if samples.is_empty() {
            let what = match other {
                Some(value) => format!("the label {key:?} is no number: {value}"),
                None => {
                    let keys: Vec<String> = self.label_keys().into_iter().collect();
                    let known = if keys.is_empty() { "none".into() } else { crate::error::some_of(&keys) };
                    format!("no sample has a number as {key:?}; its labels: {known}")
                }
            };
            return Err(Error::setting(what));
        }
        let unit = if key.contains("bytes") { "bytes" } else { label.key() };
        let facts = Facts {
            unit: Some(unit.to_owned()),
            period: None,
            samples: Some(samples.len() as u64),
            ..self.facts.clone()
        };
        Ok((Profile::new(facts, stacks, samples)?, left_out))
    }

    /// [`Profile::weighed_by`], with a message for the user if samples were left out.
    pub(crate) fn weighed_by_with_note(&self, key: &str) -> Result<(Profile, Option<String>)> {
        let (weighed, left_out) = self.weighed_by(key)?;
        let note = (left_out > 0).then(|| format!("left out {left_out} samples without a number as {key}"));
        Ok((weighed, note))
    }
}

/// A number as labels have them: decimal, or hexadecimal as the kernel prints some.
fn read_number(text: &[u8]) -> Option<Weight> {
    let hex = text.strip_prefix(b"0x").and_then(|hex| std::str::from_utf8(hex).ok());
    match hex {
        Some(hex) => u64::from_str_radix(hex, 16).ok().map(Weight::from),
        // A unit may follow, as pprof's labels have it: `4096 bytes`.
        None => Weight::parse(text.split(|&b| b == b' ').next()?),
    }
}
