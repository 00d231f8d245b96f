//! Lines that may have to be read twice, from a pipe too.
//!
//! A file is opened again. The lines of a pipe are kept front coded: in frame order that is a fraction of the text.

use super::order::common_prefix;
use super::reader::Lines;
use crate::error::{Position, Result};
use crate::front_coded::{FrontCoded, Place};
use crate::input::Source;
use crate::scan::line_and_semicolons;

/// [`Lines`] that can be [rewound](Rereadable::rewind).
pub(crate) struct Rereadable<'s> {
    sources: &'s [Source],
    lines: Lines,
    /// The lines read so far, when the sources cannot be read again.
    replay: Option<FrontCoded<u8>>,
    /// The place of the next line in the replay buffer; at its end a line is read.
    place: Place<u8>,
    /// Lines that are read are kept for another pass.
    keeps: bool,
}

impl<'s> Rereadable<'s> {
    pub(crate) fn open(sources: &'s [Source]) -> Result<Self> {
        let lines = Lines::open(sources)?;
        let replay = (!sources.iter().all(Source::is_rereadable)).then(FrontCoded::default);
        Ok(Rereadable { sources, lines, replay, place: Place::default(), keeps: true })
    }

    /// Lines that are read once.
    pub(crate) fn once(lines: Lines) -> Self {
        Rereadable { sources: &[], lines, replay: None, place: Place::default(), keeps: false }
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
        self.place = Place::default();
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
        if replay.next(&mut self.place).is_some() {
            return Ok(Some(&self.place.entry.list));
        }
        let line = self.lines.next_line()?;
        if let Some(line) = line {
            if self.keeps {
                replay.push_sharing(common_prefix(replay.last(), line), line, b"");
                replay.skip_all(&mut self.place);
            } else if !replay.coded().is_empty() {
                *replay = FrontCoded::default();
                self.place = Place::default();
            }
        }
        Ok(line)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
}
