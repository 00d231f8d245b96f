//! `tree` and `bottomup`: the call tree as indented text, from the root down or from each function
//! up to its callers.
//!
//! ```text
//! 100 samples, 5 frames
//!
//! total   total%  self   self%
//!   100  100.00%     1   1.00%  main
//!    60   60.00%    40  40.00%    parse
//! ```
//! For differential input, every frame is shown that was there before or after.

use super::amounts::Amounts;
use super::columns::{change_cells, share, write_long};
use super::compare::{Comparison, Widths};
use super::format::takes;
use super::functions::{Functions, size};
use super::gathered::Gathered;
use super::layout::{FrameBox, Graph, Layout};
use super::rewrite::StackRewrite;
use super::writer::{Finished, Target};
use super::{Format, Settings, about};
use crate::error::Result;
use crate::folded::{Columns, Frame, Known, StackTable, Visitor, WalkSummary, Weights, walk_table};
use crate::printable::printable;
use crate::weight::Weight;

/// The format, from the root.
pub const TREE: Format = Format {
    name: "tree",
    endings: &["tree", "tree.txt"],
    about: "the call tree, indented, with percentages",
    takes: &[takes::HEAD, takes::TREE, takes::DEPTH, takes::UNIT],
    streams: false,
    open: |settings, target| {
        let pruned = Pruned::new(settings, MIN_PERCENT);
        Ok(Box::new(Gathered::new(pruned, settings, target, write_top_down)))
    },
};

/// The format, from the leaves.
pub const BOTTOM_UP: Format = Format {
    name: "bottomup",
    endings: &["bottomup", "bottomup.txt"],
    about: "functions by self weight, and below each its callers",
    takes: &[takes::HEAD, takes::TREE, takes::DEPTH, takes::UNIT],
    streams: false,
    open: |settings, target| {
        Ok(Box::new(Gathered::new(Reversed::default(), settings, target, write_bottom_up)))
    },
};

/// The default of the least share of a frame, in percent.
const MIN_PERCENT: f64 = 0.5;
/// Farther in, a number says how deep a frame is: lines would be mostly blanks.
const DEEPEST_INDENT: u32 = 60;

/// Keeps the frames of a tree that are heavy and not too deep.
pub(super) struct Pruned {
    layout: Layout,
    depth: usize,
}

impl Pruned {
    pub(super) fn new(settings: &Settings, usual_percent: f64) -> Self {
        let min_percent = settings.tree.min_percent.unwrap_or(usual_percent);
        let comparison = Comparison { widths: Widths::After, own: true, ..Comparison::default() };
        let layout = Layout::new(min_percent / 100.0, None).comparing(comparison);
        Pruned { layout, depth: settings.tree.depth.unwrap_or(usize::MAX) }
    }

    /// The number of frames from the root that are shown.
    pub(super) fn depth(&self) -> usize {
        self.depth
    }

    pub(super) fn finish(self, settings: &Settings, summary: &WalkSummary) -> Result<Graph> {
        let mut graph = self.layout.finish(summary)?;
        graph.scale(settings.factor)?;
        Ok(graph)
    }
}

impl Visitor for Pruned {
    fn begin(&mut self, known: &Known<'_>) -> Result<()> {
        let widths = if known.columns == Columns::Two { Widths::Union } else { Widths::After };
        self.layout.compare(Comparison { widths, own: true, ..Comparison::default() });
        Ok(())
    }

    fn exit(&mut self, frame: Frame<'_>, so_far: Weights) -> Result<()> {
        self.layout.exit(frame, so_far)
    }

    fn least(&self, all: Weights) -> Weight {
        self.layout.least(all)
    }

    fn passed_over(&mut self, frames: u64) {
        self.layout.passed_over(frames);
    }

    fn restart(&mut self) -> Result<()> {
        self.layout.restart()
    }
}

/// Adds up functions, and keeps the heavy frames of the tree.
pub(super) struct FunctionsAndTree {
    pub(super) functions: Functions,
    pub(super) pruned: Pruned,
}

impl FunctionsAndTree {
    /// With the rows that the settings ask for.
    pub(super) fn new(settings: &Settings, usual_percent: f64) -> Self {
        FunctionsAndTree {
            functions: Functions::of_table(settings),
            pruned: Pruned::new(settings, usual_percent),
        }
    }
}

impl Visitor for FunctionsAndTree {
    fn follows_stacks(&self) -> bool {
        true
    }

    fn begin(&mut self, known: &Known<'_>) -> Result<()> {
        self.functions.begin(known)?;
        self.pruned.begin(known)
    }

    fn enter(&mut self, name: &[u8], depth: usize) -> Result<()> {
        self.functions.enter(name, depth)
    }

    fn stack(&mut self, stack: &[u8], weights: Weights) -> Result<()> {
        self.functions.stack(stack, weights)
    }

    fn exit(&mut self, frame: Frame<'_>, so_far: Weights) -> Result<()> {
        self.functions.exit(frame, so_far)?;
        self.pruned.exit(frame, so_far)
    }

    fn restart(&mut self) -> Result<()> {
        self.functions.restart()?;
        self.pruned.restart()
    }
}

fn write_top_down(
    pruned: Pruned,
    settings: &Settings,
    summary: &WalkSummary,
    target: &mut dyn Target,
) -> Result<Finished> {
    let depth = pruned.depth();
    let graph = pruned.finish(settings, summary)?;
    write(&graph, depth, Direction::Down, settings, summary, target)?;
    Ok(Finished::default())
}

/// All stacks, leaf first.
#[derive(Default)]
struct Reversed {
    table: StackTable,
    stack: Vec<u8>,
}

impl Visitor for Reversed {
    fn follows_stacks(&self) -> bool {
        true
    }

    fn begin(&mut self, known: &Known<'_>) -> Result<()> {
        if known.columns == Columns::Two {
            self.table.make_differential();
        }
        Ok(())
    }

    fn stack(&mut self, stack: &[u8], weights: Weights) -> Result<()> {
        let Reversed { table, stack: reversed } = self;
        reversed.clear();
        StackRewrite { reverse: true, bases: Vec::new() }.apply(stack, reversed);
        table.add_stack(reversed, weights)
    }

    fn exit(&mut self, _: Frame<'_>, _: Weights) -> Result<()> {
        Ok(())
    }

    fn restart(&mut self) -> Result<()> {
        *self = Reversed::default();
        Ok(())
    }
}

fn write_bottom_up(
    reversed: Reversed,
    settings: &Settings,
    summary: &WalkSummary,
    target: &mut dyn Target,
) -> Result<Finished> {
    let mut pruned = Pruned::new(settings, MIN_PERCENT);
    let known = Known { columns: summary.columns, facts: &summary.facts, places: &summary.places };
    walk_table(&reversed.table, &known, &mut pruned)?;
    let depth = pruned.depth();
    let graph = pruned.finish(settings, summary)?;
    write(&graph, depth, Direction::Up, settings, summary, target)?;
    Ok(Finished::default())
}

/// The direction of a tree: callees below their callers, or callers below their callees.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Direction {
    Down,
    Up,
}

fn write(
    graph: &Graph,
    depth: usize,
    direction: Direction,
    settings: &Settings,
    summary: &WalkSummary,
    target: &mut dyn Target,
) -> Result<()> {
    let all = settings.shown_both(summary.total)?;
    let amounts = Amounts::new(&summary.facts);
    let places = heaviest_first(graph, depth)?;
    let count = places.len();
    let plural = if count == 1 { "" } else { "s" };
    about::write_text(settings, summary, target)?;
    writeln!(target, "{}, {count} frame{plural}\n", amounts.total(summary.columns, all))?;
    let name = if direction == Direction::Up { "function, and its callers" } else { "function" };
    write_table(graph, &places, name, direction == Direction::Down, (all, &amounts), target)?;
    let left_out = graph.left_out + (graph.frames().len() - count) as u64;
    if left_out > 0 {
        writeln!(target, "\n{left_out} more frames, lighter or deeper; --min-percent and --depth show them")?;
    }
    Ok(())
}

/// The rows of a tree; what a frame weighs itself is told where that is not what it weighs anyway.
fn write_table(
    graph: &Graph,
    places: &[u32],
    head: &str,
    with_own: bool,
    (all, amounts): (Weights, &Amounts),
    target: &mut dyn Target,
) -> Result<()> {
    let heads: &[&str] = match (graph.columns, with_own) {
        (Columns::One, true) => &["total", "total%", "self", "self%"],
        (Columns::One, false) => &["self", "self%"],
        (Columns::Two, _) => &["before", "after", "change", "pp"],
    };
    let cells = |place: &u32| {
        let frame = graph.frame(*place as usize);
        let total = Weights { value: graph.shown(frame.after)?, before: graph.shown(frame.before)? };
        let own = graph.shown(frame.own.value)?;
        let mut cells: Vec<String> = match graph.columns {
            Columns::One => vec![amounts.cell(total.value), share(total.value, all.value)],
            Columns::Two => change_cells(total, all, amounts)?.into(),
        };
        if graph.columns == Columns::One && with_own {
            cells.extend([amounts.cell(own), share(own, all.value)]);
        }
        Ok(cells)
    };
    let name = |place: &u32| indented(&graph.frame(*place as usize));
    write_long((heads, head), places, cells, name, &mut *target)
}

/// The places of the frames in tree order, of those with the same caller the heaviest first; of
/// differential input those that changed most. Only those less than `depth` from the root.
pub(super) fn heaviest_first(graph: &Graph, depth: usize) -> Result<Vec<u32>> {
    let depths: Vec<u32> = graph.depths().collect();
    let is_shown = |place: usize| (depths[place] as usize) < depth;
    // Numbers of frames, and one more for the roots: its callees are theirs.
    let root = depths.len();
    let mut callers = Vec::with_capacity(depths.len());
    let mut ends = vec![0u32; depths.len() + 1];
    let mut path: Vec<u32> = Vec::new();
    for (n, &at) in depths.iter().enumerate().filter(|(n, _)| is_shown(*n)) {
        path.truncate(at as usize);
        let caller = path.last().map_or(root, |&caller| caller as usize);
        callers.push((n as u32, caller as u32));
        ends[caller] += 1;
        path.push(n as u32);
    }
    // The callees of all frames in one list: those of a frame end at its place in `ends`.
    let mut end = 0;
    for count in &mut ends {
        end += *count;
        *count = end;
    }
    let starts = |ends: &[u32], caller: usize| if caller == 0 { 0 } else { ends[caller - 1] as usize };
    let mut callees = vec![0u32; callers.len()];
    let mut filled: Vec<u32> = (0..ends.len()).map(|caller| starts(&ends, caller) as u32).collect();
    for (n, caller) in callers {
        let next = &mut filled[caller as usize];
        callees[*next as usize] = n;
        *next += 1;
    }
    drop(filled);
    let key = |place: u32| -> Result<(Weight, Weight)> {
        let frame = graph.frame(place as usize);
        let change = match graph.columns {
            Columns::One => Weight::ZERO,
            Columns::Two => size(frame.after.checked_sub(frame.before)?),
        };
        Ok((change, frame.total))
    };
    let mut sorted = Vec::with_capacity(callees.len());
    let mut next: Vec<u32> = Vec::new();
    let mut keyed = Vec::new();
    let mut caller = root;
    loop {
        let of_caller = &callees[starts(&ends, caller)..ends[caller] as usize];
        for &callee in of_caller {
            keyed.push((key(callee)?, callee));
        }
        // Stable: equals stay in the order of their names. Backwards, as the last is taken first.
        keyed.sort_by(|(a, _), (b, _)| b.cmp(a));
        next.extend(keyed.drain(..).rev().map(|(_, callee)| callee));
        let Some(place) = next.pop() else { return Ok(sorted) };
        sorted.push(place);
        caller = place as usize;
    }
}

pub(super) fn indented(frame: &FrameBox<'_>) -> String {
    let blanks = "  ".repeat(frame.depth.min(DEEPEST_INDENT) as usize);
    let name = printable(frame.name);
    if frame.depth <= DEEPEST_INDENT {
        format!("{blanks}{name}")
    } else {
        format!("{blanks}[{}] {name}", frame.depth)
    }
}
