//! The file that an output replaces: where it is, and what of it stays.

use std::fs::{self, File, Metadata, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

use crate::printable::printable;

/// More links than this after one another are a circle, as the system sees it too.
const MOST_LINKS: usize = 40;

/// The file that is to be replaced or made.
#[derive(Debug)]
pub(super) struct Destination {
    /// Its path behind all links.
    pub(super) path: PathBuf,
    /// The file that stands there.
    old: Option<Box<Metadata>>,
}

/// The kind of file that a path leads to.
#[derive(Debug)]
pub(super) enum Kind {
    /// A file, there or not, that can be replaced.
    File(Destination),
    /// A device, a pipe, a socket: written as it is.
    Direct(File),
}

/// Follows the links of a path, and looks at what is there.
///
/// # Errors
/// The system's, and refusals: of a folder, of a file that may not be written, and of links and files
/// that somebody else left in a folder where everybody may write.
pub(super) fn find(path: &Path) -> io::Result<Kind> {
    if let Ok(kind) = path.metadata() {
        if kind.is_dir() {
            return Err(io::Error::other("it is a directory"));
        }
        if !kind.is_file() {
            trust(path, &path.symlink_metadata()?)?;
            return OpenOptions::new().write(true).open(path).map(Kind::Direct);
        }
        // `-o /dev/stdout >> log`: what stands in the log stays.
        if let Some(stdout) = super::standard::same_as(&kind) {
            return Ok(Kind::Direct(stdout));
        }
    }
    let path = follow(path)?;
    // One path for each file, whatever it was called.
    let path = match path.file_name() {
        Some(name) => folder_of(&path).canonicalize().map_err(|e| no_folder(folder_of(&path), e))?.join(name),
        None => path,
    };
    let old = match path.symlink_metadata() {
        Ok(kind) => {
            trust(&path, &kind)?;
            // Renaming would quietly replace a file that may not be written.
            Some(Box::new(open_existing(&path)?.metadata()?))
        }
        Err(e) if e.kind() == io::ErrorKind::NotFound => None,
        Err(e) => return Err(e),
    };
    Ok(Kind::File(Destination { path, old }))
}

/// The error for the folder of an output: one that is not there can be made.
fn no_folder(folder: &Path, error: io::Error) -> io::Error {
    match error.kind() {
        io::ErrorKind::NotFound => {
            let shown = printable(folder.as_os_str().as_encoded_bytes());
            io::Error::new(error.kind(), format!("there is no folder {shown}; `mkdir -p {shown}` makes it"))
        }
        _ => error,
    }
}

fn follow(path: &Path) -> io::Result<PathBuf> {
    let mut path = path.to_owned();
    for _ in 0..MOST_LINKS {
        let Ok(kind) = path.symlink_metadata() else { return Ok(path) };
        if !kind.is_symlink() {
            return Ok(path);
        }
        trust(&path, &kind)?;
        path = folder_of(&path).join(fs::read_link(&path)?);
    }
    Err(io::Error::other("too many links lead to one another"))
}

fn open_existing(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.append(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::custom_flags(&mut options, libc::O_NOFOLLOW | libc::O_NONBLOCK);
    options.open(path)
}

/// The folder that a file is in.
pub(in crate::cli) fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

impl Destination {
    /// The folder for the temporary file: on the same file system.
    pub(super) fn folder(&self) -> &Path {
        folder_of(&self.path)
    }

    /// The mode that a temporary file is made with, less the umask: that of a new file, or nobody
    /// else's until it is given that of the old one.
    #[cfg(unix)]
    pub(super) fn first_mode(&self) -> u32 {
        if self.old.is_some() { 0o600 } else { 0o666 }
    }

    /// Gives a complete temporary file the owner, the group and the mode of the file that it replaces.
    #[cfg(unix)]
    pub(super) fn dress(&self, new: &File) -> io::Result<()> {
        use std::os::unix::fs::{MetadataExt, PermissionsExt, fchown};

        /// The rights to read, write and run a file; no set-user-ID, no set-group-ID.
        const PERMISSIONS: u32 = 0o777;
        let Some(old) = &self.old else { return Ok(()) };
        let made = new.metadata()?;
        if made.uid() != old.uid() {
            // Only root can; for others the new file is the writer's.
            let _ = fchown(new, Some(old.uid()), None);
        }
        let has_group = made.gid() == old.gid() || fchown(new, None, Some(old.gid())).is_ok();
        let mode = old.mode() & PERMISSIONS;
        new.set_permissions(fs::Permissions::from_mode(if has_group { mode } else { for_other_group(mode) }))
    }

    #[cfg(not(unix))]
    pub(super) fn dress(&self, _: &File) -> io::Result<()> {
        Ok(())
    }
}

/// A mode in which the group may do no more than everybody may: it is not the group that it was
/// meant for.
#[cfg(unix)]
fn for_other_group(mode: u32) -> u32 {
    (mode & !0o070) | (mode & ((mode & 0o007) << 3))
}

/// Refuses links and files that another user left in a folder where everybody may write, such as
/// `/tmp`: who writes there did not mean those. Linux refuses the same, where it is set up for it
/// (`fs.protected_symlinks`, `fs.protected_regular`).
#[cfg(unix)]
fn trust(path: &Path, found: &Metadata) -> io::Result<()> {
    use std::os::unix::fs::{FileTypeExt, MetadataExt};

    /// Everybody may write, and only owners remove.
    const SHARED: u32 = 0o1002;
    let folder = folder_of(path).metadata()?;
    let is_theirs = found.uid() != super::effective_user() && found.uid() != folder.uid();
    let is_device = found.file_type().is_char_device() || found.file_type().is_block_device();
    if folder.mode() & SHARED == SHARED && is_theirs && !is_device {
        let why = "another user made it, in a folder where everybody may write; remove it or write elsewhere";
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, why));
    }
    Ok(())
}

#[cfg(not(unix))]
fn trust(_: &Path, _: &Metadata) -> io::Result<()> {
    Ok(())
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn another_group_may_do_what_everybody_may() {
        for (mode, without) in
            [(0o640, 0o600), (0o664, 0o644), (0o666, 0o666), (0o755, 0o755), (0o604, 0o604)]
        {
            assert_eq!(for_other_group(mode), without, "{mode:o}");
        }
    }
}
