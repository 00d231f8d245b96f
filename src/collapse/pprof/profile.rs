//! A profile of pprof's model, gathered in whatever order its parts come: samples name locations,
//! locations name functions, and both may come later in the file.

use std::collections::HashMap;

use crate::collapse::forest::Budget;
use crate::collapse::names::{NO_STACK, Names};
use crate::collapse::threads::Thread;
use crate::collapse::values::Values;
use crate::collapse::{Options, Report, Sink, Value};
use crate::error::{Error, Result};
use crate::folded::FrameId;
use crate::weight::Weight;

/// A thread as a sample's labels tell it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Labels {
    pub name: Vec<u8>,
    pub pid: Vec<u8>,
    pub tid: Vec<u8>,
}

impl Labels {
    /// Takes a label that tells of a thread, by the keys that writers use.
    pub fn note(&mut self, key: &[u8], value: &[u8]) {
        let field = match key {
            b"thread" | b"thread_name" | b"thread name" | b"threadname" => &mut self.name,
            b"thread_id" | b"thread id" | b"tid" => &mut self.tid,
            b"pid" | b"process_id" | b"process id" => &mut self.pid,
            _ => return,
        };
        field.clear();
        field.extend_from_slice(value);
    }

    /// The frame of the thread, if anything is known of it.
    pub fn frame(&self, options: &Options, names: &mut Names, sink: &mut dyn Sink) -> Option<FrameId> {
        let thread = Thread { name: &self.name, pid: &self.pid, tid: &self.tid };
        (*self != Labels::default()).then(|| names.build(sink, |out| thread.write(options, out)))
    }
}

/// The samples of a profile, by the numbers of their locations.
#[derive(Default)]
pub struct Samples {
    /// The places of locations in `ids`, leaf first, one sample after the other.
    locations: Vec<u32>,
    values: Vec<i64>,
    /// Where each sample ends in `locations` and `values`, and which thread it is of.
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

    /// Ends the sample being read, which is of this of the caller's threads.
    pub fn end(&mut self, thread: usize) {
        self.ends.push((self.locations.len(), self.values.len(), thread as u32));
    }

    /// The locations that samples name.
    pub fn locations(&self) -> &[u64] {
        &self.ids
    }

    /// Pushes all samples. `declared` are the values of each, with the default; `frames` are those of each location, root first, `threads` those of
    /// the threads.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Overflow`], a sample of other than the declared values, and stacks that
    /// would fill the memory.
    pub fn collapse(
        &self,
        (declared, default): (Vec<Value>, usize),
        (frames, threads): (&[Vec<FrameId>], &[Option<FrameId>]),
        options: &Options,
        sink: &mut dyn Sink,
        report: &mut Report,
    ) -> Result<()> {
        let types = declared.len();
        let mut values = Values::new(options, declared, default)?;
        let no_stack = sink.frame(NO_STACK);
        let mut budget = Budget::default();
        let (mut stack, mut weights) = (Vec::new(), Vec::new());
        let (mut location, mut value) = (0, 0);
        for (sample, &(locations_end, values_end, thread)) in self.ends.iter().enumerate() {
            if values_end - value != types {
                let found = format!("{} in sample {}", values_end - value, sample + 1);
                return Err(Error::malformed(format!("{types} values in each sample"), found.as_bytes()));
            }
            weights.clear();
            weights.extend(self.values[value..values_end].iter().map(|&value| Weight::new(value.into())));
            stack.clear();
            stack.extend(threads.get(thread as usize).copied().flatten());
            for &place in self.locations[location..locations_end].iter().rev() {
                stack.extend_from_slice(&frames[place as usize]);
                budget.check(stack.len())?;
            }
            budget.spend(stack.len())?;
            if location == locations_end {
                stack.push(no_stack);
            }
            values.sample(&stack, &weights, sink)?;
            (location, value) = (locations_end, values_end);
        }
        values.finish(report)
    }
}

/// The last of the types, unless the profile names another: that is pprof's own rule.
pub fn default_of(types: &[Value], named: &[u8]) -> usize {
    types
        .iter()
        .position(|value| !named.is_empty() && value.name == named)
        .unwrap_or(types.len().saturating_sub(1))
}
