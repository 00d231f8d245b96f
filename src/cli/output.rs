//! The destination of results: standard output, or a file that appears complete or not at all.

use std::fs::{File, OpenOptions};
use std::io::{self, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use clap::Args;

use crate::error::{Error, Position, Result};

/// The destination.
#[derive(Args, Clone, Debug, Default)]
pub struct OutputArgs {
    /// Write to FILE instead of standard output; it appears complete or not at all
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
}

impl OutputArgs {
    /// Opens the destination.
    ///
    /// # Errors
    /// The error of the system, with the file's name.
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
    /// The error of the system, with the file's name.
    pub fn new(path: Option<&Path>) -> Result<Output> {
        let Some(path) = path.filter(|path| *path != Path::new("-")) else {
            let stdout = stdout().map_err(|e| error(e, None))?;
            return Ok(Output { target: Target::Direct(stdout), path: None });
        };
        let target = open(path).map_err(|e| Error::io("open", e).or_at(|| at(path)))?;
        Ok(Output { target, path: Some(path.to_owned()) })
    }

    /// Returns true if the output can be taken back: it goes to the end of a file.
    pub fn can_start_over(&self) -> bool {
        match &self.target {
            Target::Temporary(_) => true,
            Target::Direct(file) => begin_of(file).is_some(),
        }
    }

    /// Takes back all output; `begin` is the earlier result of [`Output::begin`].
    ///
    /// # Errors
    /// The error of the system, with the file's name.
    pub fn start_over(&mut self, begin: u64) -> Result<()> {
        let file = match &mut self.target {
            Target::Temporary(file) => file.as_file_mut(),
            // Nothing stays there.
            Target::Direct(file) if is_null(file) => return Ok(()),
            Target::Direct(file) => file,
        };
        let result = file.set_len(begin).and_then(|()| file.seek(SeekFrom::Start(begin)));
        result.map(|_| ()).map_err(|e| error(e, self.path.as_deref()))
    }

    /// The position in its file at which the output begins.
    pub fn begin(&self) -> u64 {
        match &self.target {
            Target::Temporary(_) => 0,
            Target::Direct(file) => begin_of(file).unwrap_or(0),
        }
    }

    /// Flushes, and puts a file in its place.
    ///
    /// # Errors
    /// The error of the system, with the file's name.
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

#[cfg(unix)]
fn is_null(file: &File) -> bool {
    use std::os::unix::fs::{FileTypeExt, MetadataExt};
    let null = std::fs::metadata("/dev/null").ok().filter(|null| null.file_type().is_char_device());
    let same = |null: std::fs::Metadata| file.metadata().is_ok_and(|kind| kind.rdev() == null.rdev());
    null.is_some_and(same)
}

#[cfg(not(unix))]
fn is_null(_: &File) -> bool {
    false
}

/// The position at which a file will be written, if that is its end: as with a shell's `>`, but not
/// with `>>`, whose position is 0 until the first write.
fn begin_of(file: &File) -> Option<u64> {
    if is_null(file) {
        return Some(0);
    }
    let kind = file.metadata().ok().filter(|kind| kind.is_file())?;
    let mut handle: &File = file;
    handle.stream_position().ok().filter(|at| *at == kind.len())
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
        // The mode of the old file, or that of a new one, less the umask.
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
