//! Tests that a profile written for another viewer is the same when read back.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::{run, run_in};

struct Format {
    name: &'static str,
    /// The name of the format in `fg-collapse`.
    reader: &'static str,
    /// True if names that are not UTF-8 keep their bytes.
    bytes: bool,
    fractions: bool,
    /// True if the format also holds the weights of the profile before.
    both: bool,
}

const FORMATS: &[Format] = &[
    Format { name: "collapsed", reader: "folded", bytes: true, fractions: true, both: true },
    Format { name: "json", reader: "fg-json", bytes: true, fractions: true, both: true },
    Format { name: "pprof", reader: "pprof", bytes: true, fractions: false, both: false },
    Format { name: "speedscope", reader: "speedscope", bytes: false, fractions: true, both: false },
    Format { name: "firefox", reader: "firefox", bytes: false, fractions: true, both: false },
    Format { name: "chrome-trace", reader: "chrome-trace", bytes: false, fractions: true, both: false },
];

/// The stacks of a file.
fn collapse(arguments: &[&str], file: &Path) -> String {
    collapse_with_header(&[arguments, &["--no-header"]].concat(), file)
}

fn collapse_with_header(arguments: &[&str], file: &Path) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_fg-collapse")).args(arguments).arg(file).output().unwrap();
    assert!(output.status.success(), "{file:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// The expected stacks of every fixture of every input format.
fn fixtures() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures");
    let folders = |path: &Path| -> Vec<PathBuf> {
        let entries = std::fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path());
        entries.filter(|path| path.is_dir()).collect()
    };
    let mut files: Vec<PathBuf> = folders(&root)
        .iter()
        .flat_map(|format| folders(format))
        .map(|case| case.join("expected.folded"))
        .collect();
    files.sort();
    assert!(files.len() > 60);
    files
}

#[test]
fn every_fixture_comes_back() {
    let folder = tempfile::tempdir().unwrap();
    for file in fixtures() {
        let text = std::fs::read(&file).unwrap();
        let expected = collapse(&["--format", "folded"], &file);
        let of_weight = |line: &str| line.rsplit(' ').next().is_some_and(|weight| weight.contains('.'));
        let has_fractions = expected.lines().any(of_weight);
        let is_weight = |word: &str| word.bytes().all(|b| b.is_ascii_digit() || b == b'.');
        let has_both = expected.lines().all(|line| line.rsplit(' ').take(2).all(is_weight));
        for Format { name, reader, bytes, fractions, both } in FORMATS {
            if !bytes && std::str::from_utf8(&text).is_err()
                || !fractions && has_fractions
                || !both && has_both
            {
                continue;
            }
            let arguments =
                ["--input-format", "folded", "--format", name, "-o", "out", file.to_str().unwrap()];
            let run = run_in(folder.path(), &arguments, "");
            assert_eq!((run.status, run.stderr.as_str()), (0, ""), "{file:?} as {name}");
            let back = collapse(&["--format", reader], &folder.path().join("out"));
            let differs = back.lines().zip(expected.lines()).find(|(back, expected)| back != expected);
            assert!(back == expected, "{file:?} comes back from {name} with {differs:?}");
        }
    }
}

#[test]
fn both_columns_come_back_from_json() {
    let folder = tempfile::tempdir().unwrap();
    let text = "main 1 2\nmain;new 0 5\nmain;parse 40 30\nmain;write 39.5 10\n";
    run_in(folder.path(), &["-o", "a.json"], text);
    assert_eq!(collapse(&[], &folder.path().join("a.json")), text);
    run_in(folder.path(), &["-o", "a.pb.gz", "--factor", "2"], text);
    let file = folder.path().join("a.pb.gz");
    assert_eq!(collapse(&["-q"], &file), "main 4\nmain;new 10\nmain;parse 60\nmain;write 20\n");
    assert_eq!(collapse(&["-q", "--value", "before"], &file), "main 2\nmain;parse 80\nmain;write 79\n");
}

#[test]
fn the_unit_comes_back() {
    let folder = tempfile::tempdir().unwrap();
    for unit in ["ns", "us", "ms", "s", "bytes"] {
        let text = format!("# unit: {unit}\nmain 1\nmain;parse 40\n");
        run_in(folder.path(), &["-o", "a.json", "-o", "a.pb.gz", "-o", "a.folded"], &text);
        for file in ["a.json", "a.pb.gz", "a.folded"] {
            assert_eq!(collapse_with_header(&["-q"], &folder.path().join(file)), text, "{file}");
        }
    }
}

#[test]
fn no_unit_comes_back_as_none() {
    let folder = tempfile::tempdir().unwrap();
    let files = ["a.json", "a.pb.gz", "a.folded", "a.speedscope.json"];
    run_in(folder.path(), &files.map(|file| ["-o", file]).concat(), "main 1\nmain;parse 40\n");
    for file in files {
        let back = collapse_with_header(&["-q"], &folder.path().join(file));
        assert!(!back.contains("# unit") && !back.contains("# event"), "{file}: {back}");
        assert!(back.ends_with("main 1\nmain;parse 40\n"), "{file}: {back}");
    }
}

/// Every fact that a header can state.
const FACTS: &str = "# unit: ns\n# event: cpu-clock:u\n# period: 1003009 ns\n# rate: 997 Hz\n\
    # samples: 41 samples\n# command: \"./app --size 3\"\n# host: node7\n# system: Linux 6.1 x86_64\n\
    # start: 2026-11-21T10:00:00Z\n# duration: 8.6 s\n# cpu-time: 1.72 s\n# producer: fg-record\n\
    # warning: no symbols for libx.so.1 (38%)\n# warning: stacks are cut\n# comment: on battery\n";

#[test]
fn facts_come_back_from_every_format_that_has_room_for_them() {
    let folder = tempfile::tempdir().unwrap();
    let text = format!("{FACTS}main 1003009\nmain;parse 40120360\n");
    run_in(folder.path(), &["-o", "a.json", "-o", "a.pb.gz", "-o", "a.folded"], &text);
    for file in ["a.json", "a.pb.gz", "a.folded"] {
        assert_eq!(collapse_with_header(&["-q"], &folder.path().join(file)), text, "{file}");
    }
}

#[test]
fn facts_of_both_sides_come_back() {
    let folder = tempfile::tempdir().unwrap();
    let text = "# columns: before, after\n# unit: ns\n# command: ./app\n# before.samples: 3 samples\n\
        # after.samples: 4 samples\n# after.warning: stacks are cut\nmain 3 4\n";
    run_in(folder.path(), &["-o", "a.json", "-o", "a.folded"], text);
    for file in ["a.json", "a.folded"] {
        assert_eq!(collapse_with_header(&["-q"], &folder.path().join(file)), text, "{file}");
    }
}

#[test]
fn units_that_viewers_know_come_back_from_them() {
    let folder = tempfile::tempdir().unwrap();
    for (file, units) in
        [("a.speedscope.json", &["ns", "us", "ms", "s", "bytes"][..]), ("a.firefox.json", &["ms", "bytes"])]
    {
        for unit in units {
            let text = format!("# unit: {unit}\nmain 1\nmain;parse 40\n");
            run_in(folder.path(), &["-o", file], &text);
            let back = collapse_with_header(&["-q"], &folder.path().join(file));
            assert!(back.starts_with(&format!("# unit: {unit}\n")), "{file}: {back}");
            assert!(back.ends_with("\nmain 1\nmain;parse 40\n"), "{file}: {back}");
        }
    }
}

#[test]
fn threads_that_were_kept_apart_come_back() {
    let folder = tempfile::tempdir().unwrap();
    let text = "main;f 1\nmain;f;g 20\npool;f 300\npool;h 4\n";
    run_in(folder.path(), &["--per-thread", "-o", "a.speedscope.json", "-o", "a.firefox.json"], text);
    for file in ["a.speedscope.json", "a.firefox.json"] {
        assert_eq!(collapse(&["-q"], &folder.path().join(file)), text, "{file}");
    }
}

#[test]
fn fractions_are_refused_where_there_are_none() {
    let run = run(&["--format", "pprof"], "a 1.5\n");
    assert_eq!((run.status, run.stdout.len()), (2, 0));
    assert!(run.stderr.contains("and 1.5 is none; see --factor"), "{}", run.stderr);
}
