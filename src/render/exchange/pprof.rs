//! Tables as profile.proto: github.com/google/pprof, `proto/profile.proto`.

use std::io::Write;

use super::encoding::{bytes, known, number_field, packed};
use super::tables::{Labelled, Tables, TextId};
use crate::error::Result;
use crate::front_coded::ListCursor;

/// The numbers of fields in `Profile`.
pub(in crate::render) mod field {
    pub(in crate::render) const SAMPLE_TYPE: u64 = 1;
    pub(in crate::render) const SAMPLE: u64 = 2;
    pub(in crate::render) const MAPPING: u64 = 3;
    pub(in crate::render) const LOCATION: u64 = 4;
    pub(in crate::render) const FUNCTION: u64 = 5;
    pub(in crate::render) const STRING: u64 = 6;
    pub(in crate::render) const DROP_FRAMES: u64 = 7;
    pub(in crate::render) const KEEP_FRAMES: u64 = 8;
    pub(in crate::render) const TIME_NANOS: u64 = 9;
    pub(in crate::render) const DURATION_NANOS: u64 = 10;
    pub(in crate::render) const PERIOD_TYPE: u64 = 11;
    pub(in crate::render) const PERIOD: u64 = 12;
    pub(in crate::render) const COMMENT: u64 = 13;
    pub(in crate::render) const DEFAULT_SAMPLE_TYPE: u64 = 14;
    pub(in crate::render) const DOC_URL: u64 = 15;
}

/// Writes the messages; `written` is called after each.
///
/// # Errors
/// Those of `out` and of `written`; [`crate::ErrorKind::Setting`] for a value that does not fit 64 bits.
pub fn write<W: Write>(
    tables: &mut Tables,
    out: &mut W,
    written: &mut dyn FnMut(&mut W) -> Result<()>,
) -> Result<()> {
    tables.samples.round()?;
    let tables = &*tables;
    let mut messages = Messages { out, written, message: Vec::new(), part: Vec::new(), field: Vec::new() };
    for &kind in &tables.types {
        messages.value_type(field::SAMPLE_TYPE, kind)?;
    }
    messages.samples(tables)?;
    messages.places(tables)?;
    for text in tables.texts.all() {
        messages.message.extend_from_slice(text);
        messages.emit(field::STRING)?;
    }
    if tables.period_type != (0, 0) {
        messages.value_type(field::PERIOD_TYPE, tables.period_type)?;
    }
    messages.facts(tables)
}

/// Writes messages one by one.
struct Messages<'w, W> {
    out: &'w mut W,
    written: &'w mut dyn FnMut(&mut W) -> Result<()>,
    /// The message being made, a part of one, and the field that a message is.
    message: Vec<u8>,
    part: Vec<u8>,
    field: Vec<u8>,
}

impl<W: Write> Messages<'_, W> {
    /// Writes the message as a field, and begins the next.
    fn emit(&mut self, number: u64) -> Result<()> {
        self.field.clear();
        bytes(number, &self.message, &mut self.field);
        self.out.write_all(&self.field)?;
        self.message.clear();
        (self.written)(self.out)
    }

    fn value_type(&mut self, number: u64, (kind, unit): (TextId, TextId)) -> Result<()> {
        known(1, kind.into(), &mut self.message);
        known(2, unit.into(), &mut self.message);
        self.emit(number)
    }

    fn samples(&mut self, tables: &Tables) -> Result<()> {
        let mut cursor = ListCursor::default();
        for (number, sample) in tables.samples.all().enumerate() {
            let Messages { message, part, .. } = self;
            let stack = tables.stacks.get(sample.stack, &mut cursor);
            packed(1, stack.iter().rev().map(|&location| u64::from(location) + 1), part, message);
            let values = (0..tables.types.len()).map(|column| tables.samples.value(number, column) as u64);
            packed(2, values, part, message);
            for label in &tables.labels.all()[sample.labels as usize] {
                part.clear();
                known(1, label.key.into(), part);
                match label.value {
                    Labelled::Text(text) => known(2, text.into(), part),
                    Labelled::Number(value, unit) => {
                        known(3, value as u64, part);
                        known(4, unit.into(), part);
                    }
                }
                bytes(3, part, message);
            }
            self.emit(field::SAMPLE)?;
        }
        Ok(())
    }

    /// Writes mappings, locations and functions, which are numbered from 1.
    fn places(&mut self, tables: &Tables) -> Result<()> {
        for (id, mapping) in (1..).zip(&tables.mappings) {
            let message = &mut self.message;
            number_field(1, id, message);
            known(2, mapping.start, message);
            known(3, mapping.limit, message);
            known(4, mapping.offset, message);
            known(5, mapping.file.into(), message);
            known(6, mapping.build_id.into(), message);
            (0..4).for_each(|bit| known(7 + bit, u64::from(mapping.has >> bit & 1), message));
            self.emit(field::MAPPING)?;
        }
        for (id, location) in (1..).zip(tables.locations.all()) {
            let Messages { message, part, .. } = self;
            number_field(1, id, message);
            known(2, location.mapping.map_or(0, |mapping| u64::from(mapping) + 1), message);
            known(3, location.address, message);
            for line in &location.lines {
                part.clear();
                known(1, line.function.map_or(0, |function| u64::from(function) + 1), part);
                known(2, line.line as u64, part);
                known(3, line.column as u64, part);
                bytes(4, part, message);
            }
            known(5, location.is_folded.into(), message);
            self.emit(field::LOCATION)?;
        }
        for (id, function) in (1..).zip(tables.functions.all()) {
            let message = &mut self.message;
            number_field(1, id, message);
            known(2, function.name.into(), message);
            known(3, function.system_name.into(), message);
            known(4, function.file.into(), message);
            known(5, function.start_line as u64, message);
            self.emit(field::FUNCTION)?;
        }
        Ok(())
    }

    /// Writes the fields that are no messages.
    fn facts(&mut self, tables: &Tables) -> Result<()> {
        let (out, part) = (&mut self.message, &mut self.part);
        known(field::DROP_FRAMES, tables.drop_frames.into(), out);
        known(field::KEEP_FRAMES, tables.keep_frames.into(), out);
        known(field::TIME_NANOS, tables.start as u64, out);
        known(field::DURATION_NANOS, tables.duration as u64, out);
        known(field::PERIOD, tables.period as u64, out);
        packed(field::COMMENT, tables.comments.iter().map(|&comment| comment.into()), part, out);
        known(field::DEFAULT_SAMPLE_TYPE, tables.default_type.into(), out);
        known(field::DOC_URL, tables.doc_url.into(), out);
        Ok(self.out.write_all(out)?)
    }
}
