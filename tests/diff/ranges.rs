//! Ranges of time against each other, and the values of a label as rows.

use super::{Files, run};

/// `f` in the first second, `g` and half as much `f` in the next, at two endpoints.
const TIMED: &str = "# unit: ns\n# labels: time, endpoint\n\
    time=000000.000s;endpoint=/a;main;f 4000\n\
    time=000000.500s;endpoint=/b;main;f 4000\n\
    time=000001.000s;endpoint=/a;main;f 4000\n\
    time=000001.500s;endpoint=/b;main;g 9000\n";

const RANGES: [&str; 4] = ["--before-time", "0s..1s", "--after-time", "1s..2s"];

#[test]
fn ranges_of_one_recording_are_compared() {
    let files = Files::new();
    let file = files.put("x", TIMED);
    let joined = run(&[&RANGES[..], &["--no-header", "--absolute", &file]].concat(), "");
    assert_eq!(
        (joined.stdout.as_str(), joined.stderr.as_str()),
        ("endpoint=/a;main;f 4000 4000\nendpoint=/b;main;f 4000 0\nendpoint=/b;main;g 0 9000\n", "")
    );
    // In a report no label is a function, and two files may have a range each.
    let table = run(&[&RANGES[..], &["--format=tsv", "--absolute", &file, &file]].concat(), "");
    assert!(table.stdout.contains("\nf\t") || table.stdout.contains("\tf\t"), "{}", table.stdout);
    assert!(!table.stdout.contains("endpoint="), "{}", table.stdout);
}

#[test]
fn ranges_that_cannot_be_compared_are_refused() {
    let files = Files::new();
    let (timed, plain) = (files.put("x", TIMED), files.put("y", "main;f 1\n"));
    for (arguments, expected) in [
        (["--before-time", "0s..1s", "--after-time", "8s..", timed.as_str()], "nothing ran in this range"),
        (["--before-time", "0s..1s", "--after-time", "1s..", plain.as_str()], "does not say when"),
        (["--before-time", "0s..1s", "--after-time", "1s..", "-"], "standard input"),
        (["--before-time", "0s..1s", "--after-time", "1s", timed.as_str()], "no range of time"),
    ] {
        let refused = run(&arguments, "main;f 1\n");
        assert_eq!(refused.status, 2, "{arguments:?}");
        assert!(refused.stderr.contains(expected), "{arguments:?}: {}", refused.stderr);
    }
}

#[test]
fn values_of_a_label_are_rows() {
    let files = Files::new();
    let (before, after) = (files.put("b", TIMED), files.put("a", TIMED.replace("g 9000", "g 5000")));
    let table = run(&["--by", "endpoint", "--format=tsv", "--absolute", &before, &after], "");
    assert_eq!(table.status, 0, "{}", table.stderr);
    let cells = |name: &str| {
        let row = table.stdout.lines().find(|line| line.split('\t').any(|cell| cell == name));
        row.unwrap_or_else(|| panic!("{name} in {}", table.stdout)).to_owned()
    };
    assert!(cells("/a").contains("8000\t8000"), "{}", table.stdout);
    assert!(cells("/b").contains("13000\t9000"), "{}", table.stdout);
    let refused = run(&["--by", "nothing", "--format=tsv", &before, &after], "");
    assert!(
        refused.status == 2 && refused.stderr.contains("no label \"nothing\"; it has endpoint, time"),
        "{}",
        refused.stderr
    );
}

#[test]
fn labels_of_recordings_are_roots_of_the_difference() {
    let files = Files::new();
    let events = |size: &str| {
        format!(
            "a  7/8 [001] 12.345678: kmem:kmalloc: bytes_req={size} zone=x\n\tffff1 f+0x1 (k)\n\n\
             a  7/8 [001] 12.345679: kmem:kmalloc: zone=y\n\tffff1 f+0x1 (k)\n\n"
        )
    };
    let (before, after) = (files.put("b", events("64")), files.put("a", events("0x10")));
    let joined = run(&["--no-header", "--absolute", "--label", "zone", &before, &after], "");
    assert_eq!(joined.stdout, "zone=x;a;f 1 1\nzone=y;a;f 1 1\n", "{}", joined.stderr);
    let weighed = run(&["--no-header", "--absolute", "--weight-by", "bytes_req", &before, &after], "");
    assert_eq!(weighed.stdout, "a;f 64 16\n", "{}", weighed.stderr);
    assert!(
        weighed.stderr.contains("left out 1 samples without a number as bytes_req"),
        "{}",
        weighed.stderr
    );
    let refused = run(&["--table", "--label", "zone", &before, &after], "");
    assert!(refused.status == 2 && refused.stderr.contains("--by KEY"), "{}", refused.stderr);
}
