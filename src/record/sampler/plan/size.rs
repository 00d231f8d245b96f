//! The sizes of rings, and of the copies of stacks that fit into them.

use super::{Note, Plan};
use crate::record::request::{CallGraph, Rate};

/// The smallest ring worth having: half of it is one processor's dumps of a few milliseconds.
pub(super) const SMALLEST_RING: usize = 32 * 1024;

/// The ring for which `kernel.perf_event_mlock_kb` has room by default.
pub(super) const USUAL_RING: usize = 512 * 1024;

/// The most memory that the rings of all processors take together.
const ALL_RINGS: usize = 512 << 20;

/// The sizes of dumps that are taken without being asked for, and the smallest of them.
const DUMPS: [u32; 4] = [CallGraph::LIVE_DUMP, CallGraph::DUMP, 16 * 1024, SMALLEST_DUMP];
const SMALLEST_DUMP: u32 = 8 * 1024;

/// The number of samples that a ring has to hold at least, at any rate.
const FEWEST_SAMPLES: u64 = 8;

/// The time for which a ring has to hold samples, in milliseconds. With 512 kB, the most that an
/// ordinary user gets, 997 samples a second of 32 kB (15 ms) lost nothing on a machine with twice as
/// many busy threads as processors, and nor did 4000 of 16 kB; 9999 of 32 kB lost a tenth.
const HELD_MILLIS: u64 = 12;

/// The bytes a second that one processor's samples may amount to: 164 MB/s lost nothing on two
/// processors with the largest ring, 328 MB/s lost a sixth.
const BYTES_PER_SECOND: u64 = 160 << 20;

impl Plan {
    /// Chooses the size of the dumps, if none was asked for: the largest of which the ring holds enough.
    pub(super) fn choose_dump(&mut self) {
        let Some(largest) = self.largest_dump else { return };
        let mut sizes = DUMPS.into_iter().filter(|size| *size <= largest);
        let size = sizes.find(|&size| !self.is_too_fast(size) && self.ring >= self.ring_for(size));
        self.call_graph = CallGraph::Dwarf(size.unwrap_or(SMALLEST_DUMP));
    }

    /// The samples of a second; where that is not known it is low, as few threads wait more often.
    fn samples_a_second(&self) -> u64 {
        match self.rate {
            Rate::PerSecond(rate) => rate,
            Rate::EveryEvents(_) => Rate::USUAL,
        }
    }

    /// Returns true if dumps of this size are more than can be written.
    fn is_too_fast(&self, dump: u32) -> bool {
        self.samples_a_second().saturating_mul(dump.into()) > BYTES_PER_SECOND
    }

    /// The smallest ring for dumps of this size.
    fn ring_for(&self, dump: u32) -> usize {
        let samples = (self.samples_a_second().saturating_mul(HELD_MILLIS) / 1000).max(FEWEST_SAMPLES);
        usize::try_from(samples).unwrap_or(usize::MAX).saturating_mul(sample_size(dump))
    }

    /// A note if less of each stack is copied than by default.
    pub fn dump_note(&self) -> Option<Note> {
        let CallGraph::Dwarf(size) = self.call_graph else { return None };
        if self.largest_dump.is_none() || size >= CallGraph::DUMP {
            return None;
        }
        Some(match self.rate {
            Rate::PerSecond(rate) if self.is_too_fast(CallGraph::DUMP) => Note::DumpForRate { size, rate },
            _ => Note::DumpForRing {
                size,
                ring: self.ring,
                enough: self.ring_for(CallGraph::DUMP).saturating_add(1).next_power_of_two(),
            },
        })
    }
}

/// The bytes of a sample with a dump of this size.
fn sample_size(dump: u32) -> usize {
    dump as usize + 512
}

/// A second of one processor's samples, within reason.
pub(super) fn ring_size(rate: Rate, call_graph: CallGraph, processors: usize) -> usize {
    let sample = match call_graph {
        CallGraph::Dwarf(size) => sample_size(size),
        CallGraph::FramePointers => 512,
        CallGraph::None => 64,
    };
    let rate = match rate {
        Rate::PerSecond(rate) => usize::try_from(rate).unwrap_or(usize::MAX),
        // The rate is unknown: the size for a high one.
        Rate::EveryEvents(_) => 10_000,
    };
    let most = (ALL_RINGS / processors.max(1)).clamp(1 << 20, 16 << 20);
    sample.saturating_mul(rate).clamp(USUAL_RING, most).next_power_of_two()
}

#[cfg(test)]
mod tests {
    use super::super::Doing;
    use super::super::refused::tests::{refused, request};
    use super::*;
    use crate::record::request::Request;
    use crate::record::system::Permissions;

    #[test]
    fn dumps_are_of_32_kb_as_far_as_the_ring_and_the_rate_allow() {
        let request = |rate, dump| Request {
            rate: Rate::PerSecond(rate),
            call_graph: CallGraph::Dwarf(dump),
            ..request()
        };
        let facts = Permissions::default();
        let with_ring = |rate, dump, ring| {
            let mut plan = Plan::new(&request(rate, dump), Vec::new(), 2).unwrap();
            while plan.ring > ring {
                plan = refused(&plan, Doing::Map, libc::EPERM, &facts).unwrap().0;
            }
            assert_eq!(plan.call_graph, CallGraph::Dwarf(plan.attr().sample_stack_user));
            (plan.attr().sample_stack_user, plan.dump_note().map(|note| note.to_string()))
        };
        let usual = |ring| with_ring(997, CallGraph::DUMP, ring);
        assert_eq!(usual(16 << 20), (32768, None));
        let live = |rate, ring| with_ring(rate, CallGraph::LIVE_DUMP, ring);
        assert_eq!(live(997, 16 << 20), (65520, None));
        assert_eq!(live(997, 512 << 10), (32768, None), "enough for most, and no reason to say anything");
        assert_eq!(live(4999, 16 << 20), (32768, None));
        // `kernel.perf_event_mlock_kb` is 516 by default.
        assert_eq!(usual(512 << 10), (32768, None));
        let (size, note) = usual(256 << 10);
        assert_eq!(size, 16384);
        assert_eq!(
            note.unwrap(),
            "16384 bytes of each stack are recorded instead of 32768, for 256 kB of memory are allowed to each \
             processor's samples; `sudo sysctl kernel.perf_event_mlock_kb=516` allows enough"
        );
        assert_eq!(usual(64 << 10).0, 8192);
        let (size, note) = with_ring(9999, CallGraph::DUMP, 16 << 20);
        assert_eq!(size, 16384);
        assert_eq!(
            note.unwrap(),
            "16384 bytes of each stack are recorded instead of 32768, for 9999 samples a second; a lower -F \
             records more of each"
        );
        assert_eq!(with_ring(9999, 65528, 64 << 10), (65528, None), "as it was asked for");
        assert_eq!(with_ring(997, 512, 64 << 10), (512, None));
    }
}
