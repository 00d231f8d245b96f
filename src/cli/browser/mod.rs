//! `--open`: shows an output in the user's browser.

#[cfg(unix)]
mod unix;

use std::path::Path;

use crate::render::Format;

#[cfg(unix)]
pub use unix::open;

/// The file to show of several outputs: a page has more to see than a picture.
pub fn preferred<'a>(files: &[(Option<&'a Path>, &Format)]) -> Option<&'a Path> {
    let of = |name: &str| files.iter().find(|(path, format)| path.is_some() && format.name == name);
    ["html", "svg", "png"].into_iter().find_map(of).and_then(|(path, _)| *path)
}

/// Opens a file, or tells the user to; `tool` is the name that the message begins with.
#[cfg(not(unix))]
pub fn open(tool: &str, file: &Path) {
    let file = file.canonicalize().unwrap_or_else(|_| file.to_owned());
    // It opens a file as a double click does, and needs no shell.
    if std::process::Command::new("explorer").arg(&file).spawn().is_err() {
        super::say(tool, format_args!("no browser was opened; open {} yourself", file.display()));
    }
}
