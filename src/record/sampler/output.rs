//! The place the records go to: a file, or the thread that folds them.

use std::fs::File;
use std::io;

use super::counted::Counted;
use super::data_file::{About, Compression, DataFile};
use super::plan::Plan;
use super::stream::{Part, Stream, Writer};

/// The place a recording goes to.
#[derive(Debug)]
pub enum Destination {
    /// A file, which becomes a perf.data.
    File(File, Compression),
    /// A thread that reads it meanwhile.
    Reader(Writer),
    /// A file, and a thread that reads it meanwhile.
    Both(File, Writer),
}

impl From<File> for Destination {
    fn from(file: File) -> Destination {
        Destination::File(file, Compression::None)
    }
}

impl From<Writer> for Destination {
    fn from(writer: Writer) -> Destination {
        Destination::Reader(writer)
    }
}

/// A recording being written.
pub(super) enum Output {
    File(DataFile),
    Stream(Stream),
    /// Without its reader the file goes on.
    Both(DataFile, Option<Stream>),
}

/// Bytes of a full disk that are given back, for the profile that is made of the recording and what
/// else has to be written: a sixteenth of the recording within these bounds.
const LEAST_SPARE: u64 = 16 << 10;
const MOST_SPARE: u64 = 1 << 20;

impl Output {
    pub fn new(destination: Destination, plan: &Plan, ids: &[Vec<u64>]) -> io::Result<Output> {
        Ok(match destination {
            Destination::File(file, compression) => {
                Output::File(DataFile::new(file, plan, ids, compression)?)
            }
            Destination::Reader(writer) => Output::Stream(Stream::new(writer, plan, ids)),
            Destination::Both(file, writer) => Output::Both(
                DataFile::new(file, plan, ids, Compression::None)?,
                Some(Stream::new(writer, plan, ids)),
            ),
        })
    }

    /// Returns true if the records are folded meanwhile.
    pub fn is_live(&self) -> bool {
        matches!(self, Output::Stream(_) | Output::Both(..))
    }

    /// The number of bytes of the records in a file; 0 without one.
    pub fn size(&self) -> u64 {
        match self {
            Output::File(file) | Output::Both(file, _) => file.size(),
            Output::Stream(_) => 0,
        }
    }

    /// Appends the first records: those of what was there before.
    pub fn begin(&mut self, records: &[u8], about: &About) -> io::Result<()> {
        match self {
            Output::File(_) => {}
            Output::Stream(stream) => stream.describe(about, (0, 0))?,
            Output::Both(_, stream) => for_reader(stream, |stream| stream.describe(about, (0, 0))),
        }
        self.append(records)
    }

    /// Appends whole records, or parts of one.
    pub fn append(&mut self, records: &[u8]) -> io::Result<()> {
        match self {
            Output::File(file) => file.append(records),
            Output::Stream(stream) => stream.append(records),
            Output::Both(file, stream) => {
                for_reader(stream, |stream| stream.append(records));
                file.append(records)
            }
        }
    }

    /// Appends records that no file holds.
    pub fn append_live(&mut self, records: &[u8]) -> io::Result<()> {
        match self {
            Output::File(_) | Output::Both(_, None) => Ok(()),
            _ if records.is_empty() => Ok(()),
            Output::Stream(stream) => stream.append(records),
            Output::Both(_, stream) => {
                for_reader(stream, |stream| stream.append(records));
                Ok(())
            }
        }
    }

    /// Notes that every ring has been read once: a reader may sort what it has by then.
    pub fn finish_round(&mut self, about: &About, times: (u64, u64)) -> io::Result<()> {
        match self {
            Output::File(file) => end_round(file, about, times),
            Output::Stream(stream) => send_round(stream),
            Output::Both(file, stream) => {
                for_reader(stream, send_round);
                end_round(file, about, times)
            }
        }
    }

    /// Notes that a part ends. A file has no parts.
    pub fn end_part(&mut self, part: Part) -> io::Result<()> {
        match self {
            Output::File(_) | Output::Both(..) => Ok(()),
            Output::Stream(stream) => stream.end_part(part),
        }
    }

    /// Writes what is known at the end.
    pub fn end(&mut self, about: &About, times: (u64, u64)) -> io::Result<()> {
        match self {
            Output::File(file) => {
                file.pack(true)?;
                file.complete(about, times)
            }
            Output::Stream(stream) => stream.describe(about, times),
            Output::Both(file, stream) => {
                for_reader(stream, |stream| stream.describe(about, times));
                file.complete(about, times)
            }
        }
    }

    /// Keeps what fits into a file that could not be written any more: returns what that is, and its size.
    pub fn keep_what_fits(&mut self, about: &About) -> io::Result<Option<(Counted, u64)>> {
        let (Output::File(file) | Output::Both(file, _)) = self else { return Ok(None) };
        let spare = (file.size() / 16).clamp(LEAST_SPARE, MOST_SPARE);
        let counted = file.give_up_end(spare)?;
        // Facts of the machine and the recording: it can be read without them.
        let _ = file.complete(about, counted.times.unwrap_or_default());
        Ok(Some((counted, file.size())))
    }
}

/// Hands something to a reader beside a file; one that reads no more says why itself.
fn for_reader(stream: &mut Option<Stream>, give: impl FnOnce(&mut Stream) -> io::Result<()>) {
    if stream.as_mut().is_some_and(|stream| give(stream).is_err()) {
        *stream = None;
    }
}

fn end_round(file: &mut DataFile, about: &About, times: (u64, u64)) -> io::Result<()> {
    file.append(&END_OF_ROUND)?;
    file.pack(false)?;
    file.complete(about, times)
}

fn send_round(stream: &mut Stream) -> io::Result<()> {
    stream.append(&END_OF_ROUND)?;
    stream.send()
}

/// The record at the end of a round, of eight bytes: see [`record::FINISHED_ROUND`].
///
/// [`record::FINISHED_ROUND`]: crate::record::sys::perf_event::record::FINISHED_ROUND
const END_OF_ROUND: [u8; 8] = {
    let [a, b, c, d] = crate::record::sys::perf_event::record::FINISHED_ROUND.to_ne_bytes();
    let [low, high] = 8u16.to_ne_bytes();
    [a, b, c, d, 0, 0, low, high]
};
