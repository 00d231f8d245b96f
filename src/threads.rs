//! The number of threads, and threads that need not start.
//!
//! Threads are for speed: where the system starts no more of them (`ulimit -u`, a container's number
//! of processes), their work is done by those that there are.

use std::num::NonZero;
use std::sync::{Arc, Mutex};
use std::thread::{Builder, Scope, ScopedJoinHandle};

#[cfg(all(feature = "cli", feature = "record", target_os = "linux"))]
use crate::error::{Error, Result};

/// The number of threads that was asked for; 0 is as many as there are processors.
pub(crate) fn count(asked: usize) -> usize {
    match asked {
        0 => std::thread::available_parallelism().map_or(1, NonZero::get),
        asked => asked,
    }
}

/// Work that was given to a thread of its own, or waits for [`Task::join`] to be done.
pub(crate) struct Task<'scope, T, W> {
    thread: Option<ScopedJoinHandle<'scope, T>>,
    work: Arc<Mutex<Option<W>>>,
}

impl<'scope, T: Send + 'scope, W: FnOnce() -> T + Send + 'scope> Task<'scope, T, W> {
    /// Starts a thread for `work` if the system allows it.
    pub(crate) fn start(scope: &'scope Scope<'scope, '_>, work: W) -> Task<'scope, T, W> {
        Task::start_on(Builder::new(), scope, work)
    }

    fn start_on(builder: Builder, scope: &'scope Scope<'scope, '_>, work: W) -> Task<'scope, T, W> {
        let work = Arc::new(Mutex::new(Some(work)));
        let own = work.clone();
        let thread = builder.spawn_scoped(scope, move || take(&own)());
        Task { thread: thread.ok(), work }
    }

    /// Waits for the thread, or does the work here. A panic goes on where it began.
    pub(crate) fn join(self) -> T {
        match self.thread {
            Some(thread) => thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)),
            None => take(&self.work)(),
        }
    }
}

fn take<W>(work: &Mutex<Option<W>>) -> W {
    work.lock().expect("no thread panics").take().expect("work is done once")
}

/// Starts a thread that has to be there.
///
/// # Errors
/// The error of the system.
#[cfg(all(feature = "cli", feature = "record", target_os = "linux"))]
pub(crate) fn start<'scope, T: Send + 'scope>(
    scope: &'scope Scope<'scope, '_>,
    work: impl FnOnce() -> T + Send + 'scope,
) -> Result<ScopedJoinHandle<'scope, T>> {
    Builder::new().spawn_scoped(scope, work).map_err(|e| Error::io("start a thread", e))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_is_done_whether_its_thread_starts_or_not() {
        // No system has a stack of that size.
        for builder in [Builder::new(), Builder::new().stack_size(1 << 60)] {
            let here = std::thread::current().id();
            let (fails, there) = std::thread::scope(|scope| {
                let task = Task::start_on(builder, scope, || std::thread::current().id());
                (task.thread.is_none(), task.join())
            });
            assert_eq!(fails, there == here);
        }
    }
}
