//! A recording that ends early is never taken for a whole one in silence: what is left of it is refused,
//! or the user is told, unless nothing in it can tell. Every exception is listed with its reason.

use fg_tools::collapse::registry;

use super::fixtures::{Case, bytes, cases};
use super::shape::{Reading, read};

/// The most bytes that are read of all the cuts of one recording.
const BYTES: usize = 600_000;

/// The most cuts within lines, and the most behind lines.
const CUTS: usize = 100;

/// Returns true if the bytes that are left end where one more record could have followed.
type Boundary = fn(&[u8]) -> bool;

/// Formats that are records one behind the other, of which no one says how many there are: the end of a
/// record, and the reason.
const UNKNOWABLE: &[(&str, Boundary, &str)] = &[
    ("folded", line, "any number of lines is a profile"),
    ("perf-script", blank, "a sample ends with a blank line"),
];

fn line(left: &[u8]) -> bool {
    left.ends_with(b"\n")
}

fn blank(left: &[u8]) -> bool {
    left.ends_with(b"\n\n")
}

/// Places to cut: behind lines and within them, or anywhere in a binary recording.
fn cuts(bytes: &[u8]) -> Vec<usize> {
    let ends: Vec<usize> = memchr::memchr_iter(b'\n', bytes).map(|at| at + 1).collect();
    let anywhere: Vec<usize> = (0..CUTS).map(|n| bytes.len() * n / CUTS).collect();
    let mut cuts = [some(&ends, CUTS), some(&anywhere, CUTS)].concat();
    cuts.retain(|cut| *cut > 0 && *cut < bytes.len());
    cuts.sort_unstable();
    cuts.dedup();
    let sum: usize = cuts.iter().sum();
    if sum <= BYTES {
        return cuts;
    }
    // A large recording: the small cuts are as good as the large ones, but for some.
    let mut read = 0;
    let small = cuts.iter().filter(|cut| {
        read += **cut;
        read < BYTES / 2
    });
    let mut few: Vec<usize> = small.copied().collect();
    few.extend(some(&cuts[few.len()..], BYTES / bytes.len()));
    few
}

/// So many of a list: the first and the last ones, and others between.
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

#[test]
fn a_recording_that_is_cut_off_says_so() {
    let (mut tried, mut silent, mut needed) = (0, Vec::new(), vec![false; UNKNOWABLE.len()]);
    for case in cases() {
        let bytes = bytes(&case);
        let whole = read(&case, &[&bytes]).unwrap_or_else(|e| panic!("{}: {e}", case.name));
        for cut in cuts(&bytes) {
            tried += 1;
            let left = &bytes[..cut];
            let listed = UNKNOWABLE.iter().position(|(format, ends, _)| *format == case.format && ends(left));
            if is_told(&case, left, &whole) {
                continue;
            }
            match listed {
                Some(n) => needed[n] = true,
                None => {
                    silent.push(format!("{} cut at {cut} of {}: {:?}", case.name, bytes.len(), tail(left)))
                }
            }
        }
    }
    eprintln!("{tried} cuts");
    assert!(
        silent.is_empty(),
        "{} cuts are taken for whole recordings:\n{}",
        silent.len(),
        silent.join("\n")
    );
    for ((format, _, reason), needed) in UNKNOWABLE.iter().zip(needed) {
        assert!(registry::by_name(format).is_ok());
        assert!(needed, "{format} is listed without need: {reason}");
    }
}

/// The end of what is left.
fn tail(left: &[u8]) -> String {
    String::from_utf8_lossy(&left[left.len().saturating_sub(60)..]).into_owned()
}
