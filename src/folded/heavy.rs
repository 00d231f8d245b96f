//! The heavy frames of one large file in no order: it is read twice, and never sorted.
//!
//! A picture shows the frames that weigh at least some least share; of a large profile that is one in
//! hundreds. The first pass adds the weight of each stack to a counter of each of its beginnings. Several
//! beginnings share a counter, by their hashes, so that one whose counter is below the least is light for
//! certain. The second pass builds the call tree of the others, with exact weights: in it a light frame has a
//! node, and no callees. Memory is needed for what is drawn and for what hangs from it.

use super::id_table::{Hash, IdTable, KeyedHasher};
use super::line::{Columns, Weights, parse_line};
use super::place::Places;
use super::reader::NotUnderstood;
use super::replay_buffer::Rereadable;
use super::table::{FrameId, StackTable};
use super::walk::{Frame, Known, Visitor, WalkSummary};
use crate::error::Result;
use crate::weight::Weight;

/// A smaller file is soon sorted.
const FROM: u64 = 8 << 20;

/// The number of counters is 2 to this: 8 MB of them. Each beginning of each stack adds to one, so a counter
/// that nothing heavy adds to holds some 15 millionths of the whole; a tenth of a pixel is some 80.
const COUNTER_BITS: u32 = 20;

/// Walks the frames of the text of `input` that weigh enough for the visitor. `None`, and the visitor has
/// heard nothing, if it has to be sorted: it is no large file, the visitor wants all frames, or a weight is
/// no whole number. The input has been rewound or has to be.
pub(super) fn walk(input: &mut Rereadable<'_>, visitor: &mut dyn Visitor) -> Result<Option<WalkSummary>> {
    let is_large = input.lines().plain_file().is_some_and(|(_, whole)| whole.end - whole.start >= FROM);
    let wants_all = visitor.follows_stacks() || visitor.least(whole(u64::MAX)).is_zero();
    if !is_large || wants_all || input.lines().columns() != Columns::One {
        return Ok(None);
    }
    walk_text(input, visitor)
}

fn walk_text(input: &mut Rereadable<'_>, visitor: &mut dyn Visitor) -> Result<Option<WalkSummary>> {
    let hasher = KeyedHasher::default();
    let mut sketch = Sketch { counters: vec![0; 1 << COUNTER_BITS] };
    let Some((total, not_understood)) = sketch.count(input, &hasher)? else { return Ok(None) };
    let least = visitor.least(whole(total)).as_u64().unwrap_or(u64::MAX);
    input.rewind()?;
    let mut tree = Tree::new(hasher);
    let Some(again) = tree.add_up(input, &sketch, least)? else { return Ok(None) };
    drop(sketch);
    if again != total {
        // Somebody has written to it since.
        return Ok(None);
    }
    let (columns, facts) = (Columns::One, input.lines().facts());
    visitor.begin(&Known { columns, facts: &facts, places: &Places::default() })?;
    tree.tell(visitor)?;
    Ok(Some(WalkSummary { columns, total: whole(total), facts, not_understood, ..WalkSummary::default() }))
}

fn whole(weight: u64) -> Weights {
    Weights::one(Weight::new(weight.into()))
}

/// The frames of a stack whose `;` are at some places.
#[inline]
fn frames<'s>(stack: &'s [u8], semicolons: &[u32]) -> impl Iterator<Item = &'s [u8]> {
    let within = semicolons.iter().map(|&at| at as usize).take_while(|&at| at < stack.len());
    let mut start = 0;
    within.chain([stack.len()]).map(move |end| {
        let frame = &stack[start..end];
        start = end + 1;
        frame
    })
}

/// At least the weight of every beginning of a stack.
struct Sketch {
    counters: Vec<u64>,
}

impl Sketch {
    /// Adds up a text: its weight, and what was left out. `None` if a weight is no whole number.
    fn count(
        &mut self,
        input: &mut Rereadable<'_>,
        hasher: &KeyedHasher,
    ) -> Result<Option<(u64, NotUnderstood)>> {
        let mut not_understood = NotUnderstood::default();
        let (mut total, mut semicolons) = (0u64, Vec::new());
        while let Some(line) = input.next_line_split(&mut semicolons)? {
            let Some(parsed) = parse_line(line, Columns::One) else {
                let line = line.to_vec();
                not_understood.note(&line, || input.position());
                continue;
            };
            let Some(weight) = parsed.weights.value.as_u64() else { return Ok(None) };
            let Some(sum) = total.checked_add(weight) else { return Ok(None) };
            total = sum;
            let mut beginning = Hash::default();
            for frame in frames(parsed.stack, &semicolons) {
                beginning = hasher.hash_next(beginning, hasher.hash_bytes(frame));
                // None is more than the sum of all weights.
                self.counters[Self::place(beginning)] += weight;
            }
        }
        not_understood.ends_within = input.lines().ends_within();
        Ok(Some((total, not_understood)))
    }

    fn place(beginning: Hash) -> usize {
        (beginning.slot() >> (u64::BITS - COUNTER_BITS)) as usize
    }
}

/// A frame below its callers.
struct Node {
    total: u64,
    caller: u32,
    name: FrameId,
    /// It may weigh enough to be drawn: its callees are nodes too.
    may_be_heavy: bool,
}

/// The call tree of what may be heavy.
struct Tree {
    hasher: KeyedHasher,
    /// The nodes by the hash of their frame and its callers.
    slots: IdTable,
    nodes: Vec<Node>,
    names: StackTable,
}

/// The caller of root frames.
const NONE: u32 = u32::MAX;

impl Tree {
    fn new(hasher: KeyedHasher) -> Tree {
        Tree { hasher, slots: IdTable::default(), nodes: Vec::new(), names: StackTable::default() }
    }

    /// Adds up a text, and returns its weight.
    fn add_up(&mut self, input: &mut Rereadable<'_>, sketch: &Sketch, least: u64) -> Result<Option<u64>> {
        let (mut total, mut semicolons) = (0u64, Vec::new());
        while let Some(line) = input.next_line_split(&mut semicolons)? {
            let Some(parsed) = parse_line(line, Columns::One) else { continue };
            let Some(weight) = parsed.weights.value.as_u64() else { return Ok(None) };
            let Some(sum) = total.checked_add(weight) else { return Ok(None) };
            total = sum;
            let (mut beginning, mut caller) = (Hash::default(), NONE);
            for frame in frames(parsed.stack, &semicolons) {
                beginning = self.hasher.hash_next(beginning, self.hasher.hash_bytes(frame));
                let node = match self.slots.get_or_insert(beginning, self.nodes.len()) {
                    Some(known) => known,
                    None => {
                        let name = self.names.frame(frame);
                        let may_be_heavy = sketch.counters[Sketch::place(beginning)] >= least;
                        self.nodes.push(Node { total: 0, caller, name, may_be_heavy });
                        self.nodes.len() - 1
                    }
                };
                self.nodes[node].total += weight;
                if !self.nodes[node].may_be_heavy {
                    break;
                }
                caller = node as u32;
            }
        }
        Ok(Some(total))
    }

    /// Tells a visitor of all nodes, in frame order.
    fn tell(&self, visitor: &mut dyn Visitor) -> Result<()> {
        let ranks = self.names.name_ranks();
        let rank = |node: u32| ranks[self.nodes[node as usize].name.0 as usize];
        // The nodes one caller after the other, those of one in the order of their names.
        let place = |caller: u32| caller.wrapping_add(1) as usize;
        let mut starts = vec![0u32; self.nodes.len() + 2];
        self.nodes.iter().for_each(|node| starts[place(node.caller) + 1] += 1);
        for n in 1..starts.len() {
            starts[n] += starts[n - 1];
        }
        let mut free = starts.clone();
        let mut order = vec![0u32; self.nodes.len()];
        for (n, node) in (0u32..).zip(&self.nodes) {
            let at = &mut free[place(node.caller)];
            order[*at as usize] = n;
            *at += 1;
        }
        drop(free);
        for pair in starts.windows(2) {
            order[pair[0] as usize..pair[1] as usize].sort_unstable_by_key(|&node| rank(node));
        }
        let callees = |node: u32| &order[starts[place(node)] as usize..starts[place(node) + 1] as usize];
        struct Open<'t> {
            node: u32,
            start: u64,
            own: u64,
            callees: std::slice::Iter<'t, u32>,
        }
        let enter = |node: u32, start: u64| {
            let callees = callees(node);
            let below: u64 = callees.iter().map(|&callee| self.nodes[callee as usize].total).sum();
            Open { node, start, own: self.nodes[node as usize].total - below, callees: callees.iter() }
        };
        let (mut open, mut so_far): (Vec<Open<'_>>, u64) = (Vec::new(), 0);
        let mut roots = callees(NONE).iter();
        loop {
            let next = match open.last_mut() {
                Some(caller) => caller.callees.next(),
                None => roots.next(),
            };
            match (next, open.pop()) {
                (Some(&node), caller) => {
                    open.extend(caller);
                    let entered = enter(node, so_far);
                    so_far += entered.own;
                    open.push(entered);
                }
                (None, Some(Open { node, start, own, .. })) => {
                    let Node { total, name, .. } = self.nodes[node as usize];
                    let (start, own, total) = (whole(start), whole(own), whole(total));
                    let frame = Frame { name: self.names.name(name), depth: open.len(), start, own, total };
                    visitor.exit(frame, whole(so_far))?;
                }
                (None, None) => return Ok(()),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::folded::{Order, walk as walk_all};
    use crate::input::Source;

    /// Every frame that weighs enough: depth, name, start and total weight.
    struct Log {
        least: u64,
        seen: Vec<(usize, Vec<u8>, Weight, Weight)>,
    }

    impl Visitor for Log {
        fn exit(&mut self, frame: Frame<'_>, so_far: Weights) -> Result<()> {
            let Frame { name, depth, start, total, own } = frame;
            assert!(own.value <= total.value && so_far.value >= total.value);
            if total.value >= Weight::new(self.least.into()) {
                self.seen.push((depth, name.to_vec(), start.value, total.value));
            }
            Ok(())
        }

        fn least(&self, _: Weights) -> Weight {
            Weight::new(self.least.into())
        }

        fn restart(&mut self) -> Result<()> {
            self.seen.clear();
            Ok(())
        }
    }

    /// Some thousand stacks of few names in no order; the same for the same seed.
    fn text(mut state: u64) -> String {
        state = state.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
        let mut random = |below: u64| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state % below
        };
        let mut text = String::from("# unit: ns\n");
        for _ in 0..2000 {
            let depth = 1 + random(12);
            let names = ["a", "b", "bb", "", "a b", "ü"];
            let frames: Vec<_> = (0..depth).map(|_| names[random(2 + depth / 3) as usize]).collect();
            text += &format!("{} {}\n", frames.join(";"), random(100) * random(100));
        }
        text
    }

    fn heavy(text: &str, least: u64) -> Option<(Log, WalkSummary)> {
        let sources = [Source::bytes(text)];
        let mut log = Log { least, seen: Vec::new() };
        let summary = walk_text(&mut Rereadable::open(&sources).unwrap(), &mut log).unwrap()?;
        Some((log, summary))
    }

    #[test]
    fn heavy_frames_are_those_of_the_sorted_text() {
        for seed in 0..50 {
            let text = text(seed);
            for least in [1, 100, 5_000, 60_000, u64::MAX] {
                let mut sorted = Log { least, seen: Vec::new() };
                let all = walk_all(&[Source::bytes(text.clone())], Order::Frame, None, &mut sorted).unwrap();
                let (log, summary) = heavy(&text, least).unwrap();
                assert_eq!(log.seen, sorted.seen, "seed {seed}, {least}");
                assert_eq!((summary.total, summary.facts), (all.total, all.facts));
            }
        }
    }

    #[test]
    fn lines_that_are_no_stacks_are_counted_and_the_last_line_is_placed() {
        let (_, summary) = heavy("b 1\nno weight\na 2\nneither\n\n# a comment\na;c 5", 1).unwrap();
        assert_eq!(summary.not_understood.count, 2);
        assert_eq!(summary.not_understood.ends_within.unwrap().to_string(), "input:7");
        assert_eq!(summary.total, whole(8));
    }

    #[test]
    fn weights_that_are_no_whole_numbers_are_left_to_the_table() {
        for odd in ["a 0.5", "a -1", "a 18446744073709551616", "a 18446744073709551615\nb 1"] {
            assert!(heavy(&format!("b 1\n{odd}\na 1\n"), 1).is_none(), "{odd}");
        }
        assert!(heavy("b 1\na 18446744073709551614\n", 1).is_some());
    }
}
