//! Issue 41: the total of a profile is the processor time of the program and of all that it has started, whatever it
//! is made of.

use std::fs;

use super::{Built, compiled, fg_record, recorded, text};

/// Ten ways to spend processor time; the second argument is how often.
const KINDS: &str = r#"
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
static volatile unsigned long x;
static void work(long n) { for (long i = 0; i < n; i++) x = x * 31 + i; }
static void *thread(void *n) { work((long)n); return 0; }
static void in_thread(long n) { pthread_t t; if (!pthread_create(&t, 0, thread, (void *)n)) pthread_join(t, 0); }
static void in_child(long n) { if (!fork()) { work(n); _exit(0); } wait(0); }
int main(int argc, char **argv) {
  const char *kind = argv[1];
  int count = atoi(argv[2]);
  #define IS(name) !strcmp(kind, name)
  for (int i = 0; i < count; i++) {
    if (IS("compute")) work(1000000);
    if (IS("threads")) in_thread(100000);
    if (IS("forks")) in_child(100000);
    if (IS("long-threads")) in_thread(10000000);
    if (IS("long-forks")) in_child(10000000);
    if (IS("grandchildren")) { if (!fork()) { in_child(50000); in_child(50000); _exit(0); } wait(0); }
    if (IS("calls")) { int fd = open("/dev/null", O_WRONLY); write(fd, kind, 1); close(fd); }
    if (IS("faults")) { char *p = mmap(0, 1 << 20, 3, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0); memset(p, 1, 1 << 20); munmap(p, 1 << 20); }
    if (IS("naps")) { work(200000); usleep(300); }
    if (IS("programs")) { if (!fork()) { execl("/proc/self/exe", argv[0], "compute", "0", (char *)0); _exit(1); } wait(0); }
    if (IS("mappings")) {
      // The recorder reads nothing meanwhile.
      if (i == 0) kill(getppid(), SIGSTOP);
      int fd = open("/proc/self/exe", O_RDONLY);
      void *p = mmap(0, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
      if (p != MAP_FAILED) munmap(p, 4096);
      close(fd);
      if (i == count - 1) kill(getppid(), SIGCONT);
    }
  }
  return 0;
}
"#;

/// The profile of a kind; `None` if nothing can be recorded here.
fn profile(kind: &str, count: u32, options: &[&str]) -> Option<(String, String)> {
    static BUILT: Built = Built::new();
    let program = compiled(&BUILT, "kinds", KINDS)?;
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("a.folded");
    let mut command = fg_record();
    command.args(options).arg("-o").arg(&path).arg("--").arg(program).args([kind, &count.to_string()]);
    let output = recorded(&mut command)?;
    assert_eq!(output.status.code(), Some(0), "{kind}: {output:?}");
    Some((fs::read_to_string(&path).expect("folded text"), text(&output.stderr)))
}

/// The sum of the weights of stacks with a frame.
fn sum(folded: &str, frame: &str) -> f64 {
    let stacks = folded.lines().filter(|line| !line.starts_with("# "));
    let parts = stacks.filter_map(|line| line.rsplit_once(' '));
    let with = parts.filter(|(stack, _)| frame.is_empty() || stack.split(';').any(|name| name == frame));
    with.map(|(_, weight)| weight.parse::<f64>().expect("a weight")).sum()
}

/// The processor time, as the system tells it at the end.
fn cpu_time(folded: &str) -> f64 {
    seconds(folded, "cpu-time")
}

/// A time of the header, in nanoseconds.
fn seconds(folded: &str, fact: &str) -> f64 {
    let line = folded.lines().find_map(|line| line.strip_prefix(&format!("# {fact}: ")));
    let seconds = line.and_then(|line| line.strip_suffix(" s")).expect("it is known");
    seconds.parse::<f64>().expect("a number") * 1e9
}

#[test]
fn the_total_is_the_processor_time_of_ten_kinds() {
    for (kind, count) in [
        ("compute", 200),
        ("threads", 1000),
        ("forks", 500),
        ("long-threads", 20),
        ("long-forks", 20),
        ("grandchildren", 300),
        ("calls", 50_000),
        ("faults", 300),
        ("naps", 500),
        ("programs", 200),
    ] {
        let Some((folded, said)) = profile(kind, count, &[]) else { return };
        if !folded.contains("# event: cpu-clock\n") {
            return super::skip("the event here is another than the clock");
        }
        let (total, used) = (sum(&folded, ""), cpu_time(&folded));
        assert!(total >= used * 0.98, "{kind}: {total} of {used}: {said}");
        // What the clock counts beyond that is interrupts, and time that the host took, for as long as it lasts: one
        // thread computes at a time.
        let most = (used * 1.3).max(seconds(&folded, "duration")) + 5e6;
        assert!(total <= most, "{kind}: {total} of {used}, at most {most}: {said}");
    }
}

#[test]
fn threads_that_end_before_their_first_sample_are_not_sampled_and_counted() {
    let Some((folded, said)) = profile("threads", 1000, &[]) else { return };
    if !folded.contains("# event: cpu-clock\n") {
        return super::skip("the event here is another than the clock");
    }
    let (total, missing) = (sum(&folded, ""), sum(&folded, "[not sampled]"));
    assert!(missing > total * 0.1, "{folded}");
    assert!(folded.lines().any(|line| line.starts_with("kinds;[not sampled] ")), "{folded}");
    let why = " ms CPU, the rest is [not sampled]: ";
    let reasons = ["threads and processes that end before", "samples were lost"];
    assert!(reasons.iter().any(|reason| said.contains(&format!("{why}{reason}"))), "{said}");
    // One count of samples is no time.
    let Some((counted, _)) = profile("threads", 1000, &["-c", "500000"]) else { return };
    assert!(sum(&counted, "") >= cpu_time(&counted) * 0.98, "{counted}");
}

#[test]
fn a_program_that_is_sampled_has_nothing_beside_its_samples() {
    let Some((folded, said)) = profile("compute", 400, &[]) else { return };
    // Samples may be lost, and the clock counts the time that the host took.
    let used = cpu_time(&folded);
    if sum(&folded, "work") < used * 0.985 || sum(&folded, "") > used * 1.015 {
        return super::skip("samples were lost, or the host has other work");
    }
    assert!(!folded.contains("[not sampled]") && !said.contains("[not sampled]"), "{folded}{said}");
}

/// Nothing was written, without a word, as no thread had a name for the time.
#[test]
fn a_program_before_its_first_sample_is_not_sampled() {
    let Some((folded, said)) = profile("compute", 20, &["-F", "1"]) else { return };
    if !folded.contains("# event: cpu-clock\n") {
        return super::skip("another event than the clock");
    }
    assert!(sum(&folded, "") >= cpu_time(&folded) * 0.98, "{folded}{said}");
    // Where the host takes the processor for a second, there is a sample.
    let is_not_sampled = folded.lines().any(|line| line.starts_with("kinds;[not sampled] "));
    assert!(is_not_sampled || folded.contains("# samples: "), "{folded}{said}");
}

/// Records of mappings were counted as samples: thousands of these were lost where hundreds were possible.
#[test]
fn lost_records_of_mappings_are_no_lost_samples() {
    let Some((folded, said)) = profile("mappings", 60_000, &[]) else { return };
    let lost = said.lines().find_map(|line| line.strip_suffix("use --call-graph fp")?.split(' ').nth(1));
    let lost: f64 = lost.map_or(0.0, |lost| lost.parse().expect("a number"));
    let most = cpu_time(&folded).max(seconds(&folded, "duration")) / 1e9 * 997.0 * 1.3;
    assert!(lost <= most, "{lost} of at most {most}: {said}");
    assert!(sum(&folded, "") >= cpu_time(&folded) * 0.98, "{folded}");
}
