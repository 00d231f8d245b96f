//! Tests of the events that make samples, and of their owners: `-e`, `--filter`, `-c`, `-C`, `--tid`.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use super::process::{self, until};
use super::skip::skip;
use super::{Running, fg_record, in_time, ready, recorded, share, stacks, text};

/// The weights below each root frame.
fn by_root(folded: &str) -> BTreeMap<String, u64> {
    let mut sums = BTreeMap::new();
    for line in stacks(folded).lines() {
        let (stack, weight) = line.rsplit_once(' ').expect("a folded line");
        let root = stack.split(';').next().expect("a root").to_owned();
        *sums.entry(root).or_default() += weight.parse::<u64>().expect("a weight");
    }
    sums
}

fn total(folded: &str) -> u64 {
    by_root(folded).values().sum()
}

#[test]
fn several_events_are_values_of_one_profile() {
    let Some(program) = ready() else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let raw = folder.path().join("perf.data");
    let events = ["-e", "cpu-clock:u", "-e", "page-faults:u"];
    let Some(output) = recorded(fg_record().args(events).arg("--").arg(program).arg("150")) else { return };
    let live = text(&output.stdout);
    let roots = by_root(&live);
    assert_eq!(roots.keys().collect::<Vec<_>>(), ["cpu-clock:u", "page-faults:u"], "{live}");
    assert!(roots["page-faults:u"] > 5, "a program faults in its own pages: {live}");
    assert!(
        live.lines().any(|line| line.starts_with("cpu-clock:u;busy;") && line.contains(";main;hot ")),
        "{live}"
    );

    let mut command = fg_record();
    command.args(events).args(["--raw", "-o"]).arg(&raw).arg("--").arg(program).arg("150");
    let output = command.output().expect("it starts");
    assert!(output.status.success(), "{output:?}");
    let collapse = |arguments: &[&str]| {
        let output = Command::new(env!("CARGO_BIN_EXE_fg-collapse")).args(arguments).arg(&raw).output();
        text(&output.expect("fg-collapse starts").stdout)
    };
    assert_eq!(by_root(&collapse(&["--value=all"])).len(), 2);
    let faults = collapse(&["--value", "page-faults"]);
    assert_eq!(by_root(&faults).keys().collect::<Vec<_>>(), ["busy"], "{faults}");
    assert!(total(&faults) > 5 && total(&faults) < 100_000, "faults are counted, and no time: {faults}");
}

/// The output of a recording by root's events; `None`, said, if they are not to be had.
fn of_probe(command: &mut Command) -> Option<Output> {
    let output = recorded(command)?;
    let said = text(&output.stderr);
    let missing =
        ["are kept from ordinary users", "this kernel has no", "there is no tracepoint", "no samples of"];
    if missing.iter().any(|word| said.contains(word)) {
        // A kernel may count the calls of files on some file systems only.
        skip(said);
        return None;
    }
    Some(output)
}

#[test]
fn a_uprobe_makes_a_sample_of_each_call() {
    let Some(program) = ready() else { return };
    for (kind, caller) in [("uprobe", "main;hot"), ("uretprobe", "main")] {
        let event = format!("{kind}:{}:hot", program.display());
        let Some(output) = of_probe(fg_record().args(["-e", &event]).arg("--").arg(program).arg("20")) else {
            return;
        };
        let folded = text(&output.stdout);
        assert_eq!(total(&folded), 20, "{kind}: it is called 20 times\n{folded}");
        assert!(stacks(&folded).contains(&format!(";{caller} 20\n")), "{kind}: {folded}");
    }
    let event = format!("uprobe:{}:hto", program.display());
    let output = fg_record().args(["-e", &event]).arg("--").arg(program).arg("20").output();
    let said = text(&output.expect("it starts").stderr);
    assert!(said.contains("there is no function hto in") || said.contains("has no uprobe"), "{said}");
}

#[test]
fn a_filter_chooses_among_the_events_of_a_tracepoint() {
    let script = "for i in 1 2 3; do sleep 0.02; done";
    let record = |filter: &str| {
        of_probe(fg_record().args(["-e", "sched:sched_switch", "--filter", filter, "--", "sh", "-c", script]))
    };
    let Some(output) = record("prev_pid > 0") else { return };
    assert!(total(&text(&output.stdout)) >= 3, "{output:?}");
    let output = fg_record()
        .args(["-e", "sched:sched_switch", "--filter", "prev_pid == 0", "--", "sh", "-c", script])
        .output()
        .expect("it starts");
    assert!(text(&output.stderr).contains("no samples of sched:sched_switch"), "{output:?}");
    let said = text(&record("prev_pdi > 0").expect("it was possible before").stderr);
    assert!(said.contains("it has the fields prev_comm, prev_pid"), "{said}");
}

#[test]
fn an_unknown_event_is_answered_by_those_there_are() {
    let output = fg_record().args(["-e", "page-fautls", "--", "true"]).output().expect("it starts");
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(
        said.contains("there is no event \"page-fautls\"; there are ") && said.contains("page-faults"),
        "{said}"
    );
    assert_eq!(said.lines().count(), 1, "{said}");
}

#[test]
fn a_period_is_a_number_of_events() {
    let Some(program) = ready() else { return };
    let record = |period: &str| {
        recorded(fg_record().args(["-e", "cpu-clock", "-c", period, "--"]).arg(program).arg("100"))
    };
    let Some(output) = record("5000000") else { return };
    let folded = text(&output.stdout);
    let all = stacks(&folded);
    let sampled = all.lines().filter(|line| !line.contains("[not sampled]"));
    let samples = sampled.map(|line| line.rsplit_once(' ').unwrap().1.to_owned()).collect::<Vec<_>>();
    assert!(samples.iter().all(|weight| weight.parse::<u64>().unwrap() % 5_000_000 == 0), "{folded}");
    let said = text(&record("record").expect("it was possible before").stderr);
    assert!(said.contains("--with perf --backend-args"), "{said}");
}

#[test]
fn only_the_processors_that_are_named_are_recorded() {
    let Some(program) = ready() else { return };
    let output = fg_record().args(["-C", "65000", "--", "true"]).output().expect("it starts");
    let said = text(&output.stderr);
    assert!(said.contains("there is no processor 65000 online; there are "), "{said}");
    let record = |processor: &str| {
        let mut command = fg_record();
        command.args(["-C", processor, "--", "taskset", "-c", "0"]).arg(program).arg("100");
        command
    };
    let is_there = |processor: &str| {
        let status = Command::new("taskset").args(["-c", processor, "true"]).stderr(Stdio::null()).status();
        status.is_ok_and(|status| status.success())
    };
    if !is_there("0") || !is_there("1") {
        return skip("two processors and taskset are needed");
    }
    let Some(output) = recorded(&mut record("0")) else { return };
    assert!(share(&text(&output.stdout), "hot") > 0.5, "{output:?}");
    let output = record("1").output().expect("it starts");
    assert!(!text(&output.stdout).contains(";hot"), "{output:?}");
}

#[test]
fn a_thread_is_recorded_without_the_others() {
    let Some(program) = ready() else { return };
    let child = Command::new(program).args(["1000000", "thread"]).stdout(Stdio::null()).spawn();
    let running = Running(child.expect("it starts"));
    let pid = running.0.id();
    until("the program computes", || process::computes(pid));
    let tasks = fs::read_dir(Path::new("/proc").join(pid.to_string()).join("task")).expect("it runs");
    let threads = tasks.map(|task| task.unwrap().file_name().to_string_lossy().parse::<u32>().unwrap());
    let other = threads.into_iter().find(|tid| *tid != pid).expect("it has two threads");
    let record =
        |tid: u32, seconds: &str| recorded(fg_record().args(["--tid", &tid.to_string(), "-d", seconds]));
    let has_samples = |output: &Output| output.status.success();
    let Some(output) = in_time(|seconds| record(other, seconds), has_samples) else { return };
    let folded = text(&output.stdout);
    assert!(share(&folded, "in_thread") > 0.9, "{folded}");
    assert!(folded.contains(&format!("recorded threads: {other}")), "{folded}");
    // The first one waits for it.
    let output = record(pid, "0.3").expect("it was possible before");
    assert!(text(&output.stderr).contains("no samples in "), "{output:?}");
    let output = fg_record().args(["--tid", "4194304", "-d", "0.1"]).output().expect("it starts");
    assert!(text(&output.stderr).contains("there is no thread 4194304"), "{output:?}");
}
