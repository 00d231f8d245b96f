//! The header: what both sides say of themselves, in every output.

use super::{Files, HEADER, diff, run};

const BEFORE: &str = "\
# unit: ns
# event: cpu-clock
# period: 1000000 ns
# samples: 94 samples
# command: ./app old
# start: 2026-11-21T10:00:00Z
main;parse 40000000
main;read 54000000
";
const AFTER: &str = "\
# unit: ns
# event: cpu-clock
# period: 1000000 ns
# samples: 90 samples
# command: ./app new
# start: 2026-11-22T10:00:00Z
main;parse 38000000
main;read 52000000
";
const BOTH: &str = "\
# columns: before, after
# unit: ns
# event: cpu-clock
# period: 1000000 ns
# before.samples: 94 samples
# before.command: ./app old
# before.start: 2026-11-21T10:00:00Z
# after.samples: 90 samples
# after.command: ./app new
# after.start: 2026-11-22T10:00:00Z
";

/// The output for two files, and what is said.
fn output(options: &[&str], before: &str, after: &str) -> (i32, String, String) {
    let files = Files::new();
    let (before, after) = (files.put("before", before), files.put("after", after));
    let run = run(&[options, &[before.as_str(), after.as_str()]].concat(), "");
    (run.status, run.stdout, run.stderr)
}

#[test]
fn the_header_is_that_of_both_sides() {
    let stacks = "main;parse 40000000 38000000\nmain;read 54000000 52000000\n";
    assert_eq!(output(&[], BEFORE, AFTER), (0, format!("{BOTH}{stacks}"), String::new()));
    assert_eq!(output(&["--no-header"], BEFORE, AFTER).1, stacks);
    // Text that is merged, not planned, has the same header; so has text with its header in the middle.
    let repeated = BEFORE.replace("main;read", "# unit: ns\nmain;read");
    for before in [format!("{BEFORE}\n"), repeated] {
        let (_, text, said) = output(&[], &before, AFTER);
        assert!(text.contains("# after.command: ./app new\n") && text.ends_with(stacks), "{text}");
        assert_eq!(said, "");
    }
    assert_eq!(output(&[], "a 1\n", "a 1\n").1, format!("{HEADER}a 1 1\n"));
}

#[test]
fn several_parts_say_only_what_all_of_them_say() {
    // Two texts, one behind the other: their periods differ.
    let before = format!("{BEFORE}{}", BEFORE.replace("1000000 ns", "2000000 ns"));
    let (status, text, _) = output(&["--absolute"], &before, AFTER);
    assert_eq!(status, 0);
    assert!(!text.contains("# period") && !text.contains("before.period"), "{text}");
    assert!(text.contains("# after.period: 1000000 ns\n# after.samples: 90"), "{text}");
    assert!(text.contains("# before.samples: 188 samples\n"), "{text}");
}

#[test]
fn scaled_weights_have_no_period() {
    let (_, text, _) = output(&["-n"], BEFORE, AFTER);
    assert!(!text.contains("\n# period") && !text.contains("before.period"), "{text}");
    assert!(text.contains("# after.period: 1000000 ns\n"), "{text}");
    let (_, text, _) = output(&["--normalize=100"], BEFORE, AFTER);
    assert!(!text.contains("period"), "{text}");
}

#[test]
fn units_that_differ_are_refused() {
    let bytes = AFTER.replace("unit: ns", "unit: bytes");
    for options in [&[][..], &["--table"], &["-n"], &["--gate", "total>5%"]] {
        let (status, text, said) = output(options, BEFORE, &bytes);
        assert_eq!((status, text.as_str()), (2, ""), "{options:?}");
        assert!(said.contains("ns before, bytes after") && said.lines().count() == 1, "{said}");
    }
    let contradicts = BEFORE.replace("# event", "# unit: bytes\n# event");
    let (status, _, said) = output(&[], &contradicts, AFTER);
    assert!(status == 2 && said.contains("before:2: expected the unit ns"), "{said}");
    let late = BEFORE.replace("main;read", "# unit: bytes\nmain;read");
    let (status, _, said) = output(&[], &late, AFTER);
    assert!(status == 2 && said.contains("before:8: expected the unit ns"), "{said}");
}

#[test]
fn a_unit_that_one_side_does_not_say_is_not_shown() {
    let unknown = AFTER.replace("# unit: ns\n", "");
    // Nanoseconds and nobody knows what: weights cannot be compared, shares can.
    let (status, text, said) = output(&["--table"], BEFORE, &unknown);
    assert_eq!((status, text.as_str()), (2, ""));
    assert!(said.contains("some profiles are in ns, others do not say their unit"), "{said}");
    assert!(said.contains("-n compares shares") && said.lines().count() == 1, "{said}");
    for options in [&[][..], &["--table", "-n"]] {
        let (status, text, said) = output(options, BEFORE, &unknown);
        assert_eq!(status, 0);
        assert!(said.contains("some profiles are in ns, others do not say their unit"), "{said}");
        assert!(!text.contains("\n# unit") && !text.lines().next().unwrap().contains(" ms"), "{text}");
    }
    assert_eq!(output(&["-q"], BEFORE, &unknown).2, "");
}

#[test]
fn differential_input_is_refused() {
    let differential = diff(&["--absolute"], "a 1\nb 2\n", "a 3\n");
    for before in [format!("{HEADER}{differential}"), differential] {
        for options in [&[][..], &["--table"]] {
            let (status, text, said) = output(options, &before, AFTER);
            assert_eq!((status, text.as_str()), (2, ""), "{before}");
            assert!(said.contains("before: this is a differential profile"), "{said}");
        }
    }
}

#[test]
fn reports_name_both_sides() {
    let (_, table, _) = output(&["--table"], BEFORE, AFTER);
    let lines: Vec<&str> = table.lines().collect();
    assert_eq!(lines[1], "before: ./app old · 94 ms CPU · 94 samples · cpu-clock · 2026-11-21");
    assert_eq!(lines[2], "after: ./app new · 90 ms CPU · 90 samples · cpu-clock · 2026-11-22");
    let (_, markdown, _) = output(&["--markdown"], BEFORE, AFTER);
    assert!(markdown.contains("\n- before: `./app old · 94 ms CPU · "), "{markdown}");
    let (_, json, _) = output(&["--format=json"], BEFORE, AFTER);
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["facts"]["before"]["command"], "./app old");
    assert_eq!(json["facts"]["after"]["start"], "2026-11-22T10:00:00Z");
    assert_eq!((&json["unit"], &json["before"]["total"]), (&"ns".into(), &"94000000".into()));
    assert_eq!(json["profile"]["before"], "94000000");
}
