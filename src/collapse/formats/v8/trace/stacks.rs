//! The stacks of a trace that has been read: its values, and what has which weight in each.

use std::collections::{BTreeSet, HashSet};

use super::device::Work;
use super::{Events, ThreadKey, ThreadProfile};
use crate::collapse::formats::v8::call_tree::Flaws;
use crate::collapse::kit::forest::Budget;
use crate::collapse::kit::names::NO_STACK;
use crate::collapse::kit::spans::{Launch, Met, Misplaced, Span};
use crate::collapse::kit::threads::Thread;
use crate::collapse::kit::times::{duration, lasting, nanoseconds};
use crate::collapse::kit::trie::{PathId, Trie};
use crate::collapse::kit::values::Values;
use crate::collapse::{CollapseOptions, Context, Report, Sink, Value};
use crate::error::Result;
use crate::folded::FrameId;
use crate::weight::Weight;

/// The numbers of the values among those that are declared.
struct Columns {
    samples: usize,
    events: usize,
    tasks: usize,
    gpu: usize,
    /// Bytes of the processor's memory, and of other memory.
    allocated: [usize; 2],
}

/// A weight on a path besides the time of its spans.
struct Extra {
    path: PathId,
    /// A frame below the path.
    leaf: Option<FrameId>,
    column: usize,
    weight: Weight,
    at: Weight,
    /// Nanoseconds.
    lasts: u64,
    /// The number of the stream that it is of, if it is not the thread itself.
    stream: Option<usize>,
}

impl Events {
    /// Hands all stacks to the sink.
    ///
    /// # Errors
    /// Those of the sink, and values that are not there.
    pub fn collapse(
        &mut self,
        options: &CollapseOptions,
        sink: &mut dyn Sink,
        report: &mut Report,
    ) -> Result<()> {
        let repeated = self.split_devices();
        let profiles = self.profiles();
        let (mut values, columns) = self.declare(&profiles, options)?;
        let frames = std::mem::take(&mut self.stack_frames);
        let sampled: BTreeSet<ThreadKey> = frames.threads().cloned().collect();
        let threads: BTreeSet<&ThreadKey> =
            self.threads.keys().chain(self.tasks.values().map(|(thread, _)| thread)).collect();
        let several = threads.len() > 1 || profiles.len() > 1 || sampled.len() > 1;
        frames.for_each(sink, report, |sample, time, frames, sink| {
            let thread = &sample.thread;
            let mut stack: Vec<FrameId> = self.start(thread, several, options, sink).into_iter().collect();
            stack.extend_from_slice(frames);
            let label = [(&b"tag"[..], sample.tag.as_bytes())];
            let mut context = self.thread(thread).context(time);
            context.labels = if sample.tag.is_empty() { &[] } else { &label };
            values.add_at(columns.samples, &stack, sample.weight, 1, &context, sink)
        })?;
        let mut flaws = Flaws::default();
        for ThreadProfile { thread, mut tree } in profiles {
            let start = thread.as_ref().and_then(|thread| self.start(thread, several, options, sink));
            let no_thread = (String::new(), String::new());
            let key = thread.as_ref().unwrap_or(&no_thread);
            tree.collapse(start, &self.thread(key).context(None), &mut values, sink)?;
            flaws.merge(&tree.flaws)?;
        }
        flaws.note(report);
        if let (Some(first), Some(last)) = (self.first, self.last) {
            report.facts.duration = last.checked_sub(first).ok().and_then(|passed| duration(passed, "us"));
        }
        self.spans(several, &columns, &mut values, options, sink, report)?;
        self.work_without_launch(&columns, &mut values, options, sink, report)?;
        if self.without_stack > 0 {
            report.note(format!(
                "{} events have no stack (counters, instants, flows, …); they are left out",
                self.without_stack
            ));
        }
        if self.sums > 0 {
            report.details.push(format!("{} events are sums of others; they are left out", self.sums));
        }
        if repeated > 0 {
            report.note(format!("{repeated} events summarise the work of a device; they are left out"));
        }
        values.finish(report)
    }

    /// Moves the work in processes of devices, as JAX names them, to the other work, and removes what only
    /// summarises that: modules, steps. Returns the number of what was removed.
    fn split_devices(&mut self) -> u64 {
        let is_device = |process: &String| {
            self.process_names.get(process).is_some_and(|name| name.starts_with("/device:"))
        };
        let mut working = HashSet::new();
        for (key, spans) in self.threads.iter_mut().filter(|(key, _)| is_device(&key.0)) {
            let all = spans.whole.len();
            spans.whole.retain(|span| {
                let is_work = span.launch.correlation.is_some();
                if is_work {
                    self.device.push(key, *span);
                }
                !is_work
            });
            if spans.whole.len() < all {
                working.insert(key.0.clone());
            }
        }
        let mut removed = 0;
        self.threads.retain(|key, spans| {
            let is_summary = working.contains(&key.0);
            removed += if is_summary { spans.whole.len() as u64 } else { 0 };
            !is_summary
        });
        removed
    }

    /// The values that there are.
    fn declare(&self, profiles: &[ThreadProfile], options: &CollapseOptions) -> Result<(Values, Columns)> {
        let mut declared: Vec<Value> = Vec::new();
        let mut declare = |is_there: bool, name: &str, unit: &'static str| {
            declared.extend(is_there.then(|| Value::new(name, unit)));
            declared.len().saturating_sub(1)
        };
        let timed = profiles.iter().any(|profile| profile.tree.is_timed());
        declare(!profiles.is_empty(), "cpu-profile", if timed { "us" } else { "samples" });
        let samples = declare(!self.stack_frames.is_empty(), "samples", "samples");
        let nothing = profiles.is_empty() && self.stack_frames.is_empty() && self.device.is_empty();
        let has_spans = self.threads.values().any(|spans| !spans.is_empty());
        let has_tasks = self.tasks.values().any(|(_, spans)| !spans.is_empty());
        let events = declare(has_spans || nothing && !has_tasks, "events", "us");
        let tasks = declare(has_tasks, "async", "us");
        let gpu = declare(!self.device.is_empty(), "gpu", "us");
        let has_bytes = |kind: usize| {
            self.threads.values().flat_map(|spans| &spans.moments).any(|moment| moment.kind == kind)
        };
        let allocated = declare(has_bytes(0), "allocated", "bytes");
        let allocated = [allocated, declare(has_bytes(1), "gpu-allocated", "bytes")];
        Ok((Values::new(options, declared, 0)?, Columns { samples, events, tasks, gpu, allocated }))
    }

    /// The stacks of what begins and ends, and of what was launched and allocated there.
    fn spans(
        &mut self,
        several: bool,
        columns: &Columns,
        values: &mut Values,
        options: &CollapseOptions,
        sink: &mut dyn Sink,
        report: &mut Report,
    ) -> Result<()> {
        let threads = std::mem::take(&mut self.threads);
        self.device.await_launches(threads.values().flat_map(|spans| &spans.whole));
        let (mut misplaced, contexts) = (Misplaced::default(), sink.wants().contexts);
        let mut budget = Budget::default();
        let tasks = std::mem::take(&mut self.tasks);
        let of_threads = threads.into_iter().map(|(thread, spans)| (thread, columns.events, spans));
        let of_tasks = tasks.into_values().map(|(thread, spans)| (thread, columns.tasks, spans));
        for (thread, column, spans) in of_threads.chain(of_tasks) {
            let start = self.start(&thread, several, options, sink);
            let mut stacks = Trie::new(contexts);
            let mut extras: Vec<Extra> = Vec::new();
            let found =
                spans.collapse(&mut stacks, |met, path| self.take_extras(&mut extras, met, path, columns))?;
            if column == columns.events || values.is_kept(column) {
                misplaced += found;
            }
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
                    values.add_lasting(column, stack, sampled.weight, sampled.samples, context, sink)
                },
            )?;
            extras.retain(|extra| !extra.weight.is_zero());
            self.extra_stacks(&extras, &stacks, (start, owner), &mut budget, values, sink)?;
        }
        let Misplaced { unbegun, overlapping } = misplaced;
        if unbegun > 0 {
            report.warn(format!("{unbegun} events end that have not begun; they are left out"));
        }
        if overlapping > 0 {
            report.warn(format!(
                "{overlapping} events outlast the event they lie in, as no call does; what is behind its end is left out"
            ));
        }
        Ok(())
    }

    /// Adds the work that a span launched, or the allocation of a moment.
    fn take_extras(
        &mut self,
        extras: &mut Vec<Extra>,
        met: Met<'_>,
        path: PathId,
        columns: &Columns,
    ) -> Result<()> {
        match met {
            Met::Span(Span { launch: Launch { correlation: None, external: None }, .. }) => {}
            Met::Span(span) => {
                for work in self.device.launched_by(span) {
                    extras.push(Extra::of_work(&work, path, columns.gpu)?);
                }
            }
            Met::Moment(moment) => extras.push(Extra {
                path,
                leaf: None,
                column: columns.allocated[moment.kind],
                weight: moment.weight,
                at: moment.at,
                lasts: 0,
                stream: None,
            }),
        }
        Ok(())
    }

    /// Adds the stacks of the work and the allocations of a thread, whose first frame is `start`.
    fn extra_stacks(
        &self,
        extras: &[Extra],
        stacks: &Trie,
        (start, owner): (Option<FrameId>, Thread<'_>),
        budget: &mut Budget,
        values: &mut Values,
        sink: &mut dyn Sink,
    ) -> Result<()> {
        let mut seen = HashSet::new();
        let mut stack = Vec::new();
        for extra in extras {
            stack.clear();
            stack.extend(extra.leaf);
            let mut at = extra.path;
            while let Some((above, number)) = stacks.above(at) {
                stack.push(FrameId(number));
                budget.check(stack.len())?;
                at = above;
            }
            stack.extend(start);
            if stack.is_empty() {
                stack.push(sink.frame(NO_STACK));
            }
            stack.reverse();
            // A stack that comes again takes time, but no memory.
            let is_new = seen.insert((extra.path, extra.leaf));
            budget.spend(if is_new { stack.len() } else { stack.len() / 16 })?;
            let owner = extra.stream.map_or(owner, |stream| self.thread(self.device.stream(stream)));
            let context = (&owner.context(nanoseconds(extra.at, "us")), extra.lasts);
            values.add_lasting(extra.column, &stack, extra.weight, 1, context, sink)?;
        }
        Ok(())
    }

    /// Work whose launch is not in the trace.
    fn work_without_launch(
        &self,
        columns: &Columns,
        values: &mut Values,
        options: &CollapseOptions,
        sink: &mut dyn Sink,
        report: &mut Report,
    ) -> Result<()> {
        let works = self.device.not_launched();
        for work in &works {
            let key = self.device.stream(work.stream);
            let start = self.start(key, false, options, sink);
            let extra = Extra::of_work(work, Trie::ROOT, columns.gpu)?;
            let stack: Vec<FrameId> =
                start.into_iter().chain([sink.frame(NO_STACK)]).chain(extra.leaf).collect();
            let context = (&self.thread(key).context(nanoseconds(extra.at, "us")), extra.lasts);
            values.add_lasting(columns.gpu, &stack, extra.weight, 1, context, sink)?;
        }
        if !works.is_empty() {
            let works = works.len();
            report.note(format!("the launch of {works} pieces of work of a device is not in the trace"));
        }
        Ok(())
    }

    /// The frame of a thread: where there are several, those that the trace names.
    fn start(
        &self,
        key: &ThreadKey,
        several: bool,
        options: &CollapseOptions,
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

impl Extra {
    fn of_work(work: &Work, path: PathId, column: usize) -> Result<Extra> {
        let Span { begin, end, frame, .. } = work.span;
        Ok(Extra {
            path,
            leaf: Some(frame),
            column,
            weight: end.checked_sub(begin)?,
            at: begin,
            lasts: lasting(begin, end, "us"),
            stream: Some(work.stream),
        })
    }
}
