//! Runs a parser over blocks of whole records, on one thread or many.
//!
//! The threads take turns at reading and have a [fork](Sink::fork) of the sink each, joined once at
//! the end: a table that all of them share makes two threads slower than one. Sums do not depend on
//! who added what, and the first line not understood is found by its place, so the result is the
//! same for any number of threads. A sink that cannot be forked hears one thread.

use std::borrow::Cow;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::collapse::{Report, Sink};
use crate::error::{Error, Position, Result, excerpt};
use crate::folded::{NotUnderstood, is_comment};
use crate::input::{Block, Blocks, Input, last_newline, trim_line_end};
use crate::profile::ForkedSink;
use crate::threads;

/// A block's size: with its tables it fits the second-level cache. On the recording of
/// `scripts/bench` 256 kB takes the same time, within one part in a hundred.
const BLOCK: usize = 512 * 1024;

/// The longest line that is put together again when a newline in a name has cut it.
const LONGEST_CUT: usize = 64 * 1024;

/// Reads records on one thread.
pub trait Parser: Send {
    /// Reads the records of one block and returns how many lines they are.
    ///
    /// # Errors
    /// Placed by the line in the block, counted from 1.
    fn block(&mut self, bytes: &[u8], place: &mut Place, sink: &mut dyn Sink) -> Result<u64>;

    /// Adds what this thread came across to the report.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Overflow`].
    fn finish(self, report: &mut Report) -> Result<()>;
}

/// Collects the lines of a block that are not understood.
#[derive(Default)]
pub struct Place {
    count: u64,
    first: Option<(u64, String)>,
    /// True if the block ends within a record.
    is_within_record: bool,
}

impl Place {
    /// Notes that the lines so far end within a record, of which lines may be missing if they are the last.
    pub fn ends_within_record(&mut self) {
        self.is_within_record = true;
    }

    /// Counts a line, by its number in the block, counted from 1.
    pub fn not_understood(&mut self, line: u64, text: &[u8]) {
        self.count += 1;
        if self.first.is_none() {
            self.first = Some((line, excerpt(text)));
        }
    }
}

/// The outcome of a block.
struct Done {
    index: usize,
    lines: u64,
    place: Place,
    /// True if the input ends within the block's last line.
    ends_within: bool,
    /// True if the input ends within the block's last record.
    ends_within_record: bool,
    error: Option<Error>,
}

/// The state that all threads share.
struct Shared<'a> {
    blocks: Mutex<Blocks>,
    done: Mutex<Vec<Done>>,
    stop: AtomicBool,
    cut: &'a (dyn Fn(&[u8]) -> Option<usize> + Sync),
}

/// Reads all of `input` into `sink` with as many parsers as `threads` allows and the input needs.
///
/// `cut` returns where the last whole record of some bytes ends.
///
/// # Errors
/// The first in the order of the input.
pub fn run<P: Parser>(
    input: Input,
    threads: usize,
    cut: &(dyn Fn(&[u8]) -> Option<usize> + Sync),
    parser: impl Fn() -> P + Sync,
    sink: &mut dyn Sink,
    report: &mut Report,
) -> Result<()> {
    let mut blocks = input.into_blocks(BLOCK);
    let name = blocks.name().clone();
    let mut first = Block::default();
    let more = blocks.next(&mut first, cut)?;
    let threads = match threads {
        _ if blocks.is_ended() => 1,
        threads => threads::count(threads),
    };
    // Without other formats there is folded text only: one thread does.
    let threads = if cfg!(feature = "collapse") { threads } else { 1 };
    let shared =
        Shared { blocks: Mutex::new(blocks), done: Mutex::default(), stop: AtomicBool::new(!more), cut };
    let mut forks: Vec<Box<dyn ForkedSink>> = (1..threads).map_while(|_| sink.fork()).collect();
    let parsers = if forks.is_empty() {
        vec![shared.work(parser(), Some(first), sink)?]
    } else {
        let parsers = shared.work_on_threads(&parser, first, sink, &mut forks)?;
        forks.into_iter().try_for_each(|fork| sink.join(fork))?;
        parsers
    };
    let mut done = shared.done.into_inner().expect("no thread panics");
    done.sort_unstable_by_key(|done| done.index);
    let mut before = 0;
    for Done { lines, place, ends_within, ends_within_record, error, .. } in done {
        if let Some(error) = error {
            let line = error.position().line.unwrap_or(0);
            return Err(error.at(Position::line(name, before + line)));
        }
        let first = place.first.map(|(line, text)| (Position::line(name.clone(), before + line), text));
        let last = |is_so: bool| is_so.then(|| Position::line(name.clone(), before + lines));
        let of_block = NotUnderstood {
            count: place.count,
            first,
            ends_within: last(ends_within),
            ends_within_record: last(ends_within_record),
            ..NotUnderstood::default()
        };
        report.not_understood.merge(of_block);
        before += lines;
    }
    parsers.into_iter().try_for_each(|parser| parser.finish(report))
}

/// Reads the lines of a format in which every line is a record.
pub trait LineParser: Send {
    /// Reads a line that is neither blank nor a comment (`# …`); `false` if it is not understood.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Overflow`], and errors after which reading on makes no sense.
    fn line(&mut self, line: &[u8], sink: &mut dyn Sink) -> Result<bool>;

    /// Reads a comment; the header of folded text is made of them.
    ///
    /// # Errors
    /// Errors after which reading on makes no sense.
    fn comment(&mut self, _line: &[u8]) -> Result<()> {
        Ok(())
    }

    /// Ends a block: the next one may be from another place in the input.
    fn end_block(&mut self) {}

    /// Returns true if `line` is the rest of the one before, `cut`, which was not understood because
    /// a name in it holds a newline. They are then read again as one, with a blank between.
    fn goes_on(&self, _cut: &[u8], _line: &[u8]) -> bool {
        false
    }

    /// Adds what this thread came across to the report.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Overflow`].
    fn finish(self, report: &mut Report) -> Result<()>;
}

/// [`run`] for formats in which every line is a record. `parser` makes what reads the lines of
/// one thread.
///
/// # Errors
/// Those of [`run`].
pub fn run_lines<P: LineParser>(
    input: Input,
    threads: usize,
    parser: impl Fn() -> P + Sync,
    sink: &mut dyn Sink,
    report: &mut Report,
) -> Result<()> {
    run(input, threads, &last_line, || Lines(parser()), sink, report)
}

/// The end of the last whole line, but never between comments: a header stays in one piece.
fn last_line(bytes: &[u8]) -> Option<usize> {
    let last = last_newline(bytes)?;
    let mut end = last;
    loop {
        let start = memchr::memrchr(b'\n', &bytes[..end - 1]).map_or(0, |at| at + 1);
        if !is_comment(bytes[start..end].trim_ascii_end()) {
            return Some(end);
        }
        if start == 0 {
            return Some(last);
        }
        end = start;
    }
}

struct Lines<P>(P);

impl<P: LineParser> Parser for Lines<P> {
    fn block(&mut self, bytes: &[u8], place: &mut Place, sink: &mut dyn Sink) -> Result<u64> {
        let mut number = 0;
        let mut start = 0;
        // A line that is not understood, unless the next one completes it.
        let mut cut: Option<(u64, Cow<'_, [u8]>)> = None;
        while start < bytes.len() {
            let end = memchr::memchr(b'\n', &bytes[start..]).map_or(bytes.len(), |n| start + n);
            let line = trim_line_end(&bytes[start..end]);
            number += 1;
            start = end + 1;
            let at = || Position { line: Some(number), ..Position::default() };
            if is_comment(line) {
                self.0.comment(line).map_err(|e| e.or_at(at))?;
                continue;
            }
            if line.is_empty() {
                continue;
            }
            let (first, line) = match cut.take() {
                Some((first, cut)) if cut.len() < LONGEST_CUT && self.0.goes_on(&cut, line) => {
                    (first, Cow::Owned([&cut, &b" "[..], line].concat()))
                }
                Some((first, cut)) => {
                    place.not_understood(first, &cut);
                    (number, Cow::Borrowed(line))
                }
                None => (number, Cow::Borrowed(line)),
            };
            let understood = self.0.line(&line, sink);
            if !understood.map_err(|e| e.or_at(at))? {
                cut = Some((first, line));
            }
        }
        if let Some((first, cut)) = cut {
            place.not_understood(first, &cut);
        }
        self.0.end_block();
        Ok(number)
    }

    fn finish(self, report: &mut Report) -> Result<()> {
        self.0.finish(report)
    }
}

/// Reads the lines of a format whose records are of several lines, with a blank line after each,
/// or wherever else `cut` of [`run_records`] says.
pub trait RecordParser: Send {
    /// A line without blanks at its end, also a blank one; `false` if it is not understood.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Overflow`], and errors after which reading on makes no sense.
    fn line(&mut self, line: &[u8], sink: &mut dyn Sink) -> Result<bool>;

    /// Returns true if lines of the last record may follow.
    fn is_within_record(&self) -> bool {
        false
    }

    /// The lines before were those of whole records.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Overflow`].
    fn end(&mut self, sink: &mut dyn Sink) -> Result<()>;

    /// Adds what this thread came across to the report.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Overflow`].
    fn finish(self, report: &mut Report) -> Result<()>;
}

/// [`run`] for formats in which a record is several lines.
///
/// # Errors
/// Those of [`run`].
pub fn run_records<P: RecordParser>(
    input: Input,
    threads: usize,
    cut: &(dyn Fn(&[u8]) -> Option<usize> + Sync),
    parser: impl Fn() -> P + Sync,
    sink: &mut dyn Sink,
    report: &mut Report,
) -> Result<()> {
    run(input, threads, cut, || Records(parser()), sink, report)
}

/// The cut for records with a blank line after each.
pub fn last_blank_line(bytes: &[u8]) -> Option<usize> {
    let plain = memchr::memmem::rfind(bytes, b"\n\n").map(|at| at + 2);
    let found = plain.max(memchr::memmem::rfind(bytes, b"\n\r\n").map(|at| at + 3));
    // Else one with blanks in it.
    found.or_else(|| {
        let mut end = memchr::memrchr(b'\n', bytes)?;
        loop {
            let start = memchr::memrchr(b'\n', &bytes[..end])?;
            if trim_line_end(&bytes[start + 1..end]).is_empty() {
                return Some(end + 1);
            }
            end = start;
        }
    })
}

struct Records<P>(P);

impl<P: RecordParser> Parser for Records<P> {
    fn block(&mut self, bytes: &[u8], place: &mut Place, sink: &mut dyn Sink) -> Result<u64> {
        let mut number = 0;
        let at = |number| move || Position { line: Some(number), ..Position::default() };
        for line in bytes.split_inclusive(|&b| b == b'\n') {
            let line = trim_line_end(line.strip_suffix(b"\n").unwrap_or(line));
            number += 1;
            if !self.0.line(line, sink).map_err(|e| e.or_at(at(number)))? {
                place.not_understood(number, line);
            }
        }
        if self.0.is_within_record() {
            place.ends_within_record();
        }
        self.0.end(sink).map_err(|e| e.or_at(at(number)))?;
        Ok(number)
    }

    fn finish(self, report: &mut Report) -> Result<()> {
        self.0.finish(report)
    }
}

impl Shared<'_> {
    /// Parses on this thread, and on one more for each fork.
    #[cfg(feature = "collapse")]
    fn work_on_threads<P: Parser>(
        &self,
        parser: &(impl Fn() -> P + Sync),
        first: Block,
        sink: &mut dyn Sink,
        forks: &mut [Box<dyn ForkedSink>],
    ) -> Result<Vec<P>> {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(forks.len()).build();
        // Without threads this one reads all of it.
        let Ok(pool) = pool else { return Ok(vec![self.work(parser(), Some(first), sink)?]) };
        let results = Mutex::new(Vec::new());
        let own = pool.in_place_scope(|scope| {
            for fork in forks {
                scope.spawn(|_| {
                    let result = self.work(parser(), None, &mut **fork);
                    results.lock().expect("no thread panics").push(result);
                });
            }
            self.work(parser(), Some(first), sink)
        });
        [own].into_iter().chain(results.into_inner().expect("no thread panics")).collect()
    }

    #[cfg(not(feature = "collapse"))]
    fn work_on_threads<P: Parser>(
        &self,
        parser: &(impl Fn() -> P + Sync),
        first: Block,
        sink: &mut dyn Sink,
        _forks: &mut [Box<dyn ForkedSink>],
    ) -> Result<Vec<P>> {
        Ok(vec![self.work(parser(), Some(first), sink)?])
    }

    /// Parses blocks until there are no more. Errors of reading are returned, those of parsing
    /// noted with their block.
    fn work<P: Parser>(&self, mut parser: P, first: Option<Block>, sink: &mut dyn Sink) -> Result<P> {
        let mut have = first.is_some();
        let mut block = first.unwrap_or_default();
        while !self.stop.load(Ordering::Relaxed) {
            if !have {
                // Nobody waits while memory is given back, or filled.
                block.clear();
                let mut blocks = self.blocks.lock().expect("no thread panics");
                if !blocks
                    .take(&mut block, self.cut)
                    .inspect_err(|_| self.stop.store(true, Ordering::Relaxed))?
                {
                    break;
                }
                drop(blocks);
                block.load();
            }
            have = false;
            let mut place = Place::default();
            let result = parser.block(block.bytes(), &mut place, sink);
            let (lines, error) = match result.and_then(|lines| sink.flush().map(|()| lines)) {
                Ok(lines) => (lines, None),
                Err(e) => {
                    self.stop.store(true, Ordering::Relaxed);
                    (0, Some(e))
                }
            };
            self.done.lock().expect("no thread panics").push(Done {
                index: block.index,
                lines,
                ends_within_record: block.is_last && place.is_within_record,
                place,
                ends_within: block.ends_within_line(),
                error,
            });
        }
        Ok(parser)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_end_behind_the_last_that_is_no_comment() {
        for (text, whole) in [
            ("a 1\nb 2\nc", Some("a 1\nb 2\n")),
            ("a 1\n# unit: ns\n# x: y\nb", Some("a 1\n")),
            ("# unit: ns\na 1\n# x: y\n", Some("# unit: ns\na 1\n")),
            // There is nothing else to divide it by.
            ("# unit: ns\n# x: y\n# z", Some("# unit: ns\n# x: y\n")),
            ("a 1", None),
        ] {
            assert_eq!(last_line(text.as_bytes()).map(|end| &text[..end]), whole, "{text:?}");
        }
    }

    #[test]
    fn records_end_behind_the_last_blank_line() {
        for (text, whole) in [
            ("a\n\nb\n", Some("a\n\n")),
            ("a\n\nb\n\n", Some("a\n\nb\n\n")),
            ("a\r\n\r\nb\r\n", Some("a\r\n\r\n")),
            ("a\r\n\r\nb\n\nc", Some("a\r\n\r\nb\n\n")),
            ("a\n\nb\r\n\r\nc", Some("a\n\nb\r\n\r\n")),
            // Blanks in it, where no line is empty.
            ("a\n  \nb\nc\n", Some("a\n  \n")),
            ("a\nb\nc", None),
            ("a", None),
        ] {
            assert_eq!(last_blank_line(text.as_bytes()).map(|end| &text[..end]), whole, "{text:?}");
        }
    }
}
