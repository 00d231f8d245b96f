//! `--off-cpu`: where threads wait, against what the program itself says of its waiting.

use std::collections::HashMap;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use super::installed::works;
use super::process::{self, until};
use super::{Running, compiled, fg_record, recorded, text, wait_until_recording};

/// It says on standard output how long each function was off the processor: the time on the clock
/// less that on the processor, in nanoseconds.
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
#define TELL(f) do { long before = off(); f(); printf(#f " %ld\n", off() - before); } while (0)
__attribute__((noinline)) void *thread(void *_) {
  pthread_mutex_lock(&m); ms(150); pthread_mutex_unlock(&m); ms(100); x += write(p[1], "x", 1); return _;
}
int main(int argc, char **argv) {
  if (argc > 1) { struct pollfd in = { 0, POLLIN, 0 }; while (poll(&in, 1, 0) == 0) ms(10); for (;;) waits_on(); }
  long begin = off();
  if (pipe(p)) return 1;
  pthread_t t;
  pthread_create(&t, 0, thread, 0);
  ms(20);
  TELL(locks); TELL(reads); TELL(sleeps); TELL(polls); TELL(burns);
  pthread_join(t, 0);
  printf("all %ld\n", off() - begin);
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

#[test]
fn functions_weigh_the_time_they_wait() {
    let Some(program) = program() else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("a.folded");
    let mut command = fg_record();
    command.args(["--off-cpu", "--per-thread", "-o"]).arg(&path).arg("--").arg(program);
    let Some(output) = recorded(&mut command) else { return };
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert_eq!(text(&output.stderr).lines().count(), 1, "the summary alone: {output:?}");
    let folded = fs::read_to_string(&path).expect("folded text");
    let said = text(&output.stdout);
    let said: Vec<(&str, f64)> = said
        .lines()
        .filter_map(|line| line.split_once(' '))
        .map(|(function, time)| (function, time.parse().expect("nanoseconds")))
        .collect();
    let seen = weights(&folded, said.iter().map(|(function, _)| *function));
    assert_eq!(said.len(), 6, "{output:?}");
    for (function, time) in said.iter().filter(|(function, _)| *function != "all") {
        // The time of interrupts counts as that of the thread they interrupt.
        let off_by = (seen[function] - time).abs();
        assert!(off_by < time * 0.03 + 3e6, "{function}: {time} and {}\n{folded}", seen[function]);
    }
    assert!(seen["sleeps"] > 300e6 && seen["polls"] > 200e6 && seen["reads"] > 90e6, "{seen:?}");
    // The thread's own stacks are not those of main.
    let of_main: f64 = weights(&folded, ["main"])["main"];
    let (_, all) = said.last().expect("it says the sum last");
    assert!((of_main - all).abs() < all * 0.03 + 3e6, "{of_main} of {all}\n{folded}");
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
    assert!(seen["waits_on"] > 0.5e9, "{output:?}");
    let profile = fg_tools::Profile::from_bytes(output.stdout.clone()).expect("folded text");
    let duration = profile.facts().duration.expect("a duration").as_secs_f64() * 1e9;
    assert!(seen["main"] > duration - 0.5e9 && seen["main"] < duration + 0.5e9, "{duration} {output:?}");
}

#[test]
fn the_raw_recording_has_waits_and_perf_reads_it() {
    let Some(program) = program() else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("perf.data");
    let mut command = fg_record();
    command.args(["--off-cpu", "--raw", "-o"]).arg(&path).arg("--").arg(program);
    let Some(output) = recorded(&mut command) else { return };
    let own = text(&output.stdout);
    let own = own.lines().find_map(|line| line.strip_prefix("sleeps "));
    let own: f64 = own.and_then(|time| time.parse().ok()).expect("its own measure");
    let mut collapse = Command::new(env!("CARGO_BIN_EXE_fg-collapse"));
    let output = collapse.arg("-q").arg(&path).output().expect("fg-collapse starts");
    let slept = weights(&text(&output.stdout), ["sleeps"])["sleeps"];
    assert!((slept - own).abs() < own * 0.03 + 3e6, "{own} {output:?}");
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
