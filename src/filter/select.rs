//! Copies the lines whose stack a pattern matches, or does not match. Memory is one block.

use std::io::Write;

use super::pattern::Pattern;
use super::run::{Filtered, RunOptions, StackCount};
use super::scan::{Comments, Flow, StackLine, Visitor, scan};
use crate::error::Result;
use crate::folded::Weights;
use crate::input::Source;

/// Reads folded files one after the other and writes the lines whose stack is wanted, unchanged
/// and in their order.
pub(super) fn select(
    sources: &[Source],
    pattern: &Pattern,
    options: &RunOptions,
    out: &mut dyn Write,
) -> Result<Filtered> {
    let mut selector = Selector { options, kept: StackCount::default(), dropped: StackCount::default() };
    let scanned = scan(sources, Some(pattern), out, &mut selector)?;
    let Selector { kept, dropped, .. } = selector;
    let facts = scanned.facts.without_counts();
    Ok(Filtered {
        came: kept.checked_add(dropped)?,
        kept,
        dropped,
        columns: scanned.columns,
        unit_came: facts.unit.clone(),
        facts,
        not_understood: scanned.not_understood,
        steps: Vec::new(),
    })
}

struct Selector<'o> {
    options: &'o RunOptions,
    kept: StackCount,
    dropped: StackCount,
}

impl Visitor for Selector<'_> {
    fn comments(&self) -> Comments {
        if self.options.header { Comments::Copy } else { Comments::Drop }
    }

    #[inline]
    fn stack(&mut self, line: StackLine<'_>) -> Result<Flow> {
        let keep = line.matched != self.options.invert;
        let weights = if self.options.weigh { line.weights() } else { Weights::default() };
        let count = if keep { &mut self.kept } else { &mut self.dropped };
        count.note(weights)?;
        Ok(match keep {
            true if self.options.first_only => Flow::Stop,
            true => Flow::Keep,
            false => Flow::Drop,
        })
    }
}
