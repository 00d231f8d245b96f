//! Exact weights: decimals that never round and never wrap.
//!
//! A weight is an integer mantissa and a number of decimals, as in `0.25` = 25 · 10⁻². Sums of
//! samples, nanoseconds and bytes stay below 2¹²⁷, some 1.7·10³⁸; what does not is an error.

use std::cmp::Ordering;
use std::fmt;

use crate::error::{ErrorKind, Result};

/// An exact decimal, positive or negative.
///
/// ```
/// use fg_tools::Weight;
///
/// let sum = Weight::parse(b"0.1").unwrap().checked_add(Weight::parse(b"0.2").unwrap())?;
/// assert_eq!(sum.to_string(), "0.3");
/// # Ok::<(), fg_tools::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default)]
// The alignment of an i128 would make it larger by a third.
#[repr(Rust, packed(8))]
pub struct Weight {
    mantissa: i128,
    decimals: u8,
}

/// No more digits than this behind the point: a larger power of ten does not fit a `u128`.
const MAX_DECIMALS: usize = 38;

impl Weight {
    /// Zero.
    pub const ZERO: Weight = Weight { mantissa: 0, decimals: 0 };
    /// One.
    pub const ONE: Weight = Weight { mantissa: 1, decimals: 0 };

    /// A whole number.
    pub const fn new(value: i128) -> Self {
        Weight { mantissa: value, decimals: 0 }
    }

    /// Reads `["-"] digits ["." digits]`, nothing before or after; `None` for anything else, for what
    /// is not below 2¹²⁷ without its point, and for more than 38 decimals.
    pub fn parse(text: &[u8]) -> Option<Self> {
        // Nearly every weight in the world is a short whole number.
        if let 1..=18 = text.len() {
            let mut value = 0u64;
            let mut other = 0u8;
            for &byte in text {
                let digit = byte.wrapping_sub(b'0');
                other |= u8::from(digit > 9);
                value = value.wrapping_mul(10).wrapping_add(u64::from(digit));
            }
            if other == 0 {
                return Some(Weight::new(value.into()));
            }
        }
        Weight::parse_any(text)
    }

    #[cold]
    fn parse_any(text: &[u8]) -> Option<Self> {
        let (negative, digits) = match text.strip_prefix(b"-") {
            Some(rest) => (true, rest),
            None => (false, text),
        };
        let (whole, fraction) = match memchr::memchr(b'.', digits) {
            Some(dot) => (&digits[..dot], &digits[dot + 1..]),
            None => (digits, &b"0"[..]),
        };
        let fraction_end = fraction.iter().rposition(|&b| b != b'0').map_or(0, |last| last + 1);
        if whole.is_empty() || fraction.is_empty() || !fraction.iter().all(u8::is_ascii_digit) {
            return None;
        }
        let whole = &whole[whole.iter().position(|&b| b != b'0').unwrap_or(whole.len())..];
        let fraction = &fraction[..fraction_end];
        if fraction.len() > MAX_DECIMALS {
            return None;
        }
        let mut mantissa = 0i128;
        for &byte in whole.iter().chain(fraction) {
            if !byte.is_ascii_digit() {
                return None;
            }
            mantissa = mantissa.checked_mul(10)?.checked_add(i128::from(byte - b'0'))?;
        }
        let mantissa = if negative { -mantissa } else { mantissa };
        Some(Weight { mantissa, decimals: fraction.len() as u8 })
    }

    /// The exact sum.
    ///
    /// # Errors
    /// [`ErrorKind::Overflow`] when it cannot be held.
    #[inline]
    pub fn checked_add(self, other: Weight) -> Result<Weight> {
        if self.decimals == other.decimals
            && let Some(mantissa) = self.mantissa.checked_add(other.mantissa)
        {
            return Ok(Weight { mantissa, decimals: self.decimals });
        }
        self.plus_scaled(other)
    }

    /// The sum of weights with different decimals: a function of its own, so that the common case is
    /// short enough to be inlined.
    #[cold]
    fn plus_scaled(self, other: Weight) -> Result<Weight> {
        let decimals = self.decimals.max(other.decimals);
        let sum = match (self.mantissa_at(decimals), other.mantissa_at(decimals)) {
            (Some(a), Some(b)) => a.checked_add(b),
            _ => None,
        };
        match sum {
            Some(mantissa) => Ok(Weight { mantissa, decimals }),
            None => Err(ErrorKind::Overflow.into()),
        }
    }

    /// The exact difference.
    ///
    /// # Errors
    /// [`ErrorKind::Overflow`] when it cannot be held.
    #[inline]
    pub fn checked_sub(self, other: Weight) -> Result<Weight> {
        self.checked_add(other.negated())
    }

    /// The exact product.
    ///
    /// # Errors
    /// [`ErrorKind::Overflow`] when it cannot be held.
    pub fn checked_mul(self, other: Weight) -> Result<Weight> {
        let (a, b) = (self.normal(), other.normal());
        let product = a.mantissa.checked_mul(b.mantissa);
        match product.map(|mantissa| Weight { mantissa, decimals: a.decimals + b.decimals }.normal()) {
            Some(weight) if usize::from(weight.decimals) <= MAX_DECIMALS => Ok(weight),
            _ => Err(ErrorKind::Overflow.into()),
        }
    }

    /// Multiplies by `numerator / denominator` and rounds to a number of decimals, halves away from
    /// zero.
    ///
    /// # Errors
    /// [`ErrorKind::Overflow`] when it cannot be held, or the denominator is zero.
    pub fn times_ratio(self, numerator: Weight, denominator: Weight, decimals: u8) -> Result<Weight> {
        let overflow = || crate::Error::from(ErrorKind::Overflow);
        let (own, n, d) = (self.normal(), numerator.normal(), denominator.normal());
        let common = gcd(n.mantissa.unsigned_abs(), d.mantissa.unsigned_abs()).max(1);
        let mut above = n.mantissa.unsigned_abs() / common;
        let mut below = d.mantissa.unsigned_abs() / common;
        let shift =
            i32::from(d.decimals) + i32::from(decimals) - i32::from(own.decimals) - i32::from(n.decimals);
        let power = 10u128.checked_pow(shift.unsigned_abs()).ok_or_else(overflow)?;
        let side = if shift >= 0 { &mut above } else { &mut below };
        *side = side.checked_mul(power).ok_or_else(overflow)?;
        let size = multiply_divide(own.mantissa.unsigned_abs(), above, below).ok_or_else(overflow)?;
        let size = i128::try_from(size).map_err(|_| overflow())?;
        let negative = own.is_negative() ^ n.is_negative() ^ d.is_negative();
        Ok(Weight { mantissa: if negative { -size } else { size }, decimals }.normal())
    }

    /// The largest weight that both are whole multiples of; the sign does not matter.
    ///
    /// ```
    /// use fg_tools::Weight;
    ///
    /// let step = Weight::parse(b"0.25").unwrap().common_step(Weight::parse(b"0.1").unwrap());
    /// assert_eq!(step.to_string(), "0.05");
    /// ```
    pub fn common_step(self, other: Weight) -> Weight {
        let decimals = self.decimals.max(other.decimals);
        match (self.mantissa_at(decimals), other.mantissa_at(decimals)) {
            (Some(a), Some(b)) => {
                let step = gcd(a.unsigned_abs(), b.unsigned_abs());
                Weight { mantissa: i128::try_from(step).unwrap_or(i128::MAX), decimals }.normal()
            }
            // Too far apart to have a step worth knowing.
            _ => Weight { mantissa: 1, decimals },
        }
    }

    /// The number of digits behind the point.
    pub fn decimals(self) -> u8 {
        self.normal().decimals
    }

    /// The same weight with the other sign.
    pub const fn negated(self) -> Weight {
        // Every value that is made here has at most 38 digits or came through a checked sum;
        // i128::MIN alone has no positive twin and saturates.
        Weight { mantissa: self.mantissa.saturating_neg(), decimals: self.decimals }
    }

    /// Appends the digits to `out`, as [`fmt::Display`] would write them.
    pub fn write_to(self, out: &mut Vec<u8>) {
        // Formatting is slow for what nearly all weights are: whole numbers that fit a register.
        let Some(mut rest) = u64::try_from(self.mantissa).ok().filter(|_| self.decimals == 0) else {
            out.extend_from_slice(self.to_string().as_bytes());
            return;
        };
        const LONGEST: usize = 20;
        let mut digits = [0; LONGEST];
        let mut start = LONGEST;
        loop {
            start -= 1;
            digits[start] = b'0' + (rest % 10) as u8;
            rest /= 10;
            if rest == 0 {
                break;
            }
        }
        out.extend_from_slice(&digits[start..]);
    }

    /// The number, if it is a whole one from 0 to 2⁶⁴ − 1.
    #[inline]
    pub fn to_u64(self) -> Option<u64> {
        // Most weights have no decimals, and this is asked of each line.
        if self.decimals == 0 { u64::try_from(self.mantissa).ok() } else { self.normal().whole_u64() }
    }

    #[cold]
    fn whole_u64(self) -> Option<u64> {
        if self.decimals == 0 { u64::try_from(self.mantissa).ok() } else { None }
    }

    /// Returns true for zero.
    pub const fn is_zero(self) -> bool {
        self.mantissa == 0
    }

    /// Returns true if this is more than `other` by less than `limit`; `false`, too, where that takes more
    /// than a comparison to tell.
    #[inline]
    pub(crate) fn is_surely_within(self, other: Weight, limit: Weight) -> bool {
        let Weight { mantissa: most, decimals } = limit;
        self.decimals == decimals
            && other.decimals == decimals
            && matches!(self.mantissa.checked_sub(other.mantissa), Some(apart) if apart < most)
    }

    /// Adds another, in place.
    ///
    /// # Errors
    /// [`ErrorKind::Overflow`] when the sum cannot be held; then this is as it was.
    #[inline]
    pub(crate) fn try_add(&mut self, other: Weight) -> Result<()> {
        if self.decimals == other.decimals
            && let Some(sum) = self.mantissa.checked_add(other.mantissa)
        {
            self.mantissa = sum;
            return Ok(());
        }
        *self = self.plus_scaled(other)?;
        Ok(())
    }

    /// Returns true below zero.
    pub const fn is_negative(self) -> bool {
        self.mantissa < 0
    }

    /// The nearest floating point number, for pixels and percentages only.
    pub fn to_f64(self) -> f64 {
        // The wide conversion is a function of some forty instructions.
        let mantissa = match i64::try_from(self.mantissa) {
            Ok(short) => short as f64,
            Err(_) => self.mantissa as f64,
        };
        if self.decimals == 0 { mantissa } else { mantissa / 10f64.powi(self.decimals.into()) }
    }

    /// The weight as a whole number of steps of the size `10^-decimals`: 0.25 at 3 decimals is 250.
    ///
    /// # Errors
    /// [`ErrorKind::Overflow`] when that cannot be held, or has more decimals.
    #[inline]
    pub fn in_steps(self, decimals: u8) -> Result<i128> {
        let steps = match () {
            () if self.decimals == decimals => Some(self.mantissa),
            () if self.decimals < decimals => self.mantissa_at(decimals),
            () => {
                Some(self.normal()).filter(|w| w.decimals <= decimals).and_then(|w| w.mantissa_at(decimals))
            }
        };
        steps.ok_or_else(|| ErrorKind::Overflow.into())
    }

    /// Builds a weight from a number of steps of the size `10^-decimals`, as [`Weight::in_steps`]
    /// returns it.
    ///
    /// # Errors
    /// [`ErrorKind::Overflow`] when it cannot be held.
    pub fn from_steps(steps: impl TryInto<i128>, decimals: u8) -> Result<Weight> {
        match steps.try_into() {
            Ok(mantissa) if usize::from(decimals) <= MAX_DECIMALS => {
                Ok(Weight { mantissa, decimals }.normal())
            }
            _ => Err(ErrorKind::Overflow.into()),
        }
    }

    fn mantissa_at(self, decimals: u8) -> Option<i128> {
        let shift = u32::from(decimals - self.decimals);
        self.mantissa.checked_mul(10i128.checked_pow(shift)?)
    }

    /// The same weight without trailing zeros behind the point.
    fn normal(self) -> Weight {
        let Weight { mut mantissa, mut decimals } = self;
        while decimals > 0 && mantissa % 10 == 0 {
            mantissa /= 10;
            decimals -= 1;
        }
        Weight { mantissa, decimals }
    }
}

impl From<u64> for Weight {
    fn from(value: u64) -> Self {
        Weight::new(value.into())
    }
}

impl PartialEq for Weight {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Weight {}

fn gcd(mut a: u128, mut b: u128) -> u128 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

/// `a · b / divisor`, rounded to the nearest; `None` if that does not fit.
fn multiply_divide(a: u128, b: u128, divisor: u128) -> Option<u128> {
    if divisor == 0 {
        return None;
    }
    let (quotient, rest) = match a.checked_mul(b) {
        Some(product) => (product / divisor, product % divisor),
        None => divide_wide(a, b, divisor)?,
    };
    if rest >= divisor - rest { quotient.checked_add(1) } else { Some(quotient) }
}

/// The same for products of more than 128 bits: as on paper, bit by bit.
#[cold]
fn divide_wide(a: u128, b: u128, divisor: u128) -> Option<(u128, u128)> {
    let (mut quotient, mut rest) = (0u128, 0u128);
    let add = |rest: u128, more: u128| -> (u128, bool) {
        // Both are below the divisor, so that their sum holds it once at most.
        match rest.checked_sub(divisor - more) {
            Some(less) => (less, true),
            None => (rest + more, false),
        }
    };
    let (whole, part) = (a / divisor, a % divisor);
    for bit in (0..u128::BITS).rev() {
        quotient = quotient.checked_mul(2)?;
        let (doubled, carry) = add(rest, rest);
        rest = doubled;
        quotient = quotient.checked_add(carry.into())?;
        if b >> bit & 1 == 1 {
            let (sum, carry) = add(rest, part);
            rest = sum;
            quotient = quotient.checked_add(whole)?.checked_add(carry.into())?;
        }
    }
    Some((quotient, rest))
}

impl PartialOrd for Weight {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Weight {
    #[inline]
    fn cmp(&self, other: &Self) -> Ordering {
        if self.decimals == other.decimals {
            let (own, other) = (self.mantissa, other.mantissa);
            return own.cmp(&other);
        }
        let decimals = self.decimals.max(other.decimals);
        match (self.mantissa_at(decimals), other.mantissa_at(decimals)) {
            (Some(a), Some(b)) => a.cmp(&b),
            // Only one of the two can be too large to be scaled, and it is the farther from zero.
            (None, _) => self.mantissa.signum().cmp(&0),
            (_, None) => 0.cmp(&other.mantissa.signum()),
        }
    }
}

impl fmt::Display for Weight {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let (Ok(small), 0) = (u64::try_from(self.mantissa), self.decimals) {
            // Dividing 128 bits by ten, digit by digit, takes several times as long.
            return fmt::Display::fmt(&small, f);
        }
        let Weight { mantissa, decimals } = self.normal();
        if decimals == 0 {
            return write!(f, "{mantissa}");
        }
        let scale = 10u128.pow(decimals.into());
        let digits = mantissa.unsigned_abs();
        let sign = if mantissa < 0 { "-" } else { "" };
        let width = usize::from(decimals);
        write!(f, "{sign}{}.{:0width$}", digits / scale, digits % scale)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn weight(text: &str) -> Weight {
        Weight::parse(text.as_bytes()).unwrap_or_else(|| panic!("{text} is a weight"))
    }

    #[test]
    fn reads_and_writes_exact_decimals() {
        for (text, shown) in [
            ("0", "0"),
            ("42", "42"),
            ("007", "7"),
            ("-3", "-3"),
            ("1.50", "1.5"),
            ("-0.05", "-0.05"),
            ("2.000", "2"),
            ("18446744073709551615", "18446744073709551615"),
            ("18446744073709551616", "18446744073709551616"),
            ("99999999999999999999999999999999999999", "99999999999999999999999999999999999999"),
            // The largest and the smallest, which a sum may reach.
            ("170141183460469231731687303715884105727", "170141183460469231731687303715884105727"),
            ("-170141183460469231731687303715884105727", "-170141183460469231731687303715884105727"),
            ("-17014118346.0469231731687303715884105727", "-17014118346.0469231731687303715884105727"),
            ("0.00000000000000000000000000000000000001", "0.00000000000000000000000000000000000001"),
        ] {
            assert_eq!(weight(text).to_string(), shown, "{text}");
            let mut bytes = Vec::new();
            weight(text).write_to(&mut bytes);
            assert_eq!(bytes, shown.as_bytes(), "{text}");
        }
    }

    #[test]
    fn refuses_what_is_no_weight() {
        for text in [
            "", "-", ".", "1.", ".5", "+1", "1e3", "NaN", "inf", "1,000", "0x10", "1 ", "--1", "1.2.3",
            "1.-2",
        ] {
            assert!(Weight::parse(text.as_bytes()).is_none(), "{text}");
        }
        for text in [
            "170141183460469231731687303715884105728",
            "-170141183460469231731687303715884105728",
            "999999999999999999999999999999999999999",
            "0.000000000000000000000000000000000000001",
        ] {
            assert!(Weight::parse(text.as_bytes()).is_none(), "{text} is more than can be held");
        }
    }

    #[test]
    fn sums_are_exact_or_refused() {
        assert_eq!(weight("0.1").checked_add(weight("0.2")).unwrap(), weight("0.3"));
        assert_eq!(
            weight("18446744073709551615").checked_add(weight("1")).unwrap().to_string(),
            "18446744073709551616"
        );
        let largest = Weight::new(i128::MAX);
        assert!(matches!(largest.checked_add(Weight::ONE).unwrap_err().kind(), ErrorKind::Overflow));
        assert!(weight("99999999999999999999999999999999999999").checked_add(weight("0.5")).is_err());
    }

    #[test]
    fn compares_by_value() {
        assert_eq!(weight("1.0"), weight("1"));
        assert!(weight("-0.5") < weight("0"));
        assert!(weight("99999999999999999999999999999999999999") > weight("0.01"));
        assert!(weight("-99999999999999999999999999999999999999") < weight("0.01"));
    }

    #[test]
    fn ratios_are_rounded_once() {
        for (of, by, over, decimals, is) in [
            ("1", "1", "3", 3, "0.333"),
            ("2", "1", "3", 3, "0.667"),
            ("-2", "1", "3", 0, "-1"),
            ("1", "1", "2", 0, "1"),
            ("0.3", "0.5", "0.25", 0, "1"),
            ("0.3", "0.5", "0.25", 1, "0.6"),
            ("99999999999999999999999999999999999999", "7", "7", 0, "99999999999999999999999999999999999999"),
            ("99999999999999999999999999999999999999", "3", "5", 0, "59999999999999999999999999999999999999"),
            (
                "30000000000000000000000001",
                "30000000000000000000000001",
                "90000000000000000000000000",
                0,
                "10000000000000000000000001",
            ),
        ] {
            assert_eq!(
                weight(of).times_ratio(weight(by), weight(over), decimals).unwrap(),
                weight(is),
                "{of}"
            );
        }
        assert!(weight("1").times_ratio(weight("1"), Weight::ZERO, 0).is_err());
        assert!(Weight::new(i128::MAX).times_ratio(weight("3"), weight("2"), 0).is_err());
    }

    #[test]
    fn steps_are_the_largest_common_measure() {
        for (a, b, step) in [("12", "18", "6"), ("0", "5", "5"), ("-4", "6", "2"), ("0.5", "2", "0.5")] {
            assert_eq!(weight(a).common_step(weight(b)), weight(step));
        }
    }

    #[test]
    fn steps_are_whole_numbers() {
        for (text, decimals, steps) in
            [("0", 5, 0), ("42", 0, 42), ("42", 2, 4200), ("1.50", 1, 15), ("0.25", 2, 25)]
        {
            assert_eq!(weight(text).in_steps(decimals).unwrap(), steps);
            assert_eq!(Weight::from_steps(steps, decimals).unwrap(), weight(text));
        }
        assert!(weight("0.25").in_steps(1).is_err() && Weight::new(i128::MAX).in_steps(1).is_err());
        assert_eq!(weight("-1").in_steps(2).unwrap(), -100);
        assert!(Weight::from_steps(u128::MAX, 0).is_err());
    }

    #[test]
    fn products_are_exact() {
        assert_eq!(weight("0.5").checked_mul(weight("3")).unwrap().to_string(), "1.5");
        assert!(Weight::new(i128::MAX).checked_mul(weight("2")).is_err());
    }

    #[test]
    fn sums_and_differences_of_unlike_decimals_are_exact() {
        for (a, b, sum, difference) in [("1", "0.5", "1.5", "0.5"), ("0.25", "2", "2.25", "-1.75")] {
            let (a, b) = (weight(a), weight(b));
            assert_eq!(
                (a.checked_add(b).unwrap(), a.checked_sub(b).unwrap()),
                (weight(sum), weight(difference))
            );
            let mut sum = a;
            sum.try_add(b).unwrap();
            assert_eq!(sum, a.checked_add(b).unwrap());
        }
        let mut largest = Weight::new(i128::MAX);
        assert!(largest.try_add(Weight::ONE).is_err() && largest == Weight::new(i128::MAX));
        largest.try_add(weight("-1")).unwrap();
        assert_eq!(largest, Weight::new(i128::MAX - 1));
    }

    #[test]
    fn products_have_as_many_decimals_as_digits_fit() {
        let small = weight("0.00000000000000000001");
        assert!(small.checked_mul(small).is_err(), "40 decimals");
        assert_eq!(weight("0.5").checked_mul(weight("0.25")).unwrap().to_string(), "0.125");
        assert_eq!(weight("2.50").checked_mul(weight("0.4")).unwrap().to_string(), "1");
    }

    #[test]
    fn ratios_have_the_sign_of_their_parts() {
        for (of, by, over, is) in
            [("2", "-3", "6", "-1"), ("-2", "-3", "6", "1"), ("2", "-3", "-6", "1"), ("-2", "-3", "-6", "-1")]
        {
            assert_eq!(
                weight(of).times_ratio(weight(by), weight(over), 0).unwrap(),
                weight(is),
                "{of} {by} {over}"
            );
        }
        assert_eq!(Weight::ZERO.times_ratio(weight("-3"), weight("6"), 0).unwrap(), Weight::ZERO);
    }

    #[test]
    fn steps_have_the_decimals_asked_for() {
        assert_eq!(weight("0.25").in_steps(3).unwrap(), 250);
        assert_eq!(weight("-0.25").in_steps(2).unwrap(), -25);
        assert!(weight("0.25").in_steps(1).is_err());
        assert_eq!(Weight::from_steps(250, 3).unwrap().to_string(), "0.25");
        // Zeros behind the point are none.
        assert_eq!((weight("1.50").decimals(), weight("0.0").decimals()), (1, 0));
        assert!(Weight::from_steps(1, 39).is_err() && Weight::from_steps(1, 38).is_ok());
        assert_eq!(weight("2.500").in_steps(1).unwrap(), 25);
    }

    #[test]
    fn whole_numbers_are_told_from_others() {
        for (text, whole) in [
            ("0", Some(0)),
            ("7", Some(7)),
            ("2.0", Some(2)),
            ("2.5", None),
            ("-1", None),
            ("18446744073709551616", None),
        ] {
            let weight = weight(text);
            assert_eq!(weight.to_u64(), whole, "{text}");
            assert!(whole.is_none_or(|whole| Weight::from(whole) == weight), "{text}");
        }
        // A sum keeps the decimals of its parts.
        let sum = weight("1.5").checked_add(weight("0.5")).unwrap();
        assert_eq!((sum.to_u64(), sum.to_string().as_str()), (Some(2), "2"));
        assert!(weight("-0.5").is_negative() && !weight("0").is_negative() && !weight("0.5").is_negative());
        assert!(
            (weight("0.25").to_f64() - 0.25).abs() < 1e-15 && (weight("-3").to_f64() + 3.0).abs() < 1e-15
        );
        assert!((weight("100000000000000000000.5").to_f64() / 1e20 - 1.0).abs() < 1e-15);
    }

    #[test]
    fn what_is_surely_within_is_nearer_than_the_limit() {
        let is = |value: &str, other: &str| weight(value).is_surely_within(weight(other), weight("10"));
        assert!(is("19", "10") && is("10", "10") && !is("20", "10") && !is("21", "10"));
        // Unlike decimals are not compared.
        assert!(!is("10.5", "10") && !is("10", "9.5"));
        assert!(!weight("10").is_surely_within(weight("9"), weight("10.5")));
    }
}
