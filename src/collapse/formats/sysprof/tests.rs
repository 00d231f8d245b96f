//! Captures put together frame by frame.

use super::*;
use crate::collapse::CollapseOptions;
use crate::collapse::ValueSelection;
use crate::collapse::tests::{collapse_bytes, fold};

/// A capture in one of the byte orders.
struct Capture {
    bytes: Vec<u8>,
    is_big: bool,
}

impl Capture {
    fn new(is_big: bool) -> Capture {
        let mut capture = Capture { bytes: vec![0x5e, 0x97, 0xca, 0xfd, 1, u8::from(!is_big), 0, 0], is_big };
        capture.bytes.extend_from_slice(b"2026-11-22T10:30:15Z");
        capture.bytes.resize(72, 0);
        let times = [capture.long(1_000), capture.long(3_000_000_000)].concat();
        capture.bytes.extend_from_slice(&times);
        capture.bytes.resize(256, 0);
        capture
    }

    fn short(&self, number: u16) -> Vec<u8> {
        if self.is_big { number.to_be_bytes().to_vec() } else { number.to_le_bytes().to_vec() }
    }

    fn int(&self, number: u32) -> Vec<u8> {
        if self.is_big { number.to_be_bytes().to_vec() } else { number.to_le_bytes().to_vec() }
    }

    fn long(&self, number: u64) -> Vec<u8> {
        if self.is_big { number.to_be_bytes().to_vec() } else { number.to_le_bytes().to_vec() }
    }

    fn frame(&mut self, kind: u8, process: u32, time: u64, fields: &[u8]) {
        let len = (24 + fields.len()).next_multiple_of(8);
        let end = self.bytes.len() + len;
        let head = [self.short(len as u16), self.short(0xffff), self.int(process), self.long(time)].concat();
        self.bytes.extend_from_slice(&head);
        self.bytes.extend_from_slice(&[kind, 0, 0, 0, 0, 0, 0, 0]);
        self.bytes.extend_from_slice(fields);
        self.bytes.resize(end, 0);
    }

    fn sample(&mut self, process: u32, time: u64, addresses: &[u64]) {
        let mut fields = [self.short(addresses.len() as u16), self.short(0), self.int(process + 1)].concat();
        addresses.iter().for_each(|address| fields.extend(self.long(*address)));
        self.frame(2, process, time, &fields);
    }

    fn allocation(&mut self, time: u64, address: u64, size: u64, addresses: &[u64]) {
        let mut fields = [self.long(address), self.long(size), self.int(8)].concat();
        fields.extend([self.short(addresses.len() as u16), self.short(0)].concat());
        addresses.iter().for_each(|address| fields.extend(self.long(*address)));
        self.frame(14, 7, time, &fields);
    }

    /// A file of names, in two parts.
    fn symbols(&mut self, symbols: &[(u64, u64, u32, &str)]) {
        let mut texts = Vec::new();
        let mut table = Vec::new();
        let start = (symbols.len() + 1) * 32;
        for (first, last, process, name) in symbols {
            table.extend([self.long(*first), self.long(*last), self.int(*process)].concat());
            table.extend([self.int((start + texts.len()) as u32), self.long(0)].concat());
            texts.extend_from_slice(name.as_bytes());
            texts.push(0);
        }
        table.resize(start, 0);
        table.extend(texts);
        let (first, last) = table.split_at(40);
        for (part, is_last) in [(first, false), (last, true)] {
            let mark = if self.is_big { 0x80 } else { 1 };
            let mut fields = vec![0; 2];
            fields[0] = if is_last { mark } else { 0 };
            fields.extend(self.short(part.len() as u16));
            // What stands behind the zero is not part of the name.
            let mut path = b"__symbols__\0garbage".to_vec();
            path.resize(256, 0);
            fields.extend(path);
            fields.extend_from_slice(part);
            self.frame(13, 7, 0, &fields);
        }
    }
}

/// The marks that perf puts before the kernel's addresses, and before those of the program.
const KERNEL: u64 = -128i64 as u64;
const USER: u64 = -512i64 as u64;

/// A capture of samples of a process and its child, and of allocations.
fn capture(is_big: bool) -> Capture {
    let mut capture = Capture::new(is_big);
    capture.frame(4, 7, 0, b"/home/user/app/orders --fast\0");
    capture.frame(
        11,
        7,
        0,
        &[vec![b'x'; 40], b"[profiler]\nspawn-argv=./orders;--fast;\n\0".to_vec()].concat(),
    );
    capture.sample(7, 2_000, &[USER, 0x1010, 0x2000]);
    let child = capture.int(9);
    capture.frame(5, 7, 0, &child);
    capture.sample(9, 3_000, &[KERNEL, 0xffff_ffff_8000_0000, USER, 0x1010, 0xbeef]);
    capture.sample(7, 4_000, &[]);
    // Compiled code has a name by its address.
    let names =
        [capture.int(2), capture.long(0x9000), b"a\0".to_vec(), capture.long(0x9100), b"jit\0".to_vec()];
    capture.frame(7, 7, 0, &names.concat());
    capture.sample(7, 5_000, &[USER, 0x9100, 0x2000]);
    capture.allocation(6_000, 0x50, 100, &[0x1010, 0x2000]);
    capture.allocation(7_000, 0x60, 40, &[0x2000]);
    capture.allocation(8_000, 0x50, 0, &[]);
    capture.frame(10, 7, 0, &[0; 80]);
    capture.symbols(&[
        (0x1000, 0x1010, 7, "leaf(int)"),
        (0x2000, 0x2000, 7, "main@@GLIBC_2.2.5"),
        (0x1010, 0x1010, 9, "child"),
        (0xffff_ffff_8000_0000, 0xffff_ffff_8000_0000, 9, "do_idle"),
    ]);
    capture
}

fn value(name: &str) -> CollapseOptions {
    CollapseOptions { values: ValueSelection::Named(vec![name.into()]), ..CollapseOptions::default() }
}

#[test]
fn samples_have_the_names_of_their_process() {
    for is_big in [false, true] {
        let bytes = capture(is_big).bytes;
        let (folded, report) = collapse_bytes(&Sysprof, &bytes, &CollapseOptions::default()).unwrap();
        let expected =
            "orders;[no stack] 1\norders;[unknown];child;do_idle 1\norders;main;jit 1\norders;main;leaf 1\n";
        assert_eq!(folded, expected, "{is_big}");
        assert!(report.not_understood.doubts.is_empty() && report.notes.is_empty(), "{report:?}");
        assert_eq!(report.facts.command.as_deref(), Some("./orders --fast"));
        assert_eq!(report.facts.duration.map(|passed| passed.as_nanos()), Some(2_999_999_000));
        let start = report.facts.start.map(|start| humantime::format_rfc3339_seconds(start).to_string());
        assert_eq!(start.as_deref(), Some("2026-11-22T10:30:15Z"));
    }
}

#[test]
fn blocks_that_are_released_are_only_allocated() {
    let bytes = capture(false).bytes;
    assert_eq!(fold(&Sysprof, &bytes, &value("allocated")), "orders;main 40\norders;main;leaf 100\n");
    assert_eq!(fold(&Sysprof, &bytes, &value("unreleased")), "orders;main 40\n");
}

#[test]
fn threads_and_kernel_are_shown_when_asked_for() {
    let options = CollapseOptions { tid: true, kernel: true, ..CollapseOptions::default() };
    let folded = fold(&Sysprof, capture(false).bytes, &options);
    assert!(folded.contains("orders-9/10;[unknown];child;do_idle_[k] 1\n"), "{folded}");
    assert!(folded.contains("orders-7/8;main;leaf 1\n"), "{folded}");
}

#[test]
fn a_capture_without_names_or_end_says_so() {
    let whole = capture(false).bytes;
    let mut capture = Capture::new(false);
    capture.sample(7, 2_000, &[USER, 0x1010]);
    let (folded, report) = collapse_bytes(&Sysprof, &capture.bytes, &CollapseOptions::default()).unwrap();
    assert_eq!(folded, "[unnamed];[unknown] 1\n");
    assert!(report.notes.iter().any(|note| note.contains("no names of functions")), "{:?}", report.notes);
    let (_, report) =
        collapse_bytes(&Sysprof, &whole[..whole.len() - 9], &CollapseOptions::default()).unwrap();
    let doubts = report.not_understood.doubts;
    assert!(doubts[0].starts_with("the capture is cut off at byte "), "{doubts:?}");
}

#[test]
fn a_process_that_is_named_later_has_that_name_from_the_start() {
    let mut capture = Capture::new(false);
    capture.allocation(1, 0x50, 100, &[0x10]);
    capture.frame(4, 7, 2, b"orders\0");
    capture.symbols(&[(0x10, 0x10, 7, "main")]);
    assert_eq!(fold(&Sysprof, &capture.bytes, &value("allocated")), "orders;main 100\n");
}

#[test]
fn damage_is_an_error_with_a_place() {
    let error = |bytes: &[u8]| {
        let result = collapse_bytes(&Sysprof, bytes, &CollapseOptions::default());
        result.err().map(|e| e.to_string()).unwrap_or_default()
    };
    let whole = capture(false).bytes;
    let mut short = whole.clone();
    short[256] = 8;
    assert!(error(&short).contains("one of 8 bytes"), "{}", error(&short));
    let mut version = whole.clone();
    version[4] = 2;
    assert!(error(&version).contains("version 1"), "{}", error(&version));
    assert!(error(&whole[..100]).contains("256 bytes"), "{}", error(&whole[..100]));
    // A sample that states more addresses than it has.
    let mut long = Capture::new(false);
    long.sample(7, 1, &[USER, 1]);
    long.bytes[256 + 24] = 9;
    assert!(error(&long.bytes).contains("a frame of a capture"), "{}", error(&long.bytes));
    // Two captures one behind the other.
    assert!(error(&whole.repeat(2)).contains("a frame of a capture"));
}
