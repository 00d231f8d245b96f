//! Every recording of the corpus beside the project, where it is there, against the totals that
//! its manifest took from the producers themselves.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use fg_tools::Weight;
use fg_tools::collapse::{CollapseOptions, ValueSelection};

use super::fold;
use super::recordings::corpus;

/// The `totals:` of each file in the manifest, by `folder/file`.
fn totals(corpus: &Path) -> BTreeMap<String, String> {
    let manifest = fs::read_to_string(corpus.join("MANIFEST.md")).expect("a manifest");
    let (mut folder, mut file) = (String::new(), String::new());
    let mut totals = BTreeMap::new();
    for line in manifest.lines() {
        if let Some(name) = line.strip_prefix("## ") {
            folder = name.to_owned();
        } else if let Some(rest) = line.strip_prefix("- `") {
            file = rest.split('`').next().unwrap_or_default().to_owned();
        } else if let Some(json) = line.strip_prefix("  - totals: ") {
            totals.insert(format!("{folder}/{file}"), json.to_owned());
        }
    }
    totals
}

/// The whole number behind `"key": ` or `"key": [` in the manifest's JSON.
fn number(json: &str, key: &str) -> Option<u128> {
    let at = json.find(&format!("\"{key}\": "))? + key.len() + 4;
    let digits: String =
        json[at..].trim_start_matches('[').chars().take_while(char::is_ascii_digit).collect();
    digits.parse().ok()
}

#[test]
fn perf_script_per_event() {
    let Some(corpus) = corpus() else { return };
    /// perf was told not to print the period, or the event: what is left is the number of samples.
    const NO_PERIOD: [&str; 5] = [
        "fields-comm-tid-sym",
        "fields-ip-sym-only",
        "fields-srcline",
        "fields-sym-noip",
        "names-event-noperiod",
    ];
    const NO_EVENT: [&str; 2] = ["fields-comm-tid-sym", "fields-ip-sym-only"];
    let mut checked = 0;
    for (file, json) in
        totals(&corpus).iter().filter(|(file, _)| file.starts_with("perf/") && file.ends_with(".txt"))
    {
        let case = file.trim_start_matches("perf/").trim_end_matches(".txt");
        // {"event": {"samples": 1, "period_sum": 2}, …}
        for event in json.split("}, ").map(|part| part.trim_start_matches('{')) {
            let name = event.split('"').nth(1).expect("an event");
            let (samples, weight) =
                (number(event, "samples").expect("samples"), number(event, "period_sum").expect("a sum"));
            let events = if NO_EVENT.contains(&case) {
                ValueSelection::Default
            } else {
                ValueSelection::Named(vec![name.into()])
            };
            let expected = if NO_PERIOD.contains(&case) { samples } else { weight };
            let options = CollapseOptions { values: events, ..CollapseOptions::default() };
            let (_, total, report) =
                fold(&corpus.join(file), None, &options).unwrap_or_else(|e| panic!("{file}: {e}"));
            assert_eq!(total, expected.to_string(), "{file} {name}");
            assert_eq!(report.not_understood.count, 0, "{file}: {:?}", report.not_understood);
            let (_, total, _) = fold(&corpus.join(file), None, &CollapseOptions { count: true, ..options })
                .expect("the same, counted");
            assert_eq!(total, samples.to_string(), "{file} {name}, counted");
            checked += 1;
        }
    }
    assert!(checked >= 40, "{checked} events");
}

/// The expected format and total of some files of the corpus.
struct Rule {
    /// A path in the corpus; a `*` in it is any text.
    files: &'static str,
    format: &'static str,
    /// CollapseOptions that the files need.
    options: fn() -> CollapseOptions,
    total: Total,
}

/// The expected sum of the weights, mostly taken from the manifest.
enum Total {
    /// The whole number, or the first of a list, behind this key.
    Key(&'static str),
    /// The sum of the decimals behind this key wherever it stands.
    Sum(&'static str),
    /// The last of the list of whole numbers behind this key.
    Last(&'static str),
    /// A total that the manifest does not state; a comment at the rule gives its source.
    Is(&'static str),
}

const fn rule(files: &'static str, format: &'static str, total: Total) -> Rule {
    Rule { files, format, options: CollapseOptions::default, total }
}

/// The first rule that a file matches is its rule.
const RULES: &[Rule] = &[
    rule("austin/*.txt", "austin", Total::Key("metric_sums")),
    rule("austin/v4-memory.mojo", "austin-mojo", Total::Key("mem_pos_bytes")),
    rule("austin/*.mojo", "austin-mojo", Total::Key("time_us_sum")),
    rule("austin/v4-*.bin", "austin-mojo", Total::Key("time_us_sum")),
    rule("bcc/profile-multiline*", "bcc", Total::Key("count_sum")),
    rule("bcc/offcputime*", "bcc", Total::Key("count_sum")),
    rule("bcc/*", "folded", Total::Key("count_sum")),
    rule("bpftrace/print-each.txt", "bpftrace", Total::Key("prints")),
    rule("bpftrace/*.txt", "bpftrace", Total::Key("sum")),
    rule("bpftrace/*.json", "bpftrace-json", Total::Key("sum")),
    rule("gdb/eu-stack*", "eu-stack", Total::Key("thread_stacks")),
    rule("gdb/gdb-bt*", "gdb", Total::Key("thread_stacks")),
    rule("strace/strace-k.txt", "strace", Total::Key("syscall_lines")),
    // Sums of the functions' own times, which the manifest has rounded to microseconds.
    rule("python/cprofile-py311.prof", "pstats", Total::Is("634804284")),
    rule("python/cprofile-py312.prof", "pstats", Total::Is("647605886")),
    rule("python/profile-pure.prof", "pstats", Total::Is("262723202")),
    rule("python/yappi.prof", "pstats", Total::Is("538317000")),
    rule("python/pyinstrument.pstats", "pstats", Total::Is("618015159")),
    // The time of the root; the duration beside it has more than was sampled.
    rule("python/pyinstrument.json", "pyinstrument", Total::Is("0.619851")),
    rule("python/pyinstrument-all.json", "pyinstrument", Total::Is("0.432418")),
    rule("python/faulthandler.txt", "faulthandler", Total::Key("thread_stacks")),
    // The total of pprof -top; -raw leaves out samples without a stack.
    rule("pprof-austin/austin-v3-wall.pb", "pprof", Total::Is("4118847")),
    rule("go/cpu.pb*", "pprof", Total::Last("value_sums")),
    rule("go/threadcreate.pb.gz", "pprof", Total::Is("6")),
    rule("go/allocs.pb.gz", "pprof", Total::Is("529496970")),
    rule("go/*.pb.gz", "pprof", Total::Last("value_sums")),
    rule("go/allocs.raw.txt", "pprof-raw", Total::Is("529496970")),
    rule("go/block.raw.txt", "pprof-raw", Total::Is("1617533940")),
    rule("go/cpu.raw.txt", "pprof-raw", Total::Is("1090000000")),
    rule("go/goroutine.raw.txt", "pprof-raw", Total::Is("1")),
    rule("go/heap.raw.txt", "pprof-raw", Total::Is("5881145")),
    rule("go/mutex.raw.txt", "pprof-raw", Total::Is("16953973")),
    // The first lines have the totals.
    rule("go/allocs.debug1.txt", "go-text", Total::Is("5448848")),
    rule("go/heap.debug1.txt", "go-text", Total::Is("5154640")),
    rule("go/block.debug1.txt", "go-text", Total::Is("4199312707")),
    rule("go/mutex.debug1.txt", "go-text", Total::Is("44014556")),
    rule("go/goroutine.debug1.txt", "go-text", Total::Is("1")),
    rule("go/threadcreate.debug1.txt", "go-text", Total::Is("6")),
    rule("go/goroutine.debug2.txt", "goroutines", Total::Is("1")),
    // `totals`, which callgrind's own summary line misses by two in one of them.
    rule("valgrind/callgrind-bb-line.out", "callgrind", Total::Is("835157")),
    rule("valgrind/callgrind-cache.out", "callgrind", Total::Is("835157")),
    rule("valgrind/callgrind-instr.out", "callgrind", Total::Is("835157")),
    rule("valgrind/callgrind-nocompress.out", "callgrind", Total::Is("835157")),
    rule("valgrind/callgrind-sepcycle.out", "callgrind", Total::Is("835157")),
    rule("valgrind/callgrind-threads.out", "callgrind", Total::Is("12163983")),
    rule("valgrind/callgrind.out", "callgrind", Total::Is("979896")),
    rule("valgrind/cachegrind-cpp.out", "cachegrind", Total::Is("6938527")),
    rule("valgrind/cachegrind.out", "cachegrind", Total::Is("984202")),
    rule("valgrind/dhat*", "dhat", Total::Key("total_bytes")),
    rule("valgrind/massif*", "massif", Total::Key("peak_heap_B")),
    // The summary line, which includes costs outside all functions.
    // In units of 10 ns.
    rule("xdebug/cachegrind.out", "callgrind", Total::Is("237410")),
    // From the first entry to the last exit; the manifest has the calls.
    rule("xdebug/trace-format0.xt", "xdebug", Total::Is("400")),
    rule("xdebug/trace-format1.xt", "xdebug", Total::Is("8838")),
    // The sum of the cost lines other than those of calls; the manifest has no total.
    rule("rbspy/rbspy.raw.gz", "rbspy-raw", Total::Is("201")),
    rule("rbspy/rbspy.callgrind.out", "callgrind", Total::Is("210")),
    rule("python/yappi.callgrind", "callgrind", Total::Is("538277")),
    rule("java/jfr-print*", "jfr-text", Total::Key("events")),
    rule("java/jfr-exec*", "jfr-json", Total::Key("events")),
    rule("java/jstack.txt", "jstack", Total::Key("threads_with_frames")),
    // The first lines of the files, and of the report beside the last.
    rule("heapprof/jemalloc.heap", "jemalloc", Total::Is("88376")),
    rule("heapprof/tcmalloc.heap", "tcmalloc", Total::Is("4736")),
    rule("heapprof/gperftools-cpu.prof", "gperftools", Total::Is("134")),
    rule("heapprof/gperftools-cpu.raw.txt", "gperftools", Total::Is("134")),
    rule("heaptrack/ht.zst", "heaptrack", Total::Is("4968")),
    // The times that profiles of a thread span, added up by hand of the exact decimals.
    rule("speedscope/pyinstrument-evented.speedscope.json", "speedscope", Total::Is("0.019194283000160794")),
    rule("python/pyinstrument.speedscope", "speedscope", Total::Is("0.019194283000160794")),
    rule("rbspy/rbspy.speedscope.out", "speedscope", Total::Is("2.03540884")),
    rule("speedscope/*", "speedscope", Total::Sum("weight_sum")),
    rule("py-spy/speedscope*", "speedscope", Total::Sum("weight_sum")),
    // From the first sample to the end: endTime without startTime and the first of the timeDeltas.
    rule("node/cpu.cpuprofile", "cpuprofile", Total::Is("1041053")),
    rule("node/cpu-5ms.cpuprofile", "cpuprofile", Total::Is("1024173")),
    rule("node/cpu-worker.cpuprofile", "cpuprofile", Total::Is("389173")),
    rule("node/heap.heapprofile", "heapprofile", Total::Key("selfSize_sum")),
    rule("node/prof-preprocess.json.gz", "v8-ticks", Total::Key("ticks")),
    // The time with an open interval on each thread, counted by an independent script; and the time from
    // the first sample to the end of each profile.
    rule("node/trace-events.json", "chrome-trace", Total::Is("185480")),
    rule("node/trace-cpu-profiler.json", "chrome-trace", Total::Is("360532")),
    rule("py-spy/chrometrace.json", "chrome-trace", Total::Is("6156600")),
    rule("py-spy/dump*", "py-spy-dump", Total::Key("threads")),
    rule("samply/*.json.gz", "firefox", Total::Sum("weight_sum")),
    rule("heaptrack/folded*", "folded", Total::Key("count_sum")),
    rule("heapprof/*.collapsed.txt", "folded", Total::Key("count_sum")),
    rule("py-spy/*raw.txt", "py-spy", Total::Key("count_sum")),
    rule("rbspy/rbspy.collapsed.out", "folded", Total::Key("count_sum")),
];

/// Files that are declined, and why.
const DECLINED: &[(&str, &str)] = &[
    ("austin/*where.txt", "a pretty print of one moment, with colours, for eyes"),
    ("heaptrack/print-totals.txt", "totals only"),
    ("node/prof-process.txt", "a report of percentages; --preprocess has the stacks"),
    ("node/v8-prof.log", "addresses without stacks of names: node --prof-process --preprocess has them"),
    ("py-spy/flamegraph.svg", "a picture"),
    ("python/cprofile-text.txt", "a report; the .prof has the numbers"),
    ("python/pyinstrument.text", "a report; -r json has the tree"),
    ("rbspy/rbspy.summary.out", "a report without stacks"),
    ("go/*.traces.txt", "units rounded for eyes: pprof -raw and the profile itself have them exactly"),
    ("heapprof/gperftools-cpu.text.txt", "a report without stacks"),
    ("samply/profile-presym.json.syms.json", "the names beside a profile, no samples"),
];

/// Returns true if a path matches a pattern with at most one `*`.
fn matches(pattern: &str, path: &str) -> bool {
    match pattern.split_once('*') {
        Some((start, end)) => {
            path.len() >= start.len() + end.len() && path.starts_with(start) && path.ends_with(end)
        }
        None => pattern == path,
    }
}

/// Every file of the corpus, as `folder/file`; perf's texts and recordings have tests of their own.
fn files(corpus: &Path) -> Vec<String> {
    let mut files = Vec::new();
    for folder in fs::read_dir(corpus).expect("a folder").map(|entry| entry.expect("an entry").path()) {
        let Ok(entries) = fs::read_dir(&folder) else { continue };
        files.extend(entries.map(|entry| {
            let path = entry.expect("an entry").path();
            path.strip_prefix(corpus).expect("below it").display().to_string()
        }));
    }
    files.retain(|file| !matches("perf/*.txt", file) && !matches("perf/*.perf.data", file));
    files.sort();
    files
}

fn last(json: &str, key: &str) -> Option<String> {
    let list = json.split(&format!("\"{key}\": [")).nth(1)?.split(']').next()?;
    list.split(", ").last().map(str::to_owned)
}

fn sum(json: &str, key: &str) -> Weight {
    let pattern = format!("\"{key}\": ");
    let numbers = json.split(&pattern).skip(1).map(|rest| {
        let end = rest.find(|c: char| !c.is_ascii_digit() && !"+-.".contains(c)).unwrap_or(rest.len());
        Weight::parse(&rest.as_bytes()[..end]).unwrap_or_default()
    });
    numbers.fold(Weight::ZERO, |sum, number| sum.checked_add(number).expect("it can be held"))
}

#[test]
fn formats_and_totals_match_the_manifest() {
    let Some(corpus) = corpus() else { return };
    let totals = totals(&corpus);
    let mut failures = Vec::new();
    for file in files(&corpus) {
        if DECLINED.iter().any(|(pattern, _)| matches(pattern, &file)) {
            continue;
        }
        let Some(rule) = RULES.iter().find(|rule| matches(rule.files, &file)) else {
            failures.push(format!("{file}: nobody reads or declines it"));
            continue;
        };
        let path = corpus.join(&file);
        let input = fg_tools::input::Source::new(&path).open().expect("it opens");
        match fg_tools::collapse::registry::detect(&input) {
            Ok(format) if format.name() == rule.format => {}
            Ok(format) => failures.push(format!("{file}: is {}, not {}", rule.format, format.name())),
            Err(e) => failures.push(format!("{file}: {e}")),
        }
        let (_, total, report) = match fold(&path, None, &(rule.options)()) {
            Ok(folded) => folded,
            Err(e) => {
                failures.push(format!("{file}: {e}"));
                continue;
            }
        };
        let json = totals.get(&file).map_or("", String::as_str);
        let expected = match rule.total {
            Total::Key(key) => number(json, key).map_or_else(|| format!("no {key}"), |n| n.to_string()),
            Total::Sum(key) => sum(json, key).to_string(),
            Total::Last(key) => last(json, key).unwrap_or_else(|| format!("no {key}")),
            Total::Is(total) => total.to_owned(),
        };
        if total != expected {
            failures.push(format!("{file}: {total}, not {expected}"));
        }
        if report.not_understood.count > 0 {
            failures.push(format!("{file}: {:?}", report.not_understood));
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn samply_names_beside_a_profile_are_read() {
    let Some(corpus) = corpus() else { return };
    let (named, ..) = fold(&corpus.join("samply/profile-presym.json.gz"), None, &CollapseOptions::default())
        .expect("it collapses");
    let (without, ..) = fold(&corpus.join("samply/profile.json.gz"), None, &CollapseOptions::default())
        .expect("it collapses");
    assert!(named.contains(";std::sys::") && !named.contains("[orders]"), "{named}");
    assert!(!without.contains(";std::sys::") && without.contains("[orders]"), "{without}");
}

#[test]
fn pprof_file_and_raw_text_agree() {
    let Some(corpus) = corpus() else { return };
    for name in ["allocs", "block", "cpu", "goroutine", "heap", "mutex"] {
        let all =
            CollapseOptions { values: ValueSelection::All, srcline: true, ..CollapseOptions::default() };
        let [profile, raw] = [".pb.gz", ".raw.txt"].map(|end| corpus.join(format!("go/{name}{end}")));
        let (ours, ..) = fold(&profile, None, &all).expect("it collapses");
        let (theirs, ..) = fold(&raw, None, &all).expect("it collapses");
        assert!(ours == theirs && ours.lines().count() >= 1, "{name}");
    }
}

#[test]
fn declined_files_report_why() {
    let Some(corpus) = corpus() else { return };
    let files = files(&corpus);
    let declined = files.iter().filter(|file| DECLINED.iter().any(|(pattern, _)| matches(pattern, file)));
    for file in declined {
        let error = fold(&corpus.join(file), None, &CollapseOptions::default()).expect_err(file);
        assert!(
            error.contains("not a format known here") || error.contains("not read here"),
            "{file}: {error}"
        );
    }
}
