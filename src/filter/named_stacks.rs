//! The stacks of a table by the names of their frames: stacks that differ only in the places of
//! frames are one stack, as they are in folded text.

use std::collections::HashMap;

use crate::error::Result;
use crate::folded::{Columns, FrameId, StackTable, Weights};

/// Stacks numbered by their names.
pub(crate) struct NamedStacks<'t> {
    table: &'t StackTable,
    /// The number here of each stack of the table; `None` where both numbers are the same.
    numbers: Option<Vec<u32>>,
    /// One of the table's stacks, and the weight of all of them, for each number here.
    stacks: Vec<(u32, Weights)>,
}

impl<'t> NamedStacks<'t> {
    /// Finds the stacks of a table that are one.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Overflow`].
    pub(crate) fn new(table: &'t StackTable) -> Result<Self> {
        let has_places = table.stacks().any(|(stack, _)| stack.iter().any(|frame| frame.placed().is_some()));
        let mut stacks = Vec::with_capacity(table.len());
        if !has_places {
            stacks.extend((0..).zip(table.stacks()).map(|(number, (_, weights))| (number, weights)));
            return Ok(NamedStacks { table, numbers: None, stacks });
        }
        let mut known: HashMap<Vec<FrameId>, u32> = HashMap::new();
        let mut numbers = Vec::with_capacity(table.len());
        for (at, (stack, weights)) in (0..).zip(table.stacks()) {
            let names = stack.iter().map(|&frame| table.base(frame)).collect();
            let number = *known.entry(names).or_insert(stacks.len() as u32);
            match stacks.get_mut(number as usize) {
                Some((_, sum)) => *sum = sum.checked_add(weights)?,
                None => stacks.push((at, weights)),
            }
            numbers.push(number);
        }
        Ok(NamedStacks { table, numbers: Some(numbers), stacks })
    }

    /// The number of stacks.
    pub(crate) fn len(&self) -> usize {
        self.stacks.len()
    }

    /// The number here of a stack of the table.
    pub(crate) fn number_of(&self, stack: usize) -> usize {
        self.numbers.as_ref().map_or(stack, |numbers| numbers[stack] as usize)
    }

    /// The weight of a stack.
    pub(crate) fn weights(&self, number: usize) -> Weights {
        self.stacks[number].1
    }

    /// The names of a stack's frames, root first.
    pub(crate) fn names(&self, number: usize) -> impl Iterator<Item = &'t [u8]> {
        let table = self.table;
        table.stack(self.stacks[number].0 as usize).iter().map(|&frame| table.name(frame))
    }

    /// One or two weights with each stack.
    pub(crate) fn columns(&self) -> Columns {
        self.table.columns()
    }

    /// The weight of all stacks.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Overflow`].
    pub(crate) fn total(&self) -> Result<Weights> {
        self.table.total()
    }

    /// An answer for each stack by its weight.
    ///
    /// # Errors
    /// Those of `answer`.
    pub(crate) fn all<T>(&self, answer: impl Fn(Weights) -> Result<T>) -> Result<Vec<T>> {
        self.stacks.iter().map(|(_, weights)| answer(*weights)).collect()
    }
}
