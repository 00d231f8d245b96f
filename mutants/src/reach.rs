//! Runs every test once without a mutant, and notes which mutants it reaches and how long it takes.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use crate::program::{End, Program};
use crate::tree;

/// No test takes longer.
const LONGEST: Duration = Duration::from_secs(400);

/// A test that passes.
pub struct Test {
    pub program: usize,
    pub name: String,
    pub seconds: f64,
    /// Numbers of mutants.
    pub reaches: BTreeSet<u32>,
}

/// Notes of a former run are used as long as the program is the same file.
pub fn survey(programs: &[Program], folder: &Path, notes: &Path, jobs: usize) -> Result<Vec<Test>, String> {
    let mut all = Vec::new();
    for (at, program) in programs.iter().enumerate() {
        let names = program.tests(folder)?;
        let stamp = stamp(program)?;
        let file = notes.join(format!("{}.reach", program.name));
        let known = fs::read_to_string(&file).unwrap_or_default();
        if let Some(known) = known.strip_prefix(&stamp) {
            all.extend(known.lines().filter_map(|line| read(line, at)));
            continue;
        }
        eprintln!("{}: {} tests, each once without a mutant", program.name, names.len());
        let tests = each_once(at, program, &names, folder, notes, jobs);
        let lines: String = tests.iter().map(line).collect();
        tree::write(&file, format!("{stamp}{lines}").as_bytes())?;
        all.extend(tests);
    }
    Ok(all)
}

fn each_once(
    at: usize,
    program: &Program,
    names: &[String],
    folder: &Path,
    notes: &Path,
    jobs: usize,
) -> Vec<Test> {
    let next = AtomicUsize::new(0);
    let passed = Mutex::new(Vec::new());
    let work = |job: usize| {
        let list = notes.join(format!("reached.{job}"));
        while let Some(name) = names.get(next.fetch_add(1, Ordering::Relaxed)) {
            let _ = fs::remove_file(&list);
            let began = Instant::now();
            let end =
                program.run(folder, &[name], ("FG_MUTANT_REACHED", &list.display().to_string()), LONGEST);
            if end != End::Passed {
                eprintln!("{}: {name} fails without a mutant: it is not used", program.name);
                continue;
            }
            let seconds = began.elapsed().as_secs_f64();
            let reached = fs::read_to_string(&list).unwrap_or_default();
            let reaches = reached.lines().filter_map(|line| line.parse().ok()).collect();
            passed.lock().expect("no thread panics").push(Test {
                program: at,
                name: name.clone(),
                seconds,
                reaches,
            });
        }
    };
    let work = &work;
    std::thread::scope(|scope| (0..jobs).for_each(|job| drop(scope.spawn(move || work(job)))));
    let mut tests = passed.into_inner().expect("no thread panics");
    tests.sort_by(|one, other| one.name.cmp(&other.name));
    tests
}

fn stamp(program: &Program) -> Result<String, String> {
    let about = fs::metadata(&program.path).and_then(|about| Ok((about.len(), about.modified()?)));
    let (size, time) = about.map_err(|e| format!("{}: {e}", program.path.display()))?;
    Ok(format!("{} {size} {time:?}\n", program.path.display()))
}

fn line(test: &Test) -> String {
    let reaches: Vec<String> = test.reaches.iter().map(u32::to_string).collect();
    format!("{}\t{:.3}\t{}\n", test.name, test.seconds, reaches.join(" "))
}

fn read(line: &str, program: usize) -> Option<Test> {
    let mut fields = line.split('\t');
    let (name, seconds) = (fields.next()?.to_owned(), fields.next()?.parse().ok()?);
    let reaches = fields.next()?.split(' ').filter_map(|number| number.parse().ok()).collect();
    Some(Test { program, name, seconds, reaches })
}
