//! Standard output, written without the line buffer that the library puts before it.

use std::fs::{File, Metadata};
use std::io;

/// Opens it once more.
///
/// # Errors
/// The system's, and one for an output that was closed when the program began: the library opens
/// `/dev/null` in its place, and results would vanish there.
pub(super) fn open() -> io::Result<File> {
    #[cfg(unix)]
    {
        use std::os::fd::AsFd;
        if at_start::was_closed() {
            return Err(io::Error::other("it is closed"));
        }
        Ok(File::from(io::stdout().as_fd().try_clone_to_owned()?))
    }
    #[cfg(windows)]
    {
        use std::os::windows::io::AsHandle;
        Ok(File::from(io::stdout().as_handle().try_clone_to_owned()?))
    }
}

/// Standard output, if it is this file.
pub(super) fn same_as(file: &Metadata) -> Option<File> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        let stdout = open().ok()?;
        let kind = stdout.metadata().ok()?;
        (kind.dev() == file.dev() && kind.ino() == file.ino()).then_some(stdout)
    }
    #[cfg(not(unix))]
    {
        let _ = file;
        None
    }
}

/// Looks at standard output before the library's start-up code does.
#[cfg(unix)]
#[allow(unsafe_code)]
mod at_start {
    use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

    static CLOSED: AtomicBool = AtomicBool::new(false);

    pub(super) fn was_closed() -> bool {
        CLOSED.load(Relaxed)
    }

    /// Called by the system before `main`, as a constructor of C++ is.
    #[used]
    // SAFETY: the section is the list of such functions, which are called without need of a result.
    #[cfg_attr(target_vendor = "apple", unsafe(link_section = "__DATA,__mod_init_func"))]
    #[cfg_attr(not(target_vendor = "apple"), unsafe(link_section = ".init_array"))]
    static LOOK: extern "C" fn() = look;

    extern "C" fn look() {
        // SAFETY: takes integers only, and needs nothing of what the library sets up.
        let flags = unsafe { libc::fcntl(libc::STDOUT_FILENO, libc::F_GETFD) };
        CLOSED.store(flags == -1, Relaxed);
    }
}
