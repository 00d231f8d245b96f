//! `fg-diff` as a user meets it: the real program, its streams and its exit status.

mod drawn;
mod facts;
#[path = "../common/feed.rs"]
mod feed;
mod formats;
mod gates;
mod history;
mod joined;
mod judged;
mod laws;
mod one_engine;
mod ranges;
mod recorded;
mod reports;
mod stalls;

use std::path::Path;
use std::process::Command;

use feed::{feed, text};

/// The result of a run.
struct Run {
    status: i32,
    stdout: String,
    stderr: String,
}

/// Runs `fg-diff`.
fn run(arguments: &[&str], stdin: &str) -> Run {
    run_program(env!("CARGO_BIN_EXE_fg-diff"), arguments, stdin)
}

fn run_program(program: &str, arguments: &[&str], stdin: &str) -> Run {
    let output = feed(Command::new(program).args(arguments), stdin);
    Run { status: output.status.code().unwrap(), stdout: text(output.stdout), stderr: text(output.stderr) }
}

/// Files of a folder that is gone when the test is over.
struct Files(tempfile::TempDir);

impl Files {
    fn new() -> Files {
        Files(tempfile::tempdir().unwrap())
    }

    /// Writes a file and returns its path.
    fn put(&self, name: &str, content: impl AsRef<[u8]>) -> String {
        let path = self.0.path().join(name);
        std::fs::write(&path, content).unwrap();
        path.to_str().unwrap().to_owned()
    }

    fn path(&self) -> &Path {
        self.0.path()
    }
}

/// The header of profiles of which nothing is known.
const HEADER: &str = "# columns: before, after\n";

/// The output for two profiles, without that header, given that nothing is said.
fn diff(options: &[&str], before: &str, after: &str) -> String {
    let files = Files::new();
    let (before, after) = (files.put("before", before), files.put("after", after));
    let run = run(&[options, &[before.as_str(), after.as_str()]].concat(), "");
    assert_eq!((run.status, run.stderr.as_str()), (0, ""), "{options:?}");
    stacks(&run)
}

/// The output without the header of profiles of which nothing is known.
fn stacks(run: &Run) -> String {
    run.stdout.strip_prefix(HEADER).unwrap_or(&run.stdout).to_owned()
}
