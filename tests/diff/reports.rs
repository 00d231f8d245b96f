//! Tables, Markdown, JSON, TSV.

use serde_json::Value;

use super::{Files, diff, run};

const BEFORE: &str = "main 11\nmain;parse 4000\nmain;parse;lex 2000\nmain;old|`x` 700\nmain;write 3990\n";
const AFTER: &str = "main 12\nmain;parse 4005\nmain;parse;lex 3001\nmain;once 1\nmain;write 3987\n";

#[test]
fn a_table_has_the_numbers() {
    let table = diff(&["--table"], BEFORE, AFTER);
    let mut lines = table.lines();
    let headline = lines.next().unwrap();
    let said = "gone: old|`x` -700; not sure by one run a side: slower: lex +1,001 (+50%), parse +1,006 (+17%); whole 10,701 → 11,006  ~ (+2.9%)  (p=0.";
    assert!(headline.starts_with(said) && headline.ends_with(" n=1+1)"), "{headline}");
    let seen = lines.next().unwrap();
    assert!(
        seen.starts_with("would have seen +") && seen.contains("% of the whole by one run each"),
        "{seen}"
    );
    let row = |table: &str, name: &str| {
        let line = table.lines().find(|line| line.ends_with(&format!("  {name}"))).unwrap();
        line.split("  ").map(str::trim).filter(|cell| !cell.is_empty()).map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(row(&table, "lex")[..5], ["?", "self", "2,000 → 3,001", "+50%", "+8.58"]);
    assert_eq!(row(&table, "parse")[..5], ["?", "total", "6,000 → 7,006", "+17%", "+7.59"]);
    assert_eq!(row(&table, "old|`x`")[..5], ["gone", "self", "700 → 0", "-100%", "-6.54"]);
    assert_eq!(row(&table, "once"), ["~", "self", "0 → 1", "new", "+0.01", "–", "once"]);
    assert_eq!(row(&table, "main"), ["~", "self", "11 → 12", "+9.1%", "+0.01", "–", "main"]);
    let order: Vec<_> = table.lines().skip(4).filter_map(|line| line.rsplit("  ").next()).collect();
    assert_eq!(order, ["old|`x`", "lex", "parse", "write", "main", "once"]);
    let wide = diff(&["--table", "--wide"], BEFORE, AFTER);
    assert!(wide.contains("(10,701 before, 11,006 after, of 1 each)"), "{wide}");
    assert_eq!(row(&wide, "lex")[..6], ["?", "2,000", "3,001", "+1,001", "+50%", "+8.58"]);
    assert_eq!(row(&wide, "parse")[..6], ["?", "4,000", "4,005", "+5", "+0.1%", "-0.99"]);
    assert!(row(&wide, "lex")[6].starts_with("[-") && row(&wide, "lex").len() == 15, "{wide}");
    assert!(!table.contains('\x1b'));
}

#[test]
fn sort_limit_and_groups() {
    let names = |options: &[&str]| -> Vec<String> {
        let tsv = diff(&[&["--format=tsv"], options].concat(), BEFORE, AFTER);
        tsv.lines().skip(1).map(|line| line.split('\t').next().unwrap().to_owned()).collect()
    };
    assert_eq!(names(&["--sort", "total"])[..3], ["old|`x`", "parse", "lex"]);
    assert_eq!(names(&["--sort", "name"]), ["lex", "main", "old|`x`", "once", "parse", "write"]);
    assert_eq!(names(&["--limit", "2"]), ["old|`x`", "lex"]);
    assert_eq!(names(&["--limit", "0"]).len(), 6);
    assert!(diff(&["--table", "--limit", "2"], BEFORE, AFTER).contains("\n4 more rows; "));
    assert_eq!(names(&["--by", "stack"])[1], "main;parse;lex");
    assert_eq!(names(&["--by", "thread"]), ["main"]);
    assert_eq!(names(&["--by", "function"]), names(&[]));
    let modules =
        diff(&["--format=tsv", "--by", "module"], "t;a::f;a::g 5\nt;b::f 2\n", "t;a::f;a::g 5\nt;b::f 3\n");
    assert!(modules.contains("\na\t") && modules.contains("\nb\t"), "{modules}");
    assert_eq!(run(&["--limit", "2", "a", "b"], "").status, 2, "there is no report to limit");
    assert_eq!(run(&["--table", "--format=json", "a", "b"], "").status, 2);
}

#[test]
fn markdown_reads_well_in_a_pull_request() {
    let report = diff(&["--markdown"], BEFORE, AFTER);
    let lines: Vec<&str> = report.lines().collect();
    let said = "**gone: `` old\\|`x` `` -700; not sure by one run a side: slower: `lex` +1,001 (+50%), `parse` +1,006 (+17%); whole 10,701 → 11,006  ~ ";
    assert!(lines[0].starts_with(said) && lines[0].ends_with(" n=1+1)**"), "{}", lines[0]);
    assert!(
        lines[5].starts_with("| ? | `lex` | 2,000 → 3,001 | +50% | 2,000 → 3,001 | +50% | +8.58 ["),
        "{}",
        lines[5]
    );
    assert!(report.contains("\n| gone | `` old\\|`x` `` | 700 → 0 | "), "{report}");
    assert!(report.contains("\n<details><summary>") && report.ends_with("\n</details>\n"), "{report}");
    assert!(report.contains("\n| ~ | `once` | 0 → 1 | new | "), "{report}");
    assert!(report.contains("\n- Difference of two proportions"), "{report}");
    // Every row has as many cells as the head, whatever names hold.
    for line in lines.iter().filter(|line| line.starts_with('|')) {
        assert_eq!(line.replace("\\|", "").matches('|').count(), 9, "{line}");
    }
    let many: String = (0..80).map(|n| format!("m;f{n:02} {}\n", 1000 + 7 * n)).collect();
    let more: String =
        (0..80).map(|n| format!("m;f{n:02} {}\n", if n % 2 == 0 { 4000 + 7 * n } else { 307 })).collect();
    let report = diff(&["--markdown"], &many, &more);
    let (shown, folded) = report.split_once("<details>").unwrap();
    assert_eq!((shown.matches(" | `f").count(), folded.matches(" | `f").count()), (5, 50), "{report}");
    assert!(report.contains("\n26 more rows: "), "{report}");
    let report = diff(&["--markdown", "--limit", "3"], &many, &more);
    assert_eq!(report.split_once("<details>").unwrap().0.matches(" | `f").count(), 3);
    let picture = diff(&["--markdown", "--picture", "https://x.y/diff.svg"], BEFORE, AFTER);
    assert!(
        picture.contains("\n[![flame graph of the change](https://x.y/diff.svg)](https://x.y/diff.svg)\n")
    );
}

#[test]
fn a_comment_is_never_longer_than_github_takes() {
    let hostile = "@octocat #1 https://evil.example <img src=x onerror=alert(1)> ``` | [a](b) **b** <!-- ";
    let name = |n: u32| format!("m;{hostile}{}{n:04}", "é|`".repeat(2000));
    let before: String = (0..300).map(|n| format!("{} {}\n", name(n), 1000 + 7 * n)).collect();
    let after: String =
        (0..300).map(|n| format!("{} {}\n", name(n), if n % 2 == 0 { 3000 } else { 300 })).collect();
    let gates: String = (0..300).map(|n| format!("/{n:04}$/>5% ")).collect();
    let files = Files::new();
    let (b, a) = (files.put("before", before), files.put("after", after));
    let report = run(&["--markdown", "--limit", "250", "--any", "--gate", &gates, &b, &a], "");
    assert_eq!(report.status, 1);
    assert!(report.stdout.len() < 65_536, "{}", report.stdout.len());
    assert!(report.stdout.ends_with("\n</details>\n") && report.stdout.matches("<details>").count() == 1);
    // Nothing of a name stands outside of code.
    let fences = |line: &str| {
        let mut outside = String::new();
        let mut rest = line;
        while let Some(start) = rest.find('`') {
            outside += &rest[..start];
            let run = rest[start..].bytes().take_while(|byte| *byte == b'`').count();
            let fence = "`".repeat(run);
            let mut end = start + run;
            loop {
                let at = end + rest[end..].find(&fence).expect("the code ends");
                let length = rest[at..].bytes().take_while(|byte| *byte == b'`').count();
                end = at + length;
                if length == run {
                    break;
                }
            }
            rest = &rest[end..];
        }
        outside + rest
    };
    for line in report.stdout.lines() {
        let outside = fences(line);
        for word in ["@", "#", "http", "<img", "onerror", "[a]", "<!--"] {
            assert!(!outside.contains(word), "{word}: {outside}");
        }
    }
}

#[test]
fn markdown_of_a_hostile_unit_is_text() {
    for unit in
        ["![i](http://evil.example/i.png)", "@octocat", "</details>", "<img src=x>", "https://evil.example"]
    {
        let files = Files::new();
        let file = |name: &str, weight: u32| {
            files.put(name, format!("# unit: {unit}\n# period: 1 {unit}\nm;lex {weight}\nm;parse 9000\n"))
        };
        let (before, after) = (file("before", 2000), file("after", 6000));
        let report = run(&["--markdown", "--gate", "self>5 self/parse/>9", &before, &after], "");
        assert_eq!(report.status, 1, "{}", report.stderr);
        // Of the headline, the gates, the rows, the sides and the method.
        assert!(report.stdout.matches(unit).count() > 8, "{}", report.stdout);
        for line in report.stdout.lines().filter(|line| *line != "</details>") {
            let outside: String = line.split('`').step_by(2).collect();
            assert!(!outside.contains(unit), "{line}");
        }
    }
}

#[test]
fn functions_that_differ_by_their_line_are_noticed() {
    let before = "m (a.py:1);f (a.py:12) 400\nm (a.py:1);g (a.py:20) 600\n";
    let after = "m (a.py:1);f (a.py:14) 410\nm (a.py:1);g (a.py:22) 590\n";
    let files = Files::new();
    let (b, a) = (files.put("before", before), files.put("after", after));
    let noticed = run(&["--table", &b, &a], "");
    assert_eq!(
        noticed.stderr,
        "fg-diff: 2 functions are gone by one name and new by another, which differ in their line only, \
         as f (a.py:12) and f (a.py:14); --strip line compares them as one\n"
    );
    let stripped = run(&["--table", "--strip", "line", &b, &a], "");
    assert_eq!(stripped.stderr, "");
    assert!(stripped.stdout.starts_with("no change; whole "), "{}", stripped.stdout);
}

#[test]
fn json_is_json_and_complete() {
    let report: Value = serde_json::from_str(&diff(&["--format=json"], BEFORE, AFTER)).unwrap();
    // Self and total weights that are alike are one test of share and weight.
    assert_eq!(report["tests"], 11);
    assert_eq!(report["before"]["samples"], 10701.0);
    assert_eq!(report["rows"].as_array().unwrap().len(), 6);
    let lex = &report["rows"][1];
    assert_eq!((lex["name"].as_str(), lex["presence"].as_str()), (Some("lex"), Some("both")));
    assert_eq!(
        (lex["self"]["before"].as_str(), lex["self"]["change"].as_str()),
        (Some("2000"), Some("1001"))
    );
    assert_eq!(
        (&lex["significant"], &lex["suspected"], &report["rows"][5]["suspected"]),
        (&Value::Bool(false), &Value::Bool(true), &Value::Bool(false))
    );
    assert!((0.01..0.3).contains(&lex["self"]["p"].as_f64().unwrap()), "{lex}");
    let [low, high] = [0, 1].map(|n| lex["self"]["interval_pp"][n].as_f64().unwrap());
    assert!(low < 8.58 && 8.58 < high, "{lex}");
    assert_eq!(report["rows"][5]["self"]["percent"], Value::Null);
    let hostile = diff(&["--format=json"], "a\"\\\u{1}\t;b 1\n", "a\"\\\u{1}\t;b 1\n");
    let hostile: Value = serde_json::from_str(&hostile).unwrap();
    assert!(hostile["rows"].as_array().unwrap().iter().any(|row| row["name"] == "a\"\\\u{1}\t"));
}

#[test]
fn units_and_periods_come_from_the_header() {
    let header = "# unit: ns\n# period: 10 ns\n";
    let (before, after) = (format!("{header}{BEFORE}"), format!("{header}{AFTER}"));
    let table = diff(&["--table"], &before, &after);
    assert!(
        table.starts_with("not sure by one run a side: slower: lex +1 µs (+50%), parse +1.01 µs (+17%); gone: old|`x` -700 ns; whole"),
        "{table}"
    );
    let table = diff(&["--table", "--wide"], &before, &after);
    assert!(table.contains("(1,070 before, 1,101 after, of 10 ns each)"), "{table}");
    assert!(table.contains("  2 µs ") && table.contains("  +1 µs "), "{table}");
    assert!(diff(&["--table", "--wide", "--period", "1"], &before, &after).contains("of 1 ns each"));
    let markdown = diff(&["--markdown"], &before, &after);
    assert!(markdown.contains("\n| ? | `lex` | 2 → 3 µs | +50% | "), "{markdown}");
    // Programs get exact numbers.
    assert!(diff(&["--format=tsv"], &before, &after).contains("\nlex\t?\t2000\t3001\t1001\t"));
    let periods = diff(&["--table", "--wide"], "a 2002002\nb 3003003\n", "a 2002002\nb 3003003\n");
    assert!(periods.contains("(5 before, 5 after, of 1,001,001 each)"), "{periods}");
    // Cycles have no step: a sample weighs at least what the lightest stack does.
    let cycles = diff(&["--table", "--wide"], "a 2002003\nb 3003004\n", "a 2002003\nb 3003004\n");
    assert!(cycles.contains("give --period") && cycles.contains("(2 before, 2 after"), "{cycles}");
}

#[test]
fn runs_are_averaged_and_their_spread_is_the_measure() {
    let files = Files::new();
    let put = |name: &str, a: u32, b: u32| files.put(name, format!("m;a {a}\nm;b {b}\nm;c 1\n"));
    // Shares that jump about from run to run: what one pair calls sure is noise here.
    let before = [put("b1", 5001, 5000), put("b2", 6501, 3500), put("b3", 4003, 6000)];
    let after = [put("a1", 5601, 4400), put("a2", 4001, 6000), put("a3", 7003, 3000)];
    let one = run(&["--table", &before[0], &after[0]], "");
    assert!(
        one.stdout.starts_with("not sure by one run a side: slower: a +600 (+12%); faster: b -600 (-12%); "),
        "{}",
        one.stdout
    );
    let mut arguments = vec!["--table", "--wide", "--before"];
    arguments.extend(before.iter().map(String::as_str));
    arguments.push("--after");
    arguments.extend(after.iter().map(String::as_str));
    let several = run(&arguments, "").stdout;
    assert!(
        several.starts_with("no change; whole ")
            && several.contains("moderated t on the shares and weights of 3 and 3 runs")
    );
    let mean = several.lines().find(|line| line.ends_with("  a")).unwrap();
    assert!(mean.contains(" 5,168 ") && mean.contains(" 5,535 "), "{mean}");
}

#[test]
fn the_same_bytes_every_time() {
    for form in ["--table", "--markdown", "--format=json", "--format=tsv"] {
        let first = diff(&[form, "--fuzzy"], BEFORE, AFTER);
        for _ in 0..3 {
            assert_eq!(diff(&[form, "--fuzzy"], BEFORE, AFTER), first, "{form}");
        }
    }
}

#[test]
fn shrinking_share_of_equal_work_is_no_change() {
    let files = Files::new();
    let put = |name: &str, f: u32, g: u32| files.put(name, format!("m;c 1\nm;f {f}\nm;g {g}\n"));
    // f doubles; g does the same work, on a machine that is now a little faster, now slower.
    let before = [put("b1", 3000, 7000), put("b2", 3090, 7210), put("b3", 2910, 6790)];
    let after = [put("a1", 5820, 6790), put("a2", 6000, 7000), put("a3", 6000, 7000)];
    let mut arguments = vec!["--format=tsv", "-q", "--before"];
    arguments.extend(before.iter().map(String::as_str));
    arguments.push("--after");
    arguments.extend(after.iter().map(String::as_str));
    let report = run(&arguments, "").stdout;
    let marks: Vec<_> =
        report.lines().skip(1).map(|line| line.split('\t').take(2).collect::<Vec<_>>()).collect();
    assert_eq!(marks[0], ["f", "up"], "{report}");
    assert!(marks.contains(&vec!["g", "~"]), "{report}");
    // Normalised, the shares are what is asked for.
    arguments.push("-n");
    assert!(run(&arguments, "").stdout.contains("\ng\tdown\t"));
}
