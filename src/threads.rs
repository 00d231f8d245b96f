//! The number of threads, and threads that need not start.
//!
//! Threads are for speed: where the system starts no more of them (`ulimit -u`, a container's number
//! of processes), their work is done by those that there are.

use std::num::NonZero;
use std::sync::{Arc, Mutex, mpsc};
use std::thread::{Builder, Scope, ScopedJoinHandle};

#[cfg(all(feature = "cli", feature = "record", target_os = "linux"))]
use crate::error::Error;
use crate::error::Result;

/// The number of threads that was asked for; 0 is as many as there are processors.
pub(crate) fn count(asked: usize) -> usize {
    match asked {
        0 => std::thread::available_parallelism().map_or(1, NonZero::get),
        asked => asked,
    }
}

/// Makes something of each part on so many threads, and hands it to `take` in the order of the parts. Each thread is
/// at most two parts ahead.
///
/// # Errors
/// The first of `make` or `take`, in the order of the parts.
pub(crate) fn in_turns<P: Clone + Sync, T: Send>(
    threads: usize,
    parts: &[P],
    make: impl Fn(P) -> Result<T> + Sync,
    take: &mut dyn FnMut(T) -> Result<()>,
) -> Result<()> {
    std::thread::scope(|scope| {
        let make = &make;
        let start = |first: usize| {
            let (give, made) = mpsc::sync_channel(1);
            let work = move || {
                let own = parts.iter().skip(first).step_by(threads);
                // Nobody takes any more after an error.
                let _ = own.map(|part| make(part.clone())).try_for_each(|made| give.send(made));
            };
            Builder::new().spawn_scoped(scope, work).ok().map(|_| made)
        };
        let workers: Vec<Option<mpsc::Receiver<Result<T>>>> = (0..threads).map(start).collect();
        for (part, worker) in parts.iter().zip(workers.iter().cycle()) {
            let made = match worker {
                Some(worker) => worker.recv(),
                None => Ok(make(part.clone())),
            };
            // Without an answer it has panicked, which the end of the scope hands on.
            let Ok(made) = made else { break };
            take(made?)?;
        }
        Ok(())
    })
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
    use crate::ErrorKind;

    #[test]
    fn what_is_made_side_by_side_is_taken_in_order() {
        let parts: Vec<usize> = (0..50).collect();
        for threads in 1..5 {
            let mut taken = Vec::new();
            let made = in_turns(threads, &parts, |part| Ok(part * 2), &mut |made| {
                taken.push(made);
                Ok(())
            });
            made.unwrap();
            assert_eq!(taken, parts.iter().map(|part| part * 2).collect::<Vec<_>>());
            // The first error in the order of the parts, and nothing behind it.
            taken.clear();
            let wrong = |part: usize| Err(ErrorKind::TooLong { limit: part }.into());
            let made = in_turns(
                threads,
                &parts,
                |part| if part % 10 == 7 { wrong(part) } else { Ok(part) },
                &mut |made| {
                    taken.push(made);
                    Ok(())
                },
            );
            assert!(matches!(made.unwrap_err().kind(), ErrorKind::TooLong { limit: 7 }));
            assert_eq!(taken, [0, 1, 2, 3, 4, 5, 6]);
        }
        assert!(
            std::panic::catch_unwind(|| in_turns(
                2,
                &parts,
                |part| if part == 3 { panic!() } else { Ok(()) },
                &mut Ok
            ))
            .is_err()
        );
    }

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
