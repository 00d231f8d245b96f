//! The signals that ask a recorder to stop: the first is a request, the second ends everything at once.
//!
//! Ctrl-C, SIGTERM, SIGHUP (the terminal was closed) and SIGQUIT are such requests. The handler does
//! only what POSIX allows in one: it counts, and writes a byte into a pipe. One pipe wakes the recorder;
//! the other, at the second signal, a thread that kills the target with all that it has started,
//! removes temporary files and leaves. Folding is not interrupted by the first signal, so a profile is
//! written however the target was stopped.
//!
//! One request may arrive as several signals: `timeout` sends its signal to the program and to the
//! group, a shell passes on the SIGHUP that the system sends too, npm passes on a Ctrl-C. So a signal
//! that was sent shortly after a request belongs to it, and SIGHUP is never a second one: nobody
//! is at that terminal to be impatient.

use std::fs::File;
use std::io::{self, PipeReader, Read};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, IntoRawFd};
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use super::{check, leftovers, processes};

/// The signals that ask to stop.
pub const REQUESTS: [libc::c_int; 4] = [libc::SIGINT, libc::SIGTERM, libc::SIGHUP, libc::SIGQUIT];

/// Signals that programs send within this time are one request: two of `timeout` come within
/// microseconds, and nobody types `kill` twice as fast.
const ONE_REQUEST: Duration = Duration::from_millis(200);

/// The number of requests that came.
static COUNT: AtomicUsize = AtomicUsize::new(0);
/// The first signal that came, 0 for none.
static FIRST: AtomicI32 = AtomicI32::new(0);
/// The time of the last request, in nanoseconds.
static LAST: AtomicU64 = AtomicU64::new(0);
/// The end to write to of the pipe that wakes the recorder; never closed once it is set.
static WAKE: AtomicI32 = AtomicI32::new(-1);
/// The end to write to of the pipe that wakes the thread that ends everything, which writes -1 here
/// when it begins to.
static END: AtomicI32 = AtomicI32::new(-1);
/// True if the first signal came from the terminal, which sends it to all of our process group.
static FROM_TERMINAL: AtomicBool = AtomicBool::new(false);
/// The process that the second signal kills too, 0 for none.
static TARGET: AtomicI32 = AtomicI32::new(0);

/// True if the second signal is a request as well, and only the third ends everything at once.
static PATIENT: AtomicBool = AtomicBool::new(false);

/// The last signal of [`UserSignal`] that came and was not taken, 0 for none.
static USER: AtomicI32 = AtomicI32::new(0);

/// A signal whose meaning the recording decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UserSignal {
    /// SIGUSR1.
    First,
    /// SIGUSR2.
    Second,
}

/// Requests to stop, from the time it is made.
#[derive(Debug)]
pub struct Stop {
    wake: File,
    is_passed_on: AtomicBool,
}

impl Stop {
    /// Installs the handlers; to be called once in a program's life.
    ///
    /// SIGHUP stays ignored where it is, as below `nohup`. SIGINT does not, although shells without
    /// job control ignore it in what they start in the background: a script could not end a recording.
    ///
    /// # Errors
    /// The error of the system.
    pub fn install() -> io::Result<Stop> {
        let (reader, writer) = io::pipe()?;
        let (end, end_writer) = io::pipe()?;
        // A full pipe must not block the handler.
        set_nonblocking(writer.as_fd())?;
        set_nonblocking(reader.as_fd())?;
        set_nonblocking(end_writer.as_fd())?;
        std::thread::Builder::new().name("end".to_owned()).spawn(move || end_at_once(end))?;
        WAKE.store(writer.into_raw_fd(), Ordering::SeqCst);
        END.store(end_writer.into_raw_fd(), Ordering::SeqCst);
        for signal in REQUESTS {
            if signal != libc::SIGHUP || !is_ignored(signal)? {
                handle(signal, on_signal as *const () as usize)?;
            }
        }
        // A file that may not grow any more is an error of the write, and no reason to die. A handler
        // and not SIG_IGN, which programs that we start would inherit.
        handle(libc::SIGXFSZ, on_file_size as *const () as usize)?;
        let wake = File::from(std::os::fd::OwnedFd::from(reader));
        Ok(Stop { wake, is_passed_on: AtomicBool::new(false) })
    }

    /// From now on SIGUSR1 and SIGUSR2 do not end this process, and [`Stop::take_user_signal`] tells of them.
    ///
    /// # Errors
    /// The error of the system.
    pub fn take_user_signals(&self) -> io::Result<()> {
        handle(libc::SIGUSR1, on_user_signal as *const () as usize)?;
        handle(libc::SIGUSR2, on_user_signal as *const () as usize)
    }

    /// The last of SIGUSR1 and SIGUSR2 that came since this was called before.
    pub fn take_user_signal(&self) -> Option<UserSignal> {
        let signal = match USER.swap(0, Ordering::SeqCst) {
            libc::SIGUSR1 => UserSignal::First,
            libc::SIGUSR2 => UserSignal::Second,
            _ => return None,
        };
        self.drain();
        Some(signal)
    }

    /// The signal that asked to stop, if one did.
    pub fn requested(&self) -> Option<i32> {
        Some(FIRST.load(Ordering::SeqCst)).filter(|signal| *signal != 0)
    }

    /// The number of requests that came.
    pub fn count(&self) -> usize {
        COUNT.load(Ordering::SeqCst)
    }

    /// Makes the second signal a request too, if `patient`: for callers that have to clear away more
    /// than is known here. The third then ends everything at once.
    pub fn be_patient(&self, patient: bool) {
        PATIENT.store(patient, Ordering::SeqCst);
    }

    /// Makes [`Stop::wake`] wait for the next signal.
    pub fn drain(&self) {
        let mut bytes = [0; 8];
        while matches!((&self.wake).read(&mut bytes), Ok(1..)) {}
    }

    /// Returns true if the program that we started got the first signal too: a Ctrl-C on its terminal.
    pub fn reached_all(&self) -> bool {
        FROM_TERMINAL.load(Ordering::SeqCst)
    }

    /// Returns true, once, if the request has still to be passed on to the program that we started.
    pub(crate) fn take_to_pass_on(&self) -> bool {
        !self.is_passed_on.swap(true, Ordering::SeqCst) && !self.reached_all()
    }

    /// Readable as soon as a signal came.
    pub fn wake(&self) -> BorrowedFd<'_> {
        self.wake.as_fd()
    }

    /// From now on the second signal kills this process too, with all that it has started.
    pub fn take_along(&self, pid: Option<u32>) {
        TARGET.store(pid.map_or(0, |pid| pid.cast_signed()), Ordering::SeqCst);
    }
}

/// Installs a handler.
fn handle(signal: libc::c_int, handler: usize) -> io::Result<()> {
    // SAFETY: a zeroed sigaction is a valid value; the handlers are async-signal-safe, and the
    // pointer is to a live value for the time of the call.
    let result = unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = handler;
        action.sa_flags = libc::SA_RESTART | libc::SA_SIGINFO;
        libc::sigemptyset(&mut action.sa_mask);
        libc::sigaction(signal, &action, std::ptr::null_mut())
    };
    check(result).map(|_| ())
}

/// Returns true if this process ignores a signal.
fn is_ignored(signal: libc::c_int) -> io::Result<bool> {
    // SAFETY: a zeroed sigaction is a valid value, and the pointer is to a live one.
    let (result, action) = unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        (libc::sigaction(signal, std::ptr::null(), &mut action), action)
    };
    check(result).map(|_| action.sa_sigaction == libc::SIG_IGN)
}

/// Gives a child between fork and exec the signals as they are by default: its own from now on,
/// which our handler would swallow. What it shall ignore, as below `nohup`, stays ignored.
pub(super) fn restore_in_child() {
    for signal in REQUESTS.into_iter().chain([libc::SIGXFSZ]) {
        if signal != libc::SIGHUP || !is_ignored(signal).unwrap_or(false) {
            // SAFETY: takes integers only, and may be called between fork and exec.
            unsafe {
                libc::signal(signal, libc::SIG_DFL);
            }
        }
    }
}

extern "C" fn on_user_signal(signal: libc::c_int, _: *mut libc::siginfo_t, _: *mut libc::c_void) {
    USER.store(signal, Ordering::SeqCst);
    write_byte(WAKE.load(Ordering::SeqCst), 1);
}

extern "C" fn on_file_size(_: libc::c_int, _: *mut libc::siginfo_t, _: *mut libc::c_void) {}

extern "C" fn on_signal(signal: libc::c_int, info: *mut libc::siginfo_t, _: *mut libc::c_void) {
    // SAFETY: with SA_SIGINFO the kernel passes a live siginfo.
    let from_kernel = unsafe { is_from_kernel(&*info) };
    // The terminal's SIGHUP reaches its first process alone, as long as that lives.
    let is_typed = from_kernel && signal != libc::SIGHUP;
    let now = nanoseconds();
    let last = LAST.load(Ordering::SeqCst);
    let is_soon = u128::from(now.saturating_sub(last)) < ONE_REQUEST.as_nanos();
    if last != 0 && (signal == libc::SIGHUP || (is_soon && !is_typed)) {
        return;
    }
    LAST.store(now, Ordering::SeqCst);
    let before = COUNT.fetch_add(1, Ordering::SeqCst);
    if before == 0 {
        FROM_TERMINAL.store(is_typed, Ordering::SeqCst);
        FIRST.store(signal, Ordering::SeqCst);
    }
    let is_request = before == 0 || (before == 1 && PATIENT.load(Ordering::SeqCst));
    if is_request {
        write_byte(WAKE.load(Ordering::SeqCst), 1);
        return;
    }
    let end = END.load(Ordering::SeqCst);
    if end >= 0 {
        write_byte(end, u8::try_from(signal).unwrap_or(0));
        return;
    }
    // Files are being renamed: the signal comes again.
    if !crate::temporary::end_by(signal) {
        COUNT.fetch_sub(1, Ordering::SeqCst);
        return;
    }
    let target = TARGET.load(Ordering::SeqCst);
    // SAFETY: kill and _exit may be called in a handler; the target is our child and not yet
    // waited for, or 0.
    unsafe {
        if target > 0 {
            libc::kill(target, libc::SIGKILL);
        }
        libc::_exit(128 + signal);
    }
}

/// Waits for the second signal, and ends this process and its target.
fn end_at_once(mut end: PipeReader) {
    let mut signal = [0];
    if !matches!(end.read(&mut signal), Ok(1..)) {
        return;
    }
    // A further signal does not wait for this thread.
    END.store(-1, Ordering::SeqCst);
    if let Ok(target @ 1..) = u32::try_from(TARGET.load(Ordering::SeqCst)) {
        processes::kill_tree(target);
    }
    leftovers::remove_all();
    // While files are being renamed, the end waits.
    while !crate::temporary::end_by(i32::from(signal[0])) {
        std::thread::yield_now();
    }
    // SAFETY: takes an integer only.
    unsafe { libc::_exit(128 + i32::from(signal[0])) }
}

/// Writes a byte in a handler, where that is allowed; errno, which it may change, is put back.
fn write_byte(fd: libc::c_int, byte: u8) {
    // SAFETY: the buffer is live, and errno that of this thread.
    unsafe {
        let errno = errno_location();
        let before = *errno;
        libc::write(fd, (&raw const byte).cast(), 1);
        *errno = before;
    }
}

/// The time of a clock that only runs forward.
fn nanoseconds() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the pointer is to a live value; the function may be called in a handler.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut time) };
    let part = |number: i64| u64::try_from(number).unwrap_or(0);
    part(time.tv_sec as _).saturating_mul(1_000_000_000) + part(time.tv_nsec as _)
}

/// Returns true if the kernel itself sent a signal, for a key that was pressed on the terminal.
#[cfg(target_os = "linux")]
fn is_from_kernel(info: &libc::siginfo_t) -> bool {
    /// The code of what the kernel itself sends.
    const SI_KERNEL: libc::c_int = 0x80;
    info.si_code == SI_KERNEL
}

/// Returns true if a signal has no sender, as one for a key that was pressed on the terminal.
#[cfg(not(target_os = "linux"))]
fn is_from_kernel(info: &libc::siginfo_t) -> bool {
    // SAFETY: the signals that are handled here have a sender in their siginfo, 0 for the kernel.
    unsafe { info.si_pid() == 0 }
}

/// This thread's errno.
unsafe fn errno_location() -> *mut libc::c_int {
    #[cfg(any(target_os = "illumos", target_os = "solaris"))]
    use libc::___errno as location;
    #[cfg(any(target_os = "netbsd", target_os = "openbsd", target_os = "android"))]
    use libc::__errno as location;
    #[cfg(target_os = "linux")]
    use libc::__errno_location as location;
    #[cfg(any(target_vendor = "apple", target_os = "freebsd", target_os = "dragonfly"))]
    use libc::__error as location;
    // SAFETY: always valid for the calling thread.
    unsafe { location() }
}

fn set_nonblocking(fd: BorrowedFd<'_>) -> io::Result<()> {
    // SAFETY: the descriptor is open; both calls take integers only.
    let flags = check(unsafe { libc::fcntl(fd.as_raw_fd(), libc::F_GETFL) })?;
    // SAFETY: as above.
    check(unsafe { libc::fcntl(fd.as_raw_fd(), libc::F_SETFL, flags | libc::O_NONBLOCK) })?;
    Ok(())
}

/// Asks ourselves to stop, as a first SIGTERM would; it does not count as one.
pub fn request_stop() {
    let _ = FIRST.compare_exchange(0, libc::SIGTERM, Ordering::SeqCst, Ordering::SeqCst);
    // Before the handlers are installed this goes to no descriptor.
    write_byte(WAKE.load(Ordering::SeqCst), 1);
}
