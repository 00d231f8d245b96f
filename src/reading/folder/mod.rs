//! Folders of recordings of any format as one profile: `fg-collapse -r`.
//!
//! Threads take one recording after the other, each for itself, and add up what they read. What is said of the
//! recordings is put together in the order of their paths, whoever read them, so that the result does not
//! depend on the number of threads. A recording that cannot be read is named and left out; nothing of it is in
//! the sums.
//!
//! Weights of different units are never added up: the unit of the first recording counts, and those of others
//! are left out. Recordings that name no value as their default settle on the one that the first of them
//! settled on; if none of them has samples of that, they are read again for the first value that any has.

mod cache;
mod collector;
mod files;
mod part;
mod path_labels;

use std::collections::BTreeMap;
use std::num::NonZero;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

pub(crate) use cache::Cache;
pub(crate) use files::{Found, Recording, find};
pub(crate) use path_labels::PathPattern;

use self::collector::{Addable, Collector, Outcome};
use self::part::Means;
use crate::collapse::{Listener, Progress, ValueSelection};
use crate::descriptors;
use crate::error::{Error, Position, Result};
use crate::profile::Label;
use crate::reading::ReadOptions;
use crate::reading::merge::Merged;
use crate::threads::STACK;

/// Larger recordings are read by all threads, one recording after the other.
const LARGE: u64 = 64 << 20;

/// The descriptors of a thread: its recording, programs with their debug information, temporary files.
const DESCRIPTORS: usize = 20;

/// The wishes.
pub(crate) struct Request {
    /// The options of reading a recording.
    pub reading: ReadOptions,
    /// The labels that come from the path, and its pattern.
    pub path_keys: Vec<String>,
    /// The pattern that every path has to fit.
    pub pattern: Option<PathPattern>,
    /// The labels that the recordings have.
    pub recorded: Vec<Label>,
    /// The label whose numbers are the weights.
    pub weight_by: Option<String>,
    /// The number of bytes that stacks may take.
    pub memory: usize,
    /// Stop at the first recording that cannot be read.
    pub is_strict: bool,
    /// Results of earlier runs.
    pub cache: Option<Cache>,
    /// The listener that is told how many recordings have been read.
    pub progress: Option<Listener>,
}

/// The result.
pub(crate) struct Folders {
    /// The stacks, and the report of all.
    pub sums: Merged,
    /// Recordings that were left out, in the order of their paths.
    pub rejects: Vec<Error>,
    /// True if any recording has samples.
    pub has_samples: bool,
    /// The number of recordings that were read.
    pub read: u64,
    /// The names of those that hold no samples.
    pub empty: Vec<String>,
    /// The number of recordings that the cache had.
    pub from_cache: u64,
    /// The number of samples without a number to weigh them by.
    pub left_out: u64,
}

/// Reads recordings as one profile.
///
/// # Errors
/// Those of the sums and of temporary files; with `is_strict` those of the first recording that cannot be read;
/// [`crate::ErrorKind::Setting`] for a label that no recording has.
pub(crate) fn read(recordings: &[Recording], request: &Request) -> Result<Folders> {
    let values = &request.reading.collapse.values;
    let folders = read_values(recordings, request, values)?;
    if *values != ValueSelection::Default || folders.has_samples {
        return Ok(folders);
    }
    let Some((other, doubt)) = folders.sums.report.other_value() else { return Ok(folders) };
    let mut folders = read_values(recordings, request, &ValueSelection::Named(vec![other.name]))?;
    let report = &mut folders.sums.report;
    report.warn(&doubt);
    report.not_understood.doubt(doubt);
    if request.is_strict {
        report.not_understood.refuse()?;
    }
    Ok(folders)
}

/// [`read`] of these values.
fn read_values(recordings: &[Recording], request: &Request, values: &ValueSelection) -> Result<Folders> {
    let threads = match request.reading.collapse.threads {
        0 => std::thread::available_parallelism().map_or(1, NonZero::get),
        threads => threads,
    };
    let workers = threads.min(descriptors::share(1, DESCRIPTORS)).clamp(1, recordings.len().max(1));
    let is_large = |at: &usize| threads > 1 && recordings[*at].size.is_some_and(|size| size >= LARGE);
    let (large, small): (Vec<usize>, Vec<usize>) = (0..recordings.len()).partition(is_large);
    let mut run = Run {
        recordings,
        request,
        values,
        memory: request.memory / workers,
        workers,
        done: AtomicUsize::new(0),
        stop: AtomicBool::new(false),
        collector: Mutex::new(Collector::new(values)),
        groups: (0..workers).map(|_| Groups::new()).collect(),
    };
    run.phase(&large, 1, threads, None)?;
    run.phase(&small, workers, 1, None)?;
    let (again, first_value) = run.collector().take_others();
    run.phase(&again, workers, 1, first_value)?;
    run.collector().settle()?;
    run.finish()
}

/// The sums of one thread, by what can be added up.
type Groups = BTreeMap<Addable, Merged>;

/// Recordings being read.
struct Run<'a> {
    recordings: &'a [Recording],
    request: &'a Request,
    values: &'a ValueSelection,
    /// The bytes that the stacks of one thread may take.
    memory: usize,
    workers: usize,
    done: AtomicUsize,
    stop: AtomicBool,
    collector: Mutex<Collector>,
    groups: Vec<Groups>,
}

impl Run<'_> {
    fn collector(&mut self) -> &mut Collector {
        self.collector.get_mut().expect("no thread panics")
    }

    /// Reads the recordings of these numbers by so many workers, with so many threads for each recording.
    fn phase(
        &mut self,
        numbers: &[usize],
        workers: usize,
        threads: usize,
        first_value: Option<Vec<u8>>,
    ) -> Result<()> {
        if numbers.is_empty() || self.stop.load(Ordering::Relaxed) {
            return Ok(());
        }
        let mut groups = std::mem::take(&mut self.groups);
        let means = Means {
            threads,
            memory: self.memory,
            holders: 2 * self.workers,
            first_value,
            values: self.values.clone(),
        };
        let next = AtomicUsize::new(0);
        let run = &*self;
        let results: Vec<Result<()>> = std::thread::scope(|scope| {
            let mut started = Vec::new();
            for groups in groups.iter_mut().take(workers) {
                let work = || run.work(numbers, &next, groups, &means);
                let thread = std::thread::Builder::new().stack_size(STACK).spawn_scoped(scope, work);
                match thread {
                    Ok(thread) => started.push(thread),
                    Err(e) if started.is_empty() => return vec![Err(Error::io("start a thread", e))],
                    // Those that there are read everything.
                    Err(_) => break,
                }
            }
            let join = |thread: std::thread::ScopedJoinHandle<'_, Result<()>>| {
                thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
            };
            started.into_iter().map(join).collect()
        });
        self.groups = groups;
        results.into_iter().collect()
    }

    /// Reads recordings until there are no more.
    fn work(&self, numbers: &[usize], next: &AtomicUsize, groups: &mut Groups, means: &Means) -> Result<()> {
        while !self.stop.load(Ordering::Relaxed) {
            let Some(&number) = numbers.get(next.fetch_add(1, Ordering::Relaxed)) else { break };
            let outcome = self.read_one(number, groups, means);
            let outcome = outcome.inspect_err(|_| self.stop.store(true, Ordering::Relaxed))?;
            if self.request.is_strict && outcome.is_err() {
                self.stop.store(true, Ordering::Relaxed);
            }
            self.collector.lock().expect("no thread panics").put(number, outcome)?;
            let done = self.done.fetch_add(1, Ordering::Relaxed) + 1;
            if let Some(listener) = &self.request.progress {
                listener.tell(Progress::Files(done as u64, self.recordings.len() as u64));
            }
        }
        Ok(())
    }

    /// Reads a recording and adds it to the sums. The inner error is that of the recording, of which nothing
    /// was added then; the outer one ends the run.
    fn read_one(&self, number: usize, groups: &mut Groups, means: &Means) -> Result<Result<Outcome>> {
        let recording = &self.recordings[number];
        let at = || Position::file(recording.source.name());
        let frames = match &self.request.pattern {
            Some(pattern) => pattern.frames(&recording.relative, &self.request.path_keys),
            None => Ok(Vec::new()),
        };
        let part = frames.and_then(|frames| Ok((frames, part::read(recording, self.request, means)?)));
        let (frames, mut part) = match part {
            Ok(part) => part,
            Err(e) => return Ok(Err(e.or_at(at))),
        };
        let facts = &mut part.saved.report.facts;
        if !self.request.path_keys.is_empty() {
            facts.labels = [&self.request.path_keys[..], &facts.labels].concat();
        }
        let outcome = Outcome::new(recording.source.name(), &mut part);
        if outcome.has_samples {
            let group = groups.entry(outcome.group.clone());
            let columns = part.stacks.columns();
            let sums = group.or_insert_with(|| Merged::new(columns, 2 * self.workers));
            part.stacks.add_to(sums, &frames, self.memory).map_err(|e| e.or_at(at))?;
        }
        Ok(Ok(outcome))
    }

    /// Puts the sums together.
    fn finish(mut self) -> Result<Folders> {
        let request = self.request;
        let groups = std::mem::take(&mut self.groups);
        let collector = self.collector();
        let mut rejects = collector.take_rejects();
        if request.is_strict && !rejects.is_empty() {
            return Err(rejects.swap_remove(0));
        }
        let has_samples = collector.read > collector.empty.len() as u64;
        let unknown = request.recorded.iter().find(|label| !collector.known.contains(label.key()));
        if let Some(label) = unknown.filter(|_| has_samples) {
            let what = format!("no recording has the label {:?}", label.key());
            return Err(Error::setting(what));
        }
        let accepted = groups.into_iter().flatten().filter(|(group, _)| collector.accepts(group));
        let mut sums = Merged::all(accepted.map(|(_, sums)| sums), collector.columns(), request.memory)?;
        let mut report = std::mem::take(&mut collector.report);
        report.facts = collector.take_facts(&request.path_keys);
        sums.report = report;
        Ok(Folders {
            sums,
            rejects,
            has_samples,
            read: collector.read,
            empty: std::mem::take(&mut collector.empty),
            from_cache: collector.from_cache,
            left_out: collector.left_out,
        })
    }
}
