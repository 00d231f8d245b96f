//! The same comparison read from every output names the same functions: one engine judges for table, Markdown, JSON, picture,
//! page and terminal, also where fg-render draws what fg-diff wrote.

use std::collections::BTreeSet;

use serde_json::Value;

use super::{Files, run, run_program};

type Names = BTreeSet<String>;

/// The functions of the program.
const FUNCTIONS: u64 = 12;

/// A recording of twelve functions, two of which get slower and one faster in runs after. Runs differ by some percent.
fn recording(run: u64, is_after: bool) -> String {
    let mut lines = "# unit: ns\n# period: 1000000 ns\n".to_owned();
    for function in 0..FUNCTIONS {
        let share = 6000 / (function + 1);
        let chance =
            (run * 7919 + function * 104_729 + u64::from(is_after) * 31).wrapping_mul(0x9e37_79b9) >> 7;
        let factor = match (is_after, function) {
            (true, 1 | 4) => 160,
            (true, 2) => 50,
            // Only several runs tell that this one differs by nothing but chance.
            (_, 0) => 100 + chance % 30,
            _ => 100,
        };
        let samples = share * factor / 100 + chance % 20;
        lines += &format!("main;caller{};f{function} {}\n", function % 3, samples * 1_000_000);
    }
    lines
}

/// The functions that an output of `fg-diff` for programs names.
fn of_json(options: &[&str]) -> Names {
    let report: Value = serde_json::from_str(&run(&[options, &["--json"]].concat(), "").stdout).unwrap();
    let rows = report["rows"].as_array().unwrap().iter();
    rows.filter(|row| row["significant"] == true || row["suspected"] == true)
        .map(|row| row["name"].as_str().unwrap().to_owned())
        .collect()
}

fn of_table(options: &[&str]) -> Names {
    let table = run(&[options, &["--table", "--limit", "0"]].concat(), "").stdout;
    let named = table.lines().filter_map(|line| {
        let is_row = ["up ", "down ", "new ", "gone ", "? "].iter().any(|word| line.starts_with(word));
        is_row.then(|| line.rsplit("  ").next().unwrap().to_owned())
    });
    named.collect()
}

fn of_markdown(options: &[&str]) -> Names {
    let markdown = run(&[options, &["--markdown", "--limit", "100"]].concat(), "").stdout;
    let rows = markdown.lines().filter(|line| line.starts_with("| ") && !line.starts_with("| |"));
    let cells = rows.map(|row| row.split('|').map(str::trim).collect::<Vec<_>>());
    let sure = cells.filter(|cells| !["", "~", "---"].contains(&cells[1]));
    sure.map(|cells| cells[2].trim_matches('`').to_owned()).collect()
}

/// The functions that the header of a page or of folded text names, in the words of `fg-collapse`.
fn of_facts(path: &str) -> Names {
    let back = run_program(env!("CARGO_BIN_EXE_fg-collapse"), &["-q", path], "").stdout;
    let changed = back.lines().filter_map(|line| line.strip_prefix("# changed: "));
    changed.map(|line| line.split_once(": \"").unwrap().1.trim_end_matches('"').to_owned()).collect()
}

/// The frames of a picture that are not grey. Those of self weights, as in the page, are another picture.
fn of_picture(own: &str, total: &str) -> Names {
    let sure = |svg: &str| -> Vec<String> {
        let titles =
            svg.split("<title>").skip(1).map(|rest| rest.split("</title>").next().unwrap().to_owned());
        let frames = titles.filter(|title| title.contains(" pp") && !title.contains("not significant"));
        frames
            .map(|title| title.split(" (").next().unwrap().to_owned())
            .filter(|name| name != "all")
            .collect()
    };
    sure(own).into_iter().chain(sure(total)).collect()
}

/// The functions that a line of text names.
fn of_line(line: &str, all: &Names) -> Names {
    let is_named = |name: &&String| {
        [": ", ", "].iter().any(|before| line.contains(&format!("{before}{name} +")))
            || [": ", ", "].iter().any(|before| line.contains(&format!("{before}{name} -")))
    };
    all.iter().filter(is_named).cloned().collect()
}

/// All outputs of one comparison, by fg-diff with `options`; `stacks` is what it writes for fg-render.
fn check(files: &Files, kind: &str, options: &[&str]) {
    let expected = of_json(options);
    assert!(expected.contains("f1") && expected.contains("f2"), "{kind}: {expected:?}");
    assert_eq!(of_table(options), expected, "{kind}: table");
    assert_eq!(of_markdown(options), expected, "{kind}: Markdown");
    let headline = run(&[options, &["--table"]].concat(), "").stdout.lines().next().unwrap().to_owned();
    let path = |name: &str| files.path().join(name).to_str().unwrap().to_owned();
    let stacks = files.put("diff.folded", run(&[options, &["-q"]].concat(), "").stdout);
    let render = |arguments: &[&str]| {
        let drawn = run_program(env!("CARGO_BIN_EXE_fg-render"), &[arguments, &["-q", &stacks]].concat(), "");
        assert_eq!(drawn.status, 0, "{kind}: {}", drawn.stderr);
        drawn.stdout
    };
    // What fg-diff draws itself, and what fg-render draws of its stacks.
    let page = path("diff.html");
    assert_eq!(run(&[options, &["-q", "-o", &page]].concat(), "").status, 0);
    assert_eq!(of_facts(&page), expected, "{kind}: page of fg-diff");
    let page = path("render.html");
    render(&["-o", &page]);
    assert_eq!(of_facts(&page), expected, "{kind}: page of fg-render");
    let svg = path("diff.svg");
    assert_eq!(run(&[options, &["-q", "-o", &svg]].concat(), "").status, 0);
    let (own, total) = (
        render(&["--format", "svg", "--self-change", "--min-width", "0"]),
        render(&["--format", "svg", "--min-width", "0"]),
    );
    let drawn = std::fs::read_to_string(svg).unwrap();
    assert_eq!(of_picture(&own, &drawn), expected, "{kind}: pictures");
    assert_eq!(of_picture(&own, &total), expected, "{kind}: pictures of fg-render");
    let brief = render(&["--format", "brief"]);
    let verdict = brief.lines().find_map(|line| line.strip_prefix("verdict: ")).unwrap_or_default();
    assert_eq!(verdict, headline, "{kind}: brief");
    assert_eq!(of_line(verdict, &expected), of_line(&headline, &expected));
    assert!(!of_line(verdict, &expected).is_empty(), "{kind}: {verdict}");
}

#[test]
fn one_run_a_side() {
    let files = Files::new();
    let (before, after) = (files.put("b", recording(0, false)), files.put("a", recording(9, true)));
    check(&files, "one run a side", &[&before, &after]);
}

#[test]
fn five_runs_a_side() {
    let files = Files::new();
    let side = |is_after: bool| -> Vec<String> {
        (0..5).map(|n| files.put(&format!("{is_after}{n}"), recording(n, is_after))).collect()
    };
    let (before, after) = (side(false), side(true));
    let strings = |flag: &'static str, of: &[String]| {
        std::iter::once(flag.to_owned()).chain(of.iter().cloned()).collect::<Vec<_>>()
    };
    let all = [strings("--before", &before), strings("--after", &after)].concat();
    let options: Vec<&str> = all.iter().map(String::as_str).collect();
    check(&files, "five runs a side", &options);
    check(&files, "other limits", &[&options[..], &["--alpha", "0.2", "--min-effect", "0"]].concat());
}

#[test]
fn recordings_that_say_when() {
    // Text of perf script has times: blocks of time tell what two columns do not.
    let files = Files::new();
    let text = |heavy: u64| -> String {
        let sample = |n: u64| {
            let function = if (n / 40).is_multiple_of(3) || n % 100 < heavy { "f1" } else { "f2" };
            format!(
                "app 7/7 {}.{:06}: 2000000 cpu-clock:\n\t 10 {function} (/bin/app)\n\t 30 main (/bin/app)\n\n",
                100 + n / 500,
                n % 500 * 2000
            )
        };
        (0..4000).map(sample).collect()
    };
    let (before, after) = (files.put("b.perf", text(20)), files.put("a.perf", text(60)));
    check(&files, "recordings with times", &[&before, &after]);
}
