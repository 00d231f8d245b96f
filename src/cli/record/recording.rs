//! The file of a recording. It has a name from the beginning, so that it can be found and read when
//! the recorder was killed.

use std::fs::File;
use std::path::{Path, PathBuf};

use super::results::Saved;
use crate::cli::output::destination::folder_of;
use crate::error::{Error, Position};
use crate::input::Source;
use crate::record::sys::leftovers::Leftover;

/// The file into which the kernel's records are written.
pub(super) struct Recording {
    file: File,
    /// The name that it has for now, removed with this value.
    temporary: Option<Leftover>,
    /// The name that `--raw` asks for.
    wanted: Option<PathBuf>,
}

impl Recording {
    /// Makes the file: beside the one that `--raw` asks for, or in the folder for temporary files.
    pub(super) fn new(raw: Option<&Path>) -> Result<Recording, Error> {
        // A link is followed: what it names is replaced, and not the link.
        let wanted = raw.map(|path| path.canonicalize().unwrap_or_else(|_| path.to_owned()));
        let mut name = tempfile::Builder::new();
        // Recordings hold pieces of memory: as perf does, for the owner's eyes only.
        name.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o600));
        let made = match &wanted {
            Some(path) => name.prefix(".fg-record-").tempfile_in(folder_of(path)),
            None => name.prefix("fg-record-").suffix(".data").tempfile(),
        };
        let (file, path) = made.map_err(|e| Error::io("make a file for the recording", e))?.into_parts();
        let path = path.keep().map_err(|e| Error::io("make a file for the recording", e.error))?;
        Ok(Recording { file, temporary: Some(Leftover::new(path)), wanted })
    }

    /// Another handle to the file.
    pub(super) fn file(&self) -> Result<File, Error> {
        self.file.try_clone().map_err(|e| Error::io("open the recording", e))
    }

    /// The file, to be read.
    pub(super) fn source(&self) -> Result<Source, Error> {
        Ok(Source::file("the recording", self.file()?))
    }

    /// Returns true if the recording itself is the result.
    pub(super) fn is_wanted(&self) -> bool {
        self.wanted.is_some()
    }

    /// The file's name: the one that it will have, if `--raw` asks for it.
    pub(super) fn path(&self) -> &Path {
        let temporary = self.temporary.as_ref().map(Leftover::path);
        self.wanted.as_deref().or(temporary).unwrap_or(Path::new(""))
    }

    /// Gives the file the name that `--raw` asks for; an older file of that name is no more.
    pub(super) fn appear(&mut self) -> Result<(), Error> {
        let Some((wanted, temporary)) = self.wanted.as_ref().zip(self.temporary.as_ref()) else {
            return Ok(());
        };
        let renamed = std::fs::rename(temporary.path(), wanted);
        renamed.map_err(|e| Error::io("write", e).or_at(|| Position::file(wanted.to_string_lossy())))?;
        self.temporary.take().map(Leftover::keep);
        Ok(())
    }

    /// Leaves the file where it is, unless its profile was saved, and makes the error say so.
    pub(super) fn keep_after(self, error: anyhow::Error) -> anyhow::Error {
        match self.temporary {
            Some(temporary) => {
                let path = temporary.path().to_owned();
                keep_after(error, temporary, &path)
            }
            None => error,
        }
    }
}

/// Leaves a recording where it is, unless its profile was saved, and makes the error say so.
pub(super) fn keep_after(error: anyhow::Error, temporary: Leftover, recording: &Path) -> anyhow::Error {
    if error.is::<Saved>() {
        return error;
    }
    temporary.keep();
    anyhow::anyhow!("{error:#}; the recording is kept in {}, which fg-collapse reads", recording.display())
}
