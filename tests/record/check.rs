//! `fg-record check` on this machine, and where a recording is impossible.

use std::process::{Command, Output};

use super::installed::outcome;
use super::{fg_record, in_time, text};

/// The rows: what, and whether it works.
fn rows(table: &str) -> Vec<(String, String)> {
    let rows = table.lines().skip(2).filter(|line| line.len() > 24 && !line.starts_with([' ', 'O']));
    rows.map(|row| (row[6..24].trim().to_owned(), row[..6].trim().to_owned())).collect()
}

#[test]
fn the_table_agrees_with_recordings() {
    // It may have no turn on a busy machine while it tries.
    let check = |_: &str| fg_record().arg("check").output().ok();
    let has_samples = |output: &Output| !text(&output.stdout).contains("but none came of ");
    let output = in_time(check, has_samples).expect("fg-record starts");
    let table = text(&output.stdout);
    assert!(output.stderr.is_empty(), "{output:?}");
    assert!(table.lines().all(|line| line.chars().count() <= 79 || line.contains('`')), "{table}");
    let rows = rows(&table);
    let verdict = |what: &str| rows.iter().find(|row| row.0 == what).map(|row| row.1.as_str());
    for (tool, job) in [("perf", "perf record"), ("py-spy", "py-spy"), ("austin", "austin")] {
        assert_eq!(verdict(tool), Some(if outcome(job).is_none() { "yes" } else { "no" }), "{table}");
    }
    let folder = tempfile::tempdir().expect("a folder");
    let records = |arguments: &[&str]| {
        let mut command = fg_record();
        command.args(["--raw", "-o"]).arg(folder.path().join("perf.data")).args(arguments);
        let output = command.output().expect("fg-record starts");
        // A moment without samples is no refusal.
        output.status.code() == Some(0) || text(&output.stderr).contains("no samples in")
    };
    let busy = "i=0; while [ $i -lt 50000 ]; do i=$((i+1)); done";
    let works = records(&["--", "sh", "-c", busy]);
    assert_eq!(verdict("samples") == Some("yes"), works, "{table}");
    assert_eq!(output.status.code(), Some(if works { 0 } else { 1 }), "{table}");
    assert_eq!(verdict("whole machine") == Some("yes"), records(&["-a", "-d", "0.05"]), "{table}");
    if works {
        for what in ["cycles", "kernel frames", "kernel symbols", "stack dumps", "memory", "waiting"] {
            assert!(verdict(what).is_some(), "{what}: {table}");
        }
    }
}

#[test]
fn the_status_is_1_where_recording_is_impossible() {
    let program = env!("CARGO_BIN_EXE_fg-record");
    // Too few files for the events.
    let output = Command::new("sh").args(["-c", "ulimit -n 8; exec \"$0\" check", program]).output();
    let output = output.expect("sh starts");
    let table = text(&output.stdout);
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let samples = rows(&table).into_iter().find(|row| row.0 == "samples").expect("the row");
    assert_eq!(samples.1, "no", "{table}");
    assert!(table.contains("--nofile=64`"), "{table}");
}
