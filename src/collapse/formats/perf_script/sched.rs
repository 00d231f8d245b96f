//! Time off the processor, out of `sched:sched_switch` events in `perf script` text.
//!
//! ```text
//! sw (1)  7827 [000]   836.070078: sched:sched_switch: prev_comm=sw (1) prev_pid=7827 … prev_state=S ==> next_comm=… next_pid=7818 …
//!     ffffffff821facd8 __schedule+0x618 ([kernel.kallsyms])
//!     ffffffff822025be do_nanosleep+0x5e ([kernel.kallsyms])
//! ```
//! The stack is where a thread leaves its processor; it is back when an event names it as the
//! next. The time between is what the stack weighs: all of it, or only while the thread was
//! blocked, or only while it could have run. When a thread comes back is only seen on processors
//! that were recorded whole (`perf sched record`, `perf record -a`); what is not seen is left out
//! and said. Newer `perf script` writes the payload shorter: `sw:7827 [120] S ==> gzip:7049 [120]`.

use std::collections::HashMap;
use std::time::Duration;

use super::event::{Layout, is_side_band, parse_event, time_of};
use super::frame::{Frame, without_tab};
use super::header::TextHeader;
use crate::collapse::kit::leaf_first::LeafFirst;
use crate::collapse::kit::names::{FrameNames, NO_STACK};
use crate::collapse::kit::naming::{is_kernel, name_thread};
use crate::collapse::kit::native_frame::NativeFrame;
use crate::collapse::kit::text::{Text, split_digits, split_last};
use crate::collapse::kit::values::Values;
use crate::collapse::{
    Certainty, CollapseOptions, Collapser, Context, ContextInfo, FormatInfo, Reading, Report, Sink, Tested,
    Value,
};
use crate::error::Result;
use crate::input::Input;
use crate::number;
use crate::profile::Facts;
use crate::weight::Weight;

const INFO: FormatInfo = FormatInfo {
    name: "perf-sched",
    producer: "perf script of sched:sched_switch events (perf sched record), by --input-format only",
    tested: Tested::Seen("perf 6.1"),
    values: "offcpu, blocked, runnable",
    unit: "ns",
};

/// Collapses switches of threads to the time between them.
pub struct PerfSched;

impl Collapser for PerfSched {
    fn info(&self) -> &'static FormatInfo {
        &INFO
    }

    fn contexts(&self) -> ContextInfo {
        ContextInfo { times: "waits", clock: Some("perf"), labels: "thread, tid" }
    }

    /// The same text is a profile of events: which is wanted has to be said.
    fn detect(&self, _head: &[u8]) -> Certainty {
        Certainty::No
    }

    fn collapse(
        &self,
        input: Input,
        reading: &Reading<'_>,
        sink: &mut dyn Sink,
        report: &mut Report,
    ) -> Result<()> {
        let declared = ["offcpu", "blocked", "runnable"].map(|name| Value::new(name, "ns"));
        let header = TextHeader::read(input.head());
        let mut parser = Parser {
            options: reading,
            contexts: sink.wants().contexts,
            times: None,
            layout: Layout::guess(input.head()).unwrap_or(Layout::DEFAULT),
            values: Values::new(reading, declared.into(), 0)?,
            names: FrameNames::default(),
            off: HashMap::new(),
            leaving: None,
            unseen: 0,
            switches: 0,
        };
        let mut text = Text::new(input);
        text.for_each(report, |line| parser.line(line, sink))?;
        if parser.leaving.as_ref().is_some_and(|(_, off)| !off.stack.is_empty()) {
            text.end_within_record(report);
        }
        parser.leave();
        if parser.unseen > 0 {
            let note = format!(
                "{} of {} times a thread left its processor nobody saw it come back: \
                 perf sched record, or perf record -a, sees all",
                parser.unseen, parser.switches
            );
            report.facts.warn(&note);
            report.note(note);
        }
        let warnings = std::mem::take(&mut report.facts.warnings);
        let start = parser.times.and_then(|(first, _)| header.date(first));
        let duration = parser.times.map(|(first, last)| Duration::from_nanos(last.saturating_sub(first)));
        let duration = duration.filter(|duration| !duration.is_zero());
        report.facts = Facts { warnings, start, duration, ..header.facts };
        parser.values.finish(report)?;
        let kept = report.values.values().filter(|total| total.kept);
        report.facts.samples = Some(kept.map(|total| total.samples).max().unwrap_or(0));
        Ok(())
    }
}

/// A thread that has left its processor.
struct Off {
    since: u64,
    runnable: bool,
    stack: LeafFirst,
    process: Option<u64>,
    thread: u64,
    /// The name of the thread, if contexts are wanted.
    comm: Vec<u8>,
}

struct Parser<'o> {
    options: &'o CollapseOptions,
    /// True if samples are told apart by time and thread.
    contexts: bool,
    /// The times of the first and the last switch.
    times: Option<(u64, u64)>,
    layout: Layout,
    values: Values,
    names: FrameNames,
    off: HashMap<u64, Off>,
    /// The thread of the event whose stack is being read.
    leaving: Option<(u64, Off)>,
    /// The number of times a thread was not seen to come back.
    unseen: u64,
    switches: u64,
}

impl Parser<'_> {
    fn line(&mut self, line: &[u8], sink: &mut dyn Sink) -> Result<bool> {
        if let Some(text) = line.strip_prefix(b"\t").or_else(|| without_tab(line))
            && let Some(frame) = Frame::parse(text).filter(|frame| !frame.address.is_empty())
        {
            if let Some((_, off)) = &mut self.leaving {
                let frame = NativeFrame {
                    symbol: frame.symbol,
                    module: frame.module,
                    address: frame.address,
                    kernel: is_kernel(frame.module),
                    ..NativeFrame::default()
                };
                off.stack.push(frame.frame(self.options, &mut self.names, sink));
            }
            return Ok(true);
        }
        self.leave();
        if line.is_empty() || line.starts_with(b"#") {
            return Ok(true);
        }
        let Some(event) = parse_event(line, self.layout) else {
            // Source lines, and perf's notes on tasks.
            return Ok(line.starts_with(b" ") || is_side_band(line));
        };
        if !event.event.ends_with(b"sched_switch") {
            return Ok(true);
        }
        let (Some(time), Some(switch)) = (time_of(line, &event), Switch::parse(event.rest)) else {
            return Ok(false);
        };
        self.times = Some((self.times.map_or(time, |(first, _)| first), time));
        if let Some(off) = self.off.remove(&switch.next) {
            self.back(off, time, sink)?;
        }
        if switch.prev != 0 {
            let mut stack = LeafFirst::default();
            let frame = self.names.build(sink, |out| {
                name_thread(event.comm, event.pid.unwrap_or(b"?"), event.tid, self.options, out);
            });
            if self.options.shows_threads(true) {
                stack.push_above(frame);
            }
            let process = event.pid.and_then(number::parse);
            let comm = if self.contexts { event.comm.to_vec() } else { Vec::new() };
            let (runnable, thread) = (switch.runnable, switch.prev);
            let off = Off { since: time, runnable, stack, process, thread, comm };
            self.leaving = Some((switch.prev, off));
            self.switches += 1;
        }
        Ok(true)
    }

    /// Ends the stack of the thread that leaves.
    fn leave(&mut self) {
        if let Some((tid, off)) = self.leaving.take()
            && self.off.insert(tid, off).is_some()
        {
            // It leaves again, so it was back in between.
            self.unseen += 1;
        }
    }

    fn back(&mut self, mut off: Off, now: u64, sink: &mut dyn Sink) -> Result<()> {
        // Processors' clocks differ a little.
        let away = now.saturating_sub(off.since);
        let time = Weight::new(i128::from(away));
        let (blocked, runnable) = if off.runnable { (Weight::ZERO, time) } else { (time, Weight::ZERO) };
        if off.stack.is_empty() && !self.options.shows_threads(true) {
            off.stack.push(self.names.plain(NO_STACK, sink));
        }
        let context = Context {
            time: Some(off.since),
            process: off.process,
            thread: Some(off.thread),
            thread_name: &off.comm,
            labels: &[],
        };
        let stack = off.stack.take();
        for (at, weight) in [time, blocked, runnable].into_iter().enumerate() {
            self.values.add_lasting(at, stack, weight, 1, (&context, away), sink)?;
        }
        Ok(())
    }
}

/// A switch: the thread that leaves, the one that comes, and whether the first could have gone on.
struct Switch {
    prev: u64,
    next: u64,
    runnable: bool,
}

impl Switch {
    /// `prev_comm=… prev_pid=7 prev_prio=120 prev_state=S ==> next_comm=… next_pid=8 next_prio=120`,
    /// or `…:7 [120] S ==> …:8 [120]`. Commands are any text.
    fn parse(payload: &[u8]) -> Option<Switch> {
        let (rest, state, after) = memchr::memmem::rfind_iter(payload, b" ==> ").find_map(|at| {
            let (rest, word) = split_last(&payload[..at], b" ")?;
            let state = word.strip_prefix(b"prev_state=").or_else(|| rest.ends_with(b"]").then_some(word))?;
            Some((rest, state, &payload[at + b" ==> ".len()..]))
        })?;
        let pid = |text: &[u8], key: &[u8]| {
            let digits = match split_last(text, key) {
                Some((_, digits)) => digits,
                None => split_last(split_last(text, b" [")?.0, b":")?.1,
            };
            number::parse(split_digits(digits).0)
        };
        let prev = pid(rest, b" prev_pid=")?;
        let next = pid(after, b" next_pid=")?;
        // `R`, `R+` where it was preempted.
        Some(Switch { prev, next, runnable: state.contains(&b'R') })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::collapse::ValueSelection;
    use crate::collapse::tests::{collapse_bytes, fold};

    fn switch(comm: &str, tid: u64, time: &str, state: &str, next: u64, frames: &str) -> String {
        format!(
            "{comm}  {tid} [000] {time}: sched:sched_switch: prev_comm={comm} prev_pid={tid} prev_prio=120 prev_state={state} ==> next_comm=x ==> y: next_pid={next} next_prio=120\n{frames}\n"
        )
    }

    const FRAMES: &str = "\tffff1 __schedule+0x1 ([kernel.kallsyms])\n\t55 f+0x1 (/bin/a)\n";

    #[test]
    fn stacks_weigh_the_time_until_their_thread_is_back() {
        let text = [
            switch("a b", 7, "1.000001", "S", 8, FRAMES),
            "a b  7 [000] 1.000002: sched:sched_wakeup: comm=a pid=7\n\t55 g+0x1 (/bin/a)\n\n".to_owned(),
            switch("c", 8, "1.000011", "R+", 0, ""),
            switch("swapper", 0, "1.000012", "R", 7, FRAMES),
            switch("a b", 7, "1.000020", "S", 8, FRAMES),
            // Its time until here is known, where it goes from here is not.
            switch("c", 8, "1.000025500", "D", 9, ""),
            switch("a b", 7, "1.000030", "S", 9, ""),
        ]
        .concat();
        assert_eq!(fold(&PerfSched, &text, &CollapseOptions::default()), "a_b;f;__schedule 11000\nc 9000\n");
        let with = |name: &str| {
            let values = ValueSelection::Named(vec![name.into()]);
            fold(&PerfSched, &text, &CollapseOptions { values, kernel: true, ..CollapseOptions::default() })
        };
        assert_eq!(with("blocked"), "a_b;f;__schedule_[k] 11000\n");
        assert_eq!(with("runnable"), "c 9000\n");
        let none = CollapseOptions { threads_as_frames: Some(false), ..CollapseOptions::default() };
        assert_eq!(fold(&PerfSched, &text, &none), "[no stack] 9000\nf;__schedule 11000\n");
        let (_, report) = collapse_bytes(&PerfSched, &text, &CollapseOptions::default()).unwrap();
        assert!(report.notes[0].starts_with("1 of 5 times"), "{:?}", report.notes);
        assert_eq!(report.facts.warnings, report.notes);
        assert_eq!(report.facts.duration, Some(Duration::from_micros(29)));
    }

    #[test]
    fn threads_that_all_come_back_are_no_remark() {
        let text = [
            switch("a", 7, "1.000001", "S", 8, FRAMES),
            switch("c", 8, "1.000011", "S", 7, FRAMES),
            switch("a", 7, "1.000020", "S", 8, FRAMES),
        ]
        .concat();
        let (folded, report) = collapse_bytes(&PerfSched, &text, &CollapseOptions::default()).unwrap();
        assert_eq!(folded, "a;f;__schedule 10000\nc;f;__schedule 9000\n");
        assert_eq!((report.notes, report.facts.warnings), (vec![], vec![]));
    }

    #[test]
    fn payloads_come_in_two_forms() {
        let ids = |text: &str| Switch::parse(text.as_bytes()).map(|s| (s.prev, s.next, s.runnable));
        assert_eq!(ids(" names:7825 [120] R ==> a:b ==> c:7049 [120]"), Some((7825, 7049, true)));
        assert_eq!(
            ids(
                " prev_comm=a prev_pid=9 x prev_pid=1 prev_prio=120 prev_state=S ==> next_comm=b next_pid=2 next_prio=1"
            ),
            Some((1, 2, false))
        );
        assert_eq!(ids(" comm=a pid=7 prio=120"), None);
    }
}
