//! Traces put together packet by packet.

use super::*;
use crate::collapse::CollapseOptions;
use crate::collapse::ValueSelection;
use crate::collapse::tests::{collapse_bytes, fold};

const START: u64 = 1_763_800_000_000_000;

/// A packet of a process that begins and ends at times behind the start.
fn packet(
    process: u64,
    times: (u64, u64),
    objects: (u64, u64),
    check: (u16, u16, u64),
    events: &[u8],
) -> Vec<u8> {
    let mut body = [START + times.0, START + times.1].map(u64::to_le_bytes).concat();
    body.extend([0, 0, 0, 0, 3, 0]);
    body.extend(process.to_le_bytes());
    body.extend([0, 0]);
    body.extend([check.0.to_le_bytes(), check.1.to_le_bytes()].concat());
    body.extend([check.2, objects.0, objects.1].map(u64::to_le_bytes).concat());
    body.extend_from_slice(events);
    let bits = (body.len() as u32 + 8) * 8;
    [MAGIC.to_vec(), bits.to_le_bytes().to_vec(), body].concat()
}

const UNCHECKED: (u16, u16, u64) = (0xffff, 0, 0);

fn event(kind: u32, time: u64, fields: &[u8]) -> Vec<u8> {
    let code = kind << 25 | (START + time) as u32 & 0x1ff_ffff;
    [&code.to_le_bytes(), fields].concat()
}

fn info(rate: f64) -> Vec<u8> {
    let texts = b"\x40/bin/orders\0host\0v=0\0";
    let fields = [&rate.to_le_bytes()[..], texts, &7u64.to_le_bytes(), b"a context\0"].concat();
    packet(7, (0, 0), (0, 0), UNCHECKED, &event(0, 0, &fields))
}

/// The code of a location in a slot, as one that is not in the cache.
fn miss(slot: u16, location: u64) -> Vec<u8> {
    [&(slot << 2 | 3).to_le_bytes()[..], &location.to_le_bytes()].concat()
}

fn location(code: u64, names: &[(u8, u8, &str)]) -> Vec<u8> {
    let mut fields = [&code.to_le_bytes()[..], &[names.len() as u8]].concat();
    for (file, function, texts) in names {
        let packed = 12u64 | u64::from(*file) << 38 | u64::from(*function) << 43;
        fields.extend_from_slice(&packed.to_le_bytes()[..6]);
        fields.extend_from_slice(texts.as_bytes());
    }
    event(1, 0, &fields)
}

/// Two places, one of which holds an inlined function, and three allocations, of which one is collected.
fn trace() -> Vec<u8> {
    let places = [
        location(0xa, &[(31, 31, "a.ml\0main;\0")]),
        location(0xb, &[(0, 31, "work\0"), (31, 31, "b.ml\0push.(fun)\0"), (1, 1, "")]),
    ];
    let events = [
        // Two words, one sample; main above work.
        event(102, 10, &[&[0, 2][..], &miss(5, 0xa), &miss(9, 0xb)].concat()),
        // Of the same stack the first frame, and then nothing.
        event(2, 20, &[253, 0, 4, 3, 1, 1, 0, 0]),
        // From the cache, and the one that is predicted behind it.
        event(2, 30, &[&[9, 1, 2, 0, 1, 0][..], &(5u16 << 2 | 1).to_le_bytes()].concat()),
        event(3, 40, &[0]),
        event(4, 50, &[2]),
    ];
    let behind = (9, 0, 0xb);
    [
        info(0.001),
        packet(7, (0, 0), (0, 0), UNCHECKED, &places.concat()),
        packet(7, (0, 60), (0, 3), UNCHECKED, &events.concat()),
        packet(8, (0, 60), (0, 3), UNCHECKED, b"of a child"),
        packet(7, (60, 70), (3, 3), behind, b""),
    ]
    .concat()
}

fn value(name: &str) -> CollapseOptions {
    CollapseOptions { values: ValueSelection::Named(vec![name.into()]), ..CollapseOptions::default() }
}

#[test]
fn allocations_are_bytes_and_some_are_live() {
    let bytes = trace();
    assert_eq!(Memtrace.detect(&bytes), Certainty::Magic);
    let (folded, report) = collapse_bytes(&Memtrace, &bytes, &CollapseOptions::default()).unwrap();
    assert_eq!(folded, "main: 24000\nmain:;work;push.(fun);main: 16000\n");
    assert_eq!(report.notes, ["1 packets are of processes that it forked, which are not read"]);
    assert!(report.not_understood.doubts.is_empty(), "{report:?}");
    assert_eq!(fold(&Memtrace, &bytes, &value("live")), "main: 24000\nmain:;work;push.(fun);main: 8000\n");
    let facts = report.facts;
    assert_eq!((facts.command.as_deref(), facts.host.as_deref()), (Some("/bin/orders"), Some("host")));
    assert_eq!(facts.duration.map(|passed| passed.as_micros()), Some(50));
    assert_eq!((facts.period, facts.comments), (Some(8000u64.into()), vec!["a context".to_owned()]));
}

#[test]
fn inlined_functions_and_lines_are_shown_when_asked_for() {
    let shown = CollapseOptions { inline: true, srcline: true, ..CollapseOptions::default() };
    let folded = fold(&Memtrace, trace(), &shown);
    assert!(
        folded.contains("main: (a.ml:12);work (a.ml:12);push.(fun) (b.ml:12)_[i];main: (a.ml:12)_[i] "),
        "{folded}"
    );
    let hidden = CollapseOptions { no_inline: true, ..CollapseOptions::default() };
    assert_eq!(fold(&Memtrace, trace(), &hidden), "main: 24000\nmain:;work 16000\n");
}

#[test]
fn damage_is_an_error_with_a_place() {
    let error = |bytes: &[u8]| {
        let result = collapse_bytes(&Memtrace, bytes, &CollapseOptions::default());
        result.err().map(|e| e.to_string()).unwrap_or_default()
    };
    let with = |packet: Vec<u8>| [trace(), packet].concat();
    // A time outside of the packet, more objects than are in it, a cache that is not as it says, an unknown kind, a
    // file and a slot that were never named, and a second trace.
    let allocation = event(101, 80, &[0, 0]);
    for packet in [
        packet(7, (0, 70), (3, 4), UNCHECKED, &allocation),
        packet(7, (0, 90), (3, 5), UNCHECKED, &allocation),
        packet(7, (0, 90), (3, 4), (9, 0, 0xc), &allocation),
        packet(7, (0, 90), (3, 3), UNCHECKED, &event(5, 80, &[0])),
        packet(7, (0, 90), (3, 3), UNCHECKED, &location(1, &[(2, 0, "")])),
        packet(7, (0, 90), (3, 3), UNCHECKED, &location(1, &[(0, 7, "")])),
        trace(),
    ] {
        let error = error(&with(packet));
        assert!(error.contains("a packet of events of memtrace") && error.contains("byte "), "{error}");
    }
    assert_eq!(error(&with(packet(7, (0, 90), (3, 4), UNCHECKED, &allocation))), "");
    assert!(error(&info(2.0)).contains("a packet of events"), "{}", error(&info(2.0)));
    let mut version = info(0.5);
    version[28] = 4;
    assert!(error(&version).contains("version 1 to 3"), "{}", error(&version));
    let mut long = info(0.5);
    long[7] = 0xff;
    assert!(error(&long).contains("1048576"), "{}", error(&long));
}

#[test]
fn a_trace_that_is_cut_says_so() {
    let bytes = [trace(), info(0.5)[..50].to_vec()].concat();
    let (folded, report) = collapse_bytes(&Memtrace, &bytes, &CollapseOptions::default()).unwrap();
    assert!(folded.contains("main: 24000\n"), "{folded}");
    let doubts = report.not_understood.doubts;
    assert!(doubts[0].contains("cut off at byte"), "{doubts:?}");
}

#[test]
fn predictions_cannot_fill_the_memory() {
    // Codes of three bytes for 256 frames each, of a slot that follows itself, under a stack that is always another.
    let mut events = event(101, 10, &[&[0, 1][..], &miss(0, 1)].concat());
    let mut objects = 1;
    for n in 0..50u64 {
        let codes = [miss(1, n), [&2u16.to_le_bytes()[..], &[255]].concat().repeat(30)].concat();
        events.extend(event(2, 10, &[&[3, 1, 0, 0, 31, 0][..], &codes].concat()));
        objects += 1;
    }
    let mut bytes = info(0.001);
    bytes.extend(packet(7, (0, 20), (0, objects), UNCHECKED, &events));
    let error = collapse_bytes(&Memtrace, &bytes, &CollapseOptions::default()).unwrap_err().to_string();
    assert!(error.contains("at most 16 frames for each byte"), "{error}");
}
