//! The spread within one recording: batch means over blocks of time.
//!
//! Samples of one phase of a program are no independent samples: a phase of twenty milliseconds is one
//! event, however often it was sampled. Cut into blocks of time, a recording shows how much the share of
//! a function changes from block to block.

use super::Count;
use super::t_test::{by_t, welch_freedom};
use super::{Test, compare_shares};

/// The number of blocks of a recording. With several recordings a side, the spread between them is compared
/// with that between blocks, and many blocks tell that well. With one a side, two neighbours are one block
/// (see [`PER_BLOCK`]).
const BLOCKS: usize = 40;
/// The number of blocks that are taken as one where nothing but blocks tells the spread. A block has to be
/// longer than most phases: one of two phases shows a little more than half of the true variance, one of
/// four phases three quarters. Of recordings of 1.2 s with phases of 20 ms, 20 blocks find as many slowdowns
/// by 30% as 40 or 80 (33 of 36), 10 find fewer (28).
pub(crate) const PER_BLOCK: usize = 2;
/// The least number of samples of a block, on average.
const SAMPLES: usize = 5;
/// The least number of blocks: fewer say little about the spread.
const LEAST: usize = 16;

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

#[cfg(test)]
mod tests {
    use super::*;

    fn cut(weights: &[f64], blocks: &[f64]) -> (Moments, Whole) {
        let (mut moments, mut whole) = (Moments::default(), Whole::default());
        for (weight, block) in weights.iter().zip(blocks) {
            moments.add(*weight, *block);
            whole.add(*block);
        }
        (moments, whole)
    }

    #[test]
    fn even_blocks_have_the_variance_of_their_mean() {
        let weights = [1.0, 4.0, 2.0, 5.0, 3.0];
        let (moments, whole) = cut(&weights, &[10.0; 5]);
        // The unbiased variance of the shares 0.1 to 0.5 is 0.025, that of their mean a fifth of it.
        assert!((moments.variance(15.0, &whole) - 0.005).abs() < 1e-12);
    }

    #[test]
    fn uneven_blocks_count_by_their_weight() {
        // Every block has the same share: no spread, whatever the blocks weigh.
        let (moments, whole) = cut(&[1.0, 10.0, 4.0], &[10.0, 100.0, 40.0]);
        assert!(moments.variance(15.0, &whole).abs() < 1e-12);
        // By hand: residues 2 - 3, 4 - 3, 6 - 6 of 120, and 3 / 2.
        let (moments, whole) = cut(&[2.0, 4.0, 6.0], &[30.0, 30.0, 60.0]);
        assert!((moments.variance(12.0, &whole) - 2.0 * 1.5 / 14_400.0).abs() < 1e-12);
    }

    #[test]
    fn phases_are_no_independent_samples() {
        let counts = (Count { hits: 300.0, of: 1000.0 }, Count { hits: 400.0, of: 1000.0 });
        let by_blocks = |variance: f64| BatchVariance { variance, freedom: 39.0 };
        let binomial = by_blocks(0.3 * 0.7 / 1000.0);
        let calm = compare_in_blocks(counts, (by_blocks(1e-6), by_blocks(1e-6)), 0.05);
        assert_eq!(calm, compare_shares(counts.0, counts.1, 0.05));
        assert!(calm.p < 1e-5);
        let phases = by_blocks(10.0 * binomial.variance);
        let careful = compare_in_blocks(counts, (phases, phases), 0.05);
        // z falls by the root of ten: 0.1 / sqrt(2 * 0.0021) is 1.543, of 78 degrees of freedom.
        assert!((careful.p - 0.1269).abs() < 0.0005, "{careful:?}");
        assert!((careful.freedom - 78.0).abs() < 1e-9 && careful.interval.0 < 0.0);
        assert!((f64::midpoint(careful.interval.0, careful.interval.1) - 0.1).abs() < 1e-12);
        // One side without times is as good as it says.
        let alone = BatchVariance { variance: binomial.variance, freedom: f64::INFINITY };
        assert!((compare_in_blocks(counts, (phases, alone), 0.05).freedom - 39.0 * 1.21).abs() < 1e-9);
    }

    #[test]
    fn short_recordings_have_few_blocks_or_none() {
        assert_eq!([79, 80, 100, 1000].map(|samples| blocks_of(samples, samples)), [0, 16, 20, 40]);
        assert_eq!([blocks_of(1000, 22), blocks_of(1000, 15)], [22, 0]);
    }

    #[test]
    fn two_blocks_that_weigh_something_tell_a_variance() {
        let is_known = |weights: &[f64]| {
            let mut whole = Whole::default();
            weights.iter().for_each(|weight| whole.add(*weight));
            whole.is_known()
        };
        assert!(is_known(&[1.0, 2.0]) && is_known(&[0.0, 1.0]));
        assert!(!is_known(&[]) && !is_known(&[5.0]) && !is_known(&[0.0, 0.0]));
    }

    /// Three hits of a thousand are little to an exact test, however wide the blocks' interval is.
    #[test]
    fn the_larger_probability_holds_beside_the_wider_interval() {
        let counts = (Count { hits: 0.0, of: 1000.0 }, Count { hits: 3.0, of: 1000.0 });
        let blocks = BatchVariance { variance: 2.6e-6, freedom: 1000.0 };
        let test = compare_in_blocks(counts, (blocks, blocks), 0.05);
        assert!((test.deviation - 5.2e-6f64.sqrt()).abs() < 1e-9, "the blocks' interval: {test:?}");
        assert!((test.p - 0.2496).abs() < 0.001, "{test:?}");
    }
}
