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

use super::attr::Attr;
use super::bytes::{ByteOrder, Bytes};
use super::feed::Work;
use super::header::Event;
use super::sample::Parts;
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
    work: Option<Work>,
    since: u64,
    runnable: bool,
}

/// Follows threads off their processors.
#[derive(Default)]
pub(super) struct OffCpu {
    away: HashMap<i32, Away>,
    totals: [ValueTotal; 3],
    decided: bool,
    /// Whether each value has a root of its own.
    roots: bool,
    count: bool,
    /// Whether the kernel notes all switches.
    is_noted: bool,
    switches: u64,
    /// How often it was not seen that a thread came back.
    unseen: u64,
}

/// A thread leaves its processor, and perhaps another one takes its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Switch {
    /// The thread that leaves could go on.
    pub runnable: bool,
    /// It ends.
    pub ends: bool,
    /// Who comes, if that is known.
    pub next: Option<i32>,
}

impl OffCpu {
    /// Whether any event of a recording says where threads leave their processors.
    pub fn is_possible(events: &[Event]) -> bool {
        events.iter().any(Event::is_switch)
    }

    /// Whether a recording was made for this: it has nothing else, and all switches.
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

    /// Whether anything of this reaches the result.
    pub fn is_kept(&self) -> bool {
        self.totals.iter().any(|total| total.kept)
    }

    /// A thread leaves: its stack is `work`.
    pub fn leave(&mut self, tid: i32, time: u64, switch: Switch, work: Option<Work>) {
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
    pub fn back(&mut self, tid: i32, time: u64, out: &mut Vec<Work>) -> Result<()> {
        match self.away.remove(&tid) {
            Some(away) => self.add(away, time, out),
            None => Ok(()),
        }
    }

    /// The recording ends at this time.
    ///
    /// # Errors
    /// As of [`OffCpu::back`].
    pub fn finish(&mut self, time: u64, out: &mut Vec<Work>) -> Result<()> {
        let mut away: Vec<(i32, Away)> = self.away.drain().collect();
        away.sort_by_key(|(tid, _)| *tid);
        if !self.is_noted {
            self.unseen += away.len() as u64;
            return Ok(());
        }
        away.into_iter().try_for_each(|(_, away)| self.add(away, time, out))
    }

    fn add(&mut self, mut away: Away, now: u64, out: &mut Vec<Work>) -> Result<()> {
        // Processors' clocks differ a little.
        let time = Weight::new(now.saturating_sub(away.since).into());
        if time.is_zero() {
            return Ok(());
        }
        let weight = if self.count { Weight::ONE } else { time };
        if let Some(work) = &mut away.work {
            work.time = Some(away.since);
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
                out.push(Work { value: FIRST_NUMBER + at as u32, weight, ..work.clone() });
            }
        }
        if !self.roots && !sum.is_zero() {
            out.extend(away.work.map(|work| Work { weight: sum, ..work }));
        }
        Ok(())
    }

    /// The values that there were, with their totals.
    pub fn values(&self) -> impl Iterator<Item = (Value, ValueTotal)> {
        let unit = if self.count { "samples" } else { "ns" };
        let values = VALUES.iter().zip(&self.totals);
        values.filter(|_| self.decided).map(move |(name, total)| (Value::new(*name, unit), *total))
    }

    /// What is not known, if that is wanted at all.
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

impl Event {
    /// Whether it says where threads leave their processors.
    fn is_switch(&self) -> bool {
        self.attr.is_context_switches() || self.name.ends_with(b"sched_switch")
    }

    /// What a sample of this event says of a switch; `None` if it is none.
    pub fn switch(&self, body: &[u8], order: ByteOrder, layout: &SwitchLayout) -> Option<Switch> {
        if self.attr.is_context_switches() {
            return Some(Switch { runnable: false, ends: false, next: None });
        }
        if !self.is_switch() {
            return None;
        }
        layout.parse(Parts::parse(body, order, &self.attr)?.raw, order)
    }
}

/// Where in the data of sched:sched_switch its fields are, which the recording says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SwitchLayout {
    state: Field,
    next: Field,
}

/// Where a number is, and of how many bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Field {
    offset: usize,
    size: usize,
}

impl Default for SwitchLayout {
    /// As it has been for many years.
    fn default() -> Self {
        SwitchLayout { state: Field { offset: 32, size: 8 }, next: Field { offset: 56, size: 4 } }
    }
}

impl SwitchLayout {
    /// Reads the kernel's descriptions of its tracepoints, which stand in a recording one after
    /// the other as they are in `/sys/kernel/tracing/events/*/*/format`.
    pub fn described(tracing: &[u8]) -> Option<SwitchLayout> {
        let begin = memchr::memmem::find(tracing, b"name: sched_switch\n")?;
        let text = &tracing[begin..];
        let text = &text[..memchr::memmem::find(text, b"print fmt:")?];
        let field = |name: &[u8]| {
            let line = text.split(|b| *b == b'\n').find(|line| {
                let declared = line.split(|b| *b == b';').next().unwrap_or_default();
                declared.ends_with(name)
            })?;
            let number = |key: &[u8]| {
                let at = memchr::memmem::find(line, key)? + key.len();
                let digits = line[at..].split(|b| *b == b';').next()?;
                std::str::from_utf8(digits).ok()?.parse().ok()
            };
            Some(Field { offset: number(b"offset:")?, size: number(b"size:")? })
        };
        Some(SwitchLayout { state: field(b" prev_state")?, next: field(b" next_pid")? })
    }

    fn parse(&self, data: &[u8], order: ByteOrder) -> Option<Switch> {
        /// The kernel's numbers of states in which a thread waits, and has ended. The highest, idle,
        /// is a kernel thread without work.
        const STATES: u64 = 0xff;
        const ENDED: u64 = 0x10 | 0x20;
        let number = |field: Field| {
            let end = field.offset.checked_add(field.size)?;
            let mut fields = Bytes::new(data.get(field.offset..end)?, order);
            if field.size == 8 { fields.u64() } else { fields.u32().map(u64::from) }
        };
        let state = number(self.state)?;
        let next = i32::try_from(number(self.next)?).ok()?;
        Some(Switch { runnable: state & STATES == 0, ends: state & ENDED != 0, next: Some(next) })
    }
}

impl Attr {
    /// Whether it counts threads leaving their processors, each of them.
    fn is_context_switches(&self) -> bool {
        const SOFTWARE: u32 = 1;
        const CONTEXT_SWITCHES: u64 = 3;
        self.kind == SOFTWARE && self.config == CONTEXT_SWITCHES && self.period <= 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_where_the_recording_says() {
        let text = b"name: sched_wakeup\nID: 1\nformat:\n\tfield:pid_t pid;\toffset:1;\tsize:4;\tsigned:1;\nprint fmt: x\n\
            name: sched_switch\nID: 314\nformat:\n\
            \tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n\n\
            \tfield:long prev_state;\toffset:12;\tsize:8;\tsigned:1;\n\
            \tfield:pid_t next_pid;\toffset:20;\tsize:4;\tsigned:1;\n\nprint fmt: \"prev_comm\"\n";
        let layout = SwitchLayout::described(text).unwrap();
        assert_eq!(layout.state, Field { offset: 12, size: 8 });
        assert_eq!(layout.next, Field { offset: 20, size: 4 });
        let mut data = vec![0; 24];
        data[20] = 77;
        let parse = |data: &[u8]| layout.parse(data, ByteOrder::Little);
        assert_eq!(parse(&data), Some(Switch { runnable: true, ends: false, next: Some(77) }));
        data[12] = 2;
        assert_eq!(parse(&data), Some(Switch { runnable: false, ends: false, next: Some(77) }));
        data[12] = 0x20;
        assert!(parse(&data).unwrap().ends);
        // Preempted, says a bit above the states.
        (data[12], data[13]) = (0, 1);
        assert!(parse(&data).unwrap().runnable);
        assert_eq!(parse(&data[..23]), None);
        assert_eq!(SwitchLayout::described(b"name: sched_switch\nformat:\n"), None);
    }
}
