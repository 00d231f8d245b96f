//! Making the two sides weigh the same, exactly.
//!
//! A weight times a ratio is seldom a decimal. So it is the sums that are rounded and not the
//! weights: each stack gets what the rounded sum of all stacks so far grows by. The whole is then
//! exact, and as the stacks of a frame follow one another in frame order, so is every frame's
//! total but for less than one unit of the last digit.

use crate::error::Result;
use crate::weight::Weight;

/// The way in which two sides of unlike totals are made comparable.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Normalize {
    /// Leave weights as they are.
    #[default]
    No,
    /// Scale before to the total of after.
    BeforeToAfter,
    /// Scale after to the total of before.
    AfterToBefore,
    /// Scale both to this total.
    Both(Weight),
}

/// A factor, as a fraction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ratio {
    /// Above the line.
    pub(crate) of: Weight,
    /// Below it.
    pub(crate) over: Weight,
}

impl Ratio {
    /// A factor of one.
    pub(crate) const ONE: Ratio = Ratio { of: Weight::ONE, over: Weight::ONE };

    /// Returns true if it changes nothing.
    pub(crate) fn is_one(self) -> bool {
        self.of == self.over
    }

    /// A weight times the factor, rounded.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Overflow`].
    pub(crate) fn apply(self, weight: Weight, decimals: u8) -> Result<Weight> {
        if self.is_one() { Ok(weight) } else { weight.times_ratio(self.of, self.over, decimals) }
    }
}

impl Normalize {
    /// The factors for before and after, where these are the weights to be made equal. A side
    /// that weighs nothing stays as it is.
    pub(crate) fn ratios(self, before: Weight, after: Weight) -> (Ratio, Ratio) {
        let ratio = |of: Weight, over: Weight| {
            let usable = of > Weight::ZERO && over > Weight::ZERO;
            if usable { Ratio { of, over } } else { Ratio::ONE }
        };
        match self {
            Normalize::No => (Ratio::ONE, Ratio::ONE),
            Normalize::BeforeToAfter => (ratio(after, before), Ratio::ONE),
            Normalize::AfterToBefore => (Ratio::ONE, ratio(before, after)),
            Normalize::Both(weight) => (ratio(weight, before), ratio(weight, after)),
        }
    }

    /// The factors that turn the sums of each side into means of its runs, normalised.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Overflow`].
    pub(super) fn mean_ratios(
        self,
        (before, after): (Weight, Weight),
        runs: (usize, usize),
    ) -> Result<(Ratio, Ratio)> {
        let count = |runs: usize| Weight::new(runs.max(1) as i128);
        let mean = |runs| Ratio { of: Weight::ONE, over: count(runs) };
        let usable = before > Weight::ZERO && after > Weight::ZERO;
        Ok(match self {
            Normalize::BeforeToAfter if usable => {
                (Ratio { of: after, over: before.checked_mul(count(runs.1))? }, mean(runs.1))
            }
            Normalize::AfterToBefore if usable => {
                (mean(runs.0), Ratio { of: before, over: after.checked_mul(count(runs.0))? })
            }
            Normalize::Both(weight) if usable => {
                (Ratio { of: weight, over: before }, Ratio { of: weight, over: after })
            }
            _ => (mean(runs.0), mean(runs.1)),
        })
    }
}

/// The number of decimals of scaled weights in a profile of this total: enough for a thousand
/// millionth of it, and at most three unless the total has more itself.
pub(crate) fn decimals_for(total: Weight) -> u8 {
    let digits = total.to_f64().abs().max(1.0).log10() as i32;
    let wanted = (9 - digits).clamp(0, 3) as u8;
    wanted.max(total.decimals())
}

/// Scales the weights of one side, stack by stack.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scale {
    ratio: Ratio,
    decimals: u8,
    sum: Weight,
    given: Weight,
}

impl Scale {
    /// A scale by a ratio, to this number of decimals.
    pub(crate) fn new(ratio: Ratio, decimals: u8) -> Scale {
        Scale { ratio, decimals, sum: Weight::ZERO, given: Weight::ZERO }
    }

    /// The next weight, scaled.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Overflow`].
    #[inline]
    pub(crate) fn next(&mut self, weight: Weight) -> Result<Weight> {
        if self.ratio.is_one() || weight.is_zero() {
            return Ok(weight);
        }
        self.sum = self.sum.checked_add(weight)?;
        let due = self.ratio.apply(self.sum, self.decimals)?;
        let scaled = due.checked_sub(self.given)?;
        self.given = due;
        Ok(scaled)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn weight(text: &str) -> Weight {
        Weight::parse(text.as_bytes()).unwrap()
    }

    #[test]
    fn sums_are_exact_and_parts_nearly() {
        let (before, after) = Normalize::BeforeToAfter.ratios(Weight::new(7), Weight::new(10));
        assert!(after.is_one());
        let mut scale = Scale::new(before, 3);
        let parts: Vec<_> = (0..7).map(|_| scale.next(Weight::ONE).unwrap()).collect();
        assert_eq!(parts[0], weight("1.429"));
        let sum = parts.iter().try_fold(Weight::ZERO, |sum, &part| sum.checked_add(part)).unwrap();
        assert_eq!(sum, Weight::new(10));
        assert!(parts.iter().all(|part| weight("1.427") < *part && *part < weight("1.43")));
    }

    #[test]
    fn both_sides_to_a_number() {
        let (before, after) = Normalize::Both(Weight::new(100)).ratios(weight("0.5"), Weight::new(3));
        assert_eq!(before.apply(weight("0.5"), 3).unwrap(), Weight::new(100));
        assert_eq!(after.apply(Weight::ONE, 3).unwrap(), weight("33.333"));
        let (before, _) = Normalize::Both(Weight::new(100)).ratios(Weight::ZERO, Weight::new(3));
        assert!(before.is_one());
    }

    #[test]
    fn a_side_that_weighs_nothing_is_not_made_equal() {
        for references in [(0, 5), (5, 0), (-5, 5)] {
            let references = (Weight::new(references.0), Weight::new(references.1));
            for normalize in
                [Normalize::BeforeToAfter, Normalize::AfterToBefore, Normalize::Both(Weight::ONE)]
            {
                let ratios = normalize.mean_ratios(references, (1, 1)).unwrap();
                assert!(ratios.0.is_one() && ratios.1.is_one(), "{references:?}");
            }
        }
    }

    #[test]
    fn large_totals_need_no_decimals() {
        assert_eq!(
            [5, 1_000_000, 100_000_000, 10_000_000_000].map(|n| decimals_for(Weight::new(n))),
            [3, 3, 1, 0]
        );
        assert_eq!(decimals_for(weight("0.00001")), 5);
    }
}
