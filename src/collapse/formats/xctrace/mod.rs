//! The `time-profile` table that `xctrace export` writes of a trace of Instruments: XML with references.
//!
//! ```text
//! <trace-query-result>
//! <node xpath='//trace-toc[1]/run[1]/data[1]/table[11]'><schema name="time-profile">…</schema>
//! <row><sample-time id="1" fmt="00:00.421">421000000</sample-time>
//!   <thread id="2" fmt="Main Thread 0x1a2b (app, pid: 42)"><tid id="3" fmt="0x1a2b">6699</tid>
//!     <process id="4" fmt="app (42)"><pid id="5" fmt="42">42</pid></process></thread>
//!   <weight id="7" fmt="1.00 ms">1000000</weight>
//!   <backtrace id="10"><frame id="11" name="work" addr="0x1049"><binary id="12" name="app" path="/tmp/app"/>
//!     <source line="7"><path id="13">/src/work.c</path></source></frame><frame id="14" name="main" addr="0x1030"/></backtrace></row>
//! <row>…<weight ref="7"/><backtrace ref="10"/></row>
//! ```
//! Frames are leaf first. What was written once is referred to later, by a number that is unique in the file; newer
//! versions put a `tagged-backtrace` around the backtrace. Nothing but `xctrace help export` describes it.

mod elements;

use std::collections::HashMap;

use quick_xml::Reader as Xml;
use quick_xml::events::{BytesStart, Event};

use self::elements::{Element, Elements, Known};
use crate::collapse::kit::names::{FrameNames, NO_STACK};
use crate::collapse::kit::threads::Thread;
use crate::collapse::kit::values::Values;
use crate::collapse::{
    Certainty, Collapser, Context, ContextInfo, FormatInfo, Reading, Report, Sink, Tested, Value,
};
use crate::error::{Error, Position, Result};
use crate::folded::FrameId;
use crate::input::Input;
use crate::weight::Weight;

const INFO: FormatInfo = FormatInfo {
    name: "xctrace",
    producer: "xctrace export --xpath … of a Time Profiler trace",
    tested: Tested::ByDescription("documented output, Xcode 14"),
    values: "samples, time",
    unit: "samples, ns",
};

/// A table has rows of a few elements, with stacks of a few more within them.
const DEEPEST: usize = 64;

/// Collapses exported tables.
pub struct Xctrace;

impl Collapser for Xctrace {
    fn info(&self) -> &'static FormatInfo {
        &INFO
    }

    fn contexts(&self) -> ContextInfo {
        ContextInfo { times: "samples", clock: Some("recording"), labels: "thread, tid, process" }
    }

    fn detect(&self, head: &[u8]) -> Certainty {
        let found = memchr::memmem::find(head, b"<trace-query-result").is_some();
        if found { Certainty::Yes } else { Certainty::No }
    }

    fn collapse(
        &self,
        input: Input,
        reading: &Reading<'_>,
        sink: &mut dyn Sink,
        report: &mut Report,
    ) -> Result<()> {
        let declared = vec![Value::new("samples", "samples"), Value::new("time", "ns")];
        let mut table = Table {
            values: Values::new(reading, declared, 0)?,
            contexts: sink.wants().contexts,
            rows: HashMap::new(),
            has_stacks: false,
        };
        let name = input.name().clone();
        let mut xml = Xml::from_reader(elements::Limited::new(input.into_reader()));
        let mut elements = Elements::new(reading);
        let mut open: Vec<Element> = Vec::new();
        let mut buffer = Vec::new();
        let mut is_whole = false;
        loop {
            buffer.clear();
            xml.get_mut().begin();
            let event = xml.read_event_into(&mut buffer);
            let at = || Position { byte: Some(xml.buffer_position()), ..Position::file(name.clone()) };
            let event = match event {
                Ok(event) => event,
                Err(quick_xml::Error::Io(e)) => {
                    let e = std::io::Error::new(e.kind(), e.to_string());
                    return Err(crate::input::read_error(e).or_at(at));
                }
                // The end of a table that is cut off.
                Err(_) if xml.get_ref().has_ended() => break,
                Err(e) => {
                    return Err(
                        Error::malformed("a table that xctrace exports", e.to_string().as_bytes()).at(at())
                    );
                }
            };
            let done = match event {
                Event::Start(tag) => {
                    if open.len() >= DEEPEST {
                        let expected = format!("at most {DEEPEST} elements within each other");
                        return Err(Error::malformed(expected, tag.name().as_ref()).at(at()));
                    }
                    open.push(element(&tag).map_err(|e| e.or_at(at))?);
                    continue;
                }
                Event::Empty(tag) => element(&tag).map_err(|e| e.or_at(at))?,
                Event::End(tag) => {
                    is_whole |= tag.name().as_ref() == b"trace-query-result";
                    let Some(done) = open.pop() else { continue };
                    done
                }
                Event::Text(text) => {
                    let text = text.decode().unwrap_or_default();
                    open.iter_mut().last().into_iter().for_each(|element| element.text.push_str(&text));
                    continue;
                }
                Event::GeneralRef(reference) => {
                    let text = format!("&{};", reference.decode().unwrap_or_default());
                    let text = quick_xml::escape::unescape(&text).unwrap_or_default().into_owned();
                    open.iter_mut().last().into_iter().for_each(|element| element.text.push_str(&text));
                    continue;
                }
                Event::Eof => break,
                _ => continue,
            };
            if done.tag == b"row" {
                table.row(&done.parts, &mut elements, sink).map_err(|e| e.or_at(at))?;
            } else if let Some(known) = elements.finish(done, sink).map_err(|e| e.or_at(at))?
                && let Some(above) = open.last_mut()
            {
                above.parts.push(known);
            }
        }
        if !is_whole {
            report.not_understood.ends_within.get_or_insert(Position::file(name));
        }
        table.finish(&mut elements, sink, report)
    }
}

/// An element that opens.
fn element(tag: &BytesStart<'_>) -> Result<Element> {
    let mut element = Element { tag: tag.name().as_ref().to_vec(), ..Element::default() };
    for attribute in tag.attributes() {
        let wrong = |e: String| Error::malformed("attributes of XML", e.as_bytes());
        let attribute = attribute.map_err(|e| wrong(e.to_string()))?;
        let value = String::from_utf8_lossy(&attribute.value);
        let number = || value.parse().map_err(|_| Error::malformed("a number", value.as_bytes()));
        match attribute.key.as_ref() {
            b"id" => element.id = Some(number()?),
            b"ref" => element.reference = Some(number()?),
            key @ (b"name" | b"fmt" | b"addr" | b"line" | b"path") => {
                let text =
                    quick_xml::escape::unescape(&value).map_err(|e| wrong(e.to_string()))?.into_owned();
                match key {
                    b"name" => element.name = Some(text),
                    b"fmt" => element.shown = Some(text),
                    b"addr" => element.address = Some(text),
                    b"path" => element.path = Some(text),
                    _ => element.line = text.parse().unwrap_or(0),
                }
            }
            _ => {}
        }
    }
    Ok(element)
}

/// The rows of the table.
struct Table {
    values: Values,
    contexts: bool,
    /// The samples and the time of each stack and thread.
    rows: HashMap<(Option<usize>, Option<usize>), (u64, Weight)>,
    has_stacks: bool,
}

impl Table {
    fn row(&mut self, parts: &[Known], elements: &mut Elements<'_>, sink: &mut dyn Sink) -> Result<()> {
        let (mut stack, mut thread, mut weight, mut time) = (None, None, Weight::ZERO, None);
        for part in parts {
            match part {
                Known::Stack(number) => stack = stack.or(Some(*number)),
                Known::Thread(number) => thread = thread.or(Some(*number)),
                Known::Weight(number) => weight = *number,
                Known::Time(number) => time = u64::try_from(*number).ok(),
                _ => {}
            }
        }
        self.has_stacks |= stack.is_some();
        if self.contexts && stack.is_some() && time.is_some() {
            return self.push((stack, thread), (1, weight), time, elements, sink);
        }
        let (samples, sum) = self.rows.entry((stack, thread)).or_default();
        *samples += 1;
        *sum = sum.checked_add(weight)?;
        Ok(())
    }

    fn push(
        &mut self,
        (stack, thread): (Option<usize>, Option<usize>),
        (samples, time): (u64, Weight),
        at: Option<u64>,
        elements: &mut Elements<'_>,
        sink: &mut dyn Sink,
    ) -> Result<()> {
        let mut frames: Vec<FrameId> = Vec::new();
        let thread = elements.thread(thread);
        if elements.options.shows_threads(false) {
            frames.push(FrameNames::default().build(sink, |out| thread.write(elements.options, out)));
        }
        match stack {
            Some(stack) => frames.extend_from_slice(elements.stack(stack)),
            None => frames.push(sink.frame(NO_STACK)),
        }
        let context: Context<'_> = thread.context(at);
        self.values.add_at(0, &frames, Weight::from(samples), samples, &context, sink)?;
        self.values.add_at(1, &frames, time, samples, &context, sink)
    }

    fn finish(mut self, elements: &mut Elements<'_>, sink: &mut dyn Sink, report: &mut Report) -> Result<()> {
        // Rows without any stack, in a table that has none, are of another kind.
        let has_stacks = self.has_stacks;
        let mut rows: Vec<_> = std::mem::take(&mut self.rows).into_iter().collect();
        rows.retain(|((stack, _), _)| stack.is_some() || has_stacks);
        rows.sort_unstable_by_key(|(key, _)| *key);
        for (key, sums) in rows {
            self.push(key, sums, None, elements, sink)?;
        }
        self.values.finish(report)
    }
}

/// A thread of the table that is not known.
const NO_THREAD: Thread<'static> = Thread { name: b"", pid: b"", tid: b"" };

#[cfg(test)]
mod tests {
    use super::*;
    use crate::collapse::CollapseOptions;
    use crate::collapse::ValueSelection;
    use crate::collapse::tests::{collapse_bytes, fold};

    const ROWS: &str = r#"<row><sample-time id="1" fmt="x">421000000</sample-time><thread id="2" fmt="Main &lt;x&gt; 0x1a2b (app, pid: 42)">
        <tid id="3" fmt="0x1a2b">6699</tid><process id="4" fmt="app (42)"><pid id="5" fmt="42">42</pid></process></thread>
        <weight id="7" fmt="1.00 ms">1000000</weight><tagged-backtrace id="9"><backtrace id="10"><frame id="11" name="a&amp;b;c" addr="0x10">
        <binary id="12" name="app" path="/tmp/app"/><source line="7"><path id="13">/src/a&amp;b.c</path></source></frame>
        <frame id="14" name="0x1030" addr="0x1030"><binary ref="12"/></frame></backtrace></tagged-backtrace></row>
        <row><sample-time id="20">422000000</sample-time><thread ref="2"/><weight id="21">3000000</weight><tagged-backtrace ref="9"/></row>
        <row><sample-time id="22">423000000</sample-time><thread ref="2"/><weight ref="7"/><sentinel/></row>"#;

    fn table(rows: &str) -> String {
        format!(
            "<?xml version=\"1.0\"?>\n<trace-query-result>\n<node xpath='x'>{rows}</node></trace-query-result>\n"
        )
    }

    #[test]
    fn rows_refer_to_what_was_written_before() {
        let text = table(ROWS);
        assert_eq!(Xctrace.detect(text.as_bytes()), Certainty::Yes);
        assert_eq!(fold(&Xctrace, &text, &CollapseOptions::default()), "[app];a&b:c 2\n[no stack] 1\n");
        let time = ValueSelection::Named(vec![b"time".to_vec()]);
        let options =
            CollapseOptions { values: time, srcline: true, tid: true, ..CollapseOptions::default() };
        let thread = "Main <x>-42/6699";
        assert_eq!(
            fold(&Xctrace, &text, &options),
            format!("{thread};[app];a&b:c (a&b.c:7) 4000000\n{thread};[no stack] 1000000\n")
        );
    }

    #[test]
    fn references_to_nothing_and_tables_that_are_cut_are_told() {
        let error = |rows: &str| {
            collapse_bytes(&Xctrace, table(rows), &CollapseOptions::default()).unwrap_err().to_string()
        };
        let missing = error("<row><backtrace ref=\"8\"/></row>");
        assert!(missing.contains("the number of an earlier element, found \"8\""), "{missing}");
        assert!(error("<row><backtrace id=\"x\"/></row>").contains("a number"));
        assert!(error("<row></node>").contains("a table that xctrace exports"));
        assert!(error(&"<a>".repeat(1000)).contains("at most 64 elements"));
        let text = table(ROWS);
        let cut = &text[..text.len() - 60];
        let (_, report) = collapse_bytes(&Xctrace, cut, &CollapseOptions::default()).unwrap();
        assert!(report.not_understood.ends_within.is_some());
    }

    #[test]
    fn rows_around_one_deep_stack_are_added_up() {
        let deep: String = (0..2_000).map(|n| format!("<frame id=\"{n}\" name=\"f\"/>")).collect();
        let first = format!("<row><backtrace id=\"30000\">{deep}</backtrace></row>");
        let again = |n: u64| {
            format!(
                "<row><tagged-backtrace id=\"{}\"><backtrace ref=\"30000\"/></tagged-backtrace></row>",
                40_000 + n
            )
        };
        let rows: String = (0..1_000).map(again).collect();
        let out = fold(&Xctrace, table(&(first + &rows)), &CollapseOptions::default());
        assert!(out.ends_with(" 1001\n") && out.lines().count() == 1);
    }
}
