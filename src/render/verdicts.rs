//! The verdicts on a differential profile, for every output: those that its facts state, or those of its two columns.

use std::collections::HashMap;

use super::Settings;
use super::compare::Comparison;
use crate::diff::columns::ColumnJudge;
use crate::error::Result;
use crate::facts::{ChangedFunction, Facts, Findings};
use crate::folded::{Columns, ForkedVisitor, Frame, Known, Visitor, WalkSummary, Weights};
use crate::weight::Weight;

/// Tells the outputs the facts as the settings have them stated, and judges beside them what they draw.
pub(super) struct Judging<'s, 'v> {
    settings: &'s Settings,
    pub(super) visitor: &'v mut dyn Visitor,
    judge: Option<ColumnJudge>,
    reversed: Vec<u8>,
}

impl<'s, 'v> Judging<'s, 'v> {
    pub(super) fn new(settings: &'s Settings, visitor: &'v mut dyn Visitor) -> Self {
        Judging { settings, visitor, judge: None, reversed: Vec::new() }
    }

    /// States the verdicts among the facts of the walk. Those that the input states hold unless other limits are
    /// asked for.
    pub(super) fn finish(self, summary: &mut WalkSummary) -> Result<()> {
        let comparison = &self.settings.comparison;
        if !comparison.alpha.is_finite() {
            summary.facts.findings = None;
        } else if let Some(judge) = self.judge
            && (summary.facts.findings.is_none() || !comparison.has_usual_limits())
        {
            summary.facts.findings = judge.finish(&summary.facts)?.map(Box::new);
        }
        Ok(())
    }

    fn begin_judging(&mut self, columns: Columns) {
        let options = self.settings.comparison.report_options();
        let wanted = columns == Columns::Two && self.settings.comparison.alpha.is_finite();
        self.judge = wanted.then(|| ColumnJudge::new(options));
    }
}

impl Visitor for Judging<'_, '_> {
    fn follows_stacks(&self) -> bool {
        self.judge.is_some() || self.visitor.follows_stacks()
    }

    fn begin(&mut self, known: &Known<'_>) -> Result<()> {
        self.begin_judging(known.columns);
        self.visitor.begin(&Known { facts: &self.settings.facts(known.facts)?, ..*known })
    }

    fn enter(&mut self, name: &[u8], depth: usize) -> Result<()> {
        self.visitor.enter(name, depth)
    }

    fn stack(&mut self, stack: &[u8], weights: Weights) -> Result<()> {
        if let Some(judge) = &mut self.judge {
            let shown = self.settings.shown_both(weights)?;
            if self.settings.rewrite.reverse {
                self.reversed.clear();
                for frame in stack.rsplit(|&byte| byte == b';') {
                    self.reversed.extend_from_slice(frame);
                    self.reversed.push(b';');
                }
                self.reversed.pop();
                judge.add(&self.reversed, shown)?;
            } else {
                judge.add(stack, shown)?;
            }
        }
        self.visitor.stack(stack, weights)
    }

    #[inline]
    fn exit(&mut self, frame: Frame<'_>, so_far: Weights) -> Result<()> {
        self.visitor.exit(frame, so_far)
    }

    fn least(&self, all: Weights) -> Weight {
        self.visitor.least(all)
    }

    fn passed_over(&mut self, frames: u64) {
        self.visitor.passed_over(frames);
    }

    fn fork(&self) -> Option<Box<dyn ForkedVisitor>> {
        self.visitor.fork()
    }

    fn join(&mut self, fork: Box<dyn ForkedVisitor>, offset: Weights) -> Result<()> {
        self.visitor.join(fork, offset)
    }

    fn restart(&mut self) -> Result<()> {
        self.judge = None;
        self.visitor.restart()
    }
}

/// The verdicts on frames: each frame has that of its function.
pub(super) struct FrameVerdicts<'j> {
    judged: Option<HashMap<&'j str, &'j ChangedFunction>>,
    own: bool,
}

impl<'j> FrameVerdicts<'j> {
    /// Those that the facts state, on self weights if those are compared.
    pub(super) fn of(facts: &'j Facts, comparison: &Comparison) -> Self {
        FrameVerdicts { judged: facts.findings.as_deref().map(Findings::by_name), own: comparison.own }
    }

    /// Returns true if the function of this name changed significantly, or nothing was judged.
    pub(super) fn is_sure(&self, name: &[u8]) -> bool {
        let Some(judged) = &self.judged else { return true };
        let name = String::from_utf8_lossy(name);
        let function = judged.get(&*name);
        function
            .is_some_and(|function| if self.own { function.own.is_some() } else { function.total.is_some() })
    }
}
