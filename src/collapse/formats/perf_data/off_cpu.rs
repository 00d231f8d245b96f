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
//!
//! `fg-record --wall` samples processor time as well: the value `wall` is both. A sampling clock ticks while the
//! kernel switches threads, too, which is time off the processor already, and what is left of a period goes to the
//! next thread of the process. Of a thread whose switches are noted, a sample is therefore as long as it has run since
//! the one before.
//!
//! A record of the kind THROTTLE begins a time in which threads switched too often for each switch to have a
//! sample: see [`Unsampled`].
//!
//! If the kernel notes all switches and had no room for some, a thread's time between two of its records may
//! be known, but not where it was: that is the time of `[lost]`.

use std::collections::HashMap;

use super::attr::Event;
use super::pending::{PendingSample, State};
use super::record::Switched;
use super::switch::Switch;
use super::unsampled::{Share, Unsampled};
use crate::collapse::{CollapseOptions, Value, ValueSelection, ValueTotal};
use crate::error::Result;
use crate::weight::Weight;

/// All the time away, its two parts (waiting for something, and for a processor), and all time.
const VALUES: [&str; 4] = ["offcpu", "blocked", "runnable", "wall"];
const OFF_CPU: usize = 0;
const BLOCKED: usize = 1;
const RUNNABLE: usize = 2;
const WALL: usize = 3;
/// The number of the first of them where events have numbers.
const FIRST_NUMBER: u32 = u32::MAX - 3;

/// The name of a value by its number.
pub(super) fn name_of(number: u32) -> Option<&'static str> {
    VALUES.get(number.checked_sub(FIRST_NUMBER)? as usize).copied()
}

/// A thread that is away.
struct Away {
    /// Its stack; `None` if it is not wanted.
    work: Option<PendingSample>,
    since: u64,
    runnable: bool,
    /// The kernel has noted that it left.
    is_noted: bool,
    /// Not all switches were sampled at the time, and this one was not.
    is_unsampled: bool,
}

/// How long a thread has run.
struct Run {
    /// When it was back last.
    since: u64,
    /// The kernel has noted that it left again.
    is_over: bool,
    /// The nanoseconds that it has run before, beyond those of its samples; negative where samples are ahead.
    unsampled: i64,
}

impl Run {
    fn unsampled_at(&self, time: u64) -> i64 {
        let ran = if self.is_over { 0 } else { time.saturating_sub(self.since) };
        self.unsampled.saturating_add_unsigned(ran)
    }
}

/// Follows threads off their processors.
#[derive(Default)]
pub(super) struct OffCpu {
    away: HashMap<i32, Away>,
    /// The threads that were seen to come back, while there are records of all switches.
    runs: HashMap<i32, Run>,
    /// The processor time that was sampled since, once the kernel had no room for some records.
    spent: HashMap<i32, u64>,
    totals: [ValueTotal; 4],
    decided: bool,
    /// True if each value has a root of its own.
    roots: bool,
    count: bool,
    /// Waits that are shorter are left out.
    least: u64,
    /// The number of waits that were left out, and their time.
    left_out: (u64, u64),
    pub unsampled: Unsampled,
    /// True if the kernel notes all switches.
    is_noted: bool,
    /// True if there is a sample of each switch as well, as far as there was room.
    is_whole: bool,
    /// True if there is processor time as well.
    is_wall: bool,
    /// True if the kernel had no room for some records.
    has_losses: bool,
    switches: u64,
    /// The number of times a thread was not seen to come back.
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

    /// Returns whether a recording was made for all time that passes: where threads leave their processors comes
    /// first in it, processor time next, and nothing else.
    pub fn is_wall(events: &[Event]) -> bool {
        let mut sampled = events.iter().filter(|event| !event.attr.is_dummy());
        sampled.next().is_some_and(Event::is_switch)
            && sampled.clone().any(|event| event.attr.is_clock())
            && sampled.all(|event| event.is_switch() || event.attr.is_clock())
            && events.iter().any(|event| event.attr.context_switch)
    }

    /// Decides which values are kept, when the first thread leaves.
    pub fn decide(&mut self, options: &CollapseOptions, events: &[Event], first: &mut Option<Vec<u8>>) {
        if std::mem::replace(&mut self.decided, true) {
            return;
        }
        let is_wall = OffCpu::is_wall(events);
        self.is_wall = is_wall;
        for (at, total) in self.totals.iter_mut().enumerate().filter(|(at, _)| *at != WALL || is_wall) {
            // It is not the first value of anything else.
            let mut first = Some(first.clone().unwrap_or_default());
            total.kept = options.values.keeps_event(VALUES[at].as_bytes(), &mut first);
        }
        self.roots = options.values == ValueSelection::All;
        self.count = options.count;
        self.least = u64::try_from(options.min_wait.as_nanos()).unwrap_or(u64::MAX);
        self.is_noted = events.iter().any(|event| event.attr.context_switch);
        self.is_whole = is_wall || OffCpu::is_meant(events);
        let own = if is_wall { WALL } else { OFF_CPU };
        if first.is_none() && self.is_whole {
            *first = Some(VALUES[own].into());
            self.totals[own].kept |= options.values == ValueSelection::Default;
        }
    }

    /// Returns whether anything of this reaches the result.
    pub fn is_kept(&self) -> bool {
        self.totals.iter().any(|total| total.kept)
    }

    /// Returns whether time on the processor is part of what is kept.
    pub fn keeps_wall(&self) -> bool {
        self.totals[WALL].kept
    }

    /// Counts anew; threads that are away stay away.
    pub fn begin_part(&mut self) {
        for total in &mut self.totals {
            *total = ValueTotal { kept: total.kept, ..ValueTotal::default() };
        }
        (self.switches, self.unseen, self.left_out) = (0, 0, (0, 0));
        self.unsampled.begin_part();
    }

    /// The kernel had no room for some records.
    pub fn lose(&mut self) {
        self.has_losses = true;
    }

    /// Returns whether a switch that the kernel notes needs the stack that it lost: see [`OffCpu::left`].
    pub fn lacks(&self, tid: i32) -> bool {
        self.is_whole && tid != 0 && self.is_kept() && self.away.get(&tid).is_none_or(|away| away.is_noted)
    }

    /// A thread leaves: its stack is `work`.
    ///
    /// # Errors
    /// More time than can be added up.
    pub fn leave(
        &mut self,
        tid: i32,
        time: u64,
        switch: Switch,
        work: Option<PendingSample>,
        out: &mut Vec<PendingSample>,
    ) -> Result<()> {
        // The idle one is everywhere, and waits for nothing.
        if tid == 0 || switch.ends {
            return Ok(());
        }
        if self.is_noted
            && let Some(away) = self.away.get_mut(&tid).filter(|away| !away.is_noted)
        {
            // Sampled twice, by different events: the longer copy of its stack is the better one.
            if work.as_ref().map(|work| work.body.len()) > away.work.as_ref().map(|work| work.body.len()) {
                away.work = work;
            }
            return Ok(());
        }
        self.switches += 1;
        let away =
            Away { work, since: time, runnable: switch.runnable, is_noted: false, is_unsampled: false };
        match self.away.insert(tid, away) {
            // It leaves again, so it was back in between.
            Some(before) if self.is_whole => self.add_lost(tid, before.work, before.since, time, out),
            Some(_) => {
                self.unseen += 1;
                Ok(())
            }
            None => Ok(()),
        }
    }

    /// The kernel notes that a thread has left. `lost` stands for its stack where that [was lost](OffCpu::lacks).
    ///
    /// # Errors
    /// More time than can be added up.
    pub fn left(
        &mut self,
        switched: Switched,
        time: u64,
        lost: Option<PendingSample>,
        out: &mut Vec<PendingSample>,
    ) -> Result<()> {
        let Switched { tid, preempted, .. } = switched;
        if let Some(run) = self.runs.get_mut(&tid) {
            run.unsampled = run.unsampled_at(time);
            run.is_over = true;
        }
        if let Some(away) = self.away.get_mut(&tid).filter(|away| !away.is_noted) {
            away.since = time;
            away.runnable |= preempted;
            away.is_noted = true;
            return Ok(());
        }
        let Some(lost) = lost else { return Ok(()) };
        self.switches += 1;
        let is_unsampled = self.unsampled.is_on();
        let away = Away { work: Some(lost), since: time, runnable: preempted, is_noted: true, is_unsampled };
        match self.away.insert(tid, away) {
            Some(before) => self.add_lost(tid, before.work, before.since, time, out),
            None => Ok(()),
        }
    }

    /// A thread has ended: it is not waited for.
    ///
    /// # Errors
    /// Those of [`OffCpu::back`].
    pub fn end(&mut self, tid: i32, out: &mut Vec<PendingSample>) -> Result<()> {
        self.away.remove(&tid);
        self.runs.remove(&tid);
        self.spent.remove(&tid);
        let rest = self.unsampled.release(tid);
        rest.into_iter().try_for_each(|rest| self.hand_out_rest(rest, out))
    }

    /// A part of the recording ends: hands out what waits for another sample.
    ///
    /// # Errors
    /// Those of [`OffCpu::back`].
    pub fn end_part(&mut self, out: &mut Vec<PendingSample>) -> Result<()> {
        let rest = self.unsampled.release_all();
        rest.into_iter().try_for_each(|rest| self.hand_out_rest(rest, out))
    }

    /// A thread is back. `lost` makes what stands for its stack if that was lost.
    ///
    /// # Errors
    /// More time than can be added up.
    pub fn back(
        &mut self,
        tid: i32,
        time: u64,
        lost: impl FnOnce() -> PendingSample,
        out: &mut Vec<PendingSample>,
    ) -> Result<()> {
        let before = if self.is_whole && tid != 0 { self.run(tid, time) } else { None };
        let added = match (self.away.remove(&tid), before) {
            (Some(away), _) => self.add(away, time, out),
            // It had left, at an unknown time.
            (None, Some(before)) if self.has_losses && self.is_kept() => {
                self.add_lost(tid, Some(lost()), before, time, out)
            }
            (None, _) => Ok(()),
        };
        self.spent.remove(&tid);
        added
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
        away.into_iter().try_for_each(|(_, away)| self.add(away, time, out))?;
        self.end_part(out)
    }

    /// A thread runs from now on; returns when it was back before.
    fn run(&mut self, tid: i32, time: u64) -> Option<u64> {
        let run = Run { since: time, is_over: false, unsampled: 0 };
        let Some(before) = self.runs.get_mut(&tid) else {
            self.runs.insert(tid, run);
            return None;
        };
        let unsampled = before.unsampled_at(time);
        Some(std::mem::replace(before, Run { unsampled, ..run }).since)
    }

    /// Counts processor time towards the time that passes: returns how much of that the sample is.
    ///
    /// # Errors
    /// More time than can be added up.
    pub fn add_running(
        &mut self,
        weight: Weight,
        sample: &PendingSample,
        out: &mut Vec<PendingSample>,
    ) -> Result<Weight> {
        let weight = self.time_run(weight, sample.tid, sample.time);
        self.totals[WALL].add(weight)?;
        if self.has_losses {
            let spent = self.spent.entry(sample.tid).or_default();
            let nanoseconds = weight.to_u64().unwrap_or(0);
            *spent = spent.saturating_add(nanoseconds);
        }
        if self.roots {
            out.push(PendingSample { value: FIRST_NUMBER + WALL as u32, weight, ..sample.clone() });
        }
        Ok(weight)
    }

    /// How long its thread has run since the sample before, if that is known; else the sample's own weight.
    fn time_run(&mut self, weight: Weight, tid: i32, time: Option<u64>) -> Weight {
        let run = self.runs.get_mut(&tid).filter(|_| !self.count && !self.has_losses);
        let (Some(run), Some(time)) = (run, time) else { return weight };
        let ran = run.unsampled_at(time).max(0);
        run.unsampled = run.unsampled.saturating_sub(ran);
        Weight::new(ran.into())
    }

    /// Adds time whose use is not known, but for the samples of processor time in it.
    fn add_lost(
        &mut self,
        tid: i32,
        work: Option<PendingSample>,
        since: u64,
        now: u64,
        out: &mut Vec<PendingSample>,
    ) -> Result<()> {
        let since = since.saturating_add(self.spent.remove(&tid).unwrap_or(0));
        let work = work.map(|work| PendingSample { state: State::Lost, ..work });
        self.add(Away { work, since, runnable: false, is_noted: true, is_unsampled: false }, now, out)
    }

    fn add(&mut self, mut away: Away, now: u64, out: &mut Vec<PendingSample>) -> Result<()> {
        // Processors' clocks differ a little.
        let time = now.saturating_sub(away.since);
        if time == 0 {
            return Ok(());
        }
        if time < self.least {
            self.left_out = (self.left_out.0 + 1, self.left_out.1.saturating_add(time));
            return Ok(());
        }
        let weight = self.weight_of(1, time);
        for &at in self.parts(away.runnable) {
            self.totals[at].add(weight)?;
        }
        let Some(mut work) = away.work.take().filter(|_| self.is_kept()) else { return Ok(()) };
        work.time = Some(away.since);
        work.away = time;
        if away.is_unsampled {
            self.unsampled.add(away.runnable, time, work);
            return Ok(());
        }
        let mut share = Share::default();
        if work.state != State::Lost {
            work.state = if away.runnable { State::Runnable } else { State::Blocked };
            share = self.unsampled.take(away.runnable, time, &work);
        }
        let weight = weight.checked_add(self.weight_of(share.count, share.time))?;
        self.hand_out(away.runnable, weight, work, out)
    }

    fn weight_of(&self, count: u64, time: u64) -> Weight {
        Weight::new(if self.count { count.into() } else { time.into() })
    }

    /// The values that a wait counts for.
    fn parts(&self, runnable: bool) -> &'static [usize] {
        match (runnable, self.is_wall) {
            (true, false) => &[OFF_CPU, RUNNABLE],
            (true, true) => &[OFF_CPU, RUNNABLE, WALL],
            (false, false) => &[OFF_CPU, BLOCKED],
            (false, true) => &[OFF_CPU, BLOCKED, WALL],
        }
    }

    fn hand_out_rest(
        &self,
        (runnable, share, work): (bool, Share, PendingSample),
        out: &mut Vec<PendingSample>,
    ) -> Result<()> {
        self.hand_out(runnable, self.weight_of(share.count, share.time), work, out)
    }

    /// Hands out a wait for each value that is kept, or once for all.
    fn hand_out(
        &self,
        runnable: bool,
        weight: Weight,
        work: PendingSample,
        out: &mut Vec<PendingSample>,
    ) -> Result<()> {
        let mut sum = Weight::ZERO;
        for &at in self.parts(runnable).iter().filter(|at| self.totals[**at].kept) {
            sum = sum.checked_add(weight)?;
            if self.roots {
                out.push(PendingSample { value: FIRST_NUMBER + at as u32, weight, ..work.clone() });
            }
        }
        if !self.roots && !sum.is_zero() {
            out.push(PendingSample { weight: sum, ..work });
        }
        Ok(())
    }

    /// The values that there were, with their totals.
    pub fn values(&self) -> impl Iterator<Item = (Value, ValueTotal)> {
        let unit = if self.count { "samples" } else { "ns" };
        let count = match (self.decided, self.is_wall) {
            (false, _) => 0,
            (true, false) => WALL,
            (true, true) => VALUES.len(),
        };
        let values = VALUES.iter().zip(&self.totals).take(count);
        values.map(move |(name, total)| (Value::new(*name, unit), *total))
    }

    /// A note of the threads that were not seen to come back, if time off the processor is kept.
    pub fn note(&self) -> Option<String> {
        (self.unseen > 0 && self.is_kept()).then(|| {
            format!(
                "{} of {} times a thread left its processor nobody saw it come back: \
                 perf record --switch-events, or perf sched record, sees all",
                self.unseen, self.switches
            )
        })
    }

    /// A line on the waits that were left out as too short.
    pub fn left_out(&self) -> Option<String> {
        let (count, time) = self.left_out;
        (count > 0).then(|| {
            let shortest = std::time::Duration::from_nanos(self.least);
            let seconds = time as f64 / 1e9;
            format!("{count} waits shorter than {shortest:?}, {seconds:.3} s together, are left out")
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TID: i32 = 7;

    fn leave(threads: &mut OffCpu, time: u64) {
        let switched = Switched { pid: TID, tid: TID, out: true, preempted: false };
        threads.left(switched, time, None, &mut Vec::new()).unwrap();
    }

    fn run(threads: &mut OffCpu, time: u64) -> u64 {
        threads.time_run(Weight::new(1000), TID, Some(time)).to_u64().unwrap()
    }

    #[test]
    fn a_sample_is_as_long_as_its_thread_has_run_since_the_one_before() {
        let mut threads = OffCpu::default();
        // It is not known yet when it began to run.
        assert_eq!(run(&mut threads, 5), 1000);
        threads.run(TID, 100);
        assert_eq!(run(&mut threads, 103), 3);
        leave(&mut threads, 108);
        assert_eq!(run(&mut threads, 109), 5);
        assert_eq!(run(&mut threads, 110), 0);
        threads.run(TID, 120);
        // Seen to come back by a sample and by a record: it ran all the while.
        threads.run(TID, 130);
        assert_eq!(run(&mut threads, 140), 20);
        // Processors' clocks differ a little.
        assert_eq!(run(&mut threads, 138), 0);
        leave(&mut threads, 150);
        threads.run(TID, 200);
        assert_eq!(run(&mut threads, 207), 17);
        assert_eq!(threads.time_run(Weight::ONE, TID, None), Weight::ONE);
        threads.lose();
        assert_eq!(run(&mut threads, 300), 1000);
    }

    #[test]
    fn a_thread_that_has_ended_is_forgotten() {
        let mut threads = OffCpu::default();
        threads.run(TID, 0);
        leave(&mut threads, 7);
        assert_eq!(run(&mut threads, 8), 7);
        threads.end(TID, &mut Vec::new()).unwrap();
        assert_eq!(run(&mut threads, 9), 1000);
    }
}
