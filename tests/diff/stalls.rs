//! A program whose requests wait for 80 ms of each second, while a timer rebuilds an index under the lock
//! that they need: recorded by several profilers, and found by time or by labels.

use std::path::{Path, PathBuf};
use std::process::Command;

/// The recordings that have times.
const TIMED: &[&str] = &[
    "tests/perf_data/golden/stall.data.gz",
    "tests/fixtures/jfr/stall/input.jfr.gz",
    "tests/fixtures/austin-mojo/stall/input.mojo.gz",
    "tests/fixtures/chrome-trace/stall/input.json.gz",
];

fn project() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).to_owned()
}

/// The output of a tool; perf's recording has its program below `golden/root`.
fn run(tool: &str, arguments: &[&str]) -> String {
    let symfs = project().join("tests/perf_data/golden/root");
    let mut command = Command::new(tool);
    let out = command.arg("--symfs").arg(symfs).args(arguments).current_dir(project()).output().unwrap();
    assert!(out.status.success(), "{tool} {arguments:?}: {}", String::from_utf8_lossy(&out.stderr));
    String::from_utf8(out.stdout).unwrap()
}

/// The weight of the stacks in folded text, and of those that rebuild the index.
fn weights(folded: &str) -> (f64, f64) {
    let lines = folded.lines().filter(|line| !line.starts_with("# "));
    lines.fold((0.0, 0.0), |(all, found), line| {
        let (stack, weight) = line.rsplit_once(' ').unwrap();
        let weight: f64 = weight.parse().unwrap();
        let is_it = stack.contains(";rebuild_index")
            || stack.contains(".rebuildIndex;")
            || stack.contains(";rebuildIndex");
        (all + weight, if is_it { found + weight } else { found })
    })
}

#[test]
fn a_stall_is_found_by_its_time() {
    for recording in TIMED {
        let (all, found) = weights(&run(env!("CARGO_BIN_EXE_fg-collapse"), &["-q", recording]));
        let part = run(env!("CARGO_BIN_EXE_fg-filter"), &["--time", "0.48s..0.62s", recording]);
        let (within, found_within) = weights(&part);
        assert!(found > 0.0 && found_within / within > 3.0 * found / all, "{recording}: {part}");
    }
}

#[test]
fn a_stall_comes_back_each_second() {
    for recording in TIMED {
        let timed = run(env!("CARGO_BIN_EXE_fg-collapse"), &["-q", "--label", "time=20ms", recording]);
        let mut seconds = std::collections::BTreeSet::new();
        let (mut inside, mut all) = (0.0, 0.0);
        for line in timed.lines().filter(|line| line.starts_with("time=")) {
            let time: f64 = line["time=".len()..line.find("s;").unwrap()].parse().unwrap();
            let (_, found) = weights(line);
            all += found;
            if found > 0.0 {
                seconds.insert(time.floor() as u64);
            }
            if (0.44..0.66).contains(&time.fract()) {
                inside += found;
            }
        }
        assert_eq!(seconds.into_iter().collect::<Vec<_>>(), [0, 1, 2, 3, 4], "{recording}");
        assert!(inside > 0.9 * all, "{recording}: {inside} of {all}");
    }
}

#[test]
fn a_stall_is_what_differs_between_two_ranges() {
    for recording in TIMED {
        let ranges = ["--before-time", "0.1s..0.45s", "--after-time", "0.48s..0.62s"];
        let table = run(
            env!("CARGO_BIN_EXE_fg-diff"),
            &[&ranges[..], &["-n", "-q", "--format=tsv", recording]].concat(),
        );
        let mut lines = table.lines().map(|line| line.split('\t').collect::<Vec<_>>());
        let head = lines.next().unwrap();
        let column = |name: &str| head.iter().position(|head| *head == name).unwrap();
        let row =
            lines.find(|row| row[0].contains("rebuild")).unwrap_or_else(|| panic!("{recording}: {table}"));
        let cell = |name: &str| row[column(name)].parse::<f64>().unwrap();
        assert!(cell("total_before") == 0.0 && cell("total_after") > 0.0, "{recording}: {table}");
    }
}

/// Go's profiles have no times: there it is a label that tells.
#[test]
fn a_stall_is_found_by_its_label() {
    let recording = "tests/fixtures/pprof/stall/input.pb.gz";
    let part = run(env!("CARGO_BIN_EXE_fg-filter"), &["--label", "task=rebuild", recording]);
    let (all, found) = weights(&part);
    assert!(all == 400_000_000.0 && found == all, "{part}");
    let table = run(env!("CARGO_BIN_EXE_fg-render"), &["--format", "tsv", "--by", "task", recording]);
    for row in ["request\t1960000000\t", "rebuild\t400000000\t", "[no task]\t20000000\t"] {
        assert!(table.lines().any(|line| line.starts_with(row)), "{table}");
    }
}
