//! Tests of Java's flight recordings: against `jfr print --json` event by event, and recordings made field by
//! field of what no Java virtual machine at hand writes.

use std::path::Path;

use fg_tools::Profile;
use fg_tools::collapse::{CollapseOptions, ValueSelection};
use fg_tools::input::Source;
use fg_tools::reading::{self, ReadOptions};

use super::jfr_writer::{Element, Numbers, compressed, fixed, types};
use super::{fold, fold_bytes};

/// The cases that have what `jfr print --json` makes of them beside the recording.
const PRINTED: [&str; 3] = ["jdk17", "jdk25", "killed"];

fn path(case: &str, file: &str) -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/jfr").join(case).join(file)
}

#[test]
fn stacks_and_totals_are_those_of_jfr_print_json() {
    for case in PRINTED {
        let all = CollapseOptions {
            values: ValueSelection::All,
            srcline: true,
            tid: true,
            ..CollapseOptions::default()
        };
        for options in [CollapseOptions::default(), all] {
            let (text, total, report) = fold(&path(case, "input.jfr.gz"), Some("jfr"), &options).unwrap();
            let printed = fold(&path(case, "printed.json.gz"), Some("jfr-json"), &options).unwrap();
            assert!(text == printed.0 && total == printed.1, "{case}: {total} of {}", printed.1);
            assert_eq!(report.values, printed.2.values, "{case}");
        }
    }
}

#[test]
fn times_threads_and_labels_are_those_of_jfr_print_json() {
    for case in PRINTED {
        let samples = |file: &str, format: &str| {
            let all = CollapseOptions { values: ValueSelection::All, ..CollapseOptions::default() };
            let options = ReadOptions::default().format(format).collapse(all).samples(true);
            let (profile, _) = reading::read(&[Source::new(path(case, file))], &options).unwrap();
            let mut all: Vec<String> = profile
                .samples()
                .iter()
                .map(|sample| {
                    let stack = stack_of(&profile, sample.stack);
                    let labels: Vec<_> = sample.labels.iter().map(|(k, v)| (text(k), text(v))).collect();
                    let name = text(sample.thread_name);
                    let weight = sample.weights.value;
                    format!("{:?} {:?} {name} {labels:?} {weight} {stack}", sample.time, sample.thread)
                })
                .collect();
            all.sort();
            all
        };
        let (ours, printed) = (samples("input.jfr.gz", "jfr"), samples("printed.json.gz", "jfr-json"));
        assert!(ours.len() > 300, "{case}");
        let differing = ours.iter().zip(&printed).find(|(ours, printed)| ours != printed);
        assert_eq!(differing, None, "{case}");
        assert_eq!(ours.len(), printed.len(), "{case}");
    }
}

/// The frames of a stack, each with a semicolon behind it.
fn stack_of(profile: &Profile, number: usize) -> String {
    profile.stack(number).iter().map(|id| text(profile.stacks().name(*id)) + ";").collect()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// The events of async-profiler: samples of the processor and of all threads, allocations of native code,
/// live objects.
fn async_profiler_types() -> Element {
    types(vec![
        Element::class(
            101,
            "jdk.ExecutionSample",
            &["startTime 5!", "sampledThread 21*", "stackTrace 22*", "state 27*"],
        ),
        Element::class(
            102,
            "profiler.WallClockSample",
            &["startTime 5!", "sampledThread 21*", "stackTrace 22*", "state 27*", "samples 4"],
        ),
        Element::class(
            103,
            "profiler.Malloc",
            &["startTime 5!", "eventThread 21*", "stackTrace 22*", "address 5", "size 5"],
        ),
        Element::class(
            104,
            "jdk.JavaMonitorEnter",
            &["startTime 5!", "duration 5!", "eventThread 21*", "stackTrace 22*", "monitorClass 20*"],
        ),
        Element::class(105, "profiler.Window", &["startTime 5!", "x 8[]"]),
    ])
}

/// The constants of a chunk: two stacks, `Shop.main;Shop.work` and `start_thread;do_syscall_64`.
fn constants(n: Numbers) -> Vec<u8> {
    let frame =
        |method: u64, line: u32, kind: u64| [n.long(method), n.int(line), n.int(0), n.long(kind)].concat();
    let stack = |frames: &[Vec<u8>]| [vec![0], n.int(frames.len() as u32), frames.concat()].concat();
    let symbol = |text: &str| n.text(text);
    n.checkpoint(&[
        n.pool(
            24,
            &[
                (1, symbol("a/Shop")),
                (2, symbol("main")),
                (3, vec![2, 0x07]),
                (4, symbol("start_thread")),
                (5, symbol("do_syscall_64")),
            ],
        ),
        n.pool(8, &[(7, n.text("work"))]),
        n.pool(20, &[(1, n.long(1)), (2, n.long(0))]),
        n.pool(
            23,
            &[
                (1, [n.long(1), n.long(2), vec![0]].concat()),
                (2, [n.long(1), n.long(3), vec![0]].concat()),
                (3, [n.long(2), n.long(4), vec![0]].concat()),
                (4, [n.long(2), n.long(5), vec![0]].concat()),
                (5, [n.long(1), n.long(4), vec![1]].concat()),
            ],
        ),
        n.pool(
            25,
            &[
                (0, n.text("Interpreted")),
                (1, n.text("Inlined")),
                (3, n.text("Native")),
                (5, n.text("Kernel")),
            ],
        ),
        n.pool(27, &[(1, n.text("STATE_RUNNABLE"))]),
        n.pool(
            21,
            &[
                (1, [n.text("os-main"), n.long(7), n.text("main"), n.long(1)].concat()),
                (2, [n.text("GC"), n.long(9), vec![0], n.long(0)].concat()),
            ],
        ),
        n.pool(
            22,
            &[
                (1, stack(&[frame(2, 12, 1), frame(5, 0, 0), frame(1, 7, 0)])),
                (2, stack(&[frame(4, 0, 5), frame(3, 0, 3)])),
            ],
        ),
    ])
}

/// A recording whose numbers are written as `n` says.
fn async_profiler(n: Numbers) -> Vec<u8> {
    let mut constants = constants(n);
    if n.long(7).len() == 8 {
        // The reference to a text is a number like others.
        let at = constants.windows(2).position(|pair| pair == [2, 7]).expect("it is there");
        constants.splice(at..at + 2, [2, 0, 0, 0, 0, 0, 0, 0, 7]);
        let size = (constants.len() as u32).to_be_bytes();
        constants[..4].copy_from_slice(&size);
    }
    let at = |ticks: u64| n.long(1000 + ticks);
    let ids = |thread: u64, stack: u64| [n.long(thread), n.long(stack)].concat();
    n.chunk(
        0,
        &[
            n.event(101, &[at(500_000), ids(1, 1), n.long(1)]),
            n.event(101, &[at(600_000), ids(2, 2), n.long(1)]),
            n.event(102, &[at(0), ids(1, 1), n.long(1), n.int(5)]),
            n.event(103, &[at(0), ids(2, 2), n.long(0xffff_ffff_ffff), n.long(4096)]),
            n.event(104, &[at(0), n.long(1500), ids(1, 1), n.long(1)]),
            n.event(105, &[at(0), n.int(2), n.text("x"), vec![0]]),
            n.event(102, &[at(0), ids(1, 0), n.long(1), n.int(2)]),
            n.metadata(&async_profiler_types()),
            constants,
        ],
    )
}

fn value(name: &str) -> CollapseOptions {
    CollapseOptions {
        values: ValueSelection::Named(vec![name.as_bytes().to_vec()]),
        ..CollapseOptions::default()
    }
}

#[test]
fn async_profilers_events_are_values_in_both_encodings_and_in_several_chunks() {
    for recording in [
        async_profiler(compressed()),
        async_profiler(fixed()),
        [async_profiler(fixed()), async_profiler(compressed())].concat(),
    ] {
        let chunks = recording.windows(4).filter(|bytes| *bytes == b"FLR\0").count();
        for (options, lines) in [
            (
                CollapseOptions { kernel: true, tid: true, srcline: true, ..CollapseOptions::default() },
                &[("GC-?/9;start_thread;do_syscall_64_[k]", 1), ("main-?/1;a.Shop.main:7;a.Shop.work:12", 1)]
                    [..],
            ),
            (value("profiler.WallClockSample"), &[("[no stack]", 2), ("a.Shop.main;a.Shop.work", 5)]),
            (value("profiler.Malloc.size"), &[("start_thread;do_syscall_64", 4096)]),
            (value("jdk.JavaMonitorEnter.duration"), &[("a.Shop.main;a.Shop.work", 1_500_000)]),
        ] {
            let expected: String =
                lines.iter().map(|(stack, weight)| format!("{stack} {}\n", weight * chunks)).collect();
            let (text, _, report) = fold_bytes(&recording, None, &options).unwrap();
            assert_eq!(text, expected);
            assert!(report.notes.is_empty(), "{:?}", report.notes);
        }
    }
}

/// The name of a type in Oracle's JDK 9 and 10.
fn oracles_name(name: &str) -> String {
    let packages = [
        ("jdk.types.", "com.oracle.jfr.types."),
        ("jdk.jfr.", "com.oracle.jfr."),
        ("jdk.", "com.oracle.jdk."),
    ];
    let found = packages.iter().find_map(|(new, old)| Some(format!("{old}{}", name.strip_prefix(new)?)));
    found.unwrap_or_else(|| name.to_owned())
}

#[test]
fn recordings_of_oracles_jdk_9_are_read_as_those_of_later_ones() {
    let n = compressed();
    let event = n.event(101, &[n.long(1000), n.long(1), n.long(1), n.long(1)]);
    let wait = n.event(104, &[n.long(1000), n.long(1500), n.long(1), n.long(1), n.long(1)]);
    let types = async_profiler_types().renamed(&oracles_name);
    // A text inside is none of another format.
    let dump = n
        .event(105, &[n.long(1000), n.int(1), n.text("\nFull thread dump OpenJDK 64-Bit:\n\n\"main\" #1\n")]);
    let mut chunk = n.chunk(0, &[event.clone(), dump, event, wait, n.metadata(&types), constants(n)]);
    chunk[4..8].copy_from_slice(&[0, 1, 0, 0]);
    let (text, ..) = fold_bytes(&chunk, None, &CollapseOptions::default()).unwrap();
    assert_eq!(text, "a.Shop.main;a.Shop.work 2\n");
    let (text, ..) = fold_bytes(&chunk, None, &value("jdk.JavaMonitorEnter.duration")).unwrap();
    assert_eq!(text, "a.Shop.main;a.Shop.work 1500000\n");
}

#[test]
fn the_weight_of_datadogs_samples_is_their_number_and_no_value() {
    let n = compressed();
    let fields = ["startTime 5!", "sampledThread 21*", "stackTrace 22*", "state 27*", "weight 5"];
    let of_jdk = ["startTime 5!", "eventThread 21*", "stackTrace 22*", "weight 5"];
    let types = types(vec![
        Element::class(101, "datadog.ExecutionSample", &fields),
        Element::class(102, "datadog.MethodSample", &fields),
        Element::class(103, "jdk.ObjectAllocationSample", &of_jdk),
    ]);
    let sample = |class: u64, weight: u64| {
        n.event(class, &[n.long(1000), n.long(1), n.long(1), n.long(1), n.long(weight)])
    };
    let allocation = n.event(103, &[n.long(1000), n.long(1), n.long(1), n.long(4096)]);
    let events =
        [sample(101, 3), sample(101, 4), sample(102, 5), allocation, n.metadata(&types), constants(n)];
    let chunk = n.chunk(0, &events);
    for (name, weight, unit) in [
        ("datadog.ExecutionSample", 7, "samples"),
        ("datadog.MethodSample", 5, "samples"),
        ("jdk.ObjectAllocationSample.weight", 4096, "bytes"),
    ] {
        let (text, _, report) = fold_bytes(&chunk, None, &value(name)).unwrap();
        assert_eq!(text, format!("a.Shop.main;a.Shop.work {weight}\n"), "{name}");
        let (found, _) = report.values.iter().find(|(found, _)| found.name == name.as_bytes()).unwrap();
        assert_eq!(found.unit.as_deref(), Some(unit));
    }
    let (.., report) = fold_bytes(&chunk, None, &CollapseOptions::default()).unwrap();
    assert!(!report.values.iter().any(|(value, _)| value.name == b"datadog.ExecutionSample.weight"));
}

#[test]
fn times_threads_states_classes_and_places_come_with_each_sample() {
    let all = CollapseOptions { values: ValueSelection::All, ..CollapseOptions::default() };
    let options = ReadOptions::default().collapse(all).samples(true);
    let (profile, _) = reading::read(&[Source::bytes(async_profiler(compressed()))], &options).unwrap();
    let of = |root: &str| {
        profile.samples().iter().find(|sample| stack_of(&profile, sample.stack).starts_with(root)).unwrap()
    };
    let sample = of("jdk.ExecutionSample;start_thread");
    assert_eq!((sample.time, sample.thread, sample.thread_name), (Some(1_600_000_000), Some(9), &b"GC"[..]));
    assert_eq!(sample.labels, [(&b"state"[..], &b"STATE_RUNNABLE"[..])]);
    let sample = of("jdk.JavaMonitorEnter.duration");
    assert_eq!((sample.thread, sample.labels), (Some(1), vec![(&b"class"[..], &b"a.Shop"[..])]));
}

#[test]
fn a_recording_that_was_not_finished_is_read_as_far_as_it_goes() {
    let n = compressed();
    let event = n.event(101, &[n.long(1000), n.long(1), n.long(1), n.long(1)]);
    let start = [n.metadata(&async_profiler_types()), constants(n), event.clone()];
    let unfinished = n.chunk(1, &[start.concat(), event.clone()]);
    let (text, _, report) = fold_bytes(&unfinished, None, &CollapseOptions::default()).unwrap();
    assert_eq!(text, "a.Shop.main;a.Shop.work 2\n");
    assert!(report.notes[0].contains("did not finish"), "{:?}", report.notes);
    // Cut within an event; and another chunk behind one without a size.
    let cut = &unfinished[..unfinished.len() - 2];
    let (text, _, report) = fold_bytes(cut, None, &CollapseOptions::default()).unwrap();
    assert_eq!(text, "a.Shop.main;a.Shop.work 1\n");
    assert!(report.notes.iter().any(|note| note.contains("cut off at byte")), "{:?}", report.notes);
    let two = [&unfinished[..], &n.chunk(0, &start)].concat();
    assert_eq!(fold_bytes(&two, None, &CollapseOptions::default()).unwrap().0, "a.Shop.main;a.Shop.work 3\n");
    // Events whose stacks were never written, and a chunk that does not say what its events are.
    let lost = n.event(101, &[n.long(1000), n.long(1), n.long(77), n.long(1)]);
    let (text, _, report) =
        fold_bytes(&n.chunk(1, &[start.concat(), lost]), None, &CollapseOptions::default()).unwrap();
    assert_eq!(text, "[no stack] 1\na.Shop.main;a.Shop.work 1\n");
    assert!(report.notes.iter().any(|note| note.contains("stacks of 1 events")), "{:?}", report.notes);
    let error = fold_bytes(&n.chunk(0, &[event]), None, &CollapseOptions::default()).unwrap_err();
    assert!(error.contains("byte 0: expected a description of the events"), "{error}");
}

#[test]
fn hostile_recordings_take_little_time_and_memory() {
    let n = compressed();
    let fold = |recording: &[u8]| fold_bytes(recording, Some("jfr"), &CollapseOptions::default());
    // Types of types of types, and a type that holds itself.
    let mut classes: Vec<Element> = (200..230)
        .map(|id| {
            let (a, b) = (format!("a {}", id + 1), format!("b {}", id + 1));
            Element::class(id, "T", &[&a, &b])
        })
        .collect();
    classes.push(Element::class(300, "Circle", &["a 300", "b 300"]));
    classes.push(Element::class(301, "Empty", &[]));
    classes.push(Element::class(110, "x.Deep", &["t 200", "stackTrace 22*"]));
    classes.push(Element::class(111, "x.Circle", &["t 300", "stackTrace 22*"]));
    classes.push(Element::class(112, "x.Empty", &["t 301[]", "stackTrace 22*"]));
    let many = n.int(i32::MAX as u32);
    let deep = n.chunk(
        0,
        &[
            n.event(110, &[n.long(1)]),
            n.event(111, &[n.long(1)]),
            n.event(112, &[many.clone(), n.long(1)]),
            n.metadata(&types(classes)),
            constants(n),
        ],
    );
    assert_eq!(fold(&deep).unwrap().0, "a.Shop.main;a.Shop.work 1\n");
    // Texts that stand for one another, counts beyond the end, elements that nest without end.
    let symbol = n.pool(24, &[(2, vec![2, 8]), (3, vec![2, 8])]);
    let circle = n.pool(8, &[(8, vec![2, 9]), (9, vec![2, 8])]);
    let event = n.event(101, &[n.long(1000), n.long(1), n.long(1), n.long(1)]);
    let metadata = n.metadata(&async_profiler_types());
    let circles =
        n.chunk(0, &[event.clone(), metadata.clone(), constants(n), n.checkpoint(&[symbol, circle])]);
    assert_eq!(fold(&circles).unwrap().0, "a.Shop.;a.Shop. 1\n");
    let counts = [n.long(22), many.clone(), n.long(1), vec![0], many.clone()].concat();
    let counts = n.chunk(0, &[event.clone(), metadata, n.checkpoint(&[counts])]);
    assert!(fold(&counts).is_err_and(|error| error.contains("no samples")));
    let mut nested = Element::of("x", &[], vec![]);
    for _ in 0..100 {
        nested = Element::of("x", &[], vec![nested]);
    }
    let nested = n.chunk(0, &[event, n.metadata(&nested)]);
    assert!(fold(&nested).is_err_and(|error| error.contains("byte 0")));
}
