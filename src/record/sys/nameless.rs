//! Files without a name until they are whole: nothing is left of them, however a process ends.

use std::ffi::CString;
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use super::signals::check;

/// Gives a name to a file that was opened without one (`O_TMPFILE`), on the same file system.
///
/// # Errors
/// The error of the system: a file of this name exists, or the file had a name that was removed, as is
/// done on file systems without `O_TMPFILE`.
pub fn give_name(file: &File, path: &Path) -> io::Result<()> {
    // The way that open(2) documents for O_TMPFILE: AT_EMPTY_PATH would need a capability.
    let open = CString::new(format!("/proc/self/fd/{}", file.as_raw_fd()))?;
    let path = CString::new(path.as_os_str().as_bytes())?;
    // SAFETY: both texts live and end with zeros.
    let linked = unsafe {
        libc::linkat(libc::AT_FDCWD, open.as_ptr(), libc::AT_FDCWD, path.as_ptr(), libc::AT_SYMLINK_FOLLOW)
    };
    check(linked).map(|_| ())
}
