//! One file of one side: what has to be known of it before, and its stacks one by one.
//!
//! A file is read twice: once to see whether it is in frame order and what it weighs, so that
//! nothing is written before trouble is known; then to be joined. What comes from a pipe is kept,
//! front coded, in between.

use crate::error::Result;
use crate::filter::Pattern;
use crate::folded::{Columns, NotUnderstood, Rereadable, cmp_at, parse_line};
use crate::input::Source;
use crate::profile::Facts;
use crate::weight::Weight;

/// Before or after.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Side {
    /// What was.
    Before,
    /// What is.
    After,
}

/// What a file holds, seen from far.
#[derive(Clone, Debug, Default)]
pub struct Survey {
    /// The weight of all stacks.
    pub total: Weight,
    /// How many lines there are.
    pub lines: u64,
    /// Whether they are in frame order.
    pub in_order: bool,
    /// Lines that are no folded stacks.
    pub not_understood: NotUnderstood,
    /// The weight of the stacks with a frame that the expression of [`Stacks::survey`] matches.
    pub reference: Weight,
    /// The largest weight that all weights are multiples of.
    pub step: Weight,
    /// The smallest weight above zero.
    pub least: Option<Weight>,
    /// What the file says of itself.
    pub facts: Facts,
}

/// The lines of one file, and the next stack.
pub struct Stacks<'s> {
    lines: Rereadable<'s>,
    /// The stack of the line that is next, its weight, and whether there is one.
    stack: Vec<u8>,
    weight: Weight,
    has: bool,
    /// Whether the line before has the same stack.
    repeats: bool,
}

impl<'s> Stacks<'s> {
    /// Opens a file.
    ///
    /// # Errors
    /// Those of [`Source::open`].
    pub fn open(source: &'s Source) -> Result<Stacks<'s>> {
        Ok(Stacks {
            lines: Rereadable::open(std::slice::from_ref(source))?,
            stack: Vec::new(),
            weight: Weight::ZERO,
            has: false,
            repeats: false,
        })
    }

    /// Reads all of it once, and begins again. `reference` chooses frames: see
    /// [`Survey::reference`]; without `weigh`, step and least weight are not looked for.
    ///
    /// # Errors
    /// Those of reading, and [`crate::ErrorKind::Overflow`].
    pub fn survey(&mut self, reference: Option<&Pattern>, weigh: bool) -> Result<Survey> {
        let mut survey = Survey { in_order: true, ..Survey::default() };
        let mut last: Vec<u8> = Vec::new();
        let mut last_weight = Weight::ZERO;
        while let Some((line, same)) = self.lines.next_line_like(&last)? {
            let Some(parsed) = parse_line(line, Columns::One) else {
                let line = line.to_vec();
                survey.not_understood.note(&line, || self.lines.position());
                continue;
            };
            let (stack, weight) = (parsed.stack, parsed.weights.value);
            let same = same.min(stack.len());
            survey.in_order &= cmp_at(&last, stack, same).is_le();
            last.truncate(same);
            last.extend_from_slice(&stack[same..]);
            survey.lines += 1;
            if let Some(pattern) = reference
                && stack.split(|&b| b == b';').any(|frame| pattern.matches(frame))
            {
                survey.reference = survey.reference.checked_add(weight)?;
            }
            // Most weights are the ones before again.
            if weigh && weight != last_weight {
                survey.note_step(weight);
                last_weight = weight;
            }
            survey.total = survey.total.checked_add(weight).map_err(|e| e.or_at(|| self.lines.position()))?;
        }
        survey.facts = self.lines.lines().facts();
        self.lines.rewind()?;
        Ok(survey)
    }

    /// Begins again at the first line.
    ///
    /// # Errors
    /// Those of reading.
    pub fn rewind(&mut self) -> Result<()> {
        self.has = false;
        self.lines.rewind()
    }

    /// Promises not to begin again, which frees what is kept of a pipe while it is read.
    pub fn read_once_more(&mut self) {
        self.lines.read_once_more();
    }

    /// The next line as stack and weight, whatever its order; for those who add up themselves.
    ///
    /// # Errors
    /// Those of reading.
    pub fn next_line(&mut self) -> Result<Option<(&[u8], Weight)>> {
        self.advance()?;
        Ok(self.has.then_some((&self.stack, self.weight)))
    }

    /// Begins to give lines to be joined.
    pub(super) fn start(&mut self) -> Result<()> {
        self.read_once_more();
        self.advance()
    }

    /// The stack of the line that is next.
    #[inline]
    pub(super) fn peek(&self) -> Option<&[u8]> {
        self.has.then_some(&self.stack[..])
    }

    /// Takes what all lines of the next stack weigh, and goes to the stack behind it.
    #[inline]
    pub(super) fn take(&mut self) -> Result<Weight> {
        let mut sum = self.weight;
        loop {
            self.advance()?;
            if !self.repeats {
                return Ok(sum);
            }
            sum = sum.checked_add(self.weight)?;
        }
    }

    #[inline]
    fn advance(&mut self) -> Result<()> {
        while let Some((line, same)) = self.lines.next_line_like(&self.stack)? {
            if let Some(parsed) = parse_line(line, Columns::One) {
                let same = same.min(parsed.stack.len());
                self.repeats = self.has && same == parsed.stack.len() && same == self.stack.len();
                self.stack.truncate(same);
                self.stack.extend_from_slice(&parsed.stack[same..]);
                self.weight = parsed.weights.value;
                self.has = true;
                return Ok(());
            }
        }
        self.has = false;
        self.repeats = false;
        Ok(())
    }
}

impl Survey {
    fn note_step(&mut self, weight: Weight) {
        if weight.is_zero() {
            return;
        }
        if !self.step.is_zero() && self.step == Weight::ONE && weight.decimals() == 0 {
            // It will not get smaller.
        } else {
            self.step = self.step.common_step(weight);
        }
        let size = if weight.is_negative() { weight.negated() } else { weight };
        self.least = Some(self.least.map_or(size, |least| least.min(size)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(text: &str) -> (tempfile::NamedTempFile, Source) {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), text).unwrap();
        let source = Source::new(file.path());
        (file, source)
    }

    #[test]
    fn a_survey_tells_order_step_and_header() {
        let (_file, source) = source("# unit: ns\n# period: 1000 ns\na 4000\na;b 6000\nwhat\na b 2000\n");
        let mut stacks = Stacks::open(&source).unwrap();
        let survey = stacks.survey(None, true).unwrap();
        assert!(survey.in_order);
        assert_eq!((survey.total, survey.lines, survey.not_understood.count), (Weight::new(12_000), 3, 1));
        assert_eq!((survey.step, survey.least), (Weight::new(2000), Some(Weight::new(2000))));
        assert_eq!(
            (survey.facts.period, survey.facts.unit.as_deref()),
            (Some(Weight::new(1000)), Some("ns"))
        );
    }

    #[test]
    fn equal_neighbours_are_one_stack() {
        let (_file, source) = source("a 1\na 2\n\na 3\nb 4\n");
        let mut stacks = Stacks::open(&source).unwrap();
        assert!(stacks.survey(None, true).unwrap().in_order);
        stacks.start().unwrap();
        assert_eq!(stacks.peek(), Some(&b"a"[..]));
        assert_eq!(stacks.take().unwrap(), Weight::new(6));
        assert_eq!(stacks.peek(), Some(&b"b"[..]));
        assert_eq!(stacks.take().unwrap(), Weight::new(4));
        assert_eq!(stacks.peek(), None);
    }

    #[test]
    fn disorder_is_seen_wherever_it_is() {
        for (text, in_order) in [("a 1\na;b 1\na b 1\n", true), ("a b 1\na;b 1\n", false), ("", true)] {
            let (_file, source) = source(text);
            assert_eq!(
                Stacks::open(&source).unwrap().survey(None, true).unwrap().in_order,
                in_order,
                "{text:?}"
            );
        }
    }
}
