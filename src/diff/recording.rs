//! One recording of a side: surveyed first, then read stack by stack.
//!
//! A file is read twice: once to see whether it is in frame order and what it weighs, so that
//! nothing is written before trouble is known; then to be joined. Folded text is read again from
//! its file. The lines of a pipe are kept, front coded, and the stacks of other formats, as frames.

use super::blocks;
use super::survey::Survey;
use crate::error::{Error, ErrorKind, Position, Result};
use crate::filter::{Op, Pattern};
use crate::folded::{
    Columns, NameList, NotUnderstood, Rereadable, StackCursor, StackList, cmp_at, parse_line,
};
use crate::input::Source;
use crate::profile::{Facts, Label, Profile, TimeRange, header};
use crate::reading::{self, Opened, ReadOptions};
use crate::weight::Weight;
use std::sync::Arc;

/// The part of its recordings that a side compares.
#[derive(Clone, Debug, Default)]
pub(crate) struct SidePart {
    /// The range of time.
    pub(crate) time: Option<TimeRange>,
    /// The label whose values are the rows, instead of functions.
    pub(crate) by: Option<String>,
    /// Labels are no frames: they are left out.
    pub(crate) unlabelled: bool,
    /// The labels that become the first frames of stacks.
    pub(crate) labels: Vec<Label>,
    /// The label whose numbers are the weights.
    pub(crate) weight_by: Option<String>,
}

impl SidePart {
    fn needs_samples(&self) -> bool {
        self.time.is_some() || self.by.is_some() || self.weight_by.is_some() || !self.labels.is_empty()
    }

    /// The part of a profile, and a message for the user if samples had to be left out.
    fn take(&self, mut profile: Profile) -> Result<(Profile, Option<String>)> {
        let mut note = None;
        if let Some(key) = &self.weight_by {
            (profile, note) = profile.weighed_by_with_note(key)?;
        }
        if let Some(range) = self.time {
            profile = profile.filter(&[Op::time_range(range)])?;
            if profile.is_empty() {
                return Err(ErrorKind::Empty { what: "nothing ran in this range of time".into() }.into());
            }
        }
        if let Some(key) = &self.by {
            return Ok((profile.by_label(key)?, note));
        }
        if !self.labels.is_empty() {
            profile = profile.labelled_with_samples(&self.labels)?;
        }
        if self.unlabelled && !profile.facts().labels.is_empty() {
            let keys = profile.facts().labels.clone();
            let drop = keys.iter().map(Op::drop_label).collect::<Result<Vec<_>>>()?;
            profile = profile.filter(&drop)?;
        }
        Ok((profile, note))
    }
}

/// Returns true if folded text declares labels.
fn has_labels(head: &[u8]) -> bool {
    header::read(head).is_ok_and(|facts| !facts.labels.is_empty())
}

/// A recording of one side, opened: folded text streams by, everything else is in memory.
#[derive(Debug)]
pub(crate) enum Recording {
    /// Folded text.
    Folded(Source),
    /// A profile of another format, or one in memory.
    Kept(Box<Kept>),
}

/// The stacks of a profile, and what was said of it.
#[derive(Debug)]
pub(crate) struct Kept {
    /// The name of the file.
    name: Option<Arc<str>>,
    names: NameList,
    lines: StackList,
    /// The stacks of each block of time, if the times of samples are known.
    blocks: Vec<StackList>,
    facts: Facts,
    not_understood: NotUnderstood,
}

impl Recording {
    /// Opens a file of any format. Comes with what its reader has to say to the user. Where `part` asks
    /// for something, folded text is kept as well.
    ///
    /// # Errors
    /// Those of reading; [`ErrorKind::Setting`] for a differential profile.
    pub(crate) fn open(
        source: &Source,
        options: &ReadOptions,
        part: &SidePart,
    ) -> Result<(Recording, Vec<String>)> {
        let needs_samples = part.needs_samples();
        let opened = reading::open(
            std::slice::from_ref(source),
            &options.clone().samples(options.samples || needs_samples),
        )?;
        let opened = match opened {
            Opened::Folded(mut sources) => {
                let source = sources.pop().unwrap_or_else(|| source.clone());
                let (source, is_labelled) = source.look(|input| Ok(has_labels(input.head())))?;
                if !(needs_samples || part.unlabelled && is_labelled) {
                    return Ok((Recording::Folded(source), Vec::new()));
                }
                let (profile, report) = reading::read(&[source], &options.clone().samples(true))?;
                Opened::Profile(Box::new(profile), Box::new(report))
            }
            opened => opened,
        };
        match opened {
            Opened::Folded(_) => unreachable!("it was read as a profile"),
            Opened::Profile(profile, report) => {
                let at = |e: Error| e.or_at(|| Position::file(source.name()));
                let (profile, note) = part.take(*profile).map_err(at)?;
                let recording = Recording::keep(&profile, report.not_understood.clone());
                let mut recording = recording.map_err(|e| e.or_at(|| Position::file(source.name())))?;
                if let Recording::Kept(kept) = &mut recording {
                    kept.name = Some(source.name());
                }
                Ok((recording, report.notes.into_iter().chain(note).collect()))
            }
        }
    }

    /// A profile in memory.
    ///
    /// # Errors
    /// [`ErrorKind::Setting`] for a differential profile.
    pub(crate) fn of_profile(profile: &Profile) -> Result<Recording> {
        Recording::keep(profile, NotUnderstood::default())
    }

    fn keep(profile: &Profile, not_understood: NotUnderstood) -> Result<Recording> {
        expect_one_column(profile.columns())?;
        let (names, lines) = (profile.stacks().name_list(), StackList::of_table(profile.stacks())?);
        let blocks = blocks::cut(profile)?;
        let facts = profile.facts().clone();
        Ok(Recording::Kept(Box::new(Kept { name: None, names, lines, blocks, facts, not_understood })))
    }

    /// Returns true if it says when its samples were taken, so that there are blocks of time.
    pub(super) fn has_times(&self) -> bool {
        matches!(self, Recording::Kept(kept) if !kept.blocks.is_empty())
    }

    /// The name of its file, for messages.
    pub(super) fn name(&self) -> Option<Arc<str>> {
        match self {
            Recording::Folded(source) => Some(source.name()),
            Recording::Kept(kept) => kept.name.clone(),
        }
    }
}

/// Refuses a differential profile as a side.
///
/// # Errors
/// [`ErrorKind::Setting`].
pub(super) fn expect_one_column(columns: Columns) -> Result<()> {
    if columns == Columns::One {
        return Ok(());
    }
    let what = "this is a differential profile, with two weights on each line: compare two profiles of one";
    Err(Error::setting(what))
}

/// A part of a file.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Part<'l> {
    /// A stack and its weight.
    Line(&'l [u8], Weight),
    /// The end of a block of time, in files that say when samples were taken.
    BlockEnd,
}

/// The lines of one file, and the next stack.
pub(crate) struct Stacks<'s> {
    lines: Lines<'s>,
    /// The stack and the weight of the next line, if there is one (`has`).
    stack: Vec<u8>,
    weight: Weight,
    has: bool,
    /// The line before has the same stack.
    repeats: bool,
    /// The number by which weights are multiplied, if their unit is converted.
    factor: Option<Weight>,
}

/// The source of the lines.
enum Lines<'s> {
    Folded(Box<Rereadable<'s>>),
    Kept(&'s Kept, StackCursor),
}

impl Lines<'_> {
    #[inline]
    fn next_line_like(&mut self, before: &[u8]) -> Result<Option<(&[u8], usize)>> {
        match self {
            Lines::Folded(lines) => lines.next_line_like(before),
            Lines::Kept(kept, cursor) => Ok(kept.lines.next_line_like(&kept.names, cursor, before)),
        }
    }

    fn position(&self) -> Position {
        match self {
            Lines::Folded(lines) => lines.position(),
            Lines::Kept(..) => Position::default(),
        }
    }

    fn rewind(&mut self) -> Result<()> {
        match self {
            Lines::Folded(lines) => lines.rewind()?,
            Lines::Kept(_, cursor) => *cursor = StackCursor::default(),
        }
        Ok(())
    }
}

impl<'s> Stacks<'s> {
    /// Opens a recording.
    ///
    /// # Errors
    /// Those of [`Source::open`]; [`ErrorKind::Setting`] for a differential profile.
    pub(crate) fn open(recording: &'s Recording) -> Result<Stacks<'s>> {
        let lines = match recording {
            Recording::Folded(source) => {
                let lines = Rereadable::open(std::slice::from_ref(source))?;
                let at = |e: Error| e.or_at(|| Position::file(source.name()));
                expect_one_column(lines.lines().columns()).map_err(at)?;
                Lines::Folded(Box::new(lines))
            }
            Recording::Kept(kept) => Lines::Kept(kept, StackCursor::default()),
        };
        Ok(Stacks {
            lines,
            stack: Vec::new(),
            weight: Weight::ZERO,
            has: false,
            repeats: false,
            factor: None,
        })
    }

    /// Reads all of it once, and begins again. `reference` chooses frames: see
    /// [`Survey::reference`]; without `weigh`, the weight of a sample is not looked for.
    ///
    /// # Errors
    /// Those of reading, and [`crate::ErrorKind::Overflow`].
    pub(crate) fn survey(&mut self, reference: Option<&Pattern>, weigh: bool) -> Result<Survey> {
        let mut survey = Survey { in_order: true, ..Survey::default() };
        let mut last: Vec<u8> = Vec::new();
        while let Some((line, same)) = self.lines.next_line_like(&last)? {
            let Some(parsed) = parse_line(line, Columns::One) else {
                let line = line.to_vec();
                survey.not_understood.note(&line, || self.lines.position());
                continue;
            };
            let (stack, weight) = (parsed.stack, parsed.weights.value);
            let same = same.min(stack.len());
            survey.in_order &= cmp_at(&last, stack, same).is_le();
            last.truncate(same);
            last.extend_from_slice(&stack[same..]);
            survey.lines += 1;
            survey.roots.note(stack);
            if let Some(pattern) = reference
                && stack.split(|&b| b == b';').any(|frame| pattern.matches(frame))
            {
                survey.reference = survey.reference.checked_add(weight)?;
            }
            if weigh {
                survey.sample_weight.note(weight);
            }
            survey.total = survey.total.checked_add(weight).map_err(|e| e.or_at(|| self.lines.position()))?;
        }
        match &self.lines {
            Lines::Folded(lines) => {
                survey.facts = lines.lines().facts();
                survey.not_understood.ends_within = lines.lines().ends_within();
            }
            Lines::Kept(kept, _) => {
                survey.facts = kept.facts.clone();
                survey.not_understood = kept.not_understood.clone();
            }
        }
        self.lines.rewind()?;
        Ok(survey)
    }

    /// Begins again at the first line.
    ///
    /// # Errors
    /// Those of reading.
    pub(crate) fn rewind(&mut self) -> Result<()> {
        self.has = false;
        self.lines.rewind()
    }

    /// Multiplies all weights from now on.
    pub(super) fn convert(&mut self, factor: Weight) {
        self.factor = Some(factor);
    }

    /// Promises not to begin again, which frees the lines of a pipe as they are read.
    pub(crate) fn read_once_more(&mut self) {
        if let Lines::Folded(lines) = &mut self.lines {
            lines.read_once_more();
        }
    }

    /// The next line as stack and weight, in whatever order; for those who add up themselves.
    ///
    /// # Errors
    /// Those of reading.
    pub(crate) fn next_line(&mut self) -> Result<Option<(&[u8], Weight)>> {
        self.advance()?;
        Ok(self.has.then_some((&self.stack, self.weight)))
    }

    /// Hands every line to `each`, block by block if there are blocks, and begins again.
    ///
    /// # Errors
    /// Those of reading and of `each`.
    pub(crate) fn for_each(&mut self, each: &mut dyn FnMut(Part<'_>) -> Result<()>) -> Result<()> {
        if let Lines::Kept(kept, _) = &self.lines
            && !kept.blocks.is_empty()
        {
            for block in &kept.blocks {
                let mut cursor = StackCursor::default();
                while let Some((line, _)) = block.next_line_like(&kept.names, &mut cursor, b"") {
                    let Some(parsed) = parse_line(line, Columns::One) else { continue };
                    let factor = self.factor.unwrap_or(Weight::ONE);
                    each(Part::Line(parsed.stack, parsed.weights.value.checked_mul(factor)?))?;
                }
                each(Part::BlockEnd)?;
            }
            return Ok(());
        }
        while let Some((stack, weight)) = self.next_line()? {
            each(Part::Line(stack, weight))?;
        }
        self.rewind()
    }

    /// Begins to give lines to be joined.
    pub(super) fn start(&mut self) -> Result<()> {
        self.read_once_more();
        self.advance()
    }

    /// The stack of the line that is next.
    #[inline]
    pub(super) fn peek(&self) -> Option<&[u8]> {
        self.has.then_some(&self.stack[..])
    }

    /// Takes the weight of all lines of the next stack, and goes to the stack behind it.
    #[inline]
    pub(super) fn take(&mut self) -> Result<Weight> {
        let mut sum = self.weight;
        loop {
            self.advance()?;
            if !self.repeats {
                return Ok(sum);
            }
            sum = sum.checked_add(self.weight)?;
        }
    }

    #[inline]
    fn advance(&mut self) -> Result<()> {
        while let Some((line, same)) = self.lines.next_line_like(&self.stack)? {
            if let Some(parsed) = parse_line(line, Columns::One) {
                let same = same.min(parsed.stack.len());
                self.repeats = self.has && same == parsed.stack.len() && same == self.stack.len();
                self.stack.truncate(same);
                self.stack.extend_from_slice(&parsed.stack[same..]);
                self.weight = match self.factor {
                    None => parsed.weights.value,
                    Some(factor) => parsed.weights.value.checked_mul(factor)?,
                };
                self.has = true;
                return Ok(());
            }
        }
        self.has = false;
        self.repeats = false;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn survey(text: &str) -> Survey {
        let recording = Recording::Folded(Source::bytes(text));
        Stacks::open(&recording).unwrap().survey(None, true).unwrap()
    }

    #[test]
    fn a_survey_tells_order_sample_weight_and_facts() {
        let survey = survey("# unit: ns\n# period: 1000 ns\na 4000\na;b 6000\nwhat\na b 2000\n");
        assert!(survey.in_order);
        assert_eq!((survey.total, survey.lines, survey.not_understood.count), (Weight::new(12_000), 3, 1));
        assert_eq!(survey.sample_weight.get(), Weight::new(2000));
        assert_eq!(
            (survey.facts.period, survey.facts.unit.as_deref()),
            (Some(Weight::new(1000)), Some("ns"))
        );
    }

    #[test]
    fn equal_neighbours_are_one_stack() {
        let recording = Recording::Folded(Source::bytes("a 1\na 2\n\na; 3\nb 4\n"));
        let mut stacks = Stacks::open(&recording).unwrap();
        assert!(stacks.survey(None, true).unwrap().in_order);
        stacks.start().unwrap();
        assert_eq!(stacks.peek(), Some(&b"a"[..]));
        assert_eq!(stacks.take().unwrap(), Weight::new(6));
        assert_eq!(stacks.peek(), Some(&b"b"[..]));
        assert_eq!(stacks.take().unwrap(), Weight::new(4));
        assert_eq!(stacks.peek(), None);
    }

    #[test]
    fn disorder_is_seen_wherever_it_is() {
        for (text, in_order) in [("a 1\na;b 1\na b 1\n", true), ("a b 1\na;b 1\n", false), ("", true)] {
            assert_eq!(survey(text).in_order, in_order, "{text:?}");
            let pipe = Source::reader("pipe", std::io::Cursor::new(text));
            let recording = Recording::Folded(pipe);
            let survey = Stacks::open(&recording).unwrap().survey(None, true).unwrap();
            assert_eq!(survey.in_order, in_order, "{text:?} from a pipe");
        }
    }

    #[test]
    fn a_side_has_one_weight_on_a_line() {
        let open = |text: &str| Stacks::open(&Recording::Folded(Source::bytes(text))).err();
        let workers: String = (0..9000).map(|n| format!("main;worker {n} 1\n")).collect();
        assert!(open(&format!("{workers}zebra 1\n")).is_none());
        let error = open(&workers).unwrap().to_string();
        assert!(error.starts_with("input: ") && error.contains("differential"), "{error}");
        let profile = Profile::from_lines(["a 1 2", "b 3 4"]).unwrap();
        assert!(Recording::of_profile(&profile).is_err());
    }
}
