//! Runs commands one after the other, as a reader would type them.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::{Command, Output};
use std::sync::OnceLock;

use regex::Regex;

use super::reader::{Profilers, Reader};
use super::stand_ins::{TOOLS, Tool};
use crate::installed::outcome;
use crate::skip::skip;

/// The beginnings of commands that no test can run, with the reason. One that no page shows any more
/// fails `every_exception_is_needed`.
pub const NOT_RUN: &[(&str, &str)] = &[
    ("scripts/quickstart", "an optimised build; tests/packaging runs it with a stand-in for cargo"),
    ("scripts/check", "it runs this test"),
    ("cargo install", "an optimised build; scripts/package --test tries what is installed"),
    ("fg-record --root", "asks for a password; tests/record has a stand-in for sudo"),
    ("sudo ", "asks for a password"),
    ("fg-record -a ", "takes as long as the other programs of the machine are large; tests/record runs it"),
    ("perf record -a ", "the same"),
    ("fg-record --live", "needs a terminal; tests/record gives it one"),
    ("mkfifo control", "a dialogue of two terminals; tests/record holds it"),
    ("fg-record --delay -1 --control", "the same dialogue"),
    ("echo enable", "the same dialogue"),
    ("echo disable", "the same dialogue"),
    ("fg-collapse --debuginfod", "asks a server on the network"),
    ("fg-record --debuginfod", "asks a server on the network"),
    ("fg-record cargo --unit-test -p core", "needs a workspace with a member of that name"),
    (
        "fg-record -p server --last 30s -o 'stall-%H%M%S.svg'; kill",
        "RECORDER stands for a number that comes later",
    ),
    ("fg-record bundle perf.data -o app.tar.gz --symfs", "needs another system's files"),
];

/// Options that need rights or hardware, and words of the messages of programs that lack them.
pub const MAY_LACK: &[(&str, &[&str])] = &[
    ("--off-cpu", &["need to see the kernel", "kept from ordinary users"]),
    ("--wall", &["need to see the kernel", "kept from ordinary users", "ptrace"]),
    ("-e cycles", &["no cycles are counted here", "not counted here", "does not count"]),
    ("uprobe:", &["kept from ordinary users", "tracing"]),
    ("block:", &["kept from ordinary users", "tracing", "no samples", "nothing was recorded"]),
    // A busy machine makes recordings that are too short to judge.
    ("--runs 5 ", &["gate slower>"]),
    ("perf archive", &["perf"]),
    ("jq ", &["jq: command not found"]),
    // A process that only waits for work has nothing else to show.
    ("--idle", &["no stacks in the input"]),
    // py-spy may succeed, and have seen nothing of a program that was soon over.
    ("out.py-spy", &["do not look like stacks", "no such file"]),
    ("ruby.raw.gz", &["no samples in it", "no such file"]),
];

/// What a recording of a second says on a machine that had no time for the program.
const NOTHING_RECORDED: &[&str] = &["no samples", "nothing was recorded", "nothing to draw"];

/// Complaints of other makers' tools about their command line: no machine is too slow for an option.
const NOT_TAKEN: &[&str] = &[
    "unknown option",
    "unknown switch",
    "unrecognized option",
    "unrecognized argument",
    "unrecognized command",
    "unexpected argument",
    "wasn't expected",
    "flag provided but not defined",
    "bad option",
    "invalid option",
];

/// A command, and where a page shows it.
pub struct Shown {
    pub place: String,
    pub text: String,
}

/// Splits a block into its commands: each is the fewest lines that a shell takes as a whole.
pub fn commands(page: &str, first_line: usize, block: &str) -> Vec<Shown> {
    let mut found = Vec::new();
    let mut text = String::new();
    let mut begin = first_line;
    for (n, line) in block.lines().enumerate() {
        if text.is_empty() {
            if line.trim().is_empty() || line.starts_with('#') {
                continue;
            }
            begin = first_line + n;
        }
        text += line;
        text.push('\n');
        if is_whole(&text) {
            found.push(Shown { place: format!("{page}:{begin}"), text: std::mem::take(&mut text) });
        }
    }
    assert!(text.is_empty(), "{page}:{begin}: a command without an end: {text}");
    found
}

/// Returns true if nothing is open at the end: a quote, a line, a document.
fn is_whole(text: &str) -> bool {
    let open = ["'", "\"", "<<"].iter().any(|mark| text.contains(mark));
    let continued = text.trim_end().ends_with(['\\', '|']) || text.trim_end().ends_with("&&");
    if !open {
        return !continued;
    }
    let shell = Command::new("bash").args(["-n", "-c", text]).output().expect("bash");
    !continued && shell.status.success() && shell.stderr.is_empty()
}

/// Returns the reason why a command is not run.
pub fn not_run(text: &str) -> Option<&'static str> {
    NOT_RUN.iter().find(|(begin, _)| text.starts_with(begin)).map(|(_, why)| *why)
}

/// The reason why nothing can be recorded here, in the words of `fg-record check`.
fn cannot_record(reader: &Reader) -> Option<&'static str> {
    static REASON: OnceLock<Option<String>> = OnceLock::new();
    let find = || {
        let check = reader.run("fg-record check", Profilers::Real);
        let said = String::from_utf8_lossy(&check.stdout).into_owned();
        let no =
            said.lines().find(|line| line.starts_with("no")).unwrap_or("fg-record check fails").to_owned();
        (!check.status.success()).then_some(no)
    };
    REASON.get_or_init(find).as_deref()
}

/// Returns the command with seconds instead of minutes, and with this page's `server` for a process that
/// runs: other pages have theirs. Nothing else of it is changed.
fn shortened(text: &str, pid: u32) -> String {
    static PATTERNS: OnceLock<[Regex; 4]> = OnceLock::new();
    let patterns = PATTERNS.get_or_init(|| {
        [r" -d \d+", r"\bsleep \d+", r"-p (1234|PID|server)\b", r"fg-record (.*--(every|last) )"]
            .map(|pattern| Regex::new(pattern).unwrap())
    });
    let text = patterns[0].replace_all(text, " -d 1");
    let text = patterns[1].replace_all(&text, "sleep 1");
    let text = if text.contains("$PID") { text } else { patterns[2].replace_all(&text, format!("-p {pid}")) };
    // What goes on until somebody ends it.
    patterns[3].replace_all(&text, "fg-record -d 1 $1").into_owned()
}

/// The tools of other makers that a command runs.
fn foreign(text: &str) -> Vec<&'static Tool> {
    let runs = |name: &str| {
        text.split(['|', ';', '&', '\n', '(']).any(|part| part.split_whitespace().next() == Some(name))
    };
    TOOLS.iter().filter(|tool| runs(tool.name)).collect()
}

fn words(output: &Output) -> String {
    let said = String::from_utf8_lossy(&output.stderr);
    said.lines().filter(|line| !line.trim().is_empty()).take(3).collect::<Vec<_>>().join(" / ")
}

/// Runs a command, and returns what came of it; none where it was skipped.
///
/// It has to succeed, or to select nothing if `may_select_nothing`.
pub fn run(reader: &Reader, shown: &Shown, may_select_nothing: bool) -> Option<Output> {
    let Shown { place, text } = shown;
    if let Some(why) = not_run(text) {
        println!("not run {place}: {}: {why}", text.trim_end());
        return None;
    }
    let records =
        text.contains("fg-record") && !["--generate", "--print-command"].iter().any(|o| text.contains(o));
    if records && let Some(why) = cannot_record(reader) {
        skip(format_args!("{place}: {why}"));
        return None;
    }
    let command = shortened(text, reader.pid());
    let is_fine =
        |output: &Output| output.status.success() || may_select_nothing && output.status.code() == Some(1);
    let tools = foreign(text);
    // Some want a process of their own kind.
    let real = tools.iter().all(|tool| tool.job.is_some());
    let began = std::time::Instant::now();
    let made = names(&reader.folder);
    let mut output = reader.run(&command, if real { Profilers::Real } else { Profilers::PlayedBack });
    for _ in 0..3 {
        let said = String::from_utf8_lossy(&output.stderr);
        if is_fine(&output) || !records || !NOTHING_RECORDED.iter().any(|words| said.contains(words)) {
            break;
        }
        output = reader.run(&command, Profilers::Real);
    }
    // What follows needs the file that a busy machine, or a tool without its extension, has not filled.
    if real && !tools.is_empty() && is_fine(&output) && is_in_vain(reader, &made, &tools) {
        skip(format_args!("{place} with the real {}: nothing was recorded", tools[0].name));
        output = reader.run(&command, Profilers::PlayedBack);
    }
    if is_fine(&output) {
        assert!(!words(&output).contains("is an old name"), "{place}: {text}: {}", words(&output));
        println!("{:6.2} s {place}: {}", began.elapsed().as_secs_f64(), text.trim_end());
        return Some(output);
    }
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    let lacks = MAY_LACK.iter().filter(|(option, _)| text.contains(option));
    let nothing = if records { NOTHING_RECORDED } else { &[] };
    if lacks.flat_map(|(_, messages)| *messages).chain(nothing).any(|message| said.contains(message)) {
        skip(format_args!("{place}: {}", words(&output)));
        return None;
    }
    // A tool that is installed may not work here; if it does, the command of the page is right or wrong by itself.
    // A sampler that comes too late for a program, or is not allowed to look at it, says so itself. Neither our
    // own message nor a tool's about its options is of that kind.
    let complaint = said.to_lowercase();
    let is_of_page = complaint.lines().any(|line| line.starts_with("fg-"))
        || NOT_TAKEN.iter().any(|words| complaint.contains(words));
    let crashed =
        tools.first().filter(|_| output.status.code().is_none_or(|code| code >= 128) || !is_of_page);
    let broken = crashed
        .map(|tool| (tool.name, words(&output)))
        .or_else(|| tools.iter().find_map(|tool| Some((tool.name, outcome(tool.job?)?))));
    let Some((tool, why)) = broken else {
        panic!(
            "{place}: {}: {}\n{}{said}",
            command.trim_end(),
            output.status,
            String::from_utf8_lossy(&output.stdout)
        );
    };
    skip(format_args!("{place} with the real {tool}: {why}"));
    let output = reader.run(&command, Profilers::PlayedBack);
    assert!(is_fine(&output), "{place}: {command}, played back: {}", words(&output));
    Some(output)
}

/// Returns true if other makers' tools have left an empty file, or none because they do not work here.
fn is_in_vain(reader: &Reader, made: &BTreeSet<String>, tools: &[&Tool]) -> bool {
    let files = names(&reader.folder);
    let mut new = files.difference(made).map(|name| reader.folder.join(name)).peekable();
    match new.peek() {
        Some(_) => new.any(|path| path.metadata().is_ok_and(|kind| kind.is_file() && kind.len() == 0)),
        None => tools.iter().any(|tool| tool.job.is_some_and(|job| outcome(job).is_some())),
    }
}

/// The files of a folder, by name.
pub fn names(folder: &Path) -> BTreeSet<String> {
    std::fs::read_dir(folder).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect()
}
