//! The JSON of `jcmd PID Thread.dump_to_file -format=json` (seen: OpenJDK 25), a part of
//! [`jstack`](super).
//!
//! ```text
//! {"threadDump": {"processId": "5875", "threadContainers": [
//!   {"container": "<root>", "threads": [
//!     {"tid": "3", "name": "main", "state": "RUNNABLE", "stack": ["app//Main.main(Main.java:3)", …]}]}]}}
//! ```
//! Stacks are leaf first. States are there since JDK 24. Specified by a JSON schema in the notes to
//! `HotSpotDiagnosticMXBean.dumpThreads`.

use super::Dumped;
use crate::collapse::CollapseOptions;
use crate::collapse::Sink;
use crate::collapse::kit::java_frame::java_frame;
use crate::collapse::kit::json::Json;
use crate::collapse::kit::names::FrameNames;
use crate::collapse::kit::threads::Thread;
use crate::collapse::kit::values::Values;
use crate::error::Result;
use crate::input::Input;
use crate::profile::Facts;

/// Adds the threads of a dump, or of several, one behind the other, to `values`.
///
/// # Errors
/// Those of reading JSON.
pub(super) fn collapse(
    input: Input,
    options: &CollapseOptions,
    values: &mut Values,
    sink: &mut dyn Sink,
    facts: &mut Facts,
) -> Result<()> {
    let mut json = Json::new(input);
    let mut dump = Dump { options, values, sink, facts, names: FrameNames::default(), pid: String::new() };
    loop {
        dump.document(&mut json)?;
        if !json.next_document()? {
            return Ok(());
        }
    }
}

struct Dump<'d> {
    options: &'d CollapseOptions,
    values: &'d mut Values,
    sink: &'d mut dyn Sink,
    facts: &'d mut Facts,
    names: FrameNames,
    pid: String,
}

impl Dump<'_> {
    fn document(&mut self, json: &mut Json) -> Result<()> {
        let mut key = String::new();
        json.begin_object()?;
        while json.next_key(&mut key)? {
            if key != "threadDump" {
                json.skip()?;
                continue;
            }
            json.begin_object()?;
            while json.next_key(&mut key)? {
                match key.as_str() {
                    "processId" => json.text_or_number()?.clone_into(&mut self.pid),
                    "time" if self.facts.start.is_none() => {
                        self.facts.start = humantime::parse_rfc3339(json.text()?).ok();
                    }
                    "runtimeVersion" => {
                        let version = [b"Java ", json.text()?.as_bytes()].concat();
                        self.facts.producer = crate::profile::fact(&version);
                    }
                    "threadContainers" => self.containers(json)?,
                    _ => json.skip()?,
                }
            }
        }
        Ok(())
    }

    fn containers(&mut self, json: &mut Json) -> Result<()> {
        let mut key = String::new();
        json.begin_array()?;
        while json.next_item()? {
            json.begin_object()?;
            while json.next_key(&mut key)? {
                if key != "threads" {
                    json.skip()?;
                    continue;
                }
                json.begin_array()?;
                while json.next_item()? {
                    self.thread(json)?;
                }
            }
        }
        Ok(())
    }

    fn thread(&mut self, json: &mut Json) -> Result<()> {
        let (mut key, mut name, mut tid, mut state) =
            (String::new(), String::new(), String::new(), String::new());
        let mut frames = Vec::new();
        json.begin_object()?;
        while json.next_key(&mut key)? {
            match key.as_str() {
                "name" => json.text()?.clone_into(&mut name),
                "tid" => json.text_or_number()?.clone_into(&mut tid),
                "state" => json.text()?.clone_into(&mut state),
                "stack" => {
                    json.begin_array()?;
                    while json.next_item()? {
                        let frame = json.text()?.as_bytes();
                        frames.push(java_frame(frame, self.options, &mut self.names, self.sink));
                    }
                }
                _ => json.skip()?,
            }
        }
        let thread = Thread { name: name.as_bytes(), pid: self.pid.as_bytes(), tid: tid.as_bytes() };
        let mut thread = Dumped::of(thread, self.options, self.sink);
        thread.state(state.as_bytes());
        frames.into_iter().for_each(|frame| thread.push(frame));
        thread.finish(self.values, self.sink)
    }
}
