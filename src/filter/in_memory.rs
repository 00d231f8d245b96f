//! Operations on the stacks of a table.

use super::frames::PerFrame;
use super::named_stacks::NamedStacks;
use super::op::matching::Matching;
use super::operation::{Fate, Select, Stage};
use super::run::StackCount;
use super::step::{Step, pass};
use crate::error::Result;
use crate::folded::{Columns, FrameId, OTHER, StackTable};

/// The result of operations on a table.
pub(super) struct Changed {
    pub(super) table: StackTable,
    /// The new number of each stack of the old table; `None` of one that was dropped.
    pub(super) numbers: Vec<Option<u32>>,
    pub(super) dropped: StackCount,
}

/// Applies operations, after a selection if there is one. The new table holds no frame that no
/// stack has.
pub(super) fn run(steps: &mut [Step], table: &StackTable, matching: Option<Matching>) -> Result<Changed> {
    let is_whole = |step: &Step| matches!(step.stage, Stage::Whole(_));
    let mut matching = matching;
    let mut changed: Option<Changed> = None;
    let mut rest = steps;
    loop {
        // A part is at most one operation on the whole, and those on single stacks that follow it.
        let whole = usize::from(matching.is_none() && rest.first().is_some_and(is_whole));
        let next = rest[whole..].iter().position(is_whole).map_or(rest.len(), |at| whole + at);
        let (part, others) = rest.split_at_mut(next);
        let before = changed.as_ref().map_or(table, |changed| &changed.table);
        let mut now = run_part(part.split_at_mut(whole), before, matching.take())?;
        if let Some(before) = changed {
            let number = |old: Option<u32>| old.and_then(|old| now.numbers[old as usize]);
            now.numbers = before.numbers.into_iter().map(number).collect();
            now.dropped = now.dropped.checked_add(before.dropped)?;
        }
        if others.is_empty() {
            return Ok(now);
        }
        changed = Some(now);
        rest = others;
    }
}

fn run_part(
    (whole, steps): (&mut [Step], &mut [Step]),
    before: &StackTable,
    mut matching: Option<Matching>,
) -> Result<Changed> {
    steps.iter_mut().for_each(Step::forget);
    let mut dropped = StackCount::default();
    let decided = match whole.first_mut() {
        Some(step) => {
            let decided = decide(step, before)?;
            dropped.stacks = step.came.stacks.saturating_sub(step.left.stacks);
            dropped.weights = step.came.weights.checked_sub(step.left.weights)?;
            Some(decided)
        }
        None => None,
    };
    let mut names = StackTable::default();
    let (mut taken, mut given) = (PerFrame::default(), PerFrame::default());
    let mut table = StackTable::default();
    let mut numbers = Vec::with_capacity(before.len());
    let mut work = Vec::new();
    for (stack, (frames, weights)) in before.stacks().enumerate() {
        work.clear();
        match decided.as_ref().map_or(Fate::Keep, |(stacks, fates)| fates[stacks.number_of(stack)]) {
            Fate::Keep => {
                work.extend(frames.iter().map(|&frame| taken.get(frame, || take(before, frame, &mut names))))
            }
            Fate::Rest => work.push(names.frame(OTHER)),
            Fate::Drop => {
                numbers.push(None);
                continue;
            }
        }
        let is_wanted = matching.as_mut().is_none_or(|matching| matching.keeps(&work, weights, &names));
        let left = if is_wanted { pass(steps, &mut work, weights, &mut names, true)? } else { None };
        let Some(left) = left else {
            dropped.note(weights)?;
            numbers.push(None);
            continue;
        };
        for frame in &mut work {
            *frame = given.get(*frame, || take(&names, *frame, &mut table));
        }
        numbers.push(Some(table.add_indexed(&work, left)? as u32));
    }
    if before.columns() == Columns::Two {
        table.make_differential();
    }
    Ok(Changed { table, numbers, dropped })
}

/// Lets an operation on the whole decide about each stack, and counts.
fn decide<'t>(step: &mut Step, table: &'t StackTable) -> Result<(NamedStacks<'t>, Vec<Fate>)> {
    let Stage::Whole(whole) = &step.stage else { unreachable!("the first step of a part is one") };
    let stacks = NamedStacks::new(table)?;
    let fates = whole.decide(&stacks)?;
    step.came = StackCount { stacks: stacks.len() as u64, weights: stacks.total()? };
    let mut left = StackCount::default();
    let mut has_rest = false;
    for (number, fate) in fates.iter().enumerate() {
        if *fate != Fate::Drop {
            left.stacks += u64::from(*fate == Fate::Keep);
            left.weights = left.weights.checked_add(stacks.weights(number))?;
            has_rest |= *fate == Fate::Rest;
        }
    }
    left.stacks += u64::from(has_rest);
    step.left = left;
    Ok((stacks, fates))
}

/// A frame of one table, with its place, as one of another.
fn take(from: &StackTable, frame: FrameId, to: &mut StackTable) -> FrameId {
    to.frame_at(from.name(frame), &from.place(frame))
}

/// Returns true if all stacks begin with frames of these labels: `key=value`.
pub(super) fn are_labelled(table: &StackTable, labels: &[String]) -> bool {
    let is_label = |key: &String, frame: FrameId| {
        table.name(frame).strip_prefix(key.as_bytes()).is_some_and(|rest| rest.first() == Some(&b'='))
    };
    labels.is_empty()
        || table.stacks().all(|(stack, _)| {
            labels.len() <= stack.len() && labels.iter().zip(stack).all(|(key, &frame)| is_label(key, frame))
        })
}
