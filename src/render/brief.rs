//! `brief`: the most that can be said about a profile within a number of tokens, for a pull request, a chat or
//! a language model.
//!
//! ```text
//! ./app -n 3
//! 100 ms (100 samples)
//!
//! functions by self weight, of 5:
//!      40 ms   40.00% self   60.00% total  parse
//!
//! call tree, total and self:
//!  100.00%    1.00%  main
//!   60.00%   40.00%    parse
//!   39.00%             (left out below main)
//! ```
//! A token is taken for four bytes. The weight of the frames that are left out stands in a line below
//! their caller, so that a tree adds up; `(⋯ 9)` stands for nine frames that call one other each.

use super::amounts::Amounts;
use super::columns::{points, share};
use super::format::takes;
use super::functions::{Row, change};
use super::gathered::Gathered;
use super::label::fit;
use super::layout::Graph;
use super::others::{remark, take_others};
use super::tree::{FunctionsAndTree, heaviest_first};
use super::writer::{Finished, Target};
use super::{Cut, Format, Settings, about};
use crate::error::Result;
use crate::facts::Facts;
use crate::folded::{Columns, WalkSummary, Weights};
use crate::printable::{is_hidden, printable};
use crate::profile::units::{grouped, is_scaled};

/// The format.
pub const FORMAT: Format = Format {
    name: "brief",
    endings: &["brief", "brief.txt"],
    about: "the verdict, the hottest functions and the tree within a number of tokens",
    takes: &[takes::HEAD, takes::TABLE, takes::TREE, takes::BUDGET, takes::UNIT, takes::JUDGE],
    streams: false,
    open: |settings, target| {
        let gathered = FunctionsAndTree::new(settings, MIN_PERCENT);
        Ok(Box::new(Gathered::new(gathered, settings, target, write)))
    },
};

/// The default number of tokens.
const BUDGET: usize = 2000;
const BYTES_PER_TOKEN: usize = 4;
/// The default of the least share of a frame, in percent.
const MIN_PERCENT: f64 = 0.1;
/// The default of the most functions; they take at most a third of the budget.
const LIMIT: usize = 12;
const LONGEST_NAME: usize = 120;
/// Farther in, lines would be mostly blanks.
const DEEPEST: usize = 40;
/// The length of a line that tells of what is left out, without the name in it.
const LINE: usize = 48;

fn write(
    gathered: FunctionsAndTree,
    settings: &Settings,
    summary: &WalkSummary,
    target: &mut dyn Target,
) -> Result<Finished> {
    let FunctionsAndTree { functions, pruned } = gathered;
    let all = settings.shown_both(summary.total)?;
    let amounts = Amounts::new(&summary.facts);
    let budget = settings.tree.budget.unwrap_or(BUDGET).saturating_mul(BYTES_PER_TOKEN);
    let mut rows = functions.rows(settings.table.sort, settings, summary)?;
    let others = take_others(&mut rows);
    let mut text = Vec::new();
    about::write_text(settings, summary, &mut text)?;
    let shown = amounts.total(summary.columns, all);
    text.extend_from_slice(shown.as_bytes());
    if let Some(unit) = settings.unit(summary).filter(|unit| is_scaled(unit)) {
        let (exact, unit) = (grouped(all.value), printable(unit.as_bytes()));
        let before = match summary.columns {
            Columns::One => String::new(),
            Columns::Two => format!("{} → ", grouped(all.before)),
        };
        let exactly = format!("{before}{exact} {unit}");
        if exactly != shown {
            text.extend_from_slice(format!("; exactly {exactly}").as_bytes());
        }
    }
    text.push(b'\n');
    if summary.columns == Columns::Two {
        text.extend_from_slice(verdict(&summary.facts, all).as_bytes());
    }
    let closer = commands(rows.first().map(|row| row.name));
    let others = others.map_or_else(String::new, |row| remark(&row, all, summary.columns) + "\n");
    let room = budget.saturating_sub(text.len() + others.len() + closer.len());
    let table = hottest(&rows, (all, &amounts), settings, room / 3)?;
    let room = room.saturating_sub(table.len());
    let depth = pruned.depth();
    let graph = pruned.finish(settings, summary)?;
    let tree = if graph.is_empty() { String::new() } else { tree(&graph, depth, (all, &amounts), room)? };
    target.write_all(&text)?;
    for part in [table, others, tree, closer] {
        target.write_all(part.as_bytes())?;
    }
    Ok(Finished::default())
}

/// The verdict of the comparison; without one, the change of the whole.
fn verdict(facts: &Facts, all: Weights) -> String {
    let of = (all.before.to_f64(), all.value.to_f64());
    match &facts.findings {
        Some(findings) => format!("verdict: {}\n", findings.verdict),
        None if of.0 > 0.0 => format!("whole: {:+.1}%, not judged\n", 100.0 * (of.1 - of.0) / of.0),
        None => "whole: all is new\n".to_owned(),
    }
}

/// The heaviest functions, as far as there is room.
fn hottest(
    rows: &[Row<'_>],
    (all, amounts): (Weights, &Amounts),
    settings: &Settings,
    room: usize,
) -> Result<String> {
    let differential = !all.before.is_zero() || rows.iter().any(|row| !row.own.before.is_zero());
    let what = printable(settings.table.rows_name().as_bytes());
    let mut out = format!("\n{what} by self weight, of {}:\n", rows.len());
    for row in rows.iter().take(settings.table.limit.unwrap_or(LIMIT)) {
        let name = name_of(row.name);
        let line = if differential {
            let change = amounts.change(change(row.own)?);
            format!("{:>10}  {:>8} pp  {name}\n", change, points(row.own, all))
        } else {
            let (own, total) = (share(row.own.value, all.value), share(row.total.value, all.value));
            format!("{:>10}  {own:>7} self  {total:>7} total  {name}\n", amounts.cell(row.own.value))
        };
        if out.len() + line.len() > room {
            break;
        }
        out.push_str(&line);
    }
    Ok(out)
}

/// The heaviest frames for which there is room, and below each caller the weight of those left out.
fn tree(graph: &Graph, depth: usize, (all, amounts): (Weights, &Amounts), room: usize) -> Result<String> {
    let places = heaviest_first(graph, depth)?;
    let frames: Vec<_> = places.iter().map(|place| graph.frame(*place as usize)).collect();
    let same = |a: usize, b: usize| {
        let (one, other) = (&frames[a], &frames[b]);
        one.own.is_zero()
            && one.depth + 1 == other.depth
            && (one.after, one.before) == (other.after, other.before)
    };
    // Of a run of frames with one callee each, the middle is only counted.
    let is_folded = |n: usize| n > 0 && n + 1 < frames.len() && same(n - 1, n) && same(n, n + 1);
    // A caller is at least as heavy as what it calls, and comes before it: what is chosen is a tree.
    let mut by_weight: Vec<usize> = (0..frames.len()).collect();
    by_weight.sort_by(|a, b| frames[*b].total.cmp(&frames[*a].total).then(a.cmp(b)));
    let mut chosen = vec![false; frames.len()];
    let mut used = 2 * LINE;
    for n in by_weight {
        // The line itself, and the one below it that tells what is left out.
        if !is_folded(n) {
            used += 2 * (LINE + 2 * (frames[n].depth as usize).min(DEEPEST))
                + frames[n].name.len().min(LONGEST_NAME);
        }
        if used > room {
            break;
        }
        chosen[n] = true;
    }
    let heading = if graph.columns == Columns::One { "total and self" } else { "before and after" };
    let mut out = format!("\ncall tree, {heading}:\n");
    let whole = Open { below: 0, name: "the whole".to_owned(), rest: shown(graph, all_of(graph))? };
    let mut open = vec![whole];
    let mut folded = 0;
    for (n, frame) in frames.iter().enumerate().filter(|(n, _)| chosen[*n]) {
        if is_folded(n) {
            folded += 1;
            continue;
        }
        close(&mut open, frame.depth, (all, amounts), graph.columns, &mut out);
        let total = shown(graph, Weights { value: frame.after, before: frame.before })?;
        let own = shown(graph, frame.own)?;
        if let Some(caller) = open.last_mut() {
            caller.rest = caller.rest.checked_sub(total)?;
        }
        let blanks = "  ".repeat((open.len() - 1).min(DEEPEST));
        let run = if folded > 0 { format!("(⋯ {folded}) ") } else { String::new() };
        folded = 0;
        let own_share = match graph.columns {
            Columns::One if !own.is_zero() => share(own.value, all.value),
            _ => String::new(),
        };
        let (numbers, name) = (numbers(total, all, graph.columns, amounts), name_of(frame.name));
        out.push_str(&format!("{numbers}  {own_share:>7}  {blanks}{run}{name}\n"));
        open.push(Open { below: frame.depth + 1, name, rest: total.checked_sub(own)? });
    }
    close(&mut open, 0, (all, amounts), graph.columns, &mut out);
    if let Some(whole) = open.first().filter(|whole| !whole.rest.is_zero()) {
        let numbers = numbers(whole.rest, all, graph.columns, amounts);
        out.push_str(&format!("{numbers}           (left out)\n"));
    }
    let left_out = graph.left_out + chosen.iter().filter(|chosen| !**chosen).count() as u64;
    if left_out > 0 {
        out.push_str(&format!("{left_out} frames left out; --budget and --min-percent show more\n"));
    }
    Ok(out)
}

/// A frame whose callees are being written.
struct Open {
    /// The depth of its callees.
    below: u32,
    name: String,
    /// The weight of the callees that are not shown.
    rest: Weights,
}

/// Closes the frames that do not call a frame of this depth, and says what was left out of each; the whole
/// stays open.
fn close(
    open: &mut Vec<Open>,
    depth: u32,
    (all, amounts): (Weights, &Amounts),
    columns: Columns,
    out: &mut String,
) {
    while open.len() > 1 && open.last().is_some_and(|last| last.below > depth) {
        let Some(Open { name, rest, .. }) = open.pop() else { break };
        if !rest.is_zero() {
            let blanks = "  ".repeat(open.len().min(DEEPEST));
            let numbers = numbers(rest, all, columns, amounts);
            out.push_str(&format!(
                "{numbers}           {blanks}(left out below {})\n",
                fit(&name, 40, Cut::End)
            ));
        }
    }
}

fn all_of(graph: &Graph) -> Weights {
    match graph.columns {
        Columns::One => Weights::one(graph.total),
        Columns::Two => Weights { value: graph.after, before: graph.before },
    }
}

fn shown(graph: &Graph, weights: Weights) -> Result<Weights> {
    Ok(Weights { value: graph.shown(weights.value)?, before: graph.shown(weights.before)? })
}

fn numbers(weights: Weights, all: Weights, columns: Columns, amounts: &Amounts) -> String {
    match columns {
        Columns::One => format!("{:>8}", share(weights.value, all.value)),
        Columns::Two => {
            format!("{:>10} {:>10}", amounts.cell(weights.before), amounts.cell(weights.value))
        }
    }
}

fn name_of(name: &[u8]) -> String {
    fit(&printable(name), LONGEST_NAME, Cut::End).into_owned()
}

/// Commands that show more of the heaviest function and of the whole.
fn commands(name: Option<&[u8]>) -> String {
    let mut out = "\nlook closer:\n".to_owned();
    let plain = name.and_then(|name| std::str::from_utf8(name).ok());
    if let Some(name) = plain.filter(|name| name.len() <= LONGEST_NAME && !name.contains(is_hidden)) {
        let pattern = format!("^{}$", regex::escape(name)).replace('\'', "'\\''");
        out.push_str(&format!("  fg-render --peek '{pattern}' FILE\n"));
        out.push_str(&format!("  fg-filter --focus '{pattern}' FILE | fg-render --format brief\n"));
    }
    out.push_str("  fg-render --format top --limit 100 FILE\n  fg-render --format html FILE -o page.html\n");
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Profile;
    use crate::render::write as write_outputs;

    fn brief(text: &str, budget: usize) -> String {
        let mut settings = Settings::default();
        settings.tree.budget = Some(budget);
        let mut out = Vec::new();
        let profile = Profile::from_bytes(text).unwrap();
        write_outputs(&profile, vec![(&FORMAT, &mut out)], &settings).unwrap();
        String::from_utf8(out).unwrap()
    }

    fn wide(columns: &str) -> String {
        (0..3000).map(|n| format!("main;f{};g{n};h{} {}{columns}\n", n % 37, n % 11, n % 13 + 1)).collect()
    }

    #[test]
    fn a_brief_stays_within_its_budget_and_uses_it() {
        for columns in ["", " 5"] {
            for budget in [200, 500, 2000, 10_000] {
                let bytes = brief(&wide(columns), budget).len();
                assert!(
                    bytes <= 4 * budget && bytes > 2 * budget.min(700),
                    "{bytes} bytes of {budget} tokens"
                );
            }
        }
    }

    #[test]
    fn the_shown_callees_and_the_rest_add_up_to_their_caller() {
        let text = brief(&wide(""), 400);
        let lines = text.lines().skip_while(|line| !line.starts_with("call tree")).skip(1);
        let shares: Vec<(usize, f64)> = lines
            .map_while(|line| {
                line.get(..8).filter(|number| number.ends_with('%')).map(|number| (line, number))
            })
            .map(|(line, number)| {
                let name = &line[19..];
                (name.len() - name.trim_start().len(), number.trim().trim_end_matches('%').parse().unwrap())
            })
            .collect();
        assert_eq!(shares[0], (0, 100.0));
        let below: f64 = shares.iter().filter(|(indent, _)| *indent == 2).map(|(_, share)| share).sum();
        assert!((below - 100.0).abs() < 0.2, "{below} in {text}");
    }
}
