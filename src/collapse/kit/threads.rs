//! The frame of a thread, in all formats alike: one root frame, `NAME`, or `NAME-PID` with
//! `--per-process`, or `NAME-PID/TID` with `--per-thread`, as FlameGraph has it for perf and as
//! `fg-filter --thread` and `--merge-threads` know it.
//!
//! Without options there is such a frame where the format's own tools show threads:
//! `--threads-as-frames` and `--threads-as-frames=no` decide otherwise. austin and py-spy write
//! process and thread as frames of their own, which keep their form.

use crate::collapse::{CollapseOptions, Context};
use crate::folded::sanitize_frame;
use crate::number;

/// The name and the numbers of a thread; what is not known is empty.
#[derive(Clone, Copy, Debug, Default)]
pub struct Thread<'a> {
    /// Its name, or that of its process.
    pub name: &'a [u8],
    /// The process, in decimal.
    pub pid: &'a [u8],
    /// The thread, in decimal.
    pub tid: &'a [u8],
}

impl CollapseOptions {
    /// Returns whether threads are frames in a format whose own tools show them so (`default`) or not.
    pub fn shows_threads(&self, default: bool) -> bool {
        self.threads_as_frames.unwrap_or(self.pid || self.tid || default)
    }
}

impl<'a> Thread<'a> {
    /// The context of a sample of this thread, at a time in nanoseconds.
    pub fn context(&self, time: Option<u64>) -> Context<'a> {
        let number = |id: &[u8]| number::parse(id);
        let (process, thread) = (number(self.pid), number(self.tid));
        Context { time, process, thread, thread_name: self.name, labels: &[] }
    }

    /// Appends the thread's frame to `out`.
    pub fn write(&self, options: &CollapseOptions, out: &mut Vec<u8>) {
        let or_unknown = |id| if <[u8]>::is_empty(id) { b"?" } else { id };
        if self.name.is_empty() {
            out.extend_from_slice(b"[unnamed]");
        } else {
            sanitize_frame(self.name, out);
        }
        if options.pid || options.tid {
            out.push(b'-');
            sanitize_frame(or_unknown(self.pid), out);
        }
        if options.tid {
            out.push(b'/');
            sanitize_frame(or_unknown(self.tid), out);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn is_one_frame_by_one_convention() {
        let thread = Thread { name: b"a;b", pid: b"7", tid: b"8" };
        for (pid, tid, frame) in [(false, false, "a:b"), (true, false, "a:b-7"), (true, true, "a:b-7/8")] {
            let mut out = Vec::new();
            thread.write(&CollapseOptions { pid, tid, ..CollapseOptions::default() }, &mut out);
            assert_eq!(String::from_utf8_lossy(&out), frame);
        }
        let mut out = Vec::new();
        Thread::default().write(&CollapseOptions { tid: true, ..CollapseOptions::default() }, &mut out);
        assert_eq!(out, b"[unnamed]-?/?");
    }

    #[test]
    fn is_there_by_default_or_on_request() {
        let asked =
            |threads_as_frames, pid| CollapseOptions { threads_as_frames, pid, ..CollapseOptions::default() };
        assert!(asked(None, false).shows_threads(true) && !asked(None, false).shows_threads(false));
        assert!(asked(Some(true), false).shows_threads(false) && asked(None, true).shows_threads(false));
        assert!(!asked(Some(false), true).shows_threads(true));
    }
}
