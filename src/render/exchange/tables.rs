//! A profile in tables that name each other by number: texts, functions, mappings, locations, stacks, sets of
//! labels, and samples.
//!
//! Equal entries are one. Samples stand in the order in which they were read, or, where the recording was no
//! such file, in the order of their stacks.

use std::collections::HashMap;

use super::facts::{FRAMES_COMMENT, as_written, comments, nanos, value_type};
use super::samples::{Sample, Samples, Stacks};
use crate::error::{Error, Result};
use crate::folded::{Columns, Interner, Place, WalkSummary, Weights};
use crate::profile::Facts;
use crate::unique::Unique;
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
    pub(crate) texts: Interner,
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
    pub stacks: Stacks,
    pub labels: Unique<Vec<Label>>,
    pub samples: Samples,
}

impl Tables {
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
        let mut stack = Vec::new();
        for (frames, weights) in stacks {
            stack.clear();
            stack.extend(frames.iter().rev().map(|&name| locations[name as usize]));
            let sample = Sample { stack: tables.stacks.key(&stack), labels };
            let sample = tables.samples.key(sample);
            let before = (columns == Columns::Two).then_some(weights.before);
            for (column, value) in before.into_iter().chain([weights.value]).enumerate() {
                let value = value.checked_mul(factor)?;
                if value.decimals() > 0 {
                    let what =
                        format!("OTLP holds whole numbers of 64 bits, and {value} is not one; see --factor");
                    return Err(Error::setting(what));
                }
                tables.samples.add(sample, column, value)?;
            }
        }
        Ok(tables)
    }

    /// States facts, of samples of one type or, before and after, of two.
    pub(super) fn state(&mut self, facts: &Facts, columns: Columns) {
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
    pub(super) fn of_name(
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
}

/// Stacks of names as a walk tells them.
pub struct NamedStacks<'a> {
    pub(crate) names: &'a Interner,
    /// The numbers of names, leaf first, and the weights.
    pub stacks: &'a [(Vec<u32>, Weights)],
    pub columns: Columns,
    pub summary: &'a WalkSummary,
    /// Paths are shown without folders.
    pub private: bool,
    /// The caller has chosen the unit: it stays.
    pub is_scaled: bool,
}

/// A path as an output shows it: where it is private, without folders.
pub(super) fn shown_path(path: &[u8], private: bool) -> &[u8] {
    match private {
        true => path.rsplit(|b| matches!(b, b'/' | b'\\')).next().unwrap_or(path),
        false => path,
    }
}
