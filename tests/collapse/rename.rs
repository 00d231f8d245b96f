//! A function may have any name: every recording with other names in it has the same stacks, with those
//! names in them.

use std::collections::BTreeMap;

use super::fixtures::{Case, bytes, cases};
use super::json_text;
use super::shape::{difference, read};
use super::thorough::thorough;

/// Names of every script and kind of bracket, which no format's grammar can take for something else.
const NAMES: &[&str] = &[
    "größe",
    "имя_функции",
    "関数名",
    "دالة",
    "พิมพ์",
    "naïve\u{301}",
    "🔥flame🔥",
    "a\u{200d}b\u{202e}c",
    "<T>",
    "Vec<Vec<u8>>::new",
    "operator<<",
    "[brackets]",
    "{closure}",
    "{{vtable.shim}}",
    "it's",
    "100%",
    "a=b",
    "$jit$0",
    "~dtor",
    "-minus",
    "x.constprop.0",
    "@plt",
    "a|b",
    "a&b",
    "^caret",
    "a/b",
    "q\"uote",
    "back\\slash",
    "tick`",
    "semi;colon",
    "a:b",
    "f(int, char)",
    "two words",
    "comma,name",
    "# hash",
    "12345",
    "0x1f",
];

/// Names that the grammar of a text gives another meaning, by formats that have them.
const MEANINGS: &[(&str, &[&str], &str)] = &[
    ("bpftrace", &["0x1f"], "an address"),
    ("callgrind/", &["0x1f"], "an address, as valgrind writes functions without a name"),
    ("firefox/", &["0x1f"], "an address"),
    ("folded/", &["semi;colon"], "two frames"),
    ("phpspy/", &["f(int, char)", "two words", "# hash"], "blanks end a name"),
    ("systemtap/", &["0x1f"], "an address"),
    ("xctrace/", &["a&b", "q\"uote"], "XML writes them as entities"),
];

/// A word of the input that is a frame of its stacks and stands for nothing else: the longest.
fn word(case: &Case, text: &[u8]) -> Option<String> {
    let is_word = |text: &str| {
        text.len() >= 4 && text.bytes().all(|b| b.is_ascii_lowercase() || b == b'_') && text != "main"
    };
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for line in case.expected.lines() {
        let stack = line.rsplit_once(' ').map_or("", |(stack, _)| stack);
        stack
            .split(';')
            .skip(1)
            .filter(|frame| is_word(frame))
            .for_each(|frame| *counts.entry(frame).or_default() += 1);
    }
    let mut words: Vec<&str> = counts.into_keys().collect();
    words.sort_by_key(|word| std::cmp::Reverse(word.len()));
    // As a whole word only, so that nothing else is renamed along with it.
    let stands_alone = |word: &&&str| {
        let all = memchr::memmem::find_iter(text, word.as_bytes()).count();
        all > 0
            && all == places(text, word.as_bytes()).len()
            && case.expected.matches(**word).count() == frames(&case.expected, word)
    };
    words.iter().find(stands_alone).map(|word| (*word).to_owned())
}

/// The number of frames of a name.
fn frames(folded: &str, name: &str) -> usize {
    let stacks = folded.lines().filter_map(|line| line.rsplit_once(' '));
    stacks.map(|(stack, _)| stack.split(';').filter(|frame| *frame == name).count()).sum()
}

/// The places of a word that is not a part of a longer one.
fn places(text: &[u8], word: &[u8]) -> Vec<usize> {
    let is_part = |b: Option<&u8>| {
        b.is_some_and(|b| b.is_ascii_alphanumeric() || b"_.-/$:<>".contains(b) || *b >= 0x80)
    };
    memchr::memmem::find_iter(text, word)
        .filter(|at| {
            let before = at.checked_sub(1).and_then(|at| text.get(at));
            !is_part(before) && !is_part(text.get(at + word.len()))
        })
        .collect()
}

/// A text with another name for a word.
fn renamed(text: &[u8], word: &[u8], name: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    let mut end = 0;
    for at in places(text, word) {
        out.extend_from_slice(&text[end..at]);
        out.extend_from_slice(name);
        end = at + word.len();
    }
    out.extend_from_slice(&text[end..]);
    out
}

/// A name as it stands in a string of JSON.
fn in_json(name: &str) -> String {
    serde_json::to_string(name).expect("a string").trim_matches('"').to_owned()
}

/// Folded text with another name for a frame, in frame order.
fn expected(folded: &str, word: &str, name: &str) -> String {
    let name = name.replace(';', ":");
    let mut table = fg_tools::folded::StackTable::default();
    for line in folded.lines() {
        let (stack, weight) = line.rsplit_once(' ').expect("folded text");
        let frames: Vec<&str> =
            stack.split(';').map(|frame| if frame == word { &name } else { frame }).collect();
        let weight = fg_tools::Weight::parse(weight.as_bytes()).expect("a weight");
        table
            .add_stack(frames.join(";").as_bytes(), fg_tools::folded::Weights::one(weight))
            .expect("it can be held");
    }
    let mut out = Vec::new();
    table.write(&mut out).expect("it fits in memory");
    String::from_utf8(out).expect("names are text")
}

/// The most cases of one format.
const CASES: usize = 3;

#[test]
fn a_function_may_have_any_name() {
    let (mut tried, mut cases_tried, mut wrong) = (0, 0, Vec::new());
    let mut of_format: BTreeMap<String, usize> = BTreeMap::new();
    for case in cases() {
        let text = bytes(&case);
        // Bytes that are no text have another place in the order than what stands for them.
        if case.expected.contains('\u{fffd}') {
            continue;
        }
        if text.contains(&0) || text.len() > 60_000 || case.name.ends_with("/differential") {
            continue;
        }
        let Some(word) = word(&case, &text) else { continue };
        let count = of_format.entry(case.format.clone()).or_default();
        *count += 1;
        if *count > CASES {
            continue;
        }
        let is_json = json_text::values(&text).is_some();
        cases_tried += 1;
        // By day each recording has a third of the names, another third than the one before.
        let (first, step) = thorough((0, 1), (cases_tried % 3, 3));
        for name in NAMES.iter().skip(first).step_by(step) {
            let written = if is_json { in_json(name) } else { (*name).to_owned() };
            let input = renamed(&text, word.as_bytes(), written.as_bytes());
            // Parameters are left out of the names of native code, as perf does it.
            let bare = name.split_once('(').map_or(*name, |(bare, _)| bare);
            let expected = [*name, bare].map(|name| expected(&case.expected, &word, name));
            tried += 1;
            let result = match read(&case, &[&input]) {
                Ok(read) if expected.contains(&read.folded) => Ok(()),
                Ok(read) => Err(difference(&read.folded, &expected[0])),
                Err(e) => Err(e),
            };
            let is_listed = MEANINGS
                .iter()
                .any(|(prefix, names, _)| case.name.starts_with(prefix) && names.contains(name));
            if let (Err(e), false) = (result, is_listed) {
                wrong.push(format!("{}, {word} as {name}: {e}", case.name));
            }
        }
    }
    eprintln!("{tried} names in {cases_tried} recordings");
    assert!(wrong.is_empty(), "{} of {tried}\n{}", wrong.len(), wrong.join("\n"));
    assert!(cases_tried > 30, "only {cases_tried} recordings");
}
