//! Ranges of addresses, and which of them hold an address.
//!
//! Mostly one does. But symbols nest in hand-written assembly, linkers give one piece of code to
//! several functions, just-in-time compilers write over what they wrote, so ranges lie in and over
//! one another, and the one that begins last is meant first. Each range knows the nearest earlier
//! one that is still open where it begins; that chain holds all that can contain an address.

/// Ranges with a value each.
#[derive(Debug)]
pub(super) struct Intervals<T> {
    /// Sorted; apart from the rest to be searched quickly.
    starts: Vec<u64>,
    rest: Vec<Interval<T>>,
}

#[derive(Debug)]
struct Interval<T> {
    end: u64,
    /// One more than the number of the nearest open one; 0 stands for none.
    around: u32,
    value: T,
}

/// Hostile files nest ranges a million deep; nobody else more than a few.
const DEEPEST: usize = 64;

impl<T> Default for Intervals<T> {
    fn default() -> Self {
        Intervals { starts: Vec::new(), rest: Vec::new() }
    }
}

impl<T> Intervals<T> {
    /// From starts, ends (one past the last address) and values. Of several with one start, the
    /// shorter is found first, and of equal ones the earlier.
    pub(super) fn new(mut all: Vec<(u64, u64, T)>) -> Self {
        all.retain(|(start, end, _)| start < end);
        all.truncate(u32::MAX as usize - 1);
        // Reversed, so that the last one of those that begin together is the one wanted first.
        all.reverse();
        all.sort_by(|a, b| a.0.cmp(&b.0).then(b.1.cmp(&a.1)));
        let mut intervals =
            Intervals { starts: Vec::with_capacity(all.len()), rest: Vec::with_capacity(all.len()) };
        let mut open: Vec<u32> = Vec::new();
        for (start, end, value) in all {
            while open.last().is_some_and(|at| intervals.rest[*at as usize - 1].end <= start) {
                open.pop();
            }
            let around = open.last().copied().unwrap_or(0);
            intervals.starts.push(start);
            intervals.rest.push(Interval { end, around, value });
            open.push(intervals.rest.len() as u32);
        }
        intervals
    }

    /// The values of the ranges that hold an address, with their starts; which begins last, first.
    pub(super) fn containing(&self, address: u64) -> impl Iterator<Item = (u64, &T)> {
        let mut at = self.starts.partition_point(|start| *start <= address);
        let chain = std::iter::from_fn(move || {
            let n = at.checked_sub(1)?;
            let interval = &self.rest[n];
            at = interval.around as usize;
            Some((self.starts[n], interval))
        });
        let holding = chain.take(DEEPEST).filter(move |(_, interval)| address < interval.end);
        holding.map(|(start, interval)| (start, &interval.value))
    }

    pub(super) fn find(&self, address: u64) -> Option<&T> {
        self.containing(address).next().map(|(_, value)| value)
    }

    /// Starts and ends.
    pub(super) fn ranges(&self) -> impl Iterator<Item = (u64, u64)> {
        self.starts.iter().zip(&self.rest).map(|(start, interval)| (*start, interval.end))
    }

    /// Starts, ends and values, in the order of the starts.
    pub(super) fn all(&self) -> impl Iterator<Item = (u64, u64, &T)> {
        self.starts.iter().zip(&self.rest).map(|(start, interval)| (*start, interval.end, &interval.value))
    }

    pub(super) fn len(&self) -> usize {
        self.starts.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.starts.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_one_that_begins_last_comes_first() {
        let all =
            vec![(10, 50, 'a'), (20, 30, 'b'), (25, 40, 'c'), (60, 60, 'd'), (20, 22, 'e'), (20, 22, 'f')];
        let intervals = Intervals::new(all);
        let found = |at| intervals.containing(at).map(|(_, value)| *value).collect::<String>();
        assert_eq!(found(9), "");
        assert_eq!(found(10), "a");
        assert_eq!(found(20), "efba");
        assert_eq!(found(26), "cba");
        assert_eq!(found(35), "ca");
        assert_eq!(found(45), "a");
        assert_eq!(found(60), "");
        assert_eq!(intervals.len(), 5);
    }

    proptest! {
        #[test]
        fn finds_all_that_hold_an_address(
            ranges in proptest::collection::vec((0u64..40, 0u64..40), 0..20), at in 0u64..40,
        ) {
            let all: Vec<_> = ranges.iter().enumerate().map(|(n, (a, b))| (*a, *b, n)).collect();
            let mut expected: Vec<_> = all.iter().filter(|(a, b, _)| *a <= at && at < *b).map(|r| r.2).collect();
            let intervals = Intervals::new(all);
            let starts: Vec<_> = intervals.containing(at).map(|(start, _)| start).collect();
            prop_assert!(starts.is_sorted_by(|a, b| a >= b));
            let mut found: Vec<_> = intervals.containing(at).map(|(_, n)| *n).collect();
            found.sort_unstable();
            expected.sort_unstable();
            prop_assert_eq!(found, expected);
        }
    }
}
