//! The number of samples and losses among the kernel's records, and the times of the samples.

use super::pieces::{Header, Pieces};
use crate::record::sys::perf_event::record;

/// The counts of some records.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counted {
    /// The number of samples.
    pub samples: u64,
    /// The number of records that the kernel had no room for.
    pub lost: u64,
    /// The sum of the samples' periods.
    pub weight: u64,
    /// The number of times that a thread has left its processor, as far as that is noted.
    pub switches: u64,
    /// The times of the first and the last sample.
    pub times: Option<(u64, u64)>,
}

/// The offset of a sample's time: behind the header, the event's number, the address, the thread.
const TIME_AT: usize = 8 + 8 + 8 + 8;

/// The offset of its period: behind the time and the processor.
const PERIOD_AT: usize = TIME_AT + 8 + 8;

impl Counted {
    /// Counts what is in a ring.
    pub(super) fn of(ring: Pieces<'_>) -> Counted {
        let mut counted = Counted::default();
        ring.headers().for_each(|header| counted.add_record(ring, header));
        counted
    }

    /// Counts one record, of which the first 56 bytes are enough.
    pub fn add(&mut self, record: &[u8]) {
        let record = Pieces(record, &[]);
        record.headers().take(1).for_each(|header| self.add_record(record, header));
    }

    fn add_record(&mut self, ring: Pieces<'_>, Header { at, kind, misc, .. }: Header) {
        let number = |offset: usize| ring.word(at + offset);
        match kind {
            record::SAMPLE => {
                self.samples += 1;
                self.weight = self.weight.saturating_add(number(PERIOD_AT).unwrap_or(0));
                if let Some(time) = number(TIME_AT) {
                    self.extend_to(time, time);
                }
            }
            // The event's number, then the number of lost records.
            record::LOST => self.lost += number(16).unwrap_or(0),
            record::SWITCH => self.switches += u64::from(misc & record::MISC_DATA_OR_OUT != 0),
            record::LOST_SAMPLES => self.lost += number(8).unwrap_or(0),
            _ => {}
        }
    }

    /// Adds the counts of other records.
    pub fn merge(&mut self, other: Counted) {
        self.samples += other.samples;
        self.weight = self.weight.saturating_add(other.weight);
        self.lost += other.lost;
        self.switches += other.switches;
        if let Some((first, last)) = other.times {
            self.extend_to(first, last);
        }
    }

    fn extend_to(&mut self, first: u64, last: u64) {
        let (begin, end) = self.times.unwrap_or((first, last));
        self.times = Some((begin.min(first), end.max(last)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn put(kind: u32, body: &[u64]) -> Vec<u8> {
        let size = u16::try_from(8 + 8 * body.len()).unwrap();
        let mut bytes = kind.to_ne_bytes().to_vec();
        bytes.extend(0u16.to_ne_bytes());
        bytes.extend(size.to_ne_bytes());
        bytes.extend(body.iter().flat_map(|number| number.to_ne_bytes()));
        bytes
    }

    #[test]
    fn samples_losses_and_times_are_counted() {
        let mut leaves = put(record::SWITCH, &[0; 4]);
        leaves[4..6].copy_from_slice(&record::MISC_DATA_OR_OUT.to_ne_bytes());
        let records = [
            leaves,
            put(record::SWITCH, &[0; 4]),
            put(record::SAMPLE, &[1, 0x4000, 7, 500, 0, 40]),
            put(record::LOST, &[1, 12, 0]),
            put(record::COMM, &[7, 0]),
            put(record::SAMPLE, &[1, 0x4000, 7, 300, 0, 2]),
            put(record::LOST_SAMPLES, &[3]),
        ]
        .concat();
        for end in (0..=records.len()).step_by(8) {
            let (first, second) = records.split_at(end);
            let counted = Counted::of(Pieces(first, second));
            assert_eq!((counted.samples, counted.lost, counted.times), (2, 15, Some((300, 500))), "{end}");
            assert_eq!((counted.switches, counted.weight), (1, 42), "{end}");
        }
        // A record of size 0 must not cause an endless loop.
        assert_eq!(Counted::of(Pieces(&[9, 0, 0, 0, 0, 0, 0, 0], &[])).samples, 1);
    }
}
