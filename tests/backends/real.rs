//! The profilers that work here, for real: tests of others are skipped with the tool's own words.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::OnceLock;

use super::installed::works;
use super::process::{self, until};
use super::{fg_record, run, text};

const PROGRAM: &str = r#"
#include <stdio.h>
#include <stdlib.h>
static volatile unsigned long x;
__attribute__((noinline)) void hot(long n) { for (long i = 0; i < n; i++) x = x * 31 + i; x++; }
__attribute__((noinline)) void warm(long n) { for (long i = 0; i < n; i++) x = x * 31 + i; x++; }
int main(int argc, char **argv) {
  for (long n = atol(argv[1]) / 4; n > 0; n--) { hot(3000000); warm(1000000); }
  puts("its own output");
  return 3;
}
"#;

const SCRIPT: &str = "\
import sys, time
def work(): return sum(i * i for i in range(2000))
def hot(seconds):
    end = time.process_time() + seconds
    while time.process_time() < end: work()
hot(float(sys.argv[1]))
print('its own output')
sys.exit(3)
";

/// A program in C, if there is a compiler.
fn program() -> Option<&'static Path> {
    static PATH: OnceLock<(tempfile::TempDir, PathBuf)> = OnceLock::new();
    if !works("cc") {
        return None;
    }
    let (_, path) = PATH.get_or_init(|| {
        let folder = tempfile::tempdir().expect("a folder");
        let source = folder.path().join("busy.c");
        fs::write(&source, PROGRAM).expect("a source");
        let path = folder.path().join("busy");
        let mut compiler = Command::new("cc");
        compiler.args(["-O1", "-g", "-fno-omit-frame-pointer", "-o"]).arg(&path).arg(&source);
        assert!(compiler.status().expect("cc starts").success());
        (folder, path)
    });
    Some(path)
}

/// A CPython program: the interpreter, and the script.
fn python() -> Option<(&'static str, PathBuf)> {
    if !works("python3") {
        return None;
    }
    static SCRIPT_FILE: OnceLock<tempfile::TempDir> = OnceLock::new();
    let folder = SCRIPT_FILE.get_or_init(|| {
        let folder = tempfile::tempdir().expect("a folder");
        fs::write(folder.path().join("busy.py"), SCRIPT).expect("a script");
        folder
    });
    Some(("python3", folder.path().join("busy.py")))
}

/// The profilers of Python that work here.
fn for_python() -> impl Iterator<Item = &'static str> {
    ["py-spy", "austin"].into_iter().filter(|tool| works(tool))
}

/// The weight of the stacks with a frame that begins so.
fn weight(folded: &str, frame: &str) -> f64 {
    let mut with = 0.0;
    for line in super::stacks(folded).lines() {
        let (stack, weight) = line.rsplit_once(' ').expect("a folded line");
        if stack.split(';').any(|name| name.starts_with(frame)) {
            with += weight.parse::<f64>().expect("a weight");
        }
    }
    with
}

/// `hot` takes three times as long as `warm`. Their share of the whole is the machine's: a busy one loses samples,
/// and spends long on the start of a program.
#[track_caller]
fn has_more_of_hot(tool: &str, folded: &str) {
    let (hot, warm) = (weight(folded, "hot"), weight(folded, "warm"));
    assert!(
        hot > warm && warm > 0.0,
        "{tool}: {hot} and {warm}, of which the first is three times as long\n{folded}"
    );
}

struct Running(Child);

impl Running {
    /// Starts a program, and waits until it computes.
    fn new(program: &Path, arguments: &[&str]) -> Running {
        let child = Command::new(program).args(arguments).stdout(Stdio::null()).spawn().expect("it starts");
        let running = Running(child);
        until("the program computes", || process::family(running.0.id()).into_iter().any(process::computes));
        running
    }

    fn id(&self) -> String {
        self.0.id().to_string()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn perf_records_a_command_with_its_output_and_status() {
    let Some(program) = program().filter(|_| works("perf record")) else { return };
    let output = run(fg_record().args(["--with", "perf", "--"]).arg(program).arg("600"));
    assert_eq!(output.status.code(), Some(3), "{output:?}");
    let folded = text(&output.stdout);
    assert!(text(&output.stderr).contains("its own output") && !folded.contains("its own output"));
    has_more_of_hot("perf", &folded);
    // As the built-in sampler has it.
    assert!(super::stacks(&folded).lines().all(|line| line.starts_with("busy;")), "{folded}");
}

#[test]
fn perf_records_processes_for_a_time() {
    let Some(program) = program().filter(|_| works("perf record")) else { return };
    let (one, other) = (Running::new(program, &["1000000"]), Running::new(program, &["1000000"]));
    let pids = format!("{},{}", one.id(), other.id());
    let arguments = ["--with", "perf", "-p", &pids, "-d", "0.7", "--call-graph", "fp", "--per-process"];
    let output = run(fg_record().args(arguments));
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    for process in [&one, &other] {
        assert!(text(&output.stdout).contains(&format!("busy-{};", process.id())), "{output:?}");
    }
}

#[test]
fn perf_s_own_file_is_kept() {
    let Some(program) = program().filter(|_| works("perf record")) else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("kept.data");
    let mut command = fg_record();
    command.args(["--with", "perf", "--raw", "-o"]).arg(&path).arg("--").arg(program).arg("100");
    let output = run(&mut command);
    assert_eq!((output.status.code(), text(&output.stdout).as_str()), (Some(3), "its own output\n"));
    assert!(fs::read(&path).expect("a recording").starts_with(b"PERFILE2"));
    assert_eq!(fs::read_dir(folder.path()).expect("a folder").count(), 1, "nothing else is left");
}

/// The function that runs all the time is in the profile. Its share is the tool's: austin reads while Python
/// runs on, and loses the rest of a stack at frames that are just made or gone; py-spy begins before Python
/// has frames; and a busy machine has more of either.
#[track_caller]
fn has_hot(tool: &str, folded: &str) {
    assert!(weight(folded, "hot (") > 0.0, "{tool}: {folded}");
}

/// Repeats a recording until the recorder could begin, and returns its output: austin now and then
/// looks at a program before it is Python, and gives up.
fn begun(make: impl Fn() -> Command) -> Output {
    let mut outputs = (0..10).map(|_| run(&mut make()));
    let begun = outputs.find(|output| !text(&output.stderr).contains("Not a Python process"));
    begun.expect("one of ten recordings begins")
}

#[test]
fn python_functions_are_recorded() {
    let Some((python, script)) = python() else { return };
    for tool in for_python() {
        let command = || {
            let mut command = fg_record();
            command.args(["--with", tool, "--", python]).arg(&script).arg("1.5");
            command
        };
        let output = begun(command);
        let (folded, said) = (text(&output.stdout), text(&output.stderr));
        has_hot(tool, &folded);
        assert!(folded.lines().any(|line| line.starts_with("<module> (")), "no process, no thread: {folded}");
        // Only newer systems tell how the command ended.
        match output.status.code() {
            Some(3) => {
                assert!(
                    said.starts_with("its own output\n") && said.ends_with(" exited with status 3\n"),
                    "{said}"
                )
            }
            code => {
                assert!(code == Some(0) && said.contains("does not tell how the command ended"), "{said}")
            }
        }
        // The command keeps its output when the profile goes elsewhere.
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("a.folded");
        let command = || {
            let mut command = fg_record();
            command.args(["--with", tool, "--per-thread", "-o"]).arg(&path).args(["--", python]);
            command.arg(&script).arg("0.5");
            command
        };
        let output = begun(command);
        assert_eq!(text(&output.stdout), "its own output\n", "{tool}: {output:?}");
        let folded = fs::read_to_string(&path).expect("folded text");
        let root = if tool == "py-spy" { "process " } else { "P" };
        assert!(super::stacks(&folded).lines().all(|line| line.starts_with(root)), "{tool}: {folded}");
    }
}

#[test]
fn a_running_python_process_is_recorded() {
    let Some((python, script)) = python() else { return };
    let tools: Vec<&str> = for_python().collect();
    if tools.is_empty() {
        return;
    }
    let running = Running::new(Path::new(python), &[script.to_str().expect("a path"), "1000"]);
    for tool in tools {
        let arguments = ["--with", tool, "-p", &running.id(), "-d", "1"];
        let output = run(fg_record().args(arguments));
        assert_eq!((output.status.code(), text(&output.stderr).as_str()), (Some(0), ""), "{tool}");
        has_hot(tool, &text(&output.stdout));
    }
}

#[test]
fn one_signal_stops_every_backend() {
    let (Some(program), Some((python, script))) = (program(), python()) else { return };
    let script = script.to_str().expect("a path");
    for (tool, job, command) in [
        ("perf", "perf record", [program.to_str().expect("a path"), "1000000", ""]),
        ("py-spy", "py-spy", [python, script, "1000"]),
        ("austin", "austin", [python, script, "1000"]),
    ] {
        if !works(job) {
            continue;
        }
        for signal in ["INT", "TERM"] {
            let mut recorder = fg_record();
            recorder.args(["--with", tool, "--"]).args(command.iter().filter(|word| !word.is_empty()));
            let mut child =
                recorder.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
            // The program is the last in a line of processes.
            let last = command.iter().rfind(|word| !word.is_empty()).expect("a word");
            let computed = |recorder: u32| {
                let below = process::family(recorder).into_iter().skip(2);
                let mut programs =
                    below.filter(|pid| process::arguments(*pid).last().is_some_and(|w| w == last));
                programs.next().map_or(0, process::user_time)
            };
            // A profiler that starts beside it on a busy machine is ready at any time after; from then on the program
            // computes for a second more.
            let mut ready = None;
            until("the profiler samples", || {
                let heeds = |pid: &u32| process::heeds(*pid, if tool == "austin" { 15 } else { 2 });
                if ready.is_none() && process::family(child.id()).get(1).is_some_and(heeds) {
                    ready = Some(computed(child.id()));
                }
                let has_ended = child.try_wait().expect("it can be waited for").is_some();
                has_ended || ready.is_some_and(|then| computed(child.id()) >= then + 100)
            });
            let has_ended = child.try_wait().expect("it can be waited for").is_some();
            if !has_ended {
                process::signal(signal, child.id());
            }
            let output = child.wait_with_output().expect("it ends");
            if has_ended {
                super::skip::skip(format!("{tool} gave up: {}", text(&output.stderr)));
                continue;
            }
            assert!(weight(&text(&output.stdout), "hot") > 0.0, "{tool} {signal}: {output:?}");
        }
    }
}

/// Both of them need root; bcc's also needs the headers of this kernel.
#[test]
fn bpf_records_a_process_and_a_command() {
    let Some(program) = program() else { return };
    for tool in ["profile-bpfcc", "bpftrace"] {
        let bpf = |arguments: &[&str]| {
            let mut command = fg_record();
            command.env("BPF", tool).args(["--with", "bpf", "-q"]).args(arguments);
            command
        };
        if !works(tool) {
            continue;
        }
        let running = Running::new(program, &["1000000"]);
        let output = run(&mut bpf(&["-d", "1", "-p", &running.id()]));
        let folded = text(&output.stdout);
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        assert!(super::stacks(&folded).lines().all(|line| line.starts_with("busy;")), "{folded}");
        assert!(weight(&folded, "hot") > 0.0, "{tool}: {output:?}");
        drop(running);
        // Ended by us when the time was over, as SIGTERM ends it.
        let output = run(bpf(&["-d", "1", "--"]).arg(program).arg("1000000"));
        assert_eq!(output.status.code(), Some(128 + 15), "{output:?}");
        assert!(weight(&text(&output.stdout), "hot") > 0.0, "{tool}: {output:?}");
        // One that ends by itself stays until its functions are named.
        let output = run(bpf(&["--"]).arg(program).arg("600"));
        assert_eq!(output.status.code(), Some(3), "{output:?}");
        has_more_of_hot(tool, &text(&output.stdout));
    }
}
