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

use fg_tools::collapse::Options;

use super::fold_bytes;
use super::skip::skip;

/// The folder of a copy of the repository.
const FOLDER: &str = "FG_FLAMEGRAPH";

/// The results that are not ours, by the beginning of their names and their option, and the reason.
const OTHERS: &[(&str, &[&str], &str)] = &[
    (
        "perf-cycles-instructions-01",
        &["addrs", "all", "jit", "kernel", "pid", "tid"],
        "we show the first event of the header, it shows the one whose sample comes first",
    ),
    (
        "perf-iperf-stacks-pidtid-01",
        &["all", "kernel"],
        "the vdso is code of the user, it is marked _[k] there",
    ),
];

/// The results whose names alone are not ours, and the reason.
const NAMES: &[(&str, &str)] = &[
    ("perf-js-stacks-01", "a regular expression is a name, and is kept whole"),
    ("perf-vertx-stacks-01", "names are kept whole, with the classes that perf has put behind them"),
    ("perf-rust-Yamakaky-dcpu", "names of Rust are demangled"),
    ("perf-java-faults-01", "Java's names are told by themselves, not by the command `java`"),
    ("perf-java-stacks-01", "Java's names are told by themselves, not by the command `java`"),
    ("perf-java-stacks-02", "Java's names are told by themselves, not by the command `java`"),
];

/// The options of a result by its name.
fn options(name: &str) -> Option<Options> {
    let none = Options { count: true, ..Options::default() };
    Some(match name {
        "pid" => Options { pid: true, ..none },
        "tid" => Options { tid: true, ..none },
        "kernel" => Options { kernel: true, ..none },
        "jit" => Options { jit: true, ..none },
        "all" => Options { kernel: true, jit: true, inline: true, ..none },
        "addrs" => Options { addrs: true, ..none },
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

/// A recording without its last sample, where no blank line ends that: `stackcollapse-perf.pl` leaves it out.
fn without_last(recording: &[u8]) -> &[u8] {
    let end = memchr::memmem::rfind(recording, b"\n\n").map_or(recording.len(), |at| at + 2);
    &recording[..end]
}

#[test]
fn the_results_of_flamegraph_are_ours() {
    let Some(folder) = std::env::var_os(FOLDER) else { return skip(FOLDER) };
    let folder = Path::new(&folder).join("test");
    let mut results: Vec<_> =
        folder.join("results").read_dir().expect("the folder has results").flatten().collect();
    results.sort_by_key(std::fs::DirEntry::file_name);
    let (mut equal, mut listed, mut unlike) = (0, 0, Vec::new());
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
        let expected = shape(&expected);
        let ours = [&bytes[..], without_last(&bytes)].map(|bytes| {
            fold_bytes(bytes, None, &options)
                .map(|(text, ..)| text)
                .unwrap_or_else(|error| panic!("{name}: {error}"))
        });
        let is_equal = ours.iter().any(|text| shape(text).0 == expected.0);
        let is_other = OTHERS.iter().any(|(start, names, _)| *start == recording && names.contains(&option));
        let is_renamed = NAMES.iter().any(|(start, _)| *start == recording)
            && ours.iter().any(|text| shape(text).1 == expected.1);
        match (is_equal, is_other || is_renamed) {
            (true, _) => equal += 1,
            (false, true) => listed += 1,
            (false, false) => unlike.push(name),
        }
    }
    assert!(unlike.is_empty(), "{} unlike ours: {unlike:#?}", unlike.len());
    println!("{equal} equal, {listed} on the list");
    assert!(equal > 0);
}
