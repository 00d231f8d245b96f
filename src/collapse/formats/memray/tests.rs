//! Recordings of a few records, made by hand: what a real one of a few seconds never has.

use super::*;
use crate::collapse::CollapseOptions;
use crate::collapse::ValueSelection;
use crate::collapse::tests::collapse_bytes;

/// A header of version 11, of all allocations, without native frames.
fn header_11(main: u64, skipped: u64) -> Vec<u8> {
    let mut bytes = b"memray\0\x0b\0\0\0\0\0".to_vec();
    [0, 0, 1_700_000_000_000, 1_700_000_002_500].iter().for_each(|n: &u64| bytes.extend(n.to_le_bytes()));
    bytes.extend(b"app.py x\0\x07\0\0\0");
    [main, skipped].iter().for_each(|n| bytes.extend(n.to_le_bytes()));
    bytes.extend(b"\x01\0");
    bytes
}

/// Thread 1, frames `outer` and `f` at lines 3 and 5, both entered.
fn two_frames() -> Vec<u8> {
    let mut bytes = b"\x0c\x01\0\0\0\0\0\0\0".to_vec();
    bytes.extend(b"\x03\0outer\0a.py\0\x06\x03\x02f\0a.py\0\x04");
    bytes.extend(b"\x04\x01\x04\x02");
    bytes
}

fn fold(bytes: &[u8], value: &str) -> (String, Report) {
    let named = ValueSelection::Named(vec![value.as_bytes().to_vec()]);
    collapse_bytes(&Memray, bytes, &CollapseOptions { values: named, ..CollapseOptions::default() }).unwrap()
}

/// 16 bytes at 8 by malloc, 32 at 16 by mmap, a free at 8, an unmapping of half at 16, the end.
const EVENTS: &[u8] = b"\x11\x10\x10\xa1\x10\x20\x21\x0f\xb1\x10\x10\x10";

#[test]
fn a_recording_is_replayed() {
    let bytes = [&header_11(1, 0)[..], &two_frames(), EVENTS].concat();
    let (text, report) = fold(&bytes, "peak");
    assert_eq!(text, "outer (a.py:3);f (a.py:5) 48\n");
    assert_eq!(report.facts.command.as_deref(), Some("app.py x"));
    assert_eq!(report.facts.duration, Some(std::time::Duration::from_millis(2500)));
    assert!(report.facts.warnings.is_empty(), "{:?}", report.facts.warnings);
    for (value, weight) in [("leaked", 16), ("allocated", 48), ("allocations", 2), ("leaked-allocations", 1)]
    {
        assert_eq!(fold(&bytes, value).0, format!("outer (a.py:3);f (a.py:5) {weight}\n"), "{value}");
    }
}

#[test]
fn what_stands_behind_the_end_is_said() {
    let bytes = [&header_11(1, 0)[..], &two_frames(), EVENTS].concat();
    assert!(fold(&[&bytes[..], &[0; 99]].concat(), "peak").1.facts.warnings.is_empty());
    let (text, report) = fold(&bytes.repeat(2), "peak");
    assert_eq!(text, "outer (a.py:3);f (a.py:5) 48\n");
    assert!(report.facts.warnings[0].contains("behind the end"), "{:?}", report.facts.warnings);
}

#[test]
fn frames_of_memray_itself_are_left_out() {
    let all = |skipped| [&header_11(1, skipped)[..], &two_frames(), EVENTS].concat();
    assert_eq!(fold(&all(1), "peak").0, "f (a.py:5) 48\n");
    assert_eq!(fold(&all(2), "peak").0, "[no stack] 48\n");
    assert_eq!(fold(&all(u64::MAX), "peak").0, "[no stack] 48\n");
}

#[test]
fn a_recording_of_a_killed_program_is_read_as_far_as_it_goes() {
    let events = &EVENTS[..EVENTS.len() - 1];
    for end in [&b""[..], &[0; 100], b"\x11\x80"] {
        let bytes = [&header_11(1, 0)[..], &two_frames(), events, end].concat();
        let (text, report) = fold(&bytes, "leaked");
        assert_eq!(text, "outer (a.py:3);f (a.py:5) 16\n", "{end:?}");
        assert!(report.facts.warnings.iter().any(|warning| warning.contains("has no end")), "{end:?}");
    }
}

#[test]
fn hostile_records_are_errors() {
    for (records, message) in [
        (&b"\x0d"[..], "a record of memray"),
        (b"\x09", "frames that were entered"),
        (b"\xf0", "a record of memray"),
        (b"\x01\x02", "an allocator"),
        (b"\x05\x02\x04", "a native frame that came before"),
        (b"\x07x\0\x02\0\0\0\0\0\0\0\0\x09", "a segment of a file"),
        (b"\x11\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", "64 bits"),
        (b"\x11\x02\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x11\x04\x01", "more than can be held"),
    ] {
        let bytes = [&header_11(1, 0)[..], records, &[0; 40]].concat();
        let read = collapse_bytes(&Memray, &bytes, &CollapseOptions::default()).map(|(text, _)| text);
        let error = read.expect_err(message).to_string();
        assert!(error.contains(message), "{records:?}: {error}");
    }
    let mut bytes = header_11(1, 0);
    bytes[7] = 10;
    let error = collapse_bytes(&Memray, &bytes, &CollapseOptions::default()).unwrap_err().to_string();
    assert!(error.contains("memray transform"), "{error}");
}

#[test]
fn native_frames_hold_the_python_frames_of_their_loops() {
    use super::frames::{Frames, Key, Names, Stated};
    use crate::collapse::kit::trie::Trie;
    use crate::folded::StackTable;

    let mut frames = Frames::default();
    let mut path = Trie::ROOT;
    for (number, is_entry) in [true, true, false].into_iter().enumerate() {
        let name = format!("p{number}").into_bytes();
        frames.state(number as u64, Stated { function: name, file: Vec::new(), line: 0, is_entry });
        let known = frames.frame_number(Key::Number(number as u64));
        path = frames.paths.below(path, known);
    }
    // main, the loop, call, the loop, malloc; and one loop less.
    frames.begin_files();
    frames.file(b"/bin/python".to_vec(), 0x1000, vec![(0, 0x100)]);
    for (address, caller) in [(0x1001, 0), (0x1002, 1), (0x1003, 2), (0x1002, 3), (0x1004, 4), (0x1004, 3)] {
        frames.native(address, caller).unwrap();
    }
    let mut table = StackTable::default();
    let mut names = Names::default();
    for (address, name, is_loop) in
        [(0x1001, "main", false), (0x1002, "loop", true), (0x1003, "call", false), (0x1004, "malloc", false)]
    {
        names.know(address, 1, table.frame(name.as_bytes()), is_loop);
    }
    let mut shown = |native, skipped| {
        let mut stack = Vec::new();
        names.append(&frames, (path, native, 1), skipped, &mut table, &mut stack).unwrap();
        let names: Vec<_> =
            stack.iter().map(|id| String::from_utf8_lossy(table.name(*id)).into_owned()).collect();
        names.join(";")
    };
    assert_eq!(shown(5, 0), "main;p0;call;p1;p2;malloc");
    assert_eq!(shown(5, 1), "p1;p2;malloc");
    // Not each frame of Python has its loop: memray shows those of Python only.
    assert_eq!(shown(6, 0), "p0;p1;p2");
    assert_eq!(shown(0, 2), "p2");
}
