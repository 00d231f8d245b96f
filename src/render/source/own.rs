//! The source files that a page holds without being asked: those of a program that was recorded on this machine.
//!
//! A page may be mailed, and a recording may be another person's and name any file. So without `--source-path`
//! only files are read that the recording names as they are, below the current folder, and only if the recording
//! says that it was made on this machine. A home, or a folder above it, is no project: nothing is read there.
//! The user is told of every file.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use crate::facts::Facts;
use crate::printable::printable;
use crate::render::Settings;

/// The folder in which a page looks without being asked, and the files that it shows of it.
#[derive(Default)]
pub struct SourceHere {
    folder: Option<PathBuf>,
    shown: RefCell<BTreeSet<PathBuf>>,
}

impl SourceHere {
    /// The current folder, if a recording with these facts was made here.
    pub fn of(facts: &Facts, settings: &Settings) -> SourceHere {
        let is_here = || facts.host.as_deref().is_some_and(|host| this_host().is_some_and(|own| own == host));
        let folder = (settings.source_here && is_here()).then(env::current_dir).and_then(Result::ok);
        SourceHere::below(folder.as_deref())
    }

    fn below(folder: Option<&Path>) -> SourceHere {
        let folder = folder.and_then(|folder| fs::canonicalize(folder).ok());
        let home = env::var_os("HOME").and_then(|home| fs::canonicalize(home).ok());
        let folder = folder.filter(|folder| !is_home(folder, home.as_deref()));
        SourceHere { folder, shown: RefCell::default() }
    }

    /// The folder, if there is one.
    pub(super) fn folder(&self) -> Option<&Path> {
        self.folder.as_deref()
    }

    /// Notes a file that is shown.
    pub(super) fn note(&self, path: PathBuf) {
        self.shown.borrow_mut().insert(path);
    }

    /// The files that are shown, for the user.
    pub fn remark(&self) -> Option<String> {
        let shown = self.shown.borrow();
        let below = |path: &PathBuf| {
            let name = self.folder().and_then(|folder| path.strip_prefix(folder).ok()).unwrap_or(path);
            printable(name.as_os_str().as_encoded_bytes())
        };
        let files: Vec<String> = shown.iter().map(below).collect();
        (!files.is_empty())
            .then(|| format!("the page has source code of {}; --no-source leaves it out", files.join(", ")))
    }
}

/// The name of this machine; `None` where it is not known, or any machine's.
fn this_host() -> Option<String> {
    let name = fs::read_to_string("/proc/sys/kernel/hostname").ok()?;
    let name = name.trim();
    let is_any = name.is_empty() || matches!(name, "localhost" | "(none)") || name.starts_with("localhost.");
    (!is_any).then(|| name.to_owned())
}

/// Returns true for a home, and for a folder with homes in it.
fn is_home(folder: &Path, home: Option<&Path>) -> bool {
    let holds_homes = |folder: &Path| {
        folder.parent().is_none() || [Path::new("/home"), Path::new("/Users")].contains(&folder)
    };
    holds_homes(folder)
        || folder.parent().is_some_and(|parent| parent.parent().is_some() && holds_homes(parent))
        || folder == Path::new("/root")
        || home.is_some_and(|home| home.starts_with(folder))
}

/// Returns true if a file is code by its name: scripts that set something up and settings hold secrets.
pub(super) fn is_code(path: &Path) -> bool {
    const NO_CODE: &[&str] = &["sh", "tcl"];
    const SETTINGS: &[&str] = &["config", "credential", "env", "key", "passw", "secret", "setting", "token"];
    let ending = path.extension().map(|ending| ending.to_string_lossy().to_ascii_lowercase());
    let stem = path.file_stem().unwrap_or_default().to_string_lossy().to_ascii_lowercase();
    // `monkey.c` and `tokenizer.rs` are code: only words count.
    let mut words = stem.split(|c: char| !c.is_ascii_alphabetic());
    let is_settings = |word: &str| {
        SETTINGS.iter().any(|known| word == *known || word.strip_suffix('s') == Some(known))
            || ["passw", "credential"].iter().any(|known| word.starts_with(known))
    };
    !ending.is_some_and(|ending| NO_CODE.contains(&&*ending)) && !words.any(is_settings)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn homes_are_no_projects() {
        let home = Some(Path::new("/srv/people/ada"));
        for folder in
            ["/", "/home", "/home/ada", "/Users/ada", "/root", "/srv/people/ada", "/srv/people", "/srv"]
        {
            assert!(is_home(Path::new(folder), home), "{folder}");
        }
        for folder in ["/home/ada/app", "/srv/people/ada/app", "/srv/app", "/opt"] {
            assert!(!is_home(Path::new(folder), home), "{folder}");
        }
        assert!(!is_home(&Path::new("/root").join("app"), home), "below root's home");
    }

    #[test]
    fn scripts_and_settings_are_no_code() {
        for name in [
            "deploy.sh",
            "settings.py",
            "local_settings.py",
            "config.js",
            "app.config.ts",
            "secrets.rs",
            "passwords.go",
            "api_key.c",
        ] {
            assert!(!is_code(Path::new(name)), "{name}");
        }
        for name in ["main.c", "tokenizer.rs", "monkey.py", "configure_all.go", "keyboard.rs"] {
            assert!(is_code(Path::new(name)), "{name}");
        }
    }
}
