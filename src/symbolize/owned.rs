//! Files that are believed only if the right user wrote them.
//!
//! A just-in-time compiler describes its code in `/tmp/perf-PID.map`, in a folder where anybody may
//! put a file of any number. As with `perf`, such a file has to belong to root or to the user who
//! reads it; with a recording that was made just now, to the user of the process as well. It is
//! opened without following a link and without waiting for the other end of a pipe, and is looked
//! at after it was opened: what stands at the path may be exchanged at any time.

use std::fmt;
use std::fs::File;
use std::io;
use std::path::Path;

use super::opening::{Links, open_with};

/// The users whose files are believed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Owners {
    users: Vec<u32>,
}

impl Default for Owners {
    /// Root, and the user of this process.
    fn default() -> Self {
        let mut owners = Owners { users: vec![0] };
        owners.users.extend(user_of("self"));
        owners
    }
}

impl Owners {
    /// The user that a running process acts as.
    pub fn user_of_process(pid: i32) -> Option<u32> {
        user_of(&pid.to_string())
    }

    /// Adds a user.
    #[must_use]
    pub fn and_user(mut self, user: u32) -> Owners {
        self.users.push(user);
        self
    }

    /// Adds the owner of a file or folder.
    #[must_use]
    pub fn and_of_file(mut self, path: &Path) -> Owners {
        self.users.extend(std::fs::metadata(path).ok().and_then(|found| owner(&found)));
        self
    }

    /// Opens a regular file of one of these users.
    ///
    /// # Errors
    /// Errors of the system; [`NotBelieved`] in one, if it is another user's file or a link.
    pub(super) fn open(&self, path: &Path) -> io::Result<File> {
        let opened = open_with(path, Links::Refuse);
        let is_link = || std::fs::symlink_metadata(path).is_ok_and(|found| found.is_symlink());
        let file = opened.map_err(|e| if is_link() { NotBelieved::Link.into() } else { e })?;
        match owner(&file.metadata()?) {
            Some(user) if !self.users.contains(&user) => Err(NotBelieved::User(user).into()),
            _ => Ok(file),
        }
    }

    /// Returns true if an open file belongs to one of these users.
    pub(super) fn own(&self, file: &File) -> bool {
        let owner = file.metadata().ok().and_then(|found| owner(&found));
        owner.is_none_or(|user| self.users.contains(&user))
    }
}

/// The reason why a file that is there is not read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotBelieved {
    /// It belongs to this user.
    User(u32),
    /// It is a link.
    Link,
}

impl NotBelieved {
    /// The reason in an error of [`JitDump::read`](super::jit::JitDump::read_of) or
    /// [`PerfMap::read`](super::jit::PerfMap::read_of), if that is one.
    pub fn in_error(error: &io::Error) -> Option<NotBelieved> {
        error.get_ref()?.downcast_ref::<NotBelieved>().copied()
    }
}

impl fmt::Display for NotBelieved {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NotBelieved::User(user) => write!(f, "it belongs to user {user}, neither to root nor to you"),
            NotBelieved::Link => write!(f, "it is a link, which may lead to another user's file"),
        }
    }
}

impl std::error::Error for NotBelieved {}

impl From<NotBelieved> for io::Error {
    fn from(reason: NotBelieved) -> io::Error {
        io::Error::new(io::ErrorKind::PermissionDenied, reason)
    }
}

/// The user that a process acts as, from `/proc`.
fn user_of(process: &str) -> Option<u32> {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let users = status.lines().find_map(|line| line.strip_prefix("Uid:"))?;
    // Real, effective, saved, of the file system.
    users.split_ascii_whitespace().nth(1)?.parse().ok()
}

#[cfg(unix)]
fn owner(file: &std::fs::Metadata) -> Option<u32> {
    Some(std::os::unix::fs::MetadataExt::uid(file))
}

#[cfg(not(unix))]
fn owner(_: &std::fs::Metadata) -> Option<u32> {
    None
}
