//! Reads folded files block by block, and copies the wanted lines as they stand.
//!
//! It decides about each line as [`Lines`](crate::folded::Lines) does, with the same functions, and
//! adds what a reader of single lines cannot have: a pattern is searched for in whole blocks, and
//! runs of wanted lines go out in one piece. Memory is one block, whatever the size of the file.

use std::io::Write;

use super::pattern::Pattern;
use crate::error::{Position, Result};
use crate::folded::{
    Columns, Header, NotUnderstood, Weights, is_comment, parse_line, settle_columns, trim_stack,
};
use crate::input::{Block, Blocks, Source, last_newline};
use crate::profile::Facts;
use crate::profile::header::HeaderReader;
use crate::weight::Weight;

/// Bytes read at a time: 128 kB stays in the second-level cache beside what is written.
const BLOCK: usize = 128 * 1024;

/// A line that is a stack.
#[derive(Clone, Copy)]
pub(super) struct StackLine<'a> {
    /// The frames.
    pub(super) stack: &'a [u8],
    /// The end of the line: a space and a weight, or two of each.
    behind: &'a [u8],
    columns: Columns,
    /// True if the pattern matches the frames, or if there is no pattern.
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

/// A decision about a line.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Flow {
    /// The line is copied.
    Keep,
    /// The line is left out.
    Drop,
    /// The line is the last that is looked at.
    Stop,
}

/// A decision about all comments.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Comments {
    /// Comments are copied, except counts in the header, which hold for all stacks together.
    Copy,
    /// Comments are left out.
    Drop,
}

/// Decides about lines.
pub(super) trait Visitor {
    /// Says if comments are copied or dropped.
    fn comments(&self) -> Comments;

    /// The first stack of a text comes, or the first behind another header in it. These are the
    /// facts of the header before it.
    fn part(&mut self, facts: &Facts) -> Result<()> {
        let _ = facts;
        Ok(())
    }

    /// A stack.
    fn stack(&mut self, line: StackLine<'_>) -> Result<Flow>;
}

/// The result of reading.
#[derive(Clone, Debug, Default)]
pub(super) struct Scanned {
    /// One or two weights on each line.
    pub(super) columns: Columns,
    /// The facts of all texts together.
    pub(super) facts: Facts,
    /// Lines left out because they are no folded stacks.
    pub(super) not_understood: NotUnderstood,
}

/// Reads folded files one after the other and copies to `out` the lines that the visitor keeps.
pub(super) fn scan<V: Visitor>(
    sources: &[Source],
    pattern: Option<&Pattern>,
    out: &mut dyn Write,
    visitor: &mut V,
) -> Result<Scanned> {
    let out = std::io::BufWriter::with_capacity(64 * 1024, out);
    let (sources, columns) = settle_columns(sources)?;
    let not_understood = NotUnderstood::default();
    let mut scan =
        Scan { pattern, out, visitor, line: 0, columns, header: Header::default(), not_understood };
    'files: for (number, source) in sources.iter().enumerate() {
        if number > 0 {
            scan.header.end_part();
        }
        let mut blocks = source.open()?.into_blocks(BLOCK);
        let mut block = Block::default();
        scan.line = 0;
        while blocks.next(&mut block, last_newline)? {
            if scan.block(block.bytes(), &blocks)? == Flow::Stop {
                break 'files;
            }
            if block.ends_within_line() {
                let position = scan.position(&blocks);
                scan.not_understood.ends_within.get_or_insert(position);
            }
        }
    }
    scan.out.flush()?;
    Ok(Scanned { columns, facts: scan.header.facts(), not_understood: scan.not_understood })
}

/// The kind of a line.
enum Kind {
    /// A stack; the blank before its weights is this byte of the line.
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
    columns: Columns,
    header: Header,
    not_understood: NotUnderstood,
}

impl<V: Visitor> Scan<'_, '_, V> {
    fn block(&mut self, bytes: &[u8], blocks: &Blocks) -> Result<Flow> {
        let candidate = |pattern: Option<&Pattern>, from| {
            pattern.and_then(|pattern| pattern.candidate(bytes, from)).unwrap_or(usize::MAX)
        };
        // The start of the wanted lines that were not written yet.
        let mut run = 0;
        let mut start = 0;
        let mut hit = candidate(self.pattern, 0);
        // A copy, to be at hand for every line.
        let mut is_open = self.header.is_open;
        for end in memchr::memchr_iter(b'\n', bytes).chain(unfinished(bytes)) {
            self.line += 1;
            let at = hit;
            if hit <= end {
                hit = candidate(self.pattern, end + 1);
            }
            let line = &bytes[start..end];
            let flow = match kind(line, self.columns) {
                Kind::Stack(len) => {
                    if is_open {
                        is_open = false;
                        self.begin_part().map_err(|e| e.or_at(|| self.position(blocks)))?;
                    }
                    let stack = trim_stack(&line[..len]);
                    let matched = match self.pattern {
                        Some(pattern) => at <= end && pattern.confirms(at, bytes, start, start + stack.len()),
                        None => true,
                    };
                    let line = StackLine { stack, behind: &line[len..], columns: self.columns, matched };
                    self.visitor.stack(line).map_err(|e| e.or_at(|| self.position(blocks)))?
                }
                Kind::Comment => {
                    let flow = self.comment(line).map_err(|e| e.or_at(|| self.position(blocks)))?;
                    is_open = self.header.is_open;
                    flow
                }
                Kind::Blank => Flow::Drop,
                Kind::NotUnderstood => {
                    let position = self.position(blocks);
                    self.not_understood.note(line, || position);
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
    fn begin_part(&mut self) -> Result<()> {
        self.header.is_open = false;
        self.visitor.part(self.header.part())
    }

    #[cold]
    fn comment(&mut self, line: &[u8]) -> Result<Flow> {
        let line = line.trim_ascii_end();
        self.header.read(line)?;
        Ok(match self.visitor.comments() {
            Comments::Copy if !HeaderReader::is_count(line) => Flow::Keep,
            _ => Flow::Drop,
        })
    }

    fn position(&self, blocks: &Blocks) -> Position {
        Position::line(blocks.name().clone(), self.line)
    }
}

/// The end of a last line without a newline.
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

/// The place of the blank before the weight, if the line ends in a blank and a short whole number,
/// as nearly all do.
#[inline]
fn before_number(line: &[u8]) -> Option<usize> {
    let digits = line.iter().rev().take_while(|b| b.is_ascii_digit()).count();
    let end = (line.len() - digits).checked_sub(1)?;
    (end > 0 && line[end] == b' ' && matches!(digits, 1..=18)).then_some(end)
}

#[cold]
fn other_kind(line: &[u8], columns: Columns) -> Kind {
    match parse_line(line, columns) {
        Some(parsed) => {
            let end = parsed.stack.len();
            Kind::Stack(end + line[end..].iter().take_while(|&&b| b == b';').count())
        }
        None if line.trim_ascii().is_empty() => Kind::Blank,
        None => Kind::NotUnderstood,
    }
}
