//! The events of Java's Flight Recorder as `jfr print` writes them, as text or as JSON (seen:
//! OpenJDK 17).
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
//! Each event that has a stack is a sample; which kind of event is chosen like perf's events, the
//! first kind that comes is the default. Of deep stacks `jfr print` shows five frames unless
//! `--stack-depth 64` says otherwise; what it cut begins with `[truncated]`.

use super::json::{HeadKeys, Json};
use super::names::Names;
use super::text::Text;
use super::threads::Thread;
use super::{About, Choice, Collapser, Options, Report, Sink, Value, ValueTotal, Verdict};
use crate::error::Result;
use crate::folded::{FrameId, StackTable, Weights, sanitize_frame};
use crate::input::Input;
use crate::weight::Weight;

const TEXT: About = About {
    name: "jfr-text",
    producer: "jfr print --events jdk.ExecutionSample --stack-depth 64",
    tested: "OpenJDK 17",
    values: "the events, the first is the default: jdk.ExecutionSample, …",
    unit: "samples",
};

const JSON: About = About {
    name: "jfr-json",
    producer: "jfr print --json --stack-depth 64",
    tested: "OpenJDK 17",
    values: "the events, the first is the default: jdk.ExecutionSample, …",
    unit: "samples",
};

/// What stands for the frames that were cut off at the root.
const TRUNCATED: &[u8] = b"[truncated]";

/// Collapses the text.
pub struct JfrText;

/// Collapses the JSON.
pub struct JfrJson;

impl Collapser for JfrText {
    fn about(&self) -> &'static About {
        &TEXT
    }

    fn detect(&self, head: &[u8]) -> Verdict {
        let mut lines = head.split(|&b| b == b'\n').skip_while(|line| line.trim_ascii().is_empty());
        let event = lines.next().and_then(event_name);
        let field = lines.next().is_some_and(|line| line.starts_with(b"  ") && line.contains(&b'='));
        if event.is_some() && field { Verdict::Yes } else { Verdict::No }
    }

    fn collapse(
        &self,
        input: Input,
        options: &Options,
        table: &mut StackTable,
        report: &mut Report,
    ) -> Result<()> {
        let mut events = Events::new(options);
        let mut event = Event::default();
        let mut in_stack = false;
        Text::new(input).for_each(report, |line| {
            let text = line.trim_ascii();
            if let Some(name) = event_name(line) {
                event = Event { name: name.to_vec(), ..Event::default() };
                in_stack = false;
            } else if in_stack {
                match text {
                    b"]" => in_stack = false,
                    b"..." => event.truncated = true,
                    text => {
                        let at = memchr::memmem::rfind(text, b" line: ");
                        let (name, line) = at.map_or((text, None), |at| (&text[..at], Some(&text[at + 7..])));
                        let open = memchr::memchr(b'(', name).unwrap_or(name.len());
                        event.frame(&name[..open], line, options, &mut events.names, table);
                    }
                }
            } else if text == b"stackTrace = [" {
                in_stack = true;
            } else if let Some(thread) =
                text.strip_prefix(b"sampledThread = ").or_else(|| text.strip_prefix(b"eventThread = "))
            {
                event.thread(thread);
            } else if line == b"}" {
                events.add(&mut event, options, table)?;
            } else {
                return Ok(text.is_empty() || line.starts_with(b"  "));
            }
            Ok(true)
        })?;
        events.finish(report)
    }
}

impl Collapser for JfrJson {
    fn about(&self) -> &'static About {
        &JSON
    }

    fn detect(&self, head: &[u8]) -> Verdict {
        match HeadKeys::read(head) {
            Some(keys) if keys.has("recording.events") => Verdict::Yes,
            _ => Verdict::No,
        }
    }

    fn collapse(
        &self,
        input: Input,
        options: &Options,
        table: &mut StackTable,
        report: &mut Report,
    ) -> Result<()> {
        let mut json = Json::new(input);
        let mut events = Events::new(options);
        each(&mut json, |json, key| match key {
            "recording" => each(json, |json, key| {
                if key != "events" {
                    return json.skip();
                }
                json.begin_array()?;
                while json.next_item()? {
                    let mut event = Event::default();
                    each(json, |json, key| match key {
                        "type" => {
                            event.name = json.text()?.as_bytes().to_vec();
                            Ok(())
                        }
                        "values" => event.values(json, options, &mut events.names, table),
                        _ => json.skip(),
                    })?;
                    let place = json.place();
                    events.add(&mut event, options, table).map_err(|e| e.or_at(|| place))?;
                }
                Ok(())
            }),
            _ => json.skip(),
        })?;
        events.finish(report)
    }
}

/// Reads an object; `field` takes the value of each key.
fn each(json: &mut Json, mut field: impl FnMut(&mut Json, &str) -> Result<()>) -> Result<()> {
    if json.null()? {
        return Ok(());
    }
    let mut key = String::new();
    json.begin_object()?;
    while json.next_key(&mut key)? {
        field(json, &key)?;
    }
    Ok(())
}

/// An event as it is read; frames leaf first.
#[derive(Default)]
struct Event {
    name: Vec<u8>,
    thread: Vec<u8>,
    thread_id: Vec<u8>,
    frames: Vec<FrameId>,
    truncated: bool,
}

impl Event {
    /// `"main" (javaThreadId = 1)`
    fn thread(&mut self, text: &[u8]) {
        let end = memchr::memmem::rfind(text, b"\" (").map_or(text.len(), |at| at + 1);
        let name = text[..end].strip_prefix(b"\"").and_then(|name| name.strip_suffix(b"\""));
        self.thread = name.unwrap_or(&text[..end]).to_vec();
        let digits = text[end..].iter().filter(|b| b.is_ascii_digit());
        self.thread_id = digits.copied().collect();
    }

    fn frame(
        &mut self,
        name: &[u8],
        line: Option<&[u8]>,
        options: &Options,
        names: &mut Names,
        sink: &mut dyn Sink,
    ) {
        self.frames.push(names.build(sink, |out| {
            sanitize_frame(name, out);
            if let (true, Some(line)) = (options.srcline, line) {
                out.push(b':');
                sanitize_frame(line, out);
            }
        }));
    }

    fn values(
        &mut self,
        json: &mut Json,
        options: &Options,
        names: &mut Names,
        sink: &mut dyn Sink,
    ) -> Result<()> {
        each(json, |json, key| match key {
            "sampledThread" | "eventThread" => each(json, |json, key| {
                match key {
                    "javaName" => self.thread = json.text()?.as_bytes().to_vec(),
                    "osName" if self.thread.is_empty() => self.thread = json.text()?.as_bytes().to_vec(),
                    "javaThreadId" => self.thread_id = json.text_or_number()?.as_bytes().to_vec(),
                    _ => json.skip()?,
                }
                Ok(())
            }),
            "stackTrace" => each(json, |json, key| match key {
                "truncated" => {
                    self.truncated = json.bool()?;
                    Ok(())
                }
                "frames" => {
                    json.begin_array()?;
                    while json.next_item()? {
                        self.json_frame(json, options, names, sink)?;
                    }
                    Ok(())
                }
                _ => json.skip(),
            }),
            _ => json.skip(),
        })
    }

    fn json_frame(
        &mut self,
        json: &mut Json,
        options: &Options,
        names: &mut Names,
        sink: &mut dyn Sink,
    ) -> Result<()> {
        let (mut class, mut method, mut line) = (String::new(), String::new(), String::new());
        let mut hidden = false;
        each(json, |json, key| match key {
            "method" => each(json, |json, key| {
                match key {
                    "type" => each(json, |json, key| {
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
            "lineNumber" => {
                line = json.text_or_number()?.to_owned();
                Ok(())
            }
            _ => json.skip(),
        })?;
        // The JVM's own glue, which the text does not show either.
        if !hidden {
            let name = format!("{class}.{method}");
            self.frame(name.as_bytes(), Some(line.as_bytes()), options, names, sink);
        }
        Ok(())
    }
}

/// The kinds of events, and which are kept.
struct Events<'o> {
    options: &'o Options,
    names: Names,
    first: Option<Vec<u8>>,
    kinds: Vec<(Vec<u8>, ValueTotal)>,
}

impl<'o> Events<'o> {
    fn new(options: &'o Options) -> Events<'o> {
        Events { options, names: Names::default(), first: None, kinds: Vec::new() }
    }

    fn add(&mut self, event: &mut Event, options: &Options, sink: &mut dyn Sink) -> Result<()> {
        if event.frames.is_empty() {
            return Ok(());
        }
        let kind = match self.kinds.iter().position(|(name, _)| *name == event.name) {
            Some(kind) => kind,
            None => {
                let kept = self.options.values.keeps_event(&event.name, &mut self.first);
                self.kinds.push((event.name.clone(), ValueTotal { kept, ..ValueTotal::default() }));
                self.kinds.len() - 1
            }
        };
        let total = &mut self.kinds[kind].1;
        total.add(Weight::ONE)?;
        if !total.kept {
            return Ok(());
        }
        if event.truncated {
            event.frames.push(sink.frame(TRUNCATED));
        }
        if options.shows_threads(false) {
            let mut name = Vec::new();
            Thread { name: &event.thread, pid: b"", tid: &event.thread_id }.write(options, &mut name);
            event.frames.push(sink.frame(&name));
        }
        if self.options.values == Choice::All {
            event.frames.push(self.names.plain(&event.name, sink));
        }
        event.frames.reverse();
        sink.sample(&event.frames, Weights::one(Weight::ONE))
    }

    fn finish(self, report: &mut Report) -> Result<()> {
        let mut all = self.kinds.into_iter();
        all.try_for_each(|(name, total)| report.add_value(Value::new(name, "samples"), total))
    }
}

/// `jdk.ExecutionSample {`
fn event_name(line: &[u8]) -> Option<&[u8]> {
    let name = line.strip_suffix(b" {")?;
    let is_name =
        name.contains(&b'.') && name.iter().all(|b| b.is_ascii_alphanumeric() || b"._$".contains(b));
    is_name.then_some(name)
}
