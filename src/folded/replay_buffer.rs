//! Lines that may have to be read twice, from a pipe too.
//!
//! A file is opened again. The lines of a pipe are kept front coded: of each line only the bytes that
//! differ from the line before. In frame order that is a fraction of the text.

use super::order::common_prefix;
use super::reader::Lines;
use crate::bytes::{push_varint, varint};
use crate::error::{Position, Result};
use crate::input::Source;
use crate::scan::line_and_semicolons;

/// [`Lines`] that can be [rewound](Rereadable::rewind).
pub(crate) struct Rereadable<'s> {
    sources: &'s [Source],
    lines: Lines,
    /// The lines read so far, when the sources cannot be read again.
    replay: Option<ReplayBuffer>,
    /// The place of the next line in the replay buffer; at its end a line is read.
    cursor: ReplayCursor,
    /// Lines that are read are kept for another pass.
    keeps: bool,
}

impl<'s> Rereadable<'s> {
    pub(crate) fn open(sources: &'s [Source]) -> Result<Self> {
        let lines = Lines::open(sources)?;
        let replay = (!sources.iter().all(Source::is_rereadable)).then(ReplayBuffer::default);
        Ok(Rereadable { sources, lines, replay, cursor: ReplayCursor::default(), keeps: true })
    }

    /// Lines that are read once.
    pub(crate) fn once(lines: Lines) -> Self {
        Rereadable { sources: &[], lines, replay: None, cursor: ReplayCursor::default(), keeps: false }
    }

    pub(crate) fn lines(&self) -> &Lines {
        &self.lines
    }

    /// The place of the line returned last; a replayed one is placed at the end of what was read.
    pub(crate) fn position(&self) -> Position {
        self.lines.position()
    }

    /// Starts again at the first line.
    pub(crate) fn rewind(&mut self) -> Result<()> {
        self.cursor = ReplayCursor::default();
        if self.replay.is_none() {
            self.lines = Lines::open(self.sources)?;
        }
        Ok(())
    }

    /// Promises not to rewind any more: the lines that were kept are freed once they are read.
    pub(crate) fn read_once_more(&mut self) {
        self.keeps = false;
    }

    /// The next line, and the number of bytes it has in common with `before`.
    #[inline]
    pub(crate) fn next_line_like(&mut self, before: &[u8]) -> Result<Option<(&[u8], usize)>> {
        match self.replay {
            None => self.lines.next_line_like(before),
            Some(_) => Ok(self.next_replayed()?.map(|line| (line, common_prefix(before, line)))),
        }
    }

    /// [`Rereadable::next_line_like`], and the places of the `;` behind what it has in common with `before`.
    #[inline]
    pub(crate) fn next_line_split_like(
        &mut self,
        before: &[u8],
        semicolons: &mut Vec<u32>,
    ) -> Result<Option<(&[u8], usize)>> {
        if self.replay.is_none() {
            return self.lines.next_line_split_like(before, semicolons);
        }
        let line = self.next_replayed()?;
        line_and_semicolons(line.unwrap_or_default(), semicolons);
        Ok(line.map(|line| (line, common_prefix(before, line))))
    }

    /// The next line, and the places of the `;` in it.
    #[inline]
    pub(crate) fn next_line_split(&mut self, semicolons: &mut Vec<u32>) -> Result<Option<&[u8]>> {
        match self.replay {
            None => self.lines.next_line_split(semicolons),
            Some(_) => {
                let line = self.next_replayed()?;
                line_and_semicolons(line.unwrap_or_default(), semicolons);
                Ok(line)
            }
        }
    }

    fn next_replayed(&mut self) -> Result<Option<&[u8]>> {
        let Some(replay) = &mut self.replay else { return Ok(None) };
        if replay.step(&mut self.cursor) {
            return Ok(Some(&self.cursor.line));
        }
        let line = self.lines.next_line()?;
        if let Some(line) = line {
            if self.keeps {
                replay.push(line);
                self.cursor.at = replay.coded.len();
            } else if !replay.coded.is_empty() {
                *replay = ReplayBuffer::default();
                self.cursor = ReplayCursor::default();
            }
        }
        Ok(line)
    }
}

/// Lines in memory, front coded: of each the number of bytes it shares with the one before, the
/// number of bytes that follow, and those bytes.
#[derive(Default)]
struct ReplayBuffer {
    coded: Vec<u8>,
    last: Vec<u8>,
}

/// A place in a [`ReplayBuffer`].
#[derive(Default)]
struct ReplayCursor {
    at: usize,
    line: Vec<u8>,
}

impl ReplayBuffer {
    /// Adds a line.
    fn push(&mut self, line: &[u8]) {
        let same = common_prefix(&self.last, line);
        for number in [same, line.len() - same] {
            push_varint(number as u64, &mut self.coded);
        }
        self.coded.extend_from_slice(&line[same..]);
        self.last.truncate(same);
        self.last.extend_from_slice(&line[same..]);
    }

    /// Goes to the next line; `false` if there is none.
    fn step(&self, cursor: &mut ReplayCursor) -> bool {
        if cursor.at >= self.coded.len() {
            return false;
        }
        let mut rest = &self.coded[cursor.at..];
        let mut length = || varint(&mut rest).expect("lengths are read as they were written") as usize;
        let (same, more) = (length(), length());
        cursor.at = self.coded.len() - rest.len();
        cursor.line.truncate(same);
        cursor.line.extend_from_slice(&self.coded[cursor.at..cursor.at + more]);
        cursor.at += more;
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gives_back_every_line() {
        let long = format!("main;{} 7", "f;".repeat(40_000));
        let lines = ["main 1", "main;parse 2", long.as_str(), "", "x 1", "x 1"];
        let mut replay = ReplayBuffer::default();
        lines.iter().for_each(|line| replay.push(line.as_bytes()));
        let mut cursor = ReplayCursor::default();
        for line in lines {
            assert!(replay.step(&mut cursor));
            assert_eq!(cursor.line, line.as_bytes());
        }
        assert!(!replay.step(&mut cursor));
    }

    #[test]
    fn replayed_lines_say_what_they_share() {
        let source = Source::reader("pipe", std::io::Cursor::new("main;b 1\nmain;a 2\nmain;a 3\n"));
        let sources = [source];
        let mut lines = Rereadable::open(&sources).unwrap();
        for _ in 0..2 {
            let mut shared = Vec::new();
            while let Some((_, same)) = lines.next_line_like(b"main;a").unwrap() {
                shared.push(same);
            }
            assert_eq!(shared, [5, 6, 6]);
            lines.rewind().unwrap();
        }
    }

    #[test]
    fn lengths_at_the_edges_of_their_bytes_come_back() {
        let lines: Vec<Vec<u8>> = [126, 127, 128, 129, 255, 256, 16_383, 16_384, 16_385]
            .iter()
            .flat_map(|&len| [vec![b'a'; len], [vec![b'a'; len], b"x".to_vec()].concat(), vec![b'b'; len]])
            .collect();
        let mut replay = ReplayBuffer::default();
        lines.iter().for_each(|line| replay.push(line));
        let mut cursor = ReplayCursor::default();
        for line in &lines {
            assert!(replay.step(&mut cursor), "{} bytes", line.len());
            assert!(cursor.line == *line, "{} bytes", line.len());
        }
        assert!(!replay.step(&mut cursor));
    }
}
