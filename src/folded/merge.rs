//! Folded texts in frame order become one, with the memory of a few lines each.
//!
//! The next stacks of all texts meet in a tournament whose losers wait where they lost. Each knows how
//! many bytes it shares with the stack that was put out last. Of two that share different numbers, the one
//! that shares more comes first; only where they share the same number are bytes compared, and none twice.

use super::line::{Columns, Weights, parse_line};
use super::order::{cmp_at, common_prefix};
use super::reader::{BLOCK, Lines, NotUnderstood};
use crate::error::{Error, Result};
use crate::facts::Facts;
use crate::input::Source;

/// The memory for the texts' next lines, shared among them.
const BUFFERS: usize = 8 << 20;

/// The sizes that a text's buffer can have.
const BUFFER: std::ops::RangeInclusive<usize> = 16 * 1024..=64 * 1024;

/// The result of reading a text once.
#[derive(Debug, Default)]
pub(crate) struct Survey {
    /// True if its stacks come in frame order.
    pub in_order: bool,
    /// The number of its stacks.
    pub stacks: u64,
    /// The facts of its parts.
    pub parts: Vec<Facts>,
    /// The lines left out.
    pub not_understood: NotUnderstood,
}

/// Reads a text, and hands its stacks to `each` as they come. `in_order` says what is wanted: a text in
/// frame order, which is read until it turns out not to be, or any.
///
/// # Errors
/// Those of reading and of `each`, placed.
pub(crate) fn survey(
    source: &Source,
    columns: Columns,
    in_order: bool,
    each: &mut dyn FnMut(&[u8], Weights) -> Result<()>,
) -> Result<Survey> {
    let mut lines = Lines::open_as(vec![source.clone()], columns, BLOCK)?;
    let mut survey = Survey { in_order, ..Survey::default() };
    let mut last: Vec<u8> = Vec::new();
    while let Some((line, same)) = lines.next_line_like(&last)? {
        let Some(parsed) = parse_line(line, columns) else {
            let line = line.to_vec();
            survey.not_understood.note(&line, || lines.position());
            continue;
        };
        let stack = parsed.stack;
        survey.stacks += 1;
        if in_order {
            let same = same.min(stack.len());
            if cmp_at(&last, stack, same).is_gt() {
                survey.in_order = false;
                return Ok(survey);
            }
            last.truncate(same);
            last.extend_from_slice(&stack[same..]);
        }
        each(stack, parsed.weights).map_err(|e| e.or_at(|| lines.position()))?;
    }
    survey.not_understood.ends_within = lines.ends_within();
    survey.parts = lines.into_parts();
    Ok(survey)
}

/// A text, and its next stack.
struct Stream {
    lines: Lines,
    columns: Columns,
    /// The next stack; stale once there is none.
    stack: Vec<u8>,
    weights: Weights,
    has: bool,
    /// The number of bytes that it shares with the stack that was put out last, or with the one that it
    /// lost to.
    same: usize,
}

impl Stream {
    fn open(source: &Source, columns: Columns, buffer: usize) -> Result<Stream> {
        let lines = Lines::open_as(vec![source.clone()], columns, buffer)?;
        let weights = Weights::default();
        Ok(Stream { lines, columns, stack: Vec::new(), weights, has: true, same: 0 })
    }

    /// Goes on to the next stack.
    #[inline]
    fn advance(&mut self) -> Result<()> {
        while let Some((line, same)) = self.lines.next_line_like(&self.stack)? {
            let Some(parsed) = parse_line(line, self.columns) else { continue };
            let same = same.min(parsed.stack.len());
            if cmp_at(&self.stack, parsed.stack, same).is_gt() {
                let what = "the file was changed while it was read: its stacks are no longer in order";
                let position = self.lines.position();
                return Err(Error::setting(what).at(position));
            }
            self.stack.truncate(same);
            self.stack.extend_from_slice(&parsed.stack[same..]);
            self.weights = parsed.weights;
            self.same = same;
            return Ok(());
        }
        self.has = false;
        Ok(())
    }
}

/// The tournament.
struct Merge {
    streams: Vec<Stream>,
    /// The loser of each match; the winner of all first. Match `n` is between the winners of matches
    /// `2n` and `2n + 1`, and from the number of streams on these are the streams themselves.
    losers: Vec<usize>,
}

impl Merge {
    fn start(mut streams: Vec<Stream>) -> Result<Merge> {
        streams.iter_mut().try_for_each(Stream::advance)?;
        streams.iter_mut().for_each(|stream| stream.same = 0);
        let count = streams.len();
        let mut merge = Merge { streams, losers: vec![0; count] };
        let mut winners: Vec<usize> = vec![0; count];
        winners.extend(0..count);
        for at in (1..count).rev() {
            let (winner, loser) = merge.play(winners[2 * at], winners[2 * at + 1]);
            winners[at] = winner;
            merge.losers[at] = loser;
        }
        merge.losers[0] = winners.get(1).copied().unwrap_or(0);
        Ok(merge)
    }

    /// The winner and the loser of a match: the one whose stack comes first wins.
    #[inline]
    fn play(&mut self, a: usize, b: usize) -> (usize, usize) {
        let [one, other] = [&self.streams[a], &self.streams[b]];
        if !one.has || !other.has {
            return if one.has { (a, b) } else { (b, a) };
        }
        if one.same != other.same {
            return if one.same > other.same { (a, b) } else { (b, a) };
        }
        let same = one.same + common_prefix(&one.stack[one.same..], &other.stack[one.same..]);
        let a_wins = cmp_at(&one.stack, &other.stack, same).then(a.cmp(&b)).is_lt();
        let (winner, loser) = if a_wins { (a, b) } else { (b, a) };
        self.streams[loser].same = same;
        (winner, loser)
    }

    /// Lets the winner go on to its next stack, and plays its matches again.
    #[inline]
    fn next(&mut self) -> Result<()> {
        let mut winner = self.losers[0];
        self.streams[winner].advance()?;
        let mut at = (winner + self.streams.len()) / 2;
        while at > 0 {
            let loser;
            (winner, loser) = self.play(winner, self.losers[at]);
            self.losers[at] = loser;
            at /= 2;
        }
        self.losers[0] = winner;
        Ok(())
    }
}

/// Hands the stacks of texts that are in frame order to `each`, in that order, equal ones once.
///
/// # Errors
/// Those of reading and of `each`; [`crate::ErrorKind::Setting`] for a text that is not in order.
pub(crate) fn merge(
    sources: &[Source],
    columns: Columns,
    each: &mut dyn FnMut(&[u8], Weights) -> Result<()>,
) -> Result<()> {
    if sources.is_empty() {
        return Ok(());
    }
    let buffer = (BUFFERS / sources.len()).clamp(*BUFFER.start(), *BUFFER.end());
    let streams =
        sources.iter().map(|source| Stream::open(source, columns, buffer)).collect::<Result<_>>()?;
    let mut merge = Merge::start(streams)?;
    let mut stack: Vec<u8> = Vec::new();
    let mut sum: Option<Weights> = None;
    loop {
        let winner = &merge.streams[merge.losers[0]];
        if !winner.has {
            break;
        }
        let (same, weights) = (winner.same, winner.weights);
        match sum {
            Some(sum_so_far) if same == stack.len() && same == winner.stack.len() => {
                sum = Some(sum_so_far.checked_add(weights)?);
            }
            _ => {
                if let Some(sum) = sum {
                    each(&stack, sum)?;
                }
                stack.truncate(same);
                stack.extend_from_slice(&winner.stack[same..]);
                sum = Some(weights);
            }
        }
        merge.next()?;
    }
    sum.map_or(Ok(()), |sum| each(&stack, sum))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::folded::{StackTable, cmp_stacks};
    use proptest::prelude::*;

    fn merged(texts: &[String]) -> String {
        let sources: Vec<Source> = texts.iter().map(|text| Source::bytes(text.as_bytes())).collect();
        let mut out = String::new();
        merge(&sources, Columns::One, &mut |stack, weights| {
            out.push_str(&format!("{} {}\n", String::from_utf8_lossy(stack), weights.value));
            Ok(())
        })
        .unwrap();
        out
    }

    proptest! {
        #[test]
        fn a_merge_gives_what_a_table_gives(
            texts in proptest::collection::vec(
                proptest::collection::vec(("([ab\u{1}:]{0,2};){0,3}[ab:]{1,3}", -3i8..9), 0..12), 1..9),
        ) {
            let mut table = StackTable::default();
            let sorted: Vec<String> = texts.iter().map(|lines| {
                let mut lines = lines.clone();
                lines.sort_by(|a, b| cmp_stacks(a.0.as_bytes(), b.0.as_bytes()));
                lines.iter().map(|(stack, weight)| format!("{stack} {weight}\n")).collect()
            }).collect();
            for line in sorted.iter().flat_map(|text| text.lines()) {
                table.add_line(line.as_bytes()).unwrap();
            }
            let mut expected = Vec::new();
            table.write(&mut expected).unwrap();
            prop_assert_eq!(merged(&sorted), String::from_utf8(expected).unwrap());
        }
    }

    #[test]
    fn disorder_is_seen() {
        let look = |text: &str, in_order| {
            survey(&Source::bytes(text), Columns::One, in_order, &mut |_, _| Ok(())).unwrap()
        };
        assert!(look("a 1\na 2\na;b 1\na b 1\n", true).in_order);
        let text = "# unit: ns\na b 1\nhello\na;b 1\n";
        assert!(!look(text, true).in_order);
        let found = look(text, false);
        assert_eq!((found.stacks, found.not_understood.count, found.parts.len()), (2, 1, 1));
        let mut none = |_: &[u8], _| Ok(());
        let error = merge(&[Source::bytes("b 1\na 1\n")], Columns::One, &mut none).unwrap_err();
        assert!(error.to_string().contains("input:2: the file was changed"), "{error}");
    }
}
