//! Several runs, and the comparison with another program.

use std::fs;
use std::path::Path;
use std::process::Output;

use super::{copied, fg_record, ready, recorded, text};

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).expect("a folder").flatten();
    let mut names: Vec<String> =
        entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

/// Runs `fg-record` in a folder; `None` where nothing may be recorded.
fn run(folder: &Path, arguments: &[&str]) -> Option<Output> {
    recorded(fg_record().current_dir(folder).args(arguments))
}

#[test]
fn each_run_has_its_file() {
    let Some(program) = ready() else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let program = program.to_str().expect("a path");
    let arguments = ["--runs", "2", "-o", "a.folded", "--svg", "b.svg", "--", program, "60"];
    let Some(output) = run(folder.path(), &arguments) else { return };
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert_eq!(names(folder.path()), ["a-1.folded", "a-2.folded", "b-1.svg", "b-2.svg"]);
    for file in ["a-1.folded", "a-2.folded"] {
        let folded = fs::read_to_string(folder.path().join(file)).expect(file);
        assert!(folded.contains(";main;hot "), "{folded}");
    }
    // The program keeps its own output.
    assert_eq!(text(&output.stdout), "its own output\nits own output\n");
    for (wrong, advice) in [
        (vec!["--runs", "2", "--", program, "1"], "-o app.folded"),
        (vec!["--runs", "2", "-o", "x.folded", "-p", "1"], "starts a program"),
        (vec!["--runs", "0", "-o", "x.folded", "--", program, "1"], "--runs"),
        (vec!["--gate", "slower>5%", "--", program, "1"], "--gate needs --against"),
        (vec!["--markdown", "x.md", "--", program, "1"], "--markdown needs --against"),
    ] {
        let refused = fg_record().current_dir(folder.path()).args(&wrong).output().expect("it starts");
        assert_eq!(refused.status.code(), Some(2), "{wrong:?}");
        assert!(text(&refused.stderr).contains(advice), "{wrong:?}: {}", text(&refused.stderr));
    }
}

#[test]
fn one_command_records_compares_gates_and_reports() {
    let Some(program) = ready() else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let before = folder.path().join("busy-before");
    copied::program(program, &before);
    let program = program.to_str().expect("a path");
    // Three times the work of the program before, uniformly.
    let against = format!("{} 40", before.display());
    let base = ["--runs", "3", "-F", "1999", "--against", &against, "--gate", "slower>50%"];
    let reports = ["--markdown", "report.md", "--json", "report.json", "-o", "diff.svg", "--keep", "kept"];
    let arguments = [&base[..], &reports, &["--", program, "120"]].concat();
    // Runs that something else has disturbed can be too different for the gate.
    let mut tries = 0;
    let slower = loop {
        let Some(output) = run(folder.path(), &arguments) else { return };
        tries += 1;
        if tries == 10 || output.status.code() == Some(1) {
            break output;
        }
    };
    if text(&slower.stdout).contains("not judged") {
        return super::skip("runs are too different here");
    }
    let (table, said) = (text(&slower.stdout), text(&slower.stderr));
    assert_eq!(slower.status.code(), Some(1), "{table}{said}");
    assert!(said.contains("fg-record: gate slower>50%: "), "{said}");
    assert!(table.contains("\nbefore: ") && table.contains("  hot\n"), "{table}");
    // The programs' names differ, and are one in the comparison.
    assert!(!table.contains("  busy-before\n") && table.contains("  busy\n"), "{table}");
    let markdown = fs::read_to_string(folder.path().join("report.md")).expect("a report");
    assert!(markdown.starts_with("**Failed: ") && markdown.contains("`diff.svg`"), "{markdown}");
    let json = fs::read(folder.path().join("report.json")).expect("a report");
    let json: serde_json::Value = serde_json::from_slice(&json).expect("JSON");
    assert_eq!((&json["outcome"], &json["before"]["runs"]), (&"tripped".into(), &3.into()));
    let picture = fs::read_to_string(folder.path().join("diff.svg")).expect("a picture");
    assert!(picture.contains("<title>hot ("), "{picture:.300}");
    let kept = names(&folder.path().join("kept"));
    let expected = ["after", "before"].map(|side| [1, 2, 3].map(|run| format!("{side}-{run}.folded")));
    assert_eq!(kept, expected.concat());
}

#[test]
fn the_same_program_passes_or_is_not_seen() {
    let Some(program) = ready() else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let program = program.to_str().expect("a path");
    // Without arguments of its own, the program before has those of the other.
    let arguments = ["-q", "--runs", "2", "--against", program, "--gate", "slower>400%"];
    let Some(same) = run(folder.path(), &[&arguments[..], &["--", program, "60"]].concat()) else { return };
    assert_eq!(same.status.code(), Some(0), "{same:?}");
    assert!(text(&same.stdout).contains("gate slower>400% "), "{same:?}");
    assert_eq!(names(folder.path()), [""; 0]);
}

#[test]
fn a_run_that_fails_is_not_compared() {
    let Some(program) = ready() else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let program = program.to_str().expect("a path");
    let against = format!("{program} 40 x 3");
    let arguments = ["--runs", "1", "--against", &against, "--", program, "40"];
    let Some(failed) = run(folder.path(), &arguments) else { return };
    assert_eq!((failed.status.code(), text(&failed.stdout)), (Some(2), String::new()));
    let said = text(&failed.stderr);
    assert!(said.contains("run 1 before (") && said.contains("it exited with 3"), "{said}");
    let Some(ignored) = run(folder.path(), &[&["--ignore-status"], &arguments[..]].concat()) else { return };
    assert_eq!(ignored.status.code(), Some(0), "{ignored:?}");
    let missing = ["--against", "/nonexistent/program", "--", program, "40"];
    assert_eq!(run(folder.path(), &missing).map(|output| output.status.code()), Some(Some(2)));
    let wrong = ["--against", program, "--gate", "slower", "--", program, "40"];
    assert_eq!(run(folder.path(), &wrong).map(|output| output.status.code()), Some(Some(2)));
}

#[test]
fn every_run_reads_its_input_from_the_beginning() {
    let folder = tempfile::tempdir().expect("a folder");
    let script = "n=$(wc -l); echo \"$n lines\"; i=0; while [ $i -lt 60000 ]; do i=$((i+1)); done";
    fs::write(folder.path().join("input"), "one\ntwo\n").expect("an input");
    let input = fs::File::open(folder.path().join("input")).expect("an input");
    let mut command = fg_record();
    command.current_dir(folder.path()).stdin(input);
    command.args(["--runs", "2", "-o", "a.folded", "--", "sh", "-c", script]);
    let Some(output) = recorded(&mut command) else { return };
    assert_eq!(text(&output.stdout), "2 lines\n2 lines\n", "{output:?}");
}
