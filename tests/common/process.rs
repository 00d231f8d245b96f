//! Other processes: waiting until they do something, instead of waiting a fixed time.

// Each program of tests needs some of these.
#![allow(dead_code)]

use std::fs;
use std::process::Command;
use std::time::{Duration, Instant};

/// Far longer than anything takes on a busy machine.
const LIMIT: Duration = Duration::from_secs(120);

/// Waits until something is so; panics if it does not become so.
#[track_caller]
pub fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let began = Instant::now();
    while !is_so() {
        assert!(began.elapsed() < LIMIT, "not within {} s: {what}", LIMIT.as_secs());
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Sends a signal: by a shell, since not every system has a program `kill`.
#[track_caller]
pub fn signal(name: &str, pid: u32) {
    let sent = Command::new("sh").args(["-c", &format!("kill -s {name} {pid}")]).status();
    assert!(sent.expect("sh starts").success(), "SIG{name} to process {pid}");
}

/// A process and its descendants, parents before their children.
pub fn family(pid: u32) -> Vec<u32> {
    let mut all = vec![pid];
    let mut at = 0;
    while let Some(pid) = all.get(at) {
        let tasks = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
        let lists = tasks.filter_map(|task| fs::read_to_string(task.path().join("children")).ok());
        let children: Vec<u32> = lists
            .flat_map(|list| list.split_whitespace().filter_map(|word| word.parse().ok()).collect::<Vec<_>>())
            .collect();
        all.extend(children);
        at += 1;
    }
    all
}

/// The fields of `/proc/PID/stat` from the state on; empty for a process that is gone.
fn stat(pid: u32) -> Vec<String> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let Some((_, fields)) = stat.rsplit_once(") ") else { return Vec::new() };
    fields.split(' ').map(str::to_owned).collect()
}

/// Hundredths of a second in user mode, of a process and of its children that were waited for.
pub fn user_time(pid: u32) -> u64 {
    let stat = stat(pid);
    let time = |at: usize| stat.get(at).and_then(|text| text.parse::<u64>().ok()).unwrap_or(0);
    time(11) + time(13)
}

/// Returns true for a process that has computed for a while.
pub fn computes(pid: u32) -> bool {
    user_time(pid) >= 20
}

/// Returns true for a process that runs or waits: not one that is gone or only waited for.
pub fn lives(pid: u32) -> bool {
    stat(pid).first().is_some_and(|state| !matches!(state.as_str(), "Z" | "X"))
}

/// The words of the command line of a process.
pub fn arguments(pid: u32) -> Vec<String> {
    let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let text = String::from_utf8_lossy(&line).into_owned();
    text.split_terminator('\0').map(str::to_owned).collect()
}

/// Returns true if a process catches a signal.
pub fn heeds(pid: u32, signal: u32) -> bool {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let set = status.lines().find_map(|line| line.strip_prefix("SigCgt:"));
    set.and_then(|set| u64::from_str_radix(set.trim(), 16).ok())
        .is_some_and(|set| set >> (signal - 1) & 1 == 1)
}

/// The number of times that a process has waited for something.
pub fn waits(pid: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"));
    line.and_then(|count| count.trim().parse().ok()).unwrap_or(0)
}
