//! `tsv`: a row for each function, for awk and spreadsheets.
//!
//! The columns are `name`, `self`, `self_percent`, `total`, `total_percent`, `unit`; of
//! differential input `name`, `self_before`, `self_after`, `total_before`, `total_after`, `unit`.
//! Weights are exact, percentages have six decimals, and no name holds a tab or a line end. A name
//! that a spreadsheet would take for a formula begins with an apostrophe.

use super::format::takes;
use super::functions::{Functions, Row};
use super::gathered::Gathered;
use super::label::percent;
use super::writer::{Finished, Target};
use super::{Format, Settings};
use crate::error::Result;
use crate::folded::{Columns, WalkSummary};
use crate::printable::cell;

/// The format.
pub const FORMAT: Format = Format {
    name: "tsv",
    endings: &["tsv"],
    about: "the table of functions with tabs between its columns",
    takes: &[takes::TABLE, takes::UNIT],
    streams: false,
    open: |settings, target| {
        Ok(Box::new(Gathered::new(Functions::of_table(settings), settings, target, write)))
    },
};

fn write(
    functions: Functions,
    settings: &Settings,
    summary: &WalkSummary,
    target: &mut dyn Target,
) -> Result<Finished> {
    let rows = functions.rows(settings.table.sort, settings, summary)?;
    let all = settings.shown_both(summary.total)?;
    let unit = cell(settings.unit(summary).unwrap_or_default().as_bytes());
    let heads = match summary.columns {
        Columns::One => "name\tself\tself_percent\ttotal\ttotal_percent\tunit",
        Columns::Two => "name\tself_before\tself_after\ttotal_before\ttotal_after\tunit",
    };
    writeln!(target, "{heads}")?;
    for Row { name, own, total } in &rows[..settings.table.limit.unwrap_or(rows.len()).min(rows.len())] {
        let name = cell(name);
        match summary.columns {
            Columns::One => {
                let [own_share, total_share] =
                    [own, total].map(|weights| format!("{:.6}", percent(weights.value, all.value)));
                let (own, total) = (own.value, total.value);
                writeln!(target, "{name}\t{own}\t{own_share}\t{total}\t{total_share}\t{unit}")?;
            }
            Columns::Two => writeln!(
                target,
                "{name}\t{}\t{}\t{}\t{}\t{unit}",
                own.before, own.value, total.before, total.value
            )?,
        }
    }
    Ok(Finished::default())
}
