//! The options of a report.

use super::jit;
use super::normalize::Normalize;
use crate::tally::RowKind;
use crate::weight::Weight;

/// The options of a [`Report`](super::Report): rows, scale, names, and the limits of significance.
///
/// ```
/// use fg_tools::diff::{Normalize, ReportOptions, Sort};
///
/// let options = ReportOptions::default().normalize(Normalize::BeforeToAfter).alpha(0.05).sort(Sort::Total);
/// assert_eq!(options.min_effect, 0.5);
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ReportOptions {
    /// The kind of rows: functions, stacks, modules, threads.
    pub by: RowKind,
    /// The order of rows.
    pub sort: Sort,
    /// The way in which sides of unlike totals are made comparable.
    pub normalize: Normalize,
    /// A regular expression of frames that weigh the same on both sides, instead of the totals, when
    /// sides are [normalized](ReportOptions::normalize).
    pub normalize_by: Option<String>,
    /// Parts to remove from names, as `fg-filter --strip` has them: `hash,hex`.
    pub strip: Option<String>,
    /// Match functions with a new name by their callers and callees.
    pub match_renamed: bool,
    /// The accepted probability of an alarm without a cause.
    pub alpha: f64,
    /// The least change that is significant, in percentage points of the profile.
    pub min_effect: f64,
    /// The least number of samples, on one side at least, of a function that is tested.
    pub min_samples: f64,
    /// The weight of a sample, if the profiles do not say it.
    pub period: Option<Weight>,
    /// Trip gates on changes that are not significant too.
    pub any_change: bool,
    /// Do not let gates pass that would not have seen a change of their limit.
    pub require_power: bool,
    /// Each run after was recorded in turn with the run before of the same number: compare pairs.
    pub paired: bool,
    /// Both sides are parts of one run: their functions do not differ as runs do.
    pub one_run: bool,
    /// The treatment of frames of preemption and interrupts.
    pub interrupts: Interrupts,
}

impl Default for ReportOptions {
    fn default() -> Self {
        ReportOptions {
            by: RowKind::Function,
            sort: Sort::Own,
            normalize: Normalize::No,
            normalize_by: None,
            strip: None,
            match_renamed: false,
            alpha: 0.01,
            min_effect: 0.5,
            min_samples: 5.0,
            period: None,
            any_change: false,
            require_power: false,
            paired: false,
            one_run: false,
            interrupts: Interrupts::Together,
        }
    }
}

impl ReportOptions {
    /// Returns true if changes are judged by the usual limits, as they are.
    pub(super) fn judge_as_usual(&self) -> bool {
        let ReportOptions { alpha, min_effect, min_samples, .. } = ReportOptions::default();
        (self.alpha, self.min_effect, self.min_samples) == (alpha, min_effect, min_samples)
            && self.period.is_none()
            && self.normalize == Normalize::No
    }

    /// The stack as reports have it: cut at interrupts, with one name for code that was made while the program ran.
    pub(super) fn plain<'s>(
        &self,
        stack: &'s [u8],
        cut: &'s mut Vec<u8>,
        named: &'s mut Vec<u8>,
    ) -> &'s [u8] {
        let stack = self.interrupts.cut(stack, cut).unwrap_or(stack);
        jit::plain(stack, named).unwrap_or(stack)
    }

    /// Sets the kind of rows.
    pub fn by(mut self, by: RowKind) -> Self {
        self.by = by;
        self
    }

    /// Sets the order of rows.
    pub fn sort(mut self, sort: Sort) -> Self {
        self.sort = sort;
        self
    }

    /// Makes sides of unlike totals comparable.
    pub fn normalize(mut self, normalize: Normalize) -> Self {
        self.normalize = normalize;
        self
    }

    /// Normalizes by the frames that match a regular expression: they did not change.
    pub fn normalize_by(mut self, regex: impl Into<String>) -> Self {
        self.normalize_by = Some(regex.into());
        self
    }

    /// Removes parts from names: `hash,hex`.
    pub fn strip(mut self, parts: impl Into<String>) -> Self {
        self.strip = Some(parts.into());
        self
    }

    /// Finds functions with a new name by their callers and callees.
    pub fn match_renamed(mut self, match_renamed: bool) -> Self {
        self.match_renamed = match_renamed;
        self
    }

    /// Sets the accepted probability of an alarm without a cause, above 0 and below 1.
    pub fn alpha(mut self, alpha: f64) -> Self {
        self.alpha = alpha;
        self
    }

    /// Sets the least change that is significant, in percentage points of the profile.
    pub fn min_effect(mut self, points: f64) -> Self {
        self.min_effect = points;
        self
    }

    /// Sets the least number of samples of a function that is tested.
    pub fn min_samples(mut self, samples: f64) -> Self {
        self.min_samples = samples;
        self
    }

    /// Sets the weight of a sample, which has to be above 0.
    pub fn period(mut self, period: Weight) -> Self {
        self.period = Some(period).filter(|period| *period > Weight::ZERO);
        self
    }

    /// Lets gates trip on changes that are not significant too.
    pub fn any_change(mut self, any_change: bool) -> Self {
        self.any_change = any_change;
        self
    }

    /// Does not let gates pass that would not have seen a change of their limit.
    pub fn require_power(mut self, require_power: bool) -> Self {
        self.require_power = require_power;
        self
    }

    /// Compares runs in pairs: each run after was recorded in turn with the run before of the same number, so that
    /// what drifts moved both.
    pub fn paired(mut self, paired: bool) -> Self {
        self.paired = paired;
        self
    }

    /// Compares parts of one run, such as two ranges of its time: their functions do not differ as runs do.
    pub fn one_run(mut self, one_run: bool) -> Self {
        self.one_run = one_run;
        self
    }

    /// Reports frames of preemption and interrupts as one row, or each by its name.
    pub fn interrupts(mut self, interrupts: Interrupts) -> Self {
        self.interrupts = interrupts;
        self
    }
}

/// The treatment of kernel frames of preemption and interrupts, which are the machine's work and not
/// the program's: timer interrupts, the switch to another task, and what they call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Interrupts {
    /// They are one row, named `[interrupts]`.
    #[default]
    Together,
    /// Each function is a row of its own, as in the recording.
    Apart,
}

/// The order of rows. Unless it is the name, significant changes come before all others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Sort {
    /// The change in self weight.
    #[default]
    Own,
    /// The change in total weight.
    Total,
    /// The name.
    Name,
}
