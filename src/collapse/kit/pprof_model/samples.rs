//! A profile of pprof's model, gathered in whatever order its parts come: samples name locations,
//! locations name functions, and both may come later in the file.

use std::collections::HashMap;

use super::prune::Left;
use crate::bytes::{push_varint, to_zigzag, varint, zigzag};
use crate::collapse::kit::forest::Budget;
use crate::collapse::kit::names::FrameNames;
use crate::collapse::kit::threads::Thread;
use crate::collapse::kit::values::Values;
use crate::collapse::{CollapseOptions, Context, Report, Sink, Value};
use crate::error::{Error, Result};
use crate::folded::FrameId;
use crate::front_coded::NumberLists;
use crate::number;
use crate::weight::Weight;

/// The labels of a sample, and the thread that they tell of.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Labels {
    pub name: Vec<u8>,
    pub pid: Vec<u8>,
    pub tid: Vec<u8>,
    /// The time of the sample, in nanoseconds; Datadog's profilers have it.
    time: Option<u64>,
    /// Key and value of all others.
    others: Vec<(Vec<u8>, Vec<u8>)>,
}

impl Labels {
    /// Takes a label. Those that tell of a thread are known by the keys that writers use.
    pub fn note(&mut self, key: &[u8], value: &[u8]) {
        let field = match key {
            b"thread" | b"thread_name" | b"thread name" | b"threadname" | b"thread.name" => &mut self.name,
            b"thread_id" | b"thread id" | b"tid" | b"thread.id" => &mut self.tid,
            b"pid" | b"process_id" | b"process id" | b"process.pid" => &mut self.pid,
            b"end_timestamp_ns" => {
                self.time = number::parse(value);
                return;
            }
            _ => {
                self.others.push((key.to_vec(), value.to_vec()));
                return;
            }
        };
        field.clear();
        field.extend_from_slice(value);
    }

    /// The frame of the thread, if anything is known of it.
    pub fn frame(
        &self,
        options: &CollapseOptions,
        names: &mut FrameNames,
        sink: &mut dyn Sink,
    ) -> Option<FrameId> {
        let thread = Thread { name: &self.name, pid: &self.pid, tid: &self.tid };
        let is_known = !(self.name.is_empty() && self.pid.is_empty() && self.tid.is_empty());
        is_known.then(|| names.build(sink, |out| thread.write(options, out)))
    }
}

/// A thread and its labels, ready for samples.
#[derive(Default)]
pub struct Origin {
    /// The root frame of its samples.
    pub frame: Option<FrameId>,
    /// The labels, for a sink that wants contexts.
    pub labels: Labels,
    /// The number of the labels in the sink's exchange.
    pub exchanged: u32,
}

impl Origin {
    /// Calls `each` with the context of its samples.
    fn with_context<T>(&self, each: impl FnOnce(&Context<'_>) -> T) -> T {
        let Labels { name, pid, tid, time, others } = &self.labels;
        let labels: Vec<(&[u8], &[u8])> = others.iter().map(|(key, value)| (&key[..], &value[..])).collect();
        let (process, thread) = (number::parse(pid), number::parse(tid));
        each(&Context { time: *time, process, thread, thread_name: name, labels: &labels })
    }
}

/// The frames of a location, root first, and what is left of it in a stack.
pub struct LocationFrames {
    pub frames: Vec<FrameId>,
    pub left: Left,
}

/// The samples of a profile, by the numbers of their locations.
#[derive(Default)]
pub struct Samples {
    /// The places of locations in `ids`, root first, and behind them the values and the number of the origin.
    lists: NumberLists,
    /// The sample being read: the places, leaf first, and the values.
    open: Vec<u32>,
    values: Vec<u8>,
    value_count: usize,
    /// The values of which some sample has more or less than 0.
    held: Vec<bool>,
    /// The locations that samples name, in the order of appearance.
    ids: Vec<u64>,
    places: IdPlaces,
}

impl Samples {
    /// Adds a location to the sample being read.
    #[inline]
    pub fn location(&mut self, id: u64) {
        let next = self.ids.len() as u32;
        let place = self.places.get_or_insert(id, next);
        if place == next {
            self.ids.push(id);
        }
        self.open.push(place);
    }

    /// Adds a value to the sample being read.
    pub fn value(&mut self, value: i64) {
        if value != 0 {
            self.held.resize(self.held.len().max(self.value_count + 1), false);
            self.held[self.value_count] = true;
        }
        push_varint(to_zigzag(value), &mut self.values);
        self.value_count += 1;
    }

    /// Ends the sample being read, which is of this one of the caller's origins.
    pub fn end(&mut self, thread: usize) {
        push_varint(thread as u64, &mut self.values);
        self.open.reverse();
        self.lists.push(&self.open, &self.values);
        self.open.clear();
        self.values.clear();
        self.value_count = 0;
    }

    /// Returns true if any sample weighs something in one of the values.
    pub fn holds(&self, at: usize) -> bool {
        self.held.get(at).is_some_and(|held| *held)
    }

    /// The locations that samples name.
    pub fn locations(&self) -> &[u64] {
        &self.ids
    }

    /// Pushes all samples. `frames` are those of each location, root first; `origins` are the
    /// threads and labels by the numbers given to [`Samples::end`]; `no_stack` is the frame of a sample
    /// without one. `exchanged` are the values that go to the sink's exchange.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Overflow`], a sample of other than the declared values, and stacks that
    /// would fill the memory.
    pub fn collapse(
        self,
        mut values: Values,
        types: usize,
        (frames, origins, no_stack): (&[LocationFrames], &[Origin], FrameId),
        exchanged: Option<&[usize]>,
        sink: &mut dyn Sink,
        report: &mut Report,
    ) -> Result<()> {
        let contexts = sink.wants().contexts;
        let mut budget = Budget::default();
        let mut stack = SampleStack::new(frames);
        let (mut all, mut weights, mut exchanged_values) = (Vec::new(), Vec::new(), Vec::new());
        let (mut sample, mut shortened) = (0u64, 0u64);
        self.lists.drain(|locations, same, mut behind| {
            sample += 1;
            all.clear();
            all.extend(std::iter::from_fn(|| varint(&mut behind)).map(zigzag));
            let thread = all.pop().map_or(0, to_zigzag);
            if all.len() != types {
                let found = format!("{} in sample {sample}", all.len());
                return Err(Error::malformed(format!("{types} values in each sample"), found.as_bytes()));
            }
            weights.clear();
            weights.extend(all.iter().map(|&value| Weight::new(value.into())));
            let origin = origins.get(thread as usize);
            stack.go_on(locations, same, origin.and_then(|origin| origin.frame), &budget)?;
            shortened += u64::from(stack.is_shortened());
            budget.spend(stack.frames.len())?;
            if locations.is_empty() {
                stack.frames.push(no_stack);
            }
            match origin.filter(|_| contexts) {
                Some(origin) => {
                    origin.with_context(|context| values.sample_at(&stack.frames, &weights, context, sink))?
                }
                None => values.sample(&stack.frames, &weights, sink)?,
            }
            if let Some(columns) = exchanged {
                exchanged_values.clear();
                exchanged_values.extend(columns.iter().map(|&at| all[at]));
                let labels = origin.map_or(0, |origin| origin.exchanged);
                sink.exchange_sample(&stack.frames, labels, &exchanged_values)?;
            }
            Ok(())
        })?;
        if shortened > 0 {
            report.details.push(format!("{shortened} samples without the frames that drop_frames names"));
        }
        values.finish(report)?;
        report.samples_are(&Value::new("samples", "samples"));
        Ok(())
    }
}

/// The frames of one sample after the other: those of locations that neighbours share stay.
struct SampleStack<'f> {
    of_locations: &'f [LocationFrames],
    /// The frames, root first, behind that of the origin.
    frames: Vec<FrameId>,
    origin: Option<FrameId>,
    /// The frames up to each location that was looked at.
    looked_at: Vec<LookedAt>,
}

/// The state behind a location.
#[derive(Clone, Copy)]
struct LookedAt {
    /// The number of frames up to it.
    len: usize,
    /// A frame stays that is not asked to be left out: nothing above the first one is.
    has_frames: bool,
    /// The stack ends with it.
    ends: bool,
}

impl<'f> SampleStack<'f> {
    fn new(of_locations: &'f [LocationFrames]) -> Self {
        SampleStack { of_locations, frames: Vec::new(), origin: None, looked_at: Vec::new() }
    }

    /// Goes on to a sample whose first `same` locations are those of the one before.
    fn go_on(
        &mut self,
        locations: &[u32],
        same: usize,
        origin: Option<FrameId>,
        budget: &Budget,
    ) -> Result<()> {
        let same = if origin == self.origin { same } else { 0 };
        self.origin = origin;
        self.looked_at.truncate(same);
        let last = self.looked_at.last().copied();
        self.frames.truncate(last.map_or(0, |last| last.len));
        if last.is_none() {
            self.frames.extend(origin);
        }
        let mut has_frames = last.is_some_and(|last| last.has_frames);
        if last.is_some_and(|last| last.ends) {
            return Ok(());
        }
        for &place in &locations[self.looked_at.len()..] {
            let LocationFrames { frames, left } = &self.of_locations[place as usize];
            let ends = has_frames && *left != Left::All;
            has_frames |= *left == Left::All;
            if !(ends && *left == Left::None) {
                self.frames.extend_from_slice(frames);
                budget.check(self.frames.len())?;
            }
            self.looked_at.push(LookedAt { len: self.frames.len(), has_frames, ends });
            if ends {
                break;
            }
        }
        Ok(())
    }

    /// Returns true if the stack ends before its leaf.
    fn is_shortened(&self) -> bool {
        self.looked_at.last().is_some_and(|last| last.ends)
    }
}

/// A number for each id of a location. Most writers count them from 1 on.
#[derive(Default)]
struct IdPlaces {
    /// The numbers of small ids, and one; 0 is none.
    small: Vec<u32>,
    others: HashMap<u64, u32>,
}

/// The ids below it are small. Their numbers take a megabyte.
const SMALL: u64 = 1 << 18;

impl IdPlaces {
    /// The number of an id, which is `next` for a new one.
    #[inline]
    fn get_or_insert(&mut self, id: u64, next: u32) -> u32 {
        match self.small.get(id as usize) {
            Some(&place) if id < SMALL && place > 0 => place - 1,
            _ => self.insert(id, next),
        }
    }

    #[cold]
    fn insert(&mut self, id: u64, next: u32) -> u32 {
        if id >= SMALL {
            return *self.others.entry(id).or_insert(next);
        }
        let at = id as usize;
        self.small.resize(self.small.len().max(at + 1), 0);
        self.small[at] = next + 1;
        next
    }
}

/// The weight of a sample, its rate and the event, if the period is that of the one kept value.
pub fn note_period(values: &Values, kind: &Value, period: Weight, report: &mut Report) {
    /// Nanoseconds in a second.
    const SECOND: f64 = 1e9;
    /// No sampler is faster, in nanoseconds: Datadog's say 1 where the time is measured.
    const SHORTEST: Weight = Weight::new(1000);
    let is_time = kind.unit.as_deref() == Some("ns");
    let is_none = period <= Weight::ZERO || (is_time && period < SHORTEST);
    if is_none || values.kept() != Some(kind) {
        return;
    }
    report.facts.period = Some(period);
    if is_time {
        let rate = (SECOND / period.to_f64()).round();
        report.facts.rate = (rate >= 1.0).then_some(rate as u64);
    }
}

/// The last of the types, unless the profile names another: that is pprof's own rule.
pub fn default_of(types: &[Value], named: &[u8]) -> usize {
    types
        .iter()
        .position(|value| !named.is_empty() && value.name == named)
        .unwrap_or(types.len().saturating_sub(1))
}
