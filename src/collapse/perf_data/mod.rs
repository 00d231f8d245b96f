//! The recordings that `perf record` writes, read without perf (seen: perf 6.1).
//!
//! ```text
//! PERFILE2 …                                       header: events, where the records are
//! MMAP2  pid 6329 [55d0c0a00000, +3000) @1000 /home/user/app/cpp/orders
//! COMM   pid 6329 "orders"
//! SAMPLE pid 6329 time 799251439 period 2004008 cpu-clock, call chain, registers, stack
//! FINISHED_ROUND
//! ```
//! The format is described in perf's `Documentation/perf.data-file-format.txt` and the kernel's
//! `include/uapi/linux/perf_event.h`. Reading goes through these hands:
//!
//! ```text
//! reader ──► order ──► feed ───────► stacks, on all threads ────────► names
//! records    in time   which process  chains, unwound dumps;         each place
//!                      was like what  adds up stacks of raw places   once
//! ```
//! Memory holds what waits for its turn and the stacks that differ, whatever the file's size.

mod attr;
mod bytes;
mod cfi;
mod chunk;
mod facts;
mod feed;
mod header;
mod modules;
mod names;
mod off_cpu;
mod order;
mod process;
mod raw;
mod reader;
mod record;
mod regs;
mod sample;
mod stacks;
mod streams;
mod summary;
mod unwind;
mod zstd;

use std::fs::File;
use std::num::NonZero;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock};

use self::bytes::ByteOrder;
use self::feed::{Batch, Feed};
use self::header::{Beginning, Described};
use self::names::{Known, Namer, Names};
use self::process::Processes;
use self::raw::Raw;
use self::reader::{Records, Source, read_section};
use self::stacks::{SingleSample, Stacks};
use self::streams::Streams;
use self::summary::Summary;
use super::events::check_units;
use super::{Collapser, Context, FormatInfo, Options, Report, Sink, Verdict};
use crate::error::{Error, Position, Result};
use crate::folded::{FrameId, StackTable, Weights};
use crate::input::Input;
use crate::symbolize::Search;
use crate::symbolize::kernel::Recorded;

const INFO: FormatInfo = FormatInfo {
    name: "perf-data",
    producer: "perf record",
    tested: "perf 6.1",
    values: "the recording's events; offcpu, blocked, runnable",
    unit: "ns for clocks, else the event",
};

/// Collapses what `perf record` writes.
pub struct PerfData;

impl Collapser for PerfData {
    fn info(&self) -> &'static FormatInfo {
        &INFO
    }

    fn detect(&self, head: &[u8]) -> Verdict {
        if header::is_recording(head) { Verdict::Yes } else { Verdict::No }
    }

    fn collapse(
        &self,
        input: Input,
        options: &Options,
        sink: &mut dyn Sink,
        report: &mut Report,
    ) -> Result<()> {
        let name = input.name().clone();
        let position = |e: Error| {
            let byte = e.position().byte;
            if e.position().file.is_some() {
                e
            } else {
                e.at(Position { file: Some(name.clone()), line: None, byte })
            }
        };
        collapse(input, options, sink, report).map_err(position)
    }
}

fn collapse(input: Input, options: &Options, sink: &mut dyn Sink, report: &mut Report) -> Result<()> {
    let search = Search { symfs: options.symfs.clone(), ..Search::default() };
    let folder = input.folder().map(Path::to_owned);
    let (about, records) = open(input)?;
    let others =
        folder.map_or_else(|| Ok(Vec::new()), |folder| open_others(&folder, &records, about.order))?;
    let order = about.order;
    let feed = Feed::new(about, Streams::new(records, others), options, report.first_value.take());
    let threads = match options.threads {
        0 => std::thread::available_parallelism().map_or(1, NonZero::get),
        threads => threads,
    };
    let shared = Shared { feed: Mutex::new(feed), error: Mutex::default(), stop: AtomicBool::new(false) };
    let wants = sink.wants();
    let work = || shared.work(Stacks::new(options, &search, order, wants.contexts));
    let mut all = std::thread::scope(|scope| {
        let others: Vec<_> = (1..threads).map(|_| scope.spawn(work)).collect();
        let mut all = vec![work()];
        all.extend(others.into_iter().map(|other| other.join().expect("no thread panics")));
        all
    });
    if let Some(error) = shared.error.into_inner().expect("no thread panics") {
        return Err(error);
    }
    let feed = shared.feed.into_inner().expect("no thread panics");
    let mut summary = Summary::default();
    let mut raw = StackTable::default();
    let mut all_singles: Vec<SingleSample> = Vec::new();
    for (n, stacks) in all.drain(..).enumerate() {
        summary.truncated.samples += stacks.truncated.samples;
        summary.truncated.weight = summary.truncated.weight.checked_add(stacks.truncated.weight)?;
        summary.pointed.merge(stacks.pointed)?;
        summary.not_unwound += stacks.not_unwound;
        let mut singles = stacks.singles.unwrap_or_default();
        if n == 0 {
            raw = stacks.table;
        } else {
            let indices = raw.merge_indexed(&stacks.table)?;
            singles.iter_mut().for_each(|single| single.stack = indices[single.stack as usize]);
        }
        all_singles.append(&mut singles);
    }
    let values = feed.values();
    let kept = values.iter().filter(|(_, total)| total.kept && total.samples > 0);
    check_units(kept.map(|(value, _)| value), options)?;
    let recorded = Recorded { release: feed.about.release.clone(), ..feed.modules.recorded.clone() };
    let namer = Namer {
        options,
        places: wants.places,
        recorded: &recorded,
        search: &search,
        processes: &feed.processes,
        modules: &feed.modules,
        events: feed.about.events.iter().map(|event| event.name.as_slice()).collect(),
        kernel: OnceLock::new(),
        without_symbols: Mutex::default(),
    };
    let names = namer.name_all(&raw, threads, sink);
    if wants.contexts {
        let mut named = NamedStacks::default();
        name_stacks(&raw, &names, &mut summary, |stack, _| {
            named.push(stack);
            Ok(())
        })?;
        all_singles.sort_unstable_by_key(|single| single.number);
        add_singles(&all_singles, &named, &feed.processes, sink)?;
    } else {
        name_stacks(&raw, &names, &mut summary, |stack, weights| match stack {
            // Neither a thread, which was not wanted, nor a place.
            [] => Ok(()),
            stack => sink.sample(stack, weights, &Context::UNKNOWN),
        })?;
    }
    summary.report(&feed, &namer, report)
}

/// The recording's header, and what reads its records.
fn open(input: Input) -> Result<(Described, Records)> {
    let (mut about, beginning) = Described::begin(input.head())?;
    let layout = match beginning {
        Beginning::File(layout) => layout,
        Beginning::Pipe => {
            let mut reader = input.into_reader();
            reader.read_full(&mut [0; header::PIPE_HEADER])?;
            let records = Records::new(Source::Stream(reader), header::PIPE_HEADER as u64, about.order);
            return Ok((about, records));
        }
    };
    let (file, begin) = match input.file() {
        Some((file, begin)) => (file.try_clone().map_err(|e| Error::io("read", e))?, begin),
        // What the header says of samples stands behind them: all of it has to be there.
        None => (spool(input)?, 0),
    };
    let size = file.metadata().map_err(|e| Error::io("read", e))?.len().saturating_sub(begin);
    about.read_parts(&layout, |section| read_section(&file, begin, size, section))?;
    let was_killed = layout.data.size == 0;
    let end = if was_killed { size } else { layout.data.end() };
    if end > size {
        let found = format!("the end of the file at byte {size}");
        return Err(reader::cut_short(&format!("records up to byte {end}"), &found));
    }
    let source = Source::File { file, at: begin + layout.data.offset.min(end), end: begin + end };
    let mut records = Records::new(source, layout.data.offset, about.order);
    records.may_be_cut = was_killed;
    Ok((about, records))
}

/// The files of a folder that hold records only: `data.0`, `data.1`, ….
fn open_others(folder: &Path, first: &Records, order: ByteOrder) -> Result<Vec<(Arc<str>, Records)>> {
    let mut others = Vec::new();
    loop {
        let path = folder.join(format!("data.{}", others.len()));
        let name: Arc<str> = path.to_string_lossy().into();
        let error = |e| Error::io("open", e).at(Position::file(name.clone()));
        let file = match File::open(&path) {
            Ok(file) => file,
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(others),
            Err(e) => return Err(error(e)),
        };
        let end = file.metadata().map_err(error)?.len();
        let mut records = Records::new(Source::File { file, at: 0, end }, 0, order);
        records.may_be_cut = first.may_be_cut;
        others.push((name, records));
    }
}

/// A file with all of an input, which nobody else sees.
fn spool(input: Input) -> Result<File> {
    use std::io::Write;
    let name = input.name().clone();
    let mut file = tempfile::tempfile().map_err(|e| Error::io("make a temporary file for", e))?;
    let mut reader = input.into_reader();
    let mut buffer = vec![0; chunk::CHUNK];
    loop {
        let n = reader.read_full(&mut buffer)?;
        if n == 0 {
            return Ok(file);
        }
        let written = file.write_all(&buffer[..n]);
        written.map_err(|e| Error::io("write a temporary copy of", e).at(Position::file(name.clone())))?;
    }
}

/// What the threads share.
struct Shared<'o> {
    feed: Mutex<Feed<'o>>,
    /// The first error in the file.
    error: Mutex<Option<Error>>,
    stop: AtomicBool,
}

impl Shared<'_> {
    /// Takes batches until there are no more.
    fn work<'s>(&self, mut stacks: Stacks<'s>) -> Stacks<'s> {
        let mut batch = Batch::default();
        while !self.stop.load(Ordering::Relaxed) {
            let more = self.feed.lock().expect("no thread panics").next_batch(&mut batch);
            let result = match more {
                Ok(false) => break,
                Ok(true) => stacks.add(&batch),
                Err(e) => Err(e),
            };
            if let Err(e) = result {
                self.stop.store(true, Ordering::Relaxed);
                let mut first = self.error.lock().expect("no thread panics");
                let place = |e: &Error| e.position().byte.unwrap_or(u64::MAX);
                if first.as_ref().is_none_or(|other| place(&e) < place(other)) {
                    *first = Some(e);
                }
            }
        }
        stacks
    }
}

/// Calls `each` with the frames of every stack, root first, and its weight.
fn name_stacks(
    raw: &StackTable,
    names: &Names,
    summary: &mut Summary,
    mut each: impl FnMut(&[FrameId], Weights) -> Result<()>,
) -> Result<()> {
    let mut stack: Vec<FrameId> = Vec::new();
    for (places, weights) in raw.stacks() {
        stack.clear();
        let mut hidden = false;
        let mut is_leaf = true;
        let mut last = false;
        for &place in places.iter().rev() {
            let (named, frames) = names.of(place);
            if last && !matches!(Raw::of(raw, place), Raw::Event(_)) {
                continue;
            }
            summary.count(named.known, is_leaf, weights.value)?;
            is_leaf = false;
            let again = hidden && named.known == Known::Hidden;
            hidden = named.known == Known::Hidden;
            if !again {
                stack.extend_from_slice(frames);
            }
            last |= named.last;
        }
        stack.reverse();
        each(&stack, weights)?;
        summary.end_stack(weights.value)?;
    }
    Ok(())
}

/// Stacks with names, by number.
#[derive(Default)]
struct NamedStacks {
    frames: Vec<FrameId>,
    /// Where each stack ends in `frames`.
    ends: Vec<usize>,
}

impl NamedStacks {
    fn push(&mut self, stack: &[FrameId]) {
        self.frames.extend_from_slice(stack);
        self.ends.push(self.frames.len());
    }

    fn get(&self, number: u32) -> &[FrameId] {
        let number = number as usize;
        let start = number.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.frames[start..self.ends[number]]
    }
}

/// Pushes samples one by one, each with its time and its thread.
fn add_singles(
    singles: &[SingleSample],
    named: &NamedStacks,
    processes: &Processes,
    sink: &mut dyn Sink,
) -> Result<()> {
    let known = |id: i32| u64::try_from(id).ok();
    for &SingleSample { time, pid, tid, comm, stack, weight, .. } in singles {
        let stack = named.get(stack);
        if stack.is_empty() {
            continue;
        }
        let thread_name = processes.names().get(comm.0 as usize).map_or(&b""[..], Vec::as_slice);
        let context = Context { time, process: known(pid), thread: known(tid), thread_name, labels: &[] };
        sink.sample(stack, Weights::one(weight), &context)?;
    }
    Ok(())
}
