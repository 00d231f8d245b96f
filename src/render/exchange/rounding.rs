//! Whole numbers of values that were multiplied: formats of exchange hold no fractions.

use crate::error::{Error, Result};
use crate::weight::Weight;

/// Rounds one value after the other so that their sum is never off by more than a half: what one value has
/// gained, the next one loses. Whole values stay as they are.
#[derive(Clone, Copy, Debug, Default)]
pub struct Rounding {
    /// The part of the values so far that is not in the whole numbers.
    rest: Weight,
}

impl Rounding {
    /// The whole number for a value.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Setting`] for a value that does not fit 64 bits.
    pub fn whole(&mut self, value: Weight) -> Result<i64> {
        if value.decimals() == 0 {
            return fits(value);
        }
        let exact = value.checked_add(self.rest)?;
        let whole = nearest(exact)?;
        self.rest = exact.checked_sub(Weight::new(whole.into()))?;
        Ok(whole)
    }
}

fn fits(value: Weight) -> Result<i64> {
    let whole = value.in_steps(0).ok().and_then(|whole| i64::try_from(whole).ok());
    whole.ok_or_else(|| {
        let what = format!("the format holds whole numbers of 64 bits, and {value} is not one");
        Error::setting(what)
    })
}

/// The nearest whole number; a half goes away from zero.
fn nearest(value: Weight) -> Result<i64> {
    let decimals = value.decimals();
    let units = value.in_steps(decimals)?;
    let scale = 10i128.checked_pow(decimals.into()).unwrap_or(i128::MAX);
    let half = if units < 0 { -(scale / 2) } else { scale / 2 };
    fits(Weight::new((units.saturating_add(half)) / scale))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sum_is_kept() {
        let mut rounding = Rounding::default();
        let values: Vec<i64> =
            (0..10).map(|_| rounding.whole(Weight::parse(b"0.3").unwrap()).unwrap()).collect();
        assert_eq!(values.iter().sum::<i64>(), 3);
        assert!(values.iter().all(|value| (0..=1).contains(value)), "{values:?}");
        assert_eq!(rounding.whole(Weight::new(-7)).unwrap(), -7);
        let below = Weight::parse(b"-2.5").unwrap();
        assert_eq!(Rounding::default().whole(below).unwrap(), -3);
        assert!(rounding.whole(Weight::new(1 << 63)).is_err());
        assert_eq!(rounding.whole(Weight::new(-(1 << 63))).unwrap(), i64::MIN);
    }
}
