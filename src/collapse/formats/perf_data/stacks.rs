//! From a sample to its stack of places, and the table that adds them up.

mod follow;

use std::collections::HashMap;

use self::follow::Unwound;
use super::alloc::Allocations;
use super::attr::Attr;
use super::branches::BranchTable;
use super::cfi::Context;
use super::modules::{ELSEWHERE, KERNEL, UNKNOWN};
use super::pending::{Batch, PendingSample, State};
use super::process::{CommId, Mapping};
use super::python;
use super::raw_frame::RawFrame;
use super::record::{Mode, USER_DEFERRED};
use super::regs::{Cpu, Regs};
use super::rule::Rule;
use super::sample::{SampleBody, no_sample};
use super::single_sample::SingleSample;
use super::stitch::{Chains, CutStack, End, Link, Without};
use crate::bytes::{ByteOrder, U64s};
use crate::collapse::{CollapseOptions, ValueSelection};
use crate::error::{Position, Result};
use crate::folded::{FrameId, Interner, StackTable, Weights};
use crate::symbolize::Search;
use crate::weight::Weight;

/// Marks in a call chain: what follows was recorded in the kernel, in user space, elsewhere.
mod context {
    pub const KERNEL: u64 = -128i64 as u64;
    pub const USER: u64 = -512i64 as u64;
    /// From here on numbers are marks, and no addresses.
    pub const FIRST: u64 = -4095i64 as u64;
}

/// The largest copy of a stack that the kernel makes.
pub(super) const LARGEST_DUMP: u32 = 65_528;

/// A number of stacks of which a part was missing, and their weight.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct TruncatedStacks {
    pub samples: u64,
    pub weight: Weight,
    /// The weight of those whose callers are not in the largest copy of a stack either.
    pub too_deep: Weight,
}

impl TruncatedStacks {
    /// Adds a stack.
    ///
    /// # Errors
    /// Weights that are too large.
    pub fn count(&mut self, weight: Weight) -> Result<()> {
        self.add(TruncatedStacks { samples: 1, weight, ..TruncatedStacks::default() })
    }

    /// Adds other stacks.
    ///
    /// # Errors
    /// Weights that are too large.
    pub fn add(&mut self, other: TruncatedStacks) -> Result<()> {
        self.samples += other.samples;
        self.weight = self.weight.checked_add(other.weight)?;
        self.too_deep = self.too_deep.checked_add(other.too_deep)?;
        Ok(())
    }
}

/// The stack pointer of a sample.
fn stack_pointer(parts: &SampleBody<'_>, batch: &Batch) -> Option<u64> {
    let cpu = Cpu::of(batch.arch.unwrap_or_default())?;
    Regs::of(&parts.registers?, cpu)?.get(cpu.sp)
}

/// A sample by itself, as far as it is known before its stack is.
fn single(number: u64, work: &PendingSample) -> SingleSample {
    let PendingSample { time, away, state, processor, pid, tid, comm, weight, in_use, .. } = *work;
    let (cgroup, fields, stack) = (None, 0, 0);
    SingleSample {
        number,
        time,
        away,
        state,
        processor,
        cgroup,
        fields,
        pid,
        tid,
        comm,
        stack,
        weight,
        in_use,
    }
}

/// The stacks of one thread's samples.
pub(super) struct StackBuilder<'o> {
    pub(super) options: &'o CollapseOptions,
    pub(super) search: &'o Search,
    order: ByteOrder,
    /// The processes may still run: what was not copied of a stack is looked for in their memory.
    pub reads_memory: bool,
    /// StackBuilder of [`RawFrame`] frames.
    pub table: StackTable,
    /// The single samples, if they are wanted.
    pub singles: Option<Vec<SingleSample>>,
    /// The values of the tracepoints' fields of single samples: see [`fields_of`].
    pub fields: Interner,
    /// The branches of samples, if they are wanted.
    pub branches: Option<BranchTable>,
    pub truncated: TruncatedStacks,
    /// Stacks that were cut, and have their callers from other stacks of the thread.
    pub stitched: TruncatedStacks,
    /// The callers that the stacks of a group of samples tell of each other.
    pub chains: Chains,
    /// Weights of stacks that end before their root though the dump goes on, by the module that was
    /// left without a caller, or [`ELSEWHERE`].
    pub lost: HashMap<u32, Weight>,
    /// The stacks of allocations that were in use when they were added, root first.
    in_use: Vec<(u64, SingleSample, Box<[FrameId]>)>,
    /// Samples of 32-bit programs, which are not unwound.
    pub not_unwound: u64,
    /// Samples with frames of Python's evaluator.
    pub python: python::Counts,
    /// The calls of Python's evaluator in the stack that is being put together, latest first, and the words that they
    /// had in registers and frames.
    pub(super) evaluations: Vec<python::Evaluation>,
    pub(super) words: Vec<u64>,
    /// The registers and slots in which the evaluator of each process keeps its instruction and its frame.
    python_places: HashMap<i32, python::Places>,
    /// Places that were met before.
    pub(super) places: Vec<CachedPlace>,
    threads: HashMap<(CommId, i32, i32), FrameId>,
    pub(super) context: Box<Context>,
    /// The stack being put together, leaf first.
    pub(super) stack: Vec<FrameId>,
    /// Its frames that were unwound, leaf first.
    pub(super) links: Vec<Link>,
    /// The index of the mapping in which the last address was found.
    pub(super) hint: usize,
    kernel_hint: usize,
}

/// Names and values of the fields in an entry of [`StackBuilder::fields`].
pub(super) fn fields_of(mut entry: &[u8]) -> impl Iterator<Item = (&[u8], &[u8])> {
    let mut text = move || {
        let (len, rest) = entry.split_first_chunk::<4>()?;
        let (text, rest) = rest.split_at(u32::from_le_bytes(*len) as usize);
        entry = rest;
        Some(text)
    };
    std::iter::from_fn(move || Some((text()?, text()?)))
}

/// A place in a module, and what was found out about it.
#[derive(Clone, Copy)]
pub(super) struct CachedPlace {
    pub module: u32,
    pub called: bool,
    pub place: u64,
    pub frame: FrameId,
    /// The place's stated address, and the rule to unwind from there, once that was asked for.
    pub rule: Option<(u64, Rule)>,
}

/// The number of places that are remembered, each in the slot of its hash. With half as many, a
/// recording of a large program takes a tenth more time; with twice as many, it takes the same.
const PLACES: usize = 1 << 13;

impl<'o> StackBuilder<'o> {
    /// A table of stacks, and of single samples if `contexts` are wanted.
    pub fn new(options: &'o CollapseOptions, search: &'o Search, order: ByteOrder, contexts: bool) -> Self {
        let nothing =
            CachedPlace { module: u32::MAX, called: false, place: 0, frame: FrameId(0), rule: None };
        StackBuilder {
            options,
            search,
            order,
            reads_memory: false,
            table: StackTable::default(),
            singles: contexts.then(Vec::new),
            fields: Interner::default(),
            branches: None,
            truncated: TruncatedStacks::default(),
            stitched: TruncatedStacks::default(),
            chains: Chains::default(),
            lost: HashMap::new(),
            in_use: Vec::new(),
            not_unwound: 0,
            python: python::Counts::default(),
            evaluations: Vec::new(),
            words: Vec::new(),
            python_places: HashMap::new(),
            places: vec![nothing; PLACES],
            threads: HashMap::new(),
            context: Box::default(),
            stack: Vec::new(),
            links: Vec::new(),
            hint: 0,
            kernel_hint: 0,
        }
    }

    /// Adds the samples of a batch.
    ///
    /// # Errors
    /// Damage of a sample, placed by its byte.
    pub fn add(&mut self, batch: &Batch) -> Result<()> {
        for (number, work) in (batch.first..).zip(&batch.samples) {
            let at = || Position { byte: Some(work.at), ..Position::default() };
            self.add_sample(number, work, batch).map_err(|e| e.or_at(at))?;
        }
        Ok(())
    }

    /// Adds a sample; one whose stack is cut waits for its callers.
    fn add_sample(&mut self, number: u64, work: &PendingSample, batch: &Batch) -> Result<()> {
        self.stack.clear();
        self.links.clear();
        self.evaluations.clear();
        self.words.clear();
        let missing = match work.state {
            State::Lost => Some(RawFrame::Lost),
            State::NotSampled => Some(RawFrame::NotSampled),
            _ => None,
        };
        if let Some(missing) = missing {
            self.stack.push(missing.in_table(&mut self.table));
            let fields = if self.singles.is_some() { self.fields.key(&[]) } else { 0 };
            self.push_roots(work);
            return self.finish(SingleSample { fields, ..single(number, work) });
        }
        let attr = &batch.attrs[work.layout as usize];
        let parts = SampleBody::parse(&work.body, self.order, attr).ok_or_else(|| no_sample(&work.body))?;
        match parts.chain {
            Some(chain) => {
                self.push_chain(chain, parts.calls, work, batch);
            }
            None if parts.calls.is_none() && parts.stack.is_empty() && attr.shows_place() => {
                self.push(work.mode, work.ip, false, work, batch);
            }
            None => {}
        }
        if let (Some(table), Some(list)) = (&mut self.branches, parts.branches) {
            table.add(list, &work.space)?;
        }
        let unwound = self.follow(&parts, work, batch);
        let fields = if self.singles.is_some() { self.trace_fields(attr, &parts) } else { 0 };
        let sample = SingleSample { cgroup: parts.cgroup, fields, ..single(number, work) };
        let tid = work.tid;
        match unwound {
            Unwound::Cut(cut) => {
                if cut.goes_on {
                    self.chains.add_read(tid, &self.links[cut.links - 1..]);
                }
                self.stack.truncate(self.stack.len() - (self.links.len() - cut.links));
                self.links.truncate(cut.links);
                self.put_python(&parts, work, batch)?;
                let end = self.stack.len();
                self.push_roots(work);
                let (frames, behind) = self.stack.split_at(end);
                let (frames, behind, without) = (frames.to_vec(), behind.to_vec(), cut.without);
                self.chains.add_cut(&self.links, |piece| CutStack { frames, behind, without, sample, piece });
                return Ok(());
            }
            Unwound::ToRoot => self.chains.add(tid, number, &self.links, End::Root),
            Unwound::Lost(from) => {
                self.lose(from, work.weight)?;
                self.chains.add(tid, number, &self.links, End::Open);
            }
            Unwound::Nothing => {}
        }
        self.put_python(&parts, work, batch)?;
        self.push_roots(work);
        self.finish(sample)
    }

    /// Puts the frames of Python in the place of those in C that evaluate them.
    fn put_python(&mut self, parts: &SampleBody<'_>, work: &PendingSample, batch: &Batch) -> Result<()> {
        let Some(sampled) = work.python.as_ref().filter(|_| !self.evaluations.is_empty()) else {
            return Ok(());
        };
        let Some(start) = stack_pointer(parts, batch) else { return Ok(()) };
        let Ok(process) = sampled.process.read() else { return Ok(()) };
        let length = self.stack.len();
        self.evaluations.retain(|call| call.at < length);
        let mut replaced = Vec::with_capacity(length + 16);
        let (mut from, mut is_named) = (0, true);
        let (stack, table, calls) = (&self.stack, &mut self.table, &self.evaluations);
        let copied = python::Copied { start, bytes: parts.stack };
        let words = &self.words;
        let places = self.python_places.entry(work.pid).or_default();
        python::frames_of(&process, sampled, copied, calls, words, places, |number, frames| {
            let at = calls[number].at;
            replaced.extend_from_slice(&stack[from..at]);
            for &python::Frame { function, line } in frames {
                replaced.push(RawFrame::Script { function, line }.in_table(table));
            }
            if frames.is_empty() {
                is_named = false;
                replaced.push(RawFrame::UNKNOWN_SCRIPT.in_table(table));
            }
            from = at + 1;
        });
        replaced.extend_from_slice(&self.stack[from..]);
        self.stack = replaced;
        self.python.count(is_named, work.weight)
    }

    /// Pushes the frames that stand for thread and event.
    fn push_roots(&mut self, work: &PendingSample) {
        if self.options.threads_as_frames != Some(false) {
            let thread = self.thread(work);
            self.stack.push(thread);
        }
        if self.options.values == ValueSelection::All {
            self.stack.push(RawFrame::Event(work.value).in_table(&mut self.table));
        }
    }

    /// The number of the values that a sample's tracepoint has.
    fn trace_fields(&mut self, attr: &Attr, parts: &SampleBody<'_>) -> u32 {
        let (mut all, mut value) = (Vec::new(), Vec::new());
        for field in attr.trace_fields.iter() {
            value.clear();
            field.write(parts.raw, self.order, &mut value);
            for text in [field.name(), &value] {
                all.extend((text.len() as u32).to_le_bytes());
                all.extend_from_slice(text);
            }
        }
        self.fields.key(&all)
    }

    /// Adds a stack that was cut, with its callers if they were found.
    ///
    /// # Errors
    /// Weights that are too large.
    pub fn add_cut(&mut self, cut: CutStack, callers: Option<&[Link]>) -> Result<()> {
        let CutStack { sample, .. } = cut;
        self.stack = cut.frames;
        match (callers, cut.without) {
            (Some(callers), _) => {
                self.stitched.count(sample.weight)?;
                for &Link { module, place, called, .. } in callers {
                    let slot = self.place_of(module, place, called);
                    self.stack.push(self.places[slot].frame);
                }
            }
            (None, Without::Callers(module)) => {
                self.lose(module, sample.weight)?;
                if module == ELSEWHERE {
                    self.stack.push(RawFrame::Truncated.in_table(&mut self.table));
                }
            }
            (None, Without::TheRest { too_deep }) => {
                self.truncated.count(sample.weight)?;
                if too_deep {
                    self.truncated.too_deep = self.truncated.too_deep.checked_add(sample.weight)?;
                }
                self.stack.push(RawFrame::Truncated.in_table(&mut self.table));
            }
        }
        self.stack.extend(cut.behind);
        self.finish(sample)
    }

    /// Counts a stack whose callers cannot be found from a module.
    fn lose(&mut self, module: u32, weight: Weight) -> Result<()> {
        let sum = self.lost.entry(module).or_default();
        *sum = sum.checked_add(weight)?;
        Ok(())
    }

    /// Adds the stack that was put together.
    fn finish(&mut self, sample: SingleSample) -> Result<()> {
        self.stack.reverse();
        if let Some(number) = sample.in_use {
            self.in_use.push((number, sample, self.stack.as_slice().into()));
            return Ok(());
        }
        let stack = self.table.add_indexed(&self.stack, Weights::one(sample.weight))?;
        if let Some(singles) = &mut self.singles {
            singles.push(SingleSample { stack: stack as u32, ..sample });
        }
        Ok(())
    }

    /// Forgets allocations that were released.
    pub fn drop_released(&mut self, allocations: &Allocations) {
        self.in_use.retain(|(number, ..)| allocations.is_in_use(*number));
    }

    /// Adds the stacks of allocations that are in use.
    ///
    /// # Errors
    /// Weights that are too large.
    pub fn add_in_use(&mut self, allocations: &Allocations) -> Result<()> {
        for (number, sample, stack) in std::mem::take(&mut self.in_use) {
            if allocations.is_in_use(number) {
                self.stack = stack.into();
                self.stack.reverse();
                self.finish(SingleSample { in_use: None, ..sample })?;
            }
        }
        Ok(())
    }

    /// A call chain; the processor may have recorded the user's part.
    fn push_chain(&mut self, chain: U64s<'_>, calls: Option<U64s<'_>>, work: &PendingSample, batch: &Batch) {
        let mut mode = Mode::User;
        let mut called = false;
        let mut is_lost = false;
        let later = work.user_chain.as_deref().unwrap_or_default();
        for address in chain.iter().take_while(|&it| it != USER_DEFERRED).chain(later.iter().copied()) {
            if address >= context::FIRST {
                is_lost = false;
                mode = match address {
                    context::KERNEL => Mode::Kernel,
                    context::USER => Mode::User,
                    _ => Mode::Other,
                };
                called = false;
                if let (Mode::User, Some(calls)) = (mode, calls.filter(|calls| !calls.is_empty())) {
                    self.push_calls(calls, work, batch);
                    return;
                }
                continue;
            }
            // A number that was no return address, and no more is what it led to.
            is_lost |= mode == Mode::User && called && self.is_data(address.wrapping_sub(1), work);
            if !is_lost {
                self.push(mode, address, called, work, batch);
            }
            called = true;
        }
    }

    /// Returns true for an address in memory that is known not to be executable.
    fn is_data(&mut self, address: u64, work: &PendingSample) -> bool {
        work.space.find(address, &mut self.hint).is_some_and(|mapping| !mapping.executable)
    }

    /// Calls that were not returned from, latest first: where each was made, and of the first also
    /// where it went.
    fn push_calls(&mut self, calls: U64s<'_>, work: &PendingSample, batch: &Batch) {
        /// From, to, flags.
        const NUMBERS: usize = 3;
        if let Some(leaf) = calls.get(1) {
            self.push(Mode::User, leaf, false, work, batch);
        }
        for from in (0..calls.len()).step_by(NUMBERS).filter_map(|at| calls.get(at)) {
            self.push(Mode::User, from, false, work, batch);
        }
    }

    /// The frame of the thread that was running.
    fn thread(&mut self, work: &PendingSample) -> FrameId {
        let pid = if self.options.pid || self.options.tid { work.pid } else { 0 };
        let tid = if self.options.tid { work.tid } else { 0 };
        let (comm, table) = (work.comm, &mut self.table);
        *self
            .threads
            .entry((comm, pid, tid))
            .or_insert_with(|| RawFrame::Thread { comm, pid, tid }.in_table(table))
    }

    /// Puts an address on the stack.
    pub(super) fn push(
        &mut self,
        mode: Mode,
        address: u64,
        called: bool,
        work: &PendingSample,
        batch: &Batch,
    ) {
        let inside = address.wrapping_sub(called.into());
        let mapping = match mode {
            Mode::User => work.space.find(inside, &mut self.hint),
            Mode::Kernel => batch.kernel.find(inside, &mut self.kernel_hint),
            Mode::Other => None,
        };
        let slot = match mapping {
            Some(mapping) => self.place(mapping, address, called),
            None if mode == Mode::Kernel => self.place_of(KERNEL, address, called),
            None => self.nowhere(address),
        };
        self.stack.push(self.places[slot].frame);
    }

    /// An address at which nothing is mapped.
    pub(super) fn nowhere(&mut self, address: u64) -> usize {
        // Which one matters only to those who want to see it.
        self.place_of(UNKNOWN, if self.options.addrs { address } else { 0 }, false)
    }

    pub(super) fn place(&mut self, mapping: &Mapping, address: u64, called: bool) -> usize {
        let place = mapping.offset.wrapping_add(address.wrapping_sub(mapping.start));
        self.place_of(mapping.module.id, place, called)
    }

    /// The slot of a place.
    #[inline]
    fn place_of(&mut self, module: u32, place: u64, called: bool) -> usize {
        let key = place ^ u64::from(module) << 40 ^ u64::from(called) << 63;
        let hash = key.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let slot = (hash >> (64 - PLACES.trailing_zeros())) as usize;
        let known = &self.places[slot];
        if known.module == module && known.place == place && known.called == called {
            return slot;
        }
        let frame = RawFrame::Code { module, place, called }.in_table(&mut self.table);
        self.places[slot] = CachedPlace { module, called, place, frame, rule: None };
        slot
    }
}
