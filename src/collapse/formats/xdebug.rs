//! The function traces of PHP's xdebug (seen: 3.2), its formats 0 and 1.
//!
//! ```text
//! Version: 3.2.0
//! File format: 4
//! TRACE START [2026-11-21 00:20:12.100348]
//! 2⇥1⇥0⇥0.000298⇥401616⇥range⇥0⇥⇥/home/user/app/orders.php⇥5⇥2⇥1⇥20
//! 2⇥1⇥1⇥0.000305⇥402376
//! TRACE END   [2026-11-21 00:20:12.109253]
//! ```
//! Format 1 has an entry (0), an exit (1) and perhaps a result (R) of each call, with its level,
//! number, and the seconds since the start; what a call takes without those it makes is its own.
//! Format 0 is for people and has entries, and with `xdebug.collect_return` results:
//! ```text
//!     0.0003     401616     -> range($start = 1, $end = 20) /home/user/app/orders.php:5
//!     0.0004     402376      >=> [0 => 1, 1 => 2]
//! ```
//! Without results the time up to the next entry goes to the call before it, which is an estimate.
//! Both may hold assignments (`=> $x = 1`, A), which take no time. The formats are in xdebug's
//! documentation, "Function Trace".

use crate::collapse::kit::forest::Budget;
use crate::collapse::kit::names::FrameNames;
use crate::collapse::kit::text::{Text, split_first, split_last};
use crate::collapse::kit::times::{duration, lasting, nanoseconds};
use crate::collapse::kit::trie::{PathId, Trie};
use crate::collapse::kit::values::Values;
use crate::collapse::{
    Certainty, Collapser, Context, ContextInfo, FormatInfo, Reading, Report, Sink, Tested, Value,
};
use crate::error::Result;
use crate::folded::FrameId;
use crate::input::{Input, lines};
use crate::number;
use crate::weight::Weight;

const INFO: FormatInfo = FormatInfo {
    name: "xdebug",
    producer: "xdebug's function traces, formats 0 and 1",
    tested: Tested::Seen("xdebug 3.2 with PHP 8.2"),
    values: "time, calls",
    unit: "us, calls",
};

/// Collapses xdebug's traces.
pub struct Xdebug;

impl Collapser for Xdebug {
    fn info(&self) -> &'static FormatInfo {
        &INFO
    }

    fn contexts(&self) -> ContextInfo {
        ContextInfo { times: "calls", clock: Some("recording"), labels: "" }
    }

    fn detect(&self, head: &[u8]) -> Certainty {
        let mut lines = lines(head).take(4);
        if lines.any(|line| line.starts_with(b"TRACE START [")) { Certainty::Yes } else { Certainty::No }
    }

    fn collapse(
        &self,
        input: Input,
        reading: &Reading<'_>,
        sink: &mut dyn Sink,
        report: &mut Report,
    ) -> Result<()> {
        let declared = vec![Value::new("time", "us"), Value::new("calls", "calls")];
        let mut trace = Trace::new(Values::new(reading, declared, 0)?, sink.wants().contexts);
        let mut guessed = false;
        let mut producer = Vec::new();
        let mut traces = 0;
        Text::new(input).for_each(report, |line| {
            if let Some(version) = line.strip_prefix(b"Version:") {
                producer = [b"xdebug ", version.trim_ascii()].concat();
            }
            traces += u64::from(line.starts_with(b"TRACE START ["));
            if line.is_empty()
                || [&b"Version:"[..], b"File format:", b"TRACE "].iter().any(|word| line.starts_with(word))
            {
                return Ok(true);
            }
            if memchr::memchr(b'\t', line).is_some() {
                trace.record(line, sink)
            } else {
                guessed = true;
                trace.drawn(line, sink)
            }
        })?;
        report.facts.producer = crate::profile::fact(&producer);
        if guessed && !trace.returns {
            report.warn("format 0 has no exits: the times are estimates; xdebug.trace_format=1 has them");
        }
        if traces > 1 {
            report
                .doubt(format!("there are {traces} traces, of which the first is read: give each as a file"));
        }
        if !trace.open.is_empty() {
            report.doubt(format!("{} calls have no end: the trace is cut off", trace.open.len()));
        }
        trace.finish(sink, report)
    }
}

/// The calls that are open, and when the clock was last looked at.
struct Trace {
    /// Time and calls.
    values: Values,
    paths: [Trie; 2],
    names: FrameNames,
    open: Vec<[PathId; 2]>,
    now: Weight,
    started: bool,
    /// True if a drawn trace tells where calls end.
    returns: bool,
    script: Vec<u8>,
}

impl Trace {
    fn new(values: Values, contexts: bool) -> Trace {
        let (paths, names) = ([(); 2].map(|()| Trie::new(contexts)), FrameNames::default());
        Trace {
            values,
            paths,
            names,
            open: Vec::new(),
            now: Weight::ZERO,
            started: false,
            returns: false,
            script: Vec::new(),
        }
    }

    /// A line of format 1.
    fn record(&mut self, line: &[u8], sink: &mut dyn Sink) -> Result<bool> {
        let mut columns = line.split(|&b| b == b'\t');
        let mut next = || columns.next().unwrap_or_default();
        let (level, _number, kind, time, _memory) = (next(), next(), next(), next(), next());
        let level = number::parse::<usize>(level);
        let time = seconds(time);
        match (kind, level, time) {
            (b"0", Some(level), Some(time)) if level > 0 && level <= self.open.len() + 1 => {
                self.leave_to(level - 1, time)?;
                let (name, _, _, file) = (next(), next(), next(), next());
                self.note_script(name, file);
                self.enter(name, sink)?;
            }
            (b"1", Some(level), Some(time)) if level > 0 && level <= self.open.len() => {
                self.leave_to(level - 1, time)?;
            }
            // Results and assignments cost nothing; the last line, without a level, is the end.
            (b"R" | b"A", Some(_), _) | (b"", None, Some(_)) => {}
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// A line of format 0.
    fn drawn(&mut self, line: &[u8], sink: &mut dyn Sink) -> Result<bool> {
        let text = line.trim_ascii_start();
        if text.starts_with(b"=> ") {
            return Ok(true);
        }
        let Some((time, text)) = split_first(text, b" ") else { return Ok(false) };
        let Some(time) = seconds(time) else { return Ok(false) };
        let (_memory, drawn) = split_first(text.trim_ascii_start(), b" ").unwrap_or_default();
        let text = drawn.trim_ascii_start();
        // `-> {main}()` stands three blanks behind the size, each call two further in, and a result
        // one behind its call; one blank is split off.
        let before = drawn.len() - text.len() + 1;
        if let Some(call) = text.strip_prefix(b"-> ") {
            let level = before.saturating_sub(3) / 2;
            if level > self.open.len() {
                return Ok(false);
            }
            self.leave_to(level, time)?;
            let end = memchr::memchr(b'(', call).unwrap_or(call.len());
            if let Some((_, place)) = split_last(call, b") ") {
                self.note_script(&call[..end], split_last(place, b":").unwrap_or_default().0);
            }
            self.enter(&call[..end], sink)?;
        } else if text.starts_with(b">=> ") {
            self.returns = true;
            self.leave_to(before.saturating_sub(4) / 2, time)?;
        } else {
            // The end has a time and a size.
            self.leave_to(0, time)?;
        }
        Ok(true)
    }

    /// The time up to now is that of the call that was open.
    fn leave_to(&mut self, level: usize, time: Weight) -> Result<()> {
        let passed = time.checked_sub(self.now)?;
        if self.started
            && let Some(&[path, _]) = self.open.last()
            && passed > Weight::ZERO
        {
            let lasts = lasting(self.now, time, "us");
            self.paths[0].add_lasting(path, passed, nanoseconds(self.now, "us"), lasts, 0)?;
        }
        self.started = true;
        self.now = self.now.max(time);
        self.open.truncate(level);
        Ok(())
    }

    /// The file of the outermost call is the script that ran; those of others are their callers'.
    fn note_script(&mut self, name: &[u8], file: &[u8]) {
        if name == b"{main}" && self.script.is_empty() {
            self.script = file.to_vec();
        }
    }

    fn enter(&mut self, name: &[u8], sink: &mut dyn Sink) -> Result<()> {
        Budget::default().check(self.open.len())?;
        let frame = self.names.plain(name, sink);
        let [time, calls] = self.open.last().copied().unwrap_or([Trie::ROOT; 2]);
        let [time, calls] = [self.paths[0].below(time, frame.0), self.paths[1].below(calls, frame.0)];
        self.open.push([time, calls]);
        self.paths[1].add_at(calls, Weight::ONE, nanoseconds(self.now, "us"))
    }

    fn finish(mut self, sink: &mut dyn Sink, report: &mut Report) -> Result<()> {
        self.leave_to(0, self.now)?;
        for (column, paths) in self.paths.iter().enumerate() {
            paths.for_each(
                None,
                |frame| Ok(FrameId(frame)),
                |stack, sampled| {
                    let context = Context { time: sampled.time, ..Context::UNKNOWN };
                    let context = (&context, sampled.duration);
                    self.values.add_lasting(column, stack, sampled.weight, sampled.samples, context, sink)
                },
            )?;
        }
        report.facts.set_command(&self.script);
        report.facts.duration = duration(self.now, "us");
        self.values.finish(report)
    }
}

/// `0.000298` as microseconds, exactly.
fn seconds(text: &[u8]) -> Option<Weight> {
    Weight::parse(text)?.checked_mul(Weight::new(1_000_000)).ok().filter(|time| *time >= Weight::ZERO)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::collapse::CollapseOptions;
    use crate::collapse::ValueSelection;
    use crate::collapse::tests::collapse_bytes;

    #[test]
    fn deep_calls_take_no_more_memory_than_there_are() {
        let nested =
            |levels| -> String { (1..=levels).map(|level| format!("{level}\t1\t0\t0.1\t0\tf\n")).collect() };
        let calls = CollapseOptions {
            values: ValueSelection::Named(vec![b"calls".to_vec()]),
            ..CollapseOptions::default()
        };
        let collapse = |text: String| collapse_bytes(&Xdebug, format!("TRACE START [x]\n{text}"), &calls);
        // The same calls over and over are as many stacks as they are once.
        let (folded, _) = collapse(nested(1000).repeat(10)).unwrap();
        assert!(folded.starts_with("f 10\nf;f 10\n") && folded.lines().count() == 1000);
        let error = collapse(nested(6000)).unwrap_err().to_string();
        assert!(error.contains("frames in all stacks"), "{error}");
        let error = collapse(nested(100_010)).unwrap_err().to_string();
        assert!(error.starts_with("test:100003: expected a stack of at most 100000 frames"), "{error}");
    }
}
