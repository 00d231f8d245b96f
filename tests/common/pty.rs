//! A terminal, for what is shown on one only.

#![allow(unsafe_code)]

use std::ffi::CStr;
use std::fs::File;
use std::io::Read;
use std::os::fd::FromRawFd;

/// A terminal: what is written into the second end is read from the first.
pub fn terminal() -> (File, File) {
    // SAFETY: system calls on a descriptor that was just opened; the name is copied at once.
    let (first, name) = unsafe {
        let fd = libc::posix_openpt(libc::O_RDWR | libc::O_NOCTTY | libc::O_CLOEXEC);
        assert!(fd >= 0 && libc::grantpt(fd) == 0 && libc::unlockpt(fd) == 0, "a terminal");
        let mut name = [0; 64];
        assert_eq!(libc::ptsname_r(fd, name.as_mut_ptr(), name.len()), 0);
        (File::from_raw_fd(fd), CStr::from_ptr(name.as_ptr()).to_string_lossy().into_owned())
    };
    let second = File::options().read(true).write(true).open(name).expect("its other end");
    (first, second)
}

/// A terminal of so many columns.
#[allow(dead_code)]
pub fn terminal_of(columns: u16) -> (File, File) {
    use std::os::fd::AsRawFd;

    let (first, second) = terminal();
    let size = libc::winsize { ws_row: 40, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
    // SAFETY: the kernel reads the size from a live value.
    assert_eq!(unsafe { libc::ioctl(second.as_raw_fd(), libc::TIOCSWINSZ, &raw const size) }, 0);
    (first, second)
}

#[allow(dead_code)]
/// All that is written into the second end, until nobody has it open any more.
pub fn shown(first: File) -> String {
    watched(first, |_| {})
}

/// As [`shown`], with a look at each piece more.
pub fn watched(mut first: File, mut look: impl FnMut(&str)) -> String {
    let mut shown = Vec::new();
    let mut buffer = [0; 4096];
    // Reading from a terminal nobody writes to any more is an error.
    while let Ok(n @ 1..) = first.read(&mut buffer) {
        shown.extend_from_slice(&buffer[..n]);
        look(&String::from_utf8_lossy(&shown));
    }
    String::from_utf8_lossy(&shown).into_owned()
}
