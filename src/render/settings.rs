//! What a run of the renderer was asked for, whatever the format.

use super::Options;
use super::compare::Comparison;
use crate::error::Result;
use crate::folded::{WalkSummary, Weights};
use crate::weight::Weight;

/// What is written, and how. Each format takes of it what concerns it.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// How a picture is to look.
    pub picture: Options,
    /// What is shown of differential input.
    pub comparison: Comparison,
    /// The weight of a picture's whole width, if more than all stacks weigh.
    pub total: Option<Weight>,
    /// Every weight is shown multiplied by this.
    pub factor: Weight,
    /// What weights count; `None` is what the input says, or samples.
    pub unit: Option<String>,
    /// New names get colours that are handed back, to be kept for the next picture.
    pub keep_colours: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            picture: Options::default(),
            comparison: Comparison::default(),
            total: None,
            factor: Weight::ONE,
            unit: None,
            keep_colours: false,
        }
    }
}

impl Settings {
    /// What weights count.
    pub fn unit<'a>(&'a self, summary: &'a WalkSummary) -> &'a str {
        self.unit.as_deref().or(summary.unit.as_deref()).unwrap_or("samples")
    }

    /// A weight as it is to be shown.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Overflow`].
    pub fn shown(&self, weight: Weight) -> Result<Weight> {
        if self.factor == Weight::ONE { Ok(weight) } else { weight.times(self.factor) }
    }

    /// Weights as they are to be shown.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Overflow`].
    pub fn shown_both(&self, weights: Weights) -> Result<Weights> {
        Ok(Weights { value: self.shown(weights.value)?, before: self.shown(weights.before)? })
    }
}
