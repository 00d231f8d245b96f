//! Opens and reads regular files, and nothing else.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// The treatment of a link at a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Links {
    /// The file that it leads to is opened.
    Follow,
    /// It is an error.
    Refuse,
}

/// Opens a regular file. Anything else could wait for ever: opening a named pipe does.
pub(super) fn open_file(path: &Path) -> io::Result<File> {
    open_with(path, Links::Follow)
}

/// The same; what is there is looked at before, since opening a device may do something, and after,
/// since it may have been exchanged.
pub(super) fn open_with(path: &Path, links: Links) -> io::Result<File> {
    let regular = |kind: std::fs::Metadata| match kind.is_file() {
        true => Ok(()),
        false => Err(io::Error::other("it is not a file")),
    };
    regular(std::fs::metadata(path)?)?;
    let mut options = File::options();
    options.read(true);
    #[cfg(unix)]
    {
        let no_links = if links == Links::Refuse { libc::O_NOFOLLOW } else { 0 };
        std::os::unix::fs::OpenOptionsExt::custom_flags(&mut options, libc::O_NONBLOCK | no_links);
    }
    #[cfg(not(unix))]
    if links == Links::Refuse && std::fs::symlink_metadata(path)?.is_symlink() {
        return Err(io::Error::other("it is a link"));
    }
    let file = options.open(path)?;
    regular(file.metadata()?)?;
    Ok(file)
}

/// A text of the kernel's, whose size is not known before it is read.
pub(super) fn read_text(path: &Path, largest: u64) -> io::Result<Vec<u8>> {
    read_up_to(open_file(path)?, largest)
}

/// The beginning of a file.
pub(super) fn read_up_to(file: File, largest: u64) -> io::Result<Vec<u8>> {
    let mut text = Vec::new();
    file.take(largest).read_to_end(&mut text)?;
    Ok(text)
}
