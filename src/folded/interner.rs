//! A number for each different run of bytes.

use super::id_table::{Hash, IdTable, KeyedHasher};

/// A number for each different run of bytes, in the order in which they come.
#[derive(Default)]
pub(crate) struct Interner {
    hasher: KeyedHasher,
    ids: IdTable,
    text: Vec<u8>,
    ends: Vec<usize>,
}

impl Interner {
    /// The hashes by which texts are told apart.
    pub(super) fn hasher(&self) -> &KeyedHasher {
        &self.hasher
    }

    /// The place of each text among all, in the order of their bytes.
    pub(super) fn ranks(&self) -> Vec<u32> {
        let mut order: Vec<u32> = (0..self.len() as u32).collect();
        order.sort_unstable_by(|&a, &b| self.name(a).cmp(self.name(b)));
        let mut ranks = vec![0; order.len()];
        for (rank, text) in (0..).zip(order) {
            ranks[text as usize] = rank;
        }
        ranks
    }

    /// The number of names.
    pub(crate) fn len(&self) -> usize {
        self.ends.len()
    }

    /// The bytes of memory that it takes.
    pub(crate) fn bytes(&self) -> usize {
        self.text.len() + size_of_val(&self.ends[..]) + self.ids.bytes()
    }

    /// The number of a text: the next one, if it is new.
    #[inline]
    pub(crate) fn key(&mut self, text: &[u8]) -> u32 {
        self.key_hashed(text, self.hasher.hash_bytes(text))
    }

    /// [`Interner::key`] for a text whose hash by [`Interner::hasher`] is known.
    #[inline]
    pub(super) fn key_hashed(&mut self, text: &[u8], hash: Hash) -> u32 {
        let next = self.ends.len();
        match self.ids.get_or_insert(hash, next) {
            Some(key) => key as u32,
            None => {
                self.text.extend_from_slice(text);
                self.ends.push(self.text.len());
                next as u32
            }
        }
    }

    /// The text of a number.
    pub(crate) fn name(&self, key: u32) -> &[u8] {
        let start = (key as usize).checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.text[start..self.ends[key as usize]]
    }

    /// Every text, in the order of their numbers.
    pub(crate) fn all(&self) -> impl Iterator<Item = &[u8]> {
        (0..self.ends.len()).map(|key| self.name(key as u32))
    }
}
