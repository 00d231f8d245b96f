//! The progress and messages of a running recording, and the files that a killed one leaves.

use std::fs;
use std::io::Read;
use std::process::{Command, Stdio};

use super::process::{self, until};
use super::pty::{shown, terminal};
use super::{Running, fg_record, ready, recorded, text, wait_until_recording};

fn send(signal: &str, pid: u32) {
    process::signal(signal, pid);
}

/// A recording that was stopped for so long that the kernel has more to tell than there is room for.
struct WithGaps {
    recorder: Running,
    /// The program that is recorded.
    program: u32,
}

fn recorded_with_gaps(stderr: Stdio, folder: &std::path::Path) -> Option<WithGaps> {
    let program = ready()?;
    recorded(fg_record().arg("--").arg(program).arg("20"))?;
    let mut command = fg_record();
    command.args(["-F", "9999", "--call-graph", "dwarf,65528", "-o"]).arg(folder.join("out"));
    let child = command.arg("--").arg(program).arg("1000000").stderr(stderr).spawn().expect("it starts");
    let recorder = Running(child);
    wait_until_recording(&recorder.0);
    let pid = recorder.0.id();
    let program = process::family(pid).into_iter().find(|&it| it != pid && process::computes(it));
    let gaps = WithGaps { recorder, program: program.expect("it computes") };
    send("STOP", pid);
    gaps.wait_for_a_second_of_the_program();
    send("CONT", pid);
    Some(gaps)
}

impl WithGaps {
    fn wait_for_a_second_of_the_program(&self) {
        let before = process::user_time(self.program);
        until("the program computes on", || process::user_time(self.program) >= before + 100);
    }
}

/// Issue 15, line 5: progress would overwrite the prompt of the program that is recorded.
#[test]
fn a_recorded_program_has_the_terminal_for_itself() {
    let folder = tempfile::tempdir().expect("a folder");
    let (first, second) = terminal();
    let Some(mut gaps) = recorded_with_gaps(Stdio::from(second), folder.path()) else { return };
    gaps.wait_for_a_second_of_the_program();
    send("TERM", gaps.recorder.0.id());
    let shown = shown(first);
    assert_eq!(gaps.recorder.0.wait().expect("it ends").code(), Some(143), "{shown}");
    assert!(shown.contains(" samples were lost"), "{shown:?}");
    assert!(!shown.contains("\x1b[K"), "{shown:?}");
}

#[test]
fn losses_are_reported_and_progress_goes_only_to_a_terminal() {
    let folder = tempfile::tempdir().expect("a folder");
    let Some(mut gaps) = recorded_with_gaps(Stdio::piped(), folder.path()) else { return };
    // Long enough to show something.
    gaps.wait_for_a_second_of_the_program();
    send("TERM", gaps.recorder.0.id());
    let mut said = String::new();
    gaps.recorder.0.stderr.take().expect("a pipe").read_to_string(&mut said).expect("text");
    assert!(said.contains(" samples were lost: lower -F, or use --call-graph fp"), "{said}");
    assert!(!said.contains('\r') && !said.contains('\x1b'), "{said:?}");
}

#[test]
fn cut_stacks_and_missing_frame_pointers_are_reported() {
    let Some(program) = ready() else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let data = folder.path().join("perf.data");
    // Not all of a program's stacks are that deep: those of one thread are.
    let record =
        |options: &[&str]| recorded(fg_record().args(options).arg("--").arg(program).args(["200", "thread"]));
    let Some(output) = record(&["--call-graph", "fp"]) else { return };
    let said = text(&output.stderr);
    assert!(said.contains("it has no frame pointers, record with --call-graph dwarf"), "{said}");
    // What was not copied is read from the program while it runs, and is gone from a file.
    let path = data.to_str().expect("text");
    let Some(_) = record(&["--raw", "-o", path, "--call-graph", "dwarf,64"]) else { return };
    let read = Command::new(env!("CARGO_BIN_EXE_fg-collapse")).arg(&data).output().expect("it starts");
    let said = text(&read.stderr);
    let words = "are longer than what was recorded of them and begin with [truncated]";
    assert!(said.contains(words), "{said}");
}

#[test]
fn a_raw_recording_takes_the_place_of_an_older_one() {
    let Some(program) = ready() else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("perf.data");
    let count = || fs::read_dir(folder.path()).expect("a folder").count();
    // For its owner alone.
    fs::write(&path, "older").expect("a file");
    let link = folder.path().join("link");
    std::os::unix::fs::symlink(&path, &link).expect("a link");
    let mut command = fg_record();
    command.args(["--raw", "-o"]).arg(&link).arg("--").arg(program).arg("50");
    if recorded(&mut command).is_none() {
        return;
    }
    let mode = std::os::unix::fs::PermissionsExt::mode(&fs::metadata(&path).expect("it").permissions());
    assert_eq!(mode & 0o777, 0o600);
    assert!(fs::read(&path).expect("it").starts_with(b"PERFILE2"));
    assert!(link.is_symlink());
    assert_eq!(count(), 2);
    for path in ["-", "/dev/null", "/"] {
        let output = fg_record().args(["--raw", "-o", path, "--", "true"]).output().expect("it starts");
        assert_eq!(output.status.code(), Some(2));
        assert!(text(&output.stderr).contains("--raw needs a file"), "{path}: {output:?}");
    }
}

/// The standard output and messages of a recording on a terminal, and the exit status.
fn recorded_on_a_terminal(words: &[&str], folder: &std::path::Path) -> Option<(String, Option<i32>)> {
    let program = ready()?;
    recorded(fg_record().arg("--").arg(program).arg("20"))?;
    let (first, second) = super::pty::terminal_of(80);
    let mut command = fg_record();
    command.args(words).arg(program).args(["300", "-", "3"]).current_dir(folder).env("NO_COLOR", "1");
    command.stdin(Stdio::null()).stdout(second.try_clone().expect("its other end")).stderr(second);
    let mut child = Running(command.spawn().expect("it starts"));
    drop(command);
    let shown = shown(first).replace('\r', "");
    Some((shown, child.0.wait().expect("it ends").code()))
}

/// Issue 20, Manners: a wall of stacks was the end of a recording.
#[test]
fn a_recording_on_a_terminal_ends_with_a_table_and_a_sum() {
    let folder = tempfile::tempdir().expect("a folder");
    let Some((shown, status)) = recorded_on_a_terminal(&[], folder.path()) else { return };
    assert_eq!(status, Some(3), "{shown}");
    let rows = shown.split("total%  function\n").nth(1).expect("a table");
    let rows = rows.lines().take_while(|line| line.contains('%')).count();
    assert!((1..=10).contains(&rows), "{shown}");
    assert!(!shown.contains("--limit") && !shown.contains("# unit"), "{shown}");
    let mut lines = shown.lines().rev();
    assert!(lines.next().expect("a line").ends_with(" exited with status 3"), "{shown}");
    let last = lines.next().expect("another");
    assert!(last.starts_with("fg-record: ") && last.contains(" samples in "), "{last}");
    assert!(last.ends_with("; -o out.svg or --open draws them"), "{last}");
    assert!(shown.lines().all(|line| line.chars().count() <= 100), "{shown}");
}

#[test]
fn the_sum_of_a_recording_names_its_files() {
    let folder = tempfile::tempdir().expect("a folder");
    let words = ["-o", "out.svg", "-o", "out.folded"];
    let Some((shown, _)) = recorded_on_a_terminal(&words, folder.path()) else { return };
    assert!(shown.contains("total%  function\n"), "{shown}");
    assert!(shown.lines().any(|line| line.starts_with("fg-record: out.svg, out.folded: ")), "{shown}");
    assert!(folder.path().join("out.svg").exists());
    // Nothing is said that nobody wants to hear, and -o - is folded text wherever it goes.
    let (shown, _) = recorded_on_a_terminal(&["-q", "-o", "a.svg"], folder.path()).expect("as before");
    assert!(!shown.contains("samples in") && !shown.contains("function"), "{shown}");
    let (shown, _) = recorded_on_a_terminal(&["-o", "-"], folder.path()).expect("as before");
    assert!(shown.contains("# unit: ") && !shown.contains("total%"), "{shown}");
}

#[cfg(feature = "tui")]
#[test]
fn the_profile_is_explored_in_the_terminal() {
    use std::io::Write;

    let Some(program) = super::ready() else { return };
    if super::recorded(fg_record().arg("--").arg(program).arg("20")).is_none() {
        return;
    }
    let (first, second) = terminal();
    let mut keys = first.try_clone().expect("a terminal");
    let mut command = fg_record();
    command.args(["-q", "--tui", "--"]).arg(program).args(["200", "-", "3"]).env("TERM", "xterm");
    let other = || Stdio::from(second.try_clone().expect("its other end"));
    command.stdin(other()).stdout(other()).stderr(other());
    let mut child = Running(command.spawn().expect("it starts"));
    drop((command, second));
    // The key waits until somebody reads it.
    keys.write_all(b"q").expect("a key");
    let shown = super::pty::shown(first);
    assert_eq!(child.0.wait().expect("it ends").code(), Some(3), "{shown}");
    assert!(shown.contains("\x1b[?1049h") && shown.contains("\x1b[?1049l"), "{shown:?}");
    // A pipe is no terminal.
    let output = fg_record().args(["--tui", "--", "touch", "it-ran"]).output().expect("it starts");
    assert!(text(&output.stderr).starts_with("fg-record: --tui needs a terminal"), "{output:?}");
}
