//! `firefox`: the processed profile format of <https://profiler.firefox.com>, version 55, as the
//! crate fxprof-processed-profile writes it for samply.
//!
//! That crate holds weights in 32 bits, which nanoseconds and bytes outgrow; so the tables are
//! written here, and compared with the crate's in the tests. Samples stand at their times and
//! in their threads where the recording says; folded text does not say when a stack was
//! seen: those stand a millisecond apart, in frame order. The viewer knows milliseconds, bytes and samples:
//! weights in any unit of time or memory are written in the first two, all others as they are, as samples. The facts stand in `meta`; a frame
//! has its file, line and module, and is of the category User, Kernel or JIT, where that is known. Memory holds four bytes for
//! each frame of the call tree twice, and each name once; names that are not UTF-8 lose the bytes
//! that are not, and differential input its weights before.

use std::collections::HashMap;
use std::fmt::Display;
use std::time::SystemTime;

use serde_json::json;

use super::format::takes;
use super::label::annotation;
use super::path::Path;
use super::shown_places::ShownPlaces;
use super::writer::{Finished, Target, Writer};
use super::{Format, Settings};
use crate::error::Result;
use crate::folded::{Frame, Interner, Kind, Place, Visitor, WalkSummary, Weights};
use crate::json_text::{self, string};
use crate::profile::TimeLine;
use crate::profile::units::in_smallest;
use crate::tally::thread_of;
use crate::weight::Weight;

/// The format.
pub const FORMAT: Format = Format {
    name: "firefox",
    endings: &["firefox.json", "firefox"],
    about: "for profiler.firefox.com",
    takes: &[takes::TITLE, takes::UNIT, takes::PER_THREAD, takes::TIME],
    streams: false,
    open: |settings, target| Ok(Box::new(Firefox::new(settings, target))),
};

struct Firefox<'a> {
    settings: &'a Settings,
    target: &'a mut dyn Target,
    path: Path,
    /// The row of each open frame in the stack table of the current thread, once it has one.
    rows: Vec<Option<u32>>,
    /// The names of threads, and what they did.
    names: Interner,
    threads: Vec<Thread>,
    /// The samples come with their times, after the walk.
    is_timed: bool,
}

#[derive(Default)]
struct Thread {
    /// Its frame table: the numbers of its names, and the row of each number.
    frames: Vec<u32>,
    frame_rows: HashMap<u32, u32>,
    /// The rows of its stack table, callers first: the caller's row, and that of the frame.
    stacks: Vec<(Option<u32>, u32)>,
    samples: Vec<(Option<u32>, Weight)>,
    /// The time of each sample, in nanoseconds from the start; empty where it is not known.
    times: Vec<u64>,
    /// Process and thread, where they are known.
    process: Option<u64>,
    thread: Option<u64>,
}

impl Thread {
    /// A new row of the stack table: a frame below another row.
    fn stack_row(&mut self, caller: Option<u32>, frame: u32) -> u32 {
        let next = self.frames.len() as u32;
        let frame_row = *self.frame_rows.entry(frame).or_insert(next);
        if frame_row == next {
            self.frames.push(frame);
        }
        self.stacks.push((caller, frame_row));
        self.stacks.len() as u32 - 1
    }

    /// The milliseconds from each sample to the one before.
    fn deltas(&self) -> impl Iterator<Item = String> + '_ {
        let known = !self.times.is_empty();
        (0..self.samples.len()).map(move |n| match (known, n) {
            (true, 0) => millis(self.times[0]),
            (true, n) => millis(self.times[n] - self.times[n - 1]),
            (false, 0) => "0".to_owned(),
            (false, _) => "1".to_owned(),
        })
    }

    /// Its last millisecond.
    fn end(&self) -> u64 {
        self.times.last().map_or(self.samples.len() as u64, |last| last / 1_000_000 + 1)
    }
}

/// Nanoseconds in milliseconds, with all their digits.
fn millis(nanos: u64) -> String {
    Weight::from_steps(nanos, 6).map_or_else(|_| "0".to_owned(), |weight| weight.to_string())
}

impl<'a> Firefox<'a> {
    fn new(settings: &'a Settings, target: &'a mut dyn Target) -> Self {
        let (path, rows) = (Path::default(), Vec::new());
        Firefox {
            settings,
            target,
            path,
            rows,
            names: Interner::default(),
            threads: Vec::new(),
            is_timed: false,
        }
    }
}

impl Visitor for Firefox<'_> {
    fn follows_stacks(&self) -> bool {
        true
    }

    fn enter(&mut self, name: &[u8], _: usize) -> Result<()> {
        self.path.enter(name);
        self.rows.push(None);
        Ok(())
    }

    fn stack(&mut self, stack: &[u8], weights: Weights) -> Result<()> {
        if weights.value.is_zero() || self.is_timed {
            return Ok(());
        }
        let (name, above) = match self.settings.per_thread {
            true => {
                let thread = thread_of(stack);
                (thread, 1 + memchr::memchr_iter(b';', thread).count())
            }
            false => (self.settings.picture.title.as_deref().unwrap_or("all").as_bytes(), 0),
        };
        let at = self.names.key(name) as usize;
        if at == self.threads.len() {
            self.threads.push(Thread::default());
        }
        let thread = &mut self.threads[at];
        let mut last = None;
        for (row, &frame) in self.rows.iter_mut().zip(&self.path.open).skip(above) {
            let row = row.get_or_insert_with(|| thread.stack_row(last, frame));
            last = Some(*row);
        }
        thread.samples.push((last, self.settings.shown(weights.value)?));
        Ok(())
    }

    fn exit(&mut self, _: Frame<'_>, _: Weights) -> Result<()> {
        self.path.exit();
        self.rows.pop();
        Ok(())
    }

    fn restart(&mut self) -> Result<()> {
        self.path = Path::default();
        self.rows.clear();
        self.names = Interner::default();
        self.threads.clear();
        Ok(())
    }
}

impl Writer for Firefox<'_> {
    fn wants_times(&self) -> bool {
        // First frames as threads were asked for.
        !self.settings.per_thread
    }

    fn expect_times(&mut self) {
        self.is_timed = !self.settings.per_thread;
    }

    fn times(&mut self, line: &TimeLine<'_>) -> Result<()> {
        let profile = line.profile();
        let mut ids = Vec::new();
        for timed in &line.threads {
            let at = self.names.key(&timed.label) as usize;
            self.threads.resize_with(self.threads.len().max(at + 1), Thread::default);
            let thread = &mut self.threads[at];
            (thread.process, thread.thread) = (timed.process, timed.thread);
            // The row of each stack, and of each frame below a row.
            let mut rows: HashMap<usize, Option<u32>> = HashMap::new();
            let mut below: HashMap<(Option<u32>, u32), u32> = HashMap::new();
            for sample in line.samples(timed).filter(|sample| !sample.weight.is_zero()) {
                let row = *rows.entry(sample.stack).or_insert_with(|| {
                    ids.clear();
                    let stack = profile.stack(sample.stack).iter();
                    ids.extend(stack.map(|&frame| self.path.names.key(profile.stacks().name(frame))));
                    ids.iter().fold(None, |last, &frame| {
                        Some(*below.entry((last, frame)).or_insert_with(|| thread.stack_row(last, frame)))
                    })
                });
                thread.samples.push((row, self.settings.shown(sample.weight)?));
                thread.times.push(sample.time - line.start);
            }
        }
        Ok(())
    }

    fn finish(self: Box<Self>, summary: &WalkSummary) -> Result<Finished> {
        let Firefox { settings, target, path, names, mut threads, .. } = *self;
        let (weight_type, size) = weight_type(settings.unit(summary))?;
        if size != Weight::ONE {
            for (_, weight) in threads.iter_mut().flat_map(|thread| &mut thread.samples) {
                *weight = weight.checked_mul(size)?;
            }
        }
        let places = ShownPlaces::new(settings, &summary.places);
        let longest = threads.iter().map(Thread::end).max().unwrap_or(0);
        let mut text = Vec::new();
        json_text::write(&meta(settings, summary)?, &mut text)?;
        target.write_all(b"{\"meta\": ")?;
        target.write_all(&text)?;
        target.write_all(b",\n")?;
        writeln!(target, "\"libs\": [], \"pages\": [], \"profilerOverhead\": [], \"counters\": [],")?;
        write!(target, "\"threads\": [")?;
        for (n, (name, thread)) in names.all().zip(&threads).enumerate() {
            writeln!(target, "{}", if n > 0 { "," } else { "" })?;
            let about = About { number: n, name, longest, weight_type };
            write_thread(&about, thread, &path.names, &places, target)?;
        }
        writeln!(target, "]}}")?;
        Ok(Finished::default())
    }
}

/// The viewer's name for weights of a unit, and the number of its own units in one of these.
fn weight_type(unit: Option<&str>) -> Result<(&'static str, Weight)> {
    Ok(match unit.and_then(in_smallest) {
        Some(("ns", size)) => ("tracing-ms", size.checked_mul(Weight::from_steps(1, 6)?)?),
        Some((_, size)) => ("bytes", size),
        None => ("samples", Weight::ONE),
    })
}

/// The categories of frames, by [`category`], and their colours.
const CATEGORIES: &[(&str, &str)] =
    &[("Other", "grey"), ("User", "yellow"), ("Kernel", "orange"), ("JIT", "blue")];

/// The number of a frame's category.
fn category(name: &[u8], place: Option<&Place<'_>>) -> usize {
    match (place.map(|place| place.kind).unwrap_or_default(), annotation(name)) {
        (Kind::Kernel, _) | (_, Some(b'k')) => 2,
        (Kind::Jit, _) | (_, Some(b'j')) => 3,
        (Kind::User, _) => 1,
        (Kind::Unknown, _) => 0,
    }
}

fn meta(settings: &Settings, summary: &WalkSummary) -> Result<serde_json::Value> {
    let facts = &summary.facts;
    let title = settings.picture.title.clone().or_else(|| facts.title());
    let categories: Vec<serde_json::Value> = CATEGORIES
        .iter()
        .map(|(name, color)| json!({ "name": name, "color": color, "subcategories": ["Other"] }))
        .collect();
    let millis = |time: SystemTime| time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let entry = |label: &str, value: &str| json!({ "label": label, "format": "string", "value": value });
    let mut entries: Vec<serde_json::Value> =
        facts.details().iter().map(|(label, value)| entry(label, value)).collect();
    entries.extend(facts.warnings.iter().map(|warning| entry("warning", warning)));
    // The number after a sample's is its place in the file: its time is not known.
    let interval = facts.rate.filter(|rate| *rate > 0).map_or(1.0, |rate| 1000.0 / rate as f64);
    Ok(json!({
        "categories": categories,
        "debug": false,
        "extensions": { "length": 0, "baseURL": [], "id": [], "name": [] },
        "interval": interval,
        "preprocessedProfileVersion": 55,
        "processType": 0,
        "product": title.as_deref().unwrap_or("all"),
        "importedFrom": "fg-render",
        "extra": [{ "label": "Recording", "entries": entries }],
        "startTime": facts.start.map_or(0.0, |start| millis(start).as_millis() as f64),
        "symbolicated": true,
        "pausedRanges": [],
        "version": 24,
        "usesOnlyOneStackType": true,
        "sourceCodeIsNotOnSearchfox": true,
        "markerSchema": [],
    }))
}

/// The properties of a thread besides its tables.
struct About<'a> {
    number: usize,
    name: &'a [u8],
    /// The length of the profile in milliseconds.
    longest: u64,
    weight_type: &'static str,
}

fn write_thread(
    about: &About<'_>,
    thread: &Thread,
    names: &Interner,
    places: &ShownPlaces<'_>,
    target: &mut dyn Target,
) -> Result<()> {
    let mut name = Vec::new();
    string(about.name, &mut name)?;
    target.write_all(b"{\"name\": ")?;
    target.write_all(&name)?;
    target.write_all(b", \"processName\": ")?;
    target.write_all(&name)?;
    let number = about.number as u64 + 1;
    writeln!(
        target,
        ", \"isMainThread\": {}, \"pid\": \"{process}\", \"tid\": {tid}, \"processType\": \"default\", \
         \"registerTime\": 0.0, \"unregisterTime\": {longest}.0, \"processStartupTime\": 0.0, \
         \"processShutdownTime\": {longest}.0, \"pausedRanges\": [], \"showMarkersInTimeline\": false,",
        about.number == 0 || (thread.thread.is_some() && thread.thread == thread.process),
        process = thread.process.unwrap_or(number),
        tid = thread.thread.unwrap_or(number),
        longest = about.longest,
    )?;
    writeln!(
        target,
        "\"markers\": {{\"length\": 0, \"category\": [], \"data\": [], \"endTime\": [], \"name\": [], \
         \"phase\": [], \"startTime\": []}},\n\
         \"nativeSymbols\": {{\"length\": 0, \"address\": [], \"functionSize\": [], \"libIndex\": [], \"name\": []}},"
    )?;
    let samples = || thread.samples.iter();
    write!(target, "\"samples\": {{\"length\": {}, ", samples().len())?;
    write!(target, "\"weightType\": \"{}\", ", about.weight_type)?;
    column("stack", samples().map(|(stack, _)| Cell(*stack)), target)?;
    column("timeDeltas", thread.deltas(), target)?;
    last_column("weight", samples().map(|(_, weight)| weight), target)?;
    let stacks = || thread.stacks.iter();
    write!(target, "\"stackTable\": {{\"length\": {}, ", stacks().len())?;
    column("prefix", stacks().map(|(prefix, _)| Cell(*prefix)), target)?;
    last_column("frame", stacks().map(|(_, frame)| frame), target)?;
    // A name is one frame of one function; the texts of places come behind the names.
    let functions = thread.frames.len();
    let mut texts = Interner::default();
    let mut modules = Interner::default();
    let mut text = |bytes: &[u8]| (!bytes.is_empty()).then(|| functions as u32 + texts.key(bytes));
    let (mut files, mut lines, mut starts, mut resources, mut categories) =
        (Vec::new(), Vec::new(), Vec::new(), Vec::new(), Vec::new());
    let mut module_names = Vec::new();
    for &frame in &thread.frames {
        let name = names.name(frame);
        let place = places.get(name);
        let known = place.unwrap_or_default();
        files.push(Cell(text(known.file)));
        lines.push(Cell(Some(known.line).filter(|line| *line > 0)));
        starts.push(Cell(Some(known.start_line).filter(|line| *line > 0)));
        categories.push(category(name, place.as_ref()));
        resources.push(match known.module {
            b"" => -1,
            module => {
                let number = modules.key(module);
                if number as usize == module_names.len() {
                    module_names.push(Cell(text(module)));
                }
                i64::from(number)
            }
        });
    }
    let same = |text, count| std::iter::repeat_n(text, count);
    let count = module_names.len();
    write!(target, "\"resourceTable\": {{\"length\": {count}, ")?;
    column("lib", same("null", count), target)?;
    column("name", module_names.iter(), target)?;
    column("host", same("null", count), target)?;
    // Libraries.
    last_column("type", same("1", count), target)?;
    write!(target, "\"frameTable\": {{\"length\": {functions}, ")?;
    for (name, value) in [
        ("address", "-1"),
        ("inlineDepth", "0"),
        ("subcategory", "0"),
        ("nativeSymbol", "null"),
        ("innerWindowID", "0"),
        ("column", "null"),
    ] {
        column(name, same(value, functions), target)?;
    }
    column("category", categories.iter(), target)?;
    column("line", lines.iter(), target)?;
    last_column("func", 0..functions, target)?;
    write!(target, "\"funcTable\": {{\"length\": {functions}, ")?;
    for (name, value) in [("isJS", "false"), ("relevantForJS", "false"), ("columnNumber", "null")] {
        column(name, same(value, functions), target)?;
    }
    column("resource", resources.iter(), target)?;
    column("fileName", files.iter(), target)?;
    column("lineNumber", starts.iter(), target)?;
    last_column("name", 0..functions, target)?;
    target.write_all(b"\"stringArray\": [")?;
    let mut line = Vec::new();
    let all = thread.frames.iter().map(|&frame| names.name(frame)).chain(texts.all());
    for (n, name) in all.enumerate() {
        line.clear();
        line.extend_from_slice(if n > 0 { b"," } else { b"" });
        string(name, &mut line)?;
        target.write_all(&line)?;
    }
    target.write_all(b"]}")?;
    Ok(())
}

/// A number, or none.
struct Cell(Option<u32>);

impl Display for Cell {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.0 {
            Some(number) => write!(f, "{number}"),
            None => f.write_str("null"),
        }
    }
}

/// A column of a table, with more to follow.
fn column(name: &str, cells: impl Iterator<Item = impl Display>, target: &mut dyn Target) -> Result<()> {
    array(name, cells, target)?;
    Ok(target.write_all(b", ")?)
}

/// The last column of a table, with another table to follow.
fn last_column(name: &str, cells: impl Iterator<Item = impl Display>, target: &mut dyn Target) -> Result<()> {
    array(name, cells, target)?;
    Ok(target.write_all(b"},\n")?)
}

fn array(name: &str, cells: impl Iterator<Item = impl Display>, target: &mut dyn Target) -> Result<()> {
    write!(target, "\"{name}\": [")?;
    for (n, cell) in cells.enumerate() {
        match n {
            0 => write!(target, "{cell}")?,
            _ => write!(target, ",{cell}")?,
        }
    }
    Ok(target.write_all(b"]")?)
}
