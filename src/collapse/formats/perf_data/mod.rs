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
//! `include/uapi/linux/perf_event.h`. A recording passes through these steps, each of which knows only
//! those before it:
//!
//! ```text
//! bytes ► reader ► header, content ► recording ► time_order ► sample_stream ► stacks ► names
//!         raw      events and        public      in order     with the        places,  each place
//!         records  typed records     iterator    of time      process         unwound  once
//! ```
//! Memory holds the records that wait for their turn and the stacks that differ, whatever the file's
//! size.
//!
//! The records are for others, too: a [`Recording`] is an iterator of [`Record`]s, of which
//! [`PerfData`] is one user.

mod advice;
mod alloc;
mod attr;
mod branches;
mod cfi;
mod chunk;
mod code_files;
mod compiled;
mod content;
mod deferred;
mod facts;
mod frame_names;
mod header;
mod held;
mod live_stack;
mod located;
mod modules;
mod names;
mod not_sampled;
mod off_cpu;
mod order;
mod part;
mod pending;
mod process;
pub(crate) mod python;
mod raw_frame;
mod reader;
mod record;
mod recording;
mod regs;
mod report;
mod rule;
mod runtime;
mod sample;
mod sample_stream;
mod sframe;
mod single_sample;
mod stacks;
mod stitch;
mod summary;
mod switch;
mod time_order;
mod tracepoint;
mod trampoline;
mod unsampled;
mod unwind;
mod zstd;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock};

use self::branches::BranchTable;
use self::frame_names::{FrameNames, SymbolState};
use self::held::Held;
use self::modules::{Kind, Modules};
use self::names::Namer;
use self::pending::Batch;
use self::raw_frame::RawFrame;
use self::sample_stream::SampleStream;
use self::single_sample::SingleSample;
use self::stacks::StackBuilder;
use self::stitch::{Chains, GROUP, stitch};
use self::summary::Summary;
use crate::collapse::kit::events::check_units;
use crate::collapse::{
    Certainty, CollapseOptions, Collapser, Context, ContextInfo, FormatInfo, Reading, Report, Sink, Tested,
};
use crate::error::{Error, Position, Result};
use crate::folded::{FrameId, Interner, StackTable, Weights};
use crate::input::Input;
use crate::profile::{Profile, ProfileBuilder, Wants};
use crate::symbolize::kernel::{Kernel, Recorded};
use crate::symbolize::{Missing, Search};
use crate::threads::{self, Task};

#[cfg(all(feature = "record", target_os = "linux"))]
pub use self::attr::Event;
pub(crate) use self::code_files::CodeFiles;
#[cfg(all(feature = "cli", feature = "record", target_os = "linux"))]
pub(crate) use self::code_files::code_files;
pub use self::content::{Content, Record, Sample};
pub(crate) use self::part::Part;
pub use self::record::{
    Cgroup, Comm, EventCount, FileId, Fork, KernelFunction, Mmap, Mode, Switched, Throttled,
};
pub use self::recording::Recording;
pub use self::sample::{Registers, SampleBody};
pub use self::time_order::InTimeOrder;
pub use crate::bytes::U64s;

const INFO: FormatInfo = FormatInfo {
    name: "perf-data",
    producer: "perf record",
    tested: Tested::Seen("perf 6.1"),
    values: "the recording's events; offcpu, blocked, runnable, wall; alloc_space, alloc_objects, inuse_space, inuse_objects",
    unit: "ns for clocks, bytes, objects, else the event",
};

/// Collapses what `perf record` writes.
pub struct PerfData;

impl Collapser for PerfData {
    fn info(&self) -> &'static FormatInfo {
        &INFO
    }

    fn contexts(&self) -> ContextInfo {
        ContextInfo {
            times: "samples, waits",
            clock: Some("perf"),
            labels: "thread, tid, process, processor, cgroup, state, the fields of tracepoints",
        }
    }

    fn detect(&self, head: &[u8]) -> Certainty {
        Certainty::of_magic(header::is_recording(head))
    }

    fn collapse(
        &self,
        input: Input,
        reading: &Reading<'_>,
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
        collapse(input, reading, sink, report).map_err(position)
    }
}

fn collapse(input: Input, reading: &Reading<'_>, sink: &mut dyn Sink, report: &mut Report) -> Result<()> {
    let search = reading.search();
    let mut folding = Folding::new(input, reading, &search, sink.wants(), reading.first_value.clone())?;
    folding.branches = sink.exchange().is_some();
    // Whoever has not asked for parts gets them as one.
    while folding.fold()?.is_some() {
        folding.next_part = NextPart::Joins;
    }
    folding.write(sink, report)
}

/// Folds a recording that is made just now: `each` gets a profile of every part, with the time it is of,
/// and of what comes behind the last one. A part may have no samples.
///
/// # Errors
/// Those of the collapser, and of `each`.
#[cfg_attr(not(all(feature = "cli", feature = "record", target_os = "linux")), allow(dead_code))]
pub(crate) fn collapse_parts(
    input: Input,
    options: &CollapseOptions,
    wants: Wants,
    each: &mut dyn FnMut(Profile, Report, Option<Part>) -> Result<()>,
) -> Result<()> {
    let search = options.search();
    let mut folding = Folding::new(input, options, &search, wants, None)?;
    loop {
        let part = folding.fold()?;
        let (mut builder, mut report) = (ProfileBuilder::new(wants), Report::default());
        folding.write(&mut builder, &mut report)?;
        options.report_servers(&mut report);
        report.settle_facts(options);
        builder.facts = report.facts.clone();
        each(builder.finish()?, report, part)?;
        if part.is_none() {
            return Ok(());
        }
        folding.next_part = NextPart::BeginsAnew;
    }
}

/// The samples behind the end of a part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum NextPart {
    /// They are added to those before.
    Joins,
    /// Those before have been written.
    BeginsAnew,
}

/// A recording that is being folded.
struct Folding<'o> {
    options: &'o CollapseOptions,
    search: &'o Search,
    wants: Wants,
    threads: usize,
    samples: SampleStream<'o>,
    builders: Vec<StackBuilder<'o>>,
    kernel: OnceLock<std::result::Result<Kernel, Missing>>,
    next_part: NextPart,
    /// The branches of samples are kept.
    branches: bool,
    /// The files that the stacks were named by, if they are wanted.
    code_files: Option<CodeFiles>,
}

impl<'o> Folding<'o> {
    fn new(
        input: Input,
        options: &'o CollapseOptions,
        search: &'o Search,
        wants: Wants,
        first_value: Option<Vec<u8>>,
    ) -> Result<Folding<'o>> {
        let kept = input.kept();
        let records = Recording::from_input(input)?.in_time_order();
        let mut samples = SampleStream::new(records, options, first_value, kept);
        if samples.records.description.is_live {
            samples.modules.held = Some(Held::new(search));
        }
        let threads = threads::count(options.threads);
        let (builders, kernel) = (Vec::new(), OnceLock::new());
        let next_part = NextPart::Joins;
        Ok(Folding {
            options,
            search,
            wants,
            threads,
            samples,
            builders,
            kernel,
            next_part,
            branches: false,
            code_files: None,
        })
    }

    /// Folds up to the end of the recording, or of a part.
    fn fold(&mut self) -> Result<Option<Part>> {
        if self.next_part == NextPart::BeginsAnew {
            self.samples.begin_part();
        }
        self.samples.ended_part = None;
        if self.builders.is_empty() {
            let order = self.samples.records.description.order;
            let builder = |_| {
                let mut stacks = StackBuilder::new(self.options, self.search, order, self.wants.contexts);
                stacks.branches = self.branches.then(BranchTable::default);
                stacks.reads_memory = self.samples.records.description.is_live;
                stacks
            };
            self.builders = (0..self.threads).map(builder).collect();
        }
        let samples = Mutex::new(GroupedSamples { samples: &mut self.samples, left: 0, ended: false });
        let shared = Shared { samples, error: Mutex::default(), stop: AtomicBool::new(false) };
        while shared.begin_group() {
            std::thread::scope(|scope| {
                let (first, others) = self.builders.split_first_mut().expect("one thread at least");
                let start = |stacks| Task::start(scope, || shared.work(stacks));
                let others: Vec<_> = others.iter_mut().map(start).collect();
                shared.work(first);
                others.into_iter().for_each(Task::join);
            });
            stitch_group(&mut self.builders)?;
            let samples = shared.samples.lock().expect("no thread panics");
            let allocations = &samples.samples.allocations;
            self.builders.iter_mut().for_each(|stacks| stacks.drop_released(allocations));
        }
        match shared.error.into_inner().expect("no thread panics") {
            Some(error) => Err(error),
            None => Ok(self.samples.ended_part),
        }
    }

    /// Names the stacks, and hands them over.
    fn write(&mut self, sink: &mut dyn Sink, report: &mut Report) -> Result<()> {
        self.samples.allocations.settle()?;
        let samples = &self.samples;
        let mut summary = Summary::default();
        let mut raw = StackTable::default();
        let mut all_singles: Vec<SingleSample> = Vec::new();
        let mut all_fields = Interner::default();
        let mut branches = BranchTable::default();
        for (n, mut stacks) in self.builders.drain(..).enumerate() {
            stacks.add_in_use(&samples.allocations)?;
            summary.truncated.add(stacks.truncated)?;
            summary.stitched.add(stacks.stitched)?;
            summary.not_unwound += stacks.not_unwound;
            summary.python.add(stacks.python)?;
            for (module, weight) in stacks.lost {
                let sum = summary.lost.entry(module).or_default();
                *sum = sum.checked_add(weight)?;
            }
            stacks.branches.iter().try_for_each(|table| branches.merge(table))?;
            let mut singles = stacks.singles.unwrap_or_default();
            let fields: Vec<u32> = stacks.fields.all().map(|set| all_fields.key(set)).collect();
            singles.iter_mut().for_each(|single| single.fields = fields[single.fields as usize]);
            if n == 0 {
                raw = stacks.table;
            } else {
                let indices = raw.merge_indexed(&stacks.table)?;
                singles.iter_mut().for_each(|single| single.stack = indices[single.stack as usize]);
            }
            all_singles.append(&mut singles);
        }
        let values = samples.values();
        let kept = values.iter().filter(|(_, total)| total.kept && total.samples > 0);
        check_units(kept.map(|(value, _)| value), self.options)?;
        let release = samples.records.description.release.clone();
        let recorded = Recorded { release, ..samples.modules.recorded.clone() };
        let namer = Namer {
            options: self.options,
            places: self.wants.places,
            recorded: &recorded,
            search: self.search,
            processes: &samples.processes,
            modules: &samples.modules,
            pythons: &samples.pythons,
            events: samples.records.description.events.iter().map(|event| event.name.as_slice()).collect(),
            kernel: &self.kernel,
            without_symbols: Mutex::default(),
            not_believed: Mutex::default(),
        };
        let names = namer.name_all(&raw, self.threads, sink);
        if let Some(files) = &mut self.code_files {
            namer.code_files(&raw, files)?;
        }
        branches.locate(&samples.modules, self.search, sink)?;
        if self.wants.contexts {
            let mut named = NamedStacks::default();
            name_stacks(&raw, &names, &samples.modules, &mut summary, |stack, _| {
                named.push(stack);
                Ok(())
            })?;
            all_singles.sort_unstable_by_key(|single| single.number);
            add_singles(&all_singles, &named, samples, &all_fields, sink)?;
        } else {
            name_stacks(&raw, &names, &samples.modules, &mut summary, |stack, weights| match stack {
                // Neither a thread, which was not wanted, nor a place.
                [] => Ok(()),
                stack => sink.sample(stack, weights, &Context::UNKNOWN),
            })?;
        }
        summary.report(samples, &namer, report)
    }
}

/// Gives the stacks of a group that were cut their callers, as far as these are known.
fn stitch_group(all: &mut [StackBuilder<'_>]) -> Result<()> {
    let mut chains: Vec<Chains> = all.iter_mut().map(|stacks| std::mem::take(&mut stacks.chains)).collect();
    let mut parts: Vec<&mut Chains> = chains.iter_mut().collect();
    let carried = stitch(&mut parts, |thread, cut, callers| all[thread].add_cut(cut, callers))?;
    let carried = Arc::new(carried);
    for (stacks, mut chains) in all.iter_mut().zip(chains) {
        chains.begin(carried.clone());
        stacks.chains = chains;
    }
    Ok(())
}

/// The state that the threads share.
struct Shared<'a, 'o> {
    samples: Mutex<GroupedSamples<'a, 'o>>,
    /// The first error in the file.
    error: Mutex<Option<Error>>,
    stop: AtomicBool,
}

/// The samples, some thousand at a time.
struct GroupedSamples<'a, 'o> {
    samples: &'a mut SampleStream<'o>,
    /// The number of samples that are left in the group.
    left: u64,
    /// True if there are no more samples.
    ended: bool,
}

impl Shared<'_, '_> {
    /// Begins another group; `false` if there is nothing more to do.
    fn begin_group(&self) -> bool {
        let mut samples = self.samples.lock().expect("no thread panics");
        samples.left = GROUP;
        !samples.ended && !self.stop.load(Ordering::Relaxed)
    }

    /// Takes batches until there are no more in the group.
    fn work(&self, stacks: &mut StackBuilder<'_>) {
        let mut batch = Batch::default();
        while !self.stop.load(Ordering::Relaxed) {
            let more = self.samples.lock().expect("no thread panics").next_batch(&mut batch);
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
    }
}

impl GroupedSamples<'_, '_> {
    /// Fills the batch; `false` if there are no more in the group.
    fn next_batch(&mut self, batch: &mut Batch) -> Result<bool> {
        if self.left == 0 || self.ended {
            return Ok(false);
        }
        self.ended = !self.samples.next_batch(batch)?;
        self.left = self.left.saturating_sub(batch.samples.len() as u64);
        Ok(!self.ended)
    }
}

/// Calls `each` with the frames of every stack, root first, and its weight.
fn name_stacks(
    raw: &StackTable,
    names: &FrameNames,
    modules: &Modules,
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
            if last && !matches!(RawFrame::of(raw, place), RawFrame::Event(_)) {
                continue;
            }
            summary.count(named, is_leaf, weights.value)?;
            if let RawFrame::Code { module, .. } = RawFrame::of(raw, place) {
                let is_kernel = modules.all()[module as usize].kind == Kind::Kernel;
                summary.count_code(module, is_kernel, named.is_start);
            }
            is_leaf = false;
            let again = hidden && named.known == SymbolState::Hidden;
            hidden = named.known == SymbolState::Hidden;
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

/// StackBuilder with names, by number.
#[derive(Default)]
struct NamedStacks {
    frames: Vec<FrameId>,
    /// The end of each stack in `frames`.
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
    samples: &SampleStream<'_>,
    fields: &Interner,
    sink: &mut dyn Sink,
) -> Result<()> {
    let known = |id: i32| u64::try_from(id).ok();
    for &SingleSample {
        time,
        away,
        state,
        processor,
        cgroup,
        fields: of_tracepoint,
        pid,
        tid,
        comm,
        stack,
        weight,
        ..
    } in singles
    {
        let stack = named.get(stack);
        if stack.is_empty() {
            continue;
        }
        let thread_name = samples.processes.names().get(comm.0 as usize).map_or(&b""[..], Vec::as_slice);
        let processor = processor.map(|number| number.to_string());
        let cgroup = cgroup.map(|id| samples.cgroup_name(id));
        let mut labels: Vec<(&[u8], &[u8])> = Vec::new();
        labels.extend(processor.iter().map(|number| (&b"processor"[..], number.as_bytes())));
        labels.extend(cgroup.iter().map(|name| (&b"cgroup"[..], &name[..])));
        labels.extend(state.name().map(|name| (&b"state"[..], name.as_bytes())));
        labels.extend(stacks::fields_of(fields.name(of_tracepoint)));
        let context = Context { time, process: known(pid), thread: known(tid), thread_name, labels: &labels };
        sink.lasting_sample(stack, Weights::one(weight), &context, away)?;
    }
    Ok(())
}
