//! A jitdump of node's, in which `hot` was compiled three times, and hostile ones.
//!
//! `node --perf-prof orders.js` (node 20.20) wrote it, in `/build`; of its 2,201 functions five
//! were kept.

use std::fs;

use fg_tools::symbolize::jit::{JitDump, JitSymbol};

use super::objects;

fn dump() -> Vec<u8> {
    fs::read(objects().join("jit-node.dump")).unwrap()
}

fn shown(symbol: Option<JitSymbol<'_>>) -> String {
    let Some(symbol) = symbol else { return String::new() };
    let place = symbol.place.map(|place| format!(" ({})", String::from_utf8_lossy(&place.short())));
    String::from_utf8_lossy(symbol.name).into_owned() + &place.unwrap_or_default()
}

#[test]
fn finds_functions_and_lines() {
    let dump = JitDump::parse(dump()).unwrap();
    assert_eq!(dump.len(), 5);
    for (address, expected) in [
        // Its lines are damaged.
        (0x7f2c_35fc_5b80, "JS:^hot /build/orders.js:1:13"),
        (0x7f2c_35fc_6600, "JS:*hot /build/orders.js:1:13 (orders.js:1)"),
        (0x7f2c_35fc_6a40, "JS:*hot /build/orders.js:1:13 (orders.js:1)"),
        (0x7f2c_35fc_5b7f, ""),
        (u64::MAX, ""),
    ] {
        assert_eq!(shown(dump.find(address, None)), expected, "{address:#x}");
    }
    assert_eq!(shown(dump.find(0x018c_5c90, None)), "Builtin:CallBoundFunction");
}

/// A record: its type, its time, what follows.
fn record(kind: u32, time: u64, body: &[u8]) -> Vec<u8> {
    let size = 16 + body.len() as u32;
    [&kind.to_le_bytes()[..], &size.to_le_bytes(), &time.to_le_bytes(), body].concat()
}

fn load(address: u64, size: u64, index: u64, name: &str) -> Vec<u8> {
    let numbers = [address, address, size, index].map(u64::to_le_bytes).concat();
    [&[0; 8][..], &numbers, name.as_bytes(), b"\0\x90\x90"].concat()
}

fn header() -> Vec<u8> {
    let mut header = b"DTiJ".to_vec();
    header.extend([1, 0, 0, 0, 40, 0, 0, 0]);
    header.resize(40, 0);
    header
}

#[test]
fn code_at_an_address_depends_on_time() {
    let moved = [&[0; 8][..], &[0u64, 0x1000, 0x3000, 0x100, 7].map(u64::to_le_bytes).concat()].concat();
    let bytes = [
        header(),
        record(0, 10, &load(0x1000, 0x100, 7, "early")),
        record(1, 20, &moved),
        record(0, 30, &load(0x1000, 0x80, 8, "late")),
    ];
    let dump = JitDump::parse(bytes.concat()).unwrap();
    let find = |at, time| shown(dump.find(at, time));
    assert_eq!(find(0x1010, Some(15)), "early");
    assert_eq!(find(0x1010, Some(30)), "late");
    assert_eq!(find(0x1010, None), "late");
    assert_eq!(find(0x1010, Some(1)), "late", "a clock of another kind");
    assert_eq!(find(0x1090, None), "early");
    assert_eq!(find(0x3010, None), "early");
    assert_eq!(find(0x5000, None), "");
}

#[test]
fn the_other_byte_order() {
    let mut bytes = b"JiTD\0\0\0\x01\0\0\0\x28".to_vec();
    bytes.resize(40, 0);
    let numbers = [0u64, 0x1000, 0x1000, 0x10, 1].map(u64::to_be_bytes).concat();
    bytes.extend([0, 0, 0, 0, 0, 0, 0, 58]);
    bytes.extend([0; 8]);
    bytes.extend(numbers);
    bytes.extend(b"f\0");
    assert_eq!(shown(JitDump::parse(bytes).unwrap().find(0x1001, None)), "f");
}

#[test]
fn cut_or_damaged_anywhere() {
    let whole = dump();
    for length in 0..whole.len() {
        if let Some(dump) = JitDump::parse(whole[..length].to_vec()) {
            dump.find(0x7f2c_35fc_5c40, Some(5));
        }
    }
    for at in 0..whole.len() {
        let mut bytes = whole.clone();
        let end = (at + 4).min(bytes.len());
        bytes[at..end].fill(0xff);
        if let Some(dump) = JitDump::parse(bytes) {
            dump.find(0x7f2c_35fc_5c40, None);
        }
    }
    assert!(JitDump::parse(b"JiTX".to_vec()).is_none());
    assert!(JitDump::parse(Vec::new()).is_none());
    // A record of no size would never end.
    assert_eq!(JitDump::parse([header(), vec![0; 64]].concat()).unwrap().len(), 0);
    // A record that claims 2^64 - 1 lines and has none.
    let lines = [0x1000u64.to_le_bytes(), u64::MAX.to_le_bytes()].concat();
    assert_eq!(JitDump::parse([header(), record(2, 0, &lines)].concat()).unwrap().len(), 0);
}
