//! The call tree of Instruments as it is copied from its window: Edit > Deep Copy.
//!
//! ```text
//! Weight\tSelf Weight\t\tSymbol Name
//! 1.17 min  100.0%\t0 s\t \torders (4211)
//! 69.10 s   98.4%\t12.00 ms\t \t start
//! 45.03 s   64.1%\t45.03 s\t \t  fib
//! ```
//! A blank for each level in front of the name; columns are separated by tabs (`\t`). The weights of functions
//! themselves are added up. Older versions call the columns `Running Time` and `Self (ms)`; the tree of allocations
//! has `Bytes Used`. Instruments rounds: the sum may differ a little from the first line's weight.

use super::forest::Budget;
use super::names::FrameNames;
use super::text::Text;
use super::values::Values;
use super::{Collapser, FormatInfo, Options, Report, Sink, Value, Verdict};
use crate::error::{Error, Result};
use crate::folded::FrameId;
use crate::input::Input;
use crate::weight::Weight;

const INFO: FormatInfo = FormatInfo {
    name: "instruments",
    producer: "Instruments of macOS: Edit > Deep Copy of a call tree, pasted into a file",
    tested: "documented output",
    values: "time, cycles or size",
    unit: "ms, cycles, bytes",
};

/// The names of the first column.
const WEIGHTS: [&[u8]; 4] = [b"Running Time", b"Weight", b"Bytes Used", b"Count"];

/// The units: their names, the value, its unit, and the size of one of them.
const UNITS: [(&[u8], usize, &[u8]); 16] = [
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
];

/// The values that the units are of.
const VALUES: [(&str, &str); 3] = [("time", "ms"), ("cycles", "cycles"), ("size", "bytes")];

/// Collapses call trees of Instruments.
pub struct Instruments;

impl Collapser for Instruments {
    fn info(&self) -> &'static FormatInfo {
        &INFO
    }

    fn detect(&self, head: &[u8]) -> Verdict {
        let first = head.split(|&b| b == b'\n').next().unwrap_or_default();
        if Columns::read(first.trim_ascii_end()).is_some() { Verdict::Yes } else { Verdict::No }
    }

    fn collapse(
        &self,
        input: Input,
        options: &Options,
        sink: &mut dyn Sink,
        report: &mut Report,
    ) -> Result<()> {
        let mut columns = None;
        let mut tree = Tree { levels: Vec::new(), names: FrameNames::default(), budget: Budget::default() };
        let mut values: Option<(usize, Values)> = None;
        Text::new(input).for_each(report, |line| {
            if let Some(read) = Columns::read(line) {
                columns = Some(read);
                return Ok(true);
            }
            let Some(columns) = &columns else {
                return Err(Error::malformed("a first line with the columns of a call tree", line));
            };
            if line.trim_ascii().is_empty() {
                return Ok(true);
            }
            let Some((depth, name, weight)) = columns.row(line) else { return Ok(false) };
            let (unit, weight) = weight;
            if depth > tree.levels.len() {
                return Err(Error::malformed("a function one level below the one before", name));
            }
            let frame = tree.frame(depth, name, sink)?;
            tree.levels.push(frame);
            if weight.is_zero() {
                return Ok(true);
            }
            if values.is_none() {
                let (name, unit_name) = VALUES[unit];
                values = Some((unit, Values::only(options, Value::new(name, unit_name))));
            }
            let Some((first, values)) = values.as_mut() else { return Ok(false) };
            if *first != unit {
                return Ok(false);
            }
            tree.budget.spend(tree.levels.len())?;
            values.add(0, &tree.levels, weight, sink)?;
            Ok(true)
        })?;
        values.map_or(Ok(()), |(_, values)| values.finish(report))
    }
}

/// The functions from the root to the one that was read last.
struct Tree {
    levels: Vec<FrameId>,
    names: FrameNames,
    budget: Budget,
}

impl Tree {
    fn frame(&mut self, depth: usize, name: &[u8], sink: &mut dyn Sink) -> Result<FrameId> {
        self.levels.truncate(depth);
        self.budget.check(depth + 1)?;
        Ok(self.names.plain(name, sink))
    }
}

/// The columns that are needed, by their numbers.
struct Columns {
    own: usize,
    name: usize,
}

impl Columns {
    /// Reads the line that names the columns.
    fn read(line: &[u8]) -> Option<Columns> {
        let names: Vec<&[u8]> = line.split(|&b| b == b'\t').map(<[u8]>::trim_ascii).collect();
        let name = names.iter().position(|name| *name == b"Symbol Name")?;
        let own = names.iter().position(|name| name.starts_with(b"Self"))?;
        WEIGHTS.contains(names.first()?).then_some(Columns { own, name })
    }

    /// The level of a row, its name and its own weight, with the number of the value that it is of.
    fn row<'l>(&self, line: &'l [u8]) -> Option<(usize, &'l [u8], (usize, Weight))> {
        let mut cells = line.split(|&b| b == b'\t');
        let own = cells.clone().nth(self.own)?;
        let name = cells.nth(self.name)?;
        let shown = name.trim_ascii_start();
        let depth = name.len() - shown.len();
        (!shown.is_empty()).then_some((depth, shown, weight(own.trim_ascii())?))
    }
}

/// `45.03 s`, `12,0ms` or `1.2 Gc`, and perhaps a share behind it: `12.0ms 3.4%`.
fn weight(cell: &[u8]) -> Option<(usize, Weight)> {
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
        assert_eq!(Instruments.detect(TREE.as_bytes()), Verdict::Yes);
        let expected = "orders (4211);exit 60000\norders (4211);start 12\norders (4211);start;fib: 45030\n";
        let sorted = |text: String| text.replace(".00", "");
        assert_eq!(sorted(fold(&Instruments, TREE, &Options::default())), expected);
        let old = "Running Time\tSelf (ms)\t\tSymbol Name\n683.0ms  100.0%\t0,0\t \tmain\n683.0ms  100.0%\t683,5\t \t f\n";
        assert_eq!(fold(&Instruments, old, &Options::default()), "main;f 683.5\n");
        let cycles = "Weight\tSelf Weight\t\tSymbol Name\n1.2 Gc 100%\t1.2 Gc\t \tmain\n";
        let (out, report) = collapse_bytes(&Instruments, cycles, &Options::default()).unwrap();
        assert_eq!((out.as_str(), report.unit()), ("main 1200000000\n", Some("cycles")));
    }

    #[test]
    fn what_is_no_tree_is_told() {
        let error =
            |text: &str| collapse_bytes(&Instruments, text, &Options::default()).unwrap_err().to_string();
        let skipped =
            error("Weight\tSelf Weight\t\tSymbol Name\n1 s 100%\t1 s\t \ta\n1 s 100%\t1 s\t \t   b\n");
        assert!(skipped.starts_with("test:3: expected a function one level below"), "{skipped}");
        assert!(error("1 s\t1 s\t \ta\n").starts_with("test:1: expected a first line"));
        let mixed =
            "Weight\tSelf Weight\t\tSymbol Name\n1 s 1%\t1 s\t \ta\n1 KB 1%\t1 KB\t \tb\n1 x\t1 x\t \tc\n";
        let (out, report) = collapse_bytes(&Instruments, mixed, &Options::default()).unwrap();
        assert_eq!((out.as_str(), report.not_understood.count), ("a 1000\n", 2));
    }
}
