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

use super::lines::Lines;
use super::names::Names;
use super::text::split_first;
use super::values::Values;
use super::{About, Collapser, Options, Report, Sink, Value, Verdict};
use crate::error::Result;
use crate::folded::{FrameId, StackTable};
use crate::input::Input;
use crate::weight::Weight;

const ABOUT: About = About {
    name: "xdebug",
    producer: "xdebug's function traces, formats 0 and 1",
    tested: "xdebug 3.2 with PHP 8.2",
    values: "time, calls",
    unit: "us, calls",
};

/// Collapses xdebug's traces.
pub struct Xdebug;

impl Collapser for Xdebug {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn detect(&self, head: &[u8]) -> Verdict {
        let mut lines = head.split(|&b| b == b'\n').take(4);
        if lines.any(|line| line.starts_with(b"TRACE START [")) { Verdict::Yes } else { Verdict::No }
    }

    fn collapse(
        &self,
        input: Input,
        options: &Options,
        table: &mut StackTable,
        report: &mut Report,
    ) -> Result<()> {
        let declared = vec![Value::new("time", "us"), Value::new("calls", "calls")];
        let mut trace = Trace::new(Values::new(options, declared, 0)?);
        let mut lines = Lines::new(input);
        let mut guessed = false;
        while let Some(line) = lines.line()? {
            if line.is_empty()
                || [&b"Version:"[..], b"File format:", b"TRACE "].iter().any(|word| line.starts_with(word))
            {
                continue;
            }
            let understood = if memchr::memchr(b'\t', line).is_some() {
                trace.record(line, table)
            } else {
                guessed = true;
                trace.drawn(line, table)
            };
            if !understood.map_err(|e| e.or_at(|| lines.place()))? {
                lines.not_understood(report);
            }
        }
        if guessed && !trace.returns {
            report.note("format 0 has no exits: the times are estimates; xdebug.trace_format=1 has them");
        }
        if !trace.open.is_empty() {
            report.note(format!("{} calls have no end: the trace is cut off", trace.open.len()));
            trace.leave_to(0, trace.now, table)?;
        }
        trace.values.finish(report)
    }
}

/// The calls that are open, and when the clock was last looked at.
struct Trace {
    values: Values,
    names: Names,
    open: Vec<FrameId>,
    now: Weight,
    started: bool,
    /// Whether a drawn trace tells where calls end.
    returns: bool,
}

impl Trace {
    fn new(values: Values) -> Trace {
        let names = Names::default();
        Trace { values, names, open: Vec::new(), now: Weight::ZERO, started: false, returns: false }
    }

    /// A line of format 1.
    fn record(&mut self, line: &[u8], sink: &mut dyn Sink) -> Result<bool> {
        let mut columns = line.split(|&b| b == b'\t');
        let mut next = || columns.next().unwrap_or_default();
        let (level, _number, kind, time, _memory) = (next(), next(), next(), next(), next());
        let level = std::str::from_utf8(level).ok().and_then(|text| text.parse::<usize>().ok());
        let time = seconds(time);
        match (kind, level, time) {
            (b"0", Some(level), Some(time)) if level > 0 && level <= self.open.len() + 1 => {
                self.leave_to(level - 1, time, sink)?;
                self.enter(next(), sink)?;
            }
            (b"1", Some(level), Some(time)) if level > 0 && level <= self.open.len() => {
                self.leave_to(level - 1, time, sink)?;
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
            self.leave_to(level, time, sink)?;
            let end = memchr::memchr(b'(', call).unwrap_or(call.len());
            self.enter(&call[..end], sink)?;
        } else if text.starts_with(b">=> ") {
            self.returns = true;
            self.leave_to(before.saturating_sub(4) / 2, time, sink)?;
        } else {
            // The end has a time and a size.
            self.leave_to(0, time, sink)?;
        }
        Ok(true)
    }

    /// The time up to now is that of the call that was open.
    fn leave_to(&mut self, level: usize, time: Weight, sink: &mut dyn Sink) -> Result<()> {
        let passed = time.minus(self.now)?;
        if self.started && !self.open.is_empty() && passed > Weight::ZERO {
            self.values.add(0, &self.open, passed, sink)?;
        }
        self.started = true;
        self.now = self.now.max(time);
        self.open.truncate(level);
        Ok(())
    }

    fn enter(&mut self, name: &[u8], sink: &mut dyn Sink) -> Result<()> {
        if self.open.len() >= super::forest::DEEPEST {
            let expected = format!("at most {} calls within each other", super::forest::DEEPEST);
            return Err(crate::Error::malformed(expected, b"more"));
        }
        self.open.push(self.names.plain(name, sink));
        self.values.add(1, &self.open, Weight::ONE, sink)
    }
}

/// `0.000298` as microseconds, exactly.
fn seconds(text: &[u8]) -> Option<Weight> {
    Weight::parse(text)?.times(Weight::new(1_000_000)).ok().filter(|time| *time >= Weight::ZERO)
}
