//! Facts that are gathered over the whole text, by all threads: times, common weight, headers.

use std::time::Duration;

use super::event::{Layout, parse_event_or_frame, time_of};
use super::header::TextHeader;
use crate::collapse::kit::events::CommonWeight;
use crate::input::lines;
use crate::profile::Facts;

/// Times, weights and header marks that the threads have seen besides the stacks.
#[derive(Default)]
pub(super) struct Overview {
    /// The weight of the kept samples.
    pub period: CommonWeight,
    /// The times of the first and the last sample, in nanoseconds.
    pub times: Option<(u64, u64)>,
    /// The number of header marks: a header has two.
    pub marks: usize,
}

impl Overview {
    pub fn merge(&mut self, other: &Overview) {
        self.period.merge(other.period);
        self.marks += other.marks;
        self.see(other.times);
    }

    pub fn see(&mut self, times: Option<(u64, u64)>) {
        self.times = match (self.times, times) {
            (Some((a, b)), Some((c, d))) => Some((a.min(c), b.max(d))),
            (known, new) => known.or(new),
        };
    }

    /// The facts of a recording; of several that were joined, only their sums.
    pub fn facts(self, header: TextHeader, event: Option<&[u8]>, samples: u64) -> Facts {
        let counts = Facts { samples: Some(samples), period: self.period.get(), ..Facts::default() };
        if self.marks > 2 {
            return counts;
        }
        let start = self.times.and_then(|(first, _)| header.date(first));
        let rate = header.events.iter().find(|(name, _)| event == Some(name)).and_then(|(_, rate)| *rate);
        let duration = self.times.map(|(first, last)| Duration::from_nanos(last - first));
        Facts {
            samples: counts.samples,
            period: counts.period,
            start,
            rate,
            duration: duration.filter(|duration| !duration.is_zero()),
            ..header.facts
        }
    }
}

/// The times of the first and the last event line of a block. Lines are in the order of time, so
/// those between need not be read for it.
pub(super) fn first_and_last_time(bytes: &[u8], layout: Layout) -> Option<(u64, u64)> {
    let time = |line: &[u8]| {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        if matches!(line.first(), None | Some(b'\t' | b'#')) {
            return None;
        }
        parse_event_or_frame(line, layout).and_then(|event| time_of(line, &event))
    };
    let first = lines(bytes).find_map(time)?;
    let last = bytes.rsplit(|&b| b == b'\n').find_map(time)?;
    Some((first.min(last), first.max(last)))
}
