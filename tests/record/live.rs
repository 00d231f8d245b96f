//! `--live`: the profile grows in a terminal, and is written at the end.

use std::fs;
use std::io::Write;
use std::process::{Command, Stdio};

use super::pty::{terminal_of, watched};
use super::{Running, fg_record, ready, recorded, share, text};

#[test]
fn the_profile_is_watched_while_it_grows() {
    let Some(program) = ready() else { return };
    if recorded(fg_record().arg("--").arg(program).arg("20")).is_none() {
        return;
    }
    let child = Command::new(program).arg("100000000").stdout(Stdio::null()).spawn().expect("it starts");
    let child = Running(child);
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("a.folded");
    let (first, second) = terminal_of(120);
    let mut keys = first.try_clone().expect("a terminal");
    let mut command = fg_record();
    command.args(["--live", "-p", &child.0.id().to_string(), "-o"]).arg(&path).env("TERM", "xterm");
    let other = || Stdio::from(second.try_clone().expect("its other end"));
    command.stdin(other()).stdout(other()).stderr(other());
    let mut recorder = Running(command.spawn().expect("it starts"));
    drop((command, second));
    // Each key waits for what the one before has led to; a screen is written as far as it has changed.
    let mut steps = [("0 Live", "/"), ("▏", "hot\r"), ("matched", "q")].into_iter().peekable();
    let mut seen = 0;
    let shown = watched(first, |shown| {
        while steps.next_if(|(awaited, _)| shown[seen..].contains(awaited)).is_some_and(|(_, key)| {
            seen = shown.len();
            keys.write_all(key.as_bytes()).is_ok()
        }) {}
    });
    assert_eq!(recorder.0.wait().expect("it ends").code(), Some(0), "{shown}");
    assert!(steps.next().is_none(), "{shown}");
    assert!(shown.contains("hot") && shown.contains("samples in"), "{shown}");
    let folded = fs::read_to_string(&path).expect("folded text");
    assert!(share(&folded, "hot") > 0.5, "{folded}");
}

/// Issue 41: the terminal is the picture's, and what the program writes is kept.
#[test]
fn a_program_writes_into_a_file_beside_the_picture() {
    let Some(program) = ready() else { return };
    if recorded(fg_record().arg("--").arg(program).arg("20")).is_none() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let (first, second) = terminal_of(120);
    let mut keys = first.try_clone().expect("a terminal");
    let mut command = fg_record();
    command.current_dir(folder.path()).env("TERM", "xterm");
    let script = format!("echo $((6 * 7)) is written; exec {} 100000000", program.display());
    command.args(["--live", "-o", "a.folded", "--", "sh", "-c", &script]);
    let other = || Stdio::from(second.try_clone().expect("its other end"));
    command.stdin(other()).stdout(other()).stderr(other());
    let mut recorder = Running(command.spawn().expect("it starts"));
    drop((command, second));
    let mut has_quit = false;
    let shown = watched(first, |shown| {
        if !has_quit && shown.contains("0 Live") && shown.contains("hot") {
            has_quit = keys.write_all(b"q").is_ok();
        }
    });
    recorder.0.wait().expect("it ends");
    let output = format!("fg-record-{}.out", recorder.0.id());
    assert!(shown.contains(&format!("the output of sh is in {output}")), "{shown}");
    assert!(!shown.contains("42 is written"), "{shown}");
    let written = fs::read_to_string(folder.path().join(output)).expect("its output");
    assert_eq!(written, "42 is written\n");
    assert!(share(&fs::read_to_string(folder.path().join("a.folded")).expect("text"), "hot") > 0.5);
}

#[test]
fn a_terminal_of_its_own_is_needed() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut command = fg_record();
    command.current_dir(folder.path()).args(["--live", "--", "touch", "it-ran"]);
    let output = command.output().expect("it starts");
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    assert!(text(&output.stderr).starts_with("fg-record: --live needs a terminal"), "{output:?}");
    assert_eq!(fs::read_dir(folder.path()).expect("a folder").count(), 0, "nothing ran");
    let pid = std::process::id().to_string();
    let output = fg_record().args(["--live", "-d", "0.1", "-p", &pid]).output().expect("it starts");
    assert!(text(&output.stderr).starts_with("fg-record: --live needs a terminal"), "{output:?}");
}
