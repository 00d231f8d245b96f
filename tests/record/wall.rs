//! `--wall`: all of the time that passes for each thread, on and off the processor.

use std::collections::HashMap;
use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::Instant;

use super::process::{self, until};
use super::{Running, compiled, fg_record, in_time, recorded, text};

/// A thread that waits once and for all, and one that computes and waits in turn. With an argument it goes on for
/// ever, else it says at its end how long its main function took, on the clock and on the processor, and for how long
/// the other thread has been where it waits.
const PROGRAM: &str = r#"
#include <pthread.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>
static volatile unsigned long x;
static long now(int clock) { struct timespec t; clock_gettime(clock, &t); return t.tv_sec * 1000000000L + t.tv_nsec; }
__attribute__((noinline)) void sleeps(void) { struct timespec t = { 0, 100000000 }; nanosleep(&t, 0); x++; }
__attribute__((noinline)) void burns(void) { for (long i = 0; i < 60000000; i++) x = x * 31 + i; }
static volatile long since;
__attribute__((noinline)) void never(void) { since = now(CLOCK_MONOTONIC); for (;;) { pause(); x++; } }
static void *thread(void *_) { never(); return _; }
int main(int argc, char **argv) {
  long begin = now(CLOCK_MONOTONIC), cpu = now(CLOCK_THREAD_CPUTIME_ID);
  pthread_t t;
  pthread_create(&t, 0, thread, 0);
  if (argc > 1) for (;;) sleeps();
  for (int i = 0; i < 5; i++) { burns(); sleeps(); }
  long end = now(CLOCK_MONOTONIC);
  printf("%ld %ld %ld\n", end - begin, now(CLOCK_THREAD_CPUTIME_ID) - cpu, since ? end - since : 0);
  return 0;
}
"#;

fn program() -> Option<&'static Path> {
    static BUILT: super::Built = super::Built::new();
    compiled(&BUILT, "walls", PROGRAM)
}

/// The weights of all stacks, and of those with each of some frames.
fn weights<'f>(folded: &str, frames: &[&'f str]) -> HashMap<&'f str, f64> {
    let stacks =
        folded.lines().filter(|line| !line.starts_with("# ")).filter_map(|line| line.rsplit_once(' '));
    let stacks: Vec<(&str, f64)> =
        stacks.map(|(stack, weight)| (stack, weight.parse().expect("a weight"))).collect();
    let of = |frame: &str| {
        let with = stacks.iter().filter(|(stack, _)| stack.split(';').any(|name| name == frame));
        with.map(|(_, weight)| weight).sum()
    };
    frames.iter().map(|frame| (*frame, of(frame))).collect()
}

#[test]
fn all_time_of_a_thread_is_on_or_off_a_processor() {
    let Some(program) = program() else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("perf.data");
    let mut command = fg_record();
    command.args(["--wall", "--raw", "-o"]).arg(&path).arg("--").arg(program);
    let began = Instant::now();
    let Some(output) = recorded(&mut command) else { return };
    let elapsed = began.elapsed().as_secs_f64() * 1e9;
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let said = text(&output.stdout);
    let said: Vec<f64> = said.split_whitespace().map(|word| word.parse().expect("nanoseconds")).collect();
    let [wall, cpu, never] = said[..] else { panic!("{output:?}") };
    let collapse = |options: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_fg-collapse"));
        text(&command.arg("-q").args(options).arg(&path).output().expect("fg-collapse starts").stdout)
    };
    let folded = collapse(&[]);
    assert!(folded.contains("# event: wall\n") && folded.contains("# unit: ns\n"), "{folded}");
    let seen = weights(&folded, &["main", "sleeps", "burns", "never"]);
    if text(&output.stderr).contains(" lost") {
        return super::skip("records were lost");
    }
    // No thread can have less than it measures itself, nor more than there is. Other processes make both longer.
    assert!(seen["main"] > 0.95 * wall && seen["main"] < elapsed, "{wall} {elapsed} {seen:?}\n{folded}");
    assert!(seen["sleeps"] > 0.5e9 && seen["burns"] > 0.5 * cpu, "{cpu} {seen:?}\n{folded}");
    // Another thread's time is its own.
    assert!(seen["never"] > 0.95 * never && seen["never"] < elapsed, "{never} {elapsed} {seen:?}\n{folded}");
    // The parts are values of their own, and labels of the whole.
    let by_state = collapse(&["--label", "state"]);
    let states = weights(&by_state, &["state=running", "state=blocked", "state=runnable", "state=lost"]);
    let all: f64 = states.values().sum();
    let whole = weights(&folded, &["walls"])["walls"];
    assert_eq!(all, whole, "{by_state}");
    assert_eq!(states["state=lost"], 0.0, "{by_state}");
    let of = |value: &str| weights(&collapse(&["--value", value]), &["walls"])["walls"];
    assert_eq!(of("blocked"), states["state=blocked"]);
    assert_eq!(of("offcpu"), states["state=blocked"] + states["state=runnable"]);
    // The samples alone are as long as their periods, however long the thread has run before each.
    assert!(of("cpu-clock") > 0.0, "{states:?}");
    assert!(states["state=blocked"] > 0.5e9 && states["state=running"] > 0.8 * cpu, "{cpu} {states:?}");
}

#[test]
fn a_thread_that_never_moves_has_its_stack() {
    let Some(program) = program() else { return };
    let child = Command::new(program).arg("on").stdout(Stdio::null()).spawn().expect("it starts");
    let child = Running(child);
    let pid = child.0.id();
    until("it waits", || process::waits(pid) > 2);
    let record =
        |seconds: &str| recorded(fg_record().args(["--wall", "-d", seconds, "-p", &pid.to_string()]));
    let seen = |output: &Output| {
        let duration = facts(output).duration.expect("a duration").as_secs_f64() * 1e9;
        (duration, weights(&text(&output.stdout), &["never", "sleeps", "[lost]"]))
    };
    let is_forbidden = |output: &Output| text(&output.stderr).contains("waking them is forbidden");
    // A busy recorder may take long to begin, and to end.
    let is_there = |output: &Output| {
        if !output.status.success() {
            return false;
        }
        let (duration, seen) = seen(output);
        match is_forbidden(output) {
            // Its time is there all the same.
            true => seen["[lost]"] > 0.8 * duration,
            false => {
                seen["never"] > 0.8 * duration
                    && seen["never"] < 1.05 * duration
                    && seen["sleeps"] > 0.5 * duration
                    && seen["[lost]"] < 0.1 * duration
            }
        }
    };
    let Some(output) = in_time(record, is_there) else { return };
    assert!(is_there(&output), "{output:?}");
    if is_forbidden(&output) {
        super::skip("threads may not be traced");
    }
}

/// The facts of a recording on standard output.
fn facts(output: &Output) -> fg_tools::Facts {
    let profile = fg_tools::Profile::from_bytes(output.stdout.clone()).expect("folded text");
    profile.facts().clone()
}

#[test]
fn short_waits_are_left_out_and_counted() {
    let Some(program) = program() else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("a.folded");
    let mut command = fg_record();
    command.args(["--off-cpu", "--min", "50ms", "-v", "-o"]).arg(&path).arg("--").arg(program);
    let Some(output) = recorded(&mut command) else { return };
    let seen = |path: &Path| weights(&fs::read_to_string(path).expect("folded text"), &["sleeps"])["sleeps"];
    assert!(seen(&path) > 0.5e9, "{output:?}");
    let mut command = fg_record();
    command.args(["--off-cpu", "--min", "90s", "-o"]).arg(&path).arg("--").arg(program);
    let output = recorded(&mut command).expect("as before");
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    for wrong in [&["--min", "1ms"][..], &["--wall", "--off-cpu"], &["--wall", "-e", "faults"]] {
        let output = fg_record().args(wrong).args(["--", "true"]).output().expect("it starts");
        assert_eq!(output.status.code(), Some(2), "{output:?}");
    }
}

/// Two threads that wake each other as often as they can: some hundred thousand switches a second.
fn ping() -> Option<&'static Path> {
    static BUILT: super::Built = super::Built::new();
    const PING: &str = r#"
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
static int a[2], b[2];
static long now(void) { struct timespec t; clock_gettime(CLOCK_MONOTONIC, &t); return t.tv_sec * 1000000000L + t.tv_nsec; }
__attribute__((noinline)) void reads(int fd) { char c; if (read(fd, &c, 1) != 1) exit(1); }
__attribute__((noinline)) void writes(int fd) { if (write(fd, "x", 1) != 1) exit(1); }
static void *pong(void *_) { for (int i = 0; i < 100000; i++) { reads(a[0]); writes(b[1]); } return _; }
int main(void) {
  if (pipe(a) || pipe(b)) return 1;
  pthread_t t;
  long begin = now();
  pthread_create(&t, 0, pong, 0);
  for (int i = 0; i < 100000; i++) { writes(a[1]); reads(b[0]); }
  pthread_join(t, 0);
  printf("%ld\n", now() - begin);
  return 0;
}
"#;
    compiled(&BUILT, "ping", PING)
}

#[test]
fn heavy_switching_is_in_the_total_whatever_is_lost() {
    let Some(program) = ping() else { return };
    let mut command = fg_record();
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("a.folded");
    command.args(["--wall", "-q", "-o"]).arg(&path).arg("--").arg(program);
    let began = Instant::now();
    let Some(output) = recorded(&mut command) else { return };
    let elapsed = began.elapsed().as_secs_f64() * 1e9;
    let took: f64 = text(&output.stdout).trim().parse().expect("nanoseconds");
    let folded = fs::read_to_string(&path).expect("folded text");
    let seen = weights(&folded, &["ping", "reads", "[lost]"]);
    assert!(seen["reads"] + seen["[lost]"] > 0.0, "{folded}");
    // Two threads, each on a processor or off it. The record of a thread's end may be lost as well.
    let profile = fg_tools::Profile::from_bytes(folded.clone().into_bytes()).expect("folded text");
    let duration = profile.facts().duration.expect("a duration").as_secs_f64() * 1e9;
    if folded.contains("events were lost") {
        // A machine that has much else to do: the records of the end may be among those that were lost.
        assert!(seen["[lost]"] > 0.0, "{took} {duration} {seen:?}\n{folded}");
    } else {
        // The other thread may begin late.
        assert!(seen["ping"] > 0.95 * took, "{took} {duration} {seen:?}\n{folded}");
        // The clock that samples processor time ticks while the kernel switches threads, too: a tenth of this time.
        assert!(seen["ping"] < 2.02 * elapsed, "{took} {elapsed} {seen:?}\n{folded}");
    }
}

#[test]
fn a_pause_has_no_waits() {
    let Some(program) = program() else { return };
    let mut child = Command::new(program);
    let child = Running(child.arg("on").stdout(Stdio::null()).spawn().expect("it starts"));
    let pid = child.0.id();
    until("it waits", || process::waits(pid) > 2);
    if recorded(fg_record().args(["--wall", "--", "sleep", "0.01"])).is_none() {
        return;
    }
    let mut command = fg_record();
    command.args(["--wall", "--delay", "0.5", "-d", "1", "-p", &pid.to_string()]);
    let began = Instant::now();
    let output = command.output().expect("it starts");
    let elapsed = began.elapsed().as_secs_f64() * 1e9;
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let folded = text(&output.stdout);
    let seen = weights(&folded, &["never", "[lost]"]);
    let whole = seen["never"] + seen["[lost]"];
    // A second is sampled; the machine may be slow to end it.
    assert!(whole > 0.8e9 && seen["never"] < elapsed - 0.4e9, "{elapsed} {seen:?} {folded}");
}

/// Of so many switches few are sampled, and their stacks have the time of all.
#[test]
fn of_heavy_switching_some_stacks_stand_for_all() {
    let Some(program) = ping() else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("perf.data");
    let mut command = fg_record();
    command.args(["--off-cpu", "--raw", "-q", "-o"]).arg(&path).arg("--").arg(program);
    if recorded(&mut command).is_none() {
        return;
    }
    let mut collapse = Command::new(env!("CARGO_BIN_EXE_fg-collapse"));
    // A machine with other work makes threads wait for a processor, wherever they are.
    collapse.args(["-v", "--value", "blocked"]).arg(&path);
    let output = collapse.output().expect("fg-collapse starts");
    let (folded, said) = (text(&output.stdout), text(&output.stderr));
    let seen = weights(&folded, &["ping", "reads", "[lost]"]);
    let number_before = |word: &str| -> f64 {
        let before = said.split(word).next().filter(|before| before.len() < said.len());
        let number = before.and_then(|before| before.split_whitespace().next_back());
        number.and_then(|number| number.trim_end_matches(',').parse().ok()).unwrap_or(0.0)
    };
    let lost = number_before(" lost");
    if !said.contains("have no stack of their own") {
        // Nobody could look at the switches while there were many of them.
        assert!(lost > 0.0 || number_before(" samples") < 20_000.0, "{said}");
        return super::skip("the machine is too slow to switch often, or to see it");
    }
    assert!(number_before(" waits have no stack") > 0.0, "{said}");
    if lost == 0.0 {
        assert!(seen["reads"] + seen["[lost]"] > 0.5 * seen["ping"], "{seen:?} {said}\n{folded}");
        assert!(seen["[lost]"] < seen["ping"], "{seen:?} {said}\n{folded}");
    }
}
