//! `top`: what each function weighs itself and with all it calls, the heaviest first.
//!
//! ```text
//! 100 samples, 4 functions
//!
//! self   self%    sum%  total   total%  function
//!   40  40.00%  40.00%     60   60.00%  parse
//! ```

use super::amounts::Amounts;
use super::columns::{Table, change_cells, change_heads, share};
use super::format::takes;
use super::functions::{Functions, Row};
use super::gathered::Gathered;
use super::others::{remark, take_others};
use super::writer::{Finished, Target};
use super::{Format, Settings, about};
use crate::error::Result;
use crate::folded::{Columns, WalkSummary, Weights};
use crate::printable::printable;

/// The format.
pub const FORMAT: Format = Format {
    name: "top",
    endings: &["top", "top.txt"],
    about: "a table of functions by self and total weight",
    takes: &[takes::HEAD, takes::TABLE, takes::UNIT],
    streams: false,
    open: |settings, target| {
        Ok(Box::new(Gathered::new(Functions::of_table(settings), settings, target, write)))
    },
};

/// The default number of rows.
const LIMIT: usize = 30;

fn write(
    functions: Functions,
    settings: &Settings,
    summary: &WalkSummary,
    target: &mut dyn Target,
) -> Result<Finished> {
    let rows = functions.rows(settings.table.sort, settings, summary)?;
    let all = settings.shown_both(summary.total)?;
    let kind = &printable(settings.table.row_name().as_bytes());
    let amounts = Amounts::new(&summary.facts);
    let mut rows = rows.to_vec();
    let others = take_others(&mut rows);
    let count = rows.len();
    let rows_name = if count == 1 { kind.clone() } else { printable(settings.table.rows_name().as_bytes()) };
    about::write_text(settings, summary, target)?;
    writeln!(target, "{}, {count} {rows_name}\n", amounts.total(summary.columns, all))?;
    let limit = settings.table.limit.unwrap_or(LIMIT).min(count);
    match summary.columns {
        Columns::One => one_column(&rows[..limit], all, &amounts, kind)?,
        Columns::Two => two_columns(&rows[..limit], all, &amounts, kind)?,
    }
    .write(target)?;
    if limit < count {
        writeln!(target, "\n{} more; --limit shows as many as wanted, 0 all", count - limit)?;
    }
    if let Some(others) = others {
        writeln!(target, "\n{}", remark(&others, all, summary.columns))?;
    }
    Ok(Finished::default())
}

fn one_column(rows: &[Row<'_>], all: Weights, amounts: &Amounts, kind: &str) -> Result<Table> {
    let mut table = Table::new(&["self", "self%", "sum%", "total", "total%"], kind);
    let mut sum = Weights::default();
    for row in rows {
        sum = sum.checked_add(row.own)?;
        let cells = vec![
            amounts.cell(row.own.value),
            share(row.own.value, all.value),
            share(sum.value, all.value),
            amounts.cell(row.total.value),
            share(row.total.value, all.value),
        ];
        table.row(cells, printable(row.name));
    }
    Ok(table)
}

fn two_columns(rows: &[Row<'_>], all: Weights, amounts: &Amounts, kind: &str) -> Result<Table> {
    let heads = [change_heads("self"), change_heads("total")].concat();
    let heads: Vec<&str> = heads.iter().map(String::as_str).collect();
    let mut table = Table::new(&heads, kind);
    for row in rows {
        let cells = [change_cells(row.own, all, amounts)?, change_cells(row.total, all, amounts)?].concat();
        table.row(cells, printable(row.name));
    }
    Ok(table)
}
