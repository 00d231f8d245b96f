//! Profiles of Sentry's SDKs, as they send them: the sample format, versions 1 and 2.
//!
//! ```text
//! {"version": "1", "platform": "python", "profile": {
//!   "frames": [{"function": "work", "module": "app", "filename": "app.py", "lineno": 7}, …],
//!   "stacks": [[0, 1], …],
//!   "samples": [{"stack_id": 0, "thread_id": "1", "elapsed_since_start_ns": "10500500"}, …],
//!   "thread_metadata": {"1": {"name": "MainThread"}}}, …}
//! ```
//! Stacks are leaf first. In version 2, of continuous profiling, samples have a `timestamp` in seconds. A sample
//! counts as one. Described in develop.sentry.dev, "Sample Format".

use std::collections::HashMap;

use crate::collapse::kit::forest::Budget;
use crate::collapse::kit::json::{HeadKeys, Json, Kind};
use crate::collapse::kit::names::{FrameNames, NO_STACK};
use crate::collapse::kit::threads::Thread;
use crate::collapse::kit::times::nanoseconds;
use crate::collapse::kit::values::Values;
use crate::collapse::{
    Certainty, CollapseOptions, Collapser, ContextInfo, FormatInfo, Reading, Report, Sink, Tested,
};
use crate::error::Result;
use crate::folded::{FrameId, Place, sanitize_frame};
use crate::input::Input;
use crate::weight::Weight;

const INFO: FormatInfo = FormatInfo {
    name: "sentry",
    producer: "Sentry's SDKs: profiles in the sample format",
    tested: Tested::ByDescription("versions 1 and 2 of the format by their documentation"),
    values: "samples",
    unit: "samples",
};

/// Collapses Sentry's profiles.
pub struct Sentry;

impl Collapser for Sentry {
    fn info(&self) -> &'static FormatInfo {
        &INFO
    }

    fn contexts(&self) -> ContextInfo {
        ContextInfo { times: "samples", clock: None, labels: "thread, tid" }
    }

    fn detect(&self, head: &[u8]) -> Certainty {
        let is_ours = |keys: HeadKeys| {
            let samples = keys.has("profile.samples.stack_id") || keys.has("profile.thread_metadata");
            !keys.array && (samples || keys.has_all(&["profile.frames", "profile.stacks"]))
        };
        if HeadKeys::read(head).is_some_and(is_ours) { Certainty::Yes } else { Certainty::No }
    }

    fn collapse(
        &self,
        input: Input,
        reading: &Reading<'_>,
        sink: &mut dyn Sink,
        report: &mut Report,
    ) -> Result<()> {
        let mut json = Json::new(input);
        let mut profile = Profile::default();
        let mut key = String::new();
        json.begin_object()?;
        while json.next_key(&mut key)? {
            match (key.as_str(), json.peek()?) {
                ("profile", Kind::Object) => {
                    json.begin_object()?;
                    while json.next_key(&mut key)? {
                        profile.field(&mut json, &key, reading, sink)?;
                    }
                }
                ("timestamp", Kind::Text) => {
                    report.facts.start =
                        humantime::parse_rfc3339_weak(json.text()?.trim_end_matches('Z')).ok();
                }
                _ => json.skip()?,
            }
        }
        json.end(report);
        profile.push(reading, sink, report).map_err(|e| e.or_at(|| json.place()))
    }
}

#[derive(Default)]
struct Profile {
    names: FrameNames,
    frames: Vec<FrameId>,
    /// The numbers of the frames of each stack, leaf first.
    stacks: Vec<Vec<usize>>,
    samples: Vec<Sample>,
    thread_names: HashMap<String, String>,
}

struct Sample {
    stack: Option<usize>,
    thread: String,
    at: Option<u64>,
}

impl Profile {
    fn field(
        &mut self,
        json: &mut Json,
        key: &str,
        options: &CollapseOptions,
        sink: &mut dyn Sink,
    ) -> Result<()> {
        match (key, json.peek()?) {
            ("frames", Kind::Array) => {
                json.begin_array()?;
                while json.next_item()? {
                    let frame = read_frame(json, &mut self.names, options, sink)?;
                    self.frames.push(frame);
                }
            }
            ("stacks", Kind::Array) => {
                json.begin_array()?;
                while json.next_item()? {
                    let mut stack = Vec::new();
                    json.begin_array()?;
                    while json.next_item()? {
                        stack.push(json.index()?.unwrap_or(usize::MAX));
                    }
                    self.stacks.push(stack);
                }
            }
            ("samples", Kind::Array) => {
                json.begin_array()?;
                while json.next_item()? {
                    let sample = read_sample(json)?;
                    self.samples.push(sample);
                }
            }
            ("thread_metadata", Kind::Object) => {
                let (mut id, mut key) = (String::new(), String::new());
                json.begin_object()?;
                while json.next_key(&mut id)? {
                    json.begin_object()?;
                    while json.next_key(&mut key)? {
                        if key == "name" && json.peek()? == Kind::Text {
                            let name = json.text()?.to_owned();
                            self.thread_names.insert(id.clone(), name);
                        } else {
                            json.skip()?;
                        }
                    }
                }
            }
            _ => json.skip()?,
        }
        Ok(())
    }

    fn push(self, options: &CollapseOptions, sink: &mut dyn Sink, report: &mut Report) -> Result<()> {
        let mut values = Values::single(options, "samples", "samples");
        let mut budget = Budget::default();
        let (mut stack, mut missing) = (Vec::new(), 0u64);
        for sample in &self.samples {
            let frames = sample.stack.and_then(|stack| self.stacks.get(stack));
            let known = frames.filter(|frames| frames.iter().all(|frame| *frame < self.frames.len()));
            let Some(frames) = known else {
                missing += 1;
                continue;
            };
            budget.check(frames.len())?;
            budget.spend(frames.len() / 4)?;
            let name = self.thread_names.get(&sample.thread).map_or("", String::as_str);
            let thread = Thread { name: name.as_bytes(), pid: b"", tid: sample.thread.as_bytes() };
            stack.clear();
            if options.shows_threads(self.thread_names.len() > 1) {
                let mut frame = Vec::new();
                thread.write(options, &mut frame);
                stack.push(sink.frame(&frame));
            }
            stack.extend(frames.iter().rev().map(|frame| self.frames[*frame]));
            if frames.is_empty() {
                stack.push(sink.frame(NO_STACK));
            }
            values.add_at(0, &stack, Weight::ONE, 1, &thread.context(sample.at), sink)?;
        }
        if missing > 0 {
            report.doubt(format!("{missing} samples are of stacks that do not exist; they are left out"));
        }
        values.finish(report)
    }
}

fn read_sample(json: &mut Json) -> Result<Sample> {
    let mut sample = Sample { stack: None, thread: String::new(), at: None };
    let mut key = String::new();
    json.begin_object()?;
    while json.next_key(&mut key)? {
        match (key.as_str(), json.peek()?) {
            ("stack_id", Kind::Number) => sample.stack = json.index()?,
            ("thread_id", Kind::Number | Kind::Text) => json.text_or_number()?.clone_into(&mut sample.thread),
            ("elapsed_since_start_ns", Kind::Number | Kind::Text) => {
                sample.at = json.text_or_number()?.parse().ok();
            }
            ("timestamp", Kind::Number) => sample.at = nanoseconds(json.weight()?, "s"),
            _ => json.skip()?,
        }
    }
    Ok(sample)
}

/// `app.work (app.py:7)`
fn read_frame(
    json: &mut Json,
    names: &mut FrameNames,
    options: &CollapseOptions,
    sink: &mut dyn Sink,
) -> Result<FrameId> {
    let [mut function, mut module, mut file, mut path] = std::array::from_fn(|_| String::new());
    let (mut line, mut key) = (None, String::new());
    json.begin_object()?;
    while json.next_key(&mut key)? {
        let text = match (key.as_str(), json.peek()?) {
            ("function", Kind::Text) => &mut function,
            ("module", Kind::Text) => &mut module,
            ("filename", Kind::Text) => &mut file,
            ("abs_path", Kind::Text) => &mut path,
            ("lineno", Kind::Number) => {
                line = json.index()?.and_then(|line| u32::try_from(line).ok());
                continue;
            }
            _ => {
                json.skip()?;
                continue;
            }
        };
        json.text()?.clone_into(text);
    }
    let file = if file.is_empty() { &path } else { &file };
    let place = Place { file: file.as_bytes(), line: line.unwrap_or(0), ..Place::default() };
    Ok(names.build_at(&place, sink, |out| {
        if !module.is_empty() {
            sanitize_frame(module.as_bytes(), out);
            out.push(b'.');
        }
        sanitize_frame(if function.is_empty() { b"(anonymous)" } else { function.as_bytes() }, out);
        if !file.is_empty() && options.srcline {
            out.extend_from_slice(b" (");
            sanitize_frame(file.as_bytes(), out);
            if place.line > 0 {
                out.extend_from_slice(format!(":{}", place.line).as_bytes());
            }
            out.push(b')');
        }
    }))
}
