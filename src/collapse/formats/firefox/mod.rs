//! The Firefox Profiler's JSON, as samply writes it and as profiler.firefox.com saves it (seen:
//! samply 0.13, processed version 55).
//!
//! ```text
//! {"meta": {"preprocessedProfileVersion": 55, …}, "libs": […],
//!  "threads": [{"name": "pool", "pid": "7", "tid": "8", "stringArray": ["f", …],
//!    "samples": {"stack": [0, null, …], "weight": [1, …], "weightType": "samples", …},
//!    "stackTable": {"prefix": [null, 0, …], "frame": [0, 1, …]},
//!    "frameTable": {"func": [0, …], …}, "funcTable": {"name": [0, …], "resource": [0, …], …}}]}
//! ```
//! Tables of columns: a sample has a stack, a stack has a frame and another stack above it, a frame
//! has a function, a function a name. From version 57 on the tables are in `shared`, for all
//! threads. Firefox itself and perf's script `gecko` write the same tables as rows, below a
//! `schema`, and names in place of functions; places in native code are addresses in memory there,
//! and `libs` tells what was mapped where in each process. samply writes addresses for names, and
//! the names into a file beside the profile, if it is asked to; see [`symbols`]. Addresses become
//! the module's name, as perf's do. The format is described in github.com/firefox-devtools/profiler,
//! `docs-developer/CHANGELOG-formats.md` and `src/types/profile.js`.

mod frames;
mod meta;
mod symbols;
mod tables;
mod thread;

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use self::frames::{Columns, Lib, libs, no_such};
use self::meta::Meta;
use self::symbols::Symbols;
use self::tables::Tables;
use self::thread::Thread;
use crate::collapse::kit::forest::Forest;
use crate::collapse::kit::json::{HeadKeys, Json, Kind};
use crate::collapse::kit::names::{FrameNames, NO_STACK};
use crate::collapse::kit::times::{duration, nanoseconds};
use crate::collapse::kit::values::Values;
use crate::collapse::{
    Certainty, CollapseOptions, Collapser, Context, ContextInfo, FormatInfo, Reading, Report, Sink, Tested,
    Value,
};
use crate::error::Result;
use crate::folded::FrameId;
use crate::input::Input;
use crate::profile::Facts;
use crate::weight::Weight;

const INFO: FormatInfo = FormatInfo {
    name: "firefox",
    producer: "samply, the Firefox Profiler, the performance tool of Firefox to 63, perf script gecko, Vernier of Ruby",
    tested: Tested::Seen(
        "samply 0.13, Firefox 153; the performance tool of Firefox 59 to 63 and Vernier by their sources",
    ),
    values: "samples, cpu if it was measured; or size, of allocations",
    unit: "samples or ms, us; bytes",
};

/// Collapses the Firefox Profiler's JSON.
pub struct Firefox;

impl Collapser for Firefox {
    fn info(&self) -> &'static FormatInfo {
        &INFO
    }

    fn contexts(&self) -> ContextInfo {
        ContextInfo { times: "samples", clock: Some("recording"), labels: "thread, tid, process, category" }
    }

    fn detect(&self, head: &[u8]) -> Certainty {
        let Some(keys) = HeadKeys::read(head).filter(|keys| !keys.array) else { return Certainty::No };
        let known = keys.has("meta.preprocessedProfileVersion")
            || keys.has_all(&["threads.stackTable", "threads.samples"])
            || keys.has_all(&["meta.interval", "meta.version", "libs"])
            // Firefox has many libraries, and `meta` only behind them.
            || keys.has_all(&["libs.breakpadId", "libs.debugPath"])
            // The performance tool of Firefox to 63 has the profile in an object of its own.
            || keys.has_all(&["profile.meta", "profile.threads"])
            || keys.has_all(&["allocations.sites", "allocations.frames", "allocations.timestamps"]);
        if known { Certainty::Yes } else { Certainty::No }
    }

    fn collapse(
        &self,
        input: Input,
        reading: &Reading<'_>,
        sink: &mut dyn Sink,
        report: &mut Report,
    ) -> Result<()> {
        let symbols = Symbols::beside(input.name())?;
        let mut json = Json::new(input);
        let mut profile = Profile { symbols, ..Profile::default() };
        profile.read(&mut json, 0)?;
        json.end(report);
        profile.collapse(reading, sink, report).map_err(|e| e.or_at(|| json.place()))
    }
}

#[derive(Default)]
struct Profile {
    cpu_unit: String,
    /// Its names are frames already: `fg-render` wrote it.
    holds_frames: bool,
    facts: Facts,
    /// The names of the kinds of code: `Kernel`, `User`.
    categories: Vec<String>,
    libs: Vec<Lib>,
    /// The libraries of each process by where they were mapped, as Firefox itself writes them.
    mapped: Vec<Vec<Lib>>,
    symbols: Option<Symbols>,
    shared: Tables,
    /// With the number of their process.
    threads: Vec<(usize, Thread)>,
}

impl Profile {
    /// Reads a profile. As Firefox writes it, it holds one of each process that it started, the
    /// same way.
    fn read(&mut self, json: &mut Json, depth: usize) -> Result<()> {
        let mut key = String::new();
        let process = self.mapped.len();
        self.mapped.push(Vec::new());
        json.begin_object()?;
        while json.next_key(&mut key)? {
            match key.as_str() {
                "meta" => self.meta(json)?,
                "libs" => {
                    let (mapped, plain): (Vec<Lib>, Vec<Lib>) =
                        libs(json)?.into_iter().partition(|lib| !lib.range.is_empty());
                    self.mapped[process] = mapped;
                    self.libs.extend(plain);
                }
                "shared" => {
                    json.begin_object()?;
                    while json.next_key(&mut key)? {
                        self.shared.read(&key, json)?;
                    }
                }
                "threads" => {
                    json.begin_array()?;
                    while json.next_item()? {
                        let thread = Thread::read(json)?;
                        self.threads.push((process, thread));
                    }
                }
                "processes" if depth < 3 && json.peek()? == Kind::Array => {
                    json.begin_array()?;
                    while json.next_item()? {
                        self.read(json, depth + 1)?;
                    }
                }
                "profile" if depth == 0 && json.peek()? == Kind::Object => self.read(json, depth + 1)?,
                _ => json.skip()?,
            }
        }
        Ok(())
    }

    fn meta(&mut self, json: &mut Json) -> Result<()> {
        let mut key = String::new();
        let mut meta = Meta::default();
        json.begin_object()?;
        while json.next_key(&mut key)? {
            match (key.as_str(), json.peek()?) {
                ("importedFrom", Kind::Text) => self.holds_frames = json.text()? == "fg-render",
                ("sampleUnits", Kind::Object) => {
                    json.begin_object()?;
                    while json.next_key(&mut key)? {
                        match key.as_str() {
                            "threadCPUDelta" if self.cpu_unit.is_empty() => {
                                self.cpu_unit.push_str(json.text()?)
                            }
                            _ => json.skip()?,
                        }
                    }
                }
                ("categories", Kind::Array) if self.categories.is_empty() => {
                    json.begin_array()?;
                    while json.next_item()? {
                        let mut name = String::new();
                        json.begin_object()?;
                        while json.next_key(&mut key)? {
                            match (key.as_str(), json.peek()?) {
                                ("name", Kind::Text) => name.push_str(json.text()?),
                                _ => json.skip()?,
                            }
                        }
                        self.categories.push(name);
                    }
                }
                ("interval", Kind::Number) => meta.interval = json.weight()?,
                ("startTime", Kind::Number) => meta.start = json.weight()?,
                ("product", Kind::Text) => meta.product.push_str(json.text()?),
                ("misc", Kind::Text) => meta.version.push_str(json.text()?),
                ("oscpu", Kind::Text) => meta.system.push_str(json.text()?),
                ("arguments", Kind::Text) => meta.arguments.push_str(json.text()?),
                _ => json.skip()?,
            }
        }
        // Processes are nested; the outermost is the one that was recorded.
        if self.facts.is_empty() && !self.holds_frames {
            self.facts = meta.facts();
        }
        Ok(())
    }

    fn collapse(&self, options: &CollapseOptions, sink: &mut dyn Sink, report: &mut Report) -> Result<()> {
        // Threads without samples do not tell what is measured.
        let threads = self.threads.iter().filter(|(_, thread)| !thread.stacks.is_empty());
        let (processes, threads): (Vec<usize>, Vec<&Thread>) =
            threads.map(|(process, thread)| (*process, thread)).unzip();
        let mut declared: Vec<Value> = Vec::new();
        let column = |value: Value, declared: &mut Vec<Value>| {
            declared.iter().position(|other| *other == value).unwrap_or_else(|| {
                declared.push(value);
                declared.len() - 1
            })
        };
        let weight_columns: Vec<usize> =
            threads.iter().map(|thread| column(thread.value(), &mut declared)).collect();
        let measured = threads.iter().any(|thread| thread.cpu.iter().any(|cpu| !cpu.is_zero()));
        let cpu_column =
            measured.then(|| column(Value::with_producers_unit("cpu", &self.cpu_unit), &mut declared));
        if declared.is_empty() {
            return Ok(());
        }
        let mut values = Values::new(options, declared, 0)?;
        report.facts = self.facts.clone();
        if !self.holds_frames {
            let times = || threads.iter().flat_map(|thread| thread.times.iter().copied());
            if let (Some(first), Some(last)) = (times().min(), times().max()) {
                report.facts.duration =
                    last.checked_sub(first).ok().and_then(|passed| duration(passed, "ms"));
            }
        }
        let contexts = sink.wants().contexts;
        let mut names = FrameNames::default();
        let no_stack = sink.frame(NO_STACK);
        for ((thread, process), weight_column) in threads.iter().zip(processes).zip(weight_columns) {
            let shown = options.shows_threads(threads.len() > 1);
            let start = shown.then(|| names.build(sink, |out| thread.frame_name().write(options, out)));
            let mut stacks = self.stacks(&thread.tables, process, options, &mut names, sink)?;
            // Sums are kept for each stack; the one behind the last is for samples without a stack.
            let none = stacks.len();
            if contexts {
                self.samples(thread, start, (weight_column, cpu_column), &mut stacks, &mut values, sink)?;
                continue;
            }
            let mut sums = vec![(Weight::ZERO, Weight::ZERO, 0u64); none + 1];
            for (sample, stack) in thread.stacks.iter().enumerate() {
                let at = stack.unwrap_or(none);
                let Some((weight, cpu, samples)) =
                    sums.get_mut(at).filter(|_| stack.is_none_or(|at| at < none))
                else {
                    return Err(no_such(*stack, "stacks", none));
                };
                *weight = weight.checked_add(thread.weights.get(sample).copied().unwrap_or(Weight::ONE))?;
                *cpu = cpu.checked_add(thread.cpu.get(sample).copied().unwrap_or_default())?;
                *samples += 1;
            }
            let mut stack = Vec::new();
            for (at, (weight, cpu, samples)) in sums.into_iter().enumerate().filter(|(_, sum)| sum.2 > 0) {
                stack.clear();
                stack.extend(start);
                if at == none {
                    stack.push(no_stack)
                } else {
                    stacks.stack(at, &mut stack)?
                }
                values.add_many(weight_column, &stack, weight, samples, sink)?;
                if let Some(column) = cpu_column {
                    values.add_many(column, &stack, cpu, samples, sink)?;
                }
            }
        }
        values.finish(report)?;
        report.samples_are(&Value::new("samples", "samples"));
        Ok(())
    }

    /// Pushes the samples of a thread one by one, with their times.
    fn samples(
        &self,
        thread: &Thread,
        start: Option<FrameId>,
        (weight_column, cpu_column): (usize, Option<usize>),
        stacks: &mut Forest,
        values: &mut Values,
        sink: &mut dyn Sink,
    ) -> Result<()> {
        let mut known: HashMap<usize, Vec<FrameId>> = HashMap::new();
        let none = stacks.len();
        let no_stack = sink.frame(NO_STACK);
        let categories = self.stack_categories(&thread.tables);
        for (sample, stack) in thread.stacks.iter().enumerate() {
            let at = stack.unwrap_or(none);
            if stack.is_some_and(|at| at >= none) {
                return Err(no_such(*stack, "stacks", none));
            }
            let frames = match known.entry(at) {
                Entry::Occupied(known) => known.into_mut(),
                Entry::Vacant(new) => {
                    let mut frames: Vec<FrameId> = start.into_iter().collect();
                    match at == none {
                        true => frames.push(no_stack),
                        false => stacks.stack(at, &mut frames)?,
                    }
                    new.insert(frames)
                }
            };
            let time = thread.times.get(sample).and_then(|time| nanoseconds(*time, "ms"));
            let category = categories.get(at).copied().flatten().and_then(|at| self.categories.get(at));
            let label = category.map(|name| (&b"category"[..], name.as_bytes()));
            let labels = label.as_slice();
            let context = Context { labels, ..thread.frame_name().context(time) };
            let weight = thread.weights.get(sample).copied().unwrap_or(Weight::ONE);
            values.add_at(weight_column, frames, weight, 1, &context, sink)?;
            if let Some(column) = cpu_column {
                let cpu = thread.cpu.get(sample).copied().unwrap_or_default();
                values.add_at(column, frames, cpu, 1, &context, sink)?;
            }
        }
        Ok(())
    }

    /// The category of each stack: that of its last frame that has one.
    fn stack_categories(&self, own: &Tables) -> Vec<Option<usize>> {
        let column = |of: fn(&Tables) -> &Vec<Option<usize>>| {
            if of(own).is_empty() { of(&self.shared) } else { of(own) }
        };
        let (frames, prefix) = (column(|t| &t.frame), column(|t| &t.prefix));
        let of_frame = column(|t| &t.category);
        let mut categories: Vec<Option<usize>> = Vec::with_capacity(frames.len());
        for (at, frame) in frames.iter().enumerate() {
            let own = frame.and_then(|frame| of_frame.get(frame).copied().flatten());
            let inherited = || categories.get(prefix.get(at).copied().flatten()?).copied().flatten();
            let category = own.or_else(inherited);
            categories.push(category);
        }
        categories
    }

    /// The stack table of a thread as nodes, or that of all threads.
    fn stacks(
        &self,
        own: &Tables,
        process: usize,
        options: &CollapseOptions,
        names: &mut FrameNames,
        sink: &mut dyn Sink,
    ) -> Result<Forest> {
        let mut frames: Vec<Option<FrameId>> = Vec::new();
        let mut forest = Forest::default();
        let column = |of: fn(&Tables) -> &Vec<Option<usize>>| {
            if of(own).is_empty() { of(&self.shared) } else { of(own) }
        };
        let columns = Columns {
            strings: if own.strings.is_empty() { &self.shared.strings } else { &own.strings },
            holds_frames: self.holds_frames,
            libs: &self.libs,
            mapped: &self.mapped[process],
            all_mapped: &self.mapped,
            symbols: self.symbols.as_ref(),
            func: column(|t| &t.func),
            location: column(|t| &t.location),
            address: column(|t| &t.address),
            line: column(|t| &t.line),
            inline_depth: column(|t| &t.inline_depth),
            name: column(|t| &t.name),
            resource: column(|t| &t.resource),
            file: column(|t| &t.file),
            lib: column(|t| &t.lib),
            category: column(|t| &t.category),
            categories: &self.categories,
        };
        let (stack_frames, prefix) = (column(|t| &t.frame), column(|t| &t.prefix));
        frames.resize(columns.func.len().max(columns.location.len()), None);
        for (at, frame) in stack_frames.iter().enumerate() {
            let Some(known) = frame.and_then(|frame| frames.get_mut(frame)) else {
                return Err(no_such(*frame, "frames", frames.len()));
            };
            let frame = frame.unwrap_or_default();
            let id = match known {
                Some(id) => *id,
                None => *known.insert(columns.frame(frame, options, names, sink)?),
            };
            forest.add(id, prefix.get(at).copied().flatten());
        }
        Ok(forest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::folded::StackTable;

    fn collapsed(text: &str, options: &CollapseOptions) -> Result<String> {
        let input = Input::new("test", Box::new(std::io::Cursor::new(text.to_owned()))).unwrap();
        assert_eq!(Firefox.detect(text.as_bytes()), Certainty::Yes);
        let mut table = StackTable::default();
        Firefox.collapse(input, &Reading::alone(options), &mut table, &mut Report::default())?;
        let mut out = Vec::new();
        table.write(&mut out)?;
        Ok(String::from_utf8(out).unwrap())
    }

    const TABLES: &str = r#""stackTable":{"length":3,"prefix":[null,0,1],"frame":[0,1,2]},
        "frameTable":{"func":[0,1,2],"address":[-1,4096,16],"inlineDepth":[0,0,1]},
        "funcTable":{"name":[0,1,2],"resource":[-1,0,-1],"fileName":[null,null,3]},"resourceTable":{"lib":[0]},
        "stringArray":["main","0x1000","f(int)","x.c"]"#;

    fn thread(name: &str, samples: &str, tables: &str) -> String {
        format!(r#"{{"name":"{name}","pid":"7.1","tid":8{tables},"samples":{{{samples}}}}}"#)
    }

    #[test]
    fn tables_are_followed_and_weights_are_exact() {
        let own = format!(",{TABLES}");
        let samples = r#""stack":[2,null,1,2],"weight":[1,2,3,null],"weightType":"samples","threadCPUDelta":[null,5,0,7.5]"#;
        let text = format!(
            r#"{{"meta":{{"preprocessedProfileVersion":55,"sampleUnits":{{"threadCPUDelta":"µs"}}}},
            "libs":[{{"name":"libc.so.6"}}],"threads":[{},{}]}}"#,
            thread("idle", r#""stack":[]"#, ""),
            thread("a", samples, &own)
        );
        assert_eq!(
            collapsed(&text, &CollapseOptions::default()).unwrap(),
            "[no stack] 2\nmain;[libc.so.6] 3\nmain;[libc.so.6];f 2\n"
        );
        let all = CollapseOptions {
            addrs: true,
            srcline: true,
            inline: true,
            tid: true,
            values: crate::collapse::ValueSelection::Named(vec![b"cpu".to_vec()]),
            ..CollapseOptions::default()
        };
        assert_eq!(
            collapsed(&text, &all).unwrap(),
            "a-7/8;[no stack] 5\na-7/8;main;[libc.so.6 <1000>];f (x.c)_[i] 7.5\n"
        );
    }

    #[test]
    fn tables_may_be_shared_by_threads() {
        let text = format!(
            r#"{{"meta":{{"preprocessedProfileVersion":58}},"libs":[{{"name":"l"}}],"threads":[{},{}],"shared":{{{TABLES}}}}}"#,
            thread("a", r#""stack":[0,1]"#, ""),
            thread("b", r#""stack":[0]"#, "")
        );
        assert_eq!(
            collapsed(&text, &CollapseOptions::default()).unwrap(),
            "a;main 1\na;main;[l] 1\nb;main 1\n"
        );
    }

    #[test]
    fn the_performance_tool_of_older_versions_has_the_profile_inside() {
        let own = format!(",{TABLES}");
        let profile = format!(
            r#"{{"meta":{{"version":11,"interval":1}},"libs":[],"threads":[{}]}}"#,
            thread("a", r#""stack":[2,1,2]"#, &own)
        );
        let text = format!(
            r#"{{"allocations":{{"sites":[],"timestamps":[],"frames":[],"sizes":[]}},"label":"","profile":{profile},"ticks":[],
            "version":1,"fileType":"Recorded Performance Data"}}"#
        );
        assert_eq!(
            collapsed(&text, &CollapseOptions::default()).unwrap(),
            collapsed(&profile, &CollapseOptions::default()).unwrap()
        );
    }

    #[test]
    fn tables_may_be_rows() {
        let rows = r#""stackTable":{"schema":{"prefix":0,"frame":1},"data":[[null,0],[0,1]]},
            "frameTable":{"schema":{"location":0,"line":1},"data":[[0],[1,7]]},"stringTable":["main","f (in l;x)"]"#;
        let samples =
            r#""schema":{"time":1,"stack":0,"responsiveness":2},"data":[[1,0.5],[0,1.25,0],[null,2]]"#;
        let thread = thread("a", samples, &format!(",{rows}"));
        let text = format!(
            r#"{{"meta":{{"version":24,"interval":1}},"libs":[],"threads":[{thread}],
               "processes":[{{"meta":{{}},"threads":[{thread}]}}]}}"#
        );
        let none = CollapseOptions { threads_as_frames: Some(false), ..CollapseOptions::default() };
        let expected = "[no stack] 2\nmain 2\nmain;f (in l:x) 2\n";
        assert_eq!(collapsed(&text, &none).unwrap(), expected);
        // Sorted keys: the columns are named behind the rows.
        let mut sorted = text;
        for schema in [
            r#""schema":{"prefix":0,"frame":1}"#,
            r#""schema":{"location":0,"line":1}"#,
            r#""schema":{"time":1,"stack":0,"responsiveness":2}"#,
        ] {
            let (_, rest) = sorted.split_once(schema).unwrap();
            let data = rest[1..].split_once("]]").unwrap().0.to_owned() + "]]";
            sorted = sorted.replace(&format!("{schema},{data}"), &format!("{data},{schema}"));
        }
        assert!(sorted.contains(r#"]],"schema""#) && !sorted.contains(r#"},"data""#));
        assert_eq!(collapsed(&sorted, &none).unwrap(), expected);
    }

    #[test]
    fn what_is_not_there_is_an_error() {
        for (from, to, message) in [
            ("\"frame\":[0,1,2]", "\"frame\":[0,1,3]", "one of the 3 frames, found \"3\""),
            ("\"func\":[0,1,2]", "\"func\":[0,1,3]", "one of the 3 functions, found \"3\""),
            ("\"name\":[0,1,2]", "\"name\":[0,1,4]", "one of the 4 strings, found \"4\""),
            ("\"prefix\":[null,0,1]", "\"prefix\":[2,0,1]", "circles"),
            ("\"prefix\":[null,0,1]", "\"prefix\":[null,0,9]", "one of 3 nodes, found \"9\""),
            ("\"stack\":[2]", "\"stack\":[3]", "one of the 3 stacks, found \"3\""),
            ("\"stack\":[2]", "\"stack\":[\"x\"]", "expected a number, found a text"),
        ] {
            let own = format!(",{TABLES}");
            let text = format!(
                r#"{{"meta":{{"preprocessedProfileVersion":55}},"threads":[{}]}}"#,
                thread("a", r#""stack":[2]"#, &own)
            );
            assert!(text.contains(from));
            let error =
                collapsed(&text.replace(from, to), &CollapseOptions::default()).unwrap_err().to_string();
            assert!(error.starts_with("test: byte ") && error.contains(message), "{error}");
        }
    }
}
