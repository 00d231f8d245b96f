//! Durations and weights of samples, by number: most samples of a recording have the same ones, and a number takes four bytes
//! of 56.

use crate::bytes::{push_varint, push_varint_128, varint, varint_128};
use crate::folded::{Interner, Weights};
use crate::weight::Weight;

/// Measures are read back as they were written.
const WHOLE: &str = "a measure holds three numbers";

/// The durations and weights of samples.
#[derive(Default)]
pub(super) struct Measures {
    texts: Interner,
    text: Vec<u8>,
    /// The one that came last, which often comes again.
    last: Option<(Measure, u32)>,
}

/// A duration in nanoseconds, and weights.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Measure {
    pub duration: u64,
    pub weights: Weights,
}

impl Measures {
    /// The number of a measure.
    pub(super) fn measure_number(&mut self, measure: Measure) -> u32 {
        if let Some((_, number)) = self.last.filter(|(last, _)| *last == measure) {
            return number;
        }
        let Measure { duration, weights } = measure;
        self.text.clear();
        push_varint(duration, &mut self.text);
        for weight in [weights.value, weights.before] {
            let decimals = weight.decimals();
            let mantissa = weight.in_steps(decimals).expect("a weight has as many decimals as it has");
            self.text.push(decimals);
            push_varint_128(((mantissa << 1) ^ (mantissa >> 127)) as u128, &mut self.text);
        }
        let number = self.texts.key(&self.text);
        self.last = Some((measure, number));
        number
    }

    /// The measure of a number.
    pub(super) fn get(&self, number: u32) -> Measure {
        let mut text = self.texts.name(number);
        let duration = varint(&mut text).expect(WHOLE);
        let mut weight = || {
            let decimals = text.split_off_first().copied().unwrap_or(0);
            let mantissa = varint_128(&mut text).expect(WHOLE);
            Weight::from_steps((mantissa >> 1) as i128 ^ -((mantissa & 1) as i128), decimals).expect(WHOLE)
        };
        Measure { duration, weights: Weights { value: weight(), before: weight() } }
    }

    /// The bytes of memory that they take.
    pub(super) fn bytes(&self) -> usize {
        self.texts.bytes()
    }

    /// All measures, in the order of their numbers.
    pub(super) fn all(&self) -> impl Iterator<Item = Measure> {
        (0..self.texts.len() as u32).map(|number| self.get(number))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn measures_come_back() {
        let weights = [i128::MIN, -1, 0, 1, 64, 20_000_000, i128::MAX];
        let mut measures = Measures::default();
        let mut all = Vec::new();
        for duration in [0, 1, 127, 128, u64::MAX] {
            for (value, decimals) in weights.into_iter().zip([0, 1, 2, 38, 0, 9, 3]) {
                let value = Weight::from_steps(value, decimals).unwrap();
                for before in [Weight::ZERO, Weight::new(-7), value] {
                    let measure = Measure { duration, weights: Weights { value, before } };
                    let number = measures.measure_number(measure);
                    assert_eq!(measures.measure_number(measure), number);
                    all.push((number, measure));
                }
            }
        }
        for (number, measure) in all {
            let back = measures.get(number);
            assert_eq!(back, measure);
        }
    }
}
