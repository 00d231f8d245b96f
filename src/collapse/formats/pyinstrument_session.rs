//! The session of pyinstrument (`-r session`): every stack that it saw, and how long it lasted.
//!
//! ```text
//! {"start_time": 1795334667.1, "duration": 0.81, "min_interval": 0.001, "sample_count": 96,
//!  "start_call_stack": ["MainThread\u0000<thread>\u0000140454755126144", …], …
//!  "frame_records": [[["MainThread\u0000<thread>\u00001404…", "f\u0000spin.py\u00002\u0001l2"], 0.0009], …]}
//! ```
//! A frame is function, file and the line at which the function begins; behind a `\u0001` each stand the class
//! (`c`), and the line that runs (`l`). The frames of pyinstrument itself, which `start_call_stack` names, are left
//! out. The source is `pyinstrument/session.py`.

use crate::collapse::kit::forest::Budget;
use crate::collapse::kit::json::{HeadKeys, Json, Kind};
use crate::collapse::kit::names::{FrameNames, NO_STACK};
use crate::collapse::kit::threads::Thread;
use crate::collapse::kit::times::{date, duration, nanoseconds};
use crate::collapse::kit::values::Values;
use crate::collapse::{
    Certainty, CollapseOptions, Collapser, ContextInfo, FormatInfo, Reading, Report, Sink, Tested,
};
use crate::error::Result;
use crate::folded::FrameId;
use crate::input::Input;
use crate::weight::Weight;

const INFO: FormatInfo = FormatInfo {
    name: "pyinstrument-session",
    producer: "pyinstrument -r session",
    tested: Tested::Seen("pyinstrument 5.1"),
    values: "time",
    unit: "s",
};

/// Collapses sessions.
pub struct PyinstrumentSession;

impl Collapser for PyinstrumentSession {
    fn info(&self) -> &'static FormatInfo {
        &INFO
    }

    fn contexts(&self) -> ContextInfo {
        ContextInfo { times: "samples", clock: Some("recording"), labels: "thread, tid" }
    }

    fn detect(&self, head: &[u8]) -> Certainty {
        let is_session = |keys: HeadKeys| !keys.array && keys.has_all(&["start_call_stack", "sample_count"]);
        if HeadKeys::read(head).is_some_and(is_session) { Certainty::Yes } else { Certainty::No }
    }

    fn collapse(
        &self,
        input: Input,
        reading: &Reading<'_>,
        sink: &mut dyn Sink,
        report: &mut Report,
    ) -> Result<()> {
        let mut json = Json::new(input);
        let mut session = Session {
            values: Values::single(reading, "time", "s"),
            names: FrameNames::default(),
            start: Vec::new(),
            at: None,
            budget: Budget::default(),
        };
        let mut key = String::new();
        json.begin_object()?;
        while json.next_key(&mut key)? {
            let facts = &mut report.facts;
            match (key.as_str(), json.peek()?) {
                ("frame_records", Kind::Array) => session.records(&mut json, reading, sink)?,
                ("start_call_stack", Kind::Array) => session.start = texts(&mut json)?,
                ("start_time", Kind::Number) => {
                    let start = json.weight()?;
                    facts.start = date(start, "s");
                    session.at = nanoseconds(start, "s");
                }
                ("duration", Kind::Number) => facts.duration = duration(json.weight()?, "s"),
                ("cpu_time", Kind::Number) => facts.cpu_time = duration(json.weight()?, "s"),
                ("sample_count", Kind::Number) => facts.samples = json.weight()?.to_u64(),
                ("target_description", Kind::Text) => {
                    let text = json.text()?;
                    facts.set_command(text.strip_prefix("Program: ").unwrap_or(text));
                }
                _ => json.skip()?,
            }
        }
        json.end(report);
        session.values.finish(report)
    }
}

struct Session {
    values: Values,
    names: FrameNames,
    /// The frames in which the profiler was started, the thread first.
    start: Vec<String>,
    /// The time that has been reached.
    at: Option<u64>,
    budget: Budget,
}

impl Session {
    fn records(&mut self, json: &mut Json, options: &CollapseOptions, sink: &mut dyn Sink) -> Result<()> {
        json.begin_array()?;
        while json.next_item()? {
            let (mut frames, mut time) = (Vec::new(), Weight::ZERO);
            json.begin_array()?;
            let mut item = 0;
            while json.next_item()? {
                match item {
                    0 => frames = texts(json)?,
                    1 => time = json.weight()?,
                    _ => json.skip()?,
                }
                item += 1;
            }
            self.record(&frames, time, options, sink).map_err(|e| e.or_at(|| json.place()))?;
        }
        Ok(())
    }

    fn record(
        &mut self,
        frames: &[String],
        time: Weight,
        options: &CollapseOptions,
        sink: &mut dyn Sink,
    ) -> Result<()> {
        self.budget.check(frames.len())?;
        self.budget.spend(frames.len())?;
        let own = |text: &str| text.split('\u{1}').next().unwrap_or_default().to_owned();
        let is_thread = |text: &&String| text.split('\0').nth(1) == Some("<thread>");
        let thread = frames.first().filter(is_thread);
        let (name, tid) = match thread.map(|thread| thread.split('\0').collect::<Vec<_>>()) {
            Some(parts) => (parts[0].to_owned(), parts.get(2).copied().unwrap_or_default().to_owned()),
            None => (String::new(), String::new()),
        };
        let thread = Thread { name: name.as_bytes(), pid: b"", tid: tid.as_bytes() };
        let common = frames.iter().zip(&self.start).take_while(|(a, b)| own(a) == own(b)).count();
        let skip = common.max(usize::from(!name.is_empty() || !tid.is_empty()));
        let mut stack: Vec<FrameId> = Vec::new();
        if options.shows_threads(false) {
            stack.push(self.names.build(sink, |out| thread.write(options, out)));
        }
        for frame in &frames[skip.min(frames.len())..] {
            stack.push(self.frame(frame, options, sink));
        }
        if frames.len() <= skip {
            stack.push(sink.frame(NO_STACK));
        }
        let context = thread.context(self.at);
        self.values.add_at(0, &stack, time, 1, &context, sink)?;
        self.at = self.at.and_then(|at| at.checked_add(nanoseconds(time, "s")?));
        Ok(())
    }

    /// `Shop.main (orders.py:35)`
    fn frame(&mut self, text: &str, options: &CollapseOptions, sink: &mut dyn Sink) -> FrameId {
        let mut parts = text.split('\u{1}');
        let mut place = parts.next().unwrap_or_default().split('\0');
        let (function, file) = (place.next().unwrap_or_default(), place.next().unwrap_or_default());
        let mut line = place.next().and_then(|line| line.parse().ok());
        let mut class = "";
        for part in parts {
            match part.split_at_checked(1) {
                Some(("c", name)) => class = name,
                Some(("l", number)) if options.srcline => line = number.parse().ok().or(line),
                _ => {}
            }
        }
        let line = line.filter(|line| *line > 0);
        let name = if class.is_empty() { function.to_owned() } else { format!("{class}.{function}") };
        self.names.located(name.as_bytes(), file.as_bytes(), line, sink)
    }
}

/// Reads an array of texts.
fn texts(json: &mut Json) -> Result<Vec<String>> {
    let mut texts = Vec::new();
    json.begin_array()?;
    while json.next_item()? {
        texts.push(json.text()?.to_owned());
    }
    Ok(texts)
}
