//! rbspy's raw recordings, which it writes beside every report (`rbspy record --raw-file FILE`), gzipped.
//!
//! ```text
//! rbspy02
//! {"sample_rate":99,"rbspy_version":"0.55.0","start_time":{"secs_since_epoch":1795220702,"nanos_since_epoch":605138616}}
//! {"trace":[{"name":"fib","relative_path":"orders.rb","absolute_path":"/app/orders.rb","lineno":1}, …],
//!  "pid":28525,"thread_id":140325918029632,"time":{"secs_since_epoch":…,"nanos_since_epoch":…},"on_cpu":false}
//! ```
//! A line for each sample, leaf first (here broken for the page). Version 0 has arrays of frames alone. Frames are
//! named as in rbspy's collapsed output. Made in `src/storage` of rbspy.

use serde_json::Value as Json;

use crate::collapse::kit::forest::Budget;
use crate::collapse::kit::names::FrameNames;
use crate::collapse::kit::text::Text;
use crate::collapse::kit::threads::Thread;
use crate::collapse::kit::values::Values;
use crate::collapse::{
    Certainty, CollapseOptions, Collapser, ContextInfo, FormatInfo, Reading, Report, Sink, Tested,
};
use crate::error::Result;
use crate::folded::{FrameId, Place, sanitize_frame};
use crate::input::{Input, lines};
use crate::weight::Weight;

const INFO: FormatInfo = FormatInfo {
    name: "rbspy-raw",
    producer: "rbspy record --raw-file, rbspy's cache of recordings",
    tested: Tested::Seen("rbspy 0.55"),
    values: "samples",
    unit: "samples",
};

/// Collapses rbspy's raw recordings.
pub struct RbspyRaw;

impl Collapser for RbspyRaw {
    fn info(&self) -> &'static FormatInfo {
        &INFO
    }

    fn contexts(&self) -> ContextInfo {
        ContextInfo { times: "samples", clock: Some("realtime"), labels: "thread, tid, process" }
    }

    fn detect(&self, head: &[u8]) -> Certainty {
        let first = lines(head).next().unwrap_or_default().trim_ascii_end();
        if is_version(first) { Certainty::Yes } else { Certainty::No }
    }

    fn collapse(
        &self,
        input: Input,
        reading: &Reading<'_>,
        sink: &mut dyn Sink,
        report: &mut Report,
    ) -> Result<()> {
        let mut values = Values::single(reading, "samples", "samples");
        let mut recording = Recording { options: reading, names: FrameNames::default(), stack: Vec::new() };
        let mut head = None;
        Text::new(input).for_each(report, |line| {
            if is_version(line) || line.is_empty() {
                return Ok(true);
            }
            let Ok(line) = serde_json::from_slice::<Json>(line) else { return Ok(false) };
            if line.get("sample_rate").is_some() || line.get("start_time").is_some() {
                head.get_or_insert(line);
                return Ok(true);
            }
            recording.sample(&line, &mut values, sink)
        })?;
        let facts = &mut report.facts;
        facts.producer = Some("rbspy".to_owned());
        if let Some(head) = head {
            facts.rate = head["sample_rate"].as_u64().filter(|rate| *rate > 0);
            if let Some(version) = head["rbspy_version"].as_str() {
                facts.producer = crate::profile::fact(format!("rbspy {version}").as_bytes());
            }
            let start = nanoseconds(&head["start_time"]).map(|nanos| Weight::new(nanos.into()));
            facts.start = start.and_then(|start| crate::collapse::kit::times::date(start, "ns"));
        }
        values.finish(report)
    }
}

/// `rbspy02`
fn is_version(line: &[u8]) -> bool {
    line.strip_prefix(b"rbspy").is_some_and(|rest| rest.len() == 2 && rest.iter().all(u8::is_ascii_digit))
}

/// The nanoseconds of a time since 1970.
fn nanoseconds(time: &Json) -> Option<u64> {
    let nanos = time["nanos_since_epoch"].as_u64()?;
    time["secs_since_epoch"].as_u64()?.checked_mul(1_000_000_000)?.checked_add(nanos)
}

struct Recording<'o> {
    options: &'o CollapseOptions,
    names: FrameNames,
    stack: Vec<FrameId>,
}

impl Recording<'_> {
    /// Adds a sample; `false` if it is not one.
    fn sample(&mut self, line: &Json, values: &mut Values, sink: &mut dyn Sink) -> Result<bool> {
        let Some(trace) = line.as_array().or_else(|| line["trace"].as_array()) else { return Ok(false) };
        Budget::default().check(trace.len())?;
        let number = |key: &str| line[key].as_u64().map_or(String::new(), |number| number.to_string());
        let (pid, tid) = (number("pid"), number("thread_id"));
        let name = format!("Thread {tid}");
        let thread = Thread { name: name.as_bytes(), pid: pid.as_bytes(), tid: tid.as_bytes() };
        self.stack.clear();
        if self.options.shows_threads(false) {
            self.stack.push(self.names.build(sink, |out| thread.write(self.options, out)));
        }
        for frame in trace.iter().rev() {
            let Some(name) = frame["name"].as_str() else { return Ok(false) };
            let path = frame["absolute_path"].as_str().or_else(|| frame["relative_path"].as_str());
            let line = frame["lineno"].as_u64();
            let frame = frame_at(name, path.unwrap_or_default(), line, &mut self.names, sink);
            self.stack.push(frame);
        }
        if self.stack.is_empty() {
            self.stack.push(sink.frame(crate::collapse::kit::names::NO_STACK));
        }
        let context = thread.context(nanoseconds(&line["time"]));
        values.add_at(0, &self.stack, Weight::ONE, 1, &context, sink)?;
        Ok(true)
    }
}

/// `fib - /app/orders.rb:1`
fn frame_at(
    name: &str,
    path: &str,
    line: Option<u64>,
    names: &mut FrameNames,
    sink: &mut dyn Sink,
) -> FrameId {
    let number = line.and_then(|line| u32::try_from(line).ok()).unwrap_or(0);
    let place = Place { file: path.as_bytes(), line: number, ..Place::default() };
    names.build_at(&place, sink, |out| {
        sanitize_frame(name.as_bytes(), out);
        out.extend_from_slice(b" - ");
        sanitize_frame(path.as_bytes(), out);
        if let Some(line) = line {
            out.extend_from_slice(format!(":{line}").as_bytes());
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::collapse::tests::{collapse_bytes, fold};

    const LEAF: &str = r#"{"name":"f;","relative_path":"a.rb","absolute_path":"/x/a.rb","lineno":3}"#;
    const ROOT: &str = r#"{"name":"<main>","relative_path":"a.rb","absolute_path":null,"lineno":null}"#;

    #[test]
    fn lines_are_samples() {
        let text = format!(
            "rbspy02\n{{\"sample_rate\":99,\"rbspy_version\":\"0.55.0\",\"start_time\":{{\"secs_since_epoch\":1795220702,\
             \"nanos_since_epoch\":5}}}}\n{{\"trace\":[{LEAF},{ROOT}],\"pid\":7,\"thread_id\":8,\"time\":{{\
             \"secs_since_epoch\":1,\"nanos_since_epoch\":2}},\"on_cpu\":false}}\n[{ROOT}]\n{{\"trace\":[]}}\n"
        );
        assert_eq!(RbspyRaw.detect(text.as_bytes()), Certainty::Yes);
        let (out, report) = collapse_bytes(&RbspyRaw, &text, &CollapseOptions::default()).unwrap();
        assert_eq!(out, "<main> - a.rb 1\n<main> - a.rb;f: - /x/a.rb:3 1\n[no stack] 1\n");
        assert_eq!((report.facts.rate, report.facts.producer.as_deref()), (Some(99), Some("rbspy 0.55.0")));
        assert!(report.facts.start.is_some());
        let threads = CollapseOptions { tid: true, ..CollapseOptions::default() };
        assert!(fold(&RbspyRaw, &text, &threads).contains("Thread 8-7/8;<main> - a.rb;f: - /x/a.rb:3 1\n"));
        let bad = format!("{text}{{\"trace\":[{{}}]}}\n{{\"trace\":[");
        let (_, report) = collapse_bytes(&RbspyRaw, bad, &CollapseOptions::default()).unwrap();
        assert_eq!(report.not_understood.count, 2);
    }
}
