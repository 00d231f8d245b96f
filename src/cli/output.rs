//! Where results go: standard output, or a file that appears complete or not at all.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use clap::Args;

use crate::error::{Error, Position, Result};

/// Where to write.
#[derive(Args, Clone, Debug, Default)]
pub struct OutputArgs {
    /// Write to FILE instead of standard output; it appears complete or not at all
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
}

impl OutputArgs {
    /// Opens it.
    ///
    /// # Errors
    /// What the system says, with the file's name.
    pub fn open(&self) -> Result<Output> {
        Output::new(self.output.as_deref())
    }
}

/// A result being written. [`Output::finish`] makes it visible; dropped before, a file is left
/// as it was.
#[derive(Debug)]
pub struct Output {
    target: Target,
    path: Option<PathBuf>,
}

#[derive(Debug)]
enum Target {
    /// Standard output, a device or a pipe: nothing can be renamed there.
    Direct(File),
    Temporary(tempfile::NamedTempFile),
}

impl Output {
    /// Writes to `path`, or to standard output without one or for `-`.
    ///
    /// # Errors
    /// What the system says, with the file's name.
    pub fn new(path: Option<&Path>) -> Result<Output> {
        let Some(path) = path.filter(|path| *path != Path::new("-")) else {
            let stdout = stdout().map_err(|e| error(e, None))?;
            return Ok(Output { target: Target::Direct(stdout), path: None });
        };
        let target = open(path).map_err(|e| Error::io("open", e).or_at(|| at(path)))?;
        Ok(Output { target, path: Some(path.to_owned()) })
    }

    /// Flushes, and puts a file in its place.
    ///
    /// # Errors
    /// What the system says, with the file's name.
    pub fn finish(self) -> Result<()> {
        let Output { target, path } = self;
        let result = match (target, &path) {
            (Target::Direct(mut file), _) => file.flush(),
            (Target::Temporary(file), Some(path)) => file.persist(path).map(|_| ()).map_err(|e| e.error),
            (Target::Temporary(_), None) => unreachable!("a temporary file is made for a path"),
        };
        result.map_err(|e| error(e, path.as_deref()))
    }
}

/// Standard output without the line buffer the library puts before it.
#[cfg(unix)]
fn stdout() -> io::Result<File> {
    use std::os::fd::AsFd;
    Ok(File::from(io::stdout().as_fd().try_clone_to_owned()?))
}

#[cfg(windows)]
fn stdout() -> io::Result<File> {
    use std::os::windows::io::AsHandle;
    Ok(File::from(io::stdout().as_handle().try_clone_to_owned()?))
}

fn open(path: &Path) -> io::Result<Target> {
    // A link is followed, so that the file it names is replaced and not the link.
    let path = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    if let Ok(kind) = path.metadata() {
        if kind.is_dir() {
            return Err(io::Error::other("it is a directory"));
        }
        if !kind.is_file() {
            return OpenOptions::new().write(true).open(path).map(Target::Direct);
        }
        // Renaming would quietly replace a file that may not be written.
        OpenOptions::new().append(true).open(&path)?;
    }
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut builder = tempfile::Builder::new();
    builder.prefix(".fg-");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        // What a new file gets, less the umask; or what the old one had.
        let mode = path.metadata().map_or(0o666, |kind| kind.permissions().mode());
        builder.permissions(std::fs::Permissions::from_mode(mode));
    }
    builder.tempfile_in(folder).map(Target::Temporary)
}

fn at(path: &Path) -> Position {
    Position::file(path.to_string_lossy())
}

fn error(source: io::Error, path: Option<&Path>) -> Error {
    Error::io("write", source).or_at(|| path.map_or_else(|| Position::file("standard output"), at))
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.target {
            Target::Direct(file) => file.write(bytes),
            Target::Temporary(file) => file.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match &mut self.target {
            Target::Direct(file) => file.flush(),
            Target::Temporary(file) => file.flush(),
        }
    }
}
