//! `--open`: shows an output in the user's browser.

#[cfg(unix)]
mod unix;

mod own_page;

use std::path::Path;

use crate::render::Format;

pub use own_page::own_page;
#[cfg(unix)]
pub use unix::open;

/// The formats that a browser shows, the best first: a page has more to see than a picture.
pub const SHOWN: [&str; 3] = ["html", "svg", "png"];

/// The file to show of several outputs.
pub fn preferred<'a>(files: &[(Option<&'a Path>, &Format)]) -> Option<&'a Path> {
    let of = |name: &str| {
        let mut named = files.iter().filter(|(_, format)| format.name == name);
        named.find_map(|(path, _)| path.filter(|path| *path != Path::new("-")))
    };
    SHOWN.into_iter().find_map(of)
}

/// Opens a file, or tells the user to; `tool` is the name that the message begins with. Returns true if
/// a browser was started.
#[cfg(not(unix))]
pub fn open(tool: &str, file: &Path) -> bool {
    let file = file.canonicalize().unwrap_or_else(|_| file.to_owned());
    // It opens a file as a double click does, and needs no shell.
    let has_opened = std::process::Command::new("explorer").arg(&file).spawn().is_ok();
    if !has_opened {
        super::say(tool, format_args!("no browser was opened; open {} yourself", file.display()));
    }
    has_opened
}
