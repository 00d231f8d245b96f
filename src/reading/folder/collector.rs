//! The messages about many recordings, put together in the order of their paths.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::part::{Part, has_samples};
use crate::collapse::{Report, ValueSelection};
use crate::error::{Error, Position, Result};
use crate::folded::Columns;
use crate::profile::Facts;

/// The properties that weights share if they can be added up.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Addable {
    is_differential: bool,
    unit: Option<String>,
    first_value: Option<Vec<u8>>,
}

/// A recording that was read, without its stacks.
pub(super) struct Outcome {
    pub has_samples: bool,
    pub group: Addable,
    name: Arc<str>,
    report: Report,
    known: Vec<String>,
    is_from_cache: bool,
    left_out: u64,
}

impl Outcome {
    /// Of a recording of this name; its report moves here.
    pub(super) fn new(name: Arc<str>, part: &mut Part) -> Outcome {
        let report = std::mem::take(&mut part.saved.report);
        let group = Addable {
            is_differential: part.stacks.columns() == Columns::Two,
            unit: report.facts.unit.clone(),
            first_value: report.first_value.clone(),
        };
        Outcome {
            has_samples: has_samples(&report),
            group,
            name,
            report,
            known: std::mem::take(&mut part.saved.known),
            is_from_cache: part.is_from_cache,
            left_out: part.saved.left_out,
        }
    }
}

/// The findings in all recordings.
#[derive(Default)]
pub(super) struct Collector {
    /// All values are kept, whatever their units.
    keeps_all: bool,
    /// Outcomes that came before those of earlier recordings.
    pending: BTreeMap<usize, Result<Outcome>>,
    next: usize,
    /// The properties of the sums so far, if there are any.
    chosen: Option<Addable>,
    /// Recordings that settled on another value, and have to be read again.
    again: Vec<usize>,
    rejects: Vec<(usize, Error)>,
    facts: Option<Facts>,
    pub report: Report,
    /// The recorded labels that any of them has.
    pub known: BTreeSet<String>,
    pub read: u64,
    /// The names of those without samples.
    pub empty: Vec<String>,
    pub from_cache: u64,
    pub left_out: u64,
}

impl Collector {
    pub(super) fn new(values: &ValueSelection) -> Collector {
        Collector { keeps_all: *values == ValueSelection::All, ..Collector::default() }
    }

    /// Takes the outcome of the recording of a number, in any order.
    pub(super) fn put(&mut self, number: usize, outcome: Result<Outcome>) -> Result<()> {
        self.pending.insert(number, outcome);
        while let Some(outcome) = self.pending.remove(&self.next) {
            self.take(self.next, outcome)?;
            self.next += 1;
        }
        Ok(())
    }

    /// Takes the outcomes that wait for others.
    pub(super) fn settle(&mut self) -> Result<()> {
        std::mem::take(&mut self.pending)
            .into_iter()
            .try_for_each(|(number, outcome)| self.take(number, outcome))
    }

    fn take(&mut self, number: usize, outcome: Result<Outcome>) -> Result<()> {
        let outcome = match outcome {
            Ok(outcome) => outcome,
            Err(e) => {
                self.rejects.push((number, e));
                return Ok(());
            }
        };
        if outcome.has_samples {
            match self.choose(&outcome.group) {
                Ok(true) => {}
                Ok(false) => {
                    self.again.push(number);
                    return Ok(());
                }
                Err(what) => {
                    let error = Error::setting(what).at(Position::file(outcome.name));
                    self.rejects.push((number, error));
                    return Ok(());
                }
            }
        }
        self.read += 1;
        if !outcome.has_samples {
            self.empty.push(outcome.name.to_string());
        }
        self.from_cache += u64::from(outcome.is_from_cache);
        self.left_out += outcome.left_out;
        self.known.extend(outcome.known);
        let mut report = outcome.report;
        let facts = std::mem::take(&mut report.facts);
        if outcome.has_samples {
            self.facts = Some(match self.facts.take() {
                Some(so_far) => Facts::merged(&[so_far, facts]),
                None => facts,
            });
        }
        // They name their recordings: no two are equal.
        self.report.details.append(&mut report.details);
        self.report.merge(report)
    }

    /// Returns true if weights can be added to those before, and false if their recording has to be read again
    /// for the value of those before. The error says why they cannot be one.
    fn choose(&mut self, group: &Addable) -> std::result::Result<bool, String> {
        let Some(chosen) = &mut self.chosen else {
            self.chosen = Some(group.clone());
            return Ok(true);
        };
        if group.is_differential != chosen.is_differential {
            return Err(
                "a profile and a differential profile, with two weights on each line, cannot be one".into()
            );
        }
        match (&group.unit, &chosen.unit) {
            (Some(unit), Some(before)) if unit != before && !self.keeps_all => {
                return Err(format!(
                    "weights in {unit} cannot be added to weights in {before}; --value chooses"
                ));
            }
            _ => {}
        }
        if group.first_value.is_some()
            && chosen.first_value.is_some()
            && group.first_value != chosen.first_value
        {
            return Ok(false);
        }
        chosen.unit = chosen.unit.take().or_else(|| group.unit.clone());
        chosen.first_value = chosen.first_value.take().or_else(|| group.first_value.clone());
        Ok(true)
    }

    /// Returns true if the sums of a group are part of the result.
    pub(super) fn accepts(&self, group: &Addable) -> bool {
        self.chosen.as_ref().is_some_and(|chosen| {
            group.is_differential == chosen.is_differential
                && (self.keeps_all || group.unit.is_none() || group.unit == chosen.unit)
                && (group.first_value.is_none() || group.first_value == chosen.first_value)
        })
    }

    /// One weight a stack, or two.
    pub(super) fn columns(&self) -> Columns {
        match self.chosen.as_ref().is_some_and(|chosen| chosen.is_differential) {
            true => Columns::Two,
            false => Columns::One,
        }
    }

    /// The recordings to read again, and the value to read.
    pub(super) fn take_others(&mut self) -> (Vec<usize>, Option<Vec<u8>>) {
        let first_value = self.chosen.as_ref().and_then(|chosen| chosen.first_value.clone());
        (std::mem::take(&mut self.again), first_value)
    }

    /// The facts of all; each stack begins with these labels.
    pub(super) fn take_facts(&mut self, path_keys: &[String]) -> Facts {
        let mut facts = self.facts.take().unwrap_or_default();
        if facts.labels.is_empty() {
            // Recordings have labels of their own, each others: those are frames now.
            facts.labels = path_keys.to_vec();
        }
        facts
    }

    /// The errors of recordings that were left out, in the order of their paths.
    pub(super) fn take_rejects(&mut self) -> Vec<Error> {
        let mut rejects = std::mem::take(&mut self.rejects);
        rejects.sort_by_key(|(number, _)| *number);
        rejects.into_iter().map(|(_, error)| error).collect()
    }
}
