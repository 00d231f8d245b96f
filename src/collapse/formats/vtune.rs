//! VTune's call tree as CSV, indented by a blank for each level.
//!
//! ```text
//! Function Stack,CPU Time:Self,Module
//! Total,0.0,
//!  main,0.250,app
//!   "shop::take<int, char>",1.2,app
//! ```
//! Each column that ends in `:Self` is a value; seconds become milliseconds, exactly. The report on memory
//! (`-report top-down` of a result of `memory-consumption`) has allocations and their sizes. Columns are separated by
//! commas or tabs, as `-csv-delimiter` says. Nothing but VTune's user guide describes the report.

use crate::collapse::kit::csv::cells;
use crate::collapse::kit::forest::Budget;
use crate::collapse::kit::names::FrameNames;
use crate::collapse::kit::text::Text;
use crate::collapse::kit::values::Values;
use crate::collapse::{
    Certainty, CollapseOptions, Collapser, FormatInfo, Reading, Report, Sink, Tested, Value,
};
use crate::error::{Error, Result};
use crate::folded::{FrameId, Place, sanitize_frame};
use crate::input::{Input, lines};
use crate::weight::Weight;

const INFO: FormatInfo = FormatInfo {
    name: "vtune",
    producer: "vtune -report top-down -report-knob show-issues=false -format csv",
    tested: Tested::ByDescription("documented output"),
    values: "time; Allocation Size, Allocations, … of memory-consumption",
    unit: "ms; bytes, -",
};

/// The name of the first column.
const FIRST: &[u8] = b"Function Stack";

/// Collapses VTune's call trees.
pub struct Vtune;

impl Collapser for Vtune {
    fn info(&self) -> &'static FormatInfo {
        &INFO
    }

    fn detect(&self, head: &[u8]) -> Certainty {
        let mut lines = lines(head).map(<[u8]>::trim_ascii_end);
        if lines.any(|line| Columns::read(line).is_some()) { Certainty::Yes } else { Certainty::No }
    }

    fn collapse(
        &self,
        input: Input,
        reading: &Reading<'_>,
        sink: &mut dyn Sink,
        report: &mut Report,
    ) -> Result<()> {
        let mut tree: Option<Tree> = None;
        Text::new(input).for_each(report, |line| {
            let Some(tree) = &mut tree else {
                // What VTune says before the table.
                if let Some(columns) = Columns::read(line) {
                    tree = Some(Tree::new(columns, reading)?);
                }
                return Ok(true);
            };
            if line.is_empty() { Ok(true) } else { tree.row(line, sink) }
        })?;
        tree.map_or(Ok(()), |tree| tree.values.finish(report))
    }
}

/// The columns of a table.
struct Columns {
    delimiter: u8,
    /// The numbers of those that are values.
    values: Vec<usize>,
    declared: Vec<Value>,
    module: Option<usize>,
}

impl Columns {
    /// Reads the line that names them.
    fn read(line: &[u8]) -> Option<Columns> {
        let delimiter = *line.strip_prefix(FIRST)?.first().filter(|byte| matches!(byte, b',' | b'\t'))?;
        let mut columns = Columns { delimiter, values: Vec::new(), declared: Vec::new(), module: None };
        for (at, name) in cells(line, delimiter).into_iter().enumerate() {
            if name == b"Module" {
                columns.module = Some(at);
            } else if let Some(name) = name.strip_suffix(b":Self") {
                columns.values.push(at);
                columns.declared.push(match name {
                    b"CPU Time" => Value::new("time", "ms"),
                    name if name.ends_with(b" Time") => Value::new(name, "ms"),
                    name if name.ends_with(b" Size") => Value::new(name, "bytes"),
                    name => Value { name: name.to_vec(), unit: None },
                });
            }
        }
        (!columns.values.is_empty()).then_some(columns)
    }
}

struct Tree {
    columns: Columns,
    is_time: Vec<bool>,
    values: Values,
    names: FrameNames,
    /// The functions from the root to the one that was read last.
    levels: Vec<FrameId>,
    budget: Budget,
}

impl Tree {
    fn new(mut columns: Columns, options: &CollapseOptions) -> Result<Tree> {
        let declared = std::mem::take(&mut columns.declared);
        let is_time = declared.iter().map(|value| value.unit.as_deref() == Some("ms")).collect();
        Ok(Tree {
            columns,
            is_time,
            values: Values::new(options, declared, 0)?,
            names: FrameNames::default(),
            levels: Vec::new(),
            budget: Budget::default(),
        })
    }

    /// Reads a row; `false` if it is not one.
    fn row(&mut self, line: &[u8], sink: &mut dyn Sink) -> Result<bool> {
        let cells = cells(line, self.columns.delimiter);
        let name = cells[0].trim_ascii_start();
        let depth = cells[0].len() - name.len();
        let mut weights = Vec::new();
        for (at, is_time) in self.columns.values.iter().zip(&self.is_time) {
            let cell = cells.get(*at).map_or(&b""[..], |cell| cell.trim_ascii());
            let cell = if *is_time { cell.strip_suffix(b"s").unwrap_or(cell) } else { cell };
            let weight = if cell.is_empty() { Some(Weight::ZERO) } else { Weight::parse(cell) };
            let Some(weight) = weight else { return Ok(false) };
            weights.push(if *is_time { weight.checked_mul(Weight::new(1000))? } else { weight });
        }
        if name.is_empty() || cells.len() < 2 {
            return Ok(false);
        }
        if depth > self.levels.len() {
            return Err(Error::malformed("a function one level below the one before", name));
        }
        self.levels.truncate(depth);
        self.budget.check(depth + 1)?;
        let module =
            self.columns.module.and_then(|at| cells.get(at)).map_or(&b""[..], |cell| cell.trim_ascii());
        let place = Place { module, ..Place::default() };
        let frame = self.names.build_at(&place, sink, |out| {
            if !module.is_empty() {
                sanitize_frame(module, out);
                out.push(b'`');
            }
            sanitize_frame(name, out);
        });
        self.levels.push(frame);
        if weights.iter().any(|weight| !weight.is_zero()) {
            self.budget.spend(self.levels.len())?;
        }
        self.values.sample(&self.levels, &weights, sink)?;
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::collapse::ValueSelection;
    use crate::collapse::tests::{collapse_bytes, fold};

    #[test]
    fn each_own_column_is_a_value() {
        let text = "vtune: Using result path\nFunction Stack\tAllocation Size:Self\tAllocations:Self\tModule\n\
                    Total\t0\t0\t\n\" f<int; \"\"a\"\">\"\t4096\t2\tlib\n  \"g, h\"\t100\t1\tlib\n";
        assert_eq!(Vtune.detect(text.as_bytes()), Certainty::Yes);
        let expected = "Total;lib`f<int: \"a\"> 4096\nTotal;lib`f<int: \"a\">;lib`g, h 100\n";
        assert_eq!(fold(&Vtune, text, &CollapseOptions::default()), expected);
        let options = CollapseOptions {
            values: ValueSelection::Named(vec![b"Allocations".to_vec()]),
            ..CollapseOptions::default()
        };
        assert!(fold(&Vtune, text, &options).ends_with("g, h 1\n"));
        let time = "Function Stack,CPU Time:Self,Module\nmain,0.0123456s,app\n";
        assert_eq!(fold(&Vtune, time, &CollapseOptions::default()), "app`main 12.3456\n");
    }

    #[test]
    fn what_is_no_tree_is_told() {
        let table = "Function Stack,CPU Time:Self,Module\nmain,0.1,app\n";
        let error = collapse_bytes(&Vtune, format!("{table}   f,1,app\n"), &CollapseOptions::default());
        let error = error.unwrap_err().to_string();
        assert!(error.starts_with("test:3: expected a function one level below"), "{error}");
        let (_, report) =
            collapse_bytes(&Vtune, format!("{table}f,x,app\nhello\n"), &CollapseOptions::default()).unwrap();
        assert_eq!(report.not_understood.count, 2);
    }
}
