//! A stranger's small file takes little memory, whatever it is large in: a number of megabytes and eight times its
//! unpacked size, in every program and for every output.

use clap::Parser;
use fg_tools::cli::{Tool, collapse::Collapse, diff::Diff, filter::Filter, render::Render};
use fg_tools::render::FORMATS;

use super::{ALONE, peak};

/// The memory that any input may take. Text of the long names would be 10 MB, and is a line at a time.
const ANY: usize = 5 << 20;
/// The memory that a stack may take that is longer than a line can be.
const LINE: usize = 64 << 20;
/// The memory that each byte of the input may take.
const EACH: usize = 8;

/// Outputs that take more for a recording of one kind: the reason. Empty names are every output.
const MORE: &[(&str, &str, &str)] = &[
    ("fg-diff --format=json", "many names", "the report is put together before it is written"),
    ("fg-render --format png", "deep and many", "the picture's pixels, of a thousand rows"),
    ("", "a long label of many samples", "each different set of labels is kept with the texts of its labels"),
];

/// Writes recordings that are ten times as large, which takes minutes in a debug build.
const LARGE: &str = "FG_HOSTILE";

const NOWHERE: &str = if cfg!(windows) { "NUL" } else { "/dev/null" };

/// A field of protobuf that holds bytes.
fn bytes(number: u64, content: &[u8]) -> Vec<u8> {
    [varint(number << 3 | 2), varint(content.len() as u64), content.to_vec()].concat()
}

/// A field of protobuf that holds a number.
fn number(number: u64, value: u64) -> Vec<u8> {
    [varint(number << 3), varint(value)].concat()
}

fn varint(mut value: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    while value > 127 {
        bytes.push(value as u8 | 128);
        value >>= 7;
    }
    bytes.push(value as u8);
    bytes
}

/// A sample of pprof: its frames from the leaf on, and the labels of a number of texts.
#[derive(Default)]
struct Sample {
    stack: Vec<u64>,
    labels: Vec<(u64, u64)>,
    times: Vec<u64>,
}

/// A recording of pprof; texts are numbered from 1, frames are texts.
fn pprof(texts: &[Vec<u8>], samples: &[Sample], values: usize) -> Vec<u8> {
    let mut out = Vec::new();
    let value_type = [number(1, 1), number(2, 1)].concat();
    (0..values).for_each(|_| out.extend(bytes(1, &value_type)));
    for Sample { stack, labels, times } in samples {
        let frames: Vec<u8> = stack.iter().flat_map(|&id| varint(id)).collect();
        let mut sample = bytes(1, &frames);
        sample.extend(bytes(2, &vec![1; values]));
        for (key, value) in labels {
            sample.extend(bytes(3, &[number(1, *key), number(2, *value)].concat()));
        }
        for time in times {
            sample.extend(bytes(3, &[number(1, 2), number(3, *time)].concat()));
        }
        out.extend(bytes(2, &sample));
    }
    for id in 1..=texts.len() as u64 {
        out.extend(bytes(4, &[number(1, id), bytes(4, &number(1, id))].concat()));
        out.extend(bytes(5, &[number(1, id), number(2, id)].concat()));
    }
    out.extend(bytes(6, b""));
    texts.iter().for_each(|text| out.extend(bytes(6, text)));
    out
}

/// Texts for functions, the first two of which are keys of labels.
fn named(count: usize, name: impl Fn(usize) -> Vec<u8>) -> Vec<Vec<u8>> {
    let keys = [b"thread".to_vec(), b"timestamp".to_vec()];
    keys.into_iter().chain((0..count).map(name)).collect()
}

/// Recordings that are large in one dimension each.
fn hostile() -> Vec<(&'static str, Vec<u8>)> {
    let many: u64 = if std::env::var_os(LARGE).is_some() { 10 } else { 1 };
    let times = many as usize;
    /// The numbers of the first function and of its followers.
    const FIRST: u64 = 3;
    const LONG: usize = 128 << 10;
    let short = |n: usize| format!("f{n}").into_bytes();
    let long_and_short = |n: usize| if n == 0 { vec![b'x'; LONG] } else { short(n) };
    let of = |stack: Vec<u64>| Sample { stack, ..Sample::default() };
    let each = |stack: &dyn Fn(u64) -> Vec<u64>| -> Vec<Sample> {
        (0..80).map(|n| of(stack(FIRST + 1 + n))).collect()
    };
    vec![
        ("a long root of many stacks", pprof(&named(81, long_and_short), &each(&|n| vec![n, FIRST]), 1)),
        ("a long leaf of many stacks", pprof(&named(81, long_and_short), &each(&|n| vec![FIRST, n]), 1)),
        ("a stack longer than a line", pprof(&named(81, long_and_short), &[of([FIRST].repeat(2000))], 1)),
        (
            "many names",
            pprof(
                &named(800 * times, short),
                &(0..800 * many).map(|n| of(vec![FIRST + n])).collect::<Vec<_>>(),
                1,
            ),
        ),
        ("deep", pprof(&named(1, short), &[of([FIRST].repeat(6_000 * times))], 1)),
        (
            "deep and many",
            pprof(
                &named(20, short),
                &(0..8).map(|n| of([FIRST].repeat(1_000 * times + n))).collect::<Vec<_>>(),
                1,
            ),
        ),
        ("many values", pprof(&named(1, short), &[of(vec![FIRST])], 400 * times)),
        ("many labels", {
            let labels = (0..800 * many).map(|n| (FIRST + n % 200, FIRST + n)).collect();
            pprof(&named(800 * times, short), &[Sample { stack: vec![FIRST], labels, times: vec![] }], 1)
        }),
        ("a long label of many samples", {
            let sample = |n: u64| Sample { stack: vec![FIRST + n], labels: vec![(1, FIRST)], times: vec![n] };
            pprof(&named(81, long_and_short), &(0..80).map(sample).collect::<Vec<_>>(), 1)
        }),
        ("many threads and times", {
            let sample = |n: u64| Sample {
                stack: vec![FIRST],
                labels: vec![(1, FIRST + n)],
                times: vec![n * 1_000_003],
            };
            pprof(&named(500 * times, short), &(0..500 * many).map(sample).collect::<Vec<_>>(), 1)
        }),
    ]
}

/// 24 kB of pprof took 2.9 GB: text of parts that waited for their turns.
#[test]
fn threads_that_write_hold_little_text() {
    /// Parts that wait, each of a megabyte at most, of four threads.
    const WAITING: usize = 20 << 20;
    const STACKS: usize = 1100;
    let _alone = ALONE.lock();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("long.pb");
    let names = named(STACKS, |n| if n == 0 { vec![b'x'; 64 << 10] } else { format!("f{n}").into_bytes() });
    let stacks = (1..STACKS as u64).map(|n| Sample { stack: vec![3, 3 + n], ..Sample::default() });
    let recording = pprof(&names, &stacks.collect::<Vec<_>>(), 1);
    std::fs::write(&file, &recording).unwrap();
    let of = ["fg-collapse", "--threads", "4", "-o", NOWHERE, file.to_str().unwrap()];
    let taken = peak(|| _ = Collapse::try_parse_from(of).unwrap().run().unwrap());
    assert!(taken < WAITING + EACH * recording.len(), "{taken} bytes for {}", recording.len());
}

#[test]
fn memory_is_in_proportion_to_the_input() {
    let _alone = ALONE.lock();
    let folder = tempfile::tempdir().unwrap();
    let [one, other] = ["one.pb", "other.pb"].map(|name| folder.path().join(name));
    let [one, other] = [&one, &other].map(|path| path.to_str().unwrap());
    let (mut wrong, mut needed) = (Vec::new(), std::collections::BTreeSet::new());
    for (what, recording) in hostile() {
        let any = if what == "a stack longer than a line" { LINE } else { ANY };
        std::fs::write(one, &recording).unwrap();
        std::fs::write(other, &recording).unwrap();
        let mut check = |name: &str, files: usize, run: &mut dyn FnMut() -> bool| {
            let mut is_done = false;
            let taken = peak(|| is_done = run());
            let is_known =
                |(output, of, _): &&(&str, &str, &str)| what == *of && (output.is_empty() || name == *output);
            if taken > any + EACH * recording.len() * files
                && let Some((_, _, reason)) = MORE.iter().find(is_known)
            {
                needed.insert(*reason);
                return;
            }
            if taken > any + EACH * recording.len() * files {
                wrong.push(format!(
                    "{name}, {what}: {taken} bytes for {}, done: {is_done}",
                    files * recording.len()
                ));
            }
        };
        let arguments = |tool: &'static str, more: &[&'static str]| -> Vec<String> {
            [&[tool], more, &["-o", NOWHERE]].concat().into_iter().map(str::to_owned).collect()
        };
        for threads in ["1", "4"] {
            let name = format!("fg-collapse --threads {threads}");
            let mut of = arguments("fg-collapse", &["--threads", threads]);
            of.push(one.to_owned());
            check(&name, 1, &mut || {
                Collapse::try_parse_from(&of).expect("options that there are").run().is_ok()
            });
        }
        let mut of = arguments("fg-filter", &["--hide", "f1"]);
        of.push(one.to_owned());
        check("fg-filter", 1, &mut || {
            Filter::try_parse_from(&of).expect("options that there are").run().is_ok()
        });
        for format in [&[][..], &["--table"], &["--format=json"]] {
            let mut of = arguments("fg-diff", format);
            of.extend([one.to_owned(), other.to_owned()]);
            check(&format!("fg-diff {}", format.join(" ")), 2, &mut || {
                Diff::try_parse_from(&of).expect("options that there are").run().is_ok()
            });
        }
        for format in FORMATS.iter().filter(|format| !format.takes("binary")) {
            let mut of = arguments("fg-render", &["--format", format.name]);
            of.push(one.to_owned());
            if format.takes("list") {
                of.extend(["--list".to_owned(), "f1".to_owned()]);
            }
            check(&format!("fg-render --format {}", format.name), 1, &mut || {
                Render::try_parse_from(&of).expect("options that there are").run().is_ok()
            });
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
    // Pictures are a feature, and not of every build.
    let has_all = FORMATS.iter().any(|format| format.name == "png");
    assert!(!has_all || needed.len() == MORE.len(), "needed are only {needed:?}");
}
