//! Temporary names of outputs: a signal that ends the process removes them first.
//!
//! Outputs are written under temporary names and renamed when they are complete. Signal handlers,
//! also those of the recorder, call [`end_by`] before they end the process. While a [`Hold`] lives,
//! a signal waits: between the making of a file and the note of its name, and while several outputs
//! are put in their places. Blocking signals by the thread's mask would not do, since the system
//! then hands the signal to another thread of the process.
#![allow(unsafe_code)]

use std::ffi::{CString, c_char, c_int};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::ptr;
use std::sync::atomic::{AtomicI32, AtomicPtr, Ordering::SeqCst};

/// The gate of this process.
static GATE: Gate = Gate::new();
/// The first place for a name. Places are never freed, since a handler may be looking at them.
static PLACES: AtomicPtr<Place> = AtomicPtr::new(ptr::null_mut());

struct Place {
    /// A path from [`CString::into_raw`], or null. It belongs to whoever takes it out.
    path: AtomicPtr<c_char>,
    next: *mut Place,
}

/// The process is about to end: nothing may be made or renamed any more.
const ENDING: i32 = -1;

/// Says if a signal may end the process.
struct Gate {
    /// The number of holds that live, or [`ENDING`].
    holds: AtomicI32,
    /// A signal that came while it had to wait, 0 for none.
    waiting: AtomicI32,
}

impl Gate {
    const fn new() -> Gate {
        Gate { holds: AtomicI32::new(0), waiting: AtomicI32::new(0) }
    }

    /// Begins a hold; false if the process is about to end.
    fn hold(&self) -> bool {
        let one_more = |holds: i32| (holds != ENDING).then_some(holds + 1);
        self.holds.fetch_update(SeqCst, SeqCst, one_more).is_ok()
    }

    /// Ends a hold; a signal that waited for it is to be raised again.
    fn release(&self) -> Option<c_int> {
        if self.holds.fetch_sub(1, SeqCst) > 1 {
            return None;
        }
        Some(self.waiting.swap(0, SeqCst)).filter(|&signal| signal != 0)
    }

    /// Lets a signal end the process; false if it has to wait for the last hold, which raises it again. `pause` is
    /// called wherever another thread may come in between.
    fn end_by(&self, signal: c_int, pause: impl Fn()) -> bool {
        while self.holds.compare_exchange(0, ENDING, SeqCst, SeqCst).is_err_and(|holds| holds > 0) {
            pause();
            self.waiting.store(signal, SeqCst);
            pause();
            // The last hold may have ended before it could see the signal. If it was seen after all, it is raised.
            if self.holds.load(SeqCst) > 0 || self.waiting.swap(0, SeqCst) == 0 {
                return false;
            }
            pause();
        }
        true
    }
}

/// Lets signals that would end the process wait while it lives.
#[derive(Debug)]
pub(crate) struct Hold(());

impl Hold {
    /// Begins to hold signals back.
    pub(crate) fn new() -> Hold {
        while !GATE.hold() {
            // A handler in another thread is removing the names.
            std::thread::park();
        }
        Hold(())
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        if let Some(signal) = GATE.release() {
            // SAFETY: takes an integer only; the handler that noted the signal is called again.
            unsafe { libc::raise(signal) };
        }
    }
}

/// A name that is removed if a signal ends the process; forgotten when dropped.
#[derive(Debug)]
pub(crate) struct TemporaryName(&'static Place);

impl std::fmt::Debug for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Place")
    }
}

// SAFETY: `next` is set before a place is shared and never changed; the path is atomic.
unsafe impl Sync for Place {}

impl TemporaryName {
    /// Notes a path. To be called under the same [`Hold`] as the call that makes the file.
    pub(crate) fn note(path: &Path) -> TemporaryName {
        let path = CString::new(path.as_os_str().as_bytes()).unwrap_or_default().into_raw();
        let take = |place: &Place| place.path.compare_exchange(ptr::null_mut(), path, SeqCst, SeqCst).is_ok();
        if let Some(free) = places().find(|place| take(place)) {
            return TemporaryName(free);
        }
        let new = Box::into_raw(Box::new(Place { path: AtomicPtr::new(path), next: ptr::null_mut() }));
        let mut first = PLACES.load(SeqCst);
        loop {
            // SAFETY: the place is ours alone until it is in the list.
            unsafe { (*new).next = first };
            match PLACES.compare_exchange(first, new, SeqCst, SeqCst) {
                // SAFETY: places are never freed.
                Ok(_) => return TemporaryName(unsafe { &*new }),
                Err(now) => first = now,
            }
        }
    }
}

impl Drop for TemporaryName {
    fn drop(&mut self) {
        let path = self.0.path.swap(ptr::null_mut(), SeqCst);
        if !path.is_null() {
            // SAFETY: it came from `into_raw`, and nobody else has it any more.
            drop(unsafe { CString::from_raw(path) });
        }
    }
}

fn places() -> impl Iterator<Item = &'static Place> {
    // SAFETY: places are never freed.
    let at = |place: *mut Place| unsafe { place.as_ref() };
    std::iter::successors(at(PLACES.load(SeqCst)), move |place| at(place.next))
}

/// Removes all temporary names, for a signal handler that ends the process afterwards. Returns false
/// if the process has to go on for now: the signal is then raised again as soon as that is over.
pub(crate) fn end_by(signal: c_int) -> bool {
    if !GATE.end_by(signal, || ()) {
        return false;
    }
    remove_all();
    true
}

/// Removes all temporary names, for a signal handler that cannot wait.
pub(crate) fn remove_all() {
    // A folder is empty when what was in it is gone, wherever the places of both are.
    while places().fold(false, |any, place| place.remove() | any) {}
}

impl Place {
    /// Removes the file or the empty folder that has the name. Returns true if it is gone.
    fn remove(&self) -> bool {
        let path = self.path.swap(ptr::null_mut(), SeqCst);
        if path.is_null() {
            return false;
        }
        // SAFETY: the path is a live text that ends with a zero, ours since it was taken out; both calls
        // may be made in a handler. It is not freed: that may not be done in one.
        let is_gone = unsafe { libc::unlink(path) == 0 || libc::rmdir(path) == 0 };
        if !is_gone {
            self.path.store(path, SeqCst);
        }
        is_gone
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::{Cell, RefCell};

    /// Every order in which two holds can end and a third can begin and end while a signal comes: it ends the process
    /// or is raised again, never neither. The last hold that ended between two steps of the handler was the one that
    /// waited for ever.
    #[test]
    fn no_signal_is_lost_between_holds() {
        /// What happens at one of the handler's pauses, by the digits of a number: so many holds end or begin.
        const STEPS: [&[bool]; 8] = [
            &[],
            &[false],
            &[false, false],
            &[true],
            &[true, false],
            &[false, true],
            &[true, false, false],
            &[false, false, true],
        ];
        for order in 0..STEPS.len().pow(4) {
            let gate = Gate::new();
            let (live, at, raised) = (Cell::new(0), Cell::new(0), RefCell::new(Vec::new()));
            let release = || {
                live.set(live.get() - 1);
                raised.borrow_mut().extend(gate.release());
            };
            let begin = || live.set(live.get() + i32::from(gate.hold()));
            begin();
            begin();
            let pause = || {
                let steps = STEPS[order / STEPS.len().pow(at.get()) % STEPS.len()];
                at.set((at.get() + 1).min(4));
                for is_begin in steps.iter().filter(|_| at.get() < 4) {
                    match is_begin {
                        true => begin(),
                        false if live.get() > 0 => release(),
                        false => {}
                    }
                }
            };
            let is_over = gate.end_by(15, pause);
            while live.get() > 0 {
                release();
            }
            assert!(is_over || !raised.borrow().is_empty(), "order {order:o}: it is lost");
            assert!(!is_over || !gate.hold(), "order {order:o}: something may still be made");
        }
    }

    #[test]
    fn places_are_used_again() {
        let count = || places().count();
        drop([0; 3].map(|_| TemporaryName::note(Path::new("/nonexistent/a"))));
        let before = count();
        for _ in 0..100 {
            drop(TemporaryName::note(Path::new("/nonexistent/b")));
        }
        assert!(count() <= before + 3, "other tests may hold some");
    }

    #[test]
    fn names_of_several_threads_never_share_a_place() {
        let barrier = std::sync::Barrier::new(4);
        let note = |thread: usize| {
            barrier.wait();
            (0..8).map(|n| (thread, n)).map(name).collect::<Vec<_>>()
        };
        fn name((thread, n): (usize, usize)) -> (String, TemporaryName) {
            let path = format!("/nonexistent/{thread}/{n}");
            (path.clone(), TemporaryName::note(Path::new(&path)))
        }
        let names: Vec<_> = std::thread::scope(|scope| {
            let threads = [0, 1, 2, 3].map(|thread| scope.spawn(move || note(thread)));
            threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
        });
        for (path, name) in &names {
            // SAFETY: the name holds the path, which nobody takes out before it is dropped.
            let kept = unsafe { std::ffi::CStr::from_ptr(name.0.path.load(SeqCst)) };
            assert_eq!(kept.to_bytes(), path.as_bytes());
            assert!(places().any(|place| ptr::eq(place, name.0)), "{path} is in the list");
        }
    }

    #[test]
    fn a_name_that_is_dropped_while_it_is_removed_has_one_owner() {
        for _ in 0..20 {
            // A place of its own: no other test comes by.
            let path = AtomicPtr::new(CString::from(c"/nonexistent/c").into_raw());
            let own = Box::into_raw(Box::new(Place { path, next: ptr::null_mut() }));
            // SAFETY: it is freed below, when nobody uses it any more.
            let place: &'static Place = unsafe { &*own };
            let name = TemporaryName(place);
            std::thread::scope(|scope| {
                scope.spawn(|| assert!(!place.remove(), "there is no such file"));
                scope.spawn(move || drop(name));
            });
            // SAFETY: both threads have ended.
            let left = unsafe { Box::from_raw(own) }.path.into_inner();
            // Whoever came first: the path was freed, or it is back in its place.
            if !left.is_null() {
                // SAFETY: it came from `into_raw`, and nobody else has it any more.
                assert_eq!(unsafe { CString::from_raw(left) }.to_bytes(), b"/nonexistent/c");
            }
        }
    }
}
