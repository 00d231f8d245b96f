//! Waits of threads that switch so often that the stack of each costs the program more than the switch itself.
//!
//! Of threads that wait, two events sample the stacks: one takes each switch, the other at most so many a second
//! of each thread. When switches come too often the first one is put aside, which a record of the kind
//! `PERF_RECORD_THROTTLE` says, as the kernel would, and `PERF_RECORD_UNTHROTTLE` says that it samples again. The
//! times of all switches are noted throughout, so that a reader knows how long the waits without a stack were.
//!
//! Two threads on one processor that wake each other through a pipe, processor time for there and back: alone
//! 6.3 µs, with each stack 17.4, with 1000 stacks a second 7.3 (medians of seven, 2026-11-23). Four of the eleven
//! are the kernel's way through its own part of the stack, which no attribute makes cheaper.

use std::time::{Duration, Instant};

use super::counted::Counted;

/// The switches of a second, of all threads together, from which on not each has its stack. Of these, the
/// stacks take 2 to 5% of one processor.
const MOST_SWITCHES: u64 = 10_000;

/// The time over which the switches are counted: long enough for a burst of some hundred to pass.
const WINDOW: Duration = Duration::from_millis(20);

/// The time with less than half of these switches after which each has its stack again.
const CALM: Duration = Duration::from_millis(100);

/// A change of the event that samples each switch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Change {
    /// It is put aside.
    Begin,
    /// It samples again.
    End,
}

/// Decides whether each switch is sampled.
#[derive(Debug)]
pub(super) struct Throttle {
    is_on: bool,
    since: Instant,
    before: Counted,
}

impl Throttle {
    /// Begins with samples of each switch.
    pub fn new() -> Throttle {
        Throttle { is_on: false, since: Instant::now(), before: Counted::default() }
    }

    /// Returns true while the event is put aside.
    pub fn is_on(&self) -> bool {
        self.is_on
    }

    /// Begins anew, after a pause in which nothing was counted.
    pub fn restart(&mut self, counted: Counted) {
        *self = Throttle { before: counted, ..Throttle::new() };
    }

    /// Looks at all that was counted by now.
    pub fn observe(&mut self, counted: Counted) -> Option<Change> {
        self.observe_after(self.since.elapsed(), counted)
    }

    fn observe_after(&mut self, elapsed: Duration, counted: Counted) -> Option<Change> {
        if elapsed < if self.is_on { CALM } else { WINDOW } {
            return None;
        }
        let switches = counted.switches.saturating_sub(self.before.switches);
        let samples = counted.samples.saturating_sub(self.before.samples);
        let a_second = u128::from(switches) * 1_000_000_000 / elapsed.as_nanos().max(1);
        // Where many threads switch now and then, the other event samples each of their switches as well: then
        // nothing is gained.
        let others = samples.saturating_sub(switches);
        let change = match self.is_on {
            false if a_second > MOST_SWITCHES.into() && others < switches / 2 => Some(Change::Begin),
            true if a_second < u128::from(MOST_SWITCHES) / 2 => Some(Change::End),
            _ => None,
        };
        self.is_on = change.map_or(self.is_on, |change| change == Change::Begin);
        (self.since, self.before) = (Instant::now(), counted);
        change
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counted(switches: u64, samples: u64) -> Counted {
        Counted { switches, samples, ..Counted::default() }
    }

    #[test]
    fn switches_that_come_too_often_are_not_all_sampled_until_they_are_fewer() {
        let mut throttle = Throttle::new();
        let mut observe = |millis, counted| {
            let change = throttle.observe_after(Duration::from_millis(millis), counted);
            (change, throttle.is_on())
        };
        assert_eq!(observe(10, counted(9000, 9000)), (None, false), "too early to tell");
        assert_eq!(observe(1000, counted(9000, 9900)), (None, false));
        assert_eq!(observe(20, counted(9300, 10_220)), (Some(Change::Begin), true), "15,000 a second");
        // The other event goes on.
        assert_eq!(observe(50, counted(9301, 10_230)), (None, true), "too early to tell");
        assert_eq!(observe(100, counted(10_000, 10_330)), (None, true), "7,000: no change to and fro");
        assert_eq!(observe(100, counted(10_499, 10_430)), (Some(Change::End), false));
        assert_eq!(observe(100, counted(10_998, 10_930)), (None, false));
    }

    #[test]
    fn many_slow_threads_are_sampled_as_before() {
        // Both events take each of their switches.
        let mut throttle = Throttle::new();
        assert_eq!(throttle.observe_after(Duration::from_secs(1), counted(30_000, 50_000)), None);
        assert_eq!(
            throttle.observe_after(Duration::from_secs(1), counted(60_000, 94_000)),
            Some(Change::Begin)
        );
        throttle.restart(counted(60_000, 94_000));
        assert!(!throttle.is_on());
        assert_eq!(
            throttle.observe_after(Duration::from_secs(1), counted(60_100, 94_100)),
            None,
            "counted anew"
        );
    }
}
