//! `chrome-trace`: the trace event format of Chrome, which <https://ui.perfetto.dev>,
//! `chrome://tracing` and speedscope open.
//!
//! ```json
//! {"traceEvents":[
//! {"ph":"M","name":"thread_name","pid":7,"tid":8,"args":{"name":"worker"}},
//! {"ph":"B","name":"parse","ts":12.5,"pid":7,"tid":8},
//! {"ph":"E","name":"parse","ts":15.5,"pid":7,"tid":8}
//! ],"displayTimeUnit":"ms","otherData":{"tool":"fg-render 0.1.0"}}
//! ```
//! Every frame is a call, which begins and ends. Where it is known when samples were taken, neighbours with the
//! same frames are one call, at its true time and in its thread; weights that are not time stand in
//! `args`. Else the stacks stand beside each other in frame order, as long as they weigh; 1 of
//! a unit that is not time is a microsecond.

use std::io::Write;

use serde_json::json;

use super::format::takes;
use super::timed_calls::{CallEvent, decimals_of, tell_calls};
use super::writer::{Finished, Target, Writer};
use super::{Format, Settings};
use crate::error::Result;
use crate::folded::{Frame, Known, Visitor, WalkSummary, Weights};
use crate::json_text::{self, string};
use crate::profile::TimeLine;
use crate::profile::units::{in_smallest, is_time};
use crate::weight::Weight;

/// The format.
pub const FORMAT: Format = Format {
    name: "chrome-trace",
    endings: &["trace.json", "trace"],
    about: "for ui.perfetto.dev, chrome://tracing and speedscope",
    takes: &[takes::TITLE, takes::UNIT, takes::TIME],
    streams: true,
    open: |settings, target| {
        Ok(Box::new(ChromeTrace {
            settings,
            target,
            factor: Weight::ONE,
            now: Weight::ZERO,
            is_timed: false,
            any: false,
        }))
    },
};

struct ChromeTrace<'a> {
    settings: &'a Settings,
    target: &'a mut dyn Target,
    /// The microseconds of a weight of one.
    factor: Weight,
    /// The weight of the stacks so far.
    now: Weight,
    /// The samples come with their times, after the walk.
    is_timed: bool,
    any: bool,
}

/// The process and the thread of an event.
#[derive(Clone, Copy)]
struct Track {
    process: u64,
    thread: u64,
}

impl ChromeTrace<'_> {
    fn event(&mut self, text: &[u8]) -> Result<()> {
        let separator: &[u8] = if std::mem::replace(&mut self.any, true) { b",\n" } else { b"\n" };
        self.target.write_all(separator)?;
        Ok(self.target.write_all(text)?)
    }

    fn name_thread(&mut self, name: &[u8], Track { process, thread }: Track) -> Result<()> {
        let mut text = format!(
            "{{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":{process},\"tid\":{thread},\"args\":{{\"name\":"
        )
        .into_bytes();
        string(name, &mut text)?;
        text.extend_from_slice(b"}}");
        self.event(&text)
    }

    fn begin_call(&mut self, name: &[u8], at: Weight, track: Track) -> Result<()> {
        self.call("B", name, at, track, None)
    }

    /// Ends a call. speedscope wants the name here, too: it leaves a call open that ends without.
    fn end_call(&mut self, name: &[u8], at: Weight, track: Track, weight: Option<Weight>) -> Result<()> {
        self.call("E", name, at, track, weight)
    }

    fn call(
        &mut self,
        phase: &str,
        name: &[u8],
        at: Weight,
        track: Track,
        weight: Option<Weight>,
    ) -> Result<()> {
        let Track { process, thread } = track;
        let mut text = format!("{{\"ph\":\"{phase}\",\"name\":").into_bytes();
        string(name, &mut text)?;
        write!(text, ",\"ts\":{at},\"pid\":{process},\"tid\":{thread}")?;
        if let Some(weight) = weight {
            write!(text, ",\"args\":{{\"weight\":{weight}}}")?;
        }
        text.push(b'}');
        self.event(&text)
    }

    /// The place of the stacks so far, in microseconds.
    fn place(&self) -> Result<Weight> {
        self.settings.shown(self.now)?.checked_mul(self.factor)
    }
}

/// The track of stacks without times.
const ONLY: Track = Track { process: 1, thread: 1 };

impl Visitor for ChromeTrace<'_> {
    fn begin(&mut self, known: &Known<'_>) -> Result<()> {
        let unit = known.facts.unit.as_deref().filter(|unit| is_time(unit)).and_then(in_smallest);
        let thousandth = Weight::from_steps(1, 3)?;
        self.factor = unit.map_or(Ok(Weight::ONE), |(_, size)| size.checked_mul(thousandth))?;
        self.target.write_all(b"{\"traceEvents\":[")?;
        if !self.is_timed {
            let title = self.settings.title_of(known.facts);
            self.name_thread(title.as_bytes(), ONLY)?;
        }
        Ok(())
    }

    fn follows_stacks(&self) -> bool {
        true
    }

    fn enter(&mut self, name: &[u8], _: usize) -> Result<()> {
        if self.is_timed { Ok(()) } else { self.begin_call(name, self.place()?, ONLY) }
    }

    fn stack(&mut self, _: &[u8], weights: Weights) -> Result<()> {
        self.now = self.now.checked_add(weights.value)?;
        Ok(())
    }

    fn exit(&mut self, frame: Frame<'_>, _: Weights) -> Result<()> {
        if self.is_timed { Ok(()) } else { self.end_call(frame.name, self.place()?, ONLY, None) }
    }

    fn restart(&mut self) -> Result<()> {
        (self.any, self.now) = (false, Weight::ZERO);
        self.target.start_over()
    }
}

impl Writer for ChromeTrace<'_> {
    fn wants_times(&self) -> bool {
        true
    }

    fn expect_times(&mut self) {
        self.is_timed = true;
    }

    fn times(&mut self, line: &TimeLine<'_>) -> Result<()> {
        let profile = line.profile();
        let is_time = profile.facts().unit.as_deref().and_then(decimals_of).is_some();
        for (n, thread) in (1u64..).zip(&line.threads) {
            let track = Track { process: thread.process.unwrap_or(1), thread: thread.thread.unwrap_or(n) };
            self.name_thread(&thread.label, track)?;
            tell_calls(line, thread, &mut |event| {
                let micros = |nanos: u64| Weight::from_steps(nanos, 3);
                match event {
                    CallEvent::Begin { frame, at } => {
                        self.begin_call(profile.stacks().name(frame), micros(at)?, track)
                    }
                    CallEvent::End { frame, at, weight } => {
                        let weight = if is_time { None } else { Some(self.settings.shown(weight)?) };
                        self.end_call(profile.stacks().name(frame), micros(at)?, track, weight)
                    }
                }
            })?;
        }
        Ok(())
    }

    fn finish(self: Box<Self>, summary: &WalkSummary) -> Result<Finished> {
        let facts = &summary.facts;
        let details: serde_json::Map<String, serde_json::Value> =
            facts.details().into_iter().map(|(key, value)| (key.to_string(), json!(value))).collect();
        let other = json!({
            "tool": concat!("fg-render ", env!("CARGO_PKG_VERSION")),
            "title": self.settings.title_of(facts),
            "unit": facts.unit,
            "recording": details,
        });
        let mut text = Vec::new();
        json_text::write(&other, &mut text)?;
        self.target.write_all(b"\n],\"displayTimeUnit\":\"ms\",\"otherData\":")?;
        self.target.write_all(&text)?;
        self.target.write_all(b"}\n")?;
        Ok(Finished::default())
    }
}
