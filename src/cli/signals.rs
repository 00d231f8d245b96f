//! The signals that end a program: temporary names of outputs are removed first, and the first
//! Ctrl-C is not for a program that reads from a pipe.
//!
//! Ctrl-C reaches every program of a pipe. It ends the recorder at the pipe's beginning; the readers
//! behind it finish with what still comes, so that nothing recorded is lost. A second Ctrl-C ends
//! them too. A reader of files or of a terminal ends at the first.
//!
//! fg-record replaces the handlers of Ctrl-C, SIGTERM and SIGHUP by its own.

use crate::input::Source;

/// Installs the handlers; signals that our starter ignores, as `nohup` does, stay ignored.
pub(super) fn install() {
    #[cfg(unix)]
    unix::install();
}

/// Lets the first Ctrl-C pass if one of the inputs is a pipe.
pub(super) fn read_from(sources: &[Source]) {
    #[cfg(unix)]
    {
        use std::io::{IsTerminal, stdin};
        let is_terminal = |source: &Source| source.is_stdin() && stdin().is_terminal();
        if sources.iter().any(|source| !source.is_rereadable() && !is_terminal(source)) {
            unix::let_one_pass();
        }
    }
    #[cfg(not(unix))]
    let _ = sources;
}

#[cfg(unix)]
#[allow(unsafe_code)]
mod unix {
    use std::ffi::c_int;
    use std::sync::atomic::{AtomicBool, Ordering::SeqCst};

    use crate::temporary;

    /// The first SIGINT is not for us.
    static ONE_PASSES: AtomicBool = AtomicBool::new(false);
    /// It came.
    static ONE_PASSED: AtomicBool = AtomicBool::new(false);

    pub(super) fn install() {
        // SIGABRT is our own: a stack that is too small (`ulimit -s`), a panic within a panic.
        let ends = [libc::SIGABRT, libc::SIGHUP, libc::SIGINT, libc::SIGQUIT, libc::SIGTERM, libc::SIGXCPU];
        for signal in ends {
            handle(signal, end);
        }
        // A file that becomes larger than `ulimit -f` allows is an error of the write, not our end.
        handle(libc::SIGXFSZ, pass);
    }

    pub(super) fn let_one_pass() {
        ONE_PASSES.store(true, SeqCst);
    }

    fn handle(signal: c_int, handler: extern "C" fn(c_int)) {
        // SAFETY: all bytes zero are a valid `sigaction`; the handlers call nothing that is not allowed
        // in one, and the pointers are to live values for the time of the calls.
        unsafe {
            let mut old: libc::sigaction = std::mem::zeroed();
            if libc::sigaction(signal, std::ptr::null(), &mut old) != 0 || old.sa_sigaction == libc::SIG_IGN {
                return;
            }
            let mut new: libc::sigaction = std::mem::zeroed();
            new.sa_sigaction = handler as libc::sighandler_t;
            new.sa_flags = libc::SA_RESTART;
            libc::sigemptyset(&mut new.sa_mask);
            libc::sigaction(signal, &new, std::ptr::null_mut());
        }
    }

    extern "C" fn end(signal: c_int) {
        if signal == libc::SIGINT && ONE_PASSES.load(SeqCst) && !ONE_PASSED.swap(true, SeqCst) {
            return;
        }
        if temporary::end_by(signal) {
            // SAFETY: both may be called in a handler. The signal is blocked until it returns, and
            // ends the process then as if there were no handler.
            unsafe {
                libc::signal(signal, libc::SIG_DFL);
                libc::raise(signal);
            }
        }
    }

    extern "C" fn pass(_: c_int) {}
}
