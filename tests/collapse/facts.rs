//! Tests of the facts, frame locations and single samples that each format reads besides its stacks.

use std::collections::BTreeSet;

use fg_tools::folded::Kind;
use fg_tools::profile::header;
use fg_tools::reading::{self, ReadOptions};
use fg_tools::{Profile, Weight};

use super::fixtures::{Case, cases, some_cases};

fn read(case: &Case, options: ReadOptions) -> Profile {
    let mut options = options.collapse(case.options.clone());
    options.format.clone_from(&case.named);
    let source = fg_tools::input::Source::new(&case.input);
    reading::read(&[source], &options).unwrap_or_else(|e| panic!("{}: {e}", case.name)).0
}

/// A case and its whole header, without `# `; `-` means no header.
const HEADERS: &[(&str, &str)] = &[
    (
        "jfr/jdk25",
        "unit: samples | event: jdk.CPUTimeSample | samples: 24 samples | command: \"Shop 900\" | start: 2026-11-22T07:43:17.336247962Z | duration: 1.13823276 s | producer: \"OpenJDK 64-Bit Server VM (25.0.2+10-LTS) for linux-amd64 JRE (25.0.2+10-LTS), built on 2026-01-20T00:00:00Z with gcc 14.2.0\" | warning: 4 samples of the processor were lost while recording",
    ),
    (
        "pprof/cpu",
        "unit: ns | event: cpu | period: 10000000 ns | rate: 100 Hz | samples: 109 samples | command: /home/user/app/go/bin_orders | start: 2026-11-21T00:04:30.536873105Z | duration: 1.592091457 s",
    ),
    (
        "pprof/heap",
        "unit: bytes | event: inuse_space | command: /home/user/app/go/bin_orders | start: 2026-11-21T00:04:32.131427076Z",
    ),
    (
        "pprof/block",
        "unit: ns | event: delay | command: /home/user/app/go/bin_orders | start: 2026-11-21T00:04:32.150296745Z",
    ),
    (
        "pprof/allocs-objects-srcline",
        "unit: objects | event: alloc_objects | command: /home/user/app/go/bin_orders | start: 2026-11-21T00:04:32.137414000Z",
    ),
    (
        "pprof-raw/cpu",
        "unit: ns | event: cpu | period: 10000000 ns | rate: 100 Hz | samples: 109 samples | command: /home/user/app/go/bin_orders | start: 2026-11-21T00:04:30.536873105Z | duration: 1.59 s",
    ),
    ("go-text/goroutine", "unit: goroutines | event: goroutine"),
    ("go-text/block", "unit: cycles | event: delay"),
    (
        "austin/v3-wall",
        "unit: us | event: wall | rate: 200 Hz | duration: 1.149669 s | producer: \"austin 3.7.0\"",
    ),
    (
        "austin/v3-memory",
        "unit: bytes | event: memory | rate: 200 Hz | duration: 1.139276 s | producer: \"austin 3.7.0\"",
    ),
    (
        "austin-mojo/v4-cpu",
        "unit: us | event: cpu | rate: 200 Hz | samples: 319 samples | duration: 1.12925 s | producer: \"austin 4.0.0\" | comment: \"Python 3.11.7\"",
    ),
    (
        "speedscope/py-spy-threads",
        "unit: s | period: 0.02 s | samples: 178 samples | duration: 1.56 s | producer: \"py-spy 0.4.3\"",
    ),
    (
        "speedscope/pyinstrument-evented",
        "unit: s | command: \"py/orders.py 0.6\" | duration: 0.757776975 s | producer: pyinstrument",
    ),
    (
        "pyinstrument/plain",
        "unit: s | samples: 122 samples | command: \"py/orders.py 0.6\" | start: 2026-11-21T00:24:39.577861000Z | duration: 0.623109 s | cpu-time: 0.609543 s",
    ),
    (
        "sysprof/cpu",
        "unit: samples | samples: 189 samples | command: /home/user/app/orders | start: 2026-11-23T00:11:58Z | duration: 3.070665782 s",
    ),
    (
        "py-spy/subprocesses",
        "unit: samples | samples: 722 samples | command: \"/opt/py311/bin/python3.11 py/orders.py 2 2\"",
    ),
    (
        "py-spy-dump/text",
        "unit: threads | event: threads | command: \"/opt/py311/bin/python3.11 py/orders.py 3 1\"",
    ),
    (
        "firefox/samply-import",
        "unit: samples | rate: 499 Hz | samples: 487 samples | command: orders | host: devbox | system: Linux 6.18.44-fc-v669 | start: 2026-11-20T23:47:33.306960200Z | duration: 4.068850561 s | producer: \"perf 6.1.192\"",
    ),
    ("cpuprofile/node", "unit: us | samples: 791 samples | duration: 1.070482 s"),
    ("heapprofile/node", "unit: bytes | event: size"),
    ("chrome-trace/node-events", "unit: us | event: events | duration: 0.224238 s"),
    (
        "jfr-json/execution-sample",
        "unit: samples | event: jdk.ExecutionSample | samples: 39 samples | start: 2026-11-21T00:18:34.563494991Z | duration: 1.505434761 s",
    ),
    (
        "jfr-text/execution-sample",
        "unit: samples | event: jdk.ExecutionSample | samples: 39 samples | duration: 1.505 s",
    ),
    (
        "jfr-json/waits",
        "unit: ns | event: jdk.JavaMonitorEnter.duration | start: 2026-11-21T07:34:05.858819138Z | duration: 35.132477356 s",
    ),
    (
        "jstack/five-dumps",
        "unit: threads | event: threads | producer: OpenJDK 64-Bit Server VM (17.0.15+6-Debian-1deb12u1 mixed mode, sharing)",
    ),
    ("callgrind/c", "unit: instructions | event: Ir | command: \"c/cyc 6\" | producer: callgrind-3.19.0"),
    (
        "callgrind/xdebug",
        "unit: ns | event: Time | command: /home/user/app/orders.php | producer: xdebug 3.2.0 (PHP 8.2.35)",
    ),
    ("cachegrind/c", "unit: instructions | event: Ir | command: \"c/cyc 6\""),
    (
        "massif/c",
        "unit: bytes | event: heap | command: \"c/cyc 9\" | warning: \"of 20 snapshots with stacks this is the peak, number 54\"",
    ),
    ("dhat/c", "unit: bytes | event: total-bytes | command: \"c/cyc 8\""),
    (
        "dhat/rust-ad-hoc",
        "unit: events | event: total-events | command: /home/user/bin/rsw-dhat 20 adhoc | duration: 0.005747 s",
    ),
    (
        "heaptrack/peak",
        "unit: bytes | event: peak | command: \"cpp/orders 20\" | duration: 0.169 s | producer: \"heaptrack 1.4.0\"",
    ),
    (
        "jemalloc/preload",
        "unit: bytes | event: inuse-space | warning: jemalloc sampled one byte in 4096; weights are not scaled up",
    ),
    ("gperftools/preload", "unit: samples | rate: 500 Hz | samples: 134 samples"),
    ("gperftools/raw", "unit: samples | samples: 134 samples"),
    (
        "xdebug/format1",
        "unit: us | command: /home/user/app/orders.php | duration: 0.009104 s | producer: \"xdebug 3.2.0\"",
    ),
    ("bcc/profile", "unit: samples | rate: 99 Hz | samples: 93 samples | duration: 2 s"),
    ("bcc/offcputime-libbpf", "unit: us | event: offcpu"),
    ("bpftrace/kstack-only", "-"),
    ("dtrace/ustack", "-"),
    ("systemtap/documented", "-"),
    ("folded/rbspy", "-"),
    (
        "ghc-json/threaded",
        "unit: ticks | event: ticks | rate: 1000 Hz | samples: 336 samples | command: ./hs | cpu-time: 0.34 s",
    ),
    (
        "ghc-prof/bytes",
        "unit: bytes | event: bytes | rate: 1000 Hz | command: \"Main +RTS -P -RTS 121393\" | cpu-time: 0.14 s",
    ),
    (
        "apple-sample/report",
        "unit: samples | rate: 1000 Hz | samples: 12 samples | command: app | warning: threads that wait (in kevent, mach_msg_trap, read, …) are left out",
    ),
];

#[test]
fn headers_of_every_format() {
    let cases = cases();
    for (name, expected) in HEADERS {
        let case = cases.iter().find(|case| case.name == *name).unwrap_or_else(|| panic!("{name} is a case"));
        let profile = read(case, ReadOptions::default());
        let text = header::write(profile.facts());
        let lines: Vec<&str> = text.lines().map(|line| line.strip_prefix("# ").expect("a header")).collect();
        let found = if lines.is_empty() { "-".to_owned() } else { lines.join(" | ") };
        assert_eq!(found, *expected, "{name}");
    }
}

#[test]
fn places_and_single_samples_change_no_stack() {
    for case in some_cases() {
        let mut profile = read(&case, ReadOptions::default().places(true).samples(true));
        // The clock is that of the samples' times, and no fact without them.
        profile.facts_mut().clock = None;
        let mut text = Vec::new();
        profile.stacks().write(&mut text).expect("it is written");
        assert!(String::from_utf8_lossy(&text) == case.expected, "{}: the stacks differ", case.name);
        let plain = read(&case, ReadOptions::default().places(false));
        assert_eq!(header::write(profile.facts()), header::write(plain.facts()), "{}", case.name);
    }
}

/// A case, a frame, and its place: module, file, line, first line, kind, inlined.
type Placed = (&'static str, &'static str, (&'static str, &'static str, u32, u32, Kind, bool));

const PLACES: &[Placed] = &[
    (
        "pprof/cpu",
        "regexp.(*Regexp).tryBacktrack",
        ("bin_orders", "regexp/backtrack.go", 0, 0, Kind::User, false),
    ),
    (
        "go-text/heap",
        "main.main.func1.1",
        ("", "_/home/user/app/go/orders/main.go", 80, 0, Kind::Unknown, false),
    ),
    ("py-spy/raw", "main (orders.py:45)", ("", "orders.py", 45, 0, Kind::Unknown, false)),
    ("dhat/c", "sorter", ("", "cyc.c", 13, 0, Kind::Unknown, false)),
    ("callgrind/c", "term", ("cyc", "/home/user/app/c/cyc.c", 0, 0, Kind::User, false)),
];

#[test]
fn frames_have_the_places_that_the_format_tells() {
    let cases = cases();
    for (name, frame, expected) in PLACES {
        let case = cases.iter().find(|case| case.name == *name).unwrap_or_else(|| panic!("{name} is a case"));
        let profile = read(case, ReadOptions::default());
        let places = profile.places();
        let place = places.get(frame.as_bytes()).unwrap_or_else(|| panic!("{name}: {frame} has a place"));
        let text = |bytes| std::str::from_utf8(bytes).expect("names here are UTF-8");
        let line = if expected.2 == 0 { 0 } else { place.line };
        let found = (text(place.module), text(place.file), line, place.start_line, place.kind, place.inlined);
        assert_eq!(found, *expected, "{name}: {frame}");
    }
}

/// A case; its samples, how many of them have a time, its different threads, and the keys of labels.
const SAMPLES: &[(&str, usize, usize, usize, &str)] = &[
    ("pprof/cpu", 106, 0, 1, "stage worker"),
    ("pprof-raw/cpu", 106, 0, 1, "stage worker"),
    ("speedscope/py-spy-threads", 178, 178, 3, ""),
    ("speedscope/pyinstrument-evented", 2, 2, 1, ""),
    ("cpuprofile/node", 791, 791, 1, ""),
    ("chrome-trace/py-spy", 104, 104, 3, "category"),
    ("chrome-trace/node-cpu-profiler", 966, 966, 1, ""),
    ("firefox/samply-import", 487, 487, 2, "category"),
    ("firefox/firefox", 100, 100, 3, ""),
    ("austin/v3-wall", 620, 620, 4, ""),
    ("austin-mojo/v3-wall", 607, 607, 4, ""),
    ("jfr-json/execution-sample", 39, 39, 4, "state"),
    ("jfr/jdk25", 24, 24, 6, "virtual"),
    ("jfr-text/mixed", 6, 6, 2, "state"),
    ("py-spy/threads", 30, 0, 4, ""),
    ("xdebug/format1", 405, 405, 1, ""),
];

#[test]
fn single_samples_have_times_threads_and_labels() {
    let cases = cases();
    let mut differences = Vec::new();
    for expected in SAMPLES {
        let name = expected.0;
        let case = cases.iter().find(|case| case.name == name).unwrap_or_else(|| panic!("{name} is a case"));
        let profile = read(case, ReadOptions::default().samples(true));
        let samples: Vec<_> = profile.samples().iter().collect();
        let threads: BTreeSet<_> = samples.iter().map(|s| (s.process, s.thread, s.thread_name)).collect();
        let keys: BTreeSet<_> =
            samples.iter().flat_map(|sample| &sample.labels).map(|(key, _)| *key).collect();
        let keys: Vec<_> = keys.into_iter().map(String::from_utf8_lossy).collect();
        let timed = samples.iter().filter(|sample| sample.time.is_some()).count();
        let found = (name, samples.len(), timed, threads.len(), keys.join(" "));
        if found != (name, expected.1, expected.2, expected.3, expected.4.to_owned()) {
            differences.push(format!("    {found:?},"));
        }
        let times: Vec<u64> = samples.iter().filter_map(|sample| sample.time).collect();
        assert!(times.is_sorted(), "{name}: samples come in the order of time");
        let total = samples.iter().try_fold(Weight::ZERO, |sum, s| sum.checked_add(s.weights.value));
        assert_eq!(total.expect("it can be held"), profile.total().expect("it too").value, "{name}");
    }
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}
