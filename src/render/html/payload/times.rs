//! The time line of a page: when each sample was taken, in which thread, in which stack.

use std::collections::{HashMap, HashSet};

use serde_json::{Value, json};

use super::column::Column;
use super::weights::Values;
use crate::error::{ErrorKind, Result};
use crate::profile::{ThreadLine, TimeLine};
use crate::weight::Weight;

/// The most samples that a time line holds; of more, some stand for others of their stack.
const MOST: usize = 4_000_000;
/// The most bytes of its compressed sections, which are a third more in the page: of 51 million samples of a day with three million
/// frames, these take 4.3 MB of it, so that it has 19.
const MOST_BYTES: usize = 11_000_000;
/// Steps of time, in nanoseconds.
const STEPS: [u64; 9] = [20_000_000, 10_000_000, 1_000_000, 100_000, 10_000, 1000, 100, 10, 1];
/// The longest step of a recording that is held whole.
const FINE: u64 = 100_000;
/// A recording has at least this many steps.
const LEAST_STEPS: u64 = 100_000;
/// Thinned samples of a thread are this many steps apart, or more.
const STEPS_APART: u64 = 8;

/// The sections of a time line, and the numbers that are needed to read them.
pub struct Times {
    /// The name and the bytes of each section.
    pub sections: Vec<(&'static str, Vec<u8>)>,
    /// The step of time, the threads and their numbers of samples.
    pub about: Value,
}

impl Times {
    fn bytes(&self) -> usize {
        self.sections.iter().map(|(_, bytes)| bytes.len()).sum()
    }
}

/// An entry of a time line: a sample, with the weight of those that it stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Entry {
    step: u64,
    exit: u32,
    /// The weight, times ten to the power of the page's decimals.
    weight: u128,
    /// The steps over which the weight is spread; 0 is a moment.
    duration: u64,
}

/// A limit to the size of a time line.
#[derive(Clone, Copy)]
struct Limit {
    samples: usize,
    bytes: usize,
}

/// Encodes a time line, one of so many of a page. `shown` is the weight of a sample as the page shows it, and
/// `decimals` are those of the page.
pub(in crate::render::html) fn encode(
    line: &TimeLine<'_>,
    lines: usize,
    decimals: u8,
    shown: &dyn Fn(Weight) -> Result<Weight>,
) -> Result<Times> {
    encode_within(line, decimals, shown, Limit { samples: MOST / lines, bytes: MOST_BYTES / lines })
}

/// [`encode`], within a limit: above it, the samples are thinned.
fn encode_within(
    line: &TimeLine<'_>,
    decimals: u8,
    shown: &dyn Fn(Weight) -> Result<Weight>,
    limit: Limit,
) -> Result<Times> {
    let scaled = |weight: Weight| shown(weight)?.in_steps(decimals);
    let source = Source { line, exits: line.exit_numbers()?, scaled: &scaled };
    let mut most = limit.samples;
    if line.len() <= most {
        let times = source.encode(None)?;
        if times.bytes() <= limit.bytes {
            return Ok(times);
        }
        most = within(line.len(), times.bytes(), limit.bytes);
    }
    loop {
        let (threads, total, pairs) = source.threads_within(most)?;
        // A stack of a thread has an entry for each part of this weight, and one for the rest.
        let room = most.saturating_sub(pairs).max(most / 2).max(1);
        let part = total.div_ceil(room as u128).max(1);
        let times = source.encode(Some(&Thinning { part, threads: &threads, most }))?;
        // With more stacks than samples nothing makes them fewer.
        if times.bytes() <= limit.bytes || most <= pairs {
            return Ok(times);
        }
        most = within(most, times.bytes(), limit.bytes);
    }
}

/// The heaviest threads, which are the first, as long as they have no more stacks than this; all others as one.
fn heaviest<'a>(mut threads: Threads<'a>, pairs: &[usize], most: usize) -> Threads<'a> {
    let mut stacks = 0;
    let fit = pairs.iter().take_while(|pairs| {
        stacks += **pairs;
        stacks <= most
    });
    let others = threads.split_off(fit.count());
    threads.extend((!others.is_empty()).then(|| others.concat()));
    threads
}

/// A smaller number of samples, of which so many have too many bytes.
fn within(samples: usize, bytes: usize, most: usize) -> usize {
    (samples as f64 * 0.95 * most as f64 / bytes as f64) as usize
}

/// The samples of a time line that a page gets.
struct Source<'a> {
    line: &'a TimeLine<'a>,
    /// The number of the frame in which each stack ends; the page leaves the others out.
    exits: Vec<Option<u32>>,
    scaled: &'a dyn Fn(Weight) -> Result<u128>,
}

/// The threads of a page: each is one of the recording, or all of one name.
type Threads<'a> = Vec<Vec<&'a ThreadLine>>;

/// Samples that stand for others: those of a stack in a thread are taken together until they weigh a part.
struct Thinning<'t, 'a> {
    part: u128,
    threads: &'t Threads<'a>,
    /// The most entries that are expected.
    most: usize,
}

impl<'a> Source<'a> {
    fn threads(&self) -> Threads<'a> {
        self.line.threads.iter().map(|thread| vec![thread]).collect()
    }

    /// All threads of a name as one, in the order of the heaviest.
    fn threads_by_name(&self) -> Threads<'a> {
        let mut places: HashMap<&[u8], usize> = HashMap::new();
        let mut threads: Threads<'a> = Vec::new();
        for thread in &self.line.threads {
            let at = *places.entry(&thread.name).or_insert(threads.len());
            threads.resize_with(threads.len().max(at + 1), Vec::new);
            threads[at].push(thread);
        }
        threads
    }

    /// Tells of the samples of a thread, in the order of time: the nanoseconds from the start, the number of the
    /// stack's frame, the weight, the duration.
    fn each(
        &self,
        thread: &ThreadLine,
        tell: &mut dyn FnMut(u64, u32, u128, u64) -> Result<()>,
    ) -> Result<()> {
        self.line.samples(thread).try_for_each(|sample| match self.exits[sample.stack] {
            Some(exit) => {
                tell(sample.time - self.line.start, exit, (self.scaled)(sample.weight)?, sample.duration)
            }
            None => Ok(()),
        })
    }

    /// The threads one by one, or by name, or all but the heaviest as one: the first of these in which the stacks of
    /// all threads are no more than half of the samples that a page may have. Also the weight of all samples, and the
    /// number of these stacks.
    fn threads_within(&self, most: usize) -> Result<(Threads<'a>, u128, usize)> {
        let mut threads = self.threads();
        let (mut total, mut pairs) = self.total_and_pairs(&threads)?;
        let is_too_much = |pairs: &[usize]| pairs.iter().sum::<usize>() > most / 2;
        if is_too_much(&pairs) {
            threads = self.threads_by_name();
            (total, pairs) = self.total_and_pairs(&threads)?;
        }
        if is_too_much(&pairs) {
            threads = heaviest(threads, &pairs, most / 4);
            (total, pairs) = self.total_and_pairs(&threads)?;
        }
        Ok((threads, total, pairs.iter().sum()))
    }

    /// The weight of all samples, and the number of stacks of each thread.
    fn total_and_pairs(&self, threads: &Threads<'a>) -> Result<(u128, Vec<usize>)> {
        let (mut total, mut pairs) = (0u128, Vec::with_capacity(threads.len()));
        let mut stacks = HashSet::new();
        for of_name in threads {
            for thread in of_name {
                self.each(thread, &mut |_, exit, weight, _| {
                    stacks.insert(exit);
                    total = total.checked_add(weight).ok_or_else(overflow)?;
                    Ok(())
                })?;
            }
            pairs.push(stacks.len());
            stacks.clear();
        }
        Ok((total, pairs))
    }

    /// Encodes all samples, or those that stand for all.
    fn encode(&self, thinning: Option<&Thinning<'_, 'a>>) -> Result<Times> {
        let line = self.line;
        let length = line.end - line.start;
        let whole = self.threads();
        let threads = thinning.map_or(&whole, |thinning| thinning.threads);
        let step = match thinning {
            None => fine_step(length),
            Some(Thinning { most, .. }) => {
                let apart = u128::from(length) * threads.len() as u128 / (*most).max(1) as u128;
                let longest = (apart as u64 / STEPS_APART).max(fine_step(length));
                STEPS.into_iter().find(|step| *step <= longest).unwrap_or(1)
            }
        };
        let mut columns = Columns::default();
        let mut about = Vec::with_capacity(threads.len());
        for of_name in threads {
            let count = match thinning {
                None => self.write(of_name[0], step, &mut columns)?,
                Some(thinning) => {
                    let mut entries = self.thin(of_name, thinning.part, step)?;
                    entries.sort_unstable();
                    columns.begin();
                    entries.iter().try_for_each(|entry| columns.push(*entry))?;
                    entries.len()
                }
            };
            let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
            about.push(match of_name[..] {
                [one] => json!([text(&one.label), text(&one.name), one.process, one.thread, count]),
                _ => {
                    let name = &of_name[0].name[..];
                    let is_one_name = !name.is_empty() && of_name.iter().all(|thread| thread.name == name);
                    let label = if is_one_name { text(name) } else { format!("{} threads", of_name.len()) };
                    json!([label, if is_one_name { text(name) } else { String::new() }, null, null, count])
                }
            });
        }
        let about = json!({
            // The clock may count from the start of the machine: a number that JSON readers may round.
            "start": line.start.to_string(),
            "length": length,
            "step": step,
            "coarse": thinning.is_some(),
            "samples": line.len(),
            "threads": about,
        });
        Ok(Times { sections: columns.finish()?, about })
    }

    /// Writes all samples of a thread, and returns their number.
    fn write(&self, thread: &ThreadLine, step: u64, columns: &mut Columns) -> Result<usize> {
        let mut count = 0;
        columns.begin();
        self.each(thread, &mut |time, exit, weight, duration| {
            count += 1;
            columns.push(Entry { step: time / step, exit, weight, duration: duration / step })
        })?;
        Ok(count)
    }

    /// The samples of some threads that stand for all. Those of each stack are taken together, one after the
    /// other, until they weigh a part; one of them, by chance and the heavier the likelier, gets the weight of all.
    /// The sum of each stack stays exact, and the weight of any range of time is right on average.
    fn thin(&self, threads: &[&ThreadLine], part: u128, step: u64) -> Result<Vec<Entry>> {
        let mut entries = Vec::new();
        let mut open: HashMap<u32, Entry> = HashMap::new();
        let mut random = Random(0);
        for thread in threads {
            self.each(thread, &mut |time, exit, weight, duration| {
                if weight == 0 {
                    return Ok(());
                }
                let sample = Entry { step: time / step, exit, weight, duration: duration / step };
                let entry = open.entry(exit).or_insert(Entry { weight: 0, ..sample });
                let sum = entry.weight.checked_add(weight).ok_or_else(overflow)?;
                if random.share() * (sum as f64) < weight as f64 {
                    *entry = sample;
                }
                entry.weight = sum;
                if sum >= part {
                    entries.extend(open.remove(&exit));
                }
                Ok(())
            })?;
        }
        entries.extend(open.into_values());
        Ok(entries)
    }
}

/// The step of a recording of so many nanoseconds that is held whole.
fn fine_step(length: u64) -> u64 {
    let fine = STEPS.into_iter().filter(|step| *step <= FINE);
    fine.into_iter().find(|step| length / step >= LEAST_STEPS).unwrap_or(1)
}

fn overflow() -> crate::Error {
    ErrorKind::Overflow.into()
}

/// Numbers that look like chance, the same in every run: splitmix64.
struct Random(u64);

impl Random {
    /// A number from 0 to below 1.
    fn share(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ (mixed >> 31)) >> 11) as f64 / (1u64 << 53) as f64
    }
}

/// The columns of a time line while they are written.
struct Columns {
    deltas: Column,
    stacks: Column,
    weights: Column,
    durations: Column,
    values: Values,
    lasts: bool,
    last_step: u64,
    last_exit: i64,
}

impl Default for Columns {
    fn default() -> Self {
        let [deltas, stacks, weights, durations] = [(); 4].map(|()| Column::of_names());
        let values = Values::default();
        Columns { deltas, stacks, weights, durations, values, lasts: false, last_step: 0, last_exit: 0 }
    }
}

impl Columns {
    /// Begins a thread.
    fn begin(&mut self) {
        (self.last_step, self.last_exit) = (0, 0);
    }

    fn push(&mut self, entry: Entry) -> Result<()> {
        self.deltas.push(u128::from(entry.step - self.last_step))?;
        let exit = i64::from(entry.exit);
        self.stacks.push(super::texts::zigzag(exit - self.last_exit))?;
        self.weights.push(self.values.number(entry.weight)?)?;
        self.durations.push(entry.duration.into())?;
        self.lasts |= entry.duration > 0;
        (self.last_step, self.last_exit) = (entry.step, exit);
        Ok(())
    }

    fn finish(self) -> Result<Vec<(&'static str, Vec<u8>)>> {
        let mut sections = vec![
            ("time-deltas", self.deltas.finish()?),
            ("time-stacks", self.stacks.finish()?),
            ("time-weights", self.weights.finish()?),
            ("time-values", self.values.finish()?),
        ];
        if self.lasts {
            sections.push(("time-durations", self.durations.finish()?));
        }
        Ok(sections)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Profile;
    use crate::folded::Weights;
    use crate::profile::{Context, ProfileBuilder, Sink as _, Wants};

    /// A sample every 10 ms in each of two threads, of one stack for a second and then of another.
    fn recorded(samples: u64) -> Profile {
        let mut builder = ProfileBuilder::new(Wants::ALL);
        let stacks = ["main;parse", "main;draw"]
            .map(|stack| stack.split(';').map(|name| builder.frame(name.as_bytes())).collect::<Vec<_>>());
        for at in 0..samples {
            for thread in [1, 2] {
                let time = Some(5_000_000_000 + at * 10_000_000);
                let context =
                    Context { time, thread: Some(thread), thread_name: b"work", ..Context::UNKNOWN };
                let stack = &stacks[(at as usize / 100) % 2];
                builder.sample(stack, Weights::one(Weight::new(10)), &context).unwrap();
            }
        }
        builder.finish().unwrap()
    }

    fn source<'a>(line: &'a TimeLine<'a>) -> Source<'a> {
        Source { line, exits: line.exit_numbers().unwrap(), scaled: &|weight| weight.in_steps(0) }
    }

    #[test]
    fn every_stack_of_a_thread_weighs_what_it_weighs() {
        let profile = recorded(1000);
        let line = TimeLine::new(&profile, None).unwrap().unwrap();
        let source = source(&line);
        for threads in [source.threads(), source.threads_by_name()] {
            let per_thread = 2 / threads.len() as u128;
            for part in [1, 10, 130, 4999, 1_000_000] {
                for of_name in &threads {
                    let entries = source.thin(of_name, part, 10_000_000).unwrap();
                    let of_exit = |exit| entries.iter().filter(move |entry| entry.exit == exit);
                    for exit in [0, 1] {
                        let sum: u128 = of_exit(exit).map(|entry| entry.weight).sum();
                        assert_eq!(sum, 5000 * per_thread, "{part}");
                        // A stack is told of where it ran: each for a second in turns.
                        assert!(of_exit(exit).all(|entry| entry.step / 100 % 2 == u64::from(exit == 0)));
                        let most = (5000 * per_thread).div_ceil(part.max(10)) as usize + 1;
                        assert!(of_exit(exit).count() <= most, "{part}");
                    }
                }
            }
        }
    }

    #[test]
    fn samples_are_thinned_until_they_fit() {
        let profile = recorded(1000);
        let line = TimeLine::new(&profile, None).unwrap().unwrap();
        let within = |samples, bytes| {
            let times = encode_within(&line, 0, &Ok, Limit { samples, bytes }).unwrap();
            let threads = times.about["threads"].as_array().unwrap();
            let count: u64 = threads.iter().map(|thread| thread[4].as_u64().unwrap()).sum();
            (times.about["coarse"].as_bool().unwrap(), count)
        };
        assert_eq!(within(2000, usize::MAX), (false, 2000));
        let (is_coarse, count) = within(1999, usize::MAX);
        assert!(is_coarse && (900..=1999).contains(&count), "{count}");
        let (is_coarse, count) = within(20, usize::MAX);
        assert!(is_coarse && (4..=20).contains(&count), "{count}");
        // No fewer than stacks of threads.
        assert_eq!(within(1, 1).1, 2);
    }

    /// A day of ten threads, which are in one of some thousand stacks each time, the first ones mostly.
    fn day(samples: u64) -> Profile {
        const THREADS: u64 = 10;
        let mut random = Random(7);
        let mut builder = ProfileBuilder::new(Wants::ALL);
        let stacks: Vec<Vec<_>> = (0..4000)
            .map(|n| [format!("main;task {}", n / 200), format!("f{}", n / 7), format!("g{n}")].join(";"))
            .map(|stack| stack.split(';').map(|name| builder.frame(name.as_bytes())).collect())
            .collect();
        let distance = 86_400_000_000_000 * THREADS / samples;
        for at in 0..samples {
            let share = random.share();
            let stack = &stacks[(share * share * share * 4000.0) as usize];
            let time = Some(at / THREADS * distance + (random.share() * distance as f64) as u64);
            let thread = Some(at % THREADS);
            let context = Context { time, thread, thread_name: b"worker", ..Context::UNKNOWN };
            builder.sample(stack, Weights::one(Weight::new(20_000_000)), &context).unwrap();
        }
        builder.finish().unwrap()
    }

    #[test]
    fn a_thinned_day_takes_few_bytes() {
        let profile = day(500_000);
        let line = TimeLine::new(&profile, None).unwrap().unwrap();
        // As many samples for each entry as 50 million have of the most.
        let most = (line.len() as f64 * MOST as f64 / 50e6) as usize;
        let times = encode_within(&line, 0, &Ok, Limit { samples: most, bytes: usize::MAX }).unwrap();
        assert_eq!(times.about["coarse"], true);
        let threads = times.about["threads"].as_array().unwrap();
        let entries: u64 = threads.iter().map(|thread| thread[4].as_u64().unwrap()).sum();
        // Base64 makes four bytes of three. A page has 20 MB at most with the most entries.
        let page = times.bytes() as f64 / entries as f64 * MOST as f64 * 4.0 / 3.0;
        assert!(page < 20e6, "{} bytes of {entries} entries, {} ns", times.bytes(), times.about["step"]);
    }

    /// Threads that share most of their stacks.
    #[test]
    fn threads_of_many_stacks_are_one_but_for_the_heaviest() {
        let mut builder = ProfileBuilder::new(Wants::ALL);
        for at in 0..20_000u64 {
            let name = format!("worker {}", at % 10);
            let stack = [builder.frame(format!("f{}", at / 10 % 1000).as_bytes())];
            let (time, thread) = (Some(1 + at * 1_000_000), Some(at % 10));
            let context = Context { time, thread, thread_name: name.as_bytes(), ..Context::UNKNOWN };
            builder.sample(&stack, Weights::one(Weight::new(10)), &context).unwrap();
        }
        let profile = builder.finish().unwrap();
        let line = TimeLine::new(&profile, None).unwrap().unwrap();
        let times = encode_within(&line, 0, &Ok, Limit { samples: 8000, bytes: usize::MAX }).unwrap();
        let threads = times.about["threads"].as_array().unwrap();
        let labels: Vec<&str> = threads.iter().map(|thread| thread[0].as_str().unwrap()).collect();
        assert_eq!(labels.len(), 3, "{labels:?}");
        assert!(labels[0].starts_with("worker ") && labels[2] == "8 threads", "{labels:?}");
        let entries: u64 = threads.iter().map(|thread| thread[4].as_u64().unwrap()).sum();
        assert!(entries <= 8000, "{entries}");
    }

    #[test]
    fn few_samples_of_many_bytes_are_thinned() {
        let profile = day(40_000);
        let line = TimeLine::new(&profile, None).unwrap().unwrap();
        let within = |bytes| encode_within(&line, 0, &Ok, Limit { samples: MOST, bytes }).unwrap();
        let whole = within(usize::MAX);
        assert_eq!(whole.about["coarse"], false);
        let thinned = within(whole.bytes() / 2);
        assert_eq!(thinned.about["coarse"], true);
        assert!(thinned.bytes() <= whole.bytes() / 2, "{} of {}", thinned.bytes(), whole.bytes());
    }

    #[test]
    fn exit_numbers_are_those_of_the_file() {
        let profile = recorded(200);
        let line = TimeLine::new(&profile, None).unwrap().unwrap();
        let exits = line.exit_numbers().unwrap();
        // draw, parse, main: parse was recorded first.
        assert_eq!(exits, [Some(1), Some(0)]);
    }
}
