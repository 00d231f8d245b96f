//! Profiles whose stacks begin with labels, made from single samples.

use std::collections::HashMap;
use std::time::Duration;

use super::label::{Label, label_frames, value_in, write_value};
use super::samples::{Entry, SampleRef};
use super::times::{TIME, TimeRange, TimeText};
use super::{Facts, Profile};
use crate::error::{Error, Result};
use crate::folded::{Columns, FrameId, StackTable, Weights};
use crate::weight::Weight;

/// The most parts that waits and calls are divided into, all together: they take some gigabytes.
const MOST_PARTS: u128 = 1 << 26;
/// The most labels of a profile: as many as a header declares.
const MOST_LABELS: usize = crate::facts::MOST;

/// The boundaries between buckets of time.
enum Buckets {
    /// Every bucket is this long.
    Even(u64),
    /// Buckets begin at 0 and at each of these, in ascending order.
    At(Vec<u64>),
}

impl Buckets {
    /// The beginning of the bucket that a time is in.
    fn begin(&self, time: u64) -> u64 {
        match self {
            Buckets::Even(step) => time - time % step,
            Buckets::At(times) => match times.partition_point(|begin| *begin <= time) {
                0 => 0,
                after => times[after - 1],
            },
        }
    }

    /// The beginning of the bucket after the one that a time is in.
    fn end(&self, time: u64) -> u64 {
        match self {
            Buckets::Even(step) => self.begin(time).saturating_add(*step),
            Buckets::At(times) => {
                times.get(times.partition_point(|begin| *begin <= time)).copied().unwrap_or(u64::MAX)
            }
        }
    }

    /// The length of which all beginnings are multiples.
    fn step(&self) -> u64 {
        match self {
            Buckets::Even(step) => *step,
            Buckets::At(times) => {
                let is_in = |unit: u64| times.iter().all(|time| time % unit == 0);
                [1_000_000, 1_000].into_iter().find(|unit| is_in(*unit)).unwrap_or(1)
            }
        }
    }
}

/// The parts of a profile that stay when its stacks get labels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kept {
    /// The stacks, without the labels that they have.
    Stacks,
    /// These, and the single samples.
    Samples,
    /// The stacks with the labels that they have, behind the new ones, and the single samples.
    Labels,
}

impl Profile {
    /// The time on the recording's clock at which the labels of time have their 0, in nanoseconds:
    /// that of the first sample, unless the recording says another.
    pub fn time_zero(&self) -> Option<u64> {
        let stated = self.facts.time_zero.and_then(|zero| u64::try_from(zero.as_nanos()).ok());
        let first = self.samples.iter_entries().filter_map(|entry| entry.time).min();
        match (stated, first) {
            // A time before 0 cannot be written.
            (Some(stated), Some(first)) => Some(stated.min(first)),
            (stated, first) => stated.or(first),
        }
    }

    /// The profile with labels as the first frames of every stack, in this order. Weights of what
    /// lasted (waits, calls) are divided among the buckets of time that it spans; the parts add up to
    /// them exactly. A sample without a label has it without a value: `endpoint=`.
    ///
    /// The profile has to be read with [`ReadOptions::samples`](crate::ReadOptions::samples); the
    /// result has no single samples.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Setting`] for a label that no sample has; [`crate::ErrorKind::Overflow`].
    ///
    /// ```
    /// use fg_tools::profile::{Context, Label, ProfileBuilder, Wants};
    /// use fg_tools::Weight;
    ///
    /// let mut builder = ProfileBuilder::new(Wants::ALL);
    /// for time in [7_000_000, 25_000_000] {
    ///     builder.add_at(["main"], Weight::new(5), &Context::UNKNOWN.at(time))?;
    /// }
    /// let mut folded = Vec::new();
    /// builder.finish()?.labelled(&[Label::parse("time=10ms")?])?.stacks().write(&mut folded)?;
    /// assert_eq!(folded, b"time=000000.000s;main 5\ntime=000000.010s;main 5\n");
    /// # Ok::<(), fg_tools::Error>(())
    /// ```
    pub fn labelled(&self, labels: &[Label]) -> Result<Profile> {
        self.expect_labels(&keys_of(labels))?;
        self.labelled_keeping(labels, Kept::Stacks)
    }

    /// [`Profile::labelled`], with the single samples.
    pub(crate) fn labelled_with_samples(&self, labels: &[Label]) -> Result<Profile> {
        self.expect_labels(&keys_of(labels))?;
        self.labelled_keeping(labels, Kept::Samples)
    }

    /// [`Profile::labelled`], with labels that no sample has: they are there without a value.
    ///
    /// # Errors
    /// Those of [`Profile::labelled`] but for a label that is not known.
    pub(crate) fn labelled_where_known(&self, labels: &[Label]) -> Result<Profile> {
        self.labelled_keeping(labels, Kept::Stacks)
    }

    fn labelled_keeping(&self, labels: &[Label], kept: Kept) -> Result<Profile> {
        let step = labels.iter().find(|label| label.is_time()).map(Label::step);
        let keys = keys_of(labels);
        let mut profile = self.with_labels(&keys, &Buckets::Even(step.unwrap_or(1)), kept)?;
        profile.facts.time_step = step.map(Duration::from_nanos);
        profile.facts.labels = keys;
        Ok(profile)
    }

    /// The profile with the labels of time that its folded text had, in front of the labels that stacks have. The
    /// profile itself where the text had none.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Overflow`].
    #[cfg_attr(not(feature = "cli"), allow(dead_code))]
    pub(crate) fn with_time_again(self) -> Result<Profile> {
        let Some(step) = self.facts.time_step.and_then(|step| u64::try_from(step.as_nanos()).ok()) else {
            return Ok(self);
        };
        self.with_labels(&[TIME.to_owned()], &Buckets::Even(step.max(1)), Kept::Labels)
    }

    /// The profile with these labels in front of those that stacks have, and its single samples. Time is
    /// cut where one of the ranges begins or ends.
    ///
    /// # Errors
    /// Those of [`Profile::labelled`].
    pub(crate) fn labelled_for(&self, keys: &[String], ranges: &[TimeRange]) -> Result<Profile> {
        let mut cuts: Vec<u64> = ranges.iter().flat_map(|range| [range.begin, range.end]).collect();
        cuts.retain(|cut| *cut < u64::MAX);
        cuts.sort_unstable();
        cuts.dedup();
        self.expect_labels(keys)?;
        self.with_labels(keys, &Buckets::At(cuts), Kept::Labels)
    }

    /// [`Profile::labelled`], with buckets of any lengths, and labels that no sample may have.
    fn with_labels(&self, keys: &[String], buckets: &Buckets, kept: Kept) -> Result<Profile> {
        let zero = self.time_zero();
        let latest = self.samples.iter_entries().filter_map(|e| Some(e.time?.saturating_add(e.duration)));
        let latest = latest.max().unwrap_or(0).saturating_sub(zero.unwrap_or(0));
        let mut stacks = StackTable::default();
        let frames = stacks.take_frames(&self.stacks);
        let mut run = Labelling {
            keys,
            text: TimeText::new(latest, buckets.step()),
            buckets,
            prefixes: HashMap::new(),
            times: HashMap::new(),
            prefix: Vec::new(),
        };
        if keys.iter().any(|key| key == TIME) {
            self.expect_few_parts(buckets)?;
        }
        let mut samples = (kept != Kept::Stacks).then(|| self.samples.without_entries());
        let mut stack = Vec::new();
        for (entry, sample) in self.samples.iter_entries().zip(self.samples.iter()) {
            let old = self.stack(sample.stack);
            let labels = match kept {
                Kept::Labels => 0,
                Kept::Stacks | Kept::Samples => label_frames(&self.facts.labels, old, &self.stacks),
            };
            run.each_part(entry, &sample, zero, &mut stacks, &mut |stacks, prefix, part| {
                stack.clear();
                stack.extend_from_slice(prefix);
                stack.extend(old[labels..].iter().map(|&frame| frames.get(frame)));
                let index = stacks.add_indexed(&stack, part.weights)?;
                if let Some(samples) = &mut samples {
                    samples.push_entry(Entry { stack: index as u32, ..part });
                }
                Ok(())
            })?;
        }
        if self.columns() == Columns::Two {
            stacks.make_differential();
        }
        let facts = Facts {
            labels: match kept {
                Kept::Labels => [keys, &self.facts.labels].concat(),
                Kept::Stacks | Kept::Samples => keys.to_vec(),
            },
            time_zero: zero.map(Duration::from_nanos).filter(|_| keys.iter().any(|key| key == TIME)),
            ..self.facts.clone()
        };
        Profile::new(facts, stacks, samples.unwrap_or_default())
    }

    /// The profile with the values of a label instead of stacks, and its single samples.
    pub(crate) fn by_label(&self, key: &str) -> Result<Profile> {
        let label = Label::new(key)?;
        if label.is_time() {
            let what = "time is no kind of rows; compare ranges with --before-time and --after-time";
            return Err(Error::setting(what));
        }
        let keys = [label.key().to_owned()];
        self.expect_labels(&keys)?;
        let labelled = self.with_labels(&keys, &Buckets::Even(1), Kept::Labels)?;
        let mut stacks = StackTable::default();
        let mut samples = labelled.samples.without_entries();
        for entry in labelled.samples.iter_entries() {
            let name = labelled.stacks.name(labelled.stack(entry.stack as usize)[0]);
            let value = value_in(name, label.key()).unwrap_or_default();
            let frame = match value {
                b"" => stacks.frame(format!("[no {}]", label.key()).as_bytes()),
                value => stacks.frame(value),
            };
            let index = stacks.add_indexed(&[frame], entry.weights)?;
            samples.push_entry(Entry { stack: index as u32, ..entry });
        }
        let facts = Facts { labels: Vec::new(), ..self.facts.clone() };
        Profile::new(facts, stacks, samples)
    }

    /// Refuses buckets of which waits and calls have more than memory holds.
    fn expect_few_parts(&self, buckets: &Buckets) -> Result<()> {
        let parts = self.samples.iter_entries().map(|entry| match buckets {
            Buckets::Even(step) => u128::from(entry.duration / step),
            Buckets::At(_) => 0,
        });
        if parts.sum::<u128>() > MOST_PARTS {
            let what =
                format!("waits and calls have more than {MOST_PARTS} buckets of time: make them longer");
            return Err(Error::setting(what));
        }
        Ok(())
    }

    /// Refuses labels that no sample has.
    fn expect_labels(&self, keys: &[String]) -> Result<()> {
        let setting = |what: String| Err(Error::setting(what));
        if keys.len() > MOST_LABELS {
            return setting(format!("a profile has at most {MOST_LABELS} labels"));
        }
        if let Some((_, key)) = keys.iter().enumerate().find(|(at, key)| keys[..*at].contains(key)) {
            return setting(format!("the label {key:?} was asked for twice"));
        }
        let known = self.label_keys();
        let Some(missing) = keys.iter().find(|key| !known.contains(*key)) else { return Ok(()) };
        if missing == TIME {
            return setting("the recording does not say when its samples were taken".into());
        }
        let what = match known.is_empty() {
            true => format!("the recording has no label {missing:?}, nor any other"),
            false => {
                let known = crate::error::some_of(&known.into_iter().collect::<Vec<_>>());
                format!("the recording has no label {missing:?}; it has {known}")
            }
        };
        setting(what)
    }
}

fn keys_of(labels: &[Label]) -> Vec<String> {
    labels.iter().map(|label| label.key().to_owned()).collect()
}

/// Takes a part of a sample, with its label frames.
type EachPart<'a> = dyn FnMut(&mut StackTable, &[FrameId], Entry) -> Result<()> + 'a;

/// Labels at work.
struct Labelling<'a> {
    keys: &'a [String],
    buckets: &'a Buckets,
    text: TimeText,
    /// The frames of each thread and set of labels; the frame of time is filled in.
    prefixes: HashMap<(u32, u32), Vec<FrameId>>,
    times: HashMap<Option<u64>, FrameId>,
    prefix: Vec<FrameId>,
}

impl Labelling<'_> {
    /// Calls `each` with every part of a sample, and its label frames.
    fn each_part(
        &mut self,
        entry: Entry,
        sample: &SampleRef<'_>,
        zero: Option<u64>,
        table: &mut StackTable,
        each: &mut EachPart<'_>,
    ) -> Result<()> {
        let keys = self.keys;
        let prefix = self.prefixes.entry((entry.thread, entry.labels)).or_insert_with(|| {
            let mut name = Vec::new();
            let frame = |key: &String| {
                name.clear();
                name.extend_from_slice(key.as_bytes());
                name.push(b'=');
                if key != TIME {
                    write_value(sample, key, &mut name);
                }
                table.frame(&name)
            };
            keys.iter().map(frame).collect()
        });
        let Some(at) = keys.iter().position(|key| key == TIME) else {
            return each(table, prefix, entry);
        };
        self.prefix.clone_from(prefix);
        let (Some(time), Some(zero)) = (entry.time, zero) else {
            self.prefix[at] = self.time_frame(None, table);
            return each(table, &self.prefix, entry);
        };
        let whole = Spread { weights: entry.weights, duration: entry.duration };
        let (begin, mut passed) = (time - zero, 0);
        loop {
            let bucket_end = self.buckets.end(begin + passed);
            let until = (bucket_end - begin).min(entry.duration);
            let weights = whole.part(passed, until)?;
            if !weights.value.is_zero() || !weights.before.is_zero() || entry.duration == 0 {
                self.prefix[at] = self.time_frame(Some(self.buckets.begin(begin + passed)), table);
                let time = Some(time + passed);
                each(table, &self.prefix, Entry { time, duration: until - passed, weights, ..entry })?;
            }
            passed = until;
            if passed == entry.duration {
                return Ok(());
            }
        }
    }

    fn time_frame(&mut self, time: Option<u64>, table: &mut StackTable) -> FrameId {
        let text = self.text;
        *self.times.entry(time).or_insert_with(|| {
            let mut name = b"time=".to_vec();
            if let Some(time) = time {
                text.write(time, &mut name);
            }
            table.frame(&name)
        })
    }
}

/// Weights spread evenly over a duration.
struct Spread {
    weights: Weights,
    duration: u64,
}

impl Spread {
    /// The weights of the part from `begin` to `end`: what has come up to its end without what had
    /// come up to its beginning, so that the parts add up.
    fn part(&self, begin: u64, end: u64) -> Result<Weights> {
        if begin == 0 && end == self.duration {
            return Ok(self.weights);
        }
        let part = |weight: Weight| {
            weight_until(weight, end, self.duration).checked_sub(weight_until(weight, begin, self.duration))
        };
        Ok(Weights { value: part(self.weights.value)?, before: part(self.weights.before)? })
    }
}

/// The part of a weight up to a time, rounded up to the weight's own last decimal.
fn weight_until(weight: Weight, time: u64, duration: u64) -> Weight {
    let decimals = weight.decimals();
    let (Ok(units), whole) = (weight.in_steps(decimals), i128::from(duration)) else { return weight };
    // Times are below 2^63 ns, and so is their product below 2^126.
    let (each, rest) = (units.div_euclid(whole), units.rem_euclid(whole) * i128::from(time));
    let rest = rest / whole + i128::from(rest % whole != 0);
    Weight::from_steps(each * i128::from(time) + rest, decimals).expect("a weight has as many decimals")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn beginnings_are_told_in_the_largest_unit_that_holds_all() {
        let step = |times: &[u64]| Buckets::At(times.to_vec()).step();
        assert_eq!(step(&[3_000_000, 8_000_000]), 1_000_000);
        assert_eq!(step(&[3_000_000, 8_001_000]), 1_000);
        assert_eq!(step(&[1_000, 3_000]), 1_000);
        assert_eq!(step(&[3_000_000, 8_000_001]), 1);
        assert_eq!(Buckets::Even(20).step(), 20);
    }
}
