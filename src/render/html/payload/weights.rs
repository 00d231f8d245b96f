//! Weights by number: a profile has few different ones, as samples weigh the same.

use std::collections::HashMap;

use super::column::Column;
use crate::error::{ErrorKind, Result};
use crate::folded::Weights;
use crate::weight::Weight;

/// A weight as a whole number of steps of the size `10^-decimals`, for a column, which holds none below zero.
///
/// # Errors
/// [`ErrorKind::Overflow`].
#[inline]
pub(super) fn unsigned_steps(weight: Weight, decimals: u8) -> Result<u128> {
    u128::try_from(weight.in_steps(decimals)?).map_err(|_| ErrorKind::Overflow.into())
}

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
    pub(super) fn weight_number(&mut self, value: u128) -> Result<u128> {
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

impl Side {
    fn bytes(&self) -> usize {
        self.leaves.bytes() + self.callers.bytes()
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

/// The own weights of all frames, of both sides, as they are told.
pub(super) struct WeightColumns {
    /// The factor of all weights, if it is not one.
    factor: Option<Weight>,
    frames: u64,
    leaf_count: u64,
    decimals: u8,
    scales: Vec<(u64, u8)>,
    values: Values,
    weights: Side,
    befores: Option<Side>,
}

/// A section of a page, and the part of its name behind that of the value.
pub(super) type Sections = Vec<(&'static str, Vec<u8>)>;

impl WeightColumns {
    pub(super) fn new(factor: Weight) -> WeightColumns {
        WeightColumns {
            factor: Some(factor).filter(|&factor| factor != Weight::ONE),
            frames: 0,
            leaf_count: 0,
            decimals: 0,
            scales: Vec::new(),
            values: Values::default(),
            weights: Side::default(),
            befores: None,
        }
    }

    /// Columns of the same weights, or of sums of them: with as many decimals from the first one on.
    pub(super) fn again(&self) -> WeightColumns {
        let scales = if self.decimals > 0 { vec![(0, self.decimals)] } else { Vec::new() };
        WeightColumns { decimals: self.decimals, scales, ..WeightColumns::new(self.factor()) }
    }

    /// The factor of all weights.
    pub(super) fn factor(&self) -> Weight {
        self.factor.unwrap_or(Weight::ONE)
    }

    /// The number of frames so far.
    pub(super) fn frames(&self) -> u64 {
        self.frames
    }

    /// The number of decimals of the weights so far.
    pub(super) fn decimals(&self) -> u8 {
        self.decimals
    }

    /// The number of compressed bytes so far.
    pub(super) fn bytes(&self) -> usize {
        let befores = self.befores.as_ref().map_or(0, Side::bytes);
        self.values.column.bytes() + self.weights.bytes() + befores
    }

    /// Adds the own weight of a frame.
    #[inline]
    pub(super) fn push(&mut self, is_leaf: bool, own: Weights) -> Result<()> {
        let (value, before) = self.whole(own)?;
        self.weights.push(is_leaf, self.values.weight_number(value)?)?;
        if self.befores.is_none() && before > 0 {
            self.befores = Some(self.no_befores()?);
        }
        if let Some(befores) = &mut self.befores {
            befores.push(is_leaf, self.values.weight_number(before)?)?;
        }
        self.leaf_count += u64::from(is_leaf);
        self.frames += 1;
        Ok(())
    }

    /// Weights as whole numbers, after and before; a finer weight than all before makes the step smaller.
    #[inline]
    fn whole(&mut self, own: Weights) -> Result<(u128, u128)> {
        let mut own = own;
        if let Some(factor) = self.factor {
            own = Weights { value: own.value.checked_mul(factor)?, before: own.before.checked_mul(factor)? };
        }
        let decimals = own.value.decimals().max(own.before.decimals());
        if decimals > self.decimals {
            self.decimals = decimals;
            self.scales.push((self.frames, decimals));
        }
        Ok((unsigned_steps(own.value, self.decimals)?, unsigned_steps(own.before, self.decimals)?))
    }

    /// The second column, with nothing in it for the frames so far.
    fn no_befores(&self) -> Result<Side> {
        let mut befores = Side::default();
        (0..self.leaf_count).try_for_each(|_| befores.push(true, 1))?;
        (self.leaf_count..self.frames).try_for_each(|_| befores.push(false, 1))?;
        Ok(befores)
    }

    /// The sections, and the decimals: the number of a frame, and those of the weights from there on.
    pub(super) fn finish(self) -> Result<(Sections, Vec<(u64, u8)>)> {
        let (leaves, callers) = self.weights.finish()?;
        let mut sections =
            vec![("values", self.values.finish()?), ("leaf-weights", leaves), ("caller-weights", callers)];
        if let Some(befores) = self.befores {
            let (leaves, callers) = befores.finish()?;
            sections.extend([("leaf-befores", leaves), ("caller-befores", callers)]);
        }
        Ok((sections, self.scales))
    }
}
