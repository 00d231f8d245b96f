//! The message for a file that becomes shorter while it is read.
//!
//! Files are mapped, not copied, which saves a tenth of the time. If another program truncates such
//! a file, a profiler that starts again for example, the system ends us with SIGBUS when we read the
//! missing part. We handle the signal and print one line that says more than "Bus error".

use std::sync::OnceLock;

use crate::error::{Error, ErrorKind};

/// The message.
pub(super) const WHAT: &str =
    "an input became shorter while it was read; run it again when nothing writes to it";

static MESSAGE: OnceLock<String> = OnceLock::new();

/// Installs a signal handler that prints the message and exits with 2.
#[allow(unsafe_code)]
pub(super) fn explain(name: &str) {
    if MESSAGE.set(format!("{name}: {WHAT}\n")).is_err() {
        return;
    }
    let handler: extern "C" fn(libc::c_int, *const libc::siginfo_t, *const libc::c_void) = stop;
    // SAFETY: all bytes zero are a valid `sigaction`; the handler has the form that SA_SIGINFO asks
    // for, and calls nothing that is not allowed in one. It may run on a stack of its own.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = handler as libc::sighandler_t;
        action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
        libc::sigaction(libc::SIGBUS, &action, std::ptr::null_mut());
    }
}

/// Returns true for the error of a write from a mapping of such a file.
pub(super) fn is_behind(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::Io { source, .. } if source.raw_os_error() == Some(libc::EFAULT))
}

#[allow(unsafe_code)]
extern "C" fn stop(signal: libc::c_int, info: *const libc::siginfo_t, _: *const libc::c_void) {
    // SAFETY: the system hands over the information that was asked for; writing and ending are
    // allowed in a handler, and the message is there since before it was set up.
    unsafe {
        if (*info).si_code == libc::BUS_ADRERR
            && let Some(message) = MESSAGE.get()
        {
            libc::write(libc::STDERR_FILENO, message.as_ptr().cast(), message.len());
            crate::temporary::remove_all();
            libc::_exit(2);
        }
        // Something else: it comes again, and ends the program as it would have.
        libc::signal(signal, libc::SIG_DFL);
    }
}
