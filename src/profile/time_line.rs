//! The samples of a profile by thread, in the order of time: the view that outputs with a time axis
//! take of a [`Profile`].

use std::collections::HashMap;

use super::Profile;
use crate::error::Result;
use crate::facts::units::{in_smallest, is_time};
use crate::folded::{Columns, Frame, Known, Rewrite, StackTable, Visitor, Weights, walk_table};
use crate::weight::Weight;

/// A time line: every sample of a profile, by thread.
pub(crate) struct TimeLine<'a> {
    profile: Source<'a>,
    /// The threads, the heaviest first.
    pub threads: Vec<ThreadLine>,
    /// The time that is 0, in nanoseconds on the recording's clock: no sample is before it.
    pub start: u64,
    /// The end of the last sample.
    pub end: u64,
}

/// The profile of a time line: one that is there, or one with changed stacks.
enum Source<'a> {
    Given(&'a Profile),
    Made(Box<Profile>),
}

impl std::ops::Deref for Source<'_> {
    type Target = Profile;

    fn deref(&self) -> &Profile {
        match self {
            Source::Given(profile) => profile,
            Source::Made(profile) => profile,
        }
    }
}

/// The samples of a thread.
pub(crate) struct ThreadLine {
    /// The number of the process, where it is known.
    pub process: Option<u64>,
    /// The number of the thread, where it is known.
    pub thread: Option<u64>,
    /// The name of the thread.
    pub name: Vec<u8>,
    /// A name that no other thread has.
    pub label: Vec<u8>,
    /// The weight of all its samples.
    pub total: Weight,
    /// The places of its samples among all, in the order of time.
    samples: Vec<u32>,
}

/// A sample on the time line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TimedSample {
    /// Nanoseconds on the recording's clock.
    pub time: u64,
    /// The nanoseconds over which its weight is spread; 0 of one that was taken at a moment.
    pub duration: u64,
    /// The number of its stack in the profile.
    pub stack: usize,
    pub weight: Weight,
}

/// The stretch of time that a sample stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Span {
    /// Nanoseconds on the recording's clock.
    pub start: u64,
    pub end: u64,
    /// The number of its stack in the profile.
    pub stack: usize,
    pub weight: Weight,
}

impl<'a> TimeLine<'a> {
    /// The time line of a profile after a change to its stacks. `None` without samples, or if a
    /// sample has no time, or two weights.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Overflow`].
    pub fn new(profile: &'a Profile, rewrite: Option<&Rewrite>) -> Result<Option<TimeLine<'a>>> {
        let samples = &profile.samples;
        let has_times = !samples.is_empty() && samples.iter_entries().all(|entry| entry.time.is_some());
        if !has_times || profile.columns() == Columns::Two {
            return Ok(None);
        }
        let profile = match rewrite {
            None => Source::Given(profile),
            Some(rewrite) => Source::Made(Box::new(profile.rewritten(rewrite)?)),
        };
        let names: Vec<_> = profile.samples.threads().collect();
        let mut of_thread: Vec<Option<usize>> = vec![None; names.len()];
        let mut threads: Vec<ThreadLine> = Vec::new();
        let start = profile.time_zero().unwrap_or(0);
        let mut end = start;
        for (at, row) in (0u32..).zip(profile.samples.iter_entries()) {
            let slot = of_thread[row.thread as usize].get_or_insert_with(|| {
                let (process, thread, name) = names[row.thread as usize];
                let (name, label) = (name.to_vec(), Vec::new());
                threads.push(ThreadLine {
                    process,
                    thread,
                    name,
                    label,
                    total: Weight::ZERO,
                    samples: Vec::new(),
                });
                threads.len() - 1
            });
            let thread = &mut threads[*slot];
            thread.total = thread.total.checked_add(row.weights.value)?;
            thread.samples.push(at);
            end = end.max(row.time.unwrap_or(0).saturating_add(row.duration));
        }
        drop(names);
        threads.sort_by(|a, b| {
            let key = |line: &ThreadLine| (line.process, line.thread);
            b.total.cmp(&a.total).then_with(|| key(a).cmp(&key(b))).then_with(|| a.name.cmp(&b.name))
        });
        set_labels(&mut threads);
        Ok((!threads.is_empty()).then_some(TimeLine { profile, threads, start, end }))
    }

    /// The profile whose stacks the samples have.
    pub fn profile(&self) -> &Profile {
        &self.profile
    }

    /// The number of samples.
    pub fn len(&self) -> usize {
        self.profile.samples.len()
    }

    /// The samples of a thread, in the order of time.
    pub fn samples<'t>(&'t self, thread: &'t ThreadLine) -> impl Iterator<Item = TimedSample> + Clone + 't {
        thread.samples.iter().map(|&at| {
            let entry = self.profile.samples.entry(at as usize);
            let (time, stack) = (entry.time.unwrap_or(0), entry.stack as usize);
            TimedSample { time, duration: entry.duration, stack, weight: entry.weights.value }
        })
    }

    /// The stretches of time that the samples of a thread stand for, one after the other. A wait
    /// or a call lasts as long as the recording says. Where weights are time, any other sample is as long as its weight and begins when the one before has ended at the
    /// earliest; else each lasts until the next one, at most as long as most samples are apart.
    pub fn spans<'t>(&'t self, thread: &'t ThreadLine) -> impl Iterator<Item = Span> + 't {
        let unit = self.profile.facts.unit.as_deref().filter(|unit| is_time(unit)).and_then(in_smallest);
        let unit = unit.map(|(_, size)| size.to_f64());
        let usual = if unit.is_none() { self.usual_distance(thread) } else { 0 };
        let next = self.samples(thread).skip(1).map(|sample| Some(sample.time)).chain([None]);
        let mut free = 0u64;
        self.samples(thread).zip(next).map(move |(sample, next)| {
            let start = sample.time.max(free);
            let end = match unit {
                _ if sample.duration > 0 => sample.time.saturating_add(sample.duration).max(start),
                Some(unit) => start.saturating_add((sample.weight.to_f64() * unit).round().max(0.0) as u64),
                None => next
                    .map_or(u64::MAX, |next| next.max(start))
                    .min(start.saturating_add(usual))
                    .max(start.saturating_add(1)),
            };
            free = end;
            Span { start, end, stack: sample.stack, weight: sample.weight }
        })
    }

    /// The median time between two samples of a thread; a millisecond if there is only one.
    fn usual_distance(&self, thread: &ThreadLine) -> u64 {
        let times: Vec<u64> = self.samples(thread).map(|sample| sample.time).collect();
        let mut distances: Vec<u64> = times.windows(2).map(|pair| pair[1] - pair[0]).collect();
        if distances.is_empty() {
            return 1_000_000;
        }
        let middle = distances.len() / 2;
        *distances.select_nth_unstable(middle).1
    }

    /// For each stack of the profile, the number of its last frame in the order in which a walk in frame
    /// order exits them; `None` where the walk leaves the stack out.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Overflow`].
    pub fn exit_numbers(&self) -> Result<Vec<Option<u32>>> {
        let Profile { stacks, facts, places, .. } = &*self.profile;
        let mut exits = Exits::default();
        walk_table(stacks, &Known { columns: stacks.columns(), facts, places }, &mut exits)?;
        let ranks = stacks.ranks();
        let mut sums = vec![Weight::ZERO; ranks.iter().max().map_or(0, |&most| most as usize + 1)];
        for ((_, weights), &rank) in stacks.stacks().zip(&ranks) {
            sums[rank as usize] = sums[rank as usize].checked_add(weights.value)?;
        }
        let mut told = exits.numbers.into_iter();
        let by_rank: Vec<Option<u32>> =
            sums.iter().map(|sum| if sum.is_negative() { None } else { told.next() }).collect();
        Ok(ranks.into_iter().map(|rank| by_rank[rank as usize]).collect())
    }
}

/// Gives each thread a label that no other one has: its name, and its number where others have the name.
fn set_labels(threads: &mut [ThreadLine]) {
    let mut counts: HashMap<Vec<u8>, usize> = HashMap::new();
    for thread in threads.iter() {
        *counts.entry(thread.name.clone()).or_default() += 1;
    }
    for thread in threads.iter_mut() {
        let number = thread.thread.or(thread.process);
        let is_alone = counts[&thread.name] == 1;
        thread.label = match (&thread.name[..], number) {
            (b"", None) => b"all".to_vec(),
            (b"", Some(number)) => format!("thread {number}").into_bytes(),
            (name, Some(number)) if !is_alone => [name, format!(" {number}").as_bytes()].concat(),
            (name, _) => name.to_vec(),
        };
    }
    // Threads of several machines may have the same number.
    let mut taken: HashMap<Vec<u8>, usize> = HashMap::new();
    for thread in threads {
        let times = taken.entry(thread.label.clone()).or_default();
        *times += 1;
        if *times > 1 {
            thread.label.extend(format!(" ({times})").into_bytes());
        }
    }
}

/// Numbers frames as they are left, and notes the numbers of those in which stacks end.
#[derive(Default)]
struct Exits {
    /// For each open frame, the place in `numbers` of the stack that ends in it.
    open: Vec<Option<usize>>,
    numbers: Vec<u32>,
    count: u32,
}

impl Visitor for Exits {
    fn follows_stacks(&self) -> bool {
        true
    }

    fn enter(&mut self, _: &[u8], _: usize) -> Result<()> {
        self.open.push(None);
        Ok(())
    }

    fn stack(&mut self, _: &[u8], _: Weights) -> Result<()> {
        if let Some(last) = self.open.last_mut() {
            *last = Some(self.numbers.len());
            self.numbers.push(0);
        }
        Ok(())
    }

    fn exit(&mut self, _: Frame<'_>, _: Weights) -> Result<()> {
        if let Some(stack) = self.open.pop().flatten() {
            self.numbers[stack] = self.count;
        }
        self.count += 1;
        Ok(())
    }

    fn restart(&mut self) -> Result<()> {
        *self = Exits::default();
        Ok(())
    }
}

impl Profile {
    /// The profile with changed stacks, and the samples that still have one.
    fn rewritten(&self, rewrite: &Rewrite) -> Result<Profile> {
        let mut stacks = StackTable::default();
        let mut numbers = Vec::with_capacity(self.stacks.len());
        let (mut text, mut new, mut ids) = (Vec::new(), Vec::new(), Vec::new());
        for (stack, weights) in self.stacks.stacks() {
            text.clear();
            for (depth, &frame) in stack.iter().enumerate() {
                if depth > 0 {
                    text.push(b';');
                }
                text.extend_from_slice(self.stacks.name(frame));
            }
            new.clear();
            if !rewrite(&text, &mut new) {
                numbers.push(None);
                continue;
            }
            ids.clear();
            stacks.split(&new, &mut ids);
            numbers.push(Some(stacks.add_indexed(&ids, weights)? as u32));
        }
        let mut facts = self.facts.clone();
        // They are counted again.
        facts.samples = None;
        let profile = self.restacked(facts, stacks, &numbers, Weight::ONE)?;
        Ok(Profile { places: self.places.clone(), ..profile })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::{Context, ProfileBuilder, Sink, Wants};

    /// The spans of samples of one thread: time, duration, weight.
    fn spans(unit: &str, samples: &[(u64, u64, i128)]) -> Vec<(u64, u64)> {
        let mut builder = ProfileBuilder::new(Wants::ALL);
        builder.facts.unit = Some(unit.into());
        let main = builder.frame(b"main");
        for &(time, duration, weight) in samples {
            let context = Context { time: Some(time), ..Context::UNKNOWN };
            builder.lasting_sample(&[main], Weights::one(Weight::new(weight)), &context, duration).unwrap();
        }
        let profile = builder.finish().unwrap();
        let line = TimeLine::new(&profile, None).unwrap().unwrap();
        line.spans(&line.threads[0]).map(|span| (span.start, span.end)).collect()
    }

    #[test]
    fn samples_last_until_the_next_one_but_no_longer_than_most() {
        let at = |times: &[u64]| times.iter().map(|&time| (time, 0, 5)).collect::<Vec<_>>();
        // The distances are 10, 20, 40, 80 and 1000.
        assert_eq!(
            spans("cycles", &at(&[100, 110, 130, 170, 250, 1250])),
            [(100, 110), (110, 130), (130, 170), (170, 210), (250, 290), (1250, 1290)]
        );
        assert_eq!(spans("cycles", &at(&[7])), [(7, 1_000_007)]);
        assert_eq!(spans("cycles", &at(&[7, 7, 7])), [(7, 8), (8, 9), (9, 10)]);
    }

    #[test]
    fn samples_of_time_are_as_long_as_their_weight_and_follow_one_another() {
        assert_eq!(
            spans("us", &[(0, 0, 2), (1000, 0, 1), (5000, 0, 1)]),
            [(0, 2000), (2000, 3000), (5000, 6000)]
        );
        // A wait lasts as long as the recording says, whatever it weighs.
        assert_eq!(spans("ns", &[(0, 0, 15), (10, 30, 1), (50, 0, 4)]), [(0, 15), (15, 40), (50, 54)]);
        assert_eq!(spans("cycles", &[(0, 25, 1), (10, 0, 1), (20, 0, 1)]), [(0, 25), (25, 26), (26, 36)]);
    }

    #[test]
    fn a_change_to_stacks_changes_or_leaves_out_their_samples() {
        let mut builder = ProfileBuilder::new(Wants::ALL);
        builder.facts.samples = Some(3);
        for (time, stack) in [(1, ["main", "work"]), (2, ["main", "idle"]), (3, ["main", "work"])] {
            let context = Context { time: Some(time), ..Context::UNKNOWN };
            builder.add_at(stack, Weight::new(4), &context).unwrap();
        }
        let profile = builder.finish().unwrap();
        let busy_leaf_first = |stack: &[u8], out: &mut Vec<u8>| {
            out.extend_from_slice(b"work;main");
            stack == b"main;work"
        };
        let line = TimeLine::new(&profile, Some(&busy_leaf_first)).unwrap().unwrap();
        let seen: Vec<_> = line
            .samples(&line.threads[0])
            .map(|sample| {
                let names =
                    line.profile().stack(sample.stack).iter().map(|&id| line.profile().stacks().name(id));
                (sample.time, names.collect::<Vec<_>>().join(&b';'))
            })
            .collect();
        assert_eq!(seen, [(1, b"work;main".to_vec()), (3, b"work;main".to_vec())]);
        assert_eq!((line.threads[0].total, line.profile().facts().samples), (Weight::new(8), Some(2)));
    }

    #[test]
    fn no_two_threads_have_the_same_label() {
        let line = |process, thread, name: &str| ThreadLine {
            process,
            thread,
            name: name.into(),
            label: Vec::new(),
            total: Weight::ONE,
            samples: Vec::new(),
        };
        let mut threads = [
            line(Some(1), Some(1), "main"),
            line(Some(1), Some(7), "worker"),
            line(Some(1), Some(8), "worker"),
            line(Some(9), None, "worker"),
            line(None, None, "worker"),
            line(Some(2), Some(7), "worker"),
            line(None, Some(5), ""),
            line(None, None, ""),
        ];
        set_labels(&mut threads);
        let labels: Vec<_> = threads.iter().map(|thread| String::from_utf8_lossy(&thread.label)).collect();
        assert_eq!(
            labels,
            ["main", "worker 7", "worker 8", "worker 9", "worker", "worker 7 (2)", "thread 5", "all"]
        );
    }
}
