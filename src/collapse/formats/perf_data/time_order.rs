//! The records of all files of a recording in the order of time.
//!
//! Mostly there is one file. `perf record --threads` writes a folder: `data` has the description of
//! the recording and its processes, and each of `data.0`, `data.1`, … the records that one thread of
//! perf has read.

use std::collections::VecDeque;
use std::sync::Arc;

use super::attr::Event;
use super::content::Record;
use super::header::Description;
use super::order::Queue;
use super::reader::RawRecords;
use super::record::kind;
use crate::collapse::Progress;
use crate::error::{Error, Position, Result};

/// The records of a [`Recording`](super::Recording) in the order of time.
///
/// A record without a time comes as soon as it is read. Memory holds two rounds of records.
///
/// ```
/// use fg_tools::collapse::perf_data::Recording;
/// use fg_tools::Source;
///
/// let bytes = include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/perf_data/golden/calc.data.gz"));
/// let records = Recording::open(&Source::bytes(bytes))?.in_time_order();
/// let times = records.filter_map(|record| record.map(|record| record.time()).transpose());
/// let times = times.collect::<Result<Vec<u64>, _>>()?;
/// assert!(times.is_sorted());
/// # Ok::<(), fg_tools::Error>(())
/// ```
pub struct InTimeOrder {
    pub(super) description: Description,
    files: Vec<OrderedFile>,
}

/// A file with its records that wait for their turn.
struct OrderedFile {
    records: RawRecords,
    /// Its name, if it is not the input itself.
    name: Option<Arc<str>>,
    queue: Queue,
    /// Records whose turn it is.
    ready: VecDeque<Record>,
    scratch: Vec<Record>,
    ended: bool,
}

impl OrderedFile {
    /// Makes the records ready that the queue releases.
    fn release(&mut self, from: impl FnOnce(&mut Queue, &mut Vec<Record>)) {
        from(&mut self.queue, &mut self.scratch);
        self.ready.extend(self.scratch.drain(..));
    }
}

/// Places an error in a file beside the input.
pub(super) fn placed_in(error: Error, file: Option<&Arc<str>>) -> Error {
    let Position { line, byte, .. } = error.position().clone();
    match file {
        Some(file) => error.at(Position { file: Some(file.clone()), line, byte }),
        None => error,
    }
}

impl InTimeOrder {
    /// The input, and the files beside it with their names.
    pub(super) fn new(
        description: Description,
        first: RawRecords,
        others: Vec<(Arc<str>, RawRecords)>,
    ) -> InTimeOrder {
        let count = 1 + others.len();
        let file = |(name, records)| {
            let (queue, ready, scratch) = (Queue::one_of(count), VecDeque::new(), Vec::new());
            OrderedFile { records, name, queue, ready, scratch, ended: false }
        };
        let others = others.into_iter().map(|(name, records)| (Some(name), records));
        let files = [(None, first)].into_iter().chain(others).map(file).collect();
        InTimeOrder { description, files }
    }

    /// The events that were recorded, as far as they are known by now.
    pub fn events(&self) -> &[Event] {
        &self.description.events
    }

    /// The next record.
    ///
    /// # Errors
    /// Damage of the recording, placed by its byte.
    pub(super) fn next_record(&mut self) -> Result<Option<Record>> {
        while let Some(number) = self.files.iter().position(|file| file.ready.is_empty() && !file.ended) {
            let file = &mut self.files[number];
            let Some(raw) = file.records.next().map_err(|e| placed_in(e, file.name.as_ref()))? else {
                file.ended = true;
                file.release(Queue::finish);
                continue;
            };
            let at = raw.at;
            let described = self.description.describe(raw, number as u32);
            let record = described.map_err(|e| self.place(number as u32, at, e))?;
            if let Some(record) = self.take(record, number) {
                return Ok(Some(record));
            }
        }
        let oldest = |(n, file): (usize, &OrderedFile)| Some((file.ready.front()?.time.unwrap_or(0), n));
        let next = self.files.iter().enumerate().filter_map(oldest).min();
        Ok(next.and_then(|(_, number)| self.files[number].ready.pop_front()))
    }

    /// Returns true if the next record has to be read first.
    pub(super) fn is_drained(&self) -> bool {
        self.files.iter().all(|file| file.ready.is_empty())
    }

    /// Puts a record where it belongs; returns one that is not to be put in order.
    fn take(&mut self, record: Record, number: usize) -> Option<Record> {
        let file = &mut self.files[number];
        match (record.header.kind, record.time) {
            (kind::FINISHED_ROUND, _) => {
                file.release(Queue::finish_round);
                Some(record)
            }
            (kind::SAMPLE, None | Some(0 | u64::MAX)) => {
                file.ready.push_back(Record { time: Some(0), ..record });
                None
            }
            // Records that perf makes up at the start, for programs already running, have no time.
            (_, None | Some(0 | u64::MAX)) => Some(record),
            (_, Some(_)) => {
                if file.queue.push(record) {
                    file.release(Queue::overflow);
                }
                None
            }
        }
    }

    /// Places an error in a record at the byte `at` of the file of number `file`.
    pub(super) fn place(&self, file: u32, at: u64, error: Error) -> Error {
        let name = self.files.get(file as usize).and_then(|file| file.name.as_ref());
        placed_in(error.or_at(|| Position { byte: Some(at), ..Position::default() }), name)
    }

    /// Frees the buffers; there is nothing more to read.
    pub(super) fn close(&mut self) {
        self.files.iter_mut().for_each(|file| file.records.close());
    }

    /// Returns whether a file ends within a record, because perf was killed.
    pub(super) fn was_cut(&self) -> bool {
        self.files.iter().any(|file| file.records.was_cut)
    }

    /// The progress of reading.
    pub(super) fn progress(&self) -> Progress {
        let sum = |(done, all): (u64, Option<u64>), file: &OrderedFile| match file.records.progress() {
            Progress::Bytes(at, end) => {
                (done.saturating_add(at), all.zip(end).map(|(a, b)| a.saturating_add(b)))
            }
            _ => (done, all),
        };
        let (done, all) = self.files.iter().fold((0, Some(0)), sum);
        Progress::Bytes(done, all)
    }
}

impl Iterator for InTimeOrder {
    type Item = Result<Record>;

    fn next(&mut self) -> Option<Self::Item> {
        let next = self.next_record().transpose();
        if matches!(next, Some(Err(_))) {
            // No records can be read behind the damage.
            self.files.clear();
        }
        next
    }
}
