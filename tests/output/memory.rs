//! A program that gets no more memory ends as after any other trouble.

use std::fs;
use std::io::Write;
use std::os::unix::process::ExitStatusExt;
use std::process::Command;

use super::{COLLAPSE, FILTER, RENDER, SMALL, Waiting, names, system};

/// The address space of a process.
fn address_space(pid: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let size = status.lines().find_map(|line| line.strip_prefix("VmSize:")).unwrap();
    size.trim().trim_end_matches(" kB").parse::<u64>().unwrap() * 1024
}

#[test]
fn the_end_of_memory_is_one_line_and_leaves_nothing() {
    const ROOM: u64 = 4 << 20;
    // Stacks in no order, each another: all of them have to be kept.
    let stacks: String = (0..60_000u64)
        .map(|n| n.wrapping_mul(0x9e37_79b9_7f4a_7c15))
        .map(|n| format!("main;f{n:x};{:0100}{n:x} 1\n", 0))
        .collect();
    assert!(stacks.len() as u64 > 2 * ROOM);
    for (program, arguments) in [
        (COLLAPSE, &["-o", "out"][..]),
        (FILTER, &["--top", "60000", "-o", "out"]),
        (RENDER, &["--format", "pprof", "-o", "out"]),
    ] {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("out"), SMALL).unwrap();
        let mut waiting = Waiting::start(Command::new(program).args(arguments), folder.path());
        assert_eq!(names(folder.path()).len(), 2, "{program}: no temporary file yet");
        let pid = waiting.child.id();
        system::limit_memory(pid.cast_signed(), address_space(pid) + ROOM);
        // It may end before it has read everything.
        let _ = waiting.input.as_mut().unwrap().write_all(stacks.as_bytes());
        let (status, said) = waiting.end();
        assert_eq!((status.code(), status.signal()), (Some(2), None), "{program}: {said}");
        let name = program.rsplit('/').next().unwrap();
        assert!(said.starts_with(&format!("{name}: out of memory: ")), "{said}");
        assert_eq!(said.lines().count(), 1, "{said}");
        assert_eq!(names(folder.path()), ["out"], "{program}");
        assert_eq!(fs::read_to_string(folder.path().join("out")).unwrap(), SMALL);
    }
}
