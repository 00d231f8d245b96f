//! The samples of a profile one by one: when, in which thread, with which labels, which stack.

use crate::error::Result;
use crate::folded::{Interner, Weights};

use super::measures::{Measure, Measures};
use super::sink::Context;

/// The samples of a profile, in the order of time once they are complete.
#[derive(Default)]
pub struct Samples {
    rows: Vec<Row>,
    threads: Interner,
    labels: Interner,
    measures: Measures,
}

/// The latest time that is kept: a later one, 292 years, is none.
const LATEST: u64 = i64::MAX as u64;

/// A sample as it is kept, in 24 bytes: a day has fifty million.
#[derive(Clone, Copy)]
struct Row {
    /// [`NO_TIME`] where it is not known.
    time: u64,
    thread: u32,
    labels: u32,
    stack: u32,
    measure: u32,
}

/// Later than [`LATEST`].
const NO_TIME: u64 = u64::MAX;

impl Row {
    fn time(&self) -> Option<u64> {
        Some(self.time).filter(|time| *time != NO_TIME)
    }
}

/// A sample; thread and labels are numbers.
#[derive(Clone, Copy)]
pub(super) struct Entry {
    pub(super) time: Option<u64>,
    pub(super) duration: u64,
    pub(super) thread: u32,
    pub(super) labels: u32,
    pub(super) stack: u32,
    pub(super) weights: Weights,
}

/// One sample.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SampleRef<'a> {
    /// Nanoseconds on the recording's own clock. The beginning, where the sample has a duration.
    pub time: Option<u64>,
    /// The nanoseconds over which its weight is spread evenly: those of a wait or a call. 0 of a
    /// sample that was taken at one moment.
    pub duration: u64,
    /// The number of the process.
    pub process: Option<u64>,
    /// The number of the thread.
    pub thread: Option<u64>,
    /// The name of the thread, or of the command that it runs.
    pub thread_name: &'a [u8],
    /// Other labels: key and value.
    pub labels: Vec<(&'a [u8], &'a [u8])>,
    /// The number of its stack: see [`Profile::stack`](super::Profile::stack).
    pub stack: usize,
    /// Its weight, or weights.
    pub weights: Weights,
}

impl Samples {
    /// The number of samples.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Returns true if there are no samples.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The bytes of memory that they take.
    pub(super) fn bytes(&self) -> usize {
        size_of_val(&self.rows[..]) + self.threads.bytes() + self.labels.bytes() + self.measures.bytes()
    }

    /// The samples, in the order of time.
    pub fn iter(&self) -> impl Iterator<Item = SampleRef<'_>> {
        self.iter_entries().map(|entry| {
            let (process, thread, thread_name) = decode_thread(self.threads.name(entry.thread));
            let labels = decode_labels(self.labels.name(entry.labels));
            let Entry { time, duration, stack, weights, .. } = entry;
            SampleRef { time, duration, process, thread, thread_name, labels, stack: stack as usize, weights }
        })
    }

    /// The samples' stacks and weights alone, in the order of time.
    pub(super) fn stacks(&self) -> impl Iterator<Item = (Option<u64>, usize, Weights)> {
        self.iter_entries().map(|entry| (entry.time, entry.stack as usize, entry.weights))
    }

    /// The samples, in the order of [`Samples::iter`].
    pub(super) fn iter_entries(&self) -> impl Iterator<Item = Entry> + Clone {
        self.rows.iter().map(|row| self.decode(row))
    }

    /// The sample at a place in this order.
    pub(super) fn entry(&self, at: usize) -> Entry {
        self.decode(&self.rows[at])
    }

    fn decode(&self, row: &Row) -> Entry {
        let Measure { duration, weights } = self.measures.get(row.measure);
        let Row { thread, labels, stack, .. } = *row;
        Entry { time: row.time(), duration, thread, labels, stack, weights }
    }

    /// No samples, with the numbers that threads and labels have here.
    pub(super) fn without_entries(&self) -> Samples {
        let mut empty = Samples::default();
        for key in self.threads.all() {
            empty.threads.key(key);
        }
        for key in self.labels.all() {
            empty.labels.key(key);
        }
        empty
    }

    pub(super) fn push_entry(&mut self, entry: Entry) {
        let Entry { time, duration, thread, labels, stack, weights } = entry;
        let measure = self.measures.measure_number(Measure { duration, weights });
        self.rows.push(Row { time: time.unwrap_or(NO_TIME), thread, labels, stack, measure });
    }

    /// Process, thread and the thread's name, of each thread.
    pub(super) fn threads(&self) -> impl Iterator<Item = (Option<u64>, Option<u64>, &[u8])> {
        self.threads.all().map(decode_thread)
    }

    /// The labels of each set of labels, by the number that entries have of it.
    pub(super) fn label_sets(&self) -> impl Iterator<Item = Vec<(&[u8], &[u8])>> {
        self.labels.all().map(decode_labels)
    }

    pub(super) fn push(&mut self, context: &Context<'_>, duration: u64, stack: usize, weights: Weights) {
        let mut key = Vec::new();
        for number in [context.process, context.thread] {
            key.push(u8::from(number.is_some()));
            key.extend(number.unwrap_or(0).to_le_bytes());
        }
        key.extend_from_slice(context.thread_name);
        let thread = self.threads.key(&key);
        key.clear();
        for text in context.labels.iter().flat_map(|(name, value)| [name, value]) {
            key.extend((text.len() as u32).to_le_bytes());
            key.extend_from_slice(text);
        }
        let labels = self.labels.key(&key);
        let stack = stack as u32;
        let time = context.time.filter(|time| *time <= LATEST);
        let duration = time.map_or(0, |time| duration.min(LATEST - time));
        self.push_entry(Entry { time, duration, thread, labels, stack, weights });
    }

    /// Takes the samples of another part, whose stacks have these numbers here.
    pub(super) fn join(&mut self, other: &Samples, stacks: &[u32]) {
        let threads: Vec<u32> = other.threads.all().map(|key| self.threads.key(key)).collect();
        let labels: Vec<u32> = other.labels.all().map(|key| self.labels.key(key)).collect();
        let measures: Vec<u32> = other.measures.all().map(|one| self.measures.measure_number(one)).collect();
        self.rows.extend(other.rows.iter().map(|row| Row {
            time: row.time,
            thread: threads[row.thread as usize],
            labels: labels[row.labels as usize],
            stack: stacks[row.stack as usize],
            measure: measures[row.measure as usize],
        }));
    }

    /// The same samples of a profile with this number of stacks, to be changed.
    pub(super) fn copy(&self, stacks: usize) -> Samples {
        let mut copy = Samples::default();
        copy.join(self, &(0..stacks as u32).collect::<Vec<_>>());
        copy
    }

    /// Replaces the number of each sample's stack, and drops the samples that have none any more.
    pub(super) fn restack(&mut self, mut stack: impl FnMut(usize) -> Option<usize>) {
        self.rows.retain_mut(|row| match stack(row.stack as usize) {
            Some(new) => {
                row.stack = new as u32;
                true
            }
            None => false,
        });
    }

    /// Changes the weight of every sample; those of equal weights are asked for once.
    pub(super) fn reweigh(&mut self, mut change: impl FnMut(Weights) -> Result<Weights>) -> Result<()> {
        let mut measures = Measures::default();
        let mut numbers = Vec::new();
        for Measure { duration, weights } in self.measures.all() {
            numbers.push(measures.measure_number(Measure { duration, weights: change(weights)? }));
        }
        self.rows.iter_mut().for_each(|row| row.measure = numbers[row.measure as usize]);
        self.measures = measures;
        Ok(())
    }

    /// Puts the samples in the order of time, whatever the order in which threads read them.
    /// `rank` orders stacks by their text.
    pub(super) fn sort(&mut self, rank: &[u32]) {
        let Samples { rows, threads, labels, measures } = self;
        // Equal ones are alike: an order that is not stable takes no memory.
        rows.sort_unstable_by(|a, b| {
            let text = |row: &Row| (threads.name(row.thread), labels.name(row.labels));
            let order = a.time().unwrap_or(0).cmp(&b.time().unwrap_or(0));
            order.then_with(|| {
                let [left, right] = [a, b].map(|row| measures.get(row.measure));
                let key = |weights: Weights| (weights.value, weights.before);
                let order = left.duration.cmp(&right.duration).then_with(|| text(a).cmp(&text(b)));
                order
                    .then_with(|| rank[a.stack as usize].cmp(&rank[b.stack as usize]))
                    .then_with(|| key(left.weights).cmp(&key(right.weights)))
                    .then_with(|| a.time.cmp(&b.time))
            })
        });
    }
}

fn decode_thread(key: &[u8]) -> (Option<u64>, Option<u64>, &[u8]) {
    let number = |at: usize| {
        let value = u64::from_le_bytes(key[at + 1..at + 9].try_into().expect("eight bytes"));
        (key[at] != 0).then_some(value)
    };
    (number(0), number(9), &key[18..])
}

fn decode_labels(mut key: &[u8]) -> Vec<(&[u8], &[u8])> {
    let mut labels = Vec::new();
    let mut text = || {
        let (len, rest) = key.split_first_chunk::<4>()?;
        let (text, rest) = rest.split_at(u32::from_le_bytes(*len) as usize);
        key = rest;
        Some(text)
    };
    while let (Some(name), Some(value)) = (text(), text()) {
        labels.push((name, value));
    }
    labels
}
