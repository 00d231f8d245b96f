//! The results of reading a file once: order, weights, facts; and the one unit of all files.

use super::roots::Roots;
use super::side::Side;
use crate::error::{Error, Result};
use crate::folded::NotUnderstood;
use crate::profile::Facts;
use crate::profile::units::in_smallest;
use crate::significance::SampleWeight;
use crate::weight::Weight;

/// The results of reading one file once.
#[derive(Clone, Debug, Default)]
pub(crate) struct Survey {
    /// The weight of all stacks.
    pub(crate) total: Weight,
    /// The number of lines.
    pub(crate) lines: u64,
    /// The lines are in frame order.
    pub(crate) in_order: bool,
    /// Lines that are no folded stacks.
    pub(crate) not_understood: NotUnderstood,
    /// The weight of the stacks with a frame that the expression of the survey matches.
    pub(crate) reference: Weight,
    /// The weight of a sample, as far as the weights tell it.
    pub(crate) sample_weight: SampleWeight,
    /// The facts of the file.
    pub(crate) facts: Facts,
    /// The first frames of the stacks.
    pub(super) roots: Roots,
}

/// The facts of one side, of all its files together.
pub(crate) fn facts_of(surveys: &[(Side, Survey)], side: Side) -> Facts {
    let of_side = surveys.iter().filter(|(of, _)| *of == side);
    let parts: Vec<Facts> = of_side.map(|(_, survey)| survey.facts.clone()).collect();
    Facts::merged(&parts)
}

impl Survey {
    /// Changes to a unit; the file's own unit has this many of it.
    pub(super) fn convert(&mut self, factor: Weight, unit: &str) -> Result<()> {
        self.total = self.total.checked_mul(factor)?;
        self.reference = self.reference.checked_mul(factor)?;
        self.sample_weight = self.sample_weight.times(factor)?;
        convert_facts(&mut self.facts, factor, unit)
    }
}

/// Changes the unit of facts to one of which their own has this many.
pub(super) fn convert_facts(facts: &mut Facts, factor: Weight, unit: &str) -> Result<()> {
    facts.period = facts.period.map(|period| period.checked_mul(factor)).transpose()?;
    facts.unit = Some(unit.to_owned());
    Ok(())
}

/// The one unit of the files of both sides.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Units {
    /// The unit to convert to, and the factor of each file; `None` if all have one unit already.
    pub(super) conversion: Option<(&'static str, Vec<Weight>)>,
    /// A remark if the unit is not known of all files.
    pub(crate) note: Option<String>,
}

impl Units {
    /// Finds the unit in which all files can be compared. Nanoseconds and microseconds become
    /// nanoseconds. Files without stacks do not matter: they come without facts.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Setting`] for units of different kinds.
    pub(crate) fn of(files: &[(Side, Option<&Facts>)]) -> Result<Units> {
        let with_stacks = || files.iter().filter_map(|(side, facts)| Some((*side, (*facts)?)));
        let mut known = with_stacks().filter_map(|(side, facts)| Some((side, facts.unit.as_deref()?)));
        let Some((first_side, first)) = known.next() else { return Ok(Units::default()) };
        let note = with_stacks()
            .any(|(_, facts)| facts.unit.is_none())
            .then(|| format!("some profiles are in {first}, others do not say their unit"));
        let others: Vec<(Side, &str)> = known.filter(|(_, unit)| *unit != first).collect();
        let Some(&(other_side, other)) = others.first() else { return Ok(Units { conversion: None, note }) };
        let smallest = in_smallest(first).map(|(smallest, _)| smallest);
        let is_alike = |unit: &str| smallest.is_some() && in_smallest(unit).map(|(unit, _)| unit) == smallest;
        let unlike = others.iter().find(|(_, unit)| !is_alike(unit));
        let (Some(unit), None, None) = (smallest, unlike, &note) else {
            let (other_side, other) = unlike.copied().unwrap_or((other_side, other));
            let what = format!(
                "different units cannot be compared: {first} {}, {other} {}; \
                 --count-samples counts the samples of recordings instead",
                first_side.name(),
                other_side.name()
            );
            return Err(Error::setting(what));
        };
        let factor = |facts: &Option<&Facts>| {
            let unit = facts.and_then(|facts| facts.unit.as_deref());
            unit.and_then(in_smallest).map_or(Weight::ONE, |(_, factor)| factor)
        };
        let factors = files.iter().map(|(_, facts)| factor(facts)).collect();
        Ok(Units { conversion: Some((unit, factors)), note: None })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn units(before: Option<&str>, after: Option<&str>) -> Result<Units> {
        let facts = |unit: Option<&str>| {
            let mut facts = Facts::default();
            facts.unit = unit.map(str::to_owned);
            facts
        };
        let (before, after, none) = (facts(before), facts(after), facts(None));
        assert_eq!(Units::of(&[(Side::Before, Some(&none)), (Side::After, None)]).unwrap(), Units::default());
        Units::of(&[(Side::Before, Some(&before)), (Side::After, Some(&after))])
    }

    #[test]
    fn units_have_to_be_of_one_kind() {
        assert_eq!(units(None, None).unwrap(), Units::default());
        assert_eq!(units(Some("ns"), Some("ns")).unwrap(), Units::default());
        assert_eq!(units(Some("odd"), Some("odd")).unwrap(), Units::default());
        let unknown = units(Some("ns"), None).unwrap();
        assert!(unknown.conversion.is_none() && unknown.note.unwrap().contains("some profiles are in ns"));
        for (before, after) in [("ns", "bytes"), ("samples", "us"), ("odd", "other")] {
            let error = units(Some(before), Some(after)).unwrap_err().to_string();
            assert!(error.contains(&format!("{before} before, {after} after")), "{error}");
        }
    }

    #[test]
    fn units_of_one_kind_become_the_smallest() {
        let factors = |before, after| units(Some(before), Some(after)).unwrap().conversion.unwrap();
        assert_eq!(factors("ns", "us"), ("ns", vec![Weight::ONE, Weight::new(1000)]));
        assert_eq!(factors("MiB", "bytes"), ("bytes", vec![Weight::new(1 << 20), Weight::ONE]));
    }
}
