//! `.cpuprofile`: `node --cpu-prof`, Chrome's DevTools, and others that write the same (seen: Node
//! 20).
//!
//! ```text
//! {"nodes": [{"id": 1, "callFrame": {"functionName": "(root)", …}, "hitCount": 0, "children": [2]},
//!            {"id": 2, "callFrame": {"functionName": "fib", "url": "file:///a.js", "lineNumber": 3,
//!             …}, …}],
//!  "startTime": 1, "endTime": 9, "samples": [2, 2, 1], "timeDeltas": [0, 1250, 1250]}
//! ```
//! A sample names the node where it was taken, and weighs the time since the sample before it, so
//! that all together weigh what `timeDeltas` add up to. Counts are of `samples`; `hitCount`, which
//! V8 does not keep equal to them, is used only where there are none. Specified as `Profile` of
//! the Chrome DevTools protocol.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use super::CallFrame;
use crate::collapse::forest::{Forest, Node};
use crate::collapse::json::{HeadKeys, Json, Kind};
use crate::collapse::names::FrameNames;
use crate::collapse::times::{duration, nanoseconds};
use crate::collapse::values::Values;
use crate::collapse::{Collapser, Context, FormatInfo, Options, Report, Sink, Verdict};
use crate::error::{Error, Result};
use crate::folded::FrameId;
use crate::input::Input;
use crate::weight::Weight;

const INFO: FormatInfo = FormatInfo {
    name: "cpuprofile",
    producer: "node --cpu-prof, Chrome DevTools: V8 .cpuprofile",
    tested: "Node 20",
    values: "time",
    unit: "us",
};

/// Collapses V8's profiles of the processor.
pub struct CpuProfile;

impl Collapser for CpuProfile {
    fn info(&self) -> &'static FormatInfo {
        &INFO
    }

    fn detect(&self, head: &[u8]) -> Verdict {
        let Some(keys) = HeadKeys::read(head).filter(|keys| !keys.array) else { return Verdict::No };
        let nodes = keys.has_all(&["nodes.id", "nodes.callFrame.functionName"]);
        if nodes || keys.has_all(&["samples", "timeDeltas", "startTime"]) {
            Verdict::Yes
        } else {
            Verdict::No
        }
    }

    fn collapse(
        &self,
        input: Input,
        options: &Options,
        sink: &mut dyn Sink,
        report: &mut Report,
    ) -> Result<()> {
        let mut json = Json::new(input);
        let mut tree = Tree::default();
        let (mut start, mut end) = (None, None);
        let mut key = String::new();
        json.begin_object()?;
        while json.next_key(&mut key)? {
            match key.as_str() {
                "nodes" => tree.nodes(&mut json, sink)?,
                "samples" => tree.samples(&mut json)?,
                "timeDeltas" => tree.deltas(&mut json)?,
                "startTime" if json.peek()? == Kind::Number => start = Some(json.weight()?),
                "endTime" if json.peek()? == Kind::Number => end = Some(json.weight()?),
                _ => json.skip()?,
            }
        }
        json.end(report);
        tree.start = start.and_then(|start| nanoseconds(start, "us"));
        if let (Some(start), Some(end)) = (start, end) {
            report.facts.duration = end.checked_sub(start).ok().and_then(|passed| duration(passed, "us"));
        }
        let (name, unit) = if tree.is_timed() { ("time", "us") } else { ("samples", "samples") };
        let mut values = Values::single(options, name, unit);
        tree.collapse(None, &Context::UNKNOWN, &mut values, sink).map_err(|e| e.or_at(|| json.place()))?;
        if let Ok(samples @ 1..) = u64::try_from(tree.samples.len()) {
            report.facts.samples = Some(samples);
        }
        values.finish(report)
    }
}

/// A tree of calls and the samples taken in it; traces hold several, in pieces.
#[derive(Default)]
pub struct Tree {
    forest: Forest,
    /// The node of each id.
    places: HashMap<u64, Node>,
    /// The `(root)`, which is no frame.
    root: Option<usize>,
    /// Whom a node is below, by id, where the node says so itself.
    parents: Vec<(Node, u64)>,
    /// Nodes and the ids below them.
    children: Vec<(Node, u64)>,
    hits: Vec<(Node, i64)>,
    samples: Vec<u32>,
    deltas: Deltas,
    /// The time at which the first delta begins, in nanoseconds.
    pub start: Option<u64>,
    names: FrameNames,
    call: CallFrame,
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
                    "children" if !json.null()? => {
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
            if self.places.insert(id, node).is_some() {
                return Err(
                    Error::malformed("nodes of different ids", id.to_string().as_bytes()).at(json.place())
                );
            }
            if self.call.is_root() {
                self.root = Some(node.0);
            }
            let frame = self.call.frame(&mut self.names, sink);
            self.forest.set_frame(node, frame);
        }
        Ok(())
    }

    /// Reads the array `samples`.
    ///
    /// # Errors
    /// Anything but such an array.
    pub fn samples(&mut self, json: &mut Json) -> Result<()> {
        json.begin_array()?;
        while json.next_item()? {
            let id = json.integer()?;
            let known = u32::try_from(id).map_err(|_| {
                Error::malformed("the id of a node", id.to_string().as_bytes()).at(json.place())
            });
            self.samples.push(known?);
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
            self.deltas.push(json.weight()?);
        }
        Ok(())
    }

    /// Returns whether no sample was read.
    pub fn is_empty(&self) -> bool {
        self.samples.is_empty() && self.hits.is_empty()
    }

    /// Returns whether samples have times.
    pub fn is_timed(&self) -> bool {
        !self.deltas.whole.is_empty()
    }

    /// Adds a piece, whose nodes may be below those that are there.
    ///
    /// # Errors
    /// Nodes of an id that is there already.
    pub fn absorb(&mut self, piece: Tree) -> Result<()> {
        let first = self.forest.len();
        let moved = |node: Node| Node(first + node.0);
        for node in 0..piece.forest.len() {
            self.forest.add(piece.forest.frame(Node(node)), None);
        }
        for (id, node) in piece.places {
            if self.places.insert(id, moved(node)).is_some() {
                return Err(Error::malformed("nodes of different ids", id.to_string().as_bytes()));
            }
        }
        self.root = self.root.or(piece.root.map(|root| first + root));
        self.parents.extend(piece.parents.into_iter().map(|(node, id)| (moved(node), id)));
        self.children.extend(piece.children.into_iter().map(|(node, id)| (moved(node), id)));
        self.hits.extend(piece.hits.into_iter().map(|(node, hits)| (moved(node), hits)));
        self.samples.extend(piece.samples);
        self.deltas.append(piece.deltas);
        Ok(())
    }

    /// Pushes all samples, below `above`: what they weigh is the first value. A sink that wants
    /// contexts gets each sample by itself, in the thread of `context`.
    ///
    /// # Errors
    /// Samples of nodes that do not exist, circles, and [`crate::ErrorKind::Overflow`].
    pub fn collapse(
        &mut self,
        above: Option<FrameId>,
        context: &Context<'_>,
        values: &mut Values,
        sink: &mut dyn Sink,
    ) -> Result<()> {
        self.link()?;
        let timed = self.is_timed();
        if timed && self.deltas.whole.len() < self.samples.len() {
            let expected = format!("as many timeDeltas as the {} samples", self.samples.len());
            return Err(Error::malformed(expected, self.deltas.whole.len().to_string().as_bytes()));
        }
        if sink.wants().contexts && !self.samples.is_empty() {
            return self.push_each(above, context, values, sink);
        }
        // For each node what its samples weigh, and how many they are.
        let mut sums = vec![(Weight::ZERO, 0i128); self.forest.len()];
        for (sample, id) in self.samples.iter().enumerate() {
            let (time, count) = &mut sums[self.place(u64::from(*id))?.0];
            *count += 1;
            if timed {
                *time = time.checked_add(self.deltas.get(sample))?;
            }
        }
        if self.samples.is_empty() {
            for (node, hits) in &self.hits {
                sums[node.0].1 += i128::from(*hits);
            }
        }
        let mut stack = Vec::new();
        for (node, (time, count)) in
            sums.into_iter().enumerate().filter(|(_, (time, count))| *count != 0 || !time.is_zero())
        {
            stack.clear();
            stack.extend(above);
            self.forest.stack(node, &mut stack)?;
            let weight = if timed { time } else { Weight::new(count) };
            values.add_many(0, &stack, weight, count.unsigned_abs() as u64, sink)?;
        }
        Ok(())
    }

    /// Pushes the samples one by one, with their times.
    fn push_each(
        &mut self,
        above: Option<FrameId>,
        context: &Context<'_>,
        values: &mut Values,
        sink: &mut dyn Sink,
    ) -> Result<()> {
        let timed = self.is_timed();
        let samples = std::mem::take(&mut self.samples);
        let mut stacks: HashMap<u32, Vec<FrameId>> = HashMap::new();
        let mut passed = Weight::ZERO;
        for (sample, id) in samples.iter().enumerate() {
            let stack = match stacks.entry(*id) {
                Entry::Occupied(known) => known.into_mut(),
                Entry::Vacant(new) => {
                    let node = self.place(u64::from(*id))?;
                    let mut stack: Vec<FrameId> = above.into_iter().collect();
                    self.forest.stack(node.0, &mut stack)?;
                    new.insert(stack)
                }
            };
            let weight = if timed { self.deltas.get(sample) } else { Weight::ONE };
            passed = passed.checked_add(weight)?;
            let time = nanoseconds(passed, "us").filter(|_| timed);
            let time = time.map(|time| time.saturating_add(self.start.unwrap_or(0)));
            values.add_at(0, stack, weight, 1, &Context { time, ..*context }, sink)?;
        }
        self.samples = samples;
        Ok(())
    }

    fn place(&self, id: u64) -> Result<Node> {
        self.places
            .get(&id)
            .copied()
            .ok_or_else(|| Error::malformed("the id of a node", id.to_string().as_bytes()))
    }

    /// Hangs nodes below one another, and leaves out the root.
    fn link(&mut self) -> Result<()> {
        for (parent, id) in std::mem::take(&mut self.children) {
            let child = self.place(id)?;
            self.forest.set_parent(child, Some(parent.0).filter(|parent| Some(*parent) != self.root));
        }
        for (child, id) in std::mem::take(&mut self.parents) {
            let parent = self.place(id)?;
            self.forest.set_parent(child, Some(parent.0).filter(|parent| Some(*parent) != self.root));
        }
        Ok(())
    }
}

/// Times between samples: whole microseconds, as V8 has them, a quarter of a weight's size; and
/// those that are not.
#[derive(Default)]
struct Deltas {
    whole: Vec<i64>,
    /// By their places, in order.
    others: Vec<(usize, Weight)>,
}

impl Deltas {
    fn push(&mut self, delta: Weight) {
        match delta.units(0).ok().and_then(|units| i64::try_from(units).ok()) {
            Some(whole) => self.whole.push(whole),
            None => {
                self.others.push((self.whole.len(), delta));
                self.whole.push(0);
            }
        }
    }

    fn get(&self, at: usize) -> Weight {
        match self.others.binary_search_by_key(&at, |(place, _)| *place) {
            Ok(found) => self.others[found].1,
            Err(_) => Weight::new(self.whole[at].into()),
        }
    }

    fn append(&mut self, later: Deltas) {
        let first = self.whole.len();
        self.whole.extend(later.whole);
        self.others.extend(later.others.into_iter().map(|(at, delta)| (first + at, delta)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::folded::StackTable;

    fn collapsed(text: &str, options: &Options) -> Result<String> {
        let input = Input::new("test", Box::new(std::io::Cursor::new(text.to_owned()))).unwrap();
        assert_eq!(CpuProfile.detect(text.as_bytes()), Verdict::Yes);
        let mut table = StackTable::default();
        CpuProfile.collapse(input, options, &mut table, &mut Report::default())?;
        let mut out = Vec::new();
        table.write(&mut out)?;
        Ok(String::from_utf8(out).unwrap())
    }

    fn node(id: i64, name: &str, children: &str) -> String {
        format!(
            r#"{{"id":{id},"callFrame":{{"functionName":"{name}","url":"","lineNumber":-1}},"hitCount":2,"children":[{children}]}}"#
        )
    }

    #[test]
    fn samples_weigh_the_time_before_them() {
        let nodes =
            [node(1, "(root)", "2,9"), node(2, "f;", "3"), node(3, "", ""), node(9, "(idle)", "")].join(",");
        let text =
            format!(r#"{{"samples":[3,2,1,9],"timeDeltas":[1,2.5,4,-1],"nodes":[{nodes}],"startTime":0}}"#);
        assert_eq!(
            collapsed(&text, &Options::default()).unwrap(),
            "(idle) -1\n(root) 4\nf: 2.5\nf:;(anonymous) 1\n"
        );
        let count = Options { count: true, ..Options::default() };
        assert_eq!(collapsed(&text, &count).unwrap(), "(idle) 1\n(root) 1\nf: 1\nf:;(anonymous) 1\n");
        let old = format!(r#"{{"nodes":[{nodes}]}}"#);
        assert_eq!(
            collapsed(&old, &Options::default()).unwrap(),
            "(idle) 2\n(root) 2\nf: 2\nf:;(anonymous) 2\n"
        );
    }

    #[test]
    fn broken_trees_are_errors() {
        let rest = r#""samples":[3],"timeDeltas":[1],"startTime":0"#;
        for (nodes, message) in [
            (node(1, "(root)", "3"), "expected the id of a node, found \"3\""),
            ([node(2, "a", "3"), node(3, "b", "2")].join(","), "circles"),
            ([node(3, "a", ""), node(3, "b", "")].join(","), "nodes of different ids"),
            (r#"{"id":3}"#.into(), "a node with id and callFrame"),
        ] {
            let error =
                collapsed(&format!(r#"{{{rest},"nodes":[{nodes}]}}"#), &Options::default()).unwrap_err();
            assert!(
                error.to_string().contains(message) && error.to_string().starts_with("test: byte"),
                "{error}"
            );
        }
        let text =
            format!(r#"{{"samples":[1,1],"timeDeltas":[1],"startTime":0,"nodes":[{}]}}"#, node(1, "a", ""));
        assert!(
            collapsed(&text, &Options::default()).unwrap_err().to_string().contains("as many timeDeltas")
        );
    }
}
