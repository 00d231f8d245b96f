//! A child that waits, just before it becomes another program, until it is told to go on.
//!
//! Events are attached to the child while it waits, so that not one instruction of the program is
//! missed. The thread that starts the child also waits for its end: `Command::spawn` returns only
//! when the new program runs.

use std::io::{self, PipeReader, PipeWriter, Read, Write};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::thread::JoinHandle;

use super::wait::{self, End, Ended};

/// A child that waits, runs, or has ended. One that runs when this is dropped is asked to end, and
/// waited for: no error may leave it behind.
#[derive(Debug)]
pub struct Launched {
    pid: u32,
    go: Option<PipeWriter>,
    ended: PipeReader,
    release: Option<PipeWriter>,
    /// `None` once it was waited for.
    waiter: Option<JoinHandle<io::Result<Ended>>>,
}

impl Launched {
    /// Starts a child and returns as soon as it waits.
    ///
    /// # Errors
    /// The error of the system.
    pub fn new(command: Command) -> io::Result<Launched> {
        Launched::ending(command, End::Gone)
    }

    /// Starts a child that is gone or held at its end.
    ///
    /// # Errors
    /// The error of the system.
    pub fn ending(mut command: Command, how: End) -> io::Result<Launched> {
        let (mut ready, child_ready) = io::pipe()?;
        let (child_go, go) = io::pipe()?;
        let (ended, end) = io::pipe()?;
        let (released, release) = io::pipe()?;
        let (ready_fd, go_fd, writer_fd) = (child_ready.as_raw_fd(), child_go.as_raw_fd(), go.as_raw_fd());
        // SAFETY: the closure runs between fork and exec and makes only system calls there; the
        // descriptors are open in the child, which has a copy of ours.
        unsafe {
            command.pre_exec(move || wait_to_go(ready_fd, go_fd, writer_fd));
        }
        #[cfg(not(target_os = "linux"))]
        let (End::Gone | End::Held | End::Shielded(_)) = how;
        let waiter = std::thread::Builder::new().spawn(move || {
            let child = command.spawn();
            // Gone in the parent: only the child's copies count from here on.
            drop((child_ready, child_go));
            let status = match child {
                #[cfg(target_os = "linux")]
                Ok(child) if how != End::Gone => return super::hold::wait(child.id(), how, end, released),
                child => child.and_then(|child| wait::wait(child.id())),
            };
            // Closing these tells the other ends that the program has ended.
            drop((end, released));
            status
        })?;
        let mut pid = [0; 4];
        match ready.read_exact(&mut pid) {
            Ok(()) => Ok(Launched {
                pid: u32::from_ne_bytes(pid),
                go: Some(go),
                ended,
                release: Some(release),
                waiter: Some(waiter),
            }),
            // It never came so far.
            Err(_) => {
                drop(go);
                Err(join(waiter).err().unwrap_or_else(|| io::Error::other("the child ended at once")))
            }
        }
    }

    /// The child's process.
    pub fn pid(&self) -> u32 {
        self.pid
    }

    /// Lets it go on.
    pub fn go(&mut self) {
        if let Some(mut go) = self.go.take() {
            // A child that was killed in the meantime is seen by `wait`.
            let _ = go.write_all(&[1]);
        }
    }

    /// Readable as soon as it has ended.
    pub fn ended(&self) -> BorrowedFd<'_> {
        self.ended.as_fd()
    }

    /// Waits for its end. A child that was never told to go does nothing and ends.
    ///
    /// # Errors
    /// The error of the system when the program could not be run.
    pub fn wait(mut self) -> io::Result<Ended> {
        drop((self.go.take(), self.release.take()));
        self.waiter.take().map_or_else(|| Err(io::Error::other("it was waited for")), join)
    }
}

impl Drop for Launched {
    fn drop(&mut self) {
        let Some(waiter) = self.waiter.take() else { return };
        let runs = self.go.take().is_none();
        if runs && !waiter.is_finished() {
            super::processes::signal_tree(self.pid, libc::SIGTERM);
        }
        drop(self.release.take());
        let _ = join(waiter);
    }
}

fn join(waiter: JoinHandle<io::Result<Ended>>) -> io::Result<Ended> {
    waiter.join().unwrap_or_else(|_| Err(io::Error::other("the thread that waits for it failed")))
}

/// Runs in the child: writes its process id, and waits for one byte.
fn wait_to_go(ready: i32, go: i32, writer: i32) -> io::Result<()> {
    let mut byte = [0u8];
    // SAFETY: system calls on descriptors that are open here, with buffers that live as long.
    unsafe {
        super::signals::restore_in_child();
        // Else the child itself would keep the pipe open when its parent dies.
        libc::close(writer);
        let pid = (libc::getpid() as u32).to_ne_bytes();
        if libc::write(ready, pid.as_ptr().cast(), pid.len()) != pid.len() as isize {
            return Err(io::Error::last_os_error());
        }
        loop {
            match libc::read(go, byte.as_mut_ptr().cast(), 1) {
                1 => return Ok(()),
                -1 if io::Error::last_os_error().kind() == io::ErrorKind::Interrupted => {}
                // The recorder gave up or has ended: the program is not to run.
                _ => libc::_exit(127),
            }
        }
    }
}
