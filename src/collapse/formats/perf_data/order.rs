//! Records in the order of time.
//!
//! The kernel has a buffer for each processor, and perf writes one after the other to the file,
//! round by round. Only records within one buffer are in order. When a round is finished,
//! everything up to the latest record of the round *before* it can go on: what comes later in
//! the file cannot be older. So what waits is two rounds, whatever the size of the file.

use super::content::Record;

/// Puts records in order.
pub(super) struct Queue {
    /// The most bytes that may wait.
    most: usize,
    waiting: Vec<Record>,
    /// The latest record so far.
    latest: u64,
    /// The latest record at the end of the last round.
    limit: u64,
    /// The number of bytes that wait.
    bytes: usize,
}

/// Records that wait have a time.
fn time_of(record: &Record) -> u64 {
    record.time.unwrap_or(0)
}

/// A writer that marks no rounds makes us hold no more than this: it is larger than all the
/// buffers of any usual recording.
const MOST: usize = 64 << 20;

impl Queue {
    /// A queue of one of several files that are read at the same time.
    pub fn one_of(files: usize) -> Queue {
        let most = MOST / files.max(1);
        Queue { most, waiting: Vec::new(), latest: 0, limit: 0, bytes: 0 }
    }

    /// Adds a record; `true` if so much waits that some must go on, as by [`Queue::overflow`].
    pub fn push(&mut self, record: Record) -> bool {
        self.latest = self.latest.max(time_of(&record));
        self.bytes += record.body.len() + size_of::<Record>();
        self.waiting.push(record);
        self.bytes > self.most
    }

    /// A round is finished: appends what can go on.
    pub fn finish_round(&mut self, ready: &mut Vec<Record>) {
        let limit = self.limit;
        self.limit = self.latest;
        self.release(ready, |waiting| waiting.partition_point(|record| time_of(record) <= limit));
    }

    /// Appends the older half.
    pub fn overflow(&mut self, ready: &mut Vec<Record>) {
        self.release(ready, |waiting| waiting.len() / 2 + 1);
    }

    /// There are no more: appends them all.
    pub fn finish(&mut self, ready: &mut Vec<Record>) {
        self.release(ready, |waiting| waiting.len());
    }

    fn release(&mut self, ready: &mut Vec<Record>, how_many: impl FnOnce(&[Record]) -> usize) {
        // Stable, and fast where a few runs are in order.
        self.waiting.sort_by_key(time_of);
        let count = how_many(&self.waiting);
        ready.extend(self.waiting.drain(..count));
        let size = |record: &Record| record.body.len() + size_of::<Record>();
        self.bytes = self.waiting.iter().map(size).sum();
    }
}

#[cfg(test)]
mod tests {
    use super::super::chunk::{Pool, Slice};
    use super::super::record::Header;
    use super::*;
    use crate::bytes::ByteOrder;

    fn record(time: u64) -> Record {
        let body = Slice::new(&Pool::default().share(vec![0; 16]), 0..16);
        let header = Header { kind: 9, misc: 0, size: 24 };
        let order = ByteOrder::Little;
        Record { header, body, at: 0, file: 0, order, time: Some(time), event: 0, attr: None, head: None }
    }

    #[test]
    fn what_can_still_come_is_waited_for() {
        let mut queue = Queue::one_of(1);
        let mut ready = Vec::new();
        let mut round = |times: &[u64], ready: &mut Vec<Record>| {
            for time in times {
                assert!(!queue.push(record(*time)));
            }
            queue.finish_round(ready);
            std::mem::take(ready).iter().map(time_of).collect::<Vec<_>>()
        };
        // Two processors: each in order, and the second is late by a round.
        assert_eq!(round(&[1, 5, 9, 2, 3], &mut ready), [] as [u64; 0]);
        assert_eq!(round(&[10, 20, 6, 8, 11], &mut ready), [1, 2, 3, 5, 6, 8, 9]);
        assert_eq!(round(&[30, 12], &mut ready), [10, 11, 12, 20]);
        queue.finish(&mut ready);
        assert_eq!(time_of(&ready[0]), 30);
    }

    #[test]
    fn without_rounds_memory_is_bounded() {
        let mut queue = Queue::one_of(1);
        let mut ready = Vec::new();
        let mut most = 0;
        for time in 0..600_000 {
            if queue.push(record(time)) {
                most = most.max(queue.waiting.len());
                queue.overflow(&mut ready);
                ready.clear();
            }
        }
        assert!(most > 0 && most * size_of::<Record>() < 2 * MOST);
    }
}
