//! The output of all programs through the real binaries: what becomes of the file that is replaced, of
//! temporary names when a signal or an error ends a program, and of a closed or full output.

#![cfg(all(target_os = "linux", feature = "cli", feature = "record"))]

#[path = "../common/copied.rs"]
mod copied;
mod faults;
#[path = "../common/feed.rs"]
mod feed;
mod files;
mod help;
mod interrupt;
mod man;
mod memory;
mod messages;
mod mistakes;
mod person;
#[path = "../common/pty.rs"]
mod pty;
mod signals;
#[path = "../common/skip.rs"]
mod skip;
mod system;
#[path = "../common/thorough.rs"]
mod thorough;
mod threads;
mod users;

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

const SMALL: &str = "main;parse 40\nmain;write 2\n";

const COLLAPSE: &str = env!("CARGO_BIN_EXE_fg-collapse");
const FILTER: &str = env!("CARGO_BIN_EXE_fg-filter");
const DIFF: &str = env!("CARGO_BIN_EXE_fg-diff");
const RENDER: &str = env!("CARGO_BIN_EXE_fg-render");
const RECORD: &str = env!("CARGO_BIN_EXE_fg-record");

/// The programs that read, with arguments that make them read standard input and write to a file.
const READERS: &[(&str, &[&str])] = &[
    (COLLAPSE, &["-o", "out"]),
    (FILTER, &["main", "-o", "out"]),
    (DIFF, &["before.folded", "-", "-o", "out"]),
    (RENDER, &["-o", "out", "--format", "collapsed"]),
];

/// The names in a folder.
fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

/// Waits for something to become true: far longer than a busy machine needs.
fn wait_for(what: &str, mut is_so: impl FnMut() -> bool) {
    let until = Instant::now() + Duration::from_secs(120);
    while !is_so() {
        assert!(Instant::now() < until, "{what} did not come");
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// The state of a process, `S` while it sleeps; none once it is gone.
fn state_of(pid: u32) -> Option<char> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    stat.rsplit_once(") ")?.1.chars().next()
}

/// A program that waits for more input.
struct Waiting {
    child: Child,
    input: Option<ChildStdin>,
}

impl Waiting {
    /// Starts it, and waits until it has read stacks and wants more.
    fn start(command: &mut Command, folder: &Path) -> Waiting {
        // More than is looked at to tell the format.
        let stacks: String = (0..20_000).map(|n| format!("main;f{n:05} 1\n")).collect();
        Waiting::behind(stacks.as_bytes(), command, folder)
    }

    /// Starts it, and waits until it has read this and wants more.
    fn behind(bytes: &[u8], command: &mut Command, folder: &Path) -> Waiting {
        let mut child = command
            .current_dir(folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut input = child.stdin.take().unwrap();
        input.write_all(bytes).unwrap();
        wait_for("a read", || system::unread(&input) == 0 && state_of(child.id()) == Some('S'));
        Waiting { child, input: Some(input) }
    }

    fn signal(&self, signal: i32) {
        system::signal(self.child.id().cast_signed(), signal);
    }

    /// Ends its input, and returns how it ends.
    fn end(mut self) -> (ExitStatus, String) {
        drop(self.input.take());
        let output = self.child.wait_with_output().unwrap();
        (output.status, feed::text(output.stderr))
    }
}
