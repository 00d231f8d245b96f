//! `peek`: for each function that matches, who calls it and whom it calls, as pprof's peek has it.
//!
//! ```text
//! 100 samples
//!
//!  60  100.00%    main
//!  60   60.00%  parse
//!  40   66.67%    [self]
//!  20   33.33%    lex
//! ```
//! Above a function stand its callers, below it what it does itself and its callees; their
//! percentages are of the function, its own is of the whole.

use std::cmp::Reverse;

use regex::bytes::Regex;

use super::amounts::Amounts;
use super::calls::{Call, Calls};
use super::columns::{Table, change_cells, share};
use super::format::takes;
use super::gathered::Gathered;
use super::writer::{Finished, Target};
use super::{Format, Settings, about};
use crate::error::{Error, Result};
use crate::folded::{Columns, WalkSummary, Weights};
use crate::printable::printable;
use crate::search::{Case, name_regex};
use crate::tally::Cell;

/// The format.
pub const FORMAT: Format = Format {
    name: "peek",
    endings: &["peek", "peek.txt"],
    about: "callers and callees of the functions that --peek names",
    takes: &[takes::HEAD, takes::PEEK, takes::UNIT],
    streams: false,
    open: |settings, target| {
        let Some(pattern) = &settings.peek else {
            return Err(Error::setting("peek needs a regular expression: --peek malloc"));
        };
        let matching =
            name_regex(pattern, Case::Smart).map_err(|e| Error::setting(format!("--peek: {e}")))?;
        let write =
            move |calls: Calls, settings: &Settings, summary: &WalkSummary, target: &mut dyn Target| {
                write(&calls, &matching, settings, summary, target)
            };
        Ok(Box::new(Gathered::new(Calls::default(), settings, target, write)))
    },
};

/// A function, and the calls around it, the heaviest first.
struct Around<'c> {
    name: &'c [u8],
    weight: Cell<Weights>,
    callers: Vec<Call>,
    callees: Vec<Call>,
}

fn write(
    calls: &Calls,
    matching: &Regex,
    settings: &Settings,
    summary: &WalkSummary,
    target: &mut dyn Target,
) -> Result<Finished> {
    let mut found: Vec<(u32, Around<'_>)> = calls
        .functions()
        .zip(0..)
        .filter(|((name, _), _)| matching.is_match(name))
        .map(|((name, weight), number)| {
            (number, Around { name, weight, callers: Vec::new(), callees: Vec::new() })
        })
        .collect();
    for call in calls.calls() {
        // They are in the order of their numbers.
        let at = |function| found.binary_search_by_key(&function, |(number, _)| *number).ok();
        let (callee, caller) = (at(call.callee), call.caller.and_then(at));
        if let Some(n) = callee {
            found[n].1.callers.push(call);
        }
        if let Some(n) = caller {
            found[n].1.callees.push(call);
        }
    }
    found.sort_by_key(|(_, around)| (Reverse(around.weight.total.larger()), around.name));
    let amounts = Amounts::new(&summary.facts);
    let all = settings.shown_both(summary.total)?;
    about::write_text(settings, summary, target)?;
    writeln!(target, "{}", amounts.total(summary.columns, all))?;
    if found.is_empty() {
        writeln!(target, "\nno function matches {:?}", matching.as_str())?;
    }
    for (_, around) in &mut found {
        writeln!(target)?;
        write_around(around, calls, (settings, &amounts), summary, target)?;
    }
    Ok(Finished { nothing_selected: found.is_empty(), ..Finished::default() })
}

fn write_around(
    around: &mut Around<'_>,
    calls: &Calls,
    (settings, amounts): (&Settings, &Amounts),
    summary: &WalkSummary,
    target: &mut dyn Target,
) -> Result<()> {
    let other = |call: &Call, is_caller: bool| match (is_caller, call.caller) {
        (false, _) => calls.name(call.callee),
        (true, Some(caller)) => calls.name(caller),
        (true, None) => b"[root]",
    };
    for (calls, is_caller) in [(&mut around.callers, true), (&mut around.callees, false)] {
        calls.sort_by_key(|call| (Reverse(call.total.larger()), other(call, is_caller)));
    }
    let mut table = Table::without_head(if summary.columns == Columns::One { 2 } else { 4 });
    let mut row = |weights: Weights, whole: Weights, name: String| -> Result<()> {
        let (weights, whole) = (settings.shown_both(weights)?, settings.shown_both(whole)?);
        let cells = match summary.columns {
            Columns::One => vec![amounts.cell(weights.value), share(weights.value, whole.value)],
            Columns::Two => change_cells(weights, whole, amounts)?.into(),
        };
        table.row(cells, name);
        Ok(())
    };
    let whole = around.weight.total;
    for call in &around.callers {
        row(call.total, whole, format!("  {}", printable(other(call, true))))?;
    }
    row(whole, summary.total, printable(around.name))?;
    if !around.weight.own.is_zero() {
        row(around.weight.own, whole, "  [self]".to_owned())?;
    }
    for call in &around.callees {
        row(call.total, whole, format!("  {}", printable(other(call, false))))?;
    }
    table.write(target)
}
