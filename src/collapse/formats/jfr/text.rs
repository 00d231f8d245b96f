//! The text of `jfr print` (seen: OpenJDK 17).
//!
//! ```text
//! jdk.ExecutionSample {
//!   startTime = 00:18:34.563
//!   sampledThread = "main" (javaThreadId = 1)
//!   stackTrace = [
//!     java.lang.invoke.LambdaForm.argument(int, LambdaForm$BasicType) line: 1630
//!     Orders.main(String[]) line: 13
//!   ]
//! }
//! ```
//! The weights of events are rounded in it, so that it counts events only. Of deep stacks `jfr print`
//! shows five frames unless `--stack-depth 64` says otherwise; what it cut begins with `[truncated]`.

use super::events::{Event, Events, JavaFrame, Origin};
use crate::collapse::kit::text::Text;
use crate::collapse::{Certainty, Collapser, ContextInfo, FormatInfo, Reading, Report, Sink, Tested};
use crate::error::Result;
use crate::input::{Input, lines};
use crate::weight::Weight;

const INFO: FormatInfo = FormatInfo {
    name: "jfr-text",
    producer: "jfr print --events jdk.ExecutionSample --stack-depth 64",
    tested: Tested::Seen("OpenJDK 17, 25"),
    values: "the events: jdk.CPUTimeSample, or else jdk.ExecutionSample, or else the first; …",
    unit: "samples",
};

const NANOS_A_DAY: u64 = 86_400_000_000_000;

/// Collapses the text.
pub struct JfrText;

impl Collapser for JfrText {
    fn info(&self) -> &'static FormatInfo {
        &INFO
    }

    fn contexts(&self) -> ContextInfo {
        ContextInfo { times: "events", clock: Some("realtime"), labels: "thread, tid, state" }
    }

    fn detect(&self, head: &[u8]) -> Certainty {
        let mut lines =
            lines(head).map(<[u8]>::trim_ascii_end).skip_while(|line| line.trim_ascii().is_empty());
        let event = lines.next().and_then(event_name);
        let field = lines.next().is_some_and(|line| line.starts_with(b"  ") && line.contains(&b'='));
        if event.is_some() && field { Certainty::Yes } else { Certainty::No }
    }

    fn collapse(
        &self,
        input: Input,
        reading: &Reading<'_>,
        sink: &mut dyn Sink,
        report: &mut Report,
    ) -> Result<()> {
        let mut events = Events::new(sink);
        let mut event = Event::default();
        let (mut within, mut in_stack) = (false, false);
        let (mut before, mut days) = (None, 0);
        // The field that names the thread, whose name may go on in the next line.
        let mut thread = Vec::new();
        let mut lines = Text::new(input);
        lines.for_each(report, |line| {
            let text = line.trim_ascii();
            if let Some(name) = event_name(line) {
                event = Event { name: name.to_vec(), ..Event::default() };
                thread.clear();
                (within, in_stack) = (true, false);
            } else if in_stack {
                match text {
                    b"]" => in_stack = false,
                    b"..." => event.truncated = true,
                    text => {
                        let at = memchr::memmem::rfind(text, b" line: ");
                        let (name, line) = at.map_or((text, None), |at| (&text[..at], Some(&text[at + 7..])));
                        let open = memchr::memchr(b'(', name).unwrap_or(name.len());
                        let number =
                            line.and_then(|line| std::str::from_utf8(line).ok()?.trim().parse().ok());
                        let frame = JavaFrame { name: &name[..open], line: number.unwrap_or(0), kind: b"" };
                        event.frames.push(frame.build(reading, &mut events.names, sink));
                    }
                }
            } else if within && line == b"}" {
                let state = std::mem::take(&mut event.origin.state);
                event.origin = Origin { state, ..named_thread(&thread) };
                events.add(&mut event, reading, sink)?;
                within = false;
            } else if within && text == b"stackTrace = [" {
                in_stack = true;
            } else if let Some(time) = text.strip_prefix(b"startTime = ").filter(|_| within) {
                // The date is not shown, or in words of the locale: what is much earlier is the next day.
                let time = time_of_day(time);
                let half_a_day = NANOS_A_DAY / 2;
                days += u64::from(before.zip(time).is_some_and(|(before, time)| time + half_a_day < before));
                before = time.or(before);
                event.time = time.and_then(|time| (NANOS_A_DAY.checked_mul(days)?).checked_add(time));
            } else if let Some(state) = text.strip_prefix(b"state = ").filter(|_| within) {
                event.origin.state = state.split(|&b| b == b'"').nth(1).unwrap_or_default().to_vec();
            } else if let Some(text) = text.strip_prefix(b"javaArguments = ").filter(|_| within) {
                events.command = text.trim_ascii_start().strip_prefix(b"\"").unwrap_or(text).to_vec();
            } else if let Some(text) = text.strip_prefix(b"jvmVersion = ").filter(|_| within) {
                events.version = text.trim_ascii_start().strip_prefix(b"\"").unwrap_or(text).to_vec();
            } else if let Some(name) =
                text.strip_prefix(b"sampledThread = ").or_else(|| text.strip_prefix(b"eventThread = "))
            {
                thread = name.to_vec();
            } else if within && !line.starts_with(b"  ") {
                // A text of several lines, which nothing marks as such.
                if thread.starts_with(b"\"") && !thread.ends_with(b")") {
                    thread.push(b' ');
                    thread.extend_from_slice(line);
                }
            } else {
                return Ok(text.is_empty() || line.starts_with(b"  "));
            }
            Ok(true)
        })?;
        if within {
            lines.end_within_record(report);
        }
        events.finish(reading, sink, report)
    }
}

/// `"main" (javaThreadId = 1)`
fn named_thread(text: &[u8]) -> Origin {
    let end = memchr::memmem::rfind(text, b"\" (").map_or(text.len(), |at| at + 1);
    let name = text[..end].strip_prefix(b"\"").and_then(|name| name.strip_suffix(b"\""));
    let digits = text[end..].iter().filter(|b| b.is_ascii_digit());
    Origin {
        thread: name.unwrap_or(&text[..end]).to_vec(),
        id: digits.copied().collect(),
        is_virtual: text[end..].ends_with(b", virtual)"),
        ..Origin::default()
    }
}

/// The nanoseconds since midnight of `00:18:34.563`; a date may follow.
fn time_of_day(text: &[u8]) -> Option<u64> {
    let text = std::str::from_utf8(text).ok()?.split(' ').next()?;
    let mut parts = text.splitn(3, ':');
    let (hours, minutes, seconds) = (parts.next()?, parts.next()?, parts.next()?);
    let (hours, minutes): (u64, u64) = (hours.parse().ok()?, minutes.parse().ok()?);
    if hours > 23 || minutes > 59 {
        return None;
    }
    let seconds = crate::collapse::kit::times::nanoseconds(Weight::parse(seconds.as_bytes())?, "s")?;
    Some((hours * 60 + minutes) * 60_000_000_000 + seconds)
}

/// `jdk.ExecutionSample {`
fn event_name(line: &[u8]) -> Option<&[u8]> {
    let name = line.strip_suffix(b" {")?;
    let is_name =
        name.contains(&b'.') && name.iter().all(|b| b.is_ascii_alphanumeric() || b"._$".contains(b));
    is_name.then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_of_day_are_read_exactly() {
        assert_eq!(time_of_day(b"00:01:02.5 (2026-11-21)"), Some(62_500_000_000));
        assert_eq!(time_of_day(b"noon"), None);
    }

    #[test]
    fn threads_have_names_and_numbers() {
        let thread = named_thread(b"\"a (b)\" (javaThreadId = 35, virtual)");
        assert_eq!(
            (&thread.thread[..], &thread.id[..], thread.is_virtual),
            (&b"a (b)"[..], &b"35"[..], true)
        );
        let thread = named_thread(b"\"main\" (javaThreadId = 1)");
        assert_eq!((&thread.thread[..], &thread.id[..], thread.is_virtual), (&b"main"[..], &b"1"[..], false));
    }
}
