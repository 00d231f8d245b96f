//! Copies the lines whose stack is wanted, block by block.
//!
//! What is read is what is written: runs of wanted lines go out in one piece, as they stand in
//! the input. Memory is one block, whatever the size of the file.

use std::io::{BufWriter, Write};

use super::pattern::Pattern;
use crate::error::{Error, Result};
use crate::folded::{Columns, NotUnderstood, Weights, guess_columns, is_comment, parse_line};
use crate::input::{Block, Blocks, Source, last_newline};
use crate::weight::Weight;

/// Bytes read at a time: 128 kB stays in the second-level cache beside what is written.
const BLOCK: usize = 128 * 1024;

/// What to do with the stacks a pattern matches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Selection {
    /// Keep those that are *not* matched.
    pub invert: bool,
    /// Add up the weights of what is kept and dropped; otherwise they stay zero.
    pub weigh: bool,
    /// Stop at the first stack that is kept.
    pub first_only: bool,
}

/// A number of stacks and their weight.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// How many lines.
    pub stacks: u64,
    /// Their weight, if it was asked for.
    pub weights: Weights,
}

impl Tally {
    #[inline]
    fn note(&mut self, weights: Weights) -> Result<()> {
        self.stacks += 1;
        self.weights = self.weights.plus(weights)?;
        Ok(())
    }
}

/// What a selection came across.
#[derive(Clone, Debug, Default)]
pub struct Selected {
    /// What was written.
    pub kept: Tally,
    /// What was not.
    pub dropped: Tally,
    /// One or two weights on each line.
    pub columns: Columns,
    /// Lines left out because they are no folded stacks.
    pub not_understood: NotUnderstood,
}

/// Reads folded files one after the other and writes the lines whose stack is wanted, unchanged
/// and in their order, and all comments. Blank lines are left out.
///
/// # Errors
/// Those of reading and writing; [`crate::ErrorKind::Overflow`] if weights are added up; and
/// [`crate::ErrorKind::Malformed`] for a line with one weight after lines that all had two.
///
/// ```
/// use fg_tools::filter::{Pattern, PatternOptions, Selection, select};
/// use fg_tools::input::Source;
///
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("out.folded");
/// std::fs::write(&path, "main;idle 90\nmain;work 42\n")?;
/// let idle = Pattern::new(&["idle$"], PatternOptions::default())?;
/// let mut busy = Vec::new();
/// let not = Selection { invert: true, ..Selection::default() };
/// let selected = select(&[Source::new(&path)], &idle, not, &mut busy)?;
/// assert_eq!((busy.as_slice(), selected.kept.stacks), (&b"main;work 42\n"[..], 1));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn select(
    sources: &[Source],
    pattern: &Pattern,
    selection: Selection,
    out: &mut dyn Write,
) -> Result<Selected> {
    let out = BufWriter::with_capacity(64 * 1024, out);
    let mut selector = Selector { pattern, selection, out, line: 0, result: Selected::default() };
    for (index, source) in sources.iter().enumerate() {
        let input = source.open()?;
        if index == 0 {
            selector.result.columns = guess_columns(input.head());
        }
        let mut blocks = input.into_blocks(BLOCK);
        let mut block = Block::default();
        selector.line = 0;
        while blocks.next(&mut block, last_newline)? {
            if selector.block(block.bytes(), &blocks)?.is_stop() {
                return Ok(selector.result);
            }
        }
    }
    selector.out.flush()?;
    Ok(selector.result)
}

/// Whether to read on.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Flow {
    Continue,
    Stop,
}

impl Flow {
    fn is_stop(self) -> bool {
        self == Flow::Stop
    }
}

/// What a line is.
enum Kind {
    /// A stack that ends before this byte of the line.
    Stack(usize),
    Comment,
    Blank,
    NotUnderstood,
}

struct Selector<'p, 'w> {
    pattern: &'p Pattern,
    selection: Selection,
    out: BufWriter<&'w mut dyn Write>,
    /// The line of the file at hand.
    line: u64,
    result: Selected,
}

impl Selector<'_, '_> {
    fn block(&mut self, bytes: &[u8], blocks: &Blocks) -> Result<Flow> {
        // Where the wanted lines begin that were not written yet.
        let mut run = 0;
        let mut start = 0;
        let mut hit = self.pattern.candidate(bytes, 0).unwrap_or(usize::MAX);
        for end in memchr::memchr_iter(b'\n', bytes).chain(unfinished(bytes)) {
            self.line += 1;
            let at = hit;
            if hit <= end {
                hit = self.pattern.candidate(bytes, end + 1).unwrap_or(usize::MAX);
            }
            let line = &bytes[start..end];
            let keep = match kind(line, self.result.columns) {
                Kind::Stack(len) => {
                    let stack_end = start + len;
                    let matched = at <= end && self.pattern.confirms(at, bytes, start, stack_end);
                    let keep = matched != self.selection.invert;
                    self.tally(keep, &line[len..]).map_err(|e| e.or_at(|| self.position(blocks)))?;
                    if keep && self.selection.first_only {
                        return Ok(Flow::Stop);
                    }
                    keep
                }
                Kind::Comment => true,
                Kind::Blank => false,
                Kind::NotUnderstood => {
                    self.refuse(line, blocks)?;
                    false
                }
            };
            if !keep {
                self.write(&bytes[run..start])?;
                run = end + 1;
            }
            start = end + 1;
        }
        if run < bytes.len() {
            self.write(&bytes[run..])?;
            if bytes.last() != Some(&b'\n') {
                self.write(b"\n")?;
            }
        }
        Ok(Flow::Continue)
    }

    fn write(&mut self, bytes: &[u8]) -> Result<()> {
        if !bytes.is_empty() {
            self.out.write_all(bytes)?;
        }
        Ok(())
    }

    /// Counts a stack, given what stands behind it.
    #[inline]
    fn tally(&mut self, keep: bool, weights: &[u8]) -> Result<()> {
        let tally = if keep { &mut self.result.kept } else { &mut self.result.dropped };
        if !self.selection.weigh {
            tally.stacks += 1;
            return Ok(());
        }
        let mut numbers = weights.split(|&b| b == b' ').skip(1);
        let mut next = || numbers.next().and_then(|n| Weight::parse(n.trim_ascii_end()));
        let missing = "the line was found to be a stack and its weights";
        let before = match self.result.columns {
            Columns::One => Weight::ZERO,
            Columns::Two => next().expect(missing),
        };
        tally.note(Weights { value: next().expect(missing), before })
    }

    #[cold]
    fn refuse(&mut self, line: &[u8], blocks: &Blocks) -> Result<()> {
        if self.result.columns == Columns::Two && parse_line(line, Columns::One).is_some() {
            let expected = "two weights, as every line before has (in a file with one, no frame that \
                            ends in a number may come first)";
            return Err(Error::malformed(expected, line).or_at(|| self.position(blocks)));
        }
        let position = self.position(blocks);
        self.result.not_understood.note(line, || position);
        Ok(())
    }

    fn position(&self, blocks: &Blocks) -> crate::Position {
        crate::Position::line(blocks.name().clone(), self.line)
    }
}

/// Where a last line without a newline ends.
fn unfinished(bytes: &[u8]) -> Option<usize> {
    (bytes.last() != Some(&b'\n')).then_some(bytes.len())
}

#[inline]
fn kind(line: &[u8], columns: Columns) -> Kind {
    if line.first() == Some(&b'#') && is_comment(line) {
        return Kind::Comment;
    }
    let plain = match columns {
        Columns::One => before_number(line),
        Columns::Two => before_number(line).and_then(|end| before_number(&line[..end])),
    };
    match plain {
        Some(end) => Kind::Stack(end),
        None => other_kind(line, columns),
    }
}

/// Where the stack ends if the line ends in a space and a short whole number, as nearly all do.
#[inline]
fn before_number(line: &[u8]) -> Option<usize> {
    let digits = line.iter().rev().take_while(|b| b.is_ascii_digit()).count();
    let end = (line.len() - digits).checked_sub(1)?;
    (end > 0 && line[end] == b' ' && matches!(digits, 1..=18)).then_some(end)
}

#[cold]
fn other_kind(line: &[u8], columns: Columns) -> Kind {
    match parse_line(line, columns) {
        Some(parsed) => Kind::Stack(parsed.stack.len()),
        None if line.trim_ascii().is_empty() => Kind::Blank,
        None => Kind::NotUnderstood,
    }
}
