//! The heap that `valgrind --tool=massif` writes (seen: 3.19).
//!
//! ```text
//! desc: --massif-out-file=massif.out
//! cmd: c/cyc 9
//! time_unit: i
//! snapshot=2
//! mem_heap_B=14400
//! heap_tree=peak
//! n2: 14400 (heap allocation functions) malloc/new/new[], --alloc-fns, etc.
//!  n1: 7200 0x109413: sorter (cyc.c:13)
//!   n0: 7200 0x10912A: main (cyc.c:18)
//! ```
//! A tree is drawn for some of the snapshots, from where memory was allocated out to `main`, so
//! the deepest line is the root. The peak is taken, or without one the largest; snapshots are not
//! added up, as what one holds the next holds too. The format is shown in valgrind's manual, and
//! read by `ms_print`.

use crate::collapse::kit::forest::Budget;
use crate::collapse::kit::names::NO_STACK;
use crate::collapse::kit::text::Text;
use crate::collapse::kit::times::duration;
use crate::collapse::kit::valgrind;
use crate::collapse::kit::values::Values;
use crate::collapse::{Certainty, CollapseOptions, Collapser, FormatInfo, Reading, Report, Sink, Tested};
use crate::error::{Error, ErrorKind, Result};
use crate::folded::FrameId;
use crate::input::Input;
use crate::number;
use crate::weight::Weight;

const INFO: FormatInfo = FormatInfo {
    name: "massif",
    producer: "valgrind --tool=massif; the snapshot of the peak",
    tested: Tested::Seen("valgrind 3.19"),
    values: "heap",
    unit: "bytes",
};

/// The frame for the many places that massif does not show one by one.
const BELOW: &[u8] = b"[below threshold]";

/// Collapses massif's format.
pub struct Massif;

impl Collapser for Massif {
    fn info(&self) -> &'static FormatInfo {
        &INFO
    }

    fn detect(&self, head: &[u8]) -> Certainty {
        valgrind::header(head, b"time_unit:")
    }

    fn collapse(
        &self,
        input: Input,
        reading: &Reading<'_>,
        sink: &mut dyn Sink,
        report: &mut Report,
    ) -> Result<()> {
        let mut lines = Text::new(input);
        let mut best = Tree::default();
        let mut snapshot = Tree::default();
        let mut drawn = 0;
        let mut in_millis = false;
        // A snapshot ends with its tree, or with the word that it has none.
        let mut complete = true;
        let mut measured_stacks = false;
        while let Some(line) = lines.next_line()? {
            if let Some(number) = line.strip_prefix(b"snapshot=") {
                complete = false;
                snapshot = Tree { number: number.to_vec(), ..Tree::default() };
            } else if let Some(bytes) = line.strip_prefix(b"mem_heap_B=") {
                snapshot.stated = Weight::parse(bytes);
            } else if let Some(bytes) = line.strip_prefix(b"mem_stacks_B=") {
                measured_stacks |= bytes != b"0";
            } else if let Some(kind) = line.strip_prefix(b"heap_tree=") {
                complete = true;
                snapshot.is_peak = kind == b"peak";
                if kind != b"empty" {
                    drawn += 1;
                    snapshot.read(&mut lines, reading, sink)?;
                    if (snapshot.is_peak, snapshot.weight()) > (best.is_peak, best.weight()) {
                        best = std::mem::take(&mut snapshot);
                    }
                }
            } else if let Some(command) = line.strip_prefix(b"cmd:") {
                report.facts.set_command(command);
            } else if let Some(unit) = line.strip_prefix(b"time_unit:") {
                in_millis = unit.trim_ascii() == b"ms";
            } else if let Some(time) = line.strip_prefix(b"time=").filter(|_| in_millis) {
                let time = Weight::parse(time).and_then(|time| duration(time, "ms"));
                report.facts.duration = time.or(report.facts.duration);
            } else if !(line.is_empty() || line.starts_with(b"#") || is_field(line)) {
                lines.not_understood(report);
            }
        }
        lines.end(report);
        if measured_stacks && best.weight().is_zero() {
            let what =
                "the size of a program's stacks over time, and nothing of a heap, by massif --stacks=yes";
            let instead =
                "record what is allocated: valgrind --tool=massif, or --tool=dhat, of a program that does";
            return Err(Error::new(ErrorKind::KnownUnsupported { what, instead }, lines.place()));
        }
        let mut values = Values::single(reading, "heap", "bytes");
        best.samples(&mut values, sink)?;
        if let Some(stated) = best.stated.filter(|_| drawn > 0) {
            report.check_total(format_args!("the stacks of the snapshot"), best.weight(), stated);
        }
        if !complete {
            report.doubt("the last snapshot is not complete: the file is cut off");
        }
        if drawn > 1 {
            let which = if best.is_peak { "the peak, " } else { "the largest, " };
            let number = String::from_utf8_lossy(&best.number);
            report.warn(format!("of {drawn} snapshots with stacks this is {which}number {number}"));
        }
        values.finish(report)
    }
}

/// A snapshot's tree, in the order of its lines.
#[derive(Default)]
struct Tree {
    number: Vec<u8>,
    is_peak: bool,
    /// The size of the heap as the snapshot states it, before the tree.
    stated: Option<Weight>,
    nodes: Vec<Node>,
}

struct Node {
    depth: usize,
    children: u64,
    bytes: Weight,
    /// None for the root of the tree, which is no function.
    frame: Option<FrameId>,
}

impl Tree {
    fn weight(&self) -> Weight {
        self.nodes.first().map_or(Weight::ZERO, |root| root.bytes)
    }

    /// Reads the lines of a tree: each says how many children follow, so its end is known.
    fn read(&mut self, lines: &mut Text, options: &CollapseOptions, sink: &mut dyn Sink) -> Result<()> {
        // The number of lines still to come at each depth.
        let mut open: Vec<u64> = vec![1];
        while let Some(depth) = open.len().checked_sub(1) {
            let Some(left) = open[depth].checked_sub(1) else {
                open.pop();
                continue;
            };
            open[depth] = left;
            let Some(line) = lines.next_line()? else {
                return Err(lines.malformed("the rest of a heap tree", b"the end"));
            };
            let Some(node) = node(line, depth, options, sink) else {
                return Err(lines.malformed("a line of a heap tree", lines.line()));
            };
            open.push(node.children);
            Budget::default().check(open.len()).map_err(|e| e.at(lines.place()))?;
            self.nodes.push(node);
        }
        Ok(())
    }

    /// Adds the bytes of each line that those below it leave.
    fn samples(&self, values: &mut Values, sink: &mut dyn Sink) -> Result<()> {
        let mut budget = Budget::default();
        let mut stack: Vec<FrameId> = Vec::new();
        for (at, node) in self.nodes.iter().enumerate() {
            let mut own = node.bytes;
            let below = self.nodes[at + 1..].iter().take_while(|below| below.depth > node.depth);
            for child in below.filter(|below| below.depth == node.depth + 1) {
                own = own.checked_sub(child.bytes)?;
            }
            // Leaf first, down to this line.
            stack.truncate(node.depth.saturating_sub(1));
            stack.extend(node.frame);
            budget.spend(stack.len())?;
            let mut root_first: Vec<FrameId> = stack.iter().rev().copied().collect();
            if root_first.is_empty() && !own.is_zero() {
                root_first.push(sink.frame(NO_STACK));
            }
            values.add(0, &root_first, own, sink)?;
        }
        Ok(())
    }
}

/// ` n1: 7200 0x109413: sorter (cyc.c:13)`, indented by its depth.
fn node(line: &[u8], depth: usize, options: &CollapseOptions, sink: &mut dyn Sink) -> Option<Node> {
    let indent = line.iter().take_while(|&&b| b == b' ').count();
    let rest = line[indent..].strip_prefix(b"n")?;
    let colon = memchr::memmem::find(rest, b": ")?;
    let children = number::parse(&rest[..colon])?;
    let rest = &rest[colon + 2..];
    let space = memchr::memchr(b' ', rest)?;
    let bytes = Weight::parse(&rest[..space])?;
    let what = &rest[space + 1..];
    let frame = match (indent, what) {
        _ if indent != depth => return None,
        (0, _) => None,
        (_, what) if what.starts_with(b"in ") => Some(sink.frame(BELOW)),
        (_, what) => Some(valgrind::frame(what, options, sink)?),
    };
    Some(Node { depth, children, bytes, frame })
}

/// `time=0`, `desc: …`
fn is_field(line: &[u8]) -> bool {
    let end = line.iter().position(|&b| b == b'=' || b == b':');
    end.is_some_and(|end| line[..end].iter().all(|&b| b.is_ascii_alphanumeric() || b == b'_'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::collapse::tests::{collapse_bytes, fold};

    fn chain(depth: usize) -> String {
        let line = |at: usize| {
            let (indent, children) = (" ".repeat(at), usize::from(at < depth));
            format!("{indent}n{children}: {} 0x1: f (a.c:1)\n", depth + 1 - at)
        };
        format!("snapshot=0\nheap_tree=peak\n{}", (0..=depth).map(line).collect::<String>())
    }

    #[test]
    fn each_line_has_what_those_below_it_leave() {
        assert_eq!(fold(&Massif, chain(2), &CollapseOptions::default()), "[no stack] 1\nf 1\nf;f 1\n");
    }

    #[test]
    fn sizes_of_stacks_without_a_heap_are_named() {
        let text = "desc: --stacks=yes\ncmd: x\ntime_unit: i\n#-----------\nsnapshot=0\n#-----------\ntime=0\n\
            mem_heap_B=0\nmem_heap_extra_B=0\nmem_stacks_B=3264\nheap_tree=detailed\nn0: 0 (heap allocation functions)\n";
        let error = collapse_bytes(&Massif, text, &CollapseOptions::default()).unwrap_err().to_string();
        assert!(error.contains("not read here: the size of a program's stacks"), "{error}");
    }

    #[test]
    fn stacks_that_would_fill_the_memory_are_refused() {
        let error =
            collapse_bytes(&Massif, chain(6000), &CollapseOptions::default()).unwrap_err().to_string();
        assert!(error.contains("frames in all stacks"), "{error}");
    }
}
