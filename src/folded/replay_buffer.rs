//! Lines that may have to be read twice, from a pipe too.
//!
//! A file is opened again. The lines of a pipe are kept, front coded: of each line only what
//! differs from the one before. In frame order that is a fraction of the text.

use super::order::common_prefix;
use super::reader::Lines;
use crate::error::{Position, Result};
use crate::input::Source;

/// [`Lines`] that can be [rewound](Rereadable::rewind).
pub(crate) struct Rereadable<'s> {
    sources: &'s [Source],
    lines: Lines,
    /// The lines read so far, when they cannot be had again.
    spool: Option<ReplayBuffer>,
    /// Where the next line stands in the spool; at its end the next one is read.
    cursor: Cursor,
}

impl<'s> Rereadable<'s> {
    pub(crate) fn open(sources: &'s [Source]) -> Result<Self> {
        let lines = Lines::open(sources)?;
        let spool = (!sources.iter().all(Source::is_rereadable)).then(ReplayBuffer::default);
        Ok(Rereadable { sources, lines, spool, cursor: Cursor::default() })
    }

    pub(crate) fn lines(&self) -> &Lines {
        &self.lines
    }

    /// Where the line returned last stands; a spooled one is placed at the end of what was read.
    pub(crate) fn position(&self) -> Position {
        self.lines.position()
    }

    /// Starts again at the first line.
    pub(crate) fn rewind(&mut self) -> Result<()> {
        self.cursor = Cursor::default();
        if self.spool.is_none() {
            self.lines = Lines::open(self.sources)?;
        }
        Ok(())
    }

    /// Promises not to rewind any more, which frees what was kept for it once it is read.
    pub(crate) fn read_once_more(&mut self) {
        if let Some(spool) = &mut self.spool {
            spool.recording = false;
        }
    }

    pub(crate) fn next_line(&mut self) -> Result<Option<&[u8]>> {
        Ok(self.next_line_like(b"")?.map(|(line, _)| line))
    }

    /// The next line, and how many bytes it is known to have in common with `before`.
    #[inline]
    pub(crate) fn next_line_like(&mut self, before: &[u8]) -> Result<Option<(&[u8], usize)>> {
        match self.spool {
            None => self.lines.next_line_like(before),
            Some(_) => Ok(self.next_spooled()?.map(|line| (line, 0))),
        }
    }

    fn next_spooled(&mut self) -> Result<Option<&[u8]>> {
        let Some(spool) = &mut self.spool else { return Ok(None) };
        if self.cursor.at < spool.coded.len() {
            spool.step(&mut self.cursor);
            return Ok(Some(&self.cursor.line));
        }
        let line = self.lines.next_line()?;
        if let Some(line) = line {
            if spool.recording {
                spool.push(line);
                self.cursor.at = spool.coded.len();
            } else if !spool.coded.is_empty() {
                *spool = ReplayBuffer::default();
                spool.recording = false;
                self.cursor = Cursor::default();
            }
        }
        Ok(line)
    }
}

struct ReplayBuffer {
    /// Of each line: how many bytes it shares with the one before, how many follow, the bytes.
    coded: Vec<u8>,
    last: Vec<u8>,
    recording: bool,
}

impl Default for ReplayBuffer {
    fn default() -> Self {
        ReplayBuffer { coded: Vec::new(), last: Vec::new(), recording: true }
    }
}

#[derive(Default)]
struct Cursor {
    at: usize,
    line: Vec<u8>,
}

impl ReplayBuffer {
    fn push(&mut self, line: &[u8]) {
        let same = common_prefix(&self.last, line);
        for number in [same, line.len() - same] {
            let mut rest = number;
            while rest >= 0x80 {
                self.coded.push(rest as u8 | 0x80);
                rest >>= 7;
            }
            self.coded.push(rest as u8);
        }
        self.coded.extend_from_slice(&line[same..]);
        self.last.truncate(same);
        self.last.extend_from_slice(&line[same..]);
    }

    fn step(&self, cursor: &mut Cursor) {
        let mut number = || {
            let (mut value, mut shift) = (0usize, 0);
            loop {
                let byte = self.coded[cursor.at];
                cursor.at += 1;
                value |= usize::from(byte & 0x7f) << shift;
                shift += 7;
                if byte < 0x80 {
                    return value;
                }
            }
        };
        let (same, more) = (number(), number());
        cursor.line.truncate(same);
        cursor.line.extend_from_slice(&self.coded[cursor.at..cursor.at + more]);
        cursor.at += more;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gives_back_every_line() {
        let long = format!("main;{} 7", "f;".repeat(40_000));
        let lines = ["main 1", "main;parse 2", long.as_str(), "", "x 1", "x 1"];
        let mut spool = ReplayBuffer::default();
        lines.iter().for_each(|line| spool.push(line.as_bytes()));
        let mut cursor = Cursor::default();
        for line in lines {
            spool.step(&mut cursor);
            assert_eq!(cursor.line, line.as_bytes());
        }
        assert_eq!(cursor.at, spool.coded.len());
    }
}
