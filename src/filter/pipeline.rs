//! Operations one after the other, on a profile that streams by or on one in memory.
//!
//! While operations only select, lines of folded text are copied as they stand and nothing is kept
//! but the names of frames. As soon as one changes stacks or weights, the result is added up and
//! written in frame order at the end. Operations on the whole profile wait for a table of all that
//! came to them, and begin another.

use std::io::Write;

use super::in_memory;
use super::merged::{self, InOrder};
use super::op::matching::Matching;
use super::operation::Stage;
use super::registry::Op;
use super::run::{Filtered, RunOptions, StackCount, StepReport};
use super::step::{Step, changed_facts, keep_stacks, labels_left, settle_labels, settle_units};
use super::{select, stream};
use crate::error::Result;
use crate::folded::NotUnderstood;
use crate::input::Source;
use crate::profile::{Facts, Profile, TimeRange, header};

/// Operations in the order in which they are applied.
///
/// ```
/// use fg_tools::filter::{Op, Pipeline, RunOptions};
/// use fg_tools::reading::{ReadOptions, open};
/// use fg_tools::Source;
///
/// let input = open(&[Source::bytes("main;alloc;malloc 2\nmain 3\nmain;work 4\n")], &ReadOptions::default())?;
/// let mut pipeline = Pipeline::new(&[Op::hide("^alloc$")?])?;
/// let mut out = Vec::new();
/// pipeline.run(&input, &RunOptions::default(), &mut out)?;
/// assert_eq!(out, b"main 3\nmain;malloc 2\nmain;work 4\n");
/// # Ok::<(), fg_tools::Error>(())
/// ```
pub struct Pipeline {
    steps: Vec<Step>,
    /// The number of operations that were given; steps behind them take off labels that only the
    /// operations asked for.
    given: usize,
}

impl Pipeline {
    /// A pipeline of these operations.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Setting`] names the operation and the mistake in its value.
    pub fn new(ops: &[Op]) -> Result<Pipeline> {
        let steps = ops.iter().map(Step::new).collect::<Result<Vec<_>>>()?;
        Ok(Pipeline { given: steps.len(), steps })
    }

    /// Returns true if an operation looks at labels, so that the single samples of a recording should
    /// be read.
    pub fn needs_samples(&self) -> bool {
        let selects = |step: &Step| matches!(&step.stage, Stage::Label(label) if label.selects());
        self.steps.iter().any(selects)
    }

    /// Returns true if an operation looks at the places of frames, so that they should be read.
    pub fn needs_places(&self) -> bool {
        self.steps.iter().any(|step| matches!(&step.stage, Stage::Select(select) if select.needs_places()))
    }

    /// [`Pipeline::run`] of folded text, as it streams by.
    pub(crate) fn run_folded(
        &mut self,
        sources: &[Source],
        options: &RunOptions,
        out: &mut dyn Write,
    ) -> Result<Filtered> {
        self.begin();
        let filtered = match &options.pattern {
            // A pattern alone needs no frames.
            Some(pattern) if self.steps.is_empty() => select::select(sources, pattern, options, out),
            _ => stream::stream(&mut self.steps, sources, options, out),
        }?;
        Ok(Filtered { steps: self.reports(), ..filtered })
    }

    /// [`Pipeline::run`] of a profile.
    pub(crate) fn run_profile(
        &mut self,
        profile: &Profile,
        options: &RunOptions,
        out: &mut dyn Write,
    ) -> Result<Filtered> {
        self.begin();
        let labelled = self.label(profile)?;
        let added = labelled.as_ref().map_or(0, |(_, added)| *added);
        let profile = labelled.as_ref().map_or(profile, |(labelled, _)| labelled);
        let (filtered, mut effect) = match profile.places().is_empty() {
            true => self.apply_labelled(profile, added, options)?,
            // Text shows no places: stacks that differ in lines only are counted once.
            false => self.apply_labelled(&profile.with_kinds_only()?, added, options)?,
        };
        if options.header {
            out.write_all(header::write(filtered.facts()).as_bytes())?;
        }
        let columns = filtered.columns();
        effect.kept = merged::write(&InOrder::default(), filtered.stacks(), columns, options.weigh, out)?;
        Ok(effect)
    }

    /// Applies the pattern first if there is one, then the operations.
    pub(crate) fn apply(&mut self, profile: &Profile, options: &RunOptions) -> Result<(Profile, Filtered)> {
        self.begin();
        let labelled = self.label(profile)?;
        let added = labelled.as_ref().map_or(0, |(_, added)| *added);
        self.apply_labelled(labelled.as_ref().map_or(profile, |(labelled, _)| labelled), added, options)
    }

    /// The profile with the labels that operations look at and its stacks do not have yet, and their
    /// number. Time is cut where a range begins or ends.
    fn label(&mut self, profile: &Profile) -> Result<Option<(Profile, usize)>> {
        let mut labels = profile.facts().labels.clone();
        let (mut wanted, mut cuts) = (Vec::new(), Vec::new());
        for step in &self.steps {
            let Stage::Label(label) = &step.stage else { continue };
            if label.selects() && !labels.iter().any(|key| key == label.key()) {
                labels.push(label.key().to_owned());
                wanted.push(label.key().to_owned());
            }
            cuts.extend(label.range());
            labels = label.leaves(&labels);
        }
        if wanted.is_empty() || profile.is_empty() {
            return Ok(None);
        }
        for key in wanted.iter().filter(|key| labels.contains(key)) {
            self.steps.push(Step::new(&Op::drop_label(key)?)?);
        }
        Ok(Some((profile.labelled_for(&wanted, &cuts)?, wanted.len())))
    }

    /// Applies the pattern and the operations to a profile whose first labels were `added` for them.
    fn apply_labelled(
        &mut self,
        profile: &Profile,
        added: usize,
        options: &RunOptions,
    ) -> Result<(Profile, Filtered)> {
        let facts = profile.facts();
        let conversion = settle_units(&mut self.steps, facts.unit.as_deref())?;
        settle_labels(&mut self.steps, &facts.labels, profile.is_empty())?;
        let matching = options
            .pattern
            .as_ref()
            .map(|pattern| Matching::new(pattern.clone(), options.invert).below(added));
        let result = in_memory::run(&mut self.steps, profile.stacks(), matching)?;
        let labels = labels_left(&self.steps, &facts.labels);
        let labels_hold = keep_stacks(&self.steps) || in_memory::are_labelled(&result.table, &labels);
        let is_whole = result.dropped.stacks == 0;
        let mut changed = changed_facts(facts, &conversion, is_whole, labels_hold.then_some(labels));
        changed.duration =
            changed.duration.map(|whole| self.ranges().map_or(whole, |range| range.within(whole)));
        let effect = Filtered {
            came: StackCount { stacks: profile.stack_count() as u64, weights: profile.total()? },
            kept: StackCount { stacks: result.table.len() as u64, weights: result.table.total()? },
            dropped: result.dropped,
            columns: profile.columns(),
            facts: Facts::default(),
            unit_came: facts.unit.clone(),
            not_understood: NotUnderstood::default(),
            steps: self.reports(),
        };
        let profile = profile.restacked(changed, result.table, &result.numbers, conversion.factor)?;
        let facts = profile.facts().clone();
        Ok((profile, Filtered { facts, ..effect }))
    }

    /// Another run begins: its frames have other numbers.
    fn begin(&mut self) {
        for step in &mut self.steps {
            step.forget();
            (step.came, step.left) = (StackCount::default(), StackCount::default());
        }
        self.steps.truncate(self.given);
    }

    /// The range of time that all operations keep.
    fn ranges(&self) -> Option<TimeRange> {
        let ranges = self.steps.iter().filter_map(|step| match &step.stage {
            Stage::Label(label) => label.range(),
            _ => None,
        });
        ranges.reduce(|a, b| TimeRange { begin: a.begin.max(b.begin), end: a.end.min(b.end) })
    }

    fn reports(&self) -> Vec<StepReport> {
        self.steps[..self.given].iter().map(Step::report).collect()
    }
}
