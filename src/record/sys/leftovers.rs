//! Temporary files and folders, removed when they are dropped and when a second signal ends this
//! process at once.
//!
//! They have names from the beginning, so that a recording can be found when its recorder was killed.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::Duration;

/// The files and folders of this process that are there now.
static PATHS: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// A file or folder that is removed when this is dropped.
#[derive(Debug)]
pub struct Leftover(PathBuf);

impl Leftover {
    /// Takes charge of a file, or of a folder with all that is in it.
    pub fn new(path: PathBuf) -> Leftover {
        if let Ok(mut paths) = PATHS.lock() {
            paths.push(path.clone());
        }
        Leftover(path)
    }

    /// The file or folder.
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// Leaves it where it is.
    pub fn keep(self) -> PathBuf {
        self.forget();
        let path = self.0.clone();
        std::mem::forget(self);
        path
    }

    fn forget(&self) {
        if let Ok(mut paths) = PATHS.lock() {
            paths.retain(|path| *path != self.0);
        }
    }
}

impl Drop for Leftover {
    fn drop(&mut self) {
        let _ = remove(&self.0);
        self.forget();
    }
}

/// Removes them all.
pub(super) fn remove_all() {
    // Whoever holds the lock does so for a moment, unless it was stopped by a debugger.
    for _ in 0..100 {
        if let Ok(paths) = PATHS.try_lock() {
            paths.iter().for_each(|path| drop(remove(path)));
            return;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

fn remove(path: &Path) -> io::Result<()> {
    match path.symlink_metadata()?.is_dir() {
        true => fs::remove_dir_all(path),
        false => fs::remove_file(path),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_dropped_is_removed_and_what_is_kept_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let [file, below, kept] = ["file", "below", "kept"].map(|name| folder.path().join(name));
        fs::create_dir(&below).unwrap();
        for path in [&file, &below.join("deep"), &kept] {
            fs::write(path, "").unwrap();
        }
        let [one, other, last] = [&file, &below, &kept].map(|path| Leftover::new(path.clone()));
        assert_eq!(last.keep(), kept);
        drop((one, other));
        assert_eq!([&file, &below, &kept].map(|path| path.exists()), [false, false, true]);
        let paths = PATHS.lock().unwrap();
        assert!(!paths.iter().any(|path| path.starts_with(folder.path())));
    }
}
