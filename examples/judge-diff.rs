//! Measures fg-diff's tests on real recordings: how often the same program raises an alarm, and how often a function that got
//! slower is named.
//!
//! ```sh
//! scripts/sweep/kinds/record --folder recordings
//! cargo run --release --example judge-diff -- recordings [TRIALS]
//! ```
//! The folder holds folded text with names such as `go-00.folded` and `go+hot30-00.folded`: a kind of program, the change
//! of it, and a number. Trials are drawn from a fixed seed: every run prints the same.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::ExitCode;

use fg_tools::Profile;
use fg_tools::diff::{Diff, Outcome, Report, Row};
use fg_tools::filter::Op;

/// The function that is changed, and its names behind the change.
const CHANGED: [&str; 3] = ["checksum", "sum_of_text", "guarded"];
/// The numbers of runs a side.
const RUNS: [usize; 4] = [1, 3, 5, 8];
const GATE: &str = "slower>5%";
const TRIALS: usize = 60;

type Sets = BTreeMap<(String, String), Vec<Profile>>;

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let Some(folder) = arguments.next().filter(|folder| Path::new(folder).is_dir()) else {
        println!("skipped: give a folder of recordings such as go-00.folded (see the head of this example)");
        return ExitCode::SUCCESS;
    };
    let trials = arguments.next().and_then(|text| text.parse().ok()).unwrap_or(TRIALS);
    match read(Path::new(&folder)) {
        Ok(sets) => print(&sets, trials),
        Err(error) => {
            eprintln!("judge-diff: {error}");
            return ExitCode::from(2);
        }
    }
    ExitCode::SUCCESS
}

/// Reads all recordings of a folder, by kind and change.
fn read(folder: &Path) -> fg_tools::Result<Sets> {
    let mut paths: Vec<_> = std::fs::read_dir(folder)?.flatten().map(|entry| entry.path()).collect();
    paths.sort();
    let mut sets = Sets::new();
    for path in paths.iter().filter(|path| path.extension().is_some_and(|ending| ending == "folded")) {
        let name = path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
        let Some((set, _)) = name.rsplit_once('-') else { continue };
        let (kind, change) = set.split_once('+').unwrap_or((set, ""));
        // The lines of a function below a change have other numbers.
        let profile = Profile::from_bytes(std::fs::read(path)?)?.filter(&[Op::strip("line")?])?;
        sets.entry((kind.to_owned(), change.to_owned())).or_default().push(profile);
    }
    Ok(sets)
}

/// The outcomes of comparisons.
#[derive(Default)]
struct Found {
    trials: usize,
    rightly: usize,
    wrongly: usize,
    tripped: usize,
}

fn print(sets: &Sets, trials: usize) {
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    println!(
        "| kind | samples | change | 1 a side | 3 | 5 | 8 |\n| --- | ---: | --- | ---: | ---: | ---: | ---: |"
    );
    for ((kind, change), runs) in sets {
        let Some(base) = sets.get(&(kind.clone(), String::new())) else { continue };
        let expected: BTreeSet<Vec<u8>> = base.iter().chain(runs).flat_map(around).collect();
        let mut wrong: BTreeMap<String, usize> = BTreeMap::new();
        let mut samples = 0.0;
        let cells = RUNS.map(|count| {
            let mut found = Found::default();
            for _ in 0..trials {
                let Some((before, after)) = random.draw(base, runs, change.is_empty(), count) else { break };
                let report = Diff::of_runs(&before, &after).report().expect("recordings of one unit");
                samples = report.sampling.0.samples / count as f64;
                found.note(&report, change, &expected, &mut wrong);
            }
            found.show(change)
        });
        println!(
            "| {kind} | {samples:.0} | {} | {} |",
            if change.is_empty() { "none" } else { change },
            cells.join(" | ")
        );
        let mut wrong: Vec<_> = wrong.into_iter().collect();
        wrong.sort_by_key(|a| std::cmp::Reverse(a.1));
        wrong
            .iter()
            .take(4)
            .for_each(|(name, count)| eprintln!("{kind} {change}: wrongly {name}, {count} times"));
    }
}

/// The functions on the stacks of the one that is changed, whose total weight changes with it.
fn around(profile: &Profile) -> Vec<Vec<u8>> {
    let mut names = BTreeSet::new();
    for index in 0..profile.stack_count() {
        let stack: Vec<&[u8]> = profile.stack(index).iter().map(|&id| profile.stacks().name(id)).collect();
        if stack.iter().any(|name| is_changed(name)) {
            names.extend(stack.into_iter().map(<[u8]>::to_vec));
        }
    }
    names.into_iter().collect()
}

fn is_changed(name: &[u8]) -> bool {
    let name = String::from_utf8_lossy(name);
    CHANGED.iter().any(|function| name.contains(function))
}

impl Found {
    fn note(
        &mut self,
        report: &Report,
        change: &str,
        expected: &BTreeSet<Vec<u8>>,
        wrong: &mut BTreeMap<String, usize>,
    ) {
        self.trials += 1;
        let grew = |row: &Row| {
            row.leading().points() > 0.0 || row.leading().percent().is_none_or(|percent| percent > 0.0)
        };
        let is_right = |row: &&Row| match change {
            "" => false,
            "all10" => grew(row),
            // The function gets slower, and those that call it with it.
            change if change.starts_with("hot") => {
                grew(row) && (is_changed(&row.name) || (!row.own.significant && expected.contains(&row.name)))
            }
            // The code moves among those on its stacks.
            _ => expected.contains(&row.name),
        };
        let (right, other): (Vec<&Row>, Vec<&Row>) = report.significant().partition(is_right);
        let is_named = match change {
            "all10" => report.profile.significant || !right.is_empty(),
            _ => right.iter().any(|row| is_changed(&row.name)),
        };
        self.rightly += usize::from(is_named);
        self.wrongly += usize::from(!other.is_empty());
        self.tripped +=
            usize::from(report.gate(GATE).is_ok_and(|verdict| verdict.outcome() == Outcome::Tripped));
        for row in other {
            *wrong.entry(String::from_utf8_lossy(&row.name).into_owned()).or_default() += 1;
        }
    }

    /// The parts of the trials, in percent: rightly named, wrongly named, tripped gates.
    fn show(&self, change: &str) -> String {
        if self.trials == 0 {
            return "–".to_owned();
        }
        let percent = |count: usize| format!("{:.0}", 100.0 * count as f64 / self.trials as f64);
        let rightly = if change.is_empty() { "–".to_owned() } else { percent(self.rightly) };
        format!("{rightly} / {} / {}", percent(self.wrongly), percent(self.tripped))
    }
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

    fn choose<'p>(&mut self, of: &'p [Profile], count: usize) -> Option<Vec<&'p Profile>> {
        let mut left: Vec<&Profile> = of.iter().collect();
        (left.len() >= count).then(|| (0..count).map(|_| left.swap_remove(self.below(left.len()))).collect())
    }

    /// Runs of both sides: of two sets, or all of one.
    fn draw<'p>(
        &mut self,
        base: &'p [Profile],
        changed: &'p [Profile],
        is_one: bool,
        count: usize,
    ) -> Option<(Vec<&'p Profile>, Vec<&'p Profile>)> {
        if !is_one {
            return Some((self.choose(base, count)?, self.choose(changed, count)?));
        }
        let mut drawn = self.choose(base, 2 * count)?;
        let after = drawn.split_off(count);
        Some((drawn, after))
    }
}
