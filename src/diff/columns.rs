//! Judges a profile of two columns: one recording a side, of which no times are known.
//!
//! Several runs and times of samples tell more: fg-diff, which has them, states its verdicts as facts of the profile, the
//! [`Findings`].

use super::net::Calls;
use super::options::ReportOptions;
use super::report::Report;
use super::run_weights::RunWeights;
use super::survey::Survey;
use crate::error::Result;
use crate::facts::{Facts, Findings};
use crate::folded::Weights;
use crate::tally::RowKind;
use crate::weight::Weight;

/// One of the two columns.
struct Column {
    weights: RunWeights,
    survey: Survey,
}

impl Column {
    fn new() -> Column {
        Column { weights: RunWeights::new(RowKind::Function, 1), survey: Survey::default() }
    }

    fn add(&mut self, stack: &[u8], weight: Weight) -> Result<()> {
        if weight.is_zero() {
            return Ok(());
        }
        self.survey.lines += 1;
        self.survey.total = self.survey.total.checked_add(weight)?;
        self.survey.sample_weight.note(weight);
        self.weights.add(stack, weight)
    }
}

/// Adds up the stacks of two columns, and judges them as two recordings.
pub(crate) struct ColumnJudge {
    options: ReportOptions,
    sides: [Column; 2],
    cut: Vec<u8>,
    named: Vec<u8>,
}

impl ColumnJudge {
    /// No stacks yet.
    pub(crate) fn new(options: ReportOptions) -> ColumnJudge {
        let sides = [Column::new(), Column::new()];
        ColumnJudge { options, sides, cut: Vec::new(), named: Vec::new() }
    }

    /// Adds a stack. Any order gives the same sums; frame order is fastest.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Overflow`].
    pub(crate) fn add(&mut self, stack: &[u8], weights: Weights) -> Result<()> {
        let stack = self.options.plain(stack, &mut self.cut, &mut self.named);
        let [before, after] = &mut self.sides;
        before.add(stack, weights.before)?;
        after.add(stack, weights.value)
    }

    /// The verdicts; `None` if a side weighs nothing, so that there is nothing to compare.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Overflow`].
    pub(crate) fn finish(self, facts: &Facts) -> Result<Option<Findings>> {
        let [mut before, mut after] = self.sides;
        if before.survey.total <= Weight::ZERO || after.survey.total <= Weight::ZERO {
            return Ok(None);
        }
        let (of_before, of_after) = match &facts.sides {
            Some(sides) => (&sides.before, &sides.after),
            None => (facts, facts),
        };
        before.survey.facts = of_before.clone();
        after.survey.facts = of_after.clone();
        let weights = RunWeights::of_sides(before.weights, after.weights)?;
        let totals = (before.survey.total, after.survey.total);
        let surveys = (&[before.survey][..], &[after.survey][..]);
        let mut calls = |names: &[Vec<u8>]| Ok(Calls::of(names, 2));
        let report = Report::new(&weights, surveys, totals, &self.options, &mut calls)?;
        Ok(Some(Report { facts: facts.clone(), ..report }.findings()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Profile;
    use crate::diff::Diff;

    #[test]
    fn two_columns_are_judged_as_the_two_recordings_are() {
        let text = |columns: [&str; 2]| {
            let [before, after] = columns;
            let facts = "# unit: samples\n";
            (format!("{facts}{before}"), format!("{facts}{after}"))
        };
        let (before, after) = text([
            "main;a 901\nmain;a;b 4000\nmain;c 5000\nmain;c;asm_sysvec_x_[k];d 103\nmain;gone 300\n",
            "main;a 2903\nmain;a;b 4010\nmain;c 5000\nmain;c;asm_sysvec_x_[k];d 901\nmain;new 300\n",
        ]);
        let profiles = [before, after].map(|text| Profile::from_bytes(text).unwrap());
        let diff = Diff::new(&profiles[0], &profiles[1]);
        let wanted = diff.report().unwrap().findings();
        let joined = diff.profile().unwrap();
        let mut judge = ColumnJudge::new(ReportOptions::default());
        joined.stacks().for_each(&mut |stack: &[u8], weights: Weights| judge.add(stack, weights)).unwrap();
        let found = judge.finish(joined.facts()).unwrap().unwrap();
        assert_eq!(found, wanted);
        assert!(found.changed.iter().any(|function| function.name == "a"), "{found:?}");
        let nothing = ColumnJudge::new(ReportOptions::default()).finish(&Facts::default()).unwrap();
        assert_eq!(nothing, None);
    }
}
