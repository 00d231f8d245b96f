//! The findings of a collapser besides samples.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::collapse::kit::values;
use crate::collapse::{CollapseOptions, Value, ValueSelection, ValueTotal};
use crate::error::{Error, Position, Result};
use crate::folded::NotUnderstood;
use crate::profile::Facts;
use crate::weight::Weight;

/// Names of values that say no more than a unit does.
const UNTOLD: &[&[u8]] = &[b"samples", b"sample", b"count", b"weight", b"time", b"space", b"@"];

/// The findings of a collapser besides samples.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// Lines that were left out.
    pub not_understood: NotUnderstood,
    /// The totals of each value, kept or not.
    pub values: BTreeMap<Value, ValueTotal>,
    /// The value that [`ValueSelection::Default`] has settled on, where that is the one that comes first.
    pub first_value: Option<Vec<u8>>,
    /// The facts that the recording states.
    pub facts: Facts,
    /// The facts of the parts of an input, in any order, before they are merged.
    pub(crate) parts: Vec<Facts>,
    /// Notes for the user, each once.
    pub notes: Vec<String>,
    /// Notes for `--verbose`.
    pub details: Vec<String>,
    /// The names of values in the producer's order, as far as it is known: [`Report::values`] has another.
    pub(crate) order: Vec<Vec<u8>>,
}

impl Report {
    /// Adds to the totals of a value.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Overflow`].
    pub fn add_value(&mut self, value: Value, total: ValueTotal) -> Result<()> {
        self.declare(&value.name);
        let sum = self.values.entry(value).or_default();
        sum.samples += total.samples;
        sum.weight = sum.weight.checked_add(total.weight)?;
        sum.kept |= total.kept;
        Ok(())
    }

    /// Notes that this value comes next in the producer's order.
    pub(crate) fn declare(&mut self, name: &[u8]) {
        if !self.order.iter().any(|known| known == name) {
            self.order.push(name.to_vec());
        }
    }

    /// The number of samples is the weight of this value, which counts them.
    pub(crate) fn samples_are(&mut self, value: &Value) {
        let counted = self.values.get(value).and_then(|total| total.weight.to_u64());
        self.facts.samples = counted.filter(|samples| *samples > 0).or(self.facts.samples);
    }

    /// Adds a note for standard error, and puts it as a warning into the result.
    pub(crate) fn warn(&mut self, warning: impl Into<String>) {
        let warning = warning.into();
        self.facts.warn(&warning);
        self.note(warning);
    }

    /// Warns of something that puts the weights in doubt, so that `--strict` refuses it.
    pub(crate) fn doubt(&mut self, doubt: impl Into<String>) {
        let doubt = doubt.into();
        self.warn(&doubt);
        self.not_understood.doubt(doubt);
    }

    /// Warns of anything but blanks behind the end of a recording, which is not read.
    ///
    /// # Errors
    /// The system's or a decoder's.
    #[cfg(feature = "collapse")]
    pub(crate) fn expect_end(&mut self, reader: &mut crate::input::Reader) -> Result<()> {
        while !reader.is_at_end()? {
            if !reader.byte()?.is_ascii_whitespace() {
                self.doubt(format!(
                    "there is more behind the end of the recording, at byte {}, which is not read",
                    reader.position() - 1
                ));
                break;
            }
        }
        Ok(())
    }

    /// Holds the sum of what was read against the total that the recording states of itself.
    #[cfg(feature = "collapse")]
    pub(crate) fn check_total(&mut self, what: impl std::fmt::Display, sum: Weight, stated: Weight) {
        if sum != stated {
            self.doubt(format!("{what} add up to {sum}, the file says {stated}"));
        }
    }

    /// Says something once.
    pub fn note(&mut self, note: impl Into<String>) {
        let note = note.into();
        if !self.notes.contains(&note) {
            self.notes.push(note);
        }
    }

    /// Adds what another input of the same profile came across, but for its facts.
    pub(crate) fn merge(&mut self, later: Report) -> Result<()> {
        self.not_understood.merge(later.not_understood);
        self.first_value = self.first_value.take().or(later.first_value);
        later.order.iter().for_each(|name| self.declare(name));
        later.notes.into_iter().for_each(|note| self.note(note));
        for detail in later.details {
            if !self.details.contains(&detail) {
                self.details.push(detail);
            }
        }
        later.values.into_iter().try_for_each(|(value, total)| self.add_value(value, total))
    }

    /// Takes over the report of one of several inputs, and puts its facts to those of the others.
    pub(crate) fn take_part(
        &mut self,
        mut part: Report,
        facts: &mut Vec<Facts>,
        (name, factor): (Arc<str>, Weight),
        options: &CollapseOptions,
    ) -> Result<()> {
        part.settle_facts(options);
        part.expect_wanted(options).map_err(|error| error.or_at(|| Position::file(name.clone())))?;
        if factor != Weight::ONE {
            part.facts = Facts { period: None, ..part.facts.without_counts() };
        }
        let unit = part.facts.unit.as_deref();
        let before = facts.iter().find_map(|part| part.unit.as_deref());
        if let (Some(unit), Some(before)) = (unit, before)
            && unit != before
            && options.values != ValueSelection::All
        {
            let what = format!("weights in {unit} cannot be added to weights in {before}");
            return Err(Error::setting(what).at(Position::file(name)));
        }
        facts.push(std::mem::take(&mut part.facts));
        self.merge(part)
    }

    /// Takes the facts of all inputs. An input whose weights are all zero states no unit, and none speaks against
    /// that of the others.
    pub(crate) fn merge_facts(&mut self, parts: &[Facts]) {
        let facts = Facts::merged(parts);
        let unit = facts.unit.clone().or_else(|| self.unit().map(str::to_owned));
        self.facts = Facts { unit, ..facts };
    }

    /// Refuses stacks of a value that was not asked for: folded text has a single one.
    fn expect_wanted(&self, options: &CollapseOptions) -> Result<()> {
        let kept = self.values.iter().filter(|(_, total)| total.kept && total.samples > 0);
        for (value, _) in kept {
            let name = match &value.name[..] {
                [] => self.facts.only_value().as_bytes(),
                name => name,
            };
            options.values.expect(name)?;
        }
        Ok(())
    }

    /// The value to keep where the one that was to be kept has no samples, and the warning that says it.
    pub(crate) fn other_value(&self) -> Option<(Value, String)> {
        if self.values.values().any(|total| total.kept && total.samples > 0) {
            return None;
        }
        let zero = self.values.iter().find(|(_, total)| total.kept).map(|(value, _)| value.clone());
        let is_zero = zero.is_some();
        let default = match (zero, &self.first_value) {
            (Some(zero), _) => zero,
            (None, Some(name)) => Value { name: name.clone(), unit: None },
            (None, None) => return None,
        };
        let mut holding: Vec<&Value> =
            self.values.iter().filter(|(_, total)| total.samples > 0).map(|(value, _)| value).collect();
        holding.sort_by_key(|value| self.order.iter().position(|name| *name == value.name));
        let other = values::first_holding(&default, holding.into_iter())?;
        Some((other.clone(), values::chosen_instead(&default, is_zero, other)))
    }

    /// Completes the facts from the values: unit, event, number of samples.
    pub(super) fn settle_facts(&mut self, options: &CollapseOptions) {
        let kept: Vec<(&Value, &ValueTotal)> =
            self.values.iter().filter(|(_, total)| total.kept && total.samples > 0).collect();
        let unit = if options.count { Some("samples".to_owned()) } else { self.unit().map(str::to_owned) };
        let event = match &kept[..] {
            [(value, _)] if !UNTOLD.contains(&&value.name[..]) => crate::profile::fact(&value.name),
            _ => None,
        };
        // A stack that stands there once may stand for many samples: only their own unit counts them.
        let weight = kept.iter().try_fold(Weight::ZERO, |sum, (_, total)| sum.checked_add(total.weight)).ok();
        let counted = weight.filter(|_| unit.as_deref() == Some("samples")).and_then(Weight::to_u64);
        let facts = &mut self.facts;
        facts.unit = unit.or(facts.unit.take());
        facts.event = facts.event.take().or(event);
        facts.samples = counted.or(facts.samples);
        if options.count {
            facts.period = None;
        }
    }

    /// The unit of the values that were kept, if it is known and the same for all.
    pub fn unit(&self) -> Option<&str> {
        let mut kept = self.values.iter().filter(|(_, total)| total.kept && total.samples > 0);
        let unit = kept.next()?.0.unit.as_deref()?;
        kept.all(|(value, _)| value.unit.as_deref() == Some(unit)).then_some(unit)
    }
}
