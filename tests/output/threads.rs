//! A machine that starts no more threads: `ulimit -u`, a container's number of processes.

use std::fmt::Write;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::process::{Command, Output};

use super::{COLLAPSE, RECORD, RENDER, copied, feed, system};

/// A user that nobody here is, for root has no limit.
const ADA: u32 = 54_001;

/// Runs a program in a folder of its own, with a number of threads at most.
fn run(program: &str, arguments: &[&str], input: &str, threads: Option<u64>) -> Output {
    // Others cannot reach the folder in which cargo builds.
    let folder = tempfile::tempdir().unwrap();
    fs::set_permissions(folder.path(), Permissions::from_mode(0o777)).unwrap();
    let copy = folder.path().join("program");
    copied::program(program, &copy);
    fs::set_permissions(&copy, Permissions::from_mode(0o755)).unwrap();
    fs::write(folder.path().join("input"), input).unwrap();
    fs::set_permissions(folder.path().join("input"), Permissions::from_mode(0o644)).unwrap();
    let mut command = Command::new(&copy);
    command.args(arguments).current_dir(folder.path());
    if system::is_root() {
        command.uid(ADA).gid(ADA);
    }
    if let Some(count) = threads {
        system::limit_threads(&mut command, count);
    }
    feed::feed(&mut command, "")
}

#[test]
fn work_is_done_without_the_threads_that_do_not_start() {
    // Several blocks, each for whichever thread is free.
    let script: String = (0..40_000).fold(String::new(), |mut text, n| {
        let _ = writeln!(
            text,
            "app 7 {n}.000000: 1 cycles:\n\t7f{n:06x} leaf_{}+0x1 (/usr/lib/x)\n\t55 main+0x2 (/app)\n",
            n % 99
        );
        text
    });
    // More than is walked by one thread.
    let sorted: String = (0..160_000).fold(String::new(), |mut text, n| {
        let _ = writeln!(text, "main;caller_{:06};a_leaf_with_a_long_name_{n:06} {}", n / 10, n % 7 + 1);
        text
    });
    let many = ["--threads", "4", "input"];
    for (program, arguments, input) in
        [(COLLAPSE, &["--no-header"][..], &script), (RENDER, &["--format", "top"], &sorted)]
    {
        let arguments = [arguments, &many].concat();
        let [plain, limited] = [None, Some(0)].map(|threads| run(program, &arguments, input, threads));
        assert!(plain.status.success(), "{}", feed::text(plain.stderr));
        assert!(plain.stdout.len() > 100);
        let said = feed::text(limited.stderr);
        assert!(limited.status.success(), "{program}: {said}");
        assert_eq!(said, "", "{program}");
        assert!(limited.stdout == plain.stdout, "{program}: other bytes");
    }
}

#[test]
fn a_recorder_that_gets_no_thread_says_so() {
    // What it starts, one after the other: each may be the one too many.
    const BUSY: &str = "i=0; while [ $i -lt 100000 ]; do i=$((i + 1)); done";
    for threads in 0..6 {
        let run = run(RECORD, &["-o", "out", "--", "sh", "-c", BUSY], "", Some(threads));
        let said = feed::text(run.stderr);
        assert!(!said.contains("panicked"), "{threads} threads: {said}");
        assert!(run.status.code().is_some_and(|status| status <= 2), "{threads} threads: {said}");
        assert!(run.status.success() || said.lines().count() == 1, "{threads} threads: {said}");
    }
}
