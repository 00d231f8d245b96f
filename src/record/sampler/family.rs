//! The processes that the target has started: some run on when it has ended, some have left files.

use std::collections::BTreeSet;

use super::pieces::{Header, Pieces};
use crate::record::sys::perf_event::record;

/// The most processes that are remembered when they have ended; a build of a kernel has some ten thousand.
const MOST: usize = 1 << 17;

/// The processes that have begun.
#[derive(Debug, Default)]
pub(super) struct Family {
    running: BTreeSet<u32>,
    begun: BTreeSet<u32>,
}

impl Family {
    /// Takes in the records of a ring.
    pub fn observe(&mut self, ring: Pieces<'_>) {
        for Header { at, kind, .. } in ring.headers() {
            if kind != record::FORK && kind != record::EXIT {
                continue;
            }
            // Process and its parent, thread and its parent.
            let (Some([pid, parent]), Some([tid, _])) = (ring.pair(at + 8), ring.pair(at + 16)) else {
                continue;
            };
            if kind == record::EXIT && tid == pid {
                self.running.remove(&pid);
            } else if kind == record::FORK && pid != parent {
                self.running.insert(pid);
                if self.begun.len() < MOST {
                    self.begun.insert(pid);
                }
            }
        }
    }

    /// Those that have not ended, in order.
    pub fn running(&self) -> impl Iterator<Item = u32> + '_ {
        self.running.iter().copied()
    }

    /// Those that have begun, in order, whether they have ended or not.
    pub fn begun(&self) -> impl Iterator<Item = u32> + '_ {
        self.begun.iter().copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn put(kind: u32, [pid, parent, tid]: [u32; 3]) -> Vec<u8> {
        let mut bytes = kind.to_ne_bytes().to_vec();
        bytes.extend([0, 0, 24, 0]);
        bytes.extend([pid, parent, tid, parent].into_iter().flat_map(u32::to_ne_bytes));
        bytes
    }

    #[test]
    fn processes_begin_and_end_and_threads_do_not_matter() {
        let records = [
            put(record::FORK, [5, 4, 5]),
            put(record::FORK, [6, 4, 6]),
            put(record::FORK, [6, 6, 7]),
            put(record::EXIT, [6, 6, 7]),
            put(record::COMM, [9, 9, 9]),
            put(record::EXIT, [5, 4, 5]),
        ]
        .concat();
        for end in (0..=records.len()).step_by(8) {
            let (first, second) = records.split_at(end);
            let mut family = Family::default();
            family.observe(Pieces(first, second));
            assert_eq!(family.running().collect::<Vec<_>>(), [6], "{end}");
            assert_eq!(family.begun().collect::<Vec<_>>(), [5, 6], "{end}");
        }
    }
}
