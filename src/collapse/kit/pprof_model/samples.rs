//! A profile of pprof's model, gathered in whatever order its parts come: samples name locations,
//! locations name functions, and both may come later in the file.

use std::collections::HashMap;

use super::prune::Left;
use crate::collapse::kit::forest::Budget;
use crate::collapse::kit::names::FrameNames;
use crate::collapse::kit::threads::Thread;
use crate::collapse::kit::values::Values;
use crate::collapse::{CollapseOptions, Context, Report, Sink, Value};
use crate::error::{Error, Result};
use crate::folded::FrameId;
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
    /// The places of locations in `ids`, leaf first, one sample after the other.
    locations: Vec<u32>,
    values: Vec<i64>,
    /// The end of each sample in `locations` and `values`, and the number of its origin.
    ends: Vec<(usize, usize, u32)>,
    /// The locations that samples name, in the order of appearance.
    ids: Vec<u64>,
    places: HashMap<u64, u32>,
}

impl Samples {
    /// Adds a location to the sample being read.
    pub fn location(&mut self, id: u64) {
        let next = self.ids.len() as u32;
        let place = *self.places.entry(id).or_insert(next);
        if place == next {
            self.ids.push(id);
        }
        self.locations.push(place);
    }

    /// Adds a value to the sample being read.
    pub fn value(&mut self, value: i64) {
        self.values.push(value);
    }

    /// Ends the sample being read, which is of this one of the caller's origins.
    pub fn end(&mut self, thread: usize) {
        self.ends.push((self.locations.len(), self.values.len(), thread as u32));
    }

    /// Returns true if any sample weighs something in one of `types` values.
    pub fn holds(&self, at: usize, types: usize) -> bool {
        self.values.iter().skip(at).step_by(types).any(|value| *value != 0)
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
        &self,
        mut values: Values,
        types: usize,
        (frames, origins, no_stack): (&[LocationFrames], &[Origin], FrameId),
        exchanged: Option<&[usize]>,
        sink: &mut dyn Sink,
        report: &mut Report,
    ) -> Result<()> {
        let contexts = sink.wants().contexts;
        let mut budget = Budget::default();
        let (mut stack, mut weights) = (Vec::new(), Vec::new());
        let (mut location, mut value) = (0, 0);
        let mut shortened = 0u64;
        let mut all_values = Vec::new();
        for (sample, &(locations_end, values_end, thread)) in self.ends.iter().enumerate() {
            if values_end - value != types {
                let found = format!("{} in sample {}", values_end - value, sample + 1);
                return Err(Error::malformed(format!("{types} values in each sample"), found.as_bytes()));
            }
            weights.clear();
            weights.extend(self.values[value..values_end].iter().map(|&value| Weight::new(value.into())));
            stack.clear();
            let origin = origins.get(thread as usize);
            stack.extend(origin.and_then(|origin| origin.frame));
            // Nothing above the first frame that stays is left out.
            let mut has_frames = false;
            for &place in self.locations[location..locations_end].iter().rev() {
                let LocationFrames { frames, left } = &frames[place as usize];
                let ends = has_frames && *left != Left::All;
                has_frames |= *left == Left::All;
                if !(ends && *left == Left::None) {
                    stack.extend_from_slice(frames);
                    budget.check(stack.len())?;
                }
                if ends {
                    shortened += 1;
                    break;
                }
            }
            budget.spend(stack.len())?;
            if location == locations_end {
                stack.push(no_stack);
            }
            match origin.filter(|_| contexts) {
                Some(origin) => {
                    origin.with_context(|context| values.sample_at(&stack, &weights, context, sink))?
                }
                None => values.sample(&stack, &weights, sink)?,
            }
            if let Some(columns) = exchanged {
                all_values.clear();
                all_values.extend(columns.iter().map(|at| self.values[value + at]));
                let labels = origin.map_or(0, |origin| origin.exchanged);
                sink.exchange_sample(&stack, labels, &all_values)?;
            }
            (location, value) = (locations_end, values_end);
        }
        if shortened > 0 {
            report.details.push(format!("{shortened} samples without the frames that drop_frames names"));
        }
        values.finish(report)?;
        report.samples_are(&Value::new("samples", "samples"));
        Ok(())
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
