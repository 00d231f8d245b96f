//! Chrome's trace events: chrome://tracing, Node's `--trace-event-categories`, `py-spy record -f
//! chrometrace`, and whatever else writes them (seen: Node 20, py-spy 0.4).
//!
//! ```text
//! {"traceEvents": [{"ph": "B", "name": "parse", "pid": 7, "tid": 8, "ts": 103305},
//!                  {"ph": "E", "name": "parse", "pid": 7, "tid": 8, "ts": 103310},
//!                  {"ph": "X", "name": "layout", "pid": 7, "tid": 8, "ts": 103305, "dur": 3.5},
//!                  {"ph": "P", "name": "ProfileChunk", "id": "0x1", "args": {"data": {…}}, …}]}
//! ```
//! or only the array, which need not be closed. Two things in it have stacks. What begins and ends
//! on a thread (`B` and `E`, `X`) nests, and weighs the time in which nothing further began. The
//! processor profiles of V8 come in pieces (`Profile`, `ProfileChunk`), and are what counts where
//! there are any; samples of [`stack_frames`](super::stack_frames) are likewise. Everything else, such as asynchronous events, has no stack. Specified in "Trace
//! Event Format", Google, 2016.
//!
//! py-spy ends what was open on a thread when it sees another process on a thread of the same
//! number, which forked processes have, and gives the end that other process; so its events are
//! matched by their thread alone.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::cpu_profile::{Flaws, Tree};
use super::stack_frames::StackFrames;
use crate::collapse::json::{HeadKeys, Json, Kind, parse_number};
use crate::collapse::names::FrameNames;
use crate::collapse::threads::Thread;
use crate::collapse::times::{duration, lasting, nanoseconds};
use crate::collapse::trie::{PathId, Trie};
use crate::collapse::values::Values;
use crate::collapse::{Collapser, Context, ContextInfo, FormatInfo, Options, Report, Sink, Value, Verdict};
use crate::error::{Error, Result};
use crate::folded::{FrameId, Interner, sanitize_frame};
use crate::input::Input;
use crate::profile::Facts;
use crate::weight::Weight;

const INFO: FormatInfo = FormatInfo {
    name: "chrome-trace",
    producer: "Chrome, Node, React Native's Hermes, py-spy -f chrometrace: trace events",
    tested: "Node 20, py-spy 0.4.3; Hermes by its source",
    values: "cpu-profile or samples if there are any, events",
    unit: "us, samples, us",
};

/// Collapses trace events.
pub struct Trace;

impl Collapser for Trace {
    fn info(&self) -> &'static FormatInfo {
        &INFO
    }

    fn contexts(&self) -> ContextInfo {
        ContextInfo {
            times: "events, samples",
            clock: Some("monotonic"),
            labels: "thread, tid, process, category",
        }
    }

    fn detect(&self, head: &[u8]) -> Verdict {
        let Some(keys) = HeadKeys::read(head) else { return Verdict::No };
        let is_trace = keys.has("traceEvents") || keys.has_all(&["stackFrames", "samples"]);
        if is_trace || (keys.array && keys.has("ph")) { Verdict::Yes } else { Verdict::No }
    }

    fn collapse(
        &self,
        input: Input,
        options: &Options,
        sink: &mut dyn Sink,
        report: &mut Report,
    ) -> Result<()> {
        let mut json = Json::new(input);
        let mut events = Events::default();
        if json.peek()? == Kind::Array {
            events.read(&mut json, sink)?;
        } else {
            let mut key = String::new();
            json.begin_object()?;
            while json.next_key(&mut key)? {
                match key.as_str() {
                    "traceEvents" => events.read(&mut json, sink)?,
                    "stackFrames" if json.peek()? == Kind::Object => {
                        events.stack_frames.frames(&mut json, &mut events.names, sink)?;
                    }
                    "samples" if json.peek()? == Kind::Array => events.stack_frames.samples(&mut json)?,
                    "metadata" | "otherData" if json.peek()? == Kind::Object => {
                        metadata(&mut json, &mut report.facts)?
                    }
                    _ => json.skip()?,
                }
            }
        }
        json.end(report);
        events.collapse(options, sink, report).map_err(|e| e.or_at(|| json.place()))
    }
}

/// Notes what Chrome says of itself and of the machine.
fn metadata(json: &mut Json, facts: &mut Facts) -> Result<()> {
    let (mut key, mut system) = (String::new(), [String::new(), String::new(), String::new()]);
    json.begin_object()?;
    while json.next_key(&mut key)? {
        if json.peek()? != Kind::Text {
            json.skip()?;
            continue;
        }
        let text = json.text()?;
        match key.as_str() {
            "command_line" => facts.set_command(text),
            "product-version" => facts.producer = crate::profile::fact(text.as_bytes()),
            "startTime" => facts.start = humantime::parse_rfc3339(text).ok(),
            "os-name" => system[0] = text.to_owned(),
            "os-version" => system[1] = text.to_owned(),
            "os-arch" => system[2] = text.to_owned(),
            _ => {}
        }
    }
    facts.system = crate::profile::fact(system.join(" ").trim().as_bytes()).or(facts.system.take());
    Ok(())
}

/// A number, which Hermes writes as a text.
///
/// # Errors
/// Anything else.
pub(super) fn number(json: &mut Json) -> Result<Weight> {
    if json.peek()? == Kind::Number {
        return json.weight();
    }
    let text = json.text()?;
    match parse_number(text) {
        Some(number) => Ok(number),
        None => {
            let found = Error::malformed("a number", text.as_bytes());
            Err(found.at(json.place()))
        }
    }
}

/// Process and thread, as numbers or whatever else a writer calls them.
pub(super) type ThreadKey = (String, String);

#[derive(Default)]
struct Events {
    threads: BTreeMap<ThreadKey, Spans>,
    /// By process and id: the pieces of the profiles, with their times.
    pieces: BTreeMap<(String, String), Vec<TimedPiece>>,
    process_names: BTreeMap<String, String>,
    /// The process that was seen first on each thread of py-spy's.
    py_spy: HashMap<String, String>,
    thread_names: BTreeMap<ThreadKey, String>,
    /// Samples that name their frames by number.
    stack_frames: StackFrames,
    /// The number of events that have no stack.
    without_stack: u64,
    /// The first beginning and the last end.
    first: Option<Weight>,
    last: Option<Weight>,
    names: FrameNames,
    categories: Interner,
}

/// A piece, and the time of its event.
type TimedPiece = (Option<Weight>, Piece);

/// A piece of a processor profile of V8's.
enum Piece {
    /// A profile of a thread begins, at a time in microseconds.
    Start(ThreadKey, Option<Weight>),
    /// Nodes and samples of the profile that has begun before.
    Chunk(Box<Tree>),
}

/// A processor profile, and the thread that it is of.
#[derive(Default)]
struct ThreadProfile {
    thread: Option<ThreadKey>,
    tree: Tree,
}

/// Beginnings and ends on one thread, in the order of the file.
#[derive(Default)]
struct Spans {
    /// Beginnings and ends, yet to be matched; an end may not name what it ends.
    marks: Vec<(Weight, Mark)>,
    /// Frames, when they begin and when they end, and the numbers of their categories.
    whole: Vec<(Weight, Weight, FrameId, u32)>,
}

#[derive(Clone, Copy)]
enum Mark {
    /// The frame, the event's name, by which an end is told, and the number of its category.
    Begin(FrameId, FrameId, u32),
    End(Option<FrameId>),
}

/// One event as it stands there.
#[derive(Default)]
struct Event {
    phase: String,
    name: String,
    category: String,
    process: String,
    thread: String,
    id: String,
    at: Option<Weight>,
    duration: Option<Weight>,
    /// `args.name` of metadata; `args.filename` and `args.line` of py-spy's frames.
    label: String,
    file: String,
    line: Option<u64>,
    /// A piece of a profile, which may come before the event says whose it is.
    piece: Option<Tree>,
}

impl Events {
    fn read(&mut self, json: &mut Json, sink: &mut dyn Sink) -> Result<()> {
        let mut event = Event::default();
        json.begin_array()?;
        while json.next_item_or_end()? {
            if !json.null()? {
                event.clear();
                self.event(json, &mut event, sink)?;
            }
        }
        Ok(())
    }

    fn event(&mut self, json: &mut Json, event: &mut Event, sink: &mut dyn Sink) -> Result<()> {
        let mut key = String::new();
        json.begin_object()?;
        while json.next_key(&mut key)? {
            match key.as_str() {
                "ph" => event.phase.push_str(json.text()?),
                "name" => event.name.push_str(json.text_or_number()?),
                "cat" if json.peek()? == Kind::Text => event.category.push_str(json.text()?),
                "pid" => event.process.push_str(json.text_or_number()?),
                "tid" => event.thread.push_str(json.text_or_number()?),
                "id" if matches!(json.peek()?, Kind::Text | Kind::Number) => {
                    event.id.push_str(json.text_or_number()?)
                }
                "ts" => event.at = Some(number(json)?),
                "dur" => event.duration = Some(number(json)?),
                "args" if json.peek()? == Kind::Object => Events::arguments(json, event, sink)?,
                _ => json.skip()?,
            }
        }
        if event.category == "py-spy" {
            let first = self.py_spy.entry(event.thread.clone()).or_insert_with(|| event.process.clone());
            event.process.clone_from(first);
        }
        if let (Some(at), "B" | "E" | "X") = (event.at, event.phase.as_str()) {
            self.first = Some(self.first.map_or(at, |first| first.min(at)));
            self.last = self.last.max(Some(at));
        }
        let thread = || (event.process.clone(), event.thread.clone());
        match (event.phase.as_str(), event.at) {
            ("B", Some(at)) => {
                let frame = event.frame(&mut self.names, sink);
                let name = self.names.plain(event.name.as_bytes(), sink);
                let category = self.categories.key(event.category.as_bytes());
                self.threads
                    .entry(thread())
                    .or_default()
                    .marks
                    .push((at, Mark::Begin(frame, name, category)));
            }
            ("E", Some(at)) => {
                let named = !event.name.is_empty();
                let name = named.then(|| self.names.plain(event.name.as_bytes(), sink));
                self.threads.entry(thread()).or_default().marks.push((at, Mark::End(name)));
            }
            ("X", Some(at)) => {
                let frame = event.frame(&mut self.names, sink);
                let duration = event.duration.filter(|duration| !duration.is_negative());
                let end = at.checked_add(duration.unwrap_or_default())?;
                self.last = self.last.max(Some(end));
                let category = self.categories.key(event.category.as_bytes());
                self.threads.entry(thread()).or_default().whole.push((at, end, frame, category));
            }
            ("M", _) if event.name == "process_name" => {
                self.process_names.insert(event.process.clone(), event.label.clone());
            }
            ("M", _) if event.name == "thread_name" => {
                self.thread_names.insert(thread(), event.label.clone());
            }
            ("P", _) if event.name == "Profile" => {
                let stated = event.piece.take().and_then(|piece| piece.start);
                self.piece(event, Piece::Start(thread(), stated.or(event.at)));
            }
            ("P", _) if event.name == "ProfileChunk" => {
                if let Some(chunk) = event.piece.take() {
                    self.piece(event, Piece::Chunk(Box::new(chunk)));
                }
            }
            ("M", _) => {}
            _ => self.without_stack += 1,
        }
        Ok(())
    }

    fn piece(&mut self, event: &Event, piece: Piece) {
        let pieces = self.pieces.entry((event.process.clone(), event.id.clone())).or_default();
        pieces.push((event.at, piece));
    }

    /// Puts the profiles together. Chrome writes their pieces as threads come to it, so that they are in the
    /// order of time only once they are sorted.
    fn profiles(&mut self) -> Vec<ThreadProfile> {
        let mut profiles = Vec::new();
        for mut pieces in std::mem::take(&mut self.pieces).into_values() {
            pieces.sort_by_key(|(at, _)| *at);
            let mut profile = ThreadProfile::default();
            for (_, piece) in pieces {
                match piece {
                    Piece::Start(thread, start) => {
                        if profile.thread.is_some() {
                            profiles.push(std::mem::take(&mut profile));
                        }
                        profile.thread = Some(thread);
                        profile.tree.start = start;
                    }
                    Piece::Chunk(chunk) => profile.tree.absorb(*chunk),
                }
            }
            profiles.push(profile);
        }
        profiles.retain(|profile| !profile.tree.is_empty());
        profiles
    }

    /// Reads the parts of `args` that are used.
    fn arguments(json: &mut Json, event: &mut Event, sink: &mut dyn Sink) -> Result<()> {
        let mut key = String::new();
        json.begin_object()?;
        while json.next_key(&mut key)? {
            match (key.as_str(), json.peek()?) {
                ("name", Kind::Text) => event.label.push_str(json.text()?),
                ("filename", Kind::Text) => event.file.push_str(json.text()?),
                ("line", Kind::Number) => event.line = json.index()?.map(|line| line as u64),
                ("data", Kind::Object) => {
                    json.begin_object()?;
                    while json.next_key(&mut key)? {
                        match (key.as_str(), json.peek()?) {
                            ("cpuProfile", Kind::Object) => {
                                let tree = event.piece.get_or_insert_default();
                                json.begin_object()?;
                                while json.next_key(&mut key)? {
                                    match key.as_str() {
                                        "nodes" => tree.nodes(json, sink)?,
                                        "samples" => tree.samples(json)?,
                                        _ => json.skip()?,
                                    }
                                }
                            }
                            ("timeDeltas", Kind::Array) => {
                                event.piece.get_or_insert_default().deltas(json)?
                            }
                            ("startTime", Kind::Number) => {
                                event.piece.get_or_insert_default().start = Some(json.weight()?)
                            }
                            ("endTime", Kind::Number) => {
                                event.piece.get_or_insert_default().end = Some(json.weight()?)
                            }
                            _ => json.skip()?,
                        }
                    }
                }
                _ => json.skip()?,
            }
        }
        Ok(())
    }

    fn collapse(&mut self, options: &Options, sink: &mut dyn Sink, report: &mut Report) -> Result<()> {
        let profiles = self.profiles();
        let timed = profiles.iter().any(|profile| profile.tree.is_timed());
        let profile = Value::new("cpu-profile", if timed { "us" } else { "samples" });
        let events = Value::new("events", "us");
        let frames = std::mem::take(&mut self.stack_frames);
        let mut declared: Vec<Value> = (!profiles.is_empty()).then_some(profile).into_iter().collect();
        let samples_column = declared.len();
        declared.extend((!frames.is_empty()).then(|| Value::new("samples", "samples")));
        if declared.is_empty() || !self.threads.is_empty() {
            declared.push(events);
        }
        let events_column = declared.len() - 1;
        let mut values = Values::new(options, declared, 0)?;
        let sampled: BTreeSet<ThreadKey> = frames.threads().cloned().collect();
        let several = self.threads.len() > 1 || profiles.len() > 1 || sampled.len() > 1;
        frames.for_each(sink, report, |key, time, frames, weight, sink| {
            let mut stack: Vec<FrameId> = self.start(key, several, options, sink).into_iter().collect();
            stack.extend_from_slice(frames);
            let context = self.thread(key).context(time);
            values.add_at(samples_column, &stack, weight, 1, &context, sink)
        })?;
        let threads = std::mem::take(&mut self.threads);
        let mut flaws = Flaws::default();
        for ThreadProfile { thread, mut tree } in profiles {
            let start = thread.as_ref().and_then(|thread| self.start(thread, several, options, sink));
            let no_thread = (String::new(), String::new());
            let key = thread.as_ref().unwrap_or(&no_thread);
            tree.collapse(start, &self.thread(key).context(None), &mut values, sink)?;
            flaws.merge(&tree.flaws)?;
        }
        flaws.note(report);
        let mut unmatched = 0;
        let contexts = sink.wants().contexts;
        if let (Some(first), Some(last)) = (self.first, self.last) {
            report.facts.duration = last.checked_sub(first).ok().and_then(|passed| duration(passed, "us"));
        }
        for (thread, spans) in threads {
            let start = self.start(&thread, several, options, sink);
            let mut stacks = Trie::new(contexts);
            unmatched += spans.collapse(&mut stacks)?;
            let owner = self.thread(&thread);
            stacks.for_each(
                start,
                |frame| Ok(FrameId(frame)),
                |stack, sampled| {
                    let mut context = Context::UNKNOWN;
                    let category = if contexts { self.categories.name(sampled.origin) } else { &b""[..] };
                    let label = [(&b"category"[..], category)];
                    if contexts {
                        context = owner.context(sampled.time);
                        context.labels = if category.is_empty() { &[] } else { &label };
                    }
                    let context = (&context, sampled.duration);
                    values.add_lasting(events_column, stack, sampled.weight, sampled.samples, context, sink)
                },
            )?;
        }
        if unmatched > 0 {
            report.warn(format!("{unmatched} events end that have not begun; they are left out"));
        }
        if self.without_stack > 0 {
            report.note(format!(
                "{} events have no stack (asynchronous ones, counters, instants, …); they are left out",
                self.without_stack
            ));
        }
        values.finish(report)
    }

    /// The frame of a thread: where there are several, those that the trace names.
    fn start(
        &mut self,
        key: &ThreadKey,
        several: bool,
        options: &Options,
        sink: &mut dyn Sink,
    ) -> Option<FrameId> {
        let own = self.thread_names.get(key).is_some_and(|name| !name.is_empty());
        if !options.shows_threads(several && own) {
            return None;
        }
        let mut name = Vec::new();
        self.thread(key).write(options, &mut name);
        Some(sink.frame(&name))
    }

    /// The thread of a key, by its own name or that of its process.
    fn thread<'a>(&'a self, key: &'a ThreadKey) -> Thread<'a> {
        let (process, thread) = key;
        let own = self.thread_names.get(key).filter(|name| !name.is_empty());
        let name = own.or_else(|| self.process_names.get(process)).map_or("", String::as_str);
        Thread { name: name.as_bytes(), pid: process.as_bytes(), tid: thread.as_bytes() }
    }
}

impl Event {
    fn clear(&mut self) {
        for text in [
            &mut self.phase,
            &mut self.name,
            &mut self.category,
            &mut self.process,
            &mut self.thread,
            &mut self.id,
            &mut self.label,
            &mut self.file,
        ] {
            text.clear();
        }
        (self.at, self.duration, self.line, self.piece) = (None, None, None, None);
    }

    fn frame(&self, names: &mut FrameNames, sink: &mut dyn Sink) -> FrameId {
        if self.file.is_empty() {
            names.build(sink, |out| sanitize_frame(self.name.as_bytes(), out))
        } else {
            names.located(self.name.as_bytes(), self.file.as_bytes(), self.line, sink)
        }
    }
}

impl Spans {
    /// Adds to each path the time in which exactly its spans were open, and returns the number of
    /// ends without a beginning.
    fn collapse(mut self, stacks: &mut Trie) -> Result<u64> {
        let unmatched = self.match_ends();
        // If spans begin at the same time, the one that ends last is outermost.
        self.whole.sort_by(|a, b| a.0.cmp(&b.0).then(b.1.cmp(&a.1)));
        let mut path = Trie::ROOT;
        let mut ends: Vec<(Weight, u32)> = Vec::new();
        let mut since = Weight::ZERO;
        for (begin, end, frame, category) in self.whole {
            close(&mut path, &mut ends, &mut since, Some(begin), stacks)?;
            if let Some((_, outer)) = ends.last() {
                add(stacks, path, since, begin, *outer)?;
            }
            since = begin;
            path = stacks.below(path, frame.0);
            // A span that outlasts the span around it is cut.
            ends.push((ends.last().map_or(end, |(outer, _)| end.min(*outer)), category));
        }
        close(&mut path, &mut ends, &mut since, None, stacks)?;
        Ok(unmatched)
    }

    /// Makes whole spans of beginnings and ends, and returns the number of ends without a beginning.
    /// A span that is never ended ends with the thread.
    fn match_ends(&mut self) -> u64 {
        self.marks.sort_by_key(|mark| mark.0);
        let last = self.marks.iter().map(|mark| mark.0).chain(self.whole.iter().map(|span| span.1)).max();
        let mut open: Vec<(usize, FrameId)> = Vec::new();
        // The number of open spans of each name: a name without any need not be looked for.
        let mut names: HashMap<FrameId, usize> = HashMap::new();
        let mut unmatched = 0;
        let first = self.whole.len();
        for (at, mark) in std::mem::take(&mut self.marks) {
            match mark {
                Mark::Begin(frame, name, category) => {
                    *names.entry(name).or_default() += 1;
                    open.push((self.whole.len(), name));
                    self.whole.push((at, last.unwrap_or(at), frame, category));
                }
                Mark::End(name) => {
                    let is_open = name.is_none_or(|name| names.get(&name).is_some_and(|count| *count > 0));
                    let is_it = |begun: FrameId| name.is_none_or(|name| name == begun);
                    let found =
                        if is_open { open.iter().rposition(|(_, begun)| is_it(*begun)) } else { None };
                    let Some(depth) = found else {
                        unmatched += 1;
                        continue;
                    };
                    for (span, name) in open.drain(depth..) {
                        self.whole[span].1 = at;
                        names.entry(name).and_modify(|count| *count -= 1);
                    }
                }
            }
        }
        // In the order of the file a beginning stands before what is within it, a whole span behind.
        self.whole.rotate_left(first);
        unmatched
    }
}

/// Adds the microseconds from one time to another to a path.
fn add(stacks: &mut Trie, path: PathId, since: Weight, until: Weight, category: u32) -> Result<()> {
    let lasts = lasting(since, until, "us");
    stacks.add_lasting(path, until.checked_sub(since)?, nanoseconds(since, "us"), lasts, category)
}

/// Ends what ends by `until`, or all, and gives each its time.
fn close(
    path: &mut PathId,
    ends: &mut Vec<(Weight, u32)>,
    since: &mut Weight,
    until: Option<Weight>,
    stacks: &mut Trie,
) -> Result<()> {
    while let Some(&(end, category)) = ends.last()
        && until.is_none_or(|until| end <= until)
    {
        add(stacks, *path, *since, end, category)?;
        *since = end;
        ends.pop();
        *path = stacks.above(*path).map_or(Trie::ROOT, |(above, _)| above);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::folded::StackTable;

    fn collapsed(events: &str, options: &Options) -> (String, Vec<String>) {
        let text = format!("[{events}");
        let input = Input::new("test", Box::new(std::io::Cursor::new(text.clone()))).unwrap();
        assert_eq!(Trace.detect(text.as_bytes()), Verdict::Yes);
        let (mut table, mut report) = (StackTable::default(), Report::default());
        Trace.collapse(input, options, &mut table, &mut report).unwrap();
        let mut out = Vec::new();
        table.write(&mut out).unwrap();
        (String::from_utf8(out).unwrap(), report.notes)
    }

    fn event(phase: &str, name: &str, at: &str, more: &str) -> String {
        format!(r#"{{"ph":"{phase}","name":"{name}","pid":1,"tid":2,"ts":{at}{more}}},"#)
    }

    #[test]
    fn time_is_that_of_what_was_begun_last() {
        let events = [
            // Not in the order of time.
            event("X", "c", "4", r#","dur":2.5"#),
            event("B", "a", "0", ""),
            event("B", "b;", "1", r#","args":{"filename":"x.py","line":3}"#),
            event("E", "b;", "3", ""),
            event("E", "", "10", ""),
            event("X", "d", "10", r#","dur":1"#),
            event("X", "e", "10", r#","dur":1"#),
            event("i", "instant", "11", ""),
            event("E", "never begun", "12", ""),
            event("B", "never ended", "13", ""),
            event("X", "f", "14", r#","dur":9"#),
        ];
        let (out, notes) = collapsed(&events.concat(), &Options::default());
        assert_eq!(out, "a 5.5\na;b: (x.py:3) 2\na;c 2.5\nd;e 1\nnever ended 1\nnever ended;f 9\n");
        assert_eq!(notes.len(), 2, "{notes:?}");
        assert!(notes[0].starts_with("1 events end") && notes[1].starts_with("1 events have no stack"));
    }

    #[test]
    fn what_nests_badly_loses_no_time_of_what_it_is_in() {
        let events = [event("X", "a", "0", r#","dur":10"#), event("X", "b", "5", r#","dur":10"#)];
        assert_eq!(collapsed(&events.concat(), &Options::default()).0, "a 5\na;b 5\n");
    }

    #[test]
    fn threads_that_are_named_are_frames() {
        let name = |tid: u32, name: &str| {
            format!(r#"{{"ph":"M","name":"thread_name","pid":1,"tid":{tid},"args":{{"name":"{name}"}}}},"#)
        };
        let span = |tid: u32| format!(r#"{{"ph":"X","name":"f","pid":1,"tid":{tid},"ts":1,"dur":2}},"#);
        let text = [name(1, "main"), span(1), span(2), name(2, "")].concat();
        assert_eq!(collapsed(&text, &Options::default()).0, "f 2\nmain;f 2\n");
        let tid = Options { tid: true, ..Options::default() };
        assert_eq!(collapsed(&text, &tid).0, "[unnamed]-1/2;f 2\nmain-1/1;f 2\n");
        assert_eq!(collapsed(&[name(1, "main"), span(1)].concat(), &Options::default()).0, "f 2\n");
    }

    #[test]
    fn a_profile_in_pieces_is_what_counts() {
        let node = |id: u32, name: &str, parent: &str| {
            format!(
                r#"{{"id":{id},"callFrame":{{"functionName":"{name}","url":"","lineNumber":-1}}{parent}}}"#
            )
        };
        let piece = |at: u32, nodes: &str, samples: &str, deltas: &str| {
            format!(
                r#"{{"args":{{"data":{{"cpuProfile":{{"nodes":[{nodes}],"samples":[{samples}]}},"timeDeltas":[{deltas}]}}}},"ph":"P","name":"ProfileChunk","pid":1,"tid":9,"id":"0x1","ts":{at}}},"#
            )
        };
        let first = piece(1, &[node(1, "(root)", ""), node(2, "f", r#","parent":1"#)].join(","), "2", "5");
        let second = piece(2, &node(3, "g", r#","parent":2"#), "3,1", "7,1");
        let end = r#"{"args":{"data":{"endTime":20}},"ph":"P","name":"ProfileChunk","pid":1,"tid":9,"id":"0x1","ts":3},"#;
        let profile = event("P", "Profile", "0", r#","id":"0x1""#);
        let other = event("X", "other", "1", r#","dur":100"#);
        // As Chrome writes the pieces: in any order.
        for text in [
            [&profile[..], &first, &second, end, &other],
            [end, &second, &other, &first, &profile],
            [&second, &profile, end, &first, &other],
        ] {
            let (folded, notes) = collapsed(&text.concat(), &Options::default());
            assert_eq!((folded.as_str(), notes.len()), ("(root) 7\nf 7\nf;g 1\n", 0), "{notes:?}");
        }
        let text = [&profile[..], &first, &second, end, &other];
        let events = Options {
            values: crate::collapse::ValueSelection::Named(vec![b"events".to_vec()]),
            ..Options::default()
        };
        assert_eq!(collapsed(&text.concat(), &events).0, "other 100\n");
        // The piece with the nodes of the others is lost.
        let (folded, notes) = collapsed(&[&profile[..], &second, end].concat(), &Options::default());
        assert_eq!(folded, "g 1\n");
        assert_eq!(
            notes,
            [
                "1 samples (12 us) are of nodes that do not exist; they are left out",
                "1 nodes name a parent or child that does not exist"
            ]
        );
        // Another profile of the same number begins: its nodes are its own.
        let again = event("P", "Profile", "30", r#","id":"0x1""#);
        let third = piece(31, &node(2, "h", ""), "2,2", "1,4");
        let (folded, notes) =
            collapsed(&[&profile[..], &first, &second, end, &again, &third].concat(), &Options::default());
        assert_eq!((folded.as_str(), notes.len()), ("(root) 7\nf 7\nf;g 1\nh 4\n", 0), "{notes:?}");
    }
}
