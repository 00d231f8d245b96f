//! The files in a zip or tar archive, read one after the other as they stream by: none is held in memory.

mod tar;
mod zip;

use std::io::{self, Read};
use std::sync::{Arc, Mutex, PoisonError};

use crate::error::{Position, Result};
use crate::input::{Input, InputMeter, Reader};

/// Returns whether the first bytes are those of an archive.
pub(crate) fn is_packed(head: &[u8]) -> bool {
    zip::is_zip(head) || tar::is_tar(head)
}

/// The format of an archive, as it streams by.
trait Unpack: Send {
    /// Goes on to the next file behind the one that was read to its end, and returns its name.
    ///
    /// # Errors
    /// A damaged archive, and files that cannot be unpacked.
    fn next(&mut self) -> Result<Option<Vec<u8>>>;

    /// Reads some of the file; 0 at its end.
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize>;
}

/// The files of an archive, one after the other.
pub(crate) struct Members {
    name: Arc<str>,
    shared: Arc<Mutex<Shared>>,
    meter: Option<InputMeter>,
}

/// The archive, which is read by its current file.
struct Shared {
    archive: Box<dyn Unpack>,
    /// The number of the current file.
    current: u64,
}

impl Members {
    /// Begins before the first file.
    pub(crate) fn new(input: Input) -> Members {
        let name = input.name().clone();
        let meter = input.meter_of_members();
        let is_zip = zip::is_zip(input.head());
        let reader = input.into_reader();
        let archive: Box<dyn Unpack> =
            if is_zip { Box::new(zip::Zip::new(reader)) } else { Box::new(tar::Tar::new(reader)) };
        Members { name, shared: Arc::new(Mutex::new(Shared { archive, current: 0 })), meter }
    }

    /// The next file, by its name in the archive.
    ///
    /// # Errors
    /// A damaged archive, and files that cannot be unpacked.
    pub(crate) fn next(&mut self) -> Result<Option<(String, Input)>> {
        let (member, number) = {
            let mut shared = self.shared.lock().unwrap_or_else(PoisonError::into_inner);
            let mut rest = vec![0; 64 * 1024];
            // A file that was left out, or that has more behind its recording.
            if shared.current > 0 {
                let at = || Position::file(self.name.clone());
                let failed = |e| crate::input::read_error(e).or_at(at);
                loop {
                    match shared.archive.read(&mut rest).map_err(failed)? {
                        0 => break,
                        read => self
                            .meter
                            .as_ref()
                            .map_or(Ok(()), |meter| meter.count(read))
                            .map_err(|e| e.or_at(at))?,
                    }
                }
            }
            let Some(member) = shared.archive.next()? else { return Ok(None) };
            shared.current += 1;
            (member, shared.current)
        };
        let member: String =
            String::from_utf8_lossy(&member).chars().map(|c| if c.is_control() { '?' } else { c }).collect();
        let name = format!("{}/{member}", self.name);
        let input = Input::member(
            name.into(),
            Box::new(Member { shared: self.shared.clone(), number }),
            self.meter.clone(),
        )?;
        Ok(Some((member, input)))
    }
}

/// A reader of one file.
struct Member {
    shared: Arc<Mutex<Shared>>,
    number: u64,
}

impl Read for Member {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let mut shared = self.shared.lock().unwrap_or_else(PoisonError::into_inner);
        if shared.current == self.number { shared.archive.read(buffer) } else { Ok(0) }
    }
}

/// Reads some of the `left` bytes of a file that is stored as it is.
fn read_stored(reader: &mut Reader, left: &mut u64, buffer: &mut [u8]) -> io::Result<usize> {
    let most = buffer.len().min(usize::try_from(*left).unwrap_or(usize::MAX));
    let read = reader.read(&mut buffer[..most])?;
    if read == 0 && most > 0 {
        return Err(damaged(&format!("it ends {left} bytes before the end of a file in it")));
    }
    *left -= read as u64;
    Ok(read)
}

/// The error of an archive that is not as it says.
fn damaged(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("damaged archive: {what}"))
}

#[cfg(test)]
pub(crate) mod tests {
    pub(crate) use super::zip::tests::stored as zip_of;

    pub(crate) fn tar(files: &[(&str, &[u8])]) -> Vec<u8> {
        let mut out = Vec::new();
        for (name, bytes) in files {
            out.extend(super::tar::tests::header(name, bytes.len() as u64, b'0'));
            out.extend_from_slice(bytes);
            out.resize(out.len().next_multiple_of(512), 0);
        }
        out.resize(out.len() + 1024, 0);
        out
    }
}
