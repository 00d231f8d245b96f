//! `pprof`: a gzipped profile.proto, which `go tool pprof` and many services read.
//!
//! The eight messages are specified in github.com/google/pprof, `proto/profile.proto`; a writer of
//! those that are needed is shorter than what a generator would make of them. Fields may come in
//! any order: samples are written as they come, functions and texts in the end, so that memory
//! holds each name once. A name is one function with one location, with its file, line and module
//! where they are known. Values are whole numbers of 64 bits: fractions are refused.
//!
//! Differential input has two sample types, `before` and `after`, the latter shown by default.

use std::io::Write;
use std::time::SystemTime;

use flate2::{Compression, write::GzEncoder};

use super::exchange::encoding::{bytes, number_field};
use super::exchange::facts::{FRAMES_COMMENT, as_written, comments, nanos, value_type};
use super::exchange::pprof::field;
use super::exchange::{self, Tables};
use super::format::takes;
use super::path::Path;
use super::shown_places::ShownPlaces;
use super::writer::{Finished, Target, Writer};
use super::{Format, Settings};
use crate::bytes::push_varint;
use crate::error::{Error, Result};
use crate::folded::{Columns, Frame, Interner, Known, Visitor, WalkSummary, Weights};
use crate::profile::Profile;
use crate::weight::Weight;

/// The format.
pub const FORMAT: Format = Format {
    name: "pprof",
    endings: &["pb.gz", "pprof"],
    about: "for go tool pprof, and what else reads profile.proto",
    takes: &[takes::UNIT],
    streams: true,
    open: |settings, target| Ok(Box::new(Pprof::new(settings, target))),
};

/// The number of compressed bytes from which on they are handed on.
const FULL: usize = 64 * 1024;

struct Pprof<'a> {
    settings: &'a Settings,
    target: &'a mut dyn Target,
    gzip: GzEncoder<Vec<u8>>,
    columns: Columns,
    /// The number that weights are multiplied by: fractions of a second become whole nanoseconds.
    factor: Weight,
    /// The texts that are no names; they come first.
    texts: Vec<String>,
    path: Path,
    message: Vec<u8>,
    part: Vec<u8>,
    /// Everything, where the profile holds more than stacks of names.
    tables: Option<Tables>,
}

impl<'a> Pprof<'a> {
    fn new(settings: &'a Settings, target: &'a mut dyn Target) -> Self {
        Pprof {
            settings,
            target,
            gzip: gzip(),
            columns: Columns::One,
            factor: Weight::ONE,
            texts: Vec::new(),
            path: Path::default(),
            message: Vec::new(),
            part: Vec::new(),
            tables: None,
        }
    }

    /// Writes the message, and forgets it.
    fn write(&mut self, field: u64) -> Result<()> {
        self.part.clear();
        bytes(field, &self.message, &mut self.part);
        self.gzip.write_all(&self.part)?;
        self.message.clear();
        flush(&mut self.gzip, self.target)
    }

    fn text(&mut self, text: &str) -> u64 {
        let known = self.texts.iter().position(|known| known == text);
        known.unwrap_or_else(|| {
            self.texts.push(text.to_owned());
            self.texts.len() - 1
        }) as u64
    }

    /// A value as the format holds it.
    fn value(&self, weight: Weight) -> Result<u64> {
        let shown = self.settings.shown(weight)?.checked_mul(self.factor)?;
        match shown.in_steps(0).ok().and_then(|whole| i64::try_from(whole).ok()) {
            Some(whole) => Ok(whole as u64),
            None => {
                let what =
                    format!("pprof holds whole numbers of 64 bits, and {shown} is not one; see --factor");
                Err(Error::setting(what))
            }
        }
    }
}

/// Writes what was compressed, once it is much.
fn flush(gzip: &mut GzEncoder<Vec<u8>>, target: &mut dyn Target) -> Result<()> {
    if gzip.get_ref().len() >= FULL {
        target.write_all(gzip.get_ref())?;
        gzip.get_mut().clear();
    }
    Ok(())
}

fn gzip() -> GzEncoder<Vec<u8>> {
    GzEncoder::new(Vec::with_capacity(2 * FULL), Compression::fast())
}

impl Visitor for Pprof<'_> {
    fn follows_stacks(&self) -> bool {
        self.tables.is_none()
    }

    fn begin(&mut self, known: &Known<'_>) -> Result<()> {
        if self.tables.is_some() {
            return Ok(());
        }
        self.columns = known.columns;
        // The first text has to be empty.
        self.text("");
        self.text(FRAMES_COMMENT);
        let (facts, factor) = as_written(known.facts.clone(), self.settings.is_scaled())?;
        self.factor = factor;
        let (kind, unit) = value_type(&facts);
        let kinds = if known.columns == Columns::Two { vec!["before", "after"] } else { vec![kind] };
        for kind in &kinds {
            let (kind, unit) = (self.text(kind), self.text(unit));
            number_field(1, kind, &mut self.message);
            number_field(2, unit, &mut self.message);
            self.write(field::SAMPLE_TYPE)?;
        }
        Ok(())
    }

    fn enter(&mut self, name: &[u8], _: usize) -> Result<()> {
        if self.tables.is_some() {
            return Ok(());
        }
        self.path.enter(name);
        Ok(())
    }

    fn stack(&mut self, _: &[u8], weights: Weights) -> Result<()> {
        if self.tables.is_some() {
            return Ok(());
        }
        self.part.clear();
        for &frame in self.path.open.iter().rev() {
            push_varint(u64::from(frame) + 1, &mut self.part);
        }
        bytes(1, &self.part, &mut self.message);
        let value = self.value(weights.value)?;
        let before = if self.columns == Columns::Two { Some(self.value(weights.before)?) } else { None };
        self.part.clear();
        before.into_iter().chain([value]).for_each(|value| push_varint(value, &mut self.part));
        bytes(2, &self.part, &mut self.message);
        self.write(field::SAMPLE)
    }

    fn exit(&mut self, _: Frame<'_>, _: Weights) -> Result<()> {
        if self.tables.is_some() {
            return Ok(());
        }
        self.path.exit();
        Ok(())
    }

    fn restart(&mut self) -> Result<()> {
        self.target.start_over()?;
        (self.gzip, self.path) = (gzip(), Path::default());
        self.texts.clear();
        self.message.clear();
        Ok(())
    }
}

impl Writer for Pprof<'_> {
    fn take(&mut self, profile: &Profile) -> Result<bool> {
        self.tables = Tables::of(profile, self.settings)?;
        Ok(self.tables.is_some())
    }

    fn take_tables(&mut self, tables: Tables) {
        self.tables = Some(tables);
    }

    fn finish(mut self: Box<Self>, summary: &WalkSummary) -> Result<Finished> {
        match self.tables.take() {
            Some(mut tables) => {
                let Pprof { target, gzip, .. } = &mut *self;
                exchange::pprof::write(&mut tables, gzip, &mut |gzip| flush(gzip, *target))?;
            }
            None => self.write_walked(summary)?,
        }
        let Pprof { target, gzip, .. } = *self;
        target.write_all(&gzip.finish()?)?;
        Ok(Finished::default())
    }
}

impl Pprof<'_> {
    /// Writes what follows the samples.
    fn write_walked(&mut self, summary: &WalkSummary) -> Result<()> {
        let path = std::mem::take(&mut self.path);
        let (facts, _) = as_written(summary.facts.clone(), self.settings.is_scaled())?;
        let comments: Vec<u64> = [FRAMES_COMMENT.to_owned()]
            .into_iter()
            .chain(comments(&facts))
            .map(|text| self.text(&text))
            .collect();
        let (kind, unit) = value_type(&facts);
        let period_type = (self.text(kind), self.text(unit));
        self.write_places(&path, &ShownPlaces::new(self.settings, &summary.places))?;
        let mut last = Vec::new();
        comments.iter().for_each(|comment| number_field(field::COMMENT, *comment, &mut last));
        let start = facts.start.and_then(|start| start.duration_since(SystemTime::UNIX_EPOCH).ok());
        for (field, duration) in [(field::TIME_NANOS, start), (field::DURATION_NANOS, facts.duration)] {
            if let Some(nanos) = duration.and_then(nanos) {
                number_field(field, nanos, &mut last);
            }
        }
        let period = facts.period.and_then(|period| period.in_steps(0).ok());
        if let Some(period) = period.and_then(|period| i64::try_from(period).ok()) {
            number_field(1, period_type.0, &mut self.message);
            number_field(2, period_type.1, &mut self.message);
            self.write(field::PERIOD_TYPE)?;
            number_field(field::PERIOD, period as u64, &mut last);
        }
        if self.columns == Columns::Two {
            number_field(field::DEFAULT_SAMPLE_TYPE, self.text("after"), &mut last);
        }
        Ok(self.gzip.write_all(&last)?)
    }

    /// Writes a location and a function for each name, their mappings, and all texts.
    fn write_places(&mut self, path: &Path, places: &ShownPlaces<'_>) -> Result<()> {
        // The texts are those known so far, the names, and the files and modules of places.
        let first_name = self.texts.len() as u64;
        let first_text = first_name + path.names.len() as u64;
        let mut texts = Interner::default();
        let mut modules = Interner::default();
        let mut text =
            |text: &[u8]| if text.is_empty() { 0 } else { first_text + u64::from(texts.key(text)) };
        for (key, name) in (0..).zip(path.names.all()) {
            let place = places.get(name).unwrap_or_default();
            if !place.module.is_empty() {
                let known = modules.len();
                let mapping = u64::from(modules.key(place.module)) + 1;
                if modules.len() > known {
                    number_field(1, mapping, &mut self.message);
                    number_field(5, text(place.module), &mut self.message);
                    // It has functions, file names and line numbers: pprof need not look for them.
                    (7..=9).for_each(|flag| number_field(flag, 1, &mut self.message));
                    self.write(field::MAPPING)?;
                }
                number_field(2, mapping, &mut self.message);
            }
            // Functions and locations are numbered from 1.
            let mut line = Vec::new();
            number_field(1, key + 1, &mut line);
            if place.line > 0 {
                number_field(2, place.line.into(), &mut line);
            }
            number_field(1, key + 1, &mut self.message);
            bytes(4, &line, &mut self.message);
            self.write(field::LOCATION)?;
            number_field(1, key + 1, &mut self.message);
            // A system name that is the same would have pprof shorten both.
            number_field(2, first_name + key, &mut self.message);
            if !place.file.is_empty() {
                number_field(4, text(place.file), &mut self.message);
            }
            if place.start_line > 0 {
                number_field(5, place.start_line.into(), &mut self.message);
            }
            self.write(field::FUNCTION)?;
        }
        for text in std::mem::take(&mut self.texts) {
            self.message.extend_from_slice(text.as_bytes());
            self.write(field::STRING)?;
            self.texts.push(text);
        }
        for name in path.names.all().chain(texts.all()) {
            self.message.extend_from_slice(name);
            self.write(field::STRING)?;
        }
        Ok(())
    }
}
