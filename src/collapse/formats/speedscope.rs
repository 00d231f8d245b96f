//! speedscope's own JSON, which py-spy, austin2speedscope, rbspy, pyinstrument and many others
//! write.
//!
//! ```text
//! {"$schema": "https://www.speedscope.app/file-format-schema.json",
//!  "shared": {"frames": [{"name": "main", "file": "a.py", "line": 3}, …]},
//!  "profiles": [{"type": "sampled", "name": "Thread 7 \"pool\"", "unit": "seconds",
//!                "samples": [[0, 1, 4], …], "weights": [0.02, …]},
//!               {"type": "evented", …, "events": [{"type": "O", "frame": 0, "at": 0.5}, …]}]}
//! ```
//! Stacks are root first. Each profile is a thread; what is open between two events weighs the
//! time that passes. Specified at speedscope.app/file-format-schema.json.

use std::collections::HashMap;
use std::collections::HashSet;

use crate::collapse::kit::json::{HeadKeys, Json, Kind};
use crate::collapse::kit::names::{FrameNames, NO_STACK};
use crate::collapse::kit::threads::Thread;
use crate::collapse::kit::times::{duration, lasting, nanoseconds};
use crate::collapse::kit::trie::{PathId, Trie};
use crate::collapse::kit::values::Values;
use crate::collapse::{
    Certainty, CollapseOptions, Collapser, Context, ContextInfo, FormatInfo, Reading, Report, Sink, Tested,
    Value,
};
use crate::error::{Error, Result};
use crate::folded::FrameId;
use crate::input::Input;
use crate::weight::Weight;

const INFO: FormatInfo = FormatInfo {
    name: "speedscope",
    producer: "py-spy, austin2speedscope, rbspy, pyinstrument, speedscope: speedscope's JSON",
    tested: Tested::Seen("py-spy 0.4.3, austin2speedscope 2.4, rbspy 0.55, pyinstrument 5.1"),
    values: "time, size, weight, whichever there is",
    unit: "the profile's",
};

/// Collapses speedscope's JSON.
pub struct Speedscope;

impl Collapser for Speedscope {
    fn info(&self) -> &'static FormatInfo {
        &INFO
    }

    fn contexts(&self) -> ContextInfo {
        ContextInfo { times: "samples, events", clock: Some("recording"), labels: "thread, tid, process" }
    }

    fn detect(&self, head: &[u8]) -> Certainty {
        let Some(keys) = HeadKeys::read(head).filter(|keys| !keys.array) else { return Certainty::No };
        let said = keys.has("$schema") && memchr::memmem::find(head, b"speedscope").is_some();
        let shaped = keys.has_all(&["profiles.type", "profiles.unit"]) || keys.has("shared.frames");
        if said || shaped { Certainty::Yes } else { Certainty::No }
    }

    fn collapse(
        &self,
        input: Input,
        reading: &Reading<'_>,
        sink: &mut dyn Sink,
        report: &mut Report,
    ) -> Result<()> {
        let mut json = Json::new(input);
        let mut file = File::default();
        let contexts = sink.wants().contexts;
        let mut names = FrameNames::default();
        let mut key = String::new();
        json.begin_object()?;
        while json.next_key(&mut key)? {
            match key.as_str() {
                "shared" => {
                    json.begin_object()?;
                    while json.next_key(&mut key)? {
                        match key.as_str() {
                            "frames" => file.frames(&mut json, &mut names, sink)?,
                            _ => json.skip()?,
                        }
                    }
                }
                "profiles" => {
                    json.begin_array()?;
                    while json.next_item()? {
                        let profile = Profile::read(&mut json, contexts)?;
                        file.profiles.push(profile);
                    }
                }
                "exporter" if json.peek()? == Kind::Text => file.exporter.push_str(json.text()?),
                "name" if json.peek()? == Kind::Text => file.name.push_str(json.text()?),
                _ => json.skip()?,
            }
        }
        json.end(report);
        file.collapse(reading, &mut names, sink, report).map_err(|e| e.or_at(|| json.place()))
    }
}

#[derive(Default)]
struct File {
    frames: Vec<FrameId>,
    /// The frames that name a thread, as py-spy has them.
    thread_frames: HashSet<u32>,
    profiles: Vec<Profile>,
    /// The program that wrote it: `py-spy@0.4.3`.
    exporter: String,
    name: String,
}

impl File {
    fn frames(&mut self, json: &mut Json, names: &mut FrameNames, sink: &mut dyn Sink) -> Result<()> {
        let (mut key, mut name, mut path) = (String::new(), String::new(), String::new());
        json.begin_array()?;
        while json.next_item()? {
            name.clear();
            path.clear();
            let mut line = None;
            json.begin_object()?;
            while json.next_key(&mut key)? {
                match key.as_str() {
                    "name" => name.push_str(json.text()?),
                    "file" => path.push_str(json.text()?),
                    "line" => line = json.index()?.map(|line| line as u64),
                    _ => json.skip()?,
                }
            }
            if name.as_bytes().starts_with(b"thread (") {
                self.thread_frames.insert(self.frames.len() as u32);
            }
            self.frames.push(names.located(name.as_bytes(), path.as_bytes(), line, sink));
        }
        Ok(())
    }

    fn collapse(
        &self,
        options: &CollapseOptions,
        names: &mut FrameNames,
        sink: &mut dyn Sink,
        report: &mut Report,
    ) -> Result<()> {
        let mut declared: Vec<Value> = Vec::new();
        let mut columns = Vec::new();
        for profile in &self.profiles {
            let value = profile.value();
            let at = declared.iter().position(|other| *other == value);
            columns.push(at.unwrap_or(declared.len()));
            if at.is_none() {
                declared.push(value);
            }
        }
        if declared.is_empty() {
            return Ok(());
        }
        let mut values = Values::new(options, declared, 0)?;
        let contexts = sink.wants().contexts;
        self.facts(report);
        let several = self.profiles.iter().filter(|profile| !profile.stacks.is_empty()).count() > 1;
        for (profile, column) in self.profiles.iter().zip(columns) {
            let thread = thread(&profile.name);
            // py-spy --threads has them as frames already.
            let own = |number: u32| self.thread_frames.contains(&number);
            let start = options.shows_threads(several && !profile.stacks.first_numbers().any(own));
            let start = start.then(|| names.build(sink, |out| thread.write(options, out)));
            let no_stack = sink.frame(NO_STACK);
            let frame = |number: u32| match self.frames.get(number as usize) {
                Some(frame) => Ok(*frame),
                None => {
                    let expected = format!("the number of one of {} frames", self.frames.len());
                    Err(Error::malformed(expected, number.to_string().as_bytes()))
                }
            };
            profile.stacks.for_each(start, frame, |stack, sampled| {
                let stack = if stack.is_empty() { &[no_stack][..] } else { stack };
                let context = match contexts {
                    true => thread.context(sampled.time),
                    false => Context::UNKNOWN,
                };
                let context = (&context, sampled.duration);
                values.add_lasting(column, stack, sampled.weight, sampled.samples, context, sink)
            })?;
            if profile.unmatched > 0 {
                report.warn(format!(
                    "{:?}: {} frames were closed that were not open",
                    profile.name, profile.unmatched
                ));
            }
        }
        values.finish(report)
    }
}

impl File {
    /// Notes what the file says of itself.
    fn facts(&self, report: &mut Report) {
        let facts = &mut report.facts;
        facts.producer = crate::profile::fact(self.exporter.replacen('@', " ", 1).as_bytes());
        // pyinstrument: `CPU profile for 'Program: orders.py 0.6' at …`.
        let program = self.name.split_once("'Program: ").and_then(|(_, rest)| rest.rsplit_once("' at "));
        if let Some((program, _)) = program {
            facts.set_command(program);
        }
        let begins = self.profiles.iter().filter_map(|profile| profile.begin).min();
        let ends = self.profiles.iter().filter_map(|profile| profile.end).max();
        let unit = self.profiles.first().map(Profile::value).and_then(|value| value.unit);
        let same_unit = self.profiles.iter().all(|profile| profile.unit == self.profiles[0].unit);
        if let (Some(begin), Some(end), Some(unit), true) = (begins, ends, unit, same_unit)
            && let Ok(passed) = end.checked_sub(begin)
            && self.exporter != OURS
        {
            facts.duration = duration(passed, &unit);
        }
        // These write every sample by itself; others may write different stacks, added up.
        let sampler = ["py-spy@", "rbspy@"].iter().any(|name| self.exporter.starts_with(name));
        if sampler && self.profiles.iter().all(|profile| profile.is_sampled) {
            facts.samples = Some(self.profiles.iter().map(|profile| profile.sampled).sum());
            let mut weights = self.profiles.iter().flat_map(|profile| profile.same_weight);
            let first = weights.next();
            let known = self.profiles.iter().all(|p| p.sampled == 0 || p.same_weight.is_some());
            facts.period = first.filter(|first| known && weights.all(|weight| weight == *first));
        }
    }
}

/// The exporter of `fg-render`, whose values are sums and no times.
const OURS: &str = "fg-render";

/// The thread that a profile's name tells of, where it is py-spy's: `Process 7 Thread 8 "pool"`.
fn thread(name: &str) -> Thread<'_> {
    let number = |text: &'_ str| text.bytes().take_while(u8::is_ascii_digit).count();
    let (pid, rest) = match name.strip_prefix("Process ") {
        Some(rest) => rest.split_at(number(rest)),
        None => ("", name),
    };
    let parts = rest.trim_start().strip_prefix("Thread ").map(|rest| rest.split_at(number(rest)));
    let Some((tid, quoted)) = parts.filter(|(tid, _)| !tid.is_empty()) else {
        return Thread { name: name.as_bytes(), ..Thread::default() };
    };
    let own = quoted.trim().trim_matches('"');
    let shown = if own.is_empty() { name.trim_end_matches([' ', '"']) } else { own };
    Thread { name: shown.as_bytes(), pid: pid.as_bytes(), tid: tid.as_bytes() }
}

/// One of the file's profiles, its frames by their numbers.
#[derive(Default)]
struct Profile {
    name: String,
    unit: String,
    stacks: Trie,
    samples: Vec<PathId>,
    weights: Vec<Weight>,
    /// The path that is open in an evented profile, and its beginning.
    open: Option<(PathId, Weight)>,
    /// The number of times that each frame is open: others need not be looked for.
    open_frames: HashMap<u32, usize>,
    unmatched: u64,
    /// Its first and last value.
    begin: Option<Weight>,
    end: Option<Weight>,
    is_sampled: bool,
    /// The number of its samples, and the weight of each if they weigh the same.
    sampled: u64,
    same_weight: Option<Weight>,
}

impl Profile {
    fn read(json: &mut Json, contexts: bool) -> Result<Profile> {
        let mut profile = Profile { stacks: Trie::new(contexts), ..Profile::default() };
        let mut key = String::new();
        json.begin_object()?;
        while json.next_key(&mut key)? {
            match key.as_str() {
                "name" => profile.name.push_str(json.text()?),
                "unit" => profile.unit.push_str(json.text()?),
                "type" => profile.is_sampled = json.text()? == "sampled",
                "startValue" if json.peek()? == Kind::Number => profile.begin = Some(json.weight()?),
                "endValue" if json.peek()? == Kind::Number => profile.end = Some(json.weight()?),
                "samples" => profile.samples(json)?,
                "weights" => {
                    json.begin_array()?;
                    while json.next_item()? {
                        profile.weights.push(json.weight()?);
                    }
                }
                "events" => {
                    json.begin_array()?;
                    while json.next_item()? {
                        profile.event(json)?;
                    }
                }
                _ => json.skip()?,
            }
        }
        if profile.samples.len() != profile.weights.len() && !profile.weights.is_empty() {
            let found = format!("{} weights", profile.weights.len());
            let expected = format!("as many weights as the {} samples", profile.samples.len());
            return Err(Error::malformed(expected, found.as_bytes()).at(json.place()));
        }
        profile.weights.resize(profile.samples.len(), Weight::ONE);
        profile.add_samples()?;
        Ok(profile)
    }

    /// Adds up the samples of a sampled profile, now that their weights are known.
    fn add_samples(&mut self) -> Result<()> {
        let (samples, weights) = (std::mem::take(&mut self.samples), std::mem::take(&mut self.weights));
        self.sampled = samples.len() as u64;
        self.same_weight = weights.first().copied().filter(|first| weights.iter().all(|w| w == first));
        let unit = self.value().unit.unwrap_or_default();
        let mut now = self.begin.unwrap_or_default();
        for (path, weight) in samples.into_iter().zip(weights) {
            let next = now.checked_add(weight)?;
            let lasts = lasting(now, next, &unit);
            self.stacks.add_lasting(path, weight, nanoseconds(now, &unit), lasts, 0)?;
            now = next;
        }
        Ok(())
    }

    fn samples(&mut self, json: &mut Json) -> Result<()> {
        // Samples share most of their stack with the one before, up to where they part.
        let mut before: Vec<(u32, PathId)> = Vec::new();
        json.begin_array()?;
        while json.next_item()? {
            let (mut path, mut depth) = (Trie::ROOT, 0);
            json.begin_array()?;
            while json.next_item()? {
                let number = frame_number(json)?;
                match before.get(depth) {
                    Some(&(same, known)) if same == number => path = known,
                    _ => {
                        before.truncate(depth);
                        path = self.stacks.below(path, number);
                        before.push((number, path));
                    }
                }
                depth += 1;
            }
            before.truncate(depth);
            self.samples.push(path);
        }
        Ok(())
    }

    /// `{"type": "O", "frame": 0, "at": 0.5}`
    fn event(&mut self, json: &mut Json) -> Result<()> {
        let (mut opens, mut frame, mut at) = (None, None, None);
        let mut key = String::new();
        json.begin_object()?;
        while json.next_key(&mut key)? {
            match key.as_str() {
                "type" => {
                    opens = match json.text()? {
                        "O" => Some(true),
                        "C" => Some(false),
                        _ => None,
                    }
                }
                "frame" => frame = Some(frame_number(json)?),
                "at" => at = Some(json.weight()?),
                _ => json.skip()?,
            }
        }
        let (Some(opens), Some(frame), Some(at)) = (opens, frame, at) else {
            return Err(Error::malformed("an event with type, frame and at", b"another").at(json.place()));
        };
        let (path, since) = self.open.unwrap_or((Trie::ROOT, at));
        if path != Trie::ROOT {
            let unit = self.value().unit.unwrap_or_default();
            let (passed, lasts) = (at.checked_sub(since)?, lasting(since, at, &unit));
            self.stacks.add_lasting(path, passed, nanoseconds(since, &unit), lasts, 0)?;
        }
        let next = if opens {
            *self.open_frames.entry(frame).or_default() += 1;
            Some(self.stacks.below(path, frame))
        } else {
            self.close(path, frame)
        };
        self.unmatched += u64::from(next.is_none());
        self.open = Some((next.unwrap_or(path), at));
        Ok(())
    }

    /// The path without the frame, and what is still open below it; `None` if it is not open.
    fn close(&mut self, path: PathId, frame: u32) -> Option<PathId> {
        if self.open_frames.get(&frame).is_none_or(|count| *count == 0) {
            return None;
        }
        let mut at = path;
        while let Some((above, number)) = self.stacks.above(at) {
            self.open_frames.entry(number).and_modify(|count| *count -= 1);
            if number == frame {
                return Some(above);
            }
            at = above;
        }
        None
    }

    fn value(&self) -> Value {
        let name = match self.unit.as_str() {
            "seconds" | "milliseconds" | "microseconds" | "nanoseconds" => "time",
            "bytes" => "size",
            _ => "weight",
        };
        Value::with_producers_unit(name, &self.unit)
    }
}

/// The number of a frame.
fn frame_number(json: &mut Json) -> Result<u32> {
    let number = json.integer()?;
    u32::try_from(number).map_err(|_| {
        Error::malformed("the number of a frame", number.to_string().as_bytes()).at(json.place())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::folded::StackTable;

    fn collapsed(text: &str, options: &CollapseOptions) -> Result<String> {
        let input = Input::new("test", Box::new(std::io::Cursor::new(text.to_owned()))).unwrap();
        assert_eq!(Speedscope.detect(text.as_bytes()), Certainty::Yes);
        let mut table = StackTable::default();
        Speedscope.collapse(input, &Reading::alone(options), &mut table, &mut Report::default())?;
        let mut out = Vec::new();
        table.write(&mut out)?;
        Ok(String::from_utf8(out).unwrap())
    }

    const FRAMES: &str =
        r#""shared":{"frames":[{"name":"a"},{"name":"b;","file":"x.py","line":3},{"name":""}]}"#;

    #[test]
    fn time_passes_for_what_is_open() {
        let text = format!(
            r#"{{"profiles":[{{"type":"evented","unit":"milliseconds","name":"p","events":[
            {{"type":"O","frame":0,"at":1}},{{"type":"O","frame":1,"at":1.5}},{{"type":"C","frame":1,"at":2}},
            {{"type":"C","frame":0,"at":4}},{{"type":"O","frame":2,"at":10}},{{"type":"C","frame":1,"at":11}},
            {{"type":"C","frame":2,"at":12}}]}}],{FRAMES}}}"#
        );
        assert_eq!(
            collapsed(&text, &CollapseOptions::default()).unwrap(),
            "(anonymous) 2\na 2.5\na;b: (x.py:3) 0.5\n"
        );
    }

    #[test]
    fn several_profiles_are_threads() {
        let text = format!(
            r#"{{{FRAMES},"profiles":[{{"type":"sampled","unit":"none","name":"Thread 7 \"x\"","samples":[[0],[0,1]],"weights":[1,2]}},
            {{"type":"sampled","unit":"none","name":"main","samples":[[]],"weights":[4]}}]}}"#
        );
        assert_eq!(
            collapsed(&text, &CollapseOptions::default()).unwrap(),
            "main 4\nx;a 1\nx;a;b: (x.py:3) 2\n"
        );
        let tid = CollapseOptions { tid: true, ..CollapseOptions::default() };
        assert_eq!(collapsed(&text, &tid).unwrap(), "main-?/? 4\nx-?/7;a 1\nx-?/7;a;b: (x.py:3) 2\n");
        let none = CollapseOptions { threads_as_frames: Some(false), ..CollapseOptions::default() };
        assert_eq!(collapsed(&text, &none).unwrap(), "[no stack] 4\na 1\na;b: (x.py:3) 2\n");
    }

    #[test]
    fn what_is_not_there_is_an_error() {
        for (samples, weights, message) in [
            ("[[7]]", "[1]", "one of 3 frames, found \"7\""),
            ("[[-1]]", "[1]", "number of a frame, found \"-1\""),
            ("[[0]]", "[1,2]", "as many weights as the 1 samples"),
            ("[0]", "[1]", "expected an array, found a number"),
        ] {
            let text = format!(
                r#"{{{FRAMES},"profiles":[{{"type":"sampled","unit":"none","name":"","samples":{samples},"weights":{weights}}}]}}"#
            );
            let error = collapsed(&text, &CollapseOptions::default()).unwrap_err().to_string();
            assert!(error.starts_with("test: byte ") && error.contains(message), "{error}");
        }
    }

    #[test]
    fn py_spy_s_names_tell_numbers() {
        for (name, expected) in [
            ("Process 7 Thread 8 \"pool\"", ["pool", "7", "8"]),
            ("Thread 8 \"\"", ["Thread 8", "", "8"]),
            ("Thread pool", ["Thread pool", "", ""]),
            ("", ["", "", ""]),
        ] {
            let thread = thread(name);
            assert_eq!(
                [thread.name, thread.pid, thread.tid].map(|b| std::str::from_utf8(b).unwrap()),
                expected
            );
        }
    }
}
