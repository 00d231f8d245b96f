//! A recording that ends early is never taken for a whole one in silence: what is left of it is refused,
//! or the user is told, unless nothing in it can tell. Every exception is listed with its reason.

use fg_tools::collapse::registry;
use rayon::prelude::*;

use super::fixtures::{Case, bytes, some_cases};
use super::shape::{Reading, read};
use super::thorough::thorough;

/// The most bytes that are read of all the cuts of one recording.
fn most_bytes() -> usize {
    thorough(100_000, 30_000)
}

/// The most cuts within lines, and the most behind lines.
fn most_cuts() -> usize {
    thorough(50, 15)
}

/// Returns true if the bytes that are left end where one more record could have followed.
type Boundary = fn(&[u8]) -> bool;

/// Formats that are records one behind the other, of which no one says how many there are: the end of a
/// record, and the reason.
const UNKNOWABLE: &[(&str, Boundary, &str)] = &[
    ("bcc", |left| blank(left) || count(left), "a stack ends with its count"),
    ("bcc-memleak", line, "any number of frames is a stack, any number of stacks a printout"),
    ("bcc-stackcount", |left| count(left) || blank(left), "a stack ends with its count"),
    ("bcc-wakeup", |left| count(left) || blank(left), "a stack ends with its time"),
    ("bpftrace", value, "an entry ends with its value; nothing tells how many texts a program prints"),
    ("callgrind", line, "writers other than valgrind state no total; its blocks have no end"),
    (
        "chrome-trace",
        |left| left.starts_with(b"[") && line(left),
        "an array of events need not be closed: their writers may be stopped at any time",
    ),
    ("dtrace", count, "inferno's reader; a stack ends with its count"),
    ("dtrace-samples", line, "the last stack goes on to the end of the text"),
    ("eflame", line, "each line is a stack"),
    ("eu-stack", line, "the last stack goes on to the end of the text"),
    ("faulthandler", line, "the last stack goes on to the end of the text"),
    ("folded", line, "any number of lines is a profile"),
    ("gdb", line, "the last stack goes on to the end of the text"),
    ("go-text", blank, "a record ends with a blank line; most kinds state no total"),
    ("goroutines", line, "the last stack goes on to the end of the text"),
    ("heaptrack", line, "a recording as heaptrack makes it has no end of its own: the program may still run"),
    ("importtime", line, "each module is told of when it is there; the program may import more"),
    ("instruments", line, "any number of lines is a copy"),
    ("java-exceptions", line, "the last stack goes on to the end of the text"),
    ("javacore", line, "the last stack goes on; what stands behind the stacks is not read"),
    ("jemalloc", after_mappings, "what is missing is not needed"),
    ("jfr-text", |left| blank(left) || left.ends_with(b"\n}\n"), "an event ends with its bracket"),
    ("jstack", line, "the last stack goes on to the end of the text; a dump to a file states no number"),
    ("perf-sched", |left| blank(left) || !left.ends_with(b")\n"), "a switch without a stack is one, too"),
    (
        "perf-script",
        |left| blank(left) || !left.contains(&b'\t') || note(left) || root(left),
        "a sample ends with a blank line or the function that another ended with, without stacks with its line; \
         notes stand between samples",
    ),
    ("perfetto", any, "a trace is any number of messages"),
    ("phpspy", line, "the last stack goes on to the end of the text"),
    ("pmcstat", line, "any number of lines is a tree"),
    ("procstack", line, "the last stack goes on to the end of the text"),
    ("py-spy", line, "any number of lines is a profile"),
    ("py-spy-dump", line, "the last stack goes on to the end of the text"),
    ("pystack", line, "the last stack goes on to the end of the text"),
    ("python-sampling", line, "any number of lines is a profile"),
    ("rbspy-raw", line, "each line is a sample"),
    ("rprof", line, "each line is a sample"),
    ("strace", line, "the last stack goes on to the end of the text"),
    ("systemtap", count, "a stack ends with its count"),
    ("vsprof", line, "any number of lines is a tree"),
    ("vtune", line, "any number of lines is a tree"),
    ("wpa", line, "each line is a stack"),
    ("xperf", line, "each line is an event or a frame; nothing tells how many there are"),
    ("tracing-flame", line, "each line is a stack and its time"),
];

fn any(_: &[u8]) -> bool {
    true
}

/// Returns true if the last line is the end of an entry, or a text without a stack.
fn value(left: &[u8]) -> bool {
    let last =
        left.strip_suffix(b"\n").unwrap_or_default().rsplit(|&b| b == b'\n').next().unwrap_or_default();
    !last.starts_with(b" ")
}

/// Returns true if the last line is a number only, which may be cut itself.
fn count(left: &[u8]) -> bool {
    let last = left.trim_ascii_end().rsplit(|&b| b == b'\n').next().unwrap_or_default().trim_ascii();
    !last.is_empty() && last.iter().all(u8::is_ascii_digit)
}

fn after_mappings(left: &[u8]) -> bool {
    memchr::memmem::find(left, b"MAPPED_LIBRARIES:").is_some() || left.ends_with(b"\n\n")
}

/// Returns true if the last line is perf's note on a process or a mapping.
fn note(left: &[u8]) -> bool {
    let last = left.trim_ascii_end().rsplit(|&b| b == b'\n').next().unwrap_or_default();
    line(left) && memchr::memmem::find(last, b": PERF_RECORD_").is_some()
}

/// Returns true if the last line is a frame that stands at the end of another sample.
fn root(left: &[u8]) -> bool {
    let last = left.trim_ascii_end().rsplit(|&b| b == b'\n').next().unwrap_or_default().trim_ascii();
    let Some(at) = memchr::memchr(b' ', last) else { return false };
    line(left) && memchr::memmem::find(left, &[&last[at..], b"\n\n"].concat()).is_some()
}

/// Returns true if the last line is whole: a text that was copied lacks the newline behind a frame.
fn line(left: &[u8]) -> bool {
    left.ends_with(b"\n") || left.ends_with(b")") || left.ends_with(b"]")
}

fn blank(left: &[u8]) -> bool {
    left.ends_with(b"\n\n")
}

/// Places to cut: behind lines and within them, or anywhere in a binary recording.
fn cuts(bytes: &[u8]) -> Vec<usize> {
    let (most, most_bytes) = (most_cuts(), most_bytes());
    let ends: Vec<usize> = memchr::memchr_iter(b'\n', bytes).map(|at| at + 1).collect();
    let anywhere: Vec<usize> = (0..most).map(|n| bytes.len() * n / most).collect();
    let mut cuts = [some(&ends, most), some(&anywhere, most)].concat();
    cuts.retain(|cut| *cut > 0 && *cut < bytes.len());
    cuts.sort_unstable();
    cuts.dedup();
    let sum: usize = cuts.iter().sum();
    if sum <= most_bytes {
        return cuts;
    }
    // A large recording: the small cuts are as good as the large ones, but for some.
    let mut read = 0;
    let small = cuts.iter().filter(|cut| {
        read += **cut;
        read < most_bytes / 2
    });
    let mut few: Vec<usize> = small.copied().collect();
    few.extend(some(&cuts[few.len()..], most_bytes / bytes.len()));
    few
}

/// A number of items of a list: the first and the last ones, and others between.
fn some(list: &[usize], most: usize) -> Vec<usize> {
    if list.len() <= most {
        return list.to_vec();
    }
    let third = most / 3;
    let between = &list[third..list.len() - third];
    let spread = (0..most - 2 * third).map(|n| between[n * between.len() / (most - 2 * third)]);
    list[..third].iter().copied().chain(spread).chain(list[list.len() - third..].iter().copied()).collect()
}

/// Returns true if the user learns that a recording was cut, or nothing of it is missing.
fn is_told(case: &Case, left: &[u8], whole: &Reading) -> bool {
    match read(case, &[left]) {
        Ok(read) => read.says_more_than(whole) || (read.folded == whole.folded),
        Err(message) => {
            assert_eq!(message.lines().count(), 1, "{}: {message}", case.name);
            true
        }
    }
}

/// The result of all cuts of a recording.
#[derive(Default)]
struct Outcome {
    tried: usize,
    /// Those that were taken for whole recordings.
    silent: Vec<String>,
    /// The exceptions without which there would be more of them.
    needed: Vec<usize>,
}

fn cut_off(case: &Case) -> Outcome {
    let mut outcome = Outcome::default();
    let bytes = bytes(case);
    let whole = read(case, &[&bytes]).unwrap_or_else(|e| panic!("{}: {e}", case.name));
    for cut in cuts(&bytes) {
        outcome.tried += 1;
        let left = &bytes[..cut];
        if is_told(case, left, &whole) {
            continue;
        }
        match UNKNOWABLE.iter().position(|(format, ends, _)| *format == case.format && ends(left)) {
            Some(n) => outcome.needed.push(n),
            None => {
                let words = format!("{} cut at {cut} of {}: {:?}", case.name, bytes.len(), tail(left));
                outcome.silent.push(words);
            }
        }
    }
    outcome
}

#[test]
fn a_recording_that_is_cut_off_says_so() {
    let outcomes: Vec<Outcome> = some_cases().par_iter().map(cut_off).collect();
    eprintln!("{} cuts", outcomes.iter().map(|one| one.tried).sum::<usize>());
    let silent: Vec<&str> = outcomes.iter().flat_map(|one| &one.silent).map(String::as_str).collect();
    assert!(
        silent.is_empty(),
        "{} cuts are taken for whole recordings:\n{}",
        silent.len(),
        silent.join("\n")
    );
    for (n, (format, _, reason)) in UNKNOWABLE.iter().enumerate() {
        assert!(registry::by_name(format).is_ok());
        let is_needed = outcomes.iter().any(|one| one.needed.contains(&n));
        // Few cuts need few exceptions.
        assert!(is_needed || thorough(false, true), "{format} is listed without need: {reason}");
    }
}

/// The end of what is left.
fn tail(left: &[u8]) -> String {
    String::from_utf8_lossy(&left[left.len().saturating_sub(60)..]).into_owned()
}
