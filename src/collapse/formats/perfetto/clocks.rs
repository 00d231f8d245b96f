//! Clocks of one writer: the times of its packets may count from its last snapshot, in units of its own.
//!
//! ```text
//! clocks { clock_id: 3 timestamp: 58947664956229 }
//! clocks { clock_id: 64 timestamp: 58947664956 is_incremental: true unit_multiplier_ns: 1000 }
//! ```
//! Chrome and Perfetto's SDK write such a snapshot first, and then times of clock 64 that each count from the packet
//! before.

use std::collections::HashMap;

use crate::collapse::kit::protobuf::{Content, Fields, message};

/// The first number of the clocks that belong to one writer.
const FIRST_OWN: u64 = 64;

/// The clocks of all writers, by writer and clock.
#[derive(Default)]
pub struct Clocks(HashMap<(u64, u64), Clock>);

struct Clock {
    is_incremental: bool,
    /// Nanoseconds of a unit.
    unit: u64,
    /// The time that the next one counts from, or the time of the snapshot.
    base: u64,
    /// Nanoseconds of a common clock at the snapshot, and the own time then.
    common: (u64, u64),
}

impl Clocks {
    /// Reads a snapshot of a writer's clocks; `None` if it is damaged.
    pub fn snapshot(&mut self, writer: u64, bytes: &[u8]) -> Option<()> {
        let mut clocks = Vec::new();
        for field in Fields(bytes) {
            if let (1, Content::Bytes(clock)) = field? {
                let mut fields = [0; 5];
                message(clock, &mut fields)?;
                clocks.push(fields);
            }
        }
        // The time since the machine was started, or the monotonic one.
        let global = |wanted: u64| clocks.iter().find(|clock| clock[1] == wanted).map(|clock| clock[2]);
        let common = global(6).or_else(|| global(3));
        for [_, id, time, is_incremental, unit] in clocks.into_iter().filter(|clock| clock[1] >= FIRST_OWN) {
            let unit = unit.max(1);
            let common = (common.unwrap_or(time.saturating_mul(unit)), time);
            let clock = Clock { is_incremental: is_incremental != 0, unit, base: time, common };
            self.0.insert((writer, id), clock);
        }
        Some(())
    }

    /// The nanoseconds of a time that a packet of a writer states by one of the clocks.
    pub fn nanoseconds(&mut self, writer: u64, clock: u64, time: u64) -> u64 {
        let Some(clock) = self.0.get_mut(&(writer, clock)) else { return time };
        let own = if clock.is_incremental { clock.base.saturating_add(time) } else { time };
        if clock.is_incremental {
            clock.base = own;
        }
        let (common, then) = clock.common;
        common.saturating_add_signed((own as i64).wrapping_sub(then as i64).saturating_mul(clock.unit as i64))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_of_an_incremental_clock_count_from_the_packet_before() {
        let mut clocks = Clocks::default();
        // Clock 3 at 9000 ns; clock 64 at 9, incremental, of 1000 ns; clock 65 at 9 of 1000 ns.
        let snapshot = b"\x0a\x05\x08\x03\x10\xa8\x46\x0a\x09\x08\x40\x10\x09\x18\x01\x20\xe8\x07\x0a\x07\x08\x41\x10\x09\x20\xe8\x07";
        clocks.snapshot(5, snapshot).expect("a snapshot");
        let mut times = |clock, time| clocks.nanoseconds(5, clock, time);
        assert_eq!([times(64, 0), times(64, 2), times(64, 3)], [9000, 11_000, 14_000]);
        assert_eq!([times(65, 12), times(65, 7), times(6, 12)], [12_000, 7000, 12]);
        assert_eq!(clocks.nanoseconds(4, 64, 2), 2, "the clocks of another writer");
    }
}
