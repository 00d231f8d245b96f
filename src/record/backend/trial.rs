//! Trials of other profilers: a program that is installed may still not work.
//!
//! It may want a newer C library, another kernel's headers or rights that nobody has in a container.
//! Only a run tells: [`starts`] asks a program for its version, which takes milliseconds, and
//! [`records`] takes a recording of a moment. A failure is told in the tool's own words.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use super::capability::Roots;
use super::{Ask, Backend, Plan, Recording, Wishes, is_for_python, run};
use crate::record::program::message;
use crate::record::request::{Invocation, Request, Target};
use crate::record::sys::processes;

/// The longest time a trial may take: bpftrace needs eight seconds for its first run after a boot.
const LIMIT: Duration = Duration::from_secs(30);
/// The time between two looks at a running trial.
const TICK: Duration = Duration::from_millis(5);
/// The longest words of a tool that are repeated.
const LONGEST: usize = 200;

/// The result of a trial that did not fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tried {
    /// It has recorded.
    Recorded,
    /// It starts, but there is no Python here that it could record.
    Started,
}

/// Asks a program for its version.
///
/// # Errors
/// The reason why it does not start, in its own words.
pub fn starts(program: &OsStr) -> Result<(), String> {
    let mut command = Command::new(program);
    let run = bounded(command.arg("--version").stdout(Stdio::null()))?;
    if run.succeeded { Ok(()) } else { Err(run.words) }
}

/// A process that computes until it is dropped: the target of trials.
///
/// Not this process itself, whose threads come and go while a profiler looks for them.
struct Busy(Child);

impl Busy {
    /// Starts it.
    fn new() -> io::Result<Busy> {
        // It ends by itself after a minute or so, in case nobody is left to drop it.
        let script = "i=0; while [ $i -lt 50000000 ]; do i=$((i+1)); done";
        Command::new("sh").args(["-c", script]).stdin(Stdio::null()).spawn().map(Busy)
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Lets a backend record a process that computes, or a Python program if it records only those.
///
/// # Errors
/// The reason why there is no recording, in the tool's own words.
pub fn records(backend: &dyn Backend, program: &OsStr) -> Result<Tried, String> {
    if !is_for_python(backend) {
        let busy = Busy::new().map_err(|e| format!("cannot start sh to record it: {}", message(&e)))?;
        let target = Target::Processes(vec![busy.0.id()]);
        let short = wishes(target.clone(), Some(Duration::from_millis(100)));
        // Some tools know whole seconds only.
        let long = wishes(target, Some(Duration::from_secs(1)));
        return recorded(backend, program, &[short, long]).map(|()| Tried::Recorded);
    }
    starts(program)?;
    let Some(python) = ["python3", "python"].into_iter().find(|name| starts(OsStr::new(name)).is_ok()) else {
        return Ok(Tried::Started);
    };
    let python = Invocation {
        program: python.into(),
        arguments: vec!["-c".into(), BUSY.into()],
        stdout_is_taken: true,
        ..Invocation::default()
    };
    let wishes = [wishes(Target::Command(python), None)];
    // austin now and then looks at a program before it is Python, and gives up.
    let mut tries = (0..3).map(|_| recorded(backend, program, &wishes));
    let first = tries.next().unwrap_or_else(|| Err(String::new()));
    first.or_else(|words| if tries.any(|it| it.is_ok()) { Ok(()) } else { Err(words) })?;
    Ok(Tried::Recorded)
}

/// A Python program that computes for a moment.
const BUSY: &str = "import time
end = time.process_time() + 0.3
while time.process_time() < end: sum(range(1000))";

fn wishes(target: Target, duration: Option<Duration>) -> Wishes {
    Wishes {
        request: Request { duration, ..Request::new(target) },
        rate: None,
        call_graph: None,
        roots: Roots::AsTheyAre,
        raw: false,
        root: false,
        arguments: Vec::new(),
    }
}

/// Runs the first plan after which the backend ends by itself.
fn recorded(backend: &dyn Backend, program: &OsStr, wishes: &[Wishes]) -> Result<(), String> {
    let folder = tempfile::tempdir().map_err(|e| format!("cannot make a folder: {}", message(&e)))?;
    let plans = wishes.iter().map(|wishes| {
        let pids = run::pids(wishes);
        backend.plan(&Ask { wishes, program, pids: &pids, folder: folder.path() })
    });
    let plans: Vec<Plan> = plans.collect::<Result<_, _>>().map_err(|refusal| refusal.to_string())?;
    let plan = plans.iter().find(|plan| plan.after.is_none()).ok_or("it does not end by itself")?;
    let output = folder.path().join("recording");
    let stdout = File::create(&output).map_err(|e| format!("cannot make a file: {}", message(&e)))?;
    let mut command = Command::new(&plan.words[0]);
    let run = bounded(command.args(&plan.words[1..]).stdout(stdout))?;
    let path = match &plan.recording {
        Recording::File(path) => path,
        Recording::Output | Recording::Export(_) => &output,
    };
    let has_recorded = matches!(plan.recording, Recording::Export(_)) || !is_empty(path);
    // The exit status of tools for Python may be the program's.
    if has_recorded && (run.succeeded || is_for_python(backend)) { Ok(()) } else { Err(run.words) }
}

fn is_empty(path: &Path) -> bool {
    path.metadata().map_or(0, |kind| kind.len()) == 0
}

/// The end of a program.
struct Run {
    succeeded: bool,
    /// The reason for a failure.
    words: String,
}

/// Runs a program that has no input, for a limited time.
fn bounded(command: &mut Command) -> Result<Run, String> {
    let cannot = |e: io::Error| format!("cannot start: {}", message(&e));
    // A file, which no process that lives on keeps us waiting for.
    let mut stderr = tempfile::tempfile().map_err(cannot)?;
    command.stdin(Stdio::null()).stderr(stderr.try_clone().map_err(cannot)?);
    let mut child = command.spawn().map_err(cannot)?;
    let began = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait().map_err(cannot)? {
            break status;
        }
        if began.elapsed() > LIMIT {
            processes::kill_tree(child.id());
            let _ = child.wait();
            return Err(format!("no answer within {} s", LIMIT.as_secs()));
        }
        std::thread::sleep(TICK);
    };
    let mut said = Vec::new();
    use std::io::Seek;
    stderr.rewind().map_err(cannot)?;
    // More than any message; the rest of a flood is not read.
    stderr.take(1 << 16).read_to_end(&mut said).map_err(cannot)?;
    let words = words(&String::from_utf8_lossy(&said)).unwrap_or_else(|| format!("{status}, without a word"));
    Ok(Run { succeeded: status.success(), words })
}

/// The first line of an error output that says something.
fn words(said: &str) -> Option<String> {
    let says_something = |line: &&str| {
        let is_heading = line.ends_with(':') && line.split_whitespace().count() <= 2;
        !line.is_empty() && !is_heading && !line.starts_with("Traceback")
    };
    let mut lines = said.lines().map(str::trim).filter(says_something);
    let first = lines.next()?;
    // Not what a shell says of a helper that is missing, if the tool itself says more.
    let is_of_shell = |line: &&str| line.starts_with("sh: ");
    let line =
        if is_of_shell(&first) { lines.find(|line| !is_of_shell(line)).unwrap_or(first) } else { first };
    // Backquotes mark commands in the table.
    let clean = |c: char| match c {
        '`' => '\'',
        c if c.is_control() => ' ',
        c => c,
    };
    let cut = line.chars().count() > LONGEST;
    let line: String = line.chars().take(LONGEST).map(clean).collect();
    Some(if cut { line + "…" } else { line })
}

/// A program that does not start, and its words.
pub type Failed = (OsString, String);

/// The first of some programs that starts, and the words of the first that does not.
pub fn first_that_starts<T>(
    programs: impl IntoIterator<Item = (T, OsString)>,
) -> (Option<(T, OsString)>, Option<Failed>) {
    let mut failed = None;
    for (what, program) in programs {
        match starts(&program) {
            Ok(()) => return (Some((what, program)), failed),
            Err(words) => {
                failed.get_or_insert((program, words));
            }
        }
    }
    (None, failed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_of_a_tool_are_its_first_line_that_says_something() {
        let of = |said: &str| words(said).unwrap_or_default();
        let glibc = "austin: /lib/libc.so.6: version `GLIBC_2.38' not found (required by austin)\n";
        assert_eq!(of(glibc), "austin: /lib/libc.so.6: version 'GLIBC_2.38' not found (required by austin)");
        assert_eq!(
            of("\nError:\nNo permission to enable cycles event.\n"),
            "No permission to enable cycles event."
        );
        assert_eq!(of("Traceback (most recent call last):\n  File \"x\"\n"), "File \"x\"");
        assert_eq!(of("a\u{1b}[31mb"), "a [31mb");
        assert_eq!(words(" \n\n"), None);
        assert_eq!(of("sh: 1: modprobe: not found\nno headers\n"), "no headers");
        assert_eq!(of("sh: 1: modprobe: not found\n"), "sh: 1: modprobe: not found");
        assert_eq!(of(&"ä".repeat(300)).chars().count(), LONGEST + 1);
    }

    #[test]
    fn a_program_that_fails_or_is_missing_does_not_start() {
        assert_eq!(starts(OsStr::new("true")), Ok(()));
        assert_eq!(starts(OsStr::new("false")), Err("exit status: 1, without a word".to_owned()));
        let missing = starts(OsStr::new("/no/such/tool"));
        assert!(missing.as_ref().is_err_and(|words| words.contains("no such file")), "{missing:?}");
        let both = [(1, "false".into()), (2, OsString::from("true"))];
        let (found, failed) = first_that_starts(both);
        assert_eq!(found.map(|(n, _)| n), Some(2));
        assert_eq!(failed.map(|(program, _)| program), Some("false".into()));
    }
}
