//! The maps of a bpftrace program, of which those with stacks in their keys are values.

use std::collections::HashMap;

use super::PRINTED;
use super::key::Key;
use crate::collapse::kit::names::{FrameNames, NO_STACK};
use crate::collapse::kit::threads::Thread;
use crate::collapse::kit::tracepoint::{Labels, pairs};
use crate::collapse::{CollapseOptions, Context, Report, Sink, Value, ValueSelection, ValueTotal};
use crate::error::Result;
use crate::folded::{FrameId, Weights};
use crate::number;
use crate::weight::Weight;

/// One map, and the samples in it.
#[derive(Default)]
struct Map {
    name: Vec<u8>,
    total: ValueTotal,
    /// True if any of its keys has held a stack.
    has_stacks: bool,
    /// Its root frame, with [`ValueSelection::All`].
    root: Option<FrameId>,
    /// Entries without a stack, read before it was known that others have one.
    waiting: Vec<(Vec<u8>, Weight)>,
}

/// Printed words without the times: `nsecs=12345 comm=sh tid=7` is `comm=sh tid=7`.
fn without_times(words: &[u8]) -> Vec<u8> {
    let is_time = |word: &&[u8]| {
        let value = word.strip_prefix(b"nsecs=").or_else(|| word.strip_prefix(b"elapsed="));
        value.is_some_and(|value| !value.is_empty() && value.iter().all(u8::is_ascii_digit))
    };
    let kept: Vec<&[u8]> = words.split(|&b| b == b' ').filter(|word| !is_time(word)).collect();
    kept.join(&b' ')
}

/// All maps, in the order they came.
pub(super) struct Maps<'o> {
    options: &'o CollapseOptions,
    separator: &'static [u8],
    maps: Vec<Map>,
    by_name: HashMap<Vec<u8>, usize>,
    /// The first that has stacks.
    first: Option<usize>,
    names: FrameNames,
    stack: Vec<FrameId>,
    /// Times are those since the program began.
    since_start: bool,
}

impl<'o> Maps<'o> {
    pub fn new(options: &'o CollapseOptions, separator: &'static [u8]) -> Self {
        Maps {
            options,
            separator,
            maps: Vec::new(),
            by_name: HashMap::new(),
            first: None,
            names: FrameNames::default(),
            stack: Vec::new(),
            since_start: false,
        }
    }

    /// Adds an entry.
    pub fn add(&mut self, name: &[u8], key: &[u8], weight: Weight, sink: &mut dyn Sink) -> Result<()> {
        let at = match self.by_name.get(name) {
            Some(&at) => at,
            None => {
                self.maps.push(Map { name: name.to_owned(), ..Map::default() });
                self.by_name.insert(name.to_owned(), self.maps.len() - 1);
                self.maps.len() - 1
            }
        };
        let map = &mut self.maps[at];
        if !map.has_stacks {
            // The key of a stack that could not be walked is empty.
            if !key.contains(&b'\n') && !key.is_empty() {
                map.waiting.push((key.to_owned(), weight));
                return Ok(());
            }
            map.has_stacks = true;
            let first = *self.first.get_or_insert(at) == at;
            self.maps[at].total.kept = match &self.options.values {
                ValueSelection::Default => first,
                ValueSelection::All => true,
                ValueSelection::Named(_) => self.is_named(at),
            };
            self.release(at, sink)?;
        }
        self.sample(at, key, weight, sink)
    }

    /// Returns whether a map was asked for, with or without its `@`.
    fn is_named(&self, at: usize) -> bool {
        let name = &self.maps[at].name;
        let ValueSelection::Named(names) = &self.options.values else { return false };
        names.iter().any(|wanted| wanted == name || name.strip_prefix(b"@") == Some(wanted))
    }

    fn release(&mut self, at: usize, sink: &mut dyn Sink) -> Result<()> {
        let waiting = std::mem::take(&mut self.maps[at].waiting);
        waiting.iter().try_for_each(|(key, weight)| self.sample(at, key, *weight, sink))
    }

    fn sample(&mut self, at: usize, key: &[u8], weight: Weight, sink: &mut dyn Sink) -> Result<()> {
        let map = &mut self.maps[at];
        let weight = if self.options.count { Weight::ONE } else { weight };
        map.total.add(weight)?;
        if !map.total.kept {
            return Ok(());
        }
        self.stack.clear();
        if self.options.values == ValueSelection::All {
            let names = &mut self.names;
            self.stack.push(*map.root.get_or_insert_with(|| names.plain(&map.name, sink)));
        }
        let is_printed = map.name == PRINTED;
        let separator = if is_printed { b"\n" } else { self.separator };
        let (mut fields, mut words) = (Labels::new(), Vec::new());
        let mut key = Key::parse(key, separator);
        if is_printed {
            key.scalars.iter().for_each(|scalar| pairs(scalar, &mut fields));
            // The time would make every stack another one.
            words.extend(key.scalars.iter().map(|scalar| without_times(scalar)));
            key.scalars = words.iter().map(Vec::as_slice).filter(|scalar| !scalar.is_empty()).collect();
        }
        let above = self.stack.len();
        if self.options.shows_threads(true) || key.stacks.is_empty() {
            self.stack.extend(key.scalars.iter().map(|scalar| self.names.plain(scalar, sink)));
        }
        // The first stack of a key is nearest to the leaf, but kernel stacks are nearer than all others.
        for kernel in [false, true] {
            for (stack, _) in key.stacks.iter().rev().filter(|(_, other)| *other == kernel) {
                let frames = stack.iter().rev();
                self.stack.extend(frames.map(|frame| frame.frame(self.options, &mut self.names, sink)));
            }
        }
        if self.stack.len() == above {
            self.stack.push(self.names.plain(NO_STACK, sink));
        }
        let mut thread = Thread::default();
        let (mut time, mut labels) = (None, Vec::new());
        for (name, value) in &fields {
            match &name[..] {
                b"nsecs" | b"elapsed" => {
                    self.since_start |= name == b"elapsed";
                    time = number::parse(value);
                }
                b"comm" => thread.name = value,
                b"pid" => thread.pid = value,
                b"tid" => thread.tid = value,
                _ => labels.push((&name[..], &value[..])),
            }
        }
        let context = Context { labels: &labels, ..thread.context(time) };
        sink.sample(&self.stack, Weights::one(weight), &context)
    }

    /// Adds the totals to a report, and the maps without stacks that were asked for.
    pub fn finish(mut self, sink: &mut dyn Sink, report: &mut Report) -> Result<()> {
        for at in 0..self.maps.len() {
            if !self.maps[at].has_stacks && self.is_named(at) {
                self.maps[at].has_stacks = true;
                self.maps[at].total.kept = true;
                self.release(at, sink)?;
            }
        }
        if self.since_start {
            report.facts.clock = Some("recording".to_owned());
        }
        for Map { name, total, .. } in self.maps.into_iter().filter(|map| map.has_stacks) {
            let unit = (name == PRINTED).then_some("samples".into());
            report.add_value(Value { name, unit }, total)?;
        }
        Ok(())
    }
}
