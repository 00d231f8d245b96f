//! `-p NAME`: the process is found, or those that match are listed; and the program without `--`.

use std::fs;
use std::process::{Command, Output, Stdio};

use super::process::until;
use super::{Running, copied, fg_record, in_time, ready, recorded, share, stacks, text, works};

/// A copy of the busy program under a name that no other process has.
fn busy_as(folder: &std::path::Path, name: &str) -> Option<std::path::PathBuf> {
    let program = ready()?;
    recorded(fg_record().arg("--").arg(program).arg("20"))?;
    let path = folder.join(name);
    copied::program(program, &path);
    Some(path)
}

fn start(program: &std::path::Path) -> Running {
    let mut command = Command::new(program);
    Running(command.arg("1000000").stdout(Stdio::null()).spawn().expect("it starts"))
}

/// Issue 15, line 7: the mappings were looked for under the number of the thread, and all code was `[unknown]`.
#[test]
fn a_thread_s_number_finds_its_process() {
    let Some(program) = ready() else { return };
    let child = Command::new(program).args(["1000000", "thread"]).stdout(Stdio::null()).spawn();
    let running = Running(child.expect("it starts"));
    let pid = running.0.id();
    let mut thread = None;
    until("it has two threads", || {
        let tasks = fs::read_dir(format!("/proc/{pid}/task")).expect("it runs");
        let tids = tasks.filter_map(|task| task.ok()?.file_name().to_str()?.parse::<u32>().ok());
        thread = tids.into_iter().find(|tid| *tid != pid);
        thread.is_some()
    });
    let thread = thread.expect("it was seen").to_string();
    let both = format!("{thread},{pid}");
    for wanted in [&thread, &both] {
        let record = |seconds: &str| recorded(fg_record().args(["-p", wanted, "-d", seconds]));
        let Some(output) = in_time(record, |output| output.status.success()) else { return };
        let folded = text(&output.stdout);
        assert!(share(&folded, "in_thread") > 0.9, "{folded}");
        assert!(folded.contains(&format!("recorded processes: {pid}")), "{folded}");
        let said = format!("-p {thread}: a thread of process {pid}, which is recorded");
        assert!(text(&output.stderr).contains(&said), "{output:?}");
    }
}

/// Issue 17, line 7: only numbers were understood.
#[test]
fn a_process_is_found_by_its_name() {
    let folder = tempfile::tempdir().expect("a folder");
    let name = format!("hot{}", std::process::id());
    let Some(program) = busy_as(folder.path(), &name) else { return };
    let first = start(&program);
    let record =
        |words: &[&str]| fg_record().args(["-d", "0.3", "-p"]).args(words).output().expect("it starts");
    let named = |name: &str| {
        let record = |seconds: &str| fg_record().args(["-d", seconds, "-p", name]).output().ok();
        let is_over = |output: &Output| !text(&output.stderr).contains("no samples in");
        in_time(record, is_over).expect("it starts")
    };
    let output = named(&name);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert!(text(&output.stdout).contains(&format!("{name};")), "{output:?}");
    // A part of the name is enough where it is one process's, which is then said.
    let output = named(&name[..name.len() - 1]);
    let said = text(&output.stderr);
    match output.status.code() {
        Some(0) => assert!(said.contains(&format!("fg-record: recording {}", first.0.id())), "{said}"),
        _ => assert!(said.contains("processes match"), "{said}"),
    }
    let second = start(&program);
    let output = record(&[&name]);
    let said = text(&output.stderr);
    assert_eq!((output.status.code(), text(&output.stdout).as_str()), (Some(2), ""), "{said}");
    let mut pids = [first.0.id(), second.0.id()];
    pids.sort_unstable();
    for pid in pids {
        assert!(said.contains(&format!("fg-record: {pid} ")), "{said}");
    }
    assert!(
        said.contains(&format!(
            "2 processes match; name one by its number, or all: -p {},{}",
            pids[0], pids[1]
        ))
    );
    let output = record(&["no-process-has-this-name"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("no process has this name"), "{output:?}");
}

#[test]
fn a_process_that_has_ended_is_said_to_have() {
    let mut child = Command::new("true").spawn().expect("it starts");
    let stat = format!("/proc/{}/stat", child.id());
    until("it has ended", || fs::read_to_string(&stat).is_ok_and(|stat| stat.contains(") Z ")));
    let output = fg_record().args(["-d", "1", "-p", &child.id().to_string()]).output().expect("it starts");
    child.wait().expect("it has ended");
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    assert!(text(&output.stderr).contains("this process has ended"), "{output:?}");
}

#[test]
fn a_program_needs_no_dashes_before_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let Some(program) = busy_as(folder.path(), "check") else { return };
    let run =
        |words: &[&str]| fg_record().args(words).current_dir(folder.path()).output().expect("it starts");
    let output = run(&["-o", "out.folded", "./check", "50", "-", "3"]);
    assert_eq!(output.status.code(), Some(3), "{output:?}");
    assert!(fs::read_to_string(folder.path().join("out.folded")).expect("it").contains("check;"));
    // A subcommand's name is the subcommand, before options and nowhere else.
    let output = run(&["check", "--no-such-option"]);
    assert!(text(&output.stderr).contains("fg-record check"), "{output:?}");
    let output = run(&["-o", "x.folded", "check", "50"]);
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    assert!(text(&output.stderr).contains("check is a subcommand and goes before its options"), "{output:?}");
    assert!(program.exists());
    let output = run(&["-o", "y.folded", "--", "./check", "50", "-", "3"]);
    assert_eq!(output.status.code(), Some(3), "{output:?}");
}

/// The share of the weight whose stack has these letters.
fn part(folded: &str, letters: &str) -> f64 {
    let (mut with, mut all) = (0.0, 0.0);
    for (stack, weight) in stacks(folded).lines().filter_map(|line| line.rsplit_once(' ')) {
        let weight: f64 = weight.parse().expect("a weight");
        all += weight;
        with += if stack.contains(letters) { weight } else { 0.0 };
    }
    with / all
}

/// Records a script of a runtime; the output and the messages, or `None` where nothing can be recorded.
fn with_names(
    folder: &std::path::Path,
    variable: &str,
    words: &[&str],
    script: &str,
) -> Option<(String, String)> {
    let mut command = fg_record();
    command.env_remove(variable).current_dir(folder).args(["-o", "-"]).args(words).arg(script);
    let output = recorded(&mut command)?;
    // It runs in a folder of its own, with the script alone.
    let left: Vec<_> =
        fs::read_dir(folder).expect("a folder").flatten().map(|file| file.file_name()).collect();
    assert_eq!(left.len(), 1, "{left:?}");
    Some((text(&output.stdout), text(&output.stderr)))
}

/// Issue 41: JavaScript is named if that is asked for, which costs too much to be the default.
#[test]
fn javascript_is_named_without_a_trace() {
    if !works("node") {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let source = "function coldly(n) { let s = 0; for (let i = 0; i < n; i++) s = (s * 31 + i) % 65537; return s; }\n\
                  let all = 0; for (let i = 0; i < 400; i++) all += coldly(200000); console.error('pid', process.pid);\n";
    fs::write(folder.path().join("hot.js"), source).expect("a script");
    let record = |options: &[&str]| {
        let words = [options, &["--", "node"]].concat();
        with_names(folder.path(), "NODE_OPTIONS", &words, "hot.js")
    };
    let Some((named, said)) = record(&["--runtime-names", "all"]) else { return };
    assert!(part(&named, "coldly") > 0.5, "{named}");
    assert!(said.contains("JavaScript functions are named by NODE_OPTIONS\n"), "{said}");
    let pid = said.lines().find_map(|line| line.strip_prefix("pid ")).expect("it was printed");
    assert!(!fs::exists(format!("/tmp/perf-{pid}.map")).expect("a folder"), "{pid}");
    let (nameless, said) = record(&[]).expect("as before");
    assert_eq!(part(&nameless, "coldly"), 0.0, "{nameless}");
    assert!(said.contains("--runtime-names all would name JavaScript functions (NODE_OPTIONS="), "{said}");
    let (_, said) = record(&["--runtime-names", "none"]).expect("as before");
    assert!(!said.contains("NODE_OPTIONS="), "{said}");
}

/// Issue 41: the program is a script of the shell, which becomes the machine.
#[test]
fn erlang_is_named_if_asked() {
    if !works("erl") {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let source = "-module(hot).\n-export([coldly/2, main/0]).\ncoldly(0, S) -> S;\n\
                  coldly(N, S) -> coldly(N - 1, (S * 31 + N) rem 65537).\n\
                  main() -> io:format(standard_error, \"~p~n\", [coldly(60000000, 1)]), halt().\n";
    let compiled = tempfile::tempdir().expect("a folder");
    fs::write(compiled.path().join("hot.erl"), source).expect("a module");
    let done = Command::new("erlc").arg("hot.erl").current_dir(compiled.path()).status();
    assert!(done.expect("it comes with erl").success());
    fs::copy(compiled.path().join("hot.beam"), folder.path().join("hot.beam")).expect("a module");
    let words = ["--runtime-names", "all", "--", "erl", "-noshell", "-s", "hot"];
    let Some((named, said)) = with_names(folder.path(), "ERL_FLAGS", &words, "main") else { return };
    assert!(part(&named, "hot:coldly/2") > 0.5, "{named}{said}");
}
