//! The weight of a sample, found out from the weights of a profile that does not say it.

use crate::weight::Weight;

/// Finds out what a sample weighs, from the weights of a profile that does not say it.
///
/// It is the largest weight of which all weights are multiples. Scaled weights have fractions and
/// no true step; sums of periods that vary (cycles) have no step but 1, which would make a million
/// samples of one. Then no sample is taken to weigh less than the lightest stack.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct SampleWeight {
    step: Weight,
    least: Weight,
    last: Weight,
}

impl SampleWeight {
    /// Takes note of a weight.
    #[inline]
    pub(crate) fn note(&mut self, weight: Weight) {
        // Most weights are the one before again.
        if weight == self.last || weight.is_zero() {
            return;
        }
        self.last = weight;
        self.add(weight, if weight.is_negative() { weight.negated() } else { weight });
    }

    fn add(&mut self, step: Weight, least: Weight) {
        // A step of one does not get smaller by whole numbers.
        if self.step != Weight::ONE || step.decimals() > 0 {
            self.step = self.step.common_step(step);
        }
        self.least = if self.least.is_zero() { least } else { self.least.min(least) };
    }

    /// Adds the weights of another file of the same side.
    pub(crate) fn merge(&mut self, other: SampleWeight) {
        if !other.least.is_zero() {
            self.add(other.step, other.least);
        }
    }

    /// Converts to another unit.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Overflow`].
    pub(crate) fn times(self, factor: Weight) -> crate::Result<SampleWeight> {
        let times = |weight: Weight| weight.checked_mul(factor);
        Ok(SampleWeight { step: times(self.step)?, least: times(self.least)?, last: times(self.last)? })
    }

    /// The weight of a sample; 1 if there are no weights.
    pub(crate) fn get(&self) -> Weight {
        match (self.least.is_zero(), self.is_certain()) {
            (true, _) => Weight::ONE,
            (_, true) => self.step,
            (_, false) => self.least,
        }
    }

    /// Returns true if the weights have a common step.
    pub(crate) fn is_certain(&self) -> bool {
        let is_rough = self.step.decimals() > 0 || self.step.to_f64() * 1000.0 < self.least.to_f64();
        !is_rough || self.step == self.least
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_are_what_weights_are_multiples_of() {
        let noted = |weights: &[&str]| {
            let mut sample = SampleWeight::default();
            weights.iter().for_each(|text| sample.note(Weight::parse(text.as_bytes()).unwrap()));
            (sample.get().to_string(), sample.is_certain())
        };
        assert_eq!(noted(&["3003", "1001", "2002"]), ("1001".into(), true));
        assert_eq!(noted(&["-3003", "1001", "-2002"]), ("1001".into(), true));
        assert_eq!(noted(&["1.429", "2.857"]), ("1.429".into(), false));
        assert_eq!(noted(&["0.25", "0.5", "1"]), ("0.25".into(), true));
        assert_eq!(noted(&["0.5", "0.75"]), ("0.5".into(), false));
        assert_eq!(noted(&["123457", "200003"]), ("123457".into(), false));
        assert_eq!(noted(&["1", "0.5"]), ("0.5".into(), true));
        assert_eq!(noted(&[]), ("1".into(), true));
    }

    #[test]
    fn files_of_a_side_have_one_step() {
        let noted = |weight: i128| {
            let mut sample = SampleWeight::default();
            sample.note(Weight::new(weight));
            sample
        };
        let mut all = SampleWeight::default();
        for part in [noted(30), SampleWeight::default(), noted(20)] {
            all.merge(part);
        }
        assert_eq!(all.get(), Weight::new(10));
        // In another unit, which may be that of another file.
        let mut converted = all.times(Weight::new(1000)).unwrap();
        assert_eq!(converted.get(), Weight::new(10_000));
        converted.merge(noted(4_000));
        assert_eq!(converted.get(), Weight::new(2_000));
    }
}
