//! The processes that the target has started, as far as they run: some run on when the target has ended.

use std::collections::BTreeSet;

use super::pieces::{Header, Pieces};
use crate::record::sys::perf_event::record;

/// The processes that have begun and not ended.
#[derive(Debug, Default)]
pub(super) struct Family(BTreeSet<u32>);

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
                self.0.remove(&pid);
            } else if kind == record::FORK && pid != parent {
                self.0.insert(pid);
            }
        }
    }

    /// The processes, in order.
    pub fn all(&self) -> impl Iterator<Item = u32> + '_ {
        self.0.iter().copied()
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
            assert_eq!(family.all().collect::<Vec<_>>(), [6], "{end}");
        }
    }
}
