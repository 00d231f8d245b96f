//! Measures how often fg-diff's tests are wrong: compares profiles made by chance.
//!
//! ```sh
//! cargo run --release --example simulate-diff
//! ```
//! prints the tables of `docs/significance.md`. Numbers come from a fixed seed: every run prints
//! the same.

use fg_tools::diff::{Diff, Report, ReportOptions};
use fg_tools::profile::{Context, ProfileBuilder, Wants};
use fg_tools::{Profile, Weight};

/// The number of functions of a small program; `shares` makes them as uneven as real ones.
const FUNCTIONS: usize = 200;
const TRIALS: u32 = 400;
/// The alpha of all comparisons.
const ALPHA: f64 = 0.01;

fn main() {
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    println!("Share of comparisons without any true change that raise an alarm ({TRIALS} trials each):\n");
    println!("| program | samples a run | one a side | three a side | five a side |");
    println!("| --- | ---: | ---: | ---: | ---: |");
    let alarms: [(&str, Program); 4] = [
        ("steady", Program::default()),
        ("runs differ by 5% of a share", Program { spread: 0.05, ..Program::default() }),
        ("phases of 20 samples, times known", Program { phase: 20.0, times: true, ..Program::default() }),
        ("phases of 20 samples, times not known", Program { phase: 20.0, ..Program::default() }),
    ];
    for (name, program) in alarms {
        for samples in [1_000, 10_000] {
            let cells = [1, 3, 5].map(|runs| {
                let same = shares(0, 1.0);
                let found = rate(&mut random, |random| {
                    compare(random, runs, samples, &same, program).significant().next().is_some()
                });
                format!("{found:.1}%")
            });
            println!("| {name} | {samples} | {} |", cells.join(" | "));
        }
    }
    println!("\nHow often a function that got slower is found ({TRIALS} trials each):\n");
    println!("| program | its share | slower by | samples a run | one a side | three a side | five a side |");
    println!("| --- | ---: | ---: | ---: | ---: | ---: | ---: |");
    let spread = Program { spread: 0.05, ..Program::default() };
    let phases = Program { phase: 20.0, times: true, ..Program::default() };
    for (name, program) in [("steady", Program::default()), ("runs differ by 5%", spread), ("phases", phases)]
    {
        for (rank, by) in [(0, 10), (0, 20), (3, 20), (3, 50)] {
            for samples in [1_000, 10_000] {
                let slower = shares(rank, 1.0 + f64::from(by) / 100.0);
                let wanted = format!("f{rank:03}").into_bytes();
                let cells = [1, 3, 5].map(|runs| {
                    let found = rate(&mut random, |random| {
                        let report = compare(random, runs, samples, &slower, program);
                        report.significant().any(|row| row.name == wanted && row.own.points() > 0.0)
                    });
                    format!("{found:.0}%")
                });
                let share = 100.0 * shares(0, 1.0)[rank];
                println!("| {name} | {share:.0}% | {by}% | {samples} | {} |", cells.join(" | "));
            }
        }
    }
}

/// The ways in which recordings of a program differ from each other.
#[derive(Clone, Copy, Default)]
struct Program {
    /// The relative spread of each function's work from run to run.
    spread: f64,
    /// The mean length of a stay in one function, in samples; independent samples if 0.
    phase: f64,
    /// The times of samples are known.
    times: bool,
}

/// A sample weighs 1.
fn options() -> ReportOptions {
    ReportOptions::default().alpha(ALPHA).period(Weight::ONE)
}

/// The rate of an event, in percent.
fn rate(random: &mut Random, mut happens: impl FnMut(&mut Random) -> bool) -> f64 {
    let count = (0..TRIALS).filter(|_| happens(random)).count();
    100.0 * count as f64 / f64::from(TRIALS)
}

/// The share of each function in the work before, one over its rank; one function is slower.
fn shares(rank: usize, factor: f64) -> Vec<f64> {
    let plain: Vec<f64> = (0..FUNCTIONS).map(|n| 1.0 / (n as f64 + 1.0)).collect();
    let whole: f64 = plain.iter().sum();
    plain.iter().enumerate().map(|(n, x)| x / whole * if n == rank { factor } else { 1.0 }).collect()
}

/// Records the same program before and the given one after, and compares.
fn compare(random: &mut Random, runs: usize, samples: u32, after: &[f64], program: Program) -> Report {
    let before = shares(0, 1.0);
    let mut side = |work: &[f64]| -> Vec<Profile> {
        (0..runs).map(|_| recording(random, work, samples, program)).collect()
    };
    let (before, after) = (side(&before), side(after));
    let diff = Diff::of_runs(&before.iter().collect::<Vec<_>>(), &after.iter().collect::<Vec<_>>());
    diff.report_with(&options()).expect("counts fit")
}

/// A recording of a program; one that is slower takes as many more samples.
fn recording(random: &mut Random, work: &[f64], samples: u32, program: Program) -> Profile {
    let moved: Vec<f64> =
        work.iter().map(|x| x * (1.0 + program.spread * random.normal())).map(|x| x.max(0.0)).collect();
    let wants = if program.times { Wants::ALL } else { Wants::NOTHING };
    let mut profile = ProfileBuilder::new(wants);
    let name = |n: usize| format!("f{n:03}");
    if program.phase > 0.0 {
        let whole: f64 = moved.iter().sum();
        let count = (f64::from(samples) * whole).round() as u64;
        let (mut at, mut stay, mut function) = (0, 0.0, 0);
        while at < count {
            while stay <= 0.0 {
                function = random.pick(&moved, whole);
                stay += -program.phase * (1.0 - random.uniform()).ln();
            }
            let context = Context::UNKNOWN.at(at);
            profile.add_at(["main", &name(function)], Weight::ONE, &context).expect("counts fit");
            stay -= 1.0;
            at += 1;
        }
        return profile.finish().expect("counts fit");
    }
    for (n, hits) in random.recording(&moved, samples).into_iter().enumerate() {
        if hits > 0 {
            profile.add(["main", &name(n)], Weight::new(hits.into())).expect("counts fit");
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

    /// A function, with a probability of its share of the whole.
    fn pick(&mut self, work: &[f64], whole: f64) -> usize {
        let mut left = self.uniform() * whole;
        work.iter()
            .position(|x| {
                left -= x;
                left < 0.0
            })
            .unwrap_or(work.len() - 1)
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
