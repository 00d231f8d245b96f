//! `--format parquet`: the rows as other programs read them, and as we read them again.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use fg_tools::Profile;

use super::installed::works;
use super::recordings::corpus;
use super::{run_in, text};

fn collapse(folder: &Path, args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_fg-collapse")).args(args).current_dir(folder).output().unwrap()
}

#[track_caller]
fn stacks(folder: &Path, args: &[&str]) -> String {
    let out = collapse(folder, &[&["-q", "--no-header"], args].concat());
    assert!(out.status.success(), "{args:?}: {}", text(&out.stderr));
    text(out.stdout)
}

/// Runs Python with a script and a file; its output.
fn python(folder: &Path, script: &str) -> String {
    let python = std::env::var_os("ARROW_PYTHON").unwrap_or_else(|| "python3".into());
    let out = Command::new(python).args(["-c", script]).current_dir(folder).output().unwrap();
    assert!(out.status.success(), "{}", text(&out.stderr));
    text(out.stdout)
}

const LABELLED: &str = "# unit: us\n# start: 2026-11-21T10:00:00Z\n# labels: service, time\n\
    service=api;time=000001.500s;main;f 1.25\nservice=api;time=000002.000s;main 3\n\
    service=;time=000002.000s;x 100000000000000000000\n";

#[test]
fn labels_times_and_exact_weights_come_back() {
    let folder = tempfile::tempdir().unwrap();
    let run = run_in(folder.path(), &["-o", "a.parquet"], LABELLED);
    assert_eq!((run.status, run.stderr.as_str()), (0, ""));
    // Times are drawn by no output, and so is the order of labels.
    let out = collapse(folder.path(), &["a.parquet"]);
    assert_eq!(
        text(&out.stdout),
        "# unit: us\n# start: 2026-11-21T10:00:00Z\n# labels: service\n\
         service=;x 100000000000000000000\nservice=api;main 3\nservice=api;main;f 1.25\n"
    );
    assert_eq!(
        stacks(folder.path(), &["--label=service", "a.parquet"]),
        "service=;x 100000000000000000000\nservice=api;main 3\nservice=api;main;f 1.25\n"
    );
    let two = run_in(folder.path(), &["-o", "b.parquet"], "main 1 2\n");
    assert_eq!(two.status, 2);
    assert!(two.stderr.contains("parquet has one weight in a row"), "{}", two.stderr);
}

/// Every sample is a row, with what is known of it, and comes back as it was.
#[test]
fn single_samples_are_rows_with_times_and_threads() {
    let folder = tempfile::tempdir().unwrap();
    let sample = |thread: &str, tid: u32, seconds: &str, function: &str| {
        format!("{thread} {tid} {seconds}: 10 cpu-clock: \n\t    1000 {function} (/lib/a.so)\n\n")
    };
    let script =
        sample("a", 7, "5.000001", "f") + &sample("b", 8, "5.250000", "f") + &sample("a", 7, "6.500000", "g");
    fs::write(folder.path().join("a.perf"), &script).unwrap();
    let run = run_in(folder.path(), &["a.perf", "-o", "a.parquet", "-o", "plain.folded"], "");
    assert_eq!((run.status, run.stderr.as_str()), (0, ""));
    for labels in ["--label=thread", "--label=tid", "--label=time=1ms,thread"] {
        let [before, after] = ["a.perf", "a.parquet"].map(|file| stacks(folder.path(), &[labels, file]));
        assert_eq!(before, after, "{labels}");
    }
    let whole = |file: &str| stacks(folder.path(), &[file]);
    assert_eq!(whole("a.perf"), whole("a.parquet"));
    // Without times the stacks are rows.
    run_in(folder.path(), &["a.perf", "--no-time", "-o", "b.parquet"], "");
    assert_eq!(whole("a.perf"), whole("b.parquet"));
    if !works("duckdb and pyarrow") {
        return;
    }
    let script = "import duckdb\nfor f in 'ab': print(*duckdb.sql(f\"select count(*), count(time), sum(weight), \
        min(labels['thread']), min(stack[-1].function), min(stack[-1].module), min(unit), min(value_type) \
        from '{f}.parquet'\").fetchall()[0])";
    assert_eq!(
        python(folder.path(), script),
        "3 3 30 a f a.so ns cpu-clock\n3 0 30 None f a.so ns cpu-clock\n"
    );
}

/// A heap of Go has four values: all are rows, in their units, and any of them comes back.
#[test]
fn every_value_of_a_recording_is_rows() {
    let folder = tempfile::tempdir().unwrap();
    let heap = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/pprof/heap/input.pb.gz");
    let heap = heap.to_str().unwrap();
    let run = run_in(folder.path(), &[heap, "-o", "heap.parquet"], "");
    assert_eq!((run.status, run.stderr.as_str()), (0, ""));
    let whole = |arguments: &[&str]| text(&collapse(folder.path(), arguments).stdout);
    let values = ["alloc_objects", "alloc_space", "inuse_objects", "inuse_space"];
    for value in values {
        let of_value = |file: &str| stacks(folder.path(), &["--value", value, file]);
        let (before, after) = (of_value(heap), of_value("heap.parquet"));
        assert!(!before.is_empty());
        assert_eq!(before, after, "{value}");
    }
    assert_eq!(stacks(folder.path(), &[heap]), stacks(folder.path(), &["heap.parquet"]), "the default");
    let headers = [heap, "heap.parquet"].map(|file| whole(&["--value", "alloc_objects", file]));
    let unit = |text: &str| text.lines().find(|line| line.starts_with("# unit: ")).map(str::to_owned);
    assert_eq!(unit(&headers[0]), unit(&headers[1]), "{headers:?}");
    // One that is chosen is the only one.
    run_in(folder.path(), &[heap, "--value", "alloc_space", "-o", "one.parquet"], "");
    let listed = whole(&["--list-values", "one.parquet"]);
    assert!(listed.contains("alloc_space") && !listed.contains("inuse_space"), "{listed}");
    let run = run_in(folder.path(), &[heap, "--private", "-o", "private.parquet"], "");
    assert_eq!((run.status, run.stderr.lines().count()), (0, 1), "{}", run.stderr);
    assert!(run.stderr.contains("other values of the recording are left out"), "{}", run.stderr);
    if !works("duckdb and pyarrow") {
        return;
    }
    let script = "import duckdb\nfor row in duckdb.sql(\"select value_type, unit, sum(weight) from 'heap.parquet' group by all order by 1\").fetchall(): print(*row)";
    let listed: Vec<String> = python(folder.path(), script).lines().map(str::to_owned).collect();
    let sum = |value: &str| {
        let total =
            Profile::from_bytes(stacks(folder.path(), &["--value", value, heap])).unwrap().total().unwrap();
        total.value.to_string()
    };
    assert_eq!(listed.len(), values.len(), "{listed:?}");
    for (line, value) in listed.iter().zip(values) {
        assert!(
            line.starts_with(&format!("{value} ")) && line.ends_with(&format!(" {}", sum(value))),
            "{line}"
        );
    }
}

#[test]
fn duckdb_and_pyarrow_read_the_same_sums() {
    if !works("duckdb and pyarrow") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    run_in(folder.path(), &["-o", "a.parquet"], LABELLED);
    let script = "import duckdb, pyarrow.parquet as p, pyarrow.compute as c
print(duckdb.sql(\"select service, sum(weight), epoch_ns(min(time)), len(min(stack)) from 'a.parquet' group by 1 order by 2\").fetchall())
t = p.read_table('a.parquet')
print(c.sum(t['weight']), t.schema.field('weight').type, t['stack'][0])";
    let says = python(folder.path(), script);
    for part in [
        "('api', Decimal('4.25'), 1795255200000000000, ",
        "('', Decimal('100000000000000000000.00')",
        "100000000000000000004.25 decimal128(38, 2) [",
    ] {
        assert!(says.contains(part), "{part} in {says}");
    }
    let Some(corpus) = corpus() else { return };
    for file in ["go/heap.pb.gz", "perf/cpp-fp.perf.data", "py-spy/orders.speedscope.json"] {
        let file = corpus.join(file);
        if !file.exists() {
            continue;
        }
        let run = run_in(folder.path(), &["-q", file.to_str().unwrap(), "-o", "b.parquet"], "");
        assert_eq!(run.status, 0, "{}", run.stderr);
        let path = file.to_str().unwrap();
        assert_eq!(stacks(folder.path(), &[path]), stacks(folder.path(), &["b.parquet"]), "{path}");
    }
}

/// No damage gives more than one line.
#[test]
fn a_damaged_file_is_one_error() {
    let folder = tempfile::tempdir().unwrap();
    run_in(folder.path(), &["-o", "a.parquet"], LABELLED);
    let whole = fs::read(folder.path().join("a.parquet")).unwrap();
    let footer = whole.len() - 700;
    for at in 0..60 {
        let mut damaged = whole.clone();
        match at % 3 {
            0 => damaged.truncate(whole.len() * at / 60),
            1 => damaged[footer + 11 * at] ^= 0x81,
            _ => damaged[whole.len() * at / 60] = 0xff,
        }
        fs::write(folder.path().join("b.parquet"), damaged).unwrap();
        let out = collapse(folder.path(), &["-q", "b.parquet"]);
        let says = text(&out.stderr);
        match out.status.code() {
            Some(0) => assert_eq!(says, "", "{at}"),
            code => assert_eq!((code, says.lines().count()), (Some(2), 1), "{at}: {says}"),
        }
    }
}
