//! FreeBSD's `pmcstat -G FILE`: the callers of each function, drawn as a tree.
//!
//! ```text
//! @ CPU_CLK_UNHALTED_CORE [201 samples]
//!
//! 48.26%  [97]       fib @ /home/user/orders
//!  98.97%  [96]       run
//!   100.0%  [96]       main
//!  01.03%  [1]        idle
//! ```
//! A blank for each level in front of the share, and the executable where it is another one than in the line before;
//! the first level is the function that ran, below it are its callers.
//! The count of a line beyond those below it is that of stacks that begin there. pmcstat leaves out functions of a few
//! samples. A file may hold the trees of several events. Made in `pmcpl_callgraph.c` of FreeBSD.

use std::collections::BTreeMap;

use crate::collapse::kit::forest::Budget;
use crate::collapse::kit::names::FrameNames;
use crate::collapse::kit::text::{Text, split_digits, split_first, split_last};
use crate::collapse::kit::values::ValueTotal;
use crate::collapse::{
    Certainty, CollapseOptions, Collapser, Context, FormatInfo, Reading, Report, Sink, Tested, Value,
    ValueSelection,
};
use crate::error::{Error, Result};
use crate::folded::{FrameId, Place, Weights, sanitize_frame};
use crate::input::{Input, lines};
use crate::number;
use crate::weight::Weight;

const INFO: FormatInfo = FormatInfo {
    name: "pmcstat",
    producer: "pmcstat -R samples.out -G FILE",
    tested: Tested::ByDescription("documented output, as speedscope 1.25 reads it"),
    values: "the events",
    unit: "samples",
};

/// Collapses pmcstat's call graphs.
pub struct Pmcstat;

impl Collapser for Pmcstat {
    fn info(&self) -> &'static FormatInfo {
        &INFO
    }

    fn detect(&self, head: &[u8]) -> Certainty {
        let mut lines = lines(head).filter(|line| !line.is_empty());
        let found = lines.next().is_some_and(|line| heading(line.trim_ascii_end()).is_some());
        if found { Certainty::Yes } else { Certainty::No }
    }

    fn collapse(
        &self,
        input: Input,
        reading: &Reading<'_>,
        sink: &mut dyn Sink,
        report: &mut Report,
    ) -> Result<()> {
        let mut graph = Graph {
            options: reading,
            first: reading.first_value.clone(),
            events: BTreeMap::new(),
            event: None,
            image: Vec::new(),
            names: FrameNames::default(),
            levels: Vec::new(),
            budget: Budget::default(),
        };
        Text::new(input).for_each(report, |line| {
            if let Some(name) = heading(line) {
                graph.begin(name, sink)?;
            } else if let Some(node) = node(line).filter(|_| graph.event.is_some()) {
                graph.line(node, sink)?;
            } else {
                return Ok(line.is_empty());
            }
            Ok(true)
        })?;
        graph.close(0, sink)?;
        report.first_value = graph.first;
        let mut events = graph.events.into_iter();
        events.try_for_each(|(name, total)| report.add_value(Value::new(name, "samples"), total))
    }
}

/// The event of `@ CPU_CLK_UNHALTED_CORE [201 samples]`.
fn heading(line: &[u8]) -> Option<&[u8]> {
    let (name, count) = split_last(line.strip_prefix(b"@ ")?.strip_suffix(b" samples]")?, b" [")?;
    (!count.is_empty() && count.iter().all(u8::is_ascii_digit)).then_some(name)
}

/// A line of the tree.
#[derive(Clone, Copy)]
struct Node<'l> {
    depth: usize,
    samples: u64,
    name: &'l [u8],
    image: &'l [u8],
}

/// ` 98.97%  [96]       run @ /home/user/orders`
fn node(line: &[u8]) -> Option<Node<'_>> {
    let rest = line.trim_ascii_start();
    let depth = line.len() - rest.len();
    let share = rest.iter().take_while(|b| b.is_ascii_digit() || **b == b'.').count();
    let (samples, rest) =
        split_digits(rest[share..].strip_prefix(b"%")?.trim_ascii_start().strip_prefix(b"[")?);
    let text = rest.strip_prefix(b"]")?.trim_ascii();
    let (name, image) = split_first(text, b" @ ").unwrap_or((text, b""));
    let samples = number::parse(samples)?;
    (share > 0 && !name.is_empty()).then_some(Node { depth, samples, name, image })
}

/// The trees of the events.
struct Graph<'o> {
    options: &'o CollapseOptions,
    /// The event that is kept by default.
    first: Option<Vec<u8>>,
    events: BTreeMap<Vec<u8>, ValueTotal>,
    event: Option<Vec<u8>>,
    /// The executable that was named last.
    image: Vec<u8>,
    names: FrameNames,
    /// The functions from the one that ran to the caller that was read last.
    levels: Vec<Level>,
    budget: Budget,
}

struct Level {
    frame: FrameId,
    samples: u64,
    /// Those of its callers.
    above: u64,
}

impl Graph<'_> {
    /// The tree of an event begins.
    fn begin(&mut self, event: &[u8], sink: &mut dyn Sink) -> Result<()> {
        self.close(0, sink)?;
        let kept = self.options.values.keeps_event(event, &mut self.first);
        self.events.entry(event.to_vec()).or_default().kept = kept;
        self.event = Some(event.to_vec());
        Ok(())
    }

    fn line(&mut self, node: Node<'_>, sink: &mut dyn Sink) -> Result<()> {
        if node.depth > self.levels.len() {
            return Err(Error::malformed("a caller one level below the function before", node.name));
        }
        self.close(node.depth, sink)?;
        self.budget.check(node.depth + 1)?;
        if let Some(callee) = self.levels.last_mut() {
            callee.above = callee.above.saturating_add(node.samples);
        }
        if !node.image.is_empty() {
            let file = node.image.rsplit(|&b| b == b'/').next().unwrap_or_default();
            file.clone_into(&mut self.image);
        }
        let place = Place { module: &self.image, ..Place::default() };
        let frame = self.names.build_at(&place, sink, |out| sanitize_frame(node.name, out));
        self.levels.push(Level { frame, samples: node.samples, above: 0 });
        Ok(())
    }

    /// Ends the levels from one on: what each counts beyond its callers are stacks that begin there.
    fn close(&mut self, depth: usize, sink: &mut dyn Sink) -> Result<()> {
        while self.levels.len() > depth {
            let stack = self.levels.iter().rev().map(|level| level.frame);
            let Some((last, event)) = self.levels.last().zip(self.event.as_ref()) else { break };
            let own = last.samples.saturating_sub(last.above);
            let Some(total) = self.events.get_mut(event).filter(|_| own > 0) else {
                self.levels.pop();
                continue;
            };
            total.samples = total.samples.saturating_add(own);
            total.weight = total.weight.checked_add(Weight::from(own))?;
            if total.kept {
                self.budget.spend(self.levels.len())?;
                let root = matches!(self.options.values, ValueSelection::All);
                let root = root.then(|| self.names.plain(event, sink));
                let stack: Vec<FrameId> = root.into_iter().chain(stack).collect();
                sink.sample(&stack, Weights::one(Weight::from(own)), &Context::UNKNOWN)?;
            }
            self.levels.pop();
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::collapse::tests::{collapse_bytes, fold};

    const GRAPH: &str = "@ CPU_CLK [201 samples]\n\n48.26%  [97]       fib; @ /home/user/orders\n 98.97%  [96]        run\n  \
                         51.0%  [49]        main\n 00.50%  [1]        idle @ /boot/kernel/kernel\n100.0%  [4]        solo\n\n\
                         @ LLC_MISSES [7 samples]\n\n100.0%  [7]        fib\n 100.0%  [7]        run\n";

    #[test]
    fn callers_are_rootward() {
        assert_eq!(Pmcstat.detect(GRAPH.as_bytes()), Certainty::Yes);
        let (out, report) = collapse_bytes(&Pmcstat, GRAPH, &CollapseOptions::default()).unwrap();
        assert_eq!(out, "idle;fib: 1\nmain;run;fib: 49\nrun;fib: 47\nsolo 4\n");
        let totals: Vec<_> = report.values.values().map(|total| (total.samples, total.kept)).collect();
        assert_eq!(totals, [(101, true), (7, false)]);
        let all = CollapseOptions { values: ValueSelection::All, ..CollapseOptions::default() };
        assert!(fold(&Pmcstat, GRAPH, &all).ends_with("CPU_CLK;solo 4\nLLC_MISSES;run;fib 7\n"));
    }

    #[test]
    fn levels_that_are_left_out_are_an_error() {
        let error =
            collapse_bytes(&Pmcstat, "@ X [1 samples]\n  100.0%  [1]  f\n", &CollapseOptions::default());
        let error = error.unwrap_err().to_string();
        assert!(error.starts_with("test:2: expected a caller one level below"), "{error}");
        let (_, report) =
            collapse_bytes(&Pmcstat, "@ X [1 samples]\nhello\n", &CollapseOptions::default()).unwrap();
        assert_eq!(report.not_understood.count, 1);
    }
}
