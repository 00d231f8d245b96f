//! Ctrl-C and SIGTERM: the first is a request to stop, the second ends everything at once.
//!
//! The handler does only what POSIX allows in one: it counts, writes a byte into a pipe that the
//! recorder waits on, and, the second time, kills the target and leaves. Folding is not
//! interrupted by the first signal, so a profile is written however the target was stopped.

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsFd, BorrowedFd, IntoRawFd};
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicUsize, Ordering};

/// The number of signals that came.
static COUNT: AtomicUsize = AtomicUsize::new(0);
/// The first signal that came, 0 for none.
static FIRST: AtomicI32 = AtomicI32::new(0);
/// The pipe's end to write to; never closed once it is set.
static WAKE: AtomicI32 = AtomicI32::new(-1);
/// True if the first signal came from the terminal, which sends it to all of our process group.
static FROM_TERMINAL: AtomicBool = AtomicBool::new(false);
/// The process that the second signal kills too, 0 for none.
static TARGET: AtomicI32 = AtomicI32::new(0);

/// True if the second signal is a request as well, and only the third ends everything at once.
static PATIENT: AtomicBool = AtomicBool::new(false);

/// Requests to stop, from the time it is made.
#[derive(Debug)]
pub struct Stop {
    wake: File,
}

impl Stop {
    /// Installs the handlers; to be called once in a program's life.
    ///
    /// # Errors
    /// The error of the system.
    pub fn install() -> io::Result<Stop> {
        let (reader, writer) = io::pipe()?;
        // A full pipe must not block the handler.
        set_nonblocking(writer.as_fd())?;
        set_nonblocking(reader.as_fd())?;
        WAKE.store(writer.into_raw_fd(), Ordering::SeqCst);
        for signal in [libc::SIGINT, libc::SIGTERM] {
            // SAFETY: a zeroed sigaction is a valid value; the handler is async-signal-safe, and
            // the pointer is to a live value for the time of the call.
            let result = unsafe {
                let mut action: libc::sigaction = std::mem::zeroed();
                action.sa_sigaction = on_signal as *const () as usize;
                action.sa_flags = libc::SA_RESTART | libc::SA_SIGINFO;
                libc::sigemptyset(&mut action.sa_mask);
                libc::sigaction(signal, &action, std::ptr::null_mut())
            };
            check(result)?;
        }
        Ok(Stop { wake: File::from(std::os::fd::OwnedFd::from(reader)) })
    }

    /// The signal that asked to stop, if one did.
    pub fn requested(&self) -> Option<i32> {
        Some(FIRST.load(Ordering::SeqCst)).filter(|signal| *signal != 0)
    }

    /// The number of signals that came.
    pub fn count(&self) -> usize {
        COUNT.load(Ordering::SeqCst)
    }

    /// Makes the second signal a request too, if `patient`: for callers that have to clear away more
    /// than the handler can. The third then ends everything at once.
    pub fn be_patient(&self, patient: bool) {
        PATIENT.store(patient, Ordering::SeqCst);
    }

    /// Makes [`Stop::wake`] wait for the next signal.
    pub fn drain(&self) {
        let mut bytes = [0; 8];
        while matches!((&self.wake).read(&mut bytes), Ok(1..)) {}
    }

    /// Returns true if the program that we started got the first signal too: a Ctrl-C on its terminal.
    pub fn reached_all(&self) -> bool {
        FROM_TERMINAL.load(Ordering::SeqCst)
    }

    /// Readable as soon as a signal came.
    pub fn wake(&self) -> BorrowedFd<'_> {
        self.wake.as_fd()
    }

    /// From now on the second signal kills this process too.
    pub fn take_along(&self, pid: Option<u32>) {
        TARGET.store(pid.map_or(0, |pid| pid.cast_signed()), Ordering::SeqCst);
    }
}

extern "C" fn on_signal(signal: libc::c_int, info: *mut libc::siginfo_t, _: *mut libc::c_void) {
    let before = COUNT.fetch_add(1, Ordering::SeqCst);
    let is_request = before == 0 || (before == 1 && PATIENT.load(Ordering::SeqCst));
    if !is_request {
        let target = TARGET.load(Ordering::SeqCst);
        // Files are being renamed: the signal comes again.
        if !crate::temporary::end_by(signal) {
            COUNT.fetch_sub(1, Ordering::SeqCst);
            return;
        }
        // SAFETY: kill and _exit may be called in a handler; the target is our child and not yet
        // waited for, or 0.
        unsafe {
            if target > 0 {
                libc::kill(target, libc::SIGKILL);
            }
            libc::_exit(128 + signal);
        }
    }
    if before == 0 {
        // SAFETY: with SA_SIGINFO the kernel passes a live siginfo.
        let from_terminal = unsafe { is_from_terminal(&*info) };
        FROM_TERMINAL.store(from_terminal, Ordering::SeqCst);
        FIRST.store(signal, Ordering::SeqCst);
    }
    let byte = [1u8];
    // SAFETY: write may be called in a handler; errno, which it may change, is put back.
    unsafe {
        let errno = errno_location();
        let before = *errno;
        libc::write(WAKE.load(Ordering::SeqCst), byte.as_ptr().cast(), 1);
        *errno = before;
    }
}

/// Returns true if the kernel itself sent a signal, for a key that was pressed on the terminal.
#[cfg(target_os = "linux")]
fn is_from_terminal(info: &libc::siginfo_t) -> bool {
    /// The code of what the kernel itself sends.
    const SI_KERNEL: libc::c_int = 0x80;
    info.si_code == SI_KERNEL
}

/// Returns true if a signal has no sender, as one for a key that was pressed on the terminal.
#[cfg(not(target_os = "linux"))]
fn is_from_terminal(info: &libc::siginfo_t) -> bool {
    // SAFETY: the signals that are handled here have a sender in their siginfo, 0 for the kernel.
    unsafe { info.si_pid() == 0 }
}

/// This thread's errno.
unsafe fn errno_location() -> *mut libc::c_int {
    #[cfg(any(target_os = "illumos", target_os = "solaris"))]
    use libc::___errno as location;
    #[cfg(any(target_os = "netbsd", target_os = "openbsd", target_os = "android"))]
    use libc::__errno as location;
    #[cfg(target_os = "linux")]
    use libc::__errno_location as location;
    #[cfg(any(target_vendor = "apple", target_os = "freebsd", target_os = "dragonfly"))]
    use libc::__error as location;
    // SAFETY: always valid for the calling thread.
    unsafe { location() }
}

fn set_nonblocking(fd: BorrowedFd<'_>) -> io::Result<()> {
    use std::os::fd::AsRawFd;
    // SAFETY: the descriptor is open; both calls take integers only.
    let flags = check(unsafe { libc::fcntl(fd.as_raw_fd(), libc::F_GETFL) })?;
    // SAFETY: as above.
    check(unsafe { libc::fcntl(fd.as_raw_fd(), libc::F_SETFL, flags | libc::O_NONBLOCK) })?;
    Ok(())
}

/// Asks ourselves to stop, as a first SIGTERM would; it does not count as one.
pub fn request_stop() {
    let _ = FIRST.compare_exchange(0, libc::SIGTERM, Ordering::SeqCst, Ordering::SeqCst);
    let byte = [1u8];
    // SAFETY: writes from a live buffer; before the handlers are installed, to no descriptor.
    unsafe {
        libc::write(WAKE.load(Ordering::SeqCst), byte.as_ptr().cast(), 1);
    }
}

/// Sends a signal to a process.
///
/// # Errors
/// The error of the system; a process that is gone is no error.
pub fn send(pid: u32, signal: i32) -> io::Result<()> {
    // SAFETY: takes integers only.
    match check(unsafe { libc::kill(pid.cast_signed(), signal) }) {
        Err(e) if e.raw_os_error() != Some(libc::ESRCH) => Err(e),
        _ => Ok(()),
    }
}

/// Waits until one of some descriptors can be read, for `timeout` milliseconds at most, -1 for
/// ever. A signal ends it early.
///
/// # Errors
/// The error of the system.
pub fn wait_readable(fds: &mut Vec<libc::pollfd>, timeout: i32) -> io::Result<()> {
    // SAFETY: the pointer and the length are those of a live vector.
    let result = unsafe { libc::poll(fds.as_mut_ptr(), fds.len() as libc::nfds_t, timeout) };
    match check(result) {
        Err(e) if e.kind() != io::ErrorKind::Interrupted => Err(e),
        _ => Ok(()),
    }
}

/// Turns a result of -1 into the system's error.
pub(super) fn check(result: libc::c_int) -> io::Result<libc::c_int> {
    if result == -1 { Err(io::Error::last_os_error()) } else { Ok(result) }
}
