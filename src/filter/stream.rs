//! Operations on folded text that streams by.

use std::io::Write;

use super::in_memory;
use super::merged::{self, InOrder, Runs};
use super::operation::{Conversion, Stage};
use super::run::{Filtered, RunOptions, StackCount};
use super::scan::{Comments, Flow, StackLine, Visitor, scan};
use super::step::{
    Step, changed_facts, keep_stacks, labels_left, make_writable, pass, settle_labels, settle_units,
};
use crate::error::Result;
use crate::folded::{Batch, Columns, FrameId, StackTable, Weights, common_prefix};
use crate::input::Source;
use crate::profile::{Facts, header};
use crate::weight::Weight;

/// While only selecting, the names of frames may take this much before they are forgotten and
/// numbered anew: real profiles stay far below it.
const MOST_NAMES: usize = 64 << 20;

/// Reads folded files one after the other, applies the pattern if there is one, then the
/// operations, and writes the result.
pub(super) fn stream(
    steps: &mut [Step],
    sources: &[Source],
    options: &RunOptions,
    out: &mut dyn Write,
) -> Result<Filtered> {
    let keeps_stacks = keep_stacks(steps);
    let copies = steps.iter().all(|step| selects(&step.stage));
    let needs_weights = |step: &Step| matches!(&step.stage, Stage::Select(select) if select.needs_weights());
    let reweighs = steps.iter().any(|step| matches!(step.stage, Stage::Reweigh(_)));
    let whole = steps.iter().position(|step| matches!(step.stage, Stage::Whole(_)));
    let mut run = Run {
        first: whole.unwrap_or(steps.len()),
        options,
        copies,
        weigh: options.weigh || reweighs || steps.iter().any(needs_weights),
        reweighs,
        steps: &mut *steps,
        splitter: FrameSplitter::default(),
        in_order: InOrder::default(),
        runs: Runs::default(),
        batch: Batch::default(),
        text: Vec::new(),
        work: Vec::new(),
        came: StackCount::default(),
        kept: StackCount::default(),
        dropped: StackCount::default(),
    };
    let scanned = scan(sources, options.pattern.as_ref(), out, &mut run)?;
    let Run { first, splitter, in_order, runs, mut batch, came, mut kept, mut dropped, .. } = run;
    let mut table = splitter.table;
    let conversion = conversion(steps, &scanned.facts)?;
    let mut facts = scanned.facts.without_counts();
    if !copies {
        table.add_batch(&mut batch)?;
        if scanned.columns == Columns::Two {
            table.make_differential();
        }
        if first < steps.len() {
            let changed = in_memory::run(&mut steps[first..], &table, None)?;
            table = changed.table;
            dropped = dropped.checked_add(changed.dropped)?;
        }
        let labels = labels_left(steps, &scanned.facts.labels);
        let labels_hold = keeps_stacks
            || in_memory::are_labelled(&table, &labels)
                && in_order.are_labelled(&labels)?
                && runs.are_labelled(&labels)?;
        let labels = labels_hold.then_some(labels);
        facts = changed_facts(&scanned.facts, &conversion, dropped.stacks == 0, labels);
        if options.header {
            out.write_all(header::write(&facts).as_bytes())?;
        }
        let (columns, weigh) = (scanned.columns, options.weigh);
        kept = merged::write_with_runs(&in_order, runs, &table, columns, weigh, out)?;
    }
    Ok(Filtered {
        came,
        kept,
        dropped,
        columns: scanned.columns,
        facts,
        unit_came: scanned.facts.unit.clone(),
        not_understood: scanned.not_understood,
        steps: Vec::new(),
    })
}

/// Returns true for a stage that keeps or drops stacks as they are.
fn selects(stage: &Stage) -> bool {
    match stage {
        Stage::Select(_) => true,
        Stage::Label(label) => label.selects(),
        _ => false,
    }
}

/// The change of all weights, given the facts of all texts.
fn conversion(steps: &mut [Step], facts: &Facts) -> Result<Conversion> {
    match &facts.unit {
        Some(unit) => settle_units(steps, Some(unit)),
        // Texts with stacks were asked when they began.
        None => Ok(settle_units(steps, None).unwrap_or(Conversion {
            factor: Weight::ONE,
            unit: None,
            is_exact: true,
        })),
    }
}

/// The part of a run that sees the input.
struct Run<'p> {
    steps: &'p mut [Step],
    options: &'p RunOptions,
    /// The number of steps before the first that needs the whole profile.
    first: usize,
    /// True if lines are copied rather than added up.
    copies: bool,
    /// True if the steps have to be shown weights.
    weigh: bool,
    /// True if a step changes weights.
    reweighs: bool,
    splitter: FrameSplitter,
    /// Stacks that left the steps as they came, and in order.
    in_order: InOrder,
    /// Other stacks that had filled the table before.
    runs: Runs,
    /// Other stacks, on their way into the table.
    batch: Batch,
    /// Room for weights as text.
    text: Vec<u8>,
    work: Vec<FrameId>,
    came: StackCount,
    kept: StackCount,
    dropped: StackCount,
}

impl Visitor for Run<'_> {
    fn comments(&self) -> Comments {
        // Without copying, the header is written before the result.
        if self.copies && self.options.header { Comments::Copy } else { Comments::Drop }
    }

    fn part(&mut self, facts: &Facts) -> Result<()> {
        settle_units(self.steps, facts.unit.as_deref())?;
        settle_labels(self.steps, &facts.labels, false)
    }

    fn stack(&mut self, line: StackLine<'_>) -> Result<Flow> {
        let weights = if self.weigh { line.weights() } else { Weights::default() };
        self.came.note(weights)?;
        if line.matched == self.options.invert {
            self.dropped.note(weights)?;
            return Ok(Flow::Drop);
        }
        if self.copies && self.splitter.bytes > MOST_NAMES {
            self.splitter = FrameSplitter::default();
            self.steps.iter_mut().for_each(Step::forget);
        }
        self.splitter.split(line.stack);
        self.work.clear();
        self.work.extend_from_slice(&self.splitter.ids);
        let steps = &mut self.steps[..self.first];
        let table = &mut self.splitter.table;
        let Some(left) = pass(steps, &mut self.work, weights, table, self.options.weigh)? else {
            self.dropped.note(weights)?;
            return Ok(Flow::Drop);
        };
        if self.copies {
            self.kept.note(weights)?;
            return Ok(if self.options.first_only { Flow::Stop } else { Flow::Keep });
        }
        // A root alone may look like a comment, whatever the steps left as it was.
        make_writable(&mut self.work, table);
        if self.first == self.steps.len() && self.work == self.splitter.ids {
            let text = match line.plain_weights() {
                Some(text) if !self.reweighs => text,
                _ => {
                    let left = if self.weigh { left } else { line.weights() };
                    self.text.clear();
                    merged::write_weights(left, line.columns(), &mut self.text);
                    &self.text
                }
            };
            if self.in_order.push(line.stack, text)? {
                return Ok(Flow::Drop);
            }
        }
        let left = if self.weigh { left } else { line.weights() };
        if self.batch.push(&self.work, left) {
            table.add_batch(&mut self.batch)?;
            // Steps that need the whole profile need all of its stacks.
            if self.first == self.steps.len()
                && Runs::is_large(table)
                && !self.runs.take(table, line.columns())?
            {
                self.splitter = FrameSplitter::default();
                self.steps.iter_mut().for_each(Step::forget);
            }
        }
        Ok(Flow::Drop)
    }
}

/// Numbers the frames of stacks. Neighbours mostly begin alike: what they share is not looked
/// up again.
#[derive(Default)]
struct FrameSplitter {
    table: StackTable,
    text: Vec<u8>,
    ids: Vec<FrameId>,
    /// The end of each frame in `text`.
    ends: Vec<usize>,
    /// About how much memory the names take.
    bytes: usize,
}

impl FrameSplitter {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::filter::{Op, Operation, Pipeline};
    use crate::reading::Opened;

    #[test]
    fn stacks_that_are_only_chosen_stay_in_their_order_and_apart() {
        const TEXT: &str = "thread=x;b 1\nthread=y;b 1\nthread=x;a 1\nthread=x;b 2\n";
        let through = |operation: &str, value: &str| {
            let op = Op::new(Operation::find(operation).unwrap(), value).unwrap();
            let input = Opened::Folded(vec![Source::bytes(format!("# labels: thread\n{TEXT}"))]);
            let mut out = Vec::new();
            let options = RunOptions::default().header(false);
            Pipeline::new(&[op]).unwrap().run(&input, &options, &mut out).unwrap();
            String::from_utf8(out).unwrap()
        };
        let of_x = "thread=x;b 1\nthread=x;a 1\nthread=x;b 2\n";
        assert_eq!(through("with-label", "thread=x"), of_x);
        assert_eq!(through("focus", "b"), "thread=x;b 1\nthread=y;b 1\nthread=x;b 2\n");
        // What changes names adds up, and sorts.
        assert_eq!(through("drop-label", "thread"), "a 1\nb 4\n");
        assert_eq!(through("drop-label", "process"), "thread=x;a 1\nthread=x;b 3\nthread=y;b 1\n");
        assert_eq!(through("rename", "s/b/c/"), "thread=x;a 1\nthread=x;c 3\nthread=y;c 1\n");
    }
    /// More stacks than a table holds: some come in order, some not, and of one or two columns.
    #[cfg(feature = "cli")]
    #[test]
    fn any_number_of_stacks_is_filtered_as_a_profile_is() {
        let ops = [
            ("hide", "^mid"),
            ("rename", "s/^leaf1/LEAF/"),
            ("reverse", ""),
            ("hide", "^main$"),
            ("scale", "0.5"),
        ];
        for (order, columns) in [(1, 1), (7919, 1), (1, 2), (7919, 2)] {
            let line = |n: usize| {
                let n = n * order % 6000;
                let before = if columns == 2 { format!(" {}", n % 5) } else { String::new() };
                format!("main;mid{:02};step{:04};leaf{}{before} {}\n", n / 100, n, n % 17, n % 9)
            };
            let text: String = (0..6000).map(line).collect();
            let profile = crate::Profile::from_bytes(text.as_str()).unwrap();
            for (operation, value) in ops {
                let op = Op::new(Operation::find(operation).unwrap(), value).unwrap();
                let mut expected = Vec::new();
                profile.filter(std::slice::from_ref(&op)).unwrap().stacks().write(&mut expected).unwrap();
                let input = Opened::Folded(vec![Source::bytes(text.clone())]);
                let mut out = Vec::new();
                let options = RunOptions::default().header(false);
                Pipeline::new(&[op]).unwrap().run(&input, &options, &mut out).unwrap();
                assert!(out == expected, "--{operation} {value}, order {order}, columns {columns}");
            }
        }
    }
}
