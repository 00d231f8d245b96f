//! An operation at work, and the way of a stack through several of them.

use super::operation::{Conversion, LabelFate, LabelStep, Stage};
use super::registry::Op;
use super::run::{StackCount, StepReport};
use crate::error::{Error, Result};
use crate::folded::{FrameId, StackTable, Weights, is_comment};
use crate::profile::{Facts, TIME, label_frames};
use crate::weight::Weight;

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

/// Returns true if all steps only select stacks, or change labels or weights.
pub(super) fn keep_stacks(steps: &[Step]) -> bool {
    let keeps = |step: &Step| matches!(step.stage, Stage::Select(_) | Stage::Label(_) | Stage::Reweigh(_));
    steps.iter().all(keeps)
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
/// [`crate::ErrorKind::Setting`] for a step that looks at a label that they do not have.
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
            return Err(Error::setting(what));
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
    pub(super) fn new(op: &Op) -> Result<Step> {
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

    pub(super) fn report(&self) -> StepReport {
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
