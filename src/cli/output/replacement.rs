//! Temporary files that take the places of others, all of them or none.

use std::fs;
use std::io;
use std::path::PathBuf;

use tempfile::{NamedTempFile, TempPath};

use super::destination::Destination;
#[cfg(unix)]
use crate::abandoned;
#[cfg(unix)]
use crate::temporary::{Hold, TemporaryName};

/// The beginning of temporary names; the next output in the same folder removes what a killed program left.
const PREFIX: &str = ".fg-output-";

/// A file that is written under a temporary name beside its place.
#[derive(Debug)]
pub(super) struct Replacement {
    pub(super) file: NamedTempFile,
    #[cfg(unix)]
    _name: TemporaryName,
    pub(super) destination: Destination,
}

impl Replacement {
    /// Makes the temporary file.
    ///
    /// # Errors
    /// The system's.
    pub(super) fn new(destination: Destination) -> io::Result<Replacement> {
        let mut builder = tempfile::Builder::new();
        builder.prefix(PREFIX);
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            builder.permissions(fs::Permissions::from_mode(destination.first_mode()));
            abandoned::clear(destination.folder(), PREFIX);
            let _hold = Hold::new();
            let file = builder.tempfile_in(destination.folder())?;
            abandoned::hold(file.as_file());
            Ok(Replacement { _name: TemporaryName::note(file.path()), file, destination })
        }
        #[cfg(not(unix))]
        Ok(Replacement { file: builder.tempfile_in(destination.folder())?, destination })
    }

    /// Gives the complete file the rights of the one that it replaces, and has the system write it to
    /// the disk, so that a power cut leaves the old file or the new one.
    ///
    /// # Errors
    /// The system's; some report a full disk only now.
    pub(super) fn complete(&self) -> io::Result<()> {
        let file = self.file.as_file();
        self.destination.dress(file)?;
        match file.sync_data() {
            // Some file systems cannot.
            Err(e) if matches!(e.kind(), io::ErrorKind::InvalidInput | io::ErrorKind::Unsupported) => Ok(()),
            result => result,
        }
    }

    /// Puts the file in its place; `undoable` keeps the old one until the result is dropped.
    fn place(self, undoable: bool) -> io::Result<Placed> {
        let Replacement { file, destination, .. } = self;
        let old = if undoable { Old::of(&destination) } else { Old::Gone };
        fs::rename(file.path(), &destination.path)?;
        // Nothing has this name any more.
        drop(file.into_temp_path().keep());
        Ok(Placed { path: destination.path, old })
    }
}

/// A file in its place.
struct Placed {
    path: PathBuf,
    old: Old,
}

/// The file that was replaced.
enum Old {
    /// There was none.
    None,
    /// It has this name now, until that is dropped.
    Kept(TempPath),
    /// It cannot be put back.
    Gone,
}

impl Old {
    fn of(destination: &Destination) -> Old {
        let link = |name: &std::path::Path| fs::hard_link(&destination.path, name);
        match tempfile::Builder::new().prefix(PREFIX).make_in(destination.folder(), link) {
            Ok(link) => Old::Kept(link.into_temp_path()),
            Err(e) if e.kind() == io::ErrorKind::NotFound => Old::None,
            Err(_) => Old::Gone,
        }
    }
}

impl Placed {
    /// Puts the old file back. The error that made this necessary is the one to report.
    fn undo(self) {
        match self.old {
            Old::None => drop(fs::remove_file(&self.path)),
            Old::Kept(old) => drop(fs::rename(&old, &self.path)),
            Old::Gone => {}
        }
    }
}

/// Puts complete files in their places, while signals wait.
///
/// # Errors
/// The number of the file that the system would not rename, and why; then those before it are put
/// back as they were, unless their file system has no hard links.
pub(super) fn place_all(files: Vec<Replacement>) -> Result<(), (usize, io::Error)> {
    #[cfg(unix)]
    let _hold = Hold::new();
    let last = files.len().saturating_sub(1);
    let mut placed = Vec::with_capacity(files.len());
    for (n, file) in files.into_iter().enumerate() {
        match file.place(n < last) {
            Ok(file) => placed.push(file),
            Err(e) => {
                placed.into_iter().rev().for_each(Placed::undo);
                return Err((n, e));
            }
        }
    }
    Ok(())
}
