//! Recordings of version 0.9, built.

use super::Chunk;
use crate::collapse::formats::jfr::Jfr;
use crate::collapse::tests::{collapse_bytes, fold};
use crate::collapse::{CollapseOptions, ValueSelection};
#[cfg(target_os = "linux")]
use crate::limits::{Limits, Meter};

fn int(number: u32) -> Vec<u8> {
    number.to_be_bytes().to_vec()
}

fn long(number: u64) -> Vec<u8> {
    number.to_be_bytes().to_vec()
}

fn text(text: &str) -> Vec<u8> {
    [&(text.len() as u16).to_be_bytes()[..], text.as_bytes()].concat()
}

/// Bytes behind their size.
fn sized(parts: &[Vec<u8>]) -> Vec<u8> {
    let body = parts.concat();
    [int(body.len() as u32 + 4), body].concat()
}

/// A count and as many items.
fn list(items: &[Vec<u8>]) -> Vec<u8> {
    [int(items.len() as u32), items.concat()].concat()
}

/// A field: its name, type, type of constants and structure.
fn field(id: &str, kind: u8, content: u32, structure: u32) -> Vec<u8> {
    [text(id), text(""), text(""), vec![0, kind], int(content), int(structure), int(0)].concat()
}

/// A type of constants: its number, the type of its keys and its structure.
fn content_type(id: u32, name: &str, kind: u8, at: u32) -> Vec<u8> {
    [int(id), text(name), text(""), vec![kind], int(at)].concat()
}

fn producer(structures: &[Vec<u8>], events: &[Vec<u8>], contents: &[Vec<u8>]) -> Vec<u8> {
    let own = [int(1), text("JVM"), text(""), text("http://www.oracle.com/hotspot/jvm/"), list(&[])];
    [own.concat(), list(structures), list(events), list(contents)].concat()
}

/// The constants of a type.
fn pool(content: u32, items: &[Vec<u8>]) -> Vec<u8> {
    [int(content), list(items)].concat()
}

fn checkpoint(before: u64, pools: &[Vec<u8>]) -> Vec<u8> {
    sized(&[int(1), long(9_000), long(before), pools.concat()])
}

/// A chunk whose last checkpoint is at an offset behind the header.
fn chunk(producer: Vec<u8>, content: &[u8], last: usize) -> Vec<u8> {
    let times = [long(1_000), long(2_000), long(1_000), long(1_000_000)].concat();
    let description = sized(&[int(0), list(&[producer]), times, long(16 + last as u64)]);
    let header = [b"FLR\0\0\0\0\x09".to_vec(), long(16 + content.len() as u64)].concat();
    [header, content.to_vec(), description].concat()
}

/// A recording with the structures of async-profiler 1: two samples of `main;a.Shop.work`, a wait and a text.
fn recording() -> Vec<u8> {
    let structures = [
        list(&[field("utf8", 11, 0, 0)]),
        list(&[field("name", 11, 0, 0)]),
        list(&[field("name", 8, 31, 0)]),
        list(&[field("class", 8, 10, 0), field("name", 8, 31, 0)]),
        list(&[field("method", 8, 32, 0), field("line", 5, 0, 0)]),
        list(&[field("truncated", 0, 0, 0), field("frames", 15, 0, 4)]),
        list(&[field("sampledThread", 6, 7, 0), field("stackTrace", 8, 9, 0)]),
        list(&[field("klass", 8, 10, 0)]),
    ];
    let kind = |id: u32, path: &str, flags: [u8; 4], structure: u32| {
        [int(id), text(""), text(""), text(path), flags.to_vec(), int(structure), int(0)].concat()
    };
    let kinds = [
        kind(20, "vm/prof/execution_sample", [0, 0, 0, 1], 6),
        kind(21, "java/thread_park", [1, 1, 1, 0], 7),
        kind(22, "os/memory", [0, 0, 0, 1], 7),
    ];
    let contents = [
        content_type(31, "UTFConstant", 8, 0),
        content_type(7, "Thread", 6, 1),
        content_type(10, "Class", 8, 2),
        content_type(32, "Method", 8, 3),
        content_type(9, "StackTrace", 8, 5),
    ];
    let sample = |thread: u32| sized(&[int(20), long(2_000), int(thread), long(5)]);
    let park = sized(&[int(21), long(3_000), long(1_500), int(77), long(5), long(1)]);
    let other = sized(&[int(22), long(3_000), long(1)]);
    let events = [sample(77), sample(78), park, other].concat();
    let symbol = |key: u64, name: &str| [long(key), text(name)].concat();
    let frame = |method: u64, line: u32| [long(method), int(line)].concat();
    let constants = checkpoint(
        0,
        &[
            pool(31, &[symbol(1, "a/Shop"), symbol(2, "work"), symbol(3, "main")]),
            pool(7, &[[int(77), text("worker")].concat()]),
            pool(10, &[[long(1), long(1)].concat()]),
            pool(32, &[[long(1), long(1), long(2)].concat(), [long(2), long(1), long(3)].concat()]),
            pool(9, &[[long(5), vec![0], list(&[frame(1, 12), frame(2, 7)])].concat()]),
        ],
    );
    let last = events.len();
    chunk(producer(&structures, &kinds, &contents), &[events, constants].concat(), last)
}

#[test]
fn samples_and_waits_have_the_names_of_later_versions() {
    let bytes = recording();
    assert_eq!(fold(&Jfr, &bytes, &CollapseOptions::default()), "a.Shop.main;a.Shop.work 2\n");
    let wait = ValueSelection::Named(vec![b"jdk.ThreadPark.duration".to_vec()]);
    let wait = CollapseOptions { values: wait, tid: true, srcline: true, ..CollapseOptions::default() };
    assert_eq!(fold(&Jfr, &bytes, &wait), "worker-?/77;a.Shop.main:7;a.Shop.work:12 1500000\n");
    // A recording is chunks one after the other.
    assert_eq!(
        fold(&Jfr, [&bytes[..], &bytes].concat(), &CollapseOptions::default()),
        "a.Shop.main;a.Shop.work 4\n"
    );
}

#[test]
fn damage_is_said_and_takes_little_time() {
    let bytes = recording();
    for end in 0..bytes.len() {
        assert!(
            collapse_bytes(&Jfr, &bytes[..end], &CollapseOptions::default()).is_err() || end == 0,
            "{end}"
        );
    }
    for at in 0..bytes.len() {
        let mut damaged = bytes.clone();
        damaged[at] ^= 0x81;
        let _ = collapse_bytes(&Jfr, damaged, &CollapseOptions::default());
    }
}

#[test]
fn structures_that_take_no_bytes_take_no_time() {
    // Each has forty of the one before.
    let nested = (1..=8).map(|n| list(&vec![field("a", 14, 0, n - 1); 40]));
    let structures: Vec<Vec<u8>> = std::iter::once(list(&[])).chain(nested).collect();
    let bytes = chunk(
        producer(&structures, &[], &[content_type(31, "Nested", 8, 8)]),
        &checkpoint(0, &[pool(31, &[long(1)])]),
        0,
    );
    assert!(collapse_bytes(&Jfr, bytes, &CollapseOptions::default()).is_err());
}

#[test]
fn checkpoints_within_each_other_are_none() {
    const HEAD: usize = 44;
    let structures = [list(&[field("bytes", 13, 0, 1)])];
    let within = |count: usize| {
        let mut content = Vec::new();
        for n in (0..count).rev() {
            // Its only constant is a list of all bytes that follow.
            let before = if n == 0 { 0 } else { 16 + (n - 1) * HEAD };
            let bytes = [int(content.len() as u32), content].concat();
            content = checkpoint(before as u64, &[pool(31, &[[long(1), bytes].concat()])]);
        }
        assert_eq!(content.len(), count * HEAD);
        let last = (count - 1) * HEAD;
        chunk(producer(&structures, &[], &[content_type(31, "Bytes", 8, 0)]), &content, last)
    };
    assert!(Chunk::read(&within(1), None).is_some());
    assert!(Chunk::read(&within(300), None).is_none());
}

/// A structure of one byte takes a hundred in memory.
#[cfg(target_os = "linux")]
#[test]
fn constants_keep_to_the_limit_of_memory() {
    let structures = [list(&[field("byte", 1, 0, 0)]), list(&[field("all", 15, 0, 0)])];
    let all = [long(1), int(1 << 20), vec![7; 1 << 20]].concat();
    let bytes = chunk(
        producer(&structures, &[], &[content_type(31, "Bytes", 8, 1)]),
        &checkpoint(0, &[pool(31, &[all])]),
        0,
    );
    let meter = Meter::new(Limits::NONE.memory(16 << 20)).unwrap();
    assert!(Chunk::read(&bytes, Some(&meter)).is_none());
    assert!(meter.expect_within().is_err());
    assert!(Chunk::read(&bytes, None).is_some());
}
