//! Stacks counted before their frames have names, or by what is open at the time: each different
//! path once, with what it weighs itself.
//!
//! Many files name frames by number, and the table of names comes after the stacks; others tell
//! only when a function was entered and left. Both are walked down a [`Trie`] as they stream by,
//! so that memory is taken for different stacks, not for samples.

use crate::collapse::kit::forest::Budget;
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
    /// Every addition by itself, where a sink wants to know when it was.
    log: Option<Vec<Added>>,
}

/// One addition to a path.
struct Added {
    path: PathId,
    weight: Weight,
    time: Option<u64>,
    duration: u64,
    origin: u32,
}

/// The samples that [`Trie::for_each`] shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sampled {
    /// Their weight.
    pub weight: Weight,
    /// Their number.
    pub samples: u64,
    /// The time of a single one, in nanoseconds.
    pub time: Option<u64>,
    /// The nanoseconds that a single one lasted, from its time on.
    pub duration: u64,
    /// The number that [`Trie::add_from`] was given for a single one.
    pub origin: u32,
}

/// The sum of the additions to a path, and their number.
type Own = (Weight, u64);

impl Trie {
    /// The empty path.
    pub const ROOT: PathId = PathId(u32::MAX);

    /// Paths whose additions stay apart from each other, if `contexts` are wanted.
    pub fn new(contexts: bool) -> Trie {
        Trie { log: contexts.then(Vec::new), ..Trie::default() }
    }

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

    /// Adds to the weight of a path, at a time in nanoseconds if it is known.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Overflow`].
    pub fn add_at(&mut self, path: PathId, weight: Weight, time: Option<u64>) -> Result<()> {
        self.add_from(path, weight, time, 0)
    }

    /// [`Trie::add_at`], of a thread or whatever else the caller numbers.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Overflow`].
    pub fn add_from(&mut self, path: PathId, weight: Weight, time: Option<u64>, origin: u32) -> Result<()> {
        self.add_lasting(path, weight, time, 0, origin)
    }

    /// [`Trie::add_at`], of what lasted for some nanoseconds from this time on.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Overflow`].
    pub fn add_lasting(
        &mut self,
        path: PathId,
        weight: Weight,
        time: Option<u64>,
        duration: u64,
        origin: u32,
    ) -> Result<()> {
        if let Some(log) = &mut self.log {
            log.push(Added { path, weight, time, duration, origin });
        }
        let sum = match self.nodes.get_mut(path.0 as usize) {
            Some((_, _, sum)) => sum,
            None => &mut self.root,
        };
        *sum = (sum.0.checked_add(weight)?, sum.1 + 1);
        Ok(())
    }

    /// The number of different paths but the empty one.
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Returns whether nothing weighs anything.
    pub fn is_empty(&self) -> bool {
        self.root.0.is_zero() && self.nodes.iter().all(|(_, _, (weight, _))| weight.is_zero())
    }

    /// The numbers that paths begin with.
    pub fn first_numbers(&self) -> impl Iterator<Item = u32> {
        self.nodes.iter().filter(|(above, ..)| *above == Trie::ROOT).map(|(_, number, _)| *number)
    }

    /// Calls `each` with every path that weighs something, as frames: `start`, and those of its
    /// numbers; once for each path, or once for each addition where these are kept apart.
    ///
    /// # Errors
    /// Those of `frame` and `each`, and stacks that would fill the memory.
    pub fn for_each(
        &self,
        start: Option<FrameId>,
        mut frame: impl FnMut(u32) -> Result<FrameId>,
        mut each: impl FnMut(&[FrameId], Sampled) -> Result<()>,
    ) -> Result<()> {
        let mut budget = Budget::default();
        let mut stack = Vec::new();
        let mut seen = vec![false; if self.log.is_some() { self.nodes.len() } else { 0 }];
        let own = self.nodes.iter().enumerate().map(|(at, (_, _, own))| (PathId(at as u32), *own));
        let sums = [(Trie::ROOT, self.root)].into_iter().chain(own).map(|(path, (weight, samples))| {
            (path, Sampled { weight, samples, time: None, duration: 0, origin: 0 })
        });
        let all: Box<dyn Iterator<Item = (PathId, Sampled)> + '_> = match &self.log {
            None => Box::new(sums),
            Some(log) => Box::new(log.iter().map(|added| {
                let Added { path, weight, time, duration, origin } = *added;
                (path, Sampled { weight, samples: 1, time, duration, origin })
            })),
        };
        for (path, sampled) in all {
            if sampled.weight.is_zero() {
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
            // A stack that comes again takes time, but no memory.
            let again = seen.get_mut(path.0 as usize).is_some_and(|seen| std::mem::replace(seen, true));
            budget.spend(if again { stack.len() / 16 } else { stack.len() })?;
            each(&stack, sampled)?;
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
            trie.add_at(path, Weight::new(weight), None).unwrap();
        }
        let mut seen = Vec::new();
        let each = |stack: &[FrameId], Sampled { weight, samples, .. }: Sampled| {
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

    #[test]
    fn additions_stay_apart_where_contexts_are_wanted() {
        let mut trie = Trie::new(true);
        let path = trie.below(Trie::ROOT, 1);
        trie.add_at(path, Weight::new(5), Some(100)).unwrap();
        trie.add_at(path, Weight::new(6), Some(200)).unwrap();
        let mut seen = Vec::new();
        let each = |stack: &[FrameId], sampled: Sampled| {
            seen.push((stack.to_vec(), sampled.weight.to_u64(), sampled.time));
            Ok(())
        };
        trie.for_each(None, |number| Ok(FrameId(number)), each).unwrap();
        let stack = vec![FrameId(1)];
        assert_eq!(seen, [(stack.clone(), Some(5), Some(100)), (stack, Some(6), Some(200))]);
    }
}
