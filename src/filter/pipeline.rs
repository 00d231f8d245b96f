//! Operations one after the other, on a profile that streams by.
//!
//! While operations only select, lines are copied as they stand and nothing is kept but the names
//! of frames. As soon as one changes stacks or weights, what comes out is added up and written in
//! frame order at the end. Operations on the whole profile wait for a table of all that came to
//! them, and begin another.

use std::io::Write;

use super::merged::{self, InOrder};
use super::operation::{Operation, Settings, Stage};
use super::pattern::Pattern;
use super::scan::{Flow, StackLine, Visitor, scan};
use super::select::{Selected, Selection, Tally};
use crate::error::{ErrorKind, Result};
use crate::folded::{Batch, Columns, FrameId, StackTable, Weights, common_prefix, is_comment};
use crate::input::Source;
use crate::weight::Weight;

/// While only selecting, the names of frames may take this much before they are forgotten and
/// numbered anew: real profiles stay far below it.
const MOST_NAMES: usize = 64 << 20;

/// Operations in the order in which they are applied.
pub struct Pipeline {
    steps: Vec<Step>,
}

struct Step {
    label: String,
    stage: Stage,
    came: Tally,
    left: Tally,
    /// For [`Stage::Reweigh`]: the factor for the unit at hand.
    factor: Weight,
}

/// What one operation did.
#[derive(Clone, Debug)]
pub struct StepReport {
    /// The operation as it was given, `--hide malloc`.
    pub label: String,
    /// What came to it.
    pub came: Tally,
    /// What it left.
    pub left: Tally,
    /// Whether it changes weights, so that what came and what it left do not compare.
    pub reweighs: bool,
    /// What its user should know, such as that its expression matched nothing.
    pub remark: Option<String>,
}

/// What a [`Pipeline`] came across.
#[derive(Clone, Debug, Default)]
pub struct Filtered {
    /// What was written and what was not, as for a plain selection.
    pub selected: Selected,
    /// All stacks that were read.
    pub came: Tally,
    /// What the operations did, in their order.
    pub steps: Vec<StepReport>,
}

impl Pipeline {
    /// Makes it from operations and their values.
    ///
    /// # Errors
    /// [`ErrorKind::Setting`] names the operation and what is wrong with its value.
    ///
    /// ```
    /// use fg_tools::filter::{Operation, Pipeline, Selection, Settings};
    /// use fg_tools::input::Source;
    ///
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("out.folded");
    /// std::fs::write(&path, "main;alloc;malloc 2\nmain 3\nmain;work 4\n")?;
    /// let hide = Operation::find("hide").unwrap();
    /// let mut pipeline = Pipeline::new(&[(hide, "^alloc$")], Settings::default())?;
    /// let mut out = Vec::new();
    /// pipeline.run(&[Source::new(&path)], None, Selection::default(), &mut out)?;
    /// assert_eq!(out, b"main 3\nmain;malloc 2\nmain;work 4\n");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn new(operations: &[(&Operation, &str)], settings: Settings) -> Result<Pipeline> {
        let steps = operations.iter().map(|(operation, value)| {
            let value_shown = if value.is_empty() { String::new() } else { format!(" {value}") };
            Ok(Step {
                label: format!("--{}{value_shown}", operation.name),
                stage: operation.build(value, settings)?,
                came: Tally::default(),
                left: Tally::default(),
                factor: Weight::ONE,
            })
        });
        Ok(Pipeline { steps: steps.collect::<Result<_>>()? })
    }

    /// Reads folded files one after the other, applies a pattern first if there is one, then the
    /// operations, and writes what is left.
    ///
    /// # Errors
    /// Those of [`select()`](super::select()), and [`ErrorKind::Setting`] for weights of which
    /// an operation has to know the unit.
    pub fn run(
        &mut self,
        sources: &[Source],
        pattern: Option<&Pattern>,
        selection: Selection,
        out: &mut dyn Write,
    ) -> Result<Filtered> {
        let streams = self.steps.iter().all(|step| matches!(step.stage, Stage::Select(_)));
        let needs_weights =
            |step: &Step| matches!(&step.stage, Stage::Select(select) if select.needs_weights());
        let reweighs = self.steps.iter().any(|step| matches!(step.stage, Stage::Reweigh(_)));
        let weigh = selection.weigh || reweighs || self.steps.iter().any(needs_weights);
        let whole = self.steps.iter().position(|step| matches!(step.stage, Stage::Whole(_)));
        let first = whole.unwrap_or(self.steps.len());
        let mut run = Run {
            first,
            steps: &mut self.steps,
            selection,
            streams,
            weigh,
            reweighs,
            names: Names::default(),
            in_order: InOrder::default(),
            batch: Batch::default(),
            text: Vec::new(),
            work: Vec::new(),
            units: Units::default(),
            came: Tally::default(),
            kept: Tally::default(),
            dropped: Tally::default(),
        };
        let scanned = scan(sources, pattern, out, &mut run)?;
        let Run { names: Names { mut table, .. }, in_order, mut batch, came, mut kept, mut dropped, .. } =
            run;
        if !streams {
            table.add_batch(&mut batch)?;
            table = self.rest(first, table, scanned.columns, &mut dropped)?;
            kept = merged::write(&in_order, &table, scanned.columns, selection.weigh, out)?;
        }
        let selected =
            Selected { kept, dropped, columns: scanned.columns, not_understood: scanned.not_understood };
        Ok(Filtered { selected, came, steps: self.steps.iter().map(Step::report).collect() })
    }

    /// The operations on the whole profile and what follows them.
    fn rest(
        &mut self,
        first: usize,
        mut table: StackTable,
        columns: Columns,
        dropped: &mut Tally,
    ) -> Result<StackTable> {
        let differential = |table: &mut StackTable| {
            if columns == Columns::Two {
                table.make_differential();
            }
        };
        differential(&mut table);
        let mut rest = &mut self.steps[first..];
        while let Some((step, others)) = rest.split_first_mut() {
            let Stage::Whole(whole) = &step.stage else { unreachable!("a part begins with one") };
            step.came = tally(&table)?;
            table = whole.apply(&table)?;
            step.left = tally(&table)?;
            dropped.stacks += step.came.stacks.saturating_sub(step.left.stacks);
            dropped.weights =
                dropped.weights.checked_add(step.came.weights.checked_sub(step.left.weights)?)?;
            let next = others.iter().position(|step| matches!(step.stage, Stage::Whole(_)));
            let (part, others) = others.split_at_mut(next.unwrap_or(others.len()));
            if !part.is_empty() {
                let mut new = StackTable::default();
                let mut stack = Vec::new();
                table.for_each(|text, weights| {
                    stack.clear();
                    new.split(text, &mut stack);
                    match pass(part, &mut stack, weights, &mut new, true)? {
                        Some(weights) => new.add(&stack, weights),
                        None => dropped.note(weights),
                    }
                })?;
                differential(&mut new);
                table = new;
            }
            rest = others;
        }
        Ok(table)
    }
}

fn tally(table: &StackTable) -> Result<Tally> {
    Ok(Tally { stacks: table.len() as u64, weights: table.total()? })
}

impl Step {
    fn report(&self) -> StepReport {
        let remark = match &self.stage {
            _ if self.came.stacks == 0 => None,
            Stage::Select(select) => select.remark(),
            Stage::Rewrite(rewrite) => rewrite.remark(),
            Stage::Reweigh(_) | Stage::Whole(_) => None,
        };
        StepReport {
            label: self.label.clone(),
            came: self.came,
            left: self.left,
            reweighs: matches!(self.stage, Stage::Reweigh(_)),
            remark,
        }
    }
}

/// Takes a stack through operations that see one at a time; `None` if one drops it.
#[inline]
fn pass(
    steps: &mut [Step],
    stack: &mut Vec<FrameId>,
    mut weights: Weights,
    names: &mut StackTable,
    weigh: bool,
) -> Result<Option<Weights>> {
    for Step { stage, came, left, factor, .. } in steps {
        let note = |tally: &mut Tally, weights| {
            tally.stacks += 1;
            if weigh {
                tally.weights = tally.weights.checked_add(weights)?;
            }
            Ok::<_, crate::Error>(())
        };
        note(came, weights)?;
        match stage {
            Stage::Select(select) => {
                if !select.keeps(stack, weights, names) {
                    return Ok(None);
                }
            }
            Stage::Rewrite(rewrite) => {
                rewrite.rewrite(stack, names);
                if stack.is_empty() {
                    return Ok(None);
                }
                writable(stack, names);
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

/// Keeps a changed stack from looking like a comment. After each operation, so that several in
/// one run are what they are in several.
#[inline]
fn writable(stack: &mut [FrameId], names: &mut StackTable) {
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
    *root = names.frame(&name);
}

/// The part of a run that sees the input.
struct Run<'p> {
    steps: &'p mut [Step],
    /// How many of the steps come before the first that needs the whole profile.
    first: usize,
    selection: Selection,
    /// Whether lines are copied rather than added up.
    streams: bool,
    /// Whether the steps have to be shown weights.
    weigh: bool,
    /// Whether they change some.
    reweighs: bool,
    names: Names,
    /// What left the steps as it came, and in order.
    in_order: InOrder,
    /// What did not, on its way into the table.
    batch: Batch,
    /// Room for weights as text.
    text: Vec<u8>,
    work: Vec<FrameId>,
    units: Units,
    came: Tally,
    kept: Tally,
    dropped: Tally,
}

impl Visitor for Run<'_> {
    fn stack(&mut self, line: StackLine<'_>) -> Result<Flow> {
        let weights = if self.weigh { line.weights() } else { Weights::default() };
        self.came.note(weights)?;
        if line.matched == self.selection.invert {
            self.dropped.note(weights)?;
            return Ok(Flow::Drop);
        }
        if !self.units.settled {
            self.settle_units()?;
        }
        if self.streams && self.names.bytes > MOST_NAMES {
            self.names = Names::default();
            self.steps.iter_mut().for_each(Step::forget);
        }
        self.names.split(line.stack);
        self.work.clear();
        self.work.extend_from_slice(&self.names.ids);
        let steps = &mut self.steps[..self.first];
        let table = &mut self.names.table;
        let Some(left) = pass(steps, &mut self.work, weights, table, self.selection.weigh)? else {
            self.dropped.note(weights)?;
            return Ok(Flow::Drop);
        };
        if self.streams {
            self.kept.note(weights)?;
            return Ok(if self.selection.first_only { Flow::Stop } else { Flow::Keep });
        }
        if self.first == self.steps.len() && self.work == self.names.ids {
            let text = match line.plain_weights() {
                Some(text) if !self.reweighs => text,
                _ => {
                    let left = if self.weigh { left } else { line.weights() };
                    self.text.clear();
                    merged::write_weights(left, line.columns(), &mut self.text);
                    &self.text
                }
            };
            if self.in_order.push(line.stack, text) {
                return Ok(Flow::Drop);
            }
        }
        let left = if self.weigh { left } else { line.weights() };
        if self.batch.push(&self.work, left) {
            table.add_batch(&mut self.batch)?;
        }
        Ok(Flow::Drop)
    }

    fn comment(&mut self, line: &[u8], out: &mut Vec<u8>) -> Result<Flow> {
        if self.streams {
            return Ok(Flow::Keep);
        }
        match line.strip_prefix(b"# unit:") {
            Some(unit) => {
                self.units.input = Some(String::from_utf8_lossy(unit.trim_ascii()).into_owned());
                let unit = self.settle_units()?;
                let line = format!("# unit: {}\n", unit.unwrap_or_default());
                // Several files say it several times.
                if self.units.written.as_ref() != Some(&line) {
                    out.extend_from_slice(line.as_bytes());
                    self.units.written = Some(line);
                }
            }
            None => {
                out.extend_from_slice(line.trim_ascii_end());
                out.push(b'\n');
            }
        }
        Ok(Flow::Drop)
    }

    fn file(&mut self) {
        self.units.input = None;
        self.units.settled = false;
    }
}

/// In what the weights are.
#[derive(Default)]
struct Units {
    /// In the file at hand, if it says so.
    input: Option<String>,
    /// Where they are added up, if anything was.
    merged: Option<Option<String>>,
    /// Whether the factors of all steps are those for `input`.
    settled: bool,
    /// The comment that was written last.
    written: Option<String>,
}

impl Run<'_> {
    /// Finds the factors for the unit of the file at hand, and returns the unit of the result.
    fn settle_units(&mut self) -> Result<Option<String>> {
        let mut unit = self.units.input.clone();
        let mut merged = None;
        for (index, step) in self.steps.iter_mut().enumerate() {
            if index == self.first {
                merged = Some(unit.clone());
            }
            if let Stage::Reweigh(reweigh) = &step.stage {
                (step.factor, unit) = reweigh.factor(unit.as_deref())?;
            }
        }
        let merged = merged.unwrap_or_else(|| unit.clone());
        match &self.units.merged {
            Some(Some(before)) if !self.streams && merged.as_ref().is_some_and(|unit| unit != before) => {
                let what = format!(
                    "weights in {} cannot be added to weights in {before}; convert them with --to-unit",
                    merged.unwrap_or_default()
                );
                return Err(ErrorKind::Setting { what }.into());
            }
            Some(Some(_)) => {}
            _ => self.units.merged = Some(merged),
        }
        self.units.settled = true;
        Ok(unit)
    }
}

impl Step {
    fn forget(&mut self) {
        match &mut self.stage {
            Stage::Select(select) => select.forget(),
            Stage::Rewrite(rewrite) => rewrite.forget(),
            Stage::Reweigh(_) | Stage::Whole(_) => {}
        }
    }
}

/// Numbers the frames of stacks. Neighbours mostly begin alike: what they share is not looked
/// up again.
#[derive(Default)]
struct Names {
    table: StackTable,
    text: Vec<u8>,
    ids: Vec<FrameId>,
    /// Where each frame ends in `text`.
    ends: Vec<usize>,
    /// About how much memory the names take.
    bytes: usize,
}

impl Names {
    /// Puts the frames of a stack into `ids`.
    fn split(&mut self, stack: &[u8]) {
        let same = common_prefix(&self.text, stack);
        let shared = self.ends.partition_point(|&end| {
            end < same || end == same && matches!(stack.get(same), None | Some(b';'))
        });
        self.ids.truncate(shared);
        self.ends.truncate(shared);
        let kept = self.ends.last().copied();
        self.text.truncate(same);
        self.text.extend_from_slice(&stack[same..]);
        let from = match kept {
            Some(end) if end == stack.len() => return,
            Some(end) => end + 1,
            None => 0,
        };
        let mut start = from;
        for end in memchr::memchr_iter(b';', &stack[from..]).map(|at| from + at).chain([stack.len()]) {
            let count = self.table.frame_count();
            self.ids.push(self.table.frame(&stack[start..end]));
            self.ends.push(end);
            if self.table.frame_count() > count {
                self.bytes += end - start + 48;
            }
            start = end + 1;
        }
    }
}
