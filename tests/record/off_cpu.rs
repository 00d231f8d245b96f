//! `--off-cpu`: where threads wait, against what the program itself says of its waiting.

use std::collections::HashMap;
use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::Instant;

use super::installed::works;
use super::process::{self, until};
use super::{Running, compiled, fg_record, in_time, recorded, text, wait_until_recording};

/// It says on standard output how long each function was off the processor, the time on the clock
/// less that on the processor, and how long it took, in nanoseconds.
const PROGRAM: &str = r#"
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static int p[2];
static volatile unsigned long x;
static long now(int clock) { struct timespec t; clock_gettime(clock, &t); return t.tv_sec * 1000000000L + t.tv_nsec; }
static long off(void) { return now(CLOCK_MONOTONIC) - now(CLOCK_THREAD_CPUTIME_ID); }
static void ms(int n) { struct timespec t = { n / 1000, n % 1000 * 1000000L }; nanosleep(&t, 0); }
__attribute__((noinline)) void sleeps(void) { for (int i = 0; i < 10; i++) ms(30); x++; }
__attribute__((noinline)) void locks(void) { pthread_mutex_lock(&m); pthread_mutex_unlock(&m); x++; }
__attribute__((noinline)) void reads(void) { char c; x += read(p[0], &c, 1); }
__attribute__((noinline)) void polls(void) { poll(0, 0, 200); x++; }
__attribute__((noinline)) void waits_on(void) { ms(1000000); x++; }
__attribute__((noinline)) void burns(void) { for (long i = 0; i < 60000000; i++) x = x * 31 + i; }
#define TELL(f) do { \
  long begin = now(CLOCK_MONOTONIC), before = off(); \
  f(); \
  long after = off(); \
  printf(#f " %ld %ld\n", after - before, now(CLOCK_MONOTONIC) - begin); \
} while (0)
__attribute__((noinline)) void *thread(void *_) {
  pthread_mutex_lock(&m); ms(150); pthread_mutex_unlock(&m); ms(100); x += write(p[1], "x", 1); return _;
}
int main(int argc, char **argv) {
  if (argc > 1) { struct pollfd in = { 0, POLLIN, 0 }; while (poll(&in, 1, 0) == 0) ms(10); for (;;) waits_on(); }
  long begin = now(CLOCK_MONOTONIC), before = off();
  if (pipe(p)) return 1;
  pthread_t t;
  pthread_create(&t, 0, thread, 0);
  ms(20);
  TELL(locks); TELL(reads); TELL(sleeps); TELL(polls); TELL(burns);
  pthread_join(t, 0);
  long after = off();
  printf("all %ld %ld\n", after - before, now(CLOCK_MONOTONIC) - begin);
  return 0;
}
"#;

fn program() -> Option<&'static Path> {
    static BUILT: super::Built = super::Built::new();
    compiled(&BUILT, "waits", PROGRAM)
}

/// The weights of the stacks with each of some frames.
fn weights<'f>(folded: &str, frames: impl IntoIterator<Item = &'f str>) -> HashMap<&'f str, f64> {
    let stacks =
        || folded.lines().filter(|line| !line.starts_with("# ")).filter_map(|line| line.rsplit_once(' '));
    let of = |frame: &str| -> f64 {
        let with = stacks().filter(|(stack, _)| stack.split(';').any(|name| name == frame));
        with.map(|(_, weight)| weight.parse::<f64>().expect("a weight")).sum()
    };
    frames.into_iter().map(|frame| (frame, of(frame))).collect()
}

/// The time that a function was off the processor, and that it took, by its own measure.
#[derive(Clone, Copy, Debug)]
struct Own {
    off: f64,
    took: f64,
}

impl Own {
    /// The time of interrupts counts as that of the thread they interrupt.
    fn is_equal(self, seen: f64) -> bool {
        seen > self.off * 0.97 - 3e6 && seen < (self.off * 1.03).min(self.took) + 3e6
    }
}

/// The functions of [`PROGRAM`], with their times.
fn own(said: &str) -> Vec<(String, Own)> {
    let functions = said.lines().filter_map(|line| {
        let mut words = line.split(' ');
        let (name, off, took) = (words.next()?, words.next()?, words.next()?);
        Some((name.to_owned(), Own { off: off.parse().ok()?, took: took.parse().ok()? }))
    });
    functions.collect()
}

#[test]
fn functions_weigh_the_time_they_wait() {
    let Some(program) = program() else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("a.folded");
    let record = |_: &str| {
        let mut command = fg_record();
        recorded(command.args(["--off-cpu", "--per-thread", "-o"]).arg(&path).arg("--").arg(program))
    };
    // The name of each function, or of main for all; what the recording says, and what the program does.
    let compared = |output: &Output| -> Vec<(String, f64, Own)> {
        let folded = fs::read_to_string(&path).expect("folded text");
        let said = own(&text(&output.stdout));
        let names = said.iter().map(|(name, own)| (if name == "all" { "main" } else { name }, *own));
        names.map(|(name, own)| (name.to_owned(), weights(&folded, [name])[name], own)).collect()
    };
    // The host may take a processor for a while, which the program only has for time off it.
    let are_equal = |output: &Output| compared(output).iter().all(|(_, seen, own)| own.is_equal(*seen));
    let Some(output) = in_time(record, are_equal) else { return };
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let said = text(&output.stderr);
    assert!(said.lines().count() == 1 || said.contains(" lost"), "the summary alone: {said}");
    let folded = fs::read_to_string(&path).expect("folded text");
    let functions = compared(&output);
    assert_eq!(functions.len(), 6, "{output:?}");
    assert!(are_equal(&output), "{functions:?}\n{folded}");
    let seen = weights(&folded, ["sleeps", "polls"]);
    assert!(seen["sleeps"] > 300e6 && seen["polls"] > 200e6, "{seen:?}");
    // The thread's own stacks are not those of main.
    let other = weights(&folded, ["thread"])["thread"];
    assert!(other > 250e6, "{other}\n{folded}");
    let stacks = super::stacks(&folded);
    let threads: Vec<&str> = stacks.lines().filter_map(|line| line.split(';').next()).collect();
    assert!(threads.iter().any(|name| *name != threads[0]), "{folded}");
}

#[test]
fn a_wait_that_outlasts_the_recording_is_counted_to_its_end() {
    let Some(program) = program() else { return };
    let mut child = Command::new(program);
    let child = child.arg("on").stdin(Stdio::piped()).stdout(Stdio::null()).spawn().expect("it starts");
    let mut child = Running(child);
    let pid = child.0.id().to_string();
    if recorded(fg_record().args(["--off-cpu", "--", "sleep", "0.01"])).is_none() {
        return;
    }
    let mut command = fg_record();
    command.args(["--off-cpu", "-d", "3", "-p", &pid]).stdout(Stdio::piped()).stderr(Stdio::piped());
    let began = Instant::now();
    let recorder = command.spawn().expect("it starts");
    wait_until_recording(&recorder);
    // It waits for the program, again and again.
    let before = process::waits(recorder.id());
    until("it records", || process::waits(recorder.id()) > before + 5);
    // Now it waits for the last time, and is not back when the recording ends.
    drop(child.0.stdin.take());
    let output = recorder.wait_with_output().expect("it ends");
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let seen = weights(&text(&output.stdout), ["waits_on", "main"]);
    // A busy program may take long to see the end of its input.
    let elapsed = began.elapsed().as_secs_f64() * 1e9;
    assert!(seen["waits_on"] > 0.0, "{output:?}");
    assert!(seen["main"] > 1.5e9 && seen["main"] < elapsed, "{elapsed} {output:?}");
}

#[test]
fn the_raw_recording_has_waits_and_perf_reads_it() {
    let Some(program) = program() else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("perf.data");
    let record = |_: &str| {
        let mut command = fg_record();
        recorded(command.args(["--off-cpu", "--raw", "-o"]).arg(&path).arg("--").arg(program))
    };
    let compared = |output: &Output| {
        let said = own(&text(&output.stdout));
        let (_, own) = said.into_iter().find(|(name, _)| name == "sleeps").expect("its own measure");
        let mut collapse = Command::new(env!("CARGO_BIN_EXE_fg-collapse"));
        let output = collapse.arg("-q").arg(&path).output().expect("fg-collapse starts");
        (weights(&text(&output.stdout), ["sleeps"])["sleeps"], own)
    };
    let are_equal = |output: &Output| {
        let (seen, own) = compared(output);
        own.is_equal(seen)
    };
    let Some(output) = in_time(record, are_equal) else { return };
    assert!(are_equal(&output), "{:?}", compared(&output));
    if works("perf script") {
        let script = Command::new("perf")
            .args(["script", "--no-inline", "--show-switch-events", "-i"])
            .arg(&path)
            .output()
            .expect("perf starts");
        let script = text(&script.stdout);
        assert!(script.contains("context-switches") && script.contains("PERF_RECORD_SWITCH"), "{script}");
        assert!(script.contains("sleeps+0x"), "{script}");
    }
}

#[test]
fn a_target_that_sleeps_throughout_is_said_to_wait() {
    // It never leaves a processor.
    let child = Command::new("sleep").arg("1000").spawn().expect("it starts");
    let child = Running(child);
    until("it sleeps", || process::waits(child.0.id()) > 0);
    let mut command = fg_record();
    let Some(output) = recorded(command.args(["--off-cpu", "-d", "0.2", "-p", &child.0.id().to_string()]))
    else {
        return;
    };
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    assert!(text(&output.stderr).contains("the target waited for all of the 0."), "{output:?}");
    let output = fg_record().args(["--off-cpu", "-F", "99", "--", "true"]).output().expect("it starts");
    assert!(text(&output.stderr).contains("cannot be used with"), "{output:?}");
}
