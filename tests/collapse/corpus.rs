//! Every recording of the corpus beside the project, where it is there, against the totals that
//! its manifest took from the producers themselves.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use fg_tools::collapse::{Events, Options};

use super::fold;

/// The corpus, or `None` with a message.
fn corpus() -> Option<PathBuf> {
    let shared = std::env::var_os("FG_SHARED")
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared"), PathBuf::from);
    let corpus = shared.join("corpus");
    if corpus.join("MANIFEST.md").exists() {
        return Some(corpus);
    }
    eprintln!("skipped: no corpus at {}", corpus.display());
    None
}

/// The `totals:` of each file in the manifest, by `folder/file`.
fn totals(corpus: &Path) -> BTreeMap<String, String> {
    let manifest = fs::read_to_string(corpus.join("MANIFEST.md")).expect("a manifest");
    let (mut folder, mut file) = (String::new(), String::new());
    let mut totals = BTreeMap::new();
    for line in manifest.lines() {
        if let Some(name) = line.strip_prefix("## ") {
            folder = name.to_owned();
        } else if let Some(rest) = line.strip_prefix("- `") {
            file = rest.split('`').next().unwrap_or_default().to_owned();
        } else if let Some(json) = line.strip_prefix("  - totals: ") {
            totals.insert(format!("{folder}/{file}"), json.to_owned());
        }
    }
    totals
}

/// The whole number behind `"key": ` or `"key": [` in the manifest's JSON.
fn number(json: &str, key: &str) -> Option<u128> {
    let at = json.find(&format!("\"{key}\": "))? + key.len() + 4;
    let digits: String =
        json[at..].trim_start_matches('[').chars().take_while(char::is_ascii_digit).collect();
    digits.parse().ok()
}

#[test]
fn perf_script_per_event() {
    let Some(corpus) = corpus() else { return };
    /// perf was told not to print the period, or the event: what is left is the number of samples.
    const NO_PERIOD: [&str; 5] = [
        "fields-comm-tid-sym",
        "fields-ip-sym-only",
        "fields-srcline",
        "fields-sym-noip",
        "names-event-noperiod",
    ];
    const NO_EVENT: [&str; 2] = ["fields-comm-tid-sym", "fields-ip-sym-only"];
    let mut checked = 0;
    for (file, json) in
        totals(&corpus).iter().filter(|(file, _)| file.starts_with("perf/") && file.ends_with(".txt"))
    {
        let case = file.trim_start_matches("perf/").trim_end_matches(".txt");
        // {"event": {"samples": 1, "period_sum": 2}, …}
        for event in json.split("}, ").map(|part| part.trim_start_matches('{')) {
            let name = event.split('"').nth(1).expect("an event");
            let (samples, weight) =
                (number(event, "samples").expect("samples"), number(event, "period_sum").expect("a sum"));
            let events =
                if NO_EVENT.contains(&case) { Events::First } else { Events::Named(vec![name.into()]) };
            let expected = if NO_PERIOD.contains(&case) { samples } else { weight };
            let options = Options { events, ..Options::default() };
            let (_, total, report) =
                fold(&corpus.join(file), None, &options).unwrap_or_else(|e| panic!("{file}: {e}"));
            assert_eq!(total, expected.to_string(), "{file} {name}");
            assert_eq!(report.not_understood.count, 0, "{file}: {:?}", report.not_understood);
            let (_, total, _) = fold(&corpus.join(file), None, &Options { count: true, ..options })
                .expect("the same, counted");
            assert_eq!(total, samples.to_string(), "{file} {name}, counted");
            checked += 1;
        }
    }
    assert!(checked >= 40, "{checked} events");
}

#[test]
fn austin_text() {
    check(
        |file, json| {
            (file.starts_with("austin/") && file.ends_with(".txt")).then(|| number(json, "metric_sums"))?
        },
        17,
    );
}

#[test]
fn folded_text_of_bcc_py_spy_heaptrack_and_rbspy() {
    check(
        |file, json| {
            let folded = (file.starts_with("bcc/") && file.contains("folded")) || file.ends_with("raw.txt");
            let others = file.starts_with("heaptrack/folded") || file == "rbspy/rbspy.collapsed.out";
            (folded || others).then(|| number(json, "count_sum"))?
        },
        20,
    );
}

fn check(expected: impl Fn(&str, &str) -> Option<u128>, at_least: usize) {
    let Some(corpus) = corpus() else { return };
    let mut checked = 0;
    for (file, json) in totals(&corpus) {
        let Some(expected) = expected(&file, &json) else { continue };
        let (_, total, report) =
            fold(&corpus.join(&file), None, &Options::default()).unwrap_or_else(|e| panic!("{file}: {e}"));
        assert_eq!(total, expected.to_string(), "{file}");
        assert_eq!(report.not_understood.count, 0, "{file}: {:?}", report.not_understood);
        checked += 1;
    }
    assert!(checked >= at_least, "{checked} files");
}
