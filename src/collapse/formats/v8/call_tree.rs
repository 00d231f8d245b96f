//! The tree of calls of a processor profile, with the samples taken in it.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use super::CallFrame;
use super::samples::{Margins, Samples};
use crate::collapse::kit::forest::{Forest, Node};
use crate::collapse::kit::json::{Json, Kind};
use crate::collapse::kit::names::FrameNames;
use crate::collapse::kit::times::nanoseconds;
use crate::collapse::kit::values::Values;
use crate::collapse::{Context, Report, Sink};
use crate::error::{Error, ErrorKind, Result};
use crate::folded::FrameId;
use crate::weight::Weight;

/// The parts of profiles that were left out, or do not belong to a stack.
#[derive(Default)]
pub struct Flaws {
    /// Samples of nodes that do not exist, and their time.
    pub samples: u64,
    time: Weight,
    /// Samples without a time among others.
    untimed: u64,
    /// Nodes that name a parent or child that does not exist.
    links: u64,
    /// The time before the first sample.
    before: Weight,
    /// The time between the last sample and an end that is too far away.
    behind: Weight,
}

impl Flaws {
    /// Adds those of another profile.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Overflow`].
    pub fn merge(&mut self, other: &Flaws) -> Result<()> {
        self.samples += other.samples;
        self.untimed += other.untimed;
        self.links += other.links;
        self.time = self.time.checked_add(other.time)?;
        self.before = self.before.checked_add(other.before)?;
        self.behind = self.behind.checked_add(other.behind)?;
        Ok(())
    }

    /// Counts a sample of a node that does not exist.
    fn sample(&mut self, lasts: Weight, values: &Values) -> Result<()> {
        self.samples += 1;
        // Without times a sample weighs 1, which says no more.
        if values.kept().is_some_and(|value| value.unit.as_deref() == Some("us")) {
            self.time = self.time.checked_add(lasts)?;
        }
        Ok(())
    }

    /// Says what there was.
    pub fn note(&self, report: &mut Report) {
        let Flaws { samples, time, untimed, links, before, behind } = self;
        if *samples > 0 {
            let time = if time.is_zero() { String::new() } else { format!(" ({time} us)") };
            report
                .doubt(format!("{samples} samples{time} are of nodes that do not exist; they are left out"));
        }
        if *links > 0 {
            report.doubt(format!("{links} nodes name a parent or child that does not exist"));
        }
        if *untimed > 0 {
            report.doubt(format!("{untimed} samples have no time; they weigh nothing"));
        }
        if !behind.is_zero() {
            report.doubt(format!("the end is {behind} us behind the last sample; they are left out"));
        }
        if !before.is_zero() {
            report.details.push(format!("{before} us before the first sample belong to no stack"));
        }
    }
}

/// A tree of calls and the samples taken in it; traces hold several, in pieces.
#[derive(Default)]
pub struct Tree {
    pub(super) forest: Forest,
    /// The node of each id.
    pub(super) places: HashMap<u64, Node>,
    /// The `(root)`, which is no frame.
    pub(super) root: Option<usize>,
    /// Whom a node is below, by id, where the node says so itself.
    parents: Vec<(Node, u64)>,
    /// Nodes and the ids below them.
    children: Vec<(Node, u64)>,
    pub(super) hits: Vec<(Node, i64)>,
    pub(super) samples: Samples,
    /// The times at which the profile, and so the first delta, begins and ends, in microseconds.
    pub start: Option<Weight>,
    pub end: Option<Weight>,
    /// The parts of it that were left out.
    pub flaws: Flaws,
    /// The nodes came as a tree below `head`.
    pub(super) has_head: bool,
    /// Those nodes all have the same id, which is 0.
    pub(super) has_no_ids: bool,
    pub(super) names: FrameNames,
    pub(super) call: CallFrame,
}

impl Tree {
    /// Reads the array `nodes`.
    ///
    /// # Errors
    /// Anything but such an array.
    pub fn nodes(&mut self, json: &mut Json, sink: &mut dyn Sink) -> Result<()> {
        let mut key = String::new();
        json.begin_array()?;
        while json.next_item()? {
            let node = self.forest.add(FrameId(0), None);
            let mut id = None;
            let mut named = false;
            json.begin_object()?;
            while json.next_key(&mut key)? {
                match key.as_str() {
                    "id" => id = json.index()?.map(|id| id as u64),
                    "callFrame" => {
                        self.call.read(json)?;
                        named = true;
                    }
                    // Before Chrome 60 what is in a `callFrame` stood in the node.
                    "functionName" => {
                        self.call.name = json.text()?.to_owned();
                        named = true;
                    }
                    "url" => self.call.url = json.text()?.to_owned(),
                    "lineNumber" => self.call.line = json.integer()? - 1,
                    "hitCount" => self.hits.push((node, json.integer()?)),
                    "parent" => self.parents.extend(json.index()?.map(|id| (node, id as u64))),
                    "children" if json.peek()? == Kind::Null => json.skip()?,
                    "children" => {
                        json.begin_array()?;
                        while json.next_item()? {
                            self.children.extend(json.index()?.map(|id| (node, id as u64)));
                        }
                    }
                    _ => json.skip()?,
                }
            }
            let Some(id) = id.filter(|_| named) else {
                return Err(Error::malformed("a node with id and callFrame", b"another").at(json.place()));
            };
            self.place(id, node).map_err(|e| e.at(json.place()))?;
            if self.call.is_root() {
                self.root = Some(node.0);
            }
            let frame = self.call.frame(&mut self.names, sink);
            self.forest.set_frame(node, frame);
        }
        Ok(())
    }

    /// Gives a node its id.
    pub(super) fn place(&mut self, id: u64, node: Node) -> Result<()> {
        match self.places.insert(id, node) {
            None => Ok(()),
            // Some writers give them none.
            Some(_) if id == 0 && self.has_head => {
                self.has_no_ids = true;
                Ok(())
            }
            Some(_) if id == 0 => {
                let what =
                    "a profile whose nodes have no numbers, without which none is the caller of another";
                let instead = "record it with a V8 of today: node --cpu-prof, or Chrome's DevTools";
                Err(ErrorKind::KnownUnsupported { what, instead }.into())
            }
            Some(_) => Err(Error::malformed("nodes of different ids", id.to_string().as_bytes())),
        }
    }

    /// Reads the array `samples`.
    ///
    /// # Errors
    /// Anything but such an array.
    pub fn samples(&mut self, json: &mut Json) -> Result<()> {
        json.begin_array()?;
        while json.next_item()? {
            self.samples.push(json.integer()?);
        }
        Ok(())
    }

    /// Reads the array `timeDeltas`.
    ///
    /// # Errors
    /// Anything but such an array.
    pub fn deltas(&mut self, json: &mut Json) -> Result<()> {
        json.begin_array()?;
        while json.next_item()? {
            self.samples.push_delta(json.weight()?);
        }
        Ok(())
    }

    /// Returns whether no sample was read.
    pub fn is_empty(&self) -> bool {
        self.samples.is_empty() && self.hits.is_empty()
    }

    /// Returns whether samples have times.
    pub fn is_timed(&self) -> bool {
        self.samples.is_timed()
    }

    /// Adds a piece, whose nodes may be below those that are there. A node that is there already stays.
    pub fn absorb(&mut self, piece: Tree) {
        let first = self.forest.len();
        let moved = |node: Node| Node(first + node.0);
        for node in 0..piece.forest.len() {
            self.forest.add(piece.forest.frame(Node(node)), None);
        }
        for (id, node) in piece.places {
            self.places.entry(id).or_insert(moved(node));
        }
        self.root = self.root.or(piece.root.map(|root| first + root));
        self.parents.extend(piece.parents.into_iter().map(|(node, id)| (moved(node), id)));
        self.children.extend(piece.children.into_iter().map(|(node, id)| (moved(node), id)));
        self.hits.extend(piece.hits.into_iter().map(|(node, hits)| (moved(node), hits)));
        self.samples.append(piece.samples);
        self.start = piece.start.or(self.start);
        self.end = piece.end.or(self.end);
    }

    /// Pushes all samples, below `above`: the time that they stand for is the first value. A sink that wants
    /// contexts gets each sample by itself, in the thread of `context`.
    ///
    /// # Errors
    /// Circles, and [`crate::ErrorKind::Overflow`].
    pub fn collapse(
        &mut self,
        above: Option<FrameId>,
        context: &Context<'_>,
        values: &mut Values,
        sink: &mut dyn Sink,
    ) -> Result<()> {
        self.link();
        let whole = match (self.start, self.end) {
            (Some(start), Some(end)) => Some(end.checked_sub(start)?),
            _ => None,
        };
        let margins = self.samples.settle(whole)?;
        self.flaws.before = margins.before;
        self.flaws.behind = margins.not_believed.unwrap_or_default();
        self.flaws.untimed = self.samples.untimed;
        if sink.wants().contexts && !self.samples.is_empty() {
            return self.push_each(&margins, above, context, values, sink);
        }
        // For each node what its samples weigh, and how many they are.
        let mut sums = vec![(Weight::ZERO, 0i128); self.forest.len()];
        let (places, flaws) = (&self.places, &mut self.flaws);
        self.samples.for_each(&margins, |id, _, lasts| {
            let Some(node) = places.get(&u64::from(id)) else { return flaws.sample(lasts, values) };
            let (time, count) = &mut sums[node.0];
            *count += 1;
            *time = time.checked_add(lasts)?;
            Ok(())
        })?;
        if self.samples.is_empty() {
            for (node, hits) in &self.hits {
                let (weight, count) = &mut sums[node.0];
                *count += i128::from(*hits);
                *weight = weight.checked_add(Weight::new((*hits).into()))?;
            }
        }
        let mut stack = Vec::new();
        for (node, (weight, count)) in sums.into_iter().enumerate().filter(|(_, (_, count))| *count != 0) {
            stack.clear();
            stack.extend(above);
            self.forest.stack(node, &mut stack)?;
            let weight = if values.counts() { Weight::new(count) } else { weight };
            values.add_many(0, &stack, weight, count.unsigned_abs() as u64, sink)?;
        }
        Ok(())
    }

    /// Pushes the samples one by one, with their times.
    fn push_each(
        &mut self,
        margins: &Margins,
        above: Option<FrameId>,
        context: &Context<'_>,
        values: &mut Values,
        sink: &mut dyn Sink,
    ) -> Result<()> {
        let Tree { samples, places, forest, flaws, start, .. } = self;
        let start = start.and_then(|start| nanoseconds(start, "us")).unwrap_or(0);
        let mut stacks: HashMap<u32, Vec<FrameId>> = HashMap::new();
        samples.for_each(margins, |id, at, lasts| {
            let stack = match stacks.entry(id) {
                Entry::Occupied(known) => known.into_mut(),
                Entry::Vacant(new) => {
                    let Some(node) = places.get(&u64::from(id)) else { return flaws.sample(lasts, values) };
                    let mut stack: Vec<FrameId> = above.into_iter().collect();
                    forest.stack(node.0, &mut stack)?;
                    new.insert(stack)
                }
            };
            let time = at.and_then(|at| nanoseconds(at, "us")).map(|at| at.saturating_add(start));
            let weight = if values.counts() { Weight::ONE } else { lasts };
            let duration = nanoseconds(lasts, "us").filter(|_| time.is_some()).unwrap_or(0);
            let context = Context { time, ..*context };
            values.add_lasting(0, stack, weight, 1, (&context, duration), sink)
        })
    }

    /// Hangs nodes below one another, and leaves out the root.
    fn link(&mut self) {
        for (parent, id) in std::mem::take(&mut self.children) {
            match self.places.get(&id) {
                Some(child) => self.hang(*child, parent),
                None => self.flaws.links += 1,
            }
        }
        for (child, id) in std::mem::take(&mut self.parents) {
            match self.places.get(&id) {
                Some(parent) => self.hang(child, *parent),
                None => self.flaws.links += 1,
            }
        }
    }

    fn hang(&mut self, child: Node, parent: Node) {
        self.forest.set_parent(child, Some(parent.0).filter(|parent| Some(*parent) != self.root));
    }
}
