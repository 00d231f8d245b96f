//! Call chains whose user's part comes later, as Linux 6.19 writes them: made here, as no kernel of the tests does.

use super::kit::*;
use super::{below, fold_bytes, root_with_maps};

const CODE: u64 = 0x7000_0000;
const KERNEL_CODE: u64 = 0xffff_ffff_8100_0000;

/// A sample in the kernel, whose program's part has a cookie.
fn waiting(tid: i32, time: u64, event: usize, cookie: u64) -> Sample {
    let chain = vec![KERNEL, KERNEL_CODE, USER_DEFERRED, cookie];
    Sample { event, pid: 1, tid, time, period: 5, chain, mode: 1, ..Sample::default() }
}

fn recording(big_endian: bool) -> Recording {
    let event = |name| Event { defers: true, name, ..Event::default() };
    let mut r = Recording::new(Style { big_endian, ..PLAIN }, &[event("cpu-clock"), event("page-faults")]);
    r.comm(1, 1, 0, b"app", false);
    r.comm(1, 2, 0, b"app", false);
    r.mmap(1, 0, CODE, 0x1000, 0, "//anon");
    r
}

#[test]
fn the_user_s_part_of_call_chains_may_come_later() {
    let root = root_with_maps(&[(1, &[(CODE, "main"), (CODE + 0x100, "work"), (CODE + 0x200, "other")])]);
    let user = [USER, CODE + 0x110, CODE + 0x10];
    let other = [USER, CODE + 0x210, CODE + 0x10];
    for big_endian in [false, true] {
        let mut r = recording(big_endian);
        // Two samples of one stay in the kernel, and one of another thread meanwhile.
        r.sample(&waiting(1, 10, 0, 77));
        r.sample(&waiting(2, 11, 0, 78));
        r.sample(&waiting(1, 12, 0, 77));
        r.user_chain(1, 13, 77, &user);
        r.user_chain(2, 14, 78, &other);
        // A sample in the program has all of its chain.
        let chain = vec![USER, CODE + 0x120, CODE + 0x10];
        r.sample(&Sample { pid: 1, tid: 1, time: 15, period: 1, chain, ..Sample::default() });
        let (text, report) = fold_bytes(&r.bytes(), &below(root.path())).unwrap();
        let expected =
            "app;main;other;[[kernel.kallsyms]] 5\napp;main;work 1\napp;main;work;[[kernel.kallsyms]] 10\n";
        assert_eq!(text, expected, "big {big_endian}");
        assert!(!report.details.join("\n").contains("only the kernel's part"), "{:?}", report.details);
    }
}

#[test]
fn samples_whose_user_s_part_never_comes_are_counted() {
    let root = root_with_maps(&[(1, &[(CODE, "main")])]);
    let mut r = recording(false);
    // Another stay in the kernel, the end of a thread, another cookie, the end of the recording.
    r.sample(&waiting(1, 10, 0, 77));
    r.sample(&waiting(1, 11, 0, 78));
    r.user_chain(1, 12, 79, &[USER, CODE + 0x10]);
    r.sample(&waiting(2, 13, 0, 80));
    r.exit(2, 14);
    r.user_chain(2, 15, 80, &[USER, CODE + 0x10]);
    // More than may wait.
    for thread in 0..5000 {
        r.sample(&waiting(10 + thread, 20, 0, 100 + thread as u64));
    }
    let (text, report) = fold_bytes(&r.bytes(), &below(root.path())).unwrap();
    let weights = text.lines().map(|line| line.rsplit_once(' ').unwrap().1.parse::<u64>().unwrap());
    assert_eq!(weights.sum::<u64>(), 5003 * 5, "{text}");
    assert!(!text.contains("main") && !text.contains("unknown"), "{text}");
    let details = report.details.join("\n");
    assert!(details.contains("5003 stacks have only the kernel's part"), "{details}");
}
