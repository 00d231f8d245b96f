//! The program itself: arguments, exit status, what goes where.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use super::feed::{feed, text};

const PERF: &str = "a  1 5.000001: 3 c: \n\t            1000 f (/a)\n\n";

fn run(args: &[&str], input: &[u8]) -> Output {
    feed(Command::new(env!("CARGO_BIN_EXE_fg-collapse")).args(args), input)
}

#[test]
fn reads_a_pipe_writes_folded_text_and_says_nothing() {
    let out = run(&[], PERF.as_bytes());
    assert_eq!(
        (out.status.code(), text(&out.stdout), text(&out.stderr)),
        (
            Some(0),
            "# unit: c\n# event: c\n# period: 3 c\n# samples: 1 samples\na;f 3\n".into(),
            String::new()
        )
    );
    assert_eq!(text(&run(&["--no-header"], PERF.as_bytes()).stdout), "a;f 3\n");
}

#[test]
fn several_files_are_one_profile_whatever_they_are() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).display().to_string();
    fs::write(at("a.perf"), PERF).unwrap();
    fs::write(at("b.folded"), "a;f 4\nz 1\n").unwrap();
    let out = run(&[&at("a.perf"), &at("b.folded"), "-"], b"a;f 10\n");
    assert_eq!(text(&out.stdout), "a;f 17\nz 1\n");
}

#[test]
fn formats_without_a_recording_say_so_once() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures");
    let hprof = root.join("hprof/samples/input.hprof.txt").display().to_string();
    let folder = tempfile::tempdir().unwrap();
    for name in ["a", "b"] {
        fs::copy(&hprof, folder.path().join(name)).unwrap();
    }
    let folder = folder.path().display().to_string();
    for inputs in [&[&hprof[..]][..], &[&hprof, &hprof, &hprof], &["-r", &folder]] {
        let out = run(inputs, b"");
        assert!(out.status.success(), "{out:?}");
        assert_eq!(text(&out.stderr).matches("is read by its description alone").count(), 1, "{out:?}");
        assert_eq!(text(&run(&[&["-q"], inputs].concat(), b"").stderr), "");
    }
}

#[test]
fn a_recording_of_instruments_says_how_it_is_exported() {
    let folder = tempfile::tempdir().unwrap();
    let trace = folder.path().join("app.trace");
    fs::create_dir(&trace).unwrap();
    let out = run(&[&trace.display().to_string()], b"");
    assert_eq!(out.status.code(), Some(2));
    let said = text(&out.stderr);
    assert!(said.lines().count() == 1 && said.contains("xctrace export --input"), "{said}");
}

#[test]
fn errors_are_one_line_and_status_2() {
    let folder = tempfile::tempdir().unwrap();
    let missing = folder.path().join("missing.perf").display().to_string();
    let out = folder.path().join("out.folded").display().to_string();
    let gz = folder.path().join("cut.gz");
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    let lines: String =
        (0..50_000u32).map(|n| format!("f{};g{} 1\n", n.wrapping_mul(2_654_435_761), n)).collect();
    encoder.write_all(lines.as_bytes()).unwrap();
    let whole = encoder.finish().unwrap();
    fs::write(&gz, &whole[..whole.len() / 2]).unwrap();
    let gz = gz.display().to_string();
    let folder = folder.path().display().to_string();
    for (args, input, message) in [
        (&[missing.as_str()][..], "", "missing.perf: cannot open: no such file or directory"),
        (&[&folder], "", "cannot read: it is a directory; fg-collapse -r reads the recordings in it"),
        (&[&gz], "", "cut.gz: damaged gzip data"),
        (
            &["-o", &out],
            "hello there\n",
            "standard input: not a format known here; fg-collapse --list-formats shows those that are",
        ),
        (
            &[],
            "v8-version,12,4,254\nshared-library,/usr/bin/node\n",
            "standard input: not read here: a log of V8; convert it: ",
        ),
        (
            &["--input-format", "prf"],
            "",
            "there is no format \"prf\"; is it perf-data, perf-script, perf-sched or ",
        ),
        (&["--input-format", "nonsense"], "", "there is no format \"nonsense\"; the formats are "),
        (
            &["--strict"],
            "a;b 1\nno weight\nc 1\n",
            "standard input:2: 1 line(s) not understood, the first is \"no weight\"",
        ),
        (
            &["-o", "/nonexistent/x"],
            "a 1\n",
            "/nonexistent/x: cannot open: there is no folder /nonexistent; `mkdir -p /nonexistent` makes it",
        ),
        (
            &["--input-format", "folded"],
            "a 1\nb 99999999999999999999999999999999999999\nb 99999999999999999999999999999999999999\n",
            "the weights add up to more than can be held exactly",
        ),
    ] {
        let result = run(args, input.as_bytes());
        let stderr = text(&result.stderr);
        assert_eq!(result.status.code(), Some(2), "{args:?}: {stderr}");
        assert!(stderr.starts_with("fg-collapse: ") && stderr.contains(message), "{stderr}");
        assert_eq!(stderr.lines().count(), 1, "{stderr}");
        assert!(result.stdout.is_empty(), "no half output");
    }
    assert!(!Path::new(&out).exists(), "no file is made for a failure");
}

#[test]
fn omissions_warn_once_unless_quiet() {
    let input = b"a;b 1\nwhat?\nwho?\nb 2\nc 3\n";
    let out = run(&[], input);
    assert_eq!(text(&out.stdout), "a;b 1\nb 2\nc 3\n");
    assert_eq!(
        text(&out.stderr),
        "fg-collapse: standard input:2: 2 line(s) not understood and left out, the first is \"what?\"\n"
    );
    assert_eq!(text(&run(&["-q"], input).stderr), "");
    let two = "a  1 5.000001: 3 c: \n\nb  1 5.000001: 4 d: \n\n";
    assert_eq!(
        text(&run(&[], two.as_bytes()).stderr),
        "fg-collapse: left out \"d\" (1 samples, 4 d); --value NAME keeps it, --value all each\n"
    );
    assert!(text(&run(&["-v"], two.as_bytes()).stderr).contains("1 stacks of 1 frames, total weight 3"));
}

#[test]
fn an_output_file_is_complete_or_as_it_was() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out.folded");
    fs::write(&out, "old\n").unwrap();
    let path = out.display().to_string();
    assert_eq!(run(&["-o", &path], b"no profile\n").status.code(), Some(2));
    assert_eq!(fs::read_to_string(&out).unwrap(), "old\n");
    assert_eq!(run(&["-o", &path], b"a 1\n").status.code(), Some(0));
    assert_eq!(fs::read_to_string(&out).unwrap(), "a 1\n");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "nothing temporary is left");
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_trouble_and_a_closed_pipe_is_not() {
    let lines: String = (0..20_000).map(|n| format!("f{n} 1\n")).collect();
    let full = fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let folder = tempfile::tempdir().unwrap();
    let input = folder.path().join("in.folded");
    fs::write(&input, lines).unwrap();
    let program = env!("CARGO_BIN_EXE_fg-collapse");
    let out = Command::new(program).arg(&input).stdout(full).output().unwrap();
    assert_eq!(out.status.code(), Some(2));
    assert_eq!(text(&out.stderr), "fg-collapse: standard output: cannot write: no space left on device\n");
    let mut child =
        Command::new(program).arg(&input).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let out = child.wait_with_output().unwrap();
    assert_eq!((out.status.code(), text(&out.stderr)), (Some(0), String::new()));
}

#[test]
fn formats_are_listed_from_the_registry() {
    let listed = text(&run(&["--list-formats"], b"").stdout);
    let names: Vec<&str> =
        listed.lines().skip(1).map(|line| line.split_whitespace().next().unwrap()).collect();
    let registered: Vec<&str> =
        fg_tools::collapse::registry::FORMATS.iter().map(|format| format.name()).collect();
    assert_eq!(names, registered);
}

#[test]
fn values_are_listed_and_chosen_and_their_unit_is_written() {
    let two = b"a  1 5.000001: 3 cpu-clock:u: \n\nb  1 5.000001: 4 d: \n\n";
    assert_eq!(
        text(&run(&["--list-values"], two).stdout),
        "  value        samples  total  unit\n\
         * cpu-clock:u        1      3  ns\n\
         \u{20} d                  1      4  d\n"
    );
    let perf = "a  1 5.000001: 3 cpu-clock:u: \n\nb  1 5.000001: 4 d: \n\n".as_bytes();
    let lines = |args: &[&str]| text(&run(args, perf).stdout);
    assert!(lines(&[]).starts_with("# unit: ns\n# event: cpu-clock:u\n"), "{}", lines(&[]));
    assert!(lines(&[]).ends_with("\na 3\n"), "{}", lines(&[]));
    assert!(lines(&["--value", "d"]).starts_with("# unit: d\n# event: d\n"));
    assert!(lines(&["--event-filter", "d", "--count-samples"]).starts_with("# unit: samples\n"));
    assert_eq!(lines(&["--no-header", "--value=all"]), "cpu-clock:u;a 3\nd;b 4\n");
    assert!(!lines(&["--value=all"]).contains("# unit"), "two units are none");
    let out = run(&["--value", "x"], two);
    assert_eq!(out.status.code(), Some(2));
    assert!(
        text(&out.stderr).contains("no samples of that value; there are \"cpu-clock:u\", \"d\":"),
        "{out:?}"
    );
}

/// Three recordings of one sample each, of these periods in milliseconds.
fn recordings_of_periods(periods: [u32; 3]) -> Vec<String> {
    let text = |period| format!("# unit: ms\n# period: {period} ms\n# samples: 1 samples\nmain {period}\n");
    periods.map(text).to_vec()
}

#[test]
fn period_is_dropped_if_any_recording_differs() {
    let folder = tempfile::tempdir().unwrap();
    let collapsed = |periods| {
        let texts = recordings_of_periods(periods);
        let paths: Vec<String> =
            (0..3).map(|n| folder.path().join(format!("r{n}")).display().to_string()).collect();
        paths.iter().zip(texts).for_each(|(path, text)| fs::write(path, text).unwrap());
        let args: Vec<&str> = paths.iter().map(String::as_str).collect();
        text(&run(&args, b"").stdout)
    };
    assert_eq!(collapsed([10, 20, 10]), "# unit: ms\n# samples: 3 samples\nmain 40\n");
    assert_eq!(collapsed([10, 10, 10]), "# unit: ms\n# period: 10 ms\n# samples: 3 samples\nmain 30\n");
}

#[test]
fn folded_text_keeps_the_facts_of_its_header() {
    let known = "# unit: ns\n# event: cpu-clock:u\n# period: 1000 ns\n# samples: 3 samples\n\
                 # command: \"./spin 3\"\n# host: box\n# start: 2026-11-21T10:00:00Z\n# duration: 8.6 s\n\
                 # producer: \"perf 6.1\"\n# warning: stacks are cut\n# comment: hello\nmain 3000\n";
    assert_eq!(text(&run(&[], known.as_bytes()).stdout), known);
    // Names like those that py-spy or austin write are still ours below our header.
    for line in ["main (a.py:3);f (a.py:4) 10", "P1;T0:2;a.py:f:3 10", "process 7:\"x\";f (a.py:4) 10"] {
        let text_of = format!("# unit: us\n# command: ./x\n{line}\n");
        assert_eq!(text(&run(&[], text_of.as_bytes()).stdout), text_of);
    }
}

#[test]
fn empty_leaf_is_dropped_in_any_line() {
    for (args, input) in
        [(&[][..], "main; 19\n"), (&["--input-format", "folded"], "main; 19\n"), (&[], "main 10\nmain; 9\n")]
    {
        assert_eq!(text(&run(args, input.as_bytes()).stdout), "main 19\n", "{input}");
    }
}

#[test]
fn numbers_at_the_end_of_names_are_no_second_weight() {
    let mut input: String = (0..9000).map(|n| format!("main;worker {n} 1\n")).collect();
    input += "zebra 1\n";
    let out = run(&[], input.as_bytes());
    assert_eq!((out.status.code(), text(&out.stderr)), (Some(0), String::new()));
    let folded = text(&out.stdout);
    assert_eq!(folded.lines().count(), 9001);
    assert!(folded.contains("main;worker 8999 1\n") && folded.ends_with("zebra 1\n"));
}

#[test]
fn units_that_do_not_add_up_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).display().to_string();
    fs::write(at("time.folded"), "# unit: ns\nmain 3\n").unwrap();
    fs::write(at("heap.folded"), "# unit: bytes\nmain 3\n").unwrap();
    fs::write(at("unknown.folded"), "main 3\n").unwrap();
    let out = run(&[&at("time.folded"), &at("heap.folded")], b"");
    assert_eq!(out.status.code(), Some(2));
    let message = text(&out.stderr);
    assert!(message.contains("heap.folded: weights in bytes cannot be added to weights in ns"), "{message}");
    // Weights without a unit are added to any others, and the sum has no unit.
    assert_eq!(text(&run(&[&at("time.folded"), &at("unknown.folded")], b"").stdout), "main 6\n");
}

#[test]
fn an_input_whose_weights_are_zero_adds_nothing_and_takes_no_unit_away() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).display().to_string();
    for (name, weights) in [("busy", "100,0,5"), ("idle", "0,1,7")] {
        let recording = format!(
            "# austin: 3.7.0\n# interval: 100\n# mode: full\n\nP1;T0:1;a.py:main:1 {weights}\n\n# duration: 9\n"
        );
        fs::write(at(name), recording).unwrap();
    }
    for files in [[at("busy"), at("idle")], [at("idle"), at("busy")]] {
        let folded = text(&run(&[&files[0], &files[1]], b"").stdout);
        assert!(folded.starts_with("# unit: us\n"), "{folded}");
        assert!(folded.ends_with("\nP1;T0:1;main (a.py:1) 100\n"), "{folded}");
    }
}

/// The recordings of each format that are part of the tests, as a table of Markdown.
fn tried() -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures");
    let mut table = String::from("| format | files | made by |\n| --- | --- | --- |\n");
    for format in fg_tools::collapse::registry::FORMATS {
        let Ok(cases) = fs::read_dir(root.join(format.name())) else { continue };
        let mut tools = std::collections::BTreeSet::new();
        let mut files = 0;
        for case in cases {
            let text = fs::read_to_string(case.unwrap().path().join("case.toml")).unwrap();
            let tool = text.lines().find_map(|line| line.strip_prefix("tool = ")).expect("a tool");
            tools.insert(tool.trim_matches('"').replace('|', "\\|"));
            files += 1;
        }
        let tools = tools.into_iter().collect::<Vec<_>>().join("; ");
        table += &format!("| `{}` | {files} | {tools} |\n", format.name());
    }
    table
}

#[test]
fn the_table_in_the_documentation_is_the_registry_s() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/formats.md");
    let document = fs::read_to_string(&path).unwrap();
    let table = fg_tools::collapse::format_info::table(fg_tools::collapse::registry::FORMATS, true);
    let contexts = fg_tools::collapse::format_info::context_table(fg_tools::collapse::registry::FORMATS);
    let languages = fg_tools::collapse::recorders::table();
    let mut current = document.clone();
    for (head, table) in [
        ("| name | written by |", table),
        ("| name | times |", contexts),
        ("| language |", languages),
        ("| format | files |", tried()),
    ] {
        let (before, rest) = current.split_once(head).expect("the table");
        let after = rest.split_once("\n\n").map_or("", |(_, after)| after);
        current = format!("{before}{table}\n{after}");
    }
    if std::env::var_os("FG_UPDATE_DOCS").is_some() {
        fs::write(&path, &current).unwrap();
        return;
    }
    assert!(
        document == current,
        "docs/formats.md is out of date: FG_UPDATE_DOCS=1 cargo test --test collapse"
    );
}

#[test]
fn it_describes_itself() {
    let short = text(&run(&["-h"], b"").stdout);
    assert!(short.lines().all(|line| line.chars().count() <= 79), "{short}");
    for kind in ["man", "bash", "zsh", "fish", "elvish", "powershell"] {
        let out = run(&["--generate", kind], b"");
        assert!(out.status.success() && text(&out.stdout).contains("values"), "{kind}");
    }
}

/// Each stack is the beginning of the one before: sorting them must not store the shared frames again.
#[test]
#[cfg(target_os = "linux")]
fn deep_recursion_fits_in_memory() {
    let lines = |depth: usize| format!("{} 1\n", vec!["f"; depth].join(";"));
    let input: String = (1..3000).rev().map(lines).collect();
    let limited = r#"ulimit -v 500000; exec "$0" --threads 1"#;
    let output =
        feed(Command::new("sh").args(["-c", limited, env!("CARGO_BIN_EXE_fg-collapse")]), input.as_bytes());
    assert_eq!((output.status.code(), text(&output.stderr)), (Some(0), String::new()));
    assert!(text(&output.stdout).starts_with("f 1\nf;f 1\nf;f;f 1\n"));
}

/// Files in order are merged, whatever their size; others are sorted on disk.
#[test]
#[cfg(target_os = "linux")]
fn more_stacks_than_fit_in_memory() {
    let folder = tempfile::tempdir().unwrap();
    let line =
        |n: usize| format!("main;{}worker_{:07} {}\n", "a_long_name_of_a_function;".repeat(8), n, n % 9);
    let in_order: String = (0..200_000).map(line).collect();
    let disorder: String = (0..200_000).map(|n| line(n * 7919 % 200_000)).collect();
    for (name, text) in [("1", &in_order), ("2", &in_order), ("3", &disorder)] {
        std::fs::write(folder.path().join(name), text).unwrap();
    }
    // A debug build itself takes some 60 MB; the texts are 48 MB each, and tables of them 100 MB.
    let limited = r#"ulimit -v 130000; exec "$0" "$@""#;
    let fold = |arguments: &[&str]| {
        let mut command = Command::new("sh");
        command.args(["-c", limited, env!("CARGO_BIN_EXE_fg-collapse")]).args(arguments);
        command.current_dir(folder.path()).output().unwrap()
    };
    let twice = fold(&["1", "2"]);
    assert_eq!((twice.status.code(), text(&twice.stderr)), (Some(0), String::new()));
    let expected = |times: usize| -> String {
        let weighed =
            |n: usize| line(n).rsplit_once(' ').map(|(stack, _)| format!("{stack} {}\n", n % 9 * times));
        (0..200_000).filter_map(weighed).collect()
    };
    assert!(twice.stdout == expected(2).as_bytes());
    let sorted = fold(&["--memory", "8M", "1", "2", "3"]);
    assert_eq!((sorted.status.code(), text(&sorted.stderr)), (Some(0), String::new()));
    assert!(sorted.stdout == expected(3).as_bytes());
}

#[test]
fn a_header_alone_is_a_profile_without_samples() {
    let out = run(&[], b"# unit: ns\n");
    assert_eq!((out.status.code(), text(&out.stdout)), (Some(2), String::new()));
    let err = text(&out.stderr);
    assert!(err.contains("standard input: no samples in it"), "{err}");
}

#[test]
fn units_that_contradict_each_other_are_placed() {
    for (input, line) in [("# unit: ns\n# unit: s\na 1\n", 2), ("# unit: ns\na 1\n# unit: s\nb 1\n", 3)] {
        let out = run(&[], input.as_bytes());
        let err = text(&out.stderr);
        assert!(out.status.code() == Some(2) && err.contains(&format!("standard input:{line}: ")), "{err}");
    }
}

#[test]
fn text_that_ends_within_a_line_says_so() {
    let said = |line: u32| {
        format!(
            "fg-collapse: standard input:{line}: the text ends within this line; it may have been cut short\n"
        )
    };
    let perf = PERF.trim_end().strip_suffix(')').unwrap();
    for (input, folded, line) in
        [("main;a 12\nmain;b 3", "main;a 12\nmain;b 3\n", 2), (perf, "a;f (/a 3\n", 2)]
    {
        let out = run(&["--no-header"], input.as_bytes());
        assert_eq!((text(&out.stdout).as_str(), text(&out.stderr)), (folded, said(line)));
        assert!(text(&run(&["-q"], input.as_bytes()).stderr).is_empty());
    }
    // A record of several lines, read one after the other.
    let jstack = "Full thread dump OpenJDK 64-Bit Server VM:\n\n\"main\" #1 prio=5 tid=0x1 nid=0x2 runnable\n   java.lang.Thread.State: \
                  RUNNABLE\n\tat a.B.c(B.java:3";
    let out = run(&["--no-header"], jstack.as_bytes());
    assert!(text(&out.stderr).starts_with(&said(5)), "{out:?}");
    // Copied without the last newline.
    let said = text(&run(&["--no-header"], format!("{jstack})").as_bytes()).stderr);
    assert!(!said.contains("cut short"), "{said}");
}

#[test]
fn verbose_names_the_format() {
    for (input, format) in [(PERF, "perf-script"), ("main;a 12\n", "folded")] {
        let said = text(&run(&["-v"], input.as_bytes()).stderr);
        assert!(said.contains(&format!("fg-collapse: standard input: read as {format}\n")), "{said}");
    }
}

#[test]
fn text_whose_lines_end_in_numbers_is_refused_with_what_to_do() {
    for (input, what) in [
        (
            "The year was 1999\n",
            "do not look like stacks; if they are, fg-collapse --input-format folded takes them",
        ),
        ("http_requests_total{code=\"200\"} 1027\n", "do not look like stacks"),
        ("# TYPE up gauge\nup 1\n", "metrics as Prometheus reads them"),
    ] {
        let out = run(&[], input.as_bytes());
        let said = text(&out.stderr);
        assert!(out.status.code() == Some(2) && out.stdout.is_empty(), "{input}: {out:?}");
        assert!(said.contains(what) && said.lines().count() == 1, "{said}");
        for (program, arguments) in [
            (env!("CARGO_BIN_EXE_fg-filter"), &["x"][..]),
            (env!("CARGO_BIN_EXE_fg-render"), &[]),
            (env!("CARGO_BIN_EXE_fg-diff"), &["-", "/dev/null"]),
        ] {
            let other = feed(Command::new(program).args(arguments), input.as_bytes());
            assert_eq!(other.status.code(), Some(2), "{other:?}");
            assert!(text(&other.stderr).contains(what), "{other:?}");
        }
    }
    assert_eq!(
        text(&run(&["--input-format", "folded"], b"The year was 1999\n").stdout),
        "The year was 1999\n"
    );
    assert_eq!(text(&run(&[], b"main 12\nidle 30\n").stdout), "idle 30\nmain 12\n");
}
