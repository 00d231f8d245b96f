//! Every fixture with small mistakes in it, one at a time: a line that is missing or there twice, a
//! number that is huge, negative or no number. What is made of them is folded text that adds up, or
//! one line that says what is wrong and where.

use fg_tools::Weight;
use fg_tools::folded::{Columns, parse_line};

use super::fixtures::{Case, bytes, some_cases};
use super::fold_bytes;
use super::thorough::thorough;

const NUMBERS: [&str; 8] =
    ["", "0", "-1", "4294967295", "9223372036854775807", "18446744073709551616", "1e400", "0.5"];

/// Selects the indices to mutate out of `len` lines or numbers: the first ones, and about as many
/// spread over the rest. A small fixture gets more of them, so that all take about as long.
fn some(size: usize, len: usize) -> Vec<usize> {
    let most = (50_000 / size.max(1)).clamp(1, thorough(8, 3));
    let mut some: Vec<usize> = (0..len.min(most)).collect();
    some.extend((most..len).step_by((len / most).max(1)));
    some
}

#[test]
fn mutated_input_gives_a_placed_error_or_adds_up() {
    for case in some_cases() {
        let plain = bytes(&case);
        for (what, mutated) in lines(&plain).chain(numbers(&plain)) {
            check(&case, &what, &mutated);
        }
    }
}

fn lines(plain: &[u8]) -> impl Iterator<Item = (String, Vec<u8>)> {
    let lines: Vec<&[u8]> = plain.split_inclusive(|&b| b == b'\n').collect();
    some(plain.len(), lines.len()).into_iter().flat_map(move |at| {
        let (before, after) = (lines[..at].concat(), lines[at + 1..].concat());
        let twice = [&before[..], lines[at], lines[at], &after].concat();
        [
            (format!("without line {}", at + 1), [before, after].concat()),
            (format!("line {} twice", at + 1), twice),
        ]
    })
}

fn numbers(plain: &[u8]) -> impl Iterator<Item = (String, Vec<u8>)> {
    let is_start = |at: &usize| plain[*at].is_ascii_digit() && (*at == 0 || !plain[at - 1].is_ascii_digit());
    let starts: Vec<usize> = (0..plain.len()).filter(is_start).collect();
    some(plain.len(), starts.len()).into_iter().enumerate().map(move |(n, at)| {
        let start = starts[at];
        let end =
            plain[start..].iter().position(|b| !b.is_ascii_digit()).map_or(plain.len(), |len| start + len);
        let number = NUMBERS[n % NUMBERS.len()];
        let what = format!("{number:?} at byte {start}");
        (what, [&plain[..start], number.as_bytes(), &plain[end..]].concat())
    })
}

/// A recording that has been changed gives folded text that adds up, or one line that says what is wrong.
pub fn check(case: &Case, what: &str, mutated: &[u8]) {
    let name = &case.name;
    match fold_bytes(mutated, Some(&case.format), &case.options) {
        Ok((text, total, report)) => {
            let two = report.values.is_empty() && text.lines().all(|line| has_two(line.as_bytes()));
            let columns = if two { Columns::Two } else { Columns::One };
            let mut sum = Weight::ZERO;
            for line in text.lines() {
                let line =
                    parse_line(line.as_bytes(), columns).unwrap_or_else(|| panic!("{name}, {what}: {line}"));
                sum = sum.checked_add(line.weights.value).expect("what was added up");
            }
            assert_eq!(sum.to_string(), total, "{name}, {what}");
        }
        Err(error) => {
            assert_eq!(error.lines().count(), 1, "{name}, {what}: {error}");
            assert!(error.len() < 600, "{name}, {what}: {error}");
            let of_all = [
                "no samples in it",
                "not a format",
                "no such value",
                "no samples of that value",
                "add up to more",
                // References from one table of a file into another, by index.
                "that is in the profile",
                "that is listed below",
                "values in each sample",
                "of sample type",
                "one sample type",
                "the number of one of",
                "the index of one of",
                "a value for each time",
                // The file in the archive is the place.
                "damaged archive",
                "expected Parquet data",
                // What is left is another file of the tool's, which is not read.
                "without stacks",
                // An entry of a list that has been read.
                "from raw[",
                // A page is a document of a few lines.
                "the data of a page",
            ];
            assert!(
                is_placed(&error) || of_all.iter().any(|all| error.contains(all)),
                "{name}, {what}: {error}"
            );
        }
    }
}

fn has_two(line: &[u8]) -> bool {
    parse_line(line, Columns::Two).is_some()
}

/// Returns true if a message has a line or a byte offset: `/tmp/x:12: `, `/tmp/x: byte 12: `.
fn is_placed(error: &str) -> bool {
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    error.split(": ").take(2).any(|part| {
        part.strip_prefix("byte ").is_some_and(is_number)
            || part.rsplit_once(':').is_some_and(|(_, line)| is_number(line))
    })
}
