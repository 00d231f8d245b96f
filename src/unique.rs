//! A number for each different value, in the order in which they come. For texts, which need no copy of
//! each on its own, there is [`Interner`](crate::folded::Interner).

use std::collections::HashMap;
use std::hash::Hash;

/// Values of which equal ones have one number, from 0 on.
#[derive(Debug)]
pub struct Unique<T> {
    all: Vec<T>,
    keys: HashMap<T, u32>,
}

impl<T> Default for Unique<T> {
    fn default() -> Self {
        Unique { all: Vec::new(), keys: HashMap::new() }
    }
}

impl<T: Clone + Eq + Hash> Unique<T> {
    /// The number of a value: the next one, if it is new.
    pub fn key(&mut self, value: T) -> u32 {
        if let Some(&known) = self.keys.get(&value) {
            return known;
        }
        let key = self.all.len() as u32;
        self.all.push(value.clone());
        self.keys.insert(value, key);
        key
    }

    /// All values, by number.
    pub fn all(&self) -> &[T] {
        &self.all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_values_have_one_number() {
        let mut unique = Unique::default();
        let keys = ["a", "b", "a", "c", "b"].map(|text| unique.key(text.to_owned()));
        assert_eq!((keys, unique.all()), ([0, 1, 0, 2, 1], &["a", "b", "c"].map(String::from)[..]));
    }
}
