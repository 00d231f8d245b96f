//! The parts of a recording in a fleet's store: `--every 60s --store DIR`.
//!
//! Each part is a file in `DIR/_parts` first, which is whole or not there, and removed once the store has it. So a part
//! outlives a full disk and whoever is killed: the next one takes it along.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::RecordArgs;
use crate::error::{Error, Position};
use crate::reading::ReadOptions;
use crate::reading::folder;
use crate::record::sys::limits;
use crate::record::sys::processes::is_running;
use crate::store::{Request, Store};

const PARTS: &str = "_parts";

impl RecordArgs {
    /// Lets the parts of `--store` be files first.
    pub(super) fn through_parts(mut self) -> RecordArgs {
        if let Some(store) = &self.parts.store {
            self.results.output = vec![name(store)];
        }
        self
    }
}

/// The name of a part: who has recorded it, and its time.
fn name(store: &Path) -> PathBuf {
    // The letters of date(1) stand for themselves in the path of the store.
    let parts = store.join(PARTS).to_string_lossy().replace('%', "%%");
    PathBuf::from(format!("{parts}/{}-{}-%Y%m%dT%H%M%S.folded", host(), std::process::id()))
}

/// The name of this machine, as far as it can be a part of a file's.
fn host() -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || c == '.' { c } else { '_' };
    limits::system_name().map(|name| name.host.chars().map(plain).collect()).unwrap_or_default()
}

/// Returns true for a part of this process, or of one that has ended: that of another machine is left if it is old.
fn is_to_be_taken(path: &Path, host: &str) -> bool {
    /// Another recorder's part is in the store much sooner.
    const LEFT: Duration = Duration::from_secs(60 * 60);
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let mut words = name.split('-');
    match (words.next(), words.next().and_then(|word| word.parse::<u32>().ok())) {
        (Some(of), Some(pid)) if of == host => pid == std::process::id() || !is_running(pid),
        _ => {
            let modified = path.metadata().and_then(|kind| kind.modified());
            modified.is_ok_and(|at| at.elapsed().is_ok_and(|age| age > LEFT))
        }
    }
}

/// The store that parts are added to.
pub(super) struct PartStore {
    store: Store,
    parts: PathBuf,
    host: String,
}

impl PartStore {
    /// The store in a folder, which is made now.
    ///
    /// # Errors
    /// The folder of the parts cannot be made.
    pub(super) fn open(root: &Path) -> Result<PartStore, Error> {
        let parts = root.join(PARTS);
        fs::create_dir_all(&parts)
            .map_err(|e| Error::io("make the folder", e).or_at(|| Position::file(parts.to_string_lossy())))?;
        Ok(PartStore { store: Store::new(root), parts, host: host() })
    }

    /// Moves all parts that are there into the store, those that others have left too.
    ///
    /// # Errors
    /// Those of the store, and the first part that it cannot read.
    pub(super) fn take_parts(&mut self) -> anyhow::Result<()> {
        let is_others =
            |path: &Path, kind: &fs::Metadata| kind.is_file() && !is_to_be_taken(path, &self.host);
        let found = folder::find(std::slice::from_ref(&self.parts), &is_others);
        let request = Request {
            reading: ReadOptions::default().format("folded"),
            pattern: None,
            recorded: Vec::new(),
            progress: None,
        };
        let added = self.store.add(&found.recordings, &request)?;
        let bad = |path: &Path| added.rejects.iter().any(|error| names(error, path));
        for path in found.recordings.iter().filter_map(|recording| recording.path.as_deref()) {
            // Another recorder may have moved it, too.
            if !bad(path) {
                let _ = fs::remove_file(path);
            }
        }
        added.rejects.into_iter().next().map_or(Ok(()), |error| Err(error.into()))
    }
}

fn names(error: &Error, path: &Path) -> bool {
    error.position().file.as_deref().is_some_and(|file| file == path.to_string_lossy())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_others_that_run_are_left_to_them() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut ended = std::process::Command::new("true").spawn().expect("it starts");
        ended.wait().expect("it ends");
        let (own, parent) = (std::process::id(), std::os::unix::process::parent_id());
        for (host, pid, taken) in
            [("here", own, true), ("here", ended.id(), true), ("here", parent, false), ("there", own, false)]
        {
            let path = folder.path().join(format!("{host}-{pid}-20261125T105800-2.folded"));
            fs::write(&path, "").expect("a file");
            assert_eq!(is_to_be_taken(&path, "here"), taken, "{}", path.display());
        }
        let old = folder.path().join("there-1-20261125T105800.folded");
        let file = fs::File::create(&old).expect("a file");
        file.set_modified(std::time::SystemTime::now() - Duration::from_secs(4000)).expect("a time");
        assert!(is_to_be_taken(&old, "here"));
    }
}
