//! The destination of results: standard output, or a file that appears complete or not at all.
//!
//! This is the one place where the programs write results, and these are its rules:
//!
//! - **Standard output, devices, pipes** are written as the results come; what was written stays.
//!   `/dev/stdout` is standard output, also where that is a file. On a terminal, folded text shows control
//!   characters instead of sending them: names may be escape sequences.
//! - **A file** is written under a temporary name in its folder (`.fg-output-` and six letters) and renamed
//!   when it is complete. Until then, and after any error, the old file is there as it was.
//! - **Several outputs** of a run are renamed after all of them are complete. If the system fails to
//!   rename a later one, the earlier ones are put back.
//! - **Signals**: SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGXCPU and SIGABRT remove the temporary names before
//!   they end a program, and wait while files are renamed; so does the end of the memory. SIGKILL and a power cut leave the temporary
//!   name, which the next output in that folder removes, and of several outputs perhaps only the first.
//! - **The disk**: a file is synced before it is renamed, so that after a power cut the old file is
//!   there or the new one, never an empty one. Its folder is not synced.
//! - **Mode**: a new file has mode 0666 less the umask. A file that is replaced keeps its permission
//!   bits, whatever the umask; set-user-ID, set-group-ID and sticky bits never survive. Access control
//!   lists and other attributes are not kept.
//! - **Owner and group**: root keeps the owner of a replaced file; anybody else becomes the owner. The
//!   group is kept if the writer may give it; otherwise the file gets the writer's group, which may do
//!   no more with it than everybody may.
//! - **Links**: a symbolic link is followed, and the file behind it is replaced, or made. Other names of the
//!   file (hard links) keep the old content.
//! - **Refused** are a file that the writer may not write, though its folder would allow to replace it;
//!   a folder; and, in a folder where everybody may write, such as `/tmp`, links, files and pipes that
//!   another user made there. Two outputs of a run that are one file are refused too.

pub(super) mod destination;
mod replacement;
mod standard;
mod visible;

use std::fs::File;
use std::io::{self, IsTerminal, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use clap::Args;

use self::destination::Kind;
use self::replacement::{Replacement, place_all};
use self::visible::Visible;
use super::render::write_files;
use crate::collapse::Report;
use crate::error::{Error, Position, Result};
use crate::profile::Profile;
use crate::reading::{ExchangeParts, Opened};
use crate::render::formats::exchange_parts;
use crate::render::{Format, Settings};

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

    /// Opens the destination of folded text.
    ///
    /// # Errors
    /// A name that promises a picture or a table, and those of [`OutputArgs::open`].
    pub fn open_folded(&self) -> Result<Output> {
        /// The endings of what only fg-render writes, built in or not.
        const OTHERS: &[&str] =
            &[".svg", ".html", ".png", ".parquet", ".speedscope.json", ".firefox.json", ".trace.json"];
        /// Endings of pictures and documents that no program of ours writes.
        const NOBODYS: &[&str] = &[".pdf", ".jpg", ".jpeg", ".gif", ".webp"];
        let name = self.output.as_deref().map(|path| path.to_string_lossy().into_owned()).unwrap_or_default();
        let lower = name.to_ascii_lowercase();
        if let Some(ending) = NOBODYS.iter().find(|ending| lower.ends_with(*ending)) {
            let what = format!(
                "no format has files that end in {ending}, here folded text would be in it: fg-render writes pictures, as \
                 .svg or .png"
            );
            return Err(Error::setting(what));
        }
        if let Some(ending) = OTHERS.iter().find(|ending| lower.ends_with(*ending)) {
            let what = format!(
                "only fg-render writes {ending} files, here folded text would be in it: fg-render -o '{name}'"
            );
            return Err(Error::setting(what));
        }
        Ok(self.open()?.showing_controls())
    }

    /// The format of exchange that the output's ending names, if any: what is written is not folded
    /// text then.
    pub fn exchange_format(&self) -> Option<&'static Format> {
        let name = self.output.as_deref()?.file_name()?.to_string_lossy();
        Format::by_ending(&name).filter(|format| exchange_parts(&[*format]) != ExchangeParts::Nothing)
    }

    /// Writes a profile in a format of exchange.
    ///
    /// # Errors
    /// Those of [`write_files`].
    pub fn write_exchange(&self, format: &'static Format, profile: Profile, report: Report) -> Result<()> {
        let input = Opened::Profile(Box::new(profile), Box::new(report));
        write_files(&input, &[(self.output.as_deref(), format)], &Settings::default())?;
        Ok(())
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
    /// A terminal, for text whose control characters are shown.
    Terminal(Visible),
    File(Replacement),
}

impl Output {
    /// Writes to `path`, or to standard output without one or for `-`.
    ///
    /// # Errors
    /// The error of the system, with the file's name.
    pub fn new(path: Option<&Path>) -> Result<Output> {
        let Some(path) = path.filter(|path| *path != Path::new("-")) else {
            let stdout = standard::open().map_err(standard_error)?;
            return Ok(Output { target: Target::Direct(stdout), path: None });
        };
        let opening = |e| Error::io("open", e).or_at(|| at(path));
        let target = match destination::find(path).map_err(opening)? {
            Kind::Direct(file) => Target::Direct(file),
            Kind::File(destination) => {
                let making = |e: io::Error| match e.kind() {
                    io::ErrorKind::NotFound => opening(e),
                    _ => Error::io("make a temporary file beside it", e).or_at(|| at(path)),
                };
                Target::File(Replacement::new(destination).map_err(making)?)
            }
        };
        Ok(Output { target, path: Some(path.to_owned()) })
    }

    /// On a terminal, shows the control characters of text that holds names as they are.
    pub fn showing_controls(self) -> Output {
        match self.target {
            Target::Direct(file) if file.is_terminal() => {
                Output { target: Target::Terminal(Visible::new(file)), ..self }
            }
            target => Output { target, ..self },
        }
    }

    /// Returns true if the output can be taken back: it goes to the end of a file.
    pub fn can_start_over(&self) -> bool {
        match &self.target {
            Target::File(_) => true,
            Target::Direct(file) => begin_of(file).is_some(),
            Target::Terminal(_) => false,
        }
    }

    /// Takes back all output; `begin` is the earlier result of [`Output::begin`].
    ///
    /// # Errors
    /// The error of the system, with the file's name.
    pub fn start_over(&mut self, begin: u64) -> Result<()> {
        let file = match &mut self.target {
            Target::File(replacement) => replacement.file.as_file_mut(),
            // Nothing stays there.
            Target::Direct(file) if is_null(file) => return Ok(()),
            Target::Direct(file) => file,
            Target::Terminal(terminal) => terminal.file(),
        };
        let result = file.set_len(begin).and_then(|()| file.seek(SeekFrom::Start(begin)));
        result.map(|_| ()).map_err(|e| error(e, self.path.as_deref()))
    }

    /// The position in its file at which the output begins.
    pub fn begin(&self) -> u64 {
        match &self.target {
            Target::File(_) => 0,
            Target::Direct(file) => begin_of(file).unwrap_or(0),
            Target::Terminal(_) => 0,
        }
    }

    /// Keeps a new file from others than its owner; one that replaces another has that one's rights in the end.
    ///
    /// # Errors
    /// The error of the system, with the file's name.
    #[cfg(all(feature = "record", target_os = "linux"))]
    pub fn keep_private(&self) -> Result<()> {
        use std::os::unix::fs::PermissionsExt;
        let Target::File(replacement) = &self.target else { return Ok(()) };
        let private = std::fs::Permissions::from_mode(0o600);
        let done = replacement.file.as_file().set_permissions(private);
        done.map_err(|e| error(e, self.path.as_deref()))
    }

    /// Refuses outputs of a run that are one file: the last would replace the others.
    ///
    /// # Errors
    /// [`ErrorKind::Setting`], with the names.
    pub fn refuse_same_file<'a>(outputs: impl IntoIterator<Item = &'a Output>) -> Result<()> {
        let mut seen: Vec<(&Path, &Path)> = Vec::new();
        for output in outputs {
            let (Target::File(file), Some(name)) = (&output.target, &output.path) else { continue };
            let place = file.destination.path.as_path();
            if let Some((_, other)) = seen.iter().find(|(before, _)| *before == place) {
                let what =
                    format!("the outputs {} and {} are the same file", other.display(), name.display());
                return Err(Error::setting(what));
            }
            seen.push((place, name));
        }
        Ok(())
    }

    /// Puts a file in its place.
    ///
    /// # Errors
    /// Those of [`Output::finish_all`].
    pub fn finish(self) -> Result<()> {
        Output::finish_all(vec![self])
    }

    /// Puts all files in their places, or none.
    ///
    /// # Errors
    /// The error of the system, with the file's name.
    pub fn finish_all(outputs: Vec<Output>) -> Result<()> {
        let (mut files, mut paths) = (Vec::new(), Vec::new());
        for Output { target, path } in outputs {
            if let Target::File(file) = target {
                file.complete().map_err(|e| error(e, path.as_deref()))?;
                files.push(file);
                paths.push(path);
            }
        }
        place_all(files).map_err(|(n, e)| error(e, paths[n].as_deref()))
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

/// The user this process acts as, who owns what it makes.
#[cfg(unix)]
#[allow(unsafe_code)]
pub(super) fn effective_user() -> u32 {
    // SAFETY: takes nothing and cannot fail.
    unsafe { libc::geteuid() }
}

fn at(path: &Path) -> Position {
    Position::file(path.to_string_lossy())
}

/// The error of a write to standard output.
pub(super) fn standard_error(source: io::Error) -> Error {
    error(source, None)
}

fn error(source: io::Error, path: Option<&Path>) -> Error {
    Error::io("write", source).or_at(|| path.map_or_else(|| Position::file("standard output"), at))
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = match &mut self.target {
            Target::Direct(file) => file.write(bytes),
            Target::Terminal(terminal) => terminal.write(bytes),
            Target::File(replacement) => replacement.file.as_file_mut().write(bytes),
        };
        // The error travels through writers that do not know where they write to.
        written.map_err(|e| error(e, self.path.as_deref()).into())
    }

    /// Does nothing: files have no buffer here.
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
