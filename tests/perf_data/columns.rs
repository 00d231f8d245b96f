//! Whatever columns `perf script -F` is asked for, samples and stacks are the same.

use std::collections::BTreeMap;
use std::fs;
use std::io::Read;
use std::path::Path;
use std::process::{Command, Stdio};

use fg_tools::collapse::CollapseOptions;

use super::fold_bytes;
use super::installed::works;

/// The columns that name a thread, and those behind them.
const THREADS: [&str; 5] = ["", "comm", "tid", "comm,tid", "comm,pid,tid"];
const OTHERS: [&str; 8] =
    ["", "time", "event", "period", "time,event", "time,period", "period,event", "time,period,event"];
/// Columns that are printed behind all others, or below the frames.
const EXTRAS: [&str; 7] = ["dso", "symoff", "srcline", "srccode", "insn", "insnlen", "misc"];

/// The weights of stacks without their command.
fn weights(folded: &str) -> BTreeMap<String, u64> {
    let mut weights = BTreeMap::new();
    for line in folded.lines() {
        let (stack, weight) = line.rsplit_once(' ').expect("folded text");
        let frames = match stack.split_once(';') {
            Some(("stall" | "timer" | "[unnamed]", frames)) => frames,
            _ => stack,
        };
        *weights.entry(frames.to_owned()).or_default() += weight.parse::<u64>().expect("a number");
    }
    weights
}

#[test]
fn columns_do_not_change_what_was_sampled() {
    if !works("perf script") {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/perf_data/golden/stall.data.gz");
    let mut data = Vec::new();
    let file = fs::File::open(path).expect("a recording");
    flate2::read::GzDecoder::new(file).read_to_end(&mut data).expect("a recording");
    fs::write(folder.path().join("x.data"), data).expect("the folder can be written");
    let script = |columns: &str| {
        let mut perf = Command::new("perf");
        perf.current_dir(folder.path()).args(["script", "-i", "x.data", "-F", columns]);
        let output = perf.stdin(Stdio::null()).output().expect("perf starts");
        (output.status.success() && !output.stdout.is_empty()).then_some(output.stdout)
    };
    let read = |columns: &str| {
        let text = script(columns)?;
        let (folded, report) = fold_bytes(&text, &CollapseOptions::default()).unwrap_or_else(|error| {
            panic!("-F {columns}: {error}\n{}", String::from_utf8_lossy(&text[..200]))
        });
        assert_eq!(report.not_understood.count, 0, "-F {columns}: {:?}", report.not_understood);
        Some((weights(&folded), report.unit().unwrap_or_default().to_owned()))
    };
    let mut tried = 0;
    let extras = EXTRAS.iter().cycle();
    for ((threads, others), extra) in
        THREADS.iter().flat_map(|threads| OTHERS.map(|others| (threads, others))).zip(extras)
    {
        // Without numbers behind it, the kind of code could be part of the command.
        let extra = if *extra == "misc" && !(threads.contains("tid") || others.contains("time")) {
            ""
        } else {
            extra
        };
        for extra in ["", extra] {
            let frames = if extra == "dso" { "ip,sym,dso" } else { "ip,sym" };
            let expected = read(&format!("comm,tid,time,event,{frames}")).expect("perf prints these");
            let columns: Vec<&str> =
                [threads, others, frames, extra].into_iter().filter(|columns| !columns.is_empty()).collect();
            let columns = columns.join(",");
            let Some((found, unit)) = read(&columns) else { continue };
            tried += 1;
            let is_weighed = others.contains("period");
            let weight = if is_weighed { 4_000_000 } else { 1 };
            let expected: BTreeMap<String, u64> =
                expected.0.into_iter().map(|(stack, count)| (stack, count * weight)).collect();
            let other = found.iter().find(|(stack, weight)| expected.get(*stack) != Some(weight));
            assert!(found == expected, "-F {columns}: {} stacks, {other:?}", found.len());
            let is_named = others.contains("event");
            let expected = match (is_weighed, is_named) {
                (true, true) => "ns",
                (true, false) => "events",
                (false, _) => "samples",
            };
            assert_eq!(unit, expected, "-F {columns}");
        }
    }
    assert!(tried >= 40, "perf printed only {tried} of these columns");
}
