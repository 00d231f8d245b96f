//! Puts the stacks of a [`StackTable`](super::StackTable) in frame order.
//!
//! Frames are ranked by name once; as many ranks as fit are packed into one integer, and most
//! comparisons never look at a stack. Stacks that agree so far are copied next to one another
//! before they are sorted by what follows: a table of millions lies all over the memory, and
//! waiting for that is most of the time sorting takes.

use std::ops::Range;
use std::thread;

use super::frame_id::FrameId;
use super::line::Weights;
use crate::error::Result;
use crate::threads::Task;
use crate::weight::Weight;

/// Stacks one after the other in one allocation.
#[derive(Clone, Copy)]
pub(super) struct View<'a> {
    /// The frames of all stacks.
    pub frames: &'a [FrameId],
    /// The ends of stacks, after the beginning of the first one.
    pub ends: &'a [usize],
    /// The weights of the stack of a number.
    pub weights: &'a (dyn Fn(usize) -> Weights + Sync),
}

impl<'a> View<'a> {
    fn len(&self) -> usize {
        self.ends.len() - 1
    }

    fn stack(&self, index: usize) -> &'a [FrameId] {
        &self.frames[self.ends[index]..self.ends[index + 1]]
    }
}

/// A frame's place among all names in the order of their bytes, from 1; 0 is the end of a stack,
/// so that a prefix comes first.
pub(super) struct Ranks {
    ranks: Vec<u32>,
    bits: u32,
}

impl Ranks {
    /// From the numbers of the frames in the order of their names.
    pub(super) fn new(by_name: &[u32]) -> Self {
        let mut ranks = vec![0; by_name.len()];
        for (place, &id) in by_name.iter().enumerate() {
            ranks[id as usize] = place as u32 + 1;
        }
        let bits = u32::BITS - (by_name.len() as u32).leading_zeros();
        Ranks { ranks, bits: bits.max(1) }
    }

    /// The next `count` ranks of a stack in one integer.
    fn pack(&self, rest: &[FrameId], count: usize) -> u128 {
        let rest = &rest[..rest.len().min(count)];
        let ranks = rest.iter().map(|frame| self.ranks[frame.0 as usize]);
        let key = ranks.fold(0u128, |key, rank| key << self.bits | u128::from(rank));
        if rest.is_empty() { 0 } else { key << (self.bits * (count - rest.len()) as u32) }
    }
}

/// The most bytes that sorting takes for each stack, besides a copy of its frames: a key, and an end and weights
/// beside the copy.
pub(super) const BYTES_OF_STACK: usize = size_of::<u128>() + size_of::<usize>() + size_of::<Weights>();

/// Copied stacks.
#[derive(Default)]
pub(super) struct Near {
    frames: Vec<FrameId>,
    ends: Vec<usize>,
    weights: Vec<Weights>,
}

/// Calls `each` with every stack of a view in frame order, equal ones once. The stacks agree in
/// their first `depth` frames.
///
/// Stacks that agree so far and together weigh less than `least` come as one, without the frames
/// that only they have. Where one of them is negative all stay whole: their sum tells nothing of what a
/// frame in them weighs.
pub(super) fn in_order(
    view: View<'_>,
    depth: usize,
    ranks: &Ranks,
    least: Weight,
    each: &mut dyn FnMut(&[FrameId], Weights) -> Result<()>,
) -> Result<()> {
    in_room(room_for(view), view, depth, ranks, least, each)
}

/// Stacks that agree are copied again every few frames: endless recursion would make as many
/// copies as there are frames. There is room for so many.
fn room_for(view: View<'_>) -> usize {
    view.frames.len() + (1 << 20)
}

/// [`in_order`], with `room` for copies of frames; beyond it, stacks are compared where they are.
fn in_room(
    room: usize,
    view: View<'_>,
    depth: usize,
    ranks: &Ranks,
    least: Weight,
    each: &mut dyn FnMut(&[FrameId], Weights) -> Result<()>,
) -> Result<()> {
    let sorted = Sorted::from(depth, view, ranks, 1);
    sorted.visit(0..sorted.keys.len(), room, &mut Near::default(), least, each)
}

/// The stacks of a view in the order of the next few frames, to be visited in parts.
pub(super) struct Sorted<'a> {
    view: View<'a>,
    ranks: &'a Ranks,
    /// The next few frames of each stack, packed into an integer above the number of the stack; in order.
    keys: Vec<u128>,
    /// The frames of a stack that are packed, or known to be alike.
    depth: usize,
    place_bits: u32,
}

impl<'a> Sorted<'a> {
    /// Sorts on so many threads.
    pub(super) fn new(view: View<'a>, ranks: &'a Ranks, threads: usize) -> Self {
        Sorted::from(0, view, ranks, threads)
    }

    /// [`Sorted::new`] of stacks that agree in their first `depth` frames.
    fn from(mut depth: usize, view: View<'a>, ranks: &'a Ranks, threads: usize) -> Self {
        let place_bits = usize::BITS - view.len().leading_zeros();
        let count = ((u128::BITS - place_bits) / ranks.bits) as usize;
        let packed = |index: usize, depth: usize| {
            ranks.pack(view.stack(index).get(depth..).unwrap_or_default(), count)
        };
        // While all agree and go on there is nothing to sort.
        let all_agree = |depth: usize| {
            let first = packed(0, depth);
            (1..view.len()).all(|index| packed(index, depth) == first)
        };
        while view.len() > 1 && view.stack(0).len() >= depth + count && all_agree(depth) {
            depth += count;
        }
        let mut keys = vec![0; view.len()];
        let sort = |first: usize, keys: &mut [u128]| {
            for (index, key) in (first..).zip(&mut *keys) {
                *key = packed(index, depth) << place_bits | index as u128;
            }
            keys.sort_unstable();
        };
        if threads < 2 {
            sort(0, &mut keys);
        } else {
            let share = view.len().div_ceil(threads).max(1);
            thread::scope(|scope| {
                let parts = (0..).step_by(share).zip(keys.chunks_mut(share));
                let parts: Vec<_> =
                    parts.map(|(first, part)| Task::start(scope, move || sort(first, part))).collect();
                parts.into_iter().for_each(Task::join);
            });
            // Merges the sorted parts.
            keys.sort();
        }
        Sorted { view, ranks, keys, depth: depth + count, place_bits }
    }

    /// Parts of at least so many stacks, one after the other.
    pub(super) fn parts(&self, size: usize) -> Vec<Range<usize>> {
        let mut parts = Vec::new();
        let mut start = 0;
        while start < self.keys.len() {
            let end = self.group_from((start + size).min(self.keys.len()));
            parts.push(start..end);
            start = end;
        }
        parts
    }

    /// The number of the first key from `at` on that begins a group.
    fn group_from(&self, at: usize) -> usize {
        let group_of = |at: usize| self.keys[at] >> self.place_bits;
        match at {
            0 => 0,
            at if at >= self.keys.len() => self.keys.len(),
            at => at + (at..self.keys.len()).take_while(|&next| group_of(next) == group_of(at - 1)).count(),
        }
    }

    /// [`in_order`] for the stacks of a part. `near` is room for copies.
    pub(super) fn visit_part(
        &self,
        part: Range<usize>,
        near: &mut Near,
        each: &mut dyn FnMut(&[FrameId], Weights) -> Result<()>,
    ) -> Result<()> {
        self.visit(part, room_for(self.view), near, Weight::ZERO, each)
    }

    fn visit(
        &self,
        part: Range<usize>,
        room: usize,
        near: &mut Near,
        least: Weight,
        each: &mut dyn FnMut(&[FrameId], Weights) -> Result<()>,
    ) -> Result<()> {
        /// At least this many stacks are copied at once: their loads do not wait for one another.
        const AT_ONCE: usize = 256;
        let &Sorted { view, ranks, ref keys, depth, place_bits } = self;
        let group_of = |key: u128| key >> place_bits;
        let mut at = part.start;
        while at < part.end {
            let end = self.group_from(part.end.min(at + AT_ONCE));
            let now = &keys[at..end];
            at = end;
            near.frames.clear();
            near.ends.clear();
            near.weights.clear();
            near.ends.push(0);
            for key in now {
                let index = (key & ((1 << place_bits) - 1)) as usize;
                near.frames.extend_from_slice(view.stack(index));
                near.ends.push(near.frames.len());
                near.weights.push((view.weights)(index));
            }
            let mut start = 0;
            for group in now.chunk_by(|&a, &b| group_of(a) == group_of(b)) {
                let weights = |index: usize| near.weights[start + index];
                let ends = &near.ends[start..=start + group.len()];
                let group = View { frames: &near.frames, ends, weights: &weights };
                let total =
                    (0..group.len()).try_fold(Weights::default(), |sum, n| sum.checked_add(weights(n)))?;
                let none_is_negative = || (0..group.len()).all(|n| !weights(n).value.is_negative());
                // A stack that ends exactly at `depth` looks like those that go on: only a shorter one is over.
                if total.value < least && none_is_negative() {
                    let stack = group.stack(0);
                    each(&stack[..stack.len().min(depth)], total)?;
                } else if group.len() == 1 || group.stack(0).len() < depth {
                    each(group.stack(0), total)?;
                } else if near.frames.len() > room {
                    by_comparison(group, depth, ranks, each)?;
                } else {
                    in_room(room - near.frames.len(), group, depth, ranks, least, each)?;
                }
                start += group.len();
            }
        }
        Ok(())
    }
}

/// Calls `each` with every stack of a view in frame order, equal ones once; slower than
/// [`in_order`], and nothing is copied.
fn by_comparison(
    view: View<'_>,
    depth: usize,
    ranks: &Ranks,
    each: &mut dyn FnMut(&[FrameId], Weights) -> Result<()>,
) -> Result<()> {
    let rest = |index: usize| {
        let rest = view.stack(index).get(depth..).unwrap_or_default();
        rest.iter().map(|frame| ranks.ranks[frame.0 as usize])
    };
    let mut order: Vec<usize> = (0..view.len()).collect();
    order.sort_unstable_by(|&a, &b| rest(a).cmp(rest(b)));
    for equal in order.chunk_by(|&a, &b| view.stack(a) == view.stack(b)) {
        let total =
            equal.iter().try_fold(Weights::default(), |sum, &n| sum.checked_add((view.weights)(n)))?;
        each(view.stack(equal[0]), total)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn light_stacks_are_cut_and_nothing_is_lost(
            weighed in proptest::collection::vec((prop_oneof![
                proptest::collection::vec(0u32..4, 1..24),
                // Recursion: each a part of the next.
                (1..24usize).prop_map(|len| vec![1u32; len]),
            ], prop_oneof![9 => Just(1), 1 => -3i128..3]), 1..60),
            names in prop_oneof![Just(6u32), Just(1 << 13)],
            least in 0i128..12,
            room in prop_oneof![Just(0), 0usize..600, Just(usize::MAX)],
        ) {
            // Many names make keys of few frames.
            let by_name: Vec<u32> = (0..names).collect();
            let stacks: Vec<Vec<u32>> = weighed.iter().map(|(stack, _)| stack.clone()).collect();
            let frames: Vec<FrameId> = stacks.iter().flatten().map(|&id| FrameId(id)).collect();
            let mut ends = vec![0];
            stacks.iter().for_each(|stack| ends.push(ends[ends.len() - 1] + stack.len()));
            let weights = |index: usize| Weights::one(Weight::new(weighed[index].1));
            let view = View { frames: &frames, ends: &ends, weights: &weights };
            let mut seen: Vec<(Vec<u32>, i128)> = Vec::new();
            in_room(room, view, 0, &Ranks::new(&by_name), Weight::new(least), &mut |stack, weights| {
                let weight = (-200..200).find(|&n| Weight::new(n) == weights.value).unwrap();
                seen.push((stack.iter().map(|id| id.0).collect(), weight));
                Ok(())
            }).unwrap();
            prop_assert!(seen.windows(2).all(|pair| pair[0].0 < pair[1].0), "{seen:?}");
            // Every frame that is heavy enough weighs what it did, and every stack is somewhere.
            let through = |prefix: &[u32]| seen.iter().filter(|(s, _)| s.starts_with(prefix)).map(|(_, w)| w).sum::<i128>();
            let truth = |prefix: &[u32]| weighed.iter().filter(|(s, _)| s.starts_with(prefix)).map(|(_, w)| w).sum::<i128>();
            prop_assert_eq!(through(&[]), truth(&[]));
            for (stack, weight) in &weighed {
                for len in 1..=stack.len() {
                    let truth = truth(&stack[..len]);
                    if truth >= least {
                        prop_assert_eq!(through(&stack[..len]), truth, "{:?}", &stack[..len]);
                    }
                }
                if *weight < 0 {
                    prop_assert!(seen.iter().any(|(seen, _)| seen == stack), "{stack:?} in {seen:?}");
                }
            }
            if least == 0 {
                let mut all: Vec<_> = stacks.clone();
                all.sort();
                all.dedup();
                prop_assert_eq!(seen.into_iter().map(|(stack, _)| stack).collect::<Vec<_>>(), all);
            }
        }
    }
}
