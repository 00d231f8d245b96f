//! Files that are opened when a process maps them, and kept open: at the end of the recording they may be
//! gone, as the programs are that `go run` and build scripts make, or another file may be at their path.
//!
//! The file is looked for where the process has it, in a container as well: by the mapping itself, which
//! only root may follow, as the program that the process runs, at its path in the folder that is the
//! process's root, and at the path. It is taken only if it has the recorded build id, or else is the very
//! file, by device and number, that was mapped.

use std::fmt;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::record::{FileId, Mmap};
use crate::symbolize::{Module, Object, Search, path_of};

/// The most files that are kept open: half of what a process may open without asking for more.
const MOST: usize = 512;

/// The files that are kept open.
pub(super) struct Held {
    search: Search,
    open: usize,
    /// The number of files that were not kept open, as there were too many.
    left_out: usize,
}

impl Held {
    /// Keeps files for a search.
    pub fn new(search: &Search) -> Held {
        Held { search: search.clone(), open: 0, left_out: 0 }
    }

    /// Opens the file of a mapping, of this path and build id. `None` if its process is gone by now, or too
    /// many files are open.
    pub fn open(&mut self, path: &[u8], build_id: Option<&[u8]>, mmap: &Mmap<'_>) -> Option<Arc<Object>> {
        if !mmap.path.starts_with(b"/") || self.search.symfs.is_some() {
            return None;
        }
        if self.open == MOST {
            self.left_out += 1;
            return None;
        }
        let wanted = Module { path: path.to_owned(), build_id: build_id.map(<[u8]>::to_owned) };
        for (place, path) in places(mmap) {
            let Some(file) = open(&place).filter(|file| is_mapped(file, mmap)) else { continue };
            if let Some(object) = self.search.open_in(&wanted, &path, file) {
                self.open += 1;
                return Some(object);
            }
        }
        None
    }
}

impl fmt::Display for Held {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} files were kept open", self.open)?;
        match self.left_out {
            0 => Ok(()),
            more => write!(f, ", and {more} were not, as there were too many"),
        }
    }
}

/// The places where the file of a mapping may be opened, each with the path that the file has.
fn places(mmap: &Mmap<'_>) -> [(PathBuf, PathBuf); 4] {
    let Mmap { pid, start, len, .. } = *mmap;
    let path = path_of(mmap.path.strip_suffix(b" (deleted)").unwrap_or(mmap.path));
    let process = PathBuf::from(format!("/proc/{pid}"));
    let in_root = process.join("root").join(path.strip_prefix("/").unwrap_or(&path));
    let mapping = process.join(format!("map_files/{start:x}-{:x}", start.saturating_add(len)));
    [
        (mapping, path.clone()),
        (process.join("exe"), path.clone()),
        (in_root.clone(), in_root),
        (path.clone(), path),
    ]
}

/// Opens a regular file, and nothing that could wait for something.
fn open(path: &Path) -> Option<File> {
    if !fs::metadata(path).ok()?.is_file() {
        return None;
    }
    let mut options = File::options();
    options.read(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::custom_flags(&mut options, libc::O_NONBLOCK);
    let file = options.open(path).ok()?;
    file.metadata().ok()?.is_file().then_some(file)
}

/// Returns true for the file that was mapped; one with a build id is told by that.
fn is_mapped(file: &File, mmap: &Mmap<'_>) -> bool {
    match (mmap.build_id, mmap.file) {
        (Some(_), _) => true,
        (None, Some(wanted)) => file.metadata().is_ok_and(|found| file_id(&found) == Some(wanted)),
        (None, None) => false,
    }
}

#[cfg(target_os = "linux")]
fn file_id(found: &fs::Metadata) -> Option<FileId> {
    use std::os::unix::fs::MetadataExt;
    let device = found.dev();
    Some(FileId { device: (libc::major(device), libc::minor(device)), inode: found.ino() })
}

#[cfg(not(target_os = "linux"))]
fn file_id(_: &fs::Metadata) -> Option<FileId> {
    None
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::super::modules::Modules;
    use super::*;

    /// A module of this very process, mapped from a file.
    fn module_of(path: &Path, file: Option<FileId>, most: usize) -> bool {
        use std::os::unix::ffi::OsStrExt;
        let path = path.as_os_str().as_bytes();
        let pid = std::process::id() as i32;
        let mmap = Mmap { pid, start: 0, len: 4096, offset: 0, path, build_id: None, file, executable: true };
        let search = Search { debug_dirs: Vec::new(), caches: Vec::new(), ..Search::default() };
        let mut modules = Modules::default();
        modules.held = Some(Held { open: MOST - most, ..Held::new(&search) });
        let (module, _) = modules.user(&mmap);
        modules.hold(&module, &mmap);
        // A file that was not held is read later, if it is still there.
        fs::remove_file(path_of(path)).unwrap();
        module.object(&search).is_ok()
    }

    #[test]
    fn the_very_file_is_kept_and_no_other() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("program");
        let copy = || {
            fs::copy("/proc/self/exe", &path).unwrap();
            file_id(&fs::metadata(&path).unwrap()).unwrap()
        };
        let id = copy();
        assert!(module_of(&path, Some(id), 1), "it is gone, and was kept");
        let id = copy();
        assert!(!module_of(&path, Some(FileId { inode: id.inode + 1, ..id }), 1), "another file");
        copy();
        assert!(!module_of(&path, None, 1), "a file of which nothing is known");
        let id = copy();
        assert!(!module_of(&path, Some(id), 0), "one too many");
    }
}
