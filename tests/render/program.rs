//! The program: its output file, its help, its formats, pipes that close.

use super::{Picture, SMALL, run, run_in};

#[test]
fn output_files_appear_complete() {
    let folder = tempfile::tempdir().unwrap();
    let run = run_in(folder.path(), &["-o", "out.svg"], SMALL);
    assert_eq!((run.status, run.stdout.len(), run.stderr.as_str()), (0, 0, ""));
    let text = std::fs::read_to_string(folder.path().join("out.svg")).unwrap();
    assert_eq!(Picture::parse(&text).frames.len(), 5);
    let missing = run_in(folder.path(), &["-o", "nosuch/out.svg"], SMALL);
    assert_eq!((missing.status, missing.stderr.lines().count()), (2, 1));
}

#[test]
fn the_one_format_can_be_named() {
    assert!(run(&["--format", "svg"], SMALL).stdout == run(&[], SMALL).stdout);
    let unknown = run(&["--format", "gif"], SMALL);
    assert!(unknown.status == 2 && unknown.stderr.contains("svg"), "{}", unknown.stderr);
}

#[test]
fn it_writes_about_itself() {
    let help = run(&["--help"], "");
    assert_eq!(help.status, 0);
    for option in ["--nameattr", "--colors", "--flamechart", "--generate"] {
        assert!(help.text().contains(option));
    }
    assert!(run(&["--generate", "man"], "").text().contains("fg-render"));
    assert!(run(&["--generate", "bash"], "").text().contains("--colordiffusion"));
    let short = run(&["-h"], "");
    let long_lines: Vec<_> = short.text().lines().filter(|line| line.chars().count() > 79).collect();
    assert!(long_lines.is_empty(), "{long_lines:?}");
}

#[test]
fn a_closed_pipe_is_no_trouble() {
    use std::process::{Command, Stdio};
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("many.folded");
    let text: String = (0..20_000).map(|n| format!("main;f{n:05} 1\n")).collect();
    std::fs::write(&file, text).unwrap();
    let mut child = Command::new(env!("CARGO_BIN_EXE_fg-render"))
        .args(["--minwidth", "0"])
        .arg(&file)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), output.stderr.len()), (Some(0), 0));
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_said() {
    let run = run(&["-o", "/dev/full"], SMALL);
    assert_eq!((run.status, run.stderr.lines().count()), (2, 1), "{}", run.stderr);
    assert!(run.stderr.contains("cannot write: no space left on device"), "{}", run.stderr);
}
