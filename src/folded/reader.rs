//! The lines of folded files in the order they stand there.

use std::fs::File;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::line::{Columns, parse_line};
use super::order::common_prefix;
use crate::error::{Error, ErrorKind, Position, Result, excerpt};
use crate::facts::Facts;
use crate::facts::header::is_comment;
use crate::facts::header::{self, HeaderReader};
use crate::input::{Block, Blocks, Source, last_newline, lines};
use crate::scan::{line_and_semicolons, line_and_semicolons_from};

/// Small enough for the second-level cache, large enough that system calls do not matter.
pub(super) const BLOCK: usize = 128 * 1024;

/// The reasons to refuse an input with `--strict`: lines that are not of the format were left out, or the
/// input contradicts itself. And a line that may have lost its end, which is no reason.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NotUnderstood {
    /// The number of lines.
    pub count: u64,
    /// The position of the first one, and its text, shortened and quoted.
    pub first: Option<(Position, String)>,
    /// Warnings that put the weights in doubt: a stated total that the stacks do not add up to, for instance.
    pub doubts: Vec<String>,
    /// The position of a last line without its newline, which was read as it stands: its end may be
    /// missing.
    pub ends_within: Option<Position>,
    /// The position of the last line of a text that ends within a sample or a stack: what belongs to it may
    /// be missing. That is no reason to refuse it either: people copy text without the blank line at its end.
    pub ends_within_record: Option<Position>,
}

impl NotUnderstood {
    /// Counts a line.
    pub fn note(&mut self, line: &[u8], position: impl FnOnce() -> Position) {
        self.count += 1;
        if self.first.is_none() {
            self.first = Some((position(), excerpt(line)));
        }
    }

    /// Adds a doubt, each once.
    pub fn doubt(&mut self, doubt: impl Into<String>) {
        let doubt = doubt.into();
        if !self.doubts.contains(&doubt) {
            self.doubts.push(doubt);
        }
    }

    /// Adds what was counted elsewhere, later in the input.
    pub fn merge(&mut self, later: NotUnderstood) {
        self.count += later.count;
        self.first = self.first.take().or(later.first);
        later.doubts.into_iter().for_each(|doubt| self.doubt(doubt));
        self.ends_within = self.ends_within.take().or(later.ends_within);
        self.ends_within_record = self.ends_within_record.take().or(later.ends_within_record);
    }

    /// The error for `--strict`, if there was any such line or doubt.
    ///
    /// # Errors
    /// [`ErrorKind::NotUnderstood`] at the first line, [`ErrorKind::Doubtful`] of the first doubt.
    pub fn refuse(&self) -> Result<()> {
        match &self.first {
            Some((position, first)) => {
                let kind = ErrorKind::NotUnderstood { count: self.count, first: first.clone() };
                Err(Error::new(kind, position.clone()))
            }
            None => match self.doubts.first() {
                Some(what) => Err(ErrorKind::Doubtful { what: what.clone() }.into()),
                None => Ok(()),
            },
        }
    }
}

/// Reads the lines of one or several folded texts, one after the other: the one reader of them.
///
/// Blank lines are passed over, comments are read as [`header`]; taking a
/// line apart is [`parse_line`]'s work.
pub struct Lines {
    sources: std::vec::IntoIter<Source>,
    blocks: Option<Blocks>,
    block: Block,
    at: usize,
    /// The number of bytes of the blocks before this one.
    before: u64,
    name: Arc<str>,
    line: u64,
    columns: Columns,
    header: Header,
    /// The first text that ended without a newline.
    ends_within: Option<Position>,
    /// The size of a block.
    size: usize,
    /// Ends the text early, once it is true.
    stop: Option<Arc<AtomicBool>>,
}

/// The facts of what was read so far. A header that follows stacks begins another part: texts
/// that were put one behind the other.
pub(crate) struct Header {
    /// The facts of the parts that are complete.
    parts: Vec<Facts>,
    reader: HeaderReader,
    /// True if no stack has come since the part began.
    pub(crate) is_open: bool,
    /// Facts at the beginning of the first text.
    first: Facts,
}

impl Default for Header {
    fn default() -> Self {
        Header { parts: Vec::new(), reader: HeaderReader::default(), is_open: true, first: Facts::default() }
    }
}

impl Lines {
    /// Opens the sources, or fails as [`Source::open`] does.
    ///
    /// # Errors
    /// Those of [`Source::open`]; [`crate::ErrorKind::Setting`] for profiles together with
    /// differential profiles.
    pub fn open(sources: &[Source]) -> Result<Lines> {
        let (sources, columns) = settle_columns(sources)?;
        Lines::open_as(sources, columns, BLOCK)
    }

    /// [`Lines::open`] of texts whose columns are known, in blocks of any size.
    pub(crate) fn open_as(sources: Vec<Source>, columns: Columns, size: usize) -> Result<Lines> {
        let mut lines = Lines {
            sources: sources.into_iter(),
            blocks: None,
            block: Block::default(),
            at: 0,
            before: 0,
            name: "".into(),
            line: 0,
            columns,
            header: Header::default(),
            ends_within: None,
            size,
            stop: None,
        };
        if let Some(first) = lines.sources.next() {
            lines.start(&first)?;
        }
        Ok(lines)
    }

    /// The lines of a part of a file, unless they are stopped: a header in it is another one.
    pub(crate) fn of_part(blocks: Blocks, columns: Columns, is_first: bool, stop: Arc<AtomicBool>) -> Lines {
        Lines {
            sources: Vec::new().into_iter(),
            name: blocks.name().clone(),
            blocks: Some(blocks),
            block: Block::default(),
            at: 0,
            before: 0,
            line: 0,
            columns,
            header: Header { is_open: is_first, ..Header::default() },
            ends_within: None,
            size: BLOCK,
            stop: Some(stop),
        }
    }

    fn start(&mut self, source: &Source) -> Result<()> {
        let input = source.open()?;
        self.name = input.name().clone();
        self.line = 0;
        if self.blocks.is_none() {
            // A mistake in it is found, and placed, when the lines come.
            self.header.first = header::read(input.head()).unwrap_or_default();
        } else {
            self.header.end_part();
        }
        self.blocks = Some(input.into_blocks(self.size));
        Ok(())
    }

    /// One or two weights on each line.
    pub fn columns(&self) -> Columns {
        self.columns
    }

    /// The facts that the first text begins with.
    pub fn first_facts(&self) -> &Facts {
        &self.header.first
    }

    /// The facts of all that was read so far.
    pub fn facts(&self) -> Facts {
        self.header.facts()
    }

    /// The facts of each part.
    pub(crate) fn into_parts(self) -> Vec<Facts> {
        let Header { mut parts, reader, .. } = self.header;
        parts.push(reader.finish());
        parts
    }

    /// Returns true if there was more than one header or text, so that [`Lines::first_facts`] are not all.
    pub fn has_parts(&self) -> bool {
        !self.header.parts.is_empty()
    }

    /// The position of a last line without its newline, once it was read.
    pub(crate) fn ends_within(&self) -> Option<Position> {
        self.ends_within.clone()
    }

    /// The name for messages of the text that is read.
    pub(crate) fn name(&self) -> &Arc<str> {
        &self.name
    }

    /// The number of lines that were read, of any kind.
    pub(crate) fn count(&self) -> u64 {
        self.line
    }

    /// The place of the next line in what is read, in bytes.
    #[inline]
    pub(crate) fn offset(&self) -> u64 {
        self.before + self.at as u64
    }

    /// The file that is about to be read, if it can be read anywhere.
    pub(crate) fn plain_file(&self) -> Option<(&File, Range<u64>)> {
        self.blocks.as_ref()?.plain_file()
    }

    /// The position of the line that was returned last.
    pub fn position(&self) -> Position {
        Position::line(self.name.clone(), self.line)
    }

    /// The next line that is neither blank nor a comment, without its newline.
    ///
    /// # Errors
    /// Those of [`Source::open`], and a damaged or unreadable input.
    pub fn next_line(&mut self) -> Result<Option<&[u8]>> {
        Ok(self.next_line_like(b"")?.map(|(line, _)| line))
    }

    /// [`Lines::next_line`], and how many bytes it has in common with `before` from the start.
    ///
    /// Lines in order share most of their text with the line before, which holds no newline: that
    /// much need not be searched for one.
    #[inline]
    pub(crate) fn next_line_like(&mut self, before: &[u8]) -> Result<Option<(&[u8], usize)>> {
        self.next_by(|text| {
            let same = common_prefix(before, text);
            let rest = &text[same..];
            (same + memchr::memchr(b'\n', rest).unwrap_or(rest.len()), same)
        })
    }

    /// [`Lines::next_line_like`], and the places of the `;` behind what it has in common with `before`.
    #[inline]
    pub(crate) fn next_line_split_like(
        &mut self,
        before: &[u8],
        semicolons: &mut Vec<u32>,
    ) -> Result<Option<(&[u8], usize)>> {
        self.next_by(|text| {
            let same = common_prefix(before, text);
            semicolons.clear();
            (line_and_semicolons_from(same, text, semicolons), same)
        })
    }

    /// [`Lines::next_line`], and the places of the `;` in it.
    #[inline]
    pub(crate) fn next_line_split(&mut self, semicolons: &mut Vec<u32>) -> Result<Option<&[u8]>> {
        Ok(self.next_by(|text| (line_and_semicolons(text, semicolons), ()))?.map(|(line, ())| line))
    }

    /// The next line, as long as `measure` says of the text that it begins, and what else that says.
    #[inline]
    fn next_by<T>(&mut self, mut measure: impl FnMut(&[u8]) -> (usize, T)) -> Result<Option<(&[u8], T)>> {
        loop {
            let bytes = self.block.bytes();
            if self.at >= bytes.len() {
                if !self.refill()? {
                    return Ok(None);
                }
                continue;
            }
            let start = self.at;
            let (len, more) = measure(&bytes[start..]);
            let end = start + len;
            self.at = end + 1;
            self.line += 1;
            if end == start {
                continue;
            }
            if bytes[start] == b'#' && is_comment(&bytes[start..end]) {
                self.read_comment(start..end)?;
                continue;
            }
            if bytes[start] <= b' ' && bytes[start..end].trim_ascii().is_empty() {
                continue;
            }
            self.header.is_open = false;
            return Ok(Some((&self.block.bytes()[start..end], more)));
        }
    }

    #[cold]
    fn read_comment(&mut self, line: Range<usize>) -> Result<()> {
        let position = self.position();
        let line = self.block.bytes()[line].trim_ascii_end();
        self.header.read(line).map_err(|e| e.or_at(|| position))
    }

    fn refill(&mut self) -> Result<bool> {
        self.at = 0;
        self.before += self.block.bytes().len() as u64;
        // Only the last block of a text can end so.
        if self.ends_within.is_none() && self.block.ends_within_line() {
            self.ends_within = Some(self.position());
        }
        if self.stop.as_ref().is_some_and(|stop| stop.load(Ordering::Relaxed)) {
            return Ok(false);
        }
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

impl Header {
    /// The facts of all parts.
    pub(crate) fn facts(&self) -> Facts {
        let mut parts = self.parts.clone();
        parts.push(self.reader.clone().finish());
        Facts::merged(&parts)
    }

    /// The facts of the part at hand.
    pub(crate) fn part(&self) -> &Facts {
        self.reader.facts()
    }

    /// Reads a comment line, without its newline.
    ///
    /// # Errors
    /// [`ErrorKind::Malformed`] for a unit that contradicts one before.
    pub(crate) fn read(&mut self, line: &[u8]) -> Result<()> {
        if !self.is_open {
            if !HeaderReader::is_header(line) {
                return Ok(());
            }
            self.end_part();
        }
        self.reader.read(line)?;
        if let (Some(unit), Some(before)) =
            (self.reader.facts().unit.as_deref(), self.parts.iter().find_map(|part| part.unit.as_deref()))
            && unit != before
        {
            let expected = format!("the unit {before}, as in the text before");
            return Err(Error::malformed(expected, unit.as_bytes()));
        }
        Ok(())
    }

    /// Another text, or another header, begins.
    pub(crate) fn end_part(&mut self) {
        self.parts.push(std::mem::take(&mut self.reader).finish());
        self.is_open = true;
    }
}

/// Decides whether folded texts that are read as one are differential: two weights on every line of
/// all of them. A header says so; of a text without one all lines are looked at. Gives back the
/// sources, so that they can be opened.
///
/// # Errors
/// Those of [`Source::open`]; [`crate::ErrorKind::Setting`] where some are differential and some
/// are not.
pub(crate) fn settle_columns(sources: &[Source]) -> Result<(Vec<Source>, Columns)> {
    let mut settled = Vec::with_capacity(sources.len());
    let mut columns: Option<Columns> = None;
    for source in sources {
        let (source, guess) = source.look(|input| Ok(guess_columns(input.head())))?;
        let (source, of_this) = match guess {
            Some((columns, Certainty::Sure)) => (source, Some(columns)),
            Some((_, Certainty::SoFar)) => look_at_all(source)?,
            None => (source, None),
        };
        if let (Some(columns), Some(of_this)) = (columns, of_this)
            && columns != of_this
        {
            let what = "a profile and a differential profile, with two weights on each line, cannot be one";
            return Err(Error::setting(what));
        }
        columns = columns.or(of_this);
        settled.push(source);
    }
    Ok((settled, columns.unwrap_or_default()))
}

/// Looks at every line of a text that seems to have two columns. A pipe is kept in memory.
fn look_at_all(source: Source) -> Result<(Source, Option<Columns>)> {
    let source = match source.is_rereadable() {
        true => source,
        false => {
            let input = source.open()?;
            match input.file() {
                // A file that was opened before.
                Some((file, 0)) => {
                    let file = file.try_clone().map_err(|e| Error::io("open", e))?;
                    Source::file(input.name().clone(), file)
                }
                _ => Source::bytes(input.read_all()?).named(source.name()),
            }
        }
    };
    let mut blocks = source.open()?.into_blocks(BLOCK);
    let mut block = Block::default();
    while blocks.next(&mut block, last_newline)? {
        if columns_of(block.bytes()) == Some(Columns::One) {
            return Ok((source, Some(Columns::One)));
        }
    }
    Ok((source, Some(Columns::Two)))
}

/// Says if all of a text was looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Certainty {
    Sure,
    SoFar,
}

/// Guesses the number of columns of a text from its first bytes (all of it, or
/// [`crate::input::HEAD`] bytes); one line with one weight makes one column certain.
pub(crate) fn guess_columns(head: &[u8]) -> Option<(Columns, Certainty)> {
    let is_whole = head.len() < crate::input::HEAD;
    let whole = if is_whole { head.len() } else { last_newline(head).unwrap_or(0) };
    if header::read(head).is_ok_and(|facts| facts.differential) {
        return Some((Columns::Two, Certainty::Sure));
    }
    let columns = columns_of(&head[..whole])?;
    let certainty = if is_whole || columns == Columns::One { Certainty::Sure } else { Certainty::SoFar };
    Some((columns, certainty))
}

/// Two if every line that is understood has two weights; `None` if no line is understood.
fn columns_of(body: &[u8]) -> Option<Columns> {
    let mut any = None;
    for line in lines(body).filter(|line| !is_comment(line)) {
        if parse_line(line, Columns::Two).is_some() {
            any = Some(Columns::Two);
        } else if parse_line(line, Columns::One).is_some() {
            return Some(Columns::One);
        }
    }
    any
}

#[cfg(test)]
mod tests {
    use super::*;

    fn columns(text: impl Into<Vec<u8>>) -> Columns {
        settle_columns(&[Source::bytes(text)]).unwrap().1
    }

    #[test]
    fn columns_are_two_only_if_all_lines_have_two() {
        assert_eq!(columns("a 1 2\nb 3 4\n"), Columns::Two);
        assert_eq!(columns("# x\na 1 2\r\nb 3 4"), Columns::Two);
        assert_eq!(columns("calc 1 2\nb 3\n"), Columns::One);
        assert_eq!(columns(""), Columns::One);
        let workers: String = (0..9000).map(|n| format!("main;worker {n} 1\n")).collect();
        assert_eq!(columns(format!("{workers}zebra 1\n")), Columns::One);
        assert_eq!(columns(workers.clone()), Columns::Two);
        assert_eq!(columns(format!("# columns: before, after\n{workers}")), Columns::Two);
        let pipe = Source::reader("pipe", std::io::Cursor::new(format!("{workers}zebra 1\n")));
        let (sources, columns) = settle_columns(&[pipe]).unwrap();
        assert_eq!((columns, sources[0].name().as_ref()), (Columns::One, "pipe"));
        assert_eq!(sources[0].open().unwrap().read_all().unwrap().len(), workers.len() + 8);
        assert!(settle_columns(&[Source::bytes("a 1 2\n"), Source::bytes("b 1\n")]).is_err());
    }

    #[test]
    fn the_last_line_of_a_head_may_be_cut() {
        let line = "main;worker 10 1\n";
        let mut head = line.repeat(crate::input::HEAD / line.len() + 1).into_bytes();
        head.truncate(crate::input::HEAD);
        assert_ne!(head.last(), Some(&b'\n'));
        let end = head.len() - 5;
        // As much of a line as looks like one with one weight.
        head[end - 1..].copy_from_slice(b"\na;b 1");
        head.truncate(crate::input::HEAD);
        assert_eq!(guess_columns(&head), Some((Columns::Two, Certainty::SoFar)));
        assert_eq!(guess_columns(b"a;b 10 1\nb 1 1"), Some((Columns::Two, Certainty::Sure)));
        assert_eq!(guess_columns(b"a;b 10 1\nb 1"), Some((Columns::One, Certainty::Sure)));
    }

    #[test]
    fn texts_put_together_have_several_headers() {
        let text = "# unit: ns\n# period: 10 ns\na 1\n# remark\nb 1\n# unit: ns\n# period: 20 ns\na 1\n";
        let mut lines = Lines::open(&[Source::bytes(text)]).unwrap();
        assert!(lines.next_line().unwrap().is_some() && !lines.has_parts());
        while lines.next_line().unwrap().is_some() {}
        assert!(lines.has_parts());
        let facts = lines.facts();
        assert_eq!((facts.unit.as_deref(), facts.period), (Some("ns"), None));
        assert!(lines.first_facts().period.is_some());
    }

    #[test]
    fn a_header_that_contradicts_is_placed() {
        for text in ["# unit: ns\n# unit: bytes\na 1\n", "# unit: ns\n# unit: bytes\n"] {
            let error = Lines::open(&[Source::bytes(text)]).unwrap().next_line().unwrap_err().to_string();
            assert!(error.starts_with("input:2: ") && error.contains("unit ns"), "{error}");
        }
        let mut lines =
            Lines::open(&[Source::bytes("# unit: ns\na 1\n"), Source::bytes("# unit: s\nb 1\n")]).unwrap();
        lines.next_line().unwrap();
        assert!(lines.next_line().unwrap_err().to_string().starts_with("input:1: "));
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
