//! Measures how often fg-diff's tests are wrong: compares profiles made by chance.
//!
//! ```sh
//! cargo run --release --example simulate-diff
//! ```
//! prints the tables of `docs/significance.md`. Numbers come from a fixed seed: every run prints
//! the same.

use fg_tools::diff::{Diff, Report, ReportOptions};
use fg_tools::{Profile, Weight};

/// The number of functions of a small program; `shares` makes them as uneven as real ones.
const FUNCTIONS: usize = 200;
const FALSE_ALARM_TRIALS: u32 = 2000;
const POWER_TRIALS: u32 = 400;

fn main() {
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    println!(
        "Share of comparisons without any true change that raise an alarm (accepted: alpha = 1%, 5%):\n"
    );
    println!("| runs a side | samples a run | alpha 0.01 | alpha 0.05 |");
    println!("| ---: | ---: | ---: | ---: |");
    for (runs, samples) in [(1, 1_000), (1, 10_000), (1, 100_000), (3, 10_000), (5, 10_000)] {
        let rates = [0.01, 0.05].map(|alpha| {
            let given = options().alpha(alpha);
            let trial = |random: &mut Random| {
                let report = compare(random, runs, samples, &shares(0, 1.0), 0.0, &given);
                report.significant().next().is_some()
            };
            rate(&mut random, FALSE_ALARM_TRIALS, trial)
        });
        println!("| {runs} | {samples} | {:.1}% | {:.1}% |", rates[0], rates[1]);
    }
    println!("\nThe same when runs differ more than sampling explains (each share by 5% of itself):\n");
    println!("| runs a side | samples a run | alpha 0.01 |");
    println!("| ---: | ---: | ---: |");
    for runs in [1, 3, 5] {
        let given = options();
        let trial = |random: &mut Random| {
            compare(random, runs, 10_000, &shares(0, 1.0), 0.05, &given).significant().next().is_some()
        };
        println!("| {runs} | 10000 | {:.1}% |", rate(&mut random, FALSE_ALARM_TRIALS, trial));
    }
    println!("\nHow often a function that got slower is found (alpha 0.01, --min-effect 0):\n");
    println!("| its share | slower by | runs a side | 1k samples a run | 10k | 100k |");
    println!("| ---: | ---: | ---: | ---: | ---: | ---: |");
    for (rank, by, runs) in [(0, 5, 1), (3, 5, 1), (0, 5, 5), (3, 5, 5), (3, 10, 1), (3, 10, 5), (3, 50, 1)] {
        let slower = shares(rank, 1.0 + f64::from(by) / 100.0);
        let found = [1_000, 10_000, 100_000].map(|samples| {
            let given = options();
            let name = format!("f{rank:03}").into_bytes();
            let trial = |random: &mut Random| {
                let report = compare(random, runs, samples, &slower, 0.0, &given);
                report.significant().any(|row| row.name == name && row.own.points() > 0.0)
            };
            rate(&mut random, POWER_TRIALS, trial)
        });
        let share = 100.0 * shares(0, 1.0)[rank];
        println!("| {share:.0}% | {by}% | {runs} | {:.0}% | {:.0}% | {:.0}% |", found[0], found[1], found[2]);
    }
}

/// Every change that is significant counts, however small; a sample weighs 1.
fn options() -> ReportOptions {
    ReportOptions::default().min_effect(0.0).period(Weight::ONE)
}

/// The rate of an event, in percent.
fn rate(random: &mut Random, trials: u32, mut happens: impl FnMut(&mut Random) -> bool) -> f64 {
    let count = (0..trials).filter(|_| happens(random)).count();
    100.0 * count as f64 / f64::from(trials)
}

/// The share of each function in the work before, one over its rank; one function is slower.
fn shares(rank: usize, factor: f64) -> Vec<f64> {
    let plain: Vec<f64> = (0..FUNCTIONS).map(|n| 1.0 / (n as f64 + 1.0)).collect();
    let whole: f64 = plain.iter().sum();
    plain.iter().enumerate().map(|(n, x)| x / whole * if n == rank { factor } else { 1.0 }).collect()
}

/// Records the same program before and the given one after, and compares.
fn compare(
    random: &mut Random,
    runs: usize,
    samples: u32,
    after: &[f64],
    spread: f64,
    options: &ReportOptions,
) -> Report {
    let before = shares(0, 1.0);
    let mut side = |program: &[f64]| -> Vec<Profile> {
        (0..runs).map(|_| recording(random, program, samples, spread)).collect()
    };
    let (before, after) = (side(&before), side(after));
    let diff = Diff::of_runs(&before.iter().collect::<Vec<_>>(), &after.iter().collect::<Vec<_>>());
    diff.report_with(options).expect("counts fit")
}

/// A recording of a program; one that is slower takes as many more samples.
fn recording(random: &mut Random, program: &[f64], samples: u32, spread: f64) -> Profile {
    let moved: Vec<f64> =
        program.iter().map(|x| x * (1.0 + spread * random.normal())).map(|x| x.max(0.0)).collect();
    let mut profile = Profile::builder();
    for (n, hits) in random.recording(&moved, samples).into_iter().enumerate() {
        if hits > 0 {
            profile.add(["main", &format!("f{n:03}")], Weight::new(hits.into())).expect("counts fit");
        }
    }
    profile.finish().expect("counts fit")
}

/// The xorshift64* generator: good enough here, and needs no crate.
struct Random(u64);

impl Random {
    fn uniform(&mut self) -> f64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 11) as f64 / (1u64 << 53) as f64
    }

    fn normal(&mut self) -> f64 {
        (-2.0 * (1.0 - self.uniform()).ln()).sqrt() * (std::f64::consts::TAU * self.uniform()).cos()
    }

    /// The number of samples of each function.
    fn recording(&mut self, work: &[f64], samples: u32) -> Vec<u32> {
        let whole: f64 = work.iter().sum();
        let mut left = (f64::from(samples) * whole).round() as u32;
        let mut left_work = whole;
        let mut hits = Vec::with_capacity(work.len());
        for share in work {
            let p = if left_work > 0.0 { (share / left_work).clamp(0.0, 1.0) } else { 0.0 };
            let drawn = self.binomial(left, p);
            hits.push(drawn);
            left -= drawn;
            left_work -= share;
        }
        hits
    }

    /// A binomial number: exact for few expected hits, a normal approximation for many.
    fn binomial(&mut self, n: u32, p: f64) -> u32 {
        let mean = f64::from(n) * p;
        let deviation = (mean * (1.0 - p)).sqrt();
        if deviation > 10.0 {
            return (mean + deviation * self.normal()).round().clamp(0.0, n.into()) as u32;
        }
        if p > 0.5 {
            return n - self.binomial(n, 1.0 - p);
        }
        // Distances between hits are geometric.
        let (mut at, mut hits) = (0.0, 0);
        let scale = (1.0 - p).ln();
        if scale == 0.0 {
            return 0;
        }
        loop {
            at += ((1.0 - self.uniform()).ln() / scale).floor() + 1.0;
            if at > f64::from(n) {
                return hits;
            }
            hits += 1;
        }
    }
}
