//! Time off the processor: what a stack weighs from where its thread left until it is back.
//!
//! ```text
//! SAMPLE  tid 7 context-switches, or sched:sched_switch, with its stack   where it leaves
//! SWITCH  tid 7 out                                                       when
//! SWITCH  tid 7 in, or sched:sched_switch with next_pid 7                 when it is back
//! ```
//! `fg-record --off-cpu` writes such recordings, and so do `perf record -e context-switches -c 1
//! --switch-events -g` and `perf sched record -g`. Of a thread that is still away at the end
//! something is known only where the kernel noted its switches, which it would have done.

use std::collections::HashMap;

use super::attr::Event;
use super::pending::PendingSample;
use super::switch::Switch;
use crate::collapse::{Options, Value, ValueTotal};
use crate::error::Result;
use crate::weight::Weight;

/// All the time away, and its two parts: waiting for something, and for a processor.
const VALUES: [&str; 3] = ["offcpu", "blocked", "runnable"];
/// The number of the first of them where events have numbers.
const FIRST_NUMBER: u32 = u32::MAX - 2;

/// The name of a value by its number.
pub(super) fn name_of(number: u32) -> Option<&'static str> {
    VALUES.get(number.checked_sub(FIRST_NUMBER)? as usize).copied()
}

/// A thread that is away.
struct Away {
    /// Its stack; `None` if nobody wants it.
    work: Option<PendingSample>,
    since: u64,
    runnable: bool,
}

/// Follows threads off their processors.
#[derive(Default)]
pub(super) struct OffCpu {
    away: HashMap<i32, Away>,
    totals: [ValueTotal; 3],
    decided: bool,
    /// True if each value has a root of its own.
    roots: bool,
    count: bool,
    /// True if the kernel notes all switches.
    is_noted: bool,
    switches: u64,
    /// The number of times that nobody saw a thread come back.
    unseen: u64,
}

impl OffCpu {
    /// Returns whether any event of a recording says where threads leave their processors.
    pub fn is_possible(events: &[Event]) -> bool {
        events.iter().any(Event::is_switch)
    }

    /// Returns whether a recording was made for this: it has nothing else, and all switches.
    pub fn is_meant(events: &[Event]) -> bool {
        OffCpu::is_possible(events)
            && events.iter().all(|event| event.is_switch() || event.attr.is_dummy())
            && events.iter().any(|event| event.attr.context_switch)
    }

    /// Decides which values are kept, when the first thread leaves.
    pub fn decide(&mut self, options: &Options, events: &[Event], first: &mut Option<Vec<u8>>) {
        if std::mem::replace(&mut self.decided, true) {
            return;
        }
        for (name, total) in VALUES.iter().zip(&mut self.totals) {
            // It is not the first value of anything else.
            let mut first = Some(first.clone().unwrap_or_default());
            total.kept = options.values.keeps_event(name.as_bytes(), &mut first);
        }
        self.roots = options.values == crate::collapse::ValueSelection::All;
        self.count = options.count;
        self.is_noted = events.iter().any(|event| event.attr.context_switch);
        if first.is_none() && OffCpu::is_meant(events) {
            *first = Some(VALUES[0].into());
            self.totals[0].kept |= options.values == crate::collapse::ValueSelection::Default;
        }
    }

    /// Returns whether anything of this reaches the result.
    pub fn is_kept(&self) -> bool {
        self.totals.iter().any(|total| total.kept)
    }

    /// Counts anew; threads that are away stay away.
    pub fn begin_part(&mut self) {
        for total in &mut self.totals {
            *total = ValueTotal { kept: total.kept, ..ValueTotal::default() };
        }
        (self.switches, self.unseen) = (0, 0);
    }

    /// A thread leaves: its stack is `work`.
    pub fn leave(&mut self, tid: i32, time: u64, switch: Switch, work: Option<PendingSample>) {
        // The idle one is everywhere, and waits for nothing.
        if tid == 0 || switch.ends {
            return;
        }
        self.switches += 1;
        let away = Away { work, since: time, runnable: switch.runnable };
        if self.away.insert(tid, away).is_some() {
            // It leaves again, so it was back in between.
            self.unseen += 1;
        }
    }

    /// The kernel notes that a thread has left.
    pub fn left(&mut self, tid: i32, time: u64, preempted: bool) {
        if let Some(away) = self.away.get_mut(&tid) {
            away.since = time;
            away.runnable |= preempted;
        }
    }

    /// A thread has ended: it is not waited for.
    pub fn end(&mut self, tid: i32) {
        self.away.remove(&tid);
    }

    /// A thread is back.
    ///
    /// # Errors
    /// More time than can be added up.
    pub fn back(&mut self, tid: i32, time: u64, out: &mut Vec<PendingSample>) -> Result<()> {
        match self.away.remove(&tid) {
            Some(away) => self.add(away, time, out),
            None => Ok(()),
        }
    }

    /// The recording ends at this time.
    ///
    /// # Errors
    /// Those of [`OffCpu::back`].
    pub fn finish(&mut self, time: u64, out: &mut Vec<PendingSample>) -> Result<()> {
        let mut away: Vec<(i32, Away)> = self.away.drain().collect();
        away.sort_by_key(|(tid, _)| *tid);
        if !self.is_noted {
            self.unseen += away.len() as u64;
            return Ok(());
        }
        away.into_iter().try_for_each(|(_, away)| self.add(away, time, out))
    }

    fn add(&mut self, mut away: Away, now: u64, out: &mut Vec<PendingSample>) -> Result<()> {
        // Processors' clocks differ a little.
        let time = Weight::new(now.saturating_sub(away.since).into());
        if time.is_zero() {
            return Ok(());
        }
        let weight = if self.count { Weight::ONE } else { time };
        if let Some(work) = &mut away.work {
            work.time = Some(away.since);
            work.away = now.saturating_sub(away.since);
        }
        let mut sum = Weight::ZERO;
        let part = if away.runnable { 2 } else { 1 };
        for at in [0, part] {
            let total = &mut self.totals[at];
            total.add(weight)?;
            if !total.kept {
                continue;
            }
            sum = sum.checked_add(weight)?;
            if let (true, Some(work)) = (self.roots, &away.work) {
                out.push(PendingSample { value: FIRST_NUMBER + at as u32, weight, ..work.clone() });
            }
        }
        if !self.roots && !sum.is_zero() {
            out.extend(away.work.map(|work| PendingSample { weight: sum, ..work }));
        }
        Ok(())
    }

    /// The values that there were, with their totals.
    pub fn values(&self) -> impl Iterator<Item = (Value, ValueTotal)> {
        let unit = if self.count { "samples" } else { "ns" };
        let values = VALUES.iter().zip(&self.totals);
        values.filter(|_| self.decided).map(move |(name, total)| (Value::new(*name, unit), *total))
    }

    /// A note of the threads nobody saw come back, if time off the processor is kept.
    pub fn note(&self) -> Option<String> {
        (self.unseen > 0 && self.is_kept()).then(|| {
            format!(
                "{} of {} times a thread left its processor nobody saw it come back: \
                 perf record --switch-events, or perf sched record, sees all",
                self.unseen, self.switches
            )
        })
    }
}
