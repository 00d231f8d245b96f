//! The stacks and samples of [`Tables`](super::Tables), of which there may be millions: each stack is kept once,
//! front coded.

use std::collections::HashMap;

use super::rounding::Rounding;
use crate::error::Result;
use crate::folded::{IdTable, KeyedHasher};
use crate::front_coded::{ListCursor, NumberLists};
use crate::weight::Weight;

/// Stacks: the numbers of their locations, root first. Equal ones have one number, from 0 on.
#[derive(Default)]
pub struct Stacks {
    lists: NumberLists,
    hasher: KeyedHasher,
    numbers: IdTable,
}

impl Stacks {
    /// The number of a stack: the next one, if it is new.
    pub fn key(&mut self, stack: &[u32]) -> u32 {
        let next = self.lists.len();
        let known = self.numbers.get_or_insert(self.hasher.hash_numbers(stack), next);
        if known.is_none() {
            self.lists.push(stack, &[]);
        }
        known.unwrap_or(next) as u32
    }

    /// The number of stacks.
    pub fn len(&self) -> usize {
        self.lists.len()
    }

    /// The bytes of memory that they take.
    pub fn bytes(&self) -> usize {
        self.lists.bytes() + self.numbers.bytes()
    }

    /// The stack of a number. It is found fastest in the order of numbers, by one cursor.
    pub(crate) fn get<'c>(&self, number: u32, cursor: &'c mut ListCursor) -> &'c [u32] {
        self.lists.get(number as usize, cursor)
    }
}

/// Samples: a stack and a set of labels each, and a value for each type. Equal ones are one.
#[derive(Default)]
pub struct Samples {
    all: Long<Sample>,
    /// The first sample of each stack, and one; 0 is none.
    first: Long<u32>,
    /// The samples of stacks that have several.
    others: HashMap<Sample, u32>,
    /// The values of all samples by type; behind the end they are 0.
    values: Vec<Sums>,
}

/// The numbers of the stack and the labels of a sample.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Sample {
    pub stack: u32,
    pub labels: u32,
}

impl Samples {
    /// The number of a sample: the next one, if it is new.
    pub fn key(&mut self, sample: Sample) -> usize {
        let next = self.all.len;
        let first = self.first.at(sample.stack as usize);
        let known = match *first {
            0 => {
                *first = next as u32 + 1;
                next
            }
            first if self.all.get(first as usize - 1) == Some(sample) => first as usize - 1,
            _ => *self.others.entry(sample).or_insert(next as u32) as usize,
        };
        if known == next {
            *self.all.at(next) = sample;
        }
        known
    }

    /// Adds to the value of a type of the sample of a number.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Overflow`].
    pub fn add(&mut self, number: usize, column: usize, value: Weight) -> Result<()> {
        if self.values.len() <= column {
            self.values.resize_with(column + 1, Sums::default);
        }
        self.values[column].add(number, value)
    }

    /// All samples, in the order in which they came.
    pub fn all(&self) -> impl Iterator<Item = Sample> {
        self.all.iter()
    }

    /// Rounds all values to whole numbers.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Setting`] for a value that does not fit 64 bits.
    pub fn round(&mut self) -> Result<()> {
        self.values.iter_mut().try_for_each(Sums::round)
    }

    /// The value of a type of the sample of a number, after [`Samples::round`].
    pub fn value(&self, number: usize, column: usize) -> i64 {
        match self.values.get(column) {
            Some(Sums::Whole(sums)) => sums.get(number).unwrap_or(0),
            Some(Sums::Exact(_)) => unreachable!("values are rounded before they are read"),
            None => 0,
        }
    }

    /// The bytes of memory that they take.
    pub fn bytes(&self) -> usize {
        /// A sample, its number, and the room that a table keeps free.
        const OTHER: usize = 2 * (size_of::<Sample>() + size_of::<u32>());
        let values: usize = self.values.iter().map(Sums::bytes).sum();
        self.all.bytes() + self.first.bytes() + OTHER * self.others.len() + values
    }
}

/// Sums of one type, by the numbers of samples.
enum Sums {
    /// All are whole and fit.
    Whole(Long<i64>),
    /// Some are not.
    Exact(Long<Weight>),
}

impl Default for Sums {
    fn default() -> Self {
        Sums::Whole(Long::default())
    }
}

impl Sums {
    fn add(&mut self, at: usize, value: Weight) -> Result<()> {
        match self {
            Sums::Whole(sums) => {
                let known = sums.at(at);
                match whole(value).and_then(|value| known.checked_add(value)) {
                    Some(sum) => *known = sum,
                    None => {
                        *self = Sums::Exact(sums.iter().map(|sum| Weight::new(sum.into())).collect());
                        self.add(at, value)?;
                    }
                }
            }
            Sums::Exact(sums) => {
                let sum = sums.at(at);
                *sum = sum.checked_add(value)?;
            }
        }
        Ok(())
    }

    fn round(&mut self) -> Result<()> {
        if let Sums::Exact(sums) = self {
            let mut rounding = Rounding::default();
            let whole = sums.iter().map(|sum| rounding.whole(sum)).collect::<Result<_>>()?;
            *self = Sums::Whole(whole);
        }
        Ok(())
    }

    fn bytes(&self) -> usize {
        match self {
            Sums::Whole(sums) => sums.bytes(),
            Sums::Exact(sums) => sums.bytes(),
        }
    }
}

/// A list that grows in parts: a vector of millions takes twice its memory while it grows.
struct Long<T> {
    parts: Vec<Vec<T>>,
    len: usize,
}

/// The values of a part.
const PART: usize = if cfg!(test) { 8 } else { 1 << 14 };

impl<T> Default for Long<T> {
    fn default() -> Self {
        Long { parts: Vec::new(), len: 0 }
    }
}

impl<T: Copy + Default> Long<T> {
    fn get(&self, at: usize) -> Option<T> {
        self.parts.get(at / PART)?.get(at % PART).copied()
    }

    /// The value at a place, which the list may end before.
    fn at(&mut self, at: usize) -> &mut T {
        while self.len <= at {
            if self.len.is_multiple_of(PART) {
                self.parts.push(Vec::with_capacity(if self.len == 0 { 0 } else { PART }));
            }
            self.parts[self.len / PART].push(T::default());
            self.len += 1;
        }
        &mut self.parts[at / PART][at % PART]
    }

    fn iter(&self) -> impl Iterator<Item = T> {
        self.parts.iter().flatten().copied()
    }

    fn bytes(&self) -> usize {
        self.len * size_of::<T>()
    }
}

impl<T: Copy + Default> FromIterator<T> for Long<T> {
    fn from_iter<I: IntoIterator<Item = T>>(values: I) -> Self {
        let mut all = Long::default();
        values.into_iter().enumerate().for_each(|(at, value)| *all.at(at) = value);
        all
    }
}

fn whole(value: Weight) -> Option<i64> {
    if value.decimals() > 0 {
        return None;
    }
    value.in_steps(0).ok().and_then(|whole| i64::try_from(whole).ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_samples_are_one() {
        let mut stacks = Stacks::default();
        let keys = [&[1, 2][..], &[], &[1], &[1, 2], &[2, 1], &[0, 1, 2]].map(|stack| stacks.key(stack));
        assert_eq!((keys, stacks.len()), ([0, 1, 2, 0, 3, 4], 5));
        let mut cursor = ListCursor::default();
        assert_eq!(
            [3, 0, 1].map(|number| stacks.get(number, &mut cursor).to_vec()),
            [vec![2, 1], vec![1, 2], vec![]]
        );
        let mut samples = Samples::default();
        let all = [(0, 0), (0, 1), (0, 0), (1, 1), (0, 1), (3, 0), (0, 2), (2, 0)];
        let keys = all.map(|(stack, labels)| samples.key(Sample { stack, labels }));
        assert_eq!((keys, samples.all().count()), ([0, 1, 0, 2, 1, 3, 4, 5], 6));
    }

    #[test]
    fn values_are_exact_until_they_are_rounded() {
        let mut samples = Samples::default();
        let tenth = Weight::parse(b"0.1").unwrap();
        let most = Weight::new(i64::MAX.into());
        for (number, column, value) in
            [(0, 1, most), (2, 1, Weight::ONE), (0, 1, Weight::new(-7)), (1, 0, tenth)]
        {
            samples.add(number, column, value).unwrap();
        }
        // More than 64 bits in between is no harm.
        samples.add(2, 1, most).unwrap();
        samples.add(2, 1, Weight::new(-2)).unwrap();
        (0..29).for_each(|number| samples.add(number, 0, tenth).unwrap());
        samples.round().unwrap();
        assert_eq!([0, 1, 2, 3].map(|number| samples.value(number, 1)), [i64::MAX - 7, 0, i64::MAX - 1, 0]);
        assert_eq!((0..29).map(|number| samples.value(number, 0)).sum::<i64>(), 3);
        assert_eq!((samples.value(99, 0), samples.value(0, 2)), (0, 0));
        samples.add(0, 1, Weight::new(8)).unwrap();
        assert!(samples.round().is_err(), "it does not fit 64 bits");
    }
}
