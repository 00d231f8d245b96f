//! The time line of a page: when each sample was taken, in which thread, in which stack.

use serde_json::{Value, json};

use super::column::Column;
use super::weights::Values;
use crate::error::Result;
use crate::profile::{ThreadLine, TimeLine};
use crate::weight::Weight;

/// Most samples that a page holds; more are coarsened. A page of 50 million samples of a day has
/// 13 MB with it, and opens in two seconds.
const MOST: usize = 4_000_000;
/// Steps of time, in nanoseconds, of recordings that are not coarsened.
const FINE: [u64; 6] = [100_000, 10_000, 1000, 100, 10, 1];
/// A recording has at least this many steps.
const LEAST_STEPS: u64 = 100_000;
/// Steps of time, in nanoseconds, for recordings with too many samples.
const COARSE: [u64; 12] = [
    1_000_000,
    10_000_000,
    20_000_000,
    100_000_000,
    1_000_000_000,
    10_000_000_000,
    60_000_000_000,
    600_000_000_000,
    3_600_000_000_000,
    86_400_000_000_000,
    31_536_000_000_000_000,
    u64::MAX,
];

/// The sections of a time line, and the numbers that are needed to read them.
pub struct Times {
    /// The name and the bytes of each section.
    pub sections: Vec<(&'static str, Vec<u8>)>,
    /// The step of time, the threads and their numbers of samples.
    pub about: Value,
}

/// An entry of a time line: a sample, or several of one stack in one step of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Entry {
    step: u64,
    /// The steps over which the weight is spread; 0 is a moment.
    duration: u64,
    exit: u32,
    weight: Weight,
}

/// Encodes a time line. `shown` is the weight of a sample as the page shows it, and `decimals` are
/// those of the page.
pub(in crate::render::html) fn encode(
    line: &TimeLine<'_>,
    decimals: u8,
    shown: &dyn Fn(Weight) -> Result<Weight>,
) -> Result<Times> {
    encode_within(line, decimals, shown, MOST)
}

/// [`encode`], with at most so many entries.
fn encode_within(
    line: &TimeLine<'_>,
    decimals: u8,
    shown: &dyn Fn(Weight) -> Result<Weight>,
    most: usize,
) -> Result<Times> {
    let exits = line.exit_numbers()?;
    let (step, is_coarse) = step_within(line, &exits, most)?;
    let [mut deltas, mut stacks, mut weights, mut durations] = [(); 4].map(|()| Column::of_names());
    let mut values = Values::default();
    let mut any_lasts = false;
    let mut threads = Vec::with_capacity(line.threads.len());
    for thread in &line.threads {
        let (mut last_step, mut last_exit) = (0, 0i64);
        let mut count = 0u64;
        each_entry(line, thread, &exits, (step, is_coarse), &mut |entry| {
            count += 1;
            deltas.push(u128::from(entry.step - last_step))?;
            let exit = i64::from(entry.exit);
            stacks.push(super::texts::zigzag(exit - last_exit))?;
            weights.push(values.number(shown(entry.weight)?.in_steps(decimals)?)?)?;
            durations.push(entry.duration.into())?;
            any_lasts |= entry.duration > 0;
            (last_step, last_exit) = (entry.step, exit);
            Ok(())
        })?;
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        threads.push(json!([text(&thread.label), text(&thread.name), thread.process, thread.thread, count]));
    }
    let about = json!({
        // The clock may count from the start of the machine: a number that JSON readers may round.
        "start": line.start.to_string(),
        "length": line.end - line.start,
        "step": step,
        "coarse": is_coarse,
        "samples": line.len(),
        "threads": threads,
    });
    let mut sections = vec![
        ("time-deltas", deltas.finish()?),
        ("time-stacks", stacks.finish()?),
        ("time-weights", weights.finish()?),
        ("time-values", values.finish()?),
    ];
    if any_lasts {
        sections.push(("time-durations", durations.finish()?));
    }
    Ok(Times { sections, about })
}

/// The step of time with which there are at most so many entries, and true if samples of one step and stack are one entry.
fn step_within(line: &TimeLine<'_>, exits: &[Option<u32>], most: usize) -> Result<(u64, bool)> {
    let length = line.end - line.start;
    let fine = FINE.iter().copied().find(|step| length / step >= LEAST_STEPS).unwrap_or(1);
    if line.len() <= most {
        return Ok((fine, false));
    }
    for step in COARSE {
        let mut count = 0usize;
        for thread in &line.threads {
            each_entry(line, thread, exits, (step, true), &mut |_| {
                count += 1;
                Ok(())
            })?;
        }
        if count <= most {
            return Ok((step, true));
        }
    }
    // More stacks than entries: nothing makes them fewer.
    Ok((u64::MAX, true))
}

/// Tells of the entries of a thread, in the order of time, those of one step in the order of stacks.
fn each_entry(
    line: &TimeLine<'_>,
    thread: &ThreadLine,
    exits: &[Option<u32>],
    (step, is_coarse): (u64, bool),
    each: &mut dyn FnMut(Entry) -> Result<()>,
) -> Result<()> {
    let mut group: Vec<Entry> = Vec::new();
    let mut tell = |group: &mut Vec<Entry>| {
        group.sort_by_key(|entry| (entry.exit, entry.duration > 0));
        let mut entries = group.drain(..).peekable();
        while let Some(mut entry) = entries.next() {
            let is_same = |next: &Entry| next.exit == entry.exit && next.duration == 0;
            while is_coarse
                && entry.duration == 0
                && let Some(same) = entries.next_if(is_same)
            {
                entry.weight = entry.weight.checked_add(same.weight)?;
            }
            each(entry)?;
        }
        Ok::<(), crate::Error>(())
    };
    for sample in line.samples(thread) {
        let Some(exit) = exits[sample.stack] else { continue };
        let duration = sample.duration / step;
        let entry = Entry { step: (sample.time - line.start) / step, duration, exit, weight: sample.weight };
        if group.first().is_some_and(|first| !is_coarse || first.step != entry.step) {
            tell(&mut group)?;
        }
        group.push(entry);
    }
    tell(&mut group)
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

    fn entries(line: &TimeLine<'_>, step: (u64, bool)) -> Vec<Entry> {
        let exits = line.exit_numbers().unwrap();
        let mut entries = Vec::new();
        for thread in &line.threads {
            each_entry(line, thread, &exits, step, &mut |entry| {
                entries.push(entry);
                Ok(())
            })
            .unwrap();
        }
        entries
    }

    #[test]
    fn coarse_entries_weigh_as_much_as_the_samples() {
        let profile = recorded(1000);
        let line = TimeLine::new(&profile, None).unwrap().unwrap();
        let fine = entries(&line, (100_000, false));
        assert_eq!(fine.len(), 2000);
        let coarse = entries(&line, (1_000_000_000, true));
        assert_eq!(coarse.len(), 20);
        assert!(coarse.iter().all(|entry| entry.weight == Weight::new(1000) && entry.duration == 0));
    }

    #[test]
    fn the_step_gets_coarser_until_the_entries_fit() {
        let profile = recorded(1000);
        let line = TimeLine::new(&profile, None).unwrap().unwrap();
        let exits = line.exit_numbers().unwrap();
        // 2000 samples of 10 ms: of one second there are twenty.
        for (most, step) in [(2000, (10_000, false)), (1999, (20_000_000, true)), (20, (1_000_000_000, true))]
        {
            assert_eq!(step_within(&line, &exits, most).unwrap(), step, "{most}");
        }
        assert!(step_within(&line, &exits, 1).is_ok());
    }

    /// A day of twelve threads, each of which is for a while in one of four hundred stacks or those near it.
    #[test]
    fn a_coarse_day_takes_few_bytes() {
        let mut seed = 7u64;
        let mut random = move |below: u64| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (seed >> 33) % below
        };
        let mut builder = ProfileBuilder::new(Wants::ALL);
        let stacks: Vec<Vec<_>> = (0..400)
            .map(|n| [format!("main;task {}", n / 20), format!("f{}", n / 5), format!("g{n}")].join(";"))
            .map(|stack| stack.split(';').map(|name| builder.frame(name.as_bytes())).collect())
            .collect();
        const SAMPLES: u64 = 400_000;
        for thread in 0..12 {
            let mut around = 0;
            for at in 0..SAMPLES / 12 {
                if random(50) == 0 {
                    around = random(400);
                }
                let stack = &stacks[((around + random(6)) % 400) as usize];
                // Of a day, as 50 million samples are of it.
                let time = Some(at * 86_400_000_000_000 / (SAMPLES / 12) + random(1_000_000_000));
                let context =
                    Context { time, thread: Some(thread), thread_name: b"worker", ..Context::UNKNOWN };
                builder.sample(stack, Weights::one(Weight::new(20_000_000)), &context).unwrap();
            }
        }
        let profile = builder.finish().unwrap();
        let line = TimeLine::new(&profile, None).unwrap().unwrap();
        // As many samples for each entry as 50 million have of the most.
        let most = (SAMPLES as f64 * MOST as f64 / 50e6) as usize;
        let times = encode_within(&line, 0, &Ok, most).unwrap();
        assert_eq!(times.about["coarse"], true);
        let count =
            times.about["threads"].as_array().unwrap().iter().map(|thread| thread[4].as_u64().unwrap());
        let entries = count.sum::<u64>();
        let bytes: usize = times.sections.iter().map(|(_, bytes)| bytes.len()).sum();
        // Base64 makes four bytes of three. A page has 20 MB at most with the most entries.
        let page = bytes as f64 / entries as f64 * MOST as f64 * 4.0 / 3.0;
        assert!(page < 20e6, "{bytes} bytes of {entries} entries, {} ns", times.about["step"]);
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
