//! The files of a recording, as one stream of records in the order of time.
//!
//! Mostly there is one. `perf record --threads` writes a folder: `data` has what is known of the
//! recording and of its processes, and each of `data.0`, `data.1`, … what one thread of perf has
//! read.

use std::collections::VecDeque;
use std::sync::Arc;

use super::order::{Queue, Waiting};
use super::reader::{Record, Records};
use crate::collapse::Progress;
use crate::error::{Error, Position, Result};

/// One file.
pub(super) struct Stream {
    records: Records,
    /// Its name, if it is not the input itself.
    name: Option<Arc<str>>,
    pub queue: Queue,
    /// Records whose turn it is.
    pub ready: VecDeque<Waiting>,
    scratch: Vec<Waiting>,
    ended: bool,
}

/// All files.
pub(super) struct Streams(Vec<Stream>);

impl Stream {
    /// Moves on what the queue lets go.
    pub fn release(&mut self, how: impl FnOnce(&mut Queue, &mut Vec<Waiting>)) {
        how(&mut self.queue, &mut self.scratch);
        self.ready.extend(self.scratch.drain(..));
    }

    /// Says where an error is.
    pub fn placed(&self, error: Error, at: u64) -> Error {
        named(error.or_at(|| Position { byte: Some(at), ..Position::default() }), self.name.as_ref())
    }
}

/// An error in a file beside the input.
fn named(error: Error, file: Option<&Arc<str>>) -> Error {
    let Position { line, byte, .. } = error.position().clone();
    match file {
        Some(file) => error.at(Position { file: Some(file.clone()), line, byte }),
        None => error,
    }
}

impl Streams {
    /// The input, and the files beside it with their names.
    pub fn new(first: Records, others: Vec<(Arc<str>, Records)>) -> Streams {
        let count = 1 + others.len();
        let stream = |(name, records)| {
            let (queue, ready, scratch) = (Queue::one_of(count), VecDeque::new(), Vec::new());
            Stream { records, name, queue, ready, scratch, ended: false }
        };
        let others = others.into_iter().map(|(name, records)| (Some(name), records));
        Streams([(None, first)].into_iter().chain(others).map(stream).collect())
    }

    /// The stream of this number.
    pub fn at(&mut self, number: usize) -> &mut Stream {
        &mut self.0[number]
    }

    /// A stream that has to be read on before anything is next.
    pub fn hungry(&self) -> Option<usize> {
        self.0.iter().position(|stream| stream.ready.is_empty() && !stream.ended)
    }

    /// The next record of a file; `None` at its end, which lets go all that waits.
    pub fn read(&mut self, number: usize) -> Result<Option<Record>> {
        let stream = &mut self.0[number];
        let record = stream.records.next().map_err(|e| named(e, stream.name.as_ref()))?;
        if record.is_none() {
            stream.ended = true;
            stream.release(Queue::finish);
        }
        Ok(record)
    }

    /// The oldest record of those whose turn it is; none of the streams may be
    /// [hungry](Streams::hungry).
    pub fn next(&mut self) -> Option<(usize, Waiting)> {
        let time = |stream: &Stream| stream.ready.front().map(|waiting| waiting.time);
        let oldest = self.0.iter().enumerate().filter_map(|(n, stream)| Some((time(stream)?, n))).min();
        oldest.and_then(|(_, n)| Some((n, self.0[n].ready.pop_front()?)))
    }

    /// Frees the buffers; there is nothing more to read.
    pub fn close(&mut self) {
        self.0.iter_mut().for_each(|stream| stream.records.close());
    }

    /// Whether a file ends within a record, because perf was killed.
    pub fn was_cut(&self) -> bool {
        self.0.iter().any(|stream| stream.records.was_cut)
    }

    /// How far reading has come.
    pub fn progress(&self) -> Progress {
        let sum = |(done, all): (u64, Option<u64>), stream: &Stream| match stream.records.progress() {
            Progress::Bytes(at, end) => {
                (done.saturating_add(at), all.zip(end).map(|(a, b)| a.saturating_add(b)))
            }
            _ => (done, all),
        };
        let (done, all) = self.0.iter().fold((0, Some(0)), sum);
        Progress::Bytes(done, all)
    }
}
