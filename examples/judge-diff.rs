//! Measures fg-diff's tests on real recordings: how often the same program raises an alarm, and how often a
//! function that got slower is named first.
//!
//! ```sh
//! cargo run --release --example judge-diff -- FOLDER [TRIALS]
//! ```
//! `FOLDER` holds recordings of any format with names such as `hb00.perf`: a set, and a number. Each set is
//! of one program; a set of [`SLOWER`], and one with a name such as `pool+check00.data`, is of the program of
//! another set, `pool`, with one function slower. Trials are drawn from a fixed seed: every run prints the same.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use fg_tools::diff::{Diff, Report, ReportOptions};
use fg_tools::reading::ReadOptions;
use fg_tools::{Profile, Source};

/// Sets of a slower program, the set to compare with, and the function that is slower.
const SLOWER: &[(&str, &str, &str)] = &[
    ("hs05", "hb", "f01"),
    ("hs10", "hb", "f01"),
    ("hs30", "hb", "f01"),
    ("s10", "ib", "f01"),
    ("s30", "ib", "f01"),
];
const TRIALS: usize = 200;

type Sets = BTreeMap<String, Vec<Profile>>;

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let Some(folder) = arguments.next().filter(|folder| Path::new(folder).is_dir()) else {
        println!("skipped: give a folder of recordings such as hb00.perf (see the head of this example)");
        return ExitCode::SUCCESS;
    };
    let trials = arguments.next().and_then(|text| text.parse().ok()).unwrap_or(TRIALS);
    for (times, title) in [(true, "with the times of samples"), (false, "without times")] {
        match read(Path::new(&folder), times) {
            Ok(sets) => print(&sets, title, trials),
            Err(error) => {
                eprintln!("judge-diff: {error}");
                return ExitCode::from(2);
            }
        }
    }
    ExitCode::SUCCESS
}

/// Reads all recordings of a folder, by set.
fn read(folder: &Path, times: bool) -> fg_tools::Result<Sets> {
    let entries = std::fs::read_dir(folder).map(|entries| entries.flatten().map(|entry| entry.path()));
    let mut paths: Vec<PathBuf> = entries.map(Iterator::collect).unwrap_or_default();
    paths.sort();
    let mut sets = Sets::new();
    for path in paths.into_iter().filter(|path| path.is_file()) {
        let name = path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
        // Two digits number a recording of a set.
        let Some(set) = name.get(..name.len().saturating_sub(2)) else { continue };
        let number = &name[set.len()..];
        if number.len() != 2 || !number.bytes().all(|byte| byte.is_ascii_digit()) {
            continue;
        }
        let profile = Profile::read(&[Source::new(&path)], &ReadOptions::default().samples(times))?;
        sets.entry(set.trim_end_matches(['_', '-']).to_owned()).or_default().push(profile);
    }
    Ok(sets)
}

fn print(sets: &Sets, title: &str, trials: usize) {
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    println!("\nThe same program, any function named, {title}:\n");
    println!(
        "| set | recordings | one a side | three a side | five a side |\n| --- | ---: | ---: | ---: | ---: |"
    );
    for (set, runs) in sets.iter().filter(|(set, _)| slower_in(set).is_none()) {
        let cells = [1, 3, 5].map(|count| {
            let pairs = alike(&mut random, runs, count, trials);
            rate(&pairs, |report| report.significant().next().is_some())
        });
        println!("| {set} | {} | {} |", runs.len(), cells.join(" | "));
    }
    println!("\nOne function slower, named first (other functions named beside it), {title}:\n");
    println!(
        "| set | samples a run | one a side | three a side | five a side |\n| --- | ---: | ---: | ---: | ---: |"
    );
    for (slower, after) in sets {
        let Some((base, function)) = slower_in(slower) else { continue };
        let Some(before) = sets.get(base) else { continue };
        let is_it =
            |name: &[u8]| name == function.as_bytes() || name.ends_with(format!("::{function}").as_bytes());
        let cells = [1, 3, 5].map(|count| {
            let pairs = against(&mut random, before, after, count, trials);
            let found = rate(&pairs, |report| {
                let first = report.significant().next();
                first.is_some_and(|row| is_it(&row.name) && row.leading().points() > 0.0)
            });
            let others = rate(&pairs, |report| {
                report.significant().any(|row| !is_it(&row.name) && row.own.significant)
            });
            let others = others.split(' ').next().unwrap_or_default().to_owned();
            if pairs.is_empty() { found } else { format!("{found}, {others}") }
        });
        let worth =
            compare(&before.iter().take(1).collect::<Vec<_>>(), &after.iter().take(1).collect::<Vec<_>>())
                .sampling
                .1;
        println!("| {slower} | {:.0} (worth {:.0}) | {} |", worth.samples, worth.worth, cells.join(" | "));
    }
}

/// The set that a set of a slower program compares with, and the function that is slower.
fn slower_in(set: &str) -> Option<(&str, &str)> {
    let known = SLOWER.iter().find(|(slower, ..)| *slower == set);
    known.map(|(_, base, function)| (*base, *function)).or_else(|| set.split_once('+'))
}

type Pair<'p> = (Vec<&'p Profile>, Vec<&'p Profile>);

/// Pairs of `count` recordings a side out of one set: all pairs of single ones, others by chance.
fn alike<'p>(random: &mut Random, runs: &'p [Profile], count: usize, trials: usize) -> Vec<Pair<'p>> {
    if runs.len() < 2 * count {
        return Vec::new();
    }
    if count == 1 {
        let others = |n: usize| runs[n + 1..].iter().map(move |other| (vec![&runs[n]], vec![other]));
        return (0..runs.len()).flat_map(others).collect();
    }
    let draw = |_| {
        let drawn = random.choose(runs, 2 * count);
        (drawn[..count].to_vec(), drawn[count..].to_vec())
    };
    (0..trials).map(draw).collect()
}

/// Pairs of `count` recordings a side out of two sets: all pairs of single ones, others by chance.
fn against<'p>(
    random: &mut Random,
    before: &'p [Profile],
    after: &'p [Profile],
    count: usize,
    trials: usize,
) -> Vec<Pair<'p>> {
    if before.len().min(after.len()) < count {
        return Vec::new();
    }
    if count == 1 {
        return before
            .iter()
            .flat_map(|one| after.iter().map(move |other| (vec![one], vec![other])))
            .collect();
    }
    (0..trials).map(|_| (random.choose(before, count), random.choose(after, count))).collect()
}

fn compare(before: &[&Profile], after: &[&Profile]) -> Report {
    Diff::of_runs(before, after).report_with(&ReportOptions::default()).expect("recordings of one unit")
}

/// The rate of an event, with the number of trials.
fn rate(pairs: &[Pair<'_>], happens: impl Fn(&Report) -> bool) -> String {
    if pairs.is_empty() {
        return "–".to_owned();
    }
    let count = pairs.iter().filter(|(before, after)| happens(&compare(before, after))).count();
    format!("{:.1}% (of {})", 100.0 * count as f64 / pairs.len() as f64, pairs.len())
}

/// The xorshift64* generator: good enough here, and needs no crate.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) as usize % limit
    }

    fn choose<'p>(&mut self, of: &'p [Profile], count: usize) -> Vec<&'p Profile> {
        let mut left: Vec<&Profile> = of.iter().collect();
        (0..count).map(|_| left.swap_remove(self.below(left.len()))).collect()
    }
}
