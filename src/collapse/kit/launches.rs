//! Calls on threads, and the work of other processors below the calls that launched it: what profilers of GPUs record
//! as rows with a beginning and an end. Times are in nanoseconds.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::num::NonZeroU64;

use crate::collapse::kit::forest::Budget;
use crate::collapse::kit::names::NO_STACK;
use crate::collapse::kit::spans::{Launch, Met, Span, Spans};
use crate::collapse::kit::threads::Thread;
use crate::collapse::kit::trie::Trie;
use crate::collapse::kit::values::Values;
use crate::collapse::{CollapseOptions, Context, Report, Sink, Value};
use crate::error::Result;
use crate::folded::FrameId;
use crate::weight::Weight;

/// A thread of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Owner {
    pub process: u64,
    pub thread: u64,
}

/// A kernel, or a copy or fill of memory.
#[derive(Clone, Copy, Debug)]
pub struct Work {
    /// Its process, and the queue or stream of a device that it was in.
    pub owner: Owner,
    /// The number of the call that launched it; 0 stands for none.
    pub correlation: u64,
    pub begin: u64,
    pub end: u64,
    /// The number of its name.
    pub frame: u32,
}

/// All calls and all work of a recording.
#[derive(Default)]
pub struct Launches {
    calls: BTreeMap<Owner, Spans>,
    works: Vec<Work>,
}

/// The values of [`Launches`] among those of a recording.
#[derive(Clone, Copy)]
pub struct Columns {
    pub gpu: usize,
    pub events: usize,
}

impl Launches {
    /// Returns true if there are neither calls nor work.
    pub fn is_empty(&self) -> bool {
        self.calls.is_empty() && self.works.is_empty()
    }

    /// Adds a call, a range or another span of a thread. `frame` is the number of its name.
    pub fn call(&mut self, owner: Owner, (begin, end): (u64, u64), frame: u32, correlation: u64) {
        let launch = Launch { correlation: NonZeroU64::new(correlation), external: None };
        let span =
            Span { begin: micros(begin), end: micros(end), frame: FrameId(frame), category: 0, launch };
        self.calls.entry(owner).or_default().whole.push(span);
    }

    /// Adds work of a device.
    pub fn work(&mut self, work: Work) {
        self.works.push(work);
    }

    /// Declares the values that there are, events if there are none, and returns their columns.
    pub fn declare(&self, declared: &mut Vec<Value>) -> Columns {
        let mut column = |is_there: bool, name: &str| {
            declared.extend(is_there.then(|| Value::new(name, "us")));
            declared.len().saturating_sub(1)
        };
        let gpu = column(!self.works.is_empty(), "gpu");
        Columns { gpu, events: column(!self.calls.is_empty() || self.works.is_empty(), "events") }
    }

    /// Adds the time of all calls and all work to the values. `name` gives the name of a thread.
    ///
    /// # Errors
    /// Those of the sink, and stacks that would fill the memory.
    pub fn finish(
        self,
        columns: Columns,
        frames: &[FrameId],
        name: &dyn Fn(Owner) -> Vec<u8>,
        (values, options): (&mut Values, &CollapseOptions),
        sink: &mut dyn Sink,
        report: &mut Report,
    ) -> Result<()> {
        let Launches { calls, works } = self;
        let mut waiting: HashMap<(u64, u64), Vec<usize>> = HashMap::new();
        for (at, work) in works.iter().enumerate() {
            waiting.entry((work.owner.process, work.correlation)).or_default().push(at);
        }
        let mut out = Output { columns, frames, name, options, values, budget: Budget::default() };
        let contexts = sink.wants().contexts;
        let mut is_launched = vec![false; works.len()];
        for (owner, spans) in calls {
            let mut stacks = Trie::new(contexts);
            let mut launched = Vec::new();
            spans.collapse(&mut stacks, |met, path| {
                let Met::Span(span) = met else { return Ok(()) };
                let found =
                    span.launch.correlation.and_then(|call| waiting.remove(&(owner.process, call.get())));
                launched.extend(found.into_iter().flatten().map(|work| (path, work)));
                Ok(())
            })?;
            let start = out.start(owner, sink);
            let thread_name = name(owner);
            let ids = [owner.process, owner.thread].map(|id| id.to_string());
            let thread = Thread { name: &thread_name, pid: ids[0].as_bytes(), tid: ids[1].as_bytes() };
            stacks.for_each(
                start,
                |frame| Ok(frames[frame as usize]),
                |stack, sampled| {
                    let context = if contexts { thread.context(sampled.time) } else { Context::UNKNOWN };
                    let context = (&context, sampled.duration);
                    out.values.add_lasting(
                        columns.events,
                        stack,
                        sampled.weight,
                        sampled.samples,
                        context,
                        sink,
                    )
                },
            )?;
            let mut seen = HashSet::new();
            for (path, work) in launched {
                is_launched[work] = true;
                let work = &works[work];
                let mut stack = vec![frames[work.frame as usize]];
                let mut at = path;
                while let Some((above, number)) = stacks.above(at) {
                    stack.push(frames[number as usize]);
                    out.budget.check(stack.len())?;
                    at = above;
                }
                stack.extend(start);
                stack.reverse();
                out.work(&stack, seen.insert((path, work.frame)), work, &thread, sink)?;
            }
        }
        let alone: Vec<&Work> = works
            .iter()
            .zip(&is_launched)
            .filter(|(_, launched)| !**launched)
            .map(|(work, _)| work)
            .collect();
        for work in &alone {
            let start = out.start(work.owner, sink);
            let stack: Vec<FrameId> =
                start.into_iter().chain([sink.frame(NO_STACK), frames[work.frame as usize]]).collect();
            let ids = [work.owner.process, work.owner.thread].map(|id| id.to_string());
            let thread = Thread { name: b"", pid: ids[0].as_bytes(), tid: ids[1].as_bytes() };
            out.work(&stack, true, work, &thread, sink)?;
        }
        if !alone.is_empty() {
            let alone = alone.len();
            report.note(format!("the launch of {alone} pieces of work of a device is not in the recording"));
        }
        Ok(())
    }
}

/// The receiver of the stacks of all threads.
struct Output<'v> {
    columns: Columns,
    frames: &'v [FrameId],
    name: &'v dyn Fn(Owner) -> Vec<u8>,
    options: &'v CollapseOptions,
    values: &'v mut Values,
    budget: Budget,
}

impl Output<'_> {
    /// The frame of a thread, if it is asked for.
    fn start(&self, owner: Owner, sink: &mut dyn Sink) -> Option<FrameId> {
        self.options.shows_threads(false).then(|| {
            let name = (self.name)(owner);
            let ids = [owner.process, owner.thread].map(|id| id.to_string());
            let mut frame = Vec::new();
            let thread = Thread { name: &name, pid: ids[0].as_bytes(), tid: ids[1].as_bytes() };
            thread.write(self.options, &mut frame);
            sink.frame(&frame)
        })
    }

    /// Adds work with its whole stack.
    fn work(
        &mut self,
        stack: &[FrameId],
        is_new: bool,
        work: &Work,
        thread: &Thread<'_>,
        sink: &mut dyn Sink,
    ) -> Result<()> {
        debug_assert!((work.frame as usize) < self.frames.len(), "a name for each number");
        // A stack that comes again takes time, but no memory.
        self.budget.spend(if is_new { stack.len() } else { stack.len() / 16 })?;
        let lasts = work.end.saturating_sub(work.begin);
        let stream = work.owner.thread.to_string();
        let labels = [(&b"stream"[..], stream.as_bytes())];
        let context = Context { labels: &labels, ..thread.context(Some(work.begin)) };
        let context = if sink.wants().contexts { context } else { Context::UNKNOWN };
        self.values.add_lasting(self.columns.gpu, stack, micros(lasts), 1, (&context, lasts), sink)
    }
}

fn micros(nanos: u64) -> Weight {
    Weight::from_steps(nanos, 3).expect("64 bits and three decimals can be held")
}
