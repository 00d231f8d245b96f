//! The samples that weights stand for which were added up before: those of folded text, of our own JSON and of pages.

use crate::collapse::Report;
use crate::folded::Weights;
use crate::profile::Facts;
use crate::weight::Weight;

/// Counts samples where the facts of the input say what one of them weighs, else stacks.
#[derive(Default)]
pub(crate) struct SampleCount {
    is_unknown: bool,
}

impl SampleCount {
    /// The samples that a stack stands for, on both sides.
    pub(crate) fn of(&mut self, weights: Weights, facts: &Facts) -> Weights {
        let Weights { value, before } = weights;
        Weights { value: self.side(value, facts), before: self.side(before, facts) }
    }

    fn side(&mut self, weight: Weight, facts: &Facts) -> Weight {
        if weight.is_zero() {
            return Weight::ZERO;
        }
        facts.samples_in(weight).map_or_else(
            || {
                self.is_unknown = true;
                Weight::ONE
            },
            Weight::from,
        )
    }

    /// Says that stacks were counted, if any were.
    pub(crate) fn finish(self, report: &mut Report) {
        if self.is_unknown {
            report.note(
                "stacks are counted, not samples: the input does not say what a sample weighs, as a line \
                 `# unit: samples` or `# period: 10 ms` in front of it would",
            );
        }
    }
}
