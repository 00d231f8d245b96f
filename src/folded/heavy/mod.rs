//! The heavy frames of one large file in no order, which is never sorted.
//!
//! A picture shows the frames that weigh at least some least share; of a large profile that is one in
//! hundreds. Some lines from all over the file tell which beginnings of stacks may be heavy: those are. One
//! pass over the file builds the call tree of these, with exact weights; of the stacks that leave it, it notes
//! where. What is heavy and was missed shows then, as all of its stacks have left the tree in one place: these
//! few are read again.
//!
//! A small file, or a very small least share, needs no small part of the lines for that. Then there are two passes
//! over all of them: the first one adds the weight of each stack to a counter of each of its beginnings. Several
//! beginnings share a counter, by their hashes, so that one whose counter is below the least is light for
//! certain, and nothing is missed. What all passes look up for each frame fits the second-level cache, and
//! memory is needed for what is drawn and for what hangs from it.

mod sample;
mod sketch;
mod tree;

use std::fs::File;
use std::ops::Range;

use self::sample::Guess;
use self::sketch::Sketch;
use self::tree::Tree;
use super::interner::Interner;
use super::line::{Columns, Weights, parse_line};
use super::place::Places;
use super::reader::NotUnderstood;
use super::replay_buffer::Rereadable;
use super::visitor::{Known, Visitor, WalkSummary};
use crate::error::Result;
use crate::weight::Weight;

/// A smaller file is soon sorted.
const FROM: u64 = 8 << 20;

/// Walks the frames of the text of `input` that weigh enough for the visitor; lighter ones it need not hear
/// of. `None`, and the visitor has heard nothing, if the text has to be sorted: it is no large file, the
/// visitor wants all frames, or a weight is no whole number. The input is then as it was, at its beginning.
pub(super) fn walk(input: &mut Rereadable<'_>, visitor: &mut dyn Visitor) -> Result<Option<WalkSummary>> {
    let wants_all = visitor.follows_stacks() || visitor.least(whole(u64::MAX)).is_zero();
    if wants_all || input.lines().columns() != Columns::One {
        return Ok(None);
    }
    let Some((file, range)) = input.lines().plain_file() else { return Ok(None) };
    if range.end - range.start < FROM {
        return Ok(None);
    }
    let file = file.try_clone()?;
    let walked = walk_text(input, &file, range, visitor)?;
    if walked.is_none() {
        input.rewind()?;
    }
    Ok(walked)
}

/// [`walk`] of a text that is `range` of a file.
fn walk_text(
    input: &mut Rereadable<'_>,
    file: &File,
    range: Range<u64>,
    visitor: &mut dyn Visitor,
) -> Result<Option<WalkSummary>> {
    let least_of = |total: u64| visitor.least(whole(total)).to_u64().unwrap_or(u64::MAX);
    let Some(guess) = Guess::of(file, &range)? else { return Ok(None) };
    let found = match by_some(&guess, input, file, &range, &least_of)? {
        Some(found) => Some(found),
        None => by_all(&guess, input, &least_of)?,
    };
    let Some((tree, total, not_understood)) = found else { return Ok(None) };
    let (columns, facts, least) = (Columns::One, input.lines().facts(), least_of(total));
    visitor.begin(&Known { columns, facts: &facts, places: &Places::default() })?;
    tree.tell(least, visitor)?;
    Ok(Some(WalkSummary { columns, total: whole(total), facts, not_understood, ..WalkSummary::default() }))
}

/// A tree of what is heavy and more, the weight of all, and what was left out.
type Found = (Tree, u64, NotUnderstood);

/// The tree of a text by a look at some lines first. `None` if that does not pay.
fn by_some(
    guess: &Guess,
    input: &mut Rereadable<'_>,
    file: &File,
    range: &Range<u64>,
    least_of: &dyn Fn(u64) -> u64,
) -> Result<Option<Found>> {
    let names = Interner::default();
    let Some(heavy) = guess.heavy(file, range, least_of, names.hasher())? else { return Ok(None) };
    let mut tree = Tree::new(names, heavy);
    let added = tree.add_up(input)?;
    if let Some((total, not_understood)) = added
        && tree.add_missed(least_of(total).max(1), input, file, range.start)?
    {
        return Ok(Some((tree, total, not_understood)));
    }
    input.rewind()?;
    Ok(None)
}

/// The tree of a text by a look at all lines first. `None` if a weight is no whole number.
fn by_all(guess: &Guess, input: &mut Rereadable<'_>, least_of: &dyn Fn(u64) -> u64) -> Result<Option<Found>> {
    let names = Interner::default();
    let mut sketch = Sketch::new(least_of(guess.total));
    let Some((total, not_understood)) = sketch.count(input, names.hasher())? else { return Ok(None) };
    let heavy = sketch.heavy(least_of(total));
    drop(sketch);
    input.rewind()?;
    let mut tree = Tree::new(names, heavy);
    let again = tree.add_up(input)?.map(|(total, _)| total);
    tree.add_equal_notes();
    // Another weight: somebody has written to it since.
    Ok((again == Some(total)).then_some((tree, total, not_understood)))
}

/// Calls `each` with every stack of a text, the places of the `;` in it, its weight, and the place of its line in
/// bytes. Returns the weight of all, and what was left out; `None` if a weight is no whole number.
#[inline]
fn each_stack(
    input: &mut Rereadable<'_>,
    mut each: impl FnMut(&[u8], &[u32], u64, u64),
) -> Result<Option<(u64, NotUnderstood)>> {
    let mut not_understood = NotUnderstood::default();
    let (mut total, mut semicolons) = (0u64, Vec::new());
    loop {
        let at = input.lines().offset();
        let Some(line) = input.next_line_split(&mut semicolons)? else { break };
        let Some(parsed) = parse_line(line, Columns::One) else {
            let line = line.to_vec();
            not_understood.note(&line, || input.position());
            continue;
        };
        let Some(weight) = parsed.weights.value.to_u64() else { return Ok(None) };
        let Some(sum) = total.checked_add(weight) else { return Ok(None) };
        total = sum;
        each(parsed.stack, &semicolons, weight, at);
    }
    not_understood.ends_within = input.lines().ends_within();
    Ok(Some((total, not_understood)))
}

fn whole(weight: u64) -> Weights {
    Weights::one(Weight::new(weight.into()))
}

#[cfg(test)]
mod tests {
    use super::sketch::Heavy;
    use super::*;
    use crate::folded::Frame;
    use crate::folded::{Order, walk as walk_all};
    use crate::input::Source;

    /// Every frame that weighs enough: depth, name, start, own and total weight.
    struct Log {
        least: u64,
        /// Lighter frames need not be told.
        may_pass_over: bool,
        seen: Vec<(usize, Vec<u8>, [Weight; 3])>,
        passed_over: u64,
    }

    impl Log {
        fn new(least: u64, may_pass_over: bool) -> Log {
            Log { least, may_pass_over, seen: Vec::new(), passed_over: 0 }
        }
    }

    impl Visitor for Log {
        fn exit(&mut self, frame: Frame<'_>, so_far: Weights) -> Result<()> {
            let Frame { name, depth, start, total, own } = frame;
            assert!(so_far.value == start.value.checked_add(total.value)?);
            if total.value >= Weight::new(self.least.into()) {
                self.seen.push((depth, name.to_vec(), [start.value, own.value, total.value]));
            }
            Ok(())
        }

        fn least(&self, _: Weights) -> Weight {
            if self.may_pass_over { Weight::new(self.least.into()) } else { Weight::ZERO }
        }

        fn passed_over(&mut self, frames: u64) {
            self.passed_over += frames;
        }

        fn restart(&mut self) -> Result<()> {
            self.seen.clear();
            Ok(())
        }
    }

    /// Some thousand stacks of few names in no order; the same for the same seed.
    fn text(mut state: u64) -> String {
        state = state.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
        let mut random = |below: u64| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state % below
        };
        let mut text = String::from("# unit: ns\n");
        for _ in 0..2000 {
            let depth = 1 + random(12);
            let names = ["a", "b", "bb", "", "a b", "ü"];
            let frames: Vec<_> = (0..depth).map(|_| names[random(2 + depth / 3) as usize]).collect();
            text += &format!("{} {}\n", frames.join(";"), random(100) * random(100));
        }
        text
    }

    /// The number of light frames that roots are or that heavy frames call.
    fn light_below_heavy(text: &str, least: u64) -> u64 {
        let mut totals = std::collections::HashMap::new();
        for line in text.lines().filter(|line| !line.starts_with("# ")) {
            let (stack, weight) = line.rsplit_once(' ').unwrap();
            let stack = stack.trim_end_matches(';');
            let ends = stack.match_indices(';').map(|(at, _)| at).chain([stack.len()]);
            ends.for_each(|end| *totals.entry(&stack[..end]).or_insert(0) += weight.parse::<u64>().unwrap());
        }
        let is_heavy = |stack: &str| totals[stack] >= least;
        let caller = |stack: &str| stack.rfind(';').is_none_or(|at| is_heavy(&stack[..at]));
        totals.keys().filter(|stack| !is_heavy(stack) && caller(stack)).count() as u64
    }

    /// A file of some text behind something else, and the lines of it.
    fn with_file<T>(text: &str, then: impl FnOnce(&mut Rereadable<'_>, &File, Range<u64>) -> T) -> T {
        let before = "no stack\n";
        let mut file = tempfile::NamedTempFile::new().unwrap();
        std::io::Write::write_all(&mut file, format!("{before}{text}").as_bytes()).unwrap();
        let range = before.len() as u64..(before.len() + text.len()) as u64;
        let sources = [Source::bytes(text)];
        then(&mut Rereadable::open(&sources).unwrap(), file.as_file(), range)
    }

    fn heavy(text: &str, least: u64) -> Option<(Log, WalkSummary)> {
        let mut log = Log::new(least, true);
        let summary =
            with_file(text, |input, file, range| walk_text(input, file, range, &mut log)).unwrap()?;
        Some((log, summary))
    }

    #[test]
    fn heavy_frames_are_those_of_the_sorted_text() {
        for seed in 0..15 {
            let text = text(seed);
            for least in [1, 100, 5_000, 60_000, u64::MAX] {
                let mut sorted = Log::new(least, false);
                let all = walk_all(&[Source::bytes(text.clone())], Order::Frame, None, &mut sorted).unwrap();
                let (log, summary) = heavy(&text, least).unwrap();
                assert_eq!(log.seen, sorted.seen, "seed {seed}, {least}");
                assert_eq!((summary.total, summary.facts), (all.total, all.facts));
                assert_eq!(log.passed_over, light_below_heavy(&text, least), "seed {seed}, {least}");
            }
        }
    }

    #[test]
    fn what_all_samples_missed_is_found() {
        for seed in 0..8 {
            // Notes of more lines are added up, and the lines are lost.
            for copies in [1, 3] {
                let text = text(seed).repeat(copies);
                let all = |least: u64| {
                    let mut sorted = Log::new(least, false);
                    walk_all(&[Source::bytes(text.clone())], Order::Frame, None, &mut sorted).unwrap();
                    sorted
                };
                // One that a frame weighs exactly.
                let exact =
                    all(3_000).seen.iter().map(|frame| frame.2[2]).min().and_then(Weight::to_u64).unwrap();
                for least in [exact, 5_000, 60_000, 400_000] {
                    let sorted = all(least);
                    let mut log = Log::new(least, true);
                    let told = with_file(&text, |input, file, range| {
                        let mut tree = Tree::new(Interner::default(), Heavy::none());
                        tree.add_up(input).unwrap().unwrap();
                        assert!(tree.add_missed(least, input, file, range.start).unwrap());
                        tree.tell(least, &mut log)
                    });
                    told.unwrap();
                    assert_eq!(log.seen, sorted.seen, "seed {seed}, {least}");
                    assert_eq!(log.passed_over, light_below_heavy(&text, least), "seed {seed}, {least}");
                }
            }
        }
    }

    #[test]
    fn a_text_that_changes_meanwhile_is_read_once_more() {
        let (text, other) = (text(1), text(1).replace(" 1", " 2"));
        for copies in [1, 3] {
            let sources = [Source::bytes(text.repeat(copies))];
            let mut tree = Tree::new(Interner::default(), Heavy::none());
            tree.add_up(&mut Rereadable::open(&sources).unwrap()).unwrap();
            let found = with_file(&other.repeat(copies), |input, file, range| {
                tree.add_missed(5_000, input, file, range.start).unwrap()
            });
            assert!(!found);
        }
    }

    #[test]
    fn some_lines_tell_what_is_heavy_in_all() {
        // Ten thousand stacks of one weight below ten roots, one that is as heavy as two of these, and as many
        // lines again that weigh next to nothing.
        let line = |n: usize| {
            format!(
                "root {};f {};g {} 10000\ndust;{n} 1\ndust {n} 1\ndust;d 1\n",
                n % 10,
                n % 7,
                n * n % 9973
            )
        };
        let text: String = (0..10_000).map(line).collect::<String>() + "lonely;and;heavy 20000000\n";
        with_file(&text, |_, file, range| {
            let guess = Guess::of(file, &range).unwrap().unwrap();
            assert!((90_000_000..150_000_000).contains(&guess.total), "{}", guess.total);
            let names = Interner::default();
            let heavy = |least: u64| guess.heavy(file, &range, &|_| least, names.hasher()).unwrap();
            assert!(
                [10_000, 60_000].iter().all(|&least| heavy(least).is_none()),
                "most lines have to be looked at"
            );
            assert!(heavy(100_000).is_some());
            let sees = heavy(9_000_000).unwrap();
            let may_be = |stack: &[&str]| {
                let next = |before, frame: &&str| {
                    names.hasher().hash_next(before, names.hasher().hash_bytes(frame.as_bytes()))
                };
                sees.may_be(stack.iter().fold(super::super::id_table::Hash::default(), next))
            };
            assert!((0..10).all(|n| may_be(&[&format!("root {n}")])));
            assert!((0..100).filter(|n| may_be(&["root 0", "f 0", &format!("g {n}")])).count() < 5);
            assert!(!may_be(&["dust"]), "light lines are not heavy together");
        });
    }

    #[test]
    fn long_lines_are_looked_at_as_well() {
        let line = |root: &str| format!("{root};{} 1000\n", "x".repeat(4000 - root.len() - 7));
        let text = line("first") + &line("root").repeat(300);
        with_file(&text, |_, file, range| {
            let names = Interner::default();
            let guess = Guess::of(file, &range).unwrap().unwrap();
            let sees = guess.heavy(file, &range, &|_| 150_000, names.hasher()).unwrap().unwrap();
            let root = super::super::id_table::Hash::default();
            assert!(sees.may_be(names.hasher().hash_next(root, names.hasher().hash_bytes(b"root"))));
        });
    }

    #[test]
    fn large_files_of_one_column_are_walked_by_what_is_heavy() {
        let walked = |line: &str, bytes: u64, may_pass_over: bool| {
            let mut file = tempfile::NamedTempFile::new().unwrap();
            let lines = bytes / line.len() as u64;
            std::io::Write::write_all(&mut file, line.repeat(lines as usize).as_bytes()).unwrap();
            let sources = [Source::path(file.path())];
            let mut log = Log::new(1, may_pass_over);
            let summary = walk(&mut Rereadable::open(&sources).unwrap(), &mut log).unwrap();
            summary.map(|summary| (summary.total, log.seen.len())).inspect(|(total, _)| {
                assert_eq!(*total, whole(lines));
            })
        };
        let line = format!("b;{} 1\n", "x".repeat(4000));
        assert_eq!(walked(&line, FROM + 5000, true).map(|(_, frames)| frames), Some(2));
        assert!(walked(&line, FROM - 5000, true).is_none(), "it is soon sorted");
        assert!(walked(&line, FROM + 5000, false).is_none(), "all frames are wanted");
        assert!(walked(&format!("b;{} 1 1\n", "x".repeat(4000)), FROM + 9000, true).is_none(), "two columns");
    }

    #[test]
    fn lines_that_are_no_stacks_are_counted_and_the_last_line_is_placed() {
        let (_, summary) = heavy("b 1\nno weight\na 2\nneither\n\n# a comment\na;c 5", 1).unwrap();
        assert_eq!(summary.not_understood.count, 2);
        assert_eq!(summary.not_understood.ends_within.unwrap().to_string(), "input:7");
        assert_eq!(summary.total, whole(8));
    }

    #[test]
    fn weights_that_are_no_whole_numbers_are_left_to_the_table() {
        for odd in ["a 0.5", "a -1", "a 18446744073709551616", "a 18446744073709551615\nb 1"] {
            assert!(heavy(&format!("b 1\n{odd}\na 1\n"), 1).is_none(), "{odd}");
        }
        assert!(heavy("b 1\na 18446744073709551614\n", 1).is_some());
    }
}
