//! The heap of the recorded program as it changes: what each place has allocated, what of it is in use, and what was at
//! the peak.
//!
//! The peak is where memray finds it: at the last allocation after which as much was in use as ever. What is freed
//! counts for the place that allocated it; a part of a mapping that is given back is taken off its mapping.

use std::collections::{BTreeMap, HashMap};

use crate::collapse::kit::trie::PathId;
use crate::error::{ErrorKind, Result};
use crate::unique::Unique;

/// A place that allocates: the thread, its Python stack, its native stack and the files that were loaded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Location {
    pub thread: u32,
    pub path: PathId,
    pub native: u64,
    pub generation: u64,
}

/// Bytes, and the number of allocations that they are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sum {
    pub bytes: u64,
    pub count: u64,
}

impl Sum {
    fn add(&mut self, bytes: u64) -> Result<()> {
        self.bytes = self.bytes.checked_add(bytes).ok_or(ErrorKind::Overflow)?;
        self.count += 1;
        Ok(())
    }

    fn add_sum(&mut self, other: Sum) -> Result<()> {
        self.bytes = self.bytes.checked_add(other.bytes).ok_or(ErrorKind::Overflow)?;
        self.count = self.count.checked_add(other.count).ok_or(ErrorKind::Overflow)?;
        Ok(())
    }
}

/// The sums of a place.
#[derive(Clone, Copy, Debug, Default)]
pub struct Cost {
    /// All that it ever allocated.
    pub ever: Sum,
    /// That in use now; at the end, what was never freed.
    pub now: Sum,
    /// That in use at the peak, as far as `peaks` goes.
    pub peak: Sum,
    peaks: u64,
}

impl Cost {
    /// Notes what was in use at the last peak, before that changes.
    fn settle(&mut self, peaks: u64) {
        if self.peaks < peaks {
            self.peak = self.now;
            self.peaks = peaks;
        }
    }
}

/// The places, and the memory in use.
#[derive(Default)]
pub struct Heap {
    locations: Unique<Location>,
    /// The cost of each location.
    costs: Vec<(Location, Cost)>,
    /// Size and place of what is in use, by address.
    live: HashMap<u64, (u64, u32)>,
    /// End and place of what is mapped, by address; none overlaps another.
    mapped: BTreeMap<u64, (u64, u32)>,
    in_use: u64,
    highest: u64,
    /// The number of times that as much was in use as ever.
    peaks: u64,
}

impl Heap {
    fn location_number(&mut self, location: Location) -> u32 {
        let number = self.locations.key(location);
        if number as usize == self.costs.len() {
            self.costs.push((location, Cost::default()));
        }
        number
    }

    /// Adds sums that the recording states itself: at the peak, and never freed.
    ///
    /// # Errors
    /// [`ErrorKind::Overflow`].
    pub fn state(&mut self, location: Location, peak: Sum, leaked: Sum) -> Result<()> {
        let number = self.location_number(location) as usize;
        let cost = &mut self.costs[number].1;
        cost.peak.add_sum(peak)?;
        cost.now.add_sum(leaked)
    }

    /// Memory is allocated.
    ///
    /// # Errors
    /// [`ErrorKind::Overflow`].
    pub fn allocate(&mut self, location: Location, address: u64, size: u64) -> Result<()> {
        let number = self.grow(location, size)?;
        if let Some((size, before)) = self.live.insert(address, (size, number)) {
            // Its free was not seen. memray goes on to count it towards the height of the peak.
            self.shrink(before, size, true);
        }
        self.reach();
        Ok(())
    }

    /// Memory is freed, if it was allocated while the recording ran.
    pub fn free(&mut self, address: u64) {
        if let Some((size, number)) = self.live.remove(&address) {
            self.shrink(number, size, true);
            self.in_use = self.in_use.saturating_sub(size);
        }
    }

    /// Memory is mapped.
    ///
    /// # Errors
    /// [`ErrorKind::Overflow`].
    pub fn map(&mut self, location: Location, address: u64, size: u64) -> Result<()> {
        if size > 0 {
            // What was there is gone.
            self.unmap(address, size)?;
            let number = self.grow(location, size)?;
            let end = address.checked_add(size).ok_or(ErrorKind::Overflow)?;
            self.mapped.insert(address, (end, number));
        }
        self.reach();
        Ok(())
    }

    /// A range of memory is given back, which may be a part of what was mapped, or of several mappings.
    ///
    /// # Errors
    /// [`ErrorKind::Overflow`].
    pub fn unmap(&mut self, address: u64, size: u64) -> Result<()> {
        let end = address.checked_add(size).ok_or(ErrorKind::Overflow)?;
        while let Some((&start, &(last, number))) = self.mapped.range(..end).next_back() {
            if last <= address {
                break;
            }
            self.mapped.remove(&start);
            let gone = last.min(end) - start.max(address);
            self.shrink(number, gone, true);
            self.in_use = self.in_use.saturating_sub(gone);
            let left = [(start, address.max(start)), (end.min(last), last)];
            for (start, end) in left {
                if start < end {
                    self.mapped.insert(start, (end, number));
                    self.costs[number as usize].1.now.count += 1;
                }
            }
            if start <= address {
                break;
            }
        }
        Ok(())
    }

    fn grow(&mut self, location: Location, size: u64) -> Result<u32> {
        let number = self.location_number(location);
        let cost = &mut self.costs[number as usize].1;
        cost.settle(self.peaks);
        cost.ever.add(size)?;
        cost.now.add(size)?;
        self.in_use = self.in_use.checked_add(size).ok_or(ErrorKind::Overflow)?;
        Ok(number)
    }

    /// Takes off a place what it had allocated before.
    fn shrink(&mut self, number: u32, size: u64, is_one: bool) {
        let cost = &mut self.costs[number as usize].1;
        cost.settle(self.peaks);
        cost.now.bytes = cost.now.bytes.saturating_sub(size);
        cost.now.count = cost.now.count.saturating_sub(u64::from(is_one));
    }

    /// Notes a peak, if this is one.
    fn reach(&mut self) {
        if self.in_use >= self.highest {
            self.highest = self.in_use;
            self.peaks += 1;
        }
    }

    /// The sums of all places, in the order in which they first allocated.
    pub fn finish(&mut self) -> Vec<(Location, Cost)> {
        let peaks = self.peaks;
        let mut costs = std::mem::take(&mut self.costs);
        costs.iter_mut().for_each(|(_, cost)| cost.settle(peaks));
        costs
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::collapse::kit::trie::Trie;

    fn place(thread: u32) -> Location {
        Location { thread, path: Trie::ROOT, native: 0, generation: 0 }
    }

    fn sums(heap: &mut Heap) -> Vec<[(u64, u64); 3]> {
        let pair = |sum: Sum| (sum.bytes, sum.count);
        heap.finish().iter().map(|(_, cost)| [pair(cost.peak), pair(cost.now), pair(cost.ever)]).collect()
    }

    #[test]
    fn the_last_of_equal_peaks_counts() {
        let mut heap = Heap::default();
        heap.allocate(place(0), 1, 100).unwrap();
        heap.free(1);
        heap.allocate(place(1), 2, 60).unwrap();
        heap.allocate(place(0), 3, 40).unwrap();
        heap.free(77);
        heap.free(2);
        assert_eq!(sums(&mut heap), [[(40, 1), (40, 1), (140, 2)], [(60, 1), (0, 0), (60, 1)]]);
    }

    #[test]
    fn parts_of_mappings_are_given_back() {
        let mut heap = Heap::default();
        heap.map(place(0), 1000, 100).unwrap();
        heap.map(place(1), 1100, 100).unwrap();
        // The middle of the first, the end of it with the begin of the second, all that is left.
        heap.unmap(1020, 10).unwrap();
        heap.unmap(1090, 20).unwrap();
        heap.allocate(place(2), 7, 1).unwrap();
        assert_eq!(
            sums(&mut heap),
            [[(100, 1), (80, 2), (100, 1)], [(100, 1), (90, 1), (100, 1)], [(0, 0), (1, 1), (1, 1)]]
        );
        let mut heap = Heap::default();
        heap.map(place(0), 1000, 100).unwrap();
        heap.map(place(1), 1000, 40).unwrap();
        heap.unmap(0, 5000).unwrap();
        assert_eq!(sums(&mut heap), [[(60, 1), (0, 0), (100, 1)], [(40, 1), (0, 0), (40, 1)]]);
        assert!(heap.map(place(0), u64::MAX, 2).is_err());
    }

    #[test]
    fn memory_whose_free_was_not_seen_is_replaced() {
        let mut heap = Heap::default();
        heap.allocate(place(0), 1, 10).unwrap();
        heap.allocate(place(1), 1, 4).unwrap();
        assert_eq!(sums(&mut heap), [[(0, 0), (0, 0), (10, 1)], [(4, 1), (4, 1), (4, 1)]]);
    }
}
