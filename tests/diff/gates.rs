//! Gates: exit status 1, and what tripped.

use super::{Files, run};

const BEFORE: &str = "main 11\nmain;parse 4000\nmain;parse;lex 2000\nmain;write 3990\n";
const AFTER: &str = "main 12\nmain;parse 4005\nmain;parse;lex 3001\nmain;write 3987\n";

/// Exit status and output.
fn gate(options: &[&str]) -> (i32, String) {
    let files = Files::new();
    let (before, after) = (files.put("before", BEFORE), files.put("after", AFTER));
    let run = run(&[options, &[before.as_str(), after.as_str()]].concat(), "");
    (run.status, run.stdout + &run.stderr)
}

#[test]
fn every_kind_of_gate_trips() {
    for (expression, said) in [
        ("total>5%", "gate total>5%: parse, 6,000 to 7,006 (+16.8%, +3.67 pp), and 1 more\n"),
        ("self>2pp", "gate self>2pp: lex, 2,000 to 3,001 (+50.0%, +7.27 pp)\n"),
        ("self>1000", "gate self>1000: lex, 2,000 to 3,001 (+50.0%, +7.27 pp)\n"),
        ("self>1001", ""),
        ("total>51%", ""),
        ("self>50%", "gate self>50%: lex, 2,000 to 3,001 (+50.0%, +7.27 pp)\n"),
        ("/^parse$/>10%", "gate /^parse$/>10%: parse, 6,000 to 7,006 (+16.8%, +3.67 pp)\n"),
        ("/write/>0", ""),
        ("self/^parse$/>10%", ""),
        ("total<0", ""),
    ] {
        assert_eq!(
            gate(&["--gate", expression]),
            (i32::from(!said.is_empty()), said.to_owned()),
            "{expression}"
        );
    }
    let (status, said) = gate(&["--gate", "self>2pp total>100%", "--gate", "/lex/>1%"]);
    assert_eq!((status, said.lines().count()), (1, 2), "{said}");
}

#[test]
fn noise_trips_nothing_unless_asked() {
    assert_eq!(gate(&["--gate", "/^main$/>0 self/write/<0"]).0, 0);
    let (status, said) = gate(&["--any", "--gate", "self/^main$/>0 self/write/<0"]);
    assert_eq!((status, said.lines().count()), (1, 2), "{said}");
    assert!(said.contains("gate self/write/<0: write, 3,990 to 3,987 (-0.1%, "), "{said}");
    assert_eq!(gate(&["--gate", "self>2pp", "--min-effect", "8"]).0, 0);
    assert_eq!(gate(&["--gate", "self>2pp", "--min-samples", "5000"]).0, 0);
    assert_eq!(
        gate(&["--gate", "self>2pp", "--alpha", "0.000000000000000000000000000000000000000000000000001"]).0,
        0
    );
    assert_eq!(gate(&["--gate", "self>2pp", "--period", "1000"]).0, 0);
}

#[test]
fn a_gate_that_cannot_trip_is_trouble() {
    let (status, said) = gate(&["--gate", "profile>3%"]);
    assert_eq!(status, 2);
    assert!(said.contains("several recordings a side"), "{said}");
    let (status, said) = gate(&["--any", "--gate", "profile>3%"]);
    assert_eq!(
        (status, said.as_str()),
        (1, "gate profile>3%: the whole profile, 10,001 to 11,005 (+10.0%)\n")
    );
    let files = Files::new();
    let put = |name: &str, weight: u32| files.put(name, format!("a {weight}\nb 1\n"));
    let (a, b, c) = (put("a", 1000), put("b", 1004), put("c", 996));
    let (x, y, z) = (put("x", 1200), put("y", 1210), put("z", 1190));
    let slower = run(&["-q", "--gate", "profile>3%", "--before", &a, &b, &c, "--after", &x, &y, &z], "");
    assert_eq!(slower.status, 1);
    let alike = run(&["--gate", "profile>0", "--before", &a, &b, "--after", &b, &c], "");
    assert_eq!(alike.status, 0);
}

#[test]
fn gates_come_from_files_and_beside_reports() {
    let files = Files::new();
    let file = files.put("gates", "# what we allow\nself>2pp   total>100%\n\n/nothing/>1%\n");
    let (status, said) = gate(&["--gate-file", &file]);
    assert_eq!((status, said.lines().count()), (1, 1), "{said}");
    let (before, after) = (files.put("before", BEFORE), files.put("after", AFTER));
    let report = run(&["--json", "--gate-file", &file, &before, &after], "");
    assert_eq!(report.status, 1);
    serde_json::from_str::<serde_json::Value>(&report.stdout).unwrap();
    assert!(report.stderr.starts_with("fg-diff: gate self>2pp: lex, "), "{}", report.stderr);
    assert_eq!(gate(&["--gate-file", &files.put("empty", "# nothing\n")]).0, 2);
    assert_eq!(gate(&["--gate-file", "/nonexistent"]).0, 2);
    for wrong in ["totl>5%", "total>", "", "/(/>1"] {
        let (status, said) = gate(&["--gate", wrong]);
        assert!(status == 2 && said.contains("gate"), "{wrong}: {said}");
    }
}
