//! `json`: every stack and every function, for scripts; `fg-collapse` reads it back.
//!
//! ```json
//! {"fg-tools": "profile 1", "unit": "ns", "columns": 1,
//! "facts": {"unit":"ns","event":"cpu-clock","period":"2000000 ns","warning":["no symbols: 38%"]},
//! "stacks": [
//! {"frames": ["main", "parse"], "weight": 40}],
//! "functions": [
//! {"name": "parse", "self": 40, "total": 40},
//! {"name": "main", "self": 0, "total": 40}],
//! "total": 40}
//! ```
//! `unit` is null where it is not known. `facts` has the keys of the header of folded text, and their
//! values as they stand there; `warning` and `comment` are lists, and of differential input the facts of
//! each side have the prefix `before.` or `after.`. Stacks are in frame order, root first, each on a line of its own; functions are sorted by self
//! weight. With `"columns": 2` a stack has `before` and `after` in place of `weight`, a function
//! `self_before`, `self_after`, `total_before` and `total_after`, and the whole `total_before` and
//! `total_after`. Numbers are exact decimals; what reads them as floating point numbers rounds
//! those of more than 15 digits. A name that is not UTF-8 stands as `{"hex": "66ff"}` in place of
//! a string. With `--by` there are `by`, what has rows, and `rows` as `functions` are. What this leaves out will not change while it says `profile 1`; keys may be added.

use std::io::Write;

use super::format::takes;
use super::functions::Functions;
use super::settings::Sort;
use super::writer::{Finished, Target, Writer};
use super::{Format, Settings};
use crate::error::Result;
use crate::folded::{Columns, Frame, Known, Visitor, WalkSummary, Weights};
use crate::json_text;
use crate::profile::{Facts, header};
use crate::tally::RowKind;

/// The format.
pub const FORMAT: Format = Format {
    name: "json",
    endings: &["json"],
    about: "all stacks and functions, for scripts",
    takes: &[takes::UNIT, &["by"]],
    streams: true,
    open: |settings, target| {
        let functions = Functions::new(RowKind::Function);
        let has_rows = settings.table.label.is_some() || settings.table.by != RowKind::Function;
        let rows = has_rows.then(|| Functions::of_table(settings));
        Ok(Box::new(Json {
            settings,
            target,
            functions,
            rows,
            columns: Columns::One,
            any: false,
            line: Vec::new(),
        }))
    },
};

struct Json<'a> {
    settings: &'a Settings,
    target: &'a mut dyn Target,
    functions: Functions,
    /// The rows of something else.
    rows: Option<Functions>,
    columns: Columns,
    any: bool,
    line: Vec<u8>,
}

impl Visitor for Json<'_> {
    fn follows_stacks(&self) -> bool {
        true
    }

    fn begin(&mut self, known: &Known<'_>) -> Result<()> {
        self.rows.iter_mut().try_for_each(|rows| rows.begin(known))?;
        self.columns = known.columns;
        self.line.clear();
        self.line.extend_from_slice(b"{\"fg-tools\": \"profile 1\", \"unit\": ");
        match &known.facts.unit {
            Some(unit) => string(unit.as_bytes(), &mut self.line)?,
            None => self.line.extend_from_slice(b"null"),
        }
        let number = if known.columns == Columns::Two { 2 } else { 1 };
        write!(self.line, ", \"columns\": {number}")?;
        if !known.facts.is_empty() {
            self.line.extend_from_slice(b",\n\"facts\": ");
            facts(known.facts, &mut self.line)?;
        }
        self.line.extend_from_slice(b",\n\"stacks\": [\n");
        Ok(self.target.write_all(&self.line)?)
    }

    fn enter(&mut self, name: &[u8], depth: usize) -> Result<()> {
        self.rows.iter_mut().try_for_each(|rows| rows.enter(name, depth))?;
        self.functions.enter(name, depth)
    }

    fn stack(&mut self, stack: &[u8], weights: Weights) -> Result<()> {
        self.rows.iter_mut().try_for_each(|rows| rows.stack(stack, weights))?;
        self.line.clear();
        if std::mem::replace(&mut self.any, true) {
            self.line.extend_from_slice(b",\n");
        }
        self.line.extend_from_slice(b"{\"frames\": [");
        for (n, frame) in stack.split(|&b| b == b';').enumerate() {
            if n > 0 {
                self.line.extend_from_slice(b", ");
            }
            string(frame, &mut self.line)?;
        }
        let Weights { value, before } = self.settings.shown_both(weights)?;
        match self.columns {
            Columns::One => write!(self.line, "], \"weight\": {value}}}")?,
            Columns::Two => write!(self.line, "], \"before\": {before}, \"after\": {value}}}")?,
        }
        Ok(self.target.write_all(&self.line)?)
    }

    fn exit(&mut self, frame: Frame<'_>, so_far: Weights) -> Result<()> {
        self.rows.iter_mut().try_for_each(|rows| rows.exit(frame, so_far))?;
        self.functions.exit(frame, so_far)
    }

    fn restart(&mut self) -> Result<()> {
        self.any = false;
        self.functions.restart()?;
        self.rows.iter_mut().try_for_each(Visitor::restart)?;
        self.target.start_over()
    }
}

impl Writer for Json<'_> {
    fn finish(self: Box<Self>, summary: &WalkSummary) -> Result<Finished> {
        let Json { settings, target, functions, rows, .. } = *self;
        let two = summary.columns == Columns::Two;
        write!(target, "],\n\"functions\": [")?;
        write_rows(&functions, settings, summary, target)?;
        if let Some(rows) = rows {
            let mut name = Vec::new();
            json_text::string(settings.table.row_name().as_bytes(), &mut name)?;
            target.write_all(b"],\n\"by\": ")?;
            target.write_all(&name)?;
            target.write_all(b",\n\"rows\": [")?;
            write_rows(&rows, settings, summary, target)?;
        }
        let Weights { value, before } = settings.shown_both(summary.total)?;
        match two {
            false => writeln!(target, "],\n\"total\": {value}}}")?,
            true => writeln!(target, "],\n\"total_before\": {before}, \"total_after\": {value}}}")?,
        }
        Ok(Finished::default())
    }
}

fn write_rows(
    rows: &Functions,
    settings: &Settings,
    summary: &WalkSummary,
    target: &mut dyn Target,
) -> Result<()> {
    let mut line = Vec::new();
    for (n, row) in rows.rows(Some(Sort::Own), settings, summary)?.into_iter().enumerate() {
        line.clear();
        line.extend_from_slice(if n > 0 { b",\n{\"name\": " } else { b"\n{\"name\": " });
        string(row.name, &mut line)?;
        for (kind, weights) in [("self", row.own), ("total", row.total)] {
            let Weights { value, before } = weights;
            match summary.columns {
                Columns::One => write!(line, ", \"{kind}\": {value}")?,
                Columns::Two => write!(line, ", \"{kind}_before\": {before}, \"{kind}_after\": {value}")?,
            }
        }
        line.push(b'}');
        target.write_all(&line)?;
    }
    Ok(())
}

/// The facts under the keys of the header of folded text, each value as it stands there; warnings
/// and comments are lists.
fn facts(facts: &Facts, out: &mut Vec<u8>) -> Result<()> {
    let mut object = serde_json::Map::new();
    for (key, value) in header::entries(facts) {
        let value = serde_json::Value::String(value);
        match object.get_mut(&key) {
            Some(serde_json::Value::Array(list)) => list.push(value),
            _ if is_list(&key) => _ = object.insert(key, vec![value].into()),
            _ => _ = object.insert(key, value),
        }
    }
    json_text::write(&object.into(), out)
}

fn is_list(key: &str) -> bool {
    ["warning", "comment"].contains(&key.rsplit('.').next().unwrap_or_default())
}

/// A name: a string, or its bytes.
fn string(name: &[u8], out: &mut Vec<u8>) -> Result<()> {
    match std::str::from_utf8(name) {
        Ok(_) => json_text::string(name, out),
        Err(_) => {
            out.extend_from_slice(b"{\"hex\": \"");
            name.iter().try_for_each(|byte| write!(out, "{byte:02x}"))?;
            out.extend_from_slice(b"\"}");
            Ok(())
        }
    }
}
