//! `fg-record` on this machine: real programs, real kernels. Where perf_event_open is refused the
//! tests say so and pass.

#![cfg(target_os = "linux")]
#![allow(missing_docs)]

mod alloc;
mod bundle;
mod cargo;
mod cgroup;
mod check;
#[path = "../common/copied.rs"]
mod copied;
mod debuginfod;
mod ended;
mod events;
mod facts;
mod forks;
mod go;
mod gone;
#[path = "../common/installed.rs"]
mod installed;
mod java;
#[cfg(feature = "tui")]
mod live;
mod lost;
mod names;
mod off_cpu;
mod open;
mod outputs;
mod parts;
mod pauses;
#[path = "../common/process.rs"]
mod process;
#[path = "../common/pty.rs"]
mod pty;
mod python;
mod rights;
mod root;
mod runs;
mod sframe;
mod short_lived;
#[path = "../common/skip.rs"]
mod skip;
mod stitched;
mod terminal;
mod wall;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::OnceLock;

use installed::works;
use process::until;
use skip::skip;

const PROGRAM: &str = r#"
#include <stdio.h>
#include <stdlib.h>
#include <pthread.h>
#include <unistd.h>
#include <sys/wait.h>
static volatile unsigned long x;
__attribute__((noinline)) void hot(long n) { for (long i = 0; i < n; i++) x = x * 31 + i; }
__attribute__((noinline)) void warm(long n) { for (long i = 0; i < n; i++) x = x * 31 + i; }
static void *in_thread(void *n) { hot(*(long *)n); return 0; }
int main(int argc, char **argv) {
  long n = atol(argv[1]) * 1000000;
  const char *how = argc > 2 ? argv[2] : "";
  if (*how == 't') { pthread_t t; pthread_create(&t, 0, in_thread, &n); pthread_join(t, 0); }
  else if (*how == 'c') { if (!fork()) { hot(n); _exit(0); } wait(0); }
  else for (int i = 0; i < 20; i++) { hot(n / 20 * 3 / 4); warm(n / 20 / 4); }
  puts("its own output");
  if (*how == 'a') abort();
  return argc > 3 ? atoi(argv[3]) : 0;
}
"#;

/// A compiled program and the folder it is in.
type Built = OnceLock<(tempfile::TempDir, PathBuf)>;

/// A program, compiled once; `None`, said, without a compiler.
fn compiled(built: &'static Built, name: &str, source_text: &str) -> Option<&'static Path> {
    if !works("cc") {
        return None;
    }
    let (_, path) = built.get_or_init(|| {
        let folder = tempfile::tempdir().expect("a folder");
        // Other users run it too.
        set_mode(folder.path(), 0o755);
        let source = folder.path().join(format!("{name}.c"));
        fs::write(&source, source_text).expect("a source");
        let path = folder.path().join(name);
        let done = Command::new("cc").args(["-O1", "-g", "-pthread", "-o"]).arg(&path).arg(&source).status();
        assert!(done.expect("cc starts").success());
        (folder, path)
    });
    Some(path)
}

fn set_mode(path: &Path, mode: u32) {
    use std::os::unix::fs::PermissionsExt;
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("its mode is set");
}

fn fg_record() -> Command {
    Command::new(env!("CARGO_BIN_EXE_fg-record"))
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// The output of a recording; `None`, with a message, if the system does not let us record.
fn recorded(command: &mut Command) -> Option<Output> {
    let output = command.output().expect("fg-record starts");
    let said = text(&output.stderr);
    let refused = [
        "is kept from ordinary users",
        "is filtered out",
        "no perf events",
        "security policy",
        "not allowed in this",
    ];
    if output.status.code() == Some(2) && refused.iter().any(|word| said.contains(word)) {
        skip(said);
        return None;
    }
    Some(output)
}

/// A program to record that computes.
fn ready() -> Option<&'static Path> {
    static BUILT: Built = Built::new();
    compiled(&BUILT, "busy", PROGRAM)
}

/// Folded text without its header.
fn stacks(folded: &str) -> String {
    folded.lines().filter(|line| !line.starts_with("# ")).map(|line| format!("{line}\n")).collect()
}

/// The share of the weight in stacks with a frame of this name, of all that was sampled: a busy machine may have
/// much more processor time without samples.
fn share(folded: &str, frame: &str) -> f64 {
    share_within(folded, None, frame)
}

/// The share of the weight in stacks with a frame, of the stacks with another one: whatever else the machine did, and
/// however long a program took to start, has no part in it.
fn share_within(folded: &str, among: Option<&str>, frame: &str) -> f64 {
    let (mut with, mut all) = (0.0, 0.0);
    for line in stacks(folded).lines() {
        let (stack, weight) = line.rsplit_once(' ').expect("a folded line");
        let has = |frame: &str| stack.split(';').any(|name| name == frame);
        if has("[not sampled]") || among.is_some_and(|among| !has(among)) {
            continue;
        }
        let weight: f64 = weight.parse().expect("a weight");
        all += weight;
        if has(frame) {
            with += weight;
        }
    }
    with / all
}

/// `hot` runs three times as long as `warm`, in turn.
#[track_caller]
fn has_more_of_hot(folded: &str) {
    let (hot, warm) = (share(folded, "hot"), share(folded, "warm"));
    assert!(
        hot > warm && warm > 0.0,
        "{hot} and {warm}, of which the first is three times as long\n{folded}"
    );
}

/// All callers are there: the stacks in which the program computes begin at its main function.
#[track_caller]
fn reaches_main(folded: &str) {
    for leaf in ["hot", "warm"].into_iter().filter(|leaf| share(folded, leaf) > 0.0) {
        let main = share_within(folded, Some(leaf), "main");
        assert!(main > 0.9, "main is in {main} of {leaf}\n{folded}");
    }
}

/// Repeats a recording that ends after some seconds, of ever more seconds, until what it gives is as it should be: on a
/// busy machine the recorded processes may not run at all for a second. What is wrong each time is for its caller to say.
fn in_time(
    mut record: impl FnMut(&str) -> Option<Output>,
    is_right: impl Fn(&Output) -> bool,
) -> Option<Output> {
    let mut output = record("0.7")?;
    for seconds in ["3", "10", "30"] {
        if is_right(&output) {
            break;
        }
        output = record(seconds)?;
    }
    Some(output)
}

#[test]
fn a_command_is_recorded_with_its_output_and_status() {
    let Some(program) = ready() else { return };
    for how in ["dwarf", "fp"] {
        let Some(output) =
            recorded(fg_record().args(["--call-graph", how, "--"]).arg(program).args(["600", "-", "3"]))
        else {
            return;
        };
        assert_eq!(output.status.code(), Some(3), "{output:?}");
        let folded = text(&output.stdout);
        assert!(text(&output.stderr).contains("its own output"), "on standard error");
        assert!(!folded.contains("its own output"));
        has_more_of_hot(&folded);
        if how == "dwarf" {
            assert!(stacks(&folded).lines().all(|line| line.starts_with("busy;")), "{folded}");
            reaches_main(&folded);
        }
    }
}

#[test]
fn a_command_keeps_its_output_when_results_go_to_files() {
    let Some(program) = ready() else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name);
    let mut command = fg_record();
    command.arg("-o").arg(path("a.folded")).arg("--svg").arg(path("a.svg")).arg("--html").arg(path("a.html"));
    let Some(output) = recorded(command.arg("--").arg(program).arg("100")) else { return };
    assert_eq!(text(&output.stdout), "its own output\n");
    assert!(fs::read_to_string(path("a.folded")).expect("folded text").contains(";main;hot"));
    assert!(fs::read_to_string(path("a.svg")).expect("a picture").contains("<title>hot ("));
    assert!(fs::read_to_string(path("a.html")).expect("a page").starts_with("<!doctype html>"));
}

#[test]
fn threads_and_children_are_recorded_unless_left_out() {
    let Some(program) = ready() else { return };
    let run = |arguments: &[&str], how: &str| {
        recorded(fg_record().args(arguments).arg("--").arg(program).args(["150", how]))
    };
    for how in ["thread", "child"] {
        let Some(output) = run(&[], how) else { return };
        assert!(share(&text(&output.stdout), "hot") > 0.5, "{how}: {output:?}");
    }
    let Some(output) = run(&["--no-children"], "thread") else { return };
    assert!(share(&text(&output.stdout), "hot") > 0.5, "threads are no children: {output:?}");
    let Some(output) = run(&["--no-children"], "child") else { return };
    assert!(!text(&output.stdout).contains("hot"), "{output:?}");
    let Some(output) = run(&["--per-thread"], "thread") else { return };
    let folded = stacks(&text(&output.stdout));
    let threads: std::collections::BTreeSet<&str> =
        folded.lines().map(|line| line.split(';').next().unwrap_or_default()).collect();
    assert!(threads.iter().all(|name| name.starts_with("busy-") && name.contains('/')), "{threads:?}");
}

#[test]
fn a_target_that_aborts_still_gives_a_profile() {
    let Some(program) = ready() else { return };
    let Some(output) = recorded(fg_record().arg("--").arg(program).args(["150", "abort"])) else { return };
    assert_eq!(output.status.code(), Some(128 + 6), "{output:?}");
    assert!(share(&text(&output.stdout), "hot") > 0.5);
}

struct Running(Child);

/// A process that ends with its test, together with all that it has started.
impl Drop for Running {
    fn drop(&mut self) {
        let pids = process::family(self.0.id()).split_off(1);
        let _ = self.0.kill();
        if !pids.is_empty() {
            let pids: Vec<String> = pids.iter().map(u32::to_string).collect();
            let script = format!("kill -s KILL {}", pids.join(" "));
            let _ = Command::new("sh").args(["-c", &script]).stderr(Stdio::null()).status();
        }
        let _ = self.0.wait();
    }
}

/// Waits until a recorder has its events open and the program it started, if it did, computes: a
/// machine may have much else to do.
fn wait_until_recording(recorder: &Child) {
    let has_events = || {
        let fds = fs::read_dir(format!("/proc/{}/fd", recorder.id())).into_iter().flatten().flatten();
        let mut links = fds.filter_map(|fd| fs::read_link(fd.path()).ok());
        links.any(|link| link == Path::new("anon_inode:[perf_event]"))
    };
    until("the recording begins", || {
        let children = process::family(recorder.id()).split_off(1);
        has_events() && (children.is_empty() || children.into_iter().any(process::computes))
    });
}

fn endless(program: &Path) -> Running {
    let child = Command::new(program).arg("1000000").stdout(Stdio::null()).spawn().expect("it starts");
    let running = Running(child);
    until("the program computes", || process::computes(running.0.id()));
    running
}

/// As `pidof` lists them, and with a name.
#[test]
fn processes_may_stand_behind_blanks() {
    let Some(program) = ready() else { return };
    let folder = tempfile::tempdir().expect("a folder");
    // A name that nothing else has.
    let name = format!("named{}", std::process::id());
    let named = folder.path().join(&name);
    copied::program(program, &named);
    let (first, second) = (endless(program), endless(&named));
    let (one, other) = (first.0.id(), second.0.id());
    for list in [format!("{one} {name}"), format!("{one} {other}")] {
        let record =
            |seconds: &str| recorded(fg_record().args(["-p", &list, "-d", seconds, "--per-process"]));
        let processes = [format!("busy-{one}"), format!("{name}-{other}")];
        let has_both =
            |output: &Output| processes.iter().all(|process| share(&text(&output.stdout), process) > 0.0);
        let Some(output) = in_time(record, has_both) else { return };
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        assert!(has_both(&output), "{list}: {processes:?}\n{output:?}");
    }
    let output = fg_record().args(["-p", &format!("{one} nobody-{name}")]).output().expect("it starts");
    assert!(text(&output.stderr).contains("no process has this name"), "{output:?}");
}

#[test]
fn running_processes_are_recorded_for_a_time() {
    let Some(program) = ready() else { return };
    let (one, other) = (endless(program), endless(program));
    let pids = format!("{},{}", one.0.id(), other.0.id());
    let record = |seconds: &str| recorded(fg_record().args(["-p", &pids, "-d", seconds, "--per-process"]));
    let has_both = |output: &Output| {
        let folded = text(&output.stdout);
        [&one, &other].iter().all(|running| folded.contains(&format!("busy-{};", running.0.id())))
    };
    let Some(output) = in_time(record, has_both) else { return };
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert!(has_both(&output), "{output:?}");
    // What was mapped before is known.
    reaches_main(&text(&output.stdout));
}

#[test]
fn a_tree_has_the_children_that_run_already() {
    let Some(program) = ready() else { return };
    let script = format!("{} 1000000 >/dev/null & wait; true", program.display());
    let shell = Running(Command::new("sh").args(["-c", &script]).spawn().expect("it starts"));
    let pid = shell.0.id();
    let below = || process::family(pid).split_off(1);
    until("the program computes", || below().into_iter().any(process::computes));
    let children = below();
    let record =
        |seconds: &str| recorded(fg_record().args(["-p", &pid.to_string(), "--tree", "-d", seconds]));
    let output = in_time(record, |output| text(&output.stdout).contains("hot"));
    for child in children {
        let _ = Command::new("kill").arg(child.to_string()).status();
    }
    let Some(output) = output else { return };
    assert!(share(&text(&output.stdout), "hot") > 0.5, "{output:?}");
    let output = fg_record().args(["--tree", "--", "true"]).output().expect("it starts");
    assert!(text(&output.stderr).contains("--tree is for running processes"), "{output:?}");
}

#[test]
fn samples_come_after_a_number_of_events() {
    let Some(program) = ready() else { return };
    let mut command = fg_record();
    command.args(["-e", "cpu-clock", "--count", "4000000", "--"]).arg(program).arg("300");
    let Some(output) = recorded(&mut command) else { return };
    let folded = text(&output.stdout);
    let weights = stacks(&folded);
    // On a busy machine more may be left between two samples than a period, and weights have none in common.
    let has_rest = weights.contains("[not sampled]");
    assert!(has_rest || folded.contains("# period: 4000000 ns"), "{folded}");
    let weights = weights.lines().filter(|line| !line.contains("[not sampled]"));
    let weights = weights.filter_map(|line| line.rsplit_once(' ')?.1.parse::<u64>().ok());
    assert!(weights.clone().count() > 0 && weights.clone().all(|weight| weight % 4_000_000 == 0), "{folded}");
    let mut command = fg_record();
    let output = command.args(["--count", "9", "-F", "9", "--", "true"]).output().expect("it starts");
    assert!(text(&output.stderr).contains("cannot be used with"), "{output:?}");
}

#[test]
fn the_whole_machine_is_recorded() {
    let Some(program) = ready() else { return };
    let _running = endless(program);
    let record =
        |seconds: &str| recorded(fg_record().args(["-a", "-d", seconds, "-F", "199", "--call-graph", "fp"]));
    let has_it = |output: &Output| text(&output.stdout).lines().any(|line| line.starts_with("busy;"));
    let Some(output) = in_time(record, has_it) else { return };
    assert!(has_it(&output), "{output:?}");
}

#[test]
fn one_signal_ends_the_recording_and_writes_the_profile() {
    let Some(program) = ready() else { return };
    if recorded(fg_record().arg("--").arg(program).arg("20")).is_none() {
        return;
    }
    for signal in ["INT", "TERM"] {
        let child = fg_record()
            .arg("--")
            .arg(program)
            .arg("1000000")
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("it starts");
        wait_until_recording(&child);
        process::signal(signal, child.id());
        let output = child.wait_with_output().expect("it ends");
        let expected = if signal == "INT" { 130 } else { 143 };
        assert_eq!(output.status.code(), Some(expected), "{output:?}");
        assert!(share(&text(&output.stdout), "hot") > 0.5, "{output:?}");
    }
}

#[test]
fn perf_reads_the_raw_recording() {
    let Some(program) = ready() else { return };
    if !works("perf script") {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("perf.data");
    let mut command = fg_record();
    command.args(["--raw", "-o"]).arg(&path).arg("--").arg(program).arg("200");
    if recorded(&mut command).is_none() {
        return;
    }
    let script = Command::new("perf").args(["script", "-i"]).arg(&path).output().expect("perf starts");
    assert!(script.status.success(), "{script:?}");
    let count = |bytes: &[u8]| text(bytes).lines().filter(|line| line.contains("hot+0x")).count();
    assert!(count(&script.stdout) > 0, "{script:?}");
    // perf's text and our own reading are the same stacks, but for what each makes of inlining.
    let perf = folder.path().join("perf.txt");
    let script = Command::new("perf").args(["script", "--no-inline", "-i"]).arg(&path).output();
    fs::write(&perf, script.expect("perf starts").stdout).expect("a file");
    let fold = |path: &Path| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_fg-collapse"));
        let folded =
            command.args(["-q", "--no-inline"]).arg(path).output().expect("fg-collapse starts").stdout;
        // The count of all time is for us: perf does not look at it.
        text(&folded)
            .lines()
            .filter(|line| !line.contains("[not sampled]"))
            .map(|line| format!("{line}\n"))
            .collect::<String>()
    };
    let (theirs, ours) = (fold(&perf), fold(&path));
    // Both read the same samples.
    assert!((share(&theirs, "hot") - share(&ours, "hot")).abs() < 0.01, "{theirs}\n{ours}");
}

/// Issue 37, line 5.
#[test]
fn what_is_no_program_is_answered_with_the_command_that_was_meant() {
    let folder = tempfile::tempdir().expect("a folder");
    for (name, mode) in [("app", 0o755), ("perf.data", 0o644)] {
        fs::write(folder.path().join(name), "#!/bin/sh\n").expect("a file");
        set_mode(&folder.path().join(name), mode);
    }
    for (program, said) in [
        ("app", "app: there is no such program in PATH; the one in this folder is ./app"),
        (
            "perf.data",
            "perf.data: it is a file, and no program; if it is a recording, fg-render perf.data draws it",
        ),
        (
            "./perf.data",
            "./perf.data: it is not executable; chmod +x makes it so, and if it is a recording, fg-render draws it",
        ),
        ("help", "help: there is no such program; --help explains fg-record"),
    ] {
        let Some(output) = recorded(fg_record().current_dir(&folder).arg(program)) else { return };
        let expected = format!("fg-record: cannot start the program: {said}\n");
        assert_eq!((output.status.code(), text(&output.stderr)), (Some(2), expected));
    }
}

#[test]
fn errors_are_one_line_and_status_2() {
    for (arguments, said) in [
        (
            &["--", "/no/such/program"][..],
            "cannot start the program: /no/such/program: there is no such program",
        ),
        (&["-p", "4194303", "-d", "0.1"], "there is no process 4194303"),
        // Before the program runs.
        (
            &["-o", "/no/such/a.svg", "--", "echo", "it ran"],
            "/no/such/a.svg: cannot open: there is no folder /no/such; `mkdir -p /no/such` makes it",
        ),
        (&["-e", "nonsense", "--", "true"], "there is no event \"nonsense\""),
    ] {
        let Some(output) = recorded(fg_record().args(arguments)) else { return };
        let message = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{message}");
        assert!(message.contains(said) && message.starts_with("fg-record: "), "{message}");
        assert_eq!(message.lines().count(), 1, "{message}");
        assert!(output.stdout.is_empty());
    }
}

#[test]
fn a_target_that_ignores_signals_gives_a_profile() {
    let Some(program) = ready() else { return };
    if recorded(fg_record().arg("--").arg(program).arg("20")).is_none() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("a.folded");
    let end = folder.path().join("end");
    // It computes until it may end: how long is not for the speed of the processor to say.
    let deaf = format!(
        "trap '' INT TERM; {} 1000000 & while [ ! -e {} ]; do sleep 0.05; done; kill -KILL $!; exit 0",
        program.display(),
        end.display()
    );
    let child =
        fg_record().arg("-o").arg(&path).args(["--", "sh", "-c", &deaf]).stdout(Stdio::null()).spawn();
    let mut child = Running(child.expect("it starts"));
    wait_until_recording(&child.0);
    process::signal("INT", child.0.id());
    // Written while the target runs on.
    until("the profile is written", || path.exists());
    fs::write(&end, "").expect("a file");
    assert_eq!(child.0.wait().expect("it ends").code(), Some(0));
    assert!(fs::read_to_string(&path).expect("folded text").contains("hot"));
    assert_eq!(fs::read_dir(folder.path()).expect("a folder").count(), 2, "nothing is left behind");
}
