//! The recordings in a tree of folders.
//!
//! Every plain file is one, and so is a folder that `perf record --threads` has written. Links, pipes and
//! devices are passed over, and names that begin with a dot: nothing is read twice, nothing waits, and
//! the temporary files of a running collection stay out.

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use crate::error::{Error, Position};
use crate::input::Source;

/// A file or folder that is one recording.
pub(crate) struct Recording {
    /// Its path below the folder that was named, with `/` between its parts.
    pub relative: Vec<u8>,
    /// Its path; `None` for standard input.
    pub path: Option<PathBuf>,
    /// The number of its bytes, if it is a plain file.
    pub size: Option<u64>,
    /// Its content, under its path.
    pub source: Source,
}

/// The outcome of a search.
#[derive(Default)]
pub(crate) struct Found {
    /// In the order of the arguments, and below each in the order of their paths.
    pub recordings: Vec<Recording>,
    /// Folders that could not be read.
    pub errors: Vec<Error>,
    /// The number of links, pipes, devices and hidden names that were passed over.
    pub passed_over: u64,
}

/// Searches files and folders. A path for which `is_own` is true is no recording: the output, a cache.
pub(crate) fn find(roots: &[PathBuf], is_own: &dyn Fn(&Path, &fs::Metadata) -> bool) -> Found {
    let mut found = Found::default();
    for root in roots {
        let kind = if root == Path::new("-") { None } else { fs::metadata(root).ok() };
        match kind {
            Some(kind) if kind.is_dir() && !is_threaded_recording(root) => found.search(root, is_own),
            // A file that cannot be opened is reported when it is read.
            kind => found.recordings.push(Recording {
                relative: slashed(root),
                path: (root != Path::new("-")).then(|| root.clone()),
                size: kind.filter(fs::Metadata::is_file).map(|kind| kind.len()),
                source: Source::new(root),
            }),
        }
    }
    found
}

impl Found {
    /// Adds the recordings below a folder.
    fn search(&mut self, root: &Path, is_own: &dyn Fn(&Path, &fs::Metadata) -> bool) {
        let first = self.recordings.len();
        let mut folders = vec![root.to_owned()];
        while let Some(folder) = folders.pop() {
            // One folder is open at a time, however deep the tree is.
            let entries: std::io::Result<Vec<fs::DirEntry>> =
                fs::read_dir(&folder).and_then(Iterator::collect);
            let entries = match entries {
                Ok(entries) => entries,
                Err(e) => {
                    self.errors.push(unreadable(&folder, e));
                    continue;
                }
            };
            for entry in entries {
                let path = entry.path();
                // As it is usually written.
                let path = path.strip_prefix(".").map(Path::to_owned).unwrap_or(path);
                // That of a link itself.
                let kind = match entry.metadata() {
                    Ok(kind) => kind,
                    Err(e) => {
                        self.errors.push(unreadable(&path, e));
                        continue;
                    }
                };
                if is_own(&path, &kind) {
                    continue;
                }
                let is_folder = kind.is_dir();
                if entry.file_name().as_encoded_bytes().starts_with(b".") || !(is_folder || kind.is_file()) {
                    self.passed_over += 1;
                } else if is_folder && !is_threaded_recording(&path) {
                    folders.push(path);
                } else {
                    self.recordings.push(Recording {
                        relative: slashed(path.strip_prefix(root).unwrap_or(&path)),
                        size: (!is_folder).then_some(kind.len()),
                        source: Source::path(&path),
                        path: Some(path),
                    });
                }
            }
        }
        self.recordings[first..].sort_by(|a, b| a.relative.cmp(&b.relative));
    }
}

fn unreadable(path: &Path, error: std::io::Error) -> Error {
    Error::io("read", error).at(Position::file(path.to_string_lossy()))
}

/// Returns true for a folder that `perf record --threads` has written.
fn is_threaded_recording(folder: &Path) -> bool {
    let data = folder.join("data");
    if !data.is_file() {
        return false;
    }
    let mut magic = [0; 8];
    let read = fs::File::open(data).and_then(|mut file| file.read_exact(&mut magic));
    read.is_ok() && magic == *b"PERFILE2"
}

/// A path with `/` between its parts, on every system.
fn slashed(path: &Path) -> Vec<u8> {
    let parts: Vec<&[u8]> = path.iter().map(|part| part.as_encoded_bytes()).collect();
    parts.join(&b'/')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_files_are_found_in_the_order_of_their_paths() {
        let root = tempfile::tempdir().unwrap();
        for name in ["b/2", "b/1", "a", "c.d/x", "c/x", ".hidden", ".git/config", "own/x", "t/data", "u/data"]
        {
            let path = root.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, if name == "t/data" { "PERFILE2" } else { "x 1\n" }).unwrap();
        }
        #[cfg(unix)]
        std::os::unix::fs::symlink(root.path(), root.path().join("loop")).unwrap();
        let own = root.path().join("own");
        let found = find(&[root.path().to_owned()], &|path, _| path == own);
        let names: Vec<String> =
            found.recordings.iter().map(|r| String::from_utf8(r.relative.clone()).unwrap()).collect();
        assert_eq!(names, ["a", "b/1", "b/2", "c.d/x", "c/x", "t", "u/data"]);
        assert_eq!(found.recordings[0].size, Some(4));
        assert_eq!(found.recordings[5].size, None);
        assert_eq!(found.passed_over, if cfg!(unix) { 3 } else { 2 });
        assert!(found.errors.is_empty());
    }
}
