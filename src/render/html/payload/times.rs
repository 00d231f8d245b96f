//! The time line of a page: when each sample was taken, in which thread, in which stack.

use std::collections::{HashMap, HashSet};

use serde_json::{Value, json};

use super::column::Column;
use super::thinning::{Entry, Thinner, Thinning, overflow};
use super::weights::{Values, unsigned_steps};
use crate::error::Result;
use crate::profile::{ThreadLine, TimeLine};
use crate::weight::Weight;

/// The most samples that a time line holds; of more, some stand for others of their stack.
const MOST: usize = 4_000_000;
/// The most threads of a time line: beyond them, those of a name are one.
const MOST_THREADS: usize = 10_000;
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

/// A limit to the size of a time line.
#[derive(Clone, Copy)]
pub(in crate::render::html) struct Limit {
    pub samples: usize,
    pub threads: usize,
    /// Bytes of the compressed sections, which are a third more in the page.
    pub bytes: usize,
}

impl Limit {
    /// The limit of each of some time lines of a page, which have this many bytes together.
    pub(in crate::render::html) fn of_each(lines: usize, bytes: usize) -> Limit {
        Limit { samples: MOST / lines, threads: MOST_THREADS / lines, bytes: bytes / lines }
    }
}

/// Encodes a time line within a limit: above it, the samples are thinned. `shown` is the weight of a sample as the page
/// shows it, and `decimals` are those of the page. `numbers` are those that the page has of the frames of a walk, if it tells
/// several of them as one.
pub(in crate::render::html) fn encode(
    line: &TimeLine<'_>,
    numbers: Option<&[u32]>,
    decimals: u8,
    shown: &dyn Fn(Weight) -> Result<Weight>,
    limit: Limit,
) -> Result<Times> {
    let scaled = |weight: Weight| unsigned_steps(shown(weight)?, decimals);
    let mut exits = line.exit_numbers()?;
    if let Some(numbers) = numbers {
        exits.iter_mut().flatten().for_each(|exit| *exit = numbers[*exit as usize]);
    }
    let source = Source { line, exits, scaled: &scaled };
    let threads = source.threads(limit.threads);
    let mut most = limit.samples;
    if line.len() <= most && threads.len() == line.threads.len() {
        let times = source.encode(&threads, None)?;
        if times.bytes() <= limit.bytes {
            return Ok(times);
        }
        most = within(line.len(), times.bytes(), limit.bytes);
    }
    let (total, pairs) = source.total_and_pairs(&threads)?;
    loop {
        // A stack of a thread has an entry for each part of this weight, and one for the rest, unless these are too many.
        let pools = pairs > most / 2;
        let rests = if pools { most / 2 } else { pairs };
        let part = total.div_ceil((most - rests).max(1) as u128).max(1);
        let times = source.encode(&threads, Some(&Thinning { part, pools, most }))?;
        if times.bytes() <= limit.bytes || most <= threads.len() {
            return Ok(times);
        }
        most = within(most, times.bytes(), limit.bytes);
    }
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

impl<'a> Source<'a> {
    /// The threads one by one, if they are no more than this; else those of a name as one, and the lightest names as one.
    fn threads(&self, most: usize) -> Threads<'a> {
        if self.line.threads.len() <= most {
            return self.line.threads.iter().map(|thread| vec![thread]).collect();
        }
        let mut places: HashMap<&[u8], usize> = HashMap::new();
        let mut threads: Threads<'a> = Vec::new();
        for thread in &self.line.threads {
            let at = *places.entry(&thread.name).or_insert(threads.len());
            threads.resize_with(threads.len().max(at + 1), Vec::new);
            threads[at].push(thread);
        }
        if threads.len() > most.max(1) {
            let others = threads.split_off(most.max(1) - 1);
            threads.push(others.concat());
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

    /// The weight of all samples, and the number of stacks of all threads.
    fn total_and_pairs(&self, threads: &Threads<'a>) -> Result<(u128, usize)> {
        let (mut total, mut pairs) = (0u128, 0);
        let mut stacks = HashSet::new();
        for several in threads {
            for thread in several {
                self.each(thread, &mut |_, exit, weight, _| {
                    stacks.insert(exit);
                    total = total.checked_add(weight).ok_or_else(overflow)?;
                    Ok(())
                })?;
            }
            pairs += stacks.len();
            stacks.clear();
        }
        Ok((total, pairs))
    }

    /// Encodes all samples, or those that stand for all.
    fn encode(&self, threads: &Threads<'a>, thinning: Option<&Thinning>) -> Result<Times> {
        let line = self.line;
        let length = line.end - line.start;
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
        let (mut held, mut pooled) = (0, 0);
        for several in threads {
            let count = match thinning {
                None => self.write(several[0], step, &mut columns)?,
                Some(thinning) => {
                    let mut thinner = Thinner::new(thinning);
                    for thread in several {
                        self.each(thread, &mut |time, exit, weight, duration| {
                            thinner.push(Entry { step: time / step, exit, weight, duration: duration / step })
                        })?;
                    }
                    let thinned = thinner.finish()?;
                    pooled += thinned.pooled;
                    columns.begin();
                    thinned.entries.iter().try_for_each(|entry| columns.push(*entry))?;
                    thinned.entries.len()
                }
            };
            held += count;
            about.push(about_threads(several, count));
        }
        let about = json!({
            // The clock may count from the start of the machine: a number that JSON readers may round.
            "start": line.start.to_string(),
            "length": length,
            "step": step,
            "coarse": held < line.len(),
            "pooled": pooled,
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
}

/// The facts of threads that are one row: label, name, process, thread, and the number of samples that the page has.
fn about_threads(threads: &[&ThreadLine], count: usize) -> Value {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    match threads {
        [one] => json!([text(&one.label), text(&one.name), one.process, one.thread, count]),
        _ => {
            let name = &threads[0].name[..];
            let is_one_name = !name.is_empty() && threads.iter().all(|thread| thread.name == name);
            let label = if is_one_name { text(name) } else { format!("{} threads", threads.len()) };
            json!([label, if is_one_name { text(name) } else { String::new() }, null, null, count])
        }
    }
}

/// The step of a recording of so many nanoseconds that is held whole.
fn fine_step(length: u64) -> u64 {
    let fine = STEPS.into_iter().filter(|step| *step <= FINE);
    fine.into_iter().find(|step| length / step >= LEAST_STEPS).unwrap_or(1)
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
        self.weights.push(self.values.weight_number(entry.weight)?)?;
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
    use super::super::thinning::Random;
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
        Source { line, exits: line.exit_numbers().unwrap(), scaled: &|weight| unsigned_steps(weight, 0) }
    }

    /// The entries of all samples, thread by thread.
    fn thinned(source: &Source<'_>, part: u128, pools: bool) -> Vec<Vec<Entry>> {
        let thinning = Thinning { part, pools, most: 1 };
        let of_thread = |several: &Vec<&ThreadLine>| {
            let mut thinner = Thinner::new(&thinning);
            for thread in several {
                let mut push = |time, exit, weight, duration| {
                    thinner.push(Entry { step: time / 10_000_000, exit, weight, duration })
                };
                source.each(thread, &mut push).unwrap();
            }
            thinner.finish().unwrap().entries
        };
        source.threads(2).iter().map(of_thread).collect()
    }

    #[test]
    fn every_stack_of_a_thread_weighs_what_it_weighs() {
        let profile = recorded(1000);
        let line = TimeLine::new(&profile, None).unwrap().unwrap();
        let source = source(&line);
        for part in [1, 10, 130, 4999, 1_000_000] {
            for entries in thinned(&source, part, false) {
                let of_exit = |exit| entries.iter().filter(move |entry| entry.exit == exit);
                for exit in [0, 1] {
                    let sum: u128 = of_exit(exit).map(|entry| entry.weight).sum();
                    assert_eq!(sum, 5000, "{part}");
                    // A stack is told of where it ran: each for a second in turns.
                    assert!(of_exit(exit).all(|entry| entry.step / 100 % 2 == u64::from(exit == 0)));
                    let most = 5000u128.div_ceil(part.max(10)) as usize + 1;
                    assert!(of_exit(exit).count() <= most, "{part}");
                }
            }
        }
    }

    fn entries(times: &Times) -> u64 {
        times.about["threads"].as_array().unwrap().iter().map(|thread| thread[4].as_u64().unwrap()).sum()
    }

    #[test]
    fn samples_are_thinned_until_they_fit() {
        let profile = recorded(1000);
        let line = TimeLine::new(&profile, None).unwrap().unwrap();
        let within = |samples, threads| {
            let limit = Limit { samples, threads, bytes: usize::MAX };
            let times = encode(&line, None, 0, &Ok, limit).unwrap();
            (times.about["coarse"].as_bool().unwrap(), entries(&times))
        };
        assert_eq!(within(2000, 2), (false, 2000));
        let (is_coarse, count) = within(1999, 2);
        assert!(is_coarse && (900..=1999).contains(&count), "{count}");
        let (is_coarse, count) = within(20, 2);
        assert!(is_coarse && (4..=20).contains(&count), "{count}");
        // Both threads have a name: they are one row, with all samples.
        assert_eq!(within(4000, 1), (false, 2000));
        // One sample of each thread stands for all.
        assert_eq!(within(1, 2).1, 2);
    }

    /// Samples of a hundred callers of two hundred functions each; a stack has a sample or two.
    fn millions_of_stacks() -> Profile {
        let mut builder = ProfileBuilder::new(Wants::ALL);
        let mut random = Random(3);
        for at in 0..24_000u64 {
            let number = (random.share() * 20_000.0) as u64;
            let names = [format!("caller{:02}", number / 200), format!("f{number}")];
            let stack = names.map(|name| builder.frame(name.as_bytes()));
            let (time, thread) = (Some(1 + at * 1_000_000), Some(at % 4));
            let context = Context { time, thread, thread_name: b"work", ..Context::UNKNOWN };
            builder.sample(&stack, Weights::one(Weight::new(10)), &context).unwrap();
        }
        builder.finish().unwrap()
    }

    #[test]
    fn a_time_line_keeps_its_limit_with_millions_of_light_stacks() {
        let profile = millions_of_stacks();
        let line = TimeLine::new(&profile, None).unwrap().unwrap();
        for (samples, bytes) in [(4000, usize::MAX), (usize::MAX, 10_000), (100, 100)] {
            let times = encode(&line, None, 0, &Ok, Limit { samples, threads: 4, bytes }).unwrap();
            let count = entries(&times);
            assert!(times.bytes() <= bytes.max(4 * 60), "{} of {bytes} bytes", times.bytes());
            assert!(count as usize <= samples.saturating_add(4), "{count} of {samples}");
            // Every light stack without an entry of its own is counted.
            let stacks: usize = source(&line).total_and_pairs(&source(&line).threads(4)).unwrap().1;
            let pooled = times.about["pooled"].as_u64().unwrap();
            assert!(pooled + count >= stacks as u64, "{pooled} and {count} of {stacks}");
        }
    }

    #[test]
    fn a_caller_of_light_stacks_weighs_what_it_weighs() {
        let profile = millions_of_stacks();
        let line = TimeLine::new(&profile, None).unwrap().unwrap();
        let source = source(&line);
        let part = 400;
        let callers = |exits: &mut dyn Iterator<Item = (u32, u128)>| {
            // Those of a caller come before it in the order of the file.
            let mut sums = HashMap::<u32, i128>::new();
            let ends: Vec<u32> = ends_of_callers(&line);
            for (exit, weight) in exits {
                *sums.entry(ends.partition_point(|end| *end < exit) as u32).or_default() += weight as i128;
            }
            sums
        };
        let thinned = thinned(&source, part, true);
        let mut pooled = thinned.iter().flatten().map(|entry| (entry.exit, entry.weight));
        let held = callers(&mut pooled);
        let mut given = Vec::new();
        for thread in &line.threads {
            let mut tell = |_, exit, weight, _| {
                given.push((exit, weight));
                Ok(())
            };
            source.each(thread, &mut tell).unwrap();
        }
        let given = callers(&mut given.into_iter());
        assert_eq!(held.values().sum::<i128>(), given.values().sum::<i128>());
        assert_eq!(given.len(), 100);
        for (caller, weight) in given {
            // A part at both ends in each of four threads.
            let off = (held[&caller] - weight).abs();
            assert!(off <= 8 * part as i128, "{off} of {weight}");
        }
        assert!(thinned.iter().flatten().count() <= 2 * 240_000 / part as usize + 4);
    }

    /// The number of the last frame of each caller in the order of the file.
    fn ends_of_callers(line: &TimeLine<'_>) -> Vec<u32> {
        #[derive(Default)]
        struct Ends(u32, Vec<u32>);
        impl crate::folded::Visitor for Ends {
            fn exit(&mut self, frame: crate::folded::Frame<'_>, _: Weights) -> Result<()> {
                self.1.extend((frame.depth == 0).then_some(self.0));
                self.0 += 1;
                Ok(())
            }
            fn restart(&mut self) -> Result<()> {
                unreachable!("a profile is in order")
            }
        }
        let mut ends = Ends::default();
        line.profile().walk(crate::folded::Order::Frame, None, &mut ends).unwrap();
        ends.1
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
    fn few_samples_of_many_bytes_are_thinned() {
        let profile = day(10_000);
        let line = TimeLine::new(&profile, None).unwrap().unwrap();
        let within =
            |bytes| encode(&line, None, 0, &Ok, Limit { samples: MOST, threads: 10, bytes }).unwrap();
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
