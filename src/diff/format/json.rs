//! JSON, for programs: every row, every number, the facts of both sides, and the assumptions.
//!
//! Weights are strings: they are exact, and JSON's readers round.

use std::io::Write;

use serde_json::{Map, Value, json};

use super::FormatOptions;
use crate::diff::change::{Change, Presence};
use crate::diff::detectable::Detectable;
use crate::diff::escape::Escape;
use crate::diff::notes::NoteKind;
use crate::diff::report::Report;
use crate::diff::sampling::{Sampling, Spread};
use crate::error::Result;
use crate::json_text;
use crate::profile::Facts;

pub(super) fn write(report: &Report, options: &FormatOptions, out: &mut dyn Write) -> Result<()> {
    let mut rows = Vec::new();
    for row in &report.rows[..options.limit.unwrap_or(usize::MAX).min(report.rows.len())] {
        let presence = match row.presence() {
            Presence::Both => "both",
            Presence::New => "new",
            Presence::Gone => "gone",
        };
        rows.push(json!({
            "name": text(&row.name),
            "presence": presence,
            "significant": row.is_significant(),
            "suspected": row.is_suspected(),
            "self": change(&row.own)?,
            "total": change(&row.total)?,
        }));
    }
    let given = &report.options;
    let notes = report.notes.iter().map(|note| json!({ "kind": kind(note.kind), "text": note.text }));
    let gates =
        options.verdict.iter().flat_map(|verdict| verdict.answers()).map(
            |answer| json!({ "gate": answer.gate, "outcome": answer.outcome.name(), "text": answer.text }),
        );
    let renamed = report.renamed.iter().map(|(before, after)| json!([text(before), text(after)]));
    let whole = json!({
        "verdict": report.headline_with(&Escape { name: text, unit: str::to_owned }),
        "outcome": options.verdict.as_ref().map(|verdict| verdict.outcome().name()),
        "gates": gates.collect::<Vec<_>>(),
        "notes": notes.collect::<Vec<_>>(),
        "would_have_seen": report.detectable().map(detectable),
        "assumption": report.assumption(),
        "unit": report.unit(),
        "facts": facts(&report.facts),
        "alpha": given.alpha,
        "min_effect_pp": given.min_effect,
        "min_samples": given.min_samples,
        "tests": report.tests,
        "permutation": report.permutation.map(|it| json!({ "p": it.p, "divisions": it.divisions })),
        "before": sampling(report.sampling.0),
        "after": sampling(report.sampling.1),
        "run_spread": json!({
            "recorder": report.run_spread.recorder,
            "deviation_percent": 100.0 * report.run_spread.deviation,
            "freedom": report.run_spread.freedom,
            "programs": report.run_spread.programs,
            "of_functions_percent": 100.0 * report.run_spread.of_functions,
            "functions": report.run_spread.functions,
        }),
        "profile": change(&report.profile)?,
        "renamed": renamed.collect::<Vec<_>>(),
        "left_out": report.rows.len() - rows.len(),
        "rows": rows,
    });
    out.write_all(&json_text::pretty(&whole)?)?;
    writeln!(out)?;
    Ok(())
}

/// The smallest change that would have been found.
fn detectable(seen: Detectable) -> Value {
    json!({ "pp": seen.points, "percent": seen.percent })
}

fn kind(kind: NoteKind) -> &'static str {
    match kind {
        NoteKind::Event => "event",
        NoteKind::Rate => "rate",
        NoteKind::Duration => "duration",
        NoteKind::Program => "program",
        NoteKind::Machine => "machine",
        NoteKind::Recorder => "recorder",
        NoteKind::Names => "names",
        NoteKind::Permutation => "permutation",
    }
}

fn text(name: &[u8]) -> String {
    String::from_utf8_lossy(name).into_owned()
}

/// The facts of both sides, those that are known.
fn facts(facts: &Facts) -> Value {
    let side = |facts: &Facts| {
        let mut known = Map::new();
        let mut add = |key: &str, value: Option<Value>| {
            value.map(|value| known.insert(key.to_owned(), value));
        };
        let text = |value: &Option<String>| value.as_ref().map(|text| json!(text));
        add("unit", text(&facts.unit));
        add("event", text(&facts.event));
        add("period", facts.period.map(|period| json!(period.to_string())));
        add("rate", facts.rate.map(|rate| json!(rate)));
        add("samples", facts.samples.map(|samples| json!(samples)));
        add("command", text(&facts.command));
        add("host", text(&facts.host));
        add("system", text(&facts.system));
        add("start", facts.start.map(|start| json!(humantime::format_rfc3339(start).to_string())));
        add("duration_s", facts.duration.map(|duration| json!(duration.as_secs_f64())));
        add("cpu_time_s", facts.cpu_time.map(|time| json!(time.as_secs_f64())));
        add("producer", text(&facts.producer));
        add("warnings", (!facts.warnings.is_empty()).then(|| json!(facts.warnings)));
        add("comments", (!facts.comments.is_empty()).then(|| json!(facts.comments)));
        Value::Object(known)
    };
    match &facts.sides {
        Some(sides) => json!({ "before": side(&sides.before), "after": side(&sides.after) }),
        None => Value::Null,
    }
}

fn sampling(sampling: Sampling) -> Value {
    json!({
        "runs": sampling.runs,
        "total": sampling.total.to_string(),
        "samples": sampling.samples,
        "period": sampling.period.to_string(),
        "period_known": sampling.period_known,
        "worth_samples": sampling.worth,
        "spread": match sampling.spread {
            Spread::Assumed => "assumed",
            Spread::Blocks => "blocks",
            Spread::Runs => "runs",
        },
    })
}

fn change(change: &Change) -> Result<Value> {
    Ok(json!({
        "before": change.before.to_string(),
        "after": change.after.to_string(),
        "change": change.difference()?.to_string(),
        "percent": change.percent(),
        "share_before": change.share_before,
        "share_after": change.share_after,
        "pp": change.points(),
        "interval_pp": change.share.map(|test| [test.interval.0, test.interval.1]),
        "interval_percent": change.weight.map(|test| [test.interval.0, test.interval.1]),
        "p": change.p,
        "significant": change.significant,
        "share_significant": change.share_significant,
        "variation_percent": [change.variation.0, change.variation.1],
        "would_have_seen": change.detectable.map(detectable),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Profile;

    #[test]
    fn notes_say_their_kind() {
        let profile = |event: &str, host: &str| {
            Profile::from_bytes(format!("# event: {event}\n# host: {host}\n# duration: 1 s\nmain;a 100\n"))
                .unwrap()
        };
        let (before, after) = (profile("cycles", "a"), profile("instructions", "b"));
        let report = crate::diff::Diff::new(&before, &after).report().unwrap();
        let mut out = Vec::new();
        report.write(crate::diff::ReportFormat::Json, &mut out).unwrap();
        let json: Value = serde_json::from_slice(&out).unwrap();
        let kinds: Vec<_> =
            json["notes"].as_array().unwrap().iter().map(|note| note["kind"].as_str()).collect();
        assert_eq!(kinds, [Some("event"), Some("machine")]);
    }
}
