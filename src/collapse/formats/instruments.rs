//! The call tree of Instruments as it is copied from its window: Edit > Deep Copy.
//!
//! ```text
//! Weight\tSelf Weight\t\tSymbol Name
//! 1.17 min  100.0%\t0 s\t \torders (4211)
//! 69.10 s   98.4%\t12.00 ms\t \t start
//! 45.03 s   64.1%\t45.03 s\t \t  fib
//! ```
//! A blank for each level in front of the name, and perhaps some more in front of all; columns are separated by tabs
//! (`\t`). The weights of functions themselves are added up. Older versions call the columns `Running Time` and `Self
//! (ms)`; the tree of allocations has `Bytes Used`, and no own weights: there they are what those below leave. Instruments
//! rounds: the sum may differ a little from the first line's weight.

use crate::collapse::kit::forest::Budget;
use crate::collapse::kit::names::FrameNames;
use crate::collapse::kit::text::Text;
use crate::collapse::kit::values::Values;
use crate::collapse::{
    Certainty, CollapseOptions, Collapser, FormatInfo, Reading, Report, Sink, Tested, Value,
};
use crate::error::{Error, Result};
use crate::folded::FrameId;
use crate::input::{Input, lines};
use crate::weight::Weight;

const INFO: FormatInfo = FormatInfo {
    name: "instruments",
    producer: "Instruments of macOS: Edit > Deep Copy of a call tree, pasted into a file",
    tested: Tested::ByDescription("documented output, as speedscope 1.25 reads it"),
    values: "time, cycles or size",
    unit: "ms, cycles, bytes",
};

/// The names of the first column.
const WEIGHTS: [&[u8]; 3] = [b"Running Time", b"Weight", b"Bytes Used"];

/// The units: their names, the value, its unit, and the size of one of them.
const UNITS: [(&[u8], usize, &[u8]); 18] = [
    (b"ns", 0, b"0.000001"),
    (b"us", 0, b"0.001"),
    ("µs".as_bytes(), 0, b"0.001"),
    (b"ms", 0, b"1"),
    (b"s", 0, b"1000"),
    (b"min", 0, b"60000"),
    (b"h", 0, b"3600000"),
    (b"cycles", 1, b"1"),
    (b"Kc", 1, b"1000"),
    (b"Mc", 1, b"1000000"),
    (b"Gc", 1, b"1000000000"),
    (b"Bytes", 2, b"1"),
    (b"KB", 2, b"1024"),
    (b"KiB", 2, b"1024"),
    (b"MB", 2, b"1048576"),
    (b"MiB", 2, b"1048576"),
    (b"GB", 2, b"1073741824"),
    (b"GiB", 2, b"1073741824"),
];

/// The values that the units are of.
const VALUES: [(&str, &str); 3] = [("time", "ms"), ("cycles", "cycles"), ("size", "bytes")];

/// Collapses call trees of Instruments.
pub struct Instruments;

impl Collapser for Instruments {
    fn info(&self) -> &'static FormatInfo {
        &INFO
    }

    fn detect(&self, head: &[u8]) -> Certainty {
        let first = lines(head).next().unwrap_or_default();
        if Columns::read(first.trim_ascii_end()).is_some() { Certainty::Yes } else { Certainty::No }
    }

    fn collapse(
        &self,
        input: Input,
        reading: &Reading<'_>,
        sink: &mut dyn Sink,
        report: &mut Report,
    ) -> Result<()> {
        let mut columns = None;
        let mut tree = Tree::new(reading);
        Text::new(input).for_each(report, |line| {
            if let Some(read) = Columns::read(line) {
                tree.close(0, sink)?;
                columns = Some(read);
                return Ok(true);
            }
            let Some(columns) = &mut columns else {
                return Err(Error::malformed("a first line with the columns of a call tree", line));
            };
            if line.trim_ascii().is_empty() {
                return Ok(true);
            }
            match columns.row(line) {
                Some(row) => tree.row(row, sink),
                None => Ok(false),
            }
        })?;
        tree.close(0, sink)?;
        tree.values.map_or(Ok(()), |(_, values)| values.finish(report))
    }
}

/// A function of the tree.
struct Row<'l> {
    depth: usize,
    name: &'l [u8],
    weight: Weighed,
    /// True if the weight is its own, without those it called.
    is_own: bool,
}

/// A weight, and the number of the value that it is of.
type Weighed = (usize, Weight);

/// A function on the way from the root to the row that was read last.
struct Level {
    frame: FrameId,
    /// Its weight with those it called, where its own weight is not stated, and the weight of these.
    total: Option<Weight>,
    below: Weight,
}

struct Tree<'o> {
    options: &'o CollapseOptions,
    levels: Vec<Level>,
    names: FrameNames,
    budget: Budget,
    /// The value of the tree, as its first weight says.
    values: Option<(usize, Values)>,
}

impl Tree<'_> {
    fn new(options: &CollapseOptions) -> Tree<'_> {
        Tree {
            options,
            levels: Vec::new(),
            names: FrameNames::default(),
            budget: Budget::default(),
            values: None,
        }
    }

    /// Reads a row; `false` if its weight is of another kind than those before.
    fn row(&mut self, row: Row<'_>, sink: &mut dyn Sink) -> Result<bool> {
        let Row { depth, name, weight: (value, weight), is_own } = row;
        if depth > self.levels.len() {
            return Err(Error::malformed("a function one level below the one before", name));
        }
        self.close(depth, sink)?;
        self.budget.check(depth + 1)?;
        let frame = self.names.plain(name, sink);
        let is_zero = weight.is_zero();
        if self.values.is_none() && !is_zero {
            let (name, unit) = VALUES[value];
            self.values = Some((value, Values::only(self.options, Value::new(name, unit))));
        }
        let is_same = is_zero || self.values.as_ref().is_some_and(|(first, _)| *first == value);
        let weight = if is_same { weight } else { Weight::ZERO };
        if let Some(caller) = self.levels.last_mut() {
            caller.below = caller.below.checked_add(weight)?;
        }
        self.levels.push(Level { frame, total: (!is_own).then_some(weight), below: Weight::ZERO });
        if is_own {
            self.add(weight, sink)?;
        }
        Ok(is_same)
    }

    /// Ends the functions from a level on.
    fn close(&mut self, depth: usize, sink: &mut dyn Sink) -> Result<()> {
        while self.levels.len() > depth {
            let Some(Level { total, below, .. }) = self.levels.last() else { break };
            if let Some(total) = total {
                // Rounded weights of functions may add up to more than their caller's.
                let own = total.checked_sub(*below)?;
                self.add(if own.is_negative() { Weight::ZERO } else { own }, sink)?;
            }
            self.levels.pop();
        }
        Ok(())
    }

    /// Adds the stack to the last function.
    fn add(&mut self, weight: Weight, sink: &mut dyn Sink) -> Result<()> {
        let Some((_, values)) = self.values.as_mut().filter(|_| !weight.is_zero()) else { return Ok(()) };
        self.budget.spend(self.levels.len())?;
        let stack: Vec<FrameId> = self.levels.iter().map(|level| level.frame).collect();
        values.add(0, &stack, weight, sink)
    }
}

/// The columns that are needed, by their numbers.
struct Columns {
    /// The weight of functions themselves; without it that of all below them, the first column, is read.
    own: Option<usize>,
    name: usize,
    /// The blanks in front of the root.
    indent: Option<usize>,
}

impl Columns {
    /// Reads the line that names the columns.
    fn read(line: &[u8]) -> Option<Columns> {
        let names: Vec<&[u8]> = line.split(|&b| b == b'\t').map(<[u8]>::trim_ascii).collect();
        let name = names.iter().position(|name| matches!(*name, b"Symbol Name" | b"Symbol Names"))?;
        let own = names.iter().position(|name| name.starts_with(b"Self"));
        WEIGHTS.contains(names.first()?).then_some(Columns { own, name, indent: None })
    }

    fn row<'l>(&mut self, line: &'l [u8]) -> Option<Row<'l>> {
        let cells: Vec<&[u8]> = line.split(|&b| b == b'\t').collect();
        let cell = cells.get(self.name)?;
        let name = cell.trim_ascii_start();
        let blanks = cell.len() - name.len();
        let weight = weight(cells.get(self.own.unwrap_or(0))?.trim_ascii())?;
        if name.is_empty() {
            return None;
        }
        let depth = blanks.saturating_sub(*self.indent.get_or_insert(blanks));
        Some(Row { depth, name, weight, is_own: self.own.is_some() })
    }
}

/// `45.03 s`, `12,0ms` or `1.2 Gc`, and perhaps a share behind it: `12.0ms 3.4%`. A dash is no weight at all.
fn weight(cell: &[u8]) -> Option<Weighed> {
    if cell == b"-" {
        return Some((0, Weight::ZERO));
    }
    let digits = cell.iter().take_while(|b| b.is_ascii_digit() || matches!(b, b'.' | b',')).count();
    let number = cell[..digits].iter().map(|&b| if b == b',' { b'.' } else { b }).collect::<Vec<u8>>();
    let number = Weight::parse(&number)?;
    let unit = cell[digits..].trim_ascii_start().split(|&b| b == b' ').next().unwrap_or_default();
    // Older versions have milliseconds, and say so above.
    let unit = if unit.is_empty() { b"ms" } else { unit };
    let (_, value, size) = UNITS.iter().find(|(name, ..)| name.eq_ignore_ascii_case(unit))?;
    Some((*value, number.checked_mul(Weight::parse(size)?).ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::collapse::tests::{collapse_bytes, fold};

    const TREE: &str = "Weight\tSelf Weight\t\tSymbol Name\n1.17 min  100.0%\t0 s\t \torders (4211)\n\
                        69.10 s   98.4%\t12.00 ms\t \t start\n45.03 s   64.1%\t45.03 s\t \t  fib;\n1.00 min   1.6%\t1.00 min\t \t exit\n";

    #[test]
    fn own_weights_are_added_up() {
        assert_eq!(Instruments.detect(TREE.as_bytes()), Certainty::Yes);
        let expected = "orders (4211);exit 60000\norders (4211);start 12\norders (4211);start;fib: 45030\n";
        let sorted = |text: String| text.replace(".00", "");
        assert_eq!(sorted(fold(&Instruments, TREE, &CollapseOptions::default())), expected);
        let old = "Running Time\tSelf (ms)\t\tSymbol Name\n683.0ms  100.0%\t0,0\t \tmain\n683.0ms  100.0%\t683,5\t \t f\n";
        assert_eq!(fold(&Instruments, old, &CollapseOptions::default()), "main;f 683.5\n");
        let cycles = "Weight\tSelf Weight\t\tSymbol Name\n1.2 Gc 100%\t1.2 Gc\t \tmain\n";
        let (out, report) = collapse_bytes(&Instruments, cycles, &CollapseOptions::default()).unwrap();
        assert_eq!((out.as_str(), report.unit()), ("main 1200000000\n", Some("cycles")));
        let dashes = "Weight\tSelf Weight\t\tSymbol Name\n96.5 Gc  100.0%\t-\t \tmain\n96.5 Gc  100.0%\t 96.5 Gc\t \t f\n";
        let (out, report) = collapse_bytes(&Instruments, dashes, &CollapseOptions::default()).unwrap();
        assert_eq!((out.as_str(), report.not_understood.count), ("main;f 96500000000\n", 0));
        let inclusive = "Bytes Used\tCount\t\tSymbol Names\n2.00 KB  100.0%\t20\t \t   start\n1.50 KB  75.0%\t12\t \t    f\n\
                         1.60 KB  75.0%\t12\t \t     g\n5 Bytes  1%\t1\t \t   other\n";
        assert_eq!(
            fold(&Instruments, inclusive, &CollapseOptions::default())
                .replace(".00", "")
                .replace(".40", ".4"),
            "other 5\nstart 512\nstart;f;g 1638.4\n"
        );
    }

    #[test]
    fn what_is_no_tree_is_told() {
        let error = |text: &str| {
            collapse_bytes(&Instruments, text, &CollapseOptions::default()).unwrap_err().to_string()
        };
        let skipped =
            error("Weight\tSelf Weight\t\tSymbol Name\n1 s 100%\t1 s\t \ta\n1 s 100%\t1 s\t \t   b\n");
        assert!(skipped.starts_with("test:3: expected a function one level below"), "{skipped}");
        assert!(error("1 s\t1 s\t \ta\n").starts_with("test:1: expected a first line"));
        let mixed =
            "Weight\tSelf Weight\t\tSymbol Name\n1 s 1%\t1 s\t \ta\n1 KB 1%\t1 KB\t \tb\n1 x\t1 x\t \tc\n";
        let (out, report) = collapse_bytes(&Instruments, mixed, &CollapseOptions::default()).unwrap();
        assert_eq!((out.as_str(), report.not_understood.count), ("a 1000\n", 2));
    }
}
