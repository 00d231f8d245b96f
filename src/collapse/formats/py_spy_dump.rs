//! The output of `py-spy dump`, plain or with `--json`: the stack of each thread, once (seen: py-spy
//! 0.4).
//!
//! ```text
//! Process 14719: /opt/py311/bin/python3.11 py/orders.py 3 1
//! Python v3.11.7 (/opt/py311/bin/python3.11)
//!
//! Thread 14722 (active+gil): "calc (1)"
//!     parse (orders.py:16)
//!         Arguments:
//!             text: "a"
//!     pipeline (orders.py:26)
//! ```
//! Leaf first. Each thread counts once; several dumps, one after the other, add up. `--json` writes
//! an array of threads, with the same names.

use crate::collapse::kit::driver::{self, RecordParser};
use crate::collapse::kit::json::{HeadKeys, Json, Kind};
use crate::collapse::kit::names::{FrameNames, NO_STACK, python_place};
use crate::collapse::kit::threads::Thread;
use crate::collapse::kit::values::Values;
use crate::collapse::{Certainty, CollapseOptions, Collapser, FormatInfo, Reading, Report, Sink, Tested};
use crate::error::Result;
use crate::folded::FrameId;
use crate::input::{Input, lines};
use crate::weight::Weight;

const INFO: FormatInfo = FormatInfo {
    name: "py-spy-dump",
    producer: "py-spy dump, py-spy dump --json",
    tested: Tested::Seen("py-spy 0.4.3"),
    values: "threads",
    unit: "threads",
};

/// Collapses py-spy's dumps.
pub struct PySpyDump;

impl Collapser for PySpyDump {
    fn info(&self) -> &'static FormatInfo {
        &INFO
    }

    fn detect(&self, head: &[u8]) -> Certainty {
        if let Some(keys) = HeadKeys::read(head) {
            let known = keys.array && keys.has_all(&["thread_id", "owns_gil"]);
            return if known { Certainty::Yes } else { Certainty::No };
        }
        let mut lines = lines(head).take(50);
        let known = lines.any(|line| process(line).is_some())
            && lines.next().is_some_and(|line| line.starts_with(b"Python v"));
        if known { Certainty::Yes } else { Certainty::No }
    }

    fn collapse(
        &self,
        input: Input,
        reading: &Reading<'_>,
        sink: &mut dyn Sink,
        report: &mut Report,
    ) -> Result<()> {
        if HeadKeys::read(input.head()).is_some() {
            return collapse_json(input, reading, sink, report);
        }
        let new = || Lines {
            options: reading,
            values: Values::single(reading, "threads", "threads"),
            pid: Vec::new(),
            command: None,
            open: false,
            thread: None,
            stack: Vec::new(),
            names: FrameNames::default(),
        };
        // The process is named once, before its threads.
        driver::run_records(input, 1, &|_| None, new, sink, report)
    }
}

/// The number of `Process 14719: command`.
fn process(line: &[u8]) -> Option<&[u8]> {
    let rest = line.strip_prefix(b"Process ")?;
    let digits = rest.iter().take_while(|b| b.is_ascii_digit()).count();
    (digits > 0 && rest[digits..].starts_with(b": ")).then_some(&rest[..digits])
}

/// Number and name of `Thread 14722 (active+gil): "calc (1)"`; threads without a name have none.
fn thread(line: &[u8]) -> Option<(&[u8], &[u8])> {
    let rest = line.strip_prefix(b"Thread ")?;
    let digits =
        rest.iter().take_while(|b| b.is_ascii_digit() || b.is_ascii_hexdigit() || **b == b'x').count();
    let (tid, rest) = rest.split_at(digits);
    let state = rest.strip_prefix(b" (")?;
    let close = memchr::memchr(b')', state)?;
    let name = state[close + 1..].strip_prefix(b": ").unwrap_or_default();
    let name = name.strip_prefix(b"\"").and_then(|name| name.strip_suffix(b"\"")).unwrap_or(name);
    (!tid.is_empty()).then_some((tid, name))
}

/// The frame of a thread: its name, or else its number.
fn thread_frame(
    thread: Thread<'_>,
    options: &CollapseOptions,
    names: &mut FrameNames,
    sink: &mut dyn Sink,
) -> Option<FrameId> {
    let number = [b"Thread ", thread.tid].concat();
    let name = if thread.name.is_empty() { &number } else { thread.name };
    options
        .shows_threads(true)
        .then(|| names.build(sink, |out| Thread { name, ..thread }.write(options, out)))
}

struct Lines<'o> {
    options: &'o CollapseOptions,
    values: Values,
    pid: Vec<u8>,
    command: Option<Vec<u8>>,
    open: bool,
    thread: Option<FrameId>,
    /// Leaf first.
    stack: Vec<FrameId>,
    names: FrameNames,
}

impl RecordParser for Lines<'_> {
    fn line(&mut self, line: &[u8], sink: &mut dyn Sink) -> Result<bool> {
        if let Some(frame) = line.strip_prefix(b"    ").filter(|rest| !rest.starts_with(b" ")) {
            if self.open {
                self.stack.push(self.names.plain_at(frame, &python_place(frame), sink));
            }
            return Ok(self.open);
        }
        if let Some((tid, name)) = thread(line) {
            self.end(sink)?;
            self.open = true;
            let thread = Thread { name, pid: &self.pid, tid };
            self.thread = thread_frame(thread, self.options, &mut self.names, sink);
        } else if let Some(pid) = process(line) {
            self.end(sink)?;
            self.pid = pid.to_vec();
            // A file may hold dumps of several processes: then no one command is theirs.
            let command = line[b"Process ".len() + pid.len()..].strip_prefix(b": ").unwrap_or_default();
            match &self.command {
                Some(first) if *first != command => self.command = Some(Vec::new()),
                Some(_) => {}
                None => self.command = Some(command.to_vec()),
            }
        } else {
            // Arguments and locals, which may be of several lines, and what Python it is.
            let known = line.is_empty() || line.starts_with(b"     ") || line.starts_with(b"Python v");
            return Ok(known || self.open || line.trim_ascii_start().starts_with(b"Parent Process "));
        }
        Ok(true)
    }

    fn end(&mut self, sink: &mut dyn Sink) -> Result<()> {
        if !std::mem::take(&mut self.open) {
            return Ok(());
        }
        if self.stack.is_empty() {
            self.stack.push(sink.frame(NO_STACK));
        }
        self.stack.extend(self.thread.take());
        self.stack.reverse();
        self.values.sample(&self.stack, &[Weight::ONE], sink)?;
        self.stack.clear();
        Ok(())
    }

    fn finish(self, report: &mut Report) -> Result<()> {
        report.facts.set_command(self.command.unwrap_or_default());
        self.values.finish(report)
    }
}

fn collapse_json(
    input: Input,
    options: &CollapseOptions,
    sink: &mut dyn Sink,
    report: &mut Report,
) -> Result<()> {
    let mut json = Json::new(input);
    let mut values = Values::single(options, "threads", "threads");
    let mut names = FrameNames::default();
    let (mut key, mut name, mut pid, mut tid) = (String::new(), String::new(), String::new(), String::new());
    let mut stack = Vec::new();
    json.begin_array()?;
    // py-spy run in a loop writes one array behind the other.
    while json.next_item()? || next_array(&mut json)? {
        [&mut name, &mut pid, &mut tid].into_iter().for_each(String::clear);
        stack.clear();
        json.begin_object()?;
        while json.next_key(&mut key)? {
            match key.as_str() {
                "pid" => pid.push_str(json.text_or_number()?),
                "thread_name" => name.push_str(json.text()?),
                // Python's own number is the address of something where the system's is known.
                "os_thread_id" if json.peek()? == Kind::Null => json.skip()?,
                "os_thread_id" => {
                    tid.clear();
                    tid.push_str(json.text_or_number()?);
                }
                "thread_id" if tid.is_empty() => tid.push_str(json.text_or_number()?),
                "frames" => read_frames(&mut json, &mut names, &mut stack, sink)?,
                _ => json.skip()?,
            }
        }
        if stack.is_empty() {
            stack.push(sink.frame(NO_STACK));
        }
        let thread = Thread { name: name.as_bytes(), pid: pid.as_bytes(), tid: tid.as_bytes() };
        stack.extend(thread_frame(thread, options, &mut names, sink));
        stack.reverse();
        values.sample(&stack, &[Weight::ONE], sink)?;
    }
    values.finish(report)
}

/// Goes on in the next document, if there is one that is not empty.
fn next_array(json: &mut Json) -> Result<bool> {
    while json.next_document()? {
        json.begin_array()?;
        if json.next_item()? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Frames leaf first, named as py-spy prints them: with the short file name.
fn read_frames(
    json: &mut Json,
    names: &mut FrameNames,
    stack: &mut Vec<FrameId>,
    sink: &mut dyn Sink,
) -> Result<()> {
    let (mut key, mut name, mut file, mut short) =
        (String::new(), String::new(), String::new(), String::new());
    json.begin_array()?;
    while json.next_item()? {
        [&mut name, &mut file, &mut short].into_iter().for_each(String::clear);
        let mut line = None;
        json.begin_object()?;
        while json.next_key(&mut key)? {
            match (key.as_str(), json.peek()?) {
                ("name", Kind::Text) => name.push_str(json.text()?),
                ("filename", Kind::Text) => file.push_str(json.text()?),
                ("short_filename", Kind::Text) => short.push_str(json.text()?),
                ("line", Kind::Number) => {
                    line = json.index()?.map(|line| line as u64).filter(|line| *line > 0)
                }
                _ => json.skip()?,
            }
        }
        let file = if short.is_empty() { &file } else { &short };
        stack.push(names.located(name.as_bytes(), file.as_bytes(), line, sink));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::folded::StackTable;

    fn collapsed(text: &str, options: &CollapseOptions) -> String {
        let input = Input::new("test", Box::new(std::io::Cursor::new(text.to_owned()))).unwrap();
        assert_eq!(PySpyDump.detect(text.as_bytes()), Certainty::Yes);
        let (mut table, mut report) = (StackTable::default(), Report::default());
        PySpyDump.collapse(input, &Reading::alone(options), &mut table, &mut report).unwrap();
        assert_eq!(report.not_understood.count, 0, "{:?}", report.not_understood);
        let mut out = Vec::new();
        table.write(&mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn text_and_json_give_the_same() {
        let text = "Process 7: sh -c 'a;b'\nPython v3.11.7 (/p)\n\nThread 8 (idle): \"a;b\"\n    f (x.py:3)\n        Locals:\n            a: \"x\ny\"\n    \
                    main (x.py:9)\nThread 9 (active+gil)\n    g (libc.so.6)\n";
        let json = r#"[{"pid":7,"thread_id":99,"os_thread_id":8,"thread_name":"a;b","owns_gil":false,"frames":[
            {"name":"f","filename":"/a/x.py","short_filename":"x.py","line":3},{"name":"main","filename":"x.py","short_filename":null,"line":9}]},
            {"pid":7,"os_thread_id":9,"thread_id":98,"thread_name":null,"owns_gil":true,"frames":[{"name":"g","filename":"libc.so.6","line":0}]}]"#;
        for text in [text, json] {
            assert_eq!(
                collapsed(text, &CollapseOptions::default()),
                "Thread 9;g (libc.so.6) 1\na:b;main (x.py:9);f (x.py:3) 1\n"
            );
            let tid = CollapseOptions { tid: true, ..CollapseOptions::default() };
            assert!(collapsed(text, &tid).contains("a:b-7/8;main"));
            let none = CollapseOptions { threads_as_frames: Some(false), ..CollapseOptions::default() };
            assert_eq!(collapsed(text, &none), "g (libc.so.6) 1\nmain (x.py:9);f (x.py:3) 1\n");
            let again = format!("{text}\n{text}");
            assert_eq!(collapsed(&again, &none), "g (libc.so.6) 2\nmain (x.py:9);f (x.py:3) 2\n");
        }
    }
}
