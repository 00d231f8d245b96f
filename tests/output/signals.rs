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

/// A member of a tar archive; of its content only what is there.
fn member(name: &str, size: usize, content: &[u8]) -> Vec<u8> {
    let mut block = vec![0; 512];
    block[..name.len()].copy_from_slice(name.as_bytes());
    block[100..108].copy_from_slice(b"0000644\0");
    block[124..136].copy_from_slice(format!("{size:011o}\0").as_bytes());
    block[148..156].fill(b' ');
    block[156] = b'0';
    block[257..265].copy_from_slice(b"ustar\x0000");
    let sum: u32 = block.iter().map(|byte| u32::from(*byte)).sum();
    block[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    block.extend(content);
    block.resize(block.len().next_multiple_of(512), 0);
    block
}

#[test]
fn signals_remove_the_programs_of_a_bundle() {
    let mut bundle = Vec::new();
    for build_id in ["8a/2f00112233445566778899aabbccddeeff0011", "8a/3f00112233445566778899aabbccddeeff0011"]
    {
        bundle.extend(member(&format!(".build-id/{build_id}/elf"), 5, b"\x7fELF\x02"));
    }
    let stacks = "main;parse 40\n".repeat(10_000);
    bundle.extend(member("recording.folded", stacks.len() + 1, stacks.as_bytes()));
    for (program, arguments) in READERS {
        for signal in [libc::SIGABRT, libc::SIGTERM] {
            let folder = tempfile::tempdir().unwrap();
            let temporary = folder.path().join("temporary");
            fs::create_dir(&temporary).unwrap();
            fs::write(folder.path().join("before.folded"), SMALL).unwrap();
            let mut command = Command::new(program);
            command.args(*arguments).env("TMPDIR", &temporary);
            let waiting = Waiting::behind(&bundle, &mut command, folder.path());
            let unpacked = names(&temporary);
            assert!(unpacked.iter().any(|name| name.starts_with("fg-bundle-")), "{program}: {unpacked:?}");
            waiting.signal(signal);
            let (status, said) = waiting.end();
            assert_eq!((status.signal(), said.as_str()), (Some(signal), ""), "{program}");
            assert_eq!(names(&temporary), [""; 0], "{program}, signal {signal}");
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
