//! A child that is stopped when it is about to end, while all its memory is still there; or one that
//! signals for the whole group do not reach.
//!
//! The kernel stops it for a tracer (`PTRACE_O_TRACEEXIT`). Until then its signals come by here and
//! are passed on, or not. All of it is done by one thread, since a tracer is a thread.

use std::io::{self, PipeReader, PipeWriter, Read};
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;

use super::check;
use super::signals::REQUESTS;
use super::wait::{End, Ended, wait4};

/// Waits for a child: tells when it is about to end by closing `end`, and, if it is to be held, lets
/// it end when the other side of `released` is closed. A child that may not be traced, or ends as soon
/// as it begins, just ends.
pub fn wait(pid: u32, how: End, end: PipeWriter, mut released: PipeReader) -> io::Result<Ended> {
    let pid = pid.cast_signed();
    let mut end = Some(end);
    let options = if how == End::Held { libc::PTRACE_O_TRACEEXIT } else { 0 };
    let is_kept_away = |signal: i32| match how {
        End::Shielded(lets) => REQUESTS.contains(&signal) && ![lets, libc::SIGINT].contains(&signal),
        End::Gone | End::Held => false,
    };
    // SAFETY: takes integers only.
    let _ = check(unsafe { trace(libc::PTRACE_SEIZE, pid, options) });
    loop {
        let (status, cpu_time) = wait4(pid, libc::__WALL)?;
        if !libc::WIFSTOPPED(status) {
            return Ok(Ended { status: ExitStatus::from_raw(status), cpu_time });
        }
        let (event, signal) = (status >> 16, libc::WSTOPSIG(status));
        let (request, signal) = match event {
            libc::PTRACE_EVENT_EXIT => {
                drop(end.take());
                // Nothing is ever written.
                let _ = released.read(&mut [0]);
                (libc::PTRACE_CONT, 0)
            }
            // Stopped by a signal, as any process may be: it stays so until it is continued.
            libc::PTRACE_EVENT_STOP if signal != libc::SIGTRAP => (libc::PTRACE_LISTEN, 0),
            0 if is_kept_away(signal) => (libc::PTRACE_CONT, 0),
            0 => (libc::PTRACE_CONT, signal),
            _ => (libc::PTRACE_CONT, 0),
        };
        // SAFETY: takes integers only; one that was killed meanwhile is seen by the next wait.
        let _ = check(unsafe { trace(request, pid, signal) });
    }
}

/// `ptrace`, with a number in its last place.
///
/// # Safety
/// The request must take a number there, and none before it.
unsafe fn trace(request: libc::c_uint, pid: libc::pid_t, number: libc::c_int) -> libc::c_int {
    let nowhere = std::ptr::null_mut::<libc::c_void>();
    // SAFETY: as the caller promises.
    let result = unsafe { libc::ptrace(request as _, pid, nowhere, libc::c_long::from(number)) };
    if result == -1 { -1 } else { 0 }
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsRawFd;
    use std::process::Command;

    use super::super::launch::Launched;
    use super::super::processes::send;
    use super::super::readable::wait_readable;
    use super::*;

    fn held(script: &str) -> Launched {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        let mut launched = Launched::ending(command, End::Held).expect("it starts");
        launched.go();
        launched
    }

    fn wait_for_end(launched: &Launched) {
        let fd = launched.ended().as_raw_fd();
        let mut fds = vec![libc::pollfd { fd, events: libc::POLLIN, revents: 0 }];
        wait_readable(&mut fds, 20_000).expect("it can be waited for");
        assert_ne!(fds[0].revents, 0, "it never ended");
    }

    #[test]
    fn its_memory_is_there_until_it_may_end() {
        for (script, code, signal) in [
            ("sleep 0.3; exit 7", Some(7), None),
            ("sleep 0.3; kill -s TERM $$; exit 7", None, Some(libc::SIGTERM)),
        ] {
            let launched = held(script);
            wait_for_end(&launched);
            let maps =
                std::fs::read_to_string(format!("/proc/{}/maps", launched.pid())).expect("it is there");
            if maps.is_empty() {
                eprintln!("skipped: nobody may be traced here");
            }
            assert!(maps.is_empty() || maps.contains("[stack]"), "{maps}");
            let status = launched.wait().expect("it ends").status;
            assert_eq!((status.code(), status.signal()), (code, signal));
        }
    }

    #[test]
    fn its_signals_reach_it() {
        let launched = held("trap 'exit 9' USR1; kill -s STOP $$; while :; do sleep 0.02; done");
        let stat = format!("/proc/{}/stat", launched.pid());
        let mut state = String::new();
        for _ in 0..12_000 {
            state = std::fs::read_to_string(&stat).expect("it is there");
            if state.contains(") T ") || state.contains(") t ") {
                break;
            }
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
        assert!(state.contains(") T ") || state.contains(") t "), "it stopped itself: {state}");
        for signal in [libc::SIGCONT, libc::SIGUSR1] {
            send(launched.pid(), signal).expect("it may be told");
        }
        wait_for_end(&launched);
        assert_eq!(launched.wait().expect("it ends").status.code(), Some(9));
    }
}
