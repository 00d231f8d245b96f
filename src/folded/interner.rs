//! A number for each different run of bytes.

use super::id_table::{IdTable, KeyedHasher};

/// A number for each different run of bytes, in the order in which they come.
#[derive(Default)]
pub(crate) struct Interner {
    hasher: KeyedHasher,
    ids: IdTable,
    text: Vec<u8>,
    ends: Vec<usize>,
}

impl Interner {
    /// The number of names.
    pub(crate) fn len(&self) -> usize {
        self.ends.len()
    }

    /// The number of a text: the next one, if it is new.
    #[inline]
    pub(crate) fn key(&mut self, text: &[u8]) -> u32 {
        let next = self.ends.len();
        match self.ids.get_or_insert(self.hasher.hash_bytes(text), next) {
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
