//! The page: any profile that goes in comes out again. Its looks and its work are tested in a
//! browser.

use std::process::Command;

use fg_tools::Weight;
use fg_tools::profile::units;
use proptest::prelude::*;

use super::{run, run_in};

/// The folded text that `fg-collapse` reads out of the page of an input.
fn there_and_back(options: &[&str], input: &[u8]) -> Vec<u8> {
    let folder = tempfile::tempdir().unwrap();
    let page = folder.path().join("page.html");
    let arguments = [options, &["-o", "page.html"]].concat();
    let run = run_in(folder.path(), &arguments, input);
    assert_eq!((run.status, run.stderr.as_str()), (0, ""));
    let back = Command::new(env!("CARGO_BIN_EXE_fg-collapse")).arg(&page).output().unwrap();
    assert!(back.status.success(), "{}", String::from_utf8_lossy(&back.stderr));
    back.stdout
}

#[test]
fn profiles_come_back_exactly() {
    for text in [
        "a 1\n",
        "a 1\na;b 2\na;b;c 0\na;bb 340282366920938463463374607431768\nd 5\n",
        "a 0.5\na;b 2\na;c 0.125\n",
        "# verdict: no change\na 1 2\na;b 0 3\na;c 4 0\nd;e 0.5 7\n",
        ";;a 3\n",
        "</script>;<img onerror=x> 1\n",
        "main_[k];x y 12\n",
    ] {
        assert_eq!(String::from_utf8(there_and_back(&[], text.as_bytes())).unwrap(), text);
    }
    let invalid = b"\xff\xfe;\x00\x1b[31m 3\n";
    assert_eq!(there_and_back(&["--input-format", "folded"], invalid), invalid);
    let long = [b"a;".to_vec(), vec![b'x'; 1 << 20], b";y 1\n".to_vec()].concat();
    assert!(there_and_back(&[], &long) == long, "a name of a megabyte");
}

#[test]
fn unsorted_input_is_sorted_and_options_count() {
    let text = b"b;c 1\na 2\nb 3\na 4\n";
    assert_eq!(there_and_back(&[], text), b"a 6\nb 3\nb;c 1\n");
    assert_eq!(there_and_back(&["--factor", "0.5"], text), b"a 3\nb 1.5\nb;c 0.5\n");
    assert_eq!(there_and_back(&["--reverse"], text), b"a 6\nb 3\nc;b 1\n");
}

#[test]
fn a_deep_stack_and_a_wide_root_come_back() {
    let deep = format!("{} 1\n", vec!["f"; 100_000].join(";"));
    assert!(there_and_back(&[], deep.as_bytes()) == deep.as_bytes());
    let wide: String = (0..5000).map(|n| format!("root;f{n:05} {}\n", n + 1)).collect();
    assert!(there_and_back(&[], wide.as_bytes()) == wide.as_bytes());
}

#[test]
fn the_same_input_gives_the_same_page() {
    let text = "a;b 1\na;c 2\n";
    assert_eq!(run(&["--format", "html"], text).stdout, run(&["--format", "html"], text).stdout);
}

#[test]
fn a_page_without_stacks_is_an_error_and_still_a_page() {
    let run = run(&["--format", "html"], "");
    assert_eq!(run.status, 2);
    assert!(run.stdout.starts_with(b"<!doctype html>"));
}

#[test]
fn a_damaged_page_is_named_as_one() {
    let page = run(&["--format", "html"], "main;a 1\nmain;b 2\n").stdout;
    let text = String::from_utf8(page).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let at = |section: &str| text.find(&format!("id=\"data-{section}\">")).unwrap() + section.len() + 11;
    for section in [
        "about",
        "rises",
        "leaves",
        "callers",
        "values",
        "leaf-weights",
        "caller-weights",
        "ranks",
        "shared",
        "lengths",
        "texts",
    ] {
        let start = at(section);
        let mut variants = vec![format!("{}!{}", &text[..start], &text[start + 1..])];
        let end = start + text[start..].find('<').unwrap();
        variants.push(format!("{}{}", &text[..start], &text[end..]));
        variants.push(text[..start + 1].to_owned());
        variants.push(text.replace(&format!("data-{section}"), "data-other"));
        for (n, damaged) in variants.iter().enumerate() {
            let path = folder.path().join("damaged.html");
            std::fs::write(&path, damaged).unwrap();
            let run = Command::new(env!("CARGO_BIN_EXE_fg-collapse")).arg(&path).output().unwrap();
            let message = String::from_utf8(run.stderr).unwrap();
            assert_eq!(run.status.code(), Some(2), "{section} {n}: {message}");
            assert!(
                message.contains("damaged.html: expected the data of a page"),
                "{section} {n}: {message}"
            );
        }
    }
}

#[test]
fn facts_travel_through_the_page() {
    let text = "# unit: ns\n# event: cpu-clock:u\n# period: 10 ns\n# command: \"./app -n 3\"\na;b 20\n";
    assert_eq!(String::from_utf8(there_and_back(&[], text.as_bytes())).unwrap(), text);
    let sides =
        "# columns: before, after\n# unit: ns\n# before.command: ./old\n# after.command: ./new\na;b 20 30\n";
    // A page of two columns states what it says of them.
    let back = String::from_utf8(there_and_back(&[], sides.as_bytes())).unwrap();
    let (verdict, rest): (Vec<&str>, Vec<&str>) =
        back.split_inclusive('\n').partition(|line| line.starts_with("# verdict: "));
    assert!(verdict.concat().starts_with("# verdict: no change; whole 20 → 30 ns"), "{verdict:?}");
    assert_eq!(rest.concat(), sides);
}

/// The examples of the library's scaler, which the test of the page's scaler reads.
#[test]
fn the_page_has_the_examples_of_units() {
    let mut examples: Vec<serde_json::Value> = Vec::new();
    for (weight, unit, text) in units::EXAMPLES {
        examples.push(serde_json::json!({ "weight": weight, "unit": unit, "text": text }));
    }
    // Halves are rounded to even, samples are told where they are whole.
    for (weight, unit, period) in [
        ("1125", "ns", None),
        ("1135", "ns", None),
        ("2500500", "ns", None),
        ("10250", "bytes", None),
        ("324000000", "ns", Some("2000000")),
        ("324000001", "ns", Some("2000000")),
        ("2000000", "ns", Some("2000000")),
        ("0", "ns", Some("2000000")),
        ("2.5", "s", Some("0.25")),
        ("524288", "bytes", Some("524288")),
        ("9", "samples", Some("1")),
        ("6", "threads", Some("1")),
    ] {
        let parse = |text: &str| Weight::parse(text.as_bytes()).unwrap();
        let text = units::amount_with_samples(parse(weight), Some(unit), period.map(parse));
        let mut example = serde_json::json!({ "weight": weight, "unit": unit, "text": text });
        if let Some(period) = period {
            example["period"] = period.into();
        }
        examples.push(example);
    }
    let lines: Vec<String> = examples.iter().map(ToString::to_string).collect();
    let written = format!("[\n{}\n]\n", lines.join(",\n"));
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/units.json");
    if std::env::var_os("FG_BLESS").is_some() {
        std::fs::write(path, &written).unwrap();
    }
    let known = std::fs::read_to_string(path).unwrap_or_default();
    assert_eq!(known, written, "FG_BLESS=1 writes the file anew");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn any_profile_comes_back(
        lines in proptest::collection::btree_map(
            // A stack's last frame has a name.
            proptest::collection::vec(proptest::sample::select(vec!["a", "b", "c c", "d::e", ""]), 0..6)
                .prop_flat_map(|stack| {
                    proptest::sample::select(vec!["a", "b", "c c"])
                        .prop_map(move |leaf| [stack.clone(), vec![leaf]].concat())
                }),
            (0u64..300, 0u32..4),
            1..40,
        ),
    ) {
        let text: String = lines.iter().map(|(stack, (whole, quarters))| {
            let fraction = ["", ".25", ".5", ".75"][*quarters as usize];
            format!("{} {}{fraction}\n", stack.join(";"), whole + 1)
        }).collect();
        // A few functions without callers could be any text.
        let folded = ["--input-format", "folded"];
        prop_assert_eq!(String::from_utf8(there_and_back(&folded, text.as_bytes())).unwrap(), text);
    }
}

/// A recording among the fixtures.
fn fixture(name: &str) -> std::path::PathBuf {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(name);
    let is_input = |path: &std::path::Path| {
        path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("input"))
    };
    let mut files = std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path());
    files.find(|path| is_input(path)).unwrap_or_else(|| panic!("no input in {}", folder.display()))
}

/// The stacks that fg-collapse reads of an input.
fn stacks(options: &[&str], input: &[u8]) -> Vec<u8> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_fg-collapse"));
    let output = super::feed(command.args(options).args(["--no-header", "-"]), input);
    assert!(output.status.success(), "{options:?}: {}", String::from_utf8_lossy(&output.stderr));
    output.stdout
}

#[test]
fn a_page_holds_every_value_of_a_recording() {
    let heap = std::fs::read(fixture("pprof/heap")).unwrap();
    // A pipe can be read once only.
    let page = run(&["--format", "html"], &heap);
    assert_eq!((page.status, page.stderr.as_str()), (0, ""));
    let values = ["alloc_objects", "alloc_space", "inuse_objects", "inuse_space"];
    for value in values {
        let wanted = stacks(&["--value", value], &heap);
        assert!(!wanted.is_empty());
        assert_eq!(stacks(&["--value", value], &page.stdout), wanted, "{value}");
    }
    assert_eq!(stacks(&[], &page.stdout), stacks(&[], &heap));
    assert_eq!(stacks(&["--value=all"], &page.stdout), stacks(&["--value=all"], &heap));
}

#[test]
fn other_outputs_of_a_run_do_not_change_with_the_values_of_a_page() {
    let folder = tempfile::tempdir().unwrap();
    let heap = std::fs::read(fixture("pprof/heap")).unwrap();
    let both = run_in(folder.path(), &["-o", "a.html", "-o", "a.json", "-o", "a.top"], &heap);
    assert_eq!((both.status, both.stderr.as_str()), (0, ""));
    for (name, format) in [("a.json", "json"), ("a.top", "top")] {
        let alone = run(&["--format", format], &heap).stdout;
        assert_eq!(std::fs::read(folder.path().join(name)).unwrap(), alone, "{name}");
    }
}

#[test]
fn a_value_that_was_chosen_is_alone() {
    let heap = std::fs::read(fixture("pprof/heap")).unwrap();
    let has_others = |options: &[&str]| {
        let page = run(&[&["--format", "html"], options].concat(), &heap);
        assert_eq!((page.status, page.stderr.as_str()), (0, ""), "{options:?}");
        String::from_utf8(page.stdout).unwrap().contains("data-1-values")
    };
    assert!(has_others(&[]));
    for options in
        [&["--value", "alloc_space"][..], &["--value=all"], &["--factor", "2"], &["--countname", "x"]]
    {
        assert!(!has_others(options), "{options:?}");
    }
}
