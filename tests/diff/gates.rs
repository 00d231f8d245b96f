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
        ("total>5%", "gate total>5%: parse, 6,000 → 7,006, +17%, p < 0.001, and 1 more\n"),
        ("self>2pp", "gate self>2pp: lex (self), 2,000 → 3,001, +50%, p < 0.001\n"),
        ("self>1000", "gate self>1000: lex (self), 2,000 → 3,001, +50%, p < 0.001\n"),
        ("self>1001", ""),
        ("total>51%", ""),
        ("self>50%", "gate self>50%: lex (self), 2,000 → 3,001, +50%, p < 0.001\n"),
        ("/^parse$/>10%", "gate /^parse$/>10%: parse, 6,000 → 7,006, +17%, p < 0.001\n"),
        ("/write/>0", ""),
        ("self/^parse$/>20%", ""),
        ("total<0", ""),
    ] {
        let (status, text) = gate(&["--gate", expression]);
        match said {
            "" => assert!(status == 0 && text.contains(" passed: it would have seen "), "{text}"),
            said => assert_eq!((status, text.as_str()), (1, said), "{expression}"),
        }
    }
    let (status, said) = gate(&["--gate", "self>2pp total>100%", "--gate", "/lex/>1%"]);
    assert_eq!((status, said.lines().count(), said.matches(" passed: ").count()), (1, 3, 1), "{said}");
}

#[test]
fn noise_trips_nothing_unless_asked() {
    assert_eq!(gate(&["--gate", "self/write/<0"]).0, 0);
    let (status, said) = gate(&["--any", "--gate", "self/^main$/>0 self/write/<0"]);
    assert_eq!((status, said.lines().count()), (1, 2), "{said}");
    assert!(said.contains("gate self/write/<0: write (self), 3,990 → 3,987, -0.1%"), "{said}");
    // What keeps a gate from tripping keeps it from seeing, too.
    let alpha = "0.000000000000000000000000000000000000000000000000001";
    let options =
        [["--min-effect", "8"], ["--min-samples", "5000"], ["--alpha", alpha], ["--period", "1000"]];
    for [option, value] in options {
        let (status, said) = gate(&["--gate", "self>2pp", option, value]);
        assert!(status == 2 && said.contains("gate self>2pp is blind"), "{option}: {said}");
        let (status, said) = gate(&["--allow-blind", "--gate", "self>2pp", option, value]);
        assert!(status == 0 && said.contains("gate self>2pp is blind"), "{option}: {said}");
    }
}

#[test]
fn a_gate_blind_at_its_threshold_is_trouble() {
    let files = Files::new();
    let few = files.put("few", "# unit: samples\nm;a 100\nm;b 67\n");
    let blind = run(&["--gate", "total>5%", &few, &few], "");
    assert_eq!((blind.status, blind.stdout.as_str()), (2, ""));
    let said = "fg-diff: gate total>5% is blind: 167 samples a side cannot see 5%, it would have seen +";
    assert!(blind.stderr.starts_with(said) && blind.stderr.contains("--allow-blind"), "{}", blind.stderr);
    let allowed = run(&["--allow-blind", "--gate", "total>5%", &few, &few], "");
    assert_eq!((allowed.status, allowed.stderr.as_str()), (0, ""));
    assert!(allowed.stdout.contains("gate total>5% is blind: 167 samples"), "{}", allowed.stdout);
    // One that trips is 1, whatever another sees.
    assert_eq!(gate(&["--gate", "self>2pp /nothing/>1%"]).0, 1);
    // A limit that so many samples can see.
    let seen = run(&["--gate", "total>200%", &few, &few], "");
    assert!(seen.status == 0 && seen.stdout.contains("passed: it would have seen +"), "{}", seen.stdout);
    let json = run(&["--json", "--gate", "total>5%", &few, &few], "");
    let json: serde_json::Value = serde_json::from_str(&json.stdout).unwrap();
    assert_eq!((&json["outcome"], &json["gates"][0]["outcome"]), (&"blind".into(), &"blind".into()));
    assert!(json["would_have_seen"]["pp"].as_f64().unwrap() > 5.0);
}

#[test]
fn a_program_uniformly_slower_trips() {
    let files = Files::new();
    let run_of = |name: String, percent: u32| {
        let weights = [5000, 3000, 2000].map(|weight| weight * percent);
        let header = "# unit: ns\n# period: 100 ns\n";
        files.put(&name, format!("{header}m;a {}\nm;b {}\nm;c {}\n", weights[0], weights[1], weights[2]))
    };
    let (before, after) = (run_of("before".into(), 100), run_of("after".into(), 170));
    // Shares did not change at all.
    assert_eq!(run(&["--allow-blind", "--gate", "total>5%", &before, &after], "").status, 0);
    let slower = run(&["--gate", "slower>5%", &before, &after], "");
    assert_eq!(
        (slower.status, slower.stdout.as_str()),
        (1, "gate slower>5%: the whole, 1 → 1.7 ms, +70%, p < 0.001\n")
    );
    // One recording a side cannot tell 8% from a busy machine; five a side can.
    let after = run_of("later".into(), 108);
    let one = run(&["--gate", "slower>5%", &before, &after], "");
    assert!(one.status == 2 && one.stderr.contains("one recording a side cannot see 5%"), "{}", one.stderr);
    let runs = |name: &str, percents: [u32; 5]| {
        let numbered = percents.into_iter().enumerate();
        numbered.map(|(n, percent)| run_of(format!("{name}{n}"), percent)).collect::<Vec<_>>()
    };
    let (b, a) = (runs("b", [100, 101, 99, 100, 101]), runs("a", [108, 109, 107, 108, 109]));
    let compare = |gate: &str, before: &[String], after: &[String]| {
        let arguments = ["-q", "--gate", gate, "--before"].map(str::to_owned);
        let all = [&arguments, before, &["--after".to_owned()], after].concat();
        run(&all.iter().map(String::as_str).collect::<Vec<_>>(), "")
    };
    let five = compare("slower>5%", &b, &a);
    assert!(five.status == 1 && five.stdout.contains("slower>5%: the whole, 1 → 1.08 ms"), "{}", five.stdout);
    let alike = compare("slower>5%", &b, &b);
    assert_eq!(alike.status, 0, "{}", alike.stderr);
    assert!(alike.stdout.contains("passed: it would have seen +"), "{}", alike.stdout);
    // Runs are averaged: one more of them is not slower.
    assert_eq!(compare("slower>5%", &b[..3], &b).status, 0);
    let scaled = run(&["-n", "--gate", "slower>5%", &before, &after], "");
    assert!(scaled.status == 2 && scaled.stderr.contains("leave out -n"), "{}", scaled.stderr);
}

#[test]
fn an_empty_side_is_trouble() {
    let files = Files::new();
    let some = files.put("some", BEFORE);
    let forms = [
        ("empty", ""),
        ("header", "# unit: ns\n# period: 1 ns\n"),
        ("blank", "\n\n"),
        ("comments", "# nothing was selected\n"),
    ];
    for (name, text) in forms {
        let empty = files.put(name, text);
        for form in [&["--gate", "slower>5%"][..], &["--table"], &["--markdown", "--gate", "total>5%"], &[]] {
            let sides: [Vec<&str>; 5] = [
                vec![&empty, &some],
                vec![&some, &empty],
                vec![&empty, &empty],
                vec!["--before", &some, &empty, "--after", &some, &some],
                vec!["--before", &some, &some, "--after", &some, &empty],
            ];
            for side in sides {
                let said = run(&[form, &["--allow-blind"], &side].concat(), "");
                assert_eq!((said.status, said.stdout.as_str()), (2, ""), "{name} {form:?} {side:?}");
                assert!(said.stderr.contains(&format!("{empty}: the profile ")), "{}", said.stderr);
                assert_eq!(said.stderr.lines().count(), 1, "{}", said.stderr);
            }
        }
        assert_eq!(run(&["--gate", "slower>5%", "-", &some], text).status, 2, "{name} from a pipe");
    }
    let zero = files.put("zero", "a 5\na -5\n");
    let said = run(&["--table", &some, &zero], "");
    assert!(said.status == 2 && said.stderr.contains("weighs nothing"), "{}", said.stderr);
    for differential in ["a 0 5\nb 0 6\n", "# columns: before, after\na 5 0\n"] {
        let differential = files.put("differential", differential);
        assert_eq!(run(&["--gate", "slower>5%", &differential, &some], "").status, 2);
    }
    assert_eq!(run(&["--gate", "slower>5%", "--before", &some, "--after"], "").status, 2);
}

#[test]
fn sides_that_are_unlike_are_said_or_refused() {
    let files = Files::new();
    let side = |name: &str, facts: &str| files.put(name, format!("{facts}{BEFORE}"));
    let usual = "# unit: ns\n# event: cpu-clock\n# rate: 997 Hz\n# command: ./app 3\n# host: a\n\
                 # duration: 2 s\n# producer: fg-record 0.1.0\n";
    let plain = side("usual", usual);
    for (from, to, said) in [
        ("duration: 2 s", "duration: 4 s", "the durations differ: 2.00 s before, 4.00 s after; "),
        ("997 Hz", "99 Hz", "the sampling rates differ: 997 Hz before, 99 Hz after"),
        ("./app 3", "/usr/bin/other 3", "the programs differ: app before, other after"),
        ("host: a", "host: b", "the machines differ: a before, b after"),
        ("fg-record 0.1.0", "perf 6.1", "the recorders differ: fg-record before, perf after"),
        (
            "cpu-clock",
            "cpu-clock:u",
            "the events are restricted in different ways: no restriction before, :u after",
        ),
        ("cpu-clock", "off-cpu", "the sides measure different events: cpu-clock before, off-cpu after"),
    ] {
        let other = side("other", &usual.replace(from, to));
        for form in [&["--table"][..], &[]] {
            let run = run(&[form, &[&plain, &other]].concat(), "");
            assert_eq!(run.status, 0);
            assert!(run.stderr.starts_with(&format!("fg-diff: {said}")), "{to}: {}", run.stderr);
            assert_eq!(run.stderr.lines().count(), 1, "{}", run.stderr);
        }
        let markdown = run(&["-q", "--markdown", &plain, &other], "");
        assert!(markdown.stdout.contains(&format!("\n- Note: `{said}")), "{}", markdown.stdout);
        let gate = run(&["-q", "--allow-blind", "--gate", "total>50%", &plain, &other], "");
        assert_eq!(gate.status, if said.contains("different events") { 2 } else { 0 }, "{}", gate.stderr);
    }
    // Programs that ran to their end took as long as they did.
    let ran = |seconds: u32| format!("{usual}# cpu-time: 1.5 s\n").replace("2 s", &format!("{seconds} s"));
    assert_eq!(run(&["--table", &side("b", &ran(2)), &side("a", &ran(4))], "").stderr, "");
    // Samples at unlike rates do not weigh the same: a gate refuses them, unless shares are compared.
    let rate = |rate: u32| format!("# unit: samples\n# rate: {rate} Hz\n");
    let (slow, fast) = (side("slow", &rate(99)), side("fast", &rate(997)));
    let gate = run(&["--gate", "total>50%", &slow, &fast], "");
    assert!(gate.status == 2 && gate.stderr.contains("no gate can judge this: the sampling rates differ"));
    assert_eq!(run(&["-n", "--gate", "total>50%", &slow, &fast], "").status, 0);
}

#[test]
fn a_whole_is_judged_by_one_recording_or_several() {
    let (status, said) = gate(&["--gate", "profile>3%"]);
    assert_eq!(status, 2);
    assert!(said.contains("gate profile>3% is blind: one recording a side cannot see 3%"), "{said}");
    let (status, said) = gate(&["--any", "--gate", "profile>3%"]);
    assert_eq!(status, 1);
    assert!(said.starts_with("gate profile>3%: the whole, 10,001 → 11,005, +10%"), "{said}");
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
    assert_eq!((status, said.lines().count()), (1, 3), "{said}");
    let (before, after) = (files.put("before", BEFORE), files.put("after", AFTER));
    let report = run(&["--json", "--gate-file", &file, &before, &after], "");
    assert_eq!(report.status, 1);
    serde_json::from_str::<serde_json::Value>(&report.stdout).unwrap();
    assert!(report.stderr.starts_with("fg-diff: gate self>2pp: lex (self), "), "{}", report.stderr);
    assert_eq!(gate(&["--gate-file", &files.put("empty", "# nothing\n")]).0, 2);
    assert_eq!(gate(&["--gate-file", "/nonexistent"]).0, 2);
    for wrong in ["totl>5%", "total>", "", "/(/>1"] {
        let (status, said) = gate(&["--gate", wrong]);
        assert!(status == 2 && said.contains("gate"), "{wrong}: {said}");
    }
}
