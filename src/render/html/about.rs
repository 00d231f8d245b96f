//! The facts and settings of a page: one JSON object beside the columns of the tree.

use serde_json::{Value, json};

use super::payload::Payload;
use crate::error::Result;
use crate::facts::{ChangedFunction, Findings};
use crate::folded::{Columns, WalkSummary};
use crate::profile::{Facts, header};
use crate::render::colour::{Colours, PALETTES, Scheme};
use crate::render::compare::WIDTHS;
use crate::render::{Cut, Settings};

/// The facts and settings of a page.
pub(super) fn about(payload: &Payload, summary: &WalkSummary, settings: &Settings) -> Result<Value> {
    let facts = &summary.facts;
    let (picture, comparison) = (&settings.picture, &settings.comparison);
    let Colours { palette, seed, by_width, scheme, negate, .. } = &picture.colours;
    let palette_name = PALETTES.iter().find(|(_, _, known)| known == palette).map(|(name, _, _)| name);
    let widths = WIDTHS.iter().find(|(_, known)| *known == comparison.widths).map(|(name, _)| name);
    let legend: Vec<Value> = palette.legend().iter().map(|(label, hue)| json!([label, *hue as u8])).collect();
    let total = settings.shown_both(summary.total)?;
    let differential = summary.columns == Columns::Two;
    let measured =
        if differential { Some(facts.subtitle_of_sides(total)) } else { facts.subtitle(total.value) };
    let sides = facts.sides.as_ref().map(|sides| [sides.before.details(), sides.after.details()]);
    let mut about = json!({
        "tool": concat!("fg-render ", env!("CARGO_PKG_VERSION")),
        "title": settings.page_title(facts, summary.columns),
        "subtitle": picture.subtitle,
        "measured": measured,
        "notes": picture.notes,
        "details": facts.details(),
        "sides": sides,
        "warnings": warnings(facts),
        "labels": facts.labels,
        "producer": facts.producer,
        "header": header::write(facts),
        "unit": facts.unit,
        "sampleWeight": facts.period.map(|period| period.to_string()),
        "rootsAreCode": payload.roots_are_code,
        "total": total.value.to_string(),
        "before": total.before.to_string(),
        "frames": payload.frames,
        "scales": payload.scales,
        "differential": differential,
        "chart": picture.flame_chart,
        "icicle": picture.inverted,
        "cutStart": picture.cut == Cut::Start,
        "palette": palette_name,
        "seed": seed,
        "byWidth": by_width,
        "legend": legend,
        "found": picture.search_colour.to_string(),
        "redBlue": *scheme == Scheme::RedBlue,
        "negate": negate,
        "widths": widths,
        "ownChange": comparison.own,
        // JSON has no infinity, which stands for taking every change as significant.
        "alpha": comparison.alpha.is_finite().then_some(comparison.alpha),
        "period": comparison.period.map(|period| period.to_f64() * settings.factor.to_f64()),
    });
    if let Some(findings) = &facts.findings {
        (about["verdict"], about["changed"]) = verdict(findings);
    }
    Ok(about)
}

/// The verdict of a comparison, and the functions that changed.
pub(super) fn verdict(findings: &Findings) -> (Value, Value) {
    let row = |function: &ChangedFunction| json!([function.name, function.own, function.total]);
    (json!(findings.parts_of_verdict()), findings.changed.iter().map(row).collect())
}

/// The warnings of the whole and of both sides; one that is of one side only says which.
fn warnings(facts: &Facts) -> Vec<String> {
    let Some(sides) = &facts.sides else { return facts.warnings.clone() };
    let (before, after) = (&sides.before.warnings, &sides.after.warnings);
    let (shared, of_before): (Vec<_>, Vec<_>) = before.iter().partition(|warning| after.contains(warning));
    let of_after = after.iter().filter(|warning| !before.contains(warning));
    let of_neither =
        facts.warnings.iter().filter(|warning| !before.contains(warning) && !after.contains(warning));
    let alone = of_neither.chain(shared).cloned();
    let of_before = of_before.into_iter().map(|warning| format!("before: {warning}"));
    alone.chain(of_before).chain(of_after.map(|warning| format!("after: {warning}"))).collect()
}
