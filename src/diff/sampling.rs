//! The samples of a side, and the source of the spread that changes are compared with.

use crate::weight::Weight;

/// The samples of a side.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Sampling {
    /// The number of recordings.
    pub runs: usize,
    /// The weight of all of them, as recorded.
    pub total: Weight,
    /// The number of samples they hold together.
    pub samples: f64,
    /// The weight of a sample.
    pub period: Weight,
    /// True if that was given or counted; otherwise it is a careful guess.
    pub period_known: bool,
    /// The number of independent samples that would tell as much: fewer than `samples` if the program
    /// has phases. Equal to `samples` if independence was assumed.
    pub worth: f64,
    /// The source of the spread that changes are compared with.
    pub spread: Spread,
}

/// The source of the spread that changes are compared with: how much a recording of the same program
/// may differ from another.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Spread {
    /// One recording a side without times: samples were assumed to be independent.
    #[default]
    Assumed,
    /// One recording a side: the spread between blocks of time within each.
    Blocks,
    /// Several recordings a side: the spread between them.
    Runs,
}
