//! `dot`: a call graph for graphviz: `fg-render --format dot | dot -Tsvg`.
//!
//! A node is a function, larger the more it weighs itself and redder the more it weighs in all;
//! of differential input, orange for what grew and blue for what shrank. An edge is a call, thicker
//! the more it weighs. What is light is left out: nodes by their total weight and by number, and the
//! edges of nodes that are; a graph of thousands of nodes cannot be read, and graphviz takes hours.

use std::cmp::Reverse;

use super::amounts::Amounts;
use super::calls::{Call, Calls, Function};
use super::columns::{points, share};
use super::format::takes;
use super::functions::{change, size};
use super::gathered::Gathered;
use super::label::{fit, percent};
use super::writer::{Finished, Target};
use super::{Cut, Format, Settings};
use crate::error::Result;
use crate::folded::{Columns, WalkSummary, Weights};
use crate::printable::printable;
use crate::tally::Cell;
use crate::weight::Weight;

/// The format.
pub const FORMAT: Format = Format {
    name: "dot",
    endings: &["dot", "gv"],
    about: "a call graph for graphviz",
    takes: &[takes::TITLE, takes::TREE, &["limit"], takes::UNIT, &["diff-colors", "negate"]],
    streams: false,
    open: |settings, target| Ok(Box::new(Gathered::new(Calls::default(), settings, target, write))),
};

/// The least share of a node by default, in percent, and the most nodes.
const MIN_PERCENT: f64 = 0.5;
const MOST_NODES: usize = 80;
/// Edges are left out below this part of what nodes are: pprof's measure too.
const EDGE_PART: f64 = 0.2;
const LONGEST_NAME: usize = 80;

fn write(
    calls: Calls,
    settings: &Settings,
    summary: &WalkSummary,
    target: &mut dyn Target,
) -> Result<Finished> {
    let graph = Graph::new(&calls, settings, summary)?;
    let title = settings.picture.title.clone().or_else(|| summary.facts.title());
    let title = title.map_or_else(|| "Call graph".to_owned(), |title| printable(title.as_bytes()));
    writeln!(target, "digraph {} {{", quoted(&title))?;
    writeln!(target, "graph [label={}, labelloc=t, fontname=Helvetica]", quoted(&graph.caption(&title)?))?;
    writeln!(target, "node [shape=box, style=filled, fontname=Helvetica]\nedge [fontname=Helvetica]")?;
    for &(function, name, weight) in &graph.nodes {
        writeln!(target, "n{function} [{}]", graph.node(name, weight)?)?;
    }
    for &(caller, call) in &graph.edges {
        writeln!(target, "n{caller} -> n{} [{}]", call.callee, graph.edge(call.total)?)?;
    }
    writeln!(target, "}}")?;
    Ok(Finished::default())
}

/// The nodes and edges that are drawn, in weights of the input.
struct Graph<'a> {
    settings: &'a Settings,
    summary: &'a WalkSummary,
    amounts: Amounts,
    /// By total weight.
    nodes: Vec<(Function, &'a [u8], Cell<Weights>)>,
    /// By weight, with their callers.
    edges: Vec<(Function, Call)>,
    left_out: usize,
    largest_change: Weight,
}

impl<'a> Graph<'a> {
    fn new(calls: &'a Calls, settings: &'a Settings, summary: &'a WalkSummary) -> Result<Graph<'a>> {
        let whole = summary.total.larger();
        let min_percent = settings.tree.min_percent.unwrap_or(MIN_PERCENT);
        let mut nodes: Vec<_> =
            (0..).zip(calls.functions()).map(|(n, (name, weight))| (n, name, weight)).collect();
        let all = nodes.len();
        nodes.retain(|(_, _, weight)| percent(weight.total.larger(), whole) >= min_percent);
        nodes.sort_by_key(|&(_, name, weight)| (Reverse(weight.total.larger()), name));
        nodes.truncate(settings.table.limit.unwrap_or(MOST_NODES));
        let mut kept: Vec<Function> = nodes.iter().map(|&(n, _, _)| n).collect();
        kept.sort_unstable();
        let is_kept = |function: Function| kept.binary_search(&function).is_ok();
        let heavy = |call: &Call| percent(call.total.larger(), whole) >= EDGE_PART * min_percent;
        let mut edges: Vec<(Function, Call)> = calls
            .calls()
            .filter(|call| heavy(call) && is_kept(call.callee))
            .filter_map(|call| call.caller.filter(|&caller| is_kept(caller)).map(|caller| (caller, call)))
            .collect();
        let ends = |caller, call: &Call| (calls.name(caller), calls.name(call.callee));
        edges.sort_by_key(|(caller, call)| (Reverse(call.total.larger()), ends(*caller, call)));
        let mut largest_change = size(change(summary.total)?);
        for (_, _, weight) in &nodes {
            largest_change = largest_change.max(size(change(weight.total)?));
        }
        let amounts = Amounts::new(&summary.facts);
        Ok(Graph { settings, summary, amounts, left_out: all - nodes.len(), nodes, edges, largest_change })
    }

    fn caption(&self, title: &str) -> Result<String> {
        let total = self.amounts.total(self.summary.columns, self.settings.shown_both(self.summary.total)?);
        let left_out = match self.left_out {
            0 => String::new(),
            1 => ", one lighter function left out".to_owned(),
            n => format!(", {n} lighter functions left out"),
        };
        let warnings = self.summary.facts.warnings.iter();
        let warnings: String =
            warnings.map(|warning| format!("\nwarning: {}", printable(warning.as_bytes()))).collect();
        Ok(format!("{title}\n{total}{left_out}{warnings}"))
    }

    fn node(&self, name: &[u8], weight: Cell<Weights>) -> Result<String> {
        let name = printable(name);
        let lines = match self.summary.columns {
            Columns::One => format!(
                "{}\n{} ({}) of {} ({})",
                fit(&name, LONGEST_NAME, Cut::Start),
                self.amounts.cell(self.settings.shown(weight.own.value)?),
                self.share(weight.own),
                self.amounts.cell(self.settings.shown(weight.total.value)?),
                self.share(weight.total)
            ),
            Columns::Two => format!(
                "{}\n{} ({} pp) of {} ({} pp)",
                fit(&name, LONGEST_NAME, Cut::Start),
                self.amounts.change(self.settings.shown(change(weight.own)?)?),
                points(weight.own, self.summary.total),
                self.amounts.change(self.settings.shown(change(weight.total)?)?),
                points(weight.total, self.summary.total)
            ),
        };
        let part = percent(weight.own.larger(), self.summary.total.larger()) / 100.0;
        let size = 10.0 + 40.0 * part.sqrt();
        let colour = self.colour(weight.total)?;
        Ok(format!(
            "label={}, tooltip={}, fontsize={size:.1}, fillcolor=\"{colour}\"",
            quoted(&lines),
            quoted(&name)
        ))
    }

    fn edge(&self, total: Weights) -> Result<String> {
        let part = percent(total.larger(), self.summary.total.larger()) / 100.0;
        let label = match self.summary.columns {
            Columns::One => self.amounts.cell(self.settings.shown(total.value)?),
            Columns::Two => self.amounts.change(self.settings.shown(change(total)?)?),
        };
        let (width, weight) = (1.0 + 5.0 * part, 1 + (100.0 * part) as u32);
        Ok(format!("label={}, penwidth={width:.2}, weight={weight}", quoted(&format!(" {label}"))))
    }

    fn share(&self, weights: Weights) -> String {
        share(weights.value, self.summary.total.value)
    }

    fn colour(&self, total: Weights) -> Result<String> {
        Ok(match self.summary.columns {
            Columns::One => {
                let part = percent(total.value, self.summary.total.value) / 100.0;
                // From nearly white to a red on which black is read.
                let other = (245.0 - 105.0 * part.sqrt()).round() as u8;
                format!("#f5{other:02x}{other:02x}")
            }
            Columns::Two => {
                self.settings.picture.colours.change(change(total)?, self.largest_change).to_string()
            }
        })
    }
}

/// A string as graphviz reads it; a backslash would be an escape, `\N` even a name.
fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for c in text.chars() {
        match c {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            '\n' => quoted.push_str("\\n"),
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}
