//! One recording in every shape a file can have, and samples of every kind.

use std::io::Write;

use fg_tools::collapse::{CollapseOptions, ValueSelection};

use super::kit::*;
use super::{below, fold, fold_bytes, folded, root_with_maps, total};

const CODE: u64 = 0x7000_0000;
const KERNEL_CODE: u64 = 0xffff_ffff_8100_0000;

fn usual(style: Style) -> Recording {
    let mut r = Recording::new(style, &[Event::default()]);
    r.build_id("/lib/x.so", &[7; 20]);
    r.comm(1, 1, 0, b"app", false);
    r.mmap(1, 0, CODE, 0x1000, 0, "//anon");
    r.mmap(1, 0, CODE + 0x1000, 0x1000, 0, "/lib/x.so");
    for n in 0..300 {
        let chain = vec![USER, CODE + (n % 3) * 0x100, CODE + 0x101 + n % 2, CODE + 0x1004];
        r.sample(&Sample {
            pid: 1,
            tid: 1,
            time: 10 + n,
            ip: chain[1],
            period: 1000 + n,
            chain,
            ..Sample::default()
        });
        if n % 50 == 0 {
            r.finish_round();
        }
    }
    r
}

fn root() -> tempfile::TempDir {
    root_with_maps(&[(1, &[(CODE, "a"), (CODE + 0x100, "b"), (CODE + 0x200, "c")])])
}

#[test]
fn every_shape_of_file_says_the_same() {
    let root = root();
    let expected = folded(&usual(PLAIN), root.path());
    assert_eq!(expected, "app;[x.so];b;a 114850\napp;[x.so];b;b 114950\napp;[x.so];b;c 115050\n");
    for big_endian in [false, true] {
        for pipe in [false, true] {
            for compressed in [false, true] {
                let bytes = usual(Style { big_endian, pipe, compressed }).bytes();
                for threads in [1, 2, 5] {
                    let options = CollapseOptions { threads, ..below(root.path()) };
                    let (text, _) = fold_bytes(&bytes, &options)
                        .unwrap_or_else(|e| panic!("big {big_endian} pipe {pipe} zstd {compressed}: {e}"));
                    assert_eq!(text, expected, "big {big_endian} pipe {pipe} zstd {compressed} {threads}");
                }
            }
        }
    }
}

#[test]
fn packed_files_and_pipes_are_read_too() {
    let root = root();
    let expected = folded(&usual(PLAIN), root.path());
    let bytes = usual(PLAIN).bytes();
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(&bytes).unwrap();
    let zstd = ruzstd::encoding::compress_to_vec(&bytes[..], ruzstd::encoding::CompressionLevel::Fastest);
    for packed in [gzip.finish().unwrap(), zstd] {
        assert_eq!(fold_bytes(&packed, &below(root.path())).unwrap().0, expected);
    }
    for style in [PLAIN, Style { pipe: true, ..PLAIN }] {
        let mut child = std::process::Command::new(env!("CARGO_BIN_EXE_fg-collapse"))
            .args(["--no-header", "--symfs"])
            .arg(root.path())
            .stdin(std::process::Stdio::piped())
            .stdout(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        let bytes = usual(style).bytes();
        child.stdin.take().unwrap().write_all(&bytes).unwrap();
        assert_eq!(String::from_utf8_lossy(&child.wait_with_output().unwrap().stdout), expected);
    }
    // A file that a shell has read from already.
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), [b"first line\n".as_slice(), &bytes].concat()).unwrap();
    let script = "read line; exec \"$0\" --no-header --symfs \"$1\"";
    let out = std::process::Command::new("bash")
        .args(["-c", script, env!("CARGO_BIN_EXE_fg-collapse")])
        .arg(root.path())
        .stdin(std::fs::File::open(file.path()).unwrap())
        .output()
        .unwrap();
    assert_eq!(String::from_utf8_lossy(&out.stdout), expected, "{}", String::from_utf8_lossy(&out.stderr));
}

#[test]
fn a_folder_is_one_recording_in_the_order_of_time() {
    let root = root();
    let folder = tempfile::tempdir().unwrap();
    let mut about = Recording::new(PLAIN, &[Event::default()]);
    about.comm(1, 1, 0, b"app", false);
    about.mmap(1, 0, CODE, 0x1000, 0, "//anon");
    about.comm(1, 1, 50, b"renamed", false);
    std::fs::write(folder.path().join("data"), about.bytes()).unwrap();
    for (n, times) in [[10u64, 60], [40, 70]].into_iter().enumerate() {
        let mut of_one = Recording::new(PLAIN, &[Event::default()]);
        for time in times {
            let chain = vec![USER, CODE + 0x100 * n as u64];
            of_one.sample(&Sample { pid: 1, tid: 1, time, period: time, chain, ..Sample::default() });
        }
        std::fs::write(folder.path().join(format!("data.{n}")), of_one.records()).unwrap();
    }
    let (text, _) = fold(folder.path(), &below(root.path())).unwrap();
    assert_eq!(text, "app;a 10\napp;b 40\nrenamed;a 60\nrenamed;b 70\n");
    // An error names the file that is damaged.
    let second = folder.path().join("data.1");
    let bytes = std::fs::read(&second).unwrap();
    std::fs::write(&second, &bytes[..bytes.len() - 3]).unwrap();
    let error = fold(folder.path(), &below(root.path())).unwrap_err();
    assert!(error.contains("data.1: byte ") && error.contains("a whole record"), "{error}");
    // A folder of something else is no recording.
    let error = fold(root.path(), &CollapseOptions::default()).unwrap_err();
    assert!(error.contains("it is a directory"), "{error}");
}

#[test]
fn a_leader_s_samples_count_for_its_whole_group() {
    let root = root();
    let leader = Event { fields: USUAL | READ, read_format: 4 | 8, ..Event::default() };
    let member = Event { config: 2, name: "page-faults", ..leader.clone() };
    let mut r = Recording::new(PLAIN, &[leader, member]);
    r.comm(1, 1, 0, b"app", false);
    r.mmap(1, 0, CODE, 0x1000, 0, "//anon");
    for (time, counters, at) in [
        (10, vec![(0, 100), (1, 3)], 0),
        (20, vec![(0, 250), (1, 3)], 0x100),
        (30, vec![(0, 300), (1, 9)], 0),
    ] {
        // An id that no event has, as after an event was closed.
        let counters = [counters, vec![(77, 5)]].concat();
        let chain = vec![USER, CODE + at];
        r.sample(&Sample { pid: 1, tid: 1, time, period: 1, counters, chain, ..Sample::default() });
    }
    let options = CollapseOptions { values: ValueSelection::All, ..below(root.path()) };
    let (text, report) = fold_bytes(&r.bytes(), &options).unwrap();
    assert_eq!(text, "cpu-clock;app;a 150\ncpu-clock;app;b 150\npage-faults;app;a 9\n");
    let faults = total(&report, "page-faults");
    assert_eq!((faults.samples, faults.weight.to_string()), (2, "9".to_owned()), "those that moved on");
    let (text, _) = fold_bytes(&r.bytes(), &CollapseOptions { count: true, ..options }).unwrap();
    assert_eq!(text, "cpu-clock;app;a 2\ncpu-clock;app;b 1\npage-faults;app;a 2\n");
}

#[test]
fn kernel_and_user_parts_of_a_chain_are_told_apart() {
    let root = root();
    let mut r = Recording::new(PLAIN, &[Event::default()]);
    r.comm(1, 1, 0, b"app", false);
    r.mmap(-1, 0, KERNEL_CODE, 0xff_0000, KERNEL_CODE, "[kernel.kallsyms]_text");
    r.mmap(-1, 0, 0xffff_ffff_c000_0000, 0x1000, 0, "[nf_tables]");
    r.mmap(1, 0, CODE, 0x1000, 0, "//anon");
    let chain = vec![KERNEL, 0xffff_ffff_c000_0010, KERNEL_CODE + 5, USER, CODE, CODE + 0x100];
    r.sample(&Sample { pid: 1, tid: 1, time: 9, period: 5, mode: 1, chain, ..Sample::default() });
    // An address just behind a call that ends a function belongs to that function, one at which
    // the thread was interrupted does not.
    let chain = vec![USER, CODE + 0x100, CODE + 0x200];
    r.sample(&Sample { pid: 1, tid: 1, time: 10, period: 3, chain, ..Sample::default() });
    // Addresses of a guest system are not resolved.
    let chain = vec![-2048i64 as u64, CODE, USER, CODE];
    r.sample(&Sample { pid: 1, tid: 1, time: 11, period: 1, chain, ..Sample::default() });
    r.sample(&Sample { pid: 1, tid: 1, time: 12, period: 2, ..Sample::default() });
    let options = CollapseOptions { kernel: true, addrs: true, ..below(root.path()) };
    let (text, report) = fold_bytes(&r.bytes(), &options).unwrap();
    assert_eq!(
        text,
        "app 2\napp;a;[unknown <70000000>] 1\napp;a;a;[[kernel.kallsyms] <ffffffff81000005>]_[k];\
         [[nf_tables] <ffffffffc0000010>]_[k] 5\napp;b;b 3\n"
    );
    assert!(report.notes.iter().any(|note| note.contains("kernel's symbols")), "{:?}", report.notes);
}

#[test]
fn code_that_the_kernel_has_made_is_named_by_the_recording() {
    let root = root();
    let mut r = Recording::new(PLAIN, &[Event::default()]);
    r.comm(1, 1, 0, b"app", false);
    let at = 0xffff_ffff_c012_3000u64;
    // A BPF program of 64 bytes: loaded, and gone again.
    for gone in [0u16, 1] {
        let mut body = Vec::new();
        body.extend(at.to_le_bytes());
        body.extend(64u32.to_le_bytes());
        body.extend([1u16, gone].map(u16::to_le_bytes).concat());
        body.extend(b"bpf_prog_6deef7357e7b4530_on_switch\0\0\0\0\0");
        r.raw(17, &body);
    }
    for (time, address) in [(10, at + 4), (20, at + 64)] {
        let chain = vec![KERNEL, address];
        r.sample(&Sample { pid: 1, tid: 1, time, period: 3, mode: 1, chain, ..Sample::default() });
    }
    let (text, _) = fold_bytes(&r.bytes(), &CollapseOptions { kernel: true, ..below(root.path()) }).unwrap();
    let named = "app;bpf_prog_6deef7357e7b4530_on_switch_[k] 3";
    assert_eq!(text, format!("app;[[kernel.kallsyms]]_[k] 3\n{named}\n"));
}

#[test]
fn without_call_graphs_the_place_is_the_stack() {
    let root = root();
    let event = Event { fields: USUAL & !CALLCHAIN, ..Event::default() };
    let tracepoint = Event {
        kind: 2,
        config: 7,
        name: "sched:sched_switch",
        fields: event.fields | RAW,
        ..Event::default()
    };
    let mut r = Recording::new(PLAIN, &[event, tracepoint]);
    r.comm(1, 1, 0, b"app", false);
    r.mmap(1, 0, CODE, 0x1000, 0, "//anon");
    for event in 0..2 {
        r.sample(&Sample { event, pid: 1, tid: 1, time: 9, ip: CODE, period: 5, ..Sample::default() });
    }
    let options = CollapseOptions { values: ValueSelection::All, ..below(root.path()) };
    // A tracepoint has no column for the period in perf's text, and no place.
    let (text, _) = fold_bytes(&r.bytes(), &options).unwrap();
    assert_eq!(text, "cpu-clock;app;a 5\nsched:sched_switch;app 1\n");
}

#[test]
fn calls_recorded_by_the_processor_are_a_stack() {
    let root = root();
    let fields = USUAL | BRANCH_STACK;
    let lbr = Event { fields, branches: 1 << 11, name: "cycles", kind: 0, ..Event::default() };
    let any = Event { branches: 1, ..lbr.clone() };
    for (event, expected) in [(lbr, "app;c;b;a 7\n"), (any, "app;a 7\n")] {
        let mut r = Recording::new(PLAIN, &[event]);
        r.comm(1, 1, 0, b"app", false);
        r.mmap(1, 0, CODE, 0x1000, 0, "//anon");
        let branches = vec![(CODE + 0x150, CODE + 2), (CODE + 0x250, CODE + 0x101)];
        let chain = vec![USER, CODE + 2];
        r.sample(&Sample { pid: 1, tid: 1, time: 9, period: 7, chain, branches, ..Sample::default() });
        assert_eq!(folded(&r, root.path()), expected);
    }
}

#[test]
fn events_are_chosen_as_in_perf_s_text() {
    let root = root();
    let cycles = Event { kind: 0, name: "cycles:u", ..Event::default() };
    let faults =
        Event { config: 2, name: "page-faults", period: 4, fields: USUAL & !PERIOD, ..Event::default() };
    let mut r = Recording::new(PLAIN, &[faults, cycles]);
    r.comm(1, 1, 0, b"app", false);
    r.mmap(1, 0, CODE, 0x1000, 0, "//anon");
    for (event, time) in [(0, 20), (1, 10), (1, 30)] {
        let chain = vec![USER, CODE + event as u64 * 0x100];
        r.sample(&Sample { event, pid: 1, tid: 1, time, period: 100, chain, ..Sample::default() });
    }
    let with = |values| CollapseOptions { values, ..below(root.path()) };
    let (text, report) = fold_bytes(&r.bytes(), &with(ValueSelection::Default)).unwrap();
    assert_eq!(text, "app;a 4\n", "the recording's first event, though another was sampled first");
    let left_out = total(&report, "cycles:u");
    assert_eq!((left_out.samples, left_out.weight.to_string(), left_out.kept), (2, "200".to_owned(), false));
    for (name, expected) in
        [("page-faults", Some("app;a 4\n")), ("cycles", Some("app;b 200\n")), ("cycle", None)]
    {
        let result = fold_bytes(&r.bytes(), &with(ValueSelection::Named(vec![name.into()])));
        match expected {
            Some(expected) => assert_eq!(result.unwrap().0, expected, "{name}"),
            None => assert!(result.unwrap_err().contains("no samples of that value"), "{name}"),
        }
    }
    let (text, _) = fold_bytes(&r.bytes(), &with(ValueSelection::All)).unwrap();
    assert_eq!(text, "cycles:u;app;b 200\npage-faults;app;a 4\n");
    let options = CollapseOptions { count: true, ..with(ValueSelection::All) };
    assert_eq!(fold_bytes(&r.bytes(), &options).unwrap().0, "cycles:u;app;b 2\npage-faults;app;a 1\n");
}

#[test]
fn skip_after_drops_callers() {
    let root = root();
    let mut r = Recording::new(PLAIN, &[Event::default()]);
    r.comm(1, 1, 0, b"app", false);
    r.mmap(1, 0, CODE, 0x1000, 0, "//anon");
    let chain = vec![USER, CODE, CODE + 0x101, CODE + 0x201];
    r.sample(&Sample { pid: 1, tid: 1, time: 9, period: 7, chain, ..Sample::default() });
    let options = CollapseOptions { skip_after: vec![b"b".to_vec()], ..below(root.path()) };
    assert_eq!(fold_bytes(&r.bytes(), &options).unwrap().0, "b;a 7\n");
    let options = CollapseOptions { values: ValueSelection::All, ..options };
    assert_eq!(fold_bytes(&r.bytes(), &options).unwrap().0, "cpu-clock;b;a 7\n");
}

#[test]
fn threads_can_be_left_out() {
    let root = root();
    let mut r = Recording::new(PLAIN, &[Event::default()]);
    r.comm(1, 1, 0, b"app", false);
    r.mmap(1, 0, CODE, 0x1000, 0, "//anon");
    for chain in [vec![USER, CODE], vec![]] {
        r.sample(&Sample { pid: 1, tid: 1, time: 9, period: 7, chain, ..Sample::default() });
    }
    let options = CollapseOptions { threads_as_frames: Some(false), ..below(root.path()) };
    assert_eq!(fold_bytes(&r.bytes(), &options).unwrap().0, "a 7\n");
}
