//! The lines of folded files in the order they stand there.

use std::sync::Arc;

use super::line::{Columns, is_comment, parse_line};
use super::order::common_prefix;
use crate::error::{Error, ErrorKind, Position, Result, excerpt};
use crate::input::{Block, Blocks, Source, last_newline};

/// Small enough for the second-level cache, large enough that system calls do not matter.
const BLOCK: usize = 128 * 1024;

/// Lines that were left out because they are not of the format: counted, the first one kept.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NotUnderstood {
    /// How many there were.
    pub count: u64,
    /// Where the first one stands, and its text, shortened and quoted.
    pub first: Option<(Position, String)>,
}

impl NotUnderstood {
    /// Counts a line.
    pub fn note(&mut self, line: &[u8], position: impl FnOnce() -> Position) {
        self.count += 1;
        if self.first.is_none() {
            self.first = Some((position(), excerpt(line)));
        }
    }

    /// Adds what was counted elsewhere, later in the input.
    pub fn merge(&mut self, later: NotUnderstood) {
        self.count += later.count;
        self.first = self.first.take().or(later.first);
    }

    /// The error for `--strict`, if there was any such line.
    ///
    /// # Errors
    /// [`ErrorKind::NotUnderstood`] at the first of them.
    pub fn refuse(&self) -> Result<()> {
        match &self.first {
            Some((position, first)) => {
                let kind = ErrorKind::NotUnderstood { count: self.count, first: first.clone() };
                Err(Error::new(kind, position.clone()))
            }
            None => Ok(()),
        }
    }
}

/// Reads the lines of one or several folded files, one file after the other.
///
/// Blank lines and comments are passed over; taking a line apart is [`parse_line`]'s work.
pub struct Lines {
    sources: std::vec::IntoIter<Source>,
    blocks: Option<Blocks>,
    block: Block,
    at: usize,
    name: Arc<str>,
    line: u64,
    columns: Columns,
    comments: Vec<u8>,
}

impl Lines {
    /// Opens the first source, or fails as [`Source::open`] does.
    ///
    /// # Errors
    /// Those of [`Source::open`].
    pub fn open(sources: &[Source]) -> Result<Lines> {
        let mut lines = Lines {
            sources: Vec::from(sources).into_iter(),
            blocks: None,
            block: Block::default(),
            at: 0,
            name: "".into(),
            line: 0,
            columns: Columns::One,
            comments: Vec::new(),
        };
        if let Some(first) = lines.sources.next() {
            lines.start(&first)?;
        }
        Ok(lines)
    }

    fn start(&mut self, source: &Source) -> Result<()> {
        let input = source.open()?;
        self.name = input.name().clone();
        self.line = 0;
        if self.blocks.is_none() {
            self.columns = guess_columns(input.head());
            let lines = input.head().split_inclusive(|&b| b == b'\n');
            self.comments =
                lines.take_while(|line| is_comment(line.trim_ascii_end())).flatten().copied().collect();
        }
        self.blocks = Some(input.into_blocks(BLOCK));
        Ok(())
    }

    /// How many columns the first lines of the first source have. Only the whole input can say
    /// for sure: a frame may end in a number.
    pub fn columns(&self) -> Columns {
        self.columns
    }

    /// The comments at the start of the first source: `# unit: ns`.
    pub fn comments(&self) -> &[u8] {
        &self.comments
    }

    /// Where the line that was returned last stands.
    pub fn position(&self) -> Position {
        Position::line(self.name.clone(), self.line)
    }

    /// The next line that is neither blank nor a comment, without its newline.
    ///
    /// # Errors
    /// Those of [`Source::open`] and [`Blocks::next`].
    pub fn next_line(&mut self) -> Result<Option<&[u8]>> {
        Ok(self.next_line_like(b"")?.map(|(line, _)| line))
    }

    /// [`Lines::next_line`], and how many bytes it has in common with `before` from the start.
    ///
    /// Lines in order share most of their text with the line before, which holds no newline: that
    /// much need not be searched for one.
    #[inline]
    pub(crate) fn next_line_like(&mut self, before: &[u8]) -> Result<Option<(&[u8], usize)>> {
        loop {
            let bytes = self.block.bytes();
            if self.at >= bytes.len() {
                if !self.refill()? {
                    return Ok(None);
                }
                continue;
            }
            let start = self.at;
            let same = common_prefix(before, &bytes[start..]);
            let rest = &bytes[start + same..];
            let end = memchr::memchr(b'\n', rest).map_or(bytes.len(), |n| start + same + n);
            self.at = end + 1;
            self.line += 1;
            if end == start || is_comment(&bytes[start..end]) || bytes[start..end].trim_ascii().is_empty() {
                continue;
            }
            return Ok(Some((&self.block.bytes()[start..end], same)));
        }
    }

    fn refill(&mut self) -> Result<bool> {
        self.at = 0;
        loop {
            if let Some(blocks) = &mut self.blocks
                && blocks.next(&mut self.block, last_newline)?
            {
                return Ok(true);
            }
            match self.sources.next() {
                Some(source) => self.start(&source)?,
                None => return Ok(false),
            }
        }
    }
}

/// How many columns a file has whose first bytes these are (all of it, or
/// [`crate::input::HEAD`] bytes): two if every line at hand that is understood has two.
pub fn guess_columns(head: &[u8]) -> Columns {
    let whole = if head.len() < crate::input::HEAD { head.len() } else { last_newline(head).unwrap_or(0) };
    let mut lines = head[..whole]
        .split(|&b| b == b'\n')
        .filter(|line| !is_comment(line) && parse_line(line, Columns::One).is_some())
        .peekable();
    if lines.peek().is_some() && lines.all(|line| parse_line(line, Columns::Two).is_some()) {
        Columns::Two
    } else {
        Columns::One
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_two_only_if_all_lines_have_two() {
        assert_eq!(guess_columns(b"a 1 2\nb 3 4\n"), Columns::Two);
        assert_eq!(guess_columns(b"# x\na 1 2\r\nb 3 4"), Columns::Two);
        assert_eq!(guess_columns(b"calc 1 2\nb 3\n"), Columns::One);
        assert_eq!(guess_columns(b""), Columns::One);
    }

    #[test]
    fn only_the_first_line_not_understood_is_kept() {
        let mut all = NotUnderstood::default();
        assert!(all.refuse().is_ok());
        all.note(b"x", || Position::line("f", 3));
        all.note(b"y", || unreachable!("only the first is placed"));
        assert_eq!(
            all.refuse().unwrap_err().to_string(),
            "f:3: 2 line(s) not understood, the first is \"x\""
        );
    }
}
