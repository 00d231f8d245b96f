//! `fg-record --with`: other profilers, run for their recordings.
//!
//! The command lines are tested with stand-ins, small scripts that note their command line and write
//! a recording of `tests/fixtures`; profilers that are installed are run for real as well.

#![cfg(target_os = "linux")]
#![allow(missing_docs)]

mod asked;
mod auto;
mod broken;
#[path = "../common/installed.rs"]
mod installed;
mod manners;
#[path = "../common/process.rs"]
mod process;
mod real;
#[path = "../common/skip.rs"]
mod skip;
mod stand_in;

use std::path::Path;
use std::process::{Command, Output};

fn fg_record() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_fg-record"));
    for variable in ["PERF", "PY_SPY", "AUSTIN", "BPF", "DTRACE", "XCTRACE"] {
        command.env_remove(variable);
    }
    command
}

fn run(command: &mut Command) -> Output {
    command.output().expect("fg-record starts")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Folded text without its header.
fn stacks(folded: &str) -> String {
    folded.lines().filter(|line| !line.starts_with("# ")).map(|line| format!("{line}\n")).collect()
}

/// A recording, and the stacks it folds to.
fn fixture(case: &str, input: &str) -> (String, String) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(case);
    let folded = std::fs::read_to_string(folder.join("expected.folded")).expect("a fixture");
    (folder.join(input).to_str().expect("a path").to_owned(), stacks(&folded))
}
