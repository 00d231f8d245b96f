//! Every recording in JSON with one value that is another, or missing, or there twice: writers disagree on
//! what may be `null`, and files are mended by hand. What is made of them adds up, or is one line that
//! says what is wrong and where.

use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};

use super::fixtures::{Case, bytes, cases};
use super::json_text::{Place, places};
use super::mutations::check;

/// The values that stand in for another.
const OTHERS: [&str; 7] = ["null", "true", "0", "\"\"", "[]", "{}", "-1.5"];
/// Brackets that no reader expects.
const DEEP: usize = 2_000;

/// Puts every other value in place of every value of every recording, which takes an hour. Without it, that is
/// done for the first value at each end of a path, in the smallest recording of a format that has it,
/// and with fewer values where that is a large one ([`ENOUGH`]).
const ALL: &str = "FG_ALL_VALUES";
/// The bytes of a recording whose changed copies take less than a second in a debug build.
const ENOUGH: usize = 6_000_000;

#[test]
fn any_value_of_json_gives_a_placed_error_or_adds_up() {
    let all = std::env::var_os(ALL).is_some();
    let mut recordings: Vec<(Case, Vec<u8>)> =
        cases().into_iter().map(|case| (bytes(&case), case)).map(|(bytes, case)| (case, bytes)).collect();
    recordings.sort_by_key(|(_, bytes)| bytes.len());
    let mut seen = BTreeSet::new();
    let (mut mutated, mut wrong) = (0, Vec::new());
    for (case, text) in &recordings {
        let Some(mut found) = places(text) else { continue };
        found.retain(|place| seen.insert((&case.format, end_of_path(&place.path).to_owned())) || all);
        let most = if all { usize::MAX } else { (ENOUGH / (text.len() * found.len()).max(1)).max(1) };
        for (n, place) in found.iter().enumerate() {
            let mut others = others(text, place);
            // Each of them comes at some place.
            let first = n % others.len();
            others.rotate_left(first);
            for (what, other) in others.into_iter().take(most) {
                let what = format!("{} is {what}", place.path);
                mutated += 1;
                let checked = catch_unwind(AssertUnwindSafe(|| check(case, &what, &other)));
                if let Err(panic) = checked {
                    let words = panic.downcast_ref::<String>().map(String::as_str);
                    let words = words.or(panic.downcast_ref::<&str>().copied()).unwrap_or("a panic");
                    wrong.push(format!("{}, {what}: {words}", case.name));
                }
            }
        }
    }
    assert!(mutated > 5_000, "{mutated} recordings");
    assert!(wrong.is_empty(), "{} of {mutated}:\n{}", wrong.len(), wrong.join("\n"));
}

/// The last names of a path: nodes of a tree are alike at every depth.
fn end_of_path(path: &str) -> &str {
    let start = path.rmatch_indices('.').nth(1).map_or(0, |(at, _)| at);
    &path[start..]
}

/// A text with another value at a place, and what that is.
fn others(text: &[u8], place: &Place) -> Vec<(String, Vec<u8>)> {
    let (start, end) = (place.value.start, place.value.end);
    let with = |value: &[u8]| [&text[..start], value, &text[end..]].concat();
    let mut others: Vec<_> =
        OTHERS.iter().map(|other| ((*other).to_owned(), with(other.as_bytes()))).collect();
    let deep = [&b"[".repeat(DEEP)[..], &b"]".repeat(DEEP)].concat();
    others.push(("a deep list".to_owned(), with(&deep)));
    let deep = [&b"{\"children\":[".repeat(DEEP)[..], &b"]}".repeat(DEEP)].concat();
    others.push(("a deep tree".to_owned(), with(&deep)));
    if let Some(key) = place.key {
        let pair = &text[key..end];
        others.push(("twice".to_owned(), [&text[..end], b",", pair, &text[end..]].concat()));
        // The key, and the comma on one side of the pair.
        let (before, behind) = (&text[..key], &text[end..]);
        let (before, behind) = match behind.trim_ascii_start().strip_prefix(b",") {
            Some(behind) => (before, behind),
            None => (before.trim_ascii_end().strip_suffix(b",").unwrap_or(before), behind),
        };
        others.push(("missing".to_owned(), [before, behind].concat()));
    }
    others
}
