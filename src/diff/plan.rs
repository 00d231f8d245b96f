//! Two plain files in frame order, merged by a plan.
//!
//! Nothing is written before it is known that both files are in order, so both are read twice.
//! The first time is all the work: lines are found, weights read, stacks compared. What comes of
//! it is kept, four bytes for each stack: which file has it, and how long it and its weights are.
//! The second time copies by that plan and looks at no stack again.
//!
//! Nearly all files are plain. One with a comment among the lines, a weight that is not a whole
//! number of at most 18 digits, a frame without a name at the end of a stack, two columns, another
//! unit than the other file, two equal stacks, or a program with another name is left to [`Pair::join`](super::join::Pair::join).

use std::cmp::Ordering;
use std::io::Write;

use super::notes::{self, Note};
use super::options::ReportOptions;
use super::plain_lines::{BLOCK, PlainLines, changed};
use super::roots::{self, Roots};
use crate::error::Result;
use crate::folded::{cmp_at, common_prefix};
use crate::input::Source;
use crate::profile::Facts;
use crate::weight::Weight;

/// The steps that make one file of two, and what both sides weigh.
pub(crate) struct Plan {
    steps: Vec<Step>,
    /// Stacks are left when all steps are done, as a plan has at most [`MOST`] steps.
    is_cut: bool,
    /// The weight of all stacks before.
    pub(crate) before: Weight,
    /// The weight of all stacks after.
    pub(crate) after: Weight,
    /// The facts of the sides, before and after.
    facts: (Facts, Facts),
}

/// The most steps of a plan, 4 MB of them. Stacks behind it are compared once more.
const MOST: usize = 1 << 20;

/// One stack: the sides that have it, the number of digits of its weights, its length.
#[derive(Clone, Copy)]
struct Step(u32);

const LENGTH_BITS: u32 = 20;
const DIGIT_BITS: u32 = 5;
impl Step {
    fn new(before: usize, after: usize, stack: usize) -> Option<Step> {
        let digits = (before << DIGIT_BITS | after) << LENGTH_BITS;
        (stack < 1 << LENGTH_BITS).then_some(Step((digits | stack) as u32))
    }

    fn stack(self) -> usize {
        self.0 as usize & ((1 << LENGTH_BITS) - 1)
    }

    /// The digits of the weight before; 0 if the stack is not there.
    fn before(self) -> usize {
        (self.0 >> (LENGTH_BITS + DIGIT_BITS)) as usize
    }

    /// The digits of the weight after; 0 if the stack is not there.
    fn after(self) -> usize {
        (self.0 >> LENGTH_BITS) as usize & ((1 << DIGIT_BITS) - 1)
    }
}

impl Plan {
    /// Reads both files; `None` if one is not plain or not in order.
    ///
    /// # Errors
    /// Those of reading.
    pub(crate) fn make(before: &Source, after: &Source) -> Result<Option<Plan>> {
        Plan::of_most(MOST, before, after)
    }

    fn of_most(most: usize, before: &Source, after: &Source) -> Result<Option<Plan>> {
        let (Some(mut before), Some(mut after)) = (PlainLines::open(before)?, PlainLines::open(after)?)
        else {
            return Ok(None);
        };
        let facts = (std::mem::take(&mut before.facts), std::mem::take(&mut after.facts));
        if facts.0.unit != facts.1.unit {
            return Ok(None);
        }
        let mut plan =
            Plan { steps: Vec::new(), is_cut: false, before: Weight::ZERO, after: Weight::ZERO, facts };
        let mut has_stacks = Has { before: false, after: false };
        let (mut common, mut roots) = (Roots::default(), [Roots::default(), Roots::default()]);
        let is_plain = merge(&mut before, &mut after, |has, before, after| {
            match (has.before, has.after) {
                (true, true) => common.note(before.stack()),
                (true, false) => roots[0].note(before.stack()),
                _ => roots[1].note(after.stack()),
            }
            has_stacks.before |= has.before;
            has_stacks.after |= has.after;
            let stack = if has.before { before.stack().len() } else { after.stack().len() };
            let digits = |has: bool, lines: &PlainLines| if has { lines.digits } else { 0 };
            let Some(step) = Step::new(digits(has.before, before), digits(has.after, after), stack) else {
                return Ok(false);
            };
            if plan.steps.len() < most {
                plan.steps.push(step);
            } else {
                plan.is_cut = true;
            }
            Ok(true)
        })?;
        plan.before = Weight::new(before.total);
        plan.after = Weight::new(after.total);
        // A side without stacks is refused where files are named.
        let is_plain = is_plain && has_stacks.before && has_stacks.after;
        // A program with a name on each side is renamed, which changes the order.
        roots.iter_mut().for_each(|roots| roots.add(&common));
        let facts = (&[&plan.facts.0], &[&plan.facts.1]);
        let is_plain = is_plain && roots::program((&roots[0], facts.0), (&roots[1], facts.1)).is_none();
        Ok(is_plain.then_some(plan))
    }

    /// The facts of both sides.
    pub(crate) fn facts(&self) -> Facts {
        Facts::of_sides(self.facts.0.clone(), self.facts.1.clone())
    }

    /// Remarks on what the files say of themselves.
    pub(crate) fn notes(&self, options: &ReportOptions) -> Vec<Note> {
        notes::of_facts(&[&self.facts.0], &[&self.facts.1], options)
    }

    /// Reads the same files again, and writes both weights of every stack of either side.
    ///
    /// # Errors
    /// Those of reading and writing, and files that are not what they were.
    pub(crate) fn carry_out(&self, before: &Source, after: &Source, out: &mut dyn Write) -> Result<()> {
        let open = |source: &Source| PlainLines::open(source)?.ok_or_else(|| changed(source.name()));
        let (mut before, mut after) = (open(before)?, open(after)?);
        let mut text = Vec::with_capacity(2 * BLOCK);
        for step in &self.steps {
            let (stack, digits) = (step.stack(), (step.before(), step.after()));
            if digits.0 > 0 {
                // The line has the weight before where the output has it too.
                text.extend_from_slice(before.skip(stack + 1 + digits.0)?);
                if digits.1 > 0 {
                    let line = after.skip(stack + 1 + digits.1)?;
                    text.extend_from_slice(&line[stack..]);
                } else {
                    text.extend_from_slice(b" 0");
                }
            } else {
                let line = after.skip(stack + 1 + digits.1)?;
                text.extend_from_slice(&line[..stack]);
                text.extend_from_slice(b" 0");
                text.extend_from_slice(&line[stack..]);
            }
            text.push(b'\n');
            flush_full(&mut text, out)?;
        }
        if self.is_cut {
            let is_plain = merge(&mut before, &mut after, |has, before, after| {
                text.extend_from_slice(if has.before { before.stack() } else { after.stack() });
                for (has, lines) in [(has.before, before), (has.after, after)] {
                    text.extend_from_slice(if has { lines.blank_and_weight() } else { b" 0" });
                }
                text.push(b'\n');
                flush_full(&mut text, out)?;
                Ok(true)
            })?;
            if !is_plain {
                return Err(before.changed());
            }
        }
        out.write_all(&text)?;
        Ok(())
    }
}

#[inline]
fn flush_full(text: &mut Vec<u8>, out: &mut dyn Write) -> Result<()> {
    if text.len() >= BLOCK {
        out.write_all(text)?;
        text.clear();
    }
    Ok(())
}

/// The sides that have a stack.
#[derive(Clone, Copy)]
struct Has {
    before: bool,
    after: bool,
}

/// Tells `each` of every stack in order, until it says `false`; `false` too if a file is not
/// plain or not in order.
///
/// Every byte is looked at about once. Mostly the next stack after is the next one before, and
/// then comes behind the one told last as that does. Otherwise, what both have in common with
/// the stack told last says which of them comes first, unless it is as much: then they are
/// compared from there.
fn merge(
    before: &mut PlainLines,
    after: &mut PlainLines,
    mut each: impl FnMut(Has, &PlainLines, &PlainLines) -> Result<bool>,
) -> Result<bool> {
    let mut is_plain = before.advance()? && after.advance()?;
    let (mut same_before, mut same_after) = (0, 0);
    let mut are_equal = false;
    while is_plain && before.has && after.has {
        let mut order = if are_equal { Ordering::Equal } else { same_after.cmp(&same_before) };
        if order.is_eq() && !are_equal {
            let (a, b) = (before.stack(), after.stack());
            let same = same_before + common_prefix(&a[same_before..], &b[same_before..]);
            order = cmp_at(a, b, same);
            (same_before, same_after) = (same, same);
        }
        are_equal = false;
        let has = Has { before: order.is_le(), after: order.is_ge() };
        is_plain = each(has, before, after)?;
        if has.before {
            is_plain &= before.advance()?;
            same_before = before.same;
        }
        if has.after {
            are_equal = before.has && after.advance_to(before.stack());
            if !are_equal {
                is_plain &= after.advance()?;
                same_after = after.same;
            }
        }
    }
    while is_plain && before.has {
        is_plain = each(Has { before: true, after: false }, before, after)? && before.advance()?;
    }
    while is_plain && after.has {
        is_plain = each(Has { before: false, after: true }, before, after)? && after.advance()?;
    }
    Ok(is_plain)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;
    use crate::diff::join::Pair;
    use crate::diff::plain_lines::MOST_DIGITS;
    use crate::diff::recording::Recording;

    fn put(text: &[u8]) -> (tempfile::NamedTempFile, Source) {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), text).unwrap();
        let source = Source::new(file.path());
        (file, source)
    }

    fn planned(most: usize, before: &str, after: &str) -> Option<String> {
        let ((_a, before), (_b, after)) = (put(before.as_bytes()), put(after.as_bytes()));
        let plan = Plan::of_most(most, &before, &after).unwrap()?;
        let mut out = Vec::new();
        plan.carry_out(&before, &after, &mut out).unwrap();
        Some(String::from_utf8(out).unwrap())
    }

    fn joined(before: &str, after: &str) -> String {
        let recording = |text: &str| [Recording::Folded(Source::bytes(text))];
        let (before, after) = (recording(before), recording(after));
        let mut out = String::new();
        let mut each = |stack: &[u8], weights: crate::folded::Weights| {
            let stack = String::from_utf8_lossy(stack);
            out.push_str(&format!("{stack} {} {}\n", weights.before, weights.value));
            Ok(())
        };
        Pair::open(&before, &after, None, false).unwrap().join(None, &mut each).unwrap();
        out
    }

    /// In frame order: `;` ranks below all else. The first line has one weight and no other number,
    /// so that the text has one column.
    fn profile() -> impl Strategy<Value = String> {
        let frame = "[ab 7]{0,3}|(ab){17,40}";
        let leaf = "[ab 7]{1,3}|(ab){17,40}";
        let stack = (proptest::collection::vec(frame, 0..4), leaf)
            .prop_map(|(frames, leaf)| [frames, vec![leaf]].concat().join("\0"));
        proptest::collection::btree_map(stack, 0u64..2000, 1..30).prop_map(|stacks: BTreeMap<String, u64>| {
            let line =
                |(stack, weight): (&String, &u64)| format!("x;{} {weight}\n", stack.replace('\0', ";"));
            "w 5\n".to_owned() + &stacks.iter().map(line).collect::<String>()
        })
    }

    proptest! {
        #[test]
        fn a_plan_gives_what_joining_does(x in profile(), y in profile(), most in 0usize..40) {
            prop_assert_eq!(planned(most, &x, &y), Some(joined(&x, &y)));
            prop_assert_eq!(planned(most, &x, &x), Some(joined(&x, &x)));
            // The reader of all text says that it ends within a line.
            prop_assert_eq!(planned(most, &x, x.trim_end()), None);
        }

        #[test]
        fn a_file_out_of_order_has_no_plan(x in profile(), y in profile(), by in 0usize..30) {
            let mut lines: Vec<&str> = x.split_inclusive('\n').collect();
            let by = by % lines.len();
            lines.rotate_left(by);
            let x = lines.concat();
            prop_assert_eq!(planned(40, &x, &y).is_some(), by == 0);
            prop_assert_eq!(planned(40, &y, &x).is_some(), by == 0);
        }
    }

    #[test]
    fn blocks_and_windows_end_anywhere() {
        let line = |n: usize| format!("main;{};f{n:07} {n}\n", "deep;".repeat(n % 50));
        let text = |step: usize| {
            let mut lines: Vec<String> = (0..60_000).step_by(step).map(line).collect();
            lines.sort_by(|a, b| crate::folded::cmp_stacks(a.as_bytes(), b.as_bytes()));
            lines.concat()
        };
        let (x, y) = (text(1), text(19));
        assert!(x.len() > 8 << 20 && y.len() < 1 << 20 && y.len() > 2 * BLOCK);
        assert!(planned(MOST, &x, &y).unwrap() == joined(&x, &y));
        assert!(planned(MOST, &y, &x).unwrap() == joined(&y, &x));
        assert!(planned(100, &x, &y).unwrap() == joined(&x, &y));
        // The last line stands first, in its own block.
        let late = format!("{x}main 1\n");
        assert_eq!(planned(MOST, &late, &y), None);
    }

    #[test]
    fn comments_before_all_lines_are_passed_over() {
        assert_eq!(planned(9, "# event: x\n#\r\na 1\n", "a 3\n").unwrap(), "a 1 3\n");
        // No stacks at all: that is refused elsewhere.
        assert_eq!(planned(9, "# event: x\n", "a 3\n"), None);
        assert_eq!(planned(9, "# unit: ns\na 1\n", "a 3\n"), None);
        let plan = Plan::make(&Source::bytes("# unit: ns\na 1\n"), &Source::bytes("# unit: ns\na 1\n"));
        let plan = plan.unwrap().unwrap();
        assert_eq!((plan.facts.0.unit.as_deref(), plan.facts.1.unit.as_deref()), (Some("ns"), Some("ns")));
    }

    #[test]
    fn what_is_not_plain_is_left_to_others() {
        let longest = "9".repeat(MOST_DIGITS);
        for plain in [" 5\n", "a 0\n", "a 1\nb 2\n", "#a 1\n", &format!("a {longest}\n")] {
            assert_eq!(planned(9, plain, "z 1\n").as_deref(), Some(&*joined(plain, "z 1\n")), "{plain:?}");
        }
        for odd in [
            "",
            "a",
            "5",
            "a 1\nb 2",
            "a 1\r\n",
            "a 1.5\n",
            "a -1\n",
            "a 01\n",
            "a 00\n",
            "a 1\n\nb 1\n",
            "a 1\n# b 1\n",
            "a 1\na 2\n",
            "b 1\na 2\n",
            "a\n",
            "a  \n",
            "a\t5\n",
            "a; 5\n",
            "a;; 5\na;b 1\n",
            "a 1 5\n",
            "# columns: before, after\na 5\n",
            "# unit: ns\n# unit: s\na 5\n",
            "# 5",
            &format!("a 1{longest}"),
            &format!("{} 5", "x".repeat(1 << LENGTH_BITS)),
        ] {
            assert_eq!(planned(9, odd, "z 1\n"), None, "{odd:.20?}");
            assert_eq!(planned(9, "z 1\n", odd), None, "{odd:.20?}");
        }
    }

    #[test]
    fn a_file_that_changes_meanwhile_is_an_error() {
        let text = "a;b 10\na;c 20\na;d 30\n";
        for other in [
            "",
            "a;b 10\n",
            "a;b 10\na;c 2\na;d 30\n",
            "a;b 10\na;cc 20\na;d 30\n",
            "a;b;c;d 1000000\n",
            text.trim_end(),
        ] {
            let ((_a, before), (b, after)) = (put(text.as_bytes()), put(text.as_bytes()));
            for most in [1, 9] {
                std::fs::write(b.path(), text).unwrap();
                let plan = Plan::of_most(most, &before, &after).unwrap().unwrap();
                std::fs::write(b.path(), other).unwrap();
                match plan.carry_out(&before, &after, &mut Vec::new()) {
                    Err(error) => assert!(error.to_string().ends_with("it changed meanwhile"), "{error}"),
                    // What is compared anew is not known to be another.
                    Ok(()) => assert_eq!(most, 1, "{other}"),
                }
            }
        }
    }

    #[test]
    fn text_is_handed_on_as_soon_as_it_is_a_block() {
        let mut out = Vec::new();
        let mut text = vec![b'x'; BLOCK - 1];
        flush_full(&mut text, &mut out).unwrap();
        assert_eq!((text.len(), out.len()), (BLOCK - 1, 0));
        text.extend_from_slice(b"yz");
        flush_full(&mut text, &mut out).unwrap();
        assert_eq!((text.len(), out.len()), (0, BLOCK + 1));
    }
}
