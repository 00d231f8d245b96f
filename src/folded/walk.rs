//! Folded text as a call tree, while it streams by.
//!
//! In frame order a frame is open until a line diverges from it: what is kept is the path to the
//! current line. Input that turns out not to be in order is read once more into a
//! [`StackTable`], which sorts it.

use std::sync::Arc;

use super::frame_id::FrameId;
use super::heavy;
use super::line::{Columns, Weights, parse_line};
use super::parts::{self, Attempt};
use super::pass::{Pass, is_negative, places_of_semicolons};
use super::place::Places;
use super::reader::NotUnderstood;
use super::replay_buffer::Rereadable;
use super::table::{Batch, StackTable};
use super::visitor::{Known, Order, Rewrite, Visitor, WalkSummary};
use crate::error::Result;
use crate::input::Source;
use crate::limits::{Held, Meter};
use crate::weight::Weight;

/// Walks the call tree of one or several folded files.
///
/// # Errors
/// Those of reading, [`crate::ErrorKind::Overflow`], and the visitor's.
pub fn walk(
    sources: &[Source],
    order: Order,
    rewrite: Option<&Rewrite>,
    visitor: &mut dyn Visitor,
) -> Result<WalkSummary> {
    walk_on(1, sources, order, rewrite, visitor)
}

/// [`walk`] on up to `threads` threads; 0 means one for each processor. The visitor decides by
/// [`Visitor::fork`] whether there can be several.
///
/// # Errors
/// Those of [`walk`].
pub fn walk_on(
    threads: usize,
    sources: &[Source],
    order: Order,
    rewrite: Option<&Rewrite>,
    visitor: &mut dyn Visitor,
) -> Result<WalkSummary> {
    let mut input = Rereadable::open(sources)?;
    let columns = input.lines().columns();
    // One text as it stands may be in frame order already.
    let meter = sources.first().and_then(Source::meter);
    let is_one_text = order == Order::Frame && sources.len() == 1 && rewrite.is_none();
    let mut streams = is_one_text || order != Order::Frame;
    if is_one_text {
        match parts::walk(&input, columns, threads, meter, visitor) {
            Attempt::Walked(summary) => return Ok(*summary),
            Attempt::NotInOrder => {
                visitor.restart()?;
                streams = false;
            }
            Attempt::Unusual(has_begun) => {
                if has_begun {
                    visitor.restart()?;
                }
            }
        }
    }
    if streams {
        let facts = input.lines().first_facts().clone();
        visitor.begin(&Known { columns, facts: &facts, places: &Places::default() })?;
        let mut pass = Pass::new(order, columns, visitor.follows_stacks()).within(meter);
        let in_order = pass.stream(&mut input, rewrite, visitor)?;
        // In frame order, the facts of the first header have to hold for all stacks.
        if in_order && (order != Order::Frame || !input.lines().has_parts()) {
            pass.summary.not_understood.ends_within = input.lines().ends_within();
            return Ok(WalkSummary { facts: input.lines().facts(), ..pass.finish(visitor)? });
        }
        visitor.restart()?;
        input.rewind()?;
    }
    if is_one_text && let Some(summary) = heavy::walk(&mut input, visitor)? {
        return Ok(summary);
    }
    input.read_once_more();
    sorted(input, rewrite, visitor, meter)
}

/// Loads everything into a table and walks that.
fn sorted(
    mut input: Rereadable<'_>,
    rewrite: Option<&Rewrite>,
    visitor: &mut dyn Visitor,
    meter: Option<&Arc<Meter>>,
) -> Result<WalkSummary> {
    let columns = input.lines().columns();
    let mut table = StackTable::default();
    let mut held = Held::default();
    let mut not_understood = NotUnderstood::default();
    let (mut rewritten, mut semicolons) = (Vec::new(), Vec::new());
    let (mut batch, mut ids) = (Batch::default(), Vec::new());
    while let Some(line) = input.next_line_split(&mut semicolons)? {
        let Some(parsed) = parse_line(line, columns) else {
            let line = line.to_vec();
            not_understood.note(&line, || input.position());
            continue;
        };
        let mut stack = parsed.stack;
        if let Some(rewrite) = rewrite {
            rewritten.clear();
            if !rewrite(stack, &mut rewritten) {
                continue;
            }
            stack = &rewritten;
            places_of_semicolons(stack, &mut semicolons);
        }
        ids.clear();
        table.split_at(stack, &semicolons, &mut ids);
        if batch.push(&ids, parsed.weights) {
            table.add_mostly_new(&mut batch).map_err(|e| e.or_at(|| input.position()))?;
            if let Some(meter) = meter {
                let before = std::mem::replace(&mut held, table.held());
                meter.check_held(before, held).map_err(|e| e.or_at(|| input.position()))?;
            }
        }
        if let Some(meter) = meter {
            meter.check_depth(ids.len()).map_err(|e| e.or_at(|| input.position()))?;
        }
    }
    table.add_mostly_new(&mut batch)?;
    not_understood.ends_within = input.lines().ends_within();
    let facts = input.lines().facts();
    let walked = walk_table(&table, &Known { columns, facts: &facts, places: &Places::default() }, visitor)?;
    Ok(WalkSummary { not_understood, ..walked })
}

/// Walks the call tree of a table, in frame order.
///
/// # Errors
/// [`crate::ErrorKind::Overflow`], and the visitor's.
pub fn walk_table(table: &StackTable, known: &Known<'_>, visitor: &mut dyn Visitor) -> Result<WalkSummary> {
    visitor.begin(known)?;
    let mut pass = Pass::new(Order::Frame, known.columns, visitor.follows_stacks());
    // A light frame of a differential profile may have been a heavy one before.
    let least = match known.columns {
        Columns::One => visitor.least(table.total()?),
        Columns::Two => Weight::ZERO,
    };
    let (mut negative, mut semicolons) = (0, Vec::new());
    table.for_each_heavy(least, |stack, weights| {
        if is_negative(weights) {
            negative += 1;
            return Ok(());
        }
        places_of_semicolons(stack, &mut semicolons);
        pass.push(stack, 0, &semicolons, weights, visitor).map(|_| ())
    })?;
    let summary = pass.finish(visitor)?;
    Ok(WalkSummary {
        facts: known.facts.clone(),
        places: Arc::new(known.places.clone()),
        negative,
        ..summary
    })
}

/// Walks stacks of a table in the order in which they come. Each comes with a root frame; an empty one
/// is none.
///
/// # Errors
/// [`crate::ErrorKind::Overflow`], and the visitor's.
pub(crate) fn walk_profile<'t>(
    table: &StackTable,
    stacks: impl Iterator<Item = (&'t [u8], &'t [FrameId], Weights)>,
    order: Order,
    rewrite: Option<&Rewrite>,
    known: &Known<'_>,
    visitor: &mut dyn Visitor,
) -> Result<WalkSummary> {
    visitor.begin(known)?;
    let mut pass = Pass::new(order, known.columns, visitor.follows_stacks());
    let (mut text, mut rewritten, mut semicolons) = (Vec::new(), Vec::new(), Vec::new());
    for (root, stack, weights) in stacks {
        text.clear();
        text.extend_from_slice(root);
        for &frame in stack {
            if !text.is_empty() {
                text.push(b';');
            }
            text.extend_from_slice(table.name(frame));
        }
        let mut stack = &text;
        if let Some(rewrite) = rewrite {
            rewritten.clear();
            if !rewrite(stack, &mut rewritten) {
                continue;
            }
            stack = &rewritten;
        }
        places_of_semicolons(stack, &mut semicolons);
        pass.push(stack, 0, &semicolons, weights, visitor)?;
    }
    let summary = pass.finish(visitor)?;
    Ok(WalkSummary { facts: known.facts.clone(), ..summary })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every frame as `depth name start own total`, in the order of the visits.
    #[derive(Default)]
    struct Log(Vec<String>);

    impl Visitor for Log {
        fn exit(&mut self, f: super::super::Frame<'_>, _: Weights) -> Result<()> {
            let name = String::from_utf8_lossy(f.name);
            self.0.push(format!("{} {name} {} {} {}", f.depth, f.start.value, f.own.value, f.total.value));
            Ok(())
        }

        fn restart(&mut self) -> Result<()> {
            self.0.clear();
            Ok(())
        }
    }

    /// Everything in the order it is told.
    #[derive(Default)]
    struct Story(Vec<String>);

    impl Visitor for Story {
        fn follows_stacks(&self) -> bool {
            true
        }

        fn enter(&mut self, name: &[u8], depth: usize) -> Result<()> {
            self.0.push(format!("enter {depth} {}", String::from_utf8_lossy(name)));
            Ok(())
        }

        fn stack(&mut self, stack: &[u8], weights: Weights) -> Result<()> {
            self.0.push(format!("stack {} {}", String::from_utf8_lossy(stack), weights.value));
            Ok(())
        }

        fn exit(&mut self, frame: super::super::Frame<'_>, _: Weights) -> Result<()> {
            self.0.push(format!("exit {} {}", frame.depth, String::from_utf8_lossy(frame.name)));
            Ok(())
        }

        fn restart(&mut self) -> Result<()> {
            self.0.clear();
            Ok(())
        }
    }

    fn story(text: &str, order: Order) -> Vec<String> {
        let mut story = Story::default();
        walk(&[Source::bytes(text)], order, None, &mut story).unwrap();
        story.0
    }

    #[test]
    fn tells_of_stacks_between_enter_and_exit() {
        let told = [
            "enter 0 a",
            "stack a 1",
            "enter 1 ",
            "enter 2 b",
            "stack a;;b 5",
            "exit 2 b",
            "exit 1 ",
            "exit 0 a",
            "enter 0 c",
            "stack c 4",
            "exit 0 c",
        ];
        assert_eq!(story("a 1\na;;b 2\na;;b 3\nc 4\n", Order::Frame), told);
        assert_eq!(story("c 4\na;;b 5\na 1\n", Order::Frame), told);
        assert_eq!(
            story(" 1\n;x 2\n", Order::Frame),
            ["enter 0 ", "stack  1", "enter 1 x", "stack ;x 2", "exit 1 x", "exit 0 "]
        );
        let twice = ["enter 0 a", "stack a 1", "exit 0 a", "enter 0 a", "stack a 2", "exit 0 a"];
        assert_eq!(story("a 1\na 2\n", Order::Time), twice);
        let later = ["enter 0 a", "enter 1 b", "stack a;b 1", "exit 1 b", "stack a 2", "exit 0 a"];
        assert_eq!(story("a;b 1\na 2\n", Order::Input), later);
    }

    #[test]
    fn the_unit_is_that_of_the_header() {
        let summary = log("# unit: ns\n# x: y\na 1\n", Order::Frame).1;
        assert_eq!(summary.facts.unit.as_deref(), Some("ns"));
        assert_eq!(log("b 1\n# unit: ns\na 1\n", Order::Frame).1.facts.unit, None);
    }

    fn log(text: &str, order: Order) -> (Vec<String>, WalkSummary) {
        let mut log = Log::default();
        let summary = walk(&[Source::bytes(text)], order, None, &mut log).unwrap();
        (log.0, summary)
    }

    #[test]
    fn visits_callees_before_callers() {
        let (log, summary) = log("a 1\na;b 2\na;b;c 3\na;bb 4\nd 5\n", Order::Frame);
        assert_eq!(log, ["2 c 3 3 3", "1 b 1 2 5", "1 bb 6 4 4", "0 a 0 1 10", "0 d 10 5 5"]);
        assert_eq!(summary.total.value, crate::Weight::new(15));
    }

    #[test]
    fn any_order_gives_the_same_tree() {
        let sorted = log("a 1\na;b 2\na;b;c 3\na b;c 4\n", Order::Frame).0;
        assert_eq!(log("a b;c 4\na;b;c 1\na 1\na;b 2\na;b;c 2\n", Order::Frame).0, sorted);
    }

    #[test]
    fn stacks_are_changed_or_left_out_in_any_order() {
        let rewrite = |stack: &[u8], new: &mut Vec<u8>| {
            new.extend(stack.iter().filter(|&&byte| byte != b'x'));
            !stack.starts_with(b"z")
        };
        for order in [Order::Frame, Order::Input, Order::Time] {
            let mut log = Log::default();
            walk(&[Source::bytes("ax;b 1\nz 5\na;bx;c 2\n")], order, Some(&rewrite), &mut log).unwrap();
            assert_eq!(log.0, ["2 c 1 2 2", "1 b 0 1 3", "0 a 0 0 3"], "{order:?}");
        }
    }

    #[test]
    fn in_the_order_of_time_equal_neighbours_are_two_calls() {
        let text = "m;a 1\nm;a 1\nm;a;b 1\nm;a 2\n";
        assert_eq!(log(text, Order::Time).0, ["1 a 0 1 1", "2 b 2 1 1", "1 a 1 3 4", "0 m 0 0 5"]);
        assert_eq!(log(text, Order::Input).0, ["2 b 2 1 1", "1 a 0 4 5", "0 m 0 0 5"]);
    }

    #[test]
    fn a_late_line_with_one_weight_makes_all_lines_one_column() {
        let mut text = String::new();
        for n in 0..30_000 {
            text.push_str(&format!("main;thread {n:05} 1\n"));
        }
        let (two, summary) = log(&text, Order::Frame);
        assert_eq!((two.len(), summary.columns), (2, Columns::Two));
        for order in [Order::Frame, Order::Input] {
            let (one, summary) = log(&format!("{text}main;zebra 1\n"), order);
            assert_eq!((one.len(), summary.columns), (30_002, Columns::One));
            assert_eq!(summary.total.value, crate::Weight::new(30_001));
        }
    }

    #[test]
    fn lines_of_one_stack_add_up_before_a_negative_sum_is_left_out() {
        let (log_, summary) = log("a 30\na -10\nb 1\nb -2\n", Order::Frame);
        assert_eq!((log_, summary.negative), (vec!["0 a 0 20 20".to_owned()], 1));
    }

    #[test]
    fn texts_put_together_are_one_profile() {
        let text = "# unit: ns\n# samples: 1 samples\na 1\n# unit: ns\n# samples: 2 samples\nb 2\n";
        let (_, summary) = log(text, Order::Frame);
        assert_eq!((summary.facts.unit.as_deref(), summary.facts.samples), (Some("ns"), Some(3)));
    }

    #[test]
    fn texts_put_together_stay_in_their_order() {
        let text = "# unit: ns\nb 1\n# unit: ns\na 2\n";
        for order in [Order::Input, Order::Time] {
            assert_eq!(log(text, order).0, ["0 b 0 1 1", "0 a 1 2 2"]);
        }
        assert_eq!(log(text, Order::Frame).0, ["0 a 0 2 2", "0 b 2 1 1"]);
    }

    #[test]
    fn counts_what_it_leaves_out() {
        let (_, summary) = log("a 1\nwhat is this\nb -2\n\n# a comment\nc 2\n", Order::Frame);
        assert_eq!(summary.not_understood.count, 1);
        assert!(summary.not_understood.refuse().unwrap_err().to_string().contains(":2: "));
        assert_eq!(summary.negative, 1);
        assert_eq!(summary.total.value, crate::Weight::new(3));
    }
}
