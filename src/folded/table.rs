//! The table that adds up: unique frames, unique stacks, one weight each, written in frame order.
//!
//! Frames and stacks are numbered as they are met. Each name is stored once, each stack is a run
//! of frame numbers. Sorting happens once, at the end, on ranks packed into one integer: most
//! comparisons never look at a stack.

use std::io::{self, Write};

use foldhash::fast::RandomState;
use hashbrown::HashTable;
use hashbrown::hash_table::Entry;
use std::hash::BuildHasher;

use super::line::{Columns, Weights, parse_line};
use crate::error::{Error, Result};
use crate::weight::Weight;

/// A frame's name in a [`StackTable`]: equal names have equal numbers, given in order of
/// appearance from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FrameId(pub u32);

/// Unique stacks and the sums of their weights.
#[derive(Default)]
pub struct StackTable {
    hasher: RandomState,
    names: Runs<u8>,
    name_slots: HashTable<Slot>,
    stacks: Runs<FrameId>,
    stack_slots: HashTable<Slot>,
    values: Vec<Weight>,
    /// Empty until a differential line is added; as long as `values` from then on.
    befores: Vec<Weight>,
    scratch: Vec<FrameId>,
}

/// The hash stands beside the number, so that most misses and all growth stay in the slots.
#[derive(Clone, Copy)]
struct Slot {
    hash: u64,
    id: u32,
}

/// Runs of values one after the other in one allocation.
struct Runs<T> {
    values: Vec<T>,
    ends: Vec<usize>,
}

impl<T> Default for Runs<T> {
    fn default() -> Self {
        Runs { values: Vec::new(), ends: Vec::new() }
    }
}

impl<T: Copy> Runs<T> {
    fn len(&self) -> usize {
        self.ends.len()
    }

    fn push(&mut self, run: &[T]) -> u32 {
        let id = u32::try_from(self.ends.len()).expect("four thousand million entries do not fit in memory");
        self.values.extend_from_slice(run);
        self.ends.push(self.values.len());
        id
    }

    fn get(&self, index: usize) -> &[T] {
        let start = if index == 0 { 0 } else { self.ends[index - 1] };
        &self.values[start..self.ends[index]]
    }
}

impl StackTable {
    /// The number of a frame's name. The name must hold no `;` and no newline: see
    /// [`sanitize_frame`](super::sanitize_frame).
    pub fn frame(&mut self, name: &[u8]) -> FrameId {
        let hash = self.hasher.hash_one(name);
        let names = &mut self.names;
        let same = |slot: &Slot| slot.hash == hash && names.get(slot.id as usize) == name;
        match self.name_slots.entry(hash, same, |slot| slot.hash) {
            Entry::Occupied(entry) => FrameId(entry.get().id),
            Entry::Vacant(entry) => {
                let id = names.push(name);
                entry.insert(Slot { hash, id });
                FrameId(id)
            }
        }
    }

    /// The name of a frame.
    pub fn name(&self, id: FrameId) -> &[u8] {
        self.names.get(id.0 as usize)
    }

    /// How many different names there are.
    pub fn frame_count(&self) -> usize {
        self.names.len()
    }

    /// How many different stacks there are.
    pub fn len(&self) -> usize {
        self.stacks.len()
    }

    /// Whether nothing was added.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether lines with two weights were added.
    pub fn columns(&self) -> Columns {
        if self.befores.is_empty() { Columns::One } else { Columns::Two }
    }

    /// Adds to the weight of a stack, root first.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Overflow`].
    pub fn add(&mut self, stack: &[FrameId], weights: Weights) -> Result<()> {
        // The ids are hashed as the bytes of one slice rather than value by value.
        let hash = self.hash_stack(stack);
        let stacks = &mut self.stacks;
        let same = |slot: &Slot| slot.hash == hash && stacks.get(slot.id as usize) == stack;
        let index = match self.stack_slots.entry(hash, same, |slot| slot.hash) {
            Entry::Occupied(entry) => entry.get().id as usize,
            Entry::Vacant(entry) => {
                let id = stacks.push(stack);
                entry.insert(Slot { hash, id });
                self.values.push(Weight::ZERO);
                if !self.befores.is_empty() {
                    self.befores.push(Weight::ZERO);
                }
                id as usize
            }
        };
        self.values[index] = self.values[index].plus(weights.value)?;
        if !weights.before.is_zero() {
            self.make_differential();
            self.befores[index] = self.befores[index].plus(weights.before)?;
        }
        Ok(())
    }

    /// Writes two columns from now on, whatever their weights.
    pub fn make_differential(&mut self) {
        self.befores.resize(self.values.len(), Weight::ZERO);
    }

    fn hash_stack(&self, stack: &[FrameId]) -> u64 {
        use std::hash::Hasher;
        let mut hasher = self.hasher.build_hasher();
        let mut pairs = stack.chunks_exact(2);
        for pair in &mut pairs {
            hasher.write_u64(u64::from(pair[0].0) << 32 | u64::from(pair[1].0));
        }
        if let [last] = pairs.remainder() {
            hasher.write_u64(u64::MAX << 32 | u64::from(last.0));
        }
        hasher.finish()
    }

    /// Adds a stack written as folded text, `a;b;c`.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Overflow`].
    pub fn add_stack(&mut self, stack: &[u8], weights: Weights) -> Result<()> {
        let mut ids = std::mem::take(&mut self.scratch);
        ids.clear();
        let mut start = 0;
        for end in memchr::memchr_iter(b';', stack).chain([stack.len()]) {
            ids.push(self.frame(&stack[start..end]));
            start = end + 1;
        }
        let result = self.add(&ids, weights);
        self.scratch = ids;
        result
    }

    /// Adds a line of folded text in one column.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Malformed`] for anything else, and [`crate::ErrorKind::Overflow`].
    pub fn add_line(&mut self, line: &[u8]) -> Result<()> {
        let parsed = parse_line(line, Columns::One);
        let parsed = parsed.ok_or_else(|| Error::malformed("a stack and a weight", line))?;
        self.add_stack(parsed.stack, parsed.weights)
    }

    /// Adds all of another table to this one.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Overflow`].
    pub fn merge(&mut self, other: &StackTable) -> Result<()> {
        let ids: Vec<FrameId> = (0..other.names.len()).map(|i| self.frame(other.names.get(i))).collect();
        let mut stack = Vec::new();
        for index in 0..other.len() {
            stack.clear();
            stack.extend(other.stacks.get(index).iter().map(|id| ids[id.0 as usize]));
            self.add(&stack, other.weights(index))?;
        }
        if other.columns() == Columns::Two {
            self.make_differential();
        }
        Ok(())
    }

    fn weights(&self, index: usize) -> Weights {
        let before = self.befores.get(index).copied().unwrap_or_default();
        Weights { value: self.values[index], before }
    }

    /// The sum of all weights.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Overflow`].
    pub fn total(&self) -> Result<Weights> {
        (0..self.len()).try_fold(Weights::default(), |sum, index| sum.plus(self.weights(index)))
    }

    /// The numbers of the stacks in frame order.
    fn sorted(&self) -> Vec<u32> {
        let mut by_name: Vec<u32> = (0..self.names.len() as u32).collect();
        by_name.sort_unstable_by(|&a, &b| self.names.get(a as usize).cmp(self.names.get(b as usize)));
        // Rank 0 is the end of a stack: a prefix comes first.
        let mut rank = vec![0u32; by_name.len()];
        for (position, &id) in by_name.iter().enumerate() {
            rank[id as usize] = position as u32 + 1;
        }
        let bits = usize::BITS - by_name.len().leading_zeros();
        let per_key = (u128::BITS / bits.max(1)) as usize;
        let key = |id: u32| {
            let ranks = self.stacks.get(id as usize).iter().take(per_key).map(|frame| rank[frame.0 as usize]);
            let mut key = 0u128;
            let mut count = 0;
            for rank in ranks {
                key = key << bits | u128::from(rank);
                count += 1;
            }
            key << (bits * (per_key - count) as u32 % u128::BITS)
        };
        let mut keyed: Vec<(u128, u32)> = (0..self.len() as u32).map(|id| (key(id), id)).collect();
        let tail = |id: u32| {
            let stack = self.stacks.get(id as usize);
            stack[per_key.min(stack.len())..].iter().map(|frame| rank[frame.0 as usize])
        };
        keyed.sort_unstable_by(|a, b| a.0.cmp(&b.0).then_with(|| tail(a.1).cmp(tail(b.1))));
        keyed.into_iter().map(|(_, id)| id).collect()
    }

    /// Calls `each` with every stack and its weights, in frame order.
    ///
    /// # Errors
    /// Those of `each`.
    pub fn for_each(&self, mut each: impl FnMut(&[u8], Weights) -> Result<()>) -> Result<()> {
        // Neighbours share most of their frames: keep the text up to where they part.
        let mut text: Vec<u8> = Vec::new();
        let mut ends: Vec<usize> = Vec::new();
        let mut previous: &[FrameId] = &[];
        for id in self.sorted() {
            let stack = self.stacks.get(id as usize);
            let same = previous.iter().zip(stack).take_while(|(a, b)| a == b).count();
            ends.truncate(same);
            text.truncate(ends.last().copied().unwrap_or(0));
            for (depth, &frame) in stack.iter().enumerate().skip(same) {
                if depth > 0 {
                    text.push(b';');
                }
                text.extend_from_slice(self.name(frame));
                ends.push(text.len());
            }
            each(&text, self.weights(id as usize))?;
            previous = stack;
        }
        Ok(())
    }

    /// Writes folded text in frame order.
    ///
    /// # Errors
    /// What `out` says.
    pub fn write(&self, out: &mut dyn Write) -> Result<()> {
        let mut out = io::BufWriter::with_capacity(64 * 1024, out);
        let differential = self.columns() == Columns::Two;
        self.for_each(|stack, weights| {
            out.write_all(stack)?;
            if differential {
                write!(out, " {}", weights.before)?;
            }
            writeln!(out, " {}", weights.value)?;
            Ok(())
        })?;
        out.flush()?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::order::cmp_stacks;
    use super::*;
    use proptest::prelude::*;

    fn text(table: &StackTable) -> String {
        let mut out = Vec::new();
        table.write(&mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn adds_up_and_writes_in_frame_order() {
        let mut table = StackTable::default();
        for line in ["a b;c 1", "a;b 2", "a 3", "a;b 0.5", "a;b;c 1"] {
            table.add_line(line.as_bytes()).unwrap();
        }
        assert_eq!(text(&table), "a 3\na;b 2.5\na;b;c 1\na b;c 1\n");
        assert_eq!(table.total().unwrap().value.to_string(), "7.5");
    }

    #[test]
    fn merging_is_adding() {
        let (mut one, mut two) = (StackTable::default(), StackTable::default());
        for n in 0..500 {
            let line = format!("main;f{};g{} {n}", n % 7, n % 31);
            if n % 2 == 0 { &mut one } else { &mut two }.add_line(line.as_bytes()).unwrap();
        }
        let total = one.total().unwrap().plus(two.total().unwrap()).unwrap();
        one.merge(&two).unwrap();
        assert_eq!(one.total().unwrap(), total);
        assert_eq!(one.len(), 7 * 31);
    }

    #[test]
    fn two_columns_are_kept_apart() {
        let mut table = StackTable::default();
        let weights = |before, value| Weights { value: Weight::new(value), before: Weight::new(before) };
        table.add_stack(b"a;b", weights(0, 5)).unwrap();
        table.add_stack(b"a", weights(2, 0)).unwrap();
        table.add_stack(b"a;b", weights(1, 1)).unwrap();
        assert_eq!(text(&table), "a 2 0\na;b 1 6\n");
    }

    proptest! {
        #[test]
        fn sorts_any_stacks_in_frame_order(
            stacks in proptest::collection::vec(proptest::collection::vec("[a-c ;.]{0,3}", 1..12), 0..60)
        ) {
            let mut table = StackTable::default();
            let lines: Vec<String> = stacks.iter().map(|s| s.join(";")).filter(|s| !s.is_empty()).collect();
            for line in &lines {
                table.add_stack(line.as_bytes(), Weights::one(Weight::ONE)).unwrap();
            }
            let mut seen: Vec<Vec<u8>> = Vec::new();
            table.for_each(|stack, _| { seen.push(stack.to_vec()); Ok(()) }).unwrap();
            prop_assert!(seen.windows(2).all(|pair| cmp_stacks(&pair[0], &pair[1]).is_lt()));
            prop_assert_eq!(table.total().unwrap().value, Weight::new(lines.len() as i128));
        }
    }
}
