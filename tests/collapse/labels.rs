//! Labels and times: what buckets and parts add up to, for every recording that has times.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use fg_tools::collapse::{CollapseOptions, registry};
use fg_tools::filter::Op;
use fg_tools::folded::Weights;
use fg_tools::profile::{Context, Label, Profile, ProfileBuilder, Sink, TimeRange, Wants};
use fg_tools::reading::ReadOptions;
use fg_tools::{Source, Weight};

use super::recordings::corpus;
use super::skip::skip;
use super::thorough::thorough;

/// Reads a recording with its single samples, if it is one.
fn read(path: &Path) -> Option<Profile> {
    let options = ReadOptions::default().samples(true).collapse(CollapseOptions::default());
    Profile::read(&[Source::new(path)], &options).ok()
}

/// The stacks of a profile as text, and their weights; without the first `labels` frames.
fn stacks(profile: &Profile, labels: usize) -> BTreeMap<String, Weight> {
    let mut weights: BTreeMap<String, Weight> = BTreeMap::new();
    let mut out = Vec::new();
    profile.stacks().write(&mut out).expect("a vector");
    for line in String::from_utf8_lossy(&out).lines() {
        let (stack, weight) = line.rsplit_once(' ').expect("a line");
        let stack: Vec<&str> = stack.splitn(labels + 1, ';').collect();
        let sum = weights.entry((*stack.last().expect("frames")).to_owned()).or_default();
        *sum = sum.checked_add(Weight::parse(weight.as_bytes()).expect("a weight")).expect("a sum");
    }
    weights
}

/// Every file below a folder.
fn files(folder: &Path, all: &mut Vec<PathBuf>) {
    let mut entries: Vec<PathBuf> =
        std::fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path()).collect();
    entries.sort();
    for path in entries {
        if path.is_dir() { files(&path, all) } else { all.push(path) }
    }
}

/// Holds the buckets of a recording against the profile without time, stack by stack.
fn check(path: &Path) -> bool {
    let Some(profile) = read(path) else { return false };
    let Some((_, last)) = profile.time_span() else { return false };
    let plain = stacks(&profile, 0);
    for step in thorough(&[1, 20, 1000][..], &[20]).iter().copied() {
        let label = Label::time(Duration::from_millis(step)).unwrap();
        let labelled = profile.labelled(&[label]).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        assert_eq!(stacks(&labelled, 1), plain, "{} by {step} ms", path.display());
        assert_eq!(labelled.total().unwrap(), profile.total().unwrap());
    }
    // What has no time is in no range.
    if ["parquet/duckdb/input.parquet", "xctrace/threads/input.xml"].iter().any(|end| path.ends_with(end)) {
        return true;
    }
    // Two ranges that meet are the whole.
    let range = |begin, end| profile.filter(&[Op::time_range(TimeRange { begin, end })]).unwrap();
    let (first, second) = (range(0, last / 2 + 1), range(last / 2 + 1, u64::MAX));
    let mut sums = stacks(&first, 0);
    for (stack, weight) in stacks(&second, 0) {
        let sum = sums.entry(stack).or_default();
        *sum = sum.checked_add(weight).unwrap();
    }
    assert_eq!(sums, plain, "{} in two halves", path.display());
    true
}

#[test]
fn buckets_of_fixtures_add_up() {
    let mut all = Vec::new();
    files(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures"), &mut all);
    let is_input =
        |path: &&PathBuf| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("input."));
    let timed: Vec<&PathBuf> = all.iter().filter(is_input).filter(|path| check(path)).collect();
    for format in [
        "perf-script",
        "perf-sched",
        "firefox",
        "chrome-trace",
        "cpuprofile",
        "speedscope",
        "jfr-json",
        "jfr-text",
        "austin",
        "austin-mojo",
        "xdebug",
    ] {
        let is_there = timed.iter().any(|path| path.to_string_lossy().contains(&format!("/{format}/")));
        assert!(is_there, "no fixture of {format} has times");
    }
}

#[test]
fn buckets_of_the_corpus_add_up() {
    let Some(corpus) = corpus() else { return };
    let mut all = Vec::new();
    files(&corpus, &mut all);
    let timed = all.iter().step_by(thorough(1, 4)).filter(|path| check(path)).count();
    assert!(timed >= thorough(50, 12), "{timed} recordings with times");
}

#[test]
fn ranges_agree_with_perf_script() {
    let Some(corpus) = corpus() else { return };
    let path = corpus.join("perf/cpp-fp.perf.data");
    // Between samples; perf's range includes its end.
    let (begin, end) = (799_500_000_001u64, 800_500_000_001u64);
    let seconds = |nanos: u64| format!("{}.{:09}", nanos / 1_000_000_000, nanos % 1_000_000_000);
    let range = format!("{},{}", seconds(begin), seconds(end));
    let command = Command::new("perf")
        .args(["script", "-F", "period", "-G", "--time", &range, "-i"])
        .arg(&path)
        .stdin(Stdio::null())
        .output();
    let Ok(Output { stdout, status, .. }) = command else { return skip("perf is not there") };
    if !status.success() {
        return skip("perf does not read the recording here");
    }
    let periods: Vec<u64> =
        String::from_utf8_lossy(&stdout).lines().filter_map(|line| line.trim().parse().ok()).collect();
    let profile = read(&path).expect("a recording");
    let zero = profile.time_zero().expect("times");
    let range = TimeRange { begin: begin - zero, end: end - zero };
    let part = profile.filter(&[Op::time_range(range)]).unwrap();
    assert!(periods.len() > 50);
    assert_eq!(part.total().unwrap().value, Weight::from(periods.iter().sum::<u64>()));
    assert_eq!(part.samples().len(), periods.len());
}

#[test]
fn labels_agree_with_pprof() {
    let Some(corpus) = corpus() else { return };
    let path = corpus.join("go/cpu.pb.gz");
    let profile = read(&path).expect("a profile");
    // As `go tool pprof -tagroot=worker -top -cum` and `-tagfocus=worker=…` say it too.
    let labelled = profile.by("worker");
    assert_eq!(
        labelled,
        [("w 0:x", 360_000_000), ("w 1:x", 330_000_000), ("w 2:x", 400_000_000)].map(|(v, n)| (v.into(), n))
    );
    for (value, weight) in &labelled {
        let part = profile.filter(&[Op::with_label(format!("worker={value}")).unwrap()]).unwrap();
        assert_eq!(part.total().unwrap().value, Weight::from(*weight));
    }
    let tagroot = Command::new("go")
        .args(["tool", "pprof", "-cum", "-top", "-unit=ns", "-tagroot=worker", "-nodefraction=0"])
        .arg(&path)
        .stdin(Stdio::null())
        .output();
    let Ok(Output { stdout, .. }) = tagroot else { return skip("go is not there") };
    let text = String::from_utf8_lossy(&stdout);
    if !text.contains("flat%") {
        return skip("go tool pprof does not work here");
    }
    for (value, weight) in labelled {
        let name = value.replace(':', ";");
        let line = text.lines().find(|line| line.ends_with(&name)).expect("a row for each value");
        assert!(line.contains(&format!(" {weight}ns ")), "{line}");
        let tagfocus = Command::new("go")
            .args(["tool", "pprof", "-top", "-unit=ns", "-nodefraction=0"])
            .arg(format!("-tagfocus=worker=^{name}$"))
            .arg(&path)
            .stdin(Stdio::null())
            .output()
            .unwrap();
        let text = String::from_utf8_lossy(&tagfocus.stdout);
        assert!(text.contains(&format!("Showing nodes accounting for {weight}ns, ")), "{text}");
    }
}

/// The weights of a label's values.
trait By {
    fn by(&self, key: &str) -> Vec<(String, u64)>;
}

impl By for Profile {
    fn by(&self, key: &str) -> Vec<(String, u64)> {
        let labelled = self.labelled(&[Label::new(key).unwrap()]).unwrap();
        let mut sums: BTreeMap<String, u64> = BTreeMap::new();
        for line in folded(&labelled).lines() {
            let (stack, weight) = line.rsplit_once(' ').unwrap();
            let value = stack.split(';').next().unwrap().split_once('=').unwrap().1;
            *sums.entry(value.to_owned()).or_default() += weight.parse::<u64>().unwrap();
        }
        sums.into_iter().collect()
    }
}

/// A builder with a wait of `weight` from `begin` that lasts so many nanoseconds.
fn wait(begin: u64, duration: u64, weight: Weight) -> Profile {
    let mut builder = ProfileBuilder::new(Wants::ALL);
    let main = builder.frame(b"main");
    let context = Context::UNKNOWN.at(begin);
    builder.lasting_sample(&[main], Weights::one(weight), &context, duration).unwrap();
    builder.finish().unwrap()
}

fn folded(profile: &Profile) -> String {
    let mut out = Vec::new();
    profile.stacks().write(&mut out).unwrap();
    String::from_utf8(out).unwrap()
}

#[test]
fn a_wait_is_divided_among_its_buckets() {
    let label = |step| Label::parse(step).unwrap();
    let profile = wait(5_000_000, 25_000_000, Weight::new(25_000_000));
    assert_eq!(
        folded(&profile.labelled(&[label("time=10ms")]).unwrap()),
        "time=000000.000s;main 10000000\ntime=000000.010s;main 10000000\ntime=000000.020s;main 5000000\n"
    );
    let part = profile.filter(&[Op::time("4ms..6ms").unwrap()]).unwrap();
    assert_eq!(folded(&part), "main 2000000\n");
    // What cannot be divided evenly is not lost, and one call is in one bucket.
    let thirds = wait(0, 3, Weight::parse(b"0.10").unwrap());
    assert_eq!(folded(&thirds.labelled(&[label("time=1ns")]).unwrap()), "time=000000.000000000s;main 0.1\n");
    let thirds = wait(0, 3, Weight::new(100));
    assert_eq!(
        folded(&thirds.labelled(&[label("time=1ns")]).unwrap()),
        "time=000000.000000000s;main 34\ntime=000000.000000001s;main 33\ntime=000000.000000002s;main 33\n"
    );
    let negative = wait(0, 2, Weight::new(-3)).labelled(&[label("time=1ns")]).unwrap();
    assert_eq!(negative.total().unwrap().value, Weight::new(-3));
}

#[test]
fn hostile_times_are_bounded() {
    let label = Label::parse("time=1ns").unwrap();
    // It is refused before anything is made of it.
    let error = wait(0, u64::MAX, Weight::new(i128::MAX))
        .labelled(std::slice::from_ref(&label))
        .unwrap_err()
        .to_string();
    assert!(error.contains("make them longer"), "{error}");
    let late = wait(u64::MAX, u64::MAX, Weight::ONE);
    assert!(
        late.labelled(std::slice::from_ref(&label)).unwrap_err().to_string().contains("does not say when")
    );
    let late = wait(i64::MAX as u64, u64::MAX, Weight::ONE);
    assert_eq!(folded(&late.labelled(&[label]).unwrap()), "time=000000.000000000s;main 1\n");
}

#[test]
fn hostile_labels_are_escaped_and_counted() {
    let mut builder = ProfileBuilder::new(Wants::ALL);
    let mut add = |key: &[u8], value: &[u8]| {
        let pair = [(key, value)];
        let context = Context::UNKNOWN.labelled(&pair);
        builder.add_at(["main"], Weight::ONE, &context).unwrap();
    };
    add(b"k", b"a=b;c\nd");
    add(b"k", b"");
    add(b"k=\n,", b"x");
    add(b"", b"no key");
    let number = thorough(1_000_000u32, 100_000);
    (0..number).for_each(|n| add(b"many", n.to_string().as_bytes()));
    let profile = builder.finish().unwrap();
    let labelled = profile.labelled(&[Label::new("k").unwrap(), Label::new("k=\n,").unwrap()]).unwrap();
    let others = number + 2;
    let expected = format!("k=;k___=;main {others}\nk=;k___=x;main 1\nk=a=b:c d;k___=;main 1\n");
    assert_eq!(folded(&labelled), expected);
    assert_eq!(labelled.facts().labels, ["k", "k___"]);
    let counts = profile.label_counts().unwrap();
    let many = counts.iter().find(|count| count.key == "many").unwrap();
    let of_each = (many.values, many.samples);
    assert_eq!((of_each, many.heaviest.len()), ((number.into(), number.into()), 3));
    assert!(profile.labelled(&[Label::new("k").unwrap(), Label::new("k").unwrap()]).is_err());
    let error = profile.labelled(&[Label::new("nothing").unwrap()]).unwrap_err().to_string();
    assert!(error.contains("it has k, k___, many"), "{error}");
}

#[test]
fn labelled_text_is_read_back() {
    let mut builder = ProfileBuilder::new(Wants::ALL);
    for (time, endpoint) in [(1_000_000_007u64, "/a"), (1_030_000_000, "/b"), (3_000_000_000, "/a")] {
        let labels = [(&b"endpoint"[..], endpoint.as_bytes())];
        let context = Context::UNKNOWN.at(time).in_thread(None, b"t 1").labelled(&labels);
        builder.add_at(["main", endpoint], Weight::new(7), &context).unwrap();
    }
    let profile = builder.finish().unwrap();
    let labels = ["time=20ms", "thread", "endpoint"].map(|label| Label::parse(label).unwrap());
    let mut text = Vec::new();
    profile.labelled(&labels).unwrap().write_folded(&mut text).unwrap();
    let shown = String::from_utf8(text.clone()).unwrap();
    assert!(shown.contains("# time-zero: 1.000000007 s\n# time-step: 0.02 s\n"), "{shown}");
    assert!(shown.contains("# labels: time, thread, endpoint\n"), "{shown}");
    assert!(shown.contains("\ntime=000000.020s;thread=t 1;endpoint=/b;main;/b 7\n"), "{shown}");
    let again = Profile::read(&[Source::bytes(text)], &ReadOptions::default().samples(true)).unwrap();
    let times: Vec<_> = again.samples().iter().map(|sample| sample.time).collect();
    assert_eq!(times, [Some(1_000_000_007), Some(1_020_000_007), Some(2_980_000_007)]);
    assert!(again.samples().iter().all(|sample| sample.thread_name == b"t 1"));
    // The time is no frame, the others are; and as labels they make the same text again.
    assert_eq!(again.facts().labels, ["thread", "endpoint"]);
    let mut twice = Vec::new();
    again.labelled(&labels).unwrap().write_folded(&mut twice).unwrap();
    assert_eq!(String::from_utf8(twice).unwrap(), shown);
}

#[test]
fn numbers_of_a_label_are_weights() {
    let text = "app  7/8 [001] 12.345678: kmem:kmalloc: call_site=f ptr=0x9 bytes_req=64 gfp_flags=A\n\
                \tffff1 kmalloc+0x1 ([kernel.kallsyms])\n\n\
                app  7/8 [000] 12.345679: kmem:kmalloc: call_site=f ptr=0x9 bytes_req=8 gfp_flags=A\n\
                \tffff1 kmalloc+0x1 ([kernel.kallsyms])\n\n\
                app  7/8 [000] 12.345680: kmem:kfree: call_site=f ptr=0x9\n\
                \tffff1 kfree+0x1 ([kernel.kallsyms])\n\n";
    let mut options = CollapseOptions::default();
    options.values = fg_tools::collapse::ValueSelection::All;
    let options = ReadOptions::default().samples(true).collapse(options);
    let profile = Profile::read(&[Source::bytes(text)], &options).unwrap();
    let (weighed, left_out) = profile.weighed_by("bytes_req").unwrap();
    assert_eq!((weighed.total().unwrap().value, left_out), (Weight::new(72), 1));
    assert_eq!(weighed.facts().unit.as_deref(), Some("bytes"));
    let labelled = weighed.labelled(&[Label::new("processor").unwrap()]).unwrap();
    assert_eq!(labelled.stack_count(), 2);
    let error = profile.weighed_by("gfp_flags").unwrap_err().to_string();
    assert!(error.contains("is no number"), "{error}");
    assert!(profile.weighed_by("bytes").unwrap_err().to_string().contains("its labels:"));
}

#[test]
fn labels_that_are_in_folded_text_stay_there() {
    let text = "# unit: ns\n# labels: time, endpoint\ntime=000000.000s;endpoint=/a;main 3\n";
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.folded");
    std::fs::write(&path, text).unwrap();
    let run = |arguments: &[&str]| {
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_fg-collapse"));
        command.args(arguments).arg(&path).current_dir(folder.path()).output().unwrap()
    };
    assert_eq!(String::from_utf8(run(&[]).stdout).unwrap(), text);
    // Formats of exchange have labels of their own.
    for option in [["--label", "endpoint"], ["--weight-by", "endpoint"]] {
        let out = run(&[&option[..], &["-o", "a.pb.gz"]].concat());
        let said = String::from_utf8(out.stderr).unwrap();
        assert!(out.status.code() == Some(2) && said.contains("are for folded text"), "{said}");
    }
}

#[test]
fn counts_and_factors_keep_the_times_of_folded_text() {
    let text = "time=000000.000s;endpoint=/a;main 3\ntime=000000.020s;endpoint=/a;main 4\n";
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.folded");
    std::fs::write(&path, format!("# labels: time, endpoint\n{text}")).unwrap();
    let run = |arguments: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_fg-collapse"));
        let out = command.args(arguments).arg(&path).output().unwrap();
        assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
        let written = String::from_utf8(out.stdout).unwrap();
        let (header, stacks) =
            written.split_once("# labels: time, endpoint\n").expect("the labels are declared");
        assert!(header.lines().all(|line| line.starts_with("# ")), "{header}");
        stacks.to_owned()
    };
    assert_eq!(run(&["--count-samples"]), text.replace(" 3", " 1").replace(" 4", " 1"));
    assert_eq!(run(&["--scale", "2"]), text.replace(" 3", " 6").replace(" 4", " 8"));
}

#[test]
fn samples_of_a_page_are_counted() {
    let samples: String = (0..20)
        .map(|n| {
            let leaf = if n % 4 == 0 { "draw" } else { "parse" };
            format!(
                "work  7/8  {}.000000:    2000000 cpu-clock: \n\t 1000 {leaf} (/bin/a)\n\t 2000 main (/bin/a)\n\n",
                100 + n
            )
        })
        .collect();
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    std::fs::write(path("a.perf"), samples).unwrap();
    let run = |program: &str, arguments: &[&str], input: &str| {
        let out = Command::new(program).args(arguments).arg(path(input)).output().unwrap();
        assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
        String::from_utf8(out.stdout).unwrap()
    };
    std::fs::write(path("a.html"), run(env!("CARGO_BIN_EXE_fg-render"), &["--format", "html"], "a.perf"))
        .unwrap();
    let collapse = env!("CARGO_BIN_EXE_fg-collapse");
    // What was added up says what a sample weighs.
    for (program, arguments, to) in [
        (env!("CARGO_BIN_EXE_fg-render"), &["--format", "html", "--no-time"][..], "added.html"),
        (env!("CARGO_BIN_EXE_fg-render"), &["--format", "json"], "added.json"),
        (collapse, &[], "added.folded"),
    ] {
        std::fs::write(path(to), run(program, arguments, "a.perf")).unwrap();
        let count = ["--no-header", "--count-samples"];
        assert_eq!(run(collapse, &count, to), run(collapse, &count, "a.perf"), "{to}");
    }
    for options in [&["--no-header"][..], &["--no-header", "--label", "thread"]] {
        let counted = [options, &["--count-samples"]].concat();
        assert_eq!(run(collapse, &counted, "a.html"), run(collapse, &counted, "a.perf"));
        assert_eq!(run(collapse, options, "a.html"), run(collapse, options, "a.perf"));
    }
}

#[test]
fn weights_of_a_label_keep_the_times_of_folded_text() {
    let text = "# unit: ns\n# time-zero: 3 s\n# time-step: 0.02 s\n# labels: time, bytes\n\
                time=000000.000s;bytes=10;main 3\ntime=000000.020s;bytes=30;main 4\n";
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.folded");
    std::fs::write(&path, text).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_fg-collapse"));
    let out = command.args(["--weight-by", "bytes"]).arg(&path).output().unwrap();
    let wanted = "# unit: bytes\n# samples: 2 samples\n# time-zero: 3 s\n# time-step: 0.02 s\n# labels: time, bytes\n\
                  time=000000.000s;bytes=10;main 10\ntime=000000.020s;bytes=30;main 30\n";
    assert_eq!(String::from_utf8_lossy(&out.stdout), wanted, "{}", String::from_utf8_lossy(&out.stderr));
}

#[test]
fn times_and_labels_of_fixtures_are_documented() {
    let mut timed = BTreeSet::new();
    for case in super::fixtures::cases() {
        let options = ReadOptions::default().samples(true).collapse(case.options.clone());
        let Ok(profile) = Profile::read(&[Source::new(&case.input)], &options.format(&case.format)) else {
            continue;
        };
        let info = registry::by_name(&case.format).unwrap().contexts();
        for count in profile.label_counts().unwrap() {
            let is_any = ["the ", "what "].iter().any(|word| info.labels.contains(word));
            let is_there = match count.key.as_str() {
                "time" => !info.times.is_empty(),
                key => is_any || info.labels.split(", ").any(|known| known == key),
            };
            assert!(is_there, "{}: {} is not in docs/formats.md", case.name, count.key);
            if count.key == "time" {
                timed.insert(case.format.clone());
            }
        }
    }
    // perf.data has its own tests, and bpftrace those of its module.
    let with_clock = registry::FORMATS.iter().filter(|format| format.contexts().clock.is_some());
    let without: Vec<&str> =
        with_clock.map(|format| format.name()).filter(|name| !timed.contains(*name)).collect();
    assert_eq!(without, ["perf-data", "fg-html", "bpftrace"]);
}
