//! Traces put together field by field, and their stacks.

use std::io::Write;

use super::*;
use crate::bytes::push_varint;
use crate::collapse::CollapseOptions;
use crate::collapse::ValueSelection;
use crate::collapse::tests::collapse_bytes;

/// A field of a message.
enum F<'a> {
    N(u32, u64),
    T(u32, &'a str),
    M(u32, Vec<F<'a>>),
    B(u32, Vec<u8>),
}
use F::{B, M, N, T};

fn encode(fields: &[F<'_>]) -> Vec<u8> {
    let mut out = Vec::new();
    for field in fields {
        let (number, bytes) = match field {
            N(number, value) => {
                push_varint(u64::from(*number) << 3, &mut out);
                push_varint(*value, &mut out);
                continue;
            }
            T(number, text) => (number, text.as_bytes().to_vec()),
            M(number, fields) => (number, encode(fields)),
            B(number, bytes) => (number, bytes.clone()),
        };
        push_varint(u64::from(*number) << 3 | 2, &mut out);
        push_varint(bytes.len() as u64, &mut out);
        out.extend_from_slice(&bytes);
    }
    out
}

fn text(field: u32, id: u64, text: &str) -> F<'_> {
    M(field, vec![N(1, id), T(2, text)])
}

/// `main` calls `work`, and code of libc without a name.
fn interned<'a>() -> F<'a> {
    M(
        12,
        vec![
            text(5, 1, "main"),
            text(5, 2, "_ZN4shop4workEv"),
            text(17, 1, "system"),
            text(17, 2, "libc.so"),
            M(19, vec![N(1, 1), N(7, 1), N(7, 2)]),
            M(6, vec![N(1, 1), N(2, 1)]),
            M(6, vec![N(1, 2), N(2, 2)]),
            M(6, vec![N(1, 3), N(3, 1), N(4, 0x7f01)]),
            M(7, vec![N(1, 1), B(2, vec![1, 2])]),
            M(7, vec![N(1, 2), N(2, 1), N(2, 3)]),
        ],
    )
}

fn perf_sample<'a>(time: u64, pid: u64, stack: u64) -> F<'a> {
    M(1, vec![N(8, time), N(10, 3), M(66, vec![N(2, pid), N(3, pid + 1), N(4, stack)])])
}

fn collapsed(trace: &[u8], options: &CollapseOptions) -> (String, Vec<String>) {
    assert_eq!(Perfetto.detect(trace), Certainty::Yes);
    let (folded, report) = collapse_bytes(&Perfetto, trace, options).unwrap();
    (folded, report.notes)
}

fn choose(name: &str) -> CollapseOptions {
    CollapseOptions {
        values: ValueSelection::Named(vec![name.as_bytes().to_vec()]),
        ..CollapseOptions::default()
    }
}

#[test]
fn samples_of_the_processor_have_stacks_of_their_sequence() {
    let trace = encode(&[
        M(1, vec![N(10, 1), M(2, vec![M(1, vec![N(1, 70), T(3, "/bin/shop"), T(3, "-x")])])]),
        M(1, vec![N(10, 3), N(41, 1), interned()]),
        perf_sample(1000, 70, 1),
        perf_sample(2000, 70, 1),
        perf_sample(4000, 70, 2),
        // Another writer has no such stack, and one sample has none.
        M(1, vec![N(8, 5000), N(10, 4), M(66, vec![N(2, 70), N(3, 71), N(4, 1)])]),
        perf_sample(6000, 70, 0),
        M(1, vec![N(10, 3), M(66, vec![N(17, 12)])]),
        M(1, vec![N(10, 3), M(66, vec![N(2, 70), N(18, 2)])]),
    ]);
    let (folded, notes) = collapsed(&trace, &CollapseOptions::default());
    assert_eq!(folded, "[no stack] 2\nmain;[libc.so] 1\nmain;shop::work 2\n");
    assert_eq!(
        notes,
        [
            "1 samples have lost their stacks; they are [no stack]",
            "12 records were dropped by the kernel while it recorded",
            "1 samples were skipped by the profiler"
        ]
    );
    let options = CollapseOptions { tid: true, addrs: true, ..CollapseOptions::default() };
    assert!(collapsed(&trace, &options).0.contains("/bin/shop-70/71;main;[libc.so <7f01>] 1\n"));
}

#[test]
fn processes_are_frames_where_there_are_several() {
    let trace = encode(&[
        M(1, vec![N(10, 3), interned()]),
        perf_sample(1000, 70, 1),
        perf_sample(1000, 80, 1),
        M(1, vec![N(10, 9), M(60, vec![N(1, 5), M(3, vec![N(1, 80), T(6, "other")])])]),
    ]);
    let (folded, _) = collapsed(&trace, &CollapseOptions::default());
    assert_eq!(folded, "[unnamed];main;shop::work 1\nother;main;shop::work 1\n");
}

#[test]
fn what_was_cleared_is_void() {
    let trace =
        encode(&[M(1, vec![N(10, 3), interned()]), M(1, vec![N(10, 3), N(13, 1)]), perf_sample(1000, 70, 1)]);
    assert_eq!(collapsed(&trace, &CollapseOptions::default()).0, "[no stack] 1\n");
}

#[test]
fn chromes_samples_are_of_the_thread_of_their_sequence() {
    let trace = encode(&[
        M(1, vec![N(10, 3), interned(), M(44, vec![N(1, 7), N(2, 8), T(5, "CrMain"), N(6, 500)])]),
        M(1, vec![N(10, 3), M(54, vec![N(1, 1), N(1, 2), N(2, 10), N(2, 20)])]),
    ]);
    let (folded, _) = collapsed(&trace, &CollapseOptions::default());
    assert_eq!(folded, "main;[libc.so] 1\nmain;shop::work 1\n");
    let named = CollapseOptions { threads_as_frames: Some(true), ..CollapseOptions::default() };
    assert!(collapsed(&trace, &named).0.starts_with("CrMain;main;"));
}

#[test]
fn the_last_state_of_a_heap_counts() {
    let dump = |allocated: u64, freed: u64| {
        let sample = vec![N(1, 1), N(2, allocated), N(3, freed), N(5, 3)];
        M(1, vec![N(8, 1), N(10, 3), M(37, vec![M(5, vec![N(1, 70), M(2, sample)])])])
    };
    let trace = encode(&[M(1, vec![N(10, 3), interned()]), dump(100, 0), dump(400, 150)]);
    assert_eq!(collapsed(&trace, &CollapseOptions::default()).0, "main;shop::work 250\n");
    assert_eq!(collapsed(&trace, &choose("allocated")).0, "main;shop::work 400\n");
    assert_eq!(collapsed(&trace, &choose("allocations")).0, "main;shop::work 3\n");
}

#[test]
fn names_that_were_appended_are_used() {
    let line = |name| M(2, vec![T(1, name), T(2, "/src/malloc.c"), N(3, 12)]);
    let symbols = vec![T(1, "/system/libc.so"), M(3, vec![N(1, 0x7f01), line("inner"), line("outer")])];
    let trace = encode(&[
        M(1, vec![N(10, 3), interned()]),
        perf_sample(1000, 70, 2),
        M(1, vec![N(10, 5), M(61, symbols)]),
    ]);
    assert_eq!(collapsed(&trace, &CollapseOptions::default()).0, "main;outer;inner 1\n");
    let options = CollapseOptions { no_inline: true, srcline: true, ..CollapseOptions::default() };
    assert_eq!(collapsed(&trace, &options).0, "main;outer (malloc.c:12) 1\n");
}

#[test]
fn stack_samples_weigh_what_their_counter_says() {
    let sample = vec![
        N(2, 4),
        M(5, vec![N(2, 1), N(2, 2)]),
        M(9, vec![T(2, "wall-time"), N(3, 1), N(5, 1000)]),
        N(11, 7),
    ];
    let tables = M(12, vec![M(2000, vec![N(1, 4), N(2, 70), N(3, 71)])]);
    let trace =
        encode(&[M(1, vec![N(10, 3), interned()]), M(1, vec![N(8, 5), N(10, 3), tables, M(135, sample)])]);
    let (folded, report) = collapse_bytes(&Perfetto, &trace, &CollapseOptions::default()).unwrap();
    assert_eq!((folded.as_str(), report.unit()), ("main;shop::work 7000\n", Some("ns")));
}

#[test]
fn packets_may_be_compressed() {
    let inner = encode(&[M(1, vec![N(10, 3), interned()]), perf_sample(1000, 70, 1)]);
    let mut zlib = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::fast());
    zlib.write_all(&inner).unwrap();
    let zstd = ruzstd::encoding::compress_to_vec(&inner[..], ruzstd::encoding::CompressionLevel::Fastest);
    for (field, bytes) in [(50, zlib.finish().unwrap()), (133, zstd)] {
        let trace = encode(&[M(1, vec![B(field, bytes)])]);
        assert_eq!(collapsed(&trace, &CollapseOptions::default()).0, "main;shop::work 1\n");
        let trace = encode(&[M(1, vec![B(field, vec![7; 30])])]);
        let error = collapse_bytes(&Perfetto, &trace, &CollapseOptions::default()).unwrap_err().to_string();
        assert!(error.contains("cannot be unpacked"), "{error}");
    }
}

#[test]
fn other_messages_are_no_trace() {
    // A sample type of pprof, resources of OTLP, nothing.
    for fields in [
        vec![M(1, vec![N(1, 1), N(2, 2)])],
        vec![M(1, vec![M(1, vec![]), M(2, vec![])])],
        vec![N(1, 3)],
        vec![],
    ] {
        assert_eq!(Perfetto.detect(&encode(&fields)), Certainty::No);
    }
    let cut = &encode(&[perf_sample(1000, 70, 0), perf_sample(2000, 70, 0)]);
    let (folded, report) =
        collapse_bytes(&Perfetto, &cut[..cut.len() - 1], &CollapseOptions::default()).unwrap();
    assert_eq!(folded, "[no stack] 1\n");
    assert!(report.notes[0].contains("cut off"), "{:?}", report.notes);
}

/// A line of atrace on a thread.
fn atrace(time: u64, tid: u64, line: &str) -> F<'_> {
    M(2, vec![N(1, time), N(2, tid), M(5, vec![T(2, line)])])
}

#[test]
fn atrace_lines_nest_on_their_thread() {
    let trace = encode(&[
        M(1, vec![N(10, 1), M(2, vec![M(2, vec![N(1, 12), T(2, "RenderThread"), N(3, 10)])])]),
        // Two processors, each with its own lines: the order of the file is not that of time.
        M(1, vec![N(10, 2), M(1, vec![atrace(5000, 12, "E\n"), atrace(9000, 12, "E|10\n")])]),
        M(
            1,
            vec![
                N(10, 3),
                M(
                    1,
                    vec![
                        atrace(1000, 12, "B|10|doFrame 1;2\n"),
                        atrace(2000, 12, "B|10|draw"),
                        atrace(2500, 12, "C|10|buffers|3"),
                        atrace(3000, 13, "E|10\n"),
                    ],
                ),
            ],
        ),
    ]);
    let (folded, notes) = collapsed(&trace, &CollapseOptions::default());
    assert_eq!(folded, "RenderThread;doFrame 1:2 5\nRenderThread;doFrame 1:2;draw 3\n");
    assert_eq!(
        notes,
        [
            "1 slices end that began before the trace; they are left out",
            "1 events have no stack (instants, counters, asynchronous ones, …); they are left out"
        ]
    );
}

#[test]
fn slices_on_tracks_of_no_thread_are_a_value_of_their_own() {
    let event = |time: u64, fields: Vec<F<'static>>| M(1, vec![N(8, time), N(10, 3), M(11, fields)]);
    let trace = encode(&[
        M(1, vec![N(10, 3), M(60, vec![N(1, 5), M(4, vec![N(1, 70), N(2, 71), T(5, "main")])])]),
        M(1, vec![N(10, 3), M(60, vec![N(1, 6), T(2, "requests"), N(5, 5)])]),
        M(
            1,
            vec![
                N(10, 3),
                N(13, 2),
                M(12, vec![text(2, 1, "parse"), text(1, 1, "shop")]),
                M(59, vec![M(11, vec![N(11, 5)])]),
            ],
        ),
        // By the defaults, by a number, with a name of its own, and of Chrome's older kind.
        event(1000, vec![N(9, 1), N(10, 1), N(3, 1)]),
        event(1000, vec![N(9, 1), N(11, 6), T(23, "GET /")]),
        event(3000, vec![M(6, vec![N(1, 1), N(2, u64::from(b'X')), N(3, 2)])]),
        event(9000, vec![N(9, 2)]),
        event(4000, vec![N(9, 2), N(11, 6)]),
        event(4000, vec![N(9, 3), N(11, 6)]),
    ]);
    let (folded, notes) = collapsed(&trace, &CollapseOptions::default());
    assert_eq!(folded, "parse 6\nparse;parse 2\n");
    assert_eq!(
        notes,
        ["1 events have no stack (instants, counters, asynchronous ones, …); they are left out"]
    );
    assert_eq!(collapsed(&trace, &choose("tracks")).0, "requests;GET / 3\n");
}

#[test]
fn times_of_slices_count_from_the_snapshot_of_their_writer() {
    let clock = |id, time| {
        M(1, vec![N(1, id), N(2, time), N(3, u64::from(id == 64)), N(4, if id == 64 { 1000 } else { 1 })])
    };
    let event = |kind: u64, delta: u64| {
        M(1, vec![N(8, delta), N(58, 64), N(10, 3), M(11, vec![N(9, kind), T(23, "a"), N(11, 5)])])
    };
    let trace = encode(&[
        M(1, vec![N(10, 3), M(6, vec![clock(6, 7_000_000), clock(64, 500)])]),
        M(1, vec![N(10, 3), M(60, vec![N(1, 5), M(4, vec![N(1, 70), N(2, 71)])])]),
        event(1, 10),
        event(1, 5),
        event(2, 2),
        event(2, 1),
    ]);
    assert_eq!(collapsed(&trace, &CollapseOptions::default()).0, "a 6\na;a 2\n");
}
