//! `--alloc`: the stacks that allocate, beside what the program itself knows of its allocations.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use super::{compiled, fg_record, in_time, recorded, skip, stacks, text, works};

/// Allocates in functions of its own, each a known amount, and writes down nothing. Its arguments are the number
/// of rounds, and whether a child goes on.
const PROGRAM: &str = r#"
#define _GNU_SOURCE
#include <malloc.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#define OWN __attribute__((noinline, noclone))
static void *volatile kept[64];
static volatile int x;
/* What is called before the return keeps it from becoming a jump. */
OWN static void *own(void *p) { x++; return p; }
OWN void *small(void) { void *p = malloc(1000); return own(p); }
OWN void *zeroed(void) { void *p = calloc(10, 50); return own(p); }
OWN void *grown(void *p) { p = realloc(p, 3000); return own(p); }
OWN void *aligned(void) { void *p = 0; if (posix_memalign(&p, 64, 640)) abort(); return own(p); }
OWN void *of_c11(void) { void *p = aligned_alloc(128, 1280); return own(p); }
OWN void *large(void) { void *p = malloc(5000000); return own(p); }
OWN void *too_large(void) { void *p = malloc((size_t)1 << 62); return own(p); }
OWN void *twice_too_large(void *p) { void *q = realloc(p, (size_t)1 << 62); if (q) abort(); return own(p); }
OWN void released(long n) { for (long i = 0; i < n; i++) { free(small()); free(zeroed()); free(aligned()); free(of_c11()); } }
OWN void held(void) {
  kept[0] = small();
  kept[1] = grown(small());
  kept[2] = large();
  kept[3] = twice_too_large(small());
  free(too_large());
  free(0);
  kept[4] = realloc(0, 0);
  memset(kept[2], 1, 5000000);
}
static void *in_thread(void *n) { released((long)n); return 0; }
int main(int argc, char **argv) {
  long n = atol(argv[1]);
  held();
  pthread_t threads[4];
  for (int i = 0; i < 4; i++) pthread_create(threads + i, 0, in_thread, (void *)n);
  for (int i = 0; i < 4; i++) pthread_join(threads[i], 0);
  if (argc > 2) {
    if (!fork()) { free(kept[0]); for (int i = 0; i < 10; i++) kept[10 + i] = small(); free(small()); _exit(0); }
    wait(0);
  }
  return 7;
}
"#;

fn program() -> Option<&'static Path> {
    static BUILT: super::Built = super::Built::new();
    if !cfg!(target_arch = "x86_64") {
        skip("--alloc is for x86-64");
        return None;
    }
    compiled(&BUILT, "allocates", PROGRAM)
}

/// The weights by the function that allocates.
fn by_function(folded: &str) -> BTreeMap<String, u64> {
    let mut sums = BTreeMap::new();
    for line in stacks(folded).lines() {
        let (stack, weight) = line.rsplit_once(' ').expect("a folded line");
        let functions =
            ["small", "zeroed", "grown", "aligned", "of_c11", "large", "too_large", "twice_too_large"];
        let found = stack.split(';').rev().find(|frame| functions.contains(frame));
        if let Some(function) = found {
            assert!(stack.contains(";main;") || stack.contains(";in_thread;"), "{line}");
            *sums.entry(function.to_owned()).or_default() += weight.parse::<u64>().expect("a whole number");
        }
    }
    sums
}

fn expected(all: &[(&str, u64)]) -> BTreeMap<String, u64> {
    all.iter().map(|(name, weight)| ((*name).to_owned(), *weight)).collect()
}

/// The output of a recording of allocations; `None` if the system has no breakpoints for us.
fn allocations(command: &mut Command) -> Option<Output> {
    let output = recorded(command)?;
    if text(&output.stderr).contains("hardware breakpoint") {
        skip(text(&output.stderr));
        return None;
    }
    Some(output)
}

/// Returns true if a busy machine had no room for some samples.
fn has_losses(output: &Output) -> bool {
    text(&output.stderr).contains(" samples were lost")
}

#[test]
fn every_allocation_is_counted_where_it_was_made() {
    let Some(program) = program() else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("perf.data");
    let record = |_: &str| {
        let mut command = fg_record();
        command.args(["--alloc", "-c", "1", "--raw", "-o"]).arg(&path);
        allocations(command.arg("--").arg(program).args(["10", "child"]))
    };
    let Some(output) = in_time(record, |output| !has_losses(output)) else { return };
    if has_losses(&output) {
        return skip("samples are lost here");
    }
    assert_eq!(output.status.code(), Some(7), "{output:?}");
    let collapse = |value: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_fg-collapse"));
        let output = command.args(["--value", value]).arg(&path).output().expect("fg-collapse starts");
        assert_eq!(text(&output.stderr), "", "{value}");
        text(&output.stdout)
    };
    let bytes = collapse("alloc_space");
    assert!(bytes.contains("# unit: bytes\n") && bytes.contains("# event: alloc_space\n"), "{bytes}");
    let all = [
        // 3 in `held`, 10 in each of 4 threads, 11 in the child.
        ("small", 54_000),
        ("zeroed", 20_000),
        ("grown", 3000),
        ("aligned", 25_600),
        ("of_c11", 51_200),
        ("large", 5_000_000),
    ];
    assert_eq!(by_function(&bytes), expected(&all), "{bytes}");
    let count = collapse("alloc_objects");
    assert!(count.contains("# unit: objects\n"), "{count}");
    let all = [("small", 54), ("zeroed", 40), ("grown", 1), ("aligned", 40), ("of_c11", 40), ("large", 1)];
    assert_eq!(by_function(&count), expected(&all), "{count}");
    // What the child releases is its parent's still, and it tells of its own although it ends by `_exit`;
    // `realloc` has failed, and released nothing.
    let live = collapse("inuse_space");
    let all = [("small", 12_000), ("grown", 3000), ("large", 5_000_000)];
    assert_eq!(by_function(&live), expected(&all), "{live}");
    let live = collapse("inuse_objects");
    assert_eq!(by_function(&live), expected(&[("small", 12), ("grown", 1), ("large", 1)]), "{live}");
}

#[test]
fn samples_of_allocations_stand_for_all() {
    let Some(program) = program() else { return };
    let rounds = 20_000u64;
    for mean in [Some("131072"), None] {
        let record = |_: &str| {
            let mut command = fg_record();
            command.arg("--alloc=all").args(mean.map(|mean| format!("-c{mean}"))).arg("--").arg(program);
            allocations(command.arg(rounds.to_string()))
        };
        let Some(output) = in_time(record, |output| !has_losses(output)) else { return };
        let folded = text(&output.stdout);
        let said = text(&output.stderr);
        if has_losses(&output) {
            return skip("samples are lost here");
        }
        let of = |value: &str| {
            let lines = folded.lines().filter(|line| line.starts_with(&format!("{value};")));
            by_function(&lines.collect::<Vec<&str>>().join("\n"))
        };
        let (bytes, count, live) = (of("alloc_space"), of("alloc_objects"), of("inuse_space"));
        let is_near = |sum: u64, right: u64, most: f64| {
            let ratio = sum as f64 / right as f64;
            assert!((ratio - 1.0).abs() < most, "{sum} of {right}: {said}\n{folded}");
        };
        let blocks = [("small", 1000), ("zeroed", 500), ("aligned", 640), ("of_c11", 1280)];
        let sum = |sums: &BTreeMap<String, u64>| blocks.iter().filter_map(|(name, _)| sums.get(*name)).sum();
        // Some hundred samples at least, whatever the rate.
        is_near(sum(&bytes), 4 * rounds * 3420, 0.6);
        is_near(sum(&count), 4 * rounds * 4, 0.6);
        for (function, size) in blocks.into_iter().filter(|_| mean.is_some()) {
            // Some 300 samples of the least of them: six times their standard deviation.
            is_near(bytes[function], 4 * rounds * size, 0.35);
            is_near(count[function], 4 * rounds, 0.35);
        }
        // What is larger than the mean is a sample.
        assert_eq!((bytes["large"], count["large"], live["large"]), (5_000_000, 1, 5_000_000), "{folded}");
    }
}

/// Once in 512 KiB would be 5,200 samples; some thousand are granted, as a program may end soon (issue 41).
#[test]
fn samples_of_a_second_are_bounded() {
    let Some(program) = program() else { return };
    let began = std::time::Instant::now();
    let Some(output) = allocations(fg_record().arg("--alloc").arg("--").arg(program).arg("200000")) else {
        return;
    };
    // A hundred, those that are granted, and those before the rate is known.
    let most = 100.0 * began.elapsed().as_secs_f64() + 2048.0 + 200.0;
    let folded = text(&output.stdout);
    let samples = folded.lines().find_map(|line| line.strip_prefix("# samples: ")?.split(' ').next());
    let samples: f64 = samples.expect("their number").replace(',', "").parse().expect("a number");
    let least = if has_losses(&output) { 1.0 } else { 400.0 };
    assert!((least..most).contains(&samples), "{samples} of at most {most}: {folded}");
    assert!(folded.contains("an estimate from samples, the whole ±"), "{folded}");
}

/// Issue 41: the error named an option of another program.
#[test]
fn nothing_held_is_said_in_words_of_this_program() {
    static BUILT: super::Built = super::Built::new();
    let source =
        "#include <stdlib.h>\nint main(void) { void *volatile p = malloc(3000000); free(p); return 0; }";
    let Some(program) = compiled(&BUILT, "frees", source) else { return };
    let Some(output) = allocations(fg_record().arg("--alloc=live").arg("--").arg(program)) else { return };
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("--alloc=bytes shows what was allocated") && !said.contains("--value"), "{said}");
}

#[test]
fn programs_without_the_library_are_named() {
    let Some(program) = program() else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let (source, fixed) = (folder.path().join("fixed.c"), folder.path().join("fixed"));
    fs::write(&source, PROGRAM).expect("a source");
    let built = Command::new("cc").args(["-static", "-pthread", "-o"]).arg(&fixed).arg(&source).output();
    if !works("cc") || !built.expect("cc starts").status.success() {
        return skip("nothing is linked statically here");
    }
    let script = format!("{} 1; {} 10", fixed.display(), program.display());
    let record = |_: &str| {
        let mut command = fg_record();
        command.args(["--alloc", "-c", "1", "--call-graph", "dwarf,1024", "--", "sh", "-c", &script]);
        allocations(&mut command)
    };
    let Some(output) = in_time(record, |output| !has_losses(output)) else { return };
    if has_losses(&output) {
        return skip("samples are lost here");
    }
    assert_eq!(output.status.code(), Some(7), "{output:?}");
    let said = text(&output.stderr);
    assert!(said.contains("1 of 3 programs did not load the library of --alloc"), "{said}");
    assert!(said.contains(" not seen: fixed (linked statically"), "{said}");
    assert_eq!(by_function(&text(&output.stdout))["small"], 43_000);
    let mut alone = fg_record();
    let Some(output) = allocations(alone.args(["--alloc", "--"]).arg(&fixed).arg("1")) else { return };
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    assert!(text(&output.stderr).contains("no allocation was sampled"), "{output:?}");
}

#[test]
fn allocations_are_not_recorded_of_what_runs_already() {
    for (arguments, why) in [
        (&["--alloc", "-p", "1"][..], "--alloc begins with the program"),
        (&["--alloc", "-a", "true"], "--alloc begins with the program"),
        (&["--alloc", "--call-graph", "fp", "true"], "--alloc finds stacks from a copy"),
        (&["--alloc=live", "--every", "1s", "-o", "%S.folded", "true"], "what is held is known at the end"),
        (&["--alloc", "--wall", "true"], "cannot be used with"),
        (&["--alloc=heap", "true"], "invalid value 'heap'"),
    ] {
        let output = fg_record().args(arguments).output().expect("fg-record starts");
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {output:?}");
        assert!(text(&output.stderr).contains(why), "{arguments:?}: {output:?}");
    }
}
