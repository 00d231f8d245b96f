//! A recording is never lost: signals, killed recorders, full disks, readers that have gone.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

use super::process::{family, lives, signal, until};
use super::{Running, fg_record, in_time, ready, recorded, share, text, wait_until_recording};

fn fold(path: &Path) -> String {
    let folded = Command::new(env!("CARGO_BIN_EXE_fg-collapse")).arg("-q").arg(path).output();
    text(&folded.expect("fg-collapse starts").stdout)
}

/// Line 1: the profile of a recorder whose reader has gone is saved, and that is an error.
#[test]
fn a_profile_that_nobody_reads_is_saved() {
    let Some(program) = ready() else { return };
    let folder = tempfile::tempdir().expect("a folder");
    if recorded(fg_record().arg("--").arg(program).arg("50")).is_none() {
        return;
    }
    let (reader, writer) = std::io::pipe().expect("a pipe");
    drop(reader);
    let mut command = fg_record();
    command.current_dir(folder.path()).env("TMPDIR", folder.path()).arg("--").arg(program).arg("150");
    let output = command.stdout(writer).stderr(Stdio::piped()).output().expect("it starts");
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    let names: Vec<_> = fs::read_dir(folder.path()).expect("a folder").flatten().collect();
    assert_eq!(names.len(), 1, "{names:?}");
    let name = names[0].file_name().to_string_lossy().into_owned();
    assert!(text(&output.stderr).contains(&format!("it is saved in {name}")), "{output:?}");
    assert!(share(&fs::read_to_string(names[0].path()).expect("a profile"), "hot") > 0.5);
}

/// Line 2: SIGHUP ends a recording as SIGTERM does, and two signals of one request are one.
#[test]
fn a_closed_terminal_ends_the_recording_and_the_target() {
    let Some(program) = ready() else { return };
    if recorded(fg_record().arg("--").arg(program).arg("50")).is_none() {
        return;
    }
    let mut command = fg_record();
    command.arg("--").arg(program).arg("1000000").stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = command.spawn().expect("it starts");
    wait_until_recording(&child);
    let twice = format!("kill -s HUP {0}; kill -s HUP {0}", child.id());
    assert!(Command::new("sh").args(["-c", &twice]).status().expect("a shell").success());
    let output = child.wait_with_output().expect("it ends");
    assert_eq!(output.status.code(), Some(129), "{output:?}");
    assert!(share(&text(&output.stdout), "hot") > 0.5, "{output:?}");
}

/// Line 3: what a recorder with `--raw` has recorded can be read when it was killed. Without, records are
/// folded while they come, and nothing is on the disk.
#[test]
fn a_killed_recorder_leaves_what_it_recorded() {
    let Some(program) = ready() else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let raw = folder.path().join("perf.data");
    if recorded(fg_record().args(["--raw", "-o"]).arg(&raw).arg("--").arg(program).arg("50")).is_none() {
        return;
    }
    for is_raw in [true, false] {
        let _ = fs::remove_file(&raw);
        let mut command = fg_record();
        command.env("TMPDIR", folder.path()).current_dir(folder.path()).arg("-v");
        if is_raw {
            command.args(["--raw", "-o"]).arg(&raw);
        }
        command.arg("--").arg(program).arg("1000000").stdout(Stdio::null()).stderr(Stdio::piped());
        let mut child = Running(command.spawn().expect("it starts"));
        wait_until_recording(&child.0);
        // It goes on without its recorder.
        let program = family(child.0.id()).into_iter().nth(1).expect("it computes");
        let names = fs::read_dir(folder.path()).expect("a folder").count();
        assert_eq!(names, usize::from(is_raw), "files while it records");
        // The program has its standard error, too, and goes on.
        let mut lines = BufReader::new(child.0.stderr.take().expect("a pipe")).lines();
        let words = if is_raw { "recording into" } else { "--raw keeps the recording" };
        let said = lines.find_map(|line| line.ok().filter(|line| line.contains(words)));
        let said = said.expect("it says where the recording is, or that there is none");
        let path = said.strip_prefix("fg-record: recording into ").map(Path::new);
        assert_eq!(path.is_some(), is_raw, "{said}");
        // A busy machine may not have let it write any sample yet.
        let mut is_written = || path.is_none_or(|path| fold(path).contains(";hot "));
        until("it has written samples", &mut is_written);
        child.0.kill().expect("it is killed");
        child.0.wait().expect("it ends");
        signal("KILL", program);
        assert!(is_written(), "{said}");
    }
}

/// Line 4: a file that may not grow any more ends the recording; what fitted can be read.
#[test]
fn a_full_disk_keeps_what_fitted() {
    let Some(program) = ready() else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let raw = folder.path().join("perf.data");
    // Some hundred samples with 32 KiB of stack each: far more than those of the program's start.
    let script = "ulimit -f 20000; exec \"$@\"";
    let mut command = Command::new("sh");
    command.args(["-c", script, "sh", env!("CARGO_BIN_EXE_fg-record"), "-F", "4999", "--raw", "-o"]);
    let Some(output) = recorded(command.arg(&raw).arg("--").arg(program).args(["1200", "-", "3"])) else {
        return;
    };
    assert_eq!(output.status.code(), Some(3), "the target is waited for: {output:?}");
    assert!(text(&output.stderr).contains("the recording could not be written any more"), "{output:?}");
    assert!(share(&fold(&raw), "hot") > 0.5, "{output:?}");
}

/// Issue 41: a recording that is cut off is no success, though the program was one.
#[test]
fn a_full_disk_is_no_success() {
    let Some(program) = ready() else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let script = "ulimit -f 2000; exec \"$@\"";
    let mut command = Command::new("sh");
    command.args(["-c", script, "sh", env!("CARGO_BIN_EXE_fg-record"), "-F", "4999", "--raw", "-o"]);
    let raw = folder.path().join("perf.data");
    let Some(output) = recorded(command.arg(&raw).arg("--").arg(program).arg("500")) else { return };
    assert!(text(&output.stderr).contains("the recording could not be written any more"), "{output:?}");
    assert_eq!(output.status.code(), Some(2), "{output:?}");
}

/// Line 4: a profile that does not fit where it was wanted is saved elsewhere, as there is no recording.
#[test]
fn a_profile_that_cannot_be_written_is_saved() {
    let Some(program) = ready() else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let full = folder.path().join("out.svg");
    if !Path::new("/dev/full").exists() {
        return super::skip("/dev/full is not there");
    }
    std::os::unix::fs::symlink("/dev/full", &full).expect("a link");
    let mut command = fg_record();
    command.current_dir(folder.path()).arg("-o").arg(&full).arg("--").arg(program).arg("150");
    let Some(output) = recorded(&mut command) else { return };
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    let said = text(&output.stderr);
    let saved = said.lines().find_map(|line| line.split_once("; it is saved in ")).expect("it says where").1;
    let saved = fs::read_to_string(folder.path().join(saved)).expect("a profile");
    assert!(share(&saved, "hot") > 0.5, "{said}");
}

/// Line 6: the end of the time ends all that a shell has started.
#[test]
fn the_end_of_the_time_ends_the_whole_tree() {
    let Some(program) = ready() else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let pid = folder.path().join("pid");
    let script = format!("{} 1000000 & echo $! >{}; wait; true", program.display(), pid.display());
    let record = |seconds: &str| recorded(fg_record().args(["-d", seconds, "--", "sh", "-c", &script]));
    let number = || fs::read_to_string(&pid).ok()?.trim().parse::<u32>().ok();
    if in_time(record, |_| number().is_some()).is_none() {
        return;
    }
    let pid = number().expect("its number");
    // Its end may take a moment after that of the shell.
    until("it ends", || !lives(pid));
}
