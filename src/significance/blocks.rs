//! The spread within one recording: batch means over blocks of time.
//!
//! Samples of one phase of a program are no independent samples: a phase of twenty milliseconds is one
//! event, however often it was sampled. Cut into blocks of time, a recording shows how much the share of
//! a function changes from block to block.

use super::Count;
use super::moderated::by_t;
use super::{Test, compare_shares};

/// The number of blocks of a recording: enough for a good estimate of the variance, and few enough for a
/// block to be longer than most phases.
const BLOCKS: usize = 40;
/// The least number of samples of a block, on average.
const SAMPLES: usize = 5;

/// The least number of blocks: fewer say little about the spread.
const LEAST: usize = 8;

/// The number of blocks of a recording with this many samples at this many different times; 0 if it is too
/// short to be cut.
pub(crate) fn blocks_of(samples: usize, times: usize) -> usize {
    let blocks = BLOCKS.min(samples / SAMPLES).min(times);
    if blocks < LEAST { 0 } else { blocks }
}

/// Sums over the blocks of a recording, of a function's weight in each.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Moments {
    /// The squares of the function's weights.
    pub(crate) squares: f64,
    /// The products of the function's weight and the block's.
    pub(crate) products: f64,
}

impl Moments {
    /// Adds a block: the function's weight, and the weight of all.
    pub(crate) fn add(&mut self, weight: f64, of: f64) {
        self.squares += weight * weight;
        self.products += weight * of;
    }

    /// The variance of the share of the function in the recording.
    pub(crate) fn variance(&self, weight: f64, whole: &Whole) -> f64 {
        let share = weight / whole.weight;
        let residue = self.squares - 2.0 * share * self.products + share * share * whole.squares;
        let blocks = whole.blocks as f64;
        (residue * blocks / (blocks - 1.0) / (whole.weight * whole.weight)).max(0.0)
    }
}

/// The blocks of a recording.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Whole {
    /// The number of blocks.
    pub(crate) blocks: usize,
    /// The weight of all blocks.
    pub(crate) weight: f64,
    /// The squares of the weights of the blocks.
    pub(crate) squares: f64,
}

impl Whole {
    /// Adds a block.
    pub(crate) fn add(&mut self, weight: f64) {
        self.blocks += 1;
        self.weight += weight;
        self.squares += weight * weight;
    }

    /// True if a variance can be told from the blocks.
    pub(crate) fn is_known(&self) -> bool {
        self.blocks > 1 && self.weight > 0.0
    }
}

/// The variance of a share by batch means, and its degrees of freedom.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct BatchVariance {
    /// The variance.
    pub(crate) variance: f64,
    /// One less than the blocks.
    pub(crate) freedom: f64,
}

/// Tests whether two shares differ, by [`compare_shares`] and by the spread within the recordings; the
/// more careful one is believed.
pub(crate) fn compare_in_blocks(
    (before, after): (Count, Count),
    (a, b): (BatchVariance, BatchVariance),
    alpha: f64,
) -> Test {
    let alone = compare_shares(before, after, alpha);
    let variance = a.variance + b.variance;
    if variance <= 0.0 {
        return alone;
    }
    let freedom = welch_freedom((a.variance, a.freedom), (b.variance, b.freedom));
    let batch = by_t(after.share() - before.share(), variance.sqrt(), freedom, alpha);
    let wider = if batch.deviation > alone.deviation { batch } else { alone };
    Test { p: alone.p.max(batch.p), ..wider }
}

/// Welch and Satterthwaite's degrees of freedom of a sum of variances.
pub(super) fn welch_freedom(a: (f64, f64), b: (f64, f64)) -> f64 {
    (a.0 + b.0).powi(2) / (a.0 * a.0 / a.1 + b.0 * b.0 / b.1)
}
