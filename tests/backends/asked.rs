//! The command line of each profiler, and the options that are refused before one is run.

use std::fs;

use super::stand_in::{Stage, value_of};
use super::{fixture, run, stacks, text};

#[test]
fn command_lines_of_backends() {
    let stage = Stage::full();
    for (arguments, line) in [
        (
            "--with perf -- ./app 'a b'",
            "perf record -q -N -F 997 --call-graph 'dwarf,32768' -o perf.data -- ./app 'a b'",
        ),
        (
            "--with perf -F 99 -e page-faults --call-graph fp --no-children -a -- app",
            "perf record -q -N -F 99 -e page-faults --call-graph fp --no-inherit -a -o perf.data -- app",
        ),
        (
            "--with perf -p 1,2 -d 1.5 --call-graph none",
            "perf record -q -N -F 997 -p '1,2' -o perf.data -- sleep 1.5",
        ),
        (
            "--with py-spy -- app -x",
            r#"py-spy record --format raw --rate 100 --subprocesses --output py-spy.txt -- sh -c 'exec "$@" >&2' sh app -x >/dev/null"#,
        ),
        (
            "--with py-spy -o out -- app",
            r#"py-spy record --format raw --rate 100 --subprocesses --output py-spy.txt -- sh -c 'exec "$@" >&3 3>&-' sh app 3>&1 >/dev/null"#,
        ),
        (
            "--with py-spy -p 7 -d 3 -F 20 --no-children --per-thread --backend-args='--idle --gil'",
            "py-spy record --format raw --rate 20 --threads --duration 3 --pid 7 --output py-spy.txt --idle --gil >/dev/null",
        ),
        (
            "--with austin -- app -x",
            "austin --pipe --sleepless -i 1003 -t 5000 --children -o austin.out app -x",
        ),
        (
            "--with austin -F 100 -p 7 -d 2 --no-children",
            "austin --pipe --sleepless -i 10000 -t 5000 -x 2 -p 7 -o austin.out",
        ),
        ("--with bpf -p 1,2 -d 3 -F 99", "profile-bpfcc -f -F 99 -p '1,2' 3 > recording"),
        ("--with bpf -a", "profile-bpfcc -f -F 997 > recording"),
        (
            "--with bpf --backend-args=-U -- app 'a b'",
            "app 'a b' & profile-bpfcc -f -F 997 -p $! -U > recording",
        ),
        (
            "--with dtrace -- app x",
            "dtrace -x 'ustackframes=100' -n 'profile-997 /progenyof($target)/ { @[ustack(100)] = count(); }' -o dtrace.txt -c 'app x'",
        ),
        (
            "--with dtrace -p 1,2 --no-children -d 1.5 -F 99",
            "dtrace -x 'ustackframes=100' -n 'profile-99 /pid == 1 || pid == 2/ { @[ustack(100)] = count(); } tick-1500ms { exit(0); }' -o dtrace.txt",
        ),
        (
            "--with xctrace -p 7 -d 2",
            r#"xctrace record --template 'Time Profiler' --no-prompt --output time.trace --time-limit 2000ms --attach 7 && xctrace export --input time.trace --xpath '/trace-toc/*/data/table[@schema="time-profile"]'"#,
        ),
        ("--with builtin -- ./app 'a b' ''", "./app 'a b' ''"),
    ] {
        let words = shlex::split(arguments).expect("words");
        let output = run(stage.fg_record().arg("--print-command").args(words));
        assert_eq!(text(&output.stdout).trim_end(), line, "{arguments}: {output:?}");
        assert_eq!((output.status.code(), text(&output.stderr).as_str()), (Some(0), ""), "{arguments}");
    }
    // Nothing was run but austin, for its version.
    assert!(stage.asked().iter().all(|word| word == "--version"), "{:?}", stage.asked());
}

#[test]
fn a_variable_names_the_tool() {
    let stage = Stage::new();
    for (variable, name, tool, begins) in [
        ("PERF", "perf", "my-perf", "my-perf record "),
        ("PY_SPY", "py-spy", "my-spy", "my-spy record "),
        ("AUSTIN", "austin", "austin-4", "austin-4 --pipe --cpu "),
        (
            "BPF",
            "bpf",
            "bpftrace",
            "bpftrace -o bpftrace.txt -e 'profile:hz:997 /pid == 1/ { @[kstack, ustack, comm] = count(); }",
        ),
        ("DTRACE", "dtrace", "dtrace.sh", "dtrace.sh -x "),
        ("XCTRACE", "xctrace", "my xctrace", "'my xctrace' record "),
    ] {
        stage.add(tool, "echo 'austin 4.0.0'");
        let mut command = stage.fg_record();
        command.env(variable, tool).args(["--print-command", "--with", name, "-p", "1", "-d", "2"]);
        let output = run(&mut command);
        assert!(text(&output.stdout).starts_with(begins), "{output:?}");
        let output = run(command.env(variable, "/no/such/tool"));
        assert_eq!(output.status.code(), Some(2));
        let said = text(&output.stderr);
        assert!(said.contains(&format!("\"/no/such/tool\", which {variable} names")), "{said}");
        assert_eq!(said.lines().count(), 1, "{said}");
    }
}

/// A shell that reads the printed command line runs the profiler with the same words.
#[test]
fn a_printed_command_runs() {
    let stage = Stage::full();
    stage.add("bpftrace", "exit 0");
    let odd = ["it's", "", "$HOME `x` \"y\"", "a\nb", "\\", "é*?"];
    for tool in ["perf", "bpftrace"] {
        let mut command = stage.alone();
        command.env("BPF", "bpftrace").args(["--print-command", "--with"]);
        command.arg(if tool == "perf" { "perf" } else { "bpf" }).args(["--", "true"]).args(odd);
        let line = text(&run(&mut command).stdout);
        let path = stage.path("bin");
        let ran = run(std::process::Command::new("/bin/sh").args(["-c", &line]).env("PATH", &path));
        assert_eq!(ran.status.code(), Some(0), "{line}: {ran:?}");
        let asked = fs::read_to_string(stage.path("asked")).expect("it was asked");
        fs::remove_file(stage.path("asked")).expect("the note");
        if tool == "perf" {
            assert!(asked.ends_with(&format!("\n--\ntrue\n{}\n", odd.join("\n"))), "{asked}");
        } else {
            let pid = asked.split_once("/pid == ").and_then(|(_, rest)| rest.split_once('/'));
            assert!(pid.is_some_and(|(pid, _)| pid.parse::<u32>().is_ok()), "{line}: {asked}");
        }
    }
}

#[test]
fn options_that_a_backend_lacks_are_refused() {
    let stage = Stage::full();
    for (arguments, said) in [
        ("--with py-spy -a", "py-spy cannot do -a; --with builtin, perf, bpf, dtrace, xctrace can"),
        (
            "--with py-spy -p 1,2",
            "py-spy cannot do -p with several processes; --with builtin, perf, bpf, dtrace can",
        ),
        ("--with perf --off-cpu -- true", "perf cannot do --off-cpu; --with builtin can"),
        ("--with perf --root -- true", "perf cannot do --root; --with builtin can"),
        ("--with austin -e cycles -- true", "austin cannot do -e; --with builtin, perf can"),
        (
            "--with austin --per-process -- true",
            "austin cannot do --per-process; --with builtin, perf, py-spy can",
        ),
        ("--with bpf --call-graph dwarf -a", "bpf cannot do --call-graph dwarf; --with builtin, perf can"),
        (
            "--with bpf --per-thread -a",
            "bpf cannot do --per-thread; --with builtin, perf, py-spy, austin can",
        ),
        (
            "--with dtrace --call-graph fp -- true",
            "dtrace cannot do --call-graph fp; --with builtin, perf, bpf can",
        ),
        ("--with dtrace -a -- true", "dtrace cannot do -a with a command; --with builtin, perf can"),
        (
            "--with xctrace -F 99 -- true",
            "xctrace cannot do -F; --with builtin, perf, py-spy, austin, bpf, dtrace can",
        ),
        (
            "--with xctrace --no-children -- true",
            "xctrace cannot do --no-children; --with builtin, perf, py-spy, austin, bpf, dtrace can",
        ),
        (
            "--with dtrace -- echo 'a b'",
            "dtrace cannot hand on \"a b\", a word with blanks or none; put the command into a script",
        ),
        (
            "--with py-spy --no-children --per-process -- true",
            "py-spy names processes only with their children: leave out --no-children",
        ),
        (
            "--backend-args=-x -- true",
            "--backend-args is for another program: name it by --with perf, py-spy, austin, bpf, dtrace, xctrace",
        ),
        (
            "--with perf '--backend-args=\"x' -- true",
            "--backend-args: \"\\\"x\" has a quote that is not closed",
        ),
        ("--with builtin --print-command -p 1", "the built-in sampler records without any other program"),
        (
            "--with perf -- /no/such/program",
            "cannot start the program: /no/such/program: there is no such program",
        ),
        ("--with perf -p 4194303", "there is no process 4194303; -p NAME finds one by its name"),
    ] {
        let words = shlex::split(arguments).expect("words");
        let output = run(stage.fg_record().args(words));
        assert_eq!(text(&output.stderr), format!("fg-record: {said}\n"), "{arguments}");
        assert_eq!((output.status.code(), output.stdout.len()), (Some(2), 0), "{arguments}");
    }
    stage.assert_clean();
}

#[test]
fn a_missing_tool_is_one_line_that_says_how_to_install_it() {
    let stage = Stage::new();
    for (name, install) in [
        ("perf", "apt install linux-perf"),
        ("py-spy", "pip install py-spy"),
        ("austin", "pip install austin-dist"),
        ("bpf", "apt install bpfcc-tools"),
        ("dtrace", "it comes with macOS"),
        ("xctrace", "it comes with Xcode"),
    ] {
        let output = run(stage.alone().args(["--with", name, "--", "true"]));
        let said = text(&output.stderr);
        assert!(said.contains("is not installed") && said.contains(install), "{said}");
        assert_eq!((output.status.code(), said.lines().count()), (Some(2), 1), "{said}");
    }
}

#[test]
fn dtrace_s_recording_becomes_folded() {
    let stage = Stage::new();
    let (recording, folded) = fixture("dtrace/ustack", "input.txt");
    stage.add("dtrace", &format!("{}; echo its talk; cat '{recording}' >\"$file\"", value_of("-o")));
    let output = run(stage.fg_record().args(["--with", "dtrace", "-F", "97", "--", "app", "x"]));
    // Its command has to be there.
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    let output = run(stage.fg_record().args(["--with", "dtrace", "-F", "97", "--", "echo", "x"]));
    assert_eq!((stacks(&text(&output.stdout)), output.status.code()), (folded, Some(0)), "{output:?}");
    let program = "profile-97 /progenyof($target)/ { @[ustack(100)] = count(); }";
    let asked = ["-x", "ustackframes=100", "-n", program, "-o", "DIR/dtrace.txt", "-c", "echo x"];
    assert_eq!(stage.asked(), asked);
    stage.assert_clean();
}

#[test]
fn xctrace_s_recording_becomes_folded() {
    let stage = Stage::new();
    let (recording, folded) = fixture("xctrace/time-profile", "input.xml");
    let export = format!(
        "case $1 in record) {}; mkdir \"$file\" && echo talk ;; export) cat '{recording}' ;; esac",
        value_of("--output")
    );
    stage.add("xctrace", &export);
    let output = run(stage.fg_record().args(["--with", "xctrace", "-d", "1", "--", "echo", "a b"]));
    assert_eq!((stacks(&text(&output.stdout)), output.status.code()), (folded, Some(0)), "{output:?}");
    let words = [
        "record",
        "--template",
        "Time Profiler",
        "--no-prompt",
        "--output",
        "DIR/time.trace",
        "--time-limit",
        "1000ms",
        "--launch",
        "--",
        "echo",
        "a b",
    ];
    let export = [
        "export",
        "--input",
        "DIR/time.trace",
        "--xpath",
        r#"/trace-toc/*/data/table[@schema="time-profile"]"#,
    ];
    assert_eq!(stage.asked(), [&words[..], &export[..]].concat());
    stage.assert_clean();
    // As it is, on request.
    let kept = stage.path("kept.xml");
    let output =
        run(stage.fg_record().args(["--with", "xctrace", "--raw", "-o"]).arg(&kept).args(["--", "echo"]));
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert_eq!(fs::read(kept).expect("the recording"), fs::read(recording).expect("a fixture"));
    assert_eq!(fs::read_dir(stage.path("")).expect("a folder").count(), 4, "bin, tmp, asked, kept.xml");
}

#[test]
fn with_is_documented_by_its_list() {
    let output = run(super::fg_record().arg("--help"));
    let help = text(&output.stdout);
    for name in ["auto", "builtin", "perf", "py-spy", "austin", "bpf", "dtrace", "xctrace"] {
        assert!(help.contains(name), "{name}");
    }
    assert!(help.lines().all(|line| line.chars().count() <= 79), "{help}");
}
