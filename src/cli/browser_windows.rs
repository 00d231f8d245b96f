//! `--open` on Windows: shows a file in the user's browser.

use std::path::Path;
use std::process::Command;

use super::say;

/// Opens a file, or tells the user to; `tool` is the name that the message begins with.
pub(super) fn open(tool: &str, file: &Path) {
    let file = file.canonicalize().unwrap_or_else(|_| file.to_owned());
    // It opens a file as a double click does, and needs no shell.
    if Command::new("explorer").arg(&file).spawn().is_err() {
        say(tool, format_args!("no browser was opened; open {} yourself", file.display()));
    }
}
