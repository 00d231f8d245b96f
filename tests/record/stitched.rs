//! Stacks longer than what is recorded of them, against a program whose leaf tells its callers.

use std::path::Path;
use std::process::Output;

use super::{Built, compiled, fg_record, recorded, stacks, text};

/// A recursion that is entered by one function or by two in turn, which look the same from within.
const PROGRAM: &str = r#"
#include <stdlib.h>
static volatile unsigned long x;
__attribute__((noinline)) void leaf_of_one(int n) { for (int i = 0; i < n; i++) x = x * 31 + i; x++; }
__attribute__((noinline)) void leaf_of_two(int n) { for (int i = 0; i < n; i++) x = x * 31 + i; x += 2; }
__attribute__((noinline)) int deeper(int depth, int n, int which) {
  volatile char frame[96];
  frame[depth % 96] = 1;
  if (which == 1) leaf_of_one(n); else leaf_of_two(n);
  if (depth == 0) return 1;
  return deeper(depth - 1, n, which) + frame[depth % 96];
}
__attribute__((noinline)) int one(int depth, int n) { return deeper(depth, n, 1) + 1; }
__attribute__((noinline)) int two(int depth, int n) { return deeper(depth, n, 2) + 2; }
int main(int argc, char **argv) {
  int both = argc > 1, sum = 0;
  for (int i = 0; i < 1500; i++) {
    sum += one(999, 250);
    if (both) sum += two(999, 250);
  }
  return sum == 0;
}
"#;

fn program() -> Option<&'static Path> {
    static BUILT: Built = Built::new();
    compiled(&BUILT, "deep", PROGRAM)
}

/// The weight of the stacks that satisfy a condition, of all.
fn share_of(folded: &str, is: impl Fn(&str) -> bool) -> f64 {
    share_among(folded, |_| true, is)
}

/// The weight of the stacks that satisfy a condition, of those that satisfy another: a machine has more
/// to do than the program, which is loaded, ended and interrupted, and may have no time for samples.
fn share_among(folded: &str, among: impl Fn(&str) -> bool, is: impl Fn(&str) -> bool) -> f64 {
    let (mut with, mut all) = (0.0, 0.0);
    for (stack, weight) in stacks(folded).lines().filter_map(|line| line.rsplit_once(' ')) {
        let weight: f64 = weight.parse().expect("a weight");
        if among(stack) && !stack.contains("[not sampled]") {
            all += weight;
            with += if is(stack) { weight } else { 0.0 };
        }
    }
    with / all
}

#[test]
fn cut_stacks_of_a_recursion_of_1000_reach_main() {
    let Some(program) = program() else { return };
    let mut command = fg_record();
    let Some(output) = recorded(command.arg("-v").arg("--").arg(program)) else { return };
    let folded = text(&output.stdout);
    let in_leaf = |stack: &str| stack.contains(";leaf_of_one");
    assert!(share_of(&folded, in_leaf) > 0.5, "{folded}");
    let whole = share_among(&folded, in_leaf, |stack| stack.contains(";main;one;deeper;"));
    // A copy holds a fifth of the recursion: without the callers from other stacks the rest is cut.
    assert!(whole > 0.6, "{whole} {}\n{folded}", text(&output.stderr));
    // As much time is spent below as above the middle of the recursion.
    let depth = |stack: &str| stack.split(';').filter(|name| *name == "deeper").count();
    let below = share_among(&folded, in_leaf, |stack| depth(stack) > 500);
    assert!((0.2..0.8).contains(&below), "{below}\n{folded}");
    assert!(share_of(&folded, |stack| depth(stack) > 1000) == 0.0, "{folded}");
    assert!(
        text(&output.stderr).contains("have their callers from other stacks"),
        "{}",
        text(&output.stderr)
    );
}

#[test]
fn a_recursion_with_two_callers_stays_cut_rather_than_wrong() {
    let Some(program) = program() else { return };
    let Some(output) = recorded(fg_record().arg("--").arg(program).arg("both")) else { return };
    let folded = text(&output.stdout);
    for (leaf, other) in [("leaf_of_one", ";two;"), ("leaf_of_two", ";one;")] {
        let is_wrong = |stack: &str| stack.ends_with(leaf) && stack.contains(other);
        assert!(share_of(&folded, is_wrong) == 0.0, "{folded}");
        assert!(share_of(&folded, |stack| stack.ends_with(leaf)) > 0.0, "{folded}");
    }
    assert!(share_of(&folded, |stack| stack.contains("[truncated]")) > 0.3, "{}", text(&output.stderr));
}

/// Frames that are larger than what the kernel copies: their callers are read from the program's memory.
#[test]
fn callers_behind_large_frames_are_found() {
    const LARGE: &str = r#"
#include <stdlib.h>
static volatile unsigned long x;
__attribute__((noinline)) void leaf(long n) { for (long i = 0; i < n; i++) x = x * 31 + i; x++; }
__attribute__((noinline)) void later(long n) { for (long i = 0; i < n; i++) x = x * 31 + i; x += 2; }
__attribute__((noinline)) void phases(int n) {
  volatile char large[200000];
  for (int i = 0; i < 200000; i++) large[i] = i;
  for (int i = 0; i < n; i++) { leaf(20000000); large[i] = 2; later(20000000); }
  x += large[7];
}
__attribute__((noinline)) void outer(int n) { volatile char large[100000]; large[7] = 1; phases(n); x += large[7]; }
int main(int argc, char **argv) { outer(atoi(argv[1])); return 0; }
"#;
    static BUILT: Built = Built::new();
    let Some(program) = compiled(&BUILT, "large", LARGE) else { return };
    let whole = |output: &Output, leaf: &str| {
        let (ending, path) = (format!(";{leaf}"), format!(";main;outer;phases;{leaf}"));
        share_among(&text(&output.stdout), |stack| stack.ends_with(&ending), |stack| stack.ends_with(&path))
    };
    let are_whole = |output: &Output| ["leaf", "later"].iter().all(|leaf| whole(output, leaf) > 0.9);
    let record =
        |rounds| recorded(fg_record().args(["-v", "-e", "cpu-clock:u", "--"]).arg(program).arg(rounds));
    let Some(output) = before_it_ends(["10", "60", "300"], record, are_whole) else { return };
    assert!(are_whole(&output), "{output:?}");
}

/// Repeats the recording of a program with ever more to do until what it gives is right: memory is read while the
/// program runs, and on a busy machine it may end before the recorder has its turn.
fn before_it_ends<'a>(
    efforts: [&'a str; 3],
    record: impl Fn(&'a str) -> Option<Output>,
    is_right: impl Fn(&Output) -> bool,
) -> Option<Output> {
    let mut output = None;
    for effort in efforts {
        output = Some(record(effort)?);
        if output.as_ref().is_some_and(&is_right) {
            break;
        }
    }
    output
}

/// Two callers in turn: by the time that memory is read it may be the other's turn.
#[test]
fn memory_that_tells_of_two_callers_is_not_believed() {
    const TURNS: &str = r#"
static volatile unsigned long x;
__attribute__((noinline)) void leaf_of_one(long n) { for (long i = 0; i < n; i++) x = x * 31 + i; x++; }
__attribute__((noinline)) void leaf_of_two(long n) { for (long i = 0; i < n; i++) x = x * 31 + i; x += 2; }
__attribute__((noinline)) void work(void (*leaf)(long)) { volatile char large[90000]; large[9] = 1; leaf(2000000); x += large[9]; }
__attribute__((noinline)) void one(void) { work(leaf_of_one); x += 1; }
__attribute__((noinline)) void two(void) { work(leaf_of_two); x += 2; }
int main(void) { for (int i = 0; i < 200; i++) { one(); two(); } return 0; }
"#;
    static BUILT: Built = Built::new();
    let Some(program) = compiled(&BUILT, "turns", TURNS) else { return };
    let Some(output) = recorded(fg_record().args(["-e", "cpu-clock:u", "--"]).arg(program)) else { return };
    let folded = text(&output.stdout);
    for (leaf, other) in [("leaf_of_one", ";two;"), ("leaf_of_two", ";one;")] {
        let wrong = share_of(&folded, |stack| stack.ends_with(leaf) && stack.contains(other));
        assert!(wrong == 0.0, "{folded}");
        assert!(share_of(&folded, |stack| stack.ends_with(leaf)) > 0.0, "{folded}");
    }
}

/// A signal handler on a stack of its own: the kernel copies that one alone.
#[test]
fn stacks_that_go_on_on_another_stack_are_whole_or_said_not_to_be() {
    const HANDLES: &str = r#"
#define _GNU_SOURCE
#include <signal.h>
#include <stdlib.h>
static volatile unsigned long x;
__attribute__((noinline)) void hot(long n) { for (long i = 0; i < n; i++) x = x * 31 + i; }
static long n;
static void handler(int number) { hot(n); x += number; }
int main(int argc, char **argv) {
  n = atol(argv[1]) * 1000000;
  stack_t other = {.ss_sp = malloc(1 << 17), .ss_size = 1 << 17};
  struct sigaction action = {.sa_handler = handler, .sa_flags = SA_ONSTACK};
  if (sigaltstack(&other, 0) || sigaction(SIGUSR1, &action, 0)) return 1;
  raise(SIGUSR1);
  return 0;
}
"#;
    static BUILT: Built = Built::new();
    let Some(program) = compiled(&BUILT, "handles", HANDLES) else { return };
    let run = |options: &[&str], millions: &str| {
        let mut command = fg_record();
        recorded(command.args(["-e", "cpu-clock:u"]).args(options).arg("--").arg(program).arg(millions))
    };
    let in_hot = |stack: &str| stack.ends_with(";hot");
    let are_whole = |output: &Output| {
        let is_whole = |stack: &str| stack.contains(";main;") && stack.ends_with(";handler;hot");
        share_among(&text(&output.stdout), in_hot, is_whole) > 0.9
    };
    let Some(output) = before_it_ends(["300", "2000", "10000"], |n| run(&[], n), are_whole) else { return };
    assert!(are_whole(&output), "{output:?}");
    // A recording that is read later has the copies alone.
    let folder = tempfile::tempdir().expect("a folder");
    let recording = folder.path().join("perf.data");
    let Some(_) = run(&["--raw", "-o", &recording.to_string_lossy()], "300") else { return };
    let output = std::process::Command::new(env!("CARGO_BIN_EXE_fg-collapse")).arg(&recording).output();
    let output = output.expect("fg-collapse starts");
    let (folded, said) = (text(&output.stdout), text(&output.stderr));
    assert!(share_among(&folded, in_hot, |stack| stack.ends_with(";handler;hot")) > 0.9, "{folded}");
    assert!(said.contains("most as the stack of their callers was not copied: signal handlers"), "{said}");
}

/// Programs whose beginning has no unwind tables: as in C libraries that are built without them, and as in the loader, whose
/// first call has the number of arguments above its return address.
#[test]
fn a_program_without_tables_for_its_beginning_is_whole() {
    const BEGINS: &str = r#"
#if defined LOADER && defined __x86_64__
asm(".globl _start\n_start: mov %rsp,%rdi\n call begin\n_start_user: hlt\n");
#define END asm volatile("syscall" :: "a"(60), "D"(0))
#elif defined __x86_64__
asm(".globl _start\n.type _start,@function\n_start: xor %ebp,%ebp\n and $-16,%rsp\n call begin\n hlt\n");
#define END asm volatile("syscall" :: "a"(60), "D"(0))
#elif defined __aarch64__
asm(".globl _start\n.type _start,@function\n_start: mov x29,#0\n bl begin\n brk #0\n");
#define END asm volatile("mov x8,#93\n mov x0,#0\n svc #0" ::: "x0", "x8")
#endif
static volatile unsigned long x;
__attribute__((noinline)) void hot(long n) { for (long i = 0; i < n; i++) x = x * 31 + i; }
void begin(void) { hot(300000000); END; for (;;) ; }
"#;
    if !cfg!(any(target_arch = "x86_64", target_arch = "aarch64")) || !super::installed::works("cc") {
        return super::skip::skip("there is no program for this processor");
    }
    let folder = tempfile::tempdir().expect("a folder");
    let (source, program) = (folder.path().join("begins.c"), folder.path().join("begins"));
    std::fs::write(&source, BEGINS).expect("a source");
    for how in ["-DLIBRARY", "-DLOADER"] {
        let mut compiler = std::process::Command::new("cc");
        compiler
            .args([how, "-O1", "-nostdlib", "-static", "-fasynchronous-unwind-tables", "-o"])
            .arg(&program)
            .arg(&source);
        assert!(compiler.status().expect("cc starts").success());
        // The loader's names are in another file, if anywhere.
        if how == "-DLOADER" {
            let strip = std::process::Command::new("strip").arg(&program).status();
            assert!(strip.expect("strip is there where cc is").success());
        }
        let Some(output) = recorded(fg_record().args(["-v", "-e", "cpu-clock:u", "--"]).arg(&program)) else {
            return;
        };
        let (folded, said) = (text(&output.stdout), text(&output.stderr));
        let whole = share_of(&folded, |stack| match how {
            // Its functions are told apart by their starts, but for the first, which has no tables.
            "-DLOADER" => stack.starts_with("begins;[begins];[begins+0x") && stack.matches(';').count() == 3,
            _ => stack == "begins;_start;begin;hot",
        });
        assert!(whole > 0.9, "{how}: {whole}\n{folded}");
        assert!(said.contains(" 0% of the weight is in stacks that end before their root"), "{how}: {said}");
    }
}

/// A program whose frame is larger than the largest copy of a stack, which computes for fewer samples than are
/// unwound at a time, and is still there for so many seconds.
const SHORT: &str = r#"
#include <stdlib.h>
#include <time.h>
static volatile unsigned long x;
__attribute__((noinline)) void briefly(void) {
  clock_t end = clock() + CLOCKS_PER_SEC / 20;
  while (clock() < end) for (int i = 0; i < 1000; i++) x = x * 31 + i;
  x++;
}
__attribute__((noinline)) int large(int seconds) {
  volatile char frame[200000];
  for (int i = 0; i < 200000; i++) frame[i] = 1;
  briefly();
  struct timespec wait = {seconds, 0};
  nanosleep(&wait, 0);
  return frame[199999];
}
int main(int argc, char **argv) { return large(atoi(argv[1])) != 1; }
"#;

/// Issue 41: 200 kB deep frames were whole after 1.7 s, and never in a run of 0.11 s.
#[test]
fn a_short_run_has_its_callers_from_the_memory_of_the_program() {
    static BUILT: Built = Built::new();
    let Some(program) = compiled(&BUILT, "short", SHORT) else { return };
    let is_whole = |output: &Output| {
        let is_meant = |stack: &str| stack.contains(";briefly");
        share_among(&text(&output.stdout), is_meant, |stack| stack.contains("main;large;briefly")) > 0.9
    };
    let record = |seconds| recorded(fg_record().arg("--").arg(program).arg(seconds));
    let Some(output) = before_it_ends(["2", "10", "30"], record, is_whole) else { return };
    assert!(is_whole(&output), "{output:?}");
}

/// Issue 41: a copy of 65,528 bytes was advised for frames that are larger.
#[test]
fn no_larger_copy_is_advised_where_none_is_large_enough() {
    static BUILT: Built = Built::new();
    let Some(program) = compiled(&BUILT, "short", SHORT) else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let data = folder.path().join("perf.data");
    let mut command = fg_record();
    command.args(["--raw", "--call-graph", "dwarf,8192", "-o"]).arg(&data).arg("--").arg(program).arg("0");
    if recorded(&mut command).is_none() {
        return;
    }
    let read = std::process::Command::new(env!("CARGO_BIN_EXE_fg-collapse")).arg(&data).output();
    let said = text(&read.expect("it starts").stderr);
    assert!(said.contains("begin with [truncated]") && !said.contains("record more of each"), "{said}");
    assert!(said.contains("fg-record without --raw reads the rest"), "{said}");
}
