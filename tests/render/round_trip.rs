//! Tests that a profile written for another viewer is the same when read back.

use std::path::{Path, PathBuf};
use std::process::Command;

use rayon::prelude::*;

use super::thorough::thorough;
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
    #[cfg(feature = "parquet")]
    Format { name: "parquet", reader: "parquet", bytes: false, fractions: true, both: false },
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
    let files = fixtures();
    let tried: Vec<_> = files.iter().step_by(thorough(1, 8)).collect();
    tried.par_iter().for_each(|file| comes_back(file));
}

/// Writes the stacks of a file in every format that has room for them, and reads them again.
fn comes_back(file: &Path) {
    let folder = tempfile::tempdir().unwrap();
    let text = std::fs::read(file).unwrap();
    let expected = collapse(&["--format", "folded"], file);
    let of_weight = |line: &str| line.rsplit(' ').next().is_some_and(|weight| weight.contains('.'));
    let has_fractions = expected.lines().any(of_weight);
    let is_weight = |word: &str| word.bytes().all(|b| b.is_ascii_digit() || b == b'.');
    let has_both = expected.lines().all(|line| line.rsplit(' ').take(2).all(is_weight));
    for Format { name, reader, bytes, fractions, both } in FORMATS {
        if !bytes && std::str::from_utf8(&text).is_err() || !fractions && has_fractions || !both && has_both {
            continue;
        }
        let arguments = ["--input-format", "folded", "--format", name, "-o", "out", file.to_str().unwrap()];
        let run = run_in(folder.path(), &arguments, "");
        assert_eq!((run.status, run.stderr.as_str()), (0, ""), "{file:?} as {name}");
        let back = collapse(&["--format", reader], &folder.path().join("out"));
        let differs = back.lines().zip(expected.lines()).find(|(back, expected)| back != expected);
        assert!(back == expected, "{file:?} comes back from {name} with {differs:?}");
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
    for (unit, zeros) in [("ns", ""), ("us", "000"), ("ms", "000000"), ("s", "000000000"), ("bytes", "")] {
        let text = format!("# unit: {unit}\nmain 1\nmain;parse 40\n");
        run_in(folder.path(), &["-o", "a.json", "-o", "a.pb.gz", "-o", "a.folded"], &text);
        for file in ["a.json", "a.folded"] {
            assert_eq!(collapse_with_header(&["-q"], &folder.path().join(file)), text, "{file}");
        }
        // pprof holds whole numbers: times are in nanoseconds there.
        let unit = if zeros.is_empty() { unit } else { "ns" };
        let whole = format!("# unit: {unit}\nmain 1{zeros}\nmain;parse 40{zeros}\n");
        assert_eq!(collapse_with_header(&["-q"], &folder.path().join("a.pb.gz")), whole);
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

/// The Firefox Profiler knows milliseconds and bytes: what it is told in other units was "56112224 samples" there.
#[test]
fn firefox_gets_times_in_milliseconds_and_sizes_in_bytes() {
    let folder = tempfile::tempdir().unwrap();
    for (unit, weights, theirs, expected) in [
        ("ns", "56112224", "ms", "56.112224"),
        ("us", "1500.5", "ms", "1.5005"),
        ("s", "2", "ms", "2000"),
        ("KiB", "3", "bytes", "3072"),
        ("MB", "0.5", "bytes", "500000"),
    ] {
        run_in(folder.path(), &["-o", "a.firefox.json"], format!("# unit: {unit}\nmain;parse {weights}\n"));
        let back = collapse_with_header(&["-q"], &folder.path().join("a.firefox.json"));
        assert!(back.starts_with(&format!("# unit: {theirs}\n")), "{unit}: {back}");
        assert!(back.ends_with(&format!("\nmain;parse {expected}\n")), "{unit}: {back}");
    }
}

#[test]
fn threads_that_were_kept_apart_come_back() {
    let folder = tempfile::tempdir().unwrap();
    let text = "main;f 1\nmain;f;g 20\npool;f 300\npool;h 4\n";
    run_in(folder.path(), &["--split-threads", "-o", "a.speedscope.json", "-o", "a.firefox.json"], text);
    for file in ["a.speedscope.json", "a.firefox.json"] {
        assert_eq!(collapse(&["-q"], &folder.path().join(file)), text, "{file}");
    }
}

#[test]
fn fractions_are_refused_where_there_are_none() {
    let run = run(&["--format", "pprof"], "a 1.5\n");
    assert_eq!((run.status, run.stdout.len()), (2, 0));
    assert!(run.stderr.contains("and 1.5 is not one; see --factor"), "{}", run.stderr);
}

/// Two threads of `perf script`, a sample every 10 ms, with a gap of 80 ms.
fn with_times() -> String {
    let mut text = String::new();
    for n in 0..100u32 {
        let at = 5.0 + f64::from(n) * 0.01 + if n >= 50 { 0.08 } else { 0.0 };
        let (name, thread, leaf) = if n % 4 == 3 { ("io", 9, "read") } else { ("cpu", 8, "parse") };
        text += &format!(
            "{name} 7/{thread} {at:.6}:   10000000 cpu-clock: \n\t 1000 {leaf} (/a)\n\t 2000 main (/a)\n\n"
        );
    }
    text
}

#[test]
fn times_and_threads_keep_weights_and_stacks() {
    let folder = tempfile::tempdir().unwrap();
    let text = with_times();
    let input = folder.path().join("a.perf");
    std::fs::write(&input, &text).unwrap();
    // Weights as milliseconds: the formats have units of their own.
    let stacks = |arguments: &[&str], file: &Path| {
        let mut lines: Vec<(String, f64)> = collapse(arguments, file)
            .lines()
            .map(|line| line.rsplit_once(' ').unwrap())
            .map(|(stack, weight)| {
                let stack = stack.split(';').filter(|frame| ["main", "parse", "read"].contains(frame));
                (stack.collect::<Vec<_>>().join(";"), weight.parse().unwrap())
            })
            .collect();
        let all: f64 = lines.iter().map(|(_, weight)| weight).sum();
        lines.iter_mut().for_each(|(_, weight)| *weight = (*weight / all * 1000.0).round());
        lines
    };
    let expected = stacks(&[], &input);
    assert_eq!(expected, [("main;parse".to_owned(), 750.0), ("main;read".to_owned(), 250.0)]);
    run_in(folder.path(), &["-o", "a.speedscope.json", "-o", "a.firefox.json", "-o", "a.trace.json"], &text);
    for file in ["a.speedscope.json", "a.firefox.json", "a.trace.json"] {
        let path = folder.path().join(file);
        assert_eq!(stacks(&[], &path), expected, "{file}");
        let written = std::fs::read_to_string(&path).unwrap();
        assert!(written.contains("\"cpu\"") && written.contains("\"io\""), "{file}");
    }
    let evented = std::fs::read_to_string(folder.path().join("a.speedscope.json")).unwrap();
    assert!(evented.contains("\"evented\"") && evented.contains("\"at\":580000000"), "{evented}");
    run_in(folder.path(), &["--no-time", "-o", "b.speedscope.json"], &text);
    assert!(
        std::fs::read_to_string(folder.path().join("b.speedscope.json")).unwrap().contains("\"sampled\"")
    );
}

#[test]
fn the_order_of_time_has_a_root_for_each_thread() {
    let folder = tempfile::tempdir().unwrap();
    run_in(folder.path(), &["--order", "time", "-o", "a.svg"], with_times());
    let svg = std::fs::read_to_string(folder.path().join("a.svg")).unwrap();
    // The two threads, each with one call of main: neighbours are merged.
    let count = |name: &str| svg.matches(&format!("<title>{name} (")).count();
    assert_eq!((count("cpu"), count("io"), count("main"), count("parse"), count("read")), (2, 2, 2, 1, 1));
}
