//! The lines of an output of text that say what was recorded, and what to know before believing it.

use super::Settings;
use super::amounts::Amounts;
use super::writer::Target;
use crate::error::Result;
use crate::folded::{Columns, WalkSummary};
use crate::printable::{markdown_code, markdown_text, printable};

/// The title and the subtitle, where there are any: no kind of picture, and no subtitle that only
/// repeats the total.
fn head(settings: &Settings, summary: &WalkSummary) -> Result<(Option<String>, Option<String>)> {
    let title = settings.picture.title.clone().or_else(|| summary.facts.title());
    let repeats = |subtitle: &String| -> Result<bool> {
        let total = settings.shown(summary.total.value)?;
        let amounts = Amounts::new(&summary.facts);
        Ok(summary.columns == Columns::Two || printable(subtitle.as_bytes()) == amounts.plain(total))
    };
    let subtitle = match settings.subtitle_of(summary)? {
        Some(subtitle) if settings.picture.subtitle.is_some() || !repeats(&subtitle)? => Some(subtitle),
        _ => None,
    };
    Ok((title, subtitle))
}

/// Writes the title, the subtitle and the warnings, a line each.
pub(super) fn write_text(settings: &Settings, summary: &WalkSummary, target: &mut dyn Target) -> Result<()> {
    let (title, subtitle) = head(settings, summary)?;
    for line in title.iter().chain(&subtitle) {
        writeln!(target, "{}", printable(line.as_bytes()))?;
    }
    for warning in &summary.facts.warnings {
        writeln!(target, "warning: {}", printable(warning.as_bytes()))?;
    }
    Ok(())
}

/// Writes the same as paragraphs of Markdown.
pub(super) fn write_markdown(
    settings: &Settings,
    summary: &WalkSummary,
    target: &mut dyn Target,
) -> Result<()> {
    let (title, subtitle) = head(settings, summary)?;
    let title = title.map(|title| markdown_code(title.as_bytes()));
    let subtitle = subtitle.map(|subtitle| markdown_text(&subtitle));
    let line: Vec<String> = title.into_iter().chain(subtitle).collect();
    if !line.is_empty() {
        writeln!(target, "{}\n", line.join(": "))?;
    }
    for warning in &summary.facts.warnings {
        writeln!(target, "> Warning: {}\n", markdown_text(warning))?;
    }
    Ok(())
}
