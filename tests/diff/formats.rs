//! Files of other formats, and one against another.

use std::path::Path;

use super::{Files, run};

const PPROF: &str = "pprof/cpu/input.pb.gz";
const PERF: &str = "perf-script/cpp-fp/input.txt.gz";
const AUSTIN: &str = "austin/v3-cpu/input.txt.gz";

fn fixture(path: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(path);
    path.to_str().unwrap().to_owned()
}

/// A fixture as `fg-collapse` writes it.
fn collapsed(files: &Files, name: &str, path: &str) -> String {
    let collapse = super::run_program(env!("CARGO_BIN_EXE_fg-collapse"), &[&fixture(path)], "");
    assert_eq!(collapse.status, 0, "{}", collapse.stderr);
    files.put(name, collapse.stdout)
}

#[test]
fn recordings_are_compared_as_their_folded_text_is() {
    let files = Files::new();
    for (n, path) in [PPROF, PERF, AUSTIN].into_iter().enumerate() {
        let folded = collapsed(&files, &format!("folded{n}"), path);
        let text = std::fs::read_to_string(&folded).unwrap();
        let other = files.put("other", format!("{text}main;slower 50000000\n"));
        for options in
            [&[][..], &["--absolute", "--format=tsv"], &["-n", "--format=tsv"], &["--fuzzy", "--format=tsv"]]
        {
            let direct = run(&[options, &["-q", &fixture(path), &other]].concat(), "");
            let text = run(&[options, &["-q", &folded, &other]].concat(), "");
            assert_eq!((direct.status, direct.stderr.as_str()), (0, ""), "{path}");
            // Only the recording itself says more of itself: start, producer.
            let stacks = |text: &str| {
                let kept = text.lines().filter(|line| !is_fact(line)).map(without_test);
                let mut lines: Vec<String> = kept.collect();
                lines.sort();
                lines.join("\n")
            };
            assert!(stacks(&direct.stdout) == stacks(&text.stdout), "{options:?} {path}");
        }
    }
}

/// A line without what the times of samples tell: they are in the recording only.
fn without_test(line: &str) -> String {
    let cells: Vec<&str> = line.split('\t').collect();
    if cells.len() < 20 {
        return line.to_owned();
    }
    [&cells[..1], &cells[2..7], &cells[11..16]].concat().join("\t")
}

/// A line of a header, of a table or of JSON that states a fact.
fn is_fact(line: &str) -> bool {
    line.starts_with("# ") || line.starts_with("before: ") || line.starts_with("    ")
}

#[test]
fn folded_text_of_austin_is_folded_text() {
    let files = Files::new();
    let folded = collapsed(&files, "folded", AUSTIN);
    let without = run(&["--no-header", &folded, &folded], "").stdout;
    let stacks: Vec<&str> = without.lines().map(|line| line.rsplitn(3, ' ').last().unwrap()).collect();
    let text = std::fs::read_to_string(&folded).unwrap();
    let lines = text.lines().filter(|line| !line.starts_with("# "));
    assert_eq!(stacks, lines.map(|line| line.rsplit_once(' ').unwrap().0).collect::<Vec<_>>());
}

#[test]
fn one_format_is_compared_with_another() {
    let table = run(&["--table", "--absolute", &fixture(PERF), &fixture(AUSTIN)], "");
    assert_eq!(table.status, 0);
    // perf's nanoseconds and austin's microseconds: both are time.
    let headline = table.stdout.lines().next().unwrap();
    assert!(headline.contains("whole 976 ms → 1.99 s") && headline.contains("+104%"), "{headline}");
    assert!(table.stdout.contains("\nbefore: "), "{}", table.stdout);
    let joined = run(&["--absolute", &fixture(AUSTIN), &fixture(PERF)], "");
    assert!(joined.stdout.starts_with("# columns: before, after\n# unit: ns\n"), "{:.200}", joined.stdout);
    // Standard input may hold a recording too.
    let perf = std::process::Stdio::from(std::fs::File::open(fixture(PERF)).unwrap());
    let piped = std::process::Command::new(env!("CARGO_BIN_EXE_fg-diff"))
        .args(["--absolute", &fixture(AUSTIN), "-"])
        .stdin(perf)
        .output()
        .unwrap();
    assert_eq!(String::from_utf8(piped.stdout).unwrap(), joined.stdout);
}

#[test]
fn options_say_how_recordings_are_read() {
    let (perf, pprof) = (fixture(PERF), fixture(PPROF));
    let counted = run(&["--count-samples", "--absolute", &perf, &pprof], "");
    assert!(counted.stdout.contains("\n# unit: samples\n"), "{:.300}", counted.stdout);
    let by_thread = run(&["--per-thread", "--absolute", &perf, &perf], "");
    assert!(by_thread.stdout.contains("\ncalc:_two-"), "{:.600}", by_thread.stdout);
    let value = run(&["--value", "nothing", &perf, &pprof], "");
    assert_eq!((value.status, value.stdout.as_str(), value.stderr.lines().count()), (2, "", 1));
    let samples = run(&["--value", "samples", &pprof, &fixture(AUSTIN)], "");
    assert_eq!((samples.status, samples.stdout.as_str()), (2, ""));
}

#[test]
fn error_names_the_file_that_is_no_profile() {
    let files = Files::new();
    let (text, perf) = (files.put("text", "\x7fELF\nnothing here\n"), fixture(PERF));
    let refused = run(&["--table", &perf, &text], "");
    assert_eq!((refused.status, refused.stdout.as_str()), (2, ""));
    assert!(refused.stderr.contains(&text) && refused.stderr.lines().count() == 1, "{}", refused.stderr);
}
