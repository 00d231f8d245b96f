//! Temporary files and folders whose owner was killed: whoever makes the next one in the same place removes them.
//!
//! The owner holds a lock on its own, which the system takes back however it ends. A number of a process would not
//! do: containers share folders, and each has numbers of its own.
#![allow(unsafe_code)]

use std::fs::{self, File, Metadata};
use std::os::fd::AsRawFd;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::Duration;

/// Younger ones may not be locked yet.
const SETTLED: Duration = Duration::from_secs(60);
/// The most names of a folder that are looked at: nobody waits for more than a few thousandths of a second.
const MOST: usize = 4096;
/// The letters behind a prefix, as `tempfile` makes them.
const LETTERS: usize = 6;

/// Marks a file or folder as one that has an owner, for as long as it is open.
pub(crate) fn hold(file: &File) {
    // Where locks do not work, nothing can be told to be abandoned.
    let _ = lock(file);
}

/// Takes the lock, unless another process has it or the file system has none.
fn lock(file: &File) -> bool {
    // SAFETY: takes integers only, of a file that is open.
    unsafe { libc::flock(file.as_raw_fd(), libc::LOCK_EX | libc::LOCK_NB) == 0 }
}

/// Removes what has no owner any more from a folder: files and folders of this user whose names are `prefix` and
/// six letters.
pub(crate) fn clear(folder: &Path, prefix: &str) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries.take(MOST).flatten() {
        if is_temporary(&entry.file_name().to_string_lossy(), prefix) {
            remove_abandoned(&entry.path());
        }
    }
}

fn is_temporary(name: &str, prefix: &str) -> bool {
    let letters = name.strip_prefix(prefix);
    letters.is_some_and(|rest| rest.len() == LETTERS && rest.bytes().all(|b| b.is_ascii_alphanumeric()))
}

fn remove_abandoned(path: &Path) -> Option<()> {
    let metadata = fs::symlink_metadata(path).ok().filter(is_ours)?;
    metadata.modified().ok()?.elapsed().ok().filter(|age| *age > SETTLED)?;
    let file = File::open(path).ok()?;
    lock(&file).then_some(())?;
    if metadata.is_dir() { fs::remove_dir_all(path).ok() } else { fs::remove_file(path).ok() }
}

/// Returns true for files and folders of this user, not for links.
fn is_ours(metadata: &Metadata) -> bool {
    // SAFETY: takes nothing and cannot fail.
    let user = unsafe { libc::geteuid() };
    metadata.uid() == user && (metadata.is_file() || metadata.is_dir())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::SystemTime;

    #[test]
    fn only_what_is_old_and_has_no_owner_is_removed() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let old = SystemTime::now() - 2 * SETTLED;
        for name in [
            ".fg-output-aaaaaa",
            ".fg-output-bbbbbb",
            ".fg-output-cccccc",
            ".fg-output-config.c",
            "other-aaaaaa",
        ] {
            fs::write(at(name), "x").unwrap();
        }
        fs::create_dir_all(at(".fg-output-dddddd/a/b")).unwrap();
        std::os::unix::fs::symlink(at("other-aaaaaa"), at(".fg-output-eeeeee")).unwrap();
        let young = File::open(at(".fg-output-cccccc")).unwrap();
        let names = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().path());
        for path in names.filter(|path| !path.is_symlink()) {
            File::open(path).unwrap().set_modified(old).unwrap();
        }
        young.set_modified(SystemTime::now()).unwrap();
        let owned = File::open(at(".fg-output-bbbbbb")).unwrap();
        hold(&owned);
        clear(folder.path(), ".fg-output-");
        let left = || {
            let mut left: Vec<_> =
                fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
            left.sort();
            left
        };
        let kept = [
            ".fg-output-bbbbbb",
            ".fg-output-cccccc",
            ".fg-output-config.c",
            ".fg-output-eeeeee",
            "other-aaaaaa",
        ];
        assert_eq!(left(), kept);
        drop(owned);
        clear(folder.path(), ".fg-output-");
        assert_eq!(left(), kept[1..]);
    }
}
