//! Time off the processor, out of switches.

use fg_tools::collapse::{Options, ValueSelection};

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
        fold_bytes(&r.bytes(), &Options { values, ..below(root.path()) }).unwrap()
    };
    assert_eq!(with(&["blocked"]).0, "app;f 1100\n");
    assert_eq!(with(&["runnable"]).0, "app;g 7\n");
    let (text, report) = with(&["context-switches"]);
    assert_eq!(text, "app;f 2\napp;g 1\ntwo;h 2\n");
    assert_eq!(total(&report, "offcpu").weight, 1107.into());
    assert_eq!(total(&report, "blocked").weight, 1100.into());
    let all = Options { values: ValueSelection::All, ..below(root.path()) };
    assert_eq!(
        fold_bytes(&r.bytes(), &all).unwrap().0,
        "blocked;app;f 1100\ncontext-switches;app;f 2\ncontext-switches;app;g 1\ncontext-switches;two;h 2\n\
         offcpu;app;f 1100\noffcpu;app;g 7\nrunnable;app;g 7\n"
    );
    let count = Options { count: true, ..below(root.path()) };
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
    let (text, report) = fold_bytes(&r.bytes(), &Options { values, ..below(root.path()) }).unwrap();
    assert_eq!(text, "app;f 50\ntwo;h 60\n");
    assert!(
        report.notes.join("\n").contains("2 of 4 times a thread left its processor"),
        "{:?}",
        report.notes
    );
    assert_eq!(total(&report, "sched:sched_switch").weight, 7.into());
    assert_eq!(total(&report, "runnable").samples, 0);
}
