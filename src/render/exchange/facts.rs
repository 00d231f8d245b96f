//! Facts of a profile as the formats of exchange have them: types of values, durations, and comments.

use std::time::Duration;

use crate::error::Result;
use crate::profile::{Facts, header, units};
use crate::weight::Weight;

/// The comment that tells `fg-collapse` that names are frames, to be left as they are.
pub(in crate::render) const FRAMES_COMMENT: &str = "folded stacks, written by fg-render";

/// The facts for which the format has no field, as the header of folded text has them.
pub(in crate::render) fn comments(facts: &Facts) -> impl Iterator<Item = String> {
    const FIELDS: &[&str] = &["unit", "period", "start", "duration", "columns"];
    header::entries(facts).into_iter().filter(|(key, _)| !FIELDS.contains(&key.as_str())).map(
        |(key, value)| match key.as_str() {
            "comment" => value,
            _ => format!("{key}: {value}"),
        },
    )
}

/// The facts in the unit that is written, and the number of those in theirs: the smallest of its kind, so that
/// fractions of a second become whole nanoseconds, but for a unit that the user has chosen.
///
/// # Errors
/// [`crate::ErrorKind::Overflow`].
pub(in crate::render) fn as_written(mut facts: Facts, is_chosen: bool) -> Result<(Facts, Weight)> {
    let smallest = facts.unit.as_deref().filter(|_| !is_chosen).and_then(units::in_smallest);
    let Some((unit, factor)) = smallest.filter(|(_, factor)| *factor != Weight::ONE) else {
        return Ok((facts, Weight::ONE));
    };
    facts.unit = Some(unit.to_owned());
    facts.period = facts.period.map(|period| period.checked_mul(factor)).transpose()?;
    Ok((facts, factor))
}

/// The name of a type of value and its unit, as other writers of the format have them: the name is
/// the event, where that is known.
pub(crate) fn value_type(facts: &Facts) -> (&str, &str) {
    let (kind, unit) = match facts.unit.as_deref() {
        // A count of another name would be a count of something else.
        Some("samples") => return ("samples", "count"),
        Some("ns") => ("time", "nanoseconds"),
        Some("us" | "µs") => ("time", "microseconds"),
        Some("ms") => ("time", "milliseconds"),
        Some("s") => ("time", "seconds"),
        Some("bytes") => ("space", "bytes"),
        Some(other) => (other, other),
        None => ("weight", ""),
    };
    (facts.event.as_deref().unwrap_or(kind), unit)
}

/// Nanoseconds as the format holds them.
pub(in crate::render) fn nanos(duration: Duration) -> Option<u64> {
    i64::try_from(duration.as_nanos()).ok().filter(|nanos| *nanos > 0).map(|nanos| nanos as u64)
}
