//! Statements of a recording on itself are held against what was read of it: totals, and its end.
//! Every difference is a warning with both numbers, and an error with `--strict`.

use std::process::{Command, Output};

use super::feed::{feed, text};
use super::fixtures::{Case, bytes, cases};
use super::fold_bytes;

fn run(case: &Case, more: &[&str], input: &[u8]) -> Output {
    let args = case.args().iter().map(String::as_str).chain(more.iter().copied());
    feed(Command::new(env!("CARGO_BIN_EXE_fg-collapse")).args(args), input)
}

/// The input of a fixture, as text.
fn fixture(name: &str) -> (Case, Vec<u8>) {
    let case = cases().into_iter().find(|case| case.name == name).expect("a fixture of this name");
    let input = bytes(&case);
    (case, input)
}

/// The first lines of a text that make up this part of it, in thousandths.
fn cut(input: &[u8], thousandths: usize) -> &[u8] {
    let near = input.len() * thousandths / 1000;
    let end = input[..near].iter().rposition(|&b| b == b'\n').expect("a line");
    &input[..=end]
}

/// Changes a text once.
fn replaced(input: &[u8], from: &str, to: &str) -> Vec<u8> {
    let text = String::from_utf8_lossy(input);
    assert!(text.contains(from), "there is {from:?}");
    text.replacen(from, to, 1).into_bytes()
}

#[test]
fn a_stated_total_that_is_not_met_is_a_warning_and_an_error_when_strict() {
    for (name, from, to, warning) in [
        (
            "callgrind/c",
            "\ntotals: 979896",
            "\ntotals: 979897",
            "self costs of Ir add up to 979896, the file says 979897",
        ),
        (
            "go-text/heap",
            "485: 5154640",
            "485: 5154641",
            "inuse_space add up to 5154640, the file says 5154641",
        ),
        ("go-text/goroutine", "total 1", "total 4", "goroutine add up to 1, the file says 4"),
        ("tcmalloc/preload", "4736 [", "4737 [", "bytes in use add up to 4736, the file says 4737"),
        ("massif/c", "mem_heap_B=111395", "mem_heap_B=111396", "add up to 111395, the file says 111396"),
        ("jstack/five-dumps", "length=16", "length=17", "the Java threads add up to 48, the file says 49"),
        ("ghc-json/threaded", "\"total_ticks\":", "\"total_ticks\": 1, \"x\":", "the ticks add up to "),
    ] {
        let (case, input) = fixture(name);
        let whole = run(&case, &["--strict"], &input);
        assert_eq!(whole.status.code(), Some(0), "{name} as it is: {}", text(&whole.stderr));
        let changed = replaced(&input, from, to);
        let loose = run(&case, &[], &changed);
        assert_eq!(loose.status.code(), Some(0), "{name}: {}", text(&loose.stderr));
        assert!(text(&loose.stderr).contains(warning), "{name}: {}", text(&loose.stderr));
        assert!(text(&loose.stdout).contains("# warning: "), "{name}: the warning stays with the data");
        let strict = run(&case, &["--strict"], &changed);
        assert_eq!((strict.status.code(), strict.stdout.len()), (Some(2), 0), "{name}");
        assert!(text(&strict.stderr).contains(warning), "{name}: {}", text(&strict.stderr));
    }
}

#[test]
fn the_number_of_samples_that_austin_states_is_held_against_them() {
    let lines = "# austin: 4.0.0\n# mode: wall\n\nP1;T0:2;a.py:f:1 10\nP1;T0:2;a.py:f:1 10\n\n";
    let doubts = |end: &str| {
        let (_, _, report) =
            fold_bytes(format!("{lines}{end}").as_bytes(), None, &Default::default()).unwrap();
        report.not_understood.doubts
    };
    assert!(doubts("# count: 2\n# duration: 9\n").is_empty());
    assert_eq!(doubts("# count: 3\n# duration: 9\n"), ["the samples add up to 2, the file says 3"]);
    assert_eq!(doubts(""), ["there is no duration at the end: the recording is cut off"]);
}

#[test]
fn a_callgrind_that_is_cut_off_is_not_filled_up() {
    let (case, input) = fixture("callgrind/c");
    for part in [300, 600, 900, 999] {
        let cut = cut(&input, part);
        let out = run(&case, &[], cut);
        let (folded, notes) = (text(&out.stdout), text(&out.stderr));
        assert!(!folded.contains("[outside functions]"), "{part}: the rest is no cost of a function");
        assert!(notes.contains("there is no total behind the costs: the file is cut off"), "{part}: {notes}");
        if part < 999 {
            assert!(notes.contains("the file says 979896"), "{part}: {notes}");
        }
        assert_eq!(run(&case, &["--strict"], cut).status.code(), Some(2), "{part}");
    }
    // xdebug's summary is more than the functions cost: that is what it is there for.
    let (case, input) = fixture("callgrind/xdebug");
    assert_eq!(run(&case, &["--strict"], &input).status.code(), Some(0));
    let out = run(&case, &["--strict"], cut(&input, 700));
    assert!(text(&out.stderr).contains("the file is cut off"), "{}", text(&out.stderr));
}

#[test]
fn recordings_with_an_end_of_their_own_say_when_it_is_missing() {
    for (name, warning) in [
        ("cachegrind/c", "there is no summary at the end: the file is cut off"),
        ("go-text/heap", "the file says 5154640"),
        ("tcmalloc/preload", "the file says "),
        ("jemalloc/preload", "the file says 88376"),
        ("massif/c", "the last snapshot is not complete: the file is cut off"),
        ("xdebug/format1", "calls have no end: the trace is cut off"),
        ("austin/v3-wall", "there is no duration at the end: the recording is cut off"),
        ("heaptrack/allocations", "there is no summary at the end: the file is cut off"),
    ] {
        let (case, input) = fixture(name);
        let said = [60, 80, 100, 200, 300, 400, 500, 600, 700, 800, 900].into_iter().any(|part| {
            let out = run(&case, &["--strict"], cut(&input, part));
            out.status.code() == Some(2) && text(&out.stderr).contains(warning)
        });
        assert!(said, "{name}: no cut of it says {warning:?}");
        assert_eq!(run(&case, &["--strict"], &input).status.code(), Some(0), "{name} as it is");
    }
}

#[test]
fn text_that_ends_within_a_line_says_so() {
    for name in ["callgrind/c", "strace/follow", "go-text/heap", "austin/v3-wall", "gdb/full"] {
        let (case, input) = fixture(name);
        let out = run(&case, &[], &input[..cut(&input, 900).len() - 2]);
        assert!(
            text(&out.stderr).contains("the text ends within this line; it may have been cut short"),
            "{name}"
        );
    }
    // It is no error: people write folded text by hand.
    let out = feed(Command::new(env!("CARGO_BIN_EXE_fg-collapse")).arg("--strict"), b"main;f 1");
    assert_eq!(out.status.code(), Some(0), "{}", text(&out.stderr));
}

#[test]
fn the_other_programs_refuse_a_doubt_as_well() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("cut.out").display().to_string();
    std::fs::write(&path, cut(&fixture("callgrind/c").1, 500)).unwrap();
    for (program, args) in [
        (env!("CARGO_BIN_EXE_fg-filter"), vec!["--strict", "main", &path]),
        (env!("CARGO_BIN_EXE_fg-diff"), vec!["--strict", &path, &path]),
        (env!("CARGO_BIN_EXE_fg-render"), vec!["--strict", "--format", "text", &path]),
    ] {
        let out = feed(Command::new(program).args(&args), b"");
        assert_eq!(out.status.code(), Some(2), "{program}: {}", text(&out.stderr));
        assert!(
            text(&out.stderr).contains("the file says") || text(&out.stderr).contains("cut off"),
            "{program}"
        );
    }
}
