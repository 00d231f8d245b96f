//! The heavy frames of one large file in no order: it is read twice, and never sorted.
//!
//! A picture shows the frames that weigh at least some least share; of a large profile that is one in
//! hundreds. The first pass adds the weight of each stack to a counter of each of its beginnings. Several
//! beginnings share a counter, by their hashes, so that one whose counter is below the least is light for
//! certain. The second pass builds the call tree of the others, with exact weights; of the stacks that leave
//! it, it notes where. What both passes look up for each frame fits the second-level cache, and memory is
//! needed for what is drawn and for what hangs from it.

use std::ops::Range;

use super::id_table::{Hash, IdTable, KeyedHasher};
use super::interner::Interner;
use super::line::{Columns, Weights, parse_line};
use super::place::Places;
use super::reader::NotUnderstood;
use super::replay_buffer::Rereadable;
use super::walk::{Frame, Known, Visitor, WalkSummary};
use crate::error::Result;
use crate::scan::frames;
use crate::weight::Weight;

/// A smaller file is soon sorted.
const FROM: u64 = 8 << 20;

/// Walks the frames of the text of `input` that weigh enough for the visitor; lighter ones it need not hear
/// of. `None`, and the visitor has heard nothing, if the text has to be sorted: it is no large file, the
/// visitor wants all frames, or a weight is no whole number. The input is then as it was, at its beginning.
pub(super) fn walk(input: &mut Rereadable<'_>, visitor: &mut dyn Visitor) -> Result<Option<WalkSummary>> {
    let is_large = input.lines().plain_file().is_some_and(|(_, whole)| whole.end - whole.start >= FROM);
    let wants_all = visitor.follows_stacks() || visitor.least(whole(u64::MAX)).is_zero();
    if !is_large || wants_all || input.lines().columns() != Columns::One {
        return Ok(None);
    }
    let walked = walk_text(input, visitor)?;
    if walked.is_none() {
        input.rewind()?;
    }
    Ok(walked)
}

fn walk_text(input: &mut Rereadable<'_>, visitor: &mut dyn Visitor) -> Result<Option<WalkSummary>> {
    let names = Interner::default();
    let least_of = |total: u64| visitor.least(whole(total)).as_u64().unwrap_or(u64::MAX);
    let Some(guess) = guess_total(input)? else { return Ok(None) };
    input.rewind()?;
    let mut sketch = Sketch::new(least_of(guess));
    let Some((total, not_understood)) = sketch.count(input, names.hasher())? else { return Ok(None) };
    let least = least_of(total);
    let heavy = sketch.heavy(least);
    drop(sketch);
    input.rewind()?;
    let mut tree = Tree::new(names, heavy);
    if tree.add_up(input)? != Some(total) {
        // Somebody has written to it since.
        return Ok(None);
    }
    let (columns, facts) = (Columns::One, input.lines().facts());
    visitor.begin(&Known { columns, facts: &facts, places: &Places::default() })?;
    tree.tell(least, visitor)?;
    Ok(Some(WalkSummary { columns, total: whole(total), facts, not_understood, ..WalkSummary::default() }))
}

fn whole(weight: u64) -> Weights {
    Weights::one(Weight::new(weight.into()))
}

/// The total of the text if all of it is as its first lines are.
fn guess_total(input: &mut Rereadable<'_>) -> Result<Option<u64>> {
    const LINES: u64 = 4096;
    let Some((_, whole)) = input.lines().plain_file() else { return Ok(Some(0)) };
    let size = whole.end - whole.start;
    let (mut bytes, mut total, mut lines) = (0u64, 0u64, 0);
    while let Some(line) = input.next_line()?.filter(|_| lines < LINES) {
        (bytes, lines) = (bytes + line.len() as u64 + 1, lines + 1);
        let weight = parse_line(line, Columns::One).map_or(Some(0), |parsed| parsed.weights.value.as_u64());
        let Some(weight) = weight else { return Ok(None) };
        total = total.saturating_add(weight);
    }
    let guess = u128::from(total) * u128::from(size) / u128::from(bytes.max(1));
    Ok(Some(u64::try_from(guess).unwrap_or(u64::MAX)))
}

/// At least the weight of every beginning of a stack, in some unit, as far as that can be counted.
struct Sketch {
    counters: Vec<u16>,
    unit: u64,
}

impl Sketch {
    /// The number of counters is 2 to this: 2 MB of them. Each beginning of each stack adds to one, so a
    /// counter that nothing heavy adds to holds some 15 millionths of the whole; a tenth of a pixel is some 80.
    const BITS: u32 = 20;

    /// With a unit of which the least, as it is guessed, has some thousand: a wrong guess makes heavy what is
    /// none, or takes a counter to its end, where all is heavy.
    fn new(least: u64) -> Sketch {
        Sketch { counters: vec![0; 1 << Self::BITS], unit: (least / 6000).max(1) }
    }

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
            let units = u16::try_from(weight.div_ceil(self.unit)).unwrap_or(u16::MAX);
            let mut beginning = Hash::default();
            for frame in frames(parsed.stack, &semicolons) {
                beginning = hasher.hash_next(beginning, hasher.hash_bytes(frame));
                let counter = &mut self.counters[Self::counter(beginning)];
                *counter = counter.saturating_add(units);
            }
        }
        not_understood.ends_within = input.lines().ends_within();
        Ok(Some((total, not_understood)))
    }

    /// The counter of a beginning.
    #[inline]
    fn counter(beginning: Hash) -> usize {
        (beginning.slot() >> (u64::BITS - Self::BITS)) as usize
    }

    /// The counters that may stand for something that weighs at least this much.
    fn heavy(&self, least: u64) -> Heavy {
        let least = u16::try_from(least / self.unit).unwrap_or(u16::MAX);
        let bits = |counters: &[u16]| (0..).zip(counters).map(|(n, &c)| u64::from(c >= least) << n).sum();
        Heavy { bits: self.counters.chunks(64).map(bits).collect() }
    }
}

/// Says of a beginning of a stack if it may be heavy.
struct Heavy {
    bits: Vec<u64>,
}

impl Heavy {
    #[inline]
    fn may_be(&self, beginning: Hash) -> bool {
        let counter = Sketch::counter(beginning);
        self.bits[counter / 64] >> (counter % 64) & 1 == 1
    }
}

/// A frame that may be heavy, below others that may be.
struct Node {
    caller: u32,
    name: u32,
}

/// The weight of stacks that go on from a node, or from none, with a frame that is light.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Left {
    node: u32,
    with: u32,
    weight: u64,
}

/// The call tree of what may be heavy.
struct Tree {
    names: Interner,
    heavy: Heavy,
    /// The nodes by the hash of their frame and its callers.
    slots: IdTable,
    nodes: Vec<Node>,
    /// The weight of the stacks whose last node this is.
    weights: Vec<u64>,
    left: Vec<Left>,
}

/// The caller of root frames.
const NONE: u32 = u32::MAX;

impl Tree {
    /// Notes of stacks that have left the tree are added up when there are this many.
    const NOTES: usize = 1 << 20;

    fn new(names: Interner, heavy: Heavy) -> Tree {
        let (slots, nodes, weights, left) = Default::default();
        Tree { names, heavy, slots, nodes, weights, left }
    }

    /// Adds up a text, and returns its weight.
    fn add_up(&mut self, input: &mut Rereadable<'_>) -> Result<Option<u64>> {
        let (mut total, mut semicolons) = (0u64, Vec::new());
        let mut notes = Self::NOTES;
        while let Some(line) = input.next_line_split(&mut semicolons)? {
            let Some(parsed) = parse_line(line, Columns::One) else { continue };
            let Some(weight) = parsed.weights.value.as_u64() else { return Ok(None) };
            let Some(sum) = total.checked_add(weight) else { return Ok(None) };
            total = sum;
            self.add(parsed.stack, &semicolons, weight);
            if self.left.len() >= notes {
                add_equal(&mut self.left);
                notes = Self::NOTES.max(2 * self.left.len());
            }
        }
        add_equal(&mut self.left);
        Ok(Some(total))
    }

    #[inline]
    fn add(&mut self, stack: &[u8], semicolons: &[u32], weight: u64) {
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
        let node = if depth == 0 { NONE } else { self.node(last, stack, semicolons, depth) };
        if let Some(weights) = self.weights.get_mut(node as usize) {
            *weights += weight;
        }
        if let Some((frame, hash)) = left {
            let with = self.names.key_hashed(frame, hash);
            self.left.push(Left { node, with, weight });
        }
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

    /// Tells a visitor of all nodes that are not light, in frame order.
    fn tell(&self, least: u64, visitor: &mut dyn Visitor) -> Result<()> {
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

/// Adds up notes of the same frame below the same node.
fn add_equal(left: &mut Vec<Left>) {
    left.sort_unstable();
    left.dedup_by(|next, first| {
        let is_same = (next.node, next.with) == (first.node, first.with);
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::folded::{Order, walk as walk_all};
    use crate::input::Source;

    /// Every frame that weighs enough: depth, name, start, own and total weight.
    struct Log {
        least: u64,
        /// Lighter frames need not be told.
        may_pass_over: bool,
        seen: Vec<(usize, Vec<u8>, [Weight; 3])>,
        passed_over: u64,
    }

    impl Log {
        fn new(least: u64, may_pass_over: bool) -> Log {
            Log { least, may_pass_over, seen: Vec::new(), passed_over: 0 }
        }
    }

    impl Visitor for Log {
        fn exit(&mut self, frame: Frame<'_>, so_far: Weights) -> Result<()> {
            let Frame { name, depth, start, total, own } = frame;
            assert!(so_far.value == start.value.checked_add(total.value)?);
            if total.value >= Weight::new(self.least.into()) {
                self.seen.push((depth, name.to_vec(), [start.value, own.value, total.value]));
            }
            Ok(())
        }

        fn least(&self, _: Weights) -> Weight {
            if self.may_pass_over { Weight::new(self.least.into()) } else { Weight::ZERO }
        }

        fn passed_over(&mut self, frames: u64) {
            self.passed_over += frames;
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

    /// The number of light frames that roots are or that heavy frames call.
    fn light_below_heavy(text: &str, least: u64) -> u64 {
        let mut totals = std::collections::HashMap::new();
        for line in text.lines().filter(|line| !line.starts_with("# ")) {
            let (stack, weight) = line.rsplit_once(' ').unwrap();
            let stack = stack.trim_end_matches(';');
            let ends = stack.match_indices(';').map(|(at, _)| at).chain([stack.len()]);
            ends.for_each(|end| *totals.entry(&stack[..end]).or_insert(0) += weight.parse::<u64>().unwrap());
        }
        let is_heavy = |stack: &str| totals[stack] >= least;
        let caller = |stack: &str| stack.rfind(';').is_none_or(|at| is_heavy(&stack[..at]));
        totals.keys().filter(|stack| !is_heavy(stack) && caller(stack)).count() as u64
    }

    fn heavy(text: &str, least: u64) -> Option<(Log, WalkSummary)> {
        let sources = [Source::bytes(text)];
        let mut log = Log::new(least, true);
        let summary = walk_text(&mut Rereadable::open(&sources).unwrap(), &mut log).unwrap()?;
        Some((log, summary))
    }

    #[test]
    fn heavy_frames_are_those_of_the_sorted_text() {
        for seed in 0..50 {
            let text = text(seed);
            for least in [1, 100, 5_000, 60_000, u64::MAX] {
                let mut sorted = Log::new(least, false);
                let all = walk_all(&[Source::bytes(text.clone())], Order::Frame, None, &mut sorted).unwrap();
                let (log, summary) = heavy(&text, least).unwrap();
                assert_eq!(log.seen, sorted.seen, "seed {seed}, {least}");
                assert_eq!((summary.total, summary.facts), (all.total, all.facts));
                assert_eq!(log.passed_over, light_below_heavy(&text, least), "seed {seed}, {least}");
            }
        }
    }

    #[test]
    fn large_files_of_one_column_are_walked_by_what_is_heavy() {
        let walked = |line: &str, bytes: u64, may_pass_over: bool| {
            let mut file = tempfile::NamedTempFile::new().unwrap();
            let lines = bytes / line.len() as u64;
            std::io::Write::write_all(&mut file, line.repeat(lines as usize).as_bytes()).unwrap();
            let sources = [Source::path(file.path())];
            let mut log = Log::new(1, may_pass_over);
            let summary = walk(&mut Rereadable::open(&sources).unwrap(), &mut log).unwrap();
            summary.map(|summary| (summary.total, log.seen.len())).inspect(|(total, _)| {
                assert_eq!(*total, whole(lines));
            })
        };
        let line = format!("b;{} 1\n", "x".repeat(4000));
        assert_eq!(walked(&line, FROM + 5000, true).map(|(_, frames)| frames), Some(2));
        assert!(walked(&line, FROM - 5000, true).is_none(), "it is soon sorted");
        assert!(walked(&line, FROM + 5000, false).is_none(), "all frames are wanted");
        assert!(walked(&format!("b;{} 1 1\n", "x".repeat(4000)), FROM + 9000, true).is_none(), "two columns");
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
