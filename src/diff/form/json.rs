//! JSON, for programs: every row, every number, and what was assumed.
//!
//! Weights are strings: they are exact, and JSON's readers round.

use std::io::Write;

use serde_json::{Value, json};

use super::Look;
use crate::diff::report::{Change, Presence, Report, Sampling};
use crate::error::{Error, Result};

pub(super) fn write(report: &Report, look: &Look, out: &mut dyn Write) -> Result<()> {
    let mut rows = Vec::new();
    for row in &report.rows[..look.limit.unwrap_or(usize::MAX).min(report.rows.len())] {
        let presence = match row.presence() {
            Presence::Both => "both",
            Presence::New => "new",
            Presence::Gone => "gone",
        };
        rows.push(json!({
            "name": text(&row.name),
            "presence": presence,
            "significant": row.is_significant(),
            "self": change(&row.own)?,
            "total": change(&row.total)?,
        }));
    }
    let settings = &report.settings;
    let renamed = report.renamed.iter().map(|(before, after)| json!([text(before), text(after)]));
    let whole = json!({
        "verdict": report.verdict(&text),
        "assumption": report.assumption(),
        "unit": report.unit,
        "alpha": settings.alpha,
        "min_effect_pp": settings.min_effect,
        "min_samples": settings.min_samples,
        "tests": report.tests,
        "before": sampling(report.sampling.0),
        "after": sampling(report.sampling.1),
        "profile": change(&report.profile)?,
        "renamed": renamed.collect::<Vec<_>>(),
        "left_out": report.rows.len() - rows.len(),
        "rows": rows,
    });
    serde_json::to_writer_pretty(&mut *out, &whole).map_err(|e| Error::io("write", e.into()))?;
    writeln!(out)?;
    Ok(())
}

fn text(name: &[u8]) -> String {
    String::from_utf8_lossy(name).into_owned()
}

fn sampling(sampling: Sampling) -> Value {
    json!({
        "runs": sampling.runs,
        "samples": sampling.samples,
        "period": sampling.period.to_string(),
        "period_known": sampling.period_known,
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
        "interval_pp": change.test.map(|test| [test.interval.0, test.interval.1]),
        "p": change.test.map(|test| test.p),
        "significant": change.significant,
    }))
}
