//! `firefox`: the processed profile format of <https://profiler.firefox.com>, version 55, as the
//! crate fxprof-processed-profile writes it for samply.
//!
//! That crate holds weights in 32 bits, which nanoseconds and bytes outgrow; so the tables are
//! written here, and compared with the crate's in the tests. Nobody knows when a folded stack was
//! seen: samples stand a millisecond apart, in frame order, and weigh what they weigh. Weights in
//! milliseconds and bytes are shown as such, all others as samples. Memory holds four bytes for
//! each frame of the call tree twice, and each name once; names that are not UTF-8 lose the bytes
//! that are not, and differential input its weights before.

use std::collections::HashMap;
use std::fmt::Display;

use serde_json::json;

use super::format::takes;
use super::json_text::string;
use super::path::Path;
use super::writer::{Finished, Target, Writer};
use super::{Format, Settings};
use crate::error::Result;
use crate::folded::Interner;
use crate::folded::{Frame, Visitor, WalkSummary, Weights};
use crate::tally::thread_of;
use crate::weight::Weight;

/// The format.
pub const FORMAT: Format = Format {
    name: "firefox",
    endings: &["firefox.json", "firefox"],
    about: "for profiler.firefox.com",
    takes: &[takes::TITLE, takes::UNIT, takes::PER_THREAD],
    streams: false,
    open: |settings, target| Ok(Box::new(Firefox::new(settings, target))),
};

struct Firefox<'a> {
    settings: &'a Settings,
    target: &'a mut dyn Target,
    path: Path,
    /// Of each open frame, its row in the stack table of the current thread, once it has one.
    rows: Vec<Option<u32>>,
    /// The names of threads, and what they did.
    names: Interner,
    threads: Vec<Thread>,
}

#[derive(Default)]
struct Thread {
    /// Its frame table: the numbers of its names, and the row of each number.
    frames: Vec<u32>,
    frame_rows: HashMap<u32, u32>,
    /// The rows of its stack table, callers first: the caller's row, and that of the frame.
    stacks: Vec<(Option<u32>, u32)>,
    samples: Vec<(Option<u32>, Weight)>,
}

impl<'a> Firefox<'a> {
    fn new(settings: &'a Settings, target: &'a mut dyn Target) -> Self {
        let (path, rows) = (Path::default(), Vec::new());
        Firefox { settings, target, path, rows, names: Interner::default(), threads: Vec::new() }
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
        if weights.value.is_zero() {
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
            let row = row.get_or_insert_with(|| {
                let next = thread.frames.len() as u32;
                let frame_row = *thread.frame_rows.entry(frame).or_insert(next);
                if frame_row == next {
                    thread.frames.push(frame);
                }
                thread.stacks.push((last, frame_row));
                thread.stacks.len() as u32 - 1
            });
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
    fn finish(self: Box<Self>, summary: &WalkSummary) -> Result<Finished> {
        let Firefox { settings, target, path, names, threads, .. } = *self;
        let unit = settings.unit(summary);
        let weight_type = match unit {
            "ms" => "tracing-ms",
            "bytes" => "bytes",
            _ => "samples",
        };
        let product = settings.picture.title.as_deref().unwrap_or("all");
        let longest = threads.iter().map(|thread| thread.samples.len()).max().unwrap_or(0);
        writeln!(target, "{{\"meta\": {},", meta(product, unit))?;
        writeln!(target, "\"libs\": [], \"pages\": [], \"profilerOverhead\": [], \"counters\": [],")?;
        write!(target, "\"threads\": [")?;
        for (n, (name, thread)) in names.all().zip(&threads).enumerate() {
            writeln!(target, "{}", if n > 0 { "," } else { "" })?;
            let about = About { number: n, name, longest, weight_type };
            write_thread(&about, thread, &path.names, target)?;
        }
        writeln!(target, "]}}")?;
        Ok(Finished::default())
    }
}

fn meta(product: &str, unit: &str) -> serde_json::Value {
    json!({
        "categories": [{ "name": "Other", "color": "grey", "subcategories": ["Other"] }],
        "debug": false,
        "extensions": { "length": 0, "baseURL": [], "id": [], "name": [] },
        "interval": 1.0,
        "preprocessedProfileVersion": 55,
        "processType": 0,
        "product": product,
        "importedFrom": "fg-render",
        "extra": [{ "label": "Folded stacks", "entries": [{ "label": "Unit", "format": "string", "value": unit }] }],
        "startTime": 0.0,
        "symbolicated": true,
        "pausedRanges": [],
        "version": 24,
        "usesOnlyOneStackType": true,
        "sourceCodeIsNotOnSearchfox": true,
        "markerSchema": [],
    })
}

/// What is said of a thread besides its tables.
struct About<'a> {
    number: usize,
    name: &'a [u8],
    /// How many milliseconds the profile has.
    longest: usize,
    weight_type: &'static str,
}

fn write_thread(about: &About<'_>, thread: &Thread, names: &Interner, target: &mut dyn Target) -> Result<()> {
    let mut name = Vec::new();
    string(about.name, &mut name)?;
    target.write_all(b"{\"name\": ")?;
    target.write_all(&name)?;
    target.write_all(b", \"processName\": ")?;
    target.write_all(&name)?;
    let number = about.number + 1;
    writeln!(
        target,
        ", \"isMainThread\": {}, \"pid\": \"{number}\", \"tid\": {number}, \"processType\": \"default\", \
         \"registerTime\": 0.0, \"unregisterTime\": {longest}.0, \"processStartupTime\": 0.0, \
         \"processShutdownTime\": {longest}.0, \"pausedRanges\": [], \"showMarkersInTimeline\": false,",
        about.number == 0,
        longest = about.longest,
    )?;
    writeln!(
        target,
        "\"markers\": {{\"length\": 0, \"category\": [], \"data\": [], \"endTime\": [], \"name\": [], \
         \"phase\": [], \"startTime\": []}},\n\
         \"nativeSymbols\": {{\"length\": 0, \"address\": [], \"functionSize\": [], \"libIndex\": [], \"name\": []}},\n\
         \"resourceTable\": {{\"length\": 0, \"lib\": [], \"name\": [], \"host\": [], \"type\": []}},"
    )?;
    let samples = || thread.samples.iter();
    write!(target, "\"samples\": {{\"length\": {}, ", samples().len())?;
    write!(target, "\"weightType\": \"{}\", ", about.weight_type)?;
    column("stack", samples().map(|(stack, _)| Cell(*stack)), target)?;
    column("timeDeltas", (0..samples().len()).map(|n| if n == 0 { "0" } else { "1" }), target)?;
    last_column("weight", samples().map(|(_, weight)| weight), target)?;
    let stacks = || thread.stacks.iter();
    write!(target, "\"stackTable\": {{\"length\": {}, ", stacks().len())?;
    column("prefix", stacks().map(|(prefix, _)| Cell(*prefix)), target)?;
    last_column("frame", stacks().map(|(_, frame)| frame), target)?;
    // A name is one frame of one function.
    let functions = thread.frames.len();
    let same = |text| std::iter::repeat_n(text, functions);
    write!(target, "\"frameTable\": {{\"length\": {functions}, ")?;
    for (name, value) in [
        ("address", "-1"),
        ("inlineDepth", "0"),
        ("category", "0"),
        ("subcategory", "0"),
        ("nativeSymbol", "null"),
        ("innerWindowID", "0"),
        ("line", "null"),
        ("column", "null"),
    ] {
        column(name, same(value), target)?;
    }
    last_column("func", 0..functions, target)?;
    write!(target, "\"funcTable\": {{\"length\": {functions}, ")?;
    for (name, value) in [
        ("isJS", "false"),
        ("relevantForJS", "false"),
        ("resource", "-1"),
        ("fileName", "null"),
        ("lineNumber", "null"),
        ("columnNumber", "null"),
    ] {
        column(name, same(value), target)?;
    }
    last_column("name", 0..functions, target)?;
    target.write_all(b"\"stringArray\": [")?;
    let mut text = Vec::new();
    for (n, &frame) in thread.frames.iter().enumerate() {
        text.clear();
        text.extend_from_slice(if n > 0 { b"," } else { b"" });
        string(names.name(frame), &mut text)?;
        target.write_all(&text)?;
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
