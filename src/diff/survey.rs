//! What is known of a file, or of a side, once it has been read.

use super::side::Side;
use crate::error::{ErrorKind, Result};
use crate::folded::NotUnderstood;
use crate::profile::Facts;
use crate::significance::SampleWeight;
use crate::weight::Weight;

/// What is known of one file after it has been read once.
#[derive(Clone, Debug, Default)]
pub(crate) struct Survey {
    /// The weight of all stacks.
    pub(crate) total: Weight,
    /// The number of lines.
    pub(crate) lines: u64,
    /// Whether they are in frame order.
    pub(crate) in_order: bool,
    /// Lines that are no folded stacks.
    pub(crate) not_understood: NotUnderstood,
    /// The weight of the stacks with a frame that the expression of the survey matches.
    pub(crate) reference: Weight,
    /// What the weights tell of the weight of a sample.
    pub(crate) sample_weight: SampleWeight,
    /// The facts of the file.
    pub(crate) facts: Facts,
}

/// The facts of one side, of all its files together.
pub(crate) fn facts_of(surveys: &[(Side, Survey)], side: Side) -> Facts {
    let of_side = surveys.iter().filter(|(of, _)| *of == side);
    let parts: Vec<Facts> = of_side.map(|(_, survey)| survey.facts.clone()).collect();
    Facts::merged(&parts)
}

/// Checks that the files of both sides have one unit, and says so if it is not known of all.
/// Files without stacks do not matter.
///
/// # Errors
/// [`ErrorKind::Setting`] if units differ.
pub(crate) fn check_units<'f>(files: impl Iterator<Item = (Side, &'f Facts)>) -> Result<Option<String>> {
    let mut known: Option<(Side, &str)> = None;
    let mut all_known = true;
    for (side, facts) in files {
        match (facts.unit.as_deref(), known) {
            (None, _) => all_known = false,
            (Some(unit), None) => known = Some((side, unit)),
            (Some(unit), Some((first_side, first))) if unit != first => {
                let what = format!(
                    "different units cannot be compared: {first} {}, {unit} {}; \
                     --count counts the samples of recordings instead",
                    first_side.name(),
                    side.name()
                );
                return Err(ErrorKind::Setting { what }.into());
            }
            (Some(_), Some(_)) => {}
        }
    }
    let note = |(_, unit): (Side, &str)| {
        format!("not every file says its unit, some say {unit}: weights are shown without a unit")
    };
    Ok(known.filter(|_| !all_known).map(note))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_have_to_be_the_same() {
        let facts = |unit: Option<&str>| {
            let mut facts = Facts::default();
            facts.unit = unit.map(str::to_owned);
            facts
        };
        let check = |before: Option<&str>, after: Option<&str>| {
            let (before, after) = (facts(before), facts(after));
            check_units([(Side::Before, &before), (Side::After, &after)].into_iter())
        };
        assert_eq!(check(None, None).unwrap(), None);
        assert_eq!(check(Some("ns"), Some("ns")).unwrap(), None);
        assert!(check(Some("ns"), None).unwrap().unwrap().contains("some say ns"));
        let error = check(Some("ns"), Some("bytes")).unwrap_err().to_string();
        assert!(error.contains("ns before, bytes after"), "{error}");
    }
}
