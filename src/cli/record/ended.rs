//! The end of the recorded program: what it ended by, if that was no success.

use std::ffi::OsStr;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;

/// The signals that end a program, with their names.
const SIGNALS: [(libc::c_int, &str); 18] = [
    (libc::SIGHUP, "SIGHUP"),
    (libc::SIGINT, "SIGINT"),
    (libc::SIGQUIT, "SIGQUIT"),
    (libc::SIGILL, "SIGILL"),
    (libc::SIGTRAP, "SIGTRAP"),
    (libc::SIGABRT, "SIGABRT"),
    (libc::SIGBUS, "SIGBUS"),
    (libc::SIGFPE, "SIGFPE"),
    (libc::SIGKILL, "SIGKILL"),
    (libc::SIGUSR1, "SIGUSR1"),
    (libc::SIGSEGV, "SIGSEGV"),
    (libc::SIGUSR2, "SIGUSR2"),
    (libc::SIGPIPE, "SIGPIPE"),
    (libc::SIGALRM, "SIGALRM"),
    (libc::SIGTERM, "SIGTERM"),
    (libc::SIGXCPU, "SIGXCPU"),
    (libc::SIGXFSZ, "SIGXFSZ"),
    (libc::SIGSYS, "SIGSYS"),
];

/// The message on a program that has ended without success: `./app was killed by SIGSEGV (core dumped)`.
pub(super) fn failure(program: &OsStr, status: ExitStatus) -> Option<String> {
    let program = program.to_string_lossy();
    match (status.code(), status.signal()) {
        (Some(0), _) => None,
        (Some(code), _) => Some(format!("{program} exited with status {code}")),
        (None, Some(signal)) => {
            let name = SIGNALS.iter().find(|(number, _)| *number == signal);
            let name = name.map_or_else(|| format!("signal {signal}"), |(_, name)| (*name).to_owned());
            let core = if status.core_dumped() { " (core dumped)" } else { "" };
            Some(format!("{program} was killed by {name}{core}"))
        }
        (None, None) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_are_named_as_a_shell_names_them() {
        let said = |raw| failure(OsStr::new("./app"), ExitStatus::from_raw(raw));
        assert_eq!(said(0), None);
        assert_eq!(said(3 << 8).unwrap(), "./app exited with status 3");
        assert_eq!(said(libc::SIGSEGV).unwrap(), "./app was killed by SIGSEGV");
        assert_eq!(said(libc::SIGABRT | 0x80).unwrap(), "./app was killed by SIGABRT (core dumped)");
        assert_eq!(said(63).unwrap(), "./app was killed by signal 63");
    }
}
