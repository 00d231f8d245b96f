//! The recordings of the corpus beside the project, where it is there: their totals, and what is
//! said when what was recorded is gone.

use std::fs;

use fg_tools::collapse::{CollapseOptions, ValueSelection};

use super::fold;
use super::recordings::corpus;

#[test]
fn totals_are_those_of_the_manifest() {
    let Some(corpus) = corpus() else { return };
    let manifest = fs::read_to_string(corpus.join("MANIFEST.md")).expect("a manifest");
    let mut file = None;
    let mut checked = 0;
    for line in manifest.lines() {
        if let Some(rest) = line.strip_prefix("- `") {
            file = rest.split('`').next().filter(|name| name.ends_with(".perf.data")).map(str::to_owned);
        }
        let Some((json, name)) = line.strip_prefix("  - totals: ").zip(file.clone()) else { continue };
        let path = corpus.join("perf").join(&name);
        if !path.exists() {
            continue;
        }
        // {"event": {"samples": 1, "period_sum": 2}, …}
        for event in json.split("}, ").map(|part| part.trim_start_matches('{')) {
            let part = |key: &str| {
                let at = event.find(&format!("\"{key}\": ")).expect("the manifest's shape") + key.len() + 4;
                event[at..].chars().take_while(char::is_ascii_digit).collect::<String>()
            };
            let named = event.split('"').nth(1).expect("an event");
            let options = CollapseOptions {
                values: ValueSelection::Named(vec![named.into()]),
                ..CollapseOptions::default()
            };
            let (_, report) = fold(&path, &options).unwrap_or_else(|e| panic!("{name}: {e}"));
            let total = super::total(&report, named);
            assert_eq!(total.samples.to_string(), part("samples"), "{name} {named}");
            assert_eq!(total.weight.to_string(), part("period_sum"), "{name} {named}");
            checked += 1;
        }
    }
    assert!(checked >= 5, "{checked} events");
}

/// The program is gone, so its frames are its file's name, as perf's text was made when it was
/// still there: the kernel's part and the number of frames are the same.
#[test]
fn stacks_are_as_deep_as_in_perf_s_text() {
    let Some(corpus) = corpus() else { return };
    for name in ["cpp-fp", "rust-fp"] {
        let depths = |text: &str| {
            let mut depths: Vec<(usize, u64)> = text
                .lines()
                .filter_map(|line| {
                    let (stack, weight) = line.rsplit_once(' ')?;
                    Some((stack.split(';').count(), weight.parse().ok()?))
                })
                .collect();
            depths.sort_unstable();
            depths
                .chunk_by(|a, b| a.0 == b.0)
                .map(|c| (c[0].0, c.iter().map(|d| d.1).sum()))
                .collect::<Vec<(_, u64)>>()
        };
        // Whatever this machine's libraries are called, they are not those.
        let root = tempfile::tempdir().unwrap();
        let options = CollapseOptions {
            symfs: Some(root.path().to_owned()),
            no_inline: true,
            ..CollapseOptions::default()
        };
        let (ours, report) = fold(&corpus.join(format!("perf/{name}.perf.data")), &options).unwrap();
        let (text, _) = fold(&corpus.join(format!("perf/{name}.txt")), &CollapseOptions::default()).unwrap();
        assert_eq!(depths(&ours), depths(&text), "{name}");
        let notes = report.notes.join("\n");
        assert!(
            notes.contains("was not found: name the folder where the recorded files are with --symfs"),
            "{notes}"
        );
    }
}
