//! The processes that the target has started, as far as they run: some run on when the target has ended.

use std::collections::BTreeSet;

use crate::record::sys::perf_event::record;

/// The processes that have begun and not ended.
#[derive(Debug, Default)]
pub(super) struct Family(BTreeSet<u32>);

impl Family {
    /// Takes in the records of a ring, which may go on from its end to its begin.
    pub fn observe(&mut self, first: &[u8], second: &[u8]) {
        // All of a record is aligned to numbers, and so is where the ring ends.
        let pair = |at: usize| -> Option<[u32; 2]> {
            let piece = if at < first.len() { first.get(at..) } else { second.get(at - first.len()..) };
            let bytes: [u8; 8] = piece?.first_chunk().copied()?;
            let [a, b, c, d, e, f, g, h] = bytes;
            Some([u32::from_ne_bytes([a, b, c, d]), u32::from_ne_bytes([e, f, g, h])])
        };
        let mut at = 0;
        while let Some([kind, rest]) = pair(at) {
            let bytes = rest.to_ne_bytes();
            let size = usize::from(u16::from_ne_bytes([bytes[2], bytes[3]]));
            // Process and its parent, thread and its parent.
            if let (record::FORK | record::EXIT, Some([pid, parent]), Some([tid, _])) =
                (kind, pair(at + 8), pair(at + 16))
            {
                if kind == record::EXIT && tid == pid {
                    self.0.remove(&pid);
                } else if kind == record::FORK && pid != parent {
                    self.0.insert(pid);
                }
            }
            if size < 8 {
                break;
            }
            at += size;
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
            family.observe(first, second);
            assert_eq!(family.all().collect::<Vec<_>>(), [6], "{end}");
        }
    }
}
