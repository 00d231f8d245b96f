//! A copy of a program, to be run at once.

use std::path::Path;
use std::process::Command;

/// Copies a program. Another process does: while this one had the file open, another test's child could begin with
/// the same open file, and the copy would be busy.
pub fn program(from: impl AsRef<Path>, to: impl AsRef<Path>) {
    let copied = Command::new("cp").arg("--").arg(from.as_ref()).arg(to.as_ref()).status().expect("cp runs");
    assert!(copied.success(), "{}", to.as_ref().display());
}
