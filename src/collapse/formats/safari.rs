//! Recordings that the timelines of Safari's Web Inspector export.
//!
//! ```text
//! {"version": 1, "recording": {"displayName": "Timeline Recording 1", "startTime": 0.8, "endTime": 3.2,
//!   "discontinuities": [], "instrumentTypes": ["timeline-record-type-script", …], "records": […], …,
//!   "sampleStackTraces": [{"timestamp": 0.91, "stackFrames": [{"sourceID": "7", "name": "work", "line": 3,
//!      "column": 17, "url": "http://localhost/app.js"}, …]}, …],
//!   "sampleDurations": [0.001, …]}, "overview": {…}}
//! ```
//! Leaf first, in seconds; a sample is stamped at its end. The source is `TimelineRecording.js` of WebKit's Web Inspector.

use crate::collapse::kit::forest::Budget;
use crate::collapse::kit::json::{HeadKeys, Json, Kind};
use crate::collapse::kit::names::{FrameNames, NO_STACK};
use crate::collapse::kit::times::nanoseconds;
use crate::collapse::kit::values::Values;
use crate::collapse::{
    Certainty, Collapser, Context, ContextInfo, FormatInfo, Reading, Report, Sink, Tested,
};
use crate::error::{Error, Result};
use crate::folded::FrameId;
use crate::input::Input;
use crate::weight::Weight;

const INFO: FormatInfo = FormatInfo {
    name: "safari",
    producer: "Safari's Web Inspector: Timelines, Export",
    tested: Tested::ByDescription("WebKit's timelines, as speedscope 1.25 reads them"),
    values: "time",
    unit: "s",
};

/// Collapses exported timelines.
pub struct Safari;

impl Collapser for Safari {
    fn info(&self) -> &'static FormatInfo {
        &INFO
    }

    fn contexts(&self) -> ContextInfo {
        ContextInfo { times: "samples", clock: Some("recording"), labels: "" }
    }

    fn detect(&self, head: &[u8]) -> Certainty {
        let is_ours = |keys: HeadKeys| {
            keys.has("recording.sampleStackTraces")
                || keys.has_all(&["recording.displayName", "recording.instrumentTypes"])
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
        let mut recording = Recording::default();
        let mut key = String::new();
        json.begin_object()?;
        while json.next_key(&mut key)? {
            match (key.as_str(), json.peek()?) {
                ("recording", Kind::Object) => {
                    json.begin_object()?;
                    while json.next_key(&mut key)? {
                        recording.field(&mut json, &key, sink)?;
                    }
                }
                _ => json.skip()?,
            }
        }
        json.end(report);
        let mut values = Values::single(reading, "time", "s");
        recording.push(&mut values, sink).map_err(|e| e.or_at(|| json.place()))?;
        if let (Some(start), Some(end)) = (recording.start, recording.end) {
            report.facts.duration =
                end.checked_sub(start).ok().and_then(|time| crate::collapse::kit::times::duration(time, "s"));
        }
        report.facts.samples = Some(recording.samples.len() as u64);
        report.facts.producer = Some("Safari".to_owned());
        values.finish(report)
    }
}

#[derive(Default)]
struct Recording {
    names: FrameNames,
    start: Option<Weight>,
    end: Option<Weight>,
    /// The time of each sample, and its frames, leaf first.
    samples: Vec<(Option<Weight>, Vec<FrameId>)>,
    durations: Vec<Weight>,
}

impl Recording {
    fn field(&mut self, json: &mut Json, key: &str, sink: &mut dyn Sink) -> Result<()> {
        match (key, json.peek()?) {
            ("startTime", Kind::Number) => self.start = Some(json.weight()?),
            ("endTime", Kind::Number) => self.end = Some(json.weight()?),
            ("sampleStackTraces", Kind::Array) => {
                json.begin_array()?;
                while json.next_item()? {
                    self.sample(json, sink)?;
                }
            }
            ("sampleDurations", Kind::Array) => {
                json.begin_array()?;
                while json.next_item()? {
                    self.durations.push(json.weight()?);
                }
            }
            _ => json.skip()?,
        }
        Ok(())
    }

    fn sample(&mut self, json: &mut Json, sink: &mut dyn Sink) -> Result<()> {
        let (mut time, mut stack) = (None, Vec::new());
        let (mut key, mut name, mut url) = (String::new(), String::new(), String::new());
        json.begin_object()?;
        while json.next_key(&mut key)? {
            match (key.as_str(), json.peek()?) {
                ("timestamp", Kind::Number) => time = Some(json.weight()?),
                ("stackFrames", Kind::Array) => {
                    json.begin_array()?;
                    while json.next_item()? {
                        name.clear();
                        url.clear();
                        let mut line = None;
                        json.begin_object()?;
                        while json.next_key(&mut key)? {
                            match (key.as_str(), json.peek()?) {
                                ("name", Kind::Text) => name.push_str(json.text()?),
                                ("url", Kind::Text) => url.push_str(json.text()?),
                                ("line", Kind::Number) => line = json.index()?.map(|line| line as u64),
                                _ => json.skip()?,
                            }
                        }
                        Budget::default().check(stack.len() + 1).map_err(|e| e.or_at(|| json.place()))?;
                        stack.push(self.names.located(name.as_bytes(), url.as_bytes(), line, sink));
                    }
                }
                _ => json.skip()?,
            }
        }
        self.samples.push((time, stack));
        Ok(())
    }

    /// Adds the samples, now that their durations are known.
    fn push(&mut self, values: &mut Values, sink: &mut dyn Sink) -> Result<()> {
        if self.durations.len() != self.samples.len() {
            let expected = format!("as many durations as the {} samples", self.samples.len());
            return Err(Error::malformed(expected, self.durations.len().to_string().as_bytes()));
        }
        for ((time, stack), weight) in self.samples.iter_mut().zip(&self.durations) {
            stack.reverse();
            if stack.is_empty() {
                stack.push(sink.frame(NO_STACK));
            }
            // A sample is stamped at its end.
            let begin = time.and_then(|time| time.checked_sub(*weight).ok());
            let time = begin.and_then(|begin| nanoseconds(begin, "s"));
            let context = Context { time, ..Context::UNKNOWN };
            let lasts = nanoseconds(*weight, "s").filter(|_| time.is_some()).unwrap_or(0);
            values.add_lasting(0, stack, *weight, 1, (&context, lasts), sink)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::collapse::CollapseOptions;
    use crate::collapse::tests::{collapse_bytes, fold};

    fn document(durations: &str) -> String {
        format!(
            r#"{{"version":1,"recording":{{"displayName":"x","startTime":1,"endTime":3.5,"instrumentTypes":[],"records":[{{"a":[]}}],
            "sampleStackTraces":[{{"timestamp":1.5,"stackFrames":[{{"sourceID":"7","name":"f;","line":3,"column":1,"url":"a.js"}},
            {{"sourceID":"7","name":"","line":9,"column":1,"url":"a.js"}}]}},{{"timestamp":2,"stackFrames":[]}}],
            "sampleDurations":{durations}}},"overview":{{}}}}"#
        )
    }

    #[test]
    fn samples_weigh_their_durations() {
        let text = document("[0.25,0.001]");
        assert_eq!(Safari.detect(text.as_bytes()), Certainty::Yes);
        let expected = "(anonymous) (a.js:9);f: (a.js:3) 0.25\n[no stack] 0.001\n";
        assert_eq!(fold(&Safari, &text, &CollapseOptions::default()), expected);
        let (_, report) = collapse_bytes(&Safari, &text, &CollapseOptions::default()).unwrap();
        assert_eq!(report.facts.duration, Some(std::time::Duration::from_millis(2500)));
        let error =
            collapse_bytes(&Safari, document("[1]"), &CollapseOptions::default()).unwrap_err().to_string();
        assert!(error.contains("as many durations as the 2 samples, found \"1\""), "{error}");
    }
}
