//! A profile in tables that name each other by number: texts, functions, mappings, locations, stacks, sets of
//! labels, and samples.
//!
//! Equal entries are one. Samples stand in the order in which they were read, or, where the recording was no
//! such file, in the order of their stacks.

use std::collections::HashMap;

use super::facts::{FRAMES_COMMENT, as_written, comments, nanos, value_type};
use super::rounding::Rounding;
use crate::error::{ErrorKind, Result};
use crate::folded::{Columns, FrameId, Interner, Place, StackTable, WalkSummary, Weights};
use crate::profile::exchange::{Code, CodeKind, Exchange, LabelValue, Text};
use crate::profile::{Exchanged, Facts, Profile};
use crate::unique::Unique;
use crate::weight::Weight;
use std::time::SystemTime;

/// The number of a text in [`Tables`]; 0 is the empty one.
pub type TextId = u32;

/// A function.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Function {
    pub name: TextId,
    pub system_name: TextId,
    pub file: TextId,
    pub start_line: i64,
}

/// A part of a process's memory, and the file in it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Mapping {
    pub start: u64,
    pub limit: u64,
    pub offset: u64,
    pub file: TextId,
    pub build_id: TextId,
    /// Functions, files, lines and inlined frames are known: bits 0 to 3.
    pub has: u8,
}

/// A place in code.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Location {
    /// The number of the mapping.
    pub mapping: Option<u32>,
    pub address: u64,
    pub is_folded: bool,
    /// The innermost first.
    pub lines: Vec<Line>,
}

/// A function in a location.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Line {
    /// The number of the function.
    pub function: Option<u32>,
    pub line: i64,
    pub column: i64,
}

/// A label of a sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Label {
    pub key: TextId,
    pub value: Labelled,
}

/// The value of a label.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Labelled {
    Text(TextId),
    /// A number and its unit.
    Number(i64, TextId),
}

/// A profile in tables.
#[derive(Default)]
pub struct Tables {
    pub texts: Interner,
    pub types: Vec<(TextId, TextId)>,
    pub default_type: TextId,
    pub period_type: (TextId, TextId),
    pub period: i64,
    /// Nanoseconds since 1970; 0 is unknown.
    pub start: i64,
    /// Nanoseconds; 0 is unknown.
    pub duration: i64,
    pub drop_frames: TextId,
    pub keep_frames: TextId,
    pub doc_url: TextId,
    pub comments: Vec<TextId>,
    /// The program that recorded, and its version.
    pub producer: String,
    pub mappings: Vec<Mapping>,
    pub functions: Unique<Function>,
    pub locations: Unique<Location>,
    /// The numbers of the locations of each stack, leaf first.
    pub stacks: Unique<Vec<u32>>,
    pub labels: Unique<Vec<Label>>,
    /// The numbers of the stack and the labels of each sample.
    pub samples: Unique<(u32, u32)>,
    /// The values of each sample, one for each type.
    values: Vec<Weight>,
}

impl Tables {
    /// The tables of a profile; `None` if only its stacks, names and places are known.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Overflow`].
    pub fn of(profile: &Profile, private: bool) -> Result<Option<Tables>> {
        let Some(exchanged) = profile.exchanged() else { return Ok(None) };
        if !exchanged.has_samples() && !exchanged.exchange.has_codes() {
            return Ok(None);
        }
        let mut tables = Tables::default();
        tables.texts.key(b"");
        let mut filler = Filler {
            exchange: &exchanged.exchange,
            table: profile.stacks(),
            mappings: HashMap::new(),
            private,
            tables,
        };
        filler.tables.producer = profile.facts().producer.clone().unwrap_or_default();
        filler.fill_mappings();
        match exchanged.has_samples() {
            true => filler.fill_samples(exchanged)?,
            false => filler.fill_stacks(profile)?,
        }
        Ok(Some(filler.tables))
    }

    /// The tables of stacks of names.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Setting`] for a weight that is not whole.
    pub fn of_names(known: &NamedStacks<'_>) -> Result<Tables> {
        let NamedStacks { names, stacks, columns, summary, private, is_scaled } = *known;
        let (facts, factor) = as_written(summary.facts.clone(), is_scaled)?;
        let mut tables = Tables::default();
        tables.texts.key(b"");
        tables.producer = facts.producer.clone().unwrap_or_default();
        tables.state(&facts, columns);
        let mut modules = HashMap::new();
        let places = &summary.places;
        let locations: Vec<u32> = names
            .all()
            .map(|name| tables.of_name(name, places.get(name).unwrap_or_default(), private, &mut modules))
            .collect();
        let labels = tables.labels.key(Vec::new());
        for (frames, weights) in stacks {
            let stack = frames.iter().map(|&name| locations[name as usize]).collect();
            let stack = tables.stacks.key(stack);
            let before = (columns == Columns::Two).then_some(weights.before);
            for (column, value) in before.into_iter().chain([weights.value]).enumerate() {
                let value = value.checked_mul(factor)?;
                if value.decimals() > 0 {
                    let what =
                        format!("OTLP holds whole numbers of 64 bits, and {value} is not one; see --factor");
                    return Err(ErrorKind::Setting { what }.into());
                }
                tables.add(stack, labels, column, value)?;
            }
        }
        Ok(tables)
    }

    /// States facts, of samples of one type or, before and after, of two.
    fn state(&mut self, facts: &Facts, columns: Columns) {
        let (name, unit) = value_type(facts);
        let kind = (self.text(name.as_bytes()), self.text(unit.as_bytes()));
        self.types = match columns {
            Columns::One => vec![kind],
            Columns::Two => vec![(self.text(b"before"), kind.1), (self.text(b"after"), kind.1)],
        };
        if columns == Columns::Two {
            self.default_type = self.text(b"after");
        }
        if let Some(period) = facts.period.and_then(|period| period.in_steps(0).ok()) {
            self.period = i64::try_from(period).unwrap_or(0);
            self.period_type = kind;
        }
        let start = facts.start.and_then(|start| start.duration_since(SystemTime::UNIX_EPOCH).ok());
        self.start = start.and_then(nanos).unwrap_or(0) as i64;
        self.duration = facts.duration.and_then(nanos).unwrap_or(0) as i64;
        let comments = [FRAMES_COMMENT.to_owned()].into_iter().chain(comments(facts));
        self.comments = comments.map(|comment| self.texts.key(comment.as_bytes())).collect();
    }

    /// The number of the location of a frame of which the name and the place are known; `modules` are the
    /// mappings of such frames so far.
    fn of_name(
        &mut self,
        name: &[u8],
        place: Place<'_>,
        private: bool,
        modules: &mut HashMap<TextId, u32>,
    ) -> u32 {
        let name = self.text(name);
        let file = self.text(shown_path(place.file, private));
        let function = Function { name, system_name: 0, file, start_line: place.start_line.into() };
        let function = Some(self.functions.key(function));
        let module = self.text(shown_path(place.module, private));
        let mapping = (module != 0).then(|| match modules.get(&module) {
            Some(&known) => known,
            None => {
                // It has functions, file names and line numbers: pprof need not look for them.
                self.mappings.push(Mapping { file: module, has: 0b0111, ..Mapping::default() });
                let number = (self.mappings.len() - 1) as u32;
                modules.insert(module, number);
                number
            }
        });
        let lines = vec![Line { function, line: place.line.into(), column: 0 }];
        self.locations.key(Location { mapping, lines, ..Location::default() })
    }

    /// The number of a text.
    pub fn text(&mut self, text: &[u8]) -> TextId {
        self.texts.key(text)
    }

    /// Adds to the values of a sample.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Overflow`].
    pub fn add(&mut self, stack: u32, labels: u32, column: usize, value: Weight) -> Result<()> {
        let types = self.types.len();
        let sample = self.samples.key((stack, labels)) as usize;
        self.values.resize(self.samples.all().len() * types, Weight::ZERO);
        let sum = &mut self.values[sample * types + column];
        *sum = sum.checked_add(value)?;
        Ok(())
    }

    /// The values of all samples as whole numbers, sample by sample.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Setting`] for a value that does not fit 64 bits.
    pub fn whole_values(&self) -> Result<Vec<i64>> {
        let types = self.types.len().max(1);
        let mut roundings = vec![Rounding::default(); types];
        self.values.iter().enumerate().map(|(at, &value)| roundings[at % types].whole(value)).collect()
    }
}

/// Stacks of names as a walk tells them.
pub struct NamedStacks<'a> {
    pub names: &'a Interner,
    /// The numbers of names, leaf first, and the weights.
    pub stacks: &'a [(Vec<u32>, Weights)],
    pub columns: Columns,
    pub summary: &'a WalkSummary,
    /// Paths are shown without folders.
    pub private: bool,
    /// The caller has chosen the unit: it stays.
    pub is_scaled: bool,
}

/// Fills the tables from a profile.
struct Filler<'p> {
    exchange: &'p Exchange,
    table: &'p StackTable,
    /// The mappings of frames of which only the module is known, by name.
    mappings: HashMap<TextId, u32>,
    private: bool,
    tables: Tables,
}

impl Filler<'_> {
    fn text(&mut self, text: Text) -> TextId {
        self.tables.texts.key(self.exchange.text_of(text))
    }

    fn path(&mut self, text: Text) -> TextId {
        let path = self.exchange.text_of(text);
        self.tables.texts.key(shown_path(path, self.private))
    }

    fn fill_mappings(&mut self) {
        for mapping in &self.exchange.mappings {
            let crate::profile::exchange::Mapping { start, limit, offset, file, build_id, has } = *mapping;
            let (file, build_id) = (self.path(file), self.text(build_id));
            self.tables.mappings.push(Mapping { start, limit, offset, file, build_id, has });
        }
    }

    /// Samples as they were read.
    fn fill_samples(&mut self, exchanged: &Exchanged) -> Result<()> {
        let head = &self.exchange.head;
        self.tables.types =
            self.exchange.types.iter().map(|&(kind, unit)| (self.text(kind), self.text(unit))).collect();
        self.tables.default_type = self.text(head.default_type);
        self.tables.period_type = (self.text(head.period_type.0), self.text(head.period_type.1));
        (self.tables.period, self.tables.start, self.tables.duration) =
            (head.period, head.start, head.duration);
        self.tables.drop_frames = self.text(head.drop_frames);
        self.tables.keep_frames = self.text(head.keep_frames);
        self.tables.doc_url = self.text(head.doc_url);
        if !self.private {
            self.tables.comments = head.comments.iter().map(|&comment| self.text(comment)).collect();
        }
        let mut stacks: HashMap<u32, u32> = HashMap::new();
        let mut label_sets: HashMap<u32, u32> = HashMap::new();
        for sample in exchanged.samples() {
            let stack = match stacks.get(&sample.stack) {
                Some(&known) => known,
                None => {
                    let stack = self.stack(self.table.stack(sample.stack as usize));
                    stacks.insert(sample.stack, stack);
                    stack
                }
            };
            let number = exchanged.label_number(sample);
            let labels = match label_sets.get(&number) {
                Some(&known) => known,
                None => {
                    let labels = self.labels(exchanged.labels(sample));
                    label_sets.insert(number, labels);
                    labels
                }
            };
            exchanged.values(sample, |column, value| self.tables.add(stack, labels, column, value))?;
        }
        Ok(())
    }

    /// Stacks and their weights, of a recording that has no samples of this kind.
    fn fill_stacks(&mut self, profile: &Profile) -> Result<()> {
        let facts = if self.private { profile.facts().private() } else { profile.facts().clone() };
        let (facts, factor) = as_written(facts, false)?;
        self.tables.state(&facts, Columns::One);
        let labels = self.labels(&[]);
        let ranks = self.table.ranks();
        let mut stacks: Vec<(usize, (&[FrameId], Weights))> = self.table.stacks().enumerate().collect();
        // Stacks of the same names differ in their places.
        let places = |stack: &'_ [FrameId]| stack.iter().map(|&id| self.table.place(id)).collect::<Vec<_>>();
        stacks.sort_by(|(a, (left, _)), (b, (right, _))| {
            ranks[*a].cmp(&ranks[*b]).then_with(|| places(left).cmp(&places(right)))
        });
        for (_, (stack, weights)) in stacks {
            let stack = self.stack(stack);
            self.tables.add(stack, labels, 0, weights.value.checked_mul(factor)?)?;
        }
        Ok(())
    }

    fn labels(&mut self, labels: &[crate::profile::exchange::Label]) -> u32 {
        // They may name users and machines.
        let labels = if self.private { &[] } else { labels };
        let each = |label: &crate::profile::exchange::Label| {
            let value = match label.value {
                LabelValue::Text(text) => Labelled::Text(self.text(text)),
                LabelValue::Number(number, unit) => Labelled::Number(number, self.text(unit)),
            };
            Label { key: self.text(label.key), value }
        };
        let labels = labels.iter().map(each).collect();
        self.tables.labels.key(labels)
    }

    /// The number of a stack, whose frames stand root first.
    fn stack(&mut self, stack: &[FrameId]) -> u32 {
        let locations = self.locations(stack);
        self.tables.stacks.key(locations)
    }

    /// The numbers of the locations of a stack, leaf first.
    fn locations(&mut self, stack: &[FrameId]) -> Vec<u32> {
        let mut locations: Vec<u32> = Vec::with_capacity(stack.len());
        // The location being put together, and the last line that was found of it.
        let mut open: Option<(Location, Code)> = None;
        for &frame in stack.iter().rev() {
            let code = self.exchange.code_of(self.table.place(frame).code).copied();
            if let (Some((location, last)), Some(code)) = (&mut open, code)
                && (code.location, code.kind != CodeKind::NoStack) == (last.location, true)
                && code.at > last.at
            {
                location.lines.extend(self.line(frame, &code));
                *last = code;
                continue;
            }
            locations.extend(open.take().map(|(location, _)| self.tables.locations.key(location)));
            match code {
                Some(code) if code.kind == CodeKind::NoStack => {}
                Some(code) => {
                    let known = self.exchange.locations[code.location as usize];
                    let lines = self.line(frame, &code).into_iter().collect();
                    let (mapping, address, is_folded) = (known.mapping, known.address, known.is_folded);
                    open = Some((Location { mapping, address, is_folded, lines }, code));
                }
                None => {
                    let (name, place) = (self.table.name(frame), self.table.place(frame));
                    locations.push(self.tables.of_name(name, place, self.private, &mut self.mappings));
                }
            }
        }
        locations.extend(open.map(|(location, _)| self.tables.locations.key(location)));
        locations
    }

    /// The line of a frame in its location, unless it has none.
    fn line(&mut self, frame: FrameId, code: &Code) -> Option<Line> {
        let is_renamed = self.table.name(frame) != self.exchange.text_of(code.shown);
        let (function, line, column) = match code.kind {
            CodeKind::Line { function, line, column } => (function, line, column),
            _ if is_renamed => (None, 0, 0),
            _ => return None,
        };
        let function = match function {
            Some(function) => {
                let (file, start_line) = (self.path(function.file), function.start_line);
                // A name that was changed for a reason must not come back by the other.
                let (name, system_name) = match is_renamed {
                    true => {
                        let name = self.tables.texts.key(self.table.name(frame));
                        (name, name)
                    }
                    false => (self.text(function.name), self.text(function.system_name)),
                };
                Some(Function { name, system_name, file, start_line })
            }
            None if is_renamed => {
                let name = self.tables.texts.key(self.table.name(frame));
                Some(Function { name, system_name: name, ..Function::default() })
            }
            None => None,
        };
        Some(Line { function: function.map(|function| self.tables.functions.key(function)), line, column })
    }
}

/// A path as an output shows it: where it is private, without folders.
fn shown_path(path: &[u8], private: bool) -> &[u8] {
    match private {
        true => path.rsplit(|b| matches!(b, b'/' | b'\\')).next().unwrap_or(path),
        false => path,
    }
}
