//! Stacks counted before their frames have names, or by what is open at the time: each different
//! path once, with what it weighs itself.
//!
//! Many files name frames by number, and the table of names comes after the stacks; others tell
//! only when a function was entered and left. Both are walked down a [`Trie`] as they stream by,
//! so that memory is taken for different stacks, not for samples.

use super::forest::Budget;
use crate::error::Result;
use crate::folded::{FrameId, IdTable, KeyedHasher};
use crate::weight::Weight;

/// A path in a [`Trie`]; [`Trie::ROOT`] is the empty one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PathId(u32);

/// Different paths of numbers, and a weight on each.
#[derive(Default)]
pub struct Trie {
    /// The path above and the number of each path but the empty one.
    nodes: Vec<(PathId, u32, Own)>,
    hasher: KeyedHasher,
    below: IdTable,
    root: Own,
}

/// What was added to a path, and how often.
type Own = (Weight, u64);

impl Trie {
    /// The empty path.
    pub const ROOT: PathId = PathId(u32::MAX);

    /// The path that goes on with `number`.
    pub fn below(&mut self, path: PathId, number: u32) -> PathId {
        let key = u64::from(path.0) << 32 | u64::from(number);
        let hash = self.hasher.hash_bytes(&key.to_le_bytes());
        let next = self.nodes.len();
        let found = self.below.get_or_insert(hash, next);
        if found.is_none() {
            self.nodes.push((path, number, Own::default()));
        }
        PathId(found.unwrap_or(next) as u32)
    }

    /// The path without its last number, and that number.
    pub fn above(&self, path: PathId) -> Option<(PathId, u32)> {
        self.nodes.get(path.0 as usize).map(|&(above, number, _)| (above, number))
    }

    /// Adds to the weight of a path.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Overflow`].
    pub fn add(&mut self, path: PathId, weight: Weight) -> Result<()> {
        let sum = match self.nodes.get_mut(path.0 as usize) {
            Some((_, _, sum)) => sum,
            None => &mut self.root,
        };
        *sum = (sum.0.checked_add(weight)?, sum.1 + 1);
        Ok(())
    }

    /// Whether nothing weighs anything.
    pub fn is_empty(&self) -> bool {
        self.root.0.is_zero() && self.nodes.iter().all(|(_, _, (weight, _))| weight.is_zero())
    }

    /// The numbers that paths begin with.
    pub fn first_numbers(&self) -> impl Iterator<Item = u32> {
        self.nodes.iter().filter(|(above, ..)| *above == Trie::ROOT).map(|(_, number, _)| *number)
    }

    /// Calls `each` with every path that weighs something, as frames: `start`, and those of its
    /// numbers; with what it weighs, and in how many samples.
    ///
    /// # Errors
    /// Those of `frame` and `each`, and stacks that would fill the memory.
    pub fn for_each(
        &self,
        start: Option<FrameId>,
        mut frame: impl FnMut(u32) -> Result<FrameId>,
        mut each: impl FnMut(&[FrameId], Weight, u64) -> Result<()>,
    ) -> Result<()> {
        let mut budget = Budget::default();
        let mut stack = Vec::new();
        let own = self.nodes.iter().enumerate().map(|(at, (_, _, own))| (PathId(at as u32), *own));
        for (path, (weight, samples)) in [(Trie::ROOT, self.root)].into_iter().chain(own) {
            if weight.is_zero() {
                continue;
            }
            stack.clear();
            let mut at = path;
            while let Some((above, number)) = self.above(at) {
                stack.push(frame(number)?);
                budget.check(stack.len())?;
                at = above;
            }
            stack.extend(start);
            stack.reverse();
            budget.spend(stack.len())?;
            each(&stack, weight, samples)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_paths_are_one_and_add_up() {
        let mut trie = Trie::default();
        for (numbers, weight) in [(&[1u32, 2][..], 5), (&[1], 2), (&[1, 2], 3), (&[], 1), (&[1, 3], 0)] {
            let path = numbers.iter().fold(Trie::ROOT, |path, &number| trie.below(path, number));
            trie.add(path, Weight::new(weight)).unwrap();
        }
        let mut seen = Vec::new();
        let each = |stack: &[FrameId], weight: Weight, samples: u64| {
            seen.push((stack.iter().map(|id| id.0).collect::<Vec<_>>(), format!("{weight} in {samples}")));
            Ok(())
        };
        trie.for_each(Some(FrameId(9)), |number| Ok(FrameId(number)), each).unwrap();
        assert_eq!(
            seen,
            [
                (vec![9], "1 in 1".to_owned()),
                (vec![9, 1], "2 in 1".to_owned()),
                (vec![9, 1, 2], "8 in 2".to_owned())
            ]
        );
    }
}
