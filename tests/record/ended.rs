//! Issue 41: the end of the recorded program is said, and so is what it leaves behind.

use std::fs;
use std::process::Command;

use super::process::signal;
use super::{fg_record, ready, recorded, text};

#[test]
fn a_crash_and_a_failure_are_said_and_the_status_is_passed_on() {
    let Some(program) = ready() else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let said = |quiet: bool, script: &str| {
        let mut command = fg_record();
        command.args(if quiet { &["-q"][..] } else { &[] }).arg("-o").arg(folder.path().join("a.folded"));
        let script = script.replace("PROGRAM", &program.display().to_string());
        command.args(["--", "sh", "-c", &script]);
        recorded(&mut command).map(|output| (output.status.code(), text(&output.stderr)))
    };
    let Some((status, failed)) = said(false, "PROGRAM 50; exit 3") else { return };
    assert_eq!(status, Some(3), "{failed}");
    assert!(failed.contains("fg-record: sh exited with status 3\n"), "{failed}");
    // The program itself, and no shell that knows of it.
    let (status, killed) = said(false, "ulimit -c 0; exec PROGRAM 50 abort").expect("as before");
    assert_eq!(status, Some(128 + 6), "{killed}");
    assert!(killed.contains("fg-record: sh was killed by SIGABRT"), "{killed}");
    assert_eq!(said(true, "PROGRAM 50; exit 3"), Some((Some(3), String::new())), "-q");
}

#[test]
fn a_success_is_one_line() {
    let Some(program) = ready() else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("a.folded");
    let Some(output) = recorded(fg_record().arg("-o").arg(&path).arg("--").arg(program).arg("100")) else {
        return;
    };
    let said = text(&output.stderr);
    assert_eq!(said.lines().count(), 1, "{said}");
    assert!(said.starts_with(&format!("fg-record: {}: ", path.display())), "{said}");
    assert!(said.contains(" samples in ") && said.contains(" ms CPU"), "{said}");
}

#[test]
fn what_runs_on_is_named() {
    let Some(program) = ready() else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let pid = folder.path().join("pid");
    let script =
        format!("setsid sleep 1000 >/dev/null 2>&1 & echo $! >{}; {} 50", pid.display(), program.display());
    let mut command = fg_record();
    command.arg("-o").arg(folder.path().join("a.folded")).args(["--", "sh", "-c", &script]);
    let Some(output) = recorded(&mut command) else { return };
    let pid = fs::read_to_string(pid).expect("its number");
    let said = text(&output.stderr);
    signal("KILL", pid.trim().parse().expect("a number"));
    assert!(said.contains(&format!("runs on: -p {} records it", pid.trim())), "{said}");
}

#[test]
fn too_few_open_files_are_no_fault_of_the_program() {
    for files in [8, 12, 16] {
        let script = format!("ulimit -n {files}; exec \"$@\"");
        let mut command = Command::new("bash");
        command.args(["-c", &script, "sh", env!("CARGO_BIN_EXE_fg-record"), "--", "true"]);
        let output = command.output().expect("bash starts");
        let said = text(&output.stderr);
        if !output.status.success() && !said.contains("no samples") && !said.contains("perf") {
            assert!(said.contains(&format!("{files} open files are too few")), "{said}");
        }
    }
}

/// A folder in its place shows what is missing; that takes the right to mount.
#[test]
fn a_missing_proc_is_said() {
    let Some(program) = ready() else { return };
    let script = "mount -t tmpfs none /proc && exec \"$@\"";
    let mut command = Command::new("unshare");
    command.args(["-m", "sh", "-c", script, "sh", env!("CARGO_BIN_EXE_fg-record"), "-o", "/dev/null", "--"]);
    let output = command.arg(program).arg("100").output();
    let Ok(output) = output else { return super::skip("unshare is not installed") };
    let said = text(&output.stderr);
    if !said.contains("fg-record: ") {
        return super::skip(said);
    }
    if output.status.success() {
        assert!(said.contains("/proc is not mounted") && !said.contains("debug information"), "{said}");
    }
}
