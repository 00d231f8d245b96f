//! The labels that a recording has: how many values, and how much they weigh.

use std::collections::{BTreeSet, HashMap, HashSet};

use super::Profile;
use super::label::{clean_key, write_value};
use super::times::TIME;
use crate::error::Result;
use crate::folded::{Interner, Weights};

/// The values of a label that are named, the heaviest first.
const NAMED: usize = 3;
/// The keys that are known of all formats that record them.
const COMMON: [&str; 4] = [TIME, "thread", "tid", "process"];

/// A label of a recording.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LabelCount {
    /// Its key.
    pub key: String,
    /// The number of different values.
    pub values: u64,
    /// The number of samples that have it.
    pub samples: u64,
    /// The weight of these samples.
    pub weights: Weights,
    /// The heaviest values and their weights, at most three; of the label of time, none.
    pub heaviest: Vec<(Vec<u8>, Weights)>,
}

impl Profile {
    /// The keys of the labels that samples have.
    pub(crate) fn label_keys(&self) -> BTreeSet<String> {
        let recorded: HashSet<&[u8]> =
            self.samples().label_sets().flat_map(|set| set.into_iter().map(|(key, _)| key)).collect();
        let cleaned = recorded.into_iter().map(clean_key);
        let mut keys: BTreeSet<String> = cleaned.filter(|key| !key.is_empty()).collect();
        let is_timed = self.samples().iter_entries().any(|entry| entry.time.is_some());
        let threads = || self.samples().threads();
        for (key, is_known) in COMMON.into_iter().zip([
            is_timed,
            threads().any(|(_, thread, name)| thread.is_some() || !name.is_empty()),
            threads().any(|(_, thread, _)| thread.is_some()),
            threads().any(|(process, ..)| process.is_some()),
        ]) {
            if is_known {
                keys.insert(key.to_owned());
            }
        }
        keys
    }

    /// The labels of the single samples: those that all formats have first, the others by name. The
    /// profile has to be read with [`ReadOptions::samples`](crate::ReadOptions::samples).
    ///
    /// # Errors
    /// [`crate::ErrorKind::Overflow`].
    ///
    /// ```
    /// use fg_tools::profile::{Context, ProfileBuilder, Wants};
    /// use fg_tools::Weight;
    ///
    /// let mut builder = ProfileBuilder::new(Wants::ALL);
    /// for endpoint in ["/api", "/cart", "/api"] {
    ///     let labels = [(&b"endpoint"[..], endpoint.as_bytes())];
    ///     builder.add_at(["main"], Weight::new(5), &Context::UNKNOWN.labelled(&labels))?;
    /// }
    /// let counts = builder.finish()?.label_counts()?;
    /// assert_eq!((counts[0].key.as_str(), counts[0].values, counts[0].samples), ("endpoint", 2, 3));
    /// # Ok::<(), fg_tools::Error>(())
    /// ```
    pub fn label_counts(&self) -> Result<Vec<LabelCount>> {
        let keys = self.label_keys();
        let known = COMMON.into_iter().filter(|key| keys.contains(*key));
        let others = keys.iter().map(String::as_str).filter(|key| !COMMON.contains(key));
        known.chain(others).map(|key| self.count_label(key)).collect()
    }

    fn count_label(&self, key: &str) -> Result<LabelCount> {
        let mut count = LabelCount { key: key.to_owned(), ..LabelCount::default() };
        let mut last = None;
        let (mut values, mut sums) = (Interner::default(), Vec::<Weights>::new());
        // Of samples with one thread and the same labels the value is looked for once.
        let mut known: HashMap<(u32, u32), Option<u32>> = HashMap::new();
        let mut value = Vec::new();
        for (entry, sample) in self.samples().iter_entries().zip(self.samples().iter()) {
            let is_there = if key == TIME {
                // They come in the order of time.
                count.values += u64::from(entry.time.is_some() && entry.time != last);
                last = entry.time;
                entry.time.is_some()
            } else {
                let number = *known.entry((entry.thread, entry.labels)).or_insert_with(|| {
                    value.clear();
                    write_value(&sample, key, &mut value);
                    (!value.is_empty()).then(|| values.key(&value))
                });
                if let Some(number) = number {
                    let number = number as usize;
                    sums.resize(sums.len().max(number + 1), Weights::default());
                    sums[number] = sums[number].checked_add(entry.weights)?;
                }
                number.is_some()
            };
            if is_there {
                count.samples += 1;
                count.weights = count.weights.checked_add(entry.weights)?;
            }
        }
        if key != TIME {
            count.values = sums.len() as u64;
            let mut order: Vec<usize> = (0..sums.len()).collect();
            order.sort_by(|&a, &b| {
                let heavier = sums[b].value.cmp(&sums[a].value);
                heavier.then_with(|| values.name(a as u32).cmp(values.name(b as u32)))
            });
            let named = order.into_iter().take(NAMED);
            count.heaviest = named.map(|at| (values.name(at as u32).to_vec(), sums[at])).collect();
        }
        Ok(count)
    }

    /// The first and the last time of a sample, in nanoseconds since the 0 of the labels of time.
    pub fn time_span(&self) -> Option<(u64, u64)> {
        let zero = self.time_zero()?;
        let times = || self.samples().iter_entries().filter_map(|e| Some((e.time?, e.duration)));
        let first = times().map(|(time, _)| time).min()?;
        let last = times().map(|(time, duration)| time + duration).max()?;
        Some((first - zero, last - zero))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Weight;
    use crate::profile::{Context, ProfileBuilder, Wants};

    #[test]
    fn times_are_counted_once_and_unknown_ones_not_at_all() {
        let mut builder = ProfileBuilder::new(Wants::ALL);
        for time in [Some(5), None, Some(7), Some(5), Some(9), None] {
            builder.add_at(["main"], Weight::new(2), &Context { time, ..Context::UNKNOWN }).unwrap();
        }
        let count = builder.finish().unwrap().count_label(TIME).unwrap();
        assert_eq!((count.values, count.samples, count.weights.value), (3, 4, Weight::new(8)));
        assert!(count.heaviest.is_empty());
    }
}
