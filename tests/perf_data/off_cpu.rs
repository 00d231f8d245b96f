//! Time off the processor, out of switches.

use fg_tools::collapse::{CollapseOptions, ValueSelection};

use super::kit::*;
use super::{below, fold_bytes, folded, root_with_maps, total};

const CODE: u64 = 0x7000_0000;
const OUT: u16 = 1 << 13;
const PREEMPTED: u16 = 1 << 14;

fn context_switches() -> Event {
    Event { config: 3, name: "context-switches", period: 1, switches: true, ..Event::default() }
}

fn leaves(tid: i32, time: u64, function: u64) -> Sample {
    let chain = vec![USER, CODE + 0x100 * function];
    Sample { pid: tid, tid, time, period: 1, chain, ..Sample::default() }
}

/// Two threads: `app` waits in `f`, is preempted in `g`, and waits in `f` until the end.
fn recording(event: Event) -> (Recording, tempfile::TempDir) {
    let root = root_with_maps(&[(1, &[(CODE, "f"), (CODE + 0x100, "g")]), (2, &[(CODE, "h")])]);
    let mut r = Recording::new(PLAIN, &[event]);
    for (pid, name) in [(1, b"app"), (2, b"two")] {
        r.comm(pid, pid, 0, name, false);
        r.mmap(pid, 0, CODE, 0x1000, 0, "//anon");
    }
    // The time off the processor begins at the switch record, which follows the sample.
    r.sample(&leaves(1, 100, 0));
    r.switch(1, 103, OUT);
    r.sample(&leaves(2, 110, 0));
    r.switch(2, 111, OUT);
    r.switch(1, 203, 0);
    r.sample(&leaves(1, 300, 1));
    r.switch(1, 300, OUT | PREEMPTED);
    r.switch(1, 307, 0);
    // The thread has ended, and does not wait.
    r.exit(2, 400);
    r.sample(&leaves(2, 401, 0));
    r.switch(2, 401, OUT);
    r.sample(&leaves(1, 500, 0));
    r.switch(1, 500, OUT);
    r.comm(3, 3, 1500, b"last", false);
    (r, root)
}

#[test]
fn stacks_weigh_the_time_until_their_thread_is_back() {
    let (r, root) = recording(context_switches());
    assert_eq!(folded(&r, root.path()), "app;f 1100\napp;g 7\n");
    let with = |names: &[&str]| {
        let values = ValueSelection::Named(names.iter().map(|name| name.as_bytes().to_vec()).collect());
        fold_bytes(&r.bytes(), &CollapseOptions { values, ..below(root.path()) }).unwrap()
    };
    assert_eq!(with(&["blocked"]).0, "app;f 1100\n");
    assert_eq!(with(&["runnable"]).0, "app;g 7\n");
    let (text, report) = with(&["context-switches"]);
    assert_eq!(text, "app;f 2\napp;g 1\ntwo;h 2\n");
    assert_eq!(total(&report, "offcpu").weight, 1107.into());
    assert_eq!(total(&report, "blocked").weight, 1100.into());
    let all = CollapseOptions { values: ValueSelection::All, ..below(root.path()) };
    assert_eq!(
        fold_bytes(&r.bytes(), &all).unwrap().0,
        "blocked;app;f 1100\ncontext-switches;app;f 2\ncontext-switches;app;g 1\ncontext-switches;two;h 2\n\
         offcpu;app;f 1100\noffcpu;app;g 7\nrunnable;app;g 7\n"
    );
    let count = CollapseOptions { count: true, ..below(root.path()) };
    assert_eq!(fold_bytes(&r.bytes(), &count).unwrap().0, "app;f 2\napp;g 1\n");
}

#[test]
fn without_switch_records_samples_keep_their_weight() {
    let (r, root) = recording(Event { switches: false, ..context_switches() });
    assert_eq!(folded(&r, root.path()), "app;f 2\napp;g 1\ntwo;h 2\n");
    // A sample that stands for many switches does not tell the times of the others.
    let (r, root) = recording(Event { period: 10, ..context_switches() });
    assert_eq!(folded(&r, root.path()), "app;f 2\napp;g 1\ntwo;h 2\n");
}

/// As in `perf sched record`: the switch sample of the leaving thread names the next one.
#[test]
fn tracepoints_say_who_is_next() {
    let root = root_with_maps(&[(1, &[(CODE, "f"), (CODE + 0x100, "g")]), (2, &[(CODE, "h")])]);
    let point =
        Event { kind: 2, config: 314, name: "sched:sched_switch", fields: USUAL | RAW, ..Event::default() };
    let mut r = Recording::new(PLAIN, &[point]);
    for (pid, name) in [(1, b"app"), (2, b"two")] {
        r.comm(pid, pid, 0, name, false);
        r.mmap(pid, 0, CODE, 0x1000, 0, "//anon");
    }
    let mut switch = |tid: i32, time: u64, state: u64, next: u32| {
        let mut raw = vec![0; 68];
        raw[32..40].copy_from_slice(&state.to_le_bytes());
        raw[56..60].copy_from_slice(&next.to_le_bytes());
        r.sample(&Sample { raw, ..leaves(tid, time, 0) });
    };
    switch(1, 100, 1, 2);
    switch(2, 120, 0, 0);
    switch(0, 150, 0, 1);
    // No sample shows `two` coming back before it leaves again, to end.
    switch(2, 200, 2, 0);
    switch(0, 260, 0, 2);
    switch(2, 270, 0x20, 1);
    switch(1, 280, 1, 0);
    let values = ValueSelection::Named(vec![b"offcpu".to_vec()]);
    let (text, report) = fold_bytes(&r.bytes(), &CollapseOptions { values, ..below(root.path()) }).unwrap();
    assert_eq!(text, "app;f 50\ntwo;h 60\n");
    assert!(
        report.notes.join("\n").contains("2 of 4 times a thread left its processor"),
        "{:?}",
        report.notes
    );
    assert_eq!(total(&report, "sched:sched_switch").weight, 7.into());
    assert_eq!(total(&report, "runnable").samples, 0);
}

/// Some switches a second, and each of them unless there are too many.
fn some_and_each() -> [Event; 2] {
    [Event { period: 0, ..context_switches() }, Event { switches: false, ..context_switches() }]
}

/// A thread is away from `from` to `to`; sampled if a function is given.
fn waits(r: &mut Recording, tid: i32, from: u64, to: u64, function: Option<u64>) {
    if let Some(function) = function {
        r.sample(&leaves(tid, from, function));
    }
    r.switch(tid, from, OUT);
    r.switch(tid, to, 0);
}

/// Two threads, of which the second waits for a nanosecond before anything else.
fn throttled() -> (Recording, tempfile::TempDir) {
    let root = root_with_maps(&[(1, &[(CODE, "f"), (CODE + 0x100, "g")]), (2, &[(CODE, "h")])]);
    let mut r = Recording::new(PLAIN, &some_and_each());
    for (pid, name) in [(1, b"app"), (2, b"two")] {
        r.comm(pid, pid, 0, name, false);
        r.mmap(pid, 0, CODE, 0x1000, 0, "//anon");
    }
    waits(&mut r, 2, 10, 11, Some(0));
    (r, root)
}

#[test]
fn a_wait_that_is_sampled_stands_for_others_of_its_length() {
    let (mut r, root) = throttled();
    r.throttle(1, 1_000, true);
    let mut at = 1_000;
    for round in 0..10 {
        for number in 0..10 {
            waits(&mut r, 1, at, at + 20, (number == 5).then_some(0));
            at += 30;
        }
        // A long one: the second and the ninth are sampled.
        waits(&mut r, 1, at, at + 5_000, (round % 7 == 1).then_some(1));
        at += 6_000;
        waits(&mut r, 2, at, at + 1_000_000, None);
        at += 1_000_001;
    }
    // As it was before.
    r.throttle(1, at, false);
    waits(&mut r, 1, at + 10, at + 40, Some(0));
    waits(&mut r, 1, at + 50, at + 57, None);
    let expected = "app;[lost] 7\napp;f 2030\napp;g 50000\ntwo;[lost] 10000000\ntwo;h 1\n";
    let (text, report) = fold_bytes(&r.bytes(), &below(root.path())).unwrap();
    assert_eq!(text, expected);
    assert_eq!(total(&report, "offcpu").weight, 10_052_038.into());
    let said = report.details.join("\n");
    assert!(said.contains("108 waits have no stack of their own"), "{said}");
    assert!(said.contains("0.010 s of it, of which no such wait was sampled, are [lost]"), "{said}");
    let count = CollapseOptions { count: true, ..below(root.path()) };
    assert_eq!(
        fold_bytes(&r.bytes(), &count).unwrap().0,
        "app;[lost] 1\napp;f 101\napp;g 10\ntwo;[lost] 10\ntwo;h 1\n"
    );
    let least = CollapseOptions { min_wait: std::time::Duration::from_nanos(1_000), ..below(root.path()) };
    let (text, report) = fold_bytes(&r.bytes(), &least).unwrap();
    assert_eq!(text, "app;g 50000\ntwo;[lost] 10000000\n");
    assert!(report.details.join("\n").contains("103 waits shorter than"), "{:?}", report.details);
}

#[test]
fn waits_of_two_functions_share_what_was_not_sampled_by_their_time() {
    let (mut r, root) = throttled();
    r.throttle(1, 20, true);
    let mut at = 1_000;
    // As many of 40 as of 20, which are of one class; of each seven one is sampled.
    for number in 0..7_000u64 {
        let is_sampled = number % 7 == 3;
        waits(&mut r, 1, at, at + 20 + 20 * (number % 2), is_sampled.then_some(number % 2));
        at += 100;
    }
    let text = folded(&r, root.path());
    let of = |stack: &str| -> f64 {
        let line = text.lines().find_map(|line| line.strip_prefix(stack)).expect("a line");
        line.trim().parse().expect("a number")
    };
    assert_eq!(of("app;f") + of("app;g"), 3_500.0 * 60.0, "{text}");
    assert!((of("app;g") - 140_000.0).abs() < 1_400.0, "{text}");
}

#[test]
fn waits_for_a_processor_share_their_time_whatever_their_length() {
    let (mut r, root) = throttled();
    r.throttle(1, 20, true);
    let mut preempted = |from, to, sampled: Option<u64>| {
        if let Some(function) = sampled {
            r.sample(&leaves(1, from, function));
        }
        r.switch(1, from, OUT | PREEMPTED);
        r.switch(1, to, 0);
    };
    preempted(100, 1_000_100, None);
    preempted(2_000_000, 2_000_020, Some(1));
    preempted(3_000_000, 3_000_005, None);
    waits(&mut r, 1, 4_000_000, 4_000_020, Some(0));
    waits(&mut r, 1, 5_000_000, 5_001_000, None);
    assert_eq!(folded(&r, root.path()), "app;[lost] 1000\napp;f 20\napp;g 1000025\ntwo;h 1\n");
}

#[test]
fn threads_that_end_and_parts_without_a_throttle_keep_their_time() {
    let (mut r, root) = throttled();
    r.throttle(1, 20, true);
    waits(&mut r, 1, 100, 130, None);
    r.exit(1, 200);
    // Another event's throttle says nothing of switches; nor does that of an event that is not there.
    r.throttle(1, 210, false);
    r.throttle(0, 220, true);
    r.raw(5, &[0xff; 24]);
    r.raw(5, &[1]);
    r.sample(&leaves(2, 300, 0));
    r.switch(2, 300, OUT);
    r.switch(2, 350, 0);
    r.switch(2, 400, OUT);
    r.switch(2, 425, 0);
    let (text, report) = fold_bytes(&r.bytes(), &below(root.path())).unwrap();
    assert_eq!(text, "app;[lost] 30\ntwo;[lost] 25\ntwo;h 51\n");
    assert!(report.details.join("\n").contains("1 waits have no stack"), "{:?}", report.details);
}
