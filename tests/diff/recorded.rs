//! Real recordings of one program: built alike twice, and with a slowdown in one function. See
//! `recordings/README.md`.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::{Files, Run, run};

fn recording(name: &str, n: u32) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/diff/recordings");
    folder.join(format!("{name}-{n}.folded")).to_str().unwrap().to_owned()
}

fn all(name: &str) -> Vec<String> {
    (1..=5).map(|n| recording(name, n)).collect()
}

/// Several runs a side.
fn compare(options: &[&str], before: &[String], after: &[String]) -> Run {
    let mut arguments: Vec<&str> = options.to_vec();
    arguments.push("--before");
    arguments.extend(before.iter().map(String::as_str));
    arguments.push("--after");
    arguments.extend(after.iter().map(String::as_str));
    run(&arguments, "")
}

/// Names and verdicts of the rows.
fn significant(run: &Run) -> Vec<String> {
    let cells = |line: &str| line.split('\t').map(str::to_owned).collect::<Vec<_>>();
    let rows = run.stdout.lines().skip(1).map(cells).filter(|cells| cells[1] != "~");
    rows.map(|cells| format!("{} {}", cells[1], cells[0])).collect()
}

#[test]
fn the_same_build_twice_is_no_alarm() {
    let alike =
        compare(&["--format=tsv", "--gate", "total>0 self>0 total<0 self<0"], &all("before"), &all("again"));
    assert_eq!((alike.status, significant(&alike)), (0, vec![]), "{}", alike.stderr);
    // One run a side, every pair of the ten.
    let runs: Vec<String> = all("before").into_iter().chain(all("again")).collect();
    for (n, one) in runs.iter().enumerate() {
        for other in &runs[n + 1..] {
            let alike = run(&["--format=tsv", "-q", one, other], "");
            assert_eq!(significant(&alike), Vec::<String>::new(), "{one} {other}");
        }
    }
}

#[test]
fn a_slowdown_is_found_and_its_function_named_first() {
    for (before, after) in [("before", "slow"), ("again", "slow")] {
        let found = compare(&["--format=tsv"], &all(before), &all(after));
        assert_eq!(significant(&found).first().map(String::as_str), Some("up hash_insert"), "{before}");
        assert!(!significant(&found).iter().any(|row| row.starts_with("new") || row.starts_with("gone")));
        let back = compare(&["--format=tsv"], &all(after), &all(before));
        assert_eq!(significant(&back).first().map(String::as_str), Some("down hash_insert"));
        let three = compare(&["--format=tsv"], &all(before)[..3], &all(after)[2..]);
        assert_eq!(significant(&three).first().map(String::as_str), Some("up hash_insert"), "three runs");
    }
    for n in 1..=5 {
        let found = run(&["--format=tsv", "-q", &recording("before", n), &recording("slow", n)], "");
        assert_eq!(significant(&found).first().map(String::as_str), Some("? hash_insert"), "run {n}");
    }
}

#[test]
fn gates_trip_on_the_slowdown_only() {
    let slow = compare(&["--gate", "total>5% self>2pp"], &all("before"), &all("slow"));
    assert_eq!(slow.status, 1);
    let lines: Vec<&str> = slow.stdout.lines().collect();
    assert_eq!(lines.len(), 2, "{}", slow.stdout);
    assert!(lines.iter().all(|line| line.contains(": hash_insert")), "{}", slow.stdout);
    let alike = compare(&["--gate", "total>5% self>2pp"], &all("before"), &all("again"));
    assert_eq!((alike.status, alike.stderr.as_str()), (0, ""));
}

/// Folders of recordings as the script wants them, and its run.
fn gate(before: &str, after: &str, thresholds: Option<&str>) -> (i32, String, String) {
    let files = Files::new();
    for (side, name) in [("before", before), ("after", after)] {
        let folder = files.path().join(side);
        std::fs::create_dir(&folder).unwrap();
        for path in all(name).iter().map(PathBuf::from) {
            std::fs::copy(&path, folder.join(path.file_name().unwrap())).unwrap();
        }
    }
    let programs = Path::new(env!("CARGO_BIN_EXE_fg-diff")).parent().unwrap();
    let path = std::env::join_paths(
        std::iter::once(programs.to_owned()).chain(std::env::split_paths(&std::env::var_os("PATH").unwrap())),
    );
    let summary = files.path().join("summary");
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("scripts/ci-gate-example");
    let mut command = Command::new("bash");
    command.arg(script).args(["before", "after"]).current_dir(files.path()).stdin(Stdio::null());
    if let Some(thresholds) = thresholds {
        files.put("thresholds", thresholds);
        command.arg("thresholds");
    }
    let output = command.env("PATH", path.unwrap()).env("GITHUB_STEP_SUMMARY", &summary).output().unwrap();
    let text = std::fs::read_to_string(&summary).unwrap_or_default();
    (output.status.code().unwrap(), text, String::from_utf8(output.stderr).unwrap())
}

#[test]
#[cfg(unix)]
fn the_example_script_stops_a_slower_build() {
    let (status, summary, said) = gate("before", "slow", None);
    assert_eq!(status, 1);
    assert!(
        summary.starts_with("**Failed: ") && summary.contains("slower: `hash_insert` +134 M (+65%)"),
        "{summary}"
    );
    assert!(said.starts_with("fg-diff: gate slower>5%: hash_insert "), "{said}");
    // Runs of this program on a busy machine differ too much to see 5%.
    let (status, summary, said) = gate("before", "again", None);
    assert_eq!(status, 0);
    assert!(said.starts_with("fg-diff: gate slower>5% not judged at 5%: 5 and 5 runs, "), "{said}");
    assert!(summary.starts_with("**Not judged: no change; whole "), "{summary}");
    let (status, summary, said) = gate("before", "again", Some("slower>20%"));
    assert_eq!((status, said.as_str()), (0, ""));
    assert!(summary.starts_with("**Passed: no change; whole "), "{summary}");
    let (status, _, said) =
        gate("before", "slow", Some("# hash_insert may grow, all else may not\n/^(lex|lookup)$/>40%\n"));
    assert_eq!((status, said.as_str()), (0, ""));
    let (status, _, said) = gate("before", "slow", Some("nonsense\n"));
    assert_eq!(status, 2);
    assert!(said.starts_with("fg-diff: thresholds:1: gate \"nonsense\""), "{said}");
}
