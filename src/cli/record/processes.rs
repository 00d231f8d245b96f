//! The processes that `-p` names: by number, or by name.

use std::path::Path;

use crate::cli::{Tool, say};
use crate::printable::printable;

use super::Record;

/// The most processes that a message lists.
const LISTED: usize = 20;
/// Programs whose first argument is the program that people mean.
const INTERPRETERS: &[&str] = &[
    "python", "node", "ruby", "perl", "php", "java", "bash", "sh", "dash", "zsh", "deno", "bun", "lua",
    "luajit",
];

/// A running process.
#[derive(Clone, Debug, Default)]
struct Process {
    pid: u32,
    parent: u32,
    /// The name that the kernel keeps of it.
    comm: String,
    /// Its command line.
    words: Vec<String>,
}

/// The numbers of the processes that are meant.
///
/// # Errors
/// For a name that no process has, or more than one.
pub(super) fn find(wanted: &[String]) -> anyhow::Result<Vec<u32>> {
    let mut pids = Vec::with_capacity(wanted.len());
    for text in wanted {
        let pid = match text.parse() {
            Ok(id) => process_of(id),
            Err(_) if text.bytes().all(|b| b.is_ascii_digit()) => {
                anyhow::bail!("-p {text:?}: no process has this number")
            }
            Err(_) => find_one(text)?,
        };
        // Two threads may be of one process.
        if !pids.contains(&pid) {
            pids.push(pid);
        }
    }
    Ok(pids)
}

/// The process of a number, which may be that of one of its threads.
#[cfg(target_os = "linux")]
fn process_of(id: u32) -> u32 {
    match crate::record::sys::processes::process_of(id) {
        Some(pid) if pid != id => {
            say(
                Record::NAME,
                format_args!(
                    "-p {id}: a thread of process {pid}, which is recorded; --tid {id} records it alone"
                ),
            );
            pid
        }
        // One that does not run is refused when it is opened.
        _ => id,
    }
}

/// Other systems give threads no numbers among those of processes.
#[cfg(not(target_os = "linux"))]
fn process_of(id: u32) -> u32 {
    id
}

fn find_one(name: &str) -> anyhow::Result<u32> {
    let all = running();
    let ours = with_ancestors(&all, std::process::id());
    let others: Vec<&Process> = all.iter().filter(|process| !ours.contains(&process.pid)).collect();
    let exact: Vec<&Process> = others.iter().copied().filter(|process| process.is_called(name)).collect();
    if let [process] = exact[..] {
        return Ok(process.pid);
    }
    let found = match exact.is_empty() {
        true => others.into_iter().filter(|process| process.mentions(name)).collect(),
        false => exact,
    };
    match &found[..] {
        [] => anyhow::bail!(
            "-p {name:?}: no process has this name; `ps -e` lists those that run, and fg-record {name} starts one"
        ),
        [process] => {
            say(Record::NAME, format_args!("recording {process}"));
            Ok(process.pid)
        }
        several => {
            several.iter().take(LISTED).for_each(|process| say(Record::NAME, process));
            let numbers: Vec<String> = several.iter().take(LISTED).map(|it| it.pid.to_string()).collect();
            anyhow::bail!(
                "-p {name:?}: {} processes match; name one by its number, or all: -p {}",
                several.len(),
                numbers.join(",")
            )
        }
    }
}

impl std::fmt::Display for Process {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        /// Characters of a command line that tell enough.
        const ENOUGH: usize = 60;
        let line = match self.words.is_empty() {
            true => format!("[{}]", self.comm),
            false => self.words.join(" "),
        };
        let line = printable(line.as_bytes());
        let short: String = line.chars().take(ENOUGH).collect();
        write!(f, "{} {short}{}", self.pid, if short.len() < line.len() { "…" } else { "" })
    }
}

impl Process {
    /// Returns true if this is its name: of the program, or of the script that it interprets.
    fn is_called(&self, name: &str) -> bool {
        let file =
            |word: &str| Path::new(word).file_name().unwrap_or_default().to_string_lossy().into_owned();
        let program = self.words.first().map(|word| file(word)).unwrap_or_default();
        if self.comm == name || program == name {
            return true;
        }
        let kind = program.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
        let script = self.words.iter().skip(1).find(|word| !word.starts_with('-'));
        let Some(script) = script.filter(|_| INTERPRETERS.contains(&kind)).map(|word| file(word)) else {
            return false;
        };
        script == name || Path::new(&script).file_stem().is_some_and(|stem| stem == name)
    }

    /// Returns true if the text stands in its name or command line.
    fn mentions(&self, text: &str) -> bool {
        self.comm.contains(text) || self.words.join(" ").contains(text)
    }
}

/// A process, and all that it was started by: a shell that is told to record something has the name
/// in its own command line.
fn with_ancestors(all: &[Process], pid: u32) -> Vec<u32> {
    let mut ours = vec![pid];
    while let Some(process) = all.iter().find(|it| it.pid == ours[ours.len() - 1]) {
        if process.parent == 0 || ours.contains(&process.parent) {
            break;
        }
        ours.push(process.parent);
    }
    ours
}

#[cfg(target_os = "linux")]
fn running() -> Vec<Process> {
    use crate::record::sys::processes::command_line;

    let Ok(entries) = std::fs::read_dir("/proc") else { return Vec::new() };
    let pids = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    let mut all: Vec<Process> = pids
        .filter_map(|pid: u32| {
            let stat = std::fs::read(format!("/proc/{pid}/stat")).ok()?;
            let stat = String::from_utf8_lossy(&stat);
            // The name may hold anything, brackets too.
            let (begin, end) = (stat.find('(')?, stat.rfind(')')?);
            let mut rest = stat.get(end + 1..)?.split_whitespace();
            // One that has ended has nothing to record.
            rest.next().filter(|state| !matches!(*state, "Z" | "X"))?;
            let parent = rest.next()?.parse().ok()?;
            let words = command_line(pid);
            let words = words.iter().map(|word| String::from_utf8_lossy(word).into_owned()).collect();
            Some(Process { pid, parent, comm: stat.get(begin + 1..end)?.to_owned(), words })
        })
        .collect();
    all.sort_unstable_by_key(|process| process.pid);
    all
}

#[cfg(not(target_os = "linux"))]
fn running() -> Vec<Process> {
    let list = std::process::Command::new("ps").args(["-axo", "pid=,ppid=,command="]).output();
    let list = list.map(|output| output.stdout).unwrap_or_default();
    let line = |line: &str| {
        let mut words = line.split_whitespace();
        let (pid, parent) = (words.next()?.parse().ok()?, words.next()?.parse().ok()?);
        let words: Vec<String> = words.map(str::to_owned).collect();
        let comm = Path::new(words.first()?).file_name()?.to_string_lossy().into_owned();
        Some(Process { pid, parent, comm, words })
    };
    String::from_utf8_lossy(&list).lines().filter_map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn process(comm: &str, line: &str) -> Process {
        let words = line.split(' ').map(str::to_owned).collect();
        Process { pid: 7, parent: 1, comm: comm.to_owned(), words }
    }

    #[test]
    fn a_process_has_the_name_of_its_program_or_script() {
        for (comm, line, name, expected) in [
            ("hot", "./hot 3", "hot", true),
            ("hot", "/usr/bin/hot", "hot", true),
            ("python3", "python3 -u /srv/hot.py", "hot.py", true),
            ("python3", "/usr/bin/python3.11 hot.py", "hot", true),
            ("node", "node hot.js", "hot", true),
            ("vim", "vim hot", "hot", false),
            ("hotspot", "hotspot", "hot", false),
            ("worker", "./server --hot", "worker", true),
        ] {
            assert_eq!(process(comm, line).is_called(name), expected, "{line} {name}");
        }
        assert!(process("hotspot", "hotspot").mentions("hot"));
    }

    #[test]
    fn a_process_and_its_starters_are_never_meant() {
        let all = [(5, 3), (3, 1), (1, 0), (9, 1)];
        let all = all.map(|(pid, parent)| Process { pid, parent, ..Process::default() });
        assert_eq!(with_ancestors(&all, 5), [5, 3, 1]);
    }
}
