//! A source of a reader that is borrowed: the reader stays on its thread, and another one reads the source.

use std::io::{self, Cursor, Read};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

use super::{HEAD, Source};
use crate::error::{Error, Position, Result};

/// The bytes of a chunk.
const CHUNK: usize = 256 * 1024;

/// The chunks that wait to be read.
const WAITING: usize = 4;

impl Source {
    /// Calls `read` with a source of what a reader gives, which can be opened once. The reader need be neither
    /// `Send` nor `'static`: it stays on this thread, and `read` is called on another one if there is more than a
    /// little.
    ///
    /// # Errors
    /// The reader's while the first bytes are read; the source has later ones.
    ///
    /// ```
    /// use fg_tools::{Profile, ReadOptions, Source};
    ///
    /// let text = String::from("main;parse 40\n");
    /// let profile = Source::scoped("upload", text.as_bytes(), |source| {
    ///     Profile::read(&[source], &ReadOptions::default())
    /// })??;
    /// assert_eq!(profile.stack_count(), 1);
    /// # Ok::<(), fg_tools::Error>(())
    /// ```
    pub fn scoped<T: Send>(
        name: impl Into<Arc<str>>,
        mut reader: impl Read,
        read: impl FnOnce(Source) -> T + Send,
    ) -> Result<T> {
        let name = name.into();
        let failed = |e: io::Error| super::read_error(e).or_at(|| Position::file(name.clone()));
        let mut head = Vec::new();
        // Some systems have no threads.
        let most = if cfg!(target_family = "wasm") { u64::MAX } else { HEAD as u64 + 1 };
        reader.by_ref().take(most).read_to_end(&mut head).map_err(failed)?;
        if most == u64::MAX || head.len() <= HEAD {
            return Ok(read(Source::bytes(head).named(name)));
        }
        thread::scope(|scope| {
            let (send, receive) = sync_channel(WAITING);
            let source = Source::reader(name.clone(), Chunks { receive, now: Cursor::new(head) });
            let started = thread::Builder::new().spawn_scoped(scope, move || read(source));
            let task = started.map_err(|e| Error::io("start a thread", e))?;
            feed(&mut reader, &send);
            drop(send);
            Ok(task.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
        })
    }
}

/// Sends all that a reader gives, until nobody wants more.
fn feed(reader: &mut dyn Read, send: &SyncSender<io::Result<Vec<u8>>>) {
    loop {
        let mut chunk = vec![0; CHUNK];
        let chunk = match reader.read(&mut chunk) {
            Ok(0) => break,
            Ok(read) => {
                chunk.truncate(read);
                Ok(chunk)
            }
            Err(e) if e.kind() == io::ErrorKind::Interrupted => continue,
            Err(e) => Err(e),
        };
        let is_last = chunk.is_err();
        if send.send(chunk).is_err() || is_last {
            break;
        }
    }
}

/// Reads what is sent.
struct Chunks {
    now: Cursor<Vec<u8>>,
    receive: Receiver<io::Result<Vec<u8>>>,
}

impl Read for Chunks {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            let read = self.now.read(buffer)?;
            if read > 0 || buffer.is_empty() {
                return Ok(read);
            }
            match self.receive.recv() {
                Ok(chunk) => self.now = Cursor::new(chunk?),
                Err(_) => return Ok(0),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::marker::PhantomData;
    use std::rc::Rc;

    use super::*;

    /// Gives some bytes, and then an error or the end. It cannot be sent to another thread.
    struct Failing<'a>(&'a [u8], bool, PhantomData<Rc<()>>);

    impl Read for Failing<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            match self.0.read(buffer)? {
                0 if self.1 => Err(io::Error::other("the line is cut")),
                read => Ok(read),
            }
        }
    }

    fn all(bytes: &[u8], fails: bool) -> Result<Vec<u8>> {
        let reader = Failing(bytes, fails, PhantomData);
        Source::scoped("line", reader, |source| source.open()?.read_all())?
    }

    #[test]
    fn a_borrowed_reader_is_read_to_its_end() {
        for size in [0, 10, HEAD, HEAD + 1, 3 * CHUNK + 7] {
            let bytes: Vec<u8> = (0..size).map(|n| (n % 251) as u8).collect();
            assert!(all(&bytes, false).unwrap() == bytes, "{size}");
            let error = all(&bytes, true).unwrap_err().to_string();
            assert_eq!(error, "line: cannot read: the line is cut", "{size}");
        }
    }

    #[test]
    fn a_reading_may_end_early() {
        let bytes = vec![b'x'; 10 * CHUNK];
        let head = Source::scoped("line", &bytes[..], |source| source.open().map(|input| input.head().len()));
        assert_eq!(head.unwrap().unwrap(), HEAD);
    }
}
