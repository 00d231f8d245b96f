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
use super::operation::{Conversion, LabelFate, LabelStep, Stage};
use super::pattern::Pattern;
use super::registry::Op;
use super::{select, stream};
use crate::error::{ErrorKind, Result};
use crate::folded::{Columns, FrameId, NotUnderstood, StackTable, Weights, is_comment};
use crate::input::Source;
use crate::profile::{Facts, Profile, TIME, TimeRange, header, label_frames};
use crate::weight::Weight;

/// The options of a run besides its operations.
///
/// ```
/// use fg_tools::filter::{Pattern, PatternOptions, RunOptions};
///
/// let idle = Pattern::new(&["idle$"], PatternOptions::default())?;
/// let options = RunOptions::default().without(idle).weigh(true).header(false);
/// # let _ = options;
/// # Ok::<(), fg_tools::Error>(())
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct RunOptions {
    /// Stacks have to match this before the operations come.
    pub pattern: Option<Pattern>,
    /// Keep the stacks that the pattern does *not* match.
    pub invert: bool,
    /// Add up the weights of all that is kept and dropped; otherwise they stay zero.
    pub weigh: bool,
    /// Stop at the first stack that is kept, where lines are copied.
    pub first_only: bool,
    /// Write the header.
    pub header: bool,
}

impl Default for RunOptions {
    fn default() -> Self {
        RunOptions { pattern: None, invert: false, weigh: false, first_only: false, header: true }
    }
}

impl RunOptions {
    /// Keeps the stacks that a pattern matches, before the operations come.
    pub fn matching(self, pattern: Pattern) -> Self {
        RunOptions { pattern: Some(pattern), invert: false, ..self }
    }

    /// Keeps the stacks that a pattern does not match, before the operations come.
    pub fn without(self, pattern: Pattern) -> Self {
        RunOptions { pattern: Some(pattern), invert: true, ..self }
    }

    /// Adds up the weights of all that is kept and dropped.
    pub fn weigh(self, weigh: bool) -> Self {
        RunOptions { weigh, ..self }
    }

    /// Stops at the first stack that is kept, where lines are copied.
    pub fn first_only(self, first_only: bool) -> Self {
        RunOptions { first_only, ..self }
    }

    /// Writes the header, which is the default.
    pub fn header(self, header: bool) -> Self {
        RunOptions { header, ..self }
    }
}

/// A number of stacks and their weight.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StackCount {
    /// The number of stacks; of folded text that is copied, the number of lines.
    pub stacks: u64,
    /// Their weight, if it was asked for.
    pub weights: Weights,
}

impl StackCount {
    /// Both together.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Overflow`].
    pub fn checked_add(self, other: StackCount) -> Result<StackCount> {
        Ok(StackCount {
            stacks: self.stacks + other.stacks,
            weights: self.weights.checked_add(other.weights)?,
        })
    }

    #[inline]
    pub(super) fn note(&mut self, weights: Weights) -> Result<()> {
        self.stacks += 1;
        self.weights = self.weights.checked_add(weights)?;
        Ok(())
    }
}

/// The effect of one operation.
#[derive(Clone, Debug)]
pub struct StepReport {
    /// The operation as it was given, `--hide malloc`.
    pub label: String,
    /// The stacks that came to it.
    pub came: StackCount,
    /// The stacks that it left.
    pub left: StackCount,
    /// True if it changes weights, so that those that came and those that it left do not compare.
    pub reweighs: bool,
    /// The unit of the weights that came to it.
    pub unit_came: Option<String>,
    /// The unit of the weights that it left.
    pub unit_left: Option<String>,
    /// A message for the user, such as that its expression matched nothing.
    pub remark: Option<String>,
}

/// The effect of a run.
#[derive(Clone, Debug, Default)]
pub struct Filtered {
    /// The stacks that were read.
    pub came: StackCount,
    /// The stacks that were written.
    pub kept: StackCount,
    /// The stacks that were left out.
    pub dropped: StackCount,
    /// One or two weights with each stack.
    pub columns: Columns,
    /// The facts of the result.
    pub facts: Facts,
    /// The unit of the weights that were read.
    pub unit_came: Option<String>,
    /// Lines left out because they are no folded stacks.
    pub not_understood: NotUnderstood,
    /// The effect of each operation, in their order.
    pub steps: Vec<StepReport>,
}

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
    pub(super) steps: Vec<Step>,
    /// The number of operations that were given; steps behind them take off labels that only the
    /// operations asked for.
    given: usize,
}

/// An operation at work.
pub(super) struct Step {
    label: String,
    pub(super) stage: Stage,
    pub(super) came: StackCount,
    pub(super) left: StackCount,
    /// For [`Stage::Reweigh`]: the factor for the unit at hand.
    factor: Weight,
    unit_came: Option<String>,
    unit_left: Option<String>,
    /// The labels of the stacks that come to it.
    labels: Vec<String>,
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
            _ => stream::stream(self, sources, options, out),
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
        let conversion = self.settle_units(facts.unit.as_deref())?;
        settle_labels(&mut self.steps, &facts.labels, profile.is_empty())?;
        let matching = options
            .pattern
            .as_ref()
            .map(|pattern| Matching::new(pattern.clone(), options.invert).below(added));
        let result = in_memory::run(&mut self.steps, profile.stacks(), matching)?;
        let labels = labels_left(&self.steps, &facts.labels);
        let labels_hold = self.keeps_stacks() || in_memory::are_labelled(&result.table, &labels);
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

    /// Returns true if all steps only select stacks, or change labels or weights.
    pub(super) fn keeps_stacks(&self) -> bool {
        let keeps =
            |step: &Step| matches!(step.stage, Stage::Select(_) | Stage::Label(_) | Stage::Reweigh(_));
        self.steps.iter().all(keeps)
    }

    /// Finds the factors for weights of this unit, and the change of all steps together.
    pub(super) fn settle_units(&mut self, unit: Option<&str>) -> Result<Conversion> {
        settle_units(&mut self.steps, unit)
    }

    pub(super) fn reports(&self) -> Vec<StepReport> {
        self.steps[..self.given].iter().map(Step::report).collect()
    }
}

/// Finds the factors for weights of this unit, and the change of all steps together.
pub(super) fn settle_units(steps: &mut [Step], unit: Option<&str>) -> Result<Conversion> {
    let mut all = Conversion { factor: Weight::ONE, unit: unit.map(str::to_owned), is_exact: true };
    for step in steps {
        step.unit_came.clone_from(&all.unit);
        if let Stage::Reweigh(reweigh) = &step.stage {
            let Conversion { factor, unit, is_exact } = reweigh.conversion(all.unit.as_deref())?;
            step.factor = factor;
            all = Conversion {
                factor: all.factor.checked_mul(factor)?,
                unit,
                is_exact: all.is_exact && is_exact,
            };
        }
        step.unit_left.clone_from(&all.unit);
    }
    Ok(all)
}

/// Tells the steps which labels stacks have when they come to them.
///
/// # Errors
/// [`ErrorKind::Setting`] for a step that looks at a label that they do not have.
pub(super) fn settle_labels(steps: &mut [Step], labels: &[String], is_empty: bool) -> Result<()> {
    let mut labels = labels.to_vec();
    for step in steps {
        step.labels.clone_from(&labels);
        let Stage::Label(label) = &step.stage else { continue };
        if label.needs_label() && !is_empty && !labels.iter().any(|key| key == label.key()) {
            let key = label.key();
            let known = match &labels[..] {
                [] => "no labels".to_owned(),
                labels => format!("the labels {}", labels.join(", ")),
            };
            let what = format!(
                "{}: the stacks have {known}; fg-collapse --label {key} RECORDING writes them with it",
                step.label
            );
            return Err(ErrorKind::Setting { what }.into());
        }
        labels = label.leaves(&labels);
    }
    Ok(())
}

/// The labels that steps leave of these.
pub(super) fn labels_left(steps: &[Step], labels: &[String]) -> Vec<String> {
    steps.iter().fold(labels.to_vec(), |labels, step| match &step.stage {
        Stage::Label(label) => label.leaves(&labels),
        _ => labels,
    })
}

/// The facts of a profile after a run: in another unit, without the counts that do not hold any
/// more.
pub(super) fn changed_facts(
    facts: &Facts,
    conversion: &Conversion,
    is_whole: bool,
    labels: Option<Vec<String>>,
) -> Facts {
    let mut changed = if is_whole && conversion.is_exact { facts.clone() } else { facts.without_counts() };
    changed.labels = labels.unwrap_or_default();
    if !changed.labels.iter().any(|key| key == TIME) {
        changed.time_step = None;
    }
    let convert = |facts: &mut Facts| {
        if facts.unit.is_some() {
            facts.unit.clone_from(&conversion.unit);
        }
        let period = facts.period.and_then(|period| period.checked_mul(conversion.factor).ok());
        facts.period = period.filter(|period| *period > Weight::ZERO);
    };
    convert(&mut changed);
    if let Some(sides) = &mut changed.sides {
        convert(&mut sides.before);
        convert(&mut sides.after);
    }
    changed
}

impl Step {
    fn new(op: &Op) -> Result<Step> {
        Ok(Step {
            label: op.as_given(),
            stage: op.build()?,
            came: StackCount::default(),
            left: StackCount::default(),
            factor: Weight::ONE,
            unit_came: None,
            unit_left: None,
            labels: Vec::new(),
        })
    }

    fn report(&self) -> StepReport {
        let remark = match &self.stage {
            _ if self.came.stacks == 0 => None,
            Stage::Select(select) => select.remark(),
            Stage::Rewrite(rewrite) => rewrite.remark(),
            Stage::Label(label) => label.remark(),
            Stage::Reweigh(_) | Stage::Whole(_) => None,
        };
        StepReport {
            label: self.label.clone(),
            came: self.came,
            left: self.left,
            reweighs: matches!(self.stage, Stage::Reweigh(_)),
            unit_came: self.unit_came.clone(),
            unit_left: self.unit_left.clone(),
            remark,
        }
    }

    /// The numbers of frames stand for other names from now on.
    pub(super) fn forget(&mut self) {
        match &mut self.stage {
            Stage::Select(select) => select.forget(),
            Stage::Rewrite(rewrite) => rewrite.forget(),
            Stage::Label(label) => label.forget(),
            Stage::Reweigh(_) | Stage::Whole(_) => {}
        }
    }
}

/// Takes a stack through operations that see one at a time; `None` if one drops it.
#[inline]
pub(super) fn pass(
    steps: &mut [Step],
    stack: &mut Vec<FrameId>,
    mut weights: Weights,
    names: &mut StackTable,
    weigh: bool,
) -> Result<Option<Weights>> {
    for Step { stage, came, left, factor, labels, .. } in steps {
        let note = |count: &mut StackCount, weights| {
            count.stacks += 1;
            if weigh {
                count.weights = count.weights.checked_add(weights)?;
            }
            Ok::<_, crate::Error>(())
        };
        note(came, weights)?;
        // Operations on frames do not see labels.
        let at = if labels.is_empty() { 0 } else { label_frames(labels, stack, names) };
        match stage {
            Stage::Select(select) => {
                if !select.keeps(&stack[at..], weights, names) {
                    return Ok(None);
                }
            }
            Stage::Rewrite(rewrite) if at == 0 => {
                rewrite.rewrite(stack, names);
                if stack.is_empty() {
                    return Ok(None);
                }
                make_writable(stack, names);
            }
            Stage::Rewrite(rewrite) => {
                let mut frames = stack.split_off(at);
                rewrite.rewrite(&mut frames, names);
                if frames.is_empty() {
                    return Ok(None);
                }
                stack.append(&mut frames);
                make_writable(stack, names);
            }
            Stage::Label(label) => {
                if !change_label(label.as_mut(), &labels[..at], stack, names) || stack.is_empty() {
                    return Ok(None);
                }
                make_writable(stack, names);
            }
            Stage::Reweigh(_) => {
                let before = weights.before.checked_mul(*factor)?;
                weights = Weights { value: weights.value.checked_mul(*factor)?, before };
            }
            Stage::Whole(_) => unreachable!("parts are cut where one begins"),
        }
        note(left, weights)?;
    }
    Ok(Some(weights))
}

/// Lets a step look at its label of a stack; false drops the stack. Only a step that does not need the
/// label comes to stacks without it: see [`settle_labels`].
fn change_label(
    step: &mut dyn LabelStep,
    labels: &[String],
    stack: &mut Vec<FrameId>,
    names: &mut StackTable,
) -> bool {
    let Some(at) = labels.iter().position(|key| key == step.key()) else { return true };
    match step.apply(stack[at], names) {
        None => return false,
        Some(LabelFate::Keep) => {}
        Some(LabelFate::Remove) => drop(stack.remove(at)),
        Some(LabelFate::Replace(frame)) => stack[at] = frame,
    }
    true
}

/// Makes a changed stack one that is read again as it was written: it must not look like a
/// comment, nor end in a frame without a name. After each operation, so that several in one run do
/// what they do in several.
#[inline]
pub(super) fn make_writable(stack: &mut Vec<FrameId>, names: &mut StackTable) {
    while let [_, .., leaf] = stack[..]
        && names.name(leaf).is_empty()
    {
        stack.pop();
    }
    let alone = stack.len() == 1;
    let Some(root) = stack.first_mut() else { return };
    let name = names.name(*root);
    if name.first() != Some(&b'#') {
        return;
    }
    let name = match name {
        b"#" if alone => b"#_".to_vec(),
        _ if name.len() > 1 && is_comment(name) => [b"#_", &name[2..]].concat(),
        _ => return,
    };
    *root = names.renamed(*root, &name);
}
