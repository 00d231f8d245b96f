//! Weights by number: a profile has few different ones, as samples weigh the same.

use std::collections::HashMap;

use super::column::Column;
use crate::error::Result;

/// The most weights that have numbers: two bytes hold each.
const MOST: usize = 1 << 14;
/// Smaller weights are found without hashing.
const SMALL: usize = 256;

/// The weights that have numbers, in the order they came. Number 1 is no weight at all, which most
/// callers have.
pub(super) struct Values {
    small: [u16; SMALL],
    others: HashMap<u128, u16>,
    /// The larger one that came last, which often comes again.
    last: (u128, u16),
    count: usize,
    /// Each weight that was not there before.
    column: Column,
}

impl Default for Values {
    fn default() -> Self {
        let mut small = [0; SMALL];
        small[0] = 1;
        Values { small, others: HashMap::new(), last: (0, 1), count: 1, column: Column::default() }
    }
}

impl Values {
    /// The number of a weight; 0 is the next one of the column of values.
    #[inline]
    pub(super) fn number(&mut self, value: u128) -> Result<u128> {
        let known = if value < SMALL as u128 {
            self.small[value as usize]
        } else if value == self.last.0 {
            self.last.1
        } else {
            let known = self.others.get(&value).copied().unwrap_or(0);
            if known > 0 {
                self.last = (value, known);
            }
            known
        };
        if known == 0 {
            self.add(value)?;
        }
        Ok(known.into())
    }

    fn add(&mut self, value: u128) -> Result<()> {
        self.column.push(value)?;
        if self.count + 1 < MOST {
            self.count += 1;
            let number = self.count as u16;
            if value < SMALL as u128 {
                self.small[value as usize] = number;
            } else {
                self.others.insert(value, number);
            }
        }
        Ok(())
    }

    pub(super) fn finish(self) -> Result<Vec<u8>> {
        self.column.finish()
    }
}

/// The weights of one side: those of leaves, which all weigh something, and those of callers, which
/// mostly do not, compress better apart.
#[derive(Default)]
pub(super) struct Side {
    leaves: Column,
    callers: Column,
}

impl Side {
    #[inline]
    pub(super) fn push(&mut self, is_leaf: bool, number: u128) -> Result<()> {
        let column = if is_leaf { &mut self.leaves } else { &mut self.callers };
        column.push(number)
    }

    /// The columns of leaves and of callers.
    pub(super) fn finish(self) -> Result<(Vec<u8>, Vec<u8>)> {
        Ok((self.leaves.finish()?, self.callers.finish()?))
    }
}
