//! Two sides become one profile of two columns, in frame order.
//!
//! Files in frame order are merged while they stream by: what is kept is the next stack of each.
//! When one of them is not in order, or names are changed on the way, all go through a
//! [`StackTable`], which sorts: slower, never wrong.

use std::cmp::Ordering;

use super::recording::{Part, Recording, Stacks};
use super::side::Side;
use super::survey::{Survey, Units, facts_of};
use crate::error::Result;
use crate::filter::Pattern;
use crate::folded::{StackTable, Weights, cmp_stacks};
use crate::profile::Facts;
use crate::weight::Weight;

/// A change to each stack: writes the new one into the empty vector.
pub(crate) type Rename<'r> = dyn FnMut(Side, &[u8], &mut Vec<u8>) + 'r;

/// A listener to lines: number of the file, side, and stack.
pub(crate) type EachLine<'e> = dyn FnMut(usize, Side, Part<'_>) -> Result<()> + 'e;

/// The files of both sides, opened and surveyed.
pub(crate) struct Pair<'s> {
    files: Vec<(Side, Stacks<'s>)>,
    surveys: Vec<(Side, Survey)>,
    /// A remark on the units of the files.
    pub(crate) unit_note: Option<String>,
}

impl<'s> Pair<'s> {
    /// Opens all files and reads them once; `reference` and `weigh` are those of
    /// [`Stacks::survey`].
    ///
    /// # Errors
    /// Those of reading and of [`Stacks::open`], and [`crate::ErrorKind::Overflow`].
    pub(crate) fn open(
        before: &'s [Recording],
        after: &'s [Recording],
        reference: Option<&Pattern>,
        weigh: bool,
    ) -> Result<Pair<'s>> {
        let mut pair = Pair { files: Vec::new(), surveys: Vec::new(), unit_note: None };
        let sides = [(Side::Before, before), (Side::After, after)];
        for (side, recording) in
            sides.into_iter().flat_map(|(side, recordings)| recordings.iter().map(move |r| (side, r)))
        {
            let mut stacks = Stacks::open(recording)?;
            pair.surveys.push((side, stacks.survey(reference, weigh)?));
            pair.files.push((side, stacks));
        }
        pair.settle_units()?;
        Ok(pair)
    }

    /// Lets all files have one unit.
    fn settle_units(&mut self) -> Result<()> {
        let has_stacks = |survey: &Survey| survey.lines > 0;
        let files: Vec<(Side, Option<&Facts>)> = self
            .surveys
            .iter()
            .map(|(side, survey)| (*side, has_stacks(survey).then_some(&survey.facts)))
            .collect();
        let Units { conversion, note } = Units::of(&files)?;
        self.unit_note = note;
        let Some((unit, factors)) = conversion else { return Ok(()) };
        for ((factor, (_, survey)), (_, file)) in
            factors.into_iter().zip(&mut self.surveys).zip(&mut self.files)
        {
            survey.convert(factor, unit)?;
            file.convert(factor);
        }
        Ok(())
    }

    /// The surveys of the files of a side, in the order they were given.
    pub(crate) fn surveys(&self, side: Side) -> impl Iterator<Item = &Survey> {
        self.surveys.iter().filter(move |(of, _)| *of == side).map(|(_, survey)| survey)
    }

    /// The facts of both sides.
    pub(crate) fn facts(&self) -> Facts {
        Facts::of_sides(facts_of(&self.surveys, Side::Before), facts_of(&self.surveys, Side::After))
    }

    /// The weight of a side.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Overflow`].
    pub(crate) fn total(&self, side: Side) -> Result<Weight> {
        self.surveys(side).try_fold(Weight::ZERO, |sum, survey| sum.checked_add(survey.total))
    }

    /// Hands every line to `each`, file by file and block by block, with the file's side and number, and
    /// begins again: for those who add up themselves.
    ///
    /// # Errors
    /// Those of reading and of `each`.
    pub(crate) fn read(&mut self, each: &mut EachLine<'_>) -> Result<()> {
        for (index, (side, file)) in self.files.iter_mut().enumerate() {
            file.for_each(&mut |part| each(index, *side, part))?;
        }
        Ok(())
    }

    /// Hands every stack of either side to `each`, in frame order, with its weight before and
    /// after.
    ///
    /// # Errors
    /// Those of reading and of `each`.
    pub(crate) fn join(
        self,
        rename: Option<&mut Rename<'_>>,
        each: &mut dyn FnMut(&[u8], Weights) -> Result<()>,
    ) -> Result<()> {
        let in_order = self.surveys.iter().all(|(_, survey)| survey.in_order);
        if !in_order || rename.is_some() {
            return self.into_table(rename)?.for_each(each);
        }
        let mut files = self.files;
        for (_, file) in &mut files {
            file.start()?;
        }
        merge(&mut files, each)
    }

    /// Puts all stacks into a table of two columns.
    ///
    /// # Errors
    /// Those of reading, and [`crate::ErrorKind::Overflow`].
    pub(crate) fn into_table(self, mut rename: Option<&mut Rename<'_>>) -> Result<StackTable> {
        let mut table = StackTable::default();
        let mut renamed = Vec::new();
        for (side, mut file) in self.files {
            file.read_once_more();
            while let Some((stack, weight)) = file.next_line()? {
                let weights = match side {
                    Side::Before => Weights { before: weight, value: Weight::ZERO },
                    Side::After => Weights::one(weight),
                };
                match &mut rename {
                    Some(rename) => {
                        renamed.clear();
                        rename(side, stack, &mut renamed);
                        table.add_stack(&renamed, weights)?;
                    }
                    None => table.add_stack(stack, weights)?,
                }
            }
        }
        Ok(table)
    }
}

/// Merges files that are in order.
fn merge(files: &mut [(Side, Stacks<'_>)], each: &mut dyn FnMut(&[u8], Weights) -> Result<()>) -> Result<()> {
    let mut stack = Vec::new();
    let mut takes = Vec::with_capacity(files.len());
    loop {
        takes.clear();
        for (index, (_, file)) in files.iter().enumerate() {
            let Some(next) = file.peek() else { continue };
            let order = match takes.first() {
                Some(&first) => {
                    let (_, least): &(Side, Stacks<'_>) = &files[first];
                    cmp_stacks(next, least.peek().unwrap_or_default())
                }
                None => Ordering::Less,
            };
            if order.is_lt() {
                takes.clear();
            }
            if order.is_le() {
                takes.push(index);
            }
        }
        let Some(&first) = takes.first() else { return Ok(()) };
        stack.clear();
        stack.extend_from_slice(files[first].1.peek().unwrap_or_default());
        let mut weights = Weights::default();
        for &index in &takes {
            let (side, file) = &mut files[index];
            let sum = match side {
                Side::Before => &mut weights.before,
                Side::After => &mut weights.value,
            };
            *sum = sum.checked_add(file.take()?)?;
        }
        each(&stack, weights)?;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Source;

    fn joined(before: &[&str], after: &[&str]) -> Vec<String> {
        let recordings = |texts: &[&str]| -> Vec<Recording> {
            texts.iter().map(|text| Recording::Folded(Source::bytes(*text))).collect()
        };
        let (before, after) = (recordings(before), recordings(after));
        let mut lines = Vec::new();
        let mut each = |stack: &[u8], weights: Weights| {
            lines.push(format!("{} {} {}", String::from_utf8_lossy(stack), weights.before, weights.value));
            Ok(())
        };
        Pair::open(&before, &after, None, true).unwrap().join(None, &mut each).unwrap();
        lines
    }

    #[test]
    fn merges_in_frame_order() {
        let lines = joined(&["a 1\na;b 2\na b 4\n"], &["a;b 8\na;b;c 16\na;b;c 1\nz 32\n"]);
        assert_eq!(lines, ["a 1 0", "a;b 2 8", "a;b;c 0 17", "a b 4 0", "z 0 32"]);
    }

    #[test]
    fn any_order_and_any_number_of_files_give_the_same() {
        let sorted = joined(&["a 1\na;b 2\nc 4\n"], &["b 8\nc 16\n"]);
        assert_eq!(joined(&["c 4\na 1\na;b 2\n"], &["b 8\nc 16\n"]), sorted);
        assert_eq!(joined(&["a 1\nc 3\n", "a;b 2\nc 1\n"], &["c 16\n", "b 8\n"]), sorted);
        assert_eq!(joined(&["a 1\nc 3\n", "c 1\na;b 2\n"], &["c 16\n", "b 8\n"]), sorted);
        assert!(joined(&[""], &[""]).is_empty());
    }

    #[test]
    fn lines_of_one_stack_add_up_before_anything_is_decided() {
        assert_eq!(joined(&["a 30\na -10\n"], &["a 5\nb 1\na -9\n"]), ["a 20 -4", "b 0 1"]);
    }
}
