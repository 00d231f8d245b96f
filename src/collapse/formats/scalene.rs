//! Scalene's profiles, `scalene run --stacks` (seen: 2.4; those without `--stacks` keep lines only).
//!
//! ```text
//! {"alloc_samples": 1157, "args": ["orders.py"],
//!  "combined_stacks": [[[{"kind": "py", "display_name": "work", "filename_or_module": "orders.py", "line": 11, …}, …], 3]],
//!  "combined_stacks_timeline": [{"t_sec": 0.5, "stack_index": 0, "thread_id": 77, "count": 3}],
//!  "memory_stacks": [[[…], 75.006207]],
//!  "stacks": [[["orders.py work:11;"], {"count": 3, …}]]}
//! ```
//! Stacks root first: of samples with native frames, of allocated MiB, and of samples with Python's frames only.
//! The times of samples are those of the main thread, in seconds since the start. Specified in Scalene's
//! `scalene_json.py`.

use crate::collapse::kit::forest::Budget;
use crate::collapse::kit::json::{HeadKeys, Json, Kind};
use crate::collapse::kit::names::{FrameNames, NO_STACK};
use crate::collapse::kit::threads::Thread;
use crate::collapse::kit::times::{date, duration, nanoseconds};
use crate::collapse::kit::values::Values;
use crate::collapse::{
    Certainty, CollapseOptions, Collapser, Context, ContextInfo, FormatInfo, Reading, Report, Sink, Tested,
    Value,
};
use crate::error::{Error, ErrorKind, Position, Result};
use crate::folded::FrameId;
use crate::input::Input;
use crate::weight::Weight;

const INFO: FormatInfo = FormatInfo {
    name: "scalene",
    producer: "scalene run --stacks",
    tested: Tested::Seen("Scalene 2.4"),
    values: "samples, memory, python-samples",
    unit: "samples, MiB, samples",
};

/// Collapses Scalene's profiles.
pub struct Scalene;

/// The values, by the numbers that they have here.
const SAMPLES: usize = 0;
const MEMORY: usize = 1;
const PYTHON: usize = 2;

impl Collapser for Scalene {
    fn info(&self) -> &'static FormatInfo {
        &INFO
    }

    fn contexts(&self) -> ContextInfo {
        ContextInfo { times: "samples", clock: Some("recording"), labels: "thread, tid" }
    }

    fn detect(&self, head: &[u8]) -> Certainty {
        let is_of_it = HeadKeys::read(head).is_some_and(|keys| {
            let others = ["args", "combined_stacks", "elapsed_time_sec"];
            let sorted = keys.has("alloc_samples") && others.iter().any(|key| keys.has(key));
            !keys.array && (sorted || keys.has_all(&["start_time_absolute", "start_time_perf", "stacks"]))
        });
        if is_of_it { Certainty::Yes } else { Certainty::No }
    }

    fn collapse(
        &self,
        input: Input,
        reading: &Reading<'_>,
        sink: &mut dyn Sink,
        report: &mut Report,
    ) -> Result<()> {
        let place = Position::file(input.name().clone());
        let mut json = Json::new(input);
        let mut profile = Profile::default();
        profile.read(&mut json, reading, sink, report)?;
        json.end(report);
        if profile.stacks.iter().all(Vec::is_empty) {
            let what = "a profile of Scalene without stacks";
            let instead = "record it with scalene run --stacks";
            return Err(Error::new(ErrorKind::KnownUnsupported { what, instead }, place));
        }
        profile.push(reading, sink, report)
    }
}

/// A stack, and its weight.
struct Stack {
    frames: Vec<FrameId>,
    weight: Weight,
}

/// Samples of a stack at a time.
#[derive(Default)]
struct Moment {
    stack: Option<usize>,
    count: Weight,
    time: Option<u64>,
    thread: String,
}

/// The parts of a profile that have stacks.
#[derive(Default)]
struct Profile {
    stacks: [Vec<Stack>; 3],
    moments: Vec<Moment>,
    names: FrameNames,
    budget: Budget,
}

impl Profile {
    fn read(
        &mut self,
        json: &mut Json,
        options: &CollapseOptions,
        sink: &mut dyn Sink,
        report: &mut Report,
    ) -> Result<()> {
        let mut key = String::new();
        let contexts = sink.wants().contexts;
        let facts = &mut report.facts;
        facts.producer = Some("Scalene".to_owned());
        json.begin_object()?;
        while json.next_key(&mut key)? {
            match key.as_str() {
                "combined_stacks" => self.stacks(json, SAMPLES, options, sink)?,
                "memory_stacks" => self.stacks(json, MEMORY, options, sink)?,
                "stacks" => self.stacks(json, PYTHON, options, sink)?,
                "combined_stacks_timeline" if contexts => self.timeline(json)?,
                "elapsed_time_sec" if json.peek()? == Kind::Number => {
                    facts.duration = duration(json.weight()?, "s");
                }
                "start_time_absolute" if json.peek()? == Kind::Number => {
                    facts.start = date(json.weight()?, "s");
                }
                "args" if json.peek()? == Kind::Array => {
                    let mut words = Vec::new();
                    json.begin_array()?;
                    while json.next_item()? {
                        words.push(json.text_or_number()?.to_owned());
                    }
                    facts.set_command(words.join(" "));
                }
                _ => json.skip()?,
            }
        }
        Ok(())
    }

    /// An array of pairs: the frames, and their weight.
    fn stacks(
        &mut self,
        json: &mut Json,
        value: usize,
        options: &CollapseOptions,
        sink: &mut dyn Sink,
    ) -> Result<()> {
        if json.null()? {
            return Ok(());
        }
        json.begin_array()?;
        while json.next_item()? {
            json.begin_array()?;
            let mut frames = Vec::new();
            let mut weight = None;
            if json.next_item()? {
                json.begin_array()?;
                while json.next_item()? {
                    frames.push(match json.peek()? {
                        Kind::Object => self.frame(json, options, sink)?,
                        _ => {
                            let text = json.text()?.to_owned();
                            self.named(&text, sink)
                        }
                    });
                    self.budget.check(frames.len())?;
                }
            }
            while json.next_item()? {
                match json.peek()? {
                    Kind::Number if weight.is_none() => weight = Some(json.weight()?),
                    Kind::Object => weight = count(json)?.or(weight),
                    _ => json.skip()?,
                }
            }
            let Some(weight) = weight else {
                return Err(Error::malformed("a stack with its weight", b"none").at(json.place()));
            };
            if frames.is_empty() {
                frames.push(sink.frame(NO_STACK));
            }
            self.budget.spend(frames.len())?;
            self.stacks[value].push(Stack { frames, weight });
        }
        Ok(())
    }

    fn frame(&mut self, json: &mut Json, options: &CollapseOptions, sink: &mut dyn Sink) -> Result<FrameId> {
        let (mut name, mut file, mut line, mut address) = (String::new(), String::new(), None, 0);
        let mut is_native = false;
        let mut key = String::new();
        json.begin_object()?;
        while json.next_key(&mut key)? {
            match key.as_str() {
                "display_name" => json.text()?.clone_into(&mut name),
                "filename_or_module" => json.text()?.clone_into(&mut file),
                "kind" => is_native = json.text()? == "native",
                "line" => line = json.index()?,
                "ip" => address = json.index()?.unwrap_or(0),
                _ => json.skip()?,
            }
        }
        Ok(match is_native {
            true if name.is_empty() => self.names.module(file.as_bytes(), address as u64, options, sink),
            true => self.names.symbol(name.as_bytes(), sink),
            false => self.names.located(name.as_bytes(), file.as_bytes(), line.map(|line| line as u64), sink),
        })
    }

    /// `orders.py work:11;`, of which the file may have blanks.
    fn named(&mut self, text: &str, sink: &mut dyn Sink) -> FrameId {
        let text = text.strip_suffix(';').unwrap_or(text);
        let parts = text.rsplit_once(':').and_then(|(rest, line)| {
            let (file, name) = rest.rsplit_once(' ')?;
            Some((file, name, line.parse().ok()?))
        });
        match parts {
            Some((file, name, line)) => {
                self.names.located(name.as_bytes(), file.as_bytes(), Some(line), sink)
            }
            None => self.names.plain(text.as_bytes(), sink),
        }
    }

    fn timeline(&mut self, json: &mut Json) -> Result<()> {
        let mut key = String::new();
        json.begin_array()?;
        while json.next_item()? {
            let mut moment = Moment::default();
            json.begin_object()?;
            while json.next_key(&mut key)? {
                match key.as_str() {
                    "stack_index" => moment.stack = json.index()?,
                    "count" => moment.count = json.weight()?,
                    "t_sec" => moment.time = nanoseconds(json.weight()?, "s"),
                    "thread_id" => json.text_or_number()?.clone_into(&mut moment.thread),
                    _ => json.skip()?,
                }
            }
            self.moments.push(moment);
        }
        Ok(())
    }

    fn push(self, reading: &Reading<'_>, sink: &mut dyn Sink, report: &mut Report) -> Result<()> {
        let declared = vec![
            Value::new("samples", "samples"),
            Value::new("memory", "MiB"),
            Value::new("python-samples", "samples"),
        ];
        let holds = |at: usize| self.stacks[at].iter().any(|stack| !stack.weight.is_zero());
        // Without native frames there are those of Python, which are the same samples.
        let default = if holds(SAMPLES) || !holds(PYTHON) { SAMPLES } else { PYTHON };
        let mut values = Values::holding(reading, declared, default, holds, report)?;
        let timed = self.is_timed();
        for (at, stacks) in self.stacks.iter().enumerate() {
            if at == SAMPLES && timed {
                continue;
            }
            for Stack { frames, weight } in stacks {
                let samples = if at == MEMORY { 1 } else { weight.to_u64().unwrap_or(1) };
                values.add_many(at, frames, *weight, samples, sink)?;
            }
        }
        for moment in self.moments.iter().filter(|_| timed) {
            let Some(stack) = moment.stack.and_then(|at| self.stacks[SAMPLES].get(at)) else { continue };
            let thread = Thread { name: b"", pid: b"", tid: moment.thread.as_bytes() };
            let context: Context<'_> = thread.context(moment.time);
            let samples = moment.count.to_u64().unwrap_or(1);
            values.add_at(SAMPLES, &stack.frames, moment.count, samples, &context, sink)?;
        }
        values.finish(report)
    }

    /// Returns whether the times tell of each sample of each stack.
    fn is_timed(&self) -> bool {
        let mut left: Vec<Weight> = self.stacks[SAMPLES].iter().map(|stack| stack.weight).collect();
        let told = self.moments.iter().all(|moment| {
            let stack = moment.stack.and_then(|at| left.get_mut(at));
            let less = stack.and_then(|left| Some((left.checked_sub(moment.count).ok()?, left)));
            less.map(|(less, left)| *left = less).is_some()
        });
        told && !self.moments.is_empty() && left.iter().all(|left| left.is_zero())
    }
}

/// The number of samples among what Scalene says of a stack.
fn count(json: &mut Json) -> Result<Option<Weight>> {
    let mut key = String::new();
    let mut count = None;
    json.begin_object()?;
    while json.next_key(&mut key)? {
        if key == "count" { count = Some(json.weight()?) } else { json.skip()? }
    }
    Ok(count)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::collapse::ValueSelection;
    use crate::collapse::tests::{collapse_bytes, fold};

    const PROFILE: &str = r#"{"alloc_samples": 1, "args": ["a b.py", "3"], "combined_stacks": [
        [[{"kind": "py", "display_name": "<module>", "filename_or_module": "/a b.py", "line": 9, "ip": null},
          {"kind": "native", "display_name": "_ZN1a1bEi", "filename_or_module": "/lib/x.so", "line": null, "ip": 77},
          {"kind": "native", "display_name": "", "filename_or_module": "/lib/x.so", "line": null, "ip": 78}], 3],
        [[], 1]],
        "combined_stacks_timeline": [{"count": 2, "stack_index": 0, "t_sec": 0.5, "thread_id": 7},
          {"count": 1, "stack_index": 1, "t_sec": 1, "thread_id": 7}, {"count": 1, "stack_index": 0, "t_sec": 2, "thread_id": 7}],
        "elapsed_time_sec": 2.5, "memory_stacks": [[[{"kind": "py", "display_name": "f", "filename_or_module": "a.py", "line": 1}], 75.006207]],
        "stacks": [[["/a b.py <module>:9;", "/a b.py f:3;"], {"c_time": 0.1, "count": 5, "python_time": 0.2}]]}"#;

    #[test]
    fn each_kind_of_stacks_is_a_value() {
        assert_eq!(Scalene.detect(PROFILE.as_bytes()), Certainty::Yes);
        assert_eq!(
            Scalene.detect(b"{\"alloc_samples\":0,\"elapsed_time_sec\":1.5,\"files\":{"),
            Certainty::Yes
        );
        assert_eq!(Scalene.detect(br#"{"args": [], "elapsed_time_sec": 1}"#), Certainty::No);
        assert_eq!(
            fold(&Scalene, PROFILE, &CollapseOptions::default()),
            "<module> (/a b.py:9);a::b;[x.so] 3\n[no stack] 1\n"
        );
        for (value, expected) in [
            ("memory", "f (a.py:1) 75.006207\n"),
            ("python-samples", "<module> (/a b.py:9);f (/a b.py:3) 5\n"),
        ] {
            let named = ValueSelection::Named(vec![value.as_bytes().to_vec()]);
            assert_eq!(
                fold(&Scalene, PROFILE, &CollapseOptions { values: named, ..CollapseOptions::default() }),
                expected
            );
        }
        let (_, report) = collapse_bytes(&Scalene, PROFILE, &CollapseOptions::default()).unwrap();
        assert_eq!(report.facts.command.as_deref(), Some("a b.py 3"));
        assert_eq!(report.facts.duration, Some(std::time::Duration::from_millis(2500)));
    }

    #[test]
    fn a_profile_of_lines_names_the_option_that_keeps_stacks() {
        let lines = r#"{"alloc_samples": 0, "elapsed_time_sec": 1.5, "files": {}, "stacks": []}"#;
        let error = collapse_bytes(&Scalene, lines, &CollapseOptions::default()).unwrap_err().to_string();
        assert!(error.contains("--stacks"), "{error}");
        assert!(
            collapse_bytes(
                &Scalene,
                r#"{"alloc_samples": 0, "stacks": [[["a"]]]}"#,
                &CollapseOptions::default()
            )
            .is_err()
        );
    }

    #[test]
    fn without_native_frames_those_of_python_are_shown() {
        let python = r#"{"alloc_samples": 0, "args": [], "stacks": [[["a.py f:3;"], {"count": 5}]]}"#;
        let (text, report) = collapse_bytes(&Scalene, python, &CollapseOptions::default()).unwrap();
        assert_eq!(text, "f (a.py:3) 5\n");
        assert!(report.facts.warnings.is_empty());
    }
}
