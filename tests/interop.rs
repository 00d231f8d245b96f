//! Other makers' programs read our folded text, header and all, as if there were no header.
//!
//! flamegraph.pl, difffolded.pl and speedscope are held against their rules for a line; inferno's
//! own functions read whole files.

#![allow(missing_docs)]

use std::collections::BTreeMap;
use std::time::{Duration, SystemTime};

use fg_tools::profile::header;
use fg_tools::{Facts, Profile, Weight};
use regex::bytes::Regex;

/// The rules of other readers: text that matches is taken for a stack and its weight.
const RULES: &[(&str, &str)] = &[
    // `my ($stack, $samples) = (/^(.*)\s+?(\d+(?:\.\d*)?)$/);`
    ("flamegraph.pl", r"^(.*)\s+?(\d+(?:\.\d*)?)$"),
    ("difffolded.pl", r"^(.*)\s+?(\d+(?:\.\d*)?)$"),
    // `/^(.*) (\d+)$/` on each line.
    ("speedscope", r"^(.*) (\d+)$"),
    // The last blank, then digits, perhaps a point and digits.
    ("inferno", r"^(.*) (\d+(?:\.\d*)?)$"),
];

/// Facts in which every text ends in a number.
fn awkward_facts() -> Facts {
    let mut facts = Facts::default();
    facts.unit = Some("of 8".into());
    facts.event = Some("cycles 2".into());
    facts.period = Some(Weight::new(1_002_004));
    facts.rate = Some(997);
    facts.samples = Some(1719);
    facts.set_command("sleep 10");
    facts.host = Some("node 7".into());
    facts.system = Some("Linux 6.1".into());
    facts.start = Some(SystemTime::UNIX_EPOCH + Duration::from_secs(1_795_000_000));
    facts.duration = Some(Duration::from_millis(8600));
    facts.cpu_time = Some(Duration::from_secs(2));
    facts.producer = Some("perf 6.1".into());
    facts.labels = vec!["time 1".into(), "2".into()];
    facts.warn("no symbols for 2 of 3");
    facts.warn("\"quoted\" 4");
    facts.comment("5");
    facts.comment("a;b 6.");
    facts.comment("tab\t7");
    facts.comment("-8");
    facts
}

fn headers() -> [String; 3] {
    let before = awkward_facts();
    let mut after = awkward_facts();
    after.set_command("other 11");
    after.period = Some(Weight::parse(b"0.5").unwrap());
    after.comment("12");
    let both = Facts::of_sides(before.clone(), after);
    let mut plain = Facts::default();
    plain.period = Some(Weight::new(7));
    [header::write(&before), header::write(&both), header::write(&plain)]
}

#[test]
fn no_header_line_is_a_stack_to_anybody() {
    for (reader, rule) in RULES {
        let rule = Regex::new(rule).unwrap();
        assert!(rule.is_match(b"main;parse 42"), "{reader}");
        // The line that began this: a period without its unit.
        assert!(rule.is_match(b"# period: 1002004"), "{reader}");
        for header in headers() {
            for line in header.lines() {
                assert!(!rule.is_match(line.as_bytes()), "{reader} takes {line:?} for a stack");
                assert!(line.starts_with("# "), "{line:?}");
            }
        }
    }
}

#[test]
fn awkward_facts_survive_a_round_trip() {
    let facts = awkward_facts();
    assert_eq!(header::read(header::write(&facts).as_bytes()).unwrap(), facts);
}

const BEFORE: &str = "main 2\nmain;parse 40\nmain;read it 8.5\n";
const AFTER: &str = "main;parse 44\nmain;write 3\n";

fn with_header(folded: &str) -> String {
    let mut profile = Profile::from_bytes(folded).unwrap();
    *profile.facts_mut() = awkward_facts();
    let mut text = Vec::new();
    profile.write_folded(&mut text).unwrap();
    let text = String::from_utf8(text).unwrap();
    assert!(text.ends_with(folded) && text.lines().count() > 18, "{text}");
    text
}

fn drawn_by_inferno(folded: &str) -> String {
    let mut options = inferno::flamegraph::Options::default();
    options.deterministic = true;
    let mut picture = Vec::new();
    inferno::flamegraph::from_reader(&mut options, folded.as_bytes(), &mut picture).unwrap();
    String::from_utf8(picture).unwrap()
}

#[test]
fn inferno_draws_the_same_picture_with_and_without_a_header() {
    let picture = drawn_by_inferno(BEFORE);
    assert!(picture.contains("all (50 samples, 100%)"), "{picture:.2000}");
    assert_eq!(drawn_by_inferno(&with_header(BEFORE)), picture);
}

fn compared_by_inferno(before: &str, after: &str) -> BTreeMap<String, String> {
    let mut lines = Vec::new();
    let options = inferno::differential::Options::default();
    inferno::differential::from_readers(options, before.as_bytes(), after.as_bytes(), &mut lines).unwrap();
    let lines = String::from_utf8(lines).unwrap();
    let split = |line: &str| {
        let mut fields = line.rsplitn(3, ' ');
        let (after, before) = (fields.next().unwrap(), fields.next().unwrap());
        (fields.next().unwrap().to_owned(), format!("{before} {after}"))
    };
    lines.lines().map(split).collect()
}

#[test]
fn inferno_compares_the_same_stacks_with_and_without_a_header() {
    let lines = compared_by_inferno(BEFORE, AFTER);
    assert_eq!(lines["main;parse"], "40 44");
    assert_eq!(compared_by_inferno(&with_header(BEFORE), &with_header(AFTER)), lines);
}

#[test]
fn inferno_draws_our_differential_text() {
    let mut folded = Vec::new();
    let options = fg_tools::differential::Options::default();
    let (before, after) = (with_header(BEFORE), with_header(AFTER));
    fg_tools::differential::from_readers(options, before.as_bytes(), after.as_bytes(), &mut folded).unwrap();
    let folded = String::from_utf8(folded).unwrap();
    assert!(folded.starts_with("# columns: before, after\n"), "{folded}");
    let stacks: String =
        folded.lines().filter(|line| !line.starts_with('#')).map(|l| format!("{l}\n")).collect();
    assert_eq!(drawn_by_inferno(&folded), drawn_by_inferno(&stacks));
}
