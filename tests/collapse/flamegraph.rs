//! The results that FlameGraph keeps of its own `stackcollapse-perf.pl`, in the folder `test` of its repository.
//!
//! Its files are under another licence than ours: `FG_FLAMEGRAPH` names a copy of the repository, and without one the
//! test is skipped.
//!
//! ```text
//! FG_FLAMEGRAPH=$HOME/FlameGraph cargo test --all-features --test collapse flamegraph
//! ```

use std::collections::BTreeMap;
use std::path::Path;

use fg_tools::collapse::clean_symbol::clean_symbol;
use fg_tools::collapse::{CollapseOptions, ValueSelection};

use super::fold_bytes;
use super::skip::skip;

/// The folder of a copy of the repository.
const FOLDER: &str = "FG_FLAMEGRAPH";

/// The recordings whose results are not ours until this event is chosen: we show the first event of the header,
/// `stackcollapse-perf.pl` the one whose sample comes first.
const EVENTS: &[(&str, &str)] = &[("perf-cycles-instructions-01", "instructions")];

/// The results in which some names are not ours, by their recordings and options, and the reason.
const NAMES: &[(&str, &[&str], &str)] = &[
    (
        "perf-iperf-stacks-pidtid-01",
        &["all", "kernel"],
        "the vdso is code of the user, it is marked _[k] there",
    ),
    (
        "perf-js-stacks-01",
        &["addrs", "all", "jit", "kernel", "pid", "tid"],
        "a regular expression is a name, and is kept whole",
    ),
    (
        "perf-vertx-stacks-01",
        &["addrs", "all", "jit", "kernel", "pid", "tid"],
        "an address without a symbol is named for its module, there it is a blank",
    ),
];

/// The most results that may differ.
const MOST: usize = 14;

/// The options of a result by its name.
fn options(name: &str) -> Option<CollapseOptions> {
    let none = CollapseOptions { count: true, ..CollapseOptions::default() };
    Some(match name {
        "pid" => CollapseOptions { pid: true, ..none },
        "tid" => CollapseOptions { tid: true, ..none },
        "kernel" => CollapseOptions { kernel: true, ..none },
        "jit" => CollapseOptions { jit: true, ..none },
        "all" => CollapseOptions { kernel: true, jit: true, inline: true, ..none },
        "addrs" => CollapseOptions { addrs: true, ..none },
        _ => return None,
    })
}

/// The lines in order, and how many there are of each depth and weight.
fn shape(text: &str) -> (Vec<&str>, BTreeMap<usize, u64>) {
    let mut lines: Vec<&str> = text.lines().collect();
    lines.sort_unstable();
    let mut depths = BTreeMap::new();
    for line in &lines {
        let (stack, weight) = line.rsplit_once(' ').expect("a line has a weight");
        *depths.entry(stack.split(';').count()).or_default() +=
            weight.parse::<u64>().expect("it is a number");
    }
    (lines, depths)
}

/// The lines with names as we write them, demangled and without the marker of Java's classes, and added up where two
/// become one.
fn with_our_names(text: &str) -> String {
    let mut stacks: BTreeMap<Vec<u8>, u64> = BTreeMap::new();
    for line in text.lines() {
        let (stack, weight) = line.rsplit_once(' ').expect("a line has a weight");
        let mut ours = Vec::new();
        for frame in stack.split(';') {
            if !ours.is_empty() {
                ours.push(b';');
            }
            clean_symbol(frame.as_bytes(), &mut ours);
        }
        *stacks.entry(ours).or_default() += weight.parse::<u64>().expect("it is a number");
    }
    stacks.iter().map(|(stack, weight)| format!("{} {weight}\n", String::from_utf8_lossy(stack))).collect()
}

/// A recording without its last sample, where no blank line ends that: `stackcollapse-perf.pl` leaves it out.
fn without_last(recording: &[u8]) -> &[u8] {
    let end = memchr::memmem::rfind(recording, b"\n\n").map_or(recording.len(), |at| at + 2);
    &recording[..end]
}

#[test]
fn the_results_of_flamegraph_are_ours() {
    let Some(folder) = std::env::var_os(FOLDER) else {
        return skip(format!(
            "{FOLDER} names no copy of the repository brendangregg/FlameGraph, whose results are compared: \
             git clone https://github.com/brendangregg/FlameGraph, and set it to that folder"
        ));
    };
    let folder = Path::new(&folder).join("test");
    let mut results: Vec<_> =
        folder.join("results").read_dir().expect("the folder has results").flatten().collect();
    results.sort_by_key(std::fs::DirEntry::file_name);
    let (mut equal, mut with_names, mut with_event, mut listed, mut unlike) = (0, 0, 0, 0, Vec::new());
    for result in results {
        let name = result.file_name().into_string().expect("names are text");
        let Some((recording, option)) =
            name.strip_suffix(".txt").and_then(|name| name.split_once("-collapsed-"))
        else {
            continue;
        };
        let Some(options) = options(option) else { continue };
        let Ok(bytes) = std::fs::read(folder.join(format!("{recording}.txt"))) else { continue };
        let expected = std::fs::read_to_string(result.path()).expect("results are text");
        let renamed = with_our_names(&expected);
        let read = |options: &CollapseOptions| {
            [&bytes[..], without_last(&bytes)].map(|bytes| {
                let read = fold_bytes(bytes, None, options);
                read.map(|(text, ..)| text).unwrap_or_else(|error| panic!("{name}: {error}"))
            })
        };
        let has = |ours: &[String; 2], text: &str| ours.iter().any(|ours| shape(ours).0 == shape(text).0);
        let ours = read(&options);
        let is_of_another_event = EVENTS.iter().filter(|(start, _)| *start == recording).any(|(_, event)| {
            let values = ValueSelection::Named(vec![event.as_bytes().to_vec()]);
            has(&read(&CollapseOptions { values, ..options.clone() }), &expected)
        });
        let is_listed = NAMES.iter().any(|(start, names, _)| *start == recording && names.contains(&option))
            && ours.iter().any(|ours| shape(ours).1 == shape(&expected).1);
        match () {
            () if has(&ours, &expected) => equal += 1,
            () if has(&ours, &renamed) => with_names += 1,
            () if is_of_another_event => with_event += 1,
            () if is_listed => listed += 1,
            () => unlike.push(name),
        }
    }
    println!(
        "{equal} equal, {with_names} with names as we write them, {with_event} with the event that is named, {listed} on the list"
    );
    assert!(unlike.is_empty(), "{} unlike ours: {unlike:#?}", unlike.len());
    assert!(equal > 0 && listed <= MOST);
}
