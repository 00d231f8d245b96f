//! The hash table under stacks and symbols: a number for each different key, and no key.
//!
//! A slot holds 96 bits of a key's hash and its number, nothing else. The hash is keyed with
//! random numbers at start-up, so nobody can make two keys collide on purpose, and by chance it
//! takes some 10¹⁴ different keys: equal hashes are equal keys, and a look-up touches one cache
//! line.

use std::hash::{BuildHasher, RandomState};

use super::frame_id::FrameId;

/// Two independent hashes of a key, in one pass.
pub(crate) struct KeyedHasher {
    seeds: [u64; 4],
}

impl Default for KeyedHasher {
    fn default() -> Self {
        // The library's SipHash keys are the random numbers.
        let random = RandomState::new();
        let seeds = [0, 1, 2, 3].map(|n: u64| random.hash_one(n) | 1);
        KeyedHasher { seeds }
    }
}

impl KeyedHasher {
    /// The hash of some bytes.
    #[inline]
    pub(crate) fn hash_bytes(&self, bytes: &[u8]) -> Hash {
        const STEP: usize = 16;
        let [a, b, by_a, by_b] = self.seeds;
        let len = bytes.len();
        // Keys of different lengths begin with different numbers that nobody knows.
        let (mut a, mut b) = (a ^ by_b.rotate_left(len as u32), b ^ by_a.rotate_left(len as u32));
        let mut mix = |first: u64, second: u64| {
            a = fold(first ^ by_a, second ^ a);
            b = fold(first ^ by_b, second ^ b);
        };
        let word = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"));
        let half =
            |at: usize| u64::from(u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes")));
        let mut at = 0;
        while at + STEP < len {
            mix(word(at), word(at + 8));
            at += STEP;
        }
        // The last bytes, some of them once more; the length tells how many are new.
        match len {
            STEP.. => mix(word(len - 16), word(len - 8)),
            8.. => mix(word(0), word(len - 8)),
            4.. => mix(half(0), half(len - 4)),
            1.. => mix(u64::from(bytes[0]) << 8 | u64::from(bytes[len / 2]), bytes[len - 1].into()),
            0 => {}
        }
        Hash { slot: a, check: b as u32 }
    }

    /// The hash of one key more, whose hash is `next`, behind those that made `before`.
    #[inline]
    pub(super) fn hash_next(&self, before: Hash, next: Hash) -> Hash {
        let [_, _, by_a, by_b] = self.seeds;
        let b = u64::from(before.check) << 32 | u64::from(next.check);
        Hash {
            slot: fold(before.slot ^ next.slot.rotate_left(32), by_a),
            check: fold(b ^ before.slot, by_b) as u32,
        }
    }

    /// The hash of a stack.
    #[inline]
    pub(super) fn hash_stack(&self, stack: &[FrameId]) -> Hash {
        self.hash_all(stack, |frame| frame.0)
    }

    /// The hash of some numbers.
    #[cfg(feature = "render")]
    #[inline]
    pub(crate) fn hash_numbers(&self, numbers: &[u32]) -> Hash {
        self.hash_all(numbers, |number| number)
    }

    #[inline]
    fn hash_all<T: Copy>(&self, all: &[T], number: impl Fn(T) -> u32) -> Hash {
        let [mut a, mut b, by_a, by_b] = self.seeds;
        let mut mix = |word: u64| {
            a = fold(a ^ word, by_a);
            b = fold(b ^ word, by_b);
        };
        let mut pairs = all.chunks_exact(2);
        for pair in &mut pairs {
            mix(u64::from(number(pair[0])) << 32 | u64::from(number(pair[1])));
        }
        // The length tells an odd frame at the end from a pair.
        let odd = pairs.remainder().first().map_or(u64::MAX, |&last| u64::from(number(last)));
        mix(odd);
        mix(all.len() as u64);
        Hash { slot: a, check: b as u32 }
    }
}

/// A key's hash: where it is looked for, and what it is told by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Hash {
    slot: u64,
    check: u32,
}

impl Hash {
    /// The bits that tell where the key is looked for.
    #[inline]
    pub(super) fn slot(self) -> u64 {
        self.slot
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
    /// The number of the key and one; 0 is an empty slot.
    id: u32,
}

/// Open addressing, linear probing, at most half full.
#[derive(Default)]
pub(crate) struct IdTable {
    slots: Vec<Slot>,
    used: usize,
}

impl IdTable {
    /// The number of bytes that the slots take.
    pub(crate) fn bytes(&self) -> usize {
        size_of_val(&self.slots[..])
    }

    /// Forgets all numbers.
    pub(super) fn clear(&mut self) {
        self.slots.fill(Slot::default());
        self.used = 0;
    }

    /// The number in the first slot of this hash, right or not: to be brought into the cache.
    #[inline]
    pub(super) fn first(&self, Hash { slot: hash, .. }: Hash) -> u32 {
        match self.slots.len().checked_sub(1) {
            Some(mask) => self.slots[hash as usize & mask].id.wrapping_sub(1),
            None => 0,
        }
    }

    /// The number of the key with this hash.
    #[inline]
    pub(super) fn get(&self, Hash { slot: hash, check }: Hash) -> Option<usize> {
        let mask = self.slots.len().checked_sub(1)?;
        let mut at = hash as usize & mask;
        loop {
            let slot = self.slots[at];
            if slot.id == 0 {
                return None;
            }
            if slot.hash == hash && slot.check == check {
                return Some(slot.id as usize - 1);
            }
            at = (at + 1) & mask;
        }
    }

    /// The number of the key with this hash; or it becomes `next`, and the answer is `None`.
    #[inline]
    pub(crate) fn get_or_insert(&mut self, Hash { slot: hash, check }: Hash, next: usize) -> Option<usize> {
        if self.used * 2 >= self.slots.len() {
            self.grow();
        }
        let mask = self.slots.len() - 1;
        let mut at = hash as usize & mask;
        loop {
            let slot = &mut self.slots[at];
            if slot.id == 0 {
                let id = u32::try_from(next + 1).expect("4 billion keys do not fit in memory");
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
    fn every_text_has_its_hash() {
        let hasher = KeyedHasher::default();
        let mut seen = std::collections::HashSet::new();
        let text: Vec<u8> = (0..100).collect();
        for start in 0..60 {
            for len in 0..40 {
                let mut key = text[start..start + len].to_vec();
                let fresh = seen.insert(hasher.hash_bytes(&key).slot);
                assert_eq!(fresh, len > 0 || start == 0);
                // Every byte matters.
                for at in 0..len {
                    key[at] ^= 0x80;
                    assert!(seen.insert(hasher.hash_bytes(&key).slot), "{start} {len} {at}");
                    key[at] ^= 0x80;
                }
            }
        }
        assert_ne!(hasher.hash_bytes(b"\0"), hasher.hash_bytes(b"\0\0"));
    }

    #[test]
    fn a_key_is_told_by_both_parts_of_its_hash() {
        let mut slots = IdTable::default();
        let hash = Hash { slot: 5, check: 7 };
        let others = [Hash { check: 8, ..hash }, Hash { slot: 5 | 1 << 32, ..hash }];
        assert_eq!((slots.get(hash), slots.get_or_insert(hash, 0)), (None, None));
        for (number, other) in (1..).zip(others) {
            assert_eq!((slots.get(other), slots.get_or_insert(other, number)), (None, None));
        }
        assert_eq!([hash, others[0], others[1]].map(|hash| slots.get(hash)), [Some(0), Some(1), Some(2)]);
    }

    #[test]
    fn every_stack_has_its_number() {
        let hasher = KeyedHasher::default();
        let mut slots = IdTable::default();
        let stack = |n: u32| (0..n % 7 + 1).map(|depth| FrameId(n / 7 * depth)).collect::<Vec<_>>();
        let mut stacks: Vec<Vec<FrameId>> = (0..20_000).map(stack).collect();
        stacks.sort();
        stacks.dedup();
        for (n, stack) in stacks.iter().enumerate() {
            assert_eq!(slots.get_or_insert(hasher.hash_stack(stack), n), None, "{stack:?}");
        }
        for (n, stack) in stacks.iter().enumerate() {
            assert_eq!(slots.get_or_insert(hasher.hash_stack(stack), 0), Some(n));
        }
    }
}
