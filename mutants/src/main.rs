//! Mutation testing with one build: see README.md.

mod build;
mod equivalent;
mod program;
mod reach;
mod schema;
mod tree;
mod trial;
mod values;

use std::collections::{HashMap, HashSet};
use std::fs;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use build::Workshop;
use equivalent::Equivalents;
use schema::{Mutant, Schema};
use trial::{Court, Outcome};

const USAGE: &str = "\
usage: mutants/run [OPTION…] [FILE…]     files or the beginnings of their names; the core without one

  --sample N      try N of the mutants, at random (0: all of them; default 600)
  --seed N        the random numbers (default 1)
  --again FILE    try the mutants of a former list: lines FILE:LINE: CHANGE
  --budget S      seconds of tests for one mutant (default 90)
  --tests A,B     the tests, as cargo names them; lib are the unit tests; A:x are those of A whose names begin with x
                  (default lib,filter,collapse,diff,render,perf_data,output)
  --jobs N        mutants at once (default 2)
  --work FOLDER   where the copy, its build and the results are (default mutants/target/trials)
  --list          say which mutants there are, and end";

struct Options {
    sample: usize,
    seed: u64,
    again: Option<PathBuf>,
    budget: f64,
    tests: Vec<String>,
    jobs: usize,
    work: PathBuf,
    list: bool,
    files: Vec<String>,
}

fn options() -> Option<Options> {
    let split = |names: &str| names.split(',').map(str::to_owned).collect();
    let mut options = Options {
        sample: 600,
        seed: 1,
        again: None,
        budget: 90.0,
        tests: split("lib,filter,collapse,diff,render,perf_data,output"),
        jobs: 2,
        work: build::root().join("mutants/target/trials"),
        list: false,
        files: Vec::new(),
    };
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--list" => options.list = true,
            "--sample" => options.sample = arguments.next()?.parse().ok()?,
            "--seed" => options.seed = arguments.next()?.parse().ok()?,
            "--again" => options.again = Some(arguments.next()?.into()),
            "--budget" => options.budget = arguments.next()?.parse().ok()?,
            "--tests" => options.tests = split(&arguments.next()?),
            "--jobs" => options.jobs = arguments.next()?.parse().ok().filter(|&jobs| jobs > 0)?,
            "--work" => options.work = std::path::absolute(arguments.next()?).ok()?,
            name if name.starts_with('-') => return None,
            name => options.files.push(name.to_owned()),
        }
    }
    Some(options)
}

fn main() -> ExitCode {
    let Some(options) = options() else {
        eprintln!("{USAGE}");
        return ExitCode::from(2);
    };
    match run(&options) {
        Ok(0) => ExitCode::SUCCESS,
        Ok(_) => ExitCode::from(1),
        Err(error) => {
            eprintln!("mutants: {error}");
            ExitCode::from(2)
        }
    }
}

/// Returns how many mutants are missed.
fn run(options: &Options) -> Result<usize, String> {
    let root = build::root();
    let files = tree::files(&root, &options.files)?;
    if files.is_empty() {
        return Err(format!("no source file begins with {}", options.files.join(" or ")));
    }
    let mut mutants = Vec::new();
    let mut schemas = Vec::new();
    for file in &files {
        let source = fs::read_to_string(root.join(file)).map_err(|e| format!("{file}: {e}"))?;
        schemas.push(Schema::of(file, &source, &mut mutants).map_err(|e| format!("{file}: {e}"))?);
    }
    let equivalents = Equivalents::read(&root.join("mutants/equivalent.txt"))?;
    for line in equivalents.stale(&files, &mutants) {
        eprintln!("mutants/equivalent.txt:{line}: there is no such mutant any more");
    }
    if options.list {
        mutants.iter().for_each(|mutant| println!("{}", described(mutant)));
        return Ok(0);
    }

    let workshop = Workshop { folder: options.work.clone() };
    let mut mutated: HashSet<String> = files.iter().cloned().collect();
    mutated.insert("src/lib.rs".to_owned());
    tree::copy(&root, &workshop.tree(), &mutated)?;
    let library = fs::read_to_string(root.join("src/lib.rs")).map_err(|e| format!("src/lib.rs: {e}"))?;
    tree::write(&workshop.tree().join("src/lib.rs"), format!("{library}\nmod mutant;\n").as_bytes())?;
    tree::write(&workshop.tree().join("src/mutant.rs"), include_bytes!("switch.rs"))?;
    let dropped = workshop.build(&schemas, &mutants)?;
    let programs = workshop.programs(&options.tests)?;
    let tests = reach::survey(&programs, &workshop.tree(), &options.work, options.jobs)?;

    let chosen = choose(options, &mutants, &dropped)?;
    println!(
        "{} mutants in {} files, {} do not compile; {} are tried on {} tests",
        mutants.len(),
        files.len(),
        dropped.len(),
        chosen.len(),
        tests.len()
    );
    let court = Court {
        programs: &programs,
        tests: &tests,
        folder: &workshop.tree(),
        budget: options.budget,
        caught: Mutex::new(HashMap::new()),
    };
    let counts = try_all(options, &court, &mutants, &chosen, &equivalents);
    report(&counts)?;
    let missed: Vec<String> = counts.missed.iter().map(|line| format!("{line}\n")).collect();
    tree::write(&options.work.join("missed"), missed.concat().as_bytes())?;
    Ok(counts.missed.len())
}

fn described(mutant: &Mutant) -> String {
    format!("{}:{}: {}", mutant.file, mutant.line, mutant.change)
}

/// The indices of the mutants to try.
fn choose(options: &Options, mutants: &[Mutant], dropped: &HashSet<usize>) -> Result<Vec<usize>, String> {
    let mut all: Vec<usize> = (0..mutants.len()).filter(|at| !dropped.contains(at)).collect();
    if let Some(path) = &options.again {
        let list = fs::read_to_string(path).map_err(|e| format!("{}: {e}", path.display()))?;
        let lines: HashSet<&str> = list.lines().collect();
        let known: HashSet<String> = all.iter().map(|&at| described(&mutants[at])).collect();
        // Where lines have moved since, file and change are enough.
        let key = |line: &str| {
            let (place, change) = line.split_once(": ")?;
            Some((place.split(':').next().unwrap_or(place).to_owned(), change.to_owned()))
        };
        let moved = lines.iter().filter(|line| !known.contains(**line));
        let moved: HashSet<(String, String)> = moved.filter_map(|line| key(line)).collect();
        all.retain(|&at| {
            let mutant = &mutants[at];
            lines.contains(described(mutant).as_str())
                || moved.contains(&(mutant.file.clone(), mutant.change.clone()))
        });
        return Ok(all);
    }
    if options.sample > 0 && options.sample < all.len() {
        let mut state = options.seed;
        for at in 0..options.sample {
            // SplitMix64.
            state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mut bits = state;
            bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            let other = at + ((bits ^ (bits >> 31)) % (all.len() - at) as u64) as usize;
            all.swap(at, other);
        }
        all.truncate(options.sample);
    }
    Ok(all)
}

#[derive(Default)]
struct Counts {
    caught: usize,
    too_long: usize,
    equivalent: usize,
    missed: Vec<String>,
}

fn try_all(
    options: &Options,
    court: &Court<'_>,
    mutants: &[Mutant],
    chosen: &[usize],
    equivalents: &Equivalents,
) -> Counts {
    let next = AtomicUsize::new(0);
    let counts = Mutex::new(Counts::default());
    let work = || {
        while let Some(&at) = chosen.get(next.fetch_add(1, Ordering::Relaxed)) {
            let mutant = &mutants[at];
            let outcome = match equivalents.has(mutant) {
                true => None,
                false => Some(court.try_mutant(u32::try_from(at + 1).expect("few mutants"), &mutant.file)),
            };
            let mut counts = counts.lock().expect("no thread panics");
            let said = described(mutant);
            match outcome {
                None => {
                    counts.equivalent += 1;
                    println!("equivalent {said}");
                }
                Some(Outcome::Caught(by)) => {
                    counts.caught += 1;
                    println!("caught {said} ({by})");
                }
                Some(Outcome::TooLong(by)) => {
                    counts.too_long += 1;
                    println!("hangs {said} ({by})");
                }
                Some(Outcome::Missed(ran, reach)) => {
                    println!("MISSED {said} ({ran} of {reach} tests)\n    {}", mutant.text);
                    counts.missed.push(said);
                }
            }
        }
    };
    let work = &work;
    std::thread::scope(|scope| (0..options.jobs).for_each(|_| drop(scope.spawn(work))));
    let mut counts = counts.into_inner().expect("no thread panics");
    counts.missed.sort();
    counts
}

fn report(counts: &Counts) -> Result<(), String> {
    let caught = counts.caught + counts.too_long;
    let all = caught + counts.missed.len();
    println!("\n{} missed:", counts.missed.len());
    counts.missed.iter().for_each(|line| println!("{line}"));
    let (low, high) = wilson(caught, all);
    println!(
        "\n{caught} of {all} caught ({} of them by a limit of time), {:.1} %, 95 % interval {:.1} to {:.1} %; {} more are equivalent",
        counts.too_long,
        caught as f64 * 100.0 / all.max(1) as f64,
        low * 100.0,
        high * 100.0,
        counts.equivalent
    );
    Ok(())
}

/// The interval of a proportion after Wilson, at 95 %.
fn wilson(yes: usize, all: usize) -> (f64, f64) {
    if all == 0 {
        return (0.0, 1.0);
    }
    let (n, z) = (all as f64, 1.96);
    let p = yes as f64 / n;
    let middle = (p + z * z / (2.0 * n)) / (1.0 + z * z / n);
    let half = z * (p * (1.0 - p) / n + z * z / (4.0 * n * n)).sqrt() / (1.0 + z * z / n);
    (middle - half, middle + half)
}
