//! `fg-diff --history`: a baseline that grows.

use super::{Files, run};

/// Numbers within two hundredths of a level, each run another.
fn spread(level: usize, run: usize, salt: usize) -> usize {
    level * (980 + (run * 7919 + salt * 104_729) % 41) / 1000
}

/// A recording of a run, in which `parse` has this level.
fn recording(parse: usize, run: usize) -> String {
    let (parse, lex, io) = (spread(parse, run, 1), spread(50_000_000, run, 2), spread(90_000_000, run, 3));
    format!("# unit: ns\nmain;parse {parse}\nmain;parse;lex {lex}\nmain;io {io}\n")
}

#[test]
fn a_run_is_judged_by_those_before_it_and_added() {
    let files = Files::new();
    let history = files.path().join("perf").to_str().unwrap().to_owned();
    let file = files.put("run.folded", recording(100_000_000, 0));
    let first = run(&["--history", &history, "--commit", "c0", &file], "");
    assert_eq!((first.status, &*first.stdout), (0, ""));
    assert!(
        first.stderr.contains("history.tsv: no runs like these to compare with; it has these now"),
        "{}",
        first.stderr
    );
    for number in 1..9 {
        let file = files.put("run.folded", recording(100_000_000, number));
        let same = run(
            &["--history", &history, "--commit", &format!("c{number}"), "--gate", "slower>5%", &file],
            "",
        );
        assert_ne!(same.status, 1, "{number}: {}{}", same.stdout, same.stderr);
    }
    let text = std::fs::read_to_string(files.path().join("perf/history.tsv")).unwrap();
    assert!(text.starts_with("# fg-tools history: time, commit"), "{text}");
    assert_eq!(text.lines().filter(|line| line.ends_with("\tparse")).count(), 9);
    // A pull request that makes parse slower: it is judged, and leaves no line.
    let names: Vec<String> =
        (0..5).map(|n| files.put(&format!("pull{n}.folded"), recording(160_000_000, 20 + n))).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let slow = run(&[&["--history", &history, "--gate", "slower>5%"], &names[..]].concat(), "");
    assert_eq!(slow.status, 1, "{}{}", slow.stdout, slow.stderr);
    assert!(slow.stdout.contains("slower>5%: the whole  240 ms"), "{}", slow.stdout);
    let table = run(&[&["--history", &history], &names[..]].concat(), "");
    assert_eq!(table.status, 0, "{}", table.stderr);
    assert!(table.stdout.contains("parse") && table.stdout.contains('%'), "{}", table.stdout);
    assert_eq!(std::fs::read_to_string(files.path().join("perf/history.tsv")).unwrap(), text);
}

#[test]
fn lasting_changes_are_named_with_commit_and_function() {
    let files = Files::new();
    let history = files.path().join("perf").to_str().unwrap().to_owned();
    let none = run(&["--history", &history, "--trend"], "");
    assert_eq!(none.status, 2, "{}", none.stdout);
    assert!(none.stderr.contains("no runs in it"), "{}", none.stderr);
    for number in 0..24 {
        let level = if number < 14 { 100_000_000 } else { 150_000_000 };
        let file = files.put("run.folded", recording(level, number));
        let added = run(
            &["--history", &history, "--machine", "ci", "--commit", &format!("c{number}"), "-q", &file],
            "",
        );
        assert_eq!(added.status, 0, "{}", added.stderr);
    }
    // Lines of one second are in the order of their commits only by chance: as a day each they are.
    let path = files.path().join("perf/history.tsv");
    let text = std::fs::read_to_string(&path).unwrap();
    let lines = text.lines().map(|line| match line.split_once('\t') {
        Some((_, rest)) => {
            let number: u32 = rest.split('\t').next().unwrap()[1..].parse().unwrap();
            format!("2026-01-{:02}T00:00:00Z\t{rest}\n", number + 1)
        }
        None => format!("{line}\n"),
    });
    std::fs::write(&path, lines.collect::<String>()).unwrap();
    let trend = run(&["--history", &history, "--trend"], "");
    assert_eq!(trend.status, 0, "{}", trend.stderr);
    let lines: Vec<&str> = trend.stdout.lines().collect();
    assert_eq!(lines.len(), 2, "{}", trend.stdout);
    assert!(
        lines[0].starts_with("c14  the whole  ") && lines[1].starts_with("c14  parse  "),
        "{}",
        trend.stdout
    );
    assert!(
        lines[1].contains("  100 → 150 ms  +50%  ") && lines[1].ends_with("(p < 0.001 n=14+10)  ci"),
        "{}",
        trend.stdout
    );
    // A page has a chart of each, and the difference of the two commits behind a link.
    let page = files.path().join("trend.html");
    let drawn = run(&["--history", &history, "--trend", "-o", page.to_str().unwrap()], "");
    assert_eq!((drawn.status, &*drawn.stdout), (0, ""), "{}", drawn.stderr);
    let page = std::fs::read_to_string(page).unwrap();
    for title in ["the whole", "parse", "lex", "io"] {
        assert!(page.contains(&format!("<figcaption><b>{title}</b>")), "{title}: {page}");
    }
    assert_eq!(page.matches("<polyline class=\"run\"").count(), 4);
    assert_eq!(page.matches("<a href=\"#change-0-14\">").count(), 2, "of the whole and of parse");
    assert!(page.contains("<section id=\"change-0-14\"><h2>c13 → c14</h2>"), "{page}");
    let row =
        "<tr><td>parse</td><td class=\"more\">100 → 150 ms  +50%</td><td>p &lt; 0.001 n=14+10</td></tr>";
    assert!(page.contains(row), "{page}");
    // The limits of a change are those of a report.
    let large = run(&["--history", &history, "--trend", "--min-effect", "30"], "");
    assert_eq!((large.status, &*large.stdout), (0, ""));
    assert!(large.stderr.contains("history.tsv: no lasting change in 24 entries"), "{}", large.stderr);
    let refused = run(&["--history", &history, "--trend", "run.folded"], "");
    assert!(refused.status == 2 && refused.stderr.contains("cannot be used with"), "{}", refused.stderr);
    // Only what came after the change is compared with.
    let file = files.put("next.folded", recording(150_000_000, 40));
    let next = run(&["--history", &history, "--machine", "ci", "--format=json", &file], "");
    assert!(next.stdout.contains("of 10 and 1 runs"), "{}", next.stdout);
}

#[test]
fn names_of_a_history_are_text_in_its_page() {
    let files = Files::new();
    let hostile = "</style><script>alert(1)</script>";
    let lines: String = (0..9)
        .map(|n| {
            format!("2026-01-0{}T00:00:00Z\t\"{hostile}\t{hostile}\tns\t1\t{}\t{hostile}\n", n + 1, 100 + n)
        })
        .collect();
    files.put("history.tsv", lines);
    let page = files.path().join("trend.htm");
    let history = files.path().to_str().unwrap().to_owned();
    let drawn = run(&["--history", &history, "--trend", "-o", page.to_str().unwrap()], "");
    assert_eq!(drawn.status, 0, "{}", drawn.stderr);
    let page = std::fs::read_to_string(page).unwrap();
    assert!(!page.contains("<script") && page.matches("</style>").count() == 1, "{page}");
    assert!(page.contains("No lasting change."), "{page}");
}

#[test]
fn lines_that_are_not_understood_are_said_or_refused() {
    let files = Files::new();
    let history = files.path().join("perf").to_str().unwrap().to_owned();
    let file = files.put("run.folded", "main;a 5\nmain;b\nmain;c 7\n");
    let strict = run(&["--history", &history, "--commit", "c0", "--strict", &file], "");
    assert_eq!((strict.status, &*strict.stdout), (2, ""));
    assert!(strict.stderr.contains("run.folded:2: "), "{}", strict.stderr);
    assert!(!files.path().join("perf").exists(), "a file that was refused is no run");
    let said = run(&["--history", &history, "--commit", "c0", &file], "");
    assert_eq!(said.status, 0);
    assert!(said.stderr.contains("run.folded:2: 1 line(s) not understood"), "{}", said.stderr);
}

#[test]
fn a_history_has_functions_and_no_other_rows() {
    let files = Files::new();
    let history = files.path().join("perf").to_str().unwrap().to_owned();
    let file = files.put("run.folded", recording(100_000_000, 0));
    for options in [&["--table", "--by", "module"][..], &["--weight-by", "bytes_req"]] {
        let refused = run(&[&["--history", &history, &file], options].concat(), "");
        assert_eq!((refused.status, &*refused.stdout), (2, ""));
        assert!(refused.stderr.contains("cannot be used with"), "{}", refused.stderr);
    }
}

#[test]
fn one_run_comes_from_standard_input() {
    let files = Files::new();
    let history = files.path().join("perf").to_str().unwrap().to_owned();
    let two = run(&["--history", &history, "-", "-"], &recording(100_000_000, 0));
    assert_eq!(two.status, 2);
    assert!(two.stderr.contains("only one of the files can be standard input"), "{}", two.stderr);
    let one = run(&["--history", &history, "--commit", "c0", "-"], &recording(100_000_000, 0));
    assert_eq!(one.status, 0, "{}", one.stderr);
    let text = std::fs::read_to_string(files.path().join("perf/history.tsv")).unwrap();
    assert!(text.contains("\tparse\n"), "{text}");
}
