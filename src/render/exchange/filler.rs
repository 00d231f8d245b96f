//! Fills [`Tables`] from what a reader has put into an [`Exchange`] and a table of stacks.

use std::collections::HashMap;

use super::facts::as_written;
use super::samples::Sample;
use super::tables::{Function, Label, Labelled, Line, Location, Mapping, Tables, TextId, shown_path};
use crate::error::Result;
use crate::folded::{Columns, FrameId, StackTable, Weights};
use crate::profile::exchange::{self, Code, CodeKind, Exchange, LabelValue, Text};
use crate::profile::{Exchanged, Facts, Profile};
use crate::render::Settings;

impl Tables {
    /// The tables of a profile that is written whole; `None` if only its stacks, names and places are known, or not
    /// all of it is shown.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Overflow`].
    pub fn of(profile: &Profile, settings: &Settings) -> Result<Option<Tables>> {
        if !settings.shows_all() || profile.columns() == Columns::Two {
            return Ok(None);
        }
        let Some(exchanged) = profile.exchanged() else { return Ok(None) };
        if !exchanged.has_samples() && !exchanged.exchange.has_codes() {
            return Ok(None);
        }
        let recorded = Recorded { exchange: &exchanged.exchange, table: profile.stacks() };
        let mut filler = Filler::new(settings.private);
        match exchanged.has_samples() {
            true => filler.fill_samples(&recorded, exchanged)?,
            false => filler.fill_stacks(&recorded, profile)?,
        }
        Ok(Some(filler.finish(profile.facts())))
    }
}

/// The parts of a recording that tables are filled from.
pub(super) struct Recorded<'p> {
    pub exchange: &'p Exchange,
    /// The names and places of frames.
    pub table: &'p StackTable,
}

/// Fills tables.
pub(super) struct Filler {
    pub(super) tables: Tables,
    /// Paths are shown without folders, and labels and comments left out.
    private: bool,
    /// The mappings in the tables of those of the exchange.
    mappings: Vec<u32>,
    /// The mappings of frames of which only the module is known, by name.
    modules: HashMap<TextId, u32>,
    /// The sets of labels in the tables, by the numbers of those of the exchange.
    label_sets: HashMap<u32, u32>,
    frames: Frames,
    /// The stack being made: the numbers of its locations, leaf first.
    locations: Vec<u32>,
}

impl Filler {
    pub(super) fn new(private: bool) -> Filler {
        let mut tables = Tables::default();
        tables.texts.key(b"");
        Filler {
            tables,
            private,
            mappings: Vec::new(),
            modules: HashMap::new(),
            label_sets: HashMap::new(),
            frames: Frames::default(),
            locations: Vec::new(),
        }
    }

    /// The tables, of a recording with these facts.
    pub(super) fn finish(self, facts: &Facts) -> Tables {
        let mut tables = self.tables;
        tables.producer = facts.producer.clone().unwrap_or_default();
        tables
    }

    fn text(&mut self, recorded: &Recorded<'_>, text: Text) -> TextId {
        self.tables.texts.key(recorded.exchange.text_of(text))
    }

    fn path(&mut self, recorded: &Recorded<'_>, text: Text) -> TextId {
        let path = recorded.exchange.text_of(text);
        self.tables.texts.key(shown_path(path, self.private))
    }

    /// Adds the mappings that are new.
    fn fill_mappings(&mut self, recorded: &Recorded<'_>) {
        for mapping in &recorded.exchange.mappings[self.mappings.len()..] {
            let exchange::Mapping { start, limit, offset, file, build_id, has } = *mapping;
            let (file, build_id) = (self.path(recorded, file), self.text(recorded, build_id));
            self.mappings.push(self.tables.mappings.len() as u32);
            self.tables.mappings.push(Mapping { start, limit, offset, file, build_id, has });
        }
    }

    /// States the types, mappings and facts that the exchange has so far.
    pub(super) fn fill_head(&mut self, recorded: &Recorded<'_>) {
        self.fill_mappings(recorded);
        let head = &recorded.exchange.head;
        self.tables.types = recorded
            .exchange
            .types
            .iter()
            .map(|&(kind, unit)| (self.text(recorded, kind), self.text(recorded, unit)))
            .collect();
        self.tables.default_type = self.text(recorded, head.default_type);
        let (kind, unit) = head.period_type;
        self.tables.period_type = (self.text(recorded, kind), self.text(recorded, unit));
        (self.tables.period, self.tables.start, self.tables.duration) =
            (head.period, head.start, head.duration);
        self.tables.drop_frames = self.text(recorded, head.drop_frames);
        self.tables.keep_frames = self.text(recorded, head.keep_frames);
        self.tables.doc_url = self.text(recorded, head.doc_url);
        if !self.private {
            self.tables.comments =
                head.comments.iter().map(|&comment| self.text(recorded, comment)).collect();
        }
    }

    /// Samples as they were read.
    pub(super) fn fill_samples(&mut self, recorded: &Recorded<'_>, exchanged: &Exchanged) -> Result<()> {
        self.fill_head(recorded);
        let mut stacks: Vec<Option<u32>> = vec![None; recorded.table.len()];
        for sample in exchanged.samples() {
            let at = sample.stack as usize;
            let stack = match stacks[at] {
                Some(known) => known,
                None => *stacks[at].insert(self.stack(recorded, recorded.table.stack(at))),
            };
            let labels = self.label_set(recorded, exchanged.label_number(sample));
            let number = self.tables.samples.key(Sample { stack, labels });
            exchanged.values(sample, |column, value| self.tables.samples.add(number, column, value))?;
        }
        Ok(())
    }

    /// A sample that was read just now; [`Filler::fill_head`] has seen the types of its input.
    pub(super) fn sample(
        &mut self,
        recorded: &Recorded<'_>,
        stack: &[FrameId],
        labels: u32,
        values: &[i64],
    ) -> Result<()> {
        let stack = self.stack(recorded, stack);
        let labels = self.label_set(recorded, labels);
        let number = self.tables.samples.key(Sample { stack, labels });
        recorded.exchange.each_value(values, |column, value| self.tables.samples.add(number, column, value))
    }

    /// Stacks and their weights, of a recording that has no samples of this kind.
    pub(super) fn fill_stacks(&mut self, recorded: &Recorded<'_>, profile: &Profile) -> Result<()> {
        self.fill_mappings(recorded);
        let facts = if self.private { profile.facts().private() } else { profile.facts().clone() };
        let (facts, factor) = as_written(facts, false)?;
        self.tables.state(&facts, Columns::One);
        let labels = self.labels(recorded, &[]);
        let table = recorded.table;
        let ranks = table.ranks();
        let mut stacks: Vec<(usize, (&[FrameId], Weights))> = table.stacks().enumerate().collect();
        // Stacks of the same names differ in their places.
        let places = |stack: &'_ [FrameId]| stack.iter().map(|&id| table.place(id)).collect::<Vec<_>>();
        stacks.sort_by(|(a, (left, _)), (b, (right, _))| {
            ranks[*a].cmp(&ranks[*b]).then_with(|| places(left).cmp(&places(right)))
        });
        for (_, (stack, weights)) in stacks {
            let stack = self.stack(recorded, stack);
            let number = self.tables.samples.key(Sample { stack, labels });
            self.tables.samples.add(number, 0, weights.value.checked_mul(factor)?)?;
        }
        Ok(())
    }

    /// The number of the set of labels that has this number in the exchange.
    fn label_set(&mut self, recorded: &Recorded<'_>, number: u32) -> u32 {
        if let Some(&known) = self.label_sets.get(&number) {
            return known;
        }
        let labels = self.labels(recorded, recorded.exchange.labels_of(number));
        self.label_sets.insert(number, labels);
        labels
    }

    fn labels(&mut self, recorded: &Recorded<'_>, labels: &[exchange::Label]) -> u32 {
        // They may name users and machines.
        let labels = if self.private { &[] } else { labels };
        let each = |label: &exchange::Label| {
            let value = match label.value {
                LabelValue::Text(text) => Labelled::Text(self.text(recorded, text)),
                LabelValue::Number(number, unit) => Labelled::Number(number, self.text(recorded, unit)),
            };
            Label { key: self.text(recorded, label.key), value }
        };
        let labels = labels.iter().map(each).collect();
        self.tables.labels.key(labels)
    }

    /// The number of a stack, whose frames stand root first.
    fn stack(&mut self, recorded: &Recorded<'_>, stack: &[FrameId]) -> u32 {
        self.locations.clear();
        // Frames of one location stand together: what was inlined, and the function it was inlined into.
        let mut rest = stack;
        while let Some(&leaf) = rest.last() {
            let mut known = self.frames.get(leaf, recorded);
            let mut begin = rest.len() - 1;
            while let Some(&caller) = rest[..begin].last() {
                let next = self.frames.get(caller, recorded);
                if !(known.has_code && next.has_code && next.location == known.location && next.at > known.at)
                {
                    break;
                }
                (known, begin) = (next, begin - 1);
            }
            let location = self.location(recorded, &rest[begin..]);
            self.locations.extend(location);
            rest = &rest[..begin];
        }
        self.locations.reverse();
        self.tables.stacks.key(&self.locations)
    }

    /// The number of the location of frames that stand together, root first; `None` for the frame of samples
    /// without a stack.
    fn location(&mut self, recorded: &Recorded<'_>, frames: &[FrameId]) -> Option<u32> {
        let known = match frames {
            [frame] => self.frames.get(*frame, recorded).alone,
            frames => self.frames.together.get(frames).copied(),
        };
        if let Some(known) = known {
            return known;
        }
        let location = self.new_location(recorded, frames);
        match frames {
            [frame] => self.frames.known(*frame).alone = Some(location),
            frames => _ = self.frames.together.insert(frames.into(), location),
        }
        location
    }

    fn new_location(&mut self, recorded: &Recorded<'_>, frames: &[FrameId]) -> Option<u32> {
        let leaf = *frames.last()?;
        let code = |frame: FrameId| recorded.exchange.code_of(recorded.table.place(frame).code).copied();
        let Some(of_leaf) = code(leaf) else {
            let (name, place) = (recorded.table.name(leaf), recorded.table.place(leaf));
            return Some(self.tables.of_name(name, place, self.private, &mut self.modules));
        };
        if of_leaf.kind == CodeKind::NoStack {
            return None;
        }
        let exchange::Location { mapping, address, is_folded } =
            recorded.exchange.locations[of_leaf.location as usize];
        let mapping = mapping.map(|mapping| self.mappings[mapping as usize]);
        let lines =
            frames.iter().rev().filter_map(|&frame| self.line(recorded, frame, &code(frame)?)).collect();
        Some(self.tables.locations.key(Location { mapping, address, is_folded, lines }))
    }

    /// The line of a frame in its location, unless it has none.
    fn line(&mut self, recorded: &Recorded<'_>, frame: FrameId, code: &Code) -> Option<Line> {
        let name = recorded.table.name(frame);
        let is_renamed = name != recorded.exchange.text_of(code.shown);
        let (function, line, column) = match code.kind {
            CodeKind::Line { function, line, column } => (function, line, column),
            _ if is_renamed => (None, 0, 0),
            _ => return None,
        };
        let function = match function {
            Some(function) => {
                let (file, start_line) = (self.path(recorded, function.file), function.start_line);
                // A name that was changed for a reason must not come back by the other.
                let (name, system_name) = match is_renamed {
                    true => {
                        let name = self.tables.texts.key(name);
                        (name, name)
                    }
                    false => (self.text(recorded, function.name), self.text(recorded, function.system_name)),
                };
                Some(Function { name, system_name, file, start_line })
            }
            None if is_renamed => {
                let name = self.tables.texts.key(name);
                Some(Function { name, system_name: name, ..Function::default() })
            }
            None => None,
        };
        Some(Line { function: function.map(|function| self.tables.functions.key(function)), line, column })
    }
}

/// The knowledge of frames, each found out once.
#[derive(Default)]
struct Frames {
    plain: Vec<Option<KnownFrame>>,
    /// Frames with a place have numbers of their own.
    placed: Vec<Option<KnownFrame>>,
    /// The locations of frames that stand together.
    together: HashMap<Box<[FrameId]>, Option<u32>>,
}

/// A frame's line of code.
#[derive(Clone, Copy)]
struct KnownFrame {
    /// It has a line of code, and is not the frame of samples without a stack.
    has_code: bool,
    /// The location in the exchange, and the number of the line in it.
    location: u32,
    at: u32,
    /// The location in the tables where the frame stands alone, once it is known.
    alone: Option<Option<u32>>,
}

impl Frames {
    fn slot(&mut self, frame: FrameId) -> &mut Option<KnownFrame> {
        let (all, index) = match frame.placed() {
            Some(index) => (&mut self.placed, index),
            None => (&mut self.plain, frame.0 as usize),
        };
        if all.len() <= index {
            all.resize(index + 1, None);
        }
        &mut all[index]
    }

    #[inline]
    fn get(&mut self, frame: FrameId, recorded: &Recorded<'_>) -> KnownFrame {
        *self.slot(frame).get_or_insert_with(|| {
            let code = recorded.exchange.code_of(recorded.table.place(frame).code);
            match code.filter(|code| code.kind != CodeKind::NoStack) {
                Some(&Code { location, at, .. }) => KnownFrame { has_code: true, location, at, alone: None },
                None => KnownFrame { has_code: false, location: 0, at: 0, alone: None },
            }
        })
    }

    fn known(&mut self, frame: FrameId) -> &mut KnownFrame {
        self.slot(frame).as_mut().expect("a frame is asked for before its location is kept")
    }
}
