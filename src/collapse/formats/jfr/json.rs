//! The JSON of `jfr print --json` (seen: OpenJDK 17, 25).
//!
//! ```text
//! {"recording": {"events": [{"type": "jdk.ExecutionSample", "values": {"startTime": "2026-11-21T…",
//!  "sampledThread": {"javaName": "main", …}, "stackTrace": {"truncated": false, "frames": [{"method":
//!  {"type": {"name": "Orders", …}, "name": "main", …}, "lineNumber": 13, "type": "Interpreted"}, …
//! ```

use super::events::{Amount, Event, Events, JavaFrame, Origin, counts_samples};
use crate::collapse::kit::json::{HeadKeys, Json, Kind};
use crate::collapse::kit::names::FrameNames;
use crate::collapse::{
    Certainty, CollapseOptions, Collapser, ContextInfo, FormatInfo, Reading, Report, Sink, Tested,
};
use crate::error::Result;
use crate::input::Input;
use crate::weight::Weight;

const INFO: FormatInfo = FormatInfo {
    name: "jfr-json",
    producer: "jfr print --json --stack-depth 64",
    tested: Tested::Seen("OpenJDK 17, 25"),
    values: "the events: jdk.CPUTimeSample, or else jdk.ExecutionSample, or else the first; …; jdk.ObjectAllocationSample.weight, jdk.JavaMonitorEnter.duration, …",
    unit: "samples; bytes, ns",
};

/// Collapses the JSON.
pub struct JfrJson;

impl Collapser for JfrJson {
    fn info(&self) -> &'static FormatInfo {
        &INFO
    }

    fn contexts(&self) -> ContextInfo {
        ContextInfo { times: "events", clock: Some("realtime"), labels: "thread, tid, state, class, virtual" }
    }

    fn detect(&self, head: &[u8]) -> Certainty {
        match HeadKeys::read(head) {
            Some(keys) if keys.has("recording.events") => Certainty::Yes,
            _ => Certainty::No,
        }
    }

    fn collapse(
        &self,
        input: Input,
        reading: &Reading<'_>,
        sink: &mut dyn Sink,
        report: &mut Report,
    ) -> Result<()> {
        let mut json = Json::new(input);
        let mut events = Events::new(sink);
        // One document a recording.
        loop {
            json.object_or_null(|json, key| match key {
                "recording" => json.object_or_null(|json, key| {
                    if key != "events" {
                        return json.skip();
                    }
                    json.begin_array()?;
                    while json.next_item()? {
                        let mut event = Event::default();
                        json.object_or_null(|json, key| match key {
                            "type" => {
                                event.name = json.text()?.as_bytes().to_vec();
                                Ok(())
                            }
                            "values" => values(&mut event, json, reading, &mut events, sink),
                            _ => json.skip(),
                        })?;
                        let place = json.place();
                        events.add(&mut event, reading, sink).map_err(|e| e.or_at(|| place))?;
                    }
                    Ok(())
                }),
                _ => json.skip(),
            })?;
            if !json.next_document()? {
                break;
            }
        }
        events.finish(reading, sink, report)
    }
}

/// Reads the fields of an event.
fn values(
    event: &mut Event,
    json: &mut Json,
    options: &CollapseOptions,
    events: &mut Events,
    sink: &mut dyn Sink,
) -> Result<()> {
    json.object_or_null(|json, key| {
        let kind = json.peek()?;
        match (key, kind) {
            ("startTime", Kind::Text) => event.time = since_1970(json.text()?),
            ("javaArguments", Kind::Text) => events.command = json.text()?.as_bytes().to_vec(),
            ("jvmVersion", Kind::Text) => events.version = json.text()?.as_bytes().to_vec(),
            ("state", Kind::Text) => event.origin.state = json.text()?.as_bytes().to_vec(),
            (field, Kind::Number) if counts_samples(&event.name, field) => {
                event.samples = Some(json.weight()?)
            }
            ("sampledThread" | "eventThread", Kind::Object) => thread(&mut event.origin, json)?,
            ("objectClass" | "monitorClass" | "parkedClass", Kind::Object) => {
                json.object_or_null(|json, key| {
                    if key == "name" && json.peek()? == Kind::Text {
                        event.origin.class = json.text()?.replace('/', ".").into_bytes();
                        return Ok(());
                    }
                    json.skip()
                })?
            }
            ("stackTrace", _) => json.object_or_null(|json, key| match key {
                "truncated" => {
                    event.truncated = json.bool()?;
                    Ok(())
                }
                "frames" => {
                    json.begin_array()?;
                    while json.next_item()? {
                        frame(event, json, options, &mut events.names, sink)?;
                    }
                    Ok(())
                }
                _ => json.skip(),
            })?,
            (field, Kind::Number | Kind::Text) => {
                let Some(amount) = Amount::of(field) else { return json.skip() };
                let weight = match (amount.unit, kind) {
                    ("ns", Kind::Text) => nanoseconds(json.text()?),
                    ("bytes", Kind::Number) => Some(json.weight()?),
                    _ => return json.skip(),
                };
                event.amounts.extend(weight.map(|weight| (amount, weight)));
            }
            _ => json.skip()?,
        }
        Ok(())
    })
}

/// Reads a thread.
fn thread(origin: &mut Origin, json: &mut Json) -> Result<()> {
    let mut system = Vec::new();
    json.object_or_null(|json, key| {
        match (key, json.peek()?) {
            ("javaName", Kind::Text) => origin.thread = json.text()?.as_bytes().to_vec(),
            ("osName", Kind::Text) if origin.thread.is_empty() => {
                origin.thread = json.text()?.as_bytes().to_vec();
            }
            ("javaThreadId", Kind::Number) => origin.id = json.text_or_number()?.as_bytes().to_vec(),
            ("osThreadId", Kind::Number) => system = json.text_or_number()?.as_bytes().to_vec(),
            ("virtual", Kind::Bool) => origin.is_virtual = json.bool()?,
            _ => json.skip()?,
        }
        Ok(())
    })?;
    // Threads of the virtual machine itself have no number in Java.
    if matches!(&origin.id[..], b"" | b"0" | b"-1") {
        origin.id = system;
    }
    Ok(())
}

/// Reads a frame.
fn frame(
    event: &mut Event,
    json: &mut Json,
    options: &CollapseOptions,
    names: &mut FrameNames,
    sink: &mut dyn Sink,
) -> Result<()> {
    let (mut class, mut method, mut kind) = (String::new(), String::new(), String::new());
    let mut line = 0;
    let mut hidden = false;
    json.object_or_null(|json, key| match key {
        "method" => json.object_or_null(|json, key| {
            match key {
                "type" => json.object_or_null(|json, key| {
                    if key == "name" {
                        class = json.text()?.replace('/', ".");
                        return Ok(());
                    }
                    json.skip()
                })?,
                "name" => method = json.text()?.to_owned(),
                "hidden" => hidden = json.bool()?,
                _ => json.skip()?,
            }
            Ok(())
        }),
        "type" if json.peek()? == Kind::Text => {
            kind = json.text()?.to_owned();
            Ok(())
        }
        "lineNumber" => {
            line = json.text_or_number()?.parse().unwrap_or(0);
            Ok(())
        }
        _ => json.skip(),
    })?;
    // The JVM's own glue, which the text does not show either.
    if !hidden {
        // Native functions, which async-profiler notes, have no class.
        let name = if class.is_empty() { method } else { format!("{class}.{method}") };
        let frame = JavaFrame { name: name.as_bytes(), line, kind: kind.as_bytes() };
        event.frames.push(frame.build(options, names, sink));
    }
    Ok(())
}

/// The nanoseconds since 1970 of `2026-11-21T00:18:34.563123456Z`, or with another zone behind it.
fn since_1970(text: &str) -> Option<u64> {
    let zone = text.rfind(['Z', '+', '-']).filter(|at| *at > 10)?;
    let (time, zone) = text.split_at(zone);
    let time = humantime::parse_rfc3339_weak(time).ok()?;
    let nanos =
        i128::try_from(time.duration_since(std::time::SystemTime::UNIX_EPOCH).ok()?.as_nanos()).ok()?;
    let east = match zone.split_at(1) {
        ("Z", "") => 0,
        (sign @ ("+" | "-"), zone) => {
            let (hours, minutes) = zone.split_once(':')?;
            let (hours, minutes): (i128, i128) = (hours.parse().ok()?, minutes.parse().ok()?);
            if hours > 23 || minutes > 59 {
                return None;
            }
            (hours * 60 + minutes) * if sign == "+" { 60 } else { -60 }
        }
        _ => return None,
    };
    u64::try_from(nanos - east * 1_000_000_000).ok()
}

/// The nanoseconds of a duration as ISO 8601 has it, `PT1M0.066059622S`: hours, minutes, seconds.
fn nanoseconds(text: &str) -> Option<Weight> {
    let mut rest = text.strip_prefix("PT")?;
    let mut total: i128 = 0;
    while !rest.is_empty() {
        let end = rest.find(|c: char| c.is_ascii_alphabetic())?;
        let (number, behind) = rest.split_at(end);
        let factor: i128 = match behind.as_bytes()[0] {
            b'H' => 3600,
            b'M' => 60,
            b'S' => 1,
            _ => return None,
        };
        let (whole, part) = number.split_once('.').unwrap_or((number, ""));
        let digits: i128 = format!("{whole}{part:0<9}").parse().ok().filter(|_| part.len() <= 9)?;
        total = total.checked_add(digits.checked_mul(factor)?)?;
        rest = &behind[1..];
    }
    Some(Weight::new(total)).filter(|weight| !weight.is_negative())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_read_exactly() {
        for (text, time) in [
            ("PT0.066059622S", Some(66_059_622)),
            ("PT1H2M3.5S", Some(3_723_500_000_000)),
            ("PT2M", Some(120_000_000_000)),
            ("PT0S", Some(0)),
            ("PT-1S", None),
            ("PT1.0000000001S", None),
            ("PT5", None),
            ("1S", None),
            ("PTé", None),
        ] {
            assert_eq!(nanoseconds(text), time.map(Weight::new), "{text}");
        }
    }

    #[test]
    fn times_are_read_in_every_zone() {
        let utc = since_1970("2026-11-21T00:18:34.5Z").unwrap();
        assert_eq!(since_1970("2026-11-21T02:18:34.5+02:00"), Some(utc));
        assert_eq!(since_1970("2026-11-20T23:48:34.5-00:30"), Some(utc));
        for text in ["", "é", "2026-11-21", "2026-11-21T00:18:34.5", "2026-11-21T00:18:34+99:00"] {
            assert_eq!(since_1970(text), None, "{text}");
        }
    }
}
