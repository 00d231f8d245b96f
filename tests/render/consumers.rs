//! The programs and crates that others read our outputs with. Where a program does not
//! work the test says so and passes.

use std::process::Command;

use fxprof_processed_profile::{
    CategoryHandle, CpuDelta, Frame, FrameFlags, FrameInfo, Profile, ReferenceTimestamp, SamplingInterval,
    Timestamp,
};
use serde_json::Value;

use super::installed::works;
use super::{SMALL, run, run_in};

/// Names of every kind and recursion, in whole numbers.
const MIXED: &str = "main;rec;rec;leaf 225\nmain;rec;other;rec 400\nmain;std::vec<int, std::allocator<int> >::\
    push_back(int) 800\nmain;<a::B as c::D<E>>::f::{{closure}} 77\nt 1;vfs_read_[k];copy_[k] 6400\nt 1;漢字 3\n";

#[test]
fn go_tool_pprof_has_the_totals_of_top() {
    if !works("go") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let done = run_in(folder.path(), &["-o", "a.pb.gz", "-o", "a.tsv", "--limit", "0"], MIXED);
    assert_eq!((done.status, done.stderr.as_str()), (0, ""));
    let arguments = ["tool", "pprof", "-top", "-nodecount=100000", "-nodefraction=0", "a.pb.gz"];
    let top = Command::new("go").args(arguments).current_dir(folder.path()).output().unwrap();
    let top = String::from_utf8(top.stdout).unwrap();
    // The text does not say what its numbers count.
    assert!(top.contains("\nType: weight\n"), "{top}");
    assert!(top.contains("7905 total"), "{top}");
    let mut theirs: Vec<(String, String, String)> = top
        .lines()
        .skip_while(|line| !line.trim_start().starts_with("flat "))
        .skip(1)
        .map(|line| {
            let words: Vec<&str> = line.split_whitespace().collect();
            let name = words[5..].join(" ");
            (name, words[0].to_owned(), words[3].to_owned())
        })
        .collect();
    let tsv = std::fs::read_to_string(folder.path().join("a.tsv")).unwrap();
    let mut ours: Vec<(String, String, String)> = tsv
        .lines()
        .skip(1)
        .map(|line| {
            let cells: Vec<&str> = line.split('\t').collect();
            (cells[0].to_owned(), cells[1].to_owned(), cells[3].to_owned())
        })
        .collect();
    theirs.sort();
    ours.sort();
    assert_eq!(theirs, ours);
}

#[test]
fn graphviz_draws_the_graph() {
    if !works("dot") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let hostile = "main;\"quoted\\\" \\N\\ <b>;{|}\\ 5\nmain;漢字;\u{202e}x 3\n";
    run_in(folder.path(), &["-o", "a.dot", "--min-percent", "0", "--title", "a \"title\"\\"], hostile);
    let drawn = Command::new("dot").args(["-Tsvg", "a.dot"]).current_dir(folder.path()).output().unwrap();
    assert!(drawn.status.success(), "{}", String::from_utf8_lossy(&drawn.stderr));
    let svg = String::from_utf8(drawn.stdout).unwrap();
    for text in ["main", "&quot;quoted\\&quot; \\N\\ &lt;b&gt;", "{|}\\", "漢字"] {
        assert!(svg.contains(text), "no {text} in {svg}");
    }
    assert_eq!(svg.matches("class=\"node\"").count(), 5);
    assert_eq!(svg.matches("class=\"edge\"").count(), 4);
}

/// The small profile as the crate writes it that samply uses.
fn theirs() -> Value {
    let start = ReferenceTimestamp::from_millis_since_unix_epoch(0.0);
    let mut profile = Profile::new("all", start, SamplingInterval::from_millis(1));
    profile.set_symbolicated(true);
    let begin = Timestamp::from_millis_since_reference(0.0);
    let process = profile.add_process("all", 1, begin);
    let thread = profile.add_thread(process, 1, begin, true);
    for (n, line) in SMALL.lines().enumerate() {
        let (stack, weight) = line.rsplit_once(' ').unwrap();
        let frames: Vec<_> = stack.split(';').map(|name| profile.intern_string(name)).collect();
        let frames = frames.into_iter().map(|name| FrameInfo {
            frame: Frame::Label(name),
            category_pair: CategoryHandle::OTHER.into(),
            flags: FrameFlags::empty(),
        });
        let stack = profile.intern_stack_frames(thread, frames);
        let time = Timestamp::from_millis_since_reference(n as f64);
        profile.add_sample(thread, time, stack, CpuDelta::ZERO, weight.parse().unwrap());
    }
    serde_json::to_value(&profile).unwrap()
}

/// Every key that the crate writes, with the type of its value, is in ours, and the tables agree.
fn compare(path: &str, theirs: &Value, ours: &Value) {
    // Ours has no processor times and no end times, which folded stacks do not hold.
    let left_out = ["meta.sampleUnits", "threads[].samples.threadCPUDelta"];
    let unknown = ["threads[].unregisterTime", "threads[].processShutdownTime", "threads[].tid"];
    match (theirs, ours) {
        (Value::Object(theirs), Value::Object(ours)) => {
            for (key, value) in theirs {
                let path = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
                match ours.get(key) {
                    Some(ours) => compare(&path, value, ours),
                    None => assert!(left_out.contains(&path.as_str()), "{path} is missing"),
                }
            }
        }
        // Ours has categories for the kinds of code as well.
        (Value::Array(theirs), Value::Array(ours)) if path == "meta.categories" => {
            compare("meta.categories[]", &theirs[0], &ours[0]);
        }
        (Value::Array(theirs), Value::Array(ours)) => {
            assert_eq!(theirs.len(), ours.len(), "{path}: {theirs:?} {ours:?}");
            for (theirs, ours) in theirs.iter().zip(ours) {
                compare(&format!("{path}[]"), theirs, ours);
            }
        }
        (Value::Number(theirs), Value::Number(ours)) => assert_eq!(theirs.as_f64(), ours.as_f64(), "{path}"),
        _ if unknown.contains(&path) => {}
        (theirs, ours) => assert_eq!(theirs, ours, "{path}"),
    }
}

#[test]
fn firefox_s_own_crate_writes_the_same() {
    let ours: Value = serde_json::from_slice(&run(&["--format", "firefox"], SMALL).stdout).unwrap();
    compare("", &theirs(), &ours);
}
