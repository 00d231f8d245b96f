//! The hash table under [`StackTable`](super::StackTable)'s stacks.
//!
//! A slot holds 96 bits of a stack's hash and its number, nothing else. The hash is keyed with
//! random numbers at start-up, so nobody can make two stacks collide on purpose, and by chance it
//! takes some 10¹⁴ different stacks: equal hashes are equal stacks, and a look-up touches one
//! cache line.

use std::hash::{BuildHasher, RandomState};

use super::table::FrameId;

/// Two independent hashes of a stack, in one pass.
pub(super) struct StackHasher {
    seeds: [u64; 4],
}

impl Default for StackHasher {
    fn default() -> Self {
        // The library's SipHash keys are the random numbers.
        let random = RandomState::new();
        let seeds = [0, 1, 2, 3].map(|n: u64| random.hash_one(n) | 1);
        StackHasher { seeds }
    }
}

impl StackHasher {
    #[inline]
    pub(super) fn hash(&self, stack: &[FrameId]) -> (u64, u32) {
        let [mut a, mut b, by_a, by_b] = self.seeds;
        let mut mix = |word: u64| {
            a = fold(a ^ word, by_a);
            b = fold(b ^ word, by_b);
        };
        let mut pairs = stack.chunks_exact(2);
        for pair in &mut pairs {
            mix(u64::from(pair[0].0) << 32 | u64::from(pair[1].0));
        }
        // The length tells an odd frame at the end from a pair.
        let odd = pairs.remainder().first().map_or(u64::MAX, |last| u64::from(last.0));
        mix(odd);
        mix(stack.len() as u64);
        (a, b as u32)
    }
}

/// The two halves of a product, put together: every bit of the result depends on every bit.
#[inline]
fn fold(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    product as u64 ^ (product >> 64) as u64
}

#[derive(Clone, Copy, Default)]
struct Slot {
    hash: u64,
    check: u32,
    /// The number of the stack and one; 0 is an empty slot.
    id: u32,
}

/// Open addressing, linear probing, at most half full.
#[derive(Default)]
pub(super) struct Slots {
    slots: Vec<Slot>,
    used: usize,
}

impl Slots {
    /// The number of the stack in the first slot of this hash, right or not: to be brought into
    /// the cache.
    #[inline]
    pub(super) fn first(&self, (hash, _): (u64, u32)) -> u32 {
        match self.slots.len().checked_sub(1) {
            Some(mask) => self.slots[hash as usize & mask].id.wrapping_sub(1),
            None => 0,
        }
    }

    /// The number of the stack with this hash; or it becomes `next`, and the answer is `None`.
    #[inline]
    pub(super) fn get_or_insert(&mut self, (hash, check): (u64, u32), next: usize) -> Option<usize> {
        if self.used * 2 >= self.slots.len() {
            self.grow();
        }
        let mask = self.slots.len() - 1;
        let mut at = hash as usize & mask;
        loop {
            let slot = &mut self.slots[at];
            if slot.id == 0 {
                let id = u32::try_from(next + 1).expect("four thousand million stacks do not fit in memory");
                *slot = Slot { hash, check, id };
                self.used += 1;
                return None;
            }
            if slot.hash == hash && slot.check == check {
                return Some(slot.id as usize - 1);
            }
            at = (at + 1) & mask;
        }
    }

    #[cold]
    fn grow(&mut self) {
        let size = (self.slots.len() * 2).max(1024);
        let old = std::mem::replace(&mut self.slots, vec![Slot::default(); size]);
        for slot in old.into_iter().filter(|slot| slot.id != 0) {
            let mut at = slot.hash as usize & (size - 1);
            while self.slots[at].id != 0 {
                at = (at + 1) & (size - 1);
            }
            self.slots[at] = slot;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_stack_has_its_number() {
        let hasher = StackHasher::default();
        let mut slots = Slots::default();
        let stack = |n: u32| (0..n % 7 + 1).map(|depth| FrameId(n / 7 * depth)).collect::<Vec<_>>();
        let mut stacks: Vec<Vec<FrameId>> = (0..20_000).map(stack).collect();
        stacks.sort();
        stacks.dedup();
        for (n, stack) in stacks.iter().enumerate() {
            assert_eq!(slots.get_or_insert(hasher.hash(stack), n), None, "{stack:?}");
        }
        for (n, stack) in stacks.iter().enumerate() {
            assert_eq!(slots.get_or_insert(hasher.hash(stack), 0), Some(n));
        }
    }
}
