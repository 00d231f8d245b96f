//! Folded files line by line, block by block: what each line is, whether a pattern matches it,
//! and the lines that are wanted copied as they stand.
//!
//! Runs of wanted lines go out in one piece. Memory is one block, whatever the size of the file.

use std::io::Write;

use super::pattern::Pattern;
use crate::error::{Error, Position, Result};
use crate::folded::{Columns, NotUnderstood, Weights, is_comment, parse_line, settle_columns, trim_stack};
use crate::input::{Block, Blocks, Source, last_newline};
use crate::weight::Weight;

/// Bytes read at a time: 128 kB stays in the second-level cache beside what is written.
const BLOCK: usize = 128 * 1024;

/// A line that is a stack.
#[derive(Clone, Copy)]
pub(super) struct StackLine<'a> {
    /// The frames.
    pub(super) stack: &'a [u8],
    /// What stands behind them: a space and a weight, or two of each.
    behind: &'a [u8],
    columns: Columns,
    /// Whether the pattern matches the frames; so it is without a pattern.
    pub(super) matched: bool,
}

impl StackLine<'_> {
    /// The weight or weights as text, if that is how they would be written.
    #[inline]
    pub(super) fn plain_weights(&self) -> Option<&[u8]> {
        let text = &self.behind[1..];
        let plain = text.iter().all(u8::is_ascii_digit) && (text.len() == 1 || text[0] != b'0');
        plain.then_some(text)
    }

    /// One or two.
    pub(super) fn columns(&self) -> Columns {
        self.columns
    }

    /// The weight or weights.
    #[inline]
    pub(super) fn weights(&self) -> Weights {
        if self.columns == Columns::One
            && let Some(value) = Weight::parse(&self.behind[1..])
        {
            return Weights::one(value);
        }
        self.other_weights()
    }

    #[cold]
    fn other_weights(&self) -> Weights {
        let mut numbers = self.behind.split(|&b| b == b' ').skip(1);
        let mut next = || {
            let number = numbers.next().and_then(|number| Weight::parse(number.trim_ascii_end()));
            number.expect("the line was found to be a stack and its weights")
        };
        let before = match self.columns {
            Columns::One => Weight::ZERO,
            Columns::Two => next(),
        };
        Weights { value: next(), before }
    }
}

/// What becomes of a line.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Flow {
    /// It is copied.
    Keep,
    /// It is left out.
    Drop,
    /// It is the last that is looked at.
    Stop,
}

/// Who decides that.
pub(super) trait Visitor {
    /// A stack.
    fn stack(&mut self, line: StackLine<'_>) -> Result<Flow>;

    /// A comment, without its newline. Instead of it, what is put into `out` is written.
    fn comment(&mut self, _line: &[u8], _out: &mut Vec<u8>) -> Result<Flow> {
        Ok(Flow::Keep)
    }

    /// Another file begins.
    fn file(&mut self) {}
}

/// What was read.
#[derive(Clone, Debug, Default)]
pub(super) struct Scanned {
    /// One or two weights on each line.
    pub(super) columns: Columns,
    /// Lines left out because they are no folded stacks.
    pub(super) not_understood: NotUnderstood,
}

/// Reads folded files one after the other and copies to `out` what the visitor keeps.
pub(super) fn scan<V: Visitor>(
    sources: &[Source],
    pattern: Option<&Pattern>,
    out: &mut dyn Write,
    visitor: &mut V,
) -> Result<Scanned> {
    let out = std::io::BufWriter::with_capacity(64 * 1024, out);
    let mut scan = Scan { pattern, out, visitor, line: 0, scanned: Scanned::default() };
    let (sources, columns) = settle_columns(sources)?;
    scan.scanned.columns = columns;
    for source in &sources {
        let input = source.open()?;
        scan.visitor.file();
        let mut blocks = input.into_blocks(BLOCK);
        let mut block = Block::default();
        scan.line = 0;
        while blocks.next(&mut block, last_newline)? {
            if scan.block(block.bytes(), &blocks)? == Flow::Stop {
                return Ok(scan.scanned);
            }
        }
    }
    scan.out.flush()?;
    Ok(scan.scanned)
}

/// What a line is.
enum Kind {
    /// A stack that ends before this byte of the line.
    Stack(usize),
    Comment,
    Blank,
    NotUnderstood,
}

struct Scan<'s, 'w, V> {
    pattern: Option<&'s Pattern>,
    out: std::io::BufWriter<&'w mut dyn Write>,
    visitor: &'s mut V,
    /// The line of the file at hand.
    line: u64,
    scanned: Scanned,
}

impl<V: Visitor> Scan<'_, '_, V> {
    fn block(&mut self, bytes: &[u8], blocks: &Blocks) -> Result<Flow> {
        let candidate = |pattern: Option<&Pattern>, from| {
            pattern.and_then(|pattern| pattern.candidate(bytes, from)).unwrap_or(usize::MAX)
        };
        // Where the wanted lines begin that were not written yet.
        let mut run = 0;
        let mut start = 0;
        let mut hit = candidate(self.pattern, 0);
        for end in memchr::memchr_iter(b'\n', bytes).chain(unfinished(bytes)) {
            self.line += 1;
            let at = hit;
            if hit <= end {
                hit = candidate(self.pattern, end + 1);
            }
            let line = &bytes[start..end];
            let flow = match kind(line, self.scanned.columns) {
                Kind::Stack(len) => {
                    let matched = match self.pattern {
                        Some(pattern) => at <= end && pattern.confirms(at, bytes, start, start + len),
                        None => true,
                    };
                    let columns = self.scanned.columns;
                    let line =
                        StackLine { stack: trim_stack(&line[..len]), behind: &line[len..], columns, matched };
                    self.visitor.stack(line).map_err(|e| e.or_at(|| self.position(blocks)))?
                }
                Kind::Comment => {
                    let mut instead = Vec::new();
                    let flow = self.visitor.comment(line, &mut instead);
                    let flow = flow.map_err(|e| e.or_at(|| self.position(blocks)))?;
                    if !instead.is_empty() {
                        self.write(&bytes[run..start])?;
                        self.write(&instead)?;
                        run = start;
                    }
                    flow
                }
                Kind::Blank => Flow::Drop,
                Kind::NotUnderstood => {
                    self.refuse(line, blocks)?;
                    Flow::Drop
                }
            };
            match flow {
                Flow::Keep => {}
                Flow::Drop => {
                    self.write(&bytes[run..start])?;
                    run = end + 1;
                }
                Flow::Stop => return Ok(Flow::Stop),
            }
            start = end + 1;
        }
        if run < bytes.len() {
            self.write(&bytes[run..])?;
            if bytes.last() != Some(&b'\n') {
                self.write(b"\n")?;
            }
        }
        Ok(Flow::Keep)
    }

    #[inline]
    fn write(&mut self, bytes: &[u8]) -> Result<()> {
        if !bytes.is_empty() {
            self.out.write_all(bytes)?;
        }
        Ok(())
    }

    #[cold]
    fn refuse(&mut self, line: &[u8], blocks: &Blocks) -> Result<()> {
        if self.scanned.columns == Columns::Two && parse_line(line, Columns::One).is_some() {
            let expected = "two weights, as every line before has (in a file with one, no frame that \
                            ends in a number may come first)";
            return Err(Error::malformed(expected, line).or_at(|| self.position(blocks)));
        }
        let position = self.position(blocks);
        self.scanned.not_understood.note(line, || position);
        Ok(())
    }

    fn position(&self, blocks: &Blocks) -> Position {
        Position::line(blocks.name().clone(), self.line)
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
