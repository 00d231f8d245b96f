//! Our perf collapser against inferno's, on every perf fixture.
//!
//! They have to agree but for the differences listed here, one by one, each with its reason.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use fg_tools::collapse::clean_symbol::clean_symbol;
use fg_tools::collapse::{CollapseOptions, ValueSelection};
use inferno::collapse::Collapse;
use inferno::collapse::perf::Folder;

use super::fold;

/// Recordings that inferno 0.12.8 loses wholly or in part: why, and what it makes of them.
const LOST: &[(&str, &str, Lost)] = &[
    ("fields-comm-tid-sym", "frames without a module are no frames to it", Lost::All),
    ("fields-ip-sym-only", "without event lines it asserts", Lost::All),
    ("fields-sym-noip", "samples without frames are dropped", Lost::All),
    ("fields-plus-srcline-inline", "an inlined frame has no module then, and is dropped", Lost::Frames(41)),
    ("hide-callgraph", "a command padded on the left is no event line but in part", Lost::Total(296_593_184)),
    ("names-event-noperiod", "an event line without a time has no event", Lost::All),
    ("names-hard", "a command that starts with # is a comment to it", Lost::All),
    ("names-hard-pid", "a command that starts with # is a comment to it", Lost::All),
    ("names-task-events", "PERF_RECORD lines are samples without frames to it", Lost::All),
    ("rust-v0-dwarf", "it cuts a name within a character", Lost::All),
    ("sched", "the payload of a tracepoint is a frame to it", Lost::Total(2)),
];

enum Lost {
    /// Only this total weight is left.
    Total(u128),
    /// All samples are there, in fewer different stacks.
    Frames(usize),
    /// Nothing is left, or it panics.
    All,
}

/// Recordings whose weights inferno does not read, so that samples are compared: why.
const COUNTED: &[(&str, &str)] = &[
    ("fields-minus-time", "without a time it finds no period"),
    ("first-event-without-samples", "a period padded by several blanks is lost"),
    ("named-event", "a period padded by several blanks is lost"),
    ("names-fields-pid-tid", "a period padded by several blanks is lost"),
    ("names-header", "a period padded by several blanks is lost"),
    ("names-multi-event", "a period padded by several blanks is lost"),
];

/// Recordings of which inferno keeps another event, so that ours keeps it too: it takes the event of
/// the first sample, and not the first in the header.
const OTHER_EVENT: &[(&str, &str)] = &[("names-header", "page-faults")];

/// Rewrites a frame of ours as inferno prints it; `None` where inferno has no frame. The comments say
/// why the two differ.
fn as_inferno(frame: &str, is_command: bool) -> Option<String> {
    if is_command {
        // inferno takes the first word of digits for the thread.
        return Some(match frame {
            "123_456" => "123".into(),
            "perf_77_[001]" => "perf".into(),
            "x_42/43_y" => "x".into(),
            "plain_2" => "plain".into(),
            // inferno leaves `;` in a command, which splits the frame.
            "calc_(1):_x" => "calc_(1);_x".into(),
            "a:b:c" => "a;b;c".into(),
            "é:(x)_1" => "é;(x)_1".into(),
            other => other.into(),
        });
    }
    // inferno takes a symbol that starts with a parenthesis for the name of a process.
    if frame.starts_with('(') {
        return None;
    }
    // inferno takes any parentheses for arguments, also in the names of V8 and of the JVM's stubs.
    if ["RegExp:", "JS:", "StubRoutines ("].iter().any(|begin| frame.starts_with(begin)) {
        return frame.split('(').next().map(|name| name.trim_end().to_owned());
    }
    // inferno cuts at the first argument list, even if it is that of the enclosing function.
    let frame = scope(frame).unwrap_or(frame);
    // inferno takes the parentheses of a call operator for an argument list.
    Some(frame.strip_suffix("operator()").map_or(frame.to_owned(), |rest| format!("{rest}operator")))
}

/// `work` of `work(int)::{lambda()#1}::operator()`.
fn scope(frame: &str) -> Option<&str> {
    let mut depth = 0i32;
    for (at, byte) in frame.bytes().enumerate() {
        match byte {
            b'(' if depth == 0 && !frame[at..].starts_with("(anonymous") => {
                let is_scope = [")::", ") const::"].iter().any(|end| frame[at..].contains(end));
                return is_scope.then_some(&frame[..at]);
            }
            b'<' | b'(' | b'{' => depth += 1,
            b'>' | b')' | b'}' => depth -= 1,
            _ => {}
        }
    }
    None
}

/// Rewrites a frame of inferno's as we print it.
fn as_ours(frame: &str) -> String {
    // inferno leaves a blank before a cut argument list, and mangled names as they are.
    let frame = frame.trim_end();
    let mut tidy = Vec::new();
    if frame.starts_with("_R") || frame.starts_with("_Z") {
        clean_symbol(frame.as_bytes(), &mut tidy);
        return as_inferno(&String::from_utf8_lossy(&tidy), false).unwrap_or_default();
    }
    frame.to_owned()
}

/// Lines as a map, each stack rewritten by `rewrite`.
fn map(folded: &str, rewrite: impl Fn(&str) -> String) -> BTreeMap<String, u128> {
    let mut map = BTreeMap::new();
    for line in folded.lines() {
        let (stack, weight) = line.rsplit_once(' ').expect("a folded line");
        *map.entry(rewrite(stack)).or_default() += weight.parse::<u128>().expect("a whole number");
    }
    map
}

fn inferno(path: &Path) -> Option<String> {
    let input =
        fg_tools::input::Source::new(path).open().expect("a fixture opens").read_all().expect("and reads");
    let mut options = inferno::collapse::perf::Options::default();
    options.nthreads = 1;
    let run = || {
        let mut out = Vec::new();
        Folder::from(options).collapse(&input[..], &mut out).expect("inferno reads it");
        String::from_utf8_lossy(&out).into_owned()
    };
    catch_unwind(AssertUnwindSafe(run)).ok()
}

#[test]
fn agrees_with_inferno_except_where_listed() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/perf-script");
    let mut compared = 0;
    for entry in std::fs::read_dir(root).expect("fixtures") {
        let folder = entry.expect("an entry").path();
        let name = folder.file_name().expect("a folder").to_string_lossy().into_owned();
        let Some(path) = ["input.txt", "input.txt.gz"]
            .map(|file| folder.join(file))
            .into_iter()
            .find(|path| path.exists())
        else {
            continue; // The same input with other options.
        };
        let theirs = inferno(&path);
        if let Some((_, why, lost)) = LOST.iter().find(|(case, ..)| *case == name) {
            let theirs = theirs.map(|text| map(&text, str::to_owned));
            let total = theirs.as_ref().map(|stacks| stacks.values().sum::<u128>());
            match lost {
                Lost::Frames(stacks) => {
                    assert_eq!(theirs.map(|map| map.len()), Some(*stacks), "{name}: {why}")
                }
                Lost::All => assert_eq!(total.unwrap_or(0), 0, "{name}: no longer lost: {why}"),
                Lost::Total(expected) => assert_eq!(total, Some(*expected), "{name}: no longer lost: {why}"),
            }
            continue;
        }
        let theirs = theirs.unwrap_or_else(|| panic!("{name}: inferno panics, and it is not listed"));
        let count = COUNTED.iter().any(|(case, _)| *case == name);
        let other = OTHER_EVENT.iter().find(|(case, _)| *case == name);
        let values = other.map_or(ValueSelection::Default, |(_, event)| {
            ValueSelection::Named(vec![event.as_bytes().to_vec()])
        });
        let (ours, ..) = fold(&path, None, &CollapseOptions { count, values, ..CollapseOptions::default() })
            .unwrap_or_else(|e| panic!("{name}: {e}"));
        let ours = map(&ours, |stack| {
            let frames = stack.split(';').enumerate().filter_map(|(n, frame)| as_inferno(frame, n == 0));
            frames.collect::<Vec<_>>().join(";")
        });
        let theirs = map(&theirs, |stack| {
            stack.split(';').map(as_ours).filter(|frame| !frame.is_empty()).collect::<Vec<_>>().join(";")
        });
        let only = |a: &BTreeMap<String, u128>, b: &BTreeMap<String, u128>| {
            a.iter()
                .find(|(stack, weight)| b.get(*stack) != Some(weight))
                .map(|(stack, weight)| format!("{stack} {weight}"))
        };
        // inferno drops samples without any known frame.
        assert_eq!(
            (only(&ours, &theirs), only(&theirs, &ours)),
            (None, None),
            "{name}: only ours, only inferno's"
        );
        compared += 1;
    }
    assert!(compared >= 20, "{compared} recordings compared");
}
