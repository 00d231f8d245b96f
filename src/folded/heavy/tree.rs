//! The call tree of what may be heavy.

use std::collections::BTreeSet;
use std::fs::File;
use std::ops::Range;

use super::super::id_table::{Hash, IdTable};
use super::super::interner::Interner;
use super::super::line::{Columns, parse_line};
use super::super::reader::NotUnderstood;
use super::super::replay_buffer::Rereadable;
use super::super::visitor::{Frame, Visitor};
use super::sketch::Heavy;
use super::{each_stack, whole};
use crate::error::Result;
use crate::facts::header::is_comment;
use crate::input::read_at;
use crate::scan::{frames, line_and_semicolons};

/// A frame that may be heavy, below others that may be.
struct Node {
    caller: u32,
    name: u32,
}

/// The weight of stacks that go on from a node, or from none, with a frame that is not in the tree.
#[derive(Clone, Copy)]
struct Left {
    node: u32,
    with: u32,
    weight: u64,
    /// The place of the line in the text, as long as it is one line.
    at: u64,
}

impl Left {
    fn way(&self) -> u64 {
        way(self.node, self.with)
    }
}

/// The frame by which a stack leaves the tree, and its hash.
type Leaving<'s> = (&'s [u8], Hash);

/// A node and a frame in one number.
fn way(node: u32, with: u32) -> u64 {
    u64::from(node) << 32 | u64::from(with)
}

/// The call tree of what may be heavy.
pub(super) struct Tree {
    names: Interner,
    heavy: Heavy,
    /// The nodes by the hash of their frame and its callers.
    slots: IdTable,
    nodes: Vec<Node>,
    /// The weight of the stacks whose last node this is.
    weights: Vec<u64>,
    left: Vec<Left>,
    /// True if notes have been added up, so that the places of lines are lost.
    added_up: bool,
}

/// The caller of root frames.
const NONE: u32 = u32::MAX;

impl Tree {
    /// Notes of stacks that have left the tree are added up when there are this many: 48 MB.
    const NOTES: usize = if cfg!(test) { 1 << 12 } else { 1 << 21 };

    /// Frames that were missed make at most so many nodes.
    const MISSED: usize = 1 << 20;

    pub(super) fn new(names: Interner, heavy: Heavy) -> Tree {
        let (slots, nodes, weights, left) = Default::default();
        Tree { names, heavy, slots, nodes, weights, left, added_up: false }
    }

    /// Adds up a text, and returns its weight and what was left out. `None` if a weight is no whole number.
    pub(super) fn add_up(&mut self, input: &mut Rereadable<'_>) -> Result<Option<(u64, NotUnderstood)>> {
        let mut notes = Self::NOTES;
        each_stack(input, |stack, semicolons, weight, at| {
            self.add(stack, semicolons, weight, at);
            if self.left.len() >= notes {
                self.added_up = true;
                add_equal(&mut self.left);
                notes = Self::NOTES.max(2 * self.left.len());
            }
        })
    }

    #[inline]
    fn add(&mut self, stack: &[u8], semicolons: &[u32], weight: u64, at: u64) {
        let (node, left) = self.find(stack, semicolons);
        if let Some(weights) = self.weights.get_mut(node as usize) {
            *weights += weight;
        }
        if let Some((frame, hash)) = left {
            let with = self.names.key_hashed(frame, hash);
            self.left.push(Left { node, with, weight, at });
        }
    }

    /// The last node of a stack, and the frame by which it leaves the tree.
    #[inline]
    fn find<'s>(&mut self, stack: &'s [u8], semicolons: &[u32]) -> (u32, Option<Leaving<'s>>) {
        let (mut last, mut depth, mut left) = (Hash::default(), 0, None);
        for frame in frames(stack, semicolons) {
            let of_frame = self.names.hasher().hash_bytes(frame);
            let beginning = self.names.hasher().hash_next(last, of_frame);
            if !self.heavy.may_be(beginning) {
                left = Some((frame, of_frame));
                break;
            }
            (last, depth) = (beginning, depth + 1);
        }
        (if depth == 0 { NONE } else { self.node(last, stack, semicolons, depth) }, left)
    }

    /// The node of the first `depth` frames of a stack, whose hash is known.
    #[inline]
    fn node(&mut self, beginning: Hash, stack: &[u8], semicolons: &[u32], depth: usize) -> u32 {
        match self.slots.get(beginning) {
            Some(node) => node as u32,
            None => self.new_node(stack, semicolons, depth),
        }
    }

    #[cold]
    fn new_node(&mut self, stack: &[u8], semicolons: &[u32], depth: usize) -> u32 {
        let (mut beginning, mut caller) = (Hash::default(), NONE);
        for frame in frames(stack, semicolons).take(depth) {
            beginning = self.names.hasher().hash_next(beginning, self.names.hasher().hash_bytes(frame));
            caller = match self.slots.get_or_insert(beginning, self.nodes.len()) {
                Some(known) => known as u32,
                None => {
                    let name = self.names.key(frame);
                    self.nodes.push(Node { caller, name });
                    self.weights.push(0);
                    self.nodes.len() as u32 - 1
                }
            };
        }
        caller
    }

    /// Adds up the notes, where nothing was missed.
    pub(super) fn add_equal_notes(&mut self) {
        add_equal(&mut self.left);
    }

    /// Takes what weighs at least the least, and is not in the tree, into it: the stacks through it are read again,
    /// and all of their frames become nodes. `false` if these are too many, or the text is another one by now.
    pub(super) fn add_missed(
        &mut self,
        least: u64,
        input: &mut Rereadable<'_>,
        file: &File,
        start: u64,
    ) -> Result<bool> {
        self.left.sort_unstable_by_key(Left::way);
        let (mut missed, mut ways) = (Vec::new(), BTreeSet::new());
        let (mut from, mut to) = (0, 0);
        while let Some(&first) = self.left.get(from) {
            let group = self.left[from..].iter().take_while(|left| left.way() == first.way());
            let (count, weight) = group.fold((0, 0), |(count, sum), left| (count + 1, sum + left.weight));
            if weight >= least {
                ways.insert(first.way());
                missed.extend_from_slice(&self.left[from..from + count]);
            } else {
                self.left[to] = Left { weight, ..first };
                to += 1;
            }
            from += count;
        }
        self.left.truncate(to);
        for left in &missed {
            if let Some(weights) = self.weights.get_mut(left.node as usize) {
                *weights -= left.weight;
            }
        }
        let most = self.nodes.len() + Self::MISSED;
        let (mut semicolons, mut weight) = (Vec::new(), 0u64);
        let mut add = |tree: &mut Tree, line: &[u8], semicolons: &[u32]| {
            let Some(parsed) = parse_line(line, Columns::One) else { return true };
            let of_line = parsed.weights.value.to_u64().unwrap_or(0);
            if let (node, Some((frame, hash))) = tree.find(parsed.stack, semicolons)
                && ways.contains(&way(node, tree.names.key_hashed(frame, hash)))
            {
                weight = weight.saturating_add(of_line);
                let leaf = tree.new_node(parsed.stack, semicolons, usize::MAX);
                tree.weights[leaf as usize] += of_line;
            }
            tree.nodes.len() <= most
        };
        if self.added_up {
            input.rewind()?;
            while let Some(line) = input.next_line_split(&mut semicolons)? {
                if !add(self, line, &semicolons) {
                    return Ok(false);
                }
            }
        } else {
            missed.sort_unstable_by_key(|left| left.at);
            let mut text = Vec::new();
            for left in &missed {
                let line = line_at(file, start + left.at, &mut text)?;
                line_and_semicolons(line, &mut semicolons);
                if !add(self, line, &semicolons) {
                    return Ok(false);
                }
            }
        }
        Ok(weight == missed.iter().map(|left| left.weight).sum::<u64>())
    }

    /// Tells a visitor of all nodes that are not light, in frame order.
    pub(super) fn tell(&self, least: u64, visitor: &mut dyn Visitor) -> Result<()> {
        let callees = Callees::of(self);
        let mut totals = self.weights.clone();
        for (n, node) in self.nodes.iter().enumerate().rev() {
            let total = totals[n];
            if let Some(caller) = totals.get_mut(node.caller as usize) {
                *caller += total;
            }
        }
        // A node that is open, and the places of its callees that are still to come.
        struct Open {
            node: u32,
            start: u64,
            callees: Range<usize>,
        }
        let (mut open, mut so_far, mut passed_over) = (Vec::<Open>::new(), 0, 0);
        let mut roots = callees.places(NONE);
        loop {
            let next = open.last_mut().map_or(&mut roots, |caller| &mut caller.callees).next();
            if let Some(place) = next {
                let node = callees.order[place];
                let start = so_far + callees.light_before[place];
                let total = totals[node as usize];
                if total < least {
                    // Which nodes are light depends on chance, which of them have a heavy caller does not.
                    (so_far, passed_over) = (start + total, passed_over + 1);
                    continue;
                }
                so_far = start + callees.own[node as usize];
                open.push(Open { node, start, callees: callees.places(node) });
                continue;
            }
            let Some(Open { node, start, .. }) = open.pop() else { break };
            let total = totals[node as usize];
            so_far = start + total;
            let name = self.names.name(self.nodes[node as usize].name);
            let own = whole(callees.own[node as usize]);
            let frame = Frame { name, depth: open.len(), start: whole(start), own, total: whole(total) };
            visitor.exit(frame, whole(so_far))?;
        }
        let is_heavy = |left: &&Left| totals.get(left.node as usize).is_none_or(|&total| total >= least);
        visitor.passed_over(passed_over + self.left.iter().filter(is_heavy).count() as u64);
        Ok(())
    }
}

/// The first line from some place in a file on that may be a stack, without its newline.
fn line_at<'t>(file: &File, mut at: u64, text: &'t mut Vec<u8>) -> Result<&'t [u8]> {
    const STEP: usize = 1024;
    let mut filled = 0;
    loop {
        text.resize(filled + STEP.max(filled), 0);
        let read = read_at(file, at + filled as u64, &mut text[filled..])?;
        let end = memchr::memchr(b'\n', &text[filled..filled + read]).map(|end| filled + end);
        filled += read;
        let Some(end) = end.or((filled < text.len()).then_some(filled)) else { continue };
        let line = &text[..end];
        if end == filled || !(is_comment(line) || line.trim_ascii().is_empty()) {
            return Ok(&text[..end]);
        }
        (at, filled) = (at + end as u64 + 1, 0);
    }
}

/// Adds up notes of the same frame below the same node.
fn add_equal(left: &mut Vec<Left>) {
    left.sort_unstable_by_key(Left::way);
    left.dedup_by(|next, first| {
        let is_same = next.way() == first.way();
        if is_same {
            first.weight += next.weight;
        }
        is_same
    });
}

/// The nodes below each node, in the order of their names.
struct Callees {
    /// One caller after the other, first those without one.
    order: Vec<u32>,
    /// The beginning of each caller's in `order`.
    starts: Vec<usize>,
    /// The weight of light frames between each node in `order` and the one before.
    light_before: Vec<u64>,
    /// The weight of the stacks that end in each node.
    own: Vec<u64>,
}

impl Callees {
    fn of(tree: &Tree) -> Callees {
        let ranks = tree.names.ranks();
        let rank = |node: u32| ranks[tree.nodes[node as usize].name as usize];
        let mut order: Vec<u32> = (0..tree.nodes.len() as u32).collect();
        let caller = |node: u32| tree.nodes[node as usize].caller.wrapping_add(1);
        order.sort_unstable_by_key(|&node| (caller(node), rank(node)));
        let mut starts = vec![0; tree.nodes.len() + 2];
        order.iter().for_each(|&node| starts[caller(node) as usize + 1] += 1);
        for n in 1..starts.len() {
            starts[n] += starts[n - 1];
        }
        let (light_before, own) = (vec![0; order.len()], tree.weights.clone());
        let mut callees = Callees { order, starts, light_before, own };
        for left in &tree.left {
            let places = callees.places(left.node);
            let with = ranks[left.with as usize];
            let before = callees.order[places.clone()].partition_point(|&node| rank(node) < with);
            if before < places.len() {
                callees.light_before[places.start + before] += left.weight;
            }
            if let Some(own) = callees.own.get_mut(left.node as usize) {
                *own -= left.weight;
            }
        }
        callees
    }

    /// The places in `order` of those below a node, or of the roots.
    fn places(&self, node: u32) -> Range<usize> {
        let caller = node.wrapping_add(1) as usize;
        self.starts[caller]..self.starts[caller + 1]
    }
}
