//! The options of a differential graph: whose weights are drawn, and which changes are more than
//! noise. [`crate::diff`] judges them.

use crate::diff::ReportOptions;
use crate::weight::Weight;

/// The weights that are the widths of a differential graph.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Widths {
    /// Those after: what vanished is not drawn.
    #[default]
    After,
    /// Those before: what is new is not drawn.
    Before,
    /// The larger one of each stack: everything is drawn.
    Union,
}

/// Every choice of widths, by its name on the command line.
pub const WIDTHS: &[(&str, Widths)] =
    &[("after", Widths::After), ("before", Widths::Before), ("union", Widths::Union)];

/// The options of a differential graph.
#[derive(Clone, Debug, PartialEq)]
pub struct Comparison {
    /// The weights that are drawn.
    pub widths: Widths,
    /// Frames have the colour of their self weight's change.
    pub own: bool,
    /// The accepted probability of taking noise for a change.
    pub alpha: f64,
    /// The least change that is no noise, in percentage points of the profile.
    pub min_effect: f64,
    /// The weight of a sample, if it is known.
    pub period: Option<Weight>,
}

impl Default for Comparison {
    fn default() -> Self {
        let ReportOptions { alpha, min_effect, .. } = ReportOptions::default();
        Comparison { widths: Widths::After, own: false, alpha, min_effect, period: None }
    }
}

impl Comparison {
    /// Returns true if changes are judged by the limits of fg-diff.
    pub(super) fn has_usual_limits(&self) -> bool {
        let Comparison { alpha, min_effect, period, .. } = Comparison::default();
        (self.alpha, self.min_effect, self.period) == (alpha, min_effect, period)
    }

    /// The options of the report that names the functions to colour.
    pub(super) fn report_options(&self) -> ReportOptions {
        let Comparison { alpha, min_effect, period, .. } = *self;
        ReportOptions { alpha, min_effect, period, ..ReportOptions::default() }
    }
}
