//! The tables of `--list-values` and `--list-labels`.

use crate::cli::bounded;
use crate::collapse::{Report, Value, ValueTotal};
use crate::printable::printable;
use crate::profile::Profile;
use crate::profile::units::amount;
use crate::weight::Weight;

/// The table of `--list-values`, with a `*` before the values that would be kept.
pub(super) fn list_values(report: &Report) -> String {
    let cells = |value: &Value, total: &ValueTotal| {
        let name = match value.name.is_empty() {
            true => "-".to_owned(),
            false => printable(&value.name),
        };
        let kept = if total.kept { "*" } else { "" };
        let unit = printable(value.unit.as_deref().unwrap_or("-").as_bytes());
        [kept.to_owned(), name, total.samples.to_string(), total.weight.to_string(), unit]
    };
    let head = ["", "value", "samples", "total", "unit"].map(str::to_owned);
    let rows: Vec<[String; 5]> =
        [head].into_iter().chain(report.values.iter().map(|(v, t)| cells(v, t))).collect();
    let width = |at: usize| rows.iter().map(|row| row[at].chars().count()).max().unwrap_or(0);
    let (name, samples, total) = (width(1), width(2), width(3));
    let line = |[kept, value, count, weight, unit]: &[String; 5]| {
        format!("{kept:1} {value:name$}  {count:>samples$}  {weight:>total$}  {unit}\n")
    };
    rows.iter().map(line).collect()
}

/// The table of `--list-labels`.
pub(super) fn list_labels(profile: &Profile) -> crate::Result<String> {
    let unit = profile.facts().unit.as_deref();
    let mut rows = vec![["label", "values", "samples", "weight", "heaviest"].map(str::to_owned)];
    for count in profile.label_counts()? {
        let heaviest = match (count.key.as_str(), profile.time_span()) {
            ("time", Some((first, last))) => {
                let seconds = |nanos| amount(Weight::from(nanos), Some("ns"));
                format!("{} to {}", seconds(first), seconds(last))
            }
            _ => {
                let named = count.heaviest.iter().map(|(value, weights)| {
                    format!("{} ({})", bounded(printable(value)), amount(weights.value, unit))
                });
                named.collect::<Vec<_>>().join(", ")
            }
        };
        let (values, samples) = (count.values.to_string(), count.samples.to_string());
        rows.push([
            printable(count.key.as_bytes()),
            values,
            samples,
            count.weights.value.to_string(),
            heaviest,
        ]);
    }
    let width = |at: usize| rows.iter().map(|row| row[at].chars().count()).max().unwrap_or(0);
    let (label, values, samples, weight) = (width(0), width(1), width(2), width(3));
    let line = |[key, count, of, sum, heaviest]: &[String; 5]| {
        let line = format!("{key:label$}  {count:>values$}  {of:>samples$}  {sum:>weight$}  {heaviest}");
        format!("{}\n", line.trim_end())
    };
    Ok(rows.iter().map(line).collect())
}
