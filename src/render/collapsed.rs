//! `collapsed`: folded text again: each stack once, in frame order, below a header with the facts.
//!
//! ```text
//! # unit: ns
//! main 1
//! main;parse 40
//! ```

use super::format::takes;
use super::writer::{Finished, Target, Writer};
use super::{Format, Settings};
use crate::error::Result;
use crate::folded::{Columns, Frame, Known, Visitor, WalkSummary, Weights, put_stack};
use crate::profile::header;

/// The format.
pub const FORMAT: Format = Format {
    name: "collapsed",
    endings: &["folded", "collapsed"],
    about: "folded stacks again, each once, sorted",
    takes: &[takes::UNIT, &["no-header"]],
    streams: true,
    open: |settings, target| {
        Ok(Box::new(Collapsed { settings, target, columns: Columns::One, line: Vec::new() }))
    },
};

struct Collapsed<'a> {
    settings: &'a Settings,
    target: &'a mut dyn Target,
    columns: Columns,
    line: Vec<u8>,
}

impl Visitor for Collapsed<'_> {
    fn follows_stacks(&self) -> bool {
        true
    }

    fn begin(&mut self, known: &Known<'_>) -> Result<()> {
        self.columns = known.columns;
        if !self.settings.header {
            return Ok(());
        }
        let mut facts = known.facts.clone();
        facts.differential = known.columns == Columns::Two;
        Ok(self.target.write_all(header::write(&facts).as_bytes())?)
    }

    fn stack(&mut self, stack: &[u8], weights: Weights) -> Result<()> {
        let weights = self.settings.shown_both(weights)?;
        self.line.clear();
        put_stack(stack, &mut self.line);
        if self.columns == Columns::Two {
            self.line.push(b' ');
            weights.before.write_to(&mut self.line);
        }
        self.line.push(b' ');
        weights.value.write_to(&mut self.line);
        self.line.push(b'\n');
        Ok(self.target.write_all(&self.line)?)
    }

    fn exit(&mut self, _: Frame<'_>, _: Weights) -> Result<()> {
        Ok(())
    }

    fn restart(&mut self) -> Result<()> {
        self.target.start_over()
    }
}

impl Writer for Collapsed<'_> {
    fn finish(self: Box<Self>, _: &WalkSummary) -> Result<Finished> {
        Ok(Finished::default())
    }
}
