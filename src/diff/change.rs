//! The change of one function, or of the whole: weights, shares, and the test of both.

use super::detectable::Detectable;
use crate::error::Result;
use crate::significance::Test;
use crate::weight::Weight;

/// A weight before and after.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Change {
    /// Before, normalised; the mean of several runs.
    pub before: Weight,
    /// After, likewise.
    pub after: Weight,
    /// Its share of the profile before, 0 to 1.
    pub share_before: f64,
    /// Its share of the profile after.
    pub share_after: f64,
    /// The test of the share, its interval in percentage points; `None` if there are too few samples to
    /// test, and for the whole, whose share is always 100%.
    pub share: Option<Test>,
    /// The test of the weight, its interval in percent of the weight before; `None` if it was not tested.
    pub weight: Option<Test>,
    /// The probability of a change as sure by chance alone, of share and weight together, adjusted for the
    /// number of tests; `None` if neither was tested.
    pub p: Option<f64>,
    /// True if it is significant: more than noise, and large enough.
    pub significant: bool,
    /// True if its share changed significantly, and not only its weight.
    pub share_significant: bool,
    /// True if samples alone would make it significant, and one run a side does not: functions of other programs
    /// differ as much from run to run.
    pub suspected: bool,
    /// Half of the 95% interval of the mean of the runs of each side, in percent of it; `None` of one run.
    pub variation: (Option<f64>, Option<f64>),
    /// The smallest change that would have been found; `None` if it was not tested.
    pub detectable: Option<Detectable>,
}

impl Change {
    /// After less before.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Overflow`].
    pub fn difference(&self) -> Result<Weight> {
        self.after.checked_sub(self.before)
    }

    /// The change in percent; `None` for what was not there before.
    pub fn percent(&self) -> Option<f64> {
        let (before, after) = (self.before.to_f64(), self.after.to_f64());
        (before != 0.0).then(|| 100.0 * (after - before) / before)
    }

    /// Returns true if it is significant or suspected.
    pub fn stands_out(&self) -> bool {
        self.significant || self.suspected
    }

    /// The change of the share, in percentage points.
    pub fn points(&self) -> f64 {
        100.0 * (self.share_after - self.share_before)
    }
}

/// The change of a function, or of whatever the report has rows for.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Row {
    /// Its name.
    pub name: Vec<u8>,
    /// The weight of stacks that end in it.
    pub own: Change,
    /// The weight of stacks through it.
    pub total: Change,
    /// The self weight with that of the functions that it calls on one side only, where self weight grew and there
    /// are such functions: one that takes in the code of another, or gives some away, costs no more by that.
    pub net: Option<Change>,
}

/// The sides on which a function is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Presence {
    /// On both sides.
    Both,
    /// Not before.
    New,
    /// Not after.
    Gone,
}

impl Row {
    /// Returns true if its self or its total weight changed significantly.
    pub fn is_significant(&self) -> bool {
        self.own.significant || self.total.significant
    }

    /// Returns true if its self or its total weight is [suspected](Change::suspected) to have changed, and neither is known
    /// to.
    pub fn is_suspected(&self) -> bool {
        !self.is_significant() && (self.own.suspected || self.total.suspected)
    }

    /// Returns true if it is named and has a colour: its change is significant or suspected.
    pub fn stands_out(&self) -> bool {
        self.own.stands_out() || self.total.stands_out()
    }

    /// The sides on which it is.
    pub fn presence(&self) -> Presence {
        match (self.total.before.is_zero(), self.total.after.is_zero()) {
            (true, false) => Presence::New,
            (false, true) => Presence::Gone,
            _ => Presence::Both,
        }
    }

    /// The significant change of the two, or else the suspected one; that in self weight if both are, or none.
    pub fn leading(&self) -> &Change {
        let rank = |change: &Change| (change.significant, change.suspected);
        if rank(&self.total) > rank(&self.own) { &self.total } else { &self.own }
    }
}
