//! Profilers that are installed and do not work: stand-ins that fail as the real ones were seen to.

use std::process::Command;

use super::stand_in::{Stage, value_of};
use super::{run, text};

const PERF: &str = "\
case $1 in --version) echo perf version 6.1.0; exit;; esac
echo 'Error:
No permission to enable cycles event.

You may not have permission to collect stats.' >&2
exit 255";

const PY_SPY: &str = "\
case $1 in --version) echo py-spy 0.4.1; exit;; esac
echo 'py-spy> Sampling process 100 times a second.'
echo 'Error: Permission denied (os error 13)' >&2
exit 1";

const AUSTIN: &str = "\
echo \"austin: /lib/x86_64-linux-gnu/libc.so.6: version \\`GLIBC_2.38' not found (required by austin)\" >&2
exit 1";

const BPFCC: &str = "\
echo 'Unable to find kernel headers. Try rebuilding kernel with CONFIG_IKHEADERS=m (module)'
echo 'sh: 1: modprobe: not found
chdir(/lib/modules/6.1.0/build): No such file or directory
Traceback (most recent call last):
  File \"/usr/sbin/profile-bpfcc\", line 283, in <module>
    b = BPF(text=bpf_text)
Exception: Failed to compile BPF module <text>' >&2
exit 1";

/// A stage with perf in a container, py-spy without the right to trace, an austin that wants a newer C
/// library, and bcc without the kernel's headers.
fn broken() -> Stage {
    let stage = Stage::new();
    stage.add("perf", PERF);
    stage.add("py-spy", PY_SPY);
    stage.add("austin", AUSTIN);
    stage.add("profile-bpfcc", BPFCC);
    // A Python, whose programs they could record.
    stage.write("python3", "#!/bin/sh\ncase $2 in *executable*) echo /bin/sh;; esac\n");
    stage
}

#[test]
fn check_says_no_to_tools_that_do_not_work() {
    let stage = broken();
    let table = text(&run(stage.alone().arg("check")).stdout);
    let others = table.split("Other profilers").nth(1).expect("the second table");
    let row = |name: &str| {
        let lines: Vec<&str> = others.lines().collect();
        let first = lines.iter().position(|line| line.get(6..).is_some_and(|line| line.starts_with(name)));
        let first = first.unwrap_or_else(|| panic!("no {name}: {table}"));
        let more = lines[first + 1..].iter().take_while(|line| line.starts_with("        "));
        let row: Vec<&str> = std::iter::once(&lines[first]).chain(more).map(|line| line.trim()).collect();
        row.join(" ")
    };
    for (name, words) in [
        ("perf", "/perf does not record: No permission to enable cycles event."),
        ("py-spy", "/py-spy does not record: Error: Permission denied (os error 13); it needs a CPython"),
        ("austin", "libc.so.6: version 'GLIBC_2.38' not found (required by austin); it needs a CPython"),
        (
            "bpf",
            "/profile-bpfcc does not record: chdir(/lib/modules/6.1.0/build): No such file or directory;",
        ),
        ("bpf", "it needs root; profile of bcc also the kernel's headers, which BPF=bpftrace does not"),
    ] {
        let row = row(name);
        assert!(row.starts_with("no ") && row.contains(words), "{row}\n{table}");
    }
    // The wrapper of Ubuntu's kernels.
    stage.add("perf", "echo 'WARNING: perf not found for kernel 5.15.0-94' >&2; exit 2");
    let table = text(&run(stage.alone().arg("check")).stdout);
    let words = table.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("does not record: WARNING: perf not found for kernel 5.15.0-94"), "{table}");
    stage.assert_clean();
}

#[test]
fn check_says_yes_only_to_what_has_recorded() {
    let stage = Stage::new();
    stage.add("perf", &format!("{}; echo PERFILE2 >\"$file\"", value_of("-o")));
    // One that is content, and has written nothing.
    stage.add("profile-bpfcc", "exit 0");
    let table = text(&run(stage.alone().arg("check")).stdout);
    let has = |begin: &str| table.lines().any(|line| line.starts_with(begin));
    assert!(has("yes   perf ") && has("no    bpf "), "{table}");
    let words = table.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("/profile-bpfcc does not record: exit status: 0, without a word"), "{table}");
    // Without Python only the start of those that record Python can be tried.
    stage.add("py-spy", "exit 0");
    let table = text(&run(stage.alone().arg("check")).stdout);
    let words = table.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("part py-spy ") && words.contains("there is no Python here"), "{table}");
    stage.assert_clean();
}

#[test]
fn a_tool_that_does_not_start_is_not_chosen() {
    let stage = broken();
    let chosen = || {
        let output = run(stage.alone().args(["--print-command", "--", "python3", "app.py"]));
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        (text(&output.stdout), text(&output.stderr))
    };
    std::fs::remove_file(stage.path("bin/py-spy")).expect("it is there");
    let (command, said) = chosen();
    assert_eq!(command, "python3 app.py\n", "{said}");
    assert!(said.contains("python3 is Python, but austin does not work here (austin: /lib/"), "{said}");
    assert!(said.contains("'GLIBC_2.38' not found") && said.lines().count() == 1, "{said}");
    // The next one is taken if it starts.
    stage.add("py-spy", "echo \"version \\`GLIBC_2.38' not found\" >&2; exit 1");
    stage.add("austin", "echo 'austin 3.7.0'");
    let (command, said) = chosen();
    assert!(command.starts_with("austin --pipe ") && said.contains("with austin"), "{command} {said}");
}

/// The tests of real profilers, run again where none of them works.
#[test]
fn tests_of_tools_that_do_not_work_are_skipped_with_the_tools_words() {
    let stage = broken();
    stage.add("cc", "echo 'cc: fatal error: no input files' >&2; exit 1");
    stage.add(
        "bpftrace",
        "echo 'ERROR: bpftrace currently only supports running as the root user.' >&2; exit 1",
    );
    let path = format!("{}:{}", stage.path("bin").display(), std::env::var("PATH").unwrap_or_default());
    let again = |filter: &str| {
        let mut command = Command::new(std::env::current_exe().expect("this program"));
        let output = command.args([filter, "--test-threads", "4"]).env("PATH", &path).output();
        let output = output.expect("it starts");
        assert!(output.status.success(), "{}{}", text(&output.stdout), text(&output.stderr));
        text(&output.stderr)
    };
    // Without a compiler.
    let said = again("real::perf_s_own");
    let expected =
        "skipped: real::perf_s_own_file_is_kept: cc does not work here: cc: fatal error: no input files";
    assert!(said.starts_with(expected), "{said}");
    // With one, if there is one, and without a profiler that works.
    std::fs::remove_file(stage.path("bin/cc")).expect("it is there");
    let said = again("real::");
    for (tool, words) in [
        ("perf record", "Error: / No permission to enable cycles event."),
        ("py-spy", "Error: Permission denied (os error 13)"),
        ("austin", "GLIBC_2.38' not found"),
        ("profile-bpfcc", "chdir(/lib/modules/6.1.0/build): No such file or directory"),
        ("bpftrace", "only supports running as the root user"),
    ] {
        let line = said.lines().find(|line| line.contains(&format!(": {tool} does not work here: ")));
        match line {
            Some(line) => assert!(line.starts_with("skipped: real::") && line.contains(words), "{line}"),
            None => assert!(said.contains(": cc does not work here: "), "{tool}: {said}"),
        }
    }
}
