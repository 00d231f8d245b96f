//! A run on its way into a store: written aside, and moved into its place as a whole.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use super::known::names;
use crate::error::{Error, Position, Result};

/// The tables, in the order in which they are moved: a run is there when the last one is.
pub(super) const TABLES: [&str; 4] = ["stacks", "functions", "rejects", "recordings"];
const STAGING: &str = "_staging";
const LOCK: &str = "_commit";
/// A staged run of this age was left by a program that was killed.
const LEFT: Duration = Duration::from_secs(24 * 60 * 60);
/// Moving takes moments: a lock of this age was left.
const HELD: Duration = Duration::from_secs(60);

/// A folder for the tables of a run that is being written. It is removed when this is dropped.
pub(super) struct Staged {
    root: PathBuf,
    folder: PathBuf,
}

impl Staged {
    /// Makes the folder, and the store if it is not there.
    ///
    /// # Errors
    /// The system's, with the path.
    pub(super) fn begin(root: &Path) -> Result<Staged> {
        let staging = root.join(STAGING);
        make(&staging)?;
        for name in names(&staging)? {
            let left = staging.join(name);
            if is_older(&left, LEFT) {
                let _ = fs::remove_dir_all(left);
            }
        }
        let made = tempfile::Builder::new().prefix("run-").tempdir_in(&staging);
        let folder = made.map_err(|e| failed("make a folder in", &staging, e))?.keep();
        Ok(Staged { root: root.to_owned(), folder })
    }

    /// The folder of a table, made with all above it.
    ///
    /// # Errors
    /// The system's, with the path.
    pub(super) fn table(&self, table: &str, partition: &str) -> Result<PathBuf> {
        let folder = self.folder.join(table).join(partition);
        make(&folder)?;
        Ok(folder)
    }

    /// Moves the run into its place, if `is_current` still holds while nobody else moves one.
    ///
    /// # Errors
    /// The system's; [`crate::ErrorKind::Setting`] if another program holds the store.
    pub(super) fn commit(self, run: &str, is_current: impl FnOnce() -> Result<bool>) -> Result<bool> {
        let _lock = Lock::take(&self.root)?;
        if !is_current()? {
            return Ok(false);
        }
        // Nobody else is moving: what is not complete never will be.
        let complete = names(&self.root.join("recordings"))?;
        for table in TABLES {
            for name in names(&self.root.join(table))? {
                if name.starts_with("run=") && !complete.contains(&name) {
                    let _ = fs::remove_dir_all(self.root.join(table).join(name));
                }
            }
        }
        for table in TABLES {
            let (from, to) = (self.folder.join(table), self.root.join(table).join(format!("run={run}")));
            make(&self.root.join(table))?;
            if !from.exists() {
                make(&from)?;
            }
            fs::rename(&from, &to).map_err(|e| failed("move the run to", &to, e))?;
        }
        Ok(true)
    }
}

impl Drop for Staged {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// A folder that only one program can make.
struct Lock(PathBuf);

impl Lock {
    fn take(root: &Path) -> Result<Lock> {
        let path = root.join(LOCK);
        for _ in 0..600 {
            match fs::create_dir(&path) {
                Ok(()) => return Ok(Lock(path)),
                Err(e) if e.kind() == std::io::ErrorKind::AlreadyExists => {}
                Err(e) => return Err(failed("make", &path, e)),
            }
            if is_older(&path, HELD) {
                let _ = fs::remove_dir(&path);
            }
            std::thread::sleep(Duration::from_millis(100));
        }
        let what = "another program has been adding to it for a minute; try again".to_owned();
        Err(Error::setting(what).at(Position::file(root.to_string_lossy())))
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        let _ = fs::remove_dir(&self.0);
    }
}

fn is_older(path: &Path, age: Duration) -> bool {
    let modified = fs::metadata(path).and_then(|kind| kind.modified());
    modified.is_ok_and(|at| SystemTime::now().duration_since(at).is_ok_and(|since| since > age))
}

fn make(folder: &Path) -> Result<()> {
    fs::create_dir_all(folder).map_err(|e| failed("make the folder", folder, e))
}

pub(super) fn failed(doing: &'static str, path: &Path, error: std::io::Error) -> Error {
    Error::io(doing, error).at(Position::file(path.to_string_lossy()))
}
