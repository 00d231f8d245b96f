//! Gates: exit status 1, and what tripped.

use super::{Files, run};

const BEFORE: &str = "main 11\nmain;parse 4000\nmain;parse;lex 2000\nmain;write 3990\n";
const AFTER: &str = "main 12\nmain;parse 4005\nmain;parse;lex 3001\nmain;write 3987\n";

/// A change that one run a side is sure of.
const FAR_AFTER: &str = "main 12\nmain;parse 4005\nmain;parse;lex 12001\nmain;write 3987\n";

/// Exit status and output.
fn gate(options: &[&str]) -> (i32, String) {
    gate_of(AFTER, options)
}

fn gate_of(after: &str, options: &[&str]) -> (i32, String) {
    let files = Files::new();
    let (before, after) = (files.put("before", BEFORE), files.put("after", after));
    let run = run(&[options, &[before.as_str(), after.as_str()]].concat(), "");
    (run.status, run.stdout + &run.stderr)
}

#[test]
fn every_kind_of_gate_trips() {
    for (expression, said) in [
        ("total>5%", "gate total>5%: parse  6,000 → 16,006  +167%  (p < 0.001 n=1+1), and 1 more\n"),
        ("self>2pp", "gate self>2pp: lex (self)  2,000 → 12,001  +500%  (p < 0.001 n=1+1)\n"),
        ("self>10000", "gate self>10000: lex (self)  2,000 → 12,001  +500%  (p < 0.001 n=1+1)\n"),
        ("self>10001", ""),
        ("total>501%", ""),
        ("self>50%", "gate self>50%: lex (self)  2,000 → 12,001  +500%  (p < 0.001 n=1+1)\n"),
        ("/^parse$/>10%", "gate /^parse$/>10%: parse  6,000 → 16,006  +167%  (p < 0.001 n=1+1)\n"),
        ("/write/>0", ""),
        ("self/^parse$/>50%", ""),
        ("total<0", ""),
    ] {
        let (status, text) = gate_of(FAR_AFTER, &["--gate", expression]);
        match said {
            "" => assert!(status == 0 && text.contains(" passed: would have seen "), "{text}"),
            said => assert_eq!((status, text.as_str()), (1, said), "{expression}"),
        }
    }
    let (status, said) = gate_of(FAR_AFTER, &["--gate", "self>2pp total>600%", "--gate", "/lex/>1%"]);
    assert_eq!((status, said.lines().count(), said.matches(" passed: ").count()), (1, 3, 1), "{said}");
}

#[test]
fn noise_trips_nothing_unless_asked() {
    assert_eq!(gate(&["--gate", "self/write/<0"]).0, 0);
    let (status, said) = gate(&["--any", "--gate", "self/^main$/>0 self/write/<0"]);
    assert_eq!((status, said.lines().count()), (1, 2), "{said}");
    assert!(said.contains("gate self/write/<0: write (self)  3,990 → 3,987  ~ (-0.1%)"), "{said}");
    // What keeps a gate from tripping keeps it from seeing, too.
    let alpha = "0.000000000000000000000000000000000000000000000000001";
    let options =
        [["--min-effect", "8"], ["--min-samples", "5000"], ["--alpha", alpha], ["--period", "1000"]];
    for [option, value] in options {
        let (status, said) = gate(&["--require-power", "--gate", "self>2pp", option, value]);
        assert!(status == 3 && said.contains("gate self>2pp not judged"), "{option}: {said}");
        let (status, said) = gate(&["--gate", "self>2pp", option, value]);
        assert!(status == 0 && said.contains("gate self>2pp not judged"), "{option}: {said}");
    }
}

#[test]
fn a_gate_that_cannot_see_its_threshold_judges_nothing() {
    let files = Files::new();
    let few = files.put("few", "# unit: samples\nm;a 100\nm;b 67\n");
    let allowed = run(&["--gate", "total>5%", &few, &few], "");
    assert_eq!((allowed.status, allowed.stderr.as_str()), (0, ""));
    let said = "gate total>5% not judged at 5%: 167 samples a side, would have seen +";
    assert!(allowed.stdout.starts_with(said), "{}", allowed.stdout);
    let required = run(&["--require-power", "--gate", "total>5%", &few, &few], "");
    assert_eq!((required.status, required.stdout), (3, allowed.stdout));
    // One that trips is 1, whatever another sees; and a name that is nobody's is said to be that.
    let (status, said) = gate_of(FAR_AFTER, &["--require-power", "--gate", "self>2pp /nothing/>1%"]);
    assert!(status == 1 && said.contains("gate /nothing/>1% not judged: no function matches\n"), "{said}");
    assert_eq!(gate(&["--require-power", "--gate", "/nothing/>1%"]).0, 3);
    // A limit that so many samples can see.
    let seen = run(&["--require-power", "--gate", "total>900%", &few, &few], "");
    assert!(seen.status == 0 && seen.stdout.contains("passed: would have seen +"), "{}", seen.stdout);
    let json = run(&["--format=json", "--gate", "total>5%", &few, &few], "");
    let json: serde_json::Value = serde_json::from_str(&json.stdout).unwrap();
    assert_eq!(
        (&json["outcome"], &json["gates"][0]["outcome"]),
        (&"not-judged".into(), &"not-judged".into())
    );
    assert!(json["would_have_seen"]["pp"].as_f64().unwrap() > 5.0);
    // Trouble has a number of its own.
    assert_eq!(run(&["--require-power", "--gate", "total>5%", &few, "nosuchfile"], "").status, 2);
}

/// Writes runs of a side and returns their paths.
fn runs(files: &Files, name: &str, count: u32, line: &dyn Fn(u32) -> String) -> Vec<String> {
    let header = "# unit: ns\n# period: 1000000 ns\n";
    (0..count).map(|n| files.put(&format!("{name}{n}"), header.to_owned() + &line(n))).collect()
}

fn compare(options: &[&str], before: &[String], after: &[String]) -> super::Run {
    let strings = |list: &[&str]| list.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>();
    let all =
        [&strings(options)[..], &strings(&["--before"]), before, &strings(&["--after"]), after].concat();
    run(&all.iter().map(String::as_str).collect::<Vec<_>>(), "")
}

/// Forty functions with shares of one over their rank, of a run this many percent as long, without chance.
fn forty(n: u32, percent: f64) -> String {
    let line = |rank: u32| {
        let jitter = f64::from((n * 7 + rank * 13) % 5) / 100.0 - 0.02;
        let weight = 9540.0 / f64::from(rank + 1) * percent / 100.0 * (1.0 + jitter);
        format!("main;f{rank} {}000000\n", weight.round())
    };
    (0..40).map(line).collect()
}

#[test]
fn percent_is_of_weight_when_everything_got_slower() {
    let files = Files::new();
    let one = |name: &str, percent: f64| runs(&files, name, 1, &|_| forty(0, percent));
    let (before, after) = (one("before", 100.0), one("after", 170.0));
    for gate in ["total>10%", "self>10%", "/^f3$/>10%", "total>1000000000", "slower>5%"] {
        assert_eq!(compare(&["--gate", gate], &before, &after).status, 1, "{gate}");
    }
    // Their shares are as they were.
    assert_eq!(compare(&["--gate", "total>1pp self>1pp"], &before, &after).status, 0);
    let five = |name: &str, percent: f64| runs(&files, name, 5, &|n| forty(n, percent));
    let (before, after) = (five("b", 100.0), five("a", 140.0));
    for gate in ["self>10%", "/f3/>10%", "self/^f0$/>10%", "total>10%", "slower>5%"] {
        let tripped = compare(&["--gate", gate], &before, &after);
        assert_eq!((tripped.status, tripped.stdout.contains("+4")), (1, true), "{gate}: {}", tripped.stdout);
    }
    assert_eq!(compare(&["--gate", "total>1pp total>60%"], &before, &after).status, 0);
    assert_eq!(compare(&["--gate", "total>0 self>0 slower>0%"], &before, &five("c", 100.0)).status, 0);
}

#[test]
fn one_run_each_is_not_judged_and_no_failure() {
    let files = Files::new();
    let recorded = |name: &str, percent: f64| {
        let header = "# unit: ns\n# period: 1000000 ns\n# producer: \"fg-record 0.1.0\"\n";
        files.put(name, header.to_owned() + &forty(0, percent))
    };
    let (before, after) = (recorded("before", 100.0), recorded("after", 103.0));
    let lone = run(&["--gate", "slower>5%", &before, &after], "");
    assert_eq!((lone.status, lone.stderr.as_str()), (0, ""));
    let said = "gate slower>5% not judged at 5%: one run each. Whole +3.0% (plausible -";
    assert!(lone.stdout.starts_with(said), "{}", lone.stdout);
    assert!(lone.stdout.contains("as runs of fg-record differ by "), "{}", lone.stdout);
    assert!(lone.stdout.ends_with("; record 5 runs to decide\n"), "{}", lone.stdout);
    let required = run(&["--require-power", "--gate", "slower>5%", &before, &after], "");
    assert_eq!(required.status, 3);
    // The example of the README: two equal runs pass.
    assert_eq!(run(&["--gate", "slower>5%", "--markdown", &before, &before], "").status, 0);
}

#[test]
fn code_that_moved_is_not_slower() {
    let files = Files::new();
    // `work` is 40% of the program; `rest` calls nothing.
    let jitter = |n: u32, k: u32| 1.0 + (f64::from((n * 7 + k * 3) % 5) - 2.0) / 100.0;
    let side = |name: &str, stacks: &[(&str, f64)]| {
        runs(&files, name, 5, &|n| {
            let line = |(k, (stack, weight)): (usize, &(&str, f64))| {
                format!("main;{stack} {}000000\n", (weight * jitter(n, k as u32)).round())
            };
            stacks.iter().enumerate().map(line).collect()
        })
    };
    let before =
        side("before", &[("run", 100.0), ("run;work", 1500.0), ("run;work;leaf", 500.0), ("rest", 3000.0)]);
    for (name, stacks) in [
        ("renamed", &[("run", 100.0), ("run;job", 1500.0), ("run;job;leaf", 500.0), ("rest", 3000.0)][..]),
        (
            "wrapped",
            &[("run", 100.0), ("run;safe;work", 1500.0), ("run;safe;work;leaf", 500.0), ("rest", 3000.0)],
        ),
        ("inlined", &[("run", 1600.0), ("run;leaf", 500.0), ("rest", 3000.0)]),
        ("inlined leaf", &[("run", 100.0), ("run;work", 2000.0), ("rest", 3000.0)]),
    ] {
        let moved = compare(&["--gate", "slower>5%"], &before, &side(name, stacks));
        assert_eq!(moved.status, 0, "{name}: {}", moved.stdout);
    }
    // What it costs its caller counts.
    for (name, stacks) in [
        ("slower job", &[("run", 100.0), ("run;job", 2300.0), ("run;job;leaf", 500.0), ("rest", 3000.0)][..]),
        (
            "more",
            &[
                ("run", 100.0),
                ("run;work", 1500.0),
                ("run;work;leaf", 500.0),
                ("run;log", 600.0),
                ("rest", 3000.0),
            ],
        ),
        ("inlined and slower", &[("run", 2600.0), ("run;leaf", 500.0), ("rest", 3000.0)]),
    ] {
        let slower = compare(&["--gate", "slower>5%"], &before, &side(name, stacks));
        assert_eq!(slower.status, 1, "{name}: {}", slower.stdout);
    }
}

#[test]
fn a_calm_function_is_seen_beside_wild_ones() {
    let files = Files::new();
    // Garbage collection and I/O differ from run to run by half, the rest by two in a hundred.
    let side = |name: &str, factor: f64| {
        runs(&files, name, 8, &|n| {
            let wild = |k: u32| [0.6, 1.5, 0.8, 1.2, 1.0, 0.7, 1.4, 0.9][((n * 3 + k * 5) % 8) as usize];
            let calm = |k: u32| 1.0 + (f64::from((n * 7 + k * 3) % 5) - 2.0) / 100.0;
            let lines = [
                ("hash", 60.0 * factor * calm(1)),
                ("sort", 240.0 * calm(2)),
                ("parse", 360.0 * calm(3)),
                ("gc.mark", 300.0 * wild(1)),
                ("gc.sweep", 130.0 * wild(2)),
                ("read", 110.0 * wild(3)),
            ];
            lines
                .iter()
                .map(|(name, weight)| format!("main;{name} {}00000\n", (10.0 * weight).round()))
                .collect()
        })
    };
    let (before, after) = (side("before", 1.0), side("after", 1.3));
    let found = compare(&["--format=json", "--gate", "slower>10%"], &before, &after);
    let report: serde_json::Value = serde_json::from_str(&found.stdout).unwrap();
    let named: Vec<_> =
        report["rows"].as_array().unwrap().iter().filter(|row| row["significant"] == true).collect();
    assert_eq!(named.len(), 1, "{}", found.stdout);
    assert_eq!((&named[0]["name"], found.status), (&"hash".into(), 1));
    assert!(report["verdict"].as_str().unwrap().starts_with("slower: hash +"), "{}", report["verdict"]);
    // Rows that are not named are not surer than alpha.
    for row in report["rows"].as_array().unwrap().iter().filter(|row| row["significant"] == false) {
        let p = |kind: &str| row[kind]["p"].as_f64().unwrap_or(1.0);
        assert!(p("self") >= 0.01 && p("total") >= 0.01, "{row}");
    }
    // The whole has no share to change: its interval is of its weight.
    assert!(report["profile"]["interval_pp"].is_null());
    assert_eq!(report["profile"]["interval_percent"].as_array().map(Vec::len), Some(2));
}

#[test]
fn a_program_uniformly_slower_trips() {
    let files = Files::new();
    let run_of = |name: String, percent: u32| {
        let weights = [5000, 3000, 2000].map(|weight| weight * percent);
        let header = "# unit: ns\n# period: 100 ns\n";
        files.put(&name, format!("{header}m;a {}\nm;b {}\nm;c {}\n", weights[0], weights[1], weights[2]))
    };
    let side = |name: &str, percents: [u32; 5]| {
        let numbered = percents.into_iter().enumerate();
        numbered.map(|(n, percent)| run_of(format!("{name}{n}"), percent)).collect::<Vec<_>>()
    };
    let (b, a) = (side("b", [100, 101, 99, 100, 101]), side("a", [108, 109, 107, 108, 109]));
    let five = compare(&["--gate", "profile>5%"], &b, &a);
    assert!(
        five.status == 1 && five.stdout.contains("profile>5%: the whole  1 ms ±2% → 1.08 ms ±1%  +8.0%"),
        "{}",
        five.stdout
    );
    let alike = compare(&["--require-power", "--gate", "slower>5%"], &b, &b);
    assert!(alike.status == 0 && alike.stdout.contains("passed: would have seen +"), "{}", alike.stdout);
    // What it would have seen of functions is said as well.
    assert!(
        alike.stdout.contains("% of the whole, +") && alike.stdout.contains("of any function above 5% of it")
    );
    // Runs are averaged: one more of them is not slower.
    assert_eq!(compare(&["--gate", "slower>5%"], &b[..3], &b).status, 0);
    let scaled = run(&["-n", "--gate", "slower>5%", &b[0], &a[0]], "");
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
                let said = run(&[form, &side[..]].concat(), "");
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
        let gate = run(&["-q", "--gate", "total>50%", &plain, &other], "");
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
    let (status, said) = gate(&["--require-power", "--gate", "profile>3%"]);
    assert_eq!(status, 3);
    assert!(
        said.contains("gate profile>3% not judged at 3%: one run each. Whole +10% (plausible "),
        "{said}"
    );
    let (status, said) = gate(&["--any", "--gate", "profile>3%"]);
    assert_eq!(status, 1);
    assert!(said.starts_with("gate profile>3%: the whole  10,001 → 11,005  ~ (+10%)"), "{said}");
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
    let (status, said) = gate_of(FAR_AFTER, &[&format!("--gate=@{file}")]);
    assert_eq!((status, said.lines().count()), (1, 3), "{said}");
    let (before, after) = (files.put("before", BEFORE), files.put("after", FAR_AFTER));
    let report = run(&["--format=json", &format!("--gate=@{file}"), &before, &after], "");
    assert_eq!(report.status, 1);
    serde_json::from_str::<serde_json::Value>(&report.stdout).unwrap();
    assert!(report.stderr.starts_with("fg-diff: gate self>2pp: lex (self)  "), "{}", report.stderr);
    assert_eq!(gate(&["--gate", &format!("@{}", files.put("empty", "# nothing\n"))]).0, 2);
    assert_eq!(gate(&["--gate", "@/nonexistent"]).0, 2);
    for wrong in ["totl>5%", "total>", "", "/(/>1"] {
        let (status, said) = gate(&["--gate", wrong]);
        assert!(status == 2 && said.contains("gate"), "{wrong}: {said}");
    }
}
