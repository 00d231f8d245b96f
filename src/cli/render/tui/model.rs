//! The data of the terminal view: the frames that can ever be seen, and the weight of each function.

use std::collections::HashMap;

use crate::error::Result;
use crate::folded::{Columns, Frame, Visitor, WalkSummary, Weights};
use crate::render::Settings;
use crate::render::amounts::Amounts;
use crate::render::calls::Calls;
use crate::render::colour::Rgb;
use crate::render::layout::{Graph, Layout};
use crate::tally::Cell;
use crate::weight::Weight;

/// Lighter frames are not kept: of a million columns they would not fill half of one, and no
/// useful zoom goes that far.
const LEAST_SHARE: f64 = 0.5e-6;

/// The name of the whole.
const WHOLE: &[u8] = b"all";

/// Hears the input.
pub(super) struct Collector {
    layout: Layout,
    calls: Calls,
}

impl Collector {
    pub(super) fn new(settings: &Settings) -> Self {
        let layout = Layout::new(LEAST_SHARE, settings.total).comparing(settings.comparison.clone());
        Collector { layout, calls: Calls::default() }
    }
}

impl Visitor for Collector {
    fn follows_stacks(&self) -> bool {
        true
    }

    fn enter(&mut self, name: &[u8], depth: usize) -> Result<()> {
        self.calls.enter(name, depth)
    }

    fn exit(&mut self, frame: Frame<'_>, so_far: Weights) -> Result<()> {
        self.calls.exit(frame, so_far)?;
        self.layout.exit(frame, so_far)
    }

    fn restart(&mut self) -> Result<()> {
        self.calls.restart()?;
        self.layout.restart()
    }
}

/// A frame; the first one is the whole. Callers come before their callees.
#[derive(Clone, Copy)]
pub(super) struct Node {
    /// The number of its name; none is that of the whole.
    pub(super) function: Option<u32>,
    pub(super) depth: usize,
    pub(super) start: Weight,
    pub(super) total: Weight,
    pub(super) weights: Weights,
    pub(super) parent: usize,
    /// Behind its last callee.
    pub(super) end: usize,
    pub(super) colour: Rgb,
}

/// All there is to be seen.
pub(super) struct Model {
    pub(super) nodes: Vec<Node>,
    pub(super) functions: Vec<Function>,
    pub(super) all: Weights,
    pub(super) columns: Columns,
    pub(super) amounts: Amounts,
    pub(super) factor: Weight,
}

/// A function, and the calls around it, the heaviest first.
pub(super) struct Function {
    pub(super) name: Vec<u8>,
    pub(super) weight: Cell<Weights>,
    pub(super) callers: Vec<Other>,
    pub(super) callees: Vec<Other>,
}

/// A caller or a callee, none is outside, and the weight of the calls.
pub(super) type Other = (Option<u32>, Weights);

impl Model {
    pub(super) fn new(collector: Collector, settings: &Settings, summary: &WalkSummary) -> Result<Model> {
        let Collector { layout, calls } = collector;
        let graph = layout.finish(summary)?;
        let functions = functions(&calls);
        Ok(Model {
            nodes: nodes(&graph, &functions, settings, summary)?,
            functions,
            all: summary.total,
            columns: summary.columns,
            amounts: Amounts::new(&summary.facts),
            factor: settings.factor,
        })
    }

    pub(super) fn name(&self, function: Option<u32>) -> &[u8] {
        function.map_or(WHOLE, |function| &self.functions[function as usize].name)
    }

    /// The frames of this caller, or around it those that have the same one, from left to right.
    pub(super) fn callees(&self, caller: usize) -> impl Iterator<Item = usize> {
        let mut next = caller + 1;
        std::iter::from_fn(move || {
            let callee = next;
            let inside = callee < self.nodes[caller].end;
            next = if inside { self.nodes[callee].end } else { next };
            inside.then_some(callee)
        })
    }
}

fn functions(calls: &Calls) -> Vec<Function> {
    let new = |(name, weight): (&[u8], _)| Function {
        name: name.to_vec(),
        weight,
        callers: Vec::new(),
        callees: Vec::new(),
    };
    let mut functions: Vec<Function> = calls.functions().map(new).collect();
    for call in calls.calls() {
        functions[call.callee as usize].callers.push((call.caller, call.total));
        if let Some(caller) = call.caller {
            functions[caller as usize].callees.push((Some(call.callee), call.total));
        }
    }
    for function in &mut functions {
        for list in [&mut function.callers, &mut function.callees] {
            list.sort_by_key(|&(_, weights)| std::cmp::Reverse(weights.larger()));
        }
    }
    functions
}

fn nodes(
    graph: &Graph,
    functions: &[Function],
    settings: &Settings,
    summary: &WalkSummary,
) -> Result<Vec<Node>> {
    let numbers: HashMap<&[u8], u32> = functions.iter().zip(0..).map(|(f, n)| (&f.name[..], n)).collect();
    let largest = graph.largest_change()?;
    let whole = Node {
        function: None,
        depth: 0,
        start: Weight::ZERO,
        total: graph.total,
        weights: Weights { value: graph.after, before: graph.before },
        parent: 0,
        end: 0,
        colour: Rgb(200, 200, 200),
    };
    let mut nodes = vec![whole];
    let mut path = vec![0];
    for frame in graph.frames() {
        let depth = frame.depth as usize + 1;
        while path.len() > depth {
            let closed: usize = path.pop().unwrap_or(0);
            nodes[closed].end = nodes.len();
        }
        path.push(nodes.len());
        nodes.push(Node {
            function: numbers.get(frame.name).copied(),
            depth,
            start: frame.start,
            total: frame.total,
            weights: Weights { value: frame.after, before: frame.before },
            parent: path[depth - 1],
            end: 0,
            colour: settings.picture.colours.of(graph, &frame, largest, &summary.places)?,
        });
    }
    let end = nodes.len();
    path.into_iter().for_each(|open| nodes[open].end = end);
    Ok(nodes)
}
