//! Weights as outputs for people show them: scaled, in their unit, where the unit is known.

use crate::folded::{Columns, Weights};
use crate::printable::printable;
use crate::profile::Facts;
use crate::profile::units::{amount, amount_with_samples, grouped, is_scaled};
use crate::weight::Weight;

/// Shows the weights of one profile.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Amounts {
    unit: Option<String>,
    period: Option<Weight>,
}

impl Amounts {
    /// Shows weights in the unit that the facts state, if they do.
    pub fn new(facts: &Facts) -> Amounts {
        let unit = facts.unit.as_deref().map(|unit| printable(unit.as_bytes()));
        Amounts { unit, period: facts.period }
    }

    /// The weight: `325 ms`; without a known unit the exact number.
    pub fn plain(&self, weight: Weight) -> String {
        amount(weight, self.unit.as_deref())
    }

    /// The weight and the samples it stands for: `325 ms (162 samples)`.
    pub fn with_samples(&self, weight: Weight) -> String {
        amount_with_samples(weight, self.unit.as_deref(), self.period)
    }

    /// The same as a list, for a place that is in parentheses already: `325 ms, 162 samples`.
    pub fn listed(&self, weight: Weight) -> String {
        let (plain, full) = (self.plain(weight), self.with_samples(weight));
        match full.strip_prefix(&plain).and_then(|rest| rest.strip_prefix(" (")) {
            Some(samples) => format!("{plain}, {}", samples.trim_end_matches(')')),
            None => plain,
        }
    }

    /// The weight in a table whose heading names the unit: a count stands without it.
    pub fn cell(&self, weight: Weight) -> String {
        match self.unit.as_deref() {
            Some(unit) if is_scaled(unit) => amount(weight, Some(unit)),
            Some(_) => amount(weight, Some("")),
            None => grouped(weight),
        }
    }

    /// A change in a table, with its sign.
    pub fn change(&self, change: Weight) -> String {
        let sign = if change.is_negative() || change.is_zero() { "" } else { "+" };
        format!("{sign}{}", self.cell(change))
    }

    /// The whole: `325 ms (162 samples)`, `total 42` without a known unit; of both sides
    /// `94 ms before, 156 ms after`.
    pub fn total(&self, columns: Columns, all: Weights) -> String {
        let total = match columns {
            Columns::One => self.with_samples(all.value),
            Columns::Two => format!("{} before, {} after", self.plain(all.before), self.plain(all.value)),
        };
        if self.unit.is_some() { total } else { format!("total {total}") }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn amounts(unit: Option<&str>, period: Option<i128>) -> Amounts {
        let mut facts = Facts::default();
        facts.unit = unit.map(str::to_owned);
        facts.period = period.map(Weight::new);
        Amounts::new(&facts)
    }

    #[test]
    fn unknown_units_are_not_samples() {
        let shown = amounts(None, Some(1));
        let weight = Weight::new(1234);
        assert_eq!([shown.plain(weight), shown.listed(weight), shown.cell(weight)], ["1,234"; 3]);
        assert_eq!(shown.total(Columns::One, Weights::one(weight)), "total 1,234");
    }

    #[test]
    fn samples_stand_beside_other_units() {
        let shown = amounts(Some("ns"), Some(2_000_000));
        let weight = Weight::new(324_000_000);
        assert_eq!(shown.with_samples(weight), "324 ms (162 samples)");
        assert_eq!(shown.listed(weight), "324 ms, 162 samples");
        assert_eq!((shown.cell(weight), shown.change(weight)), ("324 ms".into(), "+324 ms".into()));
        let both = Weights { value: weight, before: Weight::new(2_000_000) };
        assert_eq!(shown.total(Columns::Two, both), "2 ms before, 324 ms after");
    }

    #[test]
    fn a_table_of_counts_names_the_unit_once() {
        let shown = amounts(Some("samples"), None);
        assert_eq!(shown.cell(Weight::new(1719)), "1,719");
        assert_eq!(shown.plain(Weight::new(1719)), "1,719 samples");
        assert_eq!(amounts(Some("cycles"), None).cell(Weight::new(12_345_678_901)), "12.3 G");
    }
}
