//! `markdown`: the heaviest functions and a short tree, for pull requests and job summaries.

use super::about;
use super::amounts::Amounts;
use super::columns::{points, share};
use super::format::takes;
use super::functions::{Row, change};
use super::gathered::Gathered;
use super::label::fit;
use super::layout::Graph;
use super::others::{remark, take_others};
use super::tree::{FunctionsAndTree, heaviest_first, indented};
use super::writer::{Finished, Target};
use super::{Cut, Format, Settings};
use crate::error::Result;
use crate::folded::{Columns, WalkSummary, Weights};
use crate::printable::{markdown_code, markdown_text as text};

/// The format.
pub const FORMAT: Format = Format {
    name: "markdown",
    endings: &["md", "markdown"],
    about: "the heaviest functions and a short tree, for a pull request",
    takes: &[takes::HEAD, takes::TABLE, takes::TREE, takes::DEPTH, takes::UNIT],
    streams: false,
    open: |settings, target| {
        let gathered = FunctionsAndTree::new(settings, MIN_PERCENT);
        Ok(Box::new(Gathered::new(gathered, settings, target, write)))
    },
};

/// The default number of rows.
const LIMIT: usize = 10;
/// The least share of a frame of the tree by default, in percent.
const MIN_PERCENT: f64 = 5.0;
/// GitHub shows no comment of more than 65,536 characters.
const MOST_FRAMES: usize = 200;
const LONGEST_NAME: usize = 200;

fn write(
    gathered: FunctionsAndTree,
    settings: &Settings,
    summary: &WalkSummary,
    target: &mut dyn Target,
) -> Result<Finished> {
    let FunctionsAndTree { functions, pruned } = gathered;
    let all = settings.shown_both(summary.total)?;
    let amounts = Amounts::new(&summary.facts);
    about::write_markdown(settings, summary, target)?;
    match summary.columns {
        Columns::One => writeln!(target, "**{}**\n", text(&amounts.with_samples(all.value)))?,
        Columns::Two => {
            let [before, after] = [all.before, all.value].map(|weight| text(&amounts.plain(weight)));
            writeln!(target, "**{before}** → **{after}**\n")?;
        }
    }
    let mut rows = functions.rows(settings.table.sort, settings, summary)?;
    let others = take_others(&mut rows);
    let limit = settings.table.limit.unwrap_or(LIMIT).min(rows.len());
    table(&rows[..limit], (all, &amounts), settings, summary.columns, target)?;
    if limit < rows.len() {
        writeln!(target, "\n{} more", rows.len() - limit)?;
    }
    if let Some(others) = others {
        writeln!(target, "\n{}", remark(&others, all, summary.columns))?;
    }
    let depth = pruned.depth();
    let graph = pruned.finish(settings, summary)?;
    if !graph.is_empty() {
        tree(&graph, depth, all, target)?;
    }
    Ok(Finished::default())
}

fn table(
    rows: &[Row<'_>],
    (all, amounts): (Weights, &Amounts),
    settings: &Settings,
    columns: Columns,
    target: &mut dyn Target,
) -> Result<()> {
    let kind = text(settings.table.row_name());
    match columns {
        Columns::One => {
            writeln!(target, "| {kind} | self | | total | |\n| --- | ---: | ---: | ---: | ---: |")?;
        }
        Columns::Two => {
            writeln!(target, "| {kind} | self | change | pp | total | change | pp |")?;
            writeln!(target, "| --- | ---: | ---: | ---: | ---: | ---: | ---: |")?;
        }
    }
    for Row { name, own, total } in rows {
        let name = fit(&String::from_utf8_lossy(name), LONGEST_NAME, Cut::End).into_owned();
        write!(target, "| {} |", markdown_code(name.as_bytes()))?;
        for weights in [*own, *total] {
            match columns {
                Columns::One => {
                    let share = share(weights.value, all.value);
                    write!(target, " {} | {share} |", text(&amounts.cell(weights.value)))?;
                }
                Columns::Two => {
                    let [before, after] =
                        [weights.before, weights.value].map(|weight| text(&amounts.cell(weight)));
                    let (change, points) = (text(&amounts.change(change(weights)?)), points(weights, all));
                    write!(target, " {before} → {after} | {change} | {points} |")?;
                }
            }
        }
        writeln!(target)?;
    }
    Ok(())
}

/// The tree as code: indented by four blanks, which no name can end.
fn tree(graph: &Graph, depth: usize, all: Weights, target: &mut dyn Target) -> Result<()> {
    writeln!(target, "\n<details><summary>Call tree</summary>\n")?;
    let places = heaviest_first(graph, depth)?;
    let more = places.len().saturating_sub(MOST_FRAMES);
    for place in places.into_iter().take(MOST_FRAMES) {
        let frame = graph.frame(place as usize);
        let total = Weights { value: graph.shown(frame.after)?, before: graph.shown(frame.before)? };
        let numbers = match graph.columns {
            Columns::One => format!("{:>7}", share(total.value, all.value)),
            Columns::Two => format!("{:>7} pp", points(total, all)),
        };
        let line = format!("    {numbers}  {}", fit(&indented(&frame), LONGEST_NAME, Cut::End));
        writeln!(target, "{}", line.trim_end())?;
    }
    if more > 0 {
        writeln!(target, "    {more} more")?;
    }
    writeln!(target, "\n</details>")?;
    Ok(())
}
