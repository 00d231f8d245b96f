//! The number of threads, and threads that need not start.
//!
//! Threads are for speed: where the system starts no more of them (`ulimit -u`, a container's number
//! of processes), their work is done by those that there are.

use std::collections::HashMap;
use std::num::NonZero;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::{Builder, Scope, ScopedJoinHandle};

use crate::error::{Error, Result};

/// The number of threads that was asked for; 0 is as many as there are processors.
pub(crate) fn count(asked: usize) -> usize {
    match asked {
        0 => std::thread::available_parallelism().map_or(1, NonZero::get),
        asked => asked,
    }
}

/// The text of a part, which is handed on in pieces when it grows long.
pub(crate) struct PartText<'t> {
    text: Vec<u8>,
    hand_on: &'t dyn Fn(&[u8]) -> Result<()>,
}

impl PartText<'_> {
    /// More text than this waits for its turn: a part may be any number of bytes. Measured: parts of the usual size
    /// are a quarter of it.
    const MOST: usize = if cfg!(test) { 64 } else { 1 << 20 };

    /// Adds what `put` appends to the text.
    ///
    /// # Errors
    /// Those of taking.
    pub(crate) fn add(&mut self, put: impl FnOnce(&mut Vec<u8>)) -> Result<()> {
        put(&mut self.text);
        if self.text.len() < PartText::MOST {
            return Ok(());
        }
        (self.hand_on)(&self.text)?;
        self.text.clear();
        self.text.shrink_to(PartText::MOST);
        Ok(())
    }
}

/// Makes text of each part on so many threads, and hands it to `take` in the order of the parts. Each thread has what
/// `begin` makes for it. The thread that has made the next text hands it on, and the texts behind it that are waiting.
/// A thread whose text is long waits until all before it is taken, so that memory is bounded by bytes.
///
/// # Errors
/// The first of making or taking, in the order of the parts.
pub(crate) fn in_turns<P: Clone + Sync, M: FnMut(P, &mut PartText<'_>) -> Result<()>>(
    threads: usize,
    parts: &[P],
    begin: impl Fn() -> M + Sync,
    take: &mut (dyn FnMut(&[u8]) -> Result<()> + Send),
) -> Result<()> {
    /// Parts of each thread that may be made before one that is not.
    const AHEAD: usize = 4;
    struct Turns {
        begun: usize,
        taken: usize,
        made: HashMap<usize, Result<Vec<u8>>>,
        /// Texts that were taken are written over: fresh memory takes longer than what is in it.
        spare: Vec<Vec<u8>>,
        /// True after an error or a panic: nothing more is made or taken.
        over: bool,
        error: Option<Error>,
    }
    let turns =
        Turns { begun: 0, taken: 0, made: HashMap::new(), spare: Vec::new(), over: false, error: None };
    let (turns, take, moved) = (Mutex::new(turns), Mutex::new(take), Condvar::new());
    let lock = || turns.lock().unwrap_or_else(PoisonError::into_inner);
    let work = || {
        // Others must not wait for what a thread that panics would have made.
        let _guard = Finally(|| {
            if std::thread::panicking() {
                lock().over = true;
                moved.notify_all();
            }
        });
        let mut make = begin();
        loop {
            let mut now = lock();
            while now.begun - now.taken >= AHEAD * threads && !now.over {
                now = moved.wait(now).unwrap_or_else(PoisonError::into_inner);
            }
            let own = now.begun;
            let Some(part) = parts.get(own).filter(|_| !now.over) else { return };
            now.begun += 1;
            let mut text = now.spare.pop().unwrap_or_default();
            drop(now);
            text.clear();
            let hand_on = |text: &[u8]| {
                let mut now = lock();
                while now.taken != own && !now.over {
                    now = moved.wait(now).unwrap_or_else(PoisonError::into_inner);
                }
                if now.over {
                    // Nobody hears of it: whatever this part gives is dropped.
                    return Err(std::io::Error::from(std::io::ErrorKind::Interrupted).into());
                }
                drop(now);
                // Until this part is taken, no other is.
                (take.lock().expect("it panics nowhere"))(text)
            };
            let mut text = PartText { text, hand_on: &hand_on };
            let made = make(part.clone(), &mut text).map(|()| text.text);
            now = lock();
            now.made.insert(own, made);
            // While another thread hands on, the text that is next is not there.
            loop {
                let next = now.taken;
                let Some(made) = now.made.remove(&next).filter(|_| !now.over) else { break };
                drop(now);
                let done =
                    made.and_then(|text| (take.lock().expect("it panics nowhere"))(&text).map(|()| text));
                now = lock();
                now.taken += 1;
                match done {
                    Ok(text) => now.spare.push(text),
                    Err(error) => {
                        now.over = true;
                        now.error = Some(error);
                    }
                }
                moved.notify_all();
            }
        }
    };
    std::thread::scope(|scope| {
        let others: Vec<_> = (1..threads).map(|_| Task::start(scope, work)).collect();
        work();
        others.into_iter().for_each(Task::join);
    });
    turns.into_inner().unwrap_or_else(PoisonError::into_inner).error.map_or(Ok(()), Err)
}

/// Some formats recurse: the stack of a thread that reads recordings is as large as that of a program.
pub(crate) const STACK: usize = 8 << 20;

/// Makes something of each number below `count` on so many threads, and hands it to `take` in the order of the numbers.
///
/// # Errors
/// Those of `take`, after which nothing more is made.
#[cfg(feature = "parquet")]
pub(crate) fn in_order<T: Send>(
    threads: usize,
    count: usize,
    make: impl Fn(usize) -> T + Sync,
    take: &mut dyn FnMut(T) -> Result<()>,
) -> Result<()> {
    /// Things of each thread that may be made before one that is not.
    const AHEAD: usize = 2;
    struct Turns<T> {
        begun: usize,
        taken: usize,
        made: HashMap<usize, T>,
        over: bool,
    }
    let turns = Mutex::new(Turns { begun: 0, taken: 0, made: HashMap::new(), over: false });
    let moved = Condvar::new();
    let lock = || turns.lock().unwrap_or_else(PoisonError::into_inner);
    let end = || {
        lock().over = true;
        moved.notify_all();
    };
    let work = || {
        let _guard = Finally(|| {
            if std::thread::panicking() {
                end();
            }
        });
        loop {
            let mut now = lock();
            while now.begun - now.taken >= AHEAD * threads && !now.over {
                now = moved.wait(now).unwrap_or_else(PoisonError::into_inner);
            }
            let own = now.begun;
            if own >= count || now.over {
                return;
            }
            now.begun += 1;
            drop(now);
            let made = make(own);
            lock().made.insert(own, made);
            moved.notify_all();
        }
    };
    std::thread::scope(|scope| {
        // However this ends, the others must not wait.
        let _guard = Finally(end);
        let started = (0..threads.min(count))
            .map_while(|_| Builder::new().stack_size(STACK).spawn_scoped(scope, work).ok())
            .count();
        for next in 0..count {
            let made = if started == 0 {
                make(next)
            } else {
                let mut now = lock();
                loop {
                    if let Some(made) = now.made.remove(&next) {
                        break made;
                    }
                    if now.over {
                        return Ok(());
                    }
                    now = moved.wait(now).unwrap_or_else(PoisonError::into_inner);
                }
            };
            take(made)?;
            lock().taken += 1;
            moved.notify_all();
        }
        Ok(())
    })
}

/// Does something in the end, however it comes.
struct Finally<F: Fn()>(F);

impl<F: Fn()> Drop for Finally<F> {
    fn drop(&mut self) {
        (self.0)();
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
    use crate::ErrorKind;

    #[test]
    fn what_is_made_side_by_side_is_taken_in_order() {
        let parts: Vec<usize> = (0..50).collect();
        let run = |threads: usize, wrong: Option<usize>| {
            let make = || {
                |part: usize, text: &mut PartText<'_>| {
                    text.add(|text| text.push(part as u8))?;
                    if Some(part % 10) == wrong {
                        Err(ErrorKind::TooLong { limit: part }.into())
                    } else {
                        Ok(())
                    }
                }
            };
            let mut taken = Vec::new();
            let done = in_turns(threads, &parts, make, &mut |text| {
                taken.extend_from_slice(text);
                Ok(())
            });
            (taken, done)
        };
        for threads in 1..5 {
            let (taken, done) = run(threads, None);
            assert!(done.is_ok() && taken.iter().copied().eq(0..50));
            // The first error in the order of the parts, and nothing behind it.
            let (taken, done) = run(threads, Some(7));
            assert!(matches!(done.unwrap_err().kind(), ErrorKind::TooLong { limit: 7 }));
            assert_eq!(taken, [0, 1, 2, 3, 4, 5, 6]);
        }
        let panics = || {
            in_turns(
                2,
                &parts,
                || |part, _: &mut PartText<'_>| if part == 3 { panic!() } else { Ok(()) },
                &mut |_| Ok(()),
            )
        };
        assert!(std::panic::catch_unwind(panics).is_err());
    }

    /// 24 kB of pprof, a name of a megabyte in thousands of stacks, were gigabytes of text that waited.
    #[test]
    fn long_text_is_handed_on_in_pieces() {
        const LINES: usize = 500;
        let parts: Vec<usize> = (0..20).collect();
        for threads in 1..5 {
            let make = || {
                |part: usize, text: &mut PartText<'_>| {
                    (0..LINES).try_for_each(|n| text.add(|text| text.extend([part as u8, (n % 256) as u8])))
                }
            };
            let (mut taken, mut longest) = (Vec::new(), 0);
            in_turns(threads, &parts, make, &mut |text| {
                longest = longest.max(text.len());
                taken.extend_from_slice(text);
                Ok(())
            })
            .unwrap();
            let all = parts.iter().flat_map(|&part| (0..LINES).flat_map(move |n| [part as u8, n as u8]));
            assert!(taken.iter().copied().eq(all), "{threads} threads");
            assert_eq!(longest, PartText::MOST, "{threads} threads");
            // An error in the middle of a part ends all of them.
            let mut calls = 0;
            let failed = in_turns(threads, &parts, make, &mut |_| {
                calls += 1;
                if calls == 30 { Err(ErrorKind::TooLong { limit: 30 }.into()) } else { Ok(()) }
            });
            assert!(matches!(failed.unwrap_err().kind(), ErrorKind::TooLong { limit: 30 }));
            assert_eq!(calls, 30, "{threads} threads");
        }
    }

    #[cfg(feature = "parquet")]
    #[test]
    fn things_are_handed_on_in_order_and_few_are_made_ahead() {
        use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
        for threads in [1, 2, 5] {
            let (begun, mut taken) = (AtomicUsize::new(0), Vec::new());
            let make = |number: usize| {
                begun.fetch_add(1, SeqCst);
                number * 2
            };
            in_order(threads, 100, make, &mut |made| {
                assert!(begun.load(SeqCst) <= taken.len() + 2 * threads, "{threads} threads");
                taken.push(made);
                Ok(())
            })
            .unwrap();
            assert_eq!(taken, (0..100).map(|number| number * 2).collect::<Vec<_>>());
            // An error ends it, and nobody waits for ever.
            let mut calls = 0;
            let failed = in_order(threads, 100, |number| number, &mut |_| {
                calls += 1;
                if calls == 7 { Err(ErrorKind::TooLong { limit: 7 }.into()) } else { Ok(()) }
            });
            assert!(failed.is_err() && calls == 7);
            let panics = || in_order(threads, 9, |number| assert_ne!(number, 4), &mut |()| Ok(()));
            assert!(std::panic::catch_unwind(panics).is_err());
        }
        in_order(3, 0, |_| (), &mut |()| Ok(())).unwrap();
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
