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

/// The running processes or threads that are recorded.
#[derive(Clone, Debug, Default)]
pub struct Running {
    /// Processes.
    pub pids: Vec<u32>,
    /// Threads.
    pub tids: Vec<u32>,
}

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
    for text in wanted.iter().flat_map(|text| single(text)) {
        let pid = match text.parse() {
            Ok(id) if has_ended(id) => {
                anyhow::bail!(
                    "-p {id}: this process has ended, and its parent has not taken notice of it yet"
                )
            }
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

/// The processes of `12 34`, as pidof(1) lists them, and of `12 server`, if none is called that.
fn single(text: &str) -> Vec<&str> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let are_numbers = words.iter().all(|word| word.bytes().all(|b| b.is_ascii_digit()));
    if words.len() < 2 || !are_numbers && !like(&running(), text).1.is_empty() {
        return vec![text];
    }
    words
}

/// Returns true for a process of which only the exit status is left.
#[cfg(target_os = "linux")]
fn has_ended(id: u32) -> bool {
    crate::record::sys::processes::stat(id).is_some_and(|fields| fields.starts_with('Z'))
        // Its first thread may have ended alone.
        && std::fs::read_dir(format!("/proc/{id}/task")).is_ok_and(|threads| threads.count() < 2)
}

/// Other systems do not tell.
#[cfg(not(target_os = "linux"))]
fn has_ended(_id: u32) -> bool {
    false
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
    let (nearness, found) = like(&all, name);
    match &found[..] {
        [process] if nearness == Some(Nearness::Name) => Ok(process.pid),
        [] => anyhow::bail!(
            "-p {name:?}: no process has this name; `ps -e` lists those that run, and fg-record {name} starts one"
        ),
        [process] => {
            say(Record::NAME, format_args!("recording {}", process.shown(name)));
            Ok(process.pid)
        }
        several => {
            several.iter().take(LISTED).for_each(|process| say(Record::NAME, process.shown(name)));
            let numbers: Vec<String> = several.iter().take(LISTED).map(|it| it.pid.to_string()).collect();
            anyhow::bail!(
                "-p {name:?}: {} processes match; name one by its number, or all: -p {}",
                several.len(),
                numbers.join(",")
            )
        }
    }
}

/// The processes that resemble a name most closely, without this one and those that have started it.
fn like<'a>(all: &'a [Process], name: &str) -> (Option<Nearness>, Vec<&'a Process>) {
    let ours = with_ancestors(all, std::process::id());
    let others: Vec<&Process> = all.iter().filter(|process| !ours.contains(&process.pid)).collect();
    nearest(&others, name)
}

/// The degrees to which a process resembles the name that was asked for; the closest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Nearness {
    /// It is its name.
    Name,
    /// It is a part of its name.
    PartOfName,
    /// It stands in its command line.
    CommandLine,
}

/// The processes that resemble a name most closely, all in the same way.
fn nearest<'a>(all: &[&'a Process], name: &str) -> (Option<Nearness>, Vec<&'a Process>) {
    for nearness in [Nearness::Name, Nearness::PartOfName, Nearness::CommandLine] {
        let found: Vec<&Process> = all.iter().copied().filter(|it| it.is_like(name, nearness)).collect();
        if !found.is_empty() {
            return (Some(nearness), found);
        }
    }
    (None, Vec::new())
}

impl Process {
    fn is_like(&self, name: &str, nearness: Nearness) -> bool {
        match nearness {
            Nearness::Name => self.names().iter().any(|its| its == name),
            Nearness::PartOfName => self.names().iter().any(|its| its.contains(name)),
            Nearness::CommandLine => has_word(&self.words.join(" "), name),
        }
    }

    /// Its names: that of the kernel, of the program, and of the script that it interprets.
    fn names(&self) -> Vec<String> {
        let file =
            |word: &str| Path::new(word).file_name().unwrap_or_default().to_string_lossy().into_owned();
        let program = self.words.first().map(|word| file(word)).unwrap_or_default();
        let kind = program.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
        let mut names = vec![self.comm.clone()];
        if INTERPRETERS.contains(&kind) {
            let script = self.words.iter().skip(1).find(|word| !word.starts_with('-')).map(|word| file(word));
            names.extend(
                script
                    .as_deref()
                    .and_then(|script| Path::new(script).file_stem()?.to_str())
                    .map(str::to_owned),
            );
            names.extend(script);
        }
        names.push(program);
        names
    }

    /// Its number, and its command line; of a long one the part with the text that was asked for.
    fn shown(&self, text: &str) -> String {
        /// Characters of a command line that tell enough.
        const ENOUGH: usize = 60;
        let line = match self.words.is_empty() {
            true => format!("[{}]", self.comm),
            false => self.words.join(" "),
        };
        let begins: String = line.chars().take(ENOUGH).collect();
        let mut shown = printable(begins.as_bytes());
        if begins.len() < line.len() {
            shown.push('…');
            // The reader sees why it is listed.
            if let Some((before, _)) = line.split_once(text).filter(|_| !begins.contains(text)) {
                let start = before.char_indices().rev().nth(ENOUGH / 4).map_or(0, |(at, _)| at);
                let start = start.max(begins.len());
                if start == begins.len() {
                    shown.pop();
                }
                let part: String = line[start..].chars().take(ENOUGH).collect();
                shown.push_str(&printable(part.as_bytes()));
                if start + part.len() < line.len() {
                    shown.push('…');
                }
            }
        }
        format!("{} {shown}", self.pid)
    }
}

/// Returns true if a command line has this text, and no letter or digit beside it: `app` is not in `x86_64-apple`.
fn has_word(line: &str, text: &str) -> bool {
    let is_of_word = |c: char| c.is_alphanumeric() || c == '_';
    line.match_indices(text).any(|(at, _)| {
        let (before, after) = (&line[..at], &line[at + text.len()..]);
        !before.ends_with(is_of_word) && !after.starts_with(is_of_word)
    })
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
            assert_eq!(process(comm, line).is_like(name, Nearness::Name), expected, "{line} {name}");
        }
    }

    #[test]
    fn the_nearest_processes_are_meant() {
        let [named, part, argument] =
            [process("hot", "./hot"), process("hotspot", "hotspot"), process("vim", "vim hot.c")];
        for (all, expected) in [
            (vec![&argument, &part, &named], Some((Nearness::Name, "./hot"))),
            (vec![&argument, &part], Some((Nearness::PartOfName, "hotspot"))),
            (vec![&argument], Some((Nearness::CommandLine, "vim hot.c"))),
            (vec![], None),
        ] {
            let (nearness, found) = nearest(&all, "hot");
            let found: Vec<String> = found.iter().map(|it| it.words.join(" ")).collect();
            assert_eq!(nearness.zip(found.first().map(String::as_str)), expected);
            assert!(found.len() <= 1, "{found:?}");
        }
    }

    #[test]
    fn a_part_of_a_word_in_a_command_line_is_not_meant() {
        for (line, name, expected) in [
            ("cargo build --target x86_64-apple-darwin", "app", false),
            ("rustc -C opt-level=3 --cfg apps", "app", false),
            ("env CONTAINER_NAME=x serve", "NAME", false),
            ("java -jar /srv/app.jar", "app", true),
            ("gunicorn app:main", "app", true),
            ("gunicorn app:main --reload", "app:main --re", false),
            ("snapper app", "app", true),
        ] {
            assert_eq!(process("x", line).is_like(name, Nearness::CommandLine), expected, "{line} {name}");
        }
    }

    #[test]
    fn a_listed_process_shows_where_the_text_stands() {
        let long = format!("browser {} --show-hotkeys {}", "--option ".repeat(20), "x".repeat(100));
        let shown = process("browser", &long).shown("hot");
        assert!(shown.starts_with("7 browser --option ") && shown.contains("--show-hotkeys"), "{shown}");
        assert!(shown.ends_with('…') && shown.chars().count() < 130, "{shown}");
        let umlauts = format!("{}hot{}", "ä".repeat(100), "ö".repeat(100));
        assert!(process("a", &umlauts).shown("hot").contains("hot"));
        assert_eq!(process("hot", "./hot 3").shown("hot"), "7 ./hot 3");
        assert_eq!(
            Process { pid: 7, comm: "kthreadd".to_owned(), ..Process::default() }.shown("k"),
            "7 [kthreadd]"
        );
    }
    #[test]
    fn a_process_and_its_starters_are_never_meant() {
        let all = [(5, 3), (3, 1), (1, 0), (9, 1)];
        let all = all.map(|(pid, parent)| Process { pid, parent, ..Process::default() });
        assert_eq!(with_ancestors(&all, 5), [5, 3, 1]);
    }
}
