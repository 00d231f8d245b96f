//! Files that are unpacked for as long as a program reads them. A folder that a killed program left is removed by
//! the next one.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

#[cfg(unix)]
use crate::abandoned;
#[cfg(unix)]
use crate::temporary::{Hold, TemporaryName};

/// A temporary folder, removed with all that is in it: when it is dropped, and by a signal that ends the
/// program.
pub(super) struct Unpacked {
    folder: TempDir,
    /// Of the folder and of all in it. They are forgotten after the folder is gone.
    #[cfg(unix)]
    names: Vec<TemporaryName>,
    /// The folder, open: it has an owner.
    #[cfg(unix)]
    _owned: File,
}

impl Unpacked {
    /// Makes the folder.
    ///
    /// # Errors
    /// The system's.
    pub fn new(prefix: &str) -> io::Result<Unpacked> {
        #[cfg(unix)]
        abandoned::clear(&std::env::temp_dir(), prefix);
        #[cfg(unix)]
        let _hold = Hold::new();
        let folder = tempfile::Builder::new().prefix(prefix).tempdir()?;
        Ok(Unpacked {
            #[cfg(unix)]
            names: vec![TemporaryName::note(folder.path())],
            #[cfg(unix)]
            _owned: {
                let owned = File::open(folder.path())?;
                abandoned::hold(&owned);
                owned
            },
            folder,
        })
    }

    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Makes a file, and the folders above it; `None` if it is there.
    ///
    /// # Errors
    /// The system's.
    pub fn create(&mut self, place: &Path) -> io::Result<Option<File>> {
        let parents: Vec<PathBuf> =
            place.ancestors().skip(1).map(|parent| self.path().join(parent)).collect();
        for parent in parents.iter().rev() {
            unless_it_is_there(self.make(parent, fs::create_dir))?;
        }
        let path = self.path().join(place);
        unless_it_is_there(self.make(&path, File::create_new))
    }

    /// Makes a file or folder, and notes its name.
    fn make<T>(&mut self, path: &Path, make: impl FnOnce(PathBuf) -> io::Result<T>) -> io::Result<T> {
        #[cfg(unix)]
        let _hold = Hold::new();
        let made = make(path.to_owned())?;
        #[cfg(unix)]
        self.names.push(TemporaryName::note(path));
        Ok(made)
    }
}

fn unless_it_is_there<T>(made: io::Result<T>) -> io::Result<Option<T>> {
    match made {
        Err(e) if e.kind() == io::ErrorKind::AlreadyExists => Ok(None),
        made => made.map(Some),
    }
}
