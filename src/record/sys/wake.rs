//! Wakes threads that sleep, for a moment: then they leave their processors again, which the kernel notes with
//! their stacks.
//!
//! A thread that waits from before a recording to its end makes no events. A tracer that interrupts it
//! (ptrace(2), `PTRACE_INTERRUPT`) lets it begin its system call again. Those that cannot be begun again
//! return `EINTR`, as they do when a process is stopped and goes on: signal(7) lists them.

use std::io;
use std::thread;
use std::time::{Duration, Instant};

use super::check;

/// The time after which threads that do not wake are left alone.
const PATIENCE: Duration = Duration::from_millis(500);

/// Wakes threads once each, and returns those that could not be woken.
pub fn wake(tids: &[u32]) -> Vec<u32> {
    if tids.is_empty() {
        return Vec::new();
    }
    // When this thread ends, the kernel lets go of all that it still holds.
    let woken = thread::scope(|scope| {
        let tracer = thread::Builder::new().spawn_scoped(scope, || wake_as_tracer(tids)).ok()?;
        tracer.join().ok()
    });
    woken.unwrap_or_else(|| tids.to_vec())
}

fn wake_as_tracer(tids: &[u32]) -> Vec<u32> {
    let (mut failed, mut held) = (Vec::new(), Vec::new());
    for &tid in tids {
        let interrupted =
            trace(libc::PTRACE_SEIZE, tid, 0).and_then(|()| trace(libc::PTRACE_INTERRUPT, tid, 0));
        match interrupted {
            Ok(()) => held.push(tid),
            Err(_) => failed.push(tid),
        }
    }
    let begin = Instant::now();
    let mut pause = Duration::from_micros(20);
    while !held.is_empty() && begin.elapsed() < PATIENCE {
        held.retain(|&tid| !let_go(tid));
        if !held.is_empty() {
            thread::sleep(pause);
            pause = (pause * 2).min(Duration::from_millis(5));
        }
    }
    failed.extend(held);
    failed
}

/// Lets a thread go on that has stopped; `false` if it has not stopped yet.
fn let_go(tid: u32) -> bool {
    let mut status = 0;
    // SAFETY: the kernel writes one live integer.
    let waited = unsafe { libc::waitpid(tid.cast_signed(), &raw mut status, libc::__WALL | libc::WNOHANG) };
    match check(waited) {
        Ok(0) => false,
        Ok(_) if libc::WIFSTOPPED(status) => {
            // A signal that has come meanwhile is its own, and not ours.
            let is_ours = status >> 16 == libc::PTRACE_EVENT_STOP;
            let signal = if is_ours { 0 } else { libc::WSTOPSIG(status) };
            let _ = trace(libc::PTRACE_DETACH, tid, signal);
            true
        }
        // It has ended.
        Ok(_) | Err(_) => true,
    }
}

fn trace(request: libc::c_uint, tid: u32, data: libc::c_int) -> io::Result<()> {
    // SAFETY: requests without memory: a number in place of the last argument.
    let result = unsafe {
        libc::ptrace(
            request,
            tid.cast_signed(),
            std::ptr::null_mut::<libc::c_void>(),
            data as usize as *mut libc::c_void,
        )
    };
    if result == -1 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn what_sleeps_goes_back_to_sleep() {
        let mut child = Command::new("sleep").arg("1000").spawn().unwrap();
        let failed = wake(&[child.id()]);
        let goes_on = child.try_wait().unwrap().is_none();
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(goes_on);
        // Some containers forbid it.
        assert!(failed.is_empty() || failed == [child.id()], "{failed:?}");
        assert_eq!(wake(&[u32::MAX >> 1]), [u32::MAX >> 1], "there is no such thread");
    }
}
