//! Every recording in XML with one attribute, or one text, that is another, or missing, or there twice, and with one
//! tag missing: what is made of it adds up, or is one line that says what is wrong and where.

use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};

use super::fixtures::{bytes, cases};
use super::mutations::check;

/// The values that stand in for another: references that lead nowhere, too.
const OTHERS: [&str; 9] =
    ["", "0", "-1", "x", "99999999999999999999999999", "&#0;", "&none;", "&#x1b;[2J", "1.5e308"];
/// Elements within each other that no reader expects.
const DEEP: usize = 2_000;

/// The places of tags, of the attributes in them and of their values, and of the texts between them.
#[allow(clippy::type_complexity)]
fn places(text: &[u8]) -> (Vec<Range<usize>>, Vec<(Range<usize>, Range<usize>)>, Vec<Range<usize>>) {
    let (mut tags, mut attributes, mut texts) = (Vec::new(), Vec::new(), Vec::new());
    let mut at = 0;
    while let Some(start) = memchr(b'<', text, at) {
        if !text[at..start].trim_ascii().is_empty() {
            texts.push(at..start);
        }
        let Some(end) = memchr(b'>', text, start) else { break };
        tags.push(start..end + 1);
        let mut from = start;
        while let Some(open) = memchr(b'"', text, from).filter(|open| *open < end) {
            let Some(close) = memchr(b'"', text, open + 1) else { break };
            let key = text[start..open].iter().rposition(|b| *b == b' ').map_or(start, |blank| start + blank);
            attributes.push((key..close + 1, open + 1..close));
            from = close + 1;
        }
        at = end + 1;
    }
    (tags, attributes, texts)
}

fn memchr(byte: u8, text: &[u8], from: usize) -> Option<usize> {
    text[from..].iter().position(|b| *b == byte).map(|at| from + at)
}

#[test]
fn any_attribute_of_xml_gives_a_placed_error_or_adds_up() {
    let (mut mutated, mut wrong) = (0, Vec::new());
    for case in cases() {
        let text = bytes(&case);
        if !text.starts_with(b"<?xml") {
            continue;
        }
        let (tags, attributes, texts) = places(&text);
        let with =
            |place: &Range<usize>, other: &[u8]| [&text[..place.start], other, &text[place.end..]].concat();
        let mut all: Vec<(String, Vec<u8>)> = Vec::new();
        let words = |place: &Range<usize>| String::from_utf8_lossy(&text[place.clone()]).into_owned();
        for place in attributes.iter().map(|(_, value)| value).chain(&texts) {
            let of = words(place);
            all.extend(
                OTHERS.iter().map(|other| (format!("{of} is {other:?}"), with(place, other.as_bytes()))),
            );
            all.push((format!("{of} is long"), with(place, &[b'9'; 100_000])));
        }
        for (attribute, _) in &attributes {
            let of = words(attribute);
            all.push((format!("{of} is missing"), with(attribute, b"")));
            all.push((format!("{of} is twice"), with(attribute, of.repeat(2).as_bytes())));
        }
        for tag in &tags {
            let of = words(tag);
            all.push((format!("{of} is missing"), with(tag, b"")));
            all.push((format!("{of} is twice"), with(tag, of.repeat(2).as_bytes())));
            all.push((format!("{of} is deep"), with(tag, of.repeat(DEEP).as_bytes())));
        }
        for (what, other) in all {
            mutated += 1;
            let checked = catch_unwind(AssertUnwindSafe(|| check(&case, &what, &other)));
            if let Err(panic) = checked {
                let words = panic.downcast_ref::<String>().map(String::as_str);
                let words = words.or(panic.downcast_ref::<&str>().copied()).unwrap_or("a panic");
                wrong.push(format!("{}, {what}: {words}", case.name));
            }
        }
    }
    assert!(mutated > 500, "{mutated} recordings");
    assert!(wrong.is_empty(), "{} of {mutated}:\n{}", wrong.len(), wrong.join("\n"));
}
