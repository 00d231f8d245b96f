//! Every recording in protobuf with one field of another wire type, empty, huge, nested in itself, there twice or
//! missing: what is made of it adds up, or is one line that says what is wrong and where.

use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};

use super::fixtures::{Case, bytes, cases};
use super::mutations::check;

/// The formats of messages: OTLP's stand behind their lengths in a file, the others are one.
const FORMATS: [&str; 3] = ["pprof", "otlp", "perfetto"];
/// Messages within each other that no reader expects.
const DEEP: usize = 2_000;
/// The bytes of a recording whose changed copies take less than a second in a debug build.
const ENOUGH: usize = 3_000_000;

/// A field: its number, and its content.
#[derive(Clone)]
struct Field(u64, Content);

#[derive(Clone)]
enum Content {
    Number(u64),
    /// As it is written, with its wire type.
    Fixed(u64, Vec<u8>),
    Bytes(Vec<u8>),
    Message(Vec<Field>),
    /// Whatever it is, without a tag.
    Raw(Vec<u8>),
}

fn varint(bytes: &mut &[u8]) -> Option<u64> {
    let mut value = 0u64;
    for shift in (0..64).step_by(7) {
        let (first, rest) = bytes.split_first()?;
        *bytes = rest;
        value |= u64::from(first & 0x7f) << shift;
        if first & 0x80 == 0 {
            return Some(value);
        }
    }
    None
}

fn put_varint(mut value: u64, out: &mut Vec<u8>) {
    while value > 127 {
        out.push(value as u8 | 128);
        value >>= 7;
    }
    out.push(value as u8);
}

/// The fields of a message; `None` if it is none. A text may look like one, which does no harm.
fn message(mut bytes: &[u8], depth: usize) -> Option<Vec<Field>> {
    let mut fields = Vec::new();
    while !bytes.is_empty() {
        let tag = varint(&mut bytes)?;
        let mut take = |len: usize| {
            let (taken, rest) = bytes.split_at_checked(len)?;
            bytes = rest;
            Some(taken.to_vec())
        };
        let content = match tag & 7 {
            1 => Content::Fixed(1, take(8)?),
            5 => Content::Fixed(5, take(4)?),
            0 => Content::Number(varint(&mut bytes)?),
            2 => {
                let len = usize::try_from(varint(&mut bytes)?).ok()?;
                let (taken, rest) = bytes.split_at_checked(len)?;
                bytes = rest;
                let nested = (depth > 0 && !taken.is_empty()).then(|| message(taken, depth - 1)).flatten();
                nested.map_or_else(|| Content::Bytes(taken.to_vec()), Content::Message)
            }
            _ => return None,
        };
        (tag >> 3 > 0).then_some(())?;
        fields.push(Field(tag >> 3, content));
    }
    Some(fields)
}

fn encoded(fields: &[Field]) -> Vec<u8> {
    let mut out = Vec::new();
    for Field(number, content) in fields {
        let mut counted = |bytes: &[u8]| {
            put_varint(number << 3 | 2, &mut out);
            put_varint(bytes.len() as u64, &mut out);
            out.extend_from_slice(bytes);
        };
        match content {
            Content::Bytes(bytes) => counted(bytes),
            Content::Message(fields) => counted(&encoded(fields)),
            Content::Number(value) => {
                put_varint(number << 3, &mut out);
                put_varint(*value, &mut out);
            }
            Content::Fixed(kind, bytes) => {
                put_varint(number << 3 | kind, &mut out);
                out.extend_from_slice(bytes);
            }
            Content::Raw(bytes) => out.extend_from_slice(bytes),
        }
    }
    out
}

/// The places of the first field at each path of numbers: the indices that lead to it.
fn places(fields: &[Field], path: &str, above: &[usize], found: &mut Vec<(String, Vec<usize>)>) {
    let mut seen = BTreeSet::new();
    for (index, Field(number, content)) in fields.iter().enumerate() {
        if !seen.insert(number) {
            continue;
        }
        let (path, place) = (format!("{path}.{number}"), [above, &[index]].concat());
        if let Content::Message(nested) = content {
            places(nested, &path, &place, found);
        }
        found.push((path, place));
    }
}

/// The fields that stand in for one, and what they are.
fn others(Field(number, content): &Field) -> Vec<(&'static str, Vec<Field>)> {
    let one = |content: Content| vec![Field(*number, content)];
    let own = Field(*number, content.clone());
    let mut deep = encoded(std::slice::from_ref(&own));
    for _ in 0..DEEP {
        deep = encoded(&[Field(*number, Content::Bytes(deep))]);
    }
    let mut beyond = Vec::new();
    put_varint(number << 3 | 2, &mut beyond);
    put_varint(1 << 40, &mut beyond);
    let mut group = Vec::new();
    put_varint(number << 3 | 3, &mut group);
    vec![
        ("missing", Vec::new()),
        ("twice", vec![own.clone(), own]),
        ("empty", one(Content::Bytes(Vec::new()))),
        ("the number 0", one(Content::Number(0))),
        ("the largest number", one(Content::Number(u64::MAX))),
        ("a negative number", one(Content::Number(i64::MIN as u64))),
        ("of 64 bits", one(Content::Fixed(1, vec![0xff; 8]))),
        ("of 32 bits", one(Content::Fixed(5, vec![0xff; 4]))),
        ("a text", one(Content::Bytes(b"\xff;\n# x".to_vec()))),
        ("nested in itself", one(Content::Bytes(deep))),
        ("longer than the file", one(Content::Raw(beyond))),
        ("a group", one(Content::Raw(group))),
    ]
}

/// The fields with others in place of the one at `place`.
fn with(fields: &[Field], place: &[usize], others: Vec<Field>) -> Vec<Field> {
    let mut fields = fields.to_vec();
    match place {
        [index] => _ = fields.splice(index..=index, others),
        [index, rest @ ..] => {
            if let Field(_, Content::Message(nested)) = &fields[*index] {
                let nested = with(nested, rest, others);
                fields[*index].1 = Content::Message(nested);
            }
        }
        [] => {}
    }
    fields
}

/// The first message of a recording, and a file of one message.
fn first_message<'p>(format: &str, plain: &'p [u8]) -> (&'p [u8], impl Fn(Vec<u8>) -> Vec<u8>) {
    // OTLP as JSON begins with a bracket, and is no message.
    let is_counted = format == "otlp" && plain.first() == Some(&0);
    let message = match plain.split_first_chunk::<4>() {
        Some((len, rest)) if is_counted => &rest[..u32::from_be_bytes(*len) as usize],
        _ => plain,
    };
    let file = move |message: Vec<u8>| match is_counted {
        true => [&(message.len() as u32).to_be_bytes()[..], &message].concat(),
        false => message,
    };
    (message, file)
}

#[test]
fn any_field_of_protobuf_gives_a_placed_error_or_adds_up() {
    let of_protobuf = |case: &Case| FORMATS.contains(&&*case.format);
    let mut recordings: Vec<(Case, Vec<u8>)> = cases()
        .into_iter()
        .filter(of_protobuf)
        .map(|case| (bytes(&case), case))
        .map(|(b, c)| (c, b))
        .collect();
    recordings.sort_by_key(|(_, bytes)| bytes.len());
    let mut seen = BTreeSet::new();
    let (mut mutated, mut wrong, mut formats) = (0, Vec::new(), BTreeSet::new());
    for (case, plain) in &recordings {
        let (whole, file) = first_message(&case.format, plain);
        let Some(fields) = message(whole, 8) else { continue };
        assert!(encoded(&fields) == whole, "{}: written as it was read", case.name);
        formats.insert(&case.format);
        let mut found = Vec::new();
        places(&fields, "", &[], &mut found);
        found.retain(|(path, _)| seen.insert((&case.format, path.clone())));
        let most = (ENOUGH / (plain.len() * found.len()).max(1)).max(2);
        for (n, (path, place)) in found.iter().enumerate() {
            let mut at = &fields;
            let (last, above) = place.split_last().expect("a place is no empty path");
            for index in above {
                let Field(_, Content::Message(nested)) = &at[*index] else { unreachable!("it has fields") };
                at = nested;
            }
            let mut others = others(&at[*last]);
            // Each of them comes at some place.
            let first = n % others.len();
            others.rotate_left(first);
            for (what, other) in others.into_iter().take(most) {
                let what = format!("field {path} is {what}");
                let bytes = file(encoded(&with(&fields, place, other)));
                mutated += 1;
                let checked = catch_unwind(AssertUnwindSafe(|| check(case, &what, &bytes)));
                if let Err(panic) = checked {
                    let words = panic.downcast_ref::<String>().map(String::as_str);
                    let words = words.or(panic.downcast_ref::<&str>().copied()).unwrap_or("a panic");
                    wrong.push(format!("{}, {what}: {words}", case.name));
                }
            }
        }
    }
    assert!(mutated > 500 && formats.len() == FORMATS.len(), "{mutated} recordings of {formats:?}");
    assert!(wrong.is_empty(), "{} of {mutated}:\n{}", wrong.len(), wrong.join("\n"));
}
