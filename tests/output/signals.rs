//! Signals that end a program leave nothing beside its output.

use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Stdio};

use super::{DIFF, READERS, RENDER, SMALL, Waiting, names, state_of, system, wait_for};

const ENDING: [i32; 5] = [libc::SIGABRT, libc::SIGTERM, libc::SIGHUP, libc::SIGQUIT, libc::SIGXCPU];

#[test]
fn signals_remove_temporary_names() {
    for (program, arguments) in READERS {
        for signal in ENDING {
            let folder = tempfile::tempdir().unwrap();
            fs::write(folder.path().join("before.folded"), SMALL).unwrap();
            fs::write(folder.path().join("out"), "old\n").unwrap();
            let waiting = Waiting::start(Command::new(program).args(*arguments), folder.path());
            // fg-diff makes its output when it has read both sides.
            assert_eq!(names(folder.path()).len(), if *program == DIFF { 2 } else { 3 }, "{program}");
            waiting.signal(signal);
            let (status, said) = waiting.end();
            assert_eq!((status.signal(), said.as_str()), (Some(signal), ""), "{program}");
            assert_eq!(names(folder.path()), ["before.folded", "out"], "{program}, signal {signal}");
            assert_eq!(fs::read(folder.path().join("out")).unwrap(), b"old\n");
        }
    }
}

#[test]
fn signals_that_the_starter_ignores_stay_ignored() {
    let folder = tempfile::tempdir().unwrap();
    let mut command = Command::new("sh");
    command.args(["-c", "trap '' HUP INT; exec \"$0\" --format collapsed -o out", RENDER]);
    let waiting = Waiting::start(&mut command, folder.path());
    for signal in [libc::SIGHUP, libc::SIGINT, libc::SIGINT, libc::SIGHUP] {
        waiting.signal(signal);
    }
    let (status, said) = waiting.end();
    assert_eq!((status.code(), said.as_str()), (Some(0), ""));
    assert_eq!(names(folder.path()), ["out"]);
}

#[test]
fn a_reader_of_files_ends_at_the_first_ctrl_c() {
    let folder = tempfile::tempdir().unwrap();
    let stacks: String = (0..200_000).map(|n| format!("main;f{n:06} 1\n")).collect();
    fs::write(folder.path().join("in.folded"), stacks).unwrap();
    // It fills the pipe, which nobody reads, and waits.
    let mut child = Command::new(super::FILTER)
        .args(["main", "in.folded"])
        .current_dir(folder.path())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let pid = child.id().cast_signed();
    let pipe = child.stdout.take().unwrap();
    wait_for("a full pipe", || system::unread(&pipe) > 0 && state_of(child.id()) == Some('S'));
    system::signal(pid, libc::SIGINT);
    assert_eq!(child.wait().unwrap().signal(), Some(libc::SIGINT));
}

#[test]
fn a_reader_of_a_terminal_ends_at_the_first_ctrl_c() {
    let (first, second) = super::pty::terminal();
    let mut child = Command::new(super::COLLAPSE).stdin(second).stdout(Stdio::null()).spawn().unwrap();
    let pid = child.id().cast_signed();
    wait_for("a read", || {
        // The handler is there: /proc shows the signals that are caught.
        let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
        let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:"));
        let caught = caught.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0);
        caught & (1 << (libc::SIGINT - 1)) != 0 && status.contains("State:\tS")
    });
    system::signal(pid, libc::SIGINT);
    assert_eq!(child.wait().unwrap().signal(), Some(libc::SIGINT));
    drop(first);
}

#[test]
fn a_file_size_limit_is_an_error_of_one_line() {
    let folder = tempfile::tempdir().unwrap();
    let stacks: String = (0..50_000).map(|n| format!("main;f{n:05} 1\n")).collect();
    fs::write(folder.path().join("in.folded"), stacks).unwrap();
    let script = "ulimit -f 1; exec \"$0\" in.folded --format collapsed -o out";
    let output = Command::new("sh").args(["-c", script, RENDER]).current_dir(folder.path()).output().unwrap();
    let said = super::feed::text(output.stderr);
    assert_eq!(
        (output.status.code(), said.as_str()),
        (Some(2), "fg-render: out: cannot write: file too large\n")
    );
    assert_eq!(names(folder.path()), ["in.folded"]);
}
