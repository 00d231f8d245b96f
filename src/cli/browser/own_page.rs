//! The file for `--open` where no output was named.
//!
//! It is in the user's folder for what may be deleted, under the name of what was read: the next page of
//! the same name replaces it.

use std::env;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// A longer name is cut; file systems take 255 bytes, and a file that is being written has some more.
const LONGEST_NAME: usize = 150;

/// The name of a page of standard input.
const UNNAMED: &str = "standard-input";

/// The file for what `inputs` hold, in a format of this ending. Its folder is made if it is not there.
///
/// # Errors
/// The folder cannot be made.
pub fn own_page(inputs: &[PathBuf], ending: &str) -> io::Result<PathBuf> {
    let name = name(inputs, ending);
    let Some(folder) = cache(&|name| env::var_os(name)).filter(|_| !is_another_user_s()) else {
        // Everybody may write there: whatever another user left under this name is refused.
        let mut own = OsString::from("fg-tools-");
        own.push(name);
        return Ok(env::temp_dir().join(own));
    };
    let folder = folder.join("fg-tools").join("pages");
    make(&folder)?;
    Ok(folder.join(name))
}

/// `perf.data.html` for `dir/perf.data`.
fn name(inputs: &[PathBuf], ending: &str) -> OsString {
    let first = inputs.first().filter(|path| *path != Path::new("-")).and_then(|path| path.file_name());
    let first = first.unwrap_or(OsStr::new(UNNAMED));
    let mut name = match first.len() > LONGEST_NAME {
        true => cut(&first.to_string_lossy()).into(),
        false => first.to_owned(),
    };
    if inputs.len() > 1 {
        name.push(format!("-and-{}-more", inputs.len() - 1));
    }
    name.push(".");
    name.push(ending);
    name
}

fn cut(name: &str) -> &str {
    let end = (0..=LONGEST_NAME).rev().find(|&at| name.is_char_boundary(at));
    &name[..end.unwrap_or_default()]
}

/// The user's folder for what may be deleted.
fn cache(variable: &dyn Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    // A relative path is to be ignored, says the specification of base directories.
    let folder = |name: &str| variable(name).map(PathBuf::from).filter(|path| path.is_absolute());
    if cfg!(windows) {
        return folder("LOCALAPPDATA");
    }
    let below_home = if cfg!(target_os = "macos") { "Library/Caches" } else { ".cache" };
    folder("XDG_CACHE_HOME").or_else(|| Some(folder("HOME")?.join(below_home)))
}

/// Makes a folder that only the user may read: profiles tell what the user does.
#[cfg(unix)]
fn make(folder: &Path) -> io::Result<()> {
    use std::os::unix::fs::DirBuilderExt;

    fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)
}

#[cfg(not(unix))]
fn make(folder: &Path) -> io::Result<()> {
    fs::create_dir_all(folder)
}

#[cfg(unix)]
use super::unix::is_another_user_s;

#[cfg(not(unix))]
fn is_another_user_s() -> bool {
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_are_named_after_what_was_read() {
        let long = format!("{}ä.folded", "x".repeat(LONGEST_NAME - 1));
        for (inputs, expected) in [
            (&[][..], "standard-input.html"),
            (&["-"], "standard-input.html"),
            (&[".."], "standard-input.html"),
            (&["/a/perf.data"], "perf.data.html"),
            (&["a.folded", "b.folded", "c.folded"], "a.folded-and-2-more.html"),
            (&[&*long], &format!("{}.html", "x".repeat(LONGEST_NAME - 1))),
        ] {
            let inputs: Vec<PathBuf> = inputs.iter().map(PathBuf::from).collect();
            assert_eq!(name(&inputs, "html"), expected);
        }
    }

    #[test]
    #[cfg(all(unix, not(target_os = "macos")))]
    fn the_folder_is_that_of_the_system() {
        let found = |variables: &[(&str, &str)]| {
            let variable = |name: &str| {
                variables.iter().find(|(it, _)| *it == name).map(|(_, value)| OsString::from(value))
            };
            cache(&variable).map(|path| path.to_string_lossy().into_owned())
        };
        assert_eq!(found(&[("XDG_CACHE_HOME", "/c"), ("HOME", "/h")]).as_deref(), Some("/c"));
        assert_eq!(found(&[("XDG_CACHE_HOME", "c"), ("HOME", "/h")]).as_deref(), Some("/h/.cache"));
        assert_eq!(found(&[("XDG_CACHE_HOME", "")]), None);
    }
}
